/*
 * bench_hpcg.c - kry bench hpcg: conjugate gradients with the multigrid of HPCG 3.1, its tests and its rating.
 *
 *   A      27 points of a grid: 26 on the diagonal, -1 to each neighbour; b = A 1; solves begin with x = 0
 *   M      four levels, grids of every second point, injection both ways; before and after a coarser level, and alone on the
 *          coarsest, a symmetric sweep of Gauss and Seidel
 *   Order  by colours: points whose coordinates have the same parities do not touch each other. Of each colour the entries in
 *          columns of colours before it in a sweep, L, and behind it, U, are matrices with indices of 32 bits. Colour 0
 *          has the points of the coarser grid, in that grid's order: injection is a view of a vector
 *   Words  a sweep forward and backward from x = 0 reads L and U once: forward D x = b - L x, backward x -= D^-1 U x. Any other one
 *          keeps b - L x of the way forward and reads U twice
 *   Rules  operations are counted as by HPCG's formulas. A set has as many iterations as the residual needs to fall as far as in
 *          50 of the sequential order on the host; more than 50 lower the rating, and so does a tenth of the set-up, which each
 *          set is charged with
 *   Source J. Dongarra, M. A. Heroux, P. Luszczek, Int. J. High Perform. Comput. Appl. 30 (2016), 3-10
 */
#include "bench.h"
#include "hpcg_host.h"
#include "json.h"
#include <float.h>
#include <kry/formats.h>
#include <kry/solver.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = HPCG_LEVELS, COLOURS = 8, REFERENCE = 50, MOST_ITERATIONS = 10 * REFERENCE };

/* Colours as a sweep takes them. After a sweep the residual of its last colour is 0, so colour 0, which the coarser grid
 * corrects, is not at an end. Of 58 orders this one took the fewest iterations: 49 on 32^3 points and 51 on 64^3, where
 * 0 to 7 took 57 on 32^3. */
static const int sweep_order[COLOURS] = { 7, 3, 4, 2, 5, 0, 1, 6 };

typedef struct grid {
    int64_t size[3], n, entries;
    int64_t begin[COLOURS + 1]; /* where colours begin in the device's order */
} grid;

typedef struct level {
    grid g;
    kry_op *lower[COLOURS], *upper[COLOURS]; /* rows of a colour, all columns; NULL: no entries */
    kry_vec *diagonal, *inverse;             /* D, D^-1 */
    kry_vec *forward, *rest; /* room for b - L x of the way forward, and for a residual */
    kry_vec *b, *x;          /* of a level below the finest, else NULL */
} level;

typedef struct hpcg {
    const bench *bench;
    level levels[LEVELS];
    kry_op *A, *M, *plain, *preconditioned; /* the last two: solvers without M and with it */
    kry_vec *b, *x;
    double setup_seconds;
} hpcg;

/* Results of the tests and of the timed part. */
typedef struct findings {
    double reference; /* ||r|| / ||b|| after 50 iterations in sequential order */
    int64_t spectral
        [2]; /* iterations without M and with it, of matrices whose diagonal dominates by far */
    double asymmetry[2]; /* of A and of M, in units of what is allowed */
    int64_t iterations, sets;
    double seconds;        /* of all sets */
    double mean, variance; /* of ||r|| / ||b|| of the sets */
    bool valid;
} findings;

/* ---- the grid ------------------------------------------------------------------------------ */

static int colour_of(const int64_t at[3])
{
    return (int)(at[0] & 1) + 2 * (int)(at[1] & 1) + 4 * (int)(at[2] & 1);
}

/* Points of a colour along an axis. */
static int64_t count_along(const grid *g, int colour, int axis)
{
    return (g->size[axis] + 1 - (colour >> axis & 1)) / 2;
}

static void number_points(grid *g)
{
    g->n = g->size[0] * g->size[1] * g->size[2];
    g->entries = 1;
    for (int a = 0; a < 3; a++) g->entries *= 3 * g->size[a] - 2;
    g->begin[0] = 0;
    for (int c = 0; c < COLOURS; c++)
        g->begin[c + 1] =
            g->begin[c] + count_along(g, c, 0) * count_along(g, c, 1) * count_along(g, c, 2);
}

