/* test_ssor_ai.c - the SSOR-type approximate inverse against its series in plain C. */
#include "as_matrix.h"
#include "op_suite.h"

typedef struct series {
    int degree;
    double omega;
} series;

/* v := (I - omega T D^-1 + ...) x with the lower triangle of A, or v := (I - omega D^-1 T ...) x
 * with the upper one. */
static void plain_series(const matrix *A, const series *s, bool upper, const double *x, double *v)
{
    int64_t n = A->rows;
    double *last = calloc((size_t)n + 1, sizeof *last);

    assert_non_null(last);
    memcpy(v, x, (size_t)n * sizeof *v);
    for (int k = 0; k < s->degree; k++) {
        memcpy(last, v, (size_t)n * sizeof *v);
        for (int64_t i = 0; i < n; i++) {
            v[i] = x[i];
            for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
                int64_t j = A->col[e];
                if ((upper ? j > i : j < i) && last[j] != 0)
                    v[i] -= s->omega * A->val[e] * last[j] / plain_diagonal(A, upper ? i : j);
            }
        }
    }
    free(last);
}

static void plain_ssor_ai(const matrix *A, const double *x, double *y, const void *user)
{
    const series *s = user;
    double *w = calloc((size_t)A->rows + 1, sizeof *w);

    assert_non_null(w);
    plain_series(A, s, false, x, w);
    for (int64_t i = 0; i < A->rows; i++)
        if (w[i] != 0) w[i] *= s->omega * (2 - s->omega) / plain_diagonal(A, i);
    plain_series(A, s, true, w, y);
    free(w);
}

static void check_operator(const kry_op *op, const matrix *A, const series *s, const char *why)
{
    matrix M = as_matrix(A, plain_ssor_ai, s);
    kry_op *ssor = NULL;
    kry_op_info info;

    kry_op_describe(op, &info);
    const bool relaxes = !strcmp(info.kind, "stencil"); /* in one pass */
    print_message("# %s, degree %d, omega %g\n", why, s->degree, s->omega);
    OK(kry_ssor_ai_create(op, KRY_SSOR_AI(.degree = s->degree, .omega = s->omega), &ssor));
    kry_op_describe(ssor, &info);
    assert_string_equal(info.kind, relaxes && s->degree == 1 && s->omega == 1 ? "ip" : "ssor-ai");
    assert_true(A->rows < 2 || info.bytes_per_apply > 0);
    assert_true(kry_op_get_shape(ssor)->traits & KRY_POSITIVE);
    op_suite(ssor, &M);
    if (A->rows) check_dots(ssor, why);
    kry_op_release(&ssor);
    matrix_release(&M);
}

static void ssor_ai__equals_the_series(void **state)
{
    static const struct {
        int grid;
        series of[2];
    } on[] = { { 0, { { 2, 1 }, { 1, 1 } } },    { 3, { { 1, 1 }, { 2, 1.25 } } },
               { 4, { { 3, 1 }, { 1, 0.75 } } }, { 11, { { 2, 1 }, { 5, 1 } } },
               { 12, { { 4, 1.5 }, { 1, 1 } } }, { 14, { { 2, 0.5 }, { 3, 1 } } } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < 2 * COUNT(on); i++) {
        const grid *g = &grids[on[i / 2].grid];
        if (too_large(grid_points(g))) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k), *csr = csr_of(&A, type, NULL);
        check_operator(i % 2 ? op : csr, &A, &on[i / 2].of[i % 2], g->name);
        kry_op_release(&op);
        kry_op_release(&csr);
        matrix_release(&A);
        free(k);
    }
}

