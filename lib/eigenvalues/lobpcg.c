/*
 * lobpcg.c - the locally optimal block preconditioned conjugate gradient method for A x = lambda B x.
 *
 *   R := A X - B X diag(lambda),  W := M R        of the columns that have not converged
 *   W := orthonormal, and orthogonal to X and P   (basis.h)
 *   S := [X P W],  S'A S = Z diag(theta) Z'       on the host
 *   X := S Z_1,  P := S C                         Z_1: the vectors of the least theta; C: these without their part along the old X,
 *                                                 made orthonormal to Z_1 and among themselves
 *
 * A S and B S are turned with S. So is what rounding has put there, and before a success is told all images are
 * computed anew from X, without P.
 *
 * Storage     S, A S, with B also B S, of 3 vectors for each column of X; 2 more
 * Per step    one product with the columns that have not converged, with B up to 3 products with B
 * Waits       for each small matrix
 * Breakdown   B is not positive definite; a number is not finite
 * Source      eigenvalues.h
 */
#include "basis.h"
#include "memory.h"
#include <float.h>
#include <kry/eigenvalues.h>
#include <kry/team.h>
#include <kry/transport.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_BLOCK = 80,
    PATIENCE = 50 /* iterations in which residuals have to fall; then a restart, and then no more */
};

typedef struct lobpcg {
    const kry_eigen_params *params;
    kryi_basis S;      /* X, then P, then W */
    int wanted, block; /* columns that are asked for, and those of X */
    int p, w;          /* columns of P and of W */
    double rtol;
    bool anew;                /* A S and B S were computed from X, and there is no P */
    bool *active;             /* columns of X that have not converged */
    double *value, *residual; /* of the columns of X */
    double *turn;             /* 3 block by 2 block: what S is turned by */
    double least;             /* of what is left to do; see remaining() */
    int64_t since;            /* the iteration when it was found, or the last restart */
    bool restarted;           /* there, and nothing was gained since */
    kry_eigen_result *result;
} lobpcg;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Column j of V := random numbers, others for each stream. */
static kry_status fill_random(lobpcg *L, int first, int count, uint64_t stream)
{
    kry_status st = KRY_OK;
    const kryi_basis *S = &L->S;
    kry_vec *v = NULL;
    void *numbers = NULL;

    TRY(kryi_allocate((uint64_t)(S->n * count), kry_type_size(S->type), &numbers));
    for (int j = 0; j < count; j++)
        for (int64_t i = 0; i < S->n; i++) {
            const double x =
                kry_random_unit(L->params->seed, stream + (uint64_t)j, (uint64_t)i) - 0.5;
            if (S->type == KRY_F32)
                ((float *)numbers)[j * S->n + i] = (float)x;
            else
                ((double *)numbers)[j * S->n + i] = x;
        }
    TRY(kry_vec_block(S->V, 0, S->n, first, count, &v));
    TRY(kry_vec_write(v, numbers));
done:
    kry_vec_release(&v);
    free(numbers);
    return st;
}

/* ---- Rayleigh and Ritz ---------------------------------------------------------------------- */

