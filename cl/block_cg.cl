// block_cg.cl - the work of a step of block conjugate gradients: products of tall blocks, WIDTH columns each, and
// the small WIDTH-by-WIDTH matrices between them.
// Host: src/krylov/block_cg.c. Launch: block_cg_gram as many groups as the host likes, block_cg_finish one for each
// entry, block_cg_orthogonalise and block_cg_solve one, the others kry_groups_for(n).
//
// Blocks are stored column by column, `pitch` numbers apart, x x_pitch. Small matrices are in full, row by row, of
// type ACC, one behind the other in `small` (below). A direction that was dropped is a zero column of Q and P, and
// a zero row of RHO: all formulas hold with it.
//
// PRECOND  there is an M: Y = M W

#ifndef WIDTH
#define WIDTH 4
#endif
#define SQUARE (WIDTH * WIDTH)

// small: what W is made into Q by, and RHO with W = Q RHO; alpha; alpha C, and C with R = Q C; then whether there is
// anything to do
enum { TO_Q, RHO_OF_W = SQUARE, BY_T = 2 * SQUARE, BY_P = 3 * SQUARE, C_OF_R = 4 * SQUARE, GOES_ON = 5 * SQUARE };
#define AT(i, j) ((i) * WIDTH + (j))

// A pivot is none once this share of its column is left: the rest is rounding of sums, or of the columns.
#define LEAST_PIVOT (sizeof(ACC) == 4 ? (ACC)1e-4f : (ACC)1e-12f)

// ---- small matrices, by one group: all its work-items call these functions ----

#define FOR_LANES(i, n) for (int i = get_local_id(0); i < (n); i += WG)

// G = the sum over t of L_t'L_t with row t of L for pivot order[t], the largest that is left beside its column of G.
// Returns how many there are; -1: G is not positive semidefinite; -2: nor finite.
int factor(local const ACC *G, local ACC *L, local ACC *left, local int *order)
{
    int rank = 0;

    BARRIER();
    FOR_LANES(j, WIDTH) left[j] = G[AT(j, j)];
    BARRIER();
    for (; rank < WIDTH; rank++) {
        int pivot = -1;
        ACC best = LEAST_PIVOT;
        for (int j = 0; j < WIDTH; j++) {
            const ACC all = G[AT(j, j)];
            bool taken = false;
            for (int t = 0; t < rank; t++) taken = taken || order[t] == j;
            if (!isfinite(all) || !isfinite(left[j])) return -2;
            if (all < 0 || (!taken && left[j] < -LEAST_PIVOT * all)) return -1;
            if (!taken && left[j] > best * all) pivot = j, best = left[j] / all;
        }
        if (pivot < 0) break;
        const ACC root = sqrt(left[pivot]);
        BARRIER();
        if (get_local_id(0) == 0) order[rank] = pivot;
        FOR_LANES(j, WIDTH)
        {
            ACC entry = G[AT(pivot, j)];
            for (int t = 0; t < rank; t++) entry -= L[AT(t, pivot)] * L[AT(t, j)];
            L[AT(rank, j)] = j == pivot ? root : entry / root;
        }
        BARRIER();
        FOR_LANES(j, WIDTH) left[j] -= L[AT(rank, j)] * L[AT(rank, j)];
        BARRIER();
    }
    return rank;
}

// E with E'G E = I for the pivots, zero columns for the others.
void invert(local const ACC *L, local const int *order, int rank, local ACC *E)
{
    FOR_LANES(i, WIDTH)
    {
        for (int j = 0; j < WIDTH; j++) E[AT(i, j)] = 0;
        for (int s = 0; s < rank; s++) {
            const int j = order[s];
            ACC entry = i == j;
            for (int t = 0; t < s; t++) entry -= E[AT(i, order[t])] * L[AT(t, j)];
            E[AT(i, j)] = entry / L[AT(s, j)];
        }
    }
    BARRIER();
}

