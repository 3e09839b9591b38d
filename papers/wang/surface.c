/*
 * surface.c - a picture of a function over the unit square, as SVG.
 *
 * Cells are painted from the far corner (0, 0) to the near one (1, 1): what comes later hides what
 * lies behind it.
 */
#include "surface.h"
#include "page/svg.h"
#include <math.h>

enum { WIDTH = 860, HEIGHT = 620, CENTRE = 440, BACK = 330, ACROSS = 330, DEPTH = 115, RISE = 210 };

typedef struct view {
    FILE *file;
    const surface *s;
    double low, high; /* ends of the vertical axis */
} view;

typedef struct spot {
    double x, y;
} spot;

/* A point of space on the page. */
static spot project(const view *v, double x, double y, double z)
{
    double height = (z - v->low) / (v->high - v->low);
    return (spot){ CENTRE + ACROSS * (x - y), BACK + DEPTH * (x + y) - RISE * height };
}

static spot corner(const view *v, int i, int j)
{
    const surface *s = v->s;
    double h = 1.0 / (s->points - 1);
    return project(v, i * h, j * h, s->z[i + (int64_t)s->points * j]);
}

/* From dark blue over green to yellow. */
static void colour(double height, char *text, size_t size)
{
    static const int stops[][3] = {
        { 49, 54, 122 }, { 36, 123, 150 }, { 88, 178, 120 }, { 250, 221, 90 }
    };
    enum { LAST = COUNT(stops) - 1 };
    double place = (!(height > 0) ? 0 : height > 1 ? 1 : height) * LAST;
    int below = place >= LAST ? LAST - 1 : (int)place, rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = (int)lround(stops[below][i] +
                             (place - below) * (stops[below + 1][i] - stops[below][i]));
    snprintf(text, size, "#%02x%02x%02x", (unsigned)rgb[0], (unsigned)rgb[1], (unsigned)rgb[2]);
}

static void cell(const view *v, int i, int j)
{
    const double *z = v->s->z + i + (int64_t)v->s->points * j;
    double mean = (z[0] + z[1] + z[v->s->points] + z[v->s->points + 1]) / 4;
    spot p[] = { corner(v, i, j), corner(v, i + 1, j), corner(v, i + 1, j + 1),
                 corner(v, i, j + 1) };
    char fill[16];
    colour((mean - v->low) / (v->high - v->low), fill, sizeof fill);
    fprintf(v->file, "<path fill=\"%s\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>\n", fill,
            p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y);
}

static void mesh(const view *v)
{
    fputs("<g stroke=\"#223\" stroke-width=\"0.5\" stroke-linejoin=\"round\">\n", v->file);
    for (int j = 0; j + 1 < v->s->points; j++)
        for (int i = 0; i + 1 < v->s->points; i++) cell(v, i, j);
    fputs("</g>\n", v->file);
}

/* ---- axes --------------------------------------------------------------------------- */

static void text_at(const view *v, spot p, const char *anchor, const char *text)
{
    fprintf(v->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", p.x, p.y,
            anchor, kryi_svg_ink);
    kryi_svg_escaped(v->file, text);
    kryi_svg_end_text(v->file);
}

static void edge(const view *v, spot a, spot b, const char *style)
{
    kryi_svg_line(v->file, a.x, a.y, b.x, b.y, style);
}

/* Both near edges of the floor: x from the left corner, y from the right one. */
static void floor_axes(const view *v)
{
    static const char *const ticks[] = { "0", "0.5", "1" };
    const char *line = "stroke=\"#222\"";
    for (int axis = 0; axis < 2; axis++) {
        int side = axis ? 1 : -1; /* x below the left edge, y below the right one */
        const char *anchor = axis ? "start" : "end";
        edge(v, project(v, axis, 1 - axis, v->low), project(v, 1, 1, v->low), line);
        for (int t = 0; t <= 2; t++) {
            spot p = project(v, axis ? 1 : t / 2.0, axis ? t / 2.0 : 1, v->low);
            edge(v, p, (spot){ p.x + side * 5, p.y + 5 }, line);
            text_at(v, (spot){ p.x + side * 10, p.y + 18 }, anchor, ticks[t]);
        }
        spot middle = project(v, axis ? 1 : 0.5, axis ? 0.5 : 1, v->low);
        text_at(v, (spot){ middle.x + side * 48, middle.y + 40 }, anchor, axis ? "y" : "x");
    }
}

/* Above the left corner, with faint lines along the walls behind the surface. */
static void height_axis(const view *v)
{
    double step = kryi_svg_nice_real(v->high - v->low, 5);
    char text[32];
    for (int i = 0; v->low + i * step <= v->high + step / 2; i++) {
        double z = v->low + i * step;
        spot left = project(v, 0, 1, z), back = project(v, 0, 0, z), right = project(v, 1, 0, z);
        edge(v, left, back, "stroke=\"#ddd\"");
        edge(v, back, right, "stroke=\"#ddd\"");
        edge(v, left, (spot){ left.x - 6, left.y }, "stroke=\"#222\"");
        snprintf(text, sizeof text, "%.3g", fabs(z) < step / 1e6 ? 0 : z);
        text_at(v, (spot){ left.x - 10, left.y + 4 }, "end", text);
    }
    edge(v, project(v, 0, 1, v->low), project(v, 0, 1, v->high), "stroke=\"#222\"");
    edge(v, project(v, 0, 0, v->low), project(v, 0, 0, v->high), "stroke=\"#ddd\"");
    edge(v, project(v, 1, 0, v->low), project(v, 1, 0, v->high), "stroke=\"#ddd\"");
    spot top = project(v, 0, 1, v->high);
    text_at(v, (spot){ top.x - 10, top.y - 16 }, "middle", v->s->label);
}

/* Round numbers around the values and zero. */
static void fit_height(view *v)
{
    const surface *s = v->s;
    v->low = v->high = 0;
    for (int64_t i = 0; i < (int64_t)s->points * s->points; i++) {
        if (s->z[i] < v->low) v->low = s->z[i];
        if (s->z[i] > v->high) v->high = s->z[i];
    }
    if (v->high == v->low) v->high = 1;
    double step = kryi_svg_nice_real(v->high - v->low, 5);
    v->low = floor(v->low / step) * step;
    v->high = ceil(v->high / step) * step;
}

kry_status surface_write(const char *path, const surface *s)
{
    kry_status st = KRY_OK;
    view v = { .s = s };
    fit_height(&v);
    TRY(kryi_svg_open(path, WIDTH, HEIGHT, &v.file));
    kryi_svg_title(v.file, 32, s->title);
    kryi_svg_end_text(v.file);
    text_at(&v, (spot){ 32, 58 }, "start", s->subtitle);
    height_axis(&v);
    mesh(&v);
    floor_axes(&v);
    TRY(kryi_svg_close(path, &v.file));
done:
    return st;
}
