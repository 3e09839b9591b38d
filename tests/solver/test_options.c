/* test_options.c - solvers from option strings. */
#include "unit.h"

static kry_device *dev;
static kry_op *A, *grid, *saddle_point; /* 3 unknowns; 3 x 3; 1 and 2 unknowns */

static int set_up(void **state)
{
    (void)state;
    static const int64_t row_ptr[] = { 0, 2, 5, 7 };
    static const int32_t col[] = { 0, 1, 0, 1, 2, 1, 2 };
    static const float val[] = { 2, -1, -1, 2, -1, -1, 2 };
    static const int64_t rows_of_point[] = { 0, 3, 5, 7 };
    static const int32_t cols_of_point[] = { 0, 1, 2, 0, 1, 0, 2 };
    static const float point[] = { 2, 1, 1, 1, -1, 1, -1 };
    if (kry_device_open(NULL, &dev) < 0) return -1;
    if (kry_stencil_create(dev, KRY_F32, KRY_STENCIL(.size = { 3, 3 }), &grid) < 0) return -1;
    if (kry_csr_create(dev, KRY_F32, 3, 3, rows_of_point, cols_of_point, point, NULL,
                       &saddle_point) < 0)
        return -1;
    return kry_csr_create(dev, KRY_F32, 3, 3, row_ptr, col, val, NULL, &A);
}

static int tear_down(void **state)
{
    (void)state;
    kry_op_release(&saddle_point);
    kry_op_release(&grid);
    kry_op_release(&A);
    int leaked = device_references(dev) - 1;
    kry_device_release(&dev);
    return leaked;
}

static void solver_create__takes_every_option(void **state)
{
    (void)state;
    const char *const good[] = { NULL,
                                 "",
                                 "  ",
                                 "method=cg",
                                 "method=pcg",
                                 "method=pcg precond=none",
                                 "method=cg precond=jacobi",
                                 "rtol=1e-4 atol=1e-9 maxit=17 check-every=3",
                                 "\tmethod=pcg\n precond=jacobi  rtol=0.001 ",
                                 "precond=chebyshev",
                                 "null-space=project",
                                 "reorder=rcm precond=block-ic:2",
                                 "reorder=auto precond=ic0",
                                 "reorder=none",
                                 "equilibrate=on",
                                 "method=jacobi equilibrate=off",
                                 "method=lsqr precond=columns",
                                 "precision=single",
                                 "method=pcg precond=chebyshev:12",
                                 "precond=block-ic",
                                 "precond=block-ic:2",
                                 "precond=ic:2@single",
                                 "precond=ic0@half",
                                 "precond=block-ilu",
                                 "precond=block-ilu:3",
                                 "precond=ilu0",
                                 "precond=ilu:1",
                                 "precond=icc:levels",
                                 "precond=icc:0,isai",
                                 "precond=ip",
                                 "precond=ip:unscaled",
                                 "precond=ip:drop",
                                 "precond=ip:unscaled,drop",
                                 "precond=ip:drop,unscaled",
                                 "precond=chebyshev:degree=3,highest=4,ratio=20",
                                 "precond=block-ic:2,shift=0.5,storage=half",
                                 "precond=ras:overlap=0,parts=2",
                                 "precond=block-jacobi",
                                 "precond=block-jacobi:3",
                                 "precond=neumann",
                                 "precond=neumann:5",
                                 "precond=ssor-ai",
                                 "precond=ssor-ai:3",
                                 "precond=fsai",
                                 "precond=fsai:2,cut=0.1",
                                 "precond=fsai:entries=4",
                                 "precond=saddle:2,first=block-ic:2+shift=0.5",
                                 "precond=saddle:rows=2,schur=mass,scale=2,first=ic0@single",
                                 "method=gmres precond=amg:restrict=air,coarsest=8",
                                 "method=jacobi",
                                 "method=jacobi precond=none omega=0.75 check-every=5" };
    for (size_t i = 0; i < COUNT(good); i++) {
        kry_op *S = NULL;
        OK(kry_solver_create(A, good[i], NULL, NULL, &S));
        assert_non_null(S);
        kry_op_release(&S);
    }
}

