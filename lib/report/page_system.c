/*
 * page_system.c - the matrix of a solve and how it is stored, or the operator on a grid.
 */
#include "page/bars_picture.h"
#include "page/host_matrix.h"
#include "page/text.h"
#include "report/page.h"
#include <inttypes.h>
#include <kry/multigrid.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the entries are ------------------------------------------------------------------- */

/*
 * The density of a matrix, as SVG in a page.
 *
 * A square is as dark as the share of its places that are taken, on a logarithmic scale of SHADES steps. Squares of
 * one shade that lie beside each other are one strip: bands and dense blocks take few bytes.
 */

enum { SPY_MOST = 72, SHADES = 5, SIZE = 432, MARGIN = 2 };

typedef struct spy {
    int64_t rows, cols; /* of the matrix */
    int high, wide;     /* squares */
    double count[SPY_MOST][SPY_MOST];
} spy;

static kry_status spy_create(int64_t rows, int64_t cols, spy **s)
{
    kry_status st = KRY_OK;

    TRY(kryi_allocate(1, sizeof **s, s));
    (*s)->rows = rows, (*s)->cols = cols;
    (*s)->high = rows < SPY_MOST ? (int)rows : SPY_MOST;
    (*s)->wide = cols < SPY_MOST ? (int)cols : SPY_MOST;
done:
    return st;
}

/* A: all of the matrix, or some of its rows. */
static void spy_add(spy *s, const kryi_host_matrix *A)
{
    for (int64_t i = 0; i < A->rows; i++) {
        double *line = s->count[(A->first + i) * s->high / s->rows];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            line[(int64_t)A->col[e] * s->wide / s->cols] += 1;
    }
}

/* Add the entries of other rows of the matrix. */
static void spy_join(spy *s, const spy *other)
{
    for (int i = 0; i < s->high; i++)
        for (int j = 0; j < s->wide; j++) s->count[i][j] += other->count[i][j];
}

static void spy_release(spy **s)
{
    free(*s);
    *s = NULL;
}

/* 0: empty; 1 ... SHADES. `most`: entries of the fullest square. */
static int shade_of(double count, double most)
{
    if (count == 0) return 0;
    if (most <= 1) return SHADES;
    const double share = log(count) / log(most); /* 0 ... 1 */
    return 1 + (int)(share * (SHADES - 1) + 0.5);
}

static void draw_shade(FILE *f, const spy *g, double most, int shade)
{
    fprintf(f, "<path class=\"area k0\" fill-opacity=\"%.2f\" d=\"",
            0.2 + 0.8 * (shade - 1) / (SHADES - 1));
    for (int i = 0; i < g->high; i++)
        for (int j = 0; j < g->wide; j++) {
            const int begin = j;
            while (j < g->wide && shade_of(g->count[i][j], most) == shade) j++;
            if (j > begin) fprintf(f, "M%d %dh%dv1h-%dz", begin, i, j - begin, j - begin);
        }
    fputs("\"/>\n", f);
}

static void spy_draw(FILE *f, const spy *g)
{
    double most = 0;
    char caption[240], label[160], wide[32], tall[32];

    if (!g->high || !g->wide) return;
    for (int i = 0; i < g->high; i++)
        for (int j = 0; j < g->wide; j++) most = fmax(most, g->count[i][j]);
    snprintf(label, sizeof label, "Where the entries of the matrix are, over %d by %d squares",
             g->high, g->wide);
    kryi_text_whole((g->rows + g->high - 1) / g->high, tall, sizeof tall);
    kryi_text_whole((g->cols + g->wide - 1) / g->wide, wide, sizeof wide);
    snprintf(
        caption, sizeof caption,
        "Entries: each square stands for %s rows and %s columns; the darkest has %.0f entries, the "
        "palest one, in steps of equal ratios.",
        tall, wide, most);
    const double scale = (double)(SIZE - 2 * MARGIN) / (g->high > g->wide ? g->high : g->wide);
    kryi_html_picture(f, label, SIZE, (int)(g->high * scale) + 2 * MARGIN,
                      "shape-rendering=\"crispEdges\"");
    fprintf(f, "<g transform=\"translate(%d %d) scale(%.4f)\">\n", MARGIN, MARGIN, scale);
    for (int shade = 1; shade <= SHADES; shade++) draw_shade(f, g, most, shade);
    fprintf(f, "</g><rect class=\"edge\" x=\"1\" y=\"1\" width=\"%.1f\" height=\"%.1f\"/>\n",
            g->wide * scale + 2, g->high * scale + 2);
    kryi_html_picture_end(f, caption);
}

