/* device_levels.c - the levels of algebraic multigrid that a device makes, which may be the device host. Between set-ups only
 * their patterns stay; the numbers are the operators'. */
#include "amg/amg_device.h"
#include "amg/amg_start.h"
#include "amg/classical.h"
#include "matrix/matrix.h"
#include "precond/rows.h"
#include <stdlib.h>

enum { LEVELS = 64, SMALL = 4096 /* rows: the host is faster */, LONGEST = 1 << 16 /* row */ };

typedef struct level {
    kryi_device_coarser to; /* from the level above; of the finest level only A */
    void *kept;             /* what the coarsener keeps of this level */
} level;

struct kryi_device_levels {
    const char *who;
    const kry_op *matrix; /* of the finest level of all; borrowed */
    kry_device *dev;      /* that makes the levels; retained */
    bool on_host;         /* of any size; operators are made by the host */
    bool unsymmetric;     /* matrices need not be symmetric */
    bool below;           /* the finest of these levels is not the matrix */
    const kryi_coarsener *by;
    kryi_device_csr
        given;          /* the matrix as it was given; empty where the host has made it symmetric */
    kryi_row_look look; /* at the finest level */
    kryi_keep keep;     /* of operators */
    int count;
    level level[LEVELS];
};

bool kryi_device_levels_suit(const kry_op *A)
{
    const kryi_matrix *matrix = kryi_matrix_of(A);
    const kry_device_info *info = &A->dev->info;

    return matrix && !kryi_matrix_is_wrapped(matrix) && info->fp64 && !info->cpu_kernels &&
           matrix->nnz <= INT32_MAX && A->shape.rows > SMALL;
}

void kryi_device_levels_drop_numbers(kryi_device_levels *L)
{
    for (int i = 0; i < L->count; i++) {
        kryi_device_coarser *to = &L->level[i].to;
        kryi_device_csr *const matrices[] = { &to->P, &to->R, &to->AP, &to->A };
        for (size_t k = 0; k < COUNT(matrices); k++) kryi_buffer_release(L->dev, &matrices[k]->val);
    }
    kryi_buffer_release(L->dev, &L->given.val);
}

void kryi_device_levels_release(kryi_device_levels *L)
{
    if (!L) return;
    for (int i = 0; i < L->count; i++) {
        if (L->by) L->by->destroy(L->level[i].kept);
        kryi_device_coarser_release(&L->level[i].to);
    }
    kryi_device_csr_release(&L->given);
    kry_device_release(&L->dev);
    free(L);
}

void kryi_device_levels_keep(kryi_device_levels *L, kryi_keep keep) { L->keep = keep; }

static const kryi_device_csr *last(const kryi_device_levels *L)
{
    return &L->level[L->count - 1].to.A;
}
const kryi_row_look *kryi_device_levels_look(const kryi_device_levels *L) { return &L->look; }
int64_t kryi_device_levels_rows(const kryi_device_levels *L) { return last(L)->rows; }
int64_t kryi_device_levels_nnz(const kryi_device_levels *L) { return last(L)->nnz; }

kry_status kryi_device_levels_couplings(const kryi_device_levels *L, kryi_coupling_sums *c)
{
    return kryi_splitting_signs(last(L), &c->positive, &c->negative);
}

kry_status kryi_device_levels_download(const kryi_device_levels *L, kryi_csr *rows)
{
    return kryi_device_csr_download(last(L), rows);
}

kry_status kryi_device_levels_rows_for_nodes(const kryi_device_levels *L, kryi_csr *rows)
{
    return kryi_device_csr_rows_for_nodes(last(L), rows);
}

/* ---- the finest level ---------------------------------------------------------------------------- */

/* What is symmetric but for rounding is made so by the host, which names what is not. */
static kry_status read_from_host(const kryi_device_levels *L, kryi_device_csr *A,
                                 kryi_row_look *look)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;
    kryi_csr rows = { 0 };

    TRY(kryi_rows_read(L->who, L->matrix, &rows));
    TRY(kryi_alloc((size_t)rows.rows, sizeof *inverse, &inverse));
    TRY(kryi_rows_symmetrise(L->who, L->matrix, &rows, inverse));
    *look = kryi_look_at_rows(&rows);
    TRY(kryi_device_csr_upload(L->dev, &rows, A));
done:
    kryi_csr_release(&rows);
    free(inverse);
    return st;
}

