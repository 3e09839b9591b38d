/* part_coarser.c - P'A P on a team: a part's rows of it, those of its own coarse unknowns. */
#include "amg/amg_device.h"
#include "amg/part_levels.h"
#include <stdlib.h>

void kryi_part_coarser_release(kryi_part_coarser *c)
{
    kryi_dist_release(&c->A);
    kryi_dist_release(&c->R);
    kryi_dist_release(&c->P);
    free(c->near_null_space);
    c->near_null_space = NULL;
}

/* kryi_device_regularise of the own entries of c->A, which takes level and rounding. d: the diagonal of the finer A. */
static kry_status regularise(int level, double rounding, kry_device *beside, const double *d,
                             kryi_part_coarser *c)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kryi_csr rows = { 0 };
    kryi_device_csr R = { 0 }, A = { 0 };
    cl_mem fine = NULL;

    if (!c->A.own.rows) return KRY_OK;
    TRY(kryi_amg_host(kryi_amg_who, beside, &dev));
    TRY(kryi_csr_beside(&c->R.own, &c->R.far, &rows));
    TRY(kryi_device_csr_upload(dev, &rows, &R));
    TRY(kryi_device_csr_upload(dev, &c->A.own, &A));
    TRY(kryi_buffer_upload(dev, (size_t)rows.cols * sizeof *d, d, &fine));
    TRY(kryi_device_regularise(kryi_amg_who, level, rounding, fine, &R, &A));
    TRY(kryi_buffer_read(dev, A.val, 0, (size_t)A.nnz * sizeof *d, c->A.own.val));
done:
    if (dev) kryi_buffer_release(dev, &fine);
    kryi_device_csr_release(&A);
    kryi_device_csr_release(&R);
    kryi_csr_release(&rows);
    kry_device_release(&dev);
    return st;
}

/* Make the own entries of the coarser matrix fit for what comes below, and symmetric to the bit. */
static kry_status mend(int level, kry_type type, const kryi_dist *A, kryi_part_coarser *c)
{
    kry_status st = KRY_OK;
    kryi_csr_mismatch m;
    double *d = NULL;

    TRY(kryi_part_diagonals(A, &d));
    TRY(regularise(level, kryi_coarser_rounding(type), kryi_halo_links_of(A->halo).dev, d, c));
    TRY(kryi_csr_symmetrise(&c->A.own, type == KRY_F32 ? 1e-5 : 1e-8, &m));
    CHECK(
        m.i < 0, KRY_ERR_ARGUMENT,
        "%s: the matrix is not symmetric: level %d has %g at row %lld, column %lld of a part, and "
        "%g at their mirror image",
        kryi_amg_who, level, m.lower, (long long)m.i, (long long)m.j, m.upper);
done:
    free(d);
    return st;
}

kry_status kryi_part_multiply(int level, kry_type type, const kryi_dist *A, kryi_part_coarser *c)
{
    kry_status st = KRY_OK;
    kryi_dist AP = { 0 }, their_P = { 0 }, their_AP = { 0 };

    TRY(kryi_dist_fetch(A, &c->P, &their_P));
    c->R.first = A->first;
    TRY(kryi_csr_transpose(&c->P.own, &c->R.own));
    TRY(kryi_csr_transpose(&their_P.own, &c->R.far));
    TRY(kryi_dist_multiply(A, &c->P, &their_P, &AP));
    TRY(kryi_dist_fetch(A, &AP, &their_AP));
    TRY(kryi_dist_multiply(&c->R, &AP, &their_AP, &c->A));
    TRY(mend(level, type, A, c));
done:
    kryi_dist_release(&their_AP);
    kryi_dist_release(&AP);
    kryi_dist_release(&their_P);
    return st;
}
