/*
 * test_amg_cases.c - algebraic multigrid for matrices of all kinds: elasticity with and without rigid body
 * modes, bodies that nothing holds, those that are hardly matrices at all, and what is refused.
 */
#include "testing.h"
#include <kry/multigrid.h>
#include <kry/problem.h>

/* ---- matrices ---------------------------------------------------------------------------------- */

/* What is solved: A in rows, both triangles. */
typedef struct rows {
    int64_t n, count, room;
    int64_t *row_ptr;
    int32_t *col;
    double *val;
} rows;

static rows rows_of(int64_t n, int64_t room)
{
    rows A = { .n = n, .room = room };
    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)room, sizeof *A.col);
    A.val = calloc((size_t)room, sizeof *A.val);
    assert_non_null(A.row_ptr), assert_non_null(A.col), assert_non_null(A.val);
    return A;
}

static void add(rows *A, int64_t j, double v)
{
    assert_true(A->count < A->room);
    A->col[A->count] = (int32_t)j, A->val[A->count++] = v;
}

static void rows_release(rows *A) { free(A->row_ptr), free(A->col), free(A->val); }

/* Chains of `length` unknowns that nothing connects; couplings `v` to both sides, `far` to those after next. */
static rows chains(int64_t n, int64_t length, double v, double far)
{
    rows A = rows_of(n, 5 * n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 2; j <= i + 2; j++) {
            const bool together = j >= 0 && j < n && j / length == i / length;
            if (j == i)
                add(&A, j, 2.001 * fabs(v) + 2 * fabs(far));
            else if (together && (llabs(j - i) == 1 || far != 0))
                add(&A, j, llabs(j - i) == 1 ? v : far);
        }
        A.row_ptr[i + 1] = A.count;
    }
    return A;
}

/* Row and column 0 are full. */
static rows arrow(int64_t n)
{
    rows A = rows_of(n, 3 * n);
    for (int64_t i = 0; i < n; i++) {
        add(&A, 0, i ? -1 : (double)n);
        if (i) add(&A, i, 2);
        for (int64_t j = 1; !i && j < n; j++) add(&A, j, -1);
        A.row_ptr[i + 1] = A.count;
    }
    return A;
}

static kry_op *op_of(const rows *A, kry_type type, int block)
{
    void *numbers = in_type(type, A->val, A->count);
    kry_op *op = NULL;
    OK(kry_csr_create(device(), type, A->n, A->n, A->row_ptr, A->col, numbers,
                      KRY_MATRIX(.traits = KRY_POSITIVE, .block = block), &op));
    free(numbers);
    return op;
}

/* Iterations of conjugate gradients with M from b, which is released; they have to succeed. */
static int64_t solve_from(const kry_op *A, const kry_op *M, double *b)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    const double rtol = shape->type == KRY_F32 ? 1e-4 : 1e-8;
    double *x = calloc((size_t)shape->rows, sizeof *x);
    kry_op *S = NULL;
    kry_result result;

    assert_non_null(x);
    OK(kry_pcg_create(A, KRY_PCG(.precond = M, .stop = { .rtol = rtol, .max_iter = 400 }), &S));
    OK(kry_solve_host(S, b, x, &result));
    kry_op_release(&S);
    free(b), free(x);
    return result.iterations;
}

static int64_t solve(const kry_op *A, const kry_op *M)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    return solve_from(A, M, random_array(shape->type, shape->rows));
}

/* The same for b = A x with a random x. */
static int64_t solve_known(const kry_op *A, const kry_op *M)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    double *x = random_array(shape->type, shape->rows);
    kry_vec *X = vec_of(shape->type, x, shape->rows, 1),
            *b = vec_of(shape->type, x, shape->rows, 1);

    OK(kry_op_apply(A, 1, X, 0, b));
    double *numbers = numbers_of(b);
    kry_vec_release(&X), kry_vec_release(&b);
    free(x);
    return solve_from(A, M, numbers);
}

/* ---- nodes of several unknowns ------------------------------------------------------------------ */

enum { NODES = 40 * 11 };

