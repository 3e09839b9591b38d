/* test_box.c - grids with stored stencils: interpolation, Galerkin operators and products against plain C. */
#include "mg/box_passes.h"
#include "mg/box_space.h"
#include "op_suite.h"
#include "relax_suite.h"

/* ---- stencils on the host -------------------------------------------------------------------- */

/* A grid and, for each point and each of 27 directions, the coupling to the point there: directions, not
 * points, for on a short periodic axis two of them lead to the same point. */
typedef struct plain_box {
    kryi_box_grid grid;
    double *a; /* 27 n; direction (dx, dy, dz) is 13 + dx + 3 dy + 9 dz */
} plain_box;

static int direction_of(const int d[3]) { return 13 + d[0] + 3 * d[1] + 9 * d[2]; }

static void direction(int k, int d[3])
{
    for (int a = 0; a < 3; a++, k /= 3) d[a] = k % 3 - 1;
}

/* The point at d from point i, or -1. */
static int64_t point_at(const kryi_box_grid *g, int64_t i, const int d[3])
{
    int64_t at[3] = { i % g->size[0], i / g->size[0] % g->size[1], i / (g->size[0] * g->size[1]) };
    for (int a = 0; a < 3; a++) {
        at[a] += d[a];
        if (g->wraps >> a & 1) at[a] = (at[a] + g->size[a]) % g->size[a];
        if (at[a] < 0 || at[a] >= g->size[a]) return -1;
    }
    return at[0] + g->size[0] * (at[1] + g->size[1] * at[2]);
}

static plain_box plain_of_grid(const grid *g, const double *k)
{
    plain_box b = { .grid = { .axes = g->size[2] ? 3 : 2, .n = grid_points(g) } };
    for (int a = 0; a < 3; a++) b.grid.ends[a] = k ? KRY_BOX_ENDS + 1 : 1;

    for (int a = 0; a < 3; a++) {
        b.grid.size[a] = a < b.grid.axes ? g->size[a] : 1;
        b.grid.wraps |= (unsigned)(a < b.grid.axes && g->low[a] == KRY_PERIODIC) << a;
    }
    b.a = calloc((size_t)(27 * b.grid.n), sizeof *b.a);
    assert_non_null(b.a);
    for (int64_t i = 0; i < b.grid.n; i++) {
        const int64_t at[3] = { i % g->size[0], i / g->size[0] % g->size[1],
                                i / (g->size[0] * g->size[1]) };
        for (int f = 0; f < 2 * b.grid.axes; f++) {
            double w;
            int d[3] = { 0, 0, 0 };
            const int64_t j = grid_face(g, k, at, f / 2, f % 2, &w);
            const kry_side side = f % 2 ? g->high[f / 2] : g->low[f / 2];
            if (j == i || (j < 0 && side == KRY_NEUMANN)) continue;
            d[f / 2] = f % 2 ? 1 : -1;
            b.a[27 * i + 13] += j < 0 && side == KRY_DIRICHLET_FACE ? 2 * w : w;
            if (j >= 0) b.a[27 * i + direction_of(d)] -= w;
        }
    }
    return b;
}

static double *read_numbers(kry_type type, cl_mem buffer, int64_t count)
{
    kry_vec *v = NULL;
    OK(kry_vec_wrap(device(), type, count, 1, buffer, 0, &v));
    double *numbers = numbers_of(v);
    kry_vec_release(&v);
    return numbers;
}

/* What the device has stored; nothing may lead out of the grid. */
static plain_box plain_of_box(const kry_op *op)
{
    const kryi_box *A = kryi_box_of(op);
    const int64_t n = A->grid.n;
    double *half = read_numbers(A->type, A->numbers, A->half * n);
    plain_box b = { .grid = A->grid, .a = calloc((size_t)(27 * n), sizeof *b.a) };

    assert_non_null(b.a);
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < A->half; s++) {
            int d[3];
            direction(13 + s, d);
            const int64_t j = point_at(&b.grid, i, d);
            const int64_t x = i % b.grid.size[0];
            const double v = half[s * n + i - x + kryi_box_column(&b.grid, x)];
            if (j < 0 || (s && j == i)) {
                NEAR(v, 0, 0, "slot %d of point %lld, outside", s, (long long)i);
                continue;
            }
            b.a[27 * i + 13 + s] = v;
            b.a[27 * j + 13 - s] = v;
        }
    free(half);
    return b;
}

