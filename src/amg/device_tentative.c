/* device_tentative.c - a prolongation that reproduces the near null space, aggregate by aggregate, on a
 * device. Kernels: cl/amg/nodes.cl, cl/amg/aggregate.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"

/* T := a one for each node that is in an aggregate. */
static kry_status ones(const kry_device_aggregates *g, kry_csr *T)
{
    kry_status st = KRY_OK;
    static const char stem[] = "aggregate";
    kry_device *dev = g->G.dev;
    const cl_int rows = (cl_int)g->G.rows;
    cl_mem length = NULL;

    *T = (kry_csr){ .dev = dev, .rows = rows, .cols = g->count, .type = KRY_F64 };
    TRY(kry_buffer_create(dev, (size_t)rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(rows), ARG(g->of_node), ARG(length) };
    TRY(kry_device_rows(dev, stem, "tentative_lengths", rows, lengths, COUNT(lengths)));
    TRY(kry_csr_make_rows("a prolongation", length, T));
    const kry_arg args[] = { ARG(rows), ARG(g->of_node), ARG(T->row_ptr), ARG(T->col),
                             ARG(T->val) };
    TRY(kry_device_rows(dev, stem, "tentative_entries", rows, args, COUNT(args)));
done:
    kry_buffer_release(dev, &length);
    return st;
}

/* members: those of each aggregate, in ascending order. */
static kry_status find_members(const kry_device_aggregates *g, kry_csr *members)
{
    kry_status st = KRY_OK;
    kry_csr of_node = { 0 };
    cl_mem from = NULL;

    TRY(ones(g, &of_node));
    TRY(kry_csr_transpose(&of_node, members, &from));
done:
    kry_buffer_release(g->G.dev, &from);
    kry_csr_release(&of_node);
    return st;
}

/* What the kernels of aggregates are given. */
typedef struct factoring {
    kry_csr members;
    cl_int count, block, m;
    cl_mem q; /* n-by-m */
    cl_mem length;
} factoring;

static kry_status factor(const factoring *f, int64_t n, cl_mem C)
{
    kry_status st = KRY_OK;
    kry_device *dev = f->members.dev;
    const cl_int rows = (cl_int)n;
    const kry_arg none[] = { ARG(rows), ARG(f->length) };
    const kry_arg args[] = { ARG(f->count),       ARG(f->block), ARG(f->m), ARG(f->members.row_ptr),
                             ARG(f->members.col), ARG(f->q),     ARG(C),    ARG(f->length) };

    TRY(kry_device_rows(dev, "nodes", "tentative_none", rows, none, COUNT(none)));
    TRY(kry_device_rows(dev, "nodes", "tentative_factor", f->count, args, COUNT(args)));
done:
    return st;
}

static kry_status put(const factoring *f, kry_csr *T)
{
    kry_status st = KRY_OK;

    TRY(kry_csr_make_rows("a prolongation", f->length, T));
    const kry_arg args[] = { ARG(f->count),           ARG(f->block),       ARG(f->m),
                             ARG(f->members.row_ptr), ARG(f->members.col), ARG(f->q),
                             ARG(T->row_ptr),         ARG(T->col),         ARG(T->val) };
    TRY(kry_device_rows(T->dev, "nodes", "tentative_put", f->count, args, COUNT(args)));
done:
    return st;
}

/* Takes c's vectors, and leaves those of the coarser level. */
static kry_status by_factors(kry_coarsen *c, const kry_device_aggregates *g, kry_csr *T)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->G.dev;
    const int64_t n = g->G.rows * c->block, numbers = g->count * c->vectors * c->vectors;
    factoring f = { .count = (cl_int)g->count, .block = c->block, .m = c->vectors };
    cl_mem C = NULL;

    *T = (kry_csr){ .dev = dev, .rows = n, .cols = g->count * c->vectors, .type = KRY_F64 };
    TRY(find_members(g, &f.members));
    TRY(kry_buffer_create(dev, (size_t)(n * c->vectors) * sizeof(double), &f.q));
    TRY(kry_buffer_copy(dev, c->on_device, 0, f.q, 0, (size_t)(n * c->vectors) * sizeof(double)));
    TRY(kry_buffer_create(dev, (size_t)n * sizeof(cl_int), &f.length));
    TRY(kry_buffer_create(dev, (size_t)numbers * sizeof(double), &C));
    TRY(factor(&f, n, C));
    TRY(put(&f, T));
    kry_buffer_release(dev, &c->on_device);
    c->on_device = C, C = NULL;
    c->block = c->vectors;
done:
    kry_buffer_release(dev, &C);
    kry_buffer_release(dev, &f.length);
    kry_buffer_release(dev, &f.q);
    kry_csr_release(&f.members);
    return st;
}

kry_status kry_device_tentative(kry_coarsen *c, const kry_device_aggregates *g, kry_csr *T)
{
    return c->on_device ? by_factors(c, g, T) : ones(g, T);
}
