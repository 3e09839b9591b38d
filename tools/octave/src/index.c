/*
 * index.c - A(i,j), A(k) and diagonals: what is asked for, checked on the host, and picked on the
 * device.
 */
#include "kry_mex.h"
#include <math.h>
#include <stdlib.h>

typedef struct index_params {
    kry_type type;
    int64_t rows; /* of the matrix, as it is looked at */
    int64_t m, n; /* of the result */
    picks i, j;
} index_params;

static void index_release(index_params *p)
{
    free(p->i.list);
    free(p->j.list);
}

static void destroy_index(void *params)
{
    index_release(params);
    free(params);
}

static kry_status run_index(void *params, kry_task *self)
{
    const index_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *x, *z = NULL;

    TRY(kry_task_input_vec(self, 0, &x));
    TRY(vec_of(the_device(), p->type, p->m, p->n, &z));
    TRY(pick_elements(x, p->rows, &p->i, &p->j, z));
    kry_task_set_vec(self, z);
done:
    kry_vec_release(&z);
    return st;
}

/* ---- what is asked for ---- */

static kry_status out_of_range(double index, int64_t size)
{
    return fail_as("kry:index", KRY_ERR_ARGUMENT, "gpuMatrix: index %g is out of bound %lld", index,
                   (long long)size);
}

static kry_status picks_of_mask(const mxArray *a, int64_t size, picks *p)
{
    kry_status st = KRY_OK;
    const mxLogical *mask = mxGetLogicals(a);
    int64_t n = (int64_t)mxGetNumberOfElements(a);

    for (int64_t k = 0; k < n; k++) p->count += mask[k] ? 1 : 0;
    p->list = malloc(((size_t)p->count + 1) * sizeof *p->list);
    CHECK(p->list, KRY_ERR_MEMORY, "gpuMatrix: no memory for %lld indices", (long long)p->count);
    for (int64_t k = 0, to = 0; k < n; k++) {
        if (!mask[k]) continue;
        if (k >= size) return out_of_range((double)k + 1, size);
        p->list[to++] = k;
    }
done:
    return st;
}

/* Ranges need no list. */
static bool is_range(const double *at, int64_t n, picks *p)
{
    double step = n > 1 ? at[1] - at[0] : 1;
    for (int64_t k = 1; k < n; k++)
        if (at[k] != at[0] + (double)k * step) return false;
    p->start = n ? (int64_t)at[0] - 1 : 0;
    p->step = (int64_t)step;
    return true;
}

static kry_status picks_of_numbers(const mxArray *a, int64_t size, picks *p)
{
    kry_status st = KRY_OK;
    const double *at = mxGetPr(a);

    p->count = (int64_t)mxGetNumberOfElements(a);
    for (int64_t k = 0; k < p->count; k++) {
        if (!(at[k] >= 1) || at[k] != floor(at[k]))
            return fail_as("kry:index", KRY_ERR_ARGUMENT,
                           "gpuMatrix: index %g is not a whole number from 1 on", at[k]);
        if (at[k] > (double)size) return out_of_range(at[k], size);
    }
    if (is_range(at, p->count, p)) return KRY_OK;
    p->list = malloc((size_t)p->count * sizeof *p->list);
    CHECK(p->list, KRY_ERR_MEMORY, "gpuMatrix: no memory for %lld indices", (long long)p->count);
    for (int64_t k = 0; k < p->count; k++) p->list[k] = (int64_t)at[k] - 1;
done:
    return st;
}

static bool is_colon(const mxArray *a)
{
    char text[4] = "";
    return mxIsChar(a) && mxGetNumberOfElements(a) == 1 && !mxGetString(a, text, sizeof text) &&
           text[0] == ':';
}

static kry_status take_picks(const mxArray *a, int64_t size, picks *p)
{
    *p = (picks){ .count = 0, .start = 0, .step = 1 };
    if (is_colon(a)) return p->count = size, KRY_OK;
    if (mxIsLogical(a) && !mxIsSparse(a)) return picks_of_mask(a, size, p);
    if (mxIsDouble(a) && !mxIsSparse(a) && !mxIsComplex(a)) return picks_of_numbers(a, size, p);
    return fail_as("kry:index", KRY_ERR_TYPE,
                   "gpuMatrix: an index must be ':', logical or double, not %s", mxGetClassName(a));
}

/* The shape of A(k): that of k; but A(:) is a column, and a vector at a vector keeps its direction.
 */
static void linear_shape(const mxArray *k, const shape *s, int64_t count, index_params *p)
{
    int64_t rows = (int64_t)mxGetM(k), cols = (int64_t)mxGetN(k);
    bool list = rows == 1 || cols == 1, vector = (s->rows == 1) != (s->cols == 1);

    if (is_colon(k)) {
        p->m = count, p->n = 1;
    } else if (list && vector) {
        p->m = s->rows == 1 ? 1 : count, p->n = s->rows == 1 ? count : 1;
    } else if (mxIsLogical(k)) {
        p->m = rows == 1 ? 1 : count, p->n = rows == 1 ? count : 1;
    } else {
        p->m = rows, p->n = cols;
    }
}

static kry_status submit_index(call *c, operand *x, index_params *p)
{
    kry_status st = KRY_OK;
    kry_task *task = NULL;
    shape s = { .kind = DENSE, .type = p->type, .rows = p->m, .cols = p->n };

    TRY(submit_owning("index", run_index, p, sizeof *p, destroy_index, &x->task, 1, &task));
    *p = (index_params){ 0 };
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

/* kry_mex ('index', h, k), kry_mex ('index', h, i, j); 0: by the host */
kry_status command_index(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    index_params p = { 0 };

    TRY(take_count(c, 2, 3));
    TRY(operand_look(c->in[0], &x));
    if (x.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    p.type = x.shape.type;
    if (c->in_count == 2) {
        p.rows = x.shape.rows * x.shape.cols;
        TRY(take_picks(c->in[1], p.rows, &p.i));
        p.j = (picks){ .count = 1 };
        linear_shape(c->in[1], &x.shape, p.i.count, &p);
    } else {
        p.rows = x.shape.rows;
        TRY(take_picks(c->in[1], x.shape.rows, &p.i));
        TRY(take_picks(c->in[2], x.shape.cols, &p.j));
        p.m = p.i.count, p.n = p.j.count;
    }
    TRY(submit_index(c, &x, &p));
done:
    index_release(&p);
    operand_drop(&x);
    return st;
}

/* kry_mex ('diag', h, k): a diagonal of a matrix as a column; 0: by the host */
kry_status command_diag(call *c)
{
    kry_status st = KRY_OK;
    operand x = { 0 };
    index_params p = { 0 };
    double k;

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &x));
    TRY(take_number(c->in[1], "diag: which diagonal", &k));
    const shape *s = &x.shape;
    if (s->kind == SPARSE || s->rows == 1 || s->cols == 1) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    int64_t below = k < 0 ? (int64_t)-k : 0, right = k > 0 ? (int64_t)k : 0;
    int64_t down = s->rows - below, across = s->cols - right;
    int64_t count = down < across ? down : across;
    p = (index_params){ .type = s->type,
                        .rows = s->rows * s->cols,
                        .m = count > 0 ? count : 0,
                        .n = 1,
                        .i = { count > 0 ? count : 0, right * s->rows + below, s->rows + 1, NULL },
                        .j = { 1, 0, 0, NULL } };
    TRY(submit_index(c, &x, &p));
done:
    index_release(&p);
    operand_drop(&x);
    return st;
}
