/* create.c - stored matrices of host arrays: on the host or the device that looks at them, in one format or the one that is
 * chosen; and the public functions. */
#include "device/pool.h"
#include "host/host.h"
#include "matrix/given.h"
#include "matrix/matrix_parts.h"
#include "operator/op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kry_status kryi_matrix_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                    int64_t cols, const kry_matrix_params *params)
{
    kry_status st = KRY_OK;

    CHECK(dev, KRY_ERR_ARGUMENT, "%s: NULL device", who);
    CHECK(params->format >= 0 && params->format < KRY_FORMAT_COUNT, KRY_ERR_ARGUMENT,
          "%s: %d is not a format", who, (int)params->format);
    CHECK(params->values >= 0 && params->values <= KRY_VALUES_SINGLE, KRY_ERR_ARGUMENT,
          "%s: %d is not a way to keep values", who, (int)params->values);
    if (params->on_host)
        CHECK(type == KRY_F64, KRY_ERR_TYPE, "%s: what stays on the host is in double", who);
    else
        TRY(kryi_type_check(who, dev, type));
    CHECK(!params->on_host || rows == cols, KRY_ERR_SHAPE, "%s: %lld-by-%lld stays on no host", who,
          (long long)rows, (long long)cols);
    CHECK(rows >= 0 && cols >= 0 && rows <= INT32_MAX && cols <= INT32_MAX, KRY_ERR_ARGUMENT,
          "%s: %lld-by-%lld is outside 0 ... 2^31-1", who, (long long)rows, (long long)cols);
    CHECK(params->block >= 0 && params->block <= KRY_BLOCK_MOST, KRY_ERR_ARGUMENT,
          "%s: block = %d is not in 0 ... %d", who, params->block, (int)KRY_BLOCK_MOST);
    CHECK(params->form == KRY_ASSEMBLED || params->form == KRY_FLUX, KRY_ERR_ARGUMENT,
          "%s: %d is not a form", who, (int)params->form);
    CHECK(params->form == KRY_ASSEMBLED || rows == cols, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld has no flux form, which is of square matrices", who, (long long)rows,
          (long long)cols);
    CHECK(params->storage >= KRY_GENERAL && params->storage <= KRY_SKEW_HALF, KRY_ERR_ARGUMENT,
          "%s: %d is not a storage", who, (int)params->storage);
    CHECK(params->duplicates >= KRY_REFUSE && params->duplicates <= KRY_SUM, KRY_ERR_ARGUMENT,
          "%s: %d is not a way to treat duplicates", who, (int)params->duplicates);
    CHECK(params->storage == KRY_GENERAL || rows == cols, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld cannot be symmetric", who, (long long)rows, (long long)cols);
    TRY(kryi_op_check_traits(who, rows, cols, params->traits));
done:
    return st;
}

/* ---- in one format --------------------------------------------------------------------------- */

static kry_status create_in_format(kry_device *dev, const kryi_given *given,
                                   const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    kryi_matrix *A = NULL;

    *op = NULL;
    TRY(kryi_matrix_new(dev, params, host, kryi_csr_nnz(host), &A));
    if (given->C.dev) TRY(kryi_placed_build(A, given));
    if (!A->placed) {
        TRY(A->format->build(A, given));
        TRY(kryi_matrix_store(A, given->who, host->row_ptr, host->val, &given->seen));
    }
    TRY(kryi_matrix_finish(&A, op));
done:
    kryi_matrix_destroy(A);
    return st;
}

/* ---- the choice of a format ------------------------------------------------------------------ */

/*
 * Format AUTO takes the format that was fastest when such a matrix was measured on this
 * device before. If none was, it measures, if the caller asked for that, or else predicts.
 */

typedef struct candidate {
    kry_format format;
    double seconds; /* predicted, then measured */
} candidate;

static int by_seconds(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* All formats that can take the matrix, the most promising first. Returns how many. */
static int find_candidates(const double *seconds, candidate *c)
{
    int count = 0;
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++) {
        c[count] = (candidate){ f, seconds[f] };
        count += isfinite(c[count].seconds);
    }
    qsort(c, (size_t)count, sizeof *c, by_seconds);
    return count;
}

/* A format may refuse the matrix, and the next one is tried; any other failure ends the choice. */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_ARGUMENT || st == KRY_ERR_SHAPE;
}

