/*
 * test_deflation.c - deflation: the subspace's products against plain C, A Z and E against dense
 * ones, the two-level methods against each other and against textbook code, bad input.
 */
#include "grid/stencil.h"
#include "precond/labels_device.h"
#include "precond/rows.h"
#include "testing.h"
#include <kry/problem.h>
#include <unistd.h>

/* ---- helpers --------------------------------------------------------------------------------- */

/* Labels of n unknowns, k of them, all in use. */
typedef enum shape { RUNS, SCATTERED, ONE, HALVES } shape;
static int32_t *labels_of(shape s, int64_t n, int64_t *k)
{
    int32_t *labels = calloc((size_t)n, sizeof *labels);
    assert_non_null(labels);
    *k = s == ONE ? 1 : s == HALVES ? 2 : n < 13 ? n : 13;
    for (int64_t i = 0; i < n; i++) {
        if (s == RUNS) labels[i] = (int32_t)(i * *k / n);
        if (s == SCATTERED) labels[i] = (int32_t)(i < *k ? i : random_below(*k));
        if (s == HALVES) labels[i] = i % 7 > 2;
    }
    if (*k > n) *k = n;
    if (s == HALVES && n < 4) *k = 1;
    return labels;
}

/* ---- Z
 * --------------------------------------------------------------------------------------------- */

static void check_subspace(kry_type type, int64_t n, shape s, int64_t offset)
{
    int64_t k;
    int32_t *labels = labels_of(s, n, &k);
    double *v = random_array(type, n), *c = random_array(type, k), *r = random_array(type, n);
    guarded gv = guarded_create(type, n, 1, offset, v),
            gw = guarded_create(type, k, 1, offset, NULL),
            gc = guarded_create(type, k, 1, offset, c),
            gy = guarded_create(type, n, 1, offset, NULL),
            gr = guarded_create(type, n, 1, offset, r);
    long double *sum = calloc((size_t)k + 1, sizeof *sum),
                *size = calloc((size_t)k + 1, sizeof *size);
    long double rz = 0, rr = 0, eps = eps_of(type), dots[2];
    kryi_subspace Z;
    kry_sum *pair;
    double got[2];

    for (int64_t i = 0; i < n; i++) sum[labels[i]] += v[i], size[labels[i]] += fabs(v[i]);
    OK(kryi_subspace_create(device(), type, n, &(kryi_subdomains){ .count = k, .labels = labels },
                            &Z));
    OK(kryi_subspace_restrict(&Z, gv.v, gw.v));
    double *w = guarded_read(&gw);
    long double acc = eps_of(acc_type());
    for (int64_t j = 0; j < k; j++)
        NEAR(w[j], sum[j], eps * fabsl(sum[j]) + (long double)n * acc * size[j], "w[%d]", (int)j);
    OK(kryi_subspace_prolong(&Z, 0.5, gc.v, 0, gy.v));
    double *y = guarded_read(&gy);
    for (int64_t i = 0; i < n; i++) NEAR(y[i], 0.5 * c[labels[i]], 0, "y[%d]", (int)i);
    OK(kryi_subspace_prolong(&Z, 2, gc.v, -1, gy.v));
    free(y);
    y = guarded_read(&gy);
    for (int64_t i = 0; i < n; i++)
        NEAR(y[i], 1.5 * c[labels[i]], 4 * eps * fabs(c[labels[i]]), "y[%d]", (int)i);
    OK(kry_sum_create(device(), 2, &pair));
    OK(kryi_subspace_correct(&Z, gc.v, gr.v, gy.v, pair));
    OK(kryi_sum_read(gv.v->layout, pair, got));
    free(y);
    y = guarded_read(&gy);
    for (int64_t i = 0; i < n; i++) {
        NEAR(y[i], 2.5 * c[labels[i]], 8 * eps * fabs(c[labels[i]]), "z[%d]", (int)i);
        rz += (long double)r[i] * y[i], rr += (long double)r[i] * r[i];
    }
    dots[0] = rz, dots[1] = rr;
    for (int d = 0; d < 2; d++)
        NEAR(got[d], dots[d], (long double)n * acc * (rr + 1) * 3, "sum %d", d);
    kry_sum_release(&pair);
    kryi_subspace_release(&Z);
    guarded *all[] = { &gv, &gw, &gc, &gy, &gr };
    for (size_t i = 0; i < COUNT(all); i++) guarded_release(all[i]);
    free(labels), free(v), free(c), free(r), free(sum), free(size), free(w), free(y);
}

static void subspace(void **state)
{
    const int64_t sizes[] = { 1, 2, 7, 8, 9, 63, 64, 65, 255, 1000, 4099, 40001 };
    const shape shapes[] = { RUNS, SCATTERED, ONE, HALVES };

    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (int64_t offset = 0; offset < 4; offset += 3)
                check_subspace(type_of(state), sizes[i], shapes[s], offset);
}

/* ---- A Z and E
 * --------------------------------------------------------------------------------------- */

enum { NX = 13, NY = 11, N = NX * NY };

typedef struct system_ {
    const char *name;
    kry_side side;
    bool varying, stored, shifted; /* shifted: row sums that are not zero */
} system_;

