/* rank_sums.h - sums over all parts of a team: those of plain C in the documented order, bit by bit, on ranks and on
 * threads. */
#ifndef KRY_TEST_RANK_SUMS_H
#define KRY_TEST_RANK_SUMS_H

#include "device/comm.h"
#include "ranks.h"
#include "team/team.h"

typedef struct summing {
    kry_device *team;
    kryi_combine how;
    size_t count;
    bool in_halves;
    double *all; /* of all parts, the same on all */
} summing;

/* As layout.h has it: the upper parts hand their numbers to the lower ones. */
static double sum_of_parts(const summing *s, int size, size_t i)
{
    double part[MOST_RANKS];
    int half = 1;

    for (int r = 0; r < size; r++) part[r] = s->all[(size_t)r * s->count + i];
    while (2 * half < size) half *= 2;
    for (; half > 0; half /= 2)
        for (int r = 0; r < half && r + half < size; r++) {
            const double theirs = part[r + half];
            if (s->how == KRY_ADD)
                part[r] += theirs;
            else if (theirs > part[r] || isnan(theirs))
                part[r] = theirs;
        }
    return part[0];
}

/* Another sum in between, as a preconditioner may have. */
static kry_status in_halves(const summing *s, kryi_layout *layout, double *numbers)
{
    kry_status st = KRY_OK;
    double other[2] = { 1, kryi_layout_rank(layout) };
    const int size = kryi_layout_size(layout);

    TRY(kryi_layout_combine_begin(layout, numbers, s->count));
    TRY(kryi_layout_combine(layout, KRY_ADD, other, 2));
    if (other[0] != size || other[1] != size * (size - 1) / 2)
        return kry_fail(KRY_ERR_CALLBACK, "the sum in between is %g %g", other[0], other[1]);
    if (layout->begun != (size > 1 && layout->comm->apart && s->count <= 13))
        return kry_fail(KRY_ERR_CALLBACK, "%zu numbers %s in halves", s->count,
                        layout->begun ? "are" : "are not");
    TRY(kryi_layout_combine_end(layout, s->how, numbers, s->count));
done:
    return st;
}

static kry_status sum_here(void *user, int rank)
{
    kry_status st = KRY_OK;
    const summing *s = user;
    kryi_layout *layout = &s->team->team->part[rank]->layout;
    const int size = kryi_layout_size(layout);
    double *numbers = calloc(s->count + 1, sizeof *numbers);

    memcpy(numbers, s->all + (size_t)rank * s->count, s->count * sizeof *numbers);
    numbers[s->count] = 42; /* not ours */
    if (s->in_halves)
        TRY(in_halves(s, layout, numbers));
    else
        TRY(kryi_layout_combine(layout, s->how, numbers, s->count));
    for (size_t i = 0; i < s->count; i++) {
        const double want = sum_of_parts(s, size, i);
        if (memcmp(&numbers[i], &want, sizeof want) && !(isnan(want) && isnan(numbers[i])))
            return kry_fail(KRY_ERR_CALLBACK,
                            "part %d of %d: number %zu of %zu is %.17g, not %.17g", rank, size, i,
                            s->count, numbers[i], want);
    }
    if (numbers[s->count] != 42) return kry_fail(KRY_ERR_CALLBACK, "written past the end");
done:
    free(numbers);
    return st;
}

/* Few numbers are gathered, of many each part adds up a share; odd numbers, and fewer than parts. */
MAYBE_UNUSED static void check_sums(kry_device *team)
{
    static const size_t count[] = { 1, 2, 13, 14, 600, 1366, 2049, 4097, 9001 };
    const size_t size = (size_t)kry_team_size(team);

    for (size_t c = 0; c < COUNT(count); c++)
        for (int how = 0; how < 2; how++) {
            summing s = { team, how ? KRY_MAX : KRY_ADD, count[c],
                          .in_halves = (c + (size_t)how) % 2 };
            s.all = random_array(KRY_F64, (int64_t)(size * count[c]));
            for (size_t i = 0; i < size * count[c]; i++)
                s.all[i] *= exp2((double)random_below(60)); /* rounding shows the order */
            if (count[c] > 100) {
                s.all[random_below((int64_t)(size * count[c]))] = (double)NAN;
                s.all[random_below((int64_t)(size * count[c]))] = -0.0;
            }
            GOOD(kryi_team_run(team->team, NULL, sum_here, &s));
            free(s.all);
        }
}

#endif
