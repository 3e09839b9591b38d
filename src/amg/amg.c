/*
 * amg.c - algebraic multigrid: on each level a stored matrix, a prolongation P that a coarsener makes of it, and R = P'; below
 * it R A P. The levels are made in double, large ones on a GPU, others by the host.
 */
#include "amg/adaptive.h"
#include "amg/amg_device.h"
#include "amg/amg_start.h"
#include "amg/part_levels.h"
#include "matrix/device_csr.h"
#include "matrix/matrix.h"
#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <stdlib.h>

/* How a level that the host has is coarsened. */
typedef struct host_level {
    kryi_device_csr P; /* the pattern, on the device host */
    void *kept;        /* by the coarsener */
} host_level;

/* What is behind a preconditioner of algebraic multigrid. */
typedef struct kry_amg {
    kry_op *A;                /* retained */
    const kryi_coarsener *by; /* static */
    double complexity;        /* entries of all levels over those of A, at most */
    int64_t nnz;              /* entries of A */
    double entries;           /* of all levels so far */
    int64_t coarsest;         /* unknowns at which to end */
    int levels;               /* at most */
    kryi_device_levels
        *device; /* the finest levels, if a device makes them; NULL: the host makes all */
    int upper;   /* of these, levels that are coarsened */
    int made;    /* the same of the host's, which follow */
    kryi_keep
        keep; /* how operators keep their numbers, but for A and the coarsest level's: in single where constants are
                      the near null space, which rows that add up to what they did leave as it is */
    kryi_row_look look; /* at A */
    kry_op *narrow;     /* A for vectors in single; NULL: the levels' are A's */
    kry_device *host;   /* on which coarseners work for levels that the host has */
    host_level of_host[KRY_AMG_LEVELS];
} kry_amg;

/* ---- vectors in single ----------------------------------------------------------------------- */

/* The type of the levels' vectors: single if that is asked for or, where nobody says, does as well. The finest level's
 * matrix for vectors in single cannot be read, which some scalings do.
 * Returns  KRY_ERR_UNSUPPORTED if it is asked for, and cannot be */
static kry_status choose_type(kry_amg *M, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    const bool asked = cycle->values == KRY_CYCLE_VALUES_SINGLE;
    const bool possible = kryi_matrix_narrows(M->A) && kryi_fits_single(&M->look) && !M->keep.read;
    const bool does_as_well = possible && M->keep.rounded && kryi_suits_single(&M->look);

    CHECK(!asked || possible || M->A->shape.type == KRY_F32, KRY_ERR_UNSUPPORTED,
          "%s: values = single is for an assembled matrix in double on one device, with scaling = "
          "diagonal and a diagonal between 2^-60 and 2^60; this one is between %g and %g",
          kryi_amg_who, M->look.least, M->look.most);
    if (asked || (cycle->values == KRY_CYCLE_VALUES_AUTO && does_as_well)) M->keep.type = KRY_F32;
done:
    return st;
}

/* What rounding takes from the rows of A. */
static kry_status find_rest(const kry_amg *M, const kryi_csr *rows, cl_mem *rest)
{
    return rows ? kryi_rounded_rest(M->A->dev, rows, rest)
                : kryi_device_levels_rest(M->device, rest);
}

/* There is a coarser level: if vectors are to be in single *A, which is A, becomes one for these. rows: of A; NULL: the device
 * has them. */
static kry_status begin_narrow(kry_amg *M, const kryi_csr *rows, kry_op **A)
{
    kry_status st = KRY_OK;
    cl_mem rest = NULL;

    if (M->keep.type == M->A->shape.type) return KRY_OK;
    TRY(find_rest(M, rows, &rest));
    TRY(kryi_matrix_narrowed(M->A, rest, &M->narrow));
    kry_op_release(A);
    *A = kry_op_retain(M->narrow);
done:
    kryi_buffer_release(M->A->dev, &rest);
    return st;
}

