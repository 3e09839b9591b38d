// box.cl - products and relaxation with a stored stencil. Host: src/multigrid/box.c. box.clh says how the numbers
// lie. On CPUs a group has a share of the points, row by row, VW of them at once between the ends of a row.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/box_relax.clh"

#pragma kry part sweeps in place

// x += omega D^-1 (b - A x) in place for the points of a colour, none of which touches another: along each
// axis every second one from first_x, first_y, first_z on, count_x of them in a row and count_y rows in a
// layer. All colours together: 5 or 14 words of A, 2 of b and x, as often as a colour is in every row: twice.
kernel void box_colour(BOX_PARAMS, int points, int first_x, int first_y, int first_z, int count_x,
                       int count_y, ACC omega, global const REAL *restrict b, long b0,
                       global REAL *x, long x0)
{
    const box A = BOX_PASS;
    const SUM w = (SUM)omega;
    b += b0, x += x0;
    FOR_EACH(at, points)
    {
        const int ix = first_x + 2 * ((int)at % count_x);
        const int iy = first_y + 2 * ((int)at / count_x % count_y);
        const int iz = first_z + 2 * ((int)at / (count_x * count_y));
        const int i = ix + nx * iy + nx * ny * iz;
        place p;
        SUM c, diagonal;
        take_rows_beside(&A, iy, iz, &p);
        take_point(&A, i, ix, &p);
        const SUM sum = box_row(a, &p, x, &c, &diagonal);
        x[i] = (REAL)(c + w / diagonal * ((SUM)b[i] - sum));
    }
}

#pragma kry part products and relaxation

// d := the diagonal of A
kernel void box_diagonal(BOX_PARAMS, global REAL *d, long d0)
{
    const box A = BOX_PASS;
    d += d0;
    FOR_EACH(at, work)
    {
        const int i = (int)at;
        place p;
        take_point(&A, i, i % nx, &p);
        d[i] = (REAL)number_at(a, &p, 0, i);
    }
}

#ifdef KRY_CPU

// ---- VW points of a row at once, from p->i on: the functions of box.clh for vectors ----

INLINED void take_points(const box *A, int i, int ix, place *p)
{
    p->i = i, p->work = A->work;
    p->west = -1, p->east = 1, p->shift = EDGE - ix;
}

INLINED SUMV numbers_at(global const REAL *a, const place *p, int slot, int i)
{
    global const REAL *numbers = a + (size_t)slot * p->work;
    return ROWS_ALIKE ? (SUMV)((SUM)numbers[i + p->shift]) : LOAD_SUMV(numbers + i);
}

INLINED SUMV beside_couplings(global const REAL *x, int j, SUMV own)
{
    return IN_FLUX_FORM ? LOAD_SUMV(x + j) - own : LOAD_SUMV(x + j);
}

INLINED SUMV add_rows_above(global const REAL *a, const place *p, global const REAL *x, int step, int s, SUMV own, SUMV sum)
{
    const int i = p->i, j = i + step;
    sum += numbers_at(a, p, s, i) * beside_couplings(x, j - 1, own) +
           numbers_at(a, p, s + 1, i) * beside_couplings(x, j, own);
    return sum + numbers_at(a, p, s + 2, i) * beside_couplings(x, j + 1, own);
}

INLINED SUMV add_rows_below(global const REAL *a, const place *p, global const REAL *x, int have, int step, int s, SUMV own, SUMV sum)
{
    const int j = p->i + step;
    if (!have) return sum;
    sum += numbers_at(a, p, s, j + 1) * beside_couplings(x, j + 1, own);
    sum += numbers_at(a, p, s + 1, j) * beside_couplings(x, j, own);
    return sum + numbers_at(a, p, s + 2, j - 1) * beside_couplings(x, j - 1, own);
}

