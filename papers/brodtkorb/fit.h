/*
 * fit.h - a polynomial through measured times.
 */
#ifndef KRY_FIT_H
#define KRY_FIT_H

enum { FIT_MOST = 5 }; /* coefficients */

/*
 * The polynomial of least squares, each point weighted by 1 / y: what counts is by what part it
 * misses.
 *
 *   x, y          [in]   count numbers, positive; fewer points than degree + 1: a lower degree is
 *                        taken, and the coefficients above are zero
 *   coefficients  [out]  degree + 1, of x^0, x^1, ...
 */
void fit_polynomial(int count, const double *x, const double *y, int degree, double *coefficients);

#endif
