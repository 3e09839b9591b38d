/*
 * problem_random.c - random matrices with a dominant diagonal that stand in for large matrices that
 * cannot be shipped, and the Laplacians of networks. All but the first are symmetric.
 *
 *   random        entries anywhere
 *   random_spd    the same, symmetric
 *   powerlaw_spd  rows of very different lengths, as circuits and networks have
 *   banded_spd    a third of a band
 *   block_spd     dense blocks, as finite elements of elasticity have
 *   geograph_spd  points in the plane, coupled to those nearby
 *   circuit_spd   wires of all lengths and conductances
 *
 * A pattern is made in one of two ways: each row draws partners, and is coupled to those that drew
 * it, too; or each row knows its columns.
 */
#include "io/problem.h"
#include "sparse/entries.h"
#include <math.h>
#include <stdlib.h>

typedef kry_problem_spec spec;

/* Streams of random numbers; 3 makes solutions, 21 is taken in problem_mesh.c. */
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

/* a_ij = entry(s, pair), of a symmetric p the same for a_ji. a_ii = sum |a_ij| + ground, or for ground 0
 * plus a random number in [0.1, 1.1). And a solution. */
static kry_status make_values(const spec *s, double (*entry)(const spec *s, uint64_t pair),
                              double ground, kry_problem *p)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)p->nnz, sizeof(double), &p->val));
    for (int64_t i = 0; i < p->n; i++) {
        double sum = ground;
        int64_t diagonal = p->row_ptr[i];
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            uint64_t j = (uint64_t)p->col[e], k = (uint64_t)i;
            if (j == k) diagonal = e;
            if (j == k) continue;
            const bool swaps = j < k && (p->traits & KRY_POSITIVE);
            p->val[e] = entry(s, swaps ? j << 32 | k : k << 32 | j);
            sum += fabs(p->val[e]);
        }
        p->val[diagonal] =
            ground > 0 ? sum : sum + 0.1 + kry_random_unit(s->seed, STREAM_DIAGONAL, (uint64_t)i);
    }
    TRY(kry_problem_make_solution(s->seed, p));
done:
    return st;
}

/* Uniform in [-1, 1). */
static double random_entry(const spec *s, uint64_t pair)
{
    return 2 * kry_random_unit(s->seed, STREAM_VALUE, pair) - 1;
}

static double equal_entry(const spec *s, uint64_t pair) { return (void)s, (void)pair, -1; }

static double conductance(const spec *s, uint64_t pair)
{
    return -pow(10, -s->number * kry_random_unit(s->seed, STREAM_CONDUCTANCE, pair));
}

/* ---- patterns of rows that draw partners -------------------------------------------------- */

/* Row i draws draws(s, i) partners; partner t is partner(s, i, t, draws), not i itself. */
typedef struct drawing {
    int64_t (*draws)(const spec *s, int64_t i);
    int64_t (*partner)(const spec *s, int64_t i, int64_t t, int64_t draws);
} drawing;

/* Make the pattern, with the diagonal: p->n, nnz, row_ptr and col. */
static kry_status draw(const spec *s, const drawing *d, kry_storage storage, kry_problem *p)
{
    kry_status st = KRY_OK;
    int32_t *row = NULL, *col = NULL;
    int64_t drawn = 0;
    kry_sparse A = { 0 };

    p->n = s->size;
    for (int64_t i = 0; i < p->n; i++) drawn += 1 + d->draws(s, i);
    TRY(kry_alloc((size_t)drawn, sizeof *row, &row));
    TRY(kry_alloc((size_t)drawn, sizeof *col, &col));
    for (int64_t i = 0, e = 0; i < p->n; i++) {
        int64_t draws = d->draws(s, i);
        for (int64_t t = -1; t < draws; t++, e++) {
            row[e] = (int32_t)i;
            col[e] = (int32_t)(t < 0 ? i : d->partner(s, i, t, draws));
        }
    }
    const kry_entries pairs = {
        "kry_problem_create", { p->n, p->n, KRY_F64, NULL, col, NULL }, row, drawn
    };
    TRY(kry_entries_compress(&pairs, KRY_MATRIX(.storage = storage, .duplicates = KRY_SUM), &A,
                             NULL));
    p->row_ptr = A.row_ptr, p->col = A.col, p->nnz = A.row_ptr[p->n];
done:
    free(col);
    free(row);
    return st;
}

