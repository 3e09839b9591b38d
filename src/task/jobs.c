/* jobs.c - ready-made jobs: how they are submitted, and those on vectors. */
#include "operator/op_parts.h"
#include "task/task.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- submitting ---- */

static kry_status run_work(void *user, kry_task *self)
{
    kry_work *work = user;
    return work->run(work, self);
}

static void destroy_work(void *user)
{
    kry_work *work = user;
    if (work->destroy) work->destroy(work);
    free(work);
}

kry_status kry_work_submit(const char *who, kry_queue *queue, const kry_work *work,
                           const kry_work_inputs *given, kry_task **task)
{
    kry_status st = KRY_OK;
    kry_work *w = NULL;
    kry_task *inputs[KRY_WORK_INPUTS];
    int count = 0;

    if (task) *task = NULL;
    CHECK(queue, KRY_ERR_ARGUMENT, "%s: NULL queue", who);
    CHECK(queue->device || given->host_too, KRY_ERR_ARGUMENT,
          "%s: the queue '%s' is the host's, and this needs a device", who, queue->name);
    for (int i = 0; i < given->needed; i++)
        CHECK(given->task[i], KRY_ERR_ARGUMENT, "%s: input %d is NULL", who, i);
    TRY(kry_alloc(1, sizeof *w + given->size, &w));
    *w = *work;
    if (given->size) memcpy(w->text, given->text, given->size);
    for (int i = 0; i < KRY_WORK_INPUTS; i++) {
        w->at[i] = given->task[i] ? count : -1;
        if (given->task[i]) inputs[count++] = given->task[i];
    }
    TRY(kry_task_submit(queue,
                        KRY_JOB(.name = who + strlen("kry_task_"), .run = run_work,
                                .destroy = destroy_work, .user = w),
                        inputs, count, task));
    w = NULL;
done:
    free(w);
    return st;
}

kry_status kry_work_input(const kry_work *work, kry_task *self, int i, kry_vec **vec)
{
    *vec = NULL;
    return work->at[i] < 0 ? KRY_OK : kry_task_input_vec(self, work->at[i], vec);
}

kry_status kry_work_vec(kry_task *self, kry_type type, int64_t n, int64_t k, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_work_device(self);
    cl_mem buffer = NULL;

    *vec = NULL;
    if (dev->team || n <= 0 || k <= 0 || k > INT64_MAX / 16 / n)
        return kry_vec_create(dev, type, n, k, vec);
    TRY(kry_type_check(kry_task_name(self), dev, type));
    TRY(kry_buffer_create(dev, (size_t)(n * k) * kry_type_size(type), &buffer));
    TRY(kry_vec_wrap(dev, type, n, k, buffer, 0, vec));
done:
    if (buffer) dev->driver->drop(buffer); /* the vector has its own reference */
    return st;
}

kry_status kry_work_give(kry_task *self, kry_status st, kry_vec **v)
{
    if (st >= 0) kry_task_set_vec(self, *v);
    kry_vec_release(v);
    return st;
}

/* ---- between host and device ---- */

static kry_status run_write(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    const kry_host_block *b = &work->block;
    kry_vec *v = NULL;

    TRY(kry_work_vec(self, b->type, b->n, b->k, &v));
    TRY(kry_vec_write(v, b->numbers));
done:
    return kry_work_give(self, st, &v);
}

static void release_block(kry_work *work)
{
    if (work->block.release) work->block.release(work->block.user);
}

kry_status kry_task_write(kry_queue *queue, const kry_host_block *from, kry_task **task)
{
    kry_status st = KRY_OK;

    if (task) *task = NULL;
    CHECK(from, KRY_ERR_ARGUMENT, "kry_task_write: NULL");
    CHECK(from->struct_size == sizeof *from, KRY_ERR_ARGUMENT,
          "kry_task_write: a block of %zu bytes where %zu are expected: start from KRY_HOST",
          from->struct_size, sizeof *from);
    CHECK(from->type == KRY_F32 || from->type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_task_write: %d is not a number type", (int)from->type);
    CHECK(from->n >= 0 && from->k >= 0 && (from->numbers || from->n == 0), KRY_ERR_ARGUMENT,
          from->numbers ? "kry_task_write: %lld-by-%lld is not a size"
                        : "kry_task_write: no numbers for %lld-by-%lld",
          (long long)from->n, (long long)from->k);
    kry_work work = { .run = run_write, .destroy = release_block, .block = *from };
    if (work.block.k == 0) work.block.k = 1;
    TRY(kry_work_submit("kry_task_write", queue, &work,
                        &(kry_work_inputs){ .task = { from->after } }, task));
done:
    return st;
}

/* Not through kry_task_input_vec: x need not be on this device. */
static kry_status run_read(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    const kry_task *from = self->input[0].from;

    CHECK(from->vec, KRY_ERR_TYPE, "'%s' wants a vector as input 0, but '%s' gives none",
          self->name, from->name);
    TRY(kry_vec_read(from->vec, work->host));
    kry_task_set_vec(self, from->vec);
done:
    return st;
}

kry_status kry_task_read(kry_queue *queue, kry_task *x, void *host, kry_task **task)
{
    return kry_work_submit("kry_task_read", queue, &(kry_work){ .run = run_read, .host = host },
                           &(kry_work_inputs){ .task = { x }, .needed = 1, .host_too = true },
                           task);
}

static kry_status run_copy(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *x, *v = NULL;

    TRY(kry_work_input(work, self, 0, &x));
    assert(x); /* it is needed, and there */
    if (x == self->input[0].from->vec) {
        TRY(kry_work_vec(self, x->type, x->n, x->k, &v));
        TRY(kry_vec_copy(x, v));
    } else {
        v = kry_vec_retain(x); /* a copy as it is */
    }
done:
    return kry_work_give(self, st, &v);
}

kry_status kry_task_copy(kry_queue *queue, kry_task *x, kry_task **task)
{
    return kry_work_submit("kry_task_copy", queue, &(kry_work){ .run = run_copy },
                           &(kry_work_inputs){ .task = { x }, .needed = 1 }, task);
}

/* ---- arithmetic ---- */

static kry_status run_axpby(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *x, *y, *v = NULL;

    TRY(kry_work_input(work, self, 0, &x));
    TRY(kry_work_input(work, self, 1, &y));
    assert(x);
    TRY(kry_work_vec(self, x->type, x->n, x->k, &v));
    if (y) TRY(kry_vec_copy(y, v));
    TRY(kry_vec_axpby(work->alpha, x, y ? work->beta : 0, v));
done:
    return kry_work_give(self, st, &v);
}

kry_status kry_task_axpby(kry_queue *queue, double alpha, kry_task *x, double beta, kry_task *y,
                          kry_task **task)
{
    return kry_work_submit("kry_task_axpby", queue,
                           &(kry_work){ .run = run_axpby, .alpha = alpha, .beta = beta },
                           &(kry_work_inputs){ .task = { x, y }, .needed = 1 }, task);
}

static kry_status run_norm2(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *x;
    double number;

    TRY(kry_work_input(work, self, 0, &x));
    TRY(kry_vec_norm2(x, &number));
    kry_task_set_number(self, number);
done:
    return st;
}

kry_status kry_task_norm2(kry_queue *queue, kry_task *x, kry_task **task)
{
    return kry_work_submit("kry_task_norm2", queue, &(kry_work){ .run = run_norm2 },
                           &(kry_work_inputs){ .task = { x }, .needed = 1 }, task);
}
