/*
 * colours.c - sub-domains that may share one product with A. Two labels get different colours if some row
 * has entries in columns of both; each label takes the first colour that is free. Blocks of a plane need
 * four or five.
 */
#include "grid/stencil.h"
#include "matrix/matrix_parts.h"
#include "precond/deflation.h"
#include "sparse/entries.h"
#include <stdlib.h>
#include <string.h>

kry_status kryi_couplings_of(const kry_op *A, kryi_couplings *c)
{
    kry_status st = KRY_OK;

    *c = (kryi_couplings){ .grid = kryi_stencil_of(A) };
    if (c->grid) return KRY_OK;
    st = kryi_coupled_download(A, &c->rows);
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK; /* an operator of the caller's own */
    free(c->rows.val), c->rows.val = NULL;
    return st;
}

static kry_status beyond_slab(const kryi_slab *s, int64_t *count, int64_t **place)
{
    kry_status st = KRY_OK;
    int64_t below = (s->first + s->all - 1) % s->all, above = (s->first + s->count) % s->all;

    *count = (s->low + s->high) * s->layer;
    TRY(kryi_alloc((uint64_t)*count, sizeof **place, place));
    for (int64_t i = 0; i < s->layer; i++) {
        if (s->low) (*place)[s->at_low + i] = below * s->layer + i;
        if (s->high) (*place)[s->at_high + i] = above * s->layer + i;
    }
done:
    return st;
}

kry_status kryi_couplings_beyond(const kry_op *A, int64_t *count, int64_t **place)
{
    kry_status st = KRY_OK;
    const kryi_stencil *grid = kryi_stencil_of(A);
    const int64_t *from;

    if (grid) return beyond_slab(&grid->slab, count, place);
    *count = kryi_coupled_places(A, &from);
    TRY(kryi_alloc((uint64_t)*count, sizeof **place, place));
    if (*count) memcpy(*place, from, (size_t)*count * sizeof **place);
done:
    return st;
}

void kryi_couplings_release(kryi_couplings *c)
{
    kryi_csr_release(&c->rows);
    c->grid = NULL;
}

static int64_t grid_row(const kryi_stencil *A, int64_t i, int32_t *cols)
{
    int64_t count = 0;

    cols[count++] = (int32_t)i;
    for (int f = 0; f < 2 * A->axes; f++) {
        int64_t cell = kryi_stencil_neighbour(A, i, f / 2, f % 2);
        if (cell >= 0) cols[count++] = (int32_t)cell;
    }
    return count;
}

int64_t kryi_couplings_at(const kryi_couplings *c, int64_t i, int32_t room[7], const int32_t **cols)
{
    if (c->grid) {
        *cols = room;
        return grid_row(c->grid, i, room);
    }
    *cols = c->rows.col + c->rows.row_ptr[i];
    return c->rows.row_ptr[i + 1] - c->rows.row_ptr[i];
}

/* label := the labels of the columns in which row i has entries, each once; NULL: only count. Returns how
 * many. */
static int64_t labels_met(const kryi_couplings *couplings, const kryi_subspace *Z, int64_t i,
                          int64_t *seen, int32_t *label)
{
    int32_t room[7];
    const int32_t *cols;
    int64_t met = 0, count = kryi_couplings_at(couplings, i, room, &cols);

    for (int64_t j = 0; j < count; j++) {
        int32_t l = Z->labels[cols[j]];
        if (seen[l] == i + 1) continue;
        seen[l] = i + 1;
        if (label) label[met] = l;
        met++;
    }
    return met;
}

/* M := the labels of each row that has more than one. */
static kry_status meet(const kryi_couplings *couplings, const kryi_subspace *Z, kryi_csr *M)
{
    kry_status st = KRY_OK;
    int64_t *seen = NULL, rows = 0, nnz = 0;

    TRY(kryi_alloc((size_t)Z->domains, sizeof *seen, &seen));
    for (int64_t i = 0; i < Z->n; i++) {
        int64_t met = labels_met(couplings, Z, i, seen, NULL);
        if (met > 1) rows++, nnz += met;
    }
    *M = (kryi_csr){ .rows = rows, .cols = Z->domains };
    TRY(kryi_alloc((size_t)rows + 1, sizeof *M->row_ptr, &M->row_ptr));
    TRY(kryi_alloc((uint64_t)nnz + 1, sizeof *M->col,
                   &M->col)); /* a row of one label may be the last */
    for (int64_t l = 0; l < Z->domains; l++) seen[l] = 0;
    for (int64_t i = 0, r = 0; r < rows; i++) {
        int64_t met = labels_met(couplings, Z, i, seen, M->col + M->row_ptr[r]);
        if (met > 1) M->row_ptr[r + 1] = M->row_ptr[r] + met, r++;
    }
done:
    free(seen);
    return st;
}

