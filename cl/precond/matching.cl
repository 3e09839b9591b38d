// matching.cl - pairs of neighbours in a graph, by handshakes. Host: src/precond/matching.c.
//
// row_ptr, col, val   the graph: symmetric, val says how many edges of the first graph an edge stands for
// size                unknowns of each node
// mate                of each node, -1: none

#include "common/kry.clh"

// Of two edges the one comes first that joins smaller nodes by more edges; then chance decides, alike at both ends.
uint chance_of(int i, int j)
{
    uint h = (uint)min(i, j) * 0x9e3779b1u ^ (uint)max(i, j) * 0x85ebca77u;
    h ^= h >> 15, h *= 0x2c1b3c6du, h ^= h >> 12, h *= 0x297a2d39u;
    return h ^ h >> 15;
}

kernel void matching_begin(int rows, global int *restrict mate)
{
    FOR_EACH(i, rows) mate[i] = -1;
}

// best := the neighbour without a mate that comes first; -1: none, or i has a mate
kernel void matching_propose(int rows, global const int *restrict row_ptr,
                             global const int *restrict col, global const REAL *restrict val,
                             global const int *restrict size, global const int *restrict mate,
                             global int *restrict best)
{
    FOR_EACH(p, rows)
    {
        const int i = (int)p;
        int first = -1;
        REAL most = 0;
        uint chance = 0;
        for (int e = row_ptr[i]; e < row_ptr[i + 1] && mate[i] < 0; e++) {
            const int j = col[e];
            if (j == i || mate[j] >= 0) continue;
            const REAL worth = val[e] / ((REAL)size[i] * (REAL)size[j]);
            const uint c = chance_of(i, j);
            if (first >= 0 && (worth < most || (worth == most && (c < chance || (c == chance && j > first)))))
                continue;
            first = j, most = worth, chance = c;
        }
        best[i] = first;
    }
}

kernel void matching_take(int rows, global const int *restrict best, global int *restrict mate)
{
    FOR_EACH(i, rows) if (best[i] >= 0 && best[best[i]] == i) mate[i] = best[i];
}

// Nodes that are the first of a pair
kernel void matching_pairs(int rows, global const int *restrict mate, global int *restrict flag)
{
    FOR_EACH(i, rows) flag[i] = mate[i] > i;
}

// Pairs from the `most`-th on part again. rank: how many pairs begin before each node
kernel void matching_part(int rows, int most, global const int *restrict rank,
                          global const int *restrict mate, global int *restrict kept)
{
    FOR_EACH(i, rows)
    {
        const int m = mate[i];
        kept[i] = m >= 0 && rank[min((int)i, m)] < most ? m : -1;
    }
}

// Nodes that stand for themselves and their mate
kernel void matching_roots(int rows, global const int *restrict mate, global int *restrict flag)
{
    FOR_EACH(i, rows) flag[i] = mate[i] < 0 || mate[i] > i;
}

// The coarser node of each, and what these are made of
kernel void matching_number(int rows, global const int *restrict mate,
                            global const int *restrict number, global const int *restrict size,
                            global int *restrict coarse, global int *restrict coarse_size)
{
    FOR_EACH(i, rows)
    {
        const int m = mate[i], root = m >= 0 && m < i ? m : (int)i;
        coarse[i] = number[root];
        if (root == i) coarse_size[number[root]] = size[i] + (m >= 0 ? size[m] : 0);
    }
}

// label := the coarser node of the node that it was
kernel void matching_label(int n, global const int *restrict coarse, global int *restrict label)
{
    FOR_EACH(i, n) label[i] = coarse[label[i]];
}

// Every entry of a matrix is an edge; every node has one unknown and is its own label.
kernel void matching_edges(long n, global REAL *restrict val)
{
    FOR_EACH(e, n) val[e] = 1;
}

kernel void matching_nodes(int rows, global int *restrict size, global int *restrict label)
{
    FOR_EACH(i, rows) size[i] = 1, label[i] = (int)i;
}
