/*
 * systems.h - random systems of equations of every kind: positive definite, graph Laplacians,
 * grids, graded, indefinite, singular with and without a solution, nonsymmetric, huge, tiny,
 * denormal, nearly singular, with zero rows, 1 by 1, empty.
 */
#ifndef KRY_SYSTEMS_H
#define KRY_SYSTEMS_H

#include "grids.h"
#include "reference_residual.h"

enum { LARGEST = 130 };

typedef struct system_of {
    const char *kind;
    kry_type type;
    int64_t n, nnz;
    double a[LARGEST * LARGEST]; /* n by n; zeros are not stored */
    int64_t row_ptr[LARGEST + 1];
    int32_t row[LARGEST * LARGEST], col[LARGEST * LARGEST];
    double val[LARGEST * LARGEST];
    double b[LARGEST], guess[LARGEST], x[LARGEST];
    double scale;    /* of b */
    unsigned traits; /* what is promised, rightly or not */
    bool easy;       /* positive definite and well-conditioned: it must be solved */
    int parts;       /* of a Laplacian; 0: it is none */
    bool attach;     /* its null space is told by vectors */
    bool zero_b, bad_b;
    entries entries;
    const grid *grid; /* without a matrix; NULL: with one */
    grid sized;
    double *k; /* its coefficients, owned; NULL: none */
} system_of;

static double unit(void) { return (random_number(KRY_F64) + 1) / 2; }
static bool one_in(int64_t k) { return random_below(k) == 0; }
static int64_t between(int64_t low, int64_t high) { return low + random_below(high - low + 1); }

/* One of the first `most`, with KRY_FULL of the first `full`. */
static const char *pick(const char *const *words, size_t most, size_t full)
{
    return words[random_below((int64_t)(getenv("KRY_FULL") ? full : most))];
}

/* In the type; what is too large for it becomes the largest number. */
static double held(kry_type type, double v)
{
    if (type == KRY_F64) return fmin(fmax(v, -DBL_MAX), DBL_MAX);
    return (double)(float)fmin(fmax(v, -FLT_MAX), FLT_MAX);
}

static double *at_place(system_of *s, int64_t i, int64_t j) { return &s->a[i * s->n + j]; }

static void set_both(system_of *s, int64_t i, int64_t j, double v)
{
    *at_place(s, i, j) = *at_place(s, j, i) = held(s->type, v);
}

/* Symmetric, about k entries beside the diagonal of a row, and the diagonal larger than their sum.
 */
static void dominant(system_of *s)
{
    int64_t k = between(1, 8);
    for (int64_t i = 0; i < s->n * k / 2; i++) {
        int64_t r = random_below(s->n), c = random_below(s->n);
        if (r != c) set_both(s, r, c, random_number(s->type));
    }
    for (int64_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < s->n; j++) sum += j == i ? 0 : fabs(*at_place(s, i, j));
        set_both(s, i, i, sum + 0.2 + unit());
    }
}

static unsigned promise_positive(void)
{
    return one_in(3) ? 0 : one_in(2) ? KRY_SYMMETRIC : KRY_SYMMETRIC | KRY_POSITIVE;
}

static void make_positive(system_of *s)
{
    dominant(s);
    s->traits = promise_positive();
    s->easy = true;
}

/* Sums of v v' and a shift, which may be lost in rounding. */
static void make_gram(system_of *s)
{
    double shift = pow(10, -(double)random_below(18));
    for (int64_t k = 0; k < s->n; k++) {
        int64_t at[4];
        double v[4];
        for (int i = 0; i < 4; i++) at[i] = random_below(s->n), v[i] = random_number(s->type);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++)
                if (at[i] != at[j] || i == j)
                    set_both(s, at[i], at[j], *at_place(s, at[i], at[j]) + v[i] * v[j]);
    }
    for (int64_t i = 0; i < s->n; i++) set_both(s, i, i, *at_place(s, i, i) + shift);
    s->traits = promise_positive();
}

/* Part p has the rows p, p + parts, ...; weights whose sums are exact. */
static void laplacian(system_of *s, int parts)
{
    s->parts = parts;
    for (int64_t i = parts; i < s->n; i++) set_both(s, i, i - parts, -(double)between(1, 64) / 8);
    for (int64_t k = 0; k < s->n; k++) {
        int64_t i = random_below(s->n),
                j = i % parts + parts * random_below((s->n - i % parts + parts - 1) / parts);
        if (i != j) set_both(s, i, j, -(double)between(1, 64) / 8);
    }
    for (int64_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < s->n; j++) sum -= j == i ? 0 : *at_place(s, i, j);
        set_both(s, i, i, sum);
    }
}

