/* sparse.c - sparse matrices on the host: made, sorted, transposed, cut. */
#include "sparse/csr.h"
#include <stdlib.h>
#include <string.h>

/* Numbers only if `like` has some. */
static kry_status create_like(const kryi_csr *like, int64_t rows, int64_t cols, int64_t nnz,
                              kryi_csr *A)
{
    kry_status st = KRY_OK;

    *A = (kryi_csr){ .rows = rows, .cols = cols, .type = like->type };
    TRY(kryi_alloc((size_t)rows + 1, sizeof *A->row_ptr, &A->row_ptr));
    TRY(kryi_alloc((uint64_t)nnz, sizeof *A->col, &A->col));
    if (like->val) TRY(kryi_alloc((uint64_t)nnz, kry_type_size(like->type), &A->val));
done:
    if (st < 0) kryi_csr_release(A);
    return st;
}

kry_status kryi_csr_create(int64_t rows, int64_t cols, kry_type type, int64_t nnz, kryi_csr *A)
{
    static char some;
    return create_like(&(kryi_csr){ .type = type, .val = &some }, rows, cols, nnz, A);
}

void kryi_csr_release(kryi_csr *A)
{
    free(A->row_ptr);
    free(A->col);
    free(A->val);
    *A = (kryi_csr){ 0 };
}

kry_status kryi_csr_copy(const kryi_csr *A, kryi_csr *B)
{
    kry_status st = KRY_OK;
    const uint64_t nnz = (uint64_t)kryi_csr_nnz(A);

    TRY(create_like(A, A->rows, A->cols, (int64_t)nnz, B));
    memcpy(B->row_ptr, A->row_ptr, ((size_t)A->rows + 1) * sizeof *A->row_ptr);
    memcpy(B->col, A->col, nnz * sizeof *A->col);
    if (A->val) memcpy(B->val, A->val, nnz * kry_type_size(A->type));
done:
    return st;
}

kry_status kryi_csr_copy_pattern(const kryi_csr *A, kryi_csr *B)
{
    const kryi_csr pattern = { A->rows, A->cols, A->type, A->row_ptr, A->col, NULL };
    return kryi_csr_copy(&pattern, B);
}

typedef struct lengths {
    const kryi_csr *A;
    int64_t longest[KRY_MOST_PARTS];
} lengths;

static void find_longest(void *user, int part, int64_t begin, int64_t end)
{
    lengths *l = user;
    int64_t longest = 0;

    for (int64_t i = begin; i < end; i++)
        if (kryi_row_length(l->A, i) > longest) longest = kryi_row_length(l->A, i);
    l->longest[part] = longest;
}

int64_t kryi_longest_row(const kryi_csr *A)
{
    const int parts = kryi_parts(A->rows);
    lengths l = { .A = A };
    int64_t longest = 0;

    kryi_parallel(parts, A->rows, find_longest, &l);
    for (int p = 0; p < parts; p++)
        if (l.longest[p] > longest) longest = l.longest[p];
    return longest;
}

kry_status kryi_numbers_at(kry_type type, const void *numbers, const int64_t *place, int64_t count,
                           void **to)
{
    kry_status st = kryi_alloc((size_t)count, kry_type_size(type), to);
    for (int64_t k = 0; st == KRY_OK && k < count; k++)
        kryi_number_put(type, *to, k, kryi_number_at(type, numbers, place[k]));
    return st;
}

kry_status kryi_csr_convert(kryi_csr *A, kry_type type)
{
    kry_status st = KRY_OK;
    int64_t nnz = kryi_csr_nnz(A);
    void *val = NULL;

    if (type == A->type) return KRY_OK;
    TRY(kryi_alloc((uint64_t)nnz, kry_type_size(type), &val));
    for (int64_t e = 0; e < nnz; e++)
        kryi_number_put(type, val, e, kryi_number_at(A->type, A->val, e));
    free(A->val);
    A->val = val;
    A->type = type;
done:
    return st;
}

/* Entry `to` of B := entry `from` of A, in this column. */
static void copy_entry(const kryi_csr *A, int64_t from, kryi_csr *B, int64_t to, int64_t col)
{
    B->col[to] = (int32_t)col;
    if (A->val) kryi_number_put(A->type, B->val, to, kryi_number_at(A->type, A->val, from));
}

