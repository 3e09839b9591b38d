/* method.c - a solver by any method as an operator: applied, updated, described. */
#include "krylov/workspace.h"
#include "precond/deflation.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double kryi_krylov_bytes(const kryi_krylov *K, double products, double words)
{
    const kry_op *ops[] = { K->A, K->M };
    double bytes = words * (double)K->A->shape.rows * (double)kry_type_size(K->A->shape.type);
    kry_op_info info;

    for (int i = 0; i < 2; i++) {
        if (!ops[i]) continue;
        kry_op_describe(ops[i], &info);
        if (info.bytes_per_apply <= 0) return 0;
        bytes += products * info.bytes_per_apply;
    }
    return bytes;
}

double kryi_krylov_unit(kry_type type, double size)
{
    /* Binary exponents: squares of numbers nearer to 1 have room, and powers of two up to `most` exist. */
    const bool wide = type == KRY_F64;
    const int far = wide ? 200 : 30, most = wide ? 1000 : 120;

    if (!(size > 0 && isfinite(size)) || abs(ilogb(size)) <= far) return 1;
    const int exponent = -ilogb(size);
    return ldexp(1, exponent > most ? most : exponent < -most ? -most : exponent);
}

kry_status kryi_krylov_multiply(const kryi_krylov *K, const kry_vec *x, kry_vec *t, kry_vec *y)
{
    kry_status st = KRY_OK;

    if (K->M) TRY(kryi_op_run_apply(K->M, 1, x, 0, t));
    TRY(kryi_op_run_apply(K->A, 1, K->M ? t : x, 0, y));
done:
    return st;
}

kry_status kryi_krylov_take_step(const kryi_krylov *K, const kryi_cycle *c, const kry_vec *z,
                                 kry_sum *rr, double *residual)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_axpby(1, z, 1, c->x));
    TRY(kry_op_residual(K->A, c->r, z, c->r));
    TRY(kry_vec_dot_sum(c->r, c->r, rr));
    TRY(kryi_sum_read(c->r->layout, rr, residual));
    *residual = sqrt(*residual);
done:
    return st;
}

kry_status kryi_krylov_add(const kryi_krylov *K, kry_vec *y, kry_vec *t, kry_vec *x)
{
    kry_status st = KRY_OK;

    if (!K->M) return KRY_OK;
    TRY(kryi_op_run_apply(K->M, 1, y, 0, t));
    TRY(kry_vec_axpby(1, t, 1, x));
    TRY(kry_vec_fill(y, 0));
done:
    return st;
}

kry_status kryi_apply_by_solve(kryi_solve_within *solve, void *self, double alpha, const kry_vec *x,
                               double beta, kry_vec *y)
{
    kry_status st = KRY_OK, solved;
    kry_vec *t = NULL;
    kry_result res = { 0 };

    TRY(kry_vec_create(y->dev, y->type, y->n, 1, &t));
    TRY(solved = solve(self, x, t, &res));
    TRY(kry_vec_axpby(alpha, t, beta, y));
    st = solved > 0 ? kry_fail(solved, "kry_op_apply: %s", res.why) : solved;
done:
    kry_vec_release(&t);
    return st;
}

static kry_status krylov_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return kryi_krylov_solve(self, &(kryi_terms){ 0 }, b, x, res);
}

static kry_status solve_within(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return kryi_krylov_solve(self, &(kryi_terms){ .inner = true }, b, x, res);
}

static kry_status krylov_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    if (x->n != y->n)
        return kry_fail(KRY_ERR_SHAPE,
                        "kry_op_apply: a solver for a matrix that is not square is no operator: "
                        "kry_solve takes b and x");
    return kryi_apply_by_solve(solve_within, self, alpha, x, beta, y);
}

static kry_status krylov_renew(void *self)
{
    kryi_krylov *K = self;
    kry_status st = KRY_OK;

    TRY(kryi_null_space_check(&K->residual.null));
    TRY(kryi_check_matrix("kry_op_update", K->A, K->check, K->method->takes, &K->checked));
    if (K->M) TRY(kry_op_update(K->M, NULL));
    if (K->product != K->A) TRY(kry_op_update(K->deflation, NULL)); /* else M updates it */
    if (K->method->update) TRY(K->method->update(K->self));
done:
    return st;
}

