/* mtx_read.c - reading Matrix Market files. */
#include "io/mtx_parse.h"
#include "io/share.h"
#include <stdlib.h>

/* ---- entries ------------------------------------------------------------------------------------ */

typedef struct entries {
    kry_mtx *m;
    int64_t most, capacity; /* entries: that the file can make, and that there is room for */
} entries;

/* Make room for one entry more. The arrays double, up to the number of entries that the header promises, so that a
 * wrong header alone cannot ask for much memory. */
static kry_status make_room(entries *E)
{
    kry_status st = KRY_OK;
    kry_mtx *m = E->m;
    int64_t wanted = E->capacity ? 2 * E->capacity : 1024;

    if (m->nnz < E->capacity) return KRY_OK;
    if (wanted > E->most) wanted = E->most;
    if (!m->array) {
        TRY(kryi_realloc((size_t)wanted, sizeof *m->row, &m->row));
        TRY(kryi_realloc((size_t)wanted, sizeof *m->col, &m->col));
    }
    TRY(kryi_realloc((size_t)wanted, sizeof *m->val, &m->val));
    E->capacity = wanted;
done:
    return st;
}

static kry_status add_number(entries *E, int64_t row, int64_t col, double val)
{
    kry_status st = KRY_OK;
    kry_mtx *m = E->m;

    TRY(make_room(E));
    if (!m->array) m->row[m->nnz] = (int32_t)row, m->col[m->nnz] = (int32_t)col;
    m->val[m->nnz++] = val;
done:
    return st;
}

/* Add the rows (re, -im) and (im, re) of a complex number of a matrix. */
static kry_status add_block(entries *E, int64_t row, int64_t col, double re, double im)
{
    kry_status st = KRY_OK;

    TRY(add_number(E, 2 * row, 2 * col, re));
    if (im != 0) TRY(add_number(E, 2 * row, 2 * col + 1, -im));
    if (im != 0) TRY(add_number(E, 2 * row + 1, 2 * col, im));
    TRY(add_number(E, 2 * row + 1, 2 * col + 1, re));
done:
    return st;
}

/* Add a complex number as real ones. The blocks of a Hermitian matrix are a symmetric one, and a real one stays what it is; the
 * other half of a complex symmetric or skew-symmetric matrix is no mirror image of its blocks, and is made. */
static kry_status add_pair(entries *E, const mtx_parser *p, const mtx_entry *e)
{
    kry_status st = KRY_OK;
    const double sign = p->head.symmetry == KRY_MTX_SKEW ? -1 : 1;

    if (E->m->array) {
        TRY(add_number(E, 0, 0, e->val));
        TRY(add_number(E, 0, 0, p->imaginary));
        return KRY_OK;
    }
    TRY(add_block(E, e->row, e->col, e->val, p->imaginary));
    if (p->head.symmetry != E->m->symmetry && e->row != e->col)
        TRY(add_block(E, e->col, e->row, sign * e->val, sign * p->imaginary));
done:
    return st;
}

static kry_status read_entries(mtx_parser *p, entries *E)
{
    kry_status st = KRY_OK;
    const char *at, *end;
    mtx_entry e;

    for (int64_t count = 0; count < p->expected; count++) {
        TRY(kryi_mtx_parse_next(p, &at, &end));
        if (!at) TRY(kryi_mtx_parse_too_few(p, count));
        TRY(kryi_mtx_parse_entry(p, at, end, &e));
        if (kryi_mtx_is_skew_zero(&p->head, &e)) continue;
        TRY(p->pairs ? add_pair(E, p, &e) : add_number(E, e.row, e.col, e.val));
    }
    TRY(kryi_mtx_parse_next(p, &at, &end));
    if (at) TRY(kryi_mtx_parse_too_many(p));
done:
    return st;
}

static kry_status read_text(mtx_parser *p, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;

    p->most = INT32_MAX;
    TRY(kryi_mtx_parse_head(p));
    TRY(kryi_alloc(1, sizeof *m, &m));
    *m = p->head;
    TRY(read_entries(p, &(entries){ .m = m, .most = p->expected }));
    *mtx = m;
    m = NULL;
done:
    kry_mtx_release(&m);
    return st;
}

