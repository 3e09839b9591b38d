/*
 * rank_local.h - what a rank makes of its own part alone (test_ranks.c). Grids of whose coefficients and faces each rank gives its own
 * box: the same bits as from a team that has them all, in slabs and in blocks, with periodic sides, and after new values. What a rank
 * has no need to give is nan. And model problems of which each rank makes its part: the numbers of the whole.
 */
#ifndef KRY_TEST_RANK_LOCAL_H
#define KRY_TEST_RANK_LOCAL_H

#include "rank_suite.h"

/* Random numbers of a grid, alike on all ranks: coefficients, or faces beside them, as kry_op_update takes them. */
typedef struct field {
    int64_t size[3], count; /* unknowns, and arrays of as many */
    double *numbers;
} field;

static void field_fill(field *f, uint64_t seed)
{
    const int64_t all = f->size[0] * f->size[1] * f->size[2] * f->count;
    for (int64_t i = 0; i < all; i++) f->numbers[i] = 0.1 + kry_random_unit(seed, 5, (uint64_t)i);
}

/* A place of the box that is beyond it along at most one axis: the others no rank reads. */
static bool is_read(const kry_stencil_box *own, const int64_t at[3])
{
    int beyond = 0;
    for (int a = 0; a < 3; a++)
        beyond += at[a] < own->first[a] || at[a] >= own->first[a] + own->size[a];
    return beyond <= 1;
}

/* The numbers of a box; `own`: its cells without the layers that are on other ranks. */
static double *field_cut(const field *f, const kry_stencil_box *box, const kry_stencil_box *own)
{
    const int64_t n = f->size[0] * f->size[1] * f->size[2],
                  here = box->size[0] * box->size[1] * box->size[2];
    double *cut = malloc((size_t)(here * f->count + 1) * sizeof *cut);

    for (int64_t i = 0; i < here * f->count; i++) {
        const int64_t k = i % here, at[3] = { box->first[0] + k % box->size[0],
                                              box->first[1] + k / box->size[0] % box->size[1],
                                              box->first[2] + k / box->size[0] / box->size[1] };
        int64_t row = 0;
        for (int a = 2; a >= 0; a--) row = row * f->size[a] + (at[a] + f->size[a]) % f->size[a];
        cut[i] = is_read(own, at) ? f->numbers[i / here * n + row] : NAN;
    }
    return cut;
}

/* The box without its layers beyond, from the rows of a vector. */
static kry_stencil_box own_box(const both *b, const field *f)
{
    kry_vec *v;
    kry_stencil_box own = { .first = { INT64_MAX, INT64_MAX, INT64_MAX }, .size = { 0 } };
    int64_t end[3] = { 0 };

    GOOD(kry_vec_create(b->ranks, b->type, b->n, 1, &v));
    for (int64_t i = 0; i < kry_vec_rows_here(v, NULL); i++) {
        const int64_t row = kry_vec_row(v, i),
                      at[3] = { row % f->size[0], row / f->size[0] % f->size[1],
                                row / f->size[0] / f->size[1] };
        for (int a = 0; a < 3; a++) {
            own.first[a] = at[a] < own.first[a] ? at[a] : own.first[a];
            end[a] = at[a] >= end[a] ? at[a] + 1 : end[a];
        }
    }
    for (int a = 0; a < 3; a++) own.size[a] = end[a] - own.first[a];
    kry_vec_release(&v);
    return own;
}

static void set_numbers(kry_stencil_params *p, bool faces, const double *numbers, int64_t n)
{
    p->coefficient = numbers;
    for (int a = 0; a < (p->size[2] ? 3 : 2) && faces; a++) p->face[a] = numbers + (a + 1) * n;
}

static int64_t cells_of(const kry_stencil_box *box)
{
    return box->size[0] * box->size[1] * box->size[2];
}

/* The last number of the last rank is wrong: all say so, of the whole grid's cell, and nothing has changed. */
static void refuse_bad(const both *b, const field *f, const double *given, int64_t here)
{
    double *bad = malloc((size_t)(here * f->count) * sizeof *bad);
    kry_vec *v;
    char want[60];

    memcpy(bad, given, (size_t)(here * f->count) * sizeof *bad);
    GOOD(kry_vec_create(b->ranks, b->type, b->n, 1, &v));
    for (int64_t i = 0; i < here && b->w->rank == b->w->size - 1; i++) bad[i] = -2;
    const int64_t row = b->w->rank == b->w->size - 1 ? kry_vec_row(v, 0) : 0;
    kry_vec_release(&v);
    NEED(kry_op_update(b->on_ranks, bad) == KRY_ERR_ARGUMENT, "%s", kry_last_error());
    snprintf(want, sizeof want, "%s %lld", f->count > 1 ? "face" : "coefficient", (long long)row);
    NEED(b->w->rank < b->w->size - 1 || strstr(kry_last_error(), want), "%s: %s", want,
         kry_last_error());
    free(bad);
}

