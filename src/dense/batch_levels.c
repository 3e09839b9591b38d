/*
 * batch_levels.c - tridiagonal systems without pivoting. Kernels: cl/dense/tridiagonal.cl (GPUs),
 * cl/dense/tridiagonal_packs.cl (CPUs), cl/dense/tridiagonal_close.cl.
 *
 * A system that is too long for one work-group is cut into tiles. Each tile is reduced to two equations, for
 * its first and its last unknown. These equations form tridiagonal systems again, which are solved in the
 * same way, one level up. Then the unknowns on both sides of every tile are known, and each tile is solved
 * as a system by itself.
 *
 * Words moved per unknown: 5 without tiles; with tiles 9, and 10 for each tile of each system.
 */
#include "dense/batch.h"
#include <assert.h>
#include <string.h>

enum {
    MAX_LEVELS = 40,
    MOST_GROUPS = 65535,
    CPU_LANES = 256,    /* tiles that keep all cores busy */
    CPU_SHORT = 128,    /* equations of the shortest tile that is made for that */
    CPU_TILE = 4096,    /* equations of the longest tile: its factors stay in the cache */
    CPU_LONG = 1 << 15, /* longer systems are cut into such tiles even if there are many systems */
    CPU_WIDE = 8,       /* packs solved together: WIDE of cl/dense/tridiagonal_packs.cl */
    SEGMENT_BYTES = 64  /* of a row of interleaved systems: what a GPU reads at once */
};

/* One level: systems of n equations, cut into tiles. */
typedef struct level {
    int64_t n, tiles;
    batch_array lower, diagonal, upper, b, x;
    int64_t m_row, m_system, row, system; /* as in batch */
    cl_int check;                         /* as in cl/dense/tridiagonal.clh */
    cl_int S, T;                          /* GPUs: systems to a group, work-items to a system */
} level;

typedef struct levels {
    const batch *B;
    kry_device *dev;
    level level[MAX_LEVELS];
    int count;
    cl_int periodic, by_system;
    int group, chunk;    /* GPUs: work-items of a group, equations to each */
    int64_t cpu_groups;  /* CPUs: work-groups */
    int64_t wide;        /* CPUs, interleaved systems: groups of CPU_WIDE packs */
    cl_mem work;         /* scratch storage; borrowed from the device */
    int64_t words;       /* of it */
    int64_t cpu_factors; /* where in it the factors of CPUs begin */
    int64_t copy_at;     /* where in it the copy of b begins */
    kryi_kernel *solve, *reduce, *close;
} levels;

/* ---- how systems are cut --------------------------------------------------------------- */

static int64_t cut_on_cpu(int64_t n, int64_t systems)
{
    int64_t tiles = 1;
    if (systems < CPU_LANES) tiles = kryi_pieces_of(CPU_LANES, systems);
    if (tiles > n / CPU_SHORT) tiles = n / CPU_SHORT;
    if ((tiles > 1 || n > CPU_LONG) && tiles < kryi_pieces_of(n, CPU_TILE))
        tiles = kryi_pieces_of(n, CPU_TILE);
    return tiles > 1 ? tiles : 1;
}

static int floor_power(int64_t v)
{
    int p = 1;
    while (2 * (int64_t)p <= v) p *= 2;
    return p;
}

/* A group takes so many interleaved systems that it reads segments of SEGMENT_BYTES. */
static void cut_on_gpu(const levels *L, level *l)
{
    int together = 1;
    if (L->by_system) {
        together = SEGMENT_BYTES / (int)kry_type_size(L->B->type);
        while (together > L->group || together / 2 >= L->B->systems) together /= 2;
    }
    int64_t most = (int64_t)(L->group / together) * L->chunk;
    assert(most >= 1);
    l->tiles = kryi_pieces_of(l->n, most);
    l->T = (cl_int)kryi_pieces_of(kryi_pieces_of(l->n, l->tiles), L->chunk);
    int64_t room = L->group / l->T;
    if (room > L->B->systems) room = L->B->systems;
    l->S = (cl_int)room;
    if (L->by_system) { /* a power of two, which divides the group */
        l->S = floor_power(L->group / l->T);
        while (l->S / 2 >= L->B->systems) l->S /= 2;
    }
}

