/*
 * part_levels.c - the levels of algebraic multigrid on a team: fine ones in parts, and from the first one on that is
 * small enough those of team_levels.c.
 *
 * Exchanged  per cycle the halo of A on each level in parts for each product; and what team_levels.c says, of the
 *            first level that is not
 * Storage    on each part its own rows of the levels in parts, and of all levels below `gather` unknowns the whole
 */
#include "amg/part_levels.h"
#include "amg/adaptive.h"
#include "amg/amg_device.h"
#include "matrix/matrix.h"
#include "multigrid/hierarchy.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rows of the finest level ------------------------------------------------------------ */

/* rows := those of a share A. Collective. Waits. */
static kry_status read_rows(const kry_op *A, kryi_dist *rows)
{
    kry_status st = KRY_OK;
    const kryi_coupled *C = kryi_coupled_of(A);
    double *inverse = NULL;

    CHECK(C && !C->kind, KRY_ERR_UNSUPPORTED,
          "%s: '%s' on a team is no stored matrix; kry_mg_create takes grids", kryi_amg_who,
          A->table->kind);
    TRY(kryi_rows_read(kryi_amg_who, A, &rows->own));
    TRY(kryi_alloc((size_t)rows->own.rows, sizeof *inverse, &inverse));
    TRY(kryi_rows_symmetrise(kryi_amg_who, A, &rows->own, inverse));
    TRY(kryi_csr_copy(&C->part.far, &rows->far));
    TRY(kryi_csr_convert(&rows->far, KRY_F64));
    rows->first = C->part.first;
    rows->halo = kryi_halo_retain(C->part.halo);
done:
    free(inverse);
    return st; /* the caller releases rows */
}

/* ---- what all parts look like -------------------------------------------------------------------- */

static bool same_columns(const kryi_csr *A, int64_t i, int64_t k)
{
    const int64_t length = kryi_row_length(A, i);
    return kryi_row_length(A, k) == length &&
           !memcmp(A->col + A->row_ptr[i], A->col + A->row_ptr[k], (size_t)length * sizeof *A->col);
}

/* kryi_csr_block of the rows but for the first and the last nodes, which may be cut; 0: nothing is left of them. */
static int block_inside(const kryi_csr *rows)
{
    int64_t begin = 1, end = rows->rows - 1;

    while (begin < rows->rows && same_columns(rows, begin - 1, begin)) begin++;
    while (end > begin && same_columns(rows, end - 1, end)) end--;
    if (end <= begin) return 0;
    const kryi_csr inside = { end - begin,           rows->cols, rows->type,
                              rows->row_ptr + begin, rows->col,  NULL };
    return kryi_csr_block(&inside, inside.rows);
}

/* The smallest that a part sees, if the matrix does not say. Collective. */
static kry_status agree_on_block(const kry_op *A, const kryi_csr *rows, const kry_amg_params *p,
                                 int *block)
{
    kry_status st = KRY_OK;
    const int told = p->block ? p->block : kryi_matrix_block(A);

    if (told) {
        *block = told;
        return KRY_OK;
    }
    const int seen = block_inside(rows);
    double number = seen ? -seen : -(KRY_BLOCK_MOST + 1);
    TRY(kryi_layout_combine(&A->dev->layout, KRY_MAX, &number, 1));
    *block = -number > KRY_BLOCK_MOST ? 1 : (int)-number;
done:
    return st;
}

static kry_status find_bound(const kry_op *A, double *bound)
{
    kry_status st = KRY_OK;
    kryi_csr all = { 0 };

    TRY(kryi_coupled_download(A, &all));
    TRY(kryi_csr_convert(&all, KRY_F64));
    *bound = kryi_look_at_rows(&all).bound;
    TRY(kryi_layout_combine(&A->dev->layout, KRY_MAX, bound, 1));
done:
    kryi_csr_release(&all);
    return st;
}

