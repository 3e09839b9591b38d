/*
 * stencil_persistent.c - conjugate gradients in one persistent kernel, for grids whose vectors fit
 * into registers and local memory. Kernel: cl/resident.cl.
 *
 *   p := r + beta p,  s := A r + beta s = A p,  x += alpha p,  r -= alpha s
 *   gamma := r'r,  delta := r'A r      both at once
 *   beta := gamma / old gamma,  p's := delta - beta^2 old p's,  alpha := gamma / p's
 *
 * Storage     two sets of x, r, p, s, and the r that neighbours read: 9 n numbers
 * Per step    no vector is read from memory; groups exchange the r of neighbours through the cache
 * Waits       once for each KRY_CG_CHUNK iterations
 * Fails       if the device cannot hold n unknowns at once, or a launch was aborted. Then the other
 *             set and x have not changed
 * Source      A. T. Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25 (1989); the barrier is that
 *             of cl/barrier.clh
 */
#include "device/barrier.h"
#include "grid/stencil.h"
#include "operator/direction.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in cl/resident.cl. */
enum { OUT_STOP, OUT_DONE, OUT_VALUE, OUT_GAMMA, OUT_PQ, OUT_HISTORY = 8 };
enum { OUT_SIZE = OUT_HISTORY + KRY_CG_CHUNK + 1, MAX_RESIDENT_ARGS = 24 };

/* Work-items per group, unknowns per work-item, and whether groups keep what is multiplied in local memory; they
 * do where conjugate gradients are pipelined. */
typedef struct shape {
    int group, per, shared, pipelined;
} shape;

typedef struct kry_stencil_resident {
    int groups;           /* so many hold n unknowns */
    kry_barrier *barrier; /* owned */
    cl_int pitch;         /* from one vector of a set to the next */
    cl_mem set[2];        /* owned: x, r, p, s */
    cl_mem published;     /* owned: r */
    cl_mem part, out;     /* owned: a pair for each group; OUT_SIZE numbers of type ACC */
    void *host_out;       /* owned */
    int current;          /* the set with the last valid state */
    unsigned ticket;      /* of the recurrence in it */
    double gamma, pq;     /* its scalars */
} resident;

/* ---- shapes -------------------------------------------------------------------------------
 *
 * About one group per compute unit. Barriers within small groups are cheap, and so are barriers
 * among few groups. The order is by speed on an H200 (docs/benchmarks.md). No group is larger than
 * 512, so that of 65536 registers each work-item has 128. */

static const shape gpu_shapes[] = { { 128, 1, 1, 1 }, { 256, 1, 1, 1 }, { 256, 2, 1, 1 },
                                    { 256, 4, 1, 1 }, { 512, 4, 1, 1 }, { 256, 16, 1, 0 },
                                    { 512, 8, 1, 0 } };
static const shape cpu_shapes[] = {
    { 16, 1, 1, 1 }, { 32, 2, 1, 1 }, { 64, 4, 1, 0 }, { 64, 16, 1, 0 }
};

/* The local memory that a group needs. */
static int64_t local_bytes(const kry_stencil *A, shape s)
{
    int64_t pair = 2 * (int64_t)sizeof(kry_partial), slack = 512;
    return (s.group + 32) * pair + (int64_t)s.shared * s.group * s.per * kry_type_size(A->type) +
           slack;
}

/* A shape for experiments, from the tuning file: resident/shape group=256 per-item=2 shared=1 pipelined=1 */
static bool given_shape(kry_device *dev, shape *s)
{
    char text[64];
    s->pipelined = 0;
    return kry_tuning_get(dev, "resident/shape", text, sizeof text) &&
           sscanf(text, "group=%d per-item=%d shared=%d pipelined=%d", &s->group, &s->per,
                  &s->shared, &s->pipelined) >= 3 &&
           s->group >= 8 && !(s->group & (s->group - 1)) && s->per >= 1 && s->per <= 16;
}

/* ---- arguments -------------------------------------------------------------------- */

/* The arguments of the kernel and the numbers that they point to. */
typedef struct call {
    cl_int n, size[3], steps, fresh;
    kry_scalar target2, gamma, pq, weight[3];
    kry_arg args[MAX_RESIDENT_ARGS];
    size_t count;
} call;

