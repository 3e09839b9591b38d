/* device_levels.c - the levels of algebraic multigrid that a device makes. Between set-ups only their
 * patterns stay; the numbers are the operators'. */
#include "amg/amg_device.h"
#include "amg/classical.h"
#include "matrix/matrix.h"
#include "precond/rows.h"
#include <stdlib.h>

enum { LEVELS = 64, SMALL = 4096 /* rows: the host is faster */, LONGEST = 1 << 16 /* row */ };

typedef struct level {
    kry_device_coarser to; /* from the level above; of the finest level only A */
    void *kept;            /* what the coarsener keeps of this level */
} level;

struct kry_device_levels {
    const char *who;
    const kry_op *matrix; /* borrowed */
    const kry_device_coarsener *by;
    kry_csr given;     /* the matrix as it was given; empty where the host has made it symmetric */
    kry_row_look look; /* at the finest level */
    kry_keep keep;     /* of operators */
    int count;
    level level[LEVELS];
};

bool kry_device_levels_suit(const kry_op *A)
{
    const kry_matrix *matrix = kry_matrix_of(A);
    const kry_device_info *info = &A->dev->info;

    return matrix && !kry_matrix_is_wrapped(matrix) && info->fp64 && !info->cpu_kernels &&
           matrix->nnz <= INT32_MAX && A->shape.rows > SMALL;
}

void kry_device_levels_drop_numbers(kry_device_levels *L)
{
    for (int i = 0; i < L->count; i++) {
        kry_device_coarser *to = &L->level[i].to;
        kry_csr *const matrices[] = { &to->P, &to->R, &to->AP, &to->A };
        for (size_t k = 0; k < COUNT(matrices); k++)
            kry_buffer_release(L->matrix->dev, &matrices[k]->val);
    }
    kry_buffer_release(L->matrix->dev, &L->given.val);
}

void kry_device_levels_release(kry_device_levels *L)
{
    if (!L) return;
    for (int i = 0; i < L->count; i++) {
        if (L->by) L->by->destroy(L->level[i].kept);
        kry_device_coarser_release(&L->level[i].to);
    }
    kry_csr_release(&L->given);
    free(L);
}

void kry_device_levels_keep(kry_device_levels *L, kry_keep keep) { L->keep = keep; }

static const kry_csr *last(const kry_device_levels *L) { return &L->level[L->count - 1].to.A; }
const kry_row_look *kry_device_levels_look(const kry_device_levels *L) { return &L->look; }
int64_t kry_device_levels_rows(const kry_device_levels *L) { return last(L)->rows; }
int64_t kry_device_levels_nnz(const kry_device_levels *L) { return last(L)->nnz; }

kry_status kry_device_levels_couplings(const kry_device_levels *L, kry_couplings *c)
{
    return kry_splitting_signs(last(L), &c->positive, &c->negative);
}

kry_status kry_device_levels_download(const kry_device_levels *L, kry_sparse *rows)
{
    return kry_csr_download(last(L), rows);
}

/* ---- the finest level ---------------------------------------------------------------------------- */

/* What is symmetric but for rounding is made so by the host, which names what is not. */
static kry_status read_from_host(const kry_device_levels *L, kry_csr *A, kry_row_look *look)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;
    kry_sparse rows = { 0 };

    TRY(kry_rows_read(L->who, L->matrix, &rows));
    TRY(kry_alloc((size_t)rows.rows, sizeof *inverse, &inverse));
    TRY(kry_rows_symmetrise(L->who, L->matrix, &rows, inverse));
    *look = kry_look_at_rows(&rows);
    TRY(kry_csr_upload(L->matrix->dev, &rows, A));
done:
    kry_sparse_release(&rows);
    free(inverse);
    return st;
}

/* A := the matrix in double, symmetric to the bit. */
static kry_status read_matrix(kry_device_levels *L, kry_csr *A, kry_device_finding *f)
{
    kry_status st = KRY_OK;

    *A = (kry_csr){ 0 };
    if (!L->given.dev)
        TRY(kry_csr_of(kry_matrix_of(L->matrix), &L->given));
    else
        TRY(kry_csr_of_again(kry_matrix_of(L->matrix), &L->given));
    TRY(kry_csr_convert(&L->given, KRY_F64, A));
    TRY(kry_device_check(A, f));
    if (f->sound) return KRY_OK;
    kry_csr_release(A);
    TRY(read_from_host(L, A, &f->look));
done:
    if (st < 0) kry_csr_release(A);
    return st;
}

kry_status kry_device_levels_create(const char *who, const kry_op *A, kry_device_levels **out)
{
    kry_status st = KRY_OK;
    kry_device_levels *L = NULL;
    kry_device_finding found;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *L, &L));
    L->who = who, L->matrix = A, L->keep.type = A->shape.type;
    TRY(read_matrix(L, &L->level[0].to.A, &found));
    L->look = found.look;
    L->count = 1;
    if (found.longest <= LONGEST) *out = L, L = NULL;
done:
    kry_device_levels_release(L);
    return st;
}

