/*
 * share_mtx.c - a rank's lines of a Matrix Market file.
 *
 * A line belongs to the rank in whose range of bytes it begins. Only afterwards does a rank know how many lines and
 * entries there are before its own: one that has met a mistake then reads its lines once more, to say which line
 * it is. Bytes of a gzip'd file cannot be counted off: every rank decompresses all in front of its lines, and takes
 * those by the number of the entry.
 */
#include "io/share.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct lines {
    mtx_parser *p; /* borrowed */
    int rank, size;
    int64_t data;       /* the byte behind the header's sizes */
    int64_t line;       /* lines of the header */
    int64_t begin, end; /* this rank's bytes */
} lines;

/* What ranks tell each other. */
typedef struct tally {
    int64_t lines, entries;
    int64_t rows, cols, expected; /* in the header that this rank has seen */
    int32_t status, symmetry;
} tally;

void kryi_stretch_release(kryi_stretch *s)
{
    free(s->entry);
    *s = (kryi_stretch){ .count = 0 };
}

/* The room doubles, so that a wrong header alone cannot ask for much memory. */
static kry_status add_entry(kryi_stretch *s, mtx_parser *p, const char *at, const char *end)
{
    kry_status st = KRY_OK;

    if (s->count == s->capacity) {
        const int64_t capacity = s->capacity ? s->capacity + s->capacity / 2 : 1024;
        TRY(kryi_realloc((size_t)capacity, sizeof *s->entry, &s->entry));
        s->capacity = capacity;
    }
    TRY(kryi_mtx_parse_entry(p, at, end, &s->entry[s->count]));
    s->count++;
done:
    return st;
}

/* ---- plain files ------------------------------------------------------------------------------- */

static kry_status find_range(lines *L)
{
    kry_status st = KRY_OK;
    struct stat info;

    CHECK(!fstat(fileno(L->p->source.file), &info), KRY_ERR_FILE, "cannot read '%s': %s",
          L->p->source.name, strerror(errno));
    CHECK(L->size == 1 || S_ISREG(info.st_mode), KRY_ERR_UNSUPPORTED,
          "'%s' is no plain file, of which ranks could read a share each", L->p->source.name);
    const int64_t bytes = (int64_t)info.st_size - L->data;
    L->begin = L->data + kryi_stretch_begin(bytes, L->rank, L->size);
    L->end = L->size == 1 ? INT64_MAX : L->data + kryi_stretch_begin(bytes, L->rank + 1, L->size);
done:
    return st;
}

/* Go to the first line that begins at `begin` or later. */
static kry_status go_to_begin(lines *L)
{
    kry_status st = KRY_OK;
    mtx_source *source = &L->p->source;
    const char *at, *end;

    if (L->size == 1) return KRY_OK; /* there it is */
    TRY(kryi_mtx_source_seek(source, L->rank > 0 ? L->begin - 1 : L->data));
    if (L->rank > 0) TRY(kryi_mtx_source_line(source, &at, &end)); /* the rest of another rank's */
done:
    return st;
}

/* line: how many are in front of this rank's; most: entries that its lines may have */
static kry_status read_lines(lines *L, int64_t line, int64_t most, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    mtx_source *source = &L->p->source;
    const char *at, *end;

    s->count = 0;
    TRY(go_to_begin(L));
    source->line = line;
    while (source->next < L->end) {
        TRY(kryi_mtx_source_line(source, &at, &end));
        if (!at) break;
        if (kryi_mtx_is_void(&at, end)) continue;
        if (s->count == most) TRY(kryi_mtx_parse_too_many(L->p));
        TRY(add_entry(s, L->p, at, end));
    }
done:
    return st;
}

static kry_status check_tallies(const lines *L, const tally *all)
{
    kry_status st = KRY_OK;
    const char *name = L->p->source.name;
    int64_t entries = 0, line = L->line;
    bool good = true;

    for (int r = 0; r < L->size; r++) {
        CHECK(all[r].rows == all[0].rows && all[r].cols == all[0].cols &&
                  all[r].expected == all[0].expected && all[r].symmetry == all[0].symmetry,
              KRY_ERR_FILE, "'%s' is not the same file on rank 0 of %d and on rank %d", name,
              L->size, r);
        good = good && all[r].status >= 0;
        entries += all[r].entries, line += all[r].lines;
    }
    CHECK(!good || entries >= L->p->expected, KRY_ERR_PARSE,
          "%s:%lld: the file ends after %lld of %lld entries", name, (long long)line + 1,
          (long long)entries, (long long)L->p->expected);
done:
    return st;
}

