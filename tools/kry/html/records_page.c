/*
 * records_page.c - the records of a benchmark or of a paper as one page.
 */
#include "records_page.h"
#include "json.h"
#include "page/text.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

kry_status records_page_begin(const options *given, records_page *p)
{
    kry_status st = KRY_OK;

    *p = (records_page){ .given = given, .o = *given };
    if (!given->html) return KRY_OK;
    TRY(kry_output_differs(given->html, given->svg));
    for (int i = 0; i < given->word_count; i++)
        TRY(kry_output_differs(given->html, given->words[i]));
    TRY(kry_output_check(given->html));
    json_keep(&p->kept, !given->json);
    p->o.json = true;
done:
    return st;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

const char *record_shown(const record_value *v, char *text, size_t size)
{
    char *end = NULL;
    const double value = v->plain ? strtod(v->text, &end) : 0;

    if (!v->plain || end == v->text || *end)
        snprintf(text, size, "%s", strcmp(v->text, "null") || !v->plain ? v->text : "-");
    else if (ends_with(v->key, "_per_s"))
        snprintf(text, size, "%.2f", value);
    else if (!strcmp(v->key, "seconds") || ends_with(v->key, "_s") || ends_with(v->key, "_seconds"))
        kryi_text_seconds(value, text, size);
    else if (!strcmp(v->key, "bytes") || ends_with(v->key, "_bytes"))
        kryi_text_bytes(value, text, size);
    else if (!strncmp(v->key, "fraction", 8) || !strcmp(v->key, "share"))
        snprintf(text, size, "%.1f %%", 100 * value);
    else if (strpbrk(v->text, ".e"))
        snprintf(text, size, "%.4g", value);
    else
        kryi_text_whole((int64_t)value, text, size);
    return text;
}

const char *record_title(const char *key, char *text, size_t size)
{
    static const struct {
        const char *key, *title;
    } own[] = { { "gbytes_per_s", "GB/s" },
                { "mbytes_per_s", "MB/s" },
                { "gflops", "GFLOP/s" },
                { "nnz", "nonzeros" },
                { "n", "unknowns" },
                { "setup_s", "set-up" },
                { "seconds", "time" },
                { "error_inf", "largest error" },
                { "error_rel", "relative error" },
                { "fraction_of_copy", "share of copy" } };

    for (size_t i = 0; i < COUNT(own); i++)
        if (!strcmp(key, own[i].key)) {
            snprintf(text, size, "%s", own[i].title);
            return text;
        }
    snprintf(text, size, "%s", key);
    if (ends_with(text, "_per_s"))
        text[strlen(text) - 1] = 0, strncat(text, "second", size - strlen(text) - 1);
    else if (ends_with(text, "_s"))
        text[strlen(text) - 2] = 0; /* the unit stands with the number */
    for (char *c = text; *c; c++)
        if (*c == '_') *c = ' ';
    return text;
}

static kry_status write_page(const records_page *p, const char *title, const kry_device_info *d)
{
    kry_status st = KRY_OK;
    const records *r = &p->kept;
    FILE *f = NULL;
    char text[600], date[64] = "", *command = NULL;
    const time_t seconds = time(NULL);
    struct tm utc;

    CHECK(!r->failed, KRY_ERR_MEMORY, "no memory for the results of the page");
    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    TRY(kryi_html_open(p->given->html, title, &f));
    kryi_html_element(f, "h1", title);
    TRY(options_command(p->given, &command));
    kryi_html_command(f, command);
    snprintf(text, sizeof text, "%s, kry %s%s%s%s%s%s%s%s", date, kry_version(), d ? ", on " : "",
             d ? d->name : "", d ? " (" : "", d ? d->platform : "", d ? ", driver " : "",
             d ? d->driver : "", d ? ")" : "");
    kryi_html_element(f, "p class=\"soft\"", text);
    if (!r->count)
        kryi_html_element(f, "p", "There were no results.");
    else if (record_text(&r->one[0], "paper"))
        TRY(page_paper(f, r));
    else
        page_benchmarks(f, r);
done:
    free(command);
    return kryi_html_close(p->given->html, &f, st);
}

kry_status records_page_end(records_page *p, const char *title, const kry_device_info *device,
                            kry_status st)
{
    json_keep(NULL, false);
    if (st >= 0 && p->given->html) {
        const kry_status written = write_page(p, title, device);
        if (written < 0)
            st = written;
        else if (!p->given->json)
            printf("%d results in %s\n", p->kept.count, p->given->html);
    }
    records_release(&p->kept);
    return st;
}
