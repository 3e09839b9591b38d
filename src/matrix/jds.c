/* jds.c - jagged diagonals (Cevahir, Nukada, Matsuoka 2009). Kernels: cl/jds.cl. */
#include "matrix/matrix.h"
#include <stdio.h>
#include <stdlib.h>

enum { PAD = 16 }; /* entries: diagonals start at multiples, for coalesced loads */

typedef struct jagged {
    int64_t diagonals;
    int32_t *perm; /* rows, by falling length */
    int32_t *jd;   /* pairs: where a diagonal begins, how many rows it has */
    double slots;
} jagged;

static void jagged_release(jagged *j)
{
    free(j->perm);
    free(j->jd);
}

static kry_status sort_rows(const kry_sparse *host, jagged *j)
{
    kry_status st = KRY_OK;
    int64_t *start = NULL;

    j->diagonals = kry_longest_row(host);
    TRY(kry_alloc((size_t)host->rows, sizeof *j->perm, &j->perm));
    TRY(kry_alloc((size_t)j->diagonals + 2, sizeof *start, &start));
    for (int64_t i = 0; i < host->rows; i++)
        start[j->diagonals - (host->row_ptr[i + 1] - host->row_ptr[i]) + 1]++;
    for (int64_t l = 0; l <= j->diagonals; l++) start[l + 1] += start[l];
    for (int64_t i = 0; i < host->rows; i++)
        j->perm[start[j->diagonals - (host->row_ptr[i + 1] - host->row_ptr[i])]++] = (int32_t)i;
done:
    free(start);
    return st;
}

static kry_status cut_diagonals(const kry_sparse *host, jagged *j)
{
    kry_status st = KRY_OK;
    int64_t rows = host->rows;

    TRY(kry_alloc((size_t)j->diagonals * 2, sizeof *j->jd, &j->jd));
    for (int64_t d = 0; d < j->diagonals; d++) {
        while (rows > 0) {
            int64_t i = j->perm[rows - 1];
            if (host->row_ptr[i + 1] - host->row_ptr[i] > d) break;
            rows--;
        }
        j->jd[2 * d] = j->slots > INT32_MAX ? INT32_MAX : (int32_t)j->slots;
        j->jd[2 * d + 1] = (int32_t)rows;
        int64_t padded = (rows + PAD - 1) / PAD * PAD;
        j->slots += (double)padded;
    }
done:
    return st;
}

static void fill_slots(kry_matrix *A, const kry_sparse *host, const jagged *j, int32_t *col)
{
    for (int64_t p = 0; p < host->rows; p++) {
        int64_t begin = host->row_ptr[j->perm[p]], end = host->row_ptr[j->perm[p] + 1];
        for (int64_t k = begin; k < end; k++) {
            int64_t slot = j->jd[2 * (k - begin)] + p;
            A->slot[k] = (int32_t)slot;
            col[slot] = host->col[k];
        }
    }
}

/* CPU: shares of positions, equal in work, in whole vectors. */
static kry_status shares_array(kry_matrix *A, kry_stage *s, const kry_sparse *host, const jagged *j,
                               int64_t pieces)
{
    kry_status st = KRY_OK;
    int64_t lanes = kry_vector_width(A->dev, A->type), vectors = (A->rows + lanes - 1) / lanes;
    int32_t *begin = NULL, *share = NULL;

    TRY(kry_alloc((size_t)vectors + 1, sizeof *begin, &begin));
    TRY(kry_alloc((size_t)pieces + 1, sizeof *share, &share));
    for (int64_t p = 0; p < A->rows; p++)
        begin[p / lanes + 1] +=
            (int32_t)(host->row_ptr[j->perm[p] + 1] - host->row_ptr[j->perm[p]]);
    for (int64_t v = 0; v < vectors; v++) begin[v + 1] += begin[v];
    kry_equal_shares(begin, vectors, share, pieces);
    for (int64_t b = 0; b <= pieces; b++)
        share[b] = share[b] * lanes < A->rows ? (int32_t)(share[b] * lanes) : (int32_t)A->rows;
    TRY(kry_stage_array(A, s, share, (size_t)pieces + 1, sizeof *share));
done:
    free(share);
    free(begin);
    return st;
}

