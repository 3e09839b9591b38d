/*
 * matrix_persistent.c - the product of a stored matrix in a persistent kernel: which matrices it takes, with which
 * preconditioners, and how many groups. Kernels: cl/formats/resident_csr.cl, resident_ell.cl, resident_sell.cl and resident_dia.cl, of which
 * cl/formats/resident_matrix.clh says how. What runs them is src/operator/resident.c.
 */
#include "matrix/device_csr.h"
#include "matrix/matrix.h"
#include "operator/resident.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes -------------------------------------------------------------------------------- */

/* Work-items per group, unknowns per work-item, the fewest groups, how many entries of each row a work-item keeps in
 * registers, 0: none, and whether it keeps their columns, too. */
typedef struct shape {
    int group, per, groups, held;
    bool columns;
} shape;

/* Groups that keep the matrix, about one per compute unit, as those of grids. The last one is for diagonals alone: of 512
 * work-items each has 128 registers, and an H100 took 16 us for an iteration of 512 x 512 unknowns in CSR in place of 6. */
static const shape holding[] = {
    { .group = 128, .per = 1 }, { .group = 256, .per = 1 }, { .group = 256, .per = 2 },
    { .group = 256, .per = 4 }, { .group = 256, .per = 8 }, { .group = 512, .per = 4 },
};

enum { REGISTERS = 65536 }; /* of a compute unit of an H100 */

static bool is_dia(const kryi_matrix *A) { return !strcmp(A->stage[0].stem, "dia"); }

/* Entries of a row that work-items can keep: of the longest row, and a few more so that not every matrix compiles a program
 * of its own; of diagonals all. 0: none. */
static int entries_to_hold(const kryi_matrix *A)
{
    enum { MOST = 32, EXACT = 8, STEP = 4, DIAGONALS = 3 /* argument of dia.cl */ };
    const kryi_stage *stage = &A->stage[0];
    const bool dia = is_dia(A);
    const int64_t diagonals = dia ? stage->value[DIAGONALS].number : 0;
    const int64_t longest = !dia                ? kryi_matrix_longest_row(A)
                            : A->format->shared ? 2 * diagonals - 1
                                                : diagonals;

    if (A->dev->info.cpu_kernels || longest < 1 || longest > MOST) return 0;
    return (int)(dia || longest <= EXACT ? longest : (longest + STEP - 1) / STEP * STEP);
}

/* The fewest groups that have all unknowns. */
static int groups_for(const kryi_matrix *A, const shape *s)
{
    const int64_t each = (int64_t)s->group * s->per;
    return (int)((A->shape.rows + each - 1) / each);
}

/* Whether there are registers, as on an H100, if work-items keep numbers, those of M, too, and their columns. A kernel has some
 * of its own. Numbers count as those of vectors even where they are stored in single, because compilers convert them before
 * the loop. Of diagonals fewer are taken than there are, so that seven in double go to groups of 512, where 64^3 unknowns with
 * chebyshev:4 took 25 us in place of 34. */
static bool has_registers(const kryi_matrix *A, const shape *s, int numbers, int columns)
{
    const int64_t word = kry_type_size(A->shape.type) / 4, all = REGISTERS / s->group;
    const int64_t unknown = 5 * word + s->held * (columns + (1 + numbers) * word);
    const int64_t own = is_dia(A) ? 32 : 40, most = is_dia(A) ? 223 : 255;

    return own + s->per * unknown <= (all < most ? all : most);
}

/* The columns of diagonals follow from the row: to compute them takes longer than to keep them, if there are registers. */
static bool keeps_columns(const kryi_matrix *A, const shape *s, int numbers)
{
    return !is_dia(A) || has_registers(A, s, numbers, 1);
}

/* Whether one group per compute unit can keep the matrix, M's numbers included. */
static bool can_hold(const kryi_matrix *A, int numbers, shape *s)
{
    const kry_device_info *info = &A->dev->info;
    const int64_t word = kry_type_size(A->shape.type);
    const int64_t local = s->group * (2 * (int64_t)sizeof(kryi_partial) + s->per * word) + 2048;

    s->groups = groups_for(A, s);
    s->columns = keeps_columns(A, s, numbers);
    return s->groups <= info->compute_units && s->group <= info->max_group &&
           local <= info->local_bytes && has_registers(A, s, numbers, s->columns);
}

