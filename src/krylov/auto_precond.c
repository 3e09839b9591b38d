/* auto_precond.c - precond=auto: which preconditioner suits a matrix, by a look at its entries. docs/choosing.md has
 * the rules. */
#include "krylov/auto_precond.h"
#include "amg/amg_start.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "operator/op.h"
#include "precond/rows.h"
#include "precond/spectrum.h"
#include <kry/multigrid.h>
#include <kry/precond.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "kry_precond_create";

typedef struct choice {
    const char *word, *why; /* static */
} choice;

/* ---- what the entries say -------------------------------------------------------------------- */

/* Whether a function refuses the matrix: another preconditioner may take it. */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_ARGUMENT || st == KRY_ERR_UNSUPPORTED;
}

/* Iterations of conjugate gradients with Jacobi's preconditioner to 1e-8, by the condition that some steps of
 * Lanczos's method see: the number that it takes, or less. Infinite where nothing is there to take the steps on. */
static kry_status predict(kry_device *beside, const kryi_csr *A, const double *d,
                          double *iterations)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kryi_device_csr there = { 0 };
    cl_mem d_there = NULL;
    kryi_lanczos T;

    *iterations = INFINITY;
    st = kryi_amg_host(who, beside, &dev);
    if (st < 0) return is_refusal(st) ? KRY_OK : st;
    TRY(kryi_device_csr_upload(dev, A, &there));
    TRY(kryi_buffer_upload(dev, (size_t)A->rows * sizeof *d, d, &d_there));
    TRY(kryi_amg_lanczos(&there, d_there, &T));
    const double condition = kryi_lanczos_largest(&T) / kryi_lanczos_smallest(&T);
    *iterations = log(2 / 1e-8) / 2 * sqrt(condition > 0 ? condition : (double)INFINITY);
done:
    kryi_buffer_release(dev, &d_there);
    kryi_device_csr_release(&there);
    kry_device_release(&dev);
    return st;
}

/* Whether positive couplings add up to at most a tenth of the negative ones, and no row's couplings to more
 * than 1.2 times its diagonal entry. */
static bool is_dominant(const kryi_csr *A, const double *d)
{
    const kryi_coupling_sums all = kryi_amg_couplings(A);
    const double *a = A->val;

    if (all.positive > 0.1 * all.negative) return false;
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = -d[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) sum += fabs(a[e]);
        if (sum > 1.2 * d[i]) return false;
    }
    return true;
}

/* Couplings of both signs get factors of blocks where a core takes one row after the other, approximate inverses where
 * thousands of work-items want rows at a time. */
static choice one_level(const kry_device *dev, const char *why)
{
    return (choice){ dev->info.cpu_kernels ? "block-ic" : "fsai", why };
}

static kry_status inspect_rows(const kry_op *A, const kryi_csr *rows, double *d, choice *c)
{
    const double bearable = 50; /* iterations that take less time than a hierarchy, or a factor */
    kry_status st = KRY_OK;
    double iterations;

    TRY(predict(A->dev, rows, d, &iterations));
    if (iterations <= bearable)
        *c = (choice){ "jacobi", "few iterations are expected" };
    else if (is_dominant(rows, d))
        *c = (choice){ "amg", "couplings are negative, and no larger than the diagonal" };
    else if (kryi_matrix_block(A) > 1 || A->near_null_space)
        *c = (choice){ "amg", "its nodes have several unknowns, or its near null space is known" };
    else
        *c = one_level(A->dev, "couplings are positive, or larger than the diagonal");
done:
    return st;
}

/* Rows that are symmetric to the bit, and d, their diagonal. */
static kry_status symmetrise(const kry_op *A, kryi_csr *rows, double **d)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((size_t)rows->rows, sizeof **d, d));
    TRY(kryi_rows_symmetrise(who, A, rows, *d));
    for (int64_t i = 0; i < rows->rows; i++) (*d)[i] = 1 / (*d)[i];
done:
    return st;
}

static kry_status choose(const kry_op *A, choice *c)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    double *d = NULL;

    *c = (choice){ "jacobi", "it is a team, or no matrix to look at" };
    if (kry_mg_takes(A)) *c = (choice){ "mg", "a grid" };
    if (A->dev->team || !kryi_matrix_of(A) || A->shape.rows == 0) goto done;
    *c = (choice){ "jacobi", "the matrix is not symmetric with a positive diagonal" };
    TRY(kryi_rows_read(who, A, &rows));
    TRY(symmetrise(A, &rows, &d));
    TRY(inspect_rows(A, &rows, d, c));
done:
    free(d);
    kryi_csr_release(&rows);
    return is_refusal(st) ? KRY_OK : st;
}

kry_status kryi_precond_predict(const kry_op *A, kryi_csr *rows, double *iterations)
{
    kry_status st = KRY_OK;
    double *d = NULL;

    *iterations = INFINITY;
    TRY(symmetrise(A, rows, &d));
    TRY(predict(A->dev, rows, d, iterations));
done:
    free(d);
    return is_refusal(st) ? KRY_OK : st;
}

/* ---- what is made ---------------------------------------------------------------------------- */

kry_status kryi_precond_auto(const kry_op *A, bool single, kry_op **M)
{
    kry_status st = KRY_OK;
    choice c;

    TRY(choose(A, &c));
    for (;;) {
        st = kryi_precond_create(A, c.word, single, M);
        if (!is_refusal(st) || !strcmp(c.word, "jacobi")) break;
        c = !strcmp(c.word, "amg") ? one_level(A->dev, "multigrid refuses the matrix")
                                   : (choice){ "jacobi", "the others refuse the matrix" };
    }
    TRY(st);
    (*M)->chosen = c.why;
done:
    return st;
}
