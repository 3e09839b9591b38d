/* coarser.c - matrices of the levels, and the Galerkin operator of a level. Kernels: cl/amg/coarser.cl. */
#include "amg/amg_device.h"
#include "device/launch.h"
#include <limits.h>
#include <string.h>

static const char stem[] = "coarser";

/* A coarser matrix made with a restriction of its own loses entries below this part of a row's largest one. */
static const double coarser_drop = 4e-3;

kry_status kryi_device_rows(kry_device *dev, const char *file, const char *name, int64_t rows,
                            const kry_arg *args, size_t count)
{
    return kryi_run(dev, file, KRY_F64, "", name, kryi_groups_for(dev, KRY_F64, 2 * rows), args,
                    count);
}

kry_status kryi_device_diagonal(const kryi_device_csr *A, cl_mem *d)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;

    TRY(kryi_buffer_create(A->dev, (uint64_t)A->rows * sizeof(double), d));
    const kry_arg args[] = { ARG(rows), ARG(A->row_ptr), ARG(A->col), ARG(A->val), ARG(*d) };
    TRY(kryi_device_rows(A->dev, stem, "coarser_diagonal", A->rows, args, COUNT(args)));
done:
    if (st < 0) kryi_buffer_release(A->dev, d);
    return st;
}

kry_status kryi_device_check(const kryi_device_csr *A, kryi_device_facts *f)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    static const cl_int nothing[5] = { 0, 0, 0, INT_MAX, 0 };
    cl_int found[5];
    float look[3];
    cl_mem d = NULL, out = NULL;

    TRY(kryi_device_diagonal(A, &d));
    TRY(kryi_buffer_create(A->dev, sizeof nothing, &out));
    TRY(kryi_buffer_write_later(A->dev, out, 0, sizeof nothing, nothing));
    const kry_arg args[] = {
        ARG(rows), ARG(A->row_ptr), ARG(A->col), ARG(A->val), ARG(d), ARG(out)
    };
    TRY(kryi_device_rows(A->dev, stem, "coarser_check", A->rows, args, COUNT(args)));
    TRY(kryi_buffer_read(A->dev, out, 0, sizeof found, found));
    memcpy(look, &found[2], sizeof look);
    *f = (kryi_device_facts){ !found[0], found[1], { look[0], look[1], look[2] } };
done:
    kryi_buffer_release(A->dev, &out);
    kryi_buffer_release(A->dev, &d);
    return st;
}

/* ---- fewer entries ------------------------------------------------------------------------------- */

kry_status kryi_device_csr_keep(const kryi_device_csr *X, bool is_square, const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)X->rows, square = is_square;
    const kry_arg args[] = { ARG(rows),   ARG(square),     ARG(X->row_ptr), ARG(X->col),
                             ARG(X->val), ARG(C->row_ptr), ARG(C->col),     ARG(C->val) };

    TRY(kryi_device_rows(X->dev, stem, "coarser_kept_numbers", X->rows, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_device_csr_drop(const char *what, const kryi_device_csr *X, double drop,
                                bool is_square, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)X->rows, square = is_square;
    cl_mem length = NULL;

    *C = (kryi_device_csr){ .dev = X->dev, .rows = X->rows, .cols = X->cols, .type = KRY_F64 };
    TRY(kryi_ints_create(X->dev, X->rows, &length));
    const kry_arg lengths[] = { ARG(rows),   ARG(square), ARG(drop),  ARG(X->row_ptr),
                                ARG(X->col), ARG(X->val), ARG(length) };
    TRY(kryi_device_rows(X->dev, stem, "coarser_kept_lengths", X->rows, lengths, COUNT(lengths)));
    TRY(kryi_device_csr_make_rows(what, length, C));
    const kry_arg columns[] = { ARG(rows),   ARG(square), ARG(drop),       ARG(X->row_ptr),
                                ARG(X->col), ARG(X->val), ARG(C->row_ptr), ARG(C->col) };
    TRY(kryi_device_rows(X->dev, stem, "coarser_kept_columns", X->rows, columns, COUNT(columns)));
    TRY(kryi_device_csr_keep(X, is_square, C));
done:
    kryi_buffer_release(X->dev, &length);
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

/* ---- R A P --------------------------------------------------------------------------------------- */

void kryi_device_coarser_release(kryi_device_coarser *c)
{
    kryi_buffer_release(c->P.dev, &c->from);
    kryi_device_csr_release(&c->A);
    kryi_device_csr_release(&c->AP);
    kryi_device_csr_release(&c->R);
    kryi_device_csr_release(&c->P);
}

/* The upper triangle is taken from the lower one. */
static kry_status mirror(const kryi_device_csr *A)
{
    enum { LANES = 8 }; /* of coarser_mirror on GPUs */
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_int rows = (cl_int)A->rows;
    const int64_t groups = kryi_device_csr_groups(dev, A->rows, A->cols, A->nnz);
    cl_mem next = NULL;

    if (dev->info.cpu_kernels)
        TRY(kryi_buffer_create(dev, (uint64_t)(groups * A->rows) * sizeof(cl_int), &next));
    const kry_arg args[] = { ARG(rows), ARG(A->row_ptr), ARG(A->col), ARG(A->val), ARG(next) };
    if (next)
        TRY(kryi_run(dev, stem, KRY_F64, "", "coarser_mirror", groups, args, COUNT(args)));
    else
        TRY(kryi_device_rows(dev, stem, "coarser_mirror", LANES * A->rows, args, COUNT(args) - 1));
done:
    kryi_buffer_release(dev, &next);
    return st;
}

/* Coarse unknowns, and what is found about them. */
typedef struct basis {
    cl_mem fine, coarse; /* diagonals */
    cl_mem alone, found;
} basis;

static kry_status look(const kryi_device_csr *R, const kryi_device_csr *A, double rounding,
                       const basis *b, cl_int found[2])
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->rows;
    const kry_arg args[] = { ARG(rows),     ARG(rounding), ARG(R->row_ptr), ARG(R->col),
                             ARG(R->val),   ARG(b->fine),  ARG(A->row_ptr), ARG(b->coarse),
                             ARG(b->alone), ARG(b->found) };

    TRY(kryi_device_rows(A->dev, stem, "coarser_regularise", A->rows, args, COUNT(args)));
    TRY(kryi_buffer_read(A->dev, b->found, 0, 2 * sizeof *found, found));
done:
    return st;
}

static kry_status decouple(const kryi_device_csr *A, const basis *b)
{
    const cl_int rows = (cl_int)A->rows;
    const kry_arg args[] = { ARG(rows),     ARG(A->row_ptr), ARG(A->col),
                             ARG(b->alone), ARG(A->val),     ARG(b->coarse) };
    return kryi_device_rows(A->dev, stem, "coarser_decouple", A->rows, args, COUNT(args));
}

kry_status kryi_device_regularise(const char *who, int level, double rounding, cl_mem fine,
                                  const kryi_device_csr *R, kryi_device_csr *A)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    static const cl_int nothing[2] = { INT_MAX, 0 };
    cl_int found[2];
    double entry = 0;
    basis b = { .fine = fine };

    TRY(kryi_device_diagonal(A, &b.coarse));
    TRY(kryi_buffer_create(dev, (uint64_t)A->rows * sizeof(cl_int), &b.alone));
    TRY(kryi_buffer_create(dev, sizeof nothing, &b.found));
    TRY(kryi_buffer_write_later(dev, b.found, 0, sizeof nothing, nothing));
    TRY(look(R, A, rounding, &b, found));
    if (found[0] < INT_MAX)
        TRY(kryi_buffer_read(dev, b.coarse, (size_t)found[0] * sizeof entry, sizeof entry, &entry));
    CHECK(found[0] == INT_MAX, KRY_ERR_ARGUMENT,
          "%s: the matrix is not positive definite: unknown %d of level %d has the diagonal "
          "entry %g",
          who, found[0], level, entry);
    if (found[1]) TRY(decouple(A, &b));
done:
    kryi_buffer_release(dev, &b.found);
    kryi_buffer_release(dev, &b.alone);
    kryi_buffer_release(dev, &b.coarse);
    return st;
}

