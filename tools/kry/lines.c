/*
 * lines.c - a picture of curves over one axis, as SVG.
 */
#include "lines.h"
#include "page/svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 580, LEFT = 84, RIGHT = 34, TOP = 144, BOTTOM = 62 };
enum { CURVES = 16, SOLID = 8, TICKS = 10 };

static const char *const colours[CURVES] = { "#1f5fa8", "#b5651d", "#2f7d4f", "#a61c3c",
                                             "#6b4fa0", "#0f8b8d", "#8a7a00", "#444444",
                                             "#e0559f", "#e6a100", "#7cb342", "#ff6f4d",
                                             "#5d3a1a", "#29b6f6", "#9e9e9e", "#ad7fe0" };

typedef struct point {
    int curve;
    double x, y;
} point;

typedef struct axis {
    char label[96];
    bool log;
    double low, high;    /* of the values on it */
    double ticks[TICKS]; /* every value on the axis, ascending, if there are so few */
    int tick_count;      /* 0: too many, powers or round numbers are marked */
} axis;

struct lines {
    char title[96], subtitle[200];
    axis x, y;
    char name[CURVES][40];
    int curves;
    point *at; /* count */
    int count, room;
};

/* ---- collecting --------------------------------------------------------------------- */

static axis axis_empty(const lines_axis *a)
{
    axis empty = { .log = a->log, .low = INFINITY, .high = -INFINITY };
    snprintf(empty.label, sizeof empty.label, "%s", a->label);
    return empty;
}

kry_status lines_create(const char *title, const char *subtitle, const lines_axis *x,
                        const lines_axis *y, lines **l)
{
    kry_status st = KRY_OK;
    TRY(allocate(1, sizeof **l, l));
    snprintf((*l)->title, sizeof(*l)->title, "%s", title);
    snprintf((*l)->subtitle, sizeof(*l)->subtitle, "%s", subtitle);
    (*l)->x = axis_empty(x);
    (*l)->y = axis_empty(y);
done:
    return st;
}

void lines_release(lines **l)
{
    if (!*l) return;
    free((*l)->at);
    free(*l);
    *l = NULL;
}

static bool fits(const axis *a, double value) { return isfinite(value) && (!a->log || value > 0); }

static void widen(axis *a, double value)
{
    if (value < a->low) a->low = value;
    if (value > a->high) a->high = value;
}

/* Keep the value among the ticks, until there are too many. */
static void note_tick(axis *a, double value)
{
    int i = 0;
    if (a->tick_count < 0) return;
    while (i < a->tick_count && a->ticks[i] < value) i++;
    if (i < a->tick_count && a->ticks[i] == value) return;
    if (a->tick_count == TICKS) {
        a->tick_count = -1;
        return;
    }
    memmove(a->ticks + i + 1, a->ticks + i, (size_t)(a->tick_count - i) * sizeof *a->ticks);
    a->ticks[i] = value;
    a->tick_count++;
}

kry_status lines_add(lines *l, const char *curve, double x, double y)
{
    kry_status st = KRY_OK;
    int c = 0;
    if (!fits(&l->x, x) || !fits(&l->y, y)) goto done;
    while (c < l->curves && strcmp(l->name[c], curve)) c++;
    CHECK(c < CURVES, KRY_ERR_UNSUPPORTED, "more than %d curves in a picture", CURVES);
    if (l->count == l->room) {
        TRY(reallocate((size_t)l->room * 2 + 16, sizeof *l->at, &l->at));
        l->room = l->room * 2 + 16;
    }
    if (c == l->curves) snprintf(l->name[l->curves++], sizeof l->name[c], "%s", curve);
    l->at[l->count++] = (point){ c, x, y };
    widen(&l->x, x);
    widen(&l->y, y);
    note_tick(&l->x, x);
done:
    return st;
}

/* ---- axes --------------------------------------------------------------------------- */

/* Where a value lies between the ends: 0 ... 1. */
static double along(const axis *a, double value)
{
    return a->log ? log10(value / a->low) / log10(a->high / a->low)
                  : (value - a->low) / (a->high - a->low);
}

static double across(const lines *l, double x)
{
    return LEFT + 24 + (WIDTH - LEFT - RIGHT - 48) * along(&l->x, x);
}

static double down(const lines *l, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * along(&l->y, y);
}

/* The vertical axis ends at powers of ten, or begins at zero and ends at a round number. */
static void round_ends(axis *a)
{
    if (a->low > a->high) a->low = a->high = 1;
    if (a->log) {
        a->low = pow(10, floor(log10(a->low)));
        a->high = pow(10, ceil(log10(a->high)));
        if (a->low == a->high) a->high *= 10;
        return;
    }
    if (a->low > 0) a->low = 0;
    if (a->high <= a->low) a->high = a->low + 1;
    double step = kryi_svg_nice_real(a->high - a->low, 8);
    a->low = floor(a->low / step) * step;
    a->high = ceil(a->high / step) * step;
}

/* The horizontal axis ends where the values do. */
static void spread_ends(axis *a)
{
    if (a->low > a->high) a->low = a->high = 1;
    if (a->low < a->high) return;
    a->high = a->log ? a->low * 10 : a->low + 1;
}

