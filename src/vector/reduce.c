/* reduce.c - sums over vectors whose result stays on the device. Kernels: cl/vector/vec.cl. */
#include "vector/vec.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status kry_sum_create(kry_device *dev, int width, kry_sum **sum)
{
    if (sum) *sum = NULL;
    const kry_status st = GIVEN(sum, dev);
    return st ? st : kryi_sum_create_columns(dev, width, 1, NULL, sum);
}

kry_status kryi_sum_create_columns(kry_device *dev, int width, int columns, cl_mem stopped,
                                   kry_sum **sum)
{
    kry_status st = KRY_OK;
    kry_sum *s = NULL;

    *sum = NULL;
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED,
          "kry_sum_create: a sum is for one device, and this is a team of %d", kry_team_size(dev));
    CHECK(width >= 1 && width <= KRY_SUM_WIDTH, KRY_ERR_ARGUMENT,
          "kry_sum_create: a sum of %d numbers; 1 to %d can be summed together", width,
          (int)KRY_SUM_WIDTH);
    size_t count = (size_t)KRY_SUM_CAPACITY * (size_t)width;
    TRY(kryi_alloc(1, sizeof *s, &s));
    s->dev = kry_device_retain(dev);
    s->width = width, s->columns = columns, s->stopped = stopped;
    TRY(kryi_alloc(count, sizeof *s->part, &s->part));
    TRY(kryi_alloc((size_t)width, sizeof *s->total, &s->total));
    TRY(kryi_buffer_create(dev, (uint64_t)columns * count * sizeof *s->part, &s->buffer));
    *sum = s;
    s = NULL;
done:
    kry_sum_release(&s);
    return st;
}

void kry_sum_release(kry_sum **sum)
{
    kry_sum *s = sum ? *sum : NULL;
    if (sum) *sum = NULL;
    if (!s) return;
    if (s->writes) kryi_device_drain(s->dev); /* the device may still read `total` */
    kryi_buffer_release(s->dev, &s->buffer);
    kry_device_release(&s->dev);
    free(s->total);
    free(s->part);
    free(s);
}

cl_mem kry_sum_buffer(const kry_sum *sum) { return sum ? sum->buffer : NULL; }
int kry_sum_capacity(const kry_sum *sum)
{
    (void)sum;
    return KRY_SUM_CAPACITY;
}
void kry_sum_set_count(kry_sum *sum, int count)
{
    if (sum) sum->count = count;
}

/* A vector on a team is summed in the chunks of its split. Any other vector in a reproducible run
 * is short and the same on all parts: it has chunks of its own. */
kryi_chunks kryi_chunks_of(const kry_vec *v)
{
    const kryi_layout *layout = v->layout;
    const kryi_split *s = v->piece_of ? v->piece_of : layout->split;
    const int rank = v->piece_of ? v->piece : kryi_layout_rank(layout);
    kryi_chunks rows = { .n = v->n * v->k };

    if (!layout->reproducible) {
        rows.groups = kryi_groups_for_sums(v->dev, v->type, rows.n);
        return rows;
    }
    if (s && s->unit && v->k == 1 && v->n == kryi_split_rows(s, rank))
        rows.unit = s->unit, rows.chunk = s->chunk;
    else
        kryi_split_chunks(rows.n, 1, &rows.unit, &rows.chunk);
    rows.groups = kryi_split_count_chunks(rows.n, rows.unit, rows.chunk);
    if (rows.groups == 0) rows.groups = 1;
    return rows;
}

kryi_chunks kryi_chunks_of_columns(const kry_vec *v)
{
    const kry_vec one = kryi_vec_column(v, 0);
    kryi_chunks rows = kryi_chunks_of(&one);

    rows.columns = v->k;
    return rows;
}

size_t kryi_chunks_args(const kryi_chunks *rows, kry_arg args[KRY_CHUNKS_ARGS])
{
    const kry_arg all[KRY_CHUNKS_ARGS] = { ARG(rows->n), ARG(rows->unit), ARG(rows->chunk) };
    memcpy(args, all, sizeof all);
    return rows->chunk ? KRY_CHUNKS_ARGS : 1;
}

