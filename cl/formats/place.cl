// place.cl - formats made of a matrix in compressed rows, whose columns ascend, and its entries read back: slots and columns,
// no numbers. Hosts: src/matrix/placed_sell.c, placed_dia.c, counted.c. CPUs do not run these.
//
// place[e] := the slot of entry e, as sell.cl and dia.cl have them.

#include "common/kry.clh"
#include "common/rows.clh"

// ---- slices of `height` rows, of which position p has row perm[p] where they are sorted ----

#define ROW_AT(p) (sorted ? perm[p] : (int)(p))

#pragma kry part how wide slices are

kernel void place_zero(long count, global int *restrict to)
{
    FOR_EACH(k, count) to[k] = 0;
}

// perm: windows of rows by falling length, equal ones in their order. Words: as many lengths as a window has.
kernel void place_sort(int rows, int window, global const int *restrict ptr, global int *restrict perm)
{
    FOR_EACH(i, rows)
    {
        const int first = (int)i / window * window, end = (int)min((long)first + window, (long)rows);
        const int mine = ptr[i + 1] - ptr[i];
        int rank = 0;
        for (int u = first, begin = ptr[first]; u < end; u++) {
            const int next = ptr[u + 1], other = next - begin;
            rank += other > mine || (other == mine && u < i);
            begin = next;
        }
        perm[first + rank] = (int)i;
    }
}

// slots[s]: of slice s, as wide as its longest row.
kernel void place_widths(int rows, int slices, int height, int sorted, global const int *restrict ptr,
                         global const int *restrict perm, global int *restrict slots)
{
    FOR_EACH(s, slices)
    {
        int width = 0;
        for (long p = s * height; p < min((s + 1) * height, (long)rows); p++)
            width = max(width, ptr[ROW_AT(p) + 1] - ptr[ROW_AT(p)]);
        slots[s] = width * height;
    }
}

#pragma kry part slices

// The least of what the `height` work-items of a slice have; all of a group ask together.
int least_of_slice(int mine, int height, local int *lane)
{
    const int l = get_local_id(0), first = l / height * height;
    int least = INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
    lane[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int u = 0; u < height; u += 4) {
        const int4 four = vload4(0, lane + first + u);
        least = min(least, min(min(four.s0, four.s1), min(four.s2, four.s3)));
    }
    return least;
}

// The distance of entry e from the diagonal; behind the last one more than any.
#define DISTANCE (e < end ? col[e] - row : INT_MAX)

// If a slice has no more distances than places in a row, each distance gets a place of its own; else rows are packed to the left.
// to: the column in each slot, -1 for padding; base: the least of those side by side; found[0]: how far one is from it at
// most.
kernel void place_slices(int rows, int slices, int height, int sorted, global const int *restrict ptr,
                         global const int *restrict col, global const int *restrict perm,
                         global const int *restrict slice_ptr, global int *restrict place,
                         global int *restrict to, global int *restrict base, global int *found)
{
    local int lane[WG];
    const int l = get_local_id(0), per = WG / height;
    int farthest = 0;
    for (int first = get_group_id(0) * per; first < slices; first += get_num_groups(0) * per) {
        const int s = first + l / height, p = s * height + l % height;
        const bool is_slice = s < slices, is_row = is_slice && p < rows;
        const int row = is_row ? ROW_AT(p) : 0, begin = is_row ? ptr[row] : 0;
        const int end = is_row ? ptr[row + 1] : 0, from = is_slice ? slice_ptr[s] : 0;
        const int width = is_slice ? (slice_ptr[s + 1] - from) / height : 0;
        int steps = 0;
        for (int u = first; u < min(first + per, slices); u++)
            steps = max(steps, (slice_ptr[u + 1] - slice_ptr[u]) / height);
        int e = begin;
        for (int k = 0; k < steps; k++) { // distances, ascending, as many as there are places
            const int mine = DISTANCE, least = least_of_slice(mine, height, lane);
            e += k < width && e < end && mine == least;
        }
        const bool aligned = least_of_slice(e == end, height, lane) == 1;
        e = begin;
        for (int k = 0; k < steps; k++) {
            const int mine = DISTANCE, least = least_of_slice(mine, height, lane);
            const bool here = k < width && e < end && (!aligned || mine == least);
            const int j = here ? col[e] : -1;
            const int low = least_of_slice(here ? j : INT_MAX, height, lane);
            const int high = -least_of_slice(here ? -j : INT_MAX, height, lane);
            if (k < width) {
                const int slot = from + k * height + l % height;
                to[slot] = j;
                if (here) place[e] = slot;
                if (l % height == 0) base[slot / height] = low == INT_MAX ? 0 : low;
                if (low != INT_MAX) farthest = max(farthest, high - low);
            }
            e += here;
        }
    }
    if (farthest > found[0]) atomic_max(&found[0], farthest);
}

// Columns in 8 or 16 bits, as distances from their base; all bits set for padding.
kernel void place_narrow(long slots, int height, int bits, global const int *restrict col,
                         global const int *restrict base, global uchar *restrict to)
{
    FOR_EACH(k, slots)
    {
        const int distance = col[k] < 0 ? -1 : col[k] - base[k / height];
        if (bits == 8)
            to[k] = (uchar)distance;
        else
            ((global ushort *)to)[k] = (ushort)distance;
    }
}

