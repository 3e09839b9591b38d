/*
 * export.c - a grid operator as a stored matrix, and its product on the host.
 */
#include "grid/stencil.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <stdlib.h>
#include <string.h>

/* Coefficients and faces, read back from the device. All NULL: each axis has one weight. */
typedef struct faces {
    double *cell, *axis[3], *below;
    bool whole; /* rows of the whole grid, with the columns that are on other parts */
} faces;

static kry_status fetch(const kryi_stencil *A, cl_mem buffer, int64_t count, double **numbers)
{
    kry_status st = KRY_OK;

    if (!buffer) return KRY_OK;
    TRY(kryi_alloc((size_t)count, sizeof **numbers, numbers));
    TRY(kryi_stencil_read(A, buffer, count, *numbers));
done:
    return st;
}

static kry_status fetch_faces(const kryi_stencil *A, bool whole, faces *f)
{
    kry_status st = KRY_OK;

    *f = (faces){ .whole = whole };
    TRY(fetch(A, A->coefficient, A->n, &f->cell));
    for (int a = 0; a < A->axes; a++) TRY(fetch(A, A->face[a], A->n, &f->axis[a]));
    TRY(fetch(A, A->slab.face_below, A->slab.layer, &f->below));
done:
    return st;
}

static void release_faces(faces *f)
{
    free(f->cell);
    free(f->below);
    for (int a = 0; a < 3; a++) free(f->axis[a]);
}

typedef struct row {
    int32_t col[7];
    double val[7];
    int count;
} row;

/* Add to the entry of a column; columns stay ascending. */
static void add(row *r, int64_t col, double value)
{
    int at = 0;
    while (at < r->count && r->col[at] < col) at++;
    if (at == r->count || r->col[at] != col) {
        for (int e = r->count++; e > at; e--) r->col[e] = r->col[e - 1], r->val[e] = r->val[e - 1];
        r->col[at] = (int32_t)col, r->val[at] = 0;
    }
    r->val[at] += value;
}

/* The number in the whole grid of the cell below or above, which is on another part. */
static int64_t beyond(const kryi_stencil *A, int64_t i, bool high)
{
    int64_t n = A->slab.layer * A->slab.all;
    return (i + (high ? A->slab.layer : n - A->slab.layer)) % n;
}

/* A face of a cell. The row of cell i gets weight (x_i - x_cell), or with no cell weight (1 - ghost) x_i. */
typedef struct face {
    double weight;
    int64_t cell; /* -1: outside the grid, or on another part */
    bool shared;  /* that cell is on another part */
    int ghost;
} face;

/* Between cell i and its lower or higher neighbour along an axis. */
static face face_of(const kryi_stencil *A, const faces *f, int64_t i, int axis, bool high)
{
    int64_t cell = kryi_stencil_neighbour(A, i, axis, high);
    face g = { .weight = A->weight[axis],
               .cell = cell < A->n ? cell : -1,
               .shared = cell >= A->n,
               .ghost = kryi_ghost(high ? A->high[axis] : A->low[axis]) };

    if (f->axis[axis] && (high || g.cell >= 0))
        g.weight = f->axis[axis][high ? i : g.cell];
    else if (f->below && g.shared)
        g.weight = f->below[i];
    else if (f->cell)
        g.weight *= f->cell[i];
    return g;
}

/* What a row adds up to: the weights of its faces on sides of the grid. */
static double outflow(const kryi_stencil *A, const faces *f, int64_t i)
{
    double sum = 0;

    for (int side = 0; side < 2 * A->axes; side++) {
        const face g = face_of(A, f, i, side / 2, side % 2);
        if (g.cell < 0 && !g.shared) sum += g.weight * (1 - g.ghost);
    }
    return sum;
}

static row make_row(const kryi_stencil *A, const faces *f, int64_t i)
{
    row r = { .count = 0 };
    int64_t base = f->whole ? A->slab.first * A->slab.layer : 0;

    add(&r, base + i, 0);
    for (int side = 0; side < 2 * A->axes; side++) {
        const face g = face_of(A, f, i, side / 2, side % 2);
        if (g.cell == i) continue; /* its own neighbour */
        add(&r, base + i, g.cell < 0 && !g.shared ? g.weight * (1 - g.ghost) : g.weight);
        if (g.cell >= 0) add(&r, base + g.cell, -g.weight);
        if (g.shared && f->whole) add(&r, beyond(A, base + i, side % 2), -g.weight);
    }
    return r;
}

