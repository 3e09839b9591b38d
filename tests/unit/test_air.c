/* test_air.c - approximate ideal restriction: R against dense systems in plain C, iterations, new numbers, what is refused. */
#include "amg/amg_device.h"
#include "precond/coarse.h"
#include "testing.h"
#include <kry/multigrid.h>
#include <kry/problem.h>

enum { MOST = 24 }; /* places of a row of R; air.c has it, too */

/* ---- the restriction in plain C --------------------------------------------------------------- */

/* n-by-n with a number on each diagonal place, of either sign, and `each` others in a row. */
static kryi_csr random_matrix(int64_t n, int each)
{
    kryi_csr A;
    double *dense = calloc((size_t)(n * n), sizeof *dense);
    int64_t nnz = 0;

    assert_non_null(dense);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < each; k++) dense[i * n + random_below(n)] = random_number(KRY_F64);
        dense[i * n + i] = random_below(2) ? 1.5 : -1;
    }
    for (int64_t q = 0; q < n * n; q++) nnz += dense[q] != 0;
    OK(kryi_csr_create(n, n, KRY_F64, nnz, &A));
    for (int64_t i = 0, e = 0; i < n; A.row_ptr[++i] = e)
        for (int64_t j = 0; j < n; j++)
            if (dense[i * n + j] != 0)
                A.col[e] = (int32_t)j, ((double *)A.val)[e++] = dense[i * n + j];
    free(dense);
    return A;
}

static bool is_strong(const kryi_csr *A, int64_t i, int64_t j, double theta)
{
    double most = 0, sum = 0;
    const double size = fabs(kryi_csr_entry(A, i, j));

    for (int64_t k = 0; k < A->rows; k++) {
        const double other = k == i ? 0 : fabs(kryi_csr_entry(A, i, k));
        most = fmax(most, other), sum += other;
    }
    return i != j && size > 0 && size >= theta * most && sum >= 0.1 * fabs(kryi_csr_entry(A, i, i));
}

/* z with z A(N, N) = -A(i, N), N the m points J. Returns false if A(N, N) is not regular. */
static bool plain_solve(const kryi_csr *A, int64_t i, const int64_t *J, int64_t m, long double *z)
{
    const int64_t k = m + 1;
    long double *S = calloc((size_t)(m * k + 1), sizeof *S);
    bool regular = true;

    assert_non_null(S);
    for (int64_t r = 0; r < m; r++) {
        for (int64_t c = 0; c < m; c++) S[r * k + c] = kryi_csr_entry(A, J[c], J[r]);
        S[r * k + m] = -kryi_csr_entry(A, i, J[r]);
    }
    for (int64_t p = 0; p < m && regular; p++) {
        int64_t best = p;
        for (int64_t r = p; r < m; r++)
            if (fabsl(S[r * k + p]) > fabsl(S[best * k + p])) best = r;
        regular = fabsl(S[best * k + p]) > 1e-12L;
        for (int64_t c = 0; c < k && regular; c++) {
            const long double v = S[p * k + c];
            S[p * k + c] = S[best * k + c], S[best * k + c] = v;
        }
        for (int64_t r = 0; r < m && regular; r++) {
            const long double l = r == p ? 0 : S[r * k + p] / S[p * k + p];
            for (int64_t c = p; c < k; c++) S[r * k + c] -= l * S[p * k + c];
        }
    }
    for (int64_t p = 0; p < m; p++) {
        const double d = kryi_csr_entry(A, J[p], J[p]);
        z[p] = regular ? S[p * k + m] / S[p * k + p] : d == 0 ? 0 : -kryi_csr_entry(A, i, J[p]) / d;
    }
    free(S);
    return regular;
}

/* What a level becomes. */
typedef struct made {
    kryi_device_csr A;
    kryi_device_coarser to;
    void *kept;
    kryi_csr P, R, E; /* of `to` */
} made;

static made coarsen(const kryi_csr *A)
{
    made m = { 0 };
    kryi_coarsen c = { .who = "test", .dev = device(), .strength = 0.5, .block = 1, .vectors = 1 };

    OK(kryi_device_csr_upload(device(), A, &m.A));
    OK(kryi_air_coarsening.create(&c, &m.A, &m.to.P, &m.to.R, &m.kept));
    assert_non_null(m.kept);
    OK(kryi_device_coarser_multiply("test", 1, KRY_F64, &m.A, &m.to));
    OK(kryi_device_csr_download(&m.to.P, &m.P));
    OK(kryi_device_csr_download(&m.to.R, &m.R));
    OK(kryi_device_csr_download(&m.to.A, &m.E));
    return m;
}

