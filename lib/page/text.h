/*
 * text.h - numbers and words for people.
 */
#ifndef KRY_TEXT_H
#define KRY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each writes into the caller's `text` and returns it. */
const char *kryi_text_seconds(double seconds, char *text, size_t size); /* "1.23 ms" */
const char *kryi_text_bytes(double bytes, char *text, size_t size);     /* "1.23 MB" */
const char *kryi_text_whole(int64_t value, char *text, size_t size);    /* "1 048 576" */

/* The bytes of the character of UTF-8 that `text` begins with; 0 if it begins with none. */
int kryi_text_character(const char *text);
/* Whether it begins with a character that only changes the direction of what follows, so that a name looks like another. */
bool kryi_text_turns(const char *text);
/* A copy for a terminal: control characters, those of direction and bytes that are no UTF-8 become question marks. */
const char *kryi_text_printable(const char *from, char *text, size_t size);

/* JSON: a text in quotes; in a page without <. And a number: the shortest of 15 to 17 digits that reads back as the
 * same one, null if it is not finite. */
void kryi_text_quoted(FILE *file, const char *text, bool in_page);
const char *kryi_text_real(double value, char text[40]);

#endif
