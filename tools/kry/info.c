/*
 * info.c - kry info: what there is to know about a matrix before solving with it.
 */
#include "commands.h"
#include "json.h"
#include "page/facts.h"
#include "page/text.h"
#include "source.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- printing --------------------------------------------------------------------- */

typedef struct view {
    const source *src;
    const sparse *A;
    const facts *f;
    const char *layout, *field, *declared;
    bool square, pattern_symmetric, symmetric, positive_diagonal;
    double mean, deviation, weakly, strictly, relative_asymmetry;
} view;

static view view_of(const source *s, const sparse *A, const facts *f)
{
    static const char *const field[] = { "real", "integer", "pattern" };
    static const char *const symmetry[] = { "general", "symmetric", "skew-symmetric" };
    double rows = s->rows ? (double)s->rows : 1;
    double mean = (double)A->nnz / rows;
    bool square = s->rows == s->cols;
    return (view){
        .src = s,
        .A = A,
        .f = f,
        .layout = s->mtx ? s->mtx->array ? "array" : "coordinate" : "generated",
        .field = s->mtx ? field[s->mtx->field] : "real",
        .declared = s->mtx ? symmetry[s->mtx->symmetry] : "symmetric",
        .square = square,
        .pattern_symmetric = square && f->asymmetry.unmatched == 0,
        .symmetric = square && f->asymmetry.difference == 0,
        .positive_diagonal = square && f->missing_diagonal + f->negative_diagonal == 0,
        .mean = mean,
        .deviation = sqrt(fmax(0, f->row_squares / rows - mean * mean)),
        .weakly = (double)f->weakly / rows,
        .strictly = (double)f->strictly / rows,
        .relative_asymmetry =
            f->asymmetry.largest > 0 ? f->asymmetry.difference / f->asymmetry.largest : 0,
    };
}

static void print_json(const view *v)
{
    json j = json_begin(stdout);
    json_text(&j, "source", v->src->name);
    json_whole(&j, "rows", v->src->rows);
    json_whole(&j, "cols", v->src->cols);
    json_whole(&j, "entries", v->src->given);
    json_whole(&j, "nnz", v->A->nnz);
    json_text(&j, "layout", v->layout);
    json_text(&j, "field", v->field);
    json_text(&j, "declared_symmetry", v->declared);
    json_bool(&j, "structurally_symmetric", v->pattern_symmetric);
    json_bool(&j, "numerically_symmetric", v->symmetric);
    json_real(&j, "relative_asymmetry", v->square ? v->relative_asymmetry : NAN);
    json_whole(&j, "bandwidth", v->f->bandwidth);
    json_whole(&j, "row_min", v->f->row_min);
    json_real(&j, "row_mean", v->mean);
    json_whole(&j, "row_max", v->f->row_max);
    json_real(&j, "row_deviation", v->deviation);
    kryi_json_wholes(&j, "row_histogram", v->f->histogram, v->f->buckets);
    json_whole(&j, "empty_rows", v->f->empty_rows);
    json_whole(&j, "duplicates", v->f->duplicates);
    json_whole(&j, "zero_diagonal", v->f->missing_diagonal);
    json_bool(&j, "positive_diagonal", v->positive_diagonal);
    json_real(&j, "weakly_dominant_rows", v->weakly);
    json_real(&j, "strictly_dominant_rows", v->strictly);
    json_whole(&j, "diagonals", v->f->storage.diagonals);
    for (int f = KRY_FORMAT_AUTO + 1; f < KRY_FORMAT_COUNT; f++) {
        char key[24];
        snprintf(key, sizeof key, "%s_bytes", kry_format_name((kry_format)f));
        json_real(&j, key, v->f->storage.bytes[f]);
    }
    json_real(&j, "read_s", v->src->seconds);
    json_end(&j);
}

static void print_histogram(const facts *f)
{
    int64_t most = 1;
    for (int k = 0; k < f->buckets; k++)
        if (f->histogram[k] > most) most = f->histogram[k];
    for (int k = 0; k < f->buckets; k++) {
        static const char bar[] = "########################################";
        char range[48], count[32];
        int64_t low = k ? (int64_t)1 << (k - 1) : 0, high = k ? 2 * low - 1 : 0;
        if (f->histogram[k] == 0) continue;
        if (low == high)
            snprintf(range, sizeof range, "%" PRId64, low);
        else
            snprintf(range, sizeof range, "%" PRId64 " - %" PRId64, low, high);
        int length = (int)(40 * (double)f->histogram[k] / (double)most + 0.5);
        printf("  %15s entries  %12s rows  %.*s\n", range,
               kryi_text_whole(f->histogram[k], count, sizeof count), length ? length : 1, bar);
    }
}

