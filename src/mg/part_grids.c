/*
 * part_grids.c - the levels of geometric multigrid on a team: fine ones in parts, each of which has the points that lie in
 * its box, and from the first one on that is small enough those of team_levels.c.
 *
 * The next coarser grid has every second point, wherever grids are cut. On each level a part has a window around its own
 * points, with vectors, a stencil and weights for all of it, and does what one device does with a grid in one piece. b is
 * refreshed as it comes from the finer level, in so many layers that what is wrong at the edge of the window does not reach
 * the own points until the cycle leaves the level on the way up. With s smoothing steps before and after
 *
 *   the finest level takes  s - 1 layers on the way down, one for the residual, or s on the way up: 2 s - 1
 *   others leave s + 1 layers of x, so that the level above, of which they are 2 s + 1, finds s + 1 left, too: 3 s
 *
 * To make the coarse stencil of its own points a part needs the fine one of some layers around these; what else its window
 * has of the coarse stencil the others send: the same numbers as on one device.
 *
 * Exchanged  per cycle these layers of b, once on each level in parts; and what team_levels.c says, of the first level that
 *            is not
 * Storage    on each part its window of the levels in parts, and of all levels of at most `gather` unknowns the whole
 */
#include "mg/part_grids.h"
#include "matrix/matrix_parts.h"
#include "mg/box_finest.h"
#include "mg/part_boxes.h"
#include "multigrid/smoother.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_mg_create";

enum { MOST_LEVELS = 96 }; /* as of boxes */

typedef struct part_grids {
    kry_op *given; /* retained */
    double factor; /* the levels are in single and of so many times that; 0: of the same numbers */
    kryi_box_levels how; /* couplings: of the last level in parts */
    int64_t gather;      /* unknowns at which levels in parts end */
    int steps;           /* of a smoother */
    int count;           /* of levels in parts; 1: A[0] is a share, as `given` */
    kryi_cut cut[MOST_LEVELS];
    kryi_shell shell[MOST_LEVELS]; /* of vectors: the layers that a cycle needs */
    kryi_shell
        stencil[MOST_LEVELS]; /* of stencils: all that a window has of other parts; 0: none */
    kry_op *A[MOST_LEVELS],
        *P[MOST_LEVELS];                   /* owned, on windows; P[i] from level i + 1 to level i */
    kryi_part_passes *passes[MOST_LEVELS]; /* NULL: none */
    double highest[MOST_LEVELS];           /* eigenvalue of D^-1 A[i], at most */
    void *below;                           /* team_levels.c */
} part_grids;

static void part_grids_destroy(void *self)
{
    part_grids *L = self;
    if (!L) return;
    kryi_team_levels_destroy(L->below);
    for (int i = 0; i < MOST_LEVELS; i++) {
        kryi_part_passes_release(&L->passes[i]);
        kry_op_release(&L->P[i]);
        kry_op_release(&L->A[i]);
        kryi_shell_release(&L->stencil[i]);
        kryi_shell_release(&L->shell[i]);
        kryi_cut_release(&L->cut[i]);
    }
    kry_op_release(&L->given);
    free(L);
}

/* ---- numbers of stencils and weights --------------------------------------------------------- */

/* The numbers of one slot: n of them. */
static kry_vec slot_of(kry_device *dev, kry_type type, cl_mem numbers, int64_t n, int slot)
{
    return (kry_vec){
        .dev = dev, .type = type, .n = n, .k = 1, .ld = n, .buffer = numbers, .first = slot * n
    };
}

static kry_vec slot_of_box(const kryi_box *A, int slot)
{
    return slot_of(A->dev, A->type, A->numbers, A->grid.n, slot);
}

/* Of rows that are alike only the ends are made: what is between is copied nevertheless. */
static kry_status clear(const kryi_box *A)
{
    kry_vec all = slot_of(A->dev, A->type, A->numbers, A->slots * A->grid.n, 0);
    return kryi_box_has_ends(&A->grid) ? kry_vec_fill(&all, 0) : KRY_OK;
}

