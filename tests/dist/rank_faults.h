/* rank_faults.h - small solves on ranks, and how they end on all of them alike. */
#ifndef KRY_RANK_FAULTS_H
#define KRY_RANK_FAULTS_H

#include "ranks.h"

typedef struct board {
    char message[MOST_RANKS][500];
    int status[MOST_RANKS];
    long calls; /* of OpenCL, in a solve of the last rank */
    bool over;  /* fewer requests than that were made */
} board;

/* Write down how a call went, and see that it went so on all ranks. The team works. */
MAYBE_UNUSED static void all_alike(kry_device *team, wires *w, board *b, kry_status st)
{
    kry_vec *v;
    double norm;

    b->status[w->rank] = st;
    snprintf(b->message[w->rank], sizeof b->message[0], "%s", st < 0 ? kry_last_error() : "");
    GOOD(kry_vec_create(team, KRY_F32, 50, 1, &v)); /* the next call */
    GOOD(kry_vec_fill(v, 2));
    GOOD(kry_vec_norm2(v, &norm));
    NEED(fabs(norm - 2 * sqrt(50.0)) < 1e-4, "norm %g", norm);
    kry_vec_release(&v);
    for (int r = 0; r < w->size; r++) {
        NEED(b->status[r] == st, "status %d here, %d on rank %d", st, b->status[r], r);
        NEED(!strcmp(b->message[r], b->message[w->rank]), "'%s' here, '%s' on rank %d",
             b->message[w->rank], b->message[r], r);
    }
    GOOD(kry_vec_create(team, KRY_F32, 50, 1, &v)); /* all have read it */
    kry_vec_release(&v);
}

/* Rows of -u'' on `rows` points per rank; the first one off by `gap`, column `col` in the last row if >= 0. */
MAYBE_UNUSED static kry_status laplace(kry_device *team, const wires *w, int64_t rows, int64_t gap,
                                       int64_t col, kry_op **A)
{
    int64_t row_ptr[65] = { 0 }, cols[200], n = rows * w->size, first = rows * w->rank, nnz = 0;
    double val[200];

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = first + i - 1; j <= first + i + 1; j++)
            if (j >= 0 && j < n) cols[nnz] = j, val[nnz++] = j == first + i ? 2.5 : -1;
        row_ptr[i + 1] = nnz;
    }
    if (col >= 0) cols[nnz - 1] = col;
    return kry_csr_create_rows(team, KRY_F64, first + gap, rows, row_ptr, cols, val,
                               KRY_MATRIX(.traits = KRY_POSITIVE), A);
}

/* A matrix, or a grid of as many unknowns: in blocks side by side along x, or in slabs of five layers. */
typedef enum shape { STORED, BLOCKS, SLABS } shape;

static kry_status system_on(kry_device *team, const wires *w, shape of, kry_op **A)
{
    double k[20 * MOST_RANKS];

    if (of == STORED) return laplace(team, w, 20, 0, -1, A);
    for (size_t i = 0; i < COUNT(k); i++) k[i] = 1 + (double)(i % 3);
    kry_stencil_params grid =
        *KRY_STENCIL(.size = { 2 * w->size, 10 }, .coefficient = k, .blocks = { w->size, 1 });
    if (of == SLABS) grid = *KRY_STENCIL(.size = { 4, 5 * w->size }, .coefficient = k);
    return kry_stencil_create(team, KRY_F64, &grid, A);
}

MAYBE_UNUSED static kry_status solve_all(kry_device *team, const wires *w, shape of,
                                         const char *words)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *S = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result res;

    TRY(system_on(team, w, of, &A));
    TRY(kry_solver_create(A, words, NULL, NULL, &S));
    TRY(kry_vec_create(team, KRY_F64, 20 * w->size, 1, &b));
    TRY(kry_vec_create(team, KRY_F64, 20 * w->size, 1, &x));
    TRY(kry_vec_fill(b, 1));
    st = kry_solve(S, b, x, &res);
done:
    NEED(st >= 0 || (!A || !S || !b || !x || st < 0), "-");
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&A);
    return st;
}

#endif
