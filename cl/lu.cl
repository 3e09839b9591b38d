// lu.cl - factors of a dense matrix, P A = L U, column by column within a panel of PANEL columns,
// and solves with triangles of up to TRIANGLE rows.
// Host: src/dense/lu_panel.c, lu_solve.c.  Launch: groups of WG. Behind pivot.clh.
//
// F holds L below the diagonal and U above. Panel: columns c0 ... c0 + w - 1 and rows from c0 on,
// of which each group has `share`, or one for each work-item. A launch for column j
// leaves for the next one, in one half of `value`, `row` and `line`: each group's best candidate
// for the pivot of column j + 1, how good it is, where it is, and what stands in its row of the
// panel; and, behind those of the groups, what stands in row j + 1. So the next launch knows both
// rows that it has to exchange from elsewhere than where they are overwritten. Among candidates as
// good as each other, the first row wins.

// order[i] := source[i] := origin[i] := i, pivots[j] := j
kernel void lu_begin(int m, int r, global int *restrict order, global int *restrict source,
                     global int *restrict origin, global int *restrict pivots)
{
    FOR_EACH(i, (long)m)
    {
        order[i] = source[i] = origin[i] = (int)i;
        if (i < r) pivots[i] = (int)i;
    }
}

#ifdef KRY_CPU

// u: the pivot's row, d: row j as it was; F: column c0.
void lu_eliminate(global REAL *F, long ld, int from, int to, int w, int j, int p, int q,
                  local const REAL *u, local const REAL *d)
{
    const int first = max(from, j + 1);
    global REAL *column = F + q * ld;
    for (int i = from; i < to; i++)
        if (p != j && (i == j || i == p))
            for (int c = 0; c < w; c++) F[i + c * ld] = i == j ? u[c] : d[c];
    if (u[q] == 0) return; // so is all of the column
    for (int i = first; i < to; i++) column[i] /= u[q];
    for (int c = q + 1; c < w; c++) {
        global REAL *other = F + c * ld;
        const REAL by = u[c];
        for (int i = first; i < to; i++) other[i] -= column[i] * by;
    }
}

#else

// The same with row i of a work-item, v.
void lu_eliminate(REAL *v, global REAL *f, long ld, int i, int w, int j, int p, int q,
                  local const REAL *u, local const REAL *d)
{
    const int exchanged = p != j && (i == j || i == p);
    if (exchanged) {
        EACH(c) v[c] = i == j ? u[c] : d[c];
    }
    if (i > j && u[q] != 0) { // else all of the column is zero
        const REAL by = row_entry(v, q) / u[q];
        EACH(c) v[c] = c > q ? v[c] - by * u[c] : c == q ? by : v[c];
    }
    if (i > j || exchanged) {
        EACH(c)
        {
            if (c < w && (c >= q || exchanged)) f[c * ld] = v[c];
        }
    }
}

#endif

// Exchange and eliminate for column j, and look for the next pivot if there is one in the panel.
// j == c0 - 1: only that.
// pivots[j]: the row exchanged with row j; order: the rows of A in their new places; source: the
// same since the panel began; origin: since the block began, of which each has `block` columns.
kernel void lu_column(int m, int c0, int w, int j, int share, int most, int half_in,
                      global REAL *F, long f0, long ld, global REAL *value, global int *row,
                      global REAL *line, global int *pivots, global int *order, global int *source,
                      global int *origin, int block)
{
    local REAL lane_value[WG], u[PANEL], d[PANEL];
    local int lane_row[WG], lane_from[WG];
    const int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0);
    const int from = c0 + g * share, to = min(from + share, m), q = j - c0;

    F += f0 + c0 * ld;
#ifndef KRY_CPU
    REAL v[PANEL];
    const int i = from + l;
    EACH(c) v[c] = i < to && c < w ? F[i + c * ld] : 0;
