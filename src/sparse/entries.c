/* entries.c - the entries that a caller gives, checked, expanded, sorted and added up. */
#include "sparse/entries.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kryi_entry_map_release(kryi_entry_map *map)
{
    free(map->place);
    free(map->mirror);
    *map = (kryi_entry_map){ 0 };
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct check {
    kry_type type;
    const void *val;
    bool bad[KRY_MOST_PARTS];
} check;

static void look_at_values(void *user, int part, int64_t begin, int64_t end)
{
    check *c = user;
    bool bad = false;

    for (int64_t k = begin; k < end; k++) bad |= !isfinite(kryi_number_at(c->type, c->val, k));
    c->bad[part] = bad;
}

kry_status kryi_values_check(const char *who, kry_type type, int64_t nnz, const void *val)
{
    kry_status st = KRY_OK;
    check c = { .type = type, .val = val };
    const int parts = kryi_parts(nnz);
    bool bad = false;

    kryi_parallel(parts, nnz, look_at_values, &c);
    for (int p = 0; p < parts; p++) bad |= c.bad[p];
    if (!bad) return KRY_OK;
    for (int64_t k = 0; k < nnz; k++)
        CHECK(isfinite(kryi_number_at(type, val, k)), KRY_ERR_ARGUMENT,
              "%s: value %g at entry %lld is not finite", who, kryi_number_at(type, val, k),
              (long long)k);
done:
    return st;
}

static kry_status check_row_ptr(const kryi_entries *e)
{
    kry_status st = KRY_OK;
    const int64_t *row_ptr = e->given.row_ptr;

    CHECK(row_ptr[0] == 0, KRY_ERR_ARGUMENT, "%s: row_ptr[0] = %lld, must be 0", e->who,
          (long long)row_ptr[0]);
    for (int64_t i = 0; i < e->given.rows; i++)
        CHECK(row_ptr[i] <= row_ptr[i + 1], KRY_ERR_ARGUMENT,
              "%s: row_ptr decreases from %lld to %lld at row %lld", e->who, (long long)row_ptr[i],
              (long long)row_ptr[i + 1], (long long)i);
done:
    return st;
}

static kry_status check_indices(const kryi_entries *e)
{
    kry_status st = KRY_OK;
    int64_t row = 0;

    assert(e->row || e->given.row_ptr || e->nnz == 0);
    for (int64_t k = 0; k < e->nnz; k++) {
        if (e->row)
            CHECK(e->row[k] >= 0 && e->row[k] < e->given.rows, KRY_ERR_ARGUMENT,
                  "%s: row %d at entry %lld is outside [0, %lld)", e->who, e->row[k], (long long)k,
                  (long long)e->given.rows);
        else
            while (k >= e->given.row_ptr[row + 1]) row++;
        CHECK(e->given.col[k] >= 0 && e->given.col[k] < e->given.cols, KRY_ERR_ARGUMENT,
              "%s: column %d at entry %lld (row %lld) is outside [0, %lld)", e->who,
              e->given.col[k], (long long)k, e->row ? (long long)e->row[k] : (long long)row,
              (long long)e->given.cols);
    }
done:
    return st;
}

kry_status kryi_entries_check(const kryi_entries *e)
{
    kry_status st = KRY_OK;
    if (e->given.row_ptr) TRY(check_row_ptr(e));
    TRY(check_indices(e));
done:
    return st;
}

/* ---- placing: entries, then their mirror images, sorted by row and column -------------------- */

/* A list of the given entries and their mirror images: that of entry e has the number given + e. */
typedef struct placing {
    const kryi_entries *e;
    int64_t given, all;
    int32_t *row, *col;
    int64_t *order, *other; /* numbers sorted so far, and the room to sort into */
} placing;

/* List the entries; for symmetric storage also the mirror images of those off the diagonal. */
static kry_status list_entries(placing *p, kry_storage storage)
{
    kry_status st = KRY_OK;
    const kryi_entries *e = p->e;
    size_t most = (size_t)p->given * (storage == KRY_GENERAL ? 1 : 2);

    TRY(kryi_alloc(most, sizeof *p->row, &p->row));
    TRY(kryi_alloc(most, sizeof *p->col, &p->col));
    TRY(kryi_alloc(most, sizeof *p->order, &p->order));
    TRY(kryi_alloc(most, sizeof *p->other, &p->other));
    for (int64_t k = 0, row = 0; k < p->given; k++) {
        while (e->given.row_ptr && k >= e->given.row_ptr[row + 1]) row++;
        p->row[k] = e->row ? e->row[k] : (int32_t)row;
        p->col[k] = e->given.col[k];
        p->order[p->all++] = k;
    }
    for (int64_t k = 0; storage != KRY_GENERAL && k < p->given; k++) {
        CHECK(storage != KRY_SKEW_HALF || p->row[k] != p->col[k], KRY_ERR_ARGUMENT,
              "%s: entry %lld is on the diagonal of a skew-symmetric matrix", e->who, (long long)k);
        p->row[p->given + k] = p->col[k], p->col[p->given + k] = p->row[k];
        if (p->row[k] != p->col[k]) p->order[p->all++] = p->given + k;
    }
done:
    return st;
}

/* One stable counting sort of `order` by the digit (key >> shift) & mask; start has mask+2 entries. */
static void counting_sort(placing *p, const int32_t *key, int shift, int32_t mask, int64_t *start)
{
    memset(start, 0, ((size_t)mask + 2) * sizeof *start);
    for (int64_t i = 0; i < p->all; i++) start[(key[p->order[i]] >> shift & mask) + 1]++;
    for (int64_t k = 0; k <= mask; k++) start[k + 1] += start[k];
    for (int64_t i = 0; i < p->all; i++)
        p->other[start[key[p->order[i]] >> shift & mask]++] = p->order[i];
    int64_t *t = p->order;
    p->order = p->other, p->other = t;
}

/* The digits by which keys in [0, keys) are sorted: one pass where entries are about as many as keys, else as many bits
 * a pass as entries are worth, so that a few entries of a matrix that claims 2^31 columns take no arrays of that length. */
static int digit_bits(int64_t keys, int64_t entries)
{
    enum { LEAST = 10, MOST = 31 };
    int whole = 1, bits = LEAST;

    while (whole < MOST && keys > INT64_C(1) << whole) whole++;
    while (bits < MOST && INT64_C(1) << bits < 4 * entries) bits++;
    return bits < whole ? bits : whole;
}

/* Sort by `key` in [0, keys); those with the same key stay in their order. */
static kry_status sort_by(placing *p, const int32_t *key, int64_t keys)
{
    kry_status st = KRY_OK;
    const int bits = digit_bits(keys, p->all);
    const int32_t mask = (int32_t)((INT64_C(1) << bits) - 1);
    int64_t *start = NULL;

    TRY(kryi_alloc((size_t)mask + 2, sizeof *start, &start));
    for (int shift = 0; shift < 31 && (keys - 1) >> shift > 0; shift += bits)
        counting_sort(p, key, shift, mask, start);
done:
    free(start);
    return st;
}

/* Give each of the sorted entries its place; duplicates share one, or are refused. */
static kry_status assign_places(const placing *p, kry_duplicates duplicates, kryi_csr *A,
                                kryi_entry_map *map)
{
    kry_status st = KRY_OK;
    int64_t place = -1, last_row = -1, last_col = -1;

    for (int64_t i = 0; i < p->all; i++) {
        int64_t e = p->order[i], row = p->row[e], col = p->col[e];
        bool again = row == last_row && col == last_col;
        CHECK(!again || duplicates == KRY_SUM, KRY_ERR_ARGUMENT,
              "%s: two entries at row %lld, column %lld%s; they are added up only if `duplicates` "
              "says so" COUNTED,
              p->e->who, ROW(row), ROW(col),
              map->mirror ? " (symmetric storage gives one triangle only)" : "", kryi_first_row);
        if (!again) A->col[++place] = (int32_t)col, A->row_ptr[row + 1]++;
        last_row = row, last_col = col;
        if (e < p->given)
            map->place[e] = place;
        else
            map->mirror[e - p->given] = place;
    }
    for (int64_t r = 0; r < A->rows; r++) A->row_ptr[r + 1] += A->row_ptr[r];
done:
    return st;
}

static kry_status place_entries(const kryi_entries *e, const kry_matrix_params *params, kryi_csr *A,
                                kryi_entry_map *map)
{
    kry_status st = KRY_OK;
    bool mirrored = params->storage != KRY_GENERAL;
    placing p = { .e = e, .given = e->nnz };

    TRY(list_entries(&p, params->storage));
    /* By row, in a row by column; entries at one place stay in the order in which they were given. */
    TRY(sort_by(&p, p.col, e->given.cols));
    TRY(sort_by(&p, p.row, e->given.rows));
    TRY(kryi_alloc((size_t)p.all, sizeof *A->col, &A->col));
    TRY(kryi_alloc((uint64_t)e->nnz, sizeof *map->place, &map->place));
    if (mirrored) TRY(kryi_alloc((uint64_t)e->nnz, sizeof *map->mirror, &map->mirror));
    for (int64_t k = 0; mirrored && k < e->nnz; k++) map->mirror[k] = -1;
    TRY(assign_places(&p, params->duplicates, A, map));
done:
    free(p.other);
    free(p.order);
    free(p.col);
    free(p.row);
    return st;
}

typedef struct copying {
    const kryi_entries *e;
    int32_t *to;
    bool bad[KRY_MOST_PARTS];
} copying;

/* Columns that do not ascend in a row, or are out of range, are bad. */
static void copy_rows(void *user, int part, int64_t begin, int64_t end)
{
    copying *c = user;
    const int64_t *row_ptr = c->e->given.row_ptr, cols = c->e->given.cols;
    const int32_t *col = c->e->given.col;
    bool bad = false;

    for (int64_t i = begin; i < end && !bad; i++) {
        int64_t last = -1;
        for (int64_t k = row_ptr[i]; !bad && k < row_ptr[i + 1]; k++) {
            bad = col[k] <= last;
            last = c->to[k] = col[k];
        }
        bad |= last >= cols;
    }
    c->bad[part] = bad;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Add v to number k of A; of single numbers the sum is rounded once, as if it were formed in single. */
static void add(kryi_csr *A, int64_t k, double v)
{
    kryi_number_put(A->type, A->val, k, kryi_number_at(A->type, A->val, k) + v);
}

kry_status kryi_entries_renew(const char *who, const kryi_entry_map *m, const void *values,
                              int64_t nnz, kryi_csr *A)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)nnz * kry_type_size(A->type);

    TRY(kryi_values_check(who, A->type, m->given, values));
    if (bytes == 0) return KRY_OK;
    if (!m->place) {
        memcpy(A->val, values, bytes);
        return KRY_OK;
    }
    memset(A->val, 0, bytes);
    for (int64_t e = 0; e < m->given; e++) {
        double v = kryi_number_at(A->type, values, e);
        add(A, m->place[e], v);
        if (m->mirror && m->mirror[e] >= 0) add(A, m->mirror[e], m->skew ? -v : v);
    }
    for (int64_t k = 0; k < nnz; k++)
        CHECK(isfinite(kryi_number_at(A->type, A->val, k)), KRY_ERR_ARGUMENT,
              "%s: entries in one place add up to %g, number %lld of the sorted matrix", who,
              kryi_number_at(A->type, A->val, k), (long long)k);
done:
    return st;
}

