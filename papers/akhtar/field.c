/*
 * field.c - a picture of a field in a box, as SVG.
 */
#include "field.h"
#include "page/svg.h"
#include <math.h>

enum {
    SIDE = 250, /* of a slice */
    GAP = 30,
    LEFT = 32,
    TOP = 110,
    SCALE_WIDTH = 18,
    WIDTH = LEFT + 3 * (SIDE + GAP) + SCALE_WIDTH + 70,
    HEIGHT = TOP + SIDE + 50,
    MOST_CELLS = 64, /* along a side: more are not seen */
    LEVELS = 48
};

/* From blue by way of yellow to red. */
static void colour_of(int level, int rgb[3])
{
    static const int stop[][3] = { { 38, 52, 130 },   { 49, 120, 180 }, { 122, 190, 190 },
                                   { 244, 232, 150 }, { 236, 140, 70 }, { 165, 24, 38 } };
    const int last = (int)COUNT(stop) - 1;
    double at = (double)level / LEVELS * last;
    int low = (int)at < last - 1 ? (int)at : last - 1;
    for (int c = 0; c < 3; c++)
        rgb[c] = (int)lround(stop[low][c] + (at - low) * (stop[low + 1][c] - stop[low][c]));
}

typedef struct range {
    double low, high;
} range;

static range range_of(const field *f)
{
    range r = { INFINITY, -INFINITY };
    for (int64_t i = 0; i < f->size[0] * f->size[1] * f->size[2]; i++) {
        if (f->value[i] < r.low) r.low = f->value[i];
        if (f->value[i] > r.high) r.high = f->value[i];
    }
    if (!(r.low < r.high)) r.high = r.low + 1;
    return r;
}

static int level_of(const range *r, double value)
{
    int level = (int)((value - r->low) / (r->high - r->low) * LEVELS);
    return level < 0 ? 0 : level > LEVELS ? LEVELS : level;
}

static void cell(FILE *file, double x, double y, double width, double height, int level)
{
    int rgb[3];
    colour_of(level, rgb);
    fprintf(file,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%02x%02x%02x\" "
            "shape-rendering=\"crispEdges\"/>\n",
            x, y, width, height, rgb[0], rgb[1], rgb[2]);
}

/* The slice through the middle of axis `across`; cells of one level in a row are one piece. */
static void slice(FILE *file, const field *f, const range *r, int across, double left)
{
    const int64_t stride[3] = { 1, f->size[0], f->size[0] * f->size[1] };
    int u = across == 0 ? 1 : 0, v = across == 2 ? 1 : 2;
    int nu = f->size[u] < MOST_CELLS ? (int)f->size[u] : MOST_CELLS;
    int nv = f->size[v] < MOST_CELLS ? (int)f->size[v] : MOST_CELLS;
    for (int q = 0; q < nv; q++) {
        int64_t row = f->size[across] / 2 * stride[across] + f->size[v] * q / nv * stride[v];
        double y = TOP + SIDE * (double)(nv - 1 - q) / nv;
        for (int p = 0, end; p < nu; p = end) {
            int level = level_of(r, f->value[row + f->size[u] * p / nu * stride[u]]);
            for (end = p + 1; end < nu; end++)
                if (level_of(r, f->value[row + f->size[u] * end / nu * stride[u]]) != level) break;
            cell(file, left + SIDE * (double)p / nu, y, SIDE * (double)(end - p) / nu,
                 SIDE / (double)nv, level);
        }
    }
    fprintf(file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%c across, %c up; middle "
            "of %c</text>\n",
            left + SIDE / 2.0, TOP + SIDE + 24, kryi_svg_ink, "xyz"[u], "xyz"[v], "xyz"[across]);
}

static void scale(FILE *file, const range *r)
{
    double left = LEFT + 3 * (SIDE + GAP);
    for (int level = 0; level <= LEVELS; level++)
        cell(file, left, TOP + SIDE * (double)(LEVELS - level) / (LEVELS + 1), SCALE_WIDTH,
             SIDE / (LEVELS + 1.0), level);
    for (int t = 0; t <= 4; t++)
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%.3g</text>\n",
                left + SCALE_WIDTH + 8, TOP + SIDE * (4 - t) / 4.0 + 5, kryi_svg_ink,
                r->low + (r->high - r->low) * t / 4);
}

kry_status field_write(const field *f, const char *path)
{
    kry_status st = KRY_OK;
    FILE *file = NULL;
    range r = range_of(f);
    TRY(kryi_svg_open(path, WIDTH, HEIGHT, &file));
    kryi_svg_title(file, LEFT, f->title);
    kryi_svg_end_text(file);
    fprintf(file, "<text x=\"%d\" y=\"62\" fill=\"%s\">", LEFT, kryi_svg_faint);
    kryi_svg_escaped(file, f->subtitle);
    kryi_svg_end_text(file);
    for (int i = 0; i < 3; i++) slice(file, f, &r, 2 - i, LEFT + i * (SIDE + GAP));
    scale(file, &r);
    TRY(kryi_svg_close(path, &file));
done:
    return st;
}
