/* vec.c - dense n-by-k blocks on a device and the plain arithmetic on them. Kernels: cl/vector/vec.cl. */
#include "vector/vec.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making --------------------------------------------------------------------------- */

kry_status kryi_type_check(const char *who, const kry_device *dev, kry_type type)
{
    kry_status st = KRY_OK;

    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT, "%s: %d is not a number type", who,
          (int)type);
    CHECK(type == KRY_F32 || dev->info.fp64, KRY_ERR_UNSUPPORTED,
          "%s: '%s' has no double precision; use single", who, dev->info.name);
done:
    return st;
}

static kry_status vec_new(kry_device *dev, kry_type type, int64_t n, int64_t k, kry_vec **vec)
{
    kry_status st = kryi_alloc(1, sizeof **vec, vec);
    if (st < 0) return st;
    **vec = (kry_vec){ .refs = 1,
                       .layout = &dev->layout,
                       .dev = kry_device_retain(dev),
                       .type = type,
                       .n = n,
                       .k = k,
                       .ld = n };
    return KRY_OK;
}

kry_status kryi_vec_create_room(kry_device *dev, kry_type type, int64_t n, int64_t k, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;

    *vec = NULL;
    CHECK(dev, KRY_ERR_ARGUMENT, "kry_vec_create: NULL device");
    CHECK(n >= 0 && k >= 1 && (n == 0 || k <= INT64_MAX / 8 / n), KRY_ERR_ARGUMENT,
          "kry_vec_create: %lld-by-%lld is not a size", (long long)n, (long long)k);
    TRY(kryi_type_check("kry_vec_create", dev, type));
    TRY(vec_new(dev, type, n, k, &v));
    if (dev->team)
        TRY(kryi_vec_allocate_parts(v));
    else
        TRY(kryi_buffer_create(dev, (uint64_t)(n * k) * kry_type_size(type), &v->buffer));
    *vec = v;
    v = NULL;
done:
    kry_vec_release(&v);
    return st;
}

kry_status kry_vec_create(kry_device *dev, kry_type type, int64_t n, int64_t k, kry_vec **vec)
{
    kry_status st = KRY_OK;

    if (vec) *vec = NULL;
    kryi_team_enter(dev, "kry_vec_create", NULL);
    TRY(GIVEN(vec));
    TRY(kryi_vec_create_room(dev, type, n, k, vec));
    TRY(kry_vec_fill(*vec, 0.0));
done:
    st = kryi_team_leave(dev, st);
    if (st < 0 && vec) kry_vec_release(vec);
    return st;
}

/* A view of `buffer`, which has room for it. */
static kry_status view_of(const kry_vec *size, cl_mem buffer, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;

    TRY(vec_new(size->dev, size->type, size->n, size->k, &v));
    TRY(kryi_buffer_retain(size->dev, buffer));
    v->buffer = buffer;
    v->first = size->first;
    v->ld = size->ld;
    assert(vec);
    *vec = v;
    v = NULL;
done:
    kry_vec_release(&v);
    return st;
}

kry_status kry_vec_wrap_block(kry_device *dev, kry_type type, int64_t n, int64_t k, int64_t ld,
                              cl_mem buffer, int64_t first, kry_vec **vec)
{
    kry_status st = KRY_OK;
    size_t bytes = 0;

    if (vec) *vec = NULL;
    TRY(GIVEN(vec, dev, buffer));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED,
          "kry_vec_wrap: one buffer cannot lie on several devices: copy into the parts of a vector "
          "(kry_vec_part)");
    CHECK(n >= 0 && k >= 1 && first >= 0 && ld >= n && (ld == 0 || k <= INT64_MAX / 16 / ld),
          KRY_ERR_ARGUMENT,
          "kry_vec_wrap: %lld-by-%lld, columns %lld apart, from %lld is not a size", (long long)n,
          (long long)k, (long long)ld, (long long)first);
    TRY(kryi_type_check("kry_vec_wrap", dev, type));
    TRY(kryi_buffer_size("kry_vec_wrap", dev, buffer, &bytes));
    int64_t room = (int64_t)(bytes / kry_type_size(type)), needs = (k - 1) * ld + n;
    CHECK(first <= room && needs <= room - first, KRY_ERR_SHAPE,
          "kry_vec_wrap: %lld-by-%lld numbers from %lld do not fit in a buffer of %zu bytes",
          (long long)n, (long long)k, (long long)first, bytes);
    const kry_vec size = { .dev = dev, .type = type, .n = n, .k = k, .first = first, .ld = ld };
    TRY(view_of(&size, buffer, vec));
