/* auto_choices.c - which solvers suit a matrix, by a look at its entries and by what they are expected to cost.
 * docs/choosing.md has the rules. */
#include "krylov/auto_choices.h"
#include "grid/stencil.h"
#include "krylov/auto_precond.h"
#include "krylov/direct.h"
#include "matrix/matrix.h"
#include "precond/factor.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_solver_create";

/* A pass over the entries finds these. */
typedef struct survey {
    int64_t rows, nnz, bandwidth; /* the latter: the largest |i - j| */
    bool symmetric, positive;     /* positive: so are all diagonal entries */
    bool zero_on_diagonal;
    bool dominant; /* no row's couplings add up to more than its diagonal entry, */
    bool m_matrix; /* and none is positive */
    /* Far couplings carry one way rather than the other, over more than 60 bandwidths: strong convection across many lines of
     * a grid. Only of a dominant diagonal. */
    bool convective;
    /* Approximate ideal restriction pays: its iterations do not grow, but its set-up takes CPUs as long as some hundred with
     * incomplete factors, and fewer are enough in space, and for few unknowns in the plane. GPUs are slow at these factors:
     * on an H200 it took 0.4 to 0.7 of the time from 36^3 unknowns on, 0.8 of it for 300^2. */
    bool many;
    double ratio;      /* of a row's couplings to its diagonal entry, at most */
    double iterations; /* of the method to begin with: an estimate */
    bool easy;         /* it is known not to be more */
    double direct;     /* seconds of the direct solver; infinite: not known, or there is none */
} survey;

/* ---- the pass -------------------------------------------------------------------------------- */

static void survey_row(const kryi_csr *A, int64_t i, survey *s)
{
    const double *val = A->val;
    double diagonal = 0, others = 0;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t distance = llabs(A->col[e] - i);
        if (distance > s->bandwidth) s->bandwidth = distance;
        if (distance == 0)
            diagonal = val[e];
        else
            others += fabs(val[e]), s->m_matrix &= val[e] <= 0;
    }
    s->zero_on_diagonal |= diagonal == 0;
    s->dominant &= fabs(diagonal) >= others * (1 - 1e-8) && diagonal != 0;
    s->ratio = fmax(s->ratio, diagonal != 0 ? others / fabs(diagonal) : INFINITY);
}

/* sum |a_ij - a_ji| over sum |a_ij + a_ji| of the couplings over more than half of the bandwidth, which lead from block to
 * block: 0 of a symmetric matrix, 1 of a triangular one, and of upwind differences P / (2 + P) along a flow whose cells have
 * the Peclet number P. */
static double direction_of(const kryi_csr *A, int64_t bandwidth)
{
    const double *val = A->val;
    double skew = 0, symmetric = 0;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (2 * llabs(A->col[e] - i) <= bandwidth) continue;
            const int64_t m = kryi_csr_find(A, A->col[e], i);
            const double mirror = m >= 0 ? val[m] : 0;
            /* A place whose mirror has none is seen once, and counts twice. */
            const double times = m >= 0 ? 1 : 2;
            skew += times * fabs(val[e] - mirror), symmetric += times * fabs(val[e] + mirror);
        }
    return symmetric > 0 ? skew / symmetric : 0;
}

/* Whether a matrix is so large that `many` is true, for kernels of CPUs or of GPUs. */
static bool has_many_rows(const survey *s, bool cpu)
{
    enum {
        MANY = 200000,
        MANY_CONVECTIVE = 50000,
        MANY_ON_GPU = 40000,
        PLANE = 6,
        SPACE = 8 /* entries in a row */
    };
    if (!cpu) return s->rows >= MANY_ON_GPU && s->nnz <= SPACE * s->rows;
    return s->rows >= (s->convective ? MANY_CONVECTIVE : MANY) && s->nnz <= PLANE * s->rows;
}

