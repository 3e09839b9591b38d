/*
 * reproduce.c - kry reproduce: find the paper, open the device.
 */
#include "reproduce.h"
#include "commands.h"
#include "json.h"
#include "records_page.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void reproduce_cell(const bench *b, const char *paper, const cell *c)
{
    if (!b->o->json) return;
    json j = json_begin(stdout);
    json_text(&j, "paper", paper);
    json_text(&j, "table", c->table);
    json_text(&j, "row", c->row);
    json_text(&j, "column", c->column);
    json_real(&j, "theirs", c->theirs);
    json_real(&j, "ours", c->ours);
    json_real(&j, "golden", c->golden);
    json_text(&j, "unit", c->unit);
    if (c->refused) json_text(&j, "refused", c->refused);
    json_end(&j);
}

void reproduce_say(const bench *b, const char *format, ...)
{
    va_list args;
    if (b->o->json) return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(stdout);
}

void reproduce_number(const bench *b, const char *format, double value)
{
    if (isfinite(value))
        reproduce_say(b, format, value);
    else
        reproduce_say(b, "%13s", "-");
}

#define NAMES "wang, akhtar, brodtkorb, cevahir, gupta"

static const struct paper {
    const char *name;
    kry_status (*run)(bench *b);
    bool sources; /* of matrices to go over */
    bool max_n, n, svg, resident;
} papers[] = {
    { "wang", reproduce_wang, .max_n = true, .svg = true, .resident = true },
    { "akhtar", reproduce_akhtar, .n = true, .svg = true },
    { "brodtkorb", reproduce_brodtkorb, .max_n = true },
    { "cevahir", reproduce_cevahir, .sources = true },
    { "gupta", reproduce_gupta, .max_n = true, .svg = true },
};

static kry_status find_paper(const options *o, const struct paper **found)
{
    kry_status st = KRY_OK;
    const char *word = o->words[0];
    char hint[64];
    CHECK(o->word_count > 0, KRY_ERR_PARSE, "needs the name of a paper: " NAMES);
    for (size_t i = 0; i < COUNT(papers); i++)
        if (!strcmp(word, papers[i].name)) *found = &papers[i];
    CHECK(*found, KRY_ERR_PARSE, "unknown paper \"%s\"; there are " NAMES "%s", word,
          kry_word_hint(word, NAMES, hint, sizeof hint));
    CHECK((*found)->sources || o->word_count + o->problem_count == 1, KRY_ERR_PARSE,
          "%s takes no matrix", word);
    const struct {
        const char *name, *value;
        bool takes;
    } given[] = { { "--max-n", o->max_n, (*found)->max_n },
                  { "--n", o->n, (*found)->n },
                  { "--svg", o->svg, (*found)->svg },
                  { "--resident", options_solver(o, "resident"), (*found)->resident } };
    for (size_t i = 0; i < COUNT(given); i++)
        CHECK(given[i].takes || !given[i].value, KRY_ERR_PARSE, "%s takes no %s", word,
              given[i].name);
done:
    return st;
}

kry_status reproduce_run(const options *given)
{
    kry_status st = KRY_OK;
    const struct paper *found = NULL;
    bench b = { .type = KRY_F64, .seed = options_whole(given->seed, 1) };
    records_page page;
    char title[64];

    TRY(find_paper(given, &found));
    TRY(records_page_begin(given, &page));
    b.o = &page.o;
    st = kry_device_open(options_opencl(given), &b.device);
    if (st >= 0) {
        b.info = kry_device_get_info(b.device);
        st = found->run(&b);
    }
    snprintf(title, sizeof title, "kry reproduce %s", found->name);
    st = records_page_end(&page, title, b.info, st);
done:
    kry_device_release(&b.device);
    return st;
}
