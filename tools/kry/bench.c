/*
 * bench.c - kry bench: find the benchmark, time passes, print results.
 */
#include "bench.h"
#include "commands.h"
#include "json.h"
#include "page/text.h"
#include "ranks.h"
#include "records_page.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, REPEATS = 11 };
static const double batch_seconds = 5e-3; /* at least, between two waits */

/* ---- timing ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static kry_status time_batch(const bench *b, bench_pass pass, void *user, int64_t batch,
                             double *seconds)
{
    kry_status st = KRY_OK;
    TRY(kry_device_finish(b->device));
    double start = now();
    for (int64_t turn = 0; turn < batch; turn++) TRY(pass(user, turn));
    TRY(kry_device_finish(b->device));
    *seconds = now() - start;
done:
    return st;
}

kry_status bench_time(const bench *b, bench_pass pass, void *user, double *seconds)
{
    kry_status st = KRY_OK;
    double t[REPEATS];
    int64_t batch = WARM_UP;
    TRY(time_batch(b, pass, user, batch, &t[0])); /* compiles */
    for (batch = 1;; batch *= 2) {
        TRY(time_batch(b, pass, user, batch, &t[0]));
        if (t[0] >= batch_seconds) break;
    }
    for (int i = 0; i < REPEATS; i++) {
        TRY(time_batch(b, pass, user, batch, &t[i]));
        t[i] /= (double)batch;
    }
    *seconds = bench_median(t, REPEATS);
done:
    return st;
}

/* ---- results ---------------------------------------------------------------------- */

static void json_matrix(json *j, const bench *b, const bench_result *r)
{
    json_text(j, "requested", r->requested);
    json_text(j, "format", r->format);
    json_text(j, "variant", r->variant);
    if (r->refused) json_text(j, "refused", r->refused);
    json_real(j, "padding", r->slots > 0 ? (double)r->slots / (double)r->nnz : NAN);
    if (r->setup_seconds <= 0) return;
    json_real(j, "gflops",
              r->refused
                  ? NAN
                  : 2 * (double)r->nnz * (double)(r->columns ? r->columns : 1) / r->seconds / 1e9);
    json_real(j, "setup_s", r->setup_seconds);
    json_real(j, "convert_mbytes_per_s",
              r->slots > 0 ? r->input_bytes / r->setup_seconds / 1e6 : NAN);
    json_text(j, "cache", b->o->hot ? "hot" : "cold");
    json_whole(j, "copies", r->copies);
}

static void print_json(const bench *b, const bench_result *r)
{
    json j = json_begin(stdout);
    json_text(&j, "name", r->name);
    json_text(&j, "problem", r->problem);
    json_text(&j, "device", b->info ? b->info->name : "host");
    json_text(&j, "platform", b->info ? b->info->platform : NULL);
    json_text(&j, "driver", b->info ? b->info->driver : NULL);
    json_text(&j, "precision", kry_type_name(b->type));
    json_whole(&j, "n", r->n);
    json_whole(&j, "nnz", r->nnz);
    if (r->columns) json_whole(&j, "columns", r->columns);
    json_real(&j, "bytes", r->refused ? NAN : r->bytes);
    json_real(&j, "seconds", r->refused ? NAN : r->seconds);
    json_real(&j, "gbytes_per_s", r->bytes / r->seconds / 1e9);
    json_real(&j, "fraction_of_copy", b->copy > 0 ? r->bytes / r->seconds / b->copy : NAN);
    if (b->host_triad > 0)
        json_real(&j, "fraction_of_host_triad", r->bytes / r->seconds / b->host_triad);
    if (r->ratio > 0) json_real(&j, "ratio", r->ratio);
    if (r->format) json_matrix(&j, b, r);
    json_end(&j);
}

void bench_print(const bench *b, const bench_result *r)
{
    char n[32], nnz[32], seconds[32];
    if (!ranks_report()) return;
    if (b->o->json) {
        print_json(b, r);
        return;
    }
    printf("%-10s %-22s n %13s", r->name, r->problem ? r->problem : "",
           kryi_text_whole(r->n, n, sizeof n));
    if (r->nnz) printf("  nnz %13s", kryi_text_whole(r->nnz, nnz, sizeof nnz));
    printf("  %10s", kryi_text_seconds(r->seconds, seconds, sizeof seconds));
    if (r->bytes > 0)
        printf("  %8.2f GB/s", r->bytes / r->seconds / 1e9);
    else
        printf("  persistent   ");
    if (r->bytes > 0 && b->copy > 0)
        printf("  %5.1f %% of copy", 100 * r->bytes / r->seconds / b->copy);
    if (r->bytes > 0 && b->host_triad > 0)
        printf("  %5.1f %% of host triad", 100 * r->bytes / r->seconds / b->host_triad);
    if (r->ratio > 0) printf("  %.2f times as long", r->ratio);
    if (r->format) printf("  %s%s%s", r->format, r->variant[0] ? ", " : "", r->variant);
    printf("\n");
    fflush(stdout);
}

