/*
 * source.c - where a matrix comes from: a Matrix Market file or a generated problem.
 */
#include "source.h"
#include "page/text.h"
#include "ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kry_status no_grid(const char *name)
{
    return kry_fail(KRY_ERR_UNSUPPORTED,
                    "%s has no grid, which --format stencil needs (as poisson2d:N has it)", name);
}

/* Entries of a grid are made only if a stored matrix is wanted. */
static kry_status open_problem(const char *spec, uint64_t seed, const form *f, kry_problem **p)
{
    kry_status st = KRY_ERR_UNSUPPORTED;
    if (f && !f->stored) st = kry_problem_create_grid(spec, seed, p);
    if (st != KRY_ERR_UNSUPPORTED) return st;
    return f && f->stencil ? no_grid(spec) : kry_problem_create(spec, seed, p);
}

/* On ranks each makes its own part, of the grid or of the rows. Collective. */
static kry_status open_part(const char *spec, uint64_t seed, const form *f, source *s)
{
    kry_status st = KRY_OK;

    TRY(ranks_agree(kry_problem_create_bare(spec, seed, &s->problem)));
    st = f && !f->stored ? kry_problem_set_part(s->problem, s->device, f->blocks)
                         : KRY_ERR_UNSUPPORTED;
    if (st != KRY_ERR_UNSUPPORTED) goto done;
    if (f && f->stencil) TRY(no_grid(spec));
    TRY(kry_problem_share(s->problem, s->device, &s->share));
done:
    return st;
}

/* A row of 2 or 3 numbers for each node, that has as many unknowns. */
static kry_status read_coordinates(const char *path, source *s)
{
    kry_status st = KRY_OK;
    kry_mtx *mtx = NULL;

    TRY(kry_mtx_read(path, &mtx));
    CHECK(
        (mtx->cols == 2 || mtx->cols == 3) && mtx->rows * mtx->cols == s->rows, KRY_ERR_SHAPE,
        "%s is %lld by %lld, but coordinates have a row for each node and 2 or 3 columns, and for "
        "this matrix %lld numbers in all",
        path, (long long)mtx->rows, (long long)mtx->cols, (long long)s->rows);
    s->axes = (int)mtx->cols;
    TRY(allocate((size_t)s->rows, sizeof *s->coordinates, &s->coordinates));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        const int64_t node = mtx->array ? e % mtx->rows : mtx->row[e],
                      axis = mtx->array ? e / mtx->rows : mtx->col[e];
        s->coordinates[node * mtx->cols + axis] += mtx->val[e];
    }
done:
    kry_mtx_release(&mtx);
    return st;
}

/* A file with imaginary parts other than 0 is read once more, as pairs; of arrays the first message stays. */
static kry_status read_matrix(source *s)
{
    char why[1024];
    kry_status st = kry_mtx_read(s->file, &s->mtx);

    if (st != KRY_ERR_PARSE || !strstr(kry_last_error(), "imaginary part is")) return st;
    snprintf(why, sizeof why, "%s", kry_last_error());
    st = kry_mtx_read_pairs(s->file, &s->mtx);
    s->pairs = st == KRY_OK;
    if (!s->pairs || !s->mtx->array) return st;
    kry_mtx_release(&s->mtx);
    return kry_fail(KRY_ERR_PARSE, "%s", why);
}

kry_status source_open(const char *file, const char *spec, uint64_t seed, const form *f, source *s)
{
    kry_status st = KRY_OK;
    double start = now();
    kryi_text_printable(file ? file : spec, s->name, sizeof s->name);
    s->file = file;
    if (file && f && f->stencil) TRY(no_grid(file));
    const bool on_ranks = s->device && ranks_count() > 1;
    if (file && on_ranks) {
        TRY(kry_share_read(s->device, file, &s->share));
        s->rows = s->cols = s->share->n;
    } else if (file) {
        TRY(read_matrix(s));
        s->rows = s->mtx->rows;
        s->cols = s->mtx->cols;
        s->given = s->mtx->nnz;
    } else {
        TRY(on_ranks ? open_part(spec, seed, f, s) : open_problem(spec, seed, f, &s->problem));
        s->rows = s->cols = s->problem->n;
        s->given = s->problem->nnz;
    }
    if (s->share) s->given = s->share->given;
    s->first = s->share ? s->share->first : 0;
    s->here = s->share ? s->share->rows : s->rows;
    if (f && f->coordinates) TRY(read_coordinates(f->coordinates, s));
    s->seconds = now() - start;
done:
    return st;
}

