// laplace_block.cl - T Jacobi sweeps in one pass through memory: a group marches along z with a
// slice of each sweep at hand, the sweep s one slice behind sweep s - 1.
// Host: src/stencil/laplace_march.c, which has the array: see laplace_march.cl.
//
// A group loads more than it writes: T points on each side in x and y, T slices on each end in z,
// which its neighbours compute as well. A point on a side of the box keeps its value in all sweeps.
//   GPU   TX x TY columns, R along y to a work-item; a slice of each sweep in local memory, BUFFERS
//         times: with two of them one barrier to a slice is enough. What comes along z stays in
//         registers
//   CPU   whole rows, `depth_y` of them; three slices of each sweep in a ring of the group's own
//         that stays in the cache
// laplace.clh is put in front.
//
// After A. Nguyen, N. Satish, J. Chhugani, C. Kim, P. Dubey, 3.5-D blocking optimization for stencil
// computations on modern CPUs and GPUs, SC10 (2010).

#define BOX int nx, int ny, int nz, int pitch, long first

#ifndef KRY_CPU

#define SLICE   (TX * TY)
#define INNER_X (TX - 2 * T)
#define INNER_Y (TY - 2 * T)
#define EACH(r, n) _Pragma("unroll") for (int r = 0; r < (n); r++)

kernel __attribute__((reqd_work_group_size(TX *TY / R, 1, 1))) void
laplace_block(BOX, int depth, int depth_y, global const REAL *restrict w,
              global REAL *restrict next)
{
    local REAL slice[BUFFERS * T * SLICE]; // of sweep s: number s of a buffer
    int tiles_x = (nx + INNER_X - 1) / INNER_X, tiles_y = (ny + INNER_Y - 1) / INNER_Y;
    int tiles = tiles_x * tiles_y * ((nz + depth - 1) / depth), turn = 0;
    int lane = (int)get_local_id(0) % TX, row = (int)get_local_id(0) / TX * R;
    int mine = lane + TX * row; // the first of R columns, in a slice
    // What the edge of the tile reads beyond it comes to nothing: stay inside the slice.
    int left = lane > 0 ? -1 : 0, right = lane < TX - 1 ? 1 : 0;
    int low = row > 0 ? -TX : 0, high = row + R < TY ? R * TX : (R - 1) * TX;
    long slab = (long)pitch * (ny + 2);

    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        int i = tile % tiles_x * INNER_X - T + lane;
        int j = tile / tiles_x % tiles_y * INNER_Y - T + row;
        int k0 = tile / tiles_x / tiles_y * depth, k1 = min(k0 + depth, nz);
        bool column = i >= 0 && i < nx, writes = column && lane >= T && lane < TX - T;
        int column_at[R]; // of a slice
        // here: newest slice of sweep s; part: its mean so far, all but the slice above
        REAL here[T][R], part[T][R], v[R], ahead[R];
        EACH(r, R)
        {
            column_at[r] = clamp(i, -1, nx) + pitch * clamp(j + r, -1, ny);
            ahead[r] = (w + first + slab * clamp(k0 - T, -1, nz))[column_at[r]];
            EACH(s, T) here[s][r] = part[s][r] = 0;
        }
        for (int k = k0 - T; k < k1 + T; k++) {
            local REAL *to = slice + (BUFFERS > 1 ? turn * T * SLICE : 0) + mine;
            global const REAL *from = w + first + slab * clamp(k + 1, -1, nz);
            global REAL *out = next + first + slab * (k - T);
            turn = !turn;
#if BUFFERS == 1
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
            EACH(r, R)
            {
                v[r] = ahead[r]; // sweep 0, slice k
                ahead[r] = from[column_at[r]];
            }
            EACH(s, T)
            {
                // v: sweep s, slice k - s; from here on that of sweep s + 1, slice k - s - 1
                bool between = k - s - 1 >= 0 && k - s - 1 < nz;
                EACH(r, R)
                {
                    REAL mean = sixth(part[s][r] + v[r]);
                    bool moves = between && column && (uint)(j + r) < (uint)ny;
                    to[s * SLICE + r * TX] = v[r];
                    part[s][r] = here[s][r];
                    here[s][r] = v[r];
                    v[r] = moves ? mean : part[s][r];
                }
            }
            EACH(r, R)
            if (writes && k - T >= k0 && row + r >= T && row + r < TY - T && j + r < ny)
                out[column_at[r]] = v[r];
            barrier(CLK_LOCAL_MEM_FENCE);
            EACH(s, T)
            {
                local const REAL *at = to + s * SLICE;
                REAL below = at[low], above = at[high];
                EACH(r, R)
                {
                    REAL ym = r > 0 ? here[s][r > 0 ? r - 1 : 0] : below;
                    REAL yp = r < R - 1 ? here[s][r < R - 1 ? r + 1 : 0] : above;
                    part[s][r] = ((at[r * TX + left] + at[r * TX + right]) + (ym + yp)) + part[s][r];
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

kernel void laplace_block(BOX, int depth, int depth_y, global const REAL *restrict w,
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
