/*
 * problem.c - model problems from a spec: grids with the five- and seven-point stencils, and random
 * diagonally dominant matrices.
 *
 * Grids: N interior points a side, h = 1/(N+1), x fastest, everything scaled by h^2. With weights
 * w_a on the axes the equation is -sum_a w_a u_aa = f, and
 *     u = prod_a sin^2(pi x_a),   u_aa = 2 pi^2 cos(2 pi x_a) prod_{b != a} sin^2(pi x_b).
 */
#include "../core/internal.h"
#include "random.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMS "poisson2d:N, poisson3d:N, anisotropic2d:N:EPS and random_spd:N:K"

static const double pi = 3.14159265358979323846;

typedef struct spec {
    int64_t size; /* N */
    double eps;   /* weight of the second axis */
    int64_t k;    /* entries off the diagonal in a row, about */
    uint64_t seed;
} spec;

/* ---- grids ------------------------------------------------------------------------ */

typedef struct grid {
    int axes;
    int64_t size; /* points a side */
    double weight[3];
    int64_t stride[3]; /* size^a */
    double *sin2;      /* size: sin^2(pi x_i) */
    double *cos2;      /* size: cos(2 pi x_i) */
} grid;

/* Row i, the point at[]: neighbours below in falling stride, the diagonal, neighbours above. */
static int64_t grid_row(const grid *g, int64_t i, const int64_t *at, int64_t at_entry,
                        kry_problem *p)
{
    double diagonal = 0;
    for (int a = g->axes - 1; a >= 0; a--) {
        diagonal += 2 * g->weight[a];
        if (at[a] == 0) continue;
        p->col[at_entry] = (int32_t)(i - g->stride[a]);
        p->val[at_entry++] = -g->weight[a];
    }
    p->col[at_entry] = (int32_t)i;
    p->val[at_entry++] = diagonal;
    for (int a = 0; a < g->axes; a++) {
        if (at[a] == g->size - 1) continue;
        p->col[at_entry] = (int32_t)(i + g->stride[a]);
        p->val[at_entry++] = -g->weight[a];
    }
    return at_entry;
}

/* u and h^2 f at the point. */
static void grid_point(const grid *g, const int64_t *at, double *u, double *f)
{
    double h = 1.0 / ((double)g->size + 1), sum = 0;
    *u = 1;
    for (int a = 0; a < g->axes; a++) {
        double term = g->weight[a] * g->cos2[at[a]];
        for (int b = 0; b < g->axes; b++)
            if (b != a) term *= g->sin2[at[b]];
        sum += term;
        *u *= g->sin2[at[a]];
    }
    *f = -2 * pi * pi * h * h * sum;
}

static void grid_fill(const grid *g, kry_problem *p)
{
    int64_t at[3] = { 0, 0, 0 }, entry = 0;
    for (int64_t i = 0; i < p->n; i++) {
        entry = grid_row(g, i, at, entry, p);
        p->row_ptr[i + 1] = entry;
        grid_point(g, at, &p->solution[i], &p->rhs[i]);
        for (int a = 0; a < g->axes && ++at[a] == g->size && a + 1 < g->axes; a++) at[a] = 0;
    }
}

static kry_status grid_create(grid *g, kry_problem *p)
{
    kry_status st = KRY_OK;
    int64_t points = 1;
    for (int a = 0; a < g->axes; a++) {
        g->stride[a] = points;
        points *= g->size;
    }
    p->n = points;
    /* every point has 2 axes + 1 entries, less one on each of the 2 axes faces */
    p->nnz = (2 * g->axes + 1) * points - 2 * g->axes * (points / g->size);
    TRY(kry_alloc((size_t)g->size, sizeof(double), &g->sin2));
    TRY(kry_alloc((size_t)g->size, sizeof(double), &g->cos2));
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    TRY(kry_alloc((size_t)p->nnz, sizeof(int32_t), &p->col));
    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->solution));
    for (int64_t i = 0; i < g->size; i++) {
        double x = ((double)i + 1) / ((double)g->size + 1), s = sin(pi * x);
        g->sin2[i] = s * s;
        g->cos2[i] = cos(2 * pi * x);
    }
    grid_fill(g, p);
