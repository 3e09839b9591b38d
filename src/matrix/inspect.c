/*
 * inspect.c - what the entries of a matrix are like: whether its numbers are finite and need only single precision, which
 * diagonals have entries, and what they say against Krylov methods: one that differs from its mirror image, a diagonal entry
 * that is not positive, or a row of zeros. On the host, on several threads.
 *
 * To compare mirror images, rows are read in order, but the mirror images of their entries may be anywhere. So the entries above the diagonal are
 * sorted by their columns first, many rows at a time: by counting, into buckets of neighbouring columns, then each bucket by
 * its columns. Column j of them, and the entries of row j below the diagonal, are two lists that ascend alike, so that
 * nothing is searched for. Where neighbouring rows have neighbouring columns, to look for mirror images is faster.
 */
#include "base/hooks.h"
#include "matrix/given.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------------- */

typedef struct seeing {
    kry_type type;
    const void *val;
    unsigned part[KRY_MOST_PARTS];
} seeing;

/* Returns the faults of the numbers begin ... end - 1. Devices may flush singles below FLT_MIN to 0; others are doubles with
 * no more digits. No branches: so compilers take several numbers at a time. */
static unsigned faults_of(kry_type type, const void *val, int64_t begin, int64_t end)
{
    const uint64_t more_digits = (UINT64_C(1) << (DBL_MANT_DIG - FLT_MANT_DIG)) - 1;
    const double *v = val;
    const float *s = val;
    uint64_t bits = 0, infinite = 0, tiny = 0;
    double largest = 0;

    if (type == KRY_F32)
        for (int64_t k = begin; k < end; k++) infinite |= (uint64_t) !(fabsf(s[k]) <= FLT_MAX);
    else
        for (int64_t k = begin; k < end; k++) {
            const double size = fabs(v[k]);
            uint64_t own;
            memcpy(&own, &v[k], sizeof own);
            bits |= own;
            infinite |= (uint64_t) !(size <= DBL_MAX);
            tiny |= (uint64_t)((size > 0) & (size < FLT_MIN));
            largest = size > largest ? size : largest;
        }
    const bool single = !infinite && !tiny && !(bits & more_digits) && largest <= FLT_MAX;
    const bool unfit = infinite || tiny || !isfinite((float)largest);
    return (infinite ? KRY_SEEN_NOT_FINITE : 0) | (single ? 0 : KRY_SEEN_NOT_SINGLE) |
           (unfit ? KRY_SEEN_UNFIT : 0);
}

static void see_part(void *user, int part, int64_t begin, int64_t end)
{
    seeing *s = user;
    s->part[part] = faults_of(s->type, s->val, begin, end);
}

void kryi_numbers_see(kry_type type, const void *val, int64_t count, kryi_seen *seen)
{
    const int parts = kryi_parts(count);
    seeing s = { .type = type, .val = val };

    *seen = (kryi_seen){ 0 };
    if (!count) return;
    kryi_parallel(parts, count, see_part, &s);
    for (int p = 0; p < parts; p++) seen->faults |= s.part[p];
}

kry_status kryi_numbers_check(const char *who, kry_type type, const void *val, int64_t count,
                              kryi_seen *seen)
{
    kryi_numbers_see(type, val, count, seen);
    return seen->faults & KRY_SEEN_NOT_FINITE ? kryi_values_check(who, type, count, val) : KRY_OK;
}

/* ---- diagonals --------------------------------------------------------------------------------- */

/* Each part of the rows has words of its own, in which diagonal j - i has bit j - i + rows, and gives up when it has seen more
 * than `most`. */
typedef struct diagonals {
    const kryi_csr *A;
    int64_t most, words;
    uint64_t *seen;
    int64_t count[KRY_MOST_PARTS];
} diagonals;

static kry_status begin_diagonals(const kryi_csr *A, int64_t most, int parts, diagonals *D)
{
    *D = (diagonals){ .A = A, .most = most, .words = (A->rows + A->cols) / 64 + 1 };
    return kryi_alloc((uint64_t)(parts * D->words), sizeof *D->seen, &D->seen);
}

