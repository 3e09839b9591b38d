/* classical.c - classical coarsening as a coarsener of algebraic multigrid. */
#include "amg/classical.h"
#include "amg/amg.h"
#include "amg/amg_device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kryi_couplings kryi_amg_couplings(const kryi_csr *A)
{
    const double *a = A->val;
    kryi_couplings c = { 0 };

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (A->col[e] == i) continue;
            if (a[e] > 0)
                c.positive += a[e];
            else
                c.negative -= a[e];
        }
    return c;
}

/* What does not change with the numbers of A. */
typedef struct classical {
    kryi_csr S;
    char *point;     /* n */
    kryi_csr places; /* of P: no numbers */
} classical;

static void classical_destroy(void *kept)
{
    classical *k = kept;
    if (!k) return;
    kryi_csr_release(&k->places);
    kryi_csr_release(&k->S);
    free(k->point);
    free(k);
}

/* The near null space of the coarser level is what the finer one has at C points. */
static void restrict_vectors(kryi_coarsen *c, const char *point, int64_t n)
{
    const size_t m = (size_t)c->vectors;
    double *B = c->near_null_space, *to = B;

    for (int64_t i = 0; i < n; i++) {
        if (point[i] != KRY_POINT_C) continue;
        memmove(to, B + (size_t)i * m, m * sizeof *B);
        to += m;
    }
    c->block = 1;
}

/* ---- strength -------------------------------------------------------------------------------- */

/* The strong couplings of A. least: the smallest -a_ij of a row that is strong; infinite if none is. */
typedef struct strength {
    const kryi_csr *A;
    double theta, *least;
    kryi_csr *S;
} strength;

static double threshold(const kryi_csr *A, int64_t i, double theta)
{
    const double dominant = 0.1; /* relaxation reduces the error of such a row tenfold */
    const double *a = A->val;
    double diagonal = 0, sum = 0, most = 0;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        if (A->col[e] == i) {
            diagonal = a[e];
        } else {
            sum += fabs(a[e]);
            most = -a[e] > most ? -a[e] : most;
        }
    }
    return most > 0 && sum >= dominant * diagonal ? fmax(theta, 0) * most : (double)INFINITY;
}

static void find_thresholds(void *user, int part, int64_t begin, int64_t end)
{
    const strength *s = user;

    (void)part;
    for (int64_t i = begin; i < end; i++) s->least[i] = threshold(s->A, i, s->theta);
}

/* Whether entry e of row i is strong. The diagonal is positive. */
static bool is_strong(const strength *s, int64_t i, int64_t e)
{
    const double a = ((const double *)s->A->val)[e];
    return (a < 0) & (-a >= s->least[i]) & !isinf(s->least[s->A->col[e]]);
}

static void count_strong(void *user, int part, int64_t begin, int64_t end)
{
    const strength *s = user;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t count = 0;
        for (int64_t e = s->A->row_ptr[i]; e < s->A->row_ptr[i + 1]; e++)
            count += is_strong(s, i, e);
        s->S->row_ptr[i + 1] = count;
    }
}

static void list_strong(void *user, int part, int64_t begin, int64_t end)
{
    const strength *s = user;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = s->S->row_ptr[i];
        for (int64_t e = s->A->row_ptr[i]; e < s->A->row_ptr[i + 1]; e++)
            if (is_strong(s, i, e)) s->S->col[at++] = s->A->col[e];
    }
}

kry_status kryi_classical_strength(const kryi_csr *A, double theta, kryi_csr *S)
{
    kry_status st = KRY_OK;
    const int64_t n = A->rows;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    strength s = { .A = A, .theta = theta, .S = S };

    *S = (kryi_csr){ .rows = n, .cols = n, .type = KRY_F64 };
    TRY(kryi_alloc((size_t)n, sizeof *s.least, &s.least));
    TRY(kryi_alloc((size_t)n + 1, sizeof *S->row_ptr, &S->row_ptr));
    kryi_parallel(parts, n, find_thresholds, &s);
    kryi_parallel(parts, n, count_strong, &s);
    for (int64_t i = 0; i < n; i++) S->row_ptr[i + 1] += S->row_ptr[i];
    TRY(kryi_alloc((size_t)kryi_csr_nnz(S), sizeof *S->col, &S->col));
    kryi_parallel(parts, n, list_strong, &s);
done:
    free(s.least);
    if (st < 0) kryi_csr_release(S);
    return st;
}

/* ---- independent set ------------------------------------------------------------------------- */

