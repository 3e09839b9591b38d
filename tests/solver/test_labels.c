/*
 * test_labels.c - sub-domains by stripes, blocks, levels, graphs and files: each against a plain
 * statement of what it is, and each kind of bad input.
 */
#include "testing.h"
#include <kry/kry.h>
#include <kry/problem.h>
#include <unistd.h>

/* Every label below count is in use; sizes of the parts, to be freed. */
static int64_t *sizes_of(int64_t n, const int32_t *labels, int64_t count)
{
    int64_t *size = calloc((size_t)count + 1, sizeof *size), found = -1;
    assert_non_null(size);
    OK(kry_labels_check(n, labels, &found));
    assert_int_equal(found, count);
    for (int64_t i = 0; i < n; i++) size[labels[i]]++;
    return size;
}

/* ---- stripes ---- */

static void labels_stripes__sizes_differ_by_one(void **state)
{
    (void)state;
    static const int64_t cases[][2] = { { 1, 1 },  { 7, 1 },     { 7, 7 },     { 10, 3 },
                                        { 64, 8 }, { 1000, 33 }, { 4096, 64 }, { 1001, 1000 } };
    for (size_t c = 0; c < COUNT(cases); c++) {
        int64_t n = cases[c][0], k = cases[c][1];
        int32_t *labels = calloc((size_t)n, sizeof *labels);
        OK(kry_labels_stripes(n, k, labels));
        int64_t *size = sizes_of(n, labels, k);
        for (int64_t j = 0; j < k; j++) assert_in_range(size[j], n / k, (n + k - 1) / k);
        for (int64_t i = 1; i < n; i++) assert_in_range(labels[i] - labels[i - 1], 0, 1);
        free(size);
        free(labels);
    }
}

static void labels_stripes__refusals(void **state)
{
    (void)state;
    int32_t labels[4] = { 7, 7, 7, 7 };
    REFUSES(kry_labels_stripes(4, 5, labels), KRY_ERR_ARGUMENT, "5 stripes of 4 unknowns");
    REFUSES(kry_labels_stripes(4, 0, labels), KRY_ERR_ARGUMENT, "0 stripes");
    REFUSES(kry_labels_stripes(0, 1, labels), KRY_ERR_ARGUMENT, "of 0");
    REFUSES(kry_labels_stripes(4, 2, NULL), KRY_ERR_ARGUMENT, "NULL");
    assert_int_equal(labels[0], 7);
}

/* ---- blocks ---- */

static void labels_blocks__against_coordinates(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 5, 4, 0 }, { 8, 6, 1 }, { 1, 1, 0 }, { 7, 5, 3 } };
    static const int64_t blocks[][3] = { { 2, 2, 2 }, { 1, 1, 1 }, { 3, 4, 2 }, { 100, 100, 100 } };
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t b = 0; b < COUNT(blocks); b++) {
            const int64_t *N = sizes[s], *B = blocks[b];
            int64_t n = N[0] * N[1] * (N[2] ? N[2] : 1), count, across[3] = { 0 };
            int32_t *labels = calloc((size_t)n, sizeof *labels);
            for (int a = 0; a < 3; a++) across[a] = ((N[a] ? N[a] : 1) + B[a] - 1) / B[a];
            OK(kry_labels_blocks(N, B, NULL, labels, &count));
            assert_int_equal(count, across[0] * across[1] * across[2]);
            for (int64_t i = 0; i < n; i++) { /* x first: blocks appear in their order */
                int64_t x = i % N[0], y = i / N[0] % N[1], z = i / N[0] / N[1];
                assert_int_equal(labels[i],
                                 x / B[0] + across[0] * (y / B[1] + across[1] * (z / B[2])));
            }
            free(labels);
        }
}

/* The phases: left and right, but for one cell in the last block. */
static void labels_blocks__split_by_phase(void **state)
{
    (void)state;
    static const int32_t phase[24] = { 5, 5, 5, -9, -9, -9, 5, 5, 5, -9, -9, -9,
                                       5, 5, 5, -9, -9, -9, 5, 5, 5, -9, -9, 3 };
    static const int32_t want[24] = { 0, 0, 1, 2, 3, 3, 0, 0, 1, 2, 3, 3,
                                      4, 4, 5, 6, 7, 7, 4, 4, 5, 6, 7, 8 };
    int32_t labels[24];
    int64_t count;
    OK(kry_labels_blocks((int64_t[]){ 6, 4, 0 }, (int64_t[]){ 2, 2, 0 }, phase, labels, &count));
    assert_int_equal(count, 9);
    assert_memory_equal(labels, want, sizeof want);
}

