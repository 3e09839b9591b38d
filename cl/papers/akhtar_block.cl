// akhtar_block.cl - T Jacobi sweeps in one pass through memory: a group marches along z with a
// slice of each sweep at hand, sweep s one slice behind sweep s - 1.
// Host: papers/akhtar/jacobi_march.c; the array is that of akhtar_stream.cl.
//
// A group loads more than it writes: T points on each side in x and y, T slices on each end in z,
// which its neighbours compute as well. A point on a side of the box keeps its value in all sweeps.
//   GPU   TX x TY columns, a patch of C x R to a work-item (C 2 or 4, R at least 2), in registers
//         with what comes along z. Work-items pass on the borders of their patches through local
//         memory, a slice of each sweep. Numbers that neighbours read at once lie side by side: the
//         first columns of all patches of a row, then the second columns, so that no banks collide.
//         C divides what a tile loads beyond its own, which is T rounded up, and so rows of patches
//         are aligned vectors in the array.
//   CPU   whole rows, `depth_y` of them; three slices of each sweep in a ring of the group's own
//         that stays in the cache
//
// After A. Nguyen, N. Satish, J. Chhugani, C. Kim, P. Dubey, 3.5-D blocking optimization for stencil
// computations on modern CPUs and GPUs, SC10 (2010).

#include "common/kry.clh"
#include "papers/mean.clh"

#define BOX int nx, int ny, int nz, int pitch, long first

#ifndef KRY_CPU

#define ROW        KRY_JOIN(REAL, C)
#define LX         (TX / C)              // patches side by side
#define BORDER     (2 * C + 2 * (R - 2)) // numbers on the border of a patch
#define PATCH_ROW  ((BORDER | 1) * LX)   // odd: no two rows on the same banks
#define SLICE      (TY / R * PATCH_ROW)
#define HALO_X     ((T + C - 1) / C * C) // whole rows of patches are loaded
#define INNER_X    (TX - 2 * HALO_X)
#define INNER_Y    (TY - 2 * T)
#define EACH(r, n) _Pragma("unroll") for (int r = 0; r < (n); r++)

// Number (c, r) of a patch's border in local memory, from that of the patch on.
#define AT(c, r) \
    (LX * ((r) == 0 ? (c) : (r) == R - 1 ? BORDER - C + (c) : C + 2 * (r) - 2 + ((c) > 0)))
#define PUT(at, c, r, number) \
    if (r == 0 || r == R - 1 || c == 0 || c == C - 1) (at)[AT(c, r)] = number
// from_left, from_right: a row moved by one column, with the number that enters it.
#if C == 2
#define LANES (0, 1)
#define PUT_ROW(at, r, v) \
    PUT(at, 0, r, v.s0);  \
    PUT(at, 1, r, v.s1)
#define GET_ROW(at, r) (ROW)((at)[AT(0, r)], (at)[AT(1, r)])
ROW from_left(REAL number, ROW v) { return (ROW)(number, v.s0); }
ROW from_right(ROW v, REAL number) { return (ROW)(v.s1, number); }
#else
#define LANES (0, 1, 2, 3)
#define PUT_ROW(at, r, v) \
    PUT(at, 0, r, v.s0);  \
    PUT(at, 1, r, v.s1);  \
    PUT(at, 2, r, v.s2);  \
    PUT(at, 3, r, v.s3)
#define GET_ROW(at, r) (ROW)((at)[AT(0, r)], (at)[AT(1, r)], (at)[AT(2, r)], (at)[AT(3, r)])
ROW from_left(REAL number, ROW v) { return (ROW)(number, v.s0, v.s1, v.s2); }
ROW from_right(ROW v, REAL number) { return (ROW)(v.s1, v.s2, v.s3, number); }
#endif
#define MASK_float  int
#define MASK_double long
#define MASK        KRY_JOIN(KRY_JOIN(MASK_, REAL), C)

// mean.clh's, for rows of a patch
ROW sixth_of_row(ROW v) { KRY_JOIN(SIXTH_, REAL)(ROW) }

