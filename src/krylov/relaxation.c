/*
 * relaxation.c - sweeps that make A x = b hold row by row, as solvers of their own.
 *
 *   Jacobi   x := x + omega D^-1 (b - A x)
 *            all rows at once, from one vector to another
 *   SOR      x_i := x_i + omega / d_i (b_i - (A x)_i)
 *            all red rows in place, then all black ones; omega = 1 is Gauss and Seidel's
 *
 * Storage     none beside r, which is the other iterate of Jacobi's iteration
 * Per sweep   grids: Jacobi 3 words (reads x, b, writes x'), SOR 6 (each colour touches every cache
 *             line); Jacobi on other operators: the product and 5 words
 * Waits       once in check_every sweeps, for the residual: Jacobi's comes with the sweep that is
 *             next anyway, SOR's takes a pass of its own
 * Breakdown   a residual 1e10 times that of the guess: the iteration diverges
 * Source      D. M. Young, Iterative solution of large linear systems (1971), chapters 3 to 6
 */
#include "krylov/workspace.h"
#include "operator/op_parts.h"
#include "precond/sweeps.h"
#include <math.h>

typedef struct relaxation {
    kryi_workspace W;
    bool in_place; /* SOR */
    double omega;
    int64_t every;        /* sweeps between two tests of the residual */
    kryi_relaxer relaxer; /* Jacobi's */
    kry_sum *square;
    /* of a cycle, borrowed: */
    kryi_cycle *c;
    kry_vec *at, *next; /* Jacobi: the iterate, and where the one after it goes; */
    bool ahead;         /* that one is there already */
    char text[48];      /* for kry_op_describe */
} relaxation;

/* ---- sweeps ------------------------------------------------------------------------------ */

/* next := the iterate after `at`. With sum: the squared residual of `at`. */
static kry_status jacobi_sweep(relaxation *S, kry_sum *sum)
{
    const kryi_relax s = { .c1 = S->omega, .b = S->c->b, .x = S->at };
    return kryi_relaxer_run(&S->relaxer, &s, S->next, sum);
}

static kry_status sweep(relaxation *S, int64_t count)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->A;
    const int colours = S->in_place ? A->fused->colours(A->self) : 0;

    for (int64_t i = 0; i < colours * count; i++)
        TRY(A->fused->sweep_colour(A->self, (int)(i % colours), S->omega, S->c->b, S->c->x));
    for (int64_t i = 0; i < count && !S->in_place; i++) {
        if (!S->ahead) TRY(jacobi_sweep(S, NULL));
        kryi_workspace_swap(&S->at, &S->next);
        S->ahead = false;
    }
done:
    return st;
}

/* The iterate lies in x. */
static kry_status settle(relaxation *S)
{
    kry_status st = KRY_OK;

    if (S->at != S->c->x) TRY(kry_vec_copy(S->at, S->c->x));
    S->ahead = S->ahead && S->at == S->c->x;
    S->at = S->c->x, S->next = S->c->r;
done:
    return st;
}

/* ---- a cycle ------------------------------------------------------------------------------- */

/* The residual of the iterate, in the numbers of b. Waits. */
static kry_status measure(relaxation *S, double *residual)
{
    kry_status st = KRY_OK;
    kryi_cycle *c = S->c;

    if (S->in_place) {
        TRY(kry_op_residual(S->W.K->A, c->b, c->x, c->r));
        TRY(kry_vec_dot_sum(c->r, c->r, S->square));
    } else {
        if (c->progress->shows_x) TRY(settle(S)); /* the monitor may look into x */
        TRY(jacobi_sweep(S, S->square));
        S->ahead = true;
    }
    TRY(kryi_sum_read(c->r->layout, S->square, residual));
    *residual = sqrt(*residual);
done:
    return st;
}

/* Test the residual of this iteration. */
static kry_status test_residual(relaxation *S, double residual)
{
    kryi_progress *p = S->c->progress;
    return kryi_progress_test(p, (p->iteration + S->every - 1) / S->every, residual, S->c->goal);
}

/* Sweeps until the residual, the limit or the monitor ends them. */
static kry_status relaxation_cycle(void *self, kryi_cycle *c)
{
    relaxation *S = self;
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    double residual;

    S->c = c;
    S->at = c->x, S->next = c->r, S->ahead = false;
    if (p->iteration == 0) TRY(test_residual(S, c->norm));
    while (kryi_progress_iterates(p)) {
        int64_t count = S->every - p->iteration % S->every, left = p->max_iter - p->iteration;
        if (count > left) count = left;
        TRY(sweep(S, count));
        p->iteration += count;
        TRY(measure(S, &residual));
        TRY(test_residual(S, residual));
    }
    if (!S->in_place) TRY(settle(S));
done:
    return st;
}

