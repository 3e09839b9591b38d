/* vec_parts.c - vectors on a team of devices, a vector for each part; numbers to and from the host. */
#include "vector/vec.h"
#include <stdlib.h>

int kry_vec_parts(const kry_vec *v) { return v && v->split ? v->split->members : 1; }

int64_t kry_vec_rows_here(const kry_vec *v, int64_t *first)
{
    const kryi_split *s = v ? v->split : NULL;

    if (first) *first = s ? s->first[s->begin] : 0;
    return s ? s->first[s->end] - s->first[s->begin] : kry_vec_rows(v);
}

int64_t kry_vec_row(const kry_vec *v, int64_t i)
{
    int64_t first;

    if (i < 0 || i >= kry_vec_rows_here(v, &first)) return -1;
    return v->split && kry_team_is_ranks(v->dev) ? kryi_split_row(v->split, first + i) : i;
}

kry_vec kryi_vec_on_part(const kry_vec *v, int rank)
{
    kry_vec c = kryi_vec_borrow(v->part[rank]);
    c.first += v->first * c.ld;
    c.k = v->k;
    c.piece_of = v->split, c.piece = rank;
    return c;
}

kry_status kry_vec_part(const kry_vec *v, int i, int64_t *first, kry_vec **part)
{
    kry_status st = KRY_OK;

    if (part) *part = NULL;
    TRY(GIVEN(part));
    CHECK(v && i >= 0 && i < kry_vec_parts(v), KRY_ERR_ARGUMENT, "kry_vec_part: part %d of %d", i,
          v ? kry_vec_parts(v) : 0);
    CHECK(!v->split || (i >= v->split->begin && i < v->split->end), KRY_ERR_ARGUMENT,
          "kry_vec_part: part %d is on another rank than %d", i, kry_team_rank(v->dev));
    if (first) *first = v->split ? v->split->first[i] : 0;
    kry_vec c = v->split ? kryi_vec_on_part(v, i) : kryi_vec_borrow(v);
    TRY(kry_vec_wrap_block(c.dev, c.type, c.n, c.k, c.ld, c.buffer, c.first, part));
done:
    return st;
}

kry_status kryi_vec_allocate_parts(kry_vec *v)
{
    kry_status st = KRY_OK;
    struct kryi_team *team = v->dev->team;

    TRY(kryi_split_get(team, "kry_vec_create", v->n, NULL, 1, &v->split));
    TRY(kryi_alloc((size_t)v->split->members, sizeof *v->part, &v->part));
    for (int r = v->split->begin; r < v->split->end; r++)
        TRY(kry_vec_create(team->part[r], v->type, kryi_split_rows(v->split, r), v->k,
                           &v->part[r]));
done:
    return st;
}

kry_status kryi_vec_share_parts(const kry_vec *block, kry_vec *v)
{
    kry_status st = KRY_OK;
    int members = block->split->members;

    v->split = kryi_split_retain(block->split);
    TRY(kryi_alloc((size_t)members, sizeof *v->part, &v->part));
    for (int r = v->split->begin; r < v->split->end; r++)
        v->part[r] = kry_vec_retain(block->part[r]);
done:
    return st;
}

void kryi_vec_release_parts(kry_vec *v)
{
    for (int r = v->split->begin; v->part && r < v->split->end; r++) kry_vec_release(&v->part[r]);
    free(v->part);
    kryi_split_release(&v->split);
}

/* On ranks the host has the rows of this one, as the device has. */
static kry_status move_own(const kry_vec *v, void *host, bool to_device)
{
    kry_vec p = kryi_vec_on_part(v, v->split->begin);
    return to_device ? kry_vec_write(&p, host) : kry_vec_read(&p, host);
}

static kry_status move_parts(const kry_vec *v, void *host, bool to_device)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(v->type);
    char *block = NULL; /* the numbers of a part, in the order of its rows */

    TRY(kryi_alloc((uint64_t)(v->n * v->k), size, &block));
    for (int r = 0; r < v->split->members; r++) {
        kry_vec p = kryi_vec_on_part(v, r);
        if (!to_device) TRY(kry_vec_read(&p, block));
        for (int64_t j = 0; j < v->k; j++)
            kryi_split_copy(v->split, r, size, (char *)host + (size_t)(j * v->n) * size,
                            block + (size_t)(j * p.n) * size, to_device);
        if (to_device) TRY(kry_vec_write(&p, block));
    }
