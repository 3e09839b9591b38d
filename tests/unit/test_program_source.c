/* test_program_source.c - the text that is compiled: its files, and their parts. */
#include "device/program.h"
#include "unit.h"
#include <sys/stat.h>
#include <unistd.h>

/* Without KRY_CL_PATH: the kernels inside the library, to the byte those of the folder, papers' too. */
static void kernels__inside_the_library(void **state)
{
    (void)state;
    static const char *const stems[] = { "vec", "tile_cycle", "akhtar" };
    const char *old = getenv("KRY_CL_PATH");
    char *kept = old ? strdup(old) : NULL, *text = NULL, *inside = NULL;
    for (size_t i = 0; kept && i < COUNT(stems); i++) {
        for (int empty = 0; empty < 2; empty++) { /* an empty variable is as if it were not there */
            setenv("KRY_CL_PATH", kept, 1);
            OK(kryi_program_source(stems[i], &text));
            if (empty)
                setenv("KRY_CL_PATH", "", 1);
            else
                unsetenv("KRY_CL_PATH");
            OK(kryi_program_source(stems[i], &inside));
            assert_string_equal(inside, text);
            free(inside);
            free(text);
        }
    }
    unsetenv("KRY_CL_PATH");
    assert_int_equal(kryi_program_source("nothing", &inside), KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "no kernel file 'nothing.cl'"));
    assert_null(inside);
    if (kept) setenv("KRY_CL_PATH", kept, 1);
    free(kept);
}

/* A stem is that of a file in any folder; a path is a name, too. */
static void kernels__found_by_their_stem(void **state)
{
    (void)state;
    static const char *const names[] = { "csr", "formats/csr", "papers/wang", "wang" };
    for (size_t i = 0; i < COUNT(names); i++) {
        char *source = NULL;
        const char *begins =
            i < 2 ? "#line 1 \"formats/csr.cl\"\n" : "#line 1 \"papers/wang.cl\"\n";
        OK(kryi_program_source(names[i], &source));
        assert_memory_equal(source, begins, strlen(begins));
        free(source);
    }
}

static int count_of(const char *words, const char *in)
{
    int count = 0;
    while ((in = strstr(in, words))) count++, in += strlen(words);
    return count;
}

/* Whether a file has kernels, and then its stem. */
static bool is_program(const kryi_kernel_file *f, char *stem, size_t size)
{
    const char *slash = strrchr(f->name, '/');
    const size_t length = strlen(f->name);
    assert_non_null(slash);
    snprintf(stem, size, "%.*s", (int)(f->name + length - 3 - slash - 1), slash + 1);
    return !strcmp(f->name + length - 3, ".cl");
}

static void kernels__begin_alike(void **state)
{
    (void)state;
    int kernels = 0;
    for (const kryi_kernel_file *f = kryi_kernel_files; f->name; f++) {
        char stem[64], *source;
        if (!is_program(f, stem, sizeof stem)) continue;
        OK(kryi_program_source(stem, &source));
        /* One that has two heads, of which compilers see one, has one begin. */
        const int here =
            count_of("\nkernel void ", source) - count_of("\n#else\nkernel void ", source);
        if (count_of("\n{ KERNEL_BEGINS\n", source) != here)
            fail_msg("%s: not all of its %d kernels begin with KERNEL_BEGINS", f->name, here);
        kernels += here;
        free(source);
    }
    assert_true(kernels > 100);
}

/* ---- files that include others ---- */

static char folder[] = "/tmp/kry-cl-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
    FILE *f = fopen(path, "wb");
    assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

/* The environment of a test with a folder of its own, whose common/kry.clh is nearly empty. */
static int folder_begin(void **state)
{
    const char *old = getenv("KRY_CL_PATH");
    *state = old ? strdup(old) : NULL;
    strcpy(folder, "/tmp/kry-cl-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    put("common/kry.clh", "#pragma kry version " KRY_VERSION "\n#define KRY\n");
    return setenv("KRY_CL_PATH", folder, 1);
}

static int folder_end(void **state)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    const int failed = system(command);
    if (*state)
        setenv("KRY_CL_PATH", *state, 1);
    else
        unsetenv("KRY_CL_PATH");
    free(*state);
    return failed;
}

