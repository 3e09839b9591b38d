/* counted.c - what the choice of a format asks of a matrix: which diagonals have entries, and how long rows are. On the
 * device, and diagonals on the host, too. Kernels: cl/formats/given.cl, cl/formats/place.cl. */
#include "device/launch.h"
#include "matrix/given.h"
#include <stdlib.h>
#include <string.h>

/* Kernels of integers alone are compiled once, for whatever type. */
kry_status kryi_place_run(kry_device *dev, const char *name, int64_t items, const kry_arg *args,
                          size_t count)
{
    return kryi_run(dev, "place", KRY_F32, "", name, kryi_groups_to_cover(dev, items), args, count);
}

kry_status kryi_place_zeros(kry_device *dev, size_t ints, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    const int64_t count = (int64_t)ints;

    TRY(kryi_buffer_create(dev, ints * sizeof(cl_int), buffer));
    const kry_arg args[] = { ARG(count), ARG(*buffer) };
    TRY(kryi_place_run(dev, "place_zero", count, args, COUNT(args)));
done:
    return st;
}

int64_t kryi_groups_to_cover(const kry_device *dev, int64_t items)
{
    const int size = kryi_group_size(dev);
    return kryi_groups_at_most(dev, items > 0 ? (items + size - 1) / size : 1);
}

cl_int kryi_given_lanes(const kryi_device_csr *C)
{
    enum { MOST = 32 };
    cl_int lanes = 1;
    while (lanes < MOST && 2 * lanes * C->rows <= C->nnz) lanes *= 2;
    return lanes;
}

/* Integer kernels are compiled with those of the numbers. */
static kry_status run(const kryi_device_csr *C, const char *name, int64_t items,
                      const kry_arg *args, size_t count)
{
    return kryi_run(C->dev, "given", C->type, "", name, kryi_groups_to_cover(C->dev, items), args,
                    count);
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

kry_status kryi_given_diagonals(const kryi_device_csr *C, int64_t most, int32_t **offset,
                                int64_t *count)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, lanes = kryi_given_lanes(C), room = (cl_int)most;
    const cl_int all = (cl_int)(C->rows + C->cols);
    cl_mem seen = NULL, found = NULL;
    int32_t *list = NULL;

    *offset = NULL, *count = most + 1;
    if (C->rows + C->cols > INT32_MAX) return KRY_OK;
    TRY(kryi_place_zeros(C->dev, ((size_t)all + 31) / 32, &seen));
    TRY(kryi_place_zeros(C->dev, (size_t)most + 1, &found));
    TRY(kryi_alloc((size_t)most + 1, sizeof *list, &list));
    const kry_arg look[] = { ARG(rows), ARG(lanes), ARG(C->row_ptr), ARG(C->col), ARG(seen) };
    TRY(run(C, "given_diagonals", C->rows * lanes, look, COUNT(look)));
    const kry_arg gather[] = { ARG(rows), ARG(all), ARG(room), ARG(seen), ARG(found) };
    TRY(run(C, "given_list", all / 32 + 1, gather, COUNT(gather)));
    TRY(kryi_buffer_read(C->dev, found, 0, ((size_t)most + 1) * sizeof *list, list));
    *count = list[0];
    if (*count > most) goto done;
    memmove(list, list + 1, (size_t)*count * sizeof *list);
    qsort(list, (size_t)*count, sizeof *list, ascending);
    *offset = list, list = NULL;
done:
    free(list);
    kryi_buffer_release(C->dev, &found);
    kryi_buffer_release(C->dev, &seen);
    return st;
}

kry_status kryi_given_lengths(const kryi_device_csr *C, int64_t longest, cl_int *with)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, last = (cl_int)longest;
    cl_mem counts = NULL;

    TRY(kryi_place_zeros(C->dev, (size_t)longest + 1, &counts));
    const kry_arg args[] = { ARG(rows), ARG(C->row_ptr), ARG(last), ARG(counts) };
    TRY(kryi_run(C->dev, "given", C->type, "", "given_lengths",
                 kryi_groups_for_sums(C->dev, C->type, C->rows), args, COUNT(args)));
    TRY(kryi_buffer_read(C->dev, counts, 0, ((size_t)longest + 1) * sizeof *with, with));
done:
    kryi_buffer_release(C->dev, &counts);
    return st;
}

/* ---- diagonals on the host, on several threads ------------------------------------------------- */

kry_status kryi_diagonals_begin(const kryi_csr *A, int64_t most, int parts, kryi_diagonals *D)
{
    *D = (kryi_diagonals){ .A = A, .most = most, .words = (A->rows + A->cols) / 64 + 1 };
    return kryi_alloc((size_t)(parts * D->words), sizeof *D->seen, &D->seen);
}

void kryi_diagonals_look(void *diagonals, int part, int64_t begin, int64_t end)
{
    kryi_diagonals *D = diagonals;
    const kryi_csr *A = D->A;
    uint64_t *seen = D->seen + part * D->words;
    int64_t count = D->count[part];

    for (int64_t i = begin; i < end && count <= D->most; i++) {
        const int64_t first = A->row_ptr[i], length = kryi_row_length(A, i);
        bool differs = i == begin || kryi_row_length(A, i - 1) != length;

        /* A row that is the one before, a column further, has the same diagonals. */
        for (int64_t k = first; !differs && k < first + length; k++)
            differs = A->col[k] != A->col[k - length] + 1;
        if (!differs) continue;
        for (int64_t k = first; k < first + length; k++) {
            const int64_t d = A->col[k] - i + A->rows;
            const uint64_t bit = UINT64_C(1) << (d & 63);
            if (seen[d >> 6] & bit) continue;
            seen[d >> 6] |= bit;
            count++;
        }
    }
    D->count[part] = count;
}

kry_status kryi_diagonals_end(kryi_diagonals *D, int parts, int32_t **offset, int64_t *count)
{
    kry_status st = KRY_OK;
    int64_t room = 0, found = 0;

    *offset = NULL, *count = D->most + 1;
    for (int p = 0; p < parts; p++) {
        if (D->count[p] > D->most) goto done;
        room += D->count[p];
    }
    if (room) TRY(kryi_alloc((size_t)room, sizeof **offset, offset));
    for (int64_t w = 0; w < D->words; w++) {
        for (int p = 1; p < parts; p++) D->seen[w] |= D->seen[p * D->words + w];
        for (int b = 0; D->seen[w] && b < 64; b++)
            if (D->seen[w] >> b & 1) (*offset)[found++] = (int32_t)(w * 64 + b - D->A->rows);
    }
    *count = found;
    if (found > D->most) free(*offset), *offset = NULL;
done:
    free(D->seen);
    return st;
}

kry_status kryi_diagonals_find(const kryi_csr *A, int64_t most, int32_t **offset, int64_t *count)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    kryi_diagonals D;

    *offset = NULL;
    TRY(kryi_diagonals_begin(A, most, parts, &D));
    kryi_parallel(parts, A->rows, kryi_diagonals_look, &D);
    TRY(kryi_diagonals_end(&D, parts, offset, count));
done:
    return st;
}
