/* jds.c - jagged diagonals: rows sorted by falling length, the k-th entries of all rows that have one side by side
 * (Cevahir, Nukada, Matsuoka, ICCS 2009). Kernels: cl/formats/jds.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>

enum { PAD = 16 }; /* places: diagonals begin at multiples, for coalesced loads */

typedef struct jagged {
    int64_t diagonals;
    int32_t *perm; /* rows, by falling length */
    int32_t *list; /* pairs: where a diagonal begins, how many positions have an entry of it */
    double slots;
} jagged;

/* A counting sort: rows of one length stay in their order. */
static kry_status sort_rows(const kryi_csr *host, jagged *j)
{
    kry_status st = KRY_OK;
    int64_t *start = NULL;

    j->diagonals = kryi_longest_row(host);
    TRY(kryi_alloc((size_t)host->rows, sizeof *j->perm, &j->perm));
    TRY(kryi_alloc((size_t)j->diagonals + 2, sizeof *start, &start));
    for (int64_t i = 0; i < host->rows; i++) start[j->diagonals - kryi_row_length(host, i) + 1]++;
    for (int64_t l = 0; l <= j->diagonals; l++) start[l + 1] += start[l];
    for (int64_t i = 0; i < host->rows; i++)
        j->perm[start[j->diagonals - kryi_row_length(host, i)]++] = (int32_t)i;
done:
    free(start);
    return st;
}

/* Slots past 2^31 are refused before the list is used. */
static kry_status cut_diagonals(const kryi_csr *host, jagged *j)
{
    kry_status st = KRY_OK;
    int64_t rows = host->rows;

    TRY(kryi_alloc((uint64_t)j->diagonals * 2, sizeof *j->list, &j->list));
    for (int64_t d = 0; d < j->diagonals; d++) {
        while (rows > 0 && kryi_row_length(host, j->perm[rows - 1]) <= d) rows--;
        j->list[2 * d] = j->slots > INT32_MAX ? INT32_MAX : (int32_t)j->slots;
        j->list[2 * d + 1] = (int32_t)rows;
        const int64_t places = (rows + PAD - 1) / PAD * PAD;
        j->slots += (double)places;
    }
done:
    return st;
}

typedef struct filling {
    const kryi_csr *host;
    const jagged *j;
    int32_t *slot, *col;
} filling;

static void fill_positions(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const kryi_csr *host = f->host;

    (void)part;
    for (int64_t p = begin; p < end; p++) {
        const int64_t first = host->row_ptr[f->j->perm[p]];
        const int64_t length = kryi_row_length(host, f->j->perm[p]);
        for (int64_t d = 0; d < length; d++) {
            const int32_t slot = f->j->list[2 * d] + (int32_t)p;
            f->slot[first + d] = slot;
            f->col[slot] = host->col[first + d];
        }
    }
}

/* CPUs: share[b] := the first position of group b, of which all have equal work, in whole vectors. */
static kry_status shares_array(kryi_matrix *A, kryi_stage *s, const kryi_csr *host, const jagged *j)
{
    kry_status st = KRY_OK;
    const int64_t rows = host->rows, height = kryi_vector_width(A->dev, A->shape.type);
    const int64_t packs = (rows + height - 1) / height;
    const int64_t groups = A->dev->info.cpu_kernels ? s->groups : 0; /* GPUs share by position */
    int32_t *begin = NULL, *share = NULL;

    TRY(kryi_alloc((size_t)packs + 1, sizeof *begin, &begin));
    TRY(kryi_alloc((size_t)groups + 1, sizeof *share, &share));
    for (int64_t p = 0; p < rows; p++)
        begin[p / height + 1] += (int32_t)kryi_row_length(host, j->perm[p]);
    for (int64_t i = 0; i < packs; i++) begin[i + 1] += begin[i];
    if (groups) kryi_equal_shares(begin, packs, share, groups);
    for (int64_t b = 0; b <= groups; b++)
        share[b] = (int32_t)(share[b] * height < rows ? share[b] * height : rows);
    TRY(kryi_stage_array(A, s, share, (size_t)groups + 1, sizeof *share));
done:
    free(share);
    free(begin);
    return st;
}

static kry_status make_stage(kryi_matrix *A, const kryi_csr *host, const jagged *j,
                             const int32_t *col)
{
    kry_status st = KRY_OK;
    kryi_stage *s = kryi_matrix_stage(A, "jds", "");

    kryi_stage_int(s, A->shape.rows);
    kryi_stage_int(s, j->diagonals);
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    if (A->dev->info.cpu_kernels)
        kryi_stage_pieces(A, s, kryi_cpu_pieces(A->dev, A->slots + A->shape.rows));
    else
        kryi_stage_rows(A, s, A->shape.rows, 1);
    TRY(shares_array(A, s, host, j));
    TRY(kryi_stage_array(A, s, j->list, (size_t)j->diagonals * 2, sizeof *j->list));
    TRY(kryi_stage_array(A, s, j->perm, (size_t)A->shape.rows, sizeof *j->perm));
    TRY(kryi_stage_array(A, s, col, (size_t)A->slots, sizeof *col));
    snprintf(A->variant, sizeof A->variant, "%lld jagged diagonals", (long long)j->diagonals);
done:
    return st;
}

kry_status kryi_jds_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    jagged j = { 0 };
    filling f = { .host = host, .j = &j };

    TRY(sort_rows(host, &j));
    TRY(cut_diagonals(host, &j));
    TRY(kryi_matrix_slots(A, j.slots, 4 * j.slots + 4 * (double)host->rows));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *A->slot, &A->slot));
    TRY(kryi_alloc((uint64_t)A->slots, sizeof *f.col, &f.col));
    f.slot = A->slot;
    kryi_parallel(kryi_parts(A->nnz), host->rows, fill_positions, &f);
    TRY(make_stage(A, host, &j, f.col));
done:
    free(f.col);
    free(j.list);
    free(j.perm);
    return st;
}