kry_status kryi_launch_chunks(kry_device *dev, kryi_kernel *kernel, const kryi_chunks *rows,
                              const kry_arg *rest, size_t count)
{
    kry_arg args[KRY_CHUNKS_ARGS + KRY_CHUNKS_REST];
    const size_t used = kryi_chunks_args(rows, args);

    assert(count <= KRY_CHUNKS_REST);
    memcpy(args + used, rest, count * sizeof *rest);
    return kryi_launch_range(dev, kernel, (kryi_range){ rows->groups, .columns = rows->columns },
                             args, used + count);
}

kry_status kryi_launch_rows(const kry_vec *v, kryi_kernel *kernel, const kry_arg *rest,
                            size_t count, kry_sum *sum)
{
    kryi_chunks rows = kryi_chunks_of_columns(v);

    if (sum)
        sum->count = (cl_int)rows.groups;
    else
        rows.n = 0, rows.groups = 1;
    return kryi_launch_chunks(v->dev, kernel, &rows, rest, count);
}

/* Launch a kernel of vec.cl that sums over the rows of a vector: its arguments are those of `rows`, then
 * `rest`. */
static kry_status launch_sum(const char *kernel, const char *defines, const kry_vec *v,
                             const kry_arg *rest, size_t count, kry_sum *sum)
{
    enum { MOST = 7 }; /* of rest */
    kry_status st = KRY_OK;
    const kryi_chunks rows = kryi_chunks_of(v);
    kry_arg args[KRY_CHUNKS_ARGS + MOST];
    size_t used = kryi_chunks_args(&rows, args);

    memcpy(args + used, rest, count * sizeof *rest);
    TRY(kryi_run(v->dev, "vec", v->type, rows.chunk ? "-DKRY_UNALIGNED" : defines, kernel,
                 rows.groups, args, used + count));
    sum->count = (cl_int)rows.groups;
done:
    return st;
}

static kry_status dot_into(const char *kernel, const kry_vec *x, const kry_vec *y, kry_sum *sum)
{
    const kry_vec *vectors[] = { x, y };
    const kry_arg rest[] = { ARG_VEC(x), ARG_VEC(y), ARG(sum->buffer) };

    if (sum->columns > 1) return kryi_vec_column_sums(x, y, sum);
    /* Loads of another width would change the order of summation. */
    const char *defines = *kryi_vec_alignment(vectors, 2) ? "-DKRY_UNALIGNED_SUMS" : "";
    return launch_sum(kernel, defines, x, rest, COUNT(rest), sum);
}

kry_status kry_vec_dot_sum(const kry_vec *x, const kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(x, y, sum));
    TRY(kryi_vec_check_alike("kry_vec_dot_sum", x, y));
    CHECK(!x->split && sum->dev == x->dev, KRY_ERR_ARGUMENT,
          "kry_vec_dot_sum: the sum lives on another device than x");
    CHECK(sum->columns == 1 || x->k == sum->columns, KRY_ERR_SHAPE,
          "kry_vec_dot_sum: x has %lld columns, the sum is of %d", (long long)x->k, sum->columns);
    TRY(dot_into("vec_dot", x, y, sum));
done:
    return st;
}

kry_status kryi_vec_dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum)
{
    return dot_into("vec_dot_pair", x, y, sum);
}

/* One part after the other, on the caller's thread, so that monitors may call it within a solve. */
static kry_status dot_of_parts(const kry_vec *x, const kry_vec *y, double *dot)
{
    kry_status st = KRY_OK;
    kry_sum *sum = NULL;
    double here;

    for (int r = 0; r < x->split->members; r++) {
        kry_vec x_r = kryi_vec_on_part(x, r), y_r = kryi_vec_on_part(y, r);
        TRY(kry_sum_create(x_r.dev, 1, &sum));
        TRY(kry_vec_dot_sum(&x_r, &y_r, sum));
        if (x_r.layout->reproducible) {
            TRY(kryi_sum_add_here(sum, dot));
        } else {
            TRY(kryi_sum_read_here(sum, &here));
            *dot += here;
        }
        kry_sum_release(&sum);
    }
done:
    kry_sum_release(&sum);
    return st;
}

/* On ranks: what each does with its part, which leaves the same number on all. */
typedef struct dot_args {
    const kry_vec *x, *y;
    double number;
} dot_args;

