/* test_block_ic.c - incomplete factors of diagonal blocks against the textbook's, dense. */
#include "as_matrix.h"
#include "op_suite.h"

/* ---- matrices ------------------------------------------------------------------------------ */

typedef struct shape {
    const char *name;
    int64_t n;
    int offset[6]; /* of its diagonals above the main one, 0: the end; none: anywhere */
    int density;   /* of 100 places, those that are taken */
} shape;

static const shape shapes[] = {
    { "one row", 1, { 0 }, 50 },
    { "two rows", 2, { 1 }, 100 },
    { "scattered 9", 9, { 0 }, 40 },
    { "scattered 61", 61, { 0 }, 10 },
    { "scattered 150", 150, { 0 }, 30 },
    { "tridiagonal 130", 130, { 1 }, 100 },
    { "near diagonals 97", 97, { 1, 2, 5 }, 80 },
    { "second diagonal 70", 70, { 2 }, 100 },
    { "lines of 40", 250, { 1, 40 }, 100 },
    { "far diagonals 333", 333, { 1, 64, 65, 130 }, 95 },
    { "no neighbours 200", 200, { 33, 71 }, 100 },
    { "diagonal 65", 65, { 0 }, 0 },
};

static bool taken(const shape *s, int64_t i, int64_t j)
{
    bool there = !s->offset[0];
    for (int k = 0; k < 6 && s->offset[k]; k++) there |= llabs(i - j) == s->offset[k];
    return there && random_below(100) < s->density;
}

/* Dense, row major; symmetric, or with its entries above the diagonal anywhere else; the diagonal
 * outweighs its row and its column. */
static double *dense_random(const shape *s, kry_type type, bool symmetric)
{
    int64_t n = s->n;
    double *a = calloc((size_t)(n * n) + 1, sizeof *a), *sum = calloc((size_t)n + 1, sizeof *sum);

    assert_true(a && sum);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            if (taken(s, i, j)) a[i * n + j] = random_number(type);
            if (symmetric)
                a[j * n + i] = a[i * n + j];
            else if (taken(s, i, j))
                a[j * n + i] = random_number(type);
            sum[i] += fabs(a[i * n + j]) + fabs(a[j * n + i]);
            sum[j] += fabs(a[i * n + j]) + fabs(a[j * n + i]);
        }
    for (int64_t i = 0; i < n; i++) a[i * n + i] = to_type(type, 0.6 * sum[i] + 0.25);
    free(sum);
    return a;
}

/* ---- the textbook -------------------------------------------------------------------------- */

typedef struct dense {
    int64_t n;
    double *a;       /* factors in place: L D U, L and U unit triangular */
    bool transposed; /* solve with the transpose */
} dense;

static void drop_couplings(double *a, int64_t n, int64_t rows)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (i / rows != j / rows) a[i * n + j] = 0;
}

/* Golub and Van Loan, incomplete Cholesky: L in the lower triangle, then scaled to L D L'. */
static bool dense_ic(double *a, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        if (!(a[k * n + k] > 0)) return false;
        a[k * n + k] = sqrt(a[k * n + k]);
        for (int64_t i = k + 1; i < n; i++) a[i * n + k] /= a[k * n + k];
        for (int64_t j = k + 1; j < n; j++)
            for (int64_t i = j; i < n; i++)
                if (a[i * n + j] != 0) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = k + 1; i < n; i++) a[k * n + i] = a[i * n + k] /= a[k * n + k];
        a[k * n + k] *= a[k * n + k];
    }
    return true;
}

/* Saad, algorithm 10.4, then U scaled. */
static void dense_ilu(double *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = 0; k < i; k++) {
            if (a[i * n + k] == 0) continue;
            a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                if (a[i * n + j] != 0) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] /= a[i * n + i];
}

static void dense_solve(const matrix *A, const double *x, double *y, const void *user)
{
    const dense *f = user;
    int64_t n = f->n;

    (void)A;
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            y[i] -= (f->transposed ? f->a[j * n + i] : f->a[i * n + j]) * y[j];
    for (int64_t i = 0; i < n; i++) y[i] /= f->a[i * n + i];
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t j = i + 1; j < n; j++)
            y[i] -= (f->transposed ? f->a[j * n + i] : f->a[i * n + j]) * y[j];
}

