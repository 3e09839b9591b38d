/*
 * grid_levels.c - the levels of geometric multigrid: a grid operator, then boxes with every second point, each the Galerkin
 * operator of the interpolation that the operator above it says.
 *
 * On a team the fine ones are in parts, each of which has the points that lie in its box, and from the first one on that is
 * small enough they are those of team_levels.c. Grids are coarsened alike wherever they are cut. On each level a part has a
 * window around its own points, with vectors, a stencil and weights for all of it, and does what one device does with a grid
 * in one piece. b is refreshed as it comes from the finer level, in so many layers that what is wrong at the edge of the
 * window does not reach the own points until the cycle leaves the level on the way up. With s smoothing steps before and
 * after
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
#include "matrix/matrix_parts.h"
#include "mg/box_passes.h"
#include "mg/box_space.h"
#include "mg/part_boxes.h"
#include "multigrid/smoother.h"
#include "multigrid/team_levels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_mg_create";

/* ---- which axes are coarsened ---------------------------------------------------------------------- */

/* Axes along which couplings are weak are not coarsened, until the others have caught up: a point-wise smoother leaves errors
 * that are rough along them. */

/* How the couplings of the next level compare, as far as that is known without looking. */
typedef struct axis_couplings {
    double semi;        /* as kry_mg_params has it, with its default */
    bool known;         /* `strength` is right: the coefficients are constant */
    double strength[3]; /* in any unit */
} axis_couplings;

/* The mean over all points of all parts. */
static kry_status measure(const kryi_box_grid *grid, const kryi_box_source *A,
                          const kryi_window *own, unsigned axes, double strength[3])
{
    kry_status st = KRY_OK;

    TRY(kryi_box_strength(A, axes, own, strength));
    TRY(kryi_layout_combine(&A->dev->layout, KRY_ADD, strength, 3));
    for (int a = 0; a < 3; a++) strength[a] /= (double)grid->n;
done:
    return st;
}

/*
 * *axes := a mask of those that are coarsened; 0: none is long enough.
 *
 *   grid  the whole
 *   A     its stencil, or on a part of a team that of some of its points, of which those of the window are this part's
 *   own   NULL: all
 * Collective. May wait.
 */
static kry_status choose_axes(axis_couplings *c, const kryi_box_grid *grid,
                              const kryi_box_source *A, const kryi_window *own, unsigned *axes)
{
    kry_status st = KRY_OK;
    unsigned can = 0;
    double most = 0;

    for (int a = 0; a < grid->axes; a++) can |= (unsigned)(grid->size[a] > 2) << a;
    *axes = can;
    if (c->semi < 0 || !(can & (can - 1))) goto done; /* no choice */
    if (!c->known) TRY(measure(grid, A, own, can, c->strength));
    for (int a = 0; a < 3; a++)
        if (can >> a & 1) most = fmax(most, c->strength[a]);
    for (int a = 0; a < 3; a++)
        if (c->strength[a] < c->semi * most) *axes &= ~(1u << a);
    /* Isotropic ones stay so. */
    if (*axes == can) c->semi = -1;
    /* Twice the distance: a quarter, in units of those that stay. */
    for (int a = 0; a < 3; a++)
        if (*axes >> a & 1) c->strength[a] /= 4;
done:
    return st;
}

/* ---- the finest level in single, if that does as well ------------------------------------------------- */

/* How large couplings are, and how many times the strongest one is as large as the weakest one along the same axis, of all
 * parts; not finite: beyond what can be said. May wait. */
static kry_status measure_couplings(const kryi_stencil *S, double *size, double *jump)
{
    kry_status st = KRY_OK;
    kry_vec *v = NULL;
    double largest, smallest;

    *size = 0, *jump = 1;
    for (int a = 0; a < S->axes; a++) {
        largest = smallest = S->weight[a];
        if (S->face[0]) {
            TRY(kry_vec_wrap(S->dev, S->type, S->n, 1, S->face[a], 0, &v));
            TRY(kryi_vec_range(v, &largest, &smallest));
            kry_vec_release(&v);
        }
        double both[] = { largest, -smallest };
        TRY(kryi_layout_combine(&S->dev->layout, KRY_MAX, both, 2));
        *size = fmax(*size, both[0]);
        if (both[0] > 0) *jump = fmax(*jump, both[0] / -both[1]);
    }
done:
    kry_vec_release(&v);
    return st;
}

