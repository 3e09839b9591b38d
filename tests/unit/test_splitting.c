/*
 * test_splitting.c - classical coarsening on a device, with the kernels of CPUs and of GPUs: the points, the pattern
 * and the numbers of the interpolation are those on the device host, to the bit where the device has double.
 */
#include "amg/classical.h"
#include "couplings.h"
#include "host/host.h"

/* ---- matrices and what the host makes of them ------------------------------------------------ */

static double in_space(int64_t i, int64_t j, int64_t n)
{
    const int64_t side = (int64_t)(cbrt((double)n) + 0.5), plane = side * side;
    const bool x = i - j == 1 && i % side, y = i - j == side && i % plane >= side;
    return x || y || i - j == plane ? -1 : 0;
}
static double anisotropic(int64_t i, int64_t j, int64_t n)
{
    return five_points(i, j, n) * (i - j == 1 ? 1 : 0.01);
}
static double two_phases(int64_t i, int64_t j, int64_t n)
{
    const double a = i > n / 3 && i < n / 2 ? 1000 : 1, b = j > n / 3 && j < n / 2 ? 1000 : 1;
    return five_points(i, j, n) * 2 * a * b / (a + b);
}
static double dominant(int64_t i, int64_t j, int64_t n)
{
    return five_points(i, j, n) * (in_place(i % 7, 0, 2) < 0.4 ? 1e-4 : 1);
}
/* Many C points in a row, so that tables of several sizes are needed: counted from the last row, row 0 depends on
 * every fourth row, on each of which those three depend that come next. */
static double star(int64_t row, int64_t col, int64_t n)
{
    const int64_t i = n - 1 - col, j = n - 1 - row; /* i > j */
    if (j == 0) return i % 4 == 1 ? -1 : 0;
    return j % 4 == 1 && i - j < 4 ? -10 : 0;
}
/* The same with several such rows, which depend on each other. */
static double stars(int64_t row, int64_t col, int64_t n)
{
    const int64_t i = n - 1 - col, j = n - 1 - row, several = n / 64 + 1;
    if (i < several) return -1;
    if (j < several) return (i - several) % 4 == 0 && (i + j) % 3 ? -1 : 0;
    return (j - several) % 4 == 0 && i - j < 4 ? -10 : 0;
}

/* In double, but numbers of the type. */
static void round_to(kry_type type, kryi_csr *A)
{
    double *val = A->val;
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++) val[e] = to_type(type, val[e]);
}

typedef struct host {
    kryi_csr A, P;
    kry_device *dev;
    kryi_device_csr A_there, P_there;
    kryi_splitting s;
} host;

static host host_create(kryi_csr A, double theta)
{
    host h = { .A = A };

    OK(kryi_host_open(&h.dev));
    OK(kryi_device_csr_upload(h.dev, &A, &h.A_there));
    OK(kryi_splitting_create(&h.A_there, theta, &h.s));
    OK(kryi_splitting_interpolate(&h.A_there, &h.s, &h.P_there));
    OK(kryi_device_csr_download(&h.P_there, &h.P));
    return h;
}

/* P := what it becomes with the numbers that A has now. */
static void host_renew(host *h)
{
    OK(buffer_write(h->dev, h->A_there.val, 0, (size_t)h->A_there.nnz * sizeof(double), h->A.val));
    OK(kryi_splitting_interpolate_again(&h->A_there, &h->s, &h->P_there));
    kryi_csr_release(&h->P);
    OK(kryi_device_csr_download(&h->P_there, &h->P));
}

static void host_release(host *h)
{
    kryi_splitting_release(&h->s);
    kryi_device_csr_release(&h->P_there);
    kryi_device_csr_release(&h->A_there);
    kry_device_release(&h->dev);
    kryi_csr_release(&h->P);
    kryi_csr_release(&h->A);
}

/* ---- on the device --------------------------------------------------------------------------- */

static void upload_numbers(const kryi_csr *A, kryi_device_csr *C)
{
    const int64_t nnz = kryi_csr_nnz(A);
    void *val = in_type(C->type, A->val, nnz);

    buffer_release(C->dev, &C->val);
    OK(buffer_upload(C->dev, (size_t)nnz * kry_type_size(C->type), val, &C->val));
    free(val);
}

