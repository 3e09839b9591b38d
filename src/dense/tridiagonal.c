/* tridiagonal.c - many tridiagonal or pentadiagonal systems at once: checks of the arguments, and the steps of
 * a call. Kernels: cl/dense/tridiagonal.cl, cl/dense/banded.cl. */
#include "dense/batch.h"
#include <limits.h>

static const char *const names3[] = { "lower", "diagonal", "upper" };
static const char *const names5[] = { "far_lower", "lower", "diagonal", "upper", "far_upper" };

const char *kry_batch_name(int band, int which)
{
    if (which == 2 * band + 1) return "b";
    return band == 1 ? names3[which] : names5[which];
}

/* ---- checks ---------------------------------------------------------------------------- */

static kry_status check_params(const char *who, int band, const kry_tridiagonal_params *given,
                               kry_tridiagonal_params *params)
{
    kry_status st = KRY_OK;

    TRY(kry_params_take(who, "KRY_TRIDIAGONAL", given, params, sizeof *params));
    CHECK(params->layout >= KRY_SYSTEMS_COLUMNS && params->layout <= KRY_SYSTEMS_INTERLEAVED,
          KRY_ERR_ARGUMENT, "%s: %d is not a layout", who, (int)params->layout);
    CHECK(params->pivoting >= KRY_SYSTEMS_PIVOT_AUTO &&
              params->pivoting <= KRY_SYSTEMS_PIVOT_ALWAYS,
          KRY_ERR_ARGUMENT, "%s: %d is not a way to pivot", who, (int)params->pivoting);
    CHECK(params->chunk == 0 || params->chunk == 8 || params->chunk == 16, KRY_ERR_ARGUMENT,
          "%s: chunk is %d; it may be 8 or 16", who, params->chunk);
    CHECK(!params->unchecked || band == 1, KRY_ERR_ARGUMENT,
          "%s: pentadiagonal systems are always checked", who);
    CHECK(!params->later || band == 1, KRY_ERR_ARGUMENT,
          "%s: of pentadiagonal systems nothing is left for later", who);
    CHECK(!params->later || !params->unchecked, KRY_ERR_ARGUMENT,
          "%s: what is unchecked leaves no report for later", who);
    CHECK(!params->later || !params->report, KRY_ERR_ARGUMENT,
          "%s: the report that is left for later comes from kry_systems_check", who);
done:
    return st;
}

/* Vectors are not NULL, of one type and on one device; x overlaps no other, but may be b. */
static kry_status check_vectors(const batch *B, const kry_vec *const *diagonal, const kry_vec *b,
                                const kry_vec *x)
{
    kry_status st = KRY_OK;
    const int count = 2 * B->band + 1;

    CHECK(b && x, KRY_ERR_ARGUMENT, "%s: NULL", B->who);
    for (int i = 0; i <= count; i++) {
        const kry_vec *v = i < count ? diagonal[i] : b;
        const char *name = kry_batch_name(B->band, i);
        CHECK(v, KRY_ERR_ARGUMENT, "%s: %s is NULL", B->who, name);
        CHECK(v->dev == x->dev, KRY_ERR_ARGUMENT, "%s: %s and x live on different devices", B->who,
              name);
        CHECK(v->type == x->type, KRY_ERR_TYPE, "%s: %s is %s, x is %s", B->who, name,
              kry_type_name(v->type), kry_type_name(x->type));
        CHECK(!x->split, KRY_ERR_UNSUPPORTED, "%s: this cannot be done on several devices yet",
              B->who);
        bool same = i == count && v->first == x->first && v->n * v->k == x->n * x->k;
        CHECK(same || !kry_vec_overlap(v, x), KRY_ERR_ARGUMENT, "%s: x overlaps %s", B->who, name);
    }
    CHECK(b->n == x->n && b->k == x->k, KRY_ERR_SHAPE, "%s: b is %lld-by-%lld, x is %lld-by-%lld",
          B->who, (long long)b->n, (long long)b->k, (long long)x->n, (long long)x->k);
done:
    return st;
}