/* to, on the shell's window, := what `from`, on another, has of each part's own points. Collective. */
static kry_status move_numbers(const kryi_box *from, const kryi_window *window, const kryi_box *to,
                               const kryi_shell *shell)
{
    kry_status st = KRY_OK;
    kry_vec *mine = NULL;

    TRY(kry_vec_create(from->dev, from->type, kryi_window_points(&shell->own), 1, &mine));
    for (int s = 0; s < to->slots; s++) {
        const kry_vec x = slot_of_box(from, s);
        kry_vec y = slot_of_box(to, s);
        TRY(kryi_window_copy(&x, window, mine, &shell->own, &shell->own));
        TRY(kryi_shell_fill(shell, mine, &y));
    }
done:
    kry_vec_release(&mine);
    return st;
}

/* What weights and coarse stencils of a level are made of. A: on kryi_cut_wide(cut). */
static kryi_box_source source_of_part(const kry_op *A, const kryi_cut *cut)
{
    const kryi_window window = kryi_cut_wide(cut);
    kryi_box_source s = kryi_box_source_of(A);

    s.grid = kryi_cut_grid(cut, &window);
    return s;
}

/* The weights of P, and the numbers of the next coarser A, a box on the shell's window, of which the shell brings all
 * points: P'A P, by way of the coarse points that lie in the fine window. Collective. Waits. */
static kry_status make_numbers_of_part(const kryi_box_source *s, const kry_op *P,
                                       const kryi_shell *shell, kry_op *A)
{
    kry_status st = KRY_OK;
    kry_op *inner = kryi_transfer_of_part(P);
    kry_op *C = NULL;

    TRY(kryi_box_create(A->dev, A->shape.type, &kryi_box_transfer_of(inner)->coarse,
                        A->shape.traits, &C));
    TRY(clear(kryi_box_of(C)));
    TRY(kryi_box_weigh(s, inner));
    TRY(kryi_box_galerkin(s, inner, C));
    TRY(move_numbers(kryi_box_of(C), kryi_inner_window_of_part(P), kryi_box_of(A), shell));
done:
    kry_op_release(&C);
    return st;
}

/* *placed := one slot of all parts' own points, part by part, to be freed; mine: room for this part's. Collective. */
static kry_status collect_slot(const kry_op *A, const kryi_shell *shell, int slot, double *mine,
                               double **placed)
{
    kry_status st = KRY_OK;
    const kry_vec x = slot_of_box(kryi_box_of(A), slot);
    kry_vec *own = NULL;
    size_t count;

    TRY(kry_vec_create(A->dev, A->shape.type, kryi_window_points(&shell->own), 1, &own));
    TRY(kryi_window_copy(&x, &shell->window, own, &shell->own, &shell->own));
    TRY(kryi_vec_read_doubles(own, mine));
    TRY(kryi_layout_collect(&A->dev->layout, mine, (size_t)own->n, sizeof *mine, placed, &count));
done:
    kry_vec_release(&own);
    return st;
}

/* row := the rows of the whole that are the parts' points, part by part. */
static void list_rows(const kryi_cut *cut, int parts, int64_t *row)
{
    for (int r = 0; r < parts; r++)
        for (int64_t i = 0; i < cut->first[r + 1] - cut->first[r]; i++)
            *row++ = kryi_boxes_row(&cut->boxes, r, i);
}

/* kryi_whole.collect of a level in parts. */
static kry_status collect_box(const kry_op *A, const kryi_shell *shell, kry_op **whole)
{
    kry_status st = KRY_OK;
    const kryi_box_grid *grid = &shell->cut->grid;
    double *mine = NULL, *placed = NULL, *all = NULL;
    int64_t *row = NULL;

    TRY(kryi_alloc((size_t)kryi_window_points(&shell->own), sizeof *mine, &mine));
    TRY(kryi_alloc((size_t)grid->n, sizeof *all, &all));
    TRY(kryi_alloc((size_t)grid->n, sizeof *row, &row));
    list_rows(shell->cut, kryi_layout_size(&A->dev->layout), row);
    if (!*whole) TRY(kryi_box_create(A->dev, A->shape.type, grid, A->shape.traits, whole));
    const kryi_box *B = kryi_box_of(*whole);
    for (int s = 0; s < B->slots; s++) {
        kry_vec to = slot_of_box(B, s);
        TRY(collect_slot(A, shell, s, mine, &placed));
        for (int64_t i = 0; i < grid->n; i++) all[row[i]] = placed[i];
        free(placed), placed = NULL;
        TRY(kryi_vec_write_doubles(&to, all));
    }
done:
    free(row);
    free(all);
    free(placed);
    free(mine);
    return st;
}

