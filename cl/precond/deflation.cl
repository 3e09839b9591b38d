// deflation.cl - between n unknowns and the k sub-domains they are labelled with: Z'v, Z c.
// Host: src/precond/subspace.c.  Vectors start anywhere, but for r and z of the correction, which
// start where whole vectors may.
//
// LABEL   type of a label: ushort or int
//
// mode: `modes` vectors, of which column j begins at mode + j * ld; number s * modes + j of w and c belongs to mode j on
// sub-domain s. NULL: one mode, of ones, which is not stored.

#include "common/kry.clh"
#include "common/piece.clh"

// ---- w := Z'v ----

#define PIECE 8 // unknowns, at most

// The sum of a segment's share: pieces first + t, first + t + step, ... before last
TOTAL sum_pieces(int first, int last, int step, global const int *restrict piece_start,
                 global const uchar *restrict piece_length, global const REAL *restrict mode,
                 global const REAL *restrict v)
{
    TOTAL s = NO_TOTAL;
    for (int p = first; p < last; p += step) {
        global const REAL *at = v + piece_start[p];
        const int length = piece_length[p];
        if (mode) {
            for (int j = 0; j < length; j++) ADD_PRODUCT(s, at[j], mode[piece_start[p] + j]);
            continue;
        }
#ifdef KRY_FP64
        if (length == PIECE) {
            s += (((ACC)at[0] + (ACC)at[1]) + ((ACC)at[2] + (ACC)at[3])) +
                 (((ACC)at[4] + (ACC)at[5]) + ((ACC)at[6] + (ACC)at[7]));
            continue;
        }
#endif
        for (int j = 0; j < length; j++) ADD(s, at[j]);
    }
    return s;
}

INLINED void put_number(long s, REAL number, global REAL *w, global REAL *kept)
{
    w[s] = number;
    if (COLUMN_HERE == 0) kept[s] = number;
}

