/*
 * test_outcomes.c - real matrices, many ways to solve them, and what came of it the last time
 *
 * Every matrix under $KRY_MATRIX_DIR (folders spd, symmetric, general), and some generated ones, by methods,
 * preconditioners, precisions and formats; b is random, and iterations are limited. What comes out is held against
 * tests/solver/outcomes.csv: the outcome is to be the same (or one of several, for matrices where rounding
 * decides), iterations within those of the table and a tenth and 3 more. Whatever the table says,
 * the reference residual in long double has to agree with every solution, and with every residual.
 *
 * KRY_FULL: all of the table; else a sample of the small matrices, for a minute at most.
 * KRY_OUTCOMES_OUT=FILE: write such a table instead (tools/outcomes does), with the seconds of each solve. Of
 * these KRY_OUTCOMES_MATRIX, KRY_OUTCOMES_KIND and KRY_OUTCOMES_WAY take a part: names with this text in them. Skipped
 * without KRY_MATRIX_DIR, and on devices without double.
 */
#include "reference_residual.h"
#include <dirent.h>
#include <kry/problem.h>

enum { SAMPLE_SECONDS = 60, SAMPLE_NNZ = 30000, SAMPLE_ONE_IN = 6 };

/* ---- the ways ------------------------------------------------------------------------------ */

/* A later way is no part of samples, so that these stay as they were: of other lines some hang on how a device rounds. */
typedef struct way {
    const char *method, *precond, *deflation, *precision, *format;
    bool whole; /* no part of samples */
} way;

/* All formats with one preconditioner, all preconditioners with one format, and so on: the whole
 * product would be 10,000 solves of each matrix. */
static const way symmetric_ways[] = {
    { "pcg", "jacobi", "none", "double", "csr" },
    { "pcg", "jacobi", "none", "double", "auto" },
    { "pcg", "jacobi", "none", "double", "dia" },
    { "pcg", "jacobi", "none", "double", "symdia" },
    { "pcg", "jacobi", "none", "double", "ell" },
    { "pcg", "jacobi", "none", "double", "sell" },
    { "pcg", "jacobi", "none", "double", "hyb" },
    { "pcg", "jacobi", "none", "double", "coo" },
    { "pcg", "block-jacobi:4", "none", "double", "csr" },
    { "pcg", "chebyshev:4", "none", "double", "csr" },
    { "pcg", "neumann:2", "none", "double", "csr" },
    { "pcg", "ssor-ai:1", "none", "double", "csr" },
    { "pcg", "ssor-ai:2", "none", "double", "csr" },
    { "pcg", "fsai", "none", "double", "csr", true },
    { "pcg", "fsai", "none", "mixed", "csr", true },
    { "pcg", "fsai:2", "none", "double", "csr", true },
    { "pcg", "ip", "none", "double", "csr" },
    { "pcg", "block-ic", "none", "double", "csr" },
    { "pcg", "block-ic@half", "none", "double", "csr" },
    { "pcg", "block-ilu", "none", "double", "csr" },
    { "pcg", "ilu0", "none", "double", "csr" },
    { "cg", "none", "none", "double", "csr" },
    { "cg", "none", "none", "single", "csr" },
    { "cg", "none", "none", "mixed", "csr" },
    { "pcg", "jacobi", "none", "single", "csr" },
    { "pcg", "jacobi", "none", "single", "sell" },
    { "pcg", "jacobi", "none", "mixed", "csr" },
    { "pcg", "jacobi", "none", "mixed:reliable", "csr" },
    { "pcg", "jacobi", "none", "mixed:flexible", "csr" },
    { "pcg", "jacobi", "none", "mixed:classical", "csr" },
    { "pcg", "block-ic", "none", "single", "csr" },
    { "pcg", "block-ic", "none", "mixed", "csr" },
    { "jacobi", "none", "none", "double", "csr" },
    { "jacobi", "none", "none", "single", "csr" },
    { "pcg", "jacobi", "stripes:10", "double", "csr" },
    { "pcg", "jacobi", "stripes:10", "mixed", "csr" },
    { "pcg", "jacobi", "graph:10", "double", "csr" },
    { "pcg", "jacobi", "graph:10,variant=def1", "double", "csr" },
    { "pcg", "jacobi", "graph:10", "single", "csr" },
    { "pcg", "jacobi", "recycle:8", "double", "csr" },
    { "pipe-cg", "jacobi", "none", "double", "csr" },
    { "block-cg", "jacobi", "none", "double", "csr" },
    { "direct", "none", "none", "double", "csr" },
    { "auto", "auto", "none", "double", "csr" },
};

