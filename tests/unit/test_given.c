/*
 * test_given.c - stored matrices that a GPU makes of the arrays it was given, against those that the host makes: the same
 * stages, slots, columns, numbers and findings, to the bit; new values; what is refused, in the same words.
 */
#include "base/hooks.h"
#include "format_suite.h"
#include "matrix/given.h"

/* ---- both ways --------------------------------------------------------------------------------- */

static kryi_csr sparse_of(const matrix *A, kry_type type)
{
    return (kryi_csr){ A->rows, A->cols, type, A->row_ptr, A->col, in_type(type, A->val, A->nnz) };
}

static kryi_given upload(const kryi_csr *S, const kry_matrix_params *p)
{
    const kryi_entries e = { "test", *S, NULL, kryi_csr_nnz(S) };
    kryi_given G;

    OK(kryi_given_upload(device(), &e, p, &G));
    G.host = S;
    return G;
}

static void *contents(cl_mem buffer, size_t *bytes)
{
    OK(kryi_buffer_size("test", device(), buffer, bytes));
    void *data = calloc(*bytes + 1, 1);
    assert_non_null(data);
    OK(buffer_read(device(), buffer, 0, *bytes, data));
    return data;
}

/* The first bytes that mean something: a pool's buffers may be longer. */
static void assert_same_buffer(cl_mem a, cl_mem b, size_t bytes, const char *what)
{
    size_t has_a, has_b;
    void *x = contents(a, &has_a), *y = contents(b, &has_b);

    if (!bytes) bytes = has_a < has_b ? has_a : has_b;
    if (memcmp(x, y, bytes)) fail_msg("%s differ", what);
    free(x), free(y);
}

static void assert_same_stage(const kryi_stage *a, const kryi_stage *b)
{
    assert_string_equal(a->stem, b->stem);
    assert_string_equal(a->defines, b->defines);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->groups, b->groups);
    for (int i = 0; i < a->count; i++) {
        assert_int_equal(a->is_buffer[i], b->is_buffer[i]);
        if (a->is_buffer[i])
            assert_true(!a->value[i].buffer == !b->value[i].buffer);
        else
            assert_int_equal(a->value[i].number, b->value[i].number);
    }
}

static void assert_same_stages(const kryi_matrix *there, const kryi_matrix *host)
{
    assert_string_equal(there->variant, host->variant);
    assert_int_equal(there->stages, host->stages);
    assert_int_equal(there->slots, host->slots);
    assert_int_equal((long)there->structure_bytes, (long)host->structure_bytes);
    for (int i = 0; i < host->stages; i++) {
        const kryi_stage *a = &there->stage[i], *b = &host->stage[i];
        assert_same_stage(a, b);
        const bool has_sums = !strcmp(b->stem, "csr") || !strcmp(b->stem, "split");
        for (int k = 0; k < b->count - has_sums; k++) /* the last one of those is room for sums */
            if (b->is_buffer[k] && b->value[k].buffer)
                assert_same_buffer(a->value[k].buffer, b->value[k].buffer, 0, "arrays of a stage");
    }
}

static void assert_same_matrix(const kry_op *a, const kry_op *b)
{
    const kryi_matrix *there = kryi_matrix_of(a), *host = kryi_matrix_of(b);

    assert_same_stages(there, host);
    assert_int_equal(there->stored, host->stored);
    assert_same_buffer(there->val, host->val, (size_t)host->slots * kry_type_size(host->stored),
                       "numbers");
}

static void assert_same_finding(const kryi_finding *a, const kryi_finding *b)
{
    assert_int_equal(a->what, b->what);
    assert_int_equal(a->zero_rows, b->zero_rows);
    assert_int_equal(a->zero_row, b->zero_row);
    assert_int_equal(a->negative, b->negative);
    assert_int_equal(a->row, b->row);
    assert_int_equal(a->col, b->col);
    assert_true(a->entry == b->entry && a->mirror == b->mirror);
}

static double entry_of(const kryi_csr *S, int64_t i, int64_t j)
{
    const int64_t k = kryi_csr_find(S, i, j);
    return k < 0 ? 0 : kryi_number_at(S->type, S->val, k);
}

