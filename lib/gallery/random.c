/*
 * random.c - random matrices with a dominant diagonal that stand in for large matrices that
 * cannot be shipped, and the Laplacians of networks. All but the first are symmetric.
 *
 *   random        entries anywhere
 *   random_spd    the same, symmetric
 *   powerlaw_spd  rows of very different lengths, as circuits and networks have
 *   banded_spd    a third of a band
 *   block_spd     dense blocks, as finite elements of elasticity have
 *   circuit_spd   wires of all lengths and conductances
 *   geograph_spd  random points in the unit square, in the order of small squares, coupled if they are near each other
 *
 * A pattern is made in one of two ways: each row draws partners, and is coupled to those that drew
 * it, too; or each row knows its columns.
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"
#include <math.h>
#include <stdlib.h>

typedef kryi_problem_spec spec;

/* Streams of random numbers; 3 makes solutions, 21 is taken in mesh.c. */
enum {
    STREAM_PLACE,
    STREAM_VALUE,
    STREAM_DIAGONAL,
    STREAM_DRAWS = 4,
    STREAM_DISTANCE,
    STREAM_BAND,
    STREAM_POINT = 32,
    STREAM_WIRE,
    STREAM_AWAY,
    STREAM_CONDUCTANCE
};

/* ---- numbers ---------------------------------------------------------------------------- */

/* Numbers of a matrix whose pattern is known: a_ij = entry(s, pair), the same for a_ji if it is
 * symmetric. a_ii = sum |a_ij| + ground, or for ground 0 plus a random number in [0.1, 1.1). */
typedef struct values_of {
    double (*entry)(const kryi_problem_spec *s, uint64_t pair);
    double ground;
    bool symmetric;
} values_of;

static void fill_values(const spec *s, const values_of *how, int64_t first, kryi_problem_csr *A)
{
    double *val = A->val;

    for (int64_t i = 0; i < A->rows; i++) {
        const uint64_t k = (uint64_t)(first + i);
        double sum = how->ground;
        int64_t diagonal = A->row_ptr[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const uint64_t j = (uint64_t)A->col[e];
            if (j == k) diagonal = e;
            if (j == k) continue;
            const bool swaps = j < k && how->symmetric;
            val[e] = how->entry(s, swaps ? j << 32 | k : k << 32 | j);
            sum += fabs(val[e]);
        }
        val[diagonal] =
            how->ground > 0 ? sum : sum + 0.1 + kry_random_unit(s->seed, STREAM_DIAGONAL, k);
    }
}

/* Uniform in [-1, 1). */
static double random_entry(const spec *s, uint64_t pair)
{
    return 2 * kry_random_unit(s->seed, STREAM_VALUE, pair) - 1;
}

static double conductance(const spec *s, uint64_t pair)
{
    return -pow(10, -s->number * kry_random_unit(s->seed, STREAM_CONDUCTANCE, pair));
}

/* ---- patterns of rows that draw partners -------------------------------------------------- */

/* Row i draws draws(s, i) partners; partner t is partner(s, i, t, draws), not i itself. */
typedef struct draw_rules {
    int64_t (*draws)(const spec *s, int64_t i);
    int64_t (*partner)(const spec *s, int64_t i, int64_t t, int64_t draws);
} draw_rules;

/* The places of some rows, as they are drawn. */
typedef struct places {
    kryi_problem_range of;
    int64_t count, room;
    int32_t *row, *col; /* row: from the first one */
} places;

static kry_status make_room(places *p, int64_t room)
{
    kry_status st = KRY_OK;
    int32_t *row = realloc(p->row, (size_t)room * sizeof *row), *col = NULL;

    if (row) p->row = row, col = realloc(p->col, (size_t)room * sizeof *col);
    if (col) p->col = col;
    CHECK(row && col, KRY_ERR_MEMORY, "no host memory for %lld places of a random matrix",
          (long long)room);
    p->room = room;
done:
    return st;
}

static void add_place(places *p, int64_t i, int64_t j)
{
    if (i < p->of.first || i >= p->of.first + p->of.rows) return;
    p->row[p->count] = (int32_t)(i - p->of.first), p->col[p->count] = (int32_t)j;
    p->count++;
}

/* What rows draw themselves, and as much again where partners are drawn, too: all places of a whole matrix, so that one that
 * is too large has no memory before its numbers are drawn, and about those of a range. */
