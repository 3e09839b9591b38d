/*
 * problem_random.c - random symmetric matrices, positive definite by diagonal dominance.
 *
 * They stand in for large matrices that cannot be shipped: random_spd has its entries anywhere,
 * powerlaw_spd rows of very different lengths as circuits and networks have, banded_spd a third of
 * a band, block_spd dense blocks as finite elements of elasticity have.
 *
 * A pattern is made in one of two ways: pairs are drawn and stand at both their places, or a row
 * tells its columns by itself.
 */
#include "base/random.h"
#include "io/problem.h"
#include <math.h>
#include <stdlib.h>

typedef kry_problem_spec spec;

enum {
    STREAM_PLACE,
    STREAM_VALUE,
    STREAM_DIAGONAL,
    STREAM_SOLUTION,
    STREAM_DRAWS,
    STREAM_DISTANCE,
    STREAM_BAND
};

/* ---- numbers, right-hand side, solution: the same for all ------------------------------- */

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

kry_status kry_problem_know_solution(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    p->discrete = true;
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->rhs));
    TRY(kry_alloc((size_t)p->n, sizeof(double), &p->solution));
    for (int64_t i = 0; i < p->n; i++)
        p->solution[i] = kry_random_unit(s->seed, STREAM_SOLUTION, (uint64_t)i);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            p->rhs[i] += p->val[e] * p->solution[p->col[e]];
done:
    return st;
}

/* Everything behind a pattern, which is p->n, nnz, row_ptr and col. */
static kry_status finish(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
    random_values(s, p);
    TRY(kry_problem_know_solution(s, p));
done:
    return st;
}

