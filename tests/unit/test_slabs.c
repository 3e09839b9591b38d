/*
 * test_slabs.c - grids cut into slabs of layers: by hand on one device, where what neighbours would
 * send is filled in, against the whole grid.
 */
#include "dist/grid_pairs.h"
#include "grid/stencil.h"
#include "step.h"

/* What grids.h has not: the last axis closed on itself, cells and faces. */
#define D KRY_DIRICHLET
#define N KRY_NEUMANN
#define P KRY_PERIODIC
static const grid rings[] = {
    { .name = "a ring 17 x 12",
      .size = { 17, 12 },
      .low = { D, P },
      .high = { N, P },
      .variable = true,
      .spacing = { 0.5, 2 } },
    { .name = "faces of a ring 17 x 12",
      .size = { 17, 12 },
      .low = { D, P },
      .high = { N, P },
      .variable = true,
      .faces = FACES_AND_CELLS },
    { .name = "a ring 8 x 2",
      .size = { 8, 2 },
      .low = { D, P },
      .high = { N, P },
      .variable = true },
};
#undef D
#undef N
#undef P

enum { MOST_SLABS = 5 };

/* A grid, and the same in slabs. */
typedef struct sliced {
    const grid *g;
    kry_type type;
    double *k; /* coefficients */
    kry_op *whole, *part[MOST_SLABS];
    cl_mem halo[MOST_SLABS];
    int64_t n, layer, layers, first[MOST_SLABS + 1];
    int slabs;
} sliced;

static int64_t layers_of(const grid *g) { return g->size[2] ? g->size[2] : g->size[1]; }

static kryi_slab slab_of(const sliced *s, int r)
{
    bool wraps = s->g->low[s->g->size[2] ? 2 : 1] == KRY_PERIODIC && s->slabs > 1;
    kryi_slab slab = { .first = s->first[r],
                       .count = s->first[r + 1] - s->first[r],
                       .low = r > 0 || wraps,
                       .high = r < s->slabs - 1 || wraps,
                       .numbers = s->halo[r] };
    slab.at_low = r % 2 ? (cl_int)s->layer : 0; /* either may be the first one */
    slab.at_high = r % 2 ? 0 : (cl_int)s->layer;
    return slab;
}

/* What halos do for the faces between slabs: those above the last layer of the slab below. */
static void share_faces(const sliced *s)
{
    size_t bytes = (size_t)s->layer * kry_type_size(s->type);
    for (int r = 0; r < s->slabs; r++) {
        const kryi_stencil *A = kryi_stencil_of(s->part[r]);
        const kryi_stencil *below = kryi_stencil_of(s->part[(r + s->slabs - 1) % s->slabs]);
        if (!A->slab.face_below) continue;
        OK(kryi_buffer_copy(device(), below->face[A->axes - 1],
                            (size_t)(below->slab.count - 1) * bytes, A->slab.face_below, 0, bytes));
    }
}

/* Cut between layers `first`. */
static sliced slice(const grid *g, kry_type type, int slabs, const int64_t *first)
{
    sliced s = { .g = g, .type = type, .layers = layers_of(g), .slabs = slabs };

    s.n = grid_points(g), s.layer = s.n / s.layers;
    s.k = grid_coefficients(g, type);
    memcpy(s.first, first, ((size_t)slabs + 1) * sizeof *first);
    kry_stencil_params p = grid_params(g, s.k);
    OK(kry_stencil_create(device(), type, &p, &s.whole));
    for (int r = 0; r < slabs; r++) {
        OK(kryi_buffer_create(device(), 2 * (size_t)s.layer * kry_type_size(type), &s.halo[r]));
        const kryi_grid_part part = { .slab = slab_of(&s, r) };
        OK(kryi_stencil_make(device(), type, &p, &part, NULL, 1, &s.part[r]));
    }
    share_faces(&s);
    return s;
}

