/*
 * test_random_systems.c - systems of every kind, solved in every way, against a reference residual
 *
 * Each case is a random system (systems.h), a random way to solve it, a random right-hand side and
 * guess. Whatever comes out,
 *
 *   - `converged` holds before the residual in long double (reference_residual.h), and x is finite;
 *   - the target is that of the x that is returned, with stop=backward no larger than rtol (||A|| ||x|| + ||b||);
 *   - the true residual that is reported is that of the x that is returned, converged or not;
 *   - the status is that of the reason, and the reason says why in a sentence;
 *   - a call that fails says so in a sentence, hands out nothing, and leaves x as it was;
 *   - a system that is positive definite and well-conditioned is solved, and one without a solution
 *     is not.
 *
 * A case that fails prints KRY_TEST_SEED and KRY_TEST_CASE, which run it alone. KRY_FULL: many more
 * cases, and more ways (each is compiled once).
 */
#include "systems.h"

enum { CASES = 1500, FULL_CASES = 40000, SECONDS = 45, BACKWARD_SECONDS = 25, GRID_SECONDS = 20 };

/* ---- ways ------------------------------------------------------------------------------------ */

typedef struct way {
    char format[40], words[300];
    bool krylov, mixed, flux, rounded;
    bool host;  /* b and x are on the host, */
    bool stays; /* and the matrix in double too */
    bool plain; /* nothing that could keep an easy system from being solved */
    bool noted; /* the null space is known to the solver */
    bool backward;
    double rtol, atol;
} way;

/* Systems in double then stay on the host, and are solved in mixed precision. */
static bool without_double(void) { return acc_type() != KRY_F64; }

static void pick_format(way *w)
{
    static const char *const formats[] = { "csr",
                                           "sell",
                                           "coo",
                                           "csr",
                                           "csr:values=single",
                                           "csr:form=flux",
                                           /* more: */ "ell",
                                           "jds",
                                           "hyb",
                                           "dia",
                                           "symdia",
                                           "auto",
                                           "csr:values=given",
                                           "sell:values=single",
                                           "ell:form=flux" };
    snprintf(w->format, sizeof w->format, "%s", pick(formats, 6, COUNT(formats)));
    w->flux = strstr(w->format, "flux");
    w->rounded = strstr(w->format, "values=single");
}

static void add_word(way *w, const char *format, ...) KRY_PRINTF(2, 3);
static void add_word(way *w, const char *format, ...)
{
    size_t used = strlen(w->words);
    va_list args;
    va_start(args, format);
    vsnprintf(w->words + used, sizeof w->words - used, format, args);
    va_end(args);
}

/* The first ones are positive definite where A is. */
static void pick_precond(way *w, const system_of *s)
{
    enum { SAFE = 5 };
    static const char *const preconds[] = { "none",
                                            "jacobi",
                                            "block-jacobi:3",
                                            "block-ic",
                                            "ip",
                                            /* not sure: */ "chebyshev:3",
                                            "block-ilu",
                                            "neumann:2",
                                            "ssor-ai:1",
                                            "block-ic@half",
                                            /* more: */ "ilu0",
                                            "icc:1,levels",
                                            "icc:0,sweeps",
                                            "icc:isai",
                                            "ras:2",
                                            "neumann:1",
                                            "ssor-ai:3",
                                            "ip:unscaled,drop",
                                            "block-ilu@single",
                                            "chebyshev",
                                            "block-jacobi:7",
                                            "block-ic:5",
                                            "block-jacobi" };
    const char *word = pick(preconds, 10, COUNT(preconds));
    if (s->grid && one_in(3)) word = "ip";
    add_word(w, " precond=%s", word);
    for (int i = SAFE; i < (int)COUNT(preconds); i++)
        if (!strcmp(preconds[i], word)) w->plain = false;
}

static void pick_deflation(way *w, const system_of *s)
{
    static const char *const variants[] = { "",
                                            ",variant=def1",
                                            ",variant=bnn",
                                            ",coarse=cholesky",
                                            ",az=product",
                                            ",az=stored,coarse=dense" };
    if (!one_in(5)) return;
    add_word(w, " deflation=%s:%lld%s", one_in(2) ? "stripes" : "graph",
             (long long)between(1, s->n < 8 ? s->n + 1 : 8),
             pick(variants, COUNT(variants), COUNT(variants)));
    w->plain = false;
}

/* Conjugate gradients, mostly; others may need more iterations than there are, and take no deflation. */
static bool pick_method(way *w, const system_of *s)
{
    static const char *const others[] = { "minres",         "bicgstab", "gmres:7", "idr",
                                          /* more: */ "cr", "gmres",    "fgmres",  "bicgstab:1",
                                          "idr:1",          "pipe-cg",  "tfqmr" };
    static const char *const grid_methods[] = { "mg", "fmg precond=mg",
                                                "richardson precond=mg:cycle=w",
                                                "pcg precond=mg:cycle=w" };
    const bool other = one_in(3);

    if (without_double() && s->grid && one_in(2)) { /* elsewhere test_mg.c has them */
        add_word(w, "method=%s", pick(grid_methods, COUNT(grid_methods), COUNT(grid_methods)));
        w->plain = false;
        return true;
    }
    if (other)
        add_word(w, "method=%s", pick(others, 4, COUNT(others)));
    else
        add_word(w, "method=%s", one_in(2) ? "cg" : "pcg");
    if (other) w->plain = false;
    return other;
}

