/* options.c - solvers from option strings: one vocabulary for the program and every binding. */
#include "krylov/options.h"
#include "krylov/auto.h"
#include "krylov/auto_precond.h"
#include "krylov/method.h"
#include "krylov/methods.h"
#include "krylov/reorder.h"
#include <kry/deflation.h>
#include <kry/multigrid.h>
#include <kry/precond.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Values of kry_options.method: those of KRY_METHOD_LIST, in its order, the relaxations, and auto. */
enum { JACOBI = KRY_METHOD_COUNT, SOR, AUTO };

/* Which solvers take a word: conjugate gradients, relaxations, mixed precision, the solver inside
 * of mixed precision. */
enum { KRYLOV = 1, RELAXATION = 2, MIXED = 4, INNER = 8 };

#define METHOD_WORD(word, name, number) word "|"
/* Who takes the word, its field in kry_options, its name, what stands behind "=", form, meaning. */
#define WORD(of, field, name, kind, form, meaning)                         \
    {                                                                      \
        of, offsetof(kry_options, field), sizeof((kry_options *)0)->field, \
        {                                                                  \
            name, KRY_WORD_##kind, form, meaning                           \
        }                                                                  \
    }
static const struct entry {
    unsigned of; /* the solvers that take it; 0: all */
    size_t offset, size;
    kry_word word;
} table[] = {
    WORD(KRYLOV | RELAXATION | INNER, method, "method", CHOICE,
         "method=" KRY_METHOD_LIST(METHOD_WORD) "jacobi|sor|auto",
         "Krylov method, or relaxation; auto: by a look at the matrix"),
    WORD(KRYLOV | INNER, precond, "precond", TEXT, "precond=WORD",
         "preconditioner (default: pcg mg on grids, else jacobi; cg none)"),
    WORD(KRYLOV | INNER, deflation, "deflation", TEXT, "deflation=WORD",
         "second level (default none)"),
    WORD(KRYLOV | INNER, null_space, "null-space", CHOICE, "null-space=project|pin",
         "of a singular A: kept out of residuals and x (default), or the first unknown is pinned"),
    WORD(KRYLOV | MIXED, reorder, "reorder", CHOICE, "reorder=none|rcm|auto",
         "order of the rows inside: as given (default), reverse Cuthill-McKee, or that where it "
         "pays"),
    WORD(KRYLOV | INNER, resident, "resident", CHOICE, "resident=auto|off|on",
         "the whole solve as one kernel that stays on the device (cg, pcg)"),
    WORD(KRYLOV | INNER, check, "check", CHOICE, "check=cheap|none|full",
         "refuse a matrix that is not symmetric, or not positive definite by its diagonal"),
    WORD(KRYLOV, guesses, "guess", TEXT, "guess=project[:K]",
         "project: begin at the best of the last K solutions (K 8; default none)"),
    WORD(RELAXATION, omega, "omega", REAL, "omega=W",
         "weight of a relaxation, in (0, 2) (default 1)"),
    WORD(0, stop.rtol, "rtol", REAL, "rtol=T",
         "stop at ||r|| <= T ||b|| (default 1e-8 in double, 1e-5 in single)"),
    WORD(0, stop.atol, "atol", REAL, "atol=T", "stop at ||r|| <= T (default 0)"),
    WORD(0, stop.max_iter, "maxit", WHOLE, "maxit=N", "iterations at most (default 0: chosen)"),
    WORD(0, stop.check_every, "check-every", WHOLE, "check-every=N",
         "iterations between two looks of the host (default 0: chosen)"),
    WORD(0, stop.test, "stop", CHOICE, "stop=residual|backward|never",
         "backward: at ||r|| <= rtol (||A|| ||x|| + ||b||); never: maxit iterations, no test"),
    WORD(0, precision, "precision", CHOICE, "precision=single|double|mixed",
         "numbers on the device; mixed: iterations in single, x and its residual in double"),
    WORD(MIXED, scheme, "scheme", CHOICE, "scheme=auto|reliable|flexible|classical",
         "mixed: how single and double share the work"),
    WORD(MIXED, inner, "inner", WHOLE, "inner=N",
         "flexible: iterations in single for each step (default 25)"),
    WORD(MIXED, inner_rtol, "inner-rtol", REAL, "inner-rtol=T",
         "classical, flexible: what a solve in single leaves of its residual"),
    WORD(MIXED, delta, "delta", REAL, "delta=T",
         "reliable: replace the residual when it has dropped to this share (default 0.1)"),
    WORD(MIXED, equilibrate, "equilibrate", CHOICE, "equilibrate=auto|off|on",
         "mixed: powers of two that keep the matrix in single in range"),
};
#undef WORD
#undef METHOD_WORD
_Static_assert(sizeof(kry_precision) == sizeof(int), "choices are written as int");