static void sliced_release(sliced *s)
{
    for (int r = 0; r < s->slabs; r++) {
        kry_op_release(&s->part[r]);
        buffer_release(device(), &s->halo[r]);
    }
    kry_op_release(&s->whole);
    free(s->k);
}

static const double *rows_of(const sliced *s, int r, const double *v)
{
    return v + s->first[r] * s->layer;
}
static int64_t size_of(const sliced *s, int r)
{
    return (s->first[r + 1] - s->first[r]) * s->layer;
}

static void fill_layer(const sliced *s, int r, bool wanted, int64_t at, int64_t layer,
                       const double *v)
{
    size_t size = kry_type_size(s->type), bytes = (size_t)s->layer * size;
    int64_t from = (layer + s->layers) % s->layers * s->layer;
    double *nothing = calloc((size_t)s->layer, sizeof *nothing);
    assert_non_null(nothing);
    for (int64_t i = 0; i < s->layer; i++) nothing[i] = (double)NAN;
    void *host = in_type(s->type, wanted ? v + from : nothing, s->layer);
    OK(buffer_write(device(), s->halo[r], (size_t)at * size, bytes, host));
    free(host), free(nothing);
}

/* What the neighbours of slab r would send of v. */
static void exchange(const sliced *s, int r, const double *v)
{
    kryi_slab slab = slab_of(s, r);
    fill_layer(s, r, slab.low, slab.at_low, s->first[r] - 1, v);
    fill_layer(s, r, slab.high, slab.at_high, s->first[r + 1], v);
}

static double largest(const double *v, int64_t n)
{
    double size = 0;
    for (int64_t i = 0; i < n; i++) size = fmax(size, fabs(v[i]));
    return size;
}

/* A result of slab r; `got` is freed. */
static void same(const sliced *s, int r, double *got, const double *want, const char *what)
{
    const double *rows = rows_of(s, r, want);
    double bound = 40 * (double)eps_of(s->type) * largest(want, s->n);
    for (int64_t i = 0; i < size_of(s, r); i++)
        if (to_the_bit() ? memcmp(&got[i], &rows[i], sizeof *got) != 0
                         : !(fabs(got[i] - rows[i]) <= bound))
            fail_msg("%s, slab %d of %d, %s[%lld]: %.17g instead of %.17g", s->g->name, r, s->slabs,
                     what, (long long)i, got[i], rows[i]);
    free(got);
}

static guarded rows_vector(const sliced *s, int r, int64_t offset, const double *v)
{
    return guarded_create(s->type, size_of(s, r), 1, offset, v ? rows_of(s, r, v) : NULL);
}

/* ---- products
 * ------------------------------------------------------------------------------------ */

static void check_products(const sliced *s, int64_t offset)
{
    double *x = random_array(s->type, s->n), *b = random_array(s->type, s->n);
    guarded X = guarded_create(s->type, s->n, 1, offset, x),
            Y = guarded_create(s->type, s->n, 1, offset, b),
            R = guarded_create(s->type, s->n, 1, 1, NULL),
            DIAG = guarded_create(s->type, s->n, 1, 0, NULL);

    OK(kry_op_residual(s->whole, Y.v, X.v, R.v));
    OK(kry_op_apply(s->whole, 2, X.v, -3, Y.v));
    OK(kry_op_diagonal(s->whole, DIAG.v));
    double *y = guarded_read(&Y), *residual = guarded_read(&R), *d = guarded_read(&DIAG);
    for (int r = 0; r < s->slabs; r++) {
        guarded xr = rows_vector(s, r, offset, x), yr = rows_vector(s, r, offset, b),
                rr = rows_vector(s, r, 1, NULL), dr = rows_vector(s, r, 0, NULL);
        exchange(s, r, x);
        OK(kry_op_residual(s->part[r], yr.v, xr.v, rr.v));
        same(s, r, guarded_read(&rr), residual, "residual");
        OK(kry_op_apply(s->part[r], 2, xr.v, -3, yr.v));
        same(s, r, guarded_read(&yr), y, "y");
        OK(kry_op_diagonal(s->part[r], dr.v));
        same(s, r, guarded_read(&dr), d, "d");
        guarded_release(&xr), guarded_release(&yr), guarded_release(&rr), guarded_release(&dr);
    }
    guarded_release(&X), guarded_release(&Y), guarded_release(&R), guarded_release(&DIAG);
    free(x), free(b), free(y), free(residual), free(d);
}

