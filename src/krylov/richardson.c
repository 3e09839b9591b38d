/*
 * richardson.c - Richardson's iteration, which lets M alone work: with a cycle of multigrid for M it is multigrid
 * as a solver of its own.
 *
 *   z := M r,  x := x + z,  r := r - A z
 *
 * Full multigrid (fmg) begins with another M, which comes from the coarsest level up with a cycle on each
 * level, and takes the cycle from the second step on.
 *
 * Storage     z: n numbers beside r
 * Per step    matrix, M, and 9 words per unknown
 * Waits       once in each step, for ||r||
 * Breakdown   none; it diverges where an eigenvalue of M A is negative or above 2
 * Source      L. F. Richardson, The approximate arithmetical solution by finite differences of physical
 *             problems involving differential equations, Phil. Trans. R. Soc. A 210 (1911), 307-357
 */
#include "krylov/workspace.h"
#include "multigrid/cycle.h"

typedef struct richardson {
    kryi_workspace W;
    kryi_hierarchy *full; /* of full multigrid, borrowed; NULL: M from the first step on */
    kry_vec *z;
    kry_sum *rr;
} richardson;

static kry_status step(richardson *S, kryi_cycle *c, double *residual)
{
    kry_status st = KRY_OK;
    const kry_op *M = S->W.K->M;

    if (S->full && c->progress->iteration == 0)
        TRY(kryi_cycle_run(S->full, true, c->r, S->z, (kryi_cycle_sums){ 0 }));
    else if (M)
        TRY(M->table->apply(M->self, 1, c->r, 0, S->z));
    else
        TRY(kry_vec_copy(c->r, S->z));
    TRY(kryi_krylov_take_step(S->W.K, c, S->z, S->rr, residual));
done:
    return st;
}

static kry_status richardson_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    double residual = c->norm;

    TRY(kryi_progress_test(p, p->iteration, residual, c->goal));
    while (kryi_progress_iterates(p)) {
        TRY(step(self, c, &residual));
        p->iteration++;
        TRY(kryi_progress_test(p, p->iteration, residual, c->goal));
    }
done:
    return st;
}

extern const kryi_method kryi_fmg_method;

static kry_status richardson_create(void *self)
{
    kry_status st = KRY_OK;
    richardson *S = self;
    const kryi_krylov *K = S->W.K;

    if (K->method == &kryi_fmg_method) {
        S->full = kryi_hierarchy_of(K->M);
        CHECK(S->full, KRY_ERR_UNSUPPORTED,
              "kry_solver_create: full multigrid (method=fmg) wants the preconditioner mg or amg, "
              "not '%s'",
              K->M ? K->M->table->kind : "none");
    }
    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr)));
done:
    return st;
}

#define METHOD(name, which)                                                                      \
    {                                                                                            \
        .kind = name, .who = "kry_solver_create", .flexible = KRY_FLEXIBLE, .minds_scale = true, \
        .tests_on_host = true, .takes = which, .size = sizeof(richardson),                       \
        .create = richardson_create, .cycle = richardson_cycle                                   \
    }
const kryi_method kryi_richardson_method = METHOD("richardson", KRY_TAKES_ANY);
const kryi_method kryi_fmg_method = METHOD("fmg", KRY_TAKES_SYMMETRIC);
