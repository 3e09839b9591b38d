/*
 * amg.c - the levels of algebraic multigrid: on each a stored matrix, a prolongation P that a coarsener
 * makes of it, and R = P'; below it R A P. They are made in double, large ones on a GPU, others on the host.
 */
#include "matrix/matrix.h"
#include "multigrid/amg_device.h"
#include "multigrid/hierarchy.h"
#include "multigrid/team_levels.h"
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
    kry_device_levels
        *device;        /* the finest levels, if a device makes them; NULL: the host makes all */
    int upper;          /* of these, levels that are coarsened */
    int made;           /* the same of the host's, which follow */
    void *kept[LEVELS]; /* by the coarsener, for each of the host's */
} amg;

static void amg_destroy(void *self)
{
    amg *M = self;
    if (!M) return;
    for (int i = 0; i < M->made; i++) M->by->destroy(M->kept[i]);
    kry_device_levels_release(M->device);
    kry_op_release(&M->A);
    free(M);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The entries of the levels so far, and those of the next one. */
static kry_status check_complexity(amg *M, int level, int64_t rows, int64_t nnz)
{
    kry_status st = KRY_OK;
    const double entries = M->entries + (double)nnz;
    const double times = entries / (double)M->nnz;

    CHECK(
        times <= M->complexity, KRY_ERR_UNSUPPORTED,
        "%s: with level %d, of %lld unknowns, all levels have %.1f times the entries of the matrix "
        "and take %.3g bytes; at most %g times are allowed",
        who, level, (long long)rows, times,
        entries * (double)(kry_type_size(M->A->shape.type) + sizeof(int32_t)), M->complexity);
    M->entries = entries;
done:
    return st;
}

static kry_status take_vectors(const kry_vec *v, kry_coarsen *c, int64_t n)
{
    kry_status st = KRY_OK;
    double *columns = NULL;

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

    TRY(kry_alloc((size_t)(n * c->block), sizeof *c->near_null_space, &c->near_null_space));
    for (int64_t i = 0; i < n; i++) c->near_null_space[i * c->block + i % c->block] = 1;
done:
    return st;
}

/* What the coarsener is chosen by. */
typedef struct sight {
    int64_t nnz;
    int block;
    kry_couplings couplings;
    const kry_vec *given; /* near null space; NULL: constants */
} sight;

static const kry_vec *given_to(const kry_op *A, const kry_amg_params *p)
{
    return p->near_null_space ? p->near_null_space : A->near_null_space;
}

static int block_of(const kry_op *A, const kry_sparse *rows, const kry_amg_params *p)
{
    const int block = p->block ? p->block : kry_matrix_block(A);
    return block ? block : kry_sparse_block(rows);
}

static sight look(const kry_op *A, const kry_sparse *rows, const kry_amg_params *p)
{
    return (sight){ .nnz = kry_sparse_nnz(rows),
                    .block = block_of(A, rows, p),
                    .couplings = kry_amg_couplings(rows),
                    .given = given_to(A, p) };
}

static kry_status look_on_device(const amg *M, const kry_amg_params *p, sight *s)
{
    kry_status st = KRY_OK;
    const kry_sparse *pattern = &kry_matrix_of(M->A)->sorted;
    kry_sparse rows = { 0 };

    *s = (sight){ .nnz = kry_device_levels_nnz(M->device), .given = given_to(M->A, p) };
    TRY(kry_device_levels_couplings(M->device, &s->couplings));
    if (!pattern->col) TRY(kry_device_levels_download(M->device, &rows));
    s->block = block_of(M->A, pattern->col ? pattern : &rows, p);
done:
    kry_sparse_release(&rows);
    return st;
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

/* Classical coarsening is for couplings that are negative, but for a tenth. */
static const kry_coarsener *choose(const kry_amg_params *p, const sight *s, const kry_coarsen *c)
{
    const bool scalar = c->block == 1 && c->vectors == 1 && !s->given;
    const bool suits = s->couplings.positive <= 0.1 * s->couplings.negative;

    if (p->coarsening == KRY_COARSEN_CLASSICAL) return &kry_classical_coarsening;
    if (p->coarsening == KRY_COARSEN_AGGREGATION) return &kry_smoothed_aggregation;
    return scalar && suits ? &kry_classical_coarsening : &kry_smoothed_aggregation;
}

/* Below which couplings are weak. Aggregation halves it on each level (Vanek, Mandel, Brezina). */
static double usual_strength(const kry_coarsener *by, const kry_coarsen *c)
{
    if (by == &kry_classical_coarsening) return 0.25;
    return c->vectors > 1 ? -1 : 0.08;
}

static kry_status start(amg *M, const sight *s, const kry_amg_params *p, kry_coarsen *c)
{
    kry_status st = KRY_OK;
    const int64_t n = M->A->shape.rows;

    *c = (kry_coarsen){ .who = who, .block = s->block, .vectors = s->block };
    if (s->given) c->vectors = (int)s->given->k;
    CHECK(n % c->block == 0, KRY_ERR_ARGUMENT,
          "%s: %lld rows are no multiple of the %d unknowns of a node", who, (long long)n,
          c->block);
    CHECK(p->coarsening != KRY_COARSEN_CLASSICAL || (c->block == 1 && c->vectors == 1),
          KRY_ERR_UNSUPPORTED,
          "%s: classical coarsening is for one unknown in a node, not for %d; take aggregation",
          who, c->block);
    M->by = choose(p, s, c);
    c->strength = p->strength != 0 ? p->strength : usual_strength(M->by, c);
    M->complexity = p->complexity > 0 ? p->complexity : 10;
    M->nnz = s->nnz;
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
    TRY(check_complexity(M, c->level, to->A.rows, kry_sparse_nnz(&to->A)));
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

static int levels_of(const amg *M) { return M->upper + M->made + 1; }

/* What is left is solved exactly, which takes a time that has to be bearable. */
static kry_status check_end(const amg *M, const kry_sparse *last)
{
    enum { MOST = 20000 };
    kry_status st = KRY_OK;

    CHECK(last->rows <= MOST || last->rows <= M->coarsest || levels_of(M) >= M->levels ||
              kry_sparse_nnz(last) == last->rows,
          KRY_ERR_UNSUPPORTED,
          "%s: coarsening ends at level %d with %lld unknowns, too many to be solved exactly; the "
          "couplings of this matrix do not suit multigrid by %s",
          who, levels_of(M) - 1, (long long)last->rows, M->by->name);
done:
    return st;
}

/* The levels from A on, whose entries are `rows`; takes both over. */
static kry_status make_levels(amg *M, kry_hierarchy *H, kry_coarsen *c, kry_sparse *rows,
                              kry_op **A)
{
    kry_status st = KRY_OK;
    kry_op *next = NULL;
    kry_coarser to = { 0 };

    do {
        if (rows->rows > M->coarsest && levels_of(M) < M->levels) TRY(coarsen(M, c, rows, &to));
        if (to.P.cols == 0) TRY(check_end(M, rows));
        TRY(add_level(M, H, *A, &to, &next));
        kry_op_release(A);
        *A = next;
        kry_sparse_release(rows);
        *rows = to.A, to.A = (kry_sparse){ 0 };
        kry_coarser_release(&to);
    } while (*A);
done:
    kry_coarser_release(&to);
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

/* One more level that a device makes; *next: its operator, NULL if there is none. */
static kry_status add_device_level(amg *M, kry_hierarchy *H, kry_coarsen *c, kry_op *A,
                                   kry_op **next)
{
    kry_status st = KRY_OK;
    kry_level level = { .A = A };
    bool coarser = false;

    *next = NULL;
    if (kry_device_levels_rows(M->device) > M->coarsest && levels_of(M) < M->levels)
        TRY(kry_device_levels_coarsen(M->device, M->by->on_device, c, &coarser));
    if (!coarser) goto done;
    TRY(check_complexity(M, c->level, kry_device_levels_rows(M->device),
                         kry_device_levels_nnz(M->device)));
    TRY(kry_device_levels_operators(M->device, &level, next));
    TRY(kry_hierarchy_add(H, &level));
    M->upper++;
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    if (st < 0) kry_op_release(next);
    return st;
}

/* The levels that are large; rows := the first of the host's, *A: its operator. */
static kry_status make_device_levels(amg *M, kry_hierarchy *H, kry_coarsen *c, kry_sparse *rows,
                                     kry_op **A)
{
    kry_status st = KRY_OK;

    for (kry_op *next = *A; next;) {
        TRY(add_device_level(M, H, c, *A, &next));
        if (!next) break;
        kry_op_release(A);
        *A = next;
    }
    TRY(kry_device_levels_download(M->device, rows));
    kry_device_levels_drop_numbers(M->device);
    if (!c->near_null_space) TRY(take_constants(c, rows->rows));
done:
    return st;
}

/* The device leaves to the host what it has no coarsener for. */
static kry_status start_on_device(amg *M, const kry_amg_params *p, kry_coarsen *c)
{
    kry_status st = KRY_OK;
    sight s;

    TRY(kry_device_levels_create(who, M->A, &M->device));
    if (!M->device) return KRY_OK;
    TRY(look_on_device(M, p, &s));
    TRY(start(M, &s, p, c));
    if (c->vectors == 1 && c->block == 1 && !s.given) return KRY_OK;
    kry_device_levels_release(M->device);
    M->device = NULL;
done:
    return st;
}

static kry_status start_on_host(amg *M, const kry_amg_params *p, kry_coarsen *c, kry_sparse *rows)
{
    kry_status st = KRY_OK;

    TRY(read_rows(M, rows));
    const sight s = look(M->A, rows, p);
    TRY(start(M, &s, p, c));
    TRY(s.given ? take_vectors(s.given, c, rows->rows) : take_constants(c, rows->rows));
done:
    return st;
}

static kry_status make_all(amg *M, kry_hierarchy *H, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    kry_coarsen c = { 0 };
    kry_sparse rows = { 0 };
    kry_op *A = kry_op_retain(M->A);

    if (kry_device_levels_suit(A)) TRY(start_on_device(M, p, &c));
    TRY(M->device ? make_device_levels(M, H, &c, &rows, &A) : start_on_host(M, p, &c, &rows));
    TRY(make_levels(M, H, &c, &rows, &A));
done:
    kry_op_release(&A);
    kry_sparse_release(&rows);
    free(c.near_null_space);
    return st;
}

static kry_status amg_create(kry_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kry_hierarchy_cycle(H);
    amg *M = NULL;

    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->coarsest = cycle->coarsest;
    M->levels = cycle->levels < LEVELS ? cycle->levels : LEVELS;
    TRY(make_all(M, H, params));
    *self = M, M = NULL;
done:
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

/* rows := the finest of the host's levels. */
static kry_status renew_upper(const amg *M, kry_sparse *rows)
{
    kry_status st = KRY_OK;

    if (M->device) {
        TRY(kry_device_levels_renew(M->device));
        return kry_device_levels_download(M->device, rows);
    }
    TRY(read_rows(M, rows));
    CHECK(kry_sparse_nnz(rows) == M->nnz, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          who, (long long)kry_sparse_nnz(rows), (long long)M->nnz);
done:
    return st;
}

/* All numbers are there before one of them replaces an old one. */
static kry_status amg_update(kry_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    amg *M = self;
    kry_sparse rows = { 0 };
    kry_coarser *to = NULL;

    TRY(kry_alloc((size_t)M->made + 1, sizeof *to, &to));
    TRY(renew_upper(M, &rows));
    for (int i = 0; i < M->made; i++) {
        const kry_sparse *A = i ? &to[i - 1].A : &rows;
        TRY(M->by->update(A, M->kept[i], &to[i].P));
        TRY(kry_coarser_multiply(who, M->upper + i + 1, M->A->shape.type, A, &to[i]));
    }
    if (M->device) TRY(kry_device_levels_store(M->device, H));
    for (int i = 0; i < M->made; i++) {
        const int level = M->upper + i;
        TRY(renew(M, kry_hierarchy_level(H, level)->P, &to[i].P));
        TRY(renew(M, kry_hierarchy_level(H, level)->R, &to[i].R));
        TRY(renew(M, kry_hierarchy_level(H, level + 1)->A, &to[i].A));
    }
done:
    for (int i = 0; to && i < M->made; i++) kry_coarser_release(&to[i]);
    free(to);
    kry_sparse_release(&rows);
    return st;
}

/* ---- the constructor ------------------------------------------------------------------------- */

/* Of A, or in a run of all parts of a share of it. */
static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    static const kry_family family = { .kind = "amg",
                                       .who = who,
                                       .coarsest = 256,
                                       .create = amg_create,
                                       .update = amg_update,
                                       .destroy = amg_destroy };
    static const kry_whole whole = { KRY_TEAM_FAMILY("amg", who), kry_collect_matrix, create_here };
    const kry_amg_params *p = params ? params : KRY_AMG();
    if (kry_is_share(A)) return kry_team_levels_create(&whole, A, &p->cycle, p, M);
    return kry_hierarchy_create(&family, A, &p->cycle, p, M);
}

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;

    const kry_amg_params *p = params;
    TRY(kry_check_sums(who, A));
    CHECK(!A->dev->team || !p || !p->near_null_space, KRY_ERR_UNSUPPORTED,
          "%s: on a team A is told its near null space by kry_op_set_near_null_space", who);
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
