/*
 * chart.h - curves, dots and lines over two axes, for a page (html.h). With its script the page shows the values
 * under the pointer and zooms along the horizontal axis.
 */
#ifndef KRY_CHART_H
#define KRY_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct chart_axis {
    const char *label;
    bool log;
    const char *unit; /* of what the script says; NULL: none */
    double low, high; /* kryi_chart_fit sets them; low < high, and > 0 if log */
} chart_axis;

typedef enum series_kind {
    SERIES_LINE,  /* through all points */
    SERIES_DOTS,  /* a dot for each */
    SERIES_LEVEL, /* a line across at y[0] */
    SERIES_MARK   /* a line down at each x */
} series_kind;

typedef struct series {
    const char *name;
    series_kind kind;
    int colour;          /* 0 ... 7 */
    const double *x, *y; /* count; points that do not fit on a logarithmic axis are left out */
    int count;
} series;

typedef struct chart {
    const char *id;    /* of its own in the page */
    const char *label; /* what it shows, in a sentence */
    const char *caption;
    chart_axis x, y;
    const series *series;
    int count;
} chart;

/* Let the axes end where the values do, the vertical one at powers of ten, or at 0 and a round number. */
void kryi_chart_fit(chart *c);
void kryi_chart_write(FILE *f, const chart *c);

/* ---- chart_axes.c: what charts share with time lines ---- */

enum { CHART_WIDTH = 860, CHART_LEFT = 78, CHART_RIGHT = 18, CHART_TOP = 12, CHART_BOTTOM = 50 };
enum { CHART_SPAN = 1000 }; /* width and height of what zooms, whatever its size on the page */

/* A picture of this height that zooms; then its axes; then what zooms, ended by </svg>; then
 * kryi_html_picture_end. */
void kryi_chart_begin(FILE *f, const char *label, const chart_axis *x, const chart_axis *y,
                      int height);
void kryi_chart_axis_beside(FILE *f, const chart_axis *y, int height);
void kryi_chart_axis_below(FILE *f, const chart_axis *x, int height);
void kryi_chart_view(FILE *f, int height);
/* Where a value lies between the ends of its axis: 0 ... 1, or 0 ... CHART_SPAN across. */
double kryi_chart_along(const chart_axis *a, double value);
double kryi_chart_across(const chart_axis *x, double value);

#endif
