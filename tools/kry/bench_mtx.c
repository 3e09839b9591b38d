/*
 * bench_mtx.c - kry bench mtx: how fast a Matrix Market text becomes numbers. Needs no device.
 */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 11, LINE = 56, PER_ROW = 8, HEADER = 128 };

/* nnz entries, eight in a row, numbers of 17 digits. */
static kry_status make_text(const bench *b, int64_t nnz, char **text, size_t *size)
{
    kry_status st = KRY_OK;
    long long n = nnz / PER_ROW + PER_ROW;
    size_t room = (size_t)nnz * LINE + HEADER, used;
    TRY(allocate(room, 1, text));
    used = (size_t)snprintf(*text, room,
                            "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n", n,
                            n, (long long)nnz);
    for (int64_t e = 0; e < nnz; e++) {
        long long row = e / PER_ROW, col = (row * 7919 + e % PER_ROW) % n;
        used += (size_t)snprintf(*text + used, room - used, "%lld %lld %.17g\n", row + 1, col + 1,
                                 2 * kry_random_unit((uint64_t)b->seed, 0, (uint64_t)e) - 1);
    }
    *size = used;
done:
    return st;
}

kry_status bench_mtx(bench *b)
{
    kry_status st = KRY_OK;
    char *text = NULL;
    size_t size = 0;
    kry_mtx *mtx = NULL;
    double seconds[REPEATS];
    int64_t nnz = options_whole(b->o->n, 1000000);
    CHECK(nnz >= 1 && nnz <= (int64_t)1 << 31, KRY_ERR_ARGUMENT, "--n must be from 1 to 2^31");
    TRY(make_text(b, nnz, &text, &size));
    for (int i = -1; i < REPEATS; i++) { /* the first one warms up */
        double start = now();
        TRY(kry_mtx_parse("bench", text, size, &mtx));
        if (i >= 0) seconds[i] = now() - start;
        kry_mtx_release(&mtx);
    }
    bench_print(b, &(bench_result){ .name = "mtx_parse",
                                    .n = nnz / PER_ROW + PER_ROW,
                                    .nnz = nnz,
                                    .bytes = (double)size,
                                    .seconds = bench_median(seconds, REPEATS) });
done:
    free(text);
    return st;
}
