/* classical.c - the coarsener of classical.h: C points by PMIS, extended+i interpolation. */
#include "multigrid/classical.h"
#include "multigrid/amg.h"
#include <stdlib.h>
#include <string.h>

/* What stays when A has new numbers. */
typedef struct classical {
    kry_sparse S;
    char *point;
    kry_sparse pattern; /* of P */
} classical;

static void classical_destroy(void *kept)
{
    classical *s = kept;
    if (!s) return;
    kry_sparse_release(&s->pattern);
    free(s->point);
    kry_sparse_release(&s->S);
    free(s);
}

static kry_status copy_pattern(const kry_sparse *from, kry_sparse *to)
{
    kry_status st = KRY_OK;
    const size_t nnz = (size_t)kry_sparse_nnz(from);

    TRY(kry_sparse_create(from->rows, from->cols, KRY_F64, (int64_t)nnz, to));
    memcpy(to->row_ptr, from->row_ptr, ((size_t)from->rows + 1) * sizeof *to->row_ptr);
    memcpy(to->col, from->col, nnz * sizeof *to->col);
done:
    return st;
}

static kry_status classical_create(kry_coarsen *c, const kry_sparse *A, kry_sparse *P, void **kept)
{
    kry_status st = KRY_OK;
    classical *s = NULL;
    int64_t count;

    *P = (kry_sparse){ 0 };
    TRY(kry_alloc(1, sizeof *s, &s));
    TRY(kry_classical_strength(A, c->strength, &s->S));
    TRY(kry_alloc((size_t)A->rows, 1, &s->point));
    TRY(kry_pmis(&s->S, s->point, &count));
    if (count == 0 || (double)count >= 0.9 * (double)A->rows) {
        TRY(kry_sparse_create(A->rows, 0, KRY_F64, 0, P));
    } else {
        TRY(kry_interpolate(A, &s->S, s->point, P));
        TRY(copy_pattern(P, &s->pattern));
    }
    *kept = s, s = NULL;
done:
    classical_destroy(s);
    return st;
}

static kry_status classical_update(const kry_sparse *A, void *kept, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const classical *s = kept;

    TRY(copy_pattern(&s->pattern, P));
    TRY(kry_interpolate(A, &s->S, s->point, P));
done:
    return st;
}

const kry_coarsener kry_classical = { "classical", classical_create, classical_update,
                                      classical_destroy };
