/*
 * ranks_sum.c - sums over all ranks of more numbers than a packet holds. With each of log2 P other ranks in turn a
 * rank shares out the numbers that it still adds up, half to each; then the sums go back the same ways.
 *
 *   P       the largest power of two that is not above the number of ranks. Rank P + i hands its numbers to rank i
 *           before, and gets the sums from it
 *   Bytes   a rank sends less than twice its numbers, however many ranks there are (those below P that have a rank
 *           above it, three times); in a gather each receives those of all
 *   Bits    each sum is formed on one rank, in the order of kry_layout_combine: the same on all, and as in a gather
 *   Source  R. Rabenseifner, Optimization of collective reduction operations, ICCS 2004, LNCS 3036, 1-9
 */
#include "team/ranks.h"
#include <stdlib.h>

typedef struct sums {
    kry_ranks *R; /* borrowed */
    kry_combine how;
    double *numbers;
    double *room; /* as many */
} sums;

/* The other rank does the same at this time: all have met, and none has failed. */
static kry_status swap(const sums *s, int other, const double *out, size_t outs, double *in,
                       size_t ins)
{
    kry_status st = KRY_OK;
    kry_ranks *R = s->R;
    void *pending = NULL;
    size_t bytes = 0;

    if (outs && R->t.send(R->t.user, other, KRY_DATA, out, outs * sizeof *out, &pending))
        return kry_ranks_break(R, "send");
    R->posted[other] += outs > 0;
    if (ins) {
        TRY(kry_ranks_probe(R, other, false, &bytes));
        if (bytes != ins * sizeof *in) return kry_ranks_break(R, "receive");
        TRY(kry_ranks_receive(R, other, in, bytes));
    }
    TRY(kry_ranks_await(R, &pending, false));
done:
    return st;
}

/* numbers[begin ... end - 1] := their sums over the ranks that differ from this one in the bits of 2 half - 1, each
 * of which has its own there. */
static kry_status add_up(const sums *s, int half, size_t begin, size_t end)
{
    kry_status st = KRY_OK;
    const int rank = s->R->t.rank, other = rank ^ half;
    const size_t middle = begin + (end - begin) / 2;
    const bool lower = rank < other;
    double *mine = s->numbers + (lower ? begin : middle);
    double *theirs = s->numbers + (lower ? middle : begin);
    const size_t own = lower ? middle - begin : end - middle, rest = end - begin - own;

    if (half == 0) return KRY_OK;
    TRY(swap(s, other, theirs, rest, s->room, own));
    kry_combine_numbers(s->how, lower ? mine : s->room, lower ? s->room : mine, mine, own);
    TRY(add_up(s, half / 2, (size_t)(mine - s->numbers), (size_t)(mine - s->numbers) + own));
    TRY(swap(s, other, mine, own, theirs, rest));
done:
    return st;
}

kry_status kry_ranks_combine(kry_comm *comm, kry_combine how, double *numbers, size_t count)
{
    kry_status st = KRY_OK;
    kry_ranks *R = (kry_ranks *)comm;
    const int rank = R->t.rank, size = R->t.size;
    sums s = { R, how, numbers, NULL };
    int power = 1;

    while (2 * power <= size) power *= 2;
    const bool above = rank >= power, has_above = rank + power < size;
    if (R->ended) return kry_ranks_others_failed(R);
    TRY(kry_alloc(count, sizeof *s.room, &s.room));
    TRY(kry_ranks_meet(R, KRY_OK, NULL, count * sizeof *numbers));
    if (above) {
        TRY(swap(&s, rank - power, numbers, count, NULL, 0));
        TRY(swap(&s, rank - power, NULL, 0, numbers, count));
        goto done;
    }
    if (has_above) {
        TRY(swap(&s, rank + power, NULL, 0, s.room, count));
        kry_combine_numbers(how, numbers, s.room, numbers, count);
    }
    TRY(add_up(&s, power / 2, 0, count));
    if (has_above) TRY(swap(&s, rank + power, numbers, count, NULL, 0));
done:
    free(s.room);
    return st;
}
