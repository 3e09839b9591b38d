/*
 * mirrors.c - the entries of a square matrix beside their mirror images. On the host, on several threads.
 *
 * Rows are read in order, but the mirror images of their entries may be anywhere. So the entries above the diagonal are
 * sorted by their columns first, many rows at a time: by counting, into buckets of neighbouring columns, then each bucket by
 * its columns. Column j of them, and the entries of row j below the diagonal, are two lists that ascend alike, so that
 * nothing is searched for.
 */
#include "matrix/mirrors.h"
#include "base/hooks.h"
#include <math.h>
#include <stdlib.h>

enum { FIRST = 1 << 16, FEW = 64 }; /* entries of the first batch of rows; in tests */
enum { NEAR = 1 << 19 }; /* of any, if entries have their mirror images near each other */
enum { IN_CACHE = 1 << 15, MOST = 1024 }; /* entries of a bucket's rows; buckets */

typedef struct upper {
    int32_t row, col;
    double entry;
} upper; /* above the diagonal */

/* The pair that is furthest apart, of equals the first, named by its upper entry, or by the one that there is. */
typedef struct apart {
    double difference;
    kry_finding pair;
} apart;

typedef struct mirrors {
    const kry_sparse *A;
    int64_t begin, end; /* rows of the batch */
    upper *listed;      /* its entries above the diagonal, by buckets */
    bool scattered;     /* a bucket has few of them */
    upper *sorted;      /* of each part: room for those of a bucket, by columns */
    int64_t room;
    int parts, shift; /* a bucket has 2^shift columns */
    int64_t buckets;
    int32_t *least;  /* of each bucket's rows: the first column that has not been compared */
    int64_t *next;   /* of each part, for each bucket: where its next entry is listed */
    int64_t *column; /* of each part, for each column of a bucket: behind its entries */
    int32_t *done; /* of each row: how many of its entries have been compared, from the first on */
    apart part[KRY_MOST_PARTS];
} mirrors;

static double value_at(const kry_sparse *A, int64_t k) { return kry_number_at(A->type, A->val, k); }

/* Entry (row, col), and its mirror image. */
static void compare(apart *a, int64_t row, int64_t col, double entry, double mirror)
{
    const double difference = fabs(entry - mirror);
    const kry_finding *p = &a->pair;

    if (!(difference > 0 && difference >= a->difference)) return;
    if (difference == a->difference && (row > p->row || (row == p->row && col > p->col))) return;
    a->difference = difference;
    a->pair = (kry_finding){
        .what = KRY_FOUND_ASYMMETRIC, .row = row, .col = col, .entry = entry, .mirror = mirror
    };
}

/* ---- a batch of rows -------------------------------------------------------------------------- */

/* The first entry of row i above the diagonal. */
static int64_t first_upper(const kry_sparse *A, int64_t i)
{
    int64_t k = A->row_ptr[i + 1];
    while (k > A->row_ptr[i] && A->col[k - 1] > i) k--;
    return k;
}

static void count_rows(void *user, int part, int64_t begin, int64_t end)
{
    const mirrors *M = user;
    const kry_sparse *A = M->A;
    int64_t *count = M->next + part * M->buckets;

    for (int64_t b = 0; b < M->buckets; b++) count[b] = 0;
    for (int64_t i = M->begin + begin; i < M->begin + end; i++)
        for (int64_t k = first_upper(A, i); k < A->row_ptr[i + 1]; k++)
            count[A->col[k] >> M->shift]++;
}

static int64_t bucket_entries(void) { return kry_test_parts ? FEW : IN_CACHE; }

/* Counts become places: a bucket has the entries of the first part, then those of the second. And room to sort one. */
static kry_status begin_buckets(mirrors *M)
{
    kry_status st = KRY_OK;
    int64_t at = 0, largest = 0, used = 0;

    for (int64_t b = 0; b < M->buckets; b++) {
        const int64_t begin = at;
        for (int p = 0; p < M->parts; p++) {
            int64_t *next = &M->next[p * M->buckets + b], count = *next;
            *next = at, at += count;
        }
        if (at - begin > largest) largest = at - begin;
        used += at > begin;
    }
    M->scattered = at < used * bucket_entries() / 4;
    if (largest <= M->room) return KRY_OK;
    free(M->sorted), M->sorted = NULL, M->room = 0;
    TRY(kry_alloc((size_t)(M->parts * largest), sizeof *M->sorted, &M->sorted));
    M->room = largest;
done:
    return st;
}

