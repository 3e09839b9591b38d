/* options.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "../core/internal.h"
#include "../core/number.h"
#include <kry/precond.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    char method[32], precond[32], resident[32];
    double omega; /* 0: not given */
    kry_stop stop;
} options;

static bool to_double(const char *text, double *value)
{
    const char *end = text + strlen(text);
    return kry_read_double(text, end, value) == end;
}

static bool to_int64(const char *text, int64_t *value)
{
    const char *end = text + strlen(text);
    return kry_read_int64(text, end, value) == end;
}

static bool to_word(const char *text, char *word, size_t size)
{
    return snprintf(word, size, "%s", text) < (int)size;
}

/* One name=value. The table is the vocabulary. */
static kry_status set_option(options *o, const char *name, const char *value)
{
    enum kind { WORD, REAL, COUNTER };
    const struct {
        const char *name;
        enum kind kind;
        void *field;
    } table[] = {
        { "method", WORD, o->method },
        { "precond", WORD, o->precond },
        { "rtol", REAL, &o->stop.rtol },
        { "atol", REAL, &o->stop.atol },
        { "maxit", COUNTER, &o->stop.max_iter },
        { "check-every", COUNTER, &o->stop.check_every },
        { "omega", REAL, &o->omega },
        { "resident", WORD, o->resident },
    };
    kry_status st = KRY_OK;

    for (size_t i = 0; i < COUNT(table); i++) {
        if (strcmp(table[i].name, name)) continue;
        bool good = table[i].kind == WORD   ? to_word(value, table[i].field, sizeof o->method)
                    : table[i].kind == REAL ? to_double(value, table[i].field)
                                            : to_int64(value, table[i].field);
        CHECK(good, KRY_ERR_PARSE, "kry_solver_create: '%s' is no value for %s", value, name);
        return KRY_OK;
    }
    CHECK(false, KRY_ERR_PARSE,
          "kry_solver_create: '%s' is none of method, precond, rtol, atol, maxit, check-every, "
          "omega, resident",
          name);
done:
    return st;
}

static kry_status parse(const char *text, options *o)
{
    kry_status st = KRY_OK;
    char words[512];

    CHECK(strlen(text) < sizeof words, KRY_ERR_PARSE,
          "kry_solver_create: an option string of %zu bytes is too long", strlen(text));
    strcpy(words, text);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " \t\n", &rest));) {
        char *value = strchr(word, '=');
        CHECK(value && value != word, KRY_ERR_PARSE, "kry_solver_create: '%s' is not name=value",
              word);
        *value++ = 0;
        TRY(set_option(o, word, value));
    }
done:
    return st;
}

/* ---- preconditioners: a word, and what stands behind its colon ------------------------------- */

/* A positive number behind the colon; 0: there is no colon. */
static kry_status read_count(const char *name, const char *rest, const char *form, int *count)
{
    kry_status st = KRY_OK;
    int64_t value = 0;

    CHECK(!rest || (to_int64(rest, &value) && value > 0 && value <= INT_MAX), KRY_ERR_PARSE,
          "kry_precond_create: '%s' is not %s", name, form);
    *count = (int)value;
done:
    return st;
}

static kry_status make_jacobi(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    return rest ? kry_fail(KRY_ERR_PARSE, "kry_precond_create: '%s' is not jacobi", name)
                : kry_jacobi_create(A, M);
}

static kry_status make_block_jacobi(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    kry_status st = KRY_OK;
    int rows;
    TRY(read_count(name, rest, "block-jacobi:ROWS", &rows));
    TRY(kry_block_jacobi_create(A, KRY_BLOCK_JACOBI(.rows = rows), M));
done:
    return st;
}

static kry_status make_chebyshev(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    kry_status st = KRY_OK;
    int degree;
    TRY(read_count(name, rest, "chebyshev:DEGREE", &degree));
    TRY(kry_chebyshev_create(A, KRY_CHEBYSHEV(.degree = degree), M));
done:
    return st;
}

static kry_status make_neumann(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    kry_status st = KRY_OK;
    int degree;
    TRY(read_count(name, rest, "neumann:DEGREE", &degree));
    TRY(kry_neumann_create(A, KRY_NEUMANN(.degree = degree), M));
done:
    return st;
}

static kry_status make_ssor_ai(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    kry_status st = KRY_OK;
    int degree;
    TRY(read_count(name, rest, "ssor-ai:DEGREE", &degree));
    TRY(kry_ssor_ai_create(A, KRY_SSOR_AI(.degree = degree), M));
done:
    return st;
}

static kry_status make_ip(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    kry_status st = KRY_OK;
    bool unscaled = rest && !strncmp(rest, "unscaled", 8), both = unscaled && rest[8] == ',';
    const char *last = rest ? rest + (both ? 9 : 0) : "drop";
    bool drop = rest && !strcmp(last, "drop");

    CHECK(!rest || drop || !strcmp(rest, "unscaled"), KRY_ERR_PARSE,
          "kry_precond_create: '%s' is none of ip, ip:unscaled, ip:drop, ip:unscaled,drop", name);
    TRY(kry_incomplete_poisson_create(A, KRY_INCOMPLETE_POISSON(.unscaled = unscaled, .drop = drop),
                                      M));
done:
    return st;
}