/* ---- a step of conjugate gradients
 * --------------------------------------------------------------- */

/* The vectors of a step, of the whole grid or of a slab. */
typedef struct stepped {
    int64_t n;
    kry_vec *z, *old, *p, *x, *r;
    kry_sum *pq, *rho;
} stepped;

static stepped stepped_create(kry_type type, int64_t n, const double *z, const double *old,
                              const double *x, const double *r)
{
    stepped v = { .n = n };
    v.z = whole_vector(type, n, z), v.old = whole_vector(type, n, old);
    v.x = whole_vector(type, n, x), v.r = whole_vector(type, n, r);
    v.p = whole_vector(type, n, NULL);
    OK(kry_sum_create(device(), 1, &v.pq));
    OK(kry_sum_create(device(), 2, &v.rho));
    return v;
}

static void stepped_release(stepped *v)
{
    kry_vec_release(&v->z), kry_vec_release(&v->old), kry_vec_release(&v->p);
    kry_vec_release(&v->x), kry_vec_release(&v->r);
    kry_sum_release(&v->pq), kry_sum_release(&v->rho);
}

static void run_direction(const kry_op *op, const step *s, stepped *v)
{
    kryi_cg cg = s->cg;
    cg.z = v->z, cg.old = v->old, cg.p = v->p, cg.pq = v->pq;
    OK(op->fused->apply_direction(op->self, &cg));
    assert_in_range(v->pq->count, 1, KRY_SUM_CAPACITY);
}

/* pq: p'A p of all, for all must take the same alpha. */
static void run_update(const kry_op *op, const step *s, stepped *v, kry_sum *pq)
{
    double nothing[STATE_SIZE] = { 0 };
    cl_mem after = acc_buffer(nothing, STATE_SIZE);
    const kryi_cg cg = { .x = v->x,
                         .r = v->r,
                         .z = v->z,
                         .p = v->p,
                         .old = v->old,
                         .rho = v->rho,
                         .pq = pq,
                         .state = s->out,
                         .step = after };
    OK(op->fused->apply_step(op->self, &cg));
    OK(kry_device_finish(device()));
    buffer_release(device(), &after);
}

static void check_steps(const sliced *s)
{
    const matrix size = { .rows = s->n };
    step at = step_create(s->whole, &size, 0.8125, 1.75, 1.3, 1e-3);
    double *x0 = random_array(s->type, s->n), *r0 = random_array(s->type, s->n);
    stepped all = stepped_create(s->type, s->n, at.z, at.old, x0, r0);
    double pq, rho[2], sum = 0, sums[2] = { 0, 0 }, scale = 0;

    run_direction(s->whole, &at, &all);
    double *p = numbers_of(all.p);
    OK(read_sum(device(), all.pq, &pq));
    run_update(s->whole, &at, &all, all.pq);
    double *x = numbers_of(all.x), *r = numbers_of(all.r);
    OK(read_sum(device(), all.rho, rho));
    for (int i = 0; i < s->slabs; i++) {
        stepped v = stepped_create(s->type, size_of(s, i), rows_of(s, i, at.z),
                                   rows_of(s, i, at.old), rows_of(s, i, x0), rows_of(s, i, r0));
        double mine, pair[2];
        exchange(s, i, p);
        run_direction(s->part[i], &at, &v);
        same(s, i, numbers_of(v.p), p, "p");
        run_update(s->part[i], &at, &v, all.pq);
        same(s, i, numbers_of(v.x), x, "x");
        same(s, i, numbers_of(v.r), r, "r");
        OK(read_sum(device(), v.pq, &mine));
        OK(read_sum(device(), v.rho, pair));
        sum += mine, scale += fabs(mine), sums[0] += pair[0], sums[1] += pair[1];
        stepped_release(&v);
    }
    double eps = (double)(s->n + 8) * (double)eps_of(acc_type());
    NEAR(sum, pq, eps * scale, "%s: p.q", s->g->name);
    NEAR(sums[1], rho[1], eps * rho[1], "%s: r.r", s->g->name);
    stepped_release(&all);
    step_release(&at);
    free(x0), free(r0), free(p), free(x), free(r);
}

