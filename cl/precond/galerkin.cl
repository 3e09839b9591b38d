// galerkin.cl - A Z for sub-domains by labels, in one pass over a grid or over the product of a matrix with Z. For devices
// with double precision. Host: src/precond/galerkin_device.c.
//
// LABEL   type of a label: ushort or int
// AXES, VARIABLE, XL ... ZH   of a grid, as its other kernels have them; not defined: a matrix
//
// Rows have the labels that they meet, in ascending order. The entry of the row's own label is minus the sum of the
// others where A maps constants to zero, or where what else there is is rounding: no more than `noise` of the diagonal.

#include "common/kry.clh"

#ifdef AXES

#define PERIODIC 2
#define MOST     7 // labels that a row meets

#ifdef VARIABLE
#define FACES                                                                 \
    , global const REAL *restrict kappa, global const REAL *restrict fx,      \
        global const REAL *restrict fy, global const REAL *restrict fz
#define FACES_PASS   , kappa, fx, fy, fz
#define FACE(f, j, w) ((ACC)f[j])
#define LOW_SIDE(w)   ((w) * (ACC)kappa[i])
#else
#define FACES
#define FACES_PASS
#define FACE(f, j, w) (w)
#define LOW_SIDE(w)   (w)
#endif

#define GRID int nx, int ny, int nz, ACC ax, ACC ay, ACC az FACES, global const LABEL *restrict label, int singular, ACC noise
#define GRID_PASS nx, ny, nz, ax, ay, az FACES_PASS, label, singular, noise

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

// A face of weight f to point j
#define MEET(j, f)                                                     \
    {                                                                  \
        const int other = label[j];                                    \
        const ACC weight = f;                                          \
        if ((j) != i) diagonal += weight;                              \
        if (other != own) inner += weight, add_to(&r, other, -weight); \
    }
#define LEAVE(f) outer += f;
// Both faces along an axis; point i is the at-th of `size`, and the next one is `step` further.
#define ALONG(at, size, step, low, high, w, f)                                              \
    if ((at) > 0 || (low) == PERIODIC) {                                                    \
        const int j = (at) > 0 ? i - (step) : i + (step) * ((size)-1);                      \
        MEET(j, FACE(f, j, w))                                                              \
    } else if ((low) != 1)                                                                  \
        LEAVE(LOW_SIDE(w) * (1 - (low)))                                                    \
    if ((at) < (size)-1 || (high) == PERIODIC) {                                            \
        const int j = (at) < (size)-1 ? i + (step) : i - (step) * ((size)-1);               \
        MEET(j, FACE(f, i, w))                                                              \
    } else if ((high) != 1)                                                                 \
        LEAVE(FACE(f, i, w) * (1 - (high)))

row_of find_row(int i, GRID)
{
    const int own = label[i], plane = nx * ny;
    ACC inner = 0, outer = 0, diagonal = 0;
    row_of r;
    r.count = 0;
    ALONG(i % nx, nx, 1, XL, XH, ax, fx)
    ALONG(i / nx % ny, ny, nx, YL, YH, ay, fy)
#if AXES == 3
    ALONG(i / plane, nz, plane, ZL, ZH, az, fz)
#endif
    const ACC value = singular || outer <= noise * (diagonal + outer) ? inner : inner + outer;
    if (value != 0) add_to(&r, own, value);
    return r;
}

kernel void galerkin_grid_lengths(GRID, global int *restrict length)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        const row_of r = find_row((int)p, GRID_PASS);
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
        const row_of r = find_row((int)p, GRID_PASS);
        for (int e = 0; e < r.count; e++) col[first + e] = r.label[e], val[first + e] = r.value[e];
    }
}

#else

// ---- matrices: row_ptr, col, val are those of A Z with all that the rows meet ----

#define ROUNDED 1 // `rest` is what rounding took from the rows of A,
#define FLUX_OF 2 // or what they add up to, and A is in flux form,
#define CLOSED  3 // or A is in flux form, and its rows add up to zero
#define PRODUCT                                                                                     \
    int rows, global const int *restrict row_ptr, global const int *restrict col,                \
        global const ACC *restrict val, global const LABEL *restrict label,                      \
        global const REAL *restrict diagonal, int kind, global const REAL *restrict rest,        \
        int singular, ACC noise
#define PRODUCT_PASS rows, row_ptr, col, val, label, diagonal, kind, rest, singular, noise

ACC own_entry(int i, PRODUCT)
{
    ACC own = 0, others = 0;
    for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
        if (col[e] == label[i])
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
        const int i = (int)p;
        int count = own_entry(i, PRODUCT_PASS) != 0;
        for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) count += col[e] != label[i] && val[e] != 0;
        length[i] = count;
    }
}

kernel void galerkin_entries(PRODUCT, global const int *restrict to_ptr, global int *restrict to_col,
                             global ACC *restrict to_val)
{
    FOR_EACH(p, rows)
    {
        const int i = (int)p;
        const ACC own = own_entry(i, PRODUCT_PASS);
        int at = to_ptr[i];
        for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            const ACC v = col[e] == label[i] ? own : val[e];
            if (v != 0) to_col[at] = col[e], to_val[at++] = v;
        }
    }
}

#endif
