/*
 * test_share.c - files of which each rank reads a share: the same rows, bits and messages as from the reader of one
 * process, for random files and for ones with a mistake; and vectors and matrices written by ranks. PETSc's files besides.
 */
#include "ranks.h"
#include <dirent.h>
#include <zlib.h>

enum { ROOM = 1 << 16, MOST_ROWS = 60 };

typedef struct board {
    int status[MOST_RANKS];
    char message[MOST_RANKS][500];
} board;

static char folder[200], path[240];

/* ---- random files -------------------------------------------------------------------------------- */

static char text[ROOM];
static size_t length;

static void add(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, args);
    va_end(args);
    if (length >= sizeof text) abort();
}

static void end_line(const char *end)
{
    add("%s", end);
    while (random_below(12) == 0)
        add("%s%s%s", random_below(2) ? " \t" : "", random_below(3) ? "" : "% 1 1 1", end);
}

static void add_number(int field)
{
    if (field == KRY_MTX_INTEGER)
        add("%d", (int)random_below(2000) - 1000);
    else if (field == KRY_MTX_REAL)
        add("%.17g", random_number(KRY_F64) * (random_below(2) ? 1 : 1e-30));
}

/* A Matrix Market file of all kinds: symmetries, fields, formats, ends of lines. rows != cols if `oblong`. */
static void make_text(bool oblong)
{
    static const char *const fields[] = { "real", "integer", "pattern" }, *const symmetries[] = {
        "general", "symmetric", "skew-symmetric"
    };
    const char *end = random_below(3) ? "\n" : "\r\n";
    const bool array = random_below(4) == 0;
    const int field = (int)random_below(array ? 2 : 3),
              symmetry = oblong ? 0 : (int)random_below(field == KRY_MTX_PATTERN ? 2 : 3);
    const bool complex = field == KRY_MTX_REAL && random_below(4) == 0;
    const int64_t n = random_below(4) ? 1 + random_below(MOST_ROWS / (array ? 4 : 1))
                                      : 1 + random_below(3),
                  cols = oblong ? 1 + random_below(4) : n;
    int64_t nnz = random_below(5) ? random_below(4 * n) : random_below(3);

    if (symmetry == KRY_MTX_SKEW && n == 1) nnz = 0;
    length = 0;
    add("%%%%MatrixMarket matrix %s %s %s%s", array ? "array" : "coordinate",
        complex ? "complex" : fields[field],
        complex && symmetry == KRY_MTX_SYMMETRIC && random_below(2) ? "hermitian"
                                                                    : symmetries[symmetry],
        end);
    for (int64_t i = random_below(4); i > 0; i--) add("%% comment %d%s", (int)i, end);
    if (array)
        nnz = symmetry == KRY_MTX_GENERAL     ? n * cols
              : symmetry == KRY_MTX_SYMMETRIC ? n * (n + 1) / 2
                                              : n * (n - 1) / 2;
    add("%d %d", (int)n, (int)cols);
    if (!array) add(" %d", (int)nnz);
    end_line(end);
    for (int64_t e = 0; e < nnz; e++) {
        int64_t i = random_below(n), j = random_below(cols);
        const bool zero = symmetry == KRY_MTX_SKEW && !array && i == j && random_below(2);
        if (symmetry == KRY_MTX_SKEW && i == j && !zero) i = (i + 1) % n;
        if (!array) add("%s%d %d ", random_below(9) ? "" : "  ", (int)i + 1, (int)j + 1);
        if (zero)
            add("0");
        else
            add_number(field);
        if (complex) add(" 0");
        if (e < nnz - 1 || random_below(2)) end_line(end);
    }
}

static void write_text(bool gzip)
{
    gzFile file = gzopen(path, gzip ? "wb" : "wbT");
    NEED(file && gzwrite(file, text, (unsigned)length) == (int)length && gzclose(file) == Z_OK,
         "%s", path);
}

/* Change, remove or add a few bytes. */
static void spoil_text(void)
{
    static const char junk[] = "x 9-.e\n%0";

    for (int64_t k = 1 + random_below(2); k > 0; k--) {
        const size_t at = (size_t)random_below((int64_t)length);
        if (random_below(3) == 0) {
            memmove(text + at, text + at + 1, length - at - 1);
            length--;
        } else
            text[at] = junk[random_below((int64_t)sizeof junk - 1)];
    }
}