/* Multigrid from words takes what A was told: on A, on a copy in the other precision, and no longer when A has
 * been told to forget it. */
static void check_told(kry_op *A, int64_t with)
{
    const kry_type type = kry_op_get_shape(A)->type;
    kry_op *other = NULL, *M = NULL;

    OK(kry_precond_create(A, "amg:coarsest=60", &M));
    assert_int_equal(solve_known(A, M), with);
    kry_op_release(&M);
    OK(kry_op_convert(A, type == KRY_F32 ? KRY_F64 : KRY_F32, &other));
    OK(kry_precond_create(other, "amg:coarsest=60", &M));
    assert_true(solve_known(other, M) <= 14);
    kry_op_release(&M), kry_op_release(&other);
    OK(kry_op_set_near_null_space(A, NULL));
    OK(kry_precond_create(A, "amg:coarsest=60", &M));
    assert_true(3 * solve_known(A, M) >= 4 * with);
    kry_op_release(&M);
    kry_vec *few = NULL;
    OK(kry_vec_create(device(), type, 2 * NODES - 1, 2, &few));
    REFUSES(kry_op_set_near_null_space(A, few), KRY_ERR_SHAPE, "the vectors have 879 rows");
    kry_vec_release(&few);
}

/* With the rotation, too, aggregation takes fewer iterations. */
static void amg_elasticity__rigid_body_modes(void **state)
{
    const kry_type type = type_of(state);
    kry_problem *p = NULL;
    kry_op *M = NULL;
    double modes[3 * 2 * NODES];

    OK(kry_problem_create("elasticity2d:40x10", 1, &p));
    assert_int_equal(p->n, 2 * NODES);
    OK(kry_rigid_body_modes(p->axes, NODES, p->coordinates, modes));
    const rows A = {
        .n = p->n, .count = p->row_ptr[p->n], .row_ptr = p->row_ptr, .col = p->col, .val = p->val
    };
    kry_op *op = op_of(&A, type, 2);
    kry_vec *V = vec_of(type, modes, 2 * NODES, 3);
    OK(kry_amg_create(op, KRY_AMG(.cycle.coarsest = 60), &M));
    const int64_t without = solve_known(op, M);
    kry_op_release(&M);
    OK(kry_amg_create(op, KRY_AMG(.near_null_space = V, .cycle.coarsest = 60), &M));
    const int64_t with = solve_known(op, M);
    print_message("# elasticity: %lld iterations, %lld with rigid body modes\n", (long long)without,
                  (long long)with);
    assert_true(with <= 14 && 4 * with <= 3 * without);
    OK(kry_op_set_near_null_space(op, V));
    kry_vec_release(&V);
    check_told(op, with);
    kry_op_release(&M), kry_op_release(&op);
    kry_problem_release(&p);
}

/* Iterations for a cube of side^3 elements, with the six rigid body modes or with three constants. */
static int64_t iterations_of_cube(kry_type type, int side, bool rigid)
{
    char spec[64];
    kry_problem *p = NULL;
    kry_op *M = NULL;
    kry_vec *V = NULL;

    snprintf(spec, sizeof spec, "elasticity3d:%dx%dx%d", side, side, side);
    OK(kry_problem_create(spec, 1, &p));
    double *modes = malloc((size_t)(6 * p->n) * sizeof *modes);
    assert_non_null(modes);
    OK(kry_rigid_body_modes(p->axes, p->n / p->axes, p->coordinates, modes));
    const rows A = {
        .n = p->n, .count = p->row_ptr[p->n], .row_ptr = p->row_ptr, .col = p->col, .val = p->val
    };
    kry_op *op = op_of(&A, type, p->block);
    V = vec_of(type, modes, p->n, 6);
    OK(kry_amg_create(op, KRY_AMG(.near_null_space = rigid ? V : NULL, .cycle.coarsest = 100), &M));
    const int64_t count = solve_known(op, M);
    free(modes);
    kry_vec_release(&V), kry_op_release(&M), kry_op_release(&op);
    kry_problem_release(&p);
    return count;
}

