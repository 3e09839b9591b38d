/*
 * test_report.c - pages of solves by kry_report_write: what is in them, of one device, of teams and of ranks; where they
 * cannot be written. tests/cli/test_html.py looks at pages that the program writes through the same call, in a browser too.
 */
#include "ranks.h"
#include <kry/problem.h>
#include <kry/report.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>

enum { MOST = 300000 }; /* bytes of a page */

static char path[200];

/* A system with its report, from the device to the end of the solve. */
typedef struct run {
    kry_device *device;
    kry_report *report;
    kry_op *A, *solver;
    kry_problem *p;
    double *x;
    kry_result result;
} run;

static kry_status run_made(run *s, kry_op *A, const char *words)
{
    kry_status st = KRY_OK;

    s->A = A;
    kry_report_enter(s->report, KRY_REPORT_SETUP);
    TRY(kry_solver_create(A, words, kry_report_monitor, s->report, &s->solver));
    kry_report_enter(s->report, KRY_REPORT_SOLVE);
    s->x = calloc((size_t)s->p->n, sizeof *s->x);
    TRY(kry_solve_host(s->solver, s->p->rhs, s->x, &s->result));
    const kry_status ended = kry_report_end(s->report);
    if (ended < 0) st = ended;
done:
    return st;
}

/* device: taken over. */
static kry_status run_all(run *s, kry_device *device, const char *spec, const char *words)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;

    s->device = device;
    TRY(kry_report_begin(device, &s->report));
    TRY(kry_problem_create(spec, 1, &s->p));
    kry_report_enter(s->report, KRY_REPORT_MATRIX);
    TRY(kry_csr_create(device, KRY_F64, s->p->n, s->p->n, s->p->row_ptr, s->p->col, s->p->val,
                       KRY_MATRIX(.traits = s->p->traits), &A));
    TRY(run_made(s, A, words));
done:
    return st;
}

static void run_release(run *s)
{
    kry_report_release(&s->report);
    kry_op_release(&s->solver);
    kry_op_release(&s->A);
    kry_problem_release(&s->p);
    kry_device_release(&s->device);
    free(s->x);
}

static kry_status page_of(const run *s)
{
    return kry_report_write(s->report, path,
                            KRY_REPORT(.solver = s->solver, .A = s->A, .result = &s->result));
}

/* The whole file; to be freed. */
static char *page_text(void)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, MOST + 1);
    const size_t size = f ? fread(text, 1, MOST, f) : 0;

    if (f) fclose(f);
    if (size == 0 || size == MOST) return free(text), NULL;
    return text;
}

static bool has(const char *text, const char *part)
{
    if (text && strstr(text, part)) return true;
    fprintf(stderr, "# the page has no '%s'\n", part);
    return false;
}

