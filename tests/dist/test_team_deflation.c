/*
 * test_team_deflation.c - deflation and null spaces on several devices against one:
 * the same labels, the same correction, the same iterations.
 */
#include "team_suite.h"
#include <kry/precond.h>
#include <unistd.h>

/* With parameters: the correction Q alone, then a solve with it. */
static void same_by_params(const pair *p, const kry_deflation_params *for_one,
                           const kry_deflation_params *for_all, const char *what)
{
    kry_op *one, *all, *solve_one, *solve_all;
    kry_stop stop = { .rtol = p->type == KRY_F32 ? 1e-4 : 1e-10 };

    OK(kry_deflation_create(p->one, for_one, &one));
    OK(kry_deflation_create(p->all, for_all, &all));
    same_products(one, all, tolerance(p->type), what);
    OK(kry_pcg_create(p->one, KRY_PCG(.deflation = one, .stop = stop), &solve_one));
    OK(kry_pcg_create(p->all, KRY_PCG(.deflation = all, .stop = stop), &solve_all));
    same_solves(p, solve_one, solve_all, what);
    kry_op_release(&solve_one);
    kry_op_release(&solve_all);
    kry_op_release(&one);
    kry_op_release(&all);
}

/* ---- tests --------------------------------------------------------------------------------------
 */

static const char *const specs[] = { "poisson2d:31", "twophase2d:24:10:layers" };

static void words(void **state)
{
    static const char *const ways[] = {
        "deflation=stripes:20",
        "deflation=stripes:20,variant=def1,az=stored",
        "deflation=stripes:20,variant=def1,az=product",
        "deflation=stripes:20,variant=bnn,az=stored",
        "deflation=stripes:20,variant=bnn,az=product,coarse=cholesky",
        "deflation=stripes:20,az=product",
        "deflation=stripes:1",
        "precond=none deflation=stripes:7,coarse=cholesky",
        "precond=none deflation=stripes:300,coarse=dense,az=stored",
        "deflation=graph:16", /* auto: GPUs cut graphs in another way than teams do */
    };
    kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], type);
        for (size_t w = 0; w < COUNT(ways); w += 1 + (t > 0)) {
            if (type == KRY_F32 && strstr(ways[w], "def1")) continue; /* loses its way */
            same_by_words(&p, ways[w]);
        }
        pair_release(&p);
    }
}

/* Labels in no order: most parts have a few of each, or none. */
static void labels(void **state)
{
    enum { BLOCKS, RANDOM, ONE_PART, EACH, WAYS };
    kry_type type = type_of(state);

    EACH_TEAM(t, type) for (int way = 0; way < WAYS; way++)
    {
        pair p = pair_of(specs[way == EACH ? 0 : 1], &teams[t], type);
        int32_t *label = calloc((size_t)p.n, sizeof *label);
        int64_t size = (int64_t)sqrt((double)p.n), count;
        assert_non_null(label);
        for (int64_t i = 0; i < p.n; i++)
            label[i] = (int32_t)(way == RANDOM ? (i < 13 ? i : random_below(13))
                                 : way == EACH ? i
                                               : (i > 3 ? 0 : i + 1));
        if (way == BLOCKS)
            OK(kry_labels_blocks((int64_t[]){ size, size, 0 }, (int64_t[]){ 5, 4, 1 }, NULL, label,
                                 &count));
        const kry_deflation_params *given = KRY_DEFLATION(.labels = label);
        char what[64];
        snprintf(what, sizeof what, "labels %d on team %d", way, (int)t);
        same_by_params(&p, given, given, what);
        free(label);
        pair_release(&p);
    }
}

static void labels_of_files_and_graphs(void **state)
{
    kry_type type = type_of(state);
    const char *path = "team_deflation_labels.txt";

    EACH_TEAM(t, type)
    {
        pair p = pair_of(specs[0], &teams[t], type);
        int32_t *one = calloc((size_t)p.n, sizeof *one), *all = calloc((size_t)p.n, sizeof *all);
        int64_t count_one, count_all;
        FILE *f = fopen(path, "w");
        assert_true(one && all && f);
        for (int64_t i = 0; i < p.n; i++) fprintf(f, "%d\n", (int)(i * 9 / p.n));
        fclose(f);
        char words[128];
        snprintf(words, sizeof words, "deflation=labels:%s", path);
        same_by_words(&p, words);
        unlink(path);
        kry_status st = kry_labels_graph(p.one, 11, one, &count_one);
        if (st != KRY_ERR_UNSUPPORTED) {
            OK(st);
            OK(kry_labels_graph(p.all, 11, all, &count_all));
            assert_int_equal(count_one, count_all);
            assert_memory_equal(one, all, (size_t)p.n * sizeof *one);
        }
        free(one), free(all);
        pair_release(&p);
    }
}

