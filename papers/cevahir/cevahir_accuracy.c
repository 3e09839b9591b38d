/*
 * cevahir_accuracy.c - what their method is for: solutions as good as those of double precision,
 * from iterations in single. b = A x for a random x, asked for 1e-10; residuals and errors are of
 * the system in double, whatever solved it.
 */
#include "cevahir.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLE, MIXED, DOUBLE, PRECISIONS };
static const struct precision {
    const char *name;
    kry_type type; /* of the operator and of x */
    const char *words;
} precisions[PRECISIONS] = {
    { "single", KRY_F32, "rtol=1e-6" },
    { "mixed", KRY_F64, "rtol=1e-10 precision=mixed" },
    { "double", KRY_F64, "rtol=1e-10" },
};

/* Harder ones than theirs, with the iterations of another program: in mixed precision by reliable
 * updates, in double. Those of random matrices are others of the same kind. */
static const struct hard {
    const char *spec;
    double mixed, dbl;
} hard[] = {
    { "poisson2d:256", 737, 735 },
    { "poisson3d:40", 161, 161 },
    { "anisotropic2d:128:0.001", 702, 696 },
    { "elasticity2d:100x25", 1302, 569 },
    { "elasticity2d:100x25:1000", NAN, NAN },
    { "plate2d:48", 1842, 1228 },
    { "plate2d:80", 4893, 3306 },
    { "geograph_spd:30000", NAN, NAN },
    { "circuit_spd:4000", NAN, NAN },
};

static double golden_iterations(const char *row, int precision)
{
    for (size_t i = 0; i < COUNT(hard); i++)
        if (!strcmp(row, hard[i].spec))
            return precision == MIXED ? hard[i].mixed : precision == DOUBLE ? hard[i].dbl : NAN;
    return NAN;
}

/* ---- a solve -------------------------------------------------------------------------- */

typedef struct system_in_double {
    const source *src;
    kry_op *A;          /* in double */
    kry_vec *x, *b, *r; /* the solution, b = A x, room; in double */
    double norm_x, norm_b;
} system_in_double;

typedef struct outcome {
    double iterations, residual, error; /* the last two relative; NaN: none */
    char refused[400];                  /* why there is none, or it did not converge */
    char promoted[400];                 /* why mixed precision went on otherwise, "": it did not */
} outcome;

static kry_status make_operator(const bench *b, const source *src, kry_type type, kry_op **A)
{
    const form f = { .stored = true, .matrix = *KRY_MATRIX(.traits = 0) };
    return source_operator(src, b->device, type, &f, A);
}

static void system_release(system_in_double *s)
{
    kry_vec_release(&s->r);
    kry_vec_release(&s->b);
    kry_vec_release(&s->x);
    kry_op_release(&s->A);
}

static kry_status system_create(const bench *b, const source *src, system_in_double *s)
{
    kry_status st = KRY_OK;
    s->src = src;
    TRY(make_operator(b, src, KRY_F64, &s->A));
    TRY(bench_vec(b, src->rows, 0, &s->x));
    TRY(kry_vec_create(b->device, KRY_F64, src->rows, 1, &s->b));
    TRY(kry_vec_create(b->device, KRY_F64, src->rows, 1, &s->r));
    TRY(kry_op_apply(s->A, 1, s->x, 0, s->b));
    TRY(kry_vec_norm2(s->x, &s->norm_x));
    TRY(kry_vec_norm2(s->b, &s->norm_b));
done:
    return st;
}

/* to := from, of any types. */
static kry_status copy_numbers(const kry_vec *from, kry_vec *to)
{
    kry_status st = KRY_OK;
    size_t n = (size_t)kry_vec_rows(from);
    double *wide = NULL;
    float *narrow = NULL;
    TRY(allocate(n, sizeof *wide, &wide));
    TRY(allocate(n, sizeof *narrow, &narrow));
    bool in_single = kry_vec_type(from) == KRY_F32;
    TRY(kry_vec_read(from, in_single ? (void *)narrow : (void *)wide));
    for (size_t i = 0; i < n; i++) {
        if (in_single)
            wide[i] = (double)narrow[i];
        else
            narrow[i] = (float)wide[i];
    }
    TRY(kry_vec_write(to, kry_vec_type(to) == KRY_F32 ? (const void *)narrow : (const void *)wide));
done:
    free(narrow);
    free(wide);
    return st;
}

/* Of y, a solution in double. */
static kry_status judge(const system_in_double *s, const kry_vec *y, outcome *o)
{
    kry_status st = KRY_OK;
    TRY(kry_op_residual(s->A, s->b, y, s->r));
    TRY(kry_vec_norm2(s->r, &o->residual));
    TRY(kry_vec_copy(s->x, s->r));
    TRY(kry_vec_axpby(-1, y, 1, s->r));
    TRY(kry_vec_norm2(s->r, &o->error));
    o->residual /= s->norm_b;
    bool known = !s->src->problem || !s->src->problem->singular; /* else but for a constant */
    o->error = known ? o->error / s->norm_x : NAN;
done:
    return st;
}