/* The row of a point on the device. */
static int64_t row_of(const level *levels, int depth, const int64_t at[3])
{
    const grid *g = &levels[depth].g;
    const int colour = colour_of(at);
    const int64_t half[3] = { at[0] / 2, at[1] / 2, at[2] / 2 };

    if (colour == 0 && depth + 1 < LEVELS) return row_of(levels, depth + 1, half);
    return g->begin[colour] +
           (half[2] * count_along(g, colour, 1) + half[1]) * count_along(g, colour, 0) + half[0];
}

/* ---- matrices ------------------------------------------------------------------------------ */

/* The entries of a colour's rows in some columns, all of them -1. */
typedef struct part {
    int64_t rows, *row_ptr; /* [rows+1] */
    int32_t *col;
    double *val;
} part;

static void part_release(part *p) { free(p->row_ptr), free(p->col), free(p->val); }

/* Call for every point of a colour: its neighbours in the colours of `mask` are the entries of its row. With p->col
 * NULL they are counted in row_ptr[row + 1]. */
static void visit_row(const level *levels, int depth, const int64_t at[3], unsigned mask, part *p)
{
    const grid *g = &levels[depth].g;
    const int64_t row = row_of(levels, depth, at) - g->begin[colour_of(at)];
    int32_t *col = p->col ? p->col + p->row_ptr[row] : NULL;
    int64_t count = 0;

    for (int k = 0; k < 27; k++) {
        const int64_t to[3] = { at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1 };
        bool inside = true;
        for (int a = 0; a < 3; a++) inside = inside && to[a] >= 0 && to[a] < g->size[a];
        if (!inside || !(mask >> colour_of(to) & 1)) continue;
        if (col) {
            const int32_t j = (int32_t)row_of(levels, depth, to);
            int64_t place = count;
            for (; place > 0 && col[place - 1] > j; place--) col[place] = col[place - 1];
            col[place] = j;
        }
        count++;
    }
    if (!col) p->row_ptr[row + 1] = count;
}

static void visit_colour(const level *levels, int depth, int colour, unsigned mask, part *p)
{
    const int64_t *size = levels[depth].g.size;
    int64_t at[3];

    for (at[2] = colour >> 2 & 1; at[2] < size[2]; at[2] += 2)
        for (at[1] = colour >> 1 & 1; at[1] < size[1]; at[1] += 2)
            for (at[0] = colour & 1; at[0] < size[0]; at[0] += 2)
                visit_row(levels, depth, at, mask, p);
}

/* A := the entries of a colour's rows in columns of the colours of `mask`; NULL if there are none. */
static kry_status make_part(const hpcg *h, int depth, int colour, unsigned mask, kry_op **A)
{
    kry_status st = KRY_OK;
    const grid *g = &h->levels[depth].g;
    part p = { .rows = g->begin[colour + 1] - g->begin[colour] };
    kry_matrix_params params = *KRY_MATRIX(.values = KRY_VALUES_AS_GIVEN);

    params.format = h->bench->form.matrix.format;
    TRY(allocate((uint64_t)p.rows + 1, sizeof *p.row_ptr, &p.row_ptr));
    visit_colour(h->levels, depth, colour, mask, &p);
    for (int64_t i = 0; i < p.rows; i++) p.row_ptr[i + 1] += p.row_ptr[i];
    const int64_t entries = p.row_ptr[p.rows];
    if (entries == 0) goto done;
    TRY(allocate((uint64_t)entries, sizeof *p.col, &p.col));
    TRY(allocate((uint64_t)entries, sizeof *p.val, &p.val));
    visit_colour(h->levels, depth, colour, mask, &p);
    for (int64_t e = 0; e < entries; e++) p.val[e] = -1;
    TRY(kry_csr_create(h->bench->device, KRY_F64, p.rows, g->n, p.row_ptr, p.col, p.val, &params,
                       A));
done:
    part_release(&p);
    return st;
}

