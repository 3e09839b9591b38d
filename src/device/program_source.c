/* program_source.c - the text that is compiled. A file of cl/ names the files that it needs by lines #include "...", and
 * lines #pragma kry say what is to be known of it; comments change nothing. The library has the files inside, as they were
 * when it was built; $KRY_CL_PATH names a folder of others. */
#include "device/program.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ------------------------------------------------------------------------------ */

/* What a line begins in. CONTINUED: the line before ends with a backslash. */
typedef enum place { CODE, CONTINUED, LINE_COMMENT, BLOCK_COMMENT } place;

/* The character in front of which `at` goes on, of a string that begins there: behind its end, or at that of the line. */
static const char *end_of_string(const char *at)
{
    for (at++; *at && *at != '"' && *at != '\n'; at++)
        if (*at == '\\' && at[1] && at[1] != '\n') at++;
    return *at == '"' ? at + 1 : at;
}

/* Return where the line after `line` begins, and change *in from what `line` begins in to what that one does. */
static const char *next_line(const char *line, place *in)
{
    const char *at = line;

    if (*in == CONTINUED) *in = CODE;
    while (*at && *at != '\n') {
        if (*in == CODE && *at == '"')
            at = end_of_string(at);
        else if (*in == CODE && at[0] == '/' && (at[1] == '/' || at[1] == '*'))
            *in = at[1] == '/' ? LINE_COMMENT : BLOCK_COMMENT, at += 2;
        else if (*in == BLOCK_COMMENT && at[0] == '*' && at[1] == '/')
            *in = CODE, at += 2;
        else
            at++;
    }
    const bool goes_on = at > line && at[-1] == '\\';
    if (*in == LINE_COMMENT && !goes_on) *in = CODE;
    if (*in == CODE && goes_on) *in = CONTINUED;
    return *at ? at + 1 : at;
}

/* Return what follows `word` if the text at `at` begins with it, behind blanks; else NULL, as for NULL. */
static const char *behind(const char *at, const char *word)
{
    const size_t length = strlen(word);

    if (!at) return NULL;
    while (*at == ' ' || *at == '\t') at++;
    if (strncmp(at, word, length)) return NULL;
    at += length;
    return isalnum((unsigned char)word[0]) && (isalnum((unsigned char)*at) || *at == '_') ? NULL
                                                                                          : at;
}

/* Return what follows "#pragma kry <word>" in the line, else NULL. */
static const char *pragma(const char *line, const char *word)
{
    return behind(behind(behind(behind(line, "#"), "pragma"), "kry"), word);
}

/* ---- files ------------------------------------------------------------------------------ */

static kry_status read_text(const char *dir, const char *file, char **text)
{
    kry_status st = KRY_OK;
    char *path = NULL;
    FILE *f = NULL;
    long size = -1;
    const size_t room = strlen(dir) + strlen(file) + 2;

    TRY(kryi_alloc(room, 1, &path));
    snprintf(path, room, "%s/%s", dir, file);
    f = fopen(path, "rb");
    if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
    CHECK(size >= 0 && !fseek(f, 0, SEEK_SET), KRY_ERR_BUILD,
          "cannot read the kernel file '%s' (KRY_CL_PATH names the directory)", path);
    TRY(kryi_alloc((size_t)size + 1, 1, text));
    CHECK(fread(*text, 1, (size_t)size, f) == (size_t)size, KRY_ERR_BUILD,
          "cannot read the kernel file '%s'", path);
done:
    if (f) fclose(f);
    free(path);
    if (st < 0) free(*text), *text = NULL;
    return st;
}

static kry_status copy_file(const char *file, char **text)
{
    kry_status st = KRY_OK;
    const kryi_kernel_file *k = kryi_kernel_files;

    while (k->name && strcmp(k->name, file)) k++;
    CHECK(k->name, KRY_ERR_BUILD, "this library has no kernel file '%s'", file);
    TRY(kryi_copy_text(k->text, text));
done:
    return st;
}

/* The path below cl/ of the kernel file of this stem, to be freed: "formats/csr.cl" of "csr", wherever the library has
 * a file csr.cl, else "<stem>.cl". */
static kry_status find_file(const char *stem, char **file)
{
    kry_status st = KRY_OK;
    const size_t room = strlen(stem) + sizeof ".cl";

    TRY(kryi_alloc(room, 1, file));
    snprintf(*file, room, "%s.cl", stem);
    for (const kryi_kernel_file *k = kryi_kernel_files; k->name; k++) {
        const char *slash = strrchr(k->name, '/');
        if (slash && !strcmp(slash + 1, *file)) {
            free(*file);
            return kryi_copy_text(k->name, file);
        }
    }
done:
    return st;
}

/* dir: NULL for the files inside of the library */
static kry_status take_text(const char *dir, const char *file, char **text)
{
    *text = NULL;
    return dir ? read_text(dir, file, text) : copy_file(file, text);
}

