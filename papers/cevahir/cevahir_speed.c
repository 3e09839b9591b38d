/*
 * cevahir_speed.c - figure 5: the inner solver, CG in single precision, on 1, 2 and 4 devices.
 *
 * GFLOP/s by 2 nnz + 10 n operations in an iteration: a product, two dots, three updates. Seconds
 * are those of kry bench cg, of A in the format that `auto` takes.
 */
#include "cevahir.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int cevahir_devices[CEVAHIR_TEAMS] = { 1, 2, 4 };

static const char table_name[] = "figure 5";
static const double their_average[CEVAHIR_TEAMS] = { 6.02, 9.58, 14.84 };
static const double their_speed_up[CEVAHIR_TEAMS] = { 1, 1.59, 2.47 };

/* ---- teams ---------------------------------------------------------------------------- */

typedef struct team {
    kry_device *device; /* NULL: there is none */
    char refused[400];  /* why */
} team;

typedef struct speeds {
    team team[CEVAHIR_TEAMS];
    double sum[CEVAHIR_TEAMS];     /* of GFLOP/s */
    double sum_one[CEVAHIR_TEAMS]; /* of those of one device, for the same matrices */
    int count[CEVAHIR_TEAMS];
} speeds;

/* The first `count` GPUs; a CPU, which seldom has neighbours, is cut. */
static void team_spec(const bench *b, int count, char *spec, size_t size)
{
    const char *named = b->o->device ? b->o->device : getenv("KRY_DEVICE");
    size_t end = 0;
    if (!b->info->gpu) {
        snprintf(spec, size, "%s/%d,use-all", named && *named ? named : "cpu", count);
        return;
    }
    for (int i = 0; i < count && end < size; i++)
        end += (size_t)snprintf(spec + end, size - end, "%sgpu:%d%s", i ? "+" : "", i,
                                i + 1 == count ? ",use-all" : "");
}

static void open_teams(const bench *b, speeds *s)
{
    char spec[256];
    s->team[0].device = kry_device_retain(b->device);
    for (int t = 1; t < CEVAHIR_TEAMS; t++) {
        team_spec(b, cevahir_devices[t], spec, sizeof spec);
        if (kry_device_open(spec, &s->team[t].device) == KRY_OK) continue;
        snprintf(s->team[t].refused, sizeof s->team[t].refused, "%s", kry_last_error());
    }
}

/* ---- printing ------------------------------------------------------------------------- */

static void print_heading(const bench *b)
{
    reproduce_say(b,
                  "\n%s: conjugate gradients in single precision, GFLOP/s by 2 nnz + 10 n an "
                  "iteration\n%s\n\n%-32s",
                  table_name,
                  b->info->gpu
                      ? "theirs on GeForce 8800 GTS, ours on as many of our GPUs"
                      : "theirs on GeForce 8800 GTS; ours: 2 and 4 are one CPU cut in pieces, "
                        "not more cores",
                  "matrix");
    for (int t = 0; t < CEVAHIR_TEAMS; t++)
        reproduce_say(b, "%*d device%s", t ? 5 : 6, cevahir_devices[t], t ? "s" : "");
    for (int t = 1; t < CEVAHIR_TEAMS; t++)
        reproduce_say(b, "%11s %d", "speed-up", cevahir_devices[t]);
    reproduce_say(b, "\n");
}

/* A row of rates and speed-ups, CEVAHIR_TEAMS numbers each. `measured`: of a matrix, else of all of
 * them, which theirs are; `why`: what is missing, NULL: nothing. */
static void print_row(const bench *b, const char *row, const double *rate, const double *speed_up,
                      bool measured, const speeds *why)
{
    char column[32];
    reproduce_say(b, "%-32.32s", measured ? cevahir_name(row) : row);
    for (int up = 0; up < 2; up++) {
        for (int t = up; t < CEVAHIR_TEAMS; t++) {
            double ours = up ? speed_up[t] : rate[t];
            snprintf(column, sizeof column, "%s%d device%s", up ? "speed-up, " : "",
                     cevahir_devices[t], t ? "s" : "");
            cell one = { table_name, row,  column, up ? "times one device" : "GFLOP/s",
                         NAN,        ours, NAN,    NULL };
            if (!measured) one.theirs = up ? their_speed_up[t] : their_average[t];
            if (why && isnan(ours)) one.refused = why->team[t].refused;
            reproduce_cell(b, "cevahir", &one);
            reproduce_number(b, "%13.2f", ours);
        }
    }
    reproduce_say(b, "\n");
}