static void pick_krylov(way *w, const system_of *s)
{
    w->krylov = true;
    const bool other = pick_method(w, s);
    if (!strstr(w->words, "mg")) pick_precond(w, s);
    if (!other) pick_deflation(w, s);
    if (s->n % 4) add_word(w, " check=none"); /* else only what may be refused is */
    if (one_in(6)) add_word(w, " resident=%s", one_in(2) ? "on" : "off");
}

static void pick_mixed(way *w, const system_of *s)
{
    static const char *const schemes[] = { "auto", "auto", "reliable", "flexible", "classical" };
    if (s->type == KRY_F32 || (!without_double() && !one_in(3))) return;
    const char *scheme = pick(schemes, COUNT(schemes), COUNT(schemes));
    w->mixed = true;
    add_word(w, " precision=mixed scheme=%s", scheme);
    if (!strcmp(scheme, "flexible") && one_in(2)) add_word(w, " inner=%d", (int)between(1, 30));
    if (one_in(4)) add_word(w, " equilibrate=%s", one_in(2) ? "on" : "off");
    if (strcmp(scheme, "auto")) w->plain = false;
}

static void add_tolerance(way *w, const char *name, double value, double *kept)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    *kept = atof(text);
    add_word(w, " %s=%s", name, text);
}

/* A limit that every easy system stays below, or one that cuts in. */
static void pick_stop(way *w, const system_of *s)
{
    bool cut = one_in(4);
    double digits = (s->type == KRY_F32 ? 7.2 : 15.6) * unit();
    if (one_in(8)) {
        add_tolerance(w, "atol", fmin(held(s->type, s->scale * pow(10, -1.5 * digits)), 1e308),
                      &w->atol);
        if (w->atol == 0) w->rtol = s->type == KRY_F32 ? 1e-5 : 1e-8; /* the default */
    } else
        add_tolerance(w, "rtol", pow(10, -digits), &w->rtol);
    if ((w->backward = one_in(5))) add_word(w, " stop=backward");
    if (digits > (s->type == KRY_F32 ? 4 : 10) || strstr(w->words, "atol") || cut) w->plain = false;
    add_word(w, " maxit=%d", cut ? (int)between(1, one_in(2) ? 20 : 200) : 600);
    if (one_in(4)) add_word(w, " check-every=%d", (int)between(1, one_in(2) ? 9 : 70));
}

static void way_pick(way *w, const system_of *s)
{
    memset(w, 0, sizeof *w);
    w->plain = true;
    pick_format(w);
    if (s->grid) w->flux = true, w->rounded = false; /* its format is not asked for */
    if (one_in(8)) {
        add_word(w, "method=%s", s->grid && one_in(2) ? "sor" : "jacobi");
        if (one_in(2)) add_word(w, " omega=%.2f", 0.1 + 1.8 * unit());
        w->plain = false;
    } else
        pick_krylov(w, s);
    pick_mixed(w, s);
    if (!w->mixed && one_in(6)) { /* refused of grids and singular matrices */
        add_word(w, " equilibrate=on");
        w->plain = false;
    }
    pick_stop(w, s);
    w->noted = (w->krylov || w->mixed) && (s->attach || s->traits & KRY_SINGULAR);
    w->stays =
        w->mixed && (without_double() || (!s->attach && !s->grid && one_in(4))) && has_host();
    w->host = w->stays || one_in(3);
    if (w->stays) w->rounded = false, w->flux = s->grid != NULL; /* that is for the copy */
}

/* ---- a case ---------------------------------------------------------------------------------- */

typedef struct trial {
    const system_of *s;
    const way *w;
    long long number;
    bool failed;
    kry_op *A, *S;
    kry_result res;
    kry_status st;
} trial;

#define WRONG(t, ...)                                                                             \
    do {                                                                                          \
        (t)->failed = true;                                                                       \
        print_error("case %lld: %s, %s, n = %lld, nnz = %lld, traits %u, parts %d%s, format %s, " \
                    "'%s'%s: ",                                                                   \
                    (t)->number, (t)->s->kind, kry_type_name((t)->s->type), (long long)(t)->s->n, \
                    (long long)(t)->s->nnz, (t)->s->traits, (t)->s->parts,                        \
                    (t)->s->attach ? " attached" : "", (t)->w->format, (t)->w->words,             \
                    (t)->w->stays  ? " stays on the host"                                         \
                    : (t)->w->host ? " host"                                                      \
                                   : "");                                                         \
        print_error(__VA_ARGS__);                                                                 \
        print_error("\n");                                                                        \
    } while (0)