/* What all parts together look like; *bound: kryi_row_look.bound. Collective. Wait. */
static kry_status look_at_all(const kry_op *A, const kry_amg_params *p, kryi_amg_sight *sight)
{
    kry_status st = KRY_OK;
    kryi_csr all = { 0 };

    TRY(kryi_coupled_download(A, &all));
    TRY(kryi_csr_convert(&all, KRY_F64));
    const kryi_coupling_sums c = kryi_amg_couplings(&all);
    double sums[] = { (double)kryi_csr_nnz(&all), c.positive, c.negative };
    *sight = (kryi_amg_sight){ .given = p->near_null_space };
    if (!sight->given) sight->given = A->near_null_space;
    TRY(agree_on_block(A, &all, p, &sight->block));
    TRY(kryi_layout_combine(&A->dev->layout, KRY_ADD, sums, COUNT(sums)));
    sight->nnz = (int64_t)sums[0];
    sight->couplings = (kryi_coupling_sums){ .positive = sums[1], .negative = sums[2] };
done:
    kryi_csr_release(&all);
    return st;
}

typedef struct part_levels {
    kry_op *A;                           /* the rows of this part; retained */
    kryi_keep keep;                      /* of coarser operators */
    double nnz, entries, most;           /* of A; of all levels in parts so far; and at most */
    int64_t own;                         /* own entries of A here */
    int64_t gather;                      /* unknowns at which levels in parts end */
    int levels;                          /* at most */
    int count;                           /* levels in parts that have a coarser one */
    kryi_part_kept kept[KRY_AMG_LEVELS]; /* of these */
    void *below;                         /* team_levels.c */
} part_levels;

/* ---- operators of a part's rows of a matrix that its host has made --------------------------- */

/* op := the operator of these rows, which it takes over, even if it fails. Waits. */
static kry_status create_operator(kryi_keep keep, unsigned traits, kryi_dist *rows, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_coupled made = { .traits = traits, .part = *rows };
    kry_op *own = NULL;

    *rows = (kryi_dist){ 0 };
    TRY(kryi_rounded_operator(kryi_halo_links_of(made.part.halo).dev, keep, &made.part.own, traits,
                              &own));
    TRY(kryi_csr_convert(&made.part.far, keep.type));
    kryi_csr_release(&made.part.own);
    made.own = own;
    st = kryi_coupled_create(&made, false, op);
    made.part = (kryi_dist){ 0 };
    TRY(st);
    TRY(kryi_coupled_store(*op, NULL, kryi_coupled_of(*op)->part.far.val));
done:
    kryi_dist_release(&made.part);
    kry_op_release(&own);
    if (st < 0) kry_op_release(op);
    return st;
}

/* Take new numbers at the same places from rows, whose far ones are rounded. */
static kry_status store_operator(kry_op *op, kryi_dist *rows)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_convert(&rows->far, op->shape.type));
    TRY(kryi_rounded_set_numbers((kry_op *)kryi_op_own(op), &rows->own));
    TRY(kryi_coupled_store(op, NULL, rows->far.val));
    TRY(kry_op_update(op, NULL));
done:
    return st;
}

static void part_levels_destroy(void *self)
{
    part_levels *L = self;
    if (!L) return;
    for (int i = 0; i < L->count; i++) kryi_part_kept_release(&L->kept[i]);
    kryi_team_levels_destroy(L->below);
    kry_op_release(&L->A);
    free(L);
}

/* ---- one level after the other ---------------------------------------------------------------------- */

/* The level that the set-up is at. */
typedef struct stand {
    kry_op *A; /* NULL: not made yet, of `rows` */
    kryi_dist rows;
    double *near_null_space; /* this part's rows, row by row */
    int64_t total;           /* unknowns of all parts */
} stand;

static void stand_release(stand *s)
{
    kryi_dist_release(&s->rows);
    kry_op_release(&s->A);
    free(s->near_null_space);
    *s = (stand){ 0 };
}

static kry_status count_entries(part_levels *L, int level, int64_t unknowns,
                                const kryi_part_coarser *to)
{
    kry_status st = KRY_OK;
    double entries = (double)(kryi_csr_nnz(&to->A.own) + kryi_csr_nnz(&to->A.far));

    TRY(kryi_layout_combine(&L->A->dev->layout, KRY_ADD, &entries, 1));
    L->entries += entries;
    CHECK(L->entries <= L->most * L->nnz, KRY_ERR_UNSUPPORTED,
          "%s: with level %d, of %lld unknowns, all levels have %.1f times the entries of the "
          "matrix; at most %g times are allowed",
          kryi_amg_who, level, (long long)unknowns, L->entries / L->nnz, L->most);
done:
    return st;
}

