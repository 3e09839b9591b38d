// lu_panel.cl - a panel of a dense matrix factored in one launch, P A = L U, one wait of all groups
// to a column. Host: src/dense/lu_factor.c.  Launch: as many groups of GROUP as hold the rows from
// c0 on.
//
// A work-item keeps its row of the panel in registers from the first column to the last, and only
// knows where the row would be if rows were exchanged; all of them are stored there at the end.
// v[0] is the column in turn: what is behind it moves up by one with each column, and the column
// itself, now of L or finished in U, goes to the end. After PANEL columns all are back in their
// places.
//
// A candidate for a pivot is a magnitude and a tag, (row - c0) CONTROL_MOST + group: of equal
// magnitudes the smallest tag wins, which is the first row. Each group leaves its best one and that
// one's row in one half of `value`, `tag` and `line`, in turn, so that nobody writes what others
// still read.

#include "common/kry.clh"
#include "common/barrier.clh"

#define ROOT   16 // work-items that look at GROUP candidates
#define BRANCH (GROUP / ROOT)
#define HELD   (GROUP < 32 ? 1 : 4)
#define LINES  (GROUP * HELD / PANEL) // groups whose rows are read while the best one is being found

typedef struct leader {
    REAL value; // -2: none
    int tag;
} leader;

typedef struct contest {
    local REAL *value; // GROUP
    local int *tag;
    local REAL4 *root_value; // ROOT / 4
    local int4 *root_tag;
} contest;

leader nobody(void)
{
    leader none;
    none.value = -2, none.tag = INT_MAX;
    return none;
}

// The best of what ROOT work-items hand in, for every one: short chains of operations.
leader lead_root(leader mine, contest *c)
{
    const int l = get_local_id(0);
    leader best = nobody();
    if (l < ROOT)
        ((local REAL *)c->root_value)[l] = mine.value, ((local int *)c->root_tag)[l] = mine.tag;
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLLED for (int k = 0; k < ROOT / 4; k++)
    {
        REAL4 a = c->root_value[k];
        best.value = fmax(best.value, fmax(fmax(a.x, a.y), fmax(a.z, a.w)));
    }
    UNROLLED for (int k = 0; k < ROOT / 4; k++)
    {
        REAL4 a = c->root_value[k];
        int4 t = c->root_tag[k];
        int x = a.x == best.value ? t.x : INT_MAX, y = a.y == best.value ? t.y : INT_MAX;
        int z = a.z == best.value ? t.z : INT_MAX, w = a.w == best.value ? t.w : INT_MAX;
        best.tag = min(best.tag, min(min(x, y), min(z, w)));
    }
    return best;
}

// The group's best.
leader lead_group(leader mine, contest *c)
{
    const int l = get_local_id(0);
    leader best = nobody();
    c->value[l] = mine.value, c->tag[l] = mine.tag;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < ROOT) {
        REAL x[BRANCH];
        UNROLLED for (int e = 0; e < BRANCH; e++)
        {
            x[e] = c->value[l + e * ROOT];
            best.value = fmax(best.value, x[e]);
        }
        UNROLLED for (int e = 0; e < BRANCH; e++)
        {
            int t = c->tag[l + e * ROOT];
            best.tag = min(best.tag, x[e] == best.value ? t : INT_MAX);
        }
    }
    return lead_root(best, c);
}

// The best of all groups, AT_ONCE * ROOT of them at a time.
#define AT_ONCE 4
leader lead_all(volatile global const REAL *value, volatile global const int *tag, int groups,
                contest *c)
{
    const int l = get_local_id(0);
    leader best = nobody();
    if (l < ROOT)
        for (int first = l; first < groups; first += AT_ONCE * ROOT) {
            REAL x[AT_ONCE];
            int t[AT_ONCE];
            UNROLLED for (int e = 0; e < AT_ONCE; e++)
            {
                int g = min(first + e * ROOT, groups - 1);
                x[e] = value[g], t[e] = tag[g];
            }
            UNROLLED for (int e = 0; e < AT_ONCE; e++)
            {
                if (x[e] > best.value || (x[e] == best.value && t[e] < best.tag))
                    best.value = x[e], best.tag = t[e];
            }
        }
    return lead_root(best, c);
}

