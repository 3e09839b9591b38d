/* test_team.c - several devices as one: vectors, matrices and solves, against one device and plain C. */
#include "teams.h"
#include <pthread.h>

static kry_problem *problem(const char *spec)
{
    kry_problem *p;
    OK(kry_problem_create(spec, 11, &p));
    return p;
}

static double dot_of(const double *x, const double *y, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (long double)x[i] * y[i];
    return (double)sum;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void vectors__behave_as_on_one_device(void **state)
{
    kry_type type = type_of(state);
    static const int parts[] = { 1, 2, 3, 5 };
    static const int64_t sizes[] = { 5, 6, 64, 127, 1000, 10007 };

    for (size_t t = 0; t < COUNT(parts); t++) {
        kry_device *team = open_team(parts[t], (kry_team_params){ 0 });
        assert_int_equal(kry_team_size(team), parts[t]);
        for (size_t s = 0; s < COUNT(sizes); s++) {
            int64_t n = sizes[s], k = 3;
            double *hx = random_array(type, n * k), *hy = random_array(type, n * k), got;
            kry_vec *x = vec_on(team, type, hx, n, k), *y = vec_on(team, type, hy, n, k), *column;
            double bound = 4.0 * (double)n * (double)eps_of(acc_type());

            assert_int_equal(kry_vec_parts(x), parts[t]);
            OK(kry_vec_dot(x, y, &got));
            NEAR(got, dot_of(hx, hy, n * k), bound * 3, "dot of %lld", (long long)n);
            OK(kry_vec_norm2(x, &got));
            NEAR(got, sqrt(dot_of(hx, hx, n * k)), bound * 3, "norm of %lld", (long long)n);
            OK(kry_vec_axpby(2, x, -1, y));
            double *hz = numbers_of(y);
            for (int64_t i = 0; i < n * k; i++)
                NEAR(hz[i], 2 * hx[i] - hy[i], 4 * eps_of(type), "axpby %lld", (long long)i);
            free(hz);
            OK(kry_vec_mul(1, x, x, 0, y));
            OK(kry_vec_view(y, 1, &column));
            OK(kry_vec_fill(column, 7));
            hz = numbers_of(y);
            for (int64_t i = 0; i < n * k; i++)
                NEAR(hz[i], i / n == 1 ? 7 : hx[i] * hx[i], 2 * eps_of(type), "mul %lld",
                     (long long)i);
            OK(kry_vec_copy(x, y));
            free(hz);
            hz = numbers_of(column);
            assert_memory_equal(hz, hx + n, (size_t)n * sizeof *hz);
            free(hz);
            kry_vec_release(&column);
            kry_vec_release(&x);
            kry_vec_release(&y);
            free(hx);
            free(hy);
        }
        close_team(&team);
    }
}

static void vectors__tiny_and_huge_norms(void **state)
{
    (void)state;
    kry_type type = acc_type();
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    double scale = type == KRY_F64 ? 1e-200 : 1e-25, v[10], norm;

    for (int i = 0; i < 10; i++) v[i] = scale * (i + 1);
    kry_vec *x = vec_on(team, type, v, 10, 1);
    OK(kry_vec_norm2(x, &norm));
    NEAR(norm / scale, sqrt(385.0), 1e-5, "tiny");
    kry_vec_release(&x);
    close_team(&team);
}

static void vectors__hand_out_their_parts(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    double *h = random_array(type, 100);
    kry_vec *x = vec_on(team, type, h, 100, 1), *part;
    int64_t next = 0, first;

    for (int i = 0; i < 3; i++) {
        OK(kry_vec_part(x, i, &first, &part));
        assert_int_equal(first, next);
        assert_ptr_equal(kry_vec_device(part), kry_team_part(team, i));
        double *here = numbers_of(part);
        assert_memory_equal(here, h + first, (size_t)kry_vec_rows(part) * sizeof *h);
        next += kry_vec_rows(part);
        free(here);
        kry_vec_release(&part);
    }
    assert_int_equal(next, 100);
    REFUSES(kry_vec_part(x, 3, &first, &part), KRY_ERR_ARGUMENT, "part 3 of 3");
    kry_vec_release(&x);
    free(h);
    close_team(&team);
}

/* ---- products ---------------------------------------------------------------------------------- */

static void check_product(const kry_op *A, const kry_problem *p, kry_type type)
{
    kry_device *dev = kry_op_device(A);
    double *hx = random_array(type, p->n), *hy = random_array(type, p->n);
    kry_vec *x = vec_on(dev, type, hx, p->n, 1), *y = vec_on(dev, type, hy, p->n, 1);
    kry_vec *b = vec_on(dev, type, hy, p->n, 1);

    OK(kry_op_apply(A, 2, x, -1, y));
    OK(kry_op_residual(A, b, x, b));
    double *applied = numbers_of(y), *residual = numbers_of(b);
    for (int64_t i = 0; i < p->n; i++) {
        long double sum = 0, size = fabs(hy[i]);
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            long double term = (long double)to_type(type, p->val[k]) * hx[p->col[k]];
            sum += term, size += fabsl(term);
        }
        NEAR(applied[i], 2 * sum - hy[i], 20 * size * eps_of(type), "product, row %lld",
             (long long)i);
        NEAR(residual[i], hy[i] - sum, 20 * size * eps_of(type), "residual, row %lld",
             (long long)i);
    }
    free(applied);
    free(residual);
    free(hx);
    free(hy);
    kry_vec_release(&b);
    kry_vec_release(&y);
    kry_vec_release(&x);
}

