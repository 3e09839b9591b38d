/* test_reproducible.c - teams in reproducible mode: the same bits on any number of devices. */
#include "grids.h"
#include "teams.h"

static const int counts[] = { 1, 2, 5 };

static kry_device *open_reproducible(int parts, const double *shares)
{
    return open_team(parts, (kry_team_params){ .reproducible = true, .shares = shares });
}

/* What a solve leaves behind. */
typedef struct outcome {
    double *x, *history;
    int64_t n, history_count, iterations;
    double residual, dot;
} outcome;

static void outcome_release(outcome *o) { free(o->x), free(o->history); }

static double *random_with(kry_type type, int64_t n, uint64_t seed)
{
    double *v = calloc((size_t)n + 1, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        v[i] = to_type(type, (double)(seed >> 11) / (double)(UINT64_C(1) << 53) - 0.5);
    }
    return v;
}

static outcome solve_system(const kry_op *A, kry_type type, const char *options, int64_t most)
{
    kry_device *dev = kry_op_device(A);
    int64_t n = kry_op_get_shape(A)->rows;
    kry_op *S;
    kry_result res;
    outcome o = { .n = n };
    double *hb = random_with(type, n, 5);
    kry_vec *x = vec_on(dev, type, hb, n, 1), *b;

    kry_vec *full = vec_on(dev, type, hb, n, 1);
    OK(kry_vec_fill(x, 0));
    OK(kry_vec_create(dev, type, n, 1, &b));
    OK(kry_op_apply(A, 1, full, 0, b)); /* what a singular A can reach */
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    kry_status st = kry_solve(S, b, x, &res);
    if (st < 0) fail_msg("%s: %s", options, kry_last_error());
    assert_true(res.iterations <= most);
    OK(kry_vec_dot(x, full, &o.dot));
    o.x = numbers_of(x);
    o.iterations = res.iterations, o.residual = res.true_residual;
    o.history_count = res.history_count;
    o.history = calloc((size_t)res.history_count + 1, sizeof *o.history);
    assert_non_null(o.history);
    memcpy(o.history, res.history, (size_t)res.history_count * sizeof *o.history);
    kry_vec_release(&full), kry_vec_release(&x), kry_vec_release(&b);
    kry_op_release(&S);
    free(hb);
    return o;
}

static void same_bits(const outcome *got, const outcome *want, const char *what, int parts)
{
    if (got->iterations != want->iterations || got->history_count != want->history_count)
        fail_msg("%s on %d parts: %lld iterations, not %lld", what, parts,
                 (long long)got->iterations, (long long)want->iterations);
    for (int64_t i = 0; i < want->history_count; i++)
        if (memcmp(&got->history[i], &want->history[i], sizeof *want->history))
            fail_msg("%s on %d parts: residual %lld is %.17g, not %.17g", what, parts, (long long)i,
                     got->history[i], want->history[i]);
    for (int64_t i = 0; i < want->n; i++)
        if (memcmp(&got->x[i], &want->x[i], sizeof *want->x))
            fail_msg("%s on %d parts: x[%lld] is %.17g, not %.17g", what, parts, (long long)i,
                     got->x[i], want->x[i]);
    assert_memory_equal(&got->residual, &want->residual, sizeof got->residual);
    assert_memory_equal(&got->dot, &want->dot, sizeof got->dot);
}

/* ---- matrices ---------------------------------------------------------------------------------- */

/* How many parts have rows of a vector of n. */
static int parts_of(kry_device *team, kry_type type, int64_t n)
{
    kry_vec *v;
    OK(kry_vec_create(team, type, n, 1, &v));
    const int parts = kry_vec_parts(v);
    kry_vec_release(&v);
    return parts;
}

static void compare_matrix(kry_type type, const char *spec, const char *format, const char *options)
{
    static const double uneven[] = { 3, 1, 2, 5, 1 };
    kry_problem *p;
    outcome want = { 0 };
    char what[128];

    OK(kry_problem_create(spec, 11, &p));
    snprintf(what, sizeof what, "%s %s %s", spec, format, options);
    for (size_t t = 0; t < 2 * COUNT(counts); t++) {
        int parts = counts[t / 2];
        if (t == 1 || (t > 1 && !in_sample((int64_t)(t + t / 2)))) continue;
        kry_device *team = open_reproducible(parts, t % 2 ? uneven : NULL);
        kry_matrix_params params = { .struct_size = sizeof params,
                                     .traits = p->singular ? KRY_SINGULAR : KRY_POSITIVE };
        OK(kry_format_parse(format, &params));
        kry_op *A = matrix_on(team, type, p, &params);
        assert_int_equal(parts_of(team, type, p->n), parts);
        assert_true(is_extended(A));
        outcome got = solve_system(A, type, options, 100000);
        if (t == 0) {
            want = got;
            print_message("# %s: %lld iterations\n", what, (long long)got.iterations);
        } else {
            same_bits(&got, &want, what, parts);
            outcome_release(&got);
        }
        kry_op_release(&A);
        close_team(&team);
    }
    outcome_release(&want);
    kry_problem_release(&p);
}

