/*
 * halved.c - a stored matrix for vectors in single once more, with its numbers as halves. A half stands for `unit` times as
 * much, a power of two, and the rows keep what they add up to:
 *
 *     y_i = unit sum over j of h_ij x_j + s_i x_i,   s_i = sum over j of (a_ij - unit h_ij) in single
 *
 * That is flux form: the sum over j of unit h_ij (x_j - x_i) beside the row sum of A. So where A = A' has no positive coupling
 * every coupling is off by at most 2^-11 of itself, and x'Ax by no more; plain rounding would add up to 2^-11 a_ii to
 * a row sum, which for smooth x can be all of it. Kernels: cl/formats/halves.cl.
 */
#include "matrix/matrix.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct halved {
    kryi_source source;
    kry_op *
        of; /* retained; unless its numbers come from another matrix it has none while there are halves */
} halved;

static void halved_destroy(kryi_source *source)
{
    kry_op_release(&((halved *)source)->of);
    free(source);
}

/* ---- the unit ------------------------------------------------------------------------------------ */

static kry_status run(kry_device *dev, const char *name, int64_t n, const kry_arg *args,
                      size_t count)
{
    return kryi_run(dev, "halves", KRY_F32, "", name, kryi_groups_for(dev, KRY_F32, n), args,
                    count);
}

/* *most and *least: so that the largest of n singles is in [2^(most - 1), 2^most), and the smallest that is not 0 likewise; no
 * such powers: *most is above 128. Waits. */
static kry_status find_range(kry_device *dev, int64_t n, cl_mem val, int *most, int *least)
{
    enum { BEYOND = 200 };
    kry_status st = KRY_OK;
    cl_int bits[2] = { 0, INT_MAX };
    float size[2];
    cl_mem found = NULL;

    TRY(kryi_buffer_upload(dev, sizeof bits, bits, &found));
    const kry_arg args[] = { ARG(n), ARG(val), ARG(found) };
    TRY(run(dev, "halves_range", n, args, COUNT(args)));
    TRY(kryi_buffer_read(dev, found, 0, sizeof bits, bits));
    memcpy(size, bits, sizeof size);
    *most = *least = BEYOND;
    if (bits[0] == 0 || !isfinite(size[0])) goto done;
    (void)frexpf(size[0], most);
    (void)frexpf(size[1], least);
done:
    kryi_buffer_release(dev, &found);
    return st;
}

/* *unit := a power of two, in which no number of A is above the largest half; 0: halves do not do. They do if all numbers but 0
 * keep 11 digits, or if those that do not are off by less than the rounding of a single against every diagonal entry. Waits. */
