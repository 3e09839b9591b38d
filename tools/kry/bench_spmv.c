/*
 * bench_spmv.c - kry bench spmv and kry bench stencil: y := A x in every format that takes the
 * matrix, and from grids without one.
 *
 * bytes are those of the operator's own model: its numbers and structure, x and y once.
 */
#include "bars.h"
#include "page/text.h"
#include "product.h"
#include "wrapped.h"
#include <stdio.h>
#include <string.h>

enum { BEFORE_VARIANT = 75, LINE = 100 };

/* ---- a line of the table ------------------------------------------------------------ */

static void print_heading(const bench *b, const product_input *in)
{
    char n[32], nnz[32];
    if (b->o->json) return;
    printf("\n%s: n %s, nnz %s, %s, %s", in->name, kryi_text_whole(in->A.rows, n, sizeof n),
           kryi_text_whole(in->A.nnz, nnz, sizeof nnz), kry_type_name(b->type),
           b->o->hot ? "hot: one copy" : "cold: copies take turns until no cache holds them");
    if (b->columns > 1) printf(", %lld columns", (long long)b->columns);
    printf("\n");
    printf("%-9s %9s %8s %7s %7s %8s %9s %9s  %s\n", "format", "time", "GB/s", "of copy", "GFLOP/s",
           "padding", "bytes", "set-up", "variant");
}

/* `word` is what was asked for: "auto", "sell", "sell:slice=32", ... */
static void print_line(const bench *b, const char *word, const product_timing *t, double nnz)
{
    char name[10], seconds[32], setup[32], bytes[32], padding[32] = "-", variant[160];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, ":"), word);
    if (t->refused[0]) {
        printf("%-9s ", name);
        text_wrapped(t->refused, LINE - 10, 10);
        return;
    }
    bool automatic = !strcmp(name, "auto") || !strcmp(name, "measure");
    if (t->slots > 0) snprintf(padding, sizeof padding, "%.3f", (double)t->slots / nnz);
    snprintf(variant, sizeof variant, "%s%s%s%s", automatic ? "took " : "",
             automatic ? t->format : "", automatic ? ": " : "", t->variant);
    double percent = 100 * t->bytes / t->seconds / b->copy; /* any number where the copy is tiny */
    printf("%-9s %9s %8.2f %5.*f %% %7.2f %8s %9s %9s%s", name,
           kryi_text_seconds(t->seconds, seconds, sizeof seconds), t->bytes / t->seconds / 1e9,
           percent < 999.95, percent, 2 * nnz * (double)b->columns / t->seconds / 1e9, padding,
           kryi_text_bytes(t->bytes, bytes, sizeof bytes),
           kryi_text_seconds(t->setup_seconds, setup, sizeof setup), variant[0] ? "  " : "");
    text_wrapped(variant, LINE - BEFORE_VARIANT, BEFORE_VARIANT);
    fflush(stdout);
}

static void print_json(const bench *b, const product_input *in, const char *name,
                       const product_timing *t)
{
    bool refused = t->refused[0] != 0;
    bench_print(b,
                &(bench_result){ .name = b->o->words[0],
                                 .problem = in->name,
                                 .n = in->A.rows,
                                 .nnz = in->A.nnz,
                                 .bytes = t->bytes,
                                 .columns = b->columns,
                                 .seconds = t->seconds,
                                 .requested = name,
                                 .format = refused ? b->form.stencil ? "stencil" : name : t->format,
                                 .variant = refused ? NULL : t->variant,
                                 .refused = refused ? t->refused : NULL,
                                 .slots = t->slots,
                                 .setup_seconds = t->setup_seconds,
                                 .input_bytes = in->bytes,
                                 .copies = t->copies });
}

/* ---- forms -------------------------------------------------------------------------- */

static kry_status time_form(const bench *b, const product_input *in, const char *name,
                            const form *f)
{
    kry_status st = KRY_OK;
    product_timing t;
    TRY(product_time(b, in, f, &t));
    CHECK(!t.refused[0] || !b->o->format, KRY_ERR_UNSUPPORTED, "%s", t.refused);
    if (b->o->json)
        print_json(b, in, name, &t);
    else
        print_line(b, name, &t, (double)in->A.nnz);
    if (b->o->svg && !t.refused[0])
        TRY(bars_add(b->user, in->name, name, t.bytes / t.seconds / b->copy,
                     t.bytes / t.seconds / 1e9));
done:
    return st;
}

/* Numbers as wide as given, so that the formats compare; "auto" does what a solver would get. */
static kry_status time_formats(const bench *b, const product_input *in)
{
    kry_status st = KRY_OK;
    for (int i = KRY_FORMAT_AUTO + 1; i < KRY_FORMAT_COUNT; i++) {
        kry_format format = (kry_format)i;
        form f = { .matrix = *KRY_MATRIX(.format = format, .values = KRY_VALUES_AS_GIVEN) };
        TRY(time_form(b, in, kry_format_name(format), &f));
    }
    TRY(time_form(b, in, "auto", &(form){ .matrix = *KRY_MATRIX(.format = KRY_FORMAT_AUTO) }));
    if (in->grid) TRY(time_form(b, in, "stencil", &(form){ .stencil = true }));
done:
    return st;
}

static kry_status time_source(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    product_input in = { 0 };
    const options *o = b->o;
    TRY(product_input_create(b, s, &in));
    CHECK(in.A.nnz > 0, KRY_ERR_UNSUPPORTED, "%s has no entries to multiply with", s->name);
    print_heading(b, &in);
    if (o->format)
        TRY(time_form(b, &in, o->format, &b->form));
    else if (b->form.stencil)
        TRY(time_form(b, &in, "stencil", &b->form));
    else
        TRY(time_formats(b, &in));
done:
    product_input_release(&in);
    return st;
}

static kry_status bench_products(bench *b, const char *const *specs, size_t count)
{
    kry_status st = KRY_OK;
    bars *chart = NULL;
    char subtitle[200];
    snprintf(subtitle, sizeof subtitle, "%s, %s precision, %s", b->info->name,
             kry_type_name(b->type), b->o->hot ? "hot: caches may hold the data" : "cold");
    if (b->o->svg) TRY(bars_create("y := A x: bandwidth beside that of a copy", subtitle, &chart));
    b->user = chart;
    b->matrix_free = b->form.stencil;
    TRY(bench_sources(b, specs, count, time_source));
    if (b->o->svg) TRY(bars_write(chart, b->o->svg));
done:
    b->user = NULL;
    bars_release(&chart);
    return st;
}

kry_status bench_spmv(bench *b)
{
    size_t count;
    const char *const *specs = bench_grids(b, &count);
    return bench_products(b, specs, count);
}

kry_status bench_stencil(bench *b)
{
    static const char *const large[] = { "poisson2d:1024", "poisson2d:4096", "poisson3d:128",
                                         "poisson3d:256" }; /* for GPUs */
    static const char *const small[] = { "poisson2d:1024", "poisson3d:96" };
    b->form.stencil = true;
    return b->info->gpu ? bench_products(b, large, COUNT(large))
                        : bench_products(b, small, COUNT(small));
}
