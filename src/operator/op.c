/* op.c - the front door of every operator: checks once, then calls the table or its default. */
#include "operator/op.h"
#include "operator/op_parts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

kry_status kryi_op_check_traits(const char *who, int64_t rows, int64_t cols, unsigned traits)
{
    const unsigned all = KRY_SYMMETRIC | KRY_POSITIVE | KRY_VARYING | KRY_SINGULAR | KRY_WAITS;
    kry_status st = KRY_OK;

    CHECK(!(traits & ~all), KRY_ERR_ARGUMENT, "%s: there are no traits 0x%x", who, traits & ~all);
    CHECK(rows == cols || !(traits & (KRY_SYMMETRIC | KRY_POSITIVE | KRY_SINGULAR)), KRY_ERR_SHAPE,
          "%s: %lld-by-%lld cannot be %s", who, (long long)rows, (long long)cols,
          traits & KRY_POSITIVE    ? "positive definite (KRY_POSITIVE)"
          : traits & KRY_SYMMETRIC ? "symmetric (KRY_SYMMETRIC)"
                                   : "symmetric and singular (KRY_SINGULAR)");
done:
    return st;
}

kry_status kry_op_create(kry_device *dev, const kry_op_table *table, void *self,
                         const kry_op_shape *shape, kry_op **op)
{
    static const kryi_op_fused none;
    return kryi_op_create_fused(dev, table, &none, self, shape, op);
}