/* A call that failed: a sentence, and nothing made. */
static void check_refusal(trial *t, kry_status st, const void *made, const char *what)
{
    if (st >= 0) return;
    if (made) WRONG(t, "%s failed, but something was made", what);
    if (strlen(kry_last_error()) < 10) WRONG(t, "%s failed with '%s'", what, kry_last_error());
    bool own = st == KRY_ERR_ARGUMENT || st == KRY_ERR_SHAPE || st == KRY_ERR_UNSUPPORTED ||
               st == KRY_ERR_SINGULAR;
    if (!own) WRONG(t, "%s failed: %s: %s", what, kry_status_text(st), kry_last_error());
}

static kry_status attach_null_space(const system_of *s, kry_op *A)
{
    double *v = calloc((size_t)(s->n * s->parts) + 1, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < s->n; i++) v[i % s->parts * s->n + i] = 1;
    kry_vec *vectors = vec_of(s->type, v, s->n, s->parts);
    kry_status st = kry_op_set_null_space(A, vectors);
    kry_vec_release(&vectors);
    free(v);
    return st;
}

static kry_status make_matrix(trial *t)
{
    const system_of *s = t->s;
    kry_matrix_params params = *KRY_MATRIX(.traits = s->traits, .on_host = t->w->stays);
    void *val = in_type(s->type, s->val, s->nnz);

    OK(kry_format_parse(t->w->format, &params));
    t->A = (kry_op *)(uintptr_t)0x10;
    kry_status st =
        kry_csr_create(device(), s->type, s->n, s->n, s->row_ptr, s->col, val, &params, &t->A);
    free(val);
    check_refusal(t, st, t->A, "kry_csr_create");
    if (st == KRY_OK && s->attach) {
        st = attach_null_space(s, t->A);
        check_refusal(t, st, NULL, "kry_op_set_null_space");
    }
    return st;
}

static kry_status make_stencil(trial *t)
{
    kry_stencil_params params = grid_params(t->s->grid, t->s->k);

    params.on_host = t->w->stays;
    t->A = (kry_op *)(uintptr_t)0x10;
    kry_status st = kry_stencil_create(device(), t->s->type, &params, &t->A);
    check_refusal(t, st, t->A, "kry_stencil_create");
    return st;
}

/* b and the guess go in, the status and x come out. */
static void run_solver(trial *t, system_of *s)
{
    memcpy(s->x, s->guess, sizeof s->x);
    if (t->w->host) {
        t->st = kry_solve_host(t->S, s->b, s->x, &t->res);
        return;
    }
    kry_vec *b = vec_of(s->type, s->b, s->n, 1), *x = vec_of(s->type, s->guess, s->n, 1);
    t->st = kry_solve(t->S, b, x, &t->res);
    double *numbers = numbers_of(x);
    memcpy(s->x, numbers, (size_t)s->n * sizeof *numbers);
    free(numbers);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* ---- what must hold -------------------------------------------------------------------------- */

/* Whether the solver looks for what nobody has said. */
static bool finds_null_space(const trial *t)
{
    static const char *const others[] = { "lsqr", "lsmr", "jacobi", "sor" };
    char word[40];

    if (t->w->noted || t->s->grid || t->s->traits & (KRY_SINGULAR | KRY_POSITIVE)) return false;
    for (size_t i = 0; i < COUNT(others); i++) {
        snprintf(word, sizeof word, "method=%s", others[i]);
        const char *at = strstr(t->w->words, word);
        if (at && strchr(" :", at[strlen(word)])) return false;
    }
    return true;
}

/* The least row that entries connect row i with, of all rows. */
static void connect_rows(const system_of *s, int64_t *least)
{
    bool more = true;

    for (int64_t i = 0; i < s->n; i++) least[i] = i;
    while (more) {
        more = false;
        for (int64_t e = 0; e < s->nnz; e++) {
            const int64_t i = s->row[e], j = s->col[e];
            if (s->val[e] == 0 || least[i] == least[j]) continue;
            least[i] = least[j] = least[i] < least[j] ? least[i] : least[j];
            more = true;
        }
    }
}

/* A row or column: what its entries add up to, the sum of their sizes, and how many are not zero. */
typedef struct line_total {
    long double sum, size;
    int count;
} line_total;

static void add_to_total(line_total *t, double v)
{
    t->sum += v, t->size += fabs(v), t->count += v != 0;
}

/* As the library says: but for the rounding of the entries and of their additions, which must not leave the range. */
static bool total_is_zero(const line_total *t, kry_type type)
{
    return t->size <= DBL_MAX &&
           fabsl(t->sum) <= (eps_of(type) / 2 + t->count * DBL_EPSILON) * t->size;
}

/* Constants on parts whose rows and columns all add up to zero, empty rows with empty columns among them. */
static long double *look_for_null_space(const trial *t, int64_t *k)
{
    static int64_t least[LARGEST];
    const system_of *s = t->s;
    line_total row[LARGEST] = { 0 }, column[LARGEST] = { 0 };
    long double *null = calloc((size_t)(s->n * s->n) + 1, sizeof *null);

    assert_non_null(null);
    connect_rows(s, least);
    for (int64_t e = 0; e < s->nnz; e++) {
        const double v = t->w->rounded ? (float)s->val[e] : s->val[e];
        add_to_total(&row[s->row[e]], v);
        add_to_total(&column[s->col[e]], v);
    }
    *k = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t count = 0;
        bool zero = least[i] == i;
        for (int64_t j = i; j < s->n && zero; j++)
            if (least[j] == i) {
                count++;
                zero = total_is_zero(&row[j], s->type) && total_is_zero(&column[j], s->type);
            }
        if (!zero) continue;
        for (int64_t j = i; j < s->n; j++)
            if (least[j] == i) null[*k * s->n + j] = 1 / sqrtl((long double)count);
        ++*k;
    }
    if (*k > 64 || *k >= s->n) *k = 0; /* it finds no more */
    return null;
}

