// tridiagonal_packs.cl - the kernels of tridiagonal.cl for CPUs. Host: src/dense/batch_levels.c. Tiles, rows and
// checks are those of tridiagonal.clh.
//
// A pack is VW tiles in the lanes of vectors. All tiles are numbered, first tile 0 of every system, then tile 1 and
// so on; lane v of pack k has tile number k VW + v.

#include "common/kry.clh"
#include "dense/tridiagonal.clh"

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
