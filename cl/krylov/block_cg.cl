// block_cg.cl - the work of a step of block conjugate gradients: products of tall blocks, WIDTH columns each, and
// the small WIDTH-by-WIDTH matrices between them.
// Host: src/krylov/block_cg.c. Launch: block_cg_gram as many groups as the host likes for each tile, block_cg_finish one for
// each entry, block_cg_orthogonalise and block_cg_solve one, the others kryi_groups_for(n).
//
// Blocks are stored column by column, `pitch` numbers apart, x x_pitch. Small matrices are in full, row by row, of
// type ACC, one behind the other in `small` (below). A direction that was dropped is a zero column of Q and P, and
// a zero row of RHO: all formulas hold with it. With a preconditioner M there is Y = M W, else Y is NULL, and W in its place.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

#ifndef WIDTH
#define WIDTH 4
#endif
#define SQUARE (WIDTH * WIDTH)
// Columns that arrays have room for. On CPUs WIDTH may be known no sooner than at run time.
#ifdef KRY_CPU
#define MOST_WIDTH 16 // as src/krylov/block_cg.c has it
#else
#define MOST_WIDTH WIDTH
#endif
#define MOST_SQUARE (MOST_WIDTH * MOST_WIDTH)

// small: what W is made into Q by, and RHO with W = Q RHO; alpha; alpha C, and C with R = Q C; then whether there is
// anything to do
#define TO_Q     0
#define RHO_OF_W SQUARE
#define BY_T     (2 * SQUARE)
#define BY_P     (3 * SQUARE)
#define C_OF_R   (4 * SQUARE)
#define GOES_ON  (5 * SQUARE)
INLINED int at(int i, int j) { return i * WIDTH + j; }

// A pivot is none once this share of its column is left: the rest is rounding of sums, or of the columns.
#define LEAST_PIVOT (sizeof(ACC) == 4 ? (ACC)1e-4f : (ACC)1e-12f)

// ---- small matrices, by one group: all its work-items call these functions ----

#define FOR_LANES(i, n) for (int i = get_local_id(0); i < (n); i += WG)

// What a matrix was factored by: the columns that are pivots, and for each the t that it has among them, -1 for others.
// by_root: 1 / the diagonal entry of row t of L; share, by_all: below. Divisions and roots in double take long.
typedef struct pivots {
    ACC share[MOST_WIDTH], by_all[MOST_WIDTH], by_root[MOST_WIDTH];
    int order[MOST_WIDTH], place[MOST_WIDTH];
} pivots;

// How much is left of a column beside all of it, by which pivots are chosen; -1: it is negative, -2: not finite.
ACC share_of(ACC left, ACC all, ACC by_all)
{
    if (!isfinite(all) || !isfinite(left)) return -2;
    if (all < 0 || left < -LEAST_PIVOT * all) return -1;
    return left > 0 ? left * by_all : 0;
}

// G = the sum over t of L_t'L_t with row t of L for pivot order[t], the largest that is left beside its column of G.
// left: room for a matrix. Returns how many there are; -1: G is not positive semidefinite; -2: nor finite.
int factor(local const ACC *G, local ACC *left, local ACC *L, local pivots *p)
{
    int rank = 0;

    BARRIER();
    FOR_LANES(e, SQUARE) left[e] = G[e];
    FOR_LANES(j, WIDTH)
    {
        const ACC all = G[at(j, j)];
        p->place[j] = -1, p->by_all[j] = 1 / all, p->share[j] = share_of(all, all, 1 / all);
    }
    for (; rank < WIDTH; rank++) {
        int pivot = -1;
        ACC best = LEAST_PIVOT, least = 0;
        BARRIER();
        for (int j = 0; j < WIDTH; j++) {
            if (p->share[j] > best) pivot = j, best = p->share[j];
            if (p->share[j] < least) least = p->share[j];
        }
        if (least < 0) return least < -1 ? -2 : -1;
        if (pivot < 0) break;
        const ACC by_root = rsqrt(left[at(pivot, pivot)]);
        FOR_LANES(j, WIDTH)
        {
            L[at(rank, j)] = left[at(pivot, j)] * by_root;
            if (j == pivot) p->order[rank] = j, p->place[j] = rank, p->by_root[rank] = by_root;
        }
        BARRIER();
        FOR_LANES(e, SQUARE) left[e] -= L[at(rank, e / WIDTH)] * L[at(rank, e % WIDTH)];
        BARRIER();
        FOR_LANES(j, WIDTH)
        p->share[j] = p->place[j] >= 0 ? 0 : share_of(left[at(j, j)], G[at(j, j)], p->by_all[j]);
    }
    return rank;
}

// E with E'G E = I for the pivots, zero columns for the others.
void invert(local const ACC *L, local const pivots *p, int rank, local ACC *E)
{
    BARRIER();
    FOR_LANES(e, SQUARE) E[e] = e / WIDTH == e % WIDTH && p->place[e % WIDTH] >= 0;
    for (int s = 0; s < rank; s++) {
        const int j = p->order[s];
        BARRIER();
        FOR_LANES(i, WIDTH) E[at(i, j)] *= p->by_root[s];
        BARRIER();
        FOR_LANES(e, SQUARE)
        {
            if (p->place[e % WIDTH] > s) E[e] -= E[at(e / WIDTH, j)] * L[at(s, e % WIDTH)];
        }
    }
    BARRIER();
}