static kry_status find_unit(const kryi_matrix *A, double *unit)
{
    enum { MOST = 15, LEAST = -14, RANGE = 100 }; /* exponents: of halves, and of units */
    kry_status st = KRY_OK;
    kry_vec *d = NULL;
    int most, least, largest, smallest;

    *unit = 0;
    TRY(find_range(A->dev, A->slots, A->val, &most, &least));
    if (abs(most - MOST) > RANGE) return KRY_OK;
    if (least - 1 < most - MOST + LEAST) {
        TRY(kry_vec_create(A->dev, KRY_F32, A->shape.rows, 1, &d));
        TRY(kry_op_diagonal(A->op, d));
        TRY(find_range(A->dev, A->shape.rows, d->buffer, &largest, &smallest));
        if (largest > most || smallest < most + LEAST) goto done;
    }
    *unit = ldexp(1, most - MOST);
done:
    kry_vec_release(&d);
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* What a matrix has of its own beside its structure. */
typedef struct numbers {
    cl_mem val, surplus;
    double unit;
} numbers;

static numbers exchange(kryi_matrix *H, numbers v)
{
    const numbers old = { H->val, H->surplus, H->unit };
    H->val = v.val, H->surplus = v.surplus, H->unit = v.unit;
    return old;
}

static void numbers_release(kry_device *dev, numbers *v)
{
    kryi_buffer_release(dev, &v->val);
    kryi_buffer_release(dev, &v->surplus);
}

/* v := the numbers of S as they are, shared. */
static kry_status share(const kryi_matrix *S, numbers *v)
{
    kry_status st = KRY_OK;

    *v = (numbers){ 0 };
    TRY(kryi_buffer_retain(S->dev, S->val));
    v->val = S->val;
    if (S->surplus) {
        TRY(kryi_buffer_retain(S->dev, S->surplus));
        v->surplus = S->surplus;
    }
done:
    return st;
}

static kry_status round_all(const kryi_matrix *S, double unit, cl_mem *val)
{
    kry_status st = KRY_OK;
    const int64_t slots = S->slots;
    const cl_float scale = (cl_float)(1 / unit);

    TRY(kryi_buffer_create(S->dev, (uint64_t)slots * sizeof(cl_half), val));
    const kry_arg args[] = { ARG(slots), ARG(scale), ARG(S->val), ARG(*val) };
    TRY(run(S->dev, "halves_round", slots, args, COUNT(args)));
done:
    return st;
}

/* *sums := a single for each row behind the unit: what the rows of S add up to, less what those of H do, which has the numbers of
 * `bare` for this time. Residuals are summed in double, so that the difference has the digits of a single. */
static kry_status find_rest(const kryi_matrix *S, kryi_matrix *H, numbers bare, cl_mem *sums)
{
    kry_status st = KRY_OK;
    const int64_t n = S->shape.rows;
    const cl_float unit = (cl_float)bare.unit;
    kry_vec *ones = NULL, *all = NULL, *zeros = NULL, sum;

    TRY(kry_vec_create(S->dev, KRY_F32, n, 1, &ones));
    TRY(kry_vec_create(S->dev, KRY_F32, n + 1, 1, &all));
    TRY(kry_vec_create(S->dev, KRY_F32, n + 1, 1, &zeros));
    TRY(kry_vec_fill(ones, -1));
    TRY(kry_vec_fill(all, 0));
    TRY(kry_vec_fill(zeros, 0));
    sum = *all, sum.n = n, sum.first = 1;
    TRY(kryi_op_run_residual(S->op, &sum, ones, &sum));
    TRY(kry_vec_fill(ones, 1));
    TRY(kryi_buffer_write(S->dev, zeros->buffer, 0, sizeof unit, &unit));
    bare.surplus = zeros->buffer;
    const numbers own = exchange(H, bare);
    st = kryi_matrix_kernels(H, KRY_F32);
    if (st == KRY_OK) st = kryi_op_run_residual(H->op, &sum, ones, &sum);
    exchange(H, own);
    TRY(st);
    TRY(kryi_buffer_write(S->dev, all->buffer, 0, sizeof unit, &unit));
    TRY(kryi_buffer_retain(S->dev, all->buffer));
    *sums = all->buffer;
done:
    kry_vec_release(&zeros);
    kry_vec_release(&all);
    kry_vec_release(&ones);
    return st;
}

/* v := halves, or where these do not hold the numbers of S what S has. */
static kry_status make_numbers(const kryi_matrix *S, kryi_matrix *H, numbers *v)
{
    kry_status st = KRY_OK;
    double unit;

    *v = (numbers){ 0 };
    TRY(find_unit(S, &unit));
    if (unit == 0) return share(S, v);
    v->unit = unit;
    TRY(round_all(S, unit, &v->val));
    TRY(find_rest(S, H, *v, &v->surplus));
done:
    if (st < 0) numbers_release(S->dev, v);
    return st;
}

static kry_status renew(kryi_source *source, kryi_matrix *H)
{
    kry_status st = KRY_OK;
    kryi_matrix *S = kryi_matrix_of(((halved *)source)->of);
    numbers v = { 0 };

    if (H->formats != S->formats) TRY(kryi_matrix_follow_format(S, H));
    TRY(make_numbers(S, H, &v));
    v = exchange(H, v);
    TRY(kryi_matrix_kernels(H, KRY_F32));
    snprintf(H->variant, sizeof H->variant, "%.80s%s", S->variant, H->unit != 0 ? ", in half" : "");
    if (H->unit != 0 && !S->source) kryi_buffer_release(S->dev, &S->val);
done:
    (void)kryi_matrix_kernels(H, KRY_F32); /* on failure those of the old numbers */
    numbers_release(H->dev, &v);
    return st;
}

/* ---- operators ----------------------------------------------------------------------------------- */

/* One launch, whose kernels know halves and add the surplus. */
bool kryi_matrix_halves(const kry_op *op)
{
    static const char *const stems[] = { "csr", "dia", "ell", "sell" };
    const kryi_matrix *S = kryi_matrix_of(op);
    bool known = false;

    if (!S || S->stages != 1) return false;
    for (size_t i = 0; i < COUNT(stems); i++) known |= !strcmp(S->stage[0].stem, stems[i]);
    return known && S->shape.type == KRY_F32 && S->shape.rows == S->shape.cols &&
           S->shape.rows > 0 && S->params.form != KRY_FLUX && S->val && S->dev->info.fp64 &&
           !S->dev->team;
}

kry_status kryi_matrix_halved(kry_op *op, kry_op **half)
{
    kry_status st = KRY_OK;
    kryi_matrix *S = kryi_matrix_of(op), *H = NULL;
    halved *w = NULL;
    numbers v;

    *half = NULL;
    TRY(kryi_matrix_shell(S, &H));
    H->formats = S->formats;
    TRY(kryi_alloc(1, sizeof *w, &w));
    *w = (halved){ .source = { renew, halved_destroy }, .of = kry_op_retain(op) };
    H->source = &w->source;
    TRY(share(S, &v));
    exchange(H, v);
    TRY(kryi_matrix_finish(&H, half));
    TRY(renew(&w->source, kryi_matrix_of(*half)));
done:
    if (st < 0) kry_op_release(half);
    kryi_matrix_destroy(H);
    return st;
}

kry_status kryi_matrix_take_halves(kry_op **op)
{
    kry_status st = KRY_OK;
    kry_op *half = NULL;

    if (!kryi_matrix_halves(*op)) return KRY_OK;
    TRY(kryi_matrix_halved(*op, &half));
    kry_op_release(op);
    *op = half;
done:
    return st;
}

static halved *halved_of(const kry_op *op)
{
    const kryi_matrix *H = kryi_matrix_of(op);
    return H && H->source && H->source->renew == renew ? (halved *)H->source : NULL;
}

kry_op *kryi_matrix_halved_from(kry_op *op)
{
    const halved *w = halved_of(op);
    return w ? w->of : NULL;
}

kry_status kryi_matrix_halved_again(kry_op *op)
{
    return halved_of(op) ? kry_op_update(op, NULL) : KRY_OK;
}

double kryi_matrix_halved_bytes(const kry_op *op)
{
    const kryi_matrix *H = kryi_matrix_of(op);
    return H && H->unit != 0 ? 2.0 * (double)H->slots + 4.0 * (double)H->shape.rows : 0;
}
