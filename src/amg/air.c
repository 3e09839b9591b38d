/*
 * air.c - approximate ideal restriction, for matrices that need not be symmetric: C points and F points as in classical
 * coarsening, R and P of their own.
 *
 *   C points  by the couplings |a_ij| >= strength max_k |a_ik|, in either direction (splitting.c)
 *   R         row of a C point i: 1 at i, and z at the F points N within two strong couplings, with z A(N, N) = -A(i, N), so
 *             that R A is zero there: what smoothing leaves at F points does not reach the coarser level. Small entries go
 *   P         the identity at C points, 1 at the C point of the largest coupling at F points
 *   coarser   R A P, of which small entries are added to the diagonal (coarser.c)
 *
 * Breakdown  none: where A(N, N) is not regular its diagonal takes its place
 * Kernels    cl/amg/air.cl
 * Source     T. A. Manteuffel, J. Ruge, B. S. Southworth, SIAM J. Sci. Comput. 40 (2018), A4105-A4130, doi:10.1137/17M1144350;
 *            T. A. Manteuffel, S. Muenzenmaier, J. Ruge, B. S. Southworth, SIAM J. Sci. Comput. 41 (2019), S242-S268,
 *            doi:10.1137/18M1193761
 */
#include "amg/amg_device.h"
#include "amg/classical.h"
#include "device/launch.h"
#include <float.h>
#include <stdlib.h>

enum { MOST = 24 }; /* places of a row of R before small entries go */

/* R goes to neighbours by couplings of at least near_strength of a row's largest one, and loses entries below restriction_drop of
 * a row's largest one. */
static const double near_strength = 0.1, restriction_drop = 0.03;

static const char stem[] = "air";

/* The part of the set-up that stays when A has new numbers. */
typedef struct air {
    cl_mem point;      /* an int for each C point */
    kryi_device_csr Z; /* the places of R before small entries went */
    cl_int longest;    /* row of Z */
} air;

static void air_destroy(void *kept)
{
    air *s = kept;
    if (!s) return;
    kryi_buffer_release(s->Z.dev, &s->point);
    kryi_device_csr_release(&s->Z);
    free(s);
}

/* ---- C points -------------------------------------------------------------------------------- */

/* S := the strong couplings, with -1 as numbers. */
static kry_status find_strong(const kryi_device_csr *A, double theta, cl_mem largest,
                              kryi_device_csr *S)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    cl_mem length = NULL;

    *S = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = A->rows, .type = KRY_F64 };
    TRY(kryi_ints_create(A->dev, A->rows, &length));
    const kry_arg lengths[] = { ARG(rows),   ARG(theta),   ARG(A->row_ptr), ARG(A->col),
                                ARG(A->val), ARG(largest), ARG(length) };
    TRY(kryi_device_rows(A->dev, stem, "air_strong_lengths", A->rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_make_rows("strong couplings", length, S));
    const kry_arg columns[] = { ARG(rows),       ARG(theta),  ARG(A->row_ptr),
                                ARG(A->col),     ARG(A->val), ARG(largest),
                                ARG(S->row_ptr), ARG(S->col), ARG(S->val) };
    TRY(kryi_device_rows(A->dev, stem, "air_strong_columns", A->rows, columns, COUNT(columns)));
done:
    kryi_buffer_release(A->dev, &length);
    return st;
}

/* B := the places of X and of Y, with -1 as numbers. */
static kry_status unite(const kryi_device_csr *X, const kryi_device_csr *Y, kryi_device_csr *B)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)X->rows;
    cl_mem length = NULL;

    *B = (kryi_device_csr){ .dev = X->dev, .rows = X->rows, .cols = X->rows, .type = KRY_F64 };
    TRY(kryi_ints_create(X->dev, X->rows, &length));
    const kry_arg lengths[] = { ARG(rows),       ARG(X->row_ptr), ARG(X->col),
                                ARG(Y->row_ptr), ARG(Y->col),     ARG(length) };
    TRY(kryi_device_rows(X->dev, stem, "air_both_lengths", X->rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_make_rows("strong couplings", length, B));
    const kry_arg columns[] = { ARG(rows),   ARG(X->row_ptr), ARG(X->col), ARG(Y->row_ptr),
                                ARG(Y->col), ARG(B->row_ptr), ARG(B->col), ARG(B->val) };
    TRY(kryi_device_rows(X->dev, stem, "air_both_columns", X->rows, columns, COUNT(columns)));
done:
    kryi_buffer_release(X->dev, &length);
    return st;
}

