/* status.c - status texts, the last error of a thread, the clock. */
#include "base/base.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#undef kry_fail /* which analyzers see otherwise */

atomic_int kry_first_row;
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

void kry_messages_count_from(int first) { kry_first_row = first != 0; }

const char *kry_version(void) { return KRY_VERSION; }

kry_status kry_fail(kry_status status, const char *format, ...)
{
    char text[sizeof last_error]; /* an argument may be the old message itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

kry_status kry_check_given(const char *who, const char *names, const void *const *pointer)
{
    for (const char *name = names; *name; name += strspn(name, ", "), pointer++) {
        size_t length = strcspn(name, ",");
        if (!*pointer)
            return kry_fail(KRY_ERR_ARGUMENT, "%s: %.*s is NULL", who, (int)length, name);
        name += length;
    }
    return KRY_OK;
}

double kry_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