static kry_status dot_here(void *user, int rank)
{
    dot_args *s = user;
    const kry_vec x = kryi_vec_on_part(s->x, rank), y = kryi_vec_on_part(s->y, rank);
    return kry_vec_dot(&x, &y, &s->number);
}

static kry_status norm2_here(void *user, int rank)
{
    dot_args *s = user;
    const kry_vec x = kryi_vec_on_part(s->x, rank);
    return kry_vec_norm2(&x, &s->number);
}

static kry_status sum_on_ranks(const char *who, kryi_task_of_part *task, dot_args *s,
                               double *number)
{
    kryi_team_enter(s->x->dev, who, s->x->split);
    kry_status st = kryi_team_leave(s->x->dev, kryi_team_sum(s->x->dev, s->x->split, task, s));
    if (st >= 0) *number = s->number;
    return st;
}

static bool reproducible(const kry_vec *x)
{
    return x->split ? x->dev->team->reproducible : x->layout->reproducible;
}

/* Where columns do not lie one behind the other; and in reproducible sums, whose chunks are of one column. */
static kry_status dot_of_columns(const kry_vec *x, const kry_vec *y, double *dot)
{
    kry_status st = KRY_OK;
    double one;

    for (int64_t j = 0; j < x->k; j++) {
        kry_vec x_j = kryi_vec_column(x, j), y_j = kryi_vec_column(y, j);
        TRY(kry_vec_dot(&x_j, &y_j, &one));
        *dot += one;
    }
done:
    return st;
}

kry_status kry_vec_dot(const kry_vec *x, const kry_vec *y, double *dot)
{
    kry_status st = KRY_OK;
    kry_sum *sum = NULL;

    TRY(GIVEN(dot));
    *dot = 0;
    TRY(kryi_vec_check_alike("kry_vec_dot", x, y));
    if (kry_team_is_ranks(x->dev))
        return sum_on_ranks("kry_vec_dot", dot_here, &(dot_args){ x, y, 0 }, dot);
    bool packed = kryi_vec_is_packed(x) && kryi_vec_is_packed(y);
    if (!packed || (x->k > 1 && reproducible(x))) return dot_of_columns(x, y, dot);
    if (x->split) return dot_of_parts(x, y, dot);
    TRY(kry_sum_create(x->dev, 1, &sum));
    TRY(kry_vec_dot_sum(x, y, sum));
    TRY(kryi_sum_read(x->layout, sum, dot));
done:
    kry_sum_release(&sum);
    return st;
}

/* The sum of squares overflows or underflows long before the norm does. Then the host scales by the
 * largest entry first. */
static kry_status norm2_on_host(const kry_vec *x, double *norm)
{
    kry_status st = KRY_OK;
    int64_t n = x->n * x->k;
    double *host = NULL, largest = 0, sum = 0;

    TRY(kryi_alloc((size_t)n, sizeof *host, &host));
    TRY(kryi_vec_read_doubles(x, host));
    for (int64_t i = 0; i < n; i++) {
        double v = fabs(host[i]);
        if (v > largest || isnan(v)) largest = v;
    }
    TRY(kryi_layout_combine(x->layout, KRY_MAX, &largest, 1));
    for (int64_t i = 0; i < n; i++) {
        double v = host[i] / largest;
        sum += v * v;
    }
    TRY(kryi_layout_combine(x->layout, KRY_ADD, &sum, 1));
    *norm = largest == 0 || !isfinite(largest) ? largest : largest * sqrt(sum);
done:
    free(host);
    return st;
}

kry_status kry_vec_norm2(const kry_vec *x, double *norm)
{
    kry_status st = GIVEN(x, norm);
    if (st >= 0 && kry_team_is_ranks(x->dev))
        return sum_on_ranks("kry_vec_norm2", norm2_here, &(dot_args){ x, x, 0 }, norm);
    if (st >= 0) st = kry_vec_dot(x, x, norm);
    if (st < 0) return st;
    double tiny = x->dev->info.fp64 ? 1e-290 : 1e-30;
    if (*norm > tiny && isfinite(*norm)) return *norm = sqrt(*norm), KRY_OK;
    return norm2_on_host(x, norm);
}