static kry_status check_small(const lobpcg *L, int s, const double *G)
{
    kry_status st = KRY_OK;
    double largest = L->result->norm_A, difference = 0;

    for (int i = 0; i < s * s; i++) {
        CHECK(isfinite(G[i]), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        largest = fmax(largest, fabs(G[i]));
        difference = fmax(difference, fabs(G[i] - G[i % s * s + i / s]));
    }
    /* of rounding alone there is far less, and of a matrix that is not symmetric as a rule far more */
    CHECK(
        difference <= sqrt(L->S.type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON) * largest,
        KRY_ERR_UNSUPPORTED,
        "kry_eigen: A is not symmetric: x'A y and y'A x differ by %g for some x and y of length 1",
        difference);
done:
    return st;
}

/* p := p less its parts along `count` rows of Z, which are orthonormal. Returns the norm that it then has. */
static double remove_rows(int s, int count, const double *Z, double *p)
{
    double square = 0;

    for (int j = 0; j < count; j++) {
        double along = 0;
        for (int i = 0; i < s; i++) along += Z[j * s + i] * p[i];
        for (int i = 0; i < s; i++) p[i] -= along * Z[j * s + i];
    }
    for (int i = 0; i < s; i++) square += p[i] * p[i];
    return sqrt(square);
}

static void scale(int s, double by, double *p)
{
    for (int i = 0; i < s; i++) p[i] *= by;
}

/* Rows block, block + 1, ... of Z := directions for the active columns: rows of Z without their part along X, orthonormal to the
 * rows before. Those of which nothing is left are left out. Returns how many there are.
 *   Z  on entry all eigenvectors, of which those behind X are not needed any more */
static int directions(const lobpcg *L, int s, double *Z)
{
    enum { TIMES = 2 };
    const double least = 1e-3; /* of a vector of length 1: then it depends on the others */
    const int block = L->block;
    int count = block;

    for (int j = 0; j < block && L->p + L->w > 0 && count < s; j++) {
        double *p = Z + (size_t)count * (size_t)s, norm;
        if (!L->active[j]) continue;
        memcpy(p, Z + (size_t)j * (size_t)s, (size_t)s * sizeof *p);
        memset(p, 0, (size_t)block * sizeof *p);
        norm = remove_rows(s, 0, Z, p);
        if (!(norm > 0)) continue;
        scale(s, 1 / norm, p);
        for (int time = 0; time < TIMES; time++) norm = remove_rows(s, count, Z, p);
        if (!(norm > least)) continue;
        scale(s, 1 / norm, p);
        remove_rows(s, count, Z, p);
        count++;
    }
    return count - block;
}

/* X := the best vectors of [X P W], P := the directions from the old ones. */
static kry_status rotate(lobpcg *L)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->S;
    const int s = L->block + L->p + L->w;
    const double sign = L->params->largest ? -1 : 1;
    double *G = S->gram, *Z = S->vectors;

    TRY(kryi_basis_gram(S, S->V, s, S->AV, 0, s, G));
    MUST(check_small(L, s, G));
    for (int i = 0; i < s; i++)
        for (int j = 0; j <= i; j++)
            G[i * s + j] = G[j * s + i] = sign * (G[i * s + j] + G[j * s + i]) / 2;
    TRY(kry_small_eigen(s, G, Z, S->values, S->lengths + S->most));
    for (int j = 0; j < L->block; j++) L->value[j] = sign * S->values[j];
    L->p = directions(L, s, Z);
    const int cols = L->block + L->p;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < cols; j++) L->turn[i * cols + j] = Z[j * s + i];
    TRY(kryi_basis_turn(S, s, L->turn, cols));
    L->w = 0;
done:
    return st;
}

/* ---- residuals ------------------------------------------------------------------------------ */

/* Column j of room := A x_j - lambda_j B x_j */
static kry_status write_residual(lobpcg *L, int j)
{
    kry_status st = KRY_OK;
    const kryi_basis *S = &L->S;
    kry_vec *Ax = NULL, *Bx = NULL, *r = NULL;

    TRY(kry_vec_view(S->AV, j, &Ax));
    TRY(kry_vec_view(S->BV, j, &Bx));
    TRY(kry_vec_view(S->room, j, &r));
    TRY(kry_vec_triad(-L->value[j], Bx, Ax, r));
done:
    kry_vec_release(&Ax), kry_vec_release(&Bx), kry_vec_release(&r);
    return st;
}

static double unit_of(const lobpcg *L, int j)
{
    return L->result->norm_A + fabs(L->value[j]) * L->result->norm_B;
}