/* The level above, in scratch storage: the reduced systems of level l. */
static level above(levels *L, const level *l)
{
    level up = { .n = 2 * l->tiles, .check = l->check > 0 };
    int64_t size = up.n * L->B->systems;
    batch_array *array[] = { &up.lower, &up.diagonal, &up.upper, &up.b, &up.x };
    for (size_t i = 0; i < COUNT(array); i++) array[i]->first = L->words + (int64_t)i * size;
    L->words += 5 * size;
    up.m_row = up.row = L->by_system ? L->B->systems : 1;
    up.m_system = up.system = L->by_system ? 1 : up.n;
    return up;
}

/* Fill in all levels, and how much scratch storage they need. */
static void plan(levels *L)
{
    const batch *B = L->B;
    const batch_array *d = B->diagonal;
    cl_int check = B->params.unchecked ? 0 : B->params.pivoting == KRY_SYSTEMS_PIVOT_NEVER ? 1 : 2;
    level l = { .n = B->n,
                .lower = d[0],
                .diagonal = d[1],
                .upper = d[2],
                .b = B->b,
                .x = B->x,
                .m_row = B->m_row,
                .m_system = B->m_system,
                .row = B->row,
                .system = B->system,
                .check = check };
    L->periodic = B->periodic;
    L->by_system = B->systems > 1 && B->system < B->row;
    for (;;) {
        if (L->dev->info.cpu_kernels)
            l.tiles = cut_on_cpu(l.n, L->B->systems);
        else
            cut_on_gpu(L, &l);
        L->level[L->count++] = l;
        if (L->periodic ? l.n <= 2 : l.tiles == 1) break;
        l = above(L, &L->level[L->count - 1]);
    }
}

/* GPUs: the size of a group, which its local memory has to hold: M + 2 numbers for each work-item. */
static void shape(levels *L)
{
    const kry_device_info *info = &L->dev->info;
    int64_t size = (int64_t)kry_type_size(L->B->type);
    /* 16 rows in registers are faster than 8 only for kernels with VECTORS in single precision. */
    bool beside = L->B->row == 1 && L->B->m_row == 1 && L->B->n <= 2048 && L->B->n % 4 == 0;
    if (!L->chunk)
        L->chunk = L->B->params.chunk                     ? L->B->params.chunk
                   : size == 4 && beside && L->B->n > 128 ? 16
                                                          : 8;
    L->group = L->chunk == 16 ? 128 : 256;
    while (L->group > info->max_group ||
           L->group * ((L->chunk + 2) * size + (int64_t)sizeof(cl_int)) + 512 > info->local_bytes)
        L->group /= 2;
}

/* Whether the condition of VECTORS in cl/dense/tridiagonal.cl holds. */
static bool takes_vectors(const levels *L)
{
    const level *l = &L->level[0];
    const int64_t places[] = { l->n,           l->m_system,       l->system,
                               l->lower.first, l->diagonal.first, l->upper.first,
                               l->b.first,     l->x.first };
    bool fit = L->count == 1 && l->row == 1 && l->m_row == 1 && !L->by_system;
    for (size_t i = 0; i < COUNT(places); i++) fit = fit && places[i] % 4 == 0;
    return fit;
}

static kry_status get_kernels(levels *L)
{
    kry_status st = KRY_OK;
    kry_type type = L->B->type;
    bool packs = L->dev->info.cpu_kernels;
    const char *stem = packs ? "tridiagonal_packs" : "tridiagonal";
    char defines[60] = "";
    if (!packs)
        snprintf(defines, sizeof defines, "-DGROUP=%d -DM=%d%s", L->group, L->chunk,
                 takes_vectors(L) ? " -DVECTORS" : "");
    TRY(kryi_kernel_get(L->dev, stem, type, defines, "tridiagonal_solve", &L->solve));
    if (L->count > 1)
        TRY(kryi_kernel_get(L->dev, stem, type, defines, "tridiagonal_reduce", &L->reduce));
    if (L->periodic)
        TRY(kryi_kernel_get(L->dev, "tridiagonal_close", type, "", "tridiagonal_close", &L->close));
done:
    return st;
}

