/*
 * amg.c - the levels of algebraic multigrid: on each a stored matrix, a prolongation P that a coarsener
 * makes of it, and R = P'; below it R A P. The host makes them, in double.
 */
#include "multigrid/amg.h"
#include "matrix/matrix.h"
#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>

static const char who[] = "kry_amg_create";

enum { LEVELS = 64 };

typedef struct amg {
    kry_op *A;               /* retained */
    const kry_coarsener *by; /* static */
    double complexity;       /* entries of all levels over those of A, at most */
    int64_t nnz;             /* entries of A */
    double entries;          /* of all levels so far */
    int64_t coarsest;        /* unknowns at which to end */
    int levels;              /* at most */
    int made;                /* levels that are coarsened */
    void *kept[LEVELS];      /* by the coarsener, for each of them */
} amg;

static void amg_destroy(void *self)
{
    amg *M = self;
    if (!M) return;
    for (int i = 0; i < M->made; i++) M->by->destroy(M->kept[i]);
    kry_op_release(&M->A);
    free(M);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The entries of the levels so far, and those of the next one. */
static kry_status check_complexity(amg *M, int level, const kry_sparse *next)
{
    kry_status st = KRY_OK;
    const double entries = M->entries + (double)kry_sparse_nnz(next);
    const double times = entries / (double)M->nnz;

    CHECK(
        times <= M->complexity, KRY_ERR_UNSUPPORTED,
        "%s: with level %d, of %lld unknowns, all levels have %.1f times the entries of the matrix "
        "and take %.3g bytes; at most %g times are allowed",
        who, level, (long long)next->rows, times,
        entries * (double)(kry_type_size(M->A->shape.type) + sizeof(int32_t)), M->complexity);
    M->entries = entries;
done:
    return st;
}

static kry_status take_vectors(const kry_vec *v, kry_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;
    double *columns = NULL;

    c->vectors = (int)v->k;
    TRY(kry_alloc((size_t)(n * v->k), sizeof *columns, &columns));
    TRY(kry_alloc((size_t)(n * v->k), sizeof *c->near_null_space, &c->near_null_space));
    TRY(kry_vec_read_doubles(v, columns));
    for (int64_t j = 0; j < v->k; j++)
        for (int64_t i = 0; i < n; i++) {
            const double number = columns[j * n + i];
            CHECK(isfinite(number), KRY_ERR_ARGUMENT,
                  "%s: row %lld of vector %lld of the near null space is %g" COUNTED, who, ROW(i),
                  (long long)j, number, kry_first_row);
            c->near_null_space[i * v->k + j] = number;
        }
done:
    free(columns);
    return st;
}

/* A constant for each unknown of a node. */
static kry_status take_constants(kry_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;

    c->vectors = c->block;
    TRY(kry_alloc((size_t)(n * c->block), sizeof *c->near_null_space, &c->near_null_space));
    for (int64_t i = 0; i < n; i++) c->near_null_space[i * c->block + i % c->block] = 1;
done:
    return st;
}

static int block_of(const kry_op *A, const kry_sparse *rows, const kry_amg_params *p)
{
    int block = p->block ? p->block : kry_matrix_block(A);
    return block ? block : kry_sparse_block(rows);
}

static kry_status check_params(const kry_op *A, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    const kry_vec *v = p->near_null_space;
    const int64_t n = A->shape.rows;

    CHECK(p->coarsening >= KRY_COARSEN_AUTO && p->coarsening <= KRY_COARSEN_CLASSICAL,
          KRY_ERR_ARGUMENT, "%s: coarsening = %d is none", who, (int)p->coarsening);
    CHECK(p->strength <= 1, KRY_ERR_ARGUMENT, "%s: strength = %g; it must be at most 1", who,
          p->strength);
    CHECK(p->complexity == 0 || p->complexity >= 1, KRY_ERR_ARGUMENT,
          "%s: complexity = %g; it must be at least 1", who, p->complexity);
    CHECK(p->block >= 0 && p->block <= KRY_BLOCK_MOST, KRY_ERR_ARGUMENT,
          "%s: block = %d is not in 0 ... %d", who, p->block, (int)KRY_BLOCK_MOST);
    CHECK(!v || v->dev == A->dev, KRY_ERR_ARGUMENT,
          "%s: the near null space is on another device than the matrix", who);
    CHECK(!v || v->n == n, KRY_ERR_SHAPE, "%s: the near null space has %lld rows, the matrix %lld",
          who, v ? (long long)v->n : 0, (long long)n);
    CHECK(!v || (v->k >= 1 && v->k <= KRY_BLOCK_MOST), KRY_ERR_SHAPE,
          "%s: the near null space has %lld vectors; 1 ... %d are possible", who,
          v ? (long long)v->k : 0, (int)KRY_BLOCK_MOST);
done:
    return st;
}

static const kry_coarsener *choose(const kry_amg_params *p, const kry_sparse *rows,
                                   const kry_coarsen *c)
{
    const bool scalar = c->block == 1 && c->vectors == 1 && !p->near_null_space;

    if (p->coarsening == KRY_COARSEN_CLASSICAL) return &kry_classical_coarsening;
    if (p->coarsening == KRY_COARSEN_AGGREGATION) return &kry_smoothed_aggregation;
    return scalar && kry_classical_suits(rows) ? &kry_classical_coarsening
                                               : &kry_smoothed_aggregation;
}

/* Below which couplings are weak. Aggregation halves it on each level (Vanek, Mandel, Brezina). */
static double usual_strength(const kry_coarsener *by, const kry_coarsen *c)
{
    if (by == &kry_classical_coarsening) return 0.25;
    return c->vectors > 1 ? -1 : 0.08;
}

static kry_status start(amg *M, const kry_sparse *rows, const kry_amg_params *p, kry_coarsen *c)
{
    kry_status st = KRY_OK;
    const int64_t n = rows->rows;

    *c = (kry_coarsen){ .who = who, .block = block_of(M->A, rows, p) };
    CHECK(n % c->block == 0, KRY_ERR_ARGUMENT,
          "%s: %lld rows are no multiple of the %d unknowns of a node", who, (long long)n,
          c->block);
    if (p->near_null_space)
        TRY(take_vectors(p->near_null_space, c, n));
    else
        TRY(take_constants(c, n));
    CHECK(p->coarsening != KRY_COARSEN_CLASSICAL || (c->block == 1 && c->vectors == 1),
          KRY_ERR_UNSUPPORTED,
          "%s: classical coarsening is for one unknown in a node, not for %d; take aggregation",
          who, c->block);
    M->by = choose(p, rows, c);
    c->strength = p->strength != 0 ? p->strength : usual_strength(M->by, c);
    M->complexity = p->complexity > 0 ? p->complexity : 10;
    M->nnz = kry_sparse_nnz(rows);
    M->entries = (double)M->nnz;
done:
    return st;
}

/* to := what the next level is made of; without columns in P if there is none. */
static kry_status coarsen(amg *M, kry_coarsen *c, const kry_sparse *A, kry_coarser *to)
{
    kry_status st = KRY_OK;
    void *kept = NULL;

    TRY(M->by->create(c, A, &to->P, &kept));
    if (to->P.cols == 0) goto done;
    TRY(kry_coarser_multiply(who, ++c->level, M->A->shape.type, A, to));
    TRY(check_complexity(M, c->level, &to->A));
    M->kept[M->made++] = kept, kept = NULL;
done:
    M->by->destroy(kept);
    return st;
}

/* A matrix on the device, rounded to the type of A. Takes `host` over. */
static kry_status give(const amg *M, kry_sparse *host, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;

    TRY(kry_sparse_convert(host, M->A->shape.type));
    TRY(kry_matrix_take(M->A->dev, host, KRY_MATRIX(.traits = traits), op));
done:
    return st;
}

/* The same for a matrix that stays on the host, too. */
static kry_status store(const amg *M, const kry_sparse *host, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_sparse copy = { 0 };

    TRY(kry_sparse_copy(host, &copy));
    TRY(give(M, &copy, traits, op));
done:
    kry_sparse_release(&copy);
    return st;
}

/* Add the level of `A`, from which `to` leads on; next := the operator below it. Takes P and R over. */
static kry_status add_level(const amg *M, kry_hierarchy *H, kry_op *A, kry_coarser *to,
                            kry_op **next)
{
    kry_status st = KRY_OK;
    kry_level level = { .A = A };

    *next = NULL;
    if (to->P.cols > 0) {
        TRY(give(M, &to->P, 0, &level.P));
        TRY(give(M, &to->R, 0, &level.R));
        TRY(store(M, &to->A, KRY_SYMMETRIC, next));
    }
    TRY(kry_hierarchy_add(H, &level));
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    if (st < 0) kry_op_release(next);
    return st;
}

/* What is left is solved exactly, which takes a time that has to be bearable. */
static kry_status check_end(const amg *M, const kry_sparse *last)
{
    enum { MOST = 20000 };
    kry_status st = KRY_OK;

    CHECK(last->rows <= MOST || last->rows <= M->coarsest || M->made + 1 >= M->levels ||
              kry_sparse_nnz(last) == last->rows,
          KRY_ERR_UNSUPPORTED,
          "%s: coarsening ends at level %d with %lld unknowns, too many to be solved exactly; the "
          "couplings of this matrix do not suit multigrid by %s",
          who, M->made, (long long)last->rows, M->by->name);
done:
    return st;
}

/* Takes `rows` over. */
static kry_status make_levels(amg *M, kry_hierarchy *H, kry_coarsen *c, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    kry_op *A = kry_op_retain(M->A), *next = NULL;
    kry_coarser to = { 0 };

    do {
        if (rows->rows > M->coarsest && M->made + 1 < M->levels) TRY(coarsen(M, c, rows, &to));
        if (to.P.cols == 0) TRY(check_end(M, rows));
        TRY(add_level(M, H, A, &to, &next));
        kry_op_release(&A);
        A = next, next = NULL;
        kry_sparse_release(rows);
        *rows = to.A, to.A = (kry_sparse){ 0 };
        kry_coarser_release(&to);
    } while (A);
done:
    kry_coarser_release(&to);
    kry_op_release(&A);
    return st;
}

static kry_status read_rows(const amg *M, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kry_rows_read(who, M->A, rows));
    TRY(kry_alloc((size_t)rows->rows, sizeof *inverse, &inverse));
    TRY(kry_rows_symmetrise(who, M->A, rows, inverse));
done:
    free(inverse);
    return st;
}