static void matrices__of_all_formats(void **state)
{
    kry_type type = type_of(state);
    static const char *const specs[] = { "poisson2d:13", "poisson3d:7", "random_spd:500:6",
                                         "powerlaw_spd:700:5", "banded_spd:300:40" };
    static const char *const formats[] = { "auto", "csr", "ell", "sell",  "jds",
                                           "hyb",  "coo", "dia", "symdia" };
    for (int parts = 2; parts <= 4; parts += 2) {
        kry_device *team = open_team(parts, (kry_team_params){ 0 });
        for (size_t s = 0; s < COUNT(specs); s++) {
            kry_problem *p = problem(specs[s]);
            for (size_t f = 0; f < COUNT(formats); f++) {
                kry_matrix_params params = { .struct_size = sizeof params, .traits = KRY_POSITIVE };
                kry_op *A;
                void *val = in_type(type, p->val, p->nnz);
                OK(kry_format_parse(formats[f], &params));
                kry_status st =
                    kry_csr_create(team, type, p->n, p->n, p->row_ptr, p->col, val, &params, &A);
                free(val);
                if (st == KRY_OK) {
                    check_product(A, p, type);
                    kry_op_info info;
                    kry_op_describe(A, &info);
                    assert_int_equal(info.nnz, p->nnz);
                    kry_op_release(&A);
                } else { /* a format that does not suit the pattern */
                    assert_int_equal(st, KRY_ERR_UNSUPPORTED);
                }
            }
            kry_problem_release(&p);
        }
        close_team(&team);
    }
}

/* How many rows part i has of vectors of n rows; in_order, if it is not NULL: whether they are those from *first on. */
static int64_t rows_of_part(kry_device *team, kry_type type, int64_t n, int i, int64_t *first,
                            bool *in_order)
{
    double *places = calloc((size_t)n, sizeof *places);
    assert_non_null(places);
    for (int64_t k = 0; k < n; k++) places[k] = (double)k;
    kry_vec *v = vec_on(team, type, places, n, 1), *part;

    OK(kry_vec_part(v, i, first, &part));
    double *here = numbers_of(part);
    const int64_t rows = kry_vec_rows(part);
    for (int64_t k = 0; in_order && k < rows; k++)
        *in_order = (k == 0 || *in_order) && here[k] == (double)(*first + k);
    free(here), free(places);
    kry_vec_release(&part), kry_vec_release(&v);
    return rows;
}

static void matrices__split_by_graph_or_unevenly(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p = problem("poisson2d:40");
    static const double shares[] = { 3, 1, 2 };
    kry_device *team = open_team(3, (kry_team_params){ .shares = shares });
    kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    int64_t first[2], rows[2];

    for (int i = 0; i < 2; i++) rows[i] = rows_of_part(team, type, p->n, i, &first[i], NULL);
    NEAR((double)rows[0] / (double)rows[1], 3, 0.1, "shares");
    check_product(A, p, type);
    kry_op_release(&A);
    close_team(&team);
#ifdef KRY_HAVE_METIS
    team = open_team(3, (kry_team_params){ .by_graph = true });
    A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    bool in_order;
    rows_of_part(team, type, p->n, 1, first, &in_order);
    assert_false(in_order); /* the rows of a part do not follow each other */
    check_product(A, p, type);
    kry_op_release(&A);
    close_team(&team);
#endif
    kry_problem_release(&p);
}

