/*
 * block_ic.c - M := the inverse of incomplete factors of A's diagonal blocks: incomplete Cholesky
 * for symmetric A, incomplete LU otherwise. The factors: block_factor.c; their solves:
 * block_solve.c; products in place of solves: block_products.c.
 *
 * Storage     the factors
 * Per use     reads r and the factors, writes z
 */
#include "precond/block_ic.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include <kry/formats.h>
#include <kry/precond.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct block_ic {
    kry_op *A; /* retained */
    kryi_block_solve solve;
    kryi_block_products products; /* if they stand in place of solves */
    int64_t rows;
    int fill;
    bool symmetric;
    kry_store storage;
    kry_trisolve trisolve; /* as asked for */
    double shift;          /* at least */
    kryi_csr places;       /* of factors with fill */
    kryi_block_device on_device;
    char variant[112];
} block_ic;

static const char *name_of(bool symmetric)
{
    return symmetric ? "kry_block_ic_create" : "kry_block_ilu_create";
}

/* The distance of neighbours along the last axis of a grid: a line in the plane, a plane in space.
 * Also for a stored matrix that has the diagonals of such a grid: 1 and one or two others. 0: there
 * is none. */
static int64_t last_step(const kry_op *A, const kryi_csr *e)
{
    enum { MOST = 3 };
    int64_t offset[MOST] = { 0 }, most = 0;
    const kryi_stencil *grid = kryi_stencil_of(A);
    bool neighbours = false;
    int found = 0;

    if (grid) return grid->axes == 3 ? grid->size[0] * grid->size[1] : grid->size[0];
    for (int64_t i = 0; i < A->shape.rows; i++)
        for (int64_t q = e->row_ptr[i]; q < e->row_ptr[i + 1]; q++) {
            int64_t d = e->col[q] - i;
            int k = 0;
            while (k < found && offset[k] != d) k++;
            if (d <= 0 || k < found) continue;
            if (found == MOST) return 0;
            offset[found++] = d;
            neighbours |= d == 1;
            if (d > most) most = d;
        }
    return neighbours && found > 1 ? most : 0;
}

/* Two lines or planes of a grid, of large planes so many rows that a GPU has EACH blocks for each compute unit; else eight blocks for
 * each core of a CPU, or enough blocks for the work-items of a GPU. */
static int64_t default_rows(const kry_op *A, const kryi_csr *e)
{
    enum { MOST = 1024, LEAST = 32, ITEMS = 128, EACH = 8, LARGE = 8192 };
    const kry_device_info *info = &A->dev->info;
    int64_t n = A->shape.rows, step = last_step(A, e), rows = 2 * step;

    if (!step) {
        rows = n / ((int64_t)info->compute_units * (info->cpu_kernels ? 8 : ITEMS));
        rows = rows < LEAST ? LEAST : rows > MOST ? MOST : rows;
    }
    if (!info->cpu_kernels && rows >= LARGE) {
        const int64_t enough = n / ((int64_t)info->compute_units * EACH);
        rows = enough < MOST ? MOST : enough < rows ? enough : rows;
    }
    if (rows < LEAST) rows = (LEAST + rows - 1) / rows * rows;
    return rows < n ? rows : n > 0 ? n : 1;
}

static void print_variant(block_ic *M, double shift)
{
    const bool diagonals = M->solve.kernel && M->solve.diagonals.count >= 0;
    const kryi_level_launches *levels = M->solve.sweep;
    char shifted[32] = "", fill[16] = "", how[48] = "";

    if (M->fill) snprintf(fill, sizeof fill, " fill=%d", M->fill);
    if (shift > 0) kryi_print(shifted, sizeof shifted, " shift=%g", shift);
    if (M->products.sweeps)
        snprintf(how, sizeof how, " sweeps=%d", M->products.sweeps);
    else if (M->products.lower)
        snprintf(how, sizeof how, " isai");
    else if (M->solve.by_levels)
        snprintf(how, sizeof how, " levels=%d launches=%d", (int)levels->levels,
                 (int)(levels[0].count + levels[1].count));
    else if (diagonals)
        snprintf(how, sizeof how, " diagonals=%d", M->solve.diagonals.count);
    snprintf(M->variant, sizeof M->variant, "block=%lld%s%s%s%s%s", (long long)M->rows, fill,
             shifted, how, M->storage ? " " : "", M->storage ? kryi_storage_name(M->storage) : "");
}

/* ---- how triangular systems are solved ------------------------------------------------------- */

/* Factors of A with its present numbers, ready to solve with. */
typedef struct ready {
    kryi_block_solve solve;
    kryi_block_products products;
    double shift;
} ready;

/* auto: blocks are solved for row by row, one beside the other, and so is a single block on a CPU. GPUs take sweeps
 * for it if a few are enough, else level sets. */
