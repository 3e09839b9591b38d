/*
 * predict.c - how long a product should take in each format, from the bytes that it moves.
 *
 *   seconds = start + bytes / (bandwidth * efficiency) + steps of the longest row
 *
 * The figures are of an NVIDIA H200 (driver 580) and of two cores of an AMD EPYC under PoCL 3.1;
 * docs/benchmarks.md has the measurements behind them. Only their ratios matter: bandwidths are
 * those of the device where kry tune has measured them, and a guess elsewhere.
 */
#include "device/tuning.h"
#include "matrix/choose.h"
#include <math.h>
#include <stdlib.h>

typedef struct cost {
    double start;      /* seconds before the first byte and after the last */
    double efficiency; /* of the copy bandwidth, numbers in double */
    double narrow;     /* the same with numbers in single */
    double per_entry;  /* seconds for an entry, where a work-item adds up a row alone */
    int free_entries;  /* of a row, whose time is hidden behind that of other rows */
} cost;

static const cost gpu[KRY_FORMAT_COUNT] = {
    [KRY_FORMAT_CSR] = { 3.9e-6, 0.92, 0.80, 0, 0 },
    [KRY_FORMAT_DIA] = { 3.0e-6, 1.04, 0.96, 0.15e-6, 8 },
    [KRY_FORMAT_SYMDIA] = { 2.9e-6, 0.90, 0.80, 0.25e-6, 4 },
    [KRY_FORMAT_ELL] = { 3.0e-6, 1.05, 0.95, 0.083e-6, 15 },
    [KRY_FORMAT_SELL] = { 3.7e-6, 1.02, 0.92, 0.125e-6, 12 },
    [KRY_FORMAT_HYB] = { 3.1e-6, 1.03, 0.93, 0.083e-6, 12 },
    [KRY_FORMAT_COO] = { 8.0e-6, 0.30, 0.25, 0, 0 },
};

static const cost cpu[KRY_FORMAT_COUNT] = {
    [KRY_FORMAT_CSR] = { 20e-6, 0.90, 0.80, 0, 0 },
    [KRY_FORMAT_DIA] = { 20e-6, 1.04, 0.95, 0, 0 },
    [KRY_FORMAT_SYMDIA] = { 20e-6, 1.00, 0.90, 0, 0 },
    [KRY_FORMAT_ELL] = { 20e-6, 0.97, 0.88, 0, 0 },
    [KRY_FORMAT_SELL] = { 20e-6, 1.00, 0.90, 0, 0 },
    [KRY_FORMAT_HYB] = { 22e-6, 0.90, 0.80, 0, 0 },
    [KRY_FORMAT_COO] = { 40e-6, 0.65, 0.55, 0, 0 },
};

/* The cache size that a device reports is of little use: NVIDIA reports that of the first level. */
static const double cached = 120e3;        /* bytes for each compute unit that stay in its cache */
static const double coo_tail = 5e-6;       /* seconds: more launches */
static const double mispredicted = 8e-9;   /* a row of csr on a core, where lengths vary */
static const double narrow_columns = 0.94; /* of sell's efficiency: more to compute per byte */
static const double sorted_start = 0.4e-6; /* of sell: one load more before the first */

/* Bytes per second of a copy: measured, or what a compute unit usually comes with. */
static double bandwidth_of(const kry_device *dev)
{
    char text[64];
    double measured = kry_tuning_get((kry_device *)dev, "copy-bandwidth", text, sizeof text)
                          ? strtod(text, NULL)
                          : 0;
    if (measured > 1e8 && measured < 1e15) return measured;
    return dev->info.cpu_kernels ? 25e9 : 30e9 * dev->info.compute_units;
}

/* Numbers and structure that a product reads, and the entries of its longest row. */
static double matrix_bytes(const kry_structure *s, kry_format format, double *longest)
{
    double rows = (double)s->rows, nnz = (double)s->nnz, v = s->value, n;

    *longest = (double)s->longest;
    switch (format) {
    case KRY_FORMAT_DIA:
        *longest = (double)s->diagonals;
        return s->few_diagonals ? rows * (double)s->diagonals * v : INFINITY;
    case KRY_FORMAT_SYMDIA:
        *longest = (double)s->upper;
        return s->few_diagonals && s->symmetric ? rows * (double)s->upper * v : INFINITY;
    case KRY_FORMAT_ELL: return rows * (double)s->longest * (v + 4);
    case KRY_FORMAT_SELL:
        return s->sell_slots * (v + s->sell_index) + (s->sell_sorted ? 4 * rows : 0);
    case KRY_FORMAT_HYB:
        n = rows * (double)s->ell_width;
        *longest = (double)s->ell_width;
        return n * (v + 4) + (double)s->ell_tail * 3 * (v + 8);
    case KRY_FORMAT_COO: return nnz * (v + 8) + s->number * rows;
    default: return nnz * (v + 4) + 4 * rows;
    }
}

double kry_predict(const kry_device *dev, const kry_structure *s, kry_format format)
{
    const cost *c = dev->info.cpu_kernels ? &cpu[format] : &gpu[format];
    double longest, bytes = matrix_bytes(s, format, &longest), bandwidth, steps;

    bytes += ((double)s->rows + (double)s->cols) * s->number;
    bandwidth = bandwidth_of(dev) * (s->value < 8 ? c->narrow : c->efficiency);
    if (bytes < cached * dev->info.compute_units) bandwidth *= 2;
    steps = longest > c->free_entries ? (longest - c->free_entries) * c->per_entry : 0;
    if (format == KRY_FORMAT_HYB && s->ell_tail) steps += coo_tail;
    if (format == KRY_FORMAT_SELL && s->sell_index < 4) bandwidth *= narrow_columns;
    if (format == KRY_FORMAT_SELL && s->sell_sorted) steps += sorted_start;
    if (format == KRY_FORMAT_CSR && s->sell_sorted && dev->info.cpu_kernels)
        steps += mispredicted * (double)s->rows / dev->info.compute_units;
    return c->start + bytes / bandwidth + steps;
}
