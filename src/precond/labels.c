/* labels.c - which sub-domain each unknown belongs to: by its place, by a value, by the matrix's
 * graph, from a file, or as the caller says. */
#include "io/mtx_source.h"
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include "precond/deflation.h"
#include "precond/rows.h"
#include "sparse/partition.h"
#include <kry/deflation.h>
#include <kry/io.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- by place -------------------------------------------------------------------------------- */

kry_status kry_labels_stripes(int64_t n, int64_t k, int32_t *labels)
{
    kry_status st = KRY_OK;

    CHECK(labels || n == 0, KRY_ERR_ARGUMENT, "kry_labels_stripes: NULL");
    CHECK(k >= 1 && k <= n && n <= INT32_MAX, KRY_ERR_ARGUMENT,
          "kry_labels_stripes: cannot make %lld stripes of %lld unknowns", (long long)k,
          (long long)n);
    /* the first n % k stripes have one more */
    int64_t length = n / k, longer = n % k, in_longer = longer * (length + 1);
    for (int64_t i = 0; i < n; i++)
        labels[i] = (int32_t)(i < in_longer ? i / (length + 1) : longer + (i - in_longer) / length);
done:
    return st;
}

/* The parts of a block, one for each phase: a list. */
typedef struct part {
    int32_t phase, next; /* next: -1: none */
} part;

typedef struct blocks {
    int64_t size[3], block[3], across[3], n; /* across: blocks along an axis */
    int32_t *head;                           /* of each block's list; -1: empty */
    part *parts;                             /* n at most, numbered as they appear */
    int64_t count;
} blocks;

static kry_status check_axis(blocks *b, int a, const int64_t size[3], const int64_t block[3])
{
    kry_status st = KRY_OK;
    bool missing = a == 2 && size[2] == 0;

    b->size[a] = missing ? 1 : size[a], b->block[a] = missing ? 1 : block[a];
    CHECK(b->size[a] >= 1 && b->size[a] <= INT32_MAX / b->n, KRY_ERR_ARGUMENT,
          "kry_labels_blocks: a grid cannot have %lld cells along axis %d", (long long)size[a], a);
    CHECK(b->block[a] >= 1, KRY_ERR_ARGUMENT,
          "kry_labels_blocks: there are no blocks of %lld cells along axis %d", (long long)block[a],
          a);
    b->across[a] = (b->size[a] - 1) / b->block[a] + 1;
    b->n *= b->size[a];
done:
    return st;
}

static int64_t block_of(const blocks *b, int64_t i)
{
    int64_t x = i % b->size[0], y = i / b->size[0] % b->size[1], z = i / b->size[0] / b->size[1];
    return x / b->block[0] + b->across[0] * (y / b->block[1] + b->across[1] * (z / b->block[2]));
}

/* The number of a phase in a block; a new one the first time. */
static int32_t part_of(blocks *b, int64_t block, int32_t phase)
{
    int32_t p = b->head[block];
    while (p >= 0 && b->parts[p].phase != phase) p = b->parts[p].next;
    if (p >= 0) return p;
    p = (int32_t)b->count++;
    b->parts[p] = (part){ phase, b->head[block] };
    return b->head[block] = p;
}

kry_status kry_labels_blocks(const int64_t size[3], const int64_t block[3], const int32_t *phase,
                             int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    blocks b = { .n = 1 };

    CHECK(size && block && labels && count, KRY_ERR_ARGUMENT, "kry_labels_blocks: NULL");
    for (int a = 0; a < 3; a++) TRY(check_axis(&b, a, size, block));
    int64_t all = b.across[0] * b.across[1] * b.across[2];
    TRY(kryi_alloc((size_t)all, sizeof *b.head, &b.head));
    TRY(kryi_alloc((size_t)b.n, sizeof *b.parts, &b.parts));
    for (int64_t j = 0; j < all; j++) b.head[j] = -1;
    for (int64_t i = 0; i < b.n; i++)
        labels[i] = part_of(&b, block_of(&b, i), phase ? phase[i] : 0);
    *count = b.count;
done:
    free(b.parts);
    free(b.head);
    return st;
}

