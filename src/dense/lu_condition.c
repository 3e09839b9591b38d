/* lu_condition.c - an estimate of the condition of a dense matrix, from its factors. */
#include "dense/lu.h"
#include <math.h>
#include <stdlib.h>

typedef struct estimate {
    const kry_lu *lu;
    kry_vec *v;       /* n-by-1, owned */
    void *host;       /* the same, owned */
    double *x, *sign; /* n each, owned */
} estimate;

static void estimate_end(estimate *e)
{
    kry_vec_release(&e->v);
    free(e->host), free(e->x), free(e->sign);
}

static kry_status estimate_begin(estimate *e)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)e->lu->n;

    TRY(kry_alloc(n, kry_type_size(e->lu->F->type), &e->host));
    TRY(kry_alloc(n, sizeof(double), &e->x));
    TRY(kry_alloc(n, sizeof(double), &e->sign));
    TRY(kry_vec_create(e->lu->F->dev, e->lu->F->type, e->lu->n, 1, &e->v));
done:
    return st;
}

/* x := A^-1 from or A'^-1 from, and its 1-norm. */
static kry_status solve(estimate *e, bool transposed, const double *from, double *norm)
{
    kry_status st = KRY_OK;
    const kry_type type = e->lu->F->type;

    for (int64_t i = 0; i < e->lu->n; i++) kry_number_put(type, e->host, i, from[i]);
    TRY(kry_vec_write(e->v, e->host));
    TRY(kry_lu_run(e->lu, transposed, 1, e->v, e->lu->work, 0, e->v));
    TRY(kry_vec_read(e->v, e->host));
    *norm = 0;
    for (int64_t i = 0; i < e->lu->n; i++) {
        e->x[i] = kry_number_at(type, e->host, i);
        *norm += fabs(e->x[i]);
    }
done:
    return st;
}

/* Whether the signs of x are new; they are kept. */
static bool take_signs(estimate *e)
{
    bool fresh = false;
    for (int64_t i = 0; i < e->lu->n; i++) {
        double s = e->x[i] < 0 ? -1 : 1;
        fresh |= s != e->sign[i];
        e->sign[i] = s;
    }
    return fresh;
}

static int64_t largest(const double *x, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[at])) at = i;
    return at;
}

/* The 1-norm of A^-1, from below. */
static kry_status estimate_inverse(estimate *e, double *norm)
{
    enum { STEPS = 5 };
    kry_status st = KRY_OK;
    const int64_t n = e->lu->n;
    double now = 0, ignored;
    int64_t last = -1;

    for (int64_t i = 0; i < n; i++) e->x[i] = 1.0 / (double)n;
    TRY(solve(e, false, e->x, norm));
    for (int step = 1; step < STEPS && n > 1 && take_signs(e); step++) {
        TRY(solve(e, true, e->sign, &ignored));
        int64_t j = largest(e->x, n);
        if (j == last) break;
        last = j;
        for (int64_t i = 0; i < n; i++) e->x[i] = i == j;
        TRY(solve(e, false, e->x, &now));
        if (!(now > *norm)) break;
        *norm = now;
    }
    /* A second estimate, for matrices for which the iteration stops far too early. */
    for (int64_t i = 0; i < n && n > 1; i++)
        e->x[i] = (i % 2 ? -1 : 1) * (1 + (double)i / (double)(n - 1));
    if (n > 1) {
        TRY(solve(e, false, e->x, &now));
        *norm = fmax(*norm, 2 * now / (3 * (double)n));
    }
done:
    return st;
}

kry_status kry_lu_condition(const kry_op *op, double *reciprocal)
{
    kry_status st = KRY_OK;
    double inverse = 0;
    estimate e = { .lu = NULL };

    CHECK(reciprocal, KRY_ERR_ARGUMENT, "kry_lu_condition: NULL");
    *reciprocal = 0;
    TRY(kry_lu_get("kry_lu_condition", op, true, &e.lu));
    if (e.lu->smallest == 0) return KRY_OK;
    TRY(estimate_begin(&e));
    TRY(estimate_inverse(&e, &inverse));
    if (isfinite(inverse) && inverse > 0) *reciprocal = 1 / e.lu->norm / inverse;
done:
    estimate_end(&e);
    return st;
}
