/*
 * laplace_march.c - stream and block: the box with its sides in one array, sweeps that march along
 * z. Kernels: cl/laplace_march.cl, cl/laplace_block.cl.
 *
 * Storage   two arrays of (pitch) x (ny + 2) x (nz + 2) numbers; block on CPUs: rings, see below
 * Per sweep stream: 1 + 1 words for a point; block: that in T sweeps, and what tiles share
 *
 * Sweeps that block does not make T at a time are stream's.
 */
#include "device/tuning.h"
#include "grid/laplace.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct march {
    cl_int pitch;   /* numbers from row to row */
    cl_int left;    /* numbers in a row before its point 0 */
    cl_long first;  /* number of point (0, 0, 0) */
    int64_t groups; /* of stream: how many, of what size, and how far they march */
    int group;
    cl_int depth;
    /* block; sweeps == 0: not asked for */
    kry_kernel *block;
    int sweeps, block_group;
    int64_t block_groups;
    cl_int block_depth, block_rows;
    cl_mem ring;
    cl_long ring_size; /* numbers for each group */
} march;

static int64_t shares(int64_t n, int64_t share)
{
    assert(share >= 1);
    return (n + share - 1) / share;
}

static void march_destroy(kry_laplace *L)
{
    march *m = L->extra;
    if (m) kry_buffer_release(L->dev, &m->ring);
}

/* ---- the array ---------------------------------------------------------------------------- */

/* Rows and their points begin at lines of the cache: 128 bytes on GPUs, 64 on CPUs. Behind the
 * last vector of a row there is room for the side. */
static void lay_out(const kry_laplace *L, march *m)
{
    int line = (L->dev->info.cpu_kernels ? 64 : 128) / (int)kry_type_size(L->type);
    int vector = kry_vector_width(L->dev, L->type);
    int64_t row = line + shares(L->size[0], vector) * vector + 1;

    m->left = line;
    m->pitch = (cl_int)(shares(row, line) * line);
    m->first = line + m->pitch * (1 + ((int64_t)L->size[1] + 2));
}

static kry_status create_arrays(kry_laplace *L, march *m, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    kry_kernel *sides;
    int64_t total, entries = kry_laplace_face_width(L) * kry_laplace_face_rows(L);

    lay_out(L, m);
    total = (int64_t)m->pitch * (L->size[1] + 2) * (L->size[2] + 2);
    TRY(kry_laplace_faces_buffer(L, params));
    TRY(kry_kernel_get(L->dev, "laplace", L->type, "", "laplace_change", &L->kernel_change));
    TRY(kry_kernel_get(L->dev, "laplace_march", L->type, "-DTX=1 -DTY=1", "laplace_sides", &sides));
    for (int i = 0; i < 2; i++) {
        TRY(kry_vec_create(L->dev, L->type, total, 1, &L->w[i]));
        const kry_arg args[] = { ARG(L->size[0]),     ARG(L->size[1]), ARG(L->size[2]),
                                 ARG(m->pitch),       ARG(m->first),   ARG(L->faces),
                                 ARG(L->w[i]->buffer) };
        TRY(kry_launch(L->dev, sides, kry_groups_for(L->dev, L->type, entries), args, COUNT(args)));
    }
    kry_buffer_release(L->dev, &L->faces); /* the arrays have them now */
done:
    return st;
}

static kry_status march_transfer(const kry_laplace *L, void *host, bool write)
{
    const march *m = L->extra;
    size_t number = kry_type_size(L->type), row = (size_t)m->pitch * number;
    size_t slab = row * ((size_t)L->size[1] + 2), host_row = (size_t)L->size[0] * number;
    const size_t from[3] = { (size_t)m->left * number, 1, 1 }, corner[3] = { 0 };
    const size_t region[3] = { host_row, (size_t)L->size[1], (size_t)L->size[2] };
    cl_mem w = L->w[L->now]->buffer;
    cl_int err = write ? clEnqueueWriteBufferRect(L->dev->queue, w, CL_TRUE, from, corner, region,
                                                  row, slab, host_row, 0, host, 0, NULL, NULL)
                       : clEnqueueReadBufferRect(L->dev->queue, w, CL_TRUE, from, corner, region,
                                                 row, slab, host_row, 0, host, 0, NULL, NULL);

    return kry_cl_check(err, "kry_laplace", "clEnqueue*BufferRect");
}

/* ---- stream ------------------------------------------------------------------------------- */

/* What was found to suit a device is kept as
 *     laplace-stream-single  group=128 x=32 depth=16
 *     laplace-block-single   sweeps=3 x=64 y=32 rows=4 buffers=2 depth=84 registers=168 cols=4
 *                            unroll=6
 * in one line each. */