/* ---- small matrices of all kinds ----------------------------------------------------------- */

static void check_one(const shape *s, kry_type type, bool symmetric, int64_t rows,
                      kry_format format)
{
    double *a = dense_random(s, type, symmetric);
    matrix A = matrix_from(a, s->n);
    kry_op *op = csr_of(&A, type, KRY_MATRIX(.format = format)), *M = NULL;
    const kry_block_ic_params *in_rows = KRY_BLOCK_IC(.rows = rows, .trisolve = KRY_TRISOLVE_ROWS);
    dense f = { .n = s->n, .a = a, .transposed = true }; /* as_matrix() wants columns as rows */
    kry_op_info info;

    print_message("# %s, %s, blocks of %lld\n", s->name, symmetric ? "ic" : "ilu", (long long)rows);
    drop_couplings(a, s->n, rows);
    if (symmetric)
        assert_true(dense_ic(a, s->n));
    else
        dense_ilu(a, s->n);
    matrix want = as_matrix(&A, dense_solve, &f);
    if (symmetric)
        OK(kry_block_ic_create(op, in_rows, &M));
    else
        OK(kry_block_ilu_create(op, in_rows, &M));
    kry_op_release(&op); /* it keeps what it was built from */
    kry_op_describe(M, &info);
    assert_string_equal(info.kind, symmetric ? "block-ic" : "block-ilu");
    assert_null(strstr(info.variant, "shift"));
    assert_true(info.nnz >= s->n && info.slots > 0 && info.bytes_per_apply > 0);
    op_suite(M, &want);
    if (symmetric) check_dots(M, s->name);
    kry_op_release(&M);
    matrix_release(&A), matrix_release(&want);
    free(a);
}

static void check_shapes(kry_type type, bool symmetric)
{
    static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_SELL, KRY_FORMAT_COO };
    int64_t last = 0;

    for (size_t i = 0; i < COUNT(shapes); i++) {
        const int64_t n = shapes[i].n, rows[] = { 1, 2, 7, n / 8, n / 3, n - 1, n };
        for (size_t k = 0; k < COUNT(rows); k++) {
            if (rows[k] < 1 || rows[k] > n || rows[k] == last || too_large(10 * n)) continue;
            last = rows[k];
            check_one(&shapes[i], type, symmetric, rows[k], formats[(i + k) % COUNT(formats)]);
        }
    }
}

static void ic__equals_the_textbook(void **state) { check_shapes(type_of(state), true); }
static void ilu__equals_the_textbook(void **state) { check_shapes(type_of(state), false); }

/* x.My == y.Mx and x.Mx > 0 */
static void check_symmetric_positive(const kry_op *M)
{
    kry_type type = kry_op_get_shape(M)->type;
    int64_t n = kry_op_get_shape(M)->rows;
    double *x = random_array(type, n), *y = random_array(type, n);
    guarded X = guarded_create(type, n, 1, 0, x), Y = guarded_create(type, n, 1, 0, y),
            Z = guarded_create(type, n, 1, 0, NULL);
    long double xy = 0, yx = 0, xx = 0, size = 0;

    OK(kry_op_apply(M, 1, X.v, 0, Z.v));
    double *mx = guarded_read(&Z);
    OK(kry_op_apply(M, 1, Y.v, 0, Z.v));
    double *my = guarded_read(&Z);
    for (int64_t i = 0; i < n; i++) {
        xy += (long double)x[i] * my[i], yx += (long double)y[i] * mx[i];
        xx += (long double)x[i] * mx[i];
        size += fabsl((long double)x[i] * my[i]) + fabsl((long double)y[i] * mx[i]);
    }
    NEAR(xy, yx, 50 * eps_of(type) * size, "x.My and y.Mx");
    assert_true(xx > 0);
    free(mx), free(my), free(x), free(y);
    guarded_release(&X), guarded_release(&Y), guarded_release(&Z);
}

/* ---- grids --------------------------------------------------------------------------------- */

