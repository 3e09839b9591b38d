/* csr_kernels.h - the kernels of csr.cl for numbers REAL. A template: see double.c. */

typedef struct csr {
    int64_t rows;
    const void *row_ptr, *val;
    const int32_t *col;
    const REAL *surplus; /* NULL: none */
    bool wide, single, flux;
} csr;

/* The parameters CSR: `block` says how groups share the rows; none is split. */
static csr take_csr(kry_host_args *a)
{
    csr A = { .wide = kry_host_define(a, "OFFSET"),
              .single = sizeof(REAL) == 4 || kry_host_define(a, "VAL"),
              .flux = kry_host_define(a, "FLUX") };
    int64_t work = take_int(a);
    const int32_t *block = take_buffer(a);

    A.rows = block[work];
    A.row_ptr = take_buffer(a);
    A.col = take_buffer(a);
    for (int i = 0; i < 3; i++) a->next++; /* long_rows, cut, partial */
    A.val = take_buffer(a);
    A.surplus = take_buffer(a);
    return A;
}

static int64_t row_begin(const csr *A, int64_t i)
{
    return A->wide ? ((const int64_t *)A->row_ptr)[i] : ((const int32_t *)A->row_ptr)[i];
}

static double value_at(const csr *A, int64_t k)
{
    return A->single ? (double)((const float *)A->val)[k] : ((const double *)A->val)[k];
}

/* Row i of A x, summed in double. */
static double row_times(const csr *A, int64_t i, const REAL *x)
{
    double sum = 0, own = A->flux ? (double)x[i] : 0;

    for (int64_t k = row_begin(A, i), end = row_begin(A, i + 1); k < end; k++)
        sum += value_at(A, k) * ((double)x[A->col[k]] - own);
    return A->surplus ? sum + (double)A->surplus[i] * (double)x[i] : sum;
}

static void csr_apply(kry_host_args *a)
{
    csr A = take_csr(a);
    double alpha = take_number(a);
    const REAL *x = take_vec(a);
    double beta = take_number(a);
    REAL *y = take_vec(a);

    for (int64_t i = 0; i < A.rows; i++) {
        double v = alpha * row_times(&A, i, x);
        y[i] = (REAL)(beta == 0 ? v : v + beta * (double)y[i]);
    }
}

static void csr_residual(kry_host_args *a)
{
    csr A = take_csr(a);
    const REAL *b = take_vec(a), *x = take_vec(a);
    REAL *r = take_vec(a);

    for (int64_t i = 0; i < A.rows; i++) r[i] = (REAL)((double)b[i] - row_times(&A, i, x));
}

static void csr_relax(kry_host_args *a)
{
    csr A = take_csr(a);
    const REAL c = (REAL)take_number(a), *d = take_vec(a), *b = take_vec(a), *x = take_vec(a);
    REAL *y = take_vec(a);

    for (int64_t i = 0; i < A.rows; i++)
        y[i] = x[i] + c * d[i] * (REAL)((double)b[i] - row_times(&A, i, x));
}

static void csr_apply_dot(kry_host_args *a)
{
    csr A = take_csr(a);
    const REAL *x = take_vec(a);
    REAL *y = take_vec(a);
    double *part = take_buffer(a), sum = 0;
    part += take_int(a);

    for (int64_t i = 0; i < A.rows; i++) {
        y[i] = (REAL)row_times(&A, i, x);
        sum += (double)x[i] * (double)y[i];
    }
    part[0] = sum;
}

/* Entries of a row may stand in any order, and twice. */
static void csr_diagonal(kry_host_args *a)
{
    csr A = { .wide = kry_host_define(a, "OFFSET"),
              .single = sizeof(REAL) == 4 || kry_host_define(a, "VAL") };
    A.rows = take_int(a);
    A.row_ptr = take_buffer(a);
    A.col = take_buffer(a);
    A.val = take_buffer(a);
    REAL *d = take_vec(a);

    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t k = row_begin(&A, i), end = row_begin(&A, i + 1); k < end; k++)
            if (A.col[k] == i) sum += value_at(&A, k);
        d[i] = (REAL)sum;
    }
}

#define CSR_KERNELS                                                                    \
    K(csr, csr_apply), K(csr, csr_residual), K(csr, csr_relax), K(csr, csr_apply_dot), \
        K(csr, csr_diagonal)
