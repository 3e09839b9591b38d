/* matrix_parts.c - stored matrices on a team: each part's rows, in a format of its own. */
#include "matrix/in_slots.h"
#include "matrix/matrix_cut.h"
#include <stdlib.h>
#include <string.h>

static void whole_release(void *self)
{
    kry_matrix_whole *W = self;
    if (!W) return;
    for (int r = 0; W->piece && r < W->split->members; r++) {
        free(W->piece[r].own);
        free(W->piece[r].far);
    }
    free(W->piece);
    free(W->place);
    free(W->rank.wanted);
    kry_sparse_release(&W->host);
    kry_entry_map_release(&W->map);
    kry_split_release(&W->split);
    free(W);
}

/* A rank needs them no more: its part has them. */
static void forget_host(kry_matrix_whole *W)
{
    const kry_type type = W->host.type;

    if (kry_whole_of_rank(W)) kry_sparse_release(&W->host);
    W->host.type = type;
}

/* ---- new values ------------------------------------------------------------------------------ */

/* KRY_VALUES_SINGLE: round all entries, for a part's own matrix rounds its own ones only. */
static kry_status round_values(const char *who, kry_matrix_whole *W)
{
    kry_status st = KRY_OK;
    double *val = W->host.val;

    if (W->host.type != KRY_F64 || W->params.values != KRY_VALUES_SINGLE) return KRY_OK;
    TRY(kry_values_fit_single(who, W->nnz, val));
    for (int64_t k = 0; k < W->nnz; k++) val[k] = (float)val[k];
done:
    return st;
}

static kry_status prepare(void *self, const void *values)
{
    kry_matrix_whole *W = self;
    kry_status st = KRY_OK;

    if (!values) { /* parts take the numbers that they have */
        forget_host(W);
        return KRY_OK;
    }
    if (!W->host.val) TRY(kry_alloc((size_t)W->nnz, kry_type_size(W->host.type), &W->host.val));
    TRY(kry_entries_renew("kry_op_update", &W->map, values, W->nnz, &W->host));
    TRY(round_values("kry_op_update", W));
done:
    return st;
}

/* Its numbers are in the order of its rows; that of all its entries, if no columns are far. */
static kry_status update_rank(kry_matrix_whole *W, kry_op *local)
{
    kry_status st = KRY_OK;
    const kry_coupled *A = kry_coupled_of(local);
    kry_op *own = (kry_op *)kry_op_own(local);
    void *own_val = NULL, *far_val = NULL;
    const void *given = W->host.val;

    if (A && given) {
        TRY(kry_rank_numbers(&W->rank, &kry_matrix_of(own)->sorted, &A->far, given, &own_val,
                             &far_val));
        given = own_val;
    }
    TRY(kry_op_update(own, given));
    if (given) TRY(kry_coupled_store(local, given, far_val));
done:
    free(far_val);
    free(own_val);
    forget_host(W);
    return st;
}

static kry_status update_part(void *self, int rank, kry_op *local)
{
    kry_matrix_whole *W = self;
    const kry_matrix_piece *p = &W->piece[rank];
    kry_status st = KRY_OK;
    const kry_sparse *host = &W->host;
    void *own = NULL, *far = NULL;

    if (kry_whole_of_rank(W)) return update_rank(W, local);
    TRY(kry_numbers_at(host->type, host->val, p->own, p->own_nnz, &own));
    TRY(kry_numbers_at(host->type, host->val, p->far, p->far_nnz, &far));
    TRY(kry_op_update((kry_op *)kry_op_own(local), own));
    TRY(kry_coupled_store(local, own, far));
done:
    free(far);
    free(own);
    return st;
}

static kry_status inspect(void *self, kry_finding *found)
{
    return kry_matrix_inspect(&((const kry_matrix_whole *)self)->host, found, NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kry_status find_places(kry_matrix_whole *W)
{
    kry_status st = KRY_OK;

    if (!W->split->row) return KRY_OK;
    TRY(kry_alloc((size_t)W->split->n, sizeof *W->place, &W->place));
    for (int64_t i = 0; i < W->split->n; i++) W->place[W->split->row[i]] = (int32_t)i;
done:
    return st;
}

static kry_status check(const struct kry_team *team, const kry_sparse *host,
                        const kry_matrix_params *params, const kry_rank_rows *rank)
{
    static const char who[] = "kry_csr_create";
    kry_status st = KRY_OK;
    kry_format f = params->format;

    CHECK(rank || !team->ranks, KRY_ERR_UNSUPPORTED,
          "%s: on ranks each brings its own rows: kry_csr_create_rows", who);
    CHECK(rank || host->rows == host->cols, KRY_ERR_UNSUPPORTED,
          "%s: %lld-by-%lld on several devices; only square matrices can be split", who,
          (long long)host->rows, (long long)host->cols);
    if (!team->reproducible) return KRY_OK;
    /* These sum each row by itself, from its first entry to its last one. */
    CHECK(f == KRY_FORMAT_AUTO || f == KRY_FORMAT_SELL || f == KRY_FORMAT_ELL, KRY_ERR_UNSUPPORTED,
          "%s: in format %s the sum of a row depends on where it lies, which is not reproducible; "
          "use sell or ell",
          who, kry_format_name(f));
    CHECK(params->form == KRY_ASSEMBLED, KRY_ERR_UNSUPPORTED,
          "%s: no flux form with reproducible sums, whose rows are one matrix that is not square",
          who);
done:
    return st;
}

kry_status kry_matrix_in_parts(kry_device *team, kry_sparse *host, kry_entry_map *map,
                               const kry_matrix_params *params, kry_rank_rows *rank, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_matrix_whole *W = NULL;

    *op = NULL;
    TRY(check(team->team, host, params, rank));
    TRY(kry_alloc(1, sizeof *W, &W));
    W->team = team->team;
    W->params = *params;
    W->nnz = kry_sparse_nnz(host);
    if (rank)
        W->split = kry_split_retain(rank->split);
    else
        TRY(kry_split_get(W->team, "kry_csr_create", host->rows, host, 1, &W->split));
    TRY(kry_alloc((size_t)W->split->members, sizeof *W->piece, &W->piece));
    TRY(find_places(W));
    W->host = *host, *host = (kry_sparse){ 0 };
    W->map = *map, *map = (kry_entry_map){ 0 };
    if (rank) W->rank = *rank, rank->wanted = NULL;
    TRY(round_values("kry_csr_create", W));
    const kry_parts_extra extra = { .self = W,
                                    .prepare = prepare,
                                    .update = update_part,
                                    .inspect = inspect,
                                    .destroy = whole_release };
    TRY(kry_parts_create(team, W->split, &extra, kry_matrix_cut, W, op));
    forget_host(W);
    W = NULL;
done:
    whole_release(W);
    return st;
}