/* A := the sum of what each part has of it, in the order of parts. Collective. */
kry_status kryi_sum_parts(kryi_layout *layout, const char *who, kryi_csr *A)
{
    kry_status st = KRY_OK;
    kryi_entry_list mine = { 0 }, all = { 0 };
    size_t total;
    int64_t rows = A->rows, cols = A->cols;

    if (kryi_layout_size(layout) == 1) return KRY_OK;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            TRY(kryi_entry_append(&mine, i, A->col[e], A->val ? ((double *)A->val)[e] : 0));
    TRY(kryi_layout_collect(layout, mine.entry, (size_t)mine.count, sizeof *mine.entry, &all.entry,
                            &total));
    all.count = (int64_t)total;
    kryi_csr_release(A);
    TRY(kryi_entry_list_compress(who, &all, rows, cols, A));
done:
    free(all.entry);
    free(mine.entry);
    return st;
}

static kry_status paint(const kryi_csr *G, kryi_colours *colours)
{
    kry_status st = KRY_OK;
    int32_t *taken_by = NULL; /* by which label's neighbours each colour was taken last, plus one */

    TRY(kryi_alloc((size_t)G->rows + 1, sizeof *taken_by, &taken_by));
    colours->count = 0;
    for (int64_t s = 0; s < G->rows; s++) {
        int32_t c = 0;
        for (int64_t j = G->row_ptr[s]; j < G->row_ptr[s + 1]; j++)
            if (G->col[j] < s) taken_by[colours->of_label[G->col[j]]] = (int32_t)s + 1;
        while (taken_by[c] == s + 1) c++;
        colours->of_label[s] = c;
        if (c >= colours->count) colours->count = c + 1;
    }
done:
    free(taken_by);
    return st;
}

/* G := which labels occur together in some row: the pattern of M'M. */
static kry_status find_neighbours(const kryi_couplings *couplings, const kryi_subspace *Z,
                                  kryi_csr *G)
{
    kry_status st = KRY_OK;
    kryi_csr M = { 0 }, M_t = { 0 };

    TRY(meet(couplings, Z, &M));
    TRY(kryi_csr_transpose(&M, &M_t));
    TRY(kryi_csr_multiply(&M_t, &M, G));
    TRY(kryi_sum_parts(&Z->dev->layout, "kry_deflation_create", G)); /* all parts paint one graph */
done:
    kryi_csr_release(&M_t);
    kryi_csr_release(&M);
    return st;
}

kry_status kryi_colours_find(const kry_op *A, const kryi_subspace *Z, kryi_colours *colours)
{
    kry_status st = KRY_OK;
    kryi_couplings couplings = { 0 };
    kryi_csr G = { 0 };

    *colours = (kryi_colours){ 0 };
    if (Z->vectors) return KRY_OK;
    TRY(kryi_alloc((size_t)Z->domains, sizeof *colours->of_label, &colours->of_label));
    TRY(kryi_couplings_of(A, &couplings));
    if (!kryi_couplings_known(&couplings)) { /* each alone */
        for (int64_t s = 0; s < Z->domains; s++) colours->of_label[s] = (int32_t)s;
        colours->count = (int32_t)Z->domains;
        goto done;
    }
    TRY(find_neighbours(&couplings, Z, &G));
    TRY(paint(&G, colours));
done:
    kryi_csr_release(&G);
    kryi_couplings_release(&couplings);
    if (st < 0) kryi_colours_release(colours);
    return st;
}

void kryi_colours_release(kryi_colours *colours)
{
    free(colours->of_label);
    *colours = (kryi_colours){ 0 };
}
