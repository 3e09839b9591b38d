/* tridiagonal.c - many tridiagonal or pentadiagonal systems at once: checks, and what is done in
 * turn. Kernels: cl/tridiagonal.cl, cl/banded.cl. */
#include "dense/batch.h"
#include <limits.h>

static const char *const names3[] = { "lower", "diagonal", "upper" };
static const char *const names5[] = { "far_lower", "lower", "diagonal", "upper", "far_upper" };

static const char *name_of(int band, int which)
{
    if (which == 2 * band + 1) return "b";
    return band == 1 ? names3[which] : names5[which];
}

/* ---- checks ---------------------------------------------------------------------------- */

static kry_status check_params(const char *who, int band, const kry_tridiagonal_params *given,
                               kry_tridiagonal_params *params)
{
    kry_status st = KRY_OK;

    *params = given ? *given : (kry_tridiagonal_params){ .struct_size = sizeof *params };
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "%s: struct_size is %zu instead of %zu; use KRY_TRIDIAGONAL()", who, params->struct_size,
          sizeof *params);
    CHECK(params->layout >= KRY_SYSTEMS_COLUMNS && params->layout <= KRY_SYSTEMS_STRIDED,
          KRY_ERR_ARGUMENT, "%s: %d is not a layout", who, (int)params->layout);
    CHECK(params->pivoting >= KRY_SYSTEMS_PIVOT_AUTO &&
              params->pivoting <= KRY_SYSTEMS_PIVOT_ALWAYS,
          KRY_ERR_ARGUMENT, "%s: %d is not a way to pivot", who, (int)params->pivoting);
    CHECK(params->chunk == 0 || params->chunk == 8 || params->chunk == 16, KRY_ERR_ARGUMENT,
          "%s: chunk is %d; it may be 8 or 16", who, params->chunk);
    CHECK(!params->unchecked || band == 1, KRY_ERR_ARGUMENT,
          "%s: pentadiagonal systems are always checked", who);
    bool strided = params->layout == KRY_SYSTEMS_STRIDED;
    CHECK(
        strided || (!params->n && !params->systems && !params->equation_stride &&
                    !params->system_stride && !params->one_matrix),
        KRY_ERR_ARGUMENT,
        "%s: n, systems, strides and one_matrix are for KRY_SYSTEMS_STRIDED; otherwise the shapes "
        "of the vectors say it",
        who);
done:
    return st;
}

/* All there, of one type, on one device, and x for itself. */
static kry_status check_vectors(const batch *B, const kry_vec *const *diagonal, const kry_vec *b,
                                const kry_vec *x)
{
    kry_status st = KRY_OK;
    const int count = 2 * B->band + 1;

    CHECK(b && x, KRY_ERR_ARGUMENT, "%s: NULL", B->who);
    for (int i = 0; i <= count; i++) {
        const kry_vec *v = i < count ? diagonal[i] : b;
        const char *name = name_of(B->band, i);
        CHECK(v, KRY_ERR_ARGUMENT, "%s: %s is NULL", B->who, name);
        CHECK(v->dev == x->dev, KRY_ERR_ARGUMENT, "%s: %s and x live on different devices", B->who,
              name);
        CHECK(v->type == x->type, KRY_ERR_TYPE, "%s: %s is %s, x is %s", B->who, name,
              kry_type_name(v->type), kry_type_name(x->type));
        CHECK(!x->split, KRY_ERR_UNSUPPORTED, "%s: this cannot be done on several devices yet",
              B->who);
        TRY(kry_vec_check_packed(B->who, name, v));
        bool same = i == count && v->first == x->first && v->n * v->k == x->n * x->k;
        CHECK(same || !kry_vec_overlap(v, x), KRY_ERR_ARGUMENT, "%s: x overlaps %s", B->who, name);
    }
    TRY(kry_vec_check_packed(B->who, "x", x));
    CHECK(b->n == x->n && b->k == x->k, KRY_ERR_SHAPE, "%s: b is %lld-by-%lld, x is %lld-by-%lld",
          B->who, (long long)b->n, (long long)b->k, (long long)x->n, (long long)x->k);
done:
    return st;
}

