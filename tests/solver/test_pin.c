/*
 * test_pin.c - a singular operator with one unknown pinned: against the matrix with that entry
 * doubled, its solutions against those of projection, and what has to look through it.
 */
#include "grids.h"
#include "op_suite.h"
#include "teams.h"
#include <kry/problem.h>

enum { NX = 37, NY = 23, CELLS = NX * NY };

/* ---- systems ------------------------------------------------------------------------------- */

/* Cells of a plane between walls, coefficients over three decades. */
static kry_op *walled(kry_type type)
{
    static double k[CELLS];
    kry_op *A;

    for (int i = 0; i < CELLS; i++) k[i] = pow(10, 1.5 * random_number(KRY_F64));
    OK(kry_stencil_create(device(), type,
                          KRY_STENCIL(.size = { NX, NY }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                      .high = { KRY_NEUMANN, KRY_NEUMANN }, .coefficient = k),
                          &A));
    return A;
}

/* A ring of springs, of whole strengths so that nothing is rounded. */
static matrix ring(int64_t n)
{
    matrix A = { .rows = n, .cols = n, .nnz = 3 * n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(3 * (size_t)n, sizeof *A.col);
    A.val = calloc(3 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        double below = 1 + (double)((i + n - 1) % n % 7), above = 1 + (double)(i % 7);
        A.row_ptr[i + 1] = 3 * (i + 1);
        for (int j = 0; j < 3; j++) A.col[3 * i + j] = (int32_t)((i + j - 1 + n) % n);
        A.val[3 * i] = -below, A.val[3 * i + 1] = below + above, A.val[3 * i + 2] = -above;
    }
    return A;
}

static void double_entry(matrix *A, int64_t row)
{
    for (int64_t e = A->row_ptr[row]; e < A->row_ptr[row + 1]; e++)
        if (A->col[e] == row) A->val[e] *= 2;
}

/* ---- the operator -------------------------------------------------------------------------- */

static void pin__stored(void **state)
{
    static const int64_t sizes[] = { 3, 127, 128, 1031 };
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(sizes); s++) {
        int64_t n = sizes[s], rows[] = { 0, n / 2, n - 1 };
        if (too_large(n)) continue;
        for (size_t i = 0; i < COUNT(rows); i++) {
            matrix host = ring(n);
            kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SINGULAR)), *P;
            OK(kry_pin_create(A, rows[i], &P));
            kry_op_release(&A); /* P keeps it */
            assert_int_equal(kry_op_get_shape(P)->traits, KRY_POSITIVE | KRY_SYMMETRIC);
            double_entry(&host, rows[i]);
            op_suite(P, &host);
            kry_op_release(&P);
            matrix_release(&host);
        }
    }
}

static void pin__grid(void **state)
{
    kry_type type = type_of(state);
    const grid *g = grids;
    kry_op_info info;
    kry_op *A, *P;

    while (strcmp(g->name, "cells 20 x 19")) g++;
    double *k = grid_coefficients(g, type);
    matrix host = grid_matrix(g, k);
    kry_stencil_params params = grid_params(g, k);
    OK(kry_stencil_create(device(), type, &params, &A));
    OK(kry_pin_create(A, 21, &P));
    double_entry(&host, 21);
    op_suite(P, &host);
    kry_op_describe(P, &info);
    assert_string_equal(info.kind, "pin");
    assert_string_equal(info.variant, "row 21 of stencil");
    assert_int_equal(info.nnz, host.nnz);
    kry_op_release(&P);
    kry_op_release(&A);
    matrix_release(&host);
    free(k);
}

/* New values reach A and a_rr; refused ones change nothing. */
static void pin__update(void **state)
{
    kry_type type = type_of(state);
    matrix host = ring(129);
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SINGULAR)), *P;

    OK(kry_pin_create(A, 5, &P));
    for (int64_t e = 0; e < host.nnz; e++) host.val[e] *= 3;
    void *val = in_type(type, host.val, host.nnz);
    OK(kry_op_update(P, val));
    double_entry(&host, 5);
    op_suite(P, &host);
    put(type, val, 7, (double)INFINITY);
    REFUSES(kry_op_update(P, val), KRY_ERR_ARGUMENT, "inf");
    op_suite(P, &host);
    free(val);
    kry_op_release(&P);
    kry_op_release(&A);
    matrix_release(&host);
}