static void matrices__take_new_values(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p = problem("random_spd:400:5");
    int32_t *row = calloc((size_t)p->nnz, sizeof *row), *col = calloc((size_t)p->nnz, sizeof *col);
    double *half = calloc((size_t)p->nnz, sizeof *half);
    int64_t count = 0;

    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            if (p->col[k] <= i) row[count] = (int32_t)i, col[count] = p->col[k], half[count++] = 1;
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    kry_op *A, *M;
    void *val = in_type(type, half, count);
    OK(kry_coo_create(team, type, p->n, p->n, count, row, col, val,
                      KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF, .traits = KRY_POSITIVE), &A));
    free(val);
    OK(kry_jacobi_create(A, &M));
    count = 0;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            if (p->col[k] <= i) half[count++] = p->val[k];
    val = in_type(type, half, count);
    OK(kry_op_update(A, val));
    check_product(A, p, type);
    OK(kry_op_update(M, NULL));
    kry_vec *one, *z;
    OK(kry_vec_create(team, type, p->n, 1, &one));
    OK(kry_vec_create(team, type, p->n, 1, &z));
    OK(kry_vec_fill(one, 1));
    OK(kry_op_apply(M, 1, one, 0, z));
    double *inverse = numbers_of(z);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            if (p->col[k] == i)
                NEAR(inverse[i] * p->val[k], 1, 4 * eps_of(type), "diagonal %lld", (long long)i);
    put(type, val, 3, NAN);
    REFUSES(kry_op_update(A, val), KRY_ERR_ARGUMENT, "nan");
    check_product(A, p, type);
    free(val);
    free(inverse);
    kry_vec_release(&z);
    kry_vec_release(&one);
    kry_op_release(&M);
    kry_op_release(&A);
    close_team(&team);
    free(row);
    free(col);
    free(half);
    kry_problem_release(&p);
}

/* Entries in columns of other parts are rounded as the others are. */
static void matrices__rounded_to_single(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    kry_problem *p = problem("random_spd:400:5");
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    int64_t *row_ptr = calloc((size_t)p->n + 1, sizeof *row_ptr);
    int32_t *col = calloc((size_t)p->nnz, sizeof *col);
    double *got = calloc((size_t)p->nnz, sizeof *got);
    kry_op *A = matrix_on(team, KRY_F64, p, KRY_MATRIX(.values = KRY_VALUES_SINGLE));

    for (int update = 0; update < 2; update++) {
        OK(kry_matrix_read(A, row_ptr, col, got));
        for (int64_t k = 0; k < p->nnz; k++) assert_true(got[k] == (double)(float)p->val[k]);
        for (int64_t k = 0; k < p->nnz; k++) p->val[k] *= 1.1;
        OK(kry_op_update(A, p->val));
    }
    p->val[7] = 1e300;
    REFUSES(kry_op_update(A, p->val), KRY_ERR_ARGUMENT, "too large for single");
    kry_op_release(&A);
    close_team(&team);
    free(row_ptr), free(col), free(got);
    kry_problem_release(&p);
}

static void check_reads_back(const kry_op *A, const kry_problem *p, kry_type type)
{
    int64_t *row_ptr = calloc((size_t)p->n + 1, sizeof *row_ptr);
    int32_t *col = calloc((size_t)p->nnz, sizeof *col);
    void *val = calloc((size_t)p->nnz, kry_type_size(type)), *want = in_type(type, p->val, p->nnz);

    assert_true(row_ptr && col && val);
    OK(kry_matrix_read(A, row_ptr, col, val));
    assert_memory_equal(row_ptr, p->row_ptr, (size_t)(p->n + 1) * sizeof *row_ptr);
    assert_memory_equal(col, p->col, (size_t)p->nnz * sizeof *col);
    assert_memory_equal(val, want, (size_t)p->nnz * kry_type_size(type));
    free(row_ptr), free(col), free(val), free(want);
}