done:
    free(g->sin2);
    free(g->cos2);
    return st;
}

static kry_status poisson2d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 2, .size = s->size, .weight = { 1, 1 } }, p);
}

static kry_status poisson3d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 3, .size = s->size, .weight = { 1, 1, 1 } }, p);
}

static kry_status anisotropic2d(const spec *s, kry_problem *p)
{
    return grid_create(&(grid){ .axes = 2, .size = s->size, .weight = { 1, s->eps } }, p);
}

/* ---- random_spd ------------------------------------------------------------------- */

enum { STREAM_PLACE, STREAM_VALUE, STREAM_DIAGONAL, STREAM_SOLUTION };

/* Row i draws k/2 partners; with an odd k every other row draws one more. */
static int64_t draws(const spec *s, int64_t i) { return s->k / 2 + (s->k % 2) * (i % 2); }

static int64_t partner(const spec *s, int64_t i, int64_t t)
{
    uint64_t place = (uint64_t)i * (uint64_t)(s->k / 2 + 1) + (uint64_t)t;
    double u = kry_random_unit(s->seed, STREAM_PLACE, place);
    int64_t j = (int64_t)(u * (double)(s->size - 1));
    return j < i ? j : j + 1;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_row(int32_t *col, int64_t count)
{
    if (count > 64) {
        qsort(col, (size_t)count, sizeof *col, by_number);
        return;
    }
    for (int64_t a = 1; a < count; a++) {
        int32_t c = col[a];
        int64_t b = a;
        for (; b > 0 && col[b - 1] > c; b--) col[b] = col[b - 1];
        col[b] = c;
    }
}

/* The pattern, with both places of every drawn pair and the diagonal; pairs drawn twice kept. */
static kry_status random_pattern(const spec *s, kry_problem *p, int64_t *next)
{
    kry_status st = KRY_OK;
    for (int64_t i = 0; i < p->n; i++) {
        next[i]++;
        for (int64_t t = 0; t < draws(s, i); t++) {
            next[i]++;
            next[partner(s, i, t)]++;
        }
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->row_ptr[i + 1] = p->row_ptr[i] + next[i];
        next[i] = p->row_ptr[i];
    }
    TRY(kry_alloc((size_t)p->row_ptr[p->n], sizeof(int32_t), &p->col));
    for (int64_t i = 0; i < p->n; i++) {
        p->col[next[i]++] = (int32_t)i;
        for (int64_t t = 0; t < draws(s, i); t++) {
            int64_t j = partner(s, i, t);
            p->col[next[i]++] = (int32_t)j;
            p->col[next[j]++] = (int32_t)i;
        }
    }
done:
    return st;
}

/* Sort every row and drop what stands there twice, moving the rows together. */
static void compact_rows(kry_problem *p)
{
    int64_t out = 0, begin = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t end = p->row_ptr[i + 1], first = out;
        sort_row(p->col + begin, end - begin);
        for (int64_t e = begin; e < end; e++)
            if (out == first || p->col[out - 1] != p->col[e]) p->col[out++] = p->col[e];
        begin = end;
        p->row_ptr[i + 1] = out;
    }
    p->nnz = out;
}

/* a_ij in [-1, 1) by the pair alone, so that A = A'; a_ii = sum |a_ij| + something in [0.1, 1.1).
 */
static void random_values(const spec *s, kry_problem *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        int64_t diagonal = p->row_ptr[i];
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            uint64_t j = (uint64_t)p->col[e], k = (uint64_t)i;
            uint64_t pair = j < k ? j << 32 | k : k << 32 | j;
            if (j == k) diagonal = e;
            if (j == k) continue;
            p->val[e] = 2 * kry_random_unit(s->seed, STREAM_VALUE, pair) - 1;
            sum += fabs(p->val[e]);
        }
        p->val[diagonal] = sum + 0.1 + kry_random_unit(s->seed, STREAM_DIAGONAL, (uint64_t)i);
    }
}

