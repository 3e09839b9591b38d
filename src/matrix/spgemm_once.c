/*
 * spgemm_once.c - products of matrices in compressed rows on GPUs, whose numbers are made together with the pattern: each row
 * once, to any free place of a room that is as large as a sample of the rows says, and from there to its own place.
 * Kernels: cl/formats/spgemm_rows.cl.
 */
#include "matrix/spgemm_parts.h"
#include <math.h>

/* Where rows go before their places are known. */
typedef struct room {
    cl_int places;
    cl_mem col, val;      /* `places` entries */
    cl_mem start, length; /* of rows */
    cl_mem state;         /* two int, of spgemm_row_once */
    cl_int found[2];      /* what they were at last */
    kry_rows_shape shape;
    bool longer; /* there are rows for which the tables were too small at first */
} room;

static void release_entries(kry_device *dev, room *r)
{
    kry_buffer_release(dev, &r->val);
    kry_buffer_release(dev, &r->col);
}

static void release(kry_device *dev, room *r)
{
    release_entries(dev, r);
    kry_buffer_release(dev, &r->state);
    kry_buffer_release(dev, &r->length);
    kry_buffer_release(dev, &r->start);
}

/* The state from its i-th int on. */
static kry_status reset(kry_device *dev, const room *r, int i)
{
    static const cl_int none[2] = { 0, 0 };
    return kry_buffer_write_later(dev, r->state, (size_t)i * sizeof *none,
                                  sizeof none - (size_t)i * sizeof *none, none);
}

static kry_status look(kry_device *dev, room *r)
{
    return kry_buffer_read(dev, r->state, 0, sizeof r->found, r->found);
}

/* *entries: about how many a row of C has. */
static kry_status sample(const kry_csr_factors *p, room *r, double *entries)
{
    enum { MOST = 4096 };
    kry_status st = KRY_OK;
    const cl_int samples = p->rows < MOST ? p->rows : MOST;
    const kry_rows_shape shape = kry_rows_shape_for(p->dev, kry_mean_row(p->A->nnz, p->A->rows) / 2,
                                                    kry_mean_products(p->A, p->B) / 2);
    const kry_arg more[] = { ARG(p->rows), ARG(r->state) };

    TRY(reset(p->dev, r, 0));
    TRY(kry_rows_run(p, p->A->type, shape, "spgemm_row_sample", samples, more, COUNT(more)));
    TRY(look(p->dev, r));
    *entries = (double)r->found[0] / (double)samples;
done:
    return st;
}

/* How many places a group takes at a time: so many that few are left over, and that it asks seldom. 1: what it needs. */
static cl_int share_of(const kry_csr_factors *p, kry_rows_shape shape, double entries)
{
    enum { SOME = 16, PARTS = 8, MOST = 32 };
    const int teams = kry_rows_teams(p->dev, shape);
    const int64_t rounds = p->rows / teams / kry_rows_groups(p->dev, shape, p->rows);
    const int64_t at_once = rounds / PARTS < MOST ? rounds / PARTS : MOST;

    return rounds < SOME ? 1 : (cl_int)((double)(at_once * teams) * entries);
}

/* again: the rows that did not fit before. */
static kry_status make_rows(const kry_csr_factors *p, kry_type type, const room *r,
                            kry_rows_shape shape, cl_int share, bool lower, bool again)
{
    const cl_int only = again, half = lower;
    const kry_arg sums = kry_rows_table(shape, kry_type_size(type));
    const kry_arg lists = kry_rows_table(shape, sizeof(cl_ushort));
    const kry_arg more[] = { sums,           lists,          ARG(only),      ARG(half),
                             ARG(p->A->val), ARG(p->B->val), ARG(share),     ARG(r->places),
                             ARG(r->state),  ARG(r->start),  ARG(r->length), ARG(r->col),
                             ARG(r->val) };
    return kry_rows_run(p, type, shape, "spgemm_row_once", p->rows, more, COUNT(more));
}

