/*
 * test_kernels.c - every kernel once, on sizes small enough for Oclgrind, which watches each
 * access: vectors aligned and not, rows empty, short, shared by several lanes, and longer than a
 * tile, and each way through a conjugate-gradient step. Results are compared with plain C.
 */
#include "base/hooks.h"
#include "dense/batch.h"
#include "dense/dense.h"
#include "operator/direction.h"
#include "operator/null_space.h"
#include "precond/coarse.h"
#include "precond/deflation.h"
#include "unit.h"
#include <float.h>
#include <jacobi.h>

enum { N = 301, ROWS = 24, COLS = 700, MAX_NNZ = 2000 };

static kry_device *dev, *small_groups;

/* Objects stay until the end: Oclgrind 21.10 takes a buffer that got the place of a released one
 * for uninitialised even after it was written. */
static kry_op *ops[400];
static kry_vec *vecs[1200];
static jacobi *jacobis[16];
static kryi_coarse *coarses[16];
static kryi_subspace subspaces[16];
static int op_count, vec_count, jacobi_count, coarse_count, subspace_count;
static void keep_op(kry_op *op) { ops[op_count++] = op; }
static void keep_vec(kry_vec *vec) { vecs[vec_count++] = vec; }

static int open_device(void **state)
{
    (void)state;
    return kry_device_open(NULL, &dev) < 0 ? -1 : 0;
}

static int close_device(void **state)
{
    (void)state;
    while (jacobi_count) jacobi_release(&jacobis[--jacobi_count]);
    while (coarse_count) kryi_coarse_release(&coarses[--coarse_count]);
    while (subspace_count) kryi_subspace_release(&subspaces[--subspace_count]);
    while (op_count) kry_op_release(&ops[--op_count]);
    while (vec_count) kry_vec_release(&vecs[--vec_count]);
    int leaked = device_references(dev) - 1;
    if (small_groups) leaked += device_references(small_groups) - 1;
    kry_device_release(&small_groups);
    kry_device_release(&dev);
    return leaked;
}

/* Under Oclgrind a kernel takes seconds. */
static bool too_slow(void) { return getenv("KRY_OCLGRIND") && !getenv("KRY_FULL"); }

static double entry(int64_t i) { return sin(1.0 + 0.7 * (double)i); }
static double roundoff(kry_type type) { return type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON; }

/* n numbers entry(shift), entry(shift+1), ... behind `first` others in a buffer of their own. */
static kry_vec *vector(kry_type type, int64_t n, int64_t first, int64_t shift)
{
    kry_vec *all, *v;
    double f64[COLS + 8];
    float f32[COLS + 8];
    for (int64_t i = 0; i < n + first; i++)
        f64[i] = entry(i - first + shift), f32[i] = (float)f64[i];
    OK(kry_vec_create(dev, type, n + first, 1, &all));
    OK(kry_vec_write(all, type == KRY_F32 ? (void *)f32 : f64));
    OK(kry_vec_wrap(dev, type, n, 1, all->buffer, first, &v));
    keep_vec(all);
    return v;
}

static void expect(const kry_vec *v, const double *want, double bound)
{
    double f64[COLS];
    float f32[COLS];
    OK(kry_vec_read(v, v->type == KRY_F32 ? (void *)f32 : f64));
    for (int64_t i = 0; i < v->n; i++) {
        double got = v->type == KRY_F32 ? f32[i] : f64[i];
        if (!(fabs(got - want[i]) <= bound * (1 + fabs(want[i]))))
            fail_msg("%g instead of %g at %lld", got, want[i], (long long)i);
    }
}

static void vectors(kry_type type, int64_t first)
{
    double want[N], dot = 0, square = 0, pair[2], eps = 8 * roundoff(type);
    kry_vec *x = vector(type, N, first, 0), *y = vector(type, N, first, 5),
            *z = vector(type, N, first, 9);
    kry_sum *sum;
    OK(kry_vec_triad(3, x, y, z));
    for (int i = 0; i < N; i++) want[i] = entry(i + 5) + 3 * entry(i);
    expect(z, want, eps);
    OK(kry_vec_mul(2, x, y, 0, z));
    for (int i = 0; i < N; i++) want[i] = 2 * entry(i) * entry(i + 5);
    expect(z, want, eps);
    OK(kry_vec_axpby(2, x, -3, z));
    for (int i = 0; i < N; i++) want[i] = 2 * entry(i) - 3 * want[i];
    expect(z, want, 4 * eps);
    OK(kry_vec_copy(z, x));
    expect(x, want, 4 * eps);
    OK(kry_vec_fill(x, 0.5));
    for (int i = 0; i < N; i++) want[i] = 0.5, dot += 0.5 * entry(i + 5), square += 0.25;
    expect(x, want, 0);
    OK(kry_sum_create(dev, 2, &sum));
    OK(kryi_vec_dot_pair(x, y, sum));
    OK(read_sum(dev, sum, pair));
    assert_true(fabs(pair[0] - dot) <= N * eps && fabs(pair[1] - square) <= N * eps);
    OK(kry_vec_dot(x, y, pair));
    assert_true(fabs(pair[0] - dot) <= N * eps);
    kry_sum_release(&sum);
    keep_vec(x);
    keep_vec(y);
    keep_vec(z);
}

