/* amg_update.c - new numbers for the levels of algebraic multigrid, whose patterns stay. */
#include "amg/amg_self.h"
#include "matrix/matrix.h"
#include <stdlib.h>

/* rows := the finest of the host's levels; rest: what rounding takes from A, where its vectors are in single. */
static kry_status renew_upper(kry_amg *M, kry_sparse *rows, cl_mem *rest)
{
    kry_status st = KRY_OK;

    if (M->device) {
        TRY(kry_device_levels_renew(M->device));
        M->look = *kry_device_levels_look(M->device);
        TRY(kry_amg_check_range(M));
        if (M->narrow) TRY(kry_amg_find_rest(M, NULL, rest));
        return kry_device_levels_download(M->device, rows);
    }
    TRY(kry_amg_read_rows(M, rows));
    CHECK(kry_sparse_nnz(rows) == M->nnz, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          kry_amg_who, (long long)kry_sparse_nnz(rows), (long long)M->nnz);
    M->look = kry_look_at_rows(rows);
    TRY(kry_amg_check_range(M));
    if (M->narrow) TRY(kry_amg_find_rest(M, rows, rest));
done:
    return st;
}

/* What level i of the host's becomes; its matrix borrows the places of the one that is on the device. */
static kry_status renew_level(const kry_amg *M, kry_hierarchy *H, int i, const kry_sparse *A,
                              kry_coarser *to)
{
    kry_status st = KRY_OK;
    const int level = M->upper + i;

    TRY(M->by->update(A, M->kept[i], &to->P));
    to->A = kry_matrix_of(kry_hierarchy_level(H, level + 1)->A)->sorted;
    to->A.type = KRY_F64, to->A.val = NULL;
    TRY(kry_alloc((size_t)kry_sparse_nnz(&to->A), sizeof(double), &to->A.val));
    TRY(kry_coarser_multiply(kry_amg_who, level + 1, M->A->shape.type, A, to));
done:
    return st;
}

static void release_levels(kry_coarser *to, int count)
{
    for (int i = 0; to && i < count; i++) {
        to[i].A.row_ptr = NULL, to[i].A.col = NULL; /* borrowed */
        kry_coarser_release(&to[i]);
    }
    free(to);
}

/* All numbers are there before one of them replaces an old one. */
kry_status kry_amg_update(kry_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    kry_amg *M = self;
    kry_sparse rows = { 0 };
    kry_coarser *to = NULL;
    cl_mem rest = NULL;

    TRY(kry_alloc((size_t)M->made + 1, sizeof *to, &to));
    TRY(renew_upper(M, &rows, &rest));
    for (int i = 0; i < M->made; i++) TRY(renew_level(M, H, i, i ? &to[i - 1].A : &rows, &to[i]));
    if (M->device) TRY(kry_device_levels_store(M->device, H));
    kry_hierarchy_level(H, 0)->highest = kry_highest_of(M->look.bound);
    if (M->narrow) TRY(kry_matrix_narrowed_again(M->narrow, rest));
    if (M->upper) TRY(kry_rounded_set_numbers(kry_hierarchy_level(H, M->upper)->A, &rows));
    for (int i = 0; i < M->made; i++) {
        const int level = M->upper + i;
        TRY(kry_rounded_set_numbers(kry_hierarchy_level(H, level)->P, &to[i].P));
        TRY(kry_rounded_set_numbers(kry_hierarchy_level(H, level)->R, &to[i].R));
        TRY(kry_rounded_set_numbers(kry_hierarchy_level(H, level + 1)->A, &to[i].A));
    }
done:
    kry_buffer_release(M->A->dev, &rest);
    release_levels(to, M->made);
    kry_sparse_release(&rows);
    return st;
}