static matrix matrix_of_plain(const plain_box *b)
{
    const int64_t n = b->grid.n;
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)(27 * n), sizeof *A.col);
    A.val = calloc((size_t)(27 * n), sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        A.row_ptr[i] = A.nnz;
        grid_add(&A, i, i, 0);
        for (int k = 0; k < 27; k++) {
            int d[3];
            direction(k, d);
            if (b->a[27 * i + k] != 0) grid_add(&A, i, point_at(&b->grid, i, d), b->a[27 * i + k]);
        }
    }
    A.row_ptr[n] = A.nnz;
    return A;
}

/* ---- interpolation by the rule, row by row --------------------------------------------------- */

/* P as a dense matrix, n-by-m row after row. A point with the odd coordinates `odd` has its stencil collapsed
 * onto these axes, and takes the rows of its neighbours there, which are odd along fewer. */
typedef struct plain_transfer {
    kryi_box_grid fine, coarse;
    double *p, *size; /* size: to which the errors of rounding relate, for what cancels */
} plain_transfer;

static int odd_axes(const kryi_box_grid *g, int64_t i, unsigned coarsened)
{
    const int64_t at[3] = { i % g->size[0], i / g->size[0] % g->size[1],
                            i / (g->size[0] * g->size[1]) };
    int odd = 0;
    for (int a = 0; a < 3; a++) odd |= (coarsened >> a & 1 && at[a] % 2) << a;
    return odd;
}

static int64_t coarse_point(const kryi_box_grid *f, const kryi_box_grid *c, int64_t i,
                            unsigned mask)
{
    const int64_t at[3] = { i % f->size[0], i / f->size[0] % f->size[1],
                            i / (f->size[0] * f->size[1]) };
    int64_t j = 0;
    for (int a = 2; a >= 0; a--) j = j * c->size[a] + (mask >> a & 1 ? at[a] / 2 : at[a]);
    return j;
}

static void plain_row_of(const plain_box *b, plain_transfer *P, int64_t i, int odd, double tiny)
{
    const int64_t m = P->coarse.n;
    double total = 0, own = 0, others = 0, all = 0, *row = P->p + i * m;

    for (int pass = 0; pass < 2; pass++) {
        const double by = total <= tiny * b->a[27 * i + 13] ? -others : own;
        for (int k = 0; k < 27; k++) {
            const double v = b->a[27 * i + k];
            int d[3];
            direction(k, d);
            for (int a = 0; a < 3; a++)
                if (!(odd >> a & 1)) d[a] = 0;
            const bool here = direction_of(d) == 13;
            if (pass == 0) all += fabs(v), total += v, own += here ? v : 0, others += here ? 0 : v;
            if (pass == 0 || here || v == 0 || by == 0) continue;
            const int64_t from = point_at(&b->grid, i, d) * m;
            for (int64_t j = 0; j < m; j++) {
                row[j] -= v / by * P->p[from + j];
                P->size[i * m + j] += fabs(v / by) * all / fabs(by) * P->size[from + j];
            }
        }
    }
}

static plain_transfer plain_transfer_of(const plain_box *b, unsigned coarsened, double tiny)
{
    plain_transfer P = { b->grid, kryi_box_grid_coarser(&b->grid, coarsened), NULL, NULL };
    const int64_t m = P.coarse.n;

    P.p = calloc((size_t)(2 * P.fine.n * m), sizeof *P.p);
    assert_non_null(P.p);
    P.size = P.p + P.fine.n * m;
    for (int count = 0; count <= 3; count++)
        for (int64_t i = 0; i < P.fine.n; i++) {
            const int odd = odd_axes(&P.fine, i, coarsened);
            if ((odd & 1) + (odd >> 1 & 1) + (odd >> 2) != count) continue;
            const int64_t own = i * m + coarse_point(&P.fine, &P.coarse, i, coarsened);
            if (odd)
                plain_row_of(b, &P, i, odd, tiny);
            else
                P.p[own] = P.size[own] = 1;
        }
    return P;
}

/* ---- the device against it -------------------------------------------------------------------- */