static const system_ systems[] = {
    { "grid", KRY_DIRICHLET, false, false, false },
    { "grid with a coefficient", KRY_DIRICHLET_FACE, true, false, false },
    { "walls", KRY_NEUMANN, true, false, false },
    { "torus", KRY_PERIODIC, true, false, false },
    { "stored", KRY_DIRICHLET, true, true, false },
    { "stored walls", KRY_NEUMANN, false, true, false },
};

static kry_op *operator_of(const system_ *s, kry_type type)
{
    double k[N];
    kry_op *grid, *A;

    for (int i = 0; i < N; i++) k[i] = to_type(type, pow(10, 2 * random_number(KRY_F64)));
    OK(kry_stencil_create(device(), type,
                          KRY_STENCIL(.size = { NX, NY }, .low = { s->side, s->side },
                                      .high = { s->side, s->side },
                                      .coefficient = s->varying ? k : NULL),
                          &grid));
    if (!s->stored) return grid;
    OK(kry_stencil_matrix(grid, NULL, &A));
    kry_op_release(&grid);
    return A;
}

/* A as its products with unit vectors say. Column j at j * N. */
static double *dense_of(const kry_op *A)
{
    int64_t n = kry_op_get_shape(A)->rows;
    double *unit = calloc((size_t)n, sizeof *unit), *all = calloc((size_t)(n * n), sizeof *all);
    kry_vec *x, *y;
    assert_non_null(unit);
    assert_non_null(all);
    OK(kry_vec_create(device(), kry_op_get_shape(A)->type, n, 1, &y));
    for (int64_t j = 0; j < n; j++) {
        unit[j] = 1;
        x = vec_of(kry_op_get_shape(A)->type, unit, n, 1);
        unit[j] = 0;
        OK(kry_op_apply(A, 1, x, 0, y));
        double *column = numbers_of(y);
        memcpy(all + j * n, column, (size_t)n * sizeof *column);
        free(column);
        kry_vec_release(&x);
    }
    kry_vec_release(&y);
    free(unit);
    return all;
}

/* A Z and (A Z)' on the device have the same entries. */
static void check_transposes(const kryi_galerkin *G)
{
    kryi_csr rows, rows_t, again;
    OK(kryi_device_csr_download(&G->rows, &rows));
    OK(kryi_device_csr_download(&G->rows_t, &rows_t));
    OK(kryi_csr_transpose(&rows, &again));
    assert_int_equal(kryi_csr_nnz(&again), kryi_csr_nnz(&rows_t));
    assert_memory_equal(again.row_ptr, rows_t.row_ptr, (size_t)again.rows * sizeof *again.row_ptr);
    assert_memory_equal(again.col, rows_t.col, (size_t)rows.row_ptr[rows.rows] * sizeof *again.col);
    assert_same_bits(again.val, rows_t.val, rows.row_ptr[rows.rows]);
    kryi_csr_release(&rows);
    kryi_csr_release(&rows_t);
    kryi_csr_release(&again);
}

static void check_galerkin(const system_ *s, kry_type type, shape form)
{
    kry_op *A = operator_of(s, type);
    int64_t k;
    int32_t *labels = labels_of(form, N, &k);
    double *dense = dense_of(A), largest = 0;
    long double *AZ = calloc((size_t)(N * k), sizeof *AZ), *E = calloc((size_t)(k * k), sizeof *E);
    kryi_subspace Z;
    kryi_colours colours;
    kryi_galerkin G;

    for (int64_t j = 0; j < N; j++)
        for (int64_t i = 0; i < N; i++) {
            AZ[labels[j] * N + i] += dense[j * N + i];
            E[labels[j] * k + labels[i]] += dense[j * N + i];
            if (fabs(dense[j * N + i]) > largest) largest = fabs(dense[j * N + i]);
        }
    OK(kryi_subspace_create(device(), type, N, &(kryi_subdomains){ .count = k, .labels = labels },
                            &Z));
    OK(kryi_colours_find(A, &Z, &colours));
    OK(kryi_galerkin_create(A, &Z, &colours, &G));
    if (G.rows.dev) { /* GPUs make it */
        check_transposes(&G);
        OK(kryi_device_csr_download(&G.rows_t, &G.AZ_t));
    }
    long double bound = 50 * eps_of(type) * largest;
    for (int64_t j = 0; j < k; j++)
        for (int64_t e = G.AZ_t.row_ptr[j]; e < G.AZ_t.row_ptr[j + 1]; e++) {
            long double *want = &AZ[j * N + G.AZ_t.col[e]];
            NEAR(at(KRY_F64, G.AZ_t.val, e), *want, bound, "%s: AZ[%d][%d]", s->name,
                 (int)G.AZ_t.col[e], (int)j);
            *want = 0;
        }
    for (int64_t i = 0; i < N * k; i++)
        NEAR(0, AZ[i], bound, "%s: an entry of AZ missing", s->name);
    for (int64_t j = 0; j < k; j++)
        for (int64_t e = G.E.row_ptr[j]; e < G.E.row_ptr[j + 1]; e++) {
            long double *want = &E[j * k + G.E.col[e]];
            NEAR(at(KRY_F64, G.E.val, e), *want, N * bound, "%s: E[%d][%d]", s->name, (int)j,
                 (int)G.E.col[e]);
            *want = 0;
        }
    for (int64_t i = 0; i < k * k; i++)
        NEAR(0, E[i], N * bound, "%s: an entry of E missing", s->name);
    assert_int_equal(G.singular, s->side == KRY_NEUMANN || s->side == KRY_PERIODIC);
    kryi_galerkin_release(&G);
    kryi_colours_release(&colours);
    kryi_subspace_release(&Z);
    kry_op_release(&A);
    free(labels), free(dense), free(AZ), free(E);
}

