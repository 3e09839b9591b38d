/*
 * reorder.c - a solver for a matrix whose rows and columns are put in reverse Cuthill-McKee order when it is made:
 * incomplete factors of blocks of consecutive rows then know most couplings. b and x go to that order and
 * back on the device; all else that a caller says or sees is in his. Kernel: halo_pack in cl/operator/halo.cl.
 */
#include "krylov/reorder.h"
#include "krylov/method.h"
#include "matrix/device_csr.h"
#include "matrix/matrix_parts.h"
#include "sparse/csr.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_solver_create";

typedef struct reordered {
    kry_op_table table;  /* of the operator, with the solver's kind */
    kry_op *A;           /* the caller's; retained */
    kry_op *B;           /* A in the new order */
    kry_op *solver;      /* for B */
    int64_t *from;       /* of each entry of B its number in A */
    int64_t seen;        /* A's updates when B took its numbers */
    cl_mem order, place; /* n int: which row comes k-th, and where row i has gone */
    kry_vec *b, *x;      /* n, in the new order */
    kry_vec *room;       /* n */
    double bandwidth[2]; /* mean, of A and of B */
    /* the caller's, which sees his x where monitors are promised that */
    kry_monitor monitor;
    void *monitor_user;
    bool shows;
    kry_vec *caller_x; /* borrowed, in a solve */
    char text[500];    /* for kry_op_describe */
} reordered;

/* ---- vectors ----------------------------------------------------------------------------------- */

/* to := from at these rows; `to` begins at element 0 */
static kry_status gather(cl_mem rows, const kry_vec *from, kry_vec *to)
{
    const int64_t n = to->n;
    const kry_arg args[] = { ARG(n), ARG(rows), ARG_VEC(from), ARG(to->buffer) };

    if (n == 0) return KRY_OK;
    return kryi_run(to->dev, "halo", to->type, "", "halo_pack",
                    kryi_groups_for(to->dev, to->type, n), args, COUNT(args));
}

/* The caller's x := x */
static kry_status hand_out(reordered *R)
{
    kry_status st = KRY_OK;

    TRY(gather(R->place, R->x, R->room));
    TRY(kry_vec_copy(R->room, R->caller_x));
done:
    return st;
}

/* *moved := these vectors in the new order */
static kry_status move_vectors(reordered *R, const kry_vec *vectors, kry_vec **moved)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_create(vectors->dev, vectors->type, vectors->n, vectors->k, moved));
    for (int64_t j = 0; j < vectors->k; j++) {
        const kry_vec from = kryi_vec_column(vectors, j);
        kry_vec to = kryi_vec_column(*moved, j);
        TRY(gather(R->order, &from, R->room));
        TRY(kry_vec_copy(R->room, &to));
    }
done:
    return st;
}

/* ---- the matrix -------------------------------------------------------------------------------- */

/* B takes the numbers that A has now. */
static kry_status renew(reordered *R)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    void *val = NULL;

    TRY(kryi_matrix_download(kryi_matrix_of(R->A), &rows));
    TRY(kryi_numbers_at(rows.type, rows.val, R->from, kryi_csr_nnz(&rows), &val));
    TRY(kry_op_update(R->B, val));
    R->B->found = R->A->found;
    R->seen = R->A->updates;
done:
    free(val);
    kryi_csr_release(&rows);
    return st;
}

/* The rows of a node stay together. order, place: n */
static kry_status find_order(const kry_op *A, const kryi_csr *rows, int32_t *order, int32_t *place)
{
    kry_status st = KRY_OK;
    const int64_t n = rows->rows;
    const int block = kryi_matrix_node(A, rows);
    kryi_csr graph = { 0 };
    int32_t *nodes = NULL;
    int64_t k = 0;

    TRY(kryi_csr_node_graph(rows, block, &graph));
    TRY(kryi_alloc((size_t)graph.rows, sizeof *nodes, &nodes));
    TRY(kryi_csr_rcm(&graph, nodes));
    for (int64_t node = 0; node < graph.rows; node++)
        for (int64_t i = (int64_t)nodes[node] * block; i < (nodes[node] + 1LL) * block && i < n;
             i++)
            order[k++] = (int32_t)i;
    for (k = 0; k < n; k++) place[order[k]] = (int32_t)k;
done:
    free(nodes);
    kryi_csr_release(&graph);
    return st;
}

