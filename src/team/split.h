/*
 * split.h - which rows of a problem lie on which part.
 */
#ifndef KRY_SPLIT_H
#define KRY_SPLIT_H

#include "device/layout.h"
#include "sparse/sparse.h"

/* Vectors and operators of n rows share one split, so that they fit each other. */
typedef struct kry_split kry_split;
struct kry_split {
    int refs;              /* under the lock of split.c */
    struct kry_team *team; /* borrowed: those that hold a split hold its device */
    kry_split *next;
    int64_t n;
    int members;    /* parts that have rows: the first ones */
    int64_t *first; /* members + 1: part i has places first[i] ... first[i + 1] - 1 */
    int32_t *row;   /* n: the row at each place; NULL: row i is at place i */
    /* Reproducible sums, else 0: every `unit` rows begin with a chunk of `chunk` rows, the last one of
     * a unit may be shorter. Parts have whole units. */
    int64_t unit, chunk;
    int64_t most_chunks; /* of a part */
};

/* The chunks that n rows are summed in, whatever the number of parts; units are multiples of
 * `multiple` rows. */
void kry_split_chunks(int64_t n, int64_t multiple, int64_t *unit, int64_t *chunk);
/* How many n rows from the beginning of a unit have. */
int64_t kry_split_count_chunks(int64_t n, int64_t unit, int64_t chunk);

kry_split *kry_split_retain(kry_split *split);
void kry_split_release(kry_split **split);

static inline int64_t kry_split_rows(const kry_split *s, int rank)
{
    return s->first[rank + 1] - s->first[rank];
}

static inline int64_t kry_split_row(const kry_split *s, int64_t place)
{
    return s->row ? s->row[place] : place;
}

/* The split of n rows that is in use on the team, or NULL. Retained. */
kry_split *kry_split_find(const struct kry_team *team, int64_t n);

/* The one that is in use, else a new one: rows in blocks, in proportion to the parts' speeds.
 *   multiple  blocks begin at multiples of it
 *   row_ptr   host; rows weigh what they hold; NULL: all the same
 * Returns  KRY_ERR_SHAPE if the one in use has blocks that begin elsewhere (they belong to vectors
 *          made before: the operator has to come first); KRY_ERR_ARGUMENT for fewer rows than
 *          parts where all are to be used. */
kry_status kry_split_blocks(struct kry_team *team, const char *who, int64_t n,
                            const int64_t *row_ptr, int64_t multiple, kry_split **split);

/* The same for a matrix, by METIS where the team asks for that and no split is in use. */
kry_status kry_split_matrix(struct kry_team *team, const char *who, const kry_sparse *A,
                            kry_split **split);

/* `to` := the numbers of part `rank`, of `from` in the order of rows, or the other way. size: of a
 * number in bytes. */
void kry_split_scatter(const kry_split *s, int rank, const void *from, size_t size, void *to);
void kry_split_gather(const kry_split *s, int rank, const void *from, size_t size, void *to);

/* Not collective: what row i of the rows here is called in the whole, during a run; and where a row of
 * the whole is among the n here, -1: it is on another part. */
int64_t kry_layout_row(const kry_layout *layout, int64_t i);
int64_t kry_layout_find_row(const kry_layout *layout, int64_t n, int64_t row);

#endif