static kry_trisolve first_choice(const block_ic *M)
{
    const bool one = M->rows >= M->A->shape.rows;

    if (M->trisolve != KRY_TRISOLVE_AUTO) return M->trisolve;
    if (M->A->dev->info.cpu_kernels || !one) return KRY_TRISOLVE_ROWS;
    return M->storage == KRY_STORE_GIVEN ? KRY_TRISOLVE_SWEEPS : KRY_TRISOLVE_LEVELS;
}

/* How many; *enough: false if they are too many and nobody has asked for them. */
static kry_status count_sweeps(const block_ic *M, kryi_block_products *p, bool *enough)
{
    kry_status st = KRY_OK;

    TRY(kryi_block_products_count(p));
    *enough = p->sweeps > 0 || M->trisolve == KRY_TRISOLVE_SWEEPS;
    if (*enough && !p->sweeps) p->sweeps = KRY_MOST_SWEEPS;
done:
    return st;
}

static kry_status lay_out(const block_ic *M, kryi_block_factor *f, kry_trisolve how, ready *to)
{
    kry_status st = KRY_OK;
    bool enough = false;

    if (how == KRY_TRISOLVE_SWEEPS) {
        TRY(kryi_block_products_create(f, true, &to->products));
        TRY(count_sweeps(M, &to->products, &enough));
        if (enough) return KRY_OK;
        kryi_block_products_release(&to->products);
        how = KRY_TRISOLVE_LEVELS;
    }
    if (how == KRY_TRISOLVE_ISAI)
        TRY(kryi_block_products_create(f, false, &to->products));
    else
        TRY(kryi_block_solve_create(f, how == KRY_TRISOLVE_LEVELS, &to->solve));
done:
    return st;
}

/* Make the factor and its solver on the device, where that can be; *made: they were. */
static kry_status make_on_device(block_ic *M, kryi_block_factor *f, kry_trisolve *how, ready *to,
                                 bool *made)
{
    kry_status st = KRY_OK;

    *made = false;
    if (*how != KRY_TRISOLVE_SWEEPS) return KRY_OK;
    TRY(kryi_block_device_make(&M->on_device, f, &to->products, made));
    if (!*made) return KRY_OK;
    TRY(count_sweeps(M, &to->products, made));
    if (!*made) kryi_block_products_release(&to->products), *how = KRY_TRISOLVE_LEVELS;
done:
    return st;
}

static kry_status make(block_ic *M, ready *to)
{
    kry_status st = KRY_OK;
    kryi_csr e = { 0 };
    bool made = false;
    kryi_block_factor f = { .who = name_of(M->symmetric),
                            .A = M->A,
                            .symmetric = M->symmetric,
                            .storage = M->storage,
                            .rows = M->rows,
                            .fill = M->fill,
                            .places = &M->places,
                            .shift = M->shift };

    kry_trisolve how = M->rows ? first_choice(M) : KRY_TRISOLVE_ROWS;
    TRY(make_on_device(M, &f, &how, to, &made));
    if (!made) {
        TRY(kryi_rows_read(f.who, M->A, &e));
        if (!M->rows) M->rows = f.rows = default_rows(M->A, &e), how = first_choice(M);
        TRY(kryi_block_factor_make(&f, &e));
        kryi_csr_release(&e);
        TRY(lay_out(M, &f, how, to));
    }
    to->shift = f.shift;
done:
    kryi_block_factor_release(&f);
    kryi_csr_release(&e);
    return st;
}

/* Factor A with its present numbers. On failure the old factors stay. */
static kry_status refactor(void *self)
{
    kry_status st = KRY_OK;
    block_ic *M = self;
    ready next = { .shift = 0 };

    TRY(make(M, &next));
    if (M->solve.kernel) TRY(kry_device_finish(M->A->dev));
    kryi_block_solve_release(&M->solve);
    kryi_block_products_release(&M->products);
    M->solve = next.solve, M->products = next.products;
    print_variant(M, next.shift);
    next = (ready){ .shift = 0 };
done:
    kryi_block_solve_release(&next.solve);
    kryi_block_products_release(&next.products);
    return st;
}

static kry_status block_run(void *self, const kry_vec *r, kry_vec *z)
{
    block_ic *M = self;
    return M->products.lower ? kryi_block_products_run(&M->products, r, z)
                             : kryi_block_solve_run(&M->solve, r, z);
}

static kry_status block_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kryi_op_apply_by(block_run, self, alpha, x, beta, y);
}

static void block_describe(void *self, kry_op_info *info)
{
    const block_ic *M = self;
    info->variant = M->variant;
    if (M->products.lower) {
        kryi_block_products_describe(&M->products, info);
        return;
    }
    info->nnz = M->solve.nnz;
    info->slots = M->solve.slots;
    info->bytes_stored = M->solve.bytes_stored;
    info->bytes_per_apply = M->solve.bytes_moved;
}