/* The null space that the solver knows, orthonormal: the columns for reference_residual_without. */
static long double *null_of(const trial *t, int64_t *k)
{
    const system_of *s = t->s;
    int parts = s->attach ? s->parts : 1;
    if (finds_null_space(t)) return look_for_null_space(t, k);
    *k = 0;
    if (!t->w->noted || !s->parts || !s->n) return NULL;
    long double *null = calloc((size_t)(s->n * parts), sizeof *null);
    assert_non_null(null);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t size = (s->n - i % parts + parts - 1) / parts;
        null[i % parts * s->n + i] = 1 / sqrtl((long double)size);
    }
    *k = parts;
    return null;
}

/* The reference for the whole residual, and for what is left without the null space that is known. */
static void find_references(const trial *t, reference *whole, reference *reachable)
{
    const system_of *s = t->s;
    int64_t k;
    long double *null = null_of(t, &k);
    static double rounded[LARGEST * LARGEST];
    entries A = s->entries;

    for (int64_t e = 0; e < s->nnz; e++) rounded[e] = (float)s->val[e];
    if (t->w->rounded) A.val = rounded;
    *whole = reference_residual_without(&A, s->type, t->w->flux, s->b, s->x, NULL, 0);
    *reachable = reference_residual_without(&A, s->type, t->w->flux, s->b, s->x, null, k);
    free(null);
}

/* ||A|| from above: sqrt(||A||_1 ||A||_inf). */
static long double norm_from_above(const trial *t)
{
    const system_of *s = t->s;
    long double row[LARGEST] = { 0 }, col[LARGEST] = { 0 }, rows = 0, cols = 0;

    for (int64_t e = 0; e < s->nnz; e++) {
        row[s->row[e]] += fabs(s->val[e]), col[s->col[e]] += fabs(s->val[e]);
    }
    for (int64_t i = 0; i < s->n; i++) rows = fmaxl(rows, row[i]), cols = fmaxl(cols, col[i]);
    return sqrtl(rows) * sqrtl(fmaxl(rows, cols));
}

/* ||x|| without the null space that the solver knows, and what rounding leaves of that. */
static long double size_of_x(const trial *t)
{
    const system_of *s = t->s;
    residual_row row[LARGEST] = { 0 };
    int64_t k;
    long double *null = null_of(t, &k), whole = 0, rest = 0;

    for (int64_t i = 0; i < s->n; i++) {
        row[i].r = s->x[i];
        whole += row[i].r * row[i].r;
    }
    residual_project(row, s->n, null, k);
    for (int64_t i = 0; i < s->n; i++) rest += row[i].r * row[i].r;
    free(null);
    return sqrtl(rest) + (k ? 4 * eps_of(s->type) * sqrtl(whole) : 0);
}

/* The target that is told is that of the x that is returned. */
static void check_target(trial *t)
{
    const way *w = t->w;
    const kry_result *r = &t->res;
    const long double b = r->norm_b, more = w->backward ? norm_from_above(t) * size_of_x(t) : 0;
    const long double least = fmaxl(w->rtol * b, w->atol),
                      most = fmaxl(w->rtol * (b + more), w->atol);

    if (r->reason == KRY_CONVERGED_ZERO) return;
    const long double denormal = least_of(t->s->type) * eps_of(t->s->type);
    if (!isfinite(r->target) || r->target < (1 - 1e-6L) * least - denormal ||
        r->target > (1 + 1e-6L) * most + denormal)
        WRONG(t, "%s: the target is %.4e, by the x that is returned from %.4Le to %.4Le",
              kry_reason_word(r->reason), r->target, least, most);
}