// Columns c0 ... c0 + w - 1 of the m rows of F, below row c0. index: as in panel.cl; fresh: a block
// begins here. value, tag: 2 CONTROL_MOST each; line: PANEL times that.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
lu_panel(RESIDENT_PARAMS, int m, int c0, int w, global REAL *F, long f0, long ld,
         volatile global REAL *value, volatile global int *tag, volatile global REAL4 *line,
         int columns, global int *index, int fresh)
{
    RESIDENT_LOCALS
    local REAL lane_value[GROUP], u[PANEL];
    local int lane_tag[GROUP];
    local REAL4 root_value[ROOT / 4];
    local int4 root_tag[ROOT / 4];
    resident me;
    contest c;
    REAL v[PANEL], held[HELD];

    resident_begin(&me, RESIDENT_PASS);
    c.value = lane_value, c.tag = lane_tag, c.root_value = root_value, c.root_tag = root_tag;
    const int l = get_local_id(0), i = c0 + me.group * GROUP + l, valid = me.groups && i < m;
    global int *pivots = index, *source = index + columns, *origin = source + m;
    const int old = valid && !fresh ? origin[i] : i;
    int at = i, q = 0;
    F += f0 + c0 * ld;
    UNROLLED for (int k = 0; k < PANEL; k++) v[k] = valid && k < w ? F[i + k * ld] : 0;
    do {
        const int j = c0 + q, side = (q & 1) * CONTROL_MOST;
        leader best = nobody();
        if (valid && at >= j) {
            best.value = fabs(v[0]) >= 0 ? fabs(v[0]) : -1; // what is not a number comes last
            best.tag = (at - c0) * CONTROL_MOST + me.group;
        }
        const int own = best.tag;
        best = lead_group(best, &c);
        if (l == 0 && me.groups)
            value[side + me.group] = best.value, tag[side + me.group] = best.tag;
        if (valid && own == best.tag && own != INT_MAX) {
            UNROLLED for (int k = 0; k < PANEL / 4; k++) line[(side + me.group) * (PANEL / 4) + k] =
                (REAL4)(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
        }
        resident_wait(&me);

        volatile global const REAL *lines = (volatile global const REAL *)line + side * PANEL;
        UNROLLED for (int s = 0; s < HELD; s++) held[s] =
            l + s * GROUP < me.groups * PANEL ? lines[l + s * GROUP] : 0;
        best = lead_all(value + side, tag + side, me.groups, &c);
        const int from = best.tag % CONTROL_MOST, p = c0 + best.tag / CONTROL_MOST;
        // no multipliers, which are at the end
        if (from < LINES) {
            UNROLLED for (int s = 0; s < HELD; s++)
            {
                const int e = l + s * GROUP;
                if (e / PANEL == from) u[e % PANEL] = e % PANEL < PANEL - q ? held[s] : 0;
            }
        } else if (me.groups)
            for (int k = l; k < PANEL; k += GROUP)
                u[k] = k < PANEL - q ? lines[from * PANEL + k] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        at = at == p ? j : at == j ? p : at;
        if (l == 0 && me.groups && me.group == 0 && !me.aborted) pivots[j] = p;
        const int active = valid && at > j && u[0] != 0; // 0: so is all of the column
        const REAL by = active ? v[0] / u[0] : 0, done = active ? by : v[0];
        UNROLLED for (int k = 1; k < PANEL; k++) v[k - 1] = v[k] - by * u[k];
        v[PANEL - 1] = done;
    } while (++q < w && me.groups && !me.aborted);
    for (; q < PANEL; q++) {
        const REAL first = v[0];
        UNROLLED for (int k = 1; k < PANEL; k++) v[k - 1] = v[k];
        v[PANEL - 1] = first;
    }
    if (valid && !me.aborted) {
        UNROLLED for (int k = 0; k < PANEL; k++)
        {
            if (k < w) F[at + k * ld] = v[k];
        }
        source[at] = i, origin[at] = old;
    }
    resident_end_in_series(&me);
}
