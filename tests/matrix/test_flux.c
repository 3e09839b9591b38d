/*
 * test_flux.c - products of differences: constants vanish to the bit, errors are of the size of the
 * flows where those of the assembled form are not, rows that add up to something, new values, every
 * format, and what has no such form.
 */
#include "format_suite.h"
#include "step_suite.h"
#include "teams.h"
#include <kry/opencl.h>

/* ---- graphs -------------------------------------------------------------------------------- */

/* How strongly i and j are joined, the same for (j, i); 0: not at all. */
typedef double weight_fn(int64_t i, int64_t j, int64_t n);

static double random_weight(int64_t i, int64_t j)
{
    return 0.1 + (double)(pair_bits(i, j) >> 11) / 9007199254740992.0;
}

static double path(int64_t i, int64_t j, int64_t n)
{
    (void)n;
    return labs((long)(i - j)) == 1 ? random_weight(i, j) * (i % 2 ? 1000 : 1) + random_weight(j, i)
                                    : 0;
}

/* A square of cells, the lower half a million times as permeable as the upper one. */
static double two_phases(int64_t i, int64_t j, int64_t n)
{
    int64_t side = (int64_t)(sqrt((double)n) + 0.5), low = i < j ? i : j, high = i < j ? j : i;
    bool joined = high - low == side || (high - low == 1 && high % side != 0);
    double a = low < n / 2 ? 1 : 1e-6, b = high < n / 2 ? 1 : 1e-6;
    return joined ? 2 * a * b / (a + b) * random_weight(i, j) : 0;
}

/* The same with weights that single holds, and their sums, too. */
static double two_phases_exact(int64_t i, int64_t j, int64_t n)
{
    return ldexp(ceil(ldexp(two_phases(i, j, n), 21)), -21);
}

static double random_graph(int64_t i, int64_t j, int64_t n)
{
    uint64_t bits = pair_bits(i, j);
    if (i == j || bits % (uint64_t)(n / 5 + 1)) return 0;
    return random_weight(i, j) * pow(10, (double)(bits % 7919 % 7) - 3);
}

/* One node joined to all: a row longer than a run. */
static double star(int64_t i, int64_t j, int64_t n)
{
    int64_t middle = n / 2;
    return i != j && (i == middle || j == middle) ? random_weight(i, j) : 0;
}

/* Minus the weights, and on the diagonal their sum, rounded, and `leak` of it more. */
static matrix graph_matrix(kry_type type, int64_t n, weight_fn *weight, double leak)
{
    matrix A = { .rows = n, .cols = n };
    int64_t k = 0;

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    assert_non_null(A.row_ptr);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) A.nnz += i == j || weight(i, j, n) != 0;
    A.col = calloc((size_t)A.nnz + 1, sizeof *A.col);
    A.val = calloc((size_t)A.nnz + 1, sizeof *A.val);
    assert_true(A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        int64_t diagonal = -1;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double w = weight(i < j ? i : j, i < j ? j : i, n);
            if (i == j) diagonal = k;
            if (i != j && w == 0) continue;
            A.col[k] = (int32_t)j;
            A.val[k] = i == j ? 0 : -to_type(type, w);
            sum -= A.val[k++];
        }
        A.val[diagonal] = to_type(type, sum * (1 + (i % 3 == 0 ? leak : 0)));
        A.row_ptr[i + 1] = k;
    }
    return A;
}

static const struct graph {
    const char *why;
    int64_t n;
    weight_fn *weight;
} graphs[] = {
    { "a path of two", 2, path },          { "a vector, less one", 7, path },
    { "a vector and one", 9, path },       { "a group, less one", 127, path },
    { "a group and one", 129, path },      { "a run and one", 513, path },
    { "two phases", 169, two_phases },     { "two phases, many groups", 1089, two_phases },
    { "at random", 200, random_graph },    { "at random, many diagonals", 701, random_graph },
    { "a star: one long row", 700, star },
};
#define EACH_GRAPH(g) for (const struct graph *g = graphs; g < graphs + COUNT(graphs); g++)

/* Graphs, formats and number types in turns. */
static bool graph_in_sample(const struct graph *g, int64_t format, kry_type type)
{
    return one_of(7, g - graphs + format + 2 * (type == KRY_F32));
}

/* The matrix in flux form and this format, or NULL where the format does not take it. */
static kry_op *flux_in(const matrix *A, kry_type type, kry_format format, unsigned traits)
{
    kry_op *op = NULL;
    bool taken = !is_too_much(A, type, bytes_needed(A, type, format)) &&
                 (format != KRY_FORMAT_SYMDIA || is_symmetric(A));
    kry_status st =
        create(A, type, KRY_MATRIX(.format = format, .traits = traits, .form = KRY_FLUX), &op);

    assert_int_equal(st == KRY_OK, taken);
    return op;
}

/* ---- constants ------------------------------------------------------------------------------- */

static double *constant(kry_type type, int64_t n, double c)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = to_type(type, c);
    return x;
}

