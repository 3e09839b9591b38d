// air.cl - coarsening of matrices that need not be symmetric, by approximate ideal restriction: strong couplings, which points
// have which neighbours, interpolation from one point, and the dense systems that give the restriction.
// Host: src/amg/air.c.
//
// A is square, in compressed rows whose columns ascend. largest[i]: the largest |a_ij|, j != i. number[i]: of a C point on the
// coarser level; negative: an F point. A work-item has a row at a time. REAL is double.

#include "common/kry.clh"
#include "common/rows.clh"
#include "common/scratch.clh"

#pragma OPENCL FP_CONTRACT OFF

typedef struct matrix {
    global const int *ptr, *col;
    global const REAL *val, *largest;
} matrix;

// Whether row i is strongly coupled to the unknown of its entry e.
bool is_strong(const matrix *A, int i, int e, REAL theta)
{
    const REAL size = fabs(A->val[e]);
    return A->col[e] != i && size > 0 && size >= theta * A->largest[i];
}

// largest, of which rows that relaxation solves alone, because their couplings add up to less than a tenth of the diagonal,
// have infinity: they have no strong coupling. Words: each entry.
kernel void air_largest(int rows, global const int *restrict ptr, global const int *restrict col,
                        global const REAL *restrict val, global REAL *restrict largest)
{
    FOR_EACH(i, rows)
    {
        REAL most = 0, sum = 0, diagonal = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) {
            const REAL size = fabs(val[e]);
            if (col[e] == i)
                diagonal = size;
            else
                most = fmax(most, size), sum += size;
        }
        largest[i] = sum < (REAL)0.1 * diagonal ? (REAL)INFINITY : most;
    }
}

// The lengths of the rows of strong couplings. Words: each entry.
kernel void air_strong_lengths(int rows, REAL theta, global const int *restrict ptr,
                               global const int *restrict col, global const REAL *restrict val,
                               global const REAL *restrict largest, global int *restrict length)
{
    const matrix A = { ptr, col, val, largest };
    FOR_EACH(i, rows)
    {
        int count = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            count += is_strong(&A, (int)i, e, theta);
        length[i] = count;
    }
}

