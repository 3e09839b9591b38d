/*
 * share_components.c - the connected components of a matrix of which each rank has some rows.
 *
 * Every row hangs from a row that is not above it, its parent; a row that is its own parent is the first of its
 * component so far. Two rows that an entry connects are united by walking down from the higher one of both to a row
 * without a parent below it. Where the walk comes to a row of another rank, that rank goes on with it in the next round.
 * In every round rows ask for the parents of their parents, too, so that walks become short.
 *
 * Source  Rem's union-find with splicing: E. W. Dijkstra, A Discipline of Programming (1976), chapter 23;
 *         M. M. A. Patwary, J. Blair, F. Manne, SEA 2010, doi:10.1007/978-3-642-13193-6_35
 */
#include "io/share.h"
#include "team/team.h"
#include <stdlib.h>
#include <string.h>

enum { LEFT_OUT = -1 }; /* below all rows: the parent of those whose components get no number */

typedef struct components {
    const kry_share *A;
    const bool *left_out;
    kry_device *dev;
    int64_t *first;  /* of the rows of each rank, and where they end */
    int64_t *parent; /* of each row here */
    int64_t *number; /* of each row here: its parent's parent, in the end its component */
    kryi_stretch
        requests; /* (row, col): another rank's row is to be united with one not above it */
    double more;  /* > 0: of some rank; the parents are not the first rows yet */
    int64_t count;
} components;

static bool is_here(const components *C, int64_t row)
{
    return row >= C->A->first && row < C->A->first + C->A->rows;
}

static int64_t *parent_of(const components *C, int64_t row)
{
    return &C->parent[row - C->A->first];
}

/* Makes at most one request, for which there is room. */
static void unite(components *C, int64_t a, int64_t b)
{
    while (a != b) {
        const int64_t high = a > b ? a : b, low = a > b ? b : a;
        if (!is_here(C, high)) {
            C->requests.entry[C->requests.count++] = (mtx_entry){ high, low, 0 };
            return;
        }
        const int64_t p = *parent_of(C, high);
        if (low < p) *parent_of(C, high) = low;
        if (p == high) return;
        a = p, b = low; /* these are one component as well */
    }
}

/* Unite what entries connect: within the rows here, or with those of others. */
static void unite_entries(components *C, bool with_others)
{
    const kry_share *A = C->A;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->val[e] != 0 && is_here(C, A->col[e]) != with_others)
                unite(C, A->first + i, A->col[e]);
}

static kry_status begin(components *C)
{
    kry_status st = KRY_OK;
    const kry_share *A = C->A;
    int64_t others = 0;

    for (int64_t i = 0; i < A->rows; i++)
        C->parent[i] = C->left_out && C->left_out[i] ? LEFT_OUT : A->first + i;
    for (int64_t e = 0; e < A->row_ptr[A->rows]; e++) others += !is_here(C, A->col[e]);
    TRY(kryi_alloc((size_t)others, sizeof *C->requests.entry, &C->requests.entry));
    unite_entries(C, false);
    unite_entries(C, true);
done:
    return st;
}

/* Hand requests to the ranks that have their rows, which go on with them. */
static kry_status go_on(components *C, kryi_layout *layout)
{
    kry_status st = KRY_OK;
    mtx_entry *own = NULL;
    int64_t count;

    TRY(kryi_stretch_send(&C->requests, layout, C->first, &own, &count));
    TRY(kryi_alloc((size_t)count, sizeof *own, &C->requests.entry));
    for (int64_t k = 0; k < count; k++) unite(C, own[k].row, own[k].col);
done:
    free(own);
    return st;
}

/* The parent's parent, or the parent if it is elsewhere. */
static int64_t above(const components *C, int64_t i)
{
    return is_here(C, C->parent[i]) ? *parent_of(C, C->parent[i]) : C->parent[i];
}

static bool is_elsewhere(const components *C, int64_t row)
{
    return row != LEFT_OUT && !is_here(C, row);
}

