/* program_source.c - the text that is compiled: the kernel files of cl/ and what stands before
 * them. */
#include "device/program.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kry_status read_text(const char *dir, const char *file, char **text)
{
    kry_status st = KRY_OK;
    char path[1024];
    FILE *f = NULL;
    long size = -1;

    *text = NULL;
    CHECK(snprintf(path, sizeof path, "%s/%s", dir, file) < (int)sizeof path, KRY_ERR_BUILD,
          "kernel directory '%.60s...' has too long a name", dir);
    f = fopen(path, "rb");
    if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
    CHECK(size >= 0 && !fseek(f, 0, SEEK_SET), KRY_ERR_BUILD,
          "cannot read the kernel file '%s' (KRY_CL_PATH names the directory)", path);
    TRY(kry_alloc((size_t)size + 1, 1, text));
    CHECK(fread(*text, 1, (size_t)size, f) == (size_t)size, KRY_ERR_BUILD,
          "cannot read the kernel file '%s'", path);
done:
    if (f) fclose(f);
    if (st < 0) free(*text), *text = NULL;
    return st;
}

static const char stamp[] = "// kry kernels " KRY_VERSION "\n";

/* Whether this library, or the program that it is part of, lies in the folder in which it was built. */
static bool in_build_folder(void)
{
    Dl_info module;
    char *folder = realpath(KRY_BUILD_FOLDER, NULL), *here = NULL;
    bool inside = false;

    if (folder && dladdr(stamp, &module) && (here = realpath(module.dli_fname, NULL))) {
        const size_t length = strlen(folder);
        inside = !strncmp(here, folder, length) && here[length] == '/';
    }
    free(here);
    free(folder);
    return inside;
}

/* Read kry.clh of a directory, which has to be of this version. */
static kry_status read_common(const char *dir, char **common)
{
    kry_status st = read_text(dir, "kry.clh", common);

    if (st < 0 || !strncmp(*common, stamp, sizeof stamp - 1)) return st;
    free(*common), *common = NULL;
    return kry_fail(KRY_ERR_BUILD, "the kernels in '%s' are not those of version " KRY_VERSION,
                    dir);
}

/* Choose the directory of the kernel files, and read its kry.clh: $KRY_CL_PATH, else the installed one, else
 * the source tree. That is for a library that was not installed: once it is, anybody may have put something
 * else where the sources were. */
static kry_status kernel_directory(const char **dir, char **common)
{
    const char *named = getenv("KRY_CL_PATH");
    kry_status st;

    *dir = named && *named ? named : KRY_CL_INSTALLED;
    st = read_common(*dir, common);
    if (st == KRY_OK || st == KRY_ERR_MEMORY || *dir == named) return st;
    if (in_build_folder()) st = read_common(*dir = KRY_CL_SOURCE, common);
    if (st == KRY_ERR_BUILD)
        st = kry_fail(st, "no kernels of version " KRY_VERSION " in '%s'; set KRY_CL_PATH", *dir);
    return st;
}

/* Which files are put between kry.clh and a kernel file: those whose word occurs in it. */
static const struct {
    const char *file, *word;
} before[] = { { "direction.clh", "" },        { "barrier.clh", "RESIDENT_PARAMS" },
               { "image.clh", "image.clh" },   { "papers/mean.clh", "mean.clh" },
               { "sweep.clh", "sweep.clh" },   { "box.clh", "box.clh" },
               { "column.clh", "column.clh" }, { "strong.clh", "strong.clh" },
               { "rows.clh", "rows.clh" },     { "tile.clh", "tile.clh" } };

/* Append `more` to the text. Compilers will say `file` in their messages. */
static kry_status append(char **text, const char *file, const char *more)
{
    size_t old = strlen(*text), size = old + strlen(more) + strlen(file) + 20;
    kry_status st = kry_realloc(size, 1, text);

    if (st == KRY_OK) snprintf(*text + old, size - old, "#line 1 \"%s\"\n%s", file, more);
    return st;
}

/* One text rather than #include lines: the caches of drivers do not notice that an included file
 * has changed. */
kry_status kry_program_source(const char *stem, char **source)
{
    kry_status st = KRY_OK;
    const char *dir = NULL;
    char *text = NULL, *body = NULL, *piece = NULL, file[64];

    *source = NULL;
    TRY(kernel_directory(&dir, &text));
    snprintf(file, sizeof file, "%s.cl", stem);
    TRY(read_text(dir, file, &body));
    for (size_t i = 0; i < COUNT(before); i++) {
        if (!strstr(body, before[i].word)) continue;
        TRY(read_text(dir, before[i].file, &piece));
        TRY(append(&text, before[i].file, piece));
        free(piece), piece = NULL;
    }
    TRY(append(&text, file, body));
    TRY(read_text(dir, "product.clh", &piece));
    TRY(append(&text, "product.clh", piece));
    *source = text;
    text = NULL;
done:
    free(piece);
    free(body);
    free(text);
    return st;
}

kry_status kry_program_source_given(const char *name, const char *given, char **source)
{
    kry_status st = KRY_OK;
    const char *dir = NULL;
    char *text = NULL;

    *source = NULL;
    TRY(kernel_directory(&dir, &text));
    TRY(append(&text, name, given));
    *source = text;
    text = NULL;
done:
    free(text);
    return st;
}