/* A file that the text has, or will have once those that it includes are there. */
typedef struct included {
    struct included *next;
    const char *name; /* owned */
    bool open;        /* the rest of it is still to come */
} included;

typedef struct assembly {
    const char *dir; /* of kernel files; NULL: those inside of the library */
    char *text;
    size_t length, room;
    included *files;
} assembly;

static kry_status append(assembly *a, const char *more, size_t length)
{
    kry_status st = KRY_OK;
    const size_t needed = a->length + length + 1;

    if (needed > a->room) {
        TRY(kryi_realloc(2 * needed, 1, &a->text));
        a->room = 2 * needed;
    }
    memcpy(a->text + a->length, more, length);
    a->length += length;
    a->text[a->length] = 0;
done:
    return st;
}

/* What follows is line `number` of `file` in the messages of compilers. */
static kry_status append_place(assembly *a, const char *file, int number)
{
    kry_status st = KRY_OK;
    char begin[32];

    TRY(append(a, begin, (size_t)snprintf(begin, sizeof begin, "#line %d \"", number)));
    TRY(append(a, file, strlen(file)));
    TRY(append(a, "\"\n", 2));
done:
    return st;
}

static kry_status add_file(assembly *a, const char *name, const char *text);

static const included *find_included(const assembly *a, const char *name)
{
    const included *f = a->files;
    while (f && strcmp(f->name, name)) f = f->next;
    return f;
}

/* Put the file that line `number` of `by` includes in the place of that line, unless it is there already. at: what
 * follows "#include". */
static kry_status add_included(assembly *a, const char *at, const char *by, int number)
{
    kry_status st = KRY_OK;
    char *name = NULL, *text = NULL;

    at = behind(at, "\"");
    const size_t length = at ? strcspn(at, "\"\n") : 0;
    CHECK(length > 0 && at[length] == '"', KRY_ERR_BUILD,
          "line %d of the kernel file '%s': #include wants a name in quotes", number, by);
    TRY(kryi_alloc(length + 1, 1, &name));
    memcpy(name, at, length);
    const included *there = find_included(a, name);
    CHECK(!there || !there->open, KRY_ERR_BUILD,
          "line %d of the kernel file '%s' includes '%s', which includes that file", number, by,
          name);
    if (there) {
        TRY(append(a, "\n", 1));
    } else {
        st = take_text(a->dir, name, &text);
        CHECK(st == KRY_OK, st, "line %d of the kernel file '%s': %s", number, by,
              kry_last_error());
        TRY(add_file(a, name, text));
        TRY(append_place(a, by, number + 1));
    }
done:
    free(text);
    free(name);
    return st;
}

static kry_status add_line(assembly *a, const char *line, const char *end, const char *file,
                           int number)
{
    const char *hash = behind(line, "#"), *what = behind(hash, "include");

    if (what) return add_included(a, what, file, number);
    if (behind(behind(hash, "pragma"), "once")) return append(a, "\n", 1); /* for other readers */
    return append(a, line, (size_t)(end - line));
}

/* Every kernel's brace, which stands at the begin of a line, and KERNEL_BEGINS of cl/common/kry.clh, with which it begins. */
static const char kernel_begins[] = "{ KERNEL_BEGINS";

/* Append a file, and before each line that includes another one what comes before it. One text rather than the files as they
 * are: the caches of drivers do not notice that an included file has changed. */
static kry_status add_file(assembly *a, const char *name, const char *text)
{
    kry_status st = KRY_OK;
    place in = CODE;
    int number = 1;
    bool head = false; /* of a kernel */
    included *f = NULL;

    TRY(kryi_alloc(1, sizeof *f, &f));
    TRY(kryi_copy_text(name, &f->name));
    f->open = true;
    f->next = a->files;
    included *mine = a->files = f;
    f = NULL;
    TRY(append_place(a, name, 1));
    for (const char *line = text, *end; *line; line = end, number++) {
        const bool is_code = in == CODE;
        end = next_line(line, &in);
        head |= is_code && behind(behind(line, "kernel"), "void");
        if (head && is_code && *line == '{') {
            TRY(append(a, kernel_begins, sizeof kernel_begins - 1));
            line++, head = false;
        }
        if (is_code)
            TRY(add_line(a, line, end, name, number));
        else
            TRY(append(a, line, (size_t)(end - line)));
    }
    CHECK(in != BLOCK_COMMENT, KRY_ERR_BUILD, "the kernel file '%s' ends inside of a comment",
          name);
    if (a->text[a->length - 1] != '\n') TRY(append(a, "\n", 1));
    mine->open = false;
done:
    free(f);
    return st;
}

