// gauss_jordan.cl - elimination above and below the diagonal, in place, by panels of PANEL columns.
// Host: src/dense/gauss_jordan.c.  Launch: groups of WG. Behind pivot.clh.
//
// As in lu.cl, a launch for each column of a panel finds the pivot that the last one has looked
// for, exchanges, eliminates, and looks for the next; each group has `share` rows. But here columns
// without a pivot are passed over: how many pivots there are so far, and with it the row that the
// next one goes to, is known to the device alone: rank[half_in] before a launch, rank[1 - half_in]
// after it. A column of the panel whose pivot went to row r becomes the r-th column of the matrix
// by which all other columns are to be multiplied; step s of a panel went to row top[s], or nowhere
// (-1), and took row pivots[s] there.

// order[i] := source[i] := i, and nothing found yet
kernel void gauss_jordan_begin(int m, global int *restrict order, global int *restrict source,
                               global int *restrict rank)
{
    FOR_EACH(i, (long)m) order[i] = source[i] = (int)i;
    FOR_EACH(i, 2L) rank[i] = 0;
}

// Row r takes its pivot, row p, and all others lose it. u: the pivot's row, d: row r as it was.
#ifdef KRY_CPU

// F: the panel
void gauss_jordan_eliminate(global REAL *F, long ld, int from, int to, int w, int r, int p, int q,
                            local const REAL *u, local const REAL *d)
{
    const REAL pivot = u[q];
    global REAL *column = F + q * ld;
    if (p != r && p >= from && p < to)
        for (int c = 0; c < w; c++) F[p + c * ld] = d[c];
    for (int i = from; i < to; i++) column[i] = -column[i] / pivot;
    for (int c = 0; c < w; c++) {
        global REAL *other = F + c * ld;
        const REAL by = u[c];
        if (c == q) continue;
        for (int i = from; i < to; i++) other[i] += column[i] * by;
    }
    if (r >= from && r < to)
        for (int c = 0; c < w; c++) F[r + c * ld] = (c == q ? 1 : u[c]) / pivot;
}

#else

// The same with row i of a work-item, v.
void gauss_jordan_eliminate(REAL *v, int i, int r, int p, int q, local const REAL *u,
                            local const REAL *d)
{
    const REAL pivot = u[q];
    if (i == p && p != r) {
        EACH(c) v[c] = d[c];
    }
    const REAL by = -row_entry(v, q) / pivot;
    if (i == r) {
        EACH(c) v[c] = (c == q ? 1 : u[c]) / pivot;
    } else {
        EACH(c) v[c] = c == q ? by : v[c] + by * u[c];
    }
}

#endif

