/*
 * page_benchmarks.c - results of kry bench: bars and a table for each problem.
 */
#include "page/bars_picture.h"
#include "page/text.h"
#include "records_page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BARS = 24, MOST_COLUMNS = 40 };

/* Records i of a group, consecutive: begin <= i < end. */
typedef struct group {
    const records *r;
    int begin, end;
} group;

static bool same(const record *a, const record *b, const char *key)
{
    const char *x = record_text(a, key), *y = record_text(b, key);
    return x && y ? !strcmp(x, y) : x == y;
}

/* Whether records differ only in what was measured, not in what it was measured on. */
static bool belong_together(const record *a, const record *b)
{
    return same(a, b, "problem") && same(a, b, "part");
}

static bool has_value(const group *g, const char *key)
{
    for (int i = g->begin; i < g->end; i++)
        if (record_text(&g->r->one[i], key)) return true;
    return false;
}

/* What a record is called beside the others of its group. */
static void name_of(const group *g, const record *one, char *text, size_t size)
{
    static const char *const keys[] = { "requested", "name", "problem" };
    const char *said = NULL, *fallback = "";

    for (int k = 2; k >= 0; k--) {
        const char *own = record_text(one, keys[k]);
        if (!own) continue;
        for (int i = g->begin; i < g->end; i++)
            if (!same(&g->r->one[i], one, keys[k])) said = own;
        fallback = own;
    }
    if (!said) said = fallback;
    const char *slash = strrchr(said, '/');
    snprintf(text, size, "%.25s", slash ? slash + 1 : said);
}

/* ---- bars ------------------------------------------------------------------------------------ */

static int rate_bars(const group *g, bar_line *bar, char (*name)[32], double *copy)
{
    int count = 0;

    for (int i = g->begin; i < g->end && count < MOST_BARS; i++) {
        const record *one = &g->r->one[i];
        const double rate = record_number(one, "gbytes_per_s"),
                     fraction = record_number(one, "fraction_of_copy");
        if (!(rate > 0)) continue;
        if (fraction > 0) *copy = rate / fraction;
        name_of(g, one, name[count], sizeof *name);
        bar[count] = (bar_line){ .label = name[count], .part = { { rate, 0, NULL } }, .parts = 1 };
        if (fraction > 0)
            snprintf(bar[count].said, sizeof bar->said, "%.2f GB/s, %.0f %% of copy", rate,
                     100 * fraction);
        else
            snprintf(bar[count].said, sizeof bar->said, "%.2f GB/s", rate);
        count++;
    }
    return count;
}

static int second_bars(const group *g, bar_line *bar, char (*name)[32])
{
    char t[2][32];
    int count = 0;

    for (int i = g->begin; i < g->end && count < MOST_BARS; i++) {
        const record *one = &g->r->one[i];
        const double setup = record_number(one, "setup_s"), solve = record_number(one, "solve_s"),
                     seconds = record_number(one, "seconds");
        if (!(solve > 0) && !(seconds > 0)) continue;
        name_of(g, one, name[count], sizeof *name);
        bar[count] = (bar_line){ .label = name[count], .parts = 2 };
        if (solve > 0) {
            bar[count].part[0] = (bar_part){ isfinite(setup) ? setup : 0, 3, "set-up" };
            bar[count].part[1] = (bar_part){ solve, 0, "solve" };
            snprintf(bar[count].said, sizeof bar->said, "%s + %s",
                     kryi_text_seconds(setup, t[0], sizeof t[0]),
                     kryi_text_seconds(solve, t[1], sizeof t[1]));
        } else {
            bar[count].part[0] = (bar_part){ seconds, 0, NULL };
            kryi_text_seconds(seconds, bar[count].said, sizeof bar->said);
        }
        count++;
    }
    return count;
}

