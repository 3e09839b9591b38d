// block_ic.cl - z := (L D U)^-1 r of diagonal blocks, L and U unit triangular: a forward sweep, a
// scaling, a back sweep.
//
// Host: src/precond/block_solve.c. Blocks have `rows` consecutive rows, the last one what is left of
// n. STRIDE blocks make a bundle: their numbers at one place of the factors are neighbours, so that a
// vector (CPUs, STRIDE 8) or neighbouring work-items (GPUs) solve with STRIDE blocks at the same time.
// CPUs walk bundles one after the other, with STRIDE 1 if blocks are few.
//
// block_diagonals  CPUs: L and U have few diagonals
// block_pieces     GPUs: the same; a group to a block, STRIDE is 1
// block_rows       any structure: rows with column indices, padded to the longest of the bundle
// block_levels     the same for all rows of a matrix in the order of their levels, a sweep at a time
//
// Vectors have `columns` of them, r_pitch and z_pitch apart. GPUs launch groups for each; on CPUs a group solves for one
// after the other with a bundle, whose numbers stay in its cache.
//
// Diagonals: pairs (offset, begin), offsets ascending. A bundle's numbers are in its `slot`, of
// `record` numbers for each of the STRIDE blocks: those of L, from upper_at on those of U, from
// inverse_at on D^-1. Number begin + c of a diagonal is L[c + offset][c], or U[c][c + offset]: if
// U = L', it is the same place, and upper_at is 0.
//
// STORED    type of the factors' numbers, REAL unless defined; with HALVES they are halves. `scale`
//           times what is stored of D^-1 is D^-1

#ifndef STORED
#define STORED REAL
#endif
#define FOR_COLUMNS(c, columns) for (int c = COLUMN_HERE; c < columns; c += (int)get_num_groups(1))
#ifdef HALVES
#define ONE_OF(p, i)   ((REAL)vload_half(i, p))
#define EIGHT_OF(p, i) vload_half8(i, p)
#else
#define ONE_OF(p, i)   ((REAL)(p)[i])
#define EIGHT_OF(p, i) vload8(i, p)
#endif
#if defined(KRY_CPU) && STRIDE == 8
#define LANES        KRY_JOIN(REAL, 8)
#define GET(p, i)    vload8(i, p)
#define PUT(v, i, p) vstore8(v, i, p)
#define FACTOR(p, i) KRY_JOIN(convert_, LANES)(EIGHT_OF(p, i))
#define SPREAD(AT)   (LANES)(AT(0), AT(1), AT(2), AT(3), AT(4), AT(5), AT(6), AT(7))
#define EACH(DO, v)                                             \
    {                                                           \
        DO(0, (v).s0) DO(1, (v).s1) DO(2, (v).s2) DO(3, (v).s3) \
        DO(4, (v).s4) DO(5, (v).s5) DO(6, (v).s6) DO(7, (v).s7) \
    }
#else
#ifdef KRY_CPU
#define LANE         0
#else
#define LANE         ((int)(get_global_id(0) % STRIDE))
#endif
#define LANES        REAL
#define GET(p, i)    (p)[(long)(i) * STRIDE + LANE]
#define PUT(v, i, p) ((p)[(long)(i) * STRIDE + LANE] = (v))
#define FACTOR(p, i) ONE_OF(p, (long)(i) * STRIDE + LANE)
#define SPREAD(AT)   AT(LANE)
#define EACH(DO, v)  { DO(LANE, v) }
#endif

// Row j of the bundle's blocks, from a vector; `at` is the first row of its first block.
LANES load_rows(global const REAL *restrict r, long at, int rows, int j, long n)
{
#define INSIDE(l) r[at + (long)(l) * rows + j]
#define CUT(l)    (at + (long)(l) * rows + j < n ? INSIDE(l) : 0)
    if (at + (long)STRIDE * rows <= n) return SPREAD(INSIDE);
    return SPREAD(CUT);
#undef INSIDE
#undef CUT
}

void store_rows(LANES v, global REAL *restrict z, long at, int rows, int j, long n)
{
#define INSIDE(l, s) z[at + (long)(l) * rows + j] = s;
#define CUT(l, s)    if (at + (long)(l) * rows + j < n) INSIDE(l, s)
    if (at + (long)STRIDE * rows <= n) EACH(INSIDE, v) else EACH(CUT, v)
#undef INSIDE
#undef CUT
}

