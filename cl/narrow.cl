// narrow.cl - the ends of a cycle of multigrid whose levels are in single, between vectors in double.
// Host: src/multigrid/narrow.c.  REAL is double. Launch: kry_groups_for_sums(n) groups of WG, the same for all three.
//
// part[group]: the largest size of a number in the group's rows; part[number of groups]: what b was divided by, a
// power of two with which its largest number is between a half and one. So nothing overflows, and little underflows.
//
// Words moved, of 8 bytes a row: narrow_largest 1, narrow_enter 1.5, narrow_leave 1.5, with sums 2.5

#ifdef KRY_FP64

#if VW == 1
#define SINGLES        float
#define TO_SINGLES(v)  ((float)(v))
#define TO_NUMBERS(v)  ((REAL)(v))
#else
#define SINGLES        KRY_JOIN(float, VW)
#define TO_SINGLES(v)  KRY_JOIN(convert_, SINGLES)(v)
#define TO_NUMBERS(v)  KRY_JOIN(convert_, VEC)(v)
#endif
#ifdef KRY_CPU
#define LOAD_SINGLES(p)     vload8(i, p)
#define STORE_SINGLES(v, p) vstore8(v, i, p)
#else
#define LOAD_SINGLES(p)     (((global const SINGLES *)(p))[i])
#define STORE_SINGLES(v, p) (((global SINGLES *)(p))[i] = (v))
#endif

#if VW == 1
#define LARGEST(v) (v)
#elif VW == 2
#define LARGEST(v) fmax((v).s0, (v).s1)
#elif VW == 4
#define LARGEST(v) fmax(fmax((v).s0, (v).s1), fmax((v).s2, (v).s3))
#else
#define LARGEST(v)                                                                    \
    fmax(fmax(fmax((v).s0, (v).s1), fmax((v).s2, (v).s3)),                            \
         fmax(fmax((v).s4, (v).s5), fmax((v).s6, (v).s7)))
#endif

REAL group_largest(REAL v, local REAL *lane)
{
#ifndef KRY_CPU
    int l = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    lane[l] = v;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) lane[l] = fmax(lane[l], lane[l + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    v = lane[0];
#endif
    return v;
}

kernel void narrow_largest(long n, global const REAL *restrict b, long b0, global REAL *restrict part)
{
    local REAL lane[WG];
    VEC most = 0;
    REAL tail = 0;
    b += b0;
    FOR_VEC(i, n) most = fmax(most, fabs(VLOAD(b)));
    FOR_TAIL(i, n) tail = fmax(tail, fabs(SLOAD(b)));
    tail = group_largest(fmax(tail, LARGEST(most)), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = tail;
}

// to := b / unit, in single. A b of zeros, and one with a number that is not finite, is taken as it is.
kernel void narrow_enter(long n, global const REAL *restrict b, long b0, global REAL *part,
                         global float *restrict to)
{
    local REAL lane[WG];
    const int groups = get_num_groups(0);
    REAL most = 0, unit = 1;
    b += b0;
    for (int g = get_local_id(0); g < groups; g += WG) most = fmax(most, part[g]);
    most = group_largest(most, lane);
    if (most > 0 && isfinite(most)) unit = ldexp((REAL)1, clamp(ilogb(most) + 1, -1000, 1000));
    const REAL by = 1 / unit;
    FOR_VEC(i, n) STORE_SINGLES(TO_SINGLES(by * VLOAD(b)), to);
    FOR_TAIL(i, n) to[i] = (float)(by * b[i]);
    if (get_global_id(0) == 0) part[groups] = unit;
}

// x := unit from; sums: sum[group] := the pair (b.x, b.b).
kernel void narrow_leave(long n, global const float *restrict from, global const REAL *restrict part,
                         global const REAL *restrict b, long b0, global REAL *restrict x, long x0,
                         int sums, global TOTAL2 *restrict sum)
{
    local TOTAL2 lane[WG];
    const REAL unit = part[get_num_groups(0)];
    TOTALV sbx = NO_TOTALV, sbb = NO_TOTALV;
    TOTAL tbx = NO_TOTAL, tbb = NO_TOTAL;
    b += b0, x += x0;
#define LEAVE_AT(TYPE, GIVEN, LOAD, STORE, V, bx, bb) \
    {                                                 \
        TYPE x_i = unit * (GIVEN), b_i = 0;           \
        STORE(x_i, x);                                \
        if (sums) b_i = LOAD(b);                      \
        ADD_PRODUCT##V(bx, b_i, x_i);                 \
        ADD_PRODUCT##V(bb, b_i, b_i);                 \
    }
    FOR_VEC(i, n) LEAVE_AT(VEC, TO_NUMBERS(LOAD_SINGLES(from)), VLOAD, VSTORE, V, sbx, sbb)
    FOR_TAIL(i, n) LEAVE_AT(REAL, from[i], SLOAD, SSTORE, , tbx, tbb)
    if (!sums) return;
    TOTAL2 total = group_sum2(BOTH(ALL_LANES(sbx, tbx), ALL_LANES(sbb, tbb)), lane);
    if (get_local_id(0) == 0) sum[get_group_id(0)] = total;
}

#endif