/* A grid of random coefficients, or faces, that ranks give by boxes and the team whole. */
static void same_grid(both *b, kry_stencil_params p, bool faces)
{
    field f = { .size = { p.size[0], p.size[1], p.size[2] ? p.size[2] : 1 } };
    const int axes = p.size[2] ? 3 : 2;
    const int64_t n = f.size[0] * f.size[1] * f.size[2];
    kry_stencil_box box, again;
    kry_stencil_params whole = p;
    double *given;

    f.count = faces ? 1 + axes : 1;
    f.numbers = calloc((size_t)(n * f.count), sizeof *f.numbers);
    field_fill(&f, 3);
    set_numbers(&whole, faces, f.numbers, n);
    grid_on_both(b, &whole);
    const kry_stencil_box own = own_box(b, &f);
    kry_op_release(&b->on_ranks);
    GOOD(kry_stencil_part(b->ranks, &p, &box));
    given = field_cut(&f, &box, &own);
    p.local = true;
    set_numbers(&p, faces, given, cells_of(&box));
    GOOD(kry_stencil_create(b->ranks, b->type, &p, &b->on_ranks));
    same_solve(b, "method=pcg precond=jacobi rtol=1e-9");
    free(given);

    f.count = faces ? axes : 1;
    field_fill(&f, 4);
    given = field_cut(&f, &box, &own);
    GOOD(kry_op_update(b->on_ranks, given));
    if (b->team) GOOD(kry_op_update(b->on_team, f.numbers));
    same_solve(b, "method=pcg precond=jacobi rtol=1e-9");
    refuse_bad(b, &f, given, cells_of(&box));
    same_solve(b, "method=pcg precond=jacobi rtol=1e-9");
    if (b->team) {
        GOOD(kry_stencil_part(b->team, &p, &again));
        NEED(cells_of(&again) == n && again.first[0] == 0, "a team has not the whole grid");
    }
    free(given);
    free(f.numbers);
    close_both(b);
}

MAYBE_UNUSED static void local_scene(wires *w, void *shared)
{
    const int64_t r = w->size;
    const kry_stencil_params space = *KRY_STENCIL(.size = { 4, 3, 2 * r + 1 },
                                                  .low = { 0, 0, KRY_PERIODIC },
                                                  .high = { KRY_NEUMANN, 0, KRY_PERIODIC }),
                             plane = *KRY_STENCIL(.size = { 5, 2 * r + 1 },
                                                  .high = { KRY_NEUMANN, KRY_DIRICHLET_FACE }),
                             blocks =
                                 *KRY_STENCIL(.size = { 2 * r + 1, 5 }, .blocks = { (int)r, 1 },
                                              .low = { KRY_PERIODIC }, .high = { KRY_PERIODIC }),
                             boxes = *KRY_STENCIL(.size = { 7, 6, 5 },
                                                  .blocks = { 2, r % 2 ? 1 : (int)r / 2, 1 },
                                                  .high = { 0, KRY_NEUMANN, KRY_DIRICHLET_FACE });
    kry_stencil_box box;
    both b;

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    same_grid(&b, space, false);
    same_grid(&b, plane, true);
    same_grid(&b, blocks, false);
    if (r % 2 == 0) same_grid(&b, boxes, true);
    NEED(kry_stencil_part(b.ranks, KRY_STENCIL(.size = { 5, 0 }), &box) == KRY_ERR_ARGUMENT &&
             strstr(kry_last_error(), "kry_stencil_part: 0 unknowns along y"),
         "%s", kry_last_error());
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

/* ---- model problems ---------------------------------------------------------------------------- */

/* The numbers of vectors in this rank's rows are those of the whole problem. */
static void same_numbers(const kry_problem *part, const kry_problem *whole, kry_device *ranks)
{
    kry_vec *v;

    GOOD(kry_vec_create(ranks, KRY_F64, whole->n, 1, &v));
    const int64_t rows = kry_vec_rows_here(v, NULL);
    double *rhs = malloc((size_t)(rows + 1) * sizeof *rhs),
           *solution = malloc((size_t)(rows + 1) * sizeof *solution);
    memset(rhs, 0x7f, (size_t)rows * sizeof *rhs);
    memset(solution, 0x7f, (size_t)rows * sizeof *solution);
    GOOD(kry_problem_rows(part, v, rhs, part->solved ? solution : NULL));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = kry_vec_row(v, i);
        NEED(rhs[i] == whole->rhs[row], "%s: b[%d] is %.17g, not %.17g", whole->name, (int)row,
             rhs[i], whole->rhs[row]);
        NEED(!part->solved || solution[i] == whole->solution[row], "%s: x[%d]", whole->name,
             (int)row);
    }
    free(solution), free(rhs);
    kry_vec_release(&v);
}

