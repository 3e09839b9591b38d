/*
 * resident.c - conjugate gradients in one persistent kernel, into which a product is plugged: of a grid
 * (src/grid/stencil_persistent.c) or of a stored matrix (src/matrix/matrix_persistent.c).
 *
 *   z := M r,  w := A z,  gamma := r'z,  delta := z'w      all sums at once
 *   beta := gamma / old gamma,  p's := delta - beta^2 old p's,  alpha := gamma / p's
 *   p := z + beta p,  s := w + beta s = A p,  x += alpha p,  r -= alpha s
 *
 * Storage     two sets of x, r, p, s, and the vectors that groups leave for each other: 9 n numbers or more
 * Per step    x, r, p and s stay in registers; groups exchange what is multiplied through the cache
 * Waits       once for each KRY_CG_CHUNK iterations
 * Fails       if the device cannot hold n unknowns at once, or a launch was aborted. Then the other
 *             set and x have not changed
 * Source      A. T. Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25 (1989); the barrier is that
 *             of cl/common/barrier.clh
 */
#include "operator/resident.h"
#include "device/barrier.h"
#include <stdlib.h>
#include <string.h>

/* As in cl/common/resident.clh. */
enum { OUT_STOP, OUT_DONE, OUT_VALUE, OUT_GAMMA, OUT_PQ, OUT_HISTORY = 8 };
enum { OUT_SIZE = OUT_HISTORY + KRY_CG_CHUNK + 1, COMMON = 13 };

struct kryi_resident_cg {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n;
    kryi_plug plug;
    kryi_barrier *barrier; /* owned */
    cl_int pitch;          /* from one vector of a set to the next */
    cl_mem set[2];         /* owned: x, r, p, s */
    cl_mem shown;          /* owned: what groups leave for each other */
    cl_mem part, out; /* owned: two pairs of sums for each group; OUT_SIZE numbers of type ACC */
    void *host_out;   /* owned */
    int current;      /* the set with the last valid state */
    double gamma, pq; /* its scalars */
};

void kryi_plug_add(kryi_plug *plug, const void *value, size_t bytes)
{
    memcpy(plug->value[plug->count], value, bytes);
    plug->bytes[plug->count++] = bytes;
}

