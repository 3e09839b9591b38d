/*
 * spy.c - the density of a matrix, as SVG in a page.
 *
 * A square is as dark as the share of its places that are taken, on a logarithmic scale of SHADES steps. Squares of
 * one shade that lie beside each other are one strip: bands and dense blocks take few bytes.
 */
#include "spy.h"
#include "html.h"
#include "svg.h"
#include "text.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 72, SHADES = 5, SIZE = 432, MARGIN = 2 };

typedef struct grid {
    int rows, cols; /* of squares */
    double count[MOST][MOST];
} grid;

static int squares(int64_t n) { return n < MOST ? (int)n : MOST; }

static void count_entries(const sparse *A, int64_t rows, int64_t cols, grid *g)
{
    g->rows = squares(rows);
    g->cols = squares(cols);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            g->count[i * g->rows / rows][(int64_t)A->col[e] * g->cols / cols] += 1;
}

/* 0: empty; 1 ... SHADES. `most`: entries of the fullest square. */
static int shade_of(double count, double most)
{
    if (count == 0) return 0;
    if (most <= 1) return SHADES;
    const double share = log(count) / log(most); /* 0 ... 1 */
    return 1 + (int)(share * (SHADES - 1) + 0.5);
}

static void draw_shade(FILE *f, const grid *g, double most, int shade)
{
    fprintf(f, "<path class=\"area k0\" fill-opacity=\"%.2f\" d=\"",
            0.2 + 0.8 * (shade - 1) / (SHADES - 1));
    for (int i = 0; i < g->rows; i++)
        for (int j = 0; j < g->cols; j++) {
            const int begin = j;
            while (j < g->cols && shade_of(g->count[i][j], most) == shade) j++;
            if (j > begin) fprintf(f, "M%d %dh%dv1h-%dz", begin, i, j - begin, j - begin);
        }
    fputs("\"/>\n", f);
}

kry_status spy_picture(FILE *f, const sparse *A, int64_t rows, int64_t cols)
{
    kry_status st = KRY_OK;
    grid *g = NULL;
    double most = 0;
    char caption[240], label[160], wide[32], tall[32];

    TRY(allocate(1, sizeof *g, &g));
    count_entries(A, rows, cols, g);
    for (int i = 0; i < g->rows; i++)
        for (int j = 0; j < g->cols; j++) most = fmax(most, g->count[i][j]);
    snprintf(label, sizeof label, "Where the entries of the matrix are, over %d by %d squares",
             g->rows, g->cols);
    text_whole((rows + g->rows - 1) / g->rows, tall, sizeof tall);
    text_whole((cols + g->cols - 1) / g->cols, wide, sizeof wide);
    snprintf(
        caption, sizeof caption,
        "Entries: each square stands for %s rows and %s columns; the darkest has %.0f entries, the "
        "palest one, in steps of equal ratios.",
        tall, wide, most);
    const double scale = (double)(SIZE - 2 * MARGIN) / (g->rows > g->cols ? g->rows : g->cols);
    html_picture(f, label, SIZE, (int)(g->rows * scale) + 2 * MARGIN,
                 "shape-rendering=\"crispEdges\"");
    fprintf(f, "<g transform=\"translate(%d %d) scale(%.4f)\">\n", MARGIN, MARGIN, scale);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(f, g, most, shade);
    fprintf(f, "</g><rect class=\"edge\" x=\"1\" y=\"1\" width=\"%.1f\" height=\"%.1f\"/>\n",
            g->cols * scale + 2, g->rows * scale + 2);
    html_picture_end(f, caption);
done:
    free(g);
    return st;
}
