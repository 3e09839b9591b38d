/*
 * box_tail.c - the coarser levels of a grid in one launch: levels so small that a launch takes longer than what it does. Groups
 * that wait for each other go through all of them, down to the coarsest and up again, and one group alone through the smallest.
 * Kernel: cl/multigrid/box_tail.cl.
 *
 * Fails  if groups waited in vain, because something else held the device. A second launch, of one group, looks whether they
 *        did, and then does the work; from the next update on one group does the smallest levels alone, and launches the others
 */
#include "base/hooks.h"
#include "device/barrier.h"
#include "mg/box_passes.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"
#include "multigrid/smoother.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unknowns of the largest level of one group, of the largest one of all groups, and of the coarsest; work-items. */
enum { MOST_ALONE = 1024, MOST_TOGETHER = 1 << 18, MOST_DENSE = 1024, GROUP = 512 };

/* Words of a level in the plan, as in cl/multigrid/box_tail.cl. */
enum {
    PLAN_SIZE,
    PLAN_WRAPS = 3,
    PLAN_COARSENED,
    PLAN_ALIKE,
    PLAN_STENCIL,
    PLAN_WEIGHTS,
    PLAN_STEPS,
    PLAN_B,
    PLAN_X,
    PLAN_OTHER,
    PLAN_WORDS,
    MOST_LEVELS = 24
};

enum { TAIL_ARGS = 15 };

struct kryi_box_tail {
    const kryi_hierarchy *H; /* borrowed */
    kry_device *dev;         /* borrowed */
    kry_type type;
    int from, levels, size; /* work-items */
    int alone;              /* the level of these from which on one group does them */
    int groups;             /* that do those before together */
    kryi_kernel *kernel;
    kryi_barrier *barrier; /* owned */
    cl_int *plan;          /* PLAN_WORDS for each level */
    int64_t count;         /* of numbers */
    cl_mem table;          /* owned: the plan on the device */
    cl_mem numbers;        /* owned: stencils, weights and steps */
    cl_mem room;           /* owned: three vectors for each level */
};

static const kryi_level *level_of(const kryi_box_tail *t, int l)
{
    return &t->H->rung[t->from + l].level;
}

/* Smoothing steps of a level. */
static const kryi_sweeps *sweeps_of(const kryi_box_tail *t, int l)
{
    return &t->H->rung[t->from + l].smooth.down;
}

void kryi_box_tail_release(kryi_box_tail **address)
{
    kryi_box_tail *t = *address;
    *address = NULL;
    if (!t) return;
    kryi_barrier_release(&t->barrier);
    kryi_buffer_release(t->dev, &t->room);
    kryi_buffer_release(t->dev, &t->numbers);
    kryi_buffer_release(t->dev, &t->table);
    free(t->plan);
    free(t);
}

/* ---- set-up -------------------------------------------------------------------------------------- */

/* The first level below the finest of so few unknowns; the coarsest: there is none. */
static int first_small(const kryi_hierarchy *H, int64_t most)
{
    int i = 1;
    while (i < H->count - 1 && H->rung[i].level.A->shape.rows > most) i++;
    return i;
}

/* The first level that groups do together. There is none on CPUs, whose threads may wait for each other for long, nor in the
 * plane, where a level by tiles has two launches, and by groups that wait takes 1.3 times as long (H200). */
static int first_together(const kryi_hierarchy *H, int alone)
{
    const kry_device *dev = H->rung[0].level.A->dev;
    int i = first_small(H, MOST_TOGETHER);

    if (kryi_box_of(H->rung[alone].level.A)->grid.axes == 2) return alone;
    if (!dev->info.gpu && !kryi_test_groups_wait) return alone;
    for (; i < alone; i++) {
        const kryi_box *A = kryi_box_of(H->rung[i].level.A);
        if (A->slots == A->half)
            break; /* in flux form large levels miss what the kernel does not read */
    }
    return i;
}

static bool suits(const kryi_hierarchy *H)
{
    const kry_op *A = H->rung[0].level.A;
    const kryi_dense_inverse *inverse = H->coarse ? kryi_coarse_inverse(H->coarse) : NULL;
    return !A->dev->info.cpu_kernels && H->cycle.shape == KRY_CYCLE_V && H->count > 2 &&
           H->count <= MOST_LEVELS && kryi_smoother_steps(&H->cycle) && inverse &&
           inverse->k <= MOST_DENSE;
}

