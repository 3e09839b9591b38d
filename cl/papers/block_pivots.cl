// block_pivots.cl - P A = L U with pivots that are blocks of 2 x 2 numbers.
// Host: papers/brodtkorb/block_pivots.c.  GROUP work-items to the one group of a panel.
//
// F holds L below the diagonal and U above. The formula of a block's measure is in block_pivots.h.

#include "common/kry.clh"

// On CPUs, too, a group has several work-items here.
#undef get_local_id
#undef get_local_size
#undef get_global_id
#undef get_global_size

#define FENCE() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

typedef struct candidate {
    REAL value; // -2: none
    int row;
} candidate;

candidate better(candidate a, candidate b)
{
    return b.value > a.value || (b.value == a.value && b.row < a.row) ? b : a;
}

// Two rows of two columns; `row` is the first.
candidate measure(REAL a11, REAL a12, REAL a21, REAL a22, int row)
{
    candidate c;
    REAL most = max(max(fabs(a11), fabs(a21)), max(fabs(a12), fabs(a22)));
    REAL by = most > 0 ? 1 / most : 0; // so that products neither overflow nor vanish
    REAL k = fabs((a11 * by) * (a22 * by) - (a12 * by) * (a21 * by));
    k = k / (fabs(a11 * by) + fabs(a12 * by) + fabs(a21 * by) + fabs(a22 * by)) * most;
    c.value = k > 0 ? k : -1 / (1 + max(fabs(a11), fabs(a21))); // singular blocks: by the entries
    c.row = fabs(a21) > fabs(a11) ? row + 1 : row;
    return c;
}

// The best of rows i, i + step, ... of column a: of pairs of rows if `b` is the column beside it.
candidate look(global const REAL *a, global const REAL *b, int i, int step, int m, int partner)
{
    candidate best;
    best.value = -2, best.row = m;
    for (; i < m; i += step) {
        candidate c;
        const int two = i + 1 < m;
        c.value = i == partner && a[i] != 0 ? INFINITY : fabs(a[i]), c.row = i;
        if (b) c = measure(a[i], b[i], two ? a[i + 1] : 0, two ? b[i + 1] : 0, i);
        best = better(best, c);
    }
    return best;
}

// Columns c0 ... c0 + w - 1 of m rows, below row c0. swaps[j]: the row exchanged with row j; order: the
// rows of A in their new places.
kernel void block_pivots_panel(int m, int c0, int w, global REAL *F, long f0, long ld,
                               global int *order, global int *swaps)
{
    local REAL value[GROUP];
    local int row[GROUP];
    const int l = get_local_id(0);
    int q = 0, partner = -1; // the row that the last pivot has chosen beforehand; -1: none
    F += f0 + c0 * ld;
    do {
        const int j = c0 + q, pairs = q % 2 == 0 && q + 1 < w, each = pairs ? 2 : 1;
        global REAL *a = F + q * ld;
        candidate best = look(a, pairs ? a + ld : 0, j + l * each, GROUP * each, m, partner);
        value[l] = best.value, row[l] = best.row;
        FENCE();
        for (int e = 0; e < GROUP; e++) {
            candidate other;
            other.value = value[e], other.row = row[e];
            best = better(best, other);
        }
        const int p = best.row < m ? best.row : j; // numbers that are not numbers: no exchange
        for (int c = l; c < w; c += GROUP) {
            REAL t = F[j + c * ld];
            F[j + c * ld] = F[p + c * ld], F[p + c * ld] = t;
        }
        if (l == 0) {
            int t = order[j];
            order[j] = order[p], order[p] = t, swaps[j] = p;
        }
        FENCE();
        const REAL u = a[j];
        for (int i = j + 1 + l; i < m && u != 0; i += GROUP) { // 0: so is all of the column
            const REAL by = a[i] / u;
            a[i] = by;
            for (int c = q + 1; c < w; c++) F[i + c * ld] -= by * F[j + c * ld];
        }
        FENCE();
        partner = pairs ? c0 + ((p - c0) ^ 1) : -1;
        partner = partner >= m ? -1 : partner == j ? p : partner;
    } while (++q < w);
}

// The exchanges of that panel in all n - w other columns; those behind it become L11^-1 times what they
// were in its rows.
kernel void block_pivots_rows(long n, int c0, int w, global REAL *F, long f0, long ld,
                              global const int *restrict swaps)
{
    F += f0;
    FOR_EACH(e, n - w)
    {
        const long column = e < c0 ? e : e + w;
        global REAL *x = F + column * ld;
        for (int s = c0; s < c0 + w; s++) {
            REAL t = x[s];
            x[s] = x[swaps[s]], x[swaps[s]] = t;
        }
        for (int s = c0; s < c0 + w && column >= c0; s++)
            for (int r = s + 1; r < c0 + w; r++) x[r] -= F[r + s * ld] * x[s];
    }
}