/* Whether what was in range of single still is. */
static kry_status check_range(const kry_amg *M)
{
    kry_status st = KRY_OK;

    CHECK(!M->narrow || kryi_fits_single(&M->look), KRY_ERR_ARGUMENT,
          "%s: the diagonal of the matrix is now between %g and %g, and the levels are in single, "
          "for 2^-60 to 2^60; make the preconditioner anew",
          kryi_amg_who, M->look.least, M->look.most);
done:
    return st;
}

/* ---- the levels ------------------------------------------------------------------------------ */

/*
 * The levels of algebraic multigrid, from the finest on: large ones made by the device, the others by the host.
 */

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
        kryi_amg_who, level, (long long)rows, times,
        entries * (double)(kry_type_size(M->A->shape.type) + sizeof(int32_t)), M->complexity);
    M->entries = entries;
done:
    return st;
}

static kry_status start(kry_amg *M, const kryi_amg_sight *s, const kry_amg_params *p,
                        kryi_coarsen *c)
{
    kry_status st = KRY_OK;

    M->complexity = p->complexity > 0 ? p->complexity : 10;
    M->nnz = s->nnz;
    M->entries = (double)M->nnz;
    M->keep.rounded = s->block == 1 && !s->given;
    M->keep.read = p->cycle.scaling != KRY_SCALING_DIAGONAL;
    TRY(choose_type(M, &p->cycle));
    TRY(kryi_amg_start(kryi_amg_who, M->A->shape.rows, s, p, c, &M->by));
    TRY(kryi_amg_host(kryi_amg_who, M->A->dev, &M->host));
done:
    return st;
}

/* c->near_null_space := B, n-by-m, on dev. */
static kry_status put_vectors(kry_device *dev, const double *B, int64_t n, kryi_coarsen *c)
{
    c->dev = dev;
    return kryi_buffer_upload(dev, (size_t)(n * c->vectors) * sizeof *B, B, &c->near_null_space);
}

/* The near null space of the finest level, unless nobody asks for it or it is all ones. */
static kry_status take_vectors(const kry_amg *M, const kryi_amg_sight *s, kry_device *dev,
                               kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    const int64_t n = M->A->shape.rows;
    double *B = NULL;

    c->dev = dev;
    if (M->keep.rounded || M->by == &kryi_classical_coarsening) return KRY_OK;
    TRY(kryi_amg_take_vectors(s, n, c, &B));
    TRY(put_vectors(dev, B, n, c));
done:
    free(B);
    return st;
}

/* to := what the next level is made of; without columns in P if there is none. */
static kry_status coarsen(kry_amg *M, kryi_coarsen *c, const kryi_csr *A, kryi_coarser *to)
{
    kry_status st = KRY_OK;
    host_level made = { 0 };
    kryi_device_csr here = { 0 };

    TRY(kryi_device_csr_upload(M->host, A, &here));
    TRY(M->by->create(c, &here, &made.P, &made.kept));
    if (!made.kept) goto done;
    TRY(kryi_device_csr_download(&made.P, &to->P));
    kryi_buffer_release(M->host, &made.P.val);
    TRY(kryi_coarser_multiply(kryi_amg_who, ++c->level, M->A->shape.type, A, to));
    TRY(check_complexity(M, c->level, to->A.rows, kryi_csr_nnz(&to->A)));
    M->of_host[M->made++] = made, made = (host_level){ 0 };
done:
    M->by->destroy(made.kept);
    kryi_device_csr_release(&made.P);
    kryi_device_csr_release(&here);
    return st;
}

/* Add the level of A, from which `to` leads on. */
static kry_status add_level(const kry_amg *M, kryi_hierarchy *H, kry_op *A, const kryi_coarser *to)
{
    kry_status st = KRY_OK;
    kryi_level level = { .A = A, .factor = A == M->narrow };

    if (to->P.cols > 0) {
        TRY(kryi_rounded_operator(M->A->dev, M->keep, &to->P, 0, &level.P));
        TRY(kryi_rounded_operator(M->A->dev, M->keep, &to->R, 0, &level.R));
    }
    TRY(kryi_hierarchy_add(H, &level));
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    return st;
}

