/* block_device.c - incomplete factors of a whole matrix, by a device. Every row is eliminated with the rows
 * of the last sweep, all of them at the same time, until nothing changes any more. A row is right once the rows that it
 * needs are, so that there are at most as many sweeps as levels; where the diagonal dominates, a few. Two buffers are written in turn, so that the bits are the same in every run. Kernels: cl/precond/ilu.cl.
 *
 * Source  E. Chow, A. Patel, Fine-grained parallel incomplete LU factorization, SIAM J. Sci. Comput. 37 (2015),
 *         doi:10.1137/140968896, whose sweeps go through entries where these go through rows.
 */
#include "matrix/matrix.h"
#include "precond/block_ic.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* A set-up needs this beside what stays. */
typedef struct setup {
    kry_device *dev;
    cl_int rows, symmetric;
    kryi_scalar shift;
    const char *defines;
    kryi_device_csr A; /* in double */
    cl_mem factor[2];  /* written in turn; in the end factor[0] is L and D U */
    cl_mem found;
} setup;

/* ---- the places of factors with fill --------------------------------------------------------- */

/* Where the elimination of k brings an entry to (i, j)
 * its level is level(i, k) + level(k, j) + 1, and the least of these counts. With the number 2^(-32 (level + 1)) at each
 * place and I for the diagonal, the product (I + L) (I + U) has places where elimination once brings any, and its numbers
 * tell their levels, for fewer than 2^31 numbers do not add up to the next power. One product for each level of fill,
 * cut to the levels that are allowed, finds them all: a place of level m needs places of levels below m alone.
 * Kernels: cl/precond/fill.cl. */

typedef struct fill_levels {
    kry_device *dev;
    cl_int rows, most;       /* levels */
    int64_t entries;         /* that fill may bring */
    kryi_device_csr P, T[2]; /* the places so far; I + L, I + U */
} fill_levels;

static kry_status fill_run(const fill_levels *f, const char *name, int64_t items,
                           const kry_arg *args, size_t count)
{
    return kryi_run(f->dev, "fill", KRY_F64, "", name, kryi_groups_for(f->dev, KRY_F64, 2 * items),
                    args, count);
}

/* to: a matrix of rows of these lengths; all but its entries. */
static kry_status make_rows(const fill_levels *f, cl_mem length, kryi_device_csr *to)
{
    *to = (kryi_device_csr){ .dev = f->dev, .rows = f->rows, .cols = f->rows, .type = KRY_F64 };
    return kryi_device_csr_make_rows("a factor with fill", length, to);
}

/* A's places are of level 0. */
static kry_status fill_begin(const kryi_device_csr *A, fill_levels *f)
{
    kry_status st = KRY_OK;
    const cl_int entries = (cl_int)A->nnz;

    TRY(kryi_device_csr_share(A, &f->P));
    f->P.type = KRY_F64;
    TRY(kryi_buffer_create(f->dev, (uint64_t)A->nnz * sizeof(double), &f->P.val));
    const kry_arg args[] = { ARG(entries), ARG(f->P.val) };
    TRY(fill_run(f, "fill_start", A->nnz, args, COUNT(args)));
done:
    return st;
}

static kry_status take_triangles(fill_levels *f)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *P = &f->P;
    cl_mem length[2] = { NULL };

    for (int k = 0; k < 2; k++)
        TRY(kryi_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length[k]));
    const kry_arg lengths[] = { ARG(f->rows), ARG(P->row_ptr), ARG(P->col), ARG(length[0]),
                                ARG(length[1]) };
    TRY(fill_run(f, "fill_lengths", f->rows, lengths, COUNT(lengths)));
    for (cl_int above = 0; above < 2; above++) {
        kryi_device_csr *T = &f->T[above];
        TRY(make_rows(f, length[above], T));
        const kry_arg args[] = { ARG(f->rows), ARG(above),      ARG(P->row_ptr), ARG(P->col),
                                 ARG(P->val),  ARG(T->row_ptr), ARG(T->col),     ARG(T->val) };
        TRY(fill_run(f, "fill_triangle", f->rows, args, COUNT(args)));
    }
done:
    for (int k = 0; k < 2; k++) kryi_buffer_release(f->dev, &length[k]);
    return st;
}

/* *fits: (I + L) (I + U) has no more entries than fill may bring, and does not take far more products to make. There are
 * at most as many entries as products; where that does not decide, they are counted. */
