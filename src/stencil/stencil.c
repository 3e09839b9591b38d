/*
 * stencil.c - grid operators without a matrix: the operator and its products.
 * Kernels: cl/stencil.cl.
 */
#include "stencil.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------- */

static const char *const path_names[] = {
#define PATH_NAME(name, word) [name] = word,
    KRY_STENCIL_PATH_LIST(PATH_NAME)
#undef PATH_NAME
};

const char *kry_stencil_path_name(kry_stencil_path path)
{
    return (unsigned)path < KRY_STENCIL_PATH_COUNT ? path_names[path] : "unknown";
}

kry_status kry_stencil_path_parse(const char *word, kry_stencil_path *path)
{
    kry_status st = KRY_OK;

    CHECK(word && path, KRY_ERR_ARGUMENT, "kry_stencil_path_parse: NULL");
    for (int i = 0; i < KRY_STENCIL_PATH_COUNT; i++)
        if (!strcmp(word, path_names[i])) return *path = (kry_stencil_path)i, KRY_OK;
    CHECK(false, KRY_ERR_PARSE,
          "kry_stencil_path_parse: '%s' is none of march, global, local, texture1d, texture2d",
          word);
done:
    return st;
}

/* ---- the table --------------------------------------------------------------------------- */

static bool uses_image(const kry_stencil *A)
{
    return A->path == KRY_PATH_TEXTURE1D || A->path == KRY_PATH_TEXTURE2D;
}

static kry_status apply_image(kry_stencil *A, double alpha, const kry_vec *x, double beta,
                              kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_scalar a = kry_scalar_of(A->dev, alpha), b = kry_scalar_of(A->dev, beta);
    cl_int x_at;

    TRY(kry_image_take(&A->image, x, &x_at));
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG(A->image.image), ARG(x_at),
                             ARG_ACC(A->dev, b), ARG(y->buffer),      ARG(y->first) };
    TRY(kry_stencil_launch(A, &A->apply_image, rest, COUNT(rest)));
done:
    return st;
}

static kry_status stencil_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_stencil *A = self;
    if (uses_image(A) && kry_image_reaches(&A->image, x)) return apply_image(A, alpha, x, beta, y);
    kry_scalar a = kry_scalar_of(A->dev, alpha), b = kry_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG(x->buffer), ARG(x->first),
                             ARG_ACC(A->dev, b), ARG(y->buffer), ARG(y->first) };
    bool aligned = x->first % A->lanes == 0 && y->first % A->lanes == 0;
    return kry_stencil_launch(A, aligned ? &A->apply : &A->apply_anywhere, rest, COUNT(rest));
}

static kry_status stencil_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kry_stencil *A = self;
    const kry_arg rest[] = { ARG(b->buffer), ARG(b->first),  ARG(x->buffer),
                             ARG(x->first),  ARG(r->buffer), ARG(r->first) };
    return kry_stencil_launch(A, &A->residual, rest, COUNT(rest));
}

static kry_status stencil_direction(void *self, const kry_direction *d, kry_vec *p, kry_vec *q,
                                    kry_sum *sum)
{
    kry_stencil *A = self;
    kry_arg rest[KRY_DIRECTION_ARGS + 4];
    size_t n = KRY_DIRECTION_ARGS;

    kry_direction_args(d, rest);
    rest[n++] = (kry_arg)ARG(d->z->buffer);
    rest[n++] = (kry_arg)ARG(d->old->buffer);
    rest[n++] = (kry_arg)ARG(p->buffer);
    rest[n++] = (kry_arg)ARG(sum->buffer);
    (void)q;
    sum->count = (cl_int)A->direction.groups;
    return kry_stencil_launch(A, &A->direction, rest, n);
}

