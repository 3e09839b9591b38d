/*
 * choose.c - format AUTO takes the format that was fastest when such a matrix was measured on this
 * device before. If none was, it measures, if the caller asked for that, or else predicts.
 */
#include "matrix/given.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static kry_status build_one(kry_device *dev, const kry_given *given,
                            const kry_matrix_params *params, kry_format format, const char *chosen,
                            kry_op **op)
{
    kry_matrix_params p = *params;
    p.format = format;
    kry_status st = kry_matrix_in_format(dev, given, &p, op);
    if (st < 0) return st;
    kry_matrix_of(*op)->chosen = chosen;
    kry_matrix_of(*op)->format_is_free = true;
    return st;
}

/* Vectors for products; x has finite numbers that are not all equal. */
static kry_status trial_vectors(kry_device *dev, const kry_sparse *host, kry_vec **x, kry_vec **y)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;

    TRY(kry_alloc((size_t)host->cols, kry_type_size(host->type), &numbers));
    for (int64_t i = 0; i < host->cols; i++)
        kry_number_put(host->type, numbers, i, (double)(i * 7919 % 10007) / 10007.0);
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
    double start = kry_now();
    for (int i = 0; i < turns; i++) TRY(kry_op_apply(op, 1, x, 0, y));
    TRY(kry_device_finish(dev));
    *seconds = (kry_now() - start) / turns;
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
    double once, start = kry_now();
    int turns;

    TRY(time_batch(op, x, y, 2, &once)); /* the first one compiles */
    TRY(time_batch(op, x, y, 2, seconds));
    turns = *seconds > least_batch ? 1 : (int)(least_batch / *seconds) + 1;
    for (int i = 0; i < BATCHES && kry_now() - start < budget; i++) {
        TRY(time_batch(op, x, y, turns, &once));
        if (once < *seconds || i == 0) *seconds = once;
    }
done:
    return st;
}

/* Build and time the candidates, best first, until the time is up; keep the fastest. */
static kry_status measure(kry_device *dev, const kry_given *given, const kry_matrix_params *params,
                          candidate *c, int count, kry_op **best, candidate *winner)
{
    kry_status st = KRY_OK;
    static const double hopeless = 4; /* times the best prediction */
    double start = kry_now(), seconds;
    kry_vec *x = NULL, *y = NULL;
    kry_op *op = NULL;

    *winner = (candidate){ KRY_FORMAT_CSR, INFINITY };
    TRY(trial_vectors(dev, given->host, &x, &y));
    for (int i = 0; i < count && c[i].seconds < hopeless * c[0].seconds; i++) {
        if (*best && kry_now() - start > params->measure_seconds) break;
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

static void keep_decision(kry_device *dev, const char *name, const kry_sparse *host,
                          const candidate *winner)
{
    char value[VALUE];
    kry_print(value, sizeof value, "%s %.3g s %lld-by-%lld nnz %lld",
              kry_format_name(winner->format), winner->seconds, (long long)host->rows,
              (long long)host->cols, (long long)kry_sparse_nnz(host));
    kry_tuning_set(dev, name, value);
}

static kry_format kept_decision(kry_device *dev, const char *name)
{
    char value[VALUE];
    kry_matrix_params p = *KRY_MATRIX(.traits = 0);

    if (!kry_tuning_get(dev, name, value, sizeof value)) return KRY_FORMAT_AUTO;
    value[strcspn(value, " ")] = 0;
    return kry_format_parse(value, &p) == KRY_OK ? p.format : KRY_FORMAT_AUTO;
}

/* The first candidate that takes the matrix; csr takes any. */
static kry_status build_first(kry_device *dev, const kry_given *given,
                              const kry_matrix_params *params, const candidate *c, int count,
                              kry_op **op)
{
    kry_status st = KRY_ERR_UNSUPPORTED;
    for (int i = 0; i < count && is_refusal(st); i++)
        st = build_one(dev, given, params, c[i].format, "predicted", op);
    return st;
}

kry_status kry_choose(kry_device *dev, const kry_given *given, const kry_matrix_params *params,
                      kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_sparse *host = given->host;
    double seconds[KRY_FORMAT_COUNT];
    uint64_t hash;
    char name[NAME];
    candidate c[KRY_FORMAT_COUNT], winner;
    kry_format kept;
    int count;

    *op = NULL;
    TRY(kry_predict(dev, given, params, seconds, &hash));
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