/* What is found block by block need not be the pair of the whole matrix that differs most, but is one that differs. */
static void assert_finding_holds(const kryi_csr *S, const kryi_finding *whole, kryi_finding found)
{
    double largest = 0;

    if (found.what == KRY_FOUND_ASYMMETRIC) {
        assert_true(found.entry == entry_of(S, found.row, found.col));
        assert_true(found.mirror == entry_of(S, found.col, found.row));
        for (int64_t k = 0; k < kryi_csr_nnz(S); k++)
            largest = fmax(largest, fabs(kryi_number_at(S->type, S->val, k)));
        assert_true(fabs(found.entry - found.mirror) > kryi_inspect_rounding(S->type) * largest);
        found.row = whole->row, found.col = whole->col;
        found.entry = whole->entry, found.mirror = whole->mirror;
    }
    assert_same_finding(whole, &found);
}

/* ---- formats ---------------------------------------------------------------------------------- */

/* What the device has made says where each entry is, as the host's slots do. */
static void assert_same_slots(const kryi_matrix *there, cl_mem place, const kryi_matrix *host)
{
    const size_t bytes = (size_t)host->nnz * sizeof(cl_int);
    kryi_device_csr C;

    assert_int_equal(place != NULL, host->slot != NULL);
    if (!place) return;
    cl_int *slot = calloc(bytes, 1);
    assert_non_null(slot);
    OK(buffer_read(device(), place, 0, bytes, slot));
    assert_memory_equal(slot, host->slot, bytes);
    OK(kryi_device_csr_pattern_of(there, &C)); /* read back */
    OK(buffer_read(device(), C.place, 0, bytes, slot));
    assert_memory_equal(slot, host->slot, bytes);
    kryi_device_csr_release(&C);
    free(slot);
}

static void assert_same_pattern(const kryi_matrix *there, const kryi_csr *S)
{
    kryi_device_csr C;
    int64_t *row_ptr = calloc((size_t)S->rows + 1, sizeof *row_ptr);
    int32_t *col = calloc((size_t)kryi_csr_nnz(S), sizeof *col);

    assert_true(row_ptr && col);
    OK(kryi_device_csr_pattern_of(there, &C));
    OK(kryi_device_csr_read_offsets(&C, row_ptr));
    OK(buffer_read(device(), C.col, 0, (size_t)C.nnz * sizeof *col, col));
    assert_memory_equal(row_ptr, S->row_ptr, ((size_t)S->rows + 1) * sizeof *row_ptr);
    assert_memory_equal(col, S->col, (size_t)C.nnz * sizeof *col);
    kryi_device_csr_release(&C);
    free(col), free(row_ptr);
}

/* Places on the device against the host's; or both refuse in the same words. Nothing is multiplied. */
static void compare(const kryi_csr *S, const kry_matrix_params *p)
{
    kryi_given G = upload(S, p);
    kryi_matrix *there, *host;
    cl_mem place = NULL;
    char words[512];

    if (!G.C.dev) return; /* nothing in it */
    OK(kryi_matrix_new(device(), p, S, kryi_csr_nnz(S), &there));
    OK(kryi_matrix_new(device(), p, S, kryi_csr_nnz(S), &host));
    const kryi_given on_host = { .host = S };
    const kry_status refused = host->format->build(host, &on_host);
    snprintf(words, sizeof words, "%s", refused < 0 ? kry_last_error() : "");
    const kry_status st = there->format->place(there, &G, &place);
    if (st < 0) {
        assert_int_equal(st, refused);
        assert_string_equal(kry_last_error(), words);
    } else if (there->placed) {
        assert_int_equal(refused, KRY_OK);
        assert_same_stages(there, host);
        assert_same_slots(there, place, host);
        assert_same_pattern(there, S);
    } else {
        assert_int_equal(there->stages, 0); /* nothing has happened */
    }
    buffer_release(device(), &place);
    kryi_matrix_destroy(there), kryi_matrix_destroy(host);
    kryi_given_release(&G);
}

/* What the choice of a format goes by. */
static void compare_predictions(const kryi_csr *S)
{
    const kry_matrix_params *p = KRY_MATRIX(.format = KRY_FORMAT_AUTO);
    kryi_given G = upload(S, p);
    double there[KRY_FORMAT_COUNT], host[KRY_FORMAT_COUNT];
    uint64_t hash, same;

    kryi_given on_host = { .host = S };
    kryi_numbers_see(S->type, S->val, kryi_csr_nnz(S), &on_host.seen);
    if (!G.C.dev) G.seen = on_host.seen; /* there is nothing in it */
    OK(kryi_predict(device(), &G, p, there, &hash));
    OK(kryi_predict(device(), &on_host, p, host, &same));
    assert_memory_equal(there, host, sizeof host);
    assert_true(hash == same);
    kryi_given_release(&on_host);
    kryi_given_release(&G);
}

