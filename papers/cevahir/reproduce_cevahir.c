/*
 * reproduce_cevahir.c - figure 4: products in single precision, 2 nnz operations each; then what
 * the other files of cevahir_*.c measure.
 *
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs,
 *          ICCS 2009: averages over their matrices on a GeForce 8800 GTS.
 */
#include "cevahir.h"
#include "jagged.h"
#include "page/text.h"
#include "product.h"
#include "wrapped.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table_name[] = "figure 4", unit[] = "GFLOP/s";

typedef kry_status make_fn(const bench *b, const product_input *in, kry_op **A);
static make_fn make_basic, make_texture;

static const struct column {
    const char *name;
    double theirs;     /* their average; 0: none */
    kry_format format; /* of the library's matrix, where there is no make */
    make_fn *make;
} columns[] = {
    { "csr", 1.37, KRY_FORMAT_CSR, NULL },
    { "jds:basic", 2.7, KRY_FORMAT_AUTO, make_basic },
    { "jds", 6.52, KRY_FORMAT_JDS, NULL },
    { "jds:texture", 0, KRY_FORMAT_AUTO, make_texture },
};
enum { COLUMNS = COUNT(columns) };

typedef struct sums {
    double gflops[COLUMNS];
    int count[COLUMNS];
} sums;

/* ---- what the tables share ------------------------------------------------------------ */

const char *const *cevahir_like(const bench *b)
{
    /* Of the sizes and rows of G3_circuit, thermal2, F1, crankseg_2 and nd24k, which are too large
     * to ship. */
    static const char *const large[CEVAHIR_LIKE] = { "banded_spd:1585478:6", "banded_spd:1228045:9",
                                                     "block_spd:343791:3", "block_spd:63838:8",
                                                     "block_spd:72000:15" };
    static const char *const small[CEVAHIR_LIKE] = { "banded_spd:158000:6", "banded_spd:122000:9",
                                                     "block_spd:34000:3", "block_spd:6400:8",
                                                     "block_spd:7200:15" };
    return b->info->gpu ? large : small;
}

/* Circuits, finite elements and structures of the SuiteSparse collection, where they are at hand.
 */
static kry_status public_files(const bench *b, bench_on_source run)
{
    kry_status st = KRY_OK;
    static const char *const names[] = { "G2_circuit", "Dubcova1", "wathen120", "bcsstk17",
                                         "s1rmq4m1",   "nasa2910", "gridgena",  "minsurfo" };
    static const char *const ends[] = { ".mtx.gz", ".mtx" };
    const char *root = getenv("KRY_MATRIX_DIR");
    char path[1200];
    for (size_t i = 0; root && *root && i < COUNT(names); i++) {
        for (size_t e = 0; e < COUNT(ends); e++) {
            source s = { 0 };
            snprintf(path, sizeof path, "%s/spd/%s%s", root, names[i], ends[e]);
            FILE *there = fopen(path, "rb");
            if (!there) continue;
            fclose(there);
            TRY(source_open(path, NULL, (uint64_t)b->seed, NULL, &s));
            st = run(b, &s);
            source_release(&s);
            if (st < 0) goto done;
        }
    }
done:
    return st;
}

kry_status cevahir_sources(const bench *b, const char *const *more, size_t count,
                           bench_on_source run)
{
    kry_status st = KRY_OK;
    TRY(bench_sources(b, cevahir_like(b), CEVAHIR_LIKE, run));
    if (b->o->word_count + b->o->problem_count > 1) goto done;
    if (more) TRY(bench_sources(b, more, count, run));
    TRY(public_files(b, run));
done:
    return st;
}

const char *cevahir_name(const char *row)
{
    const char *slash = strrchr(row, '/');
    return slash ? slash + 1 : row;
}

void cevahir_refused(const bench *b, const char *what, const char *why)
{
    char line[600];
    if (b->o->json) return;
    snprintf(line, sizeof line, "  %s: %s", what, why);
    text_wrapped(line, 98, 4);
}

/* ---- figure 4 ------------------------------------------------------------------------- */