static kry_status find_residuals(lobpcg *L)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->S;
    const int m = L->block;

    for (int j = 0; j < m; j++) TRY(write_residual(L, j));
    TRY(kryi_basis_gram(S, S->room, m, S->room, 0, m, S->gram));
    for (int j = 0; j < m; j++) L->residual[j] = sqrt(fmax(0, S->gram[j * m + j]));
    if (S->B) TRY(kryi_basis_gram(S, S->V, m, S->V, 0, m, S->gram));
    for (int j = 0; j < m; j++) {
        const double unit = unit_of(L, j) * (S->B ? sqrt(S->gram[j * m + j]) : 1);
        if (unit > 0) L->residual[j] /= unit; /* A = 0: they are 0 */
        CHECK(isfinite(L->residual[j]), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        L->active[j] = L->residual[j] > L->rtol;
    }
    L->result->converged = 0;
    for (int j = 0; j < L->wanted; j++) L->result->converged += !L->active[j];
done:
    return st;
}

/* Digits that residuals have to lose, all together. */
static double remaining(const lobpcg *L)
{
    double digits = 0;

    for (int j = 0; j < L->wanted; j++)
        if (L->active[j]) digits += log10(L->residual[j] / L->rtol);
    return digits;
}

static int worst_of(const lobpcg *L)
{
    int worst = 0;

    for (int j = 1; j < L->wanted; j++)
        if (L->residual[j] > L->residual[worst]) worst = j;
    return worst;
}

/* ---- iterations ----------------------------------------------------------------------------- */

static kry_status multiply(lobpcg *L, int first, int count)
{
    L->S.products += count;
    return kryi_basis_apply(L->S.A, L->S.V, first, L->S.AV, first, count);
}

/* Random columns besides the `count` that there are behind the first ones of V, until they are `wanted`, all orthonormal. */
static kry_status complete(lobpcg *L, int first, int *count, int wanted)
{
    enum { TIMES = 6 };
    kry_status st = KRY_OK;

    for (int time = 0; time < TIMES && *count < wanted; time++) {
        int more = wanted - *count;
        TRY(fill_random(L, first + *count, more, (uint64_t)(first + time * 4 * MOST_BLOCK)));
        MUST(kryi_basis_orthonormalise(&L->S, first + *count, &more));
        *count += more;
    }
done:
    return st;
}

/* X, of which `count` columns are there, is made orthonormal, and its images are computed. */
static kry_status begin(lobpcg *L, int count)
{
    kry_status st = KRY_OK;

    MUST(kryi_basis_orthonormalise(&L->S, 0, &count));
    MUST(complete(L, 0, &count, L->block));
    CHECK(count == L->block, KRY_BREAKDOWN,
          "kry_eigen: no %d vectors are orthonormal in x'B y beside the constraints", L->block);
    L->p = L->w = 0;
    TRY(multiply(L, 0, L->block));
    MUST(rotate(L));
    L->anew = true;
done:
    return st;
}

static kry_status restart(lobpcg *L)
{
    L->result->restarts++;
    return begin(L, L->block);
}

/* W := M R of the active columns; R stands in `room`. */
static kry_status precondition(lobpcg *L)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->S;
    int count = 0;

    for (int j = 0; j < L->block; j++)
        if (L->active[j]) {
            if (j != count) TRY(kryi_basis_apply(NULL, S->room, j, S->room, count, 1));
            count++;
        }
    TRY(kryi_basis_apply(L->params->precond, S->room, 0, S->V, L->block + L->p, count));
    L->w = count;
done:
    return st;
}

/* A step whose space is all that there is, or one with the residuals. */
static kry_status iterate(lobpcg *L, int64_t all)
{
    kry_status st = KRY_OK;

    if (all <= 3 * (int64_t)L->block) {
        L->p = 0, L->w = 0;
        MUST(complete(L, L->block, &L->w, (int)all - L->block));
    } else {
        TRY(precondition(L));
        MUST(kryi_basis_orthonormalise(&L->S, L->block + L->p, &L->w));
    }
    if (L->w > 0) TRY(multiply(L, L->block + L->p, L->w));
    MUST(rotate(L));
    L->anew = false;
done:
    return st;
}

