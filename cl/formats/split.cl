// split.cl - rows too long for one group: add up what the groups that share them have left.
// Host: src/matrix/stage.c. The sums come from csr.cl and coo.cl.
//
// `split` has three numbers for each of the `work` rows: the row, and from which to below which
// place its sums lie in `partial`.

#include "common/kry.clh"

#define FORMAT split
#define ADDS
#define MATRIX        int work, global const int *restrict split, global const SUM *restrict partial
#define MATRIX_LOCALS local TOTAL split_lane[WG];
#define MATRIX_ROWS(GET, DO)                                                      \
    for (int s = get_group_id(0); s < work; s += get_num_groups(0)) {             \
        int row = split[3 * s], end = split[3 * s + 2];                           \
        TOTAL total = NO_TOTAL;                                                   \
        int b = split[3 * s + 1] + (int)get_local_id(0);                          \
        for (; b + 3 * WG < end; b += 4 * WG)                                     \
            ADD(total, ((ACC)partial[b] + (ACC)partial[b + WG]) +                 \
                           ((ACC)partial[b + 2 * WG] + (ACC)partial[b + 3 * WG])); \
        for (; b < end; b += WG) ADD(total, partial[b]);                          \
        SUM sum = (SUM)VALUE_OF(group_sum(total, split_lane));                    \
        if (get_local_id(0) == 0) { DO(row, sum) }                                \
    }

#include "formats/product.clh"
