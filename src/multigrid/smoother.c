/*
 * smoother.c - smoothers as sequences of steps x := x + w_i D^-1 (b - A x), after which the error is
 * p(D^-1 A) times what it was, p(s) = (1 - w_1 s) ... (1 - w_k s); or of such steps for one colour after
 * the other, in place.
 *
 * A polynomial of degree k in D^-1 A is written down by its roots 1 / w_i instead of by a recurrence of
 * three terms: a step then needs nothing but x, and every smoother is the same loop. Rounding does not
 * suffer for degrees as small as these. Afterwards the steps come in the opposite order, so that the cycle
 * is symmetric.
 *
 *   Jacobi               w = omega, or 1.6 / highest: 4/5 where the highest eigenvalue is 2
 *   Chebyshev            the w_i that make |p| small on highest / 4 ... highest
 *   of the fourth kind   those that make the bound for a V-cycle small, the maximum over 0 < s <= highest
 *                        of s p(s)^2 / (1 - p(s)^2)
 *   red-black            w = omega, or 1; points of a colour do not touch each other
 *
 * Source  J. Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30
 *         (2023), e2518: the roots of the polynomials of section 4, which have equal ripples;
 *         M. Adams, M. Brezina, J. Hu, R. Tuminaro, Parallel multigrid smoothing: polynomial versus
 *         Gauss-Seidel, J. Comput. Phys. 188 (2003): Chebyshev
 */
#include "multigrid/smoother.h"
#include "grid/stencil.h"
#include "multigrid/part_window.h"
#include "operator/op.h"
#include "precond/rows.h"
#include "precond/spectrum.h"
#include <kry/multigrid.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1 / root for the highest eigenvalue 1, degree 1 first. */
static const double fourth[KRY_SMOOTHER_DEGREE][KRY_SMOOTHER_DEGREE] = {
    { 1.5 },
    { 3.6180339887498948, 1.1180339887498948 },
    { 6.8508550753271436, 1.6920214716300959, 1.0549581320873712 },
    { 11.1702446109534064, 2.5320888862379561, 1.3472963553338607, 1.0320888862379561 },
    { 16.5722449347966221, 3.6014930128913571, 1.7784344533346518, 1.2137940802182807,
      1.0211085581132027 },
    { 23.0557824470217744, 4.8921667694478214, 2.3176504130529046, 1.48688975709551,
      1.1462612327090038, 1.0149639154748637 },
    { 30.6204640601639809, 6.4014201055027079, 2.9562952014676113, 1.8270909152852018,
      1.3382612127177164, 1.1068636913173802, 1.0111702974325146 },
    { 39.2661173700020765, 8.1281320875152248, 3.6910738223323656, 2.2262967851644993,
      1.5780010743356561, 1.2506076090467029, 1.0817061215889572, 1.0086609187583941 },
};

static void jacobi_steps(const kry_cycle_params *c, double highest, double *step)
{
    step[0] = c->omega > 0 ? c->omega : 1.6 / highest;
}

static void red_black_steps(const kry_cycle_params *c, double highest, double *step)
{
    (void)highest;
    step[0] = c->omega > 0 ? c->omega : 1;
}

static void chebyshev_steps(const kry_cycle_params *c, double highest, double *step)
{
    const double pi = acos(-1), middle = highest * (1 + 0.25) / 2, half = highest * (1 - 0.25) / 2;
    for (int i = 0; i < c->degree; i++)
        step[i] = 1 / (middle - half * cos(pi * (2 * i + 1) / (2 * c->degree)));
}

static void chebyshev4_steps(const kry_cycle_params *c, double highest, double *step)
{
    for (int i = 0; i < c->degree; i++) step[i] = fourth[c->degree - 1][i] / highest;
}

static const struct {
    void (*steps)(const kry_cycle_params *c, double highest, double *step);
    bool polynomial; /* of a degree */
    bool coloured;
    const char *name;
} kinds[] = {
    [KRY_SMOOTHER_JACOBI] = { .steps = jacobi_steps, .name = "jacobi" },
    [KRY_SMOOTHER_CHEBYSHEV] = { .steps = chebyshev_steps,
                                 .polynomial = true,
                                 .name = "chebyshev" },
    [KRY_SMOOTHER_CHEBYSHEV4] = { .steps = chebyshev4_steps,
                                  .polynomial = true,
                                  .name = "chebyshev4" },
    [KRY_SMOOTHER_RED_BLACK] = { .steps = red_black_steps, .coloured = true, .name = "red-black" },
};