kry_status kryi_op_create_fused(kry_device *dev, const kry_op_table *table,
                                const kryi_op_fused *fused, void *self, const kry_op_shape *shape,
                                kry_op **op)
{
    kry_status st = KRY_OK;
    kry_op *o = NULL;
    kry_op_table *extended = NULL;

    if (op) *op = NULL;
    TRY(kryi_check_given("kry_op_create", "op, device, table, shape",
                         (const void *const[]){ op, dev, table, shape }));
    if (table->struct_size != sizeof *table) {
        TRY(kryi_alloc(1, sizeof *extended, &extended));
        TRY(kryi_params_take("kry_op_create", "sizeof(kry_op_table)", table, extended,
                             sizeof *extended));
        table = extended;
    }
    CHECK(table->apply && table->kind, KRY_ERR_ARGUMENT,
          "kry_op_create: the table has no apply or no kind");
    CHECK(!dev->team || table == &kryi_parts_table, KRY_ERR_UNSUPPORTED,
          "kry_op_create: '%s' is for one device, and this is a team of %d", table->kind,
          kry_team_size(dev));
    CHECK(shape->rows >= 0 && shape->cols >= 0, KRY_ERR_ARGUMENT, "kry_op_create: %lld-by-%lld",
          (long long)shape->rows, (long long)shape->cols);
    CHECK(shape->type == KRY_F32 || shape->type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_op_create: %d is not a number type", (int)shape->type);
    TRY(kryi_op_check_traits("kry_op_create", shape->rows, shape->cols, shape->traits));
    TRY(kryi_alloc(1, sizeof *o, &o));
    *o = (kry_op){ .refs = 1,
                   .dev = kry_device_retain(dev),
                   .table = table,
                   .fused = fused,
                   .self = self,
                   .shape = *shape,
                   .extended = extended };
    extended = NULL;
    if (o->shape.traits & KRY_POSITIVE) o->shape.traits |= KRY_SYMMETRIC;
    assert(op);
    *op = o;
done:
    free(extended);
    return st;
}

kry_op *kry_op_retain(const kry_op *op)
{
    kry_op *o = (kry_op *)op; /* the count is not part of the operator's value */
    if (o) o->refs++;
    return o;
}

void kry_op_release(kry_op **op)
{
    kry_op *o = op ? *op : NULL;
    if (op) *op = NULL;
    if (!o || --o->refs) return;
    if (o->table->destroy) o->table->destroy(o->self);
    free(o->column);
    free(o->extended);
    kry_vec_release(&o->near_null_space);
    kry_vec_release(&o->null_space);
    kry_vec_release(&o->null_found.vectors);
    kry_device_release(&o->dev);
    free(o);
}

const kry_op_shape *kry_op_get_shape(const kry_op *op) { return op ? &op->shape : NULL; }
kry_device *kry_op_device(const kry_op *op) { return op ? op->dev : NULL; }

void kry_op_describe_sized(const kry_op *op, kry_op_info *info, size_t info_size)
{
    kry_op_info all = { .kind = "", .variant = "", .chosen = "", .nnz = -1 };

    if (op) all.kind = op->table->kind;
    if (op && op->chosen) all.chosen = op->chosen;
    if (op && info && op->table->describe) op->table->describe(op->self, &all);
    kryi_hand_out(&all, sizeof all, info, info_size);
}

kry_status kryi_op_check_square(const char *who, const kry_op *op)
{
    if (op->shape.rows == op->shape.cols) return KRY_OK;
    return kry_fail(KRY_ERR_SHAPE, "%s: '%s' is %lld-by-%lld, and must be square", who,
                    op->table->kind, (long long)op->shape.rows, (long long)op->shape.cols);
}

/* ---- one thread at a time --------------------------------------------------------------- */

/* Its address is another one on every thread. */
static _Thread_local char this_thread;

kry_status kryi_op_keep(const char *who, const kry_op *op)
{
    kry_status st = KRY_OK;
    kry_op *o = (kry_op *)op; /* who uses it is no part of its value */
    const uintptr_t me = (uintptr_t)&this_thread;
    uintptr_t owner = 0;

    if (!o) return KRY_OK;
    if (atomic_load_explicit(&o->owner, memory_order_relaxed) != me)
        CHECK(atomic_compare_exchange_strong(&o->owner, &owner, me), KRY_ERR_ARGUMENT,
              "%s: '%s' is at work for another thread: one thread at a time (docs/devices.md)", who,
              o->table->kind);
    CHECK(!o->solving, KRY_ERR_ARGUMENT,
          "%s: '%s' is at work: its monitor, or an operator within its solve, cannot use it", who,
          o->table->kind);
    o->uses++;
done:
    return st;
}

void kryi_op_let_go(const kry_op *op)
{
    kry_op *o = (kry_op *)op;

    if (o && --o->uses == 0) atomic_store_explicit(&o->owner, 0, memory_order_release);
}

kry_status kryi_op_begin_solve(const char *who, const kry_op *op, bool nested)
{
    kry_status st = kryi_op_keep(who, op);

    if (st < 0) return st;
    if (!nested && op->uses > 1) {
        kryi_op_let_go(op);
        return kry_fail(KRY_ERR_ARGUMENT,
                        "%s: '%s' is at work: it is the preconditioner of a solve under way", who,
                        op->table->kind);
    }
    ((kry_op *)op)->solving = true;
    return KRY_OK;
}

void kryi_op_end_solve(const kry_op *op)
{
    ((kry_op *)op)->solving = false;
    kryi_op_let_go(op);
}

/* ---- front doors ---------------------------------------------------------------------- */

kry_status kryi_op_check_operands(const char *who, const kry_op *op, const kry_vec *x, int64_t cols,
                                  const kry_vec *y, int64_t rows)
{
    kry_status st = KRY_OK;

    CHECK(op && x && y, KRY_ERR_ARGUMENT, "%s: NULL", who);
    CHECK(x->n == cols && y->n == rows && x->k == y->k, KRY_ERR_SHAPE,
          "%s: '%s' is %lld-by-%lld, but x is %lld-by-%lld and y %lld-by-%lld", who,
          op->table->kind, (long long)op->shape.rows, (long long)op->shape.cols, (long long)x->n,
          (long long)x->k, (long long)y->n, (long long)y->k);
    CHECK(x->type == op->shape.type && y->type == op->shape.type, KRY_ERR_TYPE,
          "%s: '%s' is %s, x is %s, y is %s", who, op->table->kind, kry_type_name(op->shape.type),
          kry_type_name(x->type), kry_type_name(y->type));
    CHECK(x->dev == op->dev && y->dev == op->dev, KRY_ERR_ARGUMENT,
          "%s: a vector lives on another device than '%s'", who, op->table->kind);
    CHECK(!kryi_vec_overlap(x, y), KRY_ERR_ARGUMENT, "%s: x and y overlap", who);
done:
    return st;
}

/* An empty range is no launch; but other parts may wait for this one. */
static bool is_work(const kry_vec *y) { return y->n > 0 || kryi_layout_size(y->layout) > 1; }

static kry_status by_column(kryi_apply *apply, void *self, double alpha, const kry_vec *x,
                            double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    if (!is_work(y)) return KRY_OK;
    for (int64_t j = 0; j < x->k; j++) {
        kry_vec xj = kryi_vec_column(x, j), yj = kryi_vec_column(y, j);
        TRY(apply(self, alpha, &xj, beta, &yj));
    }
done:
    return st;
}

kry_status kryi_op_run_apply(const kry_op *op, double alpha, const kry_vec *x, double beta,
                             kry_vec *y)
{
    if (x->k == 1 && is_work(y)) return op->table->apply(op->self, alpha, x, beta, y);
    if (op->table->apply_block && is_work(y))
        return op->table->apply_block(op->self, alpha, x, beta, y);
    return by_column(op->table->apply, op->self, alpha, x, beta, y);
}

kry_status kry_op_apply(const kry_op *op, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    CHECK(op, KRY_ERR_ARGUMENT, "kry_op_apply: NULL");
    TRY(kryi_op_check_operands("kry_op_apply", op, x, op->shape.cols, y, op->shape.rows));
    const bool solves = op->table->solve;
    TRY(solves ? kryi_op_begin_solve("kry_op_apply", op, true) : kryi_op_keep("kry_op_apply", op));
    st = kryi_op_run_apply(op, alpha, x, beta, y);
    solves ? kryi_op_end_solve(op) : kryi_op_let_go(op);
done:
    return st;
}

kryi_apply *kryi_op_transpose(const kry_op *op)
{
    if (op->table->apply_transpose) return op->table->apply_transpose;
    return op->shape.traits & KRY_SYMMETRIC ? op->table->apply : NULL;
}

kry_status kry_op_apply_transpose(const kry_op *op, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    kry_status st = KRY_OK;
    CHECK(op, KRY_ERR_ARGUMENT, "kry_op_apply_transpose: NULL");
    TRY(kryi_op_check_operands("kry_op_apply_transpose", op, x, op->shape.rows, y, op->shape.cols));
    kryi_apply *apply = kryi_op_transpose(op);
    CHECK(apply, KRY_ERR_UNSUPPORTED, "kry_op_apply_transpose: '%s' offers no transpose",
          op->table->kind);
    TRY(kryi_op_keep("kry_op_apply_transpose", op));
    st = by_column(apply, op->self, alpha, x, beta, y);
    kryi_op_let_go(op);
done:
    return st;
}

static kry_status residual_by_column(const kry_op *op, const kry_vec *b, const kry_vec *x,
                                     kry_vec *r)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < b->k; j++) {
        kry_vec bj = kryi_vec_column(b, j), xj = kryi_vec_column(x, j), rj = kryi_vec_column(r, j);
        if (op->table->residual) {
            TRY(op->table->residual(op->self, &bj, &xj, &rj));
        } else {
            if (!kryi_vec_overlap(&bj, &rj)) TRY(kry_vec_copy(&bj, &rj));
            TRY(op->table->apply(op->self, -1.0, &xj, 1.0, &rj));
        }
    }