static kry_status stencil_step(void *self, const kry_step *s, kry_vec *x, kry_vec *r, kry_sum *sum)
{
    kry_stencil *A = self;
    kry_arg rest[KRY_STEP_ARGS + KRY_DRIFT_ARGS + 9];
    const cl_int scaled = s->d != NULL;
    size_t n = kry_step_args(s, A->singular, &A->n, rest);

    rest[n++] = (kry_arg)ARG(s->p->buffer);
    rest[n++] = (kry_arg)ARG(s->old->buffer);
    rest[n++] = (kry_arg)ARG(x->buffer);
    rest[n++] = (kry_arg)ARG(x->first);
    rest[n++] = (kry_arg)ARG(r->buffer);
    rest[n++] = (kry_arg)ARG(sum->buffer);
    rest[n++] = (kry_arg)ARG(scaled);
    const kry_vec *d = s->d ? s->d : r; /* not read, if not scaled */
    rest[n++] = (kry_arg)ARG(d->buffer);
    rest[n++] = (kry_arg)ARG(s->z->buffer);
    sum->count = (cl_int)A->step.groups;
    if (s->drift) s->next_drift->count = sum->count;
    return kry_stencil_launch(A, &A->step, rest, n);
}

static kry_status stencil_diagonal(void *self, kry_vec *d)
{
    kry_stencil *A = self;
    const kry_arg rest[] = { ARG(d->buffer), ARG(d->first) };
    return kry_stencil_launch(A, &A->diagonal, rest, COUNT(rest));
}

static kry_status stencil_update(void *self, const void *values)
{
    kry_stencil *A = self;
    kry_status st = KRY_OK;

    CHECK(!values || A->face[0], KRY_ERR_UNSUPPORTED,
          "kry_op_update: this stencil was made without coefficients, and takes none");
    if (values) TRY(kry_stencil_update_faces(A, values));
done:
    return st;
}

/* Entries of a row along an axis besides the diagonal, for all rows. */
static int64_t entries_along(const kry_stencil *A, int a)
{
    int64_t size = A->size[a];
    if (A->low[a] == KRY_PERIODIC) return (size > 2 ? 2 : size - 1) * A->n;
    return 2 * A->n - 2 * (A->n / size);
}

static void stencil_describe(void *self, kry_op_info *info)
{
    const kry_stencil *A = self;
    double word = (double)A->n * (double)kry_type_size(A->type);
    double faces = A->face[0] ? A->axes * word : 0;

    info->variant = A->variant;
    info->nnz = A->n;
    for (int a = 0; a < A->axes; a++) info->nnz += entries_along(A, a);
    info->bytes_stored = faces + (A->coefficient ? word : 0);
    info->bytes_per_apply = 2 * word + faces;
    if (uses_image(A) && !A->image.wraps) info->bytes_per_apply += 2 * word;
    if (uses_image(A)) return;
    info->bytes_per_direction = 3 * word + faces;
    info->bytes_per_step = 4 * word + faces;
}

static void stencil_destroy(void *self)
{
    kry_stencil *A = self;
    if (!A) return;
    kry_stencil_resident_release(A);
    kry_image_release(&A->image);
    for (int a = 0; a < 3; a++) kry_buffer_release(A->dev, &A->face[a]);
    kry_buffer_release(A->dev, &A->coefficient);
    free(A);
}

/* Solvers reach x by the path in their own steps, too, but for images, which must be made first. */
#define TABLE                                                                                     \
    .struct_size = sizeof(kry_op_table), .kind = "stencil", .apply = stencil_apply,               \
    .apply_transpose = stencil_apply, .residual = stencil_residual, .diagonal = stencil_diagonal, \
    .update = stencil_update, .describe = stencil_describe, .destroy = stencil_destroy,           \
    .relax = kry_stencil_relax, .sweep_colour = kry_stencil_sweep_colour, .twin = kry_stencil_twin

static const kry_op_table image_table = { TABLE };
static const kry_op_table stencil_table = { TABLE, .apply_direction = stencil_direction,
                                            .apply_step = stencil_step,
                                            .run_cg = kry_stencil_run_cg };