static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_ELL, KRY_FORMAT_SELL,
                                      KRY_FORMAT_DIA, KRY_FORMAT_SYMDIA };

static void given__formats_as_on_the_host(void **state)
{
    const kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(patterns); i++) {
        matrix A = pattern_matrix(&patterns[i], type);
        kryi_csr S = sparse_of(&A, type);
        const bool many = A.rows > 4000; /* which is for the runs of csr */
        for (size_t f = 0; f < (many ? 1 : COUNT(formats)); f++)
            compare(&S, KRY_MATRIX(.format = formats[f]));
        if (!many) compare_predictions(&S);
        free(S.val);
        matrix_release(&A);
    }
}

static void given__slices_of_all_shapes(void **state)
{
    static const struct {
        int slice, sigma, bits;
    } shapes[] = { { 4, 1, 0 },    { 8, 32, 32 },    { 16, 32, 0 },
                   { 32, 0, 16 },  { 64, 256, 8 },   { 128, 0, 0 },
                   { 256, 1, 32 }, { 32, 32768, 0 }, { 32, 16384, 32 } };
    const kry_type type = type_of(state);
    matrix A[] = { matrix_create(type, 250, 270, gaps), matrix_create(type, 777, 777, power_law),
                   matrix_where(type, 961, 961, poisson) };

    for (size_t m = 0; m < COUNT(A); m++) {
        kryi_csr S = sparse_of(&A[m], type);
        for (size_t i = 0; i < COUNT(shapes); i++)
            compare(&S, KRY_MATRIX(.format = KRY_FORMAT_SELL, .slice = shapes[i].slice,
                                   .sigma = shapes[i].sigma, .index_bits = shapes[i].bits));
        free(S.val);
        matrix_release(&A[m]);
    }
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static void make_both(const kryi_csr *S, const kry_matrix_params *p, kry_op **there, kry_op **host)
{
    kryi_given G = upload(S, p);

    OK(kryi_matrix_of_given(device(), &G, p, there));
    assert_true(kryi_matrix_of(*there)->placed);
    kryi_given_release(&G);
    OK(kryi_matrix_create(device(), S, p, host));
}

/* In the same words. */
static void both_refuse(const kry_op *there, const kry_op *host, const void *values,
                        const char *text)
{
    char words[512];

    REFUSES(kry_op_update((kry_op *)host, values), KRY_ERR_ARGUMENT, text);
    snprintf(words, sizeof words, "%s", kry_last_error());
    REFUSES(kry_op_update((kry_op *)there, values), KRY_ERR_ARGUMENT, words);
}

/* New values: as of the host's matrix; what is wrong with them is said in its words, and the old ones stay. */
static void try_update(matrix *A, kry_type type, kry_format format, kry_values values)
{
    const kry_matrix_params *p = KRY_MATRIX(.format = format, .values = values);
    kryi_csr S = sparse_of(A, type);
    kry_op *there, *host;
    kryi_finding found;

    make_both(&S, p, &there, &host);
    assert_same_matrix(there, host);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) /* zeros are entries */
            A->val[k] =
                to_type(type, i == 2 || A->col[k] == 2 ? 0 : pair_number(type, i, A->col[k], 7));
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_op_update(there, val));
    OK(kry_op_update(host, val));
    assert_same_matrix(there, host);
    S.row_ptr = A->row_ptr, memcpy(S.val, val, (size_t)A->nnz * kry_type_size(type));
    OK(kryi_matrix_inspect(&S, &found));
    assert_same_finding(&there->found, &found);
    if (values != KRY_VALUES_SINGLE) assert_reads_back(there, A);
    kryi_number_put(type, val, A->nnz / 2, NAN);
    both_refuse(there, host, val, "is not finite");
    if (format == KRY_FORMAT_SYMDIA) {
        kryi_number_put(type, val, A->nnz / 2 + 1, 17), kryi_number_put(type, val, A->nnz / 2, 18);
        both_refuse(there, host, val, "differs from its mirror image");
    }
    assert_same_matrix(there, host);
    kry_op_release(&there), kry_op_release(&host);
    free(S.val), free(val);
}

