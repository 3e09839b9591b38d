/* part_prolongation.c - the prolongation of smoothed aggregation on a team: smoothed.c, of a part's rows. */
#include "amg/part_levels.h"
#include "operator/halo.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kry_part_kept_release(kry_part_kept *k)
{
    free(k->first);
    free(k->far);
    free(k->strong);
    kry_sparse_release(&k->T);
    *k = (kry_part_kept){ 0 };
}

static kry_layout *layout_of(const kry_part_level *L)
{
    return &kry_halo_links_of(L->halo).dev->layout;
}

/* theirs := the rows of the others that go with the halo, of a matrix of which this part has the rows M, in its columns. */
static kry_status fetch_own(const kry_part_level *L, const kry_sparse *M, int64_t first,
                            kry_placed_rows *mine, kry_placed_rows *theirs)
{
    kry_status st = KRY_OK;
    const kry_part_columns own = { .first = first, .own = M->cols };

    TRY(kry_part_columns_place(M, &own, mine));
    TRY(kry_halo_fetch_rows(L->halo, mine, theirs));
done:
    return st;
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* A part may begin and end within a node: it then has rows more, which are coupled to nothing. */
typedef struct padding {
    int64_t before, after;
} padding;

static padding padding_of(const kry_part_rows *A, int block)
{
    padding p = { .before = A->own.rows ? A->first % block : 0 };
    p.after = (block - (p.before + A->own.rows) % block) % block;
    return p;
}

/* S := A between rows of the identity. */
static kry_status pad(const kry_sparse *A, padding p, kry_sparse *S)
{
    kry_status st = KRY_OK;
    const int64_t n = A->rows + p.before + p.after, nnz = kry_sparse_nnz(A);
    double *val;

    TRY(kry_sparse_create(n, n, KRY_F64, nnz + p.before + p.after, S));
    val = S->val;
    for (int64_t i = 0; i < p.before; i++) S->col[i] = (int32_t)i, val[i] = 1;
    for (int64_t e = 0; e < nnz; e++) S->col[p.before + e] = (int32_t)(p.before + A->col[e]);
    if (nnz) memcpy(val + p.before, A->val, (size_t)nnz * sizeof *val);
    for (int64_t i = 0; i < p.after; i++) {
        S->col[p.before + nnz + i] = (int32_t)(n - p.after + i);
        val[p.before + nnz + i] = 1;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i - p.before;
        S->row_ptr[i + 1] = row < 0         ? i + 1
                            : row < A->rows ? p.before + A->row_ptr[row + 1]
                                            : p.before + nnz + row - A->rows + 1;
    }
done:
    return st;
}

/* Whether one of these rows has an entry in another part. */
static bool reaches_out(const kry_sparse *far, int64_t begin, int64_t end)
{
    if (begin < 0) begin = 0;
    if (end > far->rows) end = far->rows;
    return begin < end && far->row_ptr[end] > far->row_ptr[begin];
}

/* T := what the aggregates make of B, which is padded. */
static kry_status take_tentative(const kry_part_rows *A, padding p, const kry_coarsen *c,
                                 kry_aggregates *g, kry_sparse *T, double **C)
{
    kry_status st = KRY_OK;
    const size_t m = (size_t)c->vectors, n = (size_t)A->own.rows;
    kry_sparse padded = { 0 };
    double *B = NULL;

    for (int64_t i = 0; i < g->nodes; i++) {
        const int64_t begin = i * c->block - p.before;
        if (g->of_node[i] < 0 && reaches_out(&A->far, begin, begin + c->block))
            g->of_node[i] = (int32_t)g->count++;
    }
    TRY(kry_alloc((size_t)(g->nodes * c->block) * m, sizeof *B, &B));
    if (n) memcpy(B + (size_t)p.before * m, c->near_null_space, n * m * sizeof *B);
    TRY(kry_tentative(g, c->block, c->vectors, B, &padded, C));
    TRY(kry_sparse_part(
        &padded, &(kry_sparse_cut){ .rows = A->own.rows, .first = p.before, .cols = padded.cols },
        T, NULL));
done:
    free(B);
    kry_sparse_release(&padded);
    return st;
}

/* far[e] := whether entry e of A's far columns is strong, of scalar unknowns; of nodes all are. */
static kry_status mark_far(const kry_part_level *L, double theta, int block, bool **far)
{
    kry_status st = KRY_OK;
    const kry_sparse *A = &L->A->far;
    const double *a = A->val;
    double *mine = NULL, *theirs = NULL;

    if (!(theta > 0) || block > 1) return KRY_OK;
    TRY(kry_part_diagonals(L, &mine, &theirs));
    TRY(kry_alloc((size_t)kry_sparse_nnz(A), sizeof **far, far));
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            (*far)[e] = a[e] * a[e] >= theta * theta * (mine[i] * theirs[A->col[e]]);
done:
    free(theirs);
    free(mine);
    return st;
}

static kry_status number_parts(kry_layout *layout, int64_t mine, kry_part_kept *kept)
{
    kry_status st = KRY_OK;

    kept->parts = kry_layout_size(layout);
    TRY(kry_alloc((size_t)kept->parts + 1, sizeof *kept->first, &kept->first));
    TRY(kry_layout_gather(layout, &mine, sizeof mine, kept->first + 1));
    for (int r = 0; r < kept->parts; r++) kept->first[r + 1] += kept->first[r];
done:
    return st;
}

kry_status kry_part_aggregate(const kry_coarsen *c, const kry_part_level *L, kry_part_kept *kept,
                              kry_coarsen *next)
{
    kry_status st = KRY_OK;
    const kry_part_rows *A = L->A;
    const padding p = padding_of(A, c->block);
    kry_sparse S = { 0 };
    kry_aggregates g = { 0 };
    bool *strong = NULL;

    *next = *c, next->near_null_space = NULL;
    next->block = c->vectors, next->level++;
    TRY(pad(&A->own, p, &S));
    TRY(kry_find_aggregates(c, &S, &g, &strong));
    if (strong) {
        TRY(kry_alloc((size_t)kry_sparse_nnz(&A->own), sizeof *strong, &kept->strong));
        memcpy(kept->strong, strong + p.before, (size_t)kry_sparse_nnz(&A->own) * sizeof *strong);
    }
    TRY(mark_far(L, ldexp(c->strength, -c->level), c->block, &kept->far));
    if (!strong) free(kept->far), kept->far = NULL;
    TRY(take_tentative(A, p, c, &g, &kept->T, &next->near_null_space));
    TRY(number_parts(layout_of(L), kept->T.cols, kept));
done:
    free(strong);
    free(g.of_node);
    kry_sparse_release(&S);
    return st;
}

/* ---- the diagonals of this part's rows, and of those that go with the halo ------------------------- */

kry_status kry_part_diagonals(const kry_part_level *L, double **mine, double **theirs)
{
    kry_status st = KRY_OK;
    const int64_t n = L->A->own.rows;
    kry_placed_rows d = { .rows = n }, far = { 0 };

    TRY(kry_alloc((size_t)n, sizeof **mine, mine));
    TRY(kry_alloc((size_t)n, sizeof *d.place, &d.place)); /* no places are needed */
    TRY(kry_alloc((size_t)n + 1, sizeof *d.row_ptr, &d.row_ptr));
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = kry_sparse_find(&L->A->own, i, i);
        (*mine)[i] = e < 0 ? 0 : ((const double *)L->A->own.val)[e];
        d.row_ptr[i + 1] = i + 1;
    }
    d.val = *mine;
    TRY(kry_halo_fetch_rows(L->halo, &d, &far));
    *theirs = far.val, far.val = NULL;
done:
    d.val = NULL;
    kry_placed_rows_release(&far);
    kry_placed_rows_release(&d);
    return st;
}