/* Make c->A fit for what comes below it. A: the finer one. */
static kry_status mend(const char *who, int level, kry_type type, const kryi_device_csr *A,
                       kryi_device_coarser *c)
{
    kry_status st = KRY_OK;
    cl_mem fine = NULL;

    TRY(mirror(&c->A));
    TRY(kryi_device_diagonal(A, &fine));
    TRY(kryi_device_regularise(who, level, kryi_coarser_rounding(type), fine, &c->R, &c->A));
done:
    kryi_buffer_release(A->dev, &fine);
    return st;
}

/* c->A := R A P without small entries, at the places that it has, or at new ones. */
static kry_status multiply_and_drop(const kryi_device_csr *A, kryi_device_coarser *c)
{
    kry_status st = KRY_OK;
    kryi_device_csr AP = { 0 }, all = { 0 };

    TRY(kryi_device_csr_product(A, &c->P, false, &AP));
    TRY(kryi_device_csr_product(&c->R, &AP, false, &all));
    TRY(c->A.dev ? kryi_device_csr_keep(&all, true, &c->A)
                 : kryi_device_csr_drop("a coarser matrix", &all, coarser_drop, true, &c->A));
done:
    kryi_device_csr_release(&all);
    kryi_device_csr_release(&AP);
    return st;
}

kry_status kryi_device_coarser_multiply(const char *who, int level, kry_type type,
                                        const kryi_device_csr *A, kryi_device_coarser *c)
{
    kry_status st = KRY_OK;

    if (c->R.dev) return multiply_and_drop(A, c);
    TRY(kryi_device_csr_transpose(&c->P, &c->R, &c->from));
    TRY(kryi_device_csr_product(A, &c->P, false, &c->AP));
    TRY(kryi_device_csr_product(&c->R, &c->AP, true, &c->A));
    kryi_buffer_release(A->dev, &c->AP.val);
    if (A->dev->info.cpu_kernels)
        kryi_device_csr_release(&c->AP); /* memory is dearer than a pass */
    TRY(mend(who, level, type, A, c));
done:
    return st;
}

static kry_status make_room(kryi_device_csr *A)
{
    return kryi_buffer_create(A->dev, (uint64_t)A->nnz * kry_type_size(A->type), &A->val);
}

kry_status kryi_device_coarser_again(const char *who, int level, kry_type type,
                                     const kryi_device_csr *A, kryi_device_coarser *c)
{
    kry_status st = KRY_OK;

    TRY(make_room(&c->A));
    if (!c->from) return multiply_and_drop(A, c);
    TRY(make_room(&c->R));
    TRY(kryi_device_csr_transpose_again(&c->P, c->from, &c->R));
    if (c->AP.dev) {
        TRY(make_room(&c->AP));
        TRY(kryi_device_csr_product_again(A, &c->P, false, &c->AP));
    } else {
        TRY(kryi_device_csr_product(A, &c->P, false, &c->AP));
    }
    TRY(kryi_device_csr_product_again(&c->R, &c->AP, true, &c->A));
    kryi_buffer_release(A->dev, &c->AP.val);
    if (A->dev->info.cpu_kernels) kryi_device_csr_release(&c->AP);
    TRY(mend(who, level, type, A, c));
done:
    return st;
}