static void labels_blocks__refusals(void **state)
{
    (void)state;
    int32_t labels[8] = { 7 };
    int64_t count = 99;
    REFUSES(kry_labels_blocks((int64_t[]){ 4, 0, 0 }, (int64_t[]){ 2, 2, 2 }, NULL, labels, &count),
            KRY_ERR_ARGUMENT, "0 cells along axis 1");
    REFUSES(
        kry_labels_blocks((int64_t[]){ 4, 2, -1 }, (int64_t[]){ 2, 2, 2 }, NULL, labels, &count),
        KRY_ERR_ARGUMENT, "-1 cells along axis 2");
    REFUSES(kry_labels_blocks((int64_t[]){ 4, 2, 0 }, (int64_t[]){ 0, 2, 2 }, NULL, labels, &count),
            KRY_ERR_ARGUMENT, "blocks of 0 cells along axis 0");
    REFUSES(kry_labels_blocks((int64_t[]){ 1 << 20, 1 << 20, 0 }, (int64_t[]){ 2, 2, 2 }, NULL,
                              labels, &count),
            KRY_ERR_ARGUMENT, "1048576 cells along axis 1");
    REFUSES(kry_labels_blocks((int64_t[]){ 4, 2, 0 }, (int64_t[]){ 2, 2, 2 }, NULL, NULL, &count),
            KRY_ERR_ARGUMENT, "NULL");
    for (int k = 0; k < 2; k++) {
        kry_status st = FAILING(k, kry_labels_blocks((int64_t[]){ 4, 2, 0 }, (int64_t[]){ 2, 2, 2 },
                                                     NULL, labels, &count));
        assert_int_equal(st, KRY_ERR_MEMORY);
    }
    assert_int_equal(labels[0], 7);
    assert_int_equal(count, 99);
}

/* ---- levels ---- */

static void labels_levels__jumps(void **state)
{
    (void)state;
    double field[] = { 1e-6, 1, 3e3, 2.9, 1, 1e-6, 3e-6, 3.5e3 };
    static const int32_t want[] = { 0, 1, 2, 1, 1, 0, 0, 2 };
    int32_t labels[8];
    int64_t count;
    OK(kry_labels_levels(8, field, 0, labels, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(labels, want, sizeof want);
    OK(kry_labels_levels(8, field, 2, labels, &count)); /* 1e-6 | 3e-6 | 1 | 2.9 | 3000, 3500 */
    assert_int_equal(count, 5);
    static const int32_t finer[] = { 0, 2, 4, 3, 2, 0, 1, 4 };
    assert_memory_equal(labels, finer, sizeof finer);
    OK(kry_labels_levels(8, field, 1e12, labels, &count));
    assert_int_equal(count, 1);
    OK(kry_labels_levels(1, field, 0, labels, &count));
    assert_int_equal(count, 1);
    OK(kry_labels_levels(0, NULL, 0, NULL, &count));
    assert_int_equal(count, 0);
    for (int i = 0; i < 8; i++) field[i] = pow(3.9, i); /* each step is too small, all are not */
    OK(kry_labels_levels(8, field, 0, labels, &count));
    assert_int_equal(count, 1);
}

static void labels_levels__refusals(void **state)
{
    (void)state;
    double field[] = { 1, 2, 0, 4 };
    int32_t labels[4] = { 7 };
    int64_t count = 99;
    REFUSES(kry_labels_levels(4, field, 0, labels, &count), KRY_ERR_ARGUMENT, "field[2] = 0");
    field[2] = (double)NAN;
    REFUSES(kry_labels_levels(4, field, 0, labels, &count), KRY_ERR_ARGUMENT, "field[2] = nan");
    field[2] = 1;
    REFUSES(kry_labels_levels(4, field, 1, labels, &count), KRY_ERR_ARGUMENT, "jump = 1");
    REFUSES(kry_labels_levels(4, field, (double)NAN, labels, &count), KRY_ERR_ARGUMENT, "jump");
    REFUSES(kry_labels_levels(4, NULL, 0, labels, &count), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_labels_levels(-1, field, 0, labels, &count), KRY_ERR_ARGUMENT, "-1 values");
    assert_true(labels[0] == 7 && count == 99);
}

/* ---- graphs ---- */

static kry_op *grid_of(int64_t nx, int64_t ny)
{
    kry_op *A;
    OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { nx, ny }), &A));
    return A;
}