/* ---- relaxation
 * ---------------------------------------------------------------------------------- */

/* y := x + c0 (x - old) + c1 D^-1 (b - A x), and without x; b.b or the squared residual. */
static double relax_on(const kry_op *op, kry_type type, int64_t n, double scale, const double *b,
                       const double *x, const double *old, double *y)
{
    guarded B = guarded_create(type, n, 1, 0, b), X = guarded_create(type, n, 1, 0, x),
            OLD = guarded_create(type, n, 1, 0, old), Y = guarded_create(type, n, 1, 0, NULL);
    kryi_relax s = { .c0 = 0.25, .c1 = 0.75, .b = B.v, .x_scale = scale };
    kry_sum *sum;
    double value;

    if (x) s.x = X.v, s.old = OLD.v;
    OK(kry_sum_create(device(), 1, &sum));
    OK(op->fused->relax(op->self, &s, Y.v, sum));
    OK(read_sum(device(), sum, &value));
    double *got = guarded_read(&Y);
    memcpy(y, got, (size_t)n * sizeof *y);
    free(got);
    kry_sum_release(&sum);
    guarded_release(&B), guarded_release(&X), guarded_release(&OLD), guarded_release(&Y);
    return value;
}

static void check_relaxation(const sliced *s, double scale, bool with_x)
{
    double *b = random_array(s->type, s->n), *x = random_array(s->type, s->n),
           *old = random_array(s->type, s->n), *want = calloc((size_t)s->n, 8), sum = 0;
    assert_non_null(want);
    double all = relax_on(s->whole, s->type, s->n, scale, b, with_x ? x : NULL, old, want);

    for (int r = 0; r < s->slabs; r++) {
        int64_t n = size_of(s, r);
        double *y = calloc((size_t)n, sizeof *y), size = 0;
        assert_non_null(y);
        exchange(s, r, x);
        sum += relax_on(s->part[r], s->type, n, scale, rows_of(s, r, b),
                        with_x ? rows_of(s, r, x) : NULL, rows_of(s, r, old), y);
        for (int64_t i = 0; i < s->n; i++) size = fmax(size, fabs(want[i]));
        for (int64_t i = 0; i < n; i++)
            NEAR(y[i], rows_of(s, r, want)[i], 40 * eps_of(s->type) * size, "%s: relaxed %lld",
                 s->g->name, (long long)i);
        free(y);
    }
    NEAR(sum, all, (long double)s->n * 8 * eps_of(s->type) * all, "%s: its sum", s->g->name);
    free(b), free(x), free(old), free(want);
}

