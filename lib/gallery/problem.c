/*
 * problem.c - model problems from a spec such as "poisson2d:100".
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"
#include <ctype.h>
#include <float.h>
#include <kry/transport.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the size N in a spec. */
enum {
    NUMBER = 1,   /* ":number" */
    OPTIONAL = 2, /* which may be left out */
    SHAPE = 4,    /* ":WORD" after it, which `choose` knows */
    WHOLE = 8,    /* ":K", a whole number from k_least to N - 1 + k_least */
    ELEMENTS = 16 /* "xNY", with three axes "xNYxNZ": N is NX */
};

typedef kryi_problem_kind kind;
typedef kryi_problem_made made;

#define FORM(name, follows, limits)               \
    {                                             \
        name, KRY_WORD_TEXT, name follows, limits \
    }
#define SIDE_2D       46340
#define SIDE_3D       1290
#define SIDE_STOKES   26754
#define LEAST         1e-100 /* harmonic means and their reciprocals are finite */
#define LARGEST       1e100
#define PECLET_LIMITS ", PECLET from 0 to 1e100"
#define PHASE_LIMITS  ", CONTRAST > 0 (1e-100 to 1e100), SHAPE one of " KRY_PROBLEM_SHAPES

#define POISSON                                                            \
    .make = kryi_problem_poisson, .entries = kryi_problem_poisson_entries, \
    .numbers = kryi_problem_poisson_numbers, .grid = kryi_problem_poisson_grid
#define TWOPHASE                                                                            \
    LEAST, LARGEST, 1000,                                                                   \
        .choose = kryi_problem_shape, .make = kryi_problem_twophase,                        \
        .entries = kryi_problem_twophase_entries, .numbers = kryi_problem_twophase_numbers, \
        .grid = kryi_problem_twophase_grid, .coefficients = kryi_problem_twophase_coefficients
#define CONVECTION                                                                  \
    0, LARGEST, .choose = kryi_problem_difference, .make = kryi_problem_convection, \
                .entries = kryi_problem_convection_entries

#define BODY_LIMITS                                                       \
    ", at most 2147483647 displacements of all nodes, (NX + 1) (NY + 1) " \
    "of them in the plane, JUMP > 0 (1e-100 to 1e100)"
#define ELASTICITY                                                      \
    INT32_MAX, ELEMENTS | NUMBER | OPTIONAL | SHAPE, LEAST, LARGEST, 1, \
        .choose = kryi_problem_body, .make = kryi_problem_elasticity,   \
        .entries = kryi_problem_elasticity_entries

