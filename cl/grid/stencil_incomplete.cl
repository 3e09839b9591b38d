// stencil_incomplete.cl - the incomplete Poisson inverse on grids.
// Host: src/grid/stencil_relax.c. Defines and march are those of sweep.clh.
//
// SCALAR    D^-1 is the number `inverse`, else the vector d
// WRAPS     some axis is periodic
// LANES     1 where vectors may start anywhere: the same arithmetic, to the bit
//
// y := alpha M x + beta y with M = K' D^-1 K, K = I - L D^-1, L the strict lower triangle of A: the
// neighbours with smaller numbers. The vector in the middle, D^-1 K x, is not stored: each point
// forms it for itself (`here`) and for its neighbours with larger numbers, and of it
// y = here - D^-1 L' D^-1 K x.

#include "common/kry.clh"
#include "grid/sweep.clh"

#ifdef SCALAR
#define INVERSE(K, j) by_diagonal
#else
#define INVERSE(K, j) AT_##K(d, j)
#endif
#ifdef VARIABLE
#define FACE_OF(K, f, w, j) AT_##K(f, j)
#else
#define FACE_OF(K, f, w, j) (w)
#endif
#define FACE_X(K, j) FACE_OF(K, fx, wx, j)
#define FACE_Y(K, j) FACE_OF(K, fy, wy, j)
#define FACE_Z(K, j) FACE_OF(K, fz, wz, j)
#define SCALED(K, j) (INVERSE(K, j) * AT_##K(x, j))
#define NOTHING(K)   ((T_##K)0)

// A term `v` of a sum that is there only if some axis wraps.
#ifdef WRAPS
#define WRAP(v) +(v)
#else
#define WRAP(v)
#endif

// ---- a point by itself ----

// -L D^-1 x of point j along an axis where it is number `at` of `size`: of the one before, and on
// an axis that wraps of the first for the last.
#define BEFORE(K, j, at, step, FACE) \
    ((at) > 0 ? FACE(K, (j) - (step)) * SCALED(K, (j) - (step)) : NOTHING(K))
#define FIRST_FOR_LAST(K, j, side, at, size, step, FACE)                                \
    ((side) == PERIODIC && (at) == (size)-1 && (size) > 1                               \
         ? FACE(K, j) * SCALED(K, (j) - (step) * ((size)-1))                            \
         : NOTHING(K))
#define FIRST_X(j, jx)    FIRST_FOR_LAST(ONE, j, XH, jx, nx, 1, FACE_X)
#define FIRST_Y(K, j, jy) FIRST_FOR_LAST(K, j, YH, jy, ny, nx, FACE_Y)
#define FIRST_Z(K, j, jz) FIRST_FOR_LAST(K, j, ZH, jz, nz, plane, FACE_Z)