static kry_status build_one(kry_device *dev, const kryi_given *given,
                            const kry_matrix_params *params, kry_format format, const char *chosen,
                            kry_op **op)
{
    kry_matrix_params p = *params;
    p.format = format;
    kry_status st = create_in_format(dev, given, &p, op);
    if (st < 0) return st;
    kryi_matrix_of(*op)->chosen = chosen;
    kryi_matrix_of(*op)->format_is_free = true;
    return st;
}

/* Vectors for products; x has finite numbers that are not all equal. */
static kry_status trial_vectors(kry_device *dev, const kryi_csr *host, kry_vec **x, kry_vec **y)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;

    TRY(kryi_alloc((size_t)host->cols, kry_type_size(host->type), &numbers));
    for (int64_t i = 0; i < host->cols; i++)
        kryi_number_put(host->type, numbers, i, (double)(i * 7919 % 10007) / 10007.0);
    TRY(kry_vec_create(dev, host->type, host->cols, 1, x));
    TRY(kry_vec_create(dev, host->type, host->rows, 1, y));
    TRY(kry_vec_write(*x, numbers));
done:
    free(numbers);
    return st;
}

static kry_status time_batch(const kry_op *op, const kry_vec *x, kry_vec *y, int turns,
                             double *seconds)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_op_device(op);

    TRY(kry_device_finish(dev));
    double start = kryi_now();
    for (int i = 0; i < turns; i++) TRY(kry_op_apply(op, 1, x, 0, y));
    TRY(kry_device_finish(dev));
    *seconds = (kryi_now() - start) / turns;
done:
    return st;
}

/* The least of several batches, each long enough to be timed, within about `budget` seconds. */
static kry_status time_product(const kry_op *op, const kry_vec *x, kry_vec *y, double budget,
                               double *seconds)
{
    enum { BATCHES = 5 };
    static const double least_batch = 1e-3;
    kry_status st = KRY_OK;
    double once, start = kryi_now();
    int turns;

    TRY(time_batch(op, x, y, 2, &once)); /* the first one compiles */
    TRY(time_batch(op, x, y, 2, seconds));
    turns = *seconds > least_batch ? 1 : (int)(least_batch / *seconds) + 1;
    for (int i = 0; i < BATCHES && kryi_now() - start < budget; i++) {
        TRY(time_batch(op, x, y, turns, &once));
        if (once < *seconds || i == 0) *seconds = once;
    }
done:
    return st;
}

/* Build and time the candidates, best first, until the time is up; keep the fastest. */
static kry_status measure(kry_device *dev, const kryi_given *given, const kry_matrix_params *params,
                          candidate *c, int count, kry_op **best, candidate *winner)
{
    kry_status st = KRY_OK;
    static const double hopeless = 4; /* times the best prediction */
    double start = kryi_now(), seconds;
    kry_vec *x = NULL, *y = NULL;
    kry_op *op = NULL;

    *winner = (candidate){ KRY_FORMAT_CSR, INFINITY };
    TRY(trial_vectors(dev, given->host, &x, &y));
    for (int i = 0; i < count && c[i].seconds < hopeless * c[0].seconds; i++) {
        if (*best && kryi_now() - start > params->measure_seconds) break;
        st = build_one(dev, given, params, c[i].format, "measured", &op);
        if (is_refusal(st)) continue;
        TRY(st);
        TRY(time_product(op, x, y, params->measure_seconds / count, &seconds));
        if (seconds < winner->seconds) {
            *winner = (candidate){ c[i].format, seconds };
            kry_op_release(best);
            *best = op, op = NULL;
        }
        kry_op_release(&op);
    }
    st = KRY_OK;
done:
    kry_op_release(&op);
    if (st < 0) kry_op_release(best);
    kry_vec_release(&y);
    kry_vec_release(&x);
    return st;
}

enum { NAME = 64, VALUE = 160 };

static void keep_decision(kry_device *dev, const char *name, const kryi_csr *host,
                          const candidate *winner)
{
    char value[VALUE];
    kryi_print(value, sizeof value, "%s %.3g s %lld-by-%lld nnz %lld",
               kry_format_name(winner->format), winner->seconds, (long long)host->rows,
               (long long)host->cols, (long long)kryi_csr_nnz(host));
    kryi_tuning_set(dev, name, value);
}

