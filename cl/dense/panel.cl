// panel.cl - panels of PANEL columns of a matrix F, eliminated column by column, a launch for each: for
// factors P A = L U or, with ECHELON, for reduced row echelon forms. Host: src/dense/panel.c.
// Launch: groups of WG.
//
// A panel has columns c0 ... c0 + w - 1, and rows from c0 on (ECHELON: all rows), of which each group
// has `share`, on GPUs one for each work-item. The launch for column j chooses the pivot among the
// groups' candidates that the last launch left, exchanges, eliminates, and leaves candidates for the
// next column: in one half of `value`, `row` and `line` by turns, for each group how good its candidate
// is, where it is, and what stands in its row of the panel; and, behind the lines of the `most` groups,
// what stands in the row that the pivot will be exchanged with. So nobody reads a row that another
// group is writing. The launch with j == c0 - 1 only looks for candidates. Of equal candidates the first
// row wins, whatever the number of groups.
//
// `index`, for an F of m rows: see the macros below. ECHELON: columns without a pivot are passed over,
// so only the device knows how many pivots there are and to which row the next one goes.

#include "common/kry.clh"

#define PIVOTS (index)             // columns: the row that column j exchanged with its top row
#define SOURCE (index + columns)   // m: where the rows were before the panel
#define ORIGIN (SOURCE + m)        // m: where they were before the block of `block` columns; of lu_block 2 m, in turn
#define TOPS   (SOURCE + m)        // ECHELON: columns: the row that j's pivot went to, -1: j has no pivot
#define COLUMN (TOPS + columns)    // ECHELON: m: the column of the pivot in this row
#define RANK   (COLUMN + m)        // ECHELON: 2: how many pivots there are before steps q with q & 1 == 0, 1
#ifdef ECHELON
#define TOP(j) TOPS[j]
#else
#define TOP(j) (j)
#endif

typedef struct candidate {
    REAL value;
    int row;
} candidate;

candidate better(candidate a, REAL value, int row)
{
    if (value > a.value || (value == a.value && row < a.row)) a.value = value, a.row = row;
    return a;
}

// The best of the group, for every work-item. Every work-item must call it.
candidate best_of_group(candidate c, local REAL *value, local int *row)
{
#ifndef KRY_CPU
    const int l = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    value[l] = c.value, row[l] = c.row;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) {
            c = better(c, value[l + step], row[l + step]);
            value[l] = c.value, row[l] = c.row;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    c.value = value[0], c.row = row[0];
#endif
    return c;
}

kernel void panel_begin(int m, int columns, global int *restrict index)
{
    FOR_EACH(j, (long)columns) PIVOTS[j] = (int)j;
    FOR_EACH(i, (long)m) SOURCE[i] = (int)i;
#ifdef ECHELON
    FOR_EACH(e, 2L) RANK[e] = 0;
#else
    FOR_EACH(i, (long)m) ORIGIN[i] = ORIGIN[m + i] = (int)i; // valid, too, if lu_block is aborted
#endif
}

// Eliminate in rows from ... to - 1 of the panel F, once the pivot's row, u, has gone to row r and what
// stood there, d, to row p; what is left in column q are the multipliers. Not `found`: there is no pivot.
#ifdef KRY_CPU

void eliminate(global REAL *F, long ld, int w, int from, int to, int r, int p, int q,
               local const REAL *u, local const REAL *d, int found)
{
    global REAL *column = F + q * ld;
    const REAL pivot = u[q];

    for (int c = 0; c < w; c++) {
        if (p != r && r >= from && r < to) F[r + c * ld] = u[c];
        if (p != r && p >= from && p < to) F[p + c * ld] = d[c];
    }
#ifdef ECHELON
    for (int i = max(from, r); i < to && !found; i++) column[i] = 0;
    if (!found) return;
    for (int i = from; i < to; i++) column[i] = -column[i] / pivot;
    for (int c = 0; c < w; c++) {
        global REAL *other = F + c * ld;
        const REAL by = u[c];
        for (int i = from; i < to && c != q; i++) other[i] += column[i] * by;
    }
    for (int c = 0; c < w && r >= from && r < to; c++) F[r + c * ld] = (c == q ? 1 : u[c]) / pivot;
#else
    const int first = max(from, r + 1);
    if (!found) return;
    for (int i = first; i < to; i++) column[i] /= pivot;
    for (int c = q + 1; c < w; c++) {
        global REAL *other = F + c * ld;
        const REAL by = u[c];
        for (int i = first; i < to; i++) other[i] -= column[i] * by;
    }
#endif
}

