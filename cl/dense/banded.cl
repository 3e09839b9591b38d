// banded.cl - banded systems by Gaussian elimination with partial pivoting, one work-item to a system.
// Host: src/dense/tridiagonal.c.
//
// BAND      diagonals on each side of the main one: 1 or 2
// PERIODIC  the unknowns form a ring
//
// A window moves down the band: the rows that may have an entry in the column that is eliminated next. The
// row with the largest one becomes the pivot's, of equal ones the first, as in LAPACK's gtsv. PERIODIC: the
// last BAND rows are in the window from the beginning, and the last BORDER columns, the border, are kept
// beside the band's. When the band is done, a full system for the unknowns of the border is left.

#include "common/kry.clh"

#define PITCH (2 * BAND + 1)
#ifdef PERIODIC
#define BORDER (2 * BAND)
#define ROWS   PITCH
#else
#define BORDER 0
#define ROWS   (BAND + 1)
#endif
#define WORDS (PITCH + BORDER + 1) // of a row: from the diagonal on, the border, the right-hand side
#define COUNTERS 6 // as in tridiagonal.cl

// Put number `which` of row i_ into into_, whose first entry is that of column_. `wrong` keeps the first number
// that is not finite as row * 8 + which, `which` counting the diagonals and then b.
#define TAKE_ENTRY(which, p, p_first)                                       \
    {                                                                       \
        REAL v_ = 0;                                                        \
        long j_ = i_ + (which)-BAND;                                        \
        bool inside_ = j_ >= 0 && j_ < n;                                   \
        if (inside_ || BORDER) {                                            \
            v_ = p[p_first + i_ * m_row + s * m_system];                    \
            if (!isfinite(v_)) wrong = min(wrong, i_ * 8 + (which));        \
            j_ = inside_ ? j_ : ((j_ % n) + n) % n;                         \
        }                                                                   \
        UNROLLED for (int k_ = 0; k_ < PITCH + BORDER; k_++)                \
        {                                                                   \
            long at_ = k_ < PITCH ? column_ + k_ : n - BORDER + k_ - PITCH; \
            bool edge_ = k_ >= PITCH, border_ = j_ >= n - BORDER;           \
            if (at_ == j_ && edge_ == border_) into_[k_] += v_;             \
        }                                                                   \
    }

// Of rows a and b, the one that is larger in column c becomes a; the first one if they are equal.
void larger_first(REAL *a, REAL *b, int c)
{
    const bool larger = fabs(b[c]) > fabs(a[c]);
    UNROLLED for (int z = 0; z < WORDS; z++)
    {
        const REAL top = a[z], other = b[z];
        a[z] = larger ? other : top;
        b[z] = larger ? top : other;
    }
}