/* run: NULL to find out how many groups can wait for each other */
static void set_call(const kry_stencil *A, const resident *R, const kry_cg_run *run, call *c)
{
    size_t word = kry_type_size(A->type);

    *c = (call){ .n = (cl_int)A->n, .fresh = run && run->action == KRY_CG_BEGIN };
    if (run) c->steps = run->iterations < KRY_CG_CHUNK ? (cl_int)run->iterations : KRY_CG_CHUNK;
    c->target2 = kry_scalar_of(A->dev, run ? run->target2 : 0);
    c->gamma = kry_scalar_of(A->dev, R->gamma);
    c->pq = kry_scalar_of(A->dev, R->pq);
    const kry_arg args[] = { { 0 }, /* the barrier's */
                             ARG(c->n),
                             ARG(R->pitch),
                             ARG(R->set[R->current]),
                             ARG(R->set[!R->current]),
                             ARG(R->published),
                             ARG(R->part),
                             ARG(R->out),
                             ARG(c->steps),
                             ARG(c->fresh),
                             ARG_ACC(A->dev, c->target2),
                             ARG_ACC(A->dev, c->gamma),
                             ARG_ACC(A->dev, c->pq) };
    memcpy(c->args, args, sizeof args);
    c->count = COUNT(args);
    for (int a = 0; a < 3; a++) {
        c->size[a] = (cl_int)A->size[a];
        kry_number_put(A->type, &c->weight[a], 0, A->weight[a]);
        c->args[c->count + (size_t)a] = (kry_arg)ARG(c->size[a]);
        c->args[c->count + 3 + (size_t)a] = (kry_arg){ word, &c->weight[a] };
    }
    c->count += 6;
    if (!A->face[0]) return;
    c->args[c->count++] = (kry_arg)ARG(*kry_stencil_cells(A));
    for (int a = 0; a < 3; a++) c->args[c->count++] = (kry_arg)ARG(A->face[a]);
}

/* ---- making ready ------------------------------------------------------------------ */

static void defines(const kry_stencil *A, shape s, char *text, size_t size)
{
    size_t used =
        (size_t)snprintf(text, size, "-DGROUP=%d -DPER=%d -DAXES=%d%s%s", s.group, s.per, A->axes,
                         s.shared ? " -DSHARED" : "", A->face[0] ? " -DCOEFFICIENT" : "");
    for (int a = 0; a < A->axes; a++)
        used += (size_t)snprintf(text + used, size - used, " -DWRAP%d=%d -DLOW%d=%d -DHIGH%d=%d", a,
                                 A->low[a] == KRY_PERIODIC, a, kry_ghost(A->low[a]), a,
                                 kry_ghost(A->high[a]));
}

static kry_status allocate(const kry_stencil *A, resident *R)
{
    kry_status st = KRY_OK;
    size_t set = 4 * (size_t)R->pitch * kry_type_size(A->type), acc = kry_acc_size(A->dev);

    TRY(kry_buffer_create(A->dev, set, &R->set[0]));
    TRY(kry_buffer_create(A->dev, set, &R->set[1]));
    TRY(kry_buffer_create(A->dev, set / 2, &R->published));
    TRY(kry_buffer_create(A->dev, 4 * KRY_BARRIER_MOST * sizeof(kry_partial), &R->part));
    TRY(kry_buffer_create(A->dev, OUT_SIZE * acc, &R->out));
    TRY(kry_alloc(OUT_SIZE, acc, &R->host_out));
done:
    return st;
}

/* Use groups of this shape if enough of them can wait for each other. */
static kry_status try_shape(const kry_stencil *A, resident *R, shape s)
{
    kry_status st = KRY_OK;
    char text[300];
    call c;
    kry_kernel *kernel;
    int64_t per_group = (int64_t)s.group * s.per;

    R->groups = (int)((A->n + per_group - 1) / per_group);
    defines(A, s, text, sizeof text);
    kry_barrier_release(&R->barrier);
    TRY(kry_kernel_get(A->dev, s.pipelined ? "resident_pipe" : "resident", A->type, text,
                       s.pipelined ? "resident_pipe" : "resident_cg", &kernel));
    set_call(A, R, NULL, &c);
    TRY(kry_barrier_create(A->dev, kernel, s.group, c.args, c.count, &R->barrier));
    CHECK(kry_barrier_groups(R->barrier) >= R->groups, KRY_ERR_UNSUPPORTED,
          "%d groups of %d are wanted at once, '%s' runs %d", R->groups, s.group, A->dev->info.name,
          kry_barrier_groups(R->barrier));
done:
    return st;
}

static void release(kry_device *dev, resident *R)
{
    if (!R) return;
    kry_barrier_release(&R->barrier);
    free(R->host_out);
    kry_buffer_release(dev, &R->out);
    kry_buffer_release(dev, &R->part);
    kry_buffer_release(dev, &R->published);
    kry_buffer_release(dev, &R->set[1]);
    kry_buffer_release(dev, &R->set[0]);
    free(R);
}

void kry_stencil_resident_release(kry_stencil *A)
{
    release(A->dev, A->resident);
    A->resident = NULL;
}

/* Whether groups of this shape, one per compute unit, can hold the grid. */
static bool fits(const kry_stencil *A, shape s)
{
    const kry_device_info *info = &A->dev->info;
    return s.group <= info->max_group && local_bytes(A, s) <= info->local_bytes &&
           (int64_t)s.group * s.per * info->compute_units >= A->n;
}