/* Rows of 0, 1, 2, 3, ... entries, and one of 600, longer than any tile. */
static void matrix(kry_type type, int64_t first)
{
    int64_t row_ptr[ROWS + 1] = { 0 }, k = 0;
    static int32_t col[MAX_NNZ];
    static double f64[MAX_NNZ];
    static float f32[MAX_NNZ];
    double product[ROWS], want[ROWS];
    for (int64_t i = 0; i < ROWS; i++) {
        int length = i == 11 ? 600 : (int)(i * i / 8);
        product[i] = 0;
        for (int j = 0; j < length; j++, k++) {
            col[k] = (int32_t)((i + (int64_t)j * 697 / (length + 1)) % COLS);
            f64[k] = entry(3 * k), f32[k] = (float)f64[k];
            product[i] += f64[k] * entry(col[k]);
        }
        row_ptr[i + 1] = k;
    }
    kry_op *A;
    OK(kry_csr_create(dev, type, ROWS, COLS, row_ptr, col, type == KRY_F32 ? (void *)f32 : f64,
                      KRY_MATRIX(.duplicates = KRY_SUM), &A));
    kry_vec *x = vector(type, COLS, first, 0), *y = vector(type, ROWS, first, 2),
            *r = vector(type, ROWS, first, 4);
    double eps = 600 * roundoff(type);
    OK(kry_op_apply(A, 2, x, 3, y));
    for (int i = 0; i < ROWS; i++) want[i] = 2 * product[i] + 3 * entry(i + 2);
    expect(y, want, eps);
    OK(kry_op_residual(A, y, x, r));
    for (int i = 0; i < ROWS; i++) want[i] -= product[i];
    expect(r, want, 2 * eps);
    keep_vec(x);
    keep_vec(y);
    keep_vec(r);
    keep_op(A);
}

static kry_op *laplace(kry_type type, int64_t n)
{
    static int64_t row_ptr[N + 1];
    static int32_t col[3 * N];
    static double f64[3 * N];
    static float f32[3 * N];
    int64_t k = 0;
    kry_op *A;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < n) col[k] = j, f64[k] = j == i ? 2.5 + i % 2 : -1, k++;
        row_ptr[i + 1] = k;
    }
    for (int64_t i = 0; i < k; i++) f32[i] = (float)f64[i];
    OK(kry_csr_create(dev, type, n, n, row_ptr, col, type == KRY_F32 ? (void *)f32 : f64, NULL,
                      &A));
    return A;
}

/* Shows only some of an operator's entries, so that the defaults of the others run. */
typedef struct veil {
    kry_op *inner;
} veil;
static kry_status veil_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    veil *v = self;
    return kry_op_apply(v->inner, alpha, x, beta, y);
}
static kry_status veil_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    veil *v = self;
    return op_table(v->inner)->apply_dot(v->inner->self, x, y, sum);
}
static const kry_op_table apply_only = { .struct_size = sizeof(kry_op_table),
                                         .kind = "apply only",
                                         .apply = veil_apply };
static const kry_op_table apply_and_dot = { .struct_size = sizeof(kry_op_table),
                                            .kind = "apply and dot",
                                            .apply = veil_apply,
                                            .apply_dot = veil_apply_dot };

static int look(void *user, const kry_iteration *it)
{
    (void)it;
    ++*(int *)user;
    return 0;
}

/* The same system through every kind of step: counts agree. The persistent kernel is left out, as in all solves
 * here: its groups wait for each other, and Oclgrind runs one after the other, for minutes. */
static void steps(kry_type type, int64_t first)
{
    const int64_t n = 150;
    kry_op *A = laplace(type, n), *M, *plain, *dotted, *VM, *S;
    kry_vec *b = vector(type, n, 0, 3), *x = vector(type, n, first, 0);
    kry_op_shape shape = { n, n, type, 0 };
    int looks = 0;
    OK(kry_jacobi_create(A, &M));
    static veil kept[8];
    static int used;
    veil *va = &kept[used++], *vm = &kept[used++];
    va->inner = A, vm->inner = M;
    OK(kry_op_create(dev, &apply_only, va, &shape, &plain));
    OK(kry_op_create(dev, &apply_and_dot, va, &shape, &dotted));
    OK(kry_op_create(dev, &apply_only, vm, &shape, &VM));
    const struct {
        kry_op *A, *M;
        int64_t check_every;
    } ways[] = { { A, M, 0 }, { A, M, 4 }, { plain, VM, 0 }, { dotted, M, 0 }, { A, NULL, 0 } };
    int64_t iterations[COUNT(ways)];
    for (size_t i = 0; i < COUNT(ways); i++) {
        kry_result res;
        OK(kry_pcg_create(ways[i].A,
                          KRY_PCG(.precond = ways[i].M,
                                  .stop = { .rtol = too_slow() ? 1e-1 : 1e-4,
                                            .check_every = ways[i].check_every },
                                  .monitor = ways[i].check_every ? look : NULL,
                                  .monitor_user = &looks, .resident = KRY_RESIDENT_OFF),
                          &S));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        iterations[i] = res.iterations;
        keep_op(S);
    }
    for (int i = 1; i < 4; i++) assert_int_equal(iterations[i], iterations[0]);
    assert_true(looks >= 2);
    keep_op(VM);
    keep_op(dotted);
    keep_op(plain);
    keep_op(M);
    keep_op(A);
    keep_vec(b);
    keep_vec(x);
}

/* Conjugate residuals, alone and with a preconditioner; the true residual has the last word. */
static void residuals(kry_type type, int64_t first)
{
    static const char *const how[] = { "method=cr check-every=2",
                                       "method=cr check-every=2 precond=jacobi" };
    kry_op *A = laplace(type, 150), *S;
    kry_vec *b = vector(type, 150, 0, 3), *x = vector(type, 150, first, 0);
    for (size_t i = 0; i < COUNT(how); i++) {
        char words[80];
        snprintf(words, sizeof words, "%s rtol=%g", how[i], too_slow() ? 1e-1 : 1e-4);
        OK(kry_solver_create(A, words, NULL, NULL, &S));
        keep_op(S);
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, NULL));
    }
    keep_op(A);
    keep_vec(b), keep_vec(x);
}