// The mean of G and G', which differ by rounding.
void take_symmetric(global const TOTAL *total, local ACC *G)
{
    FOR_LANES(e, SQUARE)
    {
        const int i = e / WIDTH, j = e % WIDTH;
        G[e] = (VALUE_OF(total[AT(i, j)]) + VALUE_OF(total[AT(j, i)])) / 2;
    }
    BARRIER();
}

// ---- sums ----

#ifdef KRY_CPU
#define ROWS 128 // of a tile
#else
#define ROWS 16
#endif
#define SLICES (WG >= 2 * SQUARE ? WG / SQUARE : 1) // work-items that share an entry
#define ENTRIES ((SQUARE + WG - 1) / WG)            // entries of a work-item, else

void load_tile(long n, long row, long pitch, global const REAL *restrict X, local REAL *tile)
{
    for (int e = get_local_id(0); e < WIDTH * ROWS; e += WG) {
        const int c = e / ROWS, i = e % ROWS;
        tile[e] = row + i < n ? X[c * pitch + row + i] : 0;
    }
}

// part[group]: X'Y, WIDTH-by-WIDTH. 2 words for each column.
kernel void block_cg_gram(long n, long pitch, global const ACC *restrict small, global const REAL *restrict X,
                          global const REAL *restrict Y, global TOTAL *restrict part)
{
    local REAL x[WIDTH * ROWS], y[WIDTH * ROWS];
    local TOTAL lane[WG];
    const TOTAL nothing = NO_TOTAL;
    const int l = get_local_id(0), slice = SLICES > 1 ? l / SQUARE : 0;
    const long groups = get_num_groups(0), tiles = (n + ROWS - 1) / ROWS;
    TOTAL sum[ENTRIES];

    if (small[GOES_ON] == 0) return; // all work-items of a group alike
    for (int e = 0; e < ENTRIES; e++) sum[e] = nothing;
    for (long tile = get_group_id(0); tile < tiles; tile += groups) {
        BARRIER();
        load_tile(n, tile * ROWS, pitch, X, x);
        load_tile(n, tile * ROWS, pitch, Y, y);
        BARRIER();
        for (int e = 0; e < ENTRIES; e++) {
            const int entry = SLICES > 1 ? l % SQUARE : l + e * WG;
            if (slice >= SLICES) continue; // spare work-items
            if (entry >= SQUARE) continue;
            local const REAL *x_i = x + entry / WIDTH * ROWS, *y_j = y + entry % WIDTH * ROWS;
            for (int i = slice; i < ROWS; i += SLICES) ADD_PRODUCT(sum[e], x_i[i], y_j[i]);
        }
    }
    part += get_group_id(0) * SQUARE;
    if (SLICES > 1) {
        lane[l] = sum[0];
        BARRIER();
        if (l < SQUARE) {
            for (int s = 1; s < SLICES; s++) ADD_TOTAL(sum[0], lane[l + s * SQUARE]);
            part[l] = sum[0];
        }
        return;
    }
    for (int e = 0; e < ENTRIES; e++)
        if (l + e * WG < SQUARE) part[l + e * WG] = sum[e];
}

// total[entry] := the sum of what `count` groups left. One group for each entry.
kernel void block_cg_finish(int count, global const TOTAL *restrict part, global TOTAL *restrict total)
{
    local TOTAL lane[WG];
    const int entry = get_group_id(0);
    TOTAL sum = NO_TOTAL;

    for (int g = get_local_id(0); g < count; g += WG) ADD_TOTAL(sum, part[g * SQUARE + entry]);
    sum = group_sum(sum, lane);
    if (get_local_id(0) == 0) total[entry] = sum;
}

// ---- scalars ----

