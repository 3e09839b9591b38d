// dots.cl - products of a block of columns with one column, or with two.
// Host: src/vector/dots.c. Launch: kryi_chunks_of(w).groups or fewer, of WG.
//
// Words per unknown: k, and W for each COLUMNS columns. GPUs sum all lanes of a load in one register, because
// 16 loads on their way matter more than 2048 work-items; past the last column it is summed again.

#include "common/kry.clh"

#if defined(KRY_CPU) || !defined(KRY_FP64) || defined(FEW_REGISTERS)
#define COLUMNS 4
#else
#define COLUMNS 16
#endif
#define EACH_COLUMN(c) UNROLLED for (int c = 0; c < COLUMNS; c++)

// A sum. On CPUs products of vectors are added up lane by lane.
typedef struct product {
#ifdef KRY_CPU
    TOTALV lanes;
#endif
    TOTAL sum;
} product;

INLINED void add_lanes(product *p, VEC v, VEC w)
{
#ifdef KRY_CPU
    ADD_PRODUCTV(p->lanes, v, w);
#else
    const private REAL *v_k = (const private REAL *)&v, *w_k = (const private REAL *)&w;
    UNROLLED for (int k = 0; k < VW; k++) ADD_PRODUCT(p->sum, v_k[k], w_k[k]);
#endif
}

INLINED void begin(product *p)
{
    const TOTAL nothing = NO_TOTAL;
    p->sum = nothing;
#ifdef KRY_CPU
    const TOTALV no_lanes = NO_TOTALV;
    p->lanes = no_lanes;
#endif
}

INLINED TOTAL whole(const product *p)
{
#ifdef KRY_CPU
    return ALL_LANES(p->lanes, p->sum);
#else
    return p->sum;
#endif
}

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
        global const REAL *v[COLUMNS];
        product by_u[COLUMNS], by_w[COLUMNS];
        EACH_COLUMN(c) v[c] = V + min(j + c, k - 1) * pitch, begin(&by_u[c]), begin(&by_w[c]);
        FOR_VEC_SUMMED(i, n)
        {
            VEC u_i = load_vector(u, i), w_i = u_i;
            if (pair) w_i = load_vector(w, i);
            EACH_COLUMN(c)
            {
                const VEC v_i = load_vector(v[c], i);
                add_lanes(&by_u[c], v_i, u_i);
                if (pair) add_lanes(&by_w[c], v_i, w_i);
            }
        }
        FOR_TAIL_SUMMED(i, n)
        {
            EACH_COLUMN(c)
            {
                ADD_PRODUCT(by_u[c].sum, v[c][i], u[i]);
                if (pair) ADD_PRODUCT(by_w[c].sum, v[c][i], w[i]);
            }
        }
        UNROLLED for (int first_sum = 0; first_sum < width * COLUMNS; first_sum += AT_ONCE)
        {
            UNROLLED for (int s = 0; s < AT_ONCE; s++)
            {
                const int c = (first_sum + s) / width;
                lane[s * WG + get_local_id(0)] = whole((first_sum + s) % width ? &by_w[c] : &by_u[c]);
            }
            add_up(j * width + first_sum, k * width, lane, part);
        }
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