void kryi_plug_release(kry_device *dev, kryi_plug *plug)
{
    for (size_t i = 0; i < COUNT(plug->owned); i++) kryi_buffer_release(dev, &plug->owned[i]);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* The arguments of the kernel and the numbers that they point to. */
typedef struct call {
    cl_int n, steps, fresh;
    kryi_scalar target2, gamma, pq;
    kry_arg args[COMMON + KRY_RESIDENT_OWN];
    size_t count;
} call;

/* run: NULL to find out how many groups can wait for each other */
static void set_call(const kryi_resident_cg *R, const kryi_cg_run *run, call *c)
{
    const kryi_plug *plug = &R->plug;

    *c = (call){ .n = (cl_int)R->n, .fresh = run && run->action == KRY_CG_BEGIN };
    if (run) c->steps = run->iterations < KRY_CG_CHUNK ? (cl_int)run->iterations : KRY_CG_CHUNK;
    c->target2 = kryi_scalar_of(R->dev, run ? run->target2 : 0);
    c->gamma = kryi_scalar_of(R->dev, R->gamma);
    c->pq = kryi_scalar_of(R->dev, R->pq);
    const kry_arg args[COMMON] = { { 0 }, /* the barrier's */
                                   ARG(c->n),
                                   ARG(R->pitch),
                                   ARG(R->set[R->current]),
                                   ARG(R->set[!R->current]),
                                   ARG(R->shown),
                                   ARG(R->part),
                                   ARG(R->out),
                                   ARG(c->steps),
                                   ARG(c->fresh),
                                   ARG_ACC(R->dev, c->target2),
                                   ARG_ACC(R->dev, c->gamma),
                                   ARG_ACC(R->dev, c->pq) };
    memcpy(c->args, args, sizeof args);
    for (size_t i = 0; i < plug->count; i++)
        c->args[COMMON + i] = (kry_arg){ plug->bytes[i], plug->value[i] };
    c->count = COMMON + plug->count;
}

/* ---- making ready ------------------------------------------------------------------------------ */

static kry_status allocate(kryi_resident_cg *R)
{
    kry_status st = KRY_OK;
    kry_device *dev = R->dev;
    size_t vector = (size_t)R->pitch * kry_type_size(R->type), acc = kryi_acc_size(dev);

    TRY(kryi_buffer_create(dev, 4 * vector, &R->set[0]));
    TRY(kryi_buffer_create(dev, 4 * vector, &R->set[1]));
    TRY(kryi_buffer_create(dev, (size_t)R->plug.shown * vector, &R->shown));
    TRY(kryi_buffer_create(dev, 4 * KRY_BARRIER_MOST * sizeof(kryi_partial), &R->part));
    TRY(kryi_buffer_create(dev, OUT_SIZE * acc, &R->out));
    TRY(kryi_alloc(OUT_SIZE, acc, &R->host_out));
done:
    return st;
}

/* Enough groups to do all pieces of work in as few rounds as the device allows, and no more than these take. */
static int groups_of(const kryi_plug *plug, int64_t most)
{
    const int64_t rounds = (plug->pieces + most - 1) / most;
    const int64_t busy = rounds ? (plug->pieces + rounds - 1) / rounds : 0;

    return busy > plug->groups ? (int)busy : plug->groups;
}

kry_status kryi_resident_create(kry_device *dev, kry_type type, int64_t n, kryi_plug *plug,
                                kryi_resident_cg **resident)
{
    enum { LINE = 32 }; /* numbers */
    kry_status st = KRY_OK;
    kryi_resident_cg *R = NULL;
    call c;

    plug->kernel->persistent = true;
    *resident = NULL;
    TRY(kryi_alloc(1, sizeof *R, &R));
    *R = (kryi_resident_cg){ .dev = dev, .type = type, .n = n, .plug = *plug };
    memset(R->plug.owned, 0, sizeof R->plug.owned);
    R->pitch = (cl_int)((n + LINE - 1) / LINE * LINE);
    TRY(allocate(R));
    set_call(R, NULL, &c);
    TRY(kryi_barrier_create(dev, plug->kernel, plug->size, c.args, c.count, &R->barrier));
    CHECK(kryi_barrier_groups(R->barrier) >= plug->groups, KRY_ERR_UNSUPPORTED,
          "%d groups of %d are wanted at once, '%s' runs %d", plug->groups, plug->size,
          dev->info.name, kryi_barrier_groups(R->barrier));
    R->plug.groups = groups_of(plug, kryi_barrier_groups(R->barrier));
    memcpy(R->plug.owned, plug->owned, sizeof plug->owned);
    memset(plug->owned, 0, sizeof plug->owned);
    *resident = R, R = NULL;
done:
    kryi_resident_release(&R);
    return st;
}

void kryi_resident_release(kryi_resident_cg **resident)
{
    kryi_resident_cg *R = *resident;

    *resident = NULL;
    if (!R) return;
    kryi_barrier_release(
        &R->barrier); /* waits for what a failure left under way, host_out's as well */
    free(R->host_out);
    kryi_plug_release(R->dev, &R->plug);
    kryi_buffer_release(R->dev, &R->out);
    kryi_buffer_release(R->dev, &R->part);
    kryi_buffer_release(R->dev, &R->shown);
    kryi_buffer_release(R->dev, &R->set[1]);
    kryi_buffer_release(R->dev, &R->set[0]);
    free(R);
}

bool kryi_resident_gave_up(const kryi_resident_cg *R)
{
    return kryi_barrier_groups(R->barrier) == 0;
}

/* ---- running ---------------------------------------------------------------------------------- */

/* Copy x and r into the set. */
static kry_status begin(kryi_resident_cg *R, const kryi_cg_run *run)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(R->type), bytes = (size_t)R->n * word;
    cl_mem set = R->set[R->current];

    TRY(kryi_buffer_copy(R->dev, run->x->buffer, (size_t)run->x->first * word, set, 0, bytes));
    TRY(kryi_buffer_copy(R->dev, run->r->buffer, (size_t)run->r->first * word, set,
                         (size_t)R->pitch * word, bytes));
    R->gamma = R->pq = 0;
done:
    return st;
}

static double out_at(const kryi_resident_cg *R, int i)
{
    return kryi_number_at(kryi_acc_type(R->dev), R->host_out, i);
}

/* Run a chunk of iterations and read its results. */
static kry_status launch(kryi_resident_cg *R, const kryi_cg_run *run)
{
    kry_status st = KRY_OK;
    call c;
    bool finished;

    set_call(R, run, &c);
    TRY(kryi_barrier_launch(R->barrier, R->plug.groups, c.args, c.count));
    TRY(kryi_buffer_read_later(R->dev, R->out,
                               (size_t)(OUT_HISTORY + c.steps + 1) * kryi_acc_size(R->dev),
                               R->host_out, NULL));
    TRY(kryi_barrier_finished(R->barrier, &finished));
    CHECK(finished, KRY_ERR_DEVICE, "kernel %s: its groups waited for each other in vain",
          R->plug.kernel->name);
done:
    return st;
}

/* Accept the set that was just written: its x, scalars and history. */
static kry_status commit(kryi_resident_cg *R, kryi_cg_run *run)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(R->type);

    TRY(kryi_buffer_copy(R->dev, R->set[!R->current], 0, run->x->buffer,
                         (size_t)run->x->first * word, (size_t)R->n * word));
    R->current = !R->current;
    R->gamma = out_at(R, OUT_GAMMA);
    R->pq = out_at(R, OUT_PQ);
    run->done = (int)out_at(R, OUT_DONE);
    run->stop = (int)out_at(R, OUT_STOP);
    run->value = out_at(R, OUT_VALUE);
    for (int k = 0; k <= run->done; k++) run->history[k] = out_at(R, OUT_HISTORY + k);
done:
    return st;
}

kry_status kryi_resident_run(kryi_resident_cg *R, kryi_cg_run *run)
{
    kry_status st = KRY_OK;

    if (run->action == KRY_CG_BEGIN) TRY(begin(R, run));
    TRY(launch(R, run));
    TRY(commit(R, run));
done:
    return st;
}