done:
    return st;
}

kry_status kry_vec_wrap(kry_device *dev, kry_type type, int64_t n, int64_t k, cl_mem buffer,
                        int64_t first, kry_vec **vec)
{
    return kry_vec_wrap_block(dev, type, n, k, n, buffer, first, vec);
}

kry_status kry_vec_block(const kry_vec *of, int64_t i, int64_t rows, int64_t j, int64_t cols,
                         kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;

    if (vec) *vec = NULL;
    TRY(GIVEN(vec));
    CHECK(of, KRY_ERR_ARGUMENT, "kry_vec_block: NULL");
    CHECK(
        i >= 0 && rows >= 0 && rows <= of->n - i && j >= 0 && cols >= 1 && cols <= of->k - j,
        KRY_ERR_ARGUMENT,
        "kry_vec_block: %lld rows from %lld and %lld columns from %lld of a block of %lld-by-%lld",
        (long long)rows, (long long)i, (long long)cols, (long long)j, (long long)of->n,
        (long long)of->k);
    if (of->split) {
        CHECK(rows == of->n, KRY_ERR_UNSUPPORTED,
              "kry_vec_block: on several devices a view has all rows; %lld of %lld were asked for",
              (long long)rows, (long long)of->n);
        TRY(vec_new(of->dev, of->type, rows, cols, &v));
        v->first = of->first + j;
        TRY(kryi_vec_share_parts(of, v));
        *vec = v;
        v = NULL;
    } else {
        kry_vec some = kryi_vec_columns(of, j, cols);
        some.n = rows, some.first += i;
        TRY(view_of(&some, of->buffer, vec));
    }
done:
    kry_vec_release(&v);
    return st;
}

kry_status kryi_vec_create_columns(kry_device *dev, kry_type type, int64_t n, int64_t k,
                                   kry_vec **vec)
{
    enum { STEP = 32 }; /* 128 bytes of singles */
    kry_status st = KRY_OK;
    kry_vec *all = NULL;

    if (k == 1) return kry_vec_create(dev, type, n, k, vec);
    TRY(kry_vec_create(dev, type, ((n + STEP - 1) / STEP | 1) * STEP, k, &all));
    TRY(kry_vec_block(all, 0, n, 0, k, vec));
done:
    kry_vec_release(&all);
    return st;
}

kry_status kryi_vec_widen(kry_vec **room, int64_t k)
{
    kry_status st = KRY_OK;
    kry_vec *wider = NULL;

    if ((*room)->k >= k) return KRY_OK;
    TRY(kryi_vec_create_columns((*room)->dev, (*room)->type, (*room)->n, k, &wider));
    kry_vec_release(room);
    *room = wider;
done:
    return st;
}

kry_status kry_vec_view(const kry_vec *block, int64_t j, kry_vec **vec)
{
    if (!vec) return GIVEN(vec);
    *vec = NULL;
    if (!block || j < 0 || j >= block->k)
        return kry_fail(KRY_ERR_ARGUMENT, "kry_vec_view: column %lld of %lld", (long long)j,
                        block ? (long long)block->k : 0);
    return kry_vec_block(block, 0, block->n, j, 1, vec);
}

kry_vec *kry_vec_retain(kry_vec *vec)
{
    if (vec) vec->refs++;
    return vec;
}

void kry_vec_release(kry_vec **vec)
{
    kry_vec *v = vec ? *vec : NULL;
    if (vec) *vec = NULL;
    if (!v || --v->refs) return;
    if (v->split)
        kryi_vec_release_parts(v);
    else
        kryi_buffer_release(v->dev, &v->buffer);
    kry_device_release(&v->dev);
    free(v);
}

int64_t kry_vec_rows(const kry_vec *v) { return v ? v->n : 0; }
int64_t kry_vec_cols(const kry_vec *v) { return v ? v->k : 0; }
int64_t kry_vec_ld(const kry_vec *v) { return v ? v->ld : 0; }
kry_type kry_vec_type(const kry_vec *v) { return v ? v->type : KRY_F32; }
kry_device *kry_vec_device(const kry_vec *v) { return v ? v->dev : NULL; }

cl_mem kry_vec_buffer(const kry_vec *v, int64_t *first)
{
    if (first) *first = v ? v->first : 0;
    return v ? v->buffer : NULL;
}

