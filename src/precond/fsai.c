/*
 * fsai.c - M := G' G, G lower triangular and so close to the inverse of A's Cholesky factor as its places allow: a factorised
 * sparse approximate inverse.
 *
 *   A symmetric, diagonal positive   w := G r,  z := G' w      diag(G A G') = I
 *   other A                          w := F r,  z := H w       diag(F A H) = I,  H upper triangular with the places of F'
 *
 * Places     of the lower triangle of A, or of A^2, A^3, ... of its strong entries besides, up to MOST of a row, next to the
 *            diagonal; or for each row a number of them, one after the other where the Kaporin number of G A G' falls most.
 * Numbers    row i of G has places J, i the last of them: S g = e_i with S = A(J, J), divided by sqrt(g_i). By Gauss's
 *            elimination S = L U that is a substitution with U, and other A have one with L besides. All rows at once.
 * Breakdown  none: a row of S whose pivot is rounding, or negative where A is symmetric, is left out. So M is symmetric
 *            positive definite for every symmetric A with a positive diagonal, singular and indefinite ones too.
 * Storage    the entries of G twice, their places twice more for new values, and n numbers
 * Per use    both products and 4 words
 * Kernels    cl/precond/fsai.cl
 * Source     L. Yu. Kolotilina, A. Yu. Yeremin, Factorized sparse approximate inverse preconditionings I, SIAM J. Matrix Anal.
 *            Appl. 14 (1993), 45-58, doi:10.1137/0614004
 */
#include "device/launch.h"
#include "grid/stencil.h"
#include "matrix/device_csr.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <float.h>
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char who[] = "kry_fsai_create";
enum { MOST_CHOSEN = 64, SLOTS = 1024, ROUNDS = 8 }; /* SLOTS: cl/precond/fsai.cl */

/* The products with vectors: these change with the values of A. */
typedef struct products {
    kry_op *first, *second; /* G, G'; or F, H */
} products;

typedef struct fsai {
    kry_op *A; /* retained */
    kry_fsai_params params;
    bool symmetric;
    kryi_device_csr G, G_t; /* places, without numbers */
    cl_mem from;            /* the place in G of each entry of G' */
    int32_t longest;        /* entries of a row of G */
    products products;
    kry_vec *w; /* in between, of as many columns as there ever were */
    char variant[96];
} fsai;

/* Places in `found`, where kernels note what they see; fsai.cl has the same. */
enum { NO_PIVOT, NEGATIVE, MISMATCH, LONGEST, DEPENDENT, FOUND };

/* A set-up needs this beside what stays. */
typedef struct setup {
    kry_device *dev;
    cl_int rows;
    kry_type type;     /* ACC, of all numbers */
    kryi_device_csr A; /* own entries, in that type */
    cl_mem d, found;
} setup;

static void release_products(products *p)
{
    kry_op_release(&p->first);
    kry_op_release(&p->second);
}

static void release_setup(setup *s)
{
    kryi_buffer_release(s->dev, &s->d);
    kryi_buffer_release(s->dev, &s->found);
    kryi_device_csr_release(&s->A);
}

static kry_status run(const setup *s, const char *name, const kry_arg *args, size_t count)
{
    return kryi_run(s->dev, "fsai", s->type, "", name,
                    kryi_groups_for(s->dev, s->type, 2 * (int64_t)s->rows), args, count);
}

