/*
 * recycle.c - eigenvectors of M A to its smallest eigenvalues from the vectors of conjugate gradients.
 *
 *   v_j := z_j / sqrt(r_j'z_j),  T := V'A V      z_j = M r_j; tridiagonal, from alpha and beta
 *   V := V Y,  T := Y'T Y                        where V is full: Y from the eigenvectors of T to its smallest
 *                                                eigenvalues, and from those of T without its last row and column
 *
 * The columns are orthonormal with respect to the inverse of M, so that Ritz vectors of the pencil (A, M^-1) are
 * V times eigenvectors of T. What is left of several windows is nearly as good as if all z_j had been kept.
 *
 * Storage     4 k vectors of n numbers, for k that are kept
 * Per step    2 words per unknown; every 2 k steps 4 k read and 2 k written, and a wait
 * At the end  the choice of vectors, below
 * Source      A. Stathopoulos, K. Orginos, Computing and deflating eigenvalues while solving multiple right-hand side
 *             linear systems with an application to quantum chromodynamics, SIAM J. Sci. Comput. 32 (2010), 439-462.
 *             Deflated conjugate gradients whose vectors solves leave: Y. Saad, M. Yeung, J. Erhel, F. Guyomarc'h, A
 *             deflated version of the conjugate gradient algorithm, SIAM J. Sci. Comput. 21 (2000), 1909-1926
 */
#include "precond/recycle.h"
#include "device/state.h"
#include "operator/op_parts.h"
#include "precond/span.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status kryi_recycle_create(const kry_op *A, int most, kryi_recycle **recycle)
{
    kry_status st = KRY_OK;
    const kry_op_shape *s = &A->shape;
    const int m = KRY_RECYCLE_WINDOW * most, kept = KRY_RECYCLE_RESTART * most;
    int wide = KRY_RECYCLE_WINDOW;

    while (wide < kept) wide *= 2; /* no more than m */
    const size_t square = (size_t)m * (size_t)m, coefficients = (size_t)m * (size_t)wide;
    const size_t acc = kryi_acc_size(A->dev), word = kry_type_size(s->type);
    kryi_recycle *R = NULL;

    *recycle = NULL;
    TRY(kryi_alloc(1, sizeof *R, &R));
    R->A = A, R->most = most, R->window = m, R->wide = wide, R->updates = -1;
    TRY(kryi_vec_create_columns(A->dev, s->type, s->rows, m, &R->V));
    TRY(kry_sum_create(A->dev, kept, &R->sum));
    TRY(kryi_buffer_create(A->dev, (uint64_t)m * STATE_SIZE * acc, &R->log));
    TRY(kryi_alloc((uint64_t)m * STATE_SIZE, acc, &R->read));
    TRY(kryi_buffer_create(A->dev, coefficients * word, &R->C));
    TRY(kryi_alloc(coefficients, word, &R->C_read));
    TRY(kryi_alloc(square, sizeof *R->T, &R->T));
    TRY(kryi_alloc((size_t)m, sizeof *R->by, &R->by));
    TRY(kryi_alloc((size_t)m, sizeof *R->coupling, &R->coupling));
    for (size_t i = 0; i < COUNT(R->room); i++)
        TRY(kryi_alloc(square, sizeof **R->room, &R->room[i]));
    *recycle = R, R = NULL;
done:
    kryi_recycle_release(&R);
    return st;
}

void kryi_recycle_release(kryi_recycle **recycle)
{
    kryi_recycle *R = *recycle;

    *recycle = NULL;
    if (!R) return;
    for (size_t i = 0; i < COUNT(R->room); i++) free(R->room[i]);
    free(R->coupling);
    free(R->by);
    free(R->T);
    free(R->C_read);
    free(R->read);
    kryi_buffer_release(R->A->dev, &R->C);
    kryi_buffer_release(R->A->dev, &R->log);
    kry_sum_release(&R->sum);
    kry_vec_release(&R->V);
    free(R);
}

