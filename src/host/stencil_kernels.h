/* stencil_kernels.h - the kernels of stencil.cl and stencil_relax.cl for numbers REAL. A template: see
 * double.c. */

enum { PERIODIC = 2 }; /* of a side; else what the ghost beyond it is, times x_i */

typedef struct grid {
    int axes, side[3][2];
    int64_t size[3], stride[3], n;
    double weight[3];
    const REAL *kappa, *face[3]; /* face[0] NULL: one weight for each axis */
} grid;

/* The arguments nx, ny, nz and wx, wy, wz. */
static grid take_sizes(kry_host_args *a)
{
    static const char *const side[3][2] = { { "XL", "XH" }, { "YL", "YH" }, { "ZL", "ZH" } };
    grid g = { .axes = kry_host_define(a, "AXES"), .n = 1 };

    for (int k = 0; k < 3; k++) {
        g.size[k] = take_int(a);
        g.stride[k] = g.n;
        g.n *= g.size[k];
        for (int high = 0; high < 2; high++) g.side[k][high] = kry_host_define(a, side[k][high]);
    }
    for (int k = 0; k < 3; k++) g.weight[k] = take_number(a);
    return g;
}

/* The parameters GRID; what says how groups share the points is not looked at. */
static grid take_grid(kry_host_args *a)
{
    for (int skipped = 0; skipped < 3; skipped++) take_int(a);
    grid g = take_sizes(a);
    if (!kry_host_define(a, "VARIABLE")) return g;
    g.kappa = take_buffer(a);
    for (int k = 0; k < 3; k++) g.face[k] = take_buffer(a);
    return g;
}

/* A point of the grid. EACH_POINT(g, p) meets all of them in the order of memory. */
typedef struct point {
    int64_t i, at[3];
} point;

static void next_point(const grid *g, point *p)
{
    p->i++;
    for (int k = 0; k < g->axes && ++p->at[k] == g->size[k]; k++) p->at[k] = 0;
}
#define EACH_POINT(g, p) for (point p = { 0 }; p.i < (g)->n; next_point(g, &p))

/* The neighbour of point p along an axis, or -1; and the weight of the face between them. */
static int64_t neighbour(const grid *g, const point *p, int axis, int high, double *weight)
{
    int64_t last = g->size[axis] - 1, step = high ? g->stride[axis] : -g->stride[axis], other = -1;
    int side = g->side[axis][high];

    if (high ? p->at[axis] < last : p->at[axis] > 0)
        other = p->i + step;
    else if (side == PERIODIC)
        other = p->i - step * last;
    *weight = g->weight[axis];
    if (g->face[0] && other < 0 && side == 1)
        *weight = 0;
    else if (g->face[0] && (high || other >= 0))
        *weight = (double)g->face[axis][high ? p->i : other];
    else if (g->face[0])
        *weight *= (double)g->kappa[p->i];
    return other;
}

/* Row p of A x; and of A's diagonal. */
static double row_of_grid(const grid *g, const point *p, const REAL *x)
{
    double sum = 0, weight, own = (double)x[p->i];

    for (int f = 0; f < 2 * g->axes; f++) {
        const int axis = f / 2, high = f % 2;
        int64_t other = neighbour(g, p, axis, high, &weight);
        sum += weight * (own - (other < 0 ? g->side[axis][high] * own : (double)x[other]));
    }
    return sum;
}

static double diagonal_of_grid(const grid *g, const point *p)
{
    double sum = 0, weight;

    for (int f = 0; f < 2 * g->axes; f++) {
        int64_t other = neighbour(g, p, f / 2, f % 2, &weight);
        if (other != p->i) sum += weight * (other < 0 ? 1 - g->side[f / 2][f % 2] : 1);
    }
    return sum;
}

/* ---- products ---- */

static void stencil_apply(kry_host_args *a)
{
    const grid g = take_grid(a);
    double alpha = take_number(a);
    const REAL *x = take_vec(a);
    double beta = take_number(a);
    REAL *y = take_vec(a);

    EACH_POINT(&g, p)
    {
        double v = alpha * row_of_grid(&g, &p, x);
        y[p.i] = (REAL)(beta == 0 ? v : v + beta * (double)y[p.i]);
    }
}

static void stencil_residual(kry_host_args *a)
{
    const grid g = take_grid(a);
    const REAL *b = take_vec(a), *x = take_vec(a);
    REAL *r = take_vec(a);
    const int64_t sums = take_int(a);
    double *part = take_buffer(a), sum = 0;

    EACH_POINT(&g, p)
    {
        const double v = (double)b[p.i] - row_of_grid(&g, &p, x);
        r[p.i] = (REAL)v;
        sum += v * v;
    }
    if (sums) part[0] = sum;
}

static void stencil_diagonal(kry_host_args *a)
{
    const grid g = take_grid(a);
    REAL *d = take_vec(a);

    EACH_POINT(&g, p) d[p.i] = (REAL)diagonal_of_grid(&g, &p);
}

static void stencil_direction(kry_host_args *a)
{
    const grid g = take_grid(a);
    double beta, sum = 0;
    int stop = kry_host_begin_direction(a, &beta);
    const REAL *z = take_buffer(a), *old = take_buffer(a);
    REAL *p = take_buffer(a);
    double *part = take_buffer(a);

    if (stop != GO_ON) return;
    for (int64_t i = 0; i < g.n; i++) p[i] = z[i] + (REAL)beta * old[i];
    EACH_POINT(&g, at) sum += (double)p[at.i] * (double)(REAL)row_of_grid(&g, &at, p);
    part[0] = sum;
}