kry_status kryi_csr_transpose(const kryi_csr *A, kryi_csr *T)
{
    kry_status st = KRY_OK;
    int64_t nnz = kryi_csr_nnz(A);

    TRY(create_like(A, A->cols, A->rows, nnz, T));
    for (int64_t e = 0; e < nnz; e++) T->row_ptr[A->col[e] + 1]++;
    for (int64_t j = 0; j < T->rows; j++) T->row_ptr[j + 1] += T->row_ptr[j];
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            copy_entry(A, e, T, T->row_ptr[A->col[e]]++, i);
    for (int64_t j = T->rows; j > 0; j--) T->row_ptr[j] = T->row_ptr[j - 1]; /* back to the start */
    T->row_ptr[0] = 0;
done:
    return st;
}

kry_status kryi_csr_sort(kryi_csr *A)
{
    kry_status st = KRY_OK;
    kryi_csr T = { 0 }, sorted;

    TRY(kryi_csr_transpose(A, &T));
    TRY(kryi_csr_transpose(&T, &sorted));
    kryi_csr_release(A);
    *A = sorted;
done:
    kryi_csr_release(&T);
    return st;
}

/* The row of A that is row i of the part. */
static int64_t row_of(const kryi_csr_cut *cut, int64_t i)
{
    return cut->row ? cut->row[cut->first + i] : cut->first + i;
}

/* The column in the part of an entry of A, or -1. */
static int64_t column_of(const kryi_csr_cut *cut, int64_t row, int32_t col)
{
    if (cut->keep && !cut->keep(cut->user, row, col)) return -1;
    return cut->place ? cut->place[col] : col;
}

kry_status kryi_csr_part(const kryi_csr *A, const kryi_csr_cut *cut, kryi_csr *B, int64_t **from)
{
    kry_status st = KRY_OK;
    int64_t kept = 0;

    if (from) *from = NULL;
    for (int64_t i = 0; i < cut->rows; i++)
        for (int64_t row = row_of(cut, i), e = A->row_ptr[row]; e < A->row_ptr[row + 1]; e++)
            kept += column_of(cut, row, A->col[e]) >= 0;
    if (from) TRY(kryi_alloc((size_t)kept, sizeof **from, from));
    TRY(create_like(A, cut->rows, cut->cols, kept, B));
    kept = 0;
    for (int64_t i = 0; i < cut->rows; i++) {
        for (int64_t row = row_of(cut, i), e = A->row_ptr[row]; e < A->row_ptr[row + 1]; e++) {
            int64_t col = column_of(cut, row, A->col[e]);
            if (col < 0) continue;
            if (from) (*from)[kept] = e;
            copy_entry(A, e, B, kept++, col);
        }
        B->row_ptr[i + 1] = kept;
    }
done:
    return st;
}

void kryi_csr_renumber(kryi_csr *A, int64_t cols, const int32_t *place)
{
    int64_t kept = 0, e = 0;

    for (int64_t i = 0; i < A->rows; i++) {
        for (const int64_t end = A->row_ptr[i + 1]; e < end; e++)
            if (place[A->col[e]] >= 0) copy_entry(A, e, A, kept++, place[A->col[e]]);
        A->row_ptr[i + 1] = kept;
    }
    A->cols = cols;
}

kry_status kryi_csr_select(const kryi_csr *A, kryi_csr_keep *keep, const void *user, kryi_csr *B)
{
    const kryi_csr_cut cut = { .rows = A->rows, .cols = A->cols, .keep = keep, .user = user };
    return kryi_csr_part(A, &cut, B, NULL);
}

kry_status kryi_csr_beside(const kryi_csr *A, const kryi_csr *B, kryi_csr *M)
{
    kry_status st = KRY_OK;
    const kryi_csr *const both[] = { A, B };
    int64_t to = 0;

    *M = (kryi_csr){ 0 };
    TRY(kryi_csr_create(A->rows, A->cols + B->cols, A->type, kryi_csr_nnz(A) + kryi_csr_nnz(B), M));
    for (int64_t i = 0; i < A->rows; i++) {
        for (int b = 0; b < 2; b++)
            for (int64_t e = both[b]->row_ptr[i]; e < both[b]->row_ptr[i + 1]; e++, to++)
                copy_entry(both[b], e, M, to, both[b]->col[e] + (b ? A->cols : 0));
        M->row_ptr[i + 1] = to;
    }
done:
    return st;
}