static kry_status forecast(const fill_levels *f, bool *fits)
{
    enum { WORTH = 16 }; /* products for each entry that may be */
    kry_status st = KRY_OK;
    cl_mem length = NULL, row_ptr = NULL;
    int64_t count;

    TRY(kryi_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length));
    const kry_arg args[] = { ARG(f->rows), ARG(f->T[0].row_ptr), ARG(f->T[0].col),
                             ARG(f->T[1].row_ptr), ARG(length) };
    TRY(fill_run(f, "fill_products", f->rows, args, COUNT(args)));
    TRY(kryi_device_csr_offsets(f->dev, f->rows, length, &row_ptr, &count));
    if (count > f->entries && count <= WORTH * f->entries)
        TRY(kryi_device_csr_product_count(&f->T[0], &f->T[1], &count));
    *fits = count <= f->entries;
done:
    kryi_buffer_release(f->dev, &row_ptr);
    kryi_buffer_release(f->dev, &length);
    return st;
}

/* P := (I + L) (I + U), cut to the levels that are allowed, if it fits */
static kry_status grow(fill_levels *f, bool *fits)
{
    kry_status st = KRY_OK;
    kryi_device_csr C = { 0 };
    cl_mem length = NULL;

    TRY(take_triangles(f));
    TRY(forecast(f, fits));
    if (!*fits) goto done;
    TRY(kryi_device_csr_product(&f->T[0], &f->T[1], false, &C));
    TRY(kryi_buffer_create(f->dev, (size_t)f->rows * sizeof(cl_int), &length));
    const kry_arg count[] = { ARG(f->rows), ARG(f->most), ARG(C.row_ptr), ARG(C.val), ARG(length) };
    TRY(fill_run(f, "fill_count", f->rows, count, COUNT(count)));
    kryi_device_csr_release(&f->P);
    TRY(make_rows(f, length, &f->P));
    const kry_arg keep[] = { ARG(f->rows), ARG(f->most),      ARG(C.row_ptr), ARG(C.col),
                             ARG(C.val),   ARG(f->P.row_ptr), ARG(f->P.col),  ARG(f->P.val) };
    TRY(fill_run(f, "fill_keep", f->rows, keep, COUNT(keep)));
done:
    kryi_device_csr_release(&C);
    for (int k = 0; k < 2; k++) kryi_device_csr_release(&f->T[k]);
    kryi_buffer_release(f->dev, &length);
    return st;
}

kry_status kryi_block_fill_places(const kryi_device_csr *A, int fill, kryi_device_csr *places)
{
    kry_status st = KRY_OK;
    fill_levels f = {
        .dev = A->dev, .rows = (cl_int)A->rows, .most = fill, .entries = kryi_fill_most(A->nnz)
    };
    bool fits = true;

    *places = (kryi_device_csr){ 0 };
    TRY(fill_begin(A, &f));
    for (int round = 0; round < fill && fits; round++) TRY(grow(&f, &fits));
    if (fits) TRY(kryi_device_csr_share(&f.P, places));
done:
    kryi_device_csr_release(&f.P);
    return st;
}

/* ---- the factors ----------------------------------------------------------------------------- */

void kryi_block_device_release(kryi_block_device *D)
{
    kry_device *dev = D->given.dev;

    if (!dev) return;
    kryi_buffer_release(dev, &D->place);
    kryi_buffer_release(dev, &D->mirror);
    for (int k = 0; k < 2; k++) {
        kryi_buffer_release(dev, &D->length[k]);
        kryi_device_csr_release(&D->triangle[k]);
    }
    kryi_device_csr_release(&D->places);
    kryi_device_csr_release(&D->given);
}

static kry_status run(const setup *s, const char *name, const kry_arg *args, size_t count)
{
    return kryi_run(s->dev, "ilu", KRY_F64, s->defines, name,
                    kryi_groups_for(s->dev, KRY_F64, 2 * (int64_t)s->rows), args, count);
}

/* found: whether something is wrong, and the bits of a float. */
static kry_status run_and_look(const setup *s, const char *name, const kry_arg *args, size_t count,
                               cl_int found[2])
{
    kry_status st = KRY_OK;

    found[0] = found[1] = 0;
    TRY(kryi_buffer_write(s->dev, s->found, 0, 2 * sizeof *found, found));
    TRY(run(s, name, args, count));
    TRY(kryi_buffer_read(s->dev, s->found, 0, 2 * sizeof *found, found));
done:
    return st;
}