static kry_status begin_places(const spec *s, const draw_rules *d, bool symmetric, places *p)
{
    kry_status st = KRY_OK;
    int64_t room = p->of.rows + 1; /* the diagonal */

    TRY(make_room(p, room)); /* rows that have no memory need not be counted */
    for (int64_t i = p->of.first; i < p->of.first + p->of.rows; i++)
        room += d->draws(s, i) * (symmetric ? 2 : 1);
    TRY(make_room(p, room));
done:
    return st;
}

/* All rows draw, for each may be a partner of these. */
static kry_status draw_places(const spec *s, const draw_rules *d, bool symmetric, places *p)
{
    kry_status st = KRY_OK;

    TRY(begin_places(s, d, symmetric, p));
    for (int64_t i = 0; i < s->size; i++) {
        const int64_t draws = d->draws(s, i), most = 1 + draws * (symmetric ? 2 : 1);
        const bool here = i >= p->of.first && i < p->of.first + p->of.rows;
        if (!here && !symmetric) continue;
        if (p->count + most > p->room) TRY(make_room(p, p->room + p->room / 2 + most));
        add_place(p, i, i);
        for (int64_t t = 0; t < draws; t++) {
            const int64_t j = d->partner(s, i, t, draws);
            add_place(p, i, j);
            if (symmetric) add_place(p, j, i);
        }
    }
done:
    return st;
}

static int compare_columns(const void *a, const void *b)
{
    const int32_t u = *(const int32_t *)a, v = *(const int32_t *)b;
    return u < v ? -1 : u > v;
}

/* A := these places, each of them once, columns ascending. */
static kry_status sort_places(const places *p, kryi_problem_csr *A)
{
    kry_status st = KRY_OK;
    int64_t *ptr = NULL, kept = 0;

    *A = (kryi_problem_csr){ .rows = p->of.rows };
    TRY(kryi_allocate((size_t)A->rows + 2, sizeof *ptr, &ptr));
    A->row_ptr = ptr;
    TRY(kryi_allocate((size_t)p->count, sizeof *A->col, &A->col));
    for (int64_t e = 0; e < p->count; e++) ptr[p->row[e] + 2]++;
    for (int64_t i = 1; i <= A->rows; i++) ptr[i + 1] += ptr[i];
    for (int64_t e = 0; e < p->count; e++) A->col[ptr[p->row[e] + 1]++] = p->col[e];
    for (int64_t i = 0, begin = 0; i < A->rows; i++) {
        const int64_t end = ptr[i + 1], first = kept;
        qsort(A->col + begin, (size_t)(end - begin), sizeof *A->col, compare_columns);
        for (int64_t e = begin; e < end; e++)
            if (kept == first || A->col[kept - 1] != A->col[e]) A->col[kept++] = A->col[e];
        begin = end, ptr[i + 1] = kept;
    }
    TRY(kryi_allocate((size_t)kept, sizeof *A->val, &A->val));
done:
    return st;
}

/* Make the pattern, with the diagonal, and its numbers. */
static kry_status draw(const spec *s, const draw_rules *d, const values_of *how,
                       kryi_problem_range of, kryi_problem_csr *A)
{
    kry_status st = KRY_OK;
    places p = { .of = of };

    TRY(draw_places(s, d, how->symmetric, &p));
    TRY(sort_places(&p, A));
    fill_values(s, how, of.first, A);
done:
    free(p.col);
    free(p.row);
    if (st < 0) kryi_problem_csr_release(A);
    return st;
}

kry_status kryi_problem_of_size(const spec *s, kry_problem *p)
{
    p->n = s->size;
    return KRY_OK;
}

static const values_of anything = { random_entry, 0, true };

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

kry_status kryi_problem_random(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return draw(s, &(draw_rules){ random_draws, random_partner }, &anything, of, A);
}

/* ---- random ----------------------------------------------------------------------------- */

static int64_t general_draws(const spec *s, int64_t i) { return (void)i, s->k; }

static int64_t general_partner(const spec *s, int64_t i, int64_t t, int64_t draws)
{
    const double u = kry_random_unit(s->seed, STREAM_PLACE, (uint64_t)i << 32 | (uint64_t)t);
    const int64_t j = (int64_t)(u * (double)(s->size - 1));
    (void)draws;
    return j < i ? j : j + 1;
}

