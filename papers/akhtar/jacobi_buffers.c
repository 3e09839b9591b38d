/*
 * jacobi_buffers.c - k1 to k4: points in vectors, sides in a vector or an image, neighbours from
 * global or from local memory; k1a to k4a: the same with all sweeps in one launch, in which the
 * groups wait for each other. Kernels: cl/papers/akhtar.cl.
 *
 * A launch in which a group waited in vain leaves points of several sweeps. Therefore each begins
 * with a copy of the points, from which the plain kernel goes on.
 */
#include "../paper.h"
#include "jacobi.h"
#include <stdio.h>
#include <stdlib.h>

/* Sweeps in one launch: few enough that no driver ends it for taking too long. */
enum { MOST_SWEEPS = 1000 };

typedef struct waiting {
    cl_kernel all_sweeps;
    cl_mem arrived; /* one cl_int: groups that have arrived, all sweeps together */
    kry_vec *kept;  /* the points before a launch */
    cl_int groups;  /* that wait for each other; 0: none, for one of them did so in vain */
} waiting;

static bool waits(const jacobi *J) { return J->kernel >= JACOBI_K1A; }

static void buffers_destroy(jacobi *J)
{
    waiting *W = J->extra;
    kry_vec_release(&W->kept);
    if (W->arrived) clReleaseMemObject(W->arrived);
    if (W->all_sweeps) clReleaseKernel(W->all_sweeps);
}

/* ---- one launch for all sweeps ------------------------------------------------------------ */

enum { BOX_ARGS = 7 };

/* The box, its sides and w; what they refer to lives in *room. */
typedef struct box_args {
    cl_int cols;
    cl_mem sides, from, to;
} box_args;

static void set_box_args(const jacobi *J, box_args *room, kry_arg args[BOX_ARGS])
{
    *room = (box_args){ 0, J->sides ? kry_vec_buffer(J->sides, NULL) : J->sides_image,
                        kry_vec_buffer(J->w[J->now], NULL), kry_vec_buffer(J->w[!J->now], NULL) };
    const kry_arg all[BOX_ARGS] = { KRY_ARG(J->size[0]), KRY_ARG(J->size[1]),  KRY_ARG(J->size[2]),
                                    KRY_ARG(room->cols), KRY_ARG(room->sides), KRY_ARG(room->from),
                                    KRY_ARG(room->to) };
    for (int i = 0; i < BOX_ARGS; i++) args[i] = all[i];
}

/* *finished: every group made all its sweeps. Waits. */
static kry_status launch_all(jacobi *J, cl_int steps, bool *finished)
{
    static const cl_int none = 0;
    kry_status st = KRY_OK;
    waiting *W = J->extra;
    const kry_device_info *info = kry_device_get_info(J->device);
    cl_command_queue queue = kry_device_queue(J->device);
    /* A poll takes 0.4 us on an H200 and a few ns on CPUs: both give up after about 0.3 s. */
    const cl_int polls = info->gpu ? 1 << 19 : 1 << 27;
    kry_arg args[BOX_ARGS + 3] = { [BOX_ARGS] = KRY_ARG(steps),
                                   KRY_ARG(W->arrived),
                                   KRY_ARG(polls) };
    box_args room;
    cl_int arrived = -1;

    set_box_args(J, &room, args);
    TRY(paper_check(
        clEnqueueWriteBuffer(queue, W->arrived, CL_FALSE, 0, sizeof none, &none, 0, NULL, NULL),
        "clEnqueueWriteBuffer"));
    TRY(kry_device_launch(J->device, W->all_sweeps, W->groups, 0, args, COUNT(args)));
    TRY(paper_check(
        clEnqueueReadBuffer(queue, W->arrived, CL_TRUE, 0, sizeof arrived, &arrived, 0, NULL, NULL),
        "clEnqueueReadBuffer"));
    *finished = arrived == steps * W->groups;
done:
    return st;
}

/* The most groups, up to one for each share of the work, that run at once: of those tried, the
 * first with which a launch comes to its end. */
static kry_status count_groups(jacobi *J)
{
    kry_status st = KRY_OK;
    waiting *W = J->extra;
    const kry_device_info *info = kry_device_get_info(J->device);
    int64_t useful = jacobi_groups(J);
    bool finished = false;

    for (int per_unit = info->gpu ? 16 : 1; per_unit >= 1 && !finished; per_unit /= 2) {
        int64_t groups = (int64_t)per_unit * info->compute_units;
        W->groups = (cl_int)(groups < useful ? groups : useful);
        TRY(launch_all(J, 2, &finished));
    }
    CHECK(finished, KRY_ERR_UNSUPPORTED, "%s: groups do not wait for each other on '%s'; use k%c",
          jacobi_kernel_name(J->kernel), info->name, jacobi_kernel_name(J->kernel)[1]);
done:
    return st;
}

