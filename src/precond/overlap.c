/* overlap.c - sub-domains that overlap. */
#include "precond/overlap.h"
#include "sparse/partition.h"
#include <stdlib.h>

void kry_overlap_release(kry_overlap *o)
{
    free(o->begin), free(o->row), free(o->home);
    *o = (kry_overlap){ 0 };
}

static kry_status cut(const char *who, const kry_sparse *graph, kry_overlap *o)
{
    kry_status st = KRY_ERR_UNSUPPORTED;

    if (o->parts <= KRY_OVERLAP_CUT)
        st = kry_graph_parts(who, graph, NULL, (int)o->parts, NULL, o->home);
    return st == KRY_ERR_UNSUPPORTED ? kry_graph_grow(graph, o->parts, o->home) : st;
}

/* A part as it grows. */
typedef struct growing {
    int32_t *list, *in; /* its rows; of each row the last part that it was in, plus one */
    int64_t count;
} growing;

static void add(growing *g, int64_t part, int32_t row)
{
    if (g->in[row] == part + 1) return;
    g->in[row] = (int32_t)part + 1;
    g->list[g->count++] = row;
}

static void grow(const kry_sparse *graph, int64_t part, int layers, growing *g)
{
    for (int64_t from = 0; layers > 0; layers--) {
        const int64_t until = g->count;
        for (; from < until; from++) {
            const int32_t i = g->list[from];
            for (int64_t e = graph->row_ptr[i]; e < graph->row_ptr[i + 1]; e++)
                add(g, part, graph->col[e]);
        }
    }
}

