/*
 * relaxation.c - sweeps that make A x = b hold row by row, as solvers of their own.
 *
 *   Jacobi   x := x + omega D^-1 (b - A x)
 *            all rows at once, from one vector to another
 *   SOR      x_i := x_i + omega / d_i (b_i - (A x)_i)
 *            all red rows in place, then all black ones; omega = 1 is Gauss-Seidel's
 *
 * Storage     n numbers: the other iterate, or the residual
 * Per sweep   grids: Jacobi 3 words (reads x, b, writes x'), SOR 6 (each colour touches every cache
 *             line); Jacobi on other operators: the product and 5 words
 * Waits       once in check_every sweeps, for the residual: Jacobi's comes with the sweep that is
 *             next anyway, SOR's takes a pass of its own
 * Breakdown   a residual 1e10 times that of the guess: the iteration diverges
 * Source      D. M. Young, Iterative solution of large linear systems (1971), chapters 3 to 6
 */
#include "krylov/stop.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include "precond/sweeps.h"
#include <math.h>
#include <stdlib.h>

typedef struct relaxation {
    kry_op *A;          /* retained */
    kry_layout *layout; /* borrowed */
    bool in_place;      /* SOR */
    double omega;
    kry_relaxer sweep;  /* Jacobi's */
    kry_vec *other;     /* Jacobi: where every second iterate lies. Both: the true residual */
    kry_vec *at, *next; /* Jacobi: the iterate, and where the one after it goes; borrowed */
    bool ahead;         /* Jacobi: that one is there already */
    bool exact;         /* the monitor may look into x */
    kry_sum *square;
    kry_watch watch;
    double setup_seconds;
} relaxation;

/* ---- sweeps -------------------------------------------------------------------------------- */

/* next := the iterate after `at`. With sum: the squared residual of `at`. */
static kry_status jacobi_sweep(relaxation *S, const kry_vec *b, kry_sum *sum)
{
    const kry_relax s = { .c1 = S->omega, .b = b, .x = S->at };
    return kry_relaxer_run(&S->sweep, &s, S->next, sum);
}

static kry_status jacobi_sweeps(relaxation *S, const kry_vec *b, int64_t count)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < count; i++) {
        if (!S->ahead) TRY(jacobi_sweep(S, b, NULL));
        kry_vec *t = S->at;
        S->at = S->next, S->next = t;
        S->ahead = false;
    }
done:
    return st;
}

static kry_status red_black_sweeps(relaxation *S, const kry_vec *b, kry_vec *x, int64_t count)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < 2 * count; i++)
        TRY(S->A->table->sweep_colour(S->A->self, i % 2, S->omega, b, x));
done:
    return st;
}

/* The iterate lies in x. */
static kry_status settle(relaxation *S, kry_vec *x)
{
    kry_status st = KRY_OK;

    if (S->at != x) TRY(kry_vec_copy(S->at, x));
    S->ahead = S->ahead && S->at == x;
    S->at = x, S->next = S->other;
done:
    return st;
}

/* ---- residuals ----------------------------------------------------------------------------- */

/* ||b - A x|| in the numbers of b. Waits. */
static kry_status measure(relaxation *S, const kry_vec *b, const kry_vec *x, double *residual)
{
    kry_status st = KRY_OK;

    TRY(kry_op_residual(S->A, b, x, S->other));
    TRY(kry_vec_dot_sum(S->other, S->other, S->square));
    TRY(kry_sum_read(S->layout, S->square, residual));
    *residual = sqrt(*residual);
done:
    return st;
}

/* ||b - A x||, computed afresh by who knows it. Waits. */
static kry_status true_residual(relaxation *S, const kry_vec *b, kry_vec *x, double *residual)
{
    kry_status st = KRY_OK;
    kry_truth *T = S->watch.truth;

    if (T) {
        TRY(T->residual(T, x, T->rhs));
        kry_watch_aim(&S->watch);
        return *residual = T->norm, KRY_OK;
    }
    TRY(measure(S, b, x, residual));
done:
    return st;
}