#define TEXT_IS(stem, wanted)               \
    {                                       \
        char *is = NULL;                    \
        OK(kryi_program_source(stem, &is)); \
        assert_string_equal(is, wanted);    \
        free(is);                           \
    }
#define TEXT_FAILS(stem, says)                                                 \
    {                                                                          \
        char *is = NULL;                                                       \
        assert_int_equal(kryi_program_source(stem, &is), KRY_ERR_BUILD);       \
        assert_null(is);                                                       \
        if (!strstr(kry_last_error(), says)) fail_msg("%s", kry_last_error()); \
    }

/* Each file once, where the first of the lines stands that name it, and then on in the file around it. */
static void include__each_file_once(void **state)
{
    (void)state;
    put("a.clh", "#pragma once\n#include \"b.clh\"\nint a;\n");
    put("b.clh", "  # include\t\"common/kry.clh\"  // what for\nint b;");
    put("k.cl",
        "// k\n#include \"a.clh\"\n#include \"b.clh\"\n\nkernel void k(\n#include \"end.clh\"\n");
    put("end.clh", "");
    TEXT_IS("k", "#line 1 \"k.cl\"\n// k\n"
                 "#line 1 \"a.clh\"\n\n"
                 "#line 1 \"b.clh\"\n"
                 "#line 1 \"common/kry.clh\"\n#pragma kry version " KRY_VERSION "\n#define KRY\n"
                 "#line 2 \"b.clh\"\nint b;\n"
                 "#line 3 \"a.clh\"\nint a;\n"
                 "#line 3 \"k.cl\"\n\n\nkernel void k(\n"
                 "#line 1 \"end.clh\"\n#line 7 \"k.cl\"\n");
}

static void include__what_cannot_be_had(void **state)
{
    (void)state;
    put("k.cl", "#include \"common/kry.clh\"\n\n#include \"nothing.clh\"\n");
    TEXT_FAILS("k", "line 3 of the kernel file 'k.cl': cannot read the kernel file '/tmp/kry-cl-");
    put("a.clh", "#include \"b.clh\"\n");
    put("b.clh", "int b;\n#include \"a.clh\"\n");
    put("k.cl", "#include \"a.clh\"\n");
    TEXT_FAILS("k", "line 2 of the kernel file 'b.clh' includes 'a.clh', which includes that file");
    put("k.cl", "#include \"k.cl\"\n");
    TEXT_FAILS("k", "line 1 of the kernel file 'k.cl' includes 'k.cl', which includes that file");
    static const char *const bad[] = { "#include <a.clh>\n", "#include \"a.clh\n\"", "#include",
                                       "#include \"\"\n" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        put("k.cl", bad[i]);
        TEXT_FAILS("k", "line 1 of the kernel file 'k.cl': #include wants a name in quotes");
    }
    put("k.cl", "int a; /* and so on\n");
    TEXT_FAILS("k", "the kernel file 'k.cl' ends inside of a comment");
    for (int k = 0; k < 12; k++) {
        char *is = NULL;
        put("k.cl", "#include \"b.clh\"\nint k;\n");
        put("b.clh", "int b;\n");
        fail_request(k);
        const kry_status st = kryi_program_source("k", &is);
        fail_request(-1);
        assert_true(st == KRY_OK ? is != NULL : st == KRY_ERR_MEMORY && !is);
        free(is);
    }
}