/* ---- by value -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static kry_status check_field(int64_t n, const double *field, double jump)
{
    kry_status st = KRY_OK;

    CHECK(n >= 0 && n <= INT32_MAX, KRY_ERR_ARGUMENT,
          "kry_labels_levels: there cannot be %lld values", (long long)n);
    CHECK(jump > 1 && isfinite(jump), KRY_ERR_ARGUMENT,
          "kry_labels_levels: jump = %g; it must be above 1", jump);
    for (int64_t i = 0; i < n; i++)
        CHECK(field[i] > 0 && isfinite(field[i]), KRY_ERR_ARGUMENT,
              "kry_labels_levels: field[%lld] = %g is not positive", (long long)i, field[i]);
done:
    return st;
}

kry_status kry_labels_levels(int64_t n, const double *field, double jump, int32_t *labels,
                             int64_t *count)
{
    kry_status st = KRY_OK;
    double *value = NULL; /* ascending; then the least of each level */

    CHECK(((field && labels) || n == 0) && count, KRY_ERR_ARGUMENT, "kry_labels_levels: NULL");
    if (jump == 0) jump = 4;
    TRY(check_field(n, field, jump));
    TRY(kryi_alloc((size_t)n, sizeof *value, &value));
    if (n > 0) memcpy(value, field, (size_t)n * sizeof *value);
    qsort(value, (size_t)n, sizeof *value, ascending);
    int64_t levels = 0;
    double last = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = value[i];
        if (i == 0 || v / last > jump) value[levels++] = v;
        last = v;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t low = 0, high = levels; /* value[low] <= field[i] < value[high] */
        while (high - low > 1) {
            int64_t middle = (low + high) / 2;
            *(value[middle] <= field[i] ? &low : &high) = middle;
        }
        labels[i] = (int32_t)low;
    }
    *count = levels;
done:
    free(value);
    return st;
}

/* ---- by the matrix's graph -------------------------------------------------------------------- */

/* Give n labels, which are below `most`, new numbers in the order in which they first appear, so
 * that no number is unused; *count is how many there are. number: room for `most`. */
static void renumber(int64_t n, int32_t *labels, int64_t most, int32_t *number, int64_t *count)
{
    *count = 0;
    for (int64_t j = 0; j < most; j++) number[j] = -1;
    for (int64_t i = 0; i < n; i++) {
        int32_t *own = &number[labels[i]];
        if (*own < 0) *own = (int32_t)(*count)++;
        labels[i] = *own;
    }
}

/* The graph of A's nodes for k parts. block: rows of a node; what the pattern suggests is taken only if there
 * are nodes enough. */
static kry_status read_graph(const kry_op *A, int64_t k, int *block, kryi_csr *graph)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    st = kryi_rows_download(A, &rows);
    CHECK(st != KRY_ERR_UNSUPPORTED, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: '%s' has no entries that can be read; take labels of another kind",
          kryi_op_first(A)->table->kind);
    TRY(st);
    *block = kryi_matrix_node(A, &rows);
    if (!kryi_matrix_block(A) && rows.rows / *block < k) *block = 1;
    TRY(kryi_csr_node_graph(&rows, *block, graph));
done:
    kryi_csr_release(&rows);
    return st;
}

kry_status kryi_label_graph(const kry_op *A, int64_t k, bool by_component, int32_t *labels,
                            int64_t *count)
{
    kry_status st = KRY_OK;
    kryi_csr graph = { 0 };
    int32_t *part = NULL, *label = NULL, *number = NULL;
    int block = 1;

    CHECK(A && labels && count, KRY_ERR_ARGUMENT, "kry_labels_graph: NULL");
    int64_t n = A->shape.rows;
    TRY(kryi_op_check_square("kry_labels_graph", A));
    CHECK(k >= 1 && k <= n, KRY_ERR_ARGUMENT,
          "kry_labels_graph: cannot make %lld parts of %lld unknowns", (long long)k, (long long)n);
    TRY(read_graph(A, k, &block, &graph));
    CHECK(k <= graph.rows, KRY_ERR_ARGUMENT,
          "kry_labels_graph: cannot make %lld parts of %lld nodes of %d unknowns", (long long)k,
          (long long)graph.rows, block);
    const int labels_of_part = by_component ? block : 1;
    TRY(kryi_alloc((size_t)graph.rows, sizeof *part, &part));
    TRY(kryi_alloc((size_t)n, sizeof *label, &label));
    TRY(kryi_alloc((uint64_t)(k * labels_of_part), sizeof *number, &number));
    TRY(kryi_graph_parts("kry_labels_graph", &graph, NULL, (int)k, NULL, part));
    for (int64_t i = 0; i < n; i++)
        label[i] = part[i / block] * labels_of_part + (by_component ? (int32_t)(i % block) : 0);
    renumber(n, label, k * labels_of_part, number, count);
    memcpy(labels, label, (size_t)n * sizeof *label);
done:
    free(number);
    free(label);
    free(part);
    kryi_csr_release(&graph);
    return st;
}

kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels, int64_t *count)
{
    return kryi_label_graph(A, k, true, labels, count);
}

/* ---- given by the caller --------------------------------------------------------------------- */

/* who: stands in messages, a function or a file */
static kry_status check_labels(const char *who, int64_t n, const int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    bool *used = NULL;
    int64_t most = 0;

    CHECK(n >= 0 && n <= INT32_MAX, KRY_ERR_ARGUMENT, "%s: there cannot be %lld unknowns", who,
          (long long)n);
    TRY(kryi_alloc((size_t)n, sizeof *used, &used));
    for (int64_t i = 0; i < n; i++) {
        CHECK(labels[i] >= 0 && labels[i] < n, KRY_ERR_ARGUMENT,
              "%s: label %d of unknown %lld is not in [0, %lld)", who, labels[i], (long long)i,
              (long long)n);
        used[labels[i]] = true;
        if (labels[i] >= most) most = labels[i] + 1;
    }
    for (int64_t j = 0; j < most; j++)
        CHECK(used[j], KRY_ERR_ARGUMENT, "%s: label %lld of 0 ... %lld is not used", who,
              (long long)j, (long long)most - 1);
    *count = most;
done:
    free(used);
    return st;
}

