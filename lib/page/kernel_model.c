/*
 * kernel_model.c - bytes and flops of kernels by a model, not by counting: the table `model` has the words that
 * each must move.
 */
#include "page/kernel_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATRIX = 1,   /* the numbers and the structure of A, once */
    FACES = 2,    /* the coefficients of a stencil, if they vary: 2 or 3 words */
    DIAGONAL = 4, /* with a preconditioner that is a diagonal: reads it, writes z */
    OLD = 8,      /* Chebyshev: the last iterate but one */
    VARIES = 16,  /* the inverse diagonal, if it is not one number */
    LABELS = 32,  /* of sub-domains: 2 bytes */
    PIECES = 64,  /* of sub-domains: 5 bytes for eight unknowns */
    /* x is updated in every second step, and then takes the old p unless M is a diagonal: half a word */
    OLD_P = 128,
    PAIRS = 256,  /* x is updated so on CPUs alone: 1.5 words fewer, and OLD_P there */
    COLUMNS = 512 /* a launch may be of several columns */
};

/* Per unknown: words read and written, flops, and flops for each entry of A besides. A kernel that
 * is not here has no bytes and no flops. "A_" stands for the name of a format. */
static const struct line {
    const char *kernel;
    double words, flops, entry_flops;
    unsigned more;
} model[] = {
    { "A_apply", 2, 0, 2, MATRIX },
    { "A_residual", 3, 1, 2, MATRIX },
    { "A_relax", 4, 4, 2, MATRIX },
    { "A_apply_dot", 2, 2, 2, MATRIX },
    { "A_apply_direction", 4, 4, 2, MATRIX },
    { "stencil_apply", 2, 0, 2, FACES },
    { "stencil_apply_image", 2, 0, 2, FACES },
    { "stencil_residual", 3, 1, 2, FACES },
    { "stencil_direction", 3, 4, 2, FACES },
    { "stencil_step", 4, 6, 2, FACES | DIAGONAL | OLD_P }, /* x is updated every second time */
    { "stencil_step_singular", 4, 6, 2, FACES | DIAGONAL | OLD_P },
    { "stencil_diagonal", 1, 0, 0, FACES },
    { "stencil_relax", 3, 3, 2, FACES | OLD },
    { "stencil_scale", 2, 1, 0, 0 },
    { "stencil_colour", 3, 1.5, 1, FACES }, /* half the points, all the cache lines */
    { "stencil_incomplete", 2, 2, 2, FACES | VARIES },
    { "pcg_direction", 3, 2, 0, COLUMNS },
    { "pcg_step", 6, 6, 0, DIAGONAL | PAIRS | COLUMNS },
    { "pcg_check", 0, 0, 0, 0 },
    { "bidiagonal_left", 3, 5, 0, 0 },
    { "bidiagonal_right", 3, 5, 0, 0 },
    { "lsqr_update", 5, 6, 0, 0 },
    { "lsmr_update", 7, 8, 0, 0 },
    { "relax_sweep", 4, 3, 0, OLD },
    { "null_space_dot", 1, 1, 0, 0 },
    { "null_space_subtract", 2, 1, 0, 0 },
    { "deflation_restrict", 1, 1, 0, PIECES },
    { "deflation_prolong", 1, 1, 0, LABELS },
    { "deflation_correct", 3, 5, 0, LABELS },
    { "deflation_add", 2, 1, 0, LABELS },
    { "vec_fill", 1, 0, 0, 0 },
    { "vec_copy", 2, 0, 0, 0 },
    { "vec_axpby", 3, 3, 0, 0 },
    { "vec_mul", 3, 1, 0, 0 }, /* with beta = 0 */
    { "vec_triad", 3, 2, 0, 0 },
    { "vec_invert", 2, 1, 0, 0 },
    { "vec_dot", 2, 2, 0, 0 },
    { "vec_dot_pair", 2, 4, 0, 0 },
};