static void amg_elasticity3d__iterations_hardly_grow(void **state)
{
    const kry_type type = type_of(state);
    const int64_t small = iterations_of_cube(type, 5, true),
                  large = iterations_of_cube(type, 12, true),
                  without = iterations_of_cube(type, 12, false);

    print_message("# cubes: %lld and %lld iterations, %lld without rotations\n", (long long)small,
                  (long long)large, (long long)without);
    assert_true(large <= small + 3 && large <= 12 && large < without);
}

/* Linear strain u -> (grad u + grad u') / 2 of each mode is zero, by differences between two nodes; and the
 * modes are independent. */
static void rigid_body_modes__do_not_deform(void **state)
{
    enum { POINTS = 5 };
    (void)state;
    for (int axes = 2; axes <= 3; axes++) {
        double at[POINTS * 3], modes[6 * 3 * POINTS];
        const int n = axes * POINTS, count = axes == 2 ? 3 : 6;
        for (int i = 0; i < n; i++) at[i] = random_number(KRY_F64);
        OK(kry_rigid_body_modes(axes, POINTS, at, modes));
        for (int m = 0; m < count; m++) {
            const double *u = modes + m * n;
            double size = 0, sum = 0;
            for (int i = 0; i < POINTS; i++)
                for (int j = 0; j < i; j++) {
                    double change = 0;
                    for (int a = 0; a < axes; a++)
                        change += (u[axes * i + a] - u[axes * j + a]) *
                                  (at[axes * i + a] - at[axes * j + a]);
                    NEAR(change, 0, 1e-13, "mode %d of %d axes", m, axes);
                }
            for (int i = 0; i < n; i++) size += u[i] * u[i], sum += m >= axes ? u[i] : 0;
            assert_true(size > 0.01);
            NEAR(sum, 0, 1e-13, "the mean of rotation %d", m - axes);
        }
    }
    double at[2] = { 0, NAN }, modes[6];
    REFUSES(kry_rigid_body_modes(4, 1, at, modes), KRY_ERR_ARGUMENT, "axes = 4");
    REFUSES(kry_rigid_body_modes(2, 1, at, modes), KRY_ERR_ARGUMENT, "coordinate 1 of node 0");
}

/* ---- bodies that nothing holds -------------------------------------------------------------------- */

/* A lattice of nodes, moved a little, in `bodies` layers along the last axis that nothing connects. */
typedef struct body {
    int axes;
    int64_t size[3], nodes, thick; /* layers of a body */
    double *at;                    /* axes numbers for each node */
} body;

static body body_of(int axes, int64_t nx, int64_t ny, int64_t nz, int64_t thick)
{
    body B = { .axes = axes, .size = { nx, ny, nz }, .nodes = nx * ny * nz, .thick = thick };
    B.at = calloc((size_t)(B.nodes * axes), sizeof *B.at);
    assert_non_null(B.at);
    for (int64_t i = 0; i < B.nodes; i++) {
        const double place[] = { (double)(i % nx), (double)(i / nx % ny), (double)(i / (nx * ny)) };
        for (int a = 0; a < axes; a++) B.at[i * axes + a] = place[a] + 0.1 * random_number(KRY_F64);
    }
    return B;
}

/* A bar from node i to each one beside it, also across corners, that takes lengthening only; with j = i the
 * sum of all of them. k := the 3-by-3 numbers of the pair; returns whether there are any. */
static bool couple(const body *B, int64_t i, int64_t j, double k[3][3])
{
    double t[3], length = 0;
    int64_t far = 0;

    for (int64_t a = 0, step = 1; a < 3; step *= B->size[a++]) {
        const int64_t d = i / step % B->size[a] - j / step % B->size[a];
        far = llabs(d) > far ? llabs(d) : far;
    }
    const int64_t layer = B->nodes / B->size[B->axes - 1];
    if (far != 1 || i / layer / B->thick != j / layer / B->thick) return false;
    for (int a = 0; a < B->axes; a++)
        t[a] = B->at[i * B->axes + a] - B->at[j * B->axes + a], length += t[a] * t[a];
    for (int a = 0; a < B->axes; a++)
        for (int c = 0; c < B->axes; c++) k[a][c] = t[a] * t[c] / (length * sqrt(length));
    return true;
}