// JUDGES: the residual of each column, the norm of W C (square: W'W). TURNS: W = Q RHO with Q'M Q = I
// (inner: W'M W), and C := RHO C. One group.
enum { JUDGES = 1, TURNS = 2 };
kernel void block_cg_orthogonalise(int what, int iteration, int slot, global const TOTAL *restrict inner,
                                   global const TOTAL *restrict square, global ACC *state,
                                   global ACC *history, global ACC *small)
{
    local ACC G[SQUARE], L[SQUARE], E[SQUARE], C[SQUARE], left[WIDTH];
    local int order[WIDTH];
    global ACC *of_r = small + C_OF_R, *of_w = small + RHO_OF_W;

    FOR_LANES(e, SQUARE) C[e] = of_r[e];
    take_symmetric(square, G);
    FOR_LANES(c, WIDTH)
    {
        global ACC *own = state + c * STATE_SIZE;
        ACC rr = 0;
        if (!(what & JUDGES) || (int)own[STATE_STOP] != GO_ON) continue;
        for (int i = 0; i < WIDTH; i++) {
            ACC sum = 0;
            for (int j = 0; j < WIDTH; j++) sum += G[AT(i, j)] * C[AT(j, c)];
            rr += sum * C[AT(i, c)];
        }
        if (rr < 0) rr = 0; // by rounding
        own[STATE_ITERATION] = (ACC)iteration, own[STATE_VALUE] = rr;
        history[slot * WIDTH + c] = rr;
        own[STATE_STOP] = rr <= own[STATE_TARGET] ? STOP_CONVERGED : isfinite(rr) ? GO_ON : STOP_NOT_FINITE;
    }
    if (!(what & TURNS)) return;
    BARRIER();
    take_symmetric(inner, G);
    const int rank = factor(G, L, left, order);
    if (rank > 0) invert(L, order, rank, E);
    FOR_LANES(e, SQUARE) of_w[e] = 0, small[TO_Q + e] = rank > 0 ? E[e] : 0, of_r[e] = 0;
    BARRIER();
    for (int t = 0; t < rank; t++) {
        FOR_LANES(j, WIDTH)
        {
            ACC sum = 0;
            for (int i = 0; i < WIDTH; i++) sum += L[AT(t, i)] * C[AT(i, j)];
            of_w[AT(order[t], j)] = L[AT(t, j)];
            if ((int)state[j * STATE_SIZE + STATE_STOP] == GO_ON) of_r[AT(order[t], j)] = sum;
        }
    }
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
    local ACC G[SQUARE], L[SQUARE], E[SQUARE], alpha[SQUARE], left[WIDTH];
    local int order[WIDTH];

    if (small[GOES_ON] == 0) return;
    take_symmetric(total, G);
    const int rank = factor(G, L, left, order);
    if (rank <= 0) {
        BARRIER(); // GOES_ON was read
        FOR_LANES(c, WIDTH)
        {
            global ACC *own = state + c * STATE_SIZE;
            if ((int)own[STATE_STOP] != GO_ON) continue;
            own[STATE_STOP] = rank < -1 ? STOP_NOT_FINITE : STOP_MATRIX, own[STATE_VALUE] = G[AT(c, c)];
        }
        if (get_local_id(0) == 0) small[GOES_ON] = 0;
        return;
    }
    invert(L, order, rank, E);
    FOR_LANES(e, SQUARE)
    {
        ACC sum = 0;
        for (int t = 0; t < WIDTH; t++) sum += E[AT(e / WIDTH, t)] * E[AT(e % WIDTH, t)];
        small[BY_T + e] = alpha[e] = sum;
    }
    BARRIER();
    FOR_LANES(e, SQUARE)
    {
        ACC sum = 0;
        for (int t = 0; t < WIDTH; t++) sum += alpha[AT(e / WIDTH, t)] * small[C_OF_R + AT(t, e % WIDTH)];
        small[BY_P + e] = sum;
    }
}

// ---- blocks ----

#define LOAD_SMALL(which, to) FOR_LANES(e, SQUARE) to[e] = (REAL)small[which + e];
#define ALL_COLUMNS(c)  UNROLLED for (int c = 0; c < WIDTH; c++)
#define EACH_COLUMN(c)  NOT_UNROLLED for (int c = 0; c < WIDTH; c++) // else kernels are WIDTH times as long
// value += the row of Q times column j of a small matrix
#define ADD_ROW(value, row, matrix, j) ALL_COLUMNS(a) value += row[a] * matrix[AT(a, j)];
// value += that times row j of it, transposed
#define ADD_ROW_TRANSPOSED(value, row, matrix, j) ALL_COLUMNS(a) value += row[a] * matrix[AT(j, a)];

