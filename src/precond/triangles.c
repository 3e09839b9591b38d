/*
 * triangles.c - M := c K' D^-1 K, K = sum (-omega L D^-1)^j, A = L + D + L', by products with
 * triangles of A whose rows are scaled by D^-1: the incomplete Poisson inverse of stored matrices,
 * and the SSOR-type approximate inverse, the inverse of (D + omega L) D^-1 (D + omega L') / c where
 * each factor is inverted by the first terms of a Neumann series. D^-1 K is the same sum in D^-1 L,
 * times D^-1:
 *
 *   degree 1   w := F r,  F = c (D^-1 - omega D^-1 L D^-1)
 *              z := w - H w
 *   degree d   v := c D^-1 r,  w_0 := v,  w_k := v - G w_k-1
 *              z_0 := w_d,  z_k := w_d - H z_k-1
 *   unscaled   w := r - H r
 *              z := w - E w
 *   drop       z := (the product, cut to A's pattern) r
 *
 *   G = omega D^-1 L,  H = omega D^-1 L',  E = L D^-1
 *
 * Storage     degree 1: the entries of A and n numbers; 3 n more beyond; drop: as A
 * Per use     the matrices and, degree 1 and unscaled: 4 words; degree d: 6 d + 1; drop: 2
 * Positive    always, because D is; with drop not always
 */
#include "precond/triangles.h"
#include "grid/stencil.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* These change with the values of A. */
typedef struct parts {
    kry_op *first, *second; /* F, H; G, H; H, E; or the product alone */
    double
        positive; /* most that a row's entries > 0 beside the diagonal add up to, of D^-1/2 A D^-1/2 */
    kry_vec *inverse; /* D^-1; NULL: degree 1 */
} parts;

typedef struct triangles {
    kry_op *A; /* retained */
    kryi_triangles_form form;
    parts parts;
    kry_vec
        *w[3]; /* in between, of as many columns as there ever were; degree 1: one, drop: none */
    char variant[112];
} triangles;

static void release_parts(parts *p)
{
    kry_op_release(&p->first);
    kry_op_release(&p->second);
    kry_vec_release(&p->inverse);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* A on the host, and what the formulas need of it. */
typedef struct taken {
    kryi_csr R;
    double *d; /* n: 1 / diagonal */
} taken;

/* A triangle of A whose entries are multiplied by what stands in the formulas above. */
typedef struct triangle {
    bool upper;
    double by;           /* a number, */
    bool by_row, by_col; /* D^-1 of the row, of the column */
    bool unit;           /* and ones on the diagonal, */
    double diagonal;     /* or, != 0, this times D^-1 */
} triangle;

static bool in_triangle(const void *user, int64_t i, int64_t j)
{
    const triangle *f = user;
    bool diagonal = f->unit || f->diagonal != 0;
    return i == j ? diagonal : f->upper ? j > i : j < i;
}

static kry_status make_triangle(const taken *t, const triangle *f, kryi_csr *T)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_select(&t->R, in_triangle, f, T));
    double *val = T->val;
    for (int64_t i = 0; i < T->rows; i++)
        for (int64_t e = T->row_ptr[i]; e < T->row_ptr[i + 1]; e++) {
            int32_t j = T->col[e];
            if (j == i)
                val[e] = f->unit ? 1 : f->diagonal * t->d[i];
            else
                val[e] = f->by * val[e] * (f->by_row ? t->d[i] : 1) * (f->by_col ? t->d[j] : 1);
        }
done:
    return st;
}

static kry_status make_factor(const kry_op *A, const taken *t, const triangle *f, kry_op **matrix)
{
    kry_status st = KRY_OK;
    kryi_csr T = { 0 };

    TRY(make_triangle(t, f, &T));
    TRY(kryi_rows_matrix(A, &T, 0, matrix));
done:
    kryi_csr_release(&T);
    return st;
}

/* K K', or K' D^-1 K, at the places where A has entries: mirrored ones are sums of the same
 * products in the same order, and so the same to the bit. */
static kry_status make_dropped(const kry_op *A, const taken *t, bool unscaled, kry_op **matrix)
{
    kry_status st = KRY_OK;
    const triangle form = { .by = -1, .by_col = true, .unit = true };
    kryi_csr K = { 0 }, K_t = { 0 }, P = t->R;

    P.val = NULL;
    TRY(make_triangle(t, &form, &K));
    TRY(kryi_csr_transpose(&K, &K_t));
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(&P), sizeof(double), &P.val));
    TRY(unscaled ? kryi_csr_multiply_within(&K, NULL, &K_t, &P)
                 : kryi_csr_multiply_within(&K_t, t->d, &K, &P));
    TRY(kryi_rows_matrix(A, &P, KRY_SYMMETRIC, matrix));
