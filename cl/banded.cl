// banded.cl - banded systems by Gauss's elimination with partial pivoting, one work-item to a system.
//
// BAND      diagonals beside the main one, on each side: 1 or 2
// PERIODIC  rows go on beyond the ends
//
// A window of rows moves down the band: those that have the column in hand. Of two rows that fight for it the
// larger number wins, as in LAPACK's gtsv. Periodic: the last BAND rows stand in the window from the beginning,
// and the last BORDER columns are carried along for themselves; what is left then is full.

#define PITCH (2 * BAND + 1)
#ifdef PERIODIC
#define BORDER (2 * BAND)
#define ROWS   PITCH
#else
#define BORDER 0
#define ROWS   (BAND + 1)
#endif
#define WORDS (PITCH + BORDER + 1) // a row: from the diagonal on, the border, the right-hand side

// Row i goes to `into`, whose first column is `column`. The first number that is not finite is
// remembered: row * 8 + which, one of the diagonals or b.
#define TAKE_ENTRY(which, p, p_first)                                           \
    {                                                                           \
        REAL v_ = 0;                                                            \
        long j_ = i_ + (which)-BAND;                                            \
        bool inside_ = j_ >= 0 && j_ < n;                                       \
        if (INSIDE(inside_)) {                                                  \
            v_ = p[p_first + i_ * m_row + s * m_system];                        \
            if (!isfinite(v_)) wrong = min(wrong, i_ * 8 + (which));            \
            j_ = inside_ ? j_ : ((j_ % n) + n) % n;                             \
        }                                                                       \
        _Pragma("unroll") for (int k_ = 0; k_ < PITCH + BORDER; k_++)           \
        {                                                                       \
            long at_ = k_ < PITCH ? column_ + k_ : n - BORDER + k_ - PITCH;     \
            bool edge_ = k_ >= PITCH, border_ = j_ >= n - BORDER;               \
            if (at_ == j_ && edge_ == border_) into_[k_] += v_;                 \
        }                                                                       \
    }
#ifdef PERIODIC
#define INSIDE(inside) true
#else
#define INSIDE(inside) (inside)
#endif