static void look_at_diagonals(void *user, int part, int64_t begin, int64_t end)
{
    diagonals *D = user;
    const kryi_csr *A = D->A;
    uint64_t *seen = D->seen + part * D->words;
    int64_t count = D->count[part];

    for (int64_t i = begin; i < end && count <= D->most; i++) {
        const int64_t first = A->row_ptr[i], length = kryi_row_length(A, i);
        bool differs = i == begin || kryi_row_length(A, i - 1) != length;

        /* A row that is the one before, a column further, has the same diagonals. */
        for (int64_t k = first; !differs && k < first + length; k++)
            differs = A->col[k] != A->col[k - length] + 1;
        if (!differs) continue;
        for (int64_t k = first; k < first + length; k++) {
            const int64_t d = A->col[k] - i + A->rows;
            const uint64_t bit = UINT64_C(1) << (d & 63);
            if (seen[d >> 6] & bit) continue;
            seen[d >> 6] |= bit;
            count++;
        }
    }
    D->count[part] = count;
}

static kry_status end_diagonals(diagonals *D, int parts, int32_t **offset, int64_t *count)
{
    kry_status st = KRY_OK;
    int64_t room = 0, found = 0;

    *offset = NULL, *count = D->most + 1;
    for (int p = 0; p < parts; p++) {
        if (D->count[p] > D->most) goto done;
        room += D->count[p];
    }
    if (room) TRY(kryi_alloc((size_t)room, sizeof **offset, offset));
    for (int64_t w = 0; room > 0 && w < D->words; w++) {
        for (int p = 1; p < parts; p++) D->seen[w] |= D->seen[p * D->words + w];
        for (int b = 0; D->seen[w] && b < 64; b++)
            if (D->seen[w] >> b & 1) (*offset)[found++] = (int32_t)(w * 64 + b - D->A->rows);
    }
    *count = found;
    if (found > D->most) free(*offset), *offset = NULL;
done:
    free(D->seen);
    return st;
}

kry_status kryi_diagonals_find(const kryi_csr *A, int64_t most, int32_t **offset, int64_t *count)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    diagonals D;

    *offset = NULL;
    TRY(begin_diagonals(A, most, parts, &D));
    kryi_parallel(parts, A->rows, look_at_diagonals, &D);
    TRY(end_diagonals(&D, parts, offset, count));
done:
    return st;
}

/* ---- mirror images ---------------------------------------------------------------------------- */

enum { FIRST = 1 << 16, FEW = 64 };       /* entries of the first batch of rows; in tests */
enum { IN_CACHE = 1 << 15, MOST = 1024 }; /* entries of a bucket's rows; buckets */

/* The pair that is furthest apart, of equals the first, named by its upper entry, or by the one that there is. */
typedef struct apart {
    double difference;
    kryi_finding pair;
    bool unequal; /* some pair differs, be it in a bit, or an entry has no mirror image */
} apart;

typedef struct upper {
    int32_t row, col;
    double entry;
} upper; /* above the diagonal */

typedef struct mirrors {
    const kryi_csr *A;
    int64_t begin, end; /* rows of the batch */
    upper *listed;      /* its entries above the diagonal, by buckets */
    int64_t largest;    /* entries of a bucket */
    upper *sorted;      /* of each part: room for those of a bucket, by columns */
    int64_t room;
    int parts, shift; /* a bucket has 2^shift columns */
    int64_t buckets;
    int32_t *least;  /* of each bucket's rows: the first column that has not been compared */
    int64_t *next;   /* of each part, for each bucket: where its next entry is listed */
    int64_t *column; /* of each part, for each column of a bucket: behind its entries */
    int32_t *done; /* of each row: how many of its entries have been compared, from the first on */
    apart part[KRY_MOST_PARTS];
    int64_t
        alone[KRY_MOST_PARTS]; /* entries below the diagonal, less mirror images that were met */
} mirrors;

