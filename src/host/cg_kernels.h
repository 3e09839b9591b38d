/* cg_kernels.h - the kernels of pcg.cl, cr.cl and mixed.cl for numbers REAL. A template: see double.c. */

static void pcg_direction(kry_host_args *a)
{
    double ratio;
    int stop = kry_host_begin_direction(a, &ratio);
    int64_t n = stop == GO_ON ? take_int(a) : 0;
    if (n == 0) return;
    REAL beta = (REAL)ratio;
    const REAL *z = take_buffer(a), *old = take_buffer(a);
    REAL *p = take_buffer(a);

    for (int64_t i = 0; i < n; i++) p[i] = z[i] + beta * old[i];
}

static void pcg_check(kry_host_args *a)
{
    double beta;
    kry_host_begin_direction(a, &beta);
}

static void pcg_step(kry_host_args *a)
{
    int64_t n = take_int(a);
    kry_host_step s = kry_host_begin_step(a);
    REAL alpha = (REAL)s.alpha, drift = (REAL)s.drift;
    const REAL by_p = (REAL)s.by_p, by_z = (REAL)s.by_z, by_old = (REAL)s.by_old;
    const REAL *p = take_buffer(a), *old = take_buffer(a), *q = take_buffer(a);
    REAL *x = take_vec(a), *r = take_buffer(a);
    double *part = take_buffer(a);
    const REAL *d = NULL;
    REAL *z = r;

    if (s.stop != GO_ON) return;
    if (kry_host_define(a, "DIAGONAL")) d = take_buffer(a), z = take_buffer(a);
    for (int64_t i = 0; s.adds && i < n; i++) x[i] += by_p * p[i];
    for (int64_t i = 0; s.adds && by_z != 0 && i < n; i++) x[i] += by_z * (d ? d[i] * r[i] : r[i]);
    for (int64_t i = 0; s.adds && by_old != 0 && i < n; i++) x[i] += by_old * old[i];
    for (int64_t i = 0; i < n; i++) r[i] = r[i] - alpha * q[i] - drift;
    for (int64_t i = 0; d && i < n; i++) z[i] = d[i] * r[i];
    part[0] = dot(r, z, n), part[1] = d ? dot(r, r, n) : part[0];
    if (s.drift_out) s.drift_out[0] = dot(r, NULL, n);
}

static void pcg_flexible(kry_host_args *a)
{
    double sum[2], zq;
    kry_host_take_pair(a, sum);
    zq = kry_host_take_sum(a);
    double *step = take_buffer(a), old = step[STATE_RHO];
    double change = -step[STATE_ALPHA] * zq, noise = old * (sizeof(REAL) == 4 ? 1e-9 : 1e-20);

    if ((int)step[STATE_STOP] != GO_ON) return;
    step[STATE_RHO] = change > 0 && sum[0] > noise ? old * (sum[0] / change) : 0;
}

/* ---- conjugate residuals ---- */

static void cr_direction(kry_host_args *a)
{
    double iteration = (double)take_int(a);
    int64_t slot = take_int(a);
    double target2 = take_number(a), rr = kry_host_take_sum(a), rho = kry_host_take_sum(a);
    const double *step = take_buffer(a);
    double *state = take_buffer(a), *history = take_buffer(a), old = step[STATE_RHO];
    int64_t n = take_int(a);
    const REAL *z = take_buffer(a), *w = take_buffer(a);
    REAL *p = take_buffer(a), *q = take_buffer(a), beta = old != 0 ? (REAL)(rho / old) : 0;
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;

    if (fresh)
        stop = rr <= target2                     ? STOP_CONVERGED
               : !isfinite(rr) || !isfinite(rho) ? STOP_NOT_FINITE
               : rho == 0                        ? STOP_MATRIX
                                                 : GO_ON;
    state[STATE_STOP] = stop;
    state[STATE_ITERATION] = fresh ? iteration : step[STATE_ITERATION];
    state[STATE_VALUE] = fresh ? rho : step[STATE_VALUE];
    state[STATE_RHO] = rho;
    if (fresh) history[slot] = rr;
    for (int64_t i = 0; stop == GO_ON && i < n; i++) {
        p[i] = z[i] + beta * p[i];
        q[i] = w[i] + beta * q[i];
    }
}

