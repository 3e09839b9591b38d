/*
 * lanczos.c - the thick-restart Lanczos method for A x = lambda B x.
 *
 *   C := A,  B^-1 A,  or (A - sigma B)^-1 B       symmetric in the inner product x'B y
 *   w := C v_j,  w := w - V (V'B w)  twice,  v_j+1 := w / ||w||      until V is full; first along v_j and v_j-1 alone
 *   T := V'B C V = Z diag(theta) Z'               on the host
 *   V := [V Z_1, v_last]                          Z_1: the vectors of the best theta; and so on
 *
 * T is filled with all that Gram-Schmidt subtracts, and so needs no special form after a restart.
 *
 * A Krylov space of one vector holds one vector of a multiple eigenvalue, but for rounding. So once the wanted pairs have
 * converged, the method goes on from a random vector orthogonal to them, until what is left of the spectrum is seen to end
 * behind them, or a better pair comes up and takes its place.
 *
 * Storage     V and with B also B V; A X of the wanted vectors; as many more as are kept at a restart
 * Per step    one product with C, with B one more with B; V is read twice
 * Waits       three times for each step
 * Breakdown   B is not positive definite; a number is not finite. Where w vanishes a random vector takes its place.
 * Source      eigenvalues.h
 */
#include "memory.h"
#include "method.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lanczos {
    kryi_eigen *E;         /* borrowed */
    const kry_op *inverse; /* of A - sigma B, or of B; NULL: there is neither */
    kry_op *factors;       /* the same, where kry made it; owned */
    int size;              /* vectors of a full basis */
    int kept;              /* of these, at the last restart */
    double *T;             /* size-by-size, row by row */
    double *copy, *Z;      /* the same; row i of Z is the vector to theta[i] */
    double *theta, *along, *room;
    int *order;    /* numbers of theta, the wanted ones first */
    double scale;  /* the largest |theta| */
    double last;   /* length of the part of C v that lies outside of a full basis */
    double demand; /* what estimates of the wanted residuals have to meet */
    double sum;    /* of the ranks of the wanted pairs when they were locked */
    double shift;  /* sigma, or a number beside it; see invert() */
    bool locked;   /* the wanted pairs have converged, and others are sought beside them */
    bool drawn;    /* since begin() a random vector has taken the place of the last one */
} lanczos;

static double roundoff(const lanczos *L)
{
    return L->E->S.type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

/* ---- the space ------------------------------------------------------------------------------ */

/* Column j + 1 of V := C v_j */
static kry_status multiply(lanczos *L, int j)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;

    if (L->E->params->nearest) {
        TRY(kryi_basis_apply(L->inverse, S->BV, j, S->V, j + 1, 1));
        goto done;
    }
    S->products++;
    TRY(kryi_basis_apply(S->A, S->V, j, S->B ? S->room : S->V, S->B ? 0 : j + 1, 1));
    if (S->B) TRY(kryi_basis_apply(L->inverse, S->room, 0, S->V, j + 1, 1));
done:
    return st;
}

/* Column j of V := a random vector, orthonormal to those before. It is another one each time: the part of one vector in an
 * eigenspace is found but once. */
static kry_status draw(lanczos *L, int j)
{
    kry_status st = KRY_OK;
    int count = 0;

    L->E->draws++;
    MUST(kryi_eigen_complete(L->E, j, &count, 1));
    CHECK(count == 1, KRY_BREAKDOWN,
          "kry_eigen: no %d vectors are orthonormal in x'B y beside the constraints", j + 1);
done:
    return st;
}

