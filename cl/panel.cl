// panel.cl - panels of PANEL columns of a matrix F, eliminated column by column, a launch for each: for
// factors P A = L U or, with ECHELON, for reduced row echelon forms. Host: src/dense/panel.c.
// Launch: groups of WG.
//
// A panel has columns c0 ... c0 + w - 1, and rows from c0 on (ECHELON: all rows), of which each group
// has `share`. The launch for column j chooses the pivot among the groups' candidates that the last
// launch left in one half of `value` and `row`, exchanges, eliminates, and leaves candidates for the
// next column in the other half. It reads the panel from one half of `work` and writes it to the other
// one, since groups still read rows that others exchange. The launch with j == c0 - 1 only reads F and
// leaves candidates; the last one writes F. Of equal candidates the first row wins, whatever the
// number of groups.
//
// `index`, for an F of m rows: see the macros below. ECHELON: columns without a pivot are passed over,
// so only the device knows how many pivots there are and to which row the next one goes.

#define PIVOTS (index)             // columns: the row that column j exchanged with its top row
#define SOURCE (index + columns)   // m: where the rows were before the panel
#define ORIGIN (SOURCE + m)        // m: where they were before the block of `block` columns
#define TOPS   (SOURCE + m)        // ECHELON: columns: the row that j's pivot went to, -1: j has no pivot
#define COLUMN (TOPS + columns)    // ECHELON: m: the column of the pivot in this row
#define RANK   (COLUMN + m)        // ECHELON: 2: how many pivots there are before steps q with q & 1 == 0, 1
#ifdef ECHELON
#define TOP(j) TOPS[j]
#else
#define TOP(j) (j)
#endif

#ifdef KRY_CPU
#define FENCE()
#define WORK(i, c) ((long)(i) * PANEL + (c))
#define ENTRY(v, q) v[q]
#define EACH(c)     for (int c = 0; c < PANEL; c++)
#else
#define FENCE() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define WORK(i, c) ((long)(c) * m + (i))
#define ENTRY(v, q) row_entry(v, q)
#define EACH(c)     _Pragma("unroll") for (int c = 0; c < PANEL; c++)
#endif

// A row lies in registers, where only constants are indices.
REAL row_entry(const REAL *v, int q)
{
    REAL x = 0;
    EACH(c) x = c == q ? v[c] : x;
    return x;
}

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
    FOR_EACH(i, (long)m) ORIGIN[i] = (int)i;
#endif
}

// v: row i, whose entry q becomes a multiplier. u: the pivot's row, which goes to row r.
void eliminate(REAL *v, int i, int r, int q, local const REAL *u, int found)
{
#ifdef ECHELON
    const REAL pivot = u[q], by = found ? -ENTRY(v, q) / pivot : 0;
    if (found && i == r) {
        EACH(c) v[c] = (c == q ? 1 : v[c]) / pivot;
    } else if (found) {
        EACH(c) v[c] = c == q ? by : v[c] + by * u[c];
    } else if (i >= r) {
        EACH(c) v[c] = c == q ? 0 : v[c];
    }
#else
    if (i <= r || !found) return;
    const REAL by = ENTRY(v, q) / u[q];
    EACH(c) v[c] = c > q ? v[c] - by * u[c] : c == q ? by : v[c];
#endif
}

kernel void panel_column(int m, int columns, int c0, int w, int j, int share, int most, ACC tolerance,
                         int block, global REAL *F, long f0, long ld, global REAL *work,
                         global REAL *value, global int *row, global int *index)
{
    local REAL lane_value[WG], u[PANEL];
    local int lane_row[WG];
    const int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0), q = j - c0;
    const int before = q & 1, after = 1 - before;
    global const REAL *in = work + before * (long)m * PANEL;
    global REAL *out = work + after * (long)m * PANEL;
#ifdef ECHELON
    const int begin = 0, r = RANK[q < 0 ? 0 : before];
#else
    const int begin = c0, r = j;
