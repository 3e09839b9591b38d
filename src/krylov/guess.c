/*
 * guess.c - a starting guess from earlier solves with the same A.
 *
 *   r := b - A x,  x := x + X Y'r                  a solve begins; Y = A X is orthonormal
 *   d := x - its guess,  y := A d                  it has ended
 *   y := y - Y c,  d := d - X c,  c = Y'y          twice; they become the next columns, normalised
 *
 * Where there is no place left, rotations of neighbouring columns of X and Y put what only the oldest solution needs
 * into the last one, as where a column is deleted from a QR factorisation, and that is dropped. What the new
 * solution has of it goes into d.
 *
 * Storage     2 k + 1 vectors of n numbers
 * Per solve   two products; about 4 k words per unknown at its beginning and 30 k at its end
 * Source      P. F. Fischer, Projection techniques for iterative solution of A x = b with successive right-hand
 *             sides, Comput. Methods Appl. Mech. Engrg. 163 (1998), 193-204; in the norm of the residual instead
 *             of A's, so that A may be any matrix. Deleting a column: G. H. Golub, C. F. Van Loan, Matrix
 *             computations, 4th ed. (2013), 6.5.2
 */
#include "krylov/guess.h"
#include "krylov/stop.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdlib.h>

kry_status kryi_guess_create(const kry_op *A, int64_t most, kryi_guess **guess)
{
    kry_status st = KRY_OK;
    const kry_op_shape *s = &A->shape;
    kryi_guess *G = NULL;

    *guess = NULL;
    if (!most) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *G, &G));
    G->A = A, G->most = (int)most, G->updates = A->updates;
    TRY(kryi_vec_create_columns(A->dev, s->type, s->rows, most, &G->X));
    TRY(kryi_vec_create_columns(A->dev, s->type, s->rows, most, &G->Y));
    TRY(kry_vec_create(A->dev, s->type, s->rows, 1, &G->start));
    TRY(kry_sum_create(A->dev, G->most, &G->sum));
    *guess = G, G = NULL;
done:
    kryi_guess_release(&G);
    return st;
}

void kryi_guess_release(kryi_guess **guess)
{
    kryi_guess *G = *guess;

    *guess = NULL;
    if (!G) return;
    kry_sum_release(&G->sum);
    kry_vec_release(&G->start);
    kry_vec_release(&G->Y);
    kry_vec_release(&G->X);
    free(G);
}

/* c := Y'v. Waits. */
static kry_status multiply(kryi_guess *G, const kry_vec *v, double *c)
{
    kry_status st = KRY_OK;
    kry_vec block = kryi_vec_column(G->Y, 0);

    block.k = G->sum->width = G->count;
    TRY(kryi_vec_dots(&block, v, G->sum));
    TRY(kryi_sum_read(v->layout, G->sum, c));
done:
    return st;
}

/* v := v + sign V c */
static kry_status add(const kryi_guess *G, double sign, const kry_vec *V, const double *c,
                      kry_vec *v)
{
    kry_status st = KRY_OK;

    for (int j = 0; j < G->count; j++) {
        const kry_vec V_j = kryi_vec_column(V, j);
        TRY(kry_vec_axpby(sign * c[j], &V_j, 1, v));
    }
done:
    return st;
}

kry_status kryi_guess_start(kryi_guess *G, const kry_vec *b, kry_vec *r, kry_vec *x)
{
    kry_status st = KRY_OK;
    double c[KRY_GUESS_MOST];

    if (G->updates != G->A->updates) G->count = 0; /* Y is A X no longer */
    G->updates = G->A->updates;
    if (G->count) {
        TRY(multiply(G, b, G->b));
        TRY(kry_op_residual(G->A, b, x, r));
        TRY(multiply(G, r, c));
        TRY(add(G, 1, G->X, c, x));
    }
    TRY(kry_vec_copy(x, G->start));
done:
    return st;
}

/* ---- what a solve leaves ------------------------------------------------------------------------- */

/* (row i, row i + 1) := (cosine i + sine i + 1, cosine i + 1 - sine i) */
typedef struct rotation {
    double cosine, sine;
} rotation;

static void rotate_numbers(const rotation *by, double *upper, double *lower)
{
    const double u = *upper, l = *lower;
    *upper = by->cosine * u + by->sine * l, *lower = by->cosine * l - by->sine * u;
}

