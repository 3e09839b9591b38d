/*
 * wrapped.h - text in lines, on standard output.
 */
#ifndef KRY_WRAPPED_H
#define KRY_WRAPPED_H

/* Print `text` in lines of at most `width` characters, broken at spaces; all lines but the first
 * follow `indent` spaces. Ends the last line. */
void text_wrapped(const char *text, int width, int indent);

#endif