/* V'w with more columns than one pass of the kernel takes. */
static void column_sums(kry_type type, int64_t first)
{
    enum { LENGTH = 45, COLUMNS = 9 };
    kry_vec *all = vector(type, LENGTH * COLUMNS, first, 0),
            *w = vector(type, LENGTH, 3 - first, 5), *V;
    double got[COLUMNS];
    kry_sum *sum;
    OK(kry_vec_wrap(dev, type, LENGTH, COLUMNS, all->buffer, all->first, &V));
    OK(kry_sum_create(dev, COLUMNS, &sum));
    OK(kryi_vec_dots(V, w, sum));
    OK(read_sum(dev, sum, got));
    for (int j = 0; j < COLUMNS; j++) {
        double want = 0;
        for (int i = 0; i < LENGTH; i++) want += entry(j * LENGTH + i) * entry(i + 5);
        assert_true(fabs(got[j] - want) <= LENGTH * roundoff(type) * (1 + fabs(want)));
    }
    kry_sum_release(&sum);
    keep_vec(all), keep_vec(w), keep_vec(V);
}

/* Blocks of 2, 7 and 32 rows of a matrix whose inverse blocks are known: 1 / (1 + rows) off those
 * of ones and the identity. */
static void blocks(kry_type type, int64_t first)
{
    enum { ALL = 151 };
    static const int sizes[] = { 2, 7, 32 };
    for (size_t s = 0; s < COUNT(sizes); s++) {
        const int rows = sizes[s];
        static int64_t row_ptr[ALL + 1];
        static int32_t col[32 * ALL];
        static double f64[32 * ALL];
        static float f32[32 * ALL];
        double want[ALL], pair[2], zr = 0;
        int64_t k = 0;
        kry_op *A, *M;
        kry_sum *sum;
        for (int i = 0; i < ALL; i++) {
            int begin = i / rows * rows, end = begin + rows < ALL ? begin + rows : ALL;
            double all = 0;
            for (int j = begin; j < end; j++, k++)
                col[k] = j, f64[k] = i == j ? 2 : 1, f32[k] = (float)f64[k], all += entry(j);
            row_ptr[i + 1] = k;
            want[i] = entry(i) - all / (1 + end - begin);
            zr += want[i] * entry(i);
        }
        OK(kry_csr_create(dev, type, ALL, ALL, row_ptr, col, type == KRY_F32 ? (void *)f32 : f64,
                          NULL, &A));
        OK(kry_block_jacobi_create(A, KRY_BLOCK_JACOBI(.rows = rows), &M));
        kry_vec *x = vector(type, ALL, first, 0), *y = vector(type, ALL, first, 2);
        OK(kry_sum_create(dev, 2, &sum));
        OK(kryi_op_run_dots(M, x, y, sum));
        expect(y, want, 300 * roundoff(type));
        OK(read_sum(dev, sum, pair));
        assert_true(fabs(pair[0] - zr) <= 1000 * roundoff(type) * (1 + zr));
        OK(kry_op_apply(M, 2, x, -1, y));
        expect(y, want, 600 * roundoff(type));
        kry_sum_release(&sum);
        keep_vec(x), keep_vec(y);
        keep_op(M), keep_op(A);
    }
}

/* ---- batches of tridiagonal and pentadiagonal systems, whose solution is known ---- */

static kry_vec *numbers(kry_type type, int64_t n, int64_t k, const double *v)
{
    kry_vec *vec;
    float f32[COLS];
    for (int64_t i = 0; i < n * k; i++) f32[i] = (float)v[i];
    OK(kry_vec_create(dev, type, n, k, &vec));
    OK(kry_vec_write(vec, type == KRY_F32 ? (const void *)f32 : v));
    keep_vec(vec);
    return vec;
}

static void solve_batch(kry_type type, int band, int64_t n, int64_t systems, bool interleaved,
                        bool periodic, bool pivoting)
{
    double d[5][COLS], b[COLS], want[COLS], eps = 64 * roundoff(type);
    kry_vec *v[5], *x;
    kry_tridiagonal_params p = { .struct_size = sizeof p, .periodic = periodic };
    if (interleaved) p.layout = KRY_SYSTEMS_INTERLEAVED;
    if (pivoting) p.pivoting = KRY_SYSTEMS_PIVOT_ALWAYS;
    for (int64_t s = 0; s < systems; s++)
        for (int64_t i = 0; i < n; i++) {
            int64_t at = interleaved ? i * systems + s : s * n + i;
            want[at] = entry(at), b[at] = 0;
            for (int w = -band; w <= band; w++) {
                int64_t j = i + w;
                bool inside = periodic || (j >= 0 && j < n);
                double a = (float)(w ? 0.4 * entry(5 * at + w) : 1.7);
                j = (j % n + n) % n;
                d[w + band][at] = a;
                if (inside) b[at] += a * entry(interleaved ? j * systems + s : s * n + j);
            }
        }
    for (int w = 0; w <= 2 * band; w++)
        v[w] = numbers(type, interleaved ? systems : n, interleaved ? n : systems, d[w]);
    x = numbers(type, interleaved ? systems : n, interleaved ? n : systems, b);
    if (band == 1)
        OK(kry_tridiagonal_solve(&p, v[0], v[1], v[2], x, x));
    else
        OK(kry_pentadiagonal_solve(&p, v[0], v[1], v[2], v[3], v[4], x, x));
    kry_vec flat = *x;
    flat.n *= flat.k, flat.k = 1;
    expect(&flat, want, eps);
}

static void batches(kry_type type, int64_t first)
{
    const bool interleaved = first > 0;
    batch B = { .dev = dev, .systems = 100 };
    cl_mem room;
    OK(kryi_batch_marks_take(&B)); /* once and for all: objects stay */
    OK(kryi_room_reserve(dev, 1 << 19, &room));
    solve_batch(type, 1, 45, 3, interleaved, false, false);
    solve_batch(type, 1, 3, 70, interleaved, false, false);
    solve_batch(type, 1, 49, 3, interleaved, true, false);
    solve_batch(type, 1, 1, 3, interleaved, true, false);
    solve_batch(type, 1, 20, 3, interleaved, false, true);
    solve_batch(type, 1, 20, 3, interleaved, true, true);
    solve_batch(type, 2, 20, 3, interleaved, false, true);
    solve_batch(type, 2, 20, 3, interleaved, true, true);
}