kry_stencil *kry_stencil_of(const kry_op *op)
{
    bool is = op && (op->table == &stencil_table || op->table == &image_table);
    return is ? op->self : NULL;
}

/* ---- making one ------------------------------------------------------------------------------ */

static kry_status check_axis(const kry_stencil_params *p, int a)
{
    static const char name[] = "xyz";
    kry_status st = KRY_OK;

    CHECK(p->size[a] > 0, KRY_ERR_ARGUMENT, "kry_stencil_create: %lld unknowns along %c",
          (long long)p->size[a], name[a]);
    CHECK(p->spacing[a] >= 0 && isfinite(p->spacing[a]), KRY_ERR_ARGUMENT,
          "kry_stencil_create: the spacing along %c is %g", name[a], p->spacing[a]);
    CHECK(p->diffusion[a] >= 0 && isfinite(p->diffusion[a]), KRY_ERR_ARGUMENT,
          "kry_stencil_create: the diffusion along %c is %g", name[a], p->diffusion[a]);
    CHECK((unsigned)p->low[a] <= KRY_PERIODIC && (unsigned)p->high[a] <= KRY_PERIODIC,
          KRY_ERR_ARGUMENT, "kry_stencil_create: the sides of %c are %d and %d, which are none",
          name[a], (int)p->low[a], (int)p->high[a]);
    CHECK((p->low[a] == KRY_PERIODIC) == (p->high[a] == KRY_PERIODIC), KRY_ERR_ARGUMENT,
          "kry_stencil_create: one side of %c is periodic and the other is not", name[a]);
done:
    return st;
}

static kry_status check_params(const kry_device *dev, kry_type type, const kry_stencil_params *p)
{
    kry_status st = KRY_OK;
    int64_t n = 1;

    CHECK(dev && p, KRY_ERR_ARGUMENT, "kry_stencil_create: NULL");
    CHECK(p->struct_size == sizeof *p, KRY_ERR_ARGUMENT,
          "kry_stencil_create: params not made by KRY_STENCIL");
    if (p->on_host)
        CHECK(type == KRY_F64, KRY_ERR_TYPE,
              "kry_stencil_create: what stays on the host is in double");
    else
        TRY(kry_type_check("kry_stencil_create", dev, type));
    CHECK((unsigned)p->path < KRY_STENCIL_PATH_COUNT, KRY_ERR_ARGUMENT,
          "kry_stencil_create: path = %d is none", (int)p->path);
    for (int a = 0; a < (p->size[2] ? 3 : 2); a++) {
        TRY(check_axis(p, a));
        CHECK(p->size[a] <= INT32_MAX / n, KRY_ERR_ARGUMENT,
              "kry_stencil_create: %lld x %lld x %lld unknowns are 2^31 or more",
              (long long)p->size[0], (long long)p->size[1], (long long)p->size[2]);
        n *= p->size[a];
    }
    TRY(kry_stencil_check_faces(p));
done:
    return st;
}

static double or_one(double value) { return value > 0 ? value : 1; }

/* What the sides' ghosts are to the kernels. */
static int ghost_define(kry_side side) { return side == KRY_PERIODIC ? 2 : kry_ghost(side); }

/* No side has given values: constants are mapped to zero. */
static bool is_singular(const kry_stencil *A)
{
    for (int a = 0; a < A->axes; a++)
        if (A->low[a] == KRY_DIRICHLET || A->low[a] == KRY_DIRICHLET_FACE ||
            A->high[a] == KRY_DIRICHLET || A->high[a] == KRY_DIRICHLET_FACE)
            return false;
    return true;
}

