/* program_source.c - the text that is compiled: the kernel files of cl/ and what stands before them. The
 * library has them inside, as they were when it was built; $KRY_CL_PATH names a folder of others. */
#include "device/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kry_status read_text(const char *dir, const char *file, char **text)
{
    kry_status st = KRY_OK;
    char path[1024];
    FILE *f = NULL;
    long size = -1;

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

static kry_status copy_file(const char *file, char **text)
{
    kry_status st = KRY_OK;
    const kry_kernel_file *k = kry_kernel_files;

    while (k->name && strcmp(k->name, file)) k++;
    CHECK(k->name, KRY_ERR_BUILD, "this library has no kernel file '%s'", file);
    TRY(kry_copy_text(k->text, text));
done:
    return st;
}

/* dir: NULL for the files inside of the library */
static kry_status take_text(const char *dir, const char *file, char **text)
{
    *text = NULL;
    return dir ? read_text(dir, file, text) : copy_file(file, text);
}

/* Choose where the kernel files come from, and take kry.clh, which in a folder has to be of this version. */
static kry_status take_common(const char **dir, char **common)
{
    static const char stamp[] = "// kry kernels " KRY_VERSION "\n";
    kry_status st = KRY_OK;
    const char *named = getenv("KRY_CL_PATH");

    *dir = named && *named ? named : NULL;
    TRY(take_text(*dir, "kry.clh", common));
    CHECK(!strncmp(*common, stamp, sizeof stamp - 1), KRY_ERR_BUILD,
          "the kernels in '%s' are not those of version " KRY_VERSION,
          *dir ? *dir : "this library");
done:
    if (st < 0) free(*common), *common = NULL;
    return st;
}

/* Which files are put between kry.clh and a kernel file: those whose word occurs in it. */
static const struct {
    const char *file, *word;
} before[] = { { "direction.clh", "" },
               { "barrier.clh", "RESIDENT_PARAMS" },
               { "image.clh", "image.clh" },
               { "papers/mean.clh", "mean.clh" },
               { "sweep.clh", "sweep.clh" },
               { "box.clh", "box.clh" },
               { "box_entry.clh", "box_entry.clh" },
               { "column.clh", "column.clh" },
               { "block.clh", "block.clh" },
               { "strong.clh", "strong.clh" },
               { "rows.clh", "rows.clh" },
               { "tile.clh", "tile.clh" },
               { "tridiagonal.clh", "tridiagonal.clh" },
               { "resident.clh", "resident.clh" },
               { "csr.cl", "loop of csr.cl" },
               { "sell.cl", "loop of sell.cl" },
               { "dia.cl", "loop of dia.cl" },
               { "held.clh", "resident_matrix.clh" },
               { "streamed.clh", "resident_matrix.clh" },
               { "resident_matrix.clh", "resident_matrix.clh" },
               { "shadow.clh", "shadow.clh" } };

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
    TRY(take_common(&dir, &text));
    snprintf(file, sizeof file, "%s.cl", stem);
    TRY(take_text(dir, file, &body));
    for (size_t i = 0; i < COUNT(before); i++) {
        if (!strstr(body, before[i].word)) continue;
        TRY(take_text(dir, before[i].file, &piece));
        TRY(append(&text, before[i].file, piece));
        free(piece), piece = NULL;
    }
    TRY(append(&text, file, body));
    TRY(take_text(dir, "product.clh", &piece));
    TRY(append(&text, "product.clh", piece));
    *source = text;
    text = NULL;
done:
    free(piece);
    free(body);
    free(text);
    return st;
}

static bool begins(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Where the kernel is; product.clh names its own after the format. NULL: it is not there by this name. */
static const char *find_kernel(const char *source, const char *kernel)
{
    char words[160];
    const char *of_format = strchr(kernel, '_'), *at;

    snprintf(words, sizeof words, "kernel void %s(", kernel);
    if ((at = strstr(source, words)) || !of_format) return at;
    snprintf(words, sizeof words, "kernel void KERNEL(%s)(", of_format + 1);
    return strstr(source, words);
}

/* The number of the part that a line is in, from that of the line before and the greatest one so far. */
static int part_of(const char *line, int part, int *parts)
{
    if (begins(line, KRY_NO_PART) || begins(line, "#line 1 ")) return 0;
    return begins(line, KRY_PART) ? ++*parts : part;
}

int kry_program_part(const char *source, const char *kernel)
{
    const char *at = find_kernel(source, kernel);
    int part = 0, parts = 0;

    if (!at) return KRY_ALL_PARTS;
    for (const char *line = source; line <= at; line = next_line(line))
        part = part_of(line, part, &parts);
    return part;
}

kry_status kry_program_take_part(const char *source, int part, char **text)
{
    kry_status st = kry_alloc(strlen(source) + 1, 1, text);
    char *to = *text;
    int here = 0, parts = 0;

    if (st < 0) return st;
    for (const char *line = source, *next; *line; line = next) {
        next = next_line(line);
        here = part_of(line, here, &parts);
        const bool keeps = part == KRY_ALL_PARTS || !here || here == part;
        if (keeps)
            memcpy(to, line, (size_t)(next - line)), to += next - line;
        else
            *to++ = '\n';
    }
    *to = 0;
    return st;
}

/* A caller may launch kernels in groups of any size, on CPUs, too. */
static const char any_size[] = "#undef get_local_id\n#undef get_local_size\n"
                               "#undef get_global_id\n#undef get_global_size\n";

kry_status kry_program_source_given(const char *name, const char *given, char **source)
{
    kry_status st = KRY_OK;
    const char *dir = NULL;
    char *text = NULL;

    *source = NULL;
    TRY(take_common(&dir, &text));
    TRY(append(&text, "kry.clh", any_size));
    TRY(append(&text, name, given));
    *source = text;
    text = NULL;
done:
    free(text);
    return st;
}
