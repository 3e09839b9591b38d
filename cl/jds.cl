// jds.cl - jagged diagonals: rows sorted by falling length, the first entries of all rows side by
// side, then the second ones ...
// Host: src/matrix/jds.c.
//
// Jagged diagonal d has an entry of the first jd[2 d + 1] positions, from place jd[2 d] on, a
// multiple of 16; jd is in constant memory (JD_SPACE) where it fits. Position i holds row perm[i]. A
// work-item adds up all entries of a position and writes y once, through perm.
//
// After A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs,
// ICCS 2009, their CSR-like product.

#ifndef JD_SPACE
#define JD_SPACE constant
#endif

#define FORMAT jds
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
