// dots.cl - products of a block of columns with one column, or with two.
// Host: src/vector/dots.c. Launch: kryi_chunks_of(w).groups or fewer, of WG.
//
// Words per unknown: k, and W for each COLUMNS columns. GPUs sum all lanes of a load in one register, because
// 16 loads on their way matter more than 2048 work-items; past the last column it is summed again.

#include "common/kry.clh"

#if defined(KRY_CPU) || !defined(KRY_FP64) || defined(FEW_REGISTERS)
#define COLUMNS         4
#define EACH_COLUMN(DO) DO(0) DO(1) DO(2) DO(3)
#else
#define COLUMNS         16
#define EACH_COLUMN(DO)                                                           \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) \
    DO(13) DO(14) DO(15)
#endif

// A sum: SUM_OF begins it, ADD_LANES and ADD_ONE add a product of vectors and of numbers, WHOLE is it.
#ifdef KRY_CPU
#define SUM_OF(s)          TOTALV s = NO_TOTALV; TOTAL s##_rest = NO_TOTAL;
#define ADD_LANES(s, v, w) ADD_PRODUCTV(s, v, w)
#define ADD_ONE(s, v, w)   ADD_PRODUCT(s##_rest, v, w)
#define WHOLE(s)           ALL_LANES(s, s##_rest)
#else
#define SUM_OF(s)        TOTAL s = NO_TOTAL;
#define ADD_ONE(s, v, w) ADD_PRODUCT(s, v, w)
#define WHOLE(s)         s
#if VW == 1
#define ADD_LANES(s, v, w) ADD_ONE(s, v, w)
#elif VW == 2
#define ADD_LANES(s, v, w) ADD_ONE(s, (v).s0, (w).s0), ADD_ONE(s, (v).s1, (w).s1)
#else
#define ADD_LANES(s, v, w)                                \
    ADD_ONE(s, (v).s0, (w).s0), ADD_ONE(s, (v).s1, (w).s1), \
        ADD_ONE(s, (v).s2, (w).s2), ADD_ONE(s, (v).s3, (w).s3)
#endif
#endif

// Sums that the group adds up at once: 8 KB of local memory at most.
#if defined(KRY_CPU) || WG > 512
#define AT_ONCE 1
#elif WG > 256
#define AT_ONCE 2
#elif WG > 128 || COLUMNS < 8
#define AT_ONCE 4
#else
#define AT_ONCE 8
#endif

// Add up AT_ONCE sums of WG addends, each by some of the work-items; part[first ...] := those before `end`.
void add_up(int first, int end, local TOTAL *restrict lane, global TOTAL *restrict part)
{
    const int mine = WG / AT_ONCE, l = get_local_id(0), sum = l / mine, own = l % mine;
    TOTAL t = NO_TOTAL;
    BARRIER();
    for (int i = own; i < WG; i += mine) ADD_TOTAL(t, lane[sum * WG + i]);
    BARRIER();
    lane[l] = t;
    for (int step = mine / 2; step > 0; step /= 2) {
        BARRIER();
        if (own < step) ADD_TOTAL(lane[l], lane[l + step]);
    }
    if (own == 0 && first + sum < end) part[first + sum] = lane[l];
    BARRIER();
}

// part[width (group k + j) + c] := the product of column j of V, which has k, `pitch` numbers from one to the next, and column c
// of W, which has `width`: 1 or 2. A number in the kernels, for the sums of a second column are registers.
#define restrict // a promise of the kernel's, which is inlined: Oclgrind does not take it here
INLINED void multiply(const int width, long n ROWS_PARAMS, int k, global const REAL *restrict V, long pitch,
                      global const REAL *restrict W, long W_pitch, global TOTAL *restrict part,
                      local TOTAL *restrict lane)
{
    const int pair = width == 2;
    TAKE_ROWS(first)
    global const REAL *restrict u = W + first, *restrict w = u + W_pitch;
    V += first, part += get_group_id(0) * k * width;
    for (int j = 0; j < k; j += COLUMNS) {
#define BEGIN(c)                                                     \
    global const REAL *restrict v##c = V + min(j + c, k - 1) * pitch; \
    SUM_OF(a##c) SUM_OF(b##c)
#define ADD_VEC(c)                             \
    {                                          \
        const VEC v_i = LDV(v##c, i);          \
        ADD_LANES(a##c, v_i, u_i);             \
        if (pair) { ADD_LANES(b##c, v_i, w_i); } \
    }
#define ADD_TAIL(c)               \
    ADD_ONE(a##c, v##c[i], u[i]); \
    if (pair) { ADD_ONE(b##c, v##c[i], w[i]); }
#define LEAVE(slot, s)                                                               \
    lane[(slot) % AT_ONCE * WG + get_local_id(0)] = WHOLE(s);                        \
    if (((slot) + 1) % AT_ONCE == 0)                                                 \
        add_up(j * width + (slot) + 1 - AT_ONCE, k * width, lane, part);
#define END(c)                    \
    if (pair) {                   \
        LEAVE(2 * c, a##c)        \
        LEAVE(2 * c + 1, b##c)    \
    } else {                      \
        LEAVE(c, a##c)            \
    }
        EACH_COLUMN(BEGIN)
        FOR_VEC_SUMMED(i, n)
        {
            VEC u_i = LDV(u, i), w_i = u_i;
            if (pair) w_i = LDV(w, i);
            EACH_COLUMN(ADD_VEC)
        }
        FOR_TAIL_SUMMED(i, n) { EACH_COLUMN(ADD_TAIL) }
        EACH_COLUMN(END)
    }
}
#undef restrict

#pragma kry part one column

kernel void dots_block(long n ROWS_PARAMS, int k, global const REAL *restrict V, long V0, long pitch,
                       global const REAL *restrict W, long W0, long W_pitch,
                       global TOTAL *restrict part)
{
    local TOTAL lane[AT_ONCE * WG];
    multiply(1, n ROWS_PASS, k, V + V0, pitch, W + W0, W_pitch, part, lane);
}

#pragma kry part two columns

kernel void dots_pair(long n ROWS_PARAMS, int k, global const REAL *restrict V, long V0, long pitch,
                      global const REAL *restrict W, long W0, long W_pitch,
                      global TOTAL *restrict part)
{
    local TOTAL lane[AT_ONCE * WG];
    multiply(2, n ROWS_PASS, k, V + V0, pitch, W + W0, W_pitch, part, lane);
}