// Entry e of X Y.
ACC product_at(local const ACC *X, local const ACC *Y, int e)
{
    ACC sum = 0;
    for (int t = 0; t < WIDTH; t++) sum += X[at(e / WIDTH, t)] * Y[at(t, e % WIDTH)];
    return sum;
}

// The mean of G and G', which differ by rounding.
void take_symmetric(global const TOTAL *total, local ACC *G)
{
    FOR_LANES(e, SQUARE)
    {
        const int i = e / WIDTH, j = e % WIDTH;
        G[e] = (VALUE_OF(total[at(i, j)]) + VALUE_OF(total[at(j, i)])) / 2;
    }
    BARRIER();
}

// ---- scalars ----

// TESTS: the residual of each column, the norm of W C (square: W'W). TURNS: W = Q RHO with Q'M Q = I
// (inner: W'M W), and C := RHO C. One group.
enum { TESTS = 1, TURNS = 2 };
kernel void block_cg_orthogonalise(int what, int iteration, int slot, global const TOTAL *restrict inner,
                                   global const TOTAL *restrict square, global ACC *state,
                                   global ACC *history, global ACC *small)
{
    local ACC G[MOST_SQUARE], L[MOST_SQUARE], E[MOST_SQUARE], C[MOST_SQUARE];
    local pivots p;

    FOR_LANES(e, SQUARE) C[e] = small[C_OF_R + e];
    take_symmetric(square, G);
    FOR_LANES(e, SQUARE) E[e] = product_at(G, C, e);
    BARRIER();
    FOR_LANES(c, WIDTH)
    {
        global ACC *own = state + c * STATE_SIZE;
        ACC rr = 0;
        if (!(what & TESTS) || (int)own[STATE_STOP] != GO_ON) continue;
        for (int i = 0; i < WIDTH; i++) rr += E[at(i, c)] * C[at(i, c)];
        if (rr < 0) rr = 0; // by rounding
        own[STATE_ITERATION] = (ACC)iteration, own[STATE_VALUE] = rr;
        history[slot * WIDTH + c] = rr;
        own[STATE_STOP] = rr <= own[STATE_TARGET] ? STOP_CONVERGED : isfinite(rr) ? GO_ON : STOP_NOT_FINITE;
    }
    if (!(what & TURNS)) return;
    BARRIER();
    take_symmetric(inner, G);
    const int rank = factor(G, E, L, &p);
    if (rank > 0) invert(L, &p, rank, E);
    FOR_LANES(e, SQUARE)
    {
        const int t = rank > 0 ? p.place[e / WIDTH] : -1, j = e % WIDTH;
        const int goes_on = (int)state[j * STATE_SIZE + STATE_STOP] == GO_ON;
        small[TO_Q + e] = rank > 0 ? E[e] : 0;
        small[RHO_OF_W + e] = t >= 0 ? L[at(t, j)] : 0;
        small[C_OF_R + e] = t >= 0 && goes_on ? product_at(L, C, at(t, j)) : 0;
    }
    BARRIER(); // the states were read
    if (get_local_id(0) != 0) return;
    small[GOES_ON] = 0;
    for (int c = 0; c < WIDTH; c++) {
        global ACC *own = state + c * STATE_SIZE;
        if ((int)own[STATE_STOP] != GO_ON) continue;
        if (rank <= 0) own[STATE_STOP] = rank < -1 ? STOP_NOT_FINITE : STOP_PRECOND;
        small[GOES_ON] = rank > 0;
    }
}

// alpha with P'T alpha = I for the directions that there are, and alpha C. One group.
kernel void block_cg_solve(global const TOTAL *restrict total, global ACC *state, global ACC *small)
{
    local ACC G[MOST_SQUARE], L[MOST_SQUARE], E[MOST_SQUARE], alpha[MOST_SQUARE];
    local pivots p;

    if (small[GOES_ON] == 0) return;
    take_symmetric(total, G);
    const int rank = factor(G, E, L, &p);
    if (rank <= 0) {
        BARRIER(); // GOES_ON was read
        FOR_LANES(c, WIDTH)
        {
            global ACC *own = state + c * STATE_SIZE;
            if ((int)own[STATE_STOP] != GO_ON) continue;
            own[STATE_STOP] = rank < -1 ? STOP_NOT_FINITE : STOP_MATRIX, own[STATE_VALUE] = G[at(c, c)];
        }
        if (get_local_id(0) == 0) small[GOES_ON] = 0;
        return;
    }
    invert(L, &p, rank, E);
    FOR_LANES(e, SQUARE)
    {
        ACC sum = 0;
        for (int t = 0; t < WIDTH; t++) sum += E[at(e / WIDTH, t)] * E[at(e % WIDTH, t)];
        small[BY_T + e] = alpha[e] = sum;
    }
    BARRIER();
    FOR_LANES(e, SQUARE)
    {
        ACC sum = 0;
        for (int t = 0; t < WIDTH; t++) sum += alpha[at(e / WIDTH, t)] * small[C_OF_R + at(t, e % WIDTH)];
        small[BY_P + e] = sum;
    }
}

