/* source.c - what the host hands to a compiler for each stem on the command line: assembled by
 * the library itself, one text after the other, each ended by a zero byte. */
#include "operator/op.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *text = NULL;
        if (kry_program_source(argv[i], &text) < 0) {
            fprintf(stderr, "%s\n", kry_last_error());
            return 1;
        }
        fputs(text, stdout);
        putchar(0);
        free(text);
    }
    return 0;
}
