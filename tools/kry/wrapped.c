/* wrapped.c - text in lines (wrapped.h). */
#include "wrapped.h"
#include <stdio.h>
#include <string.h>

void text_wrapped(const char *text, int width, int indent)
{
    while (strlen(text) > (size_t)width) {
        int length = width;
        while (length > 0 && text[length] != ' ') length--;
        if (length == 0) length = (int)strcspn(text, " "); /* a word too long */
        if (!text[length]) break;
        printf("%.*s\n%*s", length, text, indent, "");
        text += length + 1;
    }
    printf("%s\n", text);
}
