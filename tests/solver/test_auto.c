/* test_auto.c - method=auto: what it lists for which matrix, that it solves them, goes on where a choice fails, keeps to
 * the limit, shows its iterations to one monitor, and follows updates. */
#include "chains.h"
#include "krylov/auto_choices.h"
#include "krylov/auto_pace.h"

#ifdef KRY_HAVE_CHOLMOD
enum { HAS_LDL = 1 };
#else
enum { HAS_LDL = 0 };
#endif
#if defined KRY_HAVE_UMFPACK || defined KRY_HAVE_KLU
enum { HAS_LU = 1 };
#else
enum { HAS_LU = 0 };
#endif

static int place_of(const kryi_choices *list, const char *method)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->choice[i].method, method)) return i;
    return -1;
}

/* The first choice by iterations, what stands behind it, and whether the direct solver is there. */
static void expect(kry_type type, const chain *c, unsigned traits, const char *first,
                   const char *second, const char *why)
{
    kry_op *A = matrix_of(device(), type, c, traits);
    kryi_choices list, without;

    OK(kryi_choices_list(A, NULL, true, &list));
    OK(kryi_choices_list(A, NULL, false, &without));
    if (!strstr(list.why, why)) fail_msg("'%s' does not say '%s'", list.why, why);
    assert_string_equal(without.choice[0].method, first);
    assert_int_equal(place_of(&without, "direct"), -1);
    assert_true(place_of(&list, first) >= 0 && place_of(&list, first) < place_of(&list, second));
    if (HAS_LU || (HAS_LDL && strncmp(why, "not", 3)))
        assert_true(place_of(&list, "direct") == 0 || place_of(&list, "direct") == 1);
    else
        assert_int_equal(place_of(&list, "direct"), -1);
    kryi_choices_release(&without);
    kryi_choices_release(&list);
    kry_op_release(&A);
}

static void choices__by_the_entries(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(100, 2.5, 2.5);

    expect(type, &c, 0, "pcg", "minres", "positive diagonal, an M-matrix, bandwidth 1");
    c = chain_of(100, 1.5, 2.5);
    c.val[0] = -1;
    expect(type, &c, 0, "minres", "gmres:128", "symmetric and indefinite");
    c = chain_with(100, -1.5, 2.8, -0.5);
    expect(type, &c, 0, "bicgstab:2", "gmres:128", "not symmetric, diagonally dominant");
    c = chain_with(100, -1.5, 0, -0.5);
    expect(type, &c, 0, "bicgstab:2", "gmres:128", "not symmetric, zeros on the diagonal");
}

static bool lists(const kryi_choices *list, const char *method, const char *precond)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->choice[i].method, method) && !strcmp(list->choice[i].precond, precond))
            return true;
    return false;
}

/* Zeros on the diagonal of a symmetric matrix: blocks of fields, and then none. */
static void choices__saddle_points(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(100, 2.5, 2.5);

    for (int64_t i = 2; i < c.n; i += 3) c.val[c.row_ptr[i] + 1] = 0;
    expect(type, &c, 0, "gmres:60", "bicgstab:2", "symmetric, zeros on the diagonal");
    kry_op *A = matrix_of(device(), type, &c, 0);
    kryi_choices list;
    OK(kryi_choices_list(A, NULL, false, &list));
    assert_string_equal(list.choice[0].precond, "saddle:upper");
    assert_string_equal(list.choice[1].method, "minres");
    assert_string_equal(list.choice[1].precond, "none");
    kryi_choices_release(&list);
    OK(kryi_choices_list(A, "none", false, &list));
    assert_false(lists(&list, "gmres:60", "saddle:upper"));
    kryi_choices_release(&list);
    kry_op_release(&A);
    outcome o = solve(type, &c, "method=auto rtol=1e-5");
    assert_int_equal(o.status, KRY_OK);
    assert_true(residual_of(&c, o.x) <= 1.01e-5 * o.res.norm_b);
}

