/* test_format.c - the one word that says how a matrix is to be stored, read and written. */
#include "unit.h"
#include <locale.h>

static void format_name__every_format(void **state)
{
    (void)state;
    assert_string_equal(kry_format_name(KRY_FORMAT_AUTO), "auto");
    assert_string_equal(kry_format_name(KRY_FORMAT_COO), "coo");
    assert_string_equal(kry_format_name(KRY_FORMAT_COUNT), "?");
    assert_string_equal(kry_format_name((kry_format)-1), "?");
    for (int f = 0; f < KRY_FORMAT_COUNT; f++) {
        kry_matrix_params *p = KRY_MATRIX(.format = KRY_FORMAT_COUNT);
        OK(kry_format_parse(kry_format_name((kry_format)f), p));
        assert_int_equal(p->format, f);
    }
}

static void check_same(const kry_matrix_params *a, const kry_matrix_params *b)
{
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->values, b->values);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->slice, b->slice);
    assert_int_equal(a->sigma, b->sigma);
    assert_int_equal(a->index_bits, b->index_bits);
    assert_true(a->measure_seconds == b->measure_seconds);
}

/* Words with what they mean. */
static void format_parse__words(void **state)
{
    (void)state;
    const struct {
        const char *word;
        const kry_matrix_params *means;
    } words[] = {
        { "auto", KRY_MATRIX(.format = KRY_FORMAT_AUTO) },
        { "csr", KRY_MATRIX(.format = KRY_FORMAT_CSR) },
        { "symdia:values=given",
          KRY_MATRIX(.format = KRY_FORMAT_SYMDIA, .values = KRY_VALUES_AS_GIVEN) },
        { "auto:values=single", KRY_MATRIX(.values = KRY_VALUES_SINGLE) },
        { "sell", KRY_MATRIX(.format = KRY_FORMAT_SELL) },
        { "sell:slice=32,sigma=256,index=16",
          KRY_MATRIX(.format = KRY_FORMAT_SELL, .slice = 32, .sigma = 256, .index_bits = 16) },
        { "sell:sigma=1,values=given",
          KRY_MATRIX(.format = KRY_FORMAT_SELL, .sigma = 1, .values = KRY_VALUES_AS_GIVEN) },
        { "jds", KRY_MATRIX(.format = KRY_FORMAT_JDS) },
        { "jds:values=single", KRY_MATRIX(.format = KRY_FORMAT_JDS, .values = KRY_VALUES_SINGLE) },
        { "hyb", KRY_MATRIX(.format = KRY_FORMAT_HYB) },
        { "hyb:values=single", KRY_MATRIX(.format = KRY_FORMAT_HYB, .values = KRY_VALUES_SINGLE) },
        { "csr:form=flux", KRY_MATRIX(.format = KRY_FORMAT_CSR, .form = KRY_FLUX) },
        { "sell:slice=32,values=given,form=flux",
          KRY_MATRIX(.format = KRY_FORMAT_SELL, .slice = 32, .values = KRY_VALUES_AS_GIVEN,
                     .form = KRY_FLUX) },
        { "measure:form=flux", KRY_MATRIX(.measure_seconds = 1, .form = KRY_FLUX) },
        { "measure", KRY_MATRIX(.measure_seconds = 1) },
        { "measure:seconds=0.5", KRY_MATRIX(.measure_seconds = 0.5) },
        { "measure:seconds=0.1,values=given",
          KRY_MATRIX(.measure_seconds = 0.1, .values = KRY_VALUES_AS_GIVEN) },
        { "measure:seconds=0.30000000000000004", KRY_MATRIX(.measure_seconds = 0.1 + 0.2) },
    };
    for (size_t i = 0; i < COUNT(words); i++) {
        kry_matrix_params *p = KRY_MATRIX(.traits = 0);
        OK(kry_format_parse(words[i].word, p));
        check_same(p, words[i].means);
    }
}

static void format_parse__longer_words(void **state)
{
    (void)state;
    const char *const words[][2] = {
        { "csr:values=compact", "csr" },
        { "ell:form=assembled", "ell" },
        { "measure:seconds=1.0", "measure" },
        { "hyb:form=assembled,values=given", "hyb:values=given" },
        { "sell:index=+8,slice=004", "sell:slice=4,index=8" },
    };
    for (size_t i = 0; i < COUNT(words); i++) {
        kry_matrix_params *p = KRY_MATRIX(.traits = 0), *same = KRY_MATRIX(.traits = 0);
        OK(kry_format_parse(words[i][0], p));
        OK(kry_format_parse(words[i][1], same));
        check_same(p, same);
    }
}

