// sell.cl - slices of C rows, each as wide as its longest row, stored column by column.
// Host: src/formats/sell.c.
//
// Entry k of row `lane` of slice s lies at slice_ptr[s] + k * C + lane, so C neighbouring
// work-items (or the lanes of a vector) read neighbouring numbers. PERM: rows were sorted by
// length within windows, and position i holds row perm[i]. COLUMN is the type of the stored
// columns: int, or ushort and uchar relative to base[k / C], the least of the C columns that
// are stored side by side. NONE as a column marks padding, which touches neither x nor the sum.
// ONE_SLICE: ELL, one slice of all rows, `stride` of them with padding.
//   GPU   a row to a work-item, four entries in flight
//   CPU   a slice is a vector (C = VW); block[b] is the first slice of the b-th group's share
//
// After M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, A unified sparse matrix data
// format for efficient general sparse matrix-vector multiplication on modern processors with
// wide SIMD units, SIAM J. Sci. Comput. 36 (2014); ELL after Bell and Garland, SC09 (2009).

#define FORMAT sell

#ifdef ONE_SLICE
#define SHAPE      int stride, int width,
#define BEGIN(s)   ((s) * C)
#define END(s)     (width * stride)
#define STEP       stride
#else
#define SHAPE      global const int *restrict slice_ptr,
#define BEGIN(s)   slice_ptr[s]
#define END(s)     slice_ptr[(s) + 1]
#define STEP       C
#endif

#ifdef PERM
#define ORDER  global const int *restrict perm,
#define ROW(i) perm[i]
#else
#define ORDER
#define ROW(i) (i)
#endif

#ifdef BASE
#define COLUMNS   global const COLUMN *restrict col, global const int *restrict base,
#define OFFSET_OF(k) base[(k) / C]
#else
#define COLUMNS   global const COLUMN *restrict col,
#define OFFSET_OF(k) 0
#endif

#ifdef KRY_CPU

#define MATRIX                                                                          \
    int work, int rows, global const int *restrict block, SHAPE ORDER COLUMNS           \
        global const VAL *restrict val
#define MATRIX_LOCALS

#define PAIR(lane) \
    if (j.lane != NONE) sums.lane += (SUM)val[k + LANE_##lane] * (SUM)x[least + j.lane];
enum { LANE_s0, LANE_s1, LANE_s2, LANE_s3, LANE_s4, LANE_s5, LANE_s6, LANE_s7 };
#define PAIRS PAIR(s0) PAIR(s1) PAIR(s2) PAIR(s3) PAIR(s4) PAIR(s5) PAIR(s6) PAIR(s7)
#define MATRIX_ROWS(GET, DO)                                                    \
    for (int b = get_group_id(0); b < work; b += get_num_groups(0))             \
        for (int s = block[b]; s < block[b + 1]; s++) {                         \
            int first = s * C, end = END(s);                                    \
            SUMV sums = 0;                                                      \
            for (int k = BEGIN(s); k < end; k += STEP) {                        \
                int8 j = convert_int8(vload8(0, col + k));                      \
                int least = OFFSET_OF(k);                                       \
                if (any(j == NONE)) {                                           \
                    PAIRS                                                       \
                } else {                                                        \
                    sums += LOAD_SUMV(val + k) * GATHER_SUMV(x + least, j);     \
                }                                                               \
            }                                                                   \
            if (first + C <= rows) {                                            \
                EACH_LANE(DO, ROW, first, sums)                                  \
            } else {                                                            \
                SUM last[VW];                                                   \
                vstore8(sums, 0, last);                                         \
                for (int l = 0; first + l < rows; l++) {                        \
                    int row = ROW(first + l);                                   \
                    SUM sum = last[l];                                          \
                    DO(row, sum)                                                \
                }                                                               \
            }                                                                   \
        }

#else

#define MATRIX int work, SHAPE ORDER COLUMNS global const VAL *restrict val
#define MATRIX_LOCALS

#define LOAD(u, GET)                 \
    int c##u = col[k + u * STEP];    \
    SUM v##u = val[k + u * STEP];    \
    int j##u = c##u == NONE ? 0 : OFFSET_OF(k + u * STEP) + c##u;
#define FETCH(u, GET) v##u *= (SUM)GET(j##u);
#define ADD(u, GET)   sum += c##u == NONE ? 0 : v##u;
#define FOUR(X, GET)  X(0, GET) X(1, GET) X(2, GET) X(3, GET)

#define MATRIX_ROWS(GET, DO)                                                     \
    for (int i = get_global_id(0); i < work; i += (int)get_global_size(0)) {     \
        int k = BEGIN(i / C) + i % C, end = END(i / C), row = ROW(i);            \
        SUM sum = 0;                                                             \
        for (; k + 3 * STEP < end; k += 4 * STEP) {                              \
            FOUR(LOAD, GET)                                                      \
            FOUR(FETCH, GET)                                                     \
            FOUR(ADD, GET)                                                       \
        }                                                                        \
        for (; k < end; k += STEP) {                                             \
            LOAD(0, GET)                                                         \
            FETCH(0, GET)                                                        \
            ADD(0, GET)                                                          \
        }                                                                        \
        DO(row, sum)                                                             \
    }

#endif
