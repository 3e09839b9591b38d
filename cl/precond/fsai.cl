// fsai.cl - factorised sparse approximate inverses: which places their rows have, and the dense systems that give the numbers.
// Host: src/precond/fsai.c.
//
// A is square, in compressed rows whose columns ascend; d is its diagonal. A work-item has a row at a time. One that solves
// dense systems has room in `scratch` for k (k + 2) numbers, k the entries of the longest row: on CPUs side by side, on GPUs
// those of all work-items interleaved.
//
// REAL is the type ACC.

#include "common/kry.clh"
#include "common/rows.clh"
#include "common/scratch.clh"

#pragma OPENCL FP_CONTRACT OFF

// Rows with more entries keep those next to the diagonal: fsai.c has it, too.
#define MOST 256

#define NO_PIVOT  0
#define NEGATIVE  1
#define MISMATCH  2
#define LONGEST   3
#define DEPENDENT 4

typedef struct pattern {
    global const int *ptr, *col;
} pattern;

typedef struct matrix {
    pattern at;
    global const REAL *val, *d;
} matrix;

REAL number_at(const matrix *A, int i, int j)
{
    const int e = entry_of(A->at.ptr, A->at.col, i, j);
    return e < 0 ? 0 : A->val[e];
}

// d := the diagonal. found[NO_PIVOT] := 1 if one of it is zero, missing or no number, found[NEGATIVE] if one is below zero.
// Words: some columns of each row, 1 written.
kernel void fsai_diagonal(int rows, global const int *restrict ptr, global const int *restrict col,
                          global const REAL *restrict val, global REAL *restrict d,
                          global int *found)
{
    FOR_EACH(i, rows)
    {
        const int e = entry_of(ptr, col, (int)i, (int)i);
        const REAL v = e < 0 ? 0 : val[e];
        d[i] = v;
        if (v == 0 || !isfinite(v)) found[NO_PIVOT] = 1;
        if (v < 0) found[NEGATIVE] = 1;
    }
}

// found[MISMATCH] := 1 if a_ij and a_ji differ by more than tolerance sqrt(a_ii a_jj). Words: each entry twice.
kernel void fsai_compare(int rows, ACC tolerance, global const int *restrict ptr,
                         global const int *restrict col, global const REAL *restrict val,
                         global const REAL *restrict d, global int *found)
{
    const matrix A = { { ptr, col }, val, d };
    FOR_EACH(i, rows)
    {
        int differs = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) {
            const int j = col[e];
            const REAL apart = fabs(val[e] - number_at(&A, j, (int)i));
            differs |= !(apart <= tolerance * sqrt(fabs(d[i])) * sqrt(fabs(d[j])));
        }
        if (differs) found[MISMATCH] = 1;
    }
}

// The columns that row i has in X or in Y: with `lower` those up to i, with cut > 0 besides i itself those where a_ij or a_ji
// is at least cut sqrt(a_ii a_jj). All but the first `skip` are written, unless `to` is NULL, and ones as numbers. Returns how
// many there are.
int take_row(int i, int lower, ACC cut, const matrix *A, pattern X, pattern Y, int skip,
             global int *to, global REAL *ones)
{
    int e = X.ptr[i], f = Y.ptr[i], count = 0;
    const int e_end = X.ptr[i + 1], f_end = Y.ptr[i + 1];

    while (e < e_end || f < f_end) {
        const int x = e < e_end ? X.col[e] : INT_MAX, y = f < f_end ? Y.col[f] : INT_MAX;
        const int j = min(x, y);
        e += x == j, f += y == j;
        if (lower && j > i) break;
        if (cut > 0 && j != i) {
            const REAL a = fmax(fabs(number_at(A, i, j)), fabs(number_at(A, j, i)));
            if (!(a >= cut * sqrt(fabs(A->d[i])) * sqrt(fabs(A->d[j])))) continue;
        }
        if (to && count >= skip) to[count - skip] = j, ones[count - skip] = 1;
        count++;
    }
    return count;
}

