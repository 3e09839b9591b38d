/* vec_kernels.h - the kernels of vec.cl, null_space.cl, pin.cl, relax.cl and matrix.cl for numbers REAL.
 * A template: see double.c. */

static REAL *take_vec(kry_host_args *a) /* the arguments x, x0 */
{
    REAL *x = take_buffer(a);
    return x + take_int(a);
}

static void vec_fill(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL value = (REAL)take_number(a), *y = take_vec(a);

    for (int64_t i = 0; i < n; i++) y[i] = value;
}

static void vec_copy(kry_host_args *a)
{
    int64_t n = take_int(a);
    const REAL *x = take_vec(a);
    REAL *y = take_vec(a);

    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

static void vec_axpby(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL by_x = (REAL)take_number(a), *x = take_vec(a);
    REAL by_y = (REAL)take_number(a), *y = take_vec(a);

    for (int64_t i = 0; i < n; i++) y[i] = by_y == 0 ? by_x * x[i] : by_x * x[i] + by_y * y[i];
}

static void vec_mul(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL by_x = (REAL)take_number(a), *d = take_vec(a), *x = take_vec(a);
    REAL by_y = (REAL)take_number(a), *y = take_vec(a);

    for (int64_t i = 0; i < n; i++) {
        REAL v = by_x * (d[i] * x[i]);
        y[i] = by_y == 0 ? v : v + by_y * y[i];
    }
}

static void vec_triad(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL by_x = (REAL)take_number(a), *x = take_vec(a), *y = take_vec(a), *z = take_vec(a);

    for (int64_t i = 0; i < n; i++) z[i] = y[i] + by_x * x[i];
}

static void vec_invert(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL *x = take_vec(a);

    for (int64_t i = 0; i < n; i++) x[i] = 1 / x[i];
}

/* ---- sums, in double ---- */

/* x.y, y NULL: the sum of x. Halves are summed apart, so that little is rounded away. */
static double dot(const REAL *x, const REAL *y, int64_t n)
{
    double lane[4] = { 0 };
    int64_t half = n / 2;

    if (n > 256) return dot(x, y, half) + dot(x + half, y ? y + half : NULL, n - half);
    for (int64_t i = 0; i < n; i++) lane[i % 4] += (double)x[i] * (y ? (double)y[i] : 1);
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static void vec_dot(kry_host_args *a)
{
    int64_t n = take_int(a);
    const REAL *x = take_vec(a), *y = take_vec(a);
    double *part = take_buffer(a);

    part[0] = dot(x, y, n);
}

static void vec_dot_pair(kry_host_args *a)
{
    int64_t n = take_int(a);
    const REAL *x = take_vec(a), *y = take_vec(a);
    double *part = take_buffer(a);

    part[0] = dot(x, y, n), part[1] = dot(x, x, n);
}

static void dots_block(kry_host_args *a)
{
    int64_t n = take_int(a), k = take_int(a);
    const REAL *V = take_vec(a);
    int64_t pitch = take_int(a);
    const REAL *W = take_vec(a);
    int64_t W_pitch = take_int(a), width = kry_host_define(a, "PAIR") ? 2 : 1;
    double *part = take_buffer(a);

    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < width; i++)
            part[j * width + i] = dot(V + j * pitch, W + i * W_pitch, n);
}

/* ---- null spaces, pins, the diagonal, relaxations ---- */

static void null_space_dot(kry_host_args *a)
{
    int64_t n = take_int(a);
    const REAL *v = take_vec(a), *u = take_vec(a);
    double *part = take_buffer(a);

    part[0] = dot(v, kry_host_define(a, "VECTOR") ? u : NULL, n);
}

static void null_space_subtract(kry_host_args *a)
{
    int64_t n = take_int(a), all = take_int(a);
    double sum = kry_host_take_sum(a);
    const REAL *u = take_vec(a);
    REAL *v = take_vec(a);
    bool vector = kry_host_define(a, "VECTOR");

    if (!vector) sum /= (double)all;
    for (int64_t i = 0; i < n; i++)
        v[i] = (REAL)((double)v[i] - (vector ? sum * (double)u[i] : sum));
}

static void pin_add(kry_host_args *a)
{
    double c = take_number(a);
    const REAL *x = take_vec(a);
    REAL *y = take_vec(a);

    *y = (REAL)((double)*y + c * (double)*x);
}

static void matrix_diagonal(kry_host_args *a)
{
    int64_t rows = take_int(a);
    const int32_t *slot = take_buffer(a);
    const void *val = take_buffer(a);
    REAL *d = take_vec(a);
    bool single = kry_host_define(a, "VAL");

    for (int64_t i = 0; i < rows; i++)
        d[i] = slot[i] < 0 ? 0
               : single    ? (REAL)((const float *)val)[slot[i]]
                           : ((const REAL *)val)[slot[i]];
}

static void relax_sweep(kry_host_args *a)
{
    int64_t n = take_int(a);
    REAL by_step = (REAL)take_number(a), by_residual = (REAL)take_number(a), *b = take_vec(a);
    const int64_t b_pitch = take_int(a);
    bool has_x = take_int(a);
    const REAL *x = take_vec(a);
    const int64_t x_pitch = take_int(a);
    bool has_old = take_int(a);
    const REAL *old = take_vec(a);
    const int64_t old_pitch = take_int(a);
    const REAL *d = take_buffer(a), *r = take_vec(a);
    const int64_t r_pitch = take_int(a);
    REAL *y = take_vec(a);
    const int64_t y_pitch = take_int(a), sums = take_int(a);
    double *part = take_buffer(a), squares = 0, products = 0;

    for (int64_t c = 0; c < a->columns; c++) {
        for (int64_t i = 0; i < n; i++) {
            REAL r_i = r[i], x_i = has_x ? x[i] : 0, step = has_old ? x_i - old[i] : x_i;
            REAL v = sums == 2 ? b[i] : r_i;
            y[i] = x_i + (by_step != 0 ? by_step * step : 0) + by_residual * d[i] * r_i;
            products += (double)v * (double)y[i], squares += (double)v * (double)v;
        }
        b += b_pitch, x += x_pitch, old += old_pitch, r += r_pitch, y += y_pitch;
    }
    if (sums) part[sums - 1] = squares;
    if (sums == 2) part[0] = products;
}

#define VEC_KERNELS                                                                            \
    K(vec, vec_fill), K(vec, vec_copy), K(vec, vec_axpby), K(vec, vec_mul), K(vec, vec_triad), \
        K(vec, vec_invert), K(vec, vec_dot), K(vec, vec_dot_pair), K(dots, dots_block),        \
        K(null_space, null_space_dot), K(null_space, null_space_subtract), K(pin, pin_add),    \
        K(matrix, matrix_diagonal), K(relax, relax_sweep)
