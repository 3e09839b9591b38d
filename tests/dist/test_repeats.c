/* test_repeats.c - which routines give the same bits when, as docs/precision.md has it: run
 * to run, with other work-groups, in other formats, on other numbers of devices. */
#include "teams.h"
#include <kry/deflation.h>
#include <kry/dense.h>
#include <kry/precond.h>
#include <kry/tridiagonal.h>

enum { SIDE = 93, ROWS = SIDE * SIDE, CELLS = 4 };

typedef struct row row;
/* Sets *hash to a hash of all that the routine gives. KRY_ERR_UNSUPPORTED: this device has it not.
 */
typedef kry_status run_fn(const row *r, kry_device *dev, kry_type type, uint64_t *hash);

/* A row of the table. The cells are what is promised: "yes" of any device; "mode": of devices that
 * are asked for reproducible sums; "no"; "-": the question makes no sense. */
struct row {
    const char *name;
    run_fn *run;
    const char *word, *format;
    const char *cell[CELLS]; /* runs, groups, formats, devices */
    bool many_kernels;       /* as on GPUs only with KRY_FULL */
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) /* FNV-1a */
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Numbers that depend on nothing but their place; -0.5 ... 0.5. */
static double number_of(int64_t i)
{
    uint64_t v = (uint64_t)(i + 1) * UINT64_C(6364136223846793005) + 1442695040888963407u;
    v ^= v >> 29, v *= UINT64_C(0xbf58476d1ce4e5b9), v ^= v >> 32;
    return (double)(v >> 11) / (double)(UINT64_C(1) << 53) - 0.5;
}

static kry_status vec_made(kry_device *dev, kry_type type, int64_t n, int64_t k, int64_t from,
                           kry_vec **v)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    TRY(kry_vec_create(dev, type, n, k, v));
    host = calloc((size_t)(n * k), kry_type_size(type));
    assert_non_null(host);
    for (int64_t i = 0; i < n * k; i++) put(type, host, i, to_type(type, number_of(from + i)));
    TRY(kry_vec_write(*v, host));
done:
    free(host);
    return st;
}

static kry_status mix_vec(const kry_vec *v, uint64_t *hash)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    size_t n = (size_t)(kry_vec_rows(v) * kry_vec_cols(v)), size = kry_type_size(kry_vec_type(v));

    host = calloc(n, size);
    assert_non_null(host);
    TRY(kry_vec_read(v, host));
    *hash = mix(*hash, host, n * size);
done:
    free(host);
    return st;
}

/* ---- vectors
 * ------------------------------------------------------------------------------------- */

static kry_status run_sums(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_vec *x = NULL, *y = NULL;
    double v[2];
    (void)r;

    TRY(vec_made(dev, type, 2 * ROWS + 5, 1, 0, &x));
    TRY(vec_made(dev, type, 2 * ROWS + 5, 1, 7, &y));
    TRY(kry_vec_dot(x, y, &v[0]));
    TRY(kry_vec_norm2(x, &v[1]));
    *hash = mix(*hash, v, sizeof v);
done:
    kry_vec_release(&x), kry_vec_release(&y);
    return st;
}

static kry_status run_elementwise(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_vec *x = NULL, *y = NULL, *d = NULL;
    (void)r;

    TRY(vec_made(dev, type, ROWS, 1, 0, &x));
    TRY(vec_made(dev, type, ROWS, 1, 7, &y));
    TRY(vec_made(dev, type, ROWS, 1, 9, &d));
    TRY(kry_vec_axpby(1.7, x, 0.3, y));
    TRY(kry_vec_mul(0.9, d, x, 0.2, y));
    TRY(mix_vec(y, hash));
done:
    kry_vec_release(&x), kry_vec_release(&y), kry_vec_release(&d);
    return st;
}

/* ---- operators
 * ------------------------------------------------------------------------------------- */