static void galerkin(void **state)
{
    for (size_t s = 0; s < COUNT(systems); s++)
        for (shape form = RUNS; form <= HALVES; form++)
            check_galerkin(&systems[s], type_of(state), form);
}

/* ---- labels of grids
 * ---------------------------------------------------------------------------------- */

/* Labels by the device are those by the host: blocks, split by the levels of `k` if it is given. */
static void check_labels(kry_type type, const int64_t size[3], int64_t block, const double *k)
{
    const int64_t n = size[0] * size[1] * (size[2] ? size[2] : 1);
    int32_t *phase = calloc((size_t)n, sizeof *phase), *want = calloc((size_t)n, sizeof *want),
            *got = calloc((size_t)n, sizeof *got);
    int64_t levels = 1, count = 0, found;
    kry_op *A;
    cl_mem label;

    assert_true(phase && want && got);
    OK(kry_stencil_create(
        device(), type, KRY_STENCIL(.size = { size[0], size[1], size[2] }, .coefficient = k), &A));
    if (k) OK(kry_labels_levels(n, k, 0, phase, &levels));
    if (block) OK(kry_labels_blocks(size, (int64_t[]){ block, block, block }, phase, want, &count));
    OK(kryi_labels_of_grid(kryi_stencil_of(A), block, k != NULL, &label, &found));
    assert_non_null(label);
    OK(buffer_read(device(), label, 0, (size_t)n * sizeof *got, got));
    assert_int_equal(found, block ? count : levels);
    for (int64_t i = 0; i < n; i++)
        if (got[i] != (block ? want : phase)[i])
            fail_msg("blocks of %d, cell %d of %d x %d x %d: label %d, not %d", (int)block, (int)i,
                     (int)size[0], (int)size[1], (int)size[2], got[i], (block ? want : phase)[i]);
    buffer_release(device(), &label);
    kry_op_release(&A);
    free(phase), free(want), free(got);
}

/* Two phases, many levels, and jumps of 4 and of a little more, of which only the latter part levels. */
static void grid_labels(void **state)
{
    static const int64_t sizes[][3] = { { 1, 1, 0 }, { 13, 11, 0 }, { 7, 5, 9 } };
    static const double jumps[] = { 1, 1.5, 4, 6, 1.75 }, apart[] = { 1, 1.5, 6.25, 7.5, 1 };
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(sizes); s++) {
        const int64_t *z = sizes[s], n = z[0] * z[1] * (z[2] ? z[2] : 1);
        double *k = calloc((size_t)n, sizeof *k);
        assert_non_null(k);
        for (int64_t block = 0; block < 9; block += 4) {
            check_labels(type, z, block, NULL);
            for (int kind = 0; kind < 4; kind++) {
                for (int64_t i = 0; i < n; i++)
                    k[i] = to_type(type, kind == 0   ? (random_below(2) ? 1e-3 : 1)
                                         : kind == 1 ? pow(10, 8 * random_number(KRY_F64))
                                         : kind == 2 ? jumps[random_below(COUNT(jumps))]
                                                     : apart[random_below(COUNT(apart))]);
                check_labels(type, z, block, k);
            }
        }
        free(k);
    }
}

/* ---- parts of a graph
 * ---------------------------------------------------------------------------------- */

/* Unknowns that are reached from i without leaving its part, which is labelled -1 - label. */
static int64_t reach(const kryi_csr *A, int32_t *label, int64_t i, int64_t *stack)
{
    const int32_t part = label[i];
    int64_t top = 0, count = 0;

    label[i] = -1 - part, stack[top++] = i;
    while (top) {
        int64_t at = stack[--top];
        count++;
        for (int64_t e = A->row_ptr[at]; e < A->row_ptr[at + 1]; e++)
            if (label[A->col[e]] == part) label[A->col[e]] = -1 - part, stack[top++] = A->col[e];
    }
    return count;
}

/* Parts are connected, all of them in use, and as many as wanted. */
static void check_parts(const kry_op *A, int64_t most)
{
    const int64_t n = kry_op_get_shape(A)->rows;
    int32_t *label = calloc((size_t)n, sizeof *label);
    int64_t *stack = calloc((size_t)n, sizeof *stack), count, largest = 0, seen = 0;
    cl_mem found;
    kryi_csr rows;

    assert_true(label && stack);
    OK(kryi_rows_download(A, &rows));
    OK(kryi_labels_of_graph(kryi_matrix_of(A), most, &found, &count));
    assert_non_null(found);
    assert_int_equal(count, most < n ? most : n);
    OK(buffer_read(device(), found, 0, (size_t)n * sizeof *label, label));
    for (int64_t i = 0; i < n; i++) assert_in_range(label[i], 0, count - 1);
    for (int64_t i = 0; i < n; i++) {
        if (label[i] < 0) continue;
        const int64_t size = reach(&rows, label, i, stack);
        if (size > largest) largest = size;
        seen++;
    }
    assert_int_equal(seen, count); /* a part in two pieces is seen twice */
    assert_true(largest <= 8 * (n / count + 1));
    buffer_release(device(), &found);
    kryi_csr_release(&rows);
    free(label), free(stack);
}