static void cr_step(kry_host_args *a)
{
    int64_t n = take_int(a);
    const double *state = take_buffer(a);
    double *step = take_buffer(a), qy = kry_host_take_sum(a), rho = state[STATE_RHO];
    const REAL *p = take_buffer(a), *q = take_buffer(a), *y = NULL;
    REAL *x = take_vec(a), *r = take_buffer(a), *z = NULL;
    double *part = take_buffer(a);
    bool precond = kry_host_define(a, "PRECOND");
    int stop = (int)state[STATE_STOP], fresh = stop == GO_ON;

    if (precond) y = take_buffer(a), z = take_buffer(a);
    if (fresh && !(qy > 0))
        stop = !isfinite(qy) ? STOP_NOT_FINITE : precond ? STOP_PRECOND : STOP_MATRIX;
    REAL alpha = stop == GO_ON ? (REAL)(rho / qy) : 0;
    step[STATE_STOP] = stop;
    step[STATE_ITERATION] = state[STATE_ITERATION];
    step[STATE_VALUE] = fresh && stop != GO_ON ? qy : state[STATE_VALUE];
    step[STATE_RHO] = rho;
    if (stop != GO_ON) return;
    for (int64_t i = 0; i < n; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        if (precond) z[i] -= alpha * y[i];
    }
    part[0] = dot(r, r, n);
}

/* ---- mixed precision: REAL is double ---- */

static void mixed_widen(kry_host_args *a)
{
    int64_t n = take_int(a);
    double beta = take_number(a);
    const REAL *x = take_buffer(a);
    double by = take_number(a);
    const REAL *s = take_buffer(a);
    float *d = take_buffer(a);
    REAL *y = take_buffer(a);
    bool scaled = kry_host_define(a, "SCALED");

    for (int64_t i = 0; i < n; i++) {
        double t = by * ((scaled ? (double)s[i] : 1) * (double)d[i]);
        y[i] = (REAL)(beta == 0 ? t : beta * (double)x[i] + t);
        d[i] = 0;
    }
}

static void mixed_narrow(kry_host_args *a)
{
    int64_t n = take_int(a);
    double by = take_number(a);
    const REAL *s = take_buffer(a), *r = take_buffer(a);
    float *d = take_buffer(a);
    bool scaled = kry_host_define(a, "SCALED");

    for (int64_t i = 0; i < n; i++)
        d[i] = (float)(by * ((scaled ? (double)s[i] : 1) * (double)r[i]));
}

static void mixed_norm(kry_host_args *a)
{
    int64_t n = take_int(a);
    const REAL *s = take_buffer(a), *r = take_buffer(a);
    double *part = take_buffer(a), sum = 0;
    bool scaled = kry_host_define(a, "SCALED");

    for (int64_t i = 0; i < n; i++) {
        double v = (scaled ? (double)s[i] : 1) * (double)r[i];
        sum += v * v;
    }
    part[0] = sum;
}

/* ---- Lanczos's method ---- */

static void spectrum_direction(kry_host_args *a)
{
    int64_t n = take_int(a), step = take_int(a);
    double rho = kry_host_take_sum(a), last = kry_host_take_sum(a);
    double *out = take_buffer(a);
    const REAL *z = take_buffer(a);
    REAL *p = take_buffer(a), beta = (REAL)(step > 0 && last > 0 ? rho / last : 0);

    for (int64_t i = 0; i < n; i++) p[i] = step > 0 ? z[i] + beta * p[i] : z[i];
    out[2 * step] = rho;
}

static void spectrum_residual(kry_host_args *a)
{
    int64_t n = take_int(a), step = take_int(a);
    double rho = kry_host_take_sum(a), pq = kry_host_take_sum(a);
    double *out = take_buffer(a);
    const REAL *q = take_buffer(a);
    REAL *r = take_buffer(a), alpha = (REAL)(pq > 0 ? rho / pq : 0);

    for (int64_t i = 0; i < n; i++) r[i] = r[i] - alpha * q[i];
    out[2 * step + 1] = pq;
}

#define CG_KERNELS                                                                          \
    K(pcg, pcg_direction), K(pcg, pcg_check), K(pcg, pcg_step), K(pcg, pcg_flexible),       \
        K(cr, cr_direction), K(cr, cr_step), K(mixed, mixed_widen), K(mixed, mixed_narrow), \
        K(mixed, mixed_norm), K(spectrum, spectrum_direction), K(spectrum, spectrum_residual)