static kry_status matrix_made(kry_device *dev, kry_type type, const char *format, kry_op **A)
{
    kry_status st = KRY_OK;
    kry_problem *p = NULL;
    void *val = NULL;
    kry_matrix_params params = { .struct_size = sizeof params, .traits = KRY_POSITIVE };
    char spec[32];

    *A = NULL;
    snprintf(spec, sizeof spec, "poisson2d:%d", SIDE);
    TRY(kry_format_parse(format, &params));
    TRY(kry_problem_create(spec, 1, &p));
    val = calloc((size_t)p->nnz, kry_type_size(type));
    assert_non_null(val);
    /* Symmetric, and not the same number everywhere. */
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++) {
            int64_t j = p->col[k], low = i < j ? i : j, high = i < j ? j : i;
            put(type, val, k, p->val[k] * (i == j ? 1.5 : 1 + 0.3 * number_of(low * 3 + high)));
        }
    TRY(kry_csr_create(dev, type, p->n, p->n, p->row_ptr, p->col, val, &params, A));
done:
    free(val);
    kry_problem_release(&p);
    return st;
}

static kry_status grid_made(kry_device *dev, kry_type type, kry_op **A)
{
    kry_status st = KRY_OK;
    double *k = NULL;

    *A = NULL;
    k = calloc(ROWS, sizeof *k);
    assert_non_null(k);
    for (int64_t i = 0; i < ROWS; i++) k[i] = 1 + number_of(i);
    TRY(kry_stencil_create(dev, type, KRY_STENCIL(.size = { SIDE, SIDE }, .coefficient = k), A));
done:
    free(k);
    return st;
}

/* format: of a matrix, or "grid". */
static kry_status operator_made(kry_device *dev, kry_type type, const char *format, kry_op **A)
{
    *A = NULL;
    if (!strcmp(format, "grid")) return grid_made(dev, type, A);
    return matrix_made(dev, type, format, A);
}

static kry_status mix_apply(const kry_op *op, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_op_device(op);
    kry_type type = kry_op_get_shape(op)->type;
    kry_vec *x = NULL, *y = NULL;

    TRY(vec_made(dev, type, ROWS, 1, 0, &x));
    TRY(vec_made(dev, type, ROWS, 1, 7, &y));
    TRY(kry_op_apply(op, 1.0, x, 0.0, y));
    TRY(mix_vec(y, hash));
    TRY(kry_op_apply(op, 0.7, x, -0.3, y));
    TRY(mix_vec(y, hash));
done:
    kry_vec_release(&x), kry_vec_release(&y);
    return st;
}

/* Set-up and application; of the matrix itself without a word. */
static kry_status run_operator(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *M = NULL;

    TRY(operator_made(dev, type, r->format, &A));
    if (*r->word) TRY(kry_precond_create(A, r->word, &M));
    TRY(mix_apply(M ? M : A, hash));
done:
    kry_op_release(&M), kry_op_release(&A);
    return st;
}

static kry_status run_solver(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *S = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result res;
    char words[200];

    if (type == KRY_F32 && strstr(r->word, "mixed")) return KRY_ERR_UNSUPPORTED;
    TRY(operator_made(dev, type, r->format, &A));
    snprintf(words, sizeof words, "%s maxit=60", r->word);
    TRY(kry_solver_create(A, words, NULL, NULL, &S));
    TRY(vec_made(dev, type, ROWS, 1, 3, &b));
    TRY(kry_vec_create(dev, type, ROWS, 1, &x));
    TRY(kry_vec_fill(x, 0));
    TRY(kry_solve(S, b, x, &res));
    TRY(mix_vec(x, hash));
    *hash = mix(*hash, &res.iterations, sizeof res.iterations);
    *hash = mix(*hash, res.history, (size_t)res.history_count * sizeof *res.history);
    st = KRY_OK;
done:
    kry_vec_release(&x), kry_vec_release(&b);
    kry_op_release(&S), kry_op_release(&A);
    return st;
}

/* ---- dense matrices, tridiagonal systems, Laplace's iteration
 * -------------------------------------- */

