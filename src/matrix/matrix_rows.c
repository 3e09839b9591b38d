/*
 * matrix_rows.c - matrices of which each rank brings its own rows, with the columns of the whole.
 *
 * A rank numbers the columns that its rows have entries for anew, in their order. Nothing here is as long as the
 * whole matrix has rows.
 */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/dist.h"
#include "operator/op.h"
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_csr_create_rows";

/* The caller's rows. */
typedef struct given {
    kry_type type;
    int64_t first, rows, nnz;
    const int64_t *row_ptr, *col;
    const void *val;
} given;

static bool is_own(const given *g, int64_t col)
{
    return col >= g->first && col < g->first + g->rows;
}

static kry_status check_rows(const given *g)
{
    kry_status st = KRY_OK;

    CHECK(g->first >= 0 && g->rows >= 0 && g->rows <= INT32_MAX && g->first <= INT64_MAX - g->rows,
          KRY_ERR_ARGUMENT, "%s: %lld rows from row %lld; a rank has at most 2^31-1", who,
          (long long)g->rows, (long long)g->first);
    CHECK(g->row_ptr, KRY_ERR_ARGUMENT, "%s: row_ptr is NULL", who);
    CHECK(g->row_ptr[0] == 0, KRY_ERR_ARGUMENT, "%s: row_ptr[0] = %lld, must be 0", who,
          (long long)g->row_ptr[0]);
    for (int64_t i = 0; i < g->rows; i++)
        CHECK(g->row_ptr[i] <= g->row_ptr[i + 1], KRY_ERR_ARGUMENT,
              "%s: row_ptr decreases from %lld to %lld at row %lld of this rank", who,
              (long long)g->row_ptr[i], (long long)g->row_ptr[i + 1], (long long)i);
    CHECK(g->row_ptr[g->rows] == 0 || (g->col && g->val), KRY_ERR_ARGUMENT,
          "%s: col or val is NULL", who);
done:
    return st;
}

static kry_status check_columns(const given *g, int64_t n)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0, k = 0; i < g->rows; i++)
        for (; k < g->row_ptr[i + 1]; k++)
            CHECK(g->col[k] >= 0 && g->col[k] < n, KRY_ERR_ARGUMENT,
                  "%s: column %lld at entry %lld (row %lld) is outside [0, %lld)", who,
                  (long long)g->col[k], (long long)k, (long long)(g->first + i), (long long)n);
done:
    return st;
}

/* List the columns of other ranks, each once. */
static kry_status find_wanted(const given *g, kryi_rank_rows *rank)
{
    kry_status st = KRY_OK;
    int64_t count = 0;

    for (int64_t k = 0; k < g->nnz; k++) count += !is_own(g, g->col[k]);
    TRY(kryi_alloc((size_t)count, sizeof *rank->wanted, &rank->wanted));
    count = 0;
    for (int64_t k = 0; k < g->nnz; k++)
        if (!is_own(g, g->col[k])) rank->wanted[count++] = g->col[k];
    rank->wants = kryi_places_sort(rank->wanted, count);
    while (rank->below < rank->wants && rank->wanted[rank->below] < g->first) rank->below++;
    CHECK(g->rows + rank->wants <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "%s: %lld own columns and %lld of other ranks are more than 2^31-1", who,
          (long long)g->rows, (long long)rank->wants);
done:
    return st;
}

static kry_status number_columns(const given *g, const kryi_rank_rows *rank, int32_t **number)
{
    kry_status st = KRY_OK;
    int32_t *col = NULL;

    TRY(kryi_alloc((uint64_t)g->nnz, sizeof *col, &col));
    for (int64_t k = 0; k < g->nnz; k++) {
        if (is_own(g, g->col[k])) {
            col[k] = (int32_t)(rank->below + g->col[k] - g->first);
        } else {
            const int64_t i = kryi_places_find(rank->wanted, rank->wants, g->col[k]);
            col[k] = (int32_t)(i < rank->below ? i : g->rows + i);
        }
    }
    *number = col;
done:
    return st;
}