static kry_status make_matrix(reordered *R, const kryi_csr *rows, const int32_t *order,
                              const int32_t *place)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = kryi_matrix_of(R->A);
    const kryi_csr_cut cut = {
        .rows = rows->rows, .row = order, .cols = rows->cols, .place = place
    };
    const size_t bytes = (size_t)rows->rows * sizeof *order;
    kry_matrix_params params = A->params;
    kryi_csr moved = { 0 };

    params.storage = KRY_GENERAL;
    if (A->format_is_free) params.format = KRY_FORMAT_AUTO;
    TRY(kryi_csr_part(rows, &cut, &moved, &R->from));
    TRY(kryi_matrix_create(R->A->dev, &moved, &params, &R->B));
    R->B->found = R->A->found, R->seen = R->A->updates;
    TRY(kryi_buffer_upload(R->A->dev, bytes, order, &R->order));
    TRY(kryi_buffer_upload(R->A->dev, bytes, place, &R->place));
done:
    kryi_csr_release(&moved);
    return st;
}

/* Promise of the reordered matrix what is promised of A's null spaces. */
static kry_status set_null_spaces(reordered *R)
{
    kry_status st = KRY_OK;
    kry_vec *null = NULL, *near = NULL;

    if (R->A->null_space) {
        TRY(move_vectors(R, R->A->null_space, &null));
        TRY(kry_op_set_null_space(R->B, null));
    }
    if (R->A->near_null_space) {
        TRY(move_vectors(R, R->A->near_null_space, &near));
        TRY(kry_op_set_near_null_space(R->B, near));
    }
done:
    kry_vec_release(&near);
    kry_vec_release(&null);
    return st;
}

/* ---- the solver -------------------------------------------------------------------------------- */

static kry_status reordered_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK, solved;
    reordered *R = self;

    TRY(kryi_check_finite(b)); /* else its message would name another row */
    if (R->seen != R->A->updates) TRY(renew(R));
    R->caller_x = x;
    TRY(gather(R->order, b, R->b));
    TRY(gather(R->order, x, R->x));
    TRY(solved = R->solver->table->solve(R->solver->self, R->b, R->x, res));
    TRY(hand_out(R));
    st = solved;
done:
    R->caller_x = NULL;
    return st;
}

static kry_status reordered_apply(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    return kryi_apply_by_solve(reordered_solve, self, alpha, x, beta, y);
}

static kry_status reordered_renew(void *self)
{
    kry_status st = KRY_OK;
    reordered *R = self;

    TRY(renew(R));
    TRY(kry_op_update(R->solver, NULL));
done:
    return st;
}

static void reordered_describe(void *self, kry_op_info *info)
{
    reordered *R = self;

    kry_op_describe(R->solver, info);
    kryi_print(R->text, sizeof R->text,
               "%.400s, reverse Cuthill-McKee order (mean bandwidth %.4g, given %.4g)",
               info->variant, R->bandwidth[1], R->bandwidth[0]);
    info->variant = R->text;
}

static void reordered_destroy(void *self)
{
    reordered *R = self;
    if (!R) return;
    kry_op_release(&R->solver);
    kry_op_release(&R->B);
    kry_vec_release(&R->room);
    kry_vec_release(&R->x);
    kry_vec_release(&R->b);
    kryi_buffer_release(R->A->dev, &R->order);
    kryi_buffer_release(R->A->dev, &R->place);
    kry_op_release(&R->A);
    free(R->from);
    free(R);
}

static const kry_op_table reordered_table = {
    .struct_size = sizeof(kry_op_table),
    .apply = reordered_apply,
    .solve = reordered_solve,
    .describe = reordered_describe,
    .destroy = reordered_destroy,
};

static const kry_op *reordered_inner(const void *self) { return ((const reordered *)self)->solver; }

static kry_status reordered_set_stop(void *self, const kry_stop *stop)
{
    return kry_solver_set_stop(((reordered *)self)->solver, stop);
}

static const kryi_op_fused reordered_fused = { .renew = reordered_renew,
                                               .inner = reordered_inner,
                                               .set_stop = reordered_set_stop };

/* ---- making one -------------------------------------------------------------------------------- */

static int show(void *user, const kry_iteration *it)
{
    reordered *R = user;

    if (R->shows && R->caller_x && hand_out(R) < 0) return 1;
    return R->monitor(R->monitor_user, it);
}