/* y := alpha P x + beta y and the transpose, from vectors that start anywhere, over NaN. */
static void check_product(const kry_op *op, const plain_transfer *P, bool transpose, double alpha,
                          double beta)
{
    const kry_type type = kry_op_get_shape(op)->type;
    const int64_t n = P->fine.n, m = P->coarse.n;
    const int64_t rows = transpose ? m : n, cols = transpose ? n : m;
    double *x = random_array(type, cols), *y0 = random_array(type, rows);
    guarded X = guarded_create(type, cols, 1, 1, x);
    guarded Y = guarded_create(type, rows, 1, 3, beta == 0 ? NULL : y0);

    OK((transpose ? kry_op_apply_transpose : kry_op_apply)(op, alpha, X.v, beta, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < rows; i++) {
        long double want = beta == 0 ? 0 : (long double)beta * y0[i], size = fabsl(want);
        for (int64_t j = 0; j < cols; j++) {
            const int64_t e = transpose ? j * m + i : i * m + j;
            want += (long double)alpha * P->p[e] * x[j];
            size += fabsl((long double)alpha * P->size[e] * x[j]);
        }
        NEAR(y[i], want, 16 * eps_of(type) * size, "row %lld of %s", (long long)i,
             transpose ? "P'" : "P");
    }
    guarded_release(&X), guarded_release(&Y);
    free(x), free(y0), free(y);
}

/* C == P'A P, entry by entry. */
static void check_galerkin(const matrix *A, const plain_transfer *P, const matrix *C, kry_type type)
{
    const int64_t n = P->fine.n, m = P->coarse.n;
    double *row = calloc((size_t)m, sizeof *row), *size = calloc((size_t)m, sizeof *size);
    double *ap = calloc((size_t)(2 * n * m), sizeof *ap);

    assert_true(row && size && ap);
    double *abs_ap = ap + n * m;
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            for (int64_t j = 0; j < m; j++) {
                ap[i * m + j] += A->val[e] * P->p[A->col[e] * m + j];
                abs_ap[i * m + j] += fabs(A->val[e]) * P->size[A->col[e] * m + j];
            }
    for (int64_t r = 0; r < m; r++) {
        memset(row, 0, (size_t)m * sizeof *row), memset(size, 0, (size_t)m * sizeof *size);
        for (int64_t i = 0; i < n; i++) {
            const double p = P->p[i * m + r], most = P->size[i * m + r];
            for (int64_t j = 0; most != 0 && j < m; j++)
                row[j] += p * ap[i * m + j], size[j] += most * abs_ap[i * m + j];
        }
        for (int64_t e = C->row_ptr[r]; e < C->row_ptr[r + 1]; e++) row[C->col[e]] -= C->val[e];
        for (int64_t j = 0; j < m; j++)
            NEAR(row[j], 0, 32 * eps_of(type) * size[j], "entry (%lld, %lld) of P'A P",
                 (long long)r, (long long)j);
    }
    free(row), free(size), free(ap);
}

/* The next grid below A, which is `b` on the host; returned. */
static kry_op *check_level(const kry_op *A, const plain_box *b, unsigned coarsened)
{
    const kry_type type = kry_op_get_shape(A)->type;
    kry_op *op = NULL, *C = NULL;
    plain_transfer P = plain_transfer_of(b, coarsened, type == KRY_F32 ? 1e-6 : 1e-10);
    matrix fine = matrix_of_plain(b);

    OK(kryi_box_transfer_create(device(), type, &b->grid, coarsened, &op));
    OK(kryi_box_create(device(), type, &P.coarse, kry_op_get_shape(A)->traits, &C));
    const kryi_box_source source = kryi_box_source_of(A);
    OK(kryi_box_weigh(&source, op));
    OK(kryi_box_galerkin(&source, op, C));
    check_product(op, &P, false, 1, 0);
    check_product(op, &P, false, 0.5, 1);
    check_product(op, &P, true, 1, 0);
    check_product(op, &P, true, -2, 0.25);
    plain_box c = plain_of_box(C);
    matrix coarse = matrix_of_plain(&c);
    check_galerkin(&fine, &P, &coarse, type);
    matrix_release(&coarse), matrix_release(&fine);
    free(c.a), free(P.p);
    kry_op_release(&op);
    return C;
}

/* Axes with three points or more, of those in `wanted`. */
static unsigned longer(const kryi_box_grid *g, unsigned wanted)
{
    unsigned axes = 0;
    for (int a = 0; a < g->axes; a++) axes |= (wanted >> a & 1 && g->size[a] > 2 ? 1u : 0) << a;
    return axes;
}

/* ---- colours ---------------------------------------------------------------------------------- */

/* One sweep in place: the rows that it changes get the number `colour`, each only once, and the values that
 * plain C finds from the numbers before. */
static void check_colour(const kry_op *op, const matrix *A, int colour, int *painted)
{
    const kry_type type = kry_op_get_shape(op)->type;
    const double omega = 1.25;
    double *b = random_array(type, A->rows), *x = random_array(type, A->rows);
    guarded B = guarded_create(type, A->rows, 1, 1, b), X = guarded_create(type, A->rows, 1, 2, x);

    OK(op->fused->sweep_colour(op->self, colour, omega, B.v, X.v));
    double *y = guarded_read(&X);
    for (int64_t i = 0; i < A->rows; i++) {
        if (y[i] == x[i]) continue;
        long double size, d = plain_diagonal(A, i);
        row_times(A, i, x, NULL, &size);
        const long double want = x[i] + omega * (b[i] - plain_row(A, i, x)) / d;
        NEAR(y[i], want,
             2 * row_bound(A, i, type, size + fabsl((long double)b[i])) / d +
                 4 * eps_of(type) * fabsl((long double)x[i]),
             "colour %d: x[%lld]", colour, (long long)i);
        assert_int_equal(painted[i], -1);
        painted[i] = colour;
    }
    guarded_release(&B), guarded_release(&X);
    free(b), free(x), free(y);
}

/* Every row has one colour, and other ones than those that it is coupled to. */
static void check_colours(const kry_op *op, const matrix *A)
{
    const int colours = op->fused->colours(op->self);
    int *painted = calloc((size_t)A->rows, sizeof *painted);

    assert_non_null(painted);
    for (int64_t i = 0; i < A->rows; i++) painted[i] = -1;
    for (int c = 0; c < colours; c++) check_colour(op, A, c, painted);
    for (int64_t i = 0; i < A->rows; i++) {
        assert_in_range(painted[i], 0, colours - 1);
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            assert_true(A->col[e] == i || painted[A->col[e]] != painted[i]);
    }
    free(painted);
}

static void check_grid(const grid *g, kry_type type, unsigned first, unsigned second)
{
    double *k = grid_coefficients(g, type);
    kry_op *A = grid_op(g, type, k);
    plain_box fine = plain_of_grid(g, k);
    kry_op *B = NULL, *C = NULL;

    if (longer(&fine.grid, first)) {
        print_message("# %s, axes %u, then %u\n", g->name, first, second);
        B = check_level(A, &fine, longer(&fine.grid, first));
        plain_box b = plain_of_box(B);
        matrix M = matrix_of_plain(&b);
        op_suite(B, &M);
        relax_suite(B, &M, "relaxation");
        check_colours(B, &M);
        matrix_release(&M);
        if (longer(&b.grid, second)) {
            C = check_level(B, &b, longer(&b.grid, second));
            plain_box c = plain_of_box(C);
            M = matrix_of_plain(&c);
            op_suite(C, &M);
            matrix_release(&M);
            free(c.a);
        }
        free(b.a);
    }
    kry_op_release(&A), kry_op_release(&B), kry_op_release(&C);
    free(fine.a), free(k);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void box__all_axes(void **state)
{
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++)
        if (!too_large(grid_points(&grids[i])) && grid_points(&grids[i]) < 3000 &&
            one_of(2, (int64_t)i + (type == KRY_F32)))
            check_grid(&grids[i], type, 7, 7);
}

/* Rows so long that numbers are made at their ends only, on two levels. */
static void box__long_rows(void **state)
{
    static const grid rows[] = {
        { .name = "a strip 99 x 4", .size = { 99, 4 } },
        { .name = "a strip 96 x 4", .size = { 96, 4 } },
    };
    const kry_type type = type_of(state);
    check_grid(&rows[type == KRY_F32], type, 7, 7);
}

static void box__some_axes(void **state)
{
    static const struct {
        const char *name;
        unsigned first, second;
    } cases[] = { { "a tube 37 x 34", 1, 2 },
                  { "mixed sides 35 x 18", 2, 1 },
                  { "a box 10 x 7 x 6", 5, 2 },
                  { "a ring 12 x 11 x 10", 6, 1 } };
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++)
        for (size_t c = 0; c < COUNT(cases); c++)
            if (!strcmp(grids[i].name, cases[c].name) &&
                one_of(2, (int64_t)c + (type == KRY_F32)) && !small_run())
                check_grid(&grids[i], type, cases[c].first, cases[c].second);
}