static void check_converged(trial *t, const reference *whole)
{
    const kry_result *r = &t->res;

    if (r->reason != KRY_CONVERGED && r->reason != KRY_CONVERGED_GUESS &&
        r->reason != KRY_CONVERGED_ZERO)
        WRONG(t, "KRY_OK, but %s", kry_reason_word(r->reason));
    if (!confirms_convergence(&t->s->entries, whole, r))
        WRONG(t,
              "'%s', but the true residual is %.4Le, wanted %.4e, slack %.1Le; reported %.4e, "
              "inconsistent %.3e; x is%s finite",
              kry_reason_word(r->reason), whole->residual, r->target, whole->slack,
              r->true_residual, r->inconsistent, whole->finite ? "" : " not");
    if (!(r->true_residual <= r->target))
        WRONG(t, "converged to %g > %g", r->true_residual, r->target);
    if (t->s->bad_b) WRONG(t, "converged with NaN or infinity in b");
}

/* By elimination with complete pivoting. */
static bool is_singular(const system_of *s)
{
    static long double a[LARGEST * LARGEST];
    const int64_t n = s->n;
    long double first = 0;

    memset(a, 0, sizeof a);
    for (int64_t e = 0; e < s->nnz; e++) a[s->row[e] * n + s->col[e]] += s->val[e];
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k * n + k;
        for (int64_t i = k; i < n; i++)
            for (int64_t j = k; j < n; j++)
                if (fabsl(a[i * n + j]) > fabsl(a[p])) p = i * n + j;
        const long double pivot = a[p];
        first = fmaxl(first, fabsl(pivot));
        if (fabsl(pivot) <= 64 * (long double)eps_of(s->type) * first) return true;
        for (int64_t j = 0; j < n; j++) {
            const long double v = a[k * n + j];
            a[k * n + j] = a[p / n * n + j], a[p / n * n + j] = v;
        }
        for (int64_t i = 0; i < n; i++) {
            const long double v = a[i * n + k];
            a[i * n + k] = a[i * n + p % n], a[i * n + p % n] = v;
        }
        for (int64_t i = k + 1; i < n; i++) {
            const long double by = a[i * n + k] / pivot;
            for (int64_t j = k; j < n; j++) a[i * n + j] -= by * a[k * n + j];
        }
    }
    return false;
}

/* MINRES finds by itself what A maps to zero, or to almost zero. */
static bool finds_by_solving(const trial *t)
{
    return t->st != KRY_OK && t->res.inconsistent > 0 &&
           !strncmp(t->w->words, "method=minres", strlen("method=minres")) && is_singular(t->s);
}

static void check_not_converged(trial *t, const reference *reachable)
{
    const kry_result *r = &t->res;

    if (strlen(r->why) < 10) WRONG(t, "%s without a sentence", kry_reason_word(r->reason));
    if (t->s->easy && t->w->plain && !t->s->bad_b)
        WRONG(t, "an easy system was not solved: %s (%s)", kry_reason_word(r->reason), r->why);
    bool verifiable = r->target >= eps_of(t->s->type) / 2 * r->norm_b;
    /* What is scaled has to meet the target scaled, too. */
    if (r->reason != KRY_INCONSISTENT && verifiable && !strstr(t->w->words, "equilibrate=on") &&
        hypot(r->true_residual, r->inconsistent) <= 0.999999 * r->target)
        WRONG(t, "%s (%s) with a true residual of %g <= %g", kry_reason_word(r->reason), r->why,
              r->true_residual, r->target);
    int64_t found = 0;
    if (finds_null_space(t)) free(look_for_null_space(t, &found));
    if (finds_by_solving(t)) found++;
    if (r->reason == KRY_INCONSISTENT && ((!t->s->parts && !found) || r->inconsistent <= r->target))
        WRONG(t, "inconsistent: %s", r->why);
    (void)reachable;
}

static void check_result(trial *t)
{
    const kry_result *r = &t->res;
    kry_reason reason = r->reason;
    reference whole, reachable;
    static const kry_status of[] = {
#define REASON(name, word, status) [name] = status,
        KRY_REASON_LIST(REASON)
#undef REASON
    };

    find_references(t, &whole, &reachable);
    if (of[reason] != t->st)
        WRONG(t, "status '%s' with reason %s", kry_status_text(t->st), kry_reason_word(reason));
    if (t->s->bad_b) WRONG(t, "NaN or infinity in b was not refused");
    if (t->st == KRY_OK)
        check_converged(t, &whole);
    else
        check_not_converged(t, &reachable);
    check_target(t);
    const bool relaxes =
        !t->w->krylov; /* and knows of no null space, but the refinement around it may */
    /* Rows that add up to zero but for rounding need not map a large x to zero. */
    const bool maps_it = strstr(r->why, "A does not map it to zero");
    /* Where MINRES did not come to its end, x may have a part of what it found that A maps to more than zero. */
    const bool lies_outside =
        finds_by_solving(t) &&
        (reason != KRY_INCONSISTENT || fabs(hypot(r->true_residual, r->inconsistent) -
                                            (double)whole.residual) <= 1e-3 * r->inconsistent);
    if (!lies_outside && !confirms_residual(&reachable, t->s->type, r) &&
        !((relaxes || maps_it) && confirms_residual(&whole, t->s->type, r)))
        WRONG(t, "%s: true_residual is %.6e, the reference %.6Le (whole %.3Le), slack %.1Le; %s",
              kry_reason_word(reason), r->true_residual, reachable.residual, whole.residual,
              reachable.slack, r->why);
    if (r->iterations < 0 || (t->w->krylov && !t->w->mixed && strstr(t->w->words, "maxit") &&
                              r->iterations > atoi(strstr(t->w->words, "maxit=") + 6)))
        WRONG(t, "%lld iterations", (long long)r->iterations);
}

