/*
 * galerkin.c - A Z and E = Z'A Z by products with A alone, so that they are as true to A as its
 * products are: where A is applied as fluxes over faces, only the faces between two sub-domains
 * count, and no diagonal that was rounded when it was assembled.
 *
 * Piecewise constant Z: one product for each colour. Row i of A times the indicator of a colour is
 * the entry of A Z for the one label of that colour that the row meets.
 *
 * On a part of a team: A Z of its own rows, and E of all.
 */
#include "precond/galerkin.h"
#include "precond/couplings.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries of A Z as they are found. */
typedef struct entry {
    int32_t label, row;
    double value;
} entry;

typedef struct probe {
    const kry_op *A;
    kry_subspace *Z;
    const kry_colours *colours;
    kry_couplings rows;
    kry_vec *c, *v, *u;   /* indicator of a colour; Z c; A v */
    void *host;           /* n numbers */
    double *own, *others; /* n each: entries of the row's own label, and the sum of the others */
    entry *entries;
    int64_t count, capacity;
} probe;

static void probe_release(probe *p)
{
    free(p->entries);
    free(p->others);
    free(p->own);
    free(p->host);
    kry_vec_release(&p->u);
    kry_vec_release(&p->v);
    kry_vec_release(&p->c);
    kry_couplings_release(&p->rows);
}

static kry_status probe_create(const kry_op *A, kry_subspace *Z, const kry_colours *colours,
                               probe *p)
{
    kry_status st = KRY_OK;
    int64_t longest = Z->n > Z->k ? Z->n : Z->k;

    *p = (probe){ .A = A, .Z = Z, .colours = colours };
    TRY(kry_couplings_of(A, &p->rows));
    TRY(kry_vec_create(Z->dev, Z->type, Z->k, 1, &p->c));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &p->v));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &p->u));
    TRY(kry_alloc((size_t)longest, kry_type_size(Z->type), &p->host));
    TRY(kry_alloc((size_t)Z->n, sizeof *p->own, &p->own));
    TRY(kry_alloc((size_t)Z->n, sizeof *p->others, &p->others));
done:
    return st;
}

static kry_status add_entry(probe *p, int32_t label, int64_t row, double value)
{
    kry_status st = KRY_OK;

    if (value == 0) return KRY_OK;
    if (p->count == p->capacity) {
        int64_t capacity = p->capacity ? 2 * p->capacity : 4096;
        TRY(kry_realloc((size_t)capacity, sizeof *p->entries, &p->entries));
        p->capacity = capacity;
    }
    p->entries[p->count++] = (entry){ label, (int32_t)row, value };
done:
    return st;
}

/* The label of this colour that the row meets; -1: none. */
static int32_t label_met(const probe *p, int64_t row, int32_t colour)
{
    int32_t room[7];
    const int32_t *cols;

    if (!p->rows.known) return colour;
    int64_t count = kry_couplings_at(&p->rows, row, room, &cols);
    for (int64_t j = 0; j < count; j++) {
        int32_t label = p->Z->labels[cols[j]];
        if (p->colours->of_label[label] == colour) return label;
    }
    return -1;
}

static kry_status probe_colour(probe *p, int32_t colour)
{
    kry_status st = KRY_OK;
    kry_subspace *Z = p->Z;

    for (int64_t s = 0; s < Z->k; s++)
        kry_number_put(Z->type, p->host, s, p->colours->of_label[s] == colour);
    TRY(kry_vec_write(p->c, p->host));
    TRY(kry_subspace_prolong(Z, 1, p->c, 0, p->v));
    TRY(kry_op_apply(p->A, 1, p->v, 0, p->u));
    TRY(kry_vec_read(p->u, p->host));
    for (int64_t i = 0; i < Z->n; i++) {
        double value = kry_number_at(Z->type, p->host, i);
        if (value == 0) continue;
        int32_t label = label_met(p, i, colour);
        if (label < 0) continue;
        if (label == Z->labels[i]) {
            p->own[i] = value;
        } else {
            p->others[i] += value;
            TRY(add_entry(p, label, i, value));
        }
    }
done:
    return st;
}

/* Entries of the rows' own labels. What a row of A sums up to is noise where it is small beside the
 * diagonal, and zero where A is singular: then the own entry is what the others leave. */
