/*
 * reproduce_brodtkorb.c - dense algebra on the device beside the host's best, in single precision
 * unless told otherwise; then what the other files of brodtkorb_*.c measure.
 */
#include "brodtkorb.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

kry_status brodtkorb_random(const bench *b, int64_t m, int64_t n, uint64_t stream, kry_vec **vec,
                            void **host)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;
    int64_t count = m * n;
    TRY(allocate((size_t)count, kry_type_size(b->type), &numbers));
    for (int64_t i = 0; i < count; i++) {
        double value = kry_random_unit((uint64_t)b->seed, stream, (uint64_t)i) - 0.5;
        if (b->type == KRY_F32)
            ((float *)numbers)[i] = (float)value;
        else
            ((double *)numbers)[i] = value;
    }
    TRY(kry_vec_create(b->device, b->type, m, n, vec));
    TRY(kry_vec_write(*vec, numbers));
    if (host) {
        *host = numbers;
        numbers = NULL;
    }
done:
    free(numbers);
    if (st < 0) kry_vec_release(vec);
    return st;
}

void brodtkorb_cell(const bench *b, const char *table, const char *row, const char *column,
                    const char *unit, double theirs, double ours, const char *why)
{
    reproduce_cell(b, "brodtkorb",
                   &(cell){ .table = table,
                            .row = row,
                            .column = column,
                            .unit = unit,
                            .theirs = theirs,
                            .ours = ours,
                            .golden = NAN,
                            .refused = why });
}

kry_status reproduce_brodtkorb(bench *b)
{
    kry_status st = KRY_OK;
    brodtkorb p = { .b = b };
    b->type = b->o->precision ? options_type(b->o) : KRY_F32;
    if (lapack_open(&p.host) < 0)
        snprintf(p.host_missing, sizeof p.host_missing, "%s", kry_last_error());
    reproduce_say(b, "Brodtkorb 2008: dense algebra in %s precision\ndevice: %s\nhost:   %s\n",
                  kry_type_name(b->type), b->info->name,
                  p.host ? lapack_name(p.host) : p.host_missing);
    TRY(brodtkorb_dense(&p));
    TRY(brodtkorb_tridiagonal(&p));
    TRY(brodtkorb_background(&p));
done:
    lapack_close(&p.host);
    return st;
}
