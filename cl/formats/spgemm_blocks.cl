// spgemm_blocks.cl - products of matrices in compressed rows whose entries come in whole blocks, as those of nodes with
// several unknowns do: C = A B with blocks of tall-by-inner, inner-by-wide and tall-by-wide entries.
// Host: src/matrix/spgemm.c.
//
// The pattern of C is that of a product of nodes, one entry for a block, and is spread over the unknowns afterwards. The
// numbers are found block by block; an entry of C is the sum of its products in the order of A's row, each product and sum
// rounded: the same bits as in spgemm.cl.

#include "common/kry.clh"

#pragma OPENCL FP_CONTRACT OFF

// found[0] := 1 unless rows tall i ... tall i + tall - 1 have the same columns, in groups of `wide` that begin at multiples of
// it.
kernel void blocks_check(int nodes, int tall, int wide, global const int *restrict ptr,
                         global const int *restrict col, global int *restrict found)
{
    FOR_EACH(i, nodes)
    {
        const int begin = ptr[i * tall], width = ptr[i * tall + 1] - begin;
        bool whole = width % wide == 0;
        for (int r = 0; r < tall && whole; r++)
            whole = ptr[i * tall + r + 1] - ptr[i * tall + r] == width;
        for (int e = 0; e < width && whole; e++) {
            whole = e % wide ? col[begin + e] == col[begin + e - 1] + 1 : col[begin + e] % wide == 0;
            for (int r = 1; r < tall && whole; r++)
                whole = col[begin + r * width + e] == col[begin + e];
        }
        if (!whole) found[0] = 1;
    }
}

// The pattern of nodes.
kernel void blocks_nodes(int nodes, int tall, int wide, global const int *restrict ptr,
                         global const int *restrict col, global int *restrict node_ptr,
                         global int *restrict node_col)
{
    const int each = tall * wide;
    FOR_EACH(i, nodes)
    {
        const int begin = ptr[i * tall], from = begin / each, to = ptr[(i + 1) * tall] / each;
        node_ptr[i] = from;
        for (int e = from; e < to; e++) node_col[e] = col[begin + (e - from) * wide] / wide;
        if (i == nodes - 1) node_ptr[nodes] = to;
    }
}

// The pattern of unknowns from that of nodes.
kernel void blocks_spread(int nodes, int tall, int wide, global const int *restrict node_ptr,
                          global const int *restrict node_col, global int *restrict ptr,
                          global int *restrict col)
{
    FOR_EACH(i, nodes)
    {
        const int from = node_ptr[i], width = (node_ptr[i + 1] - from) * wide;
        for (int r = 0; r < tall; r++) {
            const int begin = from * tall * wide + r * width;
            ptr[i * tall + r] = begin;
            for (int e = 0; e < width; e++) col[begin + e] = node_col[from + e / wide] * wide + e % wide;
        }
        if (i == nodes - 1) ptr[nodes * tall] = node_ptr[nodes] * tall * wide;
    }
}

#ifdef KRY_CPU

// c += a b for a block of each; a_width, b_width and c_width: entries from one of its rows to the next.
INLINED void add_block(int tall, int inner, int wide, global const REAL *restrict a, int a_width,
                       global const REAL *restrict b, int b_width, global REAL *restrict c, int c_width)
{
    for (int r = 0; r < tall; r++)
        for (int s = 0; s < inner; s++) {
            const REAL factor = a[r * a_width + s];
            for (int j = 0; j < wide; j++) c[r * c_width + j] += factor * b[s * b_width + j];
        }
}

// Nodes and displacements in the plane and in space with their rigid body modes; 0: of any size.
int known_size(int tall, int inner, int wide)
{
    const int size = 100 * tall + 10 * inner + wide;
    const bool known = size == 336 || size == 636 || size == 666 || size == 223 || size == 323 || size == 333;
    return tall < 10 && inner < 10 && wide < 10 && known ? size : 0;
}

// The numbers of C, whose columns are known; lower: blocks above the diagonal need not be right.
//   scratch  [groups * nodes of B's columns]  where a node is in the row of C
kernel void spgemm_block_values(int nodes, int tall, int inner, int wide, int cols, global int *scratch,
                                int lower, global const int *restrict a_ptr,
                                global const int *restrict a_col, global const REAL *restrict a_val,
                                global const int *restrict b_ptr, global const int *restrict b_col,
                                global const REAL *restrict b_val, global const int *restrict c_ptr,
                                global const int *restrict c_col, global REAL *restrict c_val)
{
    global int *place = scratch + (long)get_group_id(0) * cols;
    const int size = known_size(tall, inner, wide);
    FOR_EACH(i, nodes)
    {
        const int begin = c_ptr[i * tall], width = c_ptr[i * tall + 1] - begin;
        const int from = a_ptr[i * tall], a_width = a_ptr[i * tall + 1] - from;
        for (int e = 0; e < width; e += wide) place[c_col[begin + e] / wide] = begin + e;
        for (int e = 0; e < tall * width; e++) c_val[begin + e] = 0;
        for (int e = 0; e < a_width; e += inner) {
            const int row = a_col[from + e], first = b_ptr[row], b_width = b_ptr[row + 1] - first;
            global const REAL *a = a_val + from + e;
            for (int f = 0; f < b_width; f += wide) {
                const int node = b_col[first + f] / wide;
                if (lower && node * wide >= (i + 1) * tall) break;
                global const REAL *b = b_val + first + f;
                global REAL *c = c_val + place[node];
                switch (size) {
                case 336: add_block(3, 3, 6, a, a_width, b, b_width, c, width); break;
                case 636: add_block(6, 3, 6, a, a_width, b, b_width, c, width); break;
                case 666: add_block(6, 6, 6, a, a_width, b, b_width, c, width); break;
                case 223: add_block(2, 2, 3, a, a_width, b, b_width, c, width); break;
                case 323: add_block(3, 2, 3, a, a_width, b, b_width, c, width); break;
                case 333: add_block(3, 3, 3, a, a_width, b, b_width, c, width); break;
                default: add_block(tall, inner, wide, a, a_width, b, b_width, c, width);
                }
            }
        }
    }
}

#endif
