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
        long system, int periodic, int check, volatile global int *flag,                           \
        volatile global int *found, int ticket

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

// Remember that a system was not solved, once.
void mark(volatile global int *flag, volatile global int *found, int ticket, long s)
{
    if (atomic_xchg(&flag[s], ticket) != ticket) found[4 + atomic_inc(&found[0])] = (int)s;
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
    lanes_stage(lower + lower_first + (i)*m_row, p.m, p.m_kind, m_row, box[0]);                 \
    lanes_stage(diagonal + diagonal_first + (i)*m_row, p.m, p.m_kind, m_row, box[1]);           \
    lanes_stage(upper + upper_first + (i)*m_row, p.m, p.m_kind, m_row, box[2]);                 \
    lanes_stage(b + b_first + (i)*row, p.r, p.r_kind, row, box[3]);
#define STAGED_ROW(i, j)                                                                          \
    a = lanes_staged(lower + lower_first + (i + j) * m_row, p.m, p.m_kind, j, box[0]);            \
    d_ = lanes_staged(diagonal + diagonal_first + (i + j) * m_row, p.m, p.m_kind, j, box[1]);     \
    c = lanes_staged(upper + upper_first + (i + j) * m_row, p.m, p.m_kind, j, box[2]);            \
    y = lanes_staged(b + b_first + (i + j) * row, p.r, p.r_kind, j, box[3]);

// A row that not every lane has, or that is the first or last of a tile or system. `left`, `right`: what
// is known to stand there.
#define LOAD_EDGE(i, left, right)                                                             \
    {                                                                                         \
        REAL e[4][VW];                                                                        \
        for (int v = 0; v < VW; v++) {                                                        \
            bool there = i < p.rows[v], top = i == 0, bottom = i == p.rows[v] - 1;            \
            bool open_top = top && p.tile[v] == 0 && !periodic;                               \
            bool open_bottom = bottom && p.tile[v] == tiles - 1 && !periodic;                 \
            long o = p.m[v] + (i)*m_row;                                                      \
            e[0][v] = there && !open_top ? lower[lower_first + o] : 0;                        \
            e[1][v] = there ? diagonal[diagonal_first + o] : 1;                               \
            e[2][v] = there && !open_bottom ? upper[upper_first + o] : 0;                     \
            e[3][v] = there ? b[b_first + p.r[v] + (i)*row] : 0;                              \
            if (top) e[3][v] -= e[0][v] * left[v];                                            \
            if (bottom) e[3][v] -= e[2][v] * right[v];                                        \
        }                                                                                     \
        a = vload8(0, e[0]), d_ = vload8(0, e[1]), c = vload8(0, e[2]), y = vload8(0, e[3]);  \
    }

// x_i = d_i - c_i x_i+1, which go to cs and ds
#define FORWARD(i)           \
    CHECK_ROW(a, d_, c, y)   \
    r = 1 / (d_ - a * ci);   \
    CHECK_INVERSE(r);        \
    ci = c * r;              \
    di = (y - a * di) * r;   \
    vstore8(ci, i, cs);      \
    vstore8(di, i, ds);

// Which lanes are to be written: there, and of systems that nothing was found in. Returns whether all are.
int lanes_keep(VEC total, VEC excess, int count, const private long *of, int check,
               volatile global int *flag, volatile global int *found, int ticket, private int *keep)
{
    REAL t[VW], e[VW];
    int all = count == VW;
    vstore8(total, 0, t);
    vstore8(excess, 0, e);
    for (int v = 0; v < VW; v++) {
        keep[v] = v < count;
        if (!keep[v]) continue;
        if (IS_BAD(t[v], e[v])) mark(flag, found, ticket, of[v]);
        keep[v] = !check || flag[of[v]] != ticket;
        all &= keep[v];
    }
    return all;
}

// What tridiagonal_solve has beyond SYSTEMS_PARAMS, and how it hands all on. cs, ds: the factors of a pack.
#define SOLVE_PARAMS                                                                            \
    SYSTEMS_PARAMS, global REAL *x, long x_first, int bounded, global const REAL *ends,         \
        long ends_first, long e_row, long e_system
#define SOLVE_ARGS                                                                               \
    n, systems, tiles, lower, lower_first, diagonal, diagonal_first, upper, upper_first, m_row,  \
        m_system, b, b_first, row, system, periodic, check, flag, found, ticket, x, x_first,     \
        bounded, ends, ends_first, e_row, e_system

// Which rows of `ends` are known above and below a tile
long end_above(long tile, long tiles) { return (2 * tile - 1 + 2 * tiles) % (2 * tiles); }
long end_below(long tile, long tiles) { return (2 * tile + 2) % (2 * tiles); }

// Systems side by side are solved WIDE packs at a time: rows of theirs are far apart, and each costs a page.
#define WIDE 8

// One tile of the WIDE packs of systems from s0 on.
void solve_wide(SOLVE_PARAMS, long tile, long s0, global REAL *cs, global REAL *ds)
{
    const long begin = tile_begin(tile, n, tiles);
    const int rows = (int)(tile_begin(tile + 1, n, tiles) - begin);
    const long m0 = begin * m_row + s0 * m_system, r0 = begin * row + s0;
    global const REAL *above = ends + ends_first + end_above(tile, tiles) * e_row + s0,
                      *below = ends + ends_first + end_below(tile, tiles) * e_row + s0;
    VEC cis[WIDE], dis[WIDE], totals[WIDE], excesses[WIDE], a, d_, c, y, r;
    long s[VW];
    int keep[WIDE][VW], whole = 1;

    for (int w = 0; w < WIDE; w++) cis[w] = dis[w] = totals[w] = excesses[w] = 0;
    for (int i = 0; i < rows; i++) {
        const bool open_top = i == 0 && tile == 0 && !periodic;
        const bool open_bottom = i == rows - 1 && tile == tiles - 1 && !periodic;
        const long m = m0 + i * m_row;
        for (int w = 0; w < WIDE; w++) {
            VEC ci = cis[w], di = dis[w], total = totals[w], excess = excesses[w];
            const long o = m_system ? m + w * VW : m;
            const int kind = m_system ? BESIDE : TOGETHER;
            a = lanes_load(lower + lower_first, &o, kind);
            d_ = lanes_load(diagonal + diagonal_first, &o, kind);
            c = lanes_load(upper + upper_first, &o, kind);
            y = vload8(w, b + b_first + r0 + i * row);
            if (open_top) a = 0;
            if (open_bottom) c = 0;
            if (bounded && i == 0) y -= a * vload8(w, above);
            if (bounded && i == rows - 1) y -= c * vload8(w, below);
            FORWARD(i * WIDE + w)
            cis[w] = ci, dis[w] = di, totals[w] = total, excesses[w] = excess;
        }
    }
    for (int w = 0; w < WIDE; w++) {
        for (int v = 0; v < VW; v++) s[v] = s0 + w * VW + v;
        whole &= lanes_keep(totals[w], excesses[w], VW, s, check, flag, found, ticket, keep[w]);
        dis[w] = 0;
    }
    for (int i = rows - 1; i >= 0; i--)
        for (int w = 0; w < WIDE; w++) {
            global REAL *to = x + x_first + r0 + i * row + w * VW;
            y = dis[w] = vload8(i * WIDE + w, ds) - vload8(i * WIDE + w, cs) * dis[w];
            if (whole) {
                vstore8(y, 0, to);
                continue;
            }
            REAL t[VW];
            vstore8(y, 0, t);
            for (int v = 0; v < VW; v++)
                if (keep[w][v]) to[v] = t[v];
        }
}

// x of a pack, from its factors.
void pack_substitute(const private pack *p, int whole, const private int *keep, global REAL *x, long row,
                     global const REAL *cs, global const REAL *ds)
{
    REAL box[BLOCK * VW];
    VEC y = 0;
    for (int i = p->most; i > 0;) { // rows to go
        if (whole) {
            i--;
            y = vload8(i, ds) - vload8(i, cs) * y;
            vstore8(y, 0, x + p->r[0] + i * row);
            continue;
        }
        int from = i <= p->least && i >= BLOCK ? i - BLOCK : i - 1;
        for (int j = i - 1; j >= from; j--) {
            y = vload8(j, ds) - vload8(j, cs) * y;
            vstore8(y, j - from, box);
        }
        for (int v = 0; v < VW; v++) {
            if (!keep[v]) continue;
            global REAL *to = x + p->r[v];
            for (int j = from; j < i; j++)
                if (j < p->rows[v]) to[j * row] = box[(j - from) * VW + v];
        }
        i = from;
    }
}

// Pack k of the systems that solve_wide leaves, which are `narrow`.
void solve_pack(SOLVE_PARAMS, long k, long narrow, global REAL *cs, global REAL *ds)
{
    pack p;
    REAL left[VW], right[VW], box[4][BLOCK * VW];
    VEC ci = 0, di = 0, total = 0, excess = 0, a, d_, c, y, r;
    int keep[VW];

    pack_take(&p, k, n, systems - narrow, narrow, tiles, m_row, m_system, row, system);
    for (int v = 0; v < VW; v++) {
        global const REAL *end = ends + ends_first + p.s[v] * e_system;
        left[v] = bounded ? end[end_above(p.tile[v], tiles) * e_row] : 0;
        right[v] = bounded ? end[end_below(p.tile[v], tiles) * e_row] : 0;
    }
    for (int i = 0; i < p.most;) {
        if (i > 0 && i + BLOCK < p.least) {
            STAGE_ROWS((long)i)
            for (int j = 0; j < BLOCK; j++) {
                STAGED_ROW((long)i, j)
                FORWARD(i + j)
            }
            i += BLOCK;
            continue;
        }
        LOAD_EDGE(i, left, right)
        FORWARD(i)
        i++;
    }
    int whole = lanes_keep(total, excess, p.count, p.s, check, flag, found, ticket, keep);
    pack_substitute(&p, whole && p.r_kind == BESIDE && p.least == p.most, keep, x + x_first, row, cs,
                    ds);
}

kernel void tridiagonal_solve(SOLVE_PARAMS, global REAL *work, long work_first, long work_size,
                              long wide)
{
    global REAL *cs = work + work_first + (long)get_group_id(0) * work_size, *ds = cs + work_size / 2;
    const long narrow = systems - wide * WIDE * VW; // systems that are left
    const long packs = (narrow * tiles + VW - 1) / VW;
    FOR_EACH(k, wide * tiles + packs)
    {
        if (k < wide * tiles)
            solve_wide(SOLVE_ARGS, k / wide, k % wide * WIDE * VW, cs, ds);
        else
            solve_pack(SOLVE_ARGS, k - wide * tiles, narrow, cs, ds);
    }
}

#define PUT_END(array, first, which, vec)  \
    vstore8(vec, 0, t);                    \
    for (int v = 0; v < p.count; v++)      \
        array[first + (2 * p.tile[v] + which) * e_row + p.s[v] * e_system] = t[v];

kernel void tridiagonal_reduce(SYSTEMS_PARAMS, global REAL *ends, long ends_first, long e_size,
                               long e_row, long e_system)
{
    const long packs = (systems * tiles + VW - 1) / VW;
    ends += ends_first;
    FOR_EACH(k, packs)
    {
        pack p;
        REAL none[VW] = { 0 }, t[VW], e[VW], box[4][BLOCK * VW];
        VEC a, d_, c, y, r, A, B, C, D, ai, ci, di, total = 0, excess = 0;
        pack_take(&p, k, n, 0, systems, tiles, m_row, m_system, row, system);
        LOAD_EDGE(0, none, none)
        CHECK_ROW(a, d_, c, y)
        A = a, B = d_, C = c, D = y;
        LOAD_EDGE(1, none, none)
        CHECK_ROW(a, d_, c, y)
        ELIMINATE_FIRST(a, d_, c, y)
        int i = 2;
        for (; i + BLOCK < p.least; i += BLOCK) {
            STAGE_ROWS((long)i)
            for (int j = 0; j < BLOCK; j++) {
                STAGED_ROW((long)i, j)
                CHECK_ROW(a, d_, c, y)
                SUBSTITUTE
                ELIMINATE(a, d_, c, y)
            }
        }
        for (; i < p.most; i++) {
            VEC B0 = B, C0 = C, D0 = D, ai0 = ai, ci0 = ci, di0 = di;
            REAL s[VW];
            LOAD_EDGE(i, none, none)
            CHECK_ROW(a, d_, c, y)
            SUBSTITUTE
            ELIMINATE(a, d_, c, y)
            for (int v = 0; v < VW; v++) s[v] = i < p.rows[v] ? 1 : 0;
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
        for (int v = 0; v < p.count; v++)
            if (IS_BAD(t[v], e[v])) mark(flag, found, ticket, p.s[v]);
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
        if (bad[l]) mark(flag, found, ticket, s0 + l);
        if (check && flag[s0 + l] == ticket) bad[l] = 1;
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
    if (count > 0 && IS_BAD(total, excess)) mark(flag, found, ticket, s0 + mine);
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
        if (IS_BAD(total, excess)) mark(flag, found, ticket, s);
        if (check && flag[s] == ticket) continue;
        x[x_first + s * system] = (y[0] - ac0 * y[1]) * r;
        if (n > 1) x[x_first + s * system + row] = (y[1] - ac1 * y[0]) * r;
    }
}
