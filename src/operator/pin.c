/* pin.c - P := A + a_rr e_r e_r', a singular A made regular in one unknown. Kernel: cl/operator/pin.cl. */
#include "operator/pin.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pin {
    kry_op *A;          /* retained */
    int64_t row;        /* here; -1: on another part of a team */
    int64_t global_row; /* of the whole */
    double entry;       /* a_rr */
    kryi_kernel *add;
    char variant[64];
} pin;

/* y_r += c x_r */
static kry_status add_entry(const pin *P, double c, const kry_vec *x, kry_vec *y)
{
    if (P->row < 0) return KRY_OK;
    kryi_scalar scalar = kryi_scalar_of(y->dev, c);
    const int64_t from = x->first + P->row, to = y->first + P->row;
    const kry_arg args[] = { ARG_ACC(y->dev, scalar), ARG(x->buffer), ARG(from), ARG(y->buffer),
                             ARG(to) };
    return kryi_launch(y->dev, P->add, 1, args, COUNT(args));
}

static kry_status pin_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    pin *P = self;
    kry_status st = KRY_OK;

    TRY(kry_op_apply(P->A, alpha, x, beta, y));
    TRY(add_entry(P, alpha * P->entry, x, y));
done:
    return st;
}

static kry_status pin_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    pin *P = self;
    kry_status st = KRY_OK;

    TRY(kry_op_residual(P->A, b, x, r));
    TRY(add_entry(P, -P->entry, x, r));
done:
    return st;
}

static kry_status pin_diagonal(void *self, kry_vec *d)
{
    pin *P = self;
    kry_status st = KRY_OK;

    TRY(kry_op_diagonal(P->A, d));
    TRY(add_entry(P, 1, d, d)); /* a_rr twice */
done:
    return st;
}

/* Number `row` of a vector, which is here if row >= 0. Waits. Collective. */
static kry_status read_number(const kry_vec *v, int64_t row, double *number)
{
    kry_status st = KRY_OK;
    double host = 0; /* room for either type */
    kry_vec one = kryi_vec_borrow(v);

    one.first += row, one.n = one.k = 1;
    if (row >= 0) TRY(kry_vec_read(&one, &host));
    *number = kryi_number_at(v->type, &host, 0);
    TRY(kryi_layout_combine(v->layout, KRY_ADD, number, 1));
done:
    return st;
}

/* a_rr; the old one stays if it fails. */
static kry_status take_entry(pin *P, const char *who)
{
    kry_status st = KRY_OK;
    const kry_op *A = P->A;
    kry_vec *d = NULL;
    double entry = 0;

    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &d));
    TRY(kry_op_diagonal(A, d));
    TRY(read_number(d, P->row, &entry));
    CHECK(entry > 0 && isfinite(entry), KRY_ERR_SINGULAR,
          "%s: the diagonal entry of row %lld of '%s' is %g; only a positive one pins" COUNTED, who,
          ROW(P->global_row), A->table->kind, entry, kryi_first_row);
    P->entry = entry;
done:
    kry_vec_release(&d);
    return st;
}

static kry_status pin_update(void *self, const void *values)
{
    pin *P = self;
    kry_status st = KRY_OK;

    TRY(kry_op_update(P->A, values));
    TRY(take_entry(P, "kry_op_update"));
done:
    return st;
}

static void pin_describe(void *self, kry_op_info *info)
{
    pin *P = self;

    kry_op_describe(P->A, info);
    snprintf(P->variant, sizeof P->variant, "row %lld of %s", (long long)P->global_row, info->kind);
    info->kind = "pin";
    info->variant = P->variant;
    info->bytes_per_direction = info->bytes_per_step = 0; /* not offered */
}

static void pin_destroy(void *self)
{
    pin *P = self;
    if (!P) return;
    kry_op_release(&P->A);
    free(P);
}

static kry_status pin_convert(void *self, kry_type type, double factor, const double *scale,
                              kry_op **copy);

static const kry_op_table pin_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "pin",
    .apply = pin_apply,
    .apply_transpose = pin_apply, /* A is symmetric */
    .residual = pin_residual,
    .diagonal = pin_diagonal,
    .update = pin_update,
    .describe = pin_describe,
    .destroy = pin_destroy,
    .convert = pin_convert,
};

const kry_op *kryi_pin_of(const kry_op *op)
{
    return op && op->table == &pin_table ? ((const pin *)op->self)->A : op;
}

