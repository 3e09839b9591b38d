/*
 * at_once.c - products of a stored matrix with several vectors, which read it once for up to 16 of
 * them, on CPUs for up to eight. Kernels: <stem>_apply_block and <stem>_relax_block of each format.
 */
#include "matrix/matrix.h"
#include "operator/op.h"
#include <stdio.h>
#include <string.h>

/* Vectors of a launch. Fewer than a kernel is made for cost as much as that many, which is less than
 * reading the matrix once more. */
enum { FEW = 4, MANY = 8, MOST = 16 };

/* The results that are made of products: y := alpha A x + beta y; with b y := b - A x, and with d y := x + alpha d .* (b - A x). */
typedef struct wanted {
    double alpha, beta;
    const kry_vec *b, *d; /* d has one column, for all */
} wanted;

/* A strip of columns: what is multiplied in one go. */
typedef struct strip {
    const wanted *w;
    kry_vec x, y, b; /* b: y, where none is wanted */
    int width;       /* FEW, MANY or MOST, of which x->k are there */
    bool beside;     /* x is copied first, so that the numbers of a row are side by side */
} strip;

static const char *width_define(const strip *t)
{
    return t->width == FEW ? " -DAT_ONCE=4" : t->width == MANY ? " -DAT_ONCE=8" : " -DAT_ONCE=16";
}

static int width_for(int64_t vectors) { return vectors > MANY ? MOST : vectors > FEW ? MANY : FEW; }

/* ---- x with the numbers of a row side by side -------------------------------------------------- */

/* On CPUs they are a vector. On GPUs lanes that share a row read columns side by side, and so whole pieces of such
 * an x; a copy costs two words a number, which rows of few entries are not worth. Where a work-item takes a row,
 * its neighbours read numbers side by side of x as it is. */
static bool reads_beside(const kryi_matrix *A)
{
    enum { WORTH_A_COPY = 16 }; /* entries of a row */
    return A->dev->info.cpu_kernels ||
           (!A->stage[0].rows_each && A->nnz >= WORTH_A_COPY * A->shape.rows);
}

static kry_status find_room(kryi_matrix *A, size_t bytes)
{
    kry_status st = KRY_OK;

    if (A->beside_bytes >= bytes) return KRY_OK;
    kryi_buffer_release(A->dev, &A->beside);
    A->beside_bytes = 0;
    TRY(kryi_buffer_create(A->dev, bytes, &A->beside));
    A->beside_bytes = bytes;
done:
    return st;
}

/* Let x be such a copy. */
static kry_status interleave(kryi_matrix *A, strip *t)
{
    kry_status st = KRY_OK;
    kry_vec *x = &t->x;
    const cl_int vectors = (cl_int)x->k;

    TRY(find_room(A, (size_t)(x->n * t->width) * kry_type_size(x->type)));
    const kry_arg args[] = { ARG(x->n), ARG(vectors), ARG_VEC(x), ARG(x->ld), ARG(A->beside) };
    TRY(kryi_run(A->dev, "interleave", x->type, width_define(t), "interleave",
                 kryi_groups_for(A->dev, x->type, x->n * t->width / 2), args, COUNT(args)));
    x->buffer = A->beside, x->first = 0;
done:
    return st;
}

/* ---- products ---------------------------------------------------------------------------------- */

/* A work-item takes VECTORS_HERE vectors (cl/common/kry.clh), and so a row as many work-items as that makes. */
static int64_t groups_of(const kryi_matrix *A, const kryi_stage *s, const strip *t)
{
    enum { VECTORS_HERE = 4 };
    return A->dev->info.cpu_kernels || !s->rows_each
               ? s->groups
               : s->groups * s->rows_each * (t->width / VECTORS_HERE);
}

static kry_status get_kernel(const kryi_matrix *A, const kryi_stage *s, const strip *t,
                             kryi_kernel **kernel)
{
    char defines[KRY_STAGE_DEFINES + 48], name[32];

    kryi_stage_defines(A, s, A->stored, defines);
    strcat(defines, width_define(t));
    if (t->beside) strcat(defines, " -DBESIDE");
    /* Residuals in single precision are summed in double, as those of one column. */
    if (t->w->b && A->shape.type == KRY_F32 && A->dev->info.fp64)
        strcat(defines, " -DSUM_TYPE=ACC");
    snprintf(name, sizeof name, "%s_%s_block", s->stem, t->w->b ? "relax" : "apply");
    return kryi_kernel_get(A->dev, s->stem, A->shape.type, defines, name, kernel);
}

