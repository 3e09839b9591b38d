/*
 * bars.h - a picture of bandwidths: a bar for each format, in a group for each matrix.
 */
#ifndef KRY_BARS_H
#define KRY_BARS_H

#include "common.h"

typedef struct bars bars;

/* Text is copied. */
kry_status bars_create(const char *title, const char *subtitle, bars **b);
/* `fraction` is the bar's length, 1 being the speed of a copy; `gbytes_per_s` stands beside it.
 * Bars of a group follow each other. */
kry_status bars_add(bars *b, const char *group, const char *label, double fraction,
                    double gbytes_per_s);
kry_status bars_write(const bars *b, const char *path);
void bars_release(bars **b);

#endif