/* ---- what is told of the operator ------------------------------------------------------------ */

/*
 * The entries of a matrix, read back from its device; on ranks each looks at its own rows.
 */

/* The entries of A on the host. Their memory is requested before ranks meet, so that a rank that has none fails alone. */
typedef struct entries {
    kryi_host_matrix A; /* all of it, or the rows of this rank */
    float *single;      /* its numbers, as they are read of a matrix in single; or NULL */
    facts *facts;       /* of each rank */
    spy *spy;           /* of each rank; NULL: more ranks than they are made for */
} entries;

static kry_status entries_create(const kry_op *A, const devices *d, entries *e, spy **s)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    const int rank = kry_team_rank(kry_op_device(A));
    kry_op_info info;

    kry_op_describe(A, &info); /* on ranks its rows' */
    const size_t nnz = (size_t)info.nnz;
    e->A = (kryi_host_matrix){ .rows = d->ranks ? d->facts[rank].volume.rows : shape->rows,
                               .cols = shape->cols,
                               .nnz = info.nnz };
    for (int i = 0; i < rank; i++) e->A.first += d->facts[i].volume.rows;
    TRY(kryi_allocate((size_t)e->A.rows + 1, sizeof *e->A.row_ptr, &e->A.row_ptr));
    TRY(kryi_allocate(nnz, sizeof *e->A.col, &e->A.col));
    TRY(kryi_allocate(nnz, sizeof *e->A.val, &e->A.val));
    if (shape->type == KRY_F32) TRY(kryi_allocate(nnz, sizeof *e->single, &e->single));
    if (d->ranks) TRY(kryi_allocate((size_t)d->count, sizeof *e->facts, &e->facts));
    if (d->ranks && d->count <= DEVICES_MOST)
        TRY(kryi_allocate((size_t)d->count, sizeof *e->spy, &e->spy));
    if (!d->ranks || e->spy) TRY(spy_create(shape->rows, shape->cols, s));
done:
    return st;
}

static kry_status entries_read(const kry_op *A, entries *e)
{
    kry_status st = KRY_OK;

    TRY(kry_matrix_read(A, e->A.row_ptr, e->A.col, e->single ? (void *)e->single : e->A.val));
    for (int64_t i = 0; e->single && i < e->A.nnz; i++) e->A.val[i] = (double)e->single[i];
done:
    return st;
}

/* On this device, or the first of several, as auto takes it for a matrix in double. */
static void predict(const kry_op *A, const kryi_host_matrix *all, system_facts *s)
{
    kry_device *device = kry_team_part(kry_op_device(A), 0);

    s->predicted = kry_op_get_shape(A)->type == KRY_F64 && kry_device_get_info(device)->fp64 &&
                   kry_csr_predict(device, KRY_F64, all->rows, all->cols, all->row_ptr, all->col,
                                   all->val, NULL, s->seconds) >= 0;
}

static kry_status look_at_whole(const kry_op *A, const kryi_host_matrix *all, system_facts *s)
{
    kry_status st = KRY_OK;

    TRY(kryi_facts_of(all, all->rows, all->cols, &s->m));
    spy_add(s->spy, all);
    for (int64_t i = 0; i < all->rows && s->m.row_max - s->m.row_min < FACTS_FEW; i++)
        s->of_length[all->row_ptr[i + 1] - all->row_ptr[i] - s->m.row_min]++;
    predict(A, all, s);
    s->whole = true;
done:
    return st;
}

/* What all ranks see of their rows. */
static kry_status look_at_shares(kry_device *device, int count, entries *e, system_facts *s)
{
    kry_status st = KRY_OK;

    kryi_facts_of_rows(&e->A, &s->m);
    TRY(kry_team_gather(device, &s->m, sizeof s->m, e->facts));
    s->m = e->facts[0];
    for (int i = 1; i < count; i++) kryi_facts_add(&s->m, &e->facts[i]);
    if (!e->spy) goto done;
    spy_add(s->spy, &e->A);
    TRY(kry_team_gather(device, s->spy, sizeof *e->spy, e->spy));
    *s->spy = e->spy[0];
    for (int i = 1; i < count; i++) spy_join(s->spy, &e->spy[i]);
done:
    return st;
}

