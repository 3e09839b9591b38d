// tridiagonal.cl - batches of tridiagonal systems without pivoting: tiles of them reduced to their first
// and last unknown, tiles solved between neighbours that are known, and cycles of one or two closed.
//
// A system is cut into `tiles` of nearly equal length; tile t begins with row t n / tiles. Row i of
// system s is number first + i * row + s * system of b and x, and of each diagonal with strides of its own.
// Reduced, a system has two rows per tile, in terms of its neighbours' L and R:
//
//   first + A L + C last = D,    last + A' first + C' R = D'
//
// GPUs: a group takes a tile of S systems at once, T work-items to each, and these M rows each in
// registers: everything is read and written once, in the order of memory, and changes hands through
// local memory. CPUs: VW tiles or systems at a time in the lanes of vectors.
//
// M, GROUP  rows per work-item, work-items per group; M a multiple of 4. Not for CPUs
// VECTORS   systems are one tile each, their rows side by side, and all places multiples of four

#define SYSTEMS_PARAMS                                                                             \
    long n, long systems, long tiles, global const REAL *lower, long lower_first,                  \
        global const REAL *diagonal, long diagonal_first, global const REAL *upper,                \
        long upper_first, long m_row, long m_system, global const REAL *b, long b_first, long row, \
        long system, int periodic, int check, volatile global int *found, int room, int ticket

// How far a row may be from dominated: 8 roundings
#define SLACK (sizeof(REAL) == 4 ? (REAL)9.5367431640625e-07f : (REAL)1.7763568394002505e-15f)

// check 1: numbers and pivots' inverses are finite; 2: and every row is dominated by its diagonal; 0: no
#define CHECK_ROW(a, b, c, d)                                              \
    {                                                                      \
        excess = fmax(excess, fabs(a) + fabs(c) - fabs(b) - fabs(b) * SLACK); \
        total += fabs(a) + fabs(b) + fabs(c) + fabs(d);                    \
    }
#define CHECK_INVERSE(r)        total += fabs(r)
#define IS_BAD(total, excess)   (check && (!isfinite(total) || (check > 1 && (excess) > 0)))

// x_i = D_i - A_i x_0 - C_i x_i+1 for rows 1 ... of a tile, before them the row of x_0: B x_0 + C x_1 = D
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

// found: 4 ints, `room` ints that list the systems marked, and for each system the ticket of the last call
// that marked it.
#define TICKET(s) found[4L + room + (s)]

// Remember that a system was not solved, once.
void mark(volatile global int *found, int room, int ticket, long s)
{
    if (atomic_xchg(&TICKET(s), ticket) != ticket) found[4 + atomic_inc(&found[0])] = (int)s;
}

long tile_begin(long tile, long n, long tiles) { return tile * n / tiles; }

#ifdef KRY_CPU

// ---- CPUs: VW lanes. Lane v of pack k is tile and system number k VW + v, systems fastest ----

typedef struct pack {
    long m[VW], r[VW]; // where row 0 of the lane's tile lies: in the diagonals, in b and x
    long tile[VW], s[VW];
    int rows[VW]; // `least` or one more
    int count, least, most;
    int m_kind, r_kind; // how lanes lie beside each other: one after the other, all in one place, else
} pack;

enum { ANYHOW, BESIDE, TOGETHER };

int kind_of(const private long *at)
{
    int beside = 1, together = 1;
    for (int v = 1; v < VW; v++) {
        beside &= at[v] == at[0] + v;
        together &= at[v] == at[0];
    }
    return beside ? BESIDE : together ? TOGETHER : ANYHOW;
}

// Packs of the systems behind the first `before`
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

VEC lanes_load(global const REAL *p, const private long *at, int kind)
{
    if (kind == BESIDE) return vload8(0, p + at[0]);
    if (kind == TOGETHER) return (VEC)(p[at[0]]);
    return (VEC)(p[at[0]], p[at[1]], p[at[2]], p[at[3]], p[at[4]], p[at[5]], p[at[6]], p[at[7]]);
}

// Lanes far from each other are read a cache line at a time: BLOCK rows of theirs, from row i on, to `box`.
// So many streams are more than processors foresee: what comes behind the next block is asked for, on
// CPUs, whose compilers take a pointer without an address space.
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
    return kind == ANYHOW ? vload8(r, box) : lanes_load(p, at, kind);
}
#define STAGE_ROWS(i)                                                                           \
    lanes_stage(lower + lower_first + (i)*m_row, p->m, p->m_kind, m_row, box[0]);                 \
    lanes_stage(diagonal + diagonal_first + (i)*m_row, p->m, p->m_kind, m_row, box[1]);           \
    lanes_stage(upper + upper_first + (i)*m_row, p->m, p->m_kind, m_row, box[2]);                 \
    lanes_stage(b + b_first + (i)*row, p->r, p->r_kind, row, box[3]);