/* u_i+1 - u_i-1: incomplete factors refuse it, and so nothing is left but methods without. */
static void choices__zeros_on_the_diagonal(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 100, 128, 129, 200 };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        const chain c = chain_with(sizes[i], -1, 0, 1);
        kry_op *A = matrix_of(device(), type, &c, 0);
        kryi_choices list;
        OK(kryi_choices_list(A, NULL, false, &list));
        assert_true(lists(&list, "bicgstab:2", "none"));
        assert_true(lists(&list, sizes[i] <= 128 ? "gmres:128" : "gmres:60", "none"));
        assert_string_equal(list.choice[list.count - 1].method, "lsmr");
        assert_string_equal(list.choice[list.count - 1].precond, "columns");
        kryi_choices_release(&list);
        kry_op_release(&A);
    }
}

static void choices__preconditioner_by_dominance(void **state)
{
    const kry_type type = type_of(state);
    const char *whole = kry_device_get_info(device())->cpu_kernels ? "ilu0" : "block-ilu";
    const struct {
        double below, diagonal, above;
        const char *precond;
    } tries[] = { { -1.5, 2.8, -0.5, "jacobi" },
                  { -1.5, 2.05, -0.5, "jacobi" },
                  { -1.25, 2.01, -0.75, "block-ilu" },
                  { -0.75, 2, -1.25, "block-ilu" },
                  { -1.5, 2, -0.5, whole },
                  { -0.5, 2.01, -1.5, whole },
                  { -2, 2, 0, whole },
                  { -1.2, 1.9, -0.8, whole } };

    for (size_t i = 0; i < COUNT(tries); i++) {
        chain c = chain_with(100, tries[i].below, tries[i].diagonal, tries[i].above);
        kry_op *A = matrix_of(device(), type, &c, 0);
        kryi_choices list;
        OK(kryi_choices_list(A, NULL, false, &list));
        assert_string_equal(list.choice[0].method, "bicgstab:2");
        assert_string_equal(list.choice[0].precond, tries[i].precond);
        kryi_choices_release(&list);
        kry_op_release(&A);
    }
}

static void solve__of_every_kind(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 1, 2, 64, 257 };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        const chain cases[] = { chain_of(sizes[i], 2.5, 2.5), chain_of(sizes[i], 0.55, 0.55),
                                chain_with(sizes[i], -1.5, 2.8, -0.5) };
        static const char *const words[] = { "method=auto rtol=1e-5",
                                             "method=auto precond=jacobi rtol=1e-5" };
        for (size_t k = 0; k < 2 * COUNT(cases); k++) {
            const chain *c = &cases[k / 2];
            outcome o = solve(type, c, words[k % 2]);
            assert_int_equal(o.status, KRY_OK);
            assert_non_null(strstr(o.res.chosen, "symmetric"));
            if (k % 2) assert_null(strstr(o.res.chosen, "direct"));
            NEAR(residual_of(c, o.x), o.res.true_residual, 1e-6 * o.res.norm_b, "case %zu", k);
        }
    }
    const chain c = chain_of(50, 2.5, 2.5);
    check_guess_and_zero(type, &c, "method=auto rtol=1e-5");
}

/* Its diagonal is positive, but it is not positive definite. */
static void solve__goes_on_after_a_breakdown(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_of(MOST, 0.55, 0.55);

    outcome o = solve(type, &c, "method=auto precond=jacobi rtol=1e-5");
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.promotions >= 1);
    assert_non_null(strstr(o.res.promoted_why, "pcg: "));
    assert_non_null(strstr(o.res.chosen, "minres with"));
    assert_true(residual_of(&c, o.x) <= 1.01e-5 * o.res.norm_b);
}

/* x_i+1 = b_i: a matrix of which no polynomial below the degree n is of use. */
static chain shift(int64_t n)
{
    chain c = { .n = n };
    for (int32_t i = 0; i < n; i++)
        c.col[i] = (int32_t)((i + 1) % n), c.val[i] = 1, c.row_ptr[i + 1] = i + 1;
    c.b[0] = 1;
    return c;
}