static kry_format kept_decision(kry_device *dev, const char *name)
{
    char value[VALUE];
    kry_matrix_params p = *KRY_MATRIX(.traits = 0);

    if (!kryi_tuning_get(dev, name, value, sizeof value)) return KRY_FORMAT_AUTO;
    value[strcspn(value, " ")] = 0;
    return kry_format_parse(value, &p) == KRY_OK ? p.format : KRY_FORMAT_AUTO;
}

/* The first candidate that takes the matrix; csr takes any. */
static kry_status build_first(kry_device *dev, const kryi_given *given,
                              const kry_matrix_params *params, const candidate *c, int count,
                              kry_op **op)
{
    kry_status st = KRY_ERR_UNSUPPORTED;
    for (int i = 0; i < count && is_refusal(st); i++)
        st = build_one(dev, given, params, c[i].format, "predicted", op);
    return st;
}

static kry_status choose(kry_device *dev, kryi_given *given, const kry_matrix_params *params,
                         kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    double seconds[KRY_FORMAT_COUNT];
    uint64_t hash;
    char name[NAME];
    candidate c[KRY_FORMAT_COUNT], winner;
    kry_format kept;
    int count;

    *op = NULL;
    TRY(kryi_predict(dev, given, params, seconds, &hash));
    snprintf(name, sizeof name, "format/%016llx", (unsigned long long)hash);
    kept = kept_decision(dev, name);
    st = kept == KRY_FORMAT_AUTO ? KRY_ERR_UNSUPPORTED
                                 : build_one(dev, given, params, kept, "kept", op);
    if (!is_refusal(st)) goto done;
    count = find_candidates(seconds, c);
    if (params->measure_seconds > 0 && host->rows > 0 && host->cols > 0) {
        TRY(measure(dev, given, params, c, count, op, &winner));
        keep_decision(dev, name, host, &winner);
    } else {
        TRY(build_first(dev, given, params, c, count, op));
    }
done:
    return st;
}

/* ---- operators of what is checked ------------------------------------------------------------ */

kry_status kryi_matrix_of_given(kry_device *dev, kryi_given *given, const kry_matrix_params *params,
                                kry_op **op)
{
    return params->format == KRY_FORMAT_AUTO ? choose(dev, given, params, op)
                                             : create_in_format(dev, given, params, op);
}

static kry_status create_of(kry_device *dev, kryi_given *G, kryi_csr *host,
                            const kry_matrix_params *params, kry_op **op);

/* In csr, with all its digits, on a host device. The format that was asked for is that of its copies in
 * single. */
static kry_status keep_on_host(kry_device *dev, kryi_given *G, kryi_csr *host,
                               const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_device *beside = NULL;
    kry_matrix_params p = *params;

    p.on_host = false;
    p.format = KRY_FORMAT_CSR, p.values = KRY_VALUES_AS_GIVEN;
    TRY(kryi_host_beside(dev, &beside));
    TRY(create_of(beside, G, host, &p, op));
    kryi_matrix_of(*op)->params.format = params->format;
done:
    kry_device_release(&beside);
    return st;
}

/* The operator of G, which keeps the pattern and G->map for new values.
 *   host  G->host unless the device has looked at the matrix: taken over if the call succeeds, but for numbers that need
 *         no map */
static kry_status create_of(kry_device *dev, kryi_given *G, kryi_csr *host,
                            const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_matrix *A;

    CHECK(!dev->team || !params->on_host, KRY_ERR_UNSUPPORTED,
          "kry_csr_create: on_host is for one device, and this is a team of %d",
          kry_team_size(dev));
    if (params->on_host) return keep_on_host(dev, G, host, params, op);
    if (dev->team) return kryi_matrix_in_parts(dev, host, &G->map, params, NULL, op);
    TRY(kryi_matrix_of_given(dev, G, params, op));
    A = kryi_matrix_of(*op);
    if (!G->C.dev) {
        A->sorted = *host;
        if (!G->map.place) A->sorted.val = NULL;
        *host = (kryi_csr){ .val = G->map.place ? NULL : host->val };
    } else if (!A->placed) {
        TRY(kryi_csr_copy_pattern(G->host, &A->sorted));
    }
    A->map = G->map, G->map = (kryi_entry_map){ 0 };
done:
    if (st < 0) kry_op_release(op);
    return st;
}

