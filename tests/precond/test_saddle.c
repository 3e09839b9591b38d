/* test_saddle.c - block preconditioners of saddle points against dense blocks in plain C; iterations for Stokes's flow. */
#include "op_suite.h"
#include "teams.h"
#include <kry/problem.h>

/* ---- saddle points in plain C, with dense n-by-n arrays ---------------------------------------- */

typedef struct point {
    int64_t n, first, second;
    double *a;            /* n-by-n */
    unsigned char *field; /* n */
    double *mass;         /* second */
} point;

enum {
    PLAIN = 0,
    MIXED = 1,      /* the rows of the fields stand among each other */
    SKEW = 2,       /* [F B'; -B D] with D positive */
    WITH_BLOCK = 4, /* D is not zero */
    LEVEL = 8       /* B1 and B2 nearly map constants to zero */
};

/* A point of `first` and `second` rows whose F has a dominant diagonal. */
static point point_create(kry_type type, int64_t first, int64_t second, int how)
{
    const int64_t n = first + second;
    point p = { n,
                first,
                second,
                calloc((size_t)(n * n), sizeof *p.a),
                calloc((size_t)n, 1),
                calloc((size_t)second, sizeof *p.mass) };
    int64_t *at = calloc((size_t)n, sizeof *at);
    const double sign = how & SKEW ? -1 : 1;

    assert_true(p.a && p.field && p.mass && at);
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = how & MIXED ? random_below(i + 1) : i;
        at[i] = at[j], at[j] = i;
    }
    for (int64_t i = 0; i < second; i++) {
        const int64_t r = at[first + i];
        p.field[r] = 1, p.mass[i] = to_type(type, 2 + random_number(type));
        for (int64_t k = 0; k < 3; k++) {
            const int64_t c = at[(2 * i + k) % first];
            const double swing = random_number(type) / 4,
                         level = k == 2   ? -1.5
                                 : k == 1 ? swing / 16
                                 : i == 0 ? 0.125
                                          : 1.5,
                         v = how & LEVEL ? level
                             : k         ? swing
                                         : 1.5;
            p.a[c * n + r] = v, p.a[r * n + c] = sign * v;
        }
        if (how & WITH_BLOCK) p.a[r * n + r] = -sign * (1 + i % 3);
    }
    for (int64_t i = 0; i < first; i++) {
        const int64_t r = at[i], c = at[random_below(first)];
        if (r != c) p.a[r * n + c] = p.a[c * n + r] = random_number(type) / 4;
        p.a[r * n + r] = 3 + (double)(i % 4);
    }
    free(at);
    return p;
}

static void point_release(point *p) { free(p->a), free(p->field), free(p->mass); }

static kry_op *op_of(const point *p, kry_type type)
{
    matrix A = matrix_from(p->a, p->n);
    kry_op *op = csr_of(&A, type, NULL);
    matrix_release(&A);
    return op;
}

/* The row in A of row i of a field. */
static int64_t row_in(const point *p, int f, int64_t i)
{
    for (int64_t r = 0; r < p->n; r++)
        if (p->field[r] == f && i-- == 0) return r;
    return -1;
}

static long double entry(const point *p, int f, int64_t i, int g, int64_t j)
{
    return p->a[row_in(p, f, i) * p->n + row_in(p, g, j)];
}

/* y := diag(F)^-1 x of the first field, and x and y of the second with B2 or B1. */
static void jacobi(const point *p, const long double *x, long double *y)
{
    for (int64_t i = 0; i < p->first; i++) y[i] = x[i] / entry(p, 0, i, 0, i);
}

static void block(const point *p, int f, int g, const long double *x, long double *y)
{
    for (int64_t i = 0; i < (f ? p->second : p->first); i++) {
        y[i] = 0;
        for (int64_t j = 0; j < (g ? p->second : p->first); j++)
            y[i] += entry(p, f, i, g, j) * x[j];
    }
}

static int shifts_seen;

static long double schur_diagonal(const point *p, int64_t i)
{
    long double s = -entry(p, 1, i, 1, i);
    for (int64_t k = 0; k < p->first; k++)
        s += entry(p, 1, i, 0, k) * entry(p, 0, k, 1, i) / entry(p, 0, k, 0, k);
    return s;
}

