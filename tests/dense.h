/*
 * dense.h - dense matrices for tests, column major, of doubles that are numbers of the type.
 */
#ifndef KRY_TEST_DENSE_H
#define KRY_TEST_DENSE_H

#include "testing.h"

typedef double entry_of(kry_type type, int64_t i, int64_t j);

static double uniform(kry_type type, int64_t i, int64_t j)
{
    return (void)i, (void)j, random_number(type);
}
static double hilbert(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, 1.0 / (double)(i + j + 1));
}

/* m-by-n, to be freed. */
static double *make(entry_of *entry, kry_type type, int64_t m, int64_t n)
{
    double *a = calloc((size_t)(m * n) + 1, sizeof *a);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) a[j * m + i] = entry(type, i, j);
    return a;
}

static long double largest(const double *a, int64_t count)
{
    long double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmaxl(most, fabsl((long double)a[i]));
    return most;
}

#endif