#endif
    const candidate best =
        pivot_take(pivot_notes(value, row, line, most, half_in), q >= 0 ? groups : 0, max(j, c0), w,
                   lane_value, lane_row, lane_from, u, d);
    const int p = best.row;
    FENCE();
#ifdef KRY_CPU
    if (q >= 0) lu_eliminate(F, ld, from, to, w, j, p, q, u, d);
#else
    if (q >= 0 && i < to) lu_eliminate(v, F + i, ld, i, w, j, p, q, u, d);
#endif
    if (g == 0 && l == 0 && q >= 0) {
        int t = order[j], s = source[j], o = origin[j];
        pivots[j] = p;
        order[j] = order[p], order[p] = t;
        source[j] = source[p], source[p] = s;
        origin[j] = origin[p], origin[p] = o;
    }
    if (g == 0 && q < 0 && c0 > 0) // a new panel
        for (int s = c0 - PANEL + l; s < c0; s += WG) source[s] = s, source[pivots[s]] = pivots[s];
    if (g == 0 && q < 0 && c0 > 0 && c0 % block == 0)
        for (int s = c0 - block + l; s < c0; s += WG) origin[s] = s, origin[pivots[s]] = pivots[s];

    // the next column
    const int next = j + 1, half_out = 1 - half_in, first = q + 1 < w ? next : m;
#ifdef KRY_CPU
    candidate found = pivot_search(F, ld, from, to, q + 1, first);
#else
    candidate found = pivot_search(v, i, i < to, q + 1, first);
#endif
    found = pivot_best(found, lane_value, lane_row, lane_from);
    const notes left = pivot_notes(value, row, line, most, half_out);
#ifdef KRY_CPU
    pivot_leave(left, found, next, F, ld, from, to, w);
#else
    pivot_leave(left, found, next, v, i, i < to);
#endif
}

// The exchanges of columns c0 ... c0 + w - 1 in n others: those from `lo` on, but not these. solve:
// w is no more than PANEL, and in columns behind c0 + w the rows c0 ... c0 + w - 1 are multiplied
// by L11^-1, with L11 the triangle below the diagonal in these rows and columns. at_once: columns
// to a group. A row that is exchanged twice comes twice, and gets the same number.
kernel void lu_rows(long n, int lo, int c0, int w, int solve, int at_once, global REAL *F, long f0,
                    long ld, global const int *restrict pivots, global const int *restrict source)
{
    local REAL stage[COLUMNS * TRIANGLE / 2], t[PANEL * (PANEL + 1)];
    const int l = get_local_id(0), each = 2 * w, all = at_once * each;
    long first = (long)get_group_id(0) * at_once;

    F += f0;
    for (int e = l; e < PANEL * PANEL; e += WG) {
        const int r = e % PANEL, q = e / PANEL;
        if (solve && r < w && q < w) t[q * (PANEL + 1) + r] = F[(c0 + q) * ld + c0 + r];
    }
    do { // the host makes no more groups than there are columns to be had
        for (int e = l; e < all; e += WG) {
            const int s = e % each;
            const long nth = lo + first + e / each, column = nth < c0 ? nth : nth + w;
            const int at = s < w ? c0 + s : pivots[c0 + s - w];
            if (nth < lo + n) stage[e] = F[column * ld + source[at]];
        }
        FENCE();
        for (int e = l; e < all; e += WG) {
            const int s = e % each;
            const long nth = lo + first + e / each, column = nth < c0 ? nth : nth + w;
            const int at = s < w ? c0 : pivots[c0 + s - w];
            if (nth < lo + n && at >= c0 + w) F[column * ld + at] = stage[e];
        }
        int i = 0;
        do {
            FENCE();
            for (int e = l; e < at_once * PANEL && solve; e += WG) {
                const int s = e % PANEL, k = e / PANEL;
                if (s > i && s < w && lo + first + k >= c0)
                    stage[k * each + s] -= t[i * (PANEL + 1) + s] * stage[k * each + i];
            }
        } while (++i < w - 1 && solve);
        FENCE();
        for (int e = l; e < at_once * w; e += WG) {
            const int s = e % w;
            const long nth = lo + first + e / w, column = nth < c0 ? nth : nth + w;
            if (nth < lo + n) F[column * ld + c0 + s] = stage[e / w * each + s];
        }
        FENCE();
        first += (long)get_num_groups(0) * at_once;
    } while (first < n);
}