// The same for rows t ... end - 1, between a vector and the bundle's y. Eight rows of a block are a
// line of a cache: taken and written at once they cost half of what they cost one by one.
#if defined(KRY_CPU) && STRIDE == 8
#define LANE_OF(u)  (LANES)(v0.u, v1.u, v2.u, v3.u, v4.u, v5.u, v6.u, v7.u)
#define EIGHT(DO)   DO(0, s0) DO(1, s1) DO(2, s2) DO(3, s3) DO(4, s4) DO(5, s5) DO(6, s6) DO(7, s7)
#define READ(l, u)  LANES v##l = vload8(0, r + at + (long)(l) * rows + j);
#define KEEP(l, u)  PUT(LANE_OF(u), j + l, y);
#define FETCH(l, u) LANES v##l = GET(y, j + l);
#define WRITE(l, u) vstore8(LANE_OF(u), 0, z + at + (long)(l) * rows + j);
#define WHOLE(end)  (at + (long)STRIDE * rows <= n ? (end) - 7 : 0)
#else
#define EIGHT(DO)
#define WHOLE(end)  0
#endif

void load_tile(int t, int end, int rows, long n, long at, global const REAL *restrict r,
               global REAL *restrict y)
{
    int j = t;
    for (; j < WHOLE(end); j += 8) {
        EIGHT(READ)
        EIGHT(KEEP)
    }
    for (; j < end; j++) PUT(load_rows(r, at, rows, j, n), j, y);
}

void store_tile(int t, int end, int rows, long n, long at, global const REAL *restrict y,
                global REAL *restrict z)
{
    int j = t;
    for (; j < WHOLE(end); j += 8) {
        EIGHT(FETCH)
        EIGHT(WRITE)
    }
    for (; j < end; j++) store_rows(GET(y, j), z, at, rows, j, n);
}

#if defined(KRY_CPU) && defined(DIAGONALS)

// Rows of a tile stay in the first cache, so that its passes cost no more than their arithmetic.
#define TILE 64

// y_j := y_j - sum over diagonals L_j,j-offset y_j-offset for the rows t ... end - 1; or, going back,
// of U_j,j+offset y_j+offset for the rows end - 1 ... t.
void solve_tile(const int back, int t, int end, int rows, int m, global const int *restrict diagonal,
                global const STORED *restrict factor, global REAL *y)
{
    const int from = back ? end - 1 : t, until = back ? t - 1 : end, on = back ? -1 : 1;
    int near = 0;
    while (near < m && diagonal[2 * near] < TILE) near++;
    for (int k = near; k < m; k++) {
        const int offset = diagonal[2 * k], first = back ? t : max(t, offset);
        const int last = back ? min(end, rows - offset) : end, to = back ? offset : -offset;
        global const STORED *f = factor + (long)diagonal[2 * k + 1] * STRIDE;
        for (int j = first; j < last; j++)
            PUT(GET(y, j) - FACTOR(f, back ? j : j + to) * GET(y, j + to), j, y);
    }
    if (near == 1 && diagonal[0] == 1) {
        int begins = back ? end == rows : t == 0, j = from;
        LANES last = begins ? 0 : GET(y, from - on);
        if (begins) last = GET(y, j), j += on;
        for (; j != until; j += on) {
            last = GET(y, j) - FACTOR(factor, back ? j : j - 1) * last;
            PUT(last, j, y);
        }
    } else if (near) {
        for (int j = from; j != until; j += on) {
            const int most = back ? rows - 1 - j : j; // offset
            LANES sum = GET(y, j);
            for (int k = 0; k < near && diagonal[2 * k] <= most; k++) {
                int c = j - on * diagonal[2 * k];
                sum -= FACTOR(factor, diagonal[2 * k + 1] + (back ? j : c)) * GET(y, c);
            }
            PUT(sum, j, y);
        }
    }
}

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
        global const STORED *l = factor + slot[b] * record * STRIDE;
        global const STORED *u = l + upper_at * STRIDE, *d = l + inverse_at * STRIDE;
        FOR_COLUMNS(c, columns) {
            global const REAL *r_c = r + r_first + c * r_pitch;
            global REAL *z_c = z + z_first + c * z_pitch;
            for (int t = 0; t < rows; t += TILE) {
                int end = min(t + TILE, rows);
                load_tile(t, end, rows, n, at, r_c, y);
                solve_tile(0, t, end, rows, m, diagonal, l, y);
            }
            for (int t = (rows - 1) / TILE * TILE; t >= 0; t -= TILE) {
                int end = min(t + TILE, rows);
                for (int j = t; j < end; j++) PUT(by * FACTOR(d, j) * GET(y, j), j, y);
                solve_tile(1, t, end, rows, m, diagonal, u, y);
                store_tile(t, end, rows, n, at, y, z_c);
            }
        }
    }
}