static kry_status random_spd(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    int64_t *next = NULL; /* n: counts, then places */
    p->n = s->size;
    p->discrete = true;
    TRY(kry_alloc((size_t)p->n, sizeof(int64_t), &next));
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    TRY(random_pattern(s, p, next));
    compact_rows(p);
    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->solution));
    random_values(s, p);
    for (int64_t i = 0; i < p->n; i++)
        p->solution[i] = kry_random_unit(s->seed, STREAM_SOLUTION, (uint64_t)i);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            p->rhs[i] += p->val[e] * p->solution[p->col[e]];
done:
    free(next);
    return st;
}

/* ---- specs ------------------------------------------------------------------------ */

enum field { FIELD_NONE, FIELD_EPS, FIELD_K };

static const struct kind {
    const char *name;
    int64_t max_size; /* so that the unknowns can be counted in 31 bits */
    enum field field; /* what stands behind N */
    kry_status (*create)(const spec *s, kry_problem *p);
} kinds[] = {
    { "poisson2d", 46340, FIELD_NONE, poisson2d },
    { "poisson3d", 1290, FIELD_NONE, poisson3d },
    { "anisotropic2d", 46340, FIELD_EPS, anisotropic2d },
    { "random_spd", INT32_MAX, FIELD_K, random_spd },
};

/* The whole number at *text, -1 if there is none; *text moves behind it. */
static int64_t read_whole(const char **text)
{
    int64_t value = -1;
    for (; isdigit((unsigned char)**text) && value < INT32_MAX; (*text)++)
        value = (value < 0 ? 0 : value) * 10 + (**text - '0');
    return value;
}

static kry_status read_spec(const char *text, const struct kind **kind, spec *s)
{
    kry_status st = KRY_OK;
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strlen(kinds[i].name) == length && !strncmp(text, kinds[i].name, length))
            *kind = &kinds[i];
    CHECK(*kind, KRY_ERR_PARSE, "kry_problem_create: unknown problem \"%s\"; there are " FORMS,
          text);
    const char *at = text + length + (text[length] == ':');
    s->size = read_whole(&at);
    bool more = (*kind)->field != FIELD_NONE;
    CHECK(s->size >= 1 && s->size <= (*kind)->max_size && *at == (more ? ':' : '\0'), KRY_ERR_PARSE,
          "kry_problem_create: \"%s\" needs a whole number N from 1 to %lld%s; there are " FORMS,
          text, (long long)(*kind)->max_size, more ? " and one number more" : " and nothing more");
    at += more;
    if ((*kind)->field == FIELD_EPS) {
        char *end = NULL;
        s->eps = strtod(at, &end);
        CHECK(end > at && !*end && s->eps > 0 && isfinite(s->eps), KRY_ERR_PARSE,
              "kry_problem_create: \"%s\" needs a number EPS > 0; there are " FORMS, text);
    }
    if ((*kind)->field == FIELD_K) {
        s->k = read_whole(&at);
        CHECK(!*at && s->k >= 0 && s->k < s->size, KRY_ERR_PARSE,
              "kry_problem_create: \"%s\" needs a whole number K from 0 to N-1; there are " FORMS,
              text);
    }
done:
    return st;
}

kry_status kry_problem_create(const char *text, uint64_t seed, kry_problem **problem)
{
    kry_status st = KRY_OK;
    const struct kind *kind = NULL;
    spec s = { .seed = seed };
    kry_problem *p = NULL;
    CHECK(problem, KRY_ERR_ARGUMENT, "kry_problem_create: problem is NULL");
    *problem = NULL;
    CHECK(text, KRY_ERR_ARGUMENT, "kry_problem_create: spec is NULL");
    CHECK(strlen(text) < sizeof p->name, KRY_ERR_PARSE,
          "kry_problem_create: a spec of %zu characters; there are " FORMS, strlen(text));
    TRY(read_spec(text, &kind, &s));
    TRY(kry_alloc(1, sizeof *p, &p));
    strcpy(p->name, text);
    TRY(kind->create(&s, p));
    *problem = p;
    p = NULL;
done:
    kry_problem_release(&p);
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
    free(p);
    *problem = NULL;
}
