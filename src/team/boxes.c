/*
 * boxes.c - cutting a grid across two or three axes.
 *
 * A part in slabs receives a layer from each of two neighbours, however many parts there are: of N^3 unknowns 2 N^2
 * words. In P^(1/3) cubed boxes it receives 6 N^2 / P^(2/3). What comes from a slab's neighbours lies in one piece, and
 * the pass over its inner layers hides it; a word of a box's surface is gathered, and read again in a launch of its own.
 * So boxes are worth while from half the words on: docs/devices.md.
 */
#include "team/boxes.h"
#include "sparse/partition.h"
#include "team/team.h"
#include <stdlib.h>
#include <string.h>

/* ---- where unknowns are ---------------------------------------------------------------------- */

kryi_grid_box kryi_boxes_part(const kryi_boxes *B, int r)
{
    kryi_grid_box box = { .at = { r % B->parts[0], r / B->parts[0] % B->parts[1],
                                  r / B->parts[0] / B->parts[1] } };

    for (int a = 0; a < 3; a++) {
        box.first[a] = B->begin[a][box.at[a]];
        box.size[a] = B->begin[a][box.at[a] + 1] - box.first[a];
    }
    return box;
}

int kryi_boxes_beside(const kryi_boxes *B, int r, int axis, bool high, bool periodic)
{
    const int parts = B->parts[axis], stride = axis == 0   ? 1
                                               : axis == 1 ? B->parts[0]
                                                           : B->parts[0] * B->parts[1];
    const int at = r / stride % parts, next = at + (high ? 1 : -1);

    if (parts == 1 || (!periodic && (next < 0 || next == parts))) return -1;
    return r + ((next + parts) % parts - at) * stride;
}

int64_t kryi_boxes_row(const kryi_boxes *B, int r, int64_t i)
{
    const kryi_grid_box b = kryi_boxes_part(B, r);
    const int64_t x = i % b.size[0], y = i / b.size[0] % b.size[1], z = i / b.size[0] / b.size[1];

    return b.first[0] + x + B->size[0] * (b.first[1] + y + B->size[1] * (b.first[2] + z));
}

int kryi_boxes_find(const kryi_boxes *B, int64_t row, int64_t *i)
{
    const int64_t at[3] = { row % B->size[0], row / B->size[0] % B->size[1],
                            row / B->size[0] / B->size[1] };
    int part[3];

    for (int a = 0; a < 3; a++) part[a] = kryi_interval_of(B->begin[a], B->parts[a], at[a]);
    const int r = part[0] + B->parts[0] * (part[1] + B->parts[1] * part[2]);
    const kryi_grid_box b = kryi_boxes_part(B, r);
    *i = at[0] - b.first[0] + b.size[0] * (at[1] - b.first[1] + b.size[1] * (at[2] - b.first[2]));
    return r;
}

/* ---- how many boxes -------------------------------------------------------------------------- */

int64_t kryi_boxes_words(const kryi_grid_cut *g, const int blocks[3])
{
    int64_t words = 0, size[3];

    for (int a = 0; a < 3; a++) size[a] = (g->size[a] + blocks[a] - 1) / blocks[a];
    for (int a = 0; a < 3; a++) {
        const int sides = blocks[a] == 1 ? 0 : blocks[a] == 2 && !g->periodic[a] ? 1 : 2;
        words += sides * (size[0] * size[1] * size[2] / size[a]);
    }
    return words;
}

void kryi_boxes_choose(const kryi_grid_cut *g, int parts, int blocks[3])
{
    const int slabs[3] = { 1, g->axes == 3 ? 1 : parts, g->axes == 3 ? parts : 1 };
    const bool fit = parts <= g->size[g->axes - 1];
    int64_t least = fit ? (kryi_boxes_words(g, slabs) + 1) / 2 : INT64_MAX;

    for (int a = 0; a < 3; a++) blocks[a] = fit ? slabs[a] : 0;
    for (int x = 1; x <= parts && x <= g->size[0]; x++)
        for (int y = 1; y <= parts / x && y <= g->size[1]; y++) {
            const int some[3] = { x, y, parts / x / y };
            if (some[0] * some[1] * some[2] != parts || some[2] > g->size[2]) continue;
            const int64_t words = kryi_boxes_words(g, some);
            if (words >= least) continue;
            least = words;
            memcpy(blocks, some, sizeof some);
        }
}

/* ---- splits ---------------------------------------------------------------------------------- */

void kryi_boxes_release(kryi_boxes **boxes)
{
    kryi_boxes *B = *boxes;

    *boxes = NULL;
    for (int a = 0; B && a < 3; a++) free(B->begin[a]);
    free(B);
}

