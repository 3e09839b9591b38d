/*
 * ras.c - M := sum over d of S_d (L D U)_d^-1 G_d: restricted additive Schwarz with incomplete factors. G_d takes the
 * rows of sub-domain d with its overlap, S_d gives back those that are d's own.
 *
 * Storage     the factors of all sub-domains, which kry_block_ilu_create makes of the matrix that has them one after the
 *             other; that matrix, for new numbers; two maps and two vectors of its length
 * Per use     the factors; 8 words of its rows
 */
#include "precond/ras.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include "sparse/partition.h"
#include <kry/precond.h>
#include <stdio.h>
#include <stdlib.h>

static const char who[] = "kry_ras_create";

typedef struct ras {
    kry_op *A; /* retained */
    bool symmetric;
    int overlap;
    kryi_overlap o;
    kry_op *expanded, *factors;
    kry_op *gather, *scatter;
    kry_vec *w[2]; /* of as many columns as there ever were */
    char variant[192];
} ras;

/* The entries of A, in double, with a diagonal that can be factored. */
static kry_status read_rows(const ras *M, kryi_csr *R)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kryi_rows_read(who, M->A, R));
    TRY(kryi_alloc((size_t)R->rows, sizeof *inverse, &inverse));
    if (M->symmetric) TRY(kryi_rows_symmetrise(who, M->A, R, inverse));
    for (int64_t i = 0; i < R->rows; i++)
        CHECK(kryi_csr_entry(R, i, i) != 0, KRY_ERR_SINGULAR,
              "%s: the diagonal entry of row %lld is 0" COUNTED, who,
              ROW(kryi_layout_row(&M->A->dev->layout, i)), kryi_first_row);
done:
    free(inverse);
    return st;
}

/* CPUs: a few for each core, that stay in its cache. GPUs: short chains of rows. */
static int64_t usual_parts(const kry_op *A)
{
    enum { CPU_ROWS = 8192, CPU_EACH = 4, GPU_ROWS = 512, LEAST = 32 };
    const kry_device_info *info = &A->dev->info;
    const int64_t n = A->shape.rows, least = (int64_t)CPU_EACH * info->compute_units;
    int64_t parts = n / (info->cpu_kernels ? CPU_ROWS : GPU_ROWS);

    if (info->cpu_kernels && parts < least) parts = least;
    if (parts > n / LEAST) parts = n / LEAST;
    return parts > 0 ? parts : 1;
}

/* ---- sub-domains that overlap ---------------------------------------------------------------- */

void kryi_overlap_release(kryi_overlap *o)
{
    free(o->begin), free(o->row), free(o->home);
    *o = (kryi_overlap){ 0 };
}

static kry_status cut(const char *who, const kryi_csr *graph, kryi_overlap *o)
{
    kry_status st = KRY_ERR_UNSUPPORTED;

    if (o->parts <= KRY_OVERLAP_CUT)
        st = kryi_graph_parts(who, graph, NULL, (int)o->parts, NULL, o->home);
    return st == KRY_ERR_UNSUPPORTED ? kryi_graph_grow(graph, o->parts, o->home) : st;
}

/* A part as it grows. */
typedef struct growth {
    int32_t *list, *in; /* its rows; of each row the last part that it was in, plus one */
    int64_t count;
} growth;

static void add(growth *g, int64_t part, int32_t row)
{
    if (g->in[row] == part + 1) return;
    g->in[row] = (int32_t)part + 1;
    g->list[g->count++] = row;
}

static void grow(const kryi_csr *graph, int64_t part, int layers, growth *g)
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

static kry_status keep(kryi_overlap *o, int64_t part, const growth *g, int64_t *room)
{
    kry_status st = KRY_OK;
    const int64_t to = o->begin[part];

    if (to + g->count > *room) {
        *room = 2 * (to + g->count);
        TRY(kryi_realloc((uint64_t)*room, sizeof *o->row, &o->row));
    }
    for (int64_t k = 0; k < g->count; k++) o->row[to + k] = g->list[k];
    qsort(o->row + to, (size_t)g->count, sizeof *o->row, ascending);
    o->begin[part + 1] = to + g->count;
    if (g->count > o->most) o->most = g->count;
done:
    return st;
}