static void put_big(uint64_t bits, int width)
{
    for (int i = width - 1; i >= 0; i--) text[length++] = (char)(bits >> 8 * i);
}

static void put_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_big(bits, 8);
}

static void make_petsc(void)
{
    const int width = random_below(2) ? 4 : 8;
    const int64_t n = 1 + random_below(MOST_ROWS), most = random_below(8);
    int64_t row[MOST_ROWS], nnz = 0;

    for (int64_t i = 0; i < n; i++)
        nnz += row[i] = random_below(6) ? random_below(most + 1) : random_below(n);
    length = 0;
    put_big(1211216, width), put_big((uint64_t)n, width), put_big((uint64_t)n, width);
    put_big((uint64_t)nnz, width);
    for (int64_t i = 0; i < n; i++) put_big((uint64_t)row[i], width);
    for (int64_t e = 0; e < nnz; e++) put_big((uint64_t)random_below(n), width);
    for (int64_t e = 0; e < nnz; e++) put_double(random_number(KRY_F64));
    if (random_below(2)) put_big(1211214, width); /* a vector follows */
}

/* ---- against the reader of one process ----------------------------------------------------------- */

/* The entries of a row in the order of the file, by ascending column. */
static int64_t row_of(const kry_mtx *m, int64_t row, int64_t *col, double *val)
{
    int64_t count = 0, i = 0, j = 0, e;
    const int64_t below = m->symmetry == KRY_MTX_SKEW;

    for (e = 0; e < m->nnz; e++) {
        if (!m->array) {
            i = m->row[e], j = m->col[e];
        } else if (e == 0) {
            i = below, j = 0;
        } else if (++i == m->rows) {
            j++;
            i = m->symmetry == KRY_MTX_GENERAL ? 0 : j + below;
        }
        if (i == row) col[count] = j, val[count++] = m->val[e];
        if (m->symmetry != KRY_MTX_GENERAL && i != j && j == row)
            col[count] = i, val[count++] = below ? -m->val[e] : m->val[e];
    }
    for (e = 1; e < count; e++)
        for (int64_t k = e; k > 0 && col[k - 1] > col[k]; k--) {
            const int64_t c = col[k];
            const double v = val[k];
            col[k] = col[k - 1], val[k] = val[k - 1];
            col[k - 1] = c, val[k - 1] = v;
        }
    return count;
}

static void same_rows(const kry_share *S, const kry_mtx *m)
{
    static int64_t col[ROOM];
    static double val[ROOM];

    NEED(S->n == m->rows && S->symmetry == m->symmetry &&
             (S->given == m->nnz || (m->symmetry == KRY_MTX_SKEW && S->given > m->nnz)),
         "-");
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t count = row_of(m, S->first + i, col, val), begin = S->row_ptr[i];
        NEED(S->row_ptr[i + 1] - begin == count, "row %d has %d entries, not %d",
             (int)(S->first + i), (int)(S->row_ptr[i + 1] - begin), (int)count);
        for (int64_t k = 0; k < count; k++)
            NEED(S->col[begin + k] == col[k] && S->val[begin + k] == val[k],
                 "row %d: column %d, %g; not %d, %g", (int)(S->first + i), (int)S->col[begin + k],
                 S->val[begin + k], (int)col[k], val[k]);
    }
}

/* The same, but for the order of those at one place. */
static void same_values(const kry_share *S, const kry_mtx *m)
{
    static int64_t col[ROOM];
    static double val[ROOM];

    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t count = row_of(m, S->first + i, col, val), begin = S->row_ptr[i];
        double sum = 0, want = 0, size = 0;
        NEED(S->row_ptr[i + 1] - begin == count, "row %d", (int)(S->first + i));
        for (int64_t k = 0; k < count; k++) {
            NEED(S->col[begin + k] == col[k], "row %d", (int)(S->first + i));
            sum += S->val[begin + k] * (double)(1 + col[k] % 5);
            want += val[k] * (double)(1 + col[k] % 5), size += fabs(val[k]) * 5;
        }
        NEED(fabs(sum - want) <= 1e-14 * size, "row %d", (int)(S->first + i));
    }
}

