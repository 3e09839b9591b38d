// gmres.cl - the vector work of GMRES(m) and its small least squares problem.
// Host: src/krylov/gmres.c. Launch: gmres_begin, gmres_check, gmres_rotate and gmres_solve one group, gmres_finish
// a group for each sum, gmres_update and gmres_combine kryi_groups_for_sums(n). Columns of V and Z are ld
// apart, and begin where whole vectors may.
//
// In step j the columns before j of V are orthonormal. Column j is u, from which one pass of Gram and Schmidt has
// taken what it has of them, and whose length is about 1; column j + 1 is w = A M u. The products
// s = V'u, r = V'w, u'u, u'w and w'w are summed together, and V is read once more for
//
//   alpha := sqrt(u'u - s's),  v_j := (u - V s) / alpha               the second pass, and the length
//   h := (r, (u'w - s'r) / alpha) / alpha                             the first pass of the next column,
//   norm := sqrt(w'w / alpha^2 - h'h),  u := (w / alpha - V h) / norm    column j + 1
//
// Words per unknown of a step j, the product aside: 2 j + 6, and 2 for each 16 columns but the first.

#include "common/kry.clh"
#include "common/direction.clh"
#include "common/piece.clh"

// What stands in `scalars`, for m steps: how many columns are complete; the residual of that many steps, and
// of one less; |w / alpha|^2 and norm of the last step; the sums; h of the last step; cosines and sines of the rotations;
// the right-hand side; what x has of each column, and what is to be added to it; R, and by columns what makes a
// column from those of V: T has s / alpha above its diagonal, where 1 / alpha is
#define STEPS 0
#define RESIDUAL 1
#define BEFORE 2
#define WHOLE 3
#define NORM 4
#define SUMS 5
#define PROJECTED (SUMS + 2 * (m + 2))
#define COSINE (PROJECTED + m)
#define SINE (COSINE + m)
#define RIGHT (SINE + m)
#define GIVEN (RIGHT + m)
#define CHANGE (GIVEN + m)
#define R (CHANGE + m)
#define T (R + m * m)
#define MOST 128 // m at most

// A cycle begins with a residual of this norm.
kernel void gmres_begin(int m, ACC norm, global ACC *restrict scalars)
{
    for (int i = get_local_id(0); i < T + m * m; i += WG) 
        scalars[i] = i == RESIDUAL ? norm : i == NORM ? 1 : 0;
}

void test(ACC residual, int iteration, int slot, ACC target2, global ACC *restrict state,
          global ACC *restrict history)
{
    ACC rr = residual * residual;
    history[slot] = rr;
    state[STATE_ITERATION] = (ACC)iteration;
    state[STATE_VALUE] = fabs(residual);
    state[STATE_STOP] = rr <= target2 ? STOP_CONVERGED : isfinite(rr) ? GO_ON : STOP_NOT_FINITE;
}

// Test the residual that the steps have come to.
kernel void gmres_check(int iteration, int slot, ACC target2, global const ACC *restrict scalars,
                        global ACC *restrict state, global ACC *restrict history)
{
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    test(scalars[RESIDUAL], iteration, slot, target2, state, history);
}

// Sum number `first` + group; `width` of them were summed together.
kernel void gmres_finish(int m, int first, int width, int count, global const TOTAL *restrict part,
                         global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    const int mine = get_group_id(0);
    TOTAL sum = NO_TOTAL;
    for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[i * width + mine]);
    ACC value = VALUE_OF(group_sum(sum, lane));
    if (get_local_id(0) == 0) scalars[SUMS + first + mine] = value;
}

// column := its last number turned into one of R, by the `count` rotations there are
void turn(local ACC *restrict column, int count, local const ACC *restrict cosine,
          local const ACC *restrict sine)
{
    ACC above = column[0];
    for (int i = 0; i < count; i++) {
        ACC below = column[i + 1];
        column[i] = cosine[i] * above + sine[i] * below;
        above = cosine[i] * below - sine[i] * above;
    }
    column[count] = above;
}