/* Parts have all rows and entries, and what one sends others receive. */
static void check_volumes(const kry_op *A, const kry_problem *p, bool reproducible)
{
    kry_part_volume v, all = { 0 };
    const int parts = kry_op_parts(A);

    assert_true(parts > 1);
    for (int i = 0; i < parts; i++) {
        OK(kry_op_volume(A, i, &v));
        all.rows += v.rows, all.entries += v.entries;
        all.received += v.received, all.sent += v.sent;
        assert_true(v.neighbours >= 1 && v.neighbours < parts && v.received > 0);
        assert_true(reproducible ? v.coupled == -1 : v.coupled > 0 && v.coupled <= v.rows);
    }
    assert_true(all.rows == p->n && all.entries == p->nnz && all.received == all.sent);
    REFUSES(kry_op_volume(A, parts, &v), KRY_ERR_ARGUMENT, "part");
}

/* In the order of rows, whatever lies where; also what has been given later, and in another precision. */
static void matrices__read_back(void **state)
{
    kry_type type = type_of(state);
    static const char *const specs[] = { "poisson2d:13", "powerlaw_spd:300:5" };
    static const kry_team_params how[] = {
        { 0 },
        { .reproducible = true },
#ifdef KRY_HAVE_METIS
        { .by_graph = true },
#endif
    };
    for (size_t h = 0; h < COUNT(how); h++) {
        kry_device *team = open_team(3, how[h]);
        for (size_t s = 0; s < COUNT(specs); s++) {
            kry_problem *p = problem(specs[s]);
            kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE)), *M, *copy;
            check_reads_back(A, p, type);
            check_volumes(A, p, how[h].reproducible);
            void *val = in_type(type, p->val, p->nnz);
            for (int64_t k = 0; k < p->nnz; k++) p->val[k] *= 2;
            void *doubled = in_type(type, p->val, p->nnz);
            OK(kry_op_update(A, doubled));
            check_reads_back(A, p, type);
            if (type == KRY_F64 && !how[h].reproducible) {
                OK(kry_op_convert(A, KRY_F32, &copy));
                check_reads_back(copy, p, KRY_F32);
                kry_op_release(&copy);
            }
            OK(kry_jacobi_create(A, &M));
            kry_part_volume v;
            OK(kry_op_volume(M, 0, &v));
            assert_true(v.neighbours == -1 && v.rows > 0);
            REFUSES(kry_matrix_read(M, p->row_ptr, p->col, val), KRY_ERR_UNSUPPORTED, "'jacobi'");
            REFUSES(kry_matrix_read(A, p->row_ptr, NULL, val), KRY_ERR_ARGUMENT, "NULL");
            free(val), free(doubled);
            kry_op_release(&M), kry_op_release(&A);
            kry_problem_release(&p);
        }
        close_team(&team);
    }
}

/* ---- solves -------------------------------------------------------------------------------------- */

static kry_status solve_on(kry_device *dev, kry_type type, const kry_problem *p,
                           const char *options, kry_result *res, double **x_out)
{
    kry_op *S, *A = matrix_on(dev, type, p,
                              KRY_MATRIX(.traits = p->singular ? KRY_SINGULAR : KRY_POSITIVE));
    kry_vec *x, *b = vec_on(dev, type, p->rhs, p->n, 1);

    OK(kry_vec_create(dev, type, p->n, 1, &x));
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    kry_status st = kry_solve(S, b, x, res);
    if (st < 0) fail_msg("%s: %s", options, kry_last_error());
    *x_out = numbers_of(x);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&A);
    return st;
}

/* The same iterations and the same x; `same` false: preconditioners that end where a part ends. */
static void compare_solves(kry_type type, const char *spec, const char *options, kry_device *team,
                           bool same)
{
    kry_problem *p = problem(spec);
    kry_result one, many;
    double *x, *y, size = 0;

    kry_status a = solve_on(device(), type, p, options, &one, &x);
    kry_status b = solve_on(team, type, p, options, &many, &y);
    print_message("# %s %s on %d: %lld iterations, %lld on one\n", spec, options,
                  kry_team_size(team), (long long)many.iterations, (long long)one.iterations);
    assert_int_equal(a, KRY_OK);
    assert_int_equal(b, KRY_OK);
    if (same)
        NEAR(many.iterations, one.iterations, 1 + 0.02 * (double)one.iterations, "%s", options);
    for (int64_t i = 0; i < p->n; i++) size = fmax(size, fabs(x[i]));
    for (int64_t i = 0; i < p->n; i++)
        NEAR(y[i], x[i], (type == KRY_F32 ? 1e-2 : 1e-5) * size, "%s: x[%lld]", options,
             (long long)i);
    free(x);
    free(y);
    kry_problem_release(&p);
}

