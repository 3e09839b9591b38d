/*
 * part_boxes.h - geometric multigrid on a team, of whose fine grids each part has a box: the operators of a level.
 *
 * Each of them takes and makes the numbers of the part's own points. Those beside them are brought, and then the kernels of
 * a grid in one piece run on a window. So all numbers are those of one device, wherever the grid is cut.
 */
#ifndef KRY_PART_BOXES_H
#define KRY_PART_BOXES_H

#include "multigrid/part_window.h"
#include "operator/op.h"

/* Vectors that all levels use, one after the other: of so many numbers as their windows have at most. */
typedef struct kry_part_rooms {
    kry_vec *fine, *coarse; /* owned by the family. In a product x; between two grids both */
} kry_part_rooms;

/* A := the operator of a stored stencil whose numbers are yet to be made: those of kry_cut_near(cut), in kry_box_of_part.
 * cut, rooms: borrowed. Collective. Waits. */
kry_status kry_part_box_create(kry_device *dev, kry_type type, const kry_cut *cut, unsigned traits,
                               const kry_part_rooms *rooms, kry_op **A);
/* The box on the window, borrowed. */
kry_op *kry_box_of_part(const kry_op *A);
const kry_cut *kry_part_box_cut(const kry_op *A); /* borrowed */
/* The window of its numbers; and brings those of other parts. */
const kry_shell *kry_part_box_shell(const kry_op *A);

/* P := the interpolation between the parts of two grids, whose weights are yet to be made: those of kry_cut_near(coarse), in
 * kry_transfer_of_part. rooms: borrowed. Collective. Waits. */
kry_status kry_part_transfer_create(kry_device *dev, kry_type type, const kry_cut *fine,
                                    unsigned coarsened, const kry_cut *coarse,
                                    const kry_part_rooms *rooms, kry_op **P);
kry_op *kry_transfer_of_part(const kry_op *P);

/* ---- part_stencil.c: the stencil of a grid operator's part, and around it ----------------------------- */

/* What a window of the finest grid is made of. */
typedef struct kry_part_stencil {
    kry_stencil stencil; /* for kernels of box_setup.c alone: it has no sweeps */
    kry_box_source source;
} kry_part_stencil;
/* Collective. Waits. */
kry_status kry_part_stencil_make(const kry_op *A, const kry_cut *cut, const kry_window *window,
                                 kry_part_stencil *s);
void kry_part_stencil_release(kry_part_stencil *s);

/* ---- part_numbers.c: the numbers of a level --------------------------------------------------------------- */

/* The stencil of a level around a part's own points. */
typedef struct kry_around {
    kry_window window;
    kry_part_stencil stencil; /* of the finest level */
    kry_op *box;              /* owned: of others */
    kry_box_source source;    /* one of the two */
} kry_around;
/* A: a share of a grid operator, or a level below it. Collective. Waits. */
kry_status kry_look_around(const kry_op *A, const kry_cut *cut, kry_around *s);
void kry_around_release(kry_around *s);
/* The weights of P, and the numbers of the next coarser A: P'A P of what is around it. Collective. */
kry_status kry_part_make_numbers(const kry_around *s, unsigned coarsened, const kry_op *P,
                                 const kry_op *A);
/* kry_whole.collect of a level in parts. */
kry_status kry_collect_box(const kry_op *A, kry_op **whole);

#endif