/* Whether the text of kry.clh says that it is of this version. */
static bool of_this_version(const char *common)
{
    const char *version = pragma(common, "version");

    version = version ? behind(version, KRY_VERSION) : NULL;
    return version && *version == '\n';
}

/* The file that every kernel file includes, and that callers' texts begin with. */
static const char common_file[] = "common/kry.clh";

/* Begin a text: choose where the kernel files come from, where kry.clh has to be of this version. */
static kry_status assembly_begin(assembly *a)
{
    kry_status st = KRY_OK;
    const char *named = getenv("KRY_CL_PATH");
    char *common = NULL;

    *a = (assembly){ .dir = named && *named ? named : NULL };
    TRY(take_text(a->dir, common_file, &common));
    CHECK(of_this_version(common), KRY_ERR_BUILD,
          "the kernels in '%s' are not those of version " KRY_VERSION,
          a->dir ? a->dir : "this library");
done:
    free(common);
    return st;
}

static void assembly_end(assembly *a)
{
    for (included *f = a->files, *next; f; f = next) {
        next = f->next;
        free((char *)f->name);
        free(f);
    }
    free(a->text);
}

kry_status kryi_program_source(const char *stem, char **source)
{
    kry_status st = KRY_OK;
    char *file = NULL, *text = NULL;
    assembly a = { 0 };

    *source = NULL;
    TRY(assembly_begin(&a));
    TRY(find_file(stem, &file));
    TRY(take_text(a.dir, file, &text));
    TRY(add_file(&a, file, text));
    *source = a.text;
    a.text = NULL;
done:
    assembly_end(&a);
    free(text);
    free(file);
    return st;
}

/* A caller may launch kernels in groups of any size, on CPUs, too. */
static const char any_size[] = "#undef get_local_id\n#undef get_local_size\n"
                               "#undef get_global_id\n#undef get_global_size\n#undef barrier\n";

kry_status kryi_program_source_given(const char *name, const char *given, char **source)
{
    kry_status st = KRY_OK;
    assembly a = { 0 };
    char *common = NULL;

    *source = NULL;
    TRY(assembly_begin(&a));
    TRY(take_text(a.dir, common_file, &common));
    TRY(add_file(&a, common_file, common));
    TRY(append(&a, any_size, sizeof any_size - 1));
    TRY(append_place(&a, name, 1));
    TRY(append(&a, given, strlen(given)));
    *source = a.text;
    a.text = NULL;
done:
    assembly_end(&a);
    free(common);
    return st;
}

/* ---- kernels and parts ---------------------------------------------------------------- */

/* A walk over the lines of a text. */
typedef struct walk {
    const char *line, *end; /* this line, and the next one */
    place in;               /* what the next one begins in */
    bool code;       /* this line begins outside of comments, and does not continue another one */
    int part, parts; /* the part that it is in, 0: none; the parts so far */
} walk;

static bool walk_on(walk *w)
{
    w->line = w->end;
    if (!*w->line) return false;
    w->code = w->in == CODE;
    w->end = next_line(w->line, &w->in);
    if (!w->code) return true;
    const char *hash = behind(w->line, "#");
    if (behind(hash, "line") || pragma(w->line, KRY_PART_END))
        w->part = 0;
    else if (pragma(w->line, KRY_PART))
        w->part = ++w->parts;
    return true;
}

bool kryi_program_says(const char *source, const char *word)
{
    for (walk w = { .end = source }; walk_on(&w);)
        if (w.code && pragma(w.line, word)) return true;
    return false;
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
    return n;
}

enum { NAME_ROOM = 64 };

/* Return what follows blanks, ends of lines and, if one comes then, an attribute. */
static const char *behind_attribute(const char *at)
{
    const char *inside = behind(at, "__attribute__");

    for (int depth = 0; inside && *inside; inside++) {
        depth += (*inside == '(') - (*inside == ')');
        if (*inside == ')' && depth == 0) {
            at = inside + 1;
            break;
        }
    }
    return at + strspn(at, " \t\n");
}

/* Copy the name of the kernel whose definition begins in the line; false: none does. */
static bool kernel_of(const walk *w, char name[NAME_ROOM])
{
    const char *at = w->code ? behind(w->line, "kernel") : NULL;

    if (!at || !(at = behind(behind_attribute(at), "void"))) return false;
    at += strspn(at, " \t\n");
    snprintf(name, NAME_ROOM, "%.*s", (int)word_length(at), at);
    return true;
}

/* Walk to where the kernel is first defined. */
static bool walk_to(walk *w, const char *kernel)
{
    char name[NAME_ROOM];

    while (walk_on(w))
        if (kernel_of(w, name) && !strcmp(name, kernel)) return true;
    return false;
}

int kryi_program_part(const char *source, const char *kernel)
{
    walk w = { .end = source };
    return walk_to(&w, kernel) ? w.part : KRY_ALL_PARTS;
}