/* All ranks are here. */
static void meet(kry_device *team)
{
    kry_vec *v;
    GOOD(kry_vec_create(team, KRY_F32, 5000, 1, &v));
    kry_vec_release(&v);
}

/* The call has ended alike on all ranks. */
static void all_alike(kry_device *team, wires *w, board *b, kry_status st)
{
    b->status[w->rank] = st;
    snprintf(b->message[w->rank], sizeof b->message[0], "%s", st < 0 ? kry_last_error() : "");
    meet(team);
    for (int r = 0; r < w->size; r++)
        NEED(b->status[r] == st && !strcmp(b->message[r], b->message[w->rank]),
             "'%s' here, '%s' on rank %d", b->message[w->rank], b->message[r], r);
    meet(team);
}

static void write_and_meet(kry_device *team, wires *w, bool gzip)
{
    meet(team);
    if (w->rank == 0) write_text(gzip);
    meet(team);
}

static kry_device *quick_team(wires *w)
{
    static const double shares[] = { 1, 1, 1, 1, 1, 1, 1 }; /* so that nothing is measured */
    return ranks_team(w, (kry_team_params){ .shares = shares });
}

/* The rows of the transpose, and vectors that are cut as the share is. */
static void transposed_rows(kry_device *team, const kry_share *S, kry_mtx *m)
{
    kry_share *T;
    kry_vec *v;
    int64_t first;

    GOOD(kry_vec_create(team, KRY_F64, S->n, 1, &v));
    NEED(kry_vec_rows_here(v, &first) == S->rows && first == S->first, "%d rows from %d, not %d",
         (int)kry_vec_rows_here(v, NULL), (int)first, (int)S->first);
    kry_vec_release(&v);
    GOOD(kry_share_transpose(team, S, &T));
    NEED(T->first == S->first && T->rows == S->rows, "-");
    if (m->symmetry == KRY_MTX_SKEW)
        for (int64_t e = 0; e < m->nnz; e++) m->val[e] = -m->val[e];
    if (m->symmetry == KRY_MTX_GENERAL && !m->array) {
        int32_t *row = m->row;
        m->row = m->col, m->col = row;
    }
    if (m->symmetry != KRY_MTX_GENERAL || !m->array) same_values(T, m);
    kry_share_release(&T);
}

static void text_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);

    for (int64_t trial = 0; trial < 400 / every(16); trial++) {
        kry_share *S;
        kry_mtx *m;
        make_text(false);
        write_and_meet(team, w, random_below(5) == 0);
        kry_status st = kry_share_read(team, path, &S);
        all_alike(team, w, shared, st);
        NEED(st == KRY_OK, "%s", kry_last_error());
        GOOD(kry_mtx_read(path, &m));
        same_rows(S, m);
        transposed_rows(team, S, m);
        kry_mtx_release(&m);
        kry_share_release(&S);
    }
    kry_device_release(&team);
}

/* The message is that of one process, perhaps with the rank in front. */
static void mistakes_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);
    board *b = shared;
    int refused = 0;

    for (int64_t trial = 0; trial < 600 / every(16); trial++) {
        kry_share *S;
        kry_mtx *m;
        make_text(false);
        spoil_text();
        write_and_meet(team, w, random_below(5) == 0);
        kry_status want = kry_mtx_read(path, &m);
        char message[500];
        snprintf(message, sizeof message, "%s", want < 0 ? kry_last_error() : "");
        if (want == KRY_OK && m->rows != m->cols) want = KRY_ERR_UNSUPPORTED;
        kry_status st = kry_share_read(team, path, &S);
        all_alike(team, w, b, st);
        NEED(st == want, "status %d, not %d: '%s', not '%s'", st, want, b->message[w->rank],
             message);
        if (st == KRY_OK && S->n < 5000) same_rows(S, m);
        refused += st < 0;
        if (want == KRY_ERR_PARSE) {
            const char *found = strstr(b->message[w->rank], message);
            NEED(found &&
                     (found == b->message[w->rank] || !strncmp(b->message[w->rank], "rank ", 5)),
                 "'%s', not '%s'", b->message[w->rank], message);
        }
        kry_mtx_release(&m);
        kry_share_release(&S);
    }
    NEED(refused > 5, "%d files were refused", refused);
    if (w->rank == 0) printf("# %d ranks: %d files refused\n", w->size, refused);
    kry_device_release(&team);
}

