/*
 * direct.c - a direct solver for any square A with entries: sparse factors on the host, and steps of iterative
 * refinement until the true residual is small enough.
 *
 *   z := A^-1 r,  x := x + z,  r := r - A z
 *
 * Of a singular A that is known to map constants, and nothing else, to zero the first unknown is pinned: its
 * diagonal entry counts twice. b has no part outside of the range of A, and so the solution is the same.
 *
 * Storage     z: n numbers beside r; the factors and n doubles on the host. During an update two factors
 * Per step    matrix, 9 words per unknown, and the factors once on the host
 * Waits       r comes to the host, z goes back; once more for ||r||
 * Breakdown   a step that does not halve ||r||: A is singular to working precision
 * Source      J. H. Wilkinson, Rounding errors in algebraic processes (1963); the factors: precond/factor.h
 */
#include "krylov/direct.h"
#include "krylov/find_null.h"
#include "krylov/workspace.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>

typedef struct direct {
    kryi_workspace W;
    kryi_factor factor;
    int64_t entries; /* that were factored last; 0: none were */
    double most;     /* bytes that it may take; 0: what the machine has */
    double *host;    /* n */
    kry_vec *z;
    kry_sum *rr;
    double condition; /* of the matrix that was factored; 0: nobody has asked */
    char text[160];   /* for kry_op_describe */
} direct;

static const char who[] = "kry_solver_create";

/* ---- the entries ----------------------------------------------------------------------------- */

kry_status kryi_direct_pin(const kry_op *A, kryi_csr *rows)
{
    kry_status st = KRY_OK;

    if (!A->null_found.seen) return KRY_OK;
    TRY(kryi_find_null(who, A));
    if (A->null_found.parts || A->null_found.empty)
        TRY(kryi_csr_pin(kryi_unit_roundoff(A->shape.type), rows));
done:
    return st;
}

/* With a_00 twice, of an A that is promised to map constants to zero. */
static kry_status read_rows(const kry_op *A, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    const bool promised = A->shape.traits & KRY_SINGULAR && !A->null_space;

    TRY(kryi_rows_read(who, A, rows));
    const int64_t first = promised && rows->rows > 0 ? kryi_csr_find(rows, 0, 0) : -1;
    if (first >= 0) ((double *)rows->val)[first] *= 2;
    TRY(kryi_direct_pin(A, rows));
done:
    return st;
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static kry_status step(direct *S, kryi_cycle *c, double *residual)
{
    kry_status st = KRY_OK;

    TRY(kryi_vec_read_doubles(c->r, S->host));
    TRY(kryi_factor_solve(&S->factor, S->host));
    TRY(kryi_vec_write_doubles(S->z, S->host));
    TRY(kryi_krylov_take_step(S->W.K, c, S->z, S->rr, residual));
done:
    return st;
}

static kry_status direct_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    double residual = c->norm, before;

    TRY(kryi_progress_test(p, p->iteration, residual, c->goal));
    while (kryi_progress_iterates(p)) {
        before = residual;
        TRY(step(self, c, &residual));
        p->iteration++;
        TRY(kryi_progress_test(p, p->iteration, residual, c->goal));
        if (!p->end && residual > 0.5 * before) p->end = KRY_END_MATRIX;
    }
done:
    return st;
}

/* ---- the method ------------------------------------------------------------------------------ */

static void direct_destroy(void *self)
{
    direct *S = self;
    kryi_factor_release(&S->factor);
    free(S->host);
}

static kry_status check(const kryi_krylov *K)
{
    kry_status st = KRY_OK;

    CHECK(kryi_layout_size(&K->A->dev->layout) == 1, KRY_ERR_UNSUPPORTED,
          "%s: method=direct factors the whole matrix on one host, and takes no team of devices",
          who);
    CHECK(!K->first, KRY_ERR_UNSUPPORTED,
          "%s: method=direct takes no preconditioner: its factors are those of A", who);
    CHECK(!K->A->null_space, KRY_ERR_SINGULAR,
          "%s: '%s' is singular, and maps other vectors than constants to zero: method=direct has "
          "no factors for it; take method=pcg or minres",
          who, K->A->table->kind);
done:
    return st;
}