// Sums of segments, by each mode: `sums` of them. Each label is one, and its sum goes to w and to `kept`; or labels have many,
// whose sums go to `part` for deflation_finish, which is NULL otherwise. tile: GPUs: work-items that sum a segment together, a
// power of two, at most WG. Launch: for each column; `kept` is that of the first.
kernel void deflation_restrict(int sums, int tile, int modes, global const int *restrict segment,
                               global const int *restrict piece_start,
                               global const uchar *restrict piece_length,
                               global const REAL *restrict mode, long ld, global const REAL *restrict v,
                               long v0, long v_pitch, global REAL *restrict w, long w0, long w_pitch,
                               global REAL *restrict kept, global TOTAL *restrict part)
{
    v += v0 + COLUMN_HERE * v_pitch, w += w0 + COLUMN_HERE * w_pitch;
    if (part) part += (long)COLUMN_HERE * sums;
#ifdef KRY_CPU
    FOR_EACH(q, sums)
    {
        const int s = (int)q / modes;
        const TOTAL sum = sum_pieces(segment[s], segment[s + 1], 1, piece_start, piece_length,
                                     mode ? mode + q % modes * ld : mode, v);
        if (part)
            part[q] = sum;
        else
            put_number(q, (REAL)VALUE_OF(sum), w, kept);
    }
#else
    local TOTAL lane[WG];
    const int l = get_local_id(0), t = l % tile, per_group = WG / tile;
    for (int first = get_group_id(0) * per_group; first < sums;
         first += (int)get_num_groups(0) * per_group) {
        const int q = first + l / tile, s = q / modes;
        TOTAL share = NO_TOTAL;
        if (q < sums)
            share = sum_pieces(segment[s] + t, segment[s + 1], tile, piece_start, piece_length,
                               mode ? mode + q % modes * ld : mode, v);
        lane[l] = share;
        for (int step = tile / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (t < step) ADD_TOTAL(lane[l], lane[l + step]);
        }
        if (t == 0 && q < sums) {
            if (part)
                part[q] = lane[l];
            else
                put_number(q, (REAL)VALUE_OF(lane[l]), w, kept);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

kernel void deflation_finish(long k, int modes, global const int *restrict label_segment, int sums,
                             global const TOTAL *restrict part, global REAL *restrict w, long w0,
                             long w_pitch, global REAL *restrict kept)
{
    part += (long)COLUMN_HERE * sums, w += w0 + COLUMN_HERE * w_pitch;
    FOR_EACH(i, k)
    {
        TOTAL sum = NO_TOTAL;
        const int label = (int)i / modes, j = (int)i % modes;
        for (int s = label_segment[label]; s < label_segment[label + 1]; s++)
            ADD_TOTAL(sum, part[s * modes + j]);
        put_number(i, (REAL)VALUE_OF(sum), w, kept);
    }
}

// ---- Z c ----

// (Z c)_i
INLINED REAL number_at(long i, global const LABEL *label, int modes, global const REAL *mode, long ld, global const REAL *c)
{
    if (!mode) return c[label[i]];
    REAL sum = 0;
    for (int j = 0; j < modes; j++) sum += c[label[i] * modes + j] * mode[i + j * ld];
    return sum;
}

// y := alpha Z c + beta y; with beta == 0, y is not read. Launch: for each column.
kernel void deflation_prolong(long n, global const LABEL *restrict label, int modes,
                              global const REAL *restrict mode, long ld, ACC alpha,
                              global const REAL *restrict c, long c0, long c_pitch, ACC beta,
                              global REAL *restrict y, long y0, long y_pitch)
{
    const REAL by = (REAL)alpha, old = (REAL)beta;
    c += c0 + COLUMN_HERE * c_pitch, y += y0 + COLUMN_HERE * y_pitch;
    FOR_EACH(i, n)
    {
        const REAL number = number_at(i, label, modes, mode, ld, c);
        y[i] = old == 0 ? by * number : by * number + old * y[i];
    }
}

// The numbers of c that the labels of piece i name.
INLINED VEC gather(global const REAL *c, global const LABEL *label, long i, const int whole)
{
    if (!whole) return (VEC)(c[label[i]]);
    VEC v;
    REAL *number = (REAL *)&v;
    UNROLLED for (int l = 0; l < VW; l++) number[l] = c[label[i * VW + l]];
    return v;
}

// Piece i of deflation_correct
INLINED void correct(long i, const int whole, global const LABEL *label, global const REAL *c, global const REAL *r,
                     global REAL *z, piece_sum *rz, piece_sum *rr)
{
    const VEC z_i = load_piece(z, i, whole) + gather(c, label, i, whole), r_i = load_piece(r, i, whole);
    store_piece(z_i, z, i, whole);
    add_product(rz, r_i, z_i, whole);
    add_product(rr, r_i, r_i, whole);
}

// z += Z c, part[group] := (r.z, r.r)
kernel void deflation_correct(long n, global const LABEL *restrict label,
                              global const REAL *restrict c, long c0, global const REAL *restrict r,
                              long r0, global REAL *restrict z, long z0,
                              global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    piece_sum rz, rr;
    begin_sum(&rz), begin_sum(&rr);
    c += c0, r += r0, z += z0;
    FOR_VEC(i, n) correct(i, 1, label, c, r, z, &rz, &rr);
    FOR_TAIL(i, n) correct(i, 0, label, c, r, z, &rz, &rr);

    TOTAL2 sum = group_sum2(BOTH(whole_sum(&rz), whole_sum(&rr)), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// z += Z c. part holds `count` sums of (r.z, r.r) for the z there was: what Z c adds to r.z is
// c.(Z'r), k products, left behind those by the first `writers` groups.
kernel void deflation_add(long n, global const LABEL *restrict label, int modes,
                          global const REAL *restrict mode, long ld, long k,
                          global const REAL *restrict c, long c0, global const REAL *restrict zr,
                          global REAL *restrict z, long z0, int count, int writers,
                          global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    const int g = get_group_id(0);
    c += c0, z += z0;
    if (mode) {
        FOR_EACH(i, n) z[i] += number_at(i, label, modes, mode, ld, c);
    } else {
        FOR_VEC(i, n) store_piece(load_piece(z, i, 1) + gather(c, label, i, 1), z, i, 1);
        FOR_TAIL(i, n) z[i] += c[label[i]];
    }
    if (g >= writers) return;
    TOTAL s = NO_TOTAL, none = NO_TOTAL;
    for (long j = g * k / writers + get_local_id(0); j < (g + 1) * k / writers; j += WG)
        ADD_PRODUCT(s, c[j], zr[j]);
    TOTAL2 sum = group_sum2(BOTH(s, none), lane);
    if (get_local_id(0) == 0) part[count + g] = sum;
}