/* The number of this name in the page's object. */
static double number_in(const char *text, const char *name)
{
    char key[80];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

/* ---- ranks: before a device is open in this process ---------------------------------------------- */

static void ranks_scene(wires *w, void *shared)
{
    const kry_transport t = transport_of(w);
    kry_device *own = NULL, *team = NULL;
    kry_op *A = NULL;
    run s = { .device = NULL };

    (void)shared;
    GOOD(kry_device_open_timed(NULL, &own));
    GOOD(kry_team_of_transport(&t, own, NULL, &team));
    kry_device_release(&own);
    s.device = team;
    GOOD(kry_report_begin(team, &s.report));
    GOOD(kry_problem_create("poisson2d:21", 1, &s.p));
    const int64_t n = s.p->n, first = n * w->rank / w->size,
                  rows = n * (w->rank + 1) / w->size - first, at = s.p->row_ptr[first];
    int64_t *col = calloc((size_t)s.p->nnz, sizeof *col),
            *row_ptr = calloc((size_t)n + 1, sizeof *row_ptr);
    for (int64_t e = 0; e < s.p->nnz; e++) col[e] = s.p->col[e];
    for (int64_t i = 0; i <= rows; i++) row_ptr[i] = s.p->row_ptr[first + i] - at;
    kry_report_enter(s.report, KRY_REPORT_MATRIX);
    GOOD(kry_csr_create_rows(team, KRY_F64, first, rows, row_ptr, col + at, s.p->val + at,
                             KRY_MATRIX(.traits = KRY_POSITIVE), &A));
    memmove(s.p->rhs, s.p->rhs + first, (size_t)rows * sizeof *s.p->rhs);
    GOOD(run_made(&s, A, "method=pcg precond=jacobi"));
    GOOD(page_of(&s));
    strcat(path, ".no/page.html"); /* the first rank alone sees that */
    const kry_status st = page_of(&s);
    NEED(st == KRY_ERR_FILE, "%s", kry_status_text(st));
    NEED(strstr(kry_last_error(), "cannot write"), "%s", kry_last_error());
    run_release(&s);
    free(col), free(row_ptr);
}

static void ranks__one_page_of_all(void **state)
{
    (void)state;
    enum { RANKS = 3 };
    int rows = 0, most = 0;

    assert_int_equal(run_ranks(RANKS, 120, 1, ranks_scene), -1);
    char *text = page_text();
    assert_true(has(text, "Balance of the ranks") && has(text, "waited"));
    if (!is_host(device())) /* it keeps no times of kernels */
        assert_true(has(text, "id=\"run-2\"") && has(text, "id=\"solve-begin\""));
    assert_true(has(text, "Where the entries of the matrix are") && has(text, "on 3 ranks"));
    assert_int_equal((int)number_in(text, "n"), 441);
    assert_int_equal((int)number_in(text, "nnz"), 441 * 5 - 4 * 21);
    assert_true(has(text, ">3 to 5, 4.81 on average, 0 empty<"));
    /* One in the middle takes a line of the grid from each side */
    for (const char *at = text; (at = strstr(at, ">147</td>")); at++) rows++;
    for (const char *at = text; (at = strstr(at, ">42</td>")); at++) most++;
    assert_true(rows == RANKS && most >= 2);
    free(text);
}

/* ---- one process --------------------------------------------------------------------------------- */

static kry_device *timed(const char *spec)
{
    kry_device *device;
    OK(kry_device_open_timed(spec, &device));
    return device;
}

static void page__numbers_of_the_solve(void **state)
{
    (void)state;
    NOT_ON_HOST("times of kernels");
    run s = { .device = NULL };
    OK(run_all(&s, timed(NULL), "poisson2d:30", "method=pcg precond=jacobi"));
    OK(page_of(&s));
    char *text = page_text();
    assert_true(has(text, "A solve: converged") && has(text, "id=\"kernels\"") &&
                has(text, "id=\"matrix\""));
    assert_int_equal((int)number_in(text, "iterations"), (int)s.result.iterations);
    assert_true(number_in(text, "norm_b") == s.result.norm_b);
    assert_true(number_in(text, "true_relative_residual") ==
                s.result.true_residual / s.result.norm_b);
    assert_true(number_in(text, "setup_s") > 0 && number_in(text, "matrix_s") > 0);
    assert_true(has(text, "\"converged\": true") && has(text, "of copy"));
    free(text);
    run_release(&s);
}

static void page__a_solve_that_did_not_converge(void **state)
{
    (void)state;
    static const char *const facts[] = { "colour", "<red> & \"blue\"", NULL };
    run s = { .device = NULL };
    assert_int_equal(run_all(&s, open_host_or_opencl(), "poisson2d:30", "method=cg maxit=3"),
                     KRY_NOT_CONVERGED);
    OK(kry_report_write(s.report, path,
                        KRY_REPORT(.solver = s.solver, .A = s.A, .result = &s.result,
                                   .title = "<mine>", .command = "./mine 'a'", .facts = facts,
                                   .json = "{\"a\": \"</script>\"}")));
    char *text = page_text();
    assert_true(has(text, "&lt;mine&gt;: not converged") &&
                has(text, "{\"a\": \"\\u003c/script>\"}"));
    assert_true(has(text, "&lt;red&gt; &amp; &quot;blue&quot;") && has(text, "./mine &#39;a&#39;"));
    assert_true(has(text, "keeps no times of kernels") && !strstr(text, "id=\"kernels\""));
    free(text);
    run_release(&s);
}

/* A page without kernels. */
static void begin__a_device_without_times(void **state)
{
    (void)state;
    run s = { .device = NULL };
    kry_device *device;
    OK(kry_device_open(NULL, &device));
    OK(run_all(&s, device, "poisson2d:10", "method=cg"));
    OK(page_of(&s));
    char *text = page_text();
    assert_true(has(text, "keeps no times of kernels"));
    free(text);
    run_release(&s);
}

static void team__kernels_of_all_devices(void **state)
{
    (void)state;
    run s = { .device = NULL };
    kry_device *team = NULL;
    const kry_status st = kry_device_open_timed("cpu/2,use-all", &team);
    if (st < 0) SKIP("no CPU that can be cut in two");
    OK(run_all(&s, team, "poisson2d:24", "method=cg"));
    OK(page_of(&s));
    char *text = page_text();
    assert_true(has(text, "Balance of the devices") && has(text, "least of a device"));
    assert_true(has(text, "id=\"run\"") && has(text, "id=\"run-1\""));
    free(text);
    run_release(&s);
}

/* y := 2 x, on the host. */
static kry_status twice(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(2 * alpha, x, beta, y);
}

static void page__functions_in_place_of_a_matrix(void **state)
{
    (void)state;
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "twice",
                                        .apply = twice };
    run s = { .device = open_host_or_opencl() };
    kry_op *A = NULL;
    OK(kry_problem_create("poisson2d:5", 1, &s.p));
    OK(kry_report_begin(s.device, &s.report));
    OK(kry_op_create(s.device, &table, NULL, &(kry_op_shape){ 25, 25, KRY_F64, KRY_POSITIVE }, &A));
    OK(run_made(&s, A, "method=cg precond=none"));
    OK(page_of(&s));
    char *text = page_text();
    assert_true(has(text, "Functions in place of a stored matrix") && has(text, "id=\"operator\""));
    free(text);
    run_release(&s);
}

