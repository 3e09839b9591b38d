/*
 * reproduce_cevahir.c - figure 4: products in single precision, 2 nnz operations each.
 *
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs,
 *          ICCS 2009: averages over their matrices on a GeForce 8800 GTS.
 */
#include "product.h"
#include "reproduce.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char table_name[] = "figure 4", unit[] = "GFLOP/s";

static const struct column {
    const char *format;
    double theirs; /* their average; 0: none */
} columns[] = {
    { "csr", 1.37 },
    { "jds:basic", 2.7 },
    { "jds", 6.52 },
    { "jds:texture", 0 },
};
enum { COLUMNS = COUNT(columns) };

/* Of the sizes and rows of G3_circuit, thermal2, F1, crankseg_2 and nd24k, which are too large to
 * ship; and the same made small for CPUs. */
static const char *const large[] = { "banded_spd:1585478:6", "banded_spd:1228045:9",
                                     "block_spd:343791:3", "block_spd:63838:8",
                                     "block_spd:72000:15" };
static const char *const small[] = { "banded_spd:158000:6", "banded_spd:122000:9",
                                     "block_spd:34000:3", "block_spd:6400:8", "block_spd:7200:15" };

typedef struct sums {
    double gflops[COLUMNS];
    int count[COLUMNS];
} sums;

/* ---- printing ----------------------------------------------------------------------- */

static void print_heading(const bench *b)
{
    if (b->o->json) return;
    printf("Cevahir, Nukada, Matsuoka 2009, %s: y := A x in single precision, %s\n"
           "theirs on a GeForce 8800 GTS, ours on %s\n\n%-32s",
           table_name, unit, b->info->name, "matrix");
    for (int c = 0; c < COLUMNS; c++) printf("%14s", columns[c].format);
    printf("\n");
}

static void print_number(double value)
{
    if (isfinite(value))
        printf("%14.2f", value);
    else
        printf("%14s", "-");
}

static void print_row(const bench *b, const char *row, const double *ours, const double *theirs,
                      const product_timing *timing)
{
    const char *slash = timing ? strrchr(row, '/') : NULL;
    if (!b->o->json) printf("%-32.32s", slash ? slash + 1 : row);
    for (int c = 0; c < COLUMNS; c++) {
        cell one = { table_name, row, columns[c].format, unit, NAN, ours[c], NAN, NULL };
        if (theirs) one.theirs = theirs[c];
        if (timing && timing[c].refused[0]) one.refused = timing[c].refused;
        if (b->o->json)
            reproduce_json("cevahir", &one);
        else
            print_number(ours[c]);
    }
    if (b->o->json) return;
    printf("\n");
    fflush(stdout);
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

static kry_status time_row(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    sums *s = b->user;
    product_input in = { 0 };
    product_timing timing[COLUMNS];
    double ours[COLUMNS];
    TRY(product_input_create(b, src, &in));
    for (int c = 0; c < COLUMNS; c++) {
        form f = { .matrix = *KRY_MATRIX(.traits = 0) };
        TRY(kry_format_parse(columns[c].format, &f.matrix));
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

kry_status reproduce_cevahir(bench *b)
{
    kry_status st = KRY_OK;
    sums s = { .count = { 0 } };
    b->type = KRY_F32;
    b->user = &s;
    print_heading(b);
    TRY(bench_sources(b, b->info->gpu ? large : small, COUNT(large), time_row));
    print_averages(b, &s);
done:
    b->user = NULL;
    return st;
}