static kry_status check_strides(const batch *B, int64_t numbers)
{
    kry_status st = KRY_OK;
    int64_t n = B->n, systems = B->systems, row = B->row, system = B->system;

    bool positive = (n < 2 || row >= 1) && (systems < 2 || system >= 1);
    CHECK(n >= 0 && systems >= 0 && (positive || n == 0 || systems == 0), KRY_ERR_ARGUMENT,
          "%s: %lld systems of %lld equations with strides %lld and %lld: sizes must not be "
          "negative, strides positive",
          B->who, (long long)systems, (long long)n, (long long)system, (long long)row);
    if (n == 0 || systems == 0) goto done;
    bool fits = (n < 2 || row <= (numbers - 1) / (n - 1)) &&
                (systems < 2 || system <= (numbers - 1) / (systems - 1));
    CHECK(fits && (n - 1) * row + (systems - 1) * system < numbers, KRY_ERR_SHAPE,
          "%s: %lld systems of %lld equations with strides %lld and %lld do not fit in the %lld "
          "numbers of b",
          B->who, (long long)systems, (long long)n, (long long)system, (long long)row,
          (long long)numbers);
    CHECK(n == 1 || systems == 1 || system > (n - 1) * row || row > (systems - 1) * system,
          KRY_ERR_ARGUMENT, "%s: with strides %lld and %lld systems share numbers", B->who,
          (long long)system, (long long)row);
done:
    return st;
}

/* n, systems and the strides of b and x */
static kry_status take_layout(batch *B, const kry_vec *b)
{
    const kry_tridiagonal_params *p = &B->params;
    bool side_by_side = p->layout == KRY_SYSTEMS_INTERLEAVED;

    B->n = side_by_side ? b->k : b->n;
    B->systems = side_by_side ? b->n : b->k;
    B->row = side_by_side ? b->n : 1;
    B->system = side_by_side ? 1 : b->n;
    if (p->layout == KRY_SYSTEMS_STRIDED) {
        B->n = p->n, B->systems = p->systems;
        B->row = p->equation_stride, B->system = p->system_stride;
    }
    return check_strides(B, b->n * b->k);
}

/* Each diagonal has the shape of b, or holds one system. */
static kry_status take_diagonals(batch *B, const kry_vec *const *diagonal, const kry_vec *b)
{
    kry_status st = KRY_OK;
    const kry_vec *first = diagonal[0];
    bool strided = B->params.layout == KRY_SYSTEMS_STRIDED;
    bool alike = first->n == b->n && first->k == b->k;
    bool one = strided ? B->params.one_matrix : !alike && first->n * first->k == B->n;

    B->m_row = one ? 1 : B->row;
    B->m_system = one ? 0 : B->system;
    for (int i = 0; i < 2 * B->band + 1; i++) {
        const kry_vec *v = diagonal[i];
        bool column = v->n == B->n && v->k == 1;
        bool line = v->n == 1 && v->k == B->n && B->params.layout == KRY_SYSTEMS_INTERLEAVED;
        bool fits = strided ? v->n * v->k >= (one ? B->n : b->n * b->k)
                    : one   ? column || line
                            : v->n == b->n && v->k == b->k;
        CHECK(fits, KRY_ERR_SHAPE,
              "%s: %s is %lld-by-%lld; b is %lld-by-%lld, %lld systems of %lld equations", B->who,
              name_of(B->band, i), (long long)v->n, (long long)v->k, (long long)b->n,
              (long long)b->k, (long long)B->systems, (long long)B->n);
        B->diagonal[i] = (batch_array){ v->buffer, v->first };
    }
    CHECK(B->systems < INT_MAX, KRY_ERR_UNSUPPORTED, "%s: %lld systems are too many", B->who,
          (long long)B->systems);
done:
    return st;
}

static kry_status take(batch *B, const kry_tridiagonal_params *params,
                       const kry_vec *const *diagonal, const kry_vec *b, const kry_vec *x)
{
    kry_status st = KRY_OK;

    TRY(check_params(B->who, B->band, params, &B->params));
    TRY(check_vectors(B, diagonal, b, x));
    B->dev = x->dev, B->type = x->type, B->periodic = B->params.periodic;
    TRY(take_layout(B, b));
    TRY(take_diagonals(B, diagonal, b));
    B->b = (batch_array){ b->buffer, b->first };
    B->x = (batch_array){ x->buffer, x->first };
    B->in_place = b->buffer == x->buffer && b->first == x->first;
done:
    return st;
}

/* ---- what went wrong ------------------------------------------------------------------- */