static kry_status read_found(const setup *s, cl_int found[FOUND])
{
    return kryi_buffer_read(s->dev, s->found, 0, FOUND * sizeof *found, found);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* The entries of a stored matrix from where they are; those of others by the host. */
static kry_status read_entries(const kry_op *A, setup *s)
{
    kry_status st = KRY_OK;
    const kryi_matrix *stored = kryi_matrix_of(kryi_op_own(A));
    kryi_device_csr given = { 0 };
    kryi_csr R = { 0 };

    if (stored && !kryi_matrix_is_wrapped(stored)) {
        TRY(kryi_device_csr_of(stored, &given));
    } else {
        TRY(kryi_rows_read(who, A, &R));
        TRY(kryi_csr_convert(&R, s->type));
        TRY(kryi_device_csr_upload(s->dev, &R, &given));
    }
    TRY(kryi_device_csr_convert(&given, s->type, &s->A));
done:
    kryi_device_csr_release(&given);
    kryi_csr_release(&R);
    return st;
}

static kry_status check_diagonal(const kry_op *A, const setup *s)
{
    kry_status st = KRY_OK;
    kryi_csr R = { 0 };

    TRY(kryi_rows_read(who, A, &R));
    for (int64_t i = 0; i < R.rows; i++) {
        const double v = kryi_csr_entry(&R, i, i);
        CHECK(v != 0 && isfinite(v), KRY_ERR_SINGULAR,
              "%s: the diagonal entry of row %lld of '%s' is %g; none may be zero" COUNTED, who,
              ROW(kryi_layout_row(&s->dev->layout, i)), A->table->kind, v, kryi_first_row);
    }
done:
    kryi_csr_release(&R);
    return st;
}

/* Refuse A, which is not symmetric here or on another part, and say where if it is here. */
static kry_status refuse_unsymmetric(const kry_op *A)
{
    kry_status st = KRY_OK;
    kryi_csr R = { 0 };
    double *inverse = NULL;

    TRY(kryi_rows_read(who, A, &R));
    TRY(kryi_alloc((size_t)R.rows, sizeof *inverse, &inverse));
    TRY(kryi_rows_symmetrise(who, A, &R, inverse));
    CHECK(false, KRY_ERR_ARGUMENT, "%s: '%s' is not symmetric with a positive diagonal", who,
          A->table->kind);
done:
    free(inverse);
    kryi_csr_release(&R);
    return st;
}

/* *symmetric: A is, but for rounding, and its diagonal is positive; on all parts. */
static kry_status look(const kry_op *A, setup *s, bool *symmetric)
{
    kry_status st = KRY_OK;
    const kryi_scalar tolerance = kryi_scalar_of(s->dev, A->shape.type == KRY_F32 ? 1e-5 : 1e-8);
    cl_int found[FOUND] = { 0 };

    TRY(kryi_buffer_create(s->dev, (size_t)s->rows * kry_type_size(s->type), &s->d));
    TRY(kryi_buffer_upload(s->dev, sizeof found, found, &s->found));
    const kry_arg diagonal[] = { ARG(s->rows),  ARG(s->A.row_ptr), ARG(s->A.col),
                                 ARG(s->A.val), ARG(s->d),         ARG(s->found) };
    TRY(run(s, "fsai_diagonal", diagonal, COUNT(diagonal)));
    const kry_arg compare[] = { ARG(s->rows),      ARG_ACC(s->dev, tolerance),
                                ARG(s->A.row_ptr), ARG(s->A.col),
                                ARG(s->A.val),     ARG(s->d),
                                ARG(s->found) };
    TRY(run(s, "fsai_compare", compare, COUNT(compare)));
    TRY(read_found(s, found));
    if (found[NO_PIVOT]) TRY(check_diagonal(A, s));
    double other = found[NEGATIVE] || found[MISMATCH];
    TRY(kryi_layout_combine(&s->dev->layout, KRY_MAX, &other, 1));
    *symmetric = other == 0;
done:
    return st;
}

static kry_status begin(const kry_op *A, setup *s, bool *symmetric)
{
    kry_status st = KRY_OK;

    s->dev = A->dev;
    s->rows = (cl_int)A->shape.rows;
    s->type = kryi_acc_type(A->dev);
    TRY(read_entries(A, s));
    TRY(look(A, s, symmetric));
done:
    return st;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* C := the columns that rows of X or of Y have, with ones as numbers; lower: those up to the diagonal; least > 0: those of entries
 * of A that are so strong. */
static kry_status unite(const setup *s, const kryi_device_csr *X, const kryi_device_csr *Y,
                        bool lower_only, double least, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *A = &s->A;
    const cl_int lower = lower_only;
    const kryi_scalar cut = kryi_scalar_of(s->dev, least);
    cl_mem length = NULL;

    *C = (kryi_device_csr){ .dev = s->dev, .rows = s->rows, .cols = s->rows, .type = s->type };
    TRY(kryi_buffer_create(s->dev, (size_t)s->rows * sizeof(cl_int), &length));
    const kry_arg count[] = { ARG(s->rows),    ARG(lower),      ARG_ACC(s->dev, cut),
                              ARG(A->row_ptr), ARG(A->col),     ARG(A->val),
                              ARG(s->d),       ARG(X->row_ptr), ARG(X->col),
                              ARG(Y->row_ptr), ARG(Y->col),     ARG(length),
                              ARG(s->found) };
    TRY(run(s, "fsai_count", count, COUNT(count)));
    TRY(kryi_device_csr_make_rows(who, length, C));
    const kry_arg take[] = { ARG(s->rows),    ARG(lower),      ARG_ACC(s->dev, cut),
                             ARG(A->row_ptr), ARG(A->col),     ARG(A->val),
                             ARG(s->d),       ARG(X->row_ptr), ARG(X->col),
                             ARG(Y->row_ptr), ARG(Y->col),     ARG(C->row_ptr),
                             ARG(C->col),     ARG(C->val) };
    TRY(run(s, "fsai_take", take, COUNT(take)));
done:
    kryi_buffer_release(s->dev, &length);
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

/* B := the places of A and of A', symmetric ones. */
static kry_status mirror(const setup *s, kryi_device_csr *B)
{
    kry_status st = KRY_OK;
    kryi_device_csr A_t = { 0 };
    cl_mem from = NULL;

    TRY(kryi_device_csr_transpose(&s->A, &A_t, &from));
    TRY(unite(s, &s->A, &A_t, false, 0, B));
done:
    kryi_buffer_release(s->dev, &from);
    kryi_device_csr_release(&A_t);
    return st;
}

/* P := the places of the power of B's strong entries. */
static kry_status multiply_strong(const setup *s, const kryi_device_csr *B,
                                  const kry_fsai_params *p, kryi_device_csr *P)
{
    kry_status st = KRY_OK;
    kryi_device_csr strong = { 0 }, next = { 0 };

    TRY(unite(s, B, B, false, p->cut, &strong));
    TRY(kryi_device_csr_convert(&strong, s->type, P));
    for (int k = 1; k < p->power; k++) {
        TRY(kryi_device_csr_product(P, &strong, false, &next));
        kryi_device_csr_release(P);
        *P = next, next = (kryi_device_csr){ 0 };
    }
done:
    kryi_device_csr_release(&strong);
    if (st < 0) kryi_device_csr_release(P);
    return st;
}

static kryi_scalar least_pivot(const fsai *M, const setup *s)
{
    const bool single = M->A->shape.type == KRY_F32 || s->type == KRY_F32;
    return kryi_scalar_of(s->dev, 100 * (single ? FLT_EPSILON : DBL_EPSILON));
}

/* G := the places that are chosen for each row. */
static kry_status choose(const fsai *M, const setup *s, kryi_device_csr *G)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *A = &s->A;
    const cl_int most = M->params.entries + 1, each = (M->params.entries + ROUNDS - 1) / ROUNDS,
                 numbers = most * (most + 2) + SLOTS;
    const kryi_scalar least = least_pivot(M, s);
    const size_t size = kry_type_size(s->type);
    size_t bytes;
    const int64_t groups = kryi_device_csr_groups_with_room(A, numbers, size, &bytes);
    cl_mem scratch = NULL, table = NULL, chosen = NULL, length = NULL;

    *G = (kryi_device_csr){ .dev = s->dev, .rows = s->rows, .cols = s->rows, .type = s->type };
    TRY(kryi_buffer_create(s->dev, bytes, &scratch));
    bytes = bytes / ((size_t)numbers * size) * (size_t)(2 * SLOTS + most) * sizeof(cl_int);
    TRY(kryi_buffer_create(s->dev, bytes, &table));
    TRY(kryi_buffer_create(s->dev, (size_t)s->rows * (size_t)most * sizeof(cl_int), &chosen));
    TRY(kryi_buffer_create(s->dev, (size_t)s->rows * sizeof(cl_int), &length));
    const kry_arg choice[] = { ARG(s->rows), ARG(most),       ARG(each),   ARG_ACC(s->dev, least),
                               ARG(numbers), ARG(A->row_ptr), ARG(A->col), ARG(A->val),
                               ARG(s->d),    ARG(scratch),    ARG(table),  ARG(chosen),
                               ARG(length),  ARG(s->found) };
    TRY(kryi_run(s->dev, "fsai", s->type, "", "fsai_choose", groups, choice, COUNT(choice)));
    TRY(kryi_device_csr_make_rows(who, length, G));
    const kry_arg pack[] = { ARG(s->rows), ARG(most), ARG(chosen), ARG(G->row_ptr), ARG(G->col) };
    TRY(run(s, "fsai_pack", pack, COUNT(pack)));
done:
    kryi_buffer_release(s->dev, &length);
    kryi_buffer_release(s->dev, &chosen);
    kryi_buffer_release(s->dev, &table);
    kryi_buffer_release(s->dev, &scratch);
    if (st < 0) kryi_device_csr_release(G);
    return st;
}

/* G := the places that the power gives. */
static kry_status take_lower(const fsai *M, const setup *s, kryi_device_csr *G)
{
    kry_status st = KRY_OK;
    kryi_device_csr B = { 0 }, P = { 0 };

    TRY(M->symmetric ? kryi_device_csr_share(&s->A, &B) : mirror(s, &B));
    if (M->params.power > 1) TRY(multiply_strong(s, &B, &M->params, &P));
    TRY(unite(s, P.dev ? &P : &B, &B, true, 0, G));
done:
    kryi_device_csr_release(&P);
    kryi_device_csr_release(&B);
    return st;
}

/* G's places, and those of G'. */
static kry_status make_places(fsai *M, const setup *s)
{
    kry_status st = KRY_OK;
    cl_int found[FOUND];

    TRY(M->params.entries ? choose(M, s, &M->G) : take_lower(M, s, &M->G));
    kryi_buffer_release(s->dev, &M->G.val);
    TRY(kryi_device_csr_transpose(&M->G, &M->G_t, &M->from));
    TRY(read_found(s, found));
    M->longest = found[LONGEST];
done:
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* lower, upper: the numbers of G's rows of more than `shorter` and at most `longest` entries; upper NULL if A is symmetric. */
static kry_status compute_rows(const fsai *M, const setup *s, cl_int shorter, cl_int longest,
                               cl_mem lower, cl_mem upper)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *A = &s->A, *G = &M->G;
    const cl_int symmetric = M->symmetric;
    const kryi_scalar least = least_pivot(M, s);
    size_t bytes;
    const int64_t groups = kryi_device_csr_groups_with_room(A, (int64_t)longest * (longest + 2),
                                                            kry_type_size(s->type), &bytes);
    cl_mem scratch = NULL, above = upper ? upper : lower;

    TRY(kryi_buffer_create(s->dev, bytes, &scratch));
    const kry_arg args[] = { ARG(s->rows),    ARG(symmetric), ARG_ACC(s->dev, least),
                             ARG(shorter),    ARG(longest),   ARG(A->row_ptr),
                             ARG(A->col),     ARG(A->val),    ARG(s->d),
                             ARG(G->row_ptr), ARG(G->col),    ARG(lower),
                             ARG(above),      ARG(scratch),   ARG(s->found) };
    TRY(kryi_run(s->dev, "fsai", s->type, "", "fsai_numbers", groups, args, COUNT(args)));
done:
    kryi_buffer_release(s->dev, &scratch);
    return st;
}

/* Short rows and long ones apart, for these leave room for few work-items at the same time. */
static kry_status compute(const fsai *M, const setup *s, cl_mem lower, cl_mem upper,
                          bool *dependent)
{
    kry_status st = KRY_OK;
    cl_int found[FOUND];

    for (cl_int shorter = 0, most = 16; shorter < M->longest; shorter = most, most *= 2)
        TRY(compute_rows(M, s, shorter, most < M->longest ? most : M->longest, lower, upper));
    TRY(read_found(s, found));
    *dependent = found[DEPENDENT];
done:
    return st;
}

/* The operator of C, in A's type: on CPUs in the format that suits it. */
static kry_status make_product(const fsai *M, const kryi_device_csr *C, kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_type type = M->A->shape.type;
    kryi_device_csr typed = { 0 };
    kryi_csr R = { 0 };

    if (C->dev->info.cpu_kernels) {
        TRY(kryi_device_csr_download(C, &R));
        TRY(kryi_rows_matrix(M->A, &R, 0, op));
    } else {
        TRY(kryi_device_csr_convert(C, type, &typed));
        TRY(kryi_sliced_operator(&typed, (kryi_keep){ .type = type }, 0, op));
    }
done:
    kryi_device_csr_release(&typed);
    kryi_csr_release(&R);
    return st;
}

static kry_status make_products(const fsai *M, const setup *s, products *p, bool *dependent)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)M->G.nnz * kry_type_size(s->type);
    kryi_device_csr G = { 0 }, H = { 0 }, H_t = { 0 };

    *p = (products){ 0 };
    TRY(kryi_device_csr_share(&M->G, &G));
    TRY(kryi_device_csr_share(&M->G, &H_t));
    TRY(kryi_device_csr_share(&M->G_t, &H));
    G.type = H.type = H_t.type = s->type;
    TRY(kryi_buffer_create(s->dev, bytes, &G.val));
    TRY(kryi_buffer_create(s->dev, bytes, &H.val));
    if (!M->symmetric) TRY(kryi_buffer_create(s->dev, bytes, &H_t.val));
    TRY(compute(M, s, G.val, H_t.val, dependent));
    TRY(kryi_device_csr_transpose_again(M->symmetric ? &G : &H_t, M->from, &H));
    TRY(make_product(M, &G, &p->first));
    TRY(make_product(M, &H, &p->second));
done:
    kryi_device_csr_release(&H);
    kryi_device_csr_release(&H_t);
    kryi_device_csr_release(&G);
    if (st < 0) release_products(p);
    return st;
}

