/* compiled.c - the kernels of cl/, compiled by clang when the library was built (compile.py), on the device host. */
#include "host/compiled.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct function {
    const kryi_compiled *kernel;
    int late[KRY_HOST_LATE];
} function;

static const char *end_of_word(const char *text) { return text + strcspn(text, " "); }

/* Whether `word` is the define `listed` of the table. Each is so many characters long. That of the table may end in "=*", for
 * any number, which goes to *late. */
static bool is_define(const char *listed, size_t length, const char *word, size_t word_length,
                      int *late)
{
    const char *star = memchr(listed, '*', length);
    char *end;

    if (!star) return length == word_length && !strncmp(listed, word, length);
    const size_t name = (size_t)(star - listed);
    if (word_length <= name || strncmp(listed, word, name)) return false;
    *late = (int)strtol(word + name, &end, 10);
    return end == word + word_length;
}

/* Defines that are for GPUs alone: they say where vectors of a launch may start. */
static bool is_for_gpus(const char *word, size_t length)
{
    static const char unaligned[] = "KRY_UNALIGNED", sums[] = "KRY_UNALIGNED_SUMS";

    return (length == sizeof unaligned - 1 && !strncmp(word, unaligned, length)) ||
           (length == sizeof sums - 1 && !strncmp(word, sums, length));
}

/* Count the defines "-DX=1 -DY" of a program that are among the `listed` ones. Returns -1 if one is not. */
static int count_defines(const char *defines, const char *listed, int late[])
{
    int count = 0;

    for (const char *at = defines; (at = strstr(at, "-D"));) {
        const char *word = at + 2;
        at = end_of_word(word);
        const size_t length = (size_t)(at - word);
        if (is_for_gpus(word, length)) continue;
        int k = 0;
        const char *l = listed;
        for (; *l; l = end_of_word(l) + (*end_of_word(l) == ' ')) {
            const size_t listed_length = (size_t)(end_of_word(l) - l);
            if (is_define(l, listed_length, word, length, &late[k])) break;
            k += memchr(l, '*', listed_length) != NULL;
        }
        if (!*l) return -1;
        count++;
    }
    return count;
}

static int count_words(const char *text)
{
    int count = *text != 0;
    for (; *text; text++) count += *text == ' ';
    return count;
}

/* The tables of the best kind of processor that this one is; NULL: the library has none for it. */
static const kryi_host_level *level_here(void)
{
    const kryi_host_level *level = kryi_host_levels;

#if defined(__i386__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse2")) return NULL;
#elif defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    while (level->processor && ((!strcmp(level->processor, "x86-64-v4") && !v4) ||
                                (!strcmp(level->processor, "x86-64-v3") && !v3)))
        level++;
#endif
    return level->processor ? level : NULL;
}

/* more: a further define of the program, or "". */
static const kryi_compiled *find_kernel(const kryi_wanted *w, const char *more, const char *name,
                                        int late[])
{
    char defines[KRY_MAX_OPTIONS];

    snprintf(defines, sizeof defines, "-DREAL=%s %s%s", w->type == KRY_F64 ? "double" : "float",
             w->defines, more);
    for (const kryi_compiled *const *table = level_here()->tables; *table; table++)
        for (const kryi_compiled *k = *table; k->name && !strcmp(k->stem, w->stem); k++)
            if (!strcmp(k->name, name) &&
                count_defines(defines, k->program, late) == count_words(k->program))
                return k;
    return NULL;
}

kry_status kryi_host_kernel(const kryi_wanted *w, const char *name, cl_kernel *kernel)
{
    kry_status st = KRY_OK;
    function *f = NULL;

    TRY(kryi_host_check_kernels());
    TRY(kryi_alloc(1, sizeof *f, &f));
    /* Where nobody promises the same bits whatever the parts, programs are as on any other device. */
    if (w->reproducible) f->kernel = find_kernel(w, " -DKRY_REPRODUCIBLE", name, f->late);
    if (!f->kernel) f->kernel = find_kernel(w, "", name, f->late);
    CHECK(f->kernel, KRY_ERR_UNSUPPORTED,
          "the device host has no kernel '%s' of %s.cl compiled with '%s'", name, w->stem,
          w->defines);
    *kernel = (cl_kernel)(void *)f;
    f = NULL;
done:
    free(f);
    return st;
}

static kry_status check_arguments(const kryi_compiled *k, const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    const size_t wanted = strlen(k->sizes);

    CHECK(count == wanted, KRY_ERR_DEVICE, "kernel %s: %zu arguments, it has %zu", k->name, count,
          wanted);
    for (size_t i = 0; i < count; i++) {
        const size_t size = k->sizes[i] == 'p' ? sizeof(void *) : (size_t)(k->sizes[i] - '0');
        CHECK(args[i].size == size, KRY_ERR_DEVICE,
              "kernel %s: argument %zu has %zu bytes, not %zu", k->name, i, args[i].size, size);
    }
done:
    return st;
}

kry_status kryi_host_launch(kry_device *dev, kryi_kernel *kernel, const kryi_range *range,
                            const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;

    const function *f = (const void *)kernel->handle;
    TRY(check_arguments(f->kernel, args, count));
    CHECK(range->size == 1, KRY_ERR_UNSUPPORTED, "kernel %s: groups of %d work-items, not of one",
          f->kernel->name, range->size);
    if (range->groups > 0 && range->columns > 0)
        kryi_host_run(dev->pool, &(kryi_host_work){ f->kernel->run, args, f->late, range->groups,
                                                    range->columns });
done:
    return st;
}

kry_status kryi_host_check_kernels(void)
{
    kry_status st = KRY_OK;

    CHECK(kryi_host_levels->processor, KRY_ERR_UNSUPPORTED,
          "the device host has no kernels: kry was built without them (host_kernels)");
    CHECK(level_here(), KRY_ERR_UNSUPPORTED,
          "the device host has no kernels for this processor: kry was built for %s (host_kernels)",
          kryi_host_levels->processor);
done:
    return st;
}

void kryi_host_kernels_describe(kry_device_info *info)
{
    const kryi_host_level *level = level_here();

    snprintf(info->version, sizeof info->version, "%s", level ? level->processor : "");
    info->compute_units = kryi_host_threads();
}
