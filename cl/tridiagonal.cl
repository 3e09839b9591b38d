// tridiagonal.cl - many tridiagonal systems without pivoting. Host: src/dense/batch_levels.c.
//
//   tridiagonal_reduce  reduces tiles of systems to two equations each
//   tridiagonal_solve   solves tiles, given the unknowns on both sides of each
//   tridiagonal_close   solves periodic systems of one or two equations
//
// A system is cut into `tiles` of nearly equal length; tile t begins with row t n / tiles. Row i of system s
// is element first + i row + s system of b and x; the diagonals have the strides m_row and m_system. With L
// the last unknown before a tile and R the first one behind it, the two equations of the tile are
//
//   first + A L + C last = D,    last + A' first + C' R = D'
//
// GPUs: a group takes a tile of S systems, with T work-items for each system, and each work-item keeps M
// consecutive rows, its chunk, in registers. A group reads and writes each number once, in the order of
// memory; local memory brings the numbers to their work-items. CPUs: VW tiles or systems at a time in the
// lanes of vectors.
//
// M, GROUP  GPUs: rows of a chunk, a multiple of 4; work-items of a group
// VECTORS   every system is one tile, its rows are contiguous, and all offsets are multiples of four

#define SYSTEMS_PARAMS                                                                             \
    long n, long systems, long tiles, global const REAL *lower, long lower_first,                  \
        global const REAL *diagonal, long diagonal_first, global const REAL *upper,                \
        long upper_first, long m_row, long m_system, global const REAL *b, long b_first, long row, \
        long system, int periodic, int check, volatile global int *found, int room, int ticket

// By how many rounding errors a row may miss diagonal dominance: 8
#define SLACK (sizeof(REAL) == 4 ? (REAL)9.5367431640625e-07f : (REAL)1.7763568394002505e-15f)

// What is checked. 0: nothing; 1: numbers and the reciprocals of pivots are finite, as is their sum `total`;
// 2: also, the diagonal dominates every row, or `excess` is positive
#define CHECK_ROW(a, b, c, d)                                                 \
    {                                                                         \
        excess = fmax(excess, fabs(a) + fabs(c) - fabs(b) - fabs(b) * SLACK); \
        total += fabs(a) + fabs(b) + fabs(c) + fabs(d);                       \
    }
#define CHECK_INVERSE(r)        total += fabs(r)
#define IS_BAD(total, excess)   (check && (!isfinite(total) || (check > 1 && (excess) > 0)))

// Reduce a tile row by row. The row in hand is x_i = di - ai x_0 - ci x_i+1. The first row of the tile is
// A L + B x_0 + C x_i+1 = D: SUBSTITUTE puts x_i into it, and ELIMINATE goes on to the next row.
#define ELIMINATE_FIRST(a, b, c, d) \
    {                               \
        r = 1 / (b);                \
        CHECK_INVERSE(r);           \
        ai = (a)*r;                 \
        ci = (c)*r;                 \
        di = (d)*r;                 \
    }
#define ELIMINATE(a, b, c, d)       \
    {                               \
        r = 1 / ((b) - (a)*ci);     \
        CHECK_INVERSE(r);           \
        di = ((d) - (a)*di) * r;    \
        ai = -((a)*ai) * r;         \
        ci = (c)*r;                 \
    }
#define SUBSTITUTE      \
    {                   \
        B -= C * ai;    \
        D -= C * di;    \
        C = -(C * ci);  \
    }

// `found` has COUNTERS counters, a list of the systems that are marked, for `room` of them, and for each system the
// ticket, which is the number of a call, of the last call that marked it. Calls whose tickets are even count
// what they mark in found[0], the others in found[1].
#define COUNTERS  6
#define TICKET(s) found[COUNTERS + (long)room + (s)]

// Put a system that was not solved on the list, unless this call has done so already.
void mark(volatile global int *found, int room, int ticket, long s)
{
    if (atomic_xchg(&TICKET(s), ticket) != ticket)
        found[COUNTERS + atomic_inc(&found[ticket & 1])] = (int)s;
}

long tile_begin(long tile, long n, long tiles) { return tile * n / tiles; }

#ifdef KRY_CPU