static void name_variant(fsai *M, bool dependent)
{
    const kry_fsai_params *p = &M->params;
    char places[48] = "pattern of A";

    if (p->entries)
        snprintf(places, sizeof places, "%d entries a row", p->entries);
    else if (p->power > 1)
        kryi_print(places, sizeof places, "pattern of A^%d, cut %g", p->power, p->cut);
    snprintf(M->variant, sizeof M->variant, "%s%s%s", places, M->symmetric ? "" : ", of L and U",
             dependent ? "; rows depend on others" : "");
}

/* ---- the table ------------------------------------------------------------------------------- */

static kry_status fsai_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    fsai *M = self;
    kry_status st = KRY_OK;
    kry_vec w;

    TRY(kryi_vec_take(&M->w, x->k, &w));
    TRY(kry_op_apply(M->products.first, 1, x, 0, &w));
    TRY(kry_op_apply(M->products.second, alpha, &w, beta, y));
done:
    return st;
}

static kry_status fsai_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                       kry_vec *y)
{
    fsai *M = self;
    kry_status st = KRY_OK;
    kry_vec w;

    if (M->symmetric) return fsai_apply(self, alpha, x, beta, y);
    TRY(kryi_vec_take(&M->w, x->k, &w));
    TRY(kry_op_apply_transpose(M->products.second, 1, x, 0, &w));
    TRY(kry_op_apply_transpose(M->products.first, alpha, &w, beta, y));
done:
    return st;
}