// The lengths of these rows; with `lower` at most MOST, and found[LONGEST] becomes the largest. Words: the columns of X and Y; 1 written.
kernel void fsai_count(int rows, int lower, ACC cut, global const int *restrict ptr,
                       global const int *restrict col, global const REAL *restrict val,
                       global const REAL *restrict d, global const int *restrict X_ptr,
                       global const int *restrict X_col, global const int *restrict Y_ptr,
                       global const int *restrict Y_col, global int *restrict length,
                       global int *found)
{
    const matrix A = { { ptr, col }, val, d };
    const pattern X = { X_ptr, X_col }, Y = { Y_ptr, Y_col };
    int longest = 0;
    FOR_EACH(i, rows)
    {
        int count = take_row((int)i, lower, cut, &A, X, Y, 0, 0, 0);
        if (lower) count = min(count, MOST), longest = max(longest, count);
        length[i] = count;
    }
    if (longest > found[LONGEST]) atomic_max(&found[LONGEST], longest);
}

// The columns of these rows, and ones as their numbers. Words: the columns of X and Y, and 3 for each of those written.
kernel void fsai_take(int rows, int lower, ACC cut, global const int *restrict ptr,
                      global const int *restrict col, global const REAL *restrict val,
                      global const REAL *restrict d, global const int *restrict X_ptr,
                      global const int *restrict X_col, global const int *restrict Y_ptr,
                      global const int *restrict Y_col, global const int *restrict to_ptr,
                      global int *restrict to, global REAL *restrict ones)
{
    const matrix A = { { ptr, col }, val, d };
    const pattern X = { X_ptr, X_col }, Y = { Y_ptr, Y_col };
    FOR_EACH(i, rows)
    {
        const int length = to_ptr[i + 1] - to_ptr[i];
        const int skip = lower ? take_row((int)i, 1, cut, &A, X, Y, 0, 0, 0) - length : 0;
        take_row((int)i, lower, cut, &A, X, Y, skip, to + to_ptr[i], ones + to_ptr[i]);
    }
}

// ---- dense systems ----

// S := the k rows and columns J of A. Symmetric: its upper triangle, from the entries below the diagonal of A.
INLINED void gather(int k, int symmetric, global const int *J, const matrix *A, global REAL *S)
{
    for (int a = 0; a < k; a++) {
        int e = A->at.ptr[J[a]];
        const int end = A->at.ptr[J[a] + 1], columns = symmetric ? a + 1 : k;
        for (int b = 0; b < columns; b++) {
            e = seek(A->at.col, e, end, J[b]);
            const REAL v = e < end && A->at.col[e] == J[b] ? A->val[e] : 0;
            S[(symmetric ? b * k + a : a * k + b) * step()] = v;
        }
    }
}

// Gauss's elimination without exchanges. A pivot that is not above `least` times the diagonal entry becomes 0, and its row and
// column do not take part. Above the diagonal stays U, and unless S is symmetric L below it, whose diagonal is 1.
INLINED void eliminate(int k, int symmetric, ACC least, global const int *J, const matrix *A,
                       global REAL *S)
{
    for (int p = 0; p < k; p++) {
        global REAL *from = S + (long)p * k * step();
        const REAL pivot = from[p * step()], bound = least * fabs(A->d[J[p]]);
        if (!((symmetric ? pivot : fabs(pivot)) > bound)) {
            from[p * step()] = 0;
            continue;
        }
        for (int i = p + 1; i < k; i++) {
            global REAL *to = S + (long)i * k * step();
            const REAL l = (symmetric ? from[i * step()] : to[p * step()]) / pivot;
            if (!symmetric) to[p * step()] = l;
            for (int j = symmetric ? i : p + 1; j < k && l != 0; j++)
                to[j * step()] -= l * from[j * step()];
        }
    }
}

// h of U h = u_kk e_k; with alone != 0 the other numbers are 0.
INLINED void solve_upper(int k, int alone, global const REAL *S, global REAL *h)
{
    h[(k - 1) * step()] = 1;
    for (int i = k - 2; i >= 0; i--) {
        global const REAL *u = S + (long)i * k * step();
        const REAL pivot = u[i * step()];
        REAL sum = 0;
        for (int j = i + 1; j < k; j++) sum += u[j * step()] * h[j * step()];
        h[i * step()] = pivot == 0 || alone ? 0 : -sum / pivot;
    }
}