static void format_parse__changes_only_what_is_named(void **state)
{
    (void)state;
    kry_matrix_params *p =
        KRY_MATRIX(.traits = KRY_POSITIVE, .storage = KRY_SYMMETRIC_HALF, .duplicates = KRY_SUM,
                   .slice = 64, .sigma = 4, .values = KRY_VALUES_SINGLE);
    OK(kry_format_parse("sell:sigma=8", p));
    assert_int_equal(p->traits, KRY_POSITIVE);
    assert_int_equal(p->storage, KRY_SYMMETRIC_HALF);
    assert_int_equal(p->duplicates, KRY_SUM);
    assert_int_equal(p->format, KRY_FORMAT_SELL);
    assert_int_equal(p->slice, 64);
    assert_int_equal(p->sigma, 8);
    assert_int_equal(p->values, KRY_VALUES_SINGLE);
}

static void format_parse__names_the_bad_word(void **state)
{
    (void)state;
    const char *const bad[][2] = {
        { "", "symdia" },
        { "ELL", "'ELL' is no format; there are auto, csr" },
        { "csrr", "measure" },
        { " csr", "' csr'" },
        { "csr ", "'csr '" },
        { ":csr", "''" },
        { "csr:", "''" },
        { "csr:slice=4", "csr does not know 'slice=4'" },
        { "csr:basic", "'basic'" },
        { "auto:seconds=1", "'seconds=1'" },
        { "measure:basic", "measure does not know 'basic'" },
        { "measure:seconds", "'seconds'" },
        { "measure:seconds=", "''" },
        { "measure:seconds=0", "'0'" },
        { "measure:seconds=-1", "'-1'" },
        { "measure:seconds=1s", "'1s'" },
        { "measure:seconds=inf", "'inf'" },
        { "jds:basic", "'basic'" },
        { "hyb:fast", "'fast'" },
        { "hyb:basic", "'basic'" },
        { "hyb:values=given,", "''" },
        { "hyb:values=none", "'none' is none of compact, given, single" },
        { "hyb:values", "'values'" },
        { "csr:form=flow", "form 'flow' is none of assembled, flux" },
        { "csr:form", "'form'" },
        { "sell:slice", "'slice'" },
        { "sell:slice=", "no whole number for slice" },
        { "sell:slice=0", "'0'" },
        { "sell:slice=-4", "'-4'" },
        { "sell:slice=4.0", "'4.0'" },
        { "sell:slice=4,,sigma=1", "''" },
        { "sell:sigma=4294967297", "'4294967297'" },
        { "sell:index=99999999999999999999", "index" },
        { "sell:=4", "'=4'" },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        kry_matrix_params *p = KRY_MATRIX(.format = KRY_FORMAT_HYB, .slice = 16, .sigma = 2);
        assert_int_equal(kry_format_parse(bad[i][0], p), KRY_ERR_PARSE);
        assert_non_null(strstr(kry_last_error(), bad[i][1]));
        check_same(p, KRY_MATRIX(.format = KRY_FORMAT_HYB, .slice = 16, .sigma = 2));
    }
    assert_int_equal(kry_format_parse(NULL, KRY_MATRIX(.traits = 0)), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_format_parse("csr", NULL), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_format_parse("csr", &(kry_matrix_params){ 0 }), KRY_ERR_ARGUMENT);
}

/* Where numbers have a comma; German is not installed everywhere. */
static void format_parse__decimal_comma(void **state)
{
    (void)state;
    if (!take_decimal_comma()) SKIP("no locale with a decimal comma can be had");
    kry_matrix_params *p = KRY_MATRIX(.traits = 0);
    OK(kry_format_parse("measure:seconds=0.25", p));
    assert_true(p->measure_seconds == 0.25);
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_name__every_format),
        cmocka_unit_test(format_parse__words),
        cmocka_unit_test(format_parse__longer_words),
        cmocka_unit_test(format_parse__changes_only_what_is_named),
        cmocka_unit_test(format_parse__names_the_bad_word),
        cmocka_unit_test(format_parse__decimal_comma),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