/* Entry (row, col) and its mirror image, which differ, or is 0 if there is none. */
static void note_difference(apart *a, int64_t row, int64_t col, double entry, double mirror)
{
    const double difference = fabs(entry - mirror);
    const kryi_finding *p = &a->pair;

    a->unequal = true;
    if (!(difference > 0 && difference >= a->difference)) return;
    if (difference == a->difference && (row > p->row || (row == p->row && col > p->col))) return;
    a->difference = difference;
    a->pair = (kryi_finding){
        .what = KRY_FOUND_ASYMMETRIC, .row = row, .col = col, .entry = entry, .mirror = mirror
    };
}

/* ---- a batch of rows -------------------------------------------------------------------------- */

/* The first entry of row i above the diagonal. */
static int64_t first_upper(const kryi_csr *A, int64_t i)
{
    int64_t k = A->row_ptr[i + 1];
    while (k > A->row_ptr[i] && A->col[k - 1] > i) k--;
    return k;
}

static void count_rows(void *user, int part, int64_t begin, int64_t end)
{
    const mirrors *M = user;
    const kryi_csr *A = M->A;
    int64_t *count = M->next + part * M->buckets;

    for (int64_t b = 0; b < M->buckets; b++) count[b] = 0;
    for (int64_t i = M->begin + begin; i < M->begin + end; i++)
        for (int64_t k = first_upper(A, i); k < A->row_ptr[i + 1]; k++)
            count[A->col[k] >> M->shift]++;
}

/* Counts become places: a bucket has the entries of the first part, then those of the second. */
static void count_buckets(mirrors *M)
{
    int64_t at = 0;

    kryi_parallel(M->parts, M->end - M->begin, count_rows, M);
    M->largest = 0;
    for (int64_t b = 0; b < M->buckets; b++) {
        const int64_t begin = at;
        for (int p = 0; p < M->parts; p++) {
            int64_t *next = &M->next[p * M->buckets + b], count = *next;
            *next = at, at += count;
        }
        if (at - begin > M->largest) M->largest = at - begin;
    }
}

/* To sort the largest bucket. */
static kry_status make_room(mirrors *M)
{
    kry_status st = KRY_OK;

    if (M->sorted && M->largest <= M->room) return KRY_OK;
    free(M->sorted), M->sorted = NULL, M->room = 0;
    TRY(kryi_alloc((uint64_t)(M->parts * M->largest), sizeof *M->sorted, &M->sorted));
    M->room = M->largest;
done:
    return st;
}

static void list_rows(void *user, int part, int64_t begin, int64_t end)
{
    const mirrors *M = user;
    const kryi_csr *A = M->A;
    int64_t *next = M->next + part * M->buckets;

    for (int64_t i = M->begin + begin; i < M->begin + end; i++)
        for (int64_t k = first_upper(A, i); k < A->row_ptr[i + 1]; k++)
            M->listed[next[A->col[k] >> M->shift]++] =
                (upper){ (int32_t)i, A->col[k], kryi_number_at(A->type, A->val, k) };
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
    const kryi_csr *A = M->A;
    const int64_t end = A->row_ptr[j + 1], before = M->end < j ? M->end : j;
    int64_t k = A->row_ptr[j] + M->done[j];

    for (; k < end && A->col[k] < before; k++) {
        const int32_t i = A->col[k];
        for (; u < last && u->row < i; u++) note_difference(a, u->row, j, u->entry, 0);
        const bool met = u < last && u->row == i;
        const double entry = kryi_number_at(A->type, A->val, k);
        if (!met)
            note_difference(a, j, i, entry, 0);
        else if (memcmp(&u->entry, &entry, sizeof entry))
            note_difference(a, i, j, u->entry, entry);
        u += met;
    }
    for (; u < last; u++) note_difference(a, u->row, j, u->entry, 0);
    M->done[j] = (int32_t)(k - A->row_ptr[j]);
}

