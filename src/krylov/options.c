/* options.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "krylov/options.h"
#include "base/number.h"
#include "krylov/method.h"
#include <kry/deflation.h>
#include <kry/precond.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static kry_status set_option(kry_options *o, const char *name, const char *value)
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
        { "precision", WORD, o->precision, sizeof o->precision },
        { "scheme", WORD, o->scheme, sizeof o->scheme },
        { "inner", COUNTER, &o->inner, 0 },
        { "inner-rtol", REAL, &o->inner_rtol, 0 },
        { "delta", REAL, &o->delta, 0 },
        { "equilibrate", WORD, o->equilibrate, sizeof o->equilibrate },
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
          "check-every, omega, resident, null-space, precision, scheme, inner, inner-rtol, delta, "
          "equilibrate",
          name);
done:
    return st;
}

kry_status kry_options_parse(const char *text, kry_options *o)
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

bool kry_options_deflate(const kry_options *o)
{
    return o->make_deflation || (o->deflation[0] && strcmp(o->deflation, "none"));
}

kry_status kry_options_deflation(const kry_options *o, char *room, size_t size,
                                 kry_deflation_params *params)
{
    *params = *KRY_DEFLATION(.variant = KRY_ADEF2);
    return kry_deflation_parse(o->deflation, room, size, params);
}

/* D from its word; NULL for none. */
static kry_status make_deflation(const kry_op *A, const kry_options *o, kry_op **D)
{
    kry_status st = KRY_OK;
    kry_deflation_params params;
    char room[sizeof o->deflation];

    *D = NULL;
    if (o->make_deflation) return o->make_deflation(o->make_user, A, D);
    if (!kry_options_deflate(o)) return KRY_OK;
    TRY(kry_options_deflation(o, room, sizeof room, &params));
    TRY(o->subdomains ? kry_deflation_create_with(A, &params, o->subdomains, D)
                      : kry_deflation_create(A, &params, D));
done:
    return st;
}

static kry_status to_resident(const char *word, kry_resident *resident)
{
    static const char *const words[] = { "auto", "off", "on" }; /* in the order of kry_resident */

    for (size_t i = 0; i < COUNT(words); i++)
        if (!strcmp(words[i], word)) return *resident = (kry_resident)i, KRY_OK;
    return kry_fail(KRY_ERR_PARSE, "kry_solver_create: resident '%s' is none of auto, off, on",
                    word);
}

kry_status kry_options_system(const kry_op *A, const kry_options *o, kry_op **system)
{
    const char *word = o->null_space;
    if (!*word || !strcmp(word, "project")) return *system = kry_op_retain(A), KRY_OK;
    if (!strcmp(word, "pin")) return kry_pin_create(A, 0, system);
    return kry_fail(KRY_ERR_PARSE, "kry_solver_create: null-space '%s' is none of project, pin",
                    word);
}

/* M is made from A, for it may read entries or want a grid; deflation knows what a pin is. */
static kry_status make_krylov(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *system = NULL, *M = NULL, *D = NULL;
    kry_resident resident = KRY_RESIDENT_AUTO;
    const char *precond = o->precond[0] ? o->precond : strcmp(o->method, "pcg") ? "none" : "jacobi";

    CHECK(o->omega == 0, KRY_ERR_PARSE, "kry_solver_create: method '%s' takes no omega", o->method);
    TRY(to_resident(*o->resident ? o->resident : "auto", &resident));
    TRY(kry_options_system(A, o, &system));
    TRY(o->make_precond ? o->make_precond(o->make_user, A, &M)
                        : kry_precond_create(A, precond, &M));
    TRY(make_deflation(system, o, &D));
    TRY(kry_method_create(kry_method_find(o->method), system,
                          KRY_PCG(.precond = M, .deflation = D, .stop = o->stop,
                                  .monitor = o->monitor, .monitor_user = o->monitor_user,
                                  .resident = resident),
                          solver));
done:
    kry_op_release(&D);
    kry_op_release(&M);
    kry_op_release(&system);
    return st;
}

static kry_status make_relaxation(const kry_op *A, const kry_options *o, kry_op **solver)
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
    TRY(kry_relaxation_create(
        A,
        KRY_RELAXATION(.method = sor ? KRY_SOR : KRY_JACOBI_ITERATION, .omega = o->omega,
                       .stop = o->stop, .monitor = o->monitor, .monitor_user = o->monitor_user),
        solver));
done:
    return st;
}

bool kry_options_relax(const kry_options *o)
{
    return !strcmp(o->method, "jacobi") || !strcmp(o->method, "sor");
}

kry_status kry_options_solver(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    char words[64];

    kry_method_words(words, sizeof words);
    CHECK(kry_method_find(o->method) || kry_options_relax(o), KRY_ERR_PARSE,
          "kry_solver_create: method '%s' is none of %s, jacobi, sor", o->method, words);
    TRY(kry_options_relax(o) ? make_relaxation(A, o, solver) : make_krylov(A, o, solver));
done:
    return st;
}

/* Words of mixed precision without it are a mistake. */
static kry_status check_precision(const kry_op *A, const kry_options *o, bool *mixed)
{
    kry_status st = KRY_OK;
    const char *own = kry_type_name(A->shape.type);
    const char *stray = o->scheme[0]        ? "scheme"
                        : o->equilibrate[0] ? "equilibrate"
                        : o->inner          ? "inner"
                        : o->inner_rtol > 0 ? "inner-rtol"
                        : o->delta > 0      ? "delta"
                                            : NULL;

    *mixed = !strcmp(o->precision, "mixed");
    if (*mixed) return KRY_OK;
    CHECK(!o->precision[0] || !strcmp(o->precision, own), KRY_ERR_PARSE,
          "kry_solver_create: precision '%s' is neither mixed nor %s, in which the matrix is",
          o->precision, own);
    CHECK(!stray, KRY_ERR_PARSE, "kry_solver_create: %s goes with precision=mixed", stray);
done:
    return st;
}

kry_status kry_solver_create(const kry_op *A, const char *text, kry_monitor monitor,
                             void *monitor_user, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_options o = { .method = "cg", .monitor = monitor, .monitor_user = monitor_user };
    bool mixed;

    *solver = NULL;
    CHECK(A, KRY_ERR_ARGUMENT, "kry_solver_create: NULL");
    TRY(kry_options_parse(text ? text : "", &o));
    TRY(check_precision(A, &o, &mixed));
    TRY(mixed ? kry_options_mixed(A, &o, solver) : kry_options_solver(A, &o, solver));
done:
    return st;
}