double kryi_recycle_bytes(const kryi_recycle *R)
{
    return (double)R->V->ld * (double)R->window * (double)kry_type_size(R->V->type);
}

/* ---- a window -------------------------------------------------------------------------------------- */

void kryi_recycle_begin(kryi_recycle *R)
{
    R->count = R->kept = 0, R->alpha = 0;
    R->open = R->updates != R->A->updates, R->ended = false;
}

static double logged(const kryi_recycle *R, int column, int scalar)
{
    const kry_type acc = kryi_acc_type(R->V->dev);
    return kryi_number_at(acc, R->read, (int64_t)column * STATE_SIZE + scalar);
}

/* Read what is known of the steps behind all z; *good: how many of them were taken. Waits. */
static kry_status read_log(kryi_recycle *R, int *good)
{
    kry_status st = KRY_OK;
    const size_t block = STATE_SIZE * kryi_acc_size(R->V->dev);

    *good = R->kept;
    TRY(kryi_buffer_read(R->V->dev, R->log, (size_t)R->kept * block,
                         (size_t)(R->count - R->kept) * block,
                         (char *)R->read + (size_t)R->kept * block));
    while (*good < R->count && logged(R, *good, STATE_STOP) == GO_ON) (*good)++;
done:
    return st;
}

/* Rows `kept` ... count - 1 of T, and what makes these columns of V as long as the others. */
static void fill_T(kryi_recycle *R, int count)
{
    const int m = R->window, kept = R->kept;
    double before = R->alpha;

    for (int j = kept; j < count; j++) {
        const double alpha = logged(R, j, STATE_ALPHA), beta = logged(R, j, STATE_BETA);
        const double beside = before > 0 ? -sqrt(beta) / before : 0;
        double *row = R->T + j * m;
        memset(row, 0, (size_t)m * sizeof *row);
        row[j] = 1 / alpha + (before > 0 ? beta / before : 0);
        for (int i = 0; i < j; i++) {
            if (j == kept) row[i] = R->coupling[i] * beside;
            if (j > kept && i == j - 1) row[i] = beside;
            R->T[i * m + j] = row[i];
        }
        R->by[j] = 1 / sqrt(logged(R, j, STATE_RHO));
        before = alpha;
    }
    R->alpha = before;
}

/* Y := eigenvectors of the leading n-by-n part of T to its `wanted` smallest eigenvalues, rows of `count`
 * numbers each. */
static bool leading_vectors(kryi_recycle *R, int n, int count, int wanted, double *Y)
{
    const int m = R->window;
    double *A = R->room[1], *Q = R->room[2], *values = R->room[3], *room = values + n;

    for (int i = 0; i < n; i++) memcpy(A + i * n, R->T + i * m, (size_t)n * sizeof *A);
    if (kry_small_eigen(n, A, Q, values, room) < 0) return false;
    for (int i = 0; i < wanted; i++) {
        memset(Y + i * count, 0, (size_t)count * sizeof *Y);
        memcpy(Y + i * count, Q + i * n, (size_t)n * sizeof *Y);
    }
    return true;
}

/* Make the rows of Y orthonormal; those that depend on others go. Returns how many are left. */
static int orthonormalise(int rows, int count, double *Y)
{
    int left = 0;

    for (int i = 0; i < rows; i++) {
        double *y = Y + left * count, norm = 0;
        memmove(y, Y + i * count, (size_t)count * sizeof *y);
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < left; k++) {
                double sum = 0;
                for (int c = 0; c < count; c++) sum += Y[k * count + c] * y[c];
                for (int c = 0; c < count; c++) y[c] -= sum * Y[k * count + c];
            }
        for (int c = 0; c < count; c++) norm += y[c] * y[c];
        if (!(norm > 1e-20)) continue;
        for (int c = 0; c < count; c++) y[c] /= sqrt(norm);
        left++;
    }
    return left;
}