/* Shape groups, cut the systems, get the kernels. A work-item keeps its chunk in registers: where these do not
 * suffice, one that is half as long. */
static kry_status prepare(levels *L)
{
    enum { SHORTEST = 8 }; /* with 4 the errors of weak systems are 30 times LAPACK's */
    kry_status st = KRY_OK;

    if (!L->dev->info.cpu_kernels) shape(L);
    plan(L);
    TRY(get_kernels(L));
    while (L->chunk > SHORTEST && !L->B->params.chunk && kryi_kernel_spills(L->dev, L->solve)) {
        L->chunk /= 2, L->count = 0, L->words = 0;
        shape(L);
        plan(L);
        TRY(get_kernels(L));
    }
done:
    return st;
}

/* Numbers from the first to the last of b: a copy of b has the same strides. */
static int64_t b_span(const batch *B)
{
    return (B->n - 1) * B->row + (B->systems - 1) * B->system + 1;
}

/* Reserve scratch storage: for the levels above the first; for a copy of b, if x is written over b while
 * tiles still read it; on CPUs for the factors of the tiles that each group is solving. */
static kry_status reserve(levels *L)
{
    kry_status st = KRY_OK;
    const batch *B = L->B;
    int width = kryi_vector_width(L->dev, B->type);
    int64_t longest = 0;

    L->copy_at = L->words;
    if (B->in_place && L->count > 1) L->words += b_span(B);
    L->cpu_factors = L->words;
    if (L->dev->info.cpu_kernels) {
        L->wide = L->by_system ? B->systems / (CPU_WIDE * width) : 0;
        for (int i = 0; i < L->count; i++) {
            int64_t rows = kryi_pieces_of(L->level[i].n, L->level[i].tiles);
            if (rows > longest) longest = rows;
        }
        L->cpu_groups = 4 * (int64_t)L->dev->info.compute_units;
        L->words += L->cpu_groups * 2 * longest * width * (L->wide ? CPU_WIDE : 1);
    }
    TRY(kryi_room_reserve(L->dev, (size_t)L->words * kry_type_size(B->type), &L->work));
    for (int i = 1; i < L->count; i++) {
        level *l = &L->level[i];
        l->lower.buffer = l->diagonal.buffer = l->upper.buffer = L->work;
        l->b.buffer = l->x.buffer = L->work;
    }
done:
    return st;
}

/* ---- launches -------------------------------------------------------------------------- */

/* Write the arguments for SYSTEMS_PARAMS of cl/dense/tridiagonal.clh, and return how many they are. */
static size_t systems_args(const levels *L, const level *l, kry_arg args[KRY_MAX_ARGS])
{
    const batch_marks *marks = L->B->marks;
    const kry_arg all[] = { ARG(l->n),          ARG(L->B->systems),    ARG(l->tiles),
                            ARG_VEC(&l->lower), ARG_VEC(&l->diagonal), ARG_VEC(&l->upper),
                            ARG(l->m_row),      ARG(l->m_system),      ARG_VEC(&l->b),
                            ARG(l->row),        ARG(l->system),        ARG(L->periodic),
                            ARG(l->check),      ARG(marks->found),     ARG(marks->room),
                            ARG(L->B->ticket) };
    memcpy(args, all, sizeof all);
    return COUNT(all);
}

/* Launch a kernel for all tiles of a level. Its arguments are SYSTEMS_PARAMS, `more` and, on GPUs,
 * SHAPE_PARAMS. */