/* S^-1 gets (1'x / q) 1 besides, with q := 1' (B2 diag(F)^-1 B1 - D) 1, where q is small beside `sum` := 1' S 1; else 0. */
static long double plain_shift(const point *p, long double sum, const long double *x)
{
    long double *u = calloc((size_t)p->n, sizeof *u), *v = calloc((size_t)p->n, sizeof *v), q = 0,
                total = 0;

    assert_true(u && v);
    for (int64_t i = 0; i < p->second; i++) u[i] = 1, total += x[i];
    block(p, 0, 1, u, v), jacobi(p, v, u), block(p, 1, 0, u, v);
    for (int64_t i = 0; i < p->second; i++) q += v[i] - entry(p, 1, i, 1, i);
    free(u), free(v);
    const bool shifts = q / sum > 0 && q / sum < 0.05L;
    shifts_seen += shifts;
    return shifts ? total / q : 0;
}

/* y := S^-1 x, with the diagonal of S, or of P, in place of S, or P. */
static void plain_schur(const point *p, const kry_saddle_params *q, const long double *x,
                        long double *y)
{
    const int64_t most = p->n;
    long double *u = calloc((size_t)most, sizeof *u), *v = calloc((size_t)most, sizeof *v), sum = 0;

    assert_true(u && v);
    for (int64_t i = 0; i < p->second; i++) {
        const long double s =
            q->mass ? (q->scale != 0 ? q->scale : 1) * q->mass[i] : schur_diagonal(p, i);
        y[i] = x[i] / s, sum += s;
    }
    const long double shift = q->schur == KRY_SCHUR_MASS ? plain_shift(p, sum, x) : 0;
    for (int64_t i = 0; i < p->second; i++) y[i] += shift;
    if (q->schur == KRY_SCHUR_LSC) {
        block(p, 0, 1, y, u), jacobi(p, u, v);
        block(p, 0, 0, v, u), jacobi(p, u, v);
        block(p, 1, 0, v, u);
        for (int64_t i = 0; i < p->second; i++) y[i] = u[i] / schur_diagonal(p, i);
    }
    free(u), free(v);
}

/* z := M r with diag(F)^-1 for F^-1 */
static void plain_saddle(const point *p, const kry_saddle_params *q, const double *r, double *z)
{
    const bool below = q->kind == KRY_SADDLE_LOWER || q->kind == KRY_SADDLE_FULL,
               above = q->kind == KRY_SADDLE_UPPER || q->kind == KRY_SADDLE_FULL;
    const size_t n = (size_t)p->n;
    long double *x[2], *y[2], *t = calloc(n, sizeof *t);

    for (int f = 0; f < 2; f++) {
        x[f] = calloc(n, sizeof *x[f]), y[f] = calloc(n, sizeof *y[f]);
        assert_true(x[f] && y[f] && t);
        for (int64_t i = 0; i < (f ? p->second : p->first); i++) x[f][i] = r[row_in(p, f, i)];
    }
    jacobi(p, x[0], y[0]);
    block(p, 1, 0, y[0], t);
    for (int64_t i = 0; i < p->second; i++) {
        if (below) x[1][i] -= t[i];
        /* S is B2 F^-1 B1 - D here: minus the Schur complement of A, whose inverse the triangles have */
        if (q->kind != KRY_SADDLE_DIAGONAL) x[1][i] = -x[1][i];
    }
    plain_schur(p, q, x[1], y[1]);
    if (q->kind == KRY_SADDLE_DIAGONAL && schur_diagonal(p, 0) < 0 && !q->mass)
        for (int64_t i = 0; i < p->second; i++) y[1][i] = -y[1][i];
    if (above) {
        block(p, 0, 1, y[1], t);
        for (int64_t i = 0; i < p->first; i++) x[0][i] -= t[i];
        jacobi(p, x[0], y[0]);
    }
    for (int f = 0; f < 2; f++) {
        for (int64_t i = 0; i < (f ? p->second : p->first); i++)
            z[row_in(p, f, i)] = (double)y[f][i];
        free(x[f]), free(y[f]);
    }
    free(t);
}

/* ---- against these ----------------------------------------------------------------------------- */