/* y = A x by every product there is but the direction's. */
static void each_product(const kry_op *op, kry_type type, const double *x, double *y[3])
{
    int64_t n = kry_op_get_shape(op)->rows;
    double *zero = constant(type, n, 0);
    kry_sum *sum = NULL;
    guarded X = guarded_create(type, n, 1, 1, x), B = guarded_create(type, n, 1, 0, zero),
            Y = guarded_create(type, n, 1, 3, NULL);

    OK(kry_op_apply(op, 1, X.v, 0, Y.v));
    y[0] = guarded_read(&Y);
    poison(&Y);
    OK(kry_op_residual(op, B.v, X.v, Y.v));
    y[1] = guarded_read(&Y);
    for (int64_t i = 0; i < n; i++) y[1][i] = -y[1][i];
    poison(&Y);
    OK(kry_sum_create(device(), 1, &sum));
    OK(kry_op_apply_dot(op, X.v, Y.v, sum)); /* its sum: step_suite */
    y[2] = guarded_read(&Y);
    kry_sum_release(&sum);
    guarded_release(&X), guarded_release(&B), guarded_release(&Y);
    free(zero);
}

/* Rows that add up to 0 but for rounding: known from KRY_SINGULAR, and found out. */
static void flux__constants_vanish(void **state)
{
    kry_type type = type_of(state);
    static const double values[] = { 1, 0.1, -1e7 };
    double *y[3];
    bool assembled_does = true;

    EACH_GRAPH(g)
    {
        matrix A = graph_matrix(type, g->n, g->weight, 0);
        EACH_FORMAT(format)
        {
            if (!graph_in_sample(g, format, type)) continue;
            kry_op *op = flux_in(&A, type, format, KRY_SINGULAR * (format % 2));
            if (!op) continue;
            assert_false(look_into_matrix(op).surplus);
            for (size_t v = 0; v < COUNT(values); v++) {
                double *x = constant(type, g->n, values[v]);
                each_product(op, type, x, y);
                for (int way = 0; way < 3; way++) {
                    for (int64_t i = 0; i < g->n; i++)
                        if (y[way][i] != 0)
                            fail_msg("%s, %s, product %d: %g in row %lld", g->why,
                                     kry_format_name(format), way, y[way][i], (long long)i);
                    free(y[way]);
                }
                free(x);
            }
            kry_op_release(&op);
        }
        kry_op *assembled = in_format(&A, type, KRY_FORMAT_CSR, 0);
        double *x = constant(type, g->n, 0.1);
        each_product(assembled, type, x, y);
        for (int64_t i = 0; i < g->n; i++) assembled_does = assembled_does && y[0][i] == 0;
        for (int way = 0; way < 3; way++) free(y[way]);
        free(x);
        kry_op_release(&assembled);
        matrix_release(&A);
    }
    assert_false(assembled_does);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Row i of the flux form without rounding, and the sum of its flows' sizes. A leak counts where
 * it is more than rounding. */
static long double flux_row(const matrix *A, kry_type type, int64_t i, const double *x,
                            long double *flows)
{
    long double sum = 0, surplus = 0, size = 0;
    int64_t m = A->row_ptr[i + 1] - A->row_ptr[i];

    *flows = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        long double flow = A->val[k] * ((long double)x[A->col[k]] - x[i]);
        sum += flow, *flows += fabsl(flow);
        surplus += A->val[k], size += fabsl((long double)A->val[k]);
    }
    long double noise = eps_of(type) / 2 * size;
    if (type == KRY_F32 ? fabsl(surplus) < noise : fabsl(surplus) <= m * noise) return sum;
    *flows += fabsl(surplus * x[i]);
    return sum + surplus * x[i];
}

/* Units of rounding of the flows: the difference, its product, m sums, the surplus. */
static long double flux_bound(const matrix *A, kry_type type, int64_t i, long double flows)
{
    int64_t m = A->row_ptr[i + 1] - A->row_ptr[i];
    return (long double)(m + 4) * eps_of(type) * flows + least_of(type) * (m + 4);
}

/* Rows in which the product is further off than the flows explain. */
static int64_t rows_off(const kry_op *op, const matrix *A, const double *x)
{
    kry_type type = kry_op_get_shape(op)->type;
    int64_t off = 0;
    double *y[3];

    each_product(op, type, x, y);
    for (int64_t i = 0; i < A->rows; i++) {
        long double flows, want = flux_row(A, type, i, x, &flows);
        for (int way = 0; way < 3; way++)
            off += !(fabsl(y[way][i] - want) <= flux_bound(A, type, i, flows));
    }
    for (int way = 0; way < 3; way++) free(y[way]);
    return off;
}

/* x hardly varies from node to node. */
static double *smooth(kry_type type, int64_t n)
{
    double *x = random_array(type, n);
    for (int64_t i = 0; i < n; i++) x[i] = to_type(type, 1 + 1e-4 * x[i]);
    return x;
}

static void flux__errors_are_of_the_flows(void **state)
{
    kry_type type = type_of(state);
    static const double leaks[] = { 0, 0.25 };

    for (size_t l = 0; l < COUNT(leaks); l++) EACH_GRAPH(g)
        {
            matrix A = graph_matrix(type, g->n, g->weight, leaks[l]);
            double *x = smooth(type, g->n);
            EACH_FORMAT(format)
            {
                if (!graph_in_sample(g, (int64_t)(format + l), type)) continue;
                kry_op *op = flux_in(&A, type, format, 0);
                if (!op) continue;
                assert_int_equal(look_into_matrix(op).surplus, leaks[l] != 0);
                if (rows_off(op, &A, x))
                    fail_msg("%s, %s: %lld rows are too far off", g->why, kry_format_name(format),
                             (long long)rows_off(op, &A, x));
                kry_op_release(&op);
            }
            kry_op *assembled = in_format(&A, type, KRY_FORMAT_CSR, 0);
            if (g->n > 100 && leaks[l] == 0) assert_true(rows_off(assembled, &A, x) > g->n / 4);
            kry_op_release(&assembled);
            free(x);
            matrix_release(&A);
        }
}