/* ---- every format ---- */

/* Empty rows, more than a tile of them; a row and a column that are full, so long that GPUs split
 * the row; three diagonals. Symmetric, and positive definite but for the empty rows. */
enum { ARROW = 80, EMPTY = 10 };
static bool arrow_has(int i, int j)
{
    if (i < EMPTY || j < EMPTY) return false;
    return i == EMPTY || j == EMPTY || (i - j <= 1 && j - i <= 1);
}

static kry_op *arrow(kry_type type, const kry_matrix_params *params, double *product)
{
    static int64_t row_ptr[ARROW + 1];
    static int32_t col[6 * ARROW];
    static double f64[6 * ARROW];
    static float f32[6 * ARROW];
    int64_t k = 0;
    kry_op *A;
    for (int i = 0; i < ARROW; i++) {
        product[i] = 0;
        for (int j = 0; j < ARROW; j++) {
            if (!arrow_has(i, j)) continue;
            col[k] = j, f64[k] = i == j ? 4 + 1.0 / 3 : 0.125, f32[k] = (float)f64[k];
            product[i] += f64[k++] * entry(j);
        }
        row_ptr[i + 1] = k;
    }
    OK(kry_csr_create(dev, type, ARROW, ARROW, row_ptr, col, type == KRY_F32 ? (void *)f32 : f64,
                      params, &A));
    keep_op(A);
    return A;
}

/* Product, residual and diagonal; apply_dot and apply_direction, of A and of its veil, in solves.
 */
static void format_kernels(kry_type type, int64_t first, const kry_matrix_params *params)
{
    double product[ARROW], want[ARROW], eps = ARROW * roundoff(type);
    kry_op *A = arrow(type, params, product), *S;
    kry_vec *x = vector(type, ARROW, first, 0), *y = vector(type, ARROW, first, 2),
            *r = vector(type, ARROW, first, 4);
    kry_sum *sum;
    double dot, pq = 0;
    if (params->values == KRY_VALUES_SINGLE) eps = ARROW * roundoff(KRY_F32);
    OK(kry_op_apply(A, 2, x, 3, y));
    for (int i = 0; i < ARROW; i++) want[i] = 2 * product[i] + 3 * entry(i + 2);
    expect(y, want, eps);
    OK(kry_op_residual(A, y, x, r));
    for (int i = 0; i < ARROW; i++) want[i] -= product[i];
    expect(r, want, 2 * eps);
    OK(kry_sum_create(dev, 1, &sum));
    OK(op_table(A)->apply_dot(A->self, x, y, sum));
    expect(y, product, eps);
    OK(read_sum(dev, sum, &dot));
    for (int i = 0; i < ARROW; i++) pq += entry(i) * product[i];
    assert_true(fabs(dot - pq) <= ARROW * eps * (1 + fabs(pq)));
    OK(kry_op_diagonal(A, r));
    for (int i = 0; i < ARROW; i++) want[i] = i < EMPTY ? 0 : 4 + 1.0 / 3;
    expect(r, want, eps);
    OK(kry_pcg_create(
        A, KRY_PCG(.stop = { .rtol = 1e-3, .max_iter = 12 }, .resident = KRY_RESIDENT_OFF), &S));
    keep_op(S);
    OK(kry_op_apply(A, 1, x, 0, y)); /* so that the system has a solution */
    OK(kry_vec_fill(r, 0));
    OK(kry_solve(S, y, r, NULL));
    kry_sum_release(&sum);
    keep_vec(x);
    keep_vec(y);
    keep_vec(r);
}

/* Alignment is the same for all formats: each type has one. */
static void every_format(kry_type type, int64_t first)
{
    if ((type == KRY_F32) == (first > 0)) return;
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)
        format_kernels(type, first,
                       KRY_MATRIX(.format = f, .values = type == KRY_F64 ? KRY_VALUES_SINGLE
                                                                         : KRY_VALUES_COMPACT));
    if (type == KRY_F64) return;
    format_kernels(type, first,
                   KRY_MATRIX(.format = KRY_FORMAT_SELL, .sigma = 32, .index_bits = 16));
    format_kernels(type, first,
                   KRY_MATRIX(.format = KRY_FORMAT_SELL, .sigma = 1, .index_bits = 32));
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++)
        if (f != KRY_FORMAT_ELL && f != KRY_FORMAT_HYB) /* made of the same */
            format_kernels(type, first, KRY_MATRIX(.format = f, .form = KRY_FLUX));
}

/* ---- the kernels of Akhtar et al.: what reads no images, which Oclgrind takes for uninitialised, and what
 *      does not wait for other groups, which it runs one after the other ---- */

enum { NX = 9, NY = 5, NZ = 4, POINTS = NX * NY * NZ, SWEEPS = 5 };

/* w[i + 1][j + 1][k + 1]: the points and the sides around them. */
static void laplace_sweep(double w[NX + 2][NY + 2][NZ + 2])
{
    static double old[NX + 2][NY + 2][NZ + 2];
    memcpy(old, w, sizeof old);
    for (int i = 1; i <= NX; i++)
        for (int j = 1; j <= NY; j++)
            for (int k = 1; k <= NZ; k++)
                w[i][j][k] = (old[i - 1][j][k] + old[i + 1][j][k] + old[i][j - 1][k] +
                              old[i][j + 1][k] + old[i][j][k - 1] + old[i][j][k + 1]) /
                             6;
}