static void solver_create__names_the_bad_word(void **state)
{
    (void)state;
    const struct {
        const char *options, *named;
        kry_status status;
    } bad[] = {
        { "method=qmr", "qmr", KRY_ERR_PARSE },
        { "precond=lu", "lu", KRY_ERR_PARSE },
        { "precond=jacoby", "; did you mean jacobi?", KRY_ERR_PARSE },
        { "precond=block_jacobi:3", "; did you mean block-jacobi?", KRY_ERR_PARSE },
        { "deflation=strips:3", "; did you mean stripes?", KRY_ERR_PARSE },
        { "method=pgc", "; did you mean pcg?", KRY_ERR_PARSE },
        { "rtoll=1", "; did you mean rtol?", KRY_ERR_PARSE },
        { "precond=ic0:2", "ic0:2", KRY_ERR_PARSE },
        { "rtol=abc", "abc", KRY_ERR_PARSE },
        { "rtol=1e-4x", "1e-4x", KRY_ERR_PARSE },
        { "rtol=", "rtol", KRY_ERR_PARSE },
        { "maxit=1.5", "1.5", KRY_ERR_PARSE },
        { "maxit=99999999999999999999", "maxit", KRY_ERR_PARSE },
        { "tolerance=1", "tolerance", KRY_ERR_PARSE },
        { "pcg", "pcg", KRY_ERR_PARSE },
        { "=pcg", "=pcg", KRY_ERR_PARSE },
        { "method=averyveryverylongmethodname", "averyvery", KRY_ERR_PARSE },
        { "maxit=-3", "-3", KRY_ERR_ARGUMENT },
        { "rtol=-1", "-1", KRY_ERR_ARGUMENT },
        { "rtol=nan", "nan", KRY_ERR_PARSE },
        { "omega=1.5", "conjugate gradients take no omega", KRY_ERR_PARSE },
        { "method=jacobi omega=2", "omega = 2", KRY_ERR_ARGUMENT },
        { "method=jacobi omega=x", "'x'", KRY_ERR_PARSE },
        { "method=jacobi precond=jacobi", "a relaxation takes no precond", KRY_ERR_PARSE },
        { "method=jacobi resident=on", "a relaxation takes no resident", KRY_ERR_PARSE },
        { "method=sor deflation=stripes:2", "a relaxation takes no deflation", KRY_ERR_PARSE },
        { "method=sor null-space=project", "a relaxation takes no null-space", KRY_ERR_PARSE },
        { "resident=maybe", "resident 'maybe' is none of auto, off, on", KRY_ERR_PARSE },
        { "precision=half", "none of single, double, mixed", KRY_ERR_PARSE },
        { "null-space=nail", "none of project, none", KRY_ERR_PARSE },
        { "method=sor", "offers no red-black sweep", KRY_ERR_UNSUPPORTED },
        { "precond=ip:", "ip[:drop|unscaled|unscaled,drop]", KRY_ERR_PARSE },
        { "precond=ip:dropped", "'ip:dropped' is not ip[:drop|unscaled|unscaled,drop]",
          KRY_ERR_PARSE },
        { "precond=ip:unscaled,", "ip[:drop|unscaled|unscaled,drop]", KRY_ERR_PARSE },
        { "precond=ip:unscaleddrop", "ip[:drop|unscaled|unscaled,drop]", KRY_ERR_PARSE },
        { "precond=jacobi:2", "'jacobi:2' is not jacobi", KRY_ERR_PARSE },
        { "precond=none:2", "'none:2' is not none", KRY_ERR_PARSE },
        { "precond=block-jacobi:x", "is not block-jacobi[:ROWS]", KRY_ERR_PARSE },
        { "precond=block-jacobi:33", "rows = 33 is not in [1, 32]", KRY_ERR_ARGUMENT },
        { "precond=neumann:0", "is not neumann[:DEGREE]", KRY_ERR_PARSE },
        { "precond=ssor-ai:-1", "is not ssor-ai[:DEGREE]", KRY_ERR_PARSE },
        { "precond=fsai:0", "power=0 would mean the default", KRY_ERR_PARSE },
        { "precond=fsai:9", "power = 9 is not in [1, 8]", KRY_ERR_ARGUMENT },
        { "precond=saddle:0", "rows=0 would mean the default", KRY_ERR_PARSE },
        { "precond=saddle:2,schur=lcs", "schur 'lcs' is none of auto, mass", KRY_ERR_PARSE },
        { "precond=saddle:2,first=", "first of 0 bytes", KRY_ERR_PARSE },
        { "precond=ssor-ai:9999", "degree = 9999", KRY_ERR_ARGUMENT },
        { "precond=chebyshev:", "is not chebyshev[:DEGREE]", KRY_ERR_PARSE },
        { "precond=chebyshev:0", "is not chebyshev[:DEGREE]", KRY_ERR_PARSE },
        { "precond=block-ic:", "block-ic[:ROWS]", KRY_ERR_PARSE },
        { "precond=block-ic:2n", "block-ic:2n", KRY_ERR_PARSE },
        { "precond=block-ic:0", "block-ic[:ROWS]: rows=0 would mean the default", KRY_ERR_PARSE },
        { "precond=block-ic:-1", "block-ic[:ROWS]", KRY_ERR_PARSE },
        { "precond=block-ilu:4", "rows = 4", KRY_ERR_ARGUMENT },
        { "precond=block-ilux", "block-ilu[:ROWS], ilu0, ilu[:LEVEL,HOW]", KRY_ERR_PARSE },
        { "precond=ilu0:2", "ilu0:2", KRY_ERR_PARSE },
        { "precond=chebyshev4", "none of none, jacobi", KRY_ERR_PARSE },
        { "precond=chebyshev:2000", "degree = 2000", KRY_ERR_ARGUMENT },
        { "precision=mixed", "in double", KRY_ERR_TYPE },
        { "precision=double", "neither mixed nor single", KRY_ERR_PARSE },
        { "precision=mixed scheme=quick", "auto, reliable, flexible, classical", KRY_ERR_PARSE },
        { "scheme=reliable", "scheme goes with precision=mixed", KRY_ERR_PARSE },
        { "delta=0.1", "delta goes with", KRY_ERR_PARSE },
        { "equilibrate=yes", "equilibrate 'yes' is none of auto, off, on", KRY_ERR_PARSE },
        { "inner-rtol=x", "'x'", KRY_ERR_PARSE },
        { "inner-rtol=0", "inner-rtol=0 would mean the default", KRY_ERR_PARSE },
        { "inner=0", "inner=0 would mean the default", KRY_ERR_PARSE },
        { "method=sor omega=0", "omega=0 would mean the default", KRY_ERR_PARSE },
        { "rtol=0", "rtol=0 leaves no tolerance", KRY_ERR_PARSE },
        { "rtol=0 atol=0", "rtol=0 leaves no tolerance", KRY_ERR_PARSE },
        { "method=auto rtol=1e8", "rtol = 100000000 is not in [0, 1)", KRY_ERR_ARGUMENT },
        { "method=jacobi rtol=1", "rtol = 1 is not", KRY_ERR_ARGUMENT },
        { "rtol=1e-12", "1e-12", KRY_ERR_ARGUMENT }, /* out of reach for single precision */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_op *S = A;
        assert_int_equal(kry_solver_create(A, bad[i].options, NULL, NULL, &S), bad[i].status);
        assert_null(S);
        if (!strstr(kry_last_error(), bad[i].named))
            fail_msg("'%s' is not named in: %s", bad[i].named, kry_last_error());
    }
}