/* The factors of A's numbers, in the order that there is, or is found now: also where rows that were empty, or are now, have
 * other places than were ordered. On failure the old ones stay. */
static kry_status factor(direct *S)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    kryi_factor fresh = { 0 };

    if (S->W.K->A->shape.rows == 0) return KRY_OK;
    TRY(read_rows(S->W.K->A, &rows));
    const bool anew = !S->factor.engine || (S->entries && S->entries != kryi_csr_nnz(&rows));
    if (anew) TRY(kryi_factor_analyse(who, &rows, &fresh));
    TRY(kryi_factor_numbers(who, &rows, S->most, anew ? &fresh : &S->factor));
    if (anew) {
        kryi_factor_release(&S->factor);
        S->factor = fresh, fresh = (kryi_factor){ 0 };
    }
    S->entries = kryi_csr_nnz(&rows);
    S->condition = 0;
done:
    kryi_factor_release(&fresh);
    kryi_csr_release(&rows);
    return st;
}

static kry_status direct_update(void *self) { return factor(self); }

extern const kryi_method kryi_direct_method;

static kry_status direct_create(void *self)
{
    kry_status st = KRY_OK;
    direct *S = self;
    const kryi_krylov *K = S->W.K;

    TRY(check(K));
    if (K->method != &kryi_direct_method) {
        kryi_factor *analysed = (kryi_factor *)K->params; /* taken over, and so it is not const */
        S->factor = *analysed, *analysed = (kryi_factor){ 0 };
    }
    /* Who counts on what the order promises goes elsewhere where pivots fill much more. */
    if (S->factor.engine) S->most = fmin(16 * S->factor.cost.bytes + 1e6, kryi_factor_memory());
    TRY(factor(S));
    TRY(kryi_alloc((size_t)K->A->shape.rows, sizeof *S->host, &S->host));
    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr)));
done:
    return st;
}

static void direct_describe(const void *self, kry_op_info *info)
{
    direct *S = (direct *)self; /* the text is no part of its value */
    const kryi_factor *F = &S->factor;

    if (!F->engine) return; /* A is empty */
    if (!S->condition && kryi_factor_condition(F, &S->condition) < 0) S->condition = NAN;
    kryi_print(S->text, sizeof S->text,
               "%s, factors of %.3g bytes on the host, condition about %.0e", F->engine->name,
               F->bytes, S->condition);
    info->variant = S->text;
}

#define METHOD                                                                                    \
    {                                                                                             \
        .kind = "direct", .who = "kry_solver_create", .minds_scale = true, .tests_on_host = true, \
        .takes = KRY_TAKES_ANY,                                                                   \
        .matrix = { "||r||",                                                                      \
                    "is more than half of what it was before the last step of refinement: A is "  \
                    "singular to working precision, or that is its limit",                        \
                    KRY_TRUE_RESIDUAL_STAGNATED },                                                \
        .size = sizeof(direct), .create = direct_create, .cycle = direct_cycle,                   \
        .update = direct_update, .describe = direct_describe, .destroy = direct_destroy           \
    }
const kryi_method kryi_direct_method = METHOD;
static const kryi_method ordered_method = METHOD;

kry_status kryi_direct_create(const kry_op *A, const kryi_options *o, kryi_factor *analysed,
                              kry_op **solver)
{
    kry_status st = KRY_OK;
    int64_t checked = -1;

    TRY(kryi_check_matrix(who, A, o->pcg.check, KRY_TAKES_ANY, &checked));
    TRY(kryi_krylov_make(A,
                         (kryi_setup){ .method = &ordered_method,
                                       .stop = o->pcg.stop,
                                       .monitor = o->pcg.monitor,
                                       .monitor_user = o->pcg.monitor_user,
                                       .check = o->pcg.check,
                                       .params = analysed },
                         solver));
done:
    return st;
}