/* ---- data ------------------------------------------------------------------------- */

kry_status bench_block(const bench *b, int64_t n, int64_t columns, uint64_t stream, kry_vec **vec)
{
    kry_status st = KRY_OK;
    double *values = NULL;
    float *owned = NULL;
    const void *out = NULL;
    TRY(kry_vec_create(b->device, b->type, n, columns, vec));
    const int64_t rows = kry_vec_rows_here(*vec, NULL);
    TRY(ranks_agree(allocate((uint64_t)(rows * columns), sizeof(double), &values)));
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < rows; i++)
            values[c * rows + i] = kry_random_unit((uint64_t)b->seed, stream,
                                                   (uint64_t)(c * n + kry_vec_row(*vec, i)));
    TRY(ranks_agree(convert_values(b->type, rows * columns, values, &out, &owned)));
    TRY(kry_vec_write(*vec, out));
done:
    free(values);
    free(owned);
    return st;
}

kry_status bench_vec(const bench *b, int64_t n, uint64_t stream, kry_vec **vec)
{
    return bench_block(b, n, 1, stream, vec);
}

static kry_status on_source(const bench *b, bench_on_source run, const char *file, const char *spec)
{
    kry_status st = KRY_OK;
    source s = { .device = b->device };
    TRY(ranks_agree(
        source_open(file, spec, (uint64_t)b->seed, b->matrix_free ? &b->form : NULL, &s)));
    TRY(ranks_agree(source_check_claims(&s)));
    TRY(run(b, &s));
done:
    source_release(&s);
    return st;
}

kry_status bench_sources(const bench *b, const char *const *specs, size_t count,
                         bench_on_source run)
{
    kry_status st = KRY_OK;
    const options *o = b->o;
    for (int i = 1; i < o->word_count; i++) TRY(on_source(b, run, o->words[i], NULL));
    for (int i = 0; i < o->problem_count; i++) TRY(on_source(b, run, NULL, o->problems[i]));
    for (size_t i = 0; i < count && o->word_count + o->problem_count == 1; i++)
        TRY(on_source(b, run, NULL, specs[i]));
done:
    return st;
}

const char *const *bench_grids(const bench *b, size_t *count)
{
    static const char *const large[] = { "poisson2d:4096", "poisson3d:192" }; /* for GPUs */
    static const char *const small[] = { "poisson2d:1024", "poisson3d:96" };
    *count = COUNT(large);
    return b->info->gpu ? large : small;
}

/* ---- the command ------------------------------------------------------------------ */

#define NAMES                                                                               \
    "stream, spmv, spgemm, setup, stencil, cg, solve, kernels, mtx, tridiagonal, systems, " \
    "hpcg, amg2023"

static const struct benchmark {
    const char *name;
    kry_status (*run)(bench *b);
    bool device, copy, sources; /* does it need a device, its copy bandwidth, matrices? */
    bool format;                /* does it take --format? */
    bool opencl;                /* does it need OpenCL? */
    bool table;                 /* of products: takes --hot, --svg */
    bool iterates;              /* takes --resident, --null-space */
    bool counts;                /* takes --maxit */
    bool repeats;               /* takes --reproducible */
    bool words;                 /* takes words of its own */
    bool columns;               /* takes --columns */
    bool ranks;                 /* runs on several */
    bool lasts;                 /* takes --seconds */
} benchmarks[] = {
    { "stream", bench_stream, .device = true },
    { "spmv", bench_spmv, true, true, true, .format = true, .table = true, .columns = true },
    { "spgemm", bench_spgemm, .device = true, .copy = true, .sources = true },
    { "setup", bench_setup, .device = true, .sources = true, .format = true, .opencl = true },
    { "stencil", bench_stencil, true, true, true, .table = true, .columns = true },
    { "cg", bench_cg, true, true, true, .format = true, .iterates = true, .repeats = true,
      .ranks = true },
    { "solve", bench_solve, .device = true, .sources = true, .format = true, .iterates = true,
      .columns = true },
    { "kernels", bench_kernels, true, true, true, .format = true, .opencl = true, .iterates = true,
      .counts = true, .columns = true },
    { "mtx", bench_mtx, .device = false },
    { "tridiagonal", bench_tridiagonal, true, true, .words = true },
    { "systems", bench_systems, true, true, .words = true },
    { "hpcg", bench_hpcg, .device = true, .format = true, .words = true, .lasts = true },
    { "amg2023", bench_amg2023, .device = true, .format = true, .words = true },
};

