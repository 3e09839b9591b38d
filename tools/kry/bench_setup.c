/*
 * bench_setup.c - kry bench setup: from the arrays of a matrix on the host to an operator in each format, and from new
 * values to the operator that has them; each beside a plain upload of the same bytes.
 *
 * An upload makes buffers of the device and fills them from the same memory of the host. Programs are compiled before
 * the clock runs.
 */
#include "bench.h"
#include "page/text.h"
#include "product.h"
#include <stdio.h>

enum { TURNS = 3, ARRAYS = 3 };

typedef struct setup {
    const bench *b;
    const product_input *in;
    kry_matrix_params params;
    kry_op *A;             /* what a turn leaves behind: an operator, */
    cl_mem buffer[ARRAYS]; /* or uploaded arrays */
    int buffers;
} setup;

static void clear(setup *s)
{
    kry_op_release(&s->A);
    while (s->buffers > 0) clReleaseMemObject(s->buffer[--s->buffers]);
}

static kry_status upload(setup *s, const void *from, size_t bytes)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->b->device;
    cl_int err;

    cl_mem made = clCreateBuffer(kry_device_context(dev), CL_MEM_READ_WRITE, bytes, NULL, &err);
    if (err == CL_SUCCESS) {
        s->buffer[s->buffers++] = made;
        err = clEnqueueWriteBuffer(kry_device_queue(dev), made, CL_TRUE, 0, bytes, from, 0, NULL,
                                   NULL);
    }
    CHECK(err == CL_SUCCESS, KRY_ERR_MEMORY, "no upload of %zu bytes: OpenCL error %d", bytes,
          (int)err);
done:
    return st;
}

static size_t value_bytes(const setup *s)
{
    return (size_t)s->in->A.nnz * kry_type_size(s->b->type);
}

static kry_status upload_values(setup *s) { return upload(s, s->in->val, value_bytes(s)); }

static kry_status upload_all(setup *s)
{
    kry_status st = KRY_OK;
    const sparse *A = &s->in->A;

    TRY(upload(s, A->row_ptr, ((size_t)A->rows + 1) * sizeof *A->row_ptr));
    TRY(upload(s, A->col, (size_t)A->nnz * sizeof *A->col));
    TRY(upload_values(s));
done:
    return st;
}

static kry_status create(setup *s)
{
    const sparse *A = &s->in->A;

    return kry_csr_create(s->b->device, s->b->type, A->rows, A->cols, A->row_ptr, A->col,
                          s->in->val, &s->params, &s->A);
}

static kry_status update(setup *s) { return kry_op_update(s->A, s->in->val); }

/* The median of some turns after a first one. makes: what a turn leaves behind goes before the next. */
static kry_status time_turns(setup *s, kry_status (*turn)(setup *), bool makes, double *seconds)
{
    kry_status st = KRY_OK;
    double t[TURNS];

    for (int i = -1; i < TURNS; i++) {
        if (makes) clear(s);
        TRY(kry_device_finish(s->b->device));
        const double start = now();
        TRY(turn(s));
        TRY(kry_device_finish(s->b->device));
        if (i >= 0) t[i] = now() - start;
    }
    *seconds = bench_median(t, TURNS);
done:
    return st;
}

/* uploaded: the seconds that an upload of these bytes takes; 0: this is one. */
static void print(const setup *s, const char *what, double bytes, double seconds, double uploaded)
{
    char name[600];
    kry_op_info info = { 0 };

    if (s->A) kry_op_describe(s->A, &info);
    snprintf(name, sizeof name, "%s %s", s->in->name, what);
    bench_print(s->b, &(bench_result){ .name = "setup",
                                       .problem = name,
                                       .n = s->in->A.rows,
                                       .nnz = s->in->A.nnz,
                                       .bytes = bytes,
                                       .seconds = seconds,
                                       .ratio = uploaded > 0 ? seconds / uploaded : 0,
                                       .format = s->A ? info.kind : NULL,
                                       .variant = info.variant });
}

/* The operator, and an update. A format may refuse the matrix. */
static kry_status time_format(setup *s, kry_format format, double all, double values)
{
    kry_status st = KRY_OK;
    char what[64];
    double seconds;

    s->params =
        *KRY_MATRIX(.format = format, .values = s->b->form.matrix.values, .traits = s->in->traits);
    st = time_turns(s, create, true, &seconds);
    if (st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_ARGUMENT || st == KRY_ERR_SHAPE) return KRY_OK;
    TRY(st);
    print(s, kry_format_name(format), s->in->bytes, seconds, all);
    TRY(time_turns(s, update, false, &seconds));
    snprintf(what, sizeof what, "%s, update", kry_format_name(format));
    print(s, what, (double)value_bytes(s), seconds, values);
done:
    return st;
}

static kry_status time_source(const bench *b, const source *src)
{
    kry_status st = KRY_OK;
    product_input in = { 0 };
    setup s = { .b = b, .in = &in };
    double all, values;

    TRY(product_input_create(b, src, &in));
    CHECK(in.A.nnz > 0, KRY_ERR_UNSUPPORTED, "%s has no entries to upload", src->name);
    TRY(time_turns(&s, upload_all, true, &all));
    print(&s, "upload", in.bytes, all, 0);
    TRY(time_turns(&s, upload_values, true, &values));
    print(&s, "upload of values", (double)value_bytes(&s), values, 0);
    for (kry_format f = KRY_FORMAT_AUTO; f < KRY_FORMAT_COUNT; f++)
        if (!b->o->format || b->form.matrix.format == f) TRY(time_format(&s, f, all, values));
done:
    clear(&s);
    product_input_release(&in);
    return st;
}

kry_status bench_setup(bench *b)
{
    kry_status st = KRY_OK;
    size_t count;
    const char *const *specs = bench_grids(b, &count);

    CHECK(kry_device_context(b->device), KRY_ERR_UNSUPPORTED,
          "setup is for OpenCL devices, '%s' is none", b->info->name);
    TRY(bench_sources(b, specs, count, time_source));
done:
    return st;
}