/* Column j of T, of which the part above the diagonal is known already in a first space. */
static kry_status fill(lanczos *L, int j)
{
    kry_status st = KRY_OK;
    const int s = L->size;
    double *T = L->T, largest = L->E->params->nearest ? 0 : L->E->result->norm_A, apart = 0;

    /* factors of an ill-conditioned matrix lose digits */
    const double allowed = pow(roundoff(L), L->E->params->nearest ? 0.25 : 0.5);

    for (int i = 0; i <= j; i++) {
        largest = fmax(largest, fabs(L->along[i]));
        if (i < j) apart = fmax(apart, fabs(L->along[i] - T[j * s + i]));
        T[i * s + j] = T[j * s + i] = L->along[i];
    }
    CHECK(
        L->kept > 0 || apart <= allowed * fmax(largest, L->scale), KRY_ERR_UNSUPPORTED,
        "kry_eigen: A is not symmetric, or %s is not exact: x'A y and y'A x differ by %g for some "
        "x and y of length 1",
        L->inverse ? "an inverse" : "its product", apart);
    L->scale = fmax(L->scale, largest);
done:
    return st;
}

/* From `kept` vectors, and the next one, to a full basis and one vector more. */
static kry_status extend(lanczos *L)
{
    enum { FEW = 10 };
    kry_status st = KRY_OK;

    for (int j = L->kept; j < L->size; j++) {
        TRY(multiply(L, j));
        MUST(kryi_basis_append(&L->E->S, j + 1, j > L->kept ? j - 1 : 0, L->along, &L->last));
        MUST(fill(L, j));
        if (L->last <= FEW * roundoff(L) * L->scale) {
            L->last = 0;
            if (j + 1 < L->size) MUST(draw(L, j + 1));
        }
        if (j + 1 < L->size) L->T[(j + 1) * L->size + j] = L->last;
    }
done:
    return st;
}

/* ---- its pairs ------------------------------------------------------------------------------ */

/* The smaller, the sooner it is wanted. */
static double rank_of(const lanczos *L, double theta)
{
    if (L->E->params->nearest) return -fabs(theta);
    return L->E->params->largest ? -theta : theta;
}

static double part_outside(const lanczos *L, int t)
{
    return L->last * fabs(L->Z[L->order[t] * L->size + L->size - 1]);
}

/* About the residual that the pair number t has, relative as in eigenvalues.h. */
static double estimate(const lanczos *L, int t)
{
    const double unit = L->E->params->nearest ? fabs(L->theta[L->order[t]]) : L->scale;
    return unit > 0 ? part_outside(L, t) / unit : 0;
}

static double value_of(const lanczos *L, int t)
{
    const double theta = L->theta[L->order[t]];
    return L->E->params->nearest ? L->shift + 1 / theta : theta;
}

/* As rank_of, for an eigenvalue of A. */
static double rank_of_value(const lanczos *L, double value)
{
    if (L->E->params->nearest) return fabs(value - L->E->params->sigma);
    return L->E->params->largest ? -value : value;
}

/* order[0] ... := numbers of theta by their rank; what ranks alike stays as it is. */
static void sort_pairs(lanczos *L, int count, double (*rank)(const lanczos *L, double theta))
{
    for (int i = 0; i < count; i++) {
        int t = i;
        for (; t > 0 && rank(L, L->theta[i]) < rank(L, L->theta[L->order[t - 1]]); t--)
            L->order[t] = L->order[t - 1];
        L->order[t] = i;
    }
}

/* The pairs of T, and how many of the wanted ones meet the demand. */
static kry_status find_pairs(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    const int s = L->size;

    memcpy(L->copy, L->T, (size_t)s * (size_t)s * sizeof *L->T);
    TRY(kry_small_eigen(s, L->copy, L->Z, L->theta, L->room));
    L->scale = fmax(fabs(L->theta[0]), fabs(L->theta[s - 1]));
    sort_pairs(L, s, rank_of);
    E->result->converged = 0;
    for (int t = 0; t < E->wanted; t++) {
        E->value[t] = value_of(L, t), E->residual[t] = estimate(L, t);
        E->result->converged += E->residual[t] <= L->demand;
    }
done:
    return st;
}

