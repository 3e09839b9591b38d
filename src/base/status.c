/* status.c - status texts, the last error of a thread, the clock. */
#include "base/base.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#undef kry_fail /* which analyzers see otherwise */

atomic_int kryi_first_row;
static _Thread_local char last_error[4096]; /* room for the start of a compiler log */

const char *kry_status_text(kry_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text) \
    case name: return text;
        KRY_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    default: return "unknown status";
    }
}

const char *kry_last_error(void) { return last_error; }

void kry_messages_count_from(int first) { kryi_first_row = first != 0; }

const char *kry_version(void) { return KRY_VERSION; }

/* Bytes of the character at `s`; 0 for a control character, except for the ends of lines and tabs that a
 * compiler's log has, and for bytes that are no UTF-8. */
static int character(const unsigned char *s)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const int length = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
    unsigned code = length > 1 ? *s & (0x7fu >> length) : *s;

    for (int i = 1; i < length; i++) {
        if (s[i] >> 6 != 2) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (code < 0x20) return code == '\n' || code == '\t';
    const bool control = code >= 0x7f && code < 0xa0, surrogate = code >> 11 == 0x1b,
               /* those that only change the direction of what follows */
        turns = code == 0x61c || code == 0x200e || code == 0x200f ||
                (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return control || turns || surrogate || code < least[length] || code > 0x10ffff ? 0 : length;
}

kry_status kry_fail(kry_status status, const char *format, ...)
{
    char text[sizeof last_error]; /* an argument may be the old message itself */
    va_list args;
    va_start(args, format);
    kryi_vprint(text, sizeof text, format, args);
    va_end(args);
    /* Messages quote files and the names of files, whose bytes a terminal must not obey. */
    for (char *s = text; *s;) {
        const int length = character((const unsigned char *)s);
        if (!length) *s = '?';
        s += length ? length : 1;
    }
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

kry_status kryi_check_given(const char *who, const char *names, const void *const *pointer)
{
    for (const char *name = names; *name; name += strspn(name, ", "), pointer++) {
        size_t length = strcspn(name, ",");
        if (!*pointer)
            return kry_fail(KRY_ERR_ARGUMENT, "%s: %.*s is NULL", who, (int)length, name);
        name += length;
    }
    return KRY_OK;
}

void kryi_hand_out(const void *mine, size_t mine_size, void *caller, size_t size)
{
    const size_t common = size < mine_size ? size : mine_size;

    if (!caller) return;
    memcpy(caller, mine, common);
    memset((char *)caller + common, 0, size - common);
}

double kryi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
