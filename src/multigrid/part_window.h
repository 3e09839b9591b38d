/*
 * part_window.h - grids of which each part of a team has a box, and around it the points of others that it computes with.
 *
 * A window is a box of the whole grid's points that a part keeps numbers of: its own box, grown by some layers where the
 * grid goes on in other parts. Along a periodic axis that is cut it may begin below 0, or end beyond the size.
 *
 * For kernels a window is a grid in one piece. What they make of its outermost layer is wrong, for the points beyond are
 * missing; the next pass carries that one layer further in, and so on. A vector is right in so many layers around the own
 * points as are left: after a refresh in `layers` of them.
 */
#ifndef KRY_PART_WINDOW_H
#define KRY_PART_WINDOW_H

#include "multigrid/box.h"
#include "operator/halo.h"
#include "team/boxes.h"

/* A grid in boxes. */
typedef struct kryi_cut {
    kryi_box_grid grid; /* the whole */
    kryi_boxes boxes;   /* `begin` is owned */
    int64_t *first;     /* owned: places of the parts' points, one more than parts */
    int rank;           /* of this part */
    int layers;         /* around a part's points that vectors are to be right in, 2 or more */
} kryi_cut;
/* cut := as the grid operator A, a share, is cut. Neither collective nor waits. */
kry_status kryi_cut_of(const kry_op *A, kryi_cut *cut);
/* coarse := every second point of `fine` along the axes of the mask, with as many layers. */
kry_status kryi_cut_coarsen(const kryi_cut *fine, unsigned coarsened, kryi_cut *coarse);
void kryi_cut_release(kryi_cut *cut);
/* Whether all parts have a box of the coarser grid that levels in parts can go on with, and with so many layers windows on
 * both grids that lap no axis: the same on all of them. */
bool kryi_cut_can_coarsen(const kryi_cut *cut, unsigned coarsened, int layers);

/* The part's own points; with the layers around; and with as many more as it takes to make, from the stencil of them all,
 * the interpolation there and the stencil of the next coarser grid in the part's points: what a part keeps. */
kryi_window kryi_cut_own(const kryi_cut *cut);
kryi_window kryi_cut_near(const kryi_cut *cut);
kryi_window kryi_cut_wide(const kryi_cut *cut);
/* w as a grid by itself; and what it is coarsened to, in the numbers of the coarser grid. */
kryi_box_grid kryi_cut_grid(const kryi_cut *cut, const kryi_window *w);
kryi_window kryi_window_coarser(const kryi_window *w, unsigned coarsened);
/* `inner` in the numbers of a grid that `outer` is. */
kryi_window kryi_window_within(const kryi_window *outer, const kryi_window *inner);
/* Whether its points follow each other there; and then these numbers of a vector of `outer`, borrowed. */
bool kryi_window_is_in_one(const kryi_window *outer, const kryi_window *inner);
kry_vec kryi_window_view(const kryi_window *outer, const kryi_window *inner, const kry_vec *all);
/* The row of the whole, in the order of its points, that point i of a window is. */
int64_t kryi_cut_row(const kryi_cut *cut, const kryi_window *w, int64_t i);
/* The number of a point in a window. */
int64_t kryi_window_number(const kryi_window *w, const int64_t place[3]);

/* y := x in the points of `which`, where x has those of window `from` and y those of `to`. */
kry_status kryi_window_copy(const kry_vec *x, const kryi_window *from, kry_vec *y,
                            const kryi_window *to, const kryi_window *which);

/* Brings what vectors of a window have of other parts. */
typedef struct kryi_shell {
    kry_device *dev;     /* borrowed */
    const kryi_cut *cut; /* borrowed */
    kryi_window own, window;
    int64_t count;   /* of the others' points, */
    cl_mem point;    /* owned: which these are in the window */
    kryi_halo *halo; /* owned */
    kry_vec *beside
        [2]; /* owned: room for own numbers, where those of a window do not follow each other; else NULL */
} kryi_shell;
/* For the points of `reach`, which is within `window`. Collective. Waits. */
kry_status kryi_shell_create(kry_device *dev, kry_type type, const kryi_cut *cut,
                             const kryi_window *window, const kryi_window *reach,
                             kryi_shell *shell);
void kryi_shell_release(kryi_shell *shell);
/* The others' numbers of `all`, which has the own ones. Collective among neighbours. */
kry_status kryi_shell_refresh(const kryi_shell *shell, kry_vec *all);
/* Where own numbers of `all` may be written or read: there, or beside it in one of two rooms. */
kry_vec kryi_shell_place(const kryi_shell *shell, int which, const kry_vec *all);
/* *mine := the own numbers of `all`, there or beside it. */
kry_status kryi_shell_take(const kryi_shell *shell, int which, const kry_vec *all, kry_vec *mine);
/* all := the numbers of the window, of which `mine`, there or elsewhere, are this part's. As kryi_shell_refresh */
kry_status kryi_shell_fill(const kryi_shell *shell, const kry_vec *mine, kry_vec *all);

#endif
