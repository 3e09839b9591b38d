/*
 * jacobi_march.c - stream and block: the box with its sides in one array, sweeps that march along
 * z. Kernels: cl/papers/akhtar_stream.cl, cl/papers/akhtar_block.cl.
 *
 * Storage   two arrays of (pitch) x (ny + 2) x (nz + 2) numbers; block on CPUs: rings, see below
 * Per sweep stream: 1 + 1 words for a point; block: that in T sweeps, and what tiles share
 *
 * Sweeps that block does not make T at a time are stream's.
 */
#include "../paper.h"
#include "jacobi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct march {
    cl_int pitch;  /* numbers from row to row */
    cl_int left;   /* numbers in a row before its point 0 */
    cl_long first; /* number of point (0, 0, 0) */
    cl_kernel pad, unpad;
    /* stream, which is J->step: its groups, their size, and how far they march */
    int64_t groups;
    int group;
    cl_int depth;
    /* block; sweeps == 0: not asked for */
    cl_kernel block;
    int sweeps, block_group;
    int64_t block_groups;
    cl_int block_depth, block_rows;
    kry_vec *ring;
    cl_long ring_size; /* numbers for each group */
} march;

static int64_t shares(int64_t n, int64_t share) { return (n + share - 1) / share; }

static bool on_cpu(const jacobi *J) { return kry_device_get_info(J->device)->cpu_kernels; }

/* VW of cl/common/kry.clh. */
static int vector_width(const jacobi *J)
{
    return on_cpu(J) ? 8 : 16 / (int)kry_type_size(J->type);
}

static void march_destroy(jacobi *J)
{
    march *m = J->extra;
    cl_kernel owned[] = { m->pad, m->unpad, m->block };
    for (size_t i = 0; i < COUNT(owned); i++)
        if (owned[i]) clReleaseKernel(owned[i]);
    kry_vec_release(&m->ring);
}

/* ---- the array ---------------------------------------------------------------------------- */

/* Rows and their points begin at lines of the cache: 128 bytes on GPUs, 64 on CPUs. Behind the
 * last vector of a row there is room for the side. */
static void lay_out(const jacobi *J, march *m)
{
    int line = (on_cpu(J) ? 64 : 128) / (int)kry_type_size(J->type);
    int vector = vector_width(J);
    int64_t row = line + shares(J->size[0], vector) * vector + 1;

    m->left = line;
    m->pitch = (cl_int)(shares(row, line) * line);
    m->first = line + m->pitch * (1 + ((int64_t)J->size[1] + 2));
}

/* The values on the sides at their places in the array `w` on the host. */
static void fill_sides(const jacobi *J, const march *m, const jacobi_box *box, void *w)
{
    const int64_t step[3] = { 1, m->pitch, m->pitch * ((int64_t)J->size[1] + 2) };

    for (int side = 0; side < SIDES; side++) {
        const double *v = box->side[side];
        int axis = side / 2, first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
        int64_t at = m->first + step[axis] * (side % 2 ? J->size[axis] : -1);
        for (int64_t q = 0; v && q < J->size[second]; q++)
            for (int64_t p = 0; p < J->size[first]; p++, v++) {
                int64_t place = at + p * step[first] + q * step[second];
                if (J->type == KRY_F32)
                    ((float *)w)[place] = (float)*v;
                else
                    ((double *)w)[place] = *v;
            }
    }
}