/* The places that fill allows; the host finds them if the device cannot, and refuses them if there are too many. */
static kry_status find_places(kryi_block_device *D, const kryi_block_factor *f, const setup *s)
{
    kry_status st = KRY_OK;
    kryi_csr pattern = { 0 };

    if (f->fill <= KRY_MOST_DEVICE_FILL)
        TRY(kryi_block_fill_places(&D->given, f->fill, &D->places));
    if (D->places.dev) return KRY_OK;
    if (!f->places->row_ptr) {
        TRY(kryi_device_csr_download(&D->given, &pattern));
        TRY(kryi_csr_fill(f->who, &pattern, f->fill, f->places));
    }
    TRY(kryi_device_csr_upload(s->dev, f->places, &D->places));
done:
    kryi_csr_release(&pattern);
    return st;
}

/* A becomes A with zeros at the places that fill allows. */
static kry_status spread(kryi_block_device *D, const kryi_block_factor *f, setup *s)
{
    kry_status st = KRY_OK;
    kryi_device_csr A = { 0 };

    if (!D->places.dev) TRY(find_places(D, f, s));
    TRY(kryi_device_csr_share(&D->places, &A));
    A.type = KRY_F64;
    TRY(kryi_buffer_create(s->dev, (uint64_t)A.nnz * sizeof(double), &A.val));
    const kry_arg args[] = { ARG(s->rows),   ARG(s->A.row_ptr), ARG(s->A.col), ARG(s->A.val),
                             ARG(A.row_ptr), ARG(A.col),        ARG(A.val) };
    TRY(run(s, "ilu_spread", args, COUNT(args)));
    kryi_device_csr_release(&s->A);
    s->A = A, A = (kryi_device_csr){ 0 };
done:
    kryi_device_csr_release(&A);
    return st;
}

/* A's numbers and the places of its diagonal; *sound: it has factors. */
static kry_status begin(kryi_block_device *D, const kryi_block_factor *f, setup *s, bool *sound)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = kryi_matrix_of(f->A);
    const size_t ints = (size_t)s->rows * sizeof(cl_int);
    cl_int found[2];

    if (!D->given.dev)
        TRY(kryi_device_csr_of(A, &D->given));
    else
        TRY(kryi_device_csr_of_again(A, &D->given));
    TRY(kryi_device_csr_convert(&D->given, KRY_F64, &s->A));
    if (f->fill) TRY(spread(D, f, s));
    TRY(kryi_buffer_create(s->dev, 2 * sizeof *found, &s->found));
    if (!D->place) TRY(kryi_buffer_create(s->dev, ints, &D->place));
    for (int k = 0; k < 2; k++)
        if (!D->length[k]) TRY(kryi_buffer_create(s->dev, ints, &D->length[k]));
    const kry_arg args[] = { ARG(s->rows),      ARG(s->symmetric), ARG(s->A.row_ptr),
                             ARG(s->A.col),     ARG(s->A.val),     ARG(D->place),
                             ARG(D->length[0]), ARG(D->length[1]), ARG(s->found) };
    TRY(run_and_look(s, "ilu_places", args, COUNT(args), found));
    *sound = !found[0];
done:
    return st;
}

/* factor[0] := L and D U; *made: all pivots stand, and the last sweep has changed nothing that counts. */
static kry_status factor(const kryi_block_device *D, const kryi_block_factor *f, setup *s,
                         bool *made)
{
    enum { MOST = 48, EACH = 4 }; /* sweeps; they are looked at after so many */
    const float enough = 1e-8F;   /* far below what iterations notice */
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)s->A.nnz * sizeof(double);
    kryi_scalar least =
        kryi_scalar_of(s->dev, 100 * (f->A->shape.type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON));
    float change = INFINITY;
    cl_int found[2] = { 0 };

    for (int k = 0; k < 2; k++) TRY(kryi_buffer_create(s->dev, bytes, &s->factor[k]));
    const kry_arg start[] = { ARG(s->rows),      ARG_ACC(s->dev, s->shift),
                              ARG(s->A.row_ptr), ARG(D->place),
                              ARG(s->A.val),     ARG(s->factor[0]) };
    TRY(run(s, "ilu_start", start, COUNT(start)));
    for (int k = 1; k <= MOST && !found[0] && !(change <= enough); k++) {
        const cl_mem from = s->factor[0], to = s->factor[1];
        const kry_arg sweep[] = { ARG(s->rows),      ARG_ACC(s->dev, s->shift),
                                  ARG(s->A.row_ptr), ARG(s->A.col),
                                  ARG(D->place),     ARG(s->A.val),
                                  ARG(from),         ARG(to) };
        const kry_arg check[] = { ARG(s->rows),      ARG(s->symmetric), ARG_ACC(s->dev, least),
                                  ARG(s->A.row_ptr), ARG(D->place),     ARG(s->A.val),
                                  ARG(from),         ARG(to),           ARG(s->found) };
        TRY(run(s, "ilu_sweep", sweep, COUNT(sweep)));
        s->factor[0] = to, s->factor[1] = from;
        if (k % EACH) continue;
        TRY(run_and_look(s, "ilu_check", check, COUNT(check), found));
        memcpy(&change, &found[1], sizeof change);
    }
    *made = !found[0] && change <= enough;