static rows bars_of(const body *B)
{
    const int m = B->axes;
    rows A = rows_of(m * B->nodes, m * B->nodes * m * (m == 3 ? 27 : 9));
    double k[3][3];

    for (int64_t row = 0; row < A.n; row++) {
        const int64_t i = row / m;
        const int a = (int)(row % m);
        double own[3] = { 0 };
        for (int64_t j = 0; j < B->nodes; j++)
            if (couple(B, i, j, k))
                for (int c = 0; c < m; c++) own[c] += k[a][c];
        for (int64_t j = 0; j < B->nodes; j++) {
            const bool has = couple(B, i, j, k);
            for (int c = 0; c < m && (has || j == i); c++)
                add(&A, m * j + c, has ? -k[a][c] : own[c]);
        }
        A.row_ptr[row + 1] = A.count;
    }
    return A;
}

/* A maps 3 or 6 motions of each of them to zero. */
static void amg_elasticity__free_bodies(void **state)
{
    const kry_type type = type_of(state);
    body all[] = { body_of(2, 24, 17, 1, 17), body_of(2, 15, 22, 1, 11), /* two of them */
                   body_of(3, 9, 7, 6, 6), body_of(3, 5, 5, 9, 3) /* three */ };

    for (size_t i = 0; i < COUNT(all); i++) {
        const body *B = &all[i];
        const int m = B->axes == 2 ? 3 : 6;
        rows A = bars_of(B);
        kry_op *op = op_of(&A, type, B->axes), *M = NULL;
        double *modes = calloc((size_t)(A.n * m), sizeof *modes);
        assert_non_null(modes);
        OK(kry_rigid_body_modes(B->axes, B->nodes, B->at, modes));
        kry_vec *V = vec_of(type, modes, A.n, m);
        OK(kry_amg_create(op, KRY_AMG(.cycle.coarsest = 40), &M));
        const int64_t without = solve_known(op, M);
        kry_op_release(&M);
        OK(kry_amg_create(op, KRY_AMG(.near_null_space = V, .cycle.coarsest = 40), &M));
        const int64_t with = solve_known(op, M);
        print_message("# free bodies %d: %d levels, %lld iterations, %lld with rigid body modes\n",
                      (int)i, kry_multigrid_levels(M), (long long)without, (long long)with);
        assert_true(kry_multigrid_levels(M) > 1 && with <= 20 && without <= 60);
        free(modes);
        kry_vec_release(&V);
        kry_op_release(&M), kry_op_release(&op);
        rows_release(&A);
        free(B->at);
    }
}

/* ---- hardly matrices ------------------------------------------------------------------------------ */

static void amg__degenerate_matrices(void **state)
{
    const kry_type type = type_of(state);
    static const kry_coarsening ways[] = { KRY_COARSEN_AUTO, KRY_COARSEN_AGGREGATION,
                                           KRY_COARSEN_CLASSICAL };
    rows all[] = { chains(1, 1, -1, 0),    /* one unknown */
                   chains(120, 1, -1, 0),  /* a diagonal */
                   chains(150, 7, -1, 0),  /* a graph in many parts */
                   chains(140, 140, 1, 0), /* positive couplings */
                   chains(130, 65, -1, -0.25), arrow(120) };
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_op *A = op_of(&all[i], type, 1);
        for (size_t w = 0; w < COUNT(ways); w++) {
            kry_op *M = NULL;
            const kry_status st =
                kry_amg_create(A, KRY_AMG(.coarsening = ways[w], .cycle.coarsest = 30), &M);
            if (st < 0) { /* not made for multigrid, and said so */
                assert_int_equal(st, KRY_ERR_UNSUPPORTED);
                assert_non_null(strstr(kry_last_error(), "coarsening ends"));
                assert_null(M);
                print_message("# matrix %d, way %d: %s\n", (int)i, (int)w, kry_last_error());
            } else {
                const int64_t count = solve(A, M);
                print_message("# matrix %d, way %d: %lld\n", (int)i, (int)w, (long long)count);
                assert_true(count <= (i == 3 ? 80 : 40)); /* positive couplings: no constants */
            }
            kry_op_release(&M);
        }
        kry_op_release(&A);
    }
    for (size_t i = 0; i < COUNT(all); i++) rows_release(&all[i]);
}

