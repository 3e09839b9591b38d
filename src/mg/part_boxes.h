/*
 * part_boxes.h - geometric multigrid on a team, of whose fine grids each part has a box, and around it what is other parts':
 * between two levels, and their numbers.
 *
 * On a part's window the operators of a level are those of grids in one piece. So all numbers are those of one device,
 * wherever the grid is cut.
 */
#ifndef KRY_PART_BOXES_H
#define KRY_PART_BOXES_H

#include "multigrid/hierarchy.h"
#include "multigrid/part_window.h"

/* ---- part_transfer.c --------------------------------------------------------------------------------- */

/* P := the interpolation to kryi_cut_wide(fine) from what the coarse grid's window has, with weights yet to be made: those of
 * kryi_transfer_of_part. P' brings what other parts have of the coarse grid, and is collective. coarse: borrowed. */
kry_status kryi_part_transfer_create(kry_device *dev, kry_type type, const kryi_cut *fine,
                                     unsigned coarsened, const kryi_shell *coarse, kry_op **P);
/* Between the fine window and the coarse points that lie in it, and these; borrowed. */
kry_op *kryi_transfer_of_part(const kry_op *P);
const kryi_window *kryi_inner_window_of_part(const kry_op *P);

/* Passes of so many steps between the level of A, on a window, and that below P, such an interpolation; both have to outlive
 * them. For level->passes and level->self; *out is not touched where there are none. */
typedef struct kryi_part_passes kryi_part_passes;
kry_status kryi_part_passes_create(const kry_op *A, const kry_op *P, int steps, kryi_level *level,
                                   kryi_part_passes **out);
void kryi_part_passes_release(kryi_part_passes **p);

#endif