kry_status kryi_problem_general_entries(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    static const values_of general = { random_entry, 0, false };
    return draw(s, &(draw_rules){ general_draws, general_partner }, &general, of, A);
}

kry_status kryi_problem_general_random(const spec *s, kry_problem *p)
{
    p->traits = 0;
    return kryi_problem_of_size(s, p);
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

/* A partner of row i, near more often than far, as in a matrix that was ordered well: within a
 * range around i of at least `least` rows that is as likely between 10 and 100 as between 1000 and
 * 10000. Beyond the last row comes the first. `distance` and `side` are streams. */
static int64_t near_partner(const spec *s, uint64_t distance, uint64_t side, int64_t i, int64_t t,
                            int64_t least)
{
    uint64_t place = (uint64_t)i << 32 | (uint64_t)t;
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
    return near_partner(s, STREAM_DISTANCE, STREAM_PLACE, i, t, draws + 1);
}

kry_status kryi_problem_powerlaw(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return draw(s, &(draw_rules){ powerlaw_draws, powerlaw_partner }, &anything, of, A);
}

/* ---- circuit_spd: wires of all lengths and conductances ------------------------------------- */

static int64_t wires(const spec *s, int64_t i)
{
    (void)i;
    return s->size > 4 ? 4 : s->size - 1;
}

static int64_t wire_end(const spec *s, int64_t i, int64_t t, int64_t draws)
{
    (void)draws;
    return near_partner(s, STREAM_AWAY, STREAM_WIRE, i, t, 5);
}

kry_status kryi_problem_circuit(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    const values_of network = { conductance, pow(10, -s->number), true };
    return draw(s, &(draw_rules){ wires, wire_end }, &network, of, A);
}

/* ---- banded_spd ------------------------------------------------------------------------- */

static kry_status rows_and_values(const spec *s, kryi_problem_row *row, kryi_problem_range of,
                                  kryi_problem_csr *A)
{
    kry_status st = KRY_OK;
    TRY(kryi_problem_make_rows(row, s, false, of, A));
    fill_values(s, &anything, of.first, A);
done:
    return st;
}

static int64_t banded_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const spec *s = self;
    int64_t count = 0, first = i > s->k ? i - s->k : 0;
    int64_t last = i + s->k < s->size ? i + s->k : s->size - 1;

    (void)val;
    for (int64_t j = first; j <= last; j++) {
        uint64_t pair = (uint64_t)(i < j ? i : j) << 32 | (uint64_t)(i < j ? j : i);
        if (i != j && kry_random_unit(s->seed, STREAM_BAND, pair) >= 1.0 / 3) continue;
        if (col) col[count] = (int32_t)j;
        count++;
    }
    return count;
}

kry_status kryi_problem_banded(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return rows_and_values(s, banded_row, of, A);
}

/* ---- block_spd -------------------------------------------------------------------------- */

/* Nodes of k unknowns each fill a cube, x fastest, and are coupled to the 26 around them. The last
 * node may be cut. */
static int64_t block_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const spec *s = self;
    int64_t nodes = (s->size + s->k - 1) / s->k, node = i / s->k, count = 0;
    int64_t side = (int64_t)ceil(cbrt((double)nodes) - 1e-9);
    int64_t x = node % side, y = node / side % side;

    (void)val;
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

kry_status kryi_problem_block(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    return rows_and_values(s, block_row, of, A);
}

/* ---- geograph_spd ---------------------------------------------------------------------------- */

/* The points of the unit square, cell by cell, x first; a cell is as wide as the radius, or more. Only some rows of cells
 * are there, which have the points `base` ... base + count - 1. */
typedef struct cloud {
    int64_t cells;     /* a side */
    double radius;     /* of n in a unit square: about 7 others within */
    int64_t low, high; /* rows of cells low ... high - 1 */
    int64_t base, count;
    double *x, *y;  /* count */
    int64_t *first; /* (high - low) * cells + 2: where the points of a cell begin, from `base` */
} cloud;

static int64_t cell_at(const cloud *c, double x) { return (int64_t)(x * (double)c->cells); }

static void throw_point(const spec *s, int64_t i, double *x, double *y)
{
    *x = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i);
    *y = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i + 1);
}

