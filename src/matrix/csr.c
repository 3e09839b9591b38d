/* csr.c - compressed sparse rows on the device. Kernels: cl/formats/csr.cl. */
#include "matrix/given.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy offsets to the device: as int if nnz allows, because every product reads them. */
static kry_status upload_offsets(kryi_matrix *A, const int64_t *offset, int64_t count, bool wide,
                                 cl_mem *there)
{
    kry_status st = KRY_OK;
    cl_int *narrow = NULL;
    const size_t bytes = (size_t)count * (wide ? sizeof *offset : sizeof *narrow);

    if (!wide) TRY(kryi_alloc((size_t)count, sizeof *narrow, &narrow));
    for (int64_t i = 0; narrow && i < count; i++) narrow[i] = (cl_int)offset[i];
    TRY(kryi_buffer_upload(A->dev, bytes, wide ? (const void *)offset : narrow, there));
    A->structure_bytes += (double)bytes;
done:
    free(narrow);
    return st;
}

/* CPUs add up long rows four entries at a time. To ask each row how long it is costs short rows 5 % and more, so
 * it is done where most entries are in long rows, or where a row's bits must not depend on what other rows are near. */
static int long_rows(const kryi_matrix *A, const int64_t *row_ptr)
{
    enum { LONG = 8 }; /* entries */
    int64_t entries = 0;

    if (!A->dev->info.cpu_kernels) return 0;
    for (int64_t i = 0; i < A->shape.rows; i++) {
        const int64_t length = row_ptr[i + 1] - row_ptr[i];
        if (length >= LONG) entries += length;
    }
    return A->dev->layout.reproducible || 2 * entries > row_ptr[A->shape.rows] ? LONG : 0;
}

/* *unroll := entries that a work-item of a GPU loads at once: more where they have few bytes, as measured on an H100,
 * if every group of a launch has a run of as many, and local memory for it. wide: offsets of 64 bits */
static kryi_stage *begin_stage(kryi_matrix *A, bool wide, int *unroll)
{
    enum { MORE = 2 * KRY_UNROLL, LOCAL_BYTES = 12 /* of an entry, at most */ };
    const kry_device *dev = A->dev;
    const int64_t run = (int64_t)MORE * kryi_group_size(dev);
    const bool fills = A->nnz >= run * kryi_groups_at_once(dev, dev->shape.per_unit);
    const bool fits = run * LOCAL_BYTES <= (int64_t)dev->info.local_bytes;

    const bool more = !dev->info.cpu_kernels && A->shape.type == KRY_F32 && fills && fits;

    *unroll = more ? MORE : KRY_UNROLL;
    return kryi_matrix_stage(A, "csr", "%s%s", wide ? " -DOFFSET=long" : "",
                             more ? " -DUNROLL=8" : "");
}

/* The arguments behind block, row_ptr and col. cut, partial: NULL if no row is split. */
static kry_status finish_arguments(kryi_matrix *A, kryi_stage *s, int four_sums, cl_mem cut,
                                   cl_mem partial)
{
    kry_status st = KRY_OK;

    kryi_stage_int(s, four_sums);
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    TRY(kryi_stage_buffer(A, s, cut));
    TRY(kryi_stage_buffer(A, s, partial));
done:
    return st;
}