/* to[i] := `number` of the parent of row i as its rank has it, for rows with a parent elsewhere. */
static kry_status ask(components *C, kryi_layout *layout, int64_t *to, bool *changed)
{
    kry_status st = KRY_OK;
    const kry_share *A = C->A;
    kryi_stretch questions = { 0 }, answers = { 0 };
    mtx_entry *own = NULL;
    int64_t count = 0;

    *changed = false;
    for (int64_t i = 0; i < A->rows; i++) count += is_elsewhere(C, C->parent[i]);
    TRY(kryi_alloc((size_t)count, sizeof *own, &questions.entry));
    for (int64_t i = 0; i < A->rows; i++)
        if (is_elsewhere(C, C->parent[i]))
            questions.entry[questions.count++] = (mtx_entry){ C->parent[i], A->first + i, 0 };
    TRY(kryi_stretch_send(&questions, layout, C->first, &answers.entry, &answers.count));
    for (int64_t k = 0; k < answers.count; k++) {
        mtx_entry *e = &answers.entry[k];
        *e = (mtx_entry){ e->col, C->number[e->row - A->first], 0 };
    }
    TRY(kryi_stretch_send(&answers, layout, C->first, &own, &count));
    for (int64_t k = 0; k < count; k++) {
        int64_t *at = &to[own[k].row - A->first];
        *changed = *changed || *at != own[k].col;
        *at = own[k].col;
    }
done:
    free(own);
    kryi_stretch_release(&answers);
    kryi_stretch_release(&questions);
    return st;
}

/* ---- what all ranks do at once ----------------------------------------------------------------- */

static kryi_layout *layout_of(components *C, int rank)
{
    return kry_team_is_ranks(C->dev) ? &C->dev->team->part[rank]->layout : &C->dev->layout;
}

static kry_status run(components *C, kryi_task_of_part *task)
{
    return kry_team_is_ranks(C->dev) ? kryi_team_run(C->dev->team, NULL, task, C) : task(C, 0);
}

static kry_status begin_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    components *C = user;
    kryi_layout *layout = layout_of(C, rank);
    const size_t size = (size_t)kryi_layout_size(layout);

    TRY(kryi_alloc(size + 1, sizeof *C->first, &C->first));
    TRY(kryi_layout_gather(layout, &C->A->first, sizeof C->A->first, C->first));
    C->first[size] = C->A->n;
    TRY(begin(C));
done:
    return st;
}

static kry_status round_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    components *C = user;
    kryi_layout *layout = layout_of(C, rank);
    bool changed;

    TRY(go_on(C, layout));
    /* Let rows here hang from one whose parent is itself, or elsewhere; number := that parent. Parents come first. */
    for (int64_t i = 0; i < C->A->rows; i++) {
        if (is_here(C, above(C, i))) C->parent[i] = above(C, i);
        C->number[i] = above(C, i);
    }
    TRY(ask(C, layout, C->parent, &changed));
    C->more = changed || C->requests.count > 0;
    TRY(kryi_layout_combine(layout, KRY_MAX, &C->more, 1));
done:
    return st;
}

/* The first rows of components get numbers, and then the others theirs. */
static kry_status number_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    components *C = user;
    kryi_layout *layout = layout_of(C, rank);
    const kry_share *A = C->A;
    int64_t here = 0, next;
    bool changed;

    for (int64_t i = 0; i < A->rows; i++) here += C->parent[i] == A->first + i;
    TRY(kryi_layout_rows(layout, here, &next, &C->count));
    for (int64_t i = 0; i < A->rows; i++)
        C->number[i] = C->parent[i] == A->first + i ? next++ : LEFT_OUT;
    TRY(ask(C, layout, C->number, &changed));
    for (int64_t i = 0; i < A->rows; i++)
        if (is_here(C, C->parent[i])) C->number[i] = C->number[C->parent[i] - A->first];
done:
    return st;
}

kry_status kry_share_components(kry_device *device, const kry_share *share, const bool *left_out,
                                int64_t *component, int64_t *count)
{
    kry_status st = KRY_OK;
    components C = { .A = share, .left_out = left_out, .dev = device, .number = component };

    kryi_team_enter(device, "kry_share_components", NULL);
    TRY(GIVEN(device, share, component, count));
    TRY(kryi_alloc((size_t)share->rows, sizeof *C.parent, &C.parent));
    TRY(run(&C, begin_task));
    do TRY(run(&C, round_task));
    while (C.more > 0);
    TRY(run(&C, number_task));
done:
    free(C.parent);
    free(C.first);
    kryi_stretch_release(&C.requests);
    st = kryi_team_leave(device, st);
    if (count) *count = st < 0 ? 0 : C.count;
    return st;
}
