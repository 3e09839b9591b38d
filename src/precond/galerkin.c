/*
 * galerkin.c - A Z and E = Z'A Z by products with A, so that they are as accurate as its products
 * are: where A is applied as fluxes over faces, only the faces between two sub-domains contribute,
 * and the rounding of an assembled diagonal does not.
 *
 * Piecewise constant Z: one product for each colour. Row i of A times the indicator of a colour is
 * the entry of A Z for the one label of that colour that the row meets.
 *
 * On a part of a team: A Z of its own rows, and E of all. GPUs make both in one pass (galerkin_device.c), by the same
 * rules.
 */
#include "precond/deflation.h"
#include "sparse/entries.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_deflation_create";

/* ---- A Z of labels --------------------------------------------------------------------------- */

typedef struct probe {
    const kry_op *A;
    kryi_subspace *Z;
    const kryi_colours *colours;
    kryi_couplings couplings;
    kry_vec *c, *v, *u;   /* indicator of a colour; Z c; A v */
    double *host;         /* as many numbers as the longest of them */
    double *own, *others; /* n each: entries of the row's own label, and the sum of the others */
    double *mode,
        *noise; /* with modes, n-by-per and n: the numbers of Z; and what of a row of A Z is
                             rounding */
    kryi_entry_list found; /* of (AZ)' */
} probe;

static void probe_release(probe *p)
{
    free(p->found.entry);
    free(p->noise);
    free(p->mode);
    free(p->others);
    free(p->own);
    free(p->host);
    kry_vec_release(&p->u);
    kry_vec_release(&p->v);
    kry_vec_release(&p->c);
    kryi_couplings_release(&p->couplings);
}

/* Within a sub-domain A maps modes to zero, but for rounding, if they are well chosen. */
static kry_status take_modes(probe *p)
{
    kry_status st = KRY_OK;
    const kryi_subspace *Z = p->Z;
    double noise = 64 * (Z->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);

    TRY(kryi_alloc((uint64_t)(Z->n * Z->per), sizeof *p->mode, &p->mode));
    TRY(kryi_alloc((size_t)Z->n, sizeof *p->noise, &p->noise));
    TRY(kryi_vec_read_doubles(Z->modes, p->mode));
    if (!p->A->table->diagonal) return KRY_OK;
    TRY(kry_op_diagonal(p->A, p->u));
    TRY(kryi_vec_read_doubles(p->u, p->noise));
    for (int64_t i = 0; i < Z->n; i++) p->noise[i] = noise * fabs(p->noise[i]);
done:
    return st;
}

static kry_status probe_create(const kry_op *A, kryi_subspace *Z, const kryi_colours *colours,
                               probe *p)
{
    kry_status st = KRY_OK;
    int64_t longest = Z->n > Z->k ? Z->n : Z->k;

    *p = (probe){ .A = A, .Z = Z, .colours = colours };
    TRY(kryi_couplings_of(A, &p->couplings));
    TRY(kry_vec_create(Z->dev, Z->type, Z->k, 1, &p->c));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &p->v));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &p->u));
    TRY(kryi_alloc((size_t)longest, sizeof *p->host, &p->host));
    TRY(kryi_alloc((size_t)Z->n, sizeof *p->own, &p->own));
    TRY(kryi_alloc((size_t)Z->n, sizeof *p->others, &p->others));
    if (Z->modes) TRY(take_modes(p));
done:
    return st;
}

/* The label of this colour that the row meets; -1: none. */
static int32_t label_met(const probe *p, int64_t row, int32_t colour)
{
    int32_t room[7];
    const int32_t *cols;

    if (!kryi_couplings_known(&p->couplings)) return colour;
    int64_t count = kryi_couplings_at(&p->couplings, row, room, &cols);
    for (int64_t j = 0; j < count; j++) {
        int32_t label = p->Z->labels[cols[j]];
        if (p->colours->of_label[label] == colour) return label;
    }
    return -1;
}