/* ---- the finest level: the grid operator on a window around a part's own points -------------- */

/* Sides of a window are those of the whole, also where the grid goes on and nothing is known of what is beyond: so one program
 * serves all parts, and a diagonal that is one number stays so. An axis that is cut is no longer periodic. */
static void set_sides(const kryi_stencil *A, const kryi_cut *cut, const kryi_window *w,
                      kry_stencil_params *S)
{
    for (int a = 0; a < A->axes; a++) {
        const bool open = cut->grid.wraps >> a & 1 && w->size[a] < cut->grid.size[a];
        S->low[a] = open ? KRY_DIRICHLET : kryi_stencil_side(A, a, false);
        S->high[a] = open ? KRY_DIRICHLET : kryi_stencil_side(A, a, true);
    }
}

/* *all := in the window what `numbers` has of the part's own points. */
static kry_status extend(const kryi_shell *shell, cl_mem numbers, const kryi_stencil *S,
                         cl_mem *all)
{
    kry_status st = KRY_OK;
    kry_vec *mine = NULL, *whole = NULL;

    TRY(kryi_buffer_create(S->dev, (size_t)S->n * kry_type_size(S->type), all));
    TRY(kry_vec_wrap(S->dev, S->type, kryi_window_points(&shell->own), 1, numbers, 0, &mine));
    TRY(kry_vec_wrap(S->dev, S->type, S->n, 1, *all, 0, &whole));
    TRY(kryi_shell_fill(shell, mine, whole));
done:
    kry_vec_release(&whole);
    kry_vec_release(&mine);
    return st;
}

/* Of a box the faces to other parts are not among those of its stencil. */
static kry_status extend_faces(const kry_op *op, const kryi_shell *shell, int axis, kryi_stencil *S)
{
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    double *numbers = NULL;
    kry_vec *mine = NULL;

    if (!kryi_coupled_of(op)) return extend(shell, A->face[axis], S, &S->face[axis]);
    TRY(kryi_alloc((size_t)A->n, sizeof *numbers, &numbers));
    TRY(kryi_stencil_read_faces(op, axis, numbers));
    TRY(kry_vec_create(S->dev, S->type, A->n, 1, &mine));
    TRY(kryi_vec_write_doubles(mine, numbers));
    TRY(extend(shell, mine->buffer, S, &S->face[axis]));
done:
    kry_vec_release(&mine);
    free(numbers);
    return st;
}

/* S := coefficients and faces in the window, as far as there are any. Collective. */
static kry_status bring_numbers(const kry_op *op, const kryi_cut *cut, kryi_stencil *S)
{
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    const kryi_window window = kryi_cut_wide(cut);
    kryi_shell shell = { 0 };

    if (!A->face[0]) return KRY_OK;
    TRY(kryi_shell_create(op->dev, A->type, cut, &window, &window, &shell));
    for (int a = 0; a < A->axes; a++) TRY(extend_faces(op, &shell, a, S));
    if (A->coefficient) TRY(extend(&shell, A->coefficient, S, &S->coefficient));
done:
    kryi_shell_release(&shell);
    return st;
}

/* *A := the grid operator `given`, a share, on kryi_cut_wide(cut), in a type and times a factor; or its numbers for an *A that
 * is there. Collective. Waits.
 * Returns  KRY_ERR_UNSUPPORTED, maybe on some parts alone, for numbers that the type cannot hold */
static kry_status make_finest(const kry_op *op, const kryi_cut *cut, kry_type type, double factor,
                              kry_op **out)
{
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    const kryi_window window = kryi_cut_wide(cut);
    kryi_stencil numbers = { .dev = op->dev,
                             .type = A->type,
                             .axes = A->axes,
                             .n = kryi_window_points(&window),
                             .faces_given = A->faces_given };
    kry_stencil_params params = *KRY_STENCIL();

    TRY(bring_numbers(op, cut, &numbers));
    for (int a = 0; a < A->axes; a++) {
        params.size[a] = window.size[a];
        params.spacing[a] = A->spacing[a], params.diffusion[a] = A->diffusion[a];
    }
    set_sides(A, cut, &window, &params);
    if (*out)
        TRY(kryi_stencil_copy_faces(kryi_stencil_of(*out), &numbers, factor));
    else
        TRY(kryi_stencil_make(op->dev, type, &params, NULL, &numbers, factor, out));
done:
    kryi_stencil_release_numbers(&numbers);
    return st;
}

