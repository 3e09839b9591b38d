/* test_progress.c - the line that kry solve shows on a terminal while it solves. */
#include "../../tools/kry/progress.h"
#include "unit.h"

/* Residuals as conjugate gradients have them: a plateau, and in the end a fast fall; 1780 iterations. */
static double residual_at(int64_t k) { return pow(10, -8 * pow((double)k / 1780, 3)); }

static void line__fits_and_forecasts_with_care(void **state)
{
    (void)state;
    progress p = { .begun = true, .first_log = 0 };
    char text[PROGRESS_LINE];
    double worst = 0;
    int forecasts = 0;

    for (int64_t k = 20; k < 1780; k += 20) { /* a thousand iterations a second */
        kry_iteration it = { k, residual_at(k), 1e-8, 1e-3 * (double)k };
        progress_line(&p, &it, text);
        assert_true(strlen(text) < 80);
        const char *left = strstr(text, "e-08, ");
        if (!left) continue;
        double seconds = strtod(left + 6, (char **)&left);
        if (!strncmp(left, " ms", 3)) seconds /= 1e3;
        forecasts++;
        worst = fmax(worst, (seconds + it.seconds) / 1.78);
    }
    assert_true(forecasts > 20);
    assert_true(worst < 3);
    kry_iteration large = { 123456789012, 1.2e-300, 1e-301, 1e-3 };
    progress_line(&p, &large, text);
    assert_true(strlen(text) < 80);
    large.target = 0; /* KRY_STOP_NEVER */
    progress_line(&p, &large, text);
    assert_null(strstr(text, "wanted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(line__fits_and_forecasts_with_care) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