static void check_apply(const point *p, const kry_saddle_params *q, const kry_op *M)
{
    enum { COLUMNS = 3 };
    const kry_type type = kry_op_get_shape(M)->type;
    double *r = random_array(type, COLUMNS * p->n), *want = calloc((size_t)p->n, sizeof *want);
    guarded R = guarded_create(type, p->n, COLUMNS, 1, r),
            Z = guarded_create(type, p->n, COLUMNS, 3, NULL);

    assert_non_null(want);
    OK(kry_op_apply(M, -2, R.v, 0, Z.v));
    double *z = guarded_read(&Z);
    for (int64_t j = 0; j < COLUMNS; j++) {
        plain_saddle(p, q, r + j * p->n, want);
        double most = 0;
        for (int64_t i = 0; i < p->n; i++) most = fmax(most, fabs(want[i]));
        for (int64_t i = 0; i < p->n; i++)
            NEAR(z[j * p->n + i], -2 * want[i], 300 * eps_of(type) * most,
                 "row %lld of %lld, kind %d, schur %d", (long long)i, (long long)p->n, (int)q->kind,
                 (int)q->schur);
    }
    free(r), free(z), free(want);
    guarded_release(&R), guarded_release(&Z);
}

/* Refuse or take a set of parameters, and what they say of M. */
static void check_kind(const point *p, const kry_op *A, kry_saddle_params q, int how)
{
    kry_op *M;

    q.first = q.second = "jacobi";
    if (how & SKEW) q.field = p->field;
    if (q.schur == KRY_SCHUR_LSC && how & WITH_BLOCK) {
        REFUSES(kry_saddle_create(A, &q, &M), KRY_ERR_UNSUPPORTED,
                "schur=lsc is for a second field");
        return;
    }
    if (q.mass && how & SKEW) return; /* whose sign is the caller's */
    OK(kry_saddle_create(A, &q, &M));
    const bool symmetric = !(how & SKEW) && q.kind == KRY_SADDLE_DIAGONAL;
    if (symmetric) {
        kry_probe probe;
        OK(kry_op_probe(M, 1, &probe));
        assert_true(probe.symmetric && probe.positive);
    }
    check_apply(p, &q, M);
    kry_op_release(&M);
}

static void saddle__equals_dense_blocks(void **state)
{
    static const int64_t sizes[][2] = { { 2, 1 }, { 9, 4 }, { 40, 17 } };
    const kry_type type = type_of(state);

    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int how = 0; how < 16; how++) {
            point p = point_create(type, sizes[s][0], sizes[s][1], how);
            kry_op *A = op_of(&p, type);
            for (int kind = KRY_SADDLE_DIAGONAL; kind <= KRY_SADDLE_FULL; kind++)
                for (int schur = KRY_SCHUR_MASS; schur <= KRY_SCHUR_LSC; schur++) {
                    kry_saddle_params q = *KRY_SADDLE(.kind = (kry_saddle_kind)kind,
                                                      .schur = (kry_saddle_schur)schur);
                    check_kind(&p, A, q, how);
                    if (schur != KRY_SCHUR_MASS) continue;
                    q.mass = p.mass, q.scale = 0.5;
                    check_kind(&p, A, q, how);
                }
            kry_op_release(&A);
            point_release(&p);
        }
    assert_true(shifts_seen > 0);
}

static void saddle__keeps_the_contract(void **state)
{
    const kry_type type = type_of(state);

    for (int how = 0; how <= MIXED; how++) {
        point p = point_create(type, 21, 8, how);
        kry_op *A = op_of(&p, type), *M;
        const kry_saddle_params *q = KRY_SADDLE(.schur = KRY_SCHUR_MASS, .mass = p.mass,
                                                .kind = KRY_SADDLE_DIAGONAL, .first = "jacobi");
        double *m = calloc((size_t)(p.n * p.n), sizeof *m), *e = calloc((size_t)p.n, sizeof *e);
        assert_true(m && e);
        for (int64_t i = 0; i < p.n; i++) { /* M is symmetric */
            e[i] = 1;
            plain_saddle(&p, q, e, m + i * p.n);
            e[i] = 0;
        }
        matrix plain = matrix_from(m, p.n);
        OK(kry_saddle_create(A, q, &M));
        op_suite(M, &plain);
        kry_op_release(&M);
        kry_op_release(&A);
        matrix_release(&plain);
        free(m), free(e);
        point_release(&p);
    }
}

