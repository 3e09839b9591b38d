/*
 * spy.c - the density of a matrix, as SVG in a page.
 *
 * A square is as dark as the share of its places that are taken, on a logarithmic scale of SHADES steps. Squares of
 * one shade that lie beside each other are one strip: bands and dense blocks take few bytes.
 */
#include "report/spy.h"
#include "page/html.h"
#include "page/text.h"
#include <math.h>
#include <stdlib.h>

enum { SHADES = 5, SIZE = 432, MARGIN = 2 };

kry_status kry_spy_create(int64_t rows, int64_t cols, spy **s)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc(1, sizeof **s, s));
    (*s)->rows = rows, (*s)->cols = cols;
    (*s)->high = rows < SPY_MOST ? (int)rows : SPY_MOST;
    (*s)->wide = cols < SPY_MOST ? (int)cols : SPY_MOST;
done:
    return st;
}

void kry_spy_add(spy *s, const kry_host_matrix *A)
{
    for (int64_t i = 0; i < A->rows; i++) {
        double *line = s->count[(A->first + i) * s->high / s->rows];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            line[(int64_t)A->col[e] * s->wide / s->cols] += 1;
    }
}

void kry_spy_join(spy *s, const spy *other)
{
    for (int i = 0; i < s->high; i++)
        for (int j = 0; j < s->wide; j++) s->count[i][j] += other->count[i][j];
}

void kry_spy_release(spy **s)
{
    free(*s);
    *s = NULL;
}

/* 0: empty; 1 ... SHADES. `most`: entries of the fullest square. */
static int shade_of(double count, double most)
{
    if (count == 0) return 0;
    if (most <= 1) return SHADES;
    const double share = log(count) / log(most); /* 0 ... 1 */
    return 1 + (int)(share * (SHADES - 1) + 0.5);
}

static void draw_shade(FILE *f, const spy *g, double most, int shade)
{
    fprintf(f, "<path class=\"area k0\" fill-opacity=\"%.2f\" d=\"",
            0.2 + 0.8 * (shade - 1) / (SHADES - 1));
    for (int i = 0; i < g->high; i++)
        for (int j = 0; j < g->wide; j++) {
            const int begin = j;
            while (j < g->wide && shade_of(g->count[i][j], most) == shade) j++;
            if (j > begin) fprintf(f, "M%d %dh%dv1h-%dz", begin, i, j - begin, j - begin);
        }
    fputs("\"/>\n", f);
}

void kry_spy_draw(FILE *f, const spy *g)
{
    double most = 0;
    char caption[240], label[160], wide[32], tall[32];

    if (!g->high || !g->wide) return;
    for (int i = 0; i < g->high; i++)
        for (int j = 0; j < g->wide; j++) most = fmax(most, g->count[i][j]);
    snprintf(label, sizeof label, "Where the entries of the matrix are, over %d by %d squares",
             g->high, g->wide);
    kry_text_whole((g->rows + g->high - 1) / g->high, tall, sizeof tall);
    kry_text_whole((g->cols + g->wide - 1) / g->wide, wide, sizeof wide);
    snprintf(
        caption, sizeof caption,
        "Entries: each square stands for %s rows and %s columns; the darkest has %.0f entries, the "
        "palest one, in steps of equal ratios.",
        tall, wide, most);
    const double scale = (double)(SIZE - 2 * MARGIN) / (g->high > g->wide ? g->high : g->wide);
    kry_html_picture(f, label, SIZE, (int)(g->high * scale) + 2 * MARGIN,
                     "shape-rendering=\"crispEdges\"");
    fprintf(f, "<g transform=\"translate(%d %d) scale(%.4f)\">\n", MARGIN, MARGIN, scale);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(f, g, most, shade);
    fprintf(f, "</g><rect class=\"edge\" x=\"1\" y=\"1\" width=\"%.1f\" height=\"%.1f\"/>\n",
            g->wide * scale + 2, g->high * scale + 2);
    kry_html_picture_end(f, caption);
}