done:
    free(P.val);
    kryi_csr_release(&K_t);
    kryi_csr_release(&K);
    return st;
}

/* K approximates the inverse of a factor if A is an M-matrix, and may be far from it where a row has large
 * positive entries beside the diagonal. */
static double largest_positive_part(const taken *t)
{
    const double *val = t->R.val;
    double most = 0;

    for (int64_t i = 0; i < t->R.rows; i++) {
        double sum = 0;
        for (int64_t e = t->R.row_ptr[i]; e < t->R.row_ptr[i + 1]; e++)
            if (t->R.col[e] != i && val[e] > 0) sum += val[e] * sqrt(t->d[i] * t->d[t->R.col[e]]);
        most = fmax(most, sum);
    }
    return most;
}

static double scale_of(const kryi_triangles_form *f) { return f->omega * (2 - f->omega); }

static kry_status make_parts(const kry_op *A, const kryi_triangles_form *f, parts *p)
{
    kry_status st = KRY_OK;
    const double omega = f->omega, c = scale_of(f);
    const triangle F = { .by = -c * omega, .by_row = true, .by_col = true, .diagonal = c },
                   G = { .by = omega, .by_row = true },
                   H = { .by = omega, .by_row = true, .upper = true },
                   E = { .by = 1, .by_col = true };
    taken t = { 0 };

    *p = (parts){ 0 };
    TRY(kryi_rows_read(f->who, A, &t.R));
    TRY(kryi_alloc((size_t)t.R.rows, sizeof *t.d, &t.d));
    TRY(kryi_rows_symmetrise(f->who, A, &t.R, t.d));
    p->positive = largest_positive_part(&t);
    if (f->drop) {
        TRY(make_dropped(A, &t, f->unscaled, &p->first));
        goto done;
    }
    TRY(make_factor(A, &t, f->unscaled ? &H : f->degree == 1 ? &F : &G, &p->first));
    TRY(make_factor(A, &t, f->unscaled ? &E : &H, &p->second));
    if (f->degree > 1) {
        TRY(kry_vec_create(A->dev, A->shape.type, t.R.rows, 1, &p->inverse));
        TRY(kryi_vec_write_doubles(p->inverse, t.d));
    }
done:
    free(t.d);
    kryi_csr_release(&t.R);
    if (st < 0) release_parts(p);
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* room: of as many columns as x */
static kry_status make_room(triangles *M, const kry_vec *x, kry_vec room[3])
{
    kry_status st = KRY_OK;

    for (size_t i = 0; i < COUNT(M->w) && M->w[i]; i++)
        TRY(kryi_vec_take(&M->w[i], x->k, &room[i]));
done:
    return st;
}

/* w of the formulas above. */
static kry_status lower_half(const triangles *M, const kry_vec *r, kry_vec room[3], kry_vec **w)
{
    kry_status st = KRY_OK;
    const parts *p = &M->parts;
    const int d = M->form.degree;

    *w = &room[0];
    if (M->form.unscaled) return kryi_op_run_residual(p->first, r, r, *w);
    if (d == 1) return kry_op_apply(p->first, 1, r, 0, *w);
    TRY(kryi_vec_mul_columns(scale_of(&M->form), p->inverse, r, &room[0]));
    for (int k = 1; k <= d; k++) {
        kry_vec *last = *w;
        *w = &room[1 + k % 2];
        TRY(kryi_op_run_residual(p->first, &room[0], last, *w));
    }
done:
    return st;
}

static kry_status triangles_apply(void *self, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y)
{
    triangles *M = self;
    kry_status st = KRY_OK;
    kry_vec room[3], *w, *z;

    if (M->form.drop) return kry_op_apply(M->parts.first, alpha, x, beta, y);
    TRY(make_room(M, x, room));
    TRY(lower_half(M, x, room, &w));
    z = w;
    for (int k = 1; k < M->form.degree; k++) { /* alternates between the two that are not w */
        kry_vec *last = z;
        z = k % 2 ? &room[0] : &room[w == &room[1] ? 2 : 1];
        TRY(kryi_op_run_residual(M->parts.second, w, last, z));
    }
    if (alpha == 1 && beta == 0) return kryi_op_run_residual(M->parts.second, w, z, y);
    TRY(kry_op_apply(M->parts.second, -alpha, z, beta, y));
    TRY(kry_vec_axpby(alpha, w, 1, y));
done:
    return st;
}

static bool triangles_as_factors(void *self, kryi_factors *f)
{
    const triangles *M = self;

    *f = (kryi_factors){ M->A, M->parts.first, M->parts.second };
    return M->form.degree == 1 && !M->form.unscaled && !M->form.drop;
}

static void name_variant(triangles *M)
{
    const kryi_triangles_form *f = &M->form;
    const char *warning =
        M->parts.positive > 1.5 ? "; rows have large entries > 0, jacobi may be better" : "";

    if (f->ssor_ai)
        kryi_print(M->variant, sizeof M->variant, "degree %d, omega %g%s", f->degree, f->omega,
                   warning);
    else
        snprintf(M->variant, sizeof M->variant, "%s, %s%s", f->unscaled ? "unscaled" : "scaled",
                 f->drop ? "fill dropped" : "two triangles", warning);
}

/* The old parts stay until the new ones are whole. */
static kry_status triangles_renew(void *self)
{
    triangles *M = self;
    kry_status st = KRY_OK;
    parts next;

    TRY(make_parts(M->A, &M->form, &next));
    release_parts(&M->parts);
    M->parts = next;
    name_variant(M);
done:
    return st;
}

static void triangles_describe(void *self, kry_op_info *info)
{
    const triangles *M = self;
    double vector = (double)M->A->shape.rows * (double)kry_type_size(M->A->shape.type);
    int d = M->form.degree;
    kry_op_info first, second = { 0 };

    kry_op_describe(M->parts.first, &first);
    if (M->parts.second) kry_op_describe(M->parts.second, &second);
    info->variant = M->variant;
    info->nnz = first.nnz + second.nnz;
    info->bytes_stored = first.bytes_stored + second.bytes_stored + (d > 1 ? vector : 0);
    /* a product reads x and writes y; b besides, where it is another vector */
    info->bytes_per_apply = d * (first.bytes_per_apply + second.bytes_per_apply) +
                            (d > 1 ? 3 + 2 * (d - 1) : 0) * vector;
}

static void triangles_destroy(void *self)
{
    triangles *M = self;
    if (!M) return;
    for (size_t i = 0; i < COUNT(M->w); i++) kry_vec_release(&M->w[i]);
    release_parts(&M->parts);
    kry_op_release(&M->A);
    free(M);
}

/* Two tables that differ in the name. */
#define TABLE(name)                                                                  \
    {                                                                                \
        .struct_size = sizeof(kry_op_table), .kind = name, .apply = triangles_apply, \
        .apply_block = triangles_apply, .apply_transpose = triangles_apply,          \
        .describe = triangles_describe, .destroy = triangles_destroy,                \
    }
static const kry_op_table ip_table = TABLE("ip"), ssor_ai_table = TABLE("ssor-ai");
static const kryi_op_fused triangles_fused = { .as_factors = triangles_as_factors,
                                               .renew = triangles_renew };

kry_status kryi_triangles_create(const kry_op *A, const kryi_triangles_form *form, kry_op **out)
{
    kry_status st = KRY_OK;
    triangles *M = NULL;
    int vectors = form->drop ? 0 : form->degree > 1 ? 3 : 1;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->form = *form;
    TRY(make_parts(A, form, &M->parts));
    name_variant(M);
    for (int i = 0; i < vectors; i++)
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &M->w[i]));
    kry_op_shape shape = A->shape;
    shape.traits = KRY_SYMMETRIC | (form->drop ? 0 : KRY_POSITIVE);
    TRY(kryi_op_create_fused(A->dev, form->ssor_ai ? &ssor_ai_table : &ip_table, &triangles_fused,
                             M, &shape, out));
    M = NULL;
