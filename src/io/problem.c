/*
 * problem.c - model problems from a spec such as "poisson2d:100".
 */
#include "io/problem.h"
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What follows the size N in a spec. */
enum {
    NUMBER = 1,   /* ":number" */
    OPTIONAL = 2, /* which may be left out */
    SHAPE = 4,    /* ":WORD" after it, which `choose` knows */
    WHOLE = 8,    /* ":K", a whole number from k_least to N - 1 + k_least */
    ELEMENTS = 16 /* "xNY": N is NX */
};

typedef struct kind {
    kry_word word;         /* its meaning: the limits of what follows N */
    int axes;              /* of its points; 0: they are on no grid */
    int64_t most;          /* largest N: the number of unknowns is below 2^31 */
    unsigned follows;      /* a sum of the above */
    double least, largest; /* number */
    double otherwise;      /* the number if none is given */
    int k_least;
    int (*choose)(const char *word); /* SHAPE: its number; -1: there is none of that name */
    bool stored;                     /* no grid operator has these entries */
    kry_problem_maker *make;
    kry_problem_numbers *numbers; /* of a bare problem; NULL: there is none */
} kind;

/* What kry_problem_create hands out, and what it was made from. */
typedef struct made {
    kry_problem p; /* first: users have its address */
    kry_problem_spec spec;
    const kind *kind;
} made;

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

static const kind kinds[] = {
    { FORM("poisson2d", ":N", ""), 2, SIDE_2D, .otherwise = 1, .make = kry_problem_poisson,
      .numbers = kry_problem_poisson_numbers },
    { FORM("poisson3d", ":N", ""), 3, SIDE_3D, .otherwise = 1, .make = kry_problem_poisson,
      .numbers = kry_problem_poisson_numbers },
    { FORM("anisotropic2d", ":N:EPS", ", EPS > 0"), 2, SIDE_2D, NUMBER, DBL_TRUE_MIN, DBL_MAX,
      .make = kry_problem_poisson, .numbers = kry_problem_poisson_numbers },
    { FORM("twophase2d", ":N[:CONTRAST[:SHAPE]]", PHASE_LIMITS), 2, SIDE_2D,
      NUMBER | OPTIONAL | SHAPE, LEAST, LARGEST, 1000, .choose = kry_problem_shape,
      .make = kry_problem_twophase, .numbers = kry_problem_twophase_numbers },
    { FORM("twophase3d", ":N[:CONTRAST[:SHAPE]]", PHASE_LIMITS), 3, SIDE_3D,
      NUMBER | OPTIONAL | SHAPE, LEAST, LARGEST, 1000, .choose = kry_problem_shape,
      .make = kry_problem_twophase, .numbers = kry_problem_twophase_numbers },
    { FORM("plate2d", ":N", ""), 0, SIDE_2D, .make = kry_problem_plate },
    { FORM("elasticity2d", ":NXxNY[:JUMP]",
           ", at most 2147483647 of 2 NX (NY + 1) unknowns, JUMP > 0 (1e-100 to 1e100)"),
      0, INT32_MAX, ELEMENTS | NUMBER | OPTIONAL, LEAST, LARGEST, 1,
      .make = kry_problem_elasticity },
    { FORM("geograph_spd", ":N", ""), 0, INT32_MAX, .make = kry_problem_geograph },
    { FORM("circuit_spd", ":N[:DECADES]", ", DECADES from 0 to 12"), 0, INT32_MAX,
      NUMBER | OPTIONAL, 0, 12, 6, .make = kry_problem_circuit },
    { FORM("random_spd", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kry_problem_random },
    { FORM("powerlaw_spd", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kry_problem_powerlaw },
    { FORM("banded_spd", ":N:W", ", W from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kry_problem_banded },
    { FORM("block_spd", ":N:B", ", B from 1 to N"), 0, INT32_MAX, WHOLE, .k_least = 1,
      .make = kry_problem_block },
    { FORM("convection2d", ":N:PECLET[:upwind|central]", PECLET_LIMITS), 2, SIDE_2D, NUMBER | SHAPE,
      0, LARGEST, .choose = kry_problem_difference, .stored = true,
      .make = kry_problem_convection },
    { FORM("convection3d", ":N:PECLET[:upwind|central]", PECLET_LIMITS), 3, SIDE_3D, NUMBER | SHAPE,
      0, LARGEST, .choose = kry_problem_difference, .stored = true,
      .make = kry_problem_convection },
    { FORM("helmholtz2d", ":N:K", ", K from 0 to 1e100"), 2, SIDE_2D, NUMBER, 0, LARGEST,
      .stored = true, .make = kry_problem_helmholtz },
    { FORM("stokes2d", ":N", ", at least 2"), 0, SIDE_STOKES, .make = kry_problem_stokes },
    { FORM("random", ":N:K", ", K from 0 to N-1"), 0, INT32_MAX, WHOLE,
      .make = kry_problem_general_random },
};

static const kry_word *kind_at(int i) { return i < (int)COUNT(kinds) ? &kinds[i].word : NULL; }

/* The whole number at *text, -1 if there is none; *text moves behind it. */
static int64_t read_whole(const char **text)
{
    int64_t value = -1;
    for (; isdigit((unsigned char)**text) && value < INT32_MAX; (*text)++)
        value = (value < 0 ? 0 : value) * 10 + (**text - '0');
    return value;
}

/* Move *text behind the letter if it is next. */
static bool take(const char **text, char letter)
{
    bool there = **text == letter;
    *text += there;
    return there;
}

/* Whether `at`, behind "name:", holds what this kind of problem needs; then it is in *s. */
static bool read_arguments(const char *at, const kind *k, kry_problem_spec *s)
{
    const char *end = NULL;

    s->axes = k->axes;
    s->number = k->otherwise;
    s->size = read_whole(&at);
    if (s->size < 1 || s->size > k->most) return false;
    if (k->follows & ELEMENTS) {
        s->k = take(&at, 'x') ? read_whole(&at) : 0;
        if (s->k < 1 || s->size > INT32_MAX / (2 * (s->k + 1))) return false;
    }
    if (k->follows & WHOLE) {
        s->k = take(&at, ':') ? read_whole(&at) : -1;
        if (s->k < k->k_least || s->k >= s->size + k->k_least) return false;
    }
    if (!(k->follows & NUMBER) || ((k->follows & OPTIONAL) && !*at)) return !*at;
    if (!take(&at, ':')) return false;
    end = kry_read_double(at, at + strlen(at), &s->number);
    if (!end || !(s->number >= k->least && s->number <= k->largest)) return false;
    if ((k->follows & SHAPE) && *end == ':') {
        s->shape = k->choose(end + 1);
        return s->shape >= 0;
    }
    return !*end;
}

static kry_status read_spec(const char *func, const char *text, const kind **found,
                            kry_problem_spec *s)
{
    kry_status st = KRY_OK;
    char list[640], hint[64];
    size_t length = strcspn(text, ":");
    int i = kry_word_find(kind_at, text, length);

    kry_word_list(kind_at, 0, COUNT(kinds), list, sizeof list);
    CHECK(i >= 0, KRY_ERR_PARSE, "%s: unknown problem \"%s\"; there are %s%s", func, text, list,
          kry_word_hint(text, list, hint, sizeof hint));
    *found = &kinds[i];
    CHECK(read_arguments(text + length + (text[length] == ':'), *found, s), KRY_ERR_PARSE,
          "%s: \"%s\" is not %s with sizes from 1 to %lld%s; there are %s", func, text,
          (*found)->word.form, (long long)(*found)->most, (*found)->word.meaning, list);
done:
    return st;
}

kry_status kry_problem_make_rows(kry_problem_row *row, const void *self, bool values,
                                 kry_problem *p)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)p->n + 1, sizeof *p->row_ptr, &p->row_ptr));
    for (int64_t i = 0; i < p->n; i++) p->row_ptr[i + 1] = p->row_ptr[i] + row(self, i, NULL, NULL);
    p->nnz = p->row_ptr[p->n];
    TRY(kry_alloc((size_t)p->nnz, sizeof *p->col, &p->col));
    if (values) TRY(kry_alloc((size_t)p->nnz, sizeof *p->val, &p->val));
    for (int64_t i = 0; i < p->n; i++)
        row(self, i, p->col + p->row_ptr[i], values ? p->val + p->row_ptr[i] : NULL);
done:
    return st;
}