/* Rows, their fields one by one, and the signs of the diagonal say the same. */
static void saddle__finds_fields(void **state)
{
    const kry_type type = type_of(state);
    point p = point_create(type, 30, 11, PLAIN);
    kry_op *A = op_of(&p, type);
    double *r = random_array(type, p.n), *first = NULL;

    for (int i = 0; i < 3; i++) {
        const kry_saddle_params *q = i == 0 ? KRY_SADDLE(.kind = KRY_SADDLE_FULL)
                                     : i == 1
                                         ? KRY_SADDLE(.kind = KRY_SADDLE_FULL, .rows = 30)
                                         : KRY_SADDLE(.kind = KRY_SADDLE_FULL, .field = p.field);
        kry_op *M;
        kry_op_info info;
        kry_vec *x = vec_of(type, r, p.n, 1), *y = vec_of(type, r, p.n, 1);
        OK(kry_saddle_create(A, q, &M));
        OK(kry_op_apply(M, 1, x, 0, y));
        kry_op_describe(M, &info);
        assert_non_null(strstr(info.variant, "full of 30 and 11 rows, schur=simple"));
        assert_true(info.bytes_stored > 0);
        double *z = numbers_of(y);
        if (first) assert_same_bits(z, first, p.n);
        if (first)
            free(z);
        else
            first = z;
        kry_vec_release(&x), kry_vec_release(&y);
        kry_op_release(&M);
    }
    free(r), free(first);
    kry_op_release(&A);
    point_release(&p);
}

/* ---- use --------------------------------------------------------------------------------------- */

static kry_result solve(const kry_op *A, const char *options)
{
    const kry_type type = kry_op_get_shape(A)->type;
    const int64_t n = kry_op_get_shape(A)->rows;
    double *b = random_array(type, n);
    kry_vec *B = vec_of(type, b, n, 1), *x;
    kry_result result;
    kry_op *S;

    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_vec_fill(x, 0));
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    OK(kry_solve(S, B, x, &result));
    kry_op_release(&S);
    kry_vec_release(&x), kry_vec_release(&B);
    free(b);
    return result;
}

/* A solver in place of a preconditioner. */
static kry_status make_solver(void *user, const kry_op *block, int field, kry_op **M)
{
    ++*(int *)user;
    return field == 0
               ? kry_jacobi_create(block, M)
               : kry_solver_create(block, "method=pcg precond=none rtol=1e-6", NULL, NULL, M);
}

/* With F diagonal S is the Schur complement: blocks that are exact but for rounding leave a few steps of 55, whatever the kind. */
static void solve__by_exact_blocks(void **state)
{
    static const int most[] = { [KRY_SADDLE_DIAGONAL] = 5,
                                [KRY_SADDLE_LOWER] = 4,
                                [KRY_SADDLE_UPPER] = 4,
                                [KRY_SADDLE_FULL] = 3 };
    const kry_type type = type_of(state);
    point p = point_create(type, 40, 15, MIXED);

    for (int64_t i = 0; i < p.n; i++)
        for (int64_t j = 0; j < p.n; j++)
            if (i != j && !p.field[i] && !p.field[j]) p.a[i * p.n + j] = 0;
    kry_op *A = op_of(&p, type);
    double *b = random_array(type, p.n), *x = calloc((size_t)p.n, sizeof *x);
    assert_non_null(x);
    for (int kind = KRY_SADDLE_DIAGONAL; kind <= KRY_SADDLE_FULL; kind++) {
        int made = 0;
        kry_result result;
        kry_op *M, *S;
        OK(kry_saddle_create(A,
                             KRY_SADDLE(.kind = (kry_saddle_kind)kind, .schur = KRY_SCHUR_SIMPLE,
                                        .make = make_solver, .make_user = &made),
                             &M));
        assert_int_equal(made, 2);
        OK(kry_krylov_create(A, "fgmres", KRY_PCG(.precond = M, .stop.rtol = 1e-4), &S));
        memset(x, 0, (size_t)p.n * sizeof *x);
        OK(kry_solve_host(S, b, x, &result));
        print_message("# kind %d: %lld iterations\n", kind, (long long)result.iterations);
        assert_true(result.iterations <= most[kind]);
        OK(kry_op_update(M, NULL));
        assert_int_equal(made, 4);
        kry_op_release(&S);
        REFUSES(kry_krylov_create(A, "minres", KRY_PCG(.precond = M), &S), KRY_ERR_TYPE, "varies");
        kry_op_release(&M);
    }
    free(b), free(x);
    kry_op_release(&A);
    point_release(&p);
}

/* Iterations for Stokes's flow hardly grow with the cells, if the block of velocities has multigrid. The bounds leave room for
 * what devices round differently. */
