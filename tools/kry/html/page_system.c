/*
 * page_system.c - the matrix of a solve and how it is stored, or the operator on a grid.
 */
#include "bars_picture.h"
#include "facts.h"
#include "solve_page.h"
#include "spy.h"
#include "text.h"
#include <inttypes.h>
#include <kry/team.h>
#include <math.h>
#include <string.h>

/* ---- a grid ---------------------------------------------------------------------------------- */

static void page_grid(FILE *f, const solve_page *s)
{
    static const char *const sides[] = { "given values one spacing away",
                                         "given values on the face", "given fluxes", "periodic" };
    static const char *const axes[] = { "x", "y", "z" };
    const kry_stencil_params *g = s->report->src->problem->grid;
    const int count = g->size[2] > 0 ? 3 : 2;
    char n[32];

    html_section(f, "operator", "The operator");
    html_element(f, "p",
                 count == 3
                     ? "-div(k grad u) by seven points in space, without a stored matrix."
                     : "-div(k grad u) by five points in the plane, without a stored matrix.");
    html_table(f, "The grid", "axis|>unknowns|>spacing|>diffusion|low side|high side", false);
    for (int a = 0; a < count; a++) {
        html_row(f);
        html_cell(f, axes[a]);
        html_number(f, "%s", text_whole(g->size[a], n, sizeof n));
        html_number(f, "%.6g", g->spacing[a] > 0 ? g->spacing[a] : 1);
        html_number(f, "%.6g", g->diffusion[a] > 0 ? g->diffusion[a] : 1);
        html_cell(f, sides[g->low[a]]);
        html_cell(f, sides[g->high[a]]);
        html_row_end(f);
    }
    html_table_end(f, false);
    html_facts(f, "How it is applied");
    html_fact(f, "coefficients", "%s",
              g->face[0]       ? "one for each face"
              : g->coefficient ? "one for each cell; on a face their harmonic mean"
                               : "1 everywhere");
    html_fact(f, "kernels", "%s", s->report->matrix.variant);
    html_fact(f, "bytes of a product", "%s",
              text_bytes(s->report->matrix.bytes_per_apply, n, sizeof n));
    html_facts_end(f);
}

/* ---- a matrix -------------------------------------------------------------------------------- */

/* Row lengths from the shortest to the longest, if they are so few; else in powers of two. */
static void rows_picture(FILE *f, const sparse *A, const facts *m)
{
    enum { MOST = 14 };
    const bool exact = m->row_max - m->row_min < MOST;
    double height[FACTS_BUCKETS] = { 0 };
    char name[FACTS_BUCKETS][32];
    int count = 0;

    for (int64_t l = m->row_min; exact && l <= m->row_max; l++)
        snprintf(name[count++], sizeof name[0], "%" PRId64, l);
    for (int64_t i = 0; exact && i < A->rows; i++)
        height[A->row_ptr[i + 1] - A->row_ptr[i] - m->row_min]++;
    for (int k = 0; !exact && k < m->buckets; k++) {
        const int64_t low = k ? (int64_t)1 << (k - 1) : 0, high = k ? 2 * low - 1 : 0;
        if (!count && !m->histogram[k]) continue;
        height[count] = (double)m->histogram[k];
        if (low == high)
            snprintf(name[count++], sizeof name[0], "%" PRId64, low);
        else
            snprintf(name[count++], sizeof name[0], "%" PRId64 "-%" PRId64, low, high);
    }
    columns_picture(f, &(column_chart){ .label = "How many rows have how many entries",
                                        .caption = "Rows by their number of entries.",
                                        .axis = "entries in a row",
                                        .height = height,
                                        .name = name,
                                        .count = count });
}

