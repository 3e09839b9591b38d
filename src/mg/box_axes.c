/*
 * box_axes.c - axes along which couplings are weak are not coarsened, until the others have caught up: a point-wise
 * smoother leaves errors that are rough along them.
 */
#include "mg/box_axes.h"
#include <math.h>

kryi_axis_couplings kryi_axis_couplings_of(const kryi_stencil *A, double semi)
{
    /* As golden runs had it: 10 iterations at anisotropies of 1e-2 and 1e-3. */
    kryi_axis_couplings c = { .semi = semi != 0 ? semi : 0.3, .known = !A->face[0] };
    for (int a = 0; a < 3; a++) c.strength[a] = A->weight[a];
    return c;
}

/* The mean over all points of all parts. */
static kry_status measure(const kryi_box_grid *grid, const kryi_box_source *A,
                          const kryi_window *own, unsigned axes, double strength[3])
{
    kry_status st = KRY_OK;

    TRY(kryi_box_strength(A, axes, own, strength));
    TRY(kryi_layout_combine(&A->dev->layout, KRY_ADD, strength, 3));
    for (int a = 0; a < 3; a++) strength[a] /= (double)grid->n;
done:
    return st;
}

kry_status kryi_choose_axes(kryi_axis_couplings *c, const kryi_box_grid *grid,
                            const kryi_box_source *A, const kryi_window *own, unsigned *axes)
{
    kry_status st = KRY_OK;
    unsigned can = 0;
    double most = 0;

    for (int a = 0; a < grid->axes; a++) can |= (unsigned)(grid->size[a] > 2) << a;
    *axes = can;
    if (c->semi < 0 || !(can & (can - 1))) goto done; /* no choice */
    if (!c->known) TRY(measure(grid, A, own, can, c->strength));
    for (int a = 0; a < 3; a++)
        if (can >> a & 1) most = fmax(most, c->strength[a]);
    for (int a = 0; a < 3; a++)
        if (c->strength[a] < c->semi * most) *axes &= ~(1u << a);
    /* Isotropic ones stay so. */
    if (*axes == can) c->semi = -1;
    /* Twice the distance: a quarter, in units of those that stay. */
    for (int a = 0; a < 3; a++)
        if (*axes >> a & 1) c->strength[a] /= 4;
done:
    return st;
}