/* Entries between parts, of the grid's pattern. */
static int64_t cut_of(int64_t nx, int64_t ny, const int32_t *labels)
{
    int64_t cut = 0;
    for (int64_t i = 0; i < nx * ny; i++) {
        if (i % nx + 1 < nx) cut += labels[i] != labels[i + 1];
        if (i / nx + 1 < ny) cut += labels[i] != labels[i + nx];
    }
    return cut;
}

static bool have_metis(void)
{
#ifdef KRY_HAVE_METIS
    return true;
#else
    return false;
#endif
}

static void labels_graph__parts_of_a_grid(void **state)
{
    (void)state;
    enum { NX = 40, NY = 32, K = 20 };
    if (!have_metis()) SKIP("no METIS");
    static int32_t labels[NX * NY], again[NX * NY];
    kry_op *grid = grid_of(NX, NY), *matrix;
    int64_t count;
    OK(kry_labels_graph(grid, K, labels, &count));
    int64_t *size = sizes_of(NX * NY, labels, count);
    assert_int_equal(count, K);
    for (int64_t j = 0; j < count; j++) assert_in_range(size[j], 45, 80); /* 64 on average */
    free(size);
    /* 20 squares of 8 by 8 cut 256 edges, rows 760 */
    assert_in_range(cut_of(NX, NY, labels), 100, 400);
    OK(kry_stencil_matrix(grid, NULL, &matrix));
    OK(kry_labels_graph(matrix, K, again, &count));
    assert_memory_equal(labels, again, sizeof labels);
    kry_op_release(&matrix);
    kry_op_release(&grid);
}

static void labels_graph__every_number_of_parts(void **state)
{
    (void)state;
    enum { NX = 9, NY = 7, N = NX * NY };
    if (!have_metis()) SKIP("no METIS");
    int32_t labels[N];
    kry_op *grid = grid_of(NX, NY);
    for (int64_t k = 1; k <= N; k++) {
        int64_t count;
        OK(kry_labels_graph(grid, k, labels, &count));
        assert_in_range(count, k < 8 ? k : k / 2, k);
        free(sizes_of(N, labels, count));
    }
    kry_op_release(&grid);
}

/* Two unknowns to a node: each part has a label for either, whether the matrix says so or its pattern. */
static void labels_graph__components_of_nodes(void **state)
{
    (void)state;
    enum { PARTS = 5 };
    if (!have_metis()) SKIP("no METIS");
    kry_problem *p;
    OK(kry_problem_create("block_spd:90:2", 1, &p));
    int32_t *labels = calloc((size_t)p->n, sizeof *labels);
    float *val = calloc((size_t)p->nnz, sizeof *val);

    for (int64_t k = 0; k < p->nnz; k++) val[k] = (float)p->val[k];
    for (int block = 0; block <= 3; block++) {
        kry_op *A;
        int64_t count;
        int32_t partner[2 * PARTS];
        OK(kry_csr_create(device(), KRY_F32, p->n, p->n, p->row_ptr, p->col, val,
                          KRY_MATRIX(.format = KRY_FORMAT_CSR, .block = block), &A));
        OK(kry_labels_graph(A, PARTS, labels, &count));
        assert_int_equal(count, PARTS * (block ? block : 2));
        memset(partner, -1, sizeof partner);
        for (int64_t i = 0; i < p->n && block % 2 == 0; i += 2) {
            int32_t *other = &partner[labels[i]];
            assert_true(*other == labels[i + 1] || *other < 0);
            assert_int_not_equal(labels[i], labels[i + 1]);
            *other = labels[i + 1];
        }
        REFUSES(kry_labels_graph(A, p->n + 1, labels, &count), KRY_ERR_ARGUMENT, "parts of");
        if (block == 3)
            REFUSES(kry_labels_graph(A, p->n / 2, labels, &count), KRY_ERR_ARGUMENT,
                    "nodes of 3 unknowns");
        kry_op_release(&A);
    }
    kry_op *A;
    REFUSES(kry_csr_create(device(), KRY_F32, p->n, p->n, p->row_ptr, p->col, val,
                           KRY_MATRIX(.block = 33), &A),
            KRY_ERR_ARGUMENT, "block = 33");
    free(val);
    free(labels);
    kry_problem_release(&p);
}

