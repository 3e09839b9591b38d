/*
 * predict.c - the properties of a matrix that decide how fast formats are, and how long a product
 * should take in each of them, from the bytes that it moves.
 *
 *   seconds = start + bytes / (bandwidth * efficiency) + steps of the longest row
 *
 * The figures are of an NVIDIA H200 (driver 580) and of two cores of an AMD EPYC under PoCL 3.1;
 * docs/benchmarks.md has the measurements behind them. Only their ratios matter: bandwidths are
 * those of the device where kry tune has measured them, and a guess elsewhere.
 */
#include "matrix/given.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The properties of a matrix that decide how fast a format is. */
typedef struct structure {
    int64_t rows, cols, nnz;
    double number;      /* bytes of a vector's number */
    double value;       /* bytes of a stored number */
    int64_t longest;    /* entries of the longest row */
    int64_t diagonals;  /* with entries */
    int64_t upper;      /* those from the main one up, with it */
    bool few_diagonals; /* else the two are of no use */
    bool symmetric;     /* pattern and numbers; only looked at if there are few diagonals */
    kryi_sell_size sell;
    int64_t ell_tail;  /* entries that HYB leaves to COO */
    int64_t ell_width; /* columns of its ELL */
    double bandwidth;  /* of the device */
} structure;

/* The hash of a sample of row pointers and columns: other patterns seldom have the same one. */
static uint64_t hash_of(const kryi_csr *host, const kry_matrix_params *params, const structure *s)
{
    enum { SAMPLES = 65536 };
    const int64_t numbers[] = { s->rows,           s->cols,           s->nnz,
                                s->longest,        s->diagonals,      s->upper,
                                (int64_t)s->value, (int64_t)s->number };
    uint64_t h = kryi_hash(KRY_HASH_START, numbers, sizeof numbers);
    int64_t step = s->rows / SAMPLES + 1;

    for (int64_t i = 0; i < s->rows; i += step)
        h = kryi_hash(h, &host->row_ptr[i], sizeof host->row_ptr[i]);
    step = s->nnz / SAMPLES + 1;
    for (int64_t k = 0; k < s->nnz; k += step) h = kryi_hash(h, &host->col[k], sizeof host->col[k]);
    return params->form == KRY_FLUX ? kryi_hash(h, "flux", 4) : h;
}

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
    [KRY_FORMAT_JDS] = { 3.9e-6, 0.85, 0.80, 0.125e-6, 12 },
    [KRY_FORMAT_HYB] = { 3.1e-6, 1.03, 0.93, 0.083e-6, 12 },
    [KRY_FORMAT_COO] = { 8.0e-6, 0.30, 0.25, 0, 0 },
};

static const cost cpu[KRY_FORMAT_COUNT] = {
    [KRY_FORMAT_CSR] = { 20e-6, 0.90, 0.80, 0, 0 },
    [KRY_FORMAT_DIA] = { 20e-6, 1.04, 0.95, 0, 0 },
    [KRY_FORMAT_SYMDIA] = { 20e-6, 1.00, 0.90, 0, 0 },
    [KRY_FORMAT_ELL] = { 20e-6, 0.97, 0.88, 0, 0 },
    [KRY_FORMAT_SELL] = { 20e-6, 1.00, 0.90, 0, 0 },
    [KRY_FORMAT_JDS] = { 20e-6, 0.50, 0.45, 0, 0 },
    [KRY_FORMAT_HYB] = { 22e-6, 0.90, 0.80, 0, 0 },
    [KRY_FORMAT_COO] = { 40e-6, 0.65, 0.55, 0, 0 },
};

/* The cache size that a device reports is of little use: NVIDIA reports that of the first level. */
static const double cached = 120e3;        /* bytes for each compute unit that stay in its cache */
static const double coo_tail = 5e-6;       /* seconds: more launches */
static const double mispredicted = 8e-9;   /* a row of csr on a core, where lengths vary */
static const double together = 1.4;        /* of csr's efficiency: four sums at once */
static const double narrow_columns = 0.94; /* of sell's efficiency: more to compute per byte */
static const double sorted_start = 0.4e-6; /* of sell: one load more before the first */

double kryi_device_bandwidth(const kry_device *dev)
{
    char text[64];
    double measured = 0;

    if (kryi_tuning_get((kry_device *)dev, "copy-bandwidth", text, sizeof text) &&
        !kryi_read_double(text, text + strlen(text), &measured))
        measured = 0;
    if (measured > 1e8 && measured < 1e15) return measured;
    return dev->info.cpu_kernels ? 25e9 : 30e9 * dev->info.compute_units;
}