/* *mtx := all entries of an object of a PETSc file. Releases them. */
static kry_status mtx_of_stretch(const char *path, kryi_stretch *all, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;

    CHECK(all->head.rows <= INT32_MAX && all->head.cols <= INT32_MAX, KRY_ERR_PARSE,
          "%s: %lld by %lld: more rows or columns than 2^31-1", path, (long long)all->head.rows,
          (long long)all->head.cols);
    TRY(kryi_alloc(1, sizeof *m, &m));
    *m = all->head;
    if (!m->array) TRY(kryi_alloc((uint64_t)m->nnz, sizeof *m->row, &m->row));
    if (!m->array) TRY(kryi_alloc((uint64_t)m->nnz, sizeof *m->col, &m->col));
    TRY(kryi_alloc((uint64_t)m->nnz, sizeof *m->val, &m->val));
    for (int64_t e = 0; e < m->nnz; e++) {
        m->val[e] = all->entry[e].val;
        if (m->array) continue;
        m->row[e] = (int32_t)all->entry[e].row, m->col[e] = (int32_t)all->entry[e].col;
    }
    *mtx = m;
    m = NULL;
done:
    kry_mtx_release(&m);
    kryi_stretch_release(all);
    return st;
}

static kry_status read_petsc(mtx_source *source, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kryi_layout alone;
    kryi_stretch all = { .count = 0 };

    kryi_layout_init(&alone, NULL);
    TRY(kryi_stretch_of_petsc(source, &alone, &all));
    TRY(mtx_of_stretch(source->name, &all, mtx));
done:
    kryi_stretch_release(&all);
    return st;
}

static kry_status read_from(const char *name, const void *bytes, size_t size, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    mtx_parser p = { .expected = 0 };
    bool petsc = false;

    TRY(kryi_mtx_source_open(&p.source, name, bytes, size));
    if (!bytes) TRY(kryi_petsc_begins(&p.source, &petsc));
    TRY(petsc ? read_petsc(&p.source, mtx) : read_text(&p, mtx));
done:
    kryi_mtx_source_close(&p.source);
    return st;
}

kry_status kry_mtx_read(const char *path, kry_mtx **mtx)
{
    kry_status st = GIVEN(mtx, path);

    if (mtx) *mtx = NULL;
    return st < 0 || !mtx ? st : read_from(path, NULL, 0, mtx);
}

kry_status kry_mtx_parse(const char *name, const void *bytes, size_t size, kry_mtx **mtx)
{
    if (!bytes && size == 0) bytes = "";
    kry_status st = GIVEN(mtx, name, bytes);

    if (mtx) *mtx = NULL;
    return st < 0 || !mtx ? st : read_from(name, bytes, size, mtx);
}

kry_status kry_petsc_read_rhs(const char *path, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kryi_layout alone;
    kryi_stretch all = { .count = 0 };
    mtx_source source = { .name = NULL };
    bool petsc, found = false;

    st = GIVEN(mtx, path);
    if (mtx) *mtx = NULL;
    if (st < 0 || !mtx) return st;
    TRY(kryi_mtx_source_open(&source, path, NULL, 0));
    TRY(kryi_petsc_begins(&source, &petsc));
    kryi_layout_init(&alone, NULL);
    if (petsc) TRY(kryi_stretch_of_rhs(&source, &alone, &all, &found));
    if (found) TRY(mtx_of_stretch(path, &all, mtx));
done:
    kryi_mtx_source_close(&source);
    kryi_stretch_release(&all);
    return st;
}

/* ---- complex numbers, as pairs of real ones ----------------------------------------------------- */

static kry_status read_pairs(mtx_parser *p, kry_mtx *m)
{
    enum { EACH = 8 }; /* real numbers, of an entry and its mirror image */
    const int64_t most = p->expected < INT64_MAX / EACH ? EACH * p->expected : INT64_MAX;

    m->array = p->head.array, m->rows = 2 * p->head.rows;
    m->cols = m->array ? p->head.cols : 2 * p->head.cols;
    if (!p->complex || p->hermitian) m->symmetry = p->head.symmetry;
    return read_entries(p, &(entries){ .m = m, .most = most });
}