/* to := the next level, c what it is coarsened with, and *total its unknowns; 0: it would have hardly fewer. */
static kry_status coarsen(part_levels *L, kryi_coarsen *c, const stand *s, kryi_part_coarser *to,
                          int64_t *total)
{
    kry_status st = KRY_OK;
    kryi_part_kept kept = { 0 };

    TRY(kryi_part_aggregate(c, &s->rows, s->near_null_space, &kept, &to->near_null_space));
    *total = kept.first[kryi_layout_size(&L->A->dev->layout)];
    if ((double)*total >= 0.9 * (double)s->total) *total = 0;
    if (!*total) goto done;
    TRY(kryi_part_prolongation(&s->rows, &kept, &to->P));
    TRY(kryi_part_multiply(++c->level, L->A->shape.type, &s->rows, to));
    TRY(count_entries(L, c->level, *total, to));
    L->kept[L->count++] = kept, kept = (kryi_part_kept){ 0 };
    c->block = c->vectors;
done:
    kryi_part_kept_release(&kept);
    return st;
}

/* The halo of rows with columns on the coarsest level so far. Collective. */
static kry_status connect(const part_levels *L, kryi_dist *rows)
{
    return kryi_dist_connect(L->A->dev, L->A->shape.type, L->kept[L->count - 1].first, rows);
}

static kry_status add_level(const part_levels *L, kryi_hierarchy *H, kry_op *A,
                            kryi_part_coarser *to)
{
    kry_status st = KRY_OK;
    kryi_level level = { .A = A };

    TRY(connect(L, &to->P));
    TRY(create_operator(L->keep, 0, &to->P, &level.P));
    TRY(kryi_halo_like(kryi_coupled_of(A)->part.halo, L->A->shape.type, &to->R.halo));
    TRY(create_operator(L->keep, 0, &to->R, &level.R));
    TRY(kryi_hierarchy_add(H, &level));
done:
    kry_op_release(&level.R);
    kry_op_release(&level.P);
    return st;
}

/* s := the level that `to` has. Collective. */
static kry_status move_on(const part_levels *L, stand *s, int64_t total, kryi_part_coarser *to)
{
    kry_status st = KRY_OK;

    stand_release(s);
    TRY(connect(L, &to->A));
    s->rows = to->A, to->A = (kryi_dist){ 0 };
    s->near_null_space = to->near_null_space, to->near_null_space = NULL;
    s->total = total;
    kryi_part_coarser_release(to);
done:
    return st;
}

/* The levels from s on that have a coarser one; s := the one that has none. */
static kry_status make_levels(part_levels *L, kryi_hierarchy *H, kryi_coarsen *c, stand *s)
{
    kry_status st = KRY_OK;
    const kryi_keep digits = { .type = L->A->shape.type };
    kryi_part_coarser to = { 0 };

    for (int64_t total = 1; total;) {
        total = 0;
        if (s->total > L->gather && L->levels - L->count > 1) TRY(coarsen(L, c, s, &to, &total));
        if (!s->A) TRY(create_operator(total ? L->keep : digits, KRY_SYMMETRIC, &s->rows, &s->A));
        if (!total) break;
        TRY(add_level(L, H, s->A, &to));
        TRY(move_on(L, s, total, &to));
    }
done:
    kryi_part_coarser_release(&to);
    return st;
}

/* ---- set-up --------------------------------------------------------------------------------------- */

typedef struct given {
    const kryi_whole *how;
    const kry_amg_params *params;
} given;