/* V := [V Z_1, v_last] with `count` columns in Z_1 */
static kry_status restart(lanczos *L, int count)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;
    const int s = L->size;
    double *T = L->T;

    for (int i = 0; i < s; i++)
        for (int t = 0; t < count; t++) L->copy[i * count + t] = L->Z[L->order[t] * s + i];
    TRY(kryi_basis_turn(S, s, L->copy, count));
    memset(T, 0, (size_t)s * (size_t)s * sizeof *T);
    for (int t = 0; t < count; t++) T[t * s + t] = L->theta[L->order[t]];
    L->kept = count;
    if (count == s) goto done;
    if (L->last == 0) {
        MUST(draw(L, count));
        goto done;
    }
    TRY(kryi_basis_apply(NULL, S->V, s, S->V, count, 1));
    if (S->B) TRY(kryi_basis_apply(NULL, S->BV, s, S->BV, count, 1));
done:
    return st;
}

/* Residuals of the wanted vectors, which are the first columns of V, from products with A and B. */
static kry_status check_pairs(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    kryi_basis *S = &E->S;
    const int k = E->wanted;

    TRY(kryi_eigen_multiply(E, 0, k));
    if (S->B) TRY(kryi_basis_apply(S->B, S->V, 0, S->BV, 0, k));
    TRY(kryi_basis_gram(S, S->V, k, S->AV, 0, k, S->gram));
    for (int j = 0; j < k; j++) E->value[j] = S->gram[j * k + j];
    MUST(kryi_eigen_residuals(E));
done:
    return st;
}

/* Make the wanted vectors orthonormal once more, and eigenvectors of A in their span, in order. */
static kry_status polish(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    kryi_basis *S = &E->S;
    int k = E->wanted;
    double *G = S->gram;

    MUST(kryi_basis_orthonormalise(S, 0, &k));
    CHECK(k == E->wanted, KRY_BREAKDOWN, "kry_eigen: the vectors found depend on each other");
    TRY(kryi_eigen_multiply(E, 0, k));
    TRY(kryi_basis_gram(S, S->V, k, S->AV, 0, k, G));
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++)
            G[i * k + j] = G[j * k + i] = (G[i * k + j] + G[j * k + i]) / 2;
    TRY(kry_small_eigen(k, G, L->Z, L->theta, L->room));
    sort_pairs(L, k, rank_of_value);
    for (int i = 0; i < k; i++)
        for (int t = 0; t < k; t++) L->copy[i * k + t] = L->Z[L->order[t] * k + i];
    TRY(kryi_basis_turn(S, k, L->copy, k));
    MUST(check_pairs(L));
done:
    return st;
}

/* ---- iterations ----------------------------------------------------------------------------- */

/* The space begins with the sum of the first `count` columns of V; with a random vector, if that is 0. */
static kry_status begin(lanczos *L, int count)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;
    kry_vec *sum = NULL, *x = NULL;
    int one = count > 0;

    TRY(kry_vec_view(S->V, 0, &sum));
    for (int j = 1; j < count; j++) {
        TRY(kry_vec_view(S->V, j, &x));
        TRY(kry_vec_axpby(1, x, 1, sum));
        kry_vec_release(&x);
    }
    MUST(kryi_basis_orthonormalise(S, 0, &one));
    if (!one) MUST(draw(L, 0));
    memset(L->T, 0, (size_t)L->size * (size_t)L->size * sizeof *L->T);
    L->kept = 0, L->locked = L->drawn = false;
done:
    kry_vec_release(&sum), kry_vec_release(&x);
    return st;
}

/* A residual is larger than its estimate: estimates have to become smaller. */
static kry_status demand_more(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    const int worst = kryi_eigen_worst(E);

    CHECK(L->demand > roundoff(L), KRY_STAGNATED,
          "kry_eigen: residuals fall no more: %d of %d converged, and at %g the residual is %g, "
          "above "
          "%g; the precision may not give more",
          (int)E->result->converged, E->wanted, E->value[worst], E->residual[worst], E->rtol);
    L->demand = fmax(L->demand / 10, roundoff(L));
    if (!L->drawn) goto done;
    E->result->restarts++;
    MUST(begin(L, E->wanted));
done:
    return st;
}

static double sum_of_ranks(const lanczos *L)
{
    double sum = 0;

    for (int t = 0; t < L->E->wanted; t++) sum += rank_of(L, L->theta[L->order[t]]);
    return sum;
}

