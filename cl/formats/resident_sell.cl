// resident_sell.cl - conjugate gradients in one kernel with a matrix stored by slices, as in sell.cl.
// Host: src/matrix/matrix_persistent.c.

#include "formats/resident_matrix.clh"
#include "formats/held.clh"
#include "formats/streamed.clh"

#ifndef COLUMN
#define COLUMN int
#endif
enum { NO_COLUMN = (int)(COLUMN)-1 }; // padding

typedef struct sell {
    int rows, shift, flux;
    global const int *slice_ptr, *perm; // perm NULL: rows are in order
    global const COLUMN *col;
    global const int *base; // NULL where it is not read
    global const VAL *val;
} sell;

#define SELL                                                                                            \
    int rows, int shift, int flux, global const int *restrict share, global const int *restrict full,   \
        global const int *restrict slice_ptr, global const int *restrict perm,                          \
        global const COLUMN *restrict col, global const int *restrict base, global const VAL *restrict val, \
        global const REAL *restrict surplus
#define SELL_PASS { rows, shift, flux, slice_ptr, perm, col, base, val }

INLINED int sell_begin(const sell *A, int position)
{
    return A->slice_ptr[position >> A->shift] + (position & ((1 << A->shift) - 1));
}
INLINED int sell_end(const sell *A, int position) { return A->slice_ptr[(position >> A->shift) + 1]; }

// Return the column in front of a position's first entry, where sell_column begins to add distances; without ALONG it is not used.
INLINED int sell_before(const sell *A, int position)
{
#ifdef ALONG
    return A->base[position];
#else
    return 0;
#endif
}

// The column of the entry at place k, where `stored` stands; -1: padding. ALONG: *last is the column before it in the row, and
// becomes its own.
INLINED int sell_column(const sell *A, int stored, int k, int *last)
{
#ifdef ALONG
    if (stored != NO_COLUMN) *last += stored;
    return stored == NO_COLUMN ? -1 : *last;
#else
    return stored == NO_COLUMN ? -1 : (sizeof(COLUMN) == sizeof(int) ? 0 : A->base[k >> A->shift]) + stored;
#endif
}

#pragma kry part rows read for each product

// The sum of the entries of the row at a position, each a(i,j) (x_j - own). Four are on their way at once.
INLINED SUM sell_sum(const sell *A, const product *P, int position, SUM own)
{
    const int height = 1 << A->shift, end = sell_end(A, position);
    int k = sell_begin(A, position), last = sell_before(A, position);
    SUM sum = 0;

    for (; k + 3 * height < end; k += 4 * height) {
        int j[4];
        SUM v[4];
        UNROLLED for (int u = 0; u < 4; u++)
        {
            j[u] = sell_column(A, A->col[k + u * height], k + u * height, &last);
            v[u] = number_at(P, A->val, k + u * height);
        }
        UNROLLED for (int u = 0; u < 4; u++) v[u] *= (SUM)P->x[max(j[u], 0)] - own;
        UNROLLED for (int u = 0; u < 4; u++) sum += j[u] < 0 ? (SUM)0 : v[u];
    }
    for (; k < end; k += height) {
        const int j = sell_column(A, A->col[k], k, &last);
        if (j >= 0) sum += number_at(P, A->val, k) * ((SUM)P->x[j] - own);
    }
    return sum;
}

INLINED void sell_product(const sell *A, product *P)
{
    FOR_ROWS(i, A->rows)
    {
        const int row = A->perm ? A->perm[i] : i;
        product_row(P, row, sell_sum(A, P, i, own_of(P, A->flux, row)));
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_sell(RESIDENT_PARAMS, CG, SELL, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    sell A = SELL_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;
    unknowns v;
    product P;

    resident_begin(&me, RESIDENT_PASS);
    A.rows = me.groups ? rows : 0;
    streamed_begin(&me, &S, &v);
    do {
        products_begin(&S, &M, &v, surplus, &P);
        for (int nth = 0; nth < products_of(&M); nth++) {
            product_at(&S, nth, 0, &P);
            resident_wait(&me);
            sell_product(&A, &P);
        }
        product_at(&S, products_of(&M), 1, &P);
        resident_wait(&me);
        sell_product(&A, &P);
    } while (products_end(&me, &S, &P, &v));
    unknowns_store(&S, &v);
    resident_end(&me);
}

#pragma kry end

// All iterations. perm: A's, or NULL if rows are in order.
INLINED void sell_solve_held(resident *me, const sell *A, cg *S, const precond *M, global const REAL *surplus, local REAL *mine,
                             global const int *perm)
{
    unknowns v;
    held H;

    held_begin(me, S, perm, &v);
    held_rows_begin(mine, A->flux, surplus, &H);
    FOR_OWN(k)
    {
        const int position = position_of(&v, k), end = is_there(&v, k) ? sell_end(A, position) : 0;
        int last = sell_before(A, position), at = sell_begin(A, position), j[HELD], e[HELD];
        UNROLLED for (int u = 0; u < HELD; u++, at += 1 << A->shift)
        {
            j[u] = sell_column(A, at < end ? (int)A->col[at] : NO_COLUMN, at, &last);
            e[u] = j[u] < 0 ? -1 : at;
        }
        hold(&H, &v, k, j, e, A->val, M);
    }
    held_solve(me, S, &H, M, &v);
}

#pragma kry part rows in registers

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_sell_held(RESIDENT_PARAMS, CG, SELL, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    const sell A = SELL_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;

    resident_begin(&me, RESIDENT_PASS);
    sell_solve_held(&me, &A, &S, &M, surplus, mine, NULL);
}

#pragma kry part sorted rows in registers

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_sell_sorted(RESIDENT_PARAMS, CG, SELL, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    const sell A = SELL_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;

    resident_begin(&me, RESIDENT_PASS);
    sell_solve_held(&me, &A, &S, &M, surplus, mine, perm);
}

#pragma kry end