/* own: the rows of each part as METIS has cut it, a row of `own` for each. */
static kry_status grow_all(const kryi_csr *graph, const kryi_csr *own, int layers, kryi_overlap *o)
{
    kry_status st = KRY_OK;
    int64_t room = graph->rows;
    growth g = { 0 };

    TRY(kryi_alloc((size_t)graph->rows, sizeof *g.list, &g.list));
    TRY(kryi_alloc((size_t)graph->rows, sizeof *g.in, &g.in));
    TRY(kryi_alloc((size_t)room, sizeof *o->row, &o->row));
    TRY(kryi_alloc((size_t)o->parts + 1, sizeof *o->begin, &o->begin));
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

kry_status kryi_overlap_find(const char *who, const kryi_csr *A, int64_t parts, int layers,
                             kryi_overlap *o)
{
    kry_status st = KRY_OK;
    kryi_csr graph = { 0 }, at_home = { 0 }, own = { 0 };
    const size_t n = (size_t)A->rows;

    *o = (kryi_overlap){ .parts = parts };
    TRY(kryi_csr_graph(A, &graph));
    TRY(kryi_alloc(n, sizeof *o->home, &o->home));
    if (parts > 1) TRY(cut(who, &graph, o));
    TRY(kryi_csr_create(A->rows, parts, KRY_F64, A->rows, &at_home));
    for (size_t i = 0; i < n; i++)
        at_home.col[i] = o->home[i], at_home.row_ptr[i + 1] = (int64_t)i + 1;
    TRY(kryi_csr_transpose(&at_home, &own));
    TRY(grow_all(&graph, &own, layers, o));
done:
    kryi_csr_release(&own);
    kryi_csr_release(&at_home);
    kryi_csr_release(&graph);
    if (st < 0) kryi_overlap_release(o);
    return st;
}

/* place[i]: of row i in part d; of rows that are not in it -1, before and behind the call. Entries of all its rows
 * into B, from B's last one on. */
static void expand_part(const kryi_overlap *o, const kryi_csr *A, int64_t d, int32_t *place,
                        kryi_csr *B)
{
    const int64_t begin = o->begin[d], count = o->begin[d + 1] - begin;
    const double *from = A->val;
    double *to = B->val;
    int64_t at = B->row_ptr[kryi_overlap_place(o, d, 0)];

    for (int64_t k = 0; k < count; k++)
        place[o->row[begin + k]] = (int32_t)kryi_overlap_place(o, d, k);
    for (int64_t k = 0; k < o->most; k++) {
        const int64_t p = kryi_overlap_place(o, d, k), i = k < count ? o->row[begin + k] : -1;
        if (i < 0) B->col[at] = (int32_t)p, to[at++] = 1;
        for (int64_t e = i < 0 ? 0 : A->row_ptr[i]; i >= 0 && e < A->row_ptr[i + 1]; e++)
            if (place[A->col[e]] >= 0) B->col[at] = place[A->col[e]], to[at++] = from[e];
        B->row_ptr[p + 1] = at;
    }
    for (int64_t k = 0; k < count; k++) place[o->row[begin + k]] = -1;
}

/* B := A's entries within each part, one part after the other; rows that a smaller part has too few are those of
 * the unit matrix. All in double. */
static kry_status overlap_expand(const kryi_overlap *o, const kryi_csr *A, kryi_csr *B)
{
    kry_status st = KRY_OK;
    const int64_t rows = o->parts * o->most, total = o->begin[o->parts];
    int64_t nnz = rows - total; /* at most */
    int32_t *place = NULL;

    *B = (kryi_csr){ 0 };
    for (int64_t q = 0; q < total; q++) nnz += kryi_row_length(A, o->row[q]);
    TRY(kryi_alloc((size_t)A->rows, sizeof *place, &place));
    TRY(kryi_csr_create(rows, rows, KRY_F64, nnz, B));
    for (int64_t i = 0; i < A->rows; i++) place[i] = -1;
    for (int64_t d = 0; d < o->parts; d++) expand_part(o, A, d, place, B);
done:
    free(place);
    if (st < 0) kryi_csr_release(B);
    return st;
}

/* G := a one in each row of B that is a row of A, in its column; S := a one in each row of A, in the column of its
 * place at home. */
static kry_status overlap_maps(const kryi_overlap *o, kryi_csr *G, kryi_csr *S)
{
    kry_status st = KRY_OK;
    const int64_t rows = o->parts * o->most, total = o->begin[o->parts];
    int64_t n = 0, at = 0;

    for (int64_t d = 0; d < o->parts; d++)
        for (int64_t q = o->begin[d]; q < o->begin[d + 1]; q++) n += o->home[o->row[q]] == d;
    *S = (kryi_csr){ 0 };
    TRY(kryi_csr_create(rows, n, KRY_F64, total, G));
    TRY(kryi_csr_create(n, rows, KRY_F64, n, S));
    for (int64_t d = 0; d < o->parts; d++)
        for (int64_t k = 0; k < o->most; k++) {
            const int64_t q = o->begin[d] + k, p = kryi_overlap_place(o, d, k);
            if (q < o->begin[d + 1]) {
                const int32_t i = o->row[q];
                G->col[at] = i, ((double *)G->val)[at++] = 1;
                if (o->home[i] == d) S->col[i] = (int32_t)p, ((double *)S->val)[i] = 1;
            }
            G->row_ptr[p + 1] = at;
        }
    for (int64_t i = 0; i < n; i++) S->row_ptr[i + 1] = i + 1;
done:
    if (st < 0) kryi_csr_release(G), kryi_csr_release(S);
    return st;
}

static kry_status make_maps(ras *M)
{
    kry_status st = KRY_OK;
    kryi_csr G = { 0 }, S = { 0 };
    const int64_t rows = M->o.parts * M->o.most;

    TRY(overlap_maps(&M->o, &G, &S));
    TRY(kryi_rows_matrix(M->A, &G, 0, &M->gather));
    TRY(kryi_rows_matrix(M->A, &S, 0, &M->scatter));
    for (int k = 0; k < 2; k++) TRY(kry_vec_create(M->A->dev, M->A->shape.type, rows, 1, &M->w[k]));
done:
    kryi_csr_release(&G);
    kryi_csr_release(&S);
    return st;
}

static kry_status make_factors(ras *M, const kryi_csr *R, int fill)
{
    kry_status st = KRY_OK;
    const bool cpu = M->A->dev->info.cpu_kernels;
    const kry_block_ic_params *p =
        KRY_BLOCK_IC(.rows = M->o.most, .fill = fill,
                     .trisolve = cpu ? KRY_TRISOLVE_ROWS : KRY_TRISOLVE_LEVELS);
    kryi_csr B = { 0 };

    TRY(overlap_expand(&M->o, R, &B));
    TRY(kryi_rows_matrix(M->A, &B, 0, &M->expanded));
    TRY(M->symmetric ? kry_block_ic_create(M->expanded, p, &M->factors)
                     : kry_block_ilu_create(M->expanded, p, &M->factors));
done:
    kryi_csr_release(&B);
    return st;
}

static void print_variant(ras *M, int overlap)
{
    kry_op_info factors;

    kry_op_describe(M->factors, &factors);
    snprintf(M->variant, sizeof M->variant, "parts=%lld overlap=%d, %s %s", (long long)M->o.parts,
             overlap, factors.kind, factors.variant);
}

static kry_status ras_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    ras *M = self;
    kry_status st = KRY_OK;
    kry_vec w[COUNT(M->w)];

    for (size_t k = 0; k < COUNT(M->w); k++) TRY(kryi_vec_take(&M->w[k], x->k, &w[k]));
    TRY(kry_op_apply(M->gather, 1, x, 0, &w[0]));
    TRY(kry_op_apply(M->factors, 1, &w[0], 0, &w[1]));
    TRY(kry_op_apply(M->scatter, alpha, &w[1], beta, y));
done:
    return st;
}