done:
    return st;
}

kry_status kryi_op_run_residual(const kry_op *op, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kry_status st = KRY_OK;

    if (b->k == 1 && op->table->residual) return op->table->residual(op->self, b, x, r);
    if (b->k == 1 || !op->table->apply_block) return residual_by_column(op, b, x, r);
    if (op->fused->residual_block) return op->fused->residual_block(op->self, b, x, r);
    if (!kryi_vec_overlap(b, r)) TRY(kry_vec_copy(b, r));
    TRY(op->table->apply_block(op->self, -1.0, x, 1.0, r));
done:
    return st;
}

kry_status kry_op_residual(const kry_op *op, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kry_status st = KRY_OK;

    CHECK(op && b && r, KRY_ERR_ARGUMENT, "kry_op_residual: NULL");
    TRY(kryi_op_check_operands("kry_op_residual", op, x, op->shape.cols, r, op->shape.rows));
    TRY(kryi_op_check_operands("kry_op_residual", op, x, op->shape.cols, b, op->shape.rows));
    CHECK(!kryi_vec_overlap(b, r) || b->first == r->first, KRY_ERR_ARGUMENT,
          "kry_op_residual: b and r overlap by a part");
    if (!is_work(r)) return KRY_OK;
    TRY(kryi_op_keep("kry_op_residual", op));
    /* Where the residual of one column is summed in double, though it is in single, that counts for more. */
    st = (op->table->residual && !op->fused->residual_block && op->shape.type == KRY_F32)
             ? residual_by_column(op, b, x, r)
             : kryi_op_run_residual(op, b, x, r);
    kryi_op_let_go(op);
done:
    return st;
}

