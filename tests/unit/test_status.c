/*
 * test_status.c - status texts, and the message of the last failed call: per thread, of any length; the clock, and
 * numbers in text and of 16 bits.
 */
#include "device/device.h"
#include "precond/block_ic.h"
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

static void number__stops_where_the_number_ends(void **state)
{
    static const char text[] = "12.5e1x 7";
    double v;
    int64_t i;
    (void)state;
    assert_ptr_equal(kryi_read_double(text, text + 9, &v), text + 6);
    assert_true(v == 125);
    assert_ptr_equal(kryi_read_double(text, text + 3, &v), text + 3); /* "12." */
    assert_true(v == 12);
    assert_ptr_equal(kryi_read_int64(text, text + 9, &i), text + 2);
    assert_ptr_equal(kryi_read_int64(text, text + 1, &i), text + 1);
    assert_true(i == 1);
    assert_null(kryi_read_double(text, text, &v));
    /* zeros that an exponent takes back, and one that does not */
    enum { ZEROS = 99999 };
    char *zeros = calloc(ZEROS + 20, 1);
    memset(zeros, '0', ZEROS + 2);
    zeros[1] = '.';
    snprintf(zeros + ZEROS + 2, 18, "1e100000");
    assert_non_null(kryi_read_double(zeros, zeros + strlen(zeros), &v));
    assert_true(v == 1);
    snprintf(zeros + ZEROS + 2, 18, "1e150000");
    assert_null(kryi_read_double(zeros, zeros + strlen(zeros), &v));
    snprintf(zeros + ZEROS + 2, 18, "1e-9");
    assert_non_null(kryi_read_double(zeros, zeros + strlen(zeros), &v));
    assert_true(v == 0);
    free(zeros);
    assert_null(kryi_read_int64(text, text, &i));
}

static void number__limits_of_int64(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {
        { "9223372036854775807", true, INT64_MAX },
        { "+9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "-9223372036854775807", true, -INT64_MAX },
        { "9223372036854775800", true, INT64_MAX - 7 },
        { "000000000000000000000000000012", true, 12 },
        { "-0", true, 0 },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "9223372036854775810", false, 0 },
        { "18446744073709551616", false, 0 },
        { "92233720368547758070", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "--1", false, 0 },
        { "x", false, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = cases[i].text, *end = text + strlen(text);
        int64_t v = 0;
        const char *stop = kryi_read_int64(text, end, &v);
        if (cases[i].fits ? stop != end || v != cases[i].value : stop != NULL)
            fail_msg("'%s'", text);
    }
}

static void half__every_number(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 65536; b++) {
        double v = kryi_half_value((uint16_t)b), next = kryi_half_value((uint16_t)(b + 1));
        bool finite = (b >> 10 & 31) != 31;
        if (isnan(v)) {
            assert_true(isnan(kryi_half_value(kryi_half_of(v))));
            continue;
        }
        assert_int_equal(kryi_half_of(v), b);
        if (!finite || (b & 0x7fff) == 0x7bff) continue; /* between two: ties go to the even one */
        double middle = (v + next) / 2;
        assert_int_equal(kryi_half_of(middle), b + (b & 1));
        assert_int_equal(kryi_half_of(nextafter(middle, v)), b);
        assert_int_equal(kryi_half_of(nextafter(middle, next)), b + 1);
    }
    assert_true(kryi_half_value(kryi_half_of(65519)) == 65504);
    assert_true(isinf(kryi_half_value(kryi_half_of(65520))) && isinf(kryi_half_value(0x7c00)));
    assert_true(kryi_half_value(kryi_half_of(-1e-9)) == 0);
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
        cmocka_unit_test(number__stops_where_the_number_ends),
        cmocka_unit_test(number__limits_of_int64),
        cmocka_unit_test(half__every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