/* ---- several passes in one ---------------------------------------------------------------------- */

typedef struct level {
    kry_op *A, *P;
    kryi_box_passes *passes;
    kryi_relaxer relaxer;
    double *d, most; /* the diagonal, and its largest entry */
    int64_t n, m;
} level;

/* Of a grid operator, or of the box below it. */
static level level_of(const grid *g, kry_type type, unsigned axes, bool below, int steps)
{
    level L = { 0 };
    kryi_box_grid fine;
    double *k = grid_coefficients(g, type);

    L.A = grid_op(g, type, k);
    for (int i = 0; i < (below ? 2 : 1); i++) {
        kry_op *above = i ? L.A : NULL, *P = L.P;
        if (i) {
            OK(kryi_box_create(device(), type, &kryi_box_transfer_of(P)->coarse, 0, &L.A));
            const kryi_box_source from = kryi_box_source_of(above);
            OK(kryi_box_galerkin(&from, P, L.A));
        }
        OK(kryi_box_grid_of(L.A, &fine));
        OK(kryi_box_transfer_create(device(), type, &fine, longer(&fine, axes), &L.P));
        const kryi_box_source own = kryi_box_source_of(L.A);
        OK(kryi_box_weigh(&own, L.P));
        kry_op_release(&above);
        if (i) kry_op_release(&P);
    }
    OK(kryi_box_passes_create(L.A, L.P, steps, false, &L.passes));
    OK(kryi_relaxer_create("test", L.A, &L.relaxer));
    L.n = kry_op_get_shape(L.P)->rows, L.m = kry_op_get_shape(L.P)->cols;
    kry_vec *d = NULL;
    OK(kry_vec_create(device(), type, L.n, 1, &d));
    OK(kry_op_diagonal(L.A, d));
    L.d = numbers_of(d);
    for (int64_t i = 0; i < L.n; i++) L.most = fmax(L.most, L.d[i]);
    kry_vec_release(&d);
    free(k);
    return L;
}