/* The places stay. The old numbers stay until the new ones are whole. */
static kry_status fsai_update(void *self, const void *values)
{
    fsai *M = self;
    kry_status st = KRY_OK;
    setup s = { .dev = M->A->dev };
    bool symmetric, dependent;
    products next;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'fsai' takes no values");
    TRY(begin(M->A, &s, &symmetric));
    if (M->symmetric && !symmetric) TRY(refuse_unsymmetric(M->A));
    TRY(make_products(M, &s, &next, &dependent));
    release_products(&M->products);
    M->products = next;
    name_variant(M, dependent);
done:
    release_setup(&s);
    return st;
}

static void fsai_describe(void *self, kry_op_info *info)
{
    const fsai *M = self;
    const double word = (double)kry_type_size(M->A->shape.type), n = (double)M->A->shape.rows,
                 nnz = (double)M->G.nnz;
    kry_op_info first, second;

    kry_op_describe(M->products.first, &first);
    kry_op_describe(M->products.second, &second);
    info->variant = M->variant;
    info->nnz = first.nnz + second.nnz;
    info->slots = first.slots + second.slots;
    info->bytes_stored =
        first.bytes_stored + second.bytes_stored + n * word + (3 * nnz + 2 * n) * sizeof(cl_int);
    info->bytes_per_apply = first.bytes_per_apply + second.bytes_per_apply;
}