static kry_status survey_rows(const kryi_csr *A, bool cpu, survey *s)
{
    kry_status st = KRY_OK;
    kryi_finding found;

    TRY(kryi_matrix_inspect(A, &found));
    *s = (survey){ .rows = A->rows,
                   .nnz = kryi_csr_nnz(A),
                   .symmetric = found.what != KRY_FOUND_ASYMMETRIC,
                   .positive = found.what == KRY_FOUND_NOTHING && !found.zero_rows,
                   .dominant = true,
                   .m_matrix = true,
                   .direct = INFINITY };
    for (int64_t i = 0; i < A->rows; i++) survey_row(A, i, s);
    s->convective = !s->symmetric && s->dominant && s->rows > 60 * s->bandwidth &&
                    direction_of(A, s->bandwidth) > 0.4;
    s->many = !s->symmetric && s->dominant && s->m_matrix && has_many_rows(s, cpu);
done:
    return st;
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Seconds of an iteration: launches, and the bytes of the matrix and of vectors. */
static double seconds_per_iteration(const kry_op *A, const survey *s, double products, double words)
{
    const bool cpu = A->dev->info.cpu_kernels;
    const double number = (double)kry_type_size(A->shape.type);
    const double matrix = (double)s->nnz * (number + 4), vector = (double)s->rows * number;
    const double launch = cpu ? 20e-6 : 4e-6;

    return (3 * products + 2) * launch +
           (products * matrix + words * vector) / kryi_device_bandwidth(A->dev);
}

/* The time that the iterative method to begin with should take. */
static double seconds_of_iterations(const kry_op *A, const survey *s)
{
    const double load =
        s->easy ? 0 : 0.05; /* the method's kernels, from the driver's cache: PoCL's 0.05 to 0.1 */
    const double factor = s->positive && !s->easy ? 1e-6 * (double)s->nnz : 0;
    const double products = s->positive || s->symmetric ? 1 : s->easy ? 2 : 6;

    return load + factor +
           s->iterations * seconds_per_iteration(A, s, products, products > 1 ? 22 : 12);
}

/* How many iterations a matrix needs that is neither positive definite nor dominated by its diagonal nobody knows
 * before. With a dominant diagonal Jacobi's iteration takes about 18 / (1 - ratio), and Krylov methods the root of
 * that, more or less. */
static kry_status predict_iterations(const kry_op *A, const kryi_csr *rows, survey *s)
{
    kry_status st = KRY_OK;
    kryi_csr copy = { 0 };
    const double few = 50;

    s->iterations = s->symmetric ? fmin((double)s->rows, 1000) : 100;
    if (s->ratio < 0.99) s->iterations = 10 / sqrt(1 - s->ratio);
    if (s->positive) {
        TRY(kryi_csr_copy(rows, &copy)); /* which is made symmetric to the bit */
        TRY(kryi_precond_predict(A, &copy, &s->iterations));
    }
    s->easy = s->positive ? s->iterations <= few : s->ratio < 0.99;
done:
    kryi_csr_release(&copy);
    return st;
}

/* Seconds of the factors, their ordering included, and of two solves with them. */
static double seconds_of_factors(const survey *s, const kryi_factor_cost *cost)
{
    const double entry = s->positive ? 2.5e-7 : 6e-7, byte = 2e-9;

    return 1e-3 + (double)s->nnz * entry + cost->seconds + cost->bytes * byte;
}

static kryi_factor_kind kind_of(const survey *s)
{
    return s->positive    ? KRY_FACTOR_POSITIVE
           : s->symmetric ? KRY_FACTOR_SYMMETRIC
                          : KRY_FACTOR_GENERAL;
}

/* The ordering of the direct solver says what its factors cost; but it takes longer than a few iterations. rows: A's
 * entries, pinned here as the direct solver does. */
static kry_status predict_direct(const kry_op *A, kryi_csr *rows, survey *s, kryi_factor *F)
{
    enum { MOST = 3000000 }; /* entries: a second or so */
    kry_status st = KRY_OK;
    const kryi_factor_cost nothing = { 0, 0 };

    if (s->nnz > MOST || (s->easy && seconds_of_iterations(A, s) < seconds_of_factors(s, &nothing)))
        return KRY_OK;
    TRY(kryi_direct_pin(A, rows));
    st = kryi_factor_analyse(who, rows, F);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK; /* no SuiteSparse */
    TRY(st);
    s->direct = seconds_of_factors(s, &F->cost);
done:
    return st;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void add(kryi_choices *list, const char *method, const char *precond, double seconds)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->choice[i].method, method) && !strcmp(list->choice[i].precond, precond))
            return;
    if (list->count < KRY_CHOICES)
        list->choice[list->count++] = (kryi_choice){ method, precond, seconds, 0 };
}

/* The preconditioner of a general matrix. One block of all rows is for one core, but there are matrices that blocks do not do for; and what
 * strong convection carries from block to block costs two to six times as many iterations. */
static const char *factors_for(const kry_op *A, const survey *s)
{
    if (s->easy) return "jacobi";
    return A->dev->info.cpu_kernels && (!s->dominant || s->convective) ? "ilu0" : "block-ilu";
}

