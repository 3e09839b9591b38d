/*
 * lines.c - a picture of numbers over a size, as SVG.
 */
#include "lines.h"
#include "svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 860,
    HEIGHT = 540,
    LEFT = 84,
    RIGHT = 150, /* room for the names */
    TOP = 104,
    BOTTOM = 62,
    MOST_NAMES = 16,
    NAME_STEP = 20
};

/* Two rounds: the second is dashed. */
static const char *const colours[] = { "#1f5fa8", "#b5651d", "#2f7d4f", "#a61c3c",
                                       "#6a4c93", "#0f8b8d", "#8a6d1f", "#555555" };
enum { COLOURS = COUNT(colours) };

typedef struct point {
    int name;
    double x, y;
} point;

struct lines {
    char title[96], subtitle[200], across[64], up[64];
    bool powers;
    char name[MOST_NAMES][24];
    int names, count, room;
    point *point;
};

/* ---- collecting --------------------------------------------------------------------- */

kry_status lines_create(const lines_text *text, bool powers, lines **l)
{
    kry_status st = KRY_OK;
    TRY(kry_alloc(1, sizeof **l, l));
    snprintf((*l)->title, sizeof(*l)->title, "%s", text->title);
    snprintf((*l)->subtitle, sizeof(*l)->subtitle, "%s", text->subtitle);
    snprintf((*l)->across, sizeof(*l)->across, "%s", text->across);
    snprintf((*l)->up, sizeof(*l)->up, "%s", text->up);
    (*l)->powers = powers;
done:
    return st;
}

void lines_release(lines **l)
{
    if (!*l) return;
    free((*l)->point);
    free(*l);
    *l = NULL;
}

static int find_name(lines *l, const char *name)
{
    int i = 0;
    while (i < l->names && strcmp(l->name[i], name) != 0) i++;
    if (i == l->names && i < MOST_NAMES)
        snprintf(l->name[l->names++], sizeof l->name[0], "%s", name);
    return i;
}

kry_status lines_add(lines *l, const char *name, double x, double y)
{
    kry_status st = KRY_OK;
    if (!isfinite(y) || (l->powers && y <= 0)) goto done;
    int index = find_name(l, name);
    CHECK(index < MOST_NAMES, KRY_ERR_ARGUMENT, "more than %d lines in a picture", MOST_NAMES);
    if (l->count == l->room) {
        TRY(kry_realloc((size_t)l->room * 2 + 32, sizeof *l->point, &l->point));
        l->room = l->room * 2 + 32;
    }
    l->point[l->count++] = (point){ index, x, y };
done:
    return st;
}

/* ---- drawing ------------------------------------------------------------------------ */

typedef struct page {
    FILE *file;
    bool powers;
    double left, right; /* x at the ends of the axis */
    double low, high;   /* y, or its powers of ten */
} page;

static double place(const page *p, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (x - p->left) / (p->right - p->left);
}

static double height(const page *p, double y)
{
    double v = p->powers ? log10(y) : y;
    return TOP + (HEIGHT - TOP - BOTTOM) * (p->high - v) / (p->high - p->low);
}

/* 1, 2 or 5 times a power of ten, so that at most ten fit. */
static double nice_step(double range)
{
    double power = pow(10, floor(log10(range / 10)));
    for (int i = 0; i < 3; i++) {
        static const int mantissa[] = { 1, 2, 5 };
        if (range / (mantissa[i] * power) <= 10) return mantissa[i] * power;
    }
    return 10 * power;
}

static page page_fit(const lines *l)
{
    page p = { .powers = l->powers,
               .left = 0,
               .right = 0,
               .low = l->powers ? 300 : 0,
               .high = l->powers ? -300 : 0 };
    for (int i = 0; i < l->count; i++) {
        double y = l->powers ? log10(l->point[i].y) : l->point[i].y;
        if (l->point[i].x > p.right) p.right = l->point[i].x;
        if (y > p.high) p.high = l->powers ? ceil(y) : y;
        if (y < p.low) p.low = l->powers ? floor(y) : p.low;
    }
    if (p.right <= 0) p.right = 1;
    p.right *= 1.04;
    if (p.high <= p.low) p.low = 0, p.high = 1;
    if (!l->powers) p.high *= 1.05;
    return p;
}

static void label(FILE *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
            svg_ink);
    svg_escaped(f, text);
    svg_end_text(f);
}

static void axes(const page *p)
{
    char text[40];
    double step = p->powers ? 1 : nice_step(p->high), across = nice_step(p->right);
    for (double v = p->low; v <= p->high * (1 + 1e-9) + (p->powers ? 1e-9 : 0); v += step) {
        double y = height(p, p->powers ? pow(10, v) : v);
        svg_line(p->file, LEFT, y, WIDTH - RIGHT, y, "stroke=\"#ddd\"");
        snprintf(text, sizeof text, "%.4g", p->powers ? pow(10, v) : v);
        label(p->file, LEFT - 10, y + 5, "end", text);
    }
    for (double x = 0; x <= p->right; x += across) {
        svg_line(p->file, place(p, x), HEIGHT - BOTTOM, place(p, x), HEIGHT - BOTTOM + 5,
                 "stroke=\"#222\"");
        snprintf(text, sizeof text, "%.4g", x);
        label(p->file, place(p, x), HEIGHT - BOTTOM + 22, "middle", text);
    }
    svg_line(p->file, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "stroke=\"#222\"");
}

static void draw_line(const lines *l, const page *p, int name)
{
    const char *colour = colours[name % COLOURS], *dash = name < COLOURS ? "" : "6 4";
    fprintf(p->file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" "
            "points=\"",
            colour, dash);
    for (int i = 0; i < l->count; i++)
        if (l->point[i].name == name)
            fprintf(p->file, "%.1f,%.1f ", place(p, l->point[i].x), height(p, l->point[i].y));
    fprintf(p->file, "\"/>\n");
    for (int i = 0; i < l->count; i++)
        if (l->point[i].name == name)
            fprintf(p->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    place(p, l->point[i].x), height(p, l->point[i].y), colour);
}

static void legend(const lines *l, const page *p)
{
    for (int i = 0; i < l->names; i++) {
        char style[120];
        double y = TOP + 8 + NAME_STEP * i, x = WIDTH - RIGHT + 16;
        snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"",
                 colours[i % COLOURS], i < COLOURS ? "" : "6 4");
        svg_line(p->file, x, y, x + 26, y, style);
        label(p->file, x + 34, y + 5, "start", l->name[i]);
    }
}

kry_status lines_write(const lines *l, const char *path)
{
    kry_status st = KRY_OK;
    page p = page_fit(l);
    TRY(svg_open(path, WIDTH, HEIGHT, &p.file));
    svg_title(p.file, 32, l->title);
    svg_end_text(p.file);
    label(p.file, 32, 58, "start", l->subtitle);
    label(p.file, LEFT, TOP - 16, "start", l->up);
    label(p.file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "middle", l->across);
    axes(&p);
    for (int i = 0; i < l->names; i++) draw_line(l, &p, i);
    legend(l, &p);
    TRY(svg_close(path, &p.file));
done:
    return st;
}
