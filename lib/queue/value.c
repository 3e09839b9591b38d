/* value.c - the value of a task, and the values of its inputs. */
#include "task.h"
#include <stdlib.h>

/* A solve that was stopped has its last iterate. */
static bool has_value(const kry_task *t)
{
    if (!t) return false;
    kry_task_phase phase = kry_task_state(t);
    return phase == KRY_TASK_DONE || (phase == KRY_TASK_CANCELLED && t->out.status > 0);
}

kry_vec *kry_task_vec(const kry_task *t) { return has_value(t) ? t->out.vec : NULL; }
kry_op *kry_task_op(const kry_task *t) { return has_value(t) ? t->out.op : NULL; }
const kry_result *kry_task_result(const kry_task *t) { return has_value(t) ? t->out.result : NULL; }

kry_status kry_task_number(kry_task *t, double *number)
{
    kry_status st = KRY_OK;

    NOT_NULL(t);
    NOT_NULL(number);
    *number = 0;
    TRY(kry_task_wait(t));
    CHECK(t->out.has_number, KRY_ERR_TYPE, "kry_task_number: '%s' gives no number", t->name);
    *number = t->out.number;
done:
    return st;
}

void kry_task_set_vec(kry_task *self, kry_vec *vec)
{
    if (!self) return;
    kry_vec *old = self->out.vec;
    self->out.vec = vec ? kry_vec_retain(vec) : NULL;
    kry_vec_release(&old);
}

void kry_task_set_op(kry_task *self, kry_op *op)
{
    if (!self) return;
    kry_op *old = self->out.op;
    self->out.op = op ? kry_op_retain(op) : NULL;
    kry_op_release(&old);
}

void kry_task_set_number(kry_task *self, double number)
{
    if (!self) return;
    self->out.number = number;
    self->out.has_number = true;
}

void kry_task_set_progress(kry_task *self, double fraction)
{
    if (!self) return;
    kryi_tasks_lock();
    self->progress.fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    kryi_tasks_unlock();
}

static kry_status check_input(const char *who, const kry_task *self, int i)
{
    if (i >= 0 && i < self->count) return KRY_OK;
    return kry_fail(KRY_ERR_ARGUMENT, "%s: input %d of %d of '%s'", who, i, self->count,
                    self->name);
}

/* Through the host. */
static kry_status copy_across(const kry_vec *x, kry_device *dev, kry_vec **copy)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    kry_vec *v = NULL;

    const int64_t n = kry_vec_rows(x), k = kry_vec_cols(x);
    const kry_type type = kry_vec_type(x);
    TRY(kryi_allocate((uint64_t)(n * k), kry_type_size(type), &host));
    TRY(kry_vec_create(dev, type, n, k, &v));
    TRY(kry_vec_read(x, host));
    TRY(kry_vec_write(v, host));
    *copy = v;
    v = NULL;
done:
    kry_vec_release(&v);
    free(host);
    return st;
}

kry_status kry_task_input_vec(kry_task *self, int i, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_device *dev;

    if (vec) *vec = NULL;
    NOT_NULL(self);
    NOT_NULL(vec);
    TRY(check_input("kry_task_input_vec", self, i));
    dev = self->queue->device;
    kry_vec *x = self->input[i].from->out.vec;
    CHECK(x, KRY_ERR_TYPE, "'%s' wants a vector as input %d, but '%s' gives none", self->name, i,
          self->input[i].from->name);
    if (!dev || kry_vec_device(x) == dev) return *vec = x, KRY_OK;
    if (!self->copy) TRY(kryi_allocate((size_t)self->count, sizeof *self->copy, &self->copy));
    if (!self->copy[i]) TRY(copy_across(x, dev, &self->copy[i]));
    *vec = self->copy[i];
done:
    return st;
}

kry_status kry_task_input_op(kry_task *self, int i, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_device *dev;

    if (op) *op = NULL;
    NOT_NULL(self);
    NOT_NULL(op);
    TRY(check_input("kry_task_input_op", self, i));
    dev = self->queue->device;
    const kry_task *from = self->input[i].from;
    CHECK(from->out.op, KRY_ERR_TYPE, "'%s' wants an operator as input %d, but '%s' gives none",
          self->name, i, from->name);
    CHECK(!dev || kry_op_device(from->out.op) == dev, KRY_ERR_UNSUPPORTED,
          "'%s' cannot use the operator of '%s', which lives on another device ('%s') than its "
          "queue's ('%s'): make it there",
          self->name, from->name, kry_device_get_info(kry_op_device(from->out.op))->name,
          kry_device_get_info(dev)->name);
    *op = from->out.op;
done:
    return st;
}
