/*
 * rhs.c - right-hand sides: the problem's own, made, or from a file.
 */
#include "rhs.h"
#include "examine.h"
#include "ranks.h"
#include <stdlib.h>
#include <string.h>

enum { STREAM_RHS = 16, STREAM_EXACT };

static double rounded(kry_type type, double value)
{
    return type == KRY_F32 ? (double)(float)value : value;
}

/* y = A x for A as the device has it, summed in double. */
static kry_status host_product(const source *s, kry_type type, const double *x, double *y)
{
    kry_status st = KRY_OK;
    sparse A = { 0 };
    if (source_matrix_free(s)) {
        TRY(kry_stencil_apply_host(s->problem->grid, type, x, y));
        goto done;
    }
    TRY(sparse_of_source(s, &A));
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            y[i] += rounded(type, A.val[e]) * x[A.col[e]];
done:
    kryi_host_matrix_release(&A);
    return st;
}

/* Take the null space of a singular A out of b, so that a solution exists, or out of an exact x, which is known but
 * for that. */
static void centre(const source *s, kry_type type, double *v)
{
    source_centre(s, v);
    for (int64_t i = 0; i < s->here && s->nulls; i++) v[i] = rounded(type, v[i]);
}

/* Number i of the exact solution, before the null space is taken out, which A maps to zero. */
static double exact_at(kry_type type, uint64_t seed, int64_t i)
{
    return rounded(type, kry_random_unit(seed, STREAM_EXACT, (uint64_t)i));
}

/* y = A x of this rank's rows, for that x, of which every rank can make every number. */
static void shared_product(const source *s, kry_type type, uint64_t seed, double *y)
{
    const kry_share *A = s->share;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            y[i] += rounded(type, A->val[e]) * exact_at(type, seed, A->col[e]);
}

/* The parameters of a box as a grid of its own, Neumann where it is cut off the whole. No problem's grid is periodic. */
static kry_stencil_params grid_of_box(const kry_stencil_params *whole, const kry_stencil_box *box)
{
    kry_stencil_params g = *whole;

    g.local = false;
    for (int a = 0; a < 3; a++) {
        g.blocks[a] = 0;
        if (box->first[a] > 0) g.low[a] = KRY_NEUMANN;
        if (box->first[a] + box->size[a] < whole->size[a]) g.high[a] = KRY_NEUMANN;
        if (whole->size[a]) g.size[a] = box->size[a];
    }
    return g;
}

/* The row of the whole grid at place k of a box of it, and the other way round. */
static int64_t row_of_box(const kry_stencil_params *g, const kry_stencil_box *box, int64_t k)
{
    const int64_t x = k % box->size[0], y = k / box->size[0] % box->size[1],
                  z = k / box->size[0] / box->size[1];
    return box->first[0] + x + g->size[0] * (box->first[1] + y + g->size[1] * (box->first[2] + z));
}

static int64_t place_in_box(const kry_stencil_params *g, const kry_stencil_box *box, int64_t row)
{
    const int64_t x = row % g->size[0], y = row / g->size[0] % g->size[1],
                  z = row / g->size[0] / g->size[1];
    return x - box->first[0] +
           box->size[0] * (y - box->first[1] + box->size[1] * (z - box->first[2]));
}

/* y = A x of this rank's part of a grid, for that x: from the cells around it, too, of which it has the coefficients. */
static kry_status grid_product(const source *s, const kry_vec *rows, kry_type type, uint64_t seed,
                               double *y)
{
    kry_status st = KRY_OK;
    const kry_stencil_params *whole = s->problem->grid;
    kry_stencil_box box;
    double *x = NULL, *product = NULL;

    TRY(kry_stencil_part(s->device, whole, &box));
    const kry_stencil_params g = grid_of_box(whole, &box);
    const int64_t n = box.size[0] * box.size[1] * box.size[2];
    TRY(allocate((size_t)n, sizeof *x, &x));
    TRY(allocate((size_t)n, sizeof *product, &product));
    for (int64_t k = 0; k < n; k++) x[k] = exact_at(type, seed, row_of_box(whole, &box, k));
    TRY(kry_stencil_apply_host(&g, type, x, product));
    for (int64_t i = 0; i < kry_vec_rows_here(rows, NULL); i++)
        y[i] = product[place_in_box(whole, &box, kry_vec_row(rows, i))];
done:
    free(product);
    free(x);
    return ranks_agree(st);
}

static int64_t row_at(const kry_vec *rows, int64_t i) { return rows ? kry_vec_row(rows, i) : i; }