enum { DENSE = 70 };

static kry_status dense_made(kry_device *dev, kry_type type, kry_vec **A)
{
    return vec_made(dev, type, DENSE, DENSE, 1, A);
}

static kry_status run_dense(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    kry_status st = KRY_OK;
    kry_vec *A = NULL, *B = NULL, *C = NULL;
    kry_op *lu = NULL;

    TRY(dense_made(dev, type, &A));
    TRY(vec_made(dev, type, DENSE, DENSE, 99, &B));
    TRY(vec_made(dev, type, DENSE, DENSE, 98, &C));
    if (!strcmp(r->word, "gemm"))
        TRY(kry_vec_gemm(false, true, 1.5, A, B, 0.5, C));
    else if (!strcmp(r->word, "transpose"))
        TRY(kry_vec_transpose(A, C));
    else if (!strcmp(r->word, "inverse"))
        TRY(kry_vec_inverse(A, NULL, C));
    else if (!strcmp(r->word, "rref"))
        TRY(kry_vec_rref(A, 0, NULL, NULL));
    else {
        TRY(kry_lu_create(A, NULL, &lu));
        TRY(kry_lu_solve(lu, false, B, C));
    }
    TRY(mix_vec(A, hash));
    TRY(mix_vec(C, hash));
done:
    kry_op_release(&lu);
    kry_vec_release(&A), kry_vec_release(&B), kry_vec_release(&C);
    return st;
}

static kry_status run_tridiagonal(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    enum { EQUATIONS = 301, SYSTEMS = 40 };
    kry_status st = KRY_OK;
    kry_vec *low = NULL, *d = NULL, *up = NULL, *b = NULL, *x = NULL, *ones = NULL;
    (void)r;

    TRY(vec_made(dev, type, EQUATIONS, SYSTEMS, 1, &low));
    TRY(vec_made(dev, type, EQUATIONS, SYSTEMS, 2, &up));
    TRY(vec_made(dev, type, EQUATIONS, SYSTEMS, 3, &d));
    TRY(vec_made(dev, type, EQUATIONS, SYSTEMS, 4, &b));
    TRY(kry_vec_create(dev, type, EQUATIONS, SYSTEMS, &ones));
    TRY(kry_vec_create(dev, type, EQUATIONS, SYSTEMS, &x));
    TRY(kry_vec_fill(ones, 2.5));
    TRY(kry_vec_axpby(1, ones, 1, d));
    TRY(kry_tridiagonal_solve(NULL, low, d, up, b, x));
    TRY(mix_vec(x, hash));
done:
    kry_vec_release(&low), kry_vec_release(&d), kry_vec_release(&up);
    kry_vec_release(&b), kry_vec_release(&x), kry_vec_release(&ones);
    return st;
}

/* ---- the table: the cells stand in docs/precision.md as they do here
 * ----------------------- */

