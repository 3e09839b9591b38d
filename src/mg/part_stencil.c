/* part_stencil.c - the grid operator on a window around a part's own points: the finest level in parts. */
#include "matrix/matrix_parts.h"
#include "mg/part_boxes.h"
#include <stdlib.h>
#include <string.h>

/* Sides of a window are those of the whole, also where the grid goes on and nothing is known of what is beyond: so one program
 * serves all parts, and a diagonal that is one number stays so. An axis that is cut is no longer periodic. */
static void set_sides(const kry_stencil *A, const kry_cut *cut, const kry_window *w,
                      kry_stencil_params *S)
{
    for (int a = 0; a < A->axes; a++) {
        const bool open = cut->grid.wraps >> a & 1 && w->size[a] < cut->grid.size[a];
        S->low[a] = open ? KRY_DIRICHLET : kry_stencil_side(A, a, false);
        S->high[a] = open ? KRY_DIRICHLET : kry_stencil_side(A, a, true);
    }
}

/* *all := in the window what `numbers` has of the part's own points. */
static kry_status extend(const kry_shell *shell, cl_mem numbers, const kry_stencil *S, cl_mem *all)
{
    kry_status st = KRY_OK;
    kry_vec *mine = NULL, *whole = NULL;

    TRY(kry_buffer_create(S->dev, (size_t)S->n * kry_type_size(S->type), all));
    TRY(kry_vec_wrap(S->dev, S->type, kry_window_points(&shell->own), 1, numbers, 0, &mine));
    TRY(kry_vec_wrap(S->dev, S->type, S->n, 1, *all, 0, &whole));
    TRY(kry_shell_fill(shell, mine, whole));
done:
    kry_vec_release(&whole);
    kry_vec_release(&mine);
    return st;
}

/* Of a box the faces to other parts are not among those of its stencil. */
static kry_status extend_faces(const kry_op *op, const kry_shell *shell, int axis, kry_stencil *S)
{
    kry_status st = KRY_OK;
    const kry_stencil *A = kry_stencil_here(op);
    double *numbers = NULL;
    kry_vec *mine = NULL;

    if (!kry_coupled_of(op)) return extend(shell, A->face[axis], S, &S->face[axis]);
    TRY(kry_alloc((size_t)A->n, sizeof *numbers, &numbers));
    TRY(kry_stencil_read_faces(op, axis, numbers));
    TRY(kry_vec_create(S->dev, S->type, A->n, 1, &mine));
    TRY(kry_vec_write_doubles(mine, numbers));
    TRY(extend(shell, mine->buffer, S, &S->face[axis]));
done:
    kry_vec_release(&mine);
    free(numbers);
    return st;
}

/* S := coefficients and faces in the window, as far as there are any. Collective. */
static kry_status bring_numbers(const kry_op *op, const kry_cut *cut, kry_stencil *S)
{
    kry_status st = KRY_OK;
    const kry_stencil *A = kry_stencil_here(op);
    const kry_window window = kry_cut_wide(cut);
    kry_shell shell = { 0 };

    if (!A->face[0]) return KRY_OK;
    TRY(kry_shell_create(op->dev, A->type, cut, &window, &window, &shell));
    for (int a = 0; a < A->axes; a++) TRY(extend_faces(op, &shell, a, S));
    if (A->coefficient) TRY(extend(&shell, A->coefficient, S, &S->coefficient));
done:
    kry_shell_release(&shell);
    return st;
}

kry_status kry_part_finest(const kry_op *op, const kry_cut *cut, kry_type type, double factor,
                           kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_stencil *A = kry_stencil_here(op);
    const kry_window window = kry_cut_wide(cut);
    kry_stencil numbers = { .dev = op->dev,
                            .type = A->type,
                            .axes = A->axes,
                            .n = kry_window_points(&window),
                            .faces_given = A->faces_given };
    kry_stencil_params params = *KRY_STENCIL();

    TRY(bring_numbers(op, cut, &numbers));
    for (int a = 0; a < A->axes; a++) {
        params.size[a] = window.size[a];
        params.spacing[a] = A->spacing[a], params.diffusion[a] = A->diffusion[a];
    }
    set_sides(A, cut, &window, &params);
    if (*out)
        TRY(kry_stencil_copy_faces(kry_stencil_of(*out), &numbers, factor));
    else
        TRY(kry_stencil_make(op->dev, type, &params, NULL, &numbers, factor, out));
done:
    kry_stencil_release_numbers(&numbers);
    return st;
}