static kry_status make_level(hpcg *h, int depth)
{
    kry_status st = KRY_OK;
    kry_device *dev = h->bench->device;
    level *l = &h->levels[depth];
    unsigned before = 0;

    for (int k = 0; k < COLOURS; k++) {
        const int colour = sweep_order[k];
        const unsigned behind = ~(before | 1u << colour) & ((1u << COLOURS) - 1);
        TRY(make_part(h, depth, colour, before, &l->lower[colour]));
        TRY(make_part(h, depth, colour, behind, &l->upper[colour]));
        before |= 1u << colour;
    }
    kry_vec **const vectors[] = { &l->diagonal, &l->inverse, &l->forward, &l->rest, &l->b, &l->x };
    for (size_t i = 0; i < (depth == 0 ? 4 : COUNT(vectors)); i++)
        TRY(kry_vec_create(dev, KRY_F64, l->g.n, 1, vectors[i]));
    TRY(kry_vec_fill(l->diagonal, 26));
    TRY(kry_vec_fill(l->inverse, 1.0 / 26));
done:
    return st;
}

static void release_level(level *l)
{
    kry_vec **const vectors[] = { &l->diagonal, &l->inverse, &l->forward, &l->rest, &l->b, &l->x };
    for (size_t i = 0; i < COUNT(vectors); i++) kry_vec_release(vectors[i]);
    for (int c = 0; c < COLOURS; c++) kry_op_release(&l->lower[c]), kry_op_release(&l->upper[c]);
}

/* ---- products and sweeps ------------------------------------------------------------------- */

/* Views of vectors: the rows of one colour. */
typedef struct rows {
    kry_vec *b, *x, *forward, *rest, *diagonal, *inverse;
} rows;

static void release_rows(rows *r)
{
    kry_vec **const views[] = { &r->b, &r->x, &r->forward, &r->rest, &r->diagonal, &r->inverse };
    for (size_t i = 0; i < COUNT(views); i++) kry_vec_release(views[i]);
}

static kry_status take_rows(const level *l, int colour, const kry_vec *b, const kry_vec *x, rows *r)
{
    kry_status st = KRY_OK;
    const int64_t first = l->g.begin[colour], count = l->g.begin[colour + 1] - first;
    const struct {
        const kry_vec *of;
        kry_vec **view;
    } views[] = { { b, &r->b },
                  { x, &r->x },
                  { l->forward, &r->forward },
                  { l->rest, &r->rest },
                  { l->diagonal, &r->diagonal },
                  { l->inverse, &r->inverse } };

    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < COUNT(views); i++)
        TRY(kry_vec_block(views[i].of, first, count, 0, 1, views[i].view));
done:
    return st;
}

/* r := b - T x for rows of a colour; T NULL: zero */
static kry_status subtract(const kry_op *T, const kry_vec *x, const kry_vec *b, kry_vec *r)
{
    return T ? kry_op_residual(T, b, x, r) : b == r ? KRY_OK : kry_vec_copy(b, r);
}

/* Forward: x := D^-1 (b - L x - U x), and b - L x is kept. zero: x is 0 yet, in rows that were not reached. */
static kry_status sweep_forward(const level *l, int colour, bool zero, const kry_vec *x, rows *r)
{
    kry_status st = KRY_OK;

    TRY(subtract(l->lower[colour], x, r->b, r->forward));
    if (!zero && l->upper[colour]) {
        TRY(subtract(l->upper[colour], x, r->forward, r->rest));
        return kry_vec_mul(1, r->inverse, r->rest, 0, r->x);
    }
    TRY(kry_vec_mul(1, r->inverse, r->forward, 0, r->x));
done:
    return st;
}