static void describe_grid(kry_stencil *A, const kry_stencil_params *p, bool variable)
{
    static const int kernel_path[] = { [KRY_PATH_MARCH] = 0,
                                       [KRY_PATH_GLOBAL] = 1,
                                       [KRY_PATH_LOCAL] = 2,
                                       [KRY_PATH_TEXTURE1D] = 1,
                                       [KRY_PATH_TEXTURE2D] = 1 };
    A->axes = p->size[2] ? 3 : 2;
    A->n = 1;
    for (int a = 0; a < 3; a++) {
        A->size[a] = a < A->axes ? p->size[a] : 1;
        A->spacing[a] = or_one(p->spacing[a]);
        A->diffusion[a] = or_one(p->diffusion[a]);
        A->weight[a] = A->diffusion[a] / (A->spacing[a] * A->spacing[a]);
        A->low[a] = a < A->axes ? p->low[a] : KRY_NEUMANN;
        A->high[a] = a < A->axes ? p->high[a] : KRY_NEUMANN;
        A->n *= A->size[a];
    }
    A->singular = is_singular(A);
    A->path = p->path;
    snprintf(A->defines, sizeof A->defines,
             "-DAXES=%d -DPATH=%d -DXL=%d -DXH=%d -DYL=%d -DYH=%d -DZL=%d -DZH=%d%s%s", A->axes,
             kernel_path[A->path], ghost_define(A->low[0]), ghost_define(A->high[0]),
             ghost_define(A->low[1]), ghost_define(A->high[1]), ghost_define(A->low[2]),
             ghost_define(A->high[2]), variable ? " -DVARIABLE" : "",
             A->singular ? " -DDRIFT" : "");
    snprintf(A->variant, sizeof A->variant, "%s", kry_stencil_path_name(A->path));
    A->lanes = A->dev ? kry_stencil_lanes(A) : 1;
}

static kry_status make_kernels(kry_stencil *A, bool harmonic)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    char fast[192], anywhere[192];
    const struct {
        const char *defines, *name;
        int lanes;
        bool heavy;
        kry_sweep *sweep;
    } table[] = {
        { fast, "stencil_apply", A->lanes, false, &A->apply },
        { fast, "stencil_direction", A->lanes, true, &A->direction },
        { fast, "stencil_step", A->lanes, true, &A->step },
        { anywhere, "stencil_apply", 1, false, &A->apply_anywhere },
        { anywhere, "stencil_residual", 1, false, &A->residual },
        { anywhere, "stencil_diagonal", 1, false, &A->diagonal },
    };
    snprintf(fast, sizeof fast, "%s -DLANES=%d", A->defines, A->lanes);
    /* The true residual of a single-precision solve is summed in double. */
    snprintf(anywhere, sizeof anywhere, "%s -DLANES=1 -DANYWHERE%s", A->defines,
             A->type == KRY_F32 && dev->info.fp64 ? " -DSUM=ACC" : "");
    for (size_t i = 0; i < COUNT(table); i++) {
        kry_sweep *sweep = table[i].sweep;
        *sweep = kry_stencil_plan(A, table[i].lanes, table[i].heavy);
        TRY(kry_kernel_get(dev, "stencil", A->type, table[i].defines, table[i].name,
                           &sweep->kernel));
    }
    TRY(kry_kernel_get(dev, "stencil", A->type, anywhere, "stencil_side", &A->side));
    if (harmonic)
        TRY(kry_kernel_get(dev, "stencil", A->type, anywhere, "stencil_faces", &A->faces));
done:
    return st;
}

static kry_status check_plane(const kry_stencil *A)
{
    kry_status st = KRY_OK;
    kry_side side = A->low[0];

    CHECK(A->axes == 2, KRY_ERR_UNSUPPORTED,
          "kry_stencil_create: path texture2d is for two axes; use texture1d");
    for (int a = 0; a < 2; a++)
        CHECK(
            (side == KRY_DIRICHLET || side == KRY_NEUMANN) && A->low[a] == side &&
                A->high[a] == side,
            KRY_ERR_UNSUPPORTED,
            "kry_stencil_create: in path texture2d a sampler stands for the sides, which must all "
            "be Dirichlet on points or all Neumann; use texture1d");
done:
    return st;
}