// ---- U12 := L11^-1 A12 for all that is behind a block ----

#ifndef KRY_CPU
#define UNROLL _Pragma("unroll")
#define REAL4  KRY_JOIN(REAL, 4)

// The inverses of the PANEL-by-PANEL triangles, with ones on their diagonals, along the diagonal of
// L's b rows: group g makes number g. Column major, with ones on the diagonal behind b.
kernel void lu_inverses(int b, global const REAL *restrict L, long l0, long ld,
                        global REAL *restrict inverse)
{
    local REAL z[PANEL * PANEL];
    const int l = get_local_id(0), first = get_group_id(0) * PANEL, rows = min(PANEL, b - first);

    L += l0 + first * (ld + 1);
    for (int e = l; e < PANEL * PANEL; e += WG) z[e] = e / PANEL == e % PANEL;
    int j = 0;
    do {
        FENCE();
        for (int e = l; e < PANEL * PANEL; e += WG) {
            const int i = e % PANEL;
            if (i > j && i < rows) z[e] -= L[j * ld + i] * z[e - i + j];
        }
    } while (++j < rows);
    FENCE();
    for (int e = l; e < PANEL * PANEL; e += WG) inverse[first * PANEL + e] = z[e];
}

// X := L^-1 X, L with b rows and X with n columns, in place: a product with one of these inverses,
// and the rows below less what these are worth, for each PANEL of rows. COLUMNS of X to a group.
#define SHARE ((COLUMNS * PANEL + WG - 1) / WG)
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
            REAL y[SHARE];
            FENCE();
            UNROLL for (int s = 0; s < SHARE; s++)
            {
                const int e = l + s * WG, r = e % PANEL, k = e / PANEL % COLUMNS;
                y[s] = 0;
                UNROLL for (int j = 0; j < PANEL; j++) y[s] +=
                    inverse[(i0 + j) * PANEL + r] * x[(i0 + j) * COLUMNS + k];
            }
            FENCE();
            UNROLL for (int s = 0; s < SHARE; s++)
            {
                const int e = l + s * WG, r = e % PANEL, k = e / PANEL;
                if (k < COLUMNS) x[(i0 + r) * COLUMNS + k] = y[s];
            }
            FENCE();
            i0 += PANEL;
            for (int r = i0 + l; r < b; r += WG) {
                REAL4 sum[COLUMNS / 4];
                UNROLL for (int h = 0; h < COLUMNS / 4; h++) sum[h] = x4[r * (COLUMNS / 4) + h];
                UNROLL for (int j = 0; j < PANEL; j++)
                {
                    const int c = i0 - PANEL + j;
                    const REAL v = L[c * ld + r];
                    UNROLL for (int h = 0; h < COLUMNS / 4; h++) sum[h] -=
                        v * x4[c * (COLUMNS / 4) + h];
                }
                UNROLL for (int h = 0; h < COLUMNS / 4; h++) x4[r * (COLUMNS / 4) + h] = sum[h];
            }
        } while (i0 < b);
        FENCE();
        for (int e = l; e < TRIANGLE * COLUMNS; e += WG) {
            const int r = e % TRIANGLE, k = e / TRIANGLE;
            if (r < b && first + k < n) X[(first + k) * ld + r] = x[r * COLUMNS + k];
        }
        FENCE();
        first += (long)get_num_groups(0) * COLUMNS;
    } while (first < n);
}
#endif

// ---- solves ----

