/* device_smoothed.c - smoothed aggregation on a device: the steps of smoothed.c. Kernels: cl/amg/aggregate.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"
#include <math.h>
#include <stdlib.h>

static const char stem[] = "aggregate";

/* What stays when A has new numbers. */
typedef struct smoothed {
    kry_csr F; /* the pattern; place NULL: that of A, and so are the numbers */
    kry_csr T;
} smoothed;

static void smoothed_destroy(void *kept)
{
    smoothed *s = kept;
    if (!s) return;
    kry_csr_release(&s->T);
    kry_csr_release(&s->F);
    free(s);
}

/* ---- P from T and the strong entries ------------------------------------------------------------ */

/* S := F, with the weak couplings of A on its diagonal; d: that, or A's own where little is left of it. */
static kry_status filter(const kry_csr *A, const kry_csr *F, kry_csr *S, cl_mem d)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;

    if (!F->place) return kry_csr_convert(A, A->type, S);
    TRY(kry_csr_share(F, S));
    TRY(kry_buffer_create(A->dev, (size_t)S->nnz * sizeof(double), &S->val));
    TRY(kry_csr_gather(S, F->place, A->type, A->val));
    const kry_arg args[] = { ARG(rows),   ARG(A->row_ptr), ARG(A->val), ARG(S->row_ptr),
                             ARG(S->col), ARG(F->place),   ARG(S->val), ARG(d) };
    TRY(kry_device_rows(A->dev, stem, "filter_diagonal", A->rows, args, COUNT(args)));
done:
    return st;
}

/* S := I - omega D^-1 S */
static kry_status to_smoother(kry_csr *S, cl_mem d, double omega)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)S->rows;
    cl_mem val = NULL;

    TRY(kry_buffer_create(S->dev, (size_t)S->nnz * sizeof(double), &val));
    const kry_arg args[] = { ARG(rows), ARG(omega),  ARG(S->row_ptr), ARG(S->col),
                             ARG(d),    ARG(S->val), ARG(val) };
    TRY(kry_device_rows(S->dev, stem, "smoother_values", S->rows, args, COUNT(args)));
    kry_buffer_release(S->dev, &S->val);
    S->val = val, val = NULL;
done:
    kry_buffer_release(S->dev, &val);
    return st;
}

/* S := I - omega D^-1 F */
static kry_status make_smoother(const kry_csr *A, const kry_csr *F, kry_csr *S)
{
    kry_status st = KRY_OK;
    cl_mem d = NULL;
    double rho;

    *S = (kry_csr){ 0 };
    TRY(kry_device_diagonal(A, &d));
    TRY(filter(A, F, S, d));
    TRY(kry_device_rho(S, d, &rho));
    TRY(to_smoother(S, d, 4.0 / 3 / rho));
done:
    kry_buffer_release(A->dev, &d);
    if (st < 0) kry_csr_release(S);
    return st;
}

/* ---- set-up ------------------------------------------------------------------------------------- */

static void aggregates_release(kry_device *dev, kry_device_aggregates *g)
{
    kry_buffer_release(dev, &g->of_node);
    kry_csr_release(&g->G);
}

/* Of A, or of its nodes. *useful false: they are too few, or hardly fewer than the nodes. */
static kry_status find_aggregates(const kry_coarsen *c, const kry_csr *N, double theta,
                                  kry_device_aggregates *g, bool *useful)
{
    kry_status st = KRY_OK;
    const bool squared = c->block > 1;
    cl_mem d = NULL;

    aggregates_release(N->dev, g);
    TRY(kry_device_diagonal(N, &d));
    TRY(kry_device_graph(N, squared, d, theta, &g->G));
    TRY(kry_device_aggregate(squared, kry_aggregates_large(c), g));
    *useful = g->count > 0 && (double)(g->count * c->vectors) < 0.9 * (double)(N->rows * c->block);
done:
    kry_buffer_release(N->dev, &d);
    return st;
}

/* F := A, or its strong entries. */
static kry_status take_pattern(const kry_coarsen *c, const kry_csr *A, double theta,
                               const kry_device_aggregates *g, kry_csr *F)
{
    kry_status st = KRY_OK;

    if (!(theta > 0) || !g->G.place) return kry_csr_share(A, F);
    if (c->block > 1) return kry_device_node_entries(A, c->block, &g->G, F);
    TRY(kry_csr_share(&g->G, F));
    TRY(kry_buffer_retain(A->dev, g->G.place));
    F->place = g->G.place;
done:
    return st;
}

static kry_status find(kry_coarsen *c, const kry_csr *A, smoothed *s, bool *useful)
{
    kry_status st = KRY_OK;
    double theta = ldexp(c->strength, -c->level);
    kry_device_aggregates g = { 0 };
    kry_csr N = { 0 };

    TRY(c->block > 1 ? kry_device_nodes(A, c->block, &N) : kry_csr_convert(A, A->type, &N));
    TRY(find_aggregates(c, &N, theta, &g, useful));
    if (!*useful && theta > 0) TRY(find_aggregates(c, &N, theta = 0, &g, useful));
    if (!*useful) goto done;
    TRY(take_pattern(c, A, theta, &g, &s->F));
    TRY(kry_device_tentative(c, &g, &s->T));
done:
    kry_csr_release(&N);
    aggregates_release(A->dev, &g);
    return st;
}

static kry_status smoothed_create(kry_coarsen *c, const kry_csr *A, kry_csr *P, void **kept)
{
    kry_status st = KRY_OK;
    kry_csr S = { 0 };
    smoothed *s = NULL;
    bool useful;

    *P = (kry_csr){ 0 };
    *kept = NULL;
    TRY(kry_alloc(1, sizeof *s, &s));
    TRY(find(c, A, s, &useful));
    if (!useful) goto done;
    TRY(make_smoother(A, &s->F, &S));
    TRY(kry_csr_product(&S, &s->T, false, P));
    *kept = s, s = NULL;
done:
    kry_csr_release(&S);
    smoothed_destroy(s);
    return st;
}

static kry_status smoothed_update(const kry_csr *A, void *kept, kry_csr *P)
{
    kry_status st = KRY_OK;
    const smoothed *s = kept;
    kry_csr S = { 0 };

    TRY(make_smoother(A, &s->F, &S));
    TRY(kry_csr_product_again(&S, &s->T, false, P));
done:
    kry_csr_release(&S);
    return st;
}

const kry_device_coarsener kry_device_aggregation = { smoothed_create, smoothed_update,
                                                      smoothed_destroy };