/* The entry (i, label) of A Z, of this mode. */
static kry_status take_entry(probe *p, int64_t i, int32_t label, int mode, double value)
{
    kry_status st = KRY_OK;

    if (p->mode) {
        if (fabs(value) > p->noise[i])
            TRY(kryi_entry_append(&p->found, (int64_t)label * p->Z->per + mode, i, value));
    } else if (label == p->Z->labels[i]) {
        p->own[i] = value;
    } else {
        p->others[i] += value;
        TRY(kryi_entry_append(&p->found, label, i, value));
    }
done:
    return st;
}

static kry_status probe_colour(probe *p, int32_t colour, int mode)
{
    kry_status st = KRY_OK;
    kryi_subspace *Z = p->Z;

    for (int64_t s = 0; s < Z->k; s++)
        p->host[s] = p->colours->of_label[s / Z->per] == colour && s % Z->per == mode;
    TRY(kryi_vec_write_doubles(p->c, p->host));
    TRY(kryi_subspace_prolong(Z, 1, p->c, 0, p->v));
    TRY(kry_op_apply(p->A, 1, p->v, 0, p->u));
    TRY(kryi_vec_read_doubles(p->u, p->host));
    for (int64_t i = 0; i < Z->n; i++) {
        double value = p->host[i];
        if (value == 0) continue;
        int32_t label = label_met(p, i, colour);
        if (label >= 0) TRY(take_entry(p, i, label, mode, value));
    }
done:
    return st;
}

/* Add the entries of the rows' own labels. Where a row of A Z adds up to zero but for rounding (compared
 * to A's diagonal), or A maps constants to zero, this entry becomes minus the sum of the others. */