kry_status kryi_matrix_take(kry_device *dev, kryi_csr *host, const kry_matrix_params *params,
                            kry_op **op)
{
    kry_status st = KRY_OK;
    const int64_t nnz = kryi_csr_nnz(host);
    kryi_given G = { .who = "kry_csr_create", .host = host, .map.given = nnz };

    *op = NULL;
    kryi_numbers_see(host->type, host->val, nnz, &G.seen);
    TRY(create_of(dev, &G, host, params, op));
done:
    kryi_given_release(&G);
    return st;
}

/* ---- another format ------------------------------------------------------------------------------- */

/* Whether entries that share a slot may get one each: the library chose the format because the numbers were symmetric, which
 * nobody promised. */
static bool may_change(const kryi_matrix *A)
{
    const unsigned promises = KRY_SYMMETRIC | KRY_POSITIVE | KRY_SINGULAR;

    return A->format->shared && A->format_is_free && !(A->shape.traits & promises);
}

kry_status kryi_matrix_change_format(kryi_matrix *A, const char *who, const void *sorted,
                                     kry_status refusal)
{
    kry_status st = KRY_OK;
    const bool placed =
        A->placed; /* the host has no pattern, and the device is to look at the numbers, too */
    kry_matrix_params p = A->params;
    kryi_csr rows = A->sorted;
    kryi_given G = { .who = who, .host = &rows };
    kry_op *op = NULL;

    if (refusal != KRY_ERR_ARGUMENT || !may_change(A)) return refusal;
    p.format = KRY_FORMAT_AUTO, p.measure_seconds = 0;
    p.storage = KRY_GENERAL, p.duplicates = KRY_REFUSE;
    if (placed) {
        TRY(kryi_matrix_download(A, &rows));
        free(rows.val);
    }
    rows.val = (void *)sorted;
    if (placed) TRY(kryi_given_upload(A->dev, &(kryi_entries){ who, rows, NULL, A->nnz }, &p, &G));
    if (!G.C.dev) TRY(kryi_matrix_inspect(&rows, &G.finding, &G.seen));
    if (G.seen.symmetric) {
        st = refusal;
        goto done;
    }
    G.host = &rows;
    TRY(kryi_matrix_of_given(A->dev, &G, &p, &op));
    kryi_matrix_exchange(A, kryi_matrix_of(op));
    A->found = G.finding;
    if (placed && !A->placed) {
        A->sorted = rows, A->sorted.val = NULL;
        rows = (kryi_csr){ 0 };
    }
done:
    kry_op_release(&op);
    kryi_given_release(&G);
    rows.val = NULL; /* the caller's */
    if (placed) kryi_csr_release(&rows);
    return st;
}

/* ---- public functions --------------------------------------------------------------------------- */

/* A := the sorted matrix of these entries. Its numbers are the caller's own where they are sorted, but for those of a team,
 * which keeps them for a while: release_entries knows. */
static kry_status take_entries(const kryi_entries *e, bool team, const kry_matrix_params *params,
                               kryi_csr *A, kryi_entry_map *map)
{
    kry_status st = KRY_OK;
    kryi_entries places = *e;

    if (!team) places.given.val = NULL;
    TRY(kryi_entries_compress(&places, params, A, map));
    if (team) return KRY_OK;
    if (map->place) {
        TRY(kryi_alloc((size_t)kryi_csr_nnz(A), kry_type_size(A->type), &A->val));
        TRY(kryi_entries_renew(e->who, map, e->given.val, kryi_csr_nnz(A), A));
    } else {
        A->val = e->given.val;
    }
done:
    return st;
}

static void release_entries(const kryi_entries *e, kryi_csr *A)
{
    if (A->val == e->given.val) A->val = NULL; /* the caller's */
    kryi_csr_release(A);
}

/* inspects: these are a caller's entries, of which solvers want to know what they are like: on the device, where that can
 * look at them. */
static kry_status make(kry_device *dev, const kryi_entries *e, const kry_matrix_params *params,
                       bool inspects, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_csr A = { 0 };
    kryi_given G = { 0 };

    if (inspects && e->nnz >= KRY_GIVEN_WORTH) TRY(kryi_given_upload(dev, e, params, &G));
    if (!G.C.dev) {
        G = (kryi_given){ .who = e->who, .host = &A };
        TRY(take_entries(e, dev->team, params, &A, &G.map));
        const int64_t nnz = kryi_csr_nnz(&A);
        if (inspects)
            TRY(kryi_matrix_inspect(&A, &G.finding, &G.seen));
        else
            kryi_numbers_see(A.type, A.val, nnz, &G.seen);
        if (!G.seen.finite) TRY(kryi_values_check(e->who, A.type, nnz, A.val));
    }
    TRY(create_of(dev, &G, &A, params, op));
    (*op)->found = G.finding;
    (*op)->inspected = inspects;
done:
    kryi_given_release(&G);
    release_entries(e, &A);
    return st;
}

