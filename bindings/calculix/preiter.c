/*
 * preiter.c - kry as the iterative solver of CalculiX: this file takes the place of CalculiX's own of this name.
 *
 * The environment variable KRY_OPTIONS has words of kry_solver_create. The solver is kept until the program ends, and takes new
 * numbers where a matrix has its entries in the places of the last one, as in the increments of a nonlinear step.
 *
 * CalculiX has no equations for displacements that are held. Here every node with a free displacement has three rows, so that
 * multigrid goes by nodes and rigid body modes; the row of a held displacement has a diagonal alone. A system that has other
 * unknowns, as temperatures, is solved as it is.
 */
#include <kry/kry.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CalculiX.h"
#ifndef preiter
/* cppcheck-suppress preprocessorErrorDirective ; it finds no CalculiX.h */
#error "CalculiX.h lacks its last line, #include \"preiter.h\""
#endif

static struct {
    kry_device *device;
    kry_op *A, *solver;
    int64_t n, *row_ptr; /* [n+1] */
    int32_t *col;        /* of the upper triangle, by rows */
} kept;

/*
 * Give three rows to each node with a free displacement, in the order of the nodes.
 *
 *   row          [out]  [neq] of each equation
 *   coordinates  [out]  [3 nk] of the nodes that have rows
 *
 * Returns  how many nodes have rows; 0: there are other unknowns, and each equation has a row of its number
 */
static int64_t number_rows(const double *co, ITG nk, const ITG *nactdof, ITG axes, ITG neq,
                           int32_t *row, double *coordinates)
{
    int64_t nodes = 0;
    ITG found = 0;

    for (ITG i = 0; axes >= 3 && i < nk; i++) {
        const ITG *equation = nactdof + (axes + 1) * i + 1, before = found; /* [0]: temperature */

        for (int k = 0; k < 3; k++)
            if (equation[k] == found + 1 && found < neq) row[found++] = (int32_t)(3 * nodes + k);
        if (found > before) memcpy(coordinates + 3 * nodes++, co + 3 * i, 3 * sizeof *co);
    }
    if (found == neq) return nodes;
    for (ITG i = 0; i < neq; i++) row[i] = (int32_t)i;
    return 0;
}

/*
 * Write the upper triangle of the matrix to kept.row_ptr, kept.col and val.
 *
 *   ad, au, icol, irow  the diagonal, and the lower triangle by columns, of icol[i] entries each
 *   row                 [neq] of each equation, increasing
 *
 * Returns  true if kept.row_ptr and kept.col were the same before
 */
static bool write_rows(const double *ad, const double *au, const ITG *icol, const ITG *irow,
                       ITG neq, const int32_t *row, double *val)
{
    int64_t k = 0;
    ITG i = 0;
    bool same = true;

    for (int64_t r = 0; r < kept.n; r++) {
        const bool held = i == neq || row[i] > r;

        same = same && kept.row_ptr[r] == k && kept.col[k] == r;
        kept.row_ptr[r] = k;
        kept.col[k] = (int32_t)r;
        val[k++] = held ? ad[0] : ad[i];
        if (held) continue;
        for (ITG end = icol[i++]; end > 0; end--, k++) {
            const int32_t col = row[*irow++ - 1];

            same = same && kept.col[k] == col;
            kept.col[k] = col;
            val[k] = *au++;
        }
    }
    kept.row_ptr[kept.n] = k;
    return same;
}

/* Make A, with rigid body modes if its rows are those of nodes, and the solver. */
static kry_status create(const double *val, const int32_t *row, ITG neq, int64_t nodes,
                         const double *coordinates)
{
    const char *options = getenv("KRY_OPTIONS");
    kry_vec *modes = NULL;
    double *mode = NULL;
    kry_status st = KRY_OK;

    kry_op_release(&kept.solver);
    kry_op_release(&kept.A);
    if (!kept.device) st = kry_device_open(NULL, &kept.device);
    if (st == KRY_OK)
        st = kry_csr_create(kept.device, KRY_F64, kept.n, kept.n, kept.row_ptr, kept.col, val,
                            KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF, .block = nodes ? 3 : 0),
                            &kept.A);
    if (st == KRY_OK && nodes > 2) {
        NNEW(mode, double, 6 * kept.n);
        st = kry_rigid_body_modes(3, nodes, coordinates, mode);
        for (int64_t r = 0, i = 0; r < kept.n; r++)
            if (i < neq && row[i] == r)
                i++;
            else /* held */
                for (int k = 0; k < 6; k++) mode[r + k * kept.n] = 0;
        if (st == KRY_OK) st = kry_vec_create(kept.device, KRY_F64, kept.n, 6, &modes);
        if (st == KRY_OK) st = kry_vec_write(modes, mode);
        if (st == KRY_OK) st = kry_op_set_near_null_space(kept.A, modes);
        kry_vec_release(&modes);
        SFREE(mode);
    }
    return st == KRY_OK ? kry_solver_create(kept.A, options ? options : "method=auto", NULL, NULL,
                                            &kept.solver)
                        : st;
}

void preiter_mesh(const double *co, const ITG *nk, const ITG *nactdof, const ITG *mi,
                  const double *ad, const double *au, double *b, const ITG *icol, const ITG *irow,
                  ITG neq, ITG nzs)
{
    double *coordinates = NULL, *val = NULL, *rhs = NULL, *x = NULL;
    int32_t *row = NULL;
    int64_t nodes, n, nnz;
    kry_result result;
    kry_status st;

    if (neq == 0) return;
    NNEW(row, int32_t, neq);
    NNEW(coordinates, double, 3 * (size_t)*nk);
    nodes = number_rows(co, *nk, nactdof, mi[1], neq, row, coordinates);
    n = nodes ? 3 * nodes : neq;
    nnz = nzs + n;
    if (n != kept.n || nnz != kept.row_ptr[n]) {
        kry_op_release(&kept.solver);
        SFREE(kept.row_ptr);
        SFREE(kept.col);
        NNEW(kept.row_ptr, int64_t, n + 1);
        NNEW(kept.col, int32_t, nnz);
        kept.n = n;
    }
    NNEW(val, double, nnz);
    if (write_rows(ad, au, icol, irow, neq, row, val) && kept.solver) {
        st = kry_op_update(kept.A, val);
        if (st == KRY_OK) st = kry_op_update(kept.solver, NULL);
    } else
        st = create(val, row, neq, nodes, coordinates);
    SFREE(val);
    SFREE(coordinates);
    NNEW(rhs, double, n);
    NNEW(x, double, n);
    for (ITG i = 0; i < neq; i++) rhs[row[i]] = b[i];
    if (st == KRY_OK) st = kry_solve_host(kept.solver, rhs, x, &result);
    /* A direct solver does not pass the limit of double precision, either. */
    if (st == KRY_STAGNATED)
        printf(" *WARNING in preiter: %s\n\n", kry_last_error());
    else if (st != KRY_OK) {
        printf(" *ERROR in preiter: %s\n\n", kry_last_error());
        FORTRAN(stop, ());
    }
    printf(" kry: %lld iterations, residual %.1e of the right-hand side\n\n",
           (long long)result.iterations,
           result.norm_b > 0 ? result.true_residual / result.norm_b : 0);
    for (ITG i = 0; i < neq; i++) b[i] = x[row[i]];
    SFREE(row);
    SFREE(rhs);
    SFREE(x);
}
