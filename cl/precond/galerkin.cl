// galerkin.cl - A Z for sub-domains by labels, in one pass over a grid or over the product of a matrix with Z. For devices
// with double precision. Host: src/precond/galerkin_device.c.
//
// Labels have 16 bits, `narrow`, or are ints, `label`; the other is NULL.
//
// Rows have the labels that they meet, in ascending order. The entry of the row's own label is minus the sum of the
// others where A maps constants to zero, or where what else there is is rounding: no more than `noise` of the diagonal.

#include "common/kry.clh"

#define LABELS      global const ushort *restrict narrow, global const int *restrict label
#define LABELS_PASS narrow, label
INLINED int label_of(int i, LABELS) { return narrow ? narrow[i] : label[i]; }

#pragma kry part grids

#define PERIODIC 2
#define MOST     7 // labels that a row meets

// sides: what is beyond west, east, south and so on, two bits each: a ghost of that less 1 times x_i, 3: PERIODIC.
// kappa: the coefficients of points, and fx, fy, fz those of faces; NULL: each axis has one weight.
#define GRID                                                                                     \
    int axes, int nx, int ny, int nz, int sides, ACC ax, ACC ay, ACC az,                         \
        global const REAL *restrict kappa, global const REAL *restrict fx,                       \
        global const REAL *restrict fy, global const REAL *restrict fz,                          \
        LABELS, int singular, ACC noise
#define GRID_PASS axes, nx, ny, nz, sides, ax, ay, az, kappa, fx, fy, fz, LABELS_PASS, singular, noise

typedef struct row_of {
    int count;
    int label[MOST];
    ACC value[MOST];
} row_of;

// Add to the entry of a label, which is made if there is none.
void add_to(row_of *r, int label, ACC value)
{
    int at = r->count;
    for (int e = 0; e < r->count; e++) {
        if (r->label[e] == label) {
            r->value[e] += value;
            return;
        }
    }
    for (; at > 0 && r->label[at - 1] > label; at--)
        r->label[at] = r->label[at - 1], r->value[at] = r->value[at - 1];
    r->label[at] = label, r->value[at] = value;
    r->count++;
}

// What the row of point i has been found to have: the faces to other sub-domains, sides that are given, and the diagonal
// without these.
typedef struct sums_of {
    ACC inner, outer, diagonal;
} sums_of;

// A face of weight f from point i to point j
INLINED void meet(row_of *r, sums_of *s, LABELS, int i, int j, ACC f)
{
    if (j != i) s->diagonal += f;
    const int other = label_of(j, LABELS_PASS);
    if (other != label_of(i, LABELS_PASS)) s->inner += f, add_to(r, other, -f);
}

// Both faces along an axis of weight w, or f: point i is the at-th of `size`, and the next one is `step` further.
void along(row_of *r, sums_of *s, LABELS, int i, int at, int size, int step, int sides, ACC w,
           global const REAL *kappa, global const REAL *f)
{
    const int low = (sides & 3) - 1, high = (sides >> 2 & 3) - 1;
    if (at > 0 || low == PERIODIC) {
        const int j = at > 0 ? i - step : i + step * (size - 1);
        meet(r, s, LABELS_PASS, i, j, kappa ? (ACC)f[j] : w);
    } else if (low != 1) {
        s->outer += (kappa ? w * (ACC)kappa[i] : w) * (1 - low);
    }
    const ACC ahead = kappa ? (ACC)f[i] : w;
    if (at < size - 1 || high == PERIODIC)
        meet(r, s, LABELS_PASS, i, at < size - 1 ? i + step : i - step * (size - 1), ahead);
    else if (high != 1)
        s->outer += ahead * (1 - high);
}

void find_row(row_of *r, int i, GRID)
{
    sums_of s = { 0, 0, 0 };
    r->count = 0;
    along(r, &s, LABELS_PASS, i, i % nx, nx, 1, sides, ax, kappa, fx);
    along(r, &s, LABELS_PASS, i, i / nx % ny, ny, nx, sides >> 4, ay, kappa, fy);
    if (axes == 3) along(r, &s, LABELS_PASS, i, i / (nx * ny), nz, nx * ny, sides >> 8, az, kappa, fz);
    const ACC value = singular || s.outer <= noise * (s.diagonal + s.outer) ? s.inner : s.inner + s.outer;
    if (value != 0) add_to(r, label_of(i, LABELS_PASS), value);
}

kernel void galerkin_grid_lengths(GRID, global int *restrict length)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        row_of r;
        find_row(&r, (int)p, GRID_PASS);
        length[p] = r.count;
    }
}

kernel void galerkin_grid_entries(GRID, global const int *restrict row_ptr,
                                  global int *restrict col, global ACC *restrict val)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        const int first = row_ptr[p];
        if (row_ptr[p + 1] == first) continue;
        row_of r;
        find_row(&r, (int)p, GRID_PASS);
        for (int e = 0; e < r.count; e++) col[first + e] = r.label[e], val[first + e] = r.value[e];
    }
}

#pragma kry part matrices

// ---- matrices: row_ptr, col, val are those of A Z with all that the rows meet ----

#define ROUNDED 1 // `rest` is what rounding took from the rows of A,
#define FLUX_OF 2 // or what they add up to, and A is in flux form,
#define CLOSED  3 // or A is in flux form, and its rows add up to zero
#define PRODUCT                                                                                     \
    int rows, global const int *restrict row_ptr, global const int *restrict col,                \
        global const ACC *restrict val, LABELS,                                                  \
        global const REAL *restrict diagonal, int kind, global const REAL *restrict rest,        \
        int singular, ACC noise
#define PRODUCT_PASS rows, row_ptr, col, val, LABELS_PASS, diagonal, kind, rest, singular, noise

ACC own_entry(int i, PRODUCT)
{
    const int own_label = label_of(i, LABELS_PASS);
    ACC own = 0, others = 0;
    for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
        if (col[e] == own_label)
            own = val[e];
        else
            others += val[e];
    }
    if (kind == ROUNDED) own += (ACC)rest[i];
    if (kind == FLUX_OF) own = (ACC)rest[i] - others;
    if (kind == CLOSED) own = -others;
    return singular || fabs(own + others) <= noise * fabs((ACC)diagonal[i]) ? -others : own;
}

kernel void galerkin_lengths(PRODUCT, global int *restrict length)
{
    FOR_EACH(p, rows)
    {
        const int i = (int)p, own_label = label_of(i, LABELS_PASS);
        int count = own_entry(i, PRODUCT_PASS) != 0;
        for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) count += col[e] != own_label && val[e] != 0;
        length[i] = count;
    }
}

kernel void galerkin_entries(PRODUCT, global const int *restrict to_ptr, global int *restrict to_col,
                             global ACC *restrict to_val)
{
    FOR_EACH(p, rows)
    {
        const int i = (int)p, own_label = label_of(i, LABELS_PASS);
        const ACC own = own_entry(i, PRODUCT_PASS);
        int at = to_ptr[i];
        for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            const ACC v = col[e] == own_label ? own : val[e];
            if (v != 0) to_col[at] = col[e], to_val[at++] = v;
        }
    }
}