/* Where everything is. */
static void lay_out(kryi_box_tail *t, int64_t *room)
{
    int64_t at = 0;

    *room = 0;
    for (int l = 0; l < t->levels; l++) {
        const kryi_level *L = level_of(t, l);
        const kryi_box *A = kryi_box_of(L->A);
        const kryi_box_transfer *P = kryi_box_transfer_of(L->P);
        cl_int *p = t->plan + (ptrdiff_t)l * PLAN_WORDS;
        for (int a = 0; a < 3; a++) p[PLAN_SIZE + a] = (cl_int)A->grid.size[a];
        p[PLAN_WRAPS] = (cl_int)A->grid.wraps;
        p[PLAN_B] = (cl_int)*room, *room += A->grid.n;
        p[PLAN_X] = (cl_int)*room, *room += A->grid.n;
        if (!P) continue;
        p[PLAN_COARSENED] = (cl_int)P->coarsened;
        p[PLAN_ALIKE] = kryi_box_rows_alike(&A->grid) + 2 * kryi_box_rows_alike(&P->coarse);
        p[PLAN_OTHER] = (cl_int)*room, *room += A->grid.n;
        p[PLAN_STENCIL] = (cl_int)at, at += A->half * A->grid.n;
        p[PLAN_WEIGHTS] = (cl_int)at, at += P->weights * P->coarse.n;
        p[PLAN_STEPS] = (cl_int)at, at += sweeps_of(t, l)->count;
    }
    t->count = at;
}

static kry_status get_kernel(kryi_box_tail *t)
{
    kry_status st = KRY_OK;
    const int axes = kryi_box_of(level_of(t, 0)->A)->grid.axes;
    char defines[96];

    for (t->size = GROUP; t->size > t->dev->info.max_group;) t->size /= 2;
    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1 -DUNIFORM -DGROUP=%d%s", axes, t->size,
             t->alone > 0 ? " -DTOGETHER" : "");
    TRY(kryi_kernel_get(t->dev, "box_tail", t->type, defines, "box_tail", &t->kernel));
    TRY(kryi_kernel_check_size(t->dev, t->kernel, t->size));
done:
    return st;
}

/* The arguments of the kernel; args[0] is the barrier's. */
typedef struct tail_call {
    cl_int again, alone, levels, count, k, stride;
    kry_arg args[TAIL_ARGS];
} tail_call;

static void set_args(const kryi_box_tail *t, tail_call *c, const kry_vec *b, const kry_vec *x)
{
    const kryi_dense_inverse *inverse = kryi_coarse_inverse(t->H->coarse);
    c->alone = t->alone, c->levels = t->levels, c->count = sweeps_of(t, 0)->count;
    c->k = (cl_int)inverse->k, c->stride = (cl_int)kryi_dense_inverse_stride(inverse);
    const kry_arg args[TAIL_ARGS] = { [1] = ARG(c->again), ARG(c->alone), ARG(c->levels),
                                      ARG(c->count),       ARG(t->table), ARG(t->numbers),
                                      ARG(t->room),        ARG(c->k),     ARG(c->stride),
                                      ARG(inverse->G),     ARG_VEC(b),    ARG_VEC(x) };
    memcpy(c->args, args, sizeof args);
}

/* How many groups can wait for each other, as many as there are points for. */
static kry_status count_groups(kryi_box_tail *t)
{
    kry_status st = KRY_OK;
    const kry_vec none = { .buffer = t->room };
    const int64_t wanted = (level_of(t, 0)->A->shape.rows + t->size - 1) / t->size;
    tail_call c = { 0 };

    set_args(t, &c, &none, &none);
    TRY(kryi_barrier_create(t->dev, t->kernel, t->size, c.args, TAIL_ARGS, &t->barrier));
    t->groups = kryi_barrier_groups(t->barrier);
    if (t->groups > t->dev->info.compute_units) t->groups = t->dev->info.compute_units;
    if (t->groups > wanted) t->groups = (int)wanted;
done:
    return st;
}

static kry_status make(kryi_box_tail *t)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(t->type);
    int64_t room;

    TRY(get_kernel(t));
    TRY(kryi_alloc((uint64_t)t->levels * PLAN_WORDS, sizeof *t->plan, &t->plan));
    lay_out(t, &room);
    TRY(kryi_buffer_upload(t->dev, (size_t)t->levels * PLAN_WORDS * sizeof *t->plan, t->plan,
                           &t->table));
    TRY(kryi_buffer_create(t->dev, (size_t)t->count * word, &t->numbers));
    TRY(kryi_buffer_create(t->dev, (size_t)room * word, &t->room));
    if (t->alone > 0) TRY(count_groups(t));
