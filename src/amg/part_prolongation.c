/* part_prolongation.c - the prolongation of smoothed aggregation on a team: smoothed.c, of a part's rows. */
#include "amg/part_levels.h"
#include "operator/halo.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kryi_part_kept_release(kryi_part_kept *k)
{
    free(k->first);
    free(k->far);
    free(k->strong);
    kryi_csr_release(&k->T);
    *k = (kryi_part_kept){ 0 };
}

static kryi_layout *layout_of(const kryi_part_level *L)
{
    return &kryi_halo_links_of(L->halo).dev->layout;
}

/* theirs := the rows of the others that go with the halo, of a matrix of which this part has the rows M, in its columns. */
static kry_status fetch_own(const kryi_part_level *L, const kryi_csr *M, int64_t first,
                            kryi_placed_rows *mine, kryi_placed_rows *theirs)
{
    kry_status st = KRY_OK;
    const kryi_part_columns own = { .first = first, .own = M->cols };

    TRY(kryi_part_columns_place(M, &own, mine));
    TRY(kryi_halo_fetch_rows(L->halo, mine, theirs));
done:
    return st;
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* A part may begin and end within a node: it then has rows more, which are coupled to nothing. */
typedef struct padding {
    int64_t before, after;
} padding;

static padding padding_of(const kryi_part_rows *A, int block)
{
    padding p = { .before = A->own.rows ? A->first % block : 0 };
    p.after = (block - (p.before + A->own.rows) % block) % block;
    return p;
}

/* S := A between rows of the identity. */
static kry_status pad(const kryi_csr *A, padding p, kryi_csr *S)
{
    kry_status st = KRY_OK;
    const int64_t n = A->rows + p.before + p.after, nnz = kryi_csr_nnz(A);
    double *val;

    TRY(kryi_csr_create(n, n, KRY_F64, nnz + p.before + p.after, S));
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
static bool reaches_out(const kryi_csr *far, int64_t begin, int64_t end)
{
    if (begin < 0) begin = 0;
    if (end > far->rows) end = far->rows;
    return begin < end && far->row_ptr[end] > far->row_ptr[begin];
}

/* Nodes that are in no aggregate, but coupled to other parts, make aggregates of their own. */
static kry_status add_border(const kryi_part_rows *A, padding p, int block, kryi_aggregates *g)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)g->G.rows * sizeof(cl_int);
    cl_int *of_node = NULL;

    TRY(kryi_alloc((size_t)g->G.rows, sizeof *of_node, &of_node));
    if (g->count) TRY(kryi_buffer_read(g->G.dev, g->of_node, 0, bytes, of_node));
    if (!g->count)
        for (int64_t i = 0; i < g->G.rows; i++) of_node[i] = -1;
    for (int64_t i = 0; i < g->G.rows; i++) {
        const int64_t begin = i * block - p.before;
        if (of_node[i] < 0 && reaches_out(&A->far, begin, begin + block))
            of_node[i] = (cl_int)g->count++;
    }
    TRY(kryi_buffer_write(g->G.dev, g->of_node, 0, bytes, of_node));
done:
    free(of_node);
    return st;
}

/* T := what the aggregates make of B, which is padded. */
static kry_status take_tentative(const kryi_part_rows *A, padding p, const kryi_coarsen *c,
                                 const double *B, const kryi_aggregates *g, kryi_csr *T, double **C)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->G.dev;
    const size_t m = (size_t)c->vectors, n = (size_t)A->own.rows, coarse = (size_t)g->count * m;
    const size_t padded_rows = (size_t)(p.before + p.after) + n;
    kryi_device_csr T_there = { 0 };
    kryi_csr padded = { 0 };
    double *B_padded = NULL;
    cl_mem B_there = NULL, C_there = NULL;

    TRY(kryi_alloc(padded_rows * m, sizeof *B, &B_padded));
    memcpy(B_padded + (size_t)p.before * m, B, n * m * sizeof *B);
    TRY(kryi_buffer_upload(dev, padded_rows * m * sizeof *B, B_padded, &B_there));
    TRY(kryi_tentative(g, c->block, c->vectors, B_there, &T_there, &C_there));
    TRY(kryi_device_csr_download(&T_there, &padded));
    TRY(kryi_alloc(coarse * m, sizeof **C, C));
    TRY(kryi_buffer_read(dev, C_there, 0, coarse * m * sizeof **C, *C));
    TRY(kryi_csr_part(
        &padded, &(kryi_csr_cut){ .rows = A->own.rows, .first = p.before, .cols = padded.cols }, T,
        NULL));
done:
    kryi_buffer_release(dev, &C_there);
    kryi_buffer_release(dev, &B_there);
    kryi_csr_release(&padded);
    kryi_device_csr_release(&T_there);
    free(B_padded);
    return st;
}