// ---- CPUs: a pack is VW tiles. All tiles are numbered, first tile 0 of every system, then tile 1 and so on;
// lane v of pack k has tile number k VW + v ----

typedef struct pack {
    long m[VW], r[VW]; // where row 0 of each tile lies: m in the diagonals, r in b and x
    long tile[VW], s[VW];
    int rows[VW];           // of each tile: `least` or one more
    int count, least, most; // lanes in use; the fewest and the most rows
    int m_kind, r_kind;     // how the numbers of the lanes lie in memory
} pack;

enum { ANYHOW, BESIDE, TOGETHER }; // TOGETHER: all lanes read the same number

int kind_of(const private long *at)
{
    int beside = 1, together = 1;
    for (int v = 1; v < VW; v++) {
        beside &= at[v] == at[0] + v;
        together &= at[v] == at[0];
    }
    return beside ? BESIDE : together ? TOGETHER : ANYHOW;
}

// Fill in pack k of the `systems` systems that begin with number `before`.
void pack_take(pack *p, long k, long n, long before, long systems, long tiles, long m_row, long m_system,
               long row, long system)
{
    long all = systems * tiles;
    p->count = (int)min(all - k * VW, (long)VW);
    p->least = (int)(n / tiles), p->most = p->least;
    for (int v = 0; v < VW; v++) {
        long i = min(k * VW + v, all - 1); // lanes without a tile repeat the last one
        long s = before + i % systems, tile = i / systems, first = tile_begin(tile, n, tiles);
        p->s[v] = s, p->tile[v] = tile;
        p->rows[v] = (int)(tile_begin(tile + 1, n, tiles) - first);
        p->most = max(p->most, p->rows[v]);
        p->m[v] = first * m_row + s * m_system;
        p->r[v] = first * row + s * system;
    }
    p->m_kind = kind_of(p->m);
    p->r_kind = kind_of(p->r);
}

// Where lanes lie far from each other, BLOCK rows of each lane are copied to `box`, so that a cache line is
// used as soon as it is read. A processor's own prefetching does not follow so many streams: the rows behind
// the next block are prefetched here, by compilers that take a pointer without an address space.
#define BLOCK 16
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv))
#define WILL_READ(p) __builtin_prefetch((const void *)(size_t)(p))
#else
#define WILL_READ(p)
#endif
void lanes_stage(global const REAL *p, const private long *at, int kind, long stride,
                 private REAL *box)
{
    if (kind != ANYHOW) return;
    for (int v = 0; v < VW; v++) {
        for (int r = 0; r < BLOCK; r++) box[r * VW + v] = p[at[v] + r * stride];
        for (int r = 0; r < BLOCK && stride == 1; r += 64 / (int)sizeof(REAL))
            WILL_READ(p + at[v] + 2 * BLOCK + r);
    }
}
VEC lanes_staged(global const REAL *p, const private long *at, int kind, int r,
                 const private REAL *box)
{
    if (kind == ANYHOW) return vload8(r, box);
    return kind == BESIDE ? vload8(0, p + at[0]) : (VEC)(p[at[0]]);
}
#define STAGE_ROWS(i)                                                                   \
    lanes_stage(lower + lower_first + (i)*m_row, p->m, p->m_kind, m_row, box[0]);       \
    lanes_stage(diagonal + diagonal_first + (i)*m_row, p->m, p->m_kind, m_row, box[1]); \
    lanes_stage(upper + upper_first + (i)*m_row, p->m, p->m_kind, m_row, box[2]);       \
    lanes_stage(b + b_first + (i)*row, p->r, p->r_kind, row, box[3]);
#define STAGED_ROW(i, j)                                                                        \
    a = lanes_staged(lower + lower_first + (i + j) * m_row, p->m, p->m_kind, j, box[0]);        \
    d_ = lanes_staged(diagonal + diagonal_first + (i + j) * m_row, p->m, p->m_kind, j, box[1]); \
    c = lanes_staged(upper + upper_first + (i + j) * m_row, p->m, p->m_kind, j, box[2]);        \
    y = lanes_staged(b + b_first + (i + j) * row, p->r, p->r_kind, j, box[3]);