static int levels_of(const kry_amg *M) { return M->upper + M->made + 1; }

/* What is left is solved exactly, which takes a time that has to be bearable. */
static kry_status check_end(const kry_amg *M, const kryi_csr *last)
{
    enum { MOST = 20000 };
    kry_status st = KRY_OK;

    CHECK(last->rows <= MOST || last->rows <= M->coarsest || levels_of(M) >= M->levels ||
              kryi_csr_nnz(last) == last->rows,
          KRY_ERR_UNSUPPORTED,
          "%s: coarsening ends at level %d with %lld unknowns, too many to be solved exactly; the "
          "couplings of this matrix do not suit multigrid by %s",
          kryi_amg_who, levels_of(M) - 1, (long long)last->rows, M->by->name);
done:
    return st;
}

/* *A := the operator of a level below the finest one. The coarsest one is solved by itself, with all its digits. */
static kry_status make_operator(const kry_amg *M, const kryi_csr *rows, bool coarser, kry_op **A)
{
    const kryi_keep digits = { .type = M->A->shape.type };
    return kryi_rounded_operator(M->A->dev, coarser ? M->keep : digits, rows, KRY_SYMMETRIC, A);
}

/* The levels from A on, whose entries are `rows`; takes both over. *A NULL: it has no operator yet. */
static kry_status make_levels(kry_amg *M, kryi_hierarchy *H, kryi_coarsen *c, kryi_csr *rows,
                              kry_op **A)
{
    kry_status st = KRY_OK;
    kryi_coarser to = { 0 };

    for (bool coarser = true; coarser;) {
        if (rows->rows > M->coarsest && levels_of(M) < M->levels) TRY(coarsen(M, c, rows, &to));
        coarser = to.P.cols > 0;
        if (!coarser) TRY(check_end(M, rows));
        if (!*A) TRY(make_operator(M, rows, coarser, A));
        if (coarser && *A == M->A) TRY(begin_narrow(M, rows, A));
        TRY(add_level(M, H, *A, &to));
        kry_op_release(A);
        kryi_csr_release(rows);
        *rows = to.A, to.A = (kryi_csr){ 0 };
        kryi_coarser_release(&to);
    }
done:
    kryi_coarser_release(&to);
    return st;
}

/* rows := those of A, symmetric to the bit. Waits. */
static kry_status read_rows(const kry_amg *M, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kryi_rows_read(kryi_amg_who, M->A, rows));
    TRY(kryi_alloc((size_t)rows->rows, sizeof *inverse, &inverse));
    TRY(kryi_rows_symmetrise(kryi_amg_who, M->A, rows, inverse));
done:
    free(inverse);
    return st;
}

/* The level at which the device is, if there is a coarser one, which it makes. */
static kry_status add_device_level(kry_amg *M, kryi_hierarchy *H, kryi_coarsen *c, bool *coarser)
{
    kry_status st = KRY_OK;
    kryi_level level = { 0 };

    *coarser = false;
    if (kryi_device_levels_rows(M->device) > M->coarsest && levels_of(M) < M->levels)
        TRY(kryi_device_levels_coarsen(M->device, M->by, c, coarser));
    if (!*coarser) goto done;
    TRY(check_complexity(M, c->level, kryi_device_levels_rows(M->device),
                         kryi_device_levels_nnz(M->device)));
    TRY(kryi_device_levels_operators(M->device, &level));
    if (!level.A) {
        level.A = kry_op_retain(M->A);
        TRY(begin_narrow(M, NULL, &level.A));
        level.factor = M->narrow != NULL;
    }
    TRY(kryi_hierarchy_add(H, &level));
    M->upper++;
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    kry_op_release(&level.A);
    return st;
}