kry_status kryi_smoother_check(const char *who, kry_cycle_params *c)
{
    kry_status st = KRY_OK;

    if (c->smoother == KRY_SMOOTHER_AUTO) c->smoother = KRY_SMOOTHER_CHEBYSHEV4;
    CHECK(!kinds[c->smoother].coloured || c->scaling == KRY_SCALING_DIAGONAL, KRY_ERR_ARGUMENT,
          "%s: red-black sweeps have no scaling", who);
    CHECK(!kinds[c->smoother].coloured || c->omega < 2, KRY_ERR_ARGUMENT,
          "%s: omega = %g; red-black sweeps converge below 2", who, c->omega);
    if (!c->degree) c->degree = 2;
    if (!c->sweeps) c->sweeps = 1;
done:
    return st;
}

void kryi_smoother_name(const kry_cycle_params *c, char *name, size_t size)
{
    static const char *const scalings[] = { "", "l1-", "block-", "fsai-" };
    char degree[16] = "";

    if (kinds[c->smoother].polynomial) snprintf(degree, sizeof degree, ":%d", c->degree);
    snprintf(name, size, "%s%s%s", scalings[c->scaling], kinds[c->smoother].name, degree);
}

static int steps_of(const kry_cycle_params *c)
{
    return c->sweeps * (kinds[c->smoother].polynomial ? c->degree : 1);
}

int kryi_smoother_steps(const kry_cycle_params *c)
{
    const bool plain = !kinds[c->smoother].coloured && c->scaling == KRY_SCALING_DIAGONAL;
    return plain ? steps_of(c) : 0;
}

/* All sweeps one after the other, and the same from behind. */
static void write_down(const kry_cycle_params *c, kryi_smoothing *s)
{
    const int count = steps_of(c), of_one = count / c->sweeps;
    double one[KRY_SMOOTHER_DEGREE];

    kinds[c->smoother].steps(c, s->highest, one);
    for (int i = 0; i < count; i++) s->step[i] = s->step[2 * count - 1 - i] = one[i % of_one];
    s->down = s->up = (kryi_sweeps){ .count = count, .coloured = kinds[c->smoother].coloured };
    s->down.step = s->step;
    s->up.step = s->step + count, s->up.reverse = true;
}

static kry_status find_highest(const char *who, const kryi_level *level, const kry_cycle_params *c,
                               kryi_smoothing *s)
{
    if (kinds[c->smoother].coloured) return KRY_OK;
    if (c->omega > 0 && !kinds[c->smoother].polynomial) return KRY_OK;
    s->highest = c->scaling == KRY_SCALING_DIAGONAL ? level->highest : 0;
    if (c->scaling == KRY_SCALING_L1) s->highest = 1;
    if (s->highest > 0) return KRY_OK;
    return kryi_spectrum_bound(who, level->A, s->relaxer.M, &s->highest);
}

static kry_status get_colours_ready(const char *who, const kry_op *A)
{
    kry_status st = KRY_OK;

    CHECK(A->fused->sweep_colour, KRY_ERR_UNSUPPORTED,
          "%s: '%s' has no colours; red-black sweeps are for grids", who, A->table->kind);
    TRY(A->fused->sweep_colour(A->self, 0, 0, NULL, NULL));
done:
    return st;
}

/* ---- what takes the place of D^-1 ------------------------------------------------------------ */

/*
 * Diagonal and block diagonal matrices that stand for the inverse of A in smoothing steps.
 *
 *   l1      1 / sum_j |a_ij|: x'A x is at most the sum of these times x_i^2, so that every step up to 2 makes
 *           the error smaller in the energy norm
 *   block   the inverses of the diagonal blocks of nodes
 *
 * Source  A. H. Baker, R. D. Falgout, T. V. Kolev, U. M. Yang, SIAM J. Sci. Comput. 33 (2011), 2864-2887,
 *         doi:10.1137/100798806
 */

static double l1_entry(const kryi_csr *A, int64_t i)
{
    const double *val = A->val;
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) sum += fabs(val[e]);
    return sum;
}