// Load row i where it is the first or last of a tile or system, or where not every lane has it: such lanes
// get x = 0. left, right: the unknowns before and behind the tile, 0 if they are not known.
#define LOAD_EDGE(i, left, right)                                                            \
    {                                                                                        \
        REAL e[4][VW];                                                                       \
        for (int v = 0; v < VW; v++) {                                                       \
            bool there = i < p->rows[v], top = i == 0, bottom = i == p->rows[v] - 1;         \
            bool open_top = top && p->tile[v] == 0 && !periodic;                             \
            bool open_bottom = bottom && p->tile[v] == tiles - 1 && !periodic;               \
            long o = p->m[v] + (i)*m_row;                                                    \
            e[0][v] = there && !open_top ? lower[lower_first + o] : 0;                       \
            e[1][v] = there ? diagonal[diagonal_first + o] : 1;                              \
            e[2][v] = there && !open_bottom ? upper[upper_first + o] : 0;                    \
            e[3][v] = there ? b[b_first + p->r[v] + (i)*row] : 0;                            \
            if (top) e[3][v] -= e[0][v] * left[v];                                           \
            if (bottom) e[3][v] -= e[2][v] * right[v];                                       \
        }                                                                                    \
        a = vload8(0, e[0]), d_ = vload8(0, e[1]), c = vload8(0, e[2]), y = vload8(0, e[3]); \
    }

// Mark the systems of lanes that failed a check. keep: which lanes have an x to be written: those in use whose
// system is not marked. Returns whether that is all of them.
int lanes_keep(VEC total, VEC excess, int count, const private long *of, int check,
               volatile global int *found, int room, int ticket, private int *keep)
{
    REAL t[VW], e[VW];
    int all = count == VW;
    vstore8(total, 0, t);
    vstore8(excess, 0, e);
    for (int v = 0; v < VW; v++) {
        keep[v] = v < count;
        if (!keep[v]) continue;
        if (IS_BAD(t[v], e[v])) mark(found, room, ticket, of[v]);
        keep[v] = !check || TICKET(of[v]) != ticket;
        all &= keep[v];
    }
    return all;
}

// Of interleaved systems, WIDE packs are solved together: each row of them touches another page of memory.
#define WIDE 8

// Eliminate row i of pack w: x_i = di - ci x_i+1. cs and ds keep ci and di.
#define FORWARD(i, w)                                \
    {                                                \
        VEC ci = cis[w], di = dis[w], r;             \
        VEC total = totals[w], excess = excesses[w]; \
        CHECK_ROW(a, d_, c, y)                       \
        r = 1 / (d_ - a * ci);                       \
        CHECK_INVERSE(r);                            \
        cis[w] = ci = c * r;                         \
        dis[w] = di = (y - a * di) * r;              \
        totals[w] = total, excesses[w] = excess;     \
        vstore8(ci, (long)(i)*together + w, cs);     \
        vstore8(di, (long)(i)*together + w, ds);     \
    }

#define SOLVE_ARGS                                                                               \
    n, systems, tiles, lower, lower_first, diagonal, diagonal_first, upper, upper_first, m_row,  \
        m_system, b, b_first, row, system, periodic, check, found, room, ticket, x, x_first,     \
        bounded, ends, ends_first, e_row, e_system

