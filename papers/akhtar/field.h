/*
 * field.h - a picture of a field in a box: three slices through its middle, in colours.
 */
#ifndef KRY_FIELD_H
#define KRY_FIELD_H

#include "common.h"

typedef struct field {
    const char *title, *subtitle;
    int64_t size[3];
    const double *value; /* number i + nx (j + ny k) */
} field;

kry_status field_write(const field *f, const char *path);

#endif