static int ascending(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

static kry_status keep(kry_overlap *o, int64_t part, const growing *g, int64_t *room)
{
    kry_status st = KRY_OK;
    const int64_t to = o->begin[part];

    if (to + g->count > *room) {
        *room = 2 * (to + g->count);
        TRY(kry_realloc((size_t)*room, sizeof *o->row, &o->row));
    }
    for (int64_t k = 0; k < g->count; k++) o->row[to + k] = g->list[k];
    qsort(o->row + to, (size_t)g->count, sizeof *o->row, ascending);
    o->begin[part + 1] = to + g->count;
    if (g->count > o->most) o->most = g->count;
done:
    return st;
}

/* own: the rows of each part as METIS has cut it, a row of `own` for each. */
static kry_status grow_all(const kry_sparse *graph, const kry_sparse *own, int layers,
                           kry_overlap *o)
{
    kry_status st = KRY_OK;
    int64_t room = graph->rows;
    growing g = { 0 };

    TRY(kry_alloc((size_t)graph->rows, sizeof *g.list, &g.list));
    TRY(kry_alloc((size_t)graph->rows, sizeof *g.in, &g.in));
    TRY(kry_alloc((size_t)room, sizeof *o->row, &o->row));
    TRY(kry_alloc((size_t)o->parts + 1, sizeof *o->begin, &o->begin));
    for (int64_t d = 0; d < o->parts; d++) {
        g.count = 0;
        for (int64_t e = own->row_ptr[d]; e < own->row_ptr[d + 1]; e++) add(&g, d, own->col[e]);
        grow(graph, d, layers, &g);
        TRY(keep(o, d, &g, &room));
    }
done:
    free(g.list), free(g.in);
    return st;
}

kry_status kry_overlap_find(const char *who, const kry_sparse *A, int64_t parts, int layers,
                            kry_overlap *o)
{
    kry_status st = KRY_OK;
    kry_sparse graph = { 0 }, at_home = { 0 }, own = { 0 };
    const size_t n = (size_t)A->rows;

    *o = (kry_overlap){ .parts = parts };
    TRY(kry_sparse_graph(A, &graph));
    TRY(kry_alloc(n, sizeof *o->home, &o->home));
    if (parts > 1) TRY(cut(who, &graph, o));
    TRY(kry_sparse_create(A->rows, parts, KRY_F64, A->rows, &at_home));
    for (size_t i = 0; i < n; i++)
        at_home.col[i] = o->home[i], at_home.row_ptr[i + 1] = (int64_t)i + 1;
    TRY(kry_sparse_transpose(&at_home, &own));
    TRY(grow_all(&graph, &own, layers, o));
done:
    kry_sparse_release(&own);
    kry_sparse_release(&at_home);
    kry_sparse_release(&graph);
    if (st < 0) kry_overlap_release(o);
    return st;
}

/* place[i]: of row i in part d; of rows that are not in it -1, before and behind the call. Entries of all its rows
 * into B, from B's last one on. */
static void expand_part(const kry_overlap *o, const kry_sparse *A, int64_t d, int32_t *place,
                        kry_sparse *B)
{
    const int64_t begin = o->begin[d], count = o->begin[d + 1] - begin;
    const double *from = A->val;
    double *to = B->val;
    int64_t at = B->row_ptr[kry_overlap_place(o, d, 0)];

    for (int64_t k = 0; k < count; k++)
        place[o->row[begin + k]] = (int32_t)kry_overlap_place(o, d, k);
    for (int64_t k = 0; k < o->most; k++) {
        const int64_t p = kry_overlap_place(o, d, k), i = k < count ? o->row[begin + k] : -1;
        if (i < 0) B->col[at] = (int32_t)p, to[at++] = 1;
        for (int64_t e = i < 0 ? 0 : A->row_ptr[i]; i >= 0 && e < A->row_ptr[i + 1]; e++)
            if (place[A->col[e]] >= 0) B->col[at] = place[A->col[e]], to[at++] = from[e];
        B->row_ptr[p + 1] = at;
    }
    for (int64_t k = 0; k < count; k++) place[o->row[begin + k]] = -1;
}

kry_status kry_overlap_expand(const kry_overlap *o, const kry_sparse *A, kry_sparse *B)
{
    kry_status st = KRY_OK;
    const int64_t rows = o->parts * o->most, total = o->begin[o->parts];
    int64_t nnz = rows - total; /* at most */
    int32_t *place = NULL;

    *B = (kry_sparse){ 0 };
    for (int64_t q = 0; q < total; q++) nnz += kry_row_length(A, o->row[q]);
    TRY(kry_alloc((size_t)A->rows, sizeof *place, &place));
    TRY(kry_sparse_create(rows, rows, KRY_F64, nnz, B));
    for (int64_t i = 0; i < A->rows; i++) place[i] = -1;
    for (int64_t d = 0; d < o->parts; d++) expand_part(o, A, d, place, B);
done:
    free(place);
    if (st < 0) kry_sparse_release(B);
    return st;
}

kry_status kry_overlap_maps(const kry_overlap *o, kry_sparse *G, kry_sparse *S)
{
    kry_status st = KRY_OK;
    const int64_t rows = o->parts * o->most, total = o->begin[o->parts];
    int64_t n = 0, at = 0;

    for (int64_t d = 0; d < o->parts; d++)
        for (int64_t q = o->begin[d]; q < o->begin[d + 1]; q++) n += o->home[o->row[q]] == d;
    *S = (kry_sparse){ 0 };
    TRY(kry_sparse_create(rows, n, KRY_F64, total, G));
    TRY(kry_sparse_create(n, rows, KRY_F64, n, S));
    for (int64_t d = 0; d < o->parts; d++)
        for (int64_t k = 0; k < o->most; k++) {
            const int64_t q = o->begin[d] + k, p = kry_overlap_place(o, d, k);
            if (q < o->begin[d + 1]) {
                const int32_t i = o->row[q];
                G->col[at] = i, ((double *)G->val)[at++] = 1;
                if (o->home[i] == d) S->col[i] = (int32_t)p, ((double *)S->val)[i] = 1;
            }
            G->row_ptr[p + 1] = at;
        }
    for (int64_t i = 0; i < n; i++) S->row_ptr[i + 1] = i + 1;
done:
    if (st < 0) kry_sparse_release(G), kry_sparse_release(S);
    return st;
}