kry_status source_check_claims(const source *s)
{
    enum { MOSTLY_EMPTY = 8 }; /* rows, or columns, to an entry */
    kry_status st = KRY_OK;
    const int64_t most = s->given < INT64_MAX / 16 ? MOSTLY_EMPTY * s->given + 4096 : INT64_MAX;

    CHECK(s->problem || s->rows <= most, KRY_ERR_UNSUPPORTED,
          "%s claims %lld rows and has %lld entries: almost all of its rows are empty, and so no "
          "right-hand side but 0 there has a solution",
          s->name, (long long)s->rows, (long long)s->given);
    CHECK(s->problem || s->cols <= most, KRY_ERR_UNSUPPORTED,
          "%s claims %lld columns and has %lld entries: almost all of its columns are empty, and "
          "so almost all unknowns are in no equation",
          s->name, (long long)s->cols, (long long)s->given);
done:
    return st;
}

void source_release(source *s)
{
    kry_mtx_release(&s->mtx);
    kry_share_release(&s->share);
    kry_problem_release(&s->problem);
    free(s->coordinates);
    free(s->null);
}

unsigned source_traits(const source *s)
{
    if (s->problem) return s->problem->traits;
    const kry_mtx_symmetry symmetry = s->share ? s->share->symmetry : s->mtx->symmetry;
    return symmetry == KRY_MTX_SYMMETRIC ? KRY_SYMMETRIC : 0;
}

/* A matrix was refused with `st`: if that is for entries at one place, say on which lines they are. */
static kry_status name_duplicates(const source *s, kry_status st)
{
    char why[1024];
    const kry_status found = s->pairs ? KRY_OK : kry_mtx_check_duplicates(s->file, s->mtx);

    if (found == KRY_OK) return st;
    snprintf(why, sizeof why, "%s", kry_last_error());
    return kry_fail(found, found == KRY_ERR_ARGUMENT ? "%s. --duplicates add adds them up" : "%s",
                    why);
}

static kry_status stored_matrix(const source *s, kry_device *device, kry_type type,
                                const kry_matrix_params *params, kry_op **A)
{
    kry_status st = KRY_OK;
    const kry_problem *p = s->problem;
    float *owned = NULL;
    const void *val = NULL;
    kry_matrix_params with_traits = *params;
    with_traits.traits |= source_traits(s);
    if (s->share) return kry_share_matrix(device, type, s->share, &with_traits, A);
    if (s->mtx) {
        st = kry_mtx_matrix(device, type, s->mtx, &with_traits, A);
        if (st == KRY_ERR_ARGUMENT && params->duplicates == KRY_REFUSE) st = name_duplicates(s, st);
        goto done;
    }
    TRY(convert_values(type, p->nnz, p->val, &val, &owned));
    TRY(kry_csr_create(device, type, p->n, p->n, p->row_ptr, p->col, val, &with_traits, A));
done:
    free(owned);
    return st;
}

bool source_matrix_free(const source *s) { return s->problem && !s->problem->row_ptr && !s->share; }

/* ---- rigid body modes ------------------------------------------------------------- */

/* Tell A the rigid body modes of nodes with these coordinates. */
static kry_status set_modes(int axes, const double *coordinates, kry_op *A)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    const int64_t n = shape->rows, m = axes == 2 ? 3 : 6;
    kry_vec *V = NULL, *one = NULL;
    double *modes = NULL;
    float *narrow = NULL;
    const void *numbers;

    if (n <= m) return KRY_OK; /* so few that any preconditioner will do */
    TRY(allocate((uint64_t)(n * m), sizeof *modes, &modes));
    TRY(kry_rigid_body_modes(axes, n / axes, coordinates, modes));
    TRY(convert_values(shape->type, n * m, modes, &numbers, &narrow));
    TRY(kry_vec_create(kry_op_device(A), shape->type, n, m, &V));
    for (int64_t j = 0; j < m; j++) {
        TRY(kry_vec_view(V, j, &one));
        TRY(write_column(one, (const char *)numbers + j * n * (shape->type == KRY_F32 ? 4 : 8)));
        kry_vec_release(&one);
    }
    TRY(kry_op_set_near_null_space(A, V));
done:
    kry_vec_release(&one);
    kry_vec_release(&V);
    free(narrow);
    free(modes);
    return st;
}

/* A stored matrix, with what is known of its nodes. */
static kry_status matrix_of_nodes(const source *s, kry_device *device, kry_type type, const form *f,
                                  kry_op **A)
{
    kry_status st = KRY_OK;
    const kry_problem *p = s->problem;
    const bool own = p && !s->coordinates;
    const double *coordinates = own ? p->coordinates : s->coordinates;
    const int axes = own ? p->axes : s->axes;
    kry_matrix_params matrix = f->matrix;

    matrix.on_host = f->on_host;
    if (!matrix.block) matrix.block = coordinates ? axes : p ? p->block : 0;
    CHECK(!s->coordinates || matrix.block == axes, KRY_ERR_ARGUMENT,
          "--block-size %d: nodes with %d coordinates have %d unknowns", matrix.block, axes, axes);
    TRY(stored_matrix(s, device, type, &matrix, A));
    if (f->modes && coordinates && matrix.block == axes) TRY(set_modes(axes, coordinates, *A));
done:
    return st;
}