static void solver_create__too_long_a_string(void **state)
{
    (void)state;
    char text[2000];
    kry_op *S;
    memset(text, ' ', sizeof text);
    text[sizeof text - 1] = 0;
    assert_int_equal(kry_solver_create(A, text, NULL, NULL, &S), KRY_ERR_PARSE);
}

/* A matrix that this preconditioner takes, whatever its settings. */
static const kry_op *subject_of(const char *precond)
{
    return !strcmp(precond, "mg") ? grid : !strcmp(precond, "saddle") ? saddle_point : A;
}

static void precond_words__each_form_is_read(void **state)
{
    (void)state;
    for (int i = 0; kry_precond_word(i); i++) {
        const kry_word *w = kry_precond_word(i);
        const char *rest = w->form + strlen(w->name);
        kry_op *M = NULL;
        assert_true(w->kind == KRY_WORD_PLAIN ? !*rest : !strncmp(rest, "[:", 2));
        OK(kry_precond_create(subject_of(w->name), w->name, &M));
        assert_int_equal(M == NULL, !strcmp(w->name, "none"));
        kry_op_release(&M);
        for (rest += 2; w->kind == KRY_WORD_CHOICE && rest[-1] != ']';) {
            char text[80];
            int length = (int)strcspn(rest, "|]");
            snprintf(text, sizeof text, "%s:%.*s", w->name, length, rest);
            OK(kry_precond_create(A, text, &M));
            kry_op_release(&M);
            rest += length + 1;
        }
    }
    assert_null(kry_precond_word(-1));
}