static kry_status add_own(probe *p)
{
    kry_status st = KRY_OK;
    kryi_subspace *Z = p->Z;
    double noise = 16 * (Z->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    bool singular = kryi_op_loses_constants(p->A);
    bool diagonal = p->A->table->diagonal != NULL;

    if (diagonal) {
        TRY(kry_op_diagonal(p->A, p->u));
        TRY(kryi_vec_read_doubles(p->u, p->host));
    }
    for (int64_t i = 0; i < Z->n; i++) {
        double entry = diagonal ? fabs(p->host[i]) : 0;
        bool is_noise = fabs(p->own[i] + p->others[i]) <= noise * entry;
        double value = singular || is_noise ? -p->others[i] : p->own[i];
        if (value != 0) TRY(kryi_entry_append(&p->found, Z->labels[i], i, value));
    }
done:
    return st;
}

/* ---- E --------------------------------------------------------------------------------------- */

static bool average(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper)
{
    double *val = ((kryi_csr *)user)->val;
    (void)i, (void)j;
    if (lower >= 0 && upper >= 0) val[lower] = val[upper] = 0.5 * (val[upper] + val[lower]);
    return true;
}

/* Let E be symmetric to the bit; singular: and its rows sum to zero. */
static void make_symmetric(kryi_csr *E, bool singular)
{
    double *val = E->val;

    kryi_csr_pairs(E, average, E);
    for (int64_t s = 0; s < E->rows && singular; s++) {
        double sum = 0;
        int64_t diagonal = kryi_csr_find(E, s, s);
        for (int64_t e = E->row_ptr[s]; e < E->row_ptr[s + 1]; e++)
            if (e != diagonal) sum += val[e];
        if (diagonal >= 0) val[diagonal] = -sum;
    }
}

/* E := Z'(AZ) of the rows here; a diagonal for each vector. */
static kry_status restrict_product(const probe *p, const kryi_csr *AZ_t, kryi_csr *E)
{
    kry_status st = KRY_OK;
    const kryi_subspace *Z = p->Z;
    kryi_entry_list list = { 0 };
    const double *val = AZ_t->val;

    for (int64_t s = 0; s < Z->k; s++) {
        for (int64_t e = AZ_t->row_ptr[s]; e < AZ_t->row_ptr[s + 1]; e++)
            for (int64_t j = 0, i = AZ_t->col[e]; j < Z->per; j++)
                TRY(kryi_entry_append(&list, s, (int64_t)Z->labels[i] * Z->per + j,
                                      p->mode ? val[e] * p->mode[j * Z->n + i] : val[e]));
        TRY(kryi_entry_append(&list, s, s, 0));
    }
    TRY(kryi_entry_list_compress(who, &list, Z->k, Z->k, E));
done:
    free(list.entry);
    return st;
}

/* Modes that were left out have rows of zeros in E: give these a diagonal. */
static void fill_diagonal(kryi_csr *E)
{
    double *val = E->val, most = 0;

    for (int64_t e = 0; e < kryi_csr_nnz(E); e++) most = fmax(most, fabs(val[e]));
    for (int64_t s = 0; s < E->rows; s++) {
        int64_t e = kryi_csr_find(E, s, s);
        if (val[e] == 0) val[e] = most;
    }
}

static kry_status multiply_on_device(const kry_op *A, const kryi_subspace *Z, kryi_galerkin *G)
{
    kry_status st = KRY_OK;

    TRY(kryi_galerkin_multiply(A, Z, G));
    G->singular = kryi_op_loses_constants(A);
    make_symmetric(&G->E, G->singular);
done:
    return st;
}

static kry_status multiply_labels(const kry_op *A, kryi_subspace *Z, const kryi_colours *colours,
                                  kryi_galerkin *G)
{
    kry_status st = KRY_OK;
    probe p;

    TRY(probe_create(A, Z, colours, &p));
    for (int32_t c = 0; c < colours->count; c++)
        for (int mode = 0; mode < Z->per; mode++) TRY(probe_colour(&p, c, mode));
    if (!Z->modes) TRY(add_own(&p));
    TRY(kryi_entry_list_compress(who, &p.found, Z->k, Z->n, &G->AZ_t));
    TRY(restrict_product(&p, &G->AZ_t, &G->E));
    TRY(kryi_sum_parts(&Z->dev->layout, who, &G->E));
    if (Z->modes) fill_diagonal(&G->E);
    G->singular = kryi_op_loses_constants(A) && !Z->modes;
    make_symmetric(&G->E, G->singular);
done:
    probe_release(&p);
    return st;
}

/* ---- vectors: everything dense --------------------------------------------------------------- */

/* A k-by-k matrix with all its entries, zero. */
static kry_status create_full(int64_t k, kryi_csr *E)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_create(k, k, KRY_F64, k * k, E));
    for (int64_t s = 0; s <= k; s++) E->row_ptr[s] = s * k;
    for (int64_t e = 0; e < k * k; e++) E->col[e] = (int32_t)(e % k);
done:
    return st;
}

static double dot(const double *v, const double *u, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * u[i];
    return sum;
}

static kry_status multiply_vectors(const kry_op *A, kryi_subspace *Z, kryi_galerkin *G)
{
    kry_status st = KRY_OK;
    double *z = NULL, *az = NULL;

    TRY(create_full(Z->k, &G->E));
    double *E = G->E.val;
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, Z->k, &G->AZ));
    TRY(kry_op_apply(A, 1, Z->vectors, 0, G->AZ));
    TRY(kryi_alloc((uint64_t)(Z->n * Z->k), sizeof *z, &z));
    TRY(kryi_alloc((uint64_t)(Z->n * Z->k), sizeof *az, &az));
    TRY(kryi_vec_read_doubles(Z->vectors, z));
    TRY(kryi_vec_read_doubles(G->AZ, az));
    for (int64_t s = 0; s < Z->k; s++)
        for (int64_t t = 0; t < Z->k; t++) E[s * Z->k + t] = dot(z + t * Z->n, az + s * Z->n, Z->n);
    TRY(kryi_layout_combine(&Z->dev->layout, KRY_ADD, E, (size_t)(Z->k * Z->k)));
    make_symmetric(&G->E, false);
done:
    free(z);
    free(az);
    return st;
}