/* Conjugate gradients are not for them; they are to say so, or to be right. */
static const way refusing_ways[] = {
    { "cg", "none", "none", "double", "csr" },     { "pcg", "jacobi", "none", "double", "csr" },
    { "pcg", "jacobi", "none", "double", "sell" }, { "pcg", "jacobi", "none", "single", "csr" },
    { "pcg", "jacobi", "none", "mixed", "csr" },   { "pcg", "block-ilu", "none", "double", "csr" },
    { "jacobi", "none", "none", "double", "csr" },
};

/* Any square matrix. */
static const way general_ways[] = {
#define WITH(precond)                                       \
    { "bicgstab:1", precond, "none", "double", "csr" },     \
        { "bicgstab:2", precond, "none", "double", "csr" }, \
        { "bicgstab:4", precond, "none", "double", "csr" }, \
        { "gmres", precond, "none", "double", "csr" },      \
        { "fgmres", precond, "none", "double", "csr" },     \
        { "tfqmr", precond, "none", "double", "csr" },      \
        { "idr:1", precond, "none", "double", "csr" },      \
        { "idr:4", precond, "none", "double", "csr" },      \
    {                                                       \
        "idr:8", precond, "none", "double", "csr"           \
    }
    WITH("none"),
    WITH("jacobi"),
    WITH("ilu0"),
#undef WITH
    { "lsqr", "none", "none", "double", "csr" },
    { "lsqr", "columns", "none", "double", "csr" },
    { "lsmr", "none", "none", "double", "csr" },
    { "lsmr", "columns", "none", "double", "csr" },
    { "direct", "none", "none", "double", "csr" },
    { "auto", "auto", "none", "double", "csr" },
};

/* Symmetric ones, definite or not. */
static const way indefinite_ways[] = {
    { "minres", "none", "none", "double", "csr" },
    { "minres", "jacobi", "none", "double", "csr" },
    { "cr", "none", "none", "double", "csr" },
    { "cr", "jacobi", "none", "double", "csr" },
};

/* Which ways a kind of matrices goes: lists without and with an end. */
typedef struct ways {
    const way *way;
    size_t count;
} ways;
#define LIST(array)         \
    {                       \
        array, COUNT(array) \
    }
static const struct {
    const char *kind;
    ways list[3];
} kinds[] = {
    { "spd", { LIST(symmetric_ways) } },
    { "symmetric", { LIST(symmetric_ways), LIST(indefinite_ways), LIST(general_ways) } },
    { "general", { LIST(refusing_ways), LIST(general_ways) } },
    { "generated", { LIST(general_ways) } },
    { "generated symmetric", { LIST(indefinite_ways), LIST(general_ways) } },
};
#undef LIST

/* Matrices of no file. */
static const struct {
    const char *spec, *kind;
} generated[] = {
    { "convection2d:64:100", "generated" },         { "convection2d:64:1000", "generated" },
    { "convection2d:64:100:central", "generated" }, { "convection2d:200:100", "generated" },
    { "convection3d:20:50", "generated" },          { "random:3000:5", "generated" },
    { "helmholtz2d:48:10", "generated symmetric" }, { "helmholtz2d:48:30", "generated symmetric" },
    { "stokes2d:24", "generated symmetric" },
};

enum { WORDS = 160 };

/* "bcsstk02,pcg,jacobi,none,double,csr": the part of a line that names it */
static void name_of(const char *matrix, const way *w, char *name)
{
    char deflation[40];
    snprintf(deflation, sizeof deflation, "%s", w->deflation);
    for (char *c = deflation; *c; c++)
        if (*c == ',') *c = '+';
    snprintf(name, WORDS, "%s,%s,%s,%s,%s,%s", matrix, w->method, w->precond, deflation,
             w->precision, w->format);
}

