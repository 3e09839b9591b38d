/* test_program_source.c - the text that is compiled: its files, and their parts. */
#include "unit.h"

/* Without KRY_CL_PATH: the kernels inside the library, to the byte those of the folder, papers' too. */
static void kernels__inside_the_library(void **state)
{
    (void)state;
    static const char *const stems[] = { "vec", "tile_cycle", "papers/akhtar" };
    const char *old = getenv("KRY_CL_PATH");
    char *kept = old ? strdup(old) : NULL, *text = NULL, *inside = NULL;
    for (size_t i = 0; kept && i < COUNT(stems); i++) {
        for (int empty = 0; empty < 2; empty++) { /* an empty variable is as if it were not there */
            setenv("KRY_CL_PATH", kept, 1);
            OK(kry_program_source(stems[i], &text));
            if (empty)
                setenv("KRY_CL_PATH", "", 1);
            else
                unsetenv("KRY_CL_PATH");
            OK(kry_program_source(stems[i], &inside));
            assert_string_equal(inside, text);
            free(inside);
            free(text);
        }
    }
    unsetenv("KRY_CL_PATH");
    assert_int_equal(kry_program_source("nothing", &inside), KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "no kernel file 'nothing.cl'"));
    assert_null(inside);
    if (kept) setenv("KRY_CL_PATH", kept, 1);
    free(kept);
}

/* ---- parts ---- */

static const char *const text = "#line 1 \"a.clh\"\n"
                                "one\n"
                                "// ==== part: first ====\n"
                                "kernel void k_two(\n"
                                "// ==== part: second ====\n"
                                "kernel void k_three(\n"
                                "// ==== part: all ====\n"
                                "kernel void k_four(\n"
                                "// ==== part: third ====\n"
                                "kernel void KERNEL(five)(\n"
                                "#line 1 \"b.clh\"\n"
                                "kernel void k_six(\n"
                                "last"; /* no end of a line */

static void part__of_kernels(void **state)
{
    (void)state;
    assert_int_equal(kry_program_part(text, "k_two"), 1);
    assert_int_equal(kry_program_part(text, "k_three"), 2);
    assert_int_equal(kry_program_part(text, "k_four"), 0);
    assert_int_equal(kry_program_part(text, "sell_five"), 3); /* of any format */
    assert_int_equal(kry_program_part(text, "k_six"), 0);     /* a part ends with its file */
    assert_int_equal(kry_program_part(text, "k_tw"), KRY_ALL_PARTS);
    assert_int_equal(kry_program_part(text, "five"), KRY_ALL_PARTS);
}

static void part__keeps_the_lines(void **state)
{
    (void)state;
    static const char
        second[] = "#line 1 \"a.clh\"\none\n\n\n// ==== part: second ====\nkernel void k_three(\n"
                   "// ==== part: all ====\nkernel void k_four(\n\n\n"
                   "#line 1 \"b.clh\"\nkernel void k_six(\nlast",
        none[] = "#line 1 \"a.clh\"\none\n\n\n\n\n// ==== part: all ====\nkernel void k_four(\n\n\n"
                 "#line 1 \"b.clh\"\nkernel void k_six(\nlast";
    char *part = NULL;
    OK(kry_program_take_part(text, 2, &part));
    assert_string_equal(part, second);
    free(part);
    OK(kry_program_take_part(text, 0, &part));
    assert_string_equal(part, none);
    free(part);
    OK(kry_program_take_part(text, KRY_ALL_PARTS, &part));
    assert_string_equal(part, text);
    free(part);
    kry_test_fail_at = 0;
    assert_int_equal(kry_program_take_part(text, 1, &part), KRY_ERR_MEMORY);
    kry_test_fail_at = -1;
    assert_null(part);
}

static void part__of_kernel_files(void **state)
{
    (void)state;
    char *source = NULL;
    OK(kry_program_source("stencil", &source));
    const int products = kry_program_part(source, "stencil_apply"),
              steps = kry_program_part(source, "stencil_step");
    assert_true(products > 0 && steps > 0 && products != steps);
    assert_int_equal(kry_program_part(source, "stencil_residual"), steps);
    free(source);
    OK(kry_program_source("sell", &source));
    assert_true(kry_program_part(source, "sell_relax") > 0);
    assert_true(kry_program_part(source, "sell_relax") != kry_program_part(source, "sell_apply"));
    free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels__inside_the_library),
        cmocka_unit_test(part__of_kernels),
        cmocka_unit_test(part__keeps_the_lines),
        cmocka_unit_test(part__of_kernel_files),
    };
    return cmocka_run_group_tests_name("program_source", tests, NULL, NULL);
}
