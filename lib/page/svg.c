/*
 * svg.c - what the pictures are made of.
 */
#include "page/svg.h"
#include "page/text.h"
#include <math.h>
#include <string.h>

const char kryi_svg_ink[] = "#222", kryi_svg_faint[] = "#666";

kry_status kryi_svg_open(const char *path, int width, int height, FILE **file)
{
    kry_status st = KRY_OK;

    TRY(kry_output_open(path, file));
    fprintf(*file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
            "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
done:
    return st;
}

kry_status kryi_svg_close(const char *path, FILE **file)
{
    fputs("</svg>\n", *file);
    return kry_output_close(path, file, KRY_OK);
}

void kryi_svg_escaped(FILE *f, const char *text)
{
    for (int length; *text; text += length ? length : 1) {
        length = kryi_text_character(text); /* other bytes would not be XML */
        if (*text == '&')
            fputs("&amp;", f);
        else if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '>')
            fputs("&gt;", f);
        else if (kryi_text_turns(text))
            fputs("\xef\xbf\xbd", f); /* U+FFFD */
        else if ((unsigned char)*text >= 0x20)
            fwrite(text, 1, (size_t)length, f);
    }
}

void kryi_svg_line(FILE *f, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2,
            style);
}

void kryi_svg_title(FILE *f, double x, const char *text)
{
    fprintf(f, "<text x=\"%.0f\" y=\"34\" font-size=\"19\" font-weight=\"bold\" fill=\"%s\">", x,
            kryi_svg_ink);
    kryi_svg_escaped(f, text);
}

void kryi_svg_end_text(FILE *f) { fputs("</text>\n", f); }

void kryi_svg_power(FILE *f, double x, double y, const char *anchor, int power)
{
    fprintf(f,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">10<tspan dy=\"-6\" "
            "font-size=\"10\">%s%d</tspan></text>\n",
            x, y, anchor, kryi_svg_ink, power < 0 ? "\u2212" : "", power < 0 ? -power : power);
}

double kryi_svg_nice_real(double range, int ticks)
{
    static const double mantissa[] = { 1, 2, 5 };
    for (int exponent = (int)floor(log10(range / ticks));; exponent++)
        for (int i = 0; i < 3; i++) {
            double step = mantissa[i] * pow(10, exponent);
            if (range / step <= ticks) return step;
        }
}

int64_t kryi_svg_nice_step(int64_t range, int64_t ticks)
{
    static const int mantissa[] = { 1, 2, 5 };
    for (int64_t power = 1;; power *= 10)
        for (int i = 0; i < 3; i++)
            if (range / (mantissa[i] * power) <= ticks) return mantissa[i] * power;
}