/* The residual of the iterate, in the numbers of b. Waits. */
static kry_status look(relaxation *S, const kry_vec *b, kry_vec *x, double *residual)
{
    kry_status st = KRY_OK;

    if (S->in_place) return measure(S, b, x, residual);
    if (S->exact) TRY(settle(S, x));
    TRY(jacobi_sweep(S, b, S->square));
    S->ahead = true;
    TRY(kry_sum_read(S->layout, S->square, residual));
    *residual = sqrt(*residual);
done:
    return st;
}

/* ---- the solver ------------------------------------------------------------------------------ */

/* Sweeps until the residual, the limit or the monitor ends them. */
static kry_status iterate(relaxation *S, const kry_vec *b, kry_vec *x, double residual)
{
    kry_status st = KRY_OK;
    kry_watch *w = &S->watch;
    bool go = true;

    S->at = x, S->next = S->other, S->ahead = false;
    TRY(kry_watch_cycle(w));
    if (w->iteration == 0) TRY(kry_watch_measured(w, residual / w->unit, &go));
    while (go) {
        int64_t count = kry_watch_until_look(w);
        TRY(S->in_place ? red_black_sweeps(S, b, x, count) : jacobi_sweeps(S, b, count));
        w->iteration += count;
        TRY(look(S, b, x, &residual));
        TRY(kry_watch_measured(w, residual, &go));
    }
    TRY(settle(S, x));
done:
    return st;
}

/* SOR: each colour reads all of x and b and writes all lines of x. */
static double bytes_per_sweep(const relaxation *S)
{
    kry_op_info A;
    double word = (double)S->A->shape.rows * (double)kry_type_size(S->A->shape.type);

    if (!S->in_place) return kry_relaxer_bytes(&S->sweep);
    kry_op_describe(S->A, &A);
    return A.bytes_per_apply > 0 ? 2 * (A.bytes_per_apply + word) : 0;
}

static kry_status relaxation_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    relaxation *S = self;
    kry_status st = KRY_OK;
    const kry_truth *T = S->watch.truth;
    double norm_b = T ? T->norm_b : 0, residual = 0;

    if (!T) TRY(kry_rhs_norm(b, S->square, &norm_b));
    if (T) b = T->rhs;
    kry_watch_begin(&S->watch, norm_b);
    if (T) kry_watch_leave(&S->watch, T->inconsistent);
    if (norm_b == 0) {
        TRY(kry_vec_fill(x, 0.0));
        kry_watch_end(&S->watch, KRY_CONVERGED_ZERO, 0.0, "b is zero, and so is x", res);
    } else {
        TRY(true_residual(S, b, x, &residual));
        TRY(kry_guess_check(residual));
        while (kry_watch_judge(&S->watch, residual, res)) {
            TRY(iterate(S, b, x, residual));
            TRY(true_residual(S, b, x, &residual));
        }
    }
    res->setup_seconds = S->setup_seconds;
    res->bytes = bytes_per_sweep(S) * (double)res->iterations;
    res->solve_seconds = kry_now() - S->watch.start;
    st = kry_reason_status(res->reason);
done:
    return st;
}

static kry_status relaxation_apply(void *self, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y)
{
    return kry_apply_by_solve(relaxation_solve, self, &(kry_scaling){ alpha, beta }, x, y);
}

static kry_status relaxation_update(void *self, const void *values)
{
    relaxation *S = self;
    if (values) return kry_fail(KRY_ERR_ARGUMENT, "kry_op_update: 'relaxation' takes no values");
    return kry_relaxer_update(&S->sweep);
}

static void relaxation_describe(void *self, kry_op_info *info)
{
    info->variant = ((relaxation *)self)->in_place ? "red-black sor" : "jacobi";
}