/* KRY_ERR_UNSUPPORTED if couplings are `most` times apart, or beyond single altogether. */
static kry_status measure_factor(const kry_op *given, double most, double *factor)
{
    kry_status st = KRY_OK;
    double size, jump;

    TRY(measure_couplings(kryi_stencil_here(given), &size, &jump));
    CHECK(
        size > 0 && isfinite(size) && jump < most, KRY_ERR_UNSUPPORTED,
        "%s: values = single, with couplings up to %g, %g times as large as others; below %g times "
        "is what single can hold",
        who, size, jump, most);
    *factor = ldexp(1, -ilogb(size));
done:
    return st;
}

/* Jumps at which a cycle in single takes as many iterations as one in double, or one more: beyond, what single resolves of
 * x where couplings are strong is not enough for those that are weak. And jumps at which it works at all. */
static const double smooth_jumps = 2e5, most_jumps = 1e20;

/* *factor := the one below. Collective of a share. May wait. */
static kry_status finest_factor(const kry_op *given, kry_cycle_values values, double *factor)
{
    kry_status st = KRY_ERR_UNSUPPORTED;

    if (given->shape.type == KRY_F32) values = KRY_CYCLE_VALUES_DOUBLE; /* as they are */
    if (values == KRY_CYCLE_VALUES_SINGLE) return measure_factor(given, most_jumps, factor);
    if (values == KRY_CYCLE_VALUES_AUTO) st = measure_factor(given, smooth_jumps, factor);
    if (st != KRY_ERR_UNSUPPORTED) return st;
    *factor = 0;
    return KRY_OK;
}

/* Renew the factor, for the numbers that a grid has now whose levels are in single. */
static kry_status finest_factor_renew(const kry_op *given, double *factor)
{
    return measure_factor(given, most_jumps, factor);
}

/*
 * *A := the grid in single, where that is asked for or, if nobody says, as good, times *factor: a power of two so that
 * couplings are about 1, so that no size of them leaves the range of single in a cycle; else the grid itself, and 0.
 *
 *   given  a grid operator, or a share of one. Collective then
 * Returns  KRY_ERR_UNSUPPORTED if it is asked for and couplings are beyond single. May wait.
 */
static kry_status finest_grid(const kry_op *given, kry_cycle_values values, double *factor,
                              kry_op **A)
{
    kry_status st = KRY_OK;

    TRY(finest_factor(given, values, factor));
    if (*factor != 0) st = kryi_op_make_copy(who, given, KRY_F32, *factor, NULL, A);
    if (st == KRY_ERR_UNSUPPORTED && values == KRY_CYCLE_VALUES_AUTO) st = KRY_OK, *factor = 0;
    if (st == KRY_OK && *factor == 0) *A = kry_op_retain(given);
done:
    return st;
}

/* Renew *A, a copy in single, for the numbers that the grid has now. */
static kry_status finest_grid_renew(const kry_op *given, double *factor, kry_op **A)
{
    kry_status st = KRY_OK;

    TRY(finest_factor_renew(given, factor));
    TRY(kryi_op_make_copy(who, given, KRY_F32, *factor, NULL, A));
done:
    return st;
}

/*
 * Whether polynomials of degree 3 smooth in less time than those of 2: on GPUs, by tiles in single with constant
 * coefficients, a step more costs less than the iterations that it saves: on an H100 7 in place of 9 on 8192 x 8192, in
 * 26 ms in place of 32; in space, and at varying coefficients, it does not.
 */
static bool finest_grid_suits_degree_3(const kry_op *given, double factor)
{
    const kryi_stencil *S = kryi_stencil_here(given);
    return factor != 0 && S->axes == 2 && !S->face[0] && !S->dev->info.cpu_kernels;
}

