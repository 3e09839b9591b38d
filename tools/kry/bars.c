/*
 * bars.c - a picture of bandwidths, as SVG.
 */
#include "bars.h"
#include "page/svg.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 860,
    LEFT = 150,
    RIGHT = 150, /* room for labels on both sides */
    TOP = 104,
    BOTTOM = 58,
    BAR = 15,
    STEP = 20, /* height of a bar; from one to the next */
    GROUP_HEAD = 26,
    GROUP_GAP = 16
};
static const char bar_colour[] = "#1f5fa8", auto_colour[] = "#b5651d";

typedef struct bar {
    char group[64], label[40];
    double fraction, gbytes_per_s;
} bar;

struct bars {
    char title[96], subtitle[200];
    bar *bar;
    int count, room, groups;
};

/* ---- collecting --------------------------------------------------------------------- */

kry_status bars_create(const char *title, const char *subtitle, bars **b)
{
    kry_status st = KRY_OK;
    TRY(allocate(1, sizeof **b, b));
    snprintf((*b)->title, sizeof(*b)->title, "%s", title);
    snprintf((*b)->subtitle, sizeof(*b)->subtitle, "%s", subtitle);
done:
    return st;
}

void bars_release(bars **b)
{
    if (!*b) return;
    free((*b)->bar);
    free(*b);
    *b = NULL;
}

static bool opens_group(const bars *b, int i)
{
    return i == 0 || strcmp(b->bar[i].group, b->bar[i - 1].group) != 0;
}

kry_status bars_add(bars *b, const char *group, const char *label, double fraction,
                    double gbytes_per_s)
{
    kry_status st = KRY_OK;
    const char *slash = strrchr(group, '/');
    if (b->count == b->room) {
        TRY(reallocate((size_t)b->room * 2 + 16, sizeof *b->bar, &b->bar));
        b->room = b->room * 2 + 16;
    }
    bar *new = &b->bar[b->count++];
    *new = (bar){ .fraction = isfinite(fraction) ? fraction : 0, .gbytes_per_s = gbytes_per_s };
    snprintf(new->group, sizeof new->group, "%s", slash ? slash + 1 : group);
    snprintf(new->label, sizeof new->label, "%s", label);
    b->groups += opens_group(b, b->count - 1);
done:
    return st;
}

/* ---- drawing ------------------------------------------------------------------------ */

typedef struct page {
    FILE *file;
    int height;
    int64_t percent; /* at the right end of the axis */
} page;

static double across(const page *p, double percent)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * percent / (double)p->percent;
}

static void axis(const page *p)
{
    double bottom = p->height - BOTTOM;
    int64_t step = kryi_svg_nice_step(p->percent, 8);
    for (int64_t percent = 0; percent <= p->percent; percent += step) {
        double x = across(p, (double)percent);
        kryi_svg_line(p->file, x, TOP, x, bottom,
                      percent ? "stroke=\"#e4e4e4\"" : "stroke=\"#222\"");
        fprintf(p->file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%" PRId64
                " %%</text>\n",
                x, bottom + 20, kryi_svg_ink, percent);
    }
    kryi_svg_line(p->file, across(p, 100), TOP - 8, across(p, 100), bottom,
                  "stroke=\"#a61c3c\" stroke-width=\"1.4\" stroke-dasharray=\"7 5\"");
    fprintf(p->file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\" fill=\"#a61c3c\">"
            "copy</text>\n",
            across(p, 100), TOP - 13);
    fprintf(p->file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">bytes per second, of "
            "those of a copy of a vector</text>\n",
            (LEFT + WIDTH - RIGHT) / 2.0, p->height - 16, kryi_svg_ink);
}

static void draw_bar(const page *p, const bar *r, double y)
{
    double end = across(p, 100 * r->fraction);
    bool automatic = !strcmp(r->label, "auto") || !strncmp(r->label, "measure", 7);
    fprintf(p->file,
            "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">",
            LEFT, y, end - LEFT, BAR, automatic ? auto_colour : bar_colour, LEFT - 8, y + 12,
            kryi_svg_ink);
    fprintf(p->file, "%.16s", r->label); /* names of formats need no escape */
    kryi_svg_end_text(p->file);
    fprintf(p->file,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" fill=\"%s\" stroke=\"white\" "
            "stroke-width=\"3\" paint-order=\"stroke\">%.*f GB/s, %.0f %%</text>\n",
            end + 6, y + 12, kryi_svg_faint, r->gbytes_per_s < 100 ? 1 : 0, r->gbytes_per_s,
            100 * r->fraction);
}

static void draw_bars(const bars *b, const page *p)
{
    double y = TOP;
    for (int i = 0; i < b->count; i++) {
        if (opens_group(b, i)) {
            y += i ? GROUP_GAP : 0;
            fprintf(p->file,
                    "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\" fill=\"%s\" "
                    "stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">",
                    LEFT + 6, y + 18, kryi_svg_ink);
            kryi_svg_escaped(p->file, b->bar[i].group);
            kryi_svg_end_text(p->file);
            y += GROUP_HEAD;
        }
        draw_bar(p, &b->bar[i], y);
        y += STEP;
    }
}

static page page_fit(const bars *b)
{
    double longest = 1;
    for (int i = 0; i < b->count; i++)
        if (b->bar[i].fraction > longest) longest = b->bar[i].fraction;
    int gaps = b->groups > 1 ? b->groups - 1 : 0;
    int content = b->groups * GROUP_HEAD + gaps * GROUP_GAP + b->count * STEP + 4;
    return (page){ .height = TOP + content + BOTTOM, .percent = (int64_t)ceil(longest * 100) };
}

kry_status bars_write(const bars *b, const char *path)
{
    kry_status st = KRY_OK;
    page p = page_fit(b);
    TRY(kryi_svg_open(path, WIDTH, p.height, &p.file));
    kryi_svg_title(p.file, 32, b->title);
    kryi_svg_end_text(p.file);
    fprintf(p.file, "<text x=\"32\" y=\"58\" fill=\"%s\">", kryi_svg_faint);
    kryi_svg_escaped(p.file, b->subtitle);
    kryi_svg_end_text(p.file);
    axis(&p);
    draw_bars(b, &p);
    TRY(kryi_svg_close(path, &p.file));
done:
    return st;
}
