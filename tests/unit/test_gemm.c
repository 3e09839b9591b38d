/*
 * test_gemm.c - products of dense matrices by kry's own kernel and by CLBlast, transposes, and a dense matrix as
 * an operator, against plain loops in long double.
 */
#include "dense/dense.h"
#include "op_suite.h"

typedef struct product {
    kry_type type;
    bool ta, tb;
    int64_t m, n, k;
    double *a, *b, *c;
    guarded A, B, C;
} product;

static product product_create(kry_type type, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                              int64_t offset)
{
    product p = { .type = type, .ta = ta, .tb = tb, .m = m, .n = n, .k = k };
    p.a = random_array(type, m * k), p.b = random_array(type, k * n);
    p.c = random_array(type, m * n);
    p.A = guarded_create(type, ta ? k : m, ta ? m : k, offset, p.a);
    p.B = guarded_create(type, tb ? n : k, tb ? k : n, 2 * offset, p.b);
    p.C = guarded_create(type, m, n, offset, NULL);
    return p;
}

static void product_release(product *p)
{
    guarded_release(&p->A), guarded_release(&p->B), guarded_release(&p->C);
    free(p->a), free(p->b), free(p->c);
}

static void compare(const product *p, double alpha, double beta, const double *got)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            long double sum = 0, size = 0,
                        old = beta == 0 ? 0 : (long double)beta * p->c[j * p->m + i];
            for (int64_t d = 0; d < p->k; d++) {
                long double v = (long double)p->a[p->ta ? i * p->k + d : d * p->m + i] *
                                p->b[p->tb ? d * p->n + j : j * p->k + d];
                sum += v, size += fabsl(v);
            }
            size = fabsl(alpha) * size + fabsl(old);
            NEAR(got[j * p->m + i], alpha * sum + old, (p->k + 6) * eps_of(p->type) * size,
                 "(%lld, %lld) of %lld-by-%lld, k = %lld%s%s", (long long)i, (long long)j,
                 (long long)p->m, (long long)p->n, (long long)p->k, p->ta ? " A'" : "",
                 p->tb ? " B'" : "");
        }
}

/* beta == 0 over NaN, then another beta; the operands stay as they were. */
static void check(product *p, bool clblast)
{
    const double alpha = to_type(p->type, 0.7), beta = to_type(p->type, -1.3);

    OK(gemm_by(clblast, p->ta, p->tb, 1, p->A.v, p->B.v, 0, p->C.v));
    double *c = guarded_read(&p->C);
    compare(p, 1, 0, c);
    free(c);
    guarded_write(&p->C, p->c);
    OK(gemm_by(clblast, p->ta, p->tb, alpha, p->A.v, p->B.v, beta, p->C.v));
    c = guarded_read(&p->C);
    compare(p, alpha, beta, c);
    free(c);
    double *a = guarded_read(&p->A), *b = guarded_read(&p->B);
    assert_same_bits(a, p->a, p->m * p->k);
    assert_same_bits(b, p->b, p->k * p->n);
    free(a), free(b);
}

static void check_size(kry_type type, bool clblast, int64_t m, int64_t n, int64_t k)
{
    for (int t = 0; t < 4; t++) {
        if (k == 0 && t != 1) continue; /* no block has 0 columns */
        product p = product_create(type, t & 1, t & 2, m, n, k, t);
        check(&p, clblast);
        product_release(&p);
    }
}

static const int64_t sizes[][3] = { { 1, 1, 1 },    { 1, 5, 3 },     { 33, 1, 70 },
                                    { 130, 3, 9 },  { 7, 4, 300 },   { 64, 64, 64 },
                                    { 65, 31, 63 }, { 31, 65, 129 }, { 97, 5, 8 },
                                    { 5, 97, 7 },   { 128, 66, 16 }, { 63, 127, 1 },
                                    { 150, 2, 33 }, { 40, 6, 0 } };

static void gemm__own(void **state)
{
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++)
        check_size(type, false, sizes[s][0], sizes[s][1], sizes[s][2]);
}

/* Room for its copies grows, and serves smaller products, too. */
static void gemm__clblast(void **state)
{
    NOT_ON_HOST("CLBlast");
    kry_type type = type_of(state);
    if (!has_clblast()) SKIP("no CLBlast");
    if (type == KRY_F64 && !getenv("KRY_FULL")) SKIP("double: with KRY_FULL, for it compiles long");
    check_size(type, true, 33, 20, 7);
    check_size(type, true, 65, 129, 70);
    check_size(type, true, 1, 9, 70);
}