/* wrapped_ptr, wrapped_col: row pointers and columns that are on the device already, or NULL. */
static kry_status build_stages(kryi_matrix *A, const kryi_csr *host, cl_mem wrapped_ptr,
                               cl_mem wrapped_col, bool wide)
{
    kry_status st = KRY_OK;
    kryi_runs r = { 0 };
    cl_mem offsets = NULL, cut = NULL, partial = NULL;
    const int64_t *row_ptr = host->row_ptr;
    int unroll;
    kryi_stage *s = begin_stage(A, wide, &unroll);

    TRY(kryi_runs_create(A->dev, row_ptr, A->shape.rows, unroll, &r));
    s->by_vector = r.splits > 0;
    kryi_stage_int(s, r.count);
    TRY(kryi_stage_array(A, s, r.row, (size_t)r.count + 1, sizeof *r.row));
    if (!wrapped_ptr) TRY(upload_offsets(A, row_ptr, A->shape.rows + 1, wide, &offsets));
    TRY(kryi_stage_buffer(A, s, wrapped_ptr ? wrapped_ptr : offsets));
    if (wrapped_col)
        TRY(kryi_stage_buffer(A, s, wrapped_col));
    else
        TRY(kryi_stage_array(A, s, host->col, (size_t)A->nnz, sizeof *host->col));
    if (r.splits) {
        TRY(upload_offsets(A, r.cut, r.count + 1, wide, &cut));
        TRY(kryi_buffer_create(A->dev, (size_t)r.count * 8, &partial));
    }
    TRY(finish_arguments(A, s, long_rows(A, row_ptr), cut, partial));
    kryi_stage_pieces(A, s, r.count);
    if (r.splits) TRY(kryi_matrix_split_stage(A, r.split, r.splits, partial));
    kryi_print(A->variant, sizeof A->variant, "%lld runs, %.1f rows to a run%s", (long long)r.count,
               r.count ? (double)A->shape.rows / (double)r.count : 0.0,
               r.splits ? ", long rows split" : "");
done:
    kryi_buffer_release(A->dev, &offsets);
    kryi_buffer_release(A->dev, &cut);
    kryi_buffer_release(A->dev, &partial);
    kryi_runs_release(&r);
    return st;
}

kry_status kryi_csr_build(kryi_matrix *A, const kryi_given *given)
{
    return build_stages(A, given->host, NULL, NULL, A->nnz > INT32_MAX);
}

/* The host finds the runs: it looks at few of the offsets. */
kry_status kryi_csr_place(kryi_matrix *A, const kryi_given *G, cl_mem *place)
{
    kry_status st = KRY_OK;

    *place = NULL;
    A->placed = true;
    TRY(build_stages(A, G->host, G->C.row_ptr, G->C.col, false));
    A->structure_bytes += 4.0 * (double)(A->shape.rows + 1) + 4.0 * (double)A->nnz;
done:
    return st;
}

static kry_status run_kernel(const kryi_matrix *A, const kryi_stage *s, const char *name,
                             int64_t items, const kry_arg *args, size_t count)
{
    char defines[KRY_STAGE_DEFINES];

    kryi_stage_defines(A, s, A->stored, defines);
    return kryi_run(A->dev, "csr", A->shape.type, defines, name,
                    kryi_groups_for(A->dev, A->shape.type, items), args, count);
}

/* By rows, not by slots: a wrapped matrix may have entries in any order, or one place twice. */
kry_status kryi_csr_diagonal(kryi_matrix *A, kry_vec *d)
{
    const kryi_stage *s = &A->stage[0];
    const kry_arg args[] = { ARG(A->shape.rows), ARG(s->value[KRY_CSR_ROW_PTR].buffer),
                             ARG(s->value[KRY_CSR_COL].buffer), ARG(A->val), ARG_VEC(d) };

    return run_kernel(A, s, "csr_diagonal", A->shape.rows, args, COUNT(args));
}

static kry_status check_size(kry_device *dev, const char *what, cl_mem buffer, int64_t count,
                             size_t size)
{
    kry_status st = KRY_OK;
    size_t bytes = 0;

    TRY(kryi_buffer_size("kry_csr_wrap", dev, buffer, &bytes));
    CHECK((uint64_t)count <= bytes / size, KRY_ERR_SHAPE,
          "kry_csr_wrap: %s holds %zu bytes, %lld numbers of %zu are needed", what, bytes,
          (long long)count, size);
done:
    return st;
}

