/*
 * text.h - numbers for people.
 */
#ifndef KRY_TEXT_H
#define KRY_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Each writes into the caller's `text` and returns it. */
const char *text_seconds(double seconds, char *text, size_t size); /* "1.23 ms" */
const char *text_whole(int64_t value, char *text, size_t size);    /* "1 048 576" */

#endif