/* s := C points no two of which are strongly coupled, in either direction. */
static kry_status split(const kryi_device_csr *A, double theta, cl_mem largest, kryi_splitting *s)
{
    kry_status st = KRY_OK;
    kryi_device_csr S = { 0 }, S_t = { 0 }, both = { 0 };
    cl_mem from = NULL;

    TRY(find_strong(A, theta, largest, &S));
    TRY(kryi_device_csr_transpose(&S, &S_t, &from));
    TRY(unite(&S, &S_t, &both));
    TRY(kryi_splitting_create(&both, -1, s));
done:
    kryi_buffer_release(A->dev, &from);
    kryi_device_csr_release(&both);
    kryi_device_csr_release(&S_t);
    kryi_device_csr_release(&S);
    return st;
}

/* ---- P --------------------------------------------------------------------------------------- */

static kry_status interpolate(const kryi_device_csr *A, const kryi_splitting *s, kryi_device_csr *P)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    cl_mem length = NULL;

    *P = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = s->coarse, .type = KRY_F64 };
    TRY(kryi_ints_create(A->dev, A->rows, &length));
    const kry_arg lengths[] = { ARG(rows),   ARG(A->row_ptr), ARG(A->col),
                                ARG(A->val), ARG(s->number),  ARG(length) };
    TRY(kryi_device_rows(A->dev, stem, "air_source_lengths", A->rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_make_rows("a prolongation", length, P));
    const kry_arg entries[] = { ARG(rows),      ARG(A->row_ptr), ARG(A->col), ARG(A->val),
                                ARG(s->number), ARG(P->row_ptr), ARG(P->col), ARG(P->val) };
    TRY(kryi_device_rows(A->dev, stem, "air_source_entries", A->rows, entries, COUNT(entries)));
done:
    kryi_buffer_release(A->dev, &length);
    return st;
}

/* ---- R --------------------------------------------------------------------------------------- */

/* k := the C points and the places of R. */
static kry_status find_places(const kryi_device_csr *A, const kryi_splitting *s, cl_mem largest,
                              air *k)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_int rows = (cl_int)A->rows, count = (cl_int)s->coarse, most = MOST;
    const double theta = near_strength;
    cl_mem list = NULL, length = NULL, longest = NULL;

    k->Z = (kryi_device_csr){ .dev = dev, .rows = count, .cols = A->rows, .type = KRY_F64 };
    TRY(kryi_ints_create(dev, count, &k->point));
    const kry_arg points[] = { ARG(rows), ARG(s->number), ARG(k->point) };
    TRY(kryi_device_rows(dev, stem, "air_points", rows, points, COUNT(points)));
    TRY(kryi_ints_create(dev, (int64_t)count * most, &list));
    TRY(kryi_ints_create(dev, count, &length));
    TRY(kryi_buffer_upload(dev, sizeof k->longest, &k->longest, &longest));
    const kry_arg near[] = { ARG(count),    ARG(most),   ARG(theta),   ARG(A->row_ptr),
                             ARG(A->col),   ARG(A->val), ARG(largest), ARG(s->number),
                             ARG(k->point), ARG(list),   ARG(length),  ARG(longest) };
    TRY(kryi_device_rows(dev, stem, "air_neighbours", count, near, COUNT(near)));
    TRY(kryi_buffer_read(dev, longest, 0, sizeof k->longest, &k->longest));
    TRY(kryi_device_csr_make_rows("a restriction", length, &k->Z));
    const kry_arg pack[] = { ARG(count), ARG(most), ARG(list), ARG(k->Z.row_ptr), ARG(k->Z.col) };
    TRY(kryi_device_rows(dev, stem, "air_pack", count, pack, COUNT(pack)));
    kryi_buffer_release(dev, &k->Z.val);
