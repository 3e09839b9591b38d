/*
 * test_precond_columns.c - preconditioners and the second level of deflation with several columns at once, against
 * each column alone; and that they share launches.
 */
#include "format_suite.h"
#include <kry/problem.h>

enum { MOST = 11 };
static const int64_t columns[] = { 2, 3, 5, 8, MOST, 1 };

typedef struct problem {
    const char *spec, *precond;
    enum {
        SAME_BITS,
        ROUNDED,
        SINGLE
    } as; /* each alone: to the bit, to rounding, to that of single in levels */
} problem;

static const problem some[] = {
    { "elasticity2d:20x6", "amg:coarsest=30", ROUNDED },
    { "elasticity2d:20x6", "amg:coarsest=30,scaling=block,cycle=w", ROUNDED },
    { "elasticity2d:20x6", "amg:coarsest=30,levels=2,scaling=l1",
      ROUNDED }, /* its last level is large */
    { "poisson2d:19", "amg:coarsest=20", SINGLE },
    { "poisson2d:19", "amg:coarsest=20,values=double,cycle=f", ROUNDED },
    { "poisson2d:19", "amg:coarsest=20,cycle=k", SAME_BITS }, /* one after the other */
    { "block_spd:40:3", "block-ic:9", SAME_BITS },
    { "block_spd:40:3", "block-ilu:40@single", SAME_BITS },
    { "poisson2d:19", "block-ic", SAME_BITS }, /* by diagonals */
    { "poisson2d:19", "icc:1,rows", SAME_BITS },
    { "poisson2d:19", "icc:1,levels", SAME_BITS },
    { "poisson2d:19", "icc:1,sweeps", ROUNDED },
    { "poisson2d:19", "ilu:0,isai", ROUNDED },
    { "poisson2d:19", "ras:1", ROUNDED },
    { "block_spd:40:3", "block-jacobi:3", SAME_BITS },
    { "block_spd:40:3", "chebyshev:3", ROUNDED },
    { "block_spd:40:3", "ssor-ai:2", ROUNDED },
    { "block_spd:40:3", "fsai", ROUNDED },
    { "stokes2d:9", "saddle:first=jacobi", SAME_BITS },
    { "stokes2d:9", "saddle:full,lsc,first=jacobi,second=chebyshev:3", ROUNDED },
    { "poisson2d:19", "amg:coarsest=20,scaling=fsai", SINGLE },
    { "convection2d:19:100", "amg:coarsest=20,values=double", ROUNDED },
};

/* The matrix of a problem in a type. */
static kry_op *matrix_of(const char *spec, kry_type type)
{
    kry_problem *p;
    kry_op *A;

    OK(kry_problem_create(spec, 1, &p));
    void *val = in_type(type, p->val, p->nnz);
    OK(kry_csr_create(device(), type, p->n, p->n, p->row_ptr, p->col, val,
                      KRY_MATRIX(.traits = p->traits, .block = p->block), &A));
    free(val);
    kry_problem_release(&p);
    return A;
}

static void count_launch(void *user, const char *kernel, cl_event event)
{
    (void)kernel;
    ++*(int64_t *)user;
    clReleaseEvent(event);
}

/* Z := M R of k of the columns, or alpha M R + beta R, in blocks that start anywhere; returns the launches. */
static int64_t apply(const kry_op *M, int64_t k, const double *r, double alpha, double beta,
                     double *z)
{
    const kry_type type = kry_op_get_shape(M)->type;
    const int64_t n = kry_op_get_shape(M)->rows;
    guarded R = guarded_create(type, n, k, 1, r),
            Z = guarded_create(type, n, k, 3, beta == 0 ? NULL : r);
    int64_t launches = 0;

    kry_device_set_trace(device(), count_launch, &launches);
    OK(kry_op_apply(M, alpha, R.v, beta, Z.v));
    kry_device_set_trace(device(), NULL, NULL);
    double *found = guarded_read(&Z), *same = guarded_read(&R);
    assert_same_bits(same, r, n * k);
    memcpy(z, found, (size_t)(n * k) * sizeof *z);
    free(found), free(same);
    guarded_release(&R), guarded_release(&Z);
    return launches;
}

static double largest(const double *z, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(z[i]));
    return most;
}

/* Columns of a block against those that were alone, in one go and again. */
static void compare(const problem *p, const kry_op *M, int64_t k, const double *z,
                    const double *alone)
{
    const int64_t n = kry_op_get_shape(M)->rows;
    const kry_type type = p->as == SINGLE ? KRY_F32 : kry_op_get_shape(M)->type;
    /* the rounding of residuals on the way, times the condition of A */
    const double rounding = 10 * 3000 * eps_of(type);

    for (int64_t j = 0; j < k; j++) {
        const double size = largest(alone + j * n, n);
        if (p->as == SAME_BITS) assert_same_bits(z + j * n, alone + j * n, n);
        for (int64_t i = 0; i < n; i++)
            NEAR(z[j * n + i], alone[j * n + i], rounding * size,
                 "%s of %s: row %lld of column %lld of %lld", p->precond, p->spec, (long long)i,
                 (long long)j, (long long)k);
    }
}