/* ---- a solve ------------------------------------------------------------------------------- */

typedef struct outcome {
    char word[40]; /* a reason; or of an error, "refused_singular" of KRY_ERR_SINGULAR */
    int64_t iterations;
    bool honest;    /* the reference agrees */
    double seconds; /* to make the solver, and to solve */
    char why[240];
} outcome;

typedef struct problem {
    char name[64];
    kry_mtx *mtx;
    double *b, *x;
    entries A, rounded; /* as the file has it, and in single */
    double *single, *single_b;
} problem;

static const char *status_word(kry_status st)
{
    switch (st) {
    case KRY_ERR_ARGUMENT: return "refused_argument";
    case KRY_ERR_UNSUPPORTED: return "refused_unsupported";
    case KRY_ERR_SINGULAR: return "refused_singular";
    default: return kry_status_text(st); /* none that a matrix may bring about */
    }
}

/* Uniform in (-1, 1), the same for everybody */
static void random_rhs(double *b, int64_t n)
{
    uint64_t s = 20260101;
    for (int64_t i = 0; i < n; i++) {
        s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        b[i] = (double)(int64_t)(s >> 11) * 0x1p-52 - 1;
    }
}

/* The matrix of a generated problem. */
static kry_mtx *generate(const char *spec)
{
    kry_problem *g = NULL;
    kry_mtx *m = calloc(1, sizeof *m);

    OK(kry_problem_create(spec, 1, &g));
    const int64_t nnz = g->row_ptr[g->n];
    assert_non_null(m);
    *m = (kry_mtx){ .rows = g->n, .cols = g->n, .nnz = nnz };
    m->row = calloc((size_t)nnz + 1, sizeof *m->row);
    m->col = calloc((size_t)nnz + 1, sizeof *m->col);
    m->val = calloc((size_t)nnz + 1, sizeof *m->val);
    assert_true(m->row && m->col && m->val);
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t e = g->row_ptr[i]; e < g->row_ptr[i + 1]; e++)
            m->row[e] = (int32_t)i, m->col[e] = g->col[e], m->val[e] = g->val[e];
    kry_problem_release(&g);
    return m;
}

/* A file, or where there is no path the generated matrix of this name. */
static void problem_open(const char *path, const char *name, problem *p)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    if (path[0]) {
        p->name[strcspn(p->name, ".")] = 0;
        OK(kry_mtx_read(path, &p->mtx));
    } else
        p->mtx = generate(name);
    int64_t n = p->mtx->rows, nnz = p->mtx->nnz;
    p->b = calloc((size_t)n + 1, sizeof *p->b);
    p->x = calloc((size_t)n + 1, sizeof *p->x);
    p->single = calloc((size_t)nnz + 1, sizeof *p->single);
    p->single_b = calloc((size_t)n + 1, sizeof *p->single_b);
    assert_true(p->b && p->x && p->single && p->single_b);
    random_rhs(p->b, n);
    for (int64_t e = 0; e < nnz; e++) p->single[e] = (float)p->mtx->val[e];
    for (int64_t i = 0; i < n; i++) p->single_b[i] = (float)p->b[i];
    p->A = (entries){ n,           nnz,         p->mtx->row,
                      p->mtx->col, p->mtx->val, p->mtx->symmetry == KRY_MTX_SYMMETRIC };
    p->rounded = p->A, p->rounded.val = p->single;
}

static void problem_close(problem *p)
{
    kry_mtx_release(&p->mtx);
    free(p->b);
    free(p->x);
    free(p->single);
    free(p->single_b);
}

/* So that few solves take more than a second. */
static long long most_iterations(const problem *p)
{
    int64_t n = 100000000 / (p->A.nnz + 10 * p->A.n + 1);
    return n < 100 ? 100 : n > 3000 ? 3000 : n;
}