kry_status kryi_system_facts_find(const kry_op *A, const devices *d, system_facts *s)
{
    kry_status st = KRY_OK;
    kry_device *device = kry_op_device(A);
    entries e = { 0 };

    *s = (system_facts){ 0 };
    if (kry_stencil_describe(A, &s->grid) >= 0 || d->facts[0].volume.entries < 0) goto done;
    TRY(kry_team_agree(device, "kry_report_write", entries_create(A, d, &e, &s->spy)));
    st = entries_read(A, &e);
    s->matrix = st >= 0;
    if (st == KRY_ERR_UNSUPPORTED) st = KRY_OK; /* its entries are counted, but not stored */
    if (!s->matrix) goto done;
    if (d->ranks)
        TRY(look_at_shares(device, d->count, &e, s));
    else
        TRY(look_at_whole(A, &e.A, s));
done:
    free(e.spy);
    free(e.facts);
    free(e.single);
    kryi_host_matrix_release(&e.A);
    return st;
}

void kryi_system_facts_release(system_facts *s)
{
    spy_release(&s->spy);
    *s = (system_facts){ 0 };
}

/* ---- without a matrix ------------------------------------------------------------------------- */

static void how_it_is_applied(FILE *f, const solve_page *s, const char *coefficients)
{
    char n[32];

    kryi_html_facts(f, "How it is applied");
    if (coefficients) kryi_html_fact(f, "coefficients", "%s", coefficients);
    kryi_html_fact(f, "kernels", "%s", s->matrix.variant);
    kryi_html_fact(f, "bytes of a product", "%s",
                   s->matrix.bytes_per_apply > 0
                       ? kryi_text_bytes(s->matrix.bytes_per_apply, n, sizeof n)
                       : "not known");
    kryi_html_facts_end(f);
}