static bool tuned(const kry_laplace *L, const char *what, char *value, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "laplace-%s-%s", what, kry_type_name(L->type));
    return kry_tuning_get(L->dev, name, value, size);
}

/* Three slices of so many rows stay in the cache that a core has for itself. Each of the few groups
 * walks far, for it must bring in two slices before it writes the first number. */
static void suit_cpu(const kry_laplace *L, march *m)
{
    enum { CACHE_BYTES = 192 << 10, LEAST_ROWS = 8 };
    int64_t rows = CACHE_BYTES / (3 * (int64_t)kry_type_size(L->type) * m->pitch);

    m->group = 1;
    m->depth = (cl_int)(rows > LEAST_ROWS ? rows : LEAST_ROWS);
    if (m->depth > L->size[1]) m->depth = L->size[1];
}

/* Groups of 32 x 4 work-items with 16 bytes each: of three numbers that a tile reads along y one
 * and a half are in L1 already, and a group that ends soon makes room for the next. Half as deep
 * marches would read a quarter more slices from L2. */
static kry_status get_stream(kry_laplace *L, march *m)
{
    kry_status st = KRY_OK;
    int vector = kry_vector_width(L->dev, L->type), across = 32;
    int64_t vectors = shares(L->size[0], vector);
    char text[96], defines[64];

    m->group = 128, m->depth = 16;
    if (tuned(L, "stream", text, sizeof text))
        sscanf(text, "group=%d x=%d depth=%d", &m->group, &across, &m->depth);
    if (L->dev->info.cpu_kernels) suit_cpu(L, m), across = 1;
    while (m->group > L->dev->info.max_group) m->group /= 2;
    if (vectors <= 4 && across > 4) across = 4; /* not more kernels than two */
    while (across > m->group) across /= 2;
    m->groups = shares(vectors, across) * shares(L->size[1], m->group / across) *
                shares(L->size[2], m->depth);
    if (m->groups > 65535) m->groups = 65535;
    if (L->dev->info.cpu_kernels) m->groups = 4 * L->dev->info.compute_units;
    snprintf(defines, sizeof defines, "-DTX=%d -DTY=%d", across, m->group / across);
    snprintf(L->variant, sizeof L->variant, "%s",
             L->dev->info.cpu_kernels ? "rows by vectors" : "a queue in registers along z");
    TRY(kry_kernel_get(L->dev, "laplace_march", L->type, defines, "laplace_stream",
                       &L->kernel_sweep));
done:
    return st;
}

static kry_status stream_pass(kry_laplace *L)
{
    const march *m = L->extra;
    const kry_arg args[] = {
        ARG(L->size[0]), ARG(L->size[1]), ARG(L->size[2]),           ARG(m->pitch),
        ARG(m->first),   ARG(m->depth),   ARG(L->w[L->now]->buffer), ARG(L->w[!L->now]->buffer)
    };
    L->now = !L->now;
    return kry_launch_size(L->dev, L->kernel_sweep, m->groups, m->group, args, COUNT(args));
}

/* ---- block -------------------------------------------------------------------------------- */

typedef struct tile {
    int sweeps, x, y, cols, rows, buffers; /* T, TX, TY, C, R, BUFFERS */
    int registers;                         /* of a work-item, at most; 0: as the compiler likes */
    int unroll; /* slices; 2 T let numbers stay in their registers on the way through the sweeps */
} tile;

/* The first that fits is taken: larger tiles compute less twice, and larger patches of C x R
 * numbers to a work-item pass fewer of them on through local memory. */
static const tile single_tiles[] = { { 3, 64, 32, 4, 2, 1, 128, 1 },
                                     { 3, 32, 32, 2, 4, 2, 128, 3 },
                                     { 2, 32, 32, 4, 2, 1, 0, 1 },
                                     { 2, 32, 16, 4, 2, 1, 0, 1 },
                                     { 2, 16, 8, 2, 2, 1, 0, 1 } };
static const tile double_tiles[] = { { 3, 32, 32, 2, 2, 1, 128, 1 },
                                     { 2, 32, 32, 2, 4, 1, 0, 1 },
                                     { 2, 32, 16, 2, 4, 1, 0, 1 },
                                     { 2, 16, 16, 2, 2, 1, 0, 1 },
                                     { 2, 16, 8, 2, 2, 1, 0, 1 } };

static int items_of(const tile *t) { return t->x * t->y / (t->cols * t->rows); }

/* Columns that a tile makes its own: what it shares with its neighbours is whole patches wide. */
static int inner_x(const tile *t) { return t->x - 2 * (int)shares(t->sweeps, t->cols) * t->cols; }
static int inner_y(const tile *t) { return t->y - 2 * t->sweeps; }

