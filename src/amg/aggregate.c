/* aggregate.c - strong couplings, and nodes in aggregates around the members of a maximal independent set. Kernels:
 * cl/amg/aggregate.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"

static const char stem[] = "aggregate";

/* ---- the graph --------------------------------------------------------------------------------- */

static kry_status find_columns(const kryi_device_csr *A, bool squared, cl_mem d, double bound,
                               kryi_device_csr *G)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows, of_blocks = squared;

    TRY(kryi_buffer_create(A->dev, (uint64_t)G->nnz * sizeof(cl_int), &G->col));
    TRY(kryi_buffer_create(A->dev, (uint64_t)G->nnz * sizeof(cl_int), &G->place));
    TRY(kryi_buffer_create(A->dev, (uint64_t)G->nnz * sizeof(double), &G->val));
    const kry_arg args[] = { ARG(rows),   ARG(of_blocks), ARG(bound), ARG(A->row_ptr),
                             ARG(A->col), ARG(A->val),    ARG(d),     ARG(G->row_ptr),
                             ARG(G->col), ARG(G->place) };
    TRY(kryi_device_rows(A->dev, stem, "graph_columns", A->rows, args, COUNT(args)));
    TRY(kryi_device_csr_gather(G, G->place, KRY_F64, A->val));
done:
    return st;
}

kry_status kryi_strength(const kryi_device_csr *A, bool squared, cl_mem d, double theta,
                         kryi_device_csr *G)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows, of_blocks = squared;
    const double bound = theta > 0 ? theta * theta : 0;
    cl_mem length = NULL;

    *G = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = A->cols, .type = A->type };
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->rows * sizeof(cl_int), &length));
    const kry_arg args[] = { ARG(rows),   ARG(of_blocks), ARG(bound), ARG(A->row_ptr),
                             ARG(A->col), ARG(A->val),    ARG(d),     ARG(length) };
    TRY(kryi_device_rows(A->dev, stem, "graph_lengths", A->rows, args, COUNT(args)));
    TRY(kryi_device_csr_offsets(A->dev, A->rows, length, &G->row_ptr, &G->nnz));
    if (G->nnz < A->nnz) {
        TRY(find_columns(A, squared, d, bound, G));
    } else {
        kryi_device_csr_release(G);
        TRY(kryi_device_csr_convert(A, A->type, G));
    }
done:
    kryi_buffer_release(A->dev, &length);
    if (st < 0) kryi_device_csr_release(G);
    return st;
}

/* ---- roots ------------------------------------------------------------------------------------- */

/* An int for each node, but for `left`. */
typedef struct roots {
    const kryi_device_csr *G;
    cl_int rows;
    cl_mem aggregate, state, best, chosen, left;
} roots;

static kry_status run(const roots *r, const char *name, const kry_arg *args, size_t count)
{
    return kryi_device_rows(r->G->dev, stem, name, r->rows, args, count);
}

static void roots_release(roots *r)
{
    kry_device *dev = r->G->dev;

    kryi_buffer_release(dev, &r->left);
    kryi_buffer_release(dev, &r->chosen);
    kryi_buffer_release(dev, &r->best);
    kryi_buffer_release(dev, &r->state);
    kryi_buffer_release(dev, &r->aggregate);
}

static kry_status roots_create(const kryi_device_csr *G, roots *r)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)G->rows * sizeof(cl_int);

    *r = (roots){ .G = G, .rows = (cl_int)G->rows };
    cl_mem *const buffers[] = { &r->aggregate, &r->state, &r->best, &r->chosen };
    for (size_t k = 0; k < COUNT(buffers); k++) TRY(kryi_buffer_create(G->dev, bytes, buffers[k]));
    TRY(kryi_buffer_create(G->dev, sizeof(cl_int), &r->left));
    const kry_arg args[] = { ARG(r->rows), ARG(r->aggregate) };
    TRY(run(r, "aggregate_none", args, COUNT(args)));
done:
    return st;
}

static kry_status find_best(const roots *r, cl_int first)
{
    const kry_arg args[] = { ARG(r->rows),   ARG(first),    ARG(r->G->row_ptr),
                             ARG(r->G->col), ARG(r->state), ARG(r->best) };
    return run(r, "roots_best", args, COUNT(args));
}

static kry_status decide(const roots *r, cl_int round)
{
    const kry_arg args[] = { ARG(r->rows), ARG(round),    ARG(r->G->row_ptr), ARG(r->G->col),
                             ARG(r->best), ARG(r->state), ARG(r->left) };
    return run(r, "roots_decide", args, COUNT(args));
}

/* Most nodes are decided after some rounds, and on GPUs a round without free nodes costs less than to wait for
 * whether there are any. */
static kry_status find_roots(const roots *r)
{
    kry_status st = KRY_OK;
    const int at_once = r->G->dev->info.cpu_kernels ? 1 : 4;
    cl_int left = 0, round = 0;

    TRY(kryi_buffer_write(r->G->dev, r->left, 0, sizeof left, &left));
    const kry_arg args[] = { ARG(r->rows),      ARG(r->G->row_ptr), ARG(r->G->col),
                             ARG(r->aggregate), ARG(r->state),      ARG(r->best) };
    TRY(run(r, "roots_begin", args, COUNT(args)));
    do {
        for (int i = 0; i < at_once; i++) {
            TRY(find_best(r, round == 0));
            TRY(decide(r, ++round));
        }
        TRY(kryi_buffer_read(r->G->dev, r->left, 0, sizeof left, &left));
    } while (left == round);
    TRY(find_best(r, false));
done:
    return st;
}

/* ---- aggregates -------------------------------------------------------------------------------- */

/* Roots with at least `least` neighbours in no aggregate, if `large` half of them all, make aggregates with
 * these, in the order of the roots' numbers. */
static kry_status gather(const roots *r, cl_int least, cl_int large, int64_t *count)
{
    kry_status st = KRY_OK;
    const cl_int first = (cl_int)*count;
    int64_t more = 0;
    cl_mem number = NULL;

    const kry_arg choose[] = { ARG(r->rows),   ARG(least),    ARG(large),        ARG(r->G->row_ptr),
                               ARG(r->G->col), ARG(r->state), ARG(r->aggregate), ARG(r->chosen) };
    TRY(run(r, "aggregate_choose", choose, COUNT(choose)));
    TRY(kryi_device_csr_offsets(r->G->dev, r->rows, r->chosen, &number, &more));
    const kry_arg args[] = { ARG(r->rows), ARG(first), ARG(r->best), ARG(number),
                             ARG(r->aggregate) };
    TRY(run(r, "aggregate_gather", args, COUNT(args)));
    *count += more;
done:
    kryi_buffer_release(r->G->dev, &number);
    return st;
}

kry_status kryi_aggregate(bool squared, bool large, kryi_aggregates *g)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *G = &g->G;
    const cl_int of_blocks = squared;
    roots r;

    g->of_node = NULL, g->count = 0;
    TRY(roots_create(G, &r));
    for (int pass = 0; pass < 2; pass++) {
        TRY(find_roots(&r));
        TRY(gather(&r, pass == 0 ? 0 : 2, large, &g->count));
    }
    const kry_arg args[] = { ARG(r.rows), ARG(of_blocks),   ARG(G->row_ptr), ARG(G->col),
                             ARG(G->val), ARG(r.aggregate), ARG(r.state) };
    TRY(kryi_device_rows(G->dev, stem, "aggregate_join", G->rows, args, COUNT(args)));
    g->of_node = r.state, r.state = NULL;
done:
    roots_release(&r);
    return st;
}
