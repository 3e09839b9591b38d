/*
 * batch_marks.c - which systems of a batch failed a check, and what a call, or kry_systems_check, reports of them.
 *
 * Calls that wait look at the counters, and clear them afterwards. Calls with `later` never look: two counters
 * take turns, each cleared by the launch with pivoting of the call before (cl/dense/banded.cl).
 */
#include "dense/batch.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void release_marks(kry_device *dev, void *kept)
{
    kry_buffer_release(dev, &((batch_marks *)kept)->found);
}

static const kry_keeper keeper = { sizeof(batch_marks), release_marks };
static const kry_keeper later_keeper = { sizeof(batch_marks), release_marks };
static const cl_int nothing[BATCH_LIST] = { [BATCH_FIRST_BAD] = INT_MAX };

/* Where the states of systems that were not solved begin. */
static size_t states_at(cl_int room) { return (BATCH_LIST + 2 * (size_t)room) * sizeof(cl_int); }

/* Keep what was left for later. */
static kry_status copy_left(kry_device *dev, const batch_marks *from, cl_mem to, cl_int room)
{
    kry_status st = KRY_OK;

    TRY(kry_buffer_copy(dev, from->found, 0, to, 0, sizeof nothing));
    TRY(kry_buffer_copy(dev, from->found, states_at(from->room), to, states_at(room),
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

    TRY(kry_alloc(ints, sizeof *start, &start));
    memcpy(start, nothing, sizeof nothing);
    TRY(kry_buffer_upload(dev, ints * sizeof *start, start, &found));
    if (marks->left) TRY(copy_left(dev, marks, found, (cl_int)systems));
    kry_buffer_release(dev, &marks->found);
    marks->found = found, marks->room = (cl_int)systems;
    found = NULL;
done:
    if (found) kry_buffer_release(dev, &found);
    free(start);
    return st;
}

kry_status kry_batch_marks_take(batch *B)
{
    kry_status st = KRY_OK;
    const bool later = B->params.later;
    /* of calls whose report is still to be asked for, nothing but the list may be lost */
    const size_t cleared = later ? BATCH_BAD * sizeof(cl_int) : sizeof nothing;

    TRY(kry_device_keep(B->dev, later ? &later_keeper : &keeper, &B->marks));
    batch_marks *marks = B->marks;
    if (marks->room < B->systems) TRY(grow(B->dev, B->systems, marks));
    if (marks->dirty) TRY(kry_buffer_write(B->dev, marks->found, 0, cleared, nothing));
    B->ticket = (cl_int)(2 * kry_ticket() + (unsigned)marks->turn);
    marks->dirty = true; /* until all of the call is enqueued, or its marks have been read */
done:
    return st;
}

kry_status kry_batch_marks_count(const batch *B, int64_t *marked)
{
    cl_int count = 0;
    kry_status st =
        kry_buffer_read(B->dev, B->marks->found, BATCH_MARKED * sizeof count, sizeof count, &count);
    *marked = count;
    return st;
}

void kry_batch_marks_leave(batch_marks *marks, bool listed)
{
    marks->dirty = false, marks->left = true;
    if (listed) marks->turn = 1 - marks->turn;
}

/* Fail with a message that names the first system that was not solved, and why. */
static kry_status name_bad(const batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_long state = 0;
    long long s = report->system, others = report->singular - 1;

    TRY(kry_buffer_read(B->dev, B->marks->found,
                        states_at(B->marks->room) + (size_t)s * sizeof state, sizeof state,
                        &state));
    int64_t place = state < 0 ? -1 - state : state;
    report->equation = state < 0 ? place / 8 : place;
    CHECK(state >= 0, KRY_ERR_ARGUMENT,
          "%s: %s is not a finite number at equation %lld of system %lld; %lld other systems were "
          "not solved either",
          B->who, kry_batch_name(B->band, (int)(place % 8)), (long long)report->equation, s,
          others);
    CHECK(false, KRY_ERR_SINGULAR,
          "%s: system %lld is singular: no pivot at equation %lld; %lld other systems were not "
          "solved either",
          B->who, s, (long long)report->equation, others);
done:
    return st;
}

kry_status kry_batch_marks_report(const batch *B, kry_systems_report *report)
{
    kry_status st = KRY_OK;
    cl_int found[BATCH_LIST];

    TRY(kry_buffer_read(B->dev, B->marks->found, 0, sizeof found, found));
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
    B.marks = kry_device_kept(dev, &later_keeper);
    if (!B.marks || !B.marks->left) goto done;
    st = kry_batch_marks_report(&B, &told);
    if (st == KRY_OK || told.singular) {
        kry_status cleared = kry_buffer_write(dev, B.marks->found, 0, sizeof nothing, nothing);
        B.marks->left = cleared < 0;
        if (st == KRY_OK) st = cleared;
    }
done:
    if (report) *report = told;
    return st;
}