/* Both colours, one after the other: a colour does not see what becomes of it. */
static void check_colours(const sliced *s)
{
    double *b = random_array(s->type, s->n), *x = random_array(s->type, s->n);
    guarded B = guarded_create(s->type, s->n, 1, 0, b), X = guarded_create(s->type, s->n, 1, 0, x);
    kry_status possible = s->whole->fused->sweep_colour(s->whole->self, 0, 0, NULL, NULL);

    for (int r = 0; r < s->slabs; r++)
        assert_int_equal(s->part[r]->fused->sweep_colour(s->part[r]->self, 0, 0, NULL, NULL),
                         possible);
    for (int colour = 0; colour < 2 && possible == KRY_OK; colour++) {
        double *before = guarded_read(&X);
        OK(s->whole->fused->sweep_colour(s->whole->self, colour, 1.25, B.v, X.v));
        double *after = guarded_read(&X);
        for (int r = 0; r < s->slabs; r++) {
            guarded br = rows_vector(s, r, 0, b), xr = rows_vector(s, r, 0, before);
            exchange(s, r, before);
            OK(s->part[r]->fused->sweep_colour(s->part[r]->self, colour, 1.25, br.v, xr.v));
            same(s, r, guarded_read(&xr), after, "swept");
            guarded_release(&br), guarded_release(&xr);
        }
        free(before), free(after);
    }
    guarded_release(&B), guarded_release(&X);
    free(b), free(x);
}

/* ---- new numbers, sides, stored matrices
 * ------------------------------------------------------------ */

static void check_update(const sliced *s)
{
    if (!s->k) return;
    double *k = grid_coefficients(s->g, s->type);
    if (s->g->faces) memcpy(k, s->k, (size_t)s->n * sizeof *k); /* cells stay */
    OK(kry_op_update(s->whole, grid_numbers(s->g, k)));
    for (int r = 0; r < s->slabs; r++) OK(kry_op_update(s->part[r], grid_numbers(s->g, k)));
    share_faces(s);
    check_products(s, 0);
    double *numbers = grid_numbers(s->g, k), *last = numbers + s->n - 1;
    while (isnan(*last)) last--;
    char name[32];
    snprintf(name, sizeof name, " %lld ", (long long)(last - numbers));
    *last = -1;
    REFUSES(kry_op_update(s->part[s->slabs - 1], numbers), KRY_ERR_ARGUMENT, name);
    free(k);
}

static void check_sides(const sliced *s)
{
    kry_side_values low[3], high[3];
    double *given[6], *b = random_array(s->type, s->n);
    guarded B = guarded_create(s->type, s->n, 1, 3, b);

    for (int f = 0; f < 6; f++) {
        given[f] = random_array(s->type, s->n);
        *(f % 2 ? &high[f / 2] : &low[f / 2]) = (kry_side_values){ .array = given[f] };
    }
    OK(kry_stencil_boundary(s->whole, low, high, B.v));
    double *want = guarded_read(&B);
    for (int r = 0; r < s->slabs; r++) {
        guarded br = rows_vector(s, r, 3, b);
        OK(kry_stencil_boundary(s->part[r], low, high, br.v));
        same(s, r, guarded_read(&br), want, "b");
        guarded_release(&br);
    }
    guarded_release(&B);
    for (int f = 0; f < 6; f++) free(given[f]);
    free(b), free(want);
}

/* A slab's stored matrix is its block of the whole one; and there are as many entries in all. */
static void check_matrix(const sliced *s)
{
    kry_op_info whole, mine;
    int64_t entries = 0;
    double *b = random_array(s->type, s->n);

    kry_op_describe(s->whole, &whole);
    for (int r = 0; r < s->slabs; r++) {
        int64_t n = size_of(s, r);
        kry_op *block;
        kry_op_describe(s->part[r], &mine);
        entries += mine.nnz;
        assert_int_equal(s->part[r]->shape.traits, kry_op_get_shape(s->whole)->traits);
        assert_true(kryi_stencil_diagonal_entry(kryi_stencil_of(s->part[r])) ==
                    kryi_stencil_diagonal_entry(kryi_stencil_of(s->whole)));
        OK(kry_stencil_matrix(s->part[r], KRY_MATRIX(.format = KRY_FORMAT_CSR), &block));
        double *inside = calloc((size_t)s->n, sizeof *inside);
        assert_non_null(inside);
        memcpy(inside + s->first[r] * s->layer, rows_of(s, r, b), (size_t)n * sizeof *inside);
        guarded x = rows_vector(s, r, 0, b), y = rows_vector(s, r, 0, NULL),
                X = guarded_create(s->type, s->n, 1, 0, inside),
                Y = guarded_create(s->type, s->n, 1, 0, NULL);
        OK(kry_op_apply(block, 1, x.v, 0, y.v));
        OK(kry_op_apply(s->whole, 1, X.v, 0, Y.v));
        double *got = guarded_read(&y), *want = guarded_read(&Y), size = 0;
        for (int64_t i = 0; i < s->n; i++) size = fmax(size, fabs(want[i]));
        for (int64_t i = 0; i < n; i++)
            NEAR(got[i], rows_of(s, r, want)[i], 40 * eps_of(s->type) * size, "%s: block of %d",
                 s->g->name, r);
        free(got), free(want), free(inside);
        guarded_release(&x), guarded_release(&y), guarded_release(&X), guarded_release(&Y);
        kry_op_release(&block);
    }
    assert_int_equal(entries, whole.nnz);
    free(b);
}