/* A grid's matrix S A S, with a diagonal S of two decades: constants no longer suit it, and what relaxation makes
 * of them does. */
static void amg_adaptive__scaled(void **state)
{
    const kry_type type = type_of(state);
    kry_problem *p = NULL;
    kry_op *M = NULL;
    int64_t count[3];

    OK(kry_problem_create("poisson2d:47", 1, &p));
    rows A = {
        .n = p->n, .count = p->row_ptr[p->n], .row_ptr = p->row_ptr, .col = p->col, .val = p->val
    };
    kry_op *plain = op_of(&A, type, 1);
    double *s = random_array(KRY_F64, p->n);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            p->val[e] *= pow(10, s[i]) * pow(10, s[p->col[e]]);
    kry_op *scaled = op_of(&A, type, 1);
    for (int k = 0; k < 3; k++) {
        const kry_op *op = k < 2 ? scaled : plain;
        OK(kry_precond_create(op, k ? "amg:coarsest=60,adaptive=4" : "amg:coarsest=60", &M));
        count[k] = solve_known(op, M);
        kry_op_release(&M);
    }
    print_message("# scaled: %lld iterations, %lld adaptive; not scaled %lld\n",
                  (long long)count[0], (long long)count[1], (long long)count[2]);
    assert_true(count[1] <= 14 && 2 * count[1] <= count[0] && count[2] <= 12);
    kry_op_release(&scaled), kry_op_release(&plain);
    free(s);
    kry_problem_release(&p);
}

/* The vectors of elasticity, which A maps to zero, stay as they are but next to the clamped end. */
static void amg_adaptive__keeps_what_is_right(void **state)
{
    const kry_type type = type_of(state);
    kry_problem *p = NULL;
    kry_op *M = NULL;
    int64_t count[2];
    double modes[3 * 2 * NODES];

    OK(kry_problem_create("elasticity2d:40x10", 1, &p));
    OK(kry_rigid_body_modes(p->axes, NODES, p->coordinates, modes));
    const rows A = {
        .n = p->n, .count = p->row_ptr[p->n], .row_ptr = p->row_ptr, .col = p->col, .val = p->val
    };
    kry_op *op = op_of(&A, type, 2);
    kry_vec *V = vec_of(type, modes, 2 * NODES, 3);
    for (int k = 0; k < 2; k++) {
        OK(kry_amg_create(
            op, KRY_AMG(.near_null_space = V, .adaptive = 4 * k, .cycle.coarsest = 60), &M));
        count[k] = solve_known(op, M);
        kry_op_release(&M);
    }
    print_message("# elasticity: %lld iterations, %lld adaptive\n", (long long)count[0],
                  (long long)count[1]);
    assert_true(count[1] <= count[0] + 1);
    kry_vec_release(&V), kry_op_release(&op);
    kry_problem_release(&p);
}

/* The same bits from two set-ups. */
static void amg__same_bits(void **state)
{
    const kry_type type = type_of(state);
    rows A = chains(500, 100, -1, -0.5);
    kry_op *op = op_of(&A, type, 1);
    double *r = random_array(type, A.n), *z[2];
    kry_vec *R = vec_of(type, r, A.n, 1), *Z = vec_of(type, r, A.n, 1);

    for (int i = 0; i < 2; i++) {
        kry_op *M = NULL;
        OK(kry_amg_create(op, KRY_AMG(.adaptive = 2, .cycle.coarsest = 30), &M));
        OK(kry_vec_fill(Z, NAN));
        OK(kry_op_apply(M, 1, R, 0, Z));
        z[i] = numbers_of(Z);
        kry_op_release(&M);
    }
    for (int64_t i = 0; i < A.n; i++) assert_true(z[0][i] == z[1][i]);
    free(z[0]), free(z[1]), free(r);
    kry_vec_release(&R), kry_vec_release(&Z);
    kry_op_release(&op);
    rows_release(&A);
}

