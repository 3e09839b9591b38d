/*
 * page_system.c - the matrix of a solve and how it is stored, or the operator on a grid.
 */
#include "page/bars_picture.h"
#include "page/text.h"
#include "report/page.h"
#include "report/system_facts.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- without a matrix ------------------------------------------------------------------------- */

static void how_it_is_applied(FILE *f, const solve_page *s, const char *coefficients)
{
    char n[32];

    kry_html_facts(f, "How it is applied");
    if (coefficients) kry_html_fact(f, "coefficients", "%s", coefficients);
    kry_html_fact(f, "kernels", "%s", s->matrix.variant);
    kry_html_fact(f, "bytes of a product", "%s",
                  s->matrix.bytes_per_apply > 0
                      ? kry_text_bytes(s->matrix.bytes_per_apply, n, sizeof n)
                      : "not known");
    kry_html_facts_end(f);
}

static void page_grid(FILE *f, const solve_page *s, const kry_stencil *g)
{
    static const char *const sides[] = { "given values one spacing away",
                                         "given values on the face", "given fluxes", "periodic" };
    static const char *const axes[] = { "x", "y", "z" };
    char n[32];

    kry_html_element(f, "p",
                     g->axes == 3
                         ? "-div(k grad u) by seven points in space, without a stored matrix."
                         : "-div(k grad u) by five points in the plane, without a stored matrix.");
    kry_html_table(f, "The grid", "axis|>unknowns|>spacing|>diffusion|low side|high side", false);
    for (int a = 0; a < g->axes && a < 3; a++) {
        kry_html_row(f);
        kry_html_cell(f, axes[a]);
        kry_html_number(f, "%s", kry_text_whole(kry_stencil_whole(g, a), n, sizeof n));
        kry_html_number(f, "%.6g", g->spacing[a]);
        kry_html_number(f, "%.6g", g->diffusion[a]);
        kry_html_cell(f, sides[kry_stencil_side(g, a, false)]);
        kry_html_cell(f, sides[kry_stencil_side(g, a, true)]);
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
    how_it_is_applied(f, s,
                      g->faces_given ? "one for each face"
                      : g->variable  ? "one for each cell; on a face their harmonic mean"
                                     : "1 everywhere");
}

static void page_operator(FILE *f, const solve_page *s)
{
    kry_html_section(f, "operator", "The operator");
    if (s->system->grid) {
        page_grid(f, s, s->system->grid);
        return;
    }
    kry_html_element(f, "p",
                     "Functions in place of a stored matrix: of its entries nothing is known.");
    how_it_is_applied(f, s, NULL);
}

/* ---- a matrix -------------------------------------------------------------------------------- */

/* Row lengths from the shortest to the longest, if they are so few; else in powers of two. */
static void rows_picture(FILE *f, const system_facts *s)
{
    const facts *m = &s->m;
    const bool exact = s->whole && m->row_max - m->row_min < FACTS_FEW;
    double height[FACTS_BUCKETS] = { 0 };
    char name[FACTS_BUCKETS][32];
    int count = 0;

    for (int64_t l = m->row_min; exact && l <= m->row_max; l++) {
        height[count] = s->of_length[l - m->row_min];
        snprintf(name[count++], sizeof name[0], "%" PRId64, l);
    }
    for (int k = 0; !exact && k < m->buckets; k++) {
        const int64_t low = k ? (int64_t)1 << (k - 1) : 0, high = k ? 2 * low - 1 : 0;
        if (!count && !m->histogram[k]) continue;
        height[count] = (double)m->histogram[k];
        if (low == high)
            snprintf(name[count++], sizeof name[0], "%" PRId64, low);
        else
            snprintf(name[count++], sizeof name[0], "%" PRId64 "-%" PRId64, low, high);
    }
    kry_columns_picture(f, &(column_chart){ .label = "How many rows have how many entries",
                                            .caption = "Rows by their number of entries.",
                                            .axis = "entries in a row",
                                            .height = height,
                                            .name = name,
                                            .count = count });
}

static void facts_of_matrix(FILE *f, const solve_page *s, const facts *m)
{
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const double rows = shape->rows ? (double)shape->rows : 1;
    const bool square = shape->rows == shape->cols, whole = s->system->whole;
    char t[32];

    kry_html_facts(f, "What its entries say");
    kry_html_fact(f, "row lengths",
                  "%" PRId64 " to %" PRId64 ", %.2f on average, %" PRId64 " empty", m->row_min,
                  m->row_max, (double)s->matrix.nnz / rows, m->empty_rows);
    kry_html_fact(f, "bandwidth", "%s", kry_text_whole(m->bandwidth, t, sizeof t));
    if (whole)
        kry_html_fact(f, "diagonals with entries", "%s",
                      kry_text_whole(m->storage.diagonals, t, sizeof t));
    kry_html_fact(f, "symmetric", "%s",
                  !square  ? "not square"
                  : !whole ? shape->traits & KRY_SYMMETRIC ? "yes, as it was told"
                                                           : "not looked at on ranks"
                  : m->asymmetry.difference == 0 ? "yes"
                  : m->asymmetry.unmatched       ? "no, nor is its pattern"
                                                 : "no, but its pattern is");
    kry_html_fact(f, "diagonal", "%" PRId64 " missing or zero, %" PRId64 " negative",
                  m->missing_diagonal, m->negative_diagonal);
    kry_html_fact(f, "diagonally dominant rows", "%.4g %%, strictly %.4g %%",
                  100 * (double)m->weakly / rows, 100 * (double)m->strictly / rows);
    kry_html_facts_end(f);
}

/* What each format would have cost: bytes, and seconds of a product as auto expects them. */
static void table_of_formats(FILE *f, const solve_page *s)
{
    const kry_op_info *chosen = &s->matrix;
    const facts *m = &s->system->m;
    const double *seconds = s->system->predicted ? s->system->seconds : NULL;
    char bytes[32], time[32];

    kry_html_table(
        f,
        "What each format costs: bytes in double, and a product as it is expected on this device",
        "format|>storage|>a product|", false);
    for (kry_format k = KRY_FORMAT_CSR; k < KRY_FORMAT_COUNT; k++) {
        const bool taken = !strcmp(kry_format_name(k), chosen->kind);
        fputs(taken ? "<tr class=\"on\">" : "<tr>", f);
        kry_html_cell(f, kry_format_name(k));
        kry_html_number(f, "%s",
                        isfinite(m->storage.bytes[k])
                            ? kry_text_bytes(m->storage.bytes[k], bytes, sizeof bytes)
                            : "cannot hold it");
        kry_html_number(f, "%s",
                        !seconds               ? "-"
                        : isfinite(seconds[k]) ? kry_text_seconds(seconds[k], time, sizeof time)
                                               : "not considered");
        kry_html_cell(f, taken ? "taken" : "");
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
}

static void put_choice(FILE *f, const kry_op_info *m)
{
    char text[500], bytes[32], slots[32];

    snprintf(text, sizeof text, "Stored as %s%s%s%s: %s numbers, %.3f for each nonzero, %s in all.",
             m->kind, *m->chosen ? " (" : "", m->chosen, *m->chosen ? ")" : "",
             kry_text_whole(m->slots, slots, sizeof slots),
             (double)m->slots / (double)(m->nnz ? m->nnz : 1),
             kry_text_bytes(m->bytes_stored, bytes, sizeof bytes));
    kry_html_element(f, "p", text);
    if (*m->variant) kry_html_element(f, "p class=\"soft\"", m->variant);
}

void kry_page_system(FILE *f, const solve_page *s)
{
    const system_facts *system = s->system;

    if (!system->matrix) {
        page_operator(f, s);
        return;
    }
    kry_html_section(f, "matrix", "The matrix");
    put_choice(f, &s->matrix);
    fputs("<div class=\"two\"><div>\n", f);
    if (system->spy) kry_spy_draw(f, system->spy);
    fputs("</div><div>\n", f);
    rows_picture(f, system);
    facts_of_matrix(f, s, &system->m);
    fputs("</div></div>\n", f);
    if (system->whole) table_of_formats(f, s);
}
