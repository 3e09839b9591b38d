// lu_block.cl - a block of columns of a dense matrix factored in one launch, P A = L U. Host:
// src/dense/lu_factor.c.  Launch: groups of GROUP, as many as there are slabs of WIDE columns or fewer.
//
// A group has a slab in registers, with all rows from c0 on: row r is number r / GROUP of work-item
// r % GROUP. So pivots are searched for, and rows exchanged, within a group. A slab follows the columns
// before it as these are finished: it makes the same exchange of rows, and takes away their multipliers times what
// then stands in the pivot's row. Then its own columns are eliminated, stored, and published in *done, which counts the
// finished columns of F. No group waits for a slab that comes later, so there may be fewer groups than slabs: these
// then take turns.
//
// Columns that are finished keep their rows in the order that they were in then. Once all of the block are, each group
// makes the exchanges of later columns in those of its own slabs.

#include "common/kry.clh"
#include "common/barrier.clh"

#define LANES          (GROUP < 32 ? GROUP : 32) // work-items that look at GROUP candidates
#define EACH_ROW(e)    UNROLLED for (int e = 0; e < ROWS; e++)
#define EACH_COLUMN(c) UNROLLED for (int c = 0; c < WIDE; c++)
#define ROW(e)         (l + (e) * GROUP)
#define PLACES         (2 * BLOCK > GROUP ? 2 * BLOCK / GROUP : 1) // rows that are exchanged, to a work-item

typedef struct block {
    volatile global REAL *F; // its first number
    long ld;
    volatile global int *pivots, *origin; // of its first column and row, as in panel.cl
    int c0, w;
} block;

typedef struct slab {
    local REAL *value; // GROUP
    local REAL4 *few;  // LANES / 4
    local int *first;  // the first row of the candidates that are equal
} slab;

// Wait until `columns` columns are finished; how many are. Every work-item must call it.
int wait_for(resident *me, volatile global const int *done, int columns)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        int seen = columns, polls = 0;
        if (me->groups)
            while ((seen = *done) < columns && polls < me->polls) polls++;
        if (seen < columns) atomic_or(me->control + CONTROL_ARRIVED, CONTROL_HIGH);
        read_mem_fence(CLK_GLOBAL_MEM_FENCE);
        me->word[0] = seen;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    me->aborted = me->aborted || me->word[0] < columns;
    return me->word[0];
}

// The row of the largest of the group's candidates; of equal ones the first row. INT_MAX: there is none.
int first_largest(REAL value, int row, slab *s)
{
    const int l = get_local_id(0);
    REAL best = -1;
    s->value[l] = value;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l < LANES) {
        REAL x[GROUP / LANES];
        UNROLLED for (int k = 0; k < GROUP / LANES; k++) x[k] = s->value[l + k * LANES];
        UNROLLED for (int k = 0; k < GROUP / LANES; k++) best = fmax(best, x[k]);
        ((local REAL *)s->few)[l] = best;
    }
    if (l == 0) *s->first = INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLLED for (int k = 0; k < LANES / 4; k++)
    {
        const REAL4 a = s->few[k];
        best = fmax(best, fmax(fmax(a.x, a.y), fmax(a.z, a.w)));
    }
    if (value == best) atomic_min(s->first, row);
    barrier(CLK_LOCAL_MEM_FENCE);
    return *s->first;
}

// Whether number e of a work-item may be row q of the block: if groups are large, the block's first rows are
// the first numbers.
#define MAY_BE_TOP(e, q) (GROUP >= BLOCK ? (e) == 0 : (e) == (q) / GROUP)
#define BELOW(e, q)      ((GROUP >= BLOCK && (e) > 0) || ROW(e) > (q))

// Exchange rows q and p of the slab; u becomes what then stands in row q. With `here` 0 nothing is exchanged.
// A macro, because an array in registers cannot be passed to a function.
#define EXCHANGE(here, q, p)                                                            \
    {                                                                                   \
        local REAL *top = rows + ((q) & 1) * 2 * WIDE, *pivot = top + WIDE;             \
        const int has_top = (here) && l == (q) % GROUP;                                 \
        const int has_pivot = (here) && l == (p) % GROUP;                               \
        if (has_top) {                                                                  \
            EACH_ROW(e) if (MAY_BE_TOP(e, q)) EACH_COLUMN(c) top[c] = v[e][c];          \
        }                                                                               \
        if (has_pivot) {                                                                \
            EACH_ROW(e) if (e == (p) / GROUP) EACH_COLUMN(c) pivot[c] = v[e][c];        \
        }                                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        EACH_COLUMN(c) u[c] = (here) ? pivot[c] : 0;                                    \
        if (has_pivot) {                                                                \
            EACH_ROW(e) if (e == (p) / GROUP) EACH_COLUMN(c) v[e][c] = top[c];          \
        }                                                                               \
        if (has_top) {                                                                  \
            EACH_ROW(e) if (MAY_BE_TOP(e, q)) EACH_COLUMN(c) v[e][c] = u[c];            \
        }                                                                               \
    }