static void graph_parts(void **state)
{
    static const int64_t most[] = { 1, 2, 9, 100, N - 1, N, 2 * N };
    kry_op *A = operator_of(&systems[4], type_of(state)), *apart;
    cl_mem label;
    int64_t count;

    for (size_t i = 0; i < COUNT(most); i++) check_parts(A, most[i]);
    kry_op_release(&A);
    const int64_t ptr[] = { 0, 1, 2, 3 };
    const int32_t col[] = { 0, 1, 2 };
    const double ones[] = { 1, 1, 1 };
    OK(kry_csr_create(device(), KRY_F64, 3, 3, ptr, col, ones, NULL, &apart));
    OK(kryi_labels_of_graph(kryi_matrix_of(apart), 2, &label, &count));
    assert_null(label); /* without neighbours there are no pairs */
    kry_op_release(&apart);
}

/* ---- two levels
 * ------------------------------------------------------------------------------------ */

typedef struct outcome {
    int64_t iterations;
    double *x;
    kry_result result;
} outcome;

static outcome solve(const kry_op *A, const kry_vec *b, const char *precond, const char *deflation)
{
    outcome o = { 0 };
    char words[200];
    kry_op *S;
    kry_vec *x;

    snprintf(words, sizeof words, "method=pcg precond=%s rtol=%s deflation=%s", precond,
             kry_op_get_shape(A)->type == KRY_F32 ? "1e-4" : "1e-10", deflation);
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_vec_create(device(), kry_op_get_shape(A)->type, kry_op_get_shape(A)->rows, 1, &x));
    kry_status st = kry_solve(S, b, x, &o.result);
    if (st != KRY_OK) fail_msg("%s: %s", words, st < 0 ? kry_last_error() : o.result.why);
    o.iterations = o.result.iterations;
    o.x = numbers_of(x);
    kry_vec_release(&x);
    kry_op_release(&S);
    return o;
}

/* The same count, but for rounding. */
static bool about(int64_t a, int64_t b) { return llabs(a - b) <= 1 + b / 15; }

/* The solution does not depend on the way; nor do the iterations, in double. */
static void variants(void **state)
{
    static const char *const words[] = {
        "stripes:9",
        "stripes:9,az=product",
        "stripes:9,az=stored,coarse=dense",
        "stripes:9,variant=def1,coarse=cholesky",
        "stripes:9,variant=def1,az=product",
        "stripes:9,variant=bnn",
        "stripes:9,variant=bnn,az=product,coarse=dense",
#ifdef KRY_HAVE_METIS
        "graph:9",
#endif
    };
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(systems); s++) {
        kry_op *A = operator_of(&systems[s], type);
        double *numbers = random_array(type, N);
        kry_vec *x = vec_of(type, numbers, N, 1), *b;
        OK(kry_vec_create(device(), type, N, 1, &b));
        OK(kry_op_apply(A, 1, x, 0, b));
        outcome plain = solve(A, b, "jacobi", "none"), first = { 0 };
        for (size_t w = 0; w < COUNT(words); w++) {
            if (type == KRY_F32 && strstr(words[w], "def1")) continue; /* not fit for it */
            outcome o = solve(A, b, "jacobi", words[w]);
            double largest = 0;
            for (int i = 0; i < N; i++) largest = fmax(largest, fabs(plain.x[i]));
            for (int i = 0; i < N; i++)
                NEAR(o.x[i], plain.x[i], (type == KRY_F32 ? 0.3 : 1e-5) * largest, "%s, %s: x[%d]",
                     systems[s].name, words[w], i);
            if (w == 0) first = o;
            if (type == KRY_F64 && w < 7 && !about(o.iterations, first.iterations))
                fail_msg("%s, %s: %d iterations, not %d", systems[s].name, words[w],
                         (int)o.iterations, (int)first.iterations);
            assert_true(o.iterations <= plain.iterations + 2);
            if (w) free(o.x);
        }
        free(first.x);
        free(plain.x);
        free(numbers);
        kry_vec_release(&x);
        kry_vec_release(&b);
        kry_op_release(&A);
    }
}

/* Q A Z = Z: deflation reproduces what it holds. */
static void projector(void **state)
{
    kry_type type = type_of(state);
    kry_op *A = operator_of(&systems[1], type), *Q;
    int64_t k;
    int32_t *labels = labels_of(SCATTERED, N, &k);
    double *c = random_array(type, k), numbers[N];

    OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels), &Q));
    for (int i = 0; i < N; i++) numbers[i] = c[labels[i]];
    kry_vec *z = vec_of(type, numbers, N, 1), *az, *y;
    OK(kry_vec_create(device(), type, N, 1, &az));
    OK(kry_vec_create(device(), type, N, 1, &y));
    OK(kry_op_apply(A, 1, z, 0, az));
    OK(kry_vec_fill(y, NAN));
    OK(kry_op_apply(Q, 1, az, 0, y));
    double *got = numbers_of(y);
    for (int i = 0; i < N; i++) NEAR(got[i], numbers[i], 3e4 * eps_of(type), "(Q A Z c)[%d]", i);
    free(got), free(c), free(labels);
    kry_vec_release(&z);
    kry_vec_release(&az);
    kry_vec_release(&y);
    kry_op_release(&Q);
    kry_op_release(&A);
}

