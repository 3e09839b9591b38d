/*
 * test_part_levels.c - algebraic multigrid whose fine levels lie in parts: P, P' and P'A P put together from all parts and
 * compared with loops over dense matrices, the same cycle read backwards, the iterations of one device, new numbers.
 */
#include "dist/team_suite.h"
#include "matrix/matrix_parts.h"
#include "multigrid/cycle.h"
#include "operator/op_parts.h"
#include <kry/multigrid.h>
#include <kry/precond.h>
#include <kry/problem.h>

/* ---- matrices from all parts --------------------------------------------------------------------- */

typedef struct dense {
    int64_t rows, cols;
    double *a;
} dense;

static dense zeros(int64_t rows, int64_t cols)
{
    dense D = { rows, cols, calloc((size_t)(rows * cols) + 1, sizeof *D.a) };
    assert_non_null(D.a);
    return D;
}

/* C := A B, or A' B */
static dense times(const dense *A, bool transposed, const dense *B)
{
    dense C = zeros(transposed ? A->cols : A->rows, B->cols);
    for (int64_t i = 0; i < C.rows; i++)
        for (int64_t k = 0; k < B->rows; k++) {
            const double a = transposed ? A->a[k * A->cols + i] : A->a[i * A->cols + k];
            for (int64_t j = 0; j < C.cols && a != 0; j++)
                C.a[i * C.cols + j] += a * B->a[k * B->cols + j];
        }
    return C;
}

static void assert_alike(const dense *got, const dense *want, double bound, const char *what)
{
    double most = 0;

    assert_true(got->rows == want->rows && got->cols == want->cols);
    for (int64_t e = 0; e < want->rows * want->cols; e++) most = fmax(most, fabs(want->a[e]));
    assert_true(most > 0);
    for (int64_t e = 0; e < want->rows * want->cols; e++)
        NEAR(got->a[e], want->a[e], bound * most, "%s, row %d, column %d", what,
             (int)(e / want->cols), (int)(e % want->cols));
}

typedef enum which { FINE, PROLONGATION, RESTRICTION, COARSE } which;

static const kry_op *operator_of(const kry_op *M, int part, which w)
{
    kryi_hierarchy *H = kryi_hierarchy_of(kryi_op_piece(M, part));
    const kryi_level *top = kryi_hierarchy_level(H, 0);
    assert_true(H->count > 2);
    return w == FINE           ? top->A
           : w == PROLONGATION ? top->P
           : w == RESTRICTION  ? top->R
                               : kryi_hierarchy_level(H, 1)->A;
}

/* Of each part its first row, and of all of them the sum. */
static void begins(const kry_op *M, which w, int64_t *first)
{
    first[0] = 0;
    for (int r = 0; r < kry_op_parts(M); r++)
        first[r + 1] = first[r] + operator_of(M, r, w)->shape.rows;
}

/* place: those of the far columns, of the matrix that has the same columns in the same halo. */
static void add_rows(const kry_op *op, const int64_t *place, int64_t row, int64_t col, dense *D)
{
    kryi_csr rows;

    OK(kryi_coupled_download(op, &rows));
    OK(kryi_csr_convert(&rows, KRY_F64));
    for (int64_t i = 0; i < rows.rows; i++)
        for (int64_t e = rows.row_ptr[i]; e < rows.row_ptr[i + 1]; e++) {
            const int64_t j = rows.col[e], own = kry_op_get_shape(op)->cols;
            D->a[(row + i) * D->cols + (j < own ? col + j : place[j - own])] +=
                ((double *)rows.val)[e];
        }
    kryi_csr_release(&rows);
}