static kry_status make_solver(reordered *R, const kryi_options *o, kryi_solver_maker maker)
{
    kryi_options inner = *o;

    inner.reorder = KRY_REORDER_NONE;
    R->monitor = o->pcg.monitor, R->monitor_user = o->pcg.monitor_user;
    R->shows = o->pcg.stop.check_every > 0;
    if (o->pcg.monitor) inner.pcg.monitor = show, inner.pcg.monitor_user = R;
    return maker(R->B, &inner, &R->solver);
}

static kry_status make(const kry_op *A, const kryi_options *o, const kryi_csr *rows,
                       const int32_t *order, const int32_t *place, kryi_solver_maker maker,
                       kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = A->shape;
    reordered *R = NULL;

    TRY(kryi_alloc(1, sizeof *R, &R));
    R->A = kry_op_retain(A);
    kry_vec **vectors[] = { &R->b, &R->x, &R->room };
    for (size_t i = 0; i < COUNT(vectors); i++)
        TRY(kry_vec_create(A->dev, shape.type, shape.rows, 1, vectors[i]));
    R->bandwidth[0] = kryi_csr_mean_bandwidth(rows, NULL);
    R->bandwidth[1] = kryi_csr_mean_bandwidth(rows, place);
    TRY(make_matrix(R, rows, order, place));
    TRY(set_null_spaces(R));
    TRY(make_solver(R, o, maker));
    R->table = reordered_table, R->table.kind = R->solver->table->kind;
    shape.traits = KRY_VARYING;
    TRY(kryi_op_create_fused(A->dev, &R->table, &reordered_fused, R, &shape, solver));
    R = NULL;
done:
    reordered_destroy(R);
    return st;
}

/* Why there is no other order; NULL: there is one. */
static const char *obstacle(const kry_op *A, const kryi_options *o)
{
    if (A->dev->team) return "is for one device, not for a team";
    if (!kryi_matrix_of(A)) return "is for stored matrices";
    if (A->shape.rows != A->shape.cols) return "is for square matrices";
    if (strstr(o->deflation, "labels:") || strstr(o->deflation, "modes="))
        return "does not go with sub-domains or modes of a file, which have the order that is "
               "given";
    if (!strncmp(o->precond, "saddle:", 7))
        return "does not go with fields of precond=saddle, but for those that the diagonal tells";
    return NULL;
}

/* Preconditioners that know couplings of nearby rows only, or fill in between them. */
static bool minds_order(const char *precond)
{
    static const char *const begin[] = { "block-ic", "ic", "block-ilu", "ilu", "block-jacobi" };

    for (size_t i = 0; i < COUNT(begin); i++)
        if (!strncmp(precond, begin[i], strlen(begin[i]))) return true;
    return false;
}

kry_status kryi_reordered_create(const kry_op *A, const kryi_options *o, kryi_solver_maker maker,
                                 kry_op **solver)
{
    const double worth = 4; /* auto: how many times smaller the mean bandwidth must become */
    kry_status st = KRY_OK;
    const char *not = obstacle(A, o);
    const bool asked = o->reorder == KRY_REORDER_RCM;
    kryi_options plain = *o;
    kryi_csr rows = { 0 };
    int32_t *order = NULL, *place = NULL;
    const kryi_stopwatch watch = kryi_stopwatch_begin(A->dev);

    plain.reorder = KRY_REORDER_NONE;
    CHECK(!asked || !not, KRY_ERR_UNSUPPORTED, "%s: reorder=rcm %s", who, not );
    if (not || (!asked && !minds_order(o->precond))) return maker(A, &plain, solver);
    TRY(kryi_device_csr_check(who, kryi_matrix_of(A)));
    TRY(kryi_matrix_download(kryi_matrix_of(A), &rows));
    TRY(kryi_alloc((size_t)rows.rows, sizeof *order, &order));
    TRY(kryi_alloc((size_t)rows.rows, sizeof *place, &place));
    TRY(find_order(A, &rows, order, place));
    const double given = kryi_csr_mean_bandwidth(&rows, NULL);
    if (asked || worth * kryi_csr_mean_bandwidth(&rows, place) <= given)
        TRY(make(A, o, &rows, order, place, maker, solver));
    else
        TRY(maker(A, &plain, solver));
    (*solver)->setup = kryi_stopwatch_end(&watch);
done:
    free(place);
    free(order);
    kryi_csr_release(&rows);
    return st;
}