/* strong[e] := whether entry e of A is strong, whose places in a padded matrix are F's. */
static kry_status mark_own(const kryi_csr *A, padding p, const kryi_device_csr *F, bool **strong)
{
    kry_status st = KRY_OK;
    cl_int *place = NULL;

    TRY(kryi_alloc((size_t)kryi_csr_nnz(A), sizeof **strong, strong));
    TRY(kryi_alloc((size_t)F->nnz, sizeof *place, &place));
    if (F->place) TRY(kryi_buffer_read(F->dev, F->place, 0, (size_t)F->nnz * sizeof *place, place));
    for (int64_t f = 0; f < F->nnz; f++) {
        const int64_t e = (F->place ? place[f] : f) - p.before;
        if (e >= 0 && e < kryi_csr_nnz(A)) (*strong)[e] = true;
    }
done:
    free(place);
    return st;
}

/* far[e] := whether entry e of A's far columns is strong, of scalar unknowns; of nodes all are. */
static kry_status mark_far(const kryi_part_level *L, double theta, int block, bool **far)
{
    kry_status st = KRY_OK;
    const kryi_csr *A = &L->A->far;
    const double *a = A->val;
    double *mine = NULL, *theirs = NULL;

    if (!(theta > 0) || block > 1) return KRY_OK;
    TRY(kryi_part_diagonals(L, &mine, &theirs));
    TRY(kryi_alloc((size_t)kryi_csr_nnz(A), sizeof **far, far));
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            (*far)[e] = a[e] * a[e] >= theta * theta * (mine[i] * theirs[A->col[e]]);
done:
    free(theirs);
    free(mine);
    return st;
}

static kry_status number_parts(kryi_layout *layout, int64_t mine, kryi_part_kept *kept)
{
    kry_status st = KRY_OK;

    kept->parts = kryi_layout_size(layout);
    TRY(kryi_alloc((size_t)kept->parts + 1, sizeof *kept->first, &kept->first));
    TRY(kryi_layout_gather(layout, &mine, sizeof mine, kept->first + 1));
    for (int r = 0; r < kept->parts; r++) kept->first[r + 1] += kept->first[r];
done:
    return st;
}

/* The aggregates of this part's rows, which are some. */
static kry_status aggregate_own(const kryi_coarsen *c, const kryi_part_level *L, const double *B,
                                kryi_part_kept *kept, double **C)
{
    kry_status st = KRY_OK;
    const kryi_part_rows *A = L->A;
    const padding p = padding_of(A, c->block);
    kry_device *dev = NULL;
    kryi_csr padded = { 0 };
    kryi_device_csr S = { 0 }, F = { 0 };
    kryi_aggregates g = { 0 };
    double theta;

    TRY(kryi_amg_host(c->who, layout_of(L)->dev, &dev));
    TRY(pad(&A->own, p, &padded));
    TRY(kryi_device_csr_upload(dev, &padded, &S));
    TRY(kryi_find_aggregates(c, &S, &theta, &g));
    if (g.count && theta > 0) {
        TRY(kryi_strong_entries(&S, c->block, theta, &g, &F));
        TRY(mark_own(&A->own, p, &F, &kept->strong));
    }
    TRY(add_border(A, p, c->block, &g));
    if (g.count)
        TRY(take_tentative(A, p, c, B, &g, &kept->T, C));
    else
        TRY(kryi_csr_create(A->own.rows, 0, KRY_F64, 0, &kept->T));
done:
    kryi_aggregates_release(&g);
    kryi_device_csr_release(&F);
    kryi_device_csr_release(&S);
    kryi_csr_release(&padded);
    kry_device_release(&dev);
    return st;
}

kry_status kryi_part_aggregate(const kryi_coarsen *c, const kryi_part_level *L, const double *B,
                               kryi_part_kept *kept, double **C)
{
    kry_status st = KRY_OK;

    *C = NULL;
    if (L->A->own.rows)
        TRY(aggregate_own(c, L, B, kept, C));
    else
        TRY(kryi_csr_create(0, 0, KRY_F64, 0, &kept->T));
    TRY(mark_far(L, ldexp(c->strength, -c->level), c->block, &kept->far));
    if (!kept->strong) free(kept->far), kept->far = NULL;
    TRY(number_parts(layout_of(L), kept->T.cols, kept));
done:
    return st;
}

/* ---- the diagonals of this part's rows, and of those that go with the halo ------------------------- */

kry_status kryi_part_diagonals(const kryi_part_level *L, double **mine, double **theirs)
{
    kry_status st = KRY_OK;
    const int64_t n = L->A->own.rows;
    kryi_placed_rows d = { .rows = n }, far = { 0 };

    TRY(kryi_alloc((size_t)n, sizeof **mine, mine));
    TRY(kryi_alloc((size_t)n, sizeof *d.place, &d.place)); /* no places are needed */
    TRY(kryi_alloc((size_t)n + 1, sizeof *d.row_ptr, &d.row_ptr));
    for (int64_t i = 0; i < n; i++) {
        (*mine)[i] = kryi_csr_entry(&L->A->own, i, i);
        d.row_ptr[i + 1] = i + 1;
    }
    d.val = *mine;
    TRY(kryi_halo_fetch_rows(L->halo, &d, &far));
    *theirs = far.val, far.val = NULL;
done:
    d.val = NULL;
    kryi_placed_rows_release(&far);
    kryi_placed_rows_release(&d);
    return st;
}