/* Without triangles in A's graph, L D L' = (D + L_A) D^-1 (D + L_A') with L_A from A: no factor but
 * D. user: the rows of a block. */
static void plain_grid(const matrix *A, const double *x, double *y, const void *user)
{
    const int64_t rows = *(const int64_t *)user, n = A->rows;
    double *d = calloc((size_t)n + 1, sizeof *d);

    assert_non_null(d);
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i], d[i] = plain_diagonal(A, i);
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            int64_t k = A->col[e];
            if (k >= i || k / rows != i / rows) continue;
            d[i] -= A->val[e] * A->val[e] / d[k];
            y[i] -= A->val[e] * y[k];
        }
        y[i] /= d[i];
    }
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            int64_t k = A->col[e];
            if (k > i && k / rows == i / rows) y[i] -= A->val[e] * y[k] / d[i];
        }
    free(d);
}

/* Against plain C on one random vector. */
static void check_vector(const kry_op *M, const matrix *A, int64_t rows, const char *why)
{
    kry_type type = kry_op_get_shape(M)->type;
    double *r = random_array(type, A->rows), *want = calloc((size_t)A->rows + 1, sizeof *want);
    guarded R = guarded_create(type, A->rows, 1, 3, r),
            Z = guarded_create(type, A->rows, 1, 1, NULL);
    double most = 0;

    assert_non_null(want);
    plain_grid(A, r, want, &rows);
    for (int64_t i = 0; i < A->rows; i++) most = fmax(most, fabs(want[i]));
    OK(kry_op_apply(M, 1, R.v, 0, Z.v));
    double *z = guarded_read(&Z);
    for (int64_t i = 0; i < A->rows; i++)
        NEAR(z[i], want[i], 100 * eps_of(type) * most, "%s: row %lld", why, (long long)i);
    free(z), free(r), free(want);
    guarded_release(&R), guarded_release(&Z);
}

/* Blocks of one, two and all lines, and of what is no line; short last blocks. */
static void ic__grids_of_all_sizes(void **state)
{
    static const int64_t sizes[][3] = { { 64, 64, 0 }, { 65, 33, 0 },  { 131, 40, 0 },
                                        { 600, 9, 0 }, { 1030, 5, 0 }, { 37, 100, 0 },
                                        { 40, 7, 9 },  { 9, 8, 7 },    { 2, 300, 0 },
                                        { 1, 700, 0 } };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(sizes); i++) {
        grid g = { .name = "grid" };
        memcpy(g.size, sizes[i], sizeof g.size);
        matrix A = grid_matrix(&g, NULL);
        int64_t nx = g.size[0], rows[] = { nx, 2 * nx, 2 * nx + 1, 17, A.rows };
        kry_op *op = grid_op(&g, type, NULL);
        if (too_large(A.rows)) rows[0] = 0;
        for (size_t k = 0; rows[0] && k < COUNT(rows); k++) {
            kry_op *M = NULL;
            char why[80];
            snprintf(why, sizeof why, "%lld x %lld x %lld, blocks of %lld", (long long)nx,
                     (long long)g.size[1], (long long)g.size[2], (long long)rows[k]);
            if (rows[k] > A.rows) continue;
            OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = rows[k], .trisolve = KRY_TRISOLVE_ROWS),
                                   &M));
            check_vector(M, &A, rows[k], why);
            kry_op_release(&M);
        }
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* Constant coefficients: equal blocks are kept once. The default is two lines, of a matrix too. */
static void ic__equal_blocks_are_kept_once(void **state)
{
    static const grid large = { .size = { 64, 1024 } }, small = { .size = { 64, 64 } };
    kry_type type = type_of(state);
    matrix A = grid_matrix(&small, NULL);
    kry_op *M = NULL, *op = grid_op(&large, type, NULL), *csr = csr_of(&A, type, NULL);
    kry_op_info info;

    OK(kry_block_ic_create(op, NULL, &M));
    kry_op_describe(M, &info);
    assert_non_null(strstr(info.variant, "block=128 diagonals=2"));
    assert_true(info.slots <= 2 * 8 * 128 * 3);
    kry_op_release(&M);
    OK(kry_block_ilu_create(csr, NULL, &M));
    kry_op_describe(M, &info);
    assert_non_null(strstr(info.variant, "block=128 diagonals=2"));
    kry_op_release(&M);
    kry_op_release(&op), kry_op_release(&csr);
    matrix_release(&A);
}