/* Whether the best pair beside the wanted ones is seen to lie behind them, or with the last of them. Its theta is off by no more
 * than the part outside, and by the square of it over the distance from the rest of the spectrum (Kato and Temple). */
static bool is_apart(const lanczos *L)
{
    const int k = L->E->wanted;
    const double rank = rank_of(L, L->theta[L->order[k]]),
                 before = rank - rank_of(L, L->theta[L->order[k - 1]]),
                 behind = k + 1 < L->size ? rank_of(L, L->theta[L->order[k + 1]]) - rank : 0,
                 part = part_outside(L, k);

    return part * part < fmax(part, behind) * fmax(before / 10, L->E->rtol * L->scale);
}

/* The wanted estimates meet the demand. *done: that is a success. */
static kry_status take_pairs(lanczos *L, bool *done)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    const bool whole = L->size == E->all;

    MUST(restart(L, E->wanted));
    if (whole || L->locked)
        MUST(polish(L));
    else
        MUST(check_pairs(L));
    if (E->result->converged < E->wanted) {
        MUST(demand_more(L));
    } else if (whole || L->locked) {
        *done = true;
    } else {
        MUST(draw(L, E->wanted));
        L->locked = L->drawn = true;
        L->sum = sum_of_ranks(L);
    }
done:
    return st;
}

/* Until all that is asked for has converged. What ended it otherwise is the status. */
static kry_status run(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    kry_eigen_result *r = E->result;
    const int keep = E->wanted + (L->size - E->wanted) / 2;

    for (bool done = false; !done;) {
        MUST(extend(L));
        MUST(find_pairs(L));
        r->iterations++;
        const bool all = r->converged == E->wanted;
        MUST(kryi_eigen_watch(E));
        /* a better pair has come up beside them: it may not be the only one */
        if (!all || sum_of_ranks(L) < L->sum - E->rtol * L->scale) L->locked = false;
        if (all && (!L->locked || is_apart(L))) {
            MUST(take_pairs(L, &done));
            continue;
        }
        const int worst = kryi_eigen_worst(E);
        CHECK(r->iterations < E->params->max_iter, KRY_NOT_CONVERGED,
              "kry_eigen: %d of %d converged in %lld iterations; at %g the residual is about %g, "
              "above %g",
              (int)r->converged, E->wanted, (long long)r->iterations, E->value[worst],
              E->residual[worst], E->rtol);
        MUST(restart(L, keep < L->size ? keep : L->size - 1));
    }
done:
    return st;
}

/* Without a success the caller gets the last vectors, with their residuals. */
static kry_status finish(lanczos *L, kry_status ended)
{
    kry_status st = KRY_OK;

    if (ended != KRY_STOPPED && ended != KRY_NOT_CONVERGED) return ended;
    MUST(restart(L, L->E->wanted));
    MUST(polish(L));
done:
    return st == KRY_OK ? ended : st;
}

/* *unit := the smallest |a_ii| that is not 0. Eigenvalues of a badly scaled matrix may lie far below roundoff times ||A||, but
 * seldom far below that. */
static kry_status find_unit(lanczos *L, double *unit)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;
    kry_vec *d = NULL;
    void *numbers = NULL;

    TRY(kryi_allocate((uint64_t)S->n, kry_type_size(S->type), &numbers));
    TRY(kry_vec_view(S->room, 0, &d));
    TRY(kry_op_diagonal(S->A, d));
    TRY(kry_vec_read(d, numbers));
    *unit = INFINITY;
    for (int64_t i = 0; i < S->n; i++) {
        const double a = fabs(S->type == KRY_F32 ? ((float *)numbers)[i] : ((double *)numbers)[i]);
        if (a > 0) *unit = fmin(*unit, a);
    }
    if (!isfinite(*unit)) *unit = L->E->result->norm_A;
done:
    free(numbers);
    kry_vec_release(&d);
    return st;
}