kry_status kry_labels_check(int64_t n, const int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;

    CHECK((labels || n == 0) && count, KRY_ERR_ARGUMENT, "kry_labels_check: NULL");
    TRY(check_labels("kry_labels_check", n, labels, count));
done:
    return st;
}

/* ---- from a file ------------------------------------------------------------------------------ */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; }

/* The labels of a line. */
static kry_status read_line(const mtx_source *s, const char *at, const char *end, int64_t n,
                            int32_t *labels, int64_t *got)
{
    kry_status st = KRY_OK;
    int64_t value;

    for (;;) {
        while (at < end && is_blank(*at)) at++;
        if (at == end || *at == '#' || *at == '%') break;
        const char *stop = kryi_read_int64(at, end, &value), *word = at;
        while (word < end && word - at < 40 && !is_blank(*word)) word++;
        CHECK(stop && (stop == end || is_blank(*stop)), KRY_ERR_PARSE,
              "%s:%lld: '%.*s' is not a whole number", s->name, (long long)s->line,
              (int)(word - at), at);
        CHECK(value >= 0 && value < n, KRY_ERR_PARSE, "%s:%lld: label %lld is not in [0, %lld)",
              s->name, (long long)s->line, (long long)value, (long long)n);
        CHECK(*got < n, KRY_ERR_PARSE, "%s:%lld: more than %lld labels", s->name,
              (long long)s->line, (long long)n);
        labels[(*got)++] = (int32_t)value;
        at = stop;
    }
done:
    return st;
}

static kry_status read_plain(const char *path, int64_t n, int32_t *labels, bool *mtx)
{
    static const char banner[] = { "%%MatrixMarket" };
    const ptrdiff_t length = sizeof banner - 1;
    kry_status st = KRY_OK;
    mtx_source s = { .name = path };
    const char *at, *end;
    int64_t got = 0;

    TRY(kryi_mtx_source_open(&s, path, NULL, 0));
    for (;;) {
        TRY(kryi_mtx_source_line(&s, &at, &end));
        if (!at) break;
        *mtx = s.line == 1 && end - at >= length && !memcmp(at, banner, (size_t)length);
        if (*mtx) goto done;
        TRY(read_line(&s, at, end, n, labels, &got));
    }
    CHECK(got == n, KRY_ERR_PARSE, "%s:%lld: the file ends after %lld of %lld labels", path,
          (long long)s.line, (long long)got, (long long)n);
done:
    kryi_mtx_source_close(&s);
    return st;
}

/* Entries that are not given are 0. */
static kry_status read_mtx(const char *path, int64_t n, int32_t *labels)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;

    TRY(kry_mtx_read(path, &m));
    CHECK(m->rows == n && m->cols == 1, KRY_ERR_PARSE,
          "%s: it is %lld-by-%lld instead of %lld-by-1", path, (long long)m->rows,
          (long long)m->cols, (long long)n);
    for (int64_t i = 0; i < n; i++) labels[i] = -1;
    for (int64_t e = 0; e < m->nnz; e++) {
        int64_t i = m->array ? e : m->row[e];
        double v = m->val[e];
        CHECK(v >= 0 && v < (double)n && v == (double)(int32_t)v, KRY_ERR_PARSE,
              "%s: label %g of row %lld is not a whole number in [0, %lld)", path, v,
              (long long)i + 1, (long long)n);
        CHECK(labels[i] < 0, KRY_ERR_PARSE, "%s: row %lld occurs twice (rows count from 1)", path,
              (long long)i + 1);
        labels[i] = (int32_t)v;
    }
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < 0) labels[i] = 0;
done:
    kry_mtx_release(&m);
    return st;
}

kry_status kry_labels_read(const char *path, int64_t n, int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    int32_t *read = NULL;
    int64_t found;
    bool mtx = false;

    CHECK(path && labels && count, KRY_ERR_ARGUMENT, "kry_labels_read: NULL");
    CHECK(n >= 1 && n <= INT32_MAX, KRY_ERR_ARGUMENT,
          "kry_labels_read: there cannot be %lld unknowns", (long long)n);
    TRY(kryi_alloc((size_t)n, sizeof *read, &read));
    TRY(read_plain(path, n, read, &mtx));
    if (mtx) TRY(read_mtx(path, n, read));
    st = check_labels(path, n, read, &found);
    if (st == KRY_ERR_ARGUMENT) st = kry_fail(KRY_ERR_PARSE, "%s", kry_last_error());
    TRY(st);
    memcpy(labels, read, (size_t)n * sizeof *read);
    *count = found;
done:
    free(read);
    return st;
}