/* The sub-domains stay. */
static kry_status ras_renew(void *self)
{
    ras *M = self;
    kry_status st = KRY_OK;
    kryi_csr R = { 0 }, B = { 0 };

    TRY(read_rows(M, &R));
    TRY(overlap_expand(&M->o, &R, &B));
    TRY(kryi_csr_convert(&B, M->A->shape.type));
    TRY(kry_op_update(M->expanded, B.val));
    TRY(kry_op_update(M->factors, NULL));
done:
    kryi_csr_release(&B);
    kryi_csr_release(&R);
    return st;
}

static void ras_describe(void *self, kry_op_info *info)
{
    const ras *M = self;
    kry_op_info factors, gather, scatter;

    kry_op_describe(M->factors, &factors);
    kry_op_describe(M->gather, &gather);
    kry_op_describe(M->scatter, &scatter);
    info->variant = M->variant;
    info->nnz = factors.nnz;
    info->slots = factors.slots;
    info->bytes_stored = factors.bytes_stored + gather.bytes_stored + scatter.bytes_stored;
    info->bytes_per_apply =
        factors.bytes_per_apply + gather.bytes_per_apply + scatter.bytes_per_apply;
}

static void ras_destroy(void *self)
{
    ras *M = self;
    if (!M) return;
    for (int k = 0; k < 2; k++) kry_vec_release(&M->w[k]);
    kry_op_release(&M->scatter);
    kry_op_release(&M->gather);
    kry_op_release(&M->factors);
    kry_op_release(&M->expanded);
    kryi_overlap_release(&M->o);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table ras_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "ras",
    .apply = ras_apply,
    .apply_block = ras_apply,
    .describe = ras_describe,
    .destroy = ras_destroy,
};