static const kind kinds[] = {
    { FORM("poisson2d", ":N", ""), 2, SIDE_2D, .otherwise = 1, POISSON },
    { FORM("poisson3d", ":N", ""), 3, SIDE_3D, .otherwise = 1, POISSON },
    { FORM("anisotropic2d", ":N:EPS", ", EPS > 0"), 2, SIDE_2D, NUMBER, DBL_TRUE_MIN, DBL_MAX,
      POISSON },
    { FORM("twophase2d", ":N[:CONTRAST[:SHAPE]]", PHASE_LIMITS), 2, SIDE_2D,
      NUMBER | OPTIONAL | SHAPE, TWOPHASE },
    { FORM("twophase3d", ":N[:CONTRAST[:SHAPE]]", PHASE_LIMITS), 3, SIDE_3D,
      NUMBER | OPTIONAL | SHAPE, TWOPHASE },
    { FORM("poisson3d27", ":N", ""), 0, SIDE_3D, .make = kryi_problem_poisson27,
      .entries = kryi_problem_poisson27_entries },
    { FORM("plate2d", ":N", ""), 0, SIDE_2D, .make = kryi_problem_plate,
      .entries = kryi_problem_plate_entries },
    { FORM("elasticity2d", ":NXxNY[:JUMP[:free]]", BODY_LIMITS), 2, ELASTICITY },
    { FORM("elasticity3d", ":NXxNYxNZ[:JUMP[:free]]", BODY_LIMITS), 3, ELASTICITY },
    { FORM("geograph_spd", ":N", ""), 0, INT32_MAX, .make = kryi_problem_of_size,
      .entries = kryi_problem_geograph },
    { FORM("circuit_spd", ":N[:DECADES]", ", DECADES from 0 to 12"), 0, INT32_MAX,
      NUMBER | OPTIONAL, 0, 12, 6, .make = kryi_problem_of_size, .entries = kryi_problem_circuit },
    { FORM("random_spd", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kryi_problem_of_size, .entries = kryi_problem_random },
    { FORM("powerlaw_spd", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kryi_problem_of_size, .entries = kryi_problem_powerlaw },
    { FORM("banded_spd", ":N:W", ", W from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kryi_problem_of_size, .entries = kryi_problem_banded },
    { FORM("block_spd", ":N:B", ", B from 1 to N"), 0, INT32_MAX, WHOLE, .k_least = 1,
      .make = kryi_problem_of_size, .entries = kryi_problem_block },
    { FORM("convection2d", ":N:PECLET[:upwind|central]", PECLET_LIMITS), 2, SIDE_2D, NUMBER | SHAPE,
      CONVECTION },
    { FORM("convection3d", ":N:PECLET[:upwind|central]", PECLET_LIMITS), 3, SIDE_3D, NUMBER | SHAPE,
      CONVECTION },
    { FORM("helmholtz2d", ":N:K", ", K from 0 to 1e100"), 2, SIDE_2D, NUMBER, 0, LARGEST,
      .make = kryi_problem_helmholtz, .entries = kryi_problem_helmholtz_entries },
    { FORM("stokes2d", ":N", ", at least 2"), 0, SIDE_STOKES, .make = kryi_problem_stokes,
      .entries = kryi_problem_stokes_entries },
    { FORM("random", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kryi_problem_general_random, .entries = kryi_problem_general_entries },
};

/* The forms of all specs, for messages; to be freed. */
static kry_status list_forms(char **list)
{
    kry_status st = KRY_OK;
    size_t size = 1, used = 0;

    for (size_t i = 0; i < COUNT(kinds); i++) size += strlen(kinds[i].word.form) + 2;
    TRY(kryi_allocate(size, 1, list));
    for (size_t i = 0; i < COUNT(kinds); i++)
        used +=
            (size_t)snprintf(*list + used, size - used, "%s%s", i ? ", " : "", kinds[i].word.form);
done:
    return st;
}

static const kind *find_kind(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strlen(kinds[i].word.name) == length && !strncmp(kinds[i].word.name, name, length))
            return &kinds[i];
    return NULL;
}

/* The whole number at *text, -1 if there is none; *text moves behind it. */
static int64_t read_whole(const char **text)
{
    int64_t value = -1;
    for (; isdigit((unsigned char)**text) && value < INT32_MAX; (*text)++)
        value = (value < 0 ? 0 : value) * 10 + (**text - '0');
    return value;
}

/* Read the number at `text`, with a point whatever the locale says; returns what follows it, NULL if there is none. */
static const char *read_number(const char *text, double *value)
{
    char number[sizeof(((kry_problem *)0)->name)], *end = NULL;
    const size_t length = strspn(text, "0123456789+-.eE");
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    if (plain && length && length < sizeof number) {
        const locale_t before = uselocale(plain);
        memcpy(number, text, length);
        number[length] = 0;
        *value = strtod(number, &end);
        uselocale(before);
    }
    if (plain) freelocale(plain);
    return end && !*end && isfinite(*value) ? text + length : NULL;
}

/* Move *text behind the letter if it is next. */
static bool take(const char **text, char letter)
{
    bool there = **text == letter;
    *text += there;
    return there;
}

/* Whether `at`, behind "name:", holds what this kind of problem needs; then it is in *s. */
static bool read_arguments(const char *at, const kind *k, kryi_problem_spec *s)
{
    const char *end = NULL;

    s->axes = k->axes;
    s->number = k->otherwise;
    s->size = read_whole(&at);
    if (s->size < 1 || s->size > k->most) return false;
    s->depth = 1;
    if (k->follows & ELEMENTS) {
        s->k = take(&at, 'x') ? read_whole(&at) : 0;
        if (k->axes == 3) s->depth = take(&at, 'x') ? read_whole(&at) : 0;
        if (s->k < 1 || s->depth < 1) return false;
        const int64_t slices = k->axes == 3 ? s->depth + 1 : 1; /* of nodes */
        if (s->size >= INT32_MAX / k->axes / slices / (s->k + 1)) return false;
    }
    if (k->follows & WHOLE) {
        s->k = take(&at, ':') ? read_whole(&at) : -1;
        if (s->k < k->k_least || s->k >= s->size + k->k_least) return false;
    }
    if (!(k->follows & NUMBER) || ((k->follows & OPTIONAL) && !*at)) return !*at;
    if (!take(&at, ':')) return false;
    end = read_number(at, &s->number);
    if (!end || !(s->number >= k->least && s->number <= k->largest)) return false;
    if ((k->follows & SHAPE) && *end == ':') {
        s->shape = k->choose(end + 1);
        return s->shape >= 0;
    }
    return !*end;
}

static kry_status read_spec(const char *func, const char *text, const kind **found,
                            kryi_problem_spec *s)
{
    kry_status st = KRY_OK;
    char *list = NULL, hint[64];
    size_t length = strcspn(text, ":");

    *found = find_kind(text, length);
    TRY(list_forms(&list));
    CHECK(*found, KRY_ERR_PARSE, "%s: unknown problem \"%s\"; there are %s%s", func, text, list,
          kry_word_hint(text, list, hint, sizeof hint));
    CHECK(read_arguments(text + length + (text[length] == ':'), *found, s), KRY_ERR_PARSE,
          "%s: \"%s\" is not %s with sizes from 1 to %lld%s; there are %s", func, text,
          (*found)->word.form, (long long)(*found)->most, (*found)->word.meaning, list);
done:
    free(list);
    return st;
}

/* ---- whole arrays ------------------------------------------------------------------------------ */

static void release_grid(const kry_stencil_params *grid)
{
    if (!grid) return;
    free((void *)grid->coefficient);
    for (int a = 0; a < 3; a++) free((void *)grid->face[a]);
    free((void *)grid);
}

/* The grid with the coefficients of a box. */
static kry_status make_grid(const made *m, const int blocks[3], kry_device *device,
                            kry_stencil_params **grid)
{
    kry_status st = KRY_OK;
    kry_stencil_params *g = NULL;
    kry_stencil_box box;

    TRY(kryi_allocate(1, sizeof *g, &g));
    *g = *KRY_STENCIL(.local = device != NULL);
    m->kind->grid(&m->spec, g);
    if (blocks) memcpy(g->blocks, blocks, sizeof g->blocks);
    box = (kry_stencil_box){ .size = { g->size[0], g->size[1], g->size[2] ? g->size[2] : 1 } };
    if (device) TRY(kry_stencil_part(device, g, &box));
    if (m->kind->coefficients) TRY(m->kind->coefficients(&m->spec, &box, g));
    *grid = g;
    g = NULL;
done:
    release_grid(g);
    return st;
}

static kry_status make_entries(const made *m, kry_problem *p)
{
    kry_status st = KRY_OK;
    kryi_problem_csr rows = { 0 };

    TRY(m->kind->entries(&m->spec, (kryi_problem_range){ 0, p->n }, &rows));
    p->row_ptr = rows.row_ptr, p->col = rows.col, p->val = rows.val;
    p->nnz = p->row_ptr[p->n];
done:
    return st;
}

static kry_status make_vectors(const made *m, kry_problem *p)
{
    kry_status st = KRY_OK;

    TRY(kryi_allocate((size_t)p->n, sizeof(double), &p->rhs));
    if (p->solved) TRY(kryi_allocate((size_t)p->n, sizeof(double), &p->solution));
    if (m->kind->numbers) {
        TRY(m->kind->numbers(&m->spec, p, NULL, p->rhs, p->solution));
        goto done;
    }
    const kryi_problem_csr A = { p->n, p->row_ptr, p->col, p->val };
    for (int64_t i = 0; i < p->n; i++) p->solution[i] = kryi_problem_solution(&m->spec, i);
    kryi_problem_multiply(&m->spec, &A, (kryi_problem_range){ 0, p->n }, p->rhs);
done:
    return st;
}

/* s: with its seed, and what is to be made */
static kry_status create(const char *func, const char *text, kryi_problem_spec s,
                         kry_problem **problem)
{
    kry_status st = KRY_OK;
    const kind *k = NULL;
    kry_problem *p = NULL;
    made *m = NULL;

    CHECK(problem, KRY_ERR_ARGUMENT, "%s: problem is NULL", func);
    *problem = NULL;
    CHECK(text, KRY_ERR_ARGUMENT, "%s: spec is NULL", func);
    CHECK(strlen(text) < sizeof p->name, KRY_ERR_PARSE, "%s: a spec of %zu characters, not %zu",
          func, strlen(text), sizeof p->name - 1);
    TRY(read_spec(func, text, &k, &s));
    CHECK(s.entries || s.bare || k->grid, KRY_ERR_UNSUPPORTED,
          "%s: \"%s\" has no grid; kry_problem_create makes it with its entries", func, text);
    TRY(kryi_allocate(1, sizeof *m, &m));
    *m = (made){ .spec = s, .kind = k };
    p = &m->p;
    strcpy(p->name, text);
    p->traits = KRY_POSITIVE; /* a maker that makes something else says so */
    p->discrete = p->solved = !k->numbers;
    TRY(k->make(&s, p));
    if (k->grid && !s.bare) TRY(make_grid(m, NULL, NULL, (kry_stencil_params **)&p->grid));
    if (s.entries) TRY(make_entries(m, p));
    if (!s.bare) TRY(make_vectors(m, p));
    *problem = p;
    p = NULL;
done:
    kry_problem_release(&p);
    return st;
}

kry_status kry_problem_create(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create", text, (kryi_problem_spec){ .seed = seed, .entries = true },
                  problem);
}

kry_status kry_problem_create_grid(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create_grid", text, (kryi_problem_spec){ .seed = seed }, problem);
}

kry_status kry_problem_create_bare(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create_bare", text,
                  (kryi_problem_spec){ .seed = seed, .bare = true }, problem);
}

kry_status kry_problem_set_part(kry_problem *p, kry_device *device, const int blocks[3])
{
    static const char who[] = "kry_problem_set_part";
    kry_status st = KRY_OK;
    const made *m = (const made *)p;
    kry_stencil_params *grid = NULL;

    NOT_NULL(p);
    NOT_NULL(device);
    CHECK(m->spec.bare, KRY_ERR_ARGUMENT,
          "%s: %s has all coefficients; kry_problem_create_bare leaves them out", who, p->name);
    CHECK(m->kind->grid, KRY_ERR_UNSUPPORTED,
          "%s: \"%s\" has no grid; kry_problem_share makes its rows", who, p->name);
    TRY(make_grid(m, blocks, device, &grid));
    release_grid(p->grid);
    p->grid = grid;
done:
    return device ? kry_team_agree(device, who, st) : st;
}

void kry_problem_release(kry_problem **problem)
{
    if (!problem || !*problem) return;
    kry_problem *p = *problem;
    free(p->row_ptr);
    free(p->col);
    free(p->val);
    free(p->rhs);
    free(p->solution);
    free(p->coordinates);
    release_grid(p->grid);
    free(p);
    *problem = NULL;
}
