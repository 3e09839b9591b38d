/*
 * lines.h - a picture of numbers over a size: a line for each of several names.
 */
#ifndef KRY_LINES_H
#define KRY_LINES_H

#include "core/internal.h"

typedef struct lines lines;

typedef struct lines_text {
    const char *title, *subtitle, *across, *up; /* the last two name the axes */
} lines_text;

/* Text is copied. `powers`: the vertical axis goes by powers of ten, else from 0. */
kry_status lines_create(const lines_text *text, bool powers, lines **l);
/* A point of the line `name`, the first of its name opening it; NaN is left out. */
kry_status lines_add(lines *l, const char *name, double x, double y);
kry_status lines_write(const lines *l, const char *path);
void lines_release(lines **l);

#endif