kry_status source_operator(const source *s, kry_device *device, kry_type type, const form *f,
                           kry_op **A)
{
    if (!source_matrix_free(s)) return matrix_of_nodes(s, device, type, f, A);
    kry_stencil_params grid = *s->problem->grid;
    grid.on_host = f->on_host;
    memcpy(grid.blocks, f->blocks, sizeof grid.blocks);
    return kry_stencil_create(device, type, &grid, A);
}

/* ---- matrices on the host --------------------------------------------------------- */

/* An array file goes down its columns, from the diagonal if symmetric. */
void mtx_entry_place(const kry_mtx *mtx, int64_t e, int64_t *i, int64_t *j)
{
    if (!mtx->array) {
        *i = mtx->row[e];
        *j = mtx->col[e];
        return;
    }
    int64_t below = mtx->symmetry == KRY_MTX_SKEW;
    bool half_given = mtx->symmetry != KRY_MTX_GENERAL;
    if (e == 0) {
        *i = below;
        *j = 0;
    } else if (++*i == mtx->rows) {
        ++*j;
        *i = half_given ? *j + below : 0;
    }
}

/* The transpose from coordinates, symmetric halves filled in; its rows are in any order. */
static kry_status transpose_of_mtx(const kry_mtx *mtx, sparse *T)
{
    kry_status st = KRY_OK;
    bool half_given = mtx->symmetry != KRY_MTX_GENERAL;
    double mirrored = mtx->symmetry == KRY_MTX_SKEW ? -1 : 1;
    int64_t i = 0, j = 0, nnz = mtx->nnz;
    for (int64_t e = 0; half_given && e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        nnz += i != j;
    }
    TRY(kryi_host_matrix_create(mtx->cols, mtx->rows, nnz, T));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        T->row_ptr[j + 1]++;
        if (half_given && i != j) T->row_ptr[i + 1]++;
    }
    kryi_host_matrix_begin_rows(T);
    for (int64_t e = 0; e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        kryi_host_matrix_put(T, j, i, mtx->val[e]);
        if (half_given && i != j) kryi_host_matrix_put(T, i, j, mirrored * mtx->val[e]);
    }
done:
    return st;
}

kry_status sparse_of_source(const source *s, sparse *A)
{
    kry_status st = KRY_OK;
    sparse T = { 0 };
    if (s->problem) {
        const kry_problem *p = s->problem;
        *A = (sparse){ .rows = p->n,
                       .cols = p->n,
                       .nnz = p->nnz,
                       .row_ptr = p->row_ptr,
                       .col = p->col,
                       .val = p->val,
                       .borrowed = true };
        goto done;
    }
    TRY(transpose_of_mtx(s->mtx, &T));
    TRY(kryi_host_matrix_transpose(&T, A));
done:
    kryi_host_matrix_release(&T);
    return st;
}

static int ascending(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

/* All numbers of rows and of columns that occur in a file, ascending. */
static kry_status places_of(const kry_mtx *mtx, int32_t **place, int64_t *count)
{
    kry_status st = KRY_OK;
    const size_t nnz = (size_t)mtx->nnz;

    *count = 0;
    TRY(allocate(2 * nnz, sizeof **place, place));
    if (!nnz) goto done;
    memcpy(*place, mtx->row, nnz * sizeof **place);
    memcpy(*place + nnz, mtx->col, nnz * sizeof **place);
    qsort(*place, 2 * nnz, sizeof **place, ascending);
    for (size_t e = 0; e < 2 * nnz; e++)
        if (e == 0 || (*place)[e] > (*place)[*count - 1]) (*place)[(*count)++] = (*place)[e];
done:
    return st;
}

static void renumber(int32_t *index, int64_t count, const int32_t *place, int64_t places)
{
    for (int64_t e = 0; e < count; e++) {
        const int32_t *at = bsearch(&index[e], place, (size_t)places, sizeof *place, ascending);
        index[e] = (int32_t)(at - place);
    }
}

static int64_t count_below(const int32_t *place, int64_t count, int64_t end)
{
    while (count > 0 && place[count - 1] >= end) count--;
    return count;
}

kry_status sparse_condensed(source *s, sparse *A)
{
    kry_status st = KRY_OK;
    kry_mtx *m = s->mtx;
    int32_t *place = NULL;
    int64_t places;

    if (!s->problem && (!m->array || m->nnz == 0) && m->rows + m->cols > 8 * m->nnz + 4096) {
        TRY(places_of(m, &place, &places));
        renumber(m->row, m->nnz, place, places);
        renumber(m->col, m->nnz, place, places);
        m->rows = count_below(place, places, m->rows);
        m->cols = count_below(place, places, m->cols);
    }
    TRY(sparse_of_source(s, A));
    A->place = place;
    place = NULL;
done:
    free(place);
    return st;
}