/* The numbers of A as the operator has them: in single, sums of faces may lose some digits. */
static void take_values(const kry_op *op, matrix *A)
{
    kry_op *stored = NULL;
    void *val = calloc((size_t)A->nnz + 1, sizeof(double));

    assert_non_null(val);
    OK(kry_stencil_matrix(op, KRY_MATRIX(.format = KRY_FORMAT_CSR), &stored));
    kry_op_info info;
    kry_op_describe(stored, &info);
    assert_in_range(info.nnz, 0, A->nnz);
    OK(kry_matrix_read(stored, A->row_ptr, A->col, val));
    for (int64_t e = 0; e < info.nnz; e++) A->val[e] = at(kry_op_get_shape(op)->type, val, e);
    A->nnz = info.nnz;
    free(val);
    kry_op_release(&stored);
}

/* Every mix of sides and coefficients: symmetric, positive, and as plain C has it. */
static void ic__all_grids(void **state)
{
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        bool closed = false; /* rings of three make triangles */
        for (int a = 0; a < 3; a++) closed |= g->low[a] == KRY_PERIODIC && g->size[a] == 3;
        if (grid_points(g) >= 1500 || too_large(grid_points(g)) || closed) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k), *M = NULL;
        kry_op_info info;
        long long rows = 0;
        print_message("# %s\n", g->name);
        take_values(op, &A);
        OK(kry_block_ic_create(op, KRY_BLOCK_IC(.trisolve = KRY_TRISOLVE_ROWS), &M));
        kry_op_describe(M, &info);
        assert_int_equal(sscanf(info.variant, "block=%lld", &rows), 1);
        if (!grid_singular(g) || rows < A.rows) {
            check_vector(M, &A, rows, g->name);
            check_symmetric_positive(M);
            check_dots(M, g->name);
        }
        kry_op_release(&M);
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

/* ---- laws ---------------------------------------------------------------------------------- */

/* No fill is lost in tridiagonal blocks: A M r = r. */
static void ic__tridiagonal_blocks_are_solved_exactly(void **state)
{
    kry_type type = type_of(state);
    const int64_t n = small_run() ? 1000 : 5000, rows = 700;
    matrix A = { .rows = n, .cols = n };
    kry_op *op, *M;

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(3 * (size_t)n, sizeof *A.col), A.val = calloc(3 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j >= n || j / rows != i / rows) continue;
            A.col[A.nnz] = (int32_t)j;
            A.val[A.nnz++] = j == i ? 2.5 : -1 - 0.125 * ((i + j) / 2 % 2);
        }
        A.row_ptr[i + 1] = A.nnz;
    }
    op = csr_of(&A, type, NULL);
    double *r = random_array(type, n);
    guarded R = guarded_create(type, n, 1, 0, r), Z = guarded_create(type, n, 1, 0, NULL);
    for (int lu = 0; lu < 2; lu++) {
        OK((lu ? kry_block_ilu_create : kry_block_ic_create)(op, KRY_BLOCK_IC(.rows = rows), &M));
        OK(kry_op_apply(M, 1, R.v, 0, Z.v));
        double *z = guarded_read(&Z);
        for (int64_t i = 0; i < n; i++)
            NEAR(plain_row(&A, i, z), r[i], 1000 * eps_of(type), "row %lld", (long long)i);
        free(z);
        kry_op_release(&M);
    }
    free(r);
    guarded_release(&R), guarded_release(&Z);
    kry_op_release(&op);
    matrix_release(&A);
}

