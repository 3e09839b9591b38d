/*
 * matching.c - parts of a graph on a GPU, for sub-domains: neighbours become pairs, pairs the nodes of a coarser graph, and
 * so on until there are as few as wanted. Kernels: cl/precond/matching.cl.
 *
 * A node offers itself to the neighbour with which it has the most edges by the sizes of both; two that chose each
 * other are a pair. Edges compare in one order, so there is such a pair in every round as long as an edge is left. The last
 * level keeps only as many pairs as are needed.
 *
 * Source  G. Karypis, V. Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci.
 *         Comput. 20 (1998), for heavy edges first; without its refinement
 */
#include "device/launch.h"
#include "precond/labels_device.h"

typedef struct level {
    kryi_device_csr graph; /* with numbers in single */
    cl_mem size;           /* unknowns of each node */
} level;

static kry_status run(kry_device *dev, const char *name, int64_t rows, const kry_arg *args,
                      size_t count)
{
    return kryi_run(dev, "matching", KRY_F32, "", name, kryi_groups_for(dev, KRY_F32, 4 * rows),
                    args, count);
}

static void level_release(kry_device *dev, level *l)
{
    kryi_buffer_release(dev, &l->size);
    kryi_device_csr_release(&l->graph);
}

/* Rounds leave few nodes without a mate whose neighbours have none either. */
static kry_status find_mates(const level *l, cl_mem mate)
{
    enum { ROUNDS = 8 };
    kry_status st = KRY_OK;
    kry_device *dev = l->graph.dev;
    const cl_int rows = (cl_int)l->graph.rows;
    cl_mem best = NULL;

    TRY(kryi_ints_create(dev, rows, &best));
    const kry_arg begin[] = { ARG(rows), ARG(mate) };
    const kry_arg propose[] = { ARG(rows),         ARG(l->graph.row_ptr), ARG(l->graph.col),
                                ARG(l->graph.val), ARG(l->size),          ARG(mate),
                                ARG(best) };
    const kry_arg take[] = { ARG(rows), ARG(best), ARG(mate) };
    TRY(run(dev, "matching_begin", rows, begin, COUNT(begin)));
    for (int i = 0; i < ROUNDS; i++) {
        TRY(run(dev, "matching_propose", rows, propose, COUNT(propose)));
        TRY(run(dev, "matching_take", rows, take, COUNT(take)));
    }
done:
    kryi_buffer_release(dev, &best);
    return st;
}

/* rank := how many nodes for which the kernel raises a flag stand before each; *total: in all */
static kry_status rank_by(const level *l, const char *name, cl_mem mate, cl_mem *rank,
                          int64_t *total)
{
    kry_status st = KRY_OK;
    kry_device *dev = l->graph.dev;
    const cl_int rows = (cl_int)l->graph.rows;
    cl_mem flag = NULL;

    TRY(kryi_ints_create(dev, rows, &flag));
    const kry_arg args[] = { ARG(rows), ARG(mate), ARG(flag) };
    TRY(run(dev, name, rows, args, COUNT(args)));
    TRY(kryi_device_csr_offsets(dev, rows, flag, rank, total));
done:
    kryi_buffer_release(dev, &flag);
    return st;
}

/* Part the pairs that are too many for `most` nodes to be left. */
static kry_status part_pairs(const level *l, int64_t most, cl_mem *mate)
{
    kry_status st = KRY_OK;
    kry_device *dev = l->graph.dev;
    const cl_int rows = (cl_int)l->graph.rows, wanted = (cl_int)(l->graph.rows - most);
    cl_mem rank = NULL, kept = NULL;
    int64_t pairs;

    TRY(rank_by(l, "matching_pairs", *mate, &rank, &pairs));
    if (pairs <= wanted) goto done;
    TRY(kryi_ints_create(dev, rows, &kept));
    const kry_arg args[] = { ARG(rows), ARG(wanted), ARG(rank), ARG(*mate), ARG(kept) };
    TRY(run(dev, "matching_part", rows, args, COUNT(args)));
    kryi_buffer_release(dev, mate);
    *mate = kept, kept = NULL;
done:
    kryi_buffer_release(dev, &kept);
    kryi_buffer_release(dev, &rank);
    return st;
}

