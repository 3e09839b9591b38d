/*
 * rank_suite.h - what teams of ranks are to do, whatever carries their messages: the same bits as a team of as many
 * devices in one process.
 */
#ifndef KRY_RANK_SUITE_H
#define KRY_RANK_SUITE_H

#include "ranks.h"
#include <kry/problem.h>

enum { MOST = 40000 }; /* numbers in shared memory */
typedef struct board {
    double x[MOST];
    char message[MOST_RANKS][400];
    int status[MOST_RANKS];
} board;

/* All ranks wait for each other. */
static void meet(kry_device *team)
{
    kry_vec *v;
    double norm;
    GOOD(kry_vec_create(team, KRY_F32, 64, 1, &v));
    GOOD(kry_vec_norm2(v, &norm));
    kry_vec_release(&v);
}

/* This rank's rows of a problem, whose rows are cut at first[]. */
static kry_status create_rows(kry_device *team, kry_type type, const kry_problem *p,
                              const int64_t *first, int rank, const kry_matrix_params *params,
                              kry_op **A)
{
    const int64_t begin = first[rank], rows = first[rank + 1] - begin, at = p->row_ptr[begin];
    const int64_t nnz = p->row_ptr[begin + rows] - at;
    int64_t *row_ptr = calloc((size_t)rows + 1, sizeof *row_ptr),
            *col = calloc((size_t)nnz + 1, sizeof *col);
    void *val = in_type(type, p->val + at, nnz);

    for (int64_t i = 0; i <= rows; i++) row_ptr[i] = p->row_ptr[begin + i] - at;
    for (int64_t e = 0; e < nnz; e++) col[e] = p->col[at + e];
    kry_status st = kry_csr_create_rows(team, type, begin, rows, row_ptr, col, val, params, A);
    free(row_ptr), free(col), free(val);
    return st;
}

/* ---- systems ----------------------------------------------------------------------------------- */

/* The same operator on ranks and, in rank 0, on a team in one process. */
typedef struct both {
    wires *w;
    board *board;
    kry_device *ranks, *team; /* team: NULL in other ranks */
    kry_op *on_ranks, *on_team;
    kry_type type;
    int64_t n;
    double *rhs;
} both;

/* Solve; without a result as an operator is applied. */
static kry_status run(kry_op *S, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return res ? kry_solve(S, b, x, res) : kry_op_apply(S, 1, b, 0, x);
}

static void solve_on_ranks(const both *b, const char *words, kry_result *res)
{
    kry_op *S;
    kry_vec *vb, *vx;

    NEED(kry_solver_create(b->on_ranks, words, NULL, NULL, &S) == KRY_OK, "%s: %s", words,
         kry_last_error());
    kry_stop stop; /* every rank can ask its solver */
    GOOD(kry_solver_get_stop(S, &stop));
    NEED(stop.rtol > 0, "%s", words);
    (void)kry_solver_precond(S); /* NULL where it only scales */
    GOOD(kry_vec_create(b->ranks, b->type, b->n, 1, &vb));
    GOOD(kry_vec_create(b->ranks, b->type, b->n, 1, &vx));
    const int64_t rows = kry_vec_rows_here(vb, NULL);
    double *own = calloc((size_t)rows + 1, sizeof *own);
    for (int64_t i = 0; i < rows; i++) own[i] = b->rhs[kry_vec_row(vb, i)];
    void *host = in_type(b->type, own, rows);
    GOOD(kry_vec_write(vb, host));
    kry_status st = run(S, vb, vx, res);
    NEED(st == KRY_OK, "%s: %s", words, kry_last_error());
    GOOD(kry_vec_read(vx, host));
    for (int64_t i = 0; i < rows; i++) b->board->x[kry_vec_row(vx, i)] = at(b->type, host, i);
    free(host), free(own);
    kry_vec_release(&vx);
    kry_vec_release(&vb);
    kry_op_release(&S);
}

static void solve_on_team(const both *b, const char *words, double *x, kry_result *res)
{
    kry_op *S;
    kry_vec *vb, *vx;
    void *host = in_type(b->type, b->rhs, b->n);

    NEED(kry_solver_create(b->on_team, words, NULL, NULL, &S) == KRY_OK, "%s: %s", words,
         kry_last_error());
    GOOD(kry_vec_create(b->team, b->type, b->n, 1, &vb));
    GOOD(kry_vec_create(b->team, b->type, b->n, 1, &vx));
    GOOD(kry_vec_write(vb, host));
    GOOD(run(S, vb, vx, res));
    GOOD(kry_vec_read(vx, host));
    for (int64_t i = 0; i < b->n; i++) x[i] = at(b->type, host, i);
    free(host);
    kry_vec_release(&vx);
    kry_vec_release(&vb);
    kry_op_release(&S);
}

