/* mtx_read.c - reading Matrix Market files. */
#include "io/mtx_parse.h"
#include "io/share.h"
#include <stdlib.h>

/* Make room for one entry more. The arrays double, up to the number of entries in the header, so that a
 * wrong header alone cannot ask for much memory. */
static kry_status make_room(kry_mtx *m, int64_t expected, int64_t *capacity)
{
    kry_status st = KRY_OK;
    int64_t wanted = *capacity ? 2 * *capacity : 1024;

    if (m->nnz < *capacity) return KRY_OK;
    if (wanted > expected) wanted = expected;
    if (!m->array) {
        TRY(kry_realloc((size_t)wanted, sizeof *m->row, &m->row));
        TRY(kry_realloc((size_t)wanted, sizeof *m->col, &m->col));
    }
    TRY(kry_realloc((size_t)wanted, sizeof *m->val, &m->val));
    *capacity = wanted;
done:
    return st;
}

static kry_status read_entries(mtx_parser *p, kry_mtx *m)
{
    kry_status st = KRY_OK;
    const char *at, *end;
    int64_t capacity = 0;
    mtx_entry e;

    while (m->nnz < p->expected) {
        TRY(kry_mtx_parse_next(p, &at, &end));
        if (!at) TRY(kry_mtx_parse_too_few(p, m->nnz));
        TRY(kry_mtx_parse_entry(p, at, end, &e));
        TRY(make_room(m, p->expected, &capacity));
        if (!m->array) m->row[m->nnz] = (int32_t)e.row, m->col[m->nnz] = (int32_t)e.col;
        m->val[m->nnz++] = e.val;
    }
    TRY(kry_mtx_parse_next(p, &at, &end));
    if (at) TRY(kry_mtx_parse_too_many(p));
done:
    return st;
}

static kry_status read_text(mtx_parser *p, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;

    p->most = INT32_MAX;
    TRY(kry_mtx_parse_head(p));
    TRY(kry_alloc(1, sizeof *m, &m));
    *m = p->head;
    TRY(read_entries(p, m));
    *mtx = m;
    m = NULL;
done:
    kry_mtx_release(&m);
    return st;
}

/* All entries of a PETSc file. */
static kry_status read_petsc(const char *path, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    kry_layout alone = { .dev = NULL };
    kry_stretch all = { .count = 0 };
    kry_mtx *m = NULL;

    TRY(kry_stretch_of_petsc(path, &alone, &all));
    CHECK(all.head.rows <= INT32_MAX && all.head.cols <= INT32_MAX, KRY_ERR_PARSE,
          "%s: %lld by %lld: more rows or columns than 2^31-1", path, (long long)all.head.rows,
          (long long)all.head.cols);
    TRY(kry_alloc(1, sizeof *m, &m));
    *m = all.head;
    if (!m->array) TRY(kry_alloc((size_t)m->nnz, sizeof *m->row, &m->row));
    if (!m->array) TRY(kry_alloc((size_t)m->nnz, sizeof *m->col, &m->col));
    TRY(kry_alloc((size_t)m->nnz, sizeof *m->val, &m->val));
    for (int64_t e = 0; e < m->nnz; e++) {
        m->val[e] = all.entry[e].val;
        if (m->array) continue;
        m->row[e] = (int32_t)all.entry[e].row, m->col[e] = (int32_t)all.entry[e].col;
    }
    *mtx = m;
    m = NULL;
done:
    kry_mtx_release(&m);
    kry_stretch_release(&all);
    return st;
}

static kry_status read_from(const char *name, const void *bytes, size_t size, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    mtx_parser p = { .expected = 0 };

    TRY(kry_mtx_source_open(&p.source, name, bytes, size));
    TRY(!bytes && kry_petsc_begins(&p.source) ? read_petsc(name, mtx) : read_text(&p, mtx));
done:
    kry_mtx_source_close(&p.source);
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