static void make_laplacian(system_of *s)
{
    laplacian(s, 1);
    s->traits = one_in(4) ? KRY_SYMMETRIC : KRY_SINGULAR | KRY_SYMMETRIC;
    s->attach = !(s->traits & KRY_SINGULAR) && one_in(2);
}

static void make_components(system_of *s)
{
    laplacian(s, (int)between(1, s->n < 5 ? s->n : 5));
    s->traits = one_in(5) ? KRY_SINGULAR | KRY_SYMMETRIC : KRY_SYMMETRIC;
    s->attach = !one_in(3);
}

static void make_graded(system_of *s)
{
    double decades = (s->type == KRY_F32 ? 8 : 16) * unit();
    dominant(s);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j <= i; j++)
            set_both(s, i, j,
                     *at_place(s, i, j) * pow(10, -decades * (double)(i + j) / (double)s->n));
    s->traits = promise_positive();
}

static void make_indefinite(system_of *s)
{
    dominant(s);
    for (int64_t i = 0; i < s->n; i++)
        if (one_in(3)) set_both(s, i, i, -*at_place(s, i, i) * (one_in(4) ? 0 : 1));
    s->traits = promise_positive();
}

static void make_nonsymmetric(system_of *s)
{
    dominant(s);
    for (int64_t k = 0; k < 2 * s->n; k++)
        *at_place(s, random_below(s->n), random_below(s->n)) += random_number(s->type);
    for (int64_t i = 0; i < s->n * s->n; i++) s->a[i] = held(s->type, s->a[i]);
    s->traits = one_in(4) ? KRY_POSITIVE | KRY_SYMMETRIC : 0;
}

/* All numbers times a power of two, up to the ends of the range and beyond, where digits are lost.
 */
static void make_scaled(system_of *s)
{
    int most = s->type == KRY_F32 ? 145 : 1070, power = (int)between(-most, most);
    dominant(s);
    for (int64_t i = 0; i < s->n * s->n; i++) s->a[i] = held(s->type, ldexp(s->a[i], power));
    s->traits = promise_positive();
    if (one_in(2)) s->scale = ldexp(1, power);
}

/* Its right-hand side may be too large or too small to sum its squares. */
static void make_scaled_rhs(system_of *s)
{
    dominant(s);
    s->scale = pow(10, (s->type == KRY_F32 ? 40 : 310) * random_number(KRY_F64));
    s->traits = promise_positive();
}

static void make_zero_rows(system_of *s)
{
    dominant(s);
    for (int64_t k = 0; k < 1 + s->n / 10; k++) {
        int64_t i = random_below(s->n);
        for (int64_t j = 0; j < s->n; j++) set_both(s, i, j, 0);
    }
    s->traits = promise_positive();
}

/* | D  B' |
 * | B  0  | */
static void make_saddle(system_of *s)
{
    dominant(s);
    for (int64_t i = s->n / 2; i < s->n; i++)
        for (int64_t j = s->n / 2; j < s->n; j++) *at_place(s, i, j) = 0;
    s->traits = promise_positive();
}

static void make_diagonal(system_of *s)
{
    double decades = (s->type == KRY_F32 ? 30 : 290) * unit() * unit();
    for (int64_t i = 0; i < s->n; i++)
        set_both(s, i, i, pow(10, decades * random_number(KRY_F64)) * (one_in(40) ? -1 : 1));
    s->traits = promise_positive();
}

static void make_hilbert(system_of *s)
{
    if (s->n > 20) s->n = between(2, 20);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->n; j++) set_both(s, i, j, 1 / (double)(i + j + 1));
    s->traits = promise_positive();
}

/* A Laplacian with next to nothing to the ground. */
static void make_nearly_singular(system_of *s)
{
    laplacian(s, 1);
    s->parts = 0;
    int64_t i = random_below(s->n);
    set_both(s, i, i, *at_place(s, i, i) + pow(10, -20 * unit()));
    s->traits = promise_positive();
}

static void make_one(system_of *s)
{
    s->n = 1;
    double v = pow(10, (s->type == KRY_F32 ? 44 : 320) * random_number(KRY_F64));
    set_both(s, 0, 0, one_in(8) ? 0 : one_in(4) ? -v : v);
    if (one_in(2)) s->scale = *at_place(s, 0, 0);
    s->traits = promise_positive();
}

static void make_zero(system_of *s) { s->traits = promise_positive(); }

static void make_empty(system_of *s)
{
    s->n = 0;
    s->traits = promise_positive();
}