static void level_release(level *L)
{
    kryi_relaxer_release(&L->relaxer);
    kryi_box_passes_release(&L->passes);
    kry_op_release(&L->P), kry_op_release(&L->A);
    free(L->d);
}

/* place[0] := the steps, one after the other. */
static void step_by_step(level *L, const kryi_sweeps *s, bool zero, const kry_vec *b,
                         kry_vec *place[2])
{
    for (int i = 0; i < s->count; i++) {
        const kryi_relax r = { .c1 = s->step[i], .b = b, .x = zero && !i ? NULL : place[0] };
        OK(kryi_relaxer_run(&L->relaxer, &r, place[1], NULL));
        kry_vec *room = place[0];
        place[0] = place[1], place[1] = room;
    }
}

/* Numbers in units of b: x by the diagonal. */
static void check_same(const level *L, const guarded *got, const kry_vec *want, const double *scale,
                       double size, const char *what)
{
    double *y = guarded_read(got), *w = numbers_of(want);
    for (int64_t i = 0; i < want->n; i++) {
        const double by = scale ? scale[i] : 1;
        NEAR(by * y[i], by * w[i], 256 * eps_of(want->type) * size, "%s: number %lld of %lld", what,
             (long long)i, (long long)L->n);
    }
    free(y), free(w);
}