int kryi_program_parts(const char *source)
{
    walk w = { .end = source };
    while (walk_on(&w)) continue;
    return w.parts;
}

kry_status kryi_program_take_part(const char *source, int part, char **text)
{
    kry_status st = kryi_alloc(strlen(source) + 1, 1, text);
    char *to = *text;

    if (st < 0) return st;
    for (walk w = { .end = source }; walk_on(&w);) {
        const bool in_part = part == KRY_ALL_PARTS || !w.part || w.part == part;
        if (in_part && !(w.code && pragma(w.line, ""))) {
            memcpy(to, w.line, (size_t)(w.end - w.line)), to += w.end - w.line;
        } else {
            *to++ = '\n';
        }
    }
    *to = 0;
    return st;
}

/* ---- the kernels of the library --------------------------------------------------------- */

enum { SUMMARY_ROOM = 512 };

/* Copy the first sentence, behind "FILE - ", of the comment at the head of a file's text. */
static void first_sentence(const char *source, char to[SUMMARY_ROOM])
{
    size_t used = 0;
    const char *line = strchr(source, '\n') + 1, *at; /* behind its #line */

    *to = 0;
    while ((at = behind(line, "//")) && *at != '\n' && used < SUMMARY_ROOM) {
        const size_t length = strcspn(at, "\n");
        used += (size_t)snprintf(to + used, SUMMARY_ROOM - used, "%.*s", (int)length, at);
        line = at + length + (at[length] == '\n');
    }
    const char *begin = strstr(to, " - ");
    if (begin) memmove(to, begin + 3, strlen(begin + 3) + 1);
    char *end = strstr(to, ". ");
    if (!end) end = to + strlen(to) - (*to && to[strlen(to) - 1] == '.');
    *end = 0;
}

/* Whether what follows "#line" goes on in a file with kernels of its own, other than `file`. */
static bool in_other_program(const char *place, const char *file)
{
    const char *name = strchr(place, '"') + 1;
    const size_t length = strcspn(name, "\"");

    return !strncmp(name + length - 3, ".cl", 3) &&
           (length != strlen(file) || strncmp(name, file, length) != 0);
}

/* Call `kernel` for the kernels of `file`, once for those that have several heads, of which compilers see one. */
static void each_of_file(const char *file, const char *source,
                         void (*kernel)(const char *name, const char *file, const char *summary,
                                        void *user),
                         void *user)
{
    char name[NAME_ROOM], summary[SUMMARY_ROOM];
    /* The line is in an included file that is listed by itself, or in what that one includes. */
    bool other = false;

    first_sentence(source, summary);
    for (walk w = { .end = source }; walk_on(&w);) {
        const char *place = w.code ? behind(behind(w.line, "#"), "line") : NULL;
        if (place &&
            (in_other_program(place, file) || strstr(place, file) == strchr(place, '"') + 1))
            other = in_other_program(place, file);
        walk first = { .end = source };
        if (!other && kernel_of(&w, name) && walk_to(&first, name) && first.line == w.line)
            kernel(name, file, summary, user);
    }
}

kry_status kry_kernels_each(void (*kernel)(const char *name, const char *file, const char *summary,
                                           void *user),
                            void *user)
{
    kry_status st = KRY_OK;
    char *source = NULL;

    CHECK(kernel, KRY_ERR_ARGUMENT, "kry_kernels_each: NULL");
    for (const kryi_kernel_file *f = kryi_kernel_files; f->name; f++) {
        char stem[100];
        const size_t length = strlen(f->name) - strlen(".cl");
        if (strcmp(f->name + length, ".cl") != 0) continue;
        snprintf(stem, sizeof stem, "%.*s", (int)length, f->name);
        TRY(kryi_program_source(stem, &source));
        each_of_file(f->name, source, kernel, user);
        free(source), source = NULL;
    }
done:
    free(source);
    return st;
}

/* The file of a kernel that is looked for. */
typedef struct wanted_kernel {
    const char *name;
    char stem[100]; /* "" until it is found */
} wanted_kernel;

static void look_for(const char *name, const char *file, const char *summary, void *user)
{
    wanted_kernel *w = user;

    (void)summary;
    if (!*w->stem && !strcmp(name, w->name))
        snprintf(w->stem, sizeof w->stem, "%.*s", (int)(strlen(file) - strlen(".cl")), file);
}

kry_status kryi_program_source_of(const char *name, char **source)
{
    kry_status st = kryi_program_source(name, source);
    wanted_kernel w = { .name = name };

    if (st != KRY_ERR_BUILD) return st;
    TRY(kry_kernels_each(look_for, &w));
    CHECK(*w.stem, KRY_ERR_ARGUMENT, "there is no kernel or kernel file '%s'", name);
    TRY(kryi_program_source(w.stem, source));
done:
    return st;
}
