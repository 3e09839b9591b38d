/*
 * bench_spgemm.c - kry bench spgemm: sparse products. A A; A P and P'A P for a P that joins unknowns that
 * follow each other, SIZE of them, as aggregates do, and is smoothed once by A; each made anew, and with new
 * numbers at the same places.
 *
 * Bytes are the least that a product moves: its operands read and its result written once.
 */
#include "bench.h"
#include "page/text.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 8 };

typedef struct products {
    const bench *b;
    kry_op *A, *P, *C;
    bool galerkin;
} products;

static kry_status make(void *user, int64_t turn)
{
    products *p = user;
    const kry_op *right = p->P ? p->P : p->A;

    (void)turn;
    kry_op_release(&p->C);
    return p->galerkin ? kry_csr_galerkin(p->A, right, &p->C)
                       : kry_csr_multiply(p->A, right, &p->C);
}

static kry_status again(void *user, int64_t turn)
{
    const products *p = user;
    (void)turn;
    return kry_op_update(p->C, NULL);
}

/* P := A T, T of ones: the row of every unknown meets the column of its aggregate. */
static kry_status make_prolongation(products *p, int64_t n)
{
    kry_status st = KRY_OK;
    int64_t *row_ptr = NULL;
    int32_t *col = NULL;
    double *ones = NULL;
    float *owned = NULL;
    const void *val = NULL;
    kry_op *T = NULL;

    TRY(allocate((size_t)n + 1, sizeof *row_ptr, &row_ptr));
    TRY(allocate((size_t)n, sizeof *col, &col));
    TRY(allocate((size_t)n, sizeof *ones, &ones));
    for (int64_t i = 0; i < n; i++)
        row_ptr[i + 1] = i + 1, col[i] = (int32_t)(i / SIZE), ones[i] = 1;
    TRY(convert_values(p->b->type, n, ones, &val, &owned));
    TRY(kry_csr_create(p->b->device, p->b->type, n, (n + SIZE - 1) / SIZE, row_ptr, col, val, NULL,
                       &T));
    TRY(kry_csr_multiply(p->A, T, &p->P));
done:
    kry_op_release(&T);
    free(owned);
    free(ones);
    free(col);
    free(row_ptr);
    return st;
}

static double bytes_of(const kry_op *op)
{
    kry_op_info info;
    kry_op_describe(op, &info);
    return info.bytes_stored;
}

/* A line for the product, and one for new numbers. */
static kry_status time_product(products *p, const char *problem, int64_t n, const char *what)
{
    kry_status st = KRY_OK;
    char name[600];
    double first = 0;

    for (int repeat = 0; repeat < 2; repeat++) {
        double seconds;
        TRY(bench_time(p->b, repeat ? again : make, p, &seconds));
        kry_op_info info;
        kry_op_describe(p->C, &info);
        snprintf(name, sizeof name, "%s %s%s", problem, what, repeat ? " again" : "");
        bench_print(p->b, &(bench_result){ .name = "spgemm",
                                           .problem = name,
                                           .n = n,
                                           .nnz = info.nnz,
                                           .bytes = bytes_of(p->A) + bytes_of(p->P ? p->P : p->A) +
                                                    bytes_of(p->C),
                                           .seconds = seconds,
                                           .ratio = repeat ? seconds / first : 0 });
        first = seconds;
    }
done:
    kry_op_release(&p->C);
    return st;
}

static kry_status time_source(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    products p = { .b = b };
    const form f = { .matrix =
                         *KRY_MATRIX(.format = KRY_FORMAT_CSR, .values = KRY_VALUES_AS_GIVEN) };

    TRY(source_operator(s, b->device, b->type, &f, &p.A));
    TRY(time_product(&p, s->name, s->rows, "A A"));
    TRY(make_prolongation(&p, s->rows));
    TRY(time_product(&p, s->name, s->rows, "A P"));
    p.galerkin = true;
    TRY(time_product(&p, s->name, s->rows, "P'A P"));
done:
    kry_op_release(&p.C);
    kry_op_release(&p.P);
    kry_op_release(&p.A);
    return st;
}

kry_status bench_spgemm(bench *b)
{
    static const char *const large[] = { "poisson2d:2048", "poisson3d:128" }; /* for GPUs */
    static const char *const small[] = { "poisson2d:512", "poisson3d:64" };
    return bench_sources(b, b->info->gpu ? large : small, COUNT(small), time_source);
}