#pragma kry part ELL, and what is read back

// slot[i] := the place of entry (i, first + i), -1 if there is none; by rows.clh.
kernel void place_own(int rows, int first, global const int *restrict ptr, global const int *restrict col,
                      global const int *restrict place, global int *restrict slot)
{
    FOR_EACH(i, rows)
    {
        const int e = entry_of(ptr, col, (int)i, first + (int)i);
        slot[i] = e >= 0 ? place[e] : -1;
    }
}

// ELL: entry k of row i lies at k * stride + i; `stride` rows with padding.
kernel void place_padded(int rows, int stride, int width, global const int *restrict ptr,
                         global const int *restrict col, global int *restrict place,
                         global int *restrict to)
{
    FOR_EACH(i, stride)
    {
        const int begin = i < rows ? ptr[i] : 0, length = i < rows ? ptr[i + 1] - begin : 0;
        for (int k = 0; k < width; k++) {
            const int slot = k * stride + (int)i;
            to[slot] = k < length ? col[begin + k] : -1;
            if (k < length) place[begin + k] = slot;
        }
    }
}

// Both read back. height 0: ELL; bits: 32, or fewer with a base.
#define SLOTS                                                                                    \
    int rows, int height, int stride, int width, int bits, int sorted,                           \
        global const int *restrict slice_ptr, global const int *restrict perm,                   \
        global const int *restrict base, global const uchar *restrict col
#define FOR_SLOTS(k, i)                                                                     \
    const int step = height ? height : stride;                                              \
    const int k##_end = height ? slice_ptr[(i) / height + 1] : width * stride;              \
    for (int k = height ? slice_ptr[(i) / height] + (int)((i) % height) : (int)(i); k < k##_end; k += step)

// -1: padding.
int column_at(int k, int height, int bits, global const int *base, global const uchar *col)
{
    if (bits == 32) return ((global const int *)col)[k];
    const int distance = bits == 8 ? col[k] : ((global const ushort *)col)[k];
    return distance == (bits == 8 ? 255 : 65535) ? -1 : base[k / height] + distance;
}

kernel void place_lengths(SLOTS, global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        int count = 0;
        FOR_SLOTS(k, i) count += column_at(k, height, bits, base, col) >= 0;
        length[ROW_AT(i)] = count;
    }
}

kernel void place_entries(SLOTS, global const int *restrict ptr, global int *restrict to,
                          global int *restrict place)
{
    FOR_EACH(i, rows)
    {
        int at = ptr[ROW_AT(i)];
        FOR_SLOTS(k, i)
        {
            const int j = column_at(k, height, bits, base, col);
            if (j >= 0) to[at] = j, place[at++] = k;
        }
    }
}

#pragma kry part diagonals

// ---- diagonals: d of them, offsets ascending; shared: the upper ones, with the main one first ----

// there: which diagonals a row has an entry on, a bit each in `bytes` of them; of the upper ones where those are shared.
#define IS_THERE(i, d) (there[(long)(i) * bytes + (d) / 8] >> (d) % 8 & 1)

// The place of an offset among those there are.
int number_of(int distance, int diagonals, global const int *offset)
{
    int from = 0, to = diagonals - 1;
    while (from < to) {
        const int middle = from + (to - from) / 2;
        if (offset[middle] < distance)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

kernel void place_diagonals(int rows, int diagonals, int stride, int bytes, int shared,
                            global const int *restrict offset, global const int *restrict ptr,
                            global const int *restrict col, global int *restrict place,
                            global uchar *restrict there)
{
    FOR_EACH(i, rows)
    {
        for (int b = 0; b < bytes; b++) there[i * bytes + b] = 0;
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            const int j = col[e];
            const bool below = shared && j < i;
            const int d = number_of(below ? (int)i - j : j - (int)i, diagonals, offset);
            const int slot = d * stride + (below ? j : (int)i);
            place[e] = below ? ~slot : slot;
            if (!below) there[i * bytes + d / 8] |= (uchar)(1 << d % 8);
        }
    }
}

// DO(column, slot) for the entries of row i, by ascending column.
#define EACH_THERE(i, DO)                                                                   \
    for (int d = diagonals - 1; d > 0 && shared; d--)                                       \
        if (i >= offset[d] && IS_THERE(i - offset[d], d)) {                                 \
            DO((int)i - offset[d], ~(d * stride + (int)i - offset[d]))                      \
        }                                                                                   \
    for (int d = 0; d < diagonals; d++)                                                     \
        if (IS_THERE(i, d)) { DO((int)i + offset[d], d * stride + (int)i) }

#define DIAGONALS \
    int rows, int diagonals, int stride, int bytes, int shared, global const int *restrict offset, \
        global const uchar *restrict there

kernel void place_diagonal_lengths(DIAGONALS, global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        int count = 0;
#define COUNT_IT(column, slot) count++;
        EACH_THERE(i, COUNT_IT)
        length[i] = count;
    }
}

kernel void place_diagonal_entries(DIAGONALS, global const int *restrict ptr, global int *restrict to,
                                   global int *restrict place)
{
    FOR_EACH(i, rows)
    {
        int at = ptr[i];
#define PUT_IT(column, slot) to[at] = column, place[at++] = slot;
        EACH_THERE(i, PUT_IT)
    }
}