// f of f' L = e_k'
INLINED void solve_lower(int k, int alone, global const REAL *S, global REAL *f)
{
    for (int i = 0; i < k; i++) f[i * step()] = i == k - 1;
    for (int j = k - 1; j >= 0 && !alone; j--) {
        global const REAL *l = S + (long)j * k * step();
        if (l[j * step()] == 0) f[j * step()] = 0;
        const REAL v = f[j * step()];
        for (int i = 0; i < j; i++) f[i * step()] -= v * l[i * step()];
    }
}

// The numbers of G at its places in rows of more than `shorter` and at most `longest` entries; others than symmetric: of F = D^-1 L^-1 and, transposed, of H, whose diagonal is 1.
// found[DEPENDENT] := 1 if a row has its diagonal entry alone, because the matrix of its system is not regular.
// Words: for each entry of G a row of A; G read and written.
kernel void fsai_numbers(int rows, int symmetric, ACC least, int shorter, int longest,
                         global const int *restrict ptr, global const int *restrict col,
                         global const REAL *restrict val, global const REAL *restrict d,
                         global const int *restrict G_ptr, global const int *restrict G_col,
                         global REAL *restrict lower, global REAL *restrict upper,
                         global REAL *scratch, global int *found)
{
    const matrix A = { { ptr, col }, val, d };
    global REAL *S = scratch + first_number((long)longest * (longest + 2));
    FOR_EACH(i, rows)
    {
        const int at = G_ptr[i], k = G_ptr[i + 1] - at;
        if (k <= shorter || k > longest) continue;
        global REAL *h = S + (long)k * k * step(), *f = h + (long)k * step();
        gather(k, symmetric, G_col + at, &A, S);
        eliminate(k, symmetric, least, G_col + at, &A, S);
        REAL pivot = S[((long)k * k - 1) * step()];
        const int alone = pivot == 0;
        if (alone) found[DEPENDENT] = 1, pivot = d[i];
        solve_upper(k, alone, S, h);
        if (!symmetric) solve_lower(k, alone, S, f);
        const REAL scale = symmetric ? 1 / sqrt(pivot) : 1 / pivot;
        for (int e = 0; e < k; e++) {
            lower[at + e] = (symmetric ? h : f)[e * step()] * scale;
            if (!symmetric) upper[at + e] = h[e * step()];
        }
    }
}

// ---- places that are chosen one after the other ----

#define SLOTS 1024 // of a table of columns, entered by hashing: fsai.c has it, too
#define NONE  -1

// A row of G with k places J, i the first of them: L the Cholesky factor of A(J, J), y = L^-1 e_1, g = L'^-1 y.
typedef struct growing {
    int k, most;
    global REAL *L, *y, *g, *weight;
    global int *J, *key, *place;
} growing;

// Where c is in the table, or would be.
INLINED int slot_of(global const int *key, int c)
{
    uint s = (uint)c * 2654435769u >> 22;
    while (key[s * step()] != c && key[s * step()] != NONE) s = (s + 1) & (SLOTS - 1);
    return (int)s;
}

// One more place, unless its row depends on those of J.
INLINED void add_place(growing *G, const matrix *A, int c, ACC least)
{
    const int k = G->k;
    global REAL *l = G->L + (long)k * G->most * step();
    REAL pivot = A->d[c], y = k == 0;
    for (int p = 0; p < k; p++) {
        global const REAL *row = G->L + (long)p * G->most * step();
        const int j = G->J[p * step()];
        REAL v = number_at(A, max(c, j), min(c, j));
        for (int q = 0; q < p; q++) v -= row[q * step()] * l[q * step()];
        v /= row[p * step()];
        l[p * step()] = v;
        pivot -= v * v;
        y -= v * G->y[p * step()];
    }
    if (!(pivot > least * A->d[c]) && k > 0) return;
    l[k * step()] = sqrt(pivot);
    G->y[k * step()] = y / sqrt(pivot);
    G->J[k * step()] = c;
    G->k++;
}

INLINED void solve_growing(growing *G)
{
    for (int p = 0; p < G->k; p++) G->g[p * step()] = G->y[p * step()];
    for (int p = G->k - 1; p >= 0; p--) {
        global const REAL *l = G->L + (long)p * G->most * step();
        const REAL v = G->g[p * step()] / l[p * step()];
        G->g[p * step()] = v;
        for (int q = 0; q < p; q++) G->g[q * step()] -= v * l[q * step()];
    }
}