static kry_status create_arrays(jacobi *J, march *m, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    void *host = NULL;

    lay_out(J, m);
    int64_t total = (int64_t)m->pitch * (J->size[1] + 2) * (J->size[2] + 2);
    host = calloc((size_t)total, kry_type_size(J->type));
    CHECK(host, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    fill_sides(J, m, box, host);
    for (int i = 0; i < 2; i++) {
        TRY(kry_vec_create(J->device, J->type, total, 1, &J->w[i]));
        TRY(kry_vec_write(J->w[i], host));
    }
done:
    free(host);
    return st;
}

/* Between the array and a vector of points: `from` to `to`. */
static kry_status transfer(const jacobi *J, cl_kernel kernel, const kry_vec *from, kry_vec *to)
{
    const march *m = J->extra;
    cl_mem source = kry_vec_buffer(from, NULL), target = kry_vec_buffer(to, NULL);
    const kry_arg args[] = { KRY_ARG(J->size[0]), KRY_ARG(J->size[1]), KRY_ARG(J->size[2]),
                             KRY_ARG(m->pitch),   KRY_ARG(m->first),   KRY_ARG(source),
                             KRY_ARG(target) };
    return kry_device_launch(J->device, kernel, kry_device_groups(J->device, J->type, J->n), 0,
                             args, COUNT(args));
}

static kry_status march_get(const jacobi *J, int which, kry_vec *points)
{
    return transfer(J, ((march *)J->extra)->unpad, J->w[which], points);
}

static kry_status march_put(jacobi *J, const kry_vec *points)
{
    return transfer(J, ((march *)J->extra)->pad, points, J->w[J->now]);
}

/* ---- stream ------------------------------------------------------------------------------- */

/* Three slices of so many rows stay in the cache that a core has for itself. Each of the few groups
 * walks far, for it must bring in two slices before it writes the first number. */
static void suit_cpu(const jacobi *J, march *m)
{
    enum { CACHE_BYTES = 192 << 10, LEAST_ROWS = 8 };
    int64_t rows = CACHE_BYTES / (3 * (int64_t)kry_type_size(J->type) * m->pitch);

    m->group = 1;
    m->depth = (cl_int)(rows > LEAST_ROWS ? rows : LEAST_ROWS);
    if (m->depth > J->size[1]) m->depth = J->size[1];
    m->groups = 4 * (int64_t)kry_device_get_info(J->device)->compute_units;
}

/* Groups of 32 x 4 work-items with 16 bytes each: of three numbers that a tile reads along y one
 * and a half are in L1 already, and a group that ends soon makes room for the next. Half as deep
 * marches would read a quarter more slices from L2. Returns the work-items of a tile along x. */
static int suit_gpu(const jacobi *J, march *m)
{
    int64_t vectors = shares(J->size[0], vector_width(J));
    int across = vectors <= 4 ? 4 : 32;

    m->depth = 16;
    for (m->group = 128; m->group > kry_device_get_info(J->device)->max_group;) m->group /= 2;
    while (across > m->group) across /= 2;
    m->groups = shares(vectors, across) * shares(J->size[1], m->group / across) *
                shares(J->size[2], m->depth);
    if (m->groups > 65535) m->groups = 65535; /* the most that devices before Kepler take */
    return across;
}

static kry_status get_stream(jacobi *J, march *m)
{
    kry_status st = KRY_OK;
    int across = 1;
    char defines[64];

    if (on_cpu(J))
        suit_cpu(J, m);
    else
        across = suit_gpu(J, m);
    snprintf(defines, sizeof defines, "-DTX=%d -DTY=%d", across, m->group / across);
    snprintf(J->variant, sizeof J->variant, "%s",
             on_cpu(J) ? "rows by vectors" : "a queue in registers along z");
    TRY(jacobi_get_kernel(J, "akhtar_stream", defines, "akhtar_stream", &J->step));
    TRY(jacobi_get_kernel(J, "akhtar_stream", defines, "akhtar_pad", &m->pad));
    TRY(jacobi_get_kernel(J, "akhtar_stream", defines, "akhtar_unpad", &m->unpad));
done:
    return st;
}

static kry_status stream_pass(jacobi *J)
{
    const march *m = J->extra;
    cl_mem from = kry_vec_buffer(J->w[J->now], NULL), to = kry_vec_buffer(J->w[!J->now], NULL);
    const kry_arg args[] = { KRY_ARG(J->size[0]), KRY_ARG(J->size[1]), KRY_ARG(J->size[2]),
                             KRY_ARG(m->pitch),   KRY_ARG(m->first),   KRY_ARG(m->depth),
                             KRY_ARG(from),       KRY_ARG(to) };
    J->now = !J->now;
    return kry_device_launch(J->device, J->step, m->groups, m->group, args, COUNT(args));
}

/* ---- block -------------------------------------------------------------------------------- */

typedef struct tile {
    int sweeps, x, y, cols, rows; /* T, TX, TY, C, R */
    int registers;                /* of a work-item, at most; 0: as the compiler likes */
} tile;

/* The first that fits is taken: larger tiles compute less twice, and larger patches of C x R
 * numbers to a work-item pass fewer of them on through local memory. */
static const tile single_tiles[] = { { 3, 64, 32, 4, 2, 128 },
                                     { 2, 32, 32, 4, 2, 0 },
                                     { 2, 16, 8, 2, 2, 0 } },
                  double_tiles[] = { { 3, 32, 32, 2, 2, 128 },
                                     { 2, 32, 16, 2, 4, 0 },
                                     { 2, 16, 8, 2, 2, 0 } };

static int items_of(const tile *t) { return t->x * t->y / (t->cols * t->rows); }

/* Columns that a tile makes its own: what it shares with its neighbours is whole patches wide. */
static int inner_x(const tile *t) { return t->x - 2 * (int)shares(t->sweeps, t->cols) * t->cols; }
static int inner_y(const tile *t) { return t->y - 2 * t->sweeps; }

/* As in the kernel: the borders of all patches, with an odd count for a patch. `SPARE` bytes of
 * local memory are left for arguments, which old devices keep there. */
static bool tile_fits(const jacobi *J, const tile *t)
{
    enum { SPARE = 512 };
    const kry_device_info *info = kry_device_get_info(J->device);
    int border = 2 * t->cols + 2 * (t->rows - 2);
    int64_t slice = (int64_t)(border | 1) * (t->x / t->cols) * (t->y / t->rows);
    return items_of(t) <= info->max_group &&
           t->sweeps * slice * (int64_t)kry_type_size(J->type) + SPARE <= info->local_bytes;
}

/* The compiler's option, for compilers that know it. */
static const char *limit_registers(const jacobi *J, const tile *t)
{
    char extensions[16384] = "";

    if (!t->registers || clGetDeviceInfo(kry_device_id(J->device), CL_DEVICE_EXTENSIONS,
                                         sizeof extensions - 1, extensions, NULL) != CL_SUCCESS)
        return "";
    return strstr(extensions, "cl_nv_compiler_options") ? " -cl-nv-maxrregcount=128" : "";
}

/* Slices in a march: enough groups for every multiprocessor to have eight, but not so few slices
 * that the sweeps of its two ends count. */
static void cut_marches(const jacobi *J, march *m, const tile *t)
{
    int64_t columns = shares(J->size[0], inner_x(t)) * shares(J->size[1], inner_y(t));
    int64_t units = kry_device_get_info(J->device)->compute_units;
    int64_t slices = shares(J->size[2], shares(8 * units, columns));

    if (slices < 8 * t->sweeps) slices = 8 * t->sweeps;
    if (slices > J->size[2]) slices = J->size[2];
    m->block_depth = (cl_int)slices;
    m->block_groups = columns * shares(J->size[2], slices);
    if (m->block_groups > 65535) m->block_groups = 65535;
}

static kry_status get_block_gpu(jacobi *J, march *m)
{
    kry_status st = KRY_OK;
    const tile *tiles = J->type == KRY_F32 ? single_tiles : double_tiles, *t = NULL;
    const kry_device_info *info = kry_device_get_info(J->device);
    char defines[128];

    for (size_t i = 0; i < COUNT(single_tiles) && !t; i++)
        if (tile_fits(J, &tiles[i])) t = &tiles[i];
    CHECK(t, KRY_ERR_UNSUPPORTED,
          "block: no tile fits '%s', groups of %d and %lld bytes of local memory; use stream",
          info->name, info->max_group, (long long)info->local_bytes);
    snprintf(defines, sizeof defines, "-DT=%d -DTX=%d -DTY=%d -DC=%d -DR=%d%s", t->sweeps, t->x,
             t->y, t->cols, t->rows, limit_registers(J, t));
    TRY(jacobi_get_kernel(J, "akhtar_block", defines, "akhtar_block", &m->block));
    m->sweeps = t->sweeps;
    m->block_group = items_of(t);
    cut_marches(J, m, t);
    snprintf(J->variant, sizeof J->variant, "%d sweeps in a pass, tiles of %d x %d", t->sweeps,
             t->x, t->y);
done:
    return st;
}

/* Rings of 256 KiB stay in the cache that a core has for itself. Two groups for each core even out
 * what cores do besides. */
static kry_status get_block_cpu(jacobi *J, march *m)
{
    enum { SWEEPS = 4, RING_BYTES = 256 << 10, LEAST_ROWS = 8 };
    kry_status st = KRY_OK;
    const int slices = 3 * (SWEEPS - 1);
    const int64_t units = kry_device_get_info(J->device)->compute_units;
    int64_t rows = RING_BYTES / ((int64_t)kry_type_size(J->type) * m->pitch * slices) - 2 * SWEEPS;
    char defines[64];

    if (rows < LEAST_ROWS) rows = LEAST_ROWS;
    if (rows > J->size[1]) rows = J->size[1];
    int64_t marches = shares(2 * units, shares(J->size[1], rows));
    m->sweeps = SWEEPS;
    m->block_group = 1;
    m->block_rows = (cl_int)rows;
    m->block_depth = (cl_int)shares(J->size[2], marches);
    m->block_groups = shares(J->size[1], rows) * shares(J->size[2], m->block_depth);
    if (m->block_groups > 2 * units) m->block_groups = 2 * units;
    m->ring_size = m->pitch * (rows + 2 * SWEEPS) * slices;
    TRY(kry_vec_create(J->device, J->type, m->ring_size * m->block_groups, 1, &m->ring));
    snprintf(defines, sizeof defines, "-DT=%d -DPAD=%d", SWEEPS, m->left);
    TRY(jacobi_get_kernel(J, "akhtar_block", defines, "akhtar_block", &m->block));
    snprintf(J->variant, sizeof J->variant, "%d sweeps in a pass, %lld rows at a time", SWEEPS,
             (long long)rows);
done:
    return st;
}

static kry_status block_pass(jacobi *J)
{
    const march *m = J->extra;
    cl_mem from = kry_vec_buffer(J->w[J->now], NULL), to = kry_vec_buffer(J->w[!J->now], NULL);
    cl_mem ring = m->ring ? kry_vec_buffer(m->ring, NULL) : NULL;
    const kry_arg args[] = { KRY_ARG(J->size[0]),    KRY_ARG(J->size[1]),  KRY_ARG(J->size[2]),
                             KRY_ARG(m->pitch),      KRY_ARG(m->first),    KRY_ARG(m->block_depth),
                             KRY_ARG(m->block_rows), KRY_ARG(from),        KRY_ARG(to),
                             KRY_ARG(ring),          KRY_ARG(m->ring_size) };
    J->now = !J->now;
    return kry_device_launch(J->device, m->block, m->block_groups, m->block_group, args,
                             (int)COUNT(args) - (ring ? 0 : 2));
}

/* ---- both --------------------------------------------------------------------------------- */

static kry_status march_build(jacobi *J, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    march *m = J->extra = calloc(1, sizeof *m);

    CHECK(m, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    TRY(create_arrays(J, m, box));
    TRY(get_stream(J, m));
    if (J->kernel != JACOBI_BLOCK) goto done;
    TRY(on_cpu(J) ? get_block_cpu(J, m) : get_block_gpu(J, m));
    J->launches_per_sweep = 1.0 / m->sweeps;
done:
    return st;
}

static kry_status march_sweep(jacobi *J, int64_t steps)
{
    kry_status st = KRY_OK;
    const march *m = J->extra;

    for (; m->sweeps && steps >= m->sweeps; steps -= m->sweeps) TRY(block_pass(J));
    for (; steps > 0; steps--) TRY(stream_pass(J));
done:
    return st;
}

const jacobi_kind jacobi_march = { .build = march_build,
                                   .sweep = march_sweep,
                                   .get = march_get,
                                   .put = march_put,
                                   .destroy = march_destroy };
