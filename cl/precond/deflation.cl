// deflation.cl - between n unknowns and the k sub-domains they are labelled with: Z'v, Z c.
// Host: src/precond/subspace.c.  Vectors start anywhere, but for r and z of the correction, which
// start where whole vectors may.
//
// LABEL   type of a label: ushort or int
// MODES   with modes: how many. Column j of them begins at mode + j * ld; number s * MODES + j of w and c
//         belongs to mode j on sub-domain s. Not defined: one mode, of ones, which is not stored
// TILE    GPU: work-items that sum a segment together, a power of two, at most WG

#include "common/kry.clh"

// ---- w := Z'v ----

#define PIECE 8 // unknowns, at most

#ifdef MODES
#define SEGMENT_OF(q) ((q) / MODES)
#define MODE_OF(q) (mode + (q) % MODES * ld)
#else
#define MODES 1
#define ONES // the only mode
#define SEGMENT_OF(q) (q)
#define MODE_OF(q) mode
#endif

// The sum of a segment's share: pieces first + t, first + t + step, ... before last
TOTAL sum_pieces(int first, int last, int step, global const int *restrict piece_start,
                 global const uchar *restrict piece_length, global const REAL *restrict mode,
                 global const REAL *restrict v)
{
    TOTAL s = NO_TOTAL;
    for (int p = first; p < last; p += step) {
        global const REAL *at = v + piece_start[p];
        const int length = piece_length[p];
#ifndef ONES
        for (int j = 0; j < length; j++) ADD_PRODUCT(s, at[j], mode[piece_start[p] + j]);
#else
#ifdef KRY_FP64
        if (length == PIECE) {
            s += (((ACC)at[0] + (ACC)at[1]) + ((ACC)at[2] + (ACC)at[3])) +
                 (((ACC)at[4] + (ACC)at[5]) + ((ACC)at[6] + (ACC)at[7]));
            continue;
        }
#endif
        for (int j = 0; j < length; j++) ADD(s, at[j]);
#endif
    }
    return s;
}

INLINED void put_number(long s, REAL number, global REAL *w, global REAL *kept)
{
    w[s] = number;
    if (COLUMN_HERE == 0) kept[s] = number;
}

#ifdef SEGMENTS
#define PUT_SUM(s, sum) part[s] = (sum)
#else
#define PUT_SUM(s, sum) put_number(s, (REAL)VALUE_OF(sum), w + w0, kept)
#endif

