/* device_nodes.c - nodes of several unknowns on a device. Kernels: cl/amg/nodes.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"

static const char stem[] = "nodes";

/* A pattern of as many entries as unknowns: rows are nodes, or columns are. */
static kry_status node_pattern(const kry_csr *A, int block, bool nodes_are_rows, kry_csr *N)
{
    kry_status st = KRY_OK;
    const char *name = nodes_are_rows ? "nodes_expand" : "nodes_collapse";
    const int64_t nodes = A->rows / block;
    const cl_int rows = (cl_int)(nodes_are_rows ? nodes : A->rows), of = block;

    *N = (kry_csr){ .dev = A->dev, .rows = rows, .nnz = A->rows, .type = A->type };
    N->cols = nodes_are_rows ? A->rows : nodes;
    TRY(kry_buffer_create(A->dev, ((size_t)rows + 1) * sizeof(cl_int), &N->row_ptr));
    TRY(kry_buffer_create(A->dev, (size_t)N->nnz * sizeof(cl_int), &N->col));
    const kry_arg args[] = { ARG(rows), ARG(of), ARG(N->row_ptr), ARG(N->col) };
    TRY(kry_device_rows(A->dev, stem, name, rows, args, COUNT(args)));
done:
    return st;
}

kry_status kry_device_nodes(const kry_csr *A, int block, kry_csr *N)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)(A->rows / block), of = block;
    kry_csr pattern = { 0 }, left = { 0 }, right = { 0 }, half = { 0 };

    *N = (kry_csr){ 0 };
    TRY(kry_csr_share(A, &pattern));
    TRY(node_pattern(A, block, true, &left));
    TRY(node_pattern(A, block, false, &right));
    TRY(kry_csr_product(&pattern, &right, false, &half));
    TRY(kry_csr_product(&left, &half, false, N));
    TRY(kry_buffer_create(A->dev, (size_t)N->nnz * sizeof(double), &N->val));
    const kry_arg args[] = { ARG(nodes),  ARG(of),         ARG(A->row_ptr), ARG(A->col),
                             ARG(A->val), ARG(N->row_ptr), ARG(N->col),     ARG(N->val) };
    TRY(kry_device_rows(A->dev, stem, "nodes_norms", nodes, args, COUNT(args)));
done:
    kry_csr_release(&half);
    kry_csr_release(&right);
    kry_csr_release(&left);
    kry_csr_release(&pattern);
    if (st < 0) kry_csr_release(N);
    return st;
}

kry_status kry_device_node_entries(const kry_csr *A, int block, const kry_csr *G, kry_csr *F)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows, of = block;
    cl_mem length = NULL;

    *F = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = A->cols, .type = A->type };
    TRY(kry_buffer_create(A->dev, (size_t)A->rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(rows),       ARG(of),     ARG(A->row_ptr), ARG(A->col),
                                ARG(G->row_ptr), ARG(G->col), ARG(length) };
    TRY(kry_device_rows(A->dev, stem, "nodes_lengths", rows, lengths, COUNT(lengths)));
    TRY(kry_csr_offsets(A->dev, A->rows, length, &F->row_ptr, &F->nnz));
    TRY(kry_buffer_create(A->dev, (size_t)F->nnz * sizeof(cl_int), &F->col));
    TRY(kry_buffer_create(A->dev, (size_t)F->nnz * sizeof(cl_int), &F->place));
    const kry_arg args[] = { ARG(rows),       ARG(of),         ARG(A->row_ptr),
                             ARG(A->col),     ARG(G->row_ptr), ARG(G->col),
                             ARG(F->row_ptr), ARG(F->col),     ARG(F->place) };
    TRY(kry_device_rows(A->dev, stem, "nodes_columns", rows, args, COUNT(args)));
done:
    kry_buffer_release(A->dev, &length);
    if (st < 0) kry_csr_release(F);
    return st;
}