static const row table[] = {
    { "axpby, mul", run_elementwise, "", "", { "yes", "yes", "-", "mode" }, true },
    { "dot, norm2", run_sums, "", "", { "yes", "mode", "-", "mode" }, false },
    { "product csr", run_operator, "", "csr", { "yes", "no", "no", "no" }, false },
    { "product dia", run_operator, "", "dia", { "yes", "yes", "no", "no" }, true },
    { "product symdia", run_operator, "", "symdia", { "yes", "yes", "no", "no" }, true },
    { "product ell", run_operator, "", "ell", { "yes", "yes", "mode", "mode" }, true },
    { "product sell", run_operator, "", "sell", { "yes", "yes", "mode", "mode" }, false },
    { "product jds", run_operator, "", "jds", { "yes", "yes", "no", "no" }, true },
    { "product hyb", run_operator, "", "hyb", { "yes", "no", "no", "no" }, true },
    { "product coo", run_operator, "", "coo", { "yes", "no", "no", "no" }, true },
    { "product flux", run_operator, "", "csr:form=flux", { "yes", "no", "no", "no" }, true },
    { "stencil", run_operator, "", "grid", { "yes", "yes", "-", "mode" }, true },
    { "jacobi", run_operator, "jacobi", "sell", { "yes", "yes", "mode", "mode" }, true },
    { "neumann", run_operator, "neumann", "sell", { "yes", "yes", "mode", "mode" }, true },
    { "chebyshev", run_operator, "chebyshev", "sell", { "yes", "mode", "mode", "mode" }, true },
    { "block-jacobi", run_operator, "block-jacobi", "sell", { "yes", "no", "no", "no" }, true },
    { "ssor-ai", run_operator, "ssor-ai", "sell", { "yes", "no", "no", "no" }, true },
    { "fsai", run_operator, "fsai", "sell", { "yes", "no", "no", "no" }, true },
    { "ip", run_operator, "ip", "sell", { "yes", "no", "no", "no" }, true },
    { "block-ic", run_operator, "block-ic", "sell", { "yes", "no", "no", "no" }, true },
    { "block-ilu", run_operator, "block-ilu", "sell", { "yes", "no", "no", "no" }, true },
    { "ilu0", run_operator, "ilu0", "sell", { "yes", "no", "no", "no" }, true },
    { "cg", run_solver, "method=cg", "sell", { "yes", "mode", "mode", "mode" }, false },
    { "cg on a grid",
      run_solver,
      "method=cg resident=off",
      "grid",
      { "yes", "mode", "-", "mode" },
      true },
    { "pcg, jacobi",
      run_solver,
      "precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "pipe-cg, jacobi",
      run_solver,
      "method=pipe-cg precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "cr, jacobi",
      run_solver,
      "method=cr precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "minres, jacobi",
      run_solver,
      "method=minres precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "bicgstab, jacobi",
      run_solver,
      "method=bicgstab precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "idr, jacobi",
      run_solver,
      "method=idr precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "gmres, jacobi",
      run_solver,
      "method=gmres precond=jacobi",
      "sell",
      { "yes", "mode", "mode", "mode" },
      true },
    { "lsqr", run_solver, "method=lsqr", "sell", { "yes", "no", "-", "no" }, true },
    { "lsmr", run_solver, "method=lsmr", "sell", { "yes", "no", "-", "no" }, true },
    { "cg, persistent kernel",
      run_solver,
      "method=cg resident=on",
      "grid",
      { "yes", "no", "-", "no" },
      true },
    { "deflation",
      run_solver,
      "method=cg deflation=stripes:9",
      "sell",
      { "yes", "no", "no", "no" },
      true },
    { "mixed on a grid",
      run_solver,
      "method=cg precision=mixed resident=off",
      "grid",
      { "yes", "mode", "-", "mode" },
      true },
    { "method=jacobi", run_solver, "method=jacobi", "sell", { "yes", "no", "no", "no" }, true },
    { "method=sor", run_solver, "method=sor", "grid", { "yes", "no", "-", "no" }, true },
    { "gemm", run_dense, "gemm", "", { "yes", "no", "-", "no" }, true },
    { "transpose", run_dense, "transpose", "", { "yes", "yes", "-", "no" }, true },
    { "LU", run_dense, "lu", "", { "yes", "no", "-", "no" }, true },
    { "inverse", run_dense, "inverse", "", { "yes", "no", "-", "no" }, true },
    { "rref", run_dense, "rref", "", { "yes", "no", "-", "no" }, true },
    { "tridiagonal", run_tridiagonal, "", "", { "yes", "no", "-", "no" }, true },
};

/* ---- the same bits?
 * ------------------------------------------------------------------------------- */

static const char *answer_to(const row *r, kry_device *dev, kry_type type, uint64_t *hash)
{
    *hash = UINT64_C(0xcbf29ce484222325);
    kry_status st = r->run(r, dev, type, hash);
    if (st == KRY_ERR_UNSUPPORTED) return "cannot be done";
    if (st < 0) fail_msg("%s: %s", r->name, kry_last_error());
    return NULL;
}

