/* placed.c - stored matrices that the device makes of the entries it was given, and new numbers for them. The host keeps
 * neither their slots nor their pattern. Kernels: cl/formats/numbers.cl, cl/formats/place.cl. */
#include "device/launch.h"
#include "device/pool.h"
#include "matrix/given.h"
#include <limits.h>

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct numbers {
    const kryi_device_csr *C; /* the entries in order, with their numbers */
    cl_mem place;             /* NULL: that is where they stay */
    kry_type stored;
} numbers;

static kry_status run(const numbers *n, const char *name, int64_t items, const kry_arg *args,
                      size_t count)
{
    kry_device *dev = n->C->dev;
    return kryi_run(dev, "numbers", n->C->type, n->stored == n->C->type ? "" : "-DSTORED=float",
                    name, kryi_groups_to_cover(dev, items), args, count);
}

/* Entries that share a slot have to be the same. */
static kry_status check_shared(const kryi_matrix *A, const char *who, const numbers *n, cl_mem val)
{
    kry_status st = KRY_OK;
    cl_int first = INT_MAX;
    cl_mem found = NULL;

    TRY(kryi_buffer_upload(A->dev, sizeof first, &first, &found));
    const kry_arg args[] = { ARG(A->nnz), ARG(n->place), ARG(n->C->val), ARG(val), ARG(found) };
    TRY(run(n, "numbers_compare", A->nnz, args, COUNT(args)));
    TRY(kryi_buffer_read(A->dev, found, 0, sizeof first, &first));
    if (first < INT_MAX) TRY(kryi_matrix_refuse_mirror(A, who, first));
done:
    kryi_buffer_release(A->dev, &found);
    return st;
}

static kry_status put_in_slots(const kryi_matrix *A, const numbers *n, cl_mem val)
{
    const cl_int shared = A->format->shared, alone = (cl_int)kryi_ell_stride(A->shape.rows);
    const kry_arg args[] = { ARG(A->nnz), ARG(n->place),  ARG(shared),
                             ARG(alone),  ARG(n->C->val), ARG(val) };
    return run(n, "numbers_place", A->nnz, args, COUNT(args));
}

/* *val := new slots, with 0 where there is no entry. */
static kry_status to_slots(const kryi_matrix *A, const numbers *n, cl_mem *val)
{
    kry_status st = KRY_OK;

    TRY(kryi_buffer_create(A->dev, (uint64_t)A->slots * kry_type_size(n->stored), val));
    const kry_arg zero[] = { ARG(A->slots), ARG(*val) };
    TRY(run(n, "numbers_zero", A->slots, zero, COUNT(zero)));
    TRY(put_in_slots(A, n, *val));
done:
    return st;
}

/* val := in order, rounded. */
static kry_status round_all(const numbers *n, cl_mem val)
{
    kryi_device_csr narrow = { .dev = n->C->dev, .nnz = n->C->nnz, .type = n->stored, .val = val };
    return kryi_device_csr_gather(&narrow, NULL, n->C->type, n->C->val);
}

/* *val := a new buffer with them, or the one that they are in. */
static kry_status keep(const kryi_matrix *A, const numbers *n, cl_mem *val)
{
    kry_status st = KRY_OK;

    if (n->place) return to_slots(A, n, val);
    if (n->stored == n->C->type) {
        *val = n->C->val;
        return kryi_buffer_retain(A->dev, n->C->val);
    }
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->nnz * kry_type_size(n->stored), val));
    TRY(round_all(n, *val));
done:
    return st;
}

/* G: with what was seen of its numbers; given: the same on the host, for messages. On failure the old ones stay. */
static kry_status store(kryi_matrix *A, const char *who, const kryi_given *G, cl_mem place,
                        const void *given)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    const numbers n = { &G->C, place, kryi_stored_type(type, A->params.values, &G->seen) };
    const bool equal = !A->format->shared || G->seen.symmetric;
    cl_mem val = NULL;

    if (n.stored != type && G->seen.faults & KRY_SEEN_UNFIT)
        TRY(kryi_values_fit_single(who, A->nnz, given));
    if (A->val && n.stored == A->stored && equal) { /* nothing can be said against them any more */
        if (place) return put_in_slots(A, &n, A->val);
        if (n.stored != type) return round_all(&n, A->val);
        return kryi_buffer_copy(A->dev, G->C.val, 0, A->val, 0,
                                (size_t)A->nnz * kry_type_size(type));
    }
    TRY(keep(A, &n, &val));
    if (!equal) TRY(check_shared(A, who, &n, val));
    TRY(kryi_matrix_replace(A, n.stored, val));
done:
    kryi_buffer_release(A->dev, &val);
    return st;
}

/* ---- the operator ----------------------------------------------------------------------------- */

kry_status kryi_placed_build(kryi_matrix *A, const kryi_given *G)
{
    kry_status st = KRY_OK;
    cl_mem place = NULL;

    if (!A->format->place) return KRY_OK;
    TRY(A->format->place(A, G, &place));
    if (!A->placed) goto done;
    A->longest = G->longest;
    TRY(store(A, G->who, G, place, G->host->val));
done:
    kryi_buffer_release(A->dev, &place);
    return st;
}

/* The pattern is read back while the numbers are on their way. Buffers are those of the last time. */
kry_status kryi_placed_update(kryi_matrix *A, const void *values)
{
    static const char who[] = "kry_op_update";
    const kry_type type = A->shape.type;
    kryi_given G = { 0 };
    kry_status st = kryi_pool_open(A->dev);

    if (st < 0) return st;
    TRY(kryi_device_csr_pattern_of(A, &G.C));
    TRY(kryi_buffer_upload(A->dev, (size_t)A->nnz * kry_type_size(type), values, &G.C.val));
    TRY(kryi_given_look_again(&G));
    if (G.seen.faults & KRY_SEEN_NOT_FINITE)
        TRY(kryi_values_check(who, type, A->nnz, values)); /* which says where */
    st = store(A, who, &G, G.C.place, values);
    if (st < 0) {
        st = kryi_matrix_change_format(A, who, values, st);
        goto done;
    }
    A->op->found = G.finding;
done:
    kryi_given_release(&G);
    kryi_pool_close(A->dev);
    return st;
}

kry_status kryi_placed_diagonal(kryi_matrix *A, int64_t first)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->shape.rows, from = (cl_int)first;
    kryi_device_csr C = { 0 };
    cl_mem slot = NULL;

    TRY(kryi_device_csr_pattern_of(A, &C));
    TRY(kryi_buffer_create(A->dev, (uint64_t)rows * sizeof(cl_int), &slot));
    const kry_arg args[] = { ARG(rows),  ARG(from),    ARG(C.row_ptr),
                             ARG(C.col), ARG(C.place), ARG(slot) };
    TRY(kryi_place_run(A->dev, "place_own", rows, args, COUNT(args)));
    A->diagonal = slot, slot = NULL;
done:
    kryi_buffer_release(A->dev, &slot);
    kryi_device_csr_release(&C);
    return st;
}
