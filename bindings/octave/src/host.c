/*
 * host.c - numbers of Octave to the device and back. Sparse matrices are kept by columns there, by
 * rows here.
 */
#include "launch.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

kry_status vec_of(kry_device *device, kry_type type, int64_t m, int64_t n, kry_vec **vec)
{
    kry_status st = KRY_OK;
    bool empty = m == 0 || n == 0;

    TRY(keep_pace());
    TRY(kry_vec_create(device, type, empty ? 0 : m, empty ? 1 : n, vec));
done:
    return st;
}

kry_status check_type(kry_type type)
{
    kry_status st = KRY_OK;
    kry_queue *queue;

    TRY(the_queue(&queue));
    const kry_device_info *info = kry_device_get_info(the_device());
    CHECK(type == KRY_F32 || info->fp64, KRY_ERR_UNSUPPORTED,
          "gpuMatrix: %s has no double precision: gpuMatrix (..., 'single') works there",
          info->name);
done:
    return st;
}

static kry_type type_of(const mxArray *a) { return mxIsSingle(a) ? KRY_F32 : KRY_F64; }

static void convert_numbers(const void *from, kry_type from_type, int64_t n, kry_type type,
                            void *to)
{
    if (type == from_type)
        memcpy(to, from, (size_t)n * kry_type_size(type));
    else if (type == KRY_F32)
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] = (float)((const double *)from)[i];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const float *)from)[i];
}

/* Copies on their way to the device: their bytes, and in front of each how many it has. */
static atomic_llong staged;
typedef union stage_head {
    int64_t bytes;
    char line[64];
} stage_head;

static void stage_release(void *user)
{
    stage_head *head = user;
    atomic_fetch_sub(&staged, head->bytes);
    free(head);
}

static kry_status stage(const mxArray *a, kry_type type, stage_head **head)
{
    kry_status st = KRY_OK;
    int64_t n = (int64_t)mxGetNumberOfElements(a);
    int64_t bytes = n * (int64_t)kry_type_size(type);

    *head = malloc(sizeof **head + (size_t)bytes);
    CHECK(*head, KRY_ERR_MEMORY, "gpuMatrix: no memory on the host for %lld numbers", (long long)n);
    (*head)->bytes = bytes;
    atomic_fetch_add(&staged, bytes);
    convert_numbers(mxGetData(a), type_of(a), n, type, *head + 1);
done:
    return st;
}

kry_status dense_write(const mxArray *a, kry_type type, kry_task **task)
{
    kry_status st = KRY_OK;
    int64_t m = (int64_t)mxGetM(a), n = (int64_t)mxGetN(a);
    const int64_t most = (int64_t)1 << 30; /* bytes on their way before the caller has to wait */
    stage_head *head = NULL;
    kry_queue *queue;

    *task = NULL;
    TRY(check_type(type));
    TRY(the_queue(&queue));
    TRY(stage(a, type, &head));
    bool empty = m * n == 0;
    TRY(kry_task_write(queue,
                       KRY_HOST(.type = type, .n = empty ? 0 : m, .k = empty ? 1 : n,
                                .numbers = head + 1, .release = stage_release, .user = head),
                       task));
    head = NULL;
    if (atomic_load(&staged) > most) TRY(wait_for(*task));
done:
    if (head) stage_release(head);
    if (st < 0) kry_task_release(task);
    return st;
}

/* ---- sparse ---- */

/* Compressed lines of a matrix: rows, or columns. */
typedef struct lines {
    int64_t count;
    int64_t *ptr; /* count+1 */
    int32_t *at;
    void *val;
    kry_type type;
    int64_t across; /* how long a line is */
    unsigned traits;
} lines;

static void lines_release(lines *l)
{
    free(l->ptr);
    free(l->at);
    free(l->val);
    *l = (lines){ 0 };
}

static kry_status lines_create(int64_t count, int64_t across, int64_t nnz, kry_type type, lines *l)
{
    kry_status st = KRY_OK;

    *l = (lines){ .count = count, .across = across, .type = type };
    l->ptr = calloc((size_t)count + 1, sizeof *l->ptr);
    l->at = malloc(((size_t)nnz + 1) * sizeof *l->at);
    l->val = malloc(((size_t)nnz + 1) * kry_type_size(type));
    CHECK(l->ptr && l->at && l->val, KRY_ERR_MEMORY,
          "gpuMatrix: no memory on the host for %lld entries", (long long)nnz);
done:
    if (st < 0) lines_release(l);
    return st;
}