static void paper_kernel(kry_type type, jacobi_kernel kernel)
{
    static double w[NX + 2][NY + 2][NZ + 2];
    double side[NY * NZ], f64[POINTS], change2;
    float f32[POINTS];
    memset(w, 0, sizeof w);
    for (int p = 0; p < NY * NZ; p++)
        side[p] = entry(p), w[NX + 1][p % NY + 1][p / NY + 1] = side[p];
    jacobi **J = &jacobis[jacobi_count++];
    const jacobi_box box = { .size = { NX, NY, NZ }, .side[X_HIGH] = side };
    OK(jacobi_create(dev, type, kernel, &box, J));
    OK(jacobi_run(*J, SWEEPS, &change2));
    assert_true(change2 > 0);
    OK(jacobi_read(*J, type == KRY_F32 ? (void *)f32 : f64));
    for (int s = 0; s < SWEEPS; s++) laplace_sweep(w);
    for (int p = 0; p < POINTS; p++) {
        double got = type == KRY_F32 ? f32[p] : f64[p];
        double want = w[p % NX + 1][p / NX % NY + 1][p / NX / NY + 1];
        assert_true(fabs(got - want) <= 16 * SWEEPS * roundoff(type));
    }
}

static void paper_kernels(kry_type type, int64_t first)
{
    static const jacobi_kernel some[] = { JACOBI_STREAM, JACOBI_BLOCK, JACOBI_K1, JACOBI_K3,
                                          JACOBI_K8 };
    for (size_t i = 0; i < COUNT(some) && first == 0; i++) paper_kernel(type, some[i]);
}

/* ---- the inverse of a coarse matrix, three diagonals ---- */

enum { COARSE = 150 };

static void coarse_product(kry_type type, int64_t first, kryi_coarse_product kind)
{
    int64_t row_ptr[COARSE + 1] = { 0 }, k = 0;
    int32_t col[3 * COARSE];
    double val[3 * COARSE], want[COARSE], w[COARSE], product;
    kryi_coarse *s;
    for (int32_t i = 0; i < COARSE; i++) {
        for (int32_t j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < COARSE) col[k] = j, val[k++] = j == i ? 4 : -1;
        row_ptr[i + 1] = k;
        product = 4 * entry(i);
        if (i > 0) product -= entry(i - 1);
        if (i + 1 < COARSE) product -= entry(i + 1);
        want[i] = entry(i), w[i] = product;
    }
    kryi_csr E = { COARSE, COARSE, KRY_F64, row_ptr, col, val };
    const kryi_coarse_how how = { KRY_COARSE_DENSE, kind, .engine = &kryi_cholesky_band };
    kry_vec *v = vector(type, COARSE, first, 0), *c = vector(type, COARSE, 3 - first, 2);
    float f32[COARSE];
    for (int i = 0; i < COARSE; i++) f32[i] = (float)w[i];
    OK(kry_vec_write(v, type == KRY_F32 ? (void *)f32 : w));
    OK(kryi_coarse_create(dev, type, &how, &E, &s));
    coarses[coarse_count++] = s;
    OK(kryi_coarse_solve(s, v, c));
    expect(c, want, COARSE * roundoff(type));
    keep_vec(v);
    keep_vec(c);
}

static void coarse_kernels(kry_type type, int64_t first)
{
    coarse_product(type, first, KRY_COARSE_FULL);
    if (!dev->info.cpu_kernels) coarse_product(type, first, KRY_COARSE_PACKED);
}

/* E^-1 (E x) = x but for a constant, by an inverse that the device makes: E is a chain with free ends. */
static void inversion(kry_type type)
{
    enum { CHAIN = 41 };
    int64_t row_ptr[CHAIN + 1] = { 0 }, nnz = 0;
    int32_t col[3 * CHAIN];
    double val[3 * CHAIN], want[CHAIN], mean = 0, weight = 0;
    kryi_dense_inverse D = { .dev = dev, .type = type, .k = CHAIN };
    kry_vec *w = vector(type, CHAIN, 0, 0), *c = vector(type, CHAIN, 0, 2);
    float f32[CHAIN];
    double f64[CHAIN];
    for (int32_t i = 0; i < CHAIN; i++) {
        const double diagonal = i == 0 || i == CHAIN - 1 ? 1 : 2;
        for (int32_t j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < CHAIN) col[nnz] = j, val[nnz++] = j == i ? diagonal : -1;
        row_ptr[i + 1] = nnz;
        f64[i] =
            diagonal * entry(i) - (i > 0 ? entry(i - 1) : 0) - (i + 1 < CHAIN ? entry(i + 1) : 0);
        f32[i] = (float)f64[i];
        mean += diagonal * entry(i), weight += diagonal;
    }
    for (int i = 0; i < CHAIN; i++) want[i] = entry(i) - mean / weight;
    const kryi_csr E = { CHAIN, CHAIN, KRY_F64, row_ptr, col, val };
    OK(kry_vec_write(w, type == KRY_F32 ? (void *)f32 : f64));
    OK(kryi_dense_inverse_choose(&D, KRY_COARSE_FULL));
    OK(kryi_dense_inverse_prepare(&D));
    OK(kryi_coarse_invert(&D, &E, true));
    OK(kryi_dense_inverse_apply(&D, w, c));
    expect(c, want, CHAIN * CHAIN * roundoff(type));
    kryi_dense_inverse_release(&D);
    keep_vec(w);
    keep_vec(c);
}

/* ---- between unknowns and their sub-domains: many small ones, or one so large that it is cut ----
 */