/* What each format would take, in double. */
static void print_storage(const storage *s)
{
    char t[32];
    printf("diagonals    %s with entries\nstorage     ",
           kryi_text_whole(s->diagonals, t, sizeof t));
    for (int f = KRY_FORMAT_AUTO + 1, printed = 0; f < KRY_FORMAT_COUNT; f++) {
        if (isnan(s->bytes[f])) continue;
        printf("%s %-6s %9s",
               !printed      ? ""
               : printed % 4 ? "   "
                             : "\n            ",
               kry_format_name((kry_format)f), kryi_text_bytes(s->bytes[f], t, sizeof t));
        printed++;
    }
    printf("\n");
}

static void print_text(const view *v)
{
    char t[4][32];
    printf("source       %s (%s, %s, %s)\n", v->src->name, v->layout, v->field, v->declared);
    printf("size         %s rows, %s columns\n", kryi_text_whole(v->src->rows, t[0], sizeof t[0]),
           kryi_text_whole(v->src->cols, t[1], sizeof t[1]));
    printf("entries      %s given, %s nonzeros", kryi_text_whole(v->src->given, t[2], sizeof t[2]),
           kryi_text_whole(v->A->nnz, t[3], sizeof t[3]));
    if (v->f->duplicates) printf(", %" PRId64 " of them in places taken before", v->f->duplicates);
    printf("\nsymmetry     ");
    if (!v->square)
        printf("not square\n");
    else if (v->symmetric)
        printf("%s\n", v->pattern_symmetric ? "symmetric" : "symmetric but for stored zeros");
    else
        printf("not symmetric: largest |a_ij - a_ji| is %.3g of the largest |a_ij|; the pattern "
               "is%s\n",
               v->relative_asymmetry, v->pattern_symmetric ? "" : " not");
    printf("bandwidth    %" PRId64 "\n", v->f->bandwidth);
    printf("diagonal     %s; %" PRId64 " missing or zero, %" PRId64 " negative\n",
           v->positive_diagonal ? "positive" : "not positive", v->f->missing_diagonal,
           v->f->negative_diagonal);
    printf("dominance    %.4g %% of the rows weakly, %.4g %% strictly\n", 100 * v->weakly,
           100 * v->strictly);
    printf("row lengths  min %" PRId64 ", mean %.2f, max %" PRId64
           ", standard deviation %.2f, %" PRId64 " empty\n",
           v->f->row_min, v->mean, v->f->row_max, v->deviation, v->f->empty_rows);
    print_histogram(v->f);
    print_storage(&v->f->storage);
}

kry_status info_run(const options *o)
{
    kry_status st = KRY_OK;
    source s = { 0 };
    sparse A = { 0 };
    facts f;
    if (o->device && o->word_count + o->problem_count == 0) return info_device(o);
    CHECK(o->word_count + o->problem_count == 1, KRY_ERR_PARSE,
          "needs one matrix, FILE.mtx or --problem SPEC, but %d are given",
          o->word_count + o->problem_count);
    if (o->check_precond) return info_precond(o);
    if (o->levels) return info_levels(o);
    CHECK(!options_solver(o, "precond") && !o->precision && !o->format, KRY_ERR_PARSE,
          "--precond, --precision and --format go with --check-precond and --levels");
    TRY(source_open(o->word_count ? o->words[0] : NULL, o->problems[0],
                    (uint64_t)options_whole(o->seed, 1), NULL, &s));
    TRY(sparse_condensed(&s, &A));
    CHECK(!o->device || !A.place, KRY_ERR_UNSUPPORTED,
          "%s has no entries in most of its rows; --device predicts nothing for such a matrix",
          s.name);
    TRY(kryi_facts_of(&A, s.rows, s.cols, &f));
    view v = view_of(&s, &A, &f);
    if (o->json)
        print_json(&v);
    else
        print_text(&v);
    if (o->device) TRY(info_prediction(o, &A));
done:
    kryi_host_matrix_release(&A);
    source_release(&s);
    return st;
}