/* The first system that was not solved, and others like it. */
static kry_status name_bad(const batch *B, const cl_int found[BATCH_LIST],
                           kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_long state = 0;
    long long s = found[BATCH_FIRST_BAD], others = found[BATCH_BAD] - 1;

    report->singular = found[BATCH_BAD];
    report->system = s;
    const size_t states = (BATCH_LIST + 2 * (size_t)B->marks->room) * sizeof(cl_int);
    TRY(kry_buffer_read(B->dev, B->marks->found, states + (size_t)s * sizeof state, sizeof state,
                        &state));
    int64_t place = state < 0 ? -1 - state : state;
    report->equation = state < 0 ? place / 8 : place;
    CHECK(state >= 0, KRY_ERR_ARGUMENT,
          "%s: %s is not a finite number at equation %lld of system %lld; %lld other systems were "
          "not solved either",
          B->who, name_of(B->band, (int)(place % 8)), (long long)report->equation, s, others);
    CHECK(false, KRY_ERR_SINGULAR,
          "%s: system %lld is singular: no pivot at equation %lld; %lld other systems were not "
          "solved either",
          B->who, s, (long long)report->equation, others);
done:
    return st;
}

static kry_status solve(batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_int found[BATCH_LIST] = { 0 };
    kry_systems_pivoting pivoting = B->params.pivoting;
    bool all = B->band > 1 || (pivoting == KRY_SYSTEMS_PIVOT_ALWAYS && !B->params.unchecked);

    if (B->n == 0 || B->systems == 0) goto done;
    TRY(batch_marks_reserve(B->dev, B->systems, &B->marks));
    B->marks->dirty = !B->params.unchecked; /* until the marks have been read */
    if (!all) {
        TRY(batch_solve_levels(B));
        if (B->params.unchecked) goto done;
        TRY(batch_marks_read(B->dev, B->marks, found));
    }
    int64_t count = all ? B->systems : found[BATCH_MARKED];
    bool pivots = B->band > 1 || pivoting != KRY_SYSTEMS_PIVOT_NEVER;
    if (count == 0) goto done;
    TRY(batch_solve_pivoting(B, count, !all, pivots));
    TRY(batch_marks_read(B->dev, B->marks, found));
    report->pivoted = pivots ? count - found[BATCH_BAD] : 0;
    if (found[BATCH_BAD]) TRY(name_bad(B, found, report));
done:
    kry_room_trim(B->dev);
    return st;
}

static kry_status take_and_solve(batch *B, const kry_tridiagonal_params *params,
                                 const kry_vec *const *diagonal, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_systems_report report = { .system = -1, .equation = -1 };

    TRY(take(B, params, diagonal, b, x));
    st = solve(B, &report);
    if (B->params.report) *B->params.report = report;
done:
    return st;
}

kry_status kry_tridiagonal_solve(const kry_tridiagonal_params *params, const kry_vec *lower,
                                 const kry_vec *diagonal, const kry_vec *upper, const kry_vec *b,
                                 kry_vec *x)
{
    batch B = { .who = "kry_tridiagonal_solve", .band = 1 };
    return take_and_solve(&B, params, (const kry_vec *[]){ lower, diagonal, upper }, b, x);
}

kry_status kry_tridiagonal_bytes(const kry_tridiagonal_params *params, const kry_vec *lower,
                                 const kry_vec *diagonal, const kry_vec *upper, const kry_vec *b,
                                 const kry_vec *x, double *bytes)
{
    kry_status st = KRY_OK;
    batch B = { .who = "kry_tridiagonal_bytes", .band = 1 };

    *bytes = 0;
    TRY(take(&B, params, (const kry_vec *[]){ lower, diagonal, upper }, b, x));
    double words = B.periodic ? 17 : 13; /* with pivoting: see kry_tridiagonal_solve */
    bool pivots = B.params.pivoting == KRY_SYSTEMS_PIVOT_ALWAYS && !B.params.unchecked;
    *bytes = pivots ? words * (double)B.n * (double)B.systems * (double)kry_type_size(B.type)
                    : batch_levels_bytes(&B);
done:
    return st;
}

kry_status kry_pentadiagonal_solve(const kry_tridiagonal_params *params, const kry_vec *far_lower,
                                   const kry_vec *lower, const kry_vec *diagonal,
                                   const kry_vec *upper, const kry_vec *far_upper, const kry_vec *b,
                                   kry_vec *x)
{
    batch B = { .who = "kry_pentadiagonal_solve", .band = 2 };
    const kry_vec *diagonals[] = { far_lower, lower, diagonal, upper, far_upper };
    return take_and_solve(&B, params, diagonals, b, x);
}