static void matrices__give_the_same_bits(void **state)
{
    kry_type type = type_of(state);
    static const char *const solved[][3] = {
        { "random_spd:1003:6", "auto", "method=cg" },
        { "random_spd:397:5", "ell", "method=pcg" },
        { "powerlaw_spd:900:5", "sell", "method=pcg" },
        { "poisson2d:61", "auto", "method=cg" },
        { "twophase2d:12:10", "auto", "method=pcg rtol=1e-4" },
    };
    for (size_t i = 0; i < COUNT(solved); i++)
        if (in_sample((int64_t)i + (type == KRY_F32)))
            compare_matrix(type, solved[i][0], solved[i][1], solved[i][2]);
}

static void preconditioners__give_the_same_bits(void **state)
{
    kry_type type = type_of(state);
    compare_matrix(type, "random_spd:803:6", "auto", "precond=chebyshev");
    compare_matrix(type, "poisson2d:33", "auto", "precond=neumann");
}

/* ---- grids -------------------------------------------------------------------------------------- */

/* Constants once more, as a vector that is made orthonormal. */
static void attach_constants(kry_op *A, kry_type type)
{
    kry_vec *ones;
    OK(kry_vec_create(kry_op_device(A), type, kry_op_get_shape(A)->rows, 1, &ones));
    OK(kry_vec_fill(ones, 3));
    OK(kry_op_set_null_space(A, ones));
    kry_vec_release(&ones);
}

#define D KRY_DIRICHLET
#define N KRY_NEUMANN
#define P KRY_PERIODIC
static const grid solved[] = {
    { .name = "33 x 29", .size = { 33, 29 }, .low = { D, D }, .high = { D, D } },
    { .name = "13 x 12, cells",
      .size = { 13, 12 },
      .low = { D, P },
      .high = { N, P },
      .variable = true },
    { .name = "11 x 7 x 9", .size = { 11, 7, 9 }, .low = { D, N, N }, .high = { N, N, D } },
    { .name = "12 x 6 x 8, cells",
      .size = { 12, 6, 8 },
      .low = { D, D, D },
      .high = { D, N, D },
      .variable = true },
    { .name = "singular 16 x 14", .size = { 16, 14 }, .low = { N, N }, .high = { N, N } },
};
#undef D
#undef N
#undef P

static void compare_grid(kry_type type, const grid *g, bool attaches, const char *options)
{
    double *k = grid_coefficients(g, type);
    outcome want = { 0 };
    int64_t layers = g->size[2] ? g->size[2] : g->size[1];

    for (size_t t = 0; t < COUNT(counts) && counts[t] <= layers; t++) {
        if (t > 0 && !in_sample((int64_t)t + (g - solved))) continue;
        kry_device *team = open_reproducible(counts[t], NULL);
        kry_stencil_params p = grid_params(g, k);
        kry_op *A;
        OK(kry_stencil_create(team, type, &p, &A));
        assert_int_equal(parts_of(team, type, kry_op_get_shape(A)->rows), counts[t]);
        if (attaches) attach_constants(A, type);
        outcome got = solve_system(A, type, options, 100000);
        if (t == 0) {
            want = got;
            print_message("# %s %s: %lld iterations\n", g->name, options,
                          (long long)got.iterations);
        } else {
            same_bits(&got, &want, g->name, counts[t]);
            outcome_release(&got);
        }
        kry_op_release(&A);
        close_team(&team);
    }
    outcome_release(&want);
    free(k);
}

static void grids__give_the_same_bits(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(solved); i++) {
        const char *loose = i == 4 && type == KRY_F32 ? "method=cg rtol=1e-4" : "method=cg";
        if (in_sample((int64_t)i + (type == KRY_F32))) compare_grid(type, &solved[i], false, loose);
    }
    if (in_sample(type == KRY_F32)) compare_grid(type, &solved[1], false, "method=pcg");
    if (in_sample(type == KRY_F64)) compare_grid(type, &solved[0], false, "precond=chebyshev");
    if (in_sample(type == KRY_F32))
        compare_grid(type, &solved[4], true,
                     type == KRY_F32 ? "method=pcg rtol=1e-4" : "method=pcg");
}

/* ---- sums, values, refusals ---------------------------------------------------------------------- */