/* Whose ways to store numbers differ. */
static const kry_format kinds[] = { KRY_FORMAT_SELL, KRY_FORMAT_CSR, KRY_FORMAT_SYMDIA };

static void given__new_values(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);

    for (size_t f = 0; f < (type == KRY_F64 ? COUNT(kinds) : 1); f++)
        for (int rounded = 0; rounded < 1 + (type == KRY_F64); rounded++) {
            matrix A = matrix_where(type, 961, 961, poisson);
            try_update(&A, type, kinds[f], rounded ? KRY_VALUES_SINGLE : KRY_VALUES_COMPACT);
            matrix_release(&A);
        }
}

static void given__diagonal_of_slices(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);
    matrix A = matrix_create(type, 300, 300, any);
    kryi_csr S = sparse_of(&A, type);
    kry_op *there, *host;
    kry_vec *d, *e;

    make_both(&S, KRY_MATRIX(.format = KRY_FORMAT_SELL), &there, &host);
    OK(kry_vec_create(device(), type, A.rows, 1, &d));
    OK(kry_vec_create(device(), type, A.rows, 1, &e));
    OK(kry_op_diagonal(there, d));
    OK(kry_op_diagonal(host, e));
    double *x = numbers_of(d), *y = numbers_of(e);
    assert_same_bits(x, y, A.rows);
    free(x), free(y), free(S.val);
    kry_vec_release(&d), kry_vec_release(&e);
    kry_op_release(&there), kry_op_release(&host);
    matrix_release(&A);
}

/* ---- what is said against a matrix ------------------------------------------------------------- */

/* Entries changed at random, so that there are equal differences, zeros, and diagonals of all signs. */
static void given__findings_as_on_the_host(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);

    for (int round = 0; round < 24; round++) {
        matrix A = round % 3 ? matrix_where(type, 300, 300, round % 2 ? symmetric_band : poisson)
                             : matrix_create(type, 300, 300, any);
        for (int change = 0; change < round / 3 && A.nnz; change++)
            A.val[random_below(A.nnz)] = (double)random_below(3) - 1;
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                if ((round % 5 == 1 && i % 7 == 0) || (round == 22 && A.col[k] == i))
                    A.val[k] = round == 22 ? -4 : 0;
        kryi_csr S = sparse_of(&A, type);
        kryi_given G = upload(&S, KRY_MATRIX(.format = KRY_FORMAT_AUTO));
        kryi_finding found;
        OK(kryi_matrix_inspect(&S, &found));
        assert_same_finding(&G.finding, &found);
        cut_loops(1 + (int)random_below(5)); /* and in blocks of few rows */
        OK(kryi_matrix_inspect(&S, &found));
        cut_loops(0);
        assert_finding_holds(&S, &G.finding, found);
        assert_int_equal(G.seen.symmetric, kryi_csr_is_symmetric(&S));
        compare(&S, KRY_MATRIX(.format = KRY_FORMAT_SYMDIA));
        kryi_given_release(&G);
        free(S.val);
        matrix_release(&A);
    }
}

/* ---- what is refused ---------------------------------------------------------------------------- */

enum { N = 5 };
typedef struct arrays {
    int64_t row_ptr[N + 1];
    int32_t col[3 * N];
    double val[3 * N];
    kry_values values;
} arrays;

static arrays good_arrays(void)
{
    arrays a = { .row_ptr = { 0, 3, 6, 9, 12, 15 } };
    for (int k = 0; k < 3 * N; k++) a.col[k] = k % 3 + k / 6, a.val[k] = 1 + k;
    return a;
}

/* The device sees it and leaves it to the host, which says where. */
static void expect_refusal(const arrays *a, kry_type type, const char *words)
{
    kry_op *op = NULL;
    const kry_matrix_params *p = KRY_MATRIX(.format = KRY_FORMAT_CSR, .values = a->values);
    kryi_csr S = {
        N, N, type, (int64_t *)a->row_ptr, (int32_t *)a->col, in_type(type, a->val, 3 * N)
    };
    kryi_given G = upload(&S, p);

    assert_true(!G.C.dev || (G.seen.faults & KRY_SEEN_UNFIT));
    if (G.C.dev) REFUSES(kryi_matrix_of_given(device(), &G, p, &op), KRY_ERR_ARGUMENT, words);
    REFUSES(kry_csr_create(device(), type, N, N, S.row_ptr, S.col, S.val, p, &op), KRY_ERR_ARGUMENT,
            words);
    assert_null(op);
    kryi_given_release(&G);
    free(S.val);
}

