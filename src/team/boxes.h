/*
 * boxes.h - a grid cut across two or three axes: a box of it for each part of a team.
 */
#ifndef KRY_BOXES_H
#define KRY_BOXES_H

#include "team/split.h"

/*
 * The boxes of a grid. Part r = b + parts[0] (c + parts[1] d) has the b-th interval of x, the c-th of y and the d-th of
 * z, and in it the unknown that is (i, j, k) from its first one has place i + width (j + height k). With two axes
 * size[2] and parts[2] are 1.
 */
struct kryi_boxes {
    int64_t size[3];   /* unknowns of the whole grid along each axis */
    int parts[3];      /* how many intervals each axis is cut into */
    int64_t *begin[3]; /* parts[a] + 1: where they begin; owned */
};

/* What part r has: `size` unknowns along each axis, from `first` on. */
typedef struct kryi_grid_box {
    int64_t first[3], size[3];
    int at[3]; /* which interval of each axis */
} kryi_grid_box;
kryi_grid_box kryi_boxes_part(const kryi_boxes *boxes, int r);
/* The part whose box is next to that of part r along an axis; -1: the grid ends there, or the axis is not cut. */
int kryi_boxes_beside(const kryi_boxes *boxes, int r, int axis, bool high, bool periodic);
/* The row of the whole, i + nx (j + ny k), that unknown i of part r is; and the part of a row, with its place there. */
int64_t kryi_boxes_row(const kryi_boxes *boxes, int r, int64_t i);
int kryi_boxes_find(const kryi_boxes *boxes, int64_t row, int64_t *i);

/* A grid that is to be cut. */
typedef struct kryi_grid_cut {
    int64_t size[3];
    int axes;
    bool periodic[3];
    int blocks[3]; /* as the caller wants it; all 0: as kryi_boxes_choose does */
} kryi_grid_cut;

/*
 * blocks := into how many intervals each axis is cut for so many parts. Slabs, {1, 1, parts}, unless there are boxes
 * that receive less than half as many words, or no slabs because the last axis is too short. Of boxes those that
 * receive least; of two alike those with longer rows. Nothing fits: {0, 0, 0}.
 */
void kryi_boxes_choose(const kryi_grid_cut *grid, int parts, int blocks[3]);
/* The words that a part receives in a product, at most. */
int64_t kryi_boxes_words(const kryi_grid_cut *grid, const int blocks[3]);

/* The split for a grid: that which the team has for as many rows, else slabs or boxes. Retained. Errors as
 * kryi_split_get, and KRY_ERR_ARGUMENT, KRY_ERR_UNSUPPORTED for blocks that cannot be. */
kry_status kryi_split_grid(struct kryi_team *team, const char *who, const kryi_grid_cut *grid,
                           kryi_split **split);

#endif