/* Does A's diagonal differ from row to row? If A offers none, we assume so. */
static kry_status find_varying(const kry_op *A, bool *varies)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    const int64_t n = shape->rows;
    const size_t size = kry_type_size(shape->type);
    kry_vec *diagonal = NULL;
    char *values = NULL;

    *varies = true;
    TRY(kry_vec_create(kry_op_device(A), shape->type, n, 1, &diagonal));
    if (kry_op_diagonal(A, diagonal) < 0) goto done; /* it offers none */
    TRY(kryi_allocate((size_t)n, size, &values));
    TRY(kry_vec_read(diagonal, values));
    *varies = n > 1 && memcmp(values, values + size, (size_t)(n - 1) * size) != 0;
done:
    free(values);
    kry_vec_release(&diagonal);
    return st;
}

kry_status kryi_kernel_model_of(const kry_op *A, const char *precond, bool deflated,
                                system_model *m)
{
    kry_status st = KRY_OK;
    kry_op_info info;

    kry_op_describe(A, &info);
    *m = (system_model){ .n = kry_op_get_shape(A)->rows,
                         .nnz = info.nnz,
                         .number = (double)kry_type_size(kry_op_get_shape(A)->type),
                         .stored = strcmp(info.kind, "stencil") != 0,
                         .pairs_steps = kry_device_get_info(kry_op_device(A))->cpu_kernels,
                         .jacobi = !strcmp(precond, "jacobi"),
                         .chebyshev = !strncmp(precond, "chebyshev", 9) };
    m->makes_old = !deflated && (m->jacobi || !strcmp(precond, "none"));
    TRY(find_varying(A, &m->varies));
    double matrix = info.bytes_per_apply - 2 * (double)m->n * m->number;
    bool several = !strcmp(info.kind, "hyb") || !strcmp(info.kind, "coo");
    if (m->stored && !several)
        m->matrix_bytes = matrix < info.bytes_stored ? matrix : info.bytes_stored;
    if (!m->stored && matrix > 0) m->faces = matrix / m->number / (double)m->n;
done:
    return st;
}

/* Behind the name of a format: "apply" of "csr_apply"; NULL: it does not begin with one. */
static const char *behind_format(const char *kernel)
{
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++) {
        size_t length = strlen(kry_format_name(f));
        if (!strncmp(kernel, kry_format_name(f), length) && kernel[length] == '_')
            return kernel + length + 1;
    }
    return NULL;
}

static const struct line *find_line(const system_model *m, const char *kernel)
{
    const char *action = m->stored ? behind_format(kernel) : NULL;
    for (size_t i = 0; i < COUNT(model); i++) {
        bool same = model[i].more & MATRIX ? action && !strcmp(action, model[i].kernel + 2)
                                           : !strcmp(kernel, model[i].kernel);
        if (same) return &model[i];
    }
    return NULL;
}

/* Whether systems of every size use it. */
static bool is_shared(const char *kernel, const struct line *l)
{
    return l->more & (MATRIX | FACES) || !strncmp(kernel, "vec_", 4);
}

void kryi_kernel_cost(const system_model *m, const char *kernel, double *bytes, double *flops)
{
    const struct line *l = find_line(m, kernel);
    *bytes = *flops = NAN;
    if (!l || (m->several_sizes && is_shared(kernel, l))) return;
    if (m->several_columns && l->more & COLUMNS) return;
    bool diagonal = (l->more & DIAGONAL) && m->jacobi && m->varies;
    bool old = (l->more & OLD) && m->chebyshev;
    double words = l->words + 2 * diagonal + old + ((l->more & VARIES) && m->varies);
    double entry = l->entry_flops * (m->flux ? 1.5 : 1);
    if (l->more & FACES) words += m->faces;
    const bool pairs = (l->more & PAIRS) && m->pairs_steps;
    if (pairs) words -= 1.5;
    if ((pairs || l->more & OLD_P) && !m->makes_old) words += 0.5;
    if (l->more & LABELS) words += 2 / m->number;
    if (l->more & PIECES) words += 0.625 / m->number;
    if ((l->more & MATRIX) && !(m->matrix_bytes > 0)) return;
    *bytes = words * m->number * (double)m->n + (l->more & MATRIX ? m->matrix_bytes : 0);
    if (m->nnz >= 0 || l->entry_flops == 0)
        *flops = (l->flops + 3 * diagonal + 2 * old) * (double)m->n +
                 (entry > 0 ? entry * (double)m->nnz : 0);
}