/* ---- solutions ----------------------------------------------------------------------------- */

static double mean(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i];
    return sum / (double)n;
}

/* b := A x for a random x */
static kry_vec *consistent_rhs(const kry_op *A)
{
    kry_type type = kry_op_get_shape(A)->type;
    double *numbers = random_array(type, kry_op_get_shape(A)->rows);
    kry_vec *x = vec_of(type, numbers, kry_op_get_shape(A)->rows, 1), *b;

    OK(kry_vec_create(device(), type, kry_op_get_shape(A)->rows, 1, &b));
    OK(kry_op_apply(A, 1, x, 0, b));
    kry_vec_release(&x);
    free(numbers);
    return b;
}

/* To be freed. */
static double *solve(const kry_op *A, const char *words, const kry_vec *b, kry_result *res)
{
    kry_op *S;
    kry_vec *x;

    OK(kry_vec_create(device(), kry_vec_type(b), kry_vec_rows(b), 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    if (kry_solve(S, b, x, res) != KRY_OK)
        fail_msg("%s: %s: %s", words, kry_reason_word(res->reason), res->why);
    double *numbers = numbers_of(x);
    kry_op_release(&S);
    kry_vec_release(&x);
    return numbers;
}

/* x_0 = 0, and the rest as projection has it but for a constant. */
static void pin__same_solution(void **state)
{
    static const struct {
        const char *words;
        int more; /* iterations that pinning may cost, in percent of those of projection */
    } ways[] = { { "method=cg", 400 },
                 { "method=pcg precond=jacobi", 100 },
                 { "method=pcg precond=chebyshev:3", 100 },
                 { "method=pcg precond=ip", 100 },
                 { "method=pcg precond=block-ic:74", 100 },
                 { "method=pcg precond=ip deflation=blocks:6", 10 },
                 { "method=pcg deflation=blocks:6+phase,variant=bnn,az=product", 10 },
                 { "method=pcg precond=ip deflation=stripes:9,coarse=cholesky", 10 } };
    kry_type type = type_of(state);
    double rtol = type == KRY_F32 ? 1e-3 : 1e-11; /* single: x_0 = 0 costs digits */

    for (size_t w = 0; w < COUNT(ways); w++) {
        kry_op *A = walled(type);
        kry_vec *b = consistent_rhs(A);
        char words[200];
        kry_result projected, pinned;
        snprintf(words, sizeof words, "%s rtol=%g null-space=project", ways[w].words, rtol);
        double *want = solve(A, words, b, &projected);
        snprintf(words, sizeof words, "%s rtol=%g null-space=pin", ways[w].words, rtol);
        double *got = solve(A, words, b, &pinned);
        double shift = mean(got, CELLS);
        if (type == KRY_F64) {
            NEAR(got[0], 0, 1e-5, "x[0] by %s", words);
            for (int i = 0; i < CELLS; i++)
                NEAR(got[i] - shift, want[i], 1e-5, "x[%d] by %s", i, words);
            int64_t most = projected.iterations * (100 + ways[w].more) / 100 + 2;
            if (pinned.iterations > most)
                fail_msg("%d iterations pinned, %d projected, by %s", (int)pinned.iterations,
                         (int)projected.iterations, words);
        }
        free(got), free(want);
        kry_vec_release(&b);
        kry_op_release(&A);
    }
}

/* What counts is A's residual: what is left in other rows adds up in the pinned one, and of a b
 * without a solution that is all the more. */
static void pin__residual_of_what_is_pinned(void **state)
{
    static const char *const ways[] = { "method=cg", "method=pcg precond=chebyshev:3",
                                        "method=pcg deflation=stripes:5",
                                        "method=pcg precision=mixed" };
    kry_type type = type_of(state);
    size_t count = type == KRY_F32 ? COUNT(ways) - 1 : COUNT(ways);

    for (size_t w = 0; w < count; w++) {
        matrix host = ring(173);
        kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SINGULAR));
        kry_vec *b = consistent_rhs(A), *x, *r;
        char words[200];
        kry_result res;
        double norm;
        /* without double P x = b cannot be had to 1e-3 for a b without a solution of A x = b */
        snprintf(words, sizeof words, "%s rtol=%s null-space=pin", ways[w],
                 kry_device_get_info(device())->fp64 ? "1e-3" : "1e-2");
        double *answer = solve(A, words, b, &res);
        x = vec_of(type, answer, host.rows, 1), r = vec_of(type, answer, host.rows, 1);
        OK(kry_op_residual(A, b, x, r));
        OK(kry_vec_norm2(r, &norm));
        if (norm > 1.001 * res.target) fail_msg("%s: %g > %g", words, norm, res.target);
        free(answer);
        kry_vec_release(&x);
        kry_vec_release(&r);

        kry_op *S;
        OK(kry_vec_create(device(), type, host.rows, 1, &x));
        OK(kry_vec_fill(b, 1));
        OK(kry_solver_create(A, words, NULL, NULL, &S));
        assert_int_equal(kry_solve(S, b, x, &res), KRY_NOT_CONVERGED);
        assert_int_equal(res.reason, KRY_INCONSISTENT);
        NEAR(res.inconsistent, sqrt((double)host.rows), 1e-3, "%s", words);
        kry_op_release(&S);
        kry_vec_release(&x);
        kry_vec_release(&b);
        kry_op_release(&A);
        matrix_release(&host);
    }
}

