/*
 * gupta_mixed.c - iterative refinement: the speed of single precision, the digits of double.
 *
 * An inner solve in single takes two digits off the residual; the residual itself and x are in
 * double. With A applied as fluxes and A-DEF2 inside, the iterations are about those of double
 * alone, whatever the jump: what the paper leaves to future research.
 *
 * Source   J. H. Wilkinson, Rounding errors in algebraic processes (1963): refinement.
 */
#include "gupta.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the loop ------------------------------------------------------------------------------- */

typedef struct refinement {
    const kry_op *A;     /* in double */
    const kry_op *inner; /* a solver in single, to 1e-2 or so */
    kry_vec *r, *r32;    /* residual, in both */
    kry_vec *d, *d32;    /* correction, in both */
    double *host;        /* n: what goes from one to the other */
    int outer;           /* [out] corrections */
    int64_t iterations;  /* [out] of all inner solves */
    double residual;     /* [out] ||b - A x|| / ||b|| */
} refinement;

/* d := norm M (r / norm), M the inner solver: of size one in single, so that nothing underflows. */
static kry_status correct(refinement *f, double norm)
{
    kry_status st = KRY_OK;
    kry_result result;

    TRY(kry_vec_axpby(0, f->r, 1 / norm, f->r));
    TRY(gupta_read(f->r, f->host));
    TRY(gupta_write(f->r32, f->host));
    TRY(kry_vec_fill(f->d32, 0));
    TRY(kry_solve(f->inner, f->r32, f->d32, &result));
    TRY(gupta_read(f->d32, f->host));
    TRY(gupta_write(f->d, f->host));
    f->iterations += result.iterations;
    f->outer++;
done:
    return st;
}

/* Until ||b - A x|| <= rtol ||b||, or three corrections in a row do not even halve it. One may not:
 * the first x is rounded to single in the stiff phase, too, where that costs a large residual but a
 * small error, which the next correction is about. */
static kry_status refine(refinement *f, const kry_vec *b, kry_vec *x, double rtol)
{
    kry_status st = KRY_OK;
    double norm, norm_b, least = INFINITY;
    int in_vain = 0;

    TRY(kry_vec_norm2(b, &norm_b));
    TRY(kry_vec_fill(x, 0));
    for (;;) {
        TRY(kry_op_residual(f->A, b, x, f->r));
        TRY(kry_vec_norm2(f->r, &norm));
        f->residual = norm / norm_b;
        in_vain = norm < least / 2 ? 0 : in_vain + 1;
        least = fmin(least, norm);
        if (norm <= rtol * norm_b || in_vain == 3) break;
        TRY(correct(f, norm));
        TRY(kry_vec_axpby(norm, f->d, 1, x));
    }
done:
    return st;
}

/* ---- what is refined ------------------------------------------------------------------------ */

enum { LARGEST = 256 };
static const char inner_words[] =
    "method=pcg precond=ip deflation=blocks:8+phase rtol=1e-2 maxit=1000";

static const struct row {
    const char *flow; /* behind twophase2d:N: */
    bool random_x;    /* b = A x, x in [0, 1]: its norm is the stiff phase's; else a random b */
    double rtol;
    double golden_outer, golden_inner, golden_error;
} rows[] = {
    { "1000:layers", false, 1e-8, 4, 44, 8.4e-10 },
    { "1000000:layers", false, 1e-8, 4, 44, 8.4e-10 },
    { "1000000:bubble", false, 1e-8, 4, 55, 3.1e-10 },
    { "1000:layers", true, 1e-11, 6, 61, 1.7e-12 },
    { "1000000:layers", true, 1e-11, 6, 61, 2.1e-9 },
    { "1000:bubbles", true, 1e-11, 6, 60, 6.5e-12 },
    { "1000000:bubbles", true, 1e-11, 6, 60, 9.1e-9 },
};

static void refinement_release(refinement *f)
{
    kry_vec_release(&f->r);
    kry_vec_release(&f->r32);
    kry_vec_release(&f->d);
    kry_vec_release(&f->d32);
    free(f->host);
}

