/* unit.h - cmocka with the headers it needs before it, and the check that every test uses. */
#ifndef KRY_UNIT_H
#define KRY_UNIT_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "exit.h"
#include "hooks.h"
#include <kry/opencl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Leave a test that has nothing to test here. cmocka's skip() says "not ok", which Meson takes
 * for a failure. */
#define SKIP(why)                          \
    do {                                   \
        print_message("# SKIP %s\n", why); \
        return;                            \
    } while (0)

/* From now on numbers have a decimal comma: in German, if that is installed, else in a locale that localedef makes. */
static inline bool take_decimal_comma(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
    char folder[] = "/tmp/kry-comma.XXXXXX", command[400];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_NUMERIC, names[i])) return true;
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\ngrouping 3;3\\nEND "
             "LC_NUMERIC\\n' >%s/source && "
             "localedef -c -i %s/source -f ANSI_X3.4-1968 %s/comma >%s/log 2>&1; test -e "
             "%s/comma/LC_NUMERIC",
             folder, folder, folder, folder, folder);
    const bool made = system(command) == 0; /* NOLINT(cert-env33-c) */
    setenv("LOCPATH", folder, 1);
    const bool taken = made && setlocale(LC_NUMERIC, "comma");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    (void)!system(command); /* NOLINT(cert-env33-c) */
    return taken;
}

/* Seconds of a clock that only goes forward. */
static inline double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define OK(call)                                                                                  \
    do {                                                                                          \
        kry_status ok_ = (call);                                                                  \
        if (ok_ != KRY_OK) fail_msg("%s: %s: %s", #call, kry_status_text(ok_), kry_last_error()); \
    } while (0)

/* The device whose kernels were compiled with the library. */
static inline bool is_host(const kry_device *dev)
{
    return !strcmp(kry_device_get_info(dev)->kind, "host");
}

/* Open the host, or the first device of OpenCL if kry was built without kernels for the host (host_kernels). */
static inline kry_device *open_host_or_opencl(void)
{
    kry_device *dev;
    kry_status st = kry_device_open("host", &dev);

    if (st == KRY_ERR_UNSUPPORTED) st = kry_device_open("opencl", &dev);
    if (st < 0) fail_msg("%s", kry_last_error());
    return dev;
}

/* Whether kry was built with kernels for the host. */
static inline bool has_host(void)
{
    kry_device *dev = NULL;
    const kry_status st = kry_device_open("host", &dev);

    if (st != KRY_ERR_UNSUPPORTED) OK(st);
    kry_device_release(&dev);
    return st == KRY_OK;
}

/* Leave a test of the device host, or of what stays there in double. */
#define NEEDS_HOST \
    if (!has_host()) SKIP("kry was built without kernels for the host")

/* ---- fork ------------------------------------------------------------------------------- */

/* In a child of fork(): the call is refused because of it. */
#define REFUSED_IN_CHILD(call)                                                             \
    do {                                                                                   \
        if ((call) >= 0 || !strstr(kry_last_error(), "fork")) _exit(__LINE__ % 100 + 100); \
    } while (0)

/* The exit status of the process that runs `child`, or 255 if it does not end within a minute. */
static inline int exit_of_child(void (*child)(void *user), void *user)
{
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        child(user);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* ---- memory that is not there ------------------------------------------------------------- */

static bool request_failed; /* whether the last FAILING came to its request */

static inline kry_status end_request(kry_status st)
{
    request_failed = end_requests();
    return st;
}

/* The status of the call, in which request k for memory fails. */
#define FAILING(k, call) (fail_request(k), end_request(call))

/* For k = 0, 1, ... until the FAILING of the body does not come to request k. */
#define EACH_REQUEST(k) for (int k = (request_failed = true, 0); request_failed; k++)

#endif