/* A := the matrix in double, symmetric to the bit. */
static kry_status read_matrix(kryi_device_levels *L, kryi_device_csr *A, kryi_device_facts *f)
{
    kry_status st = KRY_OK;

    *A = (kryi_device_csr){ 0 };
    if (!L->given.dev)
        TRY(kryi_device_csr_of(kryi_matrix_of(L->matrix), &L->given));
    else
        TRY(kryi_device_csr_of_again(kryi_matrix_of(L->matrix), &L->given));
    TRY(kryi_device_csr_convert(&L->given, KRY_F64, A));
    TRY(kryi_device_check(A, f));
    if (f->sound || L->unsymmetric) return KRY_OK;
    kryi_device_csr_release(A);
    TRY(read_from_host(L, A, &f->look));
done:
    if (st < 0) kryi_device_csr_release(A);
    return st;
}

kry_status kryi_device_levels_create(const char *who, const kry_op *A, bool unsymmetric,
                                     kryi_device_levels **out)
{
    kry_status st = KRY_OK;
    kryi_device_levels *L = NULL;
    kryi_device_facts found;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *L, &L));
    L->who = who, L->matrix = A, L->keep.type = A->shape.type, L->unsymmetric = unsymmetric;
    L->dev = kry_device_retain(A->dev);
    TRY(read_matrix(L, &L->level[0].to.A, &found));
    L->look = found.look;
    L->count = 1;
    if (found.longest <= LONGEST) *out = L, L = NULL;
done:
    kryi_device_levels_release(L);
    return st;
}

kry_status kryi_device_levels_create_on_host(const char *who, const kry_op *A, bool below,
                                             const kryi_csr *rows, kryi_device_levels **out)
{
    kry_status st = KRY_OK;
    kryi_device_levels *L = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *L, &L));
    L->who = who, L->matrix = A, L->keep.type = A->shape.type;
    L->on_host = true, L->below = below;
    TRY(kryi_amg_host(who, A->dev, &L->dev));
    TRY(kryi_device_csr_upload(L->dev, rows, &L->level[0].to.A));
    L->count = 1;
    *out = L, L = NULL;
done:
    kryi_device_levels_release(L);
    return st;
}

kry_device *kryi_device_levels_device(const kryi_device_levels *L) { return L->dev; }

/* ---- coarser levels ------------------------------------------------------------------------------ */

kry_status kryi_device_levels_coarsen(kryi_device_levels *L, const kryi_coarsener *by,
                                      kryi_coarsen *c, bool *coarser)
{
    kry_status st = KRY_OK;
    level *from = &L->level[L->count - 1];
    kryi_device_coarser to = { 0 };

    *coarser = false;
    if (L->count == LEVELS) return KRY_OK;
    if (!L->on_host && from->to.A.rows <= SMALL) return KRY_OK;
    L->by = by;
    if (c->block > 1 && !from->to.A.tall)
        TRY(kryi_device_csr_find_blocks(c->block, c->block, &from->to.A));
    TRY(by->create(c, &from->to.A, &to.P, &to.R, &from->kept));
    if (!from->kept) return KRY_OK;
    TRY(kryi_device_coarser_multiply(L->who, ++c->level, L->matrix->shape.type, &from->to.A, &to));
    L->level[L->count++].to = to, to = (kryi_device_coarser){ 0 };
    *coarser = true;
done:
    kryi_device_coarser_release(&to);
    return st;
}

kry_status kryi_device_levels_rest(const kryi_device_levels *L, cl_mem *rest)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *A = &L->level[0].to.A;
    const cl_int rows = (cl_int)A->rows;
    const size_t bytes = (size_t)A->rows * sizeof(float);
    float *numbers = NULL;
    cl_mem here = NULL;

    TRY(kryi_buffer_create(L->dev, bytes, &here));
    const kry_arg args[] = { ARG(rows), ARG(A->row_ptr), ARG(A->val), ARG(here) };
    TRY(kryi_device_rows(L->dev, "coarser", "coarser_rest", A->rows, args, COUNT(args)));
    if (L->dev == L->matrix->dev) {
        *rest = here, here = NULL;
    } else {
        TRY(kryi_alloc((size_t)A->rows, sizeof *numbers, &numbers));
        TRY(kryi_buffer_read(L->dev, here, 0, bytes, numbers));
        TRY(kryi_buffer_upload(L->matrix->dev, bytes, numbers, rest));
    }
done:
    free(numbers);
    kryi_buffer_release(L->dev, &here);
    return st;
}

/* ---- operators ----------------------------------------------------------------------------------- */

/* The type of the numbers that operators are given: where the matrix is in double they round them themselves. */
static kry_type numbers_of(const kryi_device_levels *L) { return L->matrix->shape.type; }

/* *op := A, or if it is there already it takes A's numbers, which are not needed any more. */
static kry_status store_there(const kryi_device_levels *L, kryi_keep keep, kryi_device_csr *A,
                              unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_device_csr typed = { 0 };

    TRY(kryi_device_csr_convert(A, numbers_of(L), &typed));
    TRY(*op ? kryi_sliced_set_numbers(*op, &typed)
            : kryi_sliced_operator(&typed, keep, traits, op));
done:
    kryi_device_csr_release(&typed);
    return st;
}

