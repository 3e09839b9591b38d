/*
 * test_status.c - status texts, and the message of the last failed call: per thread, of any length.
 */
#include "testing.h"
#include <pthread.h>

static void status_text__every_status_has_its_own(void **state)
{
    (void)state;
#define STATUS_CHECK(name, value, text) \
    assert_int_equal(name, value);      \
    assert_string_equal(kry_status_text(name), text);
    KRY_STATUS_LIST(STATUS_CHECK)
    assert_string_equal(kry_status_text((kry_status)-999), "unknown status");
}

static void version__of_headers_and_library(void **state)
{
    (void)state;
    assert_string_equal(kry_version(), KRY_VERSION);
}

static void fail__records_and_hands_back(void **state)
{
    (void)state;
    assert_int_equal(kry_fail(KRY_ERR_SHAPE, "%s is %d", "x", 3), KRY_ERR_SHAPE);
    assert_string_equal(kry_last_error(), "x is 3");
}

/* Callers add to the message they were given. */
static void fail__old_message_as_argument(void **state)
{
    (void)state;
    (void)kry_fail(KRY_ERR_FILE, "inner");
    (void)kry_fail(KRY_ERR_FILE, "outer: %s", kry_last_error());
    assert_string_equal(kry_last_error(), "outer: inner");
}

static void fail__too_long_is_cut(void **state)
{
    (void)state;
    char text[10000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(kry_fail(KRY_ERR_BUILD, "%s", text), KRY_ERR_BUILD);
    size_t length = strlen(kry_last_error());
    assert_in_range(length, 1000, sizeof text - 1);
    assert_memory_equal(kry_last_error(), text, length);
}

/* What a terminal would obey is not in a message, and what is no UTF-8 neither. */
static void fail__nothing_but_text(void **state)
{
    (void)state;
    (void)kry_fail(KRY_ERR_FILE, "%s", "a\033[2Jb\007\177\r\n\tc");
    assert_string_equal(kry_last_error(), "a?[2Jb???\n\tc");
    (void)kry_fail(KRY_ERR_FILE, "%s", "\u00e9\u20ac\U0001f600\u00a0"); /* 2, 3, 4 bytes */
    assert_string_equal(kry_last_error(), "\u00e9\u20ac\U0001f600\u00a0");
    (void)kry_fail(KRY_ERR_FILE, "%s",
                   "a\u202eb\u2066c\u2069d\u200fe\u061cf"); /* the direction of what follows */
    assert_string_equal(kry_last_error(), "a???b???c???d???e??f");
    (void)kry_fail(KRY_ERR_FILE, "%s", "\302\2331\2332\377\303");
    assert_string_equal(kry_last_error(), "??1?2??");
    (void)kry_fail(KRY_ERR_FILE, "%s", "\xc0\xaf\xe0\x80\xaf\xed\xa0\x80\xf4\x90\x80\x80");
    assert_string_equal(kry_last_error(), "????????????");
}

static void fail__numbers_in_a_language_with_commas(void **state)
{
    char text[40];
    (void)state;
    if (!take_decimal_comma()) SKIP("no such locale can be had");
    snprintf(text, sizeof text, "%.2f", 1.5);
    assert_string_equal(text, "1,50");
    (void)kry_fail(KRY_ERR_FILE, "%.2f %g %.1e", 1.5, 0.25, 1.5e-9);
    assert_string_equal(kry_last_error(), "1.50 0.25 1.5e-09");
    assert_int_equal(kryi_print(text, sizeof text, "%g", 2.5), 3);
    assert_string_equal(text, "2.5");
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_NUMERIC, "C");
}

static void *other_thread(void *clean)
{
    *(bool *)clean = kry_last_error()[0] == 0;
    (void)kry_fail(KRY_ERR_FILE, "theirs");
    return NULL;
}

static void last_error__belongs_to_the_thread(void **state)
{
    (void)state;
    pthread_t thread;
    bool clean = false;
    (void)kry_fail(KRY_ERR_FILE, "ours");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &clean), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clean);
    assert_string_equal(kry_last_error(), "ours");
}

static void cl_check__sorts_memory_from_the_rest(void **state)
{
    (void)state;
    assert_int_equal(kryi_cl_check(CL_SUCCESS, "f", "g"), KRY_OK);
    REFUSES(kryi_cl_check(CL_OUT_OF_HOST_MEMORY, "f", "clG(x)"), KRY_ERR_MEMORY,
            "f: clG failed with CL_OUT_OF_HOST_MEMORY (-6)");
    REFUSES(kryi_cl_check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "f", "clG"), KRY_ERR_MEMORY,
            "CL_MEM_OBJECT_ALLOCATION_FAILURE");
    REFUSES(kryi_cl_check(CL_INVALID_KERNEL_ARGS, "f", "clG"), KRY_ERR_DEVICE,
            "CL_INVALID_KERNEL_ARGS");
    REFUSES(kryi_cl_check(-7777, "f", "clG"), KRY_ERR_DEVICE, "-7777");
}

static void now__goes_forward(void **state)
{
    (void)state;
    double last = kryi_now();
    for (int i = 0; i < 1000; i++) {
        double t = kryi_now();
        assert_true(t >= last);
        last = t;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_text__every_status_has_its_own),
        cmocka_unit_test(version__of_headers_and_library),
        cmocka_unit_test(fail__records_and_hands_back),
        cmocka_unit_test(fail__old_message_as_argument),
        cmocka_unit_test(fail__too_long_is_cut),
        cmocka_unit_test(fail__nothing_but_text),
        cmocka_unit_test(fail__numbers_in_a_language_with_commas),
        cmocka_unit_test(last_error__belongs_to_the_thread),
        cmocka_unit_test(cl_check__sorts_memory_from_the_rest),
        cmocka_unit_test(now__goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
