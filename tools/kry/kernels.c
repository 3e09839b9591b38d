/*
 * kernels.c - kry kernels: the kernels of the library, and the text of one as a device's compiler gets it.
 */
#include "commands.h"
#include "json.h"
#include "wrapped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 100, INDENT = 4 };

/* What of the list was printed. */
typedef struct listing {
    char file[100]; /* of the last kernel */
    int used;       /* characters of the line */
} listing;

static void print_kernel(const char *name, const char *file, const char *summary, void *user)
{
    listing *l = user;

    if (strcmp(l->file, file) != 0) {
        printf("%s%s\n%*s", *l->file ? "\n\n" : "", file, INDENT, "");
        text_wrapped(summary, LINE - INDENT, INDENT);
        snprintf(l->file, sizeof l->file, "%s", file);
        l->used = LINE;
    }
    if (l->used + (int)strlen(name) >= LINE) {
        printf("%s%*s", l->used == LINE ? "" : "\n", INDENT, "");
        l->used = INDENT;
    }
    l->used += printf("%s%s", l->used == INDENT ? "" : " ", name);
}

static void print_kernel_json(const char *name, const char *file, const char *summary, void *user)
{
    json j = json_begin(stdout);

    (void)user;
    json_text(&j, "kernel", name);
    json_text(&j, "file", file);
    json_text(&j, "summary", summary);
    json_end(&j);
}

static kry_status list(const options *o)
{
    kry_status st = KRY_OK;
    listing l = { 0 };

    if (o->json) return kry_kernels_each(print_kernel_json, NULL);
    TRY(kry_kernels_each(print_kernel, &l));
    printf("\n");
done:
    return st;
}

static void print_text_json(const char *device, const char *name, const char *text)
{
    json j = json_begin(stdout);

    json_text(&j, "name", name);
    json_text(&j, "device", device);
    json_text(&j, "text", text);
    json_end(&j);
}

kry_status kernels_run(const options *o)
{
    kry_status st = KRY_OK;
    kry_device *device = NULL;
    char *text = NULL;

    CHECK(o->word_count <= 1, KRY_ERR_PARSE, "takes one name; there is \"%s\" behind it",
          o->words[1]);
    if (o->word_count == 0) return list(o);
    TRY(kry_device_open(options_opencl(o), &device));
    TRY(kry_device_kernel_text(device, options_type(o), o->words[0], &text));
    if (o->json)
        print_text_json(kry_device_get_info(device)->name, o->words[0], text);
    else
        fputs(text, stdout);
done:
    free(text);
    kry_device_release(&device);
    return st;
}
