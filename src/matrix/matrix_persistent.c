/*
 * matrix_persistent.c - the product of a stored matrix in a persistent kernel: which matrices it takes, with which
 * preconditioners, and how many groups. Kernels: cl/resident_csr.cl, resident_sell.cl and resident_dia.cl, of which
 * cl/resident_matrix.clh says how. What runs them is src/operator/resident.c.
 */
#include "matrix/matrix.h"
#include "matrix/spgemm.h"
#include "operator/resident.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes -------------------------------------------------------------------------------- */

/* Unknowns per work-item, and the fewest groups. */
typedef struct shape {
    int per, groups;
    bool held; /* each group keeps its part of the matrix in registers */
} shape;

/* A shape for experiments, from the tuning file: resident/matrix per-item=2 groups=264 */
static bool given_shape(kry_device *dev, shape *s)
{
    char text[64];

    *s = (shape){ 0 };
    return kry_tuning_get(dev, "resident/matrix", text, sizeof text) &&
           sscanf(text, "per-item=%d groups=%d", &s->per, &s->groups) == 2 && s->per >= 1 &&
           s->per <= 1024 && s->groups >= 1;
}

/* Groups that run at once, about: the barrier will count them. On GPUs by their registers, of which a work-item takes
 * so many on an H100. */
static int64_t groups_at_once(const kry_device *dev, int per)
{
    enum { REGISTERS = 65536, BASE = 60, PER_UNKNOWN = 17 };
    const int64_t here = REGISTERS / (BASE + PER_UNKNOWN * per) / kry_group_size(dev);

    return dev->info.compute_units * (!dev->info.gpu ? 1 : here > 1 ? here : 1);
}

/* With so many unknowns per work-item. Returns false if they do not fit, or if the matrix has so many entries for each
 * work-item that the more work-items of a launch for each step are faster: measured on an H100 (docs/resident.md). */
static bool find_shape(const kry_matrix *A, int per, shape *s)
{
    enum { MOST_ENTRIES = 24 };
    const kry_stage *stage = &A->stage[0];
    const int64_t size = kry_group_size(A->dev), n = A->shape.rows;
    const int64_t most = groups_at_once(A->dev, per), needed = (n + size * per - 1) / (size * per);

    *s = (shape){ .per = per, .groups = (int)needed };
    s->held = !strcmp(stage->stem, "csr") && !A->dev->info.cpu_kernels &&
              !kry_matrix_in_flux_form(A) && stage->groups <= most;
    if (s->held && stage->groups > needed) s->groups = (int)stage->groups;
    return needed <= most && (!A->dev->info.gpu || A->slots <= MOST_ENTRIES * most * size);
}

/* ---- the plug ------------------------------------------------------------------------------ */

/* z := M r within the kernel. */
typedef struct precond {
    enum { NONE, DIAGONAL, POLYNOMIAL, FACTORS } kind;
    const kry_vec *d; /* the diagonal, or that of the polynomial */
    kry_polynomial p;
    kry_factors f;
} precond;

static const struct {
    const char *define;
    int shown; /* vectors that groups leave for each other */
} forms[] = { [NONE] = { "", 2 },
              [DIAGONAL] = { " -DDIAGONAL", 2 },
              [POLYNOMIAL] = { " -DPOLYNOMIAL", 4 },
              [FACTORS] = { " -DFACTORS", 3 } };

/* Whether the numbers of another matrix can take the places of A's: rows are sums of products, and entries have places of
 * their own. */
static bool takes_numbers(const kry_matrix *A)
{
    return !kry_matrix_in_flux_form(A) && !A->format->shared && !A->surplus;
}

static kry_status find_precond(const kry_matrix *A, const kry_op *M, precond *found)
{
    kry_status st = KRY_OK;
    const kry_op_fused *fused = M ? M->fused : NULL;

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

static void add_stage(const kry_matrix *A, kry_plug *plug)
{
    const kry_stage *s = &A->stage[0];

    for (int i = 0; i < s->count; i++) {
        if (s->is_buffer[i])
            PLUG(plug, s->value[i].buffer);
        else
            PLUG(plug, s->value[i].number);
    }
    PLUG(plug, A->val);
    if (A->surplus) PLUG(plug, A->surplus);
}

static kry_status add_polynomial(const kry_matrix *A, const kry_polynomial *p, kry_plug *plug)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    const cl_int degree = p->degree;
    const int count = 2 * degree + 1;
    double c[2 * KRY_POLYNOMIAL_DEGREE + 1];

    for (int i = 0; i < count; i++) kry_number_put(type, c, i, p->c[i]);
    TRY(kry_buffer_upload(A->dev, (size_t)count * kry_type_size(type), c, &plug->owned[0]));
    PLUG(plug, degree);
    PLUG(plug, plug->owned[0]);
done:
    return st;
}

/* A's entries on the host, and the places of their numbers; NULL: those of the entries. */
typedef struct places {
    kry_sparse entries;
    int32_t *slot;
} places;

