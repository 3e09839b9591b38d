/*
 * amg.c - algebraic multigrid: on each level a stored matrix, a prolongation P that a coarsener makes of it, and R = P', or an R
 * that it makes, too; below it R A P. The levels are made in double, large ones on a GPU, others by the host.
 */
#include "amg/adaptive.h"
#include "amg/amg_device.h"
#include "amg/amg_start.h"
#include "amg/part_levels.h"
#include "matrix/device_csr.h"
#include "matrix/matrix.h"
#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"
#include "precond/coarse.h"
#include "precond/rows.h"
#include <stdlib.h>

/* What is behind a preconditioner of algebraic multigrid. */
typedef struct kry_amg {
    kry_op *A;                /* retained */
    bool unsymmetric;         /* restriction is approximately ideal */
    const kryi_coarsener *by; /* static */
    double complexity;        /* entries of all levels over those of A, at most */
    int64_t nnz;              /* entries of A */
    double entries;           /* of all levels so far */
    int64_t coarsest;         /* unknowns at which to end */
    int levels;               /* at most */
    kryi_device_levels
        *large; /* the finest levels, if a GPU makes them; NULL: the host makes all */
    kryi_device_levels *small; /* the others, from the last of these on */
    int upper;                 /* levels of `large` that have a coarser one */
    int count;                 /* levels of all that have a coarser one */
    kryi_keep
        keep; /* how operators keep their numbers, but for A and the coarsest level's: in single where constants are
                      the near null space, which rows that add up to what they did leave as it is */
    kryi_row_look look; /* at A */
    kry_op *narrow;     /* A for vectors in single; NULL: the levels' are A's */
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

/* There is a coarser level: if vectors are to be in single *A := A for these, else A. L has the finest level. */
static kry_status begin_narrow(kry_amg *M, const kryi_device_levels *L, kry_op **A)
{
    kry_status st = KRY_OK;
    cl_mem rest = NULL;

    if (M->keep.type != M->A->shape.type) {
        TRY(kryi_device_levels_rest(L, &rest));
        TRY(kryi_matrix_narrowed(M->A, rest, &M->narrow));
    }
    *A = kry_op_retain(M->narrow ? M->narrow : M->A);
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
    M->keep.rounded = s->unsymmetric || (s->block == 1 && !s->given);
    M->keep.read = p->cycle.scaling != KRY_SCALING_DIAGONAL;
    TRY(choose_type(M, &p->cycle));
    TRY(kryi_amg_start(kryi_amg_who, M->A->shape.rows, s, p, c, &M->by));
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
    if (M->keep.rounded || M->by != &kryi_smoothed_aggregation) return KRY_OK;
    TRY(kryi_amg_take_vectors(s, n, c, &B));
    TRY(put_vectors(dev, B, n, c));
done:
    free(B);
    return st;
}

/* What is left is solved exactly, which takes a time that has to be bearable. */
static kry_status check_end(const kry_amg *M)
{
    kry_status st = KRY_OK;
    const int64_t rows = kryi_device_levels_rows(M->small),
                  most = M->unsymmetric ? KRY_LU_MOST : 20000;

    CHECK(rows <= most || rows <= M->coarsest || M->count + 1 >= M->levels ||
              kryi_device_levels_nnz(M->small) == rows,
          KRY_ERR_UNSUPPORTED,
          "%s: coarsening ends at level %d with %lld unknowns, too many to be solved exactly; the "
          "couplings of this matrix do not suit multigrid by %s",
          kryi_amg_who, M->count, (long long)rows, M->by->name);
done:
    return st;
}

/* Add the level at which L is, if there is a coarser one, which it makes. */
static kry_status add_level(kry_amg *M, kryi_hierarchy *H, kryi_device_levels *L, kryi_coarsen *c,
                            bool *coarser)
{
    kry_status st = KRY_OK;
    kryi_level level = { 0 };

    *coarser = false;
    if (kryi_device_levels_rows(L) > M->coarsest && M->count + 1 < M->levels)
        TRY(kryi_device_levels_coarsen(L, M->by, c, coarser));
    if (!*coarser) goto done;
    level.unsymmetric = M->unsymmetric;
    TRY(check_complexity(M, c->level, kryi_device_levels_rows(L), kryi_device_levels_nnz(L)));
    TRY(kryi_device_levels_operators(L, &level));
    if (!level.A) {
        TRY(begin_narrow(M, L, &level.A));
        level.factor = M->narrow != NULL;
    }
    TRY(kryi_hierarchy_add(H, &level));
    M->count++;
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    kry_op_release(&level.A);
    return st;
}

/* Add the coarsest level. */
static kry_status add_end(const kry_amg *M, kryi_hierarchy *H)
{
    kry_status st = KRY_OK;
    kryi_level level = { .unsymmetric = M->unsymmetric };

    TRY(check_end(M));
    if (M->count)
        TRY(kryi_device_levels_coarsest(M->small, &level.A));
    else
        level.A = kry_op_retain(M->A);
    TRY(kryi_hierarchy_add(H, &level));
done:
    kry_op_release(&level.A);
    return st;
}

/* rows := those of A, symmetric to the bit unless they need not be. Waits. */
static kry_status read_rows(const kry_amg *M, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kryi_rows_read(kryi_amg_who, M->A, rows));
    if (M->unsymmetric) return KRY_OK;
    TRY(kryi_alloc((size_t)rows->rows, sizeof *inverse, &inverse));
    TRY(kryi_rows_symmetrise(kryi_amg_who, M->A, rows, inverse));
done:
    free(inverse);
    return st;
}

