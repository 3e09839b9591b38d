/*
 * cholesky_band.c - sparse Cholesky without a library: L keeps each row from its first entry to the
 * diagonal, for what is eliminated fills in no further than that.
 *
 *   l_ij := (e_ij - sum_p l_ip l_jp) / l_jj,  p from the later of the two rows' first entries
 *
 * Ordering    reverse Cuthill-McKee, from a vertex at the end of each component
 * Storage     about n times the bandwidth: of a grid of vectors, its shorter sides
 * Source      A. George, J. W. H. Liu, Computer solution of large sparse positive definite systems
 *             (1981): the envelope method, chapter 4
 */
#include "precond/cholesky.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 32 }; /* right-hand sides that a row of L is read for */

typedef struct factor {
    int64_t n;
    int64_t *order, *place; /* vector at a place; its inverse */
    int64_t *start; /* n+1: row i of L is L[start[i]] ... L[start[i+1]-1], the diagonal last */
    double *L;
    double *x; /* n-by-BLOCK, row by row */
} factor;

/* ---- ordering -------------------------------------------------------------------------------- */

typedef struct graph {
    const kry_sparse *E;
    int64_t n;
    int64_t *queue; /* n */
    bool *seen;     /* n */
} graph;

static int64_t degree(const graph *g, int64_t i) { return g->E->row_ptr[i + 1] - g->E->row_ptr[i]; }

/* Put queue[from] ... queue[to-1] in the order of their degrees; they are few. */
static void sort_by_degree(const graph *g, int64_t from, int64_t to)
{
    for (int64_t a = from + 1; a < to; a++) {
        int64_t v = g->queue[a], b = a;
        for (; b > from && degree(g, g->queue[b - 1]) > degree(g, v); b--)
            g->queue[b] = g->queue[b - 1];
        g->queue[b] = v;
    }
}

/* Breadth first from `root` into queue[from] ...; returns where it ends, and in *last where the
 * last level begins. */
static int64_t walk(graph *g, int64_t root, int64_t from, int64_t *last)
{
    int64_t end = from, level_end = from + 1;

    g->queue[end++] = root, g->seen[root] = true;
    *last = from;
    for (int64_t at = from; at < end; at++) {
        if (at == level_end) *last = at, level_end = end;
        int64_t v = g->queue[at], begin = end;
        for (int64_t e = g->E->row_ptr[v]; e < g->E->row_ptr[v + 1]; e++) {
            int64_t w = g->E->col[e];
            if (w < g->n && !g->seen[w]) g->queue[end++] = w, g->seen[w] = true;
        }
        sort_by_degree(g, begin, end);
    }
    return end;
}

/* Number the component of `root` from the end of a walk that started at the end of another. */
static int64_t number_component(graph *g, int64_t root, int64_t from)
{
    int64_t last, end = from;
    for (int round = 0; round < 3; round++) {
        end = walk(g, root, from, &last);
        if (round == 2) break;
        sort_by_degree(g, last, end);
        root = g->queue[last];
        for (int64_t at = from; at < end; at++) g->seen[g->queue[at]] = false;
    }
    return end;
}

static kry_status make_order(factor *f, const kry_sparse *E)
{
    kry_status st = KRY_OK;
    graph g = { .E = E, .n = f->n };
    int64_t done = 0;

    TRY(kry_alloc((size_t)f->n, sizeof *g.queue, &g.queue));
    TRY(kry_alloc((size_t)f->n, sizeof *g.seen, &g.seen));
    for (int64_t i = 0; i < f->n; i++)
        if (!g.seen[i]) done = number_component(&g, i, done);
    for (int64_t i = 0; i < f->n; i++) {
        f->order[i] = g.queue[f->n - 1 - i];
        f->place[f->order[i]] = i;
    }
done:
    free(g.seen);
    free(g.queue);
    return st;
}

/* The place of the first entry of row i. */
static int64_t first_of(const factor *f, const kry_sparse *E, int64_t i)
{
    int64_t first = i, v = f->order[i];
    for (int64_t e = E->row_ptr[v]; e < E->row_ptr[v + 1]; e++)
        if (E->col[e] < f->n && f->place[E->col[e]] < first) first = f->place[E->col[e]];
    return first;
}

/* ---- the factor ------------------------------------------------------------------------------ */

static void band_destroy(void *self)
{
    factor *f = self;
    if (!f) return;
    free(f->x);
    free(f->L);
    free(f->start);
    free(f->place);
    free(f->order);
    free(f);
}

