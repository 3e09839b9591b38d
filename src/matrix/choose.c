/*
 * choose.c - stored matrices of rows that were looked at, on one device: in the format that is asked for, kept, measured or
 * predicted; in another one later; and in another type.
 */
#include "matrix/given.h"
#include "matrix/matrix_parts.h"
#include "operator/op.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operator of `given`, in any format; chosen: who chose it, as in kry_op_info, or NULL for the caller. */
static kry_status build(kry_device *dev, const kryi_given *given, const kry_matrix_params *params,
                        kry_format format, const char *chosen, kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    kry_matrix_params p = *params;
    kryi_matrix *A = NULL;

    *op = NULL;
    p.format = format;
    TRY(kryi_matrix_new(dev, &p, host, kryi_csr_nnz(host), &A));
    if (chosen) A->chosen = chosen, A->format_is_free = true;
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

/* The format that takes the fewest seconds, which is not named again: its seconds become INFINITY. KRY_FORMAT_AUTO: none of
 * those that are left can take the matrix. */
static kry_format take_fastest(double seconds[KRY_FORMAT_COUNT])
{
    kry_format fastest = KRY_FORMAT_AUTO;

    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)
        if (seconds[f] < seconds[fastest]) fastest = f;
    seconds[fastest] = INFINITY;
    return fastest;
}

/* A format may refuse the matrix, and the next one is tried; any other failure ends the choice. */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_ARGUMENT || st == KRY_ERR_SHAPE;
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