#endif
    const int from = begin + g * share, to = min(from + share, m);
    candidate best, next;

    F += f0 + c0 * ld;
    best.value = -2, best.row = r;
    for (int e = l; e < groups && q >= 0; e += WG)
        best = better(best, value[before * most + e], row[before * most + e]);
    best = best_of_group(best, lane_value, lane_row);
    const int p = best.row;
    for (int c = l; c < PANEL; c += WG) u[c] = q >= 0 && p < m ? in[WORK(p, c)] : 0;
    FENCE();
#ifdef ECHELON
    const int found = q >= 0 && r < m && fabs(u[max(q, 0)]) > (REAL)tolerance;
    const int exchange = found, first = q + 1 < w ? r + found : m;
#else
    const int found = q >= 0 && u[max(q, 0)] != 0; // else the column is zero below row j
    const int exchange = q >= 0, first = q + 1 < w ? j + 1 : m;
#endif
    next.value = -2, next.row = first;
    for (int i = from + l; i < to; i += WG) {
        const int s = !exchange ? i : i == r ? p : i == p ? r : i;
        REAL v[PANEL];
        EACH(c) v[c] = q >= 0 ? in[WORK(s, c)] : c < w ? F[i + c * ld] : 0;
        if (q >= 0) eliminate(v, i, r, q, u, found);
        if (q + 1 < w) {
            EACH(c) out[WORK(i, c)] = v[c];
        } else {
            EACH(c)
            {
                if (c < w) F[i + c * ld] = v[c];
            }
        }
        if (i >= first) next = better(next, fabs(ENTRY(v, q + 1)), i);
    }
    next = best_of_group(next, lane_value, lane_row);
    if (l == 0) value[after * most + g] = next.value, row[after * most + g] = next.row;
    if (g > 0) return;
    if (l == 0 && q >= 0) PIVOTS[j] = p;
#ifdef ECHELON
    if (l == 0 && q >= 0) TOPS[j] = found ? r : -1, RANK[after] = r + found;
    if (l == 0 && found) COLUMN[r] = j;
#else
    if (l == 0 && exchange) {
        const int o = ORIGIN[r];
        ORIGIN[r] = ORIGIN[p], ORIGIN[p] = o;
    }
    for (int k = c0 - block + l; k < c0 && q < 0 && c0 > 0 && c0 % block == 0; k += WG)
        ORIGIN[k] = k, ORIGIN[PIVOTS[k]] = PIVOTS[k]; // a new block
#endif
    if (l == 0 && exchange) {
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
kernel void panel_rows(long n, int m, int columns, int lo, int c0, int w, int solve, int of_block,
                       int at_once, global REAL *F, long f0, long ld,
                       global const int *restrict index, global REAL *T)
{
    local REAL stage[COLUMNS * TRIANGLE / 2];
    const int l = get_local_id(0), each = 2 * w, all = at_once * each;
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
        for (int e = l; e < all; e += WG) {
            const int s = e % each, k = c0 + s % w;
            const long nth = lo + first + e / each, column = nth < c0 ? nth : nth + w;
            if (nth < lo + n && TOP(k) >= 0)
                stage[e] = F[column * ld + source[s < w ? TOP(k) : PIVOTS[k]]];
        }
        FENCE();
        for (int e = l; e < all; e += WG) {
            const int s = e % each, k = c0 + s % w;
            const long nth = lo + first + e / each, column = nth < c0 ? nth : nth + w;
            if (s >= w && nth < lo + n && TOP(k) >= 0 && PIVOTS[k] >= behind)
                F[column * ld + PIVOTS[k]] = stage[e];
        }
#ifndef ECHELON
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
#endif
        for (int e = l; e < at_once * w; e += WG) {
            const int s = e % w, top = TOP(c0 + s);
            const long nth = lo + first + e / w, column = nth < c0 ? nth : nth + w;
            const REAL v = top >= 0 && nth < lo + n ? stage[e / w * each + s] : 0;
            if (nth >= lo + n) continue;
#ifdef ECHELON
            T[(first + e / w) * PANEL + s] = v;
            if (top >= 0) F[column * ld + top] = 0;
#else
            F[column * ld + top] = v;
#endif
        }
        FENCE();
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