static kry_status store_by_host(const kryi_device_levels *L, kryi_keep keep,
                                const kryi_device_csr *A, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    TRY(kryi_device_csr_download(A, &rows));
    TRY(*op ? kryi_rounded_set_numbers(*op, &rows)
            : kryi_rounded_operator(L->matrix->dev, keep, &rows, traits, op));
done:
    kryi_csr_release(&rows);
    return st;
}

static kry_status store(const kryi_device_levels *L, kryi_keep keep, kryi_device_csr *A,
                        unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;

    TRY(L->on_host ? store_by_host(L, keep, A, traits, op) : store_there(L, keep, A, traits, op));
    kryi_buffer_release(L->dev, &A->val);
done:
    return st;
}

/* Matrices of the levels have these traits. */
static unsigned traits_of(const kryi_device_levels *L)
{
    return L->by == &kryi_air_coarsening ? 0 : KRY_SYMMETRIC;
}

kry_status kryi_device_levels_operators(kryi_device_levels *L, kryi_level *level)
{
    kry_status st = KRY_OK;
    kryi_device_coarser *to = &L->level[L->count - 1].to;

    if (L->count > 2 || L->below)
        TRY(store(L, L->keep, &L->level[L->count - 2].to.A, traits_of(L), &level->A));
    TRY(store(L, L->keep, &to->P, 0, &level->P));
    TRY(store(L, L->keep, &to->R, 0, &level->R));
done:
    return st;
}

kry_status kryi_device_levels_coarsest(kryi_device_levels *L, kry_op **A)
{
    const kryi_keep digits = { .type = L->matrix->shape.type };
    return store(L, digits, &L->level[L->count - 1].to.A, traits_of(L), A);
}

/* ---- new numbers --------------------------------------------------------------------------------- */

static kry_status check_count(const kryi_device_levels *L, int64_t nnz)
{
    kry_status st = KRY_OK;
    const int64_t before = L->level[0].to.A.nnz;

    CHECK(nnz == before, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          L->who, (long long)nnz, (long long)before);
done:
    return st;
}

static kry_status renew_finest(kryi_device_levels *L)
{
    kry_status st = KRY_OK;
    kryi_device_csr *A = &L->level[0].to.A, now;
    kryi_device_facts found;

    TRY(read_matrix(L, &now, &found));
    TRY(check_count(L, now.nnz));
    kryi_buffer_release(L->dev, &A->val);
    A->val = now.val, now.val = NULL;
    L->look = found.look;
done:
    kryi_device_csr_release(&now);
    return st;
}

static kry_status take_finest(kryi_device_levels *L, const kryi_csr *rows)
{
    kry_status st = KRY_OK;
    kryi_device_csr *A = &L->level[0].to.A;

    TRY(check_count(L, kryi_csr_nnz(rows)));
    kryi_buffer_release(L->dev, &A->val);
    TRY(kryi_buffer_upload(L->dev, (size_t)A->nnz * sizeof(double), rows->val, &A->val));
done:
    return st;
}

kry_status kryi_device_levels_renew(kryi_device_levels *L, const kryi_csr *rows)
{
    kry_status st = KRY_OK;

    TRY(rows ? take_finest(L, rows) : renew_finest(L));
    for (int i = 1; i < L->count; i++) {
        const level *from = &L->level[i - 1];
        kryi_device_csr *P = &L->level[i].to.P, *R = &L->level[i].to.R;
        TRY(kryi_buffer_create(P->dev, (uint64_t)P->nnz * kry_type_size(P->type), &P->val));
        if (!L->level[i].to.from)
            TRY(kryi_buffer_create(R->dev, (uint64_t)R->nnz * kry_type_size(R->type), &R->val));
        TRY(L->by->update(&from->to.A, from->kept, P, R));
        TRY(kryi_device_coarser_again(L->who, i, L->matrix->shape.type, &from->to.A,
                                      &L->level[i].to));
    }
done:
    return st;
}

kry_status kryi_device_levels_store(kryi_device_levels *L, kryi_hierarchy *H, int first)
{
    kry_status st = KRY_OK;
    const kryi_keep keep = L->keep;

    for (int i = 0; i < L->count; i++) {
        kryi_device_coarser *to = &L->level[i].to;
        if (i > 0) {
            kryi_level *above = kryi_hierarchy_level(H, first + i - 1);
            TRY(store(L, keep, &to->P, 0, &above->P));
            TRY(store(L, keep, &to->R, 0, &above->R));
        }
        if ((i > 0 || L->below) && (i + 1 < L->count || L->on_host))
            TRY(store(L, keep, &to->A, 0, &kryi_hierarchy_level(H, first + i)->A));
    }
done:
    return st;
}