/* ---- the levels ---------------------------------------------------------------------------------- */

/* Levels of 2^31 points of which one axis at a time is halved are fewer. */
enum { MOST_LEVELS = 96 };

/* How levels are made: the parameters, and the couplings of the finest of them, a grid operator or a stored stencil. */
typedef struct levels_wanted {
    kry_mg_params params;
    axis_couplings couplings;
} levels_wanted;

typedef struct grids {
    kry_op *given;     /* retained; A[0], or in double where the levels are in single */
    double factor;     /* A[0] is so many times that, rounded; 0: of the same numbers */
    levels_wanted how; /* couplings: of the last level */
    int count;         /* of levels that are not those of team_levels.c */
    kry_op *A[MOST_LEVELS],
        *P[MOST_LEVELS];         /* owned; P[i] from level i + 1 to level i; in parts on windows */
    double highest[MOST_LEVELS]; /* eigenvalue of D^-1 A[i], at most */

    /* of a grid in one piece; NULL: there are none */
    kryi_box_passes *passes[MOST_LEVELS];
    kryi_box_space *space; /* of level 0 */
    kryi_box_tail *tail;

    /* of a grid in parts; with a count of 1 A[0] is a share, as `given` */
    int64_t gather; /* unknowns at which levels in parts end */
    int steps;      /* of a smoother */
    kryi_cut cut[MOST_LEVELS];
    kryi_shell shell[MOST_LEVELS]; /* of vectors: the layers that a cycle needs */
    kryi_shell
        stencil[MOST_LEVELS]; /* of stencils: all that a window has of other parts; 0: none */
    kryi_part_passes *part_passes[MOST_LEVELS]; /* NULL: none */
    void *below;                                /* team_levels.c; NULL: the grid is in one piece */
} grids;

static bool in_parts(const grids *L) { return L->cut[0].first != NULL; }