/* b := A x for a random x in [0, 1), rounded to the type of the device's numbers. */
static kry_status manufacture(const source *s, const kry_vec *rows, kry_type type, uint64_t seed,
                              rhs *r)
{
    kry_status st = KRY_OK;
    const int64_t n = rows ? kry_vec_rows_here(rows, NULL) : s->cols;
    TRY(ranks_agree(allocate((size_t)n, sizeof(double), &r->made_exact)));
    r->exact = r->made_exact;
    for (int64_t i = 0; i < n; i++) r->made_exact[i] = exact_at(type, seed, row_at(rows, i));
    centre(s, type, r->made_exact);
    if (s->share)
        shared_product(s, type, seed, r->made_b);
    else if (rows)
        TRY(grid_product(s, rows, type, seed, r->made_b));
    else
        TRY(host_product(s, type, r->exact, r->made_b));
done:
    return st;
}

/* The problem's own. */
static kry_status take_problem(const kry_problem *p, const kry_vec *rows, rhs *r)
{
    kry_status st = KRY_OK;

    r->b = p->rhs, r->exact = p->solution;
    if (!rows) return KRY_OK;
    const size_t here = (size_t)kry_vec_rows_here(rows, NULL);
    TRY(allocate(here, sizeof *r->made_b, &r->made_b));
    if (p->solved) TRY(allocate(here, sizeof *r->made_exact, &r->made_exact));
    TRY(kry_problem_rows(p, rows, r->made_b, r->made_exact));
    r->b = r->made_b, r->exact = r->made_exact;
done:
    return ranks_agree(st);
}

kry_status rhs_make(const source *s, const kry_vec *rows, kry_type type, const char *word,
                    uint64_t seed, rhs *r)
{
    kry_status st = KRY_OK;
    const int64_t n = rows ? kry_vec_rows_here(rows, NULL) : s->here;
    *r = (rhs){ .columns = 1 };
    if (!word) return take_problem(s->problem, rows, r);
    bool made = !strcmp(word, "manufactured") || !strcmp(word, "random") || !strcmp(word, "ones");
    if (made)
        TRY(ranks_agree(allocate((size_t)n, sizeof(double), &r->made_b)));
    else if (rows)
        TRY(read_shared_vectors(word, s, &r->columns, &r->made_b));
    else
        TRY(read_vectors(word, s, &r->columns, &r->made_b));
    r->b = r->made_b;
    if (!strcmp(word, "manufactured"))
        TRY(manufacture(s, rows, type, seed, r));
    else if (!strcmp(word, "random"))
        for (int64_t i = 0; i < n; i++)
            r->made_b[i] = 2 * kry_random_unit(seed, STREAM_RHS, (uint64_t)row_at(rows, i)) - 1;
    else if (!strcmp(word, "ones"))
        for (int64_t i = 0; i < n; i++) r->made_b[i] = 1;
    if (!strcmp(word, "random")) centre(s, type, r->made_b);
    for (int64_t i = 0; i < n * r->columns && s->negated && !r->exact; i++)
        r->made_b[i] = -r->made_b[i];
done:
    return st;
}

static kry_status read_behind(const source *s, const kry_vec *rows, rhs *r, bool *found)
{
    kry_status st = KRY_OK;
    const int64_t n = rows ? kry_vec_rows_here(rows, NULL) : s->here;
    kry_mtx *mtx = NULL;

    TRY(kry_petsc_read_rhs(s->file, &mtx));
    *found = mtx != NULL;
    if (!mtx) goto done;
    CHECK(
        mtx->rows == s->rows, KRY_ERR_SHAPE,
        "%s: the vector behind the matrix has %lld numbers, and the matrix %lld rows: --rhs takes "
        "another right-hand side",
        s->name, (long long)mtx->rows, (long long)s->rows);
    *r = (rhs){ .columns = 1 };
    TRY(allocate((size_t)n, sizeof *r->made_b, &r->made_b));
    for (int64_t i = 0; i < n; i++)
        r->made_b[i] = (s->negated ? -1 : 1) * mtx->val[row_at(rows, i)];
    r->b = r->made_b;
done:
    kry_mtx_release(&mtx);
    return st;
}

kry_status rhs_behind(const source *s, const kry_vec *rows, rhs *r, bool *found)
{
    *found = false;
    return s->file ? ranks_agree(read_behind(s, rows, r, found)) : KRY_OK;
}

void rhs_release(rhs *r)
{
    free(r->made_b);
    free(r->made_exact);
    *r = (rhs){ 0 };
}