static void subspace(kry_type type, int64_t first, int64_t k)
{
    int32_t labels[N];
    double w[N] = { 0 }, want[N], rz = 0, rr = 0, got[2], eps = N * roundoff(type);
    kryi_subspace *Z = &subspaces[subspace_count++];
    kry_sum *sum;
    for (int i = 0; i < N; i++) labels[i] = k == 1 ? 0 : (int32_t)(i * k / N);
    OK(kryi_subspace_create(dev, type, N, &(kryi_subdomains){ .count = k, .labels = labels }, Z));
    kry_vec *v = vector(type, N, first, 0), *c = vector(type, k, first, 3),
            *s = vector(type, k, (first + 2) % 4, 5), *z = vector(type, N, first, 1);
    for (int i = 0; i < N; i++) w[labels[i]] += entry(i);
    OK(kryi_subspace_restrict(Z, v, s));
    expect(s, w, eps);
    OK(kryi_subspace_prolong(Z, 2, c, -1, z));
    for (int i = 0; i < N; i++) want[i] = 2 * entry(labels[i] + 3) - entry(i + 1);
    expect(z, want, eps);
    OK(kry_sum_create(dev, 2, &sum));
    OK(kryi_subspace_correct(Z, c, v, z, sum));
    OK(kryi_subspace_restrict(Z, v, s)); /* as in a step: of r, before z is added to */
    if (first == 0) OK(kryi_subspace_add(Z, c, z, sum));
    for (int i = 0; i < N; i++) {
        want[i] += (first == 0 ? 2 : 1) * entry(labels[i] + 3);
        rz += want[i] * entry(i), rr += entry(i) * entry(i);
    }
    expect(z, want, eps);
    OK(read_sum(dev, sum, got));
    assert_true(fabs(got[0] - rz) <= N * eps && fabs(got[1] - rr) <= N * eps);
    kry_sum_release(&sum);
    keep_vec(v), keep_vec(c), keep_vec(s), keep_vec(z);
}

static void subspace_kernels(kry_type type, int64_t first)
{
    subspace(type, first, 23);
    subspace(type, first, 1);
}

/* v less its mean. */
static void null_space_kernels(kry_type type, int64_t first)
{
    kry_op *A = laplace(type, N);
    kryi_null_space null;
    double want[N], mean = 0, size;
    kry_vec *v = vector(type, N, first, 0);
    static const kryi_op_fused promised = { .sums_to_zero = true };
    A->shape.traits |= KRY_SINGULAR, A->fused = &promised; /* it is not multiplied by */
    OK(kryi_null_space_create(A, &null));
    for (int i = 0; i < N; i++) mean += entry(i) / N;
    OK(kryi_null_space_measure(&null, v, &size));
    assert_true(fabs(size - fabs(mean) * sqrt(N)) <= N * roundoff(type));
    OK(kryi_null_space_project(&null, v));
    for (int i = 0; i < N; i++) want[i] = entry(i) - mean;
    expect(v, want, N * roundoff(type));
    kryi_null_space_release(&null);
    keep_vec(v), keep_op(A);
}

/* ---- triangular solves of blocks ----------------------------------------------------------- */

enum { BLOCK = 24, LINE = 70, BLOCKED = 4 * LINE + 9 };

/* Entries of row i that are not its diagonal's: arrows that point down, of BLOCK rows, which leave
 * no diagonal out; or a grid of lines. */
static bool arrows(int i, int j)
{
    return i / BLOCK == j / BLOCK && (i > j ? i : j) % BLOCK == BLOCK - 1;
}
static bool lines(int i, int j)
{
    return abs(i - j) == LINE || (abs(i - j) == 1 && i / LINE == j / LINE);
}

static double block_entry(bool symmetric, int i, int j)
{
    return i == j               ? 6 + i % 3
           : symmetric || i < j ? -0.5 - (i + j) % 5 * 0.125
                                : 0.25 + (i % 4) * 0.125;
}

/* (D + L) D^-1 (D + U) z = r inside blocks: the incomplete factors where no two neighbours of a
 * row are neighbours; D in d. */
static void block_plain(bool (*there)(int i, int j), bool symmetric, int rows, double *z)
{
    double d[BLOCKED];
    for (int i = 0; i < BLOCKED; i++) {
        z[i] = entry(i), d[i] = block_entry(symmetric, i, i);
        for (int k = i / rows * rows; k < i; k++) {
            if (!there(i, k)) continue;
            double low = block_entry(symmetric, i, k), high = block_entry(symmetric, k, i);
            d[i] -= low * high / d[k];
            z[i] -= low * z[k];
        }
        z[i] /= d[i];
    }
    for (int i = BLOCKED - 1; i >= 0; i--)
        for (int k = i + 1; k < BLOCKED && k / rows == i / rows; k++)
            if (there(i, k)) z[i] -= block_entry(symmetric, i, k) * z[k] / d[i];
}

static void block_solve_with(const kry_op *M, bool (*there)(int i, int j), bool symmetric, int rows,
                             int64_t first, double eps)
{
    const kry_type type = kry_op_get_shape(M)->type;
    double want[BLOCKED];
    kry_vec *r = vector(type, BLOCKED, first, 0), *z = vector(type, BLOCKED, first, 1);
    OK(kry_op_apply(M, 1, r, 0, z));
    block_plain(there, symmetric, rows, want);
    expect(z, want, eps);
    keep_vec(r), keep_vec(z);
}

static void block_solves(kry_type type, int64_t first, bool (*there)(int i, int j), int rows)
{
    static int64_t row_ptr[BLOCKED + 1];
    static int32_t col[8 * BLOCKED];
    static double f64[8 * BLOCKED];
    static float f32[8 * BLOCKED];
    double eps = 100 * roundoff(type);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        int64_t k = 0;
        kry_op *A, *M;
        for (int i = 0; i < BLOCKED; i++) {
            for (int j = 0; j < BLOCKED; j++)
                if (i == j || there(i, j)) {
                    col[k] = j, f64[k] = block_entry(symmetric, i, j);
                    f32[k] = (float)f64[k], k++;
                }
            row_ptr[i + 1] = k;
        }
        OK(kry_csr_create(dev, type, BLOCKED, BLOCKED, row_ptr, col,
                          type == KRY_F32 ? (void *)f32 : f64, NULL, &A));
        for (int h = 1; h >= 0; h--) { /* as halves, and as given */
            const kry_store storage = h ? KRY_STORE_HALF : KRY_STORE_GIVEN;
            OK((symmetric ? kry_block_ic_create : kry_block_ilu_create)(
                A, KRY_BLOCK_IC(.rows = rows, .storage = storage), &M));
            block_solve_with(M, there, symmetric, rows, first, h ? 0.02 : eps);
            keep_op(M);
        }
        keep_op(A);
    }
}