static void amg_create__refusals(void **state)
{
    (void)state;
    rows A = chains(300, 300, -1, -0.5);
    kry_op *op = op_of(&A, KRY_F32, 1), *M = NULL, *grid = NULL;
    double *r = random_array(KRY_F32, A.n);
    kry_vec *few = vec_of(KRY_F32, r, 7, 1);

    REFUSES(kry_amg_create(op, KRY_AMG(.complexity = 1.01, .cycle.coarsest = 30), &M),
            KRY_ERR_UNSUPPORTED, "bytes");
    REFUSES(kry_amg_create(op, KRY_AMG(.complexity = 0.5), &M), KRY_ERR_ARGUMENT,
            "complexity = 0.5");
    REFUSES(kry_amg_create(op, KRY_AMG(.strength = 2), &M), KRY_ERR_ARGUMENT, "strength = 2");
    REFUSES(kry_amg_create(op, KRY_AMG(.block = 7), &M), KRY_ERR_ARGUMENT, "no multiple of the 7");
    REFUSES(kry_amg_create(op, KRY_AMG(.near_null_space = few), &M), KRY_ERR_SHAPE, "7 rows");
    REFUSES(kry_amg_create(op, KRY_AMG(.block = 2, .coarsening = KRY_COARSEN_CLASSICAL), &M),
            KRY_ERR_UNSUPPORTED, "one unknown in a node");
    REFUSES(kry_amg_create(op, KRY_AMG(.adaptive = -1), &M), KRY_ERR_ARGUMENT, "adaptive = -1");
    REFUSES(kry_amg_create(op, KRY_AMG(.adaptive = 1, .block = 7), &M), KRY_ERR_ARGUMENT,
            "no multiple of the 7");
    REFUSES(kry_amg_create(op, KRY_AMG(.adaptive = 1, .coarsening = KRY_COARSEN_CLASSICAL), &M),
            KRY_ERR_UNSUPPORTED, "no near null space");
    assert_null(M);
    OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { 30, 30 }), &grid));
    if (kry_amg_create(grid, NULL, &M) == KRY_OK) assert_true(solve(grid, M) < 20);
    kry_op_release(&M), kry_op_release(&grid), kry_op_release(&op);
    kry_vec_release(&few);
    free(r);
    rows_release(&A);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void amg_create__without_memory(void **state)
{
    static const kry_coarsening ways[] = { KRY_COARSEN_AGGREGATION, KRY_COARSEN_CLASSICAL,
                                           KRY_COARSEN_AUTO };
    (void)state;
    rows A = chains(120, 60, -1, -0.5);
    kry_op *op = op_of(&A, KRY_F32, 1), *warm = NULL;

    for (size_t w = 0; w < COUNT(ways); w++) {
        const kry_amg_params *p =
            KRY_AMG(.coarsening = ways[w], .adaptive = w == 2 ? 2 : 0, .cycle.coarsest = 30);
        OK(kry_amg_create(op, p, &warm)); /* kernels are there */
        kry_op_release(&warm);
        request_failed = true;
        for (int64_t k = random_below(every(7)); request_failed; k += every(7)) {
            kry_op *M = op; /* poison */
            const kry_status st = FAILING((int)k, kry_amg_create(op, p, &M));
            assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
            assert_true(!M == (st < 0));
            kry_op_release(&M);
        }
    }
    kry_op_release(&op);
    rows_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(amg_elasticity__free_bodies),
        BOTH(amg_elasticity__rigid_body_modes),
        BOTH(amg_elasticity3d__iterations_hardly_grow),
        cmocka_unit_test(rigid_body_modes__do_not_deform),
        BOTH(amg_adaptive__scaled),
        BOTH(amg_adaptive__keeps_what_is_right),
        BOTH(amg__degenerate_matrices),
        BOTH(amg__same_bits),
        cmocka_unit_test(amg_create__refusals),
        cmocka_unit_test(amg_create__without_memory),
    };
    return cmocka_run_group_tests_name("amg_cases", tests, NULL, close_device);
}