kry_status kryi_matrix_create(kry_device *dev, const kryi_csr *A, const kry_matrix_params *params,
                              kry_op **op)
{
    const kryi_entries e = { "kry_csr_create", *A, NULL, kryi_csr_nnz(A) };

    *op = NULL;
    return make(dev, &e, params, false, op);
}

/* Check sizes, parameters and that the arrays are there; their contents are looked at when they are sorted. Finds e->nnz
 * of compressed rows. */
static kry_status check_arrays(kry_device *dev, kryi_entries *e, bool coordinates,
                               const kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    const kryi_csr *given = &e->given;

    TRY(kryi_matrix_check_params(e->who, dev, given->type, given->rows, given->cols, params));
    if (coordinates) {
        bool there = e->row && given->col && given->val;
        CHECK(e->nnz >= 0 && (e->nnz == 0 || there), KRY_ERR_ARGUMENT,
              "%s: nnz = %lld, or an array is NULL", e->who, (long long)e->nnz);
    } else {
        CHECK(given->row_ptr, KRY_ERR_ARGUMENT, "%s: row_ptr is NULL", e->who);
        e->nnz = kryi_csr_nnz(given);
        CHECK(e->nnz == 0 || (given->col && given->val), KRY_ERR_ARGUMENT, "%s: col or val is NULL",
              e->who);
        CHECK(e->nnz >= 0, KRY_ERR_ARGUMENT, "%s: row_ptr[%lld] = %lld is negative", e->who,
              (long long)given->rows, (long long)e->nnz);
    }
done:
    return st;
}

static kry_status create(kry_device *dev, kryi_entries e, bool coordinates,
                         const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_matrix_params mine;

    if (op) *op = NULL;
    st = kryi_check_given(e.who, "op, device", (const void *const[]){ op, dev });
    if (!op || !dev) goto done;
    TAKE_PARAMS(params, mine, e.who, "KRY_MATRIX");
    TRY(check_arrays(dev, &e, coordinates, params));
    TRY(kryi_pool_open(dev));
    st = make(dev, &e, params, true, op);
    kryi_pool_close(dev);
done:
    return st;
}

kry_status kry_csr_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols,
                          const int64_t *row_ptr, const int32_t *col, const void *val,
                          const kry_matrix_params *params, kry_op **op)
{
    const kryi_csr given = { rows, cols, type, (int64_t *)row_ptr, (int32_t *)col, (void *)val };
    return create(dev, (kryi_entries){ "kry_csr_create", given, NULL, 0 }, false, params, op);
}

kry_status kry_coo_create(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                          const int32_t *row, const int32_t *col, const void *val,
                          const kry_matrix_params *params, kry_op **op)
{
    const kryi_csr given = { rows, cols, type, NULL, (int32_t *)col, (void *)val };
    return create(dev, (kryi_entries){ "kry_coo_create", given, row, nnz }, true, params, op);
}

kry_status kry_csr_predict(kry_device *dev, kry_type type, int64_t rows, int64_t cols,
                           const int64_t *row_ptr, const int32_t *col, const void *val,
                           const kry_matrix_params *params, double seconds[KRY_FORMAT_COUNT])
{
    kry_status st = KRY_OK;
    kryi_entries e = {
        __func__, { rows, cols, type, (int64_t *)row_ptr, (int32_t *)col, (void *)val }, NULL, 0
    };
    kryi_csr A = { 0 };
    kryi_given given = { .host = &A };
    kry_matrix_params mine;
    uint64_t hash;

    TRY(GIVEN(seconds, dev));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "%s: for one device, and this is a team of %d", e.who,
          kry_team_size(dev));
    TAKE_PARAMS(params, mine, e.who, "KRY_MATRIX");
    TRY(check_arrays(dev, &e, false, params));
    TRY(take_entries(&e, false, params, &A, &given.map));
    TRY(kryi_numbers_check(e.who, type, A.val, kryi_csr_nnz(&A), &given.seen));
    TRY(kryi_predict(dev, &given, params, seconds, &hash));
done:
    kryi_given_release(&given);
    release_entries(&e, &A);
    return st;
}