static void draw(FILE *f, const group *g)
{
    bar_line bar[MOST_BARS];
    char name[MOST_BARS][32], limit[64];
    double copy = 0;
    const bool rates = has_value(g, "gbytes_per_s"), solves = has_value(g, "solve_s");
    const int count = rates ? rate_bars(g, bar, name, &copy) : second_bars(g, bar, name);

    if (!count) return;
    snprintf(limit, sizeof limit, "copy: %.2f GB/s", copy);
    kryi_bars_picture(
        f, &(bar_chart){ .label = rates ? "Bytes per second, beside those of a copy" : "Seconds",
                         .caption = rates    ? "Bytes by the model, per second."
                                    : solves ? "Set-up, and behind it the solve."
                                             : "Time of a pass.",
                         .limit = copy,
                         .limit_name = limit,
                         .line = bar,
                         .count = count });
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Keys of a group in the order in which they come first. */
static int keys_of(const group *g, const char *key[MOST_COLUMNS])
{
    int count = 0;

    for (int i = g->begin; i < g->end; i++)
        for (int j = 0; j < g->r->one[i].count; j++) {
            const char *new = g->r->one[i].value[j].key;
            int k = 0;
            while (k < count && strcmp(key[k], new)) k++;
            if (k == count && count < MOST_COLUMNS) key[count++] = new;
        }
    return count;
}

static bool is_constant(const group *g, const char *key)
{
    for (int i = g->begin + 1; i < g->end; i++)
        if (!same(&g->r->one[g->begin], &g->r->one[i], key)) return false;
    return true;
}

/* Whether a key is a column of the tables: it is not the same of all, and does not say what the name says. */
static bool is_column(const group *all, const char *key)
{
    static const char *const said[] = { "requested", "name", "problem", "part" };

    for (size_t i = 0; i < COUNT(said); i++)
        if (!strcmp(key, said[i])) return false;
    return all->end - all->begin == 1 || !is_constant(all, key);
}

static const record_value *find_value(const record *one, const char *key)
{
    for (int j = 0; j < one->count; j++)
        if (!strcmp(one->value[j].key, key)) return &one->value[j];
    return NULL;
}

/* What is the same of all records. */
static void constants(FILE *f, const group *g, const char *const *key, int count)
{
    char text[600], title[64];

    kryi_html_facts(f, "In all of them");
    for (int k = 0; k < count; k++) {
        const record_value *v = find_value(&g->r->one[g->begin], key[k]);
        if (!v || !is_constant(g, key[k]) || (v->plain && !strcmp(v->text, "null"))) continue;
        kryi_html_fact(f, record_title(key[k], title, sizeof title), "%s",
                       record_shown(v, text, sizeof text));
    }
    kryi_html_facts_end(f);
}

static void table(FILE *f, const group *g, const group *all, const char *const *key, int count)
{
    char head[MOST_COLUMNS * 66] = " ", text[600], title[64];
    size_t used = 1;

    for (int k = 0; k < count; k++) {
        const record_value *v = find_value(&g->r->one[g->begin], key[k]);
        if (!is_column(all, key[k])) continue;
        used += (size_t)snprintf(head + used, sizeof head - used, "|%s%s", v && v->plain ? ">" : "",
                                 record_title(key[k], title, sizeof title));
    }
    kryi_html_table(f, "What was measured", head, false);
    for (int i = g->begin; i < g->end; i++) {
        kryi_html_row(f);
        name_of(g, &g->r->one[i], text, sizeof text);
        kryi_html_cell(f, text);
        for (int k = 0; k < count; k++) {
            const record_value *v = find_value(&g->r->one[i], key[k]);
            if (!is_column(all, key[k])) continue;
            if (v && v->plain)
                kryi_html_number(f, "%s", record_shown(v, text, sizeof text));
            else
                kryi_html_cell(f, v ? record_shown(v, text, sizeof text) : "");
        }
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
}

void page_benchmarks(FILE *f, const records *r)
{
    const group all = { r, 0, r->count };
    const char *key[MOST_COLUMNS];
    const int count = keys_of(&all, key);
    bool alone = true; /* every record is of another problem */

    for (int i = 1; i < r->count; i++)
        alone = alone && !belong_together(&r->one[i - 1], &r->one[i]);
    if (r->count > 1) constants(f, &all, key, count);
    for (int begin = 0, end, n = 0; begin < r->count; begin = end, n++) {
        char id[32], title[600];
        const char *problem = record_text(&r->one[begin], "problem"),
                   *part = record_text(&r->one[begin], "part");
        for (end = begin + 1; end < r->count; end++)
            if (!alone && !belong_together(&r->one[begin], &r->one[end])) break;
        const group g = { r, begin, end };
        snprintf(id, sizeof id, "results-%d", n);
        snprintf(title, sizeof title, "%s%s%s",
                 (alone && r->count > 1) || !problem ? "Results" : problem, part ? ", " : "",
                 part ? part : "");
        kryi_html_section(f, id, title);
        draw(f, &g);
        table(f, &g, &all, key, count);
    }
}