/* The direct solver stands second, and comes first where it is no slower than iterations should be. */
static void list_all(const kry_op *A, const survey *s, const char *precond, bool direct,
                     kryi_choices *list)
{
    enum { FULL = 128 }; /* rows: GMRES that is never begun anew ends after as many steps */
    const double iterations = seconds_of_iterations(A, s);
    const char *general = precond ? precond : factors_for(A, s);

    direct = direct && kryi_factor_offered(kind_of(s));
    if (direct && s->direct <= iterations) add(list, "direct", "none", s->direct);
    if (s->positive)
        add(list, "pcg", precond ? precond : "auto", iterations);
    else if (s->symmetric && s->zero_on_diagonal && !precond)
        add(list, "gmres:60", "saddle:upper", iterations);
    else if (s->symmetric)
        add(list, "minres", precond ? precond : "none", iterations);
    else if (!precond && s->many && !s->easy)
        add(list, "gmres:60", "amg", iterations);
    else
        add(list, "bicgstab:2", general, iterations);
    if (direct) add(list, "direct", "none", s->direct);
    if (s->positive && !precond) add(list, "pcg", "jacobi", INFINITY);
    if (s->positive || (s->symmetric && !precond)) add(list, "minres", "none", INFINITY);
    /* Incomplete factors and Jacobi's preconditioner refuse a zero on the diagonal. */
    const bool plain = s->zero_on_diagonal && !precond;
    if (!s->positive) add(list, "bicgstab:2", plain ? "none" : general, INFINITY);
    add(list, s->rows <= FULL ? "gmres:128" : "gmres:60", plain ? "none" : general, INFINITY);
    add(list, "idr:4", plain ? "none" : precond ? precond : "jacobi", INFINITY);
    if (!precond) add(list, "lsmr", "columns", INFINITY);
}

/* Conjugate gradients' residual stays where it is for long if the condition is large, and then falls fast; no method
 * behind them is faster, but for the direct solver, whose seconds count by themselves. So they are given up early for
 * their like alone. */
static void set_patience(kryi_choices *list, int64_t rows)
{
    bool like = false; /* conjugate gradients follow */

    for (int i = list->count - 1; i >= 0; i--) {
        kryi_choice *c = &list->choice[i];
        const bool cg = !strcmp(c->method, "pcg");
        c->patience = !cg    ? fmin(50 + (double)rows / 20, 1000)
                      : like ? fmin(50 + (double)rows / 4, 5000)
                             : INFINITY;
        like |= cg;
    }
}

static void describe(const kry_op *A, const survey *s, kryi_choices *list)
{
    const kryi_null_found *found = &A->null_found;
    char parts[64] = "", empty[64] = "";

    if (found->parts)
        snprintf(parts, sizeof parts, ", rows of %lld part%s add up to zero",
                 (long long)found->parts, found->parts > 1 ? "s" : "");
    if (found->empty)
        snprintf(empty, sizeof empty, ", %lld empty row%s", (long long)found->empty,
                 found->empty > 1 ? "s" : "");
    snprintf(list->why, sizeof list->why, "%s%s%s, bandwidth %lld%s%s",
             s->symmetric ? "symmetric" : "not symmetric",
             s->positive           ? " with a positive diagonal"
             : s->zero_on_diagonal ? ", zeros on the diagonal"
             : s->symmetric        ? " and indefinite"
                                   : "",
             s->m_matrix && s->positive ? ", an M-matrix"
             : s->convective            ? ", diagonally dominant, convective"
             : s->dominant              ? ", diagonally dominant"
                                        : "",
             (long long)s->bandwidth, parts, empty);
}

/* Without entries: by what is promised of A. */
static void list_by_traits(const kry_op *A, const char *precond, kryi_choices *list)
{
    const bool grid = kryi_stencil_here(A) != NULL;
    const unsigned traits = A->shape.traits;
    const bool seen = A->found.what == KRY_FOUND_NOTHING && A->inspected;

    snprintf(list->why, sizeof list->why, "%s",
             grid                            ? "a grid"
             : seen || traits & KRY_POSITIVE ? "positive definite, as far as is known"
             : traits & KRY_SYMMETRIC        ? "symmetric, as far as is known"
                                             : "not known to be symmetric");
    if (grid || seen || traits & KRY_POSITIVE)
        add(list, "pcg", precond ? precond : "auto", INFINITY);
    else if (traits & KRY_SYMMETRIC)
        add(list, "minres", precond ? precond : "none", INFINITY);
    else
        add(list, "bicgstab:2", precond ? precond : "none", INFINITY);
    add(list, "gmres:60", precond ? precond : "none", INFINITY);
}

static bool has_entries(const kry_op *A)
{
    return !A->dev->team && kryi_matrix_of(A) && A->shape.rows > 0;
}

kry_status kryi_choices_list(const kry_op *A, const char *precond, bool direct, kryi_choices *list)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    survey s;

    *list = (kryi_choices){ 0 };
    if (!has_entries(A)) {
        list_by_traits(A, precond, list);
        goto done;
    }
    TRY(kryi_rows_read(who, A, &rows));
    TRY(survey_rows(&rows, A->dev->info.cpu_kernels, &s));
    TRY(predict_iterations(A, &rows, &s));
    if (direct) TRY(predict_direct(A, &rows, &s, &list->factor));
    list_all(A, &s, precond, direct, list);
    describe(A, &s, list);
done:
    set_patience(list, A->shape.rows);
    kryi_csr_release(&rows);
    return st;
}

void kryi_choices_release(kryi_choices *list)
{
    kryi_factor_release(&list->factor);
    *list = (kryi_choices){ 0 };
}