kry_vec kryi_vec_column(const kry_vec *v, int64_t j)
{
    kry_vec c = kryi_vec_borrow(v);
    c.k = 1;
    c.first += v->split ? j : j * v->ld;
    return c;
}

/* Columns that are ld apart in both: whether one of x meets one of y. */
static bool columns_meet(const kry_vec *x, const kry_vec *y)
{
    for (int64_t t = 1 - y->k; t < x->k; t++) {
        int64_t from = x->first - y->first + t * x->ld; /* of a column of x behind one of y */
        if (from < y->n && -from < x->n) return true;
    }
    return false;
}

bool kryi_vec_overlap(const kry_vec *x, const kry_vec *y)
{
    if (x->split && y->split)
        return x->part[x->split->begin] == y->part[y->split->begin] && x->first < y->first + y->k &&
               y->first < x->first + x->k;
    if (x->buffer != y->buffer || x->n == 0 || y->n == 0) return false;
    if (x->ld == y->ld) return columns_meet(x, y);
    return x->first < y->first + (y->k - 1) * y->ld + y->n &&
           y->first < x->first + (x->k - 1) * x->ld + x->n;
}

/* ---- arithmetic ---------------------------------------------------------------------- */

kry_status kryi_vec_check_alike(const char *who, const kry_vec *x, const kry_vec *y)
{
    kry_status st = KRY_OK;

    CHECK(x && y, KRY_ERR_ARGUMENT, "%s: NULL", who);
    CHECK(x->n == y->n && x->k == y->k, KRY_ERR_SHAPE, "%s: x is %lld-by-%lld, y is %lld-by-%lld",
          who, (long long)x->n, (long long)x->k, (long long)y->n, (long long)y->k);
    CHECK(x->type == y->type, KRY_ERR_TYPE, "%s: x is %s, y is %s", who, kry_type_name(x->type),
          kry_type_name(y->type));
    CHECK(x->dev == y->dev, KRY_ERR_ARGUMENT, "%s: x and y live on different devices", who);
done:
    return st;
}

kry_status kryi_vec_check_packed(const char *who, const char *name, const kry_vec *v)
{
    if (kryi_vec_is_packed(v)) return KRY_OK;
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "%s: the columns of %s start %lld numbers apart and have %lld: copy them into a "
        "vector without gaps",
        who, name, (long long)v->ld, (long long)v->n);
}

/* Wide loads need vectors that start at a multiple of their width, except on CPUs. */
const char *kryi_vec_alignment(const kry_vec *const *v, int count)
{
    int width = kryi_vector_width(v[0]->dev, v[0]->type);
    for (int i = 0; i < count; i++)
        if (!v[0]->dev->info.cpu_kernels && v[i]->first % width) return "-DKRY_UNALIGNED";
    return "";
}

/* An argument of a kernel of elementwise arithmetic: a vector, or the number a. The last argument is the
 * vector that the kernel writes. */
typedef struct operand {
    const kry_vec *v;
    double a;
    bool is_number;
} operand;
enum { MOST_OPERANDS = 5 };

static kry_status run(const char *name, const operand *o, int count);

/* Part by part, where no part waits for another one; or column by column, where columns of an operand are
 * further apart than it has rows. */
static kry_status run_on_pieces(const char *name, const operand *o, int count)
{
    kry_status st = KRY_OK;
    const kry_vec *y = o[count - 1].v;
    kry_vec v[MOST_OPERANDS];
    operand here[MOST_OPERANDS];

    const int64_t from = y->split ? y->split->begin : 0, to = y->split ? y->split->end : y->k;

    for (int64_t j = from; j < to; j++) {
        for (int i = 0; i < count; i++) {
            here[i] = o[i];
            if (o[i].is_number) continue;
            v[i] = y->split ? kryi_vec_on_part(o[i].v, (int)j) : kryi_vec_column(o[i].v, j);
            here[i].v = &v[i];
        }
        TRY(run(name, here, count));
    }
done:
    return st;
}