#define STAGED_ROW(i, j)                                                                          \
    a = lanes_staged(lower + lower_first + (i + j) * m_row, p->m, p->m_kind, j, box[0]);            \
    d_ = lanes_staged(diagonal + diagonal_first + (i + j) * m_row, p->m, p->m_kind, j, box[1]);     \
    c = lanes_staged(upper + upper_first + (i + j) * m_row, p->m, p->m_kind, j, box[2]);            \
    y = lanes_staged(b + b_first + (i + j) * row, p->r, p->r_kind, j, box[3]);

// A row that not every lane has, or that is the first or last of a tile or system. `left`, `right`: what
// is known to stand there.
#define LOAD_EDGE(i, left, right)                                                             \
    {                                                                                         \
        REAL e[4][VW];                                                                        \
        for (int v = 0; v < VW; v++) {                                                        \
            bool there = i < p->rows[v], top = i == 0, bottom = i == p->rows[v] - 1;            \
            bool open_top = top && p->tile[v] == 0 && !periodic;                               \
            bool open_bottom = bottom && p->tile[v] == tiles - 1 && !periodic;                 \
            long o = p->m[v] + (i)*m_row;                                                      \
            e[0][v] = there && !open_top ? lower[lower_first + o] : 0;                        \
            e[1][v] = there ? diagonal[diagonal_first + o] : 1;                               \
            e[2][v] = there && !open_bottom ? upper[upper_first + o] : 0;                     \
            e[3][v] = there ? b[b_first + p->r[v] + (i)*row] : 0;                              \
            if (top) e[3][v] -= e[0][v] * left[v];                                            \
            if (bottom) e[3][v] -= e[2][v] * right[v];                                        \
        }                                                                                     \
        a = vload8(0, e[0]), d_ = vload8(0, e[1]), c = vload8(0, e[2]), y = vload8(0, e[3]);  \
    }

// Which lanes are to be written: there, and of systems that nothing was found in. Returns whether all are.
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

// Packs solved together. Rows of systems side by side are far apart, and each costs a page: WIDE packs then.
#define WIDE 8

// x_i = d_i - c_i x_i+1 for row i of pack w, which go to cs and ds
#define FORWARD(i, w)                            \
    {                                            \
        VEC ci = cis[w], di = dis[w], r;         \
        VEC total = totals[w], excess = excesses[w]; \
        CHECK_ROW(a, d_, c, y)                   \
        r = 1 / (d_ - a * ci);                   \
        CHECK_INVERSE(r);                        \
        cis[w] = ci = c * r;                     \
        dis[w] = di = (y - a * di) * r;          \
        totals[w] = total, excesses[w] = excess; \
        vstore8(ci, (long)(i)*together + w, cs); \
        vstore8(di, (long)(i)*together + w, ds); \
    }

#define SOLVE_ARGS                                                                               \
    n, systems, tiles, lower, lower_first, diagonal, diagonal_first, upper, upper_first, m_row,  \
        m_system, b, b_first, row, system, periodic, check, found, room, ticket, x, x_first,     \
        bounded, ends, ends_first, e_row, e_system