static kry_status make_image(kry_stencil *A)
{
    static const char instead[] = "use path march or global";
    kry_status st = KRY_OK;
    bool plane = A->path == KRY_PATH_TEXTURE2D;
    char how[64], defines[256];

    if (plane) TRY(check_plane(A));
    TRY(plane ? kry_image_create_plane(A->dev, A->type, A->size[0], A->size[1],
                                       "kry_stencil_create: path texture2d", instead, &A->image)
              : kry_image_create(A->dev, A->type, A->n, "kry_stencil_create: path texture1d",
                                 instead, &A->image));
    kry_image_defines(&A->image, how, sizeof how);
    snprintf(defines, sizeof defines, "%s -DLANES=1 %s%s", A->defines, how,
             plane ? " -DX_PLANE" : "");
    A->apply_image = kry_stencil_plan(A, 1, false);
    TRY(kry_kernel_get(A->dev, "stencil", A->type, defines, "stencil_apply_image",
                       &A->apply_image.kernel));
    if (!plane && !A->image.wraps) strcat(A->variant, ", x copied to a 2-D image");
done:
    return st;
}

/* A twin without coefficients takes the factor in its weights. */
static kry_status scale_weights(kry_stencil *A, double factor)
{
    kry_status st = KRY_OK;
    for (int a = 0; a < A->axes; a++) {
        A->weight[a] *= factor;
        CHECK(A->type == KRY_F64 || (isfinite((float)A->weight[a]) && (float)A->weight[a] > 0),
              KRY_ERR_UNSUPPORTED,
              "kry_op_twin: diffusion / h^2 along %c is %g, which single precision cannot hold",
              "xyz"[a], A -> weight[a]);
    }
done:
    return st;
}

/* The numbers are looked at as a device would. */
static kry_status on_host(kry_device *dev, const kry_stencil_params *params, kry_op **out)
{
    kry_stencil grid = { .type = KRY_F64 };
    kry_status st = KRY_OK;

    describe_grid(&grid, params, false);
    TRY(kry_stencil_check_numbers(&grid, "kry_stencil_create", params));
    unsigned traits = KRY_SYMMETRIC | (grid.singular ? KRY_SINGULAR : KRY_POSITIVE);
    TRY(kry_stencil_on_host(dev, params, traits, out));
done:
    return st;
}

kry_status kry_stencil_make(kry_device *dev, kry_type type, const kry_stencil_params *params,
                            const kry_stencil *like, double factor, kry_op **out)
{
    kry_status st = KRY_OK;
    kry_stencil *A = NULL;
    bool harmonic = like ? like->face[0] && !like->faces_given
                         : params && params->coefficient && !params->face[0];

    *out = NULL;
    TRY(check_params(dev, type, params));
    if (params->on_host) return on_host(dev, params, out);
    TRY(kry_alloc(1, sizeof *A, &A));
    A->dev = dev;
    A->type = type;
    describe_grid(A, params, like ? like->face[0] != NULL : params->coefficient || params->face[0]);
    if (like && !like->face[0]) TRY(scale_weights(A, factor));
    TRY(make_kernels(A, harmonic));
    if (uses_image(A)) TRY(make_image(A));
    TRY(like ? kry_stencil_copy_faces(A, like, factor) : kry_stencil_create_faces(A, params));
    TRY(kry_device_finish(dev));
    const kry_op_shape shape = { A->n, A->n, type,
                                 KRY_SYMMETRIC | (A->singular ? KRY_SINGULAR : KRY_POSITIVE) };
    TRY(kry_op_create(dev, uses_image(A) ? &image_table : &stencil_table, A, &shape, out));
    A = NULL;
done:
    stencil_destroy(A);
    return st;
}

kry_status kry_stencil_create(kry_device *dev, kry_type type, const kry_stencil_params *params,
                              kry_op **out)
{
    return kry_stencil_make(dev, type, params, NULL, 1, out);
}