// Sums of segments, by each mode: `sums` of them. Each label is one, and its sum goes to w and to `kept`; or with SEGMENTS labels
// have many, whose sums go to `part` for deflation_finish. Launch: for each column; `kept` is that of the first.
kernel void deflation_restrict(int sums, global const int *restrict segment,
                               global const int *restrict piece_start,
                               global const uchar *restrict piece_length,
                               global const REAL *restrict mode, long ld, global const REAL *restrict v,
                               long v0, long v_pitch, global REAL *restrict w, long w0, long w_pitch,
                               global REAL *restrict kept, global TOTAL *restrict part)
{
    v0 += COLUMN_HERE * v_pitch, w0 += COLUMN_HERE * w_pitch, part += (long)COLUMN_HERE * sums;
#ifdef KRY_CPU
    FOR_EACH(q, sums)
    PUT_SUM(q, sum_pieces(segment[SEGMENT_OF(q)], segment[SEGMENT_OF(q) + 1], 1, piece_start,
                          piece_length, MODE_OF(q), v + v0));
#else
    local TOTAL lane[WG];
    const int l = get_local_id(0), t = l % TILE, per_group = WG / TILE;
    for (int first = get_group_id(0) * per_group; first < sums;
         first += (int)get_num_groups(0) * per_group) {
        const int q = first + l / TILE, s = SEGMENT_OF(q);
        TOTAL share = NO_TOTAL;
        if (q < sums)
            share = sum_pieces(segment[s] + t, segment[s + 1], TILE, piece_start, piece_length,
                               MODE_OF(q), v + v0);
        lane[l] = share;
        for (int step = TILE / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (t < step) ADD_TOTAL(lane[l], lane[l + step]);
        }
        if (t == 0 && q < sums) PUT_SUM(q, lane[l]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

kernel void deflation_finish(long k, global const int *restrict label_segment, int sums,
                             global const TOTAL *restrict part, global REAL *restrict w, long w0,
                             long w_pitch, global REAL *restrict kept)
{
    part += (long)COLUMN_HERE * sums, w += w0 + COLUMN_HERE * w_pitch;
    FOR_EACH(i, k)
    {
        TOTAL sum = NO_TOTAL;
        const int label = SEGMENT_OF(i), j = i % MODES;
        for (int s = label_segment[label]; s < label_segment[label + 1]; s++)
            ADD_TOTAL(sum, part[s * MODES + j]);
        put_number(i, (REAL)VALUE_OF(sum), w, kept);
    }
}

// ---- Z c ----

// (Z c)_i
#ifdef ONES
#define AT(i) c[label[i]]
#else
#define AT(i) combine(c + label[i] * MODES, mode + (i), ld)
REAL combine(global const REAL *restrict c, global const REAL *restrict mode, long ld)
{
    REAL sum = 0;
    for (int j = 0; j < MODES; j++) sum += c[j] * mode[j * ld];
    return sum;
}
#endif

// y := alpha Z c + beta y; with beta == 0, y is not read. Launch: for each column.
kernel void deflation_prolong(long n, global const LABEL *restrict label,
                              global const REAL *restrict mode, long ld, ACC alpha,
                              global const REAL *restrict c, long c0, long c_pitch, ACC beta,
                              global REAL *restrict y, long y0, long y_pitch)
{
    const REAL by = (REAL)alpha, old = (REAL)beta;
    c += c0 + COLUMN_HERE * c_pitch, y += y0 + COLUMN_HERE * y_pitch;
    FOR_EACH(i, n) y[i] = old == 0 ? by * AT(i) : by * AT(i) + old * y[i];
}

#if VW == 1
#define GATHER(c, l) (c)[(l)[0]]
#elif VW == 2
#define GATHER(c, l) (VEC)((c)[(l)[0]], (c)[(l)[1]])
#elif VW == 4
#define GATHER(c, l) (VEC)((c)[(l)[0]], (c)[(l)[1]], (c)[(l)[2]], (c)[(l)[3]])
#else
#define GATHER(c, l)                                                                 \
    (VEC)((c)[(l)[0]], (c)[(l)[1]], (c)[(l)[2]], (c)[(l)[3]], (c)[(l)[4]], (c)[(l)[5]], \
          (c)[(l)[6]], (c)[(l)[7]])
#endif

// z += Z c, part[group] := (r.z, r.r)
kernel void deflation_correct(long n, global const LABEL *restrict label,
                              global const REAL *restrict c, long c0, global const REAL *restrict r,
                              long r0, global REAL *restrict z, long z0,
                              global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    TOTALV srz = NO_TOTALV, srr = NO_TOTALV;
    TOTAL trz = NO_TOTAL, trr = NO_TOTAL;
    c += c0, r += r0, z += z0;
#define CORRECT(TYPE, LOAD, STORE, C, V, rz, rr)      \
    {                                                 \
        TYPE z_i = LOAD(z) + C, r_i = LOAD(r);        \
        STORE(z_i, z);                                \
        ADD_PRODUCT##V(rz, r_i, z_i);                 \
        ADD_PRODUCT##V(rr, r_i, r_i);                 \
    }
    FOR_VEC(i, n) CORRECT(VEC, VLOAD, VSTORE, GATHER(c, label + i * VW), V, srz, srr)
    FOR_TAIL(i, n) CORRECT(REAL, SLOAD, SSTORE, c[label[i]], , trz, trr)

    TOTAL2 sum = group_sum2(BOTH(ALL_LANES(srz, trz), ALL_LANES(srr, trr)), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// z += Z c. part holds `count` sums of (r.z, r.r) for the z there was: what Z c adds to r.z is
// c.(Z'r), k products, left behind those by the first `writers` groups.
kernel void deflation_add(long n, global const LABEL *restrict label,
                          global const REAL *restrict mode, long ld, long k,
                          global const REAL *restrict c, long c0, global const REAL *restrict zr,
                          global REAL *restrict z, long z0, int count, int writers,
                          global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    const int g = get_group_id(0);
    c += c0, z += z0;
#ifdef ONES
    FOR_VEC(i, n) STV(LDV(z, i) + GATHER(c, label + i * VW), i, z);
    FOR_TAIL(i, n) z[i] += c[label[i]];
#else
    FOR_EACH(i, n) z[i] += AT(i);
#endif
    if (g >= writers) return;
    TOTAL s = NO_TOTAL, none = NO_TOTAL;
    for (long j = g * k / writers + get_local_id(0); j < (g + 1) * k / writers; j += WG)
        ADD_PRODUCT(s, c[j], zr[j]);
    TOTAL2 sum = group_sum2(BOTH(s, none), lane);
    if (get_local_id(0) == 0) part[count + g] = sum;
}
