/* amg_start.c - what algebraic multigrid is set up with. */
#include "amg/amg_start.h"
#include "host/host.h"
#include "matrix/matrix.h"
#include "operator/op.h"
#include "precond/rows.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

kry_status kryi_amg_check(const char *who, const kry_op *A, const kry_amg_params *p)
{
    kry_status st = KRY_OK;
    const kry_vec *v = p->near_null_space;
    const int64_t n = A->shape.rows;

    CHECK(!p->adaptive || p->coarsening != KRY_COARSEN_CLASSICAL, KRY_ERR_UNSUPPORTED,
          "%s: classical coarsening has no near null space to improve; take aggregation", who);
    CHECK(!v || v->dev == A->dev, KRY_ERR_ARGUMENT,
          "%s: the near null space is on another device than the matrix", who);
    CHECK(!v || v->n == n, KRY_ERR_SHAPE, "%s: the near null space has %lld rows, the matrix %lld",
          who, v ? (long long)v->n : 0, (long long)n);
    CHECK(!v || (v->k >= 1 && v->k <= KRY_BLOCK_MOST), KRY_ERR_SHAPE,
          "%s: the near null space has %lld vectors; 1 ... %d are possible", who,
          v ? (long long)v->k : 0, (int)KRY_BLOCK_MOST);
done:
    return st;
}

/* A diagonal that smoothing can divide by, and nothing that wants a symmetric A. */
static kry_status check_unsymmetric(const char *who, const kry_op *A, const kryi_csr *rows,
                                    const kry_amg_params *p)
{
    kry_status st = KRY_OK;

    CHECK(p->coarsening != KRY_COARSEN_AGGREGATION && !p->adaptive && !p->near_null_space,
          KRY_ERR_UNSUPPORTED,
          "%s: aggregation and near null spaces are for symmetric matrices; approximate ideal "
          "restriction chooses some of the unknowns",
          who);
    CHECK(p->cycle.shape != KRY_CYCLE_K, KRY_ERR_UNSUPPORTED,
          "%s: a K-cycle is for symmetric matrices; take cycle=v, w or f", who);
    for (int64_t i = 0; i < rows->rows; i++) {
        const double d = kryi_csr_entry(rows, i, i);
        CHECK(d != 0 && isfinite(d), KRY_ERR_ARGUMENT,
              "%s: the diagonal entry of row %lld of '%s', which is not symmetric, is %g; none may "
              "be zero" COUNTED,
              who, ROW(i), A->table->kind, d, kryi_first_row);
    }
done:
    return st;
}

static kry_status is_symmetric(const kry_op *A, const kryi_csr *rows, bool *symmetric)
{
    kry_status st = KRY_OK;
    kryi_csr copy = { 0 };
    kryi_csr_mismatch m;

    TRY(kryi_csr_copy(rows, &copy));
    TRY(kryi_csr_symmetrise(&copy, kryi_symmetry_tolerance(A->shape.type), &m));
    *symmetric = m.i < 0;
done:
    kryi_csr_release(&copy);
    return st;
}

kry_status kryi_amg_kind(const char *who, const kry_op *A, const kry_amg_params *p,
                         bool *unsymmetric)
{
    kry_status st = KRY_OK;
    const bool asked = p->restriction == KRY_RESTRICT_AIR;
    const bool seen = kryi_matrix_of(A) && A->found.what != KRY_FOUND_ASYMMETRIC &&
                      A->found.what != KRY_FOUND_UNSEEN; /* to be symmetric */
    kryi_csr rows = { 0 };
    bool symmetric = false;

    *unsymmetric = false;
    if (p->restriction == KRY_RESTRICT_TRANSPOSE) return KRY_OK;
    if (!asked && (seen || (A->shape.traits & KRY_SYMMETRIC))) return KRY_OK;
    TRY(kryi_rows_read(who, A, &rows));
    if (!asked) TRY(is_symmetric(A, &rows, &symmetric));
    *unsymmetric = !symmetric;
    if (*unsymmetric) TRY(check_unsymmetric(who, A, &rows, p));
done:
    kryi_csr_release(&rows);
    return st;
}

kry_status kryi_amg_check_nodes(const char *who, int64_t n, int block)
{
    kry_status st = KRY_OK;

    CHECK(n % block == 0, KRY_ERR_ARGUMENT,
          "%s: %lld rows are no multiple of the %d unknowns of a node", who, (long long)n, block);
done:
    return st;
}

kryi_coupling_sums kryi_amg_couplings(const kryi_csr *A)
{
    const double *a = A->val;
    kryi_coupling_sums c = { 0 };

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (A->col[e] == i) continue;
            if (a[e] > 0)
                c.positive += a[e];
            else
                c.negative -= a[e];
        }
    return c;
}

kryi_row_look kryi_look_at_rows(const kryi_csr *A)
{
    const double *val = A->val;
    float bound = 0, least = INFINITY, most = 0;

    for (int64_t i = 0; i < A->rows; i++) {
        const double entry = kryi_csr_entry(A, i, i);
        double size = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) size += fabs(val[e]);
        if (!(entry > 0)) continue;
        bound = fmaxf(bound, (float)(size / entry));
        least = fminf(least, (float)entry), most = fmaxf(most, (float)entry);
    }
    return (kryi_row_look){ bound, least, most };
}

bool kryi_fits_single(const kryi_row_look *look)
{
    return look->least >= 0x1p-60 && look->most <= 0x1p60;
}