// Solve packs first ... first + together - 1 of the `count` systems that begin with number `before`. together:
// 1 or, for interleaved systems, WIDE; a constant in each call. cs, ds: room for the factors.
__attribute__((always_inline)) void solve_packs(SYSTEMS_PARAMS, global REAL *x, long x_first, int bounded, global const REAL *ends,
                 long ends_first, long e_row, long e_system, const int together, long first,
                 long before, long count, global REAL *cs, global REAL *ds)
{
    pack packs[WIDE];
    REAL left[WIDE][VW], right[WIDE][VW], box[4][BLOCK * VW];
    VEC cis[WIDE], dis[WIDE], totals[WIDE], excesses[WIDE], a, d_, c, y;
    int keep[WIDE][VW], whole = 1;

    for (int w = 0; w < together; w++) {
        pack_take(&packs[w], first + w, n, before, count, tiles, m_row, m_system, row, system);
        for (int v = 0; v < VW; v++) { // the unknowns before and behind each tile
            global const REAL *end = ends + ends_first + packs[w].s[v] * e_system;
            const long tile = packs[w].tile[v];
            left[w][v] = bounded ? end[(2 * tile - 1 + 2 * tiles) % (2 * tiles) * e_row] : 0;
            right[w][v] = bounded ? end[(2 * tile + 2) % (2 * tiles) * e_row] : 0;
        }
        cis[w] = dis[w] = totals[w] = excesses[w] = 0;
    }
    const int least = packs[0].least, most = packs[0].most;
    for (int i = 0; i < most;) {
        const int rows = i > 0 && i + BLOCK < least ? BLOCK : 1;
        const private pack *p = packs;
        if (rows == BLOCK && together == 1) {
            STAGE_ROWS((long)i)
        }
        for (int j = 0; j < rows; j++)
            for (int w = 0; w < together; w++) {
                p = &packs[w];
                if (rows == BLOCK) {
                    STAGED_ROW((long)i, j)
                } else {
                    LOAD_EDGE(i, left[w], right[w])
                }
                FORWARD(i + j, w)
            }
        i += rows;
    }
    for (int w = 0; w < together; w++) {
        const private pack *p = &packs[w];
        whole &= lanes_keep(totals[w], excesses[w], p->count, p->s, check, found, room, ticket, keep[w]);
        whole &= p->r_kind == BESIDE && p->least == p->most;
        dis[w] = 0;
    }
    for (int i = most; i > 0;) { // rows to go
        const int from = !whole && i <= least && i >= BLOCK ? i - BLOCK : i - 1;
        for (int w = 0; w < together; w++) {
            const private pack *p = &packs[w];
            for (int j = i - 1; j >= from; j--) {
                const long at = (long)j * together + w;
                y = dis[w] = vload8(at, ds) - vload8(at, cs) * dis[w];
                if (whole)
                    vstore8(y, 0, x + x_first + p->r[0] + j * row);
                else
                    vstore8(y, j - from, box[0]);
            }
            for (int v = 0; v < VW && !whole; v++)
                for (int j = from; j < min(i, p->rows[v]) && keep[w][v]; j++)
                    x[x_first + p->r[v] + j * row] = box[0][(j - from) * VW + v];
        }
        i = from;
    }
}

kernel void tridiagonal_solve(SYSTEMS_PARAMS, global REAL *x, long x_first, int bounded,
                              global const REAL *ends, long ends_first, long e_row, long e_system,
                              global REAL *work, long work_first, long work_size, long wide)
{
    global REAL *cs = work + work_first + (long)get_group_id(0) * work_size, *ds = cs + work_size / 2;
    const long side_by_side = wide * WIDE * VW; // systems
    const long rest = ((systems - side_by_side) * tiles + VW - 1) / VW;
    FOR_EACH(k, wide * tiles + rest)
    {
        if (k < wide * tiles)
            solve_packs(SOLVE_ARGS, WIDE, k * WIDE, 0, side_by_side, cs, ds);
        else
            solve_packs(SOLVE_ARGS, 1, k - wide * tiles, side_by_side, systems - side_by_side, cs, ds);
    }
}

#define PUT_END(array, first, which, vec) \
    vstore8(vec, 0, t);                   \
    for (int v = 0; v < p->count; v++)    \
        array[first + (2 * p->tile[v] + which) * e_row + p->s[v] * e_system] = t[v];