static kry_status rotate_columns(const rotation *by, const kry_vec *V, int i, kry_vec *room)
{
    kry_status st = KRY_OK;
    kry_vec u = kryi_vec_column(V, i), l = kryi_vec_column(V, i + 1);

    TRY(kry_vec_copy(&u, room));
    TRY(kry_vec_axpby(by->sine, &l, by->cosine, &u));
    TRY(kry_vec_axpby(-by->sine, room, by->cosine, &l));
done:
    return st;
}

/* Solution 0 goes: R without its first column has one diagonal too many, which rotations take from it. */
static kry_status delete_oldest(kryi_guess *G, kry_vec *room)
{
    kry_status st = KRY_OK;
    const int k = G->count;

    for (int j = 0; j + 1 < k; j++)
        for (int i = 0; i < k; i++) G->R[i][j] = G->R[i][j + 1];
    for (int i = 0; i + 1 < k; i++) {
        const double length = hypot(G->R[i][i], G->R[i + 1][i]);
        if (!(length > 0)) continue;
        const rotation by = { G->R[i][i] / length, G->R[i + 1][i] / length };
        for (int j = i; j + 1 < k; j++) rotate_numbers(&by, &G->R[i][j], &G->R[i + 1][j]);
        rotate_numbers(&by, &G->b[i], &G->b[i + 1]);
        TRY(rotate_columns(&by, G->X, i, room));
        TRY(rotate_columns(&by, G->Y, i, room));
    }
    G->count--;
done:
    return st;
}

/* ||v||^2. Waits. */
static kry_status square(kryi_guess *G, const kry_vec *v, double *sum)
{
    kry_status st = KRY_OK;

    G->sum->width = 1;
    TRY(kry_vec_dot_sum(v, v, G->sum));
    TRY(kryi_sum_read(v->layout, G->sum, sum));
done:
    return st;
}

/* y := y - Y c, d := d - X c with c = Y'y, which is added to the solution's numbers. */
static kry_status orthogonalise(kryi_guess *G, kry_vec *d, kry_vec *y)
{
    kry_status st = KRY_OK;
    double c[KRY_GUESS_MOST];

    for (int pass = 0; pass < 2 && G->count; pass++) {
        TRY(multiply(G, y, c));
        TRY(add(G, -1, G->Y, c, y));
        TRY(add(G, -1, G->X, c, d));
        for (int i = 0; i < G->count; i++) G->b[i] += c[i];
    }
done:
    return st;
}

/* Columns `count` of X and Y := d, y, normalised, and the solution's numbers in R. Nothing is kept of what the
 * columns have already but for rounding, and that is where a solve has taken no step. */
static kry_status append(kryi_guess *G, double whole, const kry_vec *d, const kry_vec *y)
{
    kry_status st = KRY_OK;
    const double noise = 100 * kryi_unit_roundoff(d->type);
    const int k = G->count;
    kry_vec X_k = kryi_vec_column(G->X, k), Y_k = kryi_vec_column(G->Y, k);
    double left;

    TRY(square(G, y, &left));
    if (!isfinite(left) || !(left > noise * noise * whole)) return KRY_OK;
    TRY(kry_vec_axpby(1 / sqrt(left), d, 0, &X_k));
    TRY(kry_vec_axpby(1 / sqrt(left), y, 0, &Y_k));
    for (int i = 0; i < k; i++) G->R[i][k] = G->b[i], G->R[k][i] = 0;
    G->R[k][k] = sqrt(left);
    G->count++;
done:
    return st;
}

kry_status kryi_guess_keep(kryi_guess *G, const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_vec *d = G->start;
    const bool full = G->count == G->most;
    double whole;

    if (full) TRY(delete_oldest(G, y));
    TRY(kry_vec_axpby(1, x, -1, d));
    TRY(G->A->table->apply(G->A->self, 1, d, 0, y));
    if (full) {
        const kry_vec X_old = kryi_vec_column(G->X, G->count),
                      Y_old = kryi_vec_column(G->Y, G->count);
        TRY(kry_vec_axpby(G->b[G->count], &X_old, 1, d));
        TRY(kry_vec_axpby(G->b[G->count], &Y_old, 1, y));
    }
    TRY(square(G, y, &whole));
    TRY(orthogonalise(G, d, y));
    TRY(append(G, whole, d, y));
done:
    return st;
}
