/* batch_pivot.c - banded systems with partial pivoting, one work-item to each. Kernel: cl/dense/banded.cl.
 *
 * Words moved per unknown: the diagonals and b are read, a row of U and of the right-hand side is written
 * and read again, x is written. */
#include "dense/batch.h"
#include <stdio.h>

enum { GROUP = 32, MOST_GROUPS = 65535 }; /* small groups, so that all compute units have some */

/* Words of an eliminated row: the entries in the band, those in the columns of the border if the system is
 * periodic, and the right-hand side. */
static int row_words(const batch *B) { return 2 * B->band + 2 + (B->periodic ? 2 * B->band : 0); }

/* Work-items: one for each system, as far as there is scratch storage. Calls that do not wait for the number of
 * systems, which nearly always is 0, take no more storage than stays with the device. *size: work-items of a
 * group. */
static int64_t items_at_once(const batch *B, int64_t count, int *size)
{
    enum { LATER_BYTES = 64 << 20 };
    const kry_device *dev = B->dev;
    int64_t most =
        dev->info.cpu_kernels ? 4 * (int64_t)dev->info.compute_units : (int64_t)GROUP * MOST_GROUPS;
    double each = (double)B->n * row_words(B) * (double)kry_type_size(B->type);
    double room = (double)dev->info.global_bytes / 8;
    if (room > (double)dev->info.max_alloc_bytes) room = (double)dev->info.max_alloc_bytes;
    if (B->params.later && room > LATER_BYTES) room = LATER_BYTES;
    if ((double)most * each > room) most = (int64_t)(room / each);
    int64_t items = count < most ? count : most > 0 ? most : 1;
    *size = dev->info.cpu_kernels || items < GROUP || dev->info.max_group < GROUP ? 1 : GROUP;
    return items / *size * *size;
}

kry_status kry_batch_solve_pivoting(const batch *B, int64_t count, bool marked, bool pivoting)
{
    kry_status st = KRY_OK;
    kry_device *dev = B->dev;
    kry_kernel *kernel = NULL;
    cl_mem work = NULL;
    char defines[40];
    int size = 1, words = row_words(B);
    int64_t items = items_at_once(B, count, &size);
    bool cpu = dev->info.cpu_kernels;
    int64_t word = cpu ? 1 : items, slot = cpu ? B->n * words : 1;
    cl_int turn = marked ? B->ticket & 1 : -1, pivots = pivoting;

    snprintf(defines, sizeof defines, "-DBAND=%d%s", B->band, B->periodic ? " -DPERIODIC" : "");
    TRY(kry_kernel_get(dev, "banded", B->type, defines, "banded_solve", &kernel));
    TRY(kry_room_reserve(dev, (size_t)(items * B->n) * (size_t)words * kry_type_size(B->type),
                         &work));
    const batch_array *d = B->diagonal, *low = d + B->band - 1, *high = d + B->band + 1;
    const batch_array *far_low = d, *far_high = d + 2 * B->band;
    kry_arg args[] = { ARG(B->n),
                       ARG(count),
                       ARG(turn),
                       ARG(pivots),
                       ARG_VEC(far_low),
                       ARG_VEC(low),
                       ARG_VEC(&d[B->band]),
                       ARG_VEC(high),
                       ARG_VEC(far_high),
                       ARG(B->m_row),
                       ARG(B->m_system),
                       ARG_VEC(&B->b),
                       ARG_VEC(&B->x),
                       ARG(B->row),
                       ARG(B->system),
                       ARG(B->marks->found),
                       ARG(B->marks->room),
                       ARG(work),
                       ARG(word),
                       ARG(slot) };
    TRY(kry_launch_size(dev, kernel, items / size, size, args, COUNT(args)));
done:
    return st;
}