/* A solver that pinned by itself follows A: the same bits as one made afterwards. */
static void pin__solver_update(void **state)
{
    const char *words = "method=pcg deflation=stripes:7 null-space=pin rtol=1e-5";
    kry_type type = type_of(state);
    matrix host = ring(173);
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SINGULAR)), *S;
    kry_result kept, fresh;
    kry_vec *x;

    OK(kry_solver_create(A, words, NULL, NULL, &S));
    for (int64_t e = 0; e < host.nnz; e++) host.val[e] *= 3;
    void *val = in_type(type, host.val, host.nnz);
    OK(kry_op_update(A, val));
    OK(kry_op_update(S, NULL));
    kry_vec *b = consistent_rhs(A);
    OK(kry_vec_create(device(), type, host.rows, 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_solve(S, b, x, &kept));
    double *got = numbers_of(x), *want = solve(A, words, b, &fresh);
    assert_int_equal(kept.iterations, fresh.iterations);
    assert_same_bits(got, want, host.rows);
    free(got), free(want), free(val);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&A);
    matrix_release(&host);
}

/* The null space is a vector: D A D maps D^-1 1 to zero. */
static void pin__attached_vector(void **state)
{
    kry_type type = type_of(state);
    matrix host = ring(90);
    int64_t n = host.rows;
    double *basis = calloc(2 * (size_t)n, sizeof *basis), rtol = type == KRY_F32 ? 1e-4 : 1e-11;
    kry_result res;
    kry_op *P, *S;
    kry_vec *x;

    assert_non_null(basis);
    for (int64_t i = 0; i < n; i++) {
        basis[i] = i % 3 ? 1 : 0.5;
        for (int64_t e = host.row_ptr[i]; e < host.row_ptr[i + 1]; e++)
            host.val[e] *= (i % 3 ? 1 : 2) * (host.col[e] % 3 ? 1 : 2);
    }
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC));
    kry_vec *null = vec_of(type, basis, n, 1), *b = consistent_rhs(A);
    OK(kry_op_set_null_space(A, null));
    OK(kry_pin_create(A, 3, &P));
    OK(kry_pcg_create(P, KRY_PCG(.stop = { .rtol = rtol }), &S));
    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_vec_fill(x, 2));
    OK(kry_solve(S, b, x, &res));
    double *got = numbers_of(x),
           *want = solve(A, type == KRY_F32 ? "rtol=1e-4" : "rtol=1e-11", b, &res);
    double c = want[3] / basis[3];
    for (int64_t i = 0; i < n; i++)
        NEAR(got[i], want[i] - c * basis[i], type == KRY_F32 ? 0.1 : 1e-7, "x[%d]", (int)i);
    free(got), free(want), free(basis);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_vec_release(&null);
    kry_op_release(&S);
    kry_op_release(&P);
    kry_op_release(&A);
    matrix_release(&host);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static kry_status own_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_op_apply(self, alpha, x, beta, y);
}

