/*
 * smoothed.c - smoothed aggregation: P = (I - omega D_F^-1 F) T, omega = 4/3 / rho(D_F^-1 F). T is the
 * tentative prolongation, F is A without its weak couplings, which are added to the diagonal. Kernels:
 * cl/amg/aggregate.cl, cl/amg/nodes.cl.
 *
 * Source  P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), 179-196; doi:10.1007/BF02238511
 */
#include "amg/amg_device.h"
#include "device/launch.h"
#include <math.h>
#include <stdlib.h>

static const char stem[] = "aggregate";

/* ---- nodes of several unknowns --------------------------------------------------------------- */

/* A pattern of as many entries as unknowns: rows are nodes, or columns are. */
static kry_status node_pattern(const kryi_device_csr *A, int block, bool nodes_are_rows,
                               kryi_device_csr *N)
{
    kry_status st = KRY_OK;
    const char *name = nodes_are_rows ? "nodes_expand" : "nodes_collapse";
    const int64_t nodes = A->rows / block;
    const cl_int rows = (cl_int)(nodes_are_rows ? nodes : A->rows), of = block;

    *N = (kryi_device_csr){ .dev = A->dev, .rows = rows, .nnz = A->rows, .type = A->type };
    N->cols = nodes_are_rows ? A->rows : nodes;
    TRY(kryi_buffer_create(A->dev, ((size_t)rows + 1) * sizeof(cl_int), &N->row_ptr));
    TRY(kryi_buffer_create(A->dev, (uint64_t)N->nnz * sizeof(cl_int), &N->col));
    const kry_arg args[] = { ARG(rows), ARG(of), ARG(N->row_ptr), ARG(N->col) };
    TRY(kryi_device_rows(A->dev, "nodes", name, rows, args, COUNT(args)));
done:
    return st;
}

/* N := the squared norms of the blocks of A. Waits. */
static kry_status norms_of_nodes(const kryi_device_csr *A, int block, kryi_device_csr *N)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)(A->rows / block), of = block;
    kryi_device_csr pattern = { 0 }, left = { 0 }, right = { 0 }, half = { 0 };

    *N = (kryi_device_csr){ 0 };
    if (A->tall) {
        TRY(kryi_device_csr_blocks(A, N));
    } else {
        TRY(kryi_device_csr_share(A, &pattern));
        TRY(node_pattern(A, block, true, &left));
        TRY(node_pattern(A, block, false, &right));
        TRY(kryi_device_csr_product(&pattern, &right, false, &half));
        TRY(kryi_device_csr_product(&left, &half, false, N));
    }
    TRY(kryi_buffer_create(A->dev, (uint64_t)N->nnz * sizeof(double), &N->val));
    const kry_arg args[] = { ARG(nodes),  ARG(of),         ARG(A->row_ptr), ARG(A->col),
                             ARG(A->val), ARG(N->row_ptr), ARG(N->col),     ARG(N->val) };
    TRY(kryi_device_rows(A->dev, "nodes", "nodes_norms", nodes, args, COUNT(args)));
done:
    kryi_device_csr_release(&half);
    kryi_device_csr_release(&right);
    kryi_device_csr_release(&left);
    kryi_device_csr_release(&pattern);
    if (st < 0) kryi_device_csr_release(N);
    return st;
}

/* F := the pattern of A's entries between nodes that are coupled in G, and their places in A. Waits. */
static kry_status entries_of_nodes(const kryi_device_csr *A, int block, const kryi_device_csr *G,
                                   kryi_device_csr *F)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows, of = block;
    cl_mem length = NULL;

    *F = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = A->cols, .type = A->type };
    F->tall = A->tall, F->wide = A->wide;
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(rows),       ARG(of),     ARG(A->row_ptr), ARG(A->col),
                                ARG(G->row_ptr), ARG(G->col), ARG(length) };
    TRY(kryi_device_rows(A->dev, "nodes", "nodes_lengths", rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_offsets(A->dev, A->rows, length, &F->row_ptr, &F->nnz));
    TRY(kryi_buffer_create(A->dev, (uint64_t)F->nnz * sizeof(cl_int), &F->col));
    TRY(kryi_buffer_create(A->dev, (uint64_t)F->nnz * sizeof(cl_int), &F->place));
    const kry_arg args[] = { ARG(rows),       ARG(of),         ARG(A->row_ptr),
                             ARG(A->col),     ARG(G->row_ptr), ARG(G->col),
                             ARG(F->row_ptr), ARG(F->col),     ARG(F->place) };
    TRY(kryi_device_rows(A->dev, "nodes", "nodes_columns", rows, args, COUNT(args)));
done:
    kryi_buffer_release(A->dev, &length);
    if (st < 0) kryi_device_csr_release(F);
    return st;
}