/* With x from the factors for a random b, *error := ||b - (A - shift B) x|| / ||b||, *growth := ||x|| / ||b|| */
static kry_status find_error(lanczos *L, double *error, double *growth)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &L->E->S;
    const int spare = S->most - 1;
    kry_vec *b = NULL, *x = NULL;
    double norm_b, norm_r, norm_x;

    TRY(kryi_eigen_random(L->E, spare, 1, 1));
    TRY(kry_vec_view(S->V, spare, &b));
    TRY(kry_vec_view(S->room, 0, &x));
    TRY(kryi_basis_apply(L->factors, S->V, spare, S->room, 0, 1));
    TRY(kry_vec_norm2(b, &norm_b));
    TRY(kry_op_apply(S->A, -1, x, 1, b));
    TRY(S->B ? kry_op_apply(S->B, L->shift, x, 1, b) : kry_vec_axpby(L->shift, x, 1, b));
    TRY(kry_vec_norm2(b, &norm_r));
    TRY(kry_vec_norm2(x, &norm_x));
    *error = norm_r / norm_b, *growth = norm_x / norm_b;
done:
    kry_vec_release(&b), kry_vec_release(&x);
    return st;
}

/* Factors of A - shift B, where shift is sigma unless that is so near an eigenvalue that the factors are none. */
static kry_status invert(lanczos *L)
{
    kry_status st = KRY_OK;
    const kryi_eigen *E = L->E;
    const kry_op *B = E->params->B;
    const double half = sqrt(roundoff(L)); /* of the digits */
    double error = INFINITY, growth = 0, unit;

    st = kryi_invert_shifted(E->A, B, L->shift, &L->factors);
    if (st == KRY_OK) TRY(find_error(L, &error, &growth));
    if (st < 0 && st != KRY_ERR_SINGULAR) goto done;
    TRY(find_unit(L, &unit));
    if (error < half && growth * unit < 1 / half) goto done;
    kry_op_release(&L->factors);
    L->shift -= half * (E->result->norm_A / E->result->norm_B + fabs(L->shift));
    TRY(kryi_invert_shifted(E->A, B, L->shift, &L->factors));
done:
    return st;
}

static kry_status prepare(lanczos *L)
{
    kry_status st = KRY_OK;
    kryi_eigen *E = L->E;
    const kry_eigen_params *p = E->params;
    const int k = E->wanted, usual = 2 * k + 8 > 40 ? 2 * k + 8 : 40;
    const int asked = p->basis ? p->basis : usual;
    const int most = E->most < asked ? (int)E->most : asked;

    E->block = k;
    MUST(kryi_eigen_prepare(E, most + 1, k, most));
    L->size = E->all < asked ? (int)E->all : asked;
    if (L->size > most) L->size = most;
    const size_t s = (size_t)L->size, square = s * s;
    TRY(kryi_allocate(square, sizeof *L->T, &L->T));
    TRY(kryi_allocate(square, sizeof *L->copy, &L->copy));
    TRY(kryi_allocate(square, sizeof *L->Z, &L->Z));
    TRY(kryi_allocate(s, sizeof *L->theta, &L->theta));
    TRY(kryi_allocate(s + 1, sizeof *L->along, &L->along));
    TRY(kryi_allocate(3 * s, sizeof *L->room, &L->room));
    TRY(kryi_allocate(s, sizeof *L->order, &L->order));
    L->demand = fmax(E->rtol / 10, roundoff(L));
    L->inverse = p->inverse;
    L->shift = p->sigma;
    if (p->nearest && !p->inverse) TRY(invert(L));
    if (!p->nearest && p->B) TRY(kryi_invert_mass(p->B, &L->factors));
    if (L->factors) L->inverse = L->factors;
done:
    return st;
}

kry_status kryi_lanczos(kryi_eigen *E)
{
    kry_status st = KRY_OK;
    lanczos L = { .E = E };

    MUST(prepare(&L));
    MUST(begin(&L, E->params->guess ? E->wanted : 0));
    MUST(finish(&L, run(&L)));
done:
    kry_op_release(&L.factors);
    free(L.T), free(L.copy), free(L.Z), free(L.theta), free(L.along), free(L.room), free(L.order);
    return st;
}