static void check_passes(level *L, const kryi_sweeps *s)
{
    const kry_type type = kry_op_get_shape(L->A)->type;
    double *b = random_array(type, L->n), *x = random_array(type, L->n);
    double *e = random_array(type, L->m);
    kry_vec *place[2], *coarse = NULL;

    for (int64_t i = 0; i < L->n; i++) x[i] = to_type(type, x[i] / L->d[i]);
    for (int64_t i = 0; i < L->m; i++) e[i] = to_type(type, e[i] / L->most);
    guarded B = guarded_create(type, L->n, 1, 1, b), X = guarded_create(type, L->n, 1, 2, NULL);
    guarded E = guarded_create(type, L->m, 1, 3, e), C = guarded_create(type, L->m, 1, 0, NULL);
    guarded Y = guarded_create(type, L->n, 1, 5, NULL);
    for (int i = 0; i < 2; i++) place[i] = vec_of(type, x, L->n, 1);
    OK(kry_vec_create(device(), type, L->m, 1, &coarse));

    OK(kryi_box_passes_table.down(L->passes, s, B.v, X.v, C.v));
    step_by_step(L, s, true, B.v, place);
    check_same(L, &X, place[0], L->d, 1, "x on the way down");
    OK(kry_op_residual(L->A, B.v, place[0], place[1]));
    OK(kry_op_apply_transpose(L->P, 1, place[1], 0, coarse));
    check_same(L, &C, coarse, NULL, 8, "P' r");

    guarded_write(&X, x);
    OK(kry_vec_copy(X.v, place[0]));
    OK(kryi_box_passes_table.up(L->passes, s, B.v, X.v, E.v, Y.v));
    OK(kry_op_apply(L->P, 1, E.v, 1, place[0]));
    step_by_step(L, s, false, B.v, place);
    check_same(L, &Y, place[0], L->d, 4, "y on the way up");
    for (int i = 0; i < 2; i++) kry_vec_release(&place[i]);
    kry_vec_release(&coarse);
    guarded_release(&B), guarded_release(&X), guarded_release(&E), guarded_release(&C);
    guarded_release(&Y);
    free(b), free(x), free(e);
}

static void check_steps(const grid *g, kry_type type, unsigned axes, bool below, int count)
{
    static const double step[] = { 0.8, 0.45, 1.25, 0.6 };

    level L = level_of(g, type, axes, below, count);
    assert_non_null(L.passes);
    check_passes(&L, &(kryi_sweeps){ .count = count, .step = step });
    level_release(&L);
}

static void check_counts(const grid *g, kry_type type, unsigned axes, bool below)
{
    print_message("# %s%s\n", g->name, below ? ", below" : "");
    for (int count = 1; count <= kryi_box_passes_table.most; count++) /* each is compiled */
        if (one_of(2, count + below + (type == KRY_F32))) check_steps(g, type, axes, below, count);
}

/* A grid with the axes that are coarsened, and those of the level below; 0: that is not tested. */
typedef struct passes_case {
    const char *name;
    unsigned axes, below;
} passes_case;

static void check_cases(kry_type type, const passes_case *cases, size_t count)
{
    for (size_t i = 0; i < COUNT(grids); i++)
        for (size_t c = 0; c < count; c++) {
            const grid *g = &grids[i];
            if (strcmp(g->name, cases[c].name) || too_large(grid_points(g))) continue;
            if (!one_of(2, (int64_t)c + (type == KRY_F32))) continue;
            check_counts(g, type, cases[c].axes, false);
            if (cases[c].below) check_counts(g, type, cases[c].below, true);
        }
}

static void passes__by_layers(void **state)
{
    static const passes_case cases[] = {
        { "Poisson 131 x 40", 3, 0 },       { "mixed sides 35 x 18", 3, 0 },
        { "a tube 2 x 5", 3, 0 },           { "a tube 37 x 34", 3, 0 },
        { "cells 20 x 19", 2, 0 },          { "Poisson 33 x 9 x 5", 7, 0 },
        { "a box 10 x 7 x 6", 7, 0 },       { "a ring 12 x 11 x 10", 3, 0 },
        { "faces of a tube 37 x 34", 1, 0 }
    };
    use_profile("cpu-kernels");
    check_cases(type_of(state), cases, COUNT(cases));
    use_profile(NULL);
}