/* One entry in each pair of places, a full row, an empty one, pieces that do not touch. */
static void labels_graph__unsymmetric_pattern(void **state)
{
    (void)state;
    enum { N = 60 };
    if (!have_metis()) SKIP("no METIS");
    int64_t row_ptr[N + 1] = { 0 }, count, nnz = 0;
    int32_t col[4 * N], labels[N];
    float val[4 * N];
    for (int i = 0; i < N; i++) {
        if (i == 5)
            for (int j = 0; j < N; j += 2) col[nnz] = j, val[nnz++] = 1;
        else if (i != 7 && i != 30 && i + 1 < N)
            col[nnz] = i + 1, val[nnz++] = 1;
        row_ptr[i + 1] = nnz;
    }
    kry_op *A;
    OK(kry_csr_create(device(), KRY_F32, N, N, row_ptr, col, val, NULL, &A));
    OK(kry_labels_graph(A, 4, labels, &count));
    assert_int_equal(count, 4);
    free(sizes_of(N, labels, count));
    kry_op_release(&A);
}

static kry_status apply_nothing(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(alpha, x, beta, y);
}

static void labels_graph__refusals(void **state)
{
    (void)state;
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "custom",
                                        .apply = apply_nothing };
    int32_t labels[12] = { 7 };
    int64_t count = 99;
    kry_op *grid = grid_of(4, 3), *custom, *wide;
    OK(kry_op_create(device(), &table, NULL, &(kry_op_shape){ 5, 5, KRY_F32, 0 }, &custom));
    OK(kry_csr_create(device(), KRY_F32, 1, 2, (int64_t[]){ 0, 1 }, (int32_t[]){ 0 },
                      (float[]){ 1 }, NULL, &wide));
    REFUSES(kry_labels_graph(grid, 13, labels, &count), KRY_ERR_ARGUMENT, "13 parts of 12");
    REFUSES(kry_labels_graph(grid, 0, labels, &count), KRY_ERR_ARGUMENT, "0 parts");
    REFUSES(kry_labels_graph(NULL, 1, labels, &count), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_labels_graph(custom, 2, labels, &count), KRY_ERR_UNSUPPORTED, "'custom'");
    REFUSES(kry_labels_graph(wide, 1, labels, &count), KRY_ERR_SHAPE, "1-by-2");
    if (!have_metis())
        REFUSES(kry_labels_graph(grid, 2, labels, &count), KRY_ERR_UNSUPPORTED, "without METIS");
    assert_true(labels[0] == 7 && count == 99);
    kry_op_release(&wide);
    kry_op_release(&custom);
    kry_op_release(&grid);
}

static void labels_graph__every_request_fails(void **state)
{
    (void)state;
    if (!have_metis()) SKIP("no METIS");
    kry_op *grid = grid_of(20, 10);
    int32_t labels[200] = { 7 };
    int64_t count = 99;
    OK(kry_labels_graph(grid, 3, labels, &count)); /* compiles */
    for (int parts = 3; parts < 200; parts += 97) {
        EACH_REQUEST(k)
        {
            labels[0] = 7, count = 99;
            kry_status st = FAILING(k, kry_labels_graph(grid, parts, labels, &count));
            if (st < 0) assert_true(st == KRY_ERR_MEMORY && labels[0] == 7 && count == 99);
            if (!request_failed) OK(st);
            assert_in_range(k, 0, 1000);
        }
    }
    kry_op_release(&grid);
}

/* ---- files ---- */

static char path[] = "/tmp/kry-labels.XXXXXX";

static const char *file_of(const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

static void labels_read__plain_and_matrix_market(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0\n0\n2\n1\n2\n",
        "# phases\n0 0 2\n\n% more\n  1\t2 # the last\r\n",
        "0,0,2,1,2",
        "%%MatrixMarket matrix array integer general\n% c\n5 1\n0\n0\n2\n1\n2\n",
        "%%MatrixMarket matrix array real general\n5 1\n0\n0\n2.0\n1e0\n2\n",
        "%%MatrixMarket matrix coordinate integer general\n5 1 3\n5 1 2\n3 1 2\n4 1 1\n",
    };
    static const int32_t want[] = { 0, 0, 2, 1, 2 };
    for (size_t t = 0; t < COUNT(texts); t++) {
        int32_t labels[5] = { 9, 9, 9, 9, 9 };
        int64_t count;
        OK(kry_labels_read(file_of(texts[t]), 5, labels, &count));
        assert_int_equal(count, 3);
        assert_memory_equal(labels, want, sizeof want);
    }
}