/* ---- P -------------------------------------------------------------------------------------------- */

/* F: A without its weak entries, which are on the diagonal; and what steps are divided by. */
typedef struct filtered {
    kryi_csr own, far;
    double *d;
} filtered;

/* Copy row i of A but for its weak entries, whose sum is returned. */
static double copy_row(const kryi_csr *A, const bool *strong, int64_t i, kryi_csr *F)
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

static kry_status filter(const kryi_part_rows *A, const kryi_part_kept *kept, filtered *f)
{
    const double least = 0.1; /* of the diagonal, as in smoothed.c */
    kry_status st = KRY_OK;

    *f = (filtered){ 0 };
    TRY(kryi_alloc((size_t)A->own.rows, sizeof *f->d, &f->d));
    TRY(kryi_csr_create(A->own.rows, A->own.cols, KRY_F64, kryi_csr_nnz(&A->own), &f->own));
    TRY(kryi_csr_create(A->far.rows, A->far.cols, KRY_F64, kryi_csr_nnz(&A->far), &f->far));
    for (int64_t i = 0; i < A->own.rows; i++) {
        const double weak =
            copy_row(&A->own, kept->strong, i, &f->own) + copy_row(&A->far, kept->far, i, &f->far);
        double *entry = (double *)f->own.val + kryi_csr_find(&f->own, i, i), whole = *entry;
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
        double *entry = (double *)f->own.val + kryi_csr_find(&f->own, i, i);
        for (int64_t e = f->far.row_ptr[i]; e < f->far.row_ptr[i + 1]; e++)
            *entry += sign * fabs(far[e]);
    }
}

/* *rho := that of this part's own entries. */
static kry_status rho_of_own(const filtered *f, kry_device *beside, double *rho)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kryi_device_csr F = { 0 };
    cl_mem d = NULL;

    TRY(kryi_amg_host(kryi_amg_who, beside, &dev));
    TRY(kryi_device_csr_upload(dev, &f->own, &F));
    TRY(kryi_buffer_upload(dev, (size_t)F.rows * sizeof *f->d, f->d, &d));
    TRY(kryi_amg_rho(&F, d, rho));
done:
    if (dev) kryi_buffer_release(dev, &d);
    kryi_device_csr_release(&F);
    kry_device_release(&dev);
    return st;
}

/* The largest of all parts, of D^-1 F with |f_ij| on the diagonals i and j in place of a coupling f_ij between parts,
 * which makes no eigenvalue smaller. Collective. */
static kry_status find_rho(kryi_layout *layout, filtered *f, double *rho)
{
    kry_status st = KRY_OK;

    *rho = 0;
    move_far(f, 1);
    if (f->own.rows) TRY(rho_of_own(f, layout->dev, rho));
    move_far(f, -1);
    TRY(kryi_layout_combine(layout, KRY_MAX, rho, 1));
done:
    return st;
}

/* S := [I 0] - omega D^-1 F */
static kry_status make_smoother(const filtered *f, double omega, kryi_csr *S)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_beside(&f->own, &f->far, S));
    double *val = S->val;
    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            val[e] = (S->col[e] == i) - omega / f->d[i] * val[e];
done:
    return st;
}

kry_status kryi_part_prolongation(const kryi_part_level *L, const kryi_part_kept *kept,
                                  kryi_part_rows *P)
{
    kry_status st = KRY_OK;
    const int64_t first = kept->first[kryi_layout_rank(layout_of(L))];
    kryi_placed_rows mine = { 0 }, theirs = { 0 };
    kryi_part_columns c = { 0 };
    kryi_csr T = { 0 }, S = { 0 }, product = { 0 };
    filtered f = { 0 };
    double rho;

    TRY(fetch_own(L, &kept->T, first, &mine, &theirs));
    TRY(kryi_part_columns_find((const kryi_placed_rows *const[]){ &mine, &theirs }, first,
                               kept->T.cols, &c));
    TRY(kryi_part_columns_stack(&mine, &theirs, &c, &T));
    TRY(filter(L->A, kept, &f));
    TRY(find_rho(layout_of(L), &f, &rho));
    TRY(make_smoother(&f, 4.0 / 3 / rho, &S));
    TRY(kryi_csr_multiply(&S, &T, &product));
    TRY(kryi_part_columns_split(&product, &c, P));
    P->first = first;
done:
    free(f.d);
    kryi_csr_release(&f.far);
    kryi_csr_release(&f.own);
    kryi_csr_release(&product);
    kryi_csr_release(&S);
    kryi_csr_release(&T);
    free(c.place);
    kryi_placed_rows_release(&theirs);
    free(mine.place);
    return st;
}
