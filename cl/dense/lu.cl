// lu.cl - what follows from the factors P A = L U of a dense matrix: the rows of U behind a block, solves
// with triangles of up to TRIANGLE rows, and the factors by themselves.
// Host: src/dense/lu_factor.c, lu_solve.c, lu.c.  Launch: groups of WG.
//
// F holds L below the diagonal and U on and above it.

#include "common/kry.clh"

// ---- U12 := L11^-1 A12 for all that is behind a block ----

#ifndef KRY_CPU

// The inverses of the PANEL-by-PANEL triangles, with ones on their diagonals, along the diagonal of
// L's b rows: group g makes number g. Column major, with ones on the diagonal behind b.
// In local memory the inverse is below the diagonal, and the transpose of the triangle above it.
#define Z(i, j) z[(j) * (PANEL + 1) + (i)]
kernel void lu_inverses(int b, global const REAL *restrict L, long l0, long ld,
                        global REAL *restrict inverse)
{
    local REAL z[PANEL * (PANEL + 1)];
    const int l = get_local_id(0), first = get_group_id(0) * PANEL, rows = min(PANEL, b - first);

    L += l0 + first * (ld + 1);
    for (int e = l; e < PANEL * PANEL; e += WG) {
        const int i = e % PANEL, k = e / PANEL;
        if (i >= k) Z(i, k) = i == k;
        if (i > k) Z(k, i) = i < rows ? L[k * ld + i] : 0;
    }
    int j = 0;
    do {
        BARRIER();
        for (int e = l; e < PANEL * PANEL; e += WG) {
            const int i = e % PANEL, k = e / PANEL;
            if (i > j && k <= j) Z(i, k) -= Z(j, i) * Z(j, k);
        }
    } while (++j < rows);
    BARRIER();
    for (int e = l; e < PANEL * PANEL; e += WG) {
        const int i = e % PANEL, k = e / PANEL;
        inverse[first * PANEL + e] = i >= k ? Z(i, k) : 0;
    }
}

// X := L^-1 X, L with b rows and X with n columns, in place: a product with one of these inverses,
// and the rows below less what these are worth, for each PANEL of rows. COLUMNS of X to a group.
// AT_ONCE columns are multiplied with an inverse at a time, and DEEP numbers of a row of L are on their way
// from memory: fewer where registers are few, which have to hold these numbers and where they come from.
#ifdef FEW_REGISTERS
#define AT_ONCE (WG < PANEL ? 1 : WG / PANEL < COLUMNS ? WG / PANEL : COLUMNS)
#define DEEP    4
#else
#define AT_ONCE COLUMNS
#define DEEP    PANEL
#endif
#define SHARE ((AT_ONCE * PANEL + WG - 1) / WG)
kernel void lu_block_row(int b, long n, global const REAL *restrict L, long l0, long ld,
                         global const REAL *restrict inverse, global REAL *X, long x0)
{
    local REAL4 x4[TRIANGLE * COLUMNS / 4]; // row by row
    local REAL *x = (local REAL *)x4;
    const int l = get_local_id(0);
    long first = (long)get_group_id(0) * COLUMNS;

    L += l0, X += x0;
    do { // the host makes no more groups than there are columns to be had
        for (int e = l; e < TRIANGLE * COLUMNS; e += WG) {
            const int r = e % TRIANGLE, k = e / TRIANGLE;
            x[r * COLUMNS + k] = r < b && first + k < n ? X[(first + k) * ld + r] : 0;
        }
        int i0 = 0;
        do {
            int k0 = 0;
            do {
                REAL y[SHARE];
                BARRIER();
                UNROLLED for (int s = 0; s < SHARE; s++)
                {
                    const int e = l + s * WG, r = e % PANEL, k = (k0 + e / PANEL) % COLUMNS;
                    y[s] = 0;
                    NOT_UNROLLED for (int j0 = 0; j0 < PANEL; j0 += DEEP)
                        UNROLLED for (int j = i0 + j0; j < i0 + j0 + DEEP; j++) y[s] +=
                        inverse[j * PANEL + r] * x[j * COLUMNS + k];
                }
                BARRIER();
                UNROLLED for (int s = 0; s < SHARE; s++)
                {
                    const int e = l + s * WG, r = e % PANEL, k = k0 + e / PANEL;
                    if (k < COLUMNS) x[(i0 + r) * COLUMNS + k] = y[s];
                }
                k0 += AT_ONCE;
            } while (k0 < COLUMNS);
            BARRIER();
            i0 += PANEL;
            for (int r = i0 + l; r < b; r += WG) {
                REAL4 sum[COLUMNS / 4];
                UNROLLED for (int h = 0; h < COLUMNS / 4; h++) sum[h] = x4[r * (COLUMNS / 4) + h];
                NOT_UNROLLED for (int c0 = i0 - PANEL; c0 < i0; c0 += DEEP)
                    UNROLLED for (int c = c0; c < c0 + DEEP; c++)
                {
                    const REAL v = L[c * ld + r];
                    UNROLLED for (int h = 0; h < COLUMNS / 4; h++) sum[h] -=
                        v * x4[c * (COLUMNS / 4) + h];
                }
                UNROLLED for (int h = 0; h < COLUMNS / 4; h++) x4[r * (COLUMNS / 4) + h] = sum[h];
            }
        } while (i0 < b);
        BARRIER();
        for (int e = l; e < TRIANGLE * COLUMNS; e += WG) {
            const int r = e % TRIANGLE, k = e / TRIANGLE;
            if (r < b && first + k < n) X[(first + k) * ld + r] = x[r * COLUMNS + k];
        }
        BARRIER();
        first += (long)get_num_groups(0) * COLUMNS;
    } while (first < n);
}
#endif