static kry_status find_benchmark(const options *o, const struct benchmark **found)
{
    kry_status st = KRY_OK;
    const char *word = o->words[0];
    char hint[64];
    CHECK(o->word_count > 0, KRY_ERR_PARSE, "needs the name of a benchmark: " NAMES);
    for (size_t i = 0; i < COUNT(benchmarks); i++)
        if (!strcmp(word, benchmarks[i].name)) *found = &benchmarks[i];
    CHECK(*found, KRY_ERR_PARSE, "unknown benchmark \"%s\"; there are " NAMES "%s", word,
          kry_word_hint(word, NAMES, hint, sizeof hint));
    const struct benchmark *f = *found;
    CHECK(f->sources || (f->words && !o->problem_count) || o->word_count + o->problem_count == 1,
          KRY_ERR_PARSE, "%s takes no matrix", word);
    CHECK(f->format || !o->format, KRY_ERR_PARSE, "%s takes no --format", word);
    CHECK(f->table || (!o->hot && !o->svg), KRY_ERR_PARSE, "%s takes neither --hot nor --svg",
          word);
    CHECK(f->columns || !o->columns, KRY_ERR_PARSE, "%s takes no --columns", word);
    CHECK(f->iterates || !options_solver(o, "resident"), KRY_ERR_PARSE, "%s takes no --resident",
          word);
    CHECK(f->iterates || !options_solver(o, "null-space"), KRY_ERR_PARSE,
          "%s takes no --null-space", word);
    CHECK(f->repeats || !o->reproducible, KRY_ERR_PARSE, "%s takes no --reproducible", word);
    CHECK(f->ranks || ranks_count() == 1, KRY_ERR_UNSUPPORTED,
          "%d ranks; of the benchmarks only cg runs on several", ranks_count());
    CHECK(ranks_count() == 1 || (!o->reproducible && !o->html), KRY_ERR_UNSUPPORTED,
          "--reproducible and --html are for one process, and these are %d ranks", ranks_count());
    CHECK(f->lasts || !o->seconds, KRY_ERR_PARSE, "%s takes no --seconds", word);
    CHECK(f->counts || !o->maxit, KRY_ERR_PARSE, "%s takes no --maxit", word);
done:
    return st;
}

static kry_status run(const options *o, const struct benchmark *found, bench *b)
{
    kry_status st = KRY_OK;

    *b = (bench){ .o = o,
                  .type = options_type(o),
                  .seed = options_whole(o->seed, 1),
                  .columns = options_whole(o->columns, 1) };
    CHECK(b->columns > 0, KRY_ERR_PARSE, "--columns %s", o->columns);
    TRY(options_form(o, KRY_VALUES_AS_GIVEN, &b->form));
    if (found->device) {
        TRY(ranks_device(found->opencl ? options_opencl(o) : o->device, false, &b->device));
        b->info = kry_device_get_info(b->device);
        if (!o->json && ranks_report()) printf("%s, %s\n", b->info->name, kry_type_name(b->type));
        if (found->copy && ranks_count() == 1) TRY(bench_copy(b)); /* its length is by the clock */
    }
    TRY(found->run(b));
done:
    return st;
}

kry_status bench_run(const options *given)
{
    kry_status st = KRY_OK;
    const struct benchmark *found = NULL;
    bench b = { 0 };
    records_page page;
    char title[64];

    TRY(find_benchmark(given, &found));
    TRY(records_page_begin(given, &page));
    st = run(&page.o, found, &b);
    snprintf(title, sizeof title, "kry bench %s", found->name);
    st = records_page_end(&page, title, b.info, st);
done:
    kry_device_release(&b.device);
    return st;
}
