/* test_guess.c - starting guesses from earlier solves: what they save, that they are forgotten with the matrix,
 * and that x is the solution whatever they are. */
#include "again.h"

static const char *const methods[] = { "method=cg", "method=gmres:10", "method=bicgstab" };

static again general(kry_type type, const char *method, const char *more)
{
    char words[128];
    snprintf(words, sizeof words, "%s rtol=%s %s", method, type == KRY_F32 ? "1e-5" : "1e-9", more);
    return again_begin(device(), type,
                       strcmp(method, "method=cg") ? chain_with(MOST, -1.2, 2.3, -0.9)
                                                   : chain_of(MOST, 2.1, 2.1),
                       words);
}

/* b = 3 b_1 - 2 b_2, at a tolerance that the earlier solves leave room for. */
static void guess_solve__what_is_known_takes_no_iteration(void **state)
{
    kry_type type = type_of(state);

    for (size_t m = 0; m < COUNT(methods); m++) {
        again a = general(type, methods[m], "guess=project:2");
        double *b_1 = random_array(type, MOST), *b_2 = random_array(type, MOST), b[MOST];
        for (int i = 0; i < MOST; i++) b[i] = 3 * b_1[i] - 2 * b_2[i];
        assert_true(again_solve(&a, b_1) > 0);
        assert_true(again_solve(&a, b_2) > 0);
        OK(kry_solver_set_stop(a.S, &(kry_stop){ .rtol = type == KRY_F32 ? 1e-3 : 1e-7 }));
        assert_int_equal(again_solve(&a, b), 0);
        assert_int_equal(again_solve(&a, b_1), 0); /* the third has not taken a place */
        free(b_1), free(b_2);
        again_end(&a);
    }
}

/* b(t) = b_1 + t b_2 + t^2 b_3, of which three solutions are enough, or nearly. */
static int64_t march(again *a, const double *parts)
{
    int64_t iterations = 0;

    for (int step = 0; step < 12; step++) {
        const double t = 0.1 * step;
        double b[MOST];
        for (int i = 0; i < MOST; i++)
            b[i] = parts[i] + t * parts[MOST + i] + t * t * parts[2 * MOST + i];
        iterations += again_solve(a, b);
    }
    return iterations;
}

static void guess_solve__saves_iterations_from_step_to_step(void **state)
{
    kry_type type = type_of(state);
    double *parts = random_array(type, 3 * MOST);

    for (size_t m = 0; m < COUNT(methods); m++) {
        again given = general(type, methods[m], "guess=none"),
              projected = general(type, methods[m], "guess=project:4"),
              once_more = general(type, methods[m], "guess=project:4");
        const int64_t all = march(&given, parts), fewer = march(&projected, parts);
        assert_true(fewer < all / 2);
        assert_int_equal(march(&once_more, parts), fewer); /* the same in every run */
        double *x = numbers_of(projected.x), *same = numbers_of(once_more.x);
        assert_same_bits(x, same, MOST);
        free(x), free(same);
        again_end(&given), again_end(&projected), again_end(&once_more);
    }
    free(parts);
}

/* More solves than there are places, and right-hand sides that have nothing in common. */
static void guess_solve__forgets_the_oldest(void **state)
{
    kry_type type = type_of(state);
    static const char *const words[] = { "guess=project:1", "guess=project:3", "guess=project" };

    for (size_t w = 0; w < COUNT(words); w++) {
        again a = general(type, "method=cg", words[w]);
        double *first = random_array(type, MOST);
        again_solve(&a, first);
        for (int k = 0; k < 10; k++) {
            double *b = random_array(type, MOST);
            assert_true(again_solve(&a, b) > 0);
            free(b);
        }
        assert_true(again_solve(&a, first) > 5);
        free(first);
        again_end(&a);
    }
}