/* Dense vectors; more of them than the smallest part has rows of a label. */
static void vectors(void **state)
{
    enum { K = 5 };
    kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], type);
        double *columns = calloc((size_t)(K * p.n), sizeof *columns);
        assert_non_null(columns);
        for (int64_t i = 0; i < K * p.n; i++) /* waves along the numbering */
            columns[i] = cos(3 * (double)(i / p.n) * (double)(i % p.n) / (double)p.n);
        kry_vec *one = vec_on(device(), type, columns, p.n, K),
                *all = vec_on(p.dev, type, columns, p.n, K);
        kry_op *D;
        kry_status st = kry_deflation_create(p.one, KRY_DEFLATION(.vectors = one), &D);
        if (st != KRY_ERR_UNSUPPORTED) { /* for want of CLBlast */
            OK(st);
            kry_op_release(&D);
            same_by_params(&p, KRY_DEFLATION(.vectors = one), KRY_DEFLATION(.vectors = all),
                           "vectors");
            if (type == KRY_F64)
                same_by_params(&p, KRY_DEFLATION(.vectors = one, .variant = KRY_DEF1),
                               KRY_DEFLATION(.vectors = all, .variant = KRY_DEF1), "vectors, def1");
        }
        free(columns);
        kry_vec_release(&one);
        kry_vec_release(&all);
        pair_release(&p);
    }
}

/* Modes of sub-domains, wherever rows are cut; and other sub-domains for what is there. */
static void modes(void **state)
{
    enum { M = 3 };
    kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], type);
        double *columns = calloc((size_t)(M * p.n), sizeof *columns);
        kry_op *D, *fresh;
        assert_non_null(columns);
        for (int64_t i = 0; i < M * p.n; i++)
            columns[i] = i < p.n ? 1 : cos(5 * (double)(i / p.n) * (double)(i % p.n) / (double)p.n);
        kry_vec *one = vec_on(device(), type, columns, p.n, M),
                *all = vec_on(p.dev, type, columns, p.n, M), *x, *y[2];
        const kry_deflation_params *how = KRY_DEFLATION(.stripes = 7, .modes = all);
        same_by_params(&p, KRY_DEFLATION(.stripes = 7, .modes = one), how, "modes");
        OK(kry_deflation_create(p.all, KRY_DEFLATION(.stripes = 3), &D));
        OK(kry_deflation_update(p.all, how, D));
        OK(kry_deflation_create(p.all, how, &fresh));
        x = vec_on(p.dev, type, columns + p.n, p.n, 1);
        double *got[2];
        for (int i = 0; i < 2; i++) {
            OK(kry_vec_create(p.dev, type, p.n, 1, &y[i]));
            OK(kry_op_apply(i ? fresh : D, 1, x, 0, y[i]));
            got[i] = numbers_of(y[i]);
            kry_vec_release(&y[i]);
        }
        assert_same_bits(got[0], got[1], p.n);
        free(got[0]), free(got[1]), free(columns);
        kry_vec_release(&x);
        kry_vec_release(&one);
        kry_vec_release(&all);
        kry_op_release(&fresh);
        kry_op_release(&D);
        pair_release(&p);
    }
}