static kryi_device_csr upload(const kryi_csr *A, kry_type type)
{
    const int64_t nnz = kryi_csr_nnz(A);
    kryi_device_csr C = {
        .dev = device(), .rows = A->rows, .cols = A->cols, .nnz = nnz, .type = type
    };
    int32_t *ptr = calloc((size_t)A->rows + 1, sizeof *ptr);

    assert_non_null(ptr);
    for (int64_t i = 0; i <= A->rows; i++) ptr[i] = (int32_t)A->row_ptr[i];
    OK(buffer_upload(C.dev, ((size_t)A->rows + 1) * sizeof *ptr, ptr, &C.row_ptr));
    OK(buffer_upload(C.dev, (size_t)nnz * sizeof *A->col, A->col, &C.col));
    upload_numbers(A, &C);
    free(ptr);
    return C;
}

static void *download(cl_mem buffer, int64_t count, size_t size)
{
    void *to = malloc((size_t)count * size + 1);
    assert_non_null(to);
    memset(to, 0xff, (size_t)count * size + 1);
    OK(buffer_read(device(), buffer, 0, (size_t)count * size, to));
    return to;
}

static void expect_points(const kryi_splitting *s, const host *h)
{
    int32_t *number = download(s->number, h->A.rows, sizeof *number);
    const int32_t *want = kryi_host_memory(h->s.number);

    assert_int_equal(s->coarse, h->s.coarse);
    for (int64_t i = 0; i < h->A.rows; i++)
        if (number[i] != want[i])
            fail_msg("point %lld is %d, not %d", (long long)i, (int)number[i], (int)want[i]);
    free(number);
}

static void expect_matrix(const kryi_device_csr *P, const kryi_csr *want)
{
    int32_t *ptr = download(P->row_ptr, P->rows + 1, sizeof *ptr);
    int32_t *col = download(P->col, P->nnz, sizeof *col);
    void *val = download(P->val, P->nnz, kry_type_size(P->type));

    assert_int_equal(P->rows, want->rows);
    assert_int_equal(P->cols, want->cols);
    for (int64_t i = 0; i <= want->rows; i++)
        if (ptr[i] != want->row_ptr[i])
            fail_msg("row %lld begins at %d, not %lld", (long long)i, ptr[i],
                     (long long)want->row_ptr[i]);
    for (int64_t e = 0; e < P->nnz; e++) {
        const double w = to_type(P->type, ((const double *)want->val)[e]);
        if (col[e] != want->col[e])
            fail_msg("entry %lld is in column %d, not %d", (long long)e, col[e], want->col[e]);
        NEAR(at(P->type, val, e), w, 0, "entry %lld", (long long)e);
    }
    free(val);
    free(col);
    free(ptr);
}

/* Everything as on the host, and so are new numbers. */
static void try_matrix(kryi_csr A, double theta, kry_type type)
{
    round_to(type, &A);
    host h = host_create(A, theta);
    kryi_device_csr C = upload(&h.A, type), P;
    kryi_splitting s;
    double *val = h.A.val;

    OK(kryi_splitting_create(&C, theta, &s));
    expect_points(&s, &h);
    OK(kryi_splitting_interpolate(&C, &s, &P));
    expect_matrix(&P, &h.P);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            val[e] *=
                1 + 0.2 * in_place(i < A.col[e] ? i : A.col[e], i < A.col[e] ? A.col[e] : i, 3);
    round_to(type, &h.A);
    upload_numbers(&h.A, &C);
    host_renew(&h);
    OK(kryi_splitting_interpolate_again(&C, &s, &P));
    expect_matrix(&P, &h.P);
    kryi_device_csr_release(&P);
    kryi_splitting_release(&s);
    kryi_device_csr_release(&C);
    host_release(&h);
}

#define NEEDS_DOUBLE                                                          \
    if (acc_type() == KRY_F32) SKIP("no double, in which the host computes"); \
    if (kryi_host_check_kernels() < 0) SKIP("no kernels of the device host")