/* x of a team against the one that ranks have left. */
static void compare_x(const both *b, const char *words, const double *x, double apart)
{
    for (int64_t i = 0; i < b->n; i++)
        NEED(fabs(x[i] - b->board->x[i]) <= apart,
             "%s on %d ranks: x[%d] is %.17g, on a team %.17g", words, b->w->size, (int)i,
             b->board->x[i], x[i]);
}

/* The same iterations and bits of x; `apart` > 0: x within that. */
static void compare_solve(const both *b, const char *words, double apart)
{
    kry_result res, want;

    solve_on_ranks(b, words, &res);
    meet(b->ranks); /* x is complete */
    if (b->team) {
        double *x = calloc((size_t)b->n, sizeof *x);
        solve_on_team(b, words, x, &want);
        NEED(apart > 0 || res.iterations == want.iterations,
             "%s: %d iterations on %d ranks, %d on a team", words, (int)res.iterations, b->w->size,
             (int)want.iterations);
        NEED(apart > 0 || res.true_residual == want.true_residual, "%s: residuals %g and %g", words,
             res.true_residual, want.true_residual);
        compare_x(b, words, x, apart);
        free(x);
    }
    meet(b->ranks);
}

/* A solver as an operator. */
static void compare_apply(const both *b, const char *words, double apart)
{
    solve_on_ranks(b, words, NULL);
    meet(b->ranks); /* x is complete */
    if (b->team) {
        double *x = calloc((size_t)b->n, sizeof *x);
        solve_on_team(b, words, x, NULL);
        compare_x(b, words, x, apart);
        free(x);
    }
    meet(b->ranks);
}

static void same_solve(const both *b, const char *words) { compare_solve(b, words, 0); }

static void open_both(wires *w, board *board, kry_type type, kry_team_params params, both *b)
{
    *b = (both){ .w = w, .board = board, .type = type };
    b->ranks = ranks_team(w, params);
    NEED(kry_team_size(b->ranks) == w->size && kry_team_rank(b->ranks) == w->rank, "-");
    if (w->rank == 0) b->team = team_here(w->size, params);
}

static void close_both(both *b)
{
    kry_op_release(&b->on_team);
    kry_op_release(&b->on_ranks);
    free(b->rhs);
    b->rhs = NULL;
}

/* New values, twice the old ones. */
static void update_both(both *b, const char *spec)
{
    kry_problem *p;
    int64_t first;
    kry_vec *v;

    GOOD(kry_problem_create(spec, 7, &p));
    for (int64_t e = 0; e < p->nnz; e++) p->val[e] *= 2;
    GOOD(kry_vec_create(b->ranks, b->type, b->n, 1, &v));
    (void)kry_vec_rows_here(v, &first);
    GOOD(kry_op_update(b->on_ranks, p->val + p->row_ptr[first]));
    GOOD(kry_op_update(b->on_ranks, NULL)); /* nothing of A has changed since */
    if (b->team) GOOD(kry_op_update(b->on_team, p->val));
    kry_vec_release(&v);
    kry_problem_release(&p);
}

/* cut: where the rows of ranks begin; NULL: as a team cuts them. */
static void matrix_on_both(both *b, const char *spec, const kry_matrix_params *params,
                           const int64_t *cut)
{
    kry_problem *p;
    int64_t first[MOST_RANKS + 1];

    GOOD(kry_problem_create(spec, 7, &p));
    b->n = p->n;
    NEED(p->n <= MOST, "%s", spec);
    b->rhs = calloc((size_t)p->n, sizeof *b->rhs);
    memcpy(b->rhs, p->rhs, (size_t)p->n * sizeof *b->rhs);
    if (!cut) GOOD(cut_as_team(b->ranks, p->n, p->row_ptr, b->w->size, first));
    GOOD(create_rows(b->ranks, b->type, p, cut ? cut : first, b->w->rank, params, &b->on_ranks));
    if (b->team) {
        void *val = in_type(b->type, p->val, p->nnz);
        GOOD(kry_csr_create(b->team, b->type, p->n, p->n, p->row_ptr, p->col, val, params,
                            &b->on_team));
        free(val);
    }
    kry_problem_release(&p);
}

static void grid_on_both(both *b, const kry_stencil_params *params)
{
    b->n = params->size[0] * params->size[1] * (params->size[2] ? params->size[2] : 1);
    b->rhs = calloc((size_t)b->n, sizeof *b->rhs);
    for (int64_t i = 0; i < b->n; i++) b->rhs[i] = sin(0.37 * (double)i) + 0.2;
    GOOD(kry_stencil_create(b->ranks, b->type, params, &b->on_ranks));
    if (b->team) GOOD(kry_stencil_create(b->team, b->type, params, &b->on_team));
}

