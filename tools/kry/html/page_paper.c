/*
 * page_paper.c - results of kry reproduce: the paper's numbers beside ours, a table and its pictures at a time.
 */
#include "page/chart.h"
#include "page/text.h"
#include "records_page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 32, MOST_ROWS = 64, MOST_CURVES = 8 };

/* Cells of one table: its records, and the names of its rows and columns in the order in which they come. */
typedef struct sheet {
    const records *r;
    const char *table, *row[MOST_ROWS], *column[MOST_COLUMNS];
    int rows, columns;
} sheet;

static bool is_of(const record *one, const char *key, const char *text)
{
    const char *said = record_text(one, key);
    return said && text && !strcmp(said, text);
}

static int add_name(const char **name, int count, int most, const char *new)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name[i], new)) return count;
    if (count < most) name[count++] = new;
    return count;
}

static void find_names(sheet *s)
{
    for (int i = 0; i < s->r->count; i++) {
        const record *one = &s->r->one[i];
        const char *row = record_text(one, "row"), *column = record_text(one, "column");
        if (!is_of(one, "table", s->table)) continue;
        s->rows = add_name(s->row, s->rows, MOST_ROWS, row ? row : "");
        s->columns = add_name(s->column, s->columns, MOST_COLUMNS, column ? column : "");
    }
}

static const record *cell_of(const sheet *s, int row, int column)
{
    for (int i = 0; i < s->r->count; i++) {
        const record *one = &s->r->one[i];
        const char *r = record_text(one, "row"), *c = record_text(one, "column");
        if (is_of(one, "table", s->table) && !strcmp(r ? r : "", s->row[row]) &&
            !strcmp(c ? c : "", s->column[column]))
            return one;
    }
    return NULL;
}

static bool column_has(const sheet *s, int column, const char *key)
{
    for (int i = 0; i < s->rows; i++) {
        const record *one = cell_of(s, i, column);
        if (one && isfinite(record_number(one, key))) return true;
    }
    return false;
}

