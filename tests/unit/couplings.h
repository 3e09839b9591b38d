/* couplings.h - small symmetric matrices by their couplings, for the tests of classical coarsening. */
#ifndef KRY_COUPLINGS_H
#define KRY_COUPLINGS_H

#include "sparse/csr.h"
#include "testing.h"

typedef double coupling_fn(int64_t i, int64_t j, int64_t n);

/* The matrix with these couplings below the diagonal and their mirror images; on the diagonal the sum of
 * their absolute values, and `ground`. */
MAYBE_UNUSED static kryi_csr symmetric(int64_t n, coupling_fn *coupling, double ground)
{
    kryi_csr A;
    int64_t nnz = 0;

    OK(kryi_csr_create(n, n, KRY_F64, n * n, &A));
    double *val = A.val;
    for (int64_t i = 0; i < n; i++) {
        double sum = ground;
        for (int64_t j = 0; j < n; j++)
            if (j != i) sum += fabs(coupling(i > j ? i : j, i > j ? j : i, n));
        for (int64_t j = 0; j < n; j++) {
            const double a = j == i ? sum : coupling(i > j ? i : j, i > j ? j : i, n);
            if (a != 0) A.col[nnz] = (int32_t)j, val[nnz++] = a;
        }
        A.row_ptr[i + 1] = nnz;
    }
    return A;
}

static uint64_t places; /* which couplings of a random matrix there are, and how large they are */

static double in_place(int64_t i, int64_t j, int which)
{
    return kry_random_unit(places, (uint64_t)which, (uint64_t)(i * 1000 + j));
}

static double chain(int64_t i, int64_t j, int64_t n) { return (void)n, i - j == 1 ? -1 : 0; }
static double five_points(int64_t i, int64_t j, int64_t n)
{
    const int64_t side = (int64_t)(sqrt((double)n) + 0.5);
    return i - j == side || (i - j == 1 && i % side) ? -1 : 0;
}
static double two_chains(int64_t i, int64_t j, int64_t n)
{
    return i - j == 1 && i != n / 2 ? -1 : 0;
}
static double isolated(int64_t i, int64_t j, int64_t n)
{
    return i % 5 && j % 5 ? five_points(i, j, n) : 0;
}
static double hub(int64_t i, int64_t j, int64_t n) { return j == 0 ? -1 : chain(i, j, n) / 8; }
static double two_hubs(int64_t i, int64_t j, int64_t n) { return (void)n, (void)i, j < 2 ? -1 : 0; }
static double positive(int64_t i, int64_t j, int64_t n)
{
    return i - j == 2 ? 0.2 : five_points(i, j, n);
}
static double all_positive(int64_t i, int64_t j, int64_t n) { return -chain(i, j, n); }
static double none(int64_t i, int64_t j, int64_t n) { return (void)i, (void)j, (void)n, 0; }
static double random_negative(int64_t i, int64_t j, int64_t n)
{
    return in_place(i, j, 0) < 4.0 / (double)n ? -in_place(i, j, 1) : 0;
}
static double random_sign(int64_t i, int64_t j, int64_t n)
{
    return in_place(i, j, 0) < 4.0 / (double)n ? in_place(i, j, 1) - 0.7 : 0;
}

static coupling_fn *const all[] MAYBE_UNUSED = { chain, five_points,     two_chains, isolated,
                                                 hub,   two_hubs,        positive,   all_positive,
                                                 none,  random_negative, random_sign };

#endif