static void grids_destroy(void *self)
{
    grids *L = self;
    if (!L) return;
    kryi_team_levels_destroy(L->below);
    kryi_box_tail_release(&L->tail);
    kryi_box_space_release(&L->space);
    for (int i = 0; i < MOST_LEVELS; i++) {
        kryi_part_passes_release(&L->part_passes[i]);
        kryi_box_passes_release(&L->passes[i]);
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

/* What weights and coarse stencils of a level are made of. cut: A is on kryi_cut_wide(cut); NULL: the grid is in one piece. */
static kryi_box_source source_of(const kry_op *A, const kryi_cut *cut)
{
    kryi_box_source s = kryi_box_source_of(A);

    if (cut) {
        const kryi_window window = kryi_cut_wide(cut);
        s.grid = kryi_cut_grid(cut, &window);
    }
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

static kry_type type_of(const grids *L) { return L->factor != 0 ? KRY_F32 : L->given->shape.type; }

/* Steps that are taken between two refreshes; and layers of levels: see above. */
static int steps_apart(const grids *L)
{
    return L->steps < KRY_SMOOTHER_APART ? L->steps : KRY_SMOOTHER_APART;
}
static int layers_below(const grids *L) { return 3 * steps_apart(L); }
static int layers_of_finest(const grids *L)
{
    const int steps = steps_apart(L);
    return L->steps > steps ? layers_below(L) : steps > 1 ? 2 * steps - 1 : 2;
}

static kry_status make_shell(grids *L, int i)
{
    const kryi_window wide = kryi_cut_wide(&L->cut[i]), near = kryi_cut_near(&L->cut[i]);
    return kryi_shell_create(L->given->dev, type_of(L), &L->cut[i], &wide, &near, &L->shell[i]);
}

/* The grid with every second point of the last one. */
static kry_status make_coarser(grids *L, const kryi_box_grid *fine, unsigned axes)
{
    kry_status st = KRY_OK;
    const int i = L->count - 1;
    const kry_op *A = L->A[i];

    TRY(kryi_box_transfer_create(A->dev, A->shape.type, fine, axes, &L->P[i]));
    TRY(kryi_box_create(A->dev, A->shape.type, &kryi_box_transfer_of(L->P[i])->coarse,
                        A->shape.traits, &L->A[i + 1]));
done:
    return st;
}

/* The same grid, of which a part keeps its window. */
static kry_status make_coarser_window(grids *L, unsigned axes)
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

/* The numbers of P[i] and of A[i + 1]. Collective in parts. */
static kry_status make_numbers(const grids *L, int i)
{
    kry_status st = KRY_OK;
    const kryi_box_source s = source_of(L->A[i], in_parts(L) ? &L->cut[i] : NULL);

    if (in_parts(L)) return make_numbers_of_part(&s, L->P[i], &L->stencil[i + 1], L->A[i + 1]);
    TRY(kryi_box_weigh(&s, L->P[i]));
    TRY(kryi_box_galerkin(&s, L->P[i], L->A[i + 1]));
done:
    return st;
}

/* Append the level below the last one. *more: there is one. */
static kry_status append(grids *L, bool *more)
{
    kry_status st = KRY_OK;
    const int i = L->count - 1;
    const kryi_cut *cut = in_parts(L) ? &L->cut[i] : NULL;
    const kryi_box_source s = source_of(L->A[i], cut);
    axis_couplings c = L->how.couplings;
    kryi_window mine;
    unsigned axes;

    if (cut) {
        const kryi_window wide = kryi_cut_wide(cut), own = kryi_cut_own(cut);
        mine = kryi_window_within(&wide, &own);
    }
    TRY(choose_axes(&c, cut ? &cut->grid : &s.grid, &s, cut ? &mine : NULL, &axes));
    *more = axes && (!cut || kryi_cut_can_coarsen(cut, axes, layers_below(L)));
    if (!*more) goto done;
    TRY(cut ? make_coarser_window(L, axes) : make_coarser(L, &s.grid, axes));
    TRY(make_numbers(L, i));
    L->how.couplings = c;
    L->count++;
done:
    return st;
}

/* Find the bounds of the levels but the last one: it is not smoothed, or team_levels.c knows its bound. Collective in parts.
 * Waits. */
static kry_status find_bounds(grids *L)
{
    kry_status st = KRY_OK;
    /* a row of fluxes has no larger sum of couplings than its diagonal */
    const int last = L->count - 1, first = kryi_box_of(L->A[0]) ? 0 : 1;

    L->highest[0] = 2;
    if (last <= first) return KRY_OK;
    TRY(kryi_box_bounds(L->A + first, last - first, L->highest + first));
    TRY(kryi_layout_combine(&L->given->dev->layout, KRY_MAX, L->highest + first,
                            (size_t)(last - first)));
    for (int i = first; i < last; i++)
        CHECK(
            isfinite(L->highest[i]), KRY_ERR_ARGUMENT,
            "%s: the grid operator is not positive definite: level %d of multigrid has a diagonal "
            "entry that is not positive",
            who, i);
done:
    return st;
}

/* ---- a grid in one piece ------------------------------------------------------------------------------ */

static kry_status make_passes(grids *L, int i, int steps, kryi_level *level)
{
    kry_status st = KRY_OK;
    bool narrow = !i && L->factor != 0;

    TRY(kryi_box_passes_create(L->A[i], L->P[i], steps, narrow, &L->passes[i]));
    if (!L->passes[i] && narrow) {
        narrow = false;
        TRY(kryi_box_passes_create(L->A[i], L->P[i], steps, narrow, &L->passes[i]));
    }
    if (!L->passes[i]) goto done;
    level->passes = narrow ? &kryi_box_passes_narrow_table : &kryi_box_passes_table;
    level->self = L->passes[i];
done:
    return st;
}

static kry_status make_in_one(kryi_hierarchy *H, grids *L)
{
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);
    const int most = cycle->levels && cycle->levels < MOST_LEVELS ? cycle->levels : MOST_LEVELS;
    bool more = true;

    TRY(finest_grid(L->given, L->how.params.cycle.values, &L->factor, &L->A[0]));
    if (finest_grid_suits_degree_3(L->given, L->factor))
        kryi_hierarchy_prefer(H, cycle->smoother, 3, 1);
    while (more && L->count < most && L->A[L->count - 1]->shape.rows > cycle->coarsest)
        TRY(append(L, &more));
    TRY(find_bounds(L));
    const int steps = kryi_smoother_steps(cycle);
    if (L->P[0] && steps) TRY(kryi_box_space_create(L->A[0], L->P[0], &L->space));
    for (int i = 0; i < L->count; i++) {
        kryi_level level = { .A = L->A[i], .P = L->P[i], .highest = L->highest[i] };
        if (L->P[i]) TRY(make_passes(L, i, steps, &level));
        if (!i) level.factor = L->factor;
        if (!i && L->space) level.passes = kryi_box_space_passes(L->space), level.self = L->space;
        TRY(kryi_hierarchy_add(H, &level));
    }
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
static kry_status takes_degree_3(const grids *L, bool *takes)
{
    kry_status st = KRY_OK;
    double three = finest_grid_suits_degree_3(L->given, L->factor);

    TRY(kryi_layout_combine(&L->given->dev->layout, KRY_MAX, &three, 1));
    *takes = !L->how.params.cycle.degree && three != 0;
done:
    return st;
}

static kry_status make_levels(const kry_op *A, const void *params, kry_op **M);

static kry_status add_levels(kryi_hierarchy *H, grids *L, int levels)
{
    static const kryi_whole grid = { kryi_collect_grid, make_levels, row_of_grid },
                            box = { collect_box, make_levels, row_of_box };
    kry_status st = KRY_OK;
    const int last = L->count - 1;
    levels_wanted theirs = L->how;
    bool three;

    for (int i = 0; i < last; i++) {
        kryi_level level = {
            .A = L->A[i], .P = L->P[i], .highest = L->highest[i], .shell = &L->shell[i]
        };
        TRY(kryi_part_passes_create(L->A[i], L->P[i], L->steps, &level, &L->part_passes[i]));
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

static kry_status count_steps(grids *L, const kry_cycle_params *cycle)
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
static kry_status make_window(grids *L)
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
static kry_status begin_in_parts(grids *L, const kry_cycle_params *cycle)
{
    kry_status st = KRY_OK;
    const kry_cycle_values values = L->how.params.cycle.values;

    TRY(finest_factor(L->given, values, &L->factor));
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
static kry_status make_parts(grids *L, const kry_cycle_params *cycle)
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
static kry_status take_share(grids *L)
{
    kry_cycle_values values = L->how.params.cycle.values;

    if (values == KRY_CYCLE_VALUES_AUTO) values = KRY_CYCLE_VALUES_DOUBLE;
    return finest_grid(L->given, values, &L->factor, &L->A[0]);
}

static kry_status make_in_parts(kryi_hierarchy *H, grids *L)
{
    enum { GATHER = 16384 };
    kry_status st = KRY_OK;
    const kry_cycle_params *cycle = kryi_hierarchy_cycle(H);

    L->gather = L->how.params.gather ? L->how.params.gather : GATHER;
    if (L->gather < cycle->coarsest) L->gather = cycle->coarsest;
    TRY(kryi_cut_of(L->given, &L->cut[0]));
    TRY(make_parts(L, cycle));
    if (L->count == 1) TRY(take_share(L));
    TRY(find_bounds(L));
    TRY(add_levels(H, L, cycle->levels));
done:
    return st;
}

/* ---- the family --------------------------------------------------------------------------------------- */

static kry_status grids_create(kryi_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    const levels_wanted *how = params;
    grids *L = NULL;

    *self = NULL;
    TRY(kryi_alloc(1, sizeof *L, &L));
    L->how = *how;
    L->given = kry_op_retain(A);
    L->count = 1;
    TRY(kryi_is_share(A) ? make_in_parts(H, L) : make_in_one(H, L));
    *self = L, L = NULL;
done:
    grids_destroy(L);
    return st;
}

static kry_status renew_finest(grids *L)
{
    kry_status st = KRY_OK;

    if (!in_parts(L) || L->count == 1)
        return L->factor != 0 ? finest_grid_renew(L->given, &L->factor, &L->A[0]) : KRY_OK;
    if (L->factor != 0) TRY(finest_factor_renew(L->given, &L->factor));
    TRY(make_window(L));
done:
    return st;
}

static kry_status grids_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    grids *L = self;

    TRY(renew_finest(L));
    for (int i = 0; i + 1 < L->count; i++) TRY(make_numbers(L, i));
    TRY(find_bounds(L));
    for (int i = 0; i + 1 < L->count; i++) kryi_hierarchy_level(H, i)->highest = L->highest[i];
    if (L->below) TRY(kryi_team_levels_update(H, L->below));
    kryi_hierarchy_level(H, 0)->factor = L->factor;
done:
    return st;
}

static kry_status grids_settle(kryi_hierarchy *H, void *self, kryi_tail *tail)
{
    kry_status st = KRY_OK;
    grids *L = self;

    if (L->below) {
        kryi_team_levels_tail(L->below, tail);
        return KRY_OK;
    }
    if (!L->tail) TRY(kryi_box_tail_create(H, &L->tail));
    TRY(kryi_box_tail_settle(&L->tail, tail));
done:
    return st;
}

/* A kryi_create_here. params: levels_wanted */
static kry_status make_levels(const kry_op *A, const void *params, kry_op **M)
{
    static const kryi_family family = { .kind = "mg",
                                        .who = who,
                                        .coarsest = 64,
                                        .create = grids_create,
                                        .update = grids_update,
                                        .settle = grids_settle,
                                        .destroy = grids_destroy };
    const levels_wanted *how = params;
    return kryi_hierarchy_create(&family, A, &how->params.cycle, how, M);
}

/* ---- the public function ------------------------------------------------------------------------- */

static kry_status check(const kry_op *A, const void *params)
{
    kry_status st = KRY_OK;

    (void)params;
    CHECK(kryi_stencil_here(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is no grid operator (kry_stencil_create); kry_amg_create takes matrices", who,
          A->table->kind);
    TRY(kryi_check_sums(who, A));
done:
    return st;
}

static kry_status create_here(const kry_op *A, const void *params, kry_op **M)
{
    const kry_mg_params *p = params;
    const kryi_stencil *S = kryi_stencil_here(A);
    /* As golden runs had it: 10 iterations at anisotropies of 1e-2 and 1e-3. */
    levels_wanted how = { *p, { .semi = p->semi != 0 ? p->semi : 0.3, .known = !S->face[0] } };

    memcpy(how.couplings.strength, S->weight, sizeof how.couplings.strength);
    return make_levels(A, &how, M);
}

bool kry_mg_takes(const kry_op *A)
{
    return A && kryi_stencil_here(A) && !kryi_has_reproducible_sums(A);
}

#define PARAMS kry_mg_params
static const kryi_field fields[] = {
    { KRY_FIELD(STRUCT, cycle), .fields = kryi_cycle_fields },
    { KRY_FIELD(DOUBLE, semi),
      KRY_WORD("semi", REAL, "=T",
               "coarsen axes whose coupling is T times the strongest one at least; negative: "
               "all"),
      KRY_CLOSED(-(double)INFINITY, 1) },
    { KRY_FIELD(INT64, gather), .word = KRY_GATHER_WORD, KRY_CLOSED(1, INFINITY) },
    { 0 },
};

const kryi_constructor kryi_mg_precond = { who,    "KRY_MG",       sizeof(kry_mg_params),
                                           fields, .check = check, .create = create_here };

kry_status kry_mg_create(const kry_op *A, const kry_mg_params *params, kry_op **M)
{
    return kryi_construct(&kryi_mg_precond, A, params, M);
}
