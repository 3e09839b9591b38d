/*
 * part_window.h - grids of which each part of a team has a box, and around it the points of others that it computes with.
 *
 * A window is a box of the whole grid's points that a part keeps numbers of: its own box, grown by some layers where the
 * grid goes on in other parts. Along a periodic axis that is cut it may begin below 0, or end beyond the size. On a window
 * run the kernels of grids that are in one piece.
 */
#ifndef KRY_PART_WINDOW_H
#define KRY_PART_WINDOW_H

#include "multigrid/box.h"
#include "operator/halo.h"
#include "team/boxes.h"

/* A grid in boxes. */
typedef struct kry_cut {
    kry_box_grid grid; /* the whole */
    kry_boxes boxes;   /* `begin` is owned */
    int64_t *first;    /* owned: places of the parts' points, one more than parts */
    int rank;          /* of this part */
} kry_cut;
/* cut := as the grid operator A, a share, is cut. Neither collective nor waits. */
kry_status kry_cut_of(const kry_op *A, kry_cut *cut);
/* coarse := every second point of `fine` along the axes of the mask. */
kry_status kry_cut_coarsen(const kry_cut *fine, unsigned coarsened, kry_cut *coarse);
void kry_cut_release(kry_cut *cut);
/* Whether all parts have a box of the coarser grid that levels in parts can go on with: the same on all of them. */
bool kry_cut_can_coarsen(const kry_cut *cut, unsigned coarsened);

/* The part's own points; with those beside them; and with as many more as it takes to make, from the stencil of them all,
 * the interpolation and the stencil of the next coarser grid in its own points and beside. */
kry_window kry_cut_own(const kry_cut *cut);
kry_window kry_cut_near(const kry_cut *cut);
kry_window kry_cut_wide(const kry_cut *cut);
/* The fine points between which and those of kry_cut_near(coarse) a part interpolates. */
kry_window kry_cut_between(const kry_cut *fine, unsigned coarsened, const kry_cut *coarse);
/* w as a grid by itself; and what it is coarsened to, in the numbers of the coarser grid. */
kry_box_grid kry_cut_grid(const kry_cut *cut, const kry_window *w);
kry_window kry_window_coarser(const kry_window *w, unsigned coarsened);
/* `inner` in the numbers of a grid that `outer` is. */
kry_window kry_window_within(const kry_window *outer, const kry_window *inner);

/* y := alpha x + beta y in the points of `which`, where x has those of window `from` and y those of `to`. */
kry_status kry_window_copy(double alpha, const kry_vec *x, const kry_window *from, double beta,
                           kry_vec *y, const kry_window *to, const kry_window *which);

/* Brings what a window has of other parts. */
typedef struct kry_shell {
    kry_device *dev; /* borrowed */
    kry_window own, window;
    int64_t count;  /* of the others' points, */
    cl_mem point;   /* owned: which these are in the window */
    kry_halo *halo; /* owned */
} kry_shell;
/* Collective. Waits. */
kry_status kry_shell_create(kry_device *dev, kry_type type, const kry_cut *cut,
                            const kry_window *window, kry_shell *shell);
void kry_shell_release(kry_shell *shell);
/* all := the numbers of the window, of which `mine` has this part's own. Collective among neighbours. */
kry_status kry_shell_fill(const kry_shell *shell, const kry_vec *mine, kry_vec *all);

#endif