kry_status kry_op_diagonal(const kry_op *op, kry_vec *d)
{
    kry_status st = KRY_OK;

    CHECK(op && d, KRY_ERR_ARGUMENT, "kry_op_diagonal: NULL");
    CHECK(op->table->diagonal, KRY_ERR_UNSUPPORTED, "kry_op_diagonal: '%s' offers no diagonal",
          op->table->kind);
    CHECK(op->shape.rows == op->shape.cols && d->n == op->shape.rows && d->k == 1, KRY_ERR_SHAPE,
          "kry_op_diagonal: '%s' is %lld-by-%lld, d is %lld-by-%lld", op->table->kind,
          (long long)op->shape.rows, (long long)op->shape.cols, (long long)d->n, (long long)d->k);
    CHECK(d->type == op->shape.type && d->dev == op->dev, KRY_ERR_TYPE,
          "kry_op_diagonal: d has another number type or device than '%s'", op->table->kind);
    TRY(kryi_op_keep("kry_op_diagonal", op));
    if (d->n) st = op->table->diagonal(op->self, d);
    kryi_op_let_go(op);
done:
    return st;
}

kry_status kry_op_update(kry_op *op, const void *values)
{
    kry_status st = KRY_OK;
    bool kept = false;

    kryi_team_enter(kry_op_device(op), "kry_op_update", NULL);
    CHECK(op, KRY_ERR_ARGUMENT, "kry_op_update: NULL");
    CHECK(op->table->update || !values, op->fused->renew ? KRY_ERR_ARGUMENT : KRY_ERR_UNSUPPORTED,
          "kry_op_update: '%s' takes no values", op->table->kind);
    TRY(kryi_op_keep("kry_op_update", op));
    kept = true;
    op->updates++;
    if (op->table->update) TRY(op->table->update(op->self, values));
    if (op->fused->renew) TRY(op->fused->renew(op->self));
    /* The new numbers are in force: where there is no memory to look at them, nothing is known against them. */
    if (op->inspected && values && op->fused->inspect(op->self, values, &op->found) < 0)
        op->found = (kryi_finding){ 0 };
done:
    if (kept) kryi_op_let_go(op);
    return kryi_team_leave(kry_op_device(op), st);
}

kry_status kryi_op_apply_by(kryi_plain_apply *run, void *self, double alpha, const kry_vec *x,
                            double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_vec *product = NULL;

    if (alpha == 1 && beta == 0) return run(self, x, y);
    TRY(kry_vec_create(y->dev, y->type, y->n, y->k, &product));
    TRY(run(self, x, product));
    TRY(kry_vec_axpby(alpha, product, beta, y));
done:
    kry_vec_release(&product);
    return st;
}

/* ---- fused steps, with their defaults --------------------------------------------------- */

/* Reproducible sums go by chunks of rows, in passes of their own. */
static bool fuses_sums(const kry_op *op) { return !op->dev->layout.reproducible; }

kry_status kryi_op_run_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    if (op->table->apply_dot && fuses_sums(op) && x->k == 1)
        return op->table->apply_dot(op->self, x, y, sum);
    TRY(kryi_op_run_apply(op, 1.0, x, 0.0, y));
    TRY(kry_vec_dot_sum(x, y, sum));
done:
    return st;
}

kry_status kry_op_apply_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;

    CHECK(op && sum, KRY_ERR_ARGUMENT, "kry_op_apply_dot: NULL");
    TRY(kryi_op_check_square("kry_op_apply_dot", op));
    TRY(kryi_op_check_operands("kry_op_apply_dot", op, x, op->shape.cols, y, op->shape.rows));
    CHECK(x->k == 1, KRY_ERR_SHAPE, "kry_op_apply_dot: x has %lld columns, not one",
          (long long)x->k);
    CHECK(sum->dev == op->dev, KRY_ERR_ARGUMENT,
          "kry_op_apply_dot: the sum lives on another device than '%s'", op->table->kind);
    TRY(kryi_op_keep("kry_op_apply_dot", op));
    st = kryi_op_run_dot(op, x, y, sum);
    kryi_op_let_go(op);
done:
    return st;
}

kry_status kryi_op_run_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    kry_status st = KRY_OK;
    if (op->table->apply_dots && fuses_sums(op) && r->k == 1)
        return op->table->apply_dots(op->self, r, z, sum);
    TRY(kryi_op_run_apply(op, 1.0, r, 0.0, z));
    TRY(kryi_vec_dot_pair(r, z, sum));
done:
    return st;
}

kry_status kryi_op_run_dots_again(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    if (op->fused->apply_dots_again && fuses_sums(op) && r->k == 1)
        return op->fused->apply_dots_again(op->self, r, z, sum);
    return kryi_op_run_dots(op, r, z, sum);
}