static void made_release(made *m)
{
    kryi_air_coarsening.destroy(m->kept);
    kryi_device_coarser_release(&m->to);
    kryi_device_csr_release(&m->A);
    kryi_csr_release(&m->E), kryi_csr_release(&m->R), kryi_csr_release(&m->P);
}

/* point[c]: the C point of number c, at which R and P have a one in c. */
static int64_t *find_points(const made *m)
{
    int64_t *point = calloc((size_t)m->R.rows + 1, sizeof *point);

    assert_non_null(point);
    for (int64_t c = 0; c < m->R.rows; c++) {
        point[c] = -1;
        for (int64_t e = m->R.row_ptr[c]; e < m->R.row_ptr[c + 1]; e++)
            if (((double *)m->R.val)[e] == 1 && kryi_csr_entry(&m->P, m->R.col[e], c) == 1)
                point[c] = m->R.col[e];
        assert_true(point[c] >= 0 && (c == 0 || point[c] > point[c - 1]));
    }
    return point;
}

/* Row c of R, of the C point i. Returns whether its system was regular. */
static bool check_row(const kryi_csr *A, const made *m, const bool *is_c, int64_t c, int64_t i)
{
    int64_t J[MOST], count = 0;
    long double z[MOST], largest = 1;

    for (int64_t k = 0; k < A->rows; k++) {
        bool near = is_strong(A, i, k, 0.1);
        for (int64_t j = 0; j < A->rows && !near; j++)
            near = !is_c[j] && is_strong(A, i, j, 0.1) && is_strong(A, j, k, 0.1);
        if (!near || is_c[k]) continue;
        assert_true(count < MOST - 1); /* or air.c has to choose */
        J[count++] = k;
    }
    const bool regular = plain_solve(A, i, J, count, z);
    for (int64_t k = 0; k < count; k++) largest = fmaxl(largest, fabsl(z[k]));
    for (int64_t k = 0; k < count; k++) {
        const double found = kryi_csr_entry(&m->R, c, J[k]);
        const long double wanted = fabsl(z[k]) < 0.03L * largest ? 0 : z[k];
        if (fabsl(fabsl(z[k]) - 0.03L * largest) > 1e-9L * largest)
            NEAR(found, wanted, 1e-8L * largest, "row %d, column %d", (int)c, (int)J[k]);
    }
    assert_true(kryi_row_length(&m->R, c) <= count + 1);
    return regular;
}

static void air__restriction_is_that_of_dense_systems(void **state)
{
    (void)state;
    for (int run = 0; run < 6; run++) {
        kryi_csr A = random_matrix(30 + random_below(30), 2);
        double *val = A.val;
        if (run % 2) /* couplings that make small systems singular, by zeros on the diagonal */
            for (int64_t i = 0; i < A.rows; i += 3) val[kryi_csr_find(&A, i, i)] = 0;
        made m = coarsen(&A);
        int64_t *point = find_points(&m), singular = 0;
        bool *is_c = calloc((size_t)A.rows, sizeof *is_c);
        assert_non_null(is_c);
        for (int64_t c = 0; c < m.R.rows; c++) is_c[point[c]] = true;
        for (int64_t c = 0; c < m.R.rows; c++) singular += !check_row(&A, &m, is_c, c, point[c]);
        print_message("# %d of %d points are kept, %d systems are singular\n", (int)m.R.rows,
                      (int)A.rows, (int)singular);
        free(is_c), free(point);
        made_release(&m);
        kryi_csr_release(&A);
    }
}