#define LOWER_X_ONE(j, jx) (BEFORE(ONE, j, jx, 1, FACE_X) WRAP(FIRST_X(j, jx)))
#define LOWER_Y(K, j, jy)  (BEFORE(K, j, jy, nx, FACE_Y) WRAP(FIRST_Y(K, j, jy)))
#if AXES == 3
#define LOWER_Z(K, j, jz) +(BEFORE(K, j, jz, plane, FACE_Z) WRAP(FIRST_Z(K, j, jz)))
#else
#define LOWER_Z(K, j, jz)
#endif
// D^-1 K x at point j
#define HALF_WAY(K, j, jx, jy, jz) \
    (INVERSE(K, j) * (AT_##K(x, j) + LOWER_X_##K(j, jx) + LOWER_Y(K, j, jy) LOWER_Z(K, j, jz)))

// -L' of that at point i, on an axis that wraps: of the last for the first.
#define LAST_FOR_FIRST(side, at, size, K, j, FACE, HALF) \
    ((side) == PERIODIC && (at) == 0 && (size) > 1 ? FACE(K, j) * HALF : NOTHING(K))
#define LAST_X                                        \
    LAST_FOR_FIRST(XH, ix, nx, ONE, i + nx - 1, FACE_X, \
                   HALF_WAY(ONE, i + nx - 1, nx - 1, iy, iz))
#define LAST_Y(K)                                        \
    LAST_FOR_FIRST(YH, iy, ny, K, i + plane - nx, FACE_Y, \
                   HALF_WAY(K, i + plane - nx, ix, ny - 1, iz))
#define LAST_Z(K)                                                \
    LAST_FOR_FIRST(ZH, iz, nz, K, i + plane * (nz - 1), FACE_Z, \
                   HALF_WAY(K, i + plane * (nz - 1), ix, iy, nz - 1))

#define PUT_MIXED(K, y_i) PUT_##K(old == 0 ? by * y_i : by * y_i + old * AT_##K(y, i), y, i);

#ifdef KRY_CPU

#define LOWER_X_MANY(j, jx) BEFORE(MANY, j, jx, 1, FACE_X)
#define LAST_X_ONE          WRAP(LAST_X)
#define LAST_X_MANY

// -L' half way at point i along an axis where it is number `at` of `size`, of the one after.
#define AFTER(K, at, size, FACE, HALF) ((at) < (size)-1 ? FACE(K, i) * HALF : NOTHING(K))
#define UPPER_X(K) (AFTER(K, ix, nx, FACE_X, HALF_WAY(K, i + 1, ix + 1, iy, iz)) LAST_X_##K)
#define UPPER_Y(K) \
    (AFTER(K, iy, ny, FACE_Y, HALF_WAY(K, i + nx, ix, iy + 1, iz)) WRAP(LAST_Y(K)))
#if AXES == 3
#define UPPER_Z(K) \
    +(AFTER(K, iz, nz, FACE_Z, HALF_WAY(K, i + plane, ix, iy, iz + 1)) WRAP(LAST_Z(K)))
#else
#define UPPER_Z(K)
#endif
#define INCOMPLETE_POINT(K, GET, BODY)                                                             \
    {                                                                                   \
        T_##K x_i = AT_##K(x, i);                                                       \
        T_##K y_i = HALF_WAY(K, i, ix, iy, iz) +                                        \
                    INVERSE(K, i) * (UPPER_X(K) + UPPER_Y(K) UPPER_Z(K));               \
        if (sums) {                                                                     \
            ADD_PRODUCT_##K(xy, x_i, y_i);                                              \
            ADD_PRODUCT_##K(xx, x_i, x_i);                                              \
        }                                                                               \
        PUT_MIXED(K, y_i)                                                               \
    }

// The point after a vector is inside, too: its lower neighbours are asked for.
#define INCOMPLETE SWEEP_ROWS(2, INCOMPLETE_POINT, , )

#else

// ---- the march ----
//
// A step has from the one before it, in registers: x, D^-1 K x, d and the faces east of its points,
// and D^-1 x behind the neighbours east and north. It loads, for LANES points (v: vectors, s: single
// numbers next to one):
//
//             one weight for all       faces and d of their own
//   plane     1 v,  2 s                4 v,  6 s
//   space     3 v,  4 s               12 v, 12 s
//
// Of these v, those of other rows in space are in the caches, and so are all s.
//
// A load of what is not there goes to something that is, and 0 replaces what is made of it: no
// branch keeps loads apart. For the same reason the sums are formed, wanted or not.

SUM there_ONE(int is, SUM v) { return is ? v : (SUM)0; }
#define LAST_ONE(v)              (v)
#define FROM_EAST_ONE(v, e)      (e)
#define FROM_WEST_ONE(w, v)      (w)
#define AT_FIRST_ONE(v)          (v)
#define AT_LAST_ONE(v)           (v)
#if LANES > 1
T_MANY there_MANY(int is, T_MANY v) { return is ? v : (T_MANY)0; }
#define LAST_MANY(v)             LAST(v)
#define FROM_EAST_MANY(v, e)     SHIFT_DOWN(v, e)
#define FROM_WEST_MANY(w, v)     SHIFT_UP(w, v)
#define AT_FIRST_MANY(v)         SHIFT_UP(v, NOTHING(MANY))
#define AT_LAST_MANY(v)          SHIFT_DOWN(NOTHING(MANY), v)
#define LOWER_X_MANY(j, jx) \
    (NOTHING(MANY) FIRST_WEST(MANY, j) + LOWER_WEST(MANY, j, FACE_X(MANY, j), (SCALED(MANY, j))))
#endif

// The product of what is there, to the sum `name`.
#ifdef KRY_FP64
#define ADD_IF_ONE(is, name, u, v)                    \
    {                                                 \
        ACC product = (ACC)(u) * (ACC)(v);            \
        name##_ONE += is ? product : 0;               \
    }
#define ADD_IF_MANY(is, name, u, v)                   \
    {                                                 \
        TOTALS_MANY product = ACC_MANY(u) * ACC_MANY(v); \
        name##_ONE += is ? LANES_SUM_OF(product) : 0; \
    }
#else
#define ADD_IF_ONE(is, name, u, v)  ADD_PRODUCT_ONE(name, there_ONE(is, u), v);
#define ADD_IF_MANY(is, name, u, v) ADD_PRODUCT_MANY(name, there_MANY(is, u), v);
#endif

// -L D^-1 x at points j of this column or of the one north: from the west, where f are the faces
// and s is D^-1 x at j; and from the south, of this column or of the one east.
#ifdef VARIABLE
#define FACE_WEST(K, j, f) FROM_WEST_##K(AT_ONE(fx, (j) - west), f)
#else
#define FACE_WEST(K, j, f) wx
#endif
#define LOWER_WEST(K, j, f, s) \
    FACE_WEST(K, j, f) * FROM_WEST_##K(there_ONE(west, SCALED(ONE, (j) - west)), s)
#define LOWER_SOUTH(K, j) FACE_Y(K, (j) - south) * there_##K(south > 0, SCALED(K, (j) - south))
// What wraps stands first in a sum, so that its branches do not part the rest.
#define FIRST_WEST(K, j) WRAP(AT_LAST_##K(FIRST_X((j) + LANES - 1, ix + LANES - 1)))

#if AXES == 3
#define FACE_LAST           FACE_Z
#define FIRST_OF_LAST       FIRST_Z
#define LAST_OF_LAST        LAST_Z
#define PLUS_SOUTH(K, j)    +LOWER_SOUTH(K, j)
#define FIRST_SOUTH(K, j)   WRAP(FIRST_Y(K, j, iy))
#else
#define FACE_LAST           FACE_Y
#define FIRST_OF_LAST       FIRST_Y
#define LAST_OF_LAST        LAST_Y
#define PLUS_SOUTH(K, j)
#define FIRST_SOUTH(K, j)
#endif

// North, in space: what a column begins with, and a step's share of -L' D^-1 K x.
#if AXES == 3
#define BEGIN_NORTH(K)                                                                  \
    const int south = iy > 0 ? nx : 0, north = iy < ny - 1 ? nx : 0;                    \
    T_##K s_nb = there_##K(behind > 0, SCALED(K, i + north - behind));
#define FORM_NORTH(K)                                                                   \
    const int n = i + north;                                                            \
    T_##K f_n = FACE_Y(K, i), d_n = INVERSE(K, n), x_n = AT_##K(x, n), s_n = d_n * x_n; \
    T_##K h_n = d_n * (x_n FIRST_WEST(K, n) WRAP(FIRST_Y(K, n, iy + 1))                 \
                           WRAP(FIRST_Z(K, n, iz)) +                                    \
                       LOWER_WEST(K, n, FACE_X(K, n), s_n) + f_n * s +                  \
                       FACE_Z(K, n - behind) * s_nb);                                   \
    s_nb = s_n;
#define PLUS_NORTH(K) +f_n * there_##K(north > 0, h_n)
#define LAST_NORTH(K) WRAP(LAST_Y(K))
#else
#define BEGIN_NORTH(K)
#define FORM_NORTH(K)
#define PLUS_NORTH(K)
#define LAST_NORTH(K)
#endif

#ifdef WRAPS
#define FROM_LAST(K) \
    NOTHING(K) WRAP(AT_FIRST_##K(LAST_X)) LAST_NORTH(K) WRAP(LAST_OF_LAST(K)) +
#else
#define FROM_LAST(K)
#endif

// w, e, n, a, b: west, east, north, ahead, behind. f, d, x, s, h: the face between, and D^-1, x,
// D^-1 x, D^-1 K x there.
#define STEP_INCOMPLETE(K, x_a, is)                                                     \
    const int more = LAST_AT < LAST_SIZE - 1, a = i + (more ? LAYER : 0), e = i + east; \
    T_##K d_a = INVERSE(K, a), f_ea = FACE_X(K, a), s_a = d_a * x_a;                    \
    T_##K f_a = FACE_LAST(K, i), s = d_c * c;                                           \
    T_##K h_a = d_a * (x_a FIRST_WEST(K, a) FIRST_SOUTH(K, a)                           \
                           WRAP(FIRST_OF_LAST(K, a, LAST_AT + 1)) +                     \
                       LOWER_WEST(K, a, f_ea, s_a) PLUS_SOUTH(K, a) + f_a * s);         \
    SUM d_e = INVERSE(ONE, e), x_e = AT_ONE(x, e), s_e = d_e * x_e;                     \
    SUM h_e = d_e * (x_e WRAP(FIRST_X(e, ix + LANES)) FIRST_SOUTH(ONE, e)               \
                         WRAP(FIRST_OF_LAST(ONE, e, LAST_AT)) +                         \
                     LAST_##K(f_e) * LAST_##K(s) PLUS_SOUTH(ONE, e) +                   \
                     FACE_LAST(ONE, e - behind) * s_eb);                                \
    FORM_NORTH(K)                                                                       \
    T_##K y_i = here + d_c * (FROM_LAST(K) f_e *                                        \
                                  FROM_EAST_##K(here, there_ONE(east > 0, h_e))         \
                              PLUS_NORTH(K) + f_a * there_##K(more, h_a));              \
    ADD_IF_##K(is, xy, c, y_i)                                                          \
    ADD_IF_##K(is, xx, c, c)                                                            \
    if (is) PUT_MIXED(K, y_i)                                                           \
    c = x_a, d_c = d_a, f_e = f_ea, here = h_a, s_eb = s_e, behind = LAYER;

// Without faces to load there is little on the way: two steps at once then. Where the second is
// beyond the end it goes over the same points again, and changes nothing.
#ifdef VARIABLE
#define STEPS(K)                                               \
    T_##K x_1 = AT_##K(x, LAST_AT < LAST_SIZE - 1 ? i + LAYER : i); \
    STEP_INCOMPLETE(K, x_1, 1)
#else
#define X_AHEAD(K, by) AT_##K(x, i + LAYER * (min(LAST_AT + by, min(end, LAST_SIZE - 1)) - LAST_AT))
#define STEPS(K)                                           \
    T_##K x_1 = X_AHEAD(K, 1), x_2 = X_AHEAD(K, 2);        \
    {                                                      \
        STEP_INCOMPLETE(K, x_1, 1)                         \
    }                                                      \
    const int two = LAST_AT + 1 < end;                       \
    LAST_AT += two, i += two ? LAYER : 0;                   \
    STEP_INCOMPLETE(K, x_2, two)
#endif

#define MARCH_INCOMPLETE(K)                                                             \
    EACH_COLUMN                                                                         \
    {                                                                                   \
        COLUMN                                                                          \
        if (LAST_AT < end) {                                                              \
            const int west = ix > 0, east = ix < nx - LANES ? LANES : 0;                \
            int behind = LAST_AT > 0 ? LAYER : 0;                                        \
            T_##K c = AT_##K(x, i), d_c = INVERSE(K, i), f_e = FACE_X(K, i);            \
            T_##K here = HALF_WAY(K, i, ix, iy, iz);                                    \
            SUM s_eb = there_ONE(behind > 0, SCALED(ONE, i + east - behind));           \
            BEGIN_NORTH(K)                                                              \
            ALONG_COLUMN                                                                \
            {                                                                           \
                STEPS(K)                                                                \
            }                                                                           \
        }                                                                               \
    }
#if LANES > 1
#define INCOMPLETE MARCH_INCOMPLETE(MANY)
#else
#define INCOMPLETE MARCH_INCOMPLETE(ONE)
#endif

#endif

// y := alpha M x + beta y; with beta == 0, y is not read. With `sums`, part[group] := the pair
// (x.y, x.x), of alpha 1 and beta 0. 2 words, and 1 more with d.
kernel void stencil_incomplete(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                               global REAL *restrict y, long y0, ACC inverse,
                               global const REAL *restrict d, long d0, int sums,
                               global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    WEIGHTS
    SUMMED(xy)
    SUMMED(xx)
    const SUM by = (SUM)alpha, old = (SUM)beta, by_diagonal = (SUM)inverse;
    x += x0, y += y0, d += d0;
    INCOMPLETE
    TOTAL2 total = group_sum2(BOTH(SUM_OF(xy), SUM_OF(xx)), lane);
    if (get_local_id(0) == 0 && sums) ((global TOTAL2 *)part)[get_group_id(0)] = total;
}
