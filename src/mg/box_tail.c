/*
 * box_tail.c - the coarsest levels of a grid in one launch: levels so small that a launch takes longer than what it does. One
 * group goes through all of them, down to the coarsest and up again. Kernel: cl/multigrid/box_tail.cl.
 */
#include "mg/box_passes.h"
#include "multigrid/box.h"
#include "multigrid/cycle.h"
#include "multigrid/smoother.h"
#include <stdio.h>
#include <stdlib.h>

/* Unknowns of its largest level and of the coarsest; work-items. */
enum { MOST = 1024, MOST_DENSE = 1024, GROUP = 512 };

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
    PLAN_WORDS
};

struct kryi_box_tail {
    const kryi_hierarchy *H; /* borrowed */
    kry_device *dev;         /* borrowed */
    kry_type type;
    int from, levels, size; /* work-items */
    kryi_kernel *kernel;
    cl_int *plan;   /* PLAN_WORDS for each level */
    int64_t count;  /* of numbers */
    cl_mem table;   /* owned: the plan on the device */
    cl_mem numbers; /* owned: stencils, weights and steps */
    cl_mem room;    /* owned: three vectors for each level */
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
    kryi_buffer_release(t->dev, &t->room);
    kryi_buffer_release(t->dev, &t->numbers);
    kryi_buffer_release(t->dev, &t->table);
    free(t->plan);
    free(t);
}

/* ---- set-up -------------------------------------------------------------------------------------- */

/* The first level below the finest that one group can take; the coarsest: there is none. */
static int first_small(const kryi_hierarchy *H)
{
    int i = 1;
    while (i < H->count - 1 && H->rung[i].level.A->shape.rows > MOST) i++;
    return i;
}

static bool suits(const kryi_hierarchy *H, int from)
{
    const kry_op *A = H->rung[0].level.A;
    const kryi_dense_inverse *inverse = H->coarse ? kryi_coarse_inverse(H->coarse) : NULL;
    return !A->dev->info.cpu_kernels && H->cycle.shape == KRY_CYCLE_V &&
           kryi_smoother_steps(&H->cycle) && from < H->count - 1 && inverse &&
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
    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1 -DUNIFORM -DGROUP=%d", axes, t->size);
    TRY(kryi_kernel_get(t->dev, "box_tail", t->type, defines, "box_tail", &t->kernel));
    TRY(kryi_kernel_check_size(t->dev, t->kernel, t->size));
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
done:
    return st;
}

kry_status kryi_box_tail_create(const kryi_hierarchy *H, kryi_box_tail **out)
{
    kry_status st = KRY_OK;
    kryi_box_tail *t = NULL;
    const int from = first_small(H);

    *out = NULL;
    if (!suits(H, from)) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *t, &t));
    const kry_op *A = H->rung[from].level.A;
    *t = (kryi_box_tail){
        .H = H, .dev = A->dev, .type = A->shape.type, .from = from, .levels = H->count - from
    };
    st = make(t);
    if (st == KRY_ERR_UNSUPPORTED) {
        st = KRY_OK;
        goto done;
    }
    if (st < 0) goto done;
    *out = t;
    t = NULL;
done:
    kryi_box_tail_release(&t);
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
    const kryi_box_tail *t = self;
    const kryi_dense_inverse *inverse = kryi_coarse_inverse(t->H->coarse);
    const cl_int levels = t->levels, count = sweeps_of(t, 0)->count, k = (cl_int)inverse->k;
    const cl_int stride = (cl_int)kryi_dense_inverse_stride(inverse);
    const kry_arg args[] = { ARG(levels),  ARG(count), ARG(t->table), ARG(t->numbers),
                             ARG(t->room), ARG(k),     ARG(stride),   ARG(inverse->G),
                             ARG_VEC(b),   ARG_VEC(x) };
    return kryi_launch_range(t->dev, t->kernel, (kryi_range){ 1, .size = t->size }, args,
                             COUNT(args));
}

kry_status kryi_box_tail_settle(kryi_box_tail *t, kryi_tail *tail)
{
    *tail = (kryi_tail){ t->from, run_tail, t };
    return fill(t);
}