static void refuse_null_spaces(kry_type type)
{
    matrix host = ring(20);
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC)), *P;
    double basis[40];
    kry_vec *v;

    REFUSES(kry_pin_create(A, 0, &P), KRY_ERR_ARGUMENT, "nothing to pin");
    OK(kry_solver_create(A, "null-space=pin", NULL, NULL, &P)); /* which looks at the entries */
    kry_op_release(&P);
    matrix_release(&host);
    kry_op_release(&A);
    /* Nothing couples: two vectors of many that are mapped to zero, each zero somewhere. */
    host = ring(20);
    for (int64_t e = 0; e < host.nnz; e++) host.val[e] = e == 1 ? 2 : 0;
    A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC));
    for (int i = 0; i < 20; i++) basis[i] = i > 9, basis[20 + i] = i == 3;
    v = vec_of(type, basis, 20, 2);
    OK(kry_op_set_null_space(A, v));
    REFUSES(kry_pin_create(A, 12, &P), KRY_ERR_UNSUPPORTED, "has 2");
    kry_vec_release(&v);
    v = vec_of(type, basis, 20, 1);
    OK(kry_op_set_null_space(A, v));
    REFUSES(kry_pin_create(A, 9, &P), KRY_ERR_ARGUMENT, "zero in row 9");
    REFUSES(kry_pin_create(A, 12, &P), KRY_ERR_SINGULAR, "is 0; only a positive one pins");
    kry_vec_release(&v);
    kry_op_release(&A);
    matrix_release(&host);
}

static void pin__bad_input(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "own",
                                        .apply = own_apply };
    kry_type type = type_of(state);
    kry_op *A = walled(type), *P = A, *own;

    REFUSES(kry_pin_create(NULL, 0, &P), KRY_ERR_ARGUMENT, "NULL");
    assert_null(P);
    REFUSES(kry_pin_create(A, -1, &P), KRY_ERR_ARGUMENT, "row -1 is outside [0, 851)");
    REFUSES(kry_pin_create(A, CELLS, &P), KRY_ERR_ARGUMENT, "row 851 is outside [0, 851)");
    OK(kry_op_create(device(), &table, A, &(kry_op_shape){ CELLS, CELLS, type, KRY_SINGULAR },
                     &own));
    REFUSES(kry_pin_create(own, 0, &P), KRY_ERR_UNSUPPORTED, "'own' offers no diagonal");
    kry_op_release(&own);
    REFUSES(
        kry_op_create(device(), &table, A, &(kry_op_shape){ CELLS, 3, type, KRY_SINGULAR }, &own),
        KRY_ERR_SHAPE, "851-by-3");
    refuse_null_spaces(type);
    REFUSES(kry_solver_create(A, "null-space=nail", NULL, NULL, &P), KRY_ERR_PARSE,
            "'nail' is none of project, pin");
    REFUSES(kry_solver_create(A, "method=jacobi null-space=pin", NULL, NULL, &P), KRY_ERR_PARSE,
            "takes no null-space");
    OK(kry_pin_create(A, 0, &P)); /* what it does not stand in for */
    REFUSES(kry_incomplete_poisson_create(P, NULL, &own), KRY_ERR_UNSUPPORTED, "'pin'");
    REFUSES(kry_block_ic_create(P, NULL, &own), KRY_ERR_UNSUPPORTED, "'pin'");
    REFUSES(kry_pin_create(P, 0, &own), KRY_ERR_ARGUMENT, "nothing to pin");
    kry_op_release(&P);
    kry_op_release(&A);
}