static kry_status start(part_levels *L, const kryi_amg_sight *s, const kry_amg_params *p,
                        kryi_coarsen *c)
{
    kry_status st = KRY_OK;
    kry_amg_params with = *p;
    const kryi_coarsener *by;

    L->most = p->complexity > 0 ? p->complexity : 10;
    L->nnz = L->entries = (double)s->nnz;
    L->keep.type = L->A->shape.type;
    L->keep.rounded = s->block == 1 && !s->given;
    L->keep.read = p->cycle.scaling != KRY_SCALING_DIAGONAL;
    with.coarsening = KRY_COARSEN_AGGREGATION;
    TRY(kryi_amg_start(kryi_amg_who, 0, s, &with, c, &by));
done:
    return st;
}

/* Vectors that A has improved, if that is asked for. */
static kry_status improve(const part_levels *L, const kry_amg_params *p, kryi_amg_sight *s,
                          kry_vec **improved)
{
    kry_status st = KRY_OK;
    kry_amg_params with = *p;

    with.block = s->block;
    if (p->adaptive > 0) TRY(kryi_adaptive_vectors(kryi_amg_who, L->A, &with, improved));
    if (*improved) s->given = *improved;
done:
    return st;
}

/* The operator of the last level in parts is told what the levels below it start with. */
static kry_status tell_vectors(const double *B, int64_t m, kry_op *A)
{
    kry_status st = KRY_OK;
    const int64_t n = A->shape.rows;
    double *columns = NULL;
    kry_vec *v = NULL;

    TRY(kryi_alloc((uint64_t)(n * m), sizeof *columns, &columns));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) columns[j * n + i] = B[i * m + j];
    TRY(kry_vec_create(A->dev, A->shape.type, n, m, &v));
    TRY(kryi_vec_write_doubles(v, columns));
    kry_vec_release(&A->near_null_space);
    A->near_null_space = v, v = NULL;
done:
    kry_vec_release(&v);
    free(columns);
    return st;
}

/* The levels below those in parts, which go on as these would. */
static kry_status add_below(part_levels *L, kryi_hierarchy *H, const given *g,
                            const kryi_coarsen *c, const stand *s)
{
    kry_status st = KRY_OK;
    kry_amg_params theirs = *g->params;
    const kryi_whole_params whole = { .how = g->how, .params = &theirs };

    theirs.cycle.values = KRY_CYCLE_VALUES_DOUBLE;
    if (L->count) {
        theirs.near_null_space = NULL, theirs.adaptive = 0;
        theirs.block = c->block;
        theirs.cycle.levels = L->levels - L->count;
        if (theirs.coarsening == KRY_COARSEN_AGGREGATION)
            theirs.strength = ldexp(c->strength, -c->level);
        if (!L->keep.rounded) TRY(tell_vectors(s->near_null_space, c->vectors, s->A));
    }
    TRY(kryi_team_levels_make(H, s->A, &whole, &L->below));
    if (L->count) kryi_amg_prefer(H, &kryi_smoothed_aggregation, L->entries <= 1.3 * L->nnz);
done:
    return st;
}

/* Levels in parts, if there are so many unknowns; s: the finest, and then the last of them. */
static kry_status add_parts(part_levels *L, kryi_hierarchy *H, const kry_amg_params *p,
                            kryi_coarsen *c, stand *s)
{
    kry_status st = KRY_OK;
    kryi_amg_sight sight;
    kry_vec *improved = NULL;
    double bound;

    TRY(read_rows(L->A, &s->rows));
    TRY(look_at_all(L->A, p, &sight));
    TRY(find_bound(L->A, &bound));
    L->own = kryi_csr_nnz(&s->rows.own);
    TRY(improve(L, p, &sight, &improved));
    TRY(start(L, &sight, p, c));
    TRY(kryi_amg_take_vectors(&sight, s->rows.own.rows, c, &s->near_null_space));
    TRY(make_levels(L, H, c, s));
    if (L->count) kryi_hierarchy_level(H, 0)->highest = kryi_highest_of(bound);
done:
    kry_vec_release(&improved);
    return st;
}

static kry_status make_all(part_levels *L, kryi_hierarchy *H, const given *g)
{
    kry_status st = KRY_OK;
    const kry_amg_params *p = g->params;
    stand s = { .A = kry_op_retain(L->A) };
    kryi_coarsen c = { 0 };

    TRY(kryi_layout_rows(&L->A->dev->layout, L->A->shape.rows, NULL, &s.total));
    if (s.total > L->gather && p->coarsening != KRY_COARSEN_CLASSICAL &&
        p->restriction != KRY_RESTRICT_AIR)
        TRY(add_parts(L, H, p, &c, &s));
    TRY(add_below(L, H, g, &c, &s));
done:
    stand_release(&s);
    return st;
}