static void passes__by_tiles(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const passes_case cases[] = {
        { "Poisson 131 x 40", 3, 3 },       { "mixed sides 35 x 18", 3, 3 },
        { "a tube 2 x 5", 3, 0 },           { "a tube 37 x 34", 3, 3 },
        { "cells 20 x 19", 2, 2 },          { "Poisson 1 x 9", 3, 3 },
        { "faces of a tube 37 x 34", 1, 1 }
    };
    /* with tiles that are away from all sides, here and on the level below */
    static const grid wide[] = { { .name = "Poisson 259 x 131",
                                   .size = { 259, 131 },
                                   .low = { KRY_DIRICHLET, KRY_DIRICHLET },
                                   .high = { KRY_DIRICHLET, KRY_DIRICHLET } },
                                 { .name = "cells 259 x 131",
                                   .size = { 259, 131 },
                                   .low = { KRY_NEUMANN, KRY_NEUMANN },
                                   .high = { KRY_NEUMANN, KRY_NEUMANN },
                                   .variable = true } };
    use_profile("gpu-kernels");
    check_cases(type_of(state), cases, COUNT(cases));
    for (size_t i = 0; i < COUNT(wide); i++)
        for (int below = 0; below < 2; below++) check_steps(&wide[i], type_of(state), 3, below, 2);
    use_profile(NULL);
}

/* Products and relaxation on grids that are large: by tiles where numbers are alike between their ends, or column by
 * column. */
static void box__large(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const grid cases[] = {
        { .name = "sides 65 x 60 x 52",
          .size = { 65, 60, 52 },
          .low = { KRY_DIRICHLET, KRY_NEUMANN, KRY_DIRICHLET_FACE },
          .high = { KRY_NEUMANN, KRY_DIRICHLET, KRY_DIRICHLET } },
        { .name = "a ring 66 x 60 x 52",
          .size = { 66, 60, 52 },
          .low = { KRY_PERIODIC, KRY_DIRICHLET, KRY_PERIODIC },
          .high = { KRY_PERIODIC, KRY_NEUMANN, KRY_PERIODIC },
          .spacing = { 1, 0.5, 0.25 } },
        { .name = "cells 66 x 59 x 52",
          .size = { 66, 59, 52 },
          .low = { KRY_DIRICHLET, KRY_PERIODIC, KRY_PERIODIC },
          .high = { KRY_NEUMANN, KRY_PERIODIC, KRY_PERIODIC },
          .variable = true },
    };
    const kry_type type = type_of(state);

    use_profile("gpu-kernels");
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (too_large(grid_points(&cases[i])) || (type == KRY_F32) != (i == 1)) continue;
        print_message("# %s\n", cases[i].name);
        level L = level_of(&cases[i], type, 7, true, 1);
        plain_box b = plain_of_box(L.A);
        matrix M = matrix_of_plain(&b);
        if (kry_device_get_info(device())->compute_units <= 2)
            assert_int_equal(kryi_box_of(L.A)->way,
                             cases[i].variable ? KRY_BOX_BY_COLUMNS : KRY_BOX_BY_TILES);
        op_suite(L.A, &M);
        relax_suite(L.A, &M, "large");
        matrix_release(&M);
        free(b.a);
        level_release(&L);
    }
    use_profile(NULL);
}

/* The pass against P and a step, one after the other. */
static void check_correct(level *L, kryi_box_space *space)
{
    const kry_type type = kry_op_get_shape(L->A)->type;
    const double step = 0.7;
    double *b = random_array(type, L->n), *x = random_array(type, L->n);
    double *e = random_array(type, L->m);
    kry_vec *place[2];

    for (int64_t i = 0; i < L->n; i++) x[i] = to_type(type, x[i] / L->d[i]);
    for (int64_t i = 0; i < L->m; i++) e[i] = to_type(type, e[i] / L->most);
    guarded B = guarded_create(type, L->n, 1, 1, b), X = guarded_create(type, L->n, 1, 2, x);
    guarded E = guarded_create(type, L->m, 1, 3, e), Y = guarded_create(type, L->n, 1, 5, NULL);
    for (int i = 0; i < 2; i++) place[i] = vec_of(type, x, L->n, 1);
    OK(kryi_box_space_correct(space, step, B.v, X.v, E.v, Y.v));
    OK(kry_op_apply(L->P, 1, E.v, 1, place[0]));
    step_by_step(L, &(kryi_sweeps){ .count = 1, .step = &step }, false, B.v, place);
    check_same(L, &Y, place[0], L->d, 4, "a step from x + P e");
    for (int i = 0; i < 2; i++) kry_vec_release(&place[i]);
    guarded_release(&B), guarded_release(&X), guarded_release(&E), guarded_release(&Y);
    free(b), free(x), free(e);
}