kry_status kry_mtx_read_pairs(const char *path, kry_mtx **mtx)
{
    kry_status st = GIVEN(mtx, path);
    mtx_parser p = { .pairs = true, .most = INT32_MAX / 2 };
    kry_mtx *m = NULL;
    bool petsc;

    if (mtx) *mtx = NULL;
    if (st < 0 || !mtx) return st;
    TRY(kryi_mtx_source_open(&p.source, path, NULL, 0));
    TRY(kryi_petsc_begins(&p.source, &petsc));
    CHECK(!petsc, KRY_ERR_PARSE, "%s: a PETSc file has real numbers, and no pairs are made of them",
          path);
    TRY(kryi_mtx_parse_head(&p));
    CHECK(!p.head.array || p.head.symmetry == KRY_MTX_GENERAL, KRY_ERR_PARSE,
          "%s: an array file of half a matrix; pairs are made of coordinates and of vectors", path);
    TRY(kryi_alloc(1, sizeof *m, &m));
    TRY(read_pairs(&p, m));
    *mtx = m;
    m = NULL;
done:
    kryi_mtx_source_close(&p.source);
    kry_mtx_release(&m);
    return st;
}

/* ---- entries at one place ----------------------------------------------------------------------- */

typedef struct place {
    int32_t row, col;
    int64_t entry;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* The lines of two entries that mtx holds, one <= two. */
static kry_status find_lines(const char *path, int64_t one, int64_t two, int64_t line[2])
{
    kry_status st = KRY_OK;
    mtx_parser p = { .expected = 0, .most = INT32_MAX };
    const char *at, *end;
    mtx_entry e;

    line[0] = line[1] = 0;
    TRY(kryi_mtx_source_open(&p.source, path, NULL, 0));
    TRY(kryi_mtx_parse_head(&p));
    for (int64_t held = 0; held <= two;) {
        TRY(kryi_mtx_parse_next(&p, &at, &end));
        if (!at) break;
        TRY(kryi_mtx_parse_entry(&p, at, end, &e));
        if (kryi_mtx_is_skew_zero(&p.head, &e)) continue;
        if (held == one) line[0] = p.source.line;
        line[1] = p.source.line;
        held++;
    }
done:
    kryi_mtx_source_close(&p.source);
    return st;
}

kry_status kry_mtx_check_duplicates(const char *path, const kry_mtx *mtx)
{
    kry_status st = KRY_OK;
    place *all = NULL;
    int64_t line[2], first = -1;

    TRY(GIVEN(path, mtx));
    if (mtx->array || mtx->nnz == 0) return KRY_OK;
    CHECK(mtx->row && mtx->col, KRY_ERR_ARGUMENT, "kry_mtx_check_duplicates: mtx has no entries");
    TRY(kryi_alloc((uint64_t)mtx->nnz, sizeof *all, &all));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        const bool turn = mtx->symmetry != KRY_MTX_GENERAL && mtx->col[e] > mtx->row[e];
        all[e] = (place){ turn ? mtx->col[e] : mtx->row[e], turn ? mtx->row[e] : mtx->col[e], e };
    }
    qsort(all, (size_t)mtx->nnz, sizeof *all, by_place);
    for (int64_t k = 1; k < mtx->nnz; k++)
        if (all[k].row == all[k - 1].row && all[k].col == all[k - 1].col &&
            (first < 0 || all[k].entry < all[first].entry))
            first = k;
    if (first < 0) goto done;
    const place *two = &all[first], *one = two - 1;
    const bool mirror = mtx->row[one->entry] != mtx->row[two->entry];
    if (find_lines(path, one->entry, two->entry, line) < 0 || !line[0])
        st = kry_fail(KRY_ERR_ARGUMENT,
                      "%s: entries %lld and %lld are both of row %lld, column %lld", path,
                      (long long)one->entry + 1, (long long)two->entry + 1, (long long)two->row + 1,
                      (long long)two->col + 1);
    else
        st =
            kry_fail(KRY_ERR_ARGUMENT, "%s:%lld: row %d, column %d (counted from 1) %s line %lld%s",
                     path, (long long)line[1], mtx->row[two->entry] + 1, mtx->col[two->entry] + 1,
                     mirror ? "mirrors the entry of" : "has had an entry on", (long long)line[0],
                     mirror ? ", and a symmetric file has one triangle only" : "");
done:
    free(all);
    return st;
}

void kry_mtx_release(kry_mtx **mtx)
{
    kry_mtx *m = mtx ? *mtx : NULL;
    if (mtx) *mtx = NULL;
    if (!m) return;
    free(m->row);
    free(m->col);
    free(m->val);
    free(m);
}
