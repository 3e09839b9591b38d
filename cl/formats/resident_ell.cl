// resident_ell.cl - conjugate gradients in one kernel with a matrix whose rows have one length, stored as in ell.cl.
// Host: src/matrix/matrix_persistent.c.

#include "formats/resident_matrix.clh"
#include "formats/held.clh"
#include "formats/streamed.clh"

typedef struct ell {
    int rows, height, width, flux;
    global const int *col;
    global const VAL *val;
} ell;

#define ELL                                                                                         \
    int rows, int height, int width, int flux, global const int *restrict col, global const VAL *restrict val, \
        global const REAL *restrict surplus
#define ELL_PASS { rows, height, width, flux, col, val }

INLINED int ell_begin(const ell *A, int row) { return row / A->height * A->height * (A->width - 1) + row; }

#pragma kry part rows read for each product

// The sum of a row's entries, each a(i,j) (x_j - own). Four are on their way at once.
INLINED SUM ell_sum(const ell *A, const product *P, int row, SUM own)
{
    const int height = A->height;
    int k = 0, e = ell_begin(A, row);
    SUM sum = 0;

    for (; k + 3 < A->width; k += 4, e += 4 * height) {
        int c[4];
        SUM v[4];
        UNROLLED for (int u = 0; u < 4; u++)
            c[u] = A->col[e + u * height], v[u] = number_at(P, A->val, e + u * height);
        UNROLLED for (int u = 0; u < 4; u++) v[u] *= (SUM)P->x[max(c[u], 0)] - own;
        UNROLLED for (int u = 0; u < 4; u++) sum += c[u] < 0 ? (SUM)0 : v[u];
    }
    for (; k < A->width; k++, e += height)
        if (A->col[e] >= 0) sum += number_at(P, A->val, e) * ((SUM)P->x[A->col[e]] - own);
    return sum;
}

INLINED void ell_product(const ell *A, product *P)
{
    for (int row = ITEM_HERE; row < A->rows; row += (int)get_global_size(0))
        product_row(P, row, ell_sum(A, P, row, own_of(P, A->flux, row)));
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_ell(RESIDENT_PARAMS, CG, ELL, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    ell A = ELL_PASS;
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
            ell_product(&A, &P);
        }
        product_at(&S, products_of(&M), 1, &P);
        resident_wait(&me);
        ell_product(&A, &P);
    } while (products_end(&me, &S, &P, &v));
    unknowns_store(&S, &v);
    resident_end(&me);
}

#pragma kry part rows in registers

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_ell_held(RESIDENT_PARAMS, CG, ELL, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    const ell A = ELL_PASS;
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
        const int begin = ell_begin(&A, position_of(&v, k)), count = is_there(&v, k) ? width : 0;
        int j[HELD], e[HELD];
        UNROLLED for (int u = 0; u < HELD; u++)
        {
            j[u] = u < count ? col[begin + u * height] : -1;
            e[u] = j[u] < 0 ? -1 : begin + u * height;
        }
        hold(&H, &v, k, j, e, val, &M);
    }
    held_solve(&me, &S, &H, &M, &v);
}

#pragma kry end
