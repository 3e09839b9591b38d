/*
 * page_parts.c - the levels of multigrid, and the devices of a team.
 */
#include "bars_picture.h"
#include "solve_page.h"
#include "text.h"
#include <kry/multigrid.h>
#include <kry/team.h>
#include <stdlib.h>
#include <string.h>

/* ---- multigrid ------------------------------------------------------------------------------- */

kry_status page_levels(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const kry_op *M = kry_solver_precond(s->solver);
    const int count = kry_multigrid_levels(M);
    kry_level_info level;
    kry_op_info info, matrix, prolongation;
    double entries = 0, first = 0;
    char t[4][32], text[700];

    if (!count) goto done;
    kry_op_describe(M, &info);
    html_section(f, "levels", "Levels of multigrid");
    snprintf(text, sizeof text, "%s, %s%s%s", info.kind, info.variant, *info.chosen ? ": " : "",
             info.chosen);
    html_element(f, "p", text);
    html_table(
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
        html_row(f);
        html_number(f, "%d", i);
        html_number(f, "%s", text_whole(level.rows, t[0], sizeof t[0]));
        html_number(f, "%s", matrix.nnz >= 0 ? text_whole(matrix.nnz, t[1], sizeof t[1]) : "-");
        if (known && first > 0)
            html_number(f, "%.3f", entries / first);
        else
            html_number(f, "-");
        html_cell(f, matrix.kind);
        html_cell(f, level.smoother);
        html_number(f, "%s", text_bytes(bytes, t[2], sizeof t[2]));
        html_number(f, "%s",
                    level.bytes_per_cycle > 0 ? text_bytes(level.bytes_per_cycle, t[3], sizeof t[3])
                                              : "-");
        html_row_end(f);
    }
    html_table_end(f, false);
done:
    return st;
}

/* ---- several devices ------------------------------------------------------------------------- */

enum { MOST = LOOK_PARTS };

/* Rows of each part, by a vector that is split as the operator is. */
static kry_status rows_of_parts(const solve_page *s, int64_t *rows, int *count)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(s->A);
    kry_vec *v = NULL, *part = NULL;
    int64_t first;

    TRY(kry_vec_create(kry_op_device(s->A), shape->type, shape->rows, 1, &v));
    *count = kry_vec_parts(v);
    for (int i = 0; i < *count && i < MOST; i++) {
        TRY(kry_vec_part(v, i, &first, &part));
        rows[i] = kry_vec_rows(part);
        kry_vec_release(&part);
    }
done:
    kry_vec_release(&v);
    return st;
}

/* What a product sends, counted on the pattern for as many parts of equal speed. */
static kry_status halos_of_parts(const solve_page *s, int parts, kry_part_volume *volume,
                                 bool *known)
{
    kry_status st = KRY_OK;
    const source *src = s->report->src;
    const char *spec = s->o->device ? s->o->device : getenv("KRY_DEVICE");
    sparse A = { 0 };

    *known = !source_matrix_free(src) && src->rows == src->cols && parts <= src->rows;
    if (!*known) goto done;
    TRY(sparse_of_source(src, &A));
    st = kry_team_volume(A.rows, A.row_ptr, A.col, parts, spec && strstr(spec, ",graph"), volume);
    *known = st >= 0;
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK;
done:
    sparse_release(&A);
    return st;
}

static void draw_balance(FILE *f, const look *l, int count)
{
    bar_line line[MOST];
    char label[MOST][32];

    for (int i = 0; i < count; i++) {
        const double kernels = profile_busy(l->part[i], PHASE_SOLVE, false),
                     transfers = profile_busy(l->part[i], PHASE_SOLVE, true);
        snprintf(label[i], sizeof label[i], "device %d", i);
        line[i] = (bar_line){ .label = label[i],
                              .part = { { kernels, 0, "kernels" }, { transfers, 3, "transfers" } },
                              .parts = 2 };
        text_seconds(kernels + transfers, line[i].said, sizeof line[i].said);
    }
    bars_picture(f, &(bar_chart){ .label = "Seconds in which each device was busy in the solve",
                                  .caption = "Kernels, and behind them transfers of the solve.",
                                  .line = line,
                                  .count = count });
}

kry_status page_parts(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const kry_device *device = kry_op_device(s->A);
    kry_part_volume volume[MOST];
    int64_t rows[MOST] = { 0 };
    int count = 0;
    bool known = false;
    char t[32];

    if (kry_team_size(device) < 2) goto done;
    TRY(rows_of_parts(s, rows, &count));
    if (count > MOST) count = MOST;
    TRY(halos_of_parts(s, count, volume, &known));
    html_section(f, "devices", "Balance of the devices");
    if (count <= s->look->parts) draw_balance(f, s->look, count);
    html_table(f,
               known ? "Devices; words that a product sends are counted for blocks of equal work"
                     : "Devices",
               ">device|name|>rows|>entries|>words received|>words sent|>neighbours|>kernels",
               false);
    for (int i = 0; i < count; i++) {
        kry_device *part = kry_team_part(device, i);
        html_row(f);
        html_number(f, "%d", i);
        html_cell(f, kry_device_get_info(part)->name);
        html_number(f, "%s", text_whole(rows[i], t, sizeof t));
        html_number(f, "%s", known ? text_whole(volume[i].entries, t, sizeof t) : "-");
        html_number(f, "%s", known ? text_whole(volume[i].received, t, sizeof t) : "-");
        html_number(f, "%s", known ? text_whole(volume[i].sent, t, sizeof t) : "-");
        html_number(f, "%s", known ? text_whole(volume[i].neighbours, t, sizeof t) : "-");
        html_number(
            f, "%s",
            i < s->look->parts
                ? text_seconds(profile_busy(s->look->part[i], PHASE_SOLVE, false), t, sizeof t)
                : "-");
        html_row_end(f);
    }
    html_table_end(f, false);
    if (count < kry_team_size(device)) {
        char text[160];
        snprintf(text, sizeof text,
                 "%d of %d devices have rows of this system, which is too small for more.", count,
                 kry_team_size(device));
        html_element(f, "p class=\"soft\"", text);
    }
done:
    return st;
}