/* New values: to the bit what is made anew of them. */
static void update(void **state)
{
    static const char *const ways[] = { "deflation=stripes:9", "deflation=stripes:9,variant=bnn",
                                        "deflation=stripes:9,az=product" };
    kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t w = 0; w < COUNT(ways); w++)
    {
        pair p = pair_of(specs[1], &teams[t], type);
        char words[200];
        kry_op *kept, *fresh;
        snprintf(words, sizeof words, "method=pcg rtol=%g %s", type == KRY_F32 ? 1e-4 : 1e-10,
                 ways[w]);
        OK(kry_solver_create(p.all, words, NULL, NULL, &kept));
        /* D A D would not map constants to zero: another strength for all entries */
        for (int64_t e = 0; e < p.problem->nnz; e++) p.problem->val[e] *= 3;
        void *val = in_type(type, p.problem->val, p.problem->nnz);
        OK(kry_op_update(p.all, val));
        OK(kry_op_update(kept, NULL));
        OK(kry_solver_create(p.all, words, NULL, NULL, &fresh));
        outcome a = solve_with(kept, p.rhs), b = solve_with(fresh, p.rhs);
        assert_int_equal(a.res.iterations, b.res.iterations);
        assert_same_bits(a.x, b.x, p.n);
        OK(kry_op_update(p.one, val));
        kry_op *one;
        OK(kry_solver_create(p.one, words, NULL, NULL, &one));
        same_solves(&p, one, kept, words);
        free(val), free(a.x), free(b.x);
        kry_op_release(&one);
        kry_op_release(&kept);
        kry_op_release(&fresh);
        pair_release(&p);
    }
}

/* ---- grids
 * ----------------------------------------------------------------------------------------- */

/* Slabs of layers: blocks and phases are those of the whole grid. */
static void grids(void **state)
{
    static const char *const ways[] = { "deflation=auto",
                                        "deflation=blocks:5,az=stored",
                                        "deflation=blocks:4+phase,variant=bnn",
                                        "deflation=phase",
                                        "deflation=blocks:6+phase,az=product,coarse=cholesky",
                                        "deflation=stripes:17",
                                        "deflation=graph:9" };
    kry_type type = type_of(state);
    enum { NX = 21, NY = 17, NZ = 3 };
    static double k[NX * NY * NZ];

    for (int i = 0; i < NX * NY * NZ; i++) k[i] = i % NX < 9 || i / NX % NY > 12 ? 1 : 30;
    const kry_stencil_params *all[] = {
        KRY_STENCIL(.size = { NX, NY }),
        KRY_STENCIL(.size = { NX, NY }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                    .high = { KRY_NEUMANN, KRY_NEUMANN }, .coefficient = k),
        KRY_STENCIL(.size = { NX, NY }, .low = { KRY_PERIODIC, KRY_PERIODIC },
                    .high = { KRY_PERIODIC, KRY_PERIODIC }, .coefficient = k),
        KRY_STENCIL(.size = { NX, NY, NZ }, .coefficient = k),
    };
    for (size_t t = 0; t < 2; t++)
        for (size_t g = 0; g < COUNT(all); g++) {
            if (!in_sample((int64_t)(t + g) + (type == KRY_F32))) continue;
            pair p = grid_pair_of(all[g], &teams[t], type);
            for (size_t w = 0; w < COUNT(ways); w++)
                if (in_sample((int64_t)(w + g))) same_by_words(&p, ways[w]);
            pair_release(&p);
        }
}

/* ---- mixed precision ------------------------------------------------------------------------------ */

/* The labels of the whole in single, and in double where that has to go on. */
static void same_in_mixed(const pair *p, const char *words, const char *scheme, int promotions)
{
    char all_words[300];
    kry_op *one, *all;

    snprintf(all_words, sizeof all_words, "precision=mixed method=pcg rtol=1e-10 %s", words);
    kry_status st = kry_solver_create(p->one, all_words, NULL, NULL, &one);
    if (st == KRY_ERR_UNSUPPORTED && strstr(kry_last_error(), "METIS")) return;
    OK(st);
    OK(kry_solver_create(p->all, all_words, NULL, NULL, &all));
    outcome want = solve_with(one, p->rhs), got = solve_with(all, p->rhs);
    print_message("# %s: %d iterations on a team, %d on one device, %d in double\n", words,
                  (int)got.res.iterations, (int)want.res.iterations,
                  (int)got.res.double_iterations);
    assert_string_equal(kry_scheme_word(got.res.scheme), scheme);
    assert_int_equal(got.res.promotions, promotions);
    /* those of the flexible method come in steps of 25 */
    NEAR(got.res.iterations, want.res.iterations,
         3 + (strstr(words, "flexible") ? 0.2 : 0.1) * (double)want.res.iterations, "%s", words);
    assert_close(got.x, want.x, p->n, 1e-6, words);
    kry_op_release(&one);
    kry_op_release(&all);
    free(want.x), free(got.x);
}

