/* product.c - products of stored matrices: A B, and P' A P of multigrid. On the device where that is faster
 * or the numbers are there; else on the host. */
#include "matrix/given.h"
#include "operator/op_parts.h"
#include <stdlib.h>

/* A product keeps what it was made of, to make its numbers again. */
typedef struct product {
    kryi_source source;
    kry_op *A, *B;               /* retained */
    bool galerkin;               /* C = B' A B, else C = A B */
    kryi_device_csr left, right; /* A and B on the device */
    kryi_device_csr AB, transposed;
    cl_mem from;
} product;

static void product_destroy(kryi_source *source)
{
    product *p = (product *)source;

    kryi_buffer_release(p->transposed.dev, &p->from);
    kryi_device_csr_release(&p->transposed);
    kryi_device_csr_release(&p->AB);
    kryi_device_csr_release(&p->right);
    kryi_device_csr_release(&p->left);
    kry_op_release(&p->B);
    kry_op_release(&p->A);
    free(p);
}

/* ---- on the host --------------------------------------------------------------------------- */

static kry_status download(const kry_op *op, kryi_csr *host)
{
    kry_status st = KRY_OK;

    TRY(kryi_matrix_download(kryi_matrix_of(op), host));
    TRY(kryi_csr_convert(host, KRY_F64));
done:
    return st;
}

static kry_status host_product(const product *p, kryi_csr *C)
{
    kry_status st = KRY_OK;
    kryi_csr A = { 0 }, B = { 0 }, AB = { 0 }, T = { 0 };

    TRY(download(p->A, &A));
    TRY(download(p->B, &B));
    TRY(kryi_csr_multiply(&A, &B, p->galerkin ? &AB : C));
    if (p->galerkin) {
        TRY(kryi_csr_transpose(&B, &T));
        TRY(kryi_csr_multiply(&T, &AB, C));
    }
    TRY(kryi_csr_convert(C, p->A->shape.type));
done:
    kryi_csr_release(&T);
    kryi_csr_release(&AB);
    kryi_csr_release(&B);
    kryi_csr_release(&A);
    return st;
}

static kry_status host_renew(kryi_source *source, kryi_matrix *C)
{
    kry_status st = KRY_OK;
    static const char who[] = "kry_op_update";
    kryi_csr host = { 0 };
    kryi_seen seen;

    TRY(host_product((product *)source, &host));
    TRY(kryi_numbers_check(who, host.type, host.val, kryi_csr_nnz(&host), &seen));
    TRY(kryi_matrix_store(C, who, host.row_ptr, host.val, &seen));
done:
    kryi_csr_release(&host);
    return st;
}

static kry_status host_create(product **p, unsigned traits, kry_op **C)
{
    kry_status st = KRY_OK;
    kryi_csr host = { 0 };
    const kry_matrix_params *params =
        KRY_MATRIX(.traits = traits, .format = KRY_FORMAT_CSR, .values = KRY_VALUES_AS_GIVEN);

    TRY(host_product(*p, &host));
    TRY(kryi_matrix_take((*p)->A->dev, &host, params, C));
    (*p)->source.renew = host_renew;
    kryi_matrix_of(*C)->source = &(*p)->source, *p = NULL;
done:
    kryi_csr_release(&host);
    return st;
}

/* ---- on the device ------------------------------------------------------------------------- */

static kry_status device_renew(kryi_source *source, kryi_matrix *matrix)
{
    kry_status st = KRY_OK;
    product *p = (product *)source;
    kryi_device_csr C = { .dev = matrix->dev,
                          .rows = matrix->shape.rows,
                          .cols = matrix->shape.cols,
                          .nnz = matrix->nnz,
                          .type = matrix->shape.type,
                          .val = matrix->val };

    kryi_csr_buffers(matrix, &C.row_ptr, &C.col);
    TRY(kryi_device_csr_of_again(kryi_matrix_of(p->A), &p->left));
    TRY(kryi_device_csr_of_again(kryi_matrix_of(p->B), &p->right));
    if (!p->galerkin) return kryi_device_csr_product_again(&p->left, &p->right, false, &C);
    TRY(kryi_device_csr_product_again(&p->left, &p->right, false, &p->AB));
    TRY(kryi_device_csr_transpose_again(&p->right, p->from, &p->transposed));
    TRY(kryi_device_csr_product_again(&p->transposed, &p->AB, false, &C));
done:
    return st;
}

