/*
 * reproduce.c - kry reproduce: find the paper, open the device.
 */
#include "reproduce.h"
#include "commands.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

void reproduce_json(const char *paper, const cell *c)
{
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

static const struct paper {
    const char *name;
    kry_status (*run)(bench *b);
} papers[] = {
    { "akhtar", reproduce_akhtar },
    { "cevahir", reproduce_cevahir },
};

static kry_status find_paper(const options *o, const struct paper **found)
{
    kry_status st = KRY_OK;
    CHECK(o->word_count > 0, KRY_ERR_PARSE, "needs the name of a paper: akhtar, cevahir");
    for (size_t i = 0; i < COUNT(papers); i++)
        if (!strcmp(o->words[0], papers[i].name)) *found = &papers[i];
    CHECK(*found, KRY_ERR_PARSE, "unknown paper \"%s\"; there are akhtar, cevahir", o->words[0]);
done:
    return st;
}

kry_status reproduce_run(const options *o)
{
    kry_status st = KRY_OK;
    const struct paper *found = NULL;
    bench b = { .o = o, .type = KRY_F64, .seed = options_whole(o->seed, 1) };
    TRY(find_paper(o, &found));
    TRY(kry_device_open(o->device, &b.device));
    b.info = kry_device_get_info(b.device);
    TRY(found->run(&b));
done:
    kry_device_release(&b.device);
    return st;
}