static kry_status create_drawn(const spec *s, const drawing *d, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(draw(s, d, KRY_SYMMETRIC_HALF, p));
    TRY(make_values(s, random_entry, 0, p));
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
    return create_drawn(s, &(drawing){ random_draws, random_partner }, p);
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

kry_status kry_problem_general_random(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;

    p->traits = 0;
    TRY(draw(s, &(drawing){ general_draws, general_partner }, KRY_GENERAL, p));
    TRY(make_values(s, random_entry, 0, p));
done:
    return st;
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

kry_status kry_problem_powerlaw(const spec *s, kry_problem *p)
{
    return create_drawn(s, &(drawing){ powerlaw_draws, powerlaw_partner }, p);
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

kry_status kry_problem_circuit(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    TRY(draw(s, &(drawing){ wires, wire_end }, KRY_SYMMETRIC_HALF, p));
    TRY(make_values(s, conductance, pow(10, -s->number), p));
done:
    return st;
}

/* ---- banded_spd ------------------------------------------------------------------------- */

static kry_status create_by_rows(const spec *s, kry_problem_row *row, kry_problem *p)
{
    kry_status st = KRY_OK;
    p->n = s->size;
    TRY(kry_problem_make_rows(row, s, false, p));
    TRY(make_values(s, random_entry, 0, p));
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

kry_status kry_problem_banded(const spec *s, kry_problem *p)
{
    return create_by_rows(s, banded_row, p);
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

kry_status kry_problem_block(const spec *s, kry_problem *p)
{
    return create_by_rows(s, block_row, p);
}

/* ---- geograph_spd: random points, coupled if near ------------------------------------------ */

/* The points of the unit square, cell by cell, x first; a cell is as wide as the radius, or more. */
typedef struct cloud {
    int64_t n, cells; /* cells a side */
    double radius;    /* of n in a unit square: about 7 others within */
    double *x, *y;    /* n */
    int64_t *first;   /* cells^2 + 1 */
} cloud;

static int64_t cell_at(const cloud *c, double x) { return (int64_t)(x * (double)c->cells); }

static void throw_point(const spec *s, int64_t i, double *x, double *y)
{
    *x = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i);
    *y = kry_random_unit(s->seed, STREAM_POINT, 2 * (uint64_t)i + 1);
}

static kry_status cloud_create(const spec *s, cloud *c)
{
    kry_status st = KRY_OK;
    double x, y;

    c->n = s->size;
    c->radius = 1.5 / sqrt((double)c->n);
    c->cells = c->radius < 1 ? (int64_t)(1 / c->radius) : 1;
    TRY(kry_alloc((size_t)c->n, sizeof *c->x, &c->x));
    TRY(kry_alloc((size_t)c->n, sizeof *c->y, &c->y));
    TRY(kry_alloc((size_t)(c->cells * c->cells) + 2, sizeof *c->first, &c->first));
    for (int64_t i = 0; i < c->n; i++) {
        throw_point(s, i, &x, &y);
        c->first[cell_at(c, x) + c->cells * cell_at(c, y) + 2]++;
    }
    for (int64_t k = 1; k <= c->cells * c->cells; k++) c->first[k + 1] += c->first[k];
    for (int64_t i = 0; i < c->n; i++) { /* first[k + 1]: where cell k goes on */
        throw_point(s, i, &x, &y);
        int64_t at = c->first[cell_at(c, x) + c->cells * cell_at(c, y) + 1]++;
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
    int64_t cx = cell_at(c, c->x[i]), cy = cell_at(c, c->y[i]), count = 0;
    int64_t left = cx > 0 ? cx - 1 : 0, right = cx + 1 < c->cells ? cx + 1 : cx;

    (void)val;
    for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < c->cells; y++) {
        int64_t end = c->first[right + c->cells * y + 1];
        for (int64_t j = c->first[left + c->cells * y]; j < end; j++) {
            double dx = c->x[i] - c->x[j], dy = c->y[i] - c->y[j];
            if (dx * dx + dy * dy > c->radius * c->radius) continue;
            if (col) col[count] = (int32_t)j;
            count++;
        }
    }
    return count;
}

kry_status kry_problem_geograph(const spec *s, kry_problem *p)
{
    kry_status st = KRY_OK;
    cloud c = { .n = 0 };

    TRY(cloud_create(s, &c));
    p->n = c.n;
    TRY(kry_problem_make_rows(geograph_row, &c, false, p));
    TRY(make_values(s, equal_entry, 1e-3, p));
done:
    free(c.first);
    free(c.y);
    free(c.x);
    return st;
}