static kry_status refinement_create(const bench *b, const gupta_system *s, const kry_op *inner,
                                    refinement *f)
{
    kry_status st = KRY_OK;
    int64_t n = s->problem->n;

    *f = (refinement){ .A = s->A, .inner = inner };
    TRY(kry_vec_create(b->device, KRY_F64, n, 1, &f->r));
    TRY(kry_vec_create(b->device, KRY_F64, n, 1, &f->d));
    TRY(kry_vec_create(b->device, KRY_F32, n, 1, &f->r32));
    TRY(kry_vec_create(b->device, KRY_F32, n, 1, &f->d32));
    TRY(allocate((size_t)n, sizeof *f->host, &f->host));
done:
    return st;
}

/* Refine, and the error of what comes of it. */
static kry_status refine_system(const bench *b, const gupta_system *s, double rtol, refinement *f,
                                double *error)
{
    kry_status st = KRY_OK;
    kry_op *single = NULL, *inner = NULL;

    *f = (refinement){ NULL };
    TRY(kry_stencil_create(b->device, KRY_F32, s->problem->grid, &single));
    TRY(kry_solver_create(single, inner_words, NULL, NULL, &inner));
    TRY(refinement_create(b, s, inner, f));
    TRY(refine(f, s->b, s->x, rtol));
    TRY(gupta_read(s->x, f->host));
    *error = gupta_error(s, f->host);
done:
    refinement_release(f);
    kry_op_release(&inner);
    kry_op_release(&single);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_row(const bench *b, const char *spec, const struct row *r, bool known,
                      const refinement *f, double error, const gupta_run *alone)
{
    char name[80], t[2][24];
    double golden[] = { known ? r->golden_outer : NAN, known ? r->golden_inner : NAN,
                        known ? r->golden_error : NAN };
    static const char table[] = "mixed precision";
    snprintf(name, sizeof name, "%s, %s", spec, r->random_x ? "x in [0, 1]" : "random b");
    reproduce_say(b, "%-38s%7.0e%6d%7s%6" PRId64 "%7s%7" PRId64 "%9.1e",
                  name + strlen("twophase2d:"), r->rtol, f->outer,
                  gupta_whole(golden[0], t[0], sizeof t[0]), f->iterations,
                  gupta_whole(golden[1], t[1], sizeof t[1]), alone->iterations, error);
    if (known)
        reproduce_say(b, "%9.1e\n", golden[2]);
    else
        reproduce_say(b, "%9s\n", "-");
    const cell cells[] = {
        { table, name, "outer", "1", NAN, f->outer, golden[0], NULL },
        { table, name, "inner", "1", NAN, (double)f->iterations, golden[1], NULL },
        { table, name, "residual", "1", NAN, f->residual, NAN, NULL },
        { table, name, "error", "1", NAN, error, golden[2], NULL },
        { table, name, "double_alone", "1", NAN, (double)alone->iterations, NAN, NULL },
    };
    for (size_t i = 0; i < COUNT(cells); i++) reproduce_cell(b, "gupta", &cells[i]);
}

static kry_status make_row(const bench *b, const struct row *r, int64_t n)
{
    kry_status st = KRY_OK;
    gupta_system s = { NULL };
    refinement f = { NULL };
    gupta_run alone;
    char spec[64], words[160];
    double error = NAN;

    snprintf(spec, sizeof spec, "twophase2d:%" PRId64 ":%s", n, r->flow);
    snprintf(words, sizeof words, "method=pcg precond=ip deflation=blocks:8+phase rtol=%g",
             r->rtol);
    TRY(gupta_system_create(b, spec, KRY_F64, &s));
    if (r->random_x)
        TRY(gupta_system_random(b, 0, 1, &s));
    else
        TRY(gupta_system_solution(b, &s));
    TRY(gupta_solve(&s, words, NULL, NULL, &alone));
    TRY(refine_system(b, &s, r->rtol, &f, &error));
    print_row(b, spec, r, n == LARGEST, &f, error, &alone);
done:
    gupta_system_release(&s);
    return st;
}

kry_status gupta_mixed(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;

    if (n > LARGEST) n = LARGEST;
    reproduce_say(b,
                  "mixed precision, residual and x in double around a solve in single with\n%s\n"
                  "%-38s%7s%6s%7s%6s%7s%7s%9s%9s\n",
                  inner_words, "", "to", "outer", "golden", "inner", "golden", "double", "error",
                  "golden");
    for (size_t i = 0; i < COUNT(rows); i++) TRY(make_row(b, &rows[i], n));
    reproduce_say(b, "\n");
done:
    return st;
}
