/* block_levels.c - incomplete factors by level sets: rows that do not depend on each other are solved for at the
 * same time. Levels with few rows follow each other in one group, which waits for itself; levels with many get a
 * launch each.
 *
 * Source  E. Anderson, Y. Saad, Solving sparse triangular linear systems on parallel computers, Int. J. High Speed
 *         Comput. 1 (1989), doi:10.1142/S0129053389000056 */
#include "precond/block_ic.h"
#include <stdlib.h>

enum {
    GPU_GROUP = 256,         /* work-items */
    GPU_FEW = 4 * GPU_GROUP, /* rows of a level that one group takes */
    CPU_FEW = 4096           /* a launch takes as long as so many rows */
};

int kry_block_levels_group(const kry_device *dev)
{
    const int most = dev->info.max_group;
    return dev->info.cpu_kernels ? 1 : most < GPU_GROUP ? most : GPU_GROUP;
}

/* Cut levels into launches. first, rows: room for one each, and one more. */
static void cut(const kry_device *dev, const kry_level_sets *sets, kry_level_launches *to)
{
    const bool cpu = dev->info.cpu_kernels;
    const int32_t few = !cpu ? GPU_FEW : dev->info.compute_units > 1 ? CPU_FEW : INT32_MAX;
    bool gathering = false;

    for (int32_t l = 0; l < sets->count; l++) {
        const int32_t rows = sets->begin[l + 1] - sets->begin[l];
        const bool fits = rows <= few;
        if (!(fits && gathering)) {
            to->first[to->count] = l;
            to->rows[to->count++] = fits ? 0 : rows;
        }
        gathering = fits;
    }
    to->first[to->count] = sets->count;
}

/* The levels of a triangle. position: of each row among them. */
static kry_status plan_sweep(kry_block_solve *s, const kry_sparse *t, bool upper,
                             kry_level_launches *to, int32_t *position)
{
    kry_status st = KRY_OK;
    kry_level_sets sets = { 0 };

    TRY(kry_level_sets_find(t, upper, &sets));
    to->levels = sets.count;
    TRY(kry_alloc((size_t)sets.count + 1, sizeof *to->first, &to->first));
    TRY(kry_alloc((size_t)sets.count, sizeof *to->rows, &to->rows));
    cut(s->dev, &sets, to);
    for (int32_t p = 0; p < s->n; p++) position[sets.row[p]] = p;
    TRY(kry_block_upload(s, sets.begin, (size_t)sets.count + 1, sizeof *sets.begin, &to->begins));
    TRY(kry_block_upload(s, sets.row, (size_t)s->n, sizeof *sets.row, &to->row));
done:
    kry_level_sets_release(&sets);
    return st;
}

kry_status kry_block_levels_pack(kry_block_solve *s, kry_block_factor *f)
{
    kry_status st = KRY_OK;
    int32_t *position = NULL;

    TRY(kry_alloc((size_t)s->n, sizeof *position, &position));
    TRY(plan_sweep(s, &f->lower, false, &s->sweep[0], position));
    TRY(kry_block_pack_rows(s, &f->lower, position, &s->lower));
    TRY(kry_block_factor_mirror(f));
    TRY(plan_sweep(s, &f->upper, true, &s->sweep[1], position));
    TRY(kry_block_pack_rows(s, &f->upper, position, &s->upper));
    TRY(kry_block_pack_inverse(s, f, position));
done:
    free(position);
    return st;
}

void kry_block_levels_release(kry_block_solve *s)
{
    for (int k = 0; k < 2; k++) {
        kry_level_launches *w = &s->sweep[k];
        free(w->first), free(w->rows);
        w->first = w->rows = NULL;
        kry_buffer_release(s->dev, &w->begins);
        kry_buffer_release(s->dev, &w->row);
    }
}

static kry_status run_sweep(kry_block_solve *s, int back, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;
    const kry_level_launches *w = &s->sweep[back];
    const kry_padded_rows *t = back ? &s->upper : &s->lower;
    const int size = kry_block_levels_group(dev);
    kry_scalar by = kry_scalar_of(dev, s->scale);

    for (int32_t k = 0; k < w->count; k++) {
        const cl_int first = w->first[k], last = w->first[k + 1];
        const int64_t groups = w->rows[k] ? (w->rows[k] + size - 1) / size : 1;
        const kry_arg args[] = { ARG(first),      ARG(last),        ARG(back),   ARG(w->begins),
                                 ARG(w->row),     ARG(t->begin),    ARG(t->col), ARG(t->val),
                                 ARG(s->inverse), ARG_ACC(dev, by), ARG_VEC(r),  ARG(r->ld),
                                 ARG_VEC(z),      ARG(z->ld) };
        const kry_range range = { kry_groups_at_most(dev, groups), r->k, size };
        TRY(kry_launch_range(dev, s->kernel, range, args, COUNT(args)));
    }
done:
    return st;
}

kry_status kry_block_levels_run(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;

    TRY(run_sweep(s, 0, r, z));
    TRY(run_sweep(s, 1, r, z));
done:
    return st;
}