/* The same entries by the other kind of lines, in order. */
static kry_status lines_turn(const lines *from, lines *to)
{
    kry_status st = KRY_OK;
    int64_t nnz = from->ptr[from->count], *next = NULL;
    size_t size = kry_type_size(from->type);

    TRY(lines_create(from->across, from->count, nnz, from->type, to));
    next = malloc(((size_t)to->count + 1) * sizeof *next);
    CHECK(next, KRY_ERR_MEMORY, "gpuMatrix: no memory on the host");
    for (int64_t k = 0; k < nnz; k++) to->ptr[from->at[k] + 1]++;
    for (int64_t i = 0; i < to->count; i++) to->ptr[i + 1] += to->ptr[i];
    memcpy(next, to->ptr, ((size_t)to->count + 1) * sizeof *next);
    for (int64_t j = 0; j < from->count; j++)
        for (int64_t k = from->ptr[j]; k < from->ptr[j + 1]; k++) {
            int64_t p = next[from->at[k]]++;
            to->at[p] = (int32_t)j;
            memcpy((char *)to->val + (size_t)p * size, (char *)from->val + (size_t)k * size, size);
        }
done:
    free(next);
    if (st < 0) lines_release(to);
    return st;
}

static bool lines_equal(const lines *a, const lines *b)
{
    size_t nnz = (size_t)a->ptr[a->count];
    return a->count == b->count &&
           !memcmp(a->ptr, b->ptr, (size_t)(a->count + 1) * sizeof *a->ptr) &&
           !memcmp(a->at, b->at, nnz * sizeof *a->at) &&
           !memcmp(a->val, b->val, nnz * kry_type_size(a->type));
}

static double lines_number(const lines *l, int64_t k)
{
    return l->type == KRY_F32 ? ((const float *)l->val)[k] : ((const double *)l->val)[k];
}

/* What later choices are made by. */
static void lines_describe(const lines *rows, shape *s)
{
    int64_t positive = 0;

    s->tridiagonal = rows->count == rows->across;
    for (int64_t i = 0; i < rows->count; i++)
        for (int64_t k = rows->ptr[i]; k < rows->ptr[i + 1]; k++) {
            if (llabs((long long)(rows->at[k] - i)) > 1) s->tridiagonal = false;
            if (rows->at[k] == i && lines_number(rows, k) > 0) positive++;
        }
    s->positive_diagonal = rows->count == rows->across && positive == rows->count;
}

static kry_status lines_of_host(const mxArray *a, kry_type type, lines *columns)
{
    kry_status st = KRY_OK;
    int64_t m = (int64_t)mxGetM(a), n = (int64_t)mxGetN(a);
    const mwIndex *jc = mxGetJc(a), *ir = mxGetIr(a);
    int64_t nnz = (int64_t)jc[n];

    CHECK(m < INT32_MAX && n < INT32_MAX, KRY_ERR_SHAPE,
          "gpuMatrix: a sparse matrix of %lld by %lld is too large", (long long)m, (long long)n);
    TRY(lines_create(n, m, nnz, type, columns));
    convert_numbers(mxGetData(a), type_of(a), nnz, type, columns->val);
    for (int64_t j = 0; j <= n; j++) columns->ptr[j] = (int64_t)jc[j];
    for (int64_t k = 0; k < nnz; k++) columns->at[k] = (int32_t)ir[k];
    for (int64_t k = 0, j = 0; k < nnz; k++) {
        while (columns->ptr[j + 1] <= k) j++;
        if (!isfinite(lines_number(columns, k))) {
            st = fail_as("kry:nan", KRY_ERR_ARGUMENT,
                         "gpuMatrix: entry (%lld,%lld) of the sparse matrix is not finite",
                         (long long)columns->at[k] + 1, (long long)j + 1);
            break;
        }
    }
done:
    if (st < 0) lines_release(columns);
    return st;
}

static kry_status run_matrix(void *params, kry_task *self)
{
    const lines *rows = params;
    kry_status st = KRY_OK;
    kry_op *A = NULL;

    TRY(kry_csr_create(the_device(), rows->type, rows->count, rows->across, rows->ptr, rows->at,
                       rows->val, KRY_MATRIX(.traits = rows->traits), &A));
    kry_task_set_op(self, A);
done:
    kry_op_release(&A);
    return st;
}

static void destroy_matrix(void *params)
{
    lines_release(params);
    free(params);
}

kry_status sparse_write(const mxArray *a, kry_type type, shape *s, kry_task **task)
{
    kry_status st = KRY_OK;
    lines columns = { 0 }, rows = { 0 };

    *task = NULL;
    TRY(check_type(type));
    TRY(lines_of_host(a, type, &columns));
    TRY(lines_turn(&columns, &rows));
    *s = (shape){ .kind = SPARSE,
                  .type = type,
                  .rows = rows.count,
                  .cols = rows.across,
                  .nnz = rows.ptr[rows.count],
                  .symmetric = lines_equal(&rows, &columns) };
    lines_describe(&rows, s);
    rows.traits = s->symmetric ? KRY_SYMMETRIC : 0;
    TRY(submit_owning("sparse matrix", run_matrix, &rows, sizeof rows, destroy_matrix, NULL, 0,
                      task));
    rows = (lines){ 0 };
done:
    lines_release(&rows);
    lines_release(&columns);
    return st;
}

