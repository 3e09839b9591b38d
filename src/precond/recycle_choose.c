/*
 * recycle_choose.c - of the vectors W that a solve has left and those of earlier ones, which deflate best.
 *
 *   G := (A W)'M (A W),  F := W'A W,  G y = theta F y       the vectors W y for the smallest theta
 *
 * That is the Rayleigh-Ritz method for A^(1/2) M A^(1/2), which has the eigenvalues of M A, and needs no inverse of M.
 *
 * Cost  a product with A and M for each column of W
 */
#include "operator/op_parts.h"
#include "precond/eigen.h"
#include "precond/recycle.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* count columns of V from column `from` on */
static kry_vec block_of(const kry_recycle *R, int from, int count)
{
    kry_vec block = kry_vec_column(R->V, from);
    block.k = count;
    return block;
}

/* row j of G := column j of (AW)'M (AW), and of F := W'A W. Waits. */
static kry_status multiply(kry_recycle *R, const kry_op *M, int w, kry_vec *t, double *G, double *F)
{
    kry_status st = KRY_OK;
    const kry_vec W = block_of(R, 0, w);
    kry_vec AW = block_of(R, KRY_RECYCLE_RESTART * R->most, w);

    TRY(kry_op_apply(R->A, 1, &W, 0, &AW));
    for (int j = 0; j < w; j++) {
        const kry_vec AW_j = kry_vec_column(&AW, j);
        R->sum->width = w;
        TRY(kry_vec_dots(&W, &AW_j, R->sum));
        TRY(kry_sum_read(t->layout, R->sum, F + j * w));
        TRY(M ? kry_op_apply(M, 1, &AW_j, 0, t) : kry_vec_copy(&AW_j, t));
        TRY(kry_vec_dots(&AW, t, R->sum));
        TRY(kry_sum_read(t->layout, R->sum, G + j * w));
    }
done:
    return st;
}

static double mean_of(const double *A, int n, int i, int j)
{
    return 0.5 * (A[i * n + j] + A[j * n + i]);
}

/* Rows of Y: as many vectors as do not depend on others, with Y F Y' = I. F becomes D F D with ones on its diagonal,
 * in the order of steps of Cholesky's factors, the largest pivot first. Returns how many. */
static int independent(const kry_recycle *R, int w, const double *F, double *Y)
{
    const double least = sqrt(R->V->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    double d[KRY_RECYCLE_RESTART * KRY_RECYCLE_MOST];
    int rows = 0;

    for (int i = 0; i < w; i++) d[i] = F[i * w + i] > 0 ? 1 / sqrt(F[i * w + i]) : 0;
    for (int i = 0; i < w; i++) {
        double *y = Y + rows * w, size = 0;
        memset(y, 0, (size_t)w * sizeof *y);
        y[i] = d[i];
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < rows; k++) {
                double sum = 0;
                for (int a = 0; a < w; a++)
                    for (int b = 0; b < w; b++) sum += Y[k * w + a] * mean_of(F, w, a, b) * y[b];
                for (int a = 0; a < w; a++) y[a] -= sum * Y[k * w + a];
            }
        for (int a = 0; a < w; a++)
            for (int b = 0; b < w; b++) size += y[a] * mean_of(F, w, a, b) * y[b];
        if (!(size > least) || !isfinite(size)) continue;
        for (int a = 0; a < w; a++) y[a] /= sqrt(size);
        rows++;
    }
    return rows;
}

/* Y := rows of Q Y with Q (Y G Y') Q' diagonal. */
static bool diagonalise(kry_recycle *R, int rows, int w, const double *G, double *Y, double *values)
{
    double *H = R->room[3], *Q = R->room[4], *room = H + w * w;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double sum = 0;
            for (int a = 0; a < w; a++)
                for (int b = 0; b < w; b++)
                    sum += Y[i * w + a] * mean_of(G, w, a, b) * Y[j * w + b];
            H[i * rows + j] = sum;
        }
    if (!kry_eigen_symmetric(rows, H, Q, values, room)) return false;
    for (int i = 0; i < rows; i++)
        for (int a = 0; a < w; a++) {
            double sum = 0;
            for (int k = 0; k < rows; k++) sum += Q[i * rows + k] * Y[k * w + a];
            H[i * w + a] = sum;
        }
    memcpy(Y, H, (size_t)(rows * w) * sizeof *Y);
    return true;
}

kry_status kry_recycle_choose(kry_recycle *R, const kry_op *M, const kry_vec *old, kry_vec *t,
                              kry_vec *Z)
{
    kry_status st = KRY_OK;
    double *G = R->room[0], *F = R->room[1], *Y = R->room[2];
    double values[KRY_RECYCLE_RESTART * KRY_RECYCLE_MOST];
    int w = R->count;

    *Z = block_of(R, 0, 0);
    if (!R->ended) return KRY_OK;
    R->ended = false;
    for (int64_t j = 0; old && j < old->k; j++, w++) {
        const kry_vec from = kry_vec_column(old, j);
        kry_vec to = kry_vec_column(R->V, w);
        TRY(kry_vec_copy(&from, &to));
    }
    TRY(multiply(R, M, w, t, G, F));
    int rows = independent(R, w, F, Y);
    if (rows == 0 || !diagonalise(R, rows, w, G, Y, values)) return KRY_OK;
    if (rows > R->most) rows = R->most;
    for (int i = 0; i < w; i++) R->by[i] = 1;
    TRY(kry_recycle_combine(R, w, rows, Y));
    for (int i = 0; i < rows; i++) R->values[i] = values[i];
    R->found = rows, R->updates = R->A->updates;
    *Z = block_of(R, 0, rows);
done:
    return st;
}