static void fsai_destroy(void *self)
{
    fsai *M = self;
    if (!M) return;
    kry_vec_release(&M->w);
    release_products(&M->products);
    kryi_buffer_release(M->A->dev, &M->from);
    kryi_device_csr_release(&M->G_t);
    kryi_device_csr_release(&M->G);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table fsai_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "fsai",
    .apply = fsai_apply,
    .apply_block = fsai_apply,
    .apply_transpose = fsai_apply_transpose,
    .update = fsai_update,
    .describe = fsai_describe,
    .destroy = fsai_destroy,
};

static bool is_unsymmetric(const void *self) { return !((const fsai *)self)->symmetric; }

static const kryi_op_fused fsai_fused = { .is_unsymmetric = is_unsymmetric };

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    kry_status st = KRY_OK;
    setup s = { .dev = A->dev };
    bool dependent;
    fsai *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->params = *(const kry_fsai_params *)params;
    TRY(begin(A, &s, &M->symmetric));
    if (!M->symmetric && (M->params.entries || A->shape.traits & KRY_SYMMETRIC))
        TRY(refuse_unsymmetric(A));
    TRY(make_places(M, &s));
    TRY(make_products(M, &s, &M->products, &dependent));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &M->w));
    name_variant(M, dependent);
    kry_op_shape shape = A->shape;
    shape.traits = M->symmetric ? KRY_SYMMETRIC | KRY_POSITIVE : 0;
    TRY(kryi_op_create_fused(A->dev, &fsai_table, &fsai_fused, M, &shape, out));
    M = NULL;
done:
    release_setup(&s);
    fsai_destroy(M);
    return st;
}

#define PARAMS kry_fsai_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT, power),
      KRY_WORD("power", WHOLE, "=N", "places of A to this power (default 1)"), KRY_CLOSED(1, 8),
      .otherwise = 1 },
    { KRY_FIELD(DOUBLE, cut),
      KRY_WORD("cut", REAL, "=X", "least entries of a power, by the diagonal (default 0.05)"),
      KRY_OPEN(0, 1), .otherwise = 0.05 },
    { KRY_FIELD(INT, entries),
      KRY_WORD("entries", WHOLE, "=N", "of a row, in place of a power, where they gain most"),
      KRY_CLOSED(1, MOST_CHOSEN) },
    { 0 },
};

const kryi_constructor kryi_fsai_precond = { who, "KRY_FSAI", sizeof(kry_fsai_params), fields,
                                             .create = create };

kry_status kry_fsai_create(const kry_op *A, const kry_fsai_params *params, kry_op **out)
{
    return kryi_construct(&kryi_fsai_precond, A, params, out);
}
