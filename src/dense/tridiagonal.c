/* tridiagonal.c - many tridiagonal or pentadiagonal systems at once: checks of the arguments, and the steps of
 * a call. Kernels: cl/dense/tridiagonal.cl, cl/dense/banded.cl. */
#include "dense/batch.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names3[] = { "lower", "diagonal", "upper" };
static const char *const names5[] = { "far_lower", "lower", "diagonal", "upper", "far_upper" };

/* A diagonal's name in messages, or b's. */
static const char *batch_name(int band, int which)
{
    if (which == 2 * band + 1) return "b";
    return band == 1 ? names3[which] : names5[which];
}

/* ---- checks ---------------------------------------------------------------------------- */

static kry_status check_params(const char *who, int band, const kry_tridiagonal_params *given,
                               kry_tridiagonal_params *params)
{
    kry_status st = KRY_OK;

    TRY(kryi_params_take(who, "KRY_TRIDIAGONAL", given, params, sizeof *params));
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
        const char *name = batch_name(B->band, i);
        CHECK(v, KRY_ERR_ARGUMENT, "%s: %s is NULL", B->who, name);
        CHECK(v->dev == x->dev, KRY_ERR_ARGUMENT, "%s: %s and x live on different devices", B->who,
              name);
        CHECK(v->type == x->type, KRY_ERR_TYPE, "%s: %s is %s, x is %s", B->who, name,
              kry_type_name(v->type), kry_type_name(x->type));
        CHECK(!x->split, KRY_ERR_UNSUPPORTED, "%s: this cannot be done on several devices yet",
              B->who);
        bool same = i == count && v->first == x->first && v->n * v->k == x->n * x->k;
        CHECK(same || !kryi_vec_overlap(v, x), KRY_ERR_ARGUMENT, "%s: x overlaps %s", B->who, name);
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
        const char *name = batch_name(B->band, i);
        bool column = v->n == B->n && v->k == 1;
        bool line = v->n == 1 && v->k == B->n && B->params.layout == KRY_SYSTEMS_INTERLEAVED;
        CHECK(one ? column || line : v->n == b->n && v->k == b->k, KRY_ERR_SHAPE,
              "%s: %s is %lld-by-%lld; b is %lld-by-%lld, %lld systems of %lld equations", B->who,
              name, (long long)v->n, (long long)v->k, (long long)b->n, (long long)b->k,
              (long long)B->systems, (long long)B->n);
        TRY(one ? kryi_vec_check_packed(B->who, name, v) : check_distance(B, name, v, b));
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

/* ---- which systems failed a check ------------------------------------------------------------ */

/*
 * Calls that wait look at the counters, and clear them afterwards. Calls with `later` never look: two counters
 * take turns, each cleared by the launch with pivoting of the call before (cl/dense/banded.cl).
 */

static void release_marks(kry_device *dev, void *kept)
{
    kryi_buffer_release(dev, &((batch_marks *)kept)->found);
}

static const kryi_keeper keeper = { sizeof(batch_marks), release_marks };
static const kryi_keeper later_keeper = { sizeof(batch_marks), release_marks };
static const cl_int nothing[BATCH_LIST] = { [BATCH_FIRST_BAD] = INT_MAX };

/* Where the states of systems that were not solved begin. */
static size_t states_at(cl_int room) { return (BATCH_LIST + 2 * (size_t)room) * sizeof(cl_int); }

/* Keep what was left for later. */
static kry_status copy_left(kry_device *dev, const batch_marks *from, cl_mem to, cl_int room)
{
    kry_status st = KRY_OK;

    TRY(kryi_buffer_copy(dev, from->found, 0, to, 0, sizeof nothing));
    TRY(kryi_buffer_copy(dev, from->found, states_at(from->room), to, states_at(room),
                         (size_t)from->room * sizeof(cl_long)));
done:
    return st;
}

/* The tickets are 0, which is the number of no call. */
static kry_status grow(kry_device *dev, int64_t systems, batch_marks *marks)
{
    kry_status st = KRY_OK;
    const size_t ints = BATCH_LIST + 4 * (size_t)systems;
    cl_mem found = NULL;
    cl_int *start = NULL;

    TRY(kryi_alloc(ints, sizeof *start, &start));
    memcpy(start, nothing, sizeof nothing);
    TRY(kryi_buffer_upload(dev, ints * sizeof *start, start, &found));
    if (marks->left) TRY(copy_left(dev, marks, found, (cl_int)systems));
    kryi_buffer_release(dev, &marks->found);
    marks->found = found, marks->room = (cl_int)systems;
    found = NULL;
done:
    if (found) kryi_buffer_release(dev, &found);
    free(start);
    return st;
}

kry_status kryi_batch_marks_take(batch *B)
{
    kry_status st = KRY_OK;
    const bool later = B->params.later;
    /* of calls whose report is still to be asked for, nothing but the list may be lost */
    const size_t cleared = later ? BATCH_BAD * sizeof(cl_int) : sizeof nothing;

    TRY(kryi_device_keep(B->dev, later ? &later_keeper : &keeper, &B->marks));
    batch_marks *marks = B->marks;
    if (marks->room < B->systems) TRY(grow(B->dev, B->systems, marks));
    if (marks->dirty) TRY(kryi_buffer_write(B->dev, marks->found, 0, cleared, nothing));
    B->ticket = (cl_int)(2 * kryi_ticket() + (unsigned)marks->turn);
    marks->dirty = true; /* until all of the call is enqueued, or its marks have been read */
done:
    return st;
}

/* How many systems are marked. Waits. */
static kry_status count_marks(const batch *B, int64_t *marked)
{
    cl_int count = 0;
    kry_status st = kryi_buffer_read(B->dev, B->marks->found, BATCH_MARKED * sizeof count,
                                     sizeof count, &count);
    *marked = count;
    return st;
}

/* Fail with a message that names the first system that was not solved, and why. */
static kry_status name_bad(const batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_long state = 0;
    long long s = report->system, others = report->singular - 1;

    TRY(kryi_buffer_read(B->dev, B->marks->found,
                         states_at(B->marks->room) + (size_t)s * sizeof state, sizeof state,
                         &state));
    int64_t place = state < 0 ? -1 - state : state;
    report->equation = state < 0 ? place / 8 : place;
    CHECK(state >= 0, KRY_ERR_ARGUMENT,
          "%s: %s is not a finite number at equation %lld of system %lld; %lld other systems were "
          "not solved either",
          B->who, batch_name(B->band, (int)(place % 8)), (long long)report->equation, s, others);
    CHECK(false, KRY_ERR_SINGULAR,
          "%s: system %lld is singular: no pivot at equation %lld; %lld other systems were not "
          "solved either",
          B->who, s, (long long)report->equation, others);
done:
    return st;
}

/* Fill in the report, and fail with a message that names the first system that was not solved. Waits. */
static kry_status report_marks(const batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_int found[BATCH_LIST];

    TRY(kryi_buffer_read(B->dev, B->marks->found, 0, sizeof found, found));
    report->pivoted = found[BATCH_PIVOTED];
    report->singular = found[BATCH_BAD];
    if (!report->singular) goto done;
    report->system = found[BATCH_FIRST_BAD];
    TRY(name_bad(B, report));
done:
    return st;
}

kry_status kry_systems_check(kry_device *dev, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    kry_systems_report told = { .system = -1, .equation = -1 };
    batch B = { .who = "kry_systems_check", .dev = dev, .band = 1 };

    CHECK(dev, KRY_ERR_ARGUMENT, "kry_systems_check: NULL");
    B.marks = kryi_device_kept(dev, &later_keeper);
    if (!B.marks || !B.marks->left) goto done;
    st = report_marks(&B, &told);
    if (st == KRY_OK || told.singular) {
        kry_status cleared = kryi_buffer_write(dev, B.marks->found, 0, sizeof nothing, nothing);
        B.marks->left = cleared < 0;
        if (st == KRY_OK) st = cleared;
    }
done:
    if (report) *report = told;
    return st;
}

/* ---- with partial pivoting ------------------------------------------------------------------- */

/* One work-item to each system. Kernel: cl/dense/banded.cl.
 *
 * Words moved per unknown: the diagonals and b are read, a row of U and of the right-hand side is written
 * and read again, x is written. */

enum { GROUP = 32, MOST_GROUPS = 65535 }; /* small groups, so that all compute units have some */

/* Words of an eliminated row: the entries in the band, those in the columns of the border if the system is
 * periodic, and the right-hand side. */
static int row_words(const batch *B) { return 2 * B->band + 2 + (B->periodic ? 2 * B->band : 0); }

/* Work-items: one for each system, as far as there is scratch storage. Calls that do not wait for the number of
 * systems, which nearly always is 0, take no more storage than stays with the device. *size: work-items of a
 * group. */
static int64_t items_at_once(const batch *B, int64_t count, int *size)
{
    enum { LATER_BYTES = 64 << 20 };
    const kry_device *dev = B->dev;
    int64_t most =
        dev->info.cpu_kernels ? 4 * (int64_t)dev->info.compute_units : (int64_t)GROUP * MOST_GROUPS;
    double each = (double)B->n * row_words(B) * (double)kry_type_size(B->type);
    double room = (double)dev->info.global_bytes / 8;
    if (room > (double)dev->info.max_alloc_bytes) room = (double)dev->info.max_alloc_bytes;
    if (B->params.later && room > LATER_BYTES) room = LATER_BYTES;
    if ((double)most * each > room) most = (int64_t)(room / each);
    int64_t items = count < most ? count : most > 0 ? most : 1;
    *size = dev->info.cpu_kernels || items < GROUP || dev->info.max_group < GROUP ? 1 : GROUP;
    return items / *size * *size;
}

/* Solve `count` systems, or those that are marked, which are not more; pivoting: with partial
 * pivoting. */
static kry_status solve_pivoting(const batch *B, int64_t count, bool marked, bool pivoting)
{
    kry_status st = KRY_OK;
    kry_device *dev = B->dev;
    kryi_kernel *kernel = NULL;
    cl_mem work = NULL;
    char defines[40];
    int size = 1, words = row_words(B);
    int64_t items = items_at_once(B, count, &size);
    bool cpu = dev->info.cpu_kernels;
    int64_t word = cpu ? 1 : items, slot = cpu ? B->n * words : 1;
    cl_int turn = marked ? B->ticket & 1 : -1, pivots = pivoting;

    snprintf(defines, sizeof defines, "-DBAND=%d%s", B->band, B->periodic ? " -DPERIODIC" : "");
    TRY(kryi_kernel_get(dev, "banded", B->type, defines, "banded_solve", &kernel));
    TRY(kryi_room_reserve(dev, (size_t)(items * B->n) * (size_t)words * kry_type_size(B->type),
                          &work));
    const batch_array *d = B->diagonal, *low = d + B->band - 1, *high = d + B->band + 1;
    const batch_array *far_low = d, *far_high = d + 2 * B->band;
    kry_arg args[] = { ARG(B->n),
                       ARG(count),
                       ARG(turn),
                       ARG(pivots),
                       ARG_VEC(far_low),
                       ARG_VEC(low),
                       ARG_VEC(&d[B->band]),
                       ARG_VEC(high),
                       ARG_VEC(far_high),
                       ARG(B->m_row),
                       ARG(B->m_system),
                       ARG_VEC(&B->b),
                       ARG_VEC(&B->x),
                       ARG(B->row),
                       ARG(B->system),
                       ARG(B->marks->found),
                       ARG(B->marks->room),
                       ARG(work),
                       ARG(word),
                       ARG(slot) };
    TRY(kryi_launch_range(dev, kernel, (kryi_range){ items / size, .size = size }, args,
                          COUNT(args)));
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
    TRY(kryi_batch_marks_take(B));
    if (!all) TRY(kryi_batch_solve_levels(B));
    if (!all && !unchecked && !later) TRY(count_marks(B, &count));
    if (unchecked || count == 0) {
        B->marks->dirty = false;
        goto done;
    }
    TRY(solve_pivoting(B, count, !all, pivots));
    if (later) {
        B->marks->dirty = false, B->marks->left = true;
        if (!all) B->marks->turn = 1 - B->marks->turn;
    } else
        TRY(report_marks(B, report));
done:
    kryi_room_trim(B->dev);
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