static void stencil_step(kry_host_args *a)
{
    const grid g = take_grid(a);
    const kry_host_step s = kry_host_begin_step(a);
    const REAL *p = take_buffer(a), *old = take_buffer(a);
    REAL *x = take_vec(a), *r = take_buffer(a);
    double *part = take_buffer(a);
    bool scaled = take_int(a);
    const REAL *d = take_buffer(a);
    REAL *z = take_buffer(a);

    if (s.stop != GO_ON) return;
    for (int64_t i = 0; s.adds && i < g.n; i++) {
        double more = s.by_p * (double)p[i];
        if (s.by_z != 0) more += s.by_z * (scaled ? (double)d[i] : 1) * (double)r[i];
        if (s.by_old != 0) more += s.by_old * (double)old[i];
        x[i] = (REAL)((double)x[i] + more);
    }
    EACH_POINT(&g, at)
    {
        double v = s.alpha * row_of_grid(&g, &at, p) + s.drift;
        r[at.i] = (REAL)((double)r[at.i] - v);
    }
    for (int64_t i = 0; scaled && i < g.n; i++) z[i] = d[i] * r[i];
    part[0] = dot(r, scaled ? z : r, g.n), part[1] = dot(r, r, g.n);
    if (s.drift_out) s.drift_out[0] = dot(r, NULL, g.n);
}

/* ---- making one ---- */

static void stencil_faces(kry_host_args *a)
{
    const grid g = take_sizes(a);
    const REAL *kappa = take_buffer(a);
    REAL *face[3];

    for (int k = 0; k < 3; k++) face[k] = take_buffer(a);
    EACH_POINT(&g, p)
    for (int k = 0; k < g.axes; k++) {
        double unused, own = (double)kappa[p.i];
        int64_t other = neighbour(&g, &p, k, 1, &unused);
        double mean = other < 0 ? own : 2 / (1 / own + 1 / (double)kappa[other]);
        face[k][p.i] = (REAL)(g.weight[k] * mean);
    }
}

static void stencil_side(kry_host_args *a)
{
    int64_t count = take_int(a), first = take_int(a), across = take_int(a), step = take_int(a);
    int64_t stride = take_int(a);
    double weight = take_number(a);
    const REAL *given = take_buffer(a), *kappa = NULL;
    REAL *b = take_vec(a);

    if (kry_host_define(a, "VARIABLE") && take_int(a)) kappa = take_buffer(a);
    for (int64_t j = 0; j < count; j++) {
        int64_t i = first + j % across * step + j / across * stride;
        b[i] += (REAL)(weight * (kappa ? (double)kappa[i] : 1) * (double)given[j]);
    }
}

/* ---- relaxations ---- */

/* stencil_scale is stencil_relax without x. */
static void relax_grid(kry_host_args *a, bool has_x)
{
    const grid g = take_grid(a);
    double c1 = take_number(a), c0 = 0, x_scale = 0, old_scale = 0, products = 0, squares = 0;
    const REAL *b = take_vec(a), *x = NULL, *old = NULL;
    REAL *y = take_vec(a);
    int64_t sums = take_int(a), has_old = 0;
    double *part = take_buffer(a);

    if (has_x) {
        c0 = take_number(a), x_scale = take_number(a), x = take_vec(a);
        has_old = take_int(a), old_scale = take_number(a), old = take_vec(a);
    }
    EACH_POINT(&g, p)
    {
        double b_i = (double)b[p.i], c = x ? x_scale * (double)x[p.i] : 0;
        double r_i = x ? b_i - x_scale * row_of_grid(&g, &p, x) : b_i;
        double y_i = c + c1 / diagonal_of_grid(&g, &p) * r_i, v = sums == 2 ? b_i : r_i;
        if (c0 != 0) y_i += c0 * (has_old ? c - old_scale * (double)old[p.i] : c);
        y[p.i] = (REAL)y_i;
        products += v * y_i, squares += v * v;
    }
    if (sums) part[sums - 1] = squares;
    if (sums == 2) part[0] = products;
}

static void stencil_relax(kry_host_args *a) { relax_grid(a, true); }
static void stencil_scale(kry_host_args *a) { relax_grid(a, false); }

static void stencil_colour(kry_host_args *a)
{
    const grid g = take_grid(a);
    const int64_t colour = take_int(a), rings = take_int(a), ends = take_int(a);
    double omega = take_number(a);
    const REAL *b = take_vec(a);
    REAL *x = take_vec(a);

    EACH_POINT(&g, p)
    {
        int64_t here = 0;
        for (int axis = 0; axis < 3; axis++)
            here += (rings >> axis & 1) && p.at[axis] == g.size[axis] - 1;
        if ((p.at[0] + p.at[1] + p.at[2] + colour) % 2 || here != ends) continue;
        double r = (double)b[p.i] - row_of_grid(&g, &p, x);
        x[p.i] = (REAL)((double)x[p.i] + omega / diagonal_of_grid(&g, &p) * r);
    }
}

#define STENCIL_KERNELS                                                                     \
    K(stencil, stencil_apply), K(stencil, stencil_residual), K(stencil, stencil_diagonal),  \
        K(stencil, stencil_direction), K(stencil, stencil_step), K(stencil, stencil_faces), \
        K(stencil, stencil_side), K(stencil_relax, stencil_relax),                          \
        K(stencil_relax, stencil_scale), K(stencil_relax, stencil_colour)