/* M by a word with a setting, and what stands behind its "=". */
static kry_status with_setting(const char *precond, const kry_word *w, const char *value,
                               int length)
{
    kry_op *M = NULL;
    char text[100];

    snprintf(text, sizeof text, "%s:%s%s%.*s", precond, w->name,
             w->kind == KRY_WORD_PLAIN ? "" : "=", length, value);
    kry_status st = kry_precond_create(subject_of(precond), text, &M);
    kry_op_release(&M);
    return st;
}

static void refuses(const kry_op *op, const char *word, kry_status status, const char *named)
{
    kry_op *M = op == A ? grid : A;

    assert_int_equal(kry_precond_create(op, word, &M), status);
    assert_null(M);
    if (!strstr(kry_last_error(), named)) fail_msg("'%s' is not in: %s", named, kry_last_error());
}

/* Each parameter by its name, of each preconditioner that has parameters. */
static void precond_settings__each_form_is_read(void **state)
{
    (void)state;

    for (int p = 0; kry_precond_word(p); p++) {
        const char *precond = kry_precond_word(p)->name;
        assert_true(kry_precond_word(p)->kind == KRY_WORD_PLAIN || kry_precond_setting(precond, 0));
        for (int i = 0; kry_precond_setting(precond, i); i++) {
            const kry_word *w = kry_precond_setting(precond, i);
            const char *choice = w->form + strlen(w->name) + 1;
            int taken = 0;
            if (w->kind != KRY_WORD_CHOICE) {
                OK(with_setting(precond, w,
                                !strcmp(w->name, "ratio")  ? "2"
                                : !strcmp(w->name, "cut")  ? "0.5"
                                : w->kind == KRY_WORD_TEXT ? "amg"
                                                           : "1",
                                w->kind == KRY_WORD_PLAIN ? 0 : 3));
                taken++;
            }
            assert_int_equal(with_setting(precond, w, "=nothing", 8), KRY_ERR_PARSE);
            for (const char *c = choice; w->kind == KRY_WORD_CHOICE && *c;) {
                const int length = (int)strcspn(c, "|");
                kry_status st = with_setting(precond, w, c, length);
                assert_true(st == KRY_OK || st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_ARGUMENT);
                taken += st == KRY_OK;
                c += length + (c[length] == '|');
            }
            assert_true(taken > 0);
        }
    }
    assert_null(kry_precond_setting("amg", -1));
    assert_null(kry_precond_setting("jacobi", 0));
    assert_null(kry_precond_setting("ic0", 0));
    assert_null(kry_precond_setting("nothing", 0));
    assert_null(kry_precond_setting(NULL, 0));
    refuses(grid, "mg:", KRY_ERR_PARSE, "'mg:' is not mg[:SETTING,...]: '' is none of smoother=");
    refuses(grid, "mg:smother=jacobi", KRY_ERR_PARSE, "did you mean smoother");
    refuses(grid, "mg:coarsening=auto", KRY_ERR_PARSE, "'coarsening' is none of smoother=");
    refuses(A, "chebyshev:degree=2,ratio=1", KRY_ERR_ARGUMENT, "ratio = 1 is not in (1, inf)");
    refuses(A, "chebyshev:ratio=0", KRY_ERR_PARSE, "ratio=0 would mean the default");
    refuses(A, "ssor-ai:omega=2", KRY_ERR_ARGUMENT, "omega = 2 is not in (0, 2)");
    refuses(A, "icc:sweep", KRY_ERR_PARSE, "'sweep' is none of rows=N, shift=S");
    refuses(A, "ic:2@quarter", KRY_ERR_PARSE, "storage 'quarter' is none of given, single, half");
    refuses(A, "jacobi@half", KRY_ERR_UNSUPPORTED, "'jacobi' does not");
    refuses(A, "mg", KRY_ERR_UNSUPPORTED, "no grid operator");
}