void kryi_entries_release(const kryi_entries *e, kryi_csr *A)
{
    if (A->val == e->given.val) A->val = NULL; /* the caller's */
    kryi_csr_release(A);
}

kry_status kryi_entries_compress(const kryi_entries *e, const kry_matrix_params *params,
                                 bool borrow, kryi_csr *A, kryi_entry_map *map)
{
    kry_status st = KRY_OK;
    kryi_entry_map m = { .given = e->nnz, .skew = params->storage == KRY_SKEW_HALF };

    const int parts = kryi_parts(e->nnz);
    copying c = { .e = e };
    bool sorted = e->given.row_ptr && params->storage == KRY_GENERAL;

    *A = (kryi_csr){ .rows = e->given.rows, .cols = e->given.cols, .type = e->given.type };
    if (e->given.row_ptr) TRY(check_row_ptr(e));
    if (sorted) {
        TRY(kryi_alloc((uint64_t)e->nnz, sizeof *c.to, &c.to));
        kryi_parallel(parts, e->given.rows, copy_rows, &c);
        for (int p = 0; p < parts; p++) sorted &= !c.bad[p];
    }
    TRY(kryi_alloc((size_t)A->rows + 1, sizeof *A->row_ptr, &A->row_ptr));
    if (sorted) {
        memcpy(A->row_ptr, e->given.row_ptr, ((size_t)A->rows + 1) * sizeof *A->row_ptr);
        A->col = c.to, c.to = NULL;
    } else {
        free(c.to), c.to = NULL;
        TRY(check_indices(e));
        TRY(place_entries(e, params, A, &m));
    }
    if (borrow && sorted) {
        A->val = e->given.val;
    } else if (e->given.val) {
        TRY(kryi_alloc((uint64_t)kryi_csr_nnz(A), kry_type_size(A->type), &A->val));
        TRY(kryi_entries_renew(e->who, &m, e->given.val, kryi_csr_nnz(A), A));
    }
    if (map) *map = m, m = (kryi_entry_map){ 0 };
done:
    free(c.to);
    kryi_entry_map_release(&m);
    if (st < 0) kryi_entries_release(e, A);
    return st;
}