static void print_heading(const bench *b)
{
    reproduce_say(b,
                  "Cevahir, Nukada, Matsuoka 2009, %s: y := A x in single precision, %s\n"
                  "theirs on a GeForce 8800 GTS, ours on %s\n\n%-32s",
                  table_name, unit, b->info->name, "matrix");
    for (int c = 0; c < COLUMNS; c++) reproduce_say(b, "%13s", columns[c].name);
    reproduce_say(b, "\n");
}

static void print_row(const bench *b, const char *row, const double *ours, const double *theirs,
                      const product_timing *timing)
{
    reproduce_say(b, "%-32.32s", timing ? cevahir_name(row) : row);
    for (int c = 0; c < COLUMNS; c++) {
        cell one = { table_name, row, columns[c].name, unit, NAN, ours[c], NAN, NULL };
        if (theirs) one.theirs = theirs[c];
        if (timing && timing[c].refused[0]) one.refused = timing[c].refused;
        reproduce_cell(b, "cevahir", &one);
        reproduce_number(b, "%13.2f", ours[c]);
    }
    reproduce_say(b, "\n");
}

static void print_averages(const bench *b, const sums *s)
{
    double ours[COLUMNS], theirs[COLUMNS], ratio[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        ours[c] = s->count[c] ? s->gflops[c] / s->count[c] : NAN;
        theirs[c] = columns[c].theirs > 0 ? columns[c].theirs : NAN;
        ratio[c] = ours[c] / theirs[c];
    }
    print_row(b, "average", ours, theirs, NULL);
    if (b->o->json) return;
    print_row(b, "theirs, average", theirs, NULL, NULL);
    print_row(b, "ours / theirs", ratio, NULL, NULL);
}

/* ---- measuring ---------------------------------------------------------------------- */

static kry_status make_jagged(const bench *b, const product_input *in, jagged_product product,
                              kry_op **A)
{
    const jagged_rows rows = { .type = b->type,
                               .rows = in->A.rows,
                               .cols = in->A.cols,
                               .row_ptr = in->A.row_ptr,
                               .col = in->A.col,
                               .val = in->val };
    return jagged_create(b->device, &rows, product, A);
}

static kry_status make_basic(const bench *b, const product_input *in, kry_op **A)
{
    return make_jagged(b, in, JAGGED_BASIC, A);
}

static kry_status make_texture(const bench *b, const product_input *in, kry_op **A)
{
    return make_jagged(b, in, JAGGED_TEXTURE, A);
}

static kry_status time_row(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    sums *s = b->user;
    product_input in = { 0 };
    product_timing timing[COLUMNS];
    double ours[COLUMNS];
    TRY(product_input_create(b, src, &in));
    for (int c = 0; c < COLUMNS; c++) {
        const form f = { .matrix = *KRY_MATRIX(.format = columns[c].format) };
        in.make = columns[c].make;
        TRY(product_time(b, &in, &f, &timing[c]));
        ours[c] = NAN;
        if (timing[c].refused[0]) continue;
        ours[c] = 2 * (double)in.A.nnz / timing[c].seconds / 1e9;
        s->gflops[c] += ours[c];
        s->count[c]++;
    }
    print_row(b, src->name, ours, NULL, timing);
done:
    product_input_release(&in);
    return st;
}

static kry_status products(bench *b)
{
    kry_status st = KRY_OK;
    sums s = { .count = { 0 } };
    b->type = KRY_F32;
    b->user = &s;
    print_heading(b);
    TRY(cevahir_sources(b, NULL, 0, time_row));
    print_averages(b, &s);
done:
    b->user = NULL;
    return st;
}

kry_status reproduce_cevahir(bench *b)
{
    kry_status st = KRY_OK;
    CHECK(kry_team_size(b->device) == 1, KRY_ERR_ARGUMENT,
          "cevahir takes one device and finds those beside it, or cuts a CPU in pieces");
    TRY(products(b));
    TRY(cevahir_speed(b));
    TRY(cevahir_volumes(b));
    TRY(cevahir_accuracy(b));
done:
    return st;
}
