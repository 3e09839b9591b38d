/*
 * test_vec.c - vectors: every function against a plain loop, at sizes around every border and at
 * offsets that vector loads do not like; sums within bounds and with the same bits.
 */
#include "testing.h"
#include <kry/problem.h>

static const int64_t sizes[] = { 0,   1,   2,   7,    8,    9,    127,  128,  129,
                                 255, 256, 257, 1023, 1025, 4095, 4096, 4097, 100003 };
static const int64_t offsets[][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 },
                                      { 0, 0, 3 }, { 1, 2, 5 }, { 4, 4, 8 } };

typedef struct trio {
    int64_t n;
    double *x, *y, *d;
    guarded X, Y, D;
} trio;

static trio trio_create(kry_type type, int64_t n, const int64_t *offset)
{
    trio t = { .n = n };
    t.x = random_array(type, n), t.y = random_array(type, n), t.d = random_array(type, n);
    t.X = guarded_create(type, n, 1, offset[0], t.x);
    t.Y = guarded_create(type, n, 1, offset[1], t.y);
    t.D = guarded_create(type, n, 1, offset[2], t.d);
    return t;
}

static void trio_release(trio *t)
{
    guarded_release(&t->X), guarded_release(&t->Y), guarded_release(&t->D);
    free(t->x), free(t->y), free(t->d);
}

typedef void trio_test(kry_type type, trio *t);

/* At all sizes and offsets. */
static void sweep(kry_type type, trio_test *test)
{
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t o = 0; o < COUNT(offsets); o++) {
            if (too_large(sizes[s]) || (small_run() && o != 0 && o != 4)) continue;
            trio t = trio_create(type, sizes[s], offsets[o]);
            test(type, &t);
            trio_release(&t);
        }
}

/* ---- elementwise ------------------------------------------------------------------------------
 */

static void check_fill(kry_type type, trio *t)
{
    double value = to_type(type, -1.0 / 3);
    poison(&t->Y);
    OK(kry_vec_fill(t->Y.v, value));
    double *y = guarded_read(&t->Y);
    for (int64_t i = 0; i < t->n; i++) assert_true(y[i] == value);
    free(y);
}
static void fill__all_sizes(void **state) { sweep(type_of(state), check_fill); }

/* As the host has them, to the bit. */
static void check_random(kry_type type, trio *t)
{
    poison(&t->Y);
    OK(fill_random(3, t->Y.v));
    double *y = guarded_read(&t->Y);
    for (int64_t i = 0; i < t->n; i++)
        assert_true(y[i] == to_type(type, kry_random_unit(1, 3, (uint64_t)i) - 0.5));
    free(y);
}

static void fill_random__all_sizes(void **state) { sweep(type_of(state), check_random); }

static void check_copy(kry_type type, trio *t)
{
    (void)type;
    poison(&t->Y);
    OK(kry_vec_copy(t->X.v, t->Y.v));
    double *y = guarded_read(&t->Y), *x = guarded_read(&t->X);
    assert_same_bits(y, t->x, t->n);
    assert_same_bits(x, t->x, t->n);
    free(x), free(y);
}
static void copy__all_sizes(void **state) { sweep(type_of(state), check_copy); }

static const double scales[][2] = { { 1, 0 }, { 0.3, 0 }, { -1.25, 0.7 }, { 0, 1 }, { 2, 1 } };

/* Two products, a sum, the roundings of a and b. */
static void near_axpby(kry_type type, double got, long double ax, long double by, int64_t i)
{
    NEAR(got, ax + by, 4 * eps_of(type) * (fabsl(ax) + fabsl(by)) + least_of(type), "number %lld",
         (long long)i);
}

static void check_axpby(kry_type type, trio *t)
{
    for (size_t s = 0; s < COUNT(scales); s++) {
        double a = scales[s][0], b = scales[s][1];
        if (b == 0)
            poison(&t->Y);
        else
            guarded_write(&t->Y, t->y);
        OK(kry_vec_axpby(a, t->X.v, b, t->Y.v));
        double *y = guarded_read(&t->Y);
        for (int64_t i = 0; i < t->n; i++)
            near_axpby(type, y[i], (long double)a * t->x[i], b == 0 ? 0 : (long double)b * t->y[i],
                       i);
        free(y);
    }
    guarded_write(&t->Y, t->y); /* x may be y */
    OK(kry_vec_axpby(0.5, t->Y.v, 2, t->Y.v));
    double *y = guarded_read(&t->Y);
    for (int64_t i = 0; i < t->n; i++) near_axpby(type, y[i], 0.5L * t->y[i], 2.0L * t->y[i], i);
    free(y);
}
static void axpby__all_sizes(void **state) { sweep(type_of(state), check_axpby); }

