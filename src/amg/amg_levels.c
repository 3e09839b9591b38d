/*
 * amg_levels.c - the levels of algebraic multigrid, from the finest on: large ones made by the device, the others by the host.
 */
#include "amg/amg_self.h"
#include "amg/amg_start.h"
#include "matrix/spgemm.h"
#include "precond/rows.h"
#include <stdlib.h>

/* The entries of the levels so far, and those of the next one. */
static kry_status check_complexity(kry_amg *M, int level, int64_t rows, int64_t nnz)
{
    kry_status st = KRY_OK;
    const double entries = M->entries + (double)nnz;
    const double times = entries / (double)M->nnz;

    CHECK(
        times <= M->complexity, KRY_ERR_UNSUPPORTED,
        "%s: with level %d, of %lld unknowns, all levels have %.1f times the entries of the matrix "
        "and take %.3g bytes; at most %g times are allowed",
        kry_amg_who, level, (long long)rows, times,
        entries * (double)(kry_type_size(M->A->shape.type) + sizeof(int32_t)), M->complexity);
    M->entries = entries;
done:
    return st;
}

static kry_status start(kry_amg *M, const kry_amg_sight *s, const kry_amg_params *p, kry_coarsen *c)
{
    kry_status st = KRY_OK;

    M->complexity = p->complexity > 0 ? p->complexity : 10;
    M->nnz = s->nnz;
    M->entries = (double)M->nnz;
    M->keep.rounded = s->block == 1 && !s->given;
    M->keep.read = p->cycle.scaling != KRY_SCALING_DIAGONAL;
    TRY(kry_amg_choose_type(M, &p->cycle));
    TRY(kry_amg_start(kry_amg_who, M->A->shape.rows, s, p, c, &M->by));
done:
    return st;
}

/* to := what the next level is made of; without columns in P if there is none. */
static kry_status coarsen(kry_amg *M, kry_coarsen *c, const kry_sparse *A, kry_coarser *to)
{
    kry_status st = KRY_OK;
    void *kept = NULL;

    TRY(M->by->create(c, A, &to->P, &kept));
    if (to->P.cols == 0) goto done;
    TRY(kry_coarser_multiply(kry_amg_who, ++c->level, M->A->shape.type, A, to));
    TRY(check_complexity(M, c->level, to->A.rows, kry_sparse_nnz(&to->A)));
    M->kept[M->made++] = kept, kept = NULL;
done:
    M->by->destroy(kept);
    return st;
}

/* Add the level of A, from which `to` leads on. */
static kry_status add_level(const kry_amg *M, kry_hierarchy *H, kry_op *A, const kry_coarser *to)
{
    kry_status st = KRY_OK;
    kry_level level = { .A = A, .factor = A == M->narrow };

    if (to->P.cols > 0) {
        TRY(kry_rounded_operator(M->A->dev, M->keep, &to->P, 0, &level.P));
        TRY(kry_rounded_operator(M->A->dev, M->keep, &to->R, 0, &level.R));
    }
    TRY(kry_hierarchy_add(H, &level));
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    return st;
}

static int levels_of(const kry_amg *M) { return M->upper + M->made + 1; }

/* What is left is solved exactly, which takes a time that has to be bearable. */
static kry_status check_end(const kry_amg *M, const kry_sparse *last)
{
    enum { MOST = 20000 };
    kry_status st = KRY_OK;

    CHECK(last->rows <= MOST || last->rows <= M->coarsest || levels_of(M) >= M->levels ||
              kry_sparse_nnz(last) == last->rows,
          KRY_ERR_UNSUPPORTED,
          "%s: coarsening ends at level %d with %lld unknowns, too many to be solved exactly; the "
          "couplings of this matrix do not suit multigrid by %s",
          kry_amg_who, levels_of(M) - 1, (long long)last->rows, M->by->name);
done:
    return st;
}

/* Of a level below the finest one. The coarsest one is solved by itself, with all its digits. */
static kry_status make_operator(const kry_amg *M, const kry_sparse *rows, bool coarser, kry_op **A)
{
    const kry_keep digits = { .type = M->A->shape.type };
    return kry_rounded_operator(M->A->dev, coarser ? M->keep : digits, rows, KRY_SYMMETRIC, A);
}

/* The levels from A on, whose entries are `rows`; takes both over. *A NULL: it has no operator yet. */
static kry_status make_levels(kry_amg *M, kry_hierarchy *H, kry_coarsen *c, kry_sparse *rows,
                              kry_op **A)
{
    kry_status st = KRY_OK;
    kry_coarser to = { 0 };

    for (bool coarser = true; coarser;) {
        if (rows->rows > M->coarsest && levels_of(M) < M->levels) TRY(coarsen(M, c, rows, &to));
        coarser = to.P.cols > 0;
        if (!coarser) TRY(check_end(M, rows));
        if (!*A) TRY(make_operator(M, rows, coarser, A));
        if (coarser && *A == M->A) TRY(kry_amg_begin_narrow(M, rows, A));
        TRY(add_level(M, H, *A, &to));
        kry_op_release(A);
        kry_sparse_release(rows);
        *rows = to.A, to.A = (kry_sparse){ 0 };
        kry_coarser_release(&to);
    }
done:
    kry_coarser_release(&to);
    return st;
}