void jacobi_wait_for(jacobi *J, int groups) { ((waiting *)J->extra)->groups = groups; }

static kry_status build_waiting(jacobi *J, const char *defines)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = kry_device_get_info(J->device);
    const char *name = jacobi_kernel_name(J->kernel);
    char all[192], plain[64];
    waiting *W;
    cl_int err;

    /* A core runs one group at a time: a group that waits keeps it from the others. */
    CHECK(!info->cpu_kernels, KRY_ERR_UNSUPPORTED,
          "%s: groups do not wait for each other on '%s', a CPU; use k%c", name, info->name,
          name[1]);
    W = J->extra = calloc(1, sizeof *W);
    CHECK(W, KRY_ERR_MEMORY, "jacobi_create: out of memory");
    snprintf(all, sizeof all, "%s -DWAITING", defines);
    TRY(jacobi_get_kernel(J, "akhtar", all, "akhtar_waiting", &W->all_sweeps));
    TRY(kry_vec_create(J->device, J->type, J->n, 1, &W->kept));
    W->arrived = clCreateBuffer(kry_device_context(J->device), CL_MEM_READ_WRITE, sizeof(cl_int),
                                NULL, &err);
    TRY(paper_check(err, "clCreateBuffer"));
    TRY(count_groups(J));
    J->launches_per_sweep = 0;
    snprintf(plain, sizeof plain, "%.60s", J->variant);
    snprintf(J->variant, sizeof J->variant, "%s, %d groups wait", plain, W->groups);
done:
    return st;
}

/* ---- all -------------------------------------------------------------------------------------- */

static kry_status buffers_build(jacobi *J, const jacobi_box *box)
{
    kry_status st = KRY_OK;
    bool texture = jacobi_by_texture(J->kernel), tiles = jacobi_by_tiles(J->kernel), bytes = false;
    char defines[160];

    TRY(texture ? jacobi_make_sides_image(J, box, &bytes) : jacobi_make_sides(J, box));
    for (int i = 0; i < 2; i++) TRY(kry_vec_create(J->device, J->type, J->n, 1, &J->w[i]));
    snprintf(defines, sizeof defines, "%s%s%s", texture ? "-DSIDES_IMAGE" : "",
             bytes ? " -DTEXEL_BYTES" : "", jacobi_tile_defines(J->kernel));
    TRY(jacobi_get_kernel(J, "akhtar", defines, tiles ? "akhtar_tiles" : "akhtar_points",
                          &J->step));
    snprintf(J->variant, sizeof J->variant, "%s, sides in %s",
             tiles ? "tiles in local memory" : "global memory",
             texture ? "an image" : "global memory");
    if (waits(J)) TRY(build_waiting(J, defines));
done:
    return st;
}

static kry_status plain_sweeps(jacobi *J, int64_t steps)
{
    kry_status st = KRY_OK;
    kry_arg args[BOX_ARGS];
    box_args room;

    for (; steps > 0; steps--) {
        set_box_args(J, &room, args);
        TRY(kry_device_launch(J->device, J->step, jacobi_groups(J), 0, args, BOX_ARGS));
        J->now = !J->now;
    }
done:
    return st;
}

static kry_status waiting_sweeps(jacobi *J, int64_t *steps)
{
    kry_status st = KRY_OK;
    waiting *W = J->extra;
    bool finished = false;

    while (*steps > 0 && W->groups) {
        cl_int share = *steps < MOST_SWEEPS ? (cl_int)*steps : MOST_SWEEPS;
        TRY(kry_vec_copy(J->w[J->now], W->kept));
        TRY(launch_all(J, share, &finished));
        if (finished) {
            J->now ^= share % 2;
            *steps -= share;
        } else {
            TRY(kry_vec_copy(W->kept, J->w[J->now]));
            W->groups = 0;
            J->launches_per_sweep = 1;
            snprintf(J->variant, sizeof J->variant,
                     "a launch for each sweep after one in which "
                     "groups waited in vain");
        }
    }
done:
    return st;
}

static kry_status buffers_sweep(jacobi *J, int64_t steps)
{
    kry_status st = KRY_OK;
    if (waits(J)) TRY(waiting_sweeps(J, &steps));
    TRY(plain_sweeps(J, steps));
done:
    return st;
}

static kry_status buffers_get(const jacobi *J, int which, kry_vec *points)
{
    return kry_vec_copy(J->w[which], points);
}

static kry_status buffers_put(jacobi *J, const kry_vec *points)
{
    return kry_vec_copy(points, J->w[J->now]);
}

const jacobi_kind jacobi_buffers = { .build = buffers_build,
                                     .sweep = buffers_sweep,
                                     .get = buffers_get,
                                     .put = buffers_put,
                                     .destroy = buffers_destroy };