static kry_status add_own(probe *p)
{
    kry_status st = KRY_OK;
    kry_subspace *Z = p->Z;
    double noise = 16 * (Z->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    bool singular = kry_op_loses_constants(p->A);
    bool diagonal = p->A->table->diagonal != NULL;

    if (diagonal) {
        TRY(kry_op_diagonal(p->A, p->u));
        TRY(kry_vec_read(p->u, p->host));
    }
    for (int64_t i = 0; i < Z->n; i++) {
        double entry = diagonal ? fabs(kry_number_at(Z->type, p->host, i)) : 0;
        bool is_noise = fabs(p->own[i] + p->others[i]) <= noise * entry;
        TRY(add_entry(p, Z->labels[i], i, singular || is_noise ? -p->others[i] : p->own[i]));
    }
done:
    return st;
}

/* ---- what was found, by labels --------------------------------------------------------------- */

static int by_label(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static kry_status take_entries(probe *p, kry_galerkin *G)
{
    kry_status st = KRY_OK;

    if (p->count) qsort(p->entries, (size_t)p->count, sizeof *p->entries, by_label);
    G->nnz = p->count;
    TRY(kry_alloc((size_t)p->Z->k + 1, sizeof *G->ptr, &G->ptr));
    TRY(kry_alloc((size_t)p->count, sizeof *G->row, &G->row));
    TRY(kry_alloc((size_t)p->count, kry_type_size(p->Z->type), &G->val));
    for (int64_t e = 0; e < p->count; e++) {
        G->ptr[p->entries[e].label + 1]++;
        G->row[e] = p->entries[e].row;
        kry_number_put(p->Z->type, G->val, e, p->entries[e].value);
    }
    for (int64_t s = 0; s < p->Z->k; s++) G->ptr[s + 1] += G->ptr[s];
done:
    return st;
}

/* ---- E -----------------------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Row s of E into sum, and which of its columns are in use, ascending. */
static int64_t sum_row(const probe *p, const kry_galerkin *G, int64_t s, double *sum, int32_t *mark,
                       int32_t *used)
{
    int64_t count = 0;

    for (int64_t e = G->ptr[s]; e < G->ptr[s + 1]; e++) {
        int32_t t = p->Z->labels[p->entries[e].row];
        if (mark[t] != s + 1) mark[t] = (int32_t)s + 1, sum[t] = 0, used[count++] = t;
        sum[t] += p->entries[e].value;
    }
    if (mark[s] != s + 1) mark[s] = (int32_t)s + 1, sum[s] = 0, used[count++] = (int32_t)s;
    qsort(used, (size_t)count, sizeof *used, ascending);
    return count;
}

/* E[t][s] for the entry at row s, column t; NULL: there is none. */
static double *mirror(const kry_coarse_matrix *E, int64_t s, int32_t t)
{
    const int32_t key = (int32_t)s, *first = E->col + E->row_ptr[t];
    const int32_t *at =
        bsearch(&key, first, (size_t)(E->row_ptr[t + 1] - E->row_ptr[t]), sizeof *first, ascending);
    return at ? &E->val[at - E->col] : NULL;
}

/* The same on both sides of the diagonal; and rows that sum to zero where constants are mapped to
 * it. */
static void make_symmetric(kry_coarse_matrix *E)
{
    assert(E->val && E->row_ptr && E->col);
    for (int64_t s = 0; s < E->k; s++) {
        double sum = 0, *diagonal = NULL;
        for (int64_t e = E->row_ptr[s]; e < E->row_ptr[s + 1]; e++) {
            double *other = mirror(E, s, E->col[e]);
            if (E->col[e] == s)
                diagonal = &E->val[e];
            else if (E->col[e] > s && other)
                E->val[e] = *other = 0.5 * (E->val[e] + *other);
            if (E->col[e] != s) sum += E->val[e];
        }
        if (E->singular && diagonal) *diagonal = -sum;
    }
}

/* What the rows here add to E; a diagonal for each label. */
static kry_status sum_entries(const probe *p, const kry_galerkin *G, kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    double *sum = NULL;
    int32_t *mark = NULL, *used = NULL;
    int64_t capacity = 0, count = 0;

    E->k = p->Z->k;
    E->singular = kry_op_loses_constants(p->A);
    TRY(kry_alloc((size_t)E->k + 1, sizeof *E->row_ptr, &E->row_ptr));
    TRY(kry_alloc((size_t)E->k, sizeof *sum, &sum));
    TRY(kry_alloc((size_t)E->k, sizeof *mark, &mark));
    TRY(kry_alloc((size_t)E->k, sizeof *used, &used));
    for (int64_t s = 0; s < E->k; s++) {
        int64_t row = sum_row(p, G, s, sum, mark, used);
        if (count + row > capacity) {
            capacity = 2 * capacity + row + 1024;
            TRY(kry_realloc((size_t)capacity, sizeof *E->col, &E->col));
            TRY(kry_realloc((size_t)capacity, sizeof *E->val, &E->val));
        }
        for (int64_t j = 0; j < row; j++) E->col[count] = used[j], E->val[count++] = sum[used[j]];
        E->row_ptr[s + 1] = count;
    }
done:
    free(sum);
    free(mark);
    free(used);
    return st;
}

/* An entry of E as parts of a team tell each other. */
typedef struct share {
    int32_t row, col;
    int32_t part, unused;
    double value;
} share;

static int by_place(const void *a, const void *b)
{
    const share *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

/* All parts' entries, those of one place added up in the order of parts. */
static kry_status take_shares(share *all, size_t total, kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    int64_t count = 0;

    qsort(all, total, sizeof *all, by_place);
    TRY(kry_realloc(total, sizeof *E->col, &E->col));
    TRY(kry_realloc(total, sizeof *E->val, &E->val));
    memset(E->row_ptr, 0, ((size_t)E->k + 1) * sizeof *E->row_ptr);
    for (size_t i = 0; i < total; i++) {
        bool next = i == 0 || all[i].row != all[i - 1].row || all[i].col != all[i - 1].col;
        if (next) E->col[count] = all[i].col, E->val[count++] = 0;
        E->val[count - 1] += all[i].value;
        E->row_ptr[all[i].row + 1] = count;
    }
done:
    return st;
}

/* E := the sum of what each part has of it. Collective. */
static kry_status add_parts(kry_layout *layout, kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    share *mine = NULL, *all = NULL;
    size_t count = (size_t)E->row_ptr[E->k], total;

    if (kry_layout_size(layout) == 1) return KRY_OK;
    TRY(kry_alloc(count, sizeof *mine, &mine));
    for (int64_t s = 0; s < E->k; s++)
        for (int64_t e = E->row_ptr[s]; e < E->row_ptr[s + 1]; e++)
            mine[e] = (share){ .row = (int32_t)s,
                               .col = E->col[e],
                               .part = kry_layout_rank(layout),
                               .value = E->val[e] };
    TRY(kry_layout_collect(layout, mine, count, sizeof *mine, &all, &total));
    TRY(take_shares(all, total, E));
done:
    free(all);
    free(mine);
    return st;
}

/* ---- vectors: everything dense -----------------------------------------------------------------
 */

static kry_status dense_pattern(kry_coarse_matrix *E, int64_t k)
{
    kry_status st = KRY_OK;

    E->k = k;
    TRY(kry_alloc((size_t)k + 1, sizeof *E->row_ptr, &E->row_ptr));
    TRY(kry_alloc((size_t)(k * k), sizeof *E->col, &E->col));
    TRY(kry_alloc((size_t)(k * k), sizeof *E->val, &E->val));
    for (int64_t s = 0; s <= k; s++) E->row_ptr[s] = s * k;
    for (int64_t e = 0; e < k * k; e++) E->col[e] = (int32_t)(e % k);
done:
    return st;
}

/* sum of v_i u_i in double, on the host */
static double dot(kry_type type, const void *v, const void *u, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += kry_number_at(type, v, i) * kry_number_at(type, u, i);
    return sum;
}

static kry_status multiply_vectors(const kry_op *A, kry_subspace *Z, kry_galerkin *G)
{
    kry_status st = KRY_OK;
    void *z = NULL, *az = NULL;
    size_t column = (size_t)Z->n * kry_type_size(Z->type);

    TRY(dense_pattern(&G->E, Z->k));
    TRY(kry_vec_create(Z->dev, Z->type, Z->n, Z->k, &G->AZ));
    TRY(kry_op_apply(A, 1, Z->vectors, 0, G->AZ));
    TRY(kry_alloc((size_t)(Z->n * Z->k), kry_type_size(Z->type), &z));
    TRY(kry_alloc((size_t)(Z->n * Z->k), kry_type_size(Z->type), &az));
    TRY(kry_vec_read(Z->vectors, z));
    TRY(kry_vec_read(G->AZ, az));
    for (int64_t s = 0; s < Z->k; s++)
        for (int64_t t = 0; t < Z->k; t++)
            G->E.val[s * Z->k + t] =
                dot(Z->type, (char *)z + (size_t)t * column, (char *)az + (size_t)s * column, Z->n);
    TRY(kry_layout_combine(&Z->dev->layout, KRY_ADD, G->E.val, (size_t)(Z->k * Z->k)));
    make_symmetric(&G->E);
done:
    free(z);
    free(az);
    return st;
}

/* ---- null spaces of another kind ----------------------------------------------------------------
 */

/* E += t w w' with w = Z'v for a vector v that A maps to zero: E becomes regular where the span of
 * Z holds v, and what it solves stays clear of v. E is dense. */
static kry_status lift(kry_subspace *Z, const kry_vec *v, double t, kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    kry_vec *w = NULL;
    void *host = NULL;
    double *sum = NULL;

    TRY(kry_vec_create(Z->dev, Z->type, Z->k, 1, &w));
    TRY(kry_alloc((size_t)Z->k, kry_type_size(Z->type), &host));
    TRY(kry_alloc((size_t)Z->k, sizeof *sum, &sum));
    TRY(kry_subspace_restrict(Z, v, w));
    TRY(kry_vec_read(w, host));
    for (int64_t s = 0; s < E->k; s++) sum[s] = kry_number_at(Z->type, host, s);
    TRY(kry_layout_combine(&Z->dev->layout, KRY_ADD, sum, (size_t)Z->k));
    for (int64_t s = 0; s < E->k; s++)
        for (int64_t j = 0; j < E->k; j++) E->val[s * E->k + j] += t * sum[s] * sum[j];
done:
    free(sum);
    free(host);
    kry_vec_release(&w);
    return st;
}

static kry_status make_dense(kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    kry_coarse_matrix all = { 0 };

    if (E->row_ptr[E->k] == E->k * E->k) return KRY_OK;
    TRY(dense_pattern(&all, E->k));
    for (int64_t s = 0; s < E->k; s++)
        for (int64_t e = E->row_ptr[s]; e < E->row_ptr[s + 1]; e++)
            all.val[s * E->k + E->col[e]] = E->val[e];
    free(E->row_ptr);
    free(E->col);
    free(E->val);
    *E = all;
    all = (kry_coarse_matrix){ 0 };
done:
    free(all.row_ptr);
    free(all.col);
    free(all.val);
    return st;
}

/* For null spaces that are not known to be the sum of all vectors of Z. */
static kry_status lift_null_space(const kry_op *A, kry_subspace *Z, kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    kry_vec *ones = NULL;
    double trace = 0;
    int64_t unknowns;
    bool constants = kry_op_loses_constants(A);

    if (!A->null_space && !(constants && Z->vectors)) return KRY_OK;
    TRY(make_dense(E));
    TRY(kry_layout_rows(&Z->dev->layout, Z->n, NULL, &unknowns));
    for (int64_t s = 0; s < E->k; s++) trace += E->val[s * E->k + s];
    if (A->null_space) {
        for (int64_t j = 0; j < A->null_space->k; j++) {
            kry_vec v = kry_vec_column(A->null_space, j);
            TRY(lift(Z, &v, trace / (double)unknowns, E));
        }
    } else {
        TRY(kry_vec_create(Z->dev, Z->type, Z->n, 1, &ones));
        TRY(kry_vec_fill(ones, 1 / sqrt((double)unknowns)));
        TRY(lift(Z, ones, trace / (double)Z->k, E));
    }
done:
    kry_vec_release(&ones);
    return st;
}

/* ---- all of it
 * ----------------------------------------------------------------------------------- */

static kry_status multiply_labels(const kry_op *A, kry_subspace *Z, const kry_colours *colours,
                                  kry_galerkin *G)
{
    kry_status st = KRY_OK;
    probe p;

    TRY(probe_create(A, Z, colours, &p));
    for (int32_t c = 0; c < colours->count; c++) TRY(probe_colour(&p, c));
    TRY(add_own(&p));
    TRY(take_entries(&p, G));
    TRY(sum_entries(&p, G, &G->E));
    TRY(add_parts(&Z->dev->layout, &G->E));
    make_symmetric(&G->E);
done:
    probe_release(&p);
    return st;
}

kry_status kry_galerkin_create(const kry_op *A, kry_subspace *Z, const kry_colours *colours,
                               kry_galerkin *G)
{
    kry_status st = KRY_OK;

    *G = (kry_galerkin){ 0 };
    TRY(Z->vectors ? multiply_vectors(A, Z, G) : multiply_labels(A, Z, colours, G));
    TRY(lift_null_space(A, Z, &G->E));
done:
    if (st < 0) kry_galerkin_release(G);
    return st;
}

void kry_galerkin_release(kry_galerkin *G)
{
    free(G->E.row_ptr);
    free(G->E.col);
    free(G->E.val);
    free(G->ptr);
    free(G->row);
    free(G->val);
    kry_vec_release(&G->AZ);
    *G = (kry_galerkin){ 0 };
}