// a becomes the multipliers of column q; 0 where there are none.
#define MULTIPLIERS(here)                                                               \
    {                                                                                   \
        const int to = (here) ? h : 0;                                                  \
        volatile global const REAL *f = F + q * ld + l;                                 \
        EACH_ROW(e) a[e] = BELOW(e, q) && ROW(e) < to ? f[e * GROUP] : 0;               \
    }

// Publish that so many columns are finished. Work-item 0, behind a barrier.
void publish(volatile global int *done, int columns)
{
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
    *done = columns;
}

// Where a row was one exchange before.
#define UNDO(t)                                                                         \
    {                                                                                   \
        const int p_ = moved[t];                                                        \
        UNROLLED for (int k = 0; k < PLACES; k++)                                       \
            from[k] = from[k] == (t) ? p_ : from[k] == p_ ? (t) : from[k];              \
    }

// The exchanges of later columns in the columns of the group's slabs, when all are finished. A row that is exchanged twice
// comes twice, and gets the same number. moved: BLOCK.
void settle(const resident *me, const block *all, local int *moved)
{
    const int l = get_local_id(0), w = me->groups && !me->aborted ? all->w : 0;
    const long ld = all->ld;
    int first = w ? me->group * WIDE : 0;
    for (int t = l; t < w; t += GROUP) moved[t] = all->pivots[t] - all->c0;
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        int to[PLACES], from[PLACES];
        REAL x[PLACES][WIDE];
        volatile global REAL *F = all->F + first * ld;
        UNROLLED for (int k = 0; k < PLACES; k++)
        {
            const int n = l + k * GROUP;
            to[k] = from[k] = n < w ? n : n < 2 * w ? moved[n - w] : -1;
        }
        for (int t = w - 1; t >= first + WIDE; t--) UNDO(t)
        UNROLLED for (int c = WIDE - 1; c >= 0; c--)
        {
            if (first + c >= w) continue;
            UNROLLED for (int k = 0; k < PLACES; k++) x[k][c] = to[k] >= 0 ? F[from[k] + c * ld] : 0;
            UNDO(first + c)
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        UNROLLED for (int k = 0; k < PLACES; k++)
        {
            EACH_COLUMN(c) if (to[k] >= 0 && first + c < w) F[to[k] + c * ld] = x[k][c];
            if (to[k] >= 0 && first == 0) all->origin[to[k]] = all->c0 + from[k];
        }
        first += me->groups * WIDE;
    } while (first < w);
}

