/* split.h - which rows of a problem lie on which part. */
#ifndef KRY_SPLIT_H
#define KRY_SPLIT_H

#include "device/layout.h"
#include "sparse/csr.h"

/* All vectors and operators of n rows on a team share one split, so that they fit each other. */
typedef struct kryi_split kryi_split;
typedef struct kryi_boxes kryi_boxes; /* boxes.h */
struct kryi_split {
    int refs;               /* protected by the lock of split.c */
    struct kryi_team *team; /* borrowed: who holds a split also holds the team's device */
    kryi_split *next;
    int64_t n;
    int members;    /* parts that have rows: the first ones */
    int64_t *first; /* members + 1: part i has places first[i] ... first[i + 1] - 1 */
    int begin, end; /* parts begin ... end - 1 are in this process */
    uint64_t mark;  /* a hash of n and first */
    int32_t *row;   /* n: the row at each place; NULL: row i is at place i, or `boxes` say where */
    kryi_boxes *boxes; /* owned: of a grid that is not cut along its last axis alone; else NULL */
    /* For reproducible sums, else 0: rows are cut into units, and each unit into chunks of `chunk`
     * rows, the last of which may be shorter. Parts have whole units. */
    int64_t unit, chunk;
    int64_t most_chunks; /* the largest number of chunks on a part */
};

/* The units and chunks in which n rows are summed, independent of the number of parts. Units are
 * multiples of `multiple` rows. */
void kryi_split_chunks(int64_t n, int64_t multiple, int64_t *unit, int64_t *chunk);
/* How many chunks n rows have that begin with a unit. */
int64_t kryi_split_count_chunks(int64_t n, int64_t unit, int64_t chunk);

kryi_split *kryi_split_retain(kryi_split *split);
void kryi_split_release(kryi_split **split);

static inline int64_t kryi_split_rows(const kryi_split *s, int rank)
{
    return s->first[rank + 1] - s->first[rank];
}

/* The row at a place; and the place of a row, where those of METIS are not known. */
int64_t kryi_split_row(const kryi_split *s, int64_t place);
int64_t kryi_split_place(const kryi_split *s, int64_t row);
/* Row i is not at place i. */
static inline bool kryi_split_permutes(const kryi_split *s) { return s->row || s->boxes; }

/* The split that the team has for n rows, else a new one: a block of rows for each part, in proportion to
 * its speed. Retained.
 *   A         a matrix of n rows, whose entries are shared out as well, or its graph cut by METIS if
 *             the team asks for that; NULL: rows alone count
 *   multiple  blocks begin at multiples of it
 * Returns  KRY_ERR_SHAPE if the existing split does not begin at such multiples (it belongs to
 *          vectors that were made before the operator); KRY_ERR_ARGUMENT if every part shall get
 *          rows and there are fewer rows than parts. */
kry_status kryi_split_get(struct kryi_team *team, const char *who, int64_t n, const kryi_csr *A,
                          int64_t multiple, kryi_split **split);

/* For boxes.c: a split without rows, to be filled in; the list takes it over, with the units and chunks in which its
 * rows are summed; and how many parts are to have rows of a matrix, or of a grid. */
kry_status kryi_split_new(struct kryi_team *team, int64_t n, int members, kryi_split **split);
void kryi_split_keep(kryi_split **mine, int64_t unit, int64_t chunk, kryi_split **split);
int kryi_split_members(const struct kryi_team *team, bool grid, int64_t n);
void kryi_boxes_release(kryi_boxes **boxes); /* boxes.c */

/* The split that the team has for n rows, retained; NULL: none yet. */
kryi_split *kryi_split_find(const struct kryi_team *team, int64_t n);

/* For ranks, collective: that of rows of which this rank brings so many, from `first` on.
 * Returns  KRY_ERR_ARGUMENT for a gap between two ranks' rows; KRY_ERR_SHAPE if there is another one for as many
 *          rows. */
kry_status kryi_split_by_ranks(struct kryi_team *team, const char *who, int64_t first, int64_t rows,
                               kryi_split **split);

/* Complete numbers of all rows, each of `size` bytes, of which those of the parts in this process are there, at their
 * places. Collective; nothing to do where all parts are in one process. And put them into the order of rows. */
kry_status kryi_split_complete(const kryi_split *s, size_t size, void *all);
kry_status kryi_split_all_rows(const kryi_split *s, size_t size, void *all);

/* Copy the numbers of part `rank`, each of `size` bytes, out of an array of all rows (to_part), or into
 * one. */
void kryi_split_copy(const kryi_split *s, int rank, size_t size, void *all, void *mine,
                     bool to_part);

/* During a run, not collective: the number in the whole of row i here. */
int64_t kryi_layout_row(const kryi_layout *layout, int64_t i);

#endif
