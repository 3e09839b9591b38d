// block_diagonals.cl - z := (L D U)^-1 r of diagonal blocks, L and U unit triangular with few diagonals, on CPUs.
//
// Host: src/precond/block_solve.c. Bundles, diagonals and `slot`: block_ic.cl; lanes and rows: block.clh.
//
// DIAGONALS is m, for the compiler. A bundle whose blocks all have the `same` numbers, as blocks of lines with constant coefficients
// have, keeps one of each in place of STRIDE; its slot is ~slot[b].

#include "common/kry.clh"
#include "precond/block.clh"

// Rows of a tile stay in the first cache, so that its passes cost no more than their arithmetic.
#define TILE 64

// How far numbers of a bundle's factors are apart, and number i of each of its blocks.
INLINED long step_of(const int same) { return same ? 1 : STRIDE; }
INLINED lanes number_at(const int same, global const STORED *p, long i)
{
    return same ? (lanes)(stored_at(p, i)) : factors_at(p, i);
}

// y_j := y_j - sum over diagonals L_j,j-offset y_j-offset for the rows t ... end - 1; or, going back,
// of U_j,j+offset y_j+offset for the rows end - 1 ... t.
void solve_tile(const int back, const int same, int t, int end, int rows, int m,
                global const int *restrict diagonal, global const STORED *restrict factor, global REAL *y)
{
    const int from = back ? end - 1 : t, until = back ? t - 1 : end, on = back ? -1 : 1;
    int near = 0;
    while (near < m && diagonal[2 * near] < TILE) near++;
    for (int k = near; k < m; k++) {
        const int offset = diagonal[2 * k], first = back ? t : max(t, offset);
        const int last = back ? min(end, rows - offset) : end, to = back ? offset : -offset;
        global const STORED *f = factor + (long)diagonal[2 * k + 1] * step_of(same);
        for (int j = first; j < last; j++)
            put(get(y, j) - number_at(same, f, back ? j : j + to) * get(y, j + to), j, y);
    }
    if (near == 1 && diagonal[0] == 1) {
        int begins = back ? end == rows : t == 0, j = from;
        lanes last = begins ? 0 : get(y, from - on);
        if (begins) last = get(y, j), j += on;
        for (; j != until; j += on) {
            last = get(y, j) - number_at(same, factor, back ? j : j - 1) * last;
            put(last, j, y);
        }
    } else if (near) {
        for (int j = from; j != until; j += on) {
            const int most = back ? rows - 1 - j : j; // offset
            lanes sum = get(y, j);
            for (int k = 0; k < near && diagonal[2 * k] <= most; k++) {
                int c = j - on * diagonal[2 * k];
                sum -= number_at(same, factor, diagonal[2 * k + 1] + (back ? j : c)) * get(y, c);
            }
            put(sum, j, y);
        }
    }
}

// ---- four rows of eight blocks at a time, in registers from r to y, and from y to z ----
//
// For lines: couplings with the row beside and with rows four and more away. Blocks of fewer rows than LEAST are
// faster by tiles, which read all their rows at once. It takes compilers that shuffle two vectors as they are told.
#if STRIDE == 8 && defined(__clang__)
#define LEAST 48
int rows_by_fours(int rows, int m, global const int *restrict diagonal)
{
    return rows >= LEAST && m && diagonal[0] == 1 && (m == 1 || diagonal[2] >= 4) ? rows / 4 * 4 : 0;
}