/* SOR: each colour reads all of x and b and writes all lines of x. */
static double relaxation_bytes(const void *self)
{
    const relaxation *S = self;
    kry_op_info A;
    double word = (double)S->W.K->A->shape.rows * (double)kry_type_size(S->W.K->A->shape.type);

    if (!S->in_place) return kryi_relaxer_bytes(&S->relaxer);
    kry_op_describe(S->W.K->A, &A);
    return A.bytes_per_apply > 0 ? 2 * (A.bytes_per_apply + word) : 0;
}

static kry_status relaxation_update(void *self)
{
    return kryi_relaxer_update(&((relaxation *)self)->relaxer);
}

static void relaxation_describe(const void *self, kry_op_info *info)
{
    relaxation *S = (relaxation *)self; /* the text is no part of its value */

    kryi_print(S->text, sizeof S->text, "%s, omega=%g", S->in_place ? "red-black sor" : "jacobi",
               S->omega);
    info->variant = S->text;
}

static void relaxation_destroy(void *self) { kryi_relaxer_release(&((relaxation *)self)->relaxer); }

/* ---- making one -------------------------------------------------------------------------- */

static kry_status relaxation_create(void *self)
{
    enum { TEST_EVERY = 50 }; /* sweeps: a test costs about one, and a round trip */
    kry_status st = KRY_OK;
    relaxation *S = self;
    kryi_krylov *K = S->W.K;
    const kry_relaxation_params *p = K->params;

    S->in_place = p->method == KRY_SOR;
    S->omega = p->omega > 0 ? p->omega : 1;
    S->every = p->stop.check_every              ? p->stop.check_every
               : K->A->shape.traits & KRY_WAITS ? 1
                                                : TEST_EVERY;
    K->stopping.progress.history_every = S->every;
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->square)));
    if (S->in_place)
        TRY(K->A->fused->sweep_colour(K->A->self, 0, 0, NULL, NULL));
    else
        TRY(kryi_relaxer_create("kry_relaxation_create", K->A, &S->relaxer));
done:
    return st;
}

static const kryi_method relaxation_method = {
    .kind = "relaxation",
    .who = "kry_relaxation_create",
    .ignores_null_space = true,
    .uses_rhs = true,
    .tests_on_host = true,
    .size = sizeof(relaxation),
    .create = relaxation_create,
    .cycle = relaxation_cycle,
    .bytes = relaxation_bytes,
    .update = relaxation_update,
    .describe = relaxation_describe,
    .destroy = relaxation_destroy,
};

static kry_status check(const kry_op *A, const kry_relaxation_params *p)
{
    kry_status st = KRY_OK;

    TRY(kryi_op_check_square("kry_relaxation_create", A));
    CHECK(!(A->shape.traits & KRY_SINGULAR), KRY_ERR_SINGULAR,
          "kry_relaxation_create: '%s' is singular: it maps constants to zero, so x is known but "
          "for a constant; take conjugate gradients (kry_pcg_create, method=pcg), give a value on "
          "one side",
          A->table->kind);
    const kry_op *one = kryi_op_first(A);
    CHECK(p->method != KRY_SOR || one->fused->sweep_colour, KRY_ERR_UNSUPPORTED,
          "kry_relaxation_create: '%s' offers no red-black sweep%s", one->table->kind,
          A->dev->team ? ", nor do matrices and grids in blocks on several devices" : "");
done:
    return st;
}

#define PARAMS kry_relaxation_params
const kryi_field kryi_relaxation_fields[] = {
    { KRY_FIELD(INT, method), .word = { .name = "method" }, KRY_CLOSED(0, KRY_SOR) },
    { KRY_FIELD(DOUBLE, omega), .word = { .name = "omega" }, KRY_OPEN(0, 2) },
    { KRY_FIELD(STRUCT, stop), .fields = kryi_stop_fields },
    { KRY_FIELD(LOCAL, monitor) },
    { KRY_FIELD(LOCAL, monitor_user) },
    { 0 },
};

kry_status kry_relaxation_create(const kry_op *A, const kry_relaxation_params *params,
                                 kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_relaxation_params mine;

    kryi_team_enter(kry_op_device(A), "kry_relaxation_create", NULL);
    if (solver) *solver = NULL;
    TRY(GIVEN(solver));
    CHECK(A, KRY_ERR_ARGUMENT, "kry_relaxation_create: NULL");
    TAKE_PARAMS(params, mine, "kry_relaxation_create", "KRY_RELAXATION");
    kryi_team_same_fields(A->dev, kryi_relaxation_fields, params);
    TRY(kryi_fields_check("kry_relaxation_create", kryi_relaxation_fields, params));
    TRY(check(A, params));
    TRY(kryi_krylov_make(A,
                         (kryi_setup){ .method = &relaxation_method,
                                       .check = KRY_CHECK_NONE,
                                       .stop = params->stop,
                                       .monitor = params->monitor,
                                       .monitor_user = params->monitor_user,
                                       .params = params },
                         solver));
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}
