/* fill.c - where incomplete factors have entries: levels of fill. */
#include "sparse/csr.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>

/* Rows of the factors as they grow, each with the levels of its entries. */
typedef struct filling {
    kryi_csr places; /* no numbers */
    uint8_t *level;  /* of each place */
    int64_t room;    /* places there is memory for */
    int64_t *above;  /* of each row: its first place right of the diagonal */
    int32_t *next;   /* n + 1: the columns of the present row, ascending, from next[n] to n */
    uint8_t *of;     /* n: their levels */
} filling;

enum { ABSENT = UINT8_MAX };

static kry_status begin(const kryi_csr *A, filling *f)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)A->rows;

    f->room = 2 * kryi_csr_nnz(A) + 1;
    f->places = (kryi_csr){ .rows = A->rows, .cols = A->cols, .type = A->type };
    TRY(kryi_alloc(n + 1, sizeof *f->places.row_ptr, &f->places.row_ptr));
    TRY(kryi_alloc((size_t)f->room, sizeof *f->places.col, &f->places.col));
    TRY(kryi_alloc((size_t)f->room, sizeof *f->level, &f->level));
    TRY(kryi_alloc(n, sizeof *f->above, &f->above));
    TRY(kryi_alloc(n + 1, sizeof *f->next, &f->next));
    TRY(kryi_alloc(n, sizeof *f->of, &f->of));
    for (size_t j = 0; j < n; j++) f->of[j] = ABSENT;
done:
    return st;
}

/* The columns of row i of A, at level 0. */
static void take_row(const kryi_csr *A, int64_t i, filling *f)
{
    int64_t last = A->rows;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        f->next[last] = A->col[e];
        last = A->col[e];
        f->of[last] = 0;
    }
    f->next[last] = (int32_t)A->rows;
}

/* What eliminating column k brings into the row. */
static void eliminate(int64_t k, int most, filling *f)
{
    int64_t walker = k;

    for (int64_t e = f->above[k]; e < f->places.row_ptr[k + 1]; e++) {
        const int32_t j = f->places.col[e];
        const int level = f->of[k] + f->level[e] + 1;
        if (level > most) continue;
        while (f->next[walker] <= j)
            walker = f->next[walker]; /* the last column that is not right of j */
        if (f->of[j] == ABSENT) {
            f->next[j] = f->next[walker];
            f->next[walker] = j;
            f->of[j] = (uint8_t)level;
        } else if (level < f->of[j]) {
            f->of[j] = (uint8_t)level;
        }
    }
}

static kry_status keep_row(int64_t i, filling *f)
{
    kry_status st = KRY_OK;
    const int64_t n = f->places.rows;
    int64_t to = f->places.row_ptr[i];

    f->above[i] = -1;
    for (int64_t j = f->next[n]; j < n; j = f->next[j], to++) {
        if (to == f->room) {
            f->room *= 2;
            TRY(kryi_realloc((size_t)f->room, sizeof *f->places.col, &f->places.col));
            TRY(kryi_realloc((size_t)f->room, sizeof *f->level, &f->level));
        }
        if (j > i && f->above[i] < 0) f->above[i] = to;
        f->places.col[to] = (int32_t)j;
        f->level[to] = f->of[j];
        f->of[j] = ABSENT;
    }
    f->places.row_ptr[i + 1] = to;
    if (f->above[i] < 0) f->above[i] = to;
done:
    return st;
}

kry_status kryi_csr_fill(const char *who, const kryi_csr *A, int level, kryi_csr *B)
{
    kry_status st = KRY_OK;
    const int64_t most = kryi_fill_most(kryi_csr_nnz(A));
    filling f = { 0 };

    assert(A->rows == A->cols && level >= 0 && level < ABSENT);
    *B = (kryi_csr){ 0 };
    TRY(begin(A, &f));
    for (int64_t i = 0; i < A->rows; i++) {
        take_row(A, i, &f);
        for (int64_t k = f.next[A->rows]; k < i; k = f.next[k])
            if (f.of[k] < level) eliminate(k, level, &f);
        TRY(keep_row(i, &f));
        const int64_t places = f.places.row_ptr[i + 1];
        CHECK(places <= most, KRY_ERR_MEMORY,
              "%s: %d level%s of fill bring%s more than %lld entries by row %lld of %lld, %.2g "
              "bytes, "
              "to a matrix of %lld: take fewer levels, or another order of the rows" COUNTED,
              who, level, level == 1 ? "" : "s", level == 1 ? "s" : "", (long long)most, ROW(i),
              (long long)A->rows, 12.0 * (double)places, (long long)kryi_csr_nnz(A),
              kryi_first_row);
    }
    *B = f.places;
    f.places = (kryi_csr){ 0 };
done:
    kryi_csr_release(&f.places);
    free(f.level), free(f.above), free(f.next), free(f.of);
    return st;
}

void kryi_csr_spread(const kryi_csr *A, kryi_csr *B)
{
    const double *from = A->val;
    double *to = B->val;

    for (int64_t i = 0; i < A->rows; i++) {
        int64_t e = A->row_ptr[i];
        for (int64_t at = B->row_ptr[i]; at < B->row_ptr[i + 1]; at++) {
            const bool same = e < A->row_ptr[i + 1] && A->col[e] == B->col[at];
            to[at] = same ? from[e++] : 0;
        }
    }
}