/* Values that make A asymmetric are refused by the parts of a live solver, and of a mixed one. */
static void solves__refuse_new_values(void **state)
{
    kry_type type = type_of(state);
    static const char *const options[] = { "rtol=1e-3", "rtol=1e-3 precision=mixed" };
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    kry_problem *p = problem("poisson2d:12");
    kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = 0)), *S;
    kry_vec *b = vec_on(team, type, p->rhs, p->n, 1), *x = vec_on(team, type, p->rhs, p->n, 1);
    void *good = in_type(type, p->val, p->nnz);

    p->val[p->row_ptr[100]] *= 3; /* beside the diagonal, far from the first part's rows */
    void *asymmetric = in_type(type, p->val, p->nnz);
    for (size_t i = 0; i < (type == KRY_F64 ? COUNT(options) : 1); i++) {
        OK(kry_solver_create(A, options[i], NULL, NULL, &S));
        OK(kry_op_update(A, asymmetric));
        REFUSES(kry_solve(S, b, x, NULL), KRY_ERR_UNSUPPORTED, "(100, 88) is -3");
        OK(kry_op_update(A, good));
        OK(kry_op_update(S, NULL));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, NULL));
        kry_op_release(&S);
    }
    free(asymmetric), free(good);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_op_release(&A);
    kry_problem_release(&p);
    close_team(&team);
}

/* A message names a row of the whole matrix, not a part's own. */
static void block_ic__names_the_row_of_the_whole(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    kry_problem *p = problem("poisson2d:12");
    kry_op *S;

    for (int64_t k = p->row_ptr[100]; k < p->row_ptr[101]; k++)
        if (p->col[k] == 100) p->val[k] = 0;
    kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = 0));
    REFUSES(kry_solver_create(A, "precond=block-ic check=none", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "row 100 is 0");
    kry_op_release(&A);
    kry_problem_release(&p);
    close_team(&team);
}

static void solves__as_on_one_device(void **state)
{
    kry_type type = type_of(state);
    static const struct {
        const char *options;
        bool same;
    } table[] = {
        { "method=cg", true },
        { "method=pcg", true },
        { "precond=chebyshev", true },
        { "precond=neumann", true },
        { "precond=block-jacobi", false },
        { "precond=block-ic:16", false },
        { "precond=ilu0", false },
        { "precond=ip", false },
        { "precond=ssor-ai", false },
        { "precond=fsai:2", false },
        { "method=gmres precond=amg:restrict=air,coarsest=40", true },
        { "method=cg check-every=7", true },
        { "method=jacobi rtol=0.01 maxit=5000", true },
    };
    static const char *const mixed[] = { "precision=mixed", "precision=mixed precond=chebyshev",
                                         "precision=mixed scheme=flexible inner=10",
                                         "precision=mixed scheme=classical method=pcg" };
    for (int parts = 2; parts <= 3; parts++) {
        kry_device *team = open_team(parts, (kry_team_params){ 0 });
        for (size_t i = 0; i < COUNT(table); i++)
            compare_solves(type, "poisson2d:19", table[i].options, team, table[i].same);
        for (size_t i = 0; type == KRY_F64 && i < COUNT(mixed); i++)
            compare_solves(type, "poisson2d:19", mixed[i], team, false);
        compare_solves(type, "powerlaw_spd:900:6", "method=pcg", team, true);
        compare_solves(type, "random_spd:3:2", "method=cg", team, true);
        close_team(&team);
    }
}

/* Tolerances of a live solver reach all parts, and ||A|| is that of the whole matrix. */
static void set_stop__on_all_parts(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p = problem("poisson2d:19");
    kry_device *team = open_team(2, (kry_team_params){ 0 }), *on[] = { device(), team };
    kry_result res[2];

    for (int i = 0; i < 2; i++) {
        kry_op *S, *A = matrix_on(on[i], type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
        kry_vec *x, *b = vec_on(on[i], type, p->rhs, p->n, 1);
        kry_op_info info;
        OK(kry_vec_create(on[i], type, p->n, 1, &x));
        OK(kry_solver_create(A, "maxit=2 method=pcg", NULL, NULL, &S));
        OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = 1e-4, .test = KRY_STOP_BACKWARD }));
        OK(kry_solve(S, b, x, &res[i]));
        kry_op_describe(S, &info);
        assert_non_null(strstr(info.variant, "stop=backward"));
        assert_int_equal(i, strstr(info.variant, "on 2 of 2 devices") != NULL);
        assert_true(res[i].setup_seconds > 0);
        kry_vec_release(&x);
        kry_vec_release(&b);
        kry_op_release(&S);
        kry_op_release(&A);
    }
    assert_int_equal(res[0].iterations, res[1].iterations);
    NEAR(res[0].target, res[1].target, 1e-4 * res[0].target, "target");
    assert_true(res[0].target > 1.5e-4 * res[0].norm_b);
    close_team(&team);
    kry_problem_release(&p);
}