/* ---- P -------------------------------------------------------------------------------------------- */

/* F: A without its weak entries, which are on the diagonal; and what steps are divided by. */
typedef struct filtered {
    kry_sparse own, far;
    double *d;
} filtered;

/* Copy row i of A but for its weak entries, whose sum is returned. */
static double copy_row(const kry_sparse *A, const bool *strong, int64_t i, kry_sparse *F)
{
    int64_t end = F->row_ptr[i];
    double weak = 0;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const double a = ((const double *)A->val)[e];
        if (strong && !strong[e]) {
            weak += a;
            continue;
        }
        F->col[end] = A->col[e], ((double *)F->val)[end++] = a;
    }
    F->row_ptr[i + 1] = end;
    return weak;
}

static kry_status filter(const kry_part_rows *A, const kry_part_kept *kept, filtered *f)
{
    const double least = 0.1; /* of the diagonal, as in smoothed.c */
    kry_status st = KRY_OK;

    *f = (filtered){ 0 };
    TRY(kry_alloc((size_t)A->own.rows, sizeof *f->d, &f->d));
    TRY(kry_sparse_create(A->own.rows, A->own.cols, KRY_F64, kry_sparse_nnz(&A->own), &f->own));
    TRY(kry_sparse_create(A->far.rows, A->far.cols, KRY_F64, kry_sparse_nnz(&A->far), &f->far));
    for (int64_t i = 0; i < A->own.rows; i++) {
        const double weak =
            copy_row(&A->own, kept->strong, i, &f->own) + copy_row(&A->far, kept->far, i, &f->far);
        double *entry = (double *)f->own.val + kry_sparse_find(&f->own, i, i), whole = *entry;
        *entry += weak;
        f->d[i] = *entry >= least * whole ? *entry : whole;
    }
done: /* the caller releases f */
    return st;
}