/* ---- every pattern --------------------------------------------------------------------------- */

/* The same with a diagonal that is larger than the rest of its row together: then the bounds of
 * op_suite hold for differences too. Empty rows stay empty. */
static matrix with_diagonal(const matrix *A, kry_type type)
{
    matrix D = { .rows = A->rows, .cols = A->cols };
    D.row_ptr = calloc((size_t)A->rows + 1, sizeof *D.row_ptr);
    D.col = calloc((size_t)(A->nnz + A->rows) + 1, sizeof *D.col);
    D.val = calloc((size_t)(A->nnz + A->rows) + 1, sizeof *D.val);
    assert_true(D.row_ptr && D.col && D.val);
    for (int64_t i = 0; i < A->rows; i++) {
        double size = 0;
        int64_t k = A->row_ptr[i], end = A->row_ptr[i + 1];
        for (int64_t e = k; e < end; e++) size += A->col[e] == i ? 0 : fabs(A->val[e]);
        for (; k < end && A->col[k] < i; k++) D.col[D.nnz] = A->col[k], D.val[D.nnz++] = A->val[k];
        if (end > A->row_ptr[i])
            D.col[D.nnz] = (int32_t)i, D.val[D.nnz++] = to_type(type, 2.25 * size + 0.5);
        if (k < end && A->col[k] == i) k++;
        for (; k < end; k++) D.col[D.nnz] = A->col[k], D.val[D.nnz++] = A->val[k];
        D.row_ptr[i + 1] = D.nnz;
    }
    return D;
}

static const pattern squares[] = {
    { "the smallest", 1, 1, one, NULL },
    { "empty rows in between", 259, 259, gaps, NULL },
    { "a tile of empty rows, then some entries", 600, 600, late, NULL },
    { "a row longer than a run", 700, 700, dense_row, NULL },
    { "short rows among long ones", 400, 400, power_law, NULL },
    { "rows around the borders", 1100, 1100, borders, NULL },
    { "a vector of rows and one", 9, 9, all, NULL },
    { "five points", 961, 961, NULL, poisson },
    { "a symmetric band", 515, 515, NULL, symmetric_band },
    { "symmetric at random", 129, 129, NULL, symmetric_random },
};

static void flux__patterns(void **state)
{
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(squares); p++) {
        matrix P = pattern_matrix(&squares[p], type), A = with_diagonal(&P, type);
        EACH_FORMAT(format)
        {
            if (!one_of(4, (int64_t)p + format + 2 * (type == KRY_F32))) continue;
            kry_op *op = flux_in(&A, type, format, 0);
            kry_op_info info;
            if (!op) continue;
            op_suite(op, &A);
            step_suite(op, &A, squares[p].why);
            assert_reads_back(op, &A);
            kry_op_describe(op, &info);
            assert_non_null(strstr(info.variant, "flux form"));
            kry_op *again = flux_in(&A, type, format, 0);
            assert_same_product(op, again);
            kry_op_release(&again);
            kry_op_release(&op);
        }
        matrix_release(&A);
        matrix_release(&P);
    }
}

/* Rows without a diagonal, and numbers of any size. */
static void flux__no_diagonal(void **state)
{
    static const pattern square[] = { { "a few", 259, 259, gaps, NULL },
                                      { "late", 600, 600, late, NULL },
                                      { "a long row", 700, 700, dense_row, NULL },
                                      { "the borders", 1100, 1100, borders, NULL } };
    kry_type type = type_of(state);
    for (size_t p = 0; p < COUNT(square); p++) {
        matrix A = pattern_matrix(&square[p], type);
        double *x = random_array(type, A.rows);
        EACH_FORMAT(format)
        {
            kry_op *op = NULL;
            if (in_sample((int64_t)p + format + (type == KRY_F32)))
                op = flux_in(&A, type, format, 0);
            if (!op) continue;
            assert_int_equal(rows_off(op, &A, x), 0);
            assert_reads_back(op, &A);
            kry_op_release(&op);
        }
        free(x);
        matrix_release(&A);
    }
}

static void flux__stops(void **state)
{
    kry_type type = type_of(state);
    matrix P = matrix_where(type, 150, 150, arrow), A = with_diagonal(&P, type);
    EACH_FORMAT(format)
    {
        kry_op *op = flux_in(&A, type, format, 0);
        assert_non_null(op);
        step_suite_stops(op, &A);
        kry_op_release(&op);
    }
    matrix_release(&A), matrix_release(&P);
}

/* ---- new values ------------------------------------------------------------------------------ */