static void petsc_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);
    int refused = 0;

    for (int64_t trial = 0; trial < 300 / every(16); trial++) {
        kry_share *S;
        kry_mtx *m;
        const bool spoilt = trial % 2;
        make_petsc();
        if (spoilt && random_below(3))
            text[random_below((int64_t)length)] ^= (char)(1 << random_below(8));
        else if (spoilt)
            length = (size_t)random_below((int64_t)length);
        write_and_meet(team, w, false);
        kry_status want = kry_mtx_read(path, &m);
        if (want == KRY_OK && m->rows != m->cols) want = KRY_ERR_UNSUPPORTED;
        kry_status st = kry_share_read(team, path, &S);
        all_alike(team, w, shared, st);
        NEED(st == want && (spoilt || st == KRY_OK), "status %d, not %d: '%s'", st, want,
             ((board *)shared)->message[w->rank]);
        if (st == KRY_OK && S->n < 5000) same_rows(S, m);
        refused += st < 0;
        kry_mtx_release(&m);
        kry_share_release(&S);
    }
    NEED(refused > 0, "%d files were refused", refused);
    kry_device_release(&team);
}

/* ---- vectors, and matrices on devices -------------------------------------------------------------- */

/* What a vector of this rank's rows has, against the file's. */
static void same_vector(const kry_vec *v, const kry_mtx *m)
{
    double *want = calloc((size_t)(m->rows * m->cols) + 1, sizeof *want), *host;
    int64_t first;
    const int64_t rows = kry_vec_rows_here(v, &first);

    for (int64_t e = 0; e < m->nnz; e++)
        want[m->array ? e : m->col[e] * m->rows + m->row[e]] = m->val[e];
    host = calloc((size_t)(rows * m->cols) + 1, sizeof *host);
    NEED(kry_vec_rows(v) == m->rows && kry_vec_cols(v) == m->cols, "-");
    GOOD(kry_vec_read(v, host));
    for (int64_t j = 0; j < m->cols; j++)
        for (int64_t i = 0; i < rows; i++)
            NEED(host[j * rows + i] == want[j * m->rows + first + i], "row %d", (int)(first + i));
    free(host);
    free(want);
}

/* Written as PETSc's, it is read back to the bit; only of one column. */
static void check_petsc_vector(const kry_vec *v)
{
    char out[260];
    kry_mtx *back;
    snprintf(out, sizeof out, "%s/out.petsc", folder);
    const kry_status st = kry_petsc_write_vec(out, v);

    if (kry_vec_cols(v) != 1) {
        NEED(st == KRY_ERR_UNSUPPORTED && strstr(kry_last_error(), "columns"), "%s",
             kry_last_error());
        return;
    }
    NEED(st == KRY_OK, "%s", kry_last_error());
    GOOD(kry_mtx_read(out, &back));
    NEED(back->array && back->nnz == kry_vec_rows(v), "-");
    same_vector(v, back);
    kry_mtx_release(&back);
}