/* The columns of v lie as far apart as those of b. */
static kry_status check_distance(const batch *B, const char *name, const kry_vec *v,
                                 const kry_vec *b)
{
    if (v->k <= 1 || v->ld == b->ld) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED,
                    "%s: the columns of %s start %lld numbers apart, those of b %lld", B->who, name,
                    (long long)v->ld, (long long)b->ld);
}

/* Take n, the number of systems, and where they lie in b and x. */
static kry_status take_layout(batch *B, const kry_vec *b, const kry_vec *x)
{
    bool interleaved = B->params.layout == KRY_SYSTEMS_INTERLEAVED;

    B->n = interleaved ? b->k : b->n;
    B->systems = interleaved ? b->n : b->k;
    B->row = interleaved ? b->ld : 1;
    B->system = interleaved ? 1 : b->ld;
    return check_distance(B, "x", x, b);
}

/* Each diagonal has the shape of b, or holds one system. */
static kry_status take_diagonals(batch *B, const kry_vec *const *diagonal, const kry_vec *b)
{
    kry_status st = KRY_OK;
    const kry_vec *first = diagonal[0];
    bool alike = first->n == b->n && first->k == b->k;
    bool one = !alike && first->n * first->k == B->n;

    B->m_row = one ? 1 : B->row;
    B->m_system = one ? 0 : B->system;
    for (int i = 0; i < 2 * B->band + 1; i++) {
        const kry_vec *v = diagonal[i];
        const char *name = kry_batch_name(B->band, i);
        bool column = v->n == B->n && v->k == 1;
        bool line = v->n == 1 && v->k == B->n && B->params.layout == KRY_SYSTEMS_INTERLEAVED;
        CHECK(one ? column || line : v->n == b->n && v->k == b->k, KRY_ERR_SHAPE,
              "%s: %s is %lld-by-%lld; b is %lld-by-%lld, %lld systems of %lld equations", B->who,
              name, (long long)v->n, (long long)v->k, (long long)b->n, (long long)b->k,
              (long long)B->systems, (long long)B->n);
        TRY(one ? kry_vec_check_packed(B->who, name, v) : check_distance(B, name, v, b));
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
    TRY(take_layout(B, b, x));
    TRY(take_diagonals(B, diagonal, b));
    B->b = (batch_array){ b->buffer, b->first };
    B->x = (batch_array){ x->buffer, x->first };
    B->in_place = b->buffer == x->buffer && b->first == x->first;
done:
    return st;
}

/* ---- solving ----------------------------------------------------------------------------- */

static kry_status solve(batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    kry_systems_pivoting pivoting = B->params.pivoting;
    const bool unchecked = B->params.unchecked, later = B->params.later;
    bool all = B->band > 1 || (pivoting == KRY_SYSTEMS_PIVOT_ALWAYS && !unchecked);
    bool pivots = B->band > 1 || pivoting != KRY_SYSTEMS_PIVOT_NEVER;
    int64_t count = B->systems;

    if (B->n == 0 || B->systems == 0) goto done;
    TRY(kry_batch_marks_take(B));
    if (!all) TRY(kry_batch_solve_levels(B));
    if (!all && !unchecked && !later) TRY(kry_batch_marks_count(B, &count));
    if (unchecked || count == 0) {
        B->marks->dirty = false;
        goto done;
    }
    TRY(kry_batch_solve_pivoting(B, count, !all, pivots));
    if (later)
        kry_batch_marks_leave(B->marks, !all);
    else
        TRY(kry_batch_marks_report(B, report));
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

kry_status kry_pentadiagonal_solve(const kry_tridiagonal_params *params, const kry_vec *far_lower,
                                   const kry_vec *lower, const kry_vec *diagonal,
                                   const kry_vec *upper, const kry_vec *far_upper, const kry_vec *b,
                                   kry_vec *x)
{
    batch B = { .who = "kry_pentadiagonal_solve", .band = 2 };
    const kry_vec *diagonals[] = { far_lower, lower, diagonal, upper, far_upper };
    return take_and_solve(&B, params, diagonals, b, x);
}