kry_status kryi_stencil_rows_like(const kryi_stencil *A, const kryi_csr *like, kryi_csr *rows,
                                  void **sums)
{
    kry_status st = KRY_OK;
    const int width = 2 * A->axes + 1;
    int64_t to = 0, wanted = 0;
    faces f = { 0 };

    *rows = (kryi_csr){ 0 };
    for (int64_t i = 0; i < A->n; i++) wanted += kryi_row_length(like, i) > 0;
    TRY(kryi_csr_create(A->n, A->n, A->type, width * wanted, rows));
    TRY(kryi_alloc((size_t)A->n, kry_type_size(A->type), sums));
    TRY(fetch_faces(A, false, &f));
    for (int64_t i = 0; i < A->n; i++) {
        const row r = kryi_row_length(like, i) ? make_row(A, &f, i) : (row){ .count = 0 };
        for (int e = 0; e < r.count; e++, to++) {
            rows->col[to] = r.col[e];
            kryi_number_put(A->type, rows->val, to, r.val[e]);
        }
        rows->row_ptr[i + 1] = to;
        kryi_number_put(A->type, *sums, i, r.count ? outflow(A, &f, i) : 0);
    }
done:
    if (st < 0) kryi_csr_release(rows);
    release_faces(&f);
    return st;
}

/* Rows, each with room for `width` entries; entry i + 1 of row_ptr: how many of them row i has. */
typedef struct table {
    bool whole; /* of all slabs, else of the one at hand, whose couplings to others are left out */
    int width;
    kryi_csr *rows;
} table;

static void put_row(const table *t, int64_t i, const row *r)
{
    t->rows->row_ptr[i + 1] = r->count;
    for (int e = 0; e < r->count; e++) {
        t->rows->col[t->width * i + e] = r->col[e];
        kryi_number_put(t->rows->type, t->rows->val, t->width * i + e, r->val[e]);
    }
}

/* The rows of the whole grid that a box has. */
static kry_status fill_from_box(const kry_op *box, const table *t)
{
    kry_status st = KRY_OK;
    const kryi_layout *layout = &box->dev->layout;
    const int64_t *place, n = box->shape.rows;
    kryi_csr all = { 0 };

    TRY(kryi_coupled_download(box, &all));
    (void)kryi_coupled_places(box, &place);
    for (int64_t i = 0; i < n; i++) {
        row r = { .count = 0 };
        for (int64_t e = all.row_ptr[i]; e < all.row_ptr[i + 1]; e++) {
            const int32_t j = all.col[e];
            add(&r,
                j < n ? kryi_layout_row(layout, j) : kryi_split_row(layout->split, place[j - n]),
                kryi_number_at(all.type, all.val, e));
        }
        put_row(t, kryi_layout_row(layout, i), &r);
    }
done:
    kryi_csr_release(&all);
    return st;
}

/* The rows of the grid that are here. */
static kry_status fill(const kryi_call *here)
{
    kry_status st = KRY_OK;
    const kry_op *op = here->A;
    const kryi_stencil *A = kryi_stencil_of(op);
    const table *t = here->more;
    faces f;

    if (!A) return fill_from_box(op, t);
    int64_t first = t->whole ? A->slab.first * A->slab.layer : 0;
    TRY(fetch_faces(A, t->whole, &f));
    for (int64_t i = 0; i < A->n; i++) {
        const row r = make_row(A, &f, i);
        put_row(t, first + i, &r);
    }
done:
    release_faces(&f);
    return st;
}

static void close_gaps(int width, kryi_csr *rows)
{
    int64_t to = 0;
    for (int64_t i = 0; i < rows->rows; i++) {
        int64_t count = rows->row_ptr[i + 1];
        for (int64_t e = width * i; e < width * i + count; e++, to++) {
            rows->col[to] = rows->col[e];
            kryi_number_put(rows->type, rows->val, to, kryi_number_at(rows->type, rows->val, e));
        }
        rows->row_ptr[i + 1] = to;
    }
}