// T X = B for one triangle of b rows, in place. Its entry (i, j) lies t_row i + t_col j behind t0,
// so a transpose is a change of strides; backward: upper triangles, else lower ones; unit: ones on
// the diagonal, which are not read. A group has `columns` of X. Rows go in steps of STEP: their own
// triangle one after the other, then all others at once.
#define STEP 16
#ifdef KRY_CPU
#define LANES(columns) 1
#else
#define LANES(columns) (WG / (columns))
#endif
kernel void lu_triangle(int b, long n, int backward, int unit, global const REAL *restrict T,
                        long t0, long t_row, long t_col, global REAL *X, long x0, long ld,
                        int columns)
{
    local REAL x[TRIANGLE * COLUMNS], t[STEP * (STEP + 1)];
    const int l = get_local_id(0), lanes = LANES(columns), r0 = l % lanes;
    long first = (long)get_group_id(0) * columns;

    T += t0, X += x0;
    if (backward) T += (b - 1) * (t_row + t_col), t_row = -t_row, t_col = -t_col; // from the end
    do {
#ifdef KRY_CPU
        for (int k = 0; k < columns; k++)
#else
        const int k = l / lanes;
#endif
            for (int r = r0; r < b; r += lanes)
                x[k * TRIANGLE + r] =
                    first + k < n ? X[(first + k) * ld + (backward ? b - 1 - r : r)] : 0;
        int i0 = 0;
        do {
            const int rows = min(STEP, b - i0);
            FENCE();
            for (int e = l; e < STEP * STEP; e += WG) {
                int i = t_row == 1 || t_row == -1 ? e % STEP : e / STEP,
                    j = t_row == 1 || t_row == -1 ? e / STEP : e % STEP;
                if (i < rows && j < rows)
                    t[j * (STEP + 1) + i] =
                        unit && i == j ? 1 : T[(i0 + i) * t_row + (i0 + j) * t_col];
            }
            int i = 0;
            do {
                FENCE();
#ifdef KRY_CPU
                for (int k = 0; k < columns; k++)
#endif
                {
                    const REAL v = x[k * TRIANGLE + i0 + i] / t[i * (STEP + 1) + i];
                    for (int r = i + 1 + r0; r < rows; r += lanes)
                        x[k * TRIANGLE + i0 + r] -= t[i * (STEP + 1) + r] * v;
                }
            } while (++i < rows);
            FENCE();
#ifdef KRY_CPU
            for (int k = 0; k < columns; k++)
#endif
                for (int r = r0; r < rows; r += lanes)
                    x[k * TRIANGLE + i0 + r] /= t[r * (STEP + 1) + r];
            FENCE();
            i0 += rows;
#ifdef KRY_CPU
            for (int k = 0; k < columns; k++)
                for (int j = i0 - rows; j < i0; j++) {
                    const REAL v = x[k * TRIANGLE + j];
                    global const REAL *column = T + j * t_col;
                    for (int r = i0; r < b; r++) x[k * TRIANGLE + r] -= column[r * t_row] * v;
                }
#else
            if (rows == STEP)
                for (int r = i0 + r0; r < b; r += lanes) {
                    REAL sum = 0;
                    _Pragma("unroll") for (int j = 0; j < STEP; j++) sum +=
                        T[r * t_row + (i0 - STEP + j) * t_col] * x[k * TRIANGLE + i0 - STEP + j];
                    x[k * TRIANGLE + r] -= sum;
                }
#endif
        } while (i0 < b);
        FENCE();
#ifdef KRY_CPU
        for (int k = 0; k < columns; k++)
#endif
            for (int r = r0; r < b; r += lanes)
                if (first + k < n)
                    X[(first + k) * ld + (backward ? b - 1 - r : r)] = x[k * TRIANGLE + r];
        FENCE();
        first += (long)get_num_groups(0) * columns;
    } while (first < n);
}

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