static void ssor_ai__stored_matrices(void **state)
{
    static const int64_t sizes[] = { 0, 1, 7, 130, 515 };
    static const series of[] = { { 1, 1 }, { 2, 1 }, { 3, 1.25 } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (too_large(sizes[i])) continue;
        matrix A = random_spd(type, sizes[i]);
        kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
        for (size_t s = 0; s < COUNT(of); s++) check_operator(csr, &A, &of[s], "stored");
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

/* More terms, fewer iterations: as many as in plain C. */
static void ssor_ai__saves_iterations(void **state)
{
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[6], NULL);
    kry_op *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);
    int last = device_pcg(csr, b, "precond=none rtol=1e-4", &(kry_result){ 0 });

    for (int degree = 1; degree <= 3; degree++) {
        const series s = { degree, 1 };
        char options[48];
        kry_result result;
        snprintf(options, sizeof options, "precond=ssor-ai:%d rtol=1e-4", degree);
        int ours = device_pcg(csr, b, options, &result);
        int plain = plain_pcg(&A, b, plain_ssor_ai, &s, 1e-4);
        print_message("# degree %d: %d iterations, %d in plain C, %d before\n", degree, ours, plain,
                      last);
        assert_in_range(ours, plain - 1, plain + 1);
        assert_true(ours < last);
        last = ours;
    }
    free(b);
    kry_op_release(&csr);
    matrix_release(&A);
}

static void ssor_ai_update__follows_new_values(void **state)
{
    const series s = { 2, 1 };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 200);
    kry_op *op = csr_of(&A, type, NULL), *ssor = NULL;

    OK(kry_ssor_ai_create(op, KRY_SSOR_AI(.degree = 2), &ssor));
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 0.25;
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    OK(kry_op_update(ssor, NULL));
    matrix M = as_matrix(&A, plain_ssor_ai, &s);
    op_suite(ssor, &M);
    REFUSES(kry_op_update(ssor, val), KRY_ERR_ARGUMENT, "'ssor-ai'");
    free(val);
    kry_op_release(&ssor);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
}

/* Where Jacobi may do better, the description says so. */
static void ssor_ai__warns_of_positive_entries(void **state)
{
    kry_type type = type_of(state);
    enum { ROWS = 6 };

    for (int positive = 0; positive < 2; positive++) {
        int64_t row_ptr[ROWS + 1] = { 0 };
        int32_t col[ROWS * ROWS];
        double val[ROWS * ROWS];
        kry_op *A, *M;
        kry_op_info info;
        for (int k = 0; k < ROWS * ROWS; k++) {
            col[k] = k % ROWS, row_ptr[k / ROWS + 1] = k + 1;
            val[k] = k % ROWS == k / ROWS ? 1 : positive ? 0.5 : -0.1;
        }
        void *numbers = in_type(type, val, COUNT(val));
        OK(kry_csr_create(device(), type, ROWS, ROWS, row_ptr, col, numbers, NULL, &A));
        OK(kry_ssor_ai_create(A, NULL, &M));
        kry_op_describe(M, &info);
        assert_int_equal(strstr(info.variant, "jacobi may be better") != NULL, positive);
        free(numbers);
        kry_op_release(&M);
        kry_op_release(&A);
    }
}

static void ssor_ai_create__refusals(void **state)
{
    const kry_ssor_ai_params bad[] = {
        { .struct_size = sizeof bad[0], .degree = -1 },
        { .struct_size = sizeof bad[0], .degree = 1001 },
        { .struct_size = sizeof bad[0], .omega = 2 },
        { .struct_size = sizeof bad[0], .omega = -0.5 },
        { .struct_size = sizeof bad[0], .omega = (double)NAN },
        { .struct_size = 3 },
    };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 20);
    kry_op *op = csr_of(&A, type, NULL), *M = op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_ssor_ai_create(op, &bad[i], &M), KRY_ERR_ARGUMENT, "kry_ssor_ai_create");
        assert_null(M);
    }
    REFUSES(kry_ssor_ai_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    kry_op_release(&op);
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] = -A.val[e];
    op = csr_of(&A, type, NULL);
    REFUSES(kry_ssor_ai_create(op, NULL, &M), KRY_ERR_ARGUMENT, "kry_ssor_ai_create: the diagonal");
    assert_int_equal(op_references(op), 1);
    kry_op_release(&op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(ssor_ai__equals_the_series), BOTH(ssor_ai__stored_matrices),
        BOTH(ssor_ai__saves_iterations),  BOTH(ssor_ai_update__follows_new_values),
        BOTH(ssor_ai_create__refusals),   BOTH(ssor_ai__warns_of_positive_entries),
    };
    return cmocka_run_group_tests_name("ssor_ai", tests, NULL, close_device);
}
