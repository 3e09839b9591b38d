/* labels_device.c - labels on a GPU: Z as a matrix, and the pieces that products with Z' sum. Kernels: cl/precond/labels.cl. */
#include "precond/labels_device.h"
#include "device/launch.h"
#include <stdlib.h>

static kry_status run(kry_device *dev, kry_type type, const char *name, int64_t items,
                      const kry_arg *args, size_t count)
{
    return kry_run(dev, "labels", type, "", name, kry_groups_for(dev, type, items), args, count);
}

bool kry_labels_are_narrow(int64_t domains) { return domains <= UINT16_MAX + 1; }

kry_status kry_labels_store(kry_device *dev, int64_t n, int64_t domains, cl_mem label, cl_mem *to)
{
    kry_status st = KRY_OK;
    cl_mem narrow = NULL;

    if (!kry_labels_are_narrow(domains)) {
        TRY(kry_buffer_retain(dev, label));
        *to = label;
        return KRY_OK;
    }
    TRY(kry_buffer_create(dev, (size_t)n * sizeof(cl_ushort), &narrow));
    const kry_arg args[] = { ARG(n), ARG(label), ARG(narrow) };
    TRY(run(dev, KRY_F32, "labels_narrow", n, args, COUNT(args)));
    *to = narrow, narrow = NULL;
done:
    kry_buffer_release(dev, &narrow);
    return st;
}

/* ptr := 0 ... n */
static kry_status one_in_each_row(kry_device *dev, int64_t n, cl_mem *ptr)
{
    kry_status st = KRY_OK;

    TRY(kry_buffer_create(dev, ((size_t)n + 1) * sizeof(cl_int), ptr));
    const kry_arg args[] = { ARG(n), ARG(*ptr) };
    TRY(run(dev, KRY_F32, "labels_rows", n, args, COUNT(args)));
done:
    return st;
}

kry_status kry_labels_ones(kry_device *dev, kry_type type, bool narrow, int64_t n, int64_t k,
                           cl_mem label, kry_csr *ones)
{
    kry_status st = KRY_OK;
    const cl_mem small = narrow ? label : NULL, full = narrow ? NULL : label;

    *ones = (kry_csr){ .dev = dev, .rows = n, .cols = k, .nnz = n, .type = type };
    TRY(one_in_each_row(dev, n, &ones->row_ptr));
    TRY(kry_buffer_create(dev, (size_t)n * sizeof(cl_int), &ones->col));
    TRY(kry_buffer_create(dev, (size_t)n * kry_type_size(type), &ones->val));
    const kry_arg args[] = { ARG(n), ARG(small), ARG(full), ARG(ones->col), ARG(ones->val) };
    TRY(run(dev, type, "labels_entries", n, args, COUNT(args)));
done:
    if (st < 0) kry_csr_release(ones);
    return st;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* In the order of unknowns. */
typedef struct unsorted {
    kry_csr of; /* a row for each piece, with an entry in the column of its label */
    cl_mem start, length;
} unsorted;

static void unsorted_release(unsorted *u)
{
    kry_device *dev = u->of.dev;

    kry_buffer_release(dev, &u->length);
    kry_buffer_release(dev, &u->start);
    kry_csr_release(&u->of);
}

static kry_status find(int64_t n, cl_mem label, unsorted *u)
{
    enum { PIECE = 8 }; /* as in cl/precond/labels.cl */
    kry_status st = KRY_OK;
    kry_device *dev = u->of.dev;
    const int64_t blocks = (n + PIECE - 1) / PIECE;
    cl_mem count = NULL, first = NULL;

    TRY(kry_buffer_create(dev, (size_t)blocks * sizeof(cl_int), &count));
    const kry_arg counts[] = { ARG(n), ARG(label), ARG(count) };
    TRY(run(dev, KRY_F32, "pieces_count", 2 * blocks, counts, COUNT(counts)));
    TRY(kry_csr_offsets(dev, blocks, count, &first, &u->of.nnz));
    u->of.rows = u->of.nnz;
    const size_t pieces = (size_t)u->of.nnz;
    TRY(kry_buffer_create(dev, pieces * sizeof(cl_int), &u->of.col));
    TRY(kry_buffer_create(dev, pieces * sizeof(cl_int), &u->start));
    TRY(kry_buffer_create(dev, pieces, &u->length));
    const kry_arg args[] = { ARG(n),         ARG(label),    ARG(first),
                             ARG(u->of.col), ARG(u->start), ARG(u->length) };
    TRY(run(dev, KRY_F32, "pieces_find", 2 * blocks, args, COUNT(args)));
    TRY(one_in_each_row(dev, u->of.nnz, &u->of.row_ptr));
done:
    kry_buffer_release(dev, &first);
    kry_buffer_release(dev, &count);
    return st;
}

static kry_status sort(const unsorted *u, kry_pieces *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = u->of.dev;
    kry_csr by_label = { 0 };
    cl_mem from = NULL;

    TRY(kry_csr_transpose(&u->of, &by_label, &from));
    TRY(kry_alloc((size_t)by_label.rows + 1, sizeof *p->of_label, &p->of_label));
    TRY(kry_csr_read_offsets(&by_label, p->of_label));
    TRY(kry_buffer_create(dev, (size_t)p->count * sizeof(cl_int), &p->start));
    TRY(kry_buffer_create(dev, (size_t)p->count, &p->length));
    const kry_arg args[] = { ARG(p->count),  ARG(by_label.col), ARG(u->start),
                             ARG(u->length), ARG(p->start),     ARG(p->length) };
    TRY(run(dev, KRY_F32, "pieces_sort", p->count, args, COUNT(args)));
done:
    kry_buffer_release(dev, &from);
    kry_csr_release(&by_label);
    return st;
}

kry_status kry_labels_pieces(kry_device *dev, int64_t n, int64_t domains, cl_mem label,
                             kry_pieces *p)
{
    kry_status st = KRY_OK;
    unsorted u = { .of = { .dev = dev, .cols = domains, .type = KRY_F32 } };

    *p = (kry_pieces){ 0 };
    TRY(find(n, label, &u));
    p->count = u.of.nnz;
    TRY(sort(&u, p));
done:
    unsorted_release(&u);
    return st;
}