static kry_status part_levels_make(kryi_hierarchy *H, const kry_op *A, const void *params,
                                   void **self)
{
    enum { GATHER = 16384 };
    kry_status st = KRY_OK;
    const given *g = params;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);
    part_levels *L = NULL;

    TRY(kryi_alloc(1, sizeof *L, &L));
    L->A = kry_op_retain(A);
    L->gather = g->params->gather ? g->params->gather : GATHER;
    if (L->gather < cycle->coarsest) L->gather = cycle->coarsest;
    L->levels = cycle->levels < KRY_AMG_LEVELS ? cycle->levels : KRY_AMG_LEVELS;
    TRY(make_all(L, H, g));
    *self = L, L = NULL;
done:
    part_levels_destroy(L);
    return st;
}

/* ---- new numbers ----------------------------------------------------------------------------------- */

/* to := what level i becomes, whose rows are A. */
static kry_status renew_level(const part_levels *L, kryi_hierarchy *H, int i, kryi_dist *A,
                              kryi_part_coarser *to)
{
    kry_status st = KRY_OK;

    if (!A->halo)
        A->halo = kryi_halo_retain(kryi_coupled_of(kryi_hierarchy_level(H, i)->A)->part.halo);
    TRY(kryi_part_prolongation(A, &L->kept[i], &to->P));
    TRY(kryi_part_multiply(i + 1, L->A->shape.type, A, to));
done:
    return st;
}

static kry_status store_level(kryi_hierarchy *H, int i, kryi_part_coarser *to)
{
    kry_status st = KRY_OK;

    TRY(store_operator(kryi_hierarchy_level(H, i)->P, &to->P));
    TRY(store_operator(kryi_hierarchy_level(H, i)->R, &to->R));
    TRY(store_operator(kryi_hierarchy_level(H, i + 1)->A, &to->A));
done:
    return st;
}

/* All numbers of the levels in parts are there before one of them replaces an old one. */
static kry_status renew_parts(part_levels *L, kryi_hierarchy *H)
{
    kry_status st = KRY_OK;
    kryi_dist rows = { 0 };
    kryi_part_coarser *to = NULL;
    double bound;

    TRY(kryi_alloc((size_t)L->count, sizeof *to, &to));
    TRY(read_rows(L->A, &rows));
    TRY(find_bound(L->A, &bound));
    CHECK(kryi_csr_nnz(&rows.own) == L->own, KRY_ERR_ARGUMENT,
          "%s: %lld entries of the matrix are not zero, which were %lld at its set-up; make the "
          "preconditioner anew",
          kryi_amg_who, (long long)kryi_csr_nnz(&rows.own), (long long)L->own);
    for (int i = 0; i < L->count; i++) TRY(renew_level(L, H, i, i ? &to[i - 1].A : &rows, &to[i]));
    for (int i = 0; i < L->count; i++) TRY(store_level(H, i, &to[i]));
    kryi_hierarchy_level(H, 0)->highest = kryi_highest_of(bound);
done:
    for (int i = 0; to && i < L->count; i++) kryi_part_coarser_release(&to[i]);
    free(to);
    kryi_dist_release(&rows);
    return st;
}

static kry_status part_levels_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    part_levels *L = self;

    if (L->count) TRY(renew_parts(L, H));
    TRY(kryi_team_levels_update(H, L->below));
done:
    return st;
}

kry_status kryi_part_levels_create(const kryi_whole *how, const kry_op *A, const kry_amg_params *p,
                                   kry_op **M)
{
    static const kryi_family family = { .kind = "amg",
                                        .who = kryi_amg_who,
                                        .coarsest = 256,
                                        .create = part_levels_make,
                                        .update = part_levels_update,
                                        .destroy = part_levels_destroy };
    return kryi_hierarchy_create(&family, A, &p->cycle, &(given){ how, p }, M);
}
