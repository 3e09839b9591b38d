/* subdomains.c - which vectors deflation takes. */
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include "precond/labels_device.h"
#include "precond/rows.h"
#include <float.h>
#include <kry/io.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4096 }; /* sub-domains, about, where the caller does not say how many */

/* The grid that A, or on a team each of its parts, is made for; NULL: none. */
static const kryi_stencil *grid_of(const kry_op *A) { return kryi_stencil_here(kryi_op_first(A)); }

/* The phases of a grid's cells; NULL where its coefficient is one number. */
static kry_status phases_of(const kry_op *A, int32_t **phase, int64_t *count)
{
    kry_status st = KRY_OK;
    double *field = NULL;
    size_t n = (size_t)A->shape.rows;

    *count = 1;
    if (!grid_of(A)->coefficient) return KRY_OK;
    TRY(kryi_alloc(n, sizeof *field, &field));
    TRY(kryi_alloc(n, sizeof **phase, phase));
    const kryi_here here = kryi_op_here(A);
    int64_t first = kryi_op_in_parts(A) ? kryi_op_split(A)->first[here.begin] : 0;
    for (int r = here.begin; r < here.end; r++) {
        const kryi_stencil *grid = kryi_stencil_here(kryi_op_piece(A, r));
        TRY(kryi_stencil_read(grid, grid->coefficient, grid->n, field + first));
        first += grid->n;
    }
    if (kryi_op_in_parts(A)) TRY(kryi_split_all_rows(kryi_op_split(A), sizeof *field, field));
    TRY(kry_labels_levels(A->shape.rows, field, 0, *phase, count));
done:
    free(field);
    return st;
}

static kry_status label_blocks(const kry_op *A, const kry_deflation_params *p, int32_t *labels,
                               int64_t *count)
{
    kry_status st = KRY_OK;
    const kryi_stencil *grid = grid_of(A);
    int32_t *phase = NULL;
    int64_t phases, size[3] = { 0 };
    size_t bytes = (size_t)A->shape.rows * sizeof *labels;

    CHECK(grid, KRY_ERR_UNSUPPORTED,
          "kry_deflation_create: '%s' is not a grid operator, so it has no blocks and no phases: "
          "take stripes, graph, or labels (kry_labels_blocks makes them)",
          A->table->kind);
    for (int a = 0; a < grid->axes; a++) size[a] = kryi_stencil_whole(grid, a);
    if (p->phase) TRY(phases_of(A, &phase, &phases));
    if (p->block) {
        TRY(kry_labels_blocks(size, (int64_t[]){ p->block, p->block, p->block }, phase, labels,
                              count));
    } else if (phase) {
        memcpy(labels, phase, bytes);
        *count = phases;
    } else {
        memset(labels, 0, bytes);
        *count = 1;
    }
done:
    free(phase);
    return st;
}

/* The smallest multiple of eight cells that leaves no more than MANY blocks; on small grids
 * four. */
static int64_t usual_block(const kryi_stencil *grid, int64_t n)
{
    for (int64_t block = 4;; block += block < 8 ? 4 : 8) {
        double blocks = 1;
        for (int a = 0; a < grid->axes; a++) {
            int64_t along = (kryi_stencil_whole(grid, a) + block - 1) / block;
            blocks *= (double)along;
        }
        if (blocks <= MANY && blocks * 16 <= (double)n) return block;
        if (block > n) return block;
    }
}

/* The caller's choice, or that of kry: blocks split by phase on grids, else parts of the graph. */
static kry_deflation_params choose(const kry_op *A, const kry_deflation_params *given)
{
    kry_deflation_params p = *given;
    const kryi_stencil *grid = grid_of(A);
    int64_t n = A->shape.rows;

    if (p.labels || p.labels_file || p.stripes || p.block || p.phase || p.graph) return p;
    p.block = grid ? usual_block(grid, n) : 0;
    p.phase = grid != NULL;
    int64_t most = grid ? 0 : n / 64 < MANY ? n / 64 : MANY;
    int64_t each = p.modes ? p.modes->k : kryi_matrix_block(A);
    if (each > 1) most /= each;
    p.graph = grid ? 0 : most < 1 ? 1 : most;
    return p;
}

