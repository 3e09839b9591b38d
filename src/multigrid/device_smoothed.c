/* device_smoothed.c - smoothed aggregation on a device: the steps of smoothed.c. Kernels: cl/smoothed.cl. */
#include "device/launch.h"
#include "multigrid/amg_device.h"
#include <math.h>
#include <stdlib.h>

static const char stem[] = "smoothed";

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

/* T with T'T = I but for lengths: ones for the nodes of an aggregate. */
static kry_status tentative(const kry_csr *A, cl_mem aggregate, int64_t count, kry_csr *T)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    cl_mem length = NULL;

    *T = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = count, .type = KRY_F64 };
    TRY(kry_buffer_create(A->dev, (size_t)A->rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(rows), ARG(aggregate), ARG(length) };
    TRY(kry_device_rows(A->dev, stem, "tentative_lengths", A->rows, lengths, COUNT(lengths)));
    TRY(kry_csr_offsets(A->dev, A->rows, length, &T->row_ptr, &T->nnz));
    TRY(kry_buffer_create(A->dev, (size_t)T->nnz * sizeof(cl_int), &T->col));
    TRY(kry_buffer_create(A->dev, (size_t)T->nnz * sizeof(double), &T->val));
    const kry_arg args[] = { ARG(rows), ARG(aggregate), ARG(T->row_ptr), ARG(T->col), ARG(T->val) };
    TRY(kry_device_rows(A->dev, stem, "tentative_entries", A->rows, args, COUNT(args)));
done:
    kry_buffer_release(A->dev, &length);
    return st;
}

/* What couplings of at least theta make. */
typedef struct aggregates {
    kry_csr G;
    cl_mem of_node;
    int64_t count;
} aggregates;

static void aggregates_release(kry_device *dev, aggregates *g)
{
    kry_buffer_release(dev, &g->of_node);
    kry_csr_release(&g->G);
}

/* *useful false: they are too few, or hardly fewer than the nodes. */
static kry_status find_aggregates(const kry_csr *A, cl_mem d, double theta, aggregates *g,
                                  bool *useful)
{
    kry_status st = KRY_OK;

    aggregates_release(A->dev, g);
    TRY(kry_device_graph(A, d, theta, &g->G));
    TRY(kry_device_aggregate(&g->G, &g->of_node, &g->count));
    *useful = g->count > 0 && (double)g->count < 0.9 * (double)A->rows;
done:
    return st;
}

/* F := A, or its strong entries. */
static kry_status take_pattern(const kry_csr *A, double theta, aggregates *g, kry_csr *F)
{
    if (!(theta > 0) || !g->G.place) return kry_csr_share(A, F);
    kry_buffer_release(A->dev, &g->G.val);
    *F = g->G, g->G = (kry_csr){ 0 };
    return KRY_OK;
}

static kry_status find(const kry_coarsen *c, const kry_csr *A, smoothed *s, bool *useful)
{
    kry_status st = KRY_OK;
    double theta = ldexp(c->strength, -c->level);
    aggregates g = { 0 };
    cl_mem d = NULL;

    TRY(kry_device_diagonal(A, &d));
    TRY(find_aggregates(A, d, theta, &g, useful));
    if (!*useful && theta > 0) TRY(find_aggregates(A, d, theta = 0, &g, useful));
    if (!*useful) goto done;
    TRY(tentative(A, g.of_node, g.count, &s->T));
    TRY(take_pattern(A, theta, &g, &s->F));
done:
    kry_buffer_release(A->dev, &d);
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
    TRY(kry_csr_product(&S, &s->T, P));
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
    TRY(kry_csr_product_again(&S, &s->T, P));
done:
    kry_csr_release(&S);
    return st;
}

const kry_device_coarsener kry_device_aggregation = { smoothed_create, smoothed_update,
                                                      smoothed_destroy };
