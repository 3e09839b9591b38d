// dense.cl - filling, transposing and summing up dense matrices.
// Host: src/dense/dense.c.  Launch: groups of WG, or of side x side to transpose.
// An m-by-n matrix is a buffer, the element it starts at, and the distance of its columns.

#include "common/kry.clh"

kernel void dense_fill(long m, long n, ACC value, global REAL *A, long a0, long ld)
{
    A += a0;
    FOR_EACH(e, m * n) A[e / m * ld + e % m] = (REAL)value;
}

// d[i] := a(i, i)
kernel void dense_diagonal(long n, global const REAL *restrict A, long a0, long ld, global REAL *d,
                           long d0)
{
    FOR_EACH(i, n) d[d0 + i] = A[a0 + i * ld + i];
}

// sum[j] := sum of |a(i, j)| over the rows, a group for each column
kernel void dense_column_sums(long m, long n, global const REAL *restrict A, long a0, long ld,
                              global ACC *restrict sum)
{
    local TOTAL lane[WG];
    long j = get_group_id(0);
    do { // the host makes no more groups than there are columns
        TOTAL t = NO_TOTAL;
        for (long i = get_local_id(0); i < m; i += WG) ADD(t, fabs(A[a0 + j * ld + i]));
        t = group_sum(t, lane);
        if (get_local_id(0) == 0) sum[j] = VALUE_OF(t);
        j += get_num_groups(0);
    } while (j < n);
}

// sum[i] := sum of |a(i, j)| over the columns
kernel void dense_row_sums(long m, long n, global const REAL *restrict A, long a0, long ld,
                           global ACC *restrict sum)
{
    FOR_EACH(i, m)
    {
        TOTAL t = NO_TOTAL;
        for (long j = 0; j < n; j++) ADD(t, fabs(A[a0 + j * ld + i]));
        sum[i] = VALUE_OF(t);
    }
}

// T := A', a square of `side` rows and columns at a time, at most MOST; rows of both pass through local memory.
#define MOST 16
kernel void dense_transpose(long m, long n, int side, global const REAL *restrict A, long a0, long lda,
                            global REAL *restrict T, long t0, long ldt)
{
    const long down = (m + side - 1) / side, across = (n + side - 1) / side;
#ifdef KRY_CPU
    FOR_EACH(e, down * across)
    {
        const long i0 = e % down * side, j0 = e / down * side;
        for (long i = i0; i < min(i0 + side, m); i++)
            for (long j = j0; j < min(j0 + side, n); j++) T[t0 + i * ldt + j] = A[a0 + j * lda + i];
    }
#else
    local REAL square[MOST * (MOST + 1)];
    const int x = get_local_id(0) % side, y = get_local_id(0) / side;
    long e = get_group_id(0);
    do {
        const long i0 = e % down * side, j0 = e / down * side;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i0 + x < m && j0 + y < n) square[y * (MOST + 1) + x] = A[a0 + (j0 + y) * lda + i0 + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i0 + y < m && j0 + x < n) T[t0 + (i0 + y) * ldt + j0 + x] = square[x * (MOST + 1) + y];
        e += get_num_groups(0);
    } while (e < down * across);
#endif
}