/* ---- scenes ------------------------------------------------------------------------------------ */

MAYBE_UNUSED static void vectors_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    static const int64_t n_of[] = { 1, 3, 64, 1000 };

    (void)shared;
    for (size_t s = 0; s < COUNT(n_of); s++) {
        const int64_t n = n_of[s], k = 2;
        kry_vec *x, *y;
        double got, want = 0, *all = random_array(KRY_F32, n * k); /* the same on all ranks */
        int64_t first;

        GOOD(kry_vec_create(team, KRY_F32, n, k, &x));
        GOOD(kry_vec_create(team, KRY_F32, n, k, &y));
        const int64_t rows = kry_vec_rows_here(x, &first);
        float *own = calloc((size_t)(rows * k) + 1, sizeof *own);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < rows; i++) own[j * rows + i] = (float)all[j * n + first + i];
        GOOD(kry_vec_write(x, own));
        GOOD(kry_vec_axpby(2, x, 0, y));
        GOOD(kry_vec_dot(x, y, &got));
        for (int64_t i = 0; i < n * k; i++) want += 2 * all[i] * all[i];
        NEED(fabs(got - want) <= 1e-5 * (double)n, "dot of %d: %g, not %g", (int)n, got, want);
        GOOD(kry_vec_norm2(x, &got));
        NEED(fabs(got - sqrt(want / 2)) <= 1e-5 * (double)n, "norm of %d", (int)n);
        memset(own, 0x7f, (size_t)(rows * k) * sizeof *own);
        GOOD(kry_vec_read(y, own));
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < rows; i++)
                NEED(own[j * rows + i] == 2 * (float)all[j * n + first + i], "row %d", (int)i);
        GOOD(kry_vec_fill(x, 1e-30));
        GOOD(kry_vec_norm2(x, &got));
        NEED(fabs(got / (1e-30 * sqrt((double)(n * k))) - 1) < 1e-5, "tiny norm %g", got);
        kry_vec_release(&x);
        kry_vec_release(&y);
        free(own), free(all);
    }
    kry_device_release(&team);
}

