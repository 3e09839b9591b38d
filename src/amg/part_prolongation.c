/* part_prolongation.c - the prolongation of smoothed aggregation on a team: smoothed.c, of a part's rows. */
#include "amg/part_levels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kryi_part_kept_release(kryi_part_kept *k)
{
    free(k->first);
    free(k->far);
    free(k->strong);
    kryi_dist_release(&k->T);
    *k = (kryi_part_kept){ 0 };
}

static kryi_layout *layout_of(const kryi_dist *A)
{
    return &kryi_halo_links_of(A->halo).dev->layout;
}

/* ---- aggregates ---------------------------------------------------------------------------------- */

/* A part may begin and end within a node: it then has rows more, which are coupled to nothing. */
typedef struct padding {
    int64_t before, after;
} padding;

static padding padding_of(const kryi_dist *A, int block)
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
static kry_status add_border(const kryi_dist *A, padding p, int block, kryi_aggregates *g)
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
static kry_status take_tentative(const kryi_dist *A, padding p, const kryi_coarsen *c,
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
    TRY(kryi_tentative(g, c->block, c->vectors, false, B_there, &T_there, &C_there));
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

    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(A), sizeof **strong, strong));
    TRY(kryi_alloc((uint64_t)F->nnz, sizeof *place, &place));
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
static kry_status mark_far(const kryi_dist *A, double theta, int block, bool **far)
{
    kry_status st = KRY_OK;
    const kryi_csr *F = &A->far;
    const double *a = F->val;
    double *d = NULL;

    if (!(theta > 0) || block > 1) return KRY_OK;
    TRY(kryi_part_diagonals(A, &d));
    const double *theirs = d + F->rows;
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(F), sizeof **far, far));
    for (int64_t i = 0; i < F->rows; i++)
        for (int64_t e = F->row_ptr[i]; e < F->row_ptr[i + 1]; e++)
            (*far)[e] = a[e] * a[e] >= theta * theta * (d[i] * theirs[F->col[e]]);
done:
    free(d);
    return st;
}

/* Number the coarse unknowns of all parts, of which this one has as many as T has columns. */
static kry_status number_unknowns(kryi_layout *layout, kryi_part_kept *kept)
{
    kry_status st = KRY_OK;
    const int parts = kryi_layout_size(layout);
    const int64_t mine = kept->T.own.cols;

    TRY(kryi_alloc((size_t)parts + 1, sizeof *kept->first, &kept->first));
    TRY(kryi_layout_gather(layout, &mine, sizeof mine, kept->first + 1));
    for (int r = 0; r < parts; r++) kept->first[r + 1] += kept->first[r];
    kept->T.first = kept->first[kryi_layout_rank(layout)];
done:
    return st;
}

/* The aggregates of this part's rows, which are some. */
static kry_status aggregate_own(const kryi_coarsen *c, const kryi_dist *A, const double *B,
                                kryi_part_kept *kept, double **C)
{
    kry_status st = KRY_OK;
    const padding p = padding_of(A, c->block);
    kry_device *dev = NULL;
    kryi_csr padded = { 0 };
    kryi_device_csr S = { 0 }, F = { 0 };
    kryi_aggregates g = { 0 };
    double theta;

    TRY(kryi_amg_host(c->who, layout_of(A)->dev, &dev));
    TRY(pad(&A->own, p, &padded));
    TRY(kryi_device_csr_upload(dev, &padded, &S));
    TRY(kryi_find_aggregates(c, &S, &theta, &g));
    if (g.count && theta > 0) {
        TRY(kryi_strong_entries(&S, c->block, theta, &g, &F));
        TRY(mark_own(&A->own, p, &F, &kept->strong));
    }
    TRY(add_border(A, p, c->block, &g));
    if (g.count)
        TRY(take_tentative(A, p, c, B, &g, &kept->T.own, C));
    else
        TRY(kryi_csr_create(A->own.rows, 0, KRY_F64, 0, &kept->T.own));
done:
    kryi_aggregates_release(&g);
    kryi_device_csr_release(&F);
    kryi_device_csr_release(&S);
    kryi_csr_release(&padded);
    kry_device_release(&dev);
    return st;
}

kry_status kryi_part_aggregate(const kryi_coarsen *c, const kryi_dist *A, const double *B,
                               kryi_part_kept *kept, double **C)
{
    kry_status st = KRY_OK;

    *C = NULL;
    if (A->own.rows)
        TRY(aggregate_own(c, A, B, kept, C));
    else
        TRY(kryi_csr_create(0, 0, KRY_F64, 0, &kept->T.own));
    TRY(kryi_csr_create(A->own.rows, 0, KRY_F64, 0, &kept->T.far));
    TRY(mark_far(A, ldexp(c->strength, -c->level), c->block, &kept->far));
    if (!kept->strong) free(kept->far), kept->far = NULL;
    TRY(number_unknowns(layout_of(A), kept));
done:
    return st;
}