/* Backward: x := D^-1 (b - L x - U x) from what was kept. zero: x is that of the way forward, from 0, which had no U yet. */
static kry_status sweep_backward(const level *l, int colour, bool zero, const kry_vec *x, rows *r)
{
    kry_status st = KRY_OK;

    if (!l->upper[colour]) return KRY_OK;
    if (zero) {
        TRY(kry_op_apply(l->upper[colour], -1, x, 0, r->rest));
        return kry_vec_mul(1, r->inverse, r->rest, 1, r->x);
    }
    TRY(subtract(l->upper[colour], x, r->forward, r->rest));
    TRY(kry_vec_mul(1, r->inverse, r->rest, 0, r->x));
done:
    return st;
}

/* x := a symmetric sweep for A x = b */
static kry_status smooth(const level *l, bool zero, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;
    rows r = { 0 };

    for (int k = 0; k < 2 * COLOURS; k++) {
        const bool back = k >= COLOURS;
        const int colour = sweep_order[back ? 2 * COLOURS - 1 - k : k];
        TRY(take_rows(l, colour, b, x, &r));
        TRY(back ? sweep_backward(l, colour, zero, x, &r) : sweep_forward(l, colour, zero, x, &r));
        release_rows(&r);
    }
done:
    release_rows(&r);
    return st;
}

/* x := M b, of the levels from `depth` on */
static kry_status cycle(const level *levels, int depth, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;
    const level *l = &levels[depth];
    rows r = { 0 };

    TRY(smooth(l, true, b, x));
    if (depth + 1 == LEVELS) goto done;
    const level *coarser = &levels[depth + 1];
    TRY(take_rows(l, 0, b, x, &r));
    TRY(subtract(l->lower[0], x, r.b, r.rest));
    TRY(subtract(l->upper[0], x, r.rest, coarser->b));
    TRY(kry_vec_mul(-1, r.diagonal, r.x, 1, coarser->b));
    TRY(cycle(levels, depth + 1, coarser->b, coarser->x));
    TRY(kry_vec_axpby(1, coarser->x, 1, r.x));
    TRY(smooth(l, false, b, x));
done:
    release_rows(&r);
    return st;
}

static kry_status apply_M(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    const hpcg *h = self;

    CHECK(alpha == 1 && beta == 0, KRY_ERR_UNSUPPORTED, "the cycle is y := M x alone");
    TRY(cycle(h->levels, 0, x, y));
done:
    return st;
}

static kry_status apply_A(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    const level *l = ((const hpcg *)self)->levels;
    rows r = { 0 };

    for (int c = 0; c < COLOURS; c++) {
        const kry_op *const parts[] = { l->lower[c], l->upper[c] };
        double keep = beta;
        TRY(take_rows(l, c, x, y, &r)); /* r.b: of x, r.x: of y */
        for (size_t i = 0; i < COUNT(parts); i++) {
            if (!parts[i]) continue;
            TRY(kry_op_apply(parts[i], alpha, x, keep, r.x));
            keep = 1;
        }
        TRY(kry_vec_mul(alpha, r.diagonal, r.b, keep, r.x));
        release_rows(&r);
    }
done:
    release_rows(&r);
    return st;
}

/* ---- set-up -------------------------------------------------------------------------------- */

static const kry_op_table table_A = { .struct_size = sizeof(kry_op_table),
                                      .kind = "hpcg",
                                      .apply = apply_A },
                          table_M = { .struct_size = sizeof(kry_op_table),
                                      .kind = "hpcg multigrid",
                                      .apply = apply_M };

/* b := A 1 */
static kry_status make_rhs(hpcg *h)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_create(h->bench->device, KRY_F64, h->levels[0].g.n, 1, &h->b));
    TRY(kry_vec_create(h->bench->device, KRY_F64, h->levels[0].g.n, 1, &h->x));
    TRY(kry_vec_fill(h->x, 1));
    TRY(kry_op_apply(h->A, 1, h->x, 0, h->b));
done:
    return st;
}