static void list_rows(void *user, int part, int64_t begin, int64_t end)
{
    const mirrors *M = user;
    const kry_sparse *A = M->A;
    int64_t *next = M->next + part * M->buckets;

    for (int64_t i = M->begin + begin; i < M->begin + end; i++)
        for (int64_t k = first_upper(A, i); k < A->row_ptr[i + 1]; k++)
            M->listed[next[A->col[k] >> M->shift]++] =
                (upper){ (int32_t)i, A->col[k], value_at(A, k) };
}

/* column[c]: behind the entries of the bucket's column c. */
static void sort_bucket(const mirrors *M, const upper *from, const upper *to, int64_t *column,
                        upper *sorted)
{
    const int64_t columns = INT64_C(1) << M->shift, mask = columns - 1;

    for (int64_t c = 0; c < columns; c++) column[c] = 0;
    for (const upper *u = from; u < to; u++) column[u->col & mask]++;
    for (int64_t c = 0, at = 0; c < columns; c++) {
        const int64_t count = column[c];
        column[c] = at, at += count;
    }
    for (const upper *u = from; u < to; u++) sorted[column[u->col & mask]++] = *u;
}

/* Entries of row j below the diagonal, in the columns of the batch, and those of column j above it. */
static void compare_row(const mirrors *M, apart *a, int64_t j, const upper *u, const upper *last)
{
    const kry_sparse *A = M->A;
    const int64_t end = A->row_ptr[j + 1], before = M->end < j ? M->end : j;
    int64_t k = A->row_ptr[j] + M->done[j];

    for (; k < end && A->col[k] < before; k++) {
        const int32_t i = A->col[k];
        for (; u < last && u->row < i; u++) compare(a, u->row, j, u->entry, 0);
        if (u < last && u->row == i)
            compare(a, i, j, u++->entry, value_at(A, k));
        else
            compare(a, j, i, value_at(A, k), 0);
    }
    for (; u < last; u++) compare(a, u->row, j, u->entry, 0);
    M->done[j] = (int32_t)(k - A->row_ptr[j]);
}

/* The first column of row j that has not been compared, if it is below the diagonal. */
static int32_t next_column(const mirrors *M, int64_t j)
{
    const int64_t k = M->A->row_ptr[j] + M->done[j];
    return k < M->A->row_ptr[j + 1] && M->A->col[k] < j ? M->A->col[k] : INT32_MAX;
}

/* The next entry of column u->col, by rows. */
static void meet(const mirrors *M, apart *a, const upper *u)
{
    const kry_sparse *A = M->A;
    const int64_t j = u->col, end = A->row_ptr[j + 1];
    int64_t k = A->row_ptr[j] + M->done[j];

    for (; k < end && A->col[k] < u->row; k++) compare(a, j, A->col[k], value_at(A, k), 0);
    const bool met = k < end && A->col[k] == u->row;
    compare(a, u->row, j, u->entry, met ? value_at(A, k) : 0);
    M->done[j] = (int32_t)(k + met - A->row_ptr[j]);
}

/* Entries that are listed near each other have mirror images near each other: to sort them would take longer. */
static void compare_bucket(mirrors *M, int part, int64_t b, const upper *from, const upper *to)
{
    const int64_t first = b << M->shift, after = first + (INT64_C(1) << M->shift);
    int64_t *column = M->column + (part << M->shift), u = 0, last = 0;
    upper *sorted = M->sorted + part * M->room;
    apart *a = &M->part[part];

    if (M->scattered)
        sort_bucket(M, from, to, column, sorted);
    else
        for (const upper *e = from; e < to; e++) meet(M, a, e);
    M->least[b] = INT32_MAX;
    for (int64_t j = first; j < after && j < M->A->rows; j++, u = last) {
        if (M->scattered) last = column[j - first];
        compare_row(M, a, j, sorted + u, sorted + last);
        const int32_t next = next_column(M, j);
        if (next < M->least[b]) M->least[b] = next;
    }
}

