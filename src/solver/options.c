/* options.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "../core/internal.h"
#include "../core/number.h"
#include <kry/deflation.h>
#include <kry/precond.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    char method[32], precond[32], resident[32], null_space[32], deflation[256];
    double omega; /* 0: not given */
    kry_stop stop;
} options;

static bool to_double(const char *text, double *value)
{
    const char *end = text + strlen(text);
    return kry_read_double(text, end, value) == end;
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
        size_t size; /* of a word's room */
    } table[] = {
        { "method", WORD, o->method, sizeof o->method },
        { "precond", WORD, o->precond, sizeof o->precond },
        { "deflation", WORD, o->deflation, sizeof o->deflation },
        { "rtol", REAL, &o->stop.rtol, 0 },
        { "atol", REAL, &o->stop.atol, 0 },
        { "maxit", COUNTER, &o->stop.max_iter, 0 },
        { "check-every", COUNTER, &o->stop.check_every, 0 },
        { "omega", REAL, &o->omega, 0 },
        { "resident", WORD, o->resident, sizeof o->resident },
        { "null-space", WORD, o->null_space, sizeof o->null_space },
    };
    kry_status st = KRY_OK;

    for (size_t i = 0; i < COUNT(table); i++) {
        if (strcmp(table[i].name, name)) continue;
        bool good = table[i].kind == WORD   ? to_word(value, table[i].field, table[i].size)
                    : table[i].kind == REAL ? to_double(value, table[i].field)
                                            : kry_parse_int64(value, table[i].field);
        CHECK(good, KRY_ERR_PARSE, "kry_solver_create: '%s' is no value for %s", value, name);
        return KRY_OK;
    }
    CHECK(false, KRY_ERR_PARSE,
          "kry_solver_create: '%s' is none of method, precond, deflation, rtol, atol, maxit, "
          "check-every, "
          "omega, resident, null-space",
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

/* D from its word; NULL for none. */
static kry_status make_deflation(const kry_op *A, const char *word, kry_op **D)
{
    kry_status st = KRY_OK;
    kry_deflation_params params = *KRY_DEFLATION(.variant = KRY_ADEF2);
    char room[sizeof((options *)0)->deflation];

    *D = NULL;
    if (!*word || !strcmp(word, "none")) return KRY_OK;
    TRY(kry_deflation_parse(word, room, sizeof room, &params));
    TRY(kry_deflation_create(A, &params, D));
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

/* What is solved with: A, whose null space the solver projects out, or A with its first unknown
 * pinned. */
static kry_status make_system(const kry_op *A, const char *word, kry_op **system)
{
    if (!*word || !strcmp(word, "project")) return *system = kry_op_retain(A), KRY_OK;
    if (!strcmp(word, "pin")) return kry_pin_create(A, 0, system);
    return kry_fail(KRY_ERR_PARSE, "kry_solver_create: null-space '%s' is none of project, pin",
                    word);
}

/* M is made from A, for it may read entries or want a grid; deflation knows what a pin is. */
static kry_status make_krylov(const kry_op *A, options *o, watcher watch, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *system = NULL, *M = NULL, *D = NULL;
    kry_resident resident = KRY_RESIDENT_AUTO;

    CHECK(o->omega == 0, KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no omega", o->method);
    if (!o->precond[0]) strcpy(o->precond, !strcmp(o->method, "pcg") ? "jacobi" : "none");
    TRY(to_resident(*o->resident ? o->resident : "auto", &resident));
    TRY(make_system(A, o->null_space, &system));
    TRY(kry_precond_create(A, o->precond, &M));
    TRY(make_deflation(system, o->deflation, &D));
    TRY(kry_pcg_create(system,
                       KRY_PCG(.precond = M, .deflation = D, .stop = o->stop, .monitor = watch.call,
                               .monitor_user = watch.user, .resident = resident),
                       solver));
done:
    kry_op_release(&D);
    kry_op_release(&M);
    kry_op_release(&system);
    return st;
}

static kry_status make_relaxation(const kry_op *A, options *o, watcher watch, kry_op **solver)
{
    kry_status st = KRY_OK;
    bool sor = !strcmp(o->method, "sor");

    CHECK(!o->resident[0], KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no resident",
          o->method);
    CHECK(!o->null_space[0], KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no null-space",
          o->method);
    CHECK(!o->deflation[0] || !strcmp(o->deflation, "none"), KRY_ERR_PARSE,
          "kry_solver_create: method '%s' takes no deflation", o->method);
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
