/*
 * bars_picture.c - bars, as SVG in a page.
 */
#include "page/bars_picture.h"
#include "page/html.h"
#include "page/svg.h"
#include "page/text.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 860, LEFT = 190, RIGHT = 200, BAR = 18, STEP = 27, TOP = 24 };

static double total_of(const bar_line *l)
{
    double sum = 0;
    for (int i = 0; i < l->parts; i++) sum += l->part[i].value;
    return sum;
}

static void draw_bar(FILE *f, const bar_line *l, double y, double scale)
{
    double x = LEFT;

    for (int i = 0; i < l->parts; i++) {
        const double width = l->part[i].value * scale;
        if (!(width > 0)) continue;
        fprintf(f, "<rect class=\"area k%d\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\">",
                l->part[i].colour, x, y, width < 0.5 ? 0.5 : width, BAR);
        if (l->part[i].name) kryi_html_element(f, "title", l->part[i].name);
        fputs("</rect>\n", f);
        x += width;
    }
}

static void put_words(FILE *f, const bar_line *l, double y, double scale)
{
    fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 10, y + 13);
    kryi_html_escaped(f, l->label);
    kryi_svg_end_text(f);
    fprintf(f, "<text class=\"faint said\" x=\"%.1f\" y=\"%.1f\">", LEFT + total_of(l) * scale + 8,
            y + 13);
    kryi_html_escaped(f, l->said);
    kryi_svg_end_text(f);
}

void kryi_bars_picture(FILE *f, const bar_chart *c)
{
    const int top = c->limit > 0 ? TOP : 4, height = top + c->count * STEP + 2;
    double most = c->limit;

    for (int i = 0; i < c->count; i++) most = fmax(most, total_of(&c->line[i]));
    const double scale = most > 0 ? (WIDTH - LEFT - RIGHT) / most : 0, at = LEFT + c->limit * scale;
    kryi_html_picture(f, c->label, WIDTH, height, "");
    kryi_svg_line(f, LEFT, top, LEFT, height, "class=\"edge\"");
    for (int i = 0; i < c->count; i++) draw_bar(f, &c->line[i], top + 4 + i * STEP, scale);
    if (c->limit > 0) {
        kryi_svg_line(f, at, top - 6, at, height, "class=\"border\"");
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", at, top - 10);
        kryi_html_escaped(f, c->limit_name);
        kryi_svg_end_text(f);
    }
    for (int i = 0; i < c->count; i++) put_words(f, &c->line[i], top + 4 + i * STEP, scale);
    kryi_html_picture_end(f, c->caption);
}

void kryi_columns_picture(FILE *f, const column_chart *c)
{
    enum { HIGH = 200, ROOM = 400, FOOT = 44, HEAD = 18 };
    const double step = (double)ROOM / (c->count ? c->count : 1), width = fmin(0.8 * step, 46);
    double most = 0;
    char count[32];

    for (int i = 0; i < c->count; i++) most = fmax(most, c->height[i]);
    kryi_html_picture(f, c->label, ROOM + 20, HIGH + FOOT, "");
    for (int i = 0; i < c->count; i++) {
        const double tall = most > 0 ? (HIGH - HEAD) * c->height[i] / most : 0,
                     x = 10 + step * (i + 0.5);
        fprintf(f,
                "<rect class=\"area k0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                x - width / 2, HIGH - tall, width, c->height[i] > 0 ? fmax(tall, 1) : 0);
        if (c->height[i] > 0)
            fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
                    HIGH - tall - 4, kryi_text_whole((int64_t)c->height[i], count, sizeof count));
        fprintf(f, "<text class=\"faint\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x,
                HIGH + 16);
        kryi_html_escaped(f, c->name[i]);
        kryi_svg_end_text(f);
    }
    kryi_svg_line(f, 10, HIGH, ROOM + 10, HIGH, "class=\"edge\"");
    fprintf(f, "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">", 10 + ROOM / 2,
            HIGH + 36);
    kryi_html_escaped(f, c->axis);
    kryi_svg_end_text(f);
    kryi_html_picture_end(f, c->caption);
}