static void compare_bucket(mirrors *M, int part, int64_t b, const upper *from, const upper *to)
{
    const kryi_csr *A = M->A;
    const int64_t first = b << M->shift, after = first + (INT64_C(1) << M->shift);
    int64_t *column = M->column + (part << M->shift), u = 0, last = 0;
    upper *sorted = M->sorted + part * M->room;

    sort_bucket(M, from, to, column, sorted);
    M->least[b] = INT32_MAX;
    for (int64_t j = first; j < after && j < A->rows; j++, u = last) {
        last = column[j - first];
        compare_row(M, &M->part[part], j, sorted + u, sorted + last);
        const int64_t next =
            A->row_ptr[j] + M->done[j]; /* below the diagonal, or all are compared */
        if (next < A->row_ptr[j + 1] && A->col[next] < j && A->col[next] < M->least[b])
            M->least[b] = A->col[next];
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

/* ---- by what lies near ----------------------------------------------------------------------- */

/*
 * The entries of rows beside their mirror images, where neighbouring rows have these in neighbouring places,
 * as on grids: each is looked for in its row. On the host, on several threads.
 *
 * Of entries below the diagonal only the number is compared with that of mirror images that were met: they are looked
 * for if it differs, and the matrix is not symmetric then.
 */

/* Counted are entries whose mirror images are near their row i, or those of row i-1: they are in the caches. */
bool kryi_near_suits(const kryi_csr *A)
{
    enum { SAMPLES = 1024, SOON = 1024, BESIDE = 16, NEXT = 2 /* rows; in tests */ };
    const int64_t soon = kryi_test_parts ? NEXT : SOON, beside = kryi_test_parts ? NEXT : BESIDE;
    int64_t near = 0, all = 0;

    for (int64_t i = 1; i < A->rows; i += A->rows / SAMPLES + 1) {
        int64_t above = A->row_ptr[i - 1];
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t j = A->col[k], from_i = j > i ? j - i : i - j;
            while (above < A->row_ptr[i] && A->col[above] < j - beside) above++;
            near += from_i <= soon || (above < A->row_ptr[i] && A->col[above] <= j + beside);
        }
        all += kryi_row_length(A, i);
    }
    return 8 * near >= 7 * all;
}

/* The place of entry (i, j), or -1. */
static int64_t place_of(const kryi_csr *A, int64_t i, int32_t j)
{
    enum { SHORT = 12 };
    const int64_t end = A->row_ptr[i + 1];
    int64_t k = A->row_ptr[i];

    if (end - k > SHORT) return kryi_csr_find(A, i, j);
    while (k < end && A->col[k] < j) k++;
    return k < end && A->col[k] == j ? k : -1;
}

static void compare_rows(void *user, int part, int64_t begin, int64_t end)
{
    mirrors *M = user;
    const kryi_csr *A = M->A;
    apart *a = &M->part[part];
    int64_t alone = 0;

    for (int64_t i = M->begin + begin; i < M->begin + end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int32_t j = A->col[k];
            alone += j < i;
            if (j <= i) continue;
            const int64_t there = place_of(A, j, (int32_t)i);
            const double entry = kryi_number_at(A->type, A->val, k),
                         mirror = there < 0 ? 0 : kryi_number_at(A->type, A->val, there);
            alone -= there >= 0;
            if (there < 0 || memcmp(&entry, &mirror, sizeof entry))
                note_difference(a, i, j, entry, mirror);
        }
    M->alone[part] += alone;
}

static void find_alone(void *user, int part, int64_t begin, int64_t end)
{
    mirrors *M = user;
    const kryi_csr *A = M->A;

    for (int64_t i = begin; i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && A->col[k] < i; k++)
            if (place_of(A, A->col[k], (int32_t)i) < 0)
                note_difference(&M->part[part], i, A->col[k], kryi_number_at(A->type, A->val, k),
                                0);
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* most: entries of a batch. */
static kry_status begin_sorting(mirrors *M, int64_t most)
{
    kry_status st = KRY_OK;
    const kryi_csr *A = M->A;
    const int64_t work = A->rows + kryi_csr_nnz(A),
                  wanted = work / (kryi_test_parts ? FEW : IN_CACHE);
    const size_t entries = (size_t)(most + kryi_longest_row(A)), parts = (size_t)M->parts;

    while (A->rows >> M->shift > (wanted < MOST ? wanted : MOST)) M->shift++;
    M->buckets = (A->rows >> M->shift) + 1;
    TRY(kryi_alloc(parts * (size_t)M->buckets, sizeof *M->next, &M->next));
    TRY(kryi_alloc(entries, sizeof *M->listed, &M->listed));
    TRY(kryi_alloc((size_t)M->buckets, sizeof *M->least, &M->least));
    TRY(kryi_alloc(parts << M->shift, sizeof *M->column, &M->column));
    TRY(kryi_alloc((size_t)A->rows, sizeof *M->done, &M->done));
done:
    return st;
}

/* The entries of a batch by columns. */
static kry_status compare_sorted(mirrors *M, int64_t most)
{
    kry_status st = KRY_OK;

    if (!M->listed) TRY(begin_sorting(M, most));
    count_buckets(M);
    TRY(make_room(M));
    kryi_parallel(M->parts, M->end - M->begin, list_rows, M);
    kryi_parallel(M->parts, M->buckets, compare_buckets, M);
done:
    return st;
}

/* Rows are compared in batches, each with four times as many entries as the one before, up to the first with an entry that is
 * further from its mirror image than rounding takes it. */
kry_status kryi_mirrors_compare(const kryi_csr *A, double rounding, kryi_finding *found,
                                bool *symmetric)
{
    kry_status st = KRY_OK;
    mirrors M = { .A = A, .parts = kryi_parts(kryi_csr_nnz(A)) };
    apart all = { 0 };
    const int64_t nnz = kryi_csr_nnz(A), first = kryi_test_parts ? FEW : FIRST;
    const int64_t most = nnz / 4 > first ? nnz / 4 : nnz < first ? nnz : first;
    int64_t entries = first < most ? first : most, alone = 0;
    const bool sorts = !kryi_near_suits(A);

    *found = (kryi_finding){ 0 };
    while (M.end < A->rows && all.difference <= rounding) {
        M.begin = M.end++; /* the next rows have `entries` entries, or are one */
        while (M.end < A->rows && A->row_ptr[M.end + 1] - A->row_ptr[M.begin] <= entries) M.end++;
        entries = 4 * entries < most ? 4 * entries : most;
        if (sorts)
            TRY(compare_sorted(&M, most));
        else
            kryi_parallel(M.parts, M.end - M.begin, compare_rows, &M);
        for (int p = 0; !sorts && M.end == A->rows && p < M.parts; p++) alone += M.alone[p];
        if (alone) kryi_parallel(M.parts, A->rows, find_alone, &M);
        for (int p = 0; p < M.parts; p++) {
            const kryi_finding *f = &M.part[p].pair;
            if (f->what) note_difference(&all, f->row, f->col, f->entry, f->mirror);
            all.unequal |= M.part[p].unequal;
        }
    }
    if (all.difference > rounding) *found = all.pair;
    *symmetric = !all.unequal;
done:
    free(M.done);
    free(M.column);
    free(M.next);
    free(M.least);
    free(M.sorted);
    free(M.listed);
    return st;
}

/* ---- rows and the diagonal -------------------------------------------------------------------- */

/* The sizes and entries that a part of the rows has. */
typedef struct look {
    double least, largest; /* of the largest |a_ij| of each row, those of zeros aside */
    kryi_finding not_positive;
    int64_t negative;            /* diagonal entries */
    int64_t longest;             /* entries of a row */
    int64_t zero_rows, zero_row; /* the first one */
    unsigned faults;             /* of the numbers */
} look;

typedef struct inspection {
    const kryi_csr *A;
    bool numbers; /* what they are like is wanted */
    look part[KRY_MOST_PARTS];
    diagonals diagonals; /* looked for if `most` is not 0 */
} inspection;

/* Entries are read from memory once: all looks are at as many rows as a cache holds. A row of zeros may belong to a singular
 * matrix, which conjugate gradients solve. */
static void look_at_rows(void *user, int part, int64_t begin, int64_t end)
{
    enum { IN_CACHE = 2048 }; /* entries */
    inspection *I = user;
    const kryi_csr *A = I->A;
    look *L = &I->part[part];

    *L = (look){ .least = INFINITY };
    for (int64_t first = begin, i = begin; i < end; i++) {
        double diagonal = 0, largest = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const double v = kryi_number_at(A->type, A->val, k);
            if (fabs(v) > largest) largest = fabs(v);
            if (A->col[k] == i) diagonal = v;
        }
        if (largest == 0 && !L->zero_rows++) L->zero_row = i;
        if (largest > 0 && largest < L->least) L->least = largest;
        if (largest > L->largest) L->largest = largest;
        L->negative += diagonal < 0;
        if (kryi_row_length(A, i) > L->longest) L->longest = kryi_row_length(A, i);
        if (!(diagonal > 0) && largest != 0 && !L->not_positive.what)
            L->not_positive = (kryi_finding){ .what = KRY_FOUND_NOT_POSITIVE,
                                              .row = i,
                                              .col = i,
                                              .entry = diagonal,
                                              .mirror = diagonal };
        if (i + 1 < end && A->row_ptr[i + 1] - A->row_ptr[first] < IN_CACHE) continue;
        if (I->numbers)
            L->faults |= faults_of(A->type, A->val, A->row_ptr[first], A->row_ptr[i + 1]);
        if (I->diagonals.most) look_at_diagonals(&I->diagonals, part, first, i + 1);
        first = i + 1;
    }
}

double kryi_inspect_rounding(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-8; }

kry_status kryi_given_inspect(kryi_given *G, bool numbers, int64_t diagonals)
{
    kry_status st = KRY_OK;
    const kryi_csr *A = G->host;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    kryi_finding *found = &G->finding;
    inspection I = { .A = A, .numbers = numbers };
    look L = { .least = INFINITY };

    *found = (kryi_finding){ 0 };
    if (A->rows != A->cols) {
        if (numbers) kryi_numbers_see(A->type, A->val, kryi_csr_nnz(A), &G->seen);
        G->seen.compared = true;
        return KRY_OK;
    }
    if (diagonals) TRY(begin_diagonals(A, diagonals, parts, &I.diagonals));
    kryi_parallel(parts, A->rows, look_at_rows, &I);
    /* Join the parts, from the first one on. */
    for (int p = 0; p < parts; p++) {
        const look *own = &I.part[p];
        if (own->least < L.least) L.least = own->least;
        if (own->largest > L.largest) L.largest = own->largest;
        if (!L.not_positive.what) L.not_positive = own->not_positive;
        if (!L.zero_rows) L.zero_row = own->zero_row;
        L.zero_rows += own->zero_rows;
        L.negative += own->negative;
        if (own->longest > L.longest) L.longest = own->longest;
        L.faults |= own->faults;
    }
    if (diagonals) TRY(end_diagonals(&I.diagonals, parts, &G->diagonal, &G->diagonals));
    G->seen = (kryi_seen){ .faults = L.faults };
    G->longest = L.longest;
    if (L.faults & KRY_SEEN_NOT_FINITE) return KRY_OK;
    TRY(kryi_mirrors_compare(A, kryi_inspect_rounding(A->type) * L.largest, found,
                             &G->seen.symmetric));
    G->seen.compared = true;
    if (!found->what) *found = L.not_positive;
    found->zero_rows = L.zero_rows, found->zero_row = L.zero_row;
    found->least_row = isfinite(L.least) ? L.least : 0, found->largest_row = L.largest;
    found->negative = found->what == KRY_FOUND_NOT_POSITIVE && L.negative == A->rows;
done:
    return st;
}

kry_status kryi_matrix_inspect(const kryi_csr *A, kryi_finding *found)
{
    kryi_given G = { .host = A };
    const kry_status st = kryi_given_inspect(&G, false, 0);

    *found = G.finding;
    return st;
}
