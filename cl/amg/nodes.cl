// nodes.cl - nodes of several unknowns: the norms of their blocks, which entries of a matrix are of strong
// couplings between nodes, and a tentative prolongation by a QR factorisation of each aggregate.
// Host: src/amg/smoothed.c.
//
// Matrices are in compressed rows with ascending columns, entries are found as in rows.clh; REAL is double.
// The unknowns of a node are `block` consecutive ones. Rows, nodes and aggregates have one work-item each.

#include "common/kry.clh"
#include "common/rows.clh"

#pragma OPENCL FP_CONTRACT OFF

// ---- the matrix of nodes ----

// Row i has one entry, in column i / divisor.
kernel void nodes_collapse(int rows, int divisor, global int *restrict ptr, global int *restrict col)
{
    FOR_EACH(i, rows) ptr[i] = (int)i, col[i] = (int)i / divisor;
    if (get_global_id(0) == 0) ptr[rows] = rows;
}

// Row i of `rows` has `block` entries, its own unknowns.
kernel void nodes_expand(int rows, int block, global int *restrict ptr, global int *restrict col)
{
    FOR_EACH(i, rows)
    {
        ptr[i] = (int)i * block;
        for (int k = 0; k < block; k++) col[i * block + k] = (int)i * block + k;
    }
    if (get_global_id(0) == 0) ptr[rows] = rows * block;
}

// The squared Frobenius norms of blocks. Words: A's entries.
kernel void nodes_norms(int nodes, int block, global const int *restrict a_ptr,
                        global const int *restrict a_col, global const REAL *restrict a_val,
                        global const int *restrict ptr, global const int *restrict col,
                        global REAL *restrict val)
{
    FOR_EACH(i, nodes)
    {
        for (int e = ptr[i]; e < ptr[i + 1]; e++) val[e] = 0;
        for (int row = (int)i * block; row < (i + 1) * block; row++)
            for (int e = a_ptr[row], at = ptr[i]; e < a_ptr[row + 1]; e++) {
                while (col[at] < a_col[e] / block) at++;
                val[at] += a_val[e] * a_val[e];
            }
    }
}

// ---- entries of A between nodes that the graph g couples ----

kernel void nodes_lengths(int rows, int block, global const int *restrict ptr,
                          global const int *restrict col, global const int *restrict g_ptr,
                          global const int *restrict g_col, global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        int count = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            count += entry_of(g_ptr, g_col, (int)i / block, col[e] / block) >= 0;
        length[i] = count;
    }
}

kernel void nodes_columns(int rows, int block, global const int *restrict ptr,
                          global const int *restrict col, global const int *restrict g_ptr,
                          global const int *restrict g_col, global const int *restrict f_ptr,
                          global int *restrict f_col, global int *restrict place)
{
    FOR_EACH(i, rows)
    {
        int at = f_ptr[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            if (entry_of(g_ptr, g_col, (int)i / block, col[e] / block) >= 0)
                f_col[at] = col[e], place[at++] = e;
    }
}

// ---- aggregates: node[first[a]] ... node[first[a + 1] - 1] are those of aggregate a ----

// Row k of the aggregate's rows.
#define ROW(k) ((long)node[first[a] + (k) / block] * block + (k) % block)
#define Q(k, j) q[ROW(k) * m + (j)]

// Q := an orthonormal basis of the rows of B, R: m-by-m, row by row. What is left of a column that depends on
// those before it, and noise, becomes zero. Gram and Schmidt, twice.
void factor(int a, int block, int m, int rows, global const int *node, global const int *first,
            global REAL *q, global REAL *R)
{
    const REAL noise = (REAL)1e-13; // of a column of norm 1: what rounding makes of a zero
    for (int j = 0; j < m; j++) {
        REAL before = 0, norm = 0;
        for (int k = 0; k < rows; k++) before += Q(k, j) * Q(k, j);
        for (int turn = 0; turn < 2 * j; turn++) {
            const int c = turn % j;
            REAL share = 0;
            for (int k = 0; k < rows; k++) share += Q(k, c) * Q(k, j);
            for (int k = 0; k < rows; k++) Q(k, j) -= share * Q(k, c);
            R[c * m + j] += share;
        }
        for (int k = 0; k < rows; k++) norm += Q(k, j) * Q(k, j);
        norm = sqrt(norm);
        const bool depends = !(norm > (REAL)1e-8 * sqrt(before));
        if (!depends) R[j * m + j] = norm;
        for (int k = 0; k < rows; k++) {
            REAL v = Q(k, j);
            Q(k, j) = depends || fabs(v) <= noise * norm ? 0 : v / norm;
        }
    }
}

// Bit j: column j of Q is zero.
uint empty_columns(int a, int block, int m, int rows, global const int *node,
                   global const int *first, global const REAL *q)
{
    uint empty = 0;
    for (int j = 0; j < m; j++) {
        int k = 0;
        while (k < rows && Q(k, j) == 0) k++;
        empty |= (uint)(k == rows) << j;
    }
    return empty;
}

// An entry for each number that is not zero; of a zero column a zero in the first row. whole: an entry for each number.
#define IN_T(k, j) (whole || Q(k, j) != 0 || (k == 0 && (empty >> j & 1)))

kernel void tentative_none(int rows, global int *restrict length)
{
    FOR_EACH(i, rows) length[i] = 0;
}

// q: B, which becomes Q; a single vector stays as it is. length: of the rows of T.
kernel void tentative_factor(int count, int block, int m, int whole, global const int *restrict first,
                             global const int *restrict node, global REAL *restrict q,
                             global REAL *restrict R, global int *restrict length)
{
    FOR_EACH(aggregate, count)
    {
        int a = (int)aggregate, rows = (first[a + 1] - first[a]) * block;
        for (int k = 0; k < m * m; k++) R[(long)a * m * m + k] = m == 1;
        if (m > 1) factor(a, block, m, rows, node, first, q, R + (long)a * m * m);
        uint empty = empty_columns(a, block, m, rows, node, first, q);
        for (int k = 0; k < rows; k++)
            for (int j = 0; j < m; j++) length[ROW(k)] += IN_T(k, j);
    }
}

kernel void tentative_put(int count, int block, int m, int whole, global const int *restrict first,
                          global const int *restrict node, global const REAL *restrict q,
                          global const int *restrict ptr, global int *restrict col,
                          global REAL *restrict val)
{
    FOR_EACH(aggregate, count)
    {
        int a = (int)aggregate, rows = (first[a + 1] - first[a]) * block;
        uint empty = empty_columns(a, block, m, rows, node, first, q);
        for (int k = 0; k < rows; k++) {
            int at = ptr[ROW(k)];
            for (int j = 0; j < m; j++)
                if (IN_T(k, j)) col[at] = a * m + j, val[at++] = Q(k, j);
        }
    }
}
