/* vec.h - vectors and sums behind their public handles. */
#ifndef KRY_VEC_INTERNAL_H
#define KRY_VEC_INTERNAL_H

#include "device/launch.h"
#include "team/team.h"

struct kry_vec {
    atomic_int refs;
    kryi_layout *layout; /* borrowed from dev */
    kry_device *dev;     /* retained */
    kry_type type;
    int64_t n, k;
    int64_t first; /* where the view starts in the buffer */
    int64_t ld;    /* from the start of a column to the next: n or more */
    cl_mem buffer; /* retained; NULL: on a team */
    /* On a team: a vector for each part. This one has k of their columns, from column `first` on. */
    struct kryi_split *split;          /* retained */
    kry_vec **part;                    /* owned */
    const struct kryi_split *piece_of; /* borrowed: what it is a part of; NULL: not known */
    int piece;                         /* with piece_of: which part */
};

/* A view of the same numbers for the caller's stack, which owns nothing. (A plain copy of the
 * struct would read the reference count, which other threads may be changing.) */
static inline kry_vec kryi_vec_borrow(const kry_vec *v)
{
    return (kry_vec){ .layout = v->layout,
                      .dev = v->dev,
                      .type = v->type,
                      .n = v->n,
                      .k = v->k,
                      .first = v->first,
                      .ld = v->ld,
                      .buffer = v->buffer,
                      .split = v->split,
                      .part = v->part,
                      .piece_of = v->piece_of,
                      .piece = v->piece };
}

/* Whether its n*k numbers lie one behind the other. */
static inline bool kryi_vec_is_packed(const kry_vec *v) { return v->k <= 1 || v->ld == v->n; }

/* The partial sum of a work-group, TOTAL in cl/common/kry.clh: a double if the device has double
 * precision, else two floats, the sum and its rounding error. */
typedef union kryi_partial {
    double f64;
    float f32[2];
} kryi_partial;

enum { KRY_SUM_WIDTH = 64 }; /* numbers that may be summed together, at most */

struct kry_sum {
    kry_device *dev; /* retained */
    cl_mem buffer;   /* KRY_SUM_CAPACITY * width of kryi_partial */
    int width;       /* numbers per partial sum: 1 for x'y, 2 for a pair, k for V'w */
    int columns; /* sums of so many columns, count * width numbers of one behind those of another */
    cl_mem stopped; /* of several columns, borrowed: STATE_SIZE numbers for each. What begins with a
                           number that is not 0 is not summed any more; NULL: all are */
    cl_int count;   /* partial sums written, of each column */
    kryi_partial *part;  /* owned: room for as many on the host */
    kryi_partial *total; /* owned: `width` sums over all parts, while the device reads them */
    bool writes;         /* it may still do that */
};
kry_status kryi_sum_read_here(const kry_sum *sum, double *value); /* of this device only; waits */
/* value += that, group after group */
kry_status kryi_sum_add_here(const kry_sum *sum, double *value);
kry_status kryi_sum_read(kryi_layout *layout, kry_sum *sum,
                         double *value); /* of all parts; waits */

/* value := the sum of the partial sums of all parts in the order of chunks, as one part would add
 * them.
 *   partial, count  those of this part, `width` numbers each. If they are more than a part has
 *                   chunks, their sum counts as one. */
kry_status kryi_layout_add_chunks(kryi_layout *layout, const double *partial, int count, int width,
                                  double *value);

/* Sums of each of several columns, on one device, for kernels: the host reads none of them. */
kry_status kryi_sum_create_columns(kry_device *dev, int width, int columns, cl_mem stopped,
                                   kry_sum **sum);
/* column_sums.c: sum := x_j.y_j of all columns j, as many as the sum is made for; width 2: the pairs (x_j.y_j,
 * x_j.x_j). kry_vec_dot_sum and kryi_vec_dot_pair call it for such sums. */