static dense assemble(const kry_op *M, which w)
{
    int64_t fine[17], coarse[17];
    const int parts = kry_op_parts(M);

    begins(M, FINE, fine), begins(M, COARSE, coarse);
    const bool from_fine = w == FINE || w == RESTRICTION, to_fine = w == FINE || w == PROLONGATION;
    dense D = zeros(to_fine ? fine[parts] : coarse[parts], from_fine ? fine[parts] : coarse[parts]);
    for (int r = 0; r < parts; r++) {
        const kry_op *op = operator_of(M, r, w);
        const int64_t *place;
        (void)kryi_coupled_places(w == RESTRICTION ? operator_of(M, r, FINE) : op, &place);
        add_rows(op, place, to_fine ? fine[r] : coarse[r], from_fine ? fine[r] : coarse[r], &D);
    }
    return D;
}

/* The coarse operator is P'A P with the P' and P that are used; P of constants is constant where A's rows add up to
 * zero and so do those of all neighbours. */
static void check_level(const kry_op *M, kry_type type, bool constants)
{
    const double bound = type == KRY_F32 ? 1e-5 : 1e-6; /* P is kept in single */
    dense A = assemble(M, FINE), P = assemble(M, PROLONGATION), R = assemble(M, RESTRICTION);
    dense C = assemble(M, COARSE), AP = times(&A, false, &P), PAP = times(&P, true, &AP);
    dense Pt = zeros(P.cols, P.rows);

    for (int64_t i = 0; i < P.rows; i++)
        for (int64_t j = 0; j < P.cols; j++) Pt.a[j * P.rows + i] = P.a[i * P.cols + j];
    assert_alike(&R, &Pt, 0, "P'");
    assert_alike(&C, &PAP, bound, "P'A P");
    for (int64_t i = 0; i < P.rows && constants; i++) {
        double sum = 0;
        for (int64_t j = 0; j < P.cols; j++) sum += P.a[i * P.cols + j];
        NEAR(sum, 1, bound, "row %d of P", (int)i);
    }
    free(A.a), free(P.a), free(R.a), free(C.a), free(AP.a), free(PAP.a), free(Pt.a);
}

/* ---- the cycle ----------------------------------------------------------------------------------- */

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* r'M s = s'M r, and r'M r > 0 */
static void check_symmetry(const kry_op *M, const char *what)
{
    const int64_t n = kry_op_get_shape(M)->rows;
    const double bound =
        kry_op_get_shape(M)->type == KRY_F32 ? 1e-4 : 1e-10; /* P and P' are alike to the bit */
    double *r = random_array(kry_op_get_shape(M)->type, n),
           *s = random_array(kry_op_get_shape(M)->type, n);
    double *Mr = product_of(M, r), *Ms = product_of(M, s);
    const double size = sqrt(dot(r, Mr, n) * dot(s, Ms, n));

    assert_true(size > 0);
    NEAR(dot(r, Ms, n), dot(s, Mr, n), bound * size, "%s", what);
    free(r), free(s), free(Mr), free(Ms);
}

static kry_op *precond_of(const kry_op *A, const char *words)
{
    kry_op *M;
    OK(kry_precond_create(A, words, &M));
    return M;
}

static int64_t iterations(const pair *p, bool all, const char *words)
{
    kry_op *S;
    char text[200];
    snprintf(text, sizeof text, "method=pcg rtol=%g %s", p->type == KRY_F32 ? 1e-4 : 1e-8, words);
    OK(kry_solver_create(all ? p->all : p->one, text, NULL, NULL, &S));
    outcome o = solve_with(S, p->rhs);
    kry_op_release(&S);
    free(o.x);
    return o.res.iterations;
}

/* Aggregates that end where parts do cost few iterations. */
static void check_iterations(const pair *p, const char *words)
{
    char alone[160];
    snprintf(alone, sizeof alone, "%s,coarsening=aggregation", words);
    const int64_t one = iterations(p, false, alone), all = iterations(p, true, alone);
    if (all > one + 2 + one / 3)
        fail_msg("%s: %d iterations in parts, %d on one device", words, (int)all, (int)one);
}