static kry_status run(const char *name, const operand *o, int count)
{
    const kry_vec *y = o[count - 1].v, *v[MOST_OPERANDS];
    kry_device *dev = y->dev;
    int64_t n = y->n * y->k;
    kryi_scalar number[MOST_OPERANDS];
    kry_arg args[1 + 2 * MOST_OPERANDS] = { ARG(n) };
    size_t used = 1;
    int vectors = 0;

    if (y->split) return run_on_pieces(name, o, count);
    for (int i = 0; i < count; i++)
        if (!o[i].is_number && !kryi_vec_is_packed(o[i].v)) return run_on_pieces(name, o, count);
    for (int i = 0; i < count; i++) {
        number[i] = kryi_scalar_of(dev, o[i].a);
        if (o[i].is_number) {
            args[used++] = (kry_arg)ARG_ACC(dev, number[i]);
            continue;
        }
        args[used++] = (kry_arg)ARG(o[i].v->buffer);
        args[used++] = (kry_arg)ARG(o[i].v->first);
        v[vectors++] = o[i].v;
    }
    return kryi_run(dev, "vec", y->type, kryi_vec_alignment(v, vectors), name,
                    kryi_groups_for(dev, y->type, n), args, used);
}

/* Check the operands of a public function kry_NAME, of which the last one is written, and run the kernel
 * NAME. A vector may be the last one itself, but must not overlap a part of it. */
static kry_status combine(const char *who, const operand *o, int count)
{
    kry_status st = KRY_OK;
    const kry_vec *y = o[count - 1].v;

    CHECK(y, KRY_ERR_ARGUMENT, "%s: NULL", who);
    kryi_team_enter(y->dev, who, y->split);
    for (int i = 0; i < count - 1; i++) {
        const kry_vec *x = o[i].v;
        if (o[i].is_number) continue;
        TRY(kryi_vec_check_alike(who, x, y));
        CHECK(!kryi_vec_overlap(x, y) || (x->first == y->first && x->ld == y->ld), KRY_ERR_ARGUMENT,
              "%s: x and y overlap by a part", who);
    }
    TRY(run(who + strlen("kry_"), o, count));
done:
    return y ? kryi_team_leave(y->dev, st) : st;
}

#define V(vec)     \
    {              \
        .v = (vec) \
    }
#define N(number)                        \
    {                                    \
        .a = (number), .is_number = true \
    }

kry_status kry_vec_fill(kry_vec *y, double value)
{
    return combine("kry_vec_fill", (const operand[]){ N(value), V(y) }, 2);
}

kry_status kry_vec_copy(const kry_vec *x, kry_vec *y)
{
    return combine("kry_vec_copy", (const operand[]){ V(x), V(y) }, 2);
}

kry_status kry_vec_axpby(double a, const kry_vec *x, double b, kry_vec *y)
{
    return combine("kry_vec_axpby", (const operand[]){ N(a), V(x), N(b), V(y) }, 4);
}

kry_status kry_vec_mul(double a, const kry_vec *d, const kry_vec *x, double b, kry_vec *y)
{
    return combine("kry_vec_mul", (const operand[]){ N(a), V(d), V(x), N(b), V(y) }, 5);
}

kry_status kry_vec_triad(double a, const kry_vec *x, const kry_vec *y, kry_vec *z)
{
    return combine("kry_vec_triad", (const operand[]){ N(a), V(x), V(y), V(z) }, 4);
}

/* ---- numbers in single --------------------------------------------------------------------------- */

kry_status kryi_vec_range(const kry_vec *x, double *largest, double *smallest)
{
    kry_status st = KRY_OK;
    cl_float found[2] = { 0, 0 }; /* their bits are ordered as they are */
    cl_mem out = NULL;

    TRY(kryi_buffer_upload(x->dev, sizeof found, found, &out));
    const kry_arg args[] = { ARG(x->n), ARG_VEC(x), ARG(out) };
    TRY(kryi_run(x->dev, "vec", x->type, "", "vec_range",
                 kryi_groups_for_sums(x->dev, x->type, x->n), args, COUNT(args)));
    TRY(kryi_buffer_read(x->dev, out, 0, sizeof found, found));
    *largest = found[0], *smallest = found[1] > 0 ? 1 / (double)found[1] : INFINITY;
done:
    kryi_buffer_release(x->dev, &out);
    return st;
}

kry_status kryi_vec_round(double a, const kry_vec *x, cl_mem y)
{
    kryi_scalar by = kryi_scalar_of(x->dev, a);
    const kry_arg args[] = { ARG(x->n), ARG_ACC(x->dev, by), ARG_VEC(x), ARG(y) };
    return kryi_run(x->dev, "vec", x->type, "", "vec_round", kryi_groups_for(x->dev, x->type, x->n),
                    args, COUNT(args));
}