/* rank[i] := how many depend on i, and below that a number that no other unknown has. An unknown on which
 * none depends, but that depends on others, is an F point. Returns how many are open, and which. */
static int64_t rank_points(const kryi_csr *S, uint64_t *rank, char *point, int32_t *open)
{
    int64_t left = 0;

    for (int64_t e = 0; e < kryi_csr_nnz(S); e++) rank[S->col[e]]++;
    for (int64_t i = 0; i < S->rows; i++) {
        if (kryi_row_length(S, i) == 0)
            point[i] = KRY_POINT_ALONE;
        else if (rank[i] == 0)
            point[i] = KRY_POINT_F;
        else
            open[left++] = (int32_t)i, point[i] = KRY_POINT_OPEN;
        rank[i] = rank[i] << 32 | kryi_scramble((uint32_t)i);
    }
    return left;
}

/* beaten[i] := whether an open point to which i is coupled, in either direction, has a larger rank. */
static void compare(const kryi_csr *S, const uint64_t *rank, const char *point, const int32_t *open,
                    int64_t left, bool *beaten)
{
    for (int64_t k = 0; k < left; k++) beaten[open[k]] = false;
    for (int64_t k = 0; k < left; k++) {
        const int32_t i = open[k];
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++) {
            const int32_t j = S->col[e];
            if (point[j] == KRY_POINT_OPEN) beaten[rank[i] > rank[j] ? j : i] = true;
        }
    }
}

static bool depends_on_c(const kryi_csr *S, const char *point, int64_t i)
{
    for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
        if (point[S->col[e]] == KRY_POINT_C) return true;
    return false;
}

/* One round, as a processor for each point would do it. Returns how many points are still open. */
static int64_t decide(const kryi_csr *S, const uint64_t *rank, char *point, int32_t *open,
                      int64_t left, bool *beaten)
{
    int64_t still = 0;

    compare(S, rank, point, open, left, beaten);
    for (int64_t k = 0; k < left; k++)
        if (!beaten[open[k]]) point[open[k]] = KRY_POINT_C;
    for (int64_t k = 0; k < left; k++) {
        const int32_t i = open[k];
        if (point[i] == KRY_POINT_C) continue;
        if (depends_on_c(S, point, i))
            point[i] = KRY_POINT_F;
        else
            open[still++] = i;
    }
    return still;
}

kry_status kryi_pmis(const kryi_csr *S, char *point, int64_t *count)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)S->rows;
    uint64_t *rank = NULL;
    int32_t *open = NULL;
    bool *beaten = NULL;

    *count = 0;
    TRY(kryi_alloc(n, sizeof *rank, &rank));
    TRY(kryi_alloc(n, sizeof *open, &open));
    TRY(kryi_alloc(n, sizeof *beaten, &beaten));
    for (int64_t left = rank_points(S, rank, point, open); left > 0;)
        left = decide(S, rank, point, open, left, beaten);
    for (size_t i = 0; i < n; i++) *count += point[i] == KRY_POINT_C;
done:
    free(beaten);
    free(open);
    free(rank);
    return st;
}

/* ---- the coarsener --------------------------------------------------------------------------- */

static kry_status classical_create(kryi_coarsen *c, const kryi_csr *A, kryi_csr *P, void **kept)
{
    kry_status st = KRY_OK;
    classical *k = NULL;
    int64_t count;

    *P = (kryi_csr){ 0 };
    TRY(kryi_alloc(1, sizeof *k, &k));
    TRY(kryi_alloc((size_t)A->rows, 1, &k->point));
    TRY(kryi_classical_strength(A, c->strength, &k->S));
    TRY(kryi_pmis(&k->S, k->point, &count));
    TRY(kryi_interpolate(A, &k->S, k->point, P));
    TRY(kryi_csr_copy_pattern(P, &k->places));
    restrict_vectors(c, k->point, A->rows);
    *kept = k, k = NULL;
done:
    classical_destroy(k);
    if (st < 0) kryi_csr_release(P);
    return st;
}

static kry_status classical_update(const kryi_csr *A, void *kept, kryi_csr *P)
{
    kry_status st = KRY_OK;
    const classical *k = kept;

    TRY(kryi_csr_copy_pattern(&k->places, P));
    TRY(kryi_interpolate(A, &k->S, k->point, P));
done:
    if (st < 0) kryi_csr_release(P);
    return st;
}

const kryi_coarsener kryi_classical_coarsening = {
    .name = "classical coarsening",
    .on_device = &kryi_device_classical,
    .create = classical_create,
    .update = classical_update,
    .destroy = classical_destroy,
};