kry_status kryi_stencil_rows(const kry_op *op, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    const kry_op *one = kryi_op_first(op);
    const kryi_stencil *A = kryi_stencil_here(one);
    table t = { kryi_op_in_parts(op), 2 * A->axes + 1, rows };
    int64_t n = op->shape.rows;

    CHECK(!kryi_op_on_ranks(op), KRY_ERR_UNSUPPORTED,
          "the rows of '%s' lie on %d ranks, and are not gathered on one",
          kryi_op_first(op)->table->kind, kry_team_size(op->dev));
    if (!t.whole && kryi_coupled_of(one)) return kryi_coupled_own_rows(one, rows);
    TRY(kryi_csr_create(n, n, op->shape.type, t.width * n, rows));
    TRY(kryi_op_call(&(kryi_call){ .A = op, .more = &t }, fill));
    close_gaps(t.width, rows);
done:
    if (st < 0) kryi_csr_release(rows);
    return st;
}

kry_status kry_stencil_matrix(const kry_op *op, const kry_matrix_params *params, kry_op **matrix)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };
    kry_matrix_params with_traits;

    if (matrix) *matrix = NULL;
    TRY(GIVEN(matrix));
    TAKE_PARAMS(params, with_traits, "kry_stencil_matrix", "KRY_MATRIX");
    CHECK(op, KRY_ERR_ARGUMENT, "kry_stencil_matrix: NULL");
    const kryi_stencil *A = kryi_stencil_here(op);
    CHECK(A, KRY_ERR_ARGUMENT, "kry_stencil_matrix: '%s' is no stencil", op->table->kind);
    TRY(kryi_stencil_rows(op, &rows));
    unsigned cut = KRY_SYMMETRIC | KRY_POSITIVE; /* of the diagonal block of a slab */
    with_traits.traits |= kryi_stencil_of(op) && kryi_stencil_is_slab(A) ? cut : op->shape.traits;
    TRY(kry_csr_create(op->dev, A->type, rows.rows, rows.cols, rows.row_ptr, rows.col, rows.val,
                       &with_traits, matrix));
done:
    kryi_csr_release(&rows);
    return st;
}

kry_status kry_stencil_read(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    TRY(GIVEN(op, row_ptr, col, val));
    CHECK(kryi_stencil_here(op), KRY_ERR_UNSUPPORTED, "kry_stencil_read: '%s' is no stencil",
          op->table->kind);
    TRY(kryi_stencil_rows(op, &rows));
    const uint64_t nnz = (uint64_t)kryi_csr_nnz(&rows);
    memcpy(row_ptr, rows.row_ptr, ((size_t)rows.rows + 1) * sizeof *row_ptr);
    memcpy(col, rows.col, nnz * sizeof *col);
    memcpy(val, rows.val, nnz * kry_type_size(rows.type));
done:
    kryi_csr_release(&rows);
    return st;
}

kry_status kry_stencil_apply_host(const kry_stencil_params *params, kry_type type, const double *x,
                                  double *y)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;
    kry_op *op = NULL;
    faces f = { 0 };

    CHECK(params && x && y, KRY_ERR_ARGUMENT, "kry_stencil_apply_host: NULL");
    TRY(kryi_device_open_aside(&dev));
    TRY(kry_stencil_create(dev, type, params, &op));
    const kryi_stencil *A = kryi_stencil_of(op);
    TRY(fetch_faces(A, false, &f));
    for (int64_t i = 0; i < A->n; i++) {
        y[i] = 0;
        for (int side = 0; side < 2 * A->axes; side++) {
            const face g = face_of(A, &f, i, side / 2, side % 2);
            double weight = type == KRY_F32 ? (double)(float)g.weight : g.weight;
            y[i] += weight * (x[i] - (g.cell < 0 ? g.ghost * x[i] : x[g.cell]));
        }
    }
done:
    release_faces(&f);
    kry_op_release(&op);
    kry_device_release(&dev);
    return st;
}