/* The near null space, n-by-m, moves to another device. */
static kry_status move_vectors(kry_device *to, kryi_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)(n * c->vectors);
    double *B = NULL;

    TRY(kryi_alloc(count, sizeof *B, &B));
    TRY(kryi_buffer_read(c->dev, c->near_null_space, 0, count * sizeof *B, B));
    kryi_buffer_release(c->dev, &c->near_null_space);
    TRY(put_vectors(to, B, n, c));
done:
    free(B);
    return st;
}

/* The levels that a GPU makes; M->small := the others. */
static kry_status make_large_levels(kry_amg *M, kryi_hierarchy *H, kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    for (bool coarser = true; coarser;) TRY(add_level(M, H, M->large, c, &coarser));
    M->upper = M->count;
    TRY(kryi_device_levels_download(M->large, &rows));
    kryi_device_levels_drop_numbers(M->large);
    TRY(kryi_device_levels_create_on_host(kryi_amg_who, M->A, M->upper > 0, &rows, &M->small));
    if (c->near_null_space) TRY(move_vectors(kryi_device_levels_device(M->small), c, rows.rows));
    c->dev = kryi_device_levels_device(M->small);
done:
    kryi_csr_release(&rows);
    return st;
}

/* The host reads the pattern of a matrix that only the device has, as far as it needs it. */
static kry_status look_on_device(const kry_amg *M, const kry_amg_params *p, kryi_amg_sight *s)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = kryi_matrix_of(M->A);
    kryi_csr rows = { 0 }, pattern = A->sorted;

    if (!pattern.col) {
        TRY(kryi_device_levels_rows_for_nodes(M->large, &rows));
        pattern = rows;
    }
    pattern.val = NULL;
    *s = kryi_amg_look(M->A, &pattern, p);
    s->unsymmetric = M->unsymmetric;
    s->nnz = kryi_device_levels_nnz(M->large);
    TRY(kryi_device_levels_couplings(M->large, &s->couplings));
done:
    kryi_csr_release(&rows);
    return st;
}

static kry_status start_on_device(kry_amg *M, const kry_amg_params *p, kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    kryi_amg_sight s;

    TRY(kryi_device_levels_create(kryi_amg_who, M->A, M->unsymmetric, &M->large));
    if (!M->large) return KRY_OK;
    TRY(look_on_device(M, p, &s));
    M->look = *kryi_device_levels_look(M->large);
    TRY(start(M, &s, p, c));
    kryi_device_levels_keep(M->large, M->keep);
    TRY(take_vectors(M, &s, M->A->dev, c));
done:
    return st;
}

static kry_status start_on_host(kry_amg *M, const kry_amg_params *p, kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    TRY(read_rows(M, &rows));
    kryi_amg_sight s = kryi_amg_look(M->A, &rows, p);
    s.unsymmetric = M->unsymmetric;
    M->look = kryi_look_at_rows(&rows);
    TRY(start(M, &s, p, c));
    TRY(kryi_device_levels_create_on_host(kryi_amg_who, M->A, false, &rows, &M->small));
    TRY(take_vectors(M, &s, kryi_device_levels_device(M->small), c));
done:
    kryi_csr_release(&rows);
    return st;
}