// turn: -1: the first `count` systems; 0, 1: those on the list, which found[turn] counts. found: as in
// tridiagonal.cl. Of the counters this launch clears the one of the other turn, for the next call, and adds to
// those of systems that were not solved, of the first of them, and of systems that were solved with pivoting.
kernel void banded_solve(long n, long count, int turn, int pivoting,
                         global const REAL *far_lower, long far_lower_first,
                         global const REAL *lower, long lower_first, global const REAL *diagonal,
                         long diagonal_first, global const REAL *upper, long upper_first,
                         global const REAL *far_upper, long far_upper_first, long m_row,
                         long m_system, global const REAL *b, long b_first, global REAL *x,
                         long x_first, long row, long system, volatile global int *found,
                         int room, global REAL *work, long word, long slot)
{
    global long *state = (global long *)(found + COUNTERS + 2L * room); // of systems that are not solved
    global REAL *u = work + get_global_id(0) * slot;
    const long inner = max(n - BORDER, 0L); // columns of the band; the others are the border
    if (turn >= 0) count = found[turn];
    if (get_global_id(0) == 0) {
        if (turn >= 0) found[1 - turn] = 0;
        if (pivoting) atomic_add(&found[4], (int)count);
    }
    FOR_EACH(k, count)
    {
        const long s = turn >= 0 ? found[COUNTERS + k] : k;
        REAL w[ROWS][WORDS];
        long wrong = LONG_MAX, singular = -1;
        // Rows that enter the window one by one. PERIODIC: the last BAND are in it already. If all columns are
        // in the border, the window's first `absent` rows are empty.
        const long in_band = ROWS > BAND + 1 ? max(n - BAND, 0L) : n;
        const long absent = inner ? 0 : max(BAND + 1 - in_band, 0L);

#define TAKE_ROW(i, column, into)                                                \
    {                                                                            \
        long i_ = i, column_ = column;                                           \
        private REAL *into_ = into;                                              \
        UNROLLED for (int z_ = 0; z_ < WORDS; z_++) into_[z_] = 0;               \
        if (i_ >= 0 && i_ < n) {                                                 \
            if (BAND == 2) TAKE_ENTRY(0, far_lower, far_lower_first)             \
            TAKE_ENTRY(BAND - 1, lower, lower_first)                             \
            TAKE_ENTRY(BAND, diagonal, diagonal_first)                           \
            TAKE_ENTRY(BAND + 1, upper, upper_first)                             \
            if (BAND == 2) TAKE_ENTRY(4, far_upper, far_upper_first)             \
            into_[WORDS - 1] = b[b_first + i_ * row + s * system];               \
            if (!isfinite(into_[WORDS - 1])) wrong = min(wrong, i_ * 8 + PITCH); \
        }                                                                        \
    }
        UNROLLED for (int r = 0; r < ROWS; r++)
        {
            long i = r <= BAND ? r - absent : in_band + (r - BAND - 1);
            if (r <= BAND && i >= in_band) i = -1;
            TAKE_ROW(i, 0L, w[r])
        }
        for (long j = 0; j < inner; j++) {
            if (pivoting) {
                UNROLLED for (int r = 1; r < ROWS; r++) larger_first(w[0], w[r], 0);
            }
            if (w[0][0] == 0 && singular < 0) singular = j;
            UNROLLED for (int z = 0; z < WORDS; z++) u[(j * WORDS + z) * word] = w[0][z];
            UNROLLED for (int r = 1; r < ROWS; r++)
            {
                REAL m = w[r][0] / w[0][0];
                UNROLLED for (int z = 1; z < PITCH; z++) w[r][z - 1] = w[r][z] - m * w[0][z];
                w[r][PITCH - 1] = 0;
                UNROLLED for (int z = PITCH; z < WORDS; z++) w[r][z] -= m * w[0][z];
            }
            // The next row enters behind the others, which keep their order: without pivoting it matters.
            UNROLLED for (int r = 0; r < BAND; r++)
                UNROLLED for (int z = 0; z < WORDS; z++) w[r][z] = w[r + 1][z];
            long i = j + 1 + BAND;
            TAKE_ROW(i < in_band ? i : -1, j + 1, w[BAND])
        }
        REAL xs[PITCH + BORDER]; // the unknowns behind row j that it has entries of, then those of the border
        UNROLLED for (int z = 0; z < PITCH + BORDER; z++) xs[z] = 0;
#ifdef PERIODIC
        // The unknowns of the border, by Gauss-Jordan elimination in the rows of the window.
        const int lead = n < BORDER ? (int)(BORDER - n) : 0; // columns of the border that do not exist
        UNROLLED for (int e = 0; e < BORDER; e++) if (e >= lead)
        {
            UNROLLED for (int r = e + 1; r < ROWS; r++) larger_first(w[e], w[r], PITCH + e);
            if (w[e][PITCH + e] == 0 && singular < 0) singular = n - BORDER + e;
            UNROLLED for (int r = 0; r < ROWS; r++) if (r != e)
            {
                REAL m = w[r][PITCH + e] / w[e][PITCH + e];
                UNROLLED for (int z = PITCH + e + 1; z < WORDS; z++) w[r][z] -= m * w[e][z];
                w[r][PITCH + e] = 0;
            }
        }
        UNROLLED for (int e = 0; e < BORDER; e++) if (e >= lead)
            xs[PITCH + e] = w[e][WORDS - 1] / w[e][PITCH + e];
#endif
        bool bad = wrong < LONG_MAX || singular >= 0;
        if (bad) {
            state[s] = wrong < LONG_MAX ? -1 - wrong : singular;
            atomic_inc(&found[2]);
            atomic_min(&found[3], (int)s);
            if (pivoting) atomic_dec(&found[4]);
            continue;
        }
        UNROLLED for (int e = 0; e < BORDER; e++) if (n - BORDER + e >= 0)
            x[x_first + (n - BORDER + e) * row + s * system] = xs[PITCH + e];
        for (long j = inner - 1; j >= 0; j--) {
            global const REAL *v = u + j * WORDS * word;
            REAL sum = v[(WORDS - 1) * word];
            UNROLLED for (int z = 1; z < PITCH + BORDER; z++) sum -= v[z * word] * xs[z];
            UNROLLED for (int z = PITCH - 1; z > 1; z--) xs[z] = xs[z - 1];
            xs[1] = sum / v[0];
            x[x_first + j * row + s * system] = xs[1];
        }
    }
}