static void check_mul(kry_type type, trio *t)
{
    for (size_t s = 0; s < COUNT(scales); s++) {
        double a = scales[s][0], b = scales[s][1];
        if (b == 0)
            poison(&t->Y);
        else
            guarded_write(&t->Y, t->y);
        OK(kry_vec_mul(a, t->D.v, t->X.v, b, t->Y.v));
        double *y = guarded_read(&t->Y);
        for (int64_t i = 0; i < t->n; i++)
            near_axpby(type, y[i], (long double)a * t->d[i] * t->x[i],
                       b == 0 ? 0 : (long double)b * t->y[i], i);
        free(y);
    }
    guarded_write(&t->Y, t->y);
    OK(kry_vec_mul(1, t->D.v, t->Y.v, 0, t->Y.v));
    double *y = guarded_read(&t->Y);
    for (int64_t i = 0; i < t->n; i++) near_axpby(type, y[i], (long double)t->d[i] * t->y[i], 0, i);
    free(y);
}
static void mul__all_sizes(void **state) { sweep(type_of(state), check_mul); }

static void check_triad(kry_type type, trio *t)
{
    guarded_write(&t->Y, t->y);
    poison(&t->D);
    OK(kry_vec_triad(-0.3, t->X.v, t->Y.v, t->D.v));
    double *z = guarded_read(&t->D);
    for (int64_t i = 0; i < t->n; i++) near_axpby(type, z[i], -0.3L * t->x[i], t->y[i], i);
    free(z);
}
static void triad__all_sizes(void **state) { sweep(type_of(state), check_triad); }

/* ---- sums
 * ---------------------------------------------------------------------------------------- */

static long double dot_bound(const double *x, const double *y, int64_t n)
{
    long double size = 0;
    for (int64_t i = 0; i < n; i++) size += fabsl((long double)x[i] * y[i]);
    return (long double)(n + 2) * eps_of(acc_type()) * size;
}
static long double dot_of(const double *x, const double *y, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (long double)x[i] * y[i];
    return sum;
}

static void check_dot(kry_type type, trio *t)
{
    double dot, again, norm, pair[2];
    kry_sum *sum;
    (void)type;

    OK(kry_vec_dot(t->X.v, t->Y.v, &dot));
    NEAR(dot, dot_of(t->x, t->y, t->n), dot_bound(t->x, t->y, t->n), "dot of %lld",
         (long long)t->n);
    for (int i = 0; i < 3; i++) {
        OK(kry_vec_dot(t->X.v, t->Y.v, &again));
        assert_same_bits(&dot, &again, 1);
    }
    OK(kry_vec_norm2(t->X.v, &norm));
    long double want = sqrtl(dot_of(t->x, t->x, t->n));
    NEAR(norm, want, (long double)(t->n + 3) * eps_of(acc_type()) * want, "norm of %lld",
         (long long)t->n);

    OK(kry_sum_create(device(), 2, &sum));
    OK(dot_pair(t->X.v, t->Y.v, sum));
    OK(read_sum(device(), sum, pair));
    NEAR(pair[0], dot_of(t->x, t->y, t->n), dot_bound(t->x, t->y, t->n), "first of the pair");
    NEAR(pair[1], dot_of(t->x, t->x, t->n), dot_bound(t->x, t->x, t->n), "second of the pair");
    kry_sum_release(&sum);
}
static void dot__all_sizes(void **state) { sweep(type_of(state), check_dot); }

/* The header promises an order that depends on n and the device, not on where vectors start. */
static void dot__same_bits_at_every_offset(void **state)
{
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (too_large(sizes[s])) continue;
        double first = 0, *x = random_array(type, sizes[s]), *y = random_array(type, sizes[s]);
        for (size_t o = 0; o < COUNT(offsets); o++) {
            double dot;
            guarded X = guarded_create(type, sizes[s], 1, offsets[o][0], x),
                    Y = guarded_create(type, sizes[s], 1, offsets[o][1], y);
            OK(kry_vec_dot(X.v, Y.v, &dot));
            if (o == 0) first = dot;
            assert_same_bits(&dot, &first, 1);
            guarded_release(&X), guarded_release(&Y);
        }
        free(x), free(y);
    }
}