/* As in the kernel: the borders of all patches, with an odd count for a patch. */
static int64_t local_bytes(const kry_laplace *L, const tile *t)
{
    int border = t->rows == 1 ? t->cols : 2 * t->cols + 2 * (t->rows - 2);
    int64_t slice = (int64_t)(border | 1) * (t->x / t->cols) * (t->y / t->rows);
    return t->buffers * t->sweeps * slice * (int64_t)kry_type_size(L->type);
}

/* `spare` bytes of local memory are left for arguments, which old devices keep there. */
static bool tile_fits(const kry_laplace *L, const tile *t)
{
    enum { SPARE_BELOW = 32768, SPARE = 512, MOST_SWEEPS = 8, MOST_ROWS = 16, LONGEST = 1024 };
    int64_t room = L->dev->info.local_bytes;
    if (room < SPARE_BELOW) room -= SPARE;
    return t->sweeps >= 1 && t->sweeps <= MOST_SWEEPS && t->x <= LONGEST && t->y <= LONGEST &&
           (t->cols == 2 || t->cols == 4) && t->rows >= 1 && t->rows <= MOST_ROWS &&
           (t->buffers == 1 || t->buffers == 2) && t->unroll >= 1 && t->unroll <= 2 * MOST_SWEEPS &&
           t->x % t->cols == 0 && t->y % t->rows == 0 && inner_x(t) > 0 && inner_y(t) > 0 &&
           local_bytes(L, t) <= room && items_of(t) <= L->dev->info.max_group;
}

/* The compiler's option, for compilers that know it. */
static void limit_registers(const kry_laplace *L, int registers, char *option, size_t size)
{
    char extensions[16384] = "";

    *option = 0;
    if (registers <= 0 || clGetDeviceInfo(L->dev->id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1,
                                          extensions, NULL) != CL_SUCCESS)
        return;
    if (strstr(extensions, "cl_nv_compiler_options"))
        snprintf(option, size, " -cl-nv-maxrregcount=%d", registers);
}

/* The kernel for a tile; *fits: its registers allow groups of that size. */
static kry_status get_tile(kry_laplace *L, march *m, const tile *t, bool *fits)
{
    kry_status st = KRY_OK;
    kry_status refused;
    char defines[192], limit[40];

    limit_registers(L, t->registers, limit, sizeof limit);
    snprintf(defines, sizeof defines,
             "-DT=%d -DTX=%d -DTY=%d -DC=%d -DR=%d -DBUFFERS=%d -DUNROLL=%d%s", t->sweeps, t->x,
             t->y, t->cols, t->rows, t->buffers, t->unroll, limit);
    TRY(kry_kernel_get(L->dev, "laplace_block", L->type, defines, "laplace_block", &m->block));
    refused = kry_kernel_check_size(L->dev, m->block, items_of(t));
    if (refused != KRY_ERR_UNSUPPORTED) TRY(refused);
    *fits = refused == KRY_OK;
    if (!*fits) goto done;
    m->sweeps = t->sweeps;
    m->block_group = items_of(t);
    snprintf(L->variant, sizeof L->variant, "%d sweeps in a pass, tiles of %d x %d", t->sweeps,
             t->x, t->y);
done:
    return st;
}

/* Slices in a march: enough groups for every multiprocessor to have eight, but not so few slices
 * that the sweeps of its two ends count. A march and its ends are whole rounds of the loop. */
static void cut_marches(const kry_laplace *L, march *m, const tile *t, int depth)
{
    int64_t columns = shares(L->size[0], inner_x(t)) * shares(L->size[1], inner_y(t));
    int64_t marches = shares(8 * (int64_t)L->dev->info.compute_units, columns);
    int64_t slices = depth > 0 ? depth : shares(L->size[2], marches), ends = 2 * t->sweeps;

    if (slices < 4 * ends && depth <= 0) slices = 4 * ends;
    if (depth <= 0) slices = shares(slices + ends, t->unroll) * t->unroll - ends;
    m->block_depth = (cl_int)slices;
    m->block_groups = columns * shares(L->size[2], slices);
    if (m->block_groups > 65535) m->block_groups = 65535;
}

/* Lines of before there were cols and unroll are still good. */
static bool parse_tile(const char *text, tile *t, int *depth)
{
    t->cols = 2, t->unroll = 1;
    return sscanf(text,
                  "sweeps=%d x=%d y=%d rows=%d buffers=%d depth=%d registers=%d cols=%d unroll=%d",
                  &t->sweeps, &t->x, &t->y, &t->rows, &t->buffers, depth, &t->registers, &t->cols,
                  &t->unroll) >= 5;
}