kernel void banded_solve(long n, long count, int listed, int pivoting,
                         global const REAL *far_lower, long far_lower_first,
                         global const REAL *lower, long lower_first, global const REAL *diagonal,
                         long diagonal_first, global const REAL *upper, long upper_first,
                         global const REAL *far_upper, long far_upper_first, long m_row,
                         long m_system, global const REAL *b, long b_first, global REAL *x,
                         long x_first, long row, long system, volatile global int *found,
                         int room, global REAL *work, long word, long slot)
{
    global long *state = (global long *)(found + 4 + 2L * room); // of systems that are not solved
    global REAL *u = work + get_global_id(0) * slot;
    const long inner = max(n - BORDER, 0L); // columns of the band; the rest is the border
    FOR_EACH(k, count)
    {
        const long s = listed ? found[4 + k] : k;
        REAL w[ROWS][WORDS];
        long wrong = LONG_MAX, singular = -1;
        // Rows that come one by one. Those that there are not stand above the others, if all columns are
        // the border's.
        const long in_band = ROWS > BAND + 1 ? max(n - BAND, 0L) : n;
        const long absent = inner ? 0 : max(BAND + 1 - in_band, 0L);

#define TAKE_ROW(i, column, into)                                                     \
    {                                                                                 \
        long i_ = i, column_ = column;                                                \
        private REAL *into_ = into;                                                   \
        _Pragma("unroll") for (int z_ = 0; z_ < WORDS; z_++) into_[z_] = 0;           \
        if (i_ >= 0 && i_ < n) {                                                      \
            TAKE_BAND                                                                 \
            into_[WORDS - 1] = b[b_first + i_ * row + s * system];                    \
            if (!isfinite(into_[WORDS - 1])) wrong = min(wrong, i_ * 8 + PITCH);      \
        }                                                                             \
    }
#if BAND == 1
#define TAKE_BAND                            \
    TAKE_ENTRY(0, lower, lower_first)        \
    TAKE_ENTRY(1, diagonal, diagonal_first)  \
    TAKE_ENTRY(2, upper, upper_first)
#else
#define TAKE_BAND                               \
    TAKE_ENTRY(0, far_lower, far_lower_first)   \
    TAKE_ENTRY(1, lower, lower_first)           \
    TAKE_ENTRY(2, diagonal, diagonal_first)     \
    TAKE_ENTRY(3, upper, upper_first)           \
    TAKE_ENTRY(4, far_upper, far_upper_first)
#endif
        _Pragma("unroll") for (int r = 0; r < ROWS; r++)
        {
            long i = r <= BAND ? r - absent : in_band + (r - BAND - 1);
            if (r <= BAND && i >= in_band) i = -1;
            TAKE_ROW(i, 0L, w[r])
        }
        for (long j = 0; j < inner; j++) {
            if (pivoting) {
                _Pragma("unroll") for (int r = 1; r < ROWS; r++)
                {
                    bool larger = fabs(w[r][0]) > fabs(w[0][0]);
                    _Pragma("unroll") for (int z = 0; z < WORDS; z++)
                    {
                        REAL top = w[0][z], other = w[r][z];
                        w[0][z] = larger ? other : top;
                        w[r][z] = larger ? top : other;
                    }
                }
            }
            if (w[0][0] == 0 && singular < 0) singular = j;
            _Pragma("unroll") for (int z = 0; z < WORDS; z++) u[(j * WORDS + z) * word] = w[0][z];
            _Pragma("unroll") for (int r = 1; r < ROWS; r++)
            {
                REAL m = w[r][0] / w[0][0];
                _Pragma("unroll") for (int z = 1; z < PITCH; z++) w[r][z - 1] = w[r][z] - m * w[0][z];
                w[r][PITCH - 1] = 0;
                _Pragma("unroll") for (int z = PITCH; z < WORDS; z++) w[r][z] -= m * w[0][z];
            }
            // The next row takes the place of the one that is done; without pivoting rows keep their order.
            _Pragma("unroll") for (int r = 0; r < BAND; r++)
                _Pragma("unroll") for (int z = 0; z < WORDS; z++) w[r][z] = w[r + 1][z];
            long i = j + 1 + BAND;
            TAKE_ROW(i < in_band ? i : -1, j + 1, w[BAND])
        }
        REAL xs[PITCH + BORDER]; // the next unknowns, then those of the border
        _Pragma("unroll") for (int z = 0; z < PITCH + BORDER; z++) xs[z] = 0;
#ifdef PERIODIC
        // What is left: BORDER unknowns in as many rows of the window, by Gauss and Jordan.
        const int lead = n < BORDER ? (int)(BORDER - n) : 0; // columns that are not there
        _Pragma("unroll") for (int e = 0; e < BORDER; e++) if (e >= lead)
        {
            _Pragma("unroll") for (int r = e + 1; r < ROWS; r++)
            {
                bool larger = fabs(w[r][PITCH + e]) > fabs(w[e][PITCH + e]);
                _Pragma("unroll") for (int z = PITCH; z < WORDS; z++)
                {
                    REAL top = w[e][z], other = w[r][z];
                    w[e][z] = larger ? other : top;
                    w[r][z] = larger ? top : other;
                }
            }
            if (w[e][PITCH + e] == 0 && singular < 0) singular = n - BORDER + e;
            _Pragma("unroll") for (int r = 0; r < ROWS; r++) if (r != e)
            {
                REAL m = w[r][PITCH + e] / w[e][PITCH + e];
                _Pragma("unroll") for (int z = PITCH + e + 1; z < WORDS; z++) w[r][z] -= m * w[e][z];
                w[r][PITCH + e] = 0;
            }
        }
        _Pragma("unroll") for (int e = 0; e < BORDER; e++) if (e >= lead)
            xs[PITCH + e] = w[e][WORDS - 1] / w[e][PITCH + e];
#endif
        bool bad = wrong < LONG_MAX || singular >= 0;
        if (bad) {
            state[s] = wrong < LONG_MAX ? -1 - wrong : singular;
            atomic_inc(&found[1]);
            atomic_min(&found[2], (int)s);
            continue;
        }
        _Pragma("unroll") for (int e = 0; e < BORDER; e++) if (n - BORDER + e >= 0)
            x[x_first + (n - BORDER + e) * row + s * system] = xs[PITCH + e];
        for (long j = inner - 1; j >= 0; j--) {
            global const REAL *v = u + j * WORDS * word;
            REAL sum = v[(WORDS - 1) * word];
            _Pragma("unroll") for (int z = 1; z < PITCH + BORDER; z++) sum -= v[z * word] * xs[z];
            _Pragma("unroll") for (int z = PITCH - 1; z > 1; z--) xs[z] = xs[z - 1];
            xs[1] = sum / v[0];
            x[x_first + j * row + s * system] = xs[1];
        }
    }
}