/* fallback: the caller leaves the choice to kry, and the graph cannot be cut. */
static kry_status label(const kry_op *A, const kry_deflation_params *given, int32_t *labels,
                        int64_t *count, bool *fallback)
{
    kry_status st = KRY_OK;
    const kry_deflation_params p = choose(A, given);
    int64_t n = A->shape.rows;

    if (p.labels) {
        memcpy(labels, p.labels, (size_t)n * sizeof *labels);
        TRY(kry_labels_check(n, labels, count));
    } else if (p.labels_file) {
        TRY(kry_labels_read(p.labels_file, n, labels, count));
    } else if (p.stripes) {
        TRY(kry_labels_stripes(n, p.stripes, labels));
        *count = p.stripes;
    } else if (p.graph) {
        st = kryi_label_graph(A, p.graph, !p.modes, labels, count);
        if (st == KRY_ERR_UNSUPPORTED && !given->graph) {
            *fallback = true, *count = p.graph;
            st = kry_labels_stripes(n, p.graph, labels);
        }
    } else {
        TRY(label_blocks(A, &p, labels, count));
    }
done:
    return st;
}

/* Whether every unknown is a node of its own, by the caller's word or by the pattern. */
static kry_status has_single_nodes(const kry_op *A, bool *single)
{
    kry_status st = KRY_OK;
    const kryi_matrix *matrix = kryi_matrix_of(A);
    kryi_csr rows = { 0 };
    kryi_device_csr pattern = { 0 };

    *single = kryi_matrix_block(A) == 1;
    if (kryi_matrix_block(A)) return KRY_OK;
    if (!matrix->sorted.col) {
        TRY(kryi_device_csr_pattern_of(matrix, &pattern));
        TRY(kryi_device_csr_rows_for_nodes(&pattern, &rows));
    }
    *single = kryi_csr_block(rows.col ? &rows : &matrix->sorted, A->shape.rows) == 1;
done:
    kryi_device_csr_release(&pattern);
    kryi_csr_release(&rows);
    return st;
}

/* Blocks and phases, and parts of the graph that kry chooses, where the device makes A Z, so that nobody needs labels
 * on the host. */
static kry_status label_on_device(const kry_op *A, const kry_deflation_params *given,
                                  kryi_subdomains *s)
{
    kry_status st = KRY_OK;
    const kryi_stencil *grid = kryi_stencil_of(A);
    bool single = false;

    if (!kryi_galerkin_suits(A) || given->modes) return KRY_OK;
    const kry_deflation_params p = choose(A, given);
    s->dev = A->dev;
    if (grid && (p.block || p.phase))
        return kryi_labels_of_grid(grid, p.block, p.phase, &s->label, &s->count);
    if (p.graph && !given->graph) TRY(has_single_nodes(A, &single));
    if (single) TRY(kryi_labels_of_graph(kryi_matrix_of(A), p.graph, &s->label, &s->count));
done:
    return st;
}

/* Vectors of the caller's: deflation vectors, or modes. */
static kry_status check_vectors(const kry_op *A, const kry_vec *Z)
{
    kry_status st = KRY_OK;

    CHECK(Z->n == A->shape.rows, KRY_ERR_SHAPE,
          "kry_deflation_create: A has %lld rows, the deflation vectors %lld",
          (long long)A->shape.rows, (long long)Z->n);
    CHECK(Z->k > 0 && Z->k <= Z->n, KRY_ERR_ARGUMENT,
          "kry_deflation_create: there cannot be %lld deflation vectors for %lld unknowns",
          (long long)Z->k, (long long)Z->n);
    CHECK(
        Z->type == A->shape.type && Z->dev == A->dev, KRY_ERR_TYPE,
        "kry_deflation_create: the deflation vectors have another number type or device than '%s'",
        A->table->kind);
done:
    return st;
}