/* More numbers than a single sum could count: 2^24 ones added to 2^24 stay there in float. */
static void dot__single_summed_in_double(void **state)
{
    (void)state;
    enum { N = 100000 };
    if (!kry_device_get_info(device())->fp64 || small_run()) SKIP("no double, or a small run");
    kry_vec *x, *y;
    double dot;
    OK(kry_vec_create(device(), KRY_F32, N, 1, &x));
    OK(kry_vec_create(device(), KRY_F32, N, 1, &y));
    OK(kry_vec_fill(x, 16777217.0 / 16777216)); /* rounds to 1 */
    OK(kry_vec_fill(y, 4097));
    OK(kry_vec_dot(x, y, &dot));
    assert_true(dot == 4097.0 * N);
    kry_vec_release(&x);
    kry_vec_release(&y);
}

static double norm_of(kry_type type, const double *numbers, int64_t n)
{
    double norm;
    guarded X = guarded_create(type, n, 1, 1, numbers);
    OK(kry_vec_norm2(X.v, &norm));
    guarded_release(&X);
    return norm;
}

/* Squares of these leave the range of the numbers, the norms do not. */
static void norm2__tiny_and_huge(void **state)
{
    kry_type type = type_of(state);
    double least = type == KRY_F64 ? 1e-200 : 1e-30, most = type == KRY_F64 ? 1e200 : 1e30, v[300];
    const double scale[] = { to_type(type, least), to_type(type, most) };
    for (size_t s = 0; s < COUNT(scale); s++) {
        for (int i = 0; i < 300; i++) v[i] = i % 2 ? scale[s] : -scale[s];
        long double want = sqrtl(300) * scale[s];
        NEAR(norm_of(type, v, 300), want, 310 * DBL_EPSILON * want, "scale %g", scale[s]);
    }
    v[7] = 1;
    for (int i = 0; i < 300; i++) v[i] = i == 7 ? 1 : scale[0]; /* one that drowns the rest */
    NEAR(norm_of(type, v, 300), 1, 310 * eps_of(acc_type()), "mixed");
}