/* A pivot that is not positive: Kershaw's matrix, four times. */
static void ic__negative_pivots_shift(void **state)
{
    static const double kershaw[4][4] = {
        { 3, -2, 0, 2 }, { -2, 3, -2, 0 }, { 0, -2, 3, -2 }, { 2, 0, -2, 3 }
    };
    kry_type type = type_of(state);
    double a[256] = { 0 };
    kry_op_info info;

    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 4; j++) a[16 * i + i / 4 * 4 + j] = kershaw[i % 4][j];
    matrix A = matrix_from(a, 16);
    kry_op *op = csr_of(&A, type, NULL), *M = NULL;
    dense f = { .n = 16, .a = a };
    double shift = 0, least = 0;
    for (least = 0.001; least < 2; least *= 2) { /* the first of the row that the textbook takes */
        double copy[256];
        memcpy(copy, a, sizeof copy);
        for (int i = 0; i < 16; i++) copy[17 * i] *= 1 + least;
        if (dense_ic(copy, 16)) {
            memcpy(a, copy, sizeof copy);
            break;
        }
    }
    OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 4), &M));
    kry_op_describe(M, &info);
    print_message("# %s\n", info.variant);
    assert_int_equal(sscanf(info.variant, "block=4 shift=%lf", &shift), 1);
    NEAR(shift, least, 1e-6 * least, "shift");
    matrix want = as_matrix(&A, dense_solve, &f);
    op_suite(M, &want);
    check_symmetric_positive(M);
    kry_op_release(&M);
    OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 4, .shift = 5), &M));
    kry_op_describe(M, &info);
    assert_non_null(strstr(info.variant, "block=4 shift=5"));
    kry_op_release(&M), kry_op_release(&op);
    matrix_release(&A), matrix_release(&want);
}

/* Singular A, in one block and in several: positive, and it solves. */
static void ic__singular_matrices(void **state)
{
    static const grid line = { .size = { 300, 1 },
                               .low = { KRY_NEUMANN, KRY_NEUMANN },
                               .high = { KRY_NEUMANN, KRY_NEUMANN } },
                      cells = { .size = { 33, 20 },
                                .low = { KRY_NEUMANN, KRY_NEUMANN },
                                .high = { KRY_NEUMANN, KRY_NEUMANN } };
    static const grid *const of[] = { &line, &cells };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(of); i++) {
        int64_t n = grid_points(of[i]), rows[] = { n, 66, 100 };
        kry_op *op = grid_op(of[i], type, NULL);
        for (size_t k = 0; k < COUNT(rows); k++) {
            kry_op *M = NULL;
            OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = rows[k]), &M));
            check_symmetric_positive(M);
            kry_op_release(&M);
        }
        kry_op_release(&op);
    }
}

/* ---- new values, refusals ------------------------------------------------------------------ */

static void update__follows_new_values(void **state)
{
    const shape *s = &shapes[3];
    kry_type type = type_of(state);

    for (int lu = 0; lu < 2; lu++) {
        double *a = dense_random(s, type, !lu), *b = calloc((size_t)(s->n * s->n), sizeof *b);
        assert_non_null(b);
        for (int64_t i = 0; i < s->n * s->n; i++) b[i] = to_type(type, 1.5 * a[i]);
        matrix A = matrix_from(a, s->n), B = matrix_from(b, s->n);
        kry_op *op = csr_of(&A, type, NULL), *M = NULL;
        dense f = { .n = s->n, .a = b, .transposed = true };
        void *val = in_type(type, B.val, B.nnz);

        OK((lu ? kry_block_ilu_create : kry_block_ic_create)(op, KRY_BLOCK_IC(.rows = 20), &M));
        OK(kry_op_update(op, val));
        OK(kry_op_update(M, NULL));
        REFUSES(kry_op_update(M, val), KRY_ERR_ARGUMENT, lu ? "'block-ilu'" : "'block-ic'");
        drop_couplings(b, s->n, 20);
        if (lu)
            dense_ilu(b, s->n);
        else
            assert_true(dense_ic(b, s->n));
        matrix want = as_matrix(&A, dense_solve, &f);
        op_suite(M, &want);
        memset(val, 0, (size_t)B.nnz * kry_type_size(type)); /* fails, and leaves what there was */
        OK(kry_op_update(op, val));
        REFUSES(kry_op_update(M, NULL), KRY_ERR_SINGULAR, "row 0 is 0");
        op_suite(M, &want);
        free(val), free(a), free(b);
        kry_op_release(&M), kry_op_release(&op);
        matrix_release(&A), matrix_release(&B), matrix_release(&want);
    }
}