static void check_failure(trial *t)
{
    const system_of *s = t->s;
    check_refusal(t, t->st, NULL, "kry_solve");
    if (memcmp(s->x, s->guess, (size_t)s->n * sizeof *s->x))
        WRONG(t, "kry_solve failed and changed x: %s", kry_last_error());
    if (s->easy && t->w->plain && !s->bad_b) WRONG(t, "an easy system: %s", kry_last_error());
}

typedef struct tally {
    int cases, failed, refused, solved, reasons[16];
    double start;
} tally;

/* Makes a system and a way to solve it. */
typedef void make_case(system_of *s, way *w, kry_type type);

static void any_case(system_of *s, way *w, kry_type type)
{
    system_make(s, type);
    if (type == KRY_F64 && without_double())
        s->attach = false; /* nothing there holds the vectors */
    way_pick(w, s);
}

/* ---- the backward error ------------------------------------------------------------------------- */

/* A consistent system of any scale, as a rule singular, and a guess that may be next to nothing but null space. */
static double make_drowned(system_of *s, kry_type type)
{
    static const double drowns[] = { 0, 0, 1, 1e3, 101325, 1e8, 1e12 };
    static const int64_t sizes[] = { 2, 3, 16, 33, 65, LARGEST };
    const int most = type == KRY_F32 ? 66 : 532; /* powers of two: beyond the range of squares */
    const int power = one_in(2) ? 0 : (int)between(-most, most);
    const double drown = drowns[random_below(COUNT(drowns))];

    memset(s, 0, sizeof *s);
    s->kind = "drowned", s->type = type, s->n = sizes[random_below(COUNT(sizes))];
    s->scale = pow(10, (double)between(-8, 12));
    if (one_in(5)) {
        dominant(s);
        s->traits = KRY_POSITIVE | KRY_SYMMETRIC;
    } else {
        laplacian(s, one_in(3) ? (int)between(1, s->n < 4 ? 1 : 4) : 1);
        s->traits = s->parts > 1 || one_in(3) ? KRY_SYMMETRIC : KRY_SINGULAR | KRY_SYMMETRIC;
        s->attach = !(s->traits & KRY_SINGULAR) && !one_in(3);
    }
    for (int64_t i = 0; i < s->n * s->n; i++) s->a[i] = held(type, ldexp(s->a[i], power));
    compress(s);
    for (int64_t i = 0; i < s->n; i++) { /* halves that cancel, in each part */
        const int64_t parts = s->parts ? s->parts : 1, before = i - parts;
        const bool second = before >= 0 && before % (2 * parts) < parts;
        s->b[i] = second ? -s->b[before] : held(type, s->scale * random_number(type));
        if (s->parts && !second && i + parts >= s->n) s->b[i] = 0;
    }
    const double x = ldexp(s->scale, -power);
    for (int64_t i = 0; i < s->n; i++)
        s->guess[i] = held(type, x * (drown + (one_in(2) ? random_number(type) : 0)));
    s->easy = power == 0 && drown <= (type == KRY_F32 ? 1e3 : 1e8) &&
              (!s->parts || s->attach || s->traits & KRY_SINGULAR);
    return drown;
}

static void backward_case(system_of *s, way *w, kry_type type)
{
    static const char *const methods[] = { "cg",         "pcg",     "minres",     "cr",
                                           "bicgstab",   "gmres:7", "idr",        "tfqmr",
                                           "fgmres",     "pipe-cg", "bicgstab:1", "idr:1",
                                           "richardson", "direct",  "auto",       "cg",
                                           "jacobi" };
    const char *method = methods[random_below(COUNT(methods))];

    make_drowned(s, type);
    if (type == KRY_F64 && without_double()) s->attach = s->easy = false;
    memset(w, 0, sizeof *w);
    snprintf(w->format, sizeof w->format, "%s", one_in(4) ? "csr:form=flux" : "csr");
    w->flux = strstr(w->format, "flux");
    add_word(w, "method=%s", method);
    w->plain = !strcmp(method, "cg") || !strcmp(method, "minres") || !strcmp(method, "cr");
    const bool relaxes = !strcmp(method, "jacobi"), factors = !strcmp(method, "direct");
    w->krylov = !relaxes;
    if (!relaxes && !factors && strcmp(method, "auto")) {
        add_word(w, " precond=%s", one_in(2) ? "none" : "jacobi");
        if (strstr(method, "cg") && !strstr(method, "pipe") && one_in(5)) {
            add_word(w, " deflation=stripes:%d", (int)between(1, 3));
            w->plain = false;
        }
    }
    if (type == KRY_F64 && !factors && (without_double() || one_in(4))) {
        w->mixed = true, w->plain = false;
        add_word(w, " precision=mixed");
    }
    const double digits = (type == KRY_F32 ? 4 : 9) * unit();
    add_tolerance(w, "rtol", pow(10, -digits), &w->rtol);
    add_word(w, " stop=backward");
    w->backward = true;
    if (one_in(4)) {
        add_word(w, " maxit=%d", (int)between(1, 30));
        w->plain = false;
    } else
        add_word(w, " maxit=600");
    w->noted = !relaxes && (s->attach || s->traits & KRY_SINGULAR);
    w->stays = w->mixed && without_double() && has_host();
    if (w->stays) w->flux = false;
    w->host = w->stays || one_in(3);
}