/* At most one way to choose the vectors, and no negative sizes. */
static kry_status check_choice(const kry_deflation_params *p)
{
    kry_status st = KRY_OK;
    int ways = (p->labels != NULL) + (p->labels_file != NULL) + (p->vectors != NULL) +
               (p->stripes != 0) + (p->graph != 0) + (p->recycle != 0) + (p->block || p->phase);

    CHECK(ways <= 1, KRY_ERR_ARGUMENT,
          "kry_deflation_create: give one of labels, labels_file, vectors, stripes, graph, recycle "
          "and "
          "block or phase, not %d of them",
          ways);
    CHECK(!(p->vectors || p->recycle) || !(p->modes || p->modes_file), KRY_ERR_ARGUMENT,
          "kry_deflation_create: modes go with sub-domains, not with vectors");
    CHECK(!p->modes || !p->modes_file, KRY_ERR_ARGUMENT,
          "kry_deflation_create: give modes or modes_file, not both");
    CHECK(p->stripes >= 0 && p->graph >= 0 && p->block >= 0, KRY_ERR_ARGUMENT,
          "kry_deflation_create: stripes = %lld, graph = %lld, block = %lld: none may be negative",
          (long long)p->stripes, (long long)p->graph, (long long)p->block);
done:
    return st;
}

/* ---- modes ----------------------------------------------------------------------------------- */

/* sum[s] := u'v on sub-domain s */
static void dot_products(const kryi_subdomains *s, int64_t n, const double *u, const double *v,
                         double *sum)
{
    memset(sum, 0, (size_t)s->count * sizeof *sum);
    for (int64_t i = 0; i < n; i++) sum[s->labels[i]] += u[i] * v[i];
}

/* Make mode j orthogonal to those before it within each sub-domain, and its squares 1 on average; zero where
 * less than `least` of it is left. room: 2 count */
static void orthogonalise(const kryi_subdomains *s, int64_t n, int j, double least,
                          const double *size, double *room)
{
    double *v = s->modes + j * n, *sum = room, *before = room + s->count;

    dot_products(s, n, v, v, before);
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < j; l++) {
            const double *u = s->modes + l * n;
            dot_products(s, n, u, v, sum);
            for (int64_t i = 0; i < n; i++) v[i] -= sum[s->labels[i]] / size[s->labels[i]] * u[i];
        }
    dot_products(s, n, v, v, sum);
    for (int64_t d = 0; d < s->count; d++)
        sum[d] = sum[d] > least * least * before[d] ? sqrt(size[d] / sum[d]) : 0;
    for (int64_t i = 0; i < n; i++) v[i] *= sum[s->labels[i]];
}

