// resident_csr.cl - conjugate gradients in one kernel with a matrix stored by rows, none of which is longer than a run (csr.cl).
// Host: src/matrix/matrix_persistent.c.

#include "formats/resident_matrix.clh"
#include "formats/held.clh"
#include "formats/streamed.clh"

#ifndef OFFSET
#define OFFSET int
#endif
#ifndef UNROLL
#define UNROLL 4 // or 8, as src/matrix/csr.c says
#endif
#define TILE (UNROLL * WG)

typedef struct csr {
    int work;
    global const int *block;
    global const OFFSET *row_ptr;
    global const int *col;
    int long_rows, flux;
    global const VAL *val;
} csr;

#define CSR                                                                               \
    int work, global const int *restrict block, global const OFFSET *restrict row_ptr,    \
        global const int *restrict col, int long_rows, int flux, global const OFFSET *cut, \
        global REAL *partial, global const VAL *restrict val, global const REAL *restrict surplus
#define CSR_PASS { work, block, row_ptr, col, long_rows, flux, val }

#pragma kry part rows read for each product

#ifdef KRY_CPU

#define CSR_TILE const int tile = 0;
typedef int csr_tile;

INLINED SUM csr_term(const csr *A, const product *P, OFFSET k, SUM own)
{
    return number_at(P, A->val, k) * ((SUM)P->x[A->col[k]] - own);
}

INLINED SUM csr_sum(const csr *A, const product *P, OFFSET k, OFFSET end, SUM own)
{
    SUM sum = 0;

    if (A->long_rows && end - k >= A->long_rows) { // four sums, so that an entry does not wait for the one before it
        SUM sum1 = 0, sum2 = 0, sum3 = 0;
        for (; k + 3 < end; k += 4) {
            sum += csr_term(A, P, k, own);
            sum1 += csr_term(A, P, k + 1, own);
            sum2 += csr_term(A, P, k + 2, own);
            sum3 += csr_term(A, P, k + 3, own);
        }
        sum = (sum + sum2) + (sum1 + sum3);
    }
    for (; k < end; k++) sum += csr_term(A, P, k, own);
    return sum;
}

INLINED void csr_product(const csr *A, const csr_tile *tile, product *P)
{
    for (int b = get_group_id(0); b < A->work; b += get_num_groups(0)) {
        OFFSET k = A->row_ptr[A->block[b]];
        for (int row = A->block[b]; row < A->block[b + 1]; row++) {
            const OFFSET end = A->row_ptr[row + 1];
            product_row(P, row, csr_sum(A, P, k, end, own_of(P, A->flux, row)));
            k = end;
        }
    }
}

#else

typedef struct csr_tile {
    local SUM *product, *lane_sum;
} csr_tile;
#define CSR_TILE             \
    local SUM entries[TILE]; \
    local SUM lane_sum[WG];  \
    const csr_tile tile = { entries, lane_sum };

// A run of rows that follow each other, the place of its first entry, how many entries it has, and lanes that share a row: the
// largest power of two that gives every row its share. A run may be empty.
typedef struct csr_run {
    int first, rows;
    OFFSET begin;
    int count, lanes;
} csr_run;

INLINED void csr_run_at(const csr *A, int b, csr_run *r)
{
    r->first = A->block[b];
    r->rows = A->block[b + 1] - r->first;
    r->begin = A->row_ptr[r->first];
    r->count = (int)(A->row_ptr[r->first + r->rows] - r->begin);
    r->lanes = 1;
    while (r->lanes < WG && 2 * r->lanes * r->rows <= WG) r->lanes *= 2;
}

// Where the entries of a row begin in the tile.
INLINED int csr_begin(const csr *A, const csr_run *r, int row) { return (int)(A->row_ptr[row] - r->begin); }

// Which row an entry is of, and so what to subtract in flux form, is only known where rows are walked: each row puts its x_i
// where its products will be.
INLINED void csr_spread_own(const csr *A, const csr_run *r, const product *P, const csr_tile *tile)
{
    const int l = get_local_id(0);
    for (int base = 0; base < r->rows; base += WG / r->lanes) {
        const int nth = base + l / r->lanes, row = r->first + nth;
        if (nth < r->rows) {
            const int to = csr_begin(A, r, row + 1);
            const SUM own = (SUM)P->x[row];
            for (int k = csr_begin(A, r, row) + (l & (r->lanes - 1)); k < to; k += r->lanes) tile->product[k] = own;
        }
    }
}