/* ---- all of it
 * ---------------------------------------------------------------------------------------- */

static void check_slices(const sliced *s)
{
    print_message("# %s, %d slabs\n", s->g->name, s->slabs);
    check_products(s, 0);
    check_products(s, 3);
    check_steps(s);
}

static void check_rest(const sliced *s)
{
    check_relaxation(s, 0, true);
    check_relaxation(s, 0.5, true);
    check_relaxation(s, 0, false);
    check_colours(s);
    check_sides(s);
    check_matrix(s);
    check_update(s);
}

/* In two, and in as many as can be, at random places: thin ones, too. */
static void check_grid(const grid *g, kry_type type)
{
    int64_t layers = layers_of(g), first[MOST_SLABS + 1];

    for (int all = 0; all < 2; all++) {
        int slabs = all ? MOST_SLABS : 2;
        if (layers < slabs) slabs = (int)layers;
        if (slabs < 2 || too_large(grid_points(g))) continue;
        first[0] = 0, first[slabs] = layers;
        for (int r = 1; r < slabs; r++) /* r - 1 slabs behind, slabs - r ahead */
            first[r] = first[r - 1] + 1 + random_below(layers - (slabs - r) - first[r - 1]);
        if (!all) first[1] = (layers + 1) / 2;
        sliced s = slice(g, type, slabs, first);
        check_slices(&s);
        check_rest(&s);
        sliced_release(&s);
    }
}

/* A sample of the grids, others with another seed: each is a dozen programs to compile. */
static void slabs__grids(void **state)
{
    kry_type type = type_of(state);
    size_t step = (size_t)every(12), start = (size_t)random_below((int64_t)step);
    for (size_t i = start % COUNT(rings); i < COUNT(rings); i += step) check_grid(&rings[i], type);
    for (size_t i = 5 + start; i < COUNT(grids); i += step) check_grid(&grids[i], type);
}

/* ---- on a team
 * ------------------------------------------------------------------------------------------ */

/* Devices that are one and the same, which nobody knows. */
static kry_device *team_of(int count, bool use_all)
{
    kry_device *part[4] = { NULL }, *team = NULL;

    for (int i = 0; i < count; i++) OK(kry_device_open(NULL, &part[i]));
    OK(kry_team_create(part, count, KRY_TEAM(.use_all = use_all), &team));
    for (int i = 0; i < count; i++) kry_device_release(&part[i]);
    return team;
}