bool kryi_suits_single(const kryi_row_look *look)
{
    enum { SPREAD = 10000 };
    return kryi_fits_single(look) && look->most <= 1.01 * SPREAD * look->least;
}

static int block_of(const kry_op *A, const kryi_csr *rows, const kry_amg_params *p)
{
    const int block = p->block ? p->block : kryi_matrix_block(A);
    return block ? block : kryi_csr_block(rows, A->shape.rows);
}

kryi_amg_sight kryi_amg_look(const kry_op *A, const kryi_csr *rows, const kry_amg_params *p)
{
    kryi_amg_sight s = { .nnz = kryi_csr_nnz(rows), .block = block_of(A, rows, p) };

    s.given = p->near_null_space ? p->near_null_space : A->near_null_space;
    if (rows->val) s.couplings = kryi_amg_couplings(rows);
    return s;
}

/* Classical coarsening is for couplings that are negative, but for a tenth. */
static const kryi_coarsener *choose(const kry_amg_params *p, const kryi_amg_sight *s,
                                    const kryi_coarsen *c)
{
    const bool scalar = c->block == 1 && c->vectors == 1 && !s->given;
    const bool suits = s->couplings.positive <= 0.1 * s->couplings.negative;

    if (p->coarsening == KRY_COARSEN_CLASSICAL) return &kryi_classical_coarsening;
    if (p->coarsening == KRY_COARSEN_AGGREGATION) return &kryi_smoothed_aggregation;
    return scalar && suits ? &kryi_classical_coarsening : &kryi_smoothed_aggregation;
}

/* Below which couplings are weak. Aggregation halves it on each level (Vanek, Mandel, Brezina). */
static double usual_strength(const kryi_coarsener *by, const kryi_coarsen *c)
{
    if (by == &kryi_classical_coarsening) return 0.25;
    return c->vectors > 1 ? -1 : 0.08;
}

kry_status kryi_amg_start(const char *who, int64_t n, const kryi_amg_sight *s,
                          const kry_amg_params *p, kryi_coarsen *c, const kryi_coarsener **by)
{
    kry_status st = KRY_OK;

    if (s->unsymmetric) {
        *c = (kryi_coarsen){ .who = who, .block = 1, .vectors = 1 };
        c->strength = p->strength != 0 ? p->strength : 0.5;
        *by = &kryi_air_coarsening;
        return KRY_OK;
    }
    *c = (kryi_coarsen){ .who = who, .block = s->block, .vectors = s->block };
    if (s->given) c->vectors = (int)s->given->k;
    TRY(kryi_amg_check_nodes(who, n, c->block));
    CHECK(p->coarsening != KRY_COARSEN_CLASSICAL || (c->block == 1 && c->vectors == 1),
          KRY_ERR_UNSUPPORTED,
          "%s: classical coarsening is for one unknown in a node, not for %d; take aggregation",
          who, c->block);
    *by = choose(p, s, c);
    c->strength = p->strength != 0 ? p->strength : usual_strength(*by, c);
done:
    return st;
}

/* B := the near null space v that the caller gave, row by row. */
static kry_status take_given(const char *who, const kry_vec *v, int64_t n, double *B)
{
    kry_status st = KRY_OK;
    double *columns = NULL;

    TRY(kryi_alloc((uint64_t)(n * v->k), sizeof *columns, &columns));
    TRY(kryi_vec_read_doubles(v, columns));
    for (int64_t j = 0; j < v->k; j++)
        for (int64_t i = 0; i < n; i++) {
            const double number = columns[j * n + i];
            CHECK(isfinite(number), KRY_ERR_ARGUMENT,
                  "%s: row %lld of vector %lld of the near null space is %g" COUNTED, who, ROW(i),
                  (long long)j, number, kryi_first_row);
            B[i * v->k + j] = number;
        }
done:
    free(columns);
    return st;
}

kry_status kryi_amg_take_vectors(const kryi_amg_sight *s, int64_t n, const kryi_coarsen *c,
                                 double **B)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((uint64_t)(n * c->vectors), sizeof **B, B));
    if (s->given)
        TRY(take_given(c->who, s->given, n, *B));
    else
        for (int64_t i = 0; i < n; i++) (*B)[i * c->block + i % c->block] = 1;
done:
    if (st < 0) {
        free(*B);
        *B = NULL;
    }
    return st;
}

/* The device host that goes with another device. */
static void release_host(kry_device *dev, void *kept)
{
    (void)dev;
    kry_device_release(kept);
}

static kry_status find_host(kry_device *beside, kry_device **host)
{
    static const kryi_keeper keeper = { sizeof(kry_device *), release_host };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads may share a device */
    kry_status st = KRY_OK;
    kry_device **kept;

    pthread_mutex_lock(&lock);
    TRY(kryi_device_keep(beside, &keeper, &kept));
    if (!*kept) TRY(kryi_host_open(kept));
    *host = kry_device_retain(*kept);
done:
    pthread_mutex_unlock(&lock);
    return st;
}

kry_status kryi_amg_host(const char *who, kry_device *beside, kry_device **dev)
{
    kry_status st = KRY_OK;

    if (!kryi_device_is_host(beside) && kryi_host_check_kernels() == KRY_OK)
        return find_host(beside, dev);
    CHECK(beside->info.fp64, KRY_ERR_UNSUPPORTED,
          "%s: algebraic multigrid is set up in double precision, which neither the device has nor "
          "the device host, for which kry was built without kernels (host_kernels)",
          who);
    *dev = kry_device_retain(beside);
done:
    return st;
}
