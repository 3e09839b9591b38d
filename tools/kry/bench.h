/*
 * bench.h - what the benchmarks share: timing, the copy bandwidth, one line per result.
 */
#ifndef KRY_BENCH_H
#define KRY_BENCH_H

#include "options.h"
#include "source.h"

typedef struct bench {
    const options *o;
    kry_device *device;
    const kry_device_info *info;
    kry_type type;
    form form;        /* what --format says */
    bool matrix_free; /* sources on a grid come without their entries, unless the form needs them */
    int64_t seed, columns;
    double copy;       /* bytes per second of y := x on the device */
    double host_triad; /* bytes per second of a triad in plain C on all cores; 0: not measured */
    void *user;        /* of the benchmark that runs */
} bench;

typedef struct bench_result {
    const char *name, *problem; /* problem: NULL if there is none */
    int64_t n, nnz;             /* nnz: 0 if there is no matrix */
    int64_t columns;            /* of x; 0: one */
    double bytes, seconds;      /* of one pass */
    /* how A is stored; NULL format: there is no A */
    const char *requested, *format, *variant;
    const char *refused;  /* why it was not measured, or NULL */
    int64_t slots;        /* numbers stored, padding included; 0: none */
    double setup_seconds; /* to store it; 0: not measured */
    double input_bytes;   /* of what was stored then */
    int copies;           /* that took turns; 0: not counted */
    double ratio;         /* of the seconds to those of the line before; 0: not compared */
} bench_result;

/* Enqueue pass number `turn`; successive turns use different data. */
typedef kry_status (*bench_pass)(void *user, int64_t turn);

/* Seconds per pass: the median of several batches, each long enough for the clock. Waits. */
kry_status bench_time(const bench *b, bench_pass pass, void *user, double *seconds);
double bench_median(double *values, int count); /* sorts them */
void bench_print(const bench *b, const bench_result *r);

/* Call `run` for every file and spec that was given behind the first word; if there is none, for
 * each of the `count` specs. */
typedef kry_status (*bench_on_source)(const bench *b, const source *s);
kry_status bench_sources(const bench *b, const char *const *specs, size_t count,
                         bench_on_source run);
const char *const *bench_grids(const bench *b, size_t *count); /* specs that suit the device */

/* Random. */
kry_status bench_vec(const bench *b, int64_t n, uint64_t stream, kry_vec **vec);
kry_status bench_block(const bench *b, int64_t n, int64_t columns, uint64_t stream, kry_vec **vec);

kry_status bench_copy(bench *b); /* sets b->copy */
kry_status bench_stream(bench *b);
kry_status bench_spmv(bench *b);
kry_status bench_spgemm(bench *b);
kry_status bench_setup(bench *b);
kry_status bench_stencil(bench *b);
kry_status bench_cg(bench *b);
kry_status bench_solve(bench *b);
kry_status bench_kernels(bench *b);
kry_status bench_mtx(bench *b);
kry_status bench_tridiagonal(bench *b);
kry_status bench_systems(bench *b);
kry_status bench_hpcg(bench *b);
kry_status bench_amg2023(bench *b);
/* How many systems of how many rows the word "4096x2048" means. */
kry_status bench_batch_of(const char *word, int64_t *systems, int64_t *n);

/* Time iterations of CG: sets seconds and bytes of one, and how A is stored. */
kry_status bench_cg_time(const bench *b, const kry_op *A, bench_result *r);
/* What kry_solver_create takes for a solve of `limit` iterations, whose target is out of reach. */
kry_status bench_solver_text(const options *o, int64_t limit, char text[SOLVER_TEXT]);
double bench_host_triad(void); /* bytes per second; 0 if it cannot run */

#endif