static void compare_solvers(const pair *q)
{
#define CG(precond) "method=pcg precond=" precond " maxit=2000 resident=off rtol="
    bool single = q->type == KRY_F32;
    compare_solves(q, single ? CG("none") "1e-5" : CG("none") "1e-9", 10);
    compare_solves(q, single ? CG("jacobi") "1e-5" : CG("jacobi") "1e-9", 10);
    compare_solves(q, single ? CG("chebyshev") "1e-5" : CG("chebyshev") "1e-9", 10);
    compare_solves(q, single ? CG("ip") "1e-5" : CG("ip") "1e-9", 50); /* in blocks */
    if (grid_singular(q->g)) return;
    compare_solves(q, "method=jacobi rtol=1e-3 maxit=150", 0);
    if (q->op[0]->fused->sweep_colour(kryi_stencil_of(q->op[0]), 0, 0, NULL, NULL) == KRY_OK)
        compare_solves(q, "method=sor rtol=1e-3 maxit=150", 0);
}

static void check_team(kry_device *team, kry_type type, int64_t step)
{
    const struct {
        const grid *g;
        int64_t from, count, step;
    } sets[] = { { rings, random_below(step < 3 ? step : 3), COUNT(rings), step },
                 { grids, 5 + random_below(step), COUNT(grids), step } };
    for (size_t set = 0; set < COUNT(sets); set++)
        for (int64_t i = sets[set].from; i < sets[set].count; i += sets[set].step) {
            const grid *g = &sets[set].g[i];
            if (layers_of(g) < kry_team_size(team) || too_large(grid_points(g))) continue;
            print_message("# %s on %d\n", g->name, kry_team_size(team));
            pair q = slabs_create(g, type, team);
            compare_all(&q);
            if (grid_points(g) > 30) compare_solvers(&q);
            compare_updates(&q);
            pair_release(&q);
        }
}

static void slabs__on_two(void **state)
{
    kry_device *team = team_of(2, true);
    check_team(team, type_of(state), every(8));
    kry_device_release(&team);
}

static void slabs__on_three(void **state)
{
    kry_device *team = team_of(3, true);
    check_team(team, type_of(state), every(12));
    kry_device_release(&team);
}

/* Cut out of one CPU. */
static void slabs__on_pieces(void **state)
{
    kry_device *team = open_pieces(2);
    (void)state;
    if (!team) SKIP("no device that can be cut in two");
    pair q = slabs_create(&grids[6], KRY_F32, team);
    compare_all(&q);
    compare_solves(&q, CG("none") "1e-5", 10);
    pair_release(&q);
    kry_device_release(&team);
}

/* ---- bad input on a team
 * --------------------------------------------------------------------------------- */

static void slabs__refusals(void **state)
{
    kry_device *team = team_of(3, false), *all = team_of(3, true);
    kry_op *A = NULL;
    kry_op_info info;
    kry_vec *v;
    (void)state;
    REFUSES(kry_stencil_create(all, KRY_F32, KRY_STENCIL(.size = { 2, 2 }), &A), KRY_ERR_ARGUMENT,
            "cannot be split");
    REFUSES(kry_stencil_create(all, KRY_F32, KRY_STENCIL(.size = { 8, -2 }), &A), KRY_ERR_ARGUMENT,
            "unknowns along y");
    OK(kry_vec_create(all, KRY_F32, 7 * 16, 1, &v));
    REFUSES(kry_stencil_create(all, KRY_F32, KRY_STENCIL(.size = { 16, 7 }), &A), KRY_ERR_SHAPE,
            "make the operator first");
    assert_null(A);
    kry_vec_release(&v);
    /* Few layers: on fewer devices, and all that one offers. */
    OK(kry_stencil_create(team, KRY_F32, KRY_STENCIL(.size = { 8, 2 }), &A));
    kry_op_describe(A, &info);
    assert_non_null(strstr(info.variant, "of 3 devices"));
    kry_op_release(&A);
    kry_device_release(&team);
    kry_device_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(slabs__grids),
        { "slabs__on_two/double", slabs__on_two, NULL, NULL, &type_double },
        { "slabs__on_three/single", slabs__on_three, NULL, NULL, &type_single },
        cmocka_unit_test(slabs__on_pieces),
        cmocka_unit_test(slabs__refusals),
    };
    return cmocka_run_group_tests_name("slabs", tests, NULL, close_device);
}