/* The columns have sizes of their own. */
static double *right_hand_sides(kry_type type, int64_t n)
{
    double *r = random_array(type, n * MOST);
    for (int64_t j = 0; j < MOST; j++)
        for (int64_t i = 0; i < n; i++) r[j * n + i] = ldexp(r[j * n + i], 4 * (int)j - 20);
    return r;
}

/* M with blocks of columns; its launches for one column and for eight. */
static void check_columns(const problem *p, const kry_op *M, int64_t launches[2])
{
    const kry_type type = kry_op_get_shape(M)->type;
    const int64_t n = kry_op_get_shape(M)->rows, bytes = n * MOST * (int64_t)sizeof(double);
    double *r = right_hand_sides(type, n), *alone = malloc((size_t)bytes),
           *z = malloc((size_t)bytes);
    double *scaled = malloc((size_t)bytes);
    const double alpha = to_type(type, -0.375), beta = 0.5;

    assert_non_null(alone), assert_non_null(z), assert_non_null(scaled);
    for (int64_t j = 0; j < MOST; j++) {
        launches[0] = apply(M, 1, r + j * n, 1, 0, alone + j * n);
        apply(M, 1, r + j * n, alpha, beta, scaled + j * n);
    }
    for (size_t c = 0; c < COUNT(columns); c++) {
        const int64_t used = apply(M, columns[c], r, 1, 0, z);
        if (columns[c] == 8) launches[1] = used;
        compare(p, M, columns[c], z, alone);
        apply(M, columns[c], r, alpha, beta, z);
        compare(p, M, columns[c], z, scaled);
    }
    free(r), free(alone), free(z), free(scaled);
}

static void check_problem(const problem *p, kry_type type)
{
    kry_op *A = matrix_of(p->spec, type), *M;
    int64_t launches[2] = { 0 };

    OK(kry_precond_create(A, p->precond, &M));
    check_columns(p, M, launches);
    print_message("# %s of %s: %lld launches for one column, %lld for eight\n", p->precond, p->spec,
                  (long long)launches[0], (long long)launches[1]);
    if (!strstr(p->precond, "cycle=k")) assert_true(launches[1] <= 4 * launches[0]);
    kry_op_release(&M), kry_op_release(&A);
}

/* A third of the cases, each in one of the four runs; others with another seed, all of them in a full run. */
static void precond_columns__as_each_alone(void **state)
{
    static int64_t runs;

    for (size_t i = 0; i < COUNT(some); i++)
        if (one_of(12, (int64_t)i + 3 * runs)) check_problem(&some[i], type_of(state));
    runs++;
}

/* The second level: Q by sub-domains, with modes and by few vectors; dense and by a factor on the host; and both levels. */
static void precond_columns__deflation(void **state)
{
    const kry_type type = type_of(state);
    kry_op *A = matrix_of("poisson2d:19", type);
    const int64_t n = kry_op_get_shape(A)->rows;
    double *modes = calloc((size_t)n * 2, sizeof *modes);
    kry_vec *columns_of_modes;

    assert_non_null(modes);
    for (int64_t i = 0; i < n; i++) modes[i] = 1, modes[n + i] = (double)(i % 19);
    OK(kry_vec_create(device(), type, n, 2, &columns_of_modes));
    write_doubles(columns_of_modes, modes);
    const struct {
        const char *name;
        kry_deflation_params params;
    } cases[] = {
        { "stripes", *KRY_DEFLATION(.stripes = 30) },
        { "cholesky", *KRY_DEFLATION(.stripes = 30, .coarse = KRY_COARSE_CHOLESKY) },
        { "modes", *KRY_DEFLATION(.stripes = 9, .modes = columns_of_modes) },
        { "vectors", *KRY_DEFLATION(.vectors = columns_of_modes) },
    };
    static int64_t runs;
    runs++;
    for (size_t c = 0; c < COUNT(cases); c++) {
        if (!one_of(4, (int64_t)c + runs)) continue;
        const problem p = { "poisson2d:19", cases[c].name, ROUNDED };
        int64_t launches[2];
        kry_op *Q;
        OK(kry_deflation_create(A, &cases[c].params, &Q));
        check_columns(&p, Q, launches);
        print_message("# deflation by %s: %lld and %lld launches\n", cases[c].name,
                      (long long)launches[0], (long long)launches[1]);
        kry_op_release(&Q);
    }
    free(modes);
    kry_vec_release(&columns_of_modes);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(precond_columns__as_each_alone),
        FOUR(precond_columns__deflation),
    };

    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