static void check_outcome(const problem *p, const way *w, kry_status st, const kry_result *res,
                          outcome *o)
{
    bool single = !strcmp(w->precision, "single");
    const entries *A = single ? &p->rounded : &p->A;
    const kry_type type = single ? KRY_F32 : KRY_F64;
    reference v = reference_residual(A, type, single ? p->single_b : p->b, p->x);

    snprintf(o->word, sizeof o->word, "%s", kry_reason_word(res->reason));
    o->iterations = res->iterations;
    const bool solved = st == KRY_OK && res->reason != KRY_CONVERGED_LEAST_SQUARES;
    /* Where the solver has found what A maps to zero, its residual is the rest of the one of the reference. */
    kry_result whole = *res;
    if (res->reason == KRY_INCONSISTENT)
        whole.true_residual = hypot(res->true_residual, res->inconsistent);
    o->honest = (!solved || confirms_convergence(A, &v, res)) &&
                (confirms_residual(&v, type, res) || confirms_residual(&v, type, &whole)) &&
                res->why[0];
    snprintf(o->why, sizeof o->why, "%.150s (reference: %.3Le, reported %.3e)", res->why,
             v.residual, res->true_residual);
}

/* What it leaves is for the next solve, which begins at zero, too. */
static kry_status first_solve(kry_op *S, problem *p)
{
    kry_result res;
    const kry_status st = kry_solve_host(S, p->b, p->x, &res);

    memset(p->x, 0, (size_t)p->A.n * sizeof *p->x);
    return st;
}

static outcome solve(problem *p, const way *w)
{
    outcome o = { .iterations = 0 };
    char words[200], precision[24];
    kry_op *A = NULL, *S = NULL;
    kry_result res = { .iterations = 0 };
    kry_status st;
    kry_matrix_params params = *KRY_MATRIX(.traits = 0);
    bool mixed = !strncmp(w->precision, "mixed", 5);
    kry_type type = !strcmp(w->precision, "single") ? KRY_F32 : KRY_F64;

    OK(kry_format_parse(w->format, &params));
    snprintf(precision, sizeof precision, "%s", w->precision);
    char *scheme = strchr(precision, ':');
    if (scheme) *scheme++ = 0;
    snprintf(words, sizeof words,
             "method=%s precond=%s deflation=%s precision=%s%s%s rtol=%s maxit=%lld check=none",
             w->method, w->precond, w->deflation, mixed ? "mixed" : kry_type_name(type),
             scheme ? " scheme=" : "", scheme ? scheme : "", type == KRY_F32 ? "1e-5" : "1e-8",
             most_iterations(p));
    st = kry_mtx_matrix(device(), type, p->mtx, &params, &A);
    memset(p->x, 0, (size_t)p->A.n * sizeof *p->x);
    const double start = seconds_now();
    if (st == KRY_OK) st = kry_solver_create(A, words, NULL, NULL, &S);
    if (st == KRY_OK && !strncmp(w->deflation, "recycle", 7)) st = first_solve(S, p);
    if (st >= KRY_OK) st = kry_solve_host(S, p->b, p->x, &res);
    o.seconds = seconds_now() - start;
    if (st < 0) {
        snprintf(o.word, sizeof o.word, "%s", status_word(st));
        snprintf(o.why, sizeof o.why, "%s", kry_last_error());
        o.honest =
            !strncmp(o.word, "refused", 7) && o.why[0]; /* a device that failed is no outcome */
    } else
        check_outcome(p, w, st, &res, &o);
    kry_op_release(&S);
    kry_op_release(&A);
    return o;
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct expected {
    char name[WORDS], words[100]; /* outcomes, with | between them */
    long long least, most;        /* iterations */
} expected;

static expected *table;
static int64_t table_size;

static void table_read(void)
{
    const char *given = getenv("KRY_OUTCOMES");
    char line[400];
    FILE *f = fopen(given ? given : KRY_OUTCOMES_FILE, "r");
    assert_non_null(f);
    table = calloc(8192, sizeof *table);
    assert_non_null(table);
    while (fgets(line, sizeof line, f)) {
        expected *e = &table[table_size];
        char *at = line;
        if (*line == '#') continue;
        for (int comma = 0; comma < 6 && at; comma++) at = strchr(at + (comma > 0), ',');
        if (!at || table_size == 8192) continue;
        *at++ = 0;
        snprintf(e->name, sizeof e->name, "%.*s", WORDS - 1, line);
        int got = sscanf(at, "%99[^,],%lld-%lld", e->words, &e->least, &e->most);
        if (got == 2) e->most = e->least;
        table_size += got >= 2;
    }
    fclose(f);
}

static const expected *table_find(const char *name)
{
    for (int64_t i = 0; i < table_size; i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}

static bool among(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == '|') && (at[n] == '|' || !at[n])) return true;
    return false;
}