/* Four sums, for a single one would wait for itself. */
static double dot(const double *a, const double *b, int64_t n)
{
    double s[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; l++) s[l] += a[i + l] * b[i + l];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* first: the column of L[start[i]] */
static int64_t row_first(const factor *f, int64_t i)
{
    return i + 1 - (f->start[i + 1] - f->start[i]);
}

static void scatter_row(const factor *f, const kry_sparse *E, int64_t i, double *row)
{
    int64_t first = row_first(f, i), v = f->order[i];
    const double *val = E->val;

    for (int64_t j = 0; j <= i - first; j++) row[j] = 0;
    for (int64_t e = E->row_ptr[v]; e < E->row_ptr[v + 1]; e++)
        if (E->col[e] < f->n && f->place[E->col[e]] <= i) row[f->place[E->col[e]] - first] = val[e];
}

static kry_status factorise(factor *f, const kry_sparse *E)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < f->n; i++) {
        double *row = f->L + f->start[i];
        int64_t first = row_first(f, i);
        scatter_row(f, E, i, row);
        for (int64_t j = first; j < i; j++) {
            const double *other = f->L + f->start[j];
            int64_t other_first = row_first(f, j), from = first > other_first ? first : other_first;
            double sum = dot(row + (from - first), other + (from - other_first), j - from);
            row[j - first] = (row[j - first] - sum) / other[j - other_first];
        }
        double entry = row[i - first], pivot = entry - dot(row, row, i - first);
        if (!kry_cholesky_pivot_fits(pivot, entry, f->n))
            TRY(kry_cholesky_dependent(E, f->order[i]));
        row[i - first] = sqrt(pivot);
    }
done:
    return st;
}

static kry_status band_create(const kry_sparse *E, int64_t n, void **self)
{
    kry_status st = KRY_OK;
    factor *f = NULL;
    size_t rows = (size_t)n;

    *self = NULL;
    TRY(kry_alloc(1, sizeof *f, &f));
    f->n = n;
    TRY(kry_alloc(rows, sizeof *f->order, &f->order));
    TRY(kry_alloc(rows, sizeof *f->place, &f->place));
    TRY(kry_alloc(rows + 1, sizeof *f->start, &f->start));
    TRY(kry_alloc(rows * BLOCK, sizeof *f->x, &f->x));
    TRY(make_order(f, E));
    for (int64_t i = 0; i < n; i++) f->start[i + 1] = f->start[i] + i - first_of(f, E, i) + 1;
    TRY(kry_alloc((size_t)f->start[n], sizeof *f->L, &f->L));
    TRY(factorise(f, E));
    *self = f;
    f = NULL;
done:
    band_destroy(f);
    return st;
}

/* x := (L L')^-1 x for `columns` right-hand sides; element c of row i is x[i * columns + c]. */
static void solve_rows(const factor *f, double *x, int columns)
{
    for (int64_t i = 0; i < f->n; i++) { /* L y = x */
        const double *row = f->L + f->start[i], *other = x + row_first(f, i) * columns;
        double *here = x + i * columns, diagonal = f->L[f->start[i + 1] - 1];
        for (; row < f->L + f->start[i + 1] - 1; row++, other += columns)
            for (int c = 0; c < columns; c++) here[c] -= *row * other[c];
        for (int c = 0; c < columns; c++) here[c] /= diagonal;
    }
    for (int64_t i = f->n - 1; i >= 0; i--) { /* L' x = y */
        const double *row = f->L + f->start[i], diagonal = f->L[f->start[i + 1] - 1];
        double *here = x + i * columns, *other = x + row_first(f, i) * columns;
        for (int c = 0; c < columns; c++) here[c] /= diagonal;
        for (; row < f->L + f->start[i + 1] - 1; row++, other += columns)
            for (int c = 0; c < columns; c++) other[c] -= *row * here[c];
    }
}

static kry_status band_solve(void *self, double *x, int64_t columns)
{
    const factor *f = self;

    for (int64_t done = 0; done < columns; done += BLOCK, x += f->n * BLOCK) {
        int m = columns - done < BLOCK ? (int)(columns - done) : BLOCK;
        for (int64_t i = 0; i < f->n; i++)
            for (int c = 0; c < m; c++) f->x[i * m + c] = x[f->order[i] + c * f->n];
        solve_rows(f, f->x, m);
        for (int64_t i = 0; i < f->n; i++)
            for (int c = 0; c < m; c++) x[f->order[i] + c * f->n] = f->x[i * m + c];
    }
    return KRY_OK;
}

static double band_bytes(const void *self)
{
    const factor *f = self;
    return (double)f->start[f->n] * sizeof *f->L;
}

const kry_cholesky_engine kry_cholesky_band = {
    .name = "cholesky banded",
    .create = band_create,
    .solve = band_solve,
    .bytes = band_bytes,
    .destroy = band_destroy,
};