/* Each row of P has one entry, a one, at the C point of the largest coupling; rows of R A P keep their sums. */
static void air__coarser_rows_keep_their_sums(void **state)
{
    kryi_csr A = random_matrix(80, 3);
    made m = coarsen(&A);
    double *ones = calloc((size_t)A.rows, sizeof *ones), *AP = calloc((size_t)A.rows, sizeof *AP);
    (void)state;
    assert_true(ones && AP);
    for (int64_t i = 0; i < A.rows; i++) {
        assert_true(kryi_row_length(&m.P, i) <= 1);
        ones[i] = (double)kryi_row_length(&m.P, i);
    }
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            AP[i] += ((double *)A.val)[e] * ones[A.col[e]];
    for (int64_t c = 0; c < m.R.rows; c++) {
        double sum = 0, wanted = 0, size = 0;
        for (int64_t e = m.R.row_ptr[c]; e < m.R.row_ptr[c + 1]; e++)
            wanted += ((double *)m.R.val)[e] * AP[m.R.col[e]],
                size += fabs(((double *)m.R.val)[e]) * 10;
        for (int64_t e = m.E.row_ptr[c]; e < m.E.row_ptr[c + 1]; e++) sum += ((double *)m.E.val)[e];
        assert_true(kryi_csr_entry(&m.E, c, c) != 0);
        NEAR(sum, wanted, 1e-12 * size, "row %d", (int)c);
    }
    free(ones), free(AP);
    made_release(&m);
    kryi_csr_release(&A);
}

/* ---- the preconditioner ------------------------------------------------------------------------ */

static kry_op *op_of(const char *spec, kry_type type, kry_problem **p)
{
    kry_op *A = NULL;

    OK(kry_problem_create(spec, 1, p));
    void *numbers = in_type(type, (*p)->val, (*p)->row_ptr[(*p)->n]);
    OK(kry_csr_create(device(), type, (*p)->n, (*p)->n, (*p)->row_ptr, (*p)->col, numbers, NULL,
                      &A));
    free(numbers);
    return A;
}

static int64_t solve(const kry_op *A, const char *options, kry_type type, const kry_problem *p)
{
    kry_op *S = NULL;
    kry_result result;
    kry_vec *b = vec_of(type, p->rhs, p->n, 1), *x = vec_of(type, p->rhs, p->n, 1);

    OK(kry_vec_fill(x, 0));
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    OK(kry_solve(S, b, x, &result));
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&b);
    return result.iterations;
}