/* Rounding decides more of the iterations of BiCGStab, TFQMR and IDR, and in which way they fail. */
static bool is_sensitive(const char *name)
{
    return strstr(name, ",bicgstab") || strstr(name, ",idr") || strstr(name, ",tfqmr");
}

/* Iterations are compared where the target was met; else a limit or rounding ended them. When auto leaves a method
 * depends on time. */
static bool as_expected(const expected *e, const outcome *o)
{
    const bool converged = !strcmp(o->word, "converged"), sensitive = is_sensitive(e->name);
    const double least = (double)e->least * (sensitive ? 0.7 : 0.9) - 3,
                 most = (double)e->most * (sensitive ? 1.4 : 1.1) + 3;

    if (sensitive && !converged && !among(e->words, "converged")) return true;
    if (!among(e->words, o->word)) return false;
    if (!converged || strstr(e->name, ",auto,auto,")) return true;
    return (double)o->iterations >= least && (double)o->iterations <= most;
}

/* ---- all of them, or a sample -------------------------------------------------------------- */

typedef struct run {
    FILE *out;
    bool all;
    double start;
    int compared, bad, unknown;
} run;

static bool wanted(const run *r, const problem *p, const way *w)
{
    if (r->all || w->whole) return r->all;
    if (seconds_now() - r->start > SAMPLE_SECONDS || p->A.nnz > SAMPLE_NNZ) return false;
    return random_below(SAMPLE_ONE_IN) == 0;
}

static void compare(run *r, const char *name, const outcome *o)
{
    const expected *e = table_find(name);

    r->compared++;
    if (e && as_expected(e, o)) return;
    if (!e) r->unknown++;
    r->bad++;
    print_error("%s: %s after %lld iterations instead of %s after %lld to %lld: %s\n", name,
                o->word, (long long)o->iterations, e ? e->words : "what is in the table",
                e ? e->least : 0, e ? e->most : 0, o->why);
}

/* A part of the table was asked for, and this is none of it. */
static bool left_out(const char *variable, const char *name)
{
    const char *part = getenv(variable);
    return part && !strstr(name, part);
}

/* The table was made with KLU and UMFPACK: without them, these end otherwise on matrices that are not symmetric. */
static bool needs_lu(const way *w)
{
#if defined KRY_HAVE_UMFPACK || defined KRY_HAVE_KLU
    return (void)w, false;
#else
    return !strcmp(w->method, "direct") || !strcmp(w->method, "auto") ||
           !strcmp(w->precond, "auto");
#endif
}

static void run_way(run *r, problem *p, const way *w)
{
    char name[WORDS];

    name_of(p->name, w, name);
    if (needs_lu(w) || !wanted(r, p, w) || left_out("KRY_OUTCOMES_WAY", name)) return;
    outcome o = solve(p, w);
    if (!o.honest) {
        r->bad++;
        print_error("%s: %s, but the reference does not agree: %s\n", name, o.word, o.why);
    }
    if (r->out) {
        fprintf(r->out, "%s,%s,%lld\n", name, o.word, (long long)o.iterations);
        fprintf(r->out, "#time,%s,%s,%s,%s,%.5f\n", p->name, w->method, w->precond, o.word,
                o.seconds);
        fflush(r->out);
        if (o.seconds > 5) print_message("# %s: %.1f s\n", name, o.seconds);
    } else
        compare(r, name, &o);
}