/* From rows that add up to nothing to some that do not, and back: the same as made anew. */
static void flux_update__surplus_comes_and_goes(void **state)
{
    kry_type type = type_of(state);
    matrix A = graph_matrix(type, 513, path, 0), L = graph_matrix(type, 513, path, 0.5);
    void *closed = in_type(type, A.val, A.nnz), *open = in_type(type, L.val, L.nnz);

    EACH_FORMAT(format)
    {
        kry_op *op = flux_in(&A, type, format, 0), *other = flux_in(&L, type, format, 0);
        for (int round = 0; round < 2; round++) {
            OK(kry_op_update(op, open));
            assert_same_product(op, other);
            assert_reads_back(op, &L);
            kry_op *fresh = flux_in(&A, type, format, 0);
            OK(kry_op_update(op, closed));
            assert_same_product(op, fresh);
            assert_false(look_into_matrix(op).surplus);
            kry_op_release(&fresh);
        }
        kry_op_release(&op), kry_op_release(&other);
    }
    free(closed), free(open);
    matrix_release(&A), matrix_release(&L);
}

/* Given by halves, in two parts and out of order; a refusal leaves the old numbers. */
static void flux_update__coordinates(void **state)
{
    kry_type type = type_of(state);
    enum { N = 300 };
    static int32_t row[4 * N], col[4 * N];
    static double first[4 * N], second[4 * N];
    int64_t nnz = 0;
    for (int32_t i = N - 1; i >= 0; i--)
        for (int part = 0; part < 2; part++) {
            row[nnz] = i, col[nnz] = i, first[nnz] = 2 - (i == N - 1 || i == 0);
            second[nnz] = 2, nnz++;
            if (i == 0) continue;
            row[nnz] = i, col[nnz] = i - 1, first[nnz] = second[nnz] = -1, nnz++;
        }
    void *closed = in_type(type, first, nnz), *open = in_type(type, second, nnz);
    kry_op *op;
    OK(kry_coo_create(device(), type, N, N, nnz, row, col, closed,
                      KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF, .duplicates = KRY_SUM,
                                 .form = KRY_FLUX, .format = KRY_FORMAT_SELL),
                      &op));
    double *x = constant(type, N, 3), *y[3];
    each_product(op, type, x, y);
    for (int64_t i = 0; i < N; i++) assert_true(y[0][i] == 0);
    for (int way = 0; way < 3; way++) free(y[way]);
    for (int round = 0; round < 2; round++) {
        OK(kry_op_update(op, open));
        put(type, open, nnz - 1, (double)INFINITY);
        REFUSES(kry_op_update(op, open), KRY_ERR_ARGUMENT, "not finite");
        put(type, open, nnz - 1, 2);
        each_product(op, type, x, y);
        for (int64_t i = 0; i < N; i++) assert_true(y[0][i] == (i == 0 || i == N - 1 ? 6 : 0));
        for (int way = 0; way < 3; way++) free(y[way]);
    }
    free(x), free(closed), free(open);
    kry_op_release(&op);
}

/* ---- numbers kept in single -------------------------------------------------------------------
 */

static void flux__values(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    double *y[3];
    for (int v = KRY_VALUES_COMPACT; v <= KRY_VALUES_SINGLE; v++) {
        kry_values values = (kry_values)v;
        /* singles for compact; else doubles whose rounded rows do not add up to zero */
        kry_type numbers = values == KRY_VALUES_COMPACT ? KRY_F32 : KRY_F64;
        weight_fn *weight = numbers == KRY_F32 ? two_phases_exact : two_phases;
        matrix A = graph_matrix(numbers, 1089, weight, 0);
        double *x = constant(KRY_F64, A.rows, 0.1);
        EACH_FORMAT(format)
        {
            kry_op *op;
            void *val = in_type(KRY_F64, A.val, A.nnz);
            kry_status st = kry_csr_create(device(), KRY_F64, A.rows, A.cols, A.row_ptr, A.col, val,
                                           KRY_MATRIX(.format = format, .values = values,
                                                      .traits = KRY_SINGULAR, .form = KRY_FLUX),
                                           &op);
            free(val);
            OK(st);
            assert_int_equal(look_into_matrix(op).stored,
                             values == KRY_VALUES_AS_GIVEN ? KRY_F64 : KRY_F32);
            each_product(op, KRY_F64, x, y);
            for (int64_t i = 0; i < A.rows; i++) assert_true(y[0][i] == 0 && y[1][i] == 0);
            for (int way = 0; way < 3; way++) free(y[way]);
            kry_op_release(&op);
        }
        free(x);
        matrix_release(&A);
    }
}

/* ---- making one -------------------------------------------------------------------------------
 */

static void flux__auto(void **state)
{
    kry_type type = type_of(state);
    matrix A = graph_matrix(type, 1089, two_phases, 0.1);
    double *x = smooth(type, A.rows);
    kry_op *op;
    kry_op_info info;
    OK(create(&A, type, KRY_MATRIX(.form = KRY_FLUX), &op));
    kry_op_describe(op, &info);
    assert_non_null(strstr(info.variant, "flux form"));
    assert_int_equal(rows_off(op, &A, x), 0);
    kry_op_release(&op);
    free(x);
    matrix_release(&A);
}

static cl_mem buffer_of(const void *numbers, size_t bytes)
{
    cl_mem buffer;
    OK(buffer_upload(device(), bytes, numbers, &buffer));
    return buffer;
}