// The products of a run's entries go to the tile: all loads first, then all gathers, then all stores.
INLINED void csr_load_tile(const csr *A, const csr_run *r, const product *P, const csr_tile *tile)
{
    const int l = get_local_id(0), in_flux_form = IN_FLUX_FORM && A->flux;
    int col[UNROLL];
    SUM val[UNROLL];

    if (in_flux_form) csr_spread_own(A, r, P, tile);
    if (IN_FLUX_FORM) barrier(CLK_LOCAL_MEM_FENCE);
    if (r->count > 0) {
        UNROLLED for (int u = 0; u < UNROLL; u++)
        {
            const OFFSET k = r->begin + min(l + u * WG, r->count - 1);
            col[u] = A->col[k], val[u] = number_at(P, A->val, k);
        }
        UNROLLED for (int u = 0; u < UNROLL; u++)
            val[u] *= (SUM)P->x[col[u]] - (in_flux_form ? tile->product[min(l + u * WG, r->count - 1)] : (SUM)0);
        UNROLLED for (int u = 0; u < UNROLL; u++)
            if (l + u * WG < r->count) tile->product[l + u * WG] = val[u];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Add up what the lanes of a row have. Only lane 0 of each row has the answer.
INLINED SUM over_lanes(SUM sum, int lanes, local SUM *lane_sum)
{
    const int l = get_local_id(0), lane_of_row = l & (lanes - 1);
    for (int step = lanes / 2; step > 0; step /= 2) {
        lane_sum[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane_of_row < step) sum += lane_sum[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sum;
}

INLINED void csr_product(const csr *A, const csr_tile *tile, product *P)
{
    const int l = get_local_id(0);
    for (int b = get_group_id(0); b < A->work; b += get_num_groups(0)) {
        csr_run r;
        csr_run_at(A, b, &r);
        csr_load_tile(A, &r, P, tile);
        for (int base = 0; base < r.rows; base += WG / r.lanes) {
            const int nth = base + l / r.lanes, lane_of_row = l & (r.lanes - 1), row = r.first + nth;
            const int from = nth < r.rows ? csr_begin(A, &r, row) : 0, to = nth < r.rows ? csr_begin(A, &r, row + 1) : 0;
            SUM sum = 0;
            for (int k = from + lane_of_row; k < to; k += r.lanes) sum += tile->product[k];
            sum = over_lanes(sum, r.lanes, tile->lane_sum);
            if (nth < r.rows && lane_of_row == 0) product_row(P, row, sum);
        }
        barrier(CLK_LOCAL_MEM_FENCE); // the next run overwrites the tile
    }
}

#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_csr(RESIDENT_PARAMS, CG, CSR, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    CSR_TILE
    csr A = CSR_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;
    unknowns v;
    product P;

    resident_begin(&me, RESIDENT_PASS);
    A.work = me.groups ? work : 0;
    streamed_begin(&me, &S, &v);
    do {
        products_begin(&S, &M, &v, surplus, &P);
        for (int nth = 0; nth < products_of(&M); nth++) {
            product_at(&S, nth, 0, &P);
            resident_wait(&me);
            csr_product(&A, &tile, &P);
        }
        product_at(&S, products_of(&M), 1, &P);
        resident_wait(&me);
        csr_product(&A, &tile, &P);
    } while (products_end(&me, &S, &P, &v));
    unknowns_store(&S, &v);
    resident_end(&me);
}

#pragma kry part rows in registers

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_csr_held(RESIDENT_PARAMS, CG, CSR, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;
    unknowns v;
    held H;

    resident_begin(&me, RESIDENT_PASS);
    held_begin(&me, &S, NULL, &v);
    held_rows_begin(mine, flux, surplus, &H);
    FOR_OWN(k)
    {
        const int row = position_of(&v, k), begin = (int)row_ptr[row];
        const int count = is_there(&v, k) ? (int)(row_ptr[row + 1] - row_ptr[row]) : 0;
        int j[HELD], e[HELD];
        UNROLLED for (int u = 0; u < HELD; u++)
        {
            j[u] = u < count ? col[begin + u] : -1;
            e[u] = u < count ? begin + u : -1;
        }
        hold(&H, &v, k, j, e, val, &M);
    }
    held_solve(&me, &S, &H, &M, &v);
}

#pragma kry end