/* ---- the tentative prolongation -------------------------------------------------------------- */

/* T := a one for each node that is in an aggregate. */
static kry_status ones(const kryi_aggregates *g, kryi_device_csr *T)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->G.dev;
    const cl_int rows = (cl_int)g->G.rows;
    cl_mem length = NULL;

    *T = (kryi_device_csr){ .dev = dev, .rows = rows, .cols = g->count, .type = KRY_F64 };
    TRY(kryi_buffer_create(dev, (uint64_t)rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(rows), ARG(g->of_node), ARG(length) };
    TRY(kryi_device_rows(dev, stem, "tentative_lengths", rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_make_rows("a prolongation", length, T));
    const kry_arg args[] = { ARG(rows), ARG(g->of_node), ARG(T->row_ptr), ARG(T->col),
                             ARG(T->val) };
    TRY(kryi_device_rows(dev, stem, "tentative_entries", rows, args, COUNT(args)));
done:
    kryi_buffer_release(dev, &length);
    return st;
}

/* members: those of each aggregate, in ascending order. */
static kry_status find_members(const kryi_aggregates *g, kryi_device_csr *members)
{
    kry_status st = KRY_OK;
    kryi_device_csr of_node = { 0 };
    cl_mem from = NULL;

    TRY(ones(g, &of_node));
    TRY(kryi_device_csr_transpose(&of_node, members, &from));
done:
    kryi_buffer_release(g->G.dev, &from);
    kryi_device_csr_release(&of_node);
    return st;
}

/* The arguments that kernels of aggregates have in common. */
typedef struct aggregate_qr {
    kryi_device_csr members;
    cl_int count, block, m, whole;
    cl_mem q; /* n-by-m */
    cl_mem length;
} aggregate_qr;

static kry_status factor(const aggregate_qr *f, int64_t n, cl_mem C)
{
    kry_status st = KRY_OK;
    kry_device *dev = f->members.dev;
    const cl_int rows = (cl_int)n;
    const kry_arg none[] = { ARG(rows), ARG(f->length) };
    const kry_arg args[] = { ARG(f->count),           ARG(f->block),       ARG(f->m), ARG(f->whole),
                             ARG(f->members.row_ptr), ARG(f->members.col), ARG(f->q), ARG(C),
                             ARG(f->length) };

    TRY(kryi_device_rows(dev, "nodes", "tentative_none", rows, none, COUNT(none)));
    TRY(kryi_device_rows(dev, "nodes", "tentative_factor", f->count, args, COUNT(args)));
done:
    return st;
}

static kry_status put(const aggregate_qr *f, kryi_device_csr *T)
{
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_make_rows("a prolongation", f->length, T));
    const kry_arg args[] = { ARG(f->count), ARG(f->block),           ARG(f->m),
                             ARG(f->whole), ARG(f->members.row_ptr), ARG(f->members.col),
                             ARG(f->q),     ARG(T->row_ptr),         ARG(T->col),
                             ARG(T->val) };
    TRY(kryi_device_rows(T->dev, "nodes", "tentative_put", f->count, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_tentative(const kryi_aggregates *g, int block, int m, bool whole, cl_mem B,
                          kryi_device_csr *T, cl_mem *C)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->G.dev;
    const int64_t n = g->G.rows * block;
    aggregate_qr f = { .count = (cl_int)g->count, .block = block, .m = m, .whole = whole };

    *C = NULL;
    *T = (kryi_device_csr){ .dev = dev, .rows = n, .cols = g->count * m, .type = KRY_F64 };
    if (whole) T->tall = block, T->wide = m;
    TRY(find_members(g, &f.members));
    TRY(kryi_buffer_create(dev, (uint64_t)(n * m) * sizeof(double), &f.q));
    TRY(kryi_buffer_copy(dev, B, 0, f.q, 0, (size_t)(n * m) * sizeof(double)));
    TRY(kryi_buffer_create(dev, (uint64_t)n * sizeof(cl_int), &f.length));
    TRY(kryi_buffer_create(dev, (uint64_t)(g->count * m * m) * sizeof(double), C));
    TRY(factor(&f, n, *C));
    TRY(put(&f, T));
done:
    kryi_buffer_release(dev, &f.length);
    kryi_buffer_release(dev, &f.q);
    kryi_device_csr_release(&f.members);
    if (st < 0) {
        kryi_buffer_release(dev, C);
        kryi_device_csr_release(T);
    }
    return st;
}

/* ---- P from T and the strong entries ---------------------------------------------------------- */

/* What stays when A has new numbers. */
typedef struct smoothed {
    kryi_device_csr F; /* the pattern; place NULL: that of A, and so are the numbers */
    kryi_device_csr T;
} smoothed;

static void smoothed_destroy(void *kept)
{
    smoothed *s = kept;
    if (!s) return;
    kryi_device_csr_release(&s->T);
    kryi_device_csr_release(&s->F);
    free(s);
}

/* S := F, with the weak couplings of A on its diagonal; d: that, or A's own where little is left of it. */
static kry_status filter(const kryi_device_csr *A, const kryi_device_csr *F, kryi_device_csr *S,
                         cl_mem d)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;

    if (!F->place) return kryi_device_csr_convert(A, A->type, S);
    TRY(kryi_device_csr_share(F, S));
    TRY(kryi_buffer_create(A->dev, (uint64_t)S->nnz * sizeof(double), &S->val));
    TRY(kryi_device_csr_gather(S, F->place, A->type, A->val));
    const kry_arg args[] = { ARG(rows),   ARG(A->row_ptr), ARG(A->val), ARG(S->row_ptr),
                             ARG(S->col), ARG(F->place),   ARG(S->val), ARG(d) };
    TRY(kryi_device_rows(A->dev, stem, "filter_diagonal", A->rows, args, COUNT(args)));
done:
    return st;
}

/* S := I - omega D^-1 S */
static kry_status to_smoother(kryi_device_csr *S, cl_mem d, double omega)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)S->rows;
    cl_mem val = NULL;

    TRY(kryi_buffer_create(S->dev, (uint64_t)S->nnz * sizeof(double), &val));
    const kry_arg args[] = { ARG(rows), ARG(omega),  ARG(S->row_ptr), ARG(S->col),
                             ARG(d),    ARG(S->val), ARG(val) };
    TRY(kryi_device_rows(S->dev, stem, "smoother_values", S->rows, args, COUNT(args)));
    kryi_buffer_release(S->dev, &S->val);
    S->val = val, val = NULL;
