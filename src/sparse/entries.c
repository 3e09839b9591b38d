/* entries.c - the entries that a caller gives, checked, expanded, sorted and added up. */
#include "sparse/entries.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kry_entry_map_release(kry_entry_map *map)
{
    free(map->place);
    free(map->mirror);
    *map = (kry_entry_map){ 0 };
}

/* ---- checks ---------------------------------------------------------------------------------- */

kry_status kry_values_check(const char *who, kry_type type, int64_t nnz, const void *val)
{
    kry_status st = KRY_OK;
    for (int64_t k = 0; k < nnz; k++)
        CHECK(isfinite(kry_number_at(type, val, k)), KRY_ERR_ARGUMENT,
              "%s: value %g at entry %lld is not finite", who, kry_number_at(type, val, k),
              (long long)k);
done:
    return st;
}

static kry_status check_row_ptr(const kry_entries *e)
{
    kry_status st = KRY_OK;

    CHECK(e->row_ptr[0] == 0, KRY_ERR_ARGUMENT, "%s: row_ptr[0] = %lld, must be 0", e->who,
          (long long)e->row_ptr[0]);
    for (int64_t i = 0; i < e->rows; i++)
        CHECK(e->row_ptr[i] <= e->row_ptr[i + 1], KRY_ERR_ARGUMENT,
              "%s: row_ptr decreases from %lld to %lld at row %lld", e->who,
              (long long)e->row_ptr[i], (long long)e->row_ptr[i + 1], (long long)i);
done:
    return st;
}

static kry_status check_indices(const kry_entries *e)
{
    kry_status st = KRY_OK;
    int64_t row = 0;

    assert(e->row || e->row_ptr);
    for (int64_t k = 0; k < e->nnz; k++) {
        if (e->row)
            CHECK(e->row[k] >= 0 && e->row[k] < e->rows, KRY_ERR_ARGUMENT,
                  "%s: row %d at entry %lld is outside [0, %lld)", e->who, e->row[k], (long long)k,
                  (long long)e->rows);
        else
            while (k >= e->row_ptr[row + 1]) row++;
        CHECK(e->col[k] >= 0 && e->col[k] < e->cols, KRY_ERR_ARGUMENT,
              "%s: column %d at entry %lld (row %lld) is outside [0, %lld)", e->who, e->col[k],
              (long long)k, e->row ? (long long)e->row[k] : (long long)row, (long long)e->cols);
    }
done:
    return st;
}

kry_status kry_entries_check(const kry_entries *e)
{
    kry_status st = KRY_OK;
    if (e->row_ptr) TRY(check_row_ptr(e));
    TRY(check_indices(e));
done:
    return st;
}

/* ---- placing: entries, then their mirror images, sorted by row and column -------------------- */

/* The entries and their mirror images in one list: index e < given is entry e, given + e its mirror
 * image. */
typedef struct placing {
    const kry_entries *e;
    const int32_t *row; /* of each entry: e->row, or made from row_ptr */
    int32_t *row_owned;
    int64_t given, all;
    int64_t *order, *other; /* all: indices sorted so far, and the room to sort into */
} placing;

static int32_t row_of(const placing *p, int64_t i)
{
    return i < p->given ? p->row[i] : p->e->col[i - p->given];
}
static int32_t col_of(const placing *p, int64_t i)
{
    return i < p->given ? p->e->col[i] : p->row[i - p->given];
}

static kry_status expand_rows(placing *p)
{
    kry_status st = KRY_OK;

    p->row = p->e->row;
    if (p->row) return KRY_OK;
    TRY(kry_alloc((size_t)p->given, sizeof *p->row_owned, &p->row_owned));
    for (int64_t i = 0; i < p->e->rows; i++)
        for (int64_t k = p->e->row_ptr[i]; k < p->e->row_ptr[i + 1]; k++)
            p->row_owned[k] = (int32_t)i;
    p->row = p->row_owned;
done:
    return st;
}

/* One stable counting sort of `order` by a key in [0, keys); start has keys+1 entries. On return
 * start[k] is where key k begins. */
static void counting_sort(placing *p, int32_t (*key)(const placing *, int64_t), int64_t keys,
                          int64_t *start)
{
    memset(start, 0, (size_t)(keys + 1) * sizeof *start);
    for (int64_t i = 0; i < p->all; i++) start[key(p, p->order[i]) + 1]++;
    for (int64_t k = 0; k < keys; k++) start[k + 1] += start[k];
    for (int64_t i = 0; i < p->all; i++) p->other[start[key(p, p->order[i])]++] = p->order[i];
    for (int64_t k = keys; k > 0; k--) start[k] = start[k - 1];
    start[0] = 0;
    int64_t *t = p->order;
    p->order = p->other, p->other = t;
}

/* order := all entries and mirror images by row, in a row by column, at one place as they were
 * given. */
static kry_status sort_entries(placing *p, bool mirrored)
{
    kry_status st = KRY_OK;
    int64_t keys = p->e->rows > p->e->cols ? p->e->rows : p->e->cols, *start = NULL;
    size_t most = (size_t)p->given * (mirrored ? 2 : 1);

    TRY(kry_alloc((size_t)keys + 2, sizeof *start, &start));
    TRY(kry_alloc(most, sizeof *p->order, &p->order));
    TRY(kry_alloc(most, sizeof *p->other, &p->other));
    for (int64_t i = 0; i < p->given; i++) p->order[p->all++] = i;
    for (int64_t i = 0; mirrored && i < p->given; i++)
        if (p->row[i] != p->e->col[i]) p->order[p->all++] = p->given + i;
    counting_sort(p, col_of, keys, start);
    counting_sort(p, row_of, keys, start);
done:
    free(start);
    return st;
}