static void run_matrix(run *r, const char *path, const char *file, const char *kind)
{
    problem p;

    if (!r->all && seconds_now() - r->start > SAMPLE_SECONDS) return;
    problem_open(path, file, &p);
    if (r->out)
        fprintf(r->out, "#matrix,%s,%s,%lld,%lld\n", p.name, kind, (long long)p.A.n,
                (long long)p.A.nnz);
    for (size_t k = 0; k < COUNT(kinds) && p.A.n == p.mtx->cols; k++)
        for (size_t l = 0; l < COUNT(kinds[k].list) && !strcmp(kinds[k].kind, kind); l++)
            for (size_t i = 0; i < kinds[k].list[l].count; i++)
                run_way(r, &p, &kinds[k].list[l].way[i]);
    problem_close(&p);
}

static int by_size(const void *a, const void *b)
{
    int64_t d = *(const int64_t *)a - *(const int64_t *)b;
    return (d > 0) - (d < 0);
}

typedef struct found {
    int64_t bytes; /* first: to sort by */
    char path[1200], name[256];
    const char *folder;
} found;

static int64_t size_of_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    return size;
}

/* Small ones first. */
static int64_t find_matrices(const char *root, found *all, int64_t room)
{
    static const char *const folders[] = { "spd", "symmetric", "general" };
    const char *only = getenv("KRY_OUTCOMES_MATRIX");
    int64_t count = 0;

    for (size_t k = 0; k < COUNT(folders); k++) {
        char folder[600];
        struct dirent **entry;
        if (left_out("KRY_OUTCOMES_KIND", folders[k])) continue;
        snprintf(folder, sizeof folder, "%s/%s", root, folders[k]);
        int files = scandir(folder, &entry, NULL, alphasort);
        for (int i = 0; i < files; i++) {
            found *f = &all[count];
            bool take =
                strstr(entry[i]->d_name, ".mtx") && (!only || strstr(entry[i]->d_name, only));
            if (take && count < room) {
                snprintf(f->name, sizeof f->name, "%s", entry[i]->d_name);
                snprintf(f->path, sizeof f->path, "%s/%s", folder, f->name);
                f->bytes = size_of_file(f->path);
                f->folder = folders[k];
                count++;
            }
            free(entry[i]);
        }
        if (files >= 0) free(entry);
    }
    qsort(all, (size_t)count, sizeof *all, by_size);
    return count;
}

static void public_matrices__as_in_the_table(void **state)
{
    (void)state;
    enum { ROOM = 1000 };
    const char *root = getenv("KRY_MATRIX_DIR"), *out = getenv("KRY_OUTCOMES_OUT");
    run r = { .all = getenv("KRY_FULL") || out, .start = seconds_now() };

    if (!root) SKIP("KRY_MATRIX_DIR is not set");
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    found *all = calloc(ROOM, sizeof *all);
    assert_non_null(all);
    int64_t count = find_matrices(root, all, ROOM);
    if (out) {
        assert_non_null(r.out = fopen(out, "w"));
        fprintf(r.out, "# run: %s, %s%s%s\n", kry_device_get_info(device())->name,
                kry_device_get_info(device())->platform, getenv("KRY_PROFILE") ? ", " : "",
                getenv("KRY_PROFILE") ? getenv("KRY_PROFILE") : "");
    } else
        table_read();
    for (int64_t i = 0; i < count; i++) run_matrix(&r, all[i].path, all[i].name, all[i].folder);
    for (size_t i = 0; i < COUNT(generated); i++)
        if (!left_out("KRY_OUTCOMES_KIND", generated[i].kind) &&
            !left_out("KRY_OUTCOMES_MATRIX", generated[i].spec))
            run_matrix(&r, "", generated[i].spec, generated[i].kind);
    print_message("# %d of %lld lines compared in %.0f s, %d not in the table\n", r.compared,
                  (long long)table_size, seconds_now() - r.start, r.unknown);
    if (r.out) fclose(r.out);
    free(all);
    free(table);
    assert_int_equal(r.bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(public_matrices__as_in_the_table),
    };
    return cmocka_run_group_tests_name("outcomes", tests, NULL, close_device);
}