// Column c of R, with its rotation: from h turned by the rotations before, and the norm of what was left. Returns
// GO_ON, or STOP_MATRIX if R would get a zero on its diagonal.
int add_column(int m, int c, local const ACC *restrict column, ACC left, ACC least,
               local ACC *restrict cosine, local ACC *restrict sine, global ACC *restrict state,
               global ACC *restrict scalars)
{
    const ACC diagonal = hypot(column[c], left), before = scalars[BEFORE];
    if (!isfinite(diagonal) || !(diagonal > least)) {
        state[STATE_VALUE] = diagonal;
        state[STATE_STOP] = isfinite(diagonal) ? STOP_MATRIX : STOP_NOT_FINITE;
        scalars[STEPS] = c;
        return STOP_MATRIX;
    }
    cosine[c] = column[c] / diagonal, sine[c] = left / diagonal;
    for (int i = 0; i < c; i++) scalars[R + c * m + i] = column[i];
    scalars[R + c * m + c] = diagonal;
    scalars[COSINE + c] = cosine[c], scalars[SINE + c] = sine[c];
    scalars[RIGHT + c] = cosine[c] * before, scalars[RESIDUAL] = -sine[c] * before;
    scalars[STEPS] = c + 1;
    return GO_ON;
}

// The sums of step j complete column j - 1, of which the last number and the part that the second pass
// takes were not known: the residual of j steps is tested. Column j follows, as the first pass has it: what is
// left of w then is |w|^2 - |h|^2, with rounding errors of |w|^2, and is taken for no less than they are, so that
// no residual seems smaller than it is. One group.
kernel void gmres_rotate(int m, int j, int iteration, int slot, ACC target2,
                         global ACC *restrict state, global ACC *restrict history,
                         global ACC *restrict scalars)
{
    local ACC last[MOST + 1], next[MOST + 1], cosine[MOST + 1], sine[MOST + 1];
    local TOTAL2 lane[WG];
    TOTAL ss = NO_TOTAL, sr = NO_TOTAL, rr = NO_TOTAL;
    const ACC norm = scalars[NORM];
    for (int i = get_local_id(0); i < j; i += WG) {
        ACC s = scalars[SUMS + 2 * i], r = scalars[SUMS + 2 * i + 1];
        ADD_PRODUCT(ss, s, s);
        ADD_PRODUCT(sr, s, r);
        ADD_PRODUCT(rr, r, r);
        last[i] = scalars[PROJECTED + i] + norm * s, next[i] = r;
        cosine[i] = scalars[COSINE + i], sine[i] = scalars[SINE + i];
    }
    ACC ss_all = VALUE_OF(group_sum(ss, (local TOTAL *)lane));
    ACC2 all = VALUES_OF(group_sum2(BOTH(sr, rr), lane));
    // No sooner: PoCL 3.1 makes a crash of a way out before these sums, as GPUs run them.
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;

    const ACC rounding = ROUNDING;
    ACC alpha = sqrt(max(scalars[SUMS + 2 * j] - ss_all, (ACC)0)), whole = scalars[WHOLE];
    if (!(norm * alpha > rounding * sqrt(whole))) alpha = 0;
    if (j > 0) {
        turn(last, j - 1, cosine, sine);
        if (add_column(m, j - 1, last, norm * alpha, rounding * sqrt(whole), cosine, sine, state, scalars) !=
            GO_ON)
            return;
    }
    test(scalars[RESIDUAL], iteration, slot, target2, state, history);
    if ((int)state[STATE_STOP] != GO_ON) return;

    whole = scalars[SUMS + 2 * j + 3] / (alpha * alpha);
    ACC h = (scalars[SUMS + 2 * j + 1] - all.x) / (alpha * alpha);
    ACC left = whole - all.y / (alpha * alpha) - h * h;
    for (int i = 0; i < j; i++) {
        scalars[PROJECTED + i] = next[i] /= alpha;
        scalars[T + j * m + i] = scalars[SUMS + 2 * i] / alpha;
    }
    scalars[PROJECTED + j] = next[j] = h, scalars[T + j * m + j] = 1 / alpha;
    scalars[WHOLE] = whole, scalars[BEFORE] = scalars[RESIDUAL];
    left = sqrt(max(left, rounding * whole)), scalars[NORM] = left;
    turn(next, j, cosine, sine);
    add_column(m, j, next, left, 0, cosine, sine, state, scalars);
}