const kry_word *kry_solver_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(table) ? &table[i].word : NULL;
}

/* ---- parsing ---------------------------------------------------------------------------- */

static kry_status set_choice(const char *who, const kry_word *w, const char *value, void *field)
{
    kry_status st = KRY_OK;
    char list[128] = "", hint[64];
    int choice = kry_word_choose(w, value);
    size_t used = 0;

    for (const char *c = strchr(w->form, '=') + 1; *c && used + 3 < sizeof list; c++) {
        if (*c == '|') list[used++] = ',';
        list[used++] = *c == '|' ? ' ' : *c;
    }
    CHECK(choice >= 0, KRY_ERR_PARSE, "%s: %s '%s' is none of %s%s", who, w->name, value, list,
          kry_word_hint(value, list, hint, sizeof hint));
    memcpy(field, &choice, sizeof choice); /* an enum, in the order of the form */
done:
    return st;
}

/* "gmres:30": a method, and a number behind it. */
static kry_status set_method(const char *who, kry_options *o, const kry_word *w, const char *value)
{
    kry_status st = KRY_OK;
    char word[32];
    const size_t length = strcspn(value, ":");

    CHECK(snprintf(word, sizeof word, "%.*s", (int)length, value) < (int)sizeof word, KRY_ERR_PARSE,
          "%s: '%.60s...' is too long for a method", who, value);
    TRY(set_choice(who, w, word, &o->method));
    o->width = 0;
    if (!value[length]) return KRY_OK;
    CHECK(kry_parse_int64(value + length + 1, &o->width) && o->width > 0, KRY_ERR_PARSE,
          "%s: method '%s': '%s' is no number of at least 1", who, value, value + length + 1);
done:
    return st;
}

/* "project", "project:8", or "none". */
static bool set_guesses(const char *value, int64_t *guesses)
{
    static const char word[] = "project";
    const size_t length = sizeof word - 1;

    *guesses = strcmp(value, "none") ? KRY_GUESS_USUAL : 0;
    if (!strcmp(value, "none") || !strcmp(value, word)) return true;
    return !strncmp(value, word, length) && value[length] == ':' &&
           kry_parse_int64(value + length + 1, guesses) && *guesses > 0 &&
           *guesses <= KRY_GUESS_MOST;
}

/* One name=value. */
static kry_status set_option(kry_options *o, const char *name, const char *value)
{
    kry_status st = KRY_OK;
    char list[512], hint[64];
    int i = kry_word_find(kry_solver_word, name, strlen(name));
    bool good = true;

    kry_word_list(kry_solver_word, 0, COUNT(table), list, sizeof list);
    CHECK(i >= 0, KRY_ERR_PARSE, "kry_solver_create: '%s' is none of %s%s", name, list,
          kry_word_hint(name, list, hint, sizeof hint));
    const kry_word *w = &table[i].word;
    const char *end = value + strlen(value);
    void *field = (char *)o + table[i].offset;
    if (field == &o->method)
        TRY(set_method("kry_solver_create", o, w, value));
    else if (w->kind == KRY_WORD_CHOICE)
        TRY(set_choice("kry_solver_create", w, value, field));
    if (w->kind == KRY_WORD_REAL) good = kry_read_double(value, end, field) == end;
    if (w->kind == KRY_WORD_WHOLE) good = kry_parse_int64(value, field);
    if (field == &o->guesses)
        good = set_guesses(value, field);
    else if (w->kind == KRY_WORD_TEXT)
        good = snprintf(field, table[i].size, "%s", value) < (int)table[i].size;
    CHECK(good, KRY_ERR_PARSE, "kry_solver_create: '%s' is no value for %s", value, name);
    if (strcmp(value, "none")) o->given |= 1u << i; /* "none" may be said to every method */
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

void kry_options_same(const kry_device *device, const kry_options *o)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *field = (const char *)o + table[i].offset;
        const bool text = table[i].word.kind == KRY_WORD_TEXT && field != (const char *)&o->guesses;
        kry_team_same(device, field, text ? strlen(field) + 1 : table[i].size);
    }
    kry_team_same(device, &o->width, sizeof o->width);
}

/* The first word given that is of none of these solvers; NULL: all are. */
static const char *stray_word(const kry_options *o, unsigned of)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if ((o->given & 1u << i) && table[i].of && !(table[i].of & of)) return table[i].word.name;
    return NULL;
}