static void vectors_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);
    char out[260];
    int read = 0;

    snprintf(out, sizeof out, "%s/out.mtx", folder);
    for (int64_t trial = 0; trial < 200 / every(16); trial++) {
        kry_mtx *m, *back;
        kry_vec *v;
        const bool gzip = random_below(3) == 0;
        if (random_below(4)) {
            make_text(true);
        } else { /* a vector of PETSc */
            const int64_t n = random_below(MOST_ROWS);
            const int width = random_below(2) ? 4 : 8;
            length = 0;
            put_big(1211214, width), put_big((uint64_t)n, width);
            for (int64_t i = 0; i < n; i++) put_double(random_number(KRY_F64));
        }
        write_and_meet(team, w, false);
        GOOD(kry_mtx_read(path, &m));
        kry_status st = kry_mtx_read_vec(team, KRY_F64, path, &v);
        all_alike(team, w, shared, st);
        if (st < 0) { /* two entries at one place */
            NEED(strstr(((board *)shared)->message[0], "two entries at row") && !v && !m->array,
                 "%s", ((board *)shared)->message[0]);
            kry_mtx_release(&m);
            continue;
        }
        read++;
        same_vector(v, m);
        snprintf(out, sizeof out, "%s/out.mtx%s", folder, gzip ? ".gz" : "");
        GOOD(kry_mtx_write_vec_comment(out, v, trial % 2 ? "a comment" : NULL));
        GOOD(kry_mtx_read(out, &back));
        NEED(back->array, "-");
        same_vector(v, back);
        check_petsc_vector(v);
        meet(team);
        kry_vec_release(&v);
        kry_mtx_release(&back);
        kry_mtx_release(&m);
    }
    NEED(read > 2, "%d vectors were read", read);
    /* What cannot be written is refused on all, and nothing is left behind. */
    kry_vec *v;
    double host[100] = { 0 };
    GOOD(kry_vec_create(team, KRY_F64, 90, 1, &v));
    NEED(kry_mtx_write_vec("/nonexistent/folder/x.mtx", v) == KRY_ERR_FILE, "-");
    if (w->rank == w->size - 1) host[0] = (double)NAN;
    GOOD(kry_vec_write(v, host));
    unlink(out);
    meet(team);
    NEED(kry_mtx_write_vec(out, v) == KRY_ERR_ARGUMENT && strstr(kry_last_error(), "not finite"),
         "%s", kry_last_error());
    NEED(access(out, F_OK) != 0, "%s is there", out);
    NEED(kry_petsc_write_vec(out, v) == KRY_ERR_ARGUMENT && strstr(kry_last_error(), "not finite"),
         "%s", kry_last_error());
    NEED(access(out, F_OK) != 0, "%s is there", out);
    NEED(kry_petsc_write_vec("/nonexistent/folder/x", v) != KRY_OK, "-");
    kry_vec_release(&v);
    kry_device_release(&team);
}

/* The bytes of a file of at most ROOM; returns how many. */
static size_t bytes_of(const char *name, char *room)
{
    FILE *f = fopen(name, "rb");
    const size_t size = f ? fread(room, 1, ROOM, f) : 0;
    if (f) fclose(f);
    return size;
}

/* The rows of a file's matrix, with entries at one place added up in their order, are those of `back`. Returns whether
 * there were such entries. */
static bool same_sums(const kry_mtx *m, const kry_mtx *back)
{
    static int64_t col[ROOM / 64], col_back[ROOM / 64];
    static double val[ROOM / 64], val_back[ROOM / 64];
    bool added = false;

    NEED(back->rows == m->rows && back->cols == m->cols && !back->array, "-");
    for (int64_t i = 0; i < m->rows; i++) {
        const int64_t count = row_of(m, i, col, val), there = row_of(back, i, col_back, val_back);
        int64_t at = 0;
        for (int64_t k = 0; k < count; at++) {
            double sum = val[k];
            const int64_t j = col[k];
            for (k++; k < count && col[k] == j; k++) sum += val[k], added = true;
            NEED(at < there && col_back[at] == j && val_back[at] == sum, "row %d, column %d",
                 (int)i, (int)j);
        }
        NEED(at == there, "row %d has %d entries", (int)i, (int)there);
    }
    return added;
}

/* A matrix on ranks, written by all: the bytes that one process writes of the file's. */
static void written_scene(wires *w, void *shared)
{
    static char bytes[ROOM], whole[ROOM];
    kry_device *team = quick_team(w);
    char out[260], alone[260];

    (void)shared;
    snprintf(out, sizeof out, "%s/out.petsc", folder);
    snprintf(alone, sizeof alone, "%s/alone-%d.petsc", folder, w->rank);
    for (int64_t trial = 0; trial < 48 / every(12); trial++) {
        kry_share *S;
        kry_op *A;
        kry_mtx *m, *back;
        make_text(false);
        write_and_meet(team, w, false);
        GOOD(kry_mtx_read(path, &m));
        GOOD(kry_share_read(team, path, &S));
        GOOD(kry_share_matrix(team, KRY_F64, S, KRY_MATRIX(.duplicates = KRY_SUM), &A));
        GOOD(kry_petsc_write_matrix(out, A));
        GOOD(kry_mtx_read(out, &back));
        const bool added = same_sums(m, back);
        const kry_status st = kry_petsc_write(alone, m);
        if (st == KRY_OK) {
            const size_t size = bytes_of(out, bytes);
            NEED(size > 0 && size == bytes_of(alone, whole) && !memcmp(bytes, whole, size),
                 "%d bytes", (int)size);
        }
        NEED((st == KRY_OK) == (!added && !m->array), "%s", kry_last_error());
        meet(team);
        kry_op_release(&A);
        kry_share_release(&S);
        kry_mtx_release(&back);
        kry_mtx_release(&m);
    }
    kry_device_release(&team);
}

