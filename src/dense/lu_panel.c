/* lu_panel.c - the factors P A = L U of a dense matrix. Kernels: cl/lu.cl, and products.
 *
 * Blocks of columns, `block` wide, and panels of PANEL columns within them:
 *
 *   for each block                  [ A11 A12 ]
 *     for each panel of it          [ A21 A22 ]
 *       factor it, column by column, a launch for each: nothing comes to the host
 *       exchange its rows in all other columns
 *       U12 := L11^-1 A12, A22 -= L21 U12 for the other columns of the block
 *     the same two for all columns behind the block: this is where the operations are
 *
 * A launch of a column finishes the search of its pivot, exchanges two rows of the panel, eliminates
 * and begins the next search. */
#include "lu.h"
#include <string.h>

enum { SWAPS_AT_ONCE = 4 };

/* GPUs: a row for each work-item. Even, so that pairs of rows stay together. */
int kry_lu_share(const kry_device *dev, int64_t m)
{
    enum { LEAST = 512, MOST_GROUPS = 1024 };
    if (!dev->info.cpu_kernels) return kry_group_size(dev);
    int64_t share = (m + MOST_GROUPS - 1) / MOST_GROUPS;
    if (share < LEAST) share = LEAST;
    return (int)(share + share % 2);
}

typedef struct factoring {
    const kry_lu *lu;
    kry_device *dev;
    kry_block F;
    kry_kernel *column, *swap;
    int share, most; /* rows of a panel to a group, and groups at most */
    cl_mem value, row, line, pivots, source; /* as in cl/lu.cl; owned */
} factoring;

static void factoring_end(factoring *f)
{
    cl_mem *buffers[] = { &f->value, &f->row, &f->line, &f->pivots, &f->source };
    for (size_t i = 0; i < COUNT(buffers); i++)
        if (*buffers[i]) kry_buffer_release(f->dev, buffers[i]);
}

static kry_status factoring_begin(factoring *f)
{
    kry_status st = KRY_OK;
    const kry_lu *lu = f->lu;
    kry_device *dev = f->dev;
    kry_kernel *begin;
    const size_t word = kry_type_size(f->F.type);
    const cl_int m = (cl_int)lu->m;

    f->share = kry_lu_share(dev, lu->m);
    f->most = (int)((lu->m + f->share - 1) / f->share);
    TRY(kry_lu_kernel(dev, f->F.type, "lu_begin", &begin));
    TRY(kry_lu_kernel(dev, f->F.type, "lu_column", &f->column));
    TRY(kry_lu_kernel(dev, f->F.type, "lu_swap", &f->swap));
    TRY(kry_buffer_create(dev, 2 * (size_t)f->most * word, &f->value));
    TRY(kry_buffer_create(dev, 2 * (size_t)f->most * sizeof(cl_int), &f->row));
    TRY(kry_buffer_create(dev, 2 * ((size_t)f->most + 1) * KRY_LU_PANEL * word, &f->line));
    TRY(kry_buffer_create(dev, (size_t)lu->r * sizeof(cl_int), &f->pivots));
    TRY(kry_buffer_create(dev, (size_t)lu->m * sizeof(cl_int), &f->source));
    const kry_arg args[] = { ARG(m), ARG(lu->order), ARG(f->source) };
    TRY(kry_launch(dev, begin, kry_groups_for(dev, KRY_F32, lu->m), args, COUNT(args)));
done:
    return st;
}

/* Columns c0 ... c0 + w - 1, below row c0. */
static kry_status factor_panel(factoring *f, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const cl_int m = (cl_int)f->lu->m, c0 = (cl_int)at, w = (cl_int)width, share = f->share,
                 pairs = f->lu->params.pivoting == KRY_PIVOT_BLOCK2, most = f->most;
    const int64_t groups = (m - c0 + share - 1) / share;
    cl_int j = c0 - 1, half_in = 0;
    const kry_arg args[] = { ARG(m),          ARG(c0),       ARG(w),
                             ARG(j),          ARG(share),    ARG(pairs),
                             ARG(most),       ARG(half_in),  ARG(f->F.buffer),
                             ARG(f->F.first), ARG(f->F.ld),  ARG(f->value),
                             ARG(f->row),     ARG(f->line),  ARG(f->pivots),
                             ARG(f->lu->order), ARG(f->source) };

    for (; j < c0 + w; j++, half_in = 1 - half_in)
        TRY(kry_launch(f->dev, f->column, groups, args, COUNT(args)));
done:
    return st;
}

static kry_status swap_others(factoring *f, int64_t at, int64_t width)
{
    const cl_int c0 = (cl_int)at, w = (cl_int)width;
    const int64_t n = f->lu->n - width;
    int64_t groups = (n + SWAPS_AT_ONCE - 1) / SWAPS_AT_ONCE;
    const kry_arg args[] = { ARG(n),          ARG(c0),      ARG(w),         ARG(f->F.buffer),
                             ARG(f->F.first), ARG(f->F.ld), ARG(f->pivots), ARG(f->source) };

    if (n == 0) return KRY_OK;
    if (groups > 65535) groups = 65535;
    if (f->dev->info.cpu_kernels && groups > f->dev->shape.chunks) groups = f->dev->shape.chunks;
    return kry_launch(f->dev, f->swap, groups, args, COUNT(args));
}

/* U12 := L11^-1 A12 and A22 -= L21 U12: L11 is `wide` wide at (at, at), A12 goes from column `from` to
 * before `to`. */
static kry_status update(factoring *f, int64_t at, int64_t wide, int64_t from, int64_t to)
{
    kry_status st = KRY_OK;
    const int64_t below = f->lu->m - at - wide, next = to - from;
    const kry_block L11 = kry_block_part(&f->F, at, at, wide, wide),
                    A12 = kry_block_part(&f->F, at, from, wide, next),
                    L21 = kry_block_part(&f->F, at + wide, at, below, wide),
                    A22 = kry_block_part(&f->F, at + wide, from, below, next);

    if (next == 0) return KRY_OK;
    TRY(kry_lu_triangle(true, false, &L11, &A12));
    if (below > 0) TRY(kry_gemm_blocks(KRY_GEMM_AUTO, false, false, -1, &L21, &A12, 1, &A22));
done:
    return st;
}

static kry_status factor_block(factoring *f, int64_t k0, int64_t k1)
{
    kry_status st = KRY_OK;

    for (int64_t c0 = k0; c0 < k1; c0 += KRY_LU_PANEL) {
        int64_t w = k1 - c0 < KRY_LU_PANEL ? k1 - c0 : KRY_LU_PANEL;
        TRY(factor_panel(f, c0, w));
        TRY(swap_others(f, c0, w));
        TRY(update(f, c0, w, c0 + w, k1));
    }
    TRY(update(f, k0, k1 - k0, k1, f->lu->n));
done:
    return st;
}

kry_status kry_lu_factorise(kry_lu *lu)
{
    kry_status st = KRY_OK;
    const int64_t block = lu->params.block;
    factoring f = { .lu = lu, .dev = lu->F->dev, .F = kry_block_of(lu->F) };

    TRY(factoring_begin(&f));
    for (int64_t k = 0; k < lu->r; k += block)
        TRY(factor_block(&f, k, lu->r - k < block ? lu->r : k + block));
done:
    factoring_end(&f);
    return st;
}