/* A matrix of `n` rows from n * n numbers. */
static kry_op *op_of(kry_type type, int64_t n, const double *a)
{
    matrix A = matrix_from(a, n);
    kry_op *op = csr_of(&A, type, NULL);
    matrix_release(&A);
    return op;
}

static void create__refusals(void **state)
{
    static const struct {
        double a[9];
        kry_status status;
        const char *named, *lu; /* lu: of the factors L U; NULL: they are made */
    } bad[] = {
        { { 1, 0, 0, 0, 0, 1, 0, 1, 2 }, KRY_ERR_SINGULAR, "row 1 is 0", "row 1 is 0" },
        { { 2, 1, 0, 1, 2, 0, 0, 0, -3 }, KRY_ERR_ARGUMENT, "is -3", NULL },
        { { 2, 1, 0, 0.5, 2, 0, 0, 0, 3 }, KRY_ERR_ARGUMENT, "row 1 has 0.5 in column 0", NULL },
        { { 2, 1, 0, 0, 2, 0, 0, 0, 3 }, KRY_ERR_ARGUMENT, "not symmetric", NULL },
        { { 2, 0, 0, 0, 2, 0, 0, 1, 3 }, KRY_ERR_ARGUMENT, "row 2 has 1 in column 1", NULL },
    };
    kry_type type = type_of(state);
    kry_op *M = NULL, *op = NULL;

    for (size_t i = 0; i < COUNT(bad); i++) {
        op = op_of(type, 3, bad[i].a);
        M = op;
        REFUSES(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 3), &M), bad[i].status, bad[i].named);
        assert_null(M);
        if (bad[i].lu)
            REFUSES(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = 3), &M), bad[i].status,
                    bad[i].lu);
        else
            OK(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = 3), &M));
        kry_op_release(&M);
        kry_op_release(&op);
    }
    op = op_of(type, 3, (const double[]){ 2, 1, 0, 1, 2, 0, 0, 0, 3 });
    REFUSES(kry_block_ic_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 4), &M), KRY_ERR_ARGUMENT, "rows = 4");
    REFUSES(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = -1), &M), KRY_ERR_ARGUMENT, "rows = -1");
    REFUSES(kry_block_ic_create(op, KRY_BLOCK_IC(.shift = -2), &M), KRY_ERR_ARGUMENT, "shift = -2");
    REFUSES(kry_block_ic_create(op, &(kry_block_ic_params){ .rows = 1 }, &M), KRY_ERR_ARGUMENT,
            "KRY_BLOCK_IC");
    OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 3), &M));
    kry_op *over = op;
    REFUSES(kry_block_ic_create(M, NULL, &over), KRY_ERR_UNSUPPORTED, "'block-ic'");
    assert_null(over);
    kry_op_release(&M), kry_op_release(&op);
    matrix A = { .rows = 2, .cols = 3, .row_ptr = (int64_t[]){ 0, 0, 0 } };
    op = csr_of(&A, type, NULL);
    REFUSES(kry_block_ic_create(op, NULL, &M), KRY_ERR_SHAPE, "2-by-3");
    kry_op_release(&op);
}

static void create__empty_matrix(void **state)
{
    matrix A = { .row_ptr = (int64_t[]){ 0 } };
    kry_op *op = csr_of(&A, type_of(state), NULL), *M = NULL;
    OK(kry_block_ic_create(op, NULL, &M));
    op_suite(M, &A);
    kry_op_release(&M), kry_op_release(&op);
}

/* An entry that couples two blocks may be anything. */
static void ic__dropped_couplings_are_not_looked_at(void **state)
{
    kry_op *M = NULL, *op = op_of(type_of(state), 2, (const double[]){ 2, 7, 0, 4 });
    OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 1), &M));
    matrix want = matrix_from((const double[]){ 0.5, 0, 0, 0.25 }, 2);
    op_suite(M, &want);
    matrix_release(&want);
    kry_op_release(&M), kry_op_release(&op);
}