/* Smoothing is given a largest eigenvalue. Where matrices are not symmetric nothing estimates it, and it is 2, as far as the
 * circles around dominant diagonals reach. */
static void find_highest(const kry_amg *M, kryi_hierarchy *H)
{
    const int levels = M->unsymmetric ? kryi_hierarchy_levels(H) : 0;

    kryi_hierarchy_level(H, 0)->highest = kryi_highest_of(M->look.bound);
    for (int i = 0; i < levels; i++) kryi_hierarchy_level(H, i)->highest = 2;
}

/* Add the levels to H. Waits. */
static kry_status make_all_levels(kry_amg *M, kryi_hierarchy *H, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    kryi_coarsen c = { 0 };

    if (kryi_device_levels_suit(M->A)) TRY(start_on_device(M, p, &c));
    TRY(M->large ? make_large_levels(M, H, &c) : start_on_host(M, p, &c));
    kryi_device_levels_keep(M->small, M->keep);
    for (bool coarser = true; coarser;) TRY(add_level(M, H, M->small, &c, &coarser));
    TRY(add_end(M, H));
    kryi_device_levels_drop_numbers(M->small);
    find_highest(M, H);
done:
    kryi_buffer_release(c.dev, &c.near_null_space);
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

/* New numbers of all levels, which the operators do not have yet. */
static kry_status renew(kry_amg *M)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    if (M->large) {
        TRY(kryi_device_levels_renew(M->large, NULL));
        TRY(kryi_device_levels_download(M->large, &rows));
        M->look = *kryi_device_levels_look(M->large);
    } else {
        TRY(read_rows(M, &rows));
        M->look = kryi_look_at_rows(&rows);
    }
    TRY(check_range(M));
    TRY(kryi_device_levels_renew(M->small, &rows));
done:
    kryi_csr_release(&rows);
    return st;
}

/* All numbers are there before one of them replaces an old one. */
static kry_status amg_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    kry_amg *M = self;
    cl_mem rest = NULL;

    TRY(renew(M));
    if (M->narrow) TRY(kryi_device_levels_rest(M->large ? M->large : M->small, &rest));
    if (M->large) TRY(kryi_device_levels_store(M->large, H, 0));
    find_highest(M, H);
    if (M->narrow) TRY(kryi_matrix_narrowed_again(M->narrow, rest));
    TRY(kryi_device_levels_store(M->small, H, M->upper));
done:
    kryi_buffer_release(M->A->dev, &rest);
    if (M->large) kryi_device_levels_drop_numbers(M->large);
    kryi_device_levels_drop_numbers(M->small);
    return st;
}

static void amg_destroy(void *self)
{
    kry_amg *M = self;
    if (!M) return;
    kryi_device_levels_release(M->small);
    kryi_device_levels_release(M->large);
    kry_op_release(&M->narrow);
    kry_op_release(&M->A);
    free(M);
}

void kryi_amg_prefer(kryi_hierarchy *H, const kryi_coarsener *by, bool few)
{
    if (by == &kryi_classical_coarsening)
        kryi_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV, 2, 1);
    else if (by == &kryi_air_coarsening)
        kryi_hierarchy_prefer(H, KRY_SMOOTHER_JACOBI, 1, 2);
    else
        kryi_hierarchy_prefer(H, KRY_SMOOTHER_CHEBYSHEV4, few ? 3 : 2, 1);
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
    TRY(kryi_amg_kind(kryi_amg_who, A, params, &M->unsymmetric));
    if (M->unsymmetric && M->coarsest > KRY_LU_MOST) M->coarsest = KRY_LU_MOST;
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
    { KRY_FIELD(INT, restriction),
      KRY_WORD("restrict", CHOICE, "=auto|transpose|air", "how residuals get to coarser levels") },
    { 0 },
};

const kryi_constructor kryi_amg_precond = { kryi_amg_who, "KRY_AMG",      sizeof(kry_amg_params),
                                            fields,       .check = check, .create = create_here };

kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params, kry_op **M)
{
    return kryi_construct(&kryi_amg_precond, A, params, M);
}
