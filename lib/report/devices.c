/*
 * devices.c - the devices of a team: here, or those of other ranks, which send their numbers.
 */
#include "report/devices.h"
#include "page/bars_picture.h"
#include "page/text.h"
#include "report/page.h"
#include <stdlib.h>

/* Device i, which is in this process, and whose report has its recording, or NULL. */
static kry_status facts_of_part(const kry_op *A, int i, const recording *times, device_facts *f)
{
    kry_status st = KRY_OK;
    const kry_device *device = kry_team_part(kry_op_device(A), i);

    TRY(kry_op_volume(A, i, &f->volume));
    snprintf(f->name, sizeof f->name, "%s", kry_device_get_info(device)->name);
    f->keeps_times = times != NULL;
    if (!times) goto done;
    f->kernels = kryi_recording_busy(times, KRY_REPORT_SOLVE, false);
    f->transfers = kryi_recording_busy(times, KRY_REPORT_SOLVE, true);
done:
    return st;
}

static void facts_of_rank(const kry_report *r, const kry_op *A, device_facts *f)
{
    kry_op_info info;

    kry_op_describe(A, &info);
    f->slots = info.slots, f->bytes_stored = info.bytes_stored;
    f->waited = r->after.waited - r->before.waited;
    f->bytes_sent = (double)(r->after.sent - r->before.sent);
}

kry_status kryi_devices_find(const kry_report *r, const kry_op *A, devices *d)
{
    kry_status st = KRY_OK;
    const int rank = kry_team_rank(r->device);

    *d = (devices){ .count = kry_op_parts(A),
                    .all = kry_team_size(r->device),
                    .ranks = kry_team_is_ranks(r->device) };
    TRY(kryi_allocate((size_t)d->count, sizeof *d->facts, &d->facts));
    if (r->owned) TRY(kryi_allocate(1, sizeof *d->together, &d->together));
    if (d->ranks && r->owned && d->count <= DEVICES_MOST)
        TRY(kryi_allocate((size_t)d->count, sizeof *d->received, &d->received));
    for (int i = 0; i < (d->ranks ? 1 : d->count); i++) {
        const recording *times = i < r->owned ? kryi_recorder_kept(r->own[i]) : NULL;
        TRY(facts_of_part(A, rank + i, times, &d->facts[rank + i]));
        if (times) d->recording[d->recordings++] = times;
    }
    if (d->ranks) facts_of_rank(r, A, &d->facts[rank]);
done:
    return st;
}

/* Every rank's numbers, and, of no more of them than a picture has room for, its recording. */
static kry_status gather(const kry_report *r, devices *d)
{
    kry_status st = KRY_OK;
    const device_facts mine = d->facts[kry_team_rank(r->device)];
    int count = 0;

    TRY(kry_team_gather(r->device, &mine, sizeof mine, d->facts));
    for (int i = 0; i < d->count; i++) count += d->facts[i].keeps_times;
    if (count < d->count || count > DEVICES_MOST) goto done;
    TRY(kry_team_gather(r->device, kryi_recorder_kept(r->own[0]), sizeof *d->received,
                        d->received));
    for (d->recordings = 0; d->recordings < count; d->recordings++)
        d->recording[d->recordings] = &d->received[d->recordings];
done:
    return st;
}

kry_status kryi_devices_gather(const kry_report *r, devices *d)
{
    kry_status st = KRY_OK;

    if (d->ranks) TRY(gather(r, d));
    if (d->recordings) *d->together = *d->recording[0];
    for (int i = 1; i < d->recordings; i++) kryi_recording_join(d->together, d->recording[i]);
done:
    return st;
}

void kryi_devices_release(devices *d)
{
    free(d->facts);
    free(d->received);
    free(d->together);
    *d = (devices){ 0 };
}

/* ---- their part of the page ------------------------------------------------------------------ */

enum { MOST = 64 }; /* of rows */

static void draw_balance(FILE *f, const devices *d)
{
    bar_line line[MOST];
    char label[MOST][32];
    const int count = d->count < MOST ? d->count : MOST;

    for (int i = 0; i < count; i++) {
        const device_facts *one = &d->facts[i];
        snprintf(label[i], sizeof label[i], "%s %d", d->ranks ? "rank" : "device", i);
        line[i] = (bar_line){ .label = label[i],
                              .part = { { one->kernels, 0, "kernels" },
                                        { one->transfers, 3, "transfers" },
                                        { one->waited, 7, "waiting" } },
                              .parts = 3 };
        kryi_text_seconds(one->kernels + one->transfers, line[i].said, sizeof line[i].said);
    }
    kryi_bars_picture(
        f, &(bar_chart){ .label = "Seconds in which each device was busy in the solve",
                         .caption =
                             d->ranks ? "Kernels of the solve, behind them transfers; grey: the "
                                        "rank waited for others, while its device may have worked."
                                      : "Kernels, and behind them transfers of the solve.",
                         .line = line,
                         .count = count });
}

static void word_cells(FILE *f, const device_facts *one)
{
    const kry_part_volume *v = &one->volume;
    const int64_t words[] = { v->received, v->sent, v->neighbours };
    char t[32];

    for (int i = 0; i < 3; i++)
        kryi_html_number(f, "%s",
                         v->neighbours >= 0 ? kryi_text_whole(words[i], t, sizeof t) : "-");
}

static void table_of_devices(FILE *f, const devices *d)
{
    char t[32];

    kryi_html_table(f,
                    d->ranks ? "Ranks; words are those of a product, the rest is of the solve"
                             : "Devices; words are those of a product",
                    d->ranks ? ">rank|name|>rows|>entries|>words received|>words sent|>neighbours|"
                               ">kernels|>sent|>waited"
                             : ">device|name|>rows|>entries|>words received|>words sent|"
                               ">neighbours|>kernels",
                    false);
    for (int i = 0; i < d->count && i < MOST; i++) {
        const device_facts *one = &d->facts[i];
        kryi_html_row(f);
        kryi_html_number(f, "%d", i);
        kryi_html_cell(f, one->name);
        kryi_html_number(f, "%s", kryi_text_whole(one->volume.rows, t, sizeof t));
        kryi_html_number(
            f, "%s",
            one->volume.entries >= 0 ? kryi_text_whole(one->volume.entries, t, sizeof t) : "-");
        word_cells(f, one);
        kryi_html_number(f, "%s",
                         one->kernels > 0 ? kryi_text_seconds(one->kernels, t, sizeof t) : "-");
        if (d->ranks) kryi_html_number(f, "%s", kryi_text_bytes(one->bytes_sent, t, sizeof t));
        if (d->ranks) kryi_html_number(f, "%s", kryi_text_seconds(one->waited, t, sizeof t));
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
}

void kryi_page_devices(FILE *f, const solve_page *s)
{
    const devices *d = s->devices;
    char text[160];

    if (d->all < 2) return;
    kryi_html_section(f, "devices", d->ranks ? "Balance of the ranks" : "Balance of the devices");
    if (d->recordings >= d->count || d->ranks) draw_balance(f, d);
    table_of_devices(f, d);
    if (d->count > MOST) kryi_html_element(f, "p class=\"soft\"", "The others are left out.");
    if (d->count == d->all) return;
    snprintf(text, sizeof text,
             "%d of %d devices have rows of this system, which is too small for more.", d->count,
             d->all);
    kryi_html_element(f, "p class=\"soft\"", text);
}