/* Build and time formats, those with the fewest predicted seconds first, until the time is up; keep the fastest. */
static kry_status measure(kry_device *dev, const kryi_given *given, const kry_matrix_params *params,
                          double predicted[KRY_FORMAT_COUNT], kry_op **best, double *best_seconds)
{
    kry_status st = KRY_OK;
    static const double hopeless = 4; /* times the best prediction */
    double start = kryi_now(), seconds, most = INFINITY;
    kry_vec *x = NULL, *y = NULL;
    kry_op *op = NULL;
    int count = 0;

    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++) {
        count += isfinite(predicted[f]);
        most = fmin(most, hopeless * predicted[f]);
    }
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)
        if (predicted[f] >= most) predicted[f] = INFINITY;
    *best_seconds = INFINITY;
    TRY(trial_vectors(dev, given->host, &x, &y));
    for (kry_format f; (f = take_fastest(predicted)) != KRY_FORMAT_AUTO;) {
        if (*best && kryi_now() - start > params->measure_seconds) break;
        st = build(dev, given, params, f, "measured", &op);
        if (is_refusal(st)) continue;
        TRY(st);
        TRY(time_product(op, x, y, params->measure_seconds / count, &seconds));
        if (seconds < *best_seconds) {
            *best_seconds = seconds;
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

kry_status kryi_matrix_of_given(kry_device *dev, kryi_given *given, const kry_matrix_params *params,
                                kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    double seconds[KRY_FORMAT_COUNT], measured;
    uint64_t hash = 0;
    char name[64], value[160];
    kry_matrix_params kept = *KRY_MATRIX(.traits = 0);

    *op = NULL;
    if (params->format != KRY_FORMAT_AUTO)
        return build(dev, given, params, params->format, NULL, op);
    const bool measures = params->measure_seconds > 0 && host->rows > 0 && host->cols > 0;
    const bool keeps = measures || kryi_tuning_has(dev, "format/"); /* decisions */
    TRY(kryi_predict(dev, given, params, seconds, keeps ? &hash : NULL));
    snprintf(name, sizeof name, "format/%016llx", (unsigned long long)hash);
    st = KRY_ERR_UNSUPPORTED;
    if (keeps && kryi_tuning_get(dev, name, value, sizeof value)) {
        value[strcspn(value, " ")] = 0;
        if (kry_format_parse(value, &kept) == KRY_OK && kept.format != KRY_FORMAT_AUTO)
            st = build(dev, given, params, kept.format, "kept", op);
    }
    if (!is_refusal(st)) goto done;
    if (measures) {
        TRY(measure(dev, given, params, seconds, op, &measured));
        kryi_print(value, sizeof value, "%s %.3g s %lld-by-%lld nnz %lld",
                   kry_format_name(kryi_matrix_of(*op)->params.format), measured,
                   (long long)host->rows, (long long)host->cols, (long long)kryi_csr_nnz(host));
        kryi_tuning_set(dev, name, value);
        goto done;
    }
    for (kry_format f; is_refusal(st) && (f = take_fastest(seconds)) != KRY_FORMAT_AUTO;)
        st = build(dev, given, params, f, "predicted", op); /* csr takes any */
done:
    return st;
}

kry_status kryi_matrix_keep(kry_device *dev, kryi_given *G, kryi_csr *host,
                            const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_matrix *A;

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
    TRY(kryi_matrix_keep(dev, &G, host, params, op));
done:
    kryi_given_release(&G);
    return st;
}

kry_status kryi_matrix_create(kry_device *dev, const kryi_csr *A, const kry_matrix_params *params,
                              kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_entries e = { "kry_csr_create", *A, NULL, kryi_csr_nnz(A) };
    kryi_csr rows = { 0 };
    kryi_given G = { .who = e.who, .host = &rows };

    *op = NULL;
    TRY(kryi_entries_compress(&e, params, true, &rows, &G.map));
    TRY(kryi_numbers_check(e.who, rows.type, rows.val, kryi_csr_nnz(&rows), &G.seen));
    TRY(kryi_matrix_keep(dev, &G, &rows, params, op));
done:
    kryi_given_release(&G);
    kryi_entries_release(&e, &rows);
    return st;
}

/* ---- another format ------------------------------------------------------------------------------- */

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
    /* Entries that share a slot get one each if the library chose the format because the numbers were symmetric, which nobody
     * promised. */
    const unsigned promises = KRY_SYMMETRIC | KRY_POSITIVE | KRY_SINGULAR;
    const bool may_change = A->format->shared && A->format_is_free && !(A->shape.traits & promises);

    if (refusal != KRY_ERR_ARGUMENT || !may_change) return refusal;
    p.format = KRY_FORMAT_AUTO, p.measure_seconds = 0;
    p.storage = KRY_GENERAL, p.duplicates = KRY_REFUSE;
    if (placed) {
        TRY(kryi_matrix_download(A, &rows));
        free(rows.val);
    }
    rows.val = (void *)sorted;
    if (placed) TRY(kryi_given_upload(A->dev, &(kryi_entries){ who, rows, NULL, A->nnz }, &p, &G));
    if (!G.C.dev) TRY(kryi_given_inspect(&G, true, kryi_diagonals_of_use(&rows)));
    if (G.seen.symmetric) {
        st = refusal;
        goto done;
    }
    G.host = &rows;
    TRY(kryi_matrix_of_given(A->dev, &G, &p, &op));
    kryi_matrix_exchange(A, kryi_matrix_of(op));
    if (placed) A->op->found = G.finding;
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

/* ---- in another type -------------------------------------------------------------------------- */

/* out := factor s_i s_j a_ij in another type. Entries off the diagonal may underflow to 0; numbers that
 * are too large and diagonal entries that underflow are refused. */
static kry_status convert(const kryi_csr *A, kry_type type, double factor, const double *scale,
                          void *out)
{
    kry_status st = KRY_OK;
    static const char who[] = "kry_op_convert";

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            double given = kryi_number_at(A->type, A->val, k);
            double v = factor * (scale ? scale[i] * (given * scale[A->col[k]]) : given);
            bool lost = type == KRY_F32 && A->col[k] == i && given != 0 && fabs(v) < FLT_MIN;
            kryi_number_put(type, out, k, v);
            CHECK(isfinite(kryi_number_at(type, out, k)) && !lost, KRY_ERR_UNSUPPORTED,
                  "%s: entry (%lld, %lld) is %g, %g with its scaling: too %s for %s precision", who,
                  (long long)i, (long long)A->col[k], given, v, lost ? "small" : "large",
                  kry_type_name(type));
        }
done:
    return st;
}

kry_status kryi_matrix_convert(void *self, kry_type type, double factor, const double *scale,
                               kry_op **copy)
{
    kryi_matrix *A = self;
    kry_status st = KRY_OK;
    kry_device *dev = kryi_device_for_copies(A->dev);
    kry_matrix_params p = A->params;
    kryi_csr host = { 0 };
    void *val = NULL;

    CHECK(!scale || (A->shape.rows == A->shape.cols && p.form != KRY_FLUX), KRY_ERR_UNSUPPORTED,
          "kry_op_convert: a matrix in flux form, or one that is not square, is not scaled by a "
          "diagonal");
    TRY(kryi_matrix_download(A, &host));
    TRY(kryi_alloc((size_t)host.row_ptr[host.rows], kry_type_size(type), &val));
    TRY(convert(&host, type, factor, scale, val));
    p.storage = KRY_GENERAL, p.duplicates = KRY_SUM; /* a wrapped matrix may have some */
    if (*copy)
        TRY(kry_op_update(*copy, val));
    else
        TRY(kryi_matrix_create(
            dev, &(kryi_csr){ host.rows, host.cols, type, host.row_ptr, host.col, val }, &p, copy));
    kryi_matrix_of(*copy)->format_is_free |= A->format_is_free;
    TRY(kryi_matrix_convert_surplus(A, factor, kryi_matrix_of(*copy)));
done:
    free(val);
    kryi_csr_release(&host);
    return st;
}