kry_status kryi_vec_column_sums(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* y_j := a d .* x_j for all columns j of x, which y may be; d has one column. */
kry_status kryi_vec_mul_columns(double a, const kry_vec *d, const kry_vec *x, kry_vec *y);

/* Replace the partial sums of each sum by its total over all parts. On one device this does
 * nothing, because the kernel that uses a sum adds up its partial sums; with several parts or
 * reproducible sums it waits. No more than KRY_SUM_WIDTH numbers in all. */
kry_status kryi_layout_reduce(kryi_layout *layout, kry_sum *const *sums, int count);
/* kryi_layout_reduce in halves: what is enqueued between them runs while the parts hear of each other's sums. */
kry_status kryi_layout_reduce_begin(kryi_layout *layout, kry_sum *const *sums, int count);
kry_status kryi_layout_reduce_end(kryi_layout *layout, kry_sum *const *sums, int count);

/* How a launch that sums over the rows of v shares them out: its groups, and its arguments `long n
 * ROWS_PARAMS` of kry.clh. For reproducible sums, in chunks, and the kernel must be compiled with
 * KRY_UNALIGNED. */
typedef struct kryi_chunks {
    int64_t n, unit, chunk;  /* chunk 0: groups share the rows evenly */
    int64_t groups, columns; /* groups for each of so many columns; 0: of one */
} kryi_chunks;
enum { KRY_CHUNKS_ARGS = 3, KRY_CHUNKS_REST = 16 };
kryi_chunks kryi_chunks_of(const kry_vec *v);
/* kryi_chunks_of for a launch that does with each column of v what it does with one (kryi_range.columns). */
kryi_chunks kryi_chunks_of_columns(const kry_vec *v);
/* Returns how many arguments there are. */
size_t kryi_chunks_args(const kryi_chunks *rows, kry_arg args[KRY_CHUNKS_ARGS]);
/* A launch over `rows`: its arguments are theirs, then the `count` <= KRY_CHUNKS_REST of rest. */
kry_status kryi_launch_chunks(kry_device *dev, kryi_kernel *kernel, const kryi_chunks *rows,
                              const kry_arg *rest, size_t count);
/* kryi_launch_chunks over the rows of v, for each column. sum: gets a partial sum of each group; NULL: the launch has no
 * rows at all, and does only what its kernel does besides. */
kry_status kryi_launch_rows(const kry_vec *v, kryi_kernel *kernel, const kry_arg *rest,
                            size_t count, kry_sum *sum);

/* A block, on one device, whose columns begin where whole vectors may: ld is n rounded up, to an odd multiple,
 * so that the same row of many columns is not in one set of a cache. */
/* kry_vec_create for who writes all numbers before he reads them: they may be anything. */
kry_status kryi_vec_create_room(kry_device *dev, kry_type type, int64_t n, int64_t k,
                                kry_vec **vec);
kry_status kryi_vec_create_columns(kry_device *dev, kry_type type, int64_t n, int64_t k,
                                   kry_vec **vec);
kry_vec kryi_vec_column(const kry_vec *v, int64_t j); /* borrowed, on the caller's stack */
/* A view of columns first ... first + count - 1 of v. */
static inline kry_vec kryi_vec_columns(const kry_vec *v, int64_t first, int64_t count)
{
    kry_vec some = kryi_vec_column(v, first);
    some.k = count;
    return some;
}
/* Make room->k at least k, which loses its numbers. On failure the old one stays. */
kry_status kryi_vec_widen(kry_vec **room, int64_t k);
/* *view := the first k columns of `room`, which becomes wider if it has fewer. */
static inline kry_status kryi_vec_take(kry_vec **room, int64_t k, kry_vec *view)
{
    const kry_status st = kryi_vec_widen(room, k);
    if (st >= 0) *view = kryi_vec_columns(*room, 0, k);
    return st;
}
kry_vec kryi_vec_on_part(const kry_vec *v, int rank); /* the same: what part `rank` has of v */
/* The define, or "", for kernels with vector loads, by where these vectors start. */
const char *kryi_vec_alignment(const kry_vec *const *v, int count);
/* Whether loads of VW numbers may be used on all columns of V. */
bool kryi_vec_aligned(const kry_vec *V);
/* dots.c: sum := V'W, for W of one column or two: one launch. The sum is V->k * W->k numbers wide, those of
 * the first column of V first. */
kry_status kryi_vec_dots(const kry_vec *V, const kry_vec *W, kry_sum *sum);
/* gram.c: X'Y of two blocks of few columns, of which each of `shares` groups leaves partial sums: shares * X->k * Y->k of
 * kryi_partial in `part`. gate: if number `at` of it, of type ACC, is 0 nothing is summed; NULL: there is none */
cl_int kryi_gram_shares(const kry_device *dev, kry_type type, int64_t n, int64_t width,
                        int64_t across);
kry_status kryi_gram_part(const kry_vec *X, const kry_vec *Y, cl_mem gate, cl_int at, cl_int shares,
                          cl_mem part);
/* total := X'Y, row by row, of kryi_partial; Y has as many columns as X */
kry_status kryi_gram_total(const kry_vec *X, cl_int shares, cl_mem part, cl_mem total);
/* C := alpha X'Y + beta C; with beta == 0, C is not read */
kry_status kryi_gram_store(const kry_vec *C, double alpha, double beta, cl_int shares, cl_mem part);
/* sum := (x.y, x.x), a pair */
kry_status kryi_vec_dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* Whether `type` is a number type that the device has. */
kry_status kryi_type_check(const char *who, const kry_device *dev, kry_type type);
/* Refuse columns with gaps, which a kernel does not take. name: what the caller calls v. */
kry_status kryi_vec_check_packed(const char *who, const char *name, const kry_vec *v);
/* Whether x and y are not NULL and have the same size, type and device. */
kry_status kryi_vec_check_alike(const char *who, const kry_vec *x, const kry_vec *y);
/* The n k numbers of v as doubles on the host, whatever its type: all of them or, on failure, none are
 * read; rounded when they are written. Both wait. */
kry_status kryi_vec_read_doubles(const kry_vec *v, double *numbers);
kry_status kryi_vec_write_doubles(kry_vec *v, const double *numbers);
/* The largest |x_i| and the smallest but for zeros, to single precision: 0 or infinite beyond its range. Waits. */
kry_status kryi_vec_range(const kry_vec *x, double *largest, double *smallest);
/* y := a x, rounded to single */
kry_status kryi_vec_round(double a, const kry_vec *x, cl_mem y);
/* v := random numbers in [-1/2, 1/2), others for each stream: the same in every run, on every machine and for
 * every split of the rows. Waits on teams and on the host device. */
kry_status kryi_vec_fill_random(uint64_t stream, kry_vec *v);
bool kryi_vec_overlap(const kry_vec *x, const kry_vec *y); /* share at least one number */
/* code: what CLBlast returned: 0, an error of OpenCL, or below -1000 one of its own. */
kry_status kryi_clblast_check(const char *who, int code);

/* ---- vec_parts.c: for vec.c, vectors on a team ------------------------------------------------ */

kry_status kryi_vec_allocate_parts(kry_vec *v);                    /* if it fails, release v */
kry_status kryi_vec_share_parts(const kry_vec *block, kry_vec *v); /* v: a view of block */
void kryi_vec_release_parts(kry_vec *v);

#endif