static void compare_buckets(void *user, int part, int64_t begin, int64_t end)
{
    mirrors *M = user;
    const int64_t *ends = M->next + (M->parts - 1) * M->buckets;

    for (int64_t b = begin; b < end; b++) {
        const upper *from = M->listed + (b ? ends[b - 1] : 0), *to = M->listed + ends[b];
        if (from < to || M->least[b] < M->end) compare_bucket(M, part, b, from, to);
    }
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void mirrors_release(mirrors *M)
{
    free(M->done);
    free(M->column);
    free(M->next);
    free(M->least);
    free(M->sorted);
    free(M->listed);
}

/* most: entries of a batch. */
static kry_status mirrors_begin(mirrors *M, int64_t most)
{
    kry_status st = KRY_OK;
    const kry_sparse *A = M->A;
    const int64_t work = A->rows + kry_sparse_nnz(A), wanted = work / bucket_entries();
    const size_t entries = (size_t)(most + kry_longest_row(A)), parts = (size_t)M->parts;

    while (A->rows >> M->shift > (wanted < MOST ? wanted : MOST)) M->shift++;
    M->buckets = (A->rows >> M->shift) + 1;
    TRY(kry_alloc(entries, sizeof *M->listed, &M->listed));
    TRY(kry_alloc((size_t)M->buckets, sizeof *M->least, &M->least));
    TRY(kry_alloc(parts * (size_t)M->buckets, sizeof *M->next, &M->next));
    TRY(kry_alloc(parts << M->shift, sizeof *M->column, &M->column));
    TRY(kry_alloc((size_t)A->rows, sizeof *M->done, &M->done));
done:
    return st;
}

/* Up to the first batch with an entry that is further from its mirror image than rounding takes it. Each has four times as many
 * entries as the one before, up to `most`, or fewer where these are near each other. */
static kry_status compare_all(mirrors *M, double rounding)
{
    kry_status st = KRY_OK;
    const kry_sparse *A = M->A;
    const int64_t nnz = kry_sparse_nnz(A), first = kry_test_parts ? FEW : FIRST;
    const int64_t most = nnz / 4 > first ? nnz / 4 : nnz < first ? nnz : first;
    int64_t entries = first < most ? first : most;
    double difference = 0;

    TRY(mirrors_begin(M, most));
    while (M->end < A->rows && difference <= rounding) {
        M->begin = M->end++;
        while (M->end < A->rows && A->row_ptr[M->end + 1] - A->row_ptr[M->begin] <= entries)
            M->end++;
        kry_parallel(M->parts, M->end - M->begin, count_rows, M);
        TRY(begin_buckets(M));
        kry_parallel(M->parts, M->end - M->begin, list_rows, M);
        kry_parallel(M->parts, M->buckets, compare_buckets, M);
        for (int p = 0; p < M->parts; p++)
            if (M->part[p].difference > difference) difference = M->part[p].difference;
        const int64_t limit = M->scattered || most < NEAR ? most : NEAR;
        if (entries < limit) entries = 4 * entries < limit ? 4 * entries : limit;
    }
done:
    return st;
}

kry_status kry_mirrors_compare(const kry_sparse *A, double rounding, kry_finding *found)
{
    kry_status st = KRY_OK;
    mirrors M = { .A = A, .parts = kry_parts(kry_sparse_nnz(A)) };
    apart all = { 0 };

    *found = (kry_finding){ 0 };
    TRY(compare_all(&M, rounding));
    for (int p = 0; p < M.parts; p++) {
        const kry_finding *f = &M.part[p].pair;
        if (f->what) compare(&all, f->row, f->col, f->entry, f->mirror);
    }
    if (all.difference > rounding) *found = all.pair;
done:
    mirrors_release(&M);
    return st;
}