/* ---- grids whose outer iteration is in double, beside a device that may have none ----------------- */

static kry_side random_side(void)
{
    static const kry_side sides[] = { KRY_DIRICHLET, KRY_DIRICHLET, KRY_DIRICHLET_FACE,
                                      KRY_NEUMANN };
    return sides[random_below(COUNT(sides))];
}

/* Few mixes, for each is compiled; KRY_FULL: any. */
static void pick_sides(grid *g, int axes)
{
    const kry_side D = KRY_DIRICHLET, F = KRY_DIRICHLET_FACE, N = KRY_NEUMANN, P = KRY_PERIODIC;
    const kry_side mixes[][2][3] = { { { D, D, D }, { D, D, D } },
                                     { { N, F, N }, { D, N, N } },
                                     { { P, N, F }, { P, F, D } },
                                     { { N, N, N }, { N, N, N } } };
    const int64_t mix = random_below(COUNT(mixes));

    for (int a = 0; a < axes; a++) {
        const bool any = getenv("KRY_FULL"), round = any && one_in(6);
        g->low[a] = round ? P : any ? random_side() : mixes[mix][0][a];
        g->high[a] = round ? P : any ? random_side() : mixes[mix][1][a];
    }
}

/* A few points, any sides, coefficients that may jump. */
static void make_any_grid(system_of *s)
{
    static const double jumps[] = { 1, 1e1, 1e3, 1e6 };
    const double jump = jumps[random_below(COUNT(jumps))];
    const int axes = one_in(3) ? 3 : 2;

    memset(s, 0, sizeof *s);
    s->kind = "grid", s->type = KRY_F64, s->scale = pow(10, (double)between(-4, 6));
    s->grid = &s->sized;
    s->sized = (grid){ .name = "any", .variable = !one_in(3) };
    for (int a = 0; a < axes; a++) {
        s->sized.size[a] = between(1, axes == 3 ? 4 : 10);
        s->sized.spacing[a] = one_in(2) ? 1 : pow(10, -2 * unit());
        s->sized.diffusion[a] = one_in(2) ? 1 : pow(10, -3 * unit());
    }
    pick_sides(&s->sized, axes);
    s->n = grid_points(s->grid);
    s->k = grid_coefficients(s->grid, KRY_F64);
    for (int64_t i = 0; s->k && i < s->n; i++)
        if (i % 3 == 0) s->k[i] *= jump;
    matrix A = grid_matrix(s->grid, s->k);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            *at_place(s, i, A.col[e]) = A.val[e];
    matrix_release(&A);
    s->parts = grid_singular(s->grid);
    s->traits = s->parts ? KRY_SINGULAR | KRY_SYMMETRIC : KRY_POSITIVE | KRY_SYMMETRIC;
    compress(s);
    make_rhs(s);
    make_guess(s);
}

static void grid_case(system_of *s, way *w, kry_type type)
{
    static const char *const methods[] = { "mg",
                                           "mg",
                                           "fmg precond=mg",
                                           "richardson precond=mg:cycle=w",
                                           "pcg precond=mg:cycle=w",
                                           "pcg precond=mg",
                                           "mg precond=mg:cycle=w",
                                           "cg",
                                           "pcg precond=jacobi" };
    const char *method = methods[random_below(COUNT(methods))];

    (void)type;
    make_any_grid(s);
    memset(w, 0, sizeof *w);
    w->krylov = w->mixed = w->host = true;
    w->stays = has_host();
    snprintf(w->format, sizeof w->format, "csr"); /* of matrices */
    w->flux = true;
    add_word(w, "method=%s precision=mixed", method);
    if (strstr(method, "cg") && one_in(2))
        add_word(w, " deflation=%s:%d%s", one_in(2) ? "stripes" : "graph", (int)between(1, 4),
                 one_in(3) ? ",variant=def1" : "");
    add_tolerance(w, "rtol", pow(10, -2 - 10 * unit()), &w->rtol);
    add_word(w, " maxit=%d", one_in(2) ? (int)between(1, 5) : 300);
    w->noted = s->traits & KRY_SINGULAR;
}