/* Cut an axis: an interval is as long as the speed of all parts that have it allows. */
static kry_status cut_axis(const double *share, int axis, kryi_boxes *B)
{
    enum {
        ALIGNED = 4,
        LONG = 16
    }; /* rows begin where GPUs load several numbers at once, if that is little */
    kry_status st = KRY_OK;
    const int parts = B->parts[axis], all = B->parts[0] * B->parts[1] * B->parts[2];
    const int64_t multiple =
        axis == 0 && B->size[0] >= (int64_t)ALIGNED * LONG * parts ? ALIGNED : 1;
    double *together = NULL;

    TRY(kryi_alloc((size_t)parts + 1, sizeof *B->begin[axis], &B->begin[axis]));
    TRY(kryi_alloc((size_t)parts, sizeof *together, &together));
    for (int r = 0; r < all; r++) {
        const int at[3] = { r % B->parts[0], r / B->parts[0] % B->parts[1],
                            r / B->parts[0] / B->parts[1] };
        together[at[axis]] += share[r];
    }
    TRY(kryi_partition_by_rows(B->size[axis], NULL, parts, together, multiple, B->begin[axis]));
done:
    free(together);
    return st;
}

/* On a team whose parts are all in this process: the rows in the order of boxes. */
static kry_status list_rows(kryi_split *s)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((size_t)s->n, sizeof *s->row, &s->row));
    for (int r = 0; r < s->members; r++)
        for (int64_t i = 0; i < kryi_split_rows(s, r); i++)
            s->row[s->first[r] + i] = (int32_t)kryi_boxes_row(s->boxes, r, i);
done:
    return st;
}

static kry_status split_boxes(struct kryi_team *team, const kryi_grid_cut *g, const int blocks[3],
                              kryi_split **split)
{
    kry_status st = KRY_OK;
    kryi_split *s = NULL;
    kryi_boxes *B = NULL;
    const int parts = blocks[0] * blocks[1] * blocks[2];

    TRY(kryi_split_new(team, g->size[0] * g->size[1] * g->size[2], parts, &s));
    TRY(kryi_alloc(1, sizeof *B, &s->boxes));
    B = s->boxes;
    memcpy(B->size, g->size, sizeof B->size);
    memcpy(B->parts, blocks, sizeof B->parts);
    for (int a = 0; a < 3; a++) TRY(cut_axis(team->share, a, B));
    for (int r = 0; r < parts; r++) {
        const kryi_grid_box box = kryi_boxes_part(B, r);
        s->first[r + 1] = s->first[r] + box.size[0] * box.size[1] * box.size[2];
    }
    if (!team->ranks) TRY(list_rows(s));
    kryi_split_keep(&s, 0, 0, split);
done:
    if (s) kryi_boxes_release(&s->boxes), free(s->row), free(s->first);
    free(s);
    return st;
}

/* What the caller asks for. */
static kry_status check_blocks(const struct kryi_team *team, const char *who,
                               const kryi_grid_cut *g)
{
    kry_status st = KRY_OK;
    const int *b = g->blocks;
    int64_t parts = 1;

    for (int a = 0; a < 3; a++) {
        CHECK(b[a] >= 1 && b[a] <= g->size[a], KRY_ERR_ARGUMENT,
              "%s: %d blocks along %c, which has %lld unknowns", who, b[a], "xyz"[a],
              (long long)g -> size[a]);
        parts *= b[a];
    }
    CHECK(parts == team->size, KRY_ERR_ARGUMENT, "%s: %d x %d x %d blocks for %d %s", who, b[0],
          b[1], b[2], team->size, team->ranks ? "ranks" : "devices");
    CHECK(!team->reproducible || b[g->axes - 1] == parts, KRY_ERR_UNSUPPORTED,
          "%s: %d x %d x %d blocks; reproducible sums go in the order of rows, so that grids are "
          "cut along the last "
          "axis alone",
          who, b[0], b[1], b[2]);
done:
    return st;
}

static bool same_boxes(const kryi_boxes *B, const kryi_grid_cut *g)
{
    return !memcmp(B->size, g->size, sizeof B->size) &&
           (!g->blocks[0] || !memcmp(B->parts, g->blocks, sizeof B->parts));
}

kry_status kryi_split_grid(struct kryi_team *team, const char *who, const kryi_grid_cut *g,
                           kryi_split **split)
{
    kry_status st = KRY_OK;
    const int64_t n = g->size[0] * g->size[1] * g->size[2];
    kryi_split *old = kryi_split_find(team, n);
    int blocks[3] = { 0 };

    *split = NULL;
    if (g->blocks[0] || g->blocks[1] || g->blocks[2]) {
        TRY(check_blocks(team, who, g));
        memcpy(blocks, g->blocks, sizeof blocks);
    } else if (!old && !team->reproducible) {
        kryi_boxes_choose(g, kryi_split_members(team, true, n), blocks);
    }
    const bool boxes = blocks[0] > 1 || (g->axes == 3 && blocks[1] > 1);
    CHECK(!old || (old->boxes ? same_boxes(old->boxes, g) : !boxes), KRY_ERR_SHAPE,
          "%s: vectors or operators of %lld rows that were made before are cut elsewhere: make the "
          "grid operator first",
          who, (long long)n);
    if (old && old->boxes) {
        *split = old, old = NULL;
    } else if (boxes) {
        TRY(split_boxes(team, g, blocks, split));
    } else {
        TRY(kryi_split_get(team, who, n, NULL, n / g->size[g->axes - 1], split));
    }
done:
    if (old) kryi_split_release(&old);
    return st;
}