/* Y := Q Y, rows of `count` numbers; room: as many numbers as Y has */
static void multiply_rows(int rows, int count, const double *Q, double *room, double *Y)
{
    memset(room, 0, (size_t)(rows * count) * sizeof *room);
    for (int e = 0; e < rows * count; e++)
        for (int k = 0; k < rows; k++)
            room[e] += Q[e / count * rows + k] * Y[k * count + e % count];
    memcpy(Y, room, (size_t)(rows * count) * sizeof *Y);
}

/* Ritz vectors within the span of the rows of Y, which they become, and their values. */
static bool rotate(kryi_recycle *R, int rows, int count, double *Y, double *values)
{
    const int m = R->window;
    double *H = R->room[1], *Q = R->room[2], *TY = R->room[3], *room = R->room[4];

    for (int i = 0; i < rows; i++)
        for (int c = 0; c < count; c++) {
            double sum = 0;
            for (int k = 0; k < count; k++) sum += R->T[c * m + k] * Y[i * count + k];
            TY[i * count + c] = sum;
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double sum = 0;
            for (int c = 0; c < count; c++) sum += Y[i * count + c] * TY[j * count + c];
            H[i * rows + j] = sum;
        }
    if (kry_small_eigen(rows, H, Q, values, room) < 0) return false;
    multiply_rows(rows, count, Q, TY, Y);
    return true;
}

/* Columns 0 ... wide - 1 of V := its first `count`, made as long as `by` says, times the `rows` rows of Y, which have
 * `count` numbers; zeros behind these. Waits. */
static kry_status recycle_combine(kryi_recycle *R, int count, int rows, const double *Y)
{
    kry_status st = KRY_OK;
    const int wide = R->wide;
    const kry_type type = R->V->type;

    for (int c = 0; c < count; c++)
        for (int i = 0; i < wide; i++)
            kryi_number_put(type, R->C_read, c * wide + i,
                            i < rows ? R->by[c] * Y[i * count + c] : 0);
    TRY(kryi_buffer_write(R->V->dev, R->C, 0, (size_t)(count * wide) * kry_type_size(type),
                          R->C_read));
    TRY(kryi_span_combine(R->V, count, wide, R->C));
done:
    return st;
}

/* V is full: leave Ritz vectors in its place. */
static kry_status compress(kryi_recycle *R)
{
    kry_status st = KRY_OK;
    const int count = R->count, m = R->window, most = R->most;
    double *Y = R->room[0], values[KRY_RECYCLE_RESTART * KRY_RECYCLE_MOST];
    int rows = KRY_RECYCLE_RESTART * most;

    fill_T(R, count);
    R->open = leading_vectors(R, count, count, most, Y) &&
              leading_vectors(R, count - 1, count, most, Y + most * count);
    if (R->open) rows = orthonormalise(rows, count, Y);
    R->open = R->open && rotate(R, rows, count, Y, values);
    if (!R->open) return KRY_OK;
    TRY(recycle_combine(R, count, rows, Y));
    for (int i = 0; i < rows; i++) {
        memset(R->T + i * m, 0, (size_t)m * sizeof *R->T);
        R->T[i * m + i] = values[i];
        R->coupling[i] = Y[i * count + count - 1];
        R->by[i] = 1;
    }
    R->count = R->kept = rows;
done:
    return st;
}

/* The step behind the last z, wherever it belongs. */
static kry_status note(kryi_recycle *R, cl_mem step)
{
    const size_t block = STATE_SIZE * kryi_acc_size(R->V->dev);

    if (R->count == R->kept) return KRY_OK;
    return kryi_buffer_copy(R->V->dev, step, 0, R->log, (size_t)(R->count - 1) * block, block);
}

kry_status kryi_recycle_take(kryi_recycle *R, const kry_vec *z, cl_mem step)
{
    kry_status st = KRY_OK;
    int good;

    if (!R->open) return KRY_OK;
    TRY(note(R, step));
    if (R->count == R->window) {
        TRY(read_log(R, &good));
        if (good < R->count)
            return KRY_OK; /* the device has stopped, and its host is about to see it */
        TRY(compress(R));
        if (!R->open) return KRY_OK;
    }
    kry_vec column = kryi_vec_column(R->V, R->count);
    TRY(kry_vec_copy(z, &column));
    R->count++;
done:
    return st;
}

