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
    kry_host_matrix_release(&A);
    return st;
}

/* Take the mean out of numbers that belong to a singular A, on each part that is: of b, so that a solution
 * exists; of an exact x, which is known but for constants. */
static void centre(const source *s, kry_type type, double *v)
{
    source_centre(s, v);
    for (int64_t i = 0; i < s->here && s->parts; i++) v[i] = rounded(type, v[i]);
}

/* Number i of the exact solution, before its mean is taken out. */
static double exact_at(kry_type type, uint64_t seed, int64_t i)
{
    return rounded(type, kry_random_unit(seed, STREAM_EXACT, (uint64_t)i));
}

/* y = A x of this rank's rows, for that x without its means, of which every rank can make every number. */
static void shared_product(const source *s, kry_type type, uint64_t seed, const double *mean,
                           double *y)
{
    const kry_share *A = s->share;

    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t p = s->parts ? s->part[i] : -1; /* that of all rows it is connected with */
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const double x = exact_at(type, seed, A->col[e]);
            y[i] += rounded(type, A->val[e]) * (p >= 0 ? rounded(type, x - mean[p]) : x);
        }
    }
}

/* b := A x for a random x in [0, 1), rounded to the type of the device's numbers. */
static kry_status manufacture(const source *s, kry_type type, uint64_t seed, rhs *r)
{
    kry_status st = KRY_OK;
    const int64_t n = s->share ? s->here : s->cols;
    double mean[NULL_PARTS_MOST];
    TRY(ranks_agree(allocate((size_t)n, sizeof(double), &r->made_exact)));
    r->exact = r->made_exact;
    for (int64_t i = 0; i < n; i++) r->made_exact[i] = exact_at(type, seed, s->first + i);
    if (s->share) source_means(s, r->made_exact, mean);
    centre(s, type, r->made_exact);
    if (s->share)
        shared_product(s, type, seed, mean, r->made_b);
    else
        TRY(host_product(s, type, r->exact, r->made_b));
done:
    return st;
}

kry_status rhs_make(const source *s, kry_type type, const char *word, uint64_t seed, rhs *r)
{
    kry_status st = KRY_OK;
    const int64_t n = s->here;
    *r = (rhs){ .columns = 1 };
    if (!word) {
        r->b = s->problem->rhs;
        r->exact = s->problem->solution;
        goto done;
    }
    bool made = !strcmp(word, "manufactured") || !strcmp(word, "random") || !strcmp(word, "ones");
    if (made)
        TRY(ranks_agree(allocate((size_t)n, sizeof(double), &r->made_b)));
    else if (s->share)
        TRY(read_shared_vectors(word, s, &r->columns, &r->made_b));
    else
        TRY(read_vectors(word, n, &r->columns, &r->made_b));
    r->b = r->made_b;
    if (!strcmp(word, "manufactured"))
        TRY(manufacture(s, type, seed, r));
    else if (!strcmp(word, "random"))
        for (int64_t i = 0; i < n; i++)
            r->made_b[i] = 2 * kry_random_unit(seed, STREAM_RHS, (uint64_t)(s->first + i)) - 1;
    else if (!strcmp(word, "ones"))
        for (int64_t i = 0; i < n; i++) r->made_b[i] = 1;
    if (!strcmp(word, "random")) centre(s, type, r->made_b);
    for (int64_t i = 0; i < n * r->columns && s->negated && !r->exact; i++)
        r->made_b[i] = -r->made_b[i];
done:
    return st;
}

static kry_status take_rows(const kry_vec *v, int64_t columns, const double *all, double **own)
{
    kry_status st = KRY_OK;
    const int64_t rows = kry_vec_rows_here(v, NULL), n = kry_vec_rows(v);

    TRY(allocate((size_t)(rows * columns), sizeof **own, own));
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) (*own)[j * rows + i] = all[j * n + kry_vec_row(v, i)];
done:
    return st;
}

kry_status rhs_take_rows(const kry_vec *v, const rhs *all, double **b, double **exact)
{
    kry_status st = KRY_OK;

    TRY(take_rows(v, all->columns, all->b, b));
    if (all->exact) TRY(take_rows(v, 1, all->exact, exact));
done:
    return st;
}

kry_status rhs_of_problem(const kry_problem *p, const kry_vec *v, double **b, double **exact)
{
    kry_status st = KRY_OK;
    const size_t rows = (size_t)kry_vec_rows_here(v, NULL);

    TRY(allocate(rows, sizeof **b, b));
    if (p->solved) TRY(allocate(rows, sizeof **exact, exact));
    TRY(kry_problem_rows(p, v, *b, *exact));
done:
    return st;
}

void rhs_release(rhs *r)
{
    free(r->made_b);
    free(r->made_exact);
    *r = (rhs){ 0 };
}