/* Read the caller's pattern and check it as kry_csr_create does. */
static kry_status read_pattern(kryi_matrix *A, cl_mem ptr, cl_mem columns, bool wide)
{
    kry_status st = KRY_OK;
    kryi_csr *S = &A->sorted;
    size_t count = (size_t)S->rows + 1;

    TRY(kryi_alloc(count, sizeof *S->row_ptr, &S->row_ptr));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *S->col, &S->col));
    if (wide)
        TRY(kryi_buffer_read(A->dev, ptr, 0, count * sizeof *S->row_ptr, S->row_ptr));
    else
        TRY(kryi_device_csr_read_offsets(
            &(kryi_device_csr){ .dev = A->dev, .rows = S->rows, .row_ptr = ptr }, S->row_ptr));
    TRY(kryi_buffer_read(A->dev, columns, 0, (size_t)A->nnz * sizeof *S->col, S->col));
    CHECK(kryi_csr_nnz(S) == A->nnz, KRY_ERR_ARGUMENT,
          "kry_csr_wrap: row_ptr ends at %lld, but nnz = %lld", (long long)kryi_csr_nnz(S),
          (long long)A->nnz);
    TRY(kryi_entries_check(&(kryi_entries){ "kry_csr_wrap", *S, NULL, A->nnz }));
done:
    return st;
}

/* ---- a matrix of buffers of the library ---------------------------------------------------------- */

static kry_status find_longest(const kryi_matrix *A, const kryi_stage *s, cl_mem row_ptr,
                               cl_int *longest)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->shape.rows;
    cl_mem found = NULL;

    *longest = 0;
    TRY(kryi_buffer_upload(A->dev, sizeof *longest, longest, &found));
    const kry_arg args[] = { ARG(rows), ARG(row_ptr), ARG(found) };
    TRY(run_kernel(A, s, "csr_longest", rows, args, COUNT(args)));
    TRY(kryi_buffer_read(A->dev, found, 0, sizeof *longest, longest));
done:
    kryi_buffer_release(A->dev, &found);
    return st;
}

/* GPUs find the runs themselves where every row fits in one: for that they are not filled to the last entry.
 * *built: whether it is so. */
static kry_status build_on_device(kryi_matrix *A, const kryi_device_csr *C, bool *built)
{
    kry_status st = KRY_OK;
    int unroll;
    kryi_stage *s = begin_stage(A, false, &unroll);
    const cl_int tile = unroll * kryi_group_size(A->dev), rows = (cl_int)C->rows;
    cl_int longest;
    cl_mem first = NULL;

    TRY(find_longest(A, s, C->row_ptr, &longest));
    *built = longest <= tile / 2;
    A->longest = longest;
    if (!*built) {
        A->stages = 0;
        goto done;
    }
    const cl_int share = tile - longest, runs = (cl_int)((C->nnz + C->rows / 8) / share + 1);
    TRY(kryi_buffer_create(A->dev, ((size_t)runs + 1) * sizeof(cl_int), &first));
    const kry_arg args[] = { ARG(runs), ARG(rows), ARG(share), ARG(C->row_ptr), ARG(first) };
    TRY(run_kernel(A, s, "csr_runs", runs + 1, args, COUNT(args)));
    kryi_stage_int(s, runs);
    TRY(kryi_stage_buffer(A, s, first));
    TRY(kryi_stage_buffer(A, s, C->row_ptr));
    TRY(kryi_stage_buffer(A, s, C->col));
    TRY(finish_arguments(A, s, 0, NULL, NULL));
    kryi_stage_pieces(A, s, runs);
    A->structure_bytes += 4.0 * (double)(runs + 1);
    kryi_print(A->variant, sizeof A->variant, "%d runs, %.1f rows to a run", runs,
               (double)rows / (double)runs);
done:
    kryi_buffer_release(A->dev, &first);
    return st;
}

static kry_status build_by_host(kryi_matrix *A, const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    kryi_csr *S = &A->sorted;

    TRY(kryi_alloc((size_t)C->rows + 1, sizeof *S->row_ptr, &S->row_ptr));
    TRY(kryi_device_csr_read_offsets(C, S->row_ptr));
    TRY(build_stages(A, S, C->row_ptr, C->col, false));
done:
    return st;
}

