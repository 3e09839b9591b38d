/* source.c [--parts] STEM... - what the host hands to a compiler for each stem on the command line, assembled by
 * the library itself, one text after the other, each ended by a zero byte; with --parts the parts of each by
 * themselves, and one more zero byte behind those of a stem. */
#include "operator/op.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kry_status print_part(const char *source, int part)
{
    char *text = NULL;
    kry_status st = kryi_program_take_part(source, part, &text);

    if (st == KRY_OK) fputs(text, stdout), putchar(0);
    free(text);
    return st;
}

static kry_status print_parts(const char *source)
{
    kry_status st = KRY_OK;
    const int parts = kryi_program_parts(source);

    for (int part = 1; part <= parts && st == KRY_OK; part++) st = print_part(source, part);
    putchar(0);
    return st;
}

int main(int argc, char **argv)
{
    const bool parts = argc > 1 && !strcmp(argv[1], "--parts");

    for (int i = 1 + parts; i < argc; i++) {
        char *source = NULL;
        kry_status st = kryi_program_source(argv[i], &source);
        if (st == KRY_OK) st = parts ? print_parts(source) : print_part(source, KRY_ALL_PARTS);
        free(source);
        if (st < 0) {
            fprintf(stderr, "%s\n", kry_last_error());
            return 1;
        }
    }
    return 0;
}