kry_status kryi_part_diagonals(const kryi_dist *A, double **d)
{
    kry_status st = KRY_OK;
    const int64_t n = A->own.rows;
    kryi_dist D = { .first = A->first }, theirs = { 0 };

    TRY(kryi_csr_create(n, n, KRY_F64, n, &D.own));
    TRY(kryi_csr_create(n, 0, KRY_F64, 0, &D.far));
    TRY(kryi_alloc((size_t)(n + A->far.cols), sizeof **d, d));
    for (int64_t i = 0; i < n; i++) {
        ((double *)D.own.val)[i] = (*d)[i] = kryi_csr_entry(&A->own, i, i);
        D.own.col[i] = (int32_t)i, D.own.row_ptr[i + 1] = i + 1;
    }
    TRY(kryi_dist_fetch(A, &D, &theirs));
    for (int64_t j = 0; j < A->far.cols; j++) (*d)[n + j] = ((double *)theirs.far.val)[j];
done:
    kryi_dist_release(&theirs);
    kryi_dist_release(&D);
    return st;
}

/* ---- P -------------------------------------------------------------------------------------------- */

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

/* F := A without its weak entries, which are on the diagonal; d: what steps are divided by. */
static kry_status filter(const kryi_dist *A, const kryi_part_kept *kept, kryi_dist *F, double *d)
{
    const double least = 0.1; /* of the diagonal, as in smoothed.c */
    kry_status st = KRY_OK;

    TRY(kryi_csr_create(A->own.rows, A->own.cols, KRY_F64, kryi_csr_nnz(&A->own), &F->own));
    TRY(kryi_csr_create(A->far.rows, A->far.cols, KRY_F64, kryi_csr_nnz(&A->far), &F->far));
    for (int64_t i = 0; i < A->own.rows; i++) {
        const double weak =
            copy_row(&A->own, kept->strong, i, &F->own) + copy_row(&A->far, kept->far, i, &F->far);
        double *entry = (double *)F->own.val + kryi_csr_find(&F->own, i, i), whole = *entry;
        *entry += weak;
        d[i] = *entry >= least * whole ? *entry : whole;
    }
done: /* the caller releases F */
    return st;
}

/* Add the sizes of each row's far entries to its diagonal, or take them away. */
static void move_far(kryi_dist *F, double sign)
{
    const double *far = F->far.val;

    for (int64_t i = 0; i < F->own.rows; i++) {
        double *entry = (double *)F->own.val + kryi_csr_find(&F->own, i, i);
        for (int64_t e = F->far.row_ptr[i]; e < F->far.row_ptr[i + 1]; e++)
            *entry += sign * fabs(far[e]);
    }
}

/* *rho := that of this part's own entries. */
static kry_status rho_of_own(const kryi_csr *own, const double *d, kry_device *beside, double *rho)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kryi_device_csr F = { 0 };
    cl_mem d_there = NULL;

    TRY(kryi_amg_host(kryi_amg_who, beside, &dev));
    TRY(kryi_device_csr_upload(dev, own, &F));
    TRY(kryi_buffer_upload(dev, (size_t)F.rows * sizeof *d, d, &d_there));
    TRY(kryi_amg_rho(&F, d_there, rho));
done:
    if (dev) kryi_buffer_release(dev, &d_there);
    kryi_device_csr_release(&F);
    kry_device_release(&dev);
    return st;
}

/* The largest of all parts, of D^-1 F with |f_ij| on the diagonals i and j in place of a coupling f_ij between parts,
 * which makes no eigenvalue smaller. Collective. */
static kry_status find_rho(kryi_layout *layout, kryi_dist *F, const double *d, double *rho)
{
    kry_status st = KRY_OK;

    *rho = 0;
    move_far(F, 1);
    if (F->own.rows) TRY(rho_of_own(&F->own, d, layout->dev, rho));
    move_far(F, -1);
    TRY(kryi_layout_combine(layout, KRY_MAX, rho, 1));
done:
    return st;
}

/* F := I - omega D^-1 F */
static void make_smoother(double omega, const double *d, kryi_dist *F)
{
    for (int far = 0; far < 2; far++) {
        const kryi_csr *M = far ? &F->far : &F->own;
        double *val = M->val;
        for (int64_t i = 0; i < M->rows; i++)
            for (int64_t e = M->row_ptr[i]; e < M->row_ptr[i + 1]; e++)
                val[e] = (!far && M->col[e] == i) - omega / d[i] * val[e];
    }
}

kry_status kryi_part_prolongation(const kryi_dist *A, const kryi_part_kept *kept, kryi_dist *P)
{
    kry_status st = KRY_OK;
    kryi_dist theirs = { 0 }, F = { 0 };
    double rho, *d = NULL;

    TRY(kryi_dist_fetch(A, &kept->T, &theirs));
    TRY(kryi_alloc((size_t)A->own.rows, sizeof *d, &d));
    TRY(filter(A, kept, &F, d));
    TRY(find_rho(layout_of(A), &F, d, &rho));
    make_smoother(4.0 / 3 / rho, d, &F);
    TRY(kryi_dist_multiply(&F, &kept->T, &theirs, P));
done:
    free(d);
    kryi_dist_release(&F);
    kryi_dist_release(&theirs);
    return st;
}
