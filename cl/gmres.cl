// gmres.cl - the vector work of GMRES(m) and its small least squares problem.
// Host: src/krylov/gmres.c, which compiles it with KRY_UNALIGNED. Launch: gmres_begin, gmres_judge,
// gmres_rotate and gmres_solve one group, gmres_finish a group for each sum, the others
// kry_groups_for_sums(n). Columns of V and Z are ld apart.
//
// Step j orthogonalises w, which is column j + 1 of V already, against the k = j + 1 columns before it,
// twice: c := V'w, w := w - V c. Sums of width k + 1 have w'w behind c. Words per unknown of a step j,
// the product aside: 4 k + 6, and k / 2 where w is read once for four columns.

// What stands in `scalars`, for m steps: how many columns are complete and by what the next one is
// multiplied; the column of the Hessenberg matrix, c of the present pass, both k + 1 numbers; cosines and
// sines of the rotations; the right-hand side; y as x has it and what is to be added to it; R by columns
#define STEPS 0
#define SCALE 1
#define COLUMN 2
#define PASS (COLUMN + m + 2)
#define COSINE (PASS + m + 2)
#define SINE (COSINE + m)
#define RIGHT (SINE + m)
#define GIVEN (RIGHT + m + 1)
#define CHANGE (GIVEN + m)
#define R (CHANGE + m)
#define MOST 128 // m at most
#define ROUNDING (sizeof(REAL) == 4 ? (ACC)1e-6f : (ACC)1e-14f)

// A cycle begins with a residual of this norm.
kernel void gmres_begin(int m, ACC norm, global ACC *restrict scalars)
{
    for (int i = get_local_id(0); i < R + m * m; i += WG) scalars[i] = i == RIGHT ? norm : 0;
}

// Judge the residual after j steps.
kernel void gmres_judge(int iteration, int slot, ACC target2, int m, int j,
                        global const ACC *restrict scalars, global ACC *restrict state,
                        global ACC *restrict history)
{
    ACC residual = scalars[RIGHT + j], rr = residual * residual;
    if (get_local_id(0) != 0 || (int)state[STATE_STOP] != GO_ON) return;
    history[slot] = rr;
    state[STATE_ITERATION] = (ACC)iteration;
    state[STATE_VALUE] = residual;
    state[STATE_STOP] = rr <= target2 ? STOP_CONVERGED : isfinite(rr) ? GO_ON : STOP_NOT_FINITE;
}

// Sum number `first` + group of the k + 1 of a pass, 0 or 1; `width` of them were summed together.
kernel void gmres_finish(int m, int k, int pass, int first, int width, int count,
                         global const TOTAL *restrict part, global ACC *restrict scalars)
{
    local TOTAL lane[WG];
    const int mine = get_group_id(0), c = first + mine;
    TOTAL sum = NO_TOTAL;
    for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[i * width + mine]);
    ACC value = VALUE_OF(group_sum(sum, lane));
    if (get_local_id(0) != 0) return;
    scalars[PASS + c] = value;
    if (pass == 0)
        scalars[COLUMN + c] = value;
    else if (c < k)
        scalars[COLUMN + c] += value;
}

// w := (w - V c) scale, the scale in pass 1 alone
kernel void gmres_subtract(long n, int m, int k, int pass, long ld, global const ACC *restrict state,
                           global const ACC *restrict scalars, global const REAL *restrict V,
                           global REAL *restrict w, long w0)
{
    const REAL scale = pass ? (REAL)scalars[SCALE] : 1;
    if ((int)state[STATE_STOP] != GO_ON) return;
    scalars += PASS, w += w0;
#define SUBTRACT(TYPE, LOAD, STORE)                                             \
    {                                                                           \
        TYPE w_i = LOAD(w);                                                     \
        for (int c = 0; c < k; c++) w_i -= (REAL)scalars[c] * LOAD((V + c * ld)); \
        STORE(scale * w_i, w);                                                  \
    }
    FOR_VEC(i, n) SUBTRACT(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) SUBTRACT(REAL, SLOAD, SSTORE)
}

// The norm of what is left of w is known before the second pass takes c from it: |w|^2 - |c|^2, c being
// small. It makes the last number of the column, which the rotations turn into one of R, and the residual.
// Where nothing is left, the next residual is zero; unless R gets a zero on its diagonal. One group.
kernel void gmres_rotate(int m, int j, global ACC *restrict state, global ACC *restrict scalars)
{
    local ACC column[MOST + 1], cosine[MOST], sine[MOST], small[MOST + 2];
    const int k = j + 1;
    if ((int)state[STATE_STOP] != GO_ON) return;
    for (int i = get_local_id(0); i <= k; i += WG) {
        column[i] = scalars[COLUMN + i], small[i] = scalars[PASS + i];
        if (i < j) cosine[i] = scalars[COSINE + i], sine[i] = scalars[SINE + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;

    ACC whole = column[k], left = small[k];
    for (int i = 0; i < k; i++) left -= small[i] * small[i];
    ACC norm = left > ROUNDING * ROUNDING * whole ? sqrt(left) : 0;
    for (int i = 0; i < j; i++) {
        ACC above = column[i], below = column[i + 1];
        column[i] = cosine[i] * above + sine[i] * below;
        column[i + 1] = cosine[i] * below - sine[i] * above;
    }
    ACC diagonal = hypot(column[j], norm);
    if (!isfinite(diagonal) || !(diagonal > ROUNDING * sqrt(whole))) {
        state[STATE_VALUE] = diagonal;
        state[STATE_STOP] = isfinite(diagonal) ? STOP_MATRIX : STOP_NOT_FINITE;
        return;
    }
    ACC c = column[j] / diagonal, s = norm / diagonal, right = scalars[RIGHT + j];
    for (int i = 0; i < j; i++) scalars[R + j * m + i] = column[i];
    scalars[R + j * m + j] = diagonal;
    scalars[COSINE + j] = c, scalars[SINE + j] = s;
    scalars[RIGHT + j] = c * right, scalars[RIGHT + j + 1] = -s * right;
    scalars[SCALE] = norm > 0 ? 1 / norm : 0;
    scalars[STEPS] = k;
}

// R y = right for the steps that are complete; what x has not got of y yet. One group.
kernel void gmres_solve(int m, global ACC *restrict scalars)
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
        scalars[CHANGE + i] = y[i] - scalars[GIVEN + i];
        scalars[GIVEN + i] = y[i];
    }
}

// t := [t +] the change of V y
kernel void gmres_combine(long n, int m, int adds, long ld, global const ACC *restrict scalars,
                          global const REAL *restrict V, global REAL *restrict t, long t0)
{
    const int k = (int)scalars[STEPS];
    t += t0, scalars += CHANGE;
#define COMBINE(TYPE, LOAD, STORE)                                              \
    {                                                                           \
        TYPE t_i = 0;                                                           \
        if (adds) t_i = LOAD(t);                                                \
        for (int c = 0; c < k; c++) t_i += (REAL)scalars[c] * LOAD((V + c * ld)); \
        STORE(t_i, t);                                                          \
    }
    FOR_VEC(i, n) COMBINE(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) COMBINE(REAL, SLOAD, SSTORE)
}