static kry_status launch_at_once(const kryi_matrix *A, const kryi_stage *s, const strip *t)
{
    kry_status st = KRY_OK;
    const cl_int vectors = (cl_int)t->x.k, relaxes = t->w->d != NULL;
    const kry_vec *d = relaxes ? t->w->d : &t->y; /* or not read */
    kryi_scalar a = kryi_scalar_of(A->dev, t->w->alpha), b = kryi_scalar_of(A->dev, t->w->beta);
    const kry_arg apply[] = { ARG(vectors),       ARG_ACC(A->dev, a), ARG_VEC(&t->x), ARG(t->x.ld),
                              ARG_ACC(A->dev, b), ARG_VEC(&t->y),     ARG(t->y.ld) };
    const kry_arg relax[] = { ARG(vectors),   ARG(relaxes), ARG_ACC(A->dev, a), ARG_VEC(d),
                              ARG_VEC(&t->b), ARG(t->b.ld), ARG_VEC(&t->x),     ARG(t->x.ld),
                              ARG_VEC(&t->y), ARG(t->y.ld) };
    kryi_kernel *kernel;

    TRY(get_kernel(A, s, t, &kernel));
    kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST];
    const size_t count =
        kryi_stage_args(A, s, t->w->b ? relax : apply, t->w->b ? COUNT(relax) : COUNT(apply), args);
    TRY(kryi_launch(A->dev, kernel, groups_of(A, s, t), args, count));
done:
    return st;
}

/* The product with one vector, by the kernel for one. */
static kry_status launch_one(const kryi_matrix *A, const kryi_stage *s, const strip *t)
{
    const wanted *w = t->w;
    const kryi_product product = !w->b ? KRY_APPLY : w->d ? KRY_RELAX : KRY_RESIDUAL;
    const kry_vec *d = w->d ? w->d : &t->y;
    kryi_scalar a = kryi_scalar_of(A->dev, w->alpha), b = kryi_scalar_of(A->dev, w->beta);
    const kry_arg apply[] = { ARG_ACC(A->dev, a), ARG_VEC(&t->x), ARG_ACC(A->dev, b),
                              ARG_VEC(&t->y) };
    const kry_arg relax[] = { ARG_ACC(A->dev, a), ARG_VEC(d), ARG_VEC(&t->b), ARG_VEC(&t->x),
                              ARG_VEC(&t->y) };
    const size_t skip = w->d ? 0 : 3; /* a residual takes neither a nor d */

    kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST];
    const size_t count = kryi_stage_args(A, s, w->b ? relax + skip : apply,
                                         w->b ? COUNT(relax) - skip : COUNT(apply), args);
    return kryi_launch(A->dev, s->kernel[product], s->groups, args, count);
}

/* All stages from `first` on for one vector, then for the next: they hand each other partial sums. */
static kry_status launch_by_vector(const kryi_matrix *A, int first, const strip *t)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < t->x.k; j++) {
        const strip one = { .w = t->w,
                            .x = kryi_vec_column(&t->x, j),
                            .y = kryi_vec_column(&t->y, j),
                            .b = kryi_vec_column(&t->b, j) };
        for (const kryi_stage *s = A->stage + first; s < A->stage + A->stages; s++)
            TRY(launch_one(A, s, &one));
    }
done:
    return st;
}

static kry_status multiply(kryi_matrix *A, const strip *given)
{
    kry_status st = KRY_OK;
    strip t = *given;
    int i = 0;

    if (given->x.k > 1 && !A->stage[0].by_vector) {
        if (t.beside) TRY(interleave(A, &t));
        for (; i < A->stages && !A->stage[i].by_vector; i++)
            TRY(launch_at_once(A, &A->stage[i], &t));
    }
    TRY(launch_by_vector(A, i, given));
done:
    return st;
}

/* One where bits must not depend on how a matrix is shared out, and where csr.cl has no room for its tile. */
static int most_at_once(const kryi_matrix *A)
{
    enum { BYTES = 80 }; /* of local memory for a work-item of csr.cl, at most */
    const kry_device *dev = A->dev;
    const bool fits =
        dev->info.cpu_kernels || BYTES * kryi_group_size(dev) <= dev->info.local_bytes;

    if (dev->layout.reproducible || !fits) return 1;
    return dev->info.cpu_kernels ? MANY : MOST;
}

static kry_status run_strips(kryi_matrix *A, const wanted *w, const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    const int most = most_at_once(A);

    for (int64_t j = 0, count; j < x->k; j += count) {
        count = x->k - j < most ? x->k - j : most;
        TRY(multiply(A, &(strip){ w, kryi_vec_columns(x, j, count), kryi_vec_columns(y, j, count),
                                  kryi_vec_columns(w->b ? w->b : y, j, count), width_for(count),
                                  reads_beside(A) }));
    }
done:
    return st;
}

kry_status kryi_matrix_apply_block(void *self, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y)
{
    return run_strips(self, &(wanted){ .alpha = alpha, .beta = beta }, x, y);
}

kry_status kryi_matrix_residual_block(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    return run_strips(self, &(wanted){ .b = b }, x, r);
}

kry_status kryi_matrix_relax_block(void *self, double c, const kry_vec *d, const kry_vec *b,
                                   const kry_vec *x, kry_vec *y)
{
    return run_strips(self, &(wanted){ .alpha = c, .b = b, .d = d }, x, y);
}
