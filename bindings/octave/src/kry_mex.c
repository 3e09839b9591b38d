/*
 * kry_mex.c - kry_mex ("command", ...): finds the command, and turns statuses into errors.
 */
#include "kry_mex.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    kry_status (*run)(call *c);
} commands[] = {
#define COMMAND_ENTRY(name) { #name, command_##name },
    COMMAND_LIST(COMMAND_ENTRY)
#undef COMMAND_ENTRY
};

static const char *own_identifier; /* of the failure that is on its way up; NULL: its status's */

kry_status fail_as(const char *identifier, kry_status status, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    own_identifier = identifier;
    return kry_fail(status, "%s", text);
}

static const char *identifier_of(kry_status status)
{
    switch (status) {
    case KRY_ERR_SHAPE: return "kry:size";
    case KRY_ERR_TYPE: return "kry:type";
    case KRY_ERR_DEVICE: return "kry:device";
    case KRY_ERR_BUILD: return "kry:build";
    case KRY_ERR_MEMORY: return "kry:memory";
    case KRY_ERR_FILE: return "kry:file";
    case KRY_ERR_PARSE: return "kry:option";
    case KRY_ERR_UNSUPPORTED: return "kry:unsupported";
    case KRY_ERR_CALLBACK: return "kry:callback";
    case KRY_ERR_SINGULAR: return "kry:singular";
    case KRY_ERR_CANCELLED: return "kry:cancelled";
    default: return "kry:argument";
    }
}

kry_status take_count(call *c, int least, int most)
{
    if (c->in_count >= least && c->in_count <= most) return KRY_OK;
    return kry_fail(KRY_ERR_ARGUMENT, "kry_mex: '%s' takes %d to %d arguments, not %d", c->name,
                    least, most, c->in_count);
}

kry_status take_text(const mxArray *a, const char *what, char *text, size_t size)
{
    if (mxIsChar(a) && mxGetString(a, text, size) == 0) return KRY_OK;
    return kry_fail(KRY_ERR_TYPE, "%s must be a string of less than %zu characters, not %s", what,
                    size, mxGetClassName(a));
}

kry_status take_number(const mxArray *a, const char *what, double *number)
{
    if (mxIsNumeric(a) && !mxIsComplex(a) && mxGetNumberOfElements(a) == 1) {
        *number = mxGetScalar(a);
        return KRY_OK;
    }
    return kry_fail(KRY_ERR_TYPE, "%s must be a real number", what);
}

kry_status leave_to_host(call *c)
{
    if (c->in_count < 3)
        return kry_fail(KRY_ERR_UNSUPPORTED, "kry_mex: '%s' of these is left to the host", c->name);
    c->out[0] = mxCreateDoubleScalar(0);
    return KRY_OK;
}

static void close_all(void)
{
    values_clear();
    device_close();
}

static kry_status find_command(const mxArray *name, size_t *which)
{
    kry_status st = KRY_OK;
    char text[32];

    TRY(take_text(name, "kry_mex: the command", text, sizeof text));
    for (*which = 0; *which < COUNT(commands); ++*which)
        if (!strcmp(commands[*which].name, text)) return KRY_OK;
    st = kry_fail(KRY_ERR_ARGUMENT, "kry_mex: there is no command '%s'", text);
done:
    return st;
}

void mexFunction(int out_count, mxArray *out[], int in_count, const mxArray *in[])
{
    static bool locked;
    kry_status st = KRY_OK;
    size_t which;

    if (!locked) { /* handles outlive 'clear all' */
        mexLock();
        kry_messages_count_from(1);
        mexAtExit(close_all);
        locked = true;
    }
    own_identifier = NULL;
    if (in_count < 1) mexErrMsgIdAndTxt("kry:argument", "kry_mex: which command?");
    TRY(find_command(in[0], &which));
    call c = { .name = commands[which].name,
               .in_count = in_count - 1,
               .out_count = out_count < 1 ? 1 : out_count,
               .in = in + 1,
               .out = out };
    TRY(commands[which].run(&c));
done:
    if (st < 0)
        mexErrMsgIdAndTxt(own_identifier ? own_identifier : identifier_of(st), "%s",
                          *kry_last_error() ? kry_last_error() : kry_status_text(st));
}