static kry_status watch(const lobpcg *L, int64_t iteration)
{
    const int worst = worst_of(L);
    const kry_eigen_step step = { .iteration = iteration,
                                  .converged = L->result->converged,
                                  .residual = L->residual[worst],
                                  .value = L->value[worst] };

    if (!L->params->monitor || !L->params->monitor(L->params->monitor_user, &step)) return KRY_OK;
    return kry_fail(KRY_STOPPED, "kry_eigen: the monitor stopped it");
}

/* Whether residuals still fall; the first time that they do not there is a restart. */
static kry_status check_progress(lobpcg *L, int64_t iteration)
{
    kry_status st = KRY_OK;
    const double left = remaining(L), gain = 0.05;

    if (left < L->least - gain) {
        L->least = left, L->since = iteration, L->restarted = false;
    } else if (iteration - L->since >= PATIENCE) {
        const int worst = worst_of(L);
        CHECK(
            !L->restarted, KRY_STAGNATED,
            "kry_eigen: residuals fall no more: %d of %d converged, and at %g the residual is %g, "
            "above %g; the precision may not give more",
            (int)L->result->converged, L->wanted, L->value[worst], L->residual[worst], L->rtol);
        MUST(restart(L));
        MUST(find_residuals(L));
        L->since = iteration, L->restarted = true;
    }
done:
    return st;
}

/* Until all that is asked for has converged. What ended it otherwise is the status. */
static kry_status run(lobpcg *L, int64_t all)
{
    kry_status st = KRY_OK;
    int64_t *const iteration = &L->result->iterations;

    for (;;) {
        MUST(find_residuals(L));
        if (L->result->converged == L->wanted && !L->anew) {
            MUST(restart(L));
            continue;
        }
        MUST(watch(L, *iteration));
        if (L->result->converged == L->wanted) break;
        MUST(check_progress(L, *iteration));
        const int worst = worst_of(L);
        CHECK(
            *iteration < L->params->max_iter, KRY_NOT_CONVERGED,
            "kry_eigen: %d of %d converged in %lld iterations; at %g the residual is %g, above %g",
            (int)L->result->converged, L->wanted, (long long)*iteration, L->value[worst],
            L->residual[worst], L->rtol);
        ++*iteration;
        MUST(iterate(L, all));
    }
done:
    return st;
}

/* Values and residuals that were turned with X are computed anew. Returns `ended`, the status of run(), or an error. */
static kry_status finish(lobpcg *L, kry_status ended)
{
    kry_status st = KRY_OK;

    if (ended <= 0 || ended == KRY_BREAKDOWN || L->anew) return ended;
    MUST(begin(L, L->block));
    MUST(find_residuals(L));
done:
    return st == KRY_OK ? ended : st;
}

