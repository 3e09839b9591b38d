/*
 * devices.c - the devices of a team: here, or those of other ranks, which send their numbers.
 */
#include "report/devices.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "page/bars_picture.h"
#include "page/text.h"
#include "report/page.h"
#include "team/ranks.h"
#include <stdlib.h>

/* The exchange of a part of A; NULL: it needs none, or is of another kind. */
static const kryi_halo *halo_of(const kry_op *local, bool *known)
{
    const kry_op *A = kryi_pin_of(local);
    const kryi_stencil *grid = kryi_stencil_of(A);
    const kryi_extended *wide = kryi_extended_of(A);
    const kryi_coupled *coupled = kryi_coupled_of(A);

    *known = grid || wide || coupled || kryi_matrix_of(A);
    return grid ? grid->slab.halo : wide ? wide->halo : coupled ? coupled->halo : NULL;
}

/* Device i of this process, whose report has its recording, or NULL. */
static void facts_of_part(const kry_op *A, int i, const recording *times, device_facts *f)
{
    kry_op_info info;
    const kry_op *local = kryi_op_piece(A, i);
    bool known;
    const kryi_halo *halo = halo_of(local, &known);

    kry_op_describe(local, &info);
    *f = (device_facts){ .rows = kry_op_get_shape(local)->rows,
                         .entries = info.nnz,
                         .slots = info.slots,
                         .bytes_stored = info.bytes_stored,
                         .received = halo ? kryi_halo_count(halo) : 0,
                         .sent = halo ? kryi_halo_sent(halo) : 0,
                         .neighbours = !known ? -1
                                       : halo ? kryi_halo_neighbours(halo)
                                              : 0 };
    snprintf(f->name, sizeof f->name, "%s", kry_device_get_info(kry_op_device(local))->name);
    if (!times) return;
    f->kernels = kryi_recording_busy(times, KRY_REPORT_SOLVE, false);
    f->transfers = kryi_recording_busy(times, KRY_REPORT_SOLVE, true);
}

/* Every rank's numbers, and, of no more of them than a picture has room for, its recording. */
static kry_status gather(const kry_report *r, const device_facts *mine, devices *d)
{
    kry_status st = KRY_OK;
    kryi_ranks *R = r->device->team->ranks;
    const int64_t own = r->owned;
    int64_t *times = NULL; /* of each rank: whether it has them */

    TRY(kryi_alloc((size_t)d->count, sizeof *times, &times));
    TRY(kryi_ranks_gather(R, mine, sizeof *mine, d->facts));
    TRY(kryi_ranks_gather(R, &own, sizeof own, times));
    for (int i = 0; i < d->count; i++)
        if (!times[i]) goto done;
    if (d->count > KRY_TEAM_MOST) goto done;
    TRY(kryi_alloc((size_t)d->count, sizeof *d->received, &d->received));
    TRY(kryi_ranks_gather(R, kryi_recorder_kept(r->own[0]), sizeof *d->received, d->received));
    for (int i = 0; i < d->count; i++) d->recording[d->recordings++] = &d->received[i];
done:
    free(times);
    return st;
}

static kry_status put_together(devices *d)
{
    kry_status st = KRY_OK;

    if (!d->recordings) return KRY_OK;
    TRY(kryi_alloc(1, sizeof *d->together, &d->together));
    *d->together = *d->recording[0];
    for (int i = 1; i < d->recordings; i++) kryi_recording_join(d->together, d->recording[i]);
done:
    return st;
}

/* Those of this process; on ranks it has one. */
static void find_here(const kry_report *r, const kry_op *A, devices *d)
{
    const kryi_here here = kryi_op_here(A);

    for (int i = here.begin; i < here.end; i++) {
        const int at = i - here.begin;
        const recording *times = at < r->owned ? kryi_recorder_kept(r->own[at]) : NULL;
        facts_of_part(A, i, times, &d->facts[i]);
        if (times && !d->ranks) d->recording[d->recordings++] = times;
    }
}

kry_status kryi_devices_find(const kry_report *r, const kry_op *A, devices *d)
{
    kry_status st = KRY_OK;
    device_facts mine;

    *d = (devices){ .count = kryi_op_parts(A),
                    .all = kry_team_size(r->device),
                    .ranks = kry_team_is_ranks(r->device) };
    TRY(kryi_alloc((size_t)d->count, sizeof *d->facts, &d->facts));
    find_here(r, A, d);
    if (d->ranks) {
        mine = d->facts[kryi_op_here(A).begin];
        mine.waited = r->after.waited - r->before.waited;
        mine.bytes_sent = (double)(r->after.sent - r->before.sent);
        TRY(gather(r, &mine, d));
    }
    if (!d->recordings && r->owned) /* more ranks than there is room for: this one's */
        d->recording[d->recordings++] = kryi_recorder_kept(r->own[0]);
    TRY(put_together(d));
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
    const int64_t words[] = { one->received, one->sent, one->neighbours };
    char t[32];

    for (int i = 0; i < 3; i++)
        kryi_html_number(f, "%s",
                         one->neighbours >= 0 ? kryi_text_whole(words[i], t, sizeof t) : "-");
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
        kryi_html_number(f, "%s", kryi_text_whole(one->rows, t, sizeof t));
        kryi_html_number(f, "%s",
                         one->entries >= 0 ? kryi_text_whole(one->entries, t, sizeof t) : "-");
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
