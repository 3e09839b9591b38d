/*
 * fit.c - weighted least squares by Householder's QR. Columns are scaled by the largest x, so that
 * 8192^3 stands beside 1.
 */
#include "fit.h"
#include <math.h>
#include <string.h>

enum { MOST_POINTS = 32 };

/* Reflect column k of R below row k to zero, and all that stands right of it and y along. */
static void reflect(int rows, int cols, double R[][FIT_MOST], double *y, int k)
{
    double v[MOST_POINTS] = { 0 }, norm = 0, squares = 0;
    for (int i = k; i < rows; i++) norm += R[i][k] * R[i][k];
    norm = R[k][k] > 0 ? -sqrt(norm) : sqrt(norm);
    for (int i = k; i < rows; i++) v[i] = R[i][k] - (i == k ? norm : 0);
    for (int i = k; i < rows; i++) squares += v[i] * v[i];
    if (squares == 0) return;
    for (int j = k; j <= cols; j++) { /* column `cols` is y */
        double along = 0;
        for (int i = k; i < rows; i++) along += v[i] * (j < cols ? R[i][j] : y[i]);
        along *= 2 / squares;
        for (int i = k; i < rows; i++) {
            if (j < cols)
                R[i][j] -= along * v[i];
            else
                y[i] -= along * v[i];
        }
    }
}

void fit_polynomial(int count, const double *x, const double *y, int degree, double *coefficients)
{
    double R[MOST_POINTS][FIT_MOST] = { { 0 } }, ones[MOST_POINTS] = { 0 }, scale = 0;
    int rows = count < MOST_POINTS ? count : MOST_POINTS;
    int cols = rows < degree + 1 ? rows : degree + 1;
    memset(coefficients, 0, (size_t)(degree + 1) * sizeof *coefficients);
    for (int i = 0; i < rows; i++) scale = fmax(scale, x[i]);
    for (int i = 0; i < rows; i++) {
        ones[i] = 1; /* y / y */
        for (int j = 0; j < cols; j++) R[i][j] = pow(x[i] / scale, j) / y[i];
    }
    for (int k = 0; k < cols; k++) reflect(rows, cols, R, ones, k);
    for (int k = cols - 1; k >= 0; k--) {
        double sum = ones[k];
        for (int j = k + 1; j < cols; j++) sum -= R[k][j] * coefficients[j] * pow(scale, j);
        coefficients[k] = sum / R[k][k] / pow(scale, k);
    }
}