static void run_case(tally *all, long long number, kry_type type, make_case *make)
{
    static system_of s;
    way w;
    trial t = { .s = &s, .w = &w, .number = number };
    kry_status st;

    make(&s, &w, type);
    st = s.grid ? make_stencil(&t) : make_matrix(&t);
    if (st == KRY_OK) {
        t.S = (kry_op *)(uintptr_t)0x10;
        st = kry_solver_create(t.A, w.words, NULL, NULL, &t.S);
        check_refusal(&t, st, t.S, "kry_solver_create");
    }
    if (st == KRY_OK) {
        run_solver(&t, &s);
        if (t.st < 0)
            check_failure(&t);
        else
            check_result(&t);
        if (t.st >= 0) all->reasons[t.res.reason]++;
    } else if (s.easy && w.plain)
        WRONG(&t, "an easy system: %s", kry_last_error());
    if (getenv("KRY_TEST_CASE"))
        print_message("# case %lld: %s, n = %lld, %s, '%s': %s %s\n", number, s.kind,
                      (long long)s.n, w.format, w.words,
                      st < 0 || t.st < 0 ? kry_last_error() : t.res.why, t.res.promoted_why);
    all->cases++, all->failed += t.failed, all->refused += st < 0 || t.st < 0;
    kry_op_release(&t.S);
    kry_op_release(&t.A);
    free(s.k);
}

static void run_cases(make_case *make, int seconds)
{
    const char *only = getenv("KRY_TEST_CASE");
    bool full = getenv("KRY_FULL"), fp64 = kry_device_get_info(device())->fp64;
    int64_t cases = full ? FULL_CASES : small_run() ? 3 : CASES;
    tally all = { .start = seconds_now() };

    uint64_t seed = random_bits(), after = test_random_state;
    for (int64_t k = only ? atoll(only) : 0; k < cases; k++) {
        test_random_state = (seed + (uint64_t)k) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        for (int i = 0; i < 5; i++) (void)random_bits();
        run_case(&all, k, one_in(fp64 ? 3 : 2) ? KRY_F32 : KRY_F64, make);
        if (only || all.failed > 20 || (!full && seconds_now() - all.start > seconds)) break;
    }
    test_random_state = after; /* another test's cases do not depend on how many there were */
    print_message("# %d cases in %.0f s: %d refused", all.cases, seconds_now() - all.start,
                  all.refused);
    for (int r = 0; r <= KRY_DIVERGED; r++)
        print_message(", %d %s", all.reasons[r], kry_reason_word((kry_reason)r));
    print_message("\n");
    if (all.failed)
        fail_msg("%d cases failed; KRY_TEST_SEED (above) and KRY_TEST_CASE=number run one",
                 all.failed);
}

static void solvers__right_or_honest(void **state)
{
    (void)state;
    run_cases(any_case, SECONDS);
}

/* Consistent systems of any scale, guesses that drown in the null space, and stop=backward. */
static void solvers__backward_error_of_what_is_returned(void **state)
{
    (void)state;
    run_cases(backward_case, BACKWARD_SECONDS);
}

static void solvers__grids_in_mixed_precision(void **state)
{
    (void)state;
    run_cases(grid_case, GRID_SECONDS);
}

/* Entries so small that corrections from the subspace overflow: not the guess's fault. */
static void deflation__out_of_range_is_not_the_guess(void **state)
{
    (void)state;
    static const int64_t row_ptr[] = { 0, 1, 2, 3, 4 };
    static const int32_t col[] = { 0, 1, 2, 3 };
    const double a[] = { 1e-44, 1e-44, 1e-44, 1e-44 }, b[] = { 1, 2, 3, 4 },
                 guess[] = { 4, 3, 2, 1 };
    double x[4];
    kry_op *A, *S;
    kry_result res;
    void *val = in_type(KRY_F32, a, 4);

    OK(kry_csr_create(device(), KRY_F32, 4, 4, row_ptr, col, val, NULL, &A));
    kry_status st = kry_solver_create(A, "deflation=stripes:2", NULL, NULL, &S);
    memcpy(x, guess, sizeof x);
    if (st == KRY_OK) { /* else E is singular: entries were flushed to zero */
        st = kry_solve_host(S, b, x, &res);
        if (st < 0) assert_memory_equal(x, guess, sizeof x);
        if (st < 0) assert_null(strstr(kry_last_error(), "guess"));
        assert_true(st != KRY_OK);
    }
    kry_op_release(&S);
    kry_op_release(&A);
    free(val);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers__right_or_honest),
        cmocka_unit_test(solvers__backward_error_of_what_is_returned),
        cmocka_unit_test(solvers__grids_in_mixed_precision),
        cmocka_unit_test(deflation__out_of_range_is_not_the_guess),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("random_systems", tests, NULL, close_device);
}