/* Give each of the sorted entries its place; duplicates share one, or are refused. */
static kry_status assign_places(const placing *p, kry_duplicates duplicates, kry_sparse *A,
                                kry_entry_map *map)
{
    kry_status st = KRY_OK;
    int64_t place = -1, last_row = -1, last_col = -1;

    for (int64_t i = 0; i < p->all; i++) {
        int64_t e = p->order[i], row = row_of(p, e), col = col_of(p, e);
        bool again = row == last_row && col == last_col;
        CHECK(!again || duplicates == KRY_SUM, KRY_ERR_ARGUMENT,
              "%s: two entries at row %lld, column %lld%s; KRY_SUM adds them up", p->e->who,
              (long long)row, (long long)col,
              map->mirror ? " (symmetric storage gives one triangle only)" : "");
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

static kry_status check_skew(const placing *p)
{
    kry_status st = KRY_OK;
    for (int64_t k = 0; k < p->given; k++)
        CHECK(p->row[k] != p->e->col[k], KRY_ERR_ARGUMENT,
              "%s: entry %lld is on the diagonal of a skew-symmetric matrix", p->e->who,
              (long long)k);
done:
    return st;
}

static kry_status place_entries(const kry_entries *e, const kry_matrix_params *params,
                                kry_sparse *A, kry_entry_map *map)
{
    kry_status st = KRY_OK;
    bool mirrored = params->storage != KRY_GENERAL;
    placing p = { .e = e, .given = e->nnz };

    TRY(expand_rows(&p));
    if (map->skew) TRY(check_skew(&p));
    TRY(sort_entries(&p, mirrored));
    TRY(kry_alloc((size_t)p.all, sizeof *A->col, &A->col));
    TRY(kry_alloc((size_t)e->nnz, sizeof *map->place, &map->place));
    if (mirrored) TRY(kry_alloc((size_t)e->nnz, sizeof *map->mirror, &map->mirror));
    for (int64_t k = 0; mirrored && k < e->nnz; k++) map->mirror[k] = -1;
    TRY(assign_places(&p, params->duplicates, A, map));
done:
    free(p.other);
    free(p.order);
    free(p.row_owned);
    return st;
}

/* CSR that is sorted and free of duplicates already is only copied. */
static bool is_canonical(const kry_entries *e, const kry_matrix_params *params)
{
    if (!e->row_ptr || params->storage != KRY_GENERAL) return false;
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = e->row_ptr[i] + 1; k < e->row_ptr[i + 1]; k++)
            if (e->col[k - 1] >= e->col[k]) return false;
    return true;
}

static kry_status copy_pattern(const kry_entries *e, kry_sparse *A)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)e->nnz, sizeof *A->col, &A->col));
    memcpy(A->row_ptr, e->row_ptr, ((size_t)A->rows + 1) * sizeof *A->row_ptr);
    if (e->nnz) memcpy(A->col, e->col, (size_t)e->nnz * sizeof *A->col);
done:
    return st;
}

/* ---- values ---------------------------------------------------------------------------------- */

#define SCATTER(REAL)                                                                             \
    do {                                                                                          \
        const REAL *from = values;                                                                \
        REAL *to = A->val;                                                                        \
        for (int64_t e = 0; e < m->given; e++) {                                                  \
            to[m->place[e]] += from[e];                                                           \
            if (m->mirror && m->mirror[e] >= 0) to[m->mirror[e]] += m->skew ? -from[e] : from[e]; \
        }                                                                                         \
    } while (0)

kry_status kry_entries_renew(const char *who, const kry_entry_map *m, const void *values,
                             int64_t nnz, kry_sparse *A)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)nnz * kry_type_size(A->type);

    TRY(kry_values_check(who, A->type, m->given, values));
    if (bytes == 0) return KRY_OK;
    if (!m->place) {
        memcpy(A->val, values, bytes);
        return KRY_OK;
    }
    memset(A->val, 0, bytes);
    if (A->type == KRY_F32)
        SCATTER(float);
    else
        SCATTER(double);
    for (int64_t k = 0; k < nnz; k++)
        CHECK(isfinite(kry_number_at(A->type, A->val, k)), KRY_ERR_ARGUMENT,
              "%s: entries in one place add up to %g, number %lld of the sorted matrix", who,
              kry_number_at(A->type, A->val, k), (long long)k);
done:
    return st;
}

kry_status kry_entries_compress(const kry_entries *e, const kry_matrix_params *params,
                                kry_sparse *A, kry_entry_map *map)
{
    kry_status st = KRY_OK;
    kry_entry_map m = { .given = e->nnz, .skew = params->storage == KRY_SKEW_HALF };

    *A = (kry_sparse){ .rows = e->rows, .cols = e->cols, .type = e->type };
    TRY(kry_entries_check(e));
    TRY(kry_alloc((size_t)A->rows + 1, sizeof *A->row_ptr, &A->row_ptr));
    if (is_canonical(e, params))
        TRY(copy_pattern(e, A));
    else
        TRY(place_entries(e, params, A, &m));
    if (e->val) {
        TRY(kry_alloc((size_t)kry_sparse_nnz(A), kry_type_size(A->type), &A->val));
        TRY(kry_entries_renew(e->who, &m, e->val, kry_sparse_nnz(A), A));
    }
    if (map) *map = m, m = (kry_entry_map){ 0 };
done:
    kry_entry_map_release(&m);
    if (st < 0) kry_sparse_release(A);
    return st;
}
