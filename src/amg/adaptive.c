/*
 * adaptive.c - near null spaces by relaxation: v := q(D^-1 A) v, q the polynomial of four steps of Chebyshev's
 * iteration for A v = 0, so many times. A vector that is right already stays as it is, but next to what is held.
 * Where A is S B S with a diagonal S, the constants that suit B become S^-1 times what suits B, up to parts that
 * vary slowly.
 *
 * Source  M. Brezina, R. Falgout, S. MacLachlan, T. Manteuffel, S. McCormick, J. Ruge, SIAM J. Sci. Comput. 25
 *         (2004), 1896-1920, section 3; doi:10.1137/S1064827502418598
 */
#include "amg/adaptive.h"
#include "amg/amg_start.h"
#include "matrix/matrix.h"
#include "multigrid/smoother.h"
#include "precond/rows.h"
#include <stdlib.h>

/* Relaxations of A v = 0. */
typedef struct relaxation {
    kryi_smoothing smooth;
    kry_vec *zero, *x[2];
} relaxation;

static kry_status relaxation_create(const char *who, const kry_op *A, relaxation *r)
{
    kry_status st = KRY_OK;
    const kry_cycle_params how = { .smoother = KRY_SMOOTHER_CHEBYSHEV, .degree = 4, .sweeps = 1 };
    const kryi_level level = { .A = (kry_op *)A };
    kry_vec **const vectors[] = { &r->zero, &r->x[0], &r->x[1] };

    TRY(kryi_smoothing_create(who, &level, &how, &r->smooth));
    for (size_t i = 0; i < COUNT(vectors); i++)
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, vectors[i]));
    TRY(kry_vec_fill(r->zero, 0));
done:
    return st;
}

static kry_status relax(relaxation *r, int times, kry_vec *v)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_copy(v, r->x[0]));
    for (int i = 0; i < times; i++)
        TRY(kryi_smoothing_run(&r->smooth, &r->smooth.down, false, r->zero, r->x));
    TRY(kry_vec_copy(r->x[0], v));
done:
    return st;
}

/* A constant for each unknown of a node. */
static kry_status constants(const char *who, const kry_op *A, const kry_amg_params *p, kry_vec **v)
{
    kry_status st = KRY_OK;
    const int64_t n = A->shape.rows;
    kryi_csr rows = { 0 };
    double *columns = NULL;

    TRY(kryi_rows_read(who, A, &rows));
    const int block = kryi_amg_look(A, &rows, p).block;
    TRY(kryi_amg_check_nodes(who, n, block));
    TRY(kryi_alloc((uint64_t)(n * block), sizeof *columns, &columns));
    for (int64_t i = 0; i < n; i++) columns[i % block * n + i] = 1;
    TRY(kry_vec_create(A->dev, A->shape.type, n, block, v));
    TRY(kryi_vec_write_doubles(*v, columns));
done:
    free(columns);
    kryi_csr_release(&rows);
    return st;
}

static kry_status begin(const char *who, const kry_op *A, const kry_amg_params *p, kry_vec **v)
{
    kry_status st = KRY_OK;
    const kry_vec *given = p->near_null_space ? p->near_null_space : A->near_null_space;

    if (!given) return constants(who, A, p, v);
    TRY(kry_vec_create(A->dev, A->shape.type, given->n, given->k, v));
    TRY(kry_vec_copy(given, *v));
done:
    return st;
}

kry_status kryi_adaptive_vectors(const char *who, const kry_op *A, const kry_amg_params *p,
                                 kry_vec **improved)
{
    kry_status st = KRY_OK;
    relaxation r = { 0 };
    kry_vec *all = NULL, *column = NULL;

    *improved = NULL;
    TRY(begin(who, A, p, &all));
    TRY(relaxation_create(who, A, &r));
    for (int64_t j = 0; j < all->k; j++) {
        kry_vec_release(&column);
        TRY(kry_vec_view(all, j, &column));
        TRY(relax(&r, p->adaptive, column));
    }
    *improved = all, all = NULL;
done:
    kry_vec_release(&column);
    kry_vec_release(&all);
    kry_vec_release(&r.x[1]);
    kry_vec_release(&r.x[0]);
    kry_vec_release(&r.zero);
    kryi_smoothing_release(&r.smooth);
    return st;
}