static void dots__do_not_depend_on_the_parts(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 5, 64, 65, 1000, 40007 };

    for (size_t s = 0; s < COUNT(sizes); s++) {
        int64_t n = sizes[s], k = 3;
        double *hx = random_with(type, n * k, 1), *hy = random_with(type, n * k, 2);
        double want = 0, norm = 0, got;
        long double exact = 0;
        for (int64_t i = 0; i < n * k; i++) exact += (long double)hx[i] * hy[i];
        for (size_t t = 0; t < COUNT(counts); t++) {
            kry_device *team = open_reproducible(counts[t], NULL);
            kry_vec *x = vec_on(team, type, hx, n, k), *y = vec_on(team, type, hy, n, k);
            OK(kry_vec_dot(x, y, &got));
            if (t == 0) want = got;
            NEAR(got, exact, 4.0 * (double)(n * k) * eps_of(acc_type()), "n = %lld", (long long)n);
            assert_memory_equal(&got, &want, sizeof got);
            OK(kry_vec_norm2(x, &got));
            if (t == 0) norm = got;
            assert_memory_equal(&got, &norm, sizeof got);
            kry_vec_release(&x), kry_vec_release(&y);
            close_team(&team);
        }
        free(hx), free(hy);
    }
}

static void values__can_be_new(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    outcome want = { 0 };

    OK(kry_problem_create("random_spd:403:5", 3, &p));
    for (size_t t = 0; t < COUNT(counts); t++) {
        kry_device *team = open_reproducible(counts[t], NULL);
        kry_op *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
        double *twice = calloc((size_t)p->nnz, sizeof *twice);
        assert_non_null(twice);
        for (int64_t i = 0; i < p->nnz; i++) twice[i] = 3 * p->val[i];
        void *val = in_type(type, twice, p->nnz);
        OK(kry_op_update(A, val));
        kry_vec *d;
        OK(kry_vec_create(team, type, p->n, 1, &d));
        OK(kry_op_diagonal(A, d));
        double *got_d = numbers_of(d);
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
                if (p->col[e] == i)
                    NEAR(got_d[i], to_type(type, twice[e]), 0, "d[%lld]", (long long)i);
        outcome got = solve_system(A, type, "method=pcg", 1000);
        if (t == 0)
            want = got;
        else
            same_bits(&got, &want, "new values", counts[t]), outcome_release(&got);
        kry_vec_release(&d);
        kry_op_release(&A);
        close_team(&team);
        free(twice), free(val), free(got_d);
    }
    outcome_release(&want);
    kry_problem_release(&p);
}

static void what_cannot_be_reproduced__is_refused(void **state)
{
    (void)state;
    kry_type type = acc_type();
    kry_device *part, *team;
    kry_problem *p;
    kry_op *A, *S;

    OK(kry_device_open(NULL, &part));
    REFUSES(kry_team_create(&part, 1, KRY_TEAM(.reproducible = true, .by_graph = true), &team),
            KRY_ERR_ARGUMENT, "cannot be reproducible");
    kry_device_release(&part);
    OK(kry_problem_create("poisson2d:9", 1, &p));
    team = open_reproducible(2, NULL);
    void *val = in_type(type, p->val, p->nnz);
    REFUSES(kry_csr_create(team, type, p->n, p->n, p->row_ptr, p->col, val,
                           KRY_MATRIX(.format = KRY_FORMAT_CSR), &A),
            KRY_ERR_UNSUPPORTED, "use sell or ell");
    A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    static const char *const local[] = { "precond=block-jacobi", "precond=ilu0", "precond=ip",
                                         "precond=ssor-ai", "precond=fsai" };
    for (size_t i = 0; i < COUNT(local); i++)
        REFUSES(kry_solver_create(A, local[i], NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                "'reproducible matrix' is neither a stored matrix nor a grid operator");
    kry_op_release(&A);
    close_team(&team);
    free(val);
    kry_problem_release(&p);
}

static void shapes__of_gpus_too(void **state)
{
    use_profile("gpu-kernels");
    compare_matrix(type_of(state), "random_spd:1003:6", "auto", "method=cg");
    compare_matrix(type_of(state), "powerlaw_spd:900:5", "sell", "method=pcg");
    compare_grid(type_of(state), &solved[0], false, "method=cg");
    compare_grid(type_of(state), &solved[3], false, "method=pcg");
    use_profile(NULL);
}

static void devices_without_double__give_the_same_bits(void **state)
{
    (void)state;
    use_profile("no-fp64");
    compare_matrix(KRY_F32, "random_spd:1003:6", "auto", "method=pcg");
    compare_grid(KRY_F32, &solved[1], false, "method=cg");
    use_profile(NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BOTH(dots__do_not_depend_on_the_parts),
        BOTH(matrices__give_the_same_bits),
        { "preconditioners__give_the_same_bits/double", preconditioners__give_the_same_bits, NULL,
          NULL, &type_double },
        BOTH(grids__give_the_same_bits),
        { "values__can_be_new/single", values__can_be_new, NULL, NULL, &type_single },
        { "shapes__of_gpus_too/double", shapes__of_gpus_too, NULL, NULL, &type_double },
        cmocka_unit_test(devices_without_double__give_the_same_bits),
        cmocka_unit_test(what_cannot_be_reproduced__is_refused),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