done:
    return st;
}

/* *out: NULL if the device does not do these levels so, or not by several groups where these are wanted. */
static kry_status create_from(const kryi_hierarchy *H, int from, int alone, kryi_box_tail **out)
{
    kry_status st = KRY_OK;
    kryi_box_tail *t = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *t, &t));
    const kry_op *A = H->rung[from].level.A;
    *t = (kryi_box_tail){ .H = H,
                          .dev = A->dev,
                          .type = A->shape.type,
                          .from = from,
                          .alone = alone - from,
                          .levels = H->count - from };
    st = make(t);
    if (st == KRY_ERR_UNSUPPORTED) {
        st = KRY_OK;
        goto done;
    }
    if (st < 0 || (t->barrier && t->groups < 2)) goto done;
    *out = t;
    t = NULL;
done:
    kryi_box_tail_release(&t);
    return st;
}

kry_status kryi_box_tail_create(const kryi_hierarchy *H, kryi_box_tail **out)
{
    kry_status st = KRY_OK;

    *out = NULL;
    if (!suits(H)) return KRY_OK;
    const int alone = first_small(H, MOST_ALONE), from = first_together(H, alone);
    if (from < alone) TRY(create_from(H, from, alone, out));
    if (!*out && alone < H->count - 1) TRY(create_from(H, alone, alone, out));
done:
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static kry_status copy(const kryi_box_tail *t, cl_mem from, int64_t count, cl_int at)
{
    const size_t word = kry_type_size(t->type);
    return kryi_buffer_copy(t->dev, from, 0, t->numbers, (size_t)at * word, (size_t)count * word);
}

static kry_status write_steps(const kryi_box_tail *t, const kryi_sweeps *s, cl_int at)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(t->type);
    double numbers[KRY_SMOOTHER_STEPS]; /* room for either type */

    for (int i = 0; i < s->count; i++) kryi_number_put(t->type, numbers, i, s->step[i]);
    TRY(kryi_buffer_write(t->dev, t->numbers, (size_t)at * word, (size_t)s->count * word, numbers));
done:
    return st;
}

static kry_status fill(kryi_box_tail *t)
{
    kry_status st = KRY_OK;

    for (int l = 0; l + 1 < t->levels; l++) {
        const kryi_box *A = kryi_box_of(level_of(t, l)->A);
        const kryi_box_transfer *P = kryi_box_transfer_of(level_of(t, l)->P);
        const cl_int *p = t->plan + (ptrdiff_t)l * PLAN_WORDS;
        TRY(copy(t, A->numbers, A->half * A->grid.n, p[PLAN_STENCIL]));
        TRY(copy(t, P->numbers, P->weights * P->coarse.n, p[PLAN_WEIGHTS]));
        TRY(write_steps(t, sweeps_of(t, l), p[PLAN_STEPS]));
    }
done:
    return st;
}

/* ---- the cycle ----------------------------------------------------------------------------------- */

/* For kryi_tail. */
static kry_status run_tail(void *self, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    const kryi_box_tail *t = self;
    tail_call c = { 0 };

    set_args(t, &c, b, x);
    if (!t->barrier) { /* one group, which reads no control buffer */
        c.args[0] = (kry_arg)ARG(t->table);
        return kryi_launch_range(t->dev, t->kernel, (kryi_range){ 1, .size = t->size }, c.args,
                                 TAIL_ARGS);
    }
    TRY(kryi_barrier_launch_next(t->barrier, t->groups, c.args, TAIL_ARGS));
    c.again = 1;
    TRY(kryi_barrier_launch_after(t->barrier, c.args, TAIL_ARGS));
done:
    return st;
}

kry_status kryi_box_tail_settle(kryi_box_tail **address, kryi_tail *tail)
{
    kry_status st = KRY_OK;
    bool finished = true;
    kryi_box_tail *t = *address;

    if (!t) return KRY_OK;
    if (tail->self == t && t->barrier) TRY(kryi_barrier_series_finished(t->barrier, &finished));
    if (!finished) { /* groups waited in vain */
        const kryi_hierarchy *H = t->H;
        const int alone = t->from + t->alone;
        *tail = (kryi_tail){ 0 };
        kryi_box_tail_release(address);
        if (alone < H->count - 1) TRY(create_from(H, alone, alone, address));
        t = *address;
    }
    if (!t) return KRY_OK;
    if (t->barrier) TRY(kryi_barrier_begin_series(t->barrier));
    TRY(fill(t));
    *tail = (kryi_tail){ t->from, run_tail, t };
done:
    return st;
}
