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
#include "krylov/method.h"
#include "multigrid/hierarchy.h"
#include <math.h>
#include <stdlib.h>

typedef struct richardson {
    kryi_krylov *K;       /* borrowed */
    kryi_hierarchy *full; /* of full multigrid, borrowed; NULL: M from the first step on */
    kry_vec *z;
    kry_sum *rr;
} richardson;

static kry_status step(richardson *S, kryi_cycle *c, double *residual)
{
    kry_status st = KRY_OK;
    const kry_op *M = S->K->M;

    if (S->full && c->stopping->iteration == 0)
        TRY(kryi_hierarchy_full(S->full, c->r, S->z));
    else if (M)
        TRY(M->table->apply(M->self, 1, c->r, 0, S->z));
    else
        TRY(kry_vec_copy(c->r, S->z));
    TRY(kry_vec_axpby(1, S->z, 1, c->x));
    TRY(kry_op_residual(S->K->A, c->r, S->z, c->r));
    TRY(kry_vec_dot_sum(c->r, c->r, S->rr));
    TRY(kryi_sum_read(c->r->layout, S->rr, residual));
    *residual = sqrt(*residual);
done:
    return st;
}

static kry_status richardson_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_stopping *s = c->stopping;
    double residual = c->norm;

    TRY(kryi_stopping_test(s, s->iteration, residual, c->goal));
    while (kryi_stopping_iterates(s)) {
        TRY(step(self, c, &residual));
        s->iteration++;
        TRY(kryi_stopping_test(s, s->iteration, residual, c->goal));
    }
done:
    return st;
}

static void richardson_destroy(void *self)
{
    richardson *S = self;
    kry_sum_release(&S->rr);
    kry_vec_release(&S->z);
    free(S);
}

static kry_status richardson_create(kryi_krylov *K, const kryi_setup *setup, void **self)
{
    kry_status st = KRY_OK;
    const kry_op_shape *A = &K->A->shape;
    richardson *S = NULL;

    (void)setup; /* no parameters of its own */
    TRY(kryi_alloc(1, sizeof *S, &S));
    S->K = K;
    TRY(kry_vec_create(K->A->dev, A->type, A->rows, 1, &S->z));
    TRY(kry_sum_create(K->A->dev, 1, &S->rr));
    *self = S, S = NULL;
done:
    if (S) richardson_destroy(S);
    return st;
}

static kry_status fmg_create(kryi_krylov *K, const kryi_setup *setup, void **self)
{
    kry_status st = KRY_OK;

    CHECK(kryi_hierarchy_of(K->M), KRY_ERR_UNSUPPORTED,
          "kry_solver_create: full multigrid (method=fmg) wants the preconditioner mg or amg, not "
          "'%s'",
          K->M ? K->M->table->kind : "none");
    TRY(richardson_create(K, setup, self));
    ((richardson *)*self)->full = kryi_hierarchy_of(K->M);
done:
    return st;
}

#define METHOD(name, create_it)                                                          \
    {                                                                                    \
        .kind = name, .who = "kry_solver_create", .flexible = true, .minds_scale = true, \
        .projects = true, .create = create_it, .cycle = richardson_cycle,                \
        .destroy = richardson_destroy                                                    \
    }
const kryi_method kryi_richardson_method = METHOD("richardson", richardson_create);
const kryi_method kryi_fmg_method = METHOD("fmg", fmg_create);