static void flux__wrapped(void **state)
{
    kry_type type = type_of(state);
    matrix A = graph_matrix(type, 201, random_graph, 0),
           L = graph_matrix(type, 201, random_graph, 0.5);
    void *val = in_type(type, A.val, A.nnz), *open = in_type(type, L.val, L.nnz);
    kry_op *op;
    cl_mem p = buffer_of(A.row_ptr, (size_t)(A.rows + 1) * sizeof *A.row_ptr),
           c = buffer_of(A.col, (size_t)A.nnz * sizeof *A.col),
           v = buffer_of(val, (size_t)A.nnz * kry_type_size(type));
    double *x = smooth(type, A.rows);
    for (int promised = 0; promised < 2; promised++) {
        OK(kry_csr_wrap(device(), type, A.rows, A.cols, A.nnz, true, p, c, v,
                        KRY_MATRIX(.form = KRY_FLUX, .traits = promised ? KRY_SINGULAR : 0), &op));
        assert_int_equal(rows_off(op, &A, x), 0);
        assert_false(look_into_matrix(op).surplus);
        OK(kry_op_update(op, NULL));
        assert_reads_back(op, &A);
        OK(buffer_write(device(), v, 0, (size_t)L.nnz * kry_type_size(type), open));
        OK(kry_op_update(op, NULL)); /* the promise makes no sum zero */
        assert_int_equal(rows_off(op, &L, x), 0);
        OK(buffer_write(device(), v, 0, (size_t)A.nnz * kry_type_size(type), val));
        kry_op_release(&op);
    }
    free(x), free(val), free(open);
    buffer_release(device(), &p), buffer_release(device(), &c);
    buffer_release(device(), &v);
    matrix_release(&A), matrix_release(&L);
}

static void flux__refusals(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 10, 12, any), B = graph_matrix(type, 20, path, 0);
    kry_op *op = NULL;
    REFUSES(create(&A, type, KRY_MATRIX(.form = KRY_FLUX), &op), KRY_ERR_SHAPE, "square");
    REFUSES(create(&B, type, KRY_MATRIX(.form = (kry_form)2), &op), KRY_ERR_ARGUMENT,
            "2 is not a form");
    B.val[0] = B.val[1] = type == KRY_F32 ? FLT_MAX : DBL_MAX;
    REFUSES(create(&B, type, KRY_MATRIX(.form = KRY_FLUX, .format = KRY_FORMAT_CSR), &op),
            KRY_ERR_ARGUMENT, "row 0 adds up to");
    assert_null(op);
    matrix_release(&A), matrix_release(&B);
}

/* ---- what it is good for ----------------------------------------------------------------------
 */

/* Two phases, a million to one, in single. The permeable one is held by nothing but its joints to
 * the other, whose far side is a wall at 0: rounded diagonals hold it as firmly, or pull at it. How
 * far is the solution from the one that the right-hand side was made of? */
static double error_of_solution(const matrix *A, kry_form form)
{
    double *u = smooth(KRY_F32, A->rows), *b = calloc((size_t)A->rows, sizeof *b), worst = 0;
    kry_op *op = NULL, *solver = NULL;

    assert_non_null(b);
    for (int64_t i = 0; i < A->rows; i++) {
        long double flows;
        b[i] = (float)flux_row(A, KRY_F32, i, u, &flows);
    }
    double *zero = constant(KRY_F32, A->rows, 0);
    guarded B = guarded_create(KRY_F32, A->rows, 1, 0, b),
            X = guarded_create(KRY_F32, A->rows, 1, 0, zero);
    OK(create(A, KRY_F32,
              KRY_MATRIX(.format = KRY_FORMAT_CSR, .form = form, .traits = KRY_POSITIVE), &op));
    OK(kry_solver_create(op, "method=pcg precond=jacobi rtol=1e-7 maxit=3000", NULL, NULL,
                         &solver));
    assert_true(kry_solve(solver, B.v, X.v, NULL) >= 0);
    double *x = guarded_read(&X);
    for (int64_t i = 0; i < A->rows; i++)
        if (fabs(x[i] - u[i]) > worst) worst = fabs(x[i] - u[i]);
    free(x), free(b), free(zero), free(u);
    kry_op_release(&solver), kry_op_release(&op);
    guarded_release(&X), guarded_release(&B);
    return worst;
}

static void flux__solves_what_assembled_does_not(void **state)
{
    (void)state;
    matrix A = graph_matrix(KRY_F32, 1024, two_phases, 0);
    for (int64_t i = 1024 - 32; i < 1024; i++) /* the wall */
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            if (A.col[k] == i) A.val[k] = (float)(A.val[k] + 1e-6);
    double flux = error_of_solution(&A, KRY_FLUX), assembled = error_of_solution(&A, KRY_ASSEMBLED);
    print_message("# error of the solution in flux form %.2g, assembled %.2g\n", flux, assembled);
    assert_true(flux < 0.01 * assembled);
    matrix_release(&A);
}

#ifdef KRY_HAVE_METIS
#define HAVE_METIS true
#else
#define HAVE_METIS false
#endif

/* ---- on several devices --------------------------------------------------------------- */

static kry_op *flux_on(kry_device *dev, const matrix *A, kry_type type,
                       const kry_matrix_params *params)
{
    kry_op *op = NULL;
    void *val = in_type(type, A->val, A->nnz);
    kry_status st =
        kry_csr_create(dev, type, A->rows, A->cols, A->row_ptr, A->col, val, params, &op);

    if (st != KRY_OK) assert_int_equal(st, KRY_ERR_UNSUPPORTED);
    free(val);
    return op;
}