static kry_status get_block_gpu(kry_laplace *L, march *m)
{
    kry_status st = KRY_OK;
    const tile *tiles = L->type == KRY_F32 ? single_tiles : double_tiles;
    tile given = { 0 };
    bool fits = false;
    int depth = 0;
    char text[160];

    if (tuned(L, "block", text, sizeof text) && parse_tile(text, &given, &depth) &&
        tile_fits(L, &given))
        TRY(get_tile(L, m, &given, &fits));
    for (size_t i = 0; i < COUNT(single_tiles) && !fits; i++) {
        given = tiles[i];
        if (tile_fits(L, &given)) TRY(get_tile(L, m, &given, &fits));
    }
    CHECK(fits, KRY_ERR_UNSUPPORTED,
          "block: no tile fits '%s', groups of %d and %lld bytes of local memory; use stream",
          L->dev->info.name, L->dev->info.max_group, (long long)L->dev->info.local_bytes);
    cut_marches(L, m, &given, depth);
done:
    return st;
}

/* Rings of 256 KiB stay in the cache that a core has for itself. Two groups for each core even out
 * what cores do besides. */
static kry_status get_block_cpu(kry_laplace *L, march *m)
{
    enum { SWEEPS = 4, RING_BYTES = 256 << 10, LEAST_ROWS = 8 };
    kry_status st = KRY_OK;
    const int slices = 3 * (SWEEPS - 1), units = L->dev->info.compute_units;
    int64_t rows = RING_BYTES / ((int64_t)kry_type_size(L->type) * m->pitch * slices) - 2 * SWEEPS;
    char defines[64];

    if (rows < LEAST_ROWS) rows = LEAST_ROWS;
    if (rows > L->size[1]) rows = L->size[1];
    int64_t marches = shares(2 * units, shares(L->size[1], rows));
    m->sweeps = SWEEPS;
    m->block_group = 1;
    m->block_rows = (cl_int)rows;
    m->block_depth = (cl_int)shares(L->size[2], marches);
    m->block_groups = shares(L->size[1], rows) * shares(L->size[2], m->block_depth);
    if (m->block_groups > 2 * units) m->block_groups = 2 * units;
    m->ring_size = m->pitch * (rows + 2 * SWEEPS) * slices;
    TRY(kry_buffer_create(L->dev, (size_t)(m->ring_size * m->block_groups) * kry_type_size(L->type),
                          &m->ring));
    snprintf(defines, sizeof defines, "-DT=%d -DPAD=%d", SWEEPS, m->left);
    TRY(kry_kernel_get(L->dev, "laplace_block", L->type, defines, "laplace_block", &m->block));
    snprintf(L->variant, sizeof L->variant, "%d sweeps in a pass, %lld rows at a time", SWEEPS,
             (long long)rows);
done:
    return st;
}

static kry_status block_pass(kry_laplace *L)
{
    const march *m = L->extra;
    const kry_arg args[] = { ARG(L->size[0]),
                             ARG(L->size[1]),
                             ARG(L->size[2]),
                             ARG(m->pitch),
                             ARG(m->first),
                             ARG(m->block_depth),
                             ARG(m->block_rows),
                             ARG(L->w[L->now]->buffer),
                             ARG(L->w[!L->now]->buffer),
                             ARG(m->ring),
                             ARG(m->ring_size) };
    L->now = !L->now;
    return kry_launch_size(L->dev, m->block, m->block_groups, m->block_group, args,
                           m->ring ? COUNT(args) : COUNT(args) - 2);
}

/* ---- both --------------------------------------------------------------------------------- */

static kry_status march_build(kry_laplace *L, const kry_laplace_params *params)
{
    kry_status st = KRY_OK;
    march *m;

    TRY(kry_alloc(1, sizeof *m, &m));
    L->extra = m;
    TRY(create_arrays(L, m, params));
    TRY(get_stream(L, m));
    if (L->kernel != KRY_LAPLACE_BLOCK) goto done;
    TRY(L->dev->info.cpu_kernels ? get_block_cpu(L, m) : get_block_gpu(L, m));
    L->bytes_per_sweep /= m->sweeps;
    L->launches_per_sweep = 1.0 / m->sweeps;
done:
    return st;
}

static kry_status march_sweep(kry_laplace *L, int64_t steps)
{
    kry_status st = KRY_OK;
    const march *m = L->extra;

    for (; m->sweeps && steps >= m->sweeps; steps -= m->sweeps) TRY(block_pass(L));
    for (; steps > 0; steps--) TRY(stream_pass(L));
done:
    return st;
}

const kry_laplace_table kry_laplace_march = { .build = march_build,
                                              .sweep = march_sweep,
                                              .change = kry_laplace_change_of_vectors,
                                              .transfer = march_transfer,
                                              .destroy = march_destroy };