/* graph := T'G T, where column coarse[i] of T has a one in row i */
static kry_status contract(const kryi_device_csr *G, cl_mem coarse, int64_t count,
                           kryi_device_csr *graph)
{
    kry_status st = KRY_OK;
    kryi_device_csr T = { 0 }, T_t = { 0 }, GT = { 0 };
    cl_mem from = NULL;

    TRY(kryi_labels_ones(G->dev, KRY_F32, false, G->rows, count, coarse, &T));
    TRY(kryi_device_csr_transpose(&T, &T_t, &from));
    TRY(kryi_device_csr_product(G, &T, false, &GT));
    TRY(kryi_device_csr_product(&T_t, &GT, false, graph));
done:
    kryi_buffer_release(G->dev, &from);
    kryi_device_csr_release(&GT);
    kryi_device_csr_release(&T_t);
    kryi_device_csr_release(&T);
    return st;
}

/* label: n, of nodes of l, which becomes the coarser level. */
static kry_status coarsen(level *l, int64_t most, int64_t n, cl_mem label)
{
    kry_status st = KRY_OK;
    kry_device *dev = l->graph.dev;
    const cl_int rows = (cl_int)l->graph.rows, all = (cl_int)n;
    cl_mem mate = NULL, number = NULL, coarse = NULL;
    level next = { .graph = { .dev = dev } };
    int64_t count;

    TRY(kryi_ints_create(dev, rows, &mate));
    TRY(find_mates(l, mate));
    TRY(part_pairs(l, most, &mate));
    TRY(rank_by(l, "matching_roots", mate, &number, &count));
    TRY(kryi_ints_create(dev, rows, &coarse));
    TRY(kryi_ints_create(dev, count, &next.size));
    const kry_arg names[] = { ARG(rows),    ARG(mate),   ARG(number),
                              ARG(l->size), ARG(coarse), ARG(next.size) };
    TRY(run(dev, "matching_number", rows, names, COUNT(names)));
    const kry_arg labels[] = { ARG(all), ARG(coarse), ARG(label) };
    TRY(run(dev, "matching_label", n, labels, COUNT(labels)));
    TRY(contract(&l->graph, coarse, count, &next.graph));
    level_release(dev, l);
    *l = next, next = (level){ 0 };
done:
    level_release(dev, &next);
    kryi_buffer_release(dev, &coarse);
    kryi_buffer_release(dev, &number);
    kryi_buffer_release(dev, &mate);
    return st;
}

/* The graph of A: every entry is one edge; each node has one unknown and its own label. */
static kry_status begin(const kryi_matrix *A, level *l, cl_mem label)
{
    kry_status st = KRY_OK;
    kryi_device_csr given = { 0 };
    const cl_int rows = (cl_int)A->shape.rows;
    const cl_long nnz = A->nnz;

    TRY(kryi_device_csr_of(A, &given));
    TRY(kryi_device_csr_share(&given, &l->graph));
    l->graph.type = KRY_F32;
    TRY(kryi_buffer_create(A->dev, (uint64_t)nnz * sizeof(float), &l->graph.val));
    TRY(kryi_ints_create(A->dev, rows, &l->size));
    const kry_arg edges[] = { ARG(nnz), ARG(l->graph.val) };
    const kry_arg nodes[] = { ARG(rows), ARG(l->size), ARG(label) };
    TRY(run(A->dev, "matching_edges", nnz, edges, COUNT(edges)));
    TRY(run(A->dev, "matching_nodes", rows, nodes, COUNT(nodes)));
done:
    kryi_device_csr_release(&given);
    return st;
}

kry_status kryi_labels_of_graph(const kryi_matrix *A, int64_t most, cl_mem *label, int64_t *count)
{
    kry_status st = KRY_OK;
    const int64_t n = A->shape.rows;
    level l = { .graph = { .dev = A->dev } };
    cl_mem found = NULL;
    int64_t before;

    *label = NULL;
    TRY(kryi_ints_create(A->dev, n, &found));
    TRY(begin(A, &l, found));
    do {
        before = l.graph.rows;
        if (before > most) TRY(coarsen(&l, most, n, found));
    } while (l.graph.rows > most && l.graph.rows < before - before / 8);
    if (l.graph.rows > most) goto done;
    *count = l.graph.rows;
    *label = found, found = NULL;
done:
    kryi_buffer_release(A->dev, &found);
    level_release(A->dev, &l);
    return st;
}