static kry_status launch_tiles(const levels *L, const level *l, kryi_kernel *kernel,
                               const kry_arg *more, size_t more_count)
{
    kry_status st = KRY_OK;
    kry_arg args[KRY_MAX_ARGS];
    size_t count = systems_args(L, l, args);
    int64_t first = 0, blocks = l->tiles * kryi_pieces_of(L->B->systems, l->S ? l->S : 1);
    const kry_arg last[] = { ARG(l->S), ARG(l->T), ARG(L->by_system), ARG(first) };

    memcpy(args + count, more, more_count * sizeof *more);
    count += more_count;
    if (L->dev->info.cpu_kernels) {
        int64_t packs =
            kryi_pieces_of(l->tiles * L->B->systems, kryi_vector_width(L->dev, L->B->type));
        int64_t groups = packs < L->cpu_groups ? packs : L->cpu_groups;
        TRY(kryi_launch(L->dev, kernel, groups, args, count));
        return KRY_OK;
    }
    memcpy(args + count, last, sizeof last);
    count += COUNT(last);
    for (; first < blocks; first += MOST_GROUPS) {
        int64_t groups = blocks - first < MOST_GROUPS ? blocks - first : MOST_GROUPS;
        TRY(kryi_launch_range(L->dev, kernel, (kryi_range){ groups, .size = L->group }, args,
                              count));
    }
done:
    return st;
}

static kry_status run_reduce(const levels *L, const level *l, const level *up)
{
    int64_t size = up->n * L->B->systems;
    const kry_arg more[] = { ARG(L->work), ARG(up->lower.first), ARG(size), ARG(up->row),
                             ARG(up->system) };
    return launch_tiles(L, l, L->reduce, more, COUNT(more));
}

/* up: the level above, which has the unknowns on both sides of every tile; NULL: there is none */
static kry_status run_solve(const levels *L, const level *l, const level *up)
{
    cl_int bounded = up != NULL;
    batch_array ends = up ? up->x : l->b;
    int64_t e_row = up ? up->row : 0, e_system = up ? up->system : 0;
    int width = kryi_vector_width(L->dev, L->B->type);
    int64_t factors = 2 * kryi_pieces_of(l->n, l->tiles) * width * (L->wide ? CPU_WIDE : 1);
    const kry_arg more[] = { ARG_VEC(&l->x),      ARG(bounded),  ARG_VEC(&ends),
                             ARG(e_row),          ARG(e_system), ARG(L->work),
                             ARG(L->cpu_factors), ARG(factors),  ARG(L->wide) };
    return launch_tiles(L, l, L->solve, more,
                        COUNT(more) -
                            (L->dev->info.cpu_kernels ? 0 : 4)); /* GPUs keep no factors */
}

static kry_status run_close(const levels *L, const level *l)
{
    kry_arg args[KRY_MAX_ARGS];
    size_t count = systems_args(L, l, args);

    args[count++] = (kry_arg)ARG(l->x.buffer);
    args[count++] = (kry_arg)ARG(l->x.first);
    return kryi_launch(L->dev, L->close, kryi_groups_for(L->dev, L->B->type, L->B->systems), args,
                       count);
}

/* Copy b to scratch storage, and let the first level read it there. */
static kry_status copy_b(levels *L)
{
    const batch *B = L->B;
    kry_vec from = { .refs = 1,
                     .layout = &L->dev->layout,
                     .dev = L->dev,
                     .type = B->type,
                     .n = b_span(B),
                     .k = 1,
                     .first = B->b.first,
                     .buffer = B->b.buffer };
    kry_vec to = from;
    to.buffer = L->work, to.first = L->copy_at;
    L->level[0].b = (batch_array){ to.buffer, to.first };
    return kry_vec_copy(&from, &to);
}

static kry_status run_all(levels *L)
{
    kry_status st = KRY_OK;
    int top = L->count - 1;

    for (int i = 0; i < top; i++) TRY(run_reduce(L, &L->level[i], &L->level[i + 1]));
    if (L->periodic)
        TRY(run_close(L, &L->level[top]));
    else
        TRY(run_solve(L, &L->level[top], NULL));
    for (int i = top - 1; i >= 0; i--) TRY(run_solve(L, &L->level[i], &L->level[i + 1]));
done:
    return st;
}

kry_status kryi_batch_solve_levels(const batch *B)
{
    kry_status st = KRY_OK;
    levels L = { .B = B, .dev = B->dev };

    TRY(prepare(&L));
    TRY(reserve(&L));
    if (B->in_place && L.count > 1) TRY(copy_b(&L));
    TRY(run_all(&L));
done:
    return st;
}