/* The entries of this rank's rows, cut by the ranks and, where vectors are there before, as these. */
static void same_rows(const kry_problem *part, const kry_problem *whole, kry_device *ranks)
{
    kry_share *S;

    GOOD(kry_problem_share(part, ranks, &S));
    NEED(S->n == whole->n && S->given == whole->nnz, "%s: %d rows, %d entries", whole->name,
         (int)S->n, (int)S->given);
    const int64_t at = whole->row_ptr[S->first];
    for (int64_t i = 0; i <= S->rows; i++)
        NEED(S->row_ptr[i] == whole->row_ptr[S->first + i] - at, "%s: row %d", whole->name, (int)i);
    for (int64_t e = 0; e < S->row_ptr[S->rows]; e++)
        NEED(S->col[e] == whole->col[at + e] && S->val[e] == whole->val[at + e], "%s: entry %d",
             whole->name, (int)e);
    same_numbers(part, whole, ranks); /* cut as the share */
    kry_share_release(&S);
}

/* In the grid's own box the coefficients are those of the whole. */
static void same_coefficients(kry_problem *part, const kry_problem *whole, kry_device *ranks,
                              const int blocks[3])
{
    kry_stencil_box box;
    const kry_stencil_params *g;
    kry_op *A;

    GOOD(kry_problem_set_part(part, ranks, blocks));
    g = part->grid;
    GOOD(kry_stencil_part(ranks, g, &box));
    NEED(g->local && !g->coefficient == !whole->grid->coefficient, "%s", whole->name);
    for (int64_t k = 0; g->coefficient && k < cells_of(&box); k++) {
        const int64_t x = box.first[0] + k % box.size[0],
                      y = box.first[1] + k / box.size[0] % box.size[1],
                      z = box.first[2] + k / box.size[0] / box.size[1],
                      row = x + g->size[0] * (y + g->size[1] * z);
        NEED(g->coefficient[k] == whole->grid->coefficient[row], "%s: cell %d", whole->name,
             (int)row);
        for (int a = 0; a < 3 && g->face[a]; a++)
            NEED(g->face[a][k] == whole->grid->face[a][row], "%s: face %d", whole->name, (int)row);
    }
    GOOD(kry_stencil_create(ranks, KRY_F64, g, &A));
    same_numbers(part, whole, ranks);
    kry_op_release(&A);
}

MAYBE_UNUSED static void problems_scene(wires *w, void *shared)
{
    static const char *const specs[] = {
        "twophase2d:11:100:layers", "twophase3d:8:9:bubble", "poisson2d:13",   "geograph_spd:200",
        "random_spd:90:5",          "elasticity2d:9x4:10",   "block_spd:50:3", "random:60:4",
        "random_spd:2:1",           "elasticity3d:3x2x5:10"
    };
    kry_device *ranks = ranks_team(w, (kry_team_params){ 0 });
    const int blocks[3] = { w->size, 1, 1 };

    (void)shared;
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *whole, *part;
        GOOD(kry_problem_create(specs[s], 4, &whole));
        GOOD(kry_problem_create_bare(specs[s], 4, &part));
        same_rows(part, whole, ranks);
        if (whole->grid) same_coefficients(part, whole, ranks, NULL);
        if (whole->grid) same_coefficients(part, whole, ranks, blocks);
        if (!whole->grid)
            NEED(kry_problem_set_part(part, ranks, NULL) == KRY_ERR_UNSUPPORTED, "%s", specs[s]);
        kry_problem_release(&part);
        kry_problem_release(&whole);
    }
    kry_device_release(&ranks);
}

#endif