kry_status kryi_device_csr_operator(const kryi_device_csr *C, unsigned traits, kryi_source **source,
                                    kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_matrix_params *p = KRY_MATRIX(.traits = traits, .format = KRY_FORMAT_CSR);
    kryi_matrix *A = NULL;
    bool built = false;

    TRY(kryi_matrix_new(C->dev, p, &(kryi_csr){ .rows = C->rows, .cols = C->cols, .type = C->type },
                        C->nnz, &A));
    if (!C->dev->info.cpu_kernels) TRY(build_on_device(A, C, &built));
    if (!built) TRY(build_by_host(A, C));
    A->structure_bytes += 4.0 * (double)(C->rows + 1) + 4.0 * (double)C->nnz;
    TRY(kryi_buffer_retain(C->dev, C->val));
    A->val = C->val;
    TRY(kryi_matrix_finish(&A, op));
    if (source) kryi_matrix_of(*op)->source = *source, *source = NULL;
done:
    kryi_matrix_destroy(A);
    return st;
}

static kryi_source caller; /* of what is wrapped */

kry_status kry_csr_wrap(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                        bool wide, cl_mem row_ptr, cl_mem col, cl_mem val,
                        const kry_matrix_params *params, kry_op **op)
{
    static const char who[] = "kry_csr_wrap";
    kry_status st = KRY_OK;
    kryi_matrix *A = NULL;
    kry_matrix_params kept;

    if (op) *op = NULL;
    TRY(GIVEN(op));
    TAKE_PARAMS(params, kept, who, "KRY_MATRIX");
    TRY(kryi_matrix_check_params(who, dev, type, rows, cols, params));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED,
          "%s: one buffer cannot lie on several devices: give the entries to kry_csr_create", who);
    CHECK(row_ptr && col && val && nnz >= 0, KRY_ERR_ARGUMENT, "%s: NULL, or nnz = %lld", who,
          (long long)nnz);
    CHECK(!params->on_host, KRY_ERR_UNSUPPORTED,
          "%s: what is wrapped is on the device, not on the host", who);
    CHECK(params->storage == KRY_GENERAL, KRY_ERR_UNSUPPORTED,
          "%s: a wrapped matrix holds all its entries; symmetric storage cannot be wrapped", who);
    TRY(check_size(dev, "row_ptr", row_ptr, rows + 1, wide ? 8 : 4));
    TRY(check_size(dev, "col", col, nnz, 4));
    TRY(check_size(dev, "val", val, nnz, kry_type_size(type)));
    CHECK(params->format == KRY_FORMAT_AUTO || params->format == KRY_FORMAT_CSR,
          KRY_ERR_UNSUPPORTED, "%s: a wrapped matrix stays csr, it cannot be %s", who,
          kry_format_name(params->format));
    kept.format = KRY_FORMAT_CSR;
    TRY(kryi_matrix_new(dev, &kept, &(kryi_csr){ .rows = rows, .cols = cols, .type = type }, nnz,
                        &A));
    A->source = &caller;
    TRY(read_pattern(A, row_ptr, col, wide));
    TRY(build_stages(A, &A->sorted, row_ptr, col, wide));
    A->structure_bytes += (double)(rows + 1) * (wide ? 8 : 4) + 4.0 * (double)nnz;
    TRY(kryi_buffer_retain(dev, val));
    A->val = val;
    TRY(kryi_matrix_finish(&A, op));
    assert(op && *op);
    (*op)->found.what = KRY_FOUND_UNSEEN;
    if (kryi_matrix_of(*op)->params.form == KRY_FLUX)
        TRY(kryi_flux_sums_of_wrapped(who, kryi_matrix_of(*op)));
done:
    if (st < 0) kry_op_release(op);
    kryi_matrix_destroy(A);
    return st;
}