#elif defined(DIAGONALS) // GPUs

// A piece of `step` rows at a time, EACH_ITEM neighbours to a work-item. No diagonal but the first
// has an offset below `step`, so that what they take away is known before the piece; along the
// first, of offset 1, y_j = a_j y_j-1 + b_j: maps that are put together in a scan over the group.
#define EACH_ITEM 4

typedef struct piece {
    REAL a[EACH_ITEM], b[EACH_ITEM];
} piece;

// The number that goes into this work-item's first row; *carry: into the piece, then out of it.
REAL scan_piece(const piece *p, REAL *carry, local REAL *all)
{
    int item = get_local_id(0), from = 0;
    REAL a = 1, b = 0;

    for (int u = 0; u < EACH_ITEM; u++) a *= p->a[u], b = p->a[u] * b + p->b[u];
    // all: two copies of (a, b) over the group, written in turn
    int step = 1;
    all[item] = a, all[WG + item] = b;
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        int other = item - step;
        if (step < WG && other >= 0) {
            b += a * all[from + WG + other];
            a *= all[from + other];
        }
        from = 2 * WG - from;
        all[from + item] = a, all[from + WG + item] = b;
        barrier(CLK_LOCAL_MEM_FENCE);
        step *= 2;
    } while (step < WG);
    REAL in = *carry;
    if (item) in = all[from + item - 1] * in + all[from + WG + item - 1];
    *carry = all[from + WG - 1] * *carry + all[from + 2 * WG - 1];
    barrier(CLK_LOCAL_MEM_FENCE); // `all` is free again
    return in;
}