static void gemm__chosen(void **state)
{
    kry_type type = type_of(state);
    product p = product_create(type, false, true, 37, 29, 41, 1);
    OK(kry_vec_gemm(false, true, 1, p.A.v, p.B.v, 0, p.C.v));
    double *c = guarded_read(&p.C);
    compare(&p, 1, 0, c);
    free(c);
    product_release(&p);
}

/* A block of a matrix leaves what is around it alone. */
static void gemm_blocks__inside_of_a_matrix(void **state)
{
    enum { M = 40, N = 30, ROWS = 17, COLS = 9, DEEP = 12 };
    kry_type type = type_of(state);
    double *f = random_array(type, M * N);
    guarded F = guarded_create(type, M, N, 3, f);
    kryi_block all = kryi_block_of(F.v), A = kryi_block_part(&all, 20, 0, ROWS, DEEP),
               B = kryi_block_part(&all, 1, 15, DEEP, COLS),
               C = kryi_block_part(&all, 20, 15, ROWS, COLS);
    OK(kryi_gemm_run(&(kryi_gemm){ .alpha = -1, .A = A, .B = B, .beta = 1, .C = C }));
    double *got = guarded_read(&F);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            bool inside = i >= 20 && i < 20 + ROWS && j >= 15 && j < 15 + COLS;
            long double want = f[j * M + i];
            for (int d = 0; d < DEEP && inside; d++)
                want -= (long double)f[d * M + i] * f[j * M + 1 + d];
            NEAR(got[j * M + i], want, inside ? (DEEP + 2) * DEEP * eps_of(type) : 0, "(%d, %d)", i,
                 j);
        }
    free(got), free(f);
    guarded_release(&F);
}

static void transpose__any_size(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },   { 1, 50 },  { 50, 1 }, { 16, 16 },
                                        { 17, 15 }, { 33, 64 }, { 0, 3 },  { 101, 37 } };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(shape); s++) {
        int64_t m = shape[s][0], n = shape[s][1];
        if (m == 0) continue;
        double *a = random_array(type, m * n);
        guarded A = guarded_create(type, m, n, 1, a), T = guarded_create(type, n, m, 2, NULL);
        OK(kry_vec_transpose(A.v, T.v));
        double *t = guarded_read(&T);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) assert_true(t[i * n + j] == a[j * m + i]);
        free(t), free(a);
        guarded_release(&A), guarded_release(&T);
    }
}

/* ---- the operator ------------------------------------------------------------------------------- */

static int64_t all(int64_t i, int64_t rows, int64_t cols) { return (void)i, (void)rows, cols; }