kry_status kry_options_parse_inner(const char *text, kry_options *o)
{
    kry_status st = KRY_OK;

    TRY(kry_options_parse(text, o));
    for (size_t i = 0; i < COUNT(table); i++)
        CHECK(!(o->given & 1u << i) || (table[i].of & INNER), KRY_ERR_PARSE,
              "kry_mixed_create: '%s': options are of the inner solver; %s is a field of "
              "kry_mixed_params",
              text, table[i].word.name);
done:
    return st;
}

/* ---- what the words make ---------------------------------------------------------------- */

bool kry_options_deflate(const kry_options *o)
{
    return o->make.deflation || (o->deflation[0] && strcmp(o->deflation, "none"));
}

kry_status kry_options_deflation(const kry_options *o, char *room, size_t size,
                                 kry_deflation_params *params)
{
    *params = *KRY_DEFLATION(.stripes = 0);
    return kry_deflation_parse(o->deflation, room, size, params);
}

/* D from its word; NULL for none. */
static kry_status make_deflation(const kry_op *A, const kry_options *o, kry_op **D)
{
    kry_status st = KRY_OK;
    kry_deflation_params params;
    char room[sizeof o->deflation];

    *D = NULL;
    if (o->make.deflation) return o->make.deflation(o->make.user, A, D);
    if (!kry_options_deflate(o)) return KRY_OK;
    TRY(kry_options_deflation(o, room, sizeof room, &params));
    TRY(o->subdomains ? kry_deflation_create_with(A, &params, o->subdomains, D)
                      : kry_deflation_create(A, &params, D));
done:
    return st;
}

kry_status kry_options_system(const kry_op *A, const kry_options *o, kry_op **system)
{
    if (o->null_space == KRY_NULL_SPACE_PIN) return kry_pin_create(A, 0, system);
    *system = kry_op_retain(A);
    return KRY_OK;
}

/* Multigrid leaves little for a second level to do, and knows nothing of a pin. */
const char *kry_precond_default(const kry_op *A, bool alone)
{
    return alone && kry_mg_takes(A) ? "mg" : "jacobi";
}

static const char *precond_of(const kry_op *A, const kry_options *o)
{
    const bool alone = !kry_options_deflate(o) && o->null_space != KRY_NULL_SPACE_PIN;

    if (!strcmp(o->precond, "auto") && !alone) return "jacobi";
    if (o->precond[0]) return o->precond;
    if (o->method == KRY_METHOD_MG || o->method == KRY_METHOD_FMG)
        return kry_mg_takes(A) ? "mg" : "amg";
    return o->method == KRY_METHOD_PCG ? kry_precond_default(A, alone) : "none";
}

/* Methods that hand M its own results, or want the error of discretisation, ask for more digits than a cycle in single has. */
static bool takes_single(const kry_options *o)
{
    return o->method == KRY_METHOD_PCG || o->method == KRY_METHOD_MG ||
           o->method == KRY_METHOD_RICHARDSON || o->method == KRY_METHOD_FGMRES;
}

/* For other methods the word of multigrid becomes one for a cycle in double, if nobody says. */
static const char *in_double(const char *word, char *room, size_t size)
{
    static const char *const families[] = { "mg", "amg" };

    for (size_t k = 0; k < COUNT(families) && !strstr(word, "values="); k++) {
        const size_t length = strlen(families[k]);
        if (strncmp(word, families[k], length) || (word[length] && word[length] != ':')) continue;
        snprintf(room, size, "%s:values=double%s%s", families[k], word[length] ? "," : "",
                 word[length] ? word + length + 1 : "");
        return room;
    }
    return word;
}

static kry_status create_precond(const kry_op *A, const kry_options *o, const char *word,
                                 kry_op **M)
{
    char room[sizeof o->precond + 32];

    if (takes_single(o)) return kry_precond_create(A, word, M);
    if (!strcmp(word, "auto")) return kry_precond_auto(A, false, M);
    return kry_precond_create(A, in_double(word, room, sizeof room), M);
}

/* M is made from A, for it may read entries or want a grid. Where nobody asked for multigrid, and it cannot be
 * made in these numbers, it is Jacobi's. */
static kry_status make_precond(const kry_op *A, const kry_options *o, kry_op **M)
{
    const char *word = precond_of(A, o);

    if (o->make.precond) return o->make.precond(o->make.user, A, M);
    kry_status st = create_precond(A, o, word, M);
    if (st == KRY_ERR_ARGUMENT && !o->precond[0] && o->method == KRY_METHOD_PCG &&
        strcmp(word, "jacobi"))
        st = kry_precond_create(A, "jacobi", M);
    return st;
}