static void print_averages(const bench *b, const speeds *s)
{
    double average[CEVAHIR_TEAMS], speed_up[CEVAHIR_TEAMS], ratio[2][CEVAHIR_TEAMS];
    for (int t = 0; t < CEVAHIR_TEAMS; t++) {
        average[t] = s->count[t] ? s->sum[t] / s->count[t] : NAN;
        speed_up[t] = s->count[t] ? s->sum[t] / s->sum_one[t] : NAN;
        ratio[0][t] = average[t] / their_average[t];
        ratio[1][t] = speed_up[t] / their_speed_up[t];
    }
    print_row(b, "average", average, speed_up, false, s);
    if (b->o->json) return;
    print_row(b, "theirs, average", their_average, their_speed_up, false, NULL);
    print_row(b, "ours / theirs", ratio[0], ratio[1], false, NULL);
    for (int t = 1; t < CEVAHIR_TEAMS; t++) {
        char what[32];
        snprintf(what, sizeof what, "%d devices", cevahir_devices[t]);
        if (s->team[t].refused[0]) cevahir_refused(b, what, s->team[t].refused);
    }
}

/* ---- measuring ------------------------------------------------------------------------ */

static kry_status time_on(const bench *b, const source *src, kry_device *device, double *gflops)
{
    kry_status st = KRY_OK;
    const form f = { .stored = true, .matrix = *KRY_MATRIX(.traits = 0) };
    bench one = *b;
    kry_op *A = NULL;
    bench_result r = { .name = "cg", .problem = src->name };
    one.device = device;
    one.info = kry_device_get_info(device);
    TRY(source_operator(src, device, KRY_F32, &f, &A));
    TRY(bench_cg_time(&one, A, &r));
    *gflops = (2 * (double)r.nnz + 10 * (double)src->rows) / r.seconds / 1e9;
done:
    kry_op_release(&A);
    return st;
}

/* What the device, the build or the matrix does not allow is refused; the rest is a failure. */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_MEMORY || st == KRY_ERR_ARGUMENT ||
           st == KRY_ERR_SHAPE;
}

static kry_status time_row(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    speeds *s = b->user, here = *s;
    double rate[CEVAHIR_TEAMS], speed_up[CEVAHIR_TEAMS];
    for (int t = 0; t < CEVAHIR_TEAMS; t++) {
        team *with = &here.team[t];
        rate[t] = speed_up[t] = NAN;
        if (!with->device) continue;
        st = time_on(b, src, with->device, &rate[t]);
        if (st < 0 && !is_refusal(st)) goto done;
        if (st < 0) snprintf(with->refused, sizeof with->refused, "%s", kry_last_error());
        speed_up[t] = rate[t] / rate[0];
        if (isnan(speed_up[t])) continue;
        s->sum[t] += rate[t];
        s->sum_one[t] += rate[0];
        s->count[t]++;
    }
    st = KRY_OK;
    print_row(b, src->name, rate, speed_up, true, &here);
    for (int t = 0; t < CEVAHIR_TEAMS; t++)
        if (here.team[t].device && here.team[t].refused[0])
            cevahir_refused(b, t ? "more devices" : "one device", here.team[t].refused);
done:
    return st;
}

kry_status cevahir_speed(bench *b)
{
    kry_status st = KRY_OK;
    speeds s = { .count = { 0 } };
    b->type = KRY_F32;
    b->user = &s;
    open_teams(b, &s);
    print_heading(b);
    TRY(cevahir_sources(b, NULL, 0, time_row));
    print_averages(b, &s);
done:
    for (int t = 0; t < CEVAHIR_TEAMS; t++) kry_device_release(&s.team[t].device);
    b->user = NULL;
    return st;
}