done:
    kryi_buffer_release(dev, &longest);
    kryi_buffer_release(dev, &length);
    kryi_buffer_release(dev, &list);
    return st;
}

/* Z := k->Z with the numbers that A makes. */
static kry_status restriction_of(const kryi_device_csr *A, const air *k, kryi_device_csr *Z)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_int count = (cl_int)k->Z.rows;
    const double least = 100 * DBL_EPSILON;
    size_t bytes;
    const int64_t room = (int64_t)k->longest * k->longest,
                  groups = kryi_device_csr_groups_with_room(&k->Z, room, sizeof(double), &bytes);
    cl_mem scratch = NULL;

    TRY(kryi_device_csr_share(&k->Z, Z));
    TRY(kryi_buffer_create(dev, (uint64_t)Z->nnz * sizeof(double), &Z->val));
    TRY(kryi_buffer_create(dev, bytes, &scratch));
    const kry_arg args[] = { ARG(count),  ARG(least),  ARG(k->longest), ARG(A->row_ptr),
                             ARG(A->col), ARG(A->val), ARG(k->point),   ARG(Z->row_ptr),
                             ARG(Z->col), ARG(Z->val), ARG(scratch) };
    TRY(kryi_run(dev, stem, KRY_F64, "", "air_restriction", groups, args, COUNT(args)));
done:
    kryi_buffer_release(dev, &scratch);
    if (st < 0) kryi_device_csr_release(Z);
    return st;
}

/* ---- the coarsener ----------------------------------------------------------------------------- */

static kry_status make(const kryi_device_csr *A, const kryi_splitting *s, cl_mem largest, air *k,
                       kryi_device_csr *P, kryi_device_csr *R)
{
    kry_status st = KRY_OK;
    kryi_device_csr Z = { 0 };

    TRY(interpolate(A, s, P));
    TRY(find_places(A, s, largest, k));
    TRY(restriction_of(A, k, &Z));
    TRY(kryi_device_csr_drop("a restriction", &Z, restriction_drop, false, R));
done:
    kryi_device_csr_release(&Z);
    return st;
}

static kry_status air_create(kryi_coarsen *c, const kryi_device_csr *A, kryi_device_csr *P,
                             kryi_device_csr *R, void **kept)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    kryi_splitting s = { 0 };
    cl_mem largest = NULL;
    air *k = NULL;

    *P = *R = (kryi_device_csr){ 0 };
    *kept = NULL;
    TRY(kryi_alloc(1, sizeof *k, &k));
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->rows * sizeof(double), &largest));
    const kry_arg args[] = { ARG(rows), ARG(A->row_ptr), ARG(A->col), ARG(A->val), ARG(largest) };
    TRY(kryi_device_rows(A->dev, stem, "air_largest", A->rows, args, COUNT(args)));
    TRY(split(A, c->strength, largest, &s));
    if (s.coarse == 0) goto done;
    TRY(make(A, &s, largest, k, P, R));
    *kept = k, k = NULL;
done:
    air_destroy(k);
    kryi_buffer_release(A->dev, &largest);
    kryi_splitting_release(&s);
    if (st < 0) {
        kryi_device_csr_release(R);
        kryi_device_csr_release(P);
    }
    return st;
}

/* P has ones, whatever A's numbers are. */
static kry_status air_update(const kryi_device_csr *A, void *kept, kryi_device_csr *P,
                             kryi_device_csr *R)
{
    kry_status st = KRY_OK;
    const air *k = kept;
    const cl_int entries = (cl_int)P->nnz;
    kryi_device_csr Z = { 0 };

    const kry_arg args[] = { ARG(entries), ARG(P->val) };
    TRY(kryi_device_rows(A->dev, stem, "air_ones", entries, args, COUNT(args)));
    TRY(restriction_of(A, k, &Z));
    TRY(kryi_device_csr_keep(&Z, false, R));
done:
    kryi_device_csr_release(&Z);
    return st;
}

const kryi_coarsener kryi_air_coarsening = { "approximate ideal restriction", air_create,
                                             air_update, air_destroy };