static kry_status make_nothing(const kry_op *A, const char *name, const char *rest, kry_op **M)
{
    (void)A, (void)M;
    return rest ? kry_fail(KRY_ERR_PARSE, "kry_precond_create: '%s' is not none", name) : KRY_OK;
}

kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M)
{
    static const struct {
        const char *word;
        kry_status (*make)(const kry_op *A, const char *name, const char *rest, kry_op **M);
    } table[] = {
        { "none", make_nothing },
        { "jacobi", make_jacobi },
        { "block-jacobi", make_block_jacobi },
        { "chebyshev", make_chebyshev },
        { "ip", make_ip },
        { "neumann", make_neumann },
        { "ssor-ai", make_ssor_ai },
    };
    kry_status st = KRY_OK;
    char words[128] = "";

    *M = NULL;
    CHECK(A && name, KRY_ERR_ARGUMENT, "kry_precond_create: NULL");
    size_t length = strcspn(name, ":");
    for (size_t i = 0, used = 0; i < COUNT(table); i++) {
        if (strlen(table[i].word) == length && !strncmp(table[i].word, name, length))
            return table[i].make(A, name, name[length] ? name + length + 1 : NULL, M);
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                 table[i].word);
    }
    CHECK(false, KRY_ERR_PARSE, "kry_precond_create: '%s' is none of %s", name, words);
done:
    return st;
}

typedef struct watcher {
    kry_monitor call; /* NULL: none */
    void *user;
} watcher;

static kry_status to_resident(const char *word, kry_resident *resident)
{
    static const char *const words[] = { "auto", "off", "on" }; /* in the order of kry_resident */

    for (size_t i = 0; i < COUNT(words); i++)
        if (!strcmp(words[i], word)) return *resident = (kry_resident)i, KRY_OK;
    return kry_fail(KRY_ERR_PARSE, "kry_solver_create: resident '%s' is none of auto, off, on",
                    word);
}

static kry_status make_krylov(const kry_op *A, options *o, watcher watch, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *M = NULL;
    kry_resident resident = KRY_RESIDENT_AUTO;

    CHECK(o->omega == 0, KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no omega", o->method);
    if (!o->precond[0]) strcpy(o->precond, !strcmp(o->method, "pcg") ? "jacobi" : "none");
    TRY(to_resident(*o->resident ? o->resident : "auto", &resident));
    TRY(kry_precond_create(A, o->precond, &M));
    TRY(kry_pcg_create(A,
                       KRY_PCG(.precond = M, .stop = o->stop, .monitor = watch.call,
                               .monitor_user = watch.user, .resident = resident),
                       solver));
done:
    kry_op_release(&M);
    return st;
}

static kry_status make_relaxation(const kry_op *A, options *o, watcher watch, kry_op **solver)
{
    kry_status st = KRY_OK;
    bool sor = !strcmp(o->method, "sor");

    CHECK(!o->resident[0], KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no resident",
          o->method);
    CHECK(!o->precond[0] || !strcmp(o->precond, "none"), KRY_ERR_PARSE,
          "kry_solver_create: method '%s' takes no preconditioner, and so not '%s'", o->method,
          o->precond);
    TRY(kry_relaxation_create(A,
                              KRY_RELAXATION(.method = sor ? KRY_SOR : KRY_JACOBI_ITERATION,
                                             .omega = o->omega, .stop = o->stop,
                                             .monitor = watch.call, .monitor_user = watch.user),
                              solver));
done:
    return st;
}

kry_status kry_solver_create(const kry_op *A, const char *text, kry_monitor monitor,
                             void *monitor_user, kry_op **solver)
{
    static const struct {
        const char *word;
        kry_status (*make)(const kry_op *A, options *o, watcher watch, kry_op **solver);
    } methods[] = { { "cg", make_krylov },
                    { "pcg", make_krylov },
                    { "jacobi", make_relaxation },
                    { "sor", make_relaxation } };
    kry_status st = KRY_OK;
    options o = { .method = "cg" };
    size_t m = 0;

    *solver = NULL;
    CHECK(A, KRY_ERR_ARGUMENT, "kry_solver_create: NULL");
    TRY(parse(text ? text : "", &o));
    while (m < COUNT(methods) && strcmp(methods[m].word, o.method)) m++;
    CHECK(m < COUNT(methods), KRY_ERR_PARSE,
          "kry_solver_create: method '%s' is none of cg, pcg, jacobi, sor", o.method);
    TRY(methods[m].make(A, &o, (watcher){ monitor, monitor_user }, solver));
done:
    return st;
}