// Packs first ... first + together - 1 of the `count` systems behind the first `before`. together: 1 or, for
// systems side by side, WIDE; a constant where this is called. cs, ds: room for their factors.
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
        for (int v = 0; v < VW; v++) { // what is known above and below the tile
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

#define PUT_END(array, first, which, vec)  \
    vstore8(vec, 0, t);                    \
    for (int v = 0; v < p->count; v++)      \
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
        REAL none[VW] = { 0 }, t[VW], e[VW], box[4][BLOCK * VW];
        VEC a, d_, c, y, r, A, B, C, D, ai, ci, di, total = 0, excess = 0;
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

// ---- GPUs: groups of S systems by T work-items by M rows ----

#define SHAPE_PARAMS int S, int T, int by_system, long first_block

// The tile of this group, and the rows of this work-item in it: those from `start` on of system `mine`.
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

// Walk over the numbers of the tile in the order of memory: DO with row `i` of system `j` for every k.
#define WALK(DO)                                                           \
    {                                                                      \
        int i = by_system ? l / S : l % rows, j = by_system ? l % S : l / rows; \
        _Pragma("unroll") for (int k = 0; k < M; k++)                      \
        {                                                                  \
            if (i < rows && j < here) { DO }                               \
            i += jump, j += skip;                                          \
            if (i >= wrap) i -= wrap, j++;                                 \
        }                                                                  \
    }

// Where row i of the group's system j waits in local memory: a column for each work-item, odd, so that
// they do not meet in one bank.
#define PLACE(i, j) ((j)*T * M + (i) + ((j)*T * M + (i)) / M + (j))

// From the order of memory to chunks: v[k] of the work-items becomes row start + k of their own.
#define TO_CHUNKS(v, rest)                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                \
    WALK(box[PLACE(i, j)] = v[k];)                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                \
    _Pragma("unroll") for (int k = 0; k < M; k++)                                \
        v[k] = k < count ? box[PLACE(start + k, mine)] : (rest);

#ifdef VECTORS
// Chunks lie in memory as they are wanted, at places that are multiples of four: no detour.
#define REAL4 KRY_JOIN(REAL, 4)
#define LOAD_CHUNK(v, from, rest)                                       \
    _Pragma("unroll") for (int k = 0; k < M; k += 4)                    \
    {                                                                   \
        REAL4 four = k < count ? *(global const REAL4 *)((from) + k) : (REAL4)(rest); \
        v[k] = four.x, v[k + 1] = four.y, v[k + 2] = four.z, v[k + 3] = four.w;      \
    }
#define LOAD_CHUNKS                                                                     \
    REAL a[M], d[M], c[M], y[M];                                                        \
    const long m_chunk = (s0 + mine) * m_system + start, chunk = (s0 + mine) * system + start; \
    LOAD_CHUNK(a, lower + lower_first + m_chunk, 0)                                     \
    LOAD_CHUNK(d, diagonal + diagonal_first + m_chunk, 1)                               \
    LOAD_CHUNK(c, upper + upper_first + m_chunk, 0)                                     \
    LOAD_CHUNK(y, b + b_first + chunk, 0)                                               \
    if (start == 0 && !periodic) a[0] = 0;                                              \
    _Pragma("unroll") for (int k = 3; k < M; k += 4) if (start + k == n - 1 && !periodic) c[k] = 0;
#define STORE_CHUNKS                                                             \
    if (!bad[mine])                                                              \
        _Pragma("unroll") for (int k = 0; k < M; k += 4) if (k < count)          \
            *(global REAL4 *)(x + x_first + chunk + k) =                         \
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
#define STORE_CHUNKS                                                                                  \
    _Pragma("unroll") for (int k = 0; k < M; k++) if (k < count) box[PLACE(start + k, mine)] = y[k];  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
    WALK(if (!bad[j]) x[x_first + (begin + i) * row + (s0 + j) * system] = box[PLACE(i, j)];)
#endif

// Chunks: what is left of each is one row for its last unknown; parallel cyclic reduction solves these.
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
    _Pragma("unroll") for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])

    // What is known beyond the ends of the tile
    if (bounded && count > 0) {
        global const REAL *end = ends + ends_first + (s0 + mine) * e_system;
        if (start == 0) {
            y[0] -= a[0] * end[(2 * tile - 1 + 2 * tiles) % (2 * tiles) * e_row];
            a[0] = 0;
        }
        REAL right = start + count == rows ? end[(2 * tile + 2) % (2 * tiles) * e_row] : 0;
        _Pragma("unroll") for (int k = 0; k < M; k++) if (start + k == rows - 1)
        {
            y[k] -= c[k] * right;
            c[k] = 0;
        }
    }

    // x_k = y_k - a_k L - c_k x_k+1 for all rows but the last, and x_0 = D - A L - C x_k+1
    r = 1 / d[0];
    CHECK_INVERSE(r);
    a[0] *= r, c[0] *= r, y[0] *= r;
    REAL A = a[0], C = c[0], D = y[0];
    _Pragma("unroll") for (int k = 1; k < M - 1; k++)
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

    // Neighbours' last unknowns, and which systems went wrong
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
    _Pragma("unroll") for (int k = M - 2; k >= 0; k--) y[k] -= a[k] * L + c[k] * y[k + 1];
    STORE_CHUNKS
}

#ifndef VECTORS

// Chunks: first and last row of each; neighbours join until one pair is left for a tile.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
tridiagonal_reduce(SYSTEMS_PARAMS, global REAL *ends, long ends_first, long e_size, long e_row,
                   long e_system, SHAPE_PARAMS)
{
    local REAL box[GROUP * (M + 2)];
    TAKE_TILE
    // A last chunk of one row takes another from its neighbour.
    const int chunks = (rows + M - 1) / M, lone = chunks > 1 && rows % M == 1;
    const int start = t * M - (lone && t == chunks - 1);
    const int most = lone && t == chunks - 2 ? M - 1 : M;
    const int count = mine < here && t < chunks ? min(rows - start, most) : 0;
    LOAD_CHUNKS
    REAL total = 0, excess = 0, r, ai, ci, di, B = d[0], C = c[0], D = y[0];
    _Pragma("unroll") for (int k = 0; k < M; k++) CHECK_ROW(a[k], d[k], c[k], y[k])
    ELIMINATE_FIRST(a[1], d[1], c[1], y[1])
    _Pragma("unroll") for (int k = 2; k < M; k++) if (k < count)
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
            r = 1 / (1 - ci * A2); // of both unknowns where they meet
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

// Cycles of one or two unknowns
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
        // Rows scaled by their diagonals first: products of graded rows do not overflow then
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
