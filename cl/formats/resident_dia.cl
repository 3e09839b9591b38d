// resident_dia.cl - conjugate gradients in one kernel with a matrix stored by diagonals, as in dia.cl.
// Host: src/matrix/matrix_persistent.c.
//
//   DIAGONALS   so many, if compilers are to know it, so that they load all numbers of a row before they wait for one
//   HELD        entries of a row: of a symmetric matrix those above the main diagonal come first

#include "formats/resident_matrix.clh"
#include "formats/held.clh"
#include "formats/streamed.clh"

typedef struct dia {
    int rows, cols, reach, diagonals, stride, flux, symmetric; // symmetric: upper diagonals, of which number 0 is the main one
    constant int *offset;
    global const VAL *val;
} dia;

#define DIA                                                                                   \
    int rows, int cols, int reach, int diagonals, int stride, int flux, int symmetric, constant int *offset, \
        global const VAL *restrict val, global const REAL *restrict surplus
#define DIA_PASS { rows, cols, reach, diagonals, stride, flux, symmetric, offset, val }

#pragma kry part rows read for each product

#ifdef DIAGONALS
INLINED int dia_count(const dia *A) { return DIAGONALS; }
#else
INLINED int dia_count(const dia *A) { return A->diagonals; }
#endif

// The sum of a row's entries, each a(i,j) (x_j - own), all of whose columns are inside.
INLINED SUM dia_inner(const dia *A, const product *P, int row, SUM own)
{
    SUM sum = 0;
    for (int d = 0; d < dia_count(A); d++)
        sum += number_at(P, A->val, d * A->stride + row) * ((SUM)P->x[row + A->offset[d]] - own);
    return sum;
}

// In flux form the main diagonal of a symmetric matrix is not read.
INLINED SUM dia_main(const dia *A, const product *P, int row)
{
    return IN_FLUX_FORM && A->flux ? (SUM)0 : (SUM)A->val[row] * (SUM)P->x[row];
}

INLINED SUM dia_symmetric_inner(const dia *A, const product *P, int row, SUM own)
{
    SUM sum = dia_main(A, P, row);
    for (int d = 1; d < dia_count(A); d++) {
        const int o = A->offset[d], at = d * A->stride + row;
        sum += (SUM)A->val[at] * ((SUM)P->x[row + o] - own) + (SUM)A->val[at - o] * ((SUM)P->x[row - o] - own);
    }
    return sum;
}

// The sum of a row near the ends, some of whose columns may lie outside: entries there are 0, and x is read inside.
INLINED SUM dia_border(const dia *A, const product *P, int row, SUM own)
{
    SUM sum = A->symmetric ? dia_main(A, P, row) : (SUM)0;
    for (int d = A->symmetric; d < A->diagonals; d++) {
        const int o = A->offset[d], at = d * A->stride;
        const int above = clamp(row + o, 0, A->cols - 1), below = clamp(row - o, 0, A->cols - 1);
        sum += number_at(P, A->val, at + row) * ((SUM)P->x[above] - own);
        if (A->symmetric && row >= o) sum += number_at(P, A->val, at + below) * ((SUM)P->x[below] - own);
    }
    return sum;
}

INLINED void dia_product(const dia *A, product *P)
{
    FOR_ROWS(row, A->rows)
    {
        const int inside = row >= A->reach && row < A->rows - A->reach;
        const SUM own = own_of(P, A->flux, row);
        const SUM sum = !inside        ? dia_border(A, P, row, own)
                        : A->symmetric ? dia_symmetric_inner(A, P, row, own)
                                       : dia_inner(A, P, row, own);
        product_row(P, row, sum);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_dia(RESIDENT_PARAMS, CG, DIA, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    dia A = DIA_PASS;
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
            dia_product(&A, &P);
        }
        product_at(&S, products_of(&M), 1, &P);
        resident_wait(&me);
        dia_product(&A, &P);
    } while (products_end(&me, &S, &P, &v));
    unknowns_store(&S, &v);
    resident_end(&me);
}

#pragma kry end

// Entry u of a row: its diagonal, and how far it is from the main one.
INLINED int dia_diagonal(const dia *A, int u) { return A->symmetric && u >= (HELD + 1) / 2 ? u - (HELD - 1) / 2 : u; }
INLINED int dia_distance(const dia *A, int u)
{
    return A->symmetric && u >= (HELD + 1) / 2 ? -A->offset[dia_diagonal(A, u)] : A->offset[u];
}

// All iterations. computes: a constant, whether columns are computed from `distance` in each product. In flux form the main
// diagonal of a symmetric matrix is none.
INLINED void dia_solve_held(resident *me, const dia *A, cg *S, const precond *M, global const REAL *surplus, local REAL *mine,
                            local int *distance, int computes)
{
    unknowns v;
    held H;

    for (int u = (int)get_local_id(0); u < HELD; u += GROUP) distance[u] = dia_distance(A, u);
    barrier(CLK_LOCAL_MEM_FENCE);
    held_begin(me, S, NULL, &v);
    held_rows_begin(mine, A->flux, surplus, &H);
    H.computes = computes, H.distance = distance;
    FOR_OWN(k)
    {
        const int row = position_of(&v, k), there = is_there(&v, k);
        int j[HELD], e[HELD];
        UNROLLED for (int u = 0; u < HELD; u++)
        {
            j[u] = row + distance[u];
            const int is_none = !there || j[u] < 0 || j[u] >= A->cols || (A->symmetric && A->flux && u == 0);
            e[u] = is_none ? -1 : dia_diagonal(A, u) * A->stride + (A->symmetric ? min(row, j[u]) : row);
        }
        hold(&H, &v, k, j, e, A->val, M);
    }
    held_solve(me, S, &H, M, &v);
}

#pragma kry part rows in registers

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_dia_held(RESIDENT_PARAMS, CG, DIA, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    local int distance[HELD];
    const dia A = DIA_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;

    resident_begin(&me, RESIDENT_PASS);
    dia_solve_held(&me, &A, &S, &M, surplus, mine, distance, 0);
}

#pragma kry part rows in registers, without their columns

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_dia_computed(RESIDENT_PARAMS, CG, DIA, PRECOND_PARAMS)
{
    RESIDENT_LOCALS
    CG_LOCALS
    HELD_LOCALS
    local int distance[HELD];
    const dia A = DIA_PASS;
    cg S = CG_PASS;
    const precond M = PRECOND_PASS;
    resident me;

    resident_begin(&me, RESIDENT_PASS);
    dia_solve_held(&me, &A, &S, &M, surplus, mine, distance, 1);
}

#pragma kry end
