/* small_block.c - dense matrices of a few rows: inverses, positive definiteness. */
#include "precond/small_block.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Scale by powers of two that bring the largest entry of each row, then of each column, near one:
 * what is small afterwards is small by cancellation. false: a row or column is zero. */
static bool equilibrate(kry_small_block *B, double *by_row, double *by_col)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < B->size; i++) {
            double most = 0, *by = side ? by_col : by_row;
            int exponent;
            for (int j = 0; j < B->size; j++)
                most = fmax(most, fabs(side ? B->a[j][i] : B->a[i][j]));
            if (!(most > 0)) return false;
            frexp(most, &exponent);
            by[i] = ldexp(1, -exponent);
            for (int j = 0; j < B->size; j++) *(side ? &B->a[j][i] : &B->a[i][j]) *= by[i];
        }
    return true;
}

static void swap_rows(kry_small_block *B, int i, int k)
{
    double row[KRY_MOST_BLOCK];
    memcpy(row, B->a[i], sizeof row);
    memcpy(B->a[i], B->a[k], sizeof row);
    memcpy(B->a[k], row, sizeof row);
}

/* Gauss-Jordan elimination with the largest pivot of each column: I becomes the inverse of B. */
static bool eliminate(kry_small_block *B, kry_small_block *I)
{
    int n = B->size;

    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(B->a[i][k]) > fabs(B->a[best][k])) best = i;
        if (!(fabs(B->a[best][k]) > 4 * n * DBL_EPSILON)) return false;
        swap_rows(B, k, best), swap_rows(I, k, best);
        double pivot = B->a[k][k];
        for (int j = 0; j < n; j++) B->a[k][j] /= pivot, I->a[k][j] /= pivot;
        for (int i = 0; i < n; i++) {
            double by = B->a[i][k];
            if (i == k || by == 0) continue;
            for (int j = 0; j < n; j++)
                B->a[i][j] -= by * B->a[k][j], I->a[i][j] -= by * I->a[k][j];
        }
    }
    return true;
}

static void symmetrise(kry_small_block *B)
{
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < i; j++) B->a[i][j] = B->a[j][i] = (B->a[i][j] + B->a[j][i]) / 2;
}

bool kry_small_block_invert(kry_small_block *B, bool symmetric)
{
    double by_row[KRY_MOST_BLOCK] = { 0 }, by_col[KRY_MOST_BLOCK] = { 0 };
    kry_small_block I = { .size = B->size };

    if (symmetric) symmetrise(B);
    if (!equilibrate(B, by_row, by_col)) return false;
    for (int i = 0; i < B->size; i++) I.a[i][i] = 1;
    if (!eliminate(B, &I)) return false;
    for (int i = 0; i < B->size; i++)
        for (int j = 0; j < B->size; j++) B->a[i][j] = by_col[i] * I.a[i][j] * by_row[j];
    if (symmetric) symmetrise(B);
    return true;
}

bool kry_small_block_is_positive(const kry_small_block *B)
{
    kry_small_block L = *B;

    for (int k = 0; k < B->size; k++) {
        for (int j = 0; j < k; j++) L.a[k][k] -= L.a[k][j] * L.a[k][j];
        if (!(L.a[k][k] > 0)) return false;
        L.a[k][k] = sqrt(L.a[k][k]);
        for (int i = k + 1; i < B->size; i++) {
            for (int j = 0; j < k; j++) L.a[i][k] -= L.a[i][j] * L.a[k][j];
            L.a[i][k] /= L.a[k][k];
        }
    }
    return true;
}