/* Vectors of the caller's: as columns of ones and zeros they are the same as labels. */
/* y := 2 T x + y / 2, which no solver asks for. */
static void check_scaled(kry_type type, const kry_op *T)
{
    double *x = random_array(type, N), *old = random_array(type, N);
    kry_vec *X = vec_of(type, x, N, 1), *Y = vec_of(type, old, N, 1);

    OK(kry_op_apply(T, 2, X, 0.5, Y));
    double *got = numbers_of(Y), most = 0;
    OK(kry_op_apply(T, 1, X, 0, Y));
    double *plain = numbers_of(Y);
    for (int i = 0; i < N; i++) most = fmax(most, fabs(plain[i]) + fabs(old[i]));
    for (int i = 0; i < N; i++)
        NEAR(got[i], 2 * plain[i] + 0.5 * old[i], 8 * most * eps_of(type), "(%s x)[%d]",
             op_table(T)->kind, i);
    free(got), free(plain), free(old), free(x);
    kry_vec_release(&X);
    kry_vec_release(&Y);
}

static void scaled(void **state)
{
    static const kry_deflation_variant two_level[] = { KRY_ADEF2, KRY_BNN };
    kry_type type = type_of(state);
    kry_op *A = operator_of(&systems[1], type), *D, *T;
    int64_t k;
    int32_t *labels = labels_of(SCATTERED, N, &k);

    for (size_t v = 0; v < COUNT(two_level); v++) {
        OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels, .variant = two_level[v]), &D));
        OK(kryi_two_level_precond(D, NULL, &T));
        kry_op_release(&D); /* T keeps it */
        check_scaled(type, T);
        kry_op_release(&T);
    }
    OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels, .variant = KRY_DEF1), &D));
    OK(kryi_two_level_product(D, &T));
    kry_op_release(&D);
    check_scaled(type, T);
    kry_op_release(&T);
    kry_op_release(&A);
    free(labels);
}

static void vectors(void **state)
{
    kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(systems); s++) {
        kry_op *A = operator_of(&systems[s], type), *D, *S;
        int64_t k;
        int32_t *labels = labels_of(RUNS, N, &k);
        double *columns = calloc((size_t)(N * k), sizeof *columns),
               *numbers = random_array(type, N);
        kry_vec *x = vec_of(type, numbers, N, 1), *b;
        kry_result by_vectors, by_labels;

        for (int i = 0; i < N; i++) columns[labels[i] * N + i] = 1;
        kry_vec *Z = vec_of(type, columns, N, k);
        OK(kry_vec_create(device(), type, N, 1, &b));
        OK(kry_op_apply(A, 1, x, 0, b));
        kry_stop stop = { .rtol = type == KRY_F32 ? 1e-4 : 1e-10 };
        for (int v = 0; v < 2; v++) {
            OK(kry_deflation_create(
                A, v ? KRY_DEFLATION(.vectors = Z) : KRY_DEFLATION(.labels = labels), &D));
            OK(kry_pcg_create(A, KRY_PCG(.deflation = D, .stop = stop), &S));
            OK(kry_vec_fill(x, 0));
            OK(kry_solve(S, b, x, v ? &by_vectors : &by_labels));
            kry_op_release(&D);
            kry_op_release(&S);
        }
        if (type == KRY_F64 && !about(by_vectors.iterations, by_labels.iterations))
            fail_msg("%s: %d and %d iterations", systems[s].name, (int)by_vectors.iterations,
                     (int)by_labels.iterations);
        free(columns), free(numbers), free(labels);
        kry_vec_release(&x);
        kry_vec_release(&b);
        kry_vec_release(&Z);
        kry_op_release(&A);
    }
}

/* Modes by labels are the vectors that they stand for; those that depend on others are left out. */
enum { MODES = 4 };

static kry_vec *modes_of(kry_type type)
{
    double numbers[MODES * N];

    for (int i = 0; i < N; i++) {
        numbers[i] = 1, numbers[N + i] = i % NX, numbers[2 * N + i] = (double)(i / NX);
        numbers[3 * N + i] = 2 + 3 * (i % NX);
    }
    return vec_of(type, numbers, N, MODES);
}

static kry_result solve_by(const kry_op *A, const kry_op *D, const kry_op *M, const kry_vec *b)
{
    kry_op *S;
    kry_vec *x;
    kry_result res;
    kry_stop stop = { .rtol = kry_op_get_shape(A)->type == KRY_F32 ? 1e-4 : 1e-10 };

    OK(kry_pcg_create(A, KRY_PCG(.deflation = D, .precond = M, .stop = stop), &S));
    OK(kry_vec_create(device(), kry_op_get_shape(A)->type, N, 1, &x));
    kry_status st = kry_solve(S, b, x, &res);
    if (st != KRY_OK) fail_msg("%s", st < 0 ? kry_last_error() : res.why);
    kry_vec_release(&x);
    kry_op_release(&S);
    return res;
}