/* The near null space, n-by-m, moves to M->host. */
static kry_status move_vectors(const kry_amg *M, kryi_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)(n * c->vectors);
    double *B = NULL;

    TRY(kryi_alloc(count, sizeof *B, &B));
    TRY(kryi_buffer_read(c->dev, c->near_null_space, 0, count * sizeof *B, B));
    kryi_buffer_release(c->dev, &c->near_null_space);
    TRY(put_vectors(M->host, B, n, c));
done:
    free(B);
    return st;
}

/* The levels that are large; rows := the first of the host's, *A: its operator, NULL: it has none yet. */
static kry_status make_device_levels(kry_amg *M, kryi_hierarchy *H, kryi_coarsen *c, kryi_csr *rows,
                                     kry_op **A)
{
    kry_status st = KRY_OK;

    for (bool coarser = true; coarser;) TRY(add_device_level(M, H, c, &coarser));
    if (M->upper) kry_op_release(A);
    TRY(kryi_device_levels_download(M->device, rows));
    kryi_device_levels_drop_numbers(M->device);
    if (c->near_null_space) TRY(move_vectors(M, c, rows->rows));
done:
    return st;
}

/* The host reads the pattern of a matrix that only the device has, as far as it needs it. */
static kry_status look_on_device(const kry_amg *M, const kry_amg_params *p, kryi_amg_sight *s)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = kryi_matrix_of(M->A);
    kryi_csr rows = { 0 }, pattern = A->sorted;

    if (!pattern.col) {
        TRY(kryi_device_csr_rows_for_nodes(A, &rows));
        pattern = rows;
    }
    pattern.val = NULL;
    *s = kryi_amg_look(M->A, &pattern, p);
    s->nnz = kryi_device_levels_nnz(M->device);
    TRY(kryi_device_levels_couplings(M->device, &s->couplings));
done:
    kryi_csr_release(&rows);
    return st;
}

static kry_status start_on_device(kry_amg *M, const kry_amg_params *p, kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    kryi_amg_sight s;

    TRY(kryi_device_levels_create(kryi_amg_who, M->A, &M->device));
    if (!M->device) return KRY_OK;
    TRY(look_on_device(M, p, &s));
    M->look = *kryi_device_levels_look(M->device);
    TRY(start(M, &s, p, c));
    kryi_device_levels_keep(M->device, M->keep);
    TRY(take_vectors(M, &s, M->A->dev, c));
done:
    return st;
}

static kry_status start_on_host(kry_amg *M, const kry_amg_params *p, kryi_coarsen *c,
                                kryi_csr *rows)
{
    kry_status st = KRY_OK;

    TRY(read_rows(M, rows));
    const kryi_amg_sight s = kryi_amg_look(M->A, rows, p);
    M->look = kryi_look_at_rows(rows);
    TRY(start(M, &s, p, c));
    TRY(take_vectors(M, &s, M->host, c));
done:
    return st;
}