static coupling_fn *const more[] = { in_space, anisotropic, two_phases, dominant, star, stars };

static void interpolate__as_on_the_host(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    NEEDS_DOUBLE;
    for (int round = 0; round < 4; round++) {
        places = random_bits();
        const double theta = round == 3 ? -1 : round == 2 ? 0.5 : 0.25;
        for (size_t k = 0; k < COUNT(all); k++)
            try_matrix(symmetric(1 + random_below(150), all[k], round % 2 ? 0.3 : 0), theta,
                       type_of(state));
        for (size_t k = 0; k < COUNT(more); k++)
            try_matrix(symmetric(1 + random_below(300), more[k], round % 2 ? 0.1 : 0), theta,
                       type_of(state));
    }
}

/* A work-group fewer, as many and one more; more rows than there are tables, and rows with more C points than
 * fit into tables of the first, second and third size. */
static void interpolate__borders(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    NEEDS_DOUBLE;
    static const struct {
        int64_t n;
        coupling_fn *f;
    } cases[] = { { 1, chain },    { 2, chain },       { 127, chain }, { 128, chain },
                  { 129, chain },  { 1331, in_space }, { 1100, star }, { 2500, star },
                  { 1500, stars }, { 600, two_hubs },  { 1000, hub },  { 1024, positive } };

    places = random_bits();
    for (size_t k = 0; k < COUNT(cases); k++)
        if (!too_large(cases[k].n))
            try_matrix(symmetric(cases[k].n, cases[k].f, 0.01), 0.25, type_of(state));
}

static void signs__as_summed_by_hand(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    places = random_bits();
    kryi_csr A = symmetric(700, random_sign, 0.1);
    double positive = 0, negative = 0, got_positive, got_negative;
    const double *val = A.val;

    round_to(type_of(state), &A);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++) {
            if (A.col[e] == i) continue;
            positive += fmax(val[e], 0), negative -= fmin(val[e], 0);
        }
    kryi_device_csr C = upload(&A, type_of(state));
    OK(kryi_splitting_signs(&C, &got_positive, &got_negative));
    const long double eps = 100 * eps_of(acc_type());
    NEAR(got_positive, positive, eps * positive, "positive");
    NEAR(got_negative, negative, eps * negative, "negative");
    kryi_device_csr_release(&C);
    kryi_csr_release(&A);
}

static void interpolate__no_rows(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kryi_csr A = { .type = KRY_F64, .row_ptr = (int64_t[]){ 0 } };
    kryi_device_csr C = upload(&A, type_of(state)), P;
    kryi_splitting s;

    OK(kryi_splitting_create(&C, 0.25, &s));
    assert_int_equal(s.coarse, 0);
    OK(kryi_splitting_interpolate(&C, &s, &P));
    assert_int_equal(P.nnz, 0);
    kryi_device_csr_release(&P);
    kryi_splitting_release(&s);
    kryi_device_csr_release(&C);
}

/* Each request for memory fails once: nothing is handed out, and nothing leaks. */
static void interpolate__memory_fails(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    kryi_csr A = symmetric(900, star, 0.1); /* several launches */
    kryi_device_csr C = upload(&A, type_of(state)), P;
    kryi_splitting s;

    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kryi_splitting_create(&C, 0.25, &s));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed && !s.dev));
        kryi_splitting_release(&s);
    }
    OK(kryi_splitting_create(&C, 0.25, &s));
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kryi_splitting_interpolate(&C, &s, &P));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed && !P.dev));
        kryi_device_csr_release(&P);
    }
    OK(kryi_splitting_interpolate(&C, &s, &P));
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kryi_splitting_interpolate_again(&C, &s, &P));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed));
    }
    kryi_device_csr_release(&P);
    kryi_splitting_release(&s);
    kryi_device_csr_release(&C);
    kryi_csr_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(interpolate__as_on_the_host), FOUR(interpolate__borders),
        FOUR(signs__as_summed_by_hand),    FOUR(interpolate__no_rows),
        FOUR(interpolate__memory_fails),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