kernel __attribute__((reqd_work_group_size(LX *TY / R, 1, 1))) void
akhtar_block(BOX, int depth, int depth_y, global const REAL *restrict w,
              global REAL *restrict next)
{
    local REAL slice[T * SLICE]; // one for each sweep
    int tiles_x = (nx + INNER_X - 1) / INNER_X, tiles_y = (ny + INNER_Y - 1) / INNER_Y;
    int tiles = tiles_x * tiles_y * ((nz + depth - 1) / depth);
    int lane = (int)get_local_id(0) % LX, patch = (int)get_local_id(0) / LX;
    int mine = lane + PATCH_ROW * patch;
    // What the edge of the tile reads beyond it comes to nothing: stay inside the slice.
    int low = patch > 0 ? -PATCH_ROW : 0, high = patch < TY / R - 1 ? PATCH_ROW : 0;
    long slab = (long)pitch * (ny + 2);

    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        int i0 = tile % tiles_x * INNER_X - HALO_X, i = i0 + C * lane;
        int j0 = tile / tiles_x % tiles_y * INNER_Y - T, j = j0 + R * patch;
        int k0 = tile / tiles_x / tiles_y * depth, k1 = min(k0 + depth, nz);
        bool sides = i0 < 0 || i0 + TX > nx || j0 < 0 || j0 + TY > ny; // in the tile
        bool column = i < nx && C * lane >= HALO_X && C * lane < TX - HALO_X;
        int column_at[R]; // of a slice
        // here: newest slice of sweep s; part: its mean so far, all but the slice above
        ROW here[T][R], part[T][R], v[R], ahead[R];
        EACH(r, R)
        {
            column_at[r] = clamp(i, -C, nx / C * C) + pitch * clamp(j + r, -1, ny);
            ahead[r] = *(global const ROW *)(w + first + slab * clamp(k0 - T, -1, nz) + column_at[r]);
            EACH(s, T) here[s][r] = part[s][r] = 0;
        }
        for (int k = k0 - T; k < k1 + T; k++) {
            local REAL *to = slice + mine;
            global const REAL *from = w + first + slab * clamp(k + 1, -1, nz);
            global REAL *out = next + first + slab * (k - T);
            barrier(CLK_LOCAL_MEM_FENCE);
            EACH(r, R)
            {
                v[r] = ahead[r]; // sweep 0, slice k
                ahead[r] = *(global const ROW *)(from + column_at[r]);
            }
            // v: sweep s, slice k - s; from here on that of sweep s + 1, slice k - s - 1
            if (!sides && k >= T && k <= nz) { // the whole group: every point moves
                EACH(s, T) EACH(r, R)
                {
                    ROW mean = sixth_of_row(part[s][r] + v[r]);
                    part[s][r] = here[s][r];
                    here[s][r] = v[r];
                    v[r] = mean;
                }
            } else {
                MASK inside = (MASK)LANES >= (MASK)(-i) && (MASK)LANES < (MASK)(nx - i);
                EACH(s, T)
                {
                    bool between = k - s - 1 >= 0 && k - s - 1 < nz;
                    EACH(r, R)
                    {
                        MASK moves = between && (uint)(j + r) < (uint)ny ? inside : (MASK)(0);
                        ROW mean = sixth_of_row(part[s][r] + v[r]);
                        part[s][r] = here[s][r];
                        here[s][r] = v[r];
                        v[r] = select(part[s][r], mean, moves);
                    }
                }
            }
            EACH(s, T) EACH(r, R) { PUT_ROW(to + s * SLICE, r, here[s][r]); }
            if (column && k - T >= k0 && k - T < k1) EACH(r, R)
            {
                int row = R * patch + r;
                if (row >= T && row < TY - T && j + r < ny) *(global ROW *)(out + column_at[r]) = v[r];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            EACH(s, T)
            {
                local const REAL *at = to + s * SLICE;
                ROW below = GET_ROW(at + low, R - 1), above = GET_ROW(at + high, 0);
                EACH(r, R)
                {
                    ROW v = here[s][r];
                    ROW xm = from_left(at[AT(C - 1, r) - 1], v), xp = from_right(v, at[AT(0, r) + 1]);
                    ROW ym = r > 0 ? here[s][r > 0 ? r - 1 : 0] : below;
                    ROW yp = r < R - 1 ? here[s][r < R - 1 ? r + 1 : 0] : above;
                    part[s][r] = ((xm + xp) + (ym + yp)) + part[s][r];
                }
            }
        }
    }
}

#else

// A row from the rows around it, `here` at its first point.
void sweep_row(int nx, int pitch, global const REAL *below, global const REAL *here,
               global const REAL *above, global REAL *next)
{
    int i = 0;
    for (; i + VW <= nx; i += VW)
        vstore8(MEANS(vload8(0, here + i - 1), vload8(0, here + i + 1), vload8(0, here + i - pitch),
                     vload8(0, here + i + pitch), vload8(0, below + i), vload8(0, above + i)),
                0, next + i);
    for (; i < nx; i++)
        next[i] = MEAN(here[i - 1], here[i + 1], here[i - pitch], here[i + pitch], below[i],
                       above[i]);
}

// A row of a side, with its ends.
void copy_row(int nx, global const REAL *from, global REAL *to)
{
    for (int i = -1; i <= nx; i++) to[i] = from[i];
}

// Row j of slice k after sweep s: in w, in the ring, or in next.
#define ROW_OF_W(j, k) (first + (long)pitch * (j) + slab * (k))
#define ROW_OF_RING(s, j, k) \
    (PAD + (long)pitch * ((j) - j0 + T + (depth_y + 2 * T) * (3 * ((s) - 1) + ((k) + 3) % 3)))
#define ROW(s, j, k) \
    ((s) == 0 ? w + ROW_OF_W(j, k) : (global const REAL *)ring + ROW_OF_RING(s, j, k))

kernel void akhtar_block(BOX, int depth, int depth_y, global const REAL *restrict w,
                          global REAL *restrict next, global REAL *ring, long ring_size)
{
    int tiles_y = (ny + depth_y - 1) / depth_y, tiles = tiles_y * ((nz + depth - 1) / depth);
    long slab = (long)pitch * (ny + 2);
    ring += ring_size * get_group_id(0);
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        int j0 = tile % tiles_y * depth_y, j1 = min(j0 + depth_y, ny);
        int k0 = tile / tiles_y * depth, k1 = min(k0 + depth, nz);
        for (int step = k0 - T + 2; step < k1 + T; step++) {
            for (int s = 1; s <= T; s++) {
                int k = step - s, more = T - s;
                if (k < max(k0 - more, -1) || k > min(k1 - 1 + more, nz)) continue;
                if (s == T && (k < 0 || k >= nz)) continue;
                for (int j = max(j0 - more, -1); j <= min(j1 - 1 + more, ny); j++) {
                    global REAL *to = s == T ? next + ROW_OF_W(j, k) : ring + ROW_OF_RING(s, j, k);
                    if (k < 0 || k >= nz || j < 0 || j >= ny) {
                        if (s < T) copy_row(nx, w + ROW_OF_W(j, k), to);
                        continue;
                    }
                    global const REAL *here = ROW(s - 1, j, k);
                    sweep_row(nx, pitch, ROW(s - 1, j, k - 1), here, ROW(s - 1, j, k + 1), to);
                    if (s < T) to[-1] = here[-1], to[nx] = here[nx];
                }
            }
        }
    }
}

#endif