static void mixed(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    static const char *const ways[] = {
        "deflation=stripes:20",
        "deflation=stripes:20,variant=bnn,az=product precond=chebyshev",
        "scheme=flexible deflation=stripes:20",
        "scheme=classical deflation=graph:16",
    };
    EACH_TEAM(t, KRY_F64) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], KRY_F64);
        for (size_t w = t % 2; w < COUNT(ways); w += 1 + (t > 0)) {
            const char *scheme = strstr(ways[w], "flex")    ? "flexible"
                                 : strstr(ways[w], "class") ? "classical"
                                                            : "reliable";
            same_in_mixed(&p, ways[w], scheme, 0);
        }
        pair_release(&p);
    }
}

static void mixed_grids(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    enum { NX = 21, NY = 17 };
    static double k[NX * NY];

    for (int i = 0; i < NX * NY; i++) k[i] = i % NX < 9 || i / NX > 12 ? 1 : 30;
    pair p = grid_pair_of(KRY_STENCIL(.size = { NX, NY }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                      .high = { KRY_NEUMANN, KRY_NEUMANN }, .coefficient = k),
                          &teams[1], KRY_F64);
    same_in_mixed(&p, "deflation=blocks:5+phase", "reliable", 0);
    pair_release(&p);
}

/* Neighbours joined alike, and scaled on both sides: nothing that sub-domains know of is mapped to almost
 * zero. Rounded to single it may be indefinite. */
static void make_almost_singular(kry_problem *p, double *rhs)
{
    for (int64_t i = 0; i < p->n; i++) {
        double d = 1 + 0.3 * (double)(i % 3);
        rhs[i] = random_number(KRY_F64);
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            double e = 1 + 0.3 * (double)(p->col[k] % 3);
            int64_t joints = p->row_ptr[i + 1] - p->row_ptr[i] - 1;
            p->val[k] = p->col[k] == i ? ((double)joints + 2e-11) * d * d : -d * e;
        }
    }
}

/* What single cannot hold, from the beginning; and what it turns out not to be good for. */
static void mixed_in_double(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    pair p = pair_of(specs[0], &teams[1], KRY_F64);
    void *val = NULL;

    for (int64_t e = 0; e < p.problem->nnz; e++) p.problem->val[e] *= 1e45;
    for (int64_t i = 0; i < p.n; i++) p.rhs[i] *= 1e45;
    val = in_type(KRY_F64, p.problem->val, p.problem->nnz);
    OK(kry_op_update(p.one, val));
    OK(kry_op_update(p.all, val));
    same_in_mixed(&p, "equilibrate=off deflation=stripes:20", "double", 1);
    free(val);
    make_almost_singular(p.problem, p.rhs);
    val = in_type(KRY_F64, p.problem->val, p.problem->nnz);
    OK(kry_op_update(p.one, val));
    OK(kry_op_update(p.all, val));
    kry_op *S;
    OK(kry_solver_create(p.all, "precision=mixed method=pcg rtol=1e-5 inner=1 deflation=stripes:20",
                         NULL, NULL, &S));
    outcome o = try_to_solve(S, p.rhs); /* so nearly singular that devices differ in how it ends */
    print_message("# %d promotions, %d iterations in double: %s; %s\n", o.res.promotions,
                  (int)o.res.double_iterations, o.res.promoted_why, o.res.why);
    assert_true(o.status >= KRY_OK);
    assert_string_equal(kry_scheme_word(o.res.scheme), "double");
    assert_true(o.res.double_iterations > 0);
    free(o.x);
    kry_op_release(&S);
    free(val);
    pair_release(&p);
}