static kry_status amg_create(kry_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kry_hierarchy_cycle(H);
    amg *M = NULL;
    kry_coarsen c = { 0 };
    kry_sparse rows = { 0 };

    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->coarsest = cycle->coarsest;
    M->levels = cycle->levels < LEVELS ? cycle->levels : LEVELS;
    TRY(read_rows(M, &rows));
    TRY(start(M, &rows, params, &c));
    TRY(make_levels(M, H, &c, &rows));
    *self = M, M = NULL;
done:
    kry_sparse_release(&rows);
    free(c.near_null_space);
    amg_destroy(M);
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------- */

static kry_status renew(const amg *M, kry_op *op, kry_sparse *host)
{
    kry_status st = KRY_OK;

    TRY(kry_sparse_convert(host, M->A->shape.type));
    TRY(kry_op_update(op, host->val));
done:
    return st;
}

/* What level i becomes; its matrix borrows the places of the one that is on the device. */
static kry_status renew_level(const amg *M, kry_hierarchy *H, int i, const kry_sparse *A,
                              kry_coarser *to)
{
    kry_status st = KRY_OK;

    TRY(M->by->update(A, M->kept[i], &to->P));
    to->A = kry_matrix_of(kry_hierarchy_level(H, i + 1)->A)->sorted;
    to->A.type = KRY_F64, to->A.val = NULL;
    TRY(kry_alloc((size_t)kry_sparse_nnz(&to->A), sizeof(double), &to->A.val));
    TRY(kry_coarser_multiply(who, i + 1, M->A->shape.type, A, to));
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
static kry_status amg_update(kry_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    amg *M = self;
    kry_sparse rows = { 0 };
    kry_coarser *to = NULL;

    TRY(kry_alloc((size_t)M->made + 1, sizeof *to, &to));
    TRY(read_rows(M, &rows));
    CHECK(kry_sparse_nnz(&rows) == M->nnz, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          who, (long long)kry_sparse_nnz(&rows), (long long)M->nnz);
    for (int i = 0; i < M->made; i++) {
        TRY(renew_level(M, H, i, i ? &to[i - 1].A : &rows, &to[i]));
    }
    for (int i = 0; i < M->made; i++) {
        TRY(renew(M, kry_hierarchy_level(H, i)->P, &to[i].P));
        TRY(renew(M, kry_hierarchy_level(H, i)->R, &to[i].R));
        TRY(renew(M, kry_hierarchy_level(H, i + 1)->A, &to[i].A));
    }
done:
    release_levels(to, M->made);
    kry_sparse_release(&rows);
    return st;
}

/* ---- the constructor ------------------------------------------------------------------------- */

static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    static const kry_family family = { .kind = "amg",
                                       .who = who,
                                       .create = amg_create,
                                       .update = amg_update,
                                       .destroy = amg_destroy };
    const kry_amg_params *p = params ? params : KRY_AMG();
    return kry_hierarchy_create(&family, A, &p->cycle, p, M);
}

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;

    CHECK(!A->dev->team, KRY_ERR_UNSUPPORTED,
          "%s: algebraic multigrid is for one device, not for a team", who);
    if (params) TRY(check_params(A, params));
done:
    return st;
}

kry_status kry_amg_create(const kry_op *A, const kry_amg_params *params, kry_op **M)
{
    static const kry_constructor how = { .name = who,
                                         .macro = "KRY_AMG",
                                         .params_size = sizeof(kry_amg_params),
                                         .check = check,
                                         .create = create_here };
    return kry_construct(&how, A, params, M);
}