/* Five points, and a wind by upwind differences. Rows add up to zero, but for those of the first and the last line. */
static matrix grid_of(kry_type type, int64_t line, int64_t lines, double along, double across)
{
    const double entry[] = { -1 - across, -1 - along, 0, -1, -1 };
    const int64_t n = line * lines, step[] = { -line, -1, 0, 1, line };
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(5 * (size_t)n, sizeof *A.col), A.val = calloc(5 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = i % line;
        double sum = 0;
        int64_t diagonal = 0;
        for (int k = 0; k < 5; k++) {
            const int64_t j = i + step[k];
            const bool outside = j < 0 || j >= n;
            const bool ends = (k == 1 && at == 0) || (k == 3 && at == line - 1);
            if (!ends) sum -= entry[k];
            if (ends || outside) continue;
            if (k == 2) diagonal = A.nnz;
            A.col[A.nnz] = (int32_t)j, A.val[A.nnz++] = to_type(type, entry[k]);
        }
        A.val[diagonal] = to_type(type, sum);
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

/* A beam that is bent: its condition grows with the fourth power of n, and the residual of conjugate gradients stays where it
 * is for most of their steps. */
static chain beam(int64_t n)
{
    chain c = { .n = n };
    int64_t k = 0;

    for (int32_t i = 0; i < n; i++) {
        static const double entry[] = { 1, -4, 6, -4, 1 };
        for (int32_t j = i > 1 ? i - 2 : 0; j <= i + 2 && j < n; j++)
            c.col[k] = j, c.val[k++] = entry[j - i + 2];
        c.row_ptr[i + 1] = k;
        c.b[i] = (float)sin(1.0 + (double)i);
    }
    return c;
}

/* No method for matrices that are not symmetric comes before conjugate gradients with Jacobi's preconditioner have been
 * tried, and these are not given up for one because their residual stays where it is. */
/* 80 lines of 5 cells, with upwind differences; wind along them passes from block to block no more than diffusion does. */
static void choices__convection(void **state)
{
    enum { LINE = 5, LINES = 80, N = LINE * LINES };
    static const double winds[][2] = { { 10, 0 }, { 0, 10 }, { 10, 10 }, { 0.125, 0.125 } };
    kry_type type = type_of(state);

    for (size_t w = 0; w < COUNT(winds); w++) {
        matrix A = grid_of(type, LINE, LINES, winds[w][0], winds[w][1]);
        kry_op *op = csr_of(&A, type, NULL);
        kryi_choices list;
        const bool across = kry_device_get_info(device())->cpu_kernels && winds[w][1] > 1;
        OK(kryi_choices_list(op, NULL, false, &list));
        assert_string_equal(list.choice[0].method, "bicgstab:2");
        assert_string_equal(list.choice[0].precond, across ? "ilu0" : "block-ilu");
        assert_true(!strstr(list.why, "convective") == !(winds[w][1] > 1));
        kryi_choices_release(&list);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* Many rows with few entries, none of them positive beside the diagonal, and not symmetric. */
static void choices__large_convection(void **state)
{
    static const struct {
        int lines;
        double wind;
        bool by_cpus, by_gpus; /* amg */
    } cases[] = { { 250, 10, true, true },
                  { 200, 10, false, true },
                  { 170, 10, false, false },
                  { 250, 0, false, false } };
    const bool cpu = kry_device_get_info(device())->cpu_kernels;
    kry_type type = type_of(state);

    for (size_t c = 0; c < COUNT(cases); c++) {
        matrix A = grid_of(type, 225, cases[c].lines, cases[c].wind, cases[c].wind);
        kry_op *op = csr_of(&A, type, NULL);
        const bool amg = cpu ? cases[c].by_cpus : cases[c].by_gpus;
        kryi_choices list;
        OK(kryi_choices_list(op, NULL, false, &list));
        assert_int_equal(!strcmp(list.choice[0].precond, "amg"), amg);
        if (amg) {
            assert_string_equal(list.choice[0].method, "gmres:60");
            assert_string_equal(list.choice[1].method, "bicgstab:2");
        }
        kryi_choices_release(&list);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

static void choices__positive_definite(void **state)
{
    kry_type type = type_of(state);
    const chain cases[] = { chain_of(100, 2.5, 2.5), chain_of(100, 2, 2), beam(100) };
    static const char *const words[] = { NULL, "jacobi", "block-ic" };

    for (size_t i = 0; i < COUNT(cases) * COUNT(words); i++) {
        kry_op *A = matrix_of(device(), type, &cases[i / COUNT(words)], 0);
        const char *word = words[i % COUNT(words)];
        kryi_choices list;
        int k = 0, last = -1;

        OK(kryi_choices_list(A, word, !word, &list));
        for (; k < list.count &&
               (!strcmp(list.choice[k].method, "pcg") || !strcmp(list.choice[k].method, "direct"));
             k++)
            if (!strcmp(list.choice[k].method, "pcg")) last = k;
        assert_true(last >= 0);
        assert_string_equal(list.choice[last].precond, word ? word : "jacobi");
        assert_true(isinf(list.choice[last].patience));
        for (; k < list.count; k++) {
            assert_string_not_equal(list.choice[k].method, "pcg");
            assert_true(list.choice[k].patience <= 1000);
        }
        kryi_choices_release(&list);
        kry_op_release(&A);
    }
}

static void solve__waits_for_conjugate_gradients(void **state)
{
    kry_type type = type_of(state);
    const chain c = beam(type == KRY_F32 ? 20 : 180);

    outcome o = solve(type, &c,
                      type == KRY_F32 ? "method=auto precond=jacobi rtol=1e-5"
                                      : "method=auto precond=jacobi rtol=1e-8");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.promotions, 0);
    assert_non_null(strstr(o.res.chosen, "pcg with jacobi"));
    assert_true(residual_of(&c, o.x) <= 1.01 * o.res.target);
}

static void solve__keeps_to_the_limit(void **state)
{
    kry_type type = type_of(state);
    const chain c = shift(290);

    outcome o = solve(type, &c, "method=auto precond=none maxit=200 check-every=5");
    assert_true(o.status > 0);
    assert_true(o.res.iterations <= 200);
    assert_true(o.res.promotions >= 1);
    NEAR(residual_of(&c, o.x), o.res.true_residual, 1e-5, "the best x");
    assert_true(o.res.true_residual <= 1.00001);
}

/* Of a residual that falls by `factor` in each iteration, one a millisecond, from 1 to 1e-8: when it is given up; -1:
 * never. Before the first one kernels are compiled, for five seconds. */
static int64_t given_up(double factor, int64_t budget, double other, double patience)
{
    kryi_pace P;
    kry_iteration it = { .target = 1e-8, .residual = 1 };

    kryi_pace_begin(&P, budget, patience);
    for (; it.iteration <= budget && it.residual > it.target; it.iteration++) {
        it.seconds = 5 + 1e-3 * (double)it.iteration;
        if (kryi_pace_hopeless(&P, &it, other)) return it.iteration;
        it.residual *= factor;
    }
    return -1;
}

static void pace__gives_up_in_time(void **state)
{
    (void)state;
    assert_int_equal(given_up(0.9, 1000, INFINITY, 100), -1);   /* 175 iterations */
    assert_int_equal(given_up(0.99, 10000, INFINITY, 100), -1); /* 1833 */
    assert_int_equal(given_up(0.99, 10000, 0.8, 100), 50);
    assert_int_equal(given_up(0.99, 10000, 0.8, INFINITY), 50);
    assert_int_equal(given_up(0.99, 10000, 1, 100), -1);
    assert_int_equal(given_up(0.999, 10000, INFINITY, 100), 112); /* 18412 */
    assert_int_equal(given_up(0.999, 10000, INFINITY, INFINITY), -1);
    assert_int_equal(given_up(1.01, 10000, INFINITY, 100), 112);
    assert_int_equal(given_up(1, 120, INFINITY, 100), 75);
}

typedef struct seen {
    int64_t last;
    int calls, stop_at;
} seen;

static int look_on(void *user, const kry_iteration *it)
{
    seen *s = user;
    assert_true(it->iteration >= s->last && it->seconds >= 0);
    s->last = it->iteration;
    return ++s->calls == s->stop_at;
}

static void solve__shows_all_iterations(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_of(MOST, 0.55, 0.55);
    kry_op *A = matrix_of(device(), type, &c, 0), *S;
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    for (int stop_at = 0; stop_at < 2; stop_at++) {
        seen s = { .stop_at = stop_at };
        OK(kry_solver_create(A, "method=auto precond=jacobi rtol=1e-5 check-every=1", look_on, &s,
                             &S));
        OK(kry_vec_fill(x, 0));
        assert_int_equal(kry_solve(S, b, x, &res), stop_at ? KRY_STOPPED : KRY_OK);
        assert_true(stop_at ? s.calls == 1 : s.last == res.iterations);
        kry_op_release(&S);
    }
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

static void update__other_numbers(void **state)
{
    kry_type type = type_of(state);
    const chain changes[] = { chain_of(100, 2.5, 2.5), chain_of(100, 3, 4),
                              chain_with(100, -1.5, 2.8, -0.5), chain_of(100, 0.55, 0.55) };
    const int64_t nnz = changes[0].row_ptr[100];
    kry_vec *b = vec_of(type, changes[0].b, 100, 1), *x;
    void *numbers = in_type(type, changes[0].val, nnz);
    kry_op *A, *S;
    kry_result res;

    OK(kry_csr_create(device(), type, 100, 100, changes[0].row_ptr, changes[0].col, numbers,
                      KRY_MATRIX(.format = KRY_FORMAT_CSR), &A));
    OK(kry_vec_create(device(), type, 100, 1, &x));
    OK(kry_solver_create(A, "method=auto", NULL, NULL, &S));
    for (size_t i = 0; i < COUNT(changes); i++) {
        free(numbers);
        numbers = in_type(type, changes[i].val, nnz);
        OK(kry_op_update(A, numbers));
        OK(kry_op_update(S, NULL));
        OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = i % 2 ? 1e-4 : 1e-5 }));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        NEAR(res.target, (i % 2 ? 1e-4 : 1e-5) * res.norm_b, 1e-9, "the target");
        double *found = numbers_of(x);
        NEAR(residual_of(&changes[i], found), 0, 1.01 * res.target, "change %zu", i);
        free(found);
    }
    free(numbers);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

static void solve__led_by_others(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_with(MOST, -1.5, 2.8, -0.5);

    if (acc_type() == KRY_F64 && type == KRY_F64) {
        outcome o = solve(type, &c, "method=auto precision=mixed rtol=1e-10");
        assert_int_equal(o.status, KRY_OK);
        assert_true(residual_of(&c, o.x) <= 1.001e-10 * o.res.norm_b);
    }
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    outcome o = solve_on(team, type, &c, 0, "method=auto precond=jacobi rtol=1e-5");
    assert_int_equal(o.status, KRY_OK);
    assert_true(residual_of(&c, o.x) <= 1.01 * o.res.target);
    close_team(&team);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    const int64_t wide_ptr[] = { 0, 1, 2 };
    const int32_t col[] = { 0, 1 };
    const chain c = chain_of(30, 2.5, 2.5);
    void *numbers = in_type(type, c.val, 2);
    kry_op *A = matrix_of(device(), type, &c, 0), *wide, *S;

    OK(kry_csr_create(device(), type, 2, 3, wide_ptr, col, numbers, NULL, &wide));
    REFUSES(kry_solver_create(wide, "method=auto", NULL, NULL, &S), KRY_ERR_SHAPE, "2-by-3");
    REFUSES(kry_solver_create(A, "method=auto rtol=-1", NULL, NULL, &S), KRY_ERR_ARGUMENT,
            "rtol = -1");
    REFUSES(kry_krylov_create(A, "auto", NULL, &S), KRY_ERR_UNSUPPORTED, "kry_solver_create");
    OK(kry_solver_create(A, "method=auto", NULL, NULL, &S));
    REFUSES(kry_op_update(S, numbers), KRY_ERR_ARGUMENT, "takes no values");
    kry_op_release(&S);
    kry_op_release(&wide);
    kry_op_release(&A);
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(choices__by_the_entries),
        BOTH(choices__preconditioner_by_dominance),
        BOTH(choices__zeros_on_the_diagonal),
        BOTH(choices__saddle_points),
        BOTH(choices__convection),
        BOTH(choices__large_convection),
        BOTH(choices__positive_definite),
        BOTH(solve__of_every_kind),
        BOTH(solve__goes_on_after_a_breakdown),
        BOTH(solve__waits_for_conjugate_gradients),
        BOTH(solve__keeps_to_the_limit),
        cmocka_unit_test(pace__gives_up_in_time),
        BOTH(solve__shows_all_iterations),
        BOTH(update__other_numbers),
        BOTH(solve__led_by_others),
        BOTH(create__refuses),
    };
    return cmocka_run_group_tests_name("auto", tests, keep_profile, restore_profile);
}