/* ---- entries that are found one by one ------------------------------------------------------- */

kry_status kryi_entry_append(kryi_entry_list *list, int64_t row, int64_t col, double val)
{
    kry_status st = KRY_OK;

    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? 2 * list->capacity : 1024;
        TRY(kryi_realloc((size_t)capacity, sizeof *list->entry, &list->entry));
        list->capacity = capacity;
    }
    list->entry[list->count++] = (kryi_entry){ (int32_t)row, (int32_t)col, val };
done:
    return st;
}

kry_status kryi_entry_list_compress(const char *who, const kryi_entry_list *list, int64_t rows,
                                    int64_t cols, kryi_csr *A)
{
    kry_status st = KRY_OK;
    size_t count = (size_t)list->count;
    int32_t *row = NULL, *col = NULL;
    double *val = NULL;

    TRY(kryi_alloc(count, sizeof *row, &row));
    TRY(kryi_alloc(count, sizeof *col, &col));
    TRY(kryi_alloc(count, sizeof *val, &val));
    for (size_t e = 0; e < count; e++) {
        row[e] = list->entry[e].row, col[e] = list->entry[e].col;
        val[e] = list->entry[e].val;
    }
    const kryi_entries given = { who, { rows, cols, KRY_F64, NULL, col, val }, row, list->count };
    TRY(kryi_entries_compress(&given, KRY_MATRIX(.duplicates = KRY_SUM), false, A, NULL));
done:
    free(val);
    free(col);
    free(row);
    return st;
}
