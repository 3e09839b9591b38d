// dots.cl - products of a block of columns with one column, or with two.
// Host: src/vector/dots.c. Launch: kry_chunks_of(w).groups or fewer, of WG.
// PAIR: W has two columns u and w, else one.
//
// part[group k + j] := sum of v_ij w_i, for the k columns v_j of V, `pitch` numbers from one to the next.
// With PAIR part[2 (group k + j)] := (v_j'u, v_j'w).
// Words per unknown: k, and W for each COLUMNS columns. GPUs sum all lanes of a load in one register, because
// 16 loads on their way matter more than 2048 work-items; past the last column it is summed again.

#include "common/kry.clh"

#ifdef PAIR
#define WIDTH    2
#define PAIRED(x) x
#else
#define WIDTH    1
#define PAIRED(x)
#endif

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

kernel void dots_block(long n ROWS_PARAMS, int k, global const REAL *restrict V, long V0, long pitch,
                       global const REAL *restrict W, long W0, long W_pitch,
                       global TOTAL *restrict part)
{
    local TOTAL lane[AT_ONCE * WG];
    TAKE_ROWS(first)
    global const REAL *restrict u = W + W0 + first;
    PAIRED(global const REAL *restrict w = u + W_pitch;)
    V += V0 + first, part += get_group_id(0) * k * WIDTH;
    for (int j = 0; j < k; j += COLUMNS) {
#define BEGIN(c)                                                     \
    global const REAL *restrict v##c = V + min(j + c, k - 1) * pitch; \
    SUM_OF(a##c) PAIRED(SUM_OF(b##c))
#define ADD_VEC(c)                        \
    {                                     \
        VEC v_i = LDV(v##c, i);           \
        ADD_LANES(a##c, v_i, u_i);        \
        PAIRED(ADD_LANES(b##c, v_i, w_i);) \
    }
#define ADD_TAIL(c)              \
    ADD_ONE(a##c, v##c[i], u[i]); \
    PAIRED(ADD_ONE(b##c, v##c[i], w[i]);)
#define LEAVE(slot, s)                                                                 \
    lane[(slot) % AT_ONCE * WG + get_local_id(0)] = WHOLE(s);                          \
    if (((slot) + 1) % AT_ONCE == 0)                                                   \
        add_up(j * WIDTH + (slot) + 1 - AT_ONCE, k * WIDTH, lane, part);
#define END(c) LEAVE(c * WIDTH, a##c) PAIRED(LEAVE(c * WIDTH + 1, b##c))
        EACH_COLUMN(BEGIN)
        FOR_VEC_SUMMED(i, n)
        {
            VEC u_i = LDV(u, i);
            PAIRED(VEC w_i = LDV(w, i);)
            EACH_COLUMN(ADD_VEC)
        }
        FOR_TAIL_SUMMED(i, n) { EACH_COLUMN(ADD_TAIL) }
        EACH_COLUMN(END)
    }
}