/* Deflation knows what a pin is. */
static kry_status make_krylov(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op *system = NULL, *M = NULL, *D = NULL;

    TRY(kry_options_system(A, o, &system));
    TRY(make_precond(A, o, &M));
    TRY(make_deflation(system, o, &D));
    TRY(kry_method_create(
        kry_method_number(o->method), system,
        KRY_PCG(.precond = M, .deflation = D, .stop = o->stop, .monitor = o->monitor,
                .monitor_user = o->monitor_user, .resident = o->resident, .check = o->check,
                .guesses = o->guesses,
                .flexible = M && M->shape.traits & KRY_VARYING ? KRY_POLAK_RIBIERE : KRY_RIGID),
        o->width, solver));
done:
    kry_op_release(&D);
    kry_op_release(&M);
    kry_op_release(&system);
    return st;
}

static kry_status make_relaxation(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_relaxation_method method = o->method == SOR ? KRY_SOR : KRY_JACOBI_ITERATION;

    return kry_relaxation_create(A,
                                 KRY_RELAXATION(.method = method, .omega = o->omega,
                                                .stop = o->stop, .monitor = o->monitor,
                                                .monitor_user = o->monitor_user),
                                 solver);
}

bool kry_options_relax(const kry_options *o) { return o->method == JACOBI || o->method == SOR; }

bool kry_options_choose(const kry_options *o) { return o->method == AUTO; }

kry_status kry_options_solver(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_status st = KRY_OK;
    bool relax = kry_options_relax(o);
    const char *stray = stray_word(o, MIXED | (relax ? RELAXATION : KRYLOV));

    CHECK(!relax || !o->width, KRY_ERR_PARSE, "kry_solver_create: a relaxation has no number");
    CHECK(!stray && (relax || o->omega == 0), KRY_ERR_PARSE, "kry_solver_create: %s no %s",
          relax ? "a relaxation takes" : "conjugate gradients take", stray ? stray : "omega");
    if (kry_options_choose(o)) return kry_auto_create(A, o, solver);
    TRY(relax ? make_relaxation(A, o, solver) : make_krylov(A, o, solver));
done:
    return st;
}

kry_status kry_options_make(const kry_op *A, const kry_options *o, kry_op **solver)
{
    if (o->reorder != KRY_REORDER_NONE) return kry_reordered_create(A, o, solver);
    return o->precision == KRY_PRECISION_MIXED ? kry_options_mixed(A, o, solver)
                                               : kry_options_solver(A, o, solver);
}

kry_status kry_solver_create(const kry_op *A, const char *text, kry_monitor monitor,
                             void *monitor_user, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_options o = { .monitor = monitor, .monitor_user = monitor_user };

    kry_team_enter(kry_op_device(A), "kry_solver_create", NULL);
    TRY(GIVEN(solver));
    *solver = NULL;
    CHECK(A, KRY_ERR_ARGUMENT, "kry_solver_create: NULL");
    o.precision = A->shape.type == KRY_F32 ? KRY_PRECISION_SINGLE : KRY_PRECISION_DOUBLE;
    const kry_precision own = o.precision;
    TRY(kry_options_parse(text ? text : "", &o));
    kry_options_same(A->dev, &o);
    CHECK(!o.guesses || o.precision == own, KRY_ERR_UNSUPPORTED,
          "kry_solver_create: guess=project is not for precision=mixed");
    const bool mixed = o.precision == KRY_PRECISION_MIXED;
    CHECK(mixed || o.precision == own, KRY_ERR_PARSE,
          "kry_solver_create: precision '%s' is neither mixed nor %s, in which the matrix is",
          own == KRY_PRECISION_SINGLE ? "double" : "single", kry_type_name(A->shape.type));
    const char *stray = mixed ? NULL : stray_word(&o, KRYLOV | RELAXATION);
    CHECK(!stray, KRY_ERR_PARSE, "kry_solver_create: %s goes with precision=mixed", stray);
    TRY(kry_options_make(A, &o, solver));
done:
    st = kry_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(solver);
    return st;
}

kry_status kry_krylov_create(const kry_op *A, const char *method, const kry_pcg_params *params,
                             kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_options o = { 0 };
    const kry_word *word = kry_solver_word(kry_word_find(kry_solver_word, "method", 6));

    TRY(GIVEN(A, method, solver));
    *solver = NULL;
    TRY(set_method("kry_krylov_create", &o, word, method));
    CHECK(!kry_options_relax(&o), KRY_ERR_UNSUPPORTED,
          "kry_krylov_create: '%s' is a relaxation, of kry_relaxation_create", method);
    CHECK(!kry_options_choose(&o), KRY_ERR_UNSUPPORTED,
          "kry_krylov_create: 'auto' chooses the preconditioner, too: take kry_solver_create");
    TRY(kry_method_create(kry_method_number(o.method), A, params, o.width, solver));
done:
    return st;
}