/* The pass against a residual and P', one after the other. */
static void check_descend(level *L, kryi_box_space *space)
{
    const kry_type type = kry_op_get_shape(L->A)->type;
    double *b = random_array(type, L->n), *x = random_array(type, L->n);
    kry_vec *coarse = NULL;

    for (int64_t i = 0; i < L->n; i++) x[i] = to_type(type, x[i] / L->d[i]);
    guarded B = guarded_create(type, L->n, 1, 1, b), X = guarded_create(type, L->n, 1, 2, x);
    guarded Y = guarded_create(type, L->m, 1, 5, NULL);
    kry_vec *r = vec_of(type, b, L->n, 1);
    OK(kry_vec_create(device(), type, L->m, 1, &coarse));
    OK(kryi_box_space_descend(space, B.v, X.v, Y.v));
    OK(kry_op_residual(L->A, B.v, X.v, r));
    OK(kry_op_apply_transpose(L->P, 1, r, 0, coarse));
    check_same(L, &Y, coarse, NULL, 64, "the restriction of a residual");
    kry_vec_release(&r), kry_vec_release(&coarse);
    guarded_release(&B), guarded_release(&X), guarded_release(&Y);
    free(b), free(x);
}

/* Sizes around tiles, which have 30 by 14 and 28 by 12 columns of their own; and with layers
 * that are alike, and such that are not. */
#define D KRY_DIRICHLET
#define F KRY_DIRICHLET_FACE
#define N KRY_NEUMANN
#define P KRY_PERIODIC
static const struct {
    grid g;
    unsigned axes;
} space_cases[] = {
    { { .name = "Poisson 31 x 7 x 33", .size = { 31, 7, 33 } }, 7 },
    { { .name = "sides 30 x 13 x 26",
        .size = { 30, 13, 26 },
        .low = { N, F, D },
        .high = { D, N, F },
        .spacing = { 0.5, 1, 2 } },
      7 },
    { { .name = "a ring 33 x 12 x 27",
        .size = { 33, 12, 27 },
        .low = { P, P, P },
        .high = { P, P, P } },
      7 },
    { { .name = "a ring 2 x 1 x 9", .size = { 2, 1, 9 }, .low = { P, P, P }, .high = { P, P, P } },
      4 },
    { { .name = "a tube 61 x 6 x 4",
        .size = { 61, 6, 4 },
        .low = { D, P, N },
        .high = { F, P, N } },
      3 },
    { { .name = "a tube 7 x 14 x 24",
        .size = { 7, 14, 24 },
        .low = { P, D, P },
        .high = { P, N, P } },
      4 },
    { { .name = "Poisson 16 x 16 x 16", .size = { 16, 16, 16 } }, 7 },
    { { .name = "Poisson 24 x 24 x 24", .size = { 24, 24, 24 } }, 7 },
    { { .name = "Poisson 3 x 1 x 2", .size = { 3, 1, 2 } }, 1 },
};
#undef D
#undef F
#undef N
#undef P

static void passes__in_space(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);

    use_profile("gpu-kernels");
    for (size_t i = 0; i < COUNT(space_cases); i++) {
        kryi_box_space *space = NULL;
        if (!one_of(2, (int64_t)i + (type == KRY_F32))) continue;
        print_message("# %s\n", space_cases[i].g.name);
        level L = level_of(&space_cases[i].g, type, space_cases[i].axes, false, 1);
        OK(kryi_box_space_create(L.A, L.P, &space));
        assert_non_null(space);
        check_correct(&L, space);
        assert_int_equal(kryi_box_space_descends(space), space_cases[i].axes == 7);
        if (kryi_box_space_descends(space)) check_descend(&L, space);
        kryi_box_space_release(&space);
        level_release(&L);
    }
    use_profile(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(box__all_axes),    BOTH(box__large),        BOTH(box__long_rows),
        BOTH(box__some_axes),   BOTH(passes__by_layers), BOTH(passes__by_tiles),
        BOTH(passes__in_space),
    };
    return cmocka_run_group_tests_name("box", tests, keep_profile, restore_profile);
}