/* A shape for experiments, from the tuning file: resident/matrix group=128 per-item=2 groups=264 held=0 */
static bool given_shape(const kryi_matrix *A, shape *s)
{
    char text[80];
    int hold;

    *s = (shape){ 0 };
    if (!kryi_tuning_get(A->dev, "resident/matrix", text, sizeof text) ||
        sscanf(text, "group=%d per-item=%d groups=%d held=%d", &s->group, &s->per, &s->groups,
               &hold) != 4 ||
        s->group < 1 || s->per < 1 || s->per > 1024)
        return false;
    s->held = hold ? entries_to_hold(A) : 0;
    s->columns = keeps_columns(A, s, 0);
    if (!s->held) s->group = kryi_group_size(A->dev); /* the formats' loops know no other */
    if (s->groups < groups_for(A, s)) s->groups = groups_for(A, s);
    return true;
}

/* Groups that run at once, about: the barrier will count them. On GPUs by their registers, of which a work-item takes
 * so many on an H100. */
static int64_t groups_at_once(const kry_device *dev, int per)
{
    enum { STREAMING = 60, PER_UNKNOWN = 17 };
    const int64_t here = REGISTERS / (STREAMING + PER_UNKNOWN * per) / kryi_group_size(dev);

    return dev->info.compute_units * (!dev->info.gpu ? 1 : here > 1 ? here : 1);
}

/* With so many unknowns per work-item, and the matrix read anew for each product. Returns false if they do not fit, or if the
 * matrix has so many entries for each work-item that the more work-items of a launch for each step are faster: measured on
 * an H100. */
static bool find_shape(const kryi_matrix *A, int per, shape *s)
{
    enum { MOST_ENTRIES = 24 };
    const int64_t most = groups_at_once(A->dev, per);

    *s = (shape){ .group = kryi_group_size(A->dev), .per = per };
    s->groups = groups_for(A, s);
    return s->groups <= most && (!A->dev->info.gpu || A->slots <= MOST_ENTRIES * most * s->group);
}

/* ---- the plug ------------------------------------------------------------------------------ */

/* z := M r within the kernel. */
typedef struct precond {
    enum { NONE, DIAGONAL, POLYNOMIAL, FACTORS } kind;
    const kry_vec *d; /* the diagonal, or that of the polynomial */
    kryi_polynomial p;
    kryi_factors f;
} precond;

static const struct {
    const char *name; /* as resident_matrix.clh calls it */
    int shown;        /* vectors that groups leave for each other */
} forms[] = { [NONE] = { "NONE", 2 },
              [DIAGONAL] = { "DIAGONAL", 2 },
              [POLYNOMIAL] = { "POLYNOMIAL", 4 },
              [FACTORS] = { "FACTORS", 3 } };

/* Whether the numbers of another matrix can take the places of A's: rows are sums of products, and entries have places of
 * their own. */
static bool takes_numbers(const kryi_matrix *A)
{
    return A->params.form != KRY_FLUX && !A->format->shared && !A->surplus;
}

static kry_status find_precond(const kryi_matrix *A, const kry_op *M, precond *found)
{
    kry_status st = KRY_OK;
    const kryi_op_fused *fused = M ? M->fused : NULL;

    *found = (precond){ .kind = NONE };
    if (!M) return KRY_OK;
    if (M->table->as_diagonal)
        found->kind = DIAGONAL, found->d = M->table->as_diagonal(M->self);
    else if (fused->as_polynomial && fused->as_polynomial(M->self, &found->p) &&
             found->p.A->self == A)
        found->kind = POLYNOMIAL, found->d = found->p.d;
    else if (fused->as_factors && fused->as_factors(M->self, &found->f) && found->f.A->self == A &&
             takes_numbers(A))
        found->kind = FACTORS;
    CHECK(found->kind, KRY_ERR_UNSUPPORTED, "'%s' is no preconditioner for solves in one kernel",
          M->table->kind);
done:
    return st;
}

static void add_stage(const kryi_matrix *A, kryi_plug *plug)
{
    const kryi_stage *s = &A->stage[0];

    for (int i = 0; i < s->count; i++) {
        if (s->is_buffer[i])
            PLUG(plug, s->value[i].buffer);
        else
            PLUG(plug, s->value[i].number);
    }
    PLUG(plug, A->val);
    PLUG(plug, A->surplus);
}