kry_status kry_problem_make_solution(uint64_t seed, kry_problem *p)
{
    enum { STREAM_SOLUTION = 3 }; /* the other streams: problem_random.c, problem_mesh.c */
    kry_status st = KRY_OK;

    p->discrete = true;
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->solution));
    for (int64_t i = 0; i < p->n; i++)
        p->solution[i] = kry_random_unit(seed, STREAM_SOLUTION, (uint64_t)i);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            p->rhs[i] += p->val[e] * p->solution[p->col[e]];
done:
    return st;
}

/* s: with its seed, and what is to be made */
static kry_status create(const char *func, const char *text, kry_problem_spec s,
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
    CHECK(s.entries || (k->axes && !k->stored), KRY_ERR_UNSUPPORTED,
          "%s: \"%s\" has no grid; kry_problem_create makes it with its entries", func, text);
    TRY(kry_alloc(1, sizeof *m, &m));
    *m = (made){ .spec = s, .kind = k };
    p = &m->p;
    strcpy(p->name, text);
    p->traits = KRY_POSITIVE; /* a maker that makes something else says so */
    TRY(k->make(&s, p));
    p->solved = p->solved || p->solution;
    *problem = p;
    p = NULL;
done:
    kry_problem_release(&p);
    return st;
}

kry_status kry_problem_create(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create", text, (kry_problem_spec){ .seed = seed, .entries = true },
                  problem);
}

kry_status kry_problem_create_grid(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create_grid", text, (kry_problem_spec){ .seed = seed }, problem);
}

kry_status kry_problem_create_bare(const char *text, uint64_t seed, kry_problem **problem)
{
    return create("kry_problem_create_bare", text, (kry_problem_spec){ .seed = seed, .bare = true },
                  problem);
}

kry_status kry_problem_rows(const kry_problem *p, const kry_vec *of, double *rhs, double *solution)
{
    kry_status st = KRY_OK;
    const made *m = (const made *)p;

    TRY(GIVEN(p, of));
    CHECK(kry_vec_rows(of) == p->n, KRY_ERR_SHAPE,
          "kry_problem_rows: %s has %lld rows, the vector %lld", p->name, (long long)p->n,
          (long long)kry_vec_rows(of));
    CHECK(!solution || p->solved, KRY_ERR_UNSUPPORTED,
          "kry_problem_rows: the solution of %s is not known", p->name);
    if (!p->rhs) return rhs || solution ? m->kind->numbers(&m->spec, p, of, rhs, solution) : KRY_OK;
    for (int64_t i = 0; i < kry_vec_rows_here(of, NULL); i++) {
        const int64_t row = kry_vec_row(of, i);
        if (rhs) rhs[i] = p->rhs[row];
        if (solution) solution[i] = p->solution[row];
    }
done:
    return st;
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
    if (p->grid) free((void *)p->grid->coefficient);
    for (int a = 0; p->grid && a < 3; a++) free((void *)p->grid->face[a]);
    free((void *)p->grid);
    free(p);
    *problem = NULL;
}