static void part_levels__matrices(void **state)
{
    static const char *const specs[] = { "twophase2d:23:50:layers", "poisson2d:25",
                                         "geograph_spd:600" };
    const kry_type type = type_of(state);

    EACH_TEAM(t, type) for (size_t s = 0; s < COUNT(specs); s++)
    {
        pair p = pair_of(specs[s], &teams[t], type);
        kry_op *M = precond_of(p.all, "amg:gather=160,coarsest=40");
        check_level(M, type, s == 0);
        check_symmetry(M, specs[s]);
        kry_op_release(&M);
        check_iterations(&p, s == 0   ? "precond=amg:gather=30,coarsest=20"
                             : s == 1 ? "precond=amg:gather=30,coarsest=20,cycle=k"
                                      : "precond=amg:gather=30,coarsest=20,cycle=w,adaptive=1");
        pair_release(&p);
    }
}

/* Nodes that parts begin and end within, and three vectors for two unknowns. */
static void part_levels__nodes(void **state)
{
    const kry_type type = type_of(state);

    EACH_TEAM(t, type)
    {
        pair p = pair_of("elasticity2d:20x7", &teams[t], type);
        double *modes = calloc((size_t)(3 * p.n), sizeof *modes);
        assert_non_null(modes);
        OK(kry_rigid_body_modes(2, p.n / 2, p.problem->coordinates, modes));
        kry_vec *V = vec_on(device(), type, modes, p.n, 3), *W = vec_on(p.dev, type, modes, p.n, 3);
        OK(kry_op_set_near_null_space(p.one, V));
        OK(kry_op_set_near_null_space(p.all, W));
        kry_op *M = precond_of(p.all, "amg:block=2,gather=120,coarsest=40");
        check_level(M, type, false);
        check_symmetry(M, "elasticity");
        kry_op_release(&M);
        if (!teams[t].by_graph) check_iterations(&p, "precond=amg:block=2,gather=60,coarsest=30");
        kry_vec_release(&V), kry_vec_release(&W);
        free(modes);
        pair_release(&p);
    }
}

static void update_pair(pair *p, kry_op *M)
{
    void *numbers = in_type(p->type, p->problem->val, p->problem->nnz);
    OK(kry_op_update(p->all, numbers));
    OK(kry_op_update(M, NULL));
    free(numbers);
}

/* Four times the numbers give what a new preconditioner gives, in which no tie is broken in another way; others the products
 * of these. */
static void part_levels__update(void **state)
{
    const kry_type type = type_of(state);
    static const char words[] = "amg:gather=60,coarsest=20";

    EACH_TEAM(t, type)
    {
        pair p = pair_of("poisson2d:25", &teams[t], type);
        kry_op *M = precond_of(p.all, words);
        for (int64_t e = 0; e < p.problem->nnz; e++) p.problem->val[e] *= 4;
        update_pair(&p, M);
        kry_op *new = precond_of(p.all, words);
        same_products(new, M, type == KRY_F32 ? 1e-6 : 1e-14, "four times the numbers");
        kry_op_release(&new);
        for (int64_t i = 0; i < p.n; i++)
            for (int64_t e = p.problem->row_ptr[i]; e < p.problem->row_ptr[i + 1]; e++)
                if (p.problem->col[e] == i) p.problem->val[e] *= 1 + 0.1 * (double)(i % 7);
        update_pair(&p, M);
        check_level(M, type, false);
        check_symmetry(M, "other numbers");
        kry_op_release(&M);
        pair_release(&p);
    }
}

/* Rows whose neighbours are all in other parts are coarse unknowns themselves: the odd points of a line on one part, the
 * even ones on the other. */