/* Multigrid where a grid is solved and nothing else is said. */
static void solver_create__default_preconditioner(void **state)
{
    static const struct {
        const char *options, *of_grid, *of_matrix;
    } cases[] = { { "method=pcg", "preconditioner mg", "preconditioner jacobi" },
                  { "method=cg", "preconditioner none", "preconditioner none" },
                  { "method=pcg deflation=stripes:2", "jacobi", "jacobi" },
                  { "method=pcg precond=jacobi", "jacobi", "jacobi" } };
    (void)state;

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int g = 0; g < 2; g++) {
            kry_op *S = NULL;
            kry_op_info info;
            OK(kry_solver_create(g ? grid : A, cases[i].options, NULL, NULL, &S));
            kry_op_describe(S, &info);
            const char *wanted = g ? cases[i].of_grid : cases[i].of_matrix;
            if (!strstr(info.variant, wanted)) fail_msg("%s: %s", cases[i].options, info.variant);
            assert_true(!kry_solver_deflation(S) == !strstr(cases[i].options, "deflation="));
            kry_op_release(&S);
        }
    assert_string_equal(kry_precond_default(grid, true), "mg");
    assert_string_equal(kry_precond_default(grid, false), "jacobi");
    assert_string_equal(kry_precond_default(A, true), "jacobi");
    assert_false(kry_mg_takes(A) || kry_mg_takes(NULL));
}

static void solver_words__each_form_is_read(void **state)
{
    (void)state;
    for (int i = 0; kry_solver_word(i); i++) {
        const kry_word *w = kry_solver_word(i);
        for (int j = 0; j < i; j++) assert_string_not_equal(kry_solver_word(j)->name, w->name);
        const char *rest = w->form + strlen(w->name), *last = strrchr(w->form, '|');
        char text[80];
        kry_op *S = NULL;
        assert_true(*rest == '=' && *w->meaning);
        assert_int_equal(last != NULL, w->kind == KRY_WORD_CHOICE);
        snprintf(text, sizeof text, "%s=%s", w->name,
                 last                       ? last + 1
                 : w->kind == KRY_WORD_TEXT ? "none"
                                            : "1");
        kry_status st = kry_solver_create(A, text, NULL, NULL, &S);
        kry_op_release(&S);
        /* what is refused is so for what it means, for this A or with this method */
        if (st < 0 &&
            (strstr(kry_last_error(), "is none of") || strstr(kry_last_error(), "no value")))
            fail_msg("'%s': %s", text, kry_last_error());
    }
}

static void deflation_words__each_form_is_read(void **state)
{
    (void)state;
    for (int i = 0; kry_deflation_word(i); i++) {
        const kry_word *w = kry_deflation_word(i);
        const char *rest = w->form + strlen(w->name), *last = strrchr(w->form, '|');
        kry_deflation_params p = *KRY_DEFLATION(.phase = false);
        char text[80], room[80];
        snprintf(text, sizeof text, "%s%s%.1s%s", *rest == '=' ? "auto," : "", w->name, rest,
                 last    ? last + 1
                 : *rest ? "3"
                         : "");
        OK(kry_deflation_parse(text, room, sizeof room, &p));
        assert_int_equal(p.variant, !strcmp(w->name, "variant") ? KRY_BNN : 0);
        assert_int_equal(p.coarse, !strcmp(w->name, "coarse") ? KRY_COARSE_CHOLESKY : 0);
        assert_int_equal(p.block, !strcmp(w->name, "blocks") ? 3 : 0);
        assert_int_equal(p.phase, !strcmp(w->name, "phase"));
        if (!strcmp(w->name, "modes")) assert_string_equal(p.modes_file, "3");
    }
}