// Columns c0 ... c0 + w - 1 of the m rows of F, below row c0. index: as in panel.cl.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
lu_block(RESIDENT_PARAMS, int m, int c0, int w, volatile global REAL *F, long f0, long ld,
         volatile global int *index, int columns, int turn, volatile global int *done)
{
    RESIDENT_LOCALS
    local REAL value[GROUP], rows[4 * WIDE];
    local REAL4 few[LANES / 4];
    local int first_row, moved[BLOCK];
    resident me;
    slab s;
    REAL v[ROWS][WIDE], a[ROWS], u[WIDE];

    resident_begin(&me, RESIDENT_PASS);
    s.value = value, s.few = few, s.first = &first_row;
    const int l = get_local_id(0), h = m - c0;
    volatile global int *pivots = index + c0, *origin = index + columns + (1 + turn) * m + c0;
    int first = me.groups ? me.group * WIDE : 0; // column of the slab
    F += f0 + c0 * (ld + 1);
    const block all = { F, ld, pivots, origin, c0, w };
    do {
        int q = 0, ready = 0;
        EACH_COLUMN(c)
        {
            const int to = me.groups && first + c < w ? h : 0;
            volatile global const REAL *f = F + (first + c) * ld + l;
            EACH_ROW(e) v[e][c] = ROW(e) < to ? f[e * GROUP] : 0;
        }
        do { // columns before the slab; none: a step that does nothing
            ready = min(wait_for(&me, done, c0 + min(q + 1, first)) - c0, first);
            int p = me.groups && q < first ? pivots[q] - c0 : 0;
            MULTIPLIERS(me.groups && q < first)
            do {
                EXCHANGE(q < first, q, p)
                EACH_ROW(e) EACH_COLUMN(c) v[e][c] -= a[e] * u[c];
                q++;
                if (q < ready) p = pivots[q] - c0;
                MULTIPLIERS(q < ready)
            } while (q < ready);
        } while (q < first && me.groups && !me.aborted);
        const int go = me.groups && !me.aborted, last = min(first + WIDE, w);
        q = first;
        do { // the slab's columns: v[e][0] is the one in turn
            REAL best = -1; // what is not a number is passed over, and rows behind the last are 0
            int row = INT_MAX;
            EACH_ROW(e) if (BELOW(e, q - 1) && fabs(v[e][0]) > best) best = fabs(v[e][0]), row = ROW(e);
            int p = first_largest(best, row, &s);
            if (p >= h) p = q;
            if (l == 0 && go && q > first) publish(done, c0 + q); // by now the column before is in memory
            EXCHANGE(1, q, p)
            if (l == 0 && go) pivots[q] = c0 + p;
            // Times 1 / u[0], which for a tiny or huge one is that of a multiple
            REAL by = 1 / u[0], scale = 1;
            if (fabs(u[0]) < FLT_MIN) scale = 0x1p60f;
            if (fabs(by) < FLT_MIN) scale = 0x1p-60f;
            if (scale != 1) {
                by = 1 / (u[0] * scale);
                EACH_ROW(e) v[e][0] *= BELOW(e, q) ? scale : 1;
            }
            if (by * u[0] * scale > 1) by -= 2 * (by * u[0] * scale - 1) * by; // no multiplier is greater than 1
            if (u[0] == 0) by = 0;                                             // so is all of the column
            volatile global REAL *f = F + q * ld + l;
            const int to = go ? h : 0;
            EACH_ROW(e)
            {
                a[e] = BELOW(e, q) ? v[e][0] * by : 0;
                if (ROW(e) < to) f[e * GROUP] = BELOW(e, q) ? a[e] : v[e][0];
                UNROLLED for (int c = 1; c < WIDE; c++) v[e][c - 1] = v[e][c] - a[e] * u[c];
            }
        } while (++q < last && go);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (l == 0 && go) publish(done, c0 + last);
        first += me.groups * WIDE;
    } while (first < w && me.groups && !me.aborted);

    wait_for(&me, done, me.groups && !me.aborted ? c0 + w : 0);
    settle(&me, &all, moved);
    resident_end_in_series(&me);
}

// The exchanges of a block's rows in n other columns, F. turn: as in lu_block.
#define SIDE_BY_SIDE 8 // columns of a group
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
lu_rows(int n, int m, int c0, int w, global REAL *F, long f0, long ld, global const int *restrict index,
        int columns, int turn)
{
    const int l = get_local_id(0);
    global const int *pivots = index + c0, *origin = index + columns + (1 + turn) * m;
    int to[PLACES], from[PLACES], first = (int)get_group_id(0) * SIDE_BY_SIDE;
    REAL x[PLACES][SIDE_BY_SIDE];

    UNROLLED for (int k = 0; k < PLACES; k++)
    {
        const int s = l + k * GROUP;
        to[k] = s < w ? c0 + s : s < 2 * w ? pivots[s - w] : -1;
        from[k] = to[k] >= 0 ? origin[to[k]] : 0;
    }
    F += f0;
    do { // the host makes no more groups than there are columns to be had
        UNROLLED for (int k = 0; k < PLACES; k++)
            UNROLLED for (int c = 0; c < SIDE_BY_SIDE; c++) x[k][c] =
                to[k] >= 0 && first + c < n ? F[from[k] + (first + c) * ld] : 0;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        UNROLLED for (int k = 0; k < PLACES; k++)
            UNROLLED for (int c = 0; c < SIDE_BY_SIDE; c++)
                if (to[k] >= 0 && first + c < n) F[to[k] + (first + c) * ld] = x[k][c];
        first += (int)get_num_groups(0) * SIDE_BY_SIDE;
    } while (first < n);
}