kry_status kryi_rank_numbers(const kryi_rank_rows *rank, const kryi_csr *own, const kryi_csr *far,
                             const void *val, void **own_val, void **far_val)
{
    kry_status st = KRY_OK;
    const kry_type type = far->type;
    int64_t k = 0, o = 0, f = 0;

    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(own), kry_type_size(type), own_val));
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(far), kry_type_size(type), far_val));
    for (int64_t i = 0; i < own->rows; i++) {
        while (f < far->row_ptr[i + 1] && far->col[f] < rank->below)
            kryi_number_put(type, *far_val, f++, kryi_number_at(type, val, k++));
        while (o < own->row_ptr[i + 1])
            kryi_number_put(type, *own_val, o++, kryi_number_at(type, val, k++));
        while (f < far->row_ptr[i + 1])
            kryi_number_put(type, *far_val, f++, kryi_number_at(type, val, k++));
    }
done:
    return st;
}

/* This rank's rows, on a team of ranks. */
static kry_status create_on_ranks(kry_device *dev, given *g, const kry_matrix_params *params,
                                  kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_rank_rows rank = { 0 };
    kryi_csr host = { 0 };
    kryi_entry_map map = { 0 };
    int32_t *col = NULL;

    TRY(check_rows(g));
    g->nnz = g->row_ptr[g->rows];
    TRY(kryi_split_by_ranks(dev->team, who, g->first, g->rows, &rank.split));
    TRY(check_columns(g, rank.split->n));
    TRY(find_wanted(g, &rank));
    TRY(number_columns(g, &rank, &col));
    const kryi_entries e = { who,
                             { g->rows, g->rows + rank.wants, g->type, (int64_t *)g->row_ptr, col,
                               (void *)g->val },
                             NULL,
                             g->nnz };
    TRY(kryi_entries_compress(&e, params, false, &host, &map));
    free(col), col = NULL;
    TRY(kryi_matrix_in_parts(dev, &host, &map, params, &rank, op));
done:
    free(col);
    free(rank.wanted);
    kryi_entry_map_release(&map);
    kryi_csr_release(&host);
    if (rank.split) kryi_split_release(&rank.split);
    return st;
}

/* All rows, on any other device. */
static kry_status create_here(kry_device *dev, given *g, const kry_matrix_params *params,
                              kry_op **op)
{
    kry_status st = KRY_OK;
    int32_t *col = NULL;

    TRY(check_rows(g));
    CHECK(g->first == 0, KRY_ERR_ARGUMENT,
          "%s: '%s' is one process, which brings all rows; the first one is %lld", who,
          dev->info.name, (long long)g->first);
    g->nnz = g->row_ptr[g->rows];
    TRY(check_columns(g, g->rows));
    TRY(kryi_alloc((uint64_t)g->nnz, sizeof *col, &col));
    for (int64_t k = 0; k < g->nnz; k++) col[k] = (int32_t)g->col[k];
    TRY(kry_csr_create(dev, g->type, g->rows, g->rows, g->row_ptr, col, g->val, params, op));
done:
    free(col);
    return st;
}

kry_status kry_csr_create_rows(kry_device *dev, kry_type type, int64_t first_row, int64_t rows,
                               const int64_t *row_ptr, const int64_t *col, const void *val,
                               const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_matrix_params mine;
    given g = { type, first_row, rows, 0, row_ptr, col, val };

    kryi_team_enter(dev, who, NULL);
    if (op) *op = NULL;
    TRY(GIVEN(op, dev));
    TAKE_PARAMS(params, mine, who, "KRY_MATRIX");
    if (!kry_team_is_ranks(dev)) return create_here(dev, &g, params, op);
    const int alike[] = { (int)type, (int)params->traits, params->block };
    kryi_team_same(dev, alike, sizeof alike);
    TRY(kryi_matrix_check_params(who, dev, type, rows, rows, params));
    CHECK(params->storage == KRY_GENERAL, KRY_ERR_UNSUPPORTED,
          "%s: half of a matrix; the other half is on other ranks: give all entries", who);
    TRY(create_on_ranks(dev, &g, params, op));
done:
    st = kryi_team_leave(dev, st);
    if (st < 0) kry_op_release(op);
    return st;
}