/* y = A x of a file's matrix on ranks, and rows where those of vectors are. */
static void products_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);
    kry_op *A;
    kry_vec *x, *y;
    kry_mtx *m;
    double host[MOST_ROWS], product[MOST_ROWS];
    int64_t col[ROOM / 64], first;
    static double val[ROOM / 64];

    do make_text(false);
    while (strstr(text, "pattern") || strstr(text, "array") || strstr(text, "skew"));
    write_and_meet(team, w, false);
    GOOD(kry_mtx_read(path, &m));
    GOOD(kry_vec_create(team, KRY_F64, m->rows, 1, &x)); /* cut by rows alone */
    const int64_t rows = kry_vec_rows_here(x, &first);
    kry_share *S;
    GOOD(kry_share_read(team, path, &S));
    NEED(S->first == first && S->rows == rows, "rows from %d, not %d", (int)S->first, (int)first);
    kry_status st = kry_mtx_read_matrix(team, KRY_F64, path, &A);
    all_alike(team, w, shared, st);
    if (st < 0) { /* the file has two entries at one place */
        NEED(strstr(((board *)shared)->message[0], "two entries at row"), "%s",
             ((board *)shared)->message[0]);
        GOOD(kry_share_matrix(team, KRY_F64, S, KRY_MATRIX(.duplicates = KRY_SUM), &A));
    }
    GOOD(kry_vec_create(team, KRY_F64, m->rows, 1, &y));
    for (int64_t i = 0; i < rows; i++) host[i] = 1 + (double)((first + i) % 7);
    GOOD(kry_vec_write(x, host));
    GOOD(kry_op_apply(A, 1, x, 0, y));
    GOOD(kry_vec_read(y, product));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t count = row_of(m, first + i, col, val);
        double sum = 0, size = 0;
        for (int64_t k = 0; k < count; k++)
            sum += val[k] * (1 + (double)(col[k] % 7)), size += fabs(val[k]) * 7;
        NEED(fabs(sum - product[i]) <= 1e-14 * size, "row %d: %g, not %g", (int)(first + i),
             product[i], sum);
    }
    kry_share_release(&S);
    kry_mtx_release(&m);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&y);
    kry_device_release(&team);
}

