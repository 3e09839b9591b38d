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
#define STEP(same)         ((same) ? 1 : STRIDE)
#define NUMBER(same, p, i) ((same) ? (LANES)(ONE_OF(p, i)) : FACTOR(p, i))

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
        global const STORED *f = factor + (long)diagonal[2 * k + 1] * STEP(same);
        for (int j = first; j < last; j++)
            PUT(GET(y, j) - NUMBER(same, f, back ? j : j + to) * GET(y, j + to), j, y);
    }
    if (near == 1 && diagonal[0] == 1) {
        int begins = back ? end == rows : t == 0, j = from;
        LANES last = begins ? 0 : GET(y, from - on);
        if (begins) last = GET(y, j), j += on;
        for (; j != until; j += on) {
            last = GET(y, j) - NUMBER(same, factor, back ? j : j - 1) * last;
            PUT(last, j, y);
        }
    } else if (near) {
        for (int j = from; j != until; j += on) {
            const int most = back ? rows - 1 - j : j; // offset
            LANES sum = GET(y, j);
            for (int k = 0; k < near && diagonal[2 * k] <= most; k++) {
                int c = j - on * diagonal[2 * k];
                sum -= NUMBER(same, factor, diagonal[2 * k + 1] + (back ? j : c)) * GET(y, c);
            }
            PUT(sum, j, y);
        }
    }
}

// ---- four rows of eight blocks at a time, in registers from r to y, and from y to z ----
//
// For lines: couplings with the row beside and with rows four and more away. Blocks of fewer rows than LEAST are
// faster by tiles, which read all their rows at once. It takes compilers that shuffle two vectors as they are told.
#if STRIDE == 8 && defined(__clang__)
#define LEAST 48
#define FOURS(whole_bundle) \
    ((whole_bundle) && rows >= LEAST && m && diagonal[0] == 1 && (m == 1 || diagonal[2] >= 4) ? rows / 4 * 4 : 0)

// Vectors v0 ... v3, of which each has four rows of two blocks, become four rows of all blocks; and back.
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define TURN(a, b, FIRST, SECOND)              \
    {                                          \
        const LANES first = FIRST, second = SECOND; \
        a = first, b = second;                 \
    }
#define TURN2(a, b) \
    TURN(a, b, PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13), PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15))
#define TURN1(a, b) \
    TURN(a, b, PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14), PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15))
#define TURN_FOUR TURN2(v0, v2) TURN2(v1, v3) TURN1(v0, v1) TURN1(v2, v3)
#define FOUR(DO)  DO(0) DO(1) DO(2) DO(3)

#define READ_TWO(u) \
    LANES v##u = PICK(vload4(0, r + j + (long)u * rows), vload4(0, r + j + (u + 4L) * rows), 0, 1, 2, 3, 4, 5, 6, 7);