done:
    return st;
}

/* The triangle of this number from factor[0]; where A is symmetric the upper one is the lower one's transpose. Its
 * numbers get a buffer of their own each time: M has the old ones until the new ones are whole. */
static kry_status take_triangle(kryi_block_device *D, const kryi_block_factor *f, setup *s,
                                int upper)
{
    kry_status st = KRY_OK;
    kryi_device_csr *T = &D->triangle[upper];
    const kry_type type = f->A->shape.type;
    const cl_int above = upper;
    const bool mirrored = upper && f->symmetric;

    if (mirrored && !T->row_ptr) return kryi_device_csr_transpose(&D->triangle[0], T, &D->mirror);
    if (!T->row_ptr) {
        *T = (kryi_device_csr){ .dev = s->dev, .rows = s->rows, .cols = s->rows, .type = type };
        TRY(kryi_device_csr_offsets(s->dev, s->rows, D->length[upper], &T->row_ptr, &T->nnz));
        TRY(kryi_buffer_create(s->dev, (uint64_t)T->nnz * sizeof(cl_int), &T->col));
    }
    kryi_buffer_release(s->dev, &T->val);
    TRY(kryi_buffer_create(s->dev, (uint64_t)T->nnz * kry_type_size(type), &T->val));
    if (mirrored) return kryi_device_csr_transpose_again(&D->triangle[0], D->mirror, T);
    const kry_arg args[] = { ARG(s->rows),    ARG(above),    ARG(s->A.row_ptr),
                             ARG(s->A.col),   ARG(D->place), ARG(s->factor[0]),
                             ARG(T->row_ptr), ARG(T->col),   ARG(T->val) };
    TRY(run(s, "ilu_triangle", args, COUNT(args)));
done:
    return st;
}

/* The products that sweeps are made of. */
static kry_status take(kryi_block_device *D, const kryi_block_factor *f, setup *s,
                       kryi_block_products *p)
{
    kry_status st = KRY_OK;
    kry_op **op[] = { &p->lower, &p->upper };

    for (int k = 0; k < 2; k++) {
        TRY(take_triangle(D, f, s, k));
        TRY(kryi_device_csr_operator(&D->triangle[k], 0, NULL, op[k]));
    }
    TRY(kry_vec_create(s->dev, f->A->shape.type, s->rows, 1, &p->inverse));
    const kry_arg args[] = { ARG(s->rows), ARG(D->place), ARG(s->factor[0]), ARG_VEC(p->inverse) };
    TRY(run(s, "ilu_inverse", args, COUNT(args)));
done:
    return st;
}

static bool suits(const kryi_block_factor *f)
{
    const kry_op *A = f->A;
    const kry_device_info *info = &A->dev->info;

    return !info->cpu_kernels && info->fp64 && info->opencl && kryi_matrix_of(A) &&
           !kryi_matrix_is_wrapped(kryi_matrix_of(A)) && !kryi_op_is_singular(A) &&
           f->rows >= A->shape.rows && A->shape.rows > 0 && f->storage == KRY_STORE_GIVEN;
}

kry_status kryi_block_device_make(kryi_block_device *D, const kryi_block_factor *f,
                                  kryi_block_products *p, bool *made)
{
    kry_status st = KRY_OK;
    setup s = { .dev = f->A->dev,
                .rows = (cl_int)f->A->shape.rows,
                .symmetric = f->symmetric,
                .shift = kryi_scalar_of(f->A->dev, f->shift),
                .defines = f->A->shape.type == KRY_F32 ? "-DSTORED=float" : "-DSTORED=double" };

    *made = false;
    if (!suits(f)) return KRY_OK;
    TRY(begin(D, f, &s, made));
    if (*made) TRY(factor(D, f, &s, made));
    if (*made) TRY(take(D, f, &s, p));
done:
    kryi_buffer_release(s.dev, &s.factor[0]);
    kryi_buffer_release(s.dev, &s.factor[1]);
    kryi_buffer_release(s.dev, &s.found);
    kryi_device_csr_release(&s.A);
    if (st < 0) kryi_block_products_release(p);
    return st;
}