/* Pictures are numbers with points in them. */
static void page__in_a_language_with_commas(void **state)
{
    (void)state;
    char *plain;
    if (!take_decimal_comma()) SKIP("no such locale can be had");
    run s = { .device = NULL };
    OK(run_all(&s, open_host_or_opencl(), "poisson2d:10", "method=cg"));
    OK(page_of(&s));
    assert_string_equal(localeconv()->decimal_point, ","); /* the caller's, as before */
    setlocale(LC_NUMERIC, "C");
    plain = page_text();
    assert_true(number_in(plain, "norm_b") == s.result.norm_b);
    for (const char *c = plain; (c = strpbrk(c, "0123456789")); c++)
        if (c[1] == ',' && c[2] >= '0' && c[2] <= '9' &&
            (strstr(c, "e-") == c + 5 || strstr(c, "e-") == c + 6))
            fail_msg("%.20s", c);
    free(plain);
    run_release(&s);
}

static void write__what_is_refused(void **state)
{
    (void)state;
    run s = { .device = NULL };
    struct stat info;
    OK(run_all(&s, open_host_or_opencl(), "poisson2d:10", "method=cg"));
    remove(path);
    assert_int_equal(kry_report_write(s.report, path, KRY_REPORT(.A = s.A, .result = &s.result)),
                     KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "kry_report_write: solver is NULL"));
    assert_int_equal(
        kry_report_write(s.report, "/nonexistent/page.html",
                         KRY_REPORT(.solver = s.solver, .A = s.A, .result = &s.result)),
        KRY_ERR_FILE);
    EACH_REQUEST(k)
    {
        remove(path);
        const kry_status st = FAILING(k, page_of(&s));
        assert_true(st == KRY_OK ||
                    (request_failed && st == KRY_ERR_MEMORY));  /* OK: a forecast less */
        assert_int_equal(stat(path, &info) == 0, st == KRY_OK); /* whole or not at all */
    }
    run_release(&s);
    kry_report_enter(NULL, KRY_REPORT_SOLVE);
    assert_int_equal(kry_report_monitor(NULL, NULL), 0);
    kry_report_release(&s.report);
}

/* A part that is left out takes no time, and none begins again. */
static void enter__parts_in_their_order(void **state)
{
    (void)state;
    run s = { .device = open_host_or_opencl() };
    kry_op *A = NULL;
    OK(kry_problem_create("poisson2d:5", 1, &s.p));
    OK(kry_report_begin(s.device, &s.report));
    OK(kry_csr_create(s.device, KRY_F64, 25, 25, s.p->row_ptr, s.p->col, s.p->val, NULL, &A));
    OK(run_made(&s, A, "method=cg"));
    kry_report_enter(s.report, KRY_REPORT_MATRIX);
    OK(page_of(&s));
    char *text = page_text();
    assert_true(number_in(text, "matrix_s") < 1e-4 && number_in(text, "read_s") > 0);
    free(text);
    run_release(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks__one_page_of_all), /* the first: it forks */
        cmocka_unit_test(page__numbers_of_the_solve),
        cmocka_unit_test(page__a_solve_that_did_not_converge),
        cmocka_unit_test(begin__a_device_without_times),
        cmocka_unit_test(team__kernels_of_all_devices),
        cmocka_unit_test(page__functions_in_place_of_a_matrix),
        cmocka_unit_test(page__in_a_language_with_commas),
        cmocka_unit_test(write__what_is_refused),
        cmocka_unit_test(enter__parts_in_their_order),
    };
    const char *folder = getenv("TMPDIR");
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    snprintf(path, sizeof path, "%s/kry-page-%ld.html", folder ? folder : "/tmp", (long)getpid());
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
