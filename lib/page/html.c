/*
 * html.c - the parts of a page, and text in it.
 */
#include "page/html.h"
#include "page/text.h"
#include <stdarg.h>
#include <string.h>

/* ---- the page -------------------------------------------------------------------------------- */

static void put_lines(FILE *f, const char *tag, const char *const *lines)
{
    fprintf(f, "<%s>\n", tag);
    for (; *lines; lines++) fprintf(f, "%s\n", *lines);
    fprintf(f, "</%s>\n", tag);
}

kry_status kryi_html_open(const char *path, const char *title, FILE **file)
{
    kry_status st = KRY_OK;

    TRY(kry_output_open(path, file));
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          *file);
    kryi_html_element(*file, "title", title);
    put_lines(*file, "style", kryi_html_style);
    fputs("</head>\n<body>\n<main>\n<section id=\"top\">\n", *file);
done:
    return st;
}

kry_status kryi_html_close(const char *path, FILE **file, kry_status st)
{
    if (!*file) return st;
    fputs("</section>\n</main>\n", *file);
    put_lines(*file, "script", kryi_html_script);
    fputs("</body>\n</html>\n", *file);
    return kry_output_close(path, file, st);
}

void kryi_html_section(FILE *f, const char *id, const char *heading)
{
    fprintf(f, "</section>\n<section id=\"%s\">\n", id);
    kryi_html_element(f, "h2", heading);
}

/* ---- text ------------------------------------------------------------------------------------ */

void kryi_html_escaped(FILE *f, const char *text)
{
    for (int length; *text; text += length ? length : 1) {
        length = kryi_text_character(text);
        const unsigned char c = (unsigned char)*text;
        const char *name = c == '&'    ? "&amp;"
                           : c == '<'  ? "&lt;"
                           : c == '>'  ? "&gt;"
                           : c == '"'  ? "&quot;"
                           : c == '\'' ? "&#39;"
                           : !length || kryi_text_turns(text)
                               ? "\xef\xbf\xbd" /* U+FFFD: no character that is seen */
                               : NULL;
        const bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
        if (name)
            fputs(name, f);
        else if (control)
            fputc(' ', f);
        else
            fwrite(text, 1, (size_t)length, f);
    }
}

void kryi_html_element(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    kryi_html_escaped(f, text);
    fprintf(f, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void kryi_html_command(FILE *f, const char *command)
{
    fputs("<pre class=\"command\"><code>", f);
    kryi_html_escaped(f, command);
    fputs("</code></pre>\n", f);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void kryi_html_table(FILE *f, const char *caption, const char *head, bool folded)
{
    if (folded) {
        fputs("<details>", f);
        kryi_html_element(f, "summary", caption);
    }
    fputs("<div class=\"scroll\"><table>", f);
    if (!folded) kryi_html_element(f, "caption", caption);
    fputs("<thead><tr>", f);
    for (; *head; head += strcspn(head, "|"), head += *head == '|') {
        const bool number = *head == '>';
        char name[80];
        head += number;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(head, "|"), head);
        kryi_html_element(f, number ? "th scope=\"col\" class=\"n\"" : "th scope=\"col\"", name);
    }
    fputs("</tr></thead><tbody>\n", f);
}

void kryi_html_table_end(FILE *f, bool folded)
{
    fprintf(f, "</tbody></table></div>%s\n", folded ? "</details>" : "");
}

void kryi_html_row(FILE *f) { fputs("<tr>", f); }

void kryi_html_row_end(FILE *f) { fputs("</tr>\n", f); }

void kryi_html_cell(FILE *f, const char *text)
{
    fputs("<td>", f);
    kryi_html_escaped(f, text);
    fputs("</td>", f);
}

static void put_cell(FILE *f, const char *open, const char *format, va_list args)
{
    char text[1200];

    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers have started args */
    vsnprintf(text, sizeof text, format, args);
    fputs(open, f);
    kryi_html_escaped(f, text);
    fputs("</td>", f);
}

void kryi_html_number(FILE *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_cell(f, "<td class=\"n\">", format, args);
    va_end(args);
}

void kryi_html_facts(FILE *f, const char *caption)
{
    fputs("<div class=\"scroll\"><table class=\"facts\">", f);
    kryi_html_element(f, "caption", caption);
    fputs("<tbody>\n", f);
}

void kryi_html_fact(FILE *f, const char *name, const char *format, ...)
{
    va_list args;

    fputs("<tr>", f);
    kryi_html_element(f, "th scope=\"row\"", name);
    va_start(args, format);
    put_cell(f, "<td>", format, args);
    va_end(args);
    fputs("</tr>\n", f);
}

void kryi_html_facts_end(FILE *f) { fputs("</tbody></table></div>\n", f); }

/* ---- pictures -------------------------------------------------------------------------------- */

void kryi_html_picture(FILE *f, const char *label, int width, int height, const char *more)
{
    enum { SMALL = 500 }; /* narrower pictures may stand side by side */

    fprintf(f,
            "<figure%s><div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" %s role=\"img\" "
            "aria-label=\"",
            width < SMALL ? " class=\"small\"" : "", width, height, more);
    kryi_html_escaped(f, label);
    fputs("\">\n", f);
}

void kryi_html_picture_end(FILE *f, const char *caption)
{
    fputs("</svg></div>", f);
    if (*caption) kryi_html_element(f, "figcaption", caption);
    fputs("</figure>\n", f);
}
