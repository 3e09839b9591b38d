/*
 * lines.h - a picture of curves over one axis.
 */
#ifndef KRY_LINES_H
#define KRY_LINES_H

#include "common.h"

typedef struct lines lines;

typedef struct lines_axis {
    const char *label;
    bool log; /* then points that are not positive are left out */
} lines_axis;

/* Text is copied. */
kry_status lines_create(const char *title, const char *subtitle, const lines_axis *x,
                        const lines_axis *y, lines **l);
/* One point more of the curve of this name, which is drawn through its points in the order in which
 * they come; those that are not finite are left out.
 * Returns  KRY_ERR_UNSUPPORTED for more than sixteen curves. */
kry_status lines_add(lines *l, const char *curve, double x, double y);
kry_status lines_write(const lines *l, const char *path);
void lines_release(lines **l);

#endif