// Piece i of u := by_u u - V s,  w := by_w w - V h - h_j u, where V has j columns
INLINED void update(long i, const int whole, int j, long ld, global const REAL *V, local const REAL *s, local const REAL *h,
                    REAL by_u, REAL by_w, REAL h_j, global REAL *u, global REAL *w)
{
    VEC u_i = by_u * load_piece(u, i, whole), w_i = by_w * load_piece(w, i, whole);
    _Pragma("unroll 8") for (int c = 0; c < j; c++)
    {
        const VEC v_i = load_piece(V + c * ld, i, whole);
        u_i -= s[c] * v_i, w_i -= h[c] * v_i;
    }
    store_piece(u_i, u, i, whole);
    store_piece(w_i - h_j * u_i, w, i, whole);
}

// v_j := (u - V s) / alpha,  column j + 1 := (w / alpha - V h - v_j h_j) / norm
kernel void gmres_update(long n, int m, int j, long ld, global const ACC *restrict state,
                         global const ACC *restrict scalars, global const REAL *restrict V,
                         global REAL *restrict u, long u0, global REAL *restrict w, long w0)
{
    local REAL s[MOST], h[MOST + 1];
    const ACC by_alpha = scalars[T + j * m + j], by_norm = 1 / scalars[NORM];
    for (int i = get_local_id(0); i <= j; i += WG)
        s[i] = (REAL)scalars[T + j * m + i], h[i] = (REAL)(scalars[PROJECTED + i] * by_norm);
    BARRIER();
    const REAL by_u = (REAL)by_alpha, by_w = (REAL)(by_alpha * by_norm), h_j = h[j];
    if ((int)state[STATE_STOP] != GO_ON) return;
    u += u0, w += w0;
    FOR_VEC(i, n) update(i, 1, j, ld, V, s, h, by_u, by_w, h_j, u, w);
    FOR_TAIL(i, n) update(i, 0, j, ld, V, s, h, by_u, by_w, h_j, u, w);
}

// R y = right for the steps that are complete; y by the columns of Z if `flexible`, else of V; what x has not
// got of that yet. One group.
kernel void gmres_solve(int m, int flexible, global ACC *restrict scalars)
{
    local ACC y[MOST];
    const int k = (int)scalars[STEPS];
    for (int i = get_local_id(0); i < k; i += WG) y[i] = scalars[RIGHT + i];
    for (int i = k - 1; i >= 0; i--) {
        barrier(CLK_LOCAL_MEM_FENCE);
        ACC y_i = y[i] / scalars[R + i * m + i];
        barrier(CLK_LOCAL_MEM_FENCE); // y[i] is read by all before one of them writes it
        for (int t = get_local_id(0); t <= i; t += WG)
            y[t] = t == i ? y_i : y[t] - scalars[R + i * m + t] * y_i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < k; i += WG) {
        ACC y_i = y[i];
        if (flexible) y_i *= scalars[T + i * m + i];
        for (int c = flexible ? k : i + 1; c < k; c++) y_i += scalars[T + c * m + i] * y[c];
        scalars[CHANGE + i] = y_i - scalars[GIVEN + i];
        scalars[GIVEN + i] = y_i;
    }
}

// Piece i of t := [t +] V y, where V has k columns
INLINED void combine(long i, const int whole, int k, long ld, global const REAL *V, local const REAL *y, int adds, global REAL *t)
{
    VEC t_i = 0;
    if (adds) t_i = load_piece(t, i, whole);
    _Pragma("unroll 8") for (int c = 0; c < k; c++) t_i += y[c] * load_piece(V + c * ld, i, whole);
    store_piece(t_i, t, i, whole);
}

// t := [t +] the change of V y
kernel void gmres_combine(long n, int m, int adds, long ld, global const ACC *restrict scalars,
                          global const REAL *restrict V, global REAL *restrict t, long t0)
{
    local REAL y[MOST];
    const int k = (int)scalars[STEPS];
    for (int i = get_local_id(0); i < k; i += WG) y[i] = (REAL)scalars[CHANGE + i];
    BARRIER();
    t += t0;
    FOR_VEC(i, n) combine(i, 1, k, ld, V, y, adds, t);
    FOR_TAIL(i, n) combine(i, 0, k, ld, V, y, adds, t);
}