static void dense__keeps_the_contract(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 }, { 37, 37 }, { 129, 20 }, { 20, 130 } };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(shape); s++) {
        matrix M = matrix_create(type, shape[s][0], shape[s][1], all);
        double *a = calloc((size_t)M.nnz, sizeof *a);
        for (int64_t i = 0; i < M.rows; i++)
            for (int64_t k = M.row_ptr[i]; k < M.row_ptr[i + 1]; k++)
                a[M.col[k] * M.rows + i] = M.val[k];
        guarded A = guarded_create(type, M.rows, M.cols, 1, a);
        kry_op *op;
        kry_op_info info;
        OK(kry_dense_create(A.v, 0, &op));
        kry_op_describe(op, &info);
        assert_string_equal(info.kind, "dense");
        assert_int_equal(info.nnz, M.nnz);
        op_suite(op, &M);
        for (int64_t k = 0; k < M.nnz; k++) a[k] *= 2, M.val[k] *= 2;
        void *values = in_type(type, a, M.nnz);
        OK(kry_op_update(op, values)); /* column by column */
        OK(kry_op_update(op, NULL));
        op_suite(op, &M);
        free(values), free(a);
        kry_op_release(&op);
        guarded_release(&A);
        matrix_release(&M);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static void gemm__refusals(void **state)
{
    kry_type type = type_of(state);
    kry_vec *A, *B, *C, *view, *other;
    OK(kry_vec_create(device(), type, 4, 3, &A));
    OK(kry_vec_create(device(), type, 3, 5, &B));
    OK(kry_vec_create(device(), type, 4, 5, &C));
    REFUSES(kry_vec_gemm(false, false, 1, NULL, B, 0, C), KRY_ERR_ARGUMENT, "A is NULL");
    REFUSES(kry_vec_gemm(false, false, 1, A, NULL, 0, C), KRY_ERR_ARGUMENT, "B is NULL");
    REFUSES(kry_vec_gemm(false, false, 1, A, B, 0, NULL), KRY_ERR_ARGUMENT, "C is NULL");
    REFUSES(kry_vec_gemm(true, false, 1, A, B, 0, C), KRY_ERR_SHAPE, "A is 4-by-3, transposed");
    REFUSES(kry_vec_gemm(false, true, 1, A, B, 0, C), KRY_ERR_SHAPE, "B is 3-by-5, transposed");
    REFUSES(kry_vec_gemm(false, false, 1, A, B, 0, B), KRY_ERR_SHAPE, "C is 3-by-5");
    OK(kry_vec_wrap(device(), type, 4, 3, C->buffer, 2, &view));
    REFUSES(kry_vec_gemm(false, false, 1, view, B, 0, C), KRY_ERR_ARGUMENT, "overlap");
    REFUSES(kry_vec_transpose(NULL, A), KRY_ERR_ARGUMENT, "A is NULL");
    REFUSES(kry_vec_transpose(A, NULL), KRY_ERR_ARGUMENT, "At is NULL");
    REFUSES(kry_vec_transpose(A, B), KRY_ERR_SHAPE, "4-by-3");
    kry_vec_release(&view);
    OK(kry_vec_wrap(device(), type, 3, 4, A->buffer, 0, &view));
    REFUSES(kry_vec_transpose(A, view), KRY_ERR_ARGUMENT, "overlap");
    kry_vec_release(&view);
    kry_op *op = (kry_op *)A;
    REFUSES(kry_dense_create(NULL, 0, &op), KRY_ERR_ARGUMENT, "NULL");
    assert_null(op);
    REFUSES(kry_dense_create(A, KRY_SYMMETRIC, &op), KRY_ERR_SHAPE, "4-by-3");
    REFUSES(kry_dense_create(A, KRY_VARYING, &op), KRY_ERR_ARGUMENT, "traits");
    if (kry_device_get_info(device())->fp64) {
        OK(kry_vec_create(device(), type == KRY_F32 ? KRY_F64 : KRY_F32, 3, 5, &other));
        REFUSES(kry_vec_gemm(false, false, 1, A, other, 0, C), KRY_ERR_TYPE, "single");
        kry_vec_release(&other);
        OK(kry_vec_create(device(), type == KRY_F32 ? KRY_F64 : KRY_F32, 3, 4, &other));
        REFUSES(kry_vec_transpose(A, other), KRY_ERR_TYPE, "single");
        kry_vec_release(&other);
    }
    kry_device *second;
    OK(kry_device_open(NULL, &second));
    OK(kry_vec_create(second, type, 3, 5, &other));
    REFUSES(kry_vec_gemm(false, false, 1, A, other, 0, C), KRY_ERR_ARGUMENT, "different devices");
    kry_vec_release(&other);
    kry_device_release(&second);
    kry_vec_release(&A), kry_vec_release(&B), kry_vec_release(&C);
}

static void dense__not_on_a_team(void **state)
{
    (void)state;
    kry_device *team = open_pieces(2);
    kry_vec *A;
    kry_op *op;
    if (!team) SKIP("no device that can be cut in two");
    OK(kry_vec_create(team, KRY_F32, 6, 6, &A));
    REFUSES(kry_vec_gemm(false, false, 1, A, A, 0, A), KRY_ERR_UNSUPPORTED, "several devices");
    REFUSES(kry_vec_transpose(A, A), KRY_ERR_UNSUPPORTED, "several devices");
    REFUSES(kry_dense_create(A, 0, &op), KRY_ERR_UNSUPPORTED, "several devices");
    assert_null(op);
    kry_vec_release(&A);
    kry_device_release(&team);
}

/* GPU-shaped kernels, and groups so small that the squares shrink with them. */
static void gemm__other_profiles(void **state)
{
    static const char *const words[] = { "gpu-kernels", "gpu-kernels group=64", "no-fp64",
                                         "gpu-kernels group=2" };
    (void)state;
    for (size_t w = 0; w < COUNT(words); w++) {
        use_profile(words[w]);
        bool both = w == 0 || getenv("KRY_FULL"); /* of small groups one type, to compile less */
        for (int d = 0; d < (both && kry_device_get_info(device())->fp64 ? 2 : 1); d++) {
            void *type = d ? &type_double : &type_single;
            gemm_blocks__inside_of_a_matrix(&type);
            transpose__any_size(&type);
            if (w > 1 || d) continue;
            gemm__own(&type);
            if (w == 0) dense__keeps_the_contract(&type);
        }
    }
    use_profile("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(gemm__own),
        BOTH(gemm__chosen),
        BOTH(gemm_blocks__inside_of_a_matrix),
        BOTH(transpose__any_size),
        BOTH(dense__keeps_the_contract),
        BOTH(gemm__refusals),
        cmocka_unit_test(dense__not_on_a_team),
        cmocka_unit_test(gemm__other_profiles),
        BOTH(gemm__clblast),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