/* Lines that are no directives, for they are in comments, go on in other lines, or are in strings. */
static void include__not_in_comments(void **state)
{
    (void)state;
    static const char k[] =
        "// #include \"no.clh\"\n"
        "/*\n#include \"no.clh\"\n#pragma kry images\nkernel void no(\n*/ int a;\n"
        "// and \\\n#include \"no.clh\"\n"
        "#define A \\\n#include \"no.clh\"\n"
        "constant char c[] = \"/* \\\" // \";\n"
        "/*/\n#include \"no.clh\"\n/* */\n"
        "#pragma kry part one\n"
        "kernel void k(\n";
    char wanted[sizeof k + 20], *source = NULL;
    put("k.cl", k);
    snprintf(wanted, sizeof wanted, "#line 1 \"k.cl\"\n%s", k);
    TEXT_IS("k", wanted);
    OK(kryi_program_source("k", &source));
    assert_false(kryi_program_says(source, KRY_IMAGES));
    assert_int_equal(kryi_program_part(source, "no"), KRY_ALL_PARTS);
    assert_int_equal(kryi_program_part(source, "k"), 1);
    free(source);
}

/* ---- comments ---- */

/* A copy of `text` whose comments are blank; with a trap, each that begins with two slashes is that. To be freed. */
static char *reword(const char *text, const char *trap)
{
    const size_t long_ = trap ? strlen(trap) : 0;
    size_t comments = 1;
    for (const char *at = text; (at = strstr(at, "//")); at += 2) comments++;
    char *copy = malloc(strlen(text) + comments * (long_ + 1) + 1), *to = copy;
    assert_non_null(copy);
    for (const char *at = text; *at;) {
        if (at[0] == '/' && at[1] == '/') {
            if (trap) memcpy(to, trap, long_), to += long_;
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at, "*/");
            assert_non_null(end);
            for (*to++ = ' '; at < end + 2; at++)
                if (*at == '\n') *to++ = '\n';
        } else {
            *to++ = *at++;
        }
    }
    *to = 0;
    return copy;
}

static char *text_of(const char *stem, const char *cl_path)
{
    char *source = NULL, *bare;
    if (cl_path)
        setenv("KRY_CL_PATH", cl_path, 1);
    else
        unsetenv("KRY_CL_PATH");
    OK(kryi_program_source(stem, &source));
    bare = reword(source, NULL);
    free(source);
    return bare;
}

/* Whatever comments say: every kernel file makes the same text, but for them, and its kernels are in the same parts. */
static void comments__change_nothing(void **state)
{
    (void)state;
    static const char *const traps[] = {
        NULL,
        "// #include \"formats/csr.cl\", sweep.clh, RESIDENT_PARAMS, the loop of sell.cl, "
        "resident_matrix.clh, read_image",
        "// ==== part: all ==== #pragma kry part kernel void csr_apply(",
    };
    for (size_t t = 0; t < COUNT(traps); t++) {
        for (const kryi_kernel_file *f = kryi_kernel_files; f->name; f++) {
            char *changed = reword(f->text, traps[t]);
            put(f->name, changed);
            free(changed);
        }
        for (const kryi_kernel_file *f = kryi_kernel_files; f->name; f++) {
            char stem[100];
            if (!is_program(f, stem, sizeof stem)) continue;
            char *inside = text_of(stem, NULL), *reworded = text_of(stem, folder);
            if (strcmp(inside, reworded) != 0)
                fail_msg("%s has another text, with comments '%s'", f->name, traps[t]);
            assert_int_equal(kryi_program_parts(inside), kryi_program_parts(reworded));
            free(inside);
            free(reworded);
        }
    }
}

/* ---- parts ---- */

static const char *const text = "#line 1 \"a.clh\"\n"
                                "zero\n"
                                "one\n"
                                "#pragma kry part first\n"
                                "kernel void k_two(\n"
                                "#pragma kry part second\n"
                                "kernel void k_three(\n"
                                "#pragma kry end\n"
                                "kernel void k_four(\n"
                                "#pragma kry part third\n"
                                "kernel void five_sell(\n"
                                "#line 1 \"b.clh\"\n"
                                "kernel void k_six(\n"
                                "last"; /* no end of a line */

