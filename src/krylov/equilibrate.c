/*
 * equilibrate.c - powers of two that keep a matrix within the range of single precision.
 *
 * Scaling by them changes no digit, so it is done only where the range asks for it: A as a whole if
 * its diagonal is far from 1, S A S if the diagonal spreads over more than single can hold well.
 */
#include "krylov/mixed.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { FAR = 30, SPREAD = 50 }; /* binary exponents; single has 126 either way */

static kry_status read_diagonal(const kry_op *A, double *d)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;

    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &v));
    TRY(kry_op_diagonal(A, v));
    TRY(kry_vec_read(v, d));
done:
    kry_vec_release(&v);
    return st;
}

/* The binary exponents of the diagonal's least and largest entry, of all parts; most < least: there
 * is none > 0. */
static kry_status exponents(kryi_layout *layout, const double *d, int64_t n, int *least, int *most)
{
    kry_status st = KRY_OK;
    double ends[2] = { -INT_MAX, -INT_MAX }; /* -least, most */

    for (int64_t i = 0; i < n; i++) {
        if (!(d[i] > 0) || !isfinite(d[i])) continue;
        ends[0] = fmax(ends[0], -ilogb(d[i]));
        ends[1] = fmax(ends[1], ilogb(d[i]));
    }
    TRY(kryi_layout_combine(layout, KRY_MAX, ends, COUNT(ends)));
    *least = (int)-ends[0], *most = (int)ends[1];
done:
    return st;
}

/* d := powers of two about 1 / sqrt(d) */
static void to_scale(double *d, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        d[i] = d[i] > 0 && isfinite(d[i]) ? ldexp(1, (int)-lrint(log2(d[i]) / 2)) : 1;
}

kry_status kryi_equilibrium_find(const kry_op *A, kry_equilibrate how, bool diagonally,
                                 kryi_equilibrium *e)
{
    kry_status st = KRY_OK;
    double *d = NULL;
    int least, most;

    *e = (kryi_equilibrium){ .factor = 1 };
    if (how == KRY_EQUILIBRATE_OFF || !A->table->diagonal) return KRY_OK;
    TRY(kryi_alloc((size_t)A->shape.rows, sizeof *d, &d));
    TRY(read_diagonal(A, d));
    TRY(exponents(&A->dev->layout, d, A->shape.rows, &least, &most));
    if (most < least) goto done;
    if (diagonally && (how == KRY_EQUILIBRATE_ON || most - least > SPREAD)) {
        to_scale(d, A->shape.rows);
        e->scale = d, d = NULL;
    } else if (most > FAR || least < -FAR) {
        e->factor = ldexp(1, -(least + most) / 2);
    }
done:
    free(d);
    return st;
}

void kryi_equilibrium_release(kryi_equilibrium *e)
{
    free(e->scale);
    e->scale = NULL;
}