static void facts_of_matrix(FILE *f, const solve_page *s, const facts *m)
{
    const source *src = s->report->src;
    const double rows = src->rows ? (double)src->rows : 1;
    const bool square = src->rows == src->cols;
    char t[32];

    html_facts(f, "What its entries say");
    html_fact(f, "row lengths", "%" PRId64 " to %" PRId64 ", %.2f on average, %" PRId64 " empty",
              m->row_min, m->row_max, (double)s->report->matrix.nnz / rows, m->empty_rows);
    html_fact(f, "bandwidth", "%s", text_whole(m->bandwidth, t, sizeof t));
    html_fact(f, "diagonals with entries", "%s", text_whole(m->storage.diagonals, t, sizeof t));
    html_fact(f, "symmetric", "%s",
              !square                        ? "not square"
              : m->asymmetry.difference == 0 ? "yes"
              : m->asymmetry.unmatched       ? "no, nor is its pattern"
                                             : "no, but its pattern is");
    html_fact(f, "diagonal", "%" PRId64 " missing or zero, %" PRId64 " negative",
              m->missing_diagonal, m->negative_diagonal);
    html_fact(f, "diagonally dominant rows", "%.4g %%, strictly %.4g %%",
              100 * (double)m->weakly / rows, 100 * (double)m->strictly / rows);
    html_facts_end(f);
}

/* What each format would have cost: bytes, and seconds of a product as auto expects them. */
static void table_of_formats(FILE *f, const solve_page *s, const facts *m, const double *seconds)
{
    const kry_op_info *chosen = &s->report->matrix;
    char bytes[32], time[32];

    html_table(
        f,
        "What each format costs: bytes in double, and a product as it is expected on this device",
        "format|>storage|>a product|", false);
    for (kry_format k = KRY_FORMAT_CSR; k < KRY_FORMAT_COUNT; k++) {
        const bool taken = !strcmp(kry_format_name(k), chosen->kind);
        fputs(taken ? "<tr class=\"on\">" : "<tr>", f);
        html_cell(f, kry_format_name(k));
        html_number(f, "%s",
                    isfinite(m->storage.bytes[k])
                        ? text_bytes(m->storage.bytes[k], bytes, sizeof bytes)
                        : "cannot hold it");
        html_number(f, "%s",
                    !seconds               ? "-"
                    : isfinite(seconds[k]) ? text_seconds(seconds[k], time, sizeof time)
                                           : "not considered");
        html_cell(f, taken ? "taken" : "");
        html_row_end(f);
    }
    html_table_end(f, false);
}

static void put_choice(FILE *f, const kry_op_info *m)
{
    char text[500], bytes[32], slots[32];

    snprintf(text, sizeof text, "Stored as %s%s%s%s: %s numbers, %.3f for each nonzero, %s in all.",
             m->kind, *m->chosen ? " (" : "", m->chosen, *m->chosen ? ")" : "",
             text_whole(m->slots, slots, sizeof slots),
             (double)m->slots / (double)(m->nnz ? m->nnz : 1),
             text_bytes(m->bytes_stored, bytes, sizeof bytes));
    html_element(f, "p", text);
    if (*m->variant) html_element(f, "p class=\"soft\"", m->variant);
}

/* On this device, or the first of several; NULL: not predicted. */
static const double *predict(const solve_page *s, const sparse *A, double seconds[KRY_FORMAT_COUNT])
{
    kry_device *device = kry_team_part(kry_op_device(s->A), 0);
    const kry_type type = kry_device_get_info(device)->fp64 ? KRY_F64 : KRY_F32;

    if (type == KRY_F32) return NULL; /* its numbers are in double */
    return kry_csr_predict(device, type, A->rows, A->cols, A->row_ptr, A->col, A->val, NULL,
                           seconds) < 0
               ? NULL
               : seconds;
}

kry_status page_system(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const source *src = s->report->src;
    sparse A = { 0 };
    facts m;
    double seconds[KRY_FORMAT_COUNT];

    if (source_matrix_free(src)) {
        page_grid(f, s);
        goto done;
    }
    TRY(sparse_of_source(src, &A));
    TRY(facts_of(src, &A, &m));
    html_section(f, "matrix", "The matrix");
    put_choice(f, &s->report->matrix);
    fputs("<div class=\"two\"><div>\n", f);
    TRY(spy_picture(f, &A, src->rows, src->cols));
    fputs("</div><div>\n", f);
    rows_picture(f, &A, &m);
    facts_of_matrix(f, s, &m);
    fputs("</div></div>\n", f);
    table_of_formats(f, s, &m, predict(s, &A, seconds));
done:
    sparse_release(&A);
    return st;
}
