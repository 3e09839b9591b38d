/* block_fill.c - the places of incomplete factors with fill, by a device. Where the elimination of k brings an entry to (i, j)
 * its level is level(i, k) + level(k, j) + 1, and the least of these counts. With the number 2^(-32 (level + 1)) at each
 * place and I for the diagonal, the product (I + L) (I + U) has places where elimination once brings any, and its numbers
 * tell their levels, for fewer than 2^31 numbers do not add up to the next power. One product for each level of fill,
 * cut to the levels that are allowed, finds them all: a place of level m needs places of levels below m alone.
 * Kernels: cl/precond/fill.cl. */
#include "precond/block_ic.h"

typedef struct filling {
    kry_device *dev;
    cl_int rows, most; /* levels */
    int64_t entries;   /* that fill may bring */
    kry_csr P, T[2];   /* the places so far; I + L, I + U */
} filling;

static kry_status run(const filling *f, const char *name, int64_t items, const kry_arg *args,
                      size_t count)
{
    return kry_run(f->dev, "fill", KRY_F64, "", name, kry_groups_for(f->dev, KRY_F64, 2 * items),
                   args, count);
}

/* to: a matrix of rows of these lengths; all but its entries. */
static kry_status make_rows(const filling *f, cl_mem length, kry_csr *to)
{
    *to = (kry_csr){ .dev = f->dev, .rows = f->rows, .cols = f->rows, .type = KRY_F64 };
    return kry_csr_make_rows("a factor with fill", length, to);
}

/* A's places are of level 0. */
static kry_status begin(const kry_csr *A, filling *f)
{
    kry_status st = KRY_OK;
    const cl_int entries = (cl_int)A->nnz;

    TRY(kry_csr_share(A, &f->P));
    f->P.type = KRY_F64;
    TRY(kry_buffer_create(f->dev, (size_t)A->nnz * sizeof(double), &f->P.val));
    const kry_arg args[] = { ARG(entries), ARG(f->P.val) };
    TRY(run(f, "fill_start", A->nnz, args, COUNT(args)));
done:
    return st;
}

static kry_status take_triangles(filling *f)
{
    kry_status st = KRY_OK;
    const kry_csr *P = &f->P;
    cl_mem length[2] = { NULL };

    for (int k = 0; k < 2; k++)
        TRY(kry_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length[k]));
    const kry_arg lengths[] = { ARG(f->rows), ARG(P->row_ptr), ARG(P->col), ARG(length[0]),
                                ARG(length[1]) };
    TRY(run(f, "fill_lengths", f->rows, lengths, COUNT(lengths)));
    for (cl_int above = 0; above < 2; above++) {
        kry_csr *T = &f->T[above];
        TRY(make_rows(f, length[above], T));
        const kry_arg args[] = { ARG(f->rows), ARG(above),      ARG(P->row_ptr), ARG(P->col),
                                 ARG(P->val),  ARG(T->row_ptr), ARG(T->col),     ARG(T->val) };
        TRY(run(f, "fill_triangle", f->rows, args, COUNT(args)));
    }
done:
    for (int k = 0; k < 2; k++) kry_buffer_release(f->dev, &length[k]);
    return st;
}

/* *fits: (I + L) (I + U) has no more entries than fill may bring, and does not take far more products to make. There are
 * at most as many entries as products; where that does not decide, they are counted. */
static kry_status forecast(const filling *f, bool *fits)
{
    enum { WORTH = 16 }; /* products for each entry that may be */
    kry_status st = KRY_OK;
    cl_mem length = NULL, row_ptr = NULL;
    int64_t count;

    TRY(kry_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length));
    const kry_arg args[] = { ARG(f->rows), ARG(f->T[0].row_ptr), ARG(f->T[0].col),
                             ARG(f->T[1].row_ptr), ARG(length) };
    TRY(run(f, "fill_products", f->rows, args, COUNT(args)));
    TRY(kry_csr_offsets(f->dev, f->rows, length, &row_ptr, &count));
    if (count > f->entries && count <= WORTH * f->entries)
        TRY(kry_csr_product_count(&f->T[0], &f->T[1], &count));
    *fits = count <= f->entries;
done:
    kry_buffer_release(f->dev, &row_ptr);
    kry_buffer_release(f->dev, &length);
    return st;
}

/* P := (I + L) (I + U), cut to the levels that are allowed, if it fits */
static kry_status grow(filling *f, bool *fits)
{
    kry_status st = KRY_OK;
    kry_csr C = { 0 };
    cl_mem length = NULL;

    TRY(take_triangles(f));
    TRY(forecast(f, fits));
    if (!*fits) goto done;
    TRY(kry_csr_product(&f->T[0], &f->T[1], false, &C));
    TRY(kry_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length));
    const kry_arg count[] = { ARG(f->rows), ARG(f->most), ARG(C.row_ptr), ARG(C.val), ARG(length) };
    TRY(run(f, "fill_count", f->rows, count, COUNT(count)));
    kry_csr_release(&f->P);
    TRY(make_rows(f, length, &f->P));
    const kry_arg keep[] = { ARG(f->rows), ARG(f->most),      ARG(C.row_ptr), ARG(C.col),
                             ARG(C.val),   ARG(f->P.row_ptr), ARG(f->P.col),  ARG(f->P.val) };
    TRY(run(f, "fill_keep", f->rows, keep, COUNT(keep)));
done:
    kry_csr_release(&C);
    for (int k = 0; k < 2; k++) kry_csr_release(&f->T[k]);
    kry_buffer_release(f->dev, &length);
    return st;
}

kry_status kry_block_fill_places(const kry_csr *A, int fill, kry_csr *places)
{
    kry_status st = KRY_OK;
    filling f = {
        .dev = A->dev, .rows = (cl_int)A->rows, .most = fill, .entries = kry_fill_most(A->nnz)
    };
    bool fits = true;

    *places = (kry_csr){ 0 };
    TRY(begin(A, &f));
    for (int round = 0; round < fill && fits; round++) TRY(grow(&f, &fits));
    if (fits) TRY(kry_csr_share(&f.P, places));
done:
    kry_csr_release(&f.P);
    return st;
}