static kry_status read_plain(lines *L, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    tally *all = NULL;
    int64_t line = L->line;

    TRY(kryi_alloc((size_t)L->size, sizeof *all, &all));
    TRY(find_range(L));
    st = read_lines(L, line, L->size == 1 ? L->p->expected : INT64_MAX, s);
    if (L->size == 1 && st < 0) goto done; /* all lines have been counted */
    if (st < 0 && st != KRY_ERR_PARSE) goto done;
    const tally mine = { L->p->source.line - line,
                         s->count,
                         L->p->head.rows,
                         L->p->head.cols,
                         L->p->expected,
                         (int32_t)st,
                         (int32_t)L->p->head.symmetry };
    TRY(kryi_layout_gather(layout, &mine, sizeof mine, all));
    for (int r = 0; r < L->rank; r++) s->before += all[r].entries, line += all[r].lines;
    const int64_t left = L->p->expected - s->before;
    if (mine.status < 0 || s->count > (left > 0 ? left : 0))
        TRY(read_lines(L, line, left > 0 ? left : 0, s));
    TRY(check_tallies(L, all));
done:
    free(all);
    return st;
}

/* ---- gzip'd files ------------------------------------------------------------------------------ */

static kry_status read_gzip(lines *L, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    const int64_t begin = kryi_stretch_begin(L->p->expected, L->rank, L->size),
                  end = kryi_stretch_begin(L->p->expected, L->rank + 1, L->size);
    const char *at, *stop;

    s->before = begin;
    for (int64_t e = 0; e < end; e++) {
        TRY(kryi_mtx_parse_next(L->p, &at, &stop));
        if (!at) TRY(kryi_mtx_parse_too_few(L->p, e));
        if (e >= begin) TRY(add_entry(s, L->p, at, stop));
    }
    if (L->rank < L->size - 1) goto done;
    TRY(kryi_mtx_parse_next(L->p, &at, &stop));
    if (at) TRY(kryi_mtx_parse_too_many(L->p));
done:
    return st;
}

/* ---- both -------------------------------------------------------------------------------------- */

/* The numbers of an array go down its columns: those of a symmetric one from the diagonal, those of a skew-symmetric
 * one from below it. */
static void place_numbers(kryi_stretch *s)
{
    const kry_mtx *m = &s->head;
    const bool half = m->symmetry != KRY_MTX_GENERAL;
    const int64_t below = m->symmetry == KRY_MTX_SKEW;
    int64_t e = s->before, i = 0, j = 0;

    if (!half && m->rows > 0) i = e % m->rows, j = e / m->rows;
    for (; half && j < m->cols && e >= m->rows - j - below; j++) e -= m->rows - j - below;
    if (half) i = j + below + e;
    for (int64_t k = 0; k < s->count; k++) {
        s->entry[k].row = i, s->entry[k].col = j;
        if (++i < m->rows) continue;
        j++;
        i = half ? j + below : 0;
    }
}

static kry_status read_text(mtx_parser *p, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    lines L = { p, kryi_layout_rank(layout), kryi_layout_size(layout), 0, 0, 0, 0 };

    p->most = INT64_MAX / 4;
    TRY(kryi_mtx_parse_head(p));
    s->head = p->head;
    s->head.nnz = p->expected;
    L.data = p->source.next, L.line = p->source.line;
    st = p->source.gzip ? read_gzip(&L, s) : read_plain(&L, layout, s);
    if (st < 0) goto done;
    if (s->head.array) place_numbers(s);
    int64_t kept = 0;

    for (int64_t k = 0; k < s->count; k++)
        if (!kryi_mtx_is_skew_zero(&s->head, &s->entry[k])) s->entry[kept++] = s->entry[k];
    s->count = kept;
done:
    return st;
}

kry_status kryi_stretch_read(const char *path, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    mtx_parser p = { .expected = 0 };
    bool petsc;

    *s = (kryi_stretch){ .count = 0 };
    TRY(kryi_mtx_source_open(&p.source, path, NULL, 0));
    TRY(kryi_petsc_begins(&p.source, &petsc));
    TRY(petsc ? kryi_stretch_of_petsc(&p.source, layout, s) : read_text(&p, layout, s));
done:
    kryi_mtx_source_close(&p.source);
    if (st < 0) kryi_stretch_release(s);
    return st;
}