// ---- solves ----

// T X = B for one triangle of b rows, in place. Its entry (i, j) lies t_row i + t_col j behind t0,
// so a transpose is a change of strides; backward: upper triangles, else lower ones; unit: ones on
// the diagonal, which are not read. A group has `columns` of X.
#ifdef KRY_CPU

// VW columns of X in the lanes of vectors.
kernel void lu_triangle(int b, long n, int backward, int unit, global const REAL *restrict T,
                        long t0, long t_row, long t_col, global REAL *X, long x0, long ld,
                        int columns)
{
    VEC x[TRIANGLE];
    REAL lane[VW];

    T += t0, X += x0;
    if (backward) T += (b - 1) * (t_row + t_col), t_row = -t_row, t_col = -t_col; // from the end
    FOR_EACH(share, (n + VW - 1) / VW)
    {
        const int count = (int)min(n - share * VW, (long)VW);
        global REAL *first = X + share * VW * ld + (backward ? b - 1 : 0);
        for (int v = 0; v < VW; v++) lane[v] = 0;
        for (int r = 0; r < b; r++) {
            for (int v = 0; v < count; v++) lane[v] = first[v * ld + (backward ? -r : r)];
            x[r] = vload8(0, lane);
        }
        for (int j = 0; j < b; j++) {
            global const REAL *column = T + j * t_col;
            if (!unit) x[j] /= column[j * t_row];
            for (int r = j + 1; r < b; r++) x[r] -= column[r * t_row] * x[j];
        }
        for (int r = 0; r < b; r++) {
            vstore8(x[r], 0, lane);
            for (int v = 0; v < count; v++) first[v * ld + (backward ? -r : r)] = lane[v];
        }
    }
}

#else

