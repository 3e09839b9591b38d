/*
 * transposed.c - products with the transpose of a stored matrix, by a copy of A' in compressed rows. It is made
 * when it is first asked for: sums over the rows of A' have one order, those over the columns of A none without
 * atomics.
 */
#include "matrix/matrix_parts.h"
#include "matrix/spgemm.h"
#include "operator/op_parts.h"
#include <stdlib.h>

struct kry_transposed {
    kry_op *op;   /* A'; retained */
    kry_csr copy; /* the same on the device; nothing where the host makes it */
    cl_mem from;  /* the place in A of each entry of A' */
    bool stale;   /* A has new numbers */
};

static void release(kry_transposed *T)
{
    if (!T) return;
    kry_op_release(&T->op);
    if (T->copy.dev) kry_buffer_release(T->copy.dev, &T->from);
    if (T->copy.dev) kry_csr_release(&T->copy);
    free(T);
}

/* The kernels take int for offsets and rows without repetitions. */
static bool is_for_host(const kry_matrix *A)
{
    return A->nnz == 0 || A->nnz > INT32_MAX || kry_csr_check("kry_op_apply_transpose", A) < 0;
}

static kry_status make_on_host(const kry_matrix *A, kry_transposed *T)
{
    kry_status st = KRY_OK;
    kry_sparse host = { 0 }, turned = { 0 };

    TRY(kry_matrix_download(A, &host));
    TRY(kry_sparse_transpose(&host, &turned));
    if (T->op)
        TRY(kry_op_update(T->op, turned.val));
    else
        TRY(kry_matrix_of_sparse(
            A->dev, &turned, KRY_MATRIX(.format = KRY_FORMAT_CSR, .duplicates = KRY_SUM), &T->op));
done:
    kry_sparse_release(&turned);
    kry_sparse_release(&host);
    return st;
}

static kry_status make_on_device(const kry_matrix *A, kry_transposed *T)
{
    kry_status st = KRY_OK;
    kry_csr given = { 0 };

    TRY(kry_csr_of(A, &given));
    if (T->op) {
        TRY(kry_csr_transpose_again(&given, T->from, &T->copy));
    } else {
        TRY(kry_csr_transpose(&given, &T->copy, &T->from));
        TRY(kry_csr_operator(&T->copy, 0, NULL, &T->op));
    }
done:
    if (given.dev) kry_csr_release(&given);
    return st;
}

static kry_status make(const kry_matrix *A, kry_transposed *T)
{
    return is_for_host(A) ? make_on_host(A, T) : make_on_device(A, T);
}

kry_status kry_matrix_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                      kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_matrix *A = self;
    kry_transposed *T = A->transposed, *fresh = NULL;

    if (!T) {
        TRY(kry_alloc(1, sizeof *fresh, &fresh));
        TRY(make(A, fresh));
        A->transposed = T = fresh, fresh = NULL;
    }
    if (T->stale) TRY(make(A, T));
    T->stale = false;
    TRY(T->op->table->apply(T->op->self, alpha, x, beta, y));
done:
    release(fresh);
    return st;
}

void kry_matrix_renew_transpose(kry_matrix *A)
{
    if (A->transposed) A->transposed->stale = true;
}

void kry_matrix_release_transpose(kry_matrix *A)
{
    release(A->transposed);
    A->transposed = NULL;
}

double kry_matrix_transpose_bytes(const kry_matrix *A)
{
    const kry_transposed *T = A->transposed;
    kry_op_info info;

    if (!T) return 0;
    kry_op_describe(T->op, &info);
    return info.bytes_stored + (T->from ? 4.0 * (double)A->nnz : 0);
}