/* ---- null spaces other than constants -------------------------------------------------------- */

/* E += t w w' with w = Z'v for a vector v that A maps to zero: if the span of Z holds v, E becomes
 * regular, and its solutions have no part along v. E has all entries. */
static kry_status lift(kryi_subspace *Z, const kry_vec *v, double t, kryi_csr *E)
{
    kry_status st = KRY_OK;
    kry_vec *w = NULL;
    double *sum = NULL, *val = E->val;

    TRY(kry_vec_create(Z->dev, Z->type, Z->k, 1, &w));
    TRY(kryi_alloc((size_t)Z->k, sizeof *sum, &sum));
    TRY(kryi_subspace_restrict(Z, v, w));
    TRY(kryi_vec_read_doubles(w, sum));
    TRY(kryi_layout_combine(&Z->dev->layout, KRY_ADD, sum, (size_t)Z->k));
    for (int64_t s = 0; s < E->rows; s++)
        for (int64_t j = 0; j < E->rows; j++) val[s * E->rows + j] += t * sum[s] * sum[j];
done:
    free(sum);
    kry_vec_release(&w);
    return st;
}

static kry_status make_full(kryi_csr *E)
{
    kry_status st = KRY_OK;
    kryi_csr all = { 0 };
    const double *val = E->val;

    if (kryi_csr_nnz(E) == E->rows * E->rows) return KRY_OK;
    TRY(create_full(E->rows, &all));
    for (int64_t s = 0; s < E->rows; s++)
        for (int64_t e = E->row_ptr[s]; e < E->row_ptr[s + 1]; e++)
            ((double *)all.val)[s * E->rows + E->col[e]] = val[e];
    kryi_csr_release(E);
    *E = all;
done:
    return st;
}

/* For null spaces that are not known to be the sum of all vectors of Z. */
static kry_status lift_null_space(const kry_op *A, kryi_subspace *Z, kryi_csr *E)
{
    kry_status st = KRY_OK;
    const kry_vec *null = kryi_op_null_vectors(A);
    kry_vec *ones = NULL;
    double trace = 0;
    int64_t unknowns;

    if (!null && !(kryi_op_loses_constants(A) && (Z->vectors || Z->modes))) return KRY_OK;
    TRY(make_full(E));
    for (int64_t s = 0; s < E->rows; s++) trace += ((double *)E->val)[s * E->rows + s];
    TRY(kryi_layout_rows(&Z->dev->layout, Z->n, NULL, &unknowns));
    if (!null) {
        TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &ones));
        TRY(kry_vec_fill(ones, 1 / sqrt((double)unknowns)));
    }
    const double t = trace / (double)(null ? unknowns : Z->k);
    if (!null) null = ones;
    for (int64_t j = 0; j < null->k; j++) {
        kry_vec v = kryi_vec_column(null, j);
        TRY(lift(Z, &v, t, E));
    }
done:
    kry_vec_release(&ones);
    return st;
}

/* ---- both ------------------------------------------------------------------------------------ */

kry_status kryi_galerkin_create(const kry_op *A, kryi_subspace *Z, const kryi_colours *colours,
                                kryi_galerkin *G)
{
    kry_status st = KRY_OK;

    *G = (kryi_galerkin){ 0 };
    if (Z->vectors)
        TRY(multiply_vectors(A, Z, G));
    else if (!Z->modes && kryi_galerkin_suits(A))
        TRY(multiply_on_device(A, Z, G));
    else
        TRY(multiply_labels(A, Z, colours, G));
    TRY(lift_null_space(A, Z, &G->E));
done:
    if (st < 0) kryi_galerkin_release(G);
    return st;
}

void kryi_galerkin_release(kryi_galerkin *G)
{
    kryi_csr_release(&G->E);
    kryi_csr_release(&G->AZ_t);
    kryi_device_csr_release(&G->rows_t);
    kryi_device_csr_release(&G->rows);
    kry_vec_release(&G->AZ);
}
