/* eigen.c - a symmetric matrix made tridiagonal by reflections, and that diagonal by implicit QR steps. */
#include "base/base.h"
#include <float.h>
#include <kry/dense.h>
#include <math.h>
#include <string.h>

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void add(int n, double by, const double *x, double *y)
{
    for (int i = 0; i < n; i++) y[i] += by * x[i];
}

/* x := v with (I - v v') x along the first axis; v'v = 2, or v = 0. Returns the length along that axis. */
static double reflector(int n, double *x)
{
    const double norm = sqrt(dot(n, x, x)), first = x[0];
    const double along = first > 0 ? -norm : norm;

    if (!(norm > 0)) return 0;
    const double scale = 1 / sqrt(norm * (norm + fabs(first)));
    x[0] -= along;
    for (int i = 0; i < n; i++) x[i] *= scale;
    return along;
}

/* A: rows k of it become reflectors, its diagonal and the entries beside it d and e. room: n */
static void make_tridiagonal(int n, double *A, double *d, double *e, double *room)
{
    for (int k = 0; k < n; k++) {
        const int left = n - k - 1;
        double *v = A + k * n + k + 1, *w = room;
        d[k] = A[k * n + k];
        if (left == 0) break;
        e[k] = reflector(left, v);
        for (int i = 0; i < left; i++) w[i] = dot(left, A + (k + 1 + i) * n + k + 1, v);
        add(left, -0.5 * dot(left, v, w), v, w);
        for (int i = 0; i < left; i++) {
            double *row = A + (k + 1 + i) * n + k + 1;
            add(left, -v[i], w, row);
            add(left, -w[i], v, row);
        }
    }
}

/* Q := the product of the reflectors, so that Q A Q' is tridiagonal. */
static void multiply_reflectors(int n, const double *A, double *Q)
{
    memset(Q, 0, (size_t)n * (size_t)n * sizeof *Q);
    for (int i = 0; i < n; i++) Q[i * n + i] = 1;
    for (int k = n - 2; k >= 0; k--) {
        const double *v = A + k * n + k + 1;
        for (int i = k + 1; i < n; i++) {
            double *row = Q + i * n + k + 1;
            add(n - k - 1, -dot(n - k - 1, v, row), v, row);
        }
    }
}

/* One implicit QR step with Wilkinson's shift on rows first ... last, which e couples. */
static void step(int n, int first, int last, double *d, double *e, double *Q)
{
    const double half = 0.5 * (d[last - 1] - d[last]), beside = e[last - 1];
    const double shift = d[last] - beside * beside / (half + copysign(hypot(half, beside), half));
    double x = d[first] - shift, z = e[first];

    for (int k = first; k < last; k++) {
        const double length = hypot(x, z), c = length > 0 ? x / length : 1,
                     s = length > 0 ? z / length : 0;
        const double a = d[k], b = e[k], g = d[k + 1];
        if (k > first) e[k - 1] = length;
        d[k] = c * c * a + 2 * c * s * b + s * s * g;
        d[k + 1] = s * s * a - 2 * c * s * b + c * c * g;
        e[k] = (c * c - s * s) * b + c * s * (g - a);
        if (k + 1 < last) x = e[k], z = s * e[k + 1], e[k + 1] *= c;
        for (int i = 0; i < n; i++) {
            const double u = Q[k * n + i], v = Q[(k + 1) * n + i];
            Q[k * n + i] = c * u + s * v, Q[(k + 1) * n + i] = c * v - s * u;
        }
    }
}

static bool make_diagonal(int n, double *d, double *e, double *Q)
{
    enum { STEPS = 40 }; /* for each eigenvalue, at most; two or three are usual */
    int left = STEPS * n;

    for (int last = n - 1; last > 0;) {
        int first = last;
        while (first > 0 &&
               fabs(e[first - 1]) > DBL_EPSILON * (fabs(d[first - 1]) + fabs(d[first])))
            first--;
        if (first < last && !left--) return false;
        if (first > 0) e[first - 1] = 0;
        if (first == last)
            last--;
        else
            step(n, first, last, d, e, Q);
    }
    return true;
}

static void sort(int n, double *values, double *Q)
{
    for (int i = 0; i < n; i++)
        for (int j = i; j > 0 && values[j] < values[j - 1]; j--) {
            const double value = values[j];
            values[j] = values[j - 1], values[j - 1] = value;
            for (int c = j * n; c < (j + 1) * n; c++) {
                const double number = Q[c];
                Q[c] = Q[c - n], Q[c - n] = number;
            }
        }
}

kry_status kry_small_eigen(int n, double *A, double *Q, double *values, double *room)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(A, Q, values, room));
    CHECK(n > 0, KRY_ERR_ARGUMENT, "kry_small_eigen: n is %d", n);
    for (int i = 0; i < n * n; i++)
        CHECK(isfinite(A[i]), KRY_ERR_ARGUMENT, "kry_small_eigen: a number of A is not finite");
    make_tridiagonal(n, A, values, room, room + n);
    multiply_reflectors(n, A, Q);
    CHECK(make_diagonal(n, values, room, Q), KRY_ERR_ARGUMENT,
          "kry_small_eigen: the QR steps do not end");
    sort(n, values, Q);
done:
    return st;
}
