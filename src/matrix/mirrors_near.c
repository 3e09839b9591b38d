/*
 * mirrors_near.c - the entries of rows beside their mirror images, where neighbouring rows have these in neighbouring places,
 * as on grids: each is looked for in its row. On the host, on several threads.
 *
 * Of entries below the diagonal only the number is compared with that of mirror images that were met: they are looked
 * for if it differs, and the matrix is not symmetric then.
 */
#include "base/hooks.h"
#include "matrix/mirrors.h"

/* Entries of row i whose mirror images are near row i, or those of row i-1. */
static int64_t count_near(const kry_sparse *A, int64_t i)
{
    enum { SOON = 1024, BESIDE = 16, FEW = 2 }; /* rows; in tests */
    const int64_t soon = kry_test_parts ? FEW : SOON, beside = kry_test_parts ? FEW : BESIDE;
    int64_t above = A->row_ptr[i - 1], count = 0;

    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        const int64_t j = A->col[k], from_i = j > i ? j - i : i - j;
        while (above < A->row_ptr[i] && A->col[above] < j - beside) above++;
        count += from_i <= soon || (above < A->row_ptr[i] && A->col[above] <= j + beside);
    }
    return count;
}

bool kry_near_suits(const kry_sparse *A)
{
    enum { SAMPLES = 1024 };
    int64_t near = 0, all = 0;

    for (int64_t i = 1; i < A->rows; i += A->rows / SAMPLES + 1) {
        near += count_near(A, i);
        all += kry_row_length(A, i);
    }
    return 8 * near >= 7 * all;
}

/* The place of entry (i, j), or -1. */
static int64_t place_of(const kry_sparse *A, int64_t i, int32_t j)
{
    enum { SHORT = 12 };
    const int64_t end = A->row_ptr[i + 1];
    int64_t k = A->row_ptr[i];

    if (end - k > SHORT) return kry_sparse_find(A, i, j);
    while (k < end && A->col[k] < j) k++;
    return k < end && A->col[k] == j ? k : -1;
}

static void compare_rows(void *user, int part, int64_t begin, int64_t end)
{
    kry_near *N = user;
    const kry_sparse *A = N->A;
    kry_apart *a = &N->part[part];
    int64_t alone = 0;

    for (int64_t i = N->begin + begin; i < N->begin + end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int32_t j = A->col[k];
            alone += j < i;
            if (j <= i) continue;
            const double entry = kry_number_at(A->type, A->val, k);
            const int64_t mirror = place_of(A, j, (int32_t)i);
            alone -= mirror >= 0;
            if (mirror < 0)
                kry_apart_differ(a, i, j, entry, 0);
            else
                kry_apart_pair(a, i, j, entry, kry_number_at(A->type, A->val, mirror));
        }
    N->alone[part] += alone;
}

void kry_near_compare(kry_near *N, int parts, int64_t begin, int64_t end)
{
    N->begin = begin;
    kry_parallel(parts, end - begin, compare_rows, N);
}

static void find_alone(void *user, int part, int64_t begin, int64_t end)
{
    const kry_near *N = user;
    const kry_sparse *A = N->A;

    for (int64_t i = begin; i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && A->col[k] < i; k++)
            if (place_of(A, A->col[k], (int32_t)i) < 0)
                kry_apart_differ(&N->part[part], i, A->col[k], kry_number_at(A->type, A->val, k),
                                 0);
}

void kry_near_end(kry_near *N, int parts)
{
    int64_t alone = 0;

    for (int p = 0; p < parts; p++) alone += N->alone[p];
    if (alone) kry_parallel(parts, N->A->rows, find_alone, N);
}