static void solve__stokes(void **state)
{
    static const struct {
        const char *options;
        int most;
    } solvers[] = {
        { "method=minres precond=saddle rtol=1e-8", 65 },
        { "method=fgmres:60 precond=saddle:lower rtol=1e-8", 32 },
        { "method=gmres:60 precond=saddle:upper,mass,scale=1 rtol=1e-8", 32 },
        { "method=fgmres:60 "
          "precond=saddle:lower,lsc,first=method=pcg/precond=amg:degree=3+sweeps=1/"
          "rtol=0.1,second=method=pcg/precond=amg/rtol=0.01 rtol=1e-8",
          40 },
        { "method=minres precond=saddle:first=icc:2,second=jacobi precision=mixed rtol=1e-8",
          2000 },
    };
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");

    for (size_t s = 0; s < COUNT(solvers); s++)
        for (int N = 16; N <= 64; N *= 2) {
            char spec[32];
            kry_problem *problem;
            kry_op *A;
            if (too_large(3 * N * N)) continue;
            snprintf(spec, sizeof spec, "stokes2d:%d", N);
            OK(kry_problem_create(spec, 1, &problem));
            OK(kry_csr_create(device(), KRY_F64, problem->n, problem->n, problem->row_ptr,
                              problem->col, problem->val, NULL, &A));
            const kry_result result = solve(A, solvers[s].options);
            print_message("# %s, %s: %lld iterations\n", spec, solvers[s].options,
                          (long long)result.iterations);
            assert_true(result.iterations <= solvers[s].most);
            kry_op_release(&A);
            kry_problem_release(&problem);
        }
}