kernel void tridiagonal_reduce(SYSTEMS_PARAMS, global REAL *ends, long ends_first, long e_size,
                               long e_row, long e_system)
{
    const long packs = (systems * tiles + VW - 1) / VW;
    ends += ends_first;
    FOR_EACH(k, packs)
    {
        pack taken;
        const private pack *p = &taken;
        REAL none[VW], t[VW], e[VW], box[4][BLOCK * VW];
        VEC a, d_, c, y, r, A, B, C, D, ai, ci, di, total = 0, excess = 0;
        for (int v = 0; v < VW; v++) none[v] = 0;
        pack_take(&taken, k, n, 0, systems, tiles, m_row, m_system, row, system);
        LOAD_EDGE(0, none, none)
        CHECK_ROW(a, d_, c, y)
        A = a, B = d_, C = c, D = y;
        LOAD_EDGE(1, none, none)
        CHECK_ROW(a, d_, c, y)
        ELIMINATE_FIRST(a, d_, c, y)
        int i = 2;
        for (; i + BLOCK < p->least; i += BLOCK) {
            STAGE_ROWS((long)i)
            for (int j = 0; j < BLOCK; j++) {
                STAGED_ROW((long)i, j)
                CHECK_ROW(a, d_, c, y)
                SUBSTITUTE
                ELIMINATE(a, d_, c, y)
            }
        }
        for (; i < p->most; i++) {
            VEC B0 = B, C0 = C, D0 = D, ai0 = ai, ci0 = ci, di0 = di;
            REAL s[VW];
            LOAD_EDGE(i, none, none)
            CHECK_ROW(a, d_, c, y)
            SUBSTITUTE
            ELIMINATE(a, d_, c, y)
            for (int v = 0; v < VW; v++) s[v] = i < p->rows[v] ? 1 : 0;
            VEC there = vload8(0, s);
            B = there > 0 ? B : B0, C = there > 0 ? C : C0, D = there > 0 ? D : D0;
            ai = there > 0 ? ai : ai0, ci = there > 0 ? ci : ci0, di = there > 0 ? di : di0;
        }
        r = 1 / B;
        CHECK_INVERSE(r);
        PUT_END(ends, 0, 0, A * r)
        PUT_END(ends, e_size, 0, (VEC)(1))
        PUT_END(ends, 2 * e_size, 0, C * r)
        PUT_END(ends, 3 * e_size, 0, D * r)
        PUT_END(ends, 0, 1, ai)
        PUT_END(ends, e_size, 1, (VEC)(1))
        PUT_END(ends, 2 * e_size, 1, ci)
        PUT_END(ends, 3 * e_size, 1, di)
        vstore8(total, 0, t);
        vstore8(excess, 0, e);
        for (int v = 0; v < p->count; v++)
            if (IS_BAD(t[v], e[v])) mark(found, room, ticket, p->s[v]);
    }
}

#else

// ---- GPUs: a group has S systems, T work-items for each, and M rows for each of these ----

#define SHAPE_PARAMS int S, int T, int by_system, long first_block

// The tile of this group. System number `mine` of the group is that of this work-item, which is number t there.
// There are `here` systems: fewer than S in the last group.
#define TAKE_TILE                                                                          \
    const int l = get_local_id(0), mine = l / T, t = l % T;                                \
    const long block = first_block + get_group_id(0), blocks = (systems + S - 1) / S;      \
    const long tile = by_system ? block / blocks : block % tiles;                          \
    const long s0 = (by_system ? block % blocks : block / tiles) * S;                      \
    const long begin = tile_begin(tile, n, tiles);                                         \
    const int rows = (int)(tile_begin(tile + 1, n, tiles) - begin);                        \
    const int here = (int)min((long)S, systems - s0);                                      \
    const int wrap = by_system ? INT_MAX : rows;                                           \
    const int jump = by_system ? GROUP / S : GROUP % rows, skip = by_system ? 0 : GROUP / rows;

// Walk over the numbers of the tile in the order of memory: DO with row i of the group's system j as number k
// of this work-item.
#define WALK(DO)                                                                \
    {                                                                           \
        int i = by_system ? l / S : l % rows, j = by_system ? l % S : l / rows; \
        UNROLLED for (int k = 0; k < M; k++)                                    \
        {                                                                       \
            if (i < rows && j < here) { DO }                                    \
            i += jump, j += skip;                                               \
            if (i >= wrap) i -= wrap, j++;                                      \
        }                                                                       \
    }

// Where row i of the group's system j is kept in local memory. Chunks are M + 1 numbers apart, an odd
// distance, so that work-items do not read from the same bank.
#define PLACE(i, j) ((j)*T * M + (i) + ((j)*T * M + (i)) / M + (j))