static void block_kernels(kry_type type, int64_t first)
{
    block_solves(type, first, arrows, BLOCK);
    if (first) return;
    block_solves(type, first, lines, 2 * LINE);
    block_solves(type, first, lines, LINE / 2);
}

/* ---- dense matrices: products, factors, solves, echelon form, inverse ---- */

enum { SIDE = 19 };

static double square(int64_t i, int64_t j) { return entry(3 * i + 7 * j) + (i == j ? 4 : 0); }

static kry_vec *square_matrix(kry_type type, int64_t n, int64_t first)
{
    kry_vec *all, *v;
    double f64[SIDE * SIDE + 8];
    float f32[SIDE * SIDE + 8];
    for (int64_t i = 0; i < first + n * SIDE; i++) f64[i] = f32[i] = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < SIDE; i++)
            f64[first + j * SIDE + i] = square(i, j),
                                   f32[first + j * SIDE + i] = (float)square(i, j);
    OK(kry_vec_create(dev, type, first + n * SIDE, 1, &all));
    OK(kry_vec_write(all, type == KRY_F32 ? (void *)f32 : f64));
    OK(kry_vec_wrap(dev, type, SIDE, n, all->buffer, first, &v));
    keep_vec(all), keep_vec(v);
    return v;
}

static void expect_block(const kry_vec *v, const double *want, double bound)
{
    for (int64_t j = 0; j < v->k; j++) {
        kry_vec column = kryi_vec_column(v, j);
        expect(&column, want + j * v->n, bound);
    }
}

static void dense_kernels(kry_type type, int64_t first)
{
    static double want[SIDE * SIDE], unit[SIDE * SIDE];
    const double eps = 400 * roundoff(type);
    kry_vec *A = square_matrix(type, SIDE, first), *B = square_matrix(type, SIDE, first),
            *T = square_matrix(type, SIDE, first), *x = vector(type, SIDE, first, 2),
            *y = vector(type, SIDE, first, 4);
    kry_op *op, *lu;
    int64_t rank;
    memset(want, 0, sizeof want);
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++) {
            unit[j * SIDE + i] = i == j;
            for (int k = 0; k < SIDE; k++) want[j * SIDE + i] += square(i, k) * square(j, k);
        }
    OK(kry_vec_gemm(false, true, 1, A, A, 0, B));
    expect_block(B, want, eps);
    OK(kry_vec_transpose(A, T));
    OK(kry_vec_gemm(true, false, 1, T, T, 0, B));
    expect_block(B, want, eps);
    OK(kry_dense_create(A, 0, &op));
    keep_op(op);
    OK(kry_op_diagonal(op, x));
    for (int i = 0; i < SIDE; i++) want[i] = square(i, i);
    expect(x, want, eps);
    kry_vec *L = square_matrix(type, SIDE, first), *U = square_matrix(type, SIDE, first);
    OK(kry_lu_create(A, NULL, &lu));
    keep_op(lu);
    OK(kry_lu_factors(lu, L, U, NULL));
    for (int t = 0; t < 2; t++) { /* A^-1 A, A'^-1 A' */
        OK(kry_lu_solve(lu, t, t ? T : A, B));
        expect_block(B, unit, eps);
    }
    OK(kry_op_apply(op, 1, x, 0, y));
    OK(kry_lu_solve(lu, false, y, y));
    expect(y, want, eps);
    OK(kry_vec_inverse(A, NULL, B));
    OK(kry_vec_gemm(false, false, 1, B, A, 0, T));
    expect_block(T, unit, eps);
    OK(kry_vec_transpose(A, T));
    OK(kry_vec_rref(T, 0, NULL, &rank));
    assert_int_equal(rank, SIDE);
    expect_block(T, unit, 0);
    keep_vec(x), keep_vec(y);
}

/* Under Oclgrind, where it takes minutes, one type of number is left to the kernels of the other style. */
static void both(void (*what)(kry_type type, int64_t first))
{
    const char *profile = getenv("KRY_PROFILE");
    const bool cpu = profile && strstr(profile, "cpu-kernels");

    if (!too_slow() || cpu) {
        what(KRY_F32, 0);
        what(KRY_F32, 1);
    }
    if (kry_device_get_info(dev)->fp64 && !(too_slow() && cpu)) {
        what(KRY_F64, 0);
        what(KRY_F64, 3);
    }
}

static void vec_kernels__against_plain_c(void **state) { (void)state, both(vectors); }
static void csr_kernels__against_plain_c(void **state) { (void)state, both(matrix); }
static void format_kernels__on_small_groups(void **state)
{
    (void)state;
    kry_device *large = dev;
    const char *given = getenv("KRY_PROFILE");
    char profile[256];
    snprintf(profile, sizeof profile, "%s group=2", given ? given : "");
    setenv("KRY_PROFILE", profile, 1);
    OK(kry_device_open(NULL, &small_groups));
    dev = small_groups;
    both(every_format);
    dev = large;
}
static void block_jacobi_kernel__against_plain_c(void **state) { (void)state, both(blocks); }
static void pcg_kernels__every_kind_of_step(void **state) { (void)state, both(steps); }
static void cr_kernels__with_and_without_preconditioner(void **state)
{
    (void)state, both(residuals);
}
static void vec_dots__against_plain_c(void **state) { (void)state, both(column_sums); }

/* Under Oclgrind these and batches take a quarter of an hour: tools/test --full. Room for factors comes and
 * goes within a call: it stays, too. */
static void dense_kernels__against_plain_c(void **state)
{
    (void)state;
    if (too_slow()) SKIP("for a full run");
    kryi_test_keep_buffers = getenv("KRY_TEST_SMALL") || getenv("OCLGRIND_UNINITIALIZED");
    both(dense_kernels);
    kryi_test_keep_buffers = false;
}
static void block_kernels__against_plain_c(void **state) { (void)state, both(block_kernels); }
static void batch_kernels__against_plain_c(void **state)
{
    (void)state;
    if (too_slow()) SKIP("for a full run");
    both(batches);
}

