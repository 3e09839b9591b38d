/*
 * fuzz.h - what fuzz targets share.
 */
#ifndef KRY_FUZZ_H
#define KRY_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENSURE(condition)          \
    do {                           \
        if (!(condition)) abort(); \
    } while (0)

#if defined(__GNUC__)
#define FUZZ_UNUSED __attribute__((unused))
#else
#define FUZZ_UNUSED
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The bytes as a text of its own size, to be freed: what is read beyond its end is noticed. */
FUZZ_UNUSED static char *text_of_bytes(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    ENSURE(text);
    memcpy(text, bytes, size);
    text[size] = 0;
    return text;
}

/* Where files may be written; fuzz.sh makes a folder of its own, in memory if it can. */
FUZZ_UNUSED static const char *fuzz_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

FUZZ_UNUSED static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ENSURE(f && fwrite(bytes, 1, size, f) == size);
    ENSURE(!fclose(f));
}

#endif
