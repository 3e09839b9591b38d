/* matrix_cut.h - a stored matrix that is cut into the rows of the parts of a team, while they are made. */
#ifndef KRY_MATRIX_CUT_H
#define KRY_MATRIX_CUT_H

#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"

/* Which numbers of the whole matrix are a part's own and far ones. Ranks do not keep this: see kry_rank_numbers. */
typedef struct kry_matrix_piece {
    int64_t own_nnz, far_nnz;
    int64_t *own, *far;
} kry_matrix_piece;

typedef struct kry_matrix_whole {
    kry_sparse
        host; /* all rows and columns; or those of one rank, with kry_rank_rows' columns, until its part is made */
    kry_rank_rows rank;
    kry_entry_map map;
    int64_t nnz;
    kry_matrix_params params;
    kry_split *split;        /* retained */
    struct kry_team *team;   /* borrowed */
    int32_t *place;          /* of each row, NULL: its number */
    kry_matrix_piece *piece; /* split->members */
} kry_matrix_whole;

static inline bool kry_whole_of_rank(const kry_matrix_whole *W) { return W->rank.wanted != NULL; }

/* user: a kry_matrix_whole. The part of a rank takes its host's arrays. */
kry_make_part kry_matrix_cut;

#endif