/* Other launches than the device's own, as a file of tuned values or a smaller device may want. */
static kry_device *open_other(void)
{
    kry_device *dev;

    OK(kry_device_open(NULL, &dev));
    kry_launch_shape shape = kry_device_launch_shape(dev);
    shape.chunks = 2;
    shape.per_unit = 3;
    if (!kry_device_get_info(dev)->cpu_kernels) shape.group = shape.group > 64 ? 64 : 32;
    OK(kry_device_set_launch_shape(dev, &shape));
    return dev;
}

/* The same in reproducible mode: a team of one, whose part was tuned. */
static kry_device *strict_of(kry_device *plain)
{
    kry_device *team;
    OK(kry_team_create(&plain, 1, KRY_TEAM(.reproducible = true), &team));
    kry_device_release(&plain);
    return team;
}

static bool says(const row *r, int cell, const char *word) { return !strcmp(r->cell[cell], word); }

static void expect_same(const row *r, const char *what, uint64_t got, uint64_t want)
{
    if (got != want)
        fail_msg("%s: %s: %016llx, not %016llx", r->name, what, (unsigned long long)got,
                 (unsigned long long)want);
}

/* Run to run, and with other work-groups. */
static void compare_runs(const row *r, kry_type type, kry_device *again, kry_device *other)
{
    uint64_t want, got;

    const char *none = answer_to(r, device(), type, &want);
    if (none) {
        print_message("# %s: %s\n", r->name, none);
    } else {
        answer_to(r, again, type, &got);
        expect_same(r, "another run", got, want);
        bool cannot = answer_to(r, other, type, &got) != NULL;
        if (says(r, 1, "yes") && !cannot) expect_same(r, "other work-groups", got, want);
        if (!cannot && !says(r, 1, "yes"))
            print_message("# %s: %s bits with other work-groups\n", r->name,
                          got == want ? "the same" : "other");
    }
}

/* What reproducible mode promises, on any number of devices and with any launches. */
static void compare_mode(const row *r, kry_type type, kry_device *other)
{
    kry_device *one = open_team(1, (kry_team_params){ .reproducible = true }),
               *two = open_team(2, (kry_team_params){ .reproducible = true });
    uint64_t want, got;

    const char *none = answer_to(r, one, type, &want);
    if (none) print_message("# %s: %s\n", r->name, none);
    if (!none && !says(r, 1, "no")) {
        answer_to(r, other, type, &got);
        expect_same(r, "other work-groups in reproducible mode", got, want);
    }
    if (!none && !says(r, 3, "no")) {
        answer_to(r, two, type, &got);
        expect_same(r, "two devices in reproducible mode", got, want);
    }
    if (!none && says(r, 2, "mode")) {
        row ell = *r;
        ell.format = strcmp(r->format, "ell") ? "ell" : "sell";
        answer_to(&ell, two, type, &got);
        expect_same(r, "another format in reproducible mode", got, want);
    }
    close_team(&two), close_team(&one);
}

static bool wanted(const row *r) { return !r->many_kernels || getenv("KRY_FULL"); }

static void check_runs(kry_type type, bool all)
{
    kry_device *again, *other = open_other();

    OK(kry_device_open(NULL, &again));
    for (size_t i = 0; i < COUNT(table); i++)
        if (all ? in_sample((int64_t)i + (type == KRY_F32)) : wanted(&table[i]))
            compare_runs(&table[i], type, again, other);
    kry_device_release(&other);
    kry_device_release(&again);
}

static void check_mode(kry_type type, bool all)
{
    kry_device *other = strict_of(open_other());

    for (size_t i = 0; i < COUNT(table); i++) {
        const row *r = &table[i];
        bool mode = says(r, 1, "mode") || says(r, 2, "mode") || says(r, 3, "mode");
        if (mode && (all ? in_sample((int64_t)i + (type == KRY_F64)) : wanted(r)))
            compare_mode(r, type, other);
    }
    close_team(&other);
}

