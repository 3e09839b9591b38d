/*
 * bench_spmv.c - kry bench spmv: y := A x.
 *
 * bytes = nnz (size + 4) + rows (2 size + 4): every value and column, x, y and the row pointers
 * once.
 */
#include "bench.h"

enum { PAIRS = 3 };

typedef struct product {
    kry_op *A;
    kry_vec *x[PAIRS], *y[PAIRS];
} product;

static kry_status product_pass(void *user, int64_t turn)
{
    const product *p = user;
    return kry_op_apply(p->A, 1, p->x[turn % PAIRS], 0, p->y[turn % PAIRS]);
}

static kry_status product_run(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    product p = { 0 };
    kry_op_info info;
    double size = (double)kry_type_size(b->type);
    bench_result r = { .name = "spmv", .problem = s->name, .n = s->rows };
    TRY(source_matrix(s, b->device, b->type, &p.A));
    for (int i = 0; i < PAIRS; i++) {
        TRY(bench_vec(b, s->cols, (uint64_t)i, &p.x[i]));
        TRY(bench_vec(b, s->rows, (uint64_t)i, &p.y[i]));
    }
    kry_op_describe(p.A, &info);
    r.nnz = info.nnz;
    r.bytes = (double)r.nnz * (size + 4) + (double)r.n * (2 * size + 4);
    TRY(bench_time(b, product_pass, &p, &r.seconds));
    bench_print(b, &r);
done:
    for (int i = 0; i < PAIRS; i++) {
        kry_vec_release(&p.x[i]);
        kry_vec_release(&p.y[i]);
    }
    kry_op_release(&p.A);
    return st;
}

kry_status bench_spmv(bench *b) { return bench_sources(b, product_run); }