static void block_destroy(void *self)
{
    block_ic *M = self;
    if (!M) return;
    kryi_block_solve_release(&M->solve);
    kryi_block_products_release(&M->products);
    kryi_block_device_release(&M->on_device);
    kryi_csr_release(&M->places);
    kry_op_release(&M->A);
    free(M);
}

/* Two tables that differ in the name. */
#define TABLE(name)                                                                      \
    {                                                                                    \
        .struct_size = sizeof(kry_op_table), .kind = name, .apply = block_apply,         \
        .apply_block = block_apply, .describe = block_describe, .destroy = block_destroy \
    }
static const kry_op_table block_ic_table = TABLE("block-ic"), block_ilu_table = TABLE("block-ilu");
static const kryi_op_fused block_fused = { .renew = refactor };

static kry_status check(bool symmetric, const kry_op *A, const kry_block_ic_params *p)
{
    kry_status st = KRY_OK;
    const char *who = name_of(symmetric);

    CHECK(p->rows <= A->shape.rows, KRY_ERR_ARGUMENT,
          "%s: rows = %lld is outside 1 ... %lld, the rows of '%s'", who, (long long)p->rows,
          (long long)A->shape.rows, A->table->kind);
    CHECK(p->storage == KRY_STORE_GIVEN || p->trisolve < KRY_TRISOLVE_SWEEPS, KRY_ERR_UNSUPPORTED,
          "%s: sweeps and incomplete inverses have the numbers of A, not '%s'", who,
          kryi_storage_name(p->storage));
done:
    return st;
}

/* Blocks end where a part of a team ends. */
static kry_status create(bool symmetric, const kry_op *A, const kry_block_ic_params *p,
                         kry_op **out)
{
    kry_status st = KRY_OK;
    block_ic *M = NULL;

    TRY(kryi_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->symmetric = symmetric;
    M->rows = p->rows < A->shape.rows ? p->rows : A->shape.rows;
    M->shift = p->shift, M->storage = p->storage;
    M->fill = p->fill, M->trisolve = p->trisolve;
    TRY(refactor(M));
    kry_op_shape shape = A->shape;
    shape.traits = symmetric ? KRY_SYMMETRIC | KRY_POSITIVE : 0;
    TRY(kryi_op_create_fused(A->dev, symmetric ? &block_ic_table : &block_ilu_table, &block_fused,
                             M, &shape, out));
    M = NULL;
done:
    block_destroy(M);
    return st;
}

static kry_status check_ic(const kry_op *A, const void *params) { return check(true, A, params); }
static kry_status check_ilu(const kry_op *A, const void *params) { return check(false, A, params); }
static kry_status create_ic(const kry_op *A, const void *params, kry_op **out)
{
    return create(true, A, params, out);
}
static kry_status create_ilu(const kry_op *A, const void *params, kry_op **out)
{
    return create(false, A, params, out);
}

#define PARAMS kry_block_ic_params
static const kryi_field fields[] = {
    { KRY_FIELD(INT64, rows),
      KRY_WORD("rows", WHOLE, "=N", "of a block (default: as suits grid and device)"),
      KRY_CLOSED(1, INFINITY) },
    { KRY_FIELD(DOUBLE, shift),
      KRY_WORD("shift", REAL, "=S", "factor A + S diag(A), raised if pivots demand it (default 0)"),
      KRY_BELOW(0, INFINITY) },
    { KRY_FIELD(INT, storage),
      KRY_WORD("storage", CHOICE, "=given|single|half", "numbers of the factors") },
    { KRY_FIELD(INT, fill), KRY_WORD("fill", WHOLE, "=N", "levels of fill (default 0)"),
      KRY_CLOSED(0, 100) },
    { KRY_FIELD(INT, trisolve),
      KRY_WORD("trisolve", CHOICE, "=auto|rows|levels|sweeps|isai",
               "how systems with the factors are solved"),
      .bare = true },
    { 0 },
};

const kryi_constructor kryi_block_ic_precond = { "kry_block_ic_create",       "KRY_BLOCK_IC",
                                                 sizeof(kry_block_ic_params), fields,
                                                 .check = check_ic,           .create = create_ic };
const kryi_constructor kryi_block_ilu_precond = {
    "kry_block_ilu_create", "KRY_BLOCK_IC",      sizeof(kry_block_ic_params), fields,
    .check = check_ilu,     .create = create_ilu
};

kry_status kry_block_ic_create(const kry_op *A, const kry_block_ic_params *params, kry_op **out)
{
    return kryi_construct(&kryi_block_ic_precond, A, params, out);
}

kry_status kry_block_ilu_create(const kry_op *A, const kry_block_ic_params *params, kry_op **out)
{
    return kryi_construct(&kryi_block_ilu_precond, A, params, out);
}
