/* diagonals.c - which diagonals of a matrix have entries. On the host, on several threads. */
#include "matrix/given.h"
#include <stdlib.h>

/* Diagonal j - i has bit j - i + rows. */
typedef struct looking {
    const kryi_csr *A;
    int64_t most, words;
    uint64_t *seen;                /* words for each part */
    int64_t count[KRY_MOST_PARTS]; /* of each part */
} looking;

/* Up to more than `most`. */
static void look_at_rows(void *user, int part, int64_t begin, int64_t end)
{
    looking *l = user;
    const kryi_csr *A = l->A;
    uint64_t *seen = l->seen + part * l->words;
    int64_t count = 0;

    for (int64_t i = begin; i < end && count <= l->most; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t d = A->col[k] - i + A->rows;
            const uint64_t bit = UINT64_C(1) << (d & 63);
            if (seen[d >> 6] & bit) continue;
            seen[d >> 6] |= bit;
            count++;
        }
    l->count[part] = count;
}

/* Those of all parts, in the first one's words. Returns how many there are. */
static int64_t gather(looking *l, int parts)
{
    int64_t count = 0;

    for (int64_t w = 0; w < l->words; w++) {
        for (int p = 1; p < parts; p++) l->seen[w] |= l->seen[p * l->words + w];
        for (uint64_t bits = l->seen[w]; bits; bits &= bits - 1) count++;
    }
    return count;
}

static void list(const looking *l, int32_t *offset)
{
    for (int64_t w = 0; w < l->words; w++)
        for (int b = 0; l->seen[w] && b < 64; b++)
            if (l->seen[w] >> b & 1) *offset++ = (int32_t)(w * 64 + b - l->A->rows);
}

kry_status kryi_diagonals_find(const kryi_csr *A, int64_t most, int32_t **offset, int64_t *count)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    looking l = { .A = A, .most = most, .words = (A->rows + A->cols) / 64 + 1 };

    *offset = NULL, *count = most + 1;
    TRY(kryi_alloc((size_t)(parts * l.words), sizeof *l.seen, &l.seen));
    kryi_parallel(parts, A->rows, look_at_rows, &l);
    for (int p = 0; p < parts; p++)
        if (l.count[p] > most) goto done;
    *count = gather(&l, parts);
    if (*count > most) goto done;
    TRY(kryi_alloc((size_t)*count, sizeof **offset, offset));
    list(&l, *offset);
done:
    free(l.seen);
    return st;
}