static kry_status run_solver(const kry_op *solver, const kry_vec *b, kry_vec *y, outcome *o)
{
    kry_status st = KRY_OK;
    kry_result result;
    TRY(kry_vec_fill(y, 0));
    TRY(kry_solve(solver, b, y, &result));
    o->iterations = (double)result.iterations;
    snprintf(o->promoted, sizeof o->promoted, "%s", result.promoted_why);
    if (st > 0) snprintf(o->refused, sizeof o->refused, "%s", result.why);
    st = KRY_OK;
done:
    return st;
}

/* Solve in one precision; a solver that this build or device does not have is refused. */
static kry_status solve_in(const bench *b, const system_in_double *s, int precision, outcome *o)
{
    kry_status st = KRY_OK;
    const struct precision *p = &precisions[precision];
    char words[128];
    kry_op *A = NULL, *solver = NULL;
    kry_vec *rhs = NULL, *y = NULL, *wide = NULL;
    *o = (outcome){ NAN, NAN, NAN, "", "" };
    snprintf(words, sizeof words, "%s %s", s->src->mtx ? "method=pcg precond=jacobi" : "method=cg",
             p->words);
    TRY(make_operator(b, s->src, p->type, &A));
    st = kry_solver_create(A, words, NULL, NULL, &solver);
    if (st == KRY_ERR_PARSE || st == KRY_ERR_UNSUPPORTED) {
        snprintf(o->refused, sizeof o->refused, "%s", kry_last_error());
        st = KRY_OK;
        goto done;
    }
    TRY(st);
    TRY(kry_vec_create(b->device, p->type, s->src->rows, 1, &rhs));
    TRY(kry_vec_create(b->device, p->type, s->src->rows, 1, &y));
    TRY(kry_vec_create(b->device, KRY_F64, s->src->rows, 1, &wide));
    TRY(copy_numbers(s->b, rhs));
    TRY(run_solver(solver, rhs, y, o));
    TRY(copy_numbers(y, wide));
    TRY(judge(s, wide, o));
done:
    kry_vec_release(&wide);
    kry_vec_release(&y);
    kry_vec_release(&rhs);
    kry_op_release(&solver);
    kry_op_release(&A);
    return st;
}

/* ---- printing ------------------------------------------------------------------------- */

static void print_outcome(const bench *b, const char *row, int precision, const outcome *o)
{
    const char *refused = o->refused[0] ? o->refused : NULL, *column = precisions[precision].name;
    const cell cells[] = {
        { "iterations", row, column, "iterations", NAN, refused ? NAN : o->iterations,
          golden_iterations(row, precision), refused },
        { "accuracy, residual", row, column, "true relative residual", NAN, o->residual, NAN,
          refused },
        { "accuracy, error", row, column, "relative error", NAN, o->error, NAN, refused },
    };
    for (size_t i = 0; i < COUNT(cells); i++) reproduce_cell(b, "cevahir", &cells[i]);
    if (isnan(o->residual))
        reproduce_say(b, "%7s%9s%9s", "-", "-", "-");
    else
        reproduce_say(b, "%7.0f%9.1e%9.1e", o->iterations, o->residual, o->error);
}

/* What holds for every matrix is said once. */
static void say_why(const bench *b, const char *precision, const char *refused)
{
    char *said = b->user;
    if (!refused[0] || !strcmp(said, refused)) return;
    snprintf(said, sizeof((outcome *)NULL)->refused, "%s", refused);
    cevahir_refused(b, precision, refused);
}

static kry_status accuracy_row(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    system_in_double s = { NULL };
    outcome o[PRECISIONS];
    bool square = src->rows == src->cols;
    if (square) TRY(system_create(b, src, &s));
    reproduce_say(b, "%-24.24s", cevahir_name(src->name));
    for (int p = 0; p < PRECISIONS; p++) {
        o[p] = (outcome){ NAN, NAN, NAN, "the matrix is not square", "" };
        if (square) TRY(solve_in(b, &s, p, &o[p]));
        print_outcome(b, src->name, p, &o[p]);
    }
    reproduce_say(b, "\n");
    for (int p = 0; p < PRECISIONS; p++) {
        say_why(b, precisions[p].name, o[p].refused);
        say_why(b, "mixed, promoted", o[p].promoted);
    }
done:
    system_release(&s);
    return st;
}

kry_status cevahir_accuracy(bench *b)
{
    kry_status st = KRY_OK;
    const char *specs[COUNT(hard)];
    char said[sizeof((outcome *)NULL)->refused] = "";
    for (size_t i = 0; i < COUNT(hard); i++) specs[i] = hard[i].spec;
    reproduce_say(
        b, "\naccuracy: CG (files: PCG with Jacobi) to 1e-10, in single to 1e-6; iterations, "
           "true residual, error\n\n");
    if (!b->info->fp64) {
        cevahir_refused(b, "accuracy", "this device has no double precision to judge by");
        return KRY_OK;
    }
    reproduce_say(b, "%-24s%25s%25s%25s\n", "matrix", "single", "mixed", "double");
    b->type = KRY_F64;
    b->user = said;
    TRY(cevahir_sources(b, specs, COUNT(specs), accuracy_row));
done:
    b->user = NULL;
    b->type = KRY_F32;
    return st;
}