static void relaxation_destroy(void *self)
{
    relaxation *S = self;
    if (!S) return;
    kry_watch_release(&S->watch);
    kry_sum_release(&S->square);
    kry_vec_release(&S->other);
    kry_relaxer_release(&S->sweep);
    kry_op_release(&S->A);
    free(S);
}

static const kry_op_table relaxation_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "relaxation",
    .apply = relaxation_apply,
    .update = relaxation_update,
    .solve = relaxation_solve,
    .describe = relaxation_describe,
    .destroy = relaxation_destroy,
};

kry_watch *kry_relaxation_watch(const kry_op *op)
{
    return op->table == &relaxation_table ? &((relaxation *)op->self)->watch : NULL;
}

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_relaxation_params *p = params;

    CHECK(p->method == KRY_JACOBI_ITERATION || p->method == KRY_SOR, KRY_ERR_ARGUMENT,
          "kry_relaxation_create: method = %d is none", (int)p->method);
    CHECK(p->omega >= 0 && p->omega < 2, KRY_ERR_ARGUMENT,
          "kry_relaxation_create: omega = %g is not in (0, 2), outside of which nothing converges",
          p->omega);
    CHECK(!(A->shape.traits & KRY_SINGULAR), KRY_ERR_SINGULAR,
          "kry_relaxation_create: '%s' is singular: it maps constants to zero, so x is known but "
          "for a constant; take conjugate gradients (kry_pcg_create, method=pcg), give a value on "
          "one side, or pin an unknown (kry_pin_create)",
          A->table->kind);
done:
    return st;
}

static kry_status allocate(relaxation *S, const kry_stop *stop, const kry_relaxation_params *p)
{
    kry_status st = KRY_OK;
    kry_op *A = S->A;

    if (S->in_place)
        TRY(A->table->sweep_colour(A->self, 0, 0, NULL, NULL));
    else
        TRY(kry_relaxer_create("kry_relaxation_create", A, &S->sweep));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &S->other));
    TRY(kry_sum_create(A->dev, 1, &S->square));
    TRY(kry_watch_create(A->dev, stop, p->monitor, p->monitor_user, &S->watch));
    S->watch.every = stop->check_every;
    TRY(kry_device_finish(A->dev));
done:
    return st;
}

static kry_status create(const kry_op *A, const void *given, kry_op **solver)
{
    enum { LOOK_EVERY = 50 }; /* sweeps: a look costs about one, and a round trip */
    kry_status st = KRY_OK;
    const kry_relaxation_params *params = given;
    relaxation *S = NULL;
    double start = kry_now();

    CHECK(params->method != KRY_SOR || A->table->sweep_colour, KRY_ERR_UNSUPPORTED,
          "kry_relaxation_create: '%s' offers no red-black sweep", A->table->kind);
    kry_stop stop = params->stop;
    int64_t unknowns;
    TRY(kry_layout_rows(&A->dev->layout, A->shape.rows, NULL, &unknowns));
    TRY(kry_stop_check("kry_relaxation_create", A->shape.type, unknowns, &stop));
    if (!stop.check_every) stop.check_every = LOOK_EVERY;
    TRY(kry_alloc(1, sizeof *S, &S));
    S->A = kry_op_retain(A);
    S->layout = &A->dev->layout;
    S->in_place = params->method == KRY_SOR;
    S->omega = params->omega > 0 ? params->omega : 1;
    S->exact = params->monitor && params->stop.check_every;
    TRY(allocate(S, &stop, params));
    S->setup_seconds = kry_now() - start;
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    TRY(kry_op_create(A->dev, &relaxation_table, S, &shape, solver));
    S = NULL;
done:
    relaxation_destroy(S);
    return st;
}

kry_status kry_relaxation_create(const kry_op *A, const kry_relaxation_params *params,
                                 kry_op **solver)
{
    static const kry_constructor how = { "kry_relaxation_create", "KRY_RELAXATION", sizeof *params,
                                         .check = check, .create = create };
    return kry_construct(&how, A, params ? params : KRY_RELAXATION(), solver);
}