// X += P (alpha C),  Q := Q - T alpha, which is W. 4 + 2 words for each column.
kernel void block_cg_update(long n, long pitch, global const ACC *restrict small, global const REAL *restrict P,
                            global const REAL *restrict T, global REAL *restrict X, long x0, long x_pitch,
                            global REAL *restrict Q)
{
    local REAL by_p[SQUARE], by_t[SQUARE];

    if (small[GOES_ON] == 0) return;
    LOAD_SMALL(BY_P, by_p)
    LOAD_SMALL(BY_T, by_t)
    BARRIER();
    X += x0;
#define UPDATE(TYPE, LOAD, STORE)                                    \
    {                                                                \
        TYPE row[WIDTH];                                             \
        ALL_COLUMNS(a) row[a] = LOAD((P + a * pitch));               \
        EACH_COLUMN(j)                                              \
        {                                                            \
            TYPE value = LOAD((X + j * x_pitch));                    \
            ADD_ROW(value, row, by_p, j)                             \
            STORE(value, (X + j * x_pitch));                         \
        }                                                            \
        ALL_COLUMNS(a) row[a] = LOAD((T + a * pitch));               \
        EACH_COLUMN(j)                                              \
        {                                                            \
            TYPE value = 0;                                          \
            ADD_ROW(value, row, by_t, j)                             \
            STORE(LOAD((Q + j * pitch)) - value, (Q + j * pitch));   \
        }                                                            \
    }
    FOR_VEC(i, n) UPDATE(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) UPDATE(REAL, SLOAD, SSTORE)
}

// Q := W E and, with an M, Y := Y E; unless `first`, P := Y + P RHO' (without: Q + P RHO'). W stands in Q.
// 2 + 2 words for each column, 3 + 3 with an M.
kernel void block_cg_turn(long n, long pitch, int first, global const ACC *restrict small,
                          global REAL *restrict Q, global REAL *restrict Y, global REAL *restrict P)
{
    local REAL to_q[SQUARE], of_w[SQUARE];

    if (small[GOES_ON] == 0) return;
    LOAD_SMALL(TO_Q, to_q)
    LOAD_SMALL(RHO_OF_W, of_w)
    BARRIER();
#define TURN(TYPE, LOAD, STORE, block)                               \
    {                                                                \
        TYPE row[WIDTH];                                             \
        ALL_COLUMNS(a) row[a] = LOAD((block + a * pitch));           \
        EACH_COLUMN(j)                                              \
        {                                                            \
            TYPE value = 0;                                          \
            ADD_ROW(value, row, to_q, j)                             \
            STORE(value, (block + j * pitch));                       \
        }                                                            \
    }
#define ADD_DIRECTION(TYPE, LOAD, STORE, block)                      \
    {                                                                \
        TYPE row[WIDTH];                                             \
        ALL_COLUMNS(a) row[a] = LOAD((P + a * pitch));               \
        EACH_COLUMN(j)                                              \
        {                                                            \
            TYPE value = LOAD((block + j * pitch));                  \
            ADD_ROW_TRANSPOSED(value, row, of_w, j)                  \
            STORE(value, (P + j * pitch));                           \
        }                                                            \
    }
#ifdef PRECOND
#define ALL_TURNS(TYPE, LOAD, STORE)                                 \
    {                                                                \
        TURN(TYPE, LOAD, STORE, Q)                                   \
        TURN(TYPE, LOAD, STORE, Y)                                   \
        if (!first) ADD_DIRECTION(TYPE, LOAD, STORE, Y)              \
    }
#else
#define ALL_TURNS(TYPE, LOAD, STORE)                                 \
    {                                                                \
        TURN(TYPE, LOAD, STORE, Q)                                   \
        if (!first) ADD_DIRECTION(TYPE, LOAD, STORE, Q)              \
    }
#endif
    FOR_VEC(i, n) ALL_TURNS(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) ALL_TURNS(REAL, SLOAD, SSTORE)
}