static void norm2__not_finite(void **state)
{
    kry_type type = type_of(state);
    double v[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    v[4] = (double)INFINITY;
    assert_true(isinf(norm_of(type, v, 9)));
    v[4] = -(double)INFINITY;
    assert_true(isinf(norm_of(type, v, 9)));
    v[4] = (double)NAN;
    assert_true(isnan(norm_of(type, v, 9)));
}

/* ---- blocks
 * ---------------------------------------------------------------------------------------- */

/* A block of k columns is one long vector to everything elementwise and to sums. */
static void block__columns_and_views(void **state)
{
    kry_type type = type_of(state);
    enum { N = 131, K = 3 };
    double *x = random_array(type, N * K), *y = random_array(type, N * K), dot, column;
    guarded X = guarded_create(type, N, K, 1, x), Y = guarded_create(type, N, K, 0, y);
    long double sum = 0;

    assert_int_equal(kry_vec_rows(X.v), N);
    assert_int_equal(kry_vec_cols(X.v), K);
    assert_int_equal(kry_vec_type(X.v), type);
    assert_ptr_equal(kry_vec_device(X.v), device());
    OK(kry_vec_dot(X.v, Y.v, &dot));
    NEAR(dot, dot_of(x, y, N * K), dot_bound(x, y, N * K), "dot of blocks");
    for (int j = 0; j < K; j++) {
        kry_vec *xj, *yj;
        int64_t first;
        OK(kry_vec_view(X.v, j, &xj));
        OK(kry_vec_view(Y.v, j, &yj));
        assert_int_equal(kry_vec_rows(xj), N);
        assert_int_equal(kry_vec_cols(xj), 1);
        assert_ptr_equal(kry_vec_buffer(xj, &first), X.buffer);
        assert_int_equal(first, GUARD + 1 + j * N);
        assert_ptr_equal(kry_vec_buffer(xj, NULL), X.buffer);
        OK(kry_vec_dot(xj, yj, &column));
        NEAR(column, dot_of(x + j * N, y + j * N, N), dot_bound(x + j * N, y + j * N, N),
             "dot of column %d", j);
        sum += column;
        if (j == 1) OK(kry_vec_fill(yj, 5));
        kry_vec_release(&xj);
        kry_vec_release(&yj);
    }
    NEAR(sum, dot, 2 * dot_bound(x, y, N * K), "sum over the columns");
    double *after = guarded_read(&Y);
    for (int i = 0; i < N * K; i++) assert_true(after[i] == (i / N == 1 ? 5 : y[i]));
    free(after), free(x), free(y);
    guarded_release(&X), guarded_release(&Y);
}

static void view__outlives_its_block(void **state)
{
    kry_type type = type_of(state);
    kry_vec *block, *column, *again;
    double numbers[4];
    OK(kry_vec_create(device(), type, 4, 2, &block));
    OK(kry_vec_fill(block, 3));
    OK(kry_vec_view(block, 1, &column));
    kry_vec_release(&block);
    assert_null(block);
    again = kry_vec_retain(column);
    kry_vec_release(&column);
    OK(kry_vec_read(again, numbers));
    for (int i = 0; i < 4; i++) assert_true(at(type, numbers, i) == 3);
    kry_vec_release(&again);
    kry_vec_release(&again); /* of NULL */
}

static void create__is_zero(void **state)
{
    kry_type type = type_of(state);
    double numbers[21];
    kry_vec *x;
    OK(kry_vec_create(device(), type, 7, 3, &x));
    OK(kry_vec_read(x, numbers));
    for (int i = 0; i < 21; i++) assert_true(at(type, numbers, i) == 0);
    for (int i = 0; i < 21; i++) put(type, numbers, i, i + 0.5);
    OK(kry_vec_write(x, numbers));
    memset(numbers, 0, sizeof numbers);
    OK(kry_vec_read(x, numbers));
    for (int i = 0; i < 21; i++) assert_true(at(type, numbers, i) == i + 0.5);
    kry_vec_release(&x);
}

/* ---- refusals
 * ---------------------------------------------------------------------------------------- */

static void create__sizes(void **state)
{
    (void)state;
    kry_device *dev = device();
    kry_vec *x = (kry_vec *)&x;
    REFUSES(kry_vec_create(dev, KRY_F32, -1, 1, &x), KRY_ERR_ARGUMENT, "-1-by-1");
    assert_null(x);
    REFUSES(kry_vec_create(dev, KRY_F32, 1, 0, &x), KRY_ERR_ARGUMENT, "1-by-0");
    REFUSES(kry_vec_create(dev, KRY_F32, 1, -1, &x), KRY_ERR_ARGUMENT, "1-by--1");
    REFUSES(kry_vec_create(dev, KRY_F32, INT64_MAX, 1, &x), KRY_ERR_ARGUMENT, "not a size");
    REFUSES(kry_vec_create(dev, KRY_F32, INT64_MAX / 8, 2, &x), KRY_ERR_ARGUMENT, "not a size");
    REFUSES(kry_vec_create(dev, KRY_F32, INT64_C(1) << 32, INT64_C(1) << 32, &x), KRY_ERR_ARGUMENT,
            "not a size");
    REFUSES(kry_vec_create(dev, KRY_F32, INT64_C(1) << 55, 1, &x), KRY_ERR_MEMORY, "GB");
    REFUSES(kry_vec_create(dev, (kry_type)0, 1, 1, &x), KRY_ERR_ARGUMENT, "0 is not a number type");
    REFUSES(kry_vec_create(NULL, KRY_F32, 1, 1, &x), KRY_ERR_ARGUMENT, "NULL");
    if (!kry_device_get_info(dev)->fp64)
        REFUSES(kry_vec_create(dev, KRY_F64, 1, 1, &x), KRY_ERR_UNSUPPORTED, "double");
    assert_null(x);
}

/* In pieces by way of staging, on several threads. What lies around them stays. */
static void buffer_write__in_chunks(void **state)
{
    enum { ROOM = 40000 };
    static unsigned char all[ROOM], back[ROOM], given[ROOM];

    (void)state;
    for (int round = 0; round < 20; round++) {
        const int64_t bytes = random_below(ROOM), at = random_below(ROOM - bytes + 1);
        cl_mem buffer;
        for (int i = 0; i < ROOM; i++) all[i] = (unsigned char)random_below(256);
        for (int i = 0; i < ROOM; i++) given[i] = (unsigned char)random_below(256);
        OK(buffer_upload(device(), ROOM, all, &buffer));
        cut_loops(1 + (int)random_below(4));
        OK(buffer_write(device(), buffer, (size_t)at, (size_t)bytes, given));
        cut_loops(0);
        memcpy(all + at, given, (size_t)bytes);
        OK(buffer_read(device(), buffer, 0, ROOM, back));
        assert_memory_equal(back, all, ROOM);
        buffer_release(device(), &buffer);
    }
}

/* OpenCL has no copies between contexts: such a buffer would fail in the first kernel. */
static void wrap__buffer_of_another_context(void **state)
{
    kry_type type = type_of(state);
    kry_device *dev = device();
    const cl_device_id id = kry_device_id(dev);
    kry_vec *x;
    cl_int err;
    if (!kry_device_context(dev)) SKIP("a device without OpenCL");

    cl_context other = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    cl_mem buffer = clCreateBuffer(other, CL_MEM_READ_WRITE, 64, NULL, &err);
    assert_int_equal(err, CL_SUCCESS);
    REFUSES(kry_vec_wrap(dev, type, 2, 1, buffer, 0, &x), KRY_ERR_ARGUMENT,
            "kry_vec_wrap: the buffer belongs to another OpenCL context");
    clReleaseMemObject(buffer);
    clReleaseContext(other);
}

static void wrap__does_not_fit(void **state)
{
    kry_type type = type_of(state);
    kry_device *dev = device();
    guarded g = guarded_create(type, 10, 1, 0, NULL);
    int64_t room = g.all;
    kry_vec *x;

    OK(kry_vec_wrap(dev, type, room, 1, g.buffer, 0, &x));
    kry_vec_release(&x);
    OK(kry_vec_wrap(dev, type, 0, 1, g.buffer, room, &x));
    kry_vec_release(&x);
    REFUSES(kry_vec_wrap(dev, type, room + 1, 1, g.buffer, 0, &x), KRY_ERR_SHAPE, "do not fit");
    assert_null(x);
    REFUSES(kry_vec_wrap(dev, type, room, 1, g.buffer, 1, &x), KRY_ERR_SHAPE, "do not fit");
    REFUSES(kry_vec_wrap(dev, type, room, 2, g.buffer, 0, &x), KRY_ERR_SHAPE, "do not fit");
    REFUSES(kry_vec_wrap(dev, type, 0, 1, g.buffer, room + 1, &x), KRY_ERR_SHAPE, "do not fit");
    REFUSES(kry_vec_wrap(dev, type, 1, 1, g.buffer, INT64_MAX, &x), KRY_ERR_SHAPE, "do not fit");
    REFUSES(kry_vec_wrap(dev, type, 1, 1, g.buffer, -1, &x), KRY_ERR_ARGUMENT, "from -1");
    REFUSES(kry_vec_wrap(dev, type, -1, 1, g.buffer, 0, &x), KRY_ERR_ARGUMENT, "-1-by-1");
    REFUSES(kry_vec_wrap(dev, type, INT64_MAX / 2, 4, g.buffer, 0, &x), KRY_ERR_ARGUMENT,
            "not a size");
    REFUSES(kry_vec_wrap(dev, type, 1, 1, NULL, 0, &x), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_wrap(NULL, type, 1, 1, g.buffer, 0, &x), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_view(g.v, 1, &x), KRY_ERR_ARGUMENT, "column 1 of 1");
    REFUSES(kry_vec_view(g.v, -1, &x), KRY_ERR_ARGUMENT, "column -1");
    REFUSES(kry_vec_view(NULL, 0, &x), KRY_ERR_ARGUMENT, "kry_vec_view");
    assert_null(x);
    guarded_release(&g);
}

static void arithmetic__operands_do_not_agree(void **state)
{
    (void)state;
    kry_vec *x, *longer, *typed = NULL, *shifted, *elsewhere;
    kry_device *other;
    double sum = 1, host[8] = { 0 };
    guarded g = guarded_create(KRY_F32, 9, 1, 0, NULL);

    OK(kry_device_open(NULL, &other));
    OK(kry_vec_create(other, KRY_F32, 8, 1, &elsewhere));
    OK(kry_vec_wrap(device(), KRY_F32, 8, 1, g.buffer, GUARD, &x));
    OK(kry_vec_wrap(device(), KRY_F32, 8, 1, g.buffer, GUARD + 1, &shifted));
    OK(kry_vec_create(device(), KRY_F32, 4, 2, &longer));
    if (kry_device_get_info(device())->fp64) OK(kry_vec_create(device(), KRY_F64, 8, 1, &typed));
#define EACH(y, status, text)                              \
    do {                                                   \
        REFUSES(kry_vec_copy(x, y), status, text);         \
        REFUSES(kry_vec_axpby(1, y, 0, x), status, text);  \
        REFUSES(kry_vec_mul(1, y, x, 0, x), status, text); \
        REFUSES(kry_vec_mul(1, x, y, 0, x), status, text); \
    } while (0)
    EACH(longer, KRY_ERR_SHAPE, "4-by-2");
    EACH(NULL, KRY_ERR_ARGUMENT, "NULL");
    EACH(shifted, KRY_ERR_ARGUMENT, "overlap");
    EACH(elsewhere, KRY_ERR_ARGUMENT, "different devices");
    if (typed) EACH(typed, KRY_ERR_TYPE, "double");
    REFUSES(kry_vec_dot(x, longer, &sum), KRY_ERR_SHAPE, "4-by-2");
    assert_true(sum == 0);
    REFUSES(kry_vec_dot(x, NULL, &sum), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_dot(x, elsewhere, &sum), KRY_ERR_ARGUMENT, "different devices");
    REFUSES(kry_vec_norm2(NULL, &sum), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_fill(NULL, 0), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_write(NULL, host), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_write(x, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_read(NULL, host), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_read(x, NULL), KRY_ERR_ARGUMENT, "NULL");
    OK(kry_vec_dot(x, shifted, &sum)); /* sums write neither, so they may overlap */
    kry_vec_release(&typed);
    kry_vec_release(&longer);
    kry_vec_release(&shifted);
    kry_vec_release(&x);
    kry_vec_release(&elsewhere);
    assert_int_equal(device_references(other), 1);
    kry_device_release(&other);
    guarded_release(&g);
}

/* ---- dense blocks times vectors
 * ------------------------------------------------------------------------ */

static void gemv__both_ways(void **state)
{
    kry_type type = type_of(state);
    enum { N = 37, K = 5 };
    if (getenv("KRY_TEST_FAST") || small_run()) SKIP("CLBlast compiles for seconds");
    double *x = random_array(type, N * K);
    guarded X = guarded_create(type, N, K, 0, x);
    for (int transposed = 0; transposed < 2; transposed++) {
        int64_t in = transposed ? N : K, out = transposed ? K : N;
        double *c = random_array(type, in), *y0 = random_array(type, out);
        guarded C = guarded_create(type, in, 1, 1, c), Y = guarded_create(type, out, 1, 3, NULL);
        for (int scaled = 0; scaled < 2; scaled++) {
            double alpha = scaled ? -0.75 : 1, beta = scaled ? 1.5 : 0;
            if (scaled) guarded_write(&Y, y0); /* else NaN, which beta == 0 ignores */
            OK(kry_vec_gemv(transposed, alpha, X.v, C.v, beta, Y.v));
            double *y = guarded_read(&Y);
            for (int64_t i = 0; i < out; i++) {
                long double sum = 0, size = 0;
                for (int64_t j = 0; j < in; j++) {
                    long double p = (long double)x[transposed ? i * N + j : j * N + i] * c[j];
                    sum += p, size += fabsl(p);
                }
                long double old = scaled ? (long double)beta * y0[i] : 0;
                NEAR(y[i], alpha * sum + old,
                     (long double)(in + 6) * eps_of(type) * (size + fabsl(old)), "row %lld",
                     (long long)i);
            }
            free(y);
        }
        guarded_release(&C), guarded_release(&Y);
        free(c), free(y0);
    }
    guarded_release(&X);
    free(x);
}

/* No product to form: CLBlast is not asked. */
static void gemv__empty(void **state)
{
    kry_type type = type_of(state);
    kry_vec *X, *c;
    double one[] = { 1, 2, 3 };
    guarded Y = guarded_create(type, 3, 1, 1, NULL);

    OK(kry_vec_create(device(), type, 0, 3, &X));
    OK(kry_vec_create(device(), type, 0, 1, &c));
    OK(kry_vec_gemv(true, 1, X, c, 0, Y.v));
    double *y = guarded_read(&Y);
    for (int i = 0; i < 3; i++) assert_true(y[i] == 0);
    free(y);
    guarded_write(&Y, one);
    OK(kry_vec_gemv(true, 1, X, c, 2, Y.v));
    y = guarded_read(&Y);
    for (int i = 0; i < 3; i++) assert_true(y[i] == 2 * one[i]);
    free(y);
    OK(kry_vec_gemv(false, 1, X, Y.v, 0, c));
    REFUSES(kry_vec_gemv(false, 1, X, c, 0, Y.v), KRY_ERR_SHAPE, "0-by-3");
    REFUSES(kry_vec_gemv(true, 1, X, c, 0, X), KRY_ERR_SHAPE, "0-by-3");
    REFUSES(kry_vec_gemv(true, 1, NULL, c, 0, Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_gemv(true, 1, X, NULL, 0, Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_vec_gemv(true, 1, X, c, 0, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_vec_release(&X), kry_vec_release(&c);
    OK(kry_vec_create(device(), type, 3, 3, &X));
    OK(kry_vec_view(X, 1, &c));
    REFUSES(kry_vec_gemv(false, 1, X, Y.v, 0, c), KRY_ERR_ARGUMENT, "overlap");
    REFUSES(kry_vec_gemv(false, 1, X, Y.v, 0, Y.v), KRY_ERR_ARGUMENT, "overlap");
    kry_vec_release(&X), kry_vec_release(&c);
    guarded_release(&Y);
}

/* ---- views with a leading dimension -------------------------------------------------------------- */

/* A block of random numbers and a view of it: rows from i, columns from j. */
typedef struct block {
    int64_t n, k, i, rows, j, cols;
    double *host;
    kry_vec *whole, *view;
} block;

static block block_create(kry_type type, int64_t n, int64_t k, int64_t rows, int64_t cols)
{
    block b = { .n = n, .k = k, .rows = rows, .cols = cols, .i = n - rows, .j = k - cols };
    b.host = random_array(type, n * k);
    void *numbers = in_type(type, b.host, n * k);
    OK(kry_vec_create(device(), type, n, k, &b.whole));
    OK(kry_vec_write(b.whole, numbers));
    OK(kry_vec_block(b.whole, b.i, rows, b.j, cols, &b.view));
    assert_int_equal(kry_vec_ld(b.view), n);
    assert_int_equal(kry_vec_rows(b.view), rows);
    free(numbers);
    return b;
}

static double block_at(const block *b, int64_t i, int64_t j)
{
    return b->host[(b->j + j) * b->n + b->i + i];
}

/* The whole block again, in double. */
static double *block_read(const block *b, kry_type type)
{
    void *raw = calloc((size_t)(b->n * b->k), kry_type_size(type));
    double *out = calloc((size_t)(b->n * b->k), sizeof *out);
    OK(kry_vec_read(b->whole, raw));
    for (int64_t i = 0; i < b->n * b->k; i++) out[i] = at(type, raw, i);
    free(raw);
    return out;
}

static void block_release(block *b)
{
    kry_vec_release(&b->view), kry_vec_release(&b->whole);
    free(b->host);
}

/* y := a x + b y and a d .* x + b y of views with other leading dimensions; what is outside of the view
 * of y stays as it was. */
static void block__arithmetic(void **state)
{
    kry_type type = type_of(state);
    static const int64_t rows[] = { 1, 7, 8, 129, 1025 };

    for (size_t s = 0; s < COUNT(rows); s++) {
        const int64_t m = rows[s], c = 3;
        block x = block_create(type, m + 5, 4, m, c), y = block_create(type, m + 2, 5, m, c),
              d = block_create(type, m, 3, m, c);
        const double a = to_type(type, 0.7), b = to_type(type, -1.5);
        OK(kry_vec_axpby(a, x.view, b, y.view));
        double *got = block_read(&y, type);
        for (int64_t j = 0; j < y.k; j++)
            for (int64_t i = 0; i < y.n; i++) {
                bool in = i >= y.i && j >= y.j;
                long double old = y.host[j * y.n + i];
                long double ax = in ? (long double)a * block_at(&x, i - y.i, j - y.j) : 0;
                if (in)
                    near_axpby(type, got[j * y.n + i], ax, b * old, i);
                else
                    assert_true(got[j * y.n + i] == y.host[j * y.n + i]);
            }
        free(y.host), y.host = got;
        OK(kry_vec_mul(1, d.view, x.view, 0, y.view));
        got = block_read(&y, type);
        for (int64_t j = 0; j < c; j++)
            for (int64_t i = 0; i < m; i++)
                NEAR(got[(y.j + j) * y.n + y.i + i],
                     (long double)block_at(&d, i, j) * block_at(&x, i, j), eps_of(type), "mul");
        free(got);
        block_release(&x), block_release(&y), block_release(&d);
    }
}

static void block__sums_and_host(void **state)
{
    kry_type type = type_of(state);
    block x = block_create(type, 1030, 6, 1025, 4), y = block_create(type, 1025, 4, 1025, 4);
    long double dot = 0, norm = 0, size = 0;
    double got;
    void *raw = calloc((size_t)(x.rows * x.cols), kry_type_size(type));

    OK(kry_vec_read(x.view, raw));
    for (int64_t j = 0; j < x.cols; j++)
        for (int64_t i = 0; i < x.rows; i++) {
            long double v = block_at(&x, i, j), w = block_at(&y, i, j);
            assert_true(at(type, raw, j * x.rows + i) == block_at(&x, i, j));
            dot += v * w, norm += v * v, size += fabsl(v * w);
        }
    OK(kry_vec_dot(x.view, y.view, &got));
    NEAR(got, dot, 8 * 4100 * eps_of(acc_type()) * size, "dot");
    OK(kry_vec_norm2(x.view, &got));
    NEAR(got, sqrtl(norm), 8 * 4100 * eps_of(acc_type()) * sqrtl(norm), "norm");
    OK(kry_vec_write(y.view, raw)); /* the packed numbers */
    OK(kry_vec_fill(x.view, 0));
    OK(kry_vec_copy(y.view, x.view));
    double *all = block_read(&x, type);
    assert_same_bits(all, x.host, x.n * x.k);
    free(all), free(raw);
    block_release(&x), block_release(&y);
}

/* Which views share numbers: the two halves of a column do not, nor do interleaved blocks. */
static void block__overlap_and_bad_sizes(void **state)
{
    (void)state;
    kry_vec *A, *top, *bottom, *left, *none = (kry_vec *)1;

    OK(kry_vec_create(device(), KRY_F32, 10, 4, &A));
    OK(kry_vec_block(A, 0, 5, 0, 4, &top));
    OK(kry_vec_block(A, 5, 5, 0, 4, &bottom));
    OK(kry_vec_block(A, 4, 5, 0, 4, &left));
    OK(kry_vec_copy(top, bottom));
    REFUSES(kry_vec_copy(top, left), KRY_ERR_ARGUMENT, "overlap by a part");
    REFUSES(kry_vec_block(A, 6, 5, 0, 4, &none), KRY_ERR_ARGUMENT, "5 rows from 6");
    assert_null(none);
    REFUSES(kry_vec_block(A, 0, 5, 3, 2, &none), KRY_ERR_ARGUMENT, "2 columns from 3");
    REFUSES(kry_vec_transpose(top, bottom), KRY_ERR_UNSUPPORTED, "without gaps");
    REFUSES(kry_vec_wrap_block(device(), KRY_F32, 10, 4, 9, kry_vec_buffer(A, NULL), 0, &none),
            KRY_ERR_ARGUMENT, "9 apart");
    REFUSES(kry_vec_wrap_block(device(), KRY_F32, 10, 4, 11, kry_vec_buffer(A, NULL), 0, &none),
            KRY_ERR_SHAPE, "do not fit");
    kry_vec_release(&top), kry_vec_release(&bottom), kry_vec_release(&left), kry_vec_release(&A);
}

/* An operator meets the columns of a view one by one, a dense one and a product all at once. */
static void block__operators_and_products(void **state)
{
    kry_type type = type_of(state);
    enum { N = 33 };
    block x = block_create(type, N + 3, 5, N, 3), y = block_create(type, N + 1, 4, N, 3),
          a = block_create(type, N, N, N, N);
    kry_op *D;

    OK(kry_dense_create(a.whole, 0, &D));
    for (int way = 0; way < 2; way++) {
        OK(kry_vec_fill(y.view, NAN));
        OK(way ? kry_vec_gemm(false, false, 1, a.whole, x.view, 0, y.view)
               : kry_op_apply(D, 1, x.view, 0, y.view));
        double *got = block_read(&y, type);
        for (int64_t j = 0; j < 3; j++)
            for (int64_t i = 0; i < N; i++) {
                long double sum = 0;
                for (int64_t l = 0; l < N; l++)
                    sum += (long double)block_at(&a, i, l) * block_at(&x, l, j);
                NEAR(got[(y.j + j) * y.n + y.i + i], sum, 8 * N * N * eps_of(type), "row %d",
                     (int)i);
            }
        free(got);
    }
    kry_op_release(&D);
    block_release(&x), block_release(&y), block_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(fill__all_sizes),
        BOTH(fill_random__all_sizes),
        BOTH(block__arithmetic),
        BOTH(block__sums_and_host),
        cmocka_unit_test(block__overlap_and_bad_sizes),
        BOTH(block__operators_and_products),
        BOTH(copy__all_sizes),
        BOTH(axpby__all_sizes),
        BOTH(mul__all_sizes),
        BOTH(triad__all_sizes),
        BOTH(dot__all_sizes),
        BOTH(dot__same_bits_at_every_offset),
        cmocka_unit_test(dot__single_summed_in_double),
        BOTH(norm2__tiny_and_huge),
        BOTH(norm2__not_finite),
        BOTH(block__columns_and_views),
        BOTH(view__outlives_its_block),
        BOTH(create__is_zero),
        cmocka_unit_test(create__sizes),
        cmocka_unit_test(buffer_write__in_chunks),
        BOTH(wrap__buffer_of_another_context),
        BOTH(wrap__does_not_fit),
        cmocka_unit_test(arithmetic__operands_do_not_agree),
        BOTH(gemv__both_ways),
        BOTH(gemv__empty),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