static kry_status upload_coefficients(const kryi_matrix *A, const kryi_polynomial *p,
                                      cl_mem *buffer)
{
    const kry_type type = A->shape.type;
    const int count = 2 * p->degree + 1;
    double c[2 * KRY_POLYNOMIAL_DEGREE + 1];

    for (int i = 0; i < count; i++) kryi_number_put(type, c, i, p->c[i]);
    return kryi_buffer_upload(A->dev, (size_t)count * kry_type_size(type), c, buffer);
}

/* A's entries on the host, and the places of their numbers; NULL: those of the entries. */
typedef struct places {
    kryi_csr entries;
    int32_t *slot;
} places;

/* The numbers of a factor in the places of A's, 0 where it has no entry. Waits. */
static kry_status upload_factor(const kryi_matrix *A, const places *p, const kry_op *factor,
                                cl_mem *buffer)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    const kryi_matrix *F = kryi_matrix_of(factor);
    kryi_csr host = { 0 };
    void *placed = NULL;

    CHECK(F, KRY_ERR_UNSUPPORTED, "'%s' is not a stored matrix", factor->table->kind);
    TRY(kryi_matrix_download(F, &host));
    TRY(kryi_alloc((uint64_t)A->slots, kry_type_size(type), &placed));
    for (int64_t i = 0; i < A->shape.rows; i++)
        for (int64_t e = host.row_ptr[i]; e < host.row_ptr[i + 1]; e++) {
            const int64_t k = kryi_csr_find(&p->entries, i, host.col[e]);
            CHECK(k >= 0, KRY_ERR_UNSUPPORTED, "a factor has an entry where the matrix has none");
            kryi_number_put(type, placed, p->slot ? p->slot[k] : k,
                            kryi_number_at(host.type, host.val, e));
        }
    TRY(kryi_buffer_upload(A->dev, (size_t)A->slots * kry_type_size(type), placed, buffer));
done:
    free(placed);
    kryi_csr_release(&host);
    return st;
}

static kry_status upload_factors(const kryi_matrix *A, const kryi_factors *f, cl_mem factor[2])
{
    kry_status st = KRY_OK;
    places p = { 0 };
    kryi_device_csr pattern = { 0 };

    TRY(kryi_device_csr_pattern_of(A, &pattern));
    TRY(kryi_device_csr_first_rows(&pattern, A->shape.rows, &p.entries));
    TRY(kryi_device_csr_read_places(A, &p.slot));
    TRY(upload_factor(A, &p, f->first, &factor[0]));
    TRY(upload_factor(A, &p, f->second, &factor[1]));
done:
    free(p.slot);
    kryi_csr_release(&p.entries);
    kryi_device_csr_release(&pattern);
    return st;
}

/* d, d0, degree, coefficient, first_val, second_val: NULL and 0 but for those of the kind. */
static kry_status add_precond(const kryi_matrix *A, const precond *M, kryi_plug *plug)
{
    kry_status st = KRY_OK;
    const cl_mem none = NULL;
    const cl_long nowhere = 0;
    const cl_int degree = M->kind == POLYNOMIAL ? M->p.degree : 0;
    const bool factors = M->kind == FACTORS;

    if (degree) TRY(upload_coefficients(A, &M->p, &plug->owned[0]));
    if (factors) TRY(upload_factors(A, &M->f, plug->owned));
    kryi_plug_add(plug, M->d ? &M->d->buffer : &none, sizeof none);
    kryi_plug_add(plug, M->d ? &M->d->first : &nowhere, sizeof nowhere);
    PLUG(plug, degree);
    kryi_plug_add(plug, degree ? &plug->owned[0] : &none, sizeof none);
    kryi_plug_add(plug, factors ? &plug->owned[0] : &none, sizeof none);
    kryi_plug_add(plug, factors ? &plug->owned[1] : &none, sizeof none);
done:
    return st;
}

static kry_status check(const kryi_matrix *A)
{
    kry_status st = KRY_OK;
    const kryi_stage *stage = &A->stage[0];
    const bool has_loop = !strcmp(stage->stem, "csr") || !strcmp(stage->stem, "ell") ||
                          !strcmp(stage->stem, "sell") || !strcmp(stage->stem, "dia");

    CHECK(!kryi_device_is_host(A->dev) && A->shape.rows > 0 && A->shape.rows == A->shape.cols,
          KRY_ERR_UNSUPPORTED, "no kernels for that");
    CHECK(A->stages == 1 && has_loop, KRY_ERR_UNSUPPORTED,
          "format %s takes more than one launch to a product, or none that other work can be put "
          "into",
          kry_format_name(A->params.format));
done:
    return st;
}