MAYBE_UNUSED static void matrices_scene(wires *w, void *shared)
{
    both b;
    static const char *const words[] = {
        "method=pcg rtol=1e-10",
        "method=pcg precond=jacobi rtol=1e-10",
        "method=pcg precond=chebyshev rtol=1e-9",
        "method=pcg precond=block-jacobi:8 rtol=1e-9",
        "method=pcg precond=block-ic rtol=1e-9",
        "method=pcg precond=ip rtol=1e-9",
        "method=pcg precond=jacobi deflation=stripes:6 rtol=1e-9",
        "method=pipe-cg precond=jacobi rtol=1e-9",
        "method=minres rtol=1e-9",
        "method=pcg precond=amg rtol=1e-9",
        "method=pcg precond=amg:gather=40,coarsest=20 rtol=1e-9",
        "method=pcg precision=mixed precond=jacobi rtol=1e-9",
    };

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    matrix_on_both(&b, "poisson2d:19", KRY_MATRIX(.traits = KRY_POSITIVE), NULL);
    for (size_t i = 0; i < COUNT(words); i++)
        if (in_sample((int64_t)i + w->size)) same_solve(&b, words[i]);
    update_both(&b, "poisson2d:19");
    same_solve(&b, words[1]);
    close_both(&b);
    matrix_on_both(&b, "convection2d:17:10", KRY_MATRIX(.traits = 0), NULL);
    same_solve(&b, "method=bicgstab precond=ilu0 rtol=1e-9");
    same_solve(&b, "method=gmres:20 precond=jacobi rtol=1e-9");
    close_both(&b);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

MAYBE_UNUSED static void grids_scene(wires *w, void *shared)
{
    both b;
    double *field = calloc(20 * 21, sizeof *field);

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    grid_on_both(&b, KRY_STENCIL(.size = { 6, 5, 9 }));
    same_solve(&b, "method=pcg precond=jacobi rtol=1e-10");
    same_solve(&b, "method=pcg precond=mg rtol=1e-9");
    close_both(&b);
    for (int64_t i = 0; i < 20 * 21; i++) field[i] = i % 20 < 9 ? 1 : 50;
    grid_on_both(&b, KRY_STENCIL(.size = { 20, 21 }, .coefficient = field));
    same_solve(&b, "method=pcg precond=ip rtol=1e-9");
    same_solve(&b, "method=pcg precond=jacobi deflation=auto rtol=1e-9");
    same_solve(&b, "method=pcg precision=mixed precond=chebyshev rtol=1e-9");
    close_both(&b);
    free(field);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

/* Blocks: in a plane, in space, and new coefficients. */
MAYBE_UNUSED static void blocks_scene(wires *w, void *shared)
{
    both b;
    enum { X = 20, Y = 21 };
    double *field = calloc(X * Y, sizeof *field);

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    for (int64_t i = 0; i < X * Y; i++) field[i] = i % X < 9 ? 1 : 50;
    grid_on_both(&b,
                 KRY_STENCIL(.size = { X, Y }, .coefficient = field, .blocks = { 2, w->size / 2 }));
    same_solve(&b, "method=pcg rtol=1e-10");
    same_solve(&b, "method=pcg precond=jacobi deflation=blocks:8+phase rtol=1e-9");
    for (int64_t i = 0; i < X * Y; i++) field[i] = 1 + (double)(i % 7);
    GOOD(kry_op_update(b.on_ranks, field));
    if (b.team) GOOD(kry_op_update(b.on_team, field));
    same_solve(&b, "method=pcg precond=jacobi rtol=1e-10");
    field[X * Y - 1] = -1; /* of the last rank: refused on all, and nothing has changed */
    NEED(kry_op_update(b.on_ranks, field) == KRY_ERR_ARGUMENT &&
             strstr(kry_last_error(), "coefficient 419"),
         "%s", kry_last_error());
    same_solve(&b, "method=pcg precond=jacobi rtol=1e-10");
    close_both(&b);
    kry_op *A = NULL;
    NEED(kry_stencil_create(b.ranks, KRY_F64, KRY_STENCIL(.size = { 5, 5 }, .blocks = { 5, 5 }),
                            &A) == KRY_ERR_ARGUMENT &&
             strstr(kry_last_error(), "5 x 5 x 1 blocks"),
         "%s", kry_last_error());
    free(field);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

/* A rank without rows, one with a single row, and the others; against one device, but for rounding. */
MAYBE_UNUSED static void partitions_scene(wires *w, void *shared)
{
    both b;
    int64_t cut[MOST_RANKS + 1] = { 0 };
    static const char *const words[] = { "method=pcg precond=jacobi rtol=1e-10",
                                         "method=pcg precond=block-ic rtol=1e-10",
                                         "method=pcg precond=chebyshev rtol=1e-10",
                                         "method=pcg precond=ip rtol=1e-10",
                                         "method=pcg precond=block-jacobi:4 rtol=1e-10",
                                         "method=pcg precond=jacobi deflation=stripes:3 rtol=1e-10",
                                         "method=pcg precision=mixed precond=jacobi rtol=1e-10",
                                         "method=minres rtol=1e-10",
                                         "method=bicgstab precond=ilu0 rtol=1e-10",
                                         "method=gmres:20 precond=jacobi rtol=1e-10",
                                         "method=pcg precond=amg:gather=9,coarsest=5 rtol=1e-10" };

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    if (b.team) kry_device_release(&b.team);
    if (w->rank == 0) GOOD(kry_device_open(NULL, &b.team));
    for (int r = 1; r < w->size; r++) cut[r] = r == 1 ? 1 : 1 + (r - 2) * 80 / (w->size - 1);
    cut[w->size] = 81; /* rank 0 has one row, rank 1 none where there are more than two */
    matrix_on_both(&b, "poisson2d:9", KRY_MATRIX(.traits = KRY_POSITIVE), cut);
    for (size_t i = 0; i < COUNT(words); i++)
        if (one_of(2, (int64_t)i)) compare_solve(&b, words[i], 1e-7);
    compare_apply(&b, "method=gmres:20 precond=amg:gather=9,coarsest=5 rtol=1e-10", 1e-7);
    compare_apply(&b, "method=fgmres:20 precond=chebyshev rtol=1e-10", 1e-7);
    close_both(&b);
    matrix_on_both(&b, "circuit_spd:81", KRY_MATRIX(.traits = KRY_SYMMETRIC), cut);
    compare_solve(&b, words[0], 1e-6); /* a null space is looked for, and there is none */
    close_both(&b);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

/* The same bits whatever the number of ranks: those of one device alone. */
MAYBE_UNUSED static void reproducible_scene(wires *w, void *shared)
{
    both b;
    const kry_team_params params = { .reproducible = true };

    open_both(w, shared, KRY_F64, params, &b);
    if (b.team) kry_device_release(&b.team);
    if (w->rank == 0) b.team = team_here(1, params);
    matrix_on_both(&b, "poisson2d:23", KRY_MATRIX(.traits = KRY_POSITIVE), NULL);
    same_solve(&b, "method=pcg precond=jacobi rtol=1e-10");
    same_solve(&b, "method=pcg precond=chebyshev rtol=1e-10");
    close_both(&b);
    grid_on_both(&b, KRY_STENCIL(.size = { 9, 7, 8 }));
    same_solve(&b, "method=pcg rtol=1e-10");
    close_both(&b);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

#endif