/* Memory that is not there, at each request: nothing leaks, nothing comes out. */
static void create__no_memory(void **state)
{
    static const grid g = { .size = { 40, 30 } };
    kry_type type = type_of(state);
    double *a = dense_random(&shapes[3], type, true);
    kry_op *of[] = { grid_op(&g, type, NULL), op_of(type, shapes[3].n, a) };

    for (size_t i = 0; i < COUNT(of); i++) {
        EACH_REQUEST(k)
        {
            kry_op *M = of[i];
            int refs = device_references(device());
            kry_status st = FAILING(k, kry_block_ic_create(of[i], NULL, &M));
            assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
            assert_true(request_failed == !M);
            kry_op_release(&M);
            assert_int_equal(device_references(device()), refs);
        }
        kry_op_release(&of[i]);
    }
    free(a);
}

/* ---- published numbers --------------------------------------------------------------------- */

/* Iterations to 1e-5 on the n x n Laplacian, b = A x, x random in [0, 1): with blocks of 2, 4, 8
 * and all lines. B2 of the golden numbers. */
static void ic__published_counts(void **state)
{
    static const struct {
        int n, lines, least, most;
    } want[] = { { 128, 2, 87, 87 },   { 128, 4, 73, 73 },   { 128, 8, 66, 66 },
                 { 128, 128, 52, 52 }, { 256, 2, 160, 160 }, { 256, 4, 135, 135 },
                 { 256, 8, 122, 122 }, { 256, 256, 96, 96 }, { 512, 2, 289, 291 } };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(want) && !small_run(); i++) {
        grid g = { .size = { want[i].n, want[i].n } };
        int64_t n = grid_points(&g);
        kry_op *op = grid_op(&g, type, NULL);
        double *x = calloc((size_t)n, sizeof *x); /* the same in every run: counts depend on it */
        assert_non_null(x);
        for (int64_t j = 0; j < n; j++)
            x[j] = to_type(type, kry_random_unit(12345, 0, (uint64_t)j));
        guarded X = guarded_create(type, n, 1, 0, x), B = guarded_create(type, n, 1, 0, NULL);
        char options[64];
        kry_result result;

        OK(kry_op_apply(op, 1, X.v, 0, B.v));
        double *b = guarded_read(&B);
        snprintf(options, sizeof options, "precond=block-ic:%d rtol=1e-5",
                 want[i].lines * want[i].n);
        if (want[i].lines == want[i].n)
            snprintf(options, sizeof options, "precond=icc:rows rtol=1e-5");
        int got = device_pcg(op, b, options, &result), slack = 2 + want[i].most / 50;
        print_message("# n = %d, %d lines: %d iterations, %d published\n", want[i].n, want[i].lines,
                      got, want[i].most);
        assert_in_range(got, want[i].least - slack, want[i].most + slack);
        if (want[i].n == 128) {
            int64_t rows = want[i].lines * want[i].n;
            matrix A = grid_matrix(&g, NULL);
            int plain = plain_pcg(&A, b, plain_grid, &rows, 1e-5);
            assert_in_range(got, plain - 2, plain + 2);
            matrix_release(&A);
        }
        free(x), free(b);
        guarded_release(&X), guarded_release(&B);
        kry_op_release(&op);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(ic__equals_the_textbook),
        BOTH(ilu__equals_the_textbook),
        BOTH(ic__grids_of_all_sizes),
        BOTH(ic__equal_blocks_are_kept_once),
        BOTH(ic__all_grids),
        BOTH(ic__tridiagonal_blocks_are_solved_exactly),
        BOTH(ic__negative_pivots_shift),
        BOTH(ic__singular_matrices),
        BOTH(update__follows_new_values),
        BOTH(create__refusals),
        BOTH(create__empty_matrix),
        BOTH(ic__dropped_couplings_are_not_looked_at),
        BOTH(create__no_memory),
        BOTH(ic__published_counts),
    };
    return cmocka_run_group_tests_name("block_ic", tests, NULL, close_device);
}