/* Numbers and structure that a product reads, and the entries of its longest row. */
static double matrix_bytes(const structure *s, kry_format format, double *longest)
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
        return s->sell.slots * (v + s->sell.index_bytes) + (s->sell.sorted ? 4 * rows : 0);
    case KRY_FORMAT_JDS: return nnz * (v + 4) + 4 * rows;
    case KRY_FORMAT_HYB:
        n = rows * (double)s->ell_width;
        *longest = (double)s->ell_width;
        return n * (v + 4) + (double)s->ell_tail * 3 * (v + 8);
    case KRY_FORMAT_COO: return nnz * (v + 8) + s->number * rows;
    default: return nnz * (v + 4) + 4 * rows;
    }
}

static double predict(const kry_device *dev, const structure *s, kry_format format)
{
    enum { LONG = 24 };             /* entries */
    static const double core = 4e6; /* bytes that it has in caches */
    const cost *c = dev->info.cpu_kernels ? &cpu[format] : &gpu[format];
    double longest, bytes = matrix_bytes(s, format, &longest), bandwidth, steps;

    bytes += ((double)s->rows + (double)s->cols) * s->number;
    bandwidth = s->bandwidth * (s->value < 8 ? c->narrow : c->efficiency);
    if (bytes < cached * dev->info.compute_units) bandwidth *= 2;
    steps = longest > c->free_entries ? (longest - c->free_entries) * c->per_entry : 0;
    if (format == KRY_FORMAT_HYB && s->ell_tail) steps += coo_tail;
    if (format == KRY_FORMAT_SELL && s->sell.index_bytes < 4) bandwidth *= narrow_columns;
    if (format == KRY_FORMAT_SELL && s->sell.sorted) steps += sorted_start;
    if (format == KRY_FORMAT_CSR && dev->info.cpu_kernels) {
        /* Four entries of a long row are added up at a time, from the caches: then csr is faster than sell, which has
         * padding, and a row that ends costs little. */
        if (s->nnz >= LONG * s->rows && bytes < core * dev->info.compute_units)
            bandwidth *= together;
        else if (s->sell.sorted)
            steps += mispredicted * (double)s->rows / dev->info.compute_units;
    }
    return c->start + bytes / bandwidth + steps;
}

kry_status kryi_predict(const kry_device *dev, kryi_given *given, const kry_matrix_params *params,
                        double seconds[KRY_FORMAT_COUNT], uint64_t *hash)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    const bool there = given->C.dev;
    const int64_t most = kryi_diagonals_of_use(host);
    const kry_type stored = kryi_stored_type(host->type, params->values, &given->seen);
    int32_t **offset = &given->diagonal;
    structure S, *s = &S;

    *s = (structure){ .rows = host->rows,
                      .cols = host->cols,
                      .nnz = kryi_csr_nnz(host),
                      .number = (double)kry_type_size(host->type),
                      .value = (double)kry_type_size(stored),
                      .longest = given->longest ? given->longest : kryi_longest_row(host),
                      .bandwidth = kryi_device_bandwidth(dev) };
    if (!given->diagonals)
        TRY(there ? kryi_given_diagonals(&given->C, most, offset, &given->diagonals)
                  : kryi_diagonals_find(host, most, offset, &given->diagonals));
    s->few_diagonals = given->diagonals <= most;
    if (s->few_diagonals)
        s->symmetric = given->seen.compared ? given->seen.symmetric : kryi_csr_is_symmetric(host);
    s->diagonals = s->few_diagonals ? given->diagonals : most + 1;
    for (int64_t d = 0; *offset && d < s->diagonals; d++) s->upper += (*offset)[d] > 0;
    s->upper++; /* the main one is stored in any case */
    TRY(there ? kryi_sell_estimate_given(given, params, &s->sell)
              : kryi_sell_estimate(dev, given, params, &s->sell));
    TRY(kryi_hyb_estimate(given, s->longest, &s->ell_width, &s->ell_tail));
    seconds[KRY_FORMAT_AUTO] = INFINITY;
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++) seconds[f] = predict(dev, s, f);
    if (hash) *hash = hash_of(host, params, s);
done:
    return st;
}