// A sweep over the rows of a block in pieces of `step`: forward with f = L, from x to y; or back with
// f = U, on by D^-1 y.
void solve_pieces(const int back, int length, int step, int m, global const int *restrict diagonal,
                  global const STORED *restrict f, global const STORED *restrict d, REAL by,
                  global const REAL *restrict x, global REAL *y, local REAL *all)
{
    const int chain = m && diagonal[0] == 1, each = (step + WG - 1) / WG;
    REAL carry = 0;
    piece p;
    int t = 0;
    do { // rows are counted in the order of the sweep
        int first = t + (int)get_local_id(0) * each, end = min(t + step, length);
        for (int i = 0; i < EACH_ITEM; i++) {
            int row = first + i, j = back ? length - 1 - row : row;
            p.a[i] = 1, p.b[i] = 0;
            if (i >= each || row >= end) continue;
            REAL sum = back ? by * ONE_OF(d, j) * y[j] : x[j];
            for (int k = chain; k < m && diagonal[2 * k] <= row; k++) {
                int c = back ? j + diagonal[2 * k] : j - diagonal[2 * k];
                sum -= ONE_OF(f, diagonal[2 * k + 1] + (back ? j : c)) * y[c];
            }
            p.a[i] = chain && row ? -ONE_OF(f, back ? j : j - 1) : 0, p.b[i] = sum;
        }
        REAL last = scan_piece(&p, &carry, all);
        for (int i = 0; i < EACH_ITEM; i++) {
            int row = first + i;
            last = p.a[i] * last + p.b[i];
            if (i < each && row < end) y[back ? length - 1 - row : row] = last;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        t += step;
    } while (t < length);
}

kernel void block_pieces(long n, int rows, int blocks, int m, global const int *restrict diagonal,
                         global const int *restrict slot, long record, long upper_at,
                         long inverse_at, global const STORED *restrict factor, ACC scale,
                         int step, int columns, global const REAL *restrict r, long r_first, long r_pitch,
                         global REAL *z, long z_first, long z_pitch)
{
    local REAL all[4 * WG];
    const REAL by = (REAL)scale;
    int b = get_group_id(0);
    r += COLUMN_HERE * r_pitch, z += COLUMN_HERE * z_pitch;

    do {
        long at = (long)b * rows;
        int length = (int)min((long)rows, n - at);
        global const STORED *l = factor + slot[b] * record, *u = l + upper_at, *d = l + inverse_at;
        global const REAL *x = r + r_first + at;
        global REAL *y = z + z_first + at;
        solve_pieces(0, length, step, m, diagonal, l, d, by, x, y, all);
        solve_pieces(1, length, step, m, diagonal, u, d, by, x, y, all);
        b += (int)get_num_groups(0);
    } while (b < blocks);
}

#elif defined(LEVELS)

// Levels first ... last - 1 of the sweep forward with L, from r to z, or back with U, on by D^-1 in z. Rows of a
// level, row[level_begin[l]] and so on, do not depend on each other. One group takes many levels with few rows, many
// groups take one with many.
//
// Moved in both sweeps: L, U and D^-1 once; r read, z written twice and read once, and once for each entry as far as
// the caches do not hold it; a word of `row` and one column for each entry.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_levels(int first, int last, int back, global const int *restrict level_begin,
                         global const int *restrict row, global const int *restrict begin,
                         global const int *restrict col, global const STORED *restrict val,
                         global const STORED *restrict inverse, ACC scale,
                         global const REAL *restrict r, long r_first, long r_pitch,
                         global REAL *z, long z_first, long z_pitch)
{
    const REAL by = (REAL)scale;
    int l = first;
    r += r_first + COLUMN_HERE * r_pitch, z += z_first + COLUMN_HERE * z_pitch;
    do {
        const int at = level_begin[l], count = level_begin[l + 1] - at;
        FOR_EACH(k, count) {
            const int p = at + (int)k, i = row[p], end = begin[p / STRIDE + 1];
            REAL sum = back ? by * ONE_OF(inverse, p) * z[i] : r[i];
            for (int e = begin[p / STRIDE]; e < end; e++) {
                const long q = (long)e * STRIDE + p % STRIDE;
                const int c = col[q];
                if (c < 0) break;
                sum -= ONE_OF(val, q) * z[c];
            }
            z[i] = sum;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    } while (++l < last);
}

#else // rows

// Bundles of this walker: a group of a CPU, STRIDE work-items of a GPU.
#ifdef KRY_CPU
#define FOR_BUNDLES(b, bundles) FOR_EACH(b, bundles)
#define WALKER                  get_group_id(0)
#define WALKERS                 get_num_groups(0)
#else
#define FOR_BUNDLES(b, bundles)                                \
    for (long b = get_global_id(0) / STRIDE; b < bundles;      \
         b += get_global_size(0) / STRIDE)
#define WALKER  (get_global_id(0) / STRIDE)
#define WALKERS (get_global_size(0) / STRIDE)
#endif

// The entries e of row j of bundle b are those from begin[b * rows + j] on.
#define ENTRIES(e, begin, b, j)                                                     \
    for (long i_##e = (b) * rows + (j), e = begin[i_##e]; e < begin[i_##e + 1]; e++)

#define AT_COLUMN(l) y[(long)col[e * STRIDE + l] * STRIDE + l]

kernel void block_rows(long n, int rows, int bundles, global const int *restrict lower_begin,
                       global const int *restrict lower_col, global const STORED *restrict lower,
                       global const int *restrict upper_begin,
                       global const int *restrict upper_col, global const STORED *restrict upper,
                       global const STORED *restrict inverse, ACC scale, global REAL *restrict scratch,
                       int columns, global const REAL *restrict r, long r_first, long r_pitch,
                       global REAL *restrict z, long z_first, long z_pitch)
{
    global REAL *y = scratch + (COLUMN_HERE * (long)WALKERS + WALKER) * rows * STRIDE;
    const REAL by = (REAL)scale;
    global const int *restrict col;
    FOR_BUNDLES(b, bundles) FOR_COLUMNS(c, columns) {
        long at = b * STRIDE * rows;
        load_tile(0, rows, rows, n, at, r + r_first + c * r_pitch, y);
        col = lower_col;
        for (int j = 0; j < rows; j++) {
            LANES sum = GET(y, j);
            ENTRIES(e, lower_begin, b, j) sum -= FACTOR(lower, e) * SPREAD(AT_COLUMN);
            PUT(sum, j, y);
        }
        col = upper_col;
        for (int j = rows - 1; j >= 0; j--) {
            LANES sum = by * FACTOR(inverse, b * rows + j) * GET(y, j);
            ENTRIES(e, upper_begin, b, j) sum -= FACTOR(upper, e) * SPREAD(AT_COLUMN);
            PUT(sum, j, y);
        }
        store_tile(0, rows, rows, n, at, y, z + z_first + c * z_pitch);
    }
}

#endif