static void vertical_tick(FILE *f, const lines *l, double value, bool labelled)
{
    double y = down(l, value);
    kryi_svg_line(f, LEFT, y, WIDTH - RIGHT, y,
                  labelled ? "stroke=\"#ddd\"" : "stroke=\"#f2f2f2\"");
    if (!labelled) return;
    if (l->y.log)
        kryi_svg_power(f, LEFT - 10, y + 5, "end", (int)lround(log10(value)));
    else
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%.6g</text>\n",
                LEFT - 10, y + 5, kryi_svg_ink, value);
}

static void vertical_axis(FILE *f, const lines *l)
{
    const axis *a = &l->y;
    double step = a->log ? 0 : kryi_svg_nice_real(a->high - a->low, 8);
    int powers = a->log ? (int)lround(log10(a->high / a->low)) : 0;
    for (int p = 0; p <= powers && a->log; p++) {
        double power = a->low * pow(10, p);
        for (int digit = 2; digit < 10 && p < powers; digit++)
            vertical_tick(f, l, digit * power, false);
        vertical_tick(f, l, power, true);
    }
    for (int i = 0; !a->log && a->low + i * step <= a->high + step / 2; i++)
        vertical_tick(f, l, a->low + i * step, true);
    fprintf(f,
            "<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\" "
            "fill=\"%s\">",
            (TOP + HEIGHT - BOTTOM) / 2.0, kryi_svg_ink);
    kryi_svg_escaped(f, a->label);
    kryi_svg_end_text(f);
}

static void horizontal_tick(FILE *f, const lines *l, double value)
{
    double x = across(l, value), bottom = HEIGHT - BOTTOM;
    kryi_svg_line(f, x, TOP, x, bottom, "stroke=\"#eee\"");
    kryi_svg_line(f, x, bottom, x, bottom + 5, "stroke=\"#222\"");
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%.6g</text>\n", x,
            bottom + 21, kryi_svg_ink, value);
}

static void horizontal_axis(FILE *f, const lines *l)
{
    const axis *a = &l->x;
    for (int i = 0; i < a->tick_count; i++) horizontal_tick(f, l, a->ticks[i]);
    if (a->tick_count < 0 && a->log)
        for (int power = (int)ceil(log10(a->low)); pow(10, power) <= a->high; power++)
            horizontal_tick(f, l, pow(10, power));
    double step = kryi_svg_nice_real(a->high - a->low, 8), first = ceil(a->low / step) * step;
    for (int i = 0; a->tick_count < 0 && !a->log && first + i * step <= a->high; i++)
        horizontal_tick(f, l, first + i * step);
    fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">",
            (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, kryi_svg_ink);
    kryi_svg_escaped(f, a->label);
    kryi_svg_end_text(f);
}

/* ---- contents ----------------------------------------------------------------------- */

/* A colour for each curve; the paler ones are dashed. */
static const char *dashes(int c) { return c < SOLID ? "none" : "7 4"; }

static void curve(FILE *f, const lines *l, int c)
{
    bool started = false;
    fprintf(f,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-linejoin=\"round\" "
            "stroke-dasharray=\"%s\" d=\"",
            colours[c], dashes(c));
    for (int i = 0; i < l->count; i++) {
        if (l->at[i].curve != c) continue;
        fprintf(f, "%s%.2f %.2f", started ? " L" : "M", across(l, l->at[i].x), down(l, l->at[i].y));
        started = true;
    }
    fputs("\"/>\n", f);
    for (int i = 0; i < l->count; i++)
        if (l->at[i].curve == c)
            fprintf(f, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.5\" fill=\"%s\" stroke=\"white\"/>\n",
                    across(l, l->at[i].x), down(l, l->at[i].y), colours[c]);
}

/* Rows between heading and chart, where no curve can run into them. */
static void legend(FILE *f, const lines *l)
{
    enum { IN_ROW = 6, ROW = 20 };
    double step = (double)(WIDTH - LEFT - RIGHT) / IN_ROW;
    char style[100];
    for (int c = 0; c < l->curves; c++) {
        int row = c / IN_ROW;
        double x = LEFT + c % IN_ROW * step, y = TOP - 58 + row * ROW;
        snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\"",
                 colours[c], dashes(c));
        kryi_svg_line(f, x, y, x + 26, y, style);
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x + 13, y,
                colours[c]);
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" fill=\"%s\">", x + 32, y + 4,
                kryi_svg_ink);
        kryi_svg_escaped(f, l->name[c]);
        kryi_svg_end_text(f);
    }
}

kry_status lines_write(const lines *l, const char *path)
{
    kry_status st = KRY_OK;
    FILE *f = NULL;
    lines fit = *l; /* its axes rounded; the points are still those of l */
    round_ends(&fit.y);
    spread_ends(&fit.x);
    TRY(kryi_svg_open(path, WIDTH, HEIGHT, &f));
    kryi_svg_title(f, LEFT, l->title);
    kryi_svg_end_text(f);
    fprintf(f, "<text x=\"%d\" y=\"58\" fill=\"%s\">", LEFT, kryi_svg_faint);
    kryi_svg_escaped(f, l->subtitle);
    kryi_svg_end_text(f);
    vertical_axis(f, &fit);
    horizontal_axis(f, &fit);
    for (int c = 0; c < l->curves; c++) curve(f, &fit, c);
    fprintf(f,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#222\"/>\n",
            LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    legend(f, l);
    TRY(kryi_svg_close(path, &f));
done:
    return st;
}