/* Add the sizes of each row's far entries to its diagonal, or take them away. */
static void move_far(filtered *f, double sign)
{
    const double *far = f->far.val;

    for (int64_t i = 0; i < f->own.rows; i++) {
        double *entry = (double *)f->own.val + kry_sparse_find(&f->own, i, i);
        for (int64_t e = f->far.row_ptr[i]; e < f->far.row_ptr[i + 1]; e++)
            *entry += sign * fabs(far[e]);
    }
}

/* The largest of all parts, of D^-1 F with |f_ij| on the diagonals i and j in place of a coupling f_ij between parts,
 * which makes no eigenvalue smaller. Collective. */
static kry_status find_rho(kry_layout *layout, filtered *f, double *rho)
{
    kry_status st = KRY_OK;

    *rho = 0;
    move_far(f, 1);
    if (f->own.rows) TRY(kry_amg_rho(&f->own, f->d, rho));
    move_far(f, -1);
    TRY(kry_layout_combine(layout, KRY_MAX, rho, 1));
done:
    return st;
}

/* S := [I 0] - omega D^-1 F */
static kry_status make_smoother(const filtered *f, double omega, kry_sparse *S)
{
    kry_status st = KRY_OK;

    TRY(kry_sparse_beside(&f->own, &f->far, S));
    double *val = S->val;
    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            val[e] = (S->col[e] == i) - omega / f->d[i] * val[e];
done:
    return st;
}

kry_status kry_part_prolongation(const kry_part_level *L, const kry_part_kept *kept,
                                 kry_part_rows *P)
{
    kry_status st = KRY_OK;
    const int64_t first = kept->first[kry_layout_rank(layout_of(L))];
    kry_placed_rows mine = { 0 }, theirs = { 0 };
    kry_part_columns c = { 0 };
    kry_sparse T = { 0 }, S = { 0 }, product = { 0 };
    filtered f = { 0 };
    double rho;

    TRY(fetch_own(L, &kept->T, first, &mine, &theirs));
    TRY(kry_part_columns_find((const kry_placed_rows *const[]){ &mine, &theirs }, first,
                              kept->T.cols, &c));
    TRY(kry_part_columns_stack(&mine, &theirs, &c, &T));
    TRY(filter(L->A, kept, &f));
    TRY(find_rho(layout_of(L), &f, &rho));
    TRY(make_smoother(&f, 4.0 / 3 / rho, &S));
    TRY(kry_sparse_multiply(&S, &T, &product));
    TRY(kry_part_columns_split(&product, &c, P));
    P->first = first;
done:
    free(f.d);
    kry_sparse_release(&f.far);
    kry_sparse_release(&f.own);
    kry_sparse_release(&product);
    kry_sparse_release(&S);
    kry_sparse_release(&T);
    free(c.place);
    kry_placed_rows_release(&theirs);
    free(mine.place);
    return st;
}