static void solver_create__limits_reach_the_solver(void **state)
{
    (void)state;
    kry_op *S;
    kry_vec *b, *x;
    kry_result res;
    const float host[] = { 1, 2, 4 };
    OK(kry_vec_create(dev, KRY_F32, 3, 1, &b));
    OK(kry_vec_create(dev, KRY_F32, 3, 1, &x));
    OK(kry_vec_write(b, host));
    OK(kry_solver_create(A, "maxit=1", NULL, NULL, &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_NOT_CONVERGED);
    assert_int_equal(res.iterations, 1);
    kry_op_release(&S);
    OK(kry_solver_create(A, "atol=100", NULL, NULL, &S));
    OK(kry_solve(S, b, x, &res));
    assert_true(res.target == 100);
    kry_op_release(&S);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* Mixed precision takes what the library has: here from a matrix that stays on the host, so that it
 * does without double on the device, too; or on the device, where there are no kernels for the host. */
static void solver_create__mixed_takes_every_option(void **state)
{
    (void)state;
    const bool stays = has_host();
    if (!stays && !kry_device_get_info(dev)->fp64) SKIP("no double");
    static const int64_t row_ptr[] = { 0, 2, 5, 7 };
    static const int32_t col[] = { 0, 1, 0, 1, 2, 1, 2 };
    static const double val[] = { 2, -1, -1, 2.1, -1, -1, 2 }, b[] = { 1, 2, 4 };
    const char *const good[] = { "",
                                 "method=pcg",
                                 "precond=chebyshev:3 scheme=reliable delta=0.3",
                                 "precond=block-ic",
                                 "precond=block-ilu:3",
                                 "precond=ip",
                                 "precond=block-jacobi:3 scheme=flexible inner=3",
                                 "precond=neumann:5 scheme=flexible inner-rtol=0.1",
                                 "precond=ssor-ai:3 scheme=classical inner-rtol=1e-3",
                                 "method=jacobi maxit=1000",
                                 "resident=off equilibrate=on",
                                 "deflation=stripes:2 equilibrate=off" };
    kry_op *H;
    OK(kry_csr_create(dev, KRY_F64, 3, 3, row_ptr, col, val,
                      KRY_MATRIX(.traits = KRY_POSITIVE, .on_host = stays), &H));
    for (size_t i = 0; i < COUNT(good); i++) {
        char words[120];
        kry_op *S = NULL;
        kry_result res;
        double x[3] = { 0 };
        snprintf(words, sizeof words, "precision=mixed rtol=1e-12 %s", good[i]);
        OK(kry_solver_create(H, words, NULL, NULL, &S));
        OK(kry_solve_host(S, b, x, &res));
        for (int r = 0; r < 3; r++) {
            double sum = b[r];
            for (int64_t k = row_ptr[r]; k < row_ptr[r + 1]; k++) sum -= val[k] * x[col[k]];
            assert_true(fabs(sum) <= 5e-12);
        }
        kry_op_release(&S);
    }
    kry_op_release(&H);
}

/* The message about `text` has the form of every word of the table, and the suggestion. */
static void lists_all(const char *text, const kry_word *(*word)(int i), const char *form_end,
                      const char *hint)
{
    kry_op *S = NULL;

    assert_true(kry_solver_create(A, text, NULL, NULL, &S) < 0);
    for (int i = 0; word(i); i++) {
        if (form_end && !strchr(form_end, word(i)->form[strlen(word(i)->name)])) continue;
        if (!strstr(kry_last_error(), word(i)->form))
            fail_msg("%s: '%s' is not in '%s'", text, word(i)->form, kry_last_error());
    }
    if (!strstr(kry_last_error(), hint))
        fail_msg("%s: no '%s' in '%s'", text, hint, kry_last_error());
}

static const kry_word *amg_setting(int i) { return kry_precond_setting("amg", i); }

static void messages__list_every_word_of_every_table(void **state)
{
    (void)state;
    lists_all("rtoll=1", kry_solver_word, NULL, "; did you mean rtol?");
    lists_all("precond=jacoby", kry_precond_word, NULL, "; did you mean jacobi?");
    lists_all("precond=amg:smother=jacobi", amg_setting, NULL, "; did you mean smoother?");
    lists_all("deflation=strips:3", kry_deflation_word, ":", "; did you mean stripes?");
    for (int i = 0; kry_solver_word(i); i++) {
        const kry_word *w = kry_solver_word(i);
        char text[80], choice[40];
        kry_op *S = NULL;
        if (w->kind != KRY_WORD_CHOICE) continue;
        snprintf(text, sizeof text, "%s=zzzz", w->name);
        assert_true(kry_solver_create(A, text, NULL, NULL, &S) < 0);
        for (const char *c = strchr(w->form, '=') + 1; *c;) {
            const int length = (int)strcspn(c, "|[");
            snprintf(choice, sizeof choice, " %.*s", length, c);
            if (!strstr(kry_last_error(), choice))
                fail_msg("%s: no '%s' in '%s'", text, choice, kry_last_error());
            c += strcspn(c, "|"), c += *c == '|';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solver_create__takes_every_option),
        cmocka_unit_test(solver_create__names_the_bad_word),
        cmocka_unit_test(solver_create__mixed_takes_every_option),
        cmocka_unit_test(solver_create__too_long_a_string),
        cmocka_unit_test(solver_create__limits_reach_the_solver),
        cmocka_unit_test(precond_words__each_form_is_read),
        cmocka_unit_test(precond_settings__each_form_is_read),
        cmocka_unit_test(solver_create__default_preconditioner),
        cmocka_unit_test(solver_words__each_form_is_read),
        cmocka_unit_test(deflation_words__each_form_is_read),
        cmocka_unit_test(messages__list_every_word_of_every_table),
    };
    return cmocka_run_group_tests_name("options", tests, set_up, tear_down);
}