/* A x, and less 0 - A x. */
static void team_products(const kry_op *op, const double *x, double *y[2])
{
    kry_device *dev = kry_op_device(op);
    kry_type type = kry_op_get_shape(op)->type;
    int64_t n = kry_op_get_shape(op)->rows;
    double *zero = constant(type, n, 0);
    kry_vec *X = vec_on(dev, type, x, n, 1), *Y = vec_on(dev, type, x, n, 1);

    OK(kry_op_apply(op, 1, X, 0, Y));
    y[0] = numbers_of(Y);
    void *none = in_type(type, zero, n);
    OK(kry_vec_write(Y, none));
    OK(kry_op_residual(op, Y, X, Y));
    y[1] = numbers_of(Y);
    for (int64_t i = 0; i < n; i++) y[1][i] = -y[1][i];
    kry_vec_release(&Y), kry_vec_release(&X);
    free(none), free(zero);
}

/* Errors of the size of the flows in all rows, whose sums are those of numbers of type `sums`. */
static void check_sums_on_team(const kry_op *op, const matrix *A, kry_type sums, const char *why)
{
    kry_type type = kry_op_get_shape(op)->type;
    double *x = smooth(type, A->rows), *y[2];

    team_products(op, x, y);
    for (int way = 0; way < 2; way++) {
        for (int64_t i = 0; i < A->rows; i++) {
            long double flows, want = flux_row(A, sums, i, x, &flows);
            NEAR(y[way][i], want, flux_bound(A, type, i, flows), "%s, product %d, row %lld", why,
                 way, (long long)i);
        }
        free(y[way]);
    }
    free(x);
}

static void check_on_team(const kry_op *op, const matrix *A, const char *why)
{
    check_sums_on_team(op, A, kry_op_get_shape(op)->type, why);
}

static void check_constants_on_team(const kry_op *op, const matrix *A, const char *why)
{
    double *x = constant(kry_op_get_shape(op)->type, A->rows, 0.1), *y[2];

    team_products(op, x, y);
    for (int way = 0; way < 2; way++) {
        for (int64_t i = 0; i < A->rows; i++)
            if (y[way][i] != 0)
                fail_msg("%s, product %d: %g in row %lld", why, way, y[way][i], (long long)i);
        free(y[way]);
    }
    free(x);
}

/* All formats, rows that add up to nothing and to something, from one to the other and back, and in
 * the other precision. */
static void flux_team__errors_are_of_the_flows(void **state)
{
    kry_type type = type_of(state);
    static const struct graph some[] = { { "two phases", 169, two_phases },
                                         { "at random", 200, random_graph },
                                         { "a star: one long row", 300, star } };
    for (int parts = 2; parts <= 3; parts++) {
        kry_device *team =
            open_team(parts, (kry_team_params){ .by_graph = parts == 3 && HAVE_METIS });
        for (size_t g = 0; g < COUNT(some); g++) {
            matrix A = graph_matrix(type, some[g].n, some[g].weight, 0),
                   L = graph_matrix(type, some[g].n, some[g].weight, 0.25);
            void *closed = in_type(type, A.val, A.nnz), *open = in_type(type, L.val, L.nnz);
            EACH_FORMAT(format)
            {
                const char *why = kry_format_name(format);
                unsigned traits = KRY_SINGULAR * (format % 2);
                if (!one_of(7, (int64_t)g + parts + format + 2 * (type == KRY_F32))) continue;
                kry_op *op =
                    flux_on(team, &A, type,
                            KRY_MATRIX(.format = format, .form = KRY_FLUX, .traits = traits));
                if (!op) continue;
                check_constants_on_team(op, &A, why);
                check_on_team(op, &A, why);
                if (!traits) {
                    OK(kry_op_update(op, open));
                    check_on_team(op, &L, why);
                    OK(kry_op_update(op, closed));
                    check_constants_on_team(op, &A, why);
                }
                kry_op_release(&op);
            }
            free(closed), free(open);
            matrix_release(&A), matrix_release(&L);
        }
        close_team(&team);
    }
}

/* The same numbers in single, by the same update. */
static void flux_team__converted(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    static const double leaks[] = { 0, 0.25 };
    kry_device *team = open_team(3, (kry_team_params){ 0 });

    for (size_t l = 0; l < COUNT(leaks); l++) {
        /* singles in double: their copy adds up to the same */
        matrix A = graph_matrix(KRY_F32, 169, two_phases_exact, leaks[l]);
        kry_op *op = flux_on(team, &A, KRY_F64,
                             KRY_MATRIX(.form = KRY_FLUX, .format = KRY_FORMAT_CSR,
                                        .traits = leaks[l] ? 0 : KRY_SINGULAR)),
               *copy;
        OK(kry_op_convert(op, KRY_F32, &copy));
        check_sums_on_team(copy, &A, leaks[l] ? KRY_F64 : KRY_F32, "copy");
        if (leaks[l] == 0) check_constants_on_team(copy, &A, "copy");
        kry_op_release(&copy), kry_op_release(&op);
        matrix_release(&A);
    }
    close_team(&team);
}

/* A small sum of a row is real where rounding an entry once does not explain it: in single, and in a copy
 * in single of a matrix in double; on one device and on a team. */