/* ---- the levels ------------------------------------------------------------------------------------- */

static kry_type type_of(const part_grids *L)
{
    return L->factor != 0 ? KRY_F32 : L->given->shape.type;
}

/* Steps that are taken between two refreshes; and layers of levels: see above. */
static int steps_apart(const part_grids *L)
{
    return L->steps < KRY_SMOOTHER_APART ? L->steps : KRY_SMOOTHER_APART;
}
static int layers_below(const part_grids *L) { return 3 * steps_apart(L); }
static int layers_of_finest(const part_grids *L)
{
    const int steps = steps_apart(L);
    return L->steps > steps ? layers_below(L) : steps > 1 ? 2 * steps - 1 : 2;
}

static kry_status make_shell(part_grids *L, int i)
{
    const kryi_window wide = kryi_cut_wide(&L->cut[i]), near = kryi_cut_near(&L->cut[i]);
    return kryi_shell_create(L->given->dev, type_of(L), &L->cut[i], &wide, &near, &L->shell[i]);
}

/* The grid with every second point of the last one, on which a part keeps its window. */
static kry_status make_coarser(part_grids *L, unsigned axes)
{
    kry_status st = KRY_OK;
    const int i = L->count - 1;
    kry_device *dev = L->given->dev;
    kryi_cut *coarse = &L->cut[i + 1];

    TRY(kryi_cut_coarsen(&L->cut[i], axes, coarse));
    coarse->layers = layers_below(L);
    TRY(make_shell(L, i + 1));
    const kryi_window wide = kryi_cut_wide(coarse);
    TRY(kryi_shell_create(dev, type_of(L), coarse, &wide, &wide, &L->stencil[i + 1]));
    const kryi_box_grid grid = kryi_cut_grid(coarse, &L->shell[i + 1].window);
    TRY(kryi_part_transfer_create(dev, type_of(L), &L->cut[i], axes, &L->shell[i + 1], &L->P[i]));
    TRY(kryi_box_create(dev, type_of(L), &grid, L->given->shape.traits, &L->A[i + 1]));
done:
    return st;
}

static kry_status make_numbers(const part_grids *L, int i)
{
    const kryi_box_source s = source_of_part(L->A[i], &L->cut[i]);
    return make_numbers_of_part(&s, L->P[i], &L->stencil[i + 1], L->A[i + 1]);
}

/* Append the level below the last one. *more: there is one. */
static kry_status append(part_grids *L, bool *more)
{
    kry_status st = KRY_OK;
    const int i = L->count - 1;
    const kryi_cut *cut = &L->cut[i];
    const kryi_window wide = kryi_cut_wide(cut), own = kryi_cut_own(cut),
                      inner = kryi_window_within(&wide, &own);
    const kryi_box_source s = source_of_part(L->A[i], cut);
    kryi_axis_couplings c = L->how.couplings;
    unsigned axes;

    TRY(kryi_choose_axes(&c, &cut->grid, &s, &inner, &axes));
    *more = axes && kryi_cut_can_coarsen(cut, axes, layers_below(L));
    if (!*more) goto done;
    TRY(make_coarser(L, axes));
    TRY(make_numbers(L, i));
    L->how.couplings = c;
    L->count++;
done:
    return st;
}

/* Find the bounds of the levels between the finest and the last one in parts; team_levels.c knows those. Collective. Waits. */
static kry_status find_bounds(part_grids *L)
{
    kry_status st = KRY_OK;
    const int count = L->count - 2;
    kry_op *box[MOST_LEVELS];

    L->highest[0] = 2; /* a row of fluxes has no larger sum of couplings than its diagonal */
    if (count <= 0) return KRY_OK;
    for (int i = 0; i < count; i++) box[i] = L->A[i + 1];
    TRY(kryi_box_bounds(box, count, L->highest + 1));
    TRY(kryi_layout_combine(&L->given->dev->layout, KRY_MAX, L->highest + 1, (size_t)count));
    for (int i = 1; i <= count; i++)
        CHECK(
            isfinite(L->highest[i]), KRY_ERR_ARGUMENT,
            "%s: the grid operator is not positive definite: level %d of multigrid has a diagonal "
            "entry that is not positive",
            who, i);
done:
    return st;
}