static void page_grid(FILE *f, const solve_page *s, const kry_stencil_info *g)
{
    static const char *const sides[] = { "given values one spacing away",
                                         "given values on the face", "given fluxes", "periodic" };
    static const char *const axes[] = { "x", "y", "z" };
    char n[32];

    kryi_html_element(f, "p",
                      g->axes == 3
                          ? "-div(k grad u) by seven points in space, without a stored matrix."
                          : "-div(k grad u) by five points in the plane, without a stored matrix.");
    kryi_html_table(f, "The grid", "axis|>unknowns|>spacing|>diffusion|low side|high side", false);
    for (int a = 0; a < g->axes && a < 3; a++) {
        kryi_html_row(f);
        kryi_html_cell(f, axes[a]);
        kryi_html_number(f, "%s", kryi_text_whole(g->size[a], n, sizeof n));
        kryi_html_number(f, "%.6g", g->spacing[a]);
        kryi_html_number(f, "%.6g", g->diffusion[a]);
        kryi_html_cell(f, sides[g->low[a]]);
        kryi_html_cell(f, sides[g->high[a]]);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
    how_it_is_applied(f, s,
                      g->by_face  ? "one for each face"
                      : g->varies ? "one for each cell; on a face their harmonic mean"
                                  : "1 everywhere");
}

static void page_operator(FILE *f, const solve_page *s)
{
    kryi_html_section(f, "operator", "The operator");
    if (s->system->grid.axes) {
        page_grid(f, s, &s->system->grid);
        return;
    }
    kryi_html_element(f, "p",
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
    kryi_columns_picture(f, &(column_chart){ .label = "How many rows have how many entries",
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

    kryi_html_facts(f, "What its entries say");
    kryi_html_fact(f, "row lengths",
                   "%" PRId64 " to %" PRId64 ", %.2f on average, %" PRId64 " empty", m->row_min,
                   m->row_max, (double)s->matrix.nnz / rows, m->empty_rows);
    kryi_html_fact(f, "bandwidth", "%s", kryi_text_whole(m->bandwidth, t, sizeof t));
    if (whole)
        kryi_html_fact(f, "diagonals with entries", "%s",
                       kryi_text_whole(m->storage.diagonals, t, sizeof t));
    kryi_html_fact(f, "symmetric", "%s",
                   !square  ? "not square"
                   : !whole ? shape->traits & KRY_SYMMETRIC ? "yes, as it was told"
                                                            : "not looked at on ranks"
                   : m->asymmetry.difference == 0 ? "yes"
                   : m->asymmetry.unmatched       ? "no, nor is its pattern"
                                                  : "no, but its pattern is");
    kryi_html_fact(f, "diagonal", "%" PRId64 " missing or zero, %" PRId64 " negative",
                   m->missing_diagonal, m->negative_diagonal);
    kryi_html_fact(f, "diagonally dominant rows", "%.4g %%, strictly %.4g %%",
                   100 * (double)m->weakly / rows, 100 * (double)m->strictly / rows);
    kryi_html_facts_end(f);
}

/* What each format would have cost: bytes, and seconds of a product as auto expects them. */
static void table_of_formats(FILE *f, const solve_page *s)
{
    const kry_op_info *chosen = &s->matrix;
    const facts *m = &s->system->m;
    const double *seconds = s->system->predicted ? s->system->seconds : NULL;
    char bytes[32], time[32];

    kryi_html_table(
        f,
        "What each format costs: bytes in double, and a product as it is expected on this device",
        "format|>storage|>a product|", false);
    for (kry_format k = KRY_FORMAT_CSR; k < KRY_FORMAT_COUNT; k++) {
        const bool taken = !strcmp(kry_format_name(k), chosen->kind);
        fputs(taken ? "<tr class=\"on\">" : "<tr>", f);
        kryi_html_cell(f, kry_format_name(k));
        kryi_html_number(f, "%s",
                         isfinite(m->storage.bytes[k])
                             ? kryi_text_bytes(m->storage.bytes[k], bytes, sizeof bytes)
                             : "cannot hold it");
        kryi_html_number(f, "%s",
                         !seconds               ? "-"
                         : isfinite(seconds[k]) ? kryi_text_seconds(seconds[k], time, sizeof time)
                                                : "not considered");
        kryi_html_cell(f, taken ? "taken" : "");
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
}

static void put_choice(FILE *f, const kry_op_info *m)
{
    char text[500], bytes[32], slots[32];

    snprintf(text, sizeof text, "Stored as %s%s%s%s: %s numbers, %.3f for each nonzero, %s in all.",
             m->kind, *m->chosen ? " (" : "", m->chosen, *m->chosen ? ")" : "",
             kryi_text_whole(m->slots, slots, sizeof slots),
             (double)m->slots / (double)(m->nnz ? m->nnz : 1),
             kryi_text_bytes(m->bytes_stored, bytes, sizeof bytes));
    kryi_html_element(f, "p", text);
    if (*m->variant) kryi_html_element(f, "p class=\"soft\"", m->variant);
}

void kryi_page_system(FILE *f, const solve_page *s)
{
    const system_facts *system = s->system;

    if (!system->matrix) {
        page_operator(f, s);
        return;
    }
    kryi_html_section(f, "matrix", "The matrix");
    put_choice(f, &s->matrix);
    fputs("<div class=\"two\"><div>\n", f);
    if (system->spy) spy_draw(f, system->spy);
    fputs("</div><div>\n", f);
    rows_picture(f, system);
    facts_of_matrix(f, s, &system->m);
    fputs("</div></div>\n", f);
    if (system->whole) table_of_formats(f, s);
}

/* ---- multigrid ------------------------------------------------------------------------------- */

kry_status kryi_page_levels(FILE *f, const solve_page *s)
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
    kryi_html_section(f, "levels", "Levels of multigrid");
    snprintf(text, sizeof text, "%s, %s%s%s", info.kind, info.variant, *info.chosen ? ": " : "",
             info.chosen);
    kryi_html_element(f, "p", text);
    if (s->devices->all > 1)
        kryi_html_element(f, "p class=\"soft\"",
                          "Levels are told as the first of the devices has them.");
    kryi_html_table(
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
        kryi_html_row(f);
        kryi_html_number(f, "%d", i);
        kryi_html_number(f, "%s", kryi_text_whole(level.rows, t[0], sizeof t[0]));
        kryi_html_number(f, "%s",
                         matrix.nnz >= 0 ? kryi_text_whole(matrix.nnz, t[1], sizeof t[1]) : "-");
        if (known && first > 0)
            kryi_html_number(f, "%.3f", entries / first);
        else
            kryi_html_number(f, "-");
        kryi_html_cell(f, matrix.kind);
        kryi_html_cell(f, level.smoother);
        kryi_html_number(f, "%s", kryi_text_bytes(bytes, t[2], sizeof t[2]));
        kryi_html_number(f, "%s",
                         level.bytes_per_cycle > 0
                             ? kryi_text_bytes(level.bytes_per_cycle, t[3], sizeof t[3])
                             : "-");
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
done:
    return st;
}
