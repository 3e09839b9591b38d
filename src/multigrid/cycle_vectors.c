/* cycle_vectors.c - the vectors of a cycle's levels, and between those of the finest one and the caller's. */
#include "multigrid/cycle.h"
#include "multigrid/part_window.h"

kry_vec kry_cycle_columns(const kry_hierarchy *H, const kry_vec *room)
{
    return kry_vec_columns(room, 0, H->columns);
}

kry_status kry_cycle_make_room(kry_hierarchy *H, int64_t columns)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < H->count; i++) {
        kry_rung *g = &H->rung[i];
        kry_vec **all[] = { &g->b,        &g->x,        &g->work,    &g->again[0],
                            &g->again[1], &g->again[2], &g->again[3] };
        for (size_t v = 0; v < COUNT(all); v++)
            if (*all[v]) TRY(kry_vec_widen(all[v], columns));
    }
    if (H->narrow) TRY(kry_narrow_widen(H->narrow, columns));
    H->columns = columns;
done:
    return st;
}

/* to := b, in the numbers that the finest level has. */
static kry_status bring_in(const kry_hierarchy *H, const kry_vec *b, kry_vec *to)
{
    kry_status st = KRY_OK;
    const kry_shell *shell = H->rung[0].level.shell;
    kry_vec mine = shell ? kry_shell_place(shell, 0, to) : kry_vec_borrow(to);

    TRY(H->narrow ? kry_narrow_down(H->narrow, b, &mine) : kry_vec_copy(b, &mine));
    if (shell) TRY(kry_shell_fill(shell, &mine, to));
done:
    return st;
}

/* x := what the finest level has; sum: (b.x, b.b), of levels in single */
static kry_status bring_out(const kry_hierarchy *H, const kry_vec *b, const kry_vec *from,
                            kry_vec *x, kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kry_shell *shell = H->rung[0].level.shell;
    kry_vec mine = kry_vec_borrow(from);

    if (shell) TRY(kry_shell_take(shell, 0, from, &mine));
    TRY(H->narrow ? kry_narrow_up(H->narrow, b, &mine, x, sum) : kry_vec_copy(&mine, x));
done:
    return st;
}

kry_status kry_cycle_apart(kry_hierarchy *H, kry_plain_cycle *run, const kry_vec *b, kry_vec *x,
                           kry_cycle_sums s)
{
    kry_status st = KRY_OK;
    const kry_rung *g = H->rung;
    kry_narrow *N = H->narrow;
    const kry_op *A = g->level.A;
    const bool widens = N && H->widens && b->k == 1;
    kry_vec own_b = kry_cycle_columns(H, g->b), own_x = kry_cycle_columns(H, g->x);
    kry_sum *sum = !N || b->k > 1 ? NULL : s.dots ? s.dots : N->dots;

    if (N) TRY(kry_narrow_measure(N, b, s.known));
    TRY(bring_in(H, b, &own_b));
    TRY(run(H, &own_b, &own_x, widens));
    if (widens) {
        const kry_vec iterate = kry_cycle_columns(H, g->work);
        TRY(A->fused->relax_widening(A->self, g->smooth.up.step[g->smooth.up.count - 1], N->unit, b,
                                     &iterate, x, sum));
    } else {
        TRY(bring_out(H, b, &own_x, x, sum));
    }
done:
    return st;
}