/* kry_mex ('put', a, type): type "single", "double" or "": as it is */
kry_status command_put(call *c)
{
    kry_status st = KRY_OK;
    char word[16] = "";
    kry_task *task = NULL;
    operand o = { 0 };

    TRY(take_count(c, 1, 2));
    if (c->in_count > 1) TRY(take_text(c->in[1], "gpuMatrix: the type", word, sizeof word));
    TRY(check_host(c->in[0], "gpuMatrix"));
    TRY(operand_look(c->in[0], &o));
    kry_type type = *word == 's' ? KRY_F32 : *word == 'd' ? KRY_F64 : o.shape.type;
    o.shape.type = type;
    TRY(o.shape.kind == SPARSE ? sparse_write(c->in[0], type, &o.shape, &task)
                               : dense_write(c->in[0], type, &task));
    TRY(value_keep(&o.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

/* ---- and back ---- */

typedef struct read_params {
    void *numbers;
    lines *rows; /* of a sparse one */
} read_params;

static kry_status run_read(void *params, kry_task *self)
{
    const read_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *x;
    kry_op *A;

    if (p->rows) {
        TRY(kry_task_input_op(self, 0, &A));
        TRY(kry_matrix_read(A, p->rows->ptr, p->rows->at, p->rows->val));
    } else {
        TRY(kry_task_input_vec(self, 0, &x));
        TRY(kry_vec_read(x, p->numbers));
    }
done:
    return st;
}

kry_status dense_read(kry_task *x, const shape *s, mxArray **a)
{
    kry_status st = KRY_OK;
    kry_task *read = NULL;

    *a = mxCreateNumericMatrix((mwSize)s->rows, (mwSize)s->cols,
                               s->type == KRY_F32 ? mxSINGLE_CLASS : mxDOUBLE_CLASS, mxREAL);
    read_params p = { .numbers = mxGetData(*a) };
    TRY(submit("gather", run_read, &p, sizeof p, &x, 1, &read));
    TRY(wait_for(read));
done:
    kry_task_release(&read);
    if (st < 0) {
        mxDestroyArray(*a);
        *a = NULL;
    }
    return st;
}

/* Octave has sparse matrices in double only. */
static mxArray *sparse_of(const lines *columns)
{
    int64_t nnz = columns->ptr[columns->count];
    mxArray *a = mxCreateSparse((mwSize)columns->across, (mwSize)columns->count,
                                (mwSize)(nnz ? nnz : 1), mxREAL);

    for (int64_t j = 0; j <= columns->count; j++) mxGetJc(a)[j] = (mwIndex)columns->ptr[j];
    for (int64_t k = 0; k < nnz; k++) {
        mxGetIr(a)[k] = (mwIndex)columns->at[k];
        mxGetPr(a)[k] = lines_number(columns, k);
    }
    return a;
}

static kry_status sparse_read(kry_task *A, const shape *s, mxArray **a)
{
    kry_status st = KRY_OK;
    lines rows = { 0 }, columns = { 0 };
    kry_task *read = NULL;

    TRY(lines_create(s->rows, s->cols, s->nnz, s->type, &rows));
    read_params p = { .rows = &rows };
    TRY(submit("gather", run_read, &p, sizeof p, &A, 1, &read));
    TRY(wait_for(read));
    TRY(lines_turn(&rows, &columns));
    *a = sparse_of(&columns);
done:
    kry_task_release(&read);
    lines_release(&columns);
    lines_release(&rows);
    return st;
}

/* kry_mex ('get', h) */
kry_status command_get(call *c)
{
    kry_status st = KRY_OK;
    operand o = { 0 };

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &o));
    CHECK(o.task, KRY_ERR_TYPE, "gather: not a gpuMatrix");
    TRY(o.shape.kind == SPARSE ? sparse_read(o.task, &o.shape, &c->out[0])
                               : dense_read(o.task, &o.shape, &c->out[0]));
done:
    operand_drop(&o);
    return st;
}

/* kry_mex ('convert', h, "single" or "double"); 0: by the host */
kry_status command_convert(call *c)
{
    kry_status st = KRY_OK;
    operand o = { 0 };
    char word[16];

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &o));
    TRY(take_text(c->in[1], "gpuMatrix: the type", word, sizeof word));
    if (o.shape.kind == SPARSE) {
        c->out[0] = mxCreateDoubleScalar(0);
        goto done;
    }
    TRY(operand_load(&o, *word == 's' ? KRY_F32 : KRY_F64));
    TRY(value_keep(&o.shape, &o.task, &c->out[0]));
done:
    operand_drop(&o);
    return st;
}