static void given__bad_arrays_are_named(void **state)
{
    const kry_type type = type_of(state);
    arrays a;

#define BAD(change, words) a = good_arrays(), (change), expect_refusal(&a, type, words)
    BAD(a.row_ptr[0] = 1, "row_ptr[0] = 1, must be 0");
    BAD(a.row_ptr[2] = 2, "row_ptr decreases from 3 to 2 at row 1");
    BAD(a.row_ptr[3] = INT64_C(1) << 40, "row_ptr decreases from 1099511627776 to 12 at row 3");
    BAD(a.row_ptr[1] = -4, "row_ptr decreases from 0 to -4 at row 0");
    BAD(a.col[7] = N, "column 5 at entry 7 (row 2) is outside [0, 5)");
    BAD(a.col[0] = -1, "column -1 at entry 0 (row 0) is outside [0, 5)");
    BAD(a.col[4] = a.col[3], "two entries at row 1, column 0");
    BAD(a.val[8] = INFINITY, "value inf at entry 8 is not finite");
    if (type == KRY_F64) {
        BAD((a.val[9] = 1e300, a.values = KRY_VALUES_SINGLE),
            "1e+300, entry 9 of the sorted matrix, is too large for single precision");
        BAD((a.val[9] = -1e-107, a.values = KRY_VALUES_SINGLE),
            "-1e-107, entry 9 of the sorted matrix, is too small for single precision");
    }
#undef BAD
}

static void given__rows_in_any_order_are_the_hosts(void **state)
{
    const kry_type type = type_of(state);
    arrays a = good_arrays();
    const int32_t first = a.col[3];

    a.col[3] = a.col[5], a.col[5] = first;
    kryi_csr S = { N, N, type, a.row_ptr, a.col, in_type(type, a.val, 3 * N) };
    kryi_given G = upload(&S, KRY_MATRIX(.format = KRY_FORMAT_CSR));
    assert_null(G.C.dev);
    free(S.val);
}

/* ---- without memory ---------------------------------------------------------------------------- */

/* One request after the other fails: nothing is handed out, and an update leaves the old numbers. */
static void given__without_memory(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);
    matrix A = matrix_where(type, 961, 961, poisson);
    kryi_csr S = sparse_of(&A, type);
    const kryi_entries e = { "test", S, NULL, A.nnz };

    for (size_t f = 0; f < (type == KRY_F64 ? COUNT(kinds) : 1); f++) {
        const kry_matrix_params *p = KRY_MATRIX(.format = kinds[f]);
        for (int k = 0, failed = 1; failed; k++) {
            kryi_given G = { 0 };
            kry_op *op = NULL;
            fail_request(k);
            kry_status st = kryi_given_upload(device(), &e, p, &G);
            if (st == KRY_OK) st = kryi_matrix_of_given(device(), &G, p, &op);
            if (st == KRY_OK) st = kry_op_update(op, S.val);
            failed = end_requests();
            assert_int_equal(st, failed ? KRY_ERR_MEMORY : KRY_OK);
            if (op) assert_reads_back(op, &A);
            kryi_given_release(&G);
            kry_op_release(&op);
        }
    }
    free(S.val);
    matrix_release(&A);
}

/* As GPUs run kernels, on any device: CPUs leave all of it to the host. */
#define GPU(test)                                                  \
    { #test "/single", test, on_gpu_kernels, NULL, &type_single }, \
    {                                                              \
#test "/double", test, on_gpu_kernels, NULL, &type_double  \
    }

/* Slots and columns do not depend on the numbers. */
#define ONCE(test)                                      \
    {                                                   \
#test, test, on_gpu_kernels, NULL, &type_double \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONCE(given__formats_as_on_the_host),
        ONCE(given__slices_of_all_shapes),
        GPU(given__new_values),
        GPU(given__diagonal_of_slices),
        GPU(given__findings_as_on_the_host),
        GPU(given__bad_arrays_are_named),
        GPU(given__rows_in_any_order_are_the_hosts),
        GPU(given__without_memory),
    };
    return cmocka_run_group_tests_name("given", tests, keep_profile, restore_profile);
}
