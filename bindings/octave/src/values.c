/*
 * values.c - the table of values, and handles: 16 bits of a mark, 24 of a generation, 24 of a
 * place.
 *
 * 0 is the handle of nothing, of objects that were loaded. One of a value that is gone is
 * recognised by its generation, one of an earlier life of this file, or out of a saved workspace,
 * by the same, as generations start at a time-dependent number.
 */
#include "kry_mex.h"
#include <stdlib.h>
#include <time.h>

enum { MARK = 0x6b72, PLACE_BITS = 24, GENERATION_MASK = 0xffffff };

static value *table;
static int32_t *vacant; /* places to be used again, the last one first */
static int32_t used, vacant_count, room;
static uint32_t next_generation;

static kry_status grow(void)
{
    kry_status st = KRY_OK;
    int32_t more = room ? 2 * room : 256;

    CHECK(more <= 1 << PLACE_BITS, KRY_ERR_MEMORY, "kry_mex: more than %d matrices", room);
    value *t = realloc(table, (size_t)more * sizeof *t);
    CHECK(t, KRY_ERR_MEMORY, "kry_mex: no memory for %d handles", more);
    table = t;
    int32_t *v = realloc(vacant, (size_t)more * sizeof *v);
    CHECK(v, KRY_ERR_MEMORY, "kry_mex: no memory for %d handles", more);
    vacant = v;
    room = more;
done:
    return st;
}

bool is_handle(const mxArray *a)
{
    return mxGetClassID(a) == mxUINT64_CLASS && mxGetNumberOfElements(a) == 1 &&
           (*(const uint64_t *)mxGetData(a) >> 48 == MARK || !*(const uint64_t *)mxGetData(a));
}

static value *find(const mxArray *handle)
{
    if (!is_handle(handle)) return NULL;
    uint64_t code = *(const uint64_t *)mxGetData(handle);
    if (!code) return NULL;
    int32_t place = (int32_t)(code & ((1u << PLACE_BITS) - 1));
    uint32_t generation = (uint32_t)(code >> PLACE_BITS) & GENERATION_MASK;
    if (place >= used || !table[place].live || table[place].generation != generation) return NULL;
    return &table[place];
}

kry_status value_find(const mxArray *handle, value **v)
{
    *v = find(handle);
    if (*v) return KRY_OK;
    return fail_as("kry:handle", KRY_ERR_ARGUMENT,
                   "gpuMatrix: its numbers are no longer on the device: another device was chosen, "
                   "or this is one that was saved: gather before saving");
}

kry_status value_keep(const shape *shape, kry_task **task, mxArray **handle)
{
    kry_status st = KRY_OK;

    if (!vacant_count && used == room) TRY(grow());
    if (!next_generation) next_generation = (uint32_t)time(NULL) * 2654435761u;
    int32_t place = vacant_count ? vacant[--vacant_count] : used++;
    uint32_t generation = ++next_generation & GENERATION_MASK;
    table[place] =
        (value){ .shape = *shape, .task = *task, .generation = generation, .live = true };
    *task = NULL;
    *handle = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
    *(uint64_t *)mxGetData(*handle) =
        (uint64_t)MARK << 48 | (uint64_t)generation << PLACE_BITS | (uint64_t)place;
done:
    return st;
}

int value_count(void) { return (int)(used - vacant_count); }

void values_clear(void)
{
    for (int32_t i = 0; i < used; i++)
        if (table[i].live) kry_task_release(&table[i].task);
    free(table);
    free(vacant);
    table = NULL;
    vacant = NULL;
    used = vacant_count = room = 0;
}

/* kry_mex ('free', h): never an error, for it runs where Octave cleans up. */
kry_status command_free(call *c)
{
    value *v = c->in_count == 1 ? find(c->in[0]) : NULL;

    if (!v) return KRY_OK;
    kry_task_release(&v->task);
    v->live = false;
    vacant[vacant_count++] = (int32_t)(v - table);
    return KRY_OK;
}

/* kry_mex ('live'): how many values there are */
kry_status command_live(call *c)
{
    c->out[0] = mxCreateDoubleScalar(value_count());
    return KRY_OK;
}

/* [rows columns nnz sparse single symmetric tridiagonal positive_diagonal kind] */
kry_status command_info(call *c)
{
    kry_status st = KRY_OK;
    value *v;

    TRY(take_count(c, 1, 1));
    TRY(value_find(c->in[0], &v));
    const shape *s = &v->shape;
    const double numbers[] = { (double)s->rows,   (double)s->cols,      (double)s->nnz,
                               s->kind == SPARSE, s->type == KRY_F32,   s->symmetric,
                               s->tridiagonal,    s->positive_diagonal, s->kind };
    c->out[0] = mxCreateDoubleMatrix(1, COUNT(numbers), mxREAL);
    for (size_t i = 0; i < COUNT(numbers); i++) mxGetPr(c->out[0])[i] = numbers[i];
done:
    return st;
}

/* kry_mex ('state', h): "waiting", "ready", "running", "done", "failed" or "cancelled" */
kry_status command_state(call *c)
{
    static const char *const words[] = { "waiting", "ready",  "running",
                                         "done",    "failed", "cancelled" };
    kry_status st = KRY_OK;
    value *v;

    TRY(take_count(c, 1, 1));
    TRY(value_find(c->in[0], &v));
    c->out[0] = mxCreateString(words[kry_task_state(v->task)]);
done:
    return st;
}