#elif defined(FEW_REGISTERS)

// A work-item has row i of the panel, f, in memory.
#define EACH(c)          for (int c = 0; c < PANEL; c++)
#define IN_ROW(c)        ((c) < w ? row_of_item[(c) * ld] : 0)
#define ENTRY(q)         IN_ROW(q)

void eliminate(global REAL *f, long ld, int w, int i, int r, int p, int q, local const REAL *u,
               local const REAL *d, int found)
{
    const REAL pivot = u[q];
    if (p != r && (i == r || i == p))
        for (int c = 0; c < w; c++) f[c * ld] = i == r ? u[c] : d[c];
#ifdef ECHELON
    const REAL by = -f[q * ld] / pivot;
    if (found && i == r) {
        for (int c = 0; c < w; c++) f[c * ld] = (c == q ? 1 : u[c]) / pivot;
    } else if (found) {
        for (int c = 0; c < w; c++) f[c * ld] = c == q ? by : f[c * ld] + by * u[c];
    } else if (i >= r) {
        f[q * ld] = 0;
    }
#else
    if (i > r && found) {
        const REAL by = f[q * ld] / pivot;
        f[q * ld] = by;
        for (int c = q + 1; c < w; c++) f[c * ld] -= by * u[c];
    }
#endif
}

#else

// A work-item has row i of the panel, v, in registers, where only constants are indices: it is loaded while
// the pivot is searched for.
#define IN_ROW(c) v[c]
#define ENTRY(q)  row_entry(v, q)
#define EACH(c) UNROLLED for (int c = 0; c < PANEL; c++)

REAL row_entry(const REAL *v, int q)
{
    REAL x = 0;
    EACH(c) x = c == q ? v[c] : x;
    return x;
}

void eliminate(REAL *v, global REAL *f, long ld, int w, int i, int r, int p, int q,
               local const REAL *u, local const REAL *d, int found)
{
    const int exchanged = p != r && (i == r || i == p);
    const REAL pivot = u[q];
    if (exchanged) {
        EACH(c) v[c] = i == r ? u[c] : d[c];
    }
#ifdef ECHELON
    const REAL by = -row_entry(v, q) / pivot;
    if (found && i == r) {
        EACH(c) v[c] = (c == q ? 1 : u[c]) / pivot;
    } else if (found) {
        EACH(c) v[c] = c == q ? by : v[c] + by * u[c];
    } else if (i >= r) {
        EACH(c) v[c] = c == q ? 0 : v[c];
    }
    EACH(c)
    {
        if (c < w) f[c * ld] = v[c];
    }
#else
    if (i > r && found) {
        const REAL by = row_entry(v, q) / pivot;
        EACH(c) v[c] = c > q ? v[c] - by * u[c] : c == q ? by : v[c];
    }
    if (i > r || exchanged) {
        EACH(c)
        {
            if (c < w && (c >= q || exchanged)) f[c * ld] = v[c];
        }
    }
#endif
}

#endif

kernel void panel_column(int m, int columns, int c0, int w, int j, int share, int most, ACC tolerance,
                         int block, global REAL *F, long f0, long ld, global REAL *value,
                         global int *row, global REAL *line, global int *index)
{
    local REAL lane_value[WG], u[PANEL], d[PANEL];
    local int lane_row[WG];
    const int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0), q = j - c0;
    const int before = q & 1, after = 1 - before;
    global const REAL *taken = line + before * (most + 1) * PANEL;
    global REAL *left = line + after * (most + 1) * PANEL;
