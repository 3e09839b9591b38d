/* sweeps.c - sweeps over any operator with a diagonal, by its own `relax`, or else by a residual
 * and a pass over vectors. Kernel: cl/precond/relax.cl. */
#include "precond/sweeps.h"
#include "operator/op.h"
#include <kry/precond.h>
#include <string.h>

static kry_status allocate(kryi_relaxer *w)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &w->A->shape;
    kry_device *dev = w->A->dev;

    TRY(kry_vec_create(dev, shape->type, shape->rows, 1, &w->residual));
    TRY(kryi_kernel_get(dev, "relax", shape->type, "", "relax_sweep", &w->sweep));
done:
    return st;
}

kry_status kryi_relaxer_create(const char *who, const kry_op *A, kryi_relaxer *w)
{
    kry_status st = KRY_OK;

    memset(w, 0, sizeof *w);
    TRY(kryi_op_check_square(who, A));
    CHECK(A->fused->relax || A->table->diagonal, KRY_ERR_UNSUPPORTED, "%s: '%s' offers no diagonal",
          who, A->table->kind);
    w->A = kry_op_retain(A);
    if (A->fused->relax) {
        TRY(A->fused->relax(A->self, NULL, NULL, NULL));
    } else {
        TRY(kry_jacobi_create(A, &w->M));
        TRY(allocate(w));
    }
done:
    if (st < 0) kryi_relaxer_release(w);
    return st;
}

kry_status kryi_relaxer_create_with(const char *who, const kry_op *A, const kry_op *M,
                                    kryi_relaxer *w)
{
    kry_status st = KRY_OK;

    memset(w, 0, sizeof *w);
    TRY(kryi_op_check_square(who, A));
    w->A = kry_op_retain(A);
    w->M = kry_op_retain(M);
    TRY(allocate(w));
done:
    if (st < 0) kryi_relaxer_release(w);
    return st;
}

void kryi_relaxer_release(kryi_relaxer *w)
{
    kry_vec_release(&w->residual);
    kry_op_release(&w->M);
    if (w->A) kry_op_release(&w->A);
}

kry_status kryi_relaxer_update(kryi_relaxer *w)
{
    return w->M ? kry_op_update(w->M, NULL) : KRY_OK;
}

/* Whether A does the whole step. */
static bool in_one_pass(const kryi_relaxer *w, const kryi_relax *s, const kry_vec *y,
                        const kry_sum *sum)
{
    return w->A->fused->relax_by && w->M->table->as_diagonal && s->x && s->c0 == 0 && !sum &&
           !kryi_vec_overlap(s->b, y) && !kryi_vec_overlap(s->x, y);
}

/* Whether loads of whole vectors may be used on all columns of what a step reads and writes. */
static bool is_aligned(const kry_vec *const *v, int count)
{
    bool aligned = true;
    for (int i = 0; i < count; i++) aligned = aligned && kryi_vec_aligned(v[i]);
    return aligned;
}

/* The pass over vectors, once r = b - A x is computed. */
static kry_status run_sweep(kryi_relaxer *w, const kryi_relax *s, const kry_vec *r, kry_vec *y,
                            kry_sum *sum)
{
    kry_status st = KRY_OK;
    kryi_kernel *sweep = w->sweep;
    const kry_vec *d = kryi_op_as_diagonal(w->M);
    const kry_vec *x = s->x ? s->x : s->b, *old = s->old && s->c0 != 0 ? s->old : x;
    const cl_int has_x = s->x != NULL, has_old = old != x, sums = sum ? sum->width : 0;
    kryi_scalar c0 = kryi_scalar_of(y->dev, s->c0), c1 = kryi_scalar_of(y->dev, s->c1);
    const cl_mem part = sum ? sum->buffer : y->buffer;
    int64_t groups = kryi_groups_for_sums(y->dev, y->type, y->n);
    const bool aligned = is_aligned((const kry_vec *[]){ s->b, x, old, r, y }, 5);
    const kry_arg args[] = { ARG(y->n),     ARG_ACC(y->dev, c0), ARG_ACC(y->dev, c1),
                             ARG_VEC(s->b), ARG(s->b->ld),       ARG(has_x),
                             ARG_VEC(x),    ARG(x->ld),          ARG(has_old),
                             ARG_VEC(old),  ARG(old->ld),        ARG(d->buffer),
                             ARG_VEC(r),    ARG(r->ld),          ARG_VEC(y),
                             ARG(y->ld),    ARG(sums),           ARG(part) };

    if (sum) sum->count = (cl_int)groups;
    if (!aligned && !y->dev->info.cpu_kernels) /* few are: compiled when one comes */
        TRY(kryi_kernel_get(y->dev, "relax", y->type, "-DKRY_UNALIGNED", "relax_sweep", &sweep));
    TRY(kryi_launch_range(y->dev, sweep, (kryi_range){ groups, .columns = y->k }, args,
                          COUNT(args)));
done:
    return st;
}

/* y := x + c1 M r */
static kry_status add_product(const kryi_relaxer *w, const kryi_relax *s, const kry_vec *r,
                              kry_vec *y)
{
    kry_status st = KRY_OK;

    if (s->x) TRY(kry_vec_copy(s->x, y));
    TRY(kryi_op_run_apply(w->M, s->c1, r, s->x ? 1 : 0, y));
done:
    return st;
}

/* By A's own step, which is for one column. */
static kry_status relax_by_column(const kryi_relaxer *w, const kryi_relax *s, kry_vec *y)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < y->k; j++) {
        const kry_vec b = kryi_vec_column(s->b, j), x = kryi_vec_column(s->x ? s->x : s->b, j),
                      old = kryi_vec_column(s->old ? s->old : s->b, j);
        kry_vec y_j = kryi_vec_column(y, j);
        kryi_relax one = *s;
        one.b = &b, one.x = s->x ? &x : NULL, one.old = s->old ? &old : NULL;
        TRY(w->A->fused->relax(w->A->self, &one, &y_j, NULL));
    }
done:
    return st;
}

kry_status kryi_relaxer_run(kryi_relaxer *w, const kryi_relax *s, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;

    if (y->n == 0) { /* OpenCL refuses empty launches */
        if (sum) sum->count = 0;
        return KRY_OK;
    }
    if (!w->M && y->k > 1) return relax_by_column(w, s, y);
    if (!w->M) return w->A->fused->relax(w->A->self, s, y, sum);
    if (in_one_pass(w, s, y, sum))
        return w->A->fused->relax_by(w->A->self, s->c1, kryi_op_as_diagonal(w->M), s->b, s->x, y);
    kry_vec room = { 0 };
    if (s->x) {
        TRY(kryi_vec_take(&w->residual, y->k, &room));
        TRY(kry_op_residual(w->A, s->b, s->x, &room));
    }
    const kry_vec *r = s->x ? &room : s->b;
    TRY(w->M->table->as_diagonal ? run_sweep(w, s, r, y, sum) : add_product(w, s, r, y));
done:
    return st;
}

/* Words moved beside those of the product: b; D^-1 where it is stored; and if A does not do it in one pass, r written and read, x
 * read, and y written once more. */
double kryi_relaxer_bytes(const kryi_relaxer *w)
{
    kry_op_info A;
    double word = (double)w->A->shape.rows * (double)kry_type_size(w->A->shape.type);

    kry_op_describe(w->A, &A);
    const int words = !w->M ? 1 : w->A->fused->relax_by ? 2 : 5;
    return A.bytes_per_apply > 0 ? A.bytes_per_apply + words * word : 0;
}