static kry_status set_up(hpcg *h)
{
    kry_status st = KRY_OK;
    kry_device *dev = h->bench->device;
    const kry_op_shape shape = { h->levels[0].g.n, h->levels[0].g.n, KRY_F64, KRY_POSITIVE };
    const kry_stop stop = { .max_iter = MOST_ITERATIONS, .test = KRY_STOP_NEVER };
    const double start = now();

    for (int depth = 0; depth < LEVELS; depth++) TRY(make_level(h, depth));
    TRY(kry_op_create(dev, &table_A, h, &shape, &h->A));
    TRY(kry_op_create(dev, &table_M, h, &shape, &h->M));
    TRY(kry_pcg_create(h->A, KRY_PCG(.stop = stop, .check = KRY_CHECK_NONE), &h->plain));
    TRY(kry_pcg_create(h->A, KRY_PCG(.stop = stop, .precond = h->M, .check = KRY_CHECK_NONE),
                       &h->preconditioned));
    TRY(make_rhs(h));
    TRY(kry_device_finish(dev));
    h->setup_seconds = now() - start;
done:
    return st;
}

static void release(hpcg *h)
{
    kry_op_release(&h->plain), kry_op_release(&h->preconditioned);
    kry_op_release(&h->A), kry_op_release(&h->M);
    kry_vec_release(&h->b), kry_vec_release(&h->x);
    for (int depth = 0; depth < LEVELS; depth++) release_level(&h->levels[depth]);
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Iterations of a solver until the residual of the recurrence is `reduction` times what it was; most + 1: more than `most` */
static kry_status iterations_until(const hpcg *h, kry_op *solver, int64_t most, double reduction,
                                   int64_t *iterations)
{
    kry_status st = KRY_OK;
    const kry_stop stop = { .max_iter = most, .test = KRY_STOP_NEVER };
    kry_result result;

    TRY(kry_solver_set_stop(solver, &stop));
    TRY(kry_vec_fill(h->x, 0));
    st = kry_solve(solver, h->b, h->x, &result);
    if (st < 0) goto done;
    st = KRY_OK; /* where nothing is left of the residual the recurrence breaks down */
    *iterations = most + 1;
    for (int64_t i = result.history_count - 1; i >= 0; i--)
        if (result.history[i] <= reduction * result.history[0]) *iterations = i;
done:
    return st;
}

/* Multiply the rows of A and b that are the first nine points' by 2e6 ... 10e6, and all others by 1e6: in A the diagonal alone.
 * CG then ends within about as many iterations as there are different rows, with M in one. */
static kry_status test_spectrum(hpcg *h, findings *f)
{
    kry_status st = KRY_OK;
    const level *l = h->levels;
    const int64_t n = l->g.n, *size = l->g.size;
    kry_vec *saved = NULL, *scale = NULL;
    double *numbers = NULL;

    TRY(allocate((uint64_t)n, sizeof *numbers, &numbers));
    TRY(kry_vec_create(h->bench->device, KRY_F64, n, 1, &scale));
    TRY(kry_vec_create(h->bench->device, KRY_F64, n, 1, &saved));
    TRY(kry_vec_copy(h->b, saved));
    for (int64_t i = 0; i < n; i++) numbers[i] = 1e6;
    for (int64_t i = 0; i < 9; i++)
        numbers[row_of(h->levels, 0,
                       (const int64_t[]){ i % size[0], i / size[0] % size[1],
                                          i / (size[0] * size[1]) })] = 1e6 * (double)(i + 2);
    TRY(kry_vec_write(scale, numbers));
    TRY(kry_vec_mul(1, scale, saved, 0, h->b));
    TRY(kry_vec_axpby(26, scale, 0, l->diagonal));
    for (int64_t i = 0; i < n; i++) numbers[i] = 1 / (26 * numbers[i]);
    TRY(kry_vec_write(l->inverse, numbers));
    TRY(iterations_until(h, h->plain, REFERENCE, 1e-12, &f->spectral[0]));
    TRY(iterations_until(h, h->preconditioned, REFERENCE, 1e-12, &f->spectral[1]));
    TRY(kry_vec_fill(l->diagonal, 26));
    TRY(kry_vec_fill(l->inverse, 1.0 / 26));
    TRY(kry_vec_copy(saved, h->b));
done:
    kry_vec_release(&saved), kry_vec_release(&scale);
    free(numbers);
    return st;
}

/* |x'Ty - y'Tx| by what HPCG allows, for random x and y of numbers from 1 to 2 */
static kry_status test_symmetry(const hpcg *h, const kry_op *T, double *asymmetry)
{
    kry_status st = KRY_OK;
    kry_vec *v[2] = { NULL, NULL }, *image = NULL;
    double cross[2], squares[2];

    TRY(kry_vec_create(h->bench->device, KRY_F64, h->levels[0].g.n, 1, &image));
    for (int i = 0; i < 2; i++) {
        TRY(bench_vec(h->bench, h->levels[0].g.n, (uint64_t)i, &v[i]));
        TRY(kry_vec_fill(image, 1));
        TRY(kry_vec_axpby(1, image, 1, v[i]));
        TRY(kry_vec_dot(v[i], v[i], &squares[i]));
    }
    for (int i = 0; i < 2; i++) {
        TRY(kry_op_apply(T, 1, v[i], 0, image));
        TRY(kry_vec_dot(v[1 - i], image, &cross[i]));
    }
    *asymmetry = fabs(cross[0] - cross[1]) / (2 * 2 * 26.0 * squares[0] * squares[1] * DBL_EPSILON);
done:
    kry_vec_release(&v[0]), kry_vec_release(&v[1]), kry_vec_release(&image);
    return st;
}

/* ---- the timed part ------------------------------------------------------------------------ */

/* One set: iterations from x = 0. residual: ||r|| / ||b|| after them */
static kry_status run_set(const hpcg *h, double *seconds, double *residual)
{
    kry_status st = KRY_OK;
    kry_result result;

    TRY(kry_vec_fill(h->x, 0));
    TRY(kry_device_finish(h->bench->device));
    const double start = now();
    st = kry_solve(h->preconditioned, h->b, h->x, &result);
    if (st < 0) goto done;
    TRY(kry_device_finish(h->bench->device));
    *seconds = now() - start;
    *residual = result.residual / result.history[0];
done:
    return st;
}

static kry_status run_sets(const hpcg *h, double seconds, findings *f)
{
    kry_status st = KRY_OK;
    const kry_stop stop = { .max_iter = f->iterations, .test = KRY_STOP_NEVER };
    double squares = 0, once, residual;

    TRY(kry_solver_set_stop(h->preconditioned, &stop));
    TRY(run_set(h, &once, &residual));
    const int64_t sets = (int64_t)(seconds / once) + 1;
    for (f->sets = 0; f->sets < sets; f->sets++) {
        TRY(run_set(h, &once, &residual));
        f->seconds += once;
        const double step = residual - f->mean;
        f->mean += step / (double)(f->sets + 1);
        squares += step * (residual - f->mean);
    }
    f->variance = squares / (double)f->sets;
done:
    return st;
}

/* ---- the report ---------------------------------------------------------------------------- */

/* Operations and bytes of all sets, by HPCG's formulas. */
typedef struct work {
    double dot, update, product, cycle, total; /* operations */
    double read, written;                      /* bytes */
} work;

static work work_of(const hpcg *h, const findings *f)
{
    enum { NUMBER = 8, ENTRY = 12 }; /* bytes; ENTRY: with its index */
    const double sets = (double)f->sets, iterations = sets * (double)f->iterations,
                 n = (double)h->levels[0].g.n, entries = (double)h->levels[0].g.entries,
                 steps = 3 * iterations + sets;
    work w = { .dot = steps * 2 * n, .update = steps * 2 * n };

    w.product = (iterations + sets) * 2 * entries;
    w.read = steps * 4 * n * NUMBER + (iterations + sets) * (entries * ENTRY + n * NUMBER);
    w.written = steps * (1 + n) * NUMBER + (iterations + sets) * n * NUMBER;
    for (int depth = 0; depth < LEVELS; depth++) {
        const double m = (double)h->levels[depth].g.n, of = (double)h->levels[depth].g.entries;
        const int sweeps = depth + 1 < LEVELS ? 2 : 1, residuals = sweeps - 1;
        w.cycle += iterations * of * (4 * sweeps + 2 * residuals);
        w.read += iterations *
                  (of * ENTRY * (2 * sweeps + residuals) + m * NUMBER * (sweeps + residuals));
        w.written += iterations * m * NUMBER * (sweeps + residuals);
    }
    w.total = w.dot + w.update + w.product + w.cycle;
    return w;
}

typedef struct report {
    bool as_json;
    json j;
} report;

static void say_number(report *r, const char *name, double value)
{
    if (r->as_json)
        json_real(&r->j, name, value);
    else
        printf("%s=%.10g\n", name, value);
}

static void say_text(report *r, const char *name, const char *value)
{
    if (r->as_json)
        json_text(&r->j, name, value);
    else
        printf("%s=%s\n", name, value);
}

static void print_report(const hpcg *h, const findings *f)
{
    const work w = work_of(h, f);
    const grid *g = &h->levels[0].g;
    const double giga = 1e9 * f->seconds, overhead = (double)f->sets * h->setup_seconds / 10,
                 scale = f->iterations > REFERENCE ? (double)REFERENCE / (double)f->iterations : 1,
                 rating = w.total * scale / (f->seconds + overhead) / 1e9;
    report r = { .as_json = h->bench->o->json };

    if (r.as_json) r.j = json_begin(stdout);
    say_text(&r, "name", "hpcg");
    say_text(&r, "device", h->bench->info->name);
    say_number(&r, "Global Problem Dimensions::Global nx", (double)g->size[0]);
    say_number(&r, "Global Problem Dimensions::Global ny", (double)g->size[1]);
    say_number(&r, "Global Problem Dimensions::Global nz", (double)g->size[2]);
    say_number(&r, "Linear System Information::Number of Equations", (double)g->n);
    say_number(&r, "Linear System Information::Number of Nonzero Terms", (double)g->entries);
    say_number(&r, "Setup Information::Setup Time", h->setup_seconds);
    say_number(&r, "Spectral Convergence Tests::Unpreconditioned::Maximum iteration count",
               (double)f->spectral[0]);
    say_number(&r, "Spectral Convergence Tests::Preconditioned::Maximum iteration count",
               (double)f->spectral[1]);
    say_number(
        &r, "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Departure for SpMV",
        f->asymmetry[0]);
    say_number(
        &r, "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Departure for MG",
        f->asymmetry[1]);
    say_number(&r, "Iteration Count Information::Reference CG iterations per set", REFERENCE);
    say_number(&r, "Iteration Count Information::Optimized CG iterations per set",
               (double)f->iterations);
    say_number(&r, "Iteration Count Information::Reference residual reduction", f->reference);
    say_number(&r, "Reproducibility Information::Number of CG sets", (double)f->sets);
    say_number(&r, "Reproducibility Information::Scaled residual mean", f->mean);
    say_number(&r, "Reproducibility Information::Scaled residual variance", f->variance);
    say_number(&r, "Benchmark Time Summary::Total", f->seconds);
    say_number(&r, "Floating Point Operations Summary::Raw DDOT", w.dot);
    say_number(&r, "Floating Point Operations Summary::Raw WAXPBY", w.update);
    say_number(&r, "Floating Point Operations Summary::Raw SpMV", w.product);
    say_number(&r, "Floating Point Operations Summary::Raw MG", w.cycle);
    say_number(&r, "Floating Point Operations Summary::Total", w.total);
    say_number(&r, "GB/s Summary::Raw Read B/W", w.read / giga);
    say_number(&r, "GB/s Summary::Raw Write B/W", w.written / giga);
    say_number(&r, "GB/s Summary::Raw Total B/W", (w.read + w.written) / giga);
    say_number(&r, "GFLOP/s Summary::Raw Total", w.total / giga);
    say_number(&r, "GFLOP/s Summary::Total with convergence overhead", w.total * scale / giga);
    say_number(&r, "GFLOP/s Summary::Total with convergence and optimization phase overhead",
               rating);
    if (f->valid)
        say_number(&r, "Final Summary::HPCG result is VALID with a GFLOP/s rating of", rating);
    else
        say_text(&r, "Final Summary::HPCG result is", "INVALID");
    if (r.as_json) json_end(&r.j);
    fflush(stdout);
}

/* ---- the benchmark ------------------------------------------------------------------------- */

/* The grids of "64" or "64x64x128". */
static kry_status take_grids(const char *word, hpcg *h)
{
    kry_status st = KRY_OK;
    long long size[3] = { 0 };
    int end = 0;
    const bool cube = sscanf(word, "%lld%n", &size[0], &end) == 1 && !word[end],
               box = !cube &&
                     sscanf(word, "%lldx%lldx%lld%n", &size[0], &size[1], &size[2], &end) == 3 &&
                     !word[end];

    CHECK(cube || box, KRY_ERR_PARSE, "'%s' is no grid; 64 or 64x64x128 would be one", word);
    if (cube) size[1] = size[2] = size[0];
    for (int a = 0; a < 3; a++)
        CHECK(size[a] >= 16 && size[a] <= 1024 && size[a] % 8 == 0, KRY_ERR_PARSE,
              "'%s': %lld points along an axis are no multiple of 8 from 16 to 1024", word,
              size[a]);
    for (int depth = 0; depth < LEVELS; depth++) {
        for (int a = 0; a < 3; a++) h->levels[depth].g.size[a] = size[a] >> depth;
        number_points(&h->levels[depth].g);
    }
done:
    return st;
}

static kry_status check_device(const bench *b)
{
    kry_status st = KRY_OK;
    const kry_format format = b->form.matrix.format;

    CHECK(b->type == KRY_F64, KRY_ERR_UNSUPPORTED, "hpcg is in double precision");
    CHECK(!b->o->format || format == KRY_FORMAT_CSR || format == KRY_FORMAT_ELL ||
              format == KRY_FORMAT_SELL,
          KRY_ERR_UNSUPPORTED,
          "--format %s: hpcg takes csr, ell or sell, which make no use of the grid", b->o->format);
done:
    return st;
}

static kry_status run(const bench *b, const char *word)
{
    kry_status st = KRY_OK;
    hpcg h = { .bench = b };
    findings f = { 0 };

    TRY(take_grids(word, &h));
    TRY(set_up(&h));
    TRY(hpcg_host_reduction(h.levels[0].g.size, REFERENCE, &f.reference));
    TRY(test_spectrum(&h, &f));
    TRY(test_symmetry(&h, h.A, &f.asymmetry[0]));
    TRY(test_symmetry(&h, h.M, &f.asymmetry[1]));
    TRY(iterations_until(&h, h.preconditioned, MOST_ITERATIONS, f.reference, &f.iterations));
    f.valid = f.iterations <= MOST_ITERATIONS && f.spectral[0] <= 12 && f.spectral[1] <= 2 &&
              f.asymmetry[0] <= 1 && f.asymmetry[1] <= 1;
    TRY(run_sets(&h, (double)options_whole(b->o->seconds, 60), &f));
    f.valid = f.valid && f.variance < 1e-6;
    print_report(&h, &f);
done:
    release(&h);
    return st;
}

kry_status bench_hpcg(bench *b)
{
    kry_status st = KRY_OK;
    bench sell = *b;
    const char *usual = b->info->gpu ? "128" : "32";

    TRY(check_device(b));
    if (!b->o->format) sell.form.matrix.format = KRY_FORMAT_SELL;
    if (b->o->word_count == 1) TRY(run(&sell, usual));
    for (int i = 1; i < b->o->word_count; i++) TRY(run(&sell, b->o->words[i]));
done:
    return st;
}
