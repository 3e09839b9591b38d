// null_space.cl - what lies along vectors that A maps to zero, taken out.
// Host: src/operator/null_space.c.  Launch: kryi_groups_for_sums(n) groups of WG, null_space_dot
// kryi_chunks_of(v).groups; KRY_UNALIGNED, for vectors start anywhere. u is a vector of norm 1; NULL: all its numbers are 1.

#include "common/kry.clh"

#if VW == 1
#define TO_VEC (REAL)
#else
#define TO_VEC KRY_JOIN(convert_, VEC)
#endif

// part[group] := sum of u_i v_i
kernel void null_space_dot(long n ROWS_PARAMS, global const REAL *v, long v0, global const REAL *u,
                           long u0, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTALV s = NO_TOTALV;
    TOTAL t = NO_TOTAL;
    TAKE_ROWS(first)
    v += v0 + first;
    if (u) {
        u += u0 + first;
        FOR_VEC_SUMMED(i, n) ADD_PRODUCTV(s, load_vector(u, i), load_vector(v, i));
        FOR_TAIL_SUMMED(i, n) ADD_PRODUCT(t, u[i], v[i]);
    } else {
        FOR_VEC_SUMMED(i, n) ADDV(s, load_vector(v, i));
        FOR_TAIL_SUMMED(i, n) ADD(t, v[i]);
    }
    TOTAL sum = group_sum(ALL_LANES(s, t), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// v -= (u'v) u, or v -= mean of v, with the sums that the dot left; all: numbers of the whole v, of
// which n are here
kernel void null_space_subtract(long n, long all, global const TOTAL *restrict part, int count,
                                global const REAL *u, long u0, global REAL *v, long v0)
{
    local TOTAL lane[WG];
    ACC c = VALUE_OF(finish_sum(part, count, lane));
    v += v0;
    if (u) {
        u += u0;
        FOR_VEC(i, n) store_vector(TO_VEC(TO_ACCV(load_vector(v, i)) - c * TO_ACCV(load_vector(u, i))), i, v);
        FOR_TAIL(i, n) v[i] = (REAL)((ACC)v[i] - c * (ACC)u[i]);
    } else {
        c /= (ACC)all;
        FOR_VEC(i, n) store_vector(TO_VEC(TO_ACCV(load_vector(v, i)) - c), i, v);
        FOR_TAIL(i, n) v[i] = (REAL)((ACC)v[i] - c);
    }
}
