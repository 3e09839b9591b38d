// jds.cl - jagged diagonals: rows sorted by falling length, the first entries of all rows side by
// side, then the second ones ...
// Host: src/matrix/jds.c.
//
// Jagged diagonal d has an entry of the first jd[2 d + 1] positions, from place jd[2 d] on, a
// multiple of 16; jd is in constant memory (JD_SPACE) where it fits. Position i holds row perm[i].
//   proposed   jds_apply and its like: a position to a work-item, all its entries in one go, y
//              written once through perm
//   basic      jds_clear, jds_add for every diagonal, jds_reorder: a sum t per position goes to
//              memory and back with each of them
//   texture    jds_apply_image, alone in its program: as proposed, but x is read as an image.
//              X_IMAGE=1: an image1d_buffer_t over x's own buffer, x from texel x_at on (OpenCL C
//              1.2). X_IMAGE=2: a copy in an image2d_t of 2^x_at columns. A texel is a number:
//              one float or two words of 32 bits, or with X_BYTES four parts of its bytes
//
// After A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs,
// ICCS 2009, which calls the two the CSR-like and the basic product.

#ifndef JD_SPACE
#define JD_SPACE constant
#endif

#ifndef X_IMAGE
#define FORMAT jds
#endif
#define JD(d)      jd[2 * (d)]
#define JD_ROWS(d) jd[2 * (d) + 1]

#ifdef KRY_CPU

#define MATRIX                                                                               \
    int work, int diagonals, global const int *restrict block, JD_SPACE const int *jd,       \
        global const int *restrict perm, global const int *restrict col,                     \
        global const VAL *restrict val
#define MATRIX_LOCALS
#define ROW(i) perm[i]
#define GATHER(GET, j)                                                                       \
    ((SUMV)((SUM)GET(j.s0), (SUM)GET(j.s1), (SUM)GET(j.s2), (SUM)GET(j.s3), (SUM)GET(j.s4),  \
            (SUM)GET(j.s5), (SUM)GET(j.s6), (SUM)GET(j.s7)))

#ifdef FLUX
#define OWN_LANES(GET)                                                  \
    SUM own_lane[VW];                                                   \
    for (int l = 0; l < VW; l++)                                        \
        own_lane[l] = l < count ? (SUM)GET(ROW(first + l)) : (SUM)0;    \
    SUMV own = vload8(0, own_lane);
#define FROM_LANE(l, v) ((v) - own_lane[l])
#else
#define OWN_LANES(GET)
#define FROM_LANE(l, v) (v)
#endif

// A full vector of positions while all of them have entries, then one by one.
#define MATRIX_ROWS(GET, DO)                                                                 \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0))                          \
        for (int first = block[b]; first < block[b + 1]; first += VW) {                      \
            int count = min(VW, block[b + 1] - first), d = 0;                                \
            SUMV sums = 0;                                                                   \
            SUM lane[VW];                                                                    \
            OWN_LANES(GET)                                                                   \
            for (; d < diagonals && first + VW <= JD_ROWS(d); d++) {                         \
                int8 j = vload8(0, col + JD(d) + first);                                     \
                sums += LOAD_SUMV(val + JD(d) + first) * FROM_OWN(GATHER(GET, j));           \
            }                                                                                \
            vstore8(sums, 0, lane);                                                          \
            for (; d < diagonals && first < JD_ROWS(d); d++)                                 \
                for (int l = 0; l < VW && first + l < JD_ROWS(d); l++)                       \
                    lane[l] += (SUM)val[JD(d) + first + l] *                                 \
                               FROM_LANE(l, (SUM)GET(col[JD(d) + first + l]));               \
            for (int l = 0; l < count; l++) {                                                \
                int row = ROW(first + l);                                                    \
                SUM sum = lane[l];                                                           \
                DO(row, sum)                                                                 \
            }                                                                                \
        }

#else

#define MATRIX                                                             \
    int work, int diagonals, JD_SPACE const int *jd,                       \
        global const int *restrict perm, global const int *restrict col,   \
        global const VAL *restrict val
#define MATRIX_LOCALS

#define LOAD(u, GET)               \
    int j##u = col[JD(d + u) + i]; \
    SUM v##u = val[JD(d + u) + i];
#define TERM(u, GET) sum += v##u * FROM_OWN((SUM)GET(j##u));
#define FOUR(X, GET) X(0, GET) X(1, GET) X(2, GET) X(3, GET)

#define MATRIX_ROWS(GET, DO)                                                   \
    for (int i = get_global_id(0); i < work; i += (int)get_global_size(0)) {   \
        int d = 0, row = perm[i];                                              \
        SUM sum = 0;                                                           \
        OWN(row, GET)                                                          \
        for (; d + 3 < diagonals && i < JD_ROWS(d + 3); d += 4) {              \
            FOUR(LOAD, GET)                                                    \
            FOUR(TERM, GET)                                                    \
        }                                                                      \
        for (; d < diagonals && i < JD_ROWS(d); d++) {                         \
            LOAD(0, GET)                                                       \
            TERM(0, GET)                                                       \
        }                                                                      \
        DO(row, sum)                                                           \
    }

#endif

#define UPDATE(row, sum) \
    y[row] = beta == 0 ? (REAL)((SUM)alpha * (sum)) : (REAL)((SUM)alpha * (sum) + (SUM)beta * y[row]);

#ifdef X_IMAGE

// ---- x as an image: image.clh ----

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void jds_apply_image(MATRIX, ACC alpha, read_only IMAGE x, int x_at, ACC beta,
                            global REAL *restrict y, long y0)
{
    y += y0;
    MATRIX_ROWS(GET_TEXEL, UPDATE)
}

#else

// ---- the basic product ----

kernel void jds_clear(int rows, global SUM *restrict t)
{
    FOR_EACH(i, rows) t[i] = 0;
}

// t[i] += the entry of jagged diagonal d at position i times its x
kernel void jds_add(int begin, int rows, global const int *restrict col,
                    global const VAL *restrict val, global const REAL *restrict x, long x0,
                    global SUM *restrict t)
{
    x += x0;
    FOR_EACH(i, rows) t[i] += (SUM)val[begin + i] * (SUM)x[col[begin + i]];
}

// y := alpha t + beta y in the order of rows
kernel void jds_reorder(int rows, global const int *restrict perm, global const SUM *restrict t,
                        ACC alpha, ACC beta, global REAL *restrict y, long y0)
{
    y += y0;
    FOR_EACH(i, rows)
    {
        int row = perm[i];
        UPDATE(row, t[i])
    }
}

#endif