#define WRITE_TWO(u)                              \
    vstore4(v##u.lo, 0, z + j + (long)u * rows);  \
    vstore4(v##u.hi, 0, z + j + (u + 4L) * rows);
#define SCALED(u)       LANES v##u = by * NUMBER(same, d, j + u) * GET(y, j + u);
#define KEEP_ROW(u)     PUT(v##u, j + u, y);
#define TAKE_L(u)       v##u -= NUMBER(same, l_k, j + u) * GET(y, j + u - offset);
#define TRY_L(u)        if (j + u >= offset) TAKE_L(u)
#define TAKE_U(u)       v##u -= NUMBER(same, u_k, j + u) * GET(y, j + u + offset);
#define TRY_U(u)        if (j + u + offset < rows) TAKE_U(u)
#define LINK_L(u, last) v##u -= NUMBER(same, l, j + u - 1) * last;
#define LINK_U(u, last) v##u -= NUMBER(same, up, j + u) * last;

// y := L^-1 r for the first `whole` rows
// Inlined, and so without `restrict`, which Oclgrind does not take in inlined functions; FORWARD and BACK have it.
__attribute__((always_inline)) void forward_fours(const int same, int whole, int rows,
                                                  global const int *diagonal,
                                                  global const STORED *l, global const REAL *r,
                                                  global REAL *y)
{
    int offsets[DIAGONALS];
    global const STORED *l_of[DIAGONALS];
    LANES last = 0;
    UNROLLED for (int k = 1; k < DIAGONALS; k++) {
        offsets[k] = diagonal[2 * k];
        l_of[k] = l + ((long)diagonal[2 * k + 1] - offsets[k]) * STEP(same);
    }
    for (int j = 0; j < whole; j += 4) {
        FOUR(READ_TWO)
        TURN_FOUR
        UNROLLED for (int k = 1; k < DIAGONALS; k++) {
            const int offset = offsets[k];
            global const STORED *l_k = l_of[k];
            if (j >= offset) {
                FOUR(TAKE_L)
            } else {
                FOUR(TRY_L)
            }
        }
        if (j) LINK_L(0, last)
        LINK_L(1, v0) LINK_L(2, v1) LINK_L(3, v2)
        last = v3;
        FOUR(KEEP_ROW)
    }
}

// z := U^-1 D^-1 y for them, those behind being known
__attribute__((always_inline)) void back_fours(const int same, int whole, int rows,
                                               global const int *diagonal,
                                               global const STORED *up, global const STORED *d,
                                               REAL by, global REAL *y, global REAL *z)
{
    int offsets[DIAGONALS];
    global const STORED *u_of[DIAGONALS];
    LANES last = whole && whole < rows ? GET(y, whole) : 0;
    UNROLLED for (int k = 1; k < DIAGONALS; k++) {
        offsets[k] = diagonal[2 * k];
        u_of[k] = up + (long)diagonal[2 * k + 1] * STEP(same);
    }
    const int least = DIAGONALS > 1 ? offsets[1] : whole; // no row looks at those before
    for (int j = whole - 4; j >= 0; j -= 4) {
        FOUR(SCALED)
        UNROLLED for (int k = 1; k < DIAGONALS; k++) {
            const int offset = offsets[k];
            global const STORED *u_k = u_of[k];
            if (j + 3 + offset < rows) {
                FOUR(TAKE_U)
            } else {
                FOUR(TRY_U)
            }
        }
        if (j + 4 < rows) LINK_U(3, last)
        LINK_U(2, v3) LINK_U(1, v2) LINK_U(0, v1)
        last = v0;
        if (j + 3 >= least) {
            FOUR(KEEP_ROW)
        }
        TURN_FOUR
        FOUR(WRITE_TWO)
    }
}

// A function for each kind of bundle, so that compilers have each loop once.
#define FORWARD(name, same)                                                                                \
    void name(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict l,  \
              global const REAL *restrict r, global REAL *y)                                               \
    {                                                                                                      \
        forward_fours(same, whole, rows, diagonal, l, r, y);                                               \
    }
#define BACK(name, same)                                                                                   \
    void name(int whole, int rows, global const int *restrict diagonal, global const STORED *restrict up, \
              global const STORED *restrict d, REAL by, global REAL *y, global REAL *restrict z)           \
    {                                                                                                      \
        back_fours(same, whole, rows, diagonal, up, d, by, y, z);                                          \
    }
FORWARD(forward_same, 1)
FORWARD(forward_each, 0)
BACK(back_same, 1)
BACK(back_each, 0)
#else
#define FOURS(whole_bundle) 0
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
        global const STORED *u = l + upper_at * STEP(same), *d = l + inverse_at * STEP(same);
        const int whole = FOURS(at + (long)STRIDE * rows <= n), tiles = (rows - whole + TILE - 1) / TILE;
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
                for (int j = t; j < end; j++) PUT(by * NUMBER(same, d, j) * GET(y, j), j, y);
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
