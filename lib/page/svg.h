/*
 * svg.h - what the pictures are made of.
 */
#ifndef KRY_SVG_H
#define KRY_SVG_H

#include "page/page.h"

extern const char kryi_svg_ink[], kryi_svg_faint[]; /* colours of text */

/* A file with a white page of this size on it. Returns  KRY_ERR_FILE. */
kry_status kryi_svg_open(const char *path, int width, int height, FILE **file);
/* End the page, and give the file its name (kry_output_close). Takes *file over. */
kry_status kryi_svg_close(const char *path, FILE **file);

void kryi_svg_escaped(FILE *f, const char *text); /* text that may have < and & in it */
void kryi_svg_line(FILE *f, double x1, double y1, double x2, double y2, const char *style);
void kryi_svg_title(FILE *f, double x,
                    const char *text); /* bold, at the top; ended by kryi_svg_end_text */
void kryi_svg_end_text(FILE *f);

/* 10^power as text that ends at x, is centred there, ... ("end", "middle"). */
void kryi_svg_power(FILE *f, double x, double y, const char *anchor, int power);

/* 1, 2 or 5 times a power of ten, so that at most `ticks` of them fit into `range`. */
int64_t kryi_svg_nice_step(int64_t range, int64_t ticks);
double kryi_svg_nice_real(double range, int ticks); /* the same for any power of ten; range > 0 */

#endif