static void paper_kernels__against_plain_c(void **state)
{
    (void)state;
    if (is_host(dev)) SKIP("the host runs no kernels of the caller's");
    both(paper_kernels);
}

static void coarse_kernels__against_plain_c(void **state) { (void)state, both(coarse_kernels); }

/* What is made of a matrix comes and goes within a call: it stays, too. */
static void coarse_invert__a_chain(void **state)
{
    (void)state;
    if (dev->info.cpu_kernels || !dev->info.fp64) SKIP("the host makes inverses for this device");
    kryi_test_keep_buffers = getenv("KRY_TEST_SMALL") || getenv("OCLGRIND_UNINITIALIZED");
    if (!too_slow()) inversion(KRY_F32);
    inversion(KRY_F64);
    kryi_test_keep_buffers = false;
}

static void subspace_kernels__against_plain_c(void **state)
{
    (void)state;
    kryi_test_keep_buffers = getenv("KRY_TEST_SMALL") || getenv("OCLGRIND_UNINITIALIZED");
    both(subspace_kernels);
    kryi_test_keep_buffers = false;
}
static void null_space_kernels__against_plain_c(void **state)
{
    (void)state, both(null_space_kernels);
}

/* What passes between single and double, scaled and not, and a flexible method. */
static void mixed_kernels__solve(void **state)
{
    (void)state;
    enum { UNKNOWNS = 37 };
    static const char *const how[] = { "scheme=reliable", "scheme=reliable equilibrate=on",
                                       "scheme=flexible inner=8" };
    const double rtol = too_slow() ? 1e-6 : 1e-10;
    int64_t row_ptr[UNKNOWNS + 1] = { 0 }, k = 0;
    int32_t col[3 * UNKNOWNS];
    double val[3 * UNKNOWNS], host[UNKNOWNS];
    if (!kry_device_get_info(dev)->fp64) SKIP("no double");
    for (int i = 0; i < UNKNOWNS; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < UNKNOWNS; j++, k++)
            col[k] = j, val[k] = i == j ? 3.3 + i % 5 : -1.1;
        row_ptr[i + 1] = k;
    }
    for (size_t i = 0; i < COUNT(how); i++) {
        char words[120];
        kry_op *A, *S;
        kry_vec *b = vector(KRY_F64, UNKNOWNS, i % 2, 0), *x = vector(KRY_F64, UNKNOWNS, 1, 3);
        OK(kry_csr_create(dev, KRY_F64, UNKNOWNS, UNKNOWNS, row_ptr, col, val,
                          KRY_MATRIX(.format = KRY_FORMAT_CSR), &A));
        keep_op(A);
        snprintf(words, sizeof words, "precision=mixed rtol=%g resident=off check-every=5 %s", rtol,
                 how[i]);
        OK(kry_solver_create(A, words, NULL, NULL, &S));
        keep_op(S);
        OK(kry_solve(S, b, x, NULL));
        OK(kry_vec_read(x, host));
        for (int r = 0; r < UNKNOWNS; r++) {
            double sum = entry(r);
            for (int64_t e = row_ptr[r]; e < row_ptr[r + 1]; e++) sum -= val[e] * host[col[e]];
            assert_true(fabs(sum) <= 100 * rtol);
        }
        keep_vec(b);
        keep_vec(x);
    }
}

/* Threads that want a kernel at once take copies of it. */
static void kernel__spare_while_taken(void **state)
{
    kryi_kernel *k, *first, *second, *third;
    (void)state;

    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &k));
    OK(kryi_kernel_take(dev, k, &first));
    assert_ptr_equal(first, k);
    OK(kryi_kernel_take(dev, k, &second));
    assert_ptr_not_equal(second, k);
    assert_ptr_not_equal(second->handle, k->handle);
    assert_string_equal(second->name, "vec_fill");
    fail_request(0);
    assert_int_equal(kryi_kernel_take(dev, k, &third), KRY_ERR_MEMORY);
    fail_request(-1);
    assert_null(third);
    OK(kryi_kernel_take(dev, k, &third));
    assert_true(third != first && third != second);
    kryi_kernel_give_back(second);
    OK(kryi_kernel_take(dev, k, &second)); /* no other one is made */
    assert_ptr_equal(second, k->spare);
    assert_ptr_equal(third, k->spare->spare);
    assert_null(third->spare);
    kryi_kernel_give_back(first), kryi_kernel_give_back(second), kryi_kernel_give_back(third);
    kryi_kernel_give_back(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pcg_kernels__every_kind_of_step),
        cmocka_unit_test(cr_kernels__with_and_without_preconditioner),
        cmocka_unit_test(vec_kernels__against_plain_c),
        cmocka_unit_test(vec_dots__against_plain_c),
        cmocka_unit_test(mixed_kernels__solve),
        cmocka_unit_test(csr_kernels__against_plain_c),
        cmocka_unit_test(block_jacobi_kernel__against_plain_c),
        cmocka_unit_test(batch_kernels__against_plain_c),
        cmocka_unit_test(paper_kernels__against_plain_c),
        cmocka_unit_test(coarse_kernels__against_plain_c),
        cmocka_unit_test(coarse_invert__a_chain),
        cmocka_unit_test(subspace_kernels__against_plain_c),
        cmocka_unit_test(null_space_kernels__against_plain_c),
        cmocka_unit_test(block_kernels__against_plain_c),
        cmocka_unit_test(dense_kernels__against_plain_c),
        cmocka_unit_test(format_kernels__on_small_groups),
        cmocka_unit_test(kernel__spare_while_taken),
    };
    return cmocka_run_group_tests_name("kernels", tests, open_device, close_device);
}