INLINED SUMV box_rows(global const REAL *a, const place *p, global const REAL *x, SUMV *own, SUMV *diagonal)
{
    const int i = p->i, south = p->south, north = p->north, behind = p->behind, ahead = p->ahead;
    const SUMV c = LOAD_SUMV(x + i), entry = numbers_at(a, p, 0, i);
    *own = c, *diagonal = entry;
    SUMV sum = (IN_FLUX_FORM ? numbers_at(a, p, HALF, i) : entry) * c +
                 numbers_at(a, p, 1, i) * beside_couplings(x, i + 1, c);
    sum += numbers_at(a, p, 1, i - 1) * beside_couplings(x, i - 1, c);
    if (AXES == 3) {
        sum = add_rows_below(a, p, x, behind && south, behind + south, 11, c, sum);
        sum = add_rows_below(a, p, x, behind, behind, 8, c, sum);
        sum = add_rows_below(a, p, x, behind && north, behind + north, 5, c, sum);
    }
    sum = add_rows_below(a, p, x, south, south, 2, c, sum);
    sum = add_rows_above(a, p, x, north, 2, c, sum);
    if (AXES == 3) {
        sum = add_rows_above(a, p, x, ahead + south, 5, c, sum);
        sum = add_rows_above(a, p, x, ahead, 8, c, sum);
        sum = add_rows_above(a, p, x, ahead + north, 11, c, sum);
    }
    return sum;
}

// See `relaxed`.
INLINED SUMV relaxed_many(const relaxation *S, int i, SUMV b_i, SUMV c, SUMV sum, SUMV diagonal, SUMV *s)
{
    const SUMV over = ROWS_ALIKE ? (SUMV)(S->by_residual / diagonal.s0) : S->by_residual / diagonal;
    const SUMV x_i = S->by_x * c, r_i = b_i - S->by_x * sum;
    SUMV y_i = x_i + over * r_i;
    if (S->by_step != 0) y_i += S->by_step * (S->has_old ? x_i - S->by_old * LOAD_SUMV(S->old + i) : x_i);
    *s = S->sums == 1 ? r_i : b_i;
    return y_i;
}

// ---- rows ----

// The part of a row that a group has: points before `end`, and between which of them vectors may begin and end.
typedef struct row {
    int begin, end, inner, inner_end; // begin: of the whole row
} row;

// The row of point i, the rows beside it, and whatever of it is before `last`.
INLINED void take_row(const box *A, int i, int last, row *r, place *p)
{
    r->begin = i - i % A->nx, r->end = min(r->begin + A->nx, last);
    r->inner = max(r->begin + EDGE, i), r->inner_end = min(r->begin + A->nx - EDGE, r->end);
    take_rows_beside(A, i / A->nx % A->ny, i / (A->nx * A->ny), p);
}

// Where the vector begins that point i is in, -1 if there is none. again: what is left of a row and would not fill
// a vector may be done with some that are done already.
INLINED int vector_at(const row *r, int i, int again)
{
    const int fits = again ? i < r->inner_end && r->inner_end - r->inner >= VW : i + VW <= r->inner_end;
    return i >= r->inner && fits ? min(i, r->inner_end - VW) : -1;
}

// y := alpha A x + beta b; with beta == 0, b is not read. b may be y. Words: 5 or 14 of A, 2, and 1 of b.
kernel void box_apply(BOX_PARAMS, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                      global const REAL *b, long b0, global REAL *y, long y0)
{
    const box A = BOX_PASS;
    const SUM by = (SUM)alpha, by_b = (SUM)beta;
    const int last = (int)chunk_at(work, GROUP_HERE + 1);
    x += x0, b += b0, y += y0;
    const int again = by_b == 0 || b != y;
    for (int i = (int)chunk_at(work, GROUP_HERE); i < last;) {
        row r;
        place p;
        take_row(&A, i, last, &r, &p);
        while (i < r.end) {
            const int vector = vector_at(&r, i, again);
            if (vector >= 0) {
                SUMV c, diagonal;
                take_points(&A, vector, vector - r.begin, &p);
                const SUMV sum = box_rows(a, &p, x, &c, &diagonal);
                store_many(by * sum + (by_b == 0 ? (SUMV)0 : by_b * LOAD_SUMV(b + vector)), y + vector);
                i = vector + VW;
            } else {
                SUM c, diagonal;
                take_point(&A, i, i - r.begin, &p);
                const SUM sum = box_row(a, &p, x, &c, &diagonal);
                y[i] = (REAL)(by * sum + (by_b == 0 ? (SUM)0 : by_b * (SUM)b[i]));
                i++;
            }
        }
    }
}