static void guess_solve__forgets_an_old_matrix(void **state)
{
    kry_type type = type_of(state);
    again a = general(type, "method=cg", "guess=project:3"),
          b = general(type, "method=cg", "guess=none");
    double *rhs = random_array(type, MOST);
    float single[3 * MOST];

    again_solve(&a, rhs);
    for (int64_t k = 0; k < a.c.row_ptr[a.c.n]; k++) {
        a.c.val[k] *= a.c.val[k] > 0 ? 1.5 : 1, b.c.val[k] = a.c.val[k];
        single[k] = (float)a.c.val[k];
    }
    const void *values = type == KRY_F32 ? (const void *)single : a.c.val;
    OK(kry_op_update(a.A, values));
    OK(kry_op_update(a.S, NULL));
    OK(kry_op_update(b.A, values));
    OK(kry_op_update(b.S, NULL));
    assert_int_equal(again_solve(&a, rhs), again_solve(&b, rhs));
    free(rhs);
    again_end(&a), again_end(&b);
}

/* x as the caller gives it is improved, not replaced: an exact one stays. */
static void guess_solve__improves_the_callers(void **state)
{
    kry_type type = type_of(state);
    again a = general(type, "method=cg", "guess=project");
    double *b = random_array(type, MOST), *c = random_array(type, MOST);
    kry_vec *vc = vec_on(device(), type, c, MOST, 1);

    again_solve(&a, b);
    again_solve(&a, c);
    OK(kry_solve(a.S, vc, a.x, &a.res));
    assert_in_range(a.res.iterations, 0, 1);
    kry_vec_release(&vc);
    free(b), free(c);
    again_end(&a);
}

static void guess_solve__on_a_team(void **state)
{
    kry_type type = type_of(state);
    double *b = random_array(type, MOST), first[MOST];

    for (int parts = 1; parts <= 3; parts++) {
        kry_device *team = open_team(parts, (kry_team_params){ .reproducible = true });
        again a = again_begin(team, type, chain_of(MOST, 2.1, 2.1),
                              "method=cg guess=project:2 rtol=1e-5");
        const int64_t iterations = again_solve(&a, b);
        OK(kry_solver_set_stop(a.S, &(kry_stop){ .rtol = 1e-3 }));
        assert_true(iterations > 0);
        assert_int_equal(again_solve(&a, b), 0);
        double *x = numbers_of(a.x);
        if (parts == 1) memcpy(first, x, sizeof first);
        assert_same_bits(x, first, MOST);
        free(x);
        again_end(&a);
        close_team(&team);
    }
    free(b);
}

static void guess_create__bad_numbers(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(20, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *S;
    static const char *const words[] = { "guess=old", "guess=project:0", "guess=project:33",
                                         "guess=project8", "guess=project:" };

    for (size_t i = 0; i < COUNT(words); i++)
        REFUSES(kry_solver_create(A, words[i], NULL, NULL, &S), KRY_ERR_PARSE,
                "is no value for guess");
    REFUSES(kry_solver_create(A, "method=jacobi guess=project", NULL, NULL, &S), KRY_ERR_PARSE,
            "a relaxation takes no guess");
    if (type == KRY_F64)
        REFUSES(kry_solver_create(A, "precision=mixed guess=project", NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "guess=project is not for precision=mixed");
    REFUSES(kry_pcg_create(A, KRY_PCG(.guesses = 33), &S), KRY_ERR_ARGUMENT,
            "guess = 33 is not in [0, 32]");
    REFUSES(kry_pcg_create(A, KRY_PCG(.guesses = -1), &S), KRY_ERR_ARGUMENT, "guess = -1");
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(guess_solve__what_is_known_takes_no_iteration),
        BOTH(guess_solve__saves_iterations_from_step_to_step),
        BOTH(guess_solve__forgets_the_oldest),
        BOTH(guess_solve__forgets_an_old_matrix),
        BOTH(guess_solve__improves_the_callers),
        BOTH(guess_solve__on_a_team),
        BOTH(guess_create__bad_numbers),
    };
    return cmocka_run_group_tests_name("guess", tests, keep_profile, restore_profile);
}