static kry_status device_create(product **made, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    product *p = *made;
    kryi_device_csr C = { 0 };
    kryi_source *source = &p->source;

    TRY(kryi_device_csr_of(kryi_matrix_of(p->A), &p->left));
    TRY(kryi_device_csr_of(kryi_matrix_of(p->B), &p->right));
    TRY(kryi_device_csr_product(&p->left, &p->right, false, p->galerkin ? &p->AB : &C));
    if (p->galerkin) {
        TRY(kryi_device_csr_transpose(&p->right, &p->transposed, &p->from));
        TRY(kryi_device_csr_product(&p->transposed, &p->AB, false, &C));
    }
    p->source.renew = device_renew;
    TRY(kryi_device_csr_operator(&C, traits, &source, op));
    *made = NULL;
done:
    kryi_device_csr_release(&C);
    return st;
}

/* ---- the public functions -------------------------------------------------------------------- */

static kry_status check_operand(const char *who, const kry_op *op)
{
    kry_status st = KRY_OK;

    CHECK(!kryi_op_in_parts(op), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is in parts on a team of devices; products are of matrices on one", who,
          op->table->kind);
    CHECK(kryi_matrix_of(op), KRY_ERR_UNSUPPORTED, "%s: '%s' is not a stored matrix", who,
          op->table->kind);
    TRY(kryi_device_csr_check(who, kryi_matrix_of(op)));
done:
    return st;
}

static kry_status check(const char *who, const kry_op *A, const kry_op *B)
{
    kry_status st = KRY_OK;

    TRY(check_operand(who, A));
    TRY(check_operand(who, B));
    CHECK(A->dev == B->dev, KRY_ERR_ARGUMENT, "%s: the matrices are on different devices", who);
    CHECK(A->shape.type == B->shape.type, KRY_ERR_TYPE, "%s: one matrix is in %s, the other in %s",
          who, kry_type_name(A->shape.type), kry_type_name(B->shape.type));
    CHECK(A->shape.cols == B->shape.rows, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld and %lld-by-%lld have no product", who, (long long)A->shape.rows,
          (long long)A->shape.cols, (long long)B->shape.rows, (long long)B->shape.cols);
done:
    return st;
}

/* Offsets on devices are int. A group of a GPU walks a row of A once for every
 * window of columns: rows that meet too many of them are for the host. */
static bool is_for_host(const product *p)
{
    enum { WINDOW = 2048, MOST_STEPS = 1 << 26 };
    const kryi_matrix *A = kryi_matrix_of(p->A), *B = kryi_matrix_of(p->B);
    double windows = (double)B->shape.cols / WINDOW;
    const bool gpu = !A->dev->info.cpu_kernels;
    const int64_t longest = kryi_matrix_longest_row(A);

    if (A->nnz > INT32_MAX || B->nnz > INT32_MAX) return true;
    return gpu && (double)longest * windows > MOST_STEPS;
}

static kry_status multiply(const kry_op *A, const kry_op *B, bool galerkin, kry_op **C)
{
    kry_status st = KRY_OK;
    const unsigned traits = galerkin ? A->shape.traits & (KRY_SYMMETRIC | KRY_POSITIVE) : 0;
    product *p = NULL;

    TRY(kryi_alloc(1, sizeof *p, &p));
    p->source.destroy = product_destroy;
    p->galerkin = galerkin;
    p->A = kry_op_retain(A), p->B = kry_op_retain(B);
    if (is_for_host(p))
        TRY(host_create(&p, traits, C));
    else
        TRY(device_create(&p, traits, C));
done:
    if (p) product_destroy(&p->source);
    return st;
}

kry_status kry_csr_multiply(const kry_op *A, const kry_op *B, kry_op **C)
{
    kry_status st = KRY_OK;

    if (C) *C = NULL;
    TRY(GIVEN(A, B, C));
    TRY(check("kry_csr_multiply", A, B));
    TRY(multiply(A, B, false, C));
done:
    return st;
}

kry_status kry_csr_galerkin(const kry_op *A, const kry_op *P, kry_op **C)
{
    kry_status st = KRY_OK;

    if (C) *C = NULL;
    TRY(GIVEN(A, P, C));
    TRY(check("kry_csr_galerkin", A, P));
    CHECK(A->shape.rows == A->shape.cols, KRY_ERR_SHAPE,
          "kry_csr_galerkin: A is %lld-by-%lld, not square", (long long)A->shape.rows,
          (long long)A->shape.cols);
    TRY(multiply(A, P, true, C));
done:
    return st;
}