// Column j of the panel that begins at c0, w wide; j == c0 - 1: only the search.
// size[j]: the pivot, or what was too small for one.
kernel void gauss_jordan_column(int m, int c0, int w, int j, int share, ACC tolerance,
                                int most, int half_in, global REAL *F, long f0, long ld,
                                global REAL *value, global int *row, global REAL *line,
                                global int *rank, global int *top, global int *pivots,
                                global int *order, global int *source, global int *pivot_column,
                                global REAL *size)
{
    local REAL lane_value[WG], u[PANEL], d[PANEL];
    local int lane_row[WG], lane_from[WG];
    const int l = get_local_id(0), g = get_group_id(0), groups = get_num_groups(0);
    const int from = g * share, to = min(from + share, m), q = j - c0, r = rank[half_in];

    F += f0 + c0 * ld;
#ifndef KRY_CPU
    REAL v[PANEL];
    const int i = from + l;
    EACH(c) v[c] = i < to && c < w ? F[i + c * ld] : 0;
#endif
    const candidate best =
        pivot_take(pivot_notes(value, row, line, most, half_in), q >= 0 ? groups : 0, r, w,
                   lane_value, lane_row, lane_from, u, d);
    const int p = best.row;
    FENCE();
    const int found_one = q >= 0 && r < m && fabs(u[max(q, 0)]) > (REAL)tolerance,
              next = r + found_one;
#ifdef KRY_CPU
    if (found_one)
        gauss_jordan_eliminate(F, ld, from, to, w, r, p, q, u, d);
    else if (q >= 0)
        for (int i = max(from, r); i < to; i++) F[i + q * ld] = 0;
#else
    if (found_one) {
        gauss_jordan_eliminate(v, i, r, p, q, u, d);
    } else if (i >= r) {
        EACH(c) v[c] = c == q ? 0 : v[c];
    }
    if (q >= 0 && i < to) {
        EACH(c)
        {
            if (c < w) F[i + c * ld] = v[c];
        }
    }
#endif
    if (g == 0 && l == 0) {
        rank[1 - half_in] = next;
        if (q >= 0) {
            size[j] = r < m ? fabs(u[q]) : 0;
            top[q] = found_one ? r : -1, pivots[q] = p;
        }
        if (found_one) {
            int t = order[r], s = source[r];
            order[r] = order[p], order[p] = t;
            source[r] = source[p], source[p] = s;
            pivot_column[r] = j;
        }
    }
    if (g == 0 && q < 0 && c0 > 0) // a new panel; all before it were PANEL wide
        for (int s = l; s < PANEL; s += WG)
            if (top[s] >= 0) source[top[s]] = top[s], source[pivots[s]] = pivots[s];

    // the next column
    const int half_out = 1 - half_in, first = q + 1 < w ? next : m;
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

// For n other columns, of which the first `before` are the first of the matrix and the others come
// `gap` later: exchange rows as the panel did, take the rows that its pivots went to out into T,
// PANEL rows to a column, and leave zeros there. rank[half_now]: after the panel.
#define AT_ONCE 4
kernel void gauss_jordan_rows(long n, long before, long gap, int w, global REAL *F, long f0,
                              long ld, global REAL *T, global const int *restrict rank,
                              int half_now, global const int *restrict top,
                              global const int *restrict pivots, global const int *restrict source)
{
    local REAL stage[AT_ONCE * 2 * PANEL];
    const int each = 2 * w, l = get_local_id(0);
    long first = (long)get_group_id(0) * AT_ONCE;
    F += f0;
    do { // the host makes no more groups than there are columns to be had
        for (int e = l; e < AT_ONCE * each; e += WG) {
            const int s = e % each, step = s % w;
            const long nth = first + e / each, column = nth < before ? nth : nth + gap;
            if (nth < n && top[step] >= 0)
                stage[e] = F[column * ld + source[s < w ? top[step] : pivots[step]]];
        }
        FENCE();
        for (int e = l; e < AT_ONCE * each; e += WG) {
            const int s = e % each, step = s % w;
            const long nth = first + e / each, column = nth < before ? nth : nth + gap;
            if (nth >= n) continue;
            if (s < w) {
                T[nth * PANEL + s] = top[step] >= 0 ? stage[e] : 0;
                if (top[step] >= 0) F[column * ld + top[step]] = 0;
            } else if (top[step] >= 0 && pivots[step] >= rank[half_now])
                F[column * ld + pivots[step]] = stage[e];
        }
        FENCE();
        first += (long)get_num_groups(0) * AT_ONCE;
    } while (first < n);
}

// The columns that have pivots: ones in the rows of these, and zeros.
kernel void gauss_jordan_units(long m, long count, global const int *restrict pivot_column,
                               global REAL *F, long f0, long ld)
{
    FOR_EACH(e, m * count) F[f0 + pivot_column[e / m] * ld + e % m] = e % m == e / m ? 1 : 0;
}

// B's column order[j] := F's column j
kernel void gauss_jordan_columns(long n, global const int *restrict order,
                                 global const REAL *restrict F, long f0, global REAL *B, long b0)
{
    FOR_EACH(e, n * n) B[b0 + order[e / n] * n + e % n] = F[f0 + e];
}
