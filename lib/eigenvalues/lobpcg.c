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
#include "memory.h"
#include "method.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE = 50 /* iterations in which residuals have to fall; then a restart, and then no more */
};

typedef struct lobpcg {
    kryi_eigen *E;  /* borrowed; V holds X, then P, then W */
    int p, w;       /* columns of P and of W */
    bool anew;      /* A S and B S were computed from X, and there is no P */
    double *turn;   /* 3 block by 2 block: what S is turned by */
    double least;   /* of what is left to do; see remaining() */
    int64_t since;  /* the iteration when it was found, or the last restart */
    bool restarted; /* there, and nothing was gained since */
} lobpcg;

/* ---- Rayleigh and Ritz ---------------------------------------------------------------------- */

static kry_status check_small(const lobpcg *L, int s, const double *G)
{
    kry_status st = KRY_OK;
    double largest = L->E->result->norm_A, difference = 0;

    for (int i = 0; i < s * s; i++) {
        CHECK(isfinite(G[i]), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        largest = fmax(largest, fabs(G[i]));
        difference = fmax(difference, fabs(G[i] - G[i % s * s + i / s]));
    }
    /* of rounding alone there is far less, and of a matrix that is not symmetric as a rule far more */
    CHECK(
        difference <= sqrt(L->E->S.type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON) * largest,
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
    const int block = L->E->block;
    int count = block;

    for (int j = 0; j < block && L->p + L->w > 0 && count < s; j++) {
        double *p = Z + (size_t)count * (size_t)s, norm;
        if (!L->E->active[j]) continue;
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
    kryi_basis *S = &L->E->S;
    const int s = L->E->block + L->p + L->w;
    const double sign = L->E->params->largest ? -1 : 1;
    double *G = S->gram, *Z = S->vectors;

    TRY(kryi_basis_gram(S, S->V, s, S->AV, 0, s, G));
    MUST(check_small(L, s, G));
    for (int i = 0; i < s; i++)
        for (int j = 0; j <= i; j++)
            G[i * s + j] = G[j * s + i] = sign * (G[i * s + j] + G[j * s + i]) / 2;
    TRY(kry_small_eigen(s, G, Z, S->values, S->lengths + S->most));
    for (int j = 0; j < L->E->block; j++) L->E->value[j] = sign * S->values[j];
    L->p = directions(L, s, Z);
    const int cols = L->E->block + L->p;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < cols; j++) L->turn[i * cols + j] = Z[j * s + i];
    TRY(kryi_basis_turn(S, s, L->turn, cols));
    L->w = 0;
done:
    return st;
}

/* Digits that residuals have to lose, all together. */
static double remaining(const lobpcg *L)
{
    double digits = 0;

    for (int j = 0; j < L->E->wanted; j++)
        if (L->E->active[j]) digits += log10(L->E->residual[j] / L->E->rtol);
    return digits;
}

/* ---- iterations ----------------------------------------------------------------------------- */

/* X, of which `count` columns are there, is made orthonormal, and its images are computed. */
static kry_status begin(lobpcg *L, int count)
{
    kry_status st = KRY_OK;

    MUST(kryi_basis_orthonormalise(&L->E->S, 0, &count));
    MUST(kryi_eigen_complete(L->E, 0, &count, L->E->block));
    CHECK(count == L->E->block, KRY_BREAKDOWN,
          "kry_eigen: no %d vectors are orthonormal in x'B y beside the constraints", L->E->block);
    L->p = L->w = 0;
    TRY(kryi_eigen_multiply(L->E, 0, L->E->block));
    MUST(rotate(L));
    L->anew = true;
done:
    return st;
}

static kry_status restart(lobpcg *L)
{
    L->E->result->restarts++;
    return begin(L, L->E->block);
}

/* W := M R of the active columns; R stands in `room`. */
static kry_status precondition(lobpcg *L)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;
    int count = 0;

    for (int j = 0; j < L->E->block; j++)
        if (L->E->active[j]) {
            if (j != count) TRY(kryi_basis_apply(NULL, S->room, j, S->room, count, 1));
            count++;
        }
    TRY(kryi_basis_apply(L->E->params->precond, S->room, 0, S->V, L->E->block + L->p, count));
    L->w = count;
done:
    return st;
}

/* A step whose space is all that there is, or one with the residuals. */
static kry_status iterate(lobpcg *L)
{
    kry_status st = KRY_OK;

    if (L->E->all <= 3 * (int64_t)L->E->block) {
        L->p = 0, L->w = 0;
        MUST(kryi_eigen_complete(L->E, L->E->block, &L->w, (int)L->E->all - L->E->block));
    } else {
        TRY(precondition(L));
        MUST(kryi_basis_orthonormalise(&L->E->S, L->E->block + L->p, &L->w));
    }
    if (L->w > 0) TRY(kryi_eigen_multiply(L->E, L->E->block + L->p, L->w));
    MUST(rotate(L));
    L->anew = false;
done:
    return st;
}

/* Whether residuals still fall; the first time that they do not there is a restart. */
static kry_status check_progress(lobpcg *L, int64_t iteration)
{
    kry_status st = KRY_OK;
    const double left = remaining(L), gain = 0.05;

    if (left < L->least - gain) {
        L->least = left, L->since = iteration, L->restarted = false;
    } else if (iteration - L->since >= PATIENCE) {
        const int worst = kryi_eigen_worst(L->E);
        CHECK(
            !L->restarted, KRY_STAGNATED,
            "kry_eigen: residuals fall no more: %d of %d converged, and at %g the residual is %g, "
            "above %g; the precision may not give more",
            (int)L->E->result->converged, L->E->wanted, L->E->value[worst], L->E->residual[worst],
            L->E->rtol);
        MUST(restart(L));
        MUST(kryi_eigen_residuals(L->E));
        L->since = iteration, L->restarted = true;
    }
done:
    return st;
}

/* Until all that is asked for has converged. What ended it otherwise is the status. */
static kry_status run(lobpcg *L)
{
    kry_status st = KRY_OK;
    int64_t *const iteration = &L->E->result->iterations;

    for (;;) {
        MUST(kryi_eigen_residuals(L->E));
        if (L->E->result->converged == L->E->wanted && !L->anew) {
            MUST(restart(L));
            continue;
        }
        MUST(kryi_eigen_watch(L->E));
        if (L->E->result->converged == L->E->wanted) break;
        MUST(check_progress(L, *iteration));
        const int worst = kryi_eigen_worst(L->E);
        CHECK(
            *iteration < L->E->params->max_iter, KRY_NOT_CONVERGED,
            "kry_eigen: %d of %d converged in %lld iterations; at %g the residual is %g, above %g",
            (int)L->E->result->converged, L->E->wanted, (long long)*iteration, L->E->value[worst],
            L->E->residual[worst], L->E->rtol);
        ++*iteration;
        MUST(iterate(L));
    }
done:
    return st;
}

/* Values and residuals that were turned with X are computed anew. Returns `ended`, the status of run(), or an error. */
static kry_status finish(lobpcg *L, kry_status ended)
{
    kry_status st = KRY_OK;

    if (ended <= 0 || ended == KRY_BREAKDOWN || L->anew) return ended;
    MUST(begin(L, L->E->block));
    MUST(kryi_eigen_residuals(L->E));
done:
    return st == KRY_OK ? ended : st;
}

kry_status kryi_lobpcg(kryi_eigen *E)
{
    kry_status st = KRY_OK;
    lobpcg L = { .E = E, .least = INFINITY };
    const int block = E->params->block ? E->params->block : E->wanted + E->wanted / 4 + 1;

    E->block = block < E->most ? block : (int)E->most;
    MUST(kryi_eigen_prepare(E, 3 * E->block, 3 * E->block, 2 * E->block));
    TRY(kryi_allocate(6 * (size_t)E->block * (size_t)E->block, sizeof *L.turn, &L.turn));
    MUST(begin(&L, E->params->guess ? E->wanted : 0));
    MUST(finish(&L, run(&L)));
done:
    free(L.turn);
    return st;
}