// Redistribute v, which was read in the order of memory: v[k] becomes row start + k of this work-item.
#define TO_CHUNKS(v, rest)               \
    barrier(CLK_LOCAL_MEM_FENCE);        \
    WALK(box[PLACE(i, j)] = v[k];)       \
    barrier(CLK_LOCAL_MEM_FENCE);        \
    UNROLLED for (int k = 0; k < M; k++) \
        v[k] = k < count ? box[PLACE(start + k, mine)] : (rest);

#ifdef VECTORS
// Each work-item reads its chunk from memory, four numbers at a time.
#define LOAD_CHUNK(v, from, rest)                                                     \
    UNROLLED for (int k = 0; k < M; k += 4)                                           \
    {                                                                                 \
        REAL4 four = k < count ? *(global const REAL4 *)((from) + k) : (REAL4)(rest); \
        v[k] = four.x, v[k + 1] = four.y, v[k + 2] = four.z, v[k + 3] = four.w;       \
    }
#define LOAD_CHUNKS                                                                            \
    REAL a[M], d[M], c[M], y[M];                                                               \
    const long m_chunk = (s0 + mine) * m_system + start, chunk = (s0 + mine) * system + start; \
    LOAD_CHUNK(a, lower + lower_first + m_chunk, 0)                                            \
    LOAD_CHUNK(d, diagonal + diagonal_first + m_chunk, 1)                                      \
    LOAD_CHUNK(c, upper + upper_first + m_chunk, 0)                                            \
    LOAD_CHUNK(y, b + b_first + chunk, 0)                                                      \
    if (start == 0 && !periodic) a[0] = 0;                                                     \
    UNROLLED for (int k = 3; k < M; k += 4) if (start + k == n - 1 && !periodic) c[k] = 0;
#define STORE_CHUNKS                                           \
    if (!bad[mine])                                            \
        UNROLLED for (int k = 0; k < M; k += 4) if (k < count) \
            *(global REAL4 *)(x + x_first + chunk + k) =       \
                (REAL4)(y[k], y[k + 1], y[k + 2], y[k + 3]);
#else
#define LOAD_CHUNKS                                                                    \
    REAL a[M], d[M], c[M], y[M];                                                       \
    WALK(long o = (begin + i) * m_row + (s0 + j) * m_system;                           \
         a[k] = begin + i == 0 && !periodic ? 0 : lower[lower_first + o];              \
         d[k] = diagonal[diagonal_first + o];                                          \
         c[k] = begin + i == n - 1 && !periodic ? 0 : upper[upper_first + o];          \
         y[k] = b[b_first + (begin + i) * row + (s0 + j) * system];)                   \
    TO_CHUNKS(a, 0)                                                                    \
    TO_CHUNKS(d, 1)                                                                    \
    TO_CHUNKS(c, 0)                                                                    \
    TO_CHUNKS(y, 0)
#define STORE_CHUNKS                                                                        \
    UNROLLED for (int k = 0; k < M; k++) if (k < count) box[PLACE(start + k, mine)] = y[k]; \
    barrier(CLK_LOCAL_MEM_FENCE);                                                           \
    WALK(if (!bad[j]) x[x_first + (begin + i) * row + (s0 + j) * system] = box[PLACE(i, j)];)
#endif