/* ---- the levels below those in parts ------------------------------------------------------------------ */

static int64_t row_of_grid(const kry_op *A, const kryi_shell *shell, int64_t i)
{
    (void)shell;
    return kryi_layout_row(&A->dev->layout, i);
}

static int64_t row_of_box(const kry_op *A, const kryi_shell *shell, int64_t i)
{
    (void)A;
    return kryi_boxes_row(&shell->cut->boxes, shell->cut->rank, i);
}

/* Whether polynomials of degree 3 are taken on any part, where nobody asks for a degree. Collective. */
static kry_status takes_degree_3(const part_grids *L, bool *takes)
{
    kry_status st = KRY_OK;
    double three = kryi_finest_grid_suits_degree_3(L->given, L->factor);

    TRY(kryi_layout_combine(&L->given->dev->layout, KRY_MAX, &three, 1));
    *takes = !L->how.params.cycle.degree && three != 0;
done:
    return st;
}

static kry_status add_levels(kryi_hierarchy *H, part_grids *L, int levels)
{
    static const kryi_whole grid = { kryi_collect_grid, kryi_box_levels_create, row_of_grid },
                            box = { collect_box, kryi_box_levels_create, row_of_box };
    kry_status st = KRY_OK;
    const int last = L->count - 1;
    kryi_box_levels theirs = L->how;
    bool three;

    for (int i = 0; i < last; i++) {
        kryi_level level = {
            .A = L->A[i], .P = L->P[i], .highest = L->highest[i], .shell = &L->shell[i]
        };
        TRY(kryi_part_passes_create(L->A[i], L->P[i], L->steps, &level, &L->passes[i]));
        TRY(kryi_hierarchy_add(H, &level));
    }
    theirs.params.cycle.values = KRY_CYCLE_VALUES_DOUBLE; /* in the numbers of A */
    theirs.params.cycle.levels = levels - last;
    TRY(takes_degree_3(L, &three));
    if (three) theirs.params.cycle.degree = 3; /* of all levels */
    const kryi_whole_params whole = { .how = last ? &box : &grid,
                                      .params = &theirs,
                                      .shell = last ? &L->shell[last] : NULL };
    TRY(kryi_team_levels_make(H, L->A[last], &whole, &L->below));
    kryi_hierarchy_level(H, 0)->factor = L->factor;
done:
    return st;
}

/* ---- the family --------------------------------------------------------------------------------------- */

static kry_status count_steps(part_grids *L, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    kry_cycle_params c = *cycle;
    bool three;

    TRY(takes_degree_3(L, &three));
    if (three) c.degree = 3;
    L->steps = kryi_smoother_steps(&c);
done:
    return st;
}

/* A[0] := the grid on the window. KRY_ERR_UNSUPPORTED on all parts: one of them has numbers that single cannot hold. */
static kry_status make_window(part_grids *L)
{
    kry_status st = KRY_OK;
    const bool new = !L->A[0];
    const kry_status mine =
        make_finest(L->given, &L->cut[0], type_of(L), L->factor != 0 ? L->factor : 1, &L->A[0]);
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && refused == 0) return mine;
    TRY(kryi_layout_combine(&L->given->dev->layout, KRY_MAX, &refused, 1));
    if (refused != 0 && new) kry_op_release(&L->A[0]);
    CHECK(mine < 0 || refused == 0, KRY_ERR_UNSUPPORTED,
          "%s: values = single, not on another device of the team", who);
    st = mine;
done:
    return st;
}

/* The finest level on a part's window, if it is to have a coarser one in parts. */
static kry_status begin_in_parts(part_grids *L, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    const kry_cycle_values values = L->how.params.cycle.values;

    TRY(kryi_finest_factor(L->given, values, &L->factor));
    TRY(count_steps(L, cycle));
    L->cut[0].layers = layers_of_finest(L);
    st = make_window(L);
    if (st == KRY_ERR_UNSUPPORTED && L->factor != 0 && values == KRY_CYCLE_VALUES_AUTO) {
        L->factor = 0;
        TRY(count_steps(L, cycle));
        L->cut[0].layers = layers_of_finest(L);
        TRY(make_window(L));
    }
    if (st < 0) goto done;
    TRY(make_shell(L, 0));
done:
    return st;
}