// The table := the columns below i that rows of J have, and as weights A g there; 0 in J. Long rows bring none, and columns
// that a table has no room for are left out. Returns how many there are.
INLINED int weigh(growing *G, const matrix *A, int i)
{
    int used = 0;
    for (int s = 0; s < SLOTS; s++) G->key[s * step()] = NONE;
    for (int p = 0; p < G->k; p++) {
        const int row = G->J[p * step()], begin = A->at.ptr[row], end = A->at.ptr[row + 1];
        for (int e = begin; e < end && A->at.col[e] < i && end - begin <= SLOTS; e++) {
            const int s = slot_of(G->key, A->at.col[e]);
            if (G->key[s * step()] == NONE) {
                if (used >= SLOTS / 4 * 3) continue;
                G->key[s * step()] = A->at.col[e], G->weight[s * step()] = 0;
                G->place[used++ * step()] = s;
            }
            G->weight[s * step()] += A->val[e] * G->g[p * step()];
        }
    }
    for (int p = 1; p < G->k; p++) {
        const int s = slot_of(G->key, G->J[p * step()]);
        if (G->key[s * step()] != NONE) G->weight[s * step()] = 0;
    }
    return used;
}

// The column of the table with the largest w^2 / d, which it loses; of equal ones the last. Returns NONE if all are below `bound`.
INLINED int best_place(growing *G, const matrix *A, int used, REAL bound)
{
    int best = NONE, slot = 0;
    for (int u = 0; u < used; u++) {
        const int s = G->place[u * step()], c = G->key[s * step()];
        const REAL w = G->weight[s * step()], gain = w * w / A->d[c];
        if (gain > bound || (gain == bound && best != NONE && c > best))
            best = c, bound = gain, slot = s;
    }
    if (best != NONE) G->weight[slot * step()] = 0;
    return best;
}

// J in ascending order, i the last.
INLINED void write_places(const growing *G, global int *to)
{
    for (int p = 0; p < G->k; p++) {
        const int c = G->J[p * step()];
        int at = p;
        for (; at > 0 && to[at - 1] > c; at--) to[at] = to[at - 1];
        to[at] = c;
    }
}

// chosen: `most` ints for each row, of which length are used: the places of G where the Kaporin number of G A G' falls most,
// `each` at a time. room: numbers of a work-item in `scratch`; it has 2 SLOTS + most ints in `table`. Words: for each of
// the places rows of A, several times.
kernel void fsai_choose(int rows, int most, int each, ACC least, int room,
                        global const int *restrict ptr, global const int *restrict col,
                        global const REAL *restrict val, global const REAL *restrict d,
                        global REAL *scratch, global int *table, global int *restrict chosen,
                        global int *restrict length, global int *found)
{
    const matrix A = { { ptr, col }, val, d };
    growing G = { .most = most };
    int longest = 0;
    G.L = scratch + first_number(room);
    G.y = G.L + (long)most * most * step();
    G.g = G.y + most * step();
    G.weight = G.g + most * step();
    G.key = table + first_number(2 * SLOTS + most);
    G.place = G.key + SLOTS * step();
    G.J = G.place + SLOTS * step();
    FOR_EACH(i, rows)
    {
        G.k = 0;
        add_place(&G, &A, (int)i, least);
        for (int begun = 1; begun < most; begun += each) {
            solve_growing(&G);
            const int used = weigh(&G, &A, (int)i);
            const REAL bound = G.g[0] / 1000000;
            for (int n = 0; n < each && G.k < most; n++) {
                const int c = best_place(&G, &A, used, bound);
                if (c != NONE) add_place(&G, &A, c, least);
            }
        }
        write_places(&G, chosen + i * most);
        length[i] = G.k;
        longest = max(longest, G.k);
    }
    if (longest > found[LONGEST]) atomic_max(&found[LONGEST], longest);
}

// Rows of G from chosen places. Words: each place read and written.
kernel void fsai_pack(int rows, int most, global const int *restrict chosen,
                      global const int *restrict G_ptr, global int *restrict G_col)
{
    FOR_EACH(i, rows)
    {
        for (int e = G_ptr[i], k = 0; e < G_ptr[i + 1]; e++, k++) G_col[e] = chosen[i * most + k];
    }
}