#ifdef ECHELON
    const int begin = 0, r = RANK[q < 0 ? 0 : before];
#else
    const int begin = c0, r = j;
#endif
    const int from = begin + g * share, to = min(from + share, m);
    candidate best, next;

    F += f0 + c0 * ld;
#ifndef KRY_CPU
    const int i = from + l;
#ifdef FEW_REGISTERS
    global REAL *const row_of_item = F + i;
#else
    REAL v[PANEL];
    EACH(c) v[c] = i < to && c < w ? F[i + c * ld] : 0;
#endif
#endif
    best.value = -2, best.row = r;
    for (int e = l; e < groups && q >= 0; e += WG)
        best = better(best, value[before * most + e], row[before * most + e]);
    best = best_of_group(best, lane_value, lane_row);
    for (int c = l; c < PANEL; c += WG) {
        u[c] = q >= 0 && best.row < m ? taken[(best.row - begin) / share * PANEL + c] : 0;
        d[c] = q >= 0 ? taken[most * PANEL + c] : 0;
    }
    BARRIER();
    const REAL size = fabs(u[max(q, 0)]);
#ifdef ECHELON
    const int found = q >= 0 && r < m && size > (REAL)tolerance, first = q + 1 < w ? r + found : m;
    const int p = found ? best.row : r;
#else
    const int found = size != 0, first = q + 1 < w ? j + 1 : m, p = best.row; // else: so is all of the column
#endif

    // This column, then candidates for the next one
    next.value = -2, next.row = first;
#ifdef KRY_CPU
    if (q >= 0) eliminate(F, ld, w, from, to, r, p, q, u, d, found);
    for (int i = max(from, first); i < to; i++) next = better(next, fabs(F[i + (q + 1) * ld]), i);
    for (int c = 0; c < w; c++) {
        if (next.row >= from && next.row < to) left[g * PANEL + c] = F[next.row + c * ld];
        if (first >= from && first < to) left[most * PANEL + c] = F[first + c * ld];
    }
#else
#ifdef FEW_REGISTERS
    if (q >= 0 && i < to) eliminate(row_of_item, ld, w, i, r, p, q, u, d, found);
#else
    if (q >= 0 && i < to) eliminate(v, F + i, ld, w, i, r, p, q, u, d, found);
#endif
    if (i < to && i >= first) next = better(next, fabs(ENTRY(q + 1)), i);
    next = best_of_group(next, lane_value, lane_row);
    if (i < to && i == next.row) {
        EACH(c) left[g * PANEL + c] = IN_ROW(c);
    }
    if (i < to && i == first) {
        EACH(c) left[most * PANEL + c] = IN_ROW(c);
    }
#endif
    if (l == 0) value[after * most + g] = next.value, row[after * most + g] = next.row;
    if (g > 0) return;
    if (l == 0 && q >= 0) PIVOTS[j] = p;
#ifdef ECHELON
    if (l == 0 && q >= 0) TOPS[j] = found ? r : -1, RANK[after] = r + found;
    if (l == 0 && found) COLUMN[r] = j;
#else
    if (l == 0 && q >= 0) {
        const int o = ORIGIN[r];
        ORIGIN[r] = ORIGIN[p], ORIGIN[p] = o;
    }
    for (int k = c0 - block + l; k < c0 && q < 0 && c0 > 0 && c0 % block == 0; k += WG)
        ORIGIN[k] = k, ORIGIN[PIVOTS[k]] = PIVOTS[k]; // a new block
#endif
    if (l == 0 && q >= 0 && r < m) {
        const int s = SOURCE[r];
        SOURCE[r] = SOURCE[p], SOURCE[p] = s;
    }
    for (int k = c0 - PANEL + l; k < c0 && q < 0 && c0 > 0; k += WG) // a new panel
        if (TOP(k) >= 0) SOURCE[TOP(k)] = TOP(k), SOURCE[PIVOTS[k]] = PIVOTS[k];
}

