/* amg_single.c - algebraic multigrid whose levels are in single, for a matrix in double. */
#include "amg/amg_self.h"
#include "matrix/matrix.h"

/* The finest level's matrix for vectors in single cannot be read, which some scalings do. */
kry_status kry_amg_choose_type(kry_amg *M, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    const bool asked = cycle->values == KRY_CYCLE_VALUES_SINGLE;
    const bool possible = kry_matrix_narrows(M->A) && kry_fits_single(&M->look) && !M->keep.read;
    const bool does_as_well = possible && M->keep.rounded && kry_suits_single(&M->look);

    CHECK(!asked || possible || M->A->shape.type == KRY_F32, KRY_ERR_UNSUPPORTED,
          "%s: values = single is for an assembled matrix in double on one device, with scaling = "
          "diagonal and a diagonal between 2^-60 and 2^60; this one is between %g and %g",
          kry_amg_who, M->look.least, M->look.most);
    if (asked || (cycle->values == KRY_CYCLE_VALUES_AUTO && does_as_well)) M->keep.type = KRY_F32;
done:
    return st;
}

kry_status kry_amg_find_rest(const kry_amg *M, const kry_sparse *rows, cl_mem *rest)
{
    return rows ? kry_rounded_rest(M->A->dev, rows, rest) : kry_device_levels_rest(M->device, rest);
}

kry_status kry_amg_begin_narrow(kry_amg *M, const kry_sparse *rows, kry_op **A)
{
    kry_status st = KRY_OK;
    cl_mem rest = NULL;

    if (M->keep.type == M->A->shape.type) return KRY_OK;
    TRY(kry_amg_find_rest(M, rows, &rest));
    TRY(kry_matrix_narrowed(M->A, rest, &M->narrow));
    kry_op_release(A);
    *A = kry_op_retain(M->narrow);
done:
    kry_buffer_release(M->A->dev, &rest);
    return st;
}

kry_status kry_amg_check_range(const kry_amg *M)
{
    kry_status st = KRY_OK;

    CHECK(!M->narrow || kry_fits_single(&M->look), KRY_ERR_ARGUMENT,
          "%s: the diagonal of the matrix is now between %g and %g, and the levels are in single, "
          "for 2^-60 to 2^60; make the preconditioner anew",
          kry_amg_who, M->look.least, M->look.most);
done:
    return st;
}