static void labels_read__bad_files(void **state)
{
    (void)state;
#define MTX "%%MatrixMarket matrix "
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "0\n1\n-1\n2\n", ":3: label -1 is not in [0, 4)" },
        { "0\n1 x2\n", ":2: 'x2' is not a whole number" },
        { "0\n1 1.5\n", ":2: '1.5' is not a whole number" },
        { "0 1\n2\n4\n", ":3: label 4" },
        { "0\n1\n2\n", "after 3 of 4 labels" },
        { "", "after 0 of 4 labels" },
        { "0 1\n0 1\n1\n", ":3: more than 4 labels" },
        { "0 0 1 3", ": label 2 of 0 ... 3 is not used" },
        { "1 1 1 1", ": label 0 of 0 ... 1 is not used" },
        { "99999999999999999999 0 0 0", ":1: '99999999999999999999'" },
        { MTX "array real general\n3 1\n0\n1\n2\n", "3-by-1 instead of 4-by-1" },
        { MTX "array real general\n4 1\n0\n1\n0.5\n1\n", "label 0.5 of row 3" },
        { MTX "array real general\n4 1\n0\n1\n1\n1e9\n", "label 1e+09 of row 4" },
        { MTX "coordinate real general\n4 1 2\n2 1 1\n2 1 1\n", "row 2 occurs twice" },
        { MTX "array real general\n4 1\n0\n", ":4: the file ends after 1" },
    };
#undef MTX
    for (size_t c = 0; c < COUNT(cases); c++) {
        int32_t labels[4] = { 7, 7, 7, 7 };
        int64_t count = 99;
        file_of(cases[c].text);
        REFUSES(kry_labels_read(path, 4, labels, &count), KRY_ERR_PARSE, cases[c].words);
        assert_non_null(strstr(kry_last_error(), path));
        assert_true(labels[0] == 7 && labels[3] == 7 && count == 99);
    }
    int32_t labels[4];
    int64_t count;
    REFUSES(kry_labels_read("/nowhere/at/all", 4, labels, &count), KRY_ERR_FILE, "/nowhere/at/all");
    REFUSES(kry_labels_read(NULL, 4, labels, &count), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_labels_read(path, 0, labels, &count), KRY_ERR_ARGUMENT, "0 unknowns");
}

static void labels_check__refusals(void **state)
{
    (void)state;
    int32_t labels[] = { 0, 1, 2, 4, 1 };
    int64_t count = 99;
    REFUSES(kry_labels_check(5, labels, &count), KRY_ERR_ARGUMENT, "label 3 of 0 ... 4");
    labels[3] = -2;
    REFUSES(kry_labels_check(5, labels, &count), KRY_ERR_ARGUMENT, "label -2 of unknown 3");
    labels[3] = 5;
    REFUSES(kry_labels_check(5, labels, &count), KRY_ERR_ARGUMENT, "label 5 of unknown 3");
    REFUSES(kry_labels_check(5, NULL, &count), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_labels_check(-5, labels, &count), KRY_ERR_ARGUMENT, "-5 unknowns");
    assert_int_equal(count, 99);
    labels[3] = 3;
    OK(kry_labels_check(5, labels, &count));
    assert_int_equal(count, 4);
    OK(kry_labels_check(0, NULL, &count));
    assert_int_equal(count, 0);
}

static int open_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int end(void **state)
{
    unlink(path);
    return close_device(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stripes__sizes_differ_by_one),
        cmocka_unit_test(labels_stripes__refusals),
        cmocka_unit_test(labels_blocks__against_coordinates),
        cmocka_unit_test(labels_blocks__split_by_phase),
        cmocka_unit_test(labels_blocks__refusals),
        cmocka_unit_test(labels_levels__jumps),
        cmocka_unit_test(labels_levels__refusals),
        cmocka_unit_test(labels_graph__parts_of_a_grid),
        cmocka_unit_test(labels_graph__every_number_of_parts),
        cmocka_unit_test(labels_graph__components_of_nodes),
        cmocka_unit_test(labels_graph__unsymmetric_pattern),
        cmocka_unit_test(labels_graph__refusals),
        cmocka_unit_test(labels_graph__every_request_fails),
        cmocka_unit_test(labels_read__plain_and_matrix_market),
        cmocka_unit_test(labels_read__bad_files),
        cmocka_unit_test(labels_check__refusals),
    };
    return cmocka_run_group_tests(tests, open_file, end);
}