static void flux__small_sums_are_kept(void **state)
{
    kry_type type = type_of(state);
    enum { N = 100 };
    matrix A = graph_matrix(KRY_F64, N, path, 0);
    double leak = type == KRY_F32 ? 0x1p-21 : 1e-9, *x = constant(KRY_F32, N, 1), *y[2];
    kry_device *team = open_team(3, (kry_team_params){ 0 }), *const where[] = { device(), team };

    for (int64_t i = 0; i < N; i++)
        for (int64_t k = A.row_ptr[i], m = A.row_ptr[i + 1] - k; k < A.row_ptr[i + 1]; k++)
            A.val[k] = A.col[k] == i ? (double)(m - 1) + (i % 7 == 3 ? leak : 0) : -1;
    for (size_t w = 0; w < COUNT(where); w++) {
        kry_op *copy = NULL, *op = flux_on(where[w], &A, type,
                                           KRY_MATRIX(.form = KRY_FLUX, .format = KRY_FORMAT_CSR));
        if (type == KRY_F64) OK(kry_op_convert(op, KRY_F32, &copy));
        team_products(copy ? copy : op, x, y);
        for (int way = 0; way < 2; way++) {
            for (int64_t i = 0; i < N; i++)
                NEAR(y[way][i], i % 7 == 3 ? leak : 0, 1e-6 * leak, "row %lld", (long long)i);
            free(y[way]);
        }
        kry_op_release(&copy), kry_op_release(&op);
    }
    free(x);
    close_team(&team);
    matrix_release(&A);
}

/* A band of nodes that are joined about as strongly. */
static double mild(int64_t i, int64_t j, int64_t n)
{
    int64_t apart = i < j ? j - i : i - j;
    (void)n;
    return apart == 1 || apart == 13 ? random_weight(i, j) : 0;
}

static int64_t solve_flux_on(kry_device *dev, const matrix *A, kry_type type, const char *options,
                             unsigned traits, double **x)
{
    kry_op *op = flux_on(dev, A, type, KRY_MATRIX(.form = KRY_FLUX, .traits = traits)), *S;
    double *u = smooth(type, A->rows), *b = calloc((size_t)A->rows, sizeof *b);
    kry_result res;
    long double flows;

    assert_true(op && b);
    for (int64_t i = 0; i < A->rows; i++) u[i] = 1 + 1e-2 * sin((double)i);
    for (int64_t i = 0; i < A->rows; i++)
        b[i] = to_type(type, (double)flux_row(A, type, i, u, &flows));
    kry_vec *B = vec_on(dev, type, b, A->rows, 1), *X;
    OK(kry_vec_create(dev, type, A->rows, 1, &X));
    OK(kry_solver_create(op, options, NULL, NULL, &S));
    OK(kry_solve(S, B, X, &res));
    *x = numbers_of(X);
    kry_vec_release(&B), kry_vec_release(&X);
    kry_op_release(&S), kry_op_release(&op);
    free(u), free(b);
    return res.iterations;
}

/* As many iterations as on one device, to the same x. */
static void flux_team__solves(void **state)
{
    kry_type type = type_of(state);
    static const char *const options[] = { "method=cg", "method=pcg",
                                           "method=pcg deflation=stripes:5 precond=jacobi",
                                           "precision=mixed precond=jacobi" };
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    matrix A = graph_matrix(type, 169, mild, 0), L = graph_matrix(type, 169, mild, 0.25);

    for (size_t o = 0; o < (type == KRY_F64 ? 4 : 3); o++)
        for (int leaks = 0; leaks < 2; leaks++) {
            if (!one_of(2, (int64_t)o + leaks + (type == KRY_F32))) continue;
            const matrix *M = leaks ? &L : &A;
            unsigned traits = leaks ? KRY_POSITIVE : KRY_SINGULAR;
            double *x, *y, size = 0;
            int64_t one = solve_flux_on(device(), M, type, options[o], traits, &x),
                    many = solve_flux_on(team, M, type, options[o], traits, &y);
            NEAR(many, one, 3 + 0.05 * (double)one, "%s: iterations", options[o]);
            for (int64_t i = 0; i < M->rows; i++) size = fmax(size, fabs(x[i]));
            for (int64_t i = 0; i < M->rows; i++)
                NEAR(y[i], x[i], (type == KRY_F32 ? 3e-2 : 1e-4) * size, "%s: x[%lld]", options[o],
                     (long long)i);
            free(x), free(y);
        }
    matrix_release(&A), matrix_release(&L);
    close_team(&team);
}

/* ---- rows that are promised to add up to zero, and do not --------------------------------------- */

/* A path of N cells with a wall at one end and, if `leak` is not 0, an outlet at the other. */
enum { CELLS = 100 };
static matrix path_with_outlet(kry_type type, double leak)
{
    matrix A = graph_matrix(type, CELLS, path, 0);

    for (int64_t k = A.row_ptr[CELLS - 1]; k < A.row_ptr[CELLS]; k++)
        if (A.col[k] == CELLS - 1) A.val[k] = to_type(type, A.val[k] + leak);
    return A;
}

/* ||b - A x|| / ||b|| by the numbers that were given. */
static double relative_residual(const matrix *A, const double *b, const double *x)
{
    long double rest = 0, size = 0;

    for (int64_t i = 0; i < A->rows; i++) {
        long double r = b[i];
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            r -= (long double)A->val[k] * x[A->col[k]];
        rest += r * r, size += (long double)b[i] * b[i];
    }
    return (double)sqrtl(rest / size);
}