// Their columns, and -1 as numbers. Words: each entry, and 3 for those that are strong.
kernel void air_strong_columns(int rows, REAL theta, global const int *restrict ptr,
                               global const int *restrict col, global const REAL *restrict val,
                               global const REAL *restrict largest,
                               global const int *restrict to_ptr, global int *restrict to,
                               global REAL *restrict numbers)
{
    const matrix A = { ptr, col, val, largest };
    FOR_EACH(i, rows)
    {
        int f = to_ptr[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            if (is_strong(&A, (int)i, e, theta)) to[f] = col[e], numbers[f++] = -1;
    }
}

// The columns that row i has in X or in Y are written, unless `to` is NULL. Returns how many there are.
int unite(int i, global const int *x_ptr, global const int *x_col, global const int *y_ptr,
          global const int *y_col, global int *to, global REAL *numbers)
{
    int e = x_ptr[i], f = y_ptr[i], count = 0;
    const int e_end = x_ptr[i + 1], f_end = y_ptr[i + 1];

    while (e < e_end || f < f_end) {
        const int x = e < e_end ? x_col[e] : INT_MAX, y = f < f_end ? y_col[f] : INT_MAX;
        const int j = min(x, y);
        e += x == j, f += y == j;
        if (to) to[count] = j, numbers[count] = -1;
        count++;
    }
    return count;
}

// The lengths of the rows of X + Y. Words: the columns of both.
kernel void air_both_lengths(int rows, global const int *restrict x_ptr,
                             global const int *restrict x_col, global const int *restrict y_ptr,
                             global const int *restrict y_col, global int *restrict length)
{
    FOR_EACH(i, rows) { length[i] = unite((int)i, x_ptr, x_col, y_ptr, y_col, 0, 0); }
}

// Their columns, and -1 as numbers. Words: the columns of both, and 3 for each that is written.
kernel void air_both_columns(int rows, global const int *restrict x_ptr,
                             global const int *restrict x_col, global const int *restrict y_ptr,
                             global const int *restrict y_col, global const int *restrict to_ptr,
                             global int *restrict to, global REAL *restrict numbers)
{
    FOR_EACH(i, rows)
    {
        unite((int)i, x_ptr, x_col, y_ptr, y_col, to + to_ptr[i], numbers + to_ptr[i]);
    }
}

// point[c] := the C point of number c
kernel void air_points(int rows, global const int *restrict number, global int *restrict point)
{
    FOR_EACH(i, rows)
    {
        if (number[i] >= 0) point[number[i]] = (int)i;
    }
}

// The number of the C point from which point i is interpolated: itself, or the one to which its coupling is largest, of equal
// ones the first. -1: there is none.
int source_of(const matrix *A, global const int *number, int i)
{
    REAL most = 0;
    int source = -1;

    if (number[i] >= 0) return number[i];
    for (int e = A->ptr[i], end = A->ptr[i + 1]; e < end; e++) {
        const REAL size = fabs(A->val[e]);
        const int c = number[A->col[e]];
        if (c >= 0 && size > most) most = size, source = c;
    }
    return source;
}

// The lengths of the rows of P. Words: each entry and its column's number.
kernel void air_source_lengths(int rows, global const int *restrict ptr,
                               global const int *restrict col, global const REAL *restrict val,
                               global const int *restrict number, global int *restrict length)
{
    const matrix A = { ptr, col, val, 0 };
    FOR_EACH(i, rows) { length[i] = source_of(&A, number, (int)i) >= 0; }
}

// The entries of P, ones. Words: as above, and 3 a row.
kernel void air_source_entries(int rows, global const int *restrict ptr,
                               global const int *restrict col, global const REAL *restrict val,
                               global const int *restrict number, global const int *restrict to_ptr,
                               global int *restrict to, global REAL *restrict numbers)
{
    const matrix A = { ptr, col, val, 0 };
    FOR_EACH(i, rows)
    {
        if (to_ptr[i + 1] > to_ptr[i])
            to[to_ptr[i]] = source_of(&A, number, (int)i), numbers[to_ptr[i]] = 1;
    }
}

// A list of at most `most` points in ascending order.
typedef struct points {
    global int *list;
    int count, most;
} points;

// Points that are there already, or for which there is no room, are left out.
void insert(points *to, int j)
{
    int at = to->count;
    while (at > 0 && to->list[at - 1] > j) at--;
    if ((at > 0 && to->list[at - 1] == j) || to->count == to->most) return;
    for (int k = to->count; k > at; k--) to->list[k] = to->list[k - 1];
    to->list[at] = j;
    to->count++;
}

// The F points to which point i is strongly coupled are inserted.
void insert_strong(const matrix *A, global const int *number, int i, REAL theta, points *to)
{
    for (int e = A->ptr[i], end = A->ptr[i + 1]; e < end; e++)
        if (number[A->col[e]] < 0 && is_strong(A, i, e, theta)) insert(to, A->col[e]);
}

// The places of the restriction to each of `count` C points: itself, the F points to which it is strongly coupled, and as far
// as there is room those to which these are. list: `most` ints for each; longest: the largest length. Words: of each of these
// points the row.
kernel void air_neighbours(int count, int most, REAL theta, global const int *restrict ptr,
                           global const int *restrict col, global const REAL *restrict val,
                           global const REAL *restrict largest, global const int *restrict number,
                           global const int *restrict point, global int *list,
                           global int *restrict length, global int *longest)
{
    const matrix A = { ptr, col, val, largest };
    int longest_here = 0;
    FOR_EACH(c, count)
    {
        const int i = point[c];
        points near = { list + c * most, 0, most };
        insert(&near, i);
        insert_strong(&A, number, i, theta, &near);
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            if (number[col[e]] < 0 && is_strong(&A, i, e, theta))
                insert_strong(&A, number, col[e], theta, &near);
        length[c] = near.count;
        longest_here = max(longest_here, near.count);
    }
    if (longest_here > longest[0]) atomic_max(longest, longest_here);
}

// The rows of Z from such lists. Words: each place read and written.
kernel void air_pack(int count, int most, global const int *restrict list,
                     global const int *restrict z_ptr, global int *restrict z_col)
{
    FOR_EACH(c, count)
    {
        for (int e = z_ptr[c], k = 0; e < z_ptr[c + 1]; e++, k++) z_col[e] = list[c * most + k];
    }
}

// S := the transpose of the k rows and columns J of A, but those of place `own`, and behind its columns the negative of these
// columns of row J[own]: a system of k - 1 equations.
INLINED void gather(int k, int own, global const int *J, const matrix *A, global REAL *S)
{
    for (int a = 0, row = 0; a < k; a++) {
        int e = A->ptr[J[a]];
        const int end = A->ptr[J[a] + 1], to = a == own ? k - 1 : row++;
        for (int b = 0, column = 0; b < k; b++) {
            if (b == own) continue;
            e = seek(A->col, e, end, J[b]);
            const REAL v = e < end && A->col[e] == J[b] ? A->val[e] : 0;
            S[((long)column * k + to) * step()] = a == own ? -v : v;
            column++;
        }
    }
}

// The right-hand sides of m equations become the solution, by Gauss's elimination with exchanges of rows. Returns false if the
// system is not regular.
INLINED bool solve(int m, REAL least, global REAL *S)
{
    const int k = m + 1;
    for (int p = 0; p < m; p++) {
        int best = p;
        REAL most = 0, size = 0;
        for (int i = 0; i < m; i++) {
            const REAL v = fabs(S[((long)i * k + p) * step()]);
            size = fmax(size, v);
            if (i >= p && v > most) most = v, best = i;
        }
        if (!(most > least * size)) return false;
        global REAL *from = S + (long)p * k * step(), *other = S + (long)best * k * step();
        for (int j = p; j < k && best != p; j++) {
            const REAL v = from[j * step()];
            from[j * step()] = other[j * step()], other[j * step()] = v;
        }
        for (int i = p + 1; i < m; i++) {
            global REAL *to = S + (long)i * k * step();
            const REAL l = to[p * step()] / from[p * step()];
            for (int j = p; j < k && l != 0; j++) to[j * step()] -= l * from[j * step()];
        }
    }
    for (int i = m - 1; i >= 0; i--) {
        global REAL *row = S + (long)i * k * step();
        REAL sum = row[m * step()];
        for (int j = i + 1; j < m; j++) sum -= row[j * step()] * S[((long)j * k + m) * step()];
        row[m * step()] = sum / row[i * step()];
    }
    return true;
}

// The numbers of Z, whose rows have at most `longest` entries: 1 at the C point i, z at its neighbours N with z A(N, N) =
// -A(i, N); where A(N, N) is not regular that of its diagonal. Words: for each entry of Z a row of A.
kernel void air_restriction(int count, REAL least, int longest, global const int *restrict ptr,
                            global const int *restrict col, global const REAL *restrict val,
                            global const int *restrict point, global const int *restrict z_ptr,
                            global const int *restrict z_col, global REAL *restrict z_val,
                            global REAL *scratch)
{
    const matrix A = { ptr, col, val, 0 };
    global REAL *S = scratch + first_number((long)longest * longest);
    FOR_EACH(c, count)
    {
        const int at = z_ptr[c], k = z_ptr[c + 1] - at;
        int own = 0;
        while (z_col[at + own] != point[c]) own++;
        gather(k, own, z_col + at, &A, S);
        const bool regular = solve(k - 1, least, S);
        for (int b = 0, row = 0; b < k; b++) {
            REAL z = 1;
            if (b != own && regular) {
                z = S[((long)row++ * k + k - 1) * step()];
            } else if (b != own) {
                const int j = z_col[at + b], e = entry_of(ptr, col, point[c], j),
                          d = entry_of(ptr, col, j, j);
                z = e < 0 || d < 0 || val[d] == 0 ? 0 : -val[e] / val[d];
            }
            z_val[at + b] = z;
        }
    }
}

// Ones. Words: 1 each.
kernel void air_ones(int count, global REAL *restrict numbers)
{
    FOR_EACH(e, count) { numbers[e] = 1; }
}