/* Few mixes of sides, for each is compiled, and any size. */
static void make_grid(system_of *s)
{
    static const char *const names[] = { "Poisson 9 x 8", "cells 20 x 19", "a box 2 x 1 x 9" };
    const char *name = pick(names, COUNT(names) - 1, COUNT(names));
    size_t at = 0;
    while (strcmp(grids[at].name, name)) at++;
    s->sized = grids[at], s->grid = &s->sized;
    int axes = s->sized.size[2] ? 3 : 2;
    for (int a = 0; a < axes; a++) {
        s->sized.size[a] = between(1, axes == 3 ? 5 : 11);
        s->sized.diffusion[a] = one_in(2) ? 1 : pow(10, -3 * unit());
    }
    s->n = grid_points(s->grid);
    s->k = grid_coefficients(s->grid, s->type);
    matrix A = grid_matrix(s->grid, s->k);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            *at_place(s, i, A.col[e]) = A.val[e];
    matrix_release(&A);
    s->parts = grid_singular(s->grid);
    s->traits = s->parts ? KRY_SINGULAR | KRY_SYMMETRIC : KRY_POSITIVE | KRY_SYMMETRIC;
    s->easy = !s->parts && !s->k;
}

static const struct kind {
    const char *name;
    void (*make)(system_of *s);
    int share; /* of the cases */
} kinds[] = {
    { "positive definite", make_positive, 14 },
    { "gram", make_gram, 8 },
    { "laplacian", make_laplacian, 14 },
    { "laplacian in parts", make_components, 10 },
    { "graded", make_graded, 8 },
    { "indefinite", make_indefinite, 8 },
    { "nonsymmetric", make_nonsymmetric, 6 },
    { "scaled", make_scaled, 12 },
    { "scaled rhs", make_scaled_rhs, 6 },
    { "zero rows", make_zero_rows, 5 },
    { "saddle point", make_saddle, 5 },
    { "diagonal", make_diagonal, 6 },
    { "hilbert", make_hilbert, 4 },
    { "nearly singular", make_nearly_singular, 6 },
    { "1 by 1", make_one, 6 },
    { "grid", make_grid, 12 },
    { "zero", make_zero, 1 },
    { "empty", make_empty, 1 },
};

static void compress(system_of *s)
{
    s->nnz = 0;
    s->row_ptr[0] = 0;
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j < s->n; j++)
            if (*at_place(s, i, j) != 0) {
                s->row[s->nnz] = (int32_t)i, s->col[s->nnz] = (int32_t)j;
                s->val[s->nnz++] = *at_place(s, i, j);
            }
        s->row_ptr[i + 1] = s->nnz;
    }
    s->entries = (entries){ .n = s->n, .nnz = s->nnz, .row = s->row, .col = s->col, .val = s->val };
}

/* b := A y for a random y, or random; of Laplacians made consistent now and then. */
static void make_rhs(system_of *s)
{
    bool product = one_in(2), mean = s->parts && one_in(2);
    double y[LARGEST];
    for (int64_t i = 0; i < s->n; i++) y[i] = random_number(s->type);
    for (int64_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < s->n; j++) sum += *at_place(s, i, j) * y[j];
        s->b[i] = product ? sum : y[i] * s->scale;
    }
    for (int p = 0; p < s->parts && mean && !product; p++) { /* halves that cancel, exactly */
        for (int64_t i = p; i < s->n; i += 2 * s->parts) {
            bool pair = i + s->parts < s->n;
            if (pair) s->b[i + s->parts] = -s->b[i];
            if (!pair) s->b[i] = 0;
        }
    }
    if (s->parts && one_in(4)) { /* some of it out of reach, more or less than the target */
        double share = pow(10, -(s->type == KRY_F32 ? 5 : 14) * unit());
        for (int64_t i = 0; i < s->n; i++) s->b[i] += share;
    }
    if ((s->zero_b = one_in(40))) memset(s->b, 0, sizeof s->b);
    for (int64_t i = 0; i < s->n; i++) s->b[i] = held(s->type, s->b[i]);
    if (s->n && (s->bad_b = one_in(60))) s->b[random_below(s->n)] = one_in(2) ? NAN : INFINITY;
}

static void make_guess(system_of *s)
{
    double size = one_in(3) ? 0 : one_in(6) ? 1e10 : 1;
    for (int64_t i = 0; i < s->n; i++) s->guess[i] = held(s->type, size * random_number(s->type));
}

static void system_make(system_of *s, kry_type type)
{
    static const int64_t sizes[] = { 2, 3, 5, 16, 17, 31, 33, 64, 65, 100, LARGEST };
    int shares = 0, pick;
    size_t k = 0;

    for (size_t i = 0; i < COUNT(kinds); i++) shares += kinds[i].share;
    pick = (int)random_below(shares);
    while (pick >= kinds[k].share) pick -= kinds[k++].share;
    memset(s, 0, sizeof *s);
    s->kind = kinds[k].name, s->type = type, s->scale = 1;
    s->n = sizes[random_below(COUNT(sizes))];
    kinds[k].make(s);
    compress(s);
    make_rhs(s);
    make_guess(s);
}

#endif
