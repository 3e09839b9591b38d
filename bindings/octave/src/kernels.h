/*
 * kernels.h - the toolbox's own kernels, in OpenCL C 1.1, as a string: compiled through kry's cache with
 * cl/common/kry.clh in front (REAL, ACC). No barriers; every work-item strides over what there is to do.
 */
#ifndef KERNELS_H
#define KERNELS_H

#define KERNEL_TEXT(...) #__VA_ARGS__

static const char kernel_text[] = KERNEL_TEXT(

    REAL element_of(int op, REAL a, REAL b) {
        switch (op) { /* element_op */
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a / b;
        case 4: return b / a;
        case 5: return b == 2 ? a * a : b == 1 ? a : b == 0 ? 1 : pow(a, b);
        case 6: return fmax(a, b);
        case 7: return fmin(a, b);
        case 8: return atan2(a, b);
        case 9: return hypot(a, b);
        case 10: return fabs(a);
        case 11: return exp(a);
        case 12: return expm1(a);
        case 13: return sqrt(a);
        case 14: return log(a);
        case 15: return log2(a);
        case 16: return log10(a);
        case 17: return log1p(a);
        case 18: return sin(a);
        case 19: return cos(a);
        case 20: return tan(a);
        case 21: return asin(a);
        case 22: return acos(a);
        case 23: return atan(a);
        case 24: return sinh(a);
        case 25: return cosh(a);
        case 26: return tanh(a);
        case 27: return asinh(a);
        case 28: return acosh(a);
        case 29: return atanh(a);
        case 30: return floor(a);
        case 31: return ceil(a);
        case 32: return round(a);
        case 33: return trunc(a);
        case 34: return a > 0 ? (REAL)1 : a < 0 ? (REAL)-1 : a;
        case 35: return cbrt(a);
        case 36: return erf(a);
        }
        return erfc(a);
    }

    /* Would the result be complex? */
    int is_outside(int op, REAL a, REAL b) {
        switch (op) {
        case 5: return a < 0 && (b != rint(b) || isinf(b));
        case 17: return a < -1;
        case 21:
        case 22:
        case 29: return fabs(a) > 1;
        case 28: return a < 1;
        }
        return a < 0;
    }

    /* z, m rows, total numbers: a and b with steps along a column (0 or 1) and along a row; scalar 1: a is
   the number, 2: b is; checked: *outside tells whether a result would be complex */
    kernel void elements(int op, long m, long total, int scalar, ACC number, global const REAL *a,
                         long a0, long a_row, long a_col, global const REAL *b, long b0, long b_row,
                         long b_col, global REAL *z, long z0, int checked, global int *outside) {
        REAL c = (REAL)number;
        a += a0;
        b += b0;
        z += z0;
        int plain = a_row == 1 && b_row == 1 && a_col == m && b_col == m;
        for (long k = get_global_id(0); k < total; k += get_global_size(0)) {
            long i = plain ? k : k % m;
            long j = plain ? 0 : k / m;
            REAL x = scalar == 1 ? c : a[i * a_row + j * a_col];
            REAL y = scalar == 2 ? c : b[i * b_row + j * b_col];
            if (checked && is_outside(op, x, y)) *outside = 1;
            z[k] = element_of(op, x, y);
        }
    }

    kernel void elements_pick(long m, long total, global const REAL *x, long x0, long rows,
                              int listed, global const long *row, long row_start, long row_step,
                              global const long *col, long col_start, long col_step, global REAL *z,
                              long z0) {
        x += x0;
        z += z0;
        for (long k = get_global_id(0); k < total; k += get_global_size(0)) {
            long i = k % m;
            long j = k / m;
            i = (listed & 1) ? row[i] : row_start + i * row_step;
            j = (listed & 2) ? col[j] : col_start + j * col_step;
            z[k] = x[j * rows + i];
        }
    }

    /* z(row_i, col_j) := x(i, j), or the number; z has `rows` rows */
    kernel void elements_put(long m, long total, global const REAL *x, long x0, int scalar,
                             ACC number, long rows, int listed, global const long *row,
                             long row_start, long row_step, global const long *col, long col_start,
                             long col_step, global REAL *z, long z0) {
        REAL c = (REAL)number;
        x += x0;
        z += z0;
        for (long k = get_global_id(0); k < total; k += get_global_size(0)) {
            long i = k % m;
            long j = k / m;
            i = (listed & 1) ? row[i] : row_start + i * row_step;
            j = (listed & 2) ? col[j] : col_start + j * col_step;
            z[j * rows + i] = scalar ? c : x[k];
        }
    }

    ACC reduced(int op, ACC sum, ACC x) {
        switch (op) {
        case 0: return sum + x;
        case 1: return sum + fabs(x);
        case 2: return fmax(sum, x);
        case 3: return fmin(sum, x);
        case 4: return isnan(sum) || fabs(x) <= sum ? sum : fabs(x);
        case 5: return sum + (x != 0 ? 1 : 0);
        case 6: return sum + (x == 0 ? 1 : 0);
        }
        return sum * x;
    }

    ACC reduced_start(int op) { return op == 2 || op == 3 ? (ACC)NAN
                                       : op == 7          ? (ACC)1
                                                          : (ACC)0; }

    /* part[c + chunks i] := the numbers c, c + chunks ... of line i; a line starts at i line, a number
   follows `step` behind the other */
    kernel void elements_reduce(int op, long count, long lines, long line, long step, long chunks,
                                long near, global const REAL *x, long x0, global ACC *part) {
        x += x0;
        for (long k = get_global_id(0); k < chunks * lines; k += get_global_size(0)) {
            long c = k % chunks;
            long i = k / chunks;
            /* near: contiguous chunks, for CPUs */
            long first = near ? c * near : c;
            long last = near ? min(first + near, count) : count;
            long stride = near ? 1 : chunks;
            ACC sum = reduced_start(op);
            for (long l = first; l < last; l += stride)
                sum = reduced(op, sum, (ACC)x[i * line + l * step]);
            part[k] = sum;
        }
    }

    kernel void elements_finish(int op, long chunks, long lines, global const ACC *part,
                                global REAL *z, long z0) {
        z += z0;
        op = op == 1 || op == 5 || op == 6 ? 0 : op;
        for (long i = get_global_id(0); i < lines; i += get_global_size(0)) {
            ACC sum = reduced_start(op);
            for (long c = 0; c < chunks; c++) sum = reduced(op, sum, part[c + chunks * i]);
            z[i] = (REAL)sum;
        }
    }

    kernel void elements_convert(long total, global const FROM *x, long x0, global REAL *z,
                                 long z0) {
        for (long k = get_global_id(0); k < total; k += get_global_size(0))
            z[z0 + k] = (REAL)x[x0 + k];
    }

);

#endif