/* Levels in parts, as many as there can be. */
static kry_status make_parts(part_grids *L, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    /* On its window a part can smooth step by step with D^-1; red-black sweeps go from one colour to the next, and other
     * scalings are made of all rows. */
    bool more = kryi_smoother_steps(cycle) > 0 && L->cut[0].grid.n > L->gather && cycle->levels > 2;

    if (more) more = kryi_cut_can_coarsen(&L->cut[0], 0, 3 * KRY_SMOOTHER_APART);
    if (!more) return KRY_OK;
    TRY(begin_in_parts(L, cycle));
    while (more && L->count < MOST_LEVELS && L->count < cycle->levels - 1 &&
           L->cut[L->count - 1].grid.n > L->gather)
        TRY(append(L, &more));
    if (L->count > 1) goto done;
    kryi_shell_release(&L->shell[0]);
    kry_op_release(&L->A[0]);
done:
    return st;
}

/* If no level is in parts: nothing is gained by single. */
static kry_status take_share(part_grids *L)
{
    kry_cycle_values values = L->how.params.cycle.values;

    if (values == KRY_CYCLE_VALUES_AUTO) values = KRY_CYCLE_VALUES_DOUBLE;
    return kryi_finest_grid(L->given, values, &L->factor, &L->A[0]);
}

static kry_status part_grids_make(kryi_hierarchy *H, const kry_op *A, const void *params,
                                  void **self)
{
    enum { GATHER = 16384 };
    kry_status st = KRY_OK;
    const kryi_box_levels *p = params;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);
    part_grids *L = NULL;

    *self = NULL;
    TRY(kryi_alloc(1, sizeof *L, &L));
    L->how = *p;
    L->gather = p->params.gather ? p->params.gather : GATHER;
    if (L->gather < cycle->coarsest) L->gather = cycle->coarsest;
    L->given = kry_op_retain(A);
    L->count = 1;
    TRY(kryi_cut_of(A, &L->cut[0]));
    TRY(make_parts(L, cycle));
    if (L->count == 1) TRY(take_share(L));
    TRY(find_bounds(L));
    TRY(add_levels(H, L, cycle->levels));
    *self = L, L = NULL;
done:
    part_grids_destroy(L);
    return st;
}

static kry_status renew_finest(part_grids *L)
{
    kry_status st = KRY_OK;

    if (L->count == 1)
        return L->factor != 0 ? kryi_finest_grid_renew(L->given, &L->factor, &L->A[0]) : KRY_OK;
    if (L->factor != 0) TRY(kryi_finest_factor_renew(L->given, &L->factor));
    TRY(make_window(L));
done:
    return st;
}

static kry_status part_grids_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    part_grids *L = self;

    TRY(renew_finest(L));
    for (int i = 0; i + 1 < L->count; i++) TRY(make_numbers(L, i));
    TRY(find_bounds(L));
    for (int i = 0; i + 1 < L->count; i++) kryi_hierarchy_level(H, i)->highest = L->highest[i];
    TRY(kryi_team_levels_update(H, L->below));
    kryi_hierarchy_level(H, 0)->factor = L->factor;
done:
    return st;
}

static kry_status part_grids_settle(kryi_hierarchy *H, void *self, kryi_tail *tail)
{
    (void)H;
    kryi_team_levels_tail(((const part_grids *)self)->below, tail);
    return KRY_OK;
}

kry_status kryi_part_grids_create(const kry_op *A, const kryi_box_levels *how, kry_op **M)
{
    static const kryi_family family = { .kind = "mg",
                                        .who = who,
                                        .coarsest = KRY_BOX_COARSEST,
                                        .create = part_grids_make,
                                        .update = part_grids_update,
                                        .settle = part_grids_settle,
                                        .destroy = part_grids_destroy };
    return kryi_hierarchy_create(&family, A, &how->params.cycle, how, M);
}
