// narrow.cl - vectors of doubles for a preconditioner in single precision, and back.
// Host: src/precond/narrow.c. Launch: kry_groups_for_sums(n) groups of WG. On devices with double
// only; REAL is double, and the vectors in single start at element 0.
//
// What is handed on is r by a power of two, the first of `scale`: 1 as long as the sum of |r_i| stays
// inside a window around 1, so that nothing leaves the range of single. narrow_in takes that of the
// last time and sums |r_i|; narrow_again looks at the sum, and does it once more where it has left
// the window; narrow_out takes what was used, and keeps it for the next time.

#if VW == 1
#define SINGLES    float
#define TO_SINGLES (float)
#else
#define SINGLES    KRY_JOIN(float, VW)
#define TO_SINGLES KRY_JOIN(convert_, SINGLES)
#endif
#ifdef KRY_CPU
#define LOAD_SINGLES(p, i)     vload8(i, p)
#define STORE_SINGLES(v, i, p) vstore8(v, i, p)
#else
#define LOAD_SINGLES(p, i)     (((global const SINGLES *)(p))[i])
#define STORE_SINGLES(v, i, p) (((global SINGLES *)(p))[i] = (v))
#endif

// r32 := scale[0] r, part[group] := sum of |r_i|
kernel void narrow_in(long n, global const REAL *restrict r, long r0,
                      global const double *restrict scale, global float *restrict r32,
                      global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    const REAL by = scale[0];
    TOTALV s = NO_TOTAL;
    TOTAL t = NO_TOTAL;
    r += r0;
    FOR_VEC(i, n)
    {
        VEC r_i = LDV(r, i);
        STORE_SINGLES(TO_SINGLES(by * r_i), i, r32);
        ADDV(s, fabs(r_i));
    }
    FOR_TAIL(i, n)
    {
        r32[i] = (float)(by * r[i]);
        ADD(t, fabs(r[i]));
    }
    TOTAL sum = group_sum(ALL_LANES(s, t), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

enum { WINDOW_LOW = -40, WINDOW_HIGH = 8, MOST = 1000 }; // powers of two

// r32 := scale[1] r, if scale[0] will not do
kernel void narrow_again(long n, global const REAL *restrict r, long r0,
                         global const TOTAL *restrict part, int count, global double *restrict scale,
                         global float *restrict r32)
{
    local TOTAL lane[WG];
    ACC sum = VALUE_OF(finish_sum(part, count, lane));
    REAL by = scale[0];
    int again = 0;
    r += r0;
    if (isfinite(sum) && sum > 0) {
        int size = ilogb(sum), scaled = size + ilogb(by);
        again = scaled < WINDOW_LOW || scaled > WINDOW_HIGH;
        if (again) by = ldexp((REAL)1, clamp(-size, -MOST, MOST));
    }
    if (get_global_id(0) == 0) scale[1] = by;
    if (!again) return;
    FOR_VEC(i, n) STORE_SINGLES(TO_SINGLES(by * LDV(r, i)), i, r32);
    FOR_TAIL(i, n) r32[i] = (float)(by * r[i]);
}

// z := alpha z32 / scale[1] + beta z; with beta == 0, z is not read. With `sums`, part[group] := the
// pair (r.z, r.r), of alpha 1 and beta 0.
//   DIAGONAL   z32 is d .* r, the product in double, and there is no scale
kernel void narrow_out(long n, ACC alpha, global const float *restrict z32, ACC beta,
                       global REAL *restrict z, long z0, global const REAL *restrict r, long r0,
                       global double *restrict scale, int sums, global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    TOTALV srz = NO_TOTAL, srr = NO_TOTAL;
    TOTAL trz = NO_TOTAL, trr = NO_TOTAL;
    z += z0, r += r0;
#ifdef DIAGONAL
#define OUT(z_32, r_i) (by * ((z_32) * (r_i)))
    const REAL by = alpha, old = beta;
    const int reads = 1;
#else
#define OUT(z_32, r_i) (by * (z_32))
    const REAL used = scale[1], by = alpha / used, old = beta;
    const int reads = sums;
    if (get_global_id(0) == 0) scale[0] = used;
#endif
#if VW == 1
#define TO_VECTOR (REAL)
#else
#define TO_VECTOR KRY_JOIN(convert_, VEC)
#endif
#define OUT_AT(TYPE, LOAD, STORE, V, z_32, rz, rr)  \
    {                                               \
        TYPE r_i = 0, z_i;                          \
        if (reads) r_i = LOAD(r);                   \
        z_i = OUT(z_32, r_i);                       \
        if (old != 0) z_i += old * LOAD(z);         \
        STORE(z_i, z);                              \
        ADD_PRODUCT##V(rz, r_i, z_i);               \
        ADD_PRODUCT##V(rr, r_i, r_i);               \
    }
    FOR_VEC(i, n) OUT_AT(VEC, VLOAD, VSTORE, V, TO_VECTOR(LOAD_SINGLES(z32, i)), srz, srr)
    FOR_TAIL(i, n) OUT_AT(REAL, SLOAD, SSTORE, , (REAL)z32[i], trz, trr)

    TOTAL2 sum = group_sum2(BOTH(ALL_LANES(srz, trz), ALL_LANES(srr, trr)), lane);
    if (get_local_id(0) == 0 && sums) ((global TOTAL2 *)part)[get_group_id(0)] = sum;
}