// Solve tiles. Each work-item reduces its chunk to one equation for the last unknown of the chunk; parallel
// cyclic reduction solves these equations.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tridiagonal_solve(SYSTEMS_PARAMS, global REAL *x, long x_first, int bounded,
                  global const REAL *ends, long ends_first, long e_row, long e_system, SHAPE_PARAMS)
{
    local REAL box[GROUP * (M + 2)];
    local int bad[GROUP];
    TAKE_TILE
    const int start = t * M, count = mine < here ? clamp(rows - start, 0, M) : 0;
    LOAD_CHUNKS
    REAL total = 0, excess = 0, r;
    UNROLLED for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])

    // The unknowns before and behind the tile are known
    if (bounded && count > 0) {
        global const REAL *end = ends + ends_first + (s0 + mine) * e_system;
        if (start == 0) {
            y[0] -= a[0] * end[(2 * tile - 1 + 2 * tiles) % (2 * tiles) * e_row];
            a[0] = 0;
        }
        REAL right = start + count == rows ? end[(2 * tile + 2) % (2 * tiles) * e_row] : 0;
        UNROLLED for (int k = 0; k < M; k++) if (start + k == rows - 1)
        {
            y[k] -= c[k] * right;
            c[k] = 0;
        }
    }

    // Of all rows but the last: x_k = y_k - a_k L - c_k x_k+1, L the last unknown of the chunk before; and
    // x_0 = D - A L - C x_k+1
    r = 1 / d[0];
    CHECK_INVERSE(r);
    a[0] *= r, c[0] *= r, y[0] *= r;
    REAL A = a[0], C = c[0], D = y[0];
    UNROLLED for (int k = 1; k < M - 1; k++)
    {
        r = 1 / (d[k] - a[k] * c[k - 1]);
        CHECK_INVERSE(r);
        y[k] = (y[k] - a[k] * y[k - 1]) * r;
        a[k] = -(a[k] * a[k - 1]) * r;
        c[k] *= r;
        A -= C * a[k], D -= C * y[k];
        C = -(C * c[k]);
    }
    // The last row, with x_0 of the next chunk
    barrier(CLK_LOCAL_MEM_FENCE);
    bad[l] = 0;
    box[l] = A, box[GROUP + l] = C, box[2 * GROUP + l] = D;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool next = mine < here && t + 1 < T;
    const REAL An = next ? box[l + 1] : 0, Cn = next ? box[GROUP + l + 1] : 0,
               Dn = next ? box[2 * GROUP + l + 1] : 0;
    r = 1 / (d[M - 1] - a[M - 1] * c[M - 2] - c[M - 1] * An);
    CHECK_INVERSE(r);
    REAL last = (y[M - 1] - a[M - 1] * y[M - 2] - c[M - 1] * Dn) * r;
    REAL below = -(a[M - 1] * a[M - 2]) * r, above = -(c[M - 1] * Cn) * r;
    barrier(CLK_LOCAL_MEM_FENCE);
    int step = 1, side = 0;
    do {
        local REAL *w = box + side * 3 * GROUP;
        w[l] = below, w[GROUP + l] = above, w[2 * GROUP + l] = last;
        barrier(CLK_LOCAL_MEM_FENCE);
        const bool down = mine < here && t >= step, up = mine < here && t + step < T;
        const REAL ad = down ? w[l - step] : 0, cd = down ? w[GROUP + l - step] : 0,
                   xd = down ? w[2 * GROUP + l - step] : 0;
        const REAL au = up ? w[l + step] : 0, cu = up ? w[GROUP + l + step] : 0,
                   xu = up ? w[2 * GROUP + l + step] : 0;
        r = 1 / (1 - below * cd - above * au);
        CHECK_INVERSE(r);
        last = (last - below * xd - above * xu) * r;
        below = -(below * ad) * r;
        above = -(above * cu) * r;
        step *= 2, side = 1 - side;
    } while (step < T);

    // The last unknown of the chunk before, and which systems failed a check
    barrier(CLK_LOCAL_MEM_FENCE);
    box[l] = last;
    if (count > 0 && IS_BAD(total, excess)) atomic_or(&bad[mine], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const REAL L = t > 0 ? box[l - 1] : 0;
    if (l < here) {
        if (bad[l]) mark(found, room, ticket, s0 + l);
        if (check && TICKET(s0 + l) == ticket) bad[l] = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    y[M - 1] = last;
    UNROLLED for (int k = M - 2; k >= 0; k--) y[k] -= a[k] * L + c[k] * y[k + 1];
    STORE_CHUNKS
}

#ifndef VECTORS

// Reduce tiles. Each work-item reduces its chunk to equations for the first and the last unknown; then
// neighbours join, two and two, until one pair of equations is left for the tile.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tridiagonal_reduce(SYSTEMS_PARAMS, global REAL *ends, long ends_first, long e_size, long e_row,
                   long e_system, SHAPE_PARAMS)
{
    local REAL box[GROUP * (M + 2)];
    TAKE_TILE
    // If the last chunk had only one row, it takes another from its neighbour.
    const int chunks = (rows + M - 1) / M, lone = chunks > 1 && rows % M == 1;
    const int start = t * M - (lone && t == chunks - 1);
    const int most = lone && t == chunks - 2 ? M - 1 : M;
    const int count = mine < here && t < chunks ? min(rows - start, most) : 0;
    LOAD_CHUNKS
    REAL total = 0, excess = 0, r, ai, ci, di, B = d[0], C = c[0], D = y[0];
    UNROLLED for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])
    ELIMINATE_FIRST(a[1], d[1], c[1], y[1])
    UNROLLED for (int k = 2; k < M; k++) if (k < count)
    {
        SUBSTITUTE
        ELIMINATE(a[k], d[k], c[k], y[k])
    }
    r = 1 / B;
    CHECK_INVERSE(r);
    REAL A = a[0] * r;
    C *= r, D *= r;

    local REAL *w = box + l;
    int step = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    do { // w: A, C, D of the first row, then of the last
        w[0] = A, w[GROUP] = C, w[2 * GROUP] = D;
        w[3 * GROUP] = ai, w[4 * GROUP] = ci, w[5 * GROUP] = di;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (count > 0 && t % (2 * step) == 0 && t + step < chunks) {
            const REAL A2 = w[step], C2 = w[GROUP + step], D2 = w[2 * GROUP + step],
                       a2 = w[3 * GROUP + step], c2 = w[4 * GROUP + step],
                       d2 = w[5 * GROUP + step];
            r = 1 / (1 - ci * A2); // eliminates the last unknown of one and the first of the other
            CHECK_INVERSE(r);
            const REAL left = 1 / (1 - C * ai * r), right = 1 / (1 - a2 * C2 * r);
            CHECK_INVERSE(left);
            CHECK_INVERSE(right);
            const REAL D1 = D, d1 = di, a1 = ai;
            A *= left;
            D = (D1 - C * (d1 - ci * D2) * r) * left;
            C = C * ci * C2 * r * left;
            ai = a2 * A2 * a1 * r * right;
            ci = c2 * right;
            di = (d2 - a2 * (D2 - A2 * d1) * r) * right;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        step *= 2;
    } while (step < T);
    if (count > 0 && IS_BAD(total, excess)) mark(found, room, ticket, s0 + mine);
    if (count > 0 && t == 0) {
        global REAL *e = ends + ends_first + 2 * tile * e_row + (s0 + mine) * e_system;
        e[0] = A, e[e_size] = 1, e[2 * e_size] = C, e[3 * e_size] = D;
        e += e_row;
        e[0] = ai, e[e_size] = 1, e[2 * e_size] = ci, e[3 * e_size] = di;
    }
}