/* ---- coarser levels ------------------------------------------------------------------------------ */

kry_status kry_device_levels_coarsen(kry_device_levels *L, const kry_device_coarsener *by,
                                     kry_coarsen *c, bool *coarser)
{
    kry_status st = KRY_OK;
    level *from = &L->level[L->count - 1];
    kry_device_coarser to = { 0 };

    *coarser = false;
    if (from->to.A.rows <= SMALL || L->count == LEVELS) return KRY_OK;
    L->by = by;
    TRY(by->create(c, &from->to.A, &to.P, &from->kept));
    if (!from->kept) return KRY_OK;
    TRY(kry_device_coarser_multiply(L->who, ++c->level, L->matrix->shape.type, &from->to.A, &to));
    kry_buffer_release(L->matrix->dev, &to.AP.val);
    L->level[L->count++].to = to, to = (kry_device_coarser){ 0 };
    *coarser = true;
done:
    kry_device_coarser_release(&to);
    return st;
}

kry_status kry_device_levels_rest(const kry_device_levels *L, cl_mem *rest)
{
    kry_status st = KRY_OK;
    const kry_csr *A = &L->level[0].to.A;
    const cl_int rows = (cl_int)A->rows;

    TRY(kry_buffer_create(A->dev, (size_t)A->rows * sizeof(float), rest));
    const kry_arg args[] = { ARG(rows), ARG(A->row_ptr), ARG(A->val), ARG(*rest) };
    TRY(kry_device_rows(A->dev, "coarser", "coarser_rest", A->rows, args, COUNT(args)));
done:
    if (st < 0) kry_buffer_release(A->dev, rest);
    return st;
}

/* ---- operators ----------------------------------------------------------------------------------- */

/* The type of the numbers that operators are given: where the matrix is in double they round them themselves. */
static kry_type numbers_of(const kry_device_levels *L) { return L->matrix->shape.type; }

/* The numbers of A are not needed any more. */
static kry_status store(const kry_device_levels *L, kry_csr *A, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_csr typed = { 0 };

    TRY(kry_csr_convert(A, numbers_of(L), &typed));
    TRY(kry_sliced_operator(&typed, L->keep, traits, op));
    kry_buffer_release(A->dev, &A->val);
done:
    kry_csr_release(&typed);
    return st;
}

kry_status kry_device_levels_operators(kry_device_levels *L, kry_level *level)
{
    kry_status st = KRY_OK;
    kry_device_coarser *to = &L->level[L->count - 1].to;

    if (L->count > 2) TRY(store(L, &L->level[L->count - 2].to.A, KRY_SYMMETRIC, &level->A));
    TRY(store(L, &to->P, 0, &level->P));
    TRY(store(L, &to->R, 0, &level->R));
done:
    return st;
}

/* ---- new numbers --------------------------------------------------------------------------------- */

static kry_status renew_finest(kry_device_levels *L)
{
    kry_status st = KRY_OK;
    kry_csr *A = &L->level[0].to.A, now;
    kry_device_finding found;

    TRY(read_matrix(L, &now, &found));
    CHECK(now.nnz == A->nnz, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          L->who, (long long)now.nnz, (long long)A->nnz);
    kry_buffer_release(A->dev, &A->val);
    A->val = now.val, now.val = NULL;
    L->look = found.look;
done:
    kry_csr_release(&now);
    return st;
}

kry_status kry_device_levels_renew(kry_device_levels *L)
{
    kry_status st = KRY_OK;

    TRY(renew_finest(L));
    for (int i = 1; i < L->count; i++) {
        const level *from = &L->level[i - 1];
        kry_csr *P = &L->level[i].to.P;
        TRY(kry_buffer_create(P->dev, (size_t)P->nnz * kry_type_size(P->type), &P->val));
        TRY(L->by->update(&from->to.A, from->kept, P));
        TRY(kry_device_coarser_again(L->who, i, L->matrix->shape.type, &from->to.A,
                                     &L->level[i].to));
    }
done:
    if (st < 0) kry_device_levels_drop_numbers(L);
    return st;
}

static kry_status exchange(const kry_device_levels *L, kry_csr *A, kry_op *op)
{
    kry_status st = KRY_OK;
    kry_csr typed = { 0 };

    TRY(kry_csr_convert(A, numbers_of(L), &typed));
    TRY(kry_sliced_set_numbers(op, &typed));
    kry_buffer_release(A->dev, &A->val);
done:
    kry_csr_release(&typed);
    return st;
}

kry_status kry_device_levels_store(kry_device_levels *L, kry_hierarchy *H)
{
    kry_status st = KRY_OK;

    for (int i = 1; i < L->count; i++) {
        kry_device_coarser *to = &L->level[i].to;
        TRY(exchange(L, &to->P, kry_hierarchy_level(H, i - 1)->P));
        TRY(exchange(L, &to->R, kry_hierarchy_level(H, i - 1)->R));
        if (i + 1 < L->count) TRY(exchange(L, &to->A, kry_hierarchy_level(H, i)->A));
    }
done:
    kry_device_levels_drop_numbers(L);
    return st;
}