/* Which argument of the stage jd is; perm and col follow. */
static int jd_argument(const kry_matrix *A) { return A->dev->info.cpu_kernels ? 3 : 2; }

static kry_status make_stage(kry_matrix *A, const kry_sparse *host, const jagged *j,
                             const int32_t *col)
{
    kry_status st = KRY_OK;
    cl_ulong constant = 0;
    size_t jd_bytes = (size_t)j->diagonals * 2 * sizeof *j->jd;
    bool cpu = A->dev->info.cpu_kernels;
    int64_t pieces = kry_cpu_pieces(A->dev, A->slots + A->rows);

    TRY_CL(clGetDeviceInfo(A->dev->id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof constant,
                           &constant, NULL));
    kry_stage *s =
        kry_matrix_stage(A, "jds", (kry_stage_build){ .global_list = jd_bytes > constant });
    kry_stage_int(s, cpu ? pieces : A->rows);
    kry_stage_int(s, j->diagonals);
    if (cpu) TRY(shares_array(A, s, host, j, pieces));
    TRY(kry_stage_array(A, s, j->jd, (size_t)j->diagonals * 2, sizeof *j->jd));
    TRY(kry_stage_array(A, s, j->perm, (size_t)A->rows, sizeof *j->perm));
    TRY(kry_stage_array(A, s, col, (size_t)A->slots, sizeof *col));
    if (cpu)
        kry_stage_pieces(A, s, pieces);
    else
        kry_stage_rows(A, s, A->rows);
    snprintf(A->variant, sizeof A->variant, "%lld jagged diagonals", (long long)j->diagonals);
done:
    return st;
}

static kry_status jds_build(kry_matrix *A, const kry_sparse *host, const kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    jagged j = { 0 };
    int32_t *col = NULL;

    (void)params;
    TRY(sort_rows(host, &j));
    TRY(cut_diagonals(host, &j));
    TRY(kry_matrix_slots(A, j.slots, 4 * j.slots));
    TRY(kry_alloc((size_t)A->slots, sizeof *col, &col));
    fill_slots(A, host, &j, col);
    TRY(make_stage(A, host, &j, col));
done:
    free(col);
    jagged_release(&j);
    return st;
}

static kry_status jds_places(kry_matrix *A, kry_place *place)
{
    kry_status st = KRY_OK;
    const kry_stage *s = &A->stage[0];
    int at = jd_argument(A);
    int64_t diagonals = s->value[1].number;
    int32_t *jd = NULL, *perm = NULL, *col = NULL;

    TRY(kry_alloc((size_t)diagonals * 2, sizeof *jd, &jd));
    TRY(kry_alloc((size_t)A->rows, sizeof *perm, &perm));
    TRY(kry_alloc((size_t)A->slots, sizeof *col, &col));
    TRY(kry_stage_read(A, s, at, (size_t)diagonals * 2 * sizeof *jd, jd));
    TRY(kry_stage_read(A, s, at + 1, (size_t)A->rows * sizeof *perm, perm));
    TRY(kry_stage_read(A, s, at + 2, (size_t)A->slots * sizeof *col, col));
    for (int64_t i = 0; i < A->slots; i++) place[i] = (kry_place){ -1, -1 };
    for (int64_t d = 0; d < diagonals; d++)
        for (int64_t p = 0; p < jd[2 * d + 1]; p++)
            place[jd[2 * d] + p] = (kry_place){ perm[p], col[jd[2 * d] + p] };
done:
    free(col);
    free(perm);
    free(jd);
    return st;
}

const kry_format_table kry_jds_format = {
    .format = KRY_FORMAT_JDS,
    .build = jds_build,
    .places = jds_places,
};