done:
    kryi_buffer_release(S->dev, &val);
    return st;
}

/* S := I - omega D^-1 F */
static kry_status make_smoother(const kryi_device_csr *A, const kryi_device_csr *F,
                                kryi_device_csr *S)
{
    kry_status st = KRY_OK;
    cl_mem d = NULL;
    double rho;

    *S = (kryi_device_csr){ 0 };
    TRY(kryi_device_diagonal(A, &d));
    TRY(filter(A, F, S, d));
    TRY(kryi_amg_rho(S, d, &rho));
    TRY(to_smoother(S, d, 4.0 / 3 / rho));
done:
    kryi_buffer_release(A->dev, &d);
    if (st < 0) kryi_device_csr_release(S);
    return st;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

void kryi_aggregates_release(kryi_aggregates *g)
{
    kryi_buffer_release(g->G.dev, &g->of_node);
    kryi_device_csr_release(&g->G);
}

/* g := aggregates of A's rows, or of its nodes, whose couplings N has; none if they are too few, or hardly fewer than the
 * nodes. */
static kry_status find_aggregates(const kryi_coarsen *c, const kryi_device_csr *N, double theta,
                                  kryi_aggregates *g)
{
    kry_status st = KRY_OK;
    const bool squared = c->block > 1;
    cl_mem d = NULL;

    kryi_aggregates_release(g);
    TRY(kryi_device_diagonal(N, &d));
    TRY(kryi_strength(N, squared, d, theta, &g->G));
    TRY(kryi_aggregate(squared, kryi_aggregates_large(c), g));
    if ((double)(g->count * c->vectors) >= 0.9 * (double)(N->rows * c->block)) g->count = 0;
done:
    kryi_buffer_release(N->dev, &d);
    return st;
}

kry_status kryi_find_aggregates(const kryi_coarsen *c, const kryi_device_csr *A, double *theta,
                                kryi_aggregates *g)
{
    kry_status st = KRY_OK;
    kryi_device_csr N = { 0 };

    *g = (kryi_aggregates){ 0 };
    *theta = ldexp(c->strength, -c->level);
    TRY(c->block > 1 ? norms_of_nodes(A, c->block, &N) : kryi_device_csr_convert(A, A->type, &N));
    TRY(find_aggregates(c, &N, *theta, g));
    if (!g->count && *theta > 0) TRY(find_aggregates(c, &N, *theta = 0, g));
done:
    kryi_device_csr_release(&N);
    if (st < 0) kryi_aggregates_release(g);
    return st;
}

kry_status kryi_strong_entries(const kryi_device_csr *A, int block, double theta,
                               const kryi_aggregates *g, kryi_device_csr *F)
{
    kry_status st = KRY_OK;

    if (!(theta > 0) || !g->G.place) return kryi_device_csr_share(A, F);
    if (block > 1) return entries_of_nodes(A, block, &g->G, F);
    TRY(kryi_device_csr_share(&g->G, F));
    TRY(kryi_buffer_retain(A->dev, g->G.place));
    F->place = g->G.place;
done:
    return st;
}

/* s := F and T of the aggregates of A, c := what it is on the coarser level; *useful false: there are no aggregates. */
static kry_status find(kryi_coarsen *c, const kryi_device_csr *A, smoothed *s, bool *useful)
{
    kry_status st = KRY_OK;
    double theta;
    kryi_aggregates g;
    cl_mem C = NULL;

    TRY(kryi_find_aggregates(c, A, &theta, &g));
    *useful = g.count > 0;
    if (!*useful) goto done;
    TRY(kryi_strong_entries(A, c->block, theta, &g, &s->F));
    if (c->near_null_space) {
        TRY(kryi_tentative(&g, c->block, c->vectors, A->tall > 0, c->near_null_space, &s->T, &C));
        kryi_buffer_release(A->dev, &c->near_null_space);
        c->near_null_space = C;
    } else {
        TRY(ones(&g, &s->T));
    }
    c->block = c->vectors;
done:
    kryi_aggregates_release(&g);
    return st;
}

static kry_status smoothed_create(kryi_coarsen *c, const kryi_device_csr *A, kryi_device_csr *P,
                                  kryi_device_csr *R, void **kept)
{
    kry_status st = KRY_OK;
    kryi_device_csr S = { 0 };
    smoothed *s = NULL;
    bool useful;

    *P = *R = (kryi_device_csr){ 0 };
    *kept = NULL;
    TRY(kryi_alloc(1, sizeof *s, &s));
    TRY(find(c, A, s, &useful));
    if (!useful) goto done;
    TRY(make_smoother(A, &s->F, &S));
    TRY(kryi_device_csr_product(&S, &s->T, false, P));
    *kept = s, s = NULL;
done:
    kryi_device_csr_release(&S);
    smoothed_destroy(s);
    return st;
}

static kry_status smoothed_update(const kryi_device_csr *A, void *kept, kryi_device_csr *P,
                                  kryi_device_csr *R)
{
    kry_status st = KRY_OK;
    const smoothed *s = kept;
    kryi_device_csr S = { 0 };

    (void)R;
    TRY(make_smoother(A, &s->F, &S));
    TRY(kryi_device_csr_product_again(&S, &s->T, false, P));
done:
    kryi_device_csr_release(&S);
    return st;
}

const kryi_coarsener kryi_smoothed_aggregation = { "aggregation", smoothed_create, smoothed_update,
                                                   smoothed_destroy };