/* Which of the cells that are there a point is in; -1: in none. */
static int64_t cell_of(const cloud *c, double x, double y)
{
    const int64_t row = cell_at(c, y);
    return row < c->low || row >= c->high ? -1 : cell_at(c, x) + c->cells * (row - c->low);
}

/* The rows of cells that have these points, and those beside them; and how many points there are before and in them. */
static kry_status find_cells(const spec *s, kryi_problem_range of, cloud *c)
{
    kry_status st = KRY_OK;
    int64_t *begin = NULL; /* of the points of each row of cells */
    double x, y;

    TRY(kryi_allocate((size_t)c->cells + 1, sizeof *begin, &begin));
    for (int64_t i = 0; i < s->size; i++) {
        throw_point(s, i, &x, &y);
        begin[cell_at(c, y) + 1]++;
    }
    for (int64_t k = 0; k < c->cells; k++) begin[k + 1] += begin[k];
    while (c->low + 1 < c->cells && begin[c->low + 1] <= of.first) c->low++;
    for (c->high = c->low + 1; c->high < c->cells && begin[c->high] < of.first + of.rows;)
        c->high++;
    c->low -= c->low > 0;
    c->high += c->high < c->cells;
    c->base = begin[c->low], c->count = begin[c->high] - c->base;
done:
    free(begin);
    return st;
}

static kry_status cloud_create(const spec *s, kryi_problem_range of, cloud *c)
{
    kry_status st = KRY_OK;
    double x, y;

    c->radius = 1.5 / sqrt((double)s->size);
    c->cells = c->radius < 1 ? (int64_t)(1 / c->radius) : 1;
    TRY(find_cells(s, of, c));
    const int64_t cells = (c->high - c->low) * c->cells;
    TRY(kryi_allocate((size_t)c->count, sizeof *c->x, &c->x));
    TRY(kryi_allocate((size_t)c->count, sizeof *c->y, &c->y));
    TRY(kryi_allocate((size_t)cells + 2, sizeof *c->first, &c->first));
    for (int64_t i = 0; i < s->size; i++) {
        throw_point(s, i, &x, &y);
        const int64_t cell = cell_of(c, x, y);
        if (cell >= 0) c->first[cell + 2]++;
    }
    for (int64_t k = 1; k <= cells; k++) c->first[k + 1] += c->first[k];
    for (int64_t i = 0; i < s->size; i++) { /* first[k + 1]: where cell k goes on */
        throw_point(s, i, &x, &y);
        const int64_t cell = cell_of(c, x, y);
        if (cell < 0) continue;
        const int64_t at = c->first[cell + 1]++;
        c->x[at] = x, c->y[at] = y;
    }
done:
    return st;
}

/* The points within the radius of point i, itself among them. Three cells beside each other follow
 * each other, so that columns ascend. */
static int64_t geograph_row(const void *self, int64_t i, int32_t *col, double *val)
{
    const cloud *c = self;
    const int64_t k = i - c->base;
    int64_t cx = cell_at(c, c->x[k]), cy = cell_at(c, c->y[k]), count = 0;
    int64_t left = cx > 0 ? cx - 1 : 0, right = cx + 1 < c->cells ? cx + 1 : cx;

    (void)val;
    for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < c->cells; y++) {
        const int64_t row = c->cells * (y - c->low), end = c->first[right + row + 1];
        for (int64_t j = c->first[left + row]; j < end; j++) {
            double dx = c->x[k] - c->x[j], dy = c->y[k] - c->y[j];
            if (dx * dx + dy * dy > c->radius * c->radius) continue;
            if (col) col[count] = (int32_t)(c->base + j);
            count++;
        }
    }
    return count;
}

static double equal_entry(const spec *s, uint64_t pair) { return (void)s, (void)pair, -1; }

kry_status kryi_problem_geograph(const spec *s, kryi_problem_range of, kryi_problem_csr *A)
{
    static const values_of network = { equal_entry, 1e-3, true };
    kry_status st = KRY_OK;
    cloud c = { .low = 0 };

    TRY(cloud_create(s, of, &c));
    TRY(kryi_problem_make_rows(geograph_row, &c, false, of, A));
    fill_values(s, &network, of.first, A);
done:
    free(c.first);
    free(c.y);
    free(c.x);
    return st;
}