static void solves__singular_systems(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    compare_solves(type, "twophase2d:12:10", "method=pcg", team, true);
    compare_solves(type, "twophase2d:12:10", "method=cg rtol=1e-4", team, true);
    close_team(&team);
}

typedef struct seen {
    int calls;
    int64_t last, stop_at;
    kry_vec *x;
    pthread_t caller;
} seen;

static int watch(void *user, const kry_iteration *it)
{
    seen *s = user;
    double norm;
    s->calls++;
    s->last = it->iteration;
    assert_true(pthread_equal(pthread_self(), s->caller));
    OK(kry_vec_norm2(s->x, &norm)); /* x may be looked at */
    return s->stop_at && it->iteration >= s->stop_at;
}

static void solves__tell_one_monitor(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p = problem("poisson2d:25");
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    kry_op *S, *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    kry_vec *x, *b = vec_on(team, type, p->rhs, p->n, 1);
    seen s = { .stop_at = 20, .caller = pthread_self() };
    kry_result res;

    OK(kry_vec_create(team, type, p->n, 1, &x));
    s.x = x;
    OK(kry_pcg_create(
        A, KRY_PCG(.stop = { .check_every = 5 }, .monitor = watch, .monitor_user = &s), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_STOPPED);
    assert_int_equal(s.calls, 5);
    assert_int_equal(s.last, 20);
    assert_int_equal(res.iterations, 20);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    close_team(&team);
    kry_problem_release(&p);
}

static void small_systems__use_fewer_devices(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p = problem("poisson2d:9");
    kry_device *part[3], *team;
    kry_op_info info;

    for (int i = 0; i < 3; i++) OK(kry_device_open(NULL, &part[i]));
    OK(kry_team_create(part, 3, NULL, &team));
    for (int i = 0; i < 3; i++) kry_device_release(&part[i]);
    kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    kry_op_describe(A, &info);
    if (!strstr(info.variant, "on 1 of 3 devices: too small")) fail_msg("'%s'", info.variant);
    check_product(A, p, type);
    kry_op_release(&A);
    close_team(&team);
    kry_problem_release(&p);
}

/* ---- failures ---------------------------------------------------------------------------------------- */

static void bad_input__has_a_sentence(void **state)
{
    (void)state;
    kry_type type = acc_type();
    kry_problem *p = problem("random_spd:3:2");
    kry_device *one[2], *team, *again;
    kry_op *A;
    kry_vec *v, *x;
    double b[3] = { 1, NAN, 1 }, c[3] = { 0 };

    OK(kry_device_open(NULL, &one[0]));
    one[1] = one[0];
    REFUSES(kry_team_create(one, 2, NULL, &team), KRY_ERR_ARGUMENT,
            "device 1 is device 0 once more");
    REFUSES(kry_team_create(one, 0, NULL, &team), KRY_ERR_ARGUMENT, "0 devices");
    OK(kry_team_create(one, 1, NULL, &team));
    REFUSES(kry_team_create(one, 1, NULL, &again), KRY_ERR_ARGUMENT, "in a team already");
    REFUSES(kry_team_create(&team, 1, NULL, &again), KRY_ERR_ARGUMENT, "a team itself");
    close_team(&team);
    const double shares[] = { 0 };
    REFUSES(kry_team_create(one, 1, KRY_TEAM(.shares = shares), &team), KRY_ERR_ARGUMENT,
            "share of part 0 is 0");
    kry_device_release(&one[0]);

    team = open_team(4, (kry_team_params){ 0 });
    REFUSES(kry_csr_create(team, type, 3, 3, p->row_ptr, p->col, p->val, NULL, &A),
            KRY_ERR_ARGUMENT, "3 rows or layers cannot be split over 4 devices");
    const int64_t row_ptr[] = { 0, 1 };
    const int32_t col[] = { 4 };
    REFUSES(kry_csr_create(team, type, 1, 5, row_ptr, col, b, NULL, &A), KRY_ERR_UNSUPPORTED,
            "only square");
    close_team(&team);

    team = open_team(2, (kry_team_params){ 0 });
    A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    v = vec_on(team, type, b, 3, 1), x = vec_on(team, type, c, 3, 1);
    kry_op *S;
    OK(kry_pcg_create(A, NULL, &S));
    REFUSES(kry_solve(S, v, x, NULL), KRY_ERR_ARGUMENT, "b[1] is");
    kry_op *M;
    kry_op *plain = matrix_on(device(), type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    OK(kry_jacobi_create(plain, &M));
    kry_op *T;
    REFUSES(kry_pcg_create(A, KRY_PCG(.precond = M), &T), KRY_ERR_ARGUMENT, "another device");
    static const kry_op_table own = { .struct_size = sizeof own, .kind = "mine" };
    kry_op_table mine = own;
    mine.apply = op_table(M)->apply;
    REFUSES(kry_op_create(team, &mine, NULL, kry_op_get_shape(A), &T), KRY_ERR_UNSUPPORTED,
            "'mine' is for one");
    kry_op_release(&M);
    kry_op_release(&plain);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&v);
    kry_vec_release(&x);
    close_team(&team);
    kry_problem_release(&p);
}

/* By its row, not by where METIS has put it. */
static void bad_input__is_named_by_its_row(void **state)
{
    (void)state;
    kry_type type = acc_type();
    kry_problem *p = problem("poisson2d:9");
    static const int64_t rows[] = { 0, 40, 77 };

    for (int graph = 0; graph <= 1; graph++) {
#ifndef KRY_HAVE_METIS
        if (graph) break;
#endif
        kry_device *team = open_team(3, (kry_team_params){ .by_graph = graph });
        kry_op *S, *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
        kry_vec *x;
        OK(kry_vec_create(team, type, p->n, 1, &x));
        OK(kry_pcg_create(A, NULL, &S));
        for (size_t i = 0; i < COUNT(rows); i++) {
            char name[32];
            double kept = p->rhs[rows[i]];
            p->rhs[rows[i]] = NAN;
            kry_vec *b = vec_on(team, type, p->rhs, p->n, 1);
            snprintf(name, sizeof name, "b[%lld] is nan", (long long)rows[i]);
            REFUSES(kry_solve(S, b, x, NULL), KRY_ERR_ARGUMENT, name);
            p->rhs[rows[i]] = kept;
            kry_vec_release(&b);
        }
        kry_op_release(&S), kry_op_release(&A);
        kry_vec_release(&x);
        close_team(&team);
    }
    kry_problem_release(&p);
}

typedef struct product {
    kry_op *A;
    kry_vec *x, *y;
} product;

static void use_in_child(void *user)
{
    product *p = user;
    kry_device *team = kry_vec_device(p->x);

    REFUSED_IN_CHILD(kry_op_apply(p->A, 1, p->x, 0, p->y));
    if (is_host(device())) { /* what needs no threads of the team works */
        if (kry_vec_fill(p->x, 2) || kry_device_finish(team)) _exit(1);
    } else {
        REFUSED_IN_CHILD(kry_vec_fill(p->x, 2));
        REFUSED_IN_CHILD(kry_device_finish(team));
    }
    kry_op_release(&p->A);
    kry_vec_release(&p->x), kry_vec_release(&p->y);
    for (int references = device_references(team); references > 1; references--) {
        kry_device *held = team;
        kry_device_release(&held);
    }
    kry_device_release(&team); /* which does not wait for threads that are not there */
}

static void fork__with_a_team_open(void **state)
{
    (void)state;
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    kry_problem *q = problem("poisson2d:10");
    product p = { .A = matrix_on(team, KRY_F32, q, NULL) };
    OK(kry_vec_create(team, KRY_F32, q->n, 1, &p.x));
    OK(kry_vec_create(team, KRY_F32, q->n, 1, &p.y));
    OK(kry_vec_fill(p.x, 1));
    assert_int_equal(exit_of_child(use_in_child, &p), 0);
    OK(kry_op_apply(p.A, 1, p.x, 0, p.y));
    kry_op_release(&p.A);
    kry_vec_release(&p.x), kry_vec_release(&p.y);
    kry_problem_release(&q);
    close_team(&team);
}

static void specs__open_teams(void **state)
{
    (void)state;
    kry_device *team;

    const char *kind = kry_device_get_info(device())->kind;
    char spec[64];

    snprintf(spec, sizeof spec, "%s/0", kind);
    REFUSES(kry_device_open(spec, &team), KRY_ERR_ARGUMENT, "cannot be cut into 0");
    snprintf(spec, sizeof spec, "%s/1,fast", kind);
    REFUSES(kry_device_open(spec, &team), KRY_ERR_ARGUMENT, "'fast' is none of");
    if (!is_host(device()))
        REFUSES(kry_device_open("nothing+like+that", &team), KRY_ERR_ARGUMENT,
                "no device matches 'nothing'");
    snprintf(spec, sizeof spec, "%s+%s,use-all", kind, kind);
    OK(kry_device_open(spec, &team));
    assert_int_equal(kry_team_size(team), 2);
    close_team(&team);
    team = open_pieces(1);
    if (team) close_team(&team);
}

/* Precision that one part lacks, the team lacks. */
static void mixed_parts__have_what_all_have(void **state)
{
    (void)state;
    kry_device *part[2], *team;
    kry_vec *v;

    NOT_ON_HOST("profile");
    use_profile(NULL);
    bool fp64 = kry_device_get_info(device())->fp64;
    OK(kry_device_open(NULL, &part[0]));
    use_profile("no-fp64");
    OK(kry_device_open(NULL, &part[1]));
    OK(kry_team_create(part, 2, NULL, &team));
    assert_false(kry_device_get_info(team)->fp64);
    REFUSES(kry_vec_create(team, KRY_F64, 10, 1, &v), KRY_ERR_UNSUPPORTED, "double");
    close_team(&team);
    assert_int_equal(kry_device_get_info(part[0])->fp64, fp64);
    kry_device_release(&part[0]);
    kry_device_release(&part[1]);
    use_profile(NULL);
}

/* The host beside a device of OpenCL, which has double precision. */
static void hosts__and_another_device(void **state)
{
    (void)state;
    NEEDS_HOST;
    kry_device *part[2], *team;
    kry_problem *p = problem("poisson2d:31");
    const char *options = "method=cg precond=jacobi rtol=1e-10";
    kry_result res;

    OK(kry_device_open("host", &part[0]));
    OK(kry_device_open(NULL, &part[1]));
    if (!kry_device_get_info(part[1])->fp64) {
        REFUSES(kry_team_create(part, 2, NULL, &team), KRY_ERR_UNSUPPORTED, "in double");
    } else {
        OK(kry_team_create(part, 2, KRY_TEAM(.use_all = true), &team));
        kry_op *S, *A = matrix_on(team, KRY_F64, p, KRY_MATRIX(.traits = KRY_POSITIVE));
        kry_vec *b = vec_on(team, KRY_F64, p->rhs, p->n, 1), *x;
        OK(kry_vec_create(team, KRY_F64, p->n, 1, &x));
        OK(kry_solver_create(A, options, NULL, NULL, &S));
        OK(kry_solve(S, b, x, &res));
        assert_true(res.iterations > 10);
        kry_op_release(&S), kry_op_release(&A);
        kry_vec_release(&b), kry_vec_release(&x);
        close_team(&team);
    }
    kry_device_release(&part[0]), kry_device_release(&part[1]);
    kry_problem_release(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BOTH(vectors__behave_as_on_one_device),
        cmocka_unit_test(vectors__tiny_and_huge_norms),
        BOTH(vectors__hand_out_their_parts),
        BOTH(matrices__of_all_formats),
        BOTH(matrices__split_by_graph_or_unevenly),
        BOTH(matrices__take_new_values),
        cmocka_unit_test(matrices__rounded_to_single),
        BOTH(matrices__read_back),
        BOTH(solves__as_on_one_device),
        BOTH(solves__refuse_new_values),
        BOTH(block_ic__names_the_row_of_the_whole),
        BOTH(set_stop__on_all_parts),
        BOTH(solves__singular_systems),
        BOTH(solves__tell_one_monitor),
        BOTH(small_systems__use_fewer_devices),

        cmocka_unit_test(bad_input__has_a_sentence),
        cmocka_unit_test(bad_input__is_named_by_its_row),
        cmocka_unit_test(fork__with_a_team_open),
        cmocka_unit_test(specs__open_teams),
        cmocka_unit_test(mixed_parts__have_what_all_have),

        cmocka_unit_test(hosts__and_another_device),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