// Vectors v[0] ... v[3], of which each has four rows of two blocks, become four rows of all blocks; and back.
INLINED void turn(private lanes *v)
{
    const lanes a = __builtin_shufflevector(v[0], v[2], 0, 1, 8, 9, 4, 5, 12, 13);
    const lanes b = __builtin_shufflevector(v[1], v[3], 0, 1, 8, 9, 4, 5, 12, 13);
    const lanes c = __builtin_shufflevector(v[0], v[2], 2, 3, 10, 11, 6, 7, 14, 15);
    const lanes d = __builtin_shufflevector(v[1], v[3], 2, 3, 10, 11, 6, 7, 14, 15);
    v[0] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    v[1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    v[2] = __builtin_shufflevector(c, d, 0, 8, 2, 10, 4, 12, 6, 14);
    v[3] = __builtin_shufflevector(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
}

// y := L^-1 r for the first `whole` rows
// Inlined, and so without `restrict`, which Oclgrind does not take in inlined functions; those that call it have it.
INLINED void forward_fours(const int same, int whole, int rows, global const int *diagonal,
                           global const STORED *l, global const REAL *r, global REAL *y)
{
    int offsets[DIAGONALS];
    global const STORED *l_of[DIAGONALS];
    lanes v[4], last = 0;
    UNROLLED for (int k = 1; k < DIAGONALS; k++) {
        offsets[k] = diagonal[2 * k];
        l_of[k] = l + ((long)diagonal[2 * k + 1] - offsets[k]) * step_of(same);
    }
    for (int j = 0; j < whole; j += 4) {
        UNROLLED for (int u = 0; u < 4; u++)
        {
            global const REAL *row = r + j + (long)u * rows;
            v[u] = (lanes)(vload4(0, row), vload4(0, row + 4L * rows));
        }
        turn(v);
        UNROLLED for (int k = 1; k < DIAGONALS; k++) {
            const int offset = offsets[k];
            if (j >= offset) {
                UNROLLED for (int u = 0; u < 4; u++) v[u] -= number_at(same, l_of[k], j + u) * get(y, j + u - offset);
            } else {
                UNROLLED for (int u = 0; u < 4; u++)
                    if (j + u >= offset) v[u] -= number_at(same, l_of[k], j + u) * get(y, j + u - offset);
            }
        }
        if (j) v[0] -= number_at(same, l, j - 1) * last;
        UNROLLED for (int u = 1; u < 4; u++) v[u] -= number_at(same, l, j + u - 1) * v[u - 1];
        last = v[3];
        UNROLLED for (int u = 0; u < 4; u++) put(v[u], j + u, y);
    }
}

// z := U^-1 D^-1 y for them, those behind being known
INLINED void back_fours(const int same, int whole, int rows, global const int *diagonal, global const STORED *up,
                        global const STORED *d, REAL by, global REAL *y, global REAL *z)
{
    int offsets[DIAGONALS];
    global const STORED *u_of[DIAGONALS];
    lanes v[4], last = whole && whole < rows ? get(y, whole) : 0;
    UNROLLED for (int k = 1; k < DIAGONALS; k++) {
        offsets[k] = diagonal[2 * k];
        u_of[k] = up + (long)diagonal[2 * k + 1] * step_of(same);
    }
    const int least = DIAGONALS > 1 ? offsets[1] : whole; // no row looks at those before
    for (int j = whole - 4; j >= 0; j -= 4) {
        UNROLLED for (int u = 0; u < 4; u++) v[u] = by * number_at(same, d, j + u) * get(y, j + u);
        UNROLLED for (int k = 1; k < DIAGONALS; k++) {
            const int offset = offsets[k];
            if (j + 3 + offset < rows) {
                UNROLLED for (int u = 0; u < 4; u++) v[u] -= number_at(same, u_of[k], j + u) * get(y, j + u + offset);
            } else {
                UNROLLED for (int u = 0; u < 4; u++)
                    if (j + u + offset < rows) v[u] -= number_at(same, u_of[k], j + u) * get(y, j + u + offset);
            }
        }
        if (j + 4 < rows) v[3] -= number_at(same, up, j + 3) * last;
        UNROLLED for (int u = 2; u >= 0; u--) v[u] -= number_at(same, up, j + u) * v[u + 1];
        last = v[0];
        if (j + 3 >= least) {
            UNROLLED for (int u = 0; u < 4; u++) put(v[u], j + u, y);
        }
        turn(v);
        UNROLLED for (int u = 0; u < 4; u++)
        {
            global REAL *row = z + j + (long)u * rows;
            vstore4(v[u].lo, 0, row);
            vstore4(v[u].hi, 0, row + 4L * rows);
        }
    }
}

// A function for each kind of bundle, so that compilers have each loop once.
void forward_same(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict l,
                  global const REAL *restrict r, global REAL *y)
{
    forward_fours(1, whole, rows, diagonal, l, r, y);
}

void forward_each(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict l,
                  global const REAL *restrict r, global REAL *y)
{
    forward_fours(0, whole, rows, diagonal, l, r, y);
}

void back_same(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict up,
               global const STORED *restrict d, REAL by, global REAL *y, global REAL *restrict z)
{
    back_fours(1, whole, rows, diagonal, up, d, by, y, z);
}

void back_each(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict up,
               global const STORED *restrict d, REAL by, global REAL *y, global REAL *restrict z)
{
    back_fours(0, whole, rows, diagonal, up, d, by, y, z);
}

#else
INLINED int rows_by_fours(int rows, int m, global const int *diagonal) { return 0; }
#define forward_same(whole, rows, diagonal, l, r, y)
#define forward_each(whole, rows, diagonal, l, r, y)
#define back_same(whole, rows, diagonal, up, d, by, y, z)
#define back_each(whole, rows, diagonal, up, d, by, y, z)
#endif

kernel void block_diagonals(long n, int rows, int bundles, int m,
                            global const int *restrict diagonal, global const int *restrict slot,
                            long record, long upper_at, long inverse_at,
                            global const STORED *restrict factor, ACC scale, global REAL *restrict scratch,
                            int columns, global const REAL *restrict r, long r_first, long r_pitch,
                            global REAL *restrict z, long z_first, long z_pitch)
{
    global REAL *y = scratch + get_group_id(0) * (long)rows * STRIDE;
    const REAL by = (REAL)scale;
    FOR_EACH(b, bundles) {
        long at = b * STRIDE * rows;
        const int same = slot[b] < 0;
        global const STORED *l = factor + (same ? ~slot[b] : slot[b]) * record * STRIDE;
        global const STORED *u = l + upper_at * step_of(same), *d = l + inverse_at * step_of(same);
        const int whole = at + (long)STRIDE * rows <= n ? rows_by_fours(rows, m, diagonal) : 0;
        const int tiles = (rows - whole + TILE - 1) / TILE;
        FOR_COLUMNS(c, columns) {
            global const REAL *r_c = r + r_first + c * r_pitch;
            global REAL *z_c = z + z_first + c * z_pitch;
            if (same) {
                forward_same(whole, rows, diagonal, l, r_c + at, y);
            } else {
                forward_each(whole, rows, diagonal, l, r_c + at, y);
            }
            for (int t = whole; t < rows; t += TILE) {
                int end = min(t + TILE, rows);
                load_tile(t, end, rows, n, at, r_c, y);
                solve_tile(0, same, t, end, rows, m, diagonal, l, y);
            }
            for (int i = tiles - 1; i >= 0; i--) {
                const int t = whole + i * TILE, end = min(t + TILE, rows);
                for (int j = t; j < end; j++) put(by * number_at(same, d, j) * get(y, j), j, y);
                solve_tile(1, same, t, end, rows, m, diagonal, u, y);
                store_tile(t, end, rows, n, at, y, z_c);
            }
            if (same) {
                back_same(whole, rows, diagonal, u, d, by, y, z_c + at);
            } else {
                back_each(whole, rows, diagonal, u, d, by, y, z_c + at);
            }
        }
    }
}
