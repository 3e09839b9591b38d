/*
 * text.c - numbers and words for people.
 */
#include "page/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *kryi_text_seconds(double seconds, char *text, size_t size)
{
    if (seconds >= 5400)
        snprintf(text, size, "%.1f h", seconds / 3600);
    else if (seconds >= 120)
        snprintf(text, size, "%.1f min", seconds / 60);
    else if (seconds >= 10)
        snprintf(text, size, "%.1f s", seconds);
    else if (seconds >= 1)
        snprintf(text, size, "%.2f s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, size, "%.2f ms", seconds * 1e3);
    else
        snprintf(text, size, "%.2f us", seconds * 1e6);
    return text;
}

const char *kryi_text_whole(int64_t value, char *text, size_t size)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    size_t length = strlen(digits), used = 0;
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        text[used++] = digits[i];
        size_t left = length - 1 - i;
        if (left && left % 3 == 0 && digits[i] != '-') text[used++] = ' ';
    }
    text[used] = '\0';
    return text;
}

const char *kryi_text_bytes(double bytes, char *text, size_t size)
{
    static const char *const unit[] = { "bytes", "kB", "MB", "GB", "TB" };
    size_t u = 0;
    for (; bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++) bytes /= 1000;
    int digits = u == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(text, size, "%.*f %s", digits, bytes, unit[u]);
    return text;
}

int kryi_text_character(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    int length = s[0] < 0x80       ? 1
                 : s[0] >> 5 == 6  ? 2
                 : s[0] >> 4 == 14 ? 3
                 : s[0] >> 3 == 30 ? 4
                                   : 0;
    for (int i = 1; i < length; i++)
        if (s[i] >> 6 != 2) return 0;
    bool overlong = (length == 2 && s[0] < 0xc2) || (length == 3 && s[0] == 0xe0 && s[1] < 0xa0) ||
                    (length == 4 && s[0] == 0xf0 && s[1] < 0x90);
    bool outside = (length == 3 && s[0] == 0xed && s[1] >= 0xa0) ||
                   (length == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe) ||
                   (length == 4 && (s[0] > 0xf4 || (s[0] == 0xf4 && s[1] >= 0x90)));
    return overlong || outside ? 0 : length;
}

bool kryi_text_turns(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    if (s[0] == 0xd8) return s[1] == 0x9c; /* U+061C */
    if (s[0] != 0xe2) return false;
    /* U+200E, U+200F, U+202A ... U+202E; U+2066 ... U+2069 */
    return (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae))) ||
           (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

const char *kryi_text_printable(const char *from, char *text, size_t size)
{
    size_t used = 0;
    for (int length; *from && used + 4 < size; from += length) {
        const unsigned char first = (unsigned char)*from;
        length = kryi_text_character(from);
        const bool control = first < 0x20 || first == 0x7f || kryi_text_turns(from) ||
                             (first == 0xc2 && (unsigned char)from[1] < 0xa0);
        if (!length || control)
            text[used++] = '?';
        else
            memcpy(text + used, from, (size_t)length), used += (size_t)length;
        if (!length) length = 1;
    }
    text[used] = 0;
    return text;
}

void kryi_text_quoted(FILE *file, const char *text, bool in_page)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    fputc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const char *special = strchr(plain, *s);
        int length = kryi_text_character((const char *)s);
        if (special)
            fprintf(file, "\\%c", escaped[special - plain]);
        else if (*s < 0x20 || length == 0 || (*s == '<' && in_page))
            fprintf(file, "\\u%04x",
                    length ? *s : 0xfffdu); /* bytes that are no character: U+FFFD */
        else if (kryi_text_turns((const char *)s))
            fprintf(file, "\\u%04x",
                    length == 2 ? 0x61cu : 0x2000u | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu));
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
    fputc('"', file);
}

const char *kryi_text_real(double value, char text[40])
{
    snprintf(text, 40, "null");
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}