static void modes(void **state)
{
    enum { K = 9, KEPT = MODES - 1 };
    kry_type type = type_of(state);
    kry_vec *modes = modes_of(type);
    double *numbers = random_array(type, N), *columns = calloc(N * K * KEPT, sizeof *columns);
    int32_t labels[N];
    kry_vec *b = vec_of(type, numbers, N, 1);

    OK(kry_labels_stripes(N, K, labels));
    for (int i = 0; i < N; i++) {
        const double mode[KEPT] = { 1, i % NX, (double)(i / NX) };
        for (int j = 0; j < KEPT; j++) columns[(labels[i] * KEPT + j) * N + i] = mode[j];
    }
    kry_vec *Z = vec_of(type, columns, N, K * KEPT);
    for (size_t s = 0; s < COUNT(systems); s++) {
        kry_op *A = operator_of(&systems[s], type), *M, *by_modes, *by_vectors;
        if (s == 2 || s == 3 || s == 5) { /* singular: b has to be in the range */
            kry_vec *x = vec_of(type, numbers, N, 1);
            OK(kry_op_apply(A, 1, x, 0, b));
            kry_vec_release(&x);
        }
        OK(kry_jacobi_create(A, &M));
        OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels, .modes = modes), &by_modes));
        OK(kry_deflation_create(A, KRY_DEFLATION(.vectors = Z), &by_vectors));
        for (int m = 0; m < 2; m++) {
            int64_t got = solve_by(A, by_modes, m ? M : NULL, b).iterations;
            int64_t want = solve_by(A, by_vectors, m ? M : NULL, b).iterations;
            if (type == KRY_F64 && !about(got, want))
                fail_msg("%s: %d iterations, not %d", systems[s].name, (int)got, (int)want);
        }
        kry_op_release(&by_vectors);
        kry_op_release(&by_modes);
        kry_op_release(&M);
        kry_op_release(&A);
    }
    free(numbers), free(columns);
    kry_vec_release(&Z);
    kry_vec_release(&b);
    kry_vec_release(&modes);
}

/* Write the modes as an array of so many rows. */
static void write_modes(const char *path, int rows)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "%%%%MatrixMarket matrix array real general\n%d 3\n", rows);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < rows; i++) fprintf(f, "%d\n", j == 0 ? 1 : j == 1 ? i % NX : i / NX);
    assert_int_equal(fclose(f), 0);
}

/* The same solve as with modes from memory. */
static void modes_from_a_file(void **state)
{
    kry_type type = type_of(state);
    char path[] = "/tmp/kry-modes-XXXXXX", words[120];
    const int file = mkstemp(path);
    kry_vec *modes = modes_of(type);
    double *numbers = random_array(type, N);
    kry_vec *b = vec_of(type, numbers, N, 1);
    kry_op *A = operator_of(&systems[1], type), *D, *S, *M;

    assert_true(file >= 0);
    close(file);
    write_modes(path, N);
    OK(kry_jacobi_create(A, &M));
    OK(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5, .modes = modes), &D));
    const int64_t want = solve_by(A, D, M, b).iterations;
    kry_op_release(&D);
    OK(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5, .modes_file = path), &D));
    assert_int_equal(solve_by(A, D, M, b).iterations, want);
    kry_op_release(&D);
    snprintf(words, sizeof words, "method=pcg precond=jacobi deflation=stripes:5,modes=%s", path);
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    kry_op_release(&S);
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5, .modes_file = path, .modes = modes),
                                 &D),
            KRY_ERR_ARGUMENT, "not both");
    write_modes(path, N - 1);
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5, .modes_file = path), &D),
            KRY_ERR_PARSE, "rows, the matrix");
    remove(path);
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5, .modes_file = path), &D),
            KRY_ERR_FILE, "kry-modes");
    free(numbers);
    kry_vec_release(&modes), kry_vec_release(&b);
    kry_op_release(&M), kry_op_release(&A);
}

/* A solver goes on with the sub-domains that its deflation takes, as one that is made with these. */
static void other_labels(void **state)
{
    kry_type type = type_of(state);
    kry_op *A = operator_of(&systems[1], type), *other = operator_of(&systems[0], type);
    kry_op *D, *S, *M, *none;
    kry_vec *modes = modes_of(type), *x, *b;
    double *numbers = random_array(type, N);
    const kry_deflation_params *const next[] = {
        KRY_DEFLATION(.stripes = 20), KRY_DEFLATION(.block = 4, .modes = modes),
        KRY_DEFLATION(.stripes = 2, .az = KRY_AZ_PRODUCT)
    };
    kry_result res;

    b = vec_of(type, numbers, N, 1);
    OK(kry_vec_create(device(), type, N, 1, &x));
    OK(kry_jacobi_create(A, &M));
    OK(kry_deflation_create(A, KRY_DEFLATION(.stripes = 5), &D));
    OK(kry_pcg_create(
        A,
        KRY_PCG(.deflation = D, .precond = M, .stop = { .rtol = type == KRY_F32 ? 1e-4 : 1e-10 }),
        &S));
    for (size_t i = 0; i < COUNT(next); i++) {
        kry_op *fresh;
        OK(kry_deflation_update(A, next[i], D));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        OK(kry_deflation_create(A, next[i], &fresh));
        assert_int_equal(res.iterations, solve_by(A, fresh, M, b).iterations);
        kry_op_release(&fresh);
        REFUSES(kry_deflation_update(A, KRY_DEFLATION(.stripes = N + 1), D), KRY_ERR_ARGUMENT,
                "144");
    }
    OK(kry_op_update(S, NULL));
    OK(kry_vec_fill(x, 0));
    int64_t before = res.iterations;
    OK(kry_solve(S, b, x, &res));
    assert_int_equal(res.iterations, before);
    REFUSES(kry_deflation_update(other, NULL, D), KRY_ERR_ARGUMENT, "no deflation of this");
    REFUSES(kry_deflation_update(A, NULL, M), KRY_ERR_ARGUMENT, "'jacobi' is no deflation");
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.vectors = modes, .modes = modes), &none),
            KRY_ERR_ARGUMENT, "modes go with");
    free(numbers);
    kry_vec_release(&modes);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&D);
    kry_op_release(&M);
    kry_op_release(&other);
    kry_op_release(&A);
}