static kry_status take_modes(const kry_vec *modes, kryi_subdomains *s)
{
    kry_status st = KRY_OK;
    const int64_t n = modes->n;
    const double least = sqrt(modes->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    double *size = NULL, *room = NULL;

    s->per = (int)modes->k;
    TRY(kryi_alloc((uint64_t)(n * modes->k), sizeof *s->modes, &s->modes));
    TRY(kryi_alloc((size_t)s->count, sizeof *size, &size));
    TRY(kryi_alloc(2 * (size_t)s->count, sizeof *room, &room));
    TRY(kryi_vec_read_doubles(modes, s->modes));
    for (int64_t e = 0; e < n * modes->k; e++)
        CHECK(isfinite(s->modes[e]), KRY_ERR_ARGUMENT,
              "kry_deflation_create: mode %lld is %g at unknown %lld", (long long)(e / n),
              s->modes[e], (long long)(e % n));
    for (int64_t i = 0; i < n; i++) size[s->labels[i]]++;
    for (int j = 0; j < s->per; j++) orthogonalise(s, n, j, least, size, room);
done:
    free(room);
    free(size);
    return st;
}

/* An array of n rows, a column for each mode. */
static kry_status read_modes(const kry_op *A, const char *path, kry_vec **modes)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;
    const int64_t n = A->shape.rows;

    TRY(kry_mtx_read(path, &m));
    CHECK(m->array && m->symmetry == KRY_MTX_GENERAL, KRY_ERR_PARSE,
          "%s: modes are a general array, a column for each", path);
    CHECK(m->rows == n && m->cols > 0, KRY_ERR_PARSE, "%s: it has %lld rows, the matrix %lld", path,
          (long long)m->rows, (long long)n);
    TRY(kry_vec_create(A->dev, A->shape.type, n, m->cols, modes));
    TRY(kryi_vec_write_doubles(*modes, m->val));
done:
    kry_mtx_release(&m);
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------- */

kry_status kryi_subdomains_find(const kry_op *A, const kry_deflation_params *params,
                                kryi_subdomains *s)
{
    kry_status st = KRY_OK;
    kry_deflation_params p = *params;
    kry_vec *read = NULL;

    *s = (kryi_subdomains){ .vectors = p.vectors, .recycle = (int)p.recycle };
    TRY(check_choice(&p));
    if (s->recycle) return KRY_OK;
    if (s->vectors) return check_vectors(A, s->vectors);
    CHECK((!p.modes && !p.modes_file) || !kryi_op_on_ranks(A), KRY_ERR_UNSUPPORTED,
          "kry_deflation_create: modes are not for ranks, of which each has some rows only");
    if (p.modes_file) TRY(read_modes(A, p.modes_file, &read));
    if (read) p.modes = read;
    if (p.modes) TRY(check_vectors(A, p.modes));
    TRY(label_on_device(A, &p, s));
    if (s->label) goto done;
    TRY(kryi_alloc((size_t)A->shape.rows, sizeof *s->labels, &s->labels));
    TRY(label(A, &p, s->labels, &s->count, &s->fallback));
    if (p.labels || p.labels_file)
        kryi_team_same(A->dev, s->labels, (size_t)A->shape.rows * sizeof *s->labels);
    if (p.modes) TRY(take_modes(p.modes, s));
done:
    kry_vec_release(&read);
    if (st < 0) kryi_subdomains_release(s);
    return st;
}

void kryi_subdomains_release(kryi_subdomains *s)
{
    free(s->modes);
    free(s->labels);
    if (s->label) kryi_buffer_release(s->dev, &s->label);
    *s = (kryi_subdomains){ 0 };
}

kry_status kryi_subdomains_of_part(const kryi_subdomains *all, const kry_op *A, int rank,
                                   kry_vec *vectors, kryi_subdomains *s)
{
    kry_status st = KRY_OK;
    const kryi_split *split = kryi_op_split(A);
    int64_t n = kryi_split_rows(split, rank), *place = NULL;

    *s = (kryi_subdomains){
        .count = all->count, .per = all->per, .fallback = all->fallback, .recycle = all->recycle
    };
    if (all->recycle) return KRY_OK;
    if (all->vectors) {
        *vectors = kryi_vec_on_part(all->vectors, rank);
        s->vectors = vectors;
        return KRY_OK;
    }
    TRY(kryi_couplings_beyond(kryi_op_on_part(A, rank), &s->beyond, &place));
    TRY(kryi_alloc((size_t)(n + s->beyond), sizeof *s->labels, &s->labels));
    kryi_split_copy(split, rank, sizeof *all->labels, all->labels, s->labels, true);
    for (int64_t i = 0; i < s->beyond; i++)
        s->labels[n + i] = all->labels[kryi_split_row(split, place[i])];
    if (all->modes) TRY(kryi_alloc((uint64_t)(n * s->per), sizeof *s->modes, &s->modes));
    for (int64_t j = 0; all->modes && j < s->per; j++)
        kryi_split_copy(split, rank, sizeof *s->modes, all->modes + j * split->n, s->modes + j * n,
                        true);
done:
    free(place);
    if (st < 0) kryi_subdomains_release(s);
    return st;
}