// The exchanges of columns c0 ... c0 + w - 1 in n others: those from `lo` on, but not these.
// of_block: these columns are a block, else a panel. at_once: columns to a group. Factors, with `solve`
// for a panel: in columns behind it the rows c0 ... c0 + w - 1 are multiplied by L11^-1, with L11 the
// triangle below the diagonal in these rows and columns. ECHELON: the rows that the pivots went to
// leave for T, PANEL rows to a column, and zeros stay.
// A row that is exchanged twice comes twice, and gets the same number.
#ifdef KRY_CPU
#define FOR_ENTRIES(k, s, width)             \
    for (int k = 0; k < at_once; k++)        \
        for (int s = 0; s < (width); s++)
#else
#define FOR_ENTRIES(k, s, width)                                               \
    for (int e = l, k = e / (width), s = e % (width); e < at_once * (width);   \
         e += WG, k = e / (width), s = e % (width))
#endif
kernel void panel_rows(long n, int m, int columns, int lo, int c0, int w, int solve, int of_block,
                       int at_once, global REAL *F, long f0, long ld,
                       global const int *restrict index, global REAL *T)
{
    local REAL stage[COLUMNS * TRIANGLE / 2]; // 2 w numbers for each of at_once columns
    const int l = get_local_id(0);
    global const int *source = of_block ? ORIGIN : SOURCE;
    long first = (long)get_group_id(0) * at_once;

    F += f0;
#ifdef ECHELON
    const int behind = RANK[w & 1]; // rows from here on have no pivot
#else
    const int behind = c0 + w;
    local REAL t[PANEL * (PANEL + 1)];
    for (int e = l; e < PANEL * PANEL; e += WG) {
        const int r = e % PANEL, q = e / PANEL;
        if (solve && r < w && q < w) t[q * (PANEL + 1) + r] = F[(c0 + q) * ld + c0 + r];
    }
#endif
    do { // the host makes no more groups than there are columns to be had
        FOR_ENTRIES(k, s, 2 * w)
        {
            const long nth = lo + first + k, column = nth < c0 ? nth : nth + w;
            const int step = c0 + (s < w ? s : s - w), top = TOP(step);
            if (nth < lo + n && top >= 0)
                stage[k * 2 * w + s] = F[column * ld + source[s < w ? top : PIVOTS[step]]];
        }
        BARRIER();
        FOR_ENTRIES(k, s, w)
        {
            const long nth = lo + first + k, column = nth < c0 ? nth : nth + w;
            const int p = PIVOTS[c0 + s];
            if (nth < lo + n && TOP(c0 + s) >= 0 && p >= behind)
                F[column * ld + p] = stage[k * 2 * w + w + s];
        }
#ifndef ECHELON
        int i = 0;
        do {
            BARRIER();
            FOR_ENTRIES(k, s, PANEL)
            {
                if (solve && s > i && s < w && lo + first + k >= c0)
                    stage[k * 2 * w + s] -= t[i * (PANEL + 1) + s] * stage[k * 2 * w + i];
            }
        } while (++i < w - 1 && solve);
        BARRIER();
#endif
        FOR_ENTRIES(k, s, w)
        {
            const int top = TOP(c0 + s);
            const long nth = lo + first + k, column = nth < c0 ? nth : nth + w;
            if (nth >= lo + n) continue;
#ifdef ECHELON
            T[(first + k) * PANEL + s] = top >= 0 ? stage[k * 2 * w + s] : 0;
            if (top >= 0) F[column * ld + top] = 0;
#else
            F[column * ld + top] = stage[k * 2 * w + s];
#endif
        }
        BARRIER();
        first += (long)get_num_groups(0) * at_once;
    } while (first < n);
}

#ifdef ECHELON
// The columns that have pivots: ones in the rows of these, and zeros.
kernel void panel_units(int m, int columns, long count, global const int *restrict index,
                        global REAL *F, long f0, long ld)
{
    FOR_EACH(e, m * count) F[f0 + COLUMN[e / m] * ld + e % m] = e % m == e / m ? 1 : 0;
}
#endif