/* A lower bound of the norm of op, by powers of it. It uses the first two columns of V. */
static kry_status estimate_norm(lobpcg *L, const kry_op *op, double *norm)
{
    enum { STEPS = 8 };
    kry_status st = KRY_OK;
    kry_vec *x[2] = { NULL, NULL };
    double size;

    *norm = 0;
    TRY(fill_random(L, 0, 1, 3 * MOST_BLOCK));
    TRY(kry_vec_view(L->S.V, 0, &x[0]));
    TRY(kry_vec_view(L->S.V, 1, &x[1]));
    TRY(kry_vec_norm2(x[0], &size));
    for (int i = 0; i < STEPS && size > 0; i++) {
        TRY(kry_vec_axpby(1 / size, x[i % 2], 0, x[i % 2]));
        TRY(kry_op_apply(op, 1, x[i % 2], 0, x[1 - i % 2]));
        TRY(kry_vec_norm2(x[1 - i % 2], &size));
        CHECK(isfinite(size), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        *norm = fmax(*norm, size);
    }
    st = KRY_OK;
done:
    kry_vec_release(&x[0]), kry_vec_release(&x[1]);
    return st;
}

/* ---- the call ------------------------------------------------------------------------------- */

static kry_status check_operator(const kry_op *A, const char *name, const kry_op *op)
{
    kry_status st = KRY_OK;

    if (!op) goto done;
    const kry_op_shape *a = kry_op_get_shape(A), *b = kry_op_get_shape(op);
    CHECK(a->rows == b->rows && b->rows == b->cols, KRY_ERR_SHAPE,
          "kry_eigen: A is %lld-by-%lld, %s is %lld-by-%lld", (long long)a->rows,
          (long long)a->cols, name, (long long)b->rows, (long long)b->cols);
    CHECK(a->type == b->type, KRY_ERR_TYPE, "kry_eigen: A is %s, %s is %s", kry_type_name(a->type),
          name, kry_type_name(b->type));
    CHECK(kry_op_device(A) == kry_op_device(op), KRY_ERR_ARGUMENT,
          "kry_eigen: A and %s live on different devices", name);
done:
    return st;
}

static kry_status check_vectors(const kry_op *A, const char *name, const kry_vec *V)
{
    kry_status st = KRY_OK;

    if (!V) goto done;
    const kry_op_shape *shape = kry_op_get_shape(A);
    CHECK(kry_vec_rows(V) == shape->rows, KRY_ERR_SHAPE, "kry_eigen: A has %lld rows, %s has %lld",
          (long long)shape->rows, name, (long long)kry_vec_rows(V));
    CHECK(kry_vec_cols(V) >= 1 && kry_vec_cols(V) <= KRY_EIGEN_MOST, KRY_ERR_ARGUMENT,
          "kry_eigen: %s has %lld columns, not 1 to %d", name, (long long)kry_vec_cols(V),
          (int)KRY_EIGEN_MOST);
    CHECK(kry_vec_type(V) == shape->type, KRY_ERR_TYPE, "kry_eigen: A is %s, %s is %s",
          kry_type_name(shape->type), name, kry_type_name(kry_vec_type(V)));
    CHECK(kry_vec_device(V) == kry_op_device(A), KRY_ERR_ARGUMENT,
          "kry_eigen: A and %s live on different devices", name);
done:
    return st;
}

static kry_status check(const kry_op *A, const kry_eigen_params *p, const kry_vec *X)
{
    kry_status st = KRY_OK;

    CHECK(A && X, KRY_ERR_ARGUMENT, "kry_eigen: %s is NULL", A ? "X" : "A");
    const kry_op_shape *shape = kry_op_get_shape(A);
    const double unit = shape->type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    CHECK(kry_team_size(kry_op_device(A)) == 1 && !kry_team_is_ranks(kry_op_device(A)),
          KRY_ERR_UNSUPPORTED, "kry_eigen: A lies on several devices; it works on one");
    TRY(check_operator(A, "A", A));
    TRY(check_operator(A, "B", p->B));
    TRY(check_operator(A, "precond", p->precond));
    TRY(check_vectors(A, "X", X));
    TRY(check_vectors(A, "constraints", p->constraints));
    CHECK(p->rtol == 0 || (p->rtol >= unit && p->rtol < 1), KRY_ERR_ARGUMENT,
          "kry_eigen: rtol is %g, not from %g to 1", p->rtol, unit);
    CHECK(p->max_iter >= 0, KRY_ERR_ARGUMENT, "kry_eigen: max_iter is %lld, negative",
          (long long)p->max_iter);
    CHECK(p->block == 0 || (p->block >= kry_vec_cols(X) && p->block <= MOST_BLOCK),
          KRY_ERR_ARGUMENT, "kry_eigen: block is %d, not from the %lld columns of X to %d",
          p->block, (long long)kry_vec_cols(X), (int)MOST_BLOCK);
done:
    return st;
}

/* Make all that an iteration needs. *all: the dimension of the space where x is sought. */
static kry_status prepare(lobpcg *L, const kry_op *A, const kry_vec *X, int64_t *all)
{
    kry_status st = KRY_OK;
    const kry_eigen_params *p = L->params;
    const int q = p->constraints ? (int)kry_vec_cols(p->constraints) : 0;
    const int64_t n = kry_op_get_shape(A)->rows, most = n - q;
    const int block = p->block ? p->block : L->wanted + L->wanted / 4 + 1;

    CHECK(L->wanted <= most, KRY_ERR_ARGUMENT,
          "kry_eigen: X has %d columns, but A has %lld rows, and there are %d constraints",
          L->wanted, (long long)n, q);
    L->block = block < most ? block : (int)most;
    TRY(kryi_basis_create(A, p->B, 3 * L->block > q ? 3 * L->block : q,
                          2 * L->block > q ? 2 * L->block : q, &L->S));
    TRY(kryi_allocate((size_t)L->block, sizeof *L->active, &L->active));
    TRY(kryi_allocate((size_t)L->block, sizeof *L->value, &L->value));
    TRY(kryi_allocate((size_t)L->block, sizeof *L->residual, &L->residual));
    TRY(kryi_allocate(6 * (size_t)L->block * (size_t)L->block, sizeof *L->turn, &L->turn));
    L->result->norm_B = 1;
    MUST(estimate_norm(L, A, &L->result->norm_A));
    if (p->B) MUST(estimate_norm(L, p->B, &L->result->norm_B));
    if (p->constraints) MUST(kryi_basis_constrain(&L->S, p->constraints));
    *all = n - (L->S.Q ? kry_vec_cols(L->S.Q) : 0);
    if (p->guess) TRY(kryi_basis_apply(NULL, X, 0, L->S.V, 0, L->wanted));
done:
    return st;
}

static void hand_out(const lobpcg *L, kry_status st)
{
    kry_eigen_result *r = L->result;

    r->products = L->S.products;
    for (int j = 0; j < L->wanted && L->value; j++)
        r->value[j] = L->value[j], r->residual[j] = L->residual[j];
    if (st != KRY_OK)
        snprintf(r->why, sizeof r->why, "%s", kry_last_error());
    else
        snprintf(r->why, sizeof r->why, "%d of %d converged in %lld iterations", L->wanted,
                 L->wanted, (long long)r->iterations);
}

static void release(lobpcg *L)
{
    kryi_basis_release(&L->S);
    free(L->active), free(L->value), free(L->residual), free(L->turn);
}

kry_status kry_eigen_sized(const kry_op *A, const kry_eigen_params *params, kry_vec *X,
                           kry_eigen_result *result, size_t result_size)
{
    kry_status st = KRY_OK;
    kry_eigen_params p = { 0 };
    kry_eigen_result r = { 0 };
    lobpcg L = { .params = &p, .result = &r, .least = INFINITY };
    const double start = seconds_now();
    int64_t all = 0;

    kryi_fill_in(&r, sizeof r, result, result_size);
    if (params) TRY(kryi_take_params("kry_eigen", "KRY_EIGEN", params, &p, sizeof p));
    TRY(check(A, &p, X));
    if (p.max_iter == 0) p.max_iter = 1000;
    if (p.seed == 0) p.seed = 1;
    L.wanted = (int)kry_vec_cols(X);
    L.rtol = p.rtol > 0 ? p.rtol : kry_vec_type(X) == KRY_F32 ? 1e-5 : 1e-9;
    st = prepare(&L, A, X, &all);
    if (st == KRY_OK) st = begin(&L, p.guess ? L.wanted : 0);
    if (st == KRY_OK) st = finish(&L, run(&L, all));
    if (st < 0) goto done;
    hand_out(&L, st);
    const kry_status copied = kryi_basis_apply(NULL, L.S.V, 0, X, 0, L.wanted);
    if (copied < 0) st = copied;
    r.seconds = seconds_now() - start;
    if (st >= 0) kryi_fill_in(&r, sizeof r, result, result_size);
done:
    release(&L);
    return st;
}