/* The same labels again for new values. */
static void mixed_updates(void **state)
{
    static const char words[] = "precision=mixed method=pcg rtol=1e-10 deflation=stripes:9";
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    pair p = pair_of(specs[1], &teams[COUNT(teams) - 1], KRY_F64);
    kry_op *kept, *fresh, *M;

    OK(kry_solver_create(p.all, words, NULL, NULL, &kept));
    for (int64_t e = 0; e < p.problem->nnz; e++) p.problem->val[e] *= 3;
    OK(kry_op_update(p.all, p.problem->val));
    OK(kry_op_update(kept, NULL));
    OK(kry_solver_create(p.all, words, NULL, NULL, &fresh));
    outcome a = solve_with(kept, p.rhs), b = solve_with(fresh, p.rhs);
    assert_int_equal(a.res.iterations, b.res.iterations);
    assert_same_bits(a.x, b.x, p.n);
    free(a.x), free(b.x);
    kry_op_release(&kept);
    kry_op_release(&fresh);
    REFUSES(kry_solver_create(p.all, "precision=mixed deflation=stripes:0", NULL, NULL, &M),
            KRY_ERR_PARSE, "stripes:0");
    REFUSES(kry_solver_create(p.all, "precision=mixed deflation=blocks:4", NULL, NULL, &M),
            KRY_ERR_UNSUPPORTED, "grid");
    REFUSES(
        kry_solver_create(p.all, "precision=mixed method=sor deflation=stripes:4", NULL, NULL, &M),
        KRY_ERR_PARSE, "takes no deflation");
    pair_release(&p);
}

/* ---- null spaces
 * ------------------------------------------------------------------------------------ */

/* D A D maps D^-1 1 to zero. */
static void attached_null_space(void **state)
{
    kry_type type = type_of(state);

    EACH_TEAM(t, type)
    {
        pair p = pair_of("twophase2d:24:10:layers", &teams[t], type);
        kry_problem *q = p.problem;
        double *basis = calloc((size_t)p.n, sizeof *basis), along = 0, square = 0;
        assert_non_null(basis);
        kry_op_release(&p.one);
        kry_op_release(&p.all);
        for (int64_t i = 0; i < p.n; i++) {
            basis[i] = i % 3 ? 1 : 0.5;
            for (int64_t e = q->row_ptr[i]; e < q->row_ptr[i + 1]; e++)
                q->val[e] *= (i % 3 ? 1 : 2) * (q->col[e] % 3 ? 1 : 2);
            along += p.rhs[i] * basis[i], square += basis[i] * basis[i];
        }
        for (int64_t i = 0; i < p.n; i++) p.rhs[i] -= along / square * basis[i];
        q->singular = false;
        p.one = matrix_on(device(), type, q, KRY_MATRIX(.traits = KRY_SYMMETRIC));
        p.all = matrix_on(p.dev, type, q, KRY_MATRIX(.traits = KRY_SYMMETRIC));
        kry_vec *one = vec_on(device(), type, basis, p.n, 1),
                *all = vec_on(p.dev, type, basis, p.n, 1);
        OK(kry_op_set_null_space(p.one, one));
        OK(kry_op_set_null_space(p.all, all));
        same_by_words(&p, "deflation=none");
        same_by_words(&p, "deflation=stripes:8");
        same_by_words(&p, "deflation=stripes:8,variant=bnn,coarse=cholesky");
        free(basis);
        kry_vec_release(&one);
        kry_vec_release(&all);
        pair_release(&p);
    }
}

/* ---- probing
 * ------------------------------------------------------------------------------------------ */

static void probe(void **state)
{
    kry_type type = type_of(state);

    EACH_TEAM(t, type)
    {
        pair p = pair_of(specs[0], &teams[t], type);
        const kry_op *ops[] = { p.one, p.all };
        kry_probe found[2];
        kry_op *M;
        for (int i = 0; i < 2; i++) OK(kry_op_probe(ops[i], 5, &found[i]));
        assert_true(found[1].symmetric && found[1].positive);
        assert_int_equal(found[0].vectors, found[1].vectors);
        NEAR(found[1].least, found[0].least, 1e-3 * found[0].least, "least");
        NEAR(found[1].most, found[0].most, 1e-3 * found[0].most, "most");
        OK(kry_precond_create(p.all, "jacobi", &M));
        OK(kry_op_probe(M, 5, &found[0]));
        assert_true(found[0].symmetric && found[0].positive);
        kry_op_release(&M);
        OK(kry_deflation_create(p.all, KRY_DEFLATION(.stripes = 5), &M));
        OK(kry_op_probe(M, 5, &found[0]));
        assert_true(found[0].symmetric); /* and semi-definite */
        kry_op_release(&M);
        p.problem->val[1] += 3; /* its mirror knows nothing of that */
        void *changed = in_type(type, p.problem->val, p.problem->nnz);
        OK(kry_csr_create(p.dev, type, p.n, p.n, p.problem->row_ptr, p.problem->col, changed,
                          KRY_MATRIX(.format = KRY_FORMAT_CSR), &M));
        OK(kry_op_probe(M, 5, &found[0]));
        assert_false(found[0].symmetric);
        kry_op_release(&M);
        free(changed);
        pair_release(&p);
    }
}

