/* split.c - cutting the rows of a problem into blocks, one for each part of a team. */
#include "team/split.h"
#include "sparse/entries.h"
#include "sparse/partition.h"
#include "team/boxes.h"
#include "team/ranks.h"
#include "team/team.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Protects reference counts and lists of splits, because any thread may release a vector. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

kryi_split *kryi_split_retain(kryi_split *split)
{
    pthread_mutex_lock(&lock);
    split->refs++;
    pthread_mutex_unlock(&lock);
    return split;
}

/* Drop a reference. Returns whether it was the last one: then the split is no longer in its team's
 * list. */
static bool let_go(kryi_split *s)
{
    pthread_mutex_lock(&lock);
    bool last = --s->refs == 0;
    for (kryi_split **at = &s->team->splits; last && *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    return last;
}

void kryi_split_release(kryi_split **split)
{
    kryi_split *s = *split;
    *split = NULL;
    if (!s || !let_go(s)) return;
    kryi_boxes_release(&s->boxes);
    free(s->first);
    free(s->row);
    free(s);
}

kryi_split *kryi_split_find(const struct kryi_team *team, int64_t n)
{
    kryi_split *s;

    pthread_mutex_lock(&lock);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has been taken out by let_go */
    for (s = team->splits; s && s->n != n; s = s->next) continue;
    if (s) s->refs++;
    pthread_mutex_unlock(&lock);
    return s;
}

/* The number of parts with which an iteration of conjugate gradients takes least time. More parts
 * have more bandwidth but need two sums and an exchange, which take as long as five sums on two
 * H200s. A larger number must save a fifth of the time. */
static int worthwhile(const struct kryi_team *team, double bytes)
{
    enum { WAITS = 5 };
    const double gain = 0.8;
    int best = 1;
    double speed = team->share[0], shortest = bytes / speed;

    for (int m = 2; m <= team->size; m++) {
        speed += team->share[m - 1];
        double seconds = bytes / speed + WAITS * team->sum_seconds;
        if (seconds < gain * shortest) best = m, shortest = seconds;
    }
    return best;
}

/* Bytes of a number; and the numbers that an iteration moves per row besides the matrix, and on a
 * grid. */
enum { WORD = 8, CG_WORDS = 10, GRID_WORDS = 7 };

int kryi_split_members(const struct kryi_team *team, bool grid, int64_t n)
{
    const double words = grid ? GRID_WORDS : CG_WORDS;
    return team->use_all ? team->size : worthwhile(team, WORD * words * (double)n);
}

/* How many parts get rows: no more than there are blocks. layers: each is to have one, at least. */
static kry_status choose_members(const struct kryi_team *team, const char *who, int64_t blocks,
                                 bool layers, double bytes, int *members)
{
    kry_status st = KRY_OK;

    *members = team->use_all ? team->size : worthwhile(team, bytes);
    if (team->ranks && !layers) return KRY_OK; /* some may have none */
    CHECK(!team->use_all || blocks >= team->size, KRY_ERR_ARGUMENT,
          "%s: %lld rows or layers%s cannot be split over %d %s", who, (long long)blocks,
          team->reproducible ? " (chunks of them, in reproducible mode)" : "", team->size,
          team->ranks ? "ranks" : "devices");
    if (*members > blocks) *members = blocks > 0 ? (int)blocks : 1;
done:
    return st;
}

kry_status kryi_split_new(struct kryi_team *team, int64_t n, int members, kryi_split **split)
{
    kry_status st = KRY_OK;
    kryi_split *s = NULL;

    TRY(kryi_alloc(1, sizeof *s, &s));
    *s = (kryi_split){ .refs = 1, .team = team, .n = n, .members = members, .end = members };
    if (team->ranks) s->begin = team->ranks->t.rank, s->end = s->begin + 1;
    TRY(kryi_alloc((size_t)members + 1, sizeof *s->first, &s->first));
    *split = s;
    s = NULL;
done:
    free(s);
    return st;
}

void kryi_split_keep(kryi_split **mine, int64_t unit, int64_t chunk, kryi_split **split)
{
    kryi_split *s = *mine;

    s->unit = unit, s->chunk = chunk;
    for (int r = 0; unit && r < s->members; r++) {
        int64_t count = kryi_split_count_chunks(kryi_split_rows(s, r), unit, chunk);
        if (count > s->most_chunks) s->most_chunks = count;
    }
    s->mark = kryi_hash(KRY_HASH_START, s->first, ((size_t)s->members + 1) * sizeof *s->first);
    if (s->boxes) s->mark = kryi_hash(s->mark, s->boxes->parts, sizeof s->boxes->parts);
    pthread_mutex_lock(&lock);
    s->next = s->team->splits;
    s->team->splits = s;
    pthread_mutex_unlock(&lock);
    *split = s;
    *mine = NULL;
}

static bool begins_at_multiples(const kryi_split *s, int64_t multiple)
{
    for (int i = 0; i < s->members; i++)
        if (s->first[i] % multiple) return false;
    return !kryi_split_permutes(s) || multiple == 1;
}

/* ---- chunks of rows, for reproducible sums --------------------------------------------------- */

/* Chunks are few, because the host reads them after every sum, but enough to keep four GPUs
 * busy. */
static int64_t chunk_for(int64_t n)
{
    enum { FEW = 64, SMALL = 512, MOST = 2048 };
    int64_t chunk = 1;
    while (n > FEW * chunk && chunk < SMALL) chunk *= 2;
    while (n > MOST * chunk) chunk *= 2;
    return chunk;
}

void kryi_split_chunks(int64_t n, int64_t multiple, int64_t *unit, int64_t *chunk)
{
    int64_t wanted = chunk_for(n), layers = wanted / multiple;

    *unit = layers > 1 ? layers * multiple : multiple;
    int64_t pieces = (*unit + wanted - 1) / wanted;
    *chunk = (*unit + pieces - 1) / pieces;
}

int64_t kryi_split_count_chunks(int64_t n, int64_t unit, int64_t chunk)
{
    int64_t in_unit = (unit + chunk - 1) / chunk, rest = n % unit;
    return n / unit * in_unit + (rest + chunk - 1) / chunk;
}

/* ---- splits ---------------------------------------------------------------------------------- */

/* Let METIS choose the rows of the parts. */
static kry_status split_by_graph(const kryi_csr *A, kryi_split *s)
{
    kry_status st = KRY_OK;
    int32_t *part = NULL;

    TRY(kryi_alloc((size_t)A->rows, sizeof *part, &part));
    TRY(kryi_alloc((size_t)A->rows, sizeof *s->row, &s->row));
    TRY(kryi_partition_by_graph(A, s->members, s->team->share, part));
    kryi_partition_order(A->rows, s->members, part, s->first, s->row);
done:
    free(part);
    return st;
}

kry_status kryi_split_get(struct kryi_team *team, const char *who, int64_t n, const kryi_csr *A,
                          int64_t multiple, kryi_split **split)
{
    kry_status st = KRY_OK;
    kryi_split *s = NULL, *old = kryi_split_find(team, n);
    int members;
    double bytes = (double)WORD * (multiple > 1 ? GRID_WORDS : CG_WORDS) * (double)n;
    int64_t unit = 0, chunk = 0;

    *split = NULL;
    if (old) {
        CHECK(begins_at_multiples(old, multiple), KRY_ERR_SHAPE,
              "%s: vectors of %lld rows that were made before are split elsewhere than between the "
              "grid's layers: make the operator first",
              who, (long long)n);
        return *split = old, KRY_OK;
    }
    if (A) bytes += 1.5 * WORD * (double)kryi_csr_nnz(A);
    const bool layers = multiple > 1;
    if (team->reproducible) {
        kryi_split_chunks(n, multiple, &unit, &chunk);
        multiple = unit;
    }
    const int64_t blocks = (n + multiple - 1) / multiple;
    TRY(choose_members(team, who, blocks, layers, bytes, &members));
    TRY(kryi_split_new(team, n, members, &s));
    if (n > 0 && A && team->by_graph)
        TRY(split_by_graph(A, s));
    else if (n > 0)
        TRY(kryi_partition_by_rows(n, A ? A->row_ptr : NULL,
                                   members > blocks ? (int)blocks : members, team->share, multiple,
                                   s->first));
    for (int64_t r = blocks; r < members; r++) s->first[r + 1] = n;
    kryi_split_keep(&s, unit, chunk, split);
done:
    if (st < 0) kryi_split_release(&old);
    kryi_split_release(&s);
    return st;
}

/* ---- rows that ranks bring ------------------------------------------------------------------- */

/* first[r]: where the rows of rank r begin, with no gap between them. */
static kry_status gather_rows(struct kryi_team *team, const char *who, const int64_t mine[2],
                              int64_t *first)
{
    kry_status st = KRY_OK;
    int64_t *all = NULL;

    TRY(kryi_alloc((size_t)team->size, sizeof(int64_t[2]), &all));
    TRY(kryi_ranks_gather(team->ranks, mine, sizeof(int64_t[2]), all));
    for (int r = 0; r < team->size; r++) {
        CHECK(all[2 * r] == first[r], KRY_ERR_ARGUMENT,
              "%s: the rows of rank %d begin at %lld, and those of the ranks before end at %lld",
              who, r, (long long)all[2 * r], (long long)first[r]);
        first[r + 1] = first[r] + all[2 * r + 1];
    }
done:
    free(all);
    return st;
}

/* In reproducible sums no chunk of rows may lie on two ranks. */
static kry_status check_units(const kryi_split *s, const char *who, int64_t unit)
{
    kry_status st = KRY_OK;

    for (int r = 1; unit && r < s->members; r++)
        CHECK(s->first[r] % unit == 0 || s->first[r] == s->n, KRY_ERR_ARGUMENT,
              "%s: for reproducible sums of %lld rows, those of a rank begin at multiples of %lld, "
              "and those of rank %d begin at %lld",
              who, (long long)s->n, (long long)unit, r, (long long)s->first[r]);
done:
    return st;
}

kry_status kryi_split_by_ranks(struct kryi_team *team, const char *who, int64_t first, int64_t rows,
                               kryi_split **split)
{
    kry_status st = KRY_OK;
    kryi_split *s = NULL, *old = NULL;
    int64_t unit = 0, chunk = 0;

    *split = NULL;
    TRY(kryi_split_new(team, 0, team->size, &s));
    TRY(gather_rows(team, who, (int64_t[]){ first, rows }, s->first));
    s->n = s->first[team->size];
    if (team->reproducible) kryi_split_chunks(s->n, 1, &unit, &chunk);
    TRY(check_units(s, who, unit));
    old = kryi_split_find(team, s->n);
    if (!old) {
        kryi_split_keep(&s, unit, chunk, split);
    } else {
        CHECK(!old->boxes &&
                  !memcmp(old->first, s->first, ((size_t)s->members + 1) * sizeof *s->first),
              KRY_ERR_SHAPE,
              "%s: vectors or operators of %lld rows that were made before are cut elsewhere", who,
              (long long)s->n);
        *split = old, old = NULL;
    }
done:
    if (old) kryi_split_release(&old);
    if (s) free(s->first);
    free(s);
    return st;
}

/* ---- before there is a team ------------------------------------------------------------------ */

kry_status kry_team_volume(int64_t n, const int64_t *row_ptr, const int32_t *col, int parts,
                           bool by_graph, kry_part_volume *volume)
{
    kry_status st = KRY_OK;
    int32_t *part = NULL;
    int64_t *first = NULL;
    const int64_t nnz = row_ptr && n > 0 ? row_ptr[n] : 0;
    const kryi_csr A = {
        .rows = n, .cols = n, .row_ptr = (int64_t *)row_ptr, .col = (int32_t *)col
    };

    TRY(GIVEN(volume));
    CHECK(n >= 0 && n <= INT32_MAX, KRY_ERR_ARGUMENT, "kry_team_volume: %lld rows", (long long)n);
    CHECK(row_ptr && (col || !nnz), KRY_ERR_ARGUMENT, "kry_team_volume: NULL");
    TRY(kryi_entries_check(&(kryi_entries){ "kry_team_volume", A, NULL, nnz }));
    CHECK(parts >= 1, KRY_ERR_ARGUMENT, "kry_team_volume: %d parts", parts);
    TRY(kryi_alloc((size_t)n, sizeof *part, &part));
    TRY(kryi_alloc((size_t)parts + 1, sizeof *first, &first));
    if (by_graph) {
        TRY(kryi_partition_by_graph(&A, parts, NULL, part));
    } else {
        TRY(kryi_partition_by_rows(n, row_ptr, parts, NULL, 1, first));
        for (int p = 0; p < parts; p++)
            for (int64_t i = first[p]; i < first[p + 1]; i++) part[i] = p;
    }
    TRY(kryi_partition_volume(&A, parts, part, volume));
done:
    free(first);
    free(part);
    return st;
}