static void part__of_kernels(void **state)
{
    (void)state;
    assert_int_equal(kryi_program_part(text, "k_two"), 1);
    assert_int_equal(kryi_program_part(text, "k_three"), 2);
    assert_int_equal(kryi_program_part(text, "k_four"), 0);
    assert_int_equal(kryi_program_part(text, "five_sell"), 3);
    assert_int_equal(kryi_program_part(text, "five_csr"), KRY_ALL_PARTS);
    assert_int_equal(kryi_program_part(text, "k_six"), 0); /* a part ends with its file */
    assert_int_equal(kryi_program_part(text, "k_tw"), KRY_ALL_PARTS);
    assert_int_equal(kryi_program_part(text, "five_"), KRY_ALL_PARTS);
}

static void part__keeps_the_lines(void **state)
{
    (void)state;
    static const char begin[] = "#line 1 \"a.clh\"\nzero\none\n\n\n\n",
                      end[] =
                          "\nkernel void k_four(\n\n\n#line 1 \"b.clh\"\nkernel void k_six(\nlast";
    char second[300], none[300], all[400];
    snprintf(second, sizeof second, "%skernel void k_three(\n%s", begin, end);
    snprintf(none, sizeof none, "%s\n%s", begin, end);
    snprintf(all, sizeof all, "%s",
             "#line 1 \"a.clh\"\nzero\none\n\nkernel void k_two(\n\n"
             "kernel void k_three(\n\nkernel void k_four(\n\nkernel void five_sell(\n"
             "#line 1 \"b.clh\"\nkernel void k_six(\nlast");
    char *part = NULL;
    OK(kryi_program_take_part(text, 2, &part));
    assert_string_equal(part, second);
    free(part);
    OK(kryi_program_take_part(text, 0, &part));
    assert_string_equal(part, none);
    free(part);
    OK(kryi_program_take_part(text, KRY_ALL_PARTS, &part));
    assert_string_equal(part, all);
    assert_int_equal(kryi_program_parts(text), 3);
    free(part);
    fail_request(0);
    assert_int_equal(kryi_program_take_part(text, 1, &part), KRY_ERR_MEMORY);
    fail_request(-1);
    assert_null(part);
}

static void part__of_kernel_files(void **state)
{
    (void)state;
    char *source = NULL;
    OK(kryi_program_source("stencil", &source));
    const int products = kryi_program_part(source, "stencil_apply"),
              steps = kryi_program_part(source, "stencil_step");
    assert_true(products > 0 && steps > 0 && products != steps);
    assert_int_equal(kryi_program_part(source, "stencil_residual"), steps);
    free(source);
    OK(kryi_program_source("resident_dia", &source)); /* a name behind an attribute */
    assert_int_equal(kryi_program_part(source, "resident_dia"), 1);
    assert_int_equal(kryi_program_part(source, "resident_dia_held"), 2);
    free(source);
    OK(kryi_program_source("sell", &source));
    assert_true(kryi_program_part(source, "sell_relax") > 0);
    assert_true(kryi_program_part(source, "sell_relax") != kryi_program_part(source, "sell_apply"));
    free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels__inside_the_library),
        cmocka_unit_test(kernels__found_by_their_stem),
        cmocka_unit_test(kernels__begin_alike),
        cmocka_unit_test_setup_teardown(include__each_file_once, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(include__what_cannot_be_had, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(include__not_in_comments, folder_begin, folder_end),
        cmocka_unit_test_setup_teardown(comments__change_nothing, folder_begin, folder_end),
        cmocka_unit_test(part__of_kernels),
        cmocka_unit_test(part__keeps_the_lines),
        cmocka_unit_test(part__of_kernel_files),
    };
    return cmocka_run_group_tests_name("program_source", tests, NULL, NULL);
}
