/*
 * page_devices.c - the levels of multigrid, and the devices of a team.
 */
#include "page/bars_picture.h"
#include "page/text.h"
#include "report/page.h"
#include <kry/multigrid.h>

/* ---- multigrid ------------------------------------------------------------------------------- */

kry_status kry_page_levels(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const kry_op *M = kry_solver_precond(s->given->solver);
    const int count = kry_multigrid_levels(M);
    kry_level_info level;
    kry_op_info info, matrix, prolongation;
    double entries = 0, first = 0;
    char t[4][32], text[700];

    if (!count) goto done;
    kry_op_describe(M, &info);
    kry_html_section(f, "levels", "Levels of multigrid");
    snprintf(text, sizeof text, "%s, %s%s%s", info.kind, info.variant, *info.chosen ? ": " : "",
             info.chosen);
    kry_html_element(f, "p", text);
    if (s->devices->all > 1)
        kry_html_element(f, "p class=\"soft\"",
                         "Levels are told as the first of the devices has them.");
    kry_html_table(
        f, "Entries of all levels so far over those of the finest are the complexity",
        ">level|>unknowns|>entries|>complexity|stored as|smoother|>bytes kept|>moved in a cycle",
        false);
    for (int i = 0; i < count; i++) {
        TRY(kry_multigrid_level(M, i, &level));
        kry_op_describe(level.matrix, &matrix);
        kry_op_describe(level.prolongation, &prolongation);
        const bool known = matrix.nnz >= 0 && entries >= 0;
        entries = known ? entries + (double)matrix.nnz : -1;
        if (i == 0) first = entries;
        const double bytes = (i ? matrix.bytes_stored : 0) + prolongation.bytes_stored +
                             level.vector_bytes + level.solver_bytes;
        kry_html_row(f);
        kry_html_number(f, "%d", i);
        kry_html_number(f, "%s", kry_text_whole(level.rows, t[0], sizeof t[0]));
        kry_html_number(f, "%s",
                        matrix.nnz >= 0 ? kry_text_whole(matrix.nnz, t[1], sizeof t[1]) : "-");
        if (known && first > 0)
            kry_html_number(f, "%.3f", entries / first);
        else
            kry_html_number(f, "-");
        kry_html_cell(f, matrix.kind);
        kry_html_cell(f, level.smoother);
        kry_html_number(f, "%s", kry_text_bytes(bytes, t[2], sizeof t[2]));
        kry_html_number(f, "%s",
                        level.bytes_per_cycle > 0
                            ? kry_text_bytes(level.bytes_per_cycle, t[3], sizeof t[3])
                            : "-");
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
done:
    return st;
}

/* ---- several devices ------------------------------------------------------------------------- */

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
        kry_text_seconds(one->kernels + one->transfers, line[i].said, sizeof line[i].said);
    }
    kry_bars_picture(
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
        kry_html_number(f, "%s",
                        one->neighbours >= 0 ? kry_text_whole(words[i], t, sizeof t) : "-");
}

static void table_of_devices(FILE *f, const devices *d)
{
    char t[32];

    kry_html_table(f,
                   d->ranks ? "Ranks; words are those of a product, the rest is of the solve"
                            : "Devices; words are those of a product",
                   d->ranks ? ">rank|name|>rows|>entries|>words received|>words sent|>neighbours|"
                              ">kernels|>sent|>waited"
                            : ">device|name|>rows|>entries|>words received|>words sent|"
                              ">neighbours|>kernels",
                   false);
    for (int i = 0; i < d->count && i < MOST; i++) {
        const device_facts *one = &d->facts[i];
        kry_html_row(f);
        kry_html_number(f, "%d", i);
        kry_html_cell(f, one->name);
        kry_html_number(f, "%s", kry_text_whole(one->rows, t, sizeof t));
        kry_html_number(f, "%s",
                        one->entries >= 0 ? kry_text_whole(one->entries, t, sizeof t) : "-");
        word_cells(f, one);
        kry_html_number(f, "%s",
                        one->kernels > 0 ? kry_text_seconds(one->kernels, t, sizeof t) : "-");
        if (d->ranks) kry_html_number(f, "%s", kry_text_bytes(one->bytes_sent, t, sizeof t));
        if (d->ranks) kry_html_number(f, "%s", kry_text_seconds(one->waited, t, sizeof t));
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
}

void kry_page_devices(FILE *f, const solve_page *s)
{
    const devices *d = s->devices;
    char text[160];

    if (d->all < 2) return;
    kry_html_section(f, "devices", d->ranks ? "Balance of the ranks" : "Balance of the devices");
    if (d->recordings >= d->count || d->ranks) draw_balance(f, d);
    table_of_devices(f, d);
    if (d->count > MOST) kry_html_element(f, "p class=\"soft\"", "The others are left out.");
    if (d->count == d->all) return;
    snprintf(text, sizeof text,
             "%d of %d devices have rows of this system, which is too small for more.", d->count,
             d->all);
    kry_html_element(f, "p class=\"soft\"", text);
}