// Rows go in steps of STEP: their own triangle one after the other, then all others at once.
#define STEP 16
kernel void lu_triangle(int b, long n, int backward, int unit, global const REAL *restrict T,
                        long t0, long t_row, long t_col, global REAL *X, long x0, long ld,
                        int columns)
{
    local REAL x[TRIANGLE * COLUMNS], t[STEP * (STEP + 1)];
    const int l = get_local_id(0), lanes = WG / columns, r0 = l % lanes, k = l / lanes;
    const int down = t_row == 1; // columns of T are contiguous
    long first = (long)get_group_id(0) * columns;

    T += t0, X += x0;
    if (backward) T += (b - 1) * (t_row + t_col), t_row = -t_row, t_col = -t_col; // from the end
    do {
        for (int r = r0; r < b; r += lanes)
            x[k * TRIANGLE + r] =
                first + k < n ? X[(first + k) * ld + (backward ? b - 1 - r : r)] : 0;
        int i0 = 0;
        do {
            const int rows = min(STEP, b - i0);
            BARRIER();
            for (int e = l; e < STEP * STEP; e += WG) {
                const int i = down ? e % STEP : e / STEP, j = down ? e / STEP : e % STEP;
                if (i < rows && j < rows)
                    t[j * (STEP + 1) + i] =
                        unit && i == j ? 1 : T[(i0 + i) * t_row + (i0 + j) * t_col];
            }
            int i = 0;
            do {
                BARRIER();
                const REAL v = x[k * TRIANGLE + i0 + i] / t[i * (STEP + 1) + i];
                for (int r = i + 1 + r0; r < rows; r += lanes)
                    x[k * TRIANGLE + i0 + r] -= t[i * (STEP + 1) + r] * v;
            } while (++i < rows);
            BARRIER();
            for (int r = r0; r < rows; r += lanes)
                x[k * TRIANGLE + i0 + r] /= t[r * (STEP + 1) + r];
            BARRIER();
            i0 += rows;
            if (rows == STEP)
                for (int r = i0 + r0; r < b; r += lanes) {
                    REAL sum = 0;
                    UNROLLED for (int j = 0; j < STEP; j++) sum +=
                        T[r * t_row + (i0 - STEP + j) * t_col] * x[k * TRIANGLE + i0 - STEP + j];
                    x[k * TRIANGLE + r] -= sum;
                }
        } while (i0 < b);
        BARRIER();
        for (int r = r0; r < b; r += lanes)
            if (first + k < n)
                X[(first + k) * ld + (backward ? b - 1 - r : r)] = x[k * TRIANGLE + r];
        BARRIER();
        first += (long)get_num_groups(0) * columns;
    } while (first < n);
}

#endif

// y := alpha z + beta y, k columns of n numbers, z in another order: z_i is x_i and goes to y_i, or
// gather: z_i is x_order(i), or scatter: goes to y_order(i). With beta == 0, y is not read.
kernel void lu_permute(long n, long k, int gather, int scatter, global const int *restrict order,
                       ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *y,
                       long y0)
{
    FOR_EACH(e, n * k)
    {
        const long i = e % n, j = e - i;
        const long from = gather ? order[i] : i, to = y0 + j + (scatter ? order[i] : i);
        const REAL z = (REAL)alpha * x[x0 + j + from];
        y[to] = beta == 0 ? z : z + (REAL)beta * y[to];
    }
}

// ---- the inverse ----

kernel void lu_unit(long n, global REAL *X, long x0)
{
    FOR_EACH(e, n * n) X[x0 + e] = e % n == e / n ? 1 : 0;
}

// Y's column order[j] := X's column j
kernel void lu_columns(long n, global const int *restrict order, global const REAL *restrict X,
                       long x0, global REAL *Y, long y0)
{
    FOR_EACH(e, n * n) Y[y0 + order[e / n] * n + e % n] = X[x0 + e];
}

// ---- the factors by themselves ----

// C := the rows-by-cols part of F, with zeros above (lower) or below the diagonal, and ones on it
kernel void lu_copy(long rows, long cols, int lower, global const REAL *restrict F, long f0,
                    long ld, global REAL *C, long c0)
{
    FOR_EACH(e, rows * cols)
    {
        const long i = e % rows, j = e / rows;
        REAL v = F[f0 + j * ld + i];
        if (lower)
            v = i > j ? v : i == j ? 1 : 0;
        else
            v = i <= j ? v : 0;
        C[c0 + e] = v;
    }
}