/* ---- bad input
 * ------------------------------------------------------------------------------------------ */

static void bad_input(void **state)
{
    kry_type type = type_of(state);

    EACH_TEAM(t, type)
    {
        pair p = pair_of(specs[0], &teams[t], type);
        int64_t n = p.n;
        int32_t *label = calloc((size_t)n, sizeof *label);
        double *columns = calloc(2 * (size_t)n, sizeof *columns);
        kry_op *D, *other, *S;
        assert_true(label && columns);
#define CREATE(...) kry_deflation_create(p.all, KRY_DEFLATION(__VA_ARGS__), &D)
        REFUSES(CREATE(.stripes = n + 1), KRY_ERR_ARGUMENT, "962");
        REFUSES(CREATE(.stripes = 2, .graph = 2), KRY_ERR_ARGUMENT, "one of labels");
        REFUSES(CREATE(.block = 4), KRY_ERR_UNSUPPORTED, "grid");
        REFUSES(CREATE(.stripes = 2, .variant = 7), KRY_ERR_ARGUMENT, "variant = 7");
        REFUSES(CREATE(.labels_file = "no such file"), KRY_ERR_FILE, "no such file");
        label[n - 1] = 2; /* 1 is not used */
        REFUSES(CREATE(.labels = label), KRY_ERR_ARGUMENT, "label 1 of 0 ... 2");
        label[n - 1] = -1;
        REFUSES(CREATE(.labels = label), KRY_ERR_ARGUMENT, "unknown 960");
        for (int64_t i = 0; i < n; i++) columns[i] = 1, columns[n + i] = 2;
        kry_vec *Z = vec_on(p.dev, type, columns, n, 2);
        kry_status st = CREATE(.vectors = Z);
        if (st != KRY_ERR_UNSUPPORTED) REFUSES(st, KRY_ERR_SINGULAR, "dependent");
        kry_vec_release(&Z);
        memset(columns + n, 0, (size_t)n * sizeof *columns);
        Z = vec_on(p.dev, type, columns, n, 2);
        REFUSES(CREATE(.vectors = Z), KRY_ERR_ARGUMENT, "vector 1 has norm 0");
        kry_vec_release(&Z);
        Z = vec_on(device(), type, columns, n, 1);
        REFUSES(CREATE(.vectors = Z), KRY_ERR_TYPE, "device");
        kry_vec_release(&Z);
        OK(CREATE(.stripes = 3));
        REFUSES(kry_op_update(D, columns), KRY_ERR_UNSUPPORTED, "no values");
        REFUSES(kry_pcg_create(p.one, KRY_PCG(.deflation = D), &S), KRY_ERR_TYPE, "no deflation");
        other = stored_on(p.dev, type, p.problem);
        REFUSES(kry_pcg_create(other, KRY_PCG(.deflation = D), &S), KRY_ERR_ARGUMENT,
                "another matrix");
        REFUSES(kry_pcg_create(other, KRY_PCG(.deflation = other), &S), KRY_ERR_TYPE,
                "no deflation");
        kry_op_release(&D);
        OK(kry_deflation_create(p.one, KRY_DEFLATION(.stripes = 3), &D));
        REFUSES(kry_pcg_create(p.all, KRY_PCG(.deflation = D), &S), KRY_ERR_ARGUMENT,
                "same devices");
        kry_op_release(&D);
        kry_op_release(&other);
        free(label), free(columns);
        pair_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(grids),
        BOTH(words),
        BOTH(labels),
        BOTH(labels_of_files_and_graphs),
        BOTH(vectors),
        BOTH(modes),
        BOTH(update),
        BOTH(attached_null_space),
        BOTH(probe),
        BOTH(bad_input),
        cmocka_unit_test(mixed),
        cmocka_unit_test(mixed_grids),
        cmocka_unit_test(mixed_in_double),
        cmocka_unit_test(mixed_updates),
    };
    return cmocka_run_group_tests_name("team_deflation", tests, NULL, close_device);
}