done:
    free(block);
    return st;
}

/* At once, or column by column. Waits. */
static kry_status transfer(const kry_vec *v, char *host, bool to_device)
{
    kry_status st = KRY_OK;
    const bool packed = kryi_vec_is_packed(v);
    const size_t size = kry_type_size(v->type);
    const size_t bytes = (size_t)(packed ? v->n * v->k : v->n) * size;

    for (int64_t j = 0; bytes && j < (packed ? 1 : v->k); j++) {
        size_t at = (size_t)(v->first + j * v->ld) * size, step = (size_t)j * bytes;
        if (to_device)
            TRY(kryi_buffer_write(v->dev, v->buffer, at, bytes, host + step));
        else
            TRY(kryi_buffer_read(v->dev, v->buffer, at, bytes, host + step));
    }
done:
    return st;
}

static kry_status move(const char *who, const kry_vec *v, void *host, bool to_device)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_vec_device(v);

    kryi_team_enter(dev, who, v ? v->split : NULL);
    CHECK(v && (host || kry_vec_rows_here(v, NULL) == 0), KRY_ERR_ARGUMENT, "%s: NULL", who);
    if (!v->split)
        TRY(transfer(v, host, to_device));
    else
        TRY((kry_team_is_ranks(dev) ? move_own : move_parts)(v, host, to_device));
done:
    return kryi_team_leave(dev, st);
}

kry_status kry_vec_write(kry_vec *v, const void *host)
{
    return move("kry_vec_write", v, (void *)host, true);
}

kry_status kry_vec_read(const kry_vec *v, void *host)
{
    return move("kry_vec_read", v, host, false);
}

kry_status kryi_vec_read_doubles(const kry_vec *v, double *numbers)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    const int64_t count = kry_vec_rows_here(v, NULL) * v->k;

    if (v->type == KRY_F64 && !v->split) return kry_vec_read(v, numbers);
    TRY(kryi_alloc((size_t)count, kry_type_size(v->type), &host));
    TRY(kry_vec_read(v, host));
    for (int64_t i = 0; i < count; i++) numbers[i] = kryi_number_at(v->type, host, i);
done:
    free(host);
    return st;
}

kry_status kryi_vec_write_doubles(kry_vec *v, const double *numbers)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    const int64_t count = kry_vec_rows_here(v, NULL) * v->k;

    if (v->type == KRY_F64) return kry_vec_write(v, numbers);
    TRY(kryi_alloc((size_t)count, kry_type_size(v->type), &host));
    for (int64_t i = 0; i < count; i++) kryi_number_put(v->type, host, i, numbers[i]);
    TRY(kry_vec_write(v, host));
done:
    free(host);
    return st;
}

/* Fill v with the numbers of the stream by a kernel, on one OpenCL device. */
static kry_status fill_random_there(uint64_t stream, kry_vec *v)
{
    const cl_ulong key = kryi_random_key(1, stream);
    const kry_arg args[] = { ARG(v->n), ARG(key), ARG_VEC(v) };

    return kryi_run(v->dev, "vec", v->type, kryi_vec_alignment((const kry_vec *[]){ v }, 1),
                    "vec_random", kryi_groups_for(v->dev, v->type, v->n), args, COUNT(args));
}

kry_status kryi_vec_fill_random(uint64_t stream, kry_vec *v)
{
    kry_status st = KRY_OK;
    double *numbers = NULL;
    int64_t first, all;

    if (v->dev->queue && !v->split && kryi_layout_size(v->layout) == 1)
        return fill_random_there(stream, v);
    TRY(kryi_layout_rows(v->layout, v->n, &first, &all));
    TRY(kryi_alloc((size_t)v->n, sizeof *numbers, &numbers));
    for (int64_t i = 0; i < v->n; i++)
        numbers[i] = kry_random_unit(1, stream, (uint64_t)(first + i)) - 0.5;
    TRY(kryi_vec_write_doubles(v, numbers));
done:
    free(numbers);
    return st;
}