/* P x as the matrix says, exactly: all numbers are whole. */
static void expect_product(const kry_op *P, const matrix *host)
{
    kry_type type = kry_op_get_shape(P)->type;
    int64_t n = host->rows;
    double *x = calloc((size_t)n, sizeof *x);
    void *got = calloc((size_t)n, kry_type_size(type));
    assert_true(x && got);
    for (int64_t i = 0; i < n; i++) x[i] = (double)(i % 17 - 8);
    kry_vec *X = vec_on(kry_op_device(P), type, x, n, 1),
            *Y = vec_on(kry_op_device(P), type, x, n, 1);
    OK(kry_op_apply(P, 1, X, 0, Y));
    OK(kry_vec_read(Y, got));
    for (int64_t i = 0; i < n; i++) {
        double want = 0;
        for (int64_t e = host->row_ptr[i]; e < host->row_ptr[i + 1]; e++)
            want += host->val[e] * x[host->col[e]];
        assert_true(at(type, got, i) == want);
    }
    kry_vec_release(&X);
    kry_vec_release(&Y);
    free(got);
    free(x);
}

/* Rows of all parts can be pinned, and new values reach the one that is. */
static void pin__on_a_team(void **state)
{
    enum { COUNT_OF_ROWS = 911 };
    static const int64_t rows[] = { 0, 400, COUNT_OF_ROWS - 1 };
    kry_type type = type_of(state);
    kry_device *team = open_team(3, (kry_team_params){ 0 });

    for (size_t r = 0; r < COUNT(rows); r++) {
        matrix host = ring(COUNT_OF_ROWS);
        const kry_problem p = { .n = host.rows,
                                .nnz = host.nnz,
                                .row_ptr = host.row_ptr,
                                .col = host.col,
                                .val = host.val };
        kry_op *A = matrix_on(team, type, &p, KRY_MATRIX(.traits = KRY_SINGULAR | KRY_SYMMETRIC));
        kry_op *P;
        OK(kry_pin_create(A, rows[r], &P));
        kry_op_release(&A); /* P keeps it */
        for (int64_t e = 0; e < host.nnz; e++) host.val[e] *= 3;
        void *val = in_type(type, host.val, host.nnz);
        for (int64_t e = 0; e < host.nnz; e++) host.val[e] /= 3;
        double_entry(&host, rows[r]);
        expect_product(P, &host);
        OK(kry_op_update(P, val));
        for (int64_t e = 0; e < host.nnz; e++) host.val[e] *= 3;
        expect_product(P, &host);
        free(val);
        kry_op_release(&P);
        matrix_release(&host);
    }
    close_team(&team);
}

/* The k-th request for memory fails, for every k. */
static void pin__faults(void **state)
{
    kry_op *A = walled(type_of(state)), *P;
    int refs = device_references(device()), k = -1;
    bool reached = true;

    for (; reached; k++) {
        fail_request(k);
        kry_status st = kry_pin_create(A, 7, &P);
        if (st >= 0) st = kry_op_update(P, NULL);
        reached = end_requests();
        assert_true(st == KRY_OK || (k >= 0 && reached && st == KRY_ERR_MEMORY));
        kry_op_release(&P);
        assert_int_equal(device_references(device()), refs);
    }
    assert_in_range(k, 5, 1000);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(pin__stored),
        BOTH(pin__grid),
        BOTH(pin__update),
        BOTH(pin__same_solution),
        BOTH(pin__residual_of_what_is_pinned),
        BOTH(pin__solver_update),
        BOTH(pin__attached_vector),
        BOTH(pin__bad_input),
        BOTH(pin__on_a_team),
        BOTH(pin__faults),
    };
    return cmocka_run_group_tests_name("pin", tests, NULL, close_device);
}