// ---- blocks ----

#define LOAD_SMALL(which, to) FOR_LANES(e, SQUARE) to[e] = (REAL)small[which + e];
#define ALL_COLUMNS(c)  UNROLLED for (int c = 0; c < WIDTH; c++)
#define EACH_COLUMN(c)  NOT_UNROLLED for (int c = 0; c < WIDTH; c++) // else kernels are WIDTH times as long

INLINED void load_row(private VEC *row, global const REAL *block, long pitch, long i, const int whole)
{
    ALL_COLUMNS(a) row[a] = load_piece(block + a * pitch, i, whole);
}

// value + row times column j of a small matrix, or with its row j
INLINED VEC add_row(VEC value, const private VEC *row, local const REAL *matrix, int j)
{
    ALL_COLUMNS(a) value += row[a] * matrix[at(a, j)];
    return value;
}

INLINED VEC add_row_transposed(VEC value, const private VEC *row, local const REAL *matrix, int j)
{
    ALL_COLUMNS(a) value += row[a] * matrix[at(j, a)];
    return value;
}

// Piece i of X += P by_p,  Q -= T by_t
INLINED void update(long i, const int whole, long pitch, global const REAL *P, local const REAL *by_p, global REAL *X, long x_pitch,
                    global const REAL *T, local const REAL *by_t, global REAL *Q)
{
    VEC row[MOST_WIDTH];
    load_row(row, P, pitch, i, whole);
    EACH_COLUMN(j)
    {
        global REAL *x = X + j * x_pitch;
        store_piece(add_row(load_piece(x, i, whole), row, by_p, j), x, i, whole);
    }
    load_row(row, T, pitch, i, whole);
    EACH_COLUMN(j)
    {
        global REAL *q = Q + j * pitch;
        const VEC by_row = add_row(0, row, by_t, j);
        store_piece(load_piece(q, i, whole) - by_row, q, i, whole);
    }
}

// X += P (alpha C),  Q := Q - T alpha, which is W. 4 + 2 words for each column.
kernel void block_cg_update(long n, long pitch, global const ACC *restrict small, global const REAL *restrict P,
                            global const REAL *restrict T, global REAL *restrict X, long x0, long x_pitch,
                            global REAL *restrict Q)
{
    local REAL by_p[MOST_SQUARE], by_t[MOST_SQUARE];

    if (small[GOES_ON] == 0) return;
    LOAD_SMALL(BY_P, by_p)
    LOAD_SMALL(BY_T, by_t)
    BARRIER();
    X += x0;
    FOR_VEC(i, n) update(i, 1, pitch, P, by_p, X, x_pitch, T, by_t, Q);
    FOR_TAIL(i, n) update(i, 0, pitch, P, by_p, X, x_pitch, T, by_t, Q);
}

// Piece i of block := block E
INLINED void turn(long i, const int whole, long pitch, local const REAL *E, global REAL *block)
{
    VEC row[MOST_WIDTH];
    load_row(row, block, pitch, i, whole);
    EACH_COLUMN(j) store_piece(add_row(0, row, E, j), block + j * pitch, i, whole);
}

// Piece i of P := Z + P RHO'
INLINED void add_direction(long i, const int whole, long pitch, local const REAL *rho, global const REAL *Z, global REAL *P)
{
    VEC row[MOST_WIDTH];
    load_row(row, P, pitch, i, whole);
    EACH_COLUMN(j) store_piece(add_row_transposed(load_piece(Z + j * pitch, i, whole), row, rho, j), P + j * pitch, i, whole);
}

// Q := W E and, with an M, Y := Y E; unless `first`, P := Y + P RHO' (without: Q + P RHO'). W stands in Q.
// 2 + 2 words for each column, 3 + 3 with an M.
kernel void block_cg_turn(long n, long pitch, int first, global const ACC *restrict small,
                          global REAL *restrict Q, global REAL *restrict Y, global REAL *restrict P)
{
    local REAL to_q[MOST_SQUARE], of_w[MOST_SQUARE];
    global REAL *const Z = Y ? Y : Q;

    if (small[GOES_ON] == 0) return;
    LOAD_SMALL(TO_Q, to_q)
    LOAD_SMALL(RHO_OF_W, of_w)
    BARRIER();
    FOR_VEC(i, n)
    {
        turn(i, 1, pitch, to_q, Q);
        if (Y) turn(i, 1, pitch, to_q, Y);
        if (!first) add_direction(i, 1, pitch, of_w, Z, P);
    }
    FOR_TAIL(i, n)
    {
        turn(i, 0, pitch, to_q, Q);
        if (Y) turn(i, 0, pitch, to_q, Y);
        if (!first) add_direction(i, 0, pitch, of_w, Z, P);
    }
}