/* As many as the method takes on grids of any size, by what is measured on some. */
static void air__iterations(void **state)
{
    static const struct {
        const char *spec;
        int gmres, bicgstab, alone; /* the latter: 0: not at all */
    } all[] = { { "convection2d:50:10", 14, 9, 40 },
                { "convection2d:70:1000", 18, 12, 60 },
                { "convection3d:14:100", 12, 8, 30 },
                { "convection2d:60:1e6", 30, 25, 0 } };
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_problem *p = NULL;
        kry_op *A = op_of(all[i].spec, type, &p);
        char gmres[99], bicgstab[99], alone[99];
        const double rtol = type == KRY_F32 ? 1e-4 : 1e-8;
        snprintf(gmres, sizeof gmres, "method=gmres precond=amg:coarsest=60 rtol=%g", rtol);
        snprintf(bicgstab, sizeof bicgstab, "method=bicgstab precond=amg:coarsest=60 rtol=%g",
                 rtol);
        snprintf(alone, sizeof alone, "method=mg precond=amg:coarsest=60 rtol=%g", rtol);
        const int64_t first = solve(A, gmres, type, p), second = solve(A, bicgstab, type, p),
                      third = all[i].alone ? solve(A, alone, type, p) : 0;
        print_message("# %s: gmres %d, bicgstab %d, alone %d\n", all[i].spec, (int)first,
                      (int)second, (int)third);
        assert_true(first <= all[i].gmres && second <= all[i].bicgstab && third <= all[i].alone);
        kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* A level that is solved exactly by LU, as an inverse or, of more unknowns, by factors. */
static void air__exact(void **state)
{
    static const char *const specs[] = { "convection2d:20:300", "convection2d:36:300" };
    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++) {
        kry_problem *p = NULL;
        kry_op *A = op_of(specs[i], KRY_F64, &p);
        assert_int_equal(solve(A, "method=gmres precond=amg:coarsest=1500 rtol=1e-9", KRY_F64, p),
                         1);
        kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* z := M r, to be freed */
static double *apply(const kry_op *M, const double *r, int64_t n)
{
    kry_vec *R = vec_of(KRY_F64, r, n, 1), *Z = vec_of(KRY_F64, r, n, 1);

    OK(kry_op_apply(M, 1, R, 0, Z));
    double *z = numbers_of(Z);
    kry_vec_release(&R), kry_vec_release(&Z);
    return z;
}

/* The same numbers give the same bits, those of 2 A half of it, and another wind still a preconditioner. */
static void air__update(void **state)
{
    kry_problem *p = NULL, *other = NULL;
    kry_op *A = op_of("convection2d:40:300", KRY_F64, &p), *M = NULL;
    double *r = random_array(KRY_F64, p->n);
    (void)state;
    OK(kry_problem_create("convection2d:40:600", 1, &other));
    OK(kry_amg_create(A, KRY_AMG(.cycle = { .coarsest = 60, .values = KRY_CYCLE_VALUES_DOUBLE }),
                      &M));
    double *before = apply(M, r, p->n);
    OK(kry_op_update(M, NULL));
    double *same = apply(M, r, p->n);
    assert_same_bits(before, same, p->n);
    for (int64_t e = 0; e < p->row_ptr[p->n]; e++) p->val[e] *= 2;
    OK(kry_op_update(A, p->val));
    OK(kry_op_update(M, NULL));
    double *half_of_it = apply(M, r, p->n);
    for (int64_t i = 0; i < p->n; i++) assert_true(half_of_it[i] == before[i] / 2);
    OK(kry_op_update(A, other->val));
    OK(kry_op_update(M, NULL));
    kry_op *S = NULL;
    kry_result result;
    kry_vec *b = vec_of(KRY_F64, r, p->n, 1), *x = vec_of(KRY_F64, r, p->n, 1);
    OK(kry_krylov_create(A, "gmres", KRY_PCG(.precond = M, .stop = { .rtol = 1e-8 }), &S));
    OK(kry_solve(S, b, x, &result));
    assert_true(result.iterations < 25);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_op_release(&S), kry_op_release(&M), kry_op_release(&A);
    free(half_of_it), free(same), free(before), free(r);
    kry_problem_release(&other), kry_problem_release(&p);
}

/* What goes with symmetric matrices alone, and a diagonal that smoothing cannot divide by. */
static void air__refusals(void **state)
{
    kry_problem *p = NULL;
    kry_op *A = op_of("convection2d:20:300", KRY_F64, &p), *M = NULL;
    (void)state;
    REFUSES(kry_amg_create(A, KRY_AMG(.restriction = KRY_RESTRICT_TRANSPOSE), &M), KRY_ERR_ARGUMENT,
            "is not symmetric: row");
    REFUSES(kry_amg_create(A, KRY_AMG(.coarsening = KRY_COARSEN_AGGREGATION), &M),
            KRY_ERR_UNSUPPORTED, "are for symmetric matrices");
    REFUSES(kry_amg_create(A, KRY_AMG(.cycle.shape = KRY_CYCLE_K), &M), KRY_ERR_UNSUPPORTED,
            "a K-cycle is for symmetric matrices");
    REFUSES(kry_amg_create(A, KRY_AMG(.restriction = (kry_restriction)3), &M), KRY_ERR_ARGUMENT,
            "restrict = 3 is none of");
    for (int64_t e = p->row_ptr[57]; e < p->row_ptr[58]; e++)
        if (p->col[e] == 57) p->val[e] = 0;
    OK(kry_op_update(A, p->val));
    REFUSES(kry_amg_create(A, NULL, &M), KRY_ERR_ARGUMENT, "the diagonal entry of row 57");
    assert_null(M);
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void air__without_memory(void **state)
{
    kry_problem *p = NULL;
    kry_op *A = op_of("convection2d:16:100", KRY_F64, &p);
    (void)state;
    request_failed = true;
    for (int64_t k = random_below(every(8)); request_failed; k += every(8)) {
        kry_op *M = A; /* poison */
        const kry_status st = FAILING((int)k, kry_amg_create(A, KRY_AMG(.cycle.coarsest = 20), &M));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        assert_true(!M == (st < 0));
        kry_op_release(&M);
    }
    kry_op_release(&A);
    kry_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(air__restriction_is_that_of_dense_systems),
        cmocka_unit_test(air__coarser_rows_keep_their_sums),
        BOTH(air__iterations),
        cmocka_unit_test(air__exact),
        cmocka_unit_test(air__update),
        cmocka_unit_test(air__refusals),
        cmocka_unit_test(air__without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
