// gram.cl - X'Y of two blocks of few columns and many rows: the sums of all pairs of columns. Host: src/vector/gram.c.
// Blocks are stored column by column, x_pitch and y_pitch numbers apart; X has `width` columns, Y `across`. Partial sums
// and the result stand row by row: entry (i, j) behind i * across + j others.

#include "common/kry.clh"
#include "common/piece.clh"

// A group takes a tile of X'Y, TILE entries along either side, for its share of the rows. Groups side by side take the
// tiles of one share, so that rows come from memory once.
#define TILE 4 // as src/vector/gram.c has it
#define EACH_OF_TILE(a) UNROLLED for (int a = 0; a < TILE; a++)
#define FOR_LANES(i, n) for (int i = get_local_id(0); i < (n); i += WG)

typedef struct block {
    global const REAL *numbers;
    long pitch;
    int columns;
} block;

// sum[a][b] += x_a y_b for piece i of columns i_tile + a of X and j_tile + b of Y; those behind the last one count for nothing.
INLINED void add_products(long i, const int whole, int i_tile, int j_tile, const block *X, const block *Y,
                          piece_sum (*sum)[TILE])
{
    VEC x_row[TILE], y_row[TILE];
    EACH_OF_TILE(a) x_row[a] = load_piece(X->numbers + min(i_tile + a, X->columns - 1) * X->pitch, i, whole);
    EACH_OF_TILE(b) y_row[b] = load_piece(Y->numbers + min(j_tile + b, Y->columns - 1) * Y->pitch, i, whole);
    EACH_OF_TILE(a) EACH_OF_TILE(b) add_product(&sum[a][b], x_row[a], y_row[b], whole);
}

// part[share]: X'Y of a share of the rows; nothing if there is a `go` whose number go_at is 0. 2 words for each column.
kernel void gram_part(long n, int width, int across, global const ACC *restrict go, int go_at, global const REAL *restrict X,
                      long x0, long x_pitch, global const REAL *restrict Y, long y0, long y_pitch, global TOTAL *restrict part)
{
    local TOTAL lane[TILE * WG];
    const int down = (width + TILE - 1) / TILE, right = (across + TILE - 1) / TILE, tiles = down * right;
    const int l = get_local_id(0), tile = get_group_id(0) % tiles, share = get_group_id(0) / tiles;
    const int shares = get_num_groups(0) / tiles, i_tile = tile / right * TILE, j_tile = tile % right * TILE;
    const block of_x = { X + x0, x_pitch, width }, of_y = { Y + y0, y_pitch, across };
    piece_sum sum[TILE][TILE];

    if (go && go[go_at] == 0) return; // all work-items of a group alike
    EACH_OF_TILE(a) EACH_OF_TILE(b) begin_sum(&sum[a][b]);
#ifdef KRY_CPU
    const long vectors = n / VW, end = vectors * (share + 1) / shares;
    for (long i = vectors * share / shares; i < end; i++) add_products(i, 1, i_tile, j_tile, &of_x, &of_y, sum);
    for (long i = share + 1 < shares ? n : vectors * VW; i < n; i++) add_products(i, 0, i_tile, j_tile, &of_x, &of_y, sum);
#else
    for (long i = (long)share * WG + l; i < n; i += (long)shares * WG) add_products(i, 0, i_tile, j_tile, &of_x, &of_y, sum);
#endif
    part += (long)share * width * across;
    EACH_OF_TILE(a)
    {
        BARRIER();
        EACH_OF_TILE(b) lane[b * WG + l] = whole_sum(&sum[a][b]);
        for (int step = WG / 2; step > 0; step /= 2) {
            BARRIER();
            if (l < step) {
                EACH_OF_TILE(b) ADD_TOTAL(lane[b * WG + l], lane[b * WG + l + step]);
            }
        }
        BARRIER();
        FOR_LANES(b, TILE)
        {
            if (i_tile + a < width && j_tile + b < across) part[(i_tile + a) * across + j_tile + b] = lane[b * WG];
        }
    }
}

// The sum of entry number `entry` of `entries` over all shares, for every work-item of the group.
INLINED TOTAL gram_sum(int shares, int entries, int entry, global const TOTAL *restrict part, local TOTAL *lane)
{
    TOTAL sum = NO_TOTAL;
    for (int s = get_local_id(0); s < shares; s += WG) ADD_TOTAL(sum, part[(long)s * entries + entry]);
    return group_sum(sum, lane);
}

// total[entry] := the sum of what all shares left. One group for each entry.
kernel void gram_total(int shares, global const TOTAL *restrict part, global TOTAL *restrict total)
{
    local TOTAL lane[WG];
    const TOTAL sum = gram_sum(shares, get_num_groups(0), get_group_id(0), part, lane);
    if (get_local_id(0) == 0) total[get_group_id(0)] = sum;
}

// C := alpha X'Y + beta C, column major, ld numbers from column to column; with beta == 0, C is not read. One group for each entry.
kernel void gram_store(int shares, long across, global const TOTAL *restrict part, ACC alpha, ACC beta, global REAL *C, long c0,
                       long ld)
{
    local TOTAL lane[WG];
    const int entry = get_group_id(0);
    const ACC sum = alpha * VALUE_OF(gram_sum(shares, get_num_groups(0), entry, part, lane));
    if (get_local_id(0) != 0) return;
    global REAL *c = C + c0 + entry % across * ld + entry / across;
    *c = (REAL)(beta == 0 ? sum : sum + beta * *c);
}