static void repeats__run_to_run_and_groups(void **state) { check_runs(type_of(state), true); }

static void repeats__in_reproducible_mode(void **state) { check_mode(type_of(state), true); }

/* Groups of work-items, as on GPUs; there is more to compile. */
static void repeats__as_on_gpus(void **state)
{
    kry_type type = type_of(state);
    use_profile("gpu-kernels");
    check_runs(type, false);
    use_profile(NULL);
}

static void repeats__in_reproducible_mode_as_on_gpus(void **state)
{
    kry_type type = type_of(state);
    use_profile("gpu-kernels");
    check_mode(type, false);
    use_profile(NULL);
}

/* A device whose groups are too small for the sums of this mode says so. */
static void mode__small_groups(void **state)
{
    kry_device *dev, *team = (kry_device *)1;
    (void)state;

    NOT_ON_HOST("profile");
    use_profile("gpu-kernels group=64");
    OK(kry_device_open(NULL, &dev));
    REFUSES(kry_team_create(&dev, 1, KRY_TEAM(.reproducible = true), &team), KRY_ERR_UNSUPPORTED,
            "groups of 128 work-items");
    assert_null(team);
    assert_int_equal(kry_device_launch_shape(dev).group, 64);
    OK(kry_team_create(&dev, 1, NULL, &team));
    kry_device_release(&team);
    assert_int_equal(device_references(dev), 1);
    kry_device_release(&dev);
    use_profile(NULL);
}

/* One device, asked for by its word; it has its own launches back afterwards. */
static void mode__a_word(void **state)
{
    kry_device *dev = open_other(), *team, *named;
    const kry_launch_shape own = kry_device_launch_shape(dev);
    char spec[32];
    uint64_t a, b;
    (void)state;

    kry_type type = kry_device_get_info(dev)->fp64 ? KRY_F64 : KRY_F32;
    OK(kry_team_create(&dev, 1, KRY_TEAM(.reproducible = true), &team));
    snprintf(spec, sizeof spec, "%s,reproducible", kry_device_get_info(dev)->kind);
    OK(kry_device_open(spec, &named));
    answer_to(&table[1], team, type, &a);
    answer_to(&table[1], named, type, &b);
    assert_true(a == b);
    kry_device_release(&named);
    kry_device_release(&team);
    const kry_launch_shape again = kry_device_launch_shape(dev);
    assert_memory_equal(&again, &own, sizeof own);
    answer_to(&table[1], dev, type, &a); /* with programs of its own again */
    answer_to(&table[1], dev, type, &b);
    assert_true(a == b);
    kry_device_release(&dev);
}

/* The page says what this file holds. */
static void docs__have_this_table(void **state)
{
    const char *cl = getenv("KRY_CL_PATH");
    char path[600], line[400], want[200];
    (void)state;

    if (!cl) SKIP("KRY_CL_PATH does not say where the page is");
    snprintf(path, sizeof path, "%s/../docs/precision.md", cl);
    for (size_t i = 0; i < COUNT(table); i++) {
        const row *r = &table[i];
        bool found = false;
        snprintf(want, sizeof want, "| `%s` | %s | %s | %s | %s |", r->name, r->cell[0], r->cell[1],
                 r->cell[2], r->cell[3]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        while (!found && fgets(line, sizeof line, f)) found = strstr(line, want) != NULL;
        fclose(f);
        if (!found) fail_msg("no line '%s' in docs/precision.md", want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docs__have_this_table),
        cmocka_unit_test(mode__small_groups),
        cmocka_unit_test(mode__a_word),
        BOTH(repeats__in_reproducible_mode),
        BOTH(repeats__run_to_run_and_groups),
        { "repeats__as_on_gpus/double", repeats__as_on_gpus, NULL, NULL, &type_double },
        { "repeats__in_reproducible_mode_as_on_gpus/double",
          repeats__in_reproducible_mode_as_on_gpus, NULL, NULL, &type_double },
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