kry_status kryi_recycle_end(kryi_recycle *R, cl_mem step)
{
    kry_status st = KRY_OK;
    double *Y = R->room[0];
    int good;

    if (!R->open) return KRY_OK;
    R->open = false; /* a cycle that begins anew does not go on with these vectors */
    TRY(note(R, step));
    TRY(read_log(R, &good));
    if (good == 0) return KRY_OK;
    fill_T(R, good);
    const int rows = good < R->most ? good : R->most;
    if (!leading_vectors(R, good, good, rows, Y)) return KRY_OK;
    TRY(recycle_combine(R, good, rows, Y));
    R->count = rows, R->ended = true;
done:
    return st;
}

/* ---- the choice of vectors ------------------------------------------------------------------- */

/*
 * Of the vectors W that a solve has left and those of earlier ones, which deflate best.
 *
 *   G := (A W)'M (A W),  F := W'A W,  G y = theta F y       the vectors W y for the smallest theta
 *
 * That is the Rayleigh-Ritz method for A^(1/2) M A^(1/2), which has the eigenvalues of M A, and needs no inverse of M.
 *
 * Cost  a product with A and M for each column of W
 */

/* count columns of V from column `from` on */
static kry_vec block_of(const kryi_recycle *R, int from, int count)
{
    kry_vec block = kryi_vec_column(R->V, from);
    block.k = count;
    return block;
}

/* row j of G := column j of (AW)'M (AW), and of F := W'A W. Waits. */
static kry_status multiply(kryi_recycle *R, const kry_op *M, int w, kry_vec *t, double *G,
                           double *F)
{
    kry_status st = KRY_OK;
    const kry_vec W = block_of(R, 0, w);
    kry_vec AW = block_of(R, KRY_RECYCLE_RESTART * R->most, w);

    TRY(kry_op_apply(R->A, 1, &W, 0, &AW));
    for (int j = 0; j < w; j++) {
        const kry_vec AW_j = kryi_vec_column(&AW, j);
        R->sum->width = w;
        TRY(kryi_vec_dots(&W, &AW_j, R->sum));
        TRY(kryi_sum_read(t->layout, R->sum, F + j * w));
        TRY(M ? kry_op_apply(M, 1, &AW_j, 0, t) : kry_vec_copy(&AW_j, t));
        TRY(kryi_vec_dots(&AW, t, R->sum));
        TRY(kryi_sum_read(t->layout, R->sum, G + j * w));
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
static int independent(const kryi_recycle *R, int w, const double *F, double *Y)
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
static bool diagonalise(kryi_recycle *R, int rows, int w, const double *G, double *Y,
                        double *values)
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
    if (kry_small_eigen(rows, H, Q, values, room) < 0) return false;
    multiply_rows(rows, w, Q, H, Y);
    return true;
}

kry_status kryi_recycle_choose(kryi_recycle *R, const kry_op *M, const kry_vec *old, kry_vec *t,
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
        const kry_vec from = kryi_vec_column(old, j);
        kry_vec to = kryi_vec_column(R->V, w);
        TRY(kry_vec_copy(&from, &to));
    }
    TRY(multiply(R, M, w, t, G, F));
    int rows = independent(R, w, F, Y);
    if (rows == 0 || !diagonalise(R, rows, w, G, Y, values)) return KRY_OK;
    if (rows > R->most) rows = R->most;
    for (int i = 0; i < w; i++) R->by[i] = 1;
    TRY(recycle_combine(R, w, rows, Y));
    for (int i = 0; i < rows; i++) R->values[i] = values[i];
    R->found = rows, R->updates = R->A->updates;
    *Z = block_of(R, 0, rows);
done:
    return st;
}
