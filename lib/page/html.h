/*
 * html.h - one page of HTML that needs nothing else: no network, no library, no other file. Its style and its
 * script are in it; without the script it says the same.
 */
#ifndef KRY_HTML_H
#define KRY_HTML_H

#include "page/page.h"

/* A page with a title, ready for what stands in it. Returns  KRY_ERR_FILE. */
kry_status kryi_html_open(const char *path, const char *title, FILE **file);
/* End the page, and give the file its name if `st` says that it is whole, else remove it. Takes *file over, which
 * may be NULL. Returns st, or why that failed. */
kry_status kryi_html_close(const char *path, FILE **file, kry_status st);

/* Text, of a file's name for example, that may have <, &, quotes or bytes in it that are no UTF-8: as it is to be
 * read, also within the quotes of an attribute. */
void kryi_html_escaped(FILE *f, const char *text);
/* <tag>text</tag>, the text escaped; tag may have attributes behind a blank. */
void kryi_html_element(FILE *f, const char *tag, const char *text);
/* The line of a command. */
void kryi_html_command(FILE *f, const char *command);

/* A part of the page with a heading; the next one, or kryi_html_close, ends it. id: of its own in the page. */
void kryi_html_section(FILE *f, const char *id, const char *heading);

/* A table, or with `folded` one that opens when its caption is pressed. head: names of columns with | between;
 * those that begin with > hold numbers. */
void kryi_html_table(FILE *f, const char *caption, const char *head, bool folded);
void kryi_html_table_end(FILE *f, bool folded);
void kryi_html_row(FILE *f); /* then its cells in order */
void kryi_html_row_end(FILE *f);
void kryi_html_cell(FILE *f, const char *text);
void kryi_html_number(FILE *f, const char *format, ...)
    KRY_PRINTF(2, 3); /* NaN and so on: the caller's */

/* A table of names and what they are. */
void kryi_html_facts(FILE *f, const char *caption);
void kryi_html_fact(FILE *f, const char *name, const char *format, ...) KRY_PRINTF(3, 4);
void kryi_html_facts_end(FILE *f);

/* A picture of this size in points, which shrinks with the page. label: what it shows, for those who do not see
 * it. `more`: attributes, or "". */
void kryi_html_picture(FILE *f, const char *label, int width, int height, const char *more);
void kryi_html_picture_end(FILE *f, const char *caption);

extern const char *const kryi_html_style[], *const kryi_html_script[]; /* lines; ended by NULL */

#endif