/* ---- patterns of pairs that are drawn --------------------------------------------------- */

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
static kry_status draw_pairs(const spec *s, const kry_problem_drawing *d, kry_problem *p,
                             int64_t *next)
{
    kry_status st = KRY_OK;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t draws = d->draws(s, i);
        next[i] += 1 + draws;
        for (int64_t t = 0; t < draws; t++) next[d->partner(s, i, t, draws)]++;
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->row_ptr[i + 1] = p->row_ptr[i] + next[i];
        next[i] = p->row_ptr[i];
    }
    TRY(kry_alloc((size_t)p->row_ptr[p->n], sizeof(int32_t), &p->col));
    for (int64_t i = 0; i < p->n; i++) {
        int64_t draws = d->draws(s, i);
        p->col[next[i]++] = (int32_t)i;
        for (int64_t t = 0; t < draws; t++) {
            int64_t j = d->partner(s, i, t, draws);
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

kry_status kry_problem_draw(const spec *s, const kry_problem_drawing *d, kry_problem *p)
{
    kry_status st = KRY_OK;
    int64_t *next = NULL; /* n: counts, then places */
    p->n = s->size;
    TRY(kry_alloc((size_t)p->n, sizeof(int64_t), &next));
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    TRY(draw_pairs(s, d, p, next));
    compact_rows(p);
done:
    free(next);
    return st;
}

static kry_status create_drawn(const spec *s, const kry_problem_drawing *d, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(kry_problem_draw(s, d, p));
    TRY(finish(s, p));
done:
    return st;
}

/* ---- random_spd ------------------------------------------------------------------------- */

/* k/2 partners anywhere; with an odd k every other row draws one more. */
static int64_t random_draws(const spec *s, int64_t i) { return s->k / 2 + (s->k % 2) * (i % 2); }

static int64_t random_partner(const spec *s, int64_t i, int64_t t, int64_t draws)
{
    uint64_t place = (uint64_t)i * (uint64_t)(s->k / 2 + 1) + (uint64_t)t;
    double u = kry_random_unit(s->seed, STREAM_PLACE, place);
    int64_t j = (int64_t)(u * (double)(s->size - 1));
    (void)draws;
    return j < i ? j : j + 1;
}

kry_status kry_problem_random(const spec *s, kry_problem *p)
{
    return create_drawn(s, &(kry_problem_drawing){ random_draws, random_partner }, p);
}

/* ---- powerlaw_spd ----------------------------------------------------------------------- */

/* Pareto's law: more than x partners with probability (least / x)^1.4, k/2 on average. Of N rows
 * the longest draws about N^(5/7) k/7; none draws more than N/4. */
static int64_t powerlaw_draws(const spec *s, int64_t i)
{
    static const double exponent = 1.4;
    double least = (double)s->k / 2 * (exponent - 1) / exponent, most = (double)(s->size - 1) / 4;
    double u = 1 - kry_random_unit(s->seed, STREAM_DRAWS, 2 * (uint64_t)i);
    double x = least * pow(u, -1 / exponent);
    x += kry_random_unit(s->seed, STREAM_DRAWS, 2 * (uint64_t)i + 1); /* round by chance */
    return (int64_t)(x < most ? x : most);
}

int64_t kry_problem_partner(const spec *s, uint64_t distance, uint64_t side, int64_t i,
                            uint64_t place, int64_t least)
{
    double range = (double)least, n = (double)s->size;
    range *= exp(log(n / range) * kry_random_unit(s->seed, distance, place));
    double u = 2 * kry_random_unit(s->seed, side, place) - 1;
    int64_t away = (int64_t)(u * range), j = i + (away ? away : u < 0 ? -1 : 1);
    j = (j + 2 * s->size) % s->size;
    return j != i ? j : (i + 1) % s->size;
}

/* Within a range that is wide enough for all partners. */
static int64_t powerlaw_partner(const spec *s, int64_t i, int64_t t, int64_t draws)
{
    return kry_problem_partner(s, STREAM_DISTANCE, STREAM_PLACE, i, (uint64_t)i << 32 | (uint64_t)t,
                               draws + 1);
}

kry_status kry_problem_powerlaw(const spec *s, kry_problem *p)
{
    return create_drawn(s, &(kry_problem_drawing){ powerlaw_draws, powerlaw_partner }, p);
}

/* ---- patterns whose rows know their columns --------------------------------------------- */

/* The columns of row i, ascending, to col if it is not NULL; returns how many. */
typedef int64_t (*columns)(const spec *s, int64_t i, int32_t *col);

static kry_status create_by_rows(const spec *s, columns row, kry_problem *p)
{
    kry_status st = KRY_OK;
    p->n = s->size;
    TRY(kry_alloc((size_t)p->n + 1, sizeof(int64_t), &p->row_ptr));
    for (int64_t i = 0; i < p->n; i++) p->row_ptr[i + 1] = p->row_ptr[i] + row(s, i, NULL);
    p->nnz = p->row_ptr[p->n];
    TRY(kry_alloc((size_t)p->nnz, sizeof(int32_t), &p->col));
    for (int64_t i = 0; i < p->n; i++) row(s, i, p->col + p->row_ptr[i]);
    TRY(finish(s, p));
done:
    return st;
}

/* ---- banded_spd ------------------------------------------------------------------------- */

static int64_t banded_row(const spec *s, int64_t i, int32_t *col)
{
    int64_t count = 0, first = i > s->k ? i - s->k : 0;
    int64_t last = i + s->k < s->size ? i + s->k : s->size - 1;
    for (int64_t j = first; j <= last; j++) {
        uint64_t pair = (uint64_t)(i < j ? i : j) << 32 | (uint64_t)(i < j ? j : i);
        if (i != j && kry_random_unit(s->seed, STREAM_BAND, pair) >= 1.0 / 3) continue;
        if (col) col[count] = (int32_t)j;
        count++;
    }
    return count;
}

kry_status kry_problem_banded(const spec *s, kry_problem *p)
{
    return create_by_rows(s, banded_row, p);
}

/* ---- block_spd -------------------------------------------------------------------------- */

/* Nodes of k unknowns each fill a cube, x fastest, and are coupled to the 26 around them. The last
 * node may be cut. */
static int64_t block_row(const spec *s, int64_t i, int32_t *col)
{
    int64_t nodes = (s->size + s->k - 1) / s->k, node = i / s->k, count = 0;
    int64_t side = (int64_t)ceil(cbrt((double)nodes) - 1e-9);
    int64_t x = node % side, y = node / side % side;
    for (int corner = 0; corner < 27; corner++) {
        int64_t dx = corner % 3 - 1, dy = corner / 3 % 3 - 1, dz = corner / 9 - 1;
        int64_t other = node + dx + side * (dy + side * dz);
        if (x + dx < 0 || x + dx >= side || y + dy < 0 || y + dy >= side || other < 0) continue;
        for (int64_t j = other * s->k; j < (other + 1) * s->k && j < s->size; j++) {
            if (col) col[count] = (int32_t)j;
            count++;
        }
    }
    return count;
}

kry_status kry_problem_block(const spec *s, kry_problem *p)
{
    return create_by_rows(s, block_row, p);
}