/* Add the levels to H. Waits. */
static kry_status make_all_levels(kry_amg *M, kryi_hierarchy *H, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    kryi_coarsen c = { 0 };
    kryi_csr rows = { 0 };
    kry_op *A = kry_op_retain(M->A);

    if (kryi_device_levels_suit(A)) TRY(start_on_device(M, p, &c));
    TRY(M->device ? make_device_levels(M, H, &c, &rows, &A) : start_on_host(M, p, &c, &rows));
    TRY(make_levels(M, H, &c, &rows, &A));
    kryi_hierarchy_level(H, 0)->highest = kryi_highest_of(M->look.bound);
done:
    kry_op_release(&A);
    kryi_csr_release(&rows);
    kryi_buffer_release(c.dev, &c.near_null_space);
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

/* rows := the finest of the host's levels; rest: what rounding takes from A, where its vectors are in single. */
static kry_status renew_upper(kry_amg *M, kryi_csr *rows, cl_mem *rest)
{
    kry_status st = KRY_OK;

    if (M->device) {
        TRY(kryi_device_levels_renew(M->device));
        M->look = *kryi_device_levels_look(M->device);
        TRY(check_range(M));
        if (M->narrow) TRY(find_rest(M, NULL, rest));
        return kryi_device_levels_download(M->device, rows);
    }
    TRY(read_rows(M, rows));
    CHECK(kryi_csr_nnz(rows) == M->nnz, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          kryi_amg_who, (long long)kryi_csr_nnz(rows), (long long)M->nnz);
    M->look = kryi_look_at_rows(rows);
    TRY(check_range(M));
    if (M->narrow) TRY(find_rest(M, rows, rest));
done:
    return st;
}

/* What level i of the host's becomes; its matrix borrows the places of the one that is on the device. */
static kry_status renew_level(kry_amg *M, kryi_hierarchy *H, int i, const kryi_csr *A,
                              kryi_coarser *to)
{
    kry_status st = KRY_OK;
    const int level = M->upper + i;
    host_level *made = &M->of_host[i];
    kryi_device_csr here = { 0 };

    TRY(kryi_device_csr_upload(M->host, A, &here));
    TRY(kryi_buffer_create(M->host, (size_t)made->P.nnz * sizeof(double), &made->P.val));
    TRY(M->by->update(&here, made->kept, &made->P));
    TRY(kryi_device_csr_download(&made->P, &to->P));
    to->A = kryi_matrix_of(kryi_hierarchy_level(H, level + 1)->A)->sorted;
    to->A.type = KRY_F64, to->A.val = NULL;
    TRY(kryi_alloc((size_t)kryi_csr_nnz(&to->A), sizeof(double), &to->A.val));
    TRY(kryi_coarser_multiply(kryi_amg_who, level + 1, M->A->shape.type, A, to));
done:
    kryi_buffer_release(M->host, &made->P.val);
    kryi_device_csr_release(&here);
    return st;
}

/* All numbers are there before one of them replaces an old one. */
static kry_status amg_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    kry_amg *M = self;
    kryi_csr rows = { 0 };
    kryi_coarser *to = NULL;
    cl_mem rest = NULL;

    TRY(kryi_alloc((size_t)M->made + 1, sizeof *to, &to));
    TRY(renew_upper(M, &rows, &rest));
    for (int i = 0; i < M->made; i++) TRY(renew_level(M, H, i, i ? &to[i - 1].A : &rows, &to[i]));
    if (M->device) TRY(kryi_device_levels_store(M->device, H));
    kryi_hierarchy_level(H, 0)->highest = kryi_highest_of(M->look.bound);
    if (M->narrow) TRY(kryi_matrix_narrowed_again(M->narrow, rest));
    if (M->upper) TRY(kryi_rounded_set_numbers(kryi_hierarchy_level(H, M->upper)->A, &rows));
    for (int i = 0; i < M->made; i++) {
        const int level = M->upper + i;
        TRY(kryi_rounded_set_numbers(kryi_hierarchy_level(H, level)->P, &to[i].P));
        TRY(kryi_rounded_set_numbers(kryi_hierarchy_level(H, level)->R, &to[i].R));
        TRY(kryi_rounded_set_numbers(kryi_hierarchy_level(H, level + 1)->A, &to[i].A));
    }
done:
    kryi_buffer_release(M->A->dev, &rest);
    for (int i = 0; to && i < M->made; i++) {
        to[i].A.row_ptr = NULL, to[i].A.col = NULL; /* borrowed */
        kryi_coarser_release(&to[i]);
    }
    free(to);
    kryi_csr_release(&rows);
    return st;
}

static void amg_destroy(void *self)
{
    kry_amg *M = self;
    if (!M) return;
    for (int i = 0; i < M->made; i++) {
        M->by->destroy(M->of_host[i].kept);
        kryi_device_csr_release(&M->of_host[i].P);
    }
    kry_device_release(&M->host);
    kryi_device_levels_release(M->device);
    kry_op_release(&M->narrow);
    kry_op_release(&M->A);
    free(M);
}

void kryi_amg_prefer(kryi_hierarchy *H, const kryi_coarsener *by, bool few)
{
    if (by == &kryi_classical_coarsening)
        kryi_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV, 2);
    else
        kryi_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV4, few ? 3 : 2);
}