/* Each sub-domain gives back its own rows alone, of what it made of its overlap, too. */
static bool is_unsymmetric(const void *self) { return ((const ras *)self)->overlap > 0; }

static const kryi_op_fused ras_fused = { .is_unsymmetric = is_unsymmetric, .renew = ras_renew };

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_ras_params *p = params;

    CHECK(p->parts >= 0 && p->parts <= A->shape.rows && p->parts <= INT32_MAX, KRY_ERR_ARGUMENT,
          "%s: parts = %lld is outside 1 ... %lld, the rows of '%s'", who, (long long)p->parts,
          (long long)A->shape.rows, A->table->kind);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    enum { DEFINITE = KRY_SYMMETRIC | KRY_POSITIVE };
    kry_status st = KRY_OK;
    const kry_ras_params *p = params;
    const int64_t parts = p->parts < A->shape.rows ? p->parts : A->shape.rows;
    kryi_csr R = { 0 };
    ras *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->overlap = p->overlap;
    M->symmetric = (A->shape.traits & DEFINITE) == DEFINITE;
    TRY(read_rows(M, &R));
    TRY(kryi_overlap_find(who, &R, parts ? parts : usual_parts(A), p->overlap, &M->o));
    TRY(make_maps(M));
    TRY(make_factors(M, &R, p->fill));
    print_variant(M, p->overlap);
    kry_op_shape shape = A->shape;
    shape.traits = M->symmetric && !p->overlap ? DEFINITE : 0;
    TRY(kryi_op_create_fused(A->dev, &ras_table, &ras_fused, M, &shape, out));
    M = NULL;
done:
    kryi_csr_release(&R);
    ras_destroy(M);
    return st;
}

#define PARAMS kry_ras_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT, overlap),
      KRY_WORD("overlap", WHOLE, "=N", "layers of neighbours of each sub-domain (default 1)"),
      KRY_CLOSED(0, 100) },
    { KRY_FIELD(INT64, parts),
      KRY_WORD("parts", WHOLE, "=N", "sub-domains (default: as suits the device)"),
      KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(INT, fill), KRY_WORD("fill", WHOLE, "=N", "levels of fill (default 0)"),
      KRY_CLOSED(0, 100) },
    { 0 },
};

const kryi_constructor kryi_ras_precond = { who,    "KRY_RAS",      sizeof(kry_ras_params),
                                            fields, .check = check, .create = create };

kry_status kry_ras_create(const kry_op *A, const kry_ras_params *params, kry_op **out)
{
    return kryi_construct(&kryi_ras_precond, A, params, out);
}