/* All rows into the room. *fits false: there are longer ones than the largest table has room for. */
static kry_status fill(const kry_csr_factors *p, kry_type type, room *r, double entries, bool lower,
                       bool *fits)
{
    kry_status st = KRY_OK;
    const kry_rows_shape large = kry_rows_shape_of_long(p->dev);

    r->shape = kry_rows_shape_for(p->dev, kry_mean_row(p->B->nnz, p->B->rows), entries);
    TRY(reset(p->dev, r, 0));
    TRY(make_rows(p, type, r, r->shape, share_of(p, r->shape, entries), lower, false));
    TRY(look(p->dev, r));
    r->longer = r->found[1] > 0;
    if (r->longer) {
        TRY(reset(p->dev, r, 1));
        TRY(make_rows(p, type, r, large, 1, lower, true));
        TRY(look(p->dev, r));
    }
    *fits = r->found[1] == 0;
done:
    return st;
}

static kry_status make_room(kry_device *dev, kry_type type, double places, room *r)
{
    kry_status st = KRY_OK;

    release_entries(dev, r);
    r->places = (cl_int)places;
    TRY(kry_buffer_create(dev, (size_t)r->places * sizeof(cl_int), &r->col));
    TRY(kry_buffer_create(dev, (size_t)r->places * kry_type_size(type), &r->val));
done:
    return st;
}

static kry_status create(const kry_csr_factors *p, room *r)
{
    kry_status st = KRY_OK;

    *r = (room){ 0 };
    TRY(kry_buffer_create(p->dev, (size_t)p->rows * sizeof(cl_int), &r->start));
    TRY(kry_buffer_create(p->dev, (size_t)p->rows * sizeof(cl_int), &r->length));
    TRY(kry_buffer_create(p->dev, sizeof r->found, &r->state));
done:
    return st;
}

/* The rows with more entries than `above` that a group's lists have room for. */
static kry_status settle_rows(const kry_csr_factors *p, const room *r, kry_rows_shape shape,
                              cl_int above, const kry_csr *C)
{
    const kry_arg args[] = {
        ARG(p->rows),    ARG(shape.lanes), ARG(shape.slots), kry_rows_table(shape, sizeof(cl_int)),
        ARG(above),      ARG(r->start),    ARG(r->col),      ARG(r->val),
        ARG(C->row_ptr), ARG(C->col),      ARG(C->val)
    };
    return kry_rows_launch(p->dev, C->type, shape, "spgemm_row_settle", p->rows, args, COUNT(args));
}

/* C := the rows of the room. */
static kry_status settle(const kry_csr_factors *p, const room *r, kry_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int few = kry_rows_few(p->dev, r->shape);

    TRY(kry_csr_make_rows("a product of matrices", r->length, C));
    TRY(settle_rows(p, r, r->shape, 0, C));
    if (r->longer) TRY(settle_rows(p, r, kry_rows_shape_of_long(p->dev), few, C));
done:
    return st;
}

/* How many places a room may have: an eighth of the device's memory. */
static double most_places(const kry_device *dev, kry_type type)
{
    const double size = (double)kry_type_size(type), bytes = (double)dev->info.global_bytes / 8;
    const double most =
        fmin(bytes / (size + sizeof(cl_int)), (double)dev->info.max_alloc_bytes / size);
    return fmin(most, INT32_MAX);
}

/* As many places as the sample asks for, and if they do not suffice as many as it took. *fits false: there are rows that are
 * too long. */
static kry_status fill_room(const kry_csr_factors *p, kry_type type, room *r, bool lower,
                            bool *fits)
{
    const double more = 1.25, most = most_places(p->dev, type);
    kry_status st = KRY_OK;
    double entries, places;

    *fits = false;
    TRY(sample(p, r, &entries));
    places = more * entries * (double)p->rows + KRY_ROWS_MOST_SLOTS;
    for (int tries = 0; tries < 2 && places <= most; tries++) {
        TRY(make_room(p->dev, type, places, r));
        TRY(fill(p, type, r, entries, lower, fits));
        if (!*fits || (r->found[0] >= 0 && r->found[0] <= r->places)) return KRY_OK;
        places = r->found[0] < 0 ? INT32_MAX : more * (double)r->found[0];
        *fits = false;
    }
done:
    return st;
}

kry_status kry_csr_product_at_once(const kry_csr_factors *p, bool lower, kry_csr *C, bool *made)
{
    kry_status st = KRY_OK;
    room r = { 0 };

    *made = false;
    if (p->rows == 0) return KRY_OK;
    TRY(create(p, &r));
    TRY(fill_room(p, C->type, &r, lower, made));
    if (*made) TRY(settle(p, &r, C));
done:
    release(p->dev, &r);
    return st;
}
