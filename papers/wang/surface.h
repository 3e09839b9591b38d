/*
 * surface.h - a picture of a function over the unit square.
 */
#ifndef KRY_SURFACE_H
#define KRY_SURFACE_H

#include "common.h"

typedef struct surface {
    const char *title, *subtitle;
    const char *label; /* of the vertical axis */
    int points;        /* along each side, the sides' own included; > 1 */
    const double *z;   /* points-by-points, x first; finite */
} surface;

/* Write an SVG: the surface as a mesh, seen from above the corner (1, 1). */
kry_status surface_write(const char *path, const surface *s);

#endif