kry_status kry_amg_read_rows(const kry_amg *M, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kry_rows_read(kry_amg_who, M->A, rows));
    TRY(kry_alloc((size_t)rows->rows, sizeof *inverse, &inverse));
    TRY(kry_rows_symmetrise(kry_amg_who, M->A, rows, inverse));
done:
    free(inverse);
    return st;
}

/* The level at which the device is, if there is a coarser one, which it makes. */
static kry_status add_device_level(kry_amg *M, kry_hierarchy *H, kry_coarsen *c, bool *coarser)
{
    kry_status st = KRY_OK;
    kry_level level = { 0 };

    *coarser = false;
    if (kry_device_levels_rows(M->device) > M->coarsest && levels_of(M) < M->levels)
        TRY(kry_device_levels_coarsen(M->device, M->by->on_device, c, coarser));
    if (!*coarser) goto done;
    TRY(check_complexity(M, c->level, kry_device_levels_rows(M->device),
                         kry_device_levels_nnz(M->device)));
    TRY(kry_device_levels_operators(M->device, &level));
    if (!level.A) {
        level.A = kry_op_retain(M->A);
        TRY(kry_amg_begin_narrow(M, NULL, &level.A));
        level.factor = M->narrow != NULL;
    }
    TRY(kry_hierarchy_add(H, &level));
    M->upper++;
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    kry_op_release(&level.A);
    return st;
}

/* The near null space, n-by-m, from the device. */
static kry_status take_back(const kry_amg *M, kry_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)(n * c->vectors);

    TRY(kry_alloc(count, sizeof *c->near_null_space, &c->near_null_space));
    TRY(kry_buffer_read(M->A->dev, c->on_device, 0, count * sizeof *c->near_null_space,
                        c->near_null_space));
done:
    return st;
}

/* The levels that are large; rows := the first of the host's, *A: its operator, NULL: it has none yet. */
static kry_status make_device_levels(kry_amg *M, kry_hierarchy *H, kry_coarsen *c, kry_sparse *rows,
                                     kry_op **A)
{
    kry_status st = KRY_OK;

    for (bool coarser = true; coarser;) TRY(add_device_level(M, H, c, &coarser));
    if (M->upper) kry_op_release(A);
    TRY(kry_device_levels_download(M->device, rows));
    kry_device_levels_drop_numbers(M->device);
    TRY(c->on_device ? take_back(M, c, rows->rows)
                     : kry_amg_take_vectors(&(kry_amg_sight){ 0 }, rows->rows, c));
done:
    return st;
}

/* The host reads the pattern of a matrix that only the device has, as far as it needs it. */
static kry_status look_on_device(const kry_amg *M, const kry_amg_params *p, kry_amg_sight *s)
{
    kry_status st = KRY_OK;
    const kry_matrix *A = kry_matrix_of(M->A);
    kry_sparse rows = { 0 }, pattern = A->sorted;

    if (!pattern.col) {
        TRY(kry_csr_rows_for_nodes(A, &rows));
        pattern = rows;
    }
    pattern.val = NULL;
    *s = kry_amg_look(M->A, &pattern, p);
    s->nnz = kry_device_levels_nnz(M->device);
    TRY(kry_device_levels_couplings(M->device, &s->couplings));
done:
    kry_sparse_release(&rows);
    return st;
}

static kry_status start_on_device(kry_amg *M, const kry_amg_params *p, kry_coarsen *c)
{
    kry_status st = KRY_OK;
    const int64_t n = M->A->shape.rows;
    kry_amg_sight s;

    TRY(kry_device_levels_create(kry_amg_who, M->A, &M->device));
    if (!M->device) return KRY_OK;
    TRY(look_on_device(M, p, &s));
    M->look = *kry_device_levels_look(M->device);
    TRY(start(M, &s, p, c));
    kry_device_levels_keep(M->device, M->keep);
    if (M->keep.rounded || M->by == &kry_classical_coarsening) return KRY_OK;
    TRY(kry_amg_take_vectors(&s, n, c));
    TRY(kry_buffer_upload(M->A->dev, (size_t)(n * c->vectors) * sizeof *c->near_null_space,
                          c->near_null_space, &c->on_device));
    free(c->near_null_space);
    c->near_null_space = NULL;
done:
    return st;
}

static kry_status start_on_host(kry_amg *M, const kry_amg_params *p, kry_coarsen *c,
                                kry_sparse *rows)
{
    kry_status st = KRY_OK;

    TRY(kry_amg_read_rows(M, rows));
    const kry_amg_sight s = kry_amg_look(M->A, rows, p);
    M->look = kry_look_at_rows(rows);
    TRY(start(M, &s, p, c));
    TRY(kry_amg_take_vectors(&s, rows->rows, c));
done:
    return st;
}

kry_status kry_amg_make_levels(kry_amg *M, kry_hierarchy *H, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    kry_coarsen c = { 0 };
    kry_sparse rows = { 0 };
    kry_op *A = kry_op_retain(M->A);

    if (kry_device_levels_suit(A)) TRY(start_on_device(M, p, &c));
    TRY(M->device ? make_device_levels(M, H, &c, &rows, &A) : start_on_host(M, p, &c, &rows));
    TRY(make_levels(M, H, &c, &rows, &A));
    kry_hierarchy_level(H, 0)->highest = kry_highest_of(M->look.bound);
done:
    kry_op_release(&A);
    kry_sparse_release(&rows);
    free(c.near_null_space);
    kry_buffer_release(M->A->dev, &c.on_device);
    return st;
}
