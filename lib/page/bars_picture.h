/*
 * kryi_bars_picture.h - numbers as bars, beside each other, for a page (html.h).
 */
#ifndef KRY_BARS_PICTURE_H
#define KRY_BARS_PICTURE_H

#include <stdio.h>

typedef struct bar_part {
    double value;
    int colour; /* 0 ... 7 */
    const char *name;
} bar_part;

typedef struct bar_line {
    const char *label; /* left of it */
    char said[80];     /* behind it */
    bar_part part[4];  /* end to end; those of 0 are not drawn */
    int parts;
} bar_line;

typedef struct bar_chart {
    const char *label, *caption; /* what it shows; what stands below */
    double limit;                /* a line at this value; 0: none, */
    const char *limit_name;      /* with this name */
    const bar_line *line;
    int count;
} bar_chart;

/* Lying bars, one below the other. */
void kryi_bars_picture(FILE *f, const bar_chart *c);

/* Standing bars over whole numbers: heights[i] over labels[i]. */
typedef struct column_chart {
    const char *label, *caption, *axis;
    const double *height;
    char (*name)[32]; /* read only */
    int count;
} column_chart;
void kryi_columns_picture(FILE *f, const column_chart *c);

#endif