static void part_levels__strangers(void **state)
{
    enum { N = 120 };
    const kry_type type = type_of(state);
    int64_t row_ptr[N + 1] = { 0 }, nnz = 0;
    int32_t col[3 * N];
    double val[3 * N];
    kry_op *A, *M;

    for (int i = 0; i < N; i++) {
        const int at = i < N / 2 ? 2 * i : 2 * (i - N / 2) + 1; /* point */
        for (int to = at - 1; to <= at + 1; to++)
            if (to >= 0 && to < N)
                col[nnz] = to % 2 ? N / 2 + to / 2 : to / 2, val[nnz++] = to == at ? 2.1 : -1;
        row_ptr[i + 1] = nnz;
    }
    kry_device *dev = open_team(2, (kry_team_params){ 0 });
    void *numbers = in_type(type, val, nnz);
    OK(kry_csr_create(dev, type, N, N, row_ptr, col, numbers, KRY_MATRIX(.traits = KRY_POSITIVE),
                      &A));
    M = precond_of(A, "amg:gather=20,coarsest=10");
    check_symmetry(M, "strangers");
    double b[N];
    for (int i = 0; i < N; i++) b[i] = sin(i);
    kry_op *S;
    OK(kry_pcg_create(A, KRY_PCG(.precond = M, .stop.rtol = 1e-4), &S));
    outcome o = solve_with(S, b);
    assert_in_range(o.res.iterations, 1, 30);
    free(o.x), free(numbers);
    kry_op_release(&S), kry_op_release(&M), kry_op_release(&A);
    close_team(&dev);
}

/* Less of the levels on each of more parts, and all of them on each where that is asked for. */
static void part_levels__bytes(void **state)
{
    (void)state;
    kry_problem *problem;
    double bytes[3];
    kry_op_info info;

    OK(kry_problem_create("poisson2d:40", 7, &problem));
    for (int i = 0; i < 3; i++) {
        const int parts = i ? 4 : 2;
        kry_device *dev = open_team(parts, (kry_team_params){ 0 });
        kry_op *A = stored_on(dev, KRY_F32, problem);
        kry_op *M = precond_of(A, i == 2 ? "amg:gather=1600" : "amg:gather=100,coarsest=50");
        kry_op_describe(M, &info);
        bytes[i] = info.bytes_stored / parts;
        kry_op_release(&M), kry_op_release(&A);
        close_team(&dev);
    }
    assert_true(bytes[1] < 0.7 * bytes[0]);
    assert_true(bytes[1] < 0.4 * bytes[2]);
    kry_problem_release(&problem);
}

static void part_levels__refusals(void **state)
{
    (void)state;
    pair p = pair_of("poisson2d:25", &teams[0], KRY_F32);
    kry_op *M = NULL;

    REFUSES(kry_amg_create(p.all, KRY_AMG(.gather = -1), &M), KRY_ERR_ARGUMENT, "gather = -1");
    assert_null(M);
    REFUSES(kry_amg_create(p.all, KRY_AMG(.gather = 60, .complexity = 1.01), &M),
            KRY_ERR_UNSUPPORTED, "1.01 times are allowed");
    assert_null(M);
    /* Couplings from one part to the other that have other mirror images, which no part sees alone. */
    const int64_t cut = kryi_op_split(p.all)->first[1];
    for (int64_t i = 0; i < cut; i++)
        for (int64_t e = p.problem->row_ptr[i]; e < p.problem->row_ptr[i + 1]; e++)
            if (p.problem->col[e] >= cut) p.problem->val[e] = -0.1;
    const team *t = &teams[0];
    kry_device *dev = team_of(t);
    kry_op *A = matrix_on(dev, KRY_F32, p.problem, KRY_MATRIX(.traits = 0));
    REFUSES(kry_amg_create(A, KRY_AMG(.gather = 60), &M), KRY_ERR_ARGUMENT, "not symmetric");
    assert_null(M);
    kry_op_release(&A);
    close_team(&dev);
    pair_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(part_levels__matrices),
        BOTH(part_levels__nodes),
        BOTH(part_levels__update),
        BOTH(part_levels__strangers),
        cmocka_unit_test(part_levels__bytes),
        cmocka_unit_test(part_levels__refusals),
    };
    return cmocka_run_group_tests_name("part_levels", tests, NULL, close_device);
}