static const char *unit_of(const sheet *s, int column)
{
    for (int i = 0; i < s->rows; i++) {
        const record *one = cell_of(s, i, column);
        if (one && record_text(one, "unit")) return record_text(one, "unit");
    }
    return "1";
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *const kinds[] = { "ours", "theirs", "golden" };

static void put_number(FILE *f, const record *one, const char *key)
{
    const double value = one ? record_number(one, key) : NAN;
    char t[32];

    if (!isfinite(value))
        kryi_html_number(f, "%s",
                         one && record_text(one, "refused") && key == kinds[0] ? "refused" : "-");
    else if (is_of(one, "unit", "s"))
        kryi_html_number(f, "%s", kryi_text_seconds(value, t, sizeof t));
    else if (value == floor(value) && fabs(value) < 1e9)
        kryi_html_number(f, "%s", kryi_text_whole((int64_t)value, t, sizeof t));
    else
        kryi_html_number(f, "%.5g", value);
}

static void put_table(FILE *f, const sheet *s)
{
    char head[4000] = "";
    size_t used = 0;

    for (int c = 0; c < s->columns; c++)
        for (int k = 0; k < 3; k++)
            if ((k == 0 || column_has(s, c, kinds[k])) && used < sizeof head)
                used += (size_t)snprintf(head + used, sizeof head - used, "|>%.60s%s%s",
                                         s->column[c], k ? ", " : "", k ? kinds[k] : "");
    kryi_html_table(
        f,
        "Ours, beside what the paper has (theirs) and what an independent program gives (golden)",
        head, false);
    for (int i = 0; i < s->rows; i++) {
        kryi_html_row(f);
        kryi_html_cell(f, s->row[i]);
        for (int c = 0; c < s->columns; c++)
            for (int k = 0; k < 3; k++)
                if (k == 0 || column_has(s, c, kinds[k])) put_number(f, cell_of(s, i, c), kinds[k]);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
}

/* Each reason once. */
static void put_refusals(FILE *f, const sheet *s)
{
    const char *said[MOST_COLUMNS];
    int count = 0;

    for (int i = 0; i < s->r->count; i++) {
        const char *why = record_text(&s->r->one[i], "refused");
        if (!why || !is_of(&s->r->one[i], "table", s->table)) continue;
        const int before = count;
        count = add_name(said, count, MOST_COLUMNS, why);
        if (count > before) kryi_html_element(f, "p class=\"soft\"", why);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Numbers of a picture: curves over the rows, where rows are numbers. */
typedef struct curves {
    double x[MOST_ROWS], y[2 * MOST_CURVES][MOST_ROWS];
    char name[2 * MOST_CURVES][96];
    series all[2 * MOST_CURVES];
    int count;
} curves;

static bool rows_are_numbers(const sheet *s, double *x)
{
    for (int i = 0; i < s->rows; i++) {
        char *end = NULL;
        x[i] = strtod(s->row[i], &end);
        if (end == s->row[i] || *end || !(x[i] > 0)) return false;
    }
    return s->rows > 1;
}

static void add_curve(curves *p, const sheet *s, int column, int kind, int colour)
{
    const int n = p->count;

    for (int i = 0; i < s->rows; i++) {
        const record *one = cell_of(s, i, column);
        p->y[n][i] = one ? record_number(one, kinds[kind]) : NAN;
    }
    snprintf(p->name[n], sizeof p->name[n], "%.70s%s", s->column[column], kind ? ", theirs" : "");
    p->all[n] =
        (series){ p->name[n], kind ? SERIES_DOTS : SERIES_LINE, colour, p->x, p->y[n], s->rows };
    p->count++;
}

/* Columns of one unit; of pure numbers each one alone. */
static void draw(FILE *f, const sheet *s, curves *p, int first, const char *id)
{
    const char *unit = unit_of(s, first);
    const bool alone = !strcmp(unit, "1");
    char label[160];

    p->count = 0;
    for (int c = first, drawn = 0; c < s->columns && drawn < MOST_CURVES; c++) {
        if (strcmp(unit_of(s, c), unit) || !column_has(s, c, "ours")) continue;
        add_curve(p, s, c, 0, drawn);
        if (column_has(s, c, "theirs")) add_curve(p, s, c, 1, alone ? 1 : drawn);
        drawn++;
        if (alone) break;
    }
    snprintf(label, sizeof label, "%.60s%s", alone ? s->column[first] : s->table,
             alone ? "" : ", by row");
    chart c = { .id = id,
                .label = label,
                .caption = "",
                .x = { .label = "row of the table", .log = true },
                .y = { .label = alone                ? s->column[first]
                                : !strcmp(unit, "s") ? "seconds"
                                                     : unit,
                       .log = true },
                .series = p->all,
                .count = p->count };
    kryi_chart_fit(&c);
    kryi_chart_write(f, &c);
}

static void put_pictures(FILE *f, const sheet *s, curves *p, int number)
{
    for (int c = 0; c < s->columns; c++) {
        const char *unit = unit_of(s, c);
        bool before = !column_has(s, c, "ours");
        char id[48];
        for (int other = 0; other < c && strcmp(unit, "1"); other++)
            before = before || (!strcmp(unit_of(s, other), unit) && column_has(s, other, "ours"));
        if (before || (!strcmp(unit, "1") && !column_has(s, c, "theirs"))) continue;
        snprintf(id, sizeof id, "picture-%d-%d", number, c);
        draw(f, s, p, c, id);
    }
}

kry_status page_paper(FILE *f, const records *r)
{
    kry_status st = KRY_OK;
    const char *seen[MOST_ROWS];
    int tables = 0;
    curves *p = NULL;

    TRY(allocate(1, sizeof *p, &p));
    for (int i = 0; i < r->count; i++) {
        const char *table = record_text(&r->one[i], "table");
        const int before = tables;
        char id[32];
        if (table) tables = add_name(seen, tables, MOST_ROWS, table);
        if (tables == before) continue;
        sheet s = { .r = r, .table = table };
        find_names(&s);
        snprintf(id, sizeof id, "table-%d", tables);
        kryi_html_section(f, id, table);
        put_table(f, &s);
        put_refusals(f, &s);
        if (rows_are_numbers(&s, p->x)) put_pictures(f, &s, p, tables);
    }
done:
    free(p);
    return st;
}
