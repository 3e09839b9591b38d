/* az.c - A Z and (A Z)' as operators, or products with A in their place. */
#include "precond/deflation.h"
#include "precond/rows.h"

/* Only def1 and bnn multiply by A Z. */
static bool multiplies_by_az(const kry_deflation *D) { return D->variant > KRY_ADEF2; }

static kry_status make_az_by_host(const kry_deflation *D, kry_sparse *AZ_t, kry_op **op_t,
                                  kry_op **op)
{
    kry_status st = KRY_OK;
    kry_sparse AZ = { 0 };

    TRY(kry_rows_matrix(D->A, AZ_t, 0, op_t));
    if (!multiplies_by_az(D)) goto done;
    TRY(kry_sparse_transpose(AZ_t, &AZ));
    TRY(kry_rows_matrix(D->A, &AZ, 0, op));
done:
    kry_sparse_release(&AZ);
    return st;
}

/* Long rows, as those of (AZ)' are, take several work-items each. */
static kry_status make_from_device(const kry_deflation *D, const kry_csr *C, kry_op **op)
{
    enum { LONG = 64 };
    kry_status st = KRY_OK;
    kry_csr typed = { 0 };

    TRY(kry_csr_convert(C, D->Z.type, &typed));
    if (typed.nnz > LONG * typed.rows)
        TRY(kry_csr_operator(&typed, 0, NULL, op));
    else
        TRY(kry_sliced_operator(&typed, (kry_keep){ .type = typed.type }, 0, op));
done:
    kry_csr_release(&typed);
    return st;
}

kry_status kry_az_make(const kry_deflation *D, kry_galerkin *G, kry_op **op_t, kry_op **op)
{
    kry_status st = KRY_OK;

    if (!G->rows.dev) return make_az_by_host(D, &G->AZ_t, op_t, op);
    TRY(make_from_device(D, &G->rows_t, op_t));
    if (multiplies_by_az(D)) TRY(make_from_device(D, &G->rows, op));
done:
    return st;
}

double kry_az_bytes(const kry_deflation *D)
{
    kry_op_info info;
    double number = (double)kry_type_size(D->Z.type), n = (double)D->Z.n, k = (double)D->Z.k;

    if (D->AZ_dense) return (n * k + n + k) * number;
    kry_op_describe(D->AZ_t ? D->AZ_t : D->A, &info);
    return D->AZ_t ? info.bytes_per_apply : info.bytes_per_apply + n * number;
}

/* Whether to store A Z: the matrix takes (row, number) for each entry; a product with A in its
 * place reads two vectors more than Z'r does, and A. */
kry_status kry_az_choose(const kry_deflation *D, const kry_galerkin *G, kry_deflation_az *az)
{
    kry_status st = KRY_OK;
    kry_op_info A;
    double number = (double)kry_type_size(D->Z.type), gain, nnz;

    *az = D->az;
    if (D->az != KRY_AZ_AUTO) return KRY_OK;
    kry_op_describe(D->A, &A);
    nnz = G->AZ ? 0 : (double)kry_galerkin_nnz(G);
    gain = A.bytes_per_apply + (double)D->Z.n * number - nnz * (4 + 2 * number);
    TRY(kry_layout_combine(&D->Z.dev->layout, KRY_ADD, &gain, 1));
    *az = A.bytes_per_apply <= 0 || gain >= 0 ? KRY_AZ_STORED : KRY_AZ_PRODUCT;
done:
    return st;
}