/* NVIDIA's devices of compute capability 3.5 and up have the registers that has_registers counts, and the shapes were measured
 * there. */
static bool has_measured_registers(const kry_device *dev)
{
    enum { COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, COMPUTE_CAPABILITY_MINOR_NV = 0x4001 };
    cl_uint major, minor;

    return !clGetDeviceInfo(dev->id, COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL) &&
           !clGetDeviceInfo(dev->id, COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, NULL) &&
           10 * major + minor >= 35;
}

/* *spills: registers do not hold what a work-item is to keep, and those of a larger shape will not. */
static kry_status try_shape(const kryi_matrix *A, const precond *M, shape s, bool *spills,
                            kryi_resident_cg **R)
{
    kry_status st = KRY_OK;
    const kryi_stage *stage = &A->stage[0];
    kryi_plug plug = { .size = s.group,
                       .groups = s.groups,
                       .pieces = A->dev->info.gpu && !s.held ? stage->groups : 0,
                       .shown = forms[M->kind].shown };
    char stem[32], name[48], defines[KRY_STAGE_DEFINES], diagonals[32] = "";
    char text[KRY_STAGE_DEFINES + 120];

    snprintf(stem, sizeof stem, "resident_%s", stage->stem);
    snprintf(name, sizeof name, "%s%s", stem,
             !s.held         ? ""
             : stage->sorted ? "_sorted"
             : s.columns     ? "_held"
                             : "_computed");
    kryi_stage_defines(A, stage, A->stored, defines);
    if (stage->diagonals)
        snprintf(diagonals, sizeof diagonals, " -DDIAGONALS=%d", stage->diagonals);
    snprintf(text, sizeof text, "%s%s%s -DGROUP=%d -DPER=%d -DHELD=%d -DPRECOND=%s", defines,
             diagonals, A->params.form == KRY_FLUX || A->surplus ? " -DFLUX" : "", s.group, s.per,
             s.held ? s.held : 1, forms[M->kind].name);
    TRY(kryi_kernel_get(A->dev, stem, A->shape.type, text, name, &plug.kernel));
    *spills = !has_measured_registers(A->dev) && kryi_kernel_spills(A->dev, plug.kernel);
    CHECK(!*spills, KRY_ERR_UNSUPPORTED, "'%s' has too few registers for %d unknowns a work-item",
          A->dev->info.name, s.per);
    add_stage(A, &plug);
    TRY(add_precond(A, M, &plug));
    TRY(kryi_resident_create(A->dev, A->shape.type, A->shape.rows, &plug, R));
done:
    kryi_plug_release(A->dev, &plug);
    return st;
}

/* As few unknowns per work-item as the device can hold: first with the matrix, then without it. */
kry_status kryi_matrix_make_resident(void *self, const kry_op *M, kryi_resident_cg **R)
{
    enum { MOST_GPU = 4, MOST_CPU = 1024 }; /* unknowns of a work-item */
    kry_status st = KRY_OK;
    const kryi_matrix *A = self;
    const int most = A->dev->info.cpu_kernels ? MOST_CPU : MOST_GPU, held = entries_to_hold(A);
    precond found;
    shape s;
    bool spills = false;

    *R = NULL;
    TRY(check(A));
    TRY(find_precond(A, M, &found));
    if (given_shape(A, &s)) return try_shape(A, &found, s, &spills, R);
    st = kry_fail(KRY_ERR_UNSUPPORTED, "%lld unknowns with %lld entries do not fit on the chip",
                  (long long)A->shape.rows, (long long)A->slots);
    for (size_t i = 0;
         held && i < COUNT(holding) && !spills && st != KRY_OK && st != KRY_ERR_MEMORY; i++) {
        s = holding[i], s.held = held;
        if (can_hold(A, found.kind == FACTORS ? 2 : 0, &s))
            st = try_shape(A, &found, s, &spills, R);
    }
    spills = false;
    for (int per = 1; per <= most && !spills && st != KRY_OK && st != KRY_ERR_MEMORY; per *= 2)
        if (find_shape(A, per, &s)) st = try_shape(A, &found, s, &spills, R);
done:
    return st;
}