/* *M NULL: D^-1. kry_op_update(M, NULL) follows A. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if A has no entries to read; KRY_ERR_SINGULAR if M does not exist */
static kry_status scaling_create(const kry_op *A, kry_smoother_scaling scaling, kry_op **M)
{
    *M = NULL;
    switch (scaling) {
    case KRY_SCALING_DIAGONAL: break;
    case KRY_SCALING_L1: return kryi_row_jacobi_create(A, l1_entry, M);
    case KRY_SCALING_BLOCK: return kry_block_jacobi_create(A, NULL, M);
    case KRY_SCALING_FSAI: return kry_fsai_create(A, NULL, M);
    }
    return KRY_OK;
}

static kry_status create_relaxer(const char *who, const kry_op *A, kry_smoother_scaling scaling,
                                 kryi_relaxer *w)
{
    kry_status st = KRY_OK;
    kry_op *M = NULL;

    TRY(scaling_create(A, scaling, &M));
    TRY(M ? kryi_relaxer_create_with(who, A, M, w) : kryi_relaxer_create(who, A, w));
done:
    kry_op_release(&M);
    return st;
}

kry_status kryi_smoothing_create(const char *who, const kryi_level *level,
                                 const kry_cycle_params *c, kryi_smoothing *s)
{
    kry_status st = KRY_OK;

    memset(s, 0, sizeof *s);
    s->A = level->A, s->shell = level->shell, s->scaling = c->scaling;
    TRY(kinds[c->smoother].coloured ? get_colours_ready(who, s->A)
                                    : create_relaxer(who, s->A, c->scaling, &s->relaxer));
    const kryi_stencil *grid = kryi_stencil_of(s->A);
    s->entry = grid && c->scaling == KRY_SCALING_DIAGONAL ? kryi_stencil_diagonal_entry(grid) : 0;
    TRY(find_highest(who, level, c, s));
    write_down(c, s);
done:
    if (st < 0) kryi_smoothing_release(s);
    return st;
}

kry_status kryi_smoothing_update(const char *who, const kryi_level *level,
                                 const kry_cycle_params *c, kryi_smoothing *s)
{
    kry_status st = KRY_OK;

    TRY(kryi_relaxer_update(&s->relaxer));
    TRY(find_highest(who, level, c, s));
    write_down(c, s);
done:
    return st;
}

void kryi_smoothing_release(kryi_smoothing *s)
{
    kryi_relaxer_release(&s->relaxer);
    memset(s, 0, sizeof *s);
}

/* In place: the transpose of sweeps are the same ones in the opposite order. */
static kry_status run_colours(const kry_op *A, const kryi_sweeps *sweeps, bool zero,
                              const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    const int colours = A->fused->colours(A->self);

    if (zero) TRY(kry_vec_fill(x, 0));
    for (int i = 0; i < sweeps->count; i++)
        for (int k = 0; k < colours; k++) {
            const int colour = sweeps->reverse ? colours - 1 - k : k;
            TRY(A->fused->sweep_colour(A->self, colour, sweeps->step[i], b, x));
        }
done:
    return st;
}

kry_status kryi_smoothing_run(kryi_smoothing *s, const kryi_sweeps *sweeps, bool zero,
                              const kry_vec *b, kry_vec *place[2])
{
    kry_status st = KRY_OK;

    if (sweeps->coloured) return run_colours(s->A, sweeps, zero, b, place[0]);
    /* A first step that makes a multiple of b is not written down. */
    const bool skips = zero && s->entry != 0 && sweeps->count > 1;
    for (int i = 0; i < sweeps->count; i++) {
        kryi_relax step = { .c1 = sweeps->step[i], .b = b, .x = zero && !i ? NULL : place[0] };
        if (s->shell && i && i % KRY_SMOOTHER_APART == 0)
            TRY(kryi_shell_refresh(s->shell, place[0]));
        if (skips && i == 1) step.x = b, step.x_scale = sweeps->step[0] / s->entry;
        if (!skips || i > 0)
            TRY(kryi_relaxer_run(&s->relaxer, &step, place[1],
                                 i == sweeps->count - 1 ? sweeps->sum : NULL));
        kry_vec *room = place[0];
        place[0] = place[1], place[1] = room;
    }
done:
    return st;
}