#endif
#endif

// Solve periodic systems of one or two unknowns.
kernel void tridiagonal_close(SYSTEMS_PARAMS, global REAL *x, long x_first)
{
    FOR_EACH(s, systems)
    {
        REAL a[2], d[2], c[2], y[2], total = 0, excess = 0;
        for (int i = 0; i < 2; i++) {
            bool there = i < n;
            long o = s * m_system + (there ? i : 0) * m_row;
            a[i] = there ? lower[lower_first + o] : 0;
            d[i] = there ? diagonal[diagonal_first + o] : 1;
            c[i] = there ? upper[upper_first + o] : 0;
            y[i] = there ? b[b_first + s * system + i * row] : 0;
            CHECK_ROW(a[i], d[i], c[i], y[i])
        }
        if (n == 1) d[0] += a[0] + c[0], a[0] = 0, c[0] = 0;
        // Rows are scaled by their diagonals first, so that products of graded rows do not overflow.
        REAL p = 1 / d[0], q = 1 / d[1], ac0 = (a[0] + c[0]) * p, ac1 = (a[1] + c[1]) * q;
        REAL r = 1 / (1 - ac0 * ac1);
        y[0] *= p, y[1] *= q;
        CHECK_INVERSE(p);
        CHECK_INVERSE(q);
        CHECK_INVERSE(r);
        if (IS_BAD(total, excess)) mark(found, room, ticket, s);
        if (check && TICKET(s) == ticket) continue;
        x[x_first + s * system] = (y[0] - ac0 * y[1]) * r;
        if (n > 1) x[x_first + s * system + row] = (y[1] - ac1 * y[0]) * r;
    }
}