int64_t kryi_pin_row(const kry_op *op)
{
    return op && op->table == &pin_table ? ((const pin *)op->self)->row : -1;
}

/* A null space of one vector, and that is not zero in the row. */
static kry_status check_null_space(const kry_op *A, int64_t row)
{
    kry_status st = KRY_OK;
    const kry_vec *N = kryi_op_null_vectors(A);
    double share = 1;

    CHECK(kryi_op_is_singular(A), KRY_ERR_ARGUMENT,
          "kry_pin_create: '%s' is not known to be singular: nobody has said so, or seen its rows "
          "add up to zero, so that there is nothing to pin",
          A->table->kind);
    if (!N) return KRY_OK;
    CHECK(N->k == 1, KRY_ERR_UNSUPPORTED,
          "kry_pin_create: one row pins one vector, the null space of '%s' has %lld",
          A->table->kind, (long long)N->k);
    TRY(read_number(N, kryi_layout_find_row(&A->dev->layout, A->shape.rows, row), &share));
    CHECK(share != 0, KRY_ERR_ARGUMENT,
          "kry_pin_create: the null space of '%s' is zero in row %lld: nothing is pinned "
          "there" COUNTED,
          A->table->kind, ROW(row), kryi_first_row);
done:
    return st;
}

/* On a part of a team: the part's piece of what pins a row of the whole. */
static kry_status create(const kry_op *A, int64_t row, kry_op **out)
{
    kry_status st = KRY_OK;
    pin *P = NULL;

    TRY(check_null_space(A, row));
    CHECK(A->table->diagonal, KRY_ERR_UNSUPPORTED, "kry_pin_create: '%s' offers no diagonal",
          A->table->kind);
    TRY(kryi_alloc(1, sizeof *P, &P));
    P->A = kry_op_retain(A);
    P->row = kryi_layout_find_row(&A->dev->layout, A->shape.rows, row);
    P->global_row = row;
    TRY(kryi_kernel_get(A->dev, "pin", A->shape.type, "", "pin_add", &P->add));
    TRY(take_entry(P, "kry_pin_create"));
    kry_op_shape shape = A->shape;
    shape.traits = KRY_POSITIVE;
    TRY(kry_op_create(A->dev, &pin_table, P, &shape, out));
    P = NULL;
done:
    pin_destroy(P);
    return st;
}

/* The copy of A, pinned. */
static kry_status pin_convert(void *self, kry_type type, double factor, const double *scale,
                              kry_op **copy)
{
    pin *P = self, *old = *copy ? (*copy)->self : NULL;
    kry_status st = KRY_OK;
    kry_op *A = old ? kry_op_retain(old->A) : NULL;

    TRY(kryi_op_make_copy("kry_op_convert", P->A, type, factor, scale, &A));
    TRY(old ? take_entry(old, "kry_op_convert") : kry_pin_create(A, P->global_row, copy));
done:
    kry_op_release(&A);
    return st;
}

/* ---- on a team ------------------------------------------------------------------------------- */

typedef struct pin_args {
    const kry_op *A;
    int64_t row;
} pin_args;

static kry_status create_part(const void *user, int rank, kry_op **local)
{
    const pin_args *p = user;

    *local = NULL;
    return create(kryi_op_on_part(p->A, rank), p->row, local);
}

kry_status kry_pin_create(const kry_op *A, int64_t row, kry_op **P)
{
    kry_status st = KRY_OK;

    kryi_team_enter(kry_op_device(A), "kry_pin_create", NULL);
    if (P) *P = NULL;
    TRY(GIVEN(P, A));
    TRY(kryi_op_check_square("kry_pin_create", A));
    const kryi_split *all = A->dev->layout.split; /* of the rows of which A has a part */
    int64_t rows = all ? all->n : A->shape.rows;
    CHECK(row >= 0 && row < rows, KRY_ERR_ARGUMENT, "kry_pin_create: row %lld is outside [0, %lld)",
          (long long)row, (long long)rows);
    if (kryi_op_in_parts(A))
        TRY(kryi_parts_create(A->dev, kryi_op_split(A), &(kryi_parts_extra){ .of = A }, create_part,
                              &(pin_args){ A, row }, P));
    else
        TRY(create(A, row, P));
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (st < 0) kry_op_release(P);
    return st;
}