static void refusals_scene(wires *w, void *shared)
{
    kry_device *team = quick_team(w);
    kry_share *S;

    for (int i = 0; i < 3; i++) {
        length = 0;
        add("%%%%MatrixMarket matrix coordinate real general\n%s",
            i ? "3 2 1\n1 1 1\n" : "2 2 0\n");
        write_and_meet(team, w, false);
        const bool bad = i == 0 && w->rank == w->size - 1;
        kry_status st = kry_share_read(team, bad ? "/nonexistent/file" : path, &S);
        NEED(st == (i == 0 ? KRY_ERR_FILE : KRY_ERR_UNSUPPORTED), "%s", kry_last_error());
        all_alike(team, w, shared, st);
    }
    kry_device_release(&team);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static void some_sizes(const char *what, int64_t number, rank_scene *scene)
{
    (void)random_bits(); /* the ranks go on from one state */
    snprintf(path, sizeof path, "%s/%s", folder, what);
    for (int size = 1; size <= MOST_RANKS; size++) {
        if (!one_of(3, size + number)) continue;
        (void)random_bits();
        const int bad = run_ranks(size, 300, sizeof(board), scene);
        if (bad >= 0) fail_msg("%s: rank %d of %d failed", what, bad, size);
    }
}

static void share_read__random_text(void **state)
{
    (void)state;
    some_sizes("text", 0, text_scene);
}

static void share_read__mistakes_name_rank_and_line(void **state)
{
    (void)state;
    some_sizes("mistakes", 1, mistakes_scene);
}

static void share_read__petsc(void **state)
{
    (void)state;
    some_sizes("petsc", 2, petsc_scene);
}

static void vectors__read_and_written(void **state)
{
    (void)state;
    some_sizes("vectors", 0, vectors_scene);
}

static void matrices__on_devices(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/products", folder);
    const int bad = run_ranks(3, 300, sizeof(board), products_scene);
    if (bad >= 0) fail_msg("rank %d of 3 failed", bad);
}

static void matrices__written_for_petsc(void **state)
{
    (void)state;
    some_sizes("written", 1, written_scene);
}

/* Byte by byte, and what is refused without a file left. */
static void petsc_write__layout_and_refusals(void **state)
{
    (void)state;
    static char bytes[ROOM];
    int32_t row[] = { 1, 0, 1 }, col[] = { 2, 1, 0 };
    double val[] = { -2.5, 1e-300, 7 };
    kry_mtx m = { .rows = 2, .cols = 3, .nnz = 3, .row = row, .col = col, .val = val };
    const int word[] = { 1211216, 2, 3, 3, 1, 2, 1, 0, 2 };
    const double number[] = { 1e-300, 7, -2.5 };

    snprintf(path, sizeof path, "%s/layout", folder);
    length = 0;
    for (size_t i = 0; i < COUNT(word); i++) put_big((uint64_t)word[i], 4);
    for (size_t i = 0; i < COUNT(number); i++) put_double(number[i]);
    OK(kry_petsc_write(path, &m));
    assert_int_equal(bytes_of(path, bytes), length);
    assert_memory_equal(bytes, text, length);

    m = (kry_mtx){ .array = true, .rows = 3, .cols = 1, .nnz = 3, .val = val };
    length = 0;
    put_big(1211214, 4), put_big(3, 4);
    for (int i = 0; i < 3; i++) put_double(val[i]);
    OK(kry_petsc_write(path, &m));
    assert_int_equal(bytes_of(path, bytes), length);
    assert_memory_equal(bytes, text, length);

    unlink(path);
    m = (kry_mtx){ .array = true, .rows = 1, .cols = 3, .nnz = 3, .val = val };
    assert_int_equal(kry_petsc_write(path, &m), KRY_ERR_UNSUPPORTED);
    m = (kry_mtx){ .rows = 2, .cols = 2, .nnz = 3, .row = row, .col = col, .val = val };
    assert_int_equal(kry_petsc_write(path, &m), KRY_ERR_ARGUMENT); /* column 2 */
    m.cols = 3, val[1] = (double)NAN;
    assert_int_equal(kry_petsc_write(path, &m), KRY_ERR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(kry_petsc_write("/nonexistent/folder/x", &m), KRY_ERR_ARGUMENT);
    val[1] = 0;
    assert_int_equal(kry_petsc_write("/nonexistent/folder/x", &m), KRY_ERR_FILE);
    EACH_REQUEST(k)
    {
        const kry_status st = FAILING(k, kry_petsc_write(path, &m));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        assert_int_equal(access(path, F_OK) == 0, st == KRY_OK);
    }
}

static void share_read__what_is_refused(void **state)
{
    (void)state;
    some_sizes("refusals", 2, refusals_scene);
}

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(folder, sizeof folder, "%.150s/kry-share-XXXXXX", base);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char name[520];
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        unlink(name);
    }
    if (dir) closedir(dir);
    return rmdir(folder);
}

/* An argument names some of the tests, as "vectors*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share_read__random_text),
        cmocka_unit_test(share_read__mistakes_name_rank_and_line),
        cmocka_unit_test(share_read__petsc),
        cmocka_unit_test(share_read__what_is_refused),
        cmocka_unit_test(vectors__read_and_written),
        cmocka_unit_test(matrices__on_devices),
        cmocka_unit_test(matrices__written_for_petsc),
        cmocka_unit_test(petsc_write__layout_and_refusals),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("share", tests, make_folder, remove_folder);
}