/* A solver is refused, or its solve is, or x is told as what it is. */
static void check_promise(const kry_op *op, kry_op *solver, const matrix *A)
{
    double b[CELLS], x[CELLS] = { 0 };
    kry_result res;

    for (int i = 0; i < CELLS; i++) b[i] = 1e-2 * (i % 2 ? 1 : -1);
    if (!solver) {
        REFUSES(kry_solver_create(op, "method=pcg precond=jacobi", NULL, NULL, &solver),
                KRY_ERR_ARGUMENT, "does not map constants to zero");
        return;
    }
    const kry_status st = kry_solve_host(solver, b, x, &res);
    if (st == KRY_OK) fail_msg("told %g, real %g", res.true_residual, relative_residual(A, b, x));
    assert_int_equal(st, KRY_ERR_ARGUMENT);
    assert_true(kry_op_update(solver, NULL) < 0);
}

/* The promise KRY_SINGULAR is held against the numbers, as they are given first and as they are later. */
static void flux__promise_is_checked(void **state)
{
    kry_type type = type_of(state);
    matrix closed = path_with_outlet(type, 0), open = path_with_outlet(type, 500);
    void *shut = in_type(type, closed.val, closed.nnz), *leaks = in_type(type, open.val, open.nnz);
    kry_device *where[] = { device(), open_team(2, (kry_team_params){ 0 }), open_host_or_opencl() };

    for (size_t w = 0; w < COUNT(where); w++) {
        const kry_matrix_params *promise =
            KRY_MATRIX(.form = KRY_FLUX, .traits = KRY_SINGULAR, .format = KRY_FORMAT_CSR);
        kry_op *op = flux_on(where[w], &open, type, promise), *solver = NULL;
        check_on_team(op, &open, "a false promise");
        check_promise(op, NULL, &open);
        OK(kry_op_update(op, shut));
        check_constants_on_team(op, &closed, "a true promise");
        OK(kry_solver_create(op, "method=pcg precond=jacobi", NULL, NULL, &solver));
        OK(kry_op_update(op, leaks));
        check_on_team(op, &open, "a promise that is out of date");
        check_promise(op, solver, &open);
        kry_op_release(&solver), kry_op_release(&op);
    }
    kry_device_release(&where[2]);
    close_team(&where[1]);
    free(shut), free(leaks);
    matrix_release(&closed), matrix_release(&open);
}

/* Sums so small that the promise passes: the residual is still that of the numbers. */
static void flux__small_leak_is_told(void **state)
{
    kry_type type = type_of(state);
    matrix A = path_with_outlet(type, type == KRY_F32 ? 0.1 : 1e-4);
    kry_op *op = flux_on(device(), &A, type, KRY_MATRIX(.form = KRY_FLUX, .traits = KRY_SINGULAR)),
           *solver;
    double b[CELLS], x[CELLS] = { 0 };
    kry_result res;

    for (int i = 0; i < CELLS; i++) b[i] = to_type(type, i % 2 ? 1 : -1);
    for (int i = 0; i < CELLS; i++) x[i] = 1000;
    OK(kry_solver_create(op, type == KRY_F32 ? "method=pcg rtol=1e-5" : "method=pcg rtol=1e-8",
                         NULL, NULL, &solver));
    kry_status st = kry_solve_host(solver, b, x, &res);
    double told = res.true_residual / res.norm_b, real = relative_residual(&A, b, x);
    if (st == KRY_OK && real > 1.1 * res.target / res.norm_b)
        fail_msg("told %g, real %g", told, real);
    kry_op_release(&solver), kry_op_release(&op);
    matrix_release(&A);
}

static void flux_team__reproducible(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(2, (kry_team_params){ .reproducible = true });
    matrix A = graph_matrix(type, 169, path, 0);
    void *val = in_type(type, A.val, A.nnz);
    kry_op *op;

    REFUSES(kry_csr_create(team, type, A.rows, A.cols, A.row_ptr, A.col, val,
                           KRY_MATRIX(.form = KRY_FLUX), &op),
            KRY_ERR_UNSUPPORTED, "no flux form with reproducible sums");
    free(val);
    matrix_release(&A);
    close_team(&team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(flux__constants_vanish),
        BOTH(flux__errors_are_of_the_flows),
        BOTH(flux__small_sums_are_kept),
        BOTH(flux__patterns),
        BOTH(flux__no_diagonal),
        BOTH(flux__stops),
        BOTH(flux_update__surplus_comes_and_goes),
        BOTH(flux_update__coordinates),
        cmocka_unit_test(flux__values),
        BOTH(flux__auto),
        BOTH(flux__wrapped),
        BOTH(flux__refusals),
        cmocka_unit_test(flux__solves_what_assembled_does_not),
        BOTH(flux_team__errors_are_of_the_flows),
        cmocka_unit_test(flux_team__converted),
        BOTH(flux_team__solves),
        BOTH(flux__promise_is_checked),
        BOTH(flux__small_leak_is_told),
        BOTH(flux_team__reproducible),
    };
    return cmocka_run_group_tests_name("flux", tests, NULL, close_device);
}