/* Without a preconditioner the size of A does not matter. */
static void unscaled(void **state)
{
    enum { SIDE = 32, ALL = SIDE * SIDE };
    static const double spacing[] = { 1, 1.0 / 33, 1e-4, 100 };
    kry_type type = type_of(state);
    double *numbers = random_array(type, ALL);
    kry_vec *b = vec_of(type, numbers, ALL, 1);

    for (int v = 0; v < 2; v++) {
        int64_t first = 0;
        for (size_t h = 0; h < COUNT(spacing); h++) {
            kry_op *A;
            OK(kry_stencil_create(device(), type,
                                  KRY_STENCIL(.size = { SIDE, SIDE },
                                              .spacing = { spacing[h], spacing[h] },
                                              .diffusion = { 1, 1 }),
                                  &A));
            outcome o = solve(A, b, "none", v ? "blocks:8" : "blocks:8,variant=a-def2");
            if (h == 0) first = o.iterations;
            if (!about(o.iterations, first))
                fail_msg("%g: %d, not %d", spacing[h], (int)o.iterations, (int)first);
            free(o.x);
            kry_op_release(&A);
        }
    }
    free(numbers);
    kry_vec_release(&b);
}

/* With jumps and without a preconditioner, A-DEF2 does not converge, or is slower than no deflation: kry
 * takes BNN by itself. */
static void jumps(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    kry_op *A;

    if (type == KRY_F32) SKIP("too ill-conditioned for single");
    OK(kry_problem_create("twophase2d:12", 1, &p));
    OK(kry_stencil_create(device(), type, p->grid, &A));
    kry_vec *b = vec_of(type, p->rhs, p->n, 1);
    outcome plain = solve(A, b, "none", "none"), o = solve(A, b, "none", "stripes:4");
    if (o.iterations > plain.iterations)
        fail_msg("%d iterations, %d without deflation", (int)o.iterations, (int)plain.iterations);
    free(plain.x), free(o.x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* New values: what is refreshed solves as what is made anew. */
static void update(void **state)
{
    kry_type type = type_of(state);
    double k[N];
    kry_op *A = operator_of(&systems[2], type), *S;
    kry_vec *x, *b;
    double *numbers = random_array(type, N);
    kry_result kept, fresh;
    const char *words = type == KRY_F32 ? "method=pcg rtol=1e-4 deflation=stripes:9"
                                        : "method=pcg rtol=1e-10 deflation=stripes:9";

    OK(kry_solver_create(A, words, NULL, NULL, &S));
    for (int i = 0; i < N; i++) k[i] = pow(10, 2 * random_number(KRY_F64));
    OK(kry_op_update(A, k));
    OK(kry_op_update(S, NULL));
    x = vec_of(type, numbers, N, 1);
    OK(kry_vec_create(device(), type, N, 1, &b));
    OK(kry_op_apply(A, 1, x, 0, b));
    OK(kry_vec_fill(x, 0));
    OK(kry_solve(S, b, x, &kept));
    double *first = numbers_of(x);
    kry_op_release(&S);
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_vec_fill(x, 0));
    OK(kry_solve(S, b, x, &fresh));
    double *second = numbers_of(x);
    assert_same_bits(first, second, N);
    assert_int_equal(kept.iterations, fresh.iterations);
    free(first), free(second), free(numbers);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&A);
}

/* An operator that says nothing about its pattern: each label has a product of its own. */
static kry_status own_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_op_apply(self, alpha, x, beta, y);
}
static void own_operator(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "own",
                                        .apply = own_apply };
    kry_type type = type_of(state);
    kry_op *A = operator_of(&systems[1], type), *own;
    double *numbers = random_array(type, N);
    kry_vec *x = vec_of(type, numbers, N, 1), *b;

    OK(kry_op_create(device(), &table, A, &(kry_op_shape){ N, N, type, KRY_POSITIVE }, &own));
    OK(kry_vec_create(device(), type, N, 1, &b));
    OK(kry_op_apply(A, 1, x, 0, b));
    outcome known = solve(A, b, "none", "stripes:7"), unknown = solve(own, b, "none", "stripes:7");
    if (type == KRY_F64 && !about(known.iterations, unknown.iterations))
        fail_msg("%d and %d iterations", (int)known.iterations, (int)unknown.iterations);
    free(known.x), free(unknown.x), free(numbers);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&own);
    kry_op_release(&A);
}

