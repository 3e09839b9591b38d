/*
 * history.h - residuals of a solve, so few of them that a picture or a line of JSON can hold them.
 */
#ifndef KRY_HISTORY_H
#define KRY_HISTORY_H

#include "page/page.h"

/*
 * The entries of a long history that are kept: the lowest and the highest of every short stretch, in order, the
 * first and the last; all, if there are at most `most`, else at most most + 2. Returns the next one behind `after`
 * (-1: the first one), or `count`.
 */
int64_t kryi_history_next(const double *h, int64_t count, int64_t most, int64_t after);

/* What `history` of --json and a page hold: at most this many. */
enum { HISTORY_MOST = 500, HISTORY_ROOM = HISTORY_MOST + 2 };
typedef struct history {
    double iteration[HISTORY_ROOM], residual[HISTORY_ROOM]; /* relative to b; of the recurrence */
    int count;
    int64_t before; /* iterations of other methods or precisions, that the solve began with */
    bool in_steps;  /* what is counted are steps around solves in single */
} history;

void kryi_history_of(const kry_result *r, history *h);

/* A residual divided by ||b||; zero over zero is zero. */
double kryi_relative_residual(const kry_result *r, double residual);

/* Residuals as a monitor sees them, from first to last, at most TRACK_MOST: where there are more, every
 * other one is left out. */
enum { TRACK_MOST = 400 };
typedef struct track {
    double iteration[TRACK_MOST], residual[TRACK_MOST]; /* units of b */
    int count;
    int64_t seen, every; /* calls so far; one of so many is kept */
} track;

void kryi_track_add(track *t, int64_t iteration, double residual);

#endif
