/*
 * lines.h - a picture of curves over one axis.
 */
#ifndef KRY_LINES_H
#define KRY_LINES_H

#include "core/internal.h"

typedef struct lines lines;

/* Text is copied. */
typedef struct lines_axis {
    const char *label;
    bool log; /* in powers of ten; what is not positive is left out then */
} lines_axis;

kry_status lines_create(const char *title, const char *subtitle, const lines_axis *x,
                        const lines_axis *y, lines **l);
/* One point more of a curve; those that are not finite are left out. Curves are told by their
 * names, and drawn through their points in the order in which these come.
 * Returns  KRY_ERR_UNSUPPORTED for more than eight curves. */
kry_status lines_add(lines *l, const char *curve, double x, double y);
kry_status lines_write(const lines *l, const char *path);
void lines_release(lines **l);

#endif