static kry_status amg_create(kryi_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);
    kry_amg *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->coarsest = cycle->coarsest;
    M->levels = cycle->levels < KRY_AMG_LEVELS ? cycle->levels : KRY_AMG_LEVELS;
    M->keep.type = A->shape.type;
    TRY(make_all_levels(M, H, params));
    kryi_amg_prefer(H, M->by, M->entries <= 1.3 * (double)M->nnz);
    *self = M, M = NULL;
done:
    amg_destroy(M);
    return st;
}

/* ---- the constructor ------------------------------------------------------------------------- */

static kry_status create_alone(const kry_op *A, const kry_amg_params *p, kry_op **M)
{
    static const kryi_family family = { .kind = "amg",
                                        .who = kryi_amg_who,
                                        .coarsest = 256,
                                        .create = amg_create,
                                        .update = amg_update,
                                        .destroy = amg_destroy };
    return kryi_hierarchy_create(&family, A, &p->cycle, p, M);
}

/* With vectors that A has improved for those that are given. */
static kry_status create_adaptive(const kry_op *A, const kry_amg_params *p, kry_op **M)
{
    kry_status st = KRY_OK;
    kry_amg_params with = *p;
    kry_vec *improved = NULL;

    TRY(kryi_adaptive_vectors(kryi_amg_who, A, p, &improved));
    with.near_null_space = improved;
    TRY(create_alone(A, &with, M));
done:
    kry_vec_release(&improved);
    return st;
}

/* *M := the preconditioner of A or, in a run of all parts, of a share of it. */
static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    static const kryi_whole whole = { kryi_collect_matrix, create_here, false };
    const kry_amg_params *p = params;
    if (kryi_is_share(A)) return kryi_part_levels_create(&whole, A, p, M);
    return p->adaptive > 0 ? create_adaptive(A, p, M) : create_alone(A, p, M);
}

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;
    const kry_amg_params *p = params;

    TRY(kryi_check_sums(kryi_amg_who, A));
    CHECK(!A->dev->team || !p->near_null_space, KRY_ERR_UNSUPPORTED,
          "%s: on a team A is told its near null space by kry_op_set_near_null_space",
          kryi_amg_who);
    TRY(kryi_amg_check(kryi_amg_who, A, p));
done:
    return st;
}

#define PARAMS kry_amg_params
static const kryi_field fields[] = {
    { KRY_FIELD(STRUCT, cycle), .fields = kryi_cycle_fields },
    { KRY_FIELD(INT, coarsening), KRY_WORD("coarsening", CHOICE, "=auto|aggregation|classical",
                                           "how the coarser levels are found") },
    { KRY_FIELD(DOUBLE, strength),
      KRY_WORD("strength", REAL, "=T", "couplings below it are weak; negative: none is"),
      KRY_CLOSED(-(double)INFINITY, 1) },
    { KRY_FIELD(INT, block),
      KRY_WORD("block", WHOLE, "=N", "unknowns of a node (default: by the matrix)"),
      KRY_CLOSED(1, KRY_BLOCK_MOST) },
    { KRY_FIELD(POINTER, near_null_space) },
    { KRY_FIELD(INT, adaptive),
      KRY_WORD("adaptive", WHOLE, "=N", "relaxations that improve the near null space"),
      KRY_CLOSED(0, 1000) },
    { KRY_FIELD(DOUBLE, complexity),
      KRY_WORD("complexity", REAL, "=C",
               "entries of all levels over those of A at which the set-up gives up (default 10)"),
      KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(INT64, gather), .word = KRY_GATHER_WORD, KRY_CLOSED(1, INFINITY) },
    { 0 },
};

const kryi_constructor kryi_amg_precond = { kryi_amg_who, "KRY_AMG",      sizeof(kry_amg_params),
                                            fields,       .check = check, .create = create_here };

kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params, kry_op **M)
{
    return kryi_construct(&kryi_amg_precond, A, params, M);
}
