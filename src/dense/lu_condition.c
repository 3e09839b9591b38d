/* lu_condition.c - an estimate of the condition of a dense matrix, from its factors. */
#include "dense/lu.h"
#include "sparse/sparse.h"
#include <math.h>
#include <stdlib.h>

typedef struct estimate {
    const kry_lu *lu;
    kry_vec *v; /* n-by-1, owned */
    void *host; /* n numbers of its type, owned */
} estimate;

static kry_status solve(void *user, double *x, bool transposed)
{
    kry_status st = KRY_OK;
    estimate *e = user;
    const kry_type type = e->lu->F->type;

    for (int64_t i = 0; i < e->lu->n; i++) kry_number_put(type, e->host, i, x[i]);
    TRY(kry_vec_write(e->v, e->host));
    TRY(kry_lu_run(e->lu, transposed, 1, e->v, e->lu->work, 0, e->v));
    TRY(kry_vec_read(e->v, e->host));
    for (int64_t i = 0; i < e->lu->n; i++) x[i] = kry_number_at(type, e->host, i);
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
    TRY(kry_alloc((size_t)e.lu->n, kry_type_size(e.lu->F->type), &e.host));
    TRY(kry_vec_create(e.lu->F->dev, e.lu->F->type, e.lu->n, 1, &e.v));
    TRY(kry_inverse_norm(e.lu->n, solve, &e, &inverse));
    if (isfinite(inverse) && inverse > 0) *reciprocal = 1 / e.lu->norm / inverse;
done:
    kry_vec_release(&e.v);
    free(e.host);
    return st;
}