// box_relax.clh says what it computes.
kernel void box_relax(BOX_PARAMS, RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    const box A = BOX_PASS;
    const relaxation S = RELAX_PASS;
    const int again = sums == 0 && !has_old, last = (int)chunk_at(work, GROUP_HERE + 1);
    TOTAL products = NO_TOTAL, squares = NO_TOTAL;
    TOTALV many_products = NO_TOTALV, many_squares = NO_TOTALV;
    b += b0, x += x0, y += y0;
    for (int i = (int)chunk_at(work, GROUP_HERE); i < last;) {
        row r;
        place p;
        take_row(&A, i, last, &r, &p);
        while (i < r.end) {
            const int vector = vector_at(&r, i, again);
            if (vector >= 0) {
                SUMV c = 0, sum = 0, diagonal, s_i, b_i = LOAD_SUMV(b + vector);
                take_points(&A, vector, vector - r.begin, &p);
                if (has_x) sum = box_rows(a, &p, x, &c, &diagonal);
                else diagonal = numbers_at(a, &p, 0, vector);
                const SUMV y_i = relaxed_many(&S, vector, b_i, c, sum, diagonal, &s_i);
                store_many(y_i, y + vector);
                ADD_PRODUCTV(many_products, b_i, y_i);
                ADD_PRODUCTV(many_squares, s_i, s_i);
                i = vector + VW;
            } else {
                SUM c = 0, sum = 0, diagonal, s_i, b_i = (SUM)b[i];
                take_point(&A, i, i - r.begin, &p);
                if (has_x) sum = box_row(a, &p, x, &c, &diagonal);
                else diagonal = number_at(a, &p, 0, i);
                const SUM y_i = relaxed(&S, i, b_i, c, sum, S.by_residual / diagonal, &s_i);
                y[i] = (REAL)y_i;
                ADD_PRODUCT(products, b_i, y_i);
                ADD_PRODUCT(squares, s_i, s_i);
                i++;
            }
        }
    }
    leave_sums(sums, ALL_LANES(many_products, products), ALL_LANES(many_squares, squares), lane, part);
}

#else // a work-item has one point, and then one that is as far away as there are work-items

// y := alpha A x + beta b; with beta == 0, b is not read. b may be y. Words: 5 or 14 of A, 2, and 1 of b.
kernel void box_apply(BOX_PARAMS, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                      global const REAL *b, long b0, global REAL *y, long y0)
{
    const box A = BOX_PASS;
    const SUM by = (SUM)alpha, by_b = (SUM)beta;
    x += x0, b += b0, y += y0;
    FOR_EACH(at, work)
    {
        const int i = (int)at;
        place p;
        SUM c, diagonal;
        take_rows_beside(&A, i / nx % ny, i / (nx * ny), &p);
        take_point(&A, i, i % nx, &p);
        const SUM sum = box_row(a, &p, x, &c, &diagonal);
        y[i] = (REAL)(by * sum + (by_b == 0 ? (SUM)0 : by_b * (SUM)b[i]));
    }
}

// box_relax.clh says what it computes.
kernel void box_relax(BOX_PARAMS, RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    const box A = BOX_PASS;
    const relaxation S = RELAX_PASS;
    TOTAL products = NO_TOTAL, squares = NO_TOTAL;
    b += b0, x += x0, y += y0;
    FOR_EACH(at, work)
    {
        const int i = (int)at;
        place p;
        SUM c = 0, sum = 0, diagonal, s_i;
        take_rows_beside(&A, i / nx % ny, i / (nx * ny), &p);
        take_point(&A, i, i % nx, &p);
        if (has_x) sum = box_row(a, &p, x, &c, &diagonal);
        else diagonal = number_at(a, &p, 0, i);
        const SUM b_i = (SUM)b[i];
        const SUM y_i = relaxed(&S, i, b_i, c, sum, S.by_residual / diagonal, &s_i);
        y[i] = (REAL)y_i;
        ADD_PRODUCT(products, b_i, y_i);
        ADD_PRODUCT(squares, s_i, s_i);
    }
    leave_sums(sums, products, squares, lane, part);
}

#endif