static void bad_input(void **state)
{
    kry_type type = type_of(state);
    kry_op *A = operator_of(&systems[0], type), *stored = operator_of(&systems[4], type), *D, *S;
    int32_t labels[N] = { 0 };
    double columns[2 * N] = { 0 };

#define CREATE(...) kry_deflation_create(A, KRY_DEFLATION(__VA_ARGS__), &D)
    REFUSES(kry_deflation_create(NULL, NULL, &D), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(.stripes = N + 1), KRY_ERR_ARGUMENT, "144");
    REFUSES(CREATE(.stripes = -1), KRY_ERR_ARGUMENT, "stripes = -1");
    REFUSES(CREATE(.block = -2), KRY_ERR_ARGUMENT, "block = -2");
    REFUSES(CREATE(.stripes = 2, .block = 2), KRY_ERR_ARGUMENT, "one of labels");
    REFUSES(CREATE(.stripes = 2, .variant = 7), KRY_ERR_ARGUMENT, "variant = 7");
    labels[3] = 2; /* 1 is not used */
    REFUSES(CREATE(.labels = labels), KRY_ERR_ARGUMENT, "1");
    labels[3] = -1;
    REFUSES(CREATE(.labels = labels), KRY_ERR_ARGUMENT, "3");
    for (int i = 0; i < N; i++) columns[i] = 1, columns[N + i] = 2;
    kry_vec *Z = vec_of(type, columns, N, 2);
    REFUSES(CREATE(.vectors = Z), KRY_ERR_SINGULAR, "dependent");
    kry_vec_release(&Z);
    memset(columns + N, 0, N * sizeof *columns);
    Z = vec_of(type, columns, N, 2);
    REFUSES(CREATE(.vectors = Z), KRY_ERR_ARGUMENT, "vector 1 has norm 0");
    kry_vec_release(&Z);
    Z = vec_of(type, columns, N - 1, 1);
    REFUSES(CREATE(.vectors = Z), KRY_ERR_SHAPE, "143");
    kry_vec_release(&Z);
    REFUSES(kry_deflation_create(stored, KRY_DEFLATION(.block = 4), &D), KRY_ERR_UNSUPPORTED,
            "grid");
    OK(CREATE(.stripes = 3));
    REFUSES(kry_pcg_create(stored, KRY_PCG(.deflation = D), &S), KRY_ERR_ARGUMENT,
            "another matrix");
    REFUSES(kry_pcg_create(A, KRY_PCG(.deflation = A), &S), KRY_ERR_TYPE, "no deflation");
    REFUSES(kry_op_update(D, columns), KRY_ERR_ARGUMENT, "no values");
    kry_op_release(&D);
    assert_null(D);
#define WORD(word, text) \
    REFUSES(kry_solver_create(A, "method=pcg deflation=" word, NULL, NULL, &S), KRY_ERR_PARSE, text)
    WORD("block:4", "block:4");
    WORD("blocks:0", "blocks:0");
    WORD("blocks:4+fase", "blocks:4+fase");
    WORD("stripes:", "stripes:");
    WORD("stripes:4,variant=def3", "def3");
    WORD("labels:", "labels:");
    REFUSES(kry_solver_create(A, "method=sor deflation=stripes:4", NULL, NULL, &S), KRY_ERR_PARSE,
            "no deflation");
    kry_op_release(&A);
    kry_op_release(&stored);
}

/* ---- set-up on GPUs ---- */

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void check_failures(const kry_op *A, const kry_deflation_params *p)
{
    kry_op *D;

    OK(kry_deflation_create(A, p, &D)); /* kernels are there */
    EACH_REQUEST(k)
    {
        kry_op *none = D; /* poison */
        const kry_status st = FAILING(k, kry_deflation_create(A, p, &none));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed));
        assert_true(!none == (st < 0));
        kry_op_release(&none);
    }
    EACH_REQUEST(k)
    {
        const kry_status st = FAILING(k, kry_op_update(D, NULL));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed));
    }
    kry_op_release(&D);
}

static void set_up__memory_fails(void **state)
{
    kry_op *grid = operator_of(&systems[1], type_of(state)),
           *stored = operator_of(&systems[4], type_of(state));

    check_failures(grid, KRY_DEFLATION(.block = 4, .phase = true));
    check_failures(stored, KRY_DEFLATION());
    kry_op_release(&grid);
    kry_op_release(&stored);
}

#define GPU(test, type)                                                   \
    {                                                                     \
#test "/" #type ", gpu", test, on_gpu_kernels, NULL, &type_##type \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(subspace),
        BOTH(galerkin),
        BOTH(variants),
        BOTH(projector),
        BOTH(vectors),
        BOTH(update),
        BOTH(own_operator),
        BOTH(bad_input),
        BOTH(scaled),
        BOTH(unscaled),
        BOTH(jumps),
        BOTH(modes),
        BOTH(modes_from_a_file),
        BOTH(other_labels),
        GPU(galerkin, double),
        GPU(grid_labels, double),
        GPU(graph_parts, double),
        GPU(set_up__memory_fails, double),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
