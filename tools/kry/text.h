/*
 * text.h - numbers and words for people.
 */
#ifndef KRY_TEXT_H
#define KRY_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Each writes into the caller's `text` and returns it. */
const char *text_seconds(double seconds, char *text, size_t size); /* "1.23 ms" */
const char *text_bytes(double bytes, char *text, size_t size);     /* "1.23 MB" */
const char *text_whole(int64_t value, char *text, size_t size);    /* "1 048 576" */

/* The bytes of the character of UTF-8 that `text` begins with; 0 if it begins with none. */
int text_character(const char *text);
/* A copy for a terminal: control characters and bytes that are no UTF-8 become question marks. */
const char *text_printable(const char *from, char *text, size_t size);

/* Print `text` in lines of at most `width` characters, broken at spaces; all lines but the first
 * follow `indent` spaces. Ends the last line. */
void text_wrapped(const char *text, int width, int indent);

#endif