kry_status kryi_krylov_set_stop(kryi_krylov *K, const kry_stop *wanted)
{
    kry_status st = KRY_OK;
    kry_stop stop = *wanted;
    const int64_t every = K->stopping.criteria.check_every;
    int64_t unknowns;

    CHECK(!stop.check_every || stop.check_every == every, KRY_ERR_ARGUMENT,
          "kry_solver_set_stop: check_every = %lld, but the solver was made for %lld",
          (long long)stop.check_every, (long long)every);
    stop.check_every = every;
    TRY(kryi_method_check_stop("kry_solver_set_stop", K->method, &stop));
    TRY(kryi_layout_rows(&K->A->dev->layout, K->A->shape.cols, NULL, &unknowns));
    TRY(kryi_stop_check("kry_solver_set_stop", K->A->shape.type, unknowns, &stop));
    TRY(kryi_layout_join(&K->A->dev->layout,
                         kryi_progress_reserve(&K->stopping.progress, stop.max_iter)));
    K->stopping.criteria = stop;
    if (stop.test != KRY_STOP_BACKWARD) K->stopping.norm_A = 0, K->measured = -1;
done:
    return st;
}

const char *kryi_krylov_text(const kryi_krylov *K, char *text, size_t size)
{
    kry_op_info M = { .kind = "none", .variant = "", .chosen = "" }, D = { .variant = "none" };
    const char *left_out = "left out, for it only scales";
    kryi_deflation *deflation = kryi_deflation_of(K->deflation);

    if (K->first) kry_op_describe(K->first, &M);
    if (K->left_out) M.kind = K->left_out, M.variant = left_out;
    if (deflation && deflation->variant == KRY_VARIANT_AUTO)
        kryi_deflation_describe(deflation, K->first ? KRY_ADEF2 : KRY_BNN, &D);
    else if (deflation)
        kry_op_describe(K->deflation, &D);
    size_t used = 0;
    if (K->width)
        used =
            (size_t)snprintf(text, size, "%s = %lld, ", K->method->width.name, (long long)K->width);
    if (K->guess)
        used +=
            (size_t)snprintf(text + used, size - used, "guess from %d solutions, ", K->guess->most);
    snprintf(text + used, size - used, "preconditioner %s%s%.140s%s%s%.80s%s, deflation %.146s",
             M.kind, *M.variant ? " (" : "", M.variant, *M.variant ? ")" : "",
             *M.chosen ? " by auto (" : "", M.chosen, *M.chosen ? ")" : "", D.variant);
    return text;
}

static void krylov_describe(void *self, kry_op_info *info)
{
    kryi_krylov *K = self;
    char own[320], stop[100];

    if (K->method->describe)
        K->method->describe(K->self, info), snprintf(own, sizeof own, "%s", info->variant);
    else
        kryi_krylov_text(K, own, sizeof own);
    snprintf(K->text, sizeof K->text, "%s, %s, %s precision", own,
             kryi_stop_text(&K->stopping.criteria, stop, sizeof stop),
             kry_type_name(K->A->shape.type));
    info->variant = K->text;
}

void kryi_krylov_destroy(void *self)
{
    kryi_krylov *K = self;
    if (!K) return;
    kryi_columns_release(K);
    kryi_workspace_destroy(K->self);
    free(K->stopping.progress.history);
    kryi_residual_release(&K->residual);
    kryi_guess_release(&K->guess);
    kry_vec_release(&K->best);
    kry_vec_release(&K->r);
    kry_op_release(&K->deflation);
    kry_op_release(&K->product);
    kry_op_release(&K->M);
    kry_op_release(&K->first);
    kry_op_release(&K->A);
    free(K);
}

const kry_op_table kryi_krylov_table = {
    .struct_size = sizeof(kry_op_table),
    .apply = krylov_apply,
    .solve = krylov_solve,
    .describe = krylov_describe,
    .destroy = kryi_krylov_destroy,
};
const kryi_op_fused kryi_krylov_fused = { .renew = krylov_renew };

kryi_krylov *kryi_krylov_of(const kry_op *op)
{
    return op->table->solve == krylov_solve ? op->self : NULL;
}
