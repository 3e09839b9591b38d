/* classical.c - classical coarsening as a coarsener of algebraic multigrid. */
#include "amg/classical.h"
#include "amg/amg_device.h"
#include <stdlib.h>
#include <string.h>

kry_couplings kry_amg_couplings(const kry_sparse *A)
{
    const double *a = A->val;
    kry_couplings c = { 0 };

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

/* What does not change with the numbers of A. */
typedef struct classical {
    kry_sparse S;
    char *point;       /* n */
    kry_sparse places; /* of P: no numbers */
} classical;

static void classical_destroy(void *kept)
{
    classical *k = kept;
    if (!k) return;
    kry_sparse_release(&k->places);
    kry_sparse_release(&k->S);
    free(k->point);
    free(k);
}

/* The near null space of the coarser level is what the finer one has at C points. */
static void restrict_vectors(kry_coarsen *c, const char *point, int64_t n)
{
    const size_t m = (size_t)c->vectors;
    double *B = c->near_null_space, *to = B;

    for (int64_t i = 0; i < n; i++) {
        if (point[i] != KRY_POINT_C) continue;
        memmove(to, B + (size_t)i * m, m * sizeof *B);
        to += m;
    }
    c->block = 1;
}

static kry_status classical_create(kry_coarsen *c, const kry_sparse *A, kry_sparse *P, void **kept)
{
    kry_status st = KRY_OK;
    classical *k = NULL;
    int64_t count;

    *P = (kry_sparse){ 0 };
    TRY(kry_alloc(1, sizeof *k, &k));
    TRY(kry_alloc((size_t)A->rows, 1, &k->point));
    TRY(kry_classical_strength(A, c->strength, &k->S));
    TRY(kry_pmis(&k->S, k->point, &count));
    TRY(kry_interpolate(A, &k->S, k->point, P));
    TRY(kry_places_copy(P, &k->places));
    restrict_vectors(c, k->point, A->rows);
    *kept = k, k = NULL;
done:
    classical_destroy(k);
    if (st < 0) kry_sparse_release(P);
    return st;
}

static kry_status classical_update(const kry_sparse *A, void *kept, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const classical *k = kept;

    TRY(kry_places_copy(&k->places, P));
    TRY(kry_interpolate(A, &k->S, k->point, P));
done:
    if (st < 0) kry_sparse_release(P);
    return st;
}

const kry_coarsener kry_classical_coarsening = {
    .name = "classical coarsening",
    .on_device = &kry_device_classical,
    .create = classical_create,
    .update = classical_update,
    .destroy = classical_destroy,
};