done:
    triangles_destroy(M);
    return st;
}

/* ---- the SSOR-type approximate inverse --------------------------------------------------------- */

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    const kry_ssor_ai_params *p = params;
    const kryi_triangles_form form = {
        .who = "kry_ssor_ai_create", .ssor_ai = true, .degree = p->degree, .omega = p->omega
    };

    if (kryi_stencil_of(A) && form.degree == 1 &&
        form.omega == 1) /* the same M, without a matrix */
        return kry_incomplete_poisson_create(A, NULL, out);
    return kryi_triangles_create(A, &form, out);
}

#define PARAMS kry_ssor_ai_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT, degree),
      KRY_WORD("degree", WHOLE, "=N", "products with each triangle (default 1)"),
      KRY_CLOSED(1, 1000), .otherwise = 1 },
    { KRY_FIELD(DOUBLE, omega),
      KRY_WORD("omega", REAL, "=W", "weight of SSOR, in (0, 2) (default 1)"), KRY_OPEN(0, 2),
      .otherwise = 1 },
    { 0 },
};

const kryi_constructor kryi_ssor_ai_precond = { "kry_ssor_ai_create", "KRY_SSOR_AI",
                                                sizeof(kry_ssor_ai_params), fields,
                                                .create = create };

kry_status kry_ssor_ai_create(const kry_op *A, const kry_ssor_ai_params *params, kry_op **out)
{
    return kryi_construct(&kryi_ssor_ai_precond, A, params, out);
}