/* The numbers of a factor in the places of A's, 0 where it has no entry. Waits. */
static kry_status upload_factor(const kry_matrix *A, const places *p, const kry_op *factor,
                                cl_mem *buffer)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    const kry_matrix *F = kry_matrix_of(factor);
    kry_sparse host = { 0 };
    void *placed = NULL;

    CHECK(F, KRY_ERR_UNSUPPORTED, "'%s' is not a stored matrix", factor->table->kind);
    TRY(kry_matrix_download(F, &host));
    TRY(kry_alloc((size_t)A->slots, kry_type_size(type), &placed));
    for (int64_t i = 0; i < A->shape.rows; i++)
        for (int64_t e = host.row_ptr[i]; e < host.row_ptr[i + 1]; e++) {
            const int64_t k = kry_sparse_find(&p->entries, i, host.col[e]);
            CHECK(k >= 0, KRY_ERR_UNSUPPORTED, "a factor has an entry where the matrix has none");
            kry_number_put(type, placed, p->slot ? p->slot[k] : k,
                           kry_number_at(host.type, host.val, e));
        }
    TRY(kry_buffer_upload(A->dev, (size_t)A->slots * kry_type_size(type), placed, buffer));
done:
    free(placed);
    kry_sparse_release(&host);
    return st;
}

static kry_status add_factors(const kry_matrix *A, const kry_factors *f, kry_plug *plug)
{
    kry_status st = KRY_OK;
    places p = { 0 };

    TRY(kry_csr_first_rows(A, A->shape.rows, &p.entries));
    TRY(kry_csr_read_places(A, &p.slot));
    TRY(upload_factor(A, &p, f->first, &plug->owned[0]));
    TRY(upload_factor(A, &p, f->second, &plug->owned[1]));
    PLUG(plug, plug->owned[0]);
    PLUG(plug, plug->owned[1]);
done:
    free(p.slot);
    kry_sparse_release(&p.entries);
    return st;
}

static kry_status add_precond(const kry_matrix *A, const precond *M, kry_plug *plug)
{
    kry_status st = KRY_OK;

    if (M->d) {
        PLUG(plug, M->d->buffer);
        PLUG(plug, M->d->first);
    }
    if (M->kind == POLYNOMIAL) TRY(add_polynomial(A, &M->p, plug));
    if (M->kind == FACTORS) TRY(add_factors(A, &M->f, plug));
done:
    return st;
}

static kry_status check(const kry_matrix *A)
{
    kry_status st = KRY_OK;
    const kry_stage *stage = &A->stage[0];
    const bool has_loop =
        !strcmp(stage->stem, "csr") || !strcmp(stage->stem, "sell") || !strcmp(stage->stem, "dia");

    CHECK(!kry_device_is_host(A->dev) && A->shape.rows > 0 && A->shape.rows == A->shape.cols,
          KRY_ERR_UNSUPPORTED, "no kernels for that");
    CHECK(A->stages == 1 && has_loop, KRY_ERR_UNSUPPORTED,
          "format %s takes more than one launch to a product, or none that other work can be put "
          "into",
          kry_format_name(A->params.format));
done:
    return st;
}

static kry_status try_shape(const kry_matrix *A, const precond *M, shape s, kry_resident_cg **R)
{
    kry_status st = KRY_OK;
    const kry_stage *stage = &A->stage[0];
    kry_plug plug = { .size = kry_group_size(A->dev),
                      .groups = s.groups,
                      .pieces = A->dev->info.gpu ? stage->groups : 0,
                      .shown = forms[M->kind].shown };
    char stem[32], defines[KRY_STAGE_DEFINES], text[KRY_STAGE_DEFINES + 80];

    snprintf(stem, sizeof stem, "resident_%s", stage->stem);
    kry_stage_defines(A, stage, A->stored, A->surplus != NULL, defines);
    snprintf(text, sizeof text, "%s -DGROUP=WG -DPER=%d%s%s%s", defines, s.per,
             s.held ? " -DHELD" : "", forms[M->kind].define,
             M->kind == FACTORS && A->stored != A->shape.type ? " -DA_VAL=float" : "");
    TRY(kry_kernel_get(A->dev, stem, A->shape.type, text, stem, &plug.kernel));
    add_stage(A, &plug);
    TRY(add_precond(A, M, &plug));
    TRY(kry_resident_create(A->dev, A->shape.type, A->shape.rows, &plug, R));
done:
    kry_plug_release(A->dev, &plug);
    return st;
}

/* As few unknowns per work-item as the device can hold. */
kry_status kry_matrix_make_resident(void *self, const kry_op *M, kry_resident_cg **R)
{
    enum { MOST_GPU = 4, MOST_CPU = 1024 }; /* unknowns of a work-item */
    kry_status st = KRY_OK;
    const kry_matrix *A = self;
    const int most = A->dev->info.cpu_kernels ? MOST_CPU : MOST_GPU;
    precond found;
    shape s;

    *R = NULL;
    TRY(check(A));
    TRY(find_precond(A, M, &found));
    if (given_shape(A->dev, &s)) return try_shape(A, &found, s, R);
    st = kry_fail(KRY_ERR_UNSUPPORTED, "%lld unknowns with %lld entries do not fit on the chip",
                  (long long)A->shape.rows, (long long)A->slots);
    for (int per = 1; per <= most && st != KRY_OK && st != KRY_ERR_MEMORY; per *= 2) {
        if (!find_shape(A, per, &s)) continue;
        s.held &= found.kind != FACTORS; /* which multiply by other numbers than A's */
        st = try_shape(A, &found, s, R);
    }
done:
    return st;
}