static void update__follows_new_values(void **state)
{
    const kry_type type = type_of(state);
    point p = point_create(type, 24, 9, MIXED);
    kry_op *A = op_of(&p, type), *M;
    kry_saddle_params q = *KRY_SADDLE(.kind = KRY_SADDLE_UPPER, .schur = KRY_SCHUR_LSC,
                                      .first = "jacobi", .second = "jacobi");

    OK(kry_saddle_create(A, &q, &M));
    for (int64_t e = 0; e < p.n * p.n; e++) p.a[e] *= 0.75;
    for (int64_t i = 0; i < p.n; i++) p.a[i * p.n + i] *= 1 + (double)(i % 3);
    matrix B = matrix_from(p.a, p.n);
    void *val = in_type(type, B.val, B.nnz);
    OK(kry_op_update(A, val));
    OK(kry_op_update(M, NULL));
    check_apply(&p, &q, M);
    REFUSES(kry_op_update(M, val), KRY_ERR_ARGUMENT, "'saddle' takes no values");
    free(val);
    for (int64_t e = 0; e < B.nnz; e++)
        B.val[e] = e % 2 ? B.val[e] : 0; /* F loses diagonal entries */
    val = in_type(type, B.val, B.nnz);
    OK(kry_op_update(A, val));
    REFUSES(kry_op_update(M, NULL), KRY_ERR_SINGULAR, "kry_saddle_create: ");
    check_apply(&p, &q, M); /* as before */
    kry_op_release(&M);
    assert_int_equal(op_references(A), 1);
    kry_op_release(&A);
    matrix_release(&B);
    free(val);
    point_release(&p);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void create__refuses(void **state)
{
    const kry_type type = type_of(state);
    point p = point_create(type, 12, 5, PLAIN), dependent = point_create(type, 12, 5, PLAIN);
    unsigned char bad_field[17] = { 0 };
    double bad_mass[5] = { 1, 1, 0, 1, 1 };
    char words[300];
    bad_field[3] = 2;
    memset(words, 'a', sizeof words - 1), words[sizeof words - 1] = 0;
    for (int64_t j = 0; j < 17; j++) dependent.a[14 * 17 + j] = dependent.a[j * 17 + 14] = 0;
    dependent.a[14 * 17 + 14] = 0;
    const struct {
        kry_saddle_params params;
        kry_status status;
        const char *says;
    } bad[] = {
        { *KRY_SADDLE(.rows = 17), KRY_ERR_ARGUMENT,
          "rows = 17 of the first field: they must be fewer" },
        { *KRY_SADDLE(.rows = -1), KRY_ERR_ARGUMENT, "rows = -1" },
        { *KRY_SADDLE(.field = bad_field), KRY_ERR_ARGUMENT, "field 2 of row 3" },
        { *KRY_SADDLE(.field = p.field, .rows = 3), KRY_ERR_ARGUMENT,
          "rows and field say the same" },
        { *KRY_SADDLE(.field = (unsigned char[17]){ 0 }), KRY_ERR_ARGUMENT, "the second field of" },
        { *KRY_SADDLE(.mass = bad_mass), KRY_ERR_ARGUMENT, "number 2 of mass is 0" },
        { *KRY_SADDLE(.scale = -1), KRY_ERR_ARGUMENT, "scale = -1" },
        { *KRY_SADDLE(.rows = 14, .schur = KRY_SCHUR_SIMPLE), KRY_ERR_SINGULAR,
          "the diagonal entry of row 12" },
        { *KRY_SADDLE(.first = "amgx"), KRY_ERR_PARSE,
          "kry_saddle_create: for the block of the first field, in whose rows these are: "
          "kry_precond_create: 'amgx'" },
        { *KRY_SADDLE(.first = "method=pcg/tolerance=1"), KRY_ERR_PARSE,
          "kry_saddle_create: for the block of the first field, in whose rows these are: "
          "kry_solver_create: 'tolerance'" },
        { *KRY_SADDLE(.first = "method=pcg/guess=project"), KRY_ERR_PARSE,
          "'method=pcg/guess=project': a block's solver is a Krylov method" },
        { *KRY_SADDLE(.first = "method=sor"), KRY_ERR_PARSE, "is a Krylov method" },
        { *KRY_SADDLE(.second = "chebyshev:x"), KRY_ERR_PARSE,
          "the Schur complement of the second field" },
        { *KRY_SADDLE(.first = words), KRY_ERR_ARGUMENT, "first has more than 255 bytes" },
        { *KRY_SADDLE(.kind = (kry_saddle_kind)9), KRY_ERR_ARGUMENT, "kind = 9" },
        { { .struct_size = 3 }, KRY_ERR_ARGUMENT, "params of 3 bytes" },
    };
    kry_op *A = op_of(&p, type), *D = op_of(&dependent, type), *M = A, *S;

    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_saddle_params q = bad[i].params;
        if (!q.schur && q.second) q.schur = KRY_SCHUR_SIMPLE;
        REFUSES(kry_saddle_create(A, &q, &M), bad[i].status, bad[i].says);
        assert_null(M);
    }
    REFUSES(kry_saddle_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_saddle_create(D, NULL, &M), KRY_ERR_SINGULAR,
            "in the second field, B2 diag(F)^-1 B1 - D has 0 on its diagonal");
    REFUSES(kry_solver_create(A, "method=minres precond=saddle:lower", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "the preconditioner 'saddle' is not symmetric");
    REFUSES(kry_solver_create(A, "method=minres precond=saddle:12 reorder=rcm", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "fields of precond=saddle");
    assert_int_equal(op_references(A), 1);
    kry_op_release(&A), kry_op_release(&D);
    point_release(&p), point_release(&dependent);
}

static void create__refuses_definite_matrices_and_teams(void **state)
{
    const kry_type type = type_of(state);
    static const int64_t row_ptr[] = { 0, 1, 2 };
    static const int32_t col[] = { 0, 1 };
    const double ones[] = { 1, 1 };
    void *val = in_type(type, ones, 2);
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    kry_op *A, *M;

    OK(kry_csr_create(device(), type, 2, 2, row_ptr, col, val, NULL, &A));
    REFUSES(kry_saddle_create(A, NULL, &M), KRY_ERR_ARGUMENT,
            "by the sign of the diagonal, has none");
    kry_op_release(&A);
    OK(kry_csr_create(team, type, 2, 2, row_ptr, col, val, NULL, &A));
    REFUSES(kry_saddle_create(A, NULL, &M), KRY_ERR_UNSUPPORTED, "this is a team of 2");
    kry_op_release(&A);
    close_team(&team);
    free(val);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(saddle__equals_dense_blocks),
        BOTH(saddle__keeps_the_contract),
        BOTH(saddle__finds_fields),
        BOTH(solve__by_exact_blocks),
        cmocka_unit_test(solve__stokes),
        BOTH(update__follows_new_values),
        BOTH(create__refuses),
        BOTH(create__refuses_definite_matrices_and_teams),
    };
    return cmocka_run_group_tests_name("saddle", tests, NULL, close_device);
}