/* Take the first shape that fits and that the device can run. */
static kry_status choose_shape(const kry_stencil *A, resident *R)
{
    const bool gpu = A->dev->info.gpu;
    const shape *shapes = gpu ? gpu_shapes : cpu_shapes;
    size_t count = gpu ? COUNT(gpu_shapes) : COUNT(cpu_shapes);
    kry_status st = KRY_OK, tried = KRY_ERR_UNSUPPORTED;
    shape given;

    if (given_shape(A->dev, &given)) shapes = &given, count = 1;
    kry_fail(tried, "%lld unknowns do not fit on the chip", (long long)A->n);
    for (size_t i = 0; i < count && tried != KRY_OK && tried != KRY_ERR_MEMORY; i++) {
        if (shapes != &given && !fits(A, shapes[i])) continue;
        if (!R->host_out) TRY(allocate(A, R));
        shape s = shapes[i];
        /* In single, pipelined recurrences take up to a fifth more iterations, which is what a wait costs. */
        if (shapes != &given && A->type == KRY_F32) s.pipelined = 0;
        tried = try_shape(A, R, s);
    }
    st = tried;
done:
    return st;
}

static kry_status prepare(kry_stencil *A)
{
    enum { LINE = 32 }; /* numbers */
    kry_status st = KRY_OK;
    resident *R = NULL;

    if (A->resident) {
        CHECK(kry_barrier_groups(A->resident->barrier) > 0, KRY_ERR_UNSUPPORTED,
              "an earlier launch was aborted");
        return KRY_OK;
    }
    TRY(kry_alloc(1, sizeof *R, &R));
    R->pitch = (cl_int)((A->n + LINE - 1) / LINE * LINE);
    TRY(choose_shape(A, R));
    A->resident = R;
    R = NULL;
done:
    release(A->dev, R);
    return st;
}

/* ---- running ---------------------------------------------------------------------- */

/* Copy x and r into the set, and clear the p and s of an earlier solve. */
static kry_status begin(const kry_stencil *A, resident *R, kry_cg_run *run)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(A->type), bytes = (size_t)A->n * word;
    cl_mem set = R->set[R->current];

    TRY(kry_buffer_copy(A->dev, run->x->buffer, (size_t)run->x->first * word, set, 0, bytes));
    TRY(kry_buffer_copy(A->dev, run->r->buffer, (size_t)run->r->first * word, set,
                        (size_t)R->pitch * word, bytes));
    R->gamma = R->pq = 0;
    run->ticket = ++R->ticket;
done:
    return st;
}

static double out_at(const kry_stencil *A, int i)
{
    return kry_number_at(A->dev->info.fp64 ? KRY_F64 : KRY_F32, A->resident->host_out, i);
}

/* Run a chunk of iterations and read its results. */
static kry_status launch(const kry_stencil *A, resident *R, const kry_cg_run *run)
{
    kry_status st = KRY_OK;
    call c;
    bool finished;

    set_call(A, R, run, &c);
    TRY(kry_barrier_launch(R->barrier, R->groups, c.args, c.count));
    TRY(kry_buffer_read_later(A->dev, R->out, 0,
                              (size_t)(OUT_HISTORY + c.steps + 1) * kry_acc_size(A->dev),
                              R->host_out, NULL));
    TRY(kry_barrier_finished(R->barrier, &finished));
    CHECK(finished, KRY_ERR_DEVICE, "kernel resident_cg: its groups waited for each other in vain");
done:
    return st;
}

/* Accept the set that was just written: its x, scalars and history. */
static kry_status commit(const kry_stencil *A, resident *R, kry_cg_run *run)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(A->type);

    TRY(kry_buffer_copy(A->dev, R->set[!R->current], 0, run->x->buffer,
                        (size_t)run->x->first * word, (size_t)A->n * word));
    R->current = !R->current;
    R->gamma = out_at(A, OUT_GAMMA);
    R->pq = out_at(A, OUT_PQ);
    run->done = (int)out_at(A, OUT_DONE);
    run->stop = (int)out_at(A, OUT_STOP);
    run->value = out_at(A, OUT_VALUE);
    for (int k = 0; k <= run->done; k++) run->history[k] = out_at(A, OUT_HISTORY + k);
done:
    return st;
}

kry_status kry_stencil_run_cg(void *self, kry_cg_run *run)
{
    kry_status st = KRY_OK;
    kry_stencil *A = self;

    TRY(prepare(A));
    if (run->action == KRY_CG_PREPARE) return KRY_OK;
    resident *R = A->resident;
    if (run->action == KRY_CG_BEGIN) TRY(begin(A, R, run));
    CHECK(run->ticket == R->ticket, KRY_ERR_UNSUPPORTED, "another solve came between");
    TRY(launch(A, R, run));
    TRY(commit(A, R, run));
done:
    return st;
}
