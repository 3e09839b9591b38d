/* test_ras.c - restricted additive Schwarz against dense incomplete factors of each sub-domain. */
#include "incomplete.h"
#include "op_suite.h"
#include "precond/ras.h"
#include "sparse/partition.h"

/* ---- sub-domains --------------------------------------------------------------------------------- */

static kryi_csr host_of(const matrix *A)
{
    kryi_csr R;
    OK(kryi_csr_create(A->rows, A->cols, KRY_F64, A->nnz, &R));
    memcpy(R.row_ptr, A->row_ptr, (size_t)(A->rows + 1) * sizeof *R.row_ptr);
    memcpy(R.col, A->col, (size_t)A->nnz * sizeof *R.col);
    memcpy(R.val, A->val, (size_t)A->nnz * sizeof(double));
    return R;
}

/* in[i]: whether row i is within so many steps of part d's own rows, by entries of A and A'. */
static void reach(const double *a, const kryi_overlap *o, int64_t n, int64_t d, int layers,
                  bool *in)
{
    bool *next = calloc((size_t)n + 1, sizeof *next);

    assert_non_null(next);
    for (int64_t i = 0; i < n; i++) in[i] = o->home[i] == d;
    for (; layers > 0; layers--) {
        memcpy(next, in, (size_t)n * sizeof *in);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (in[i] && (a[i * n + j] != 0 || a[j * n + i] != 0)) next[j] = true;
        memcpy(in, next, (size_t)n * sizeof *in);
    }
    free(next);
}

static void overlap__is_what_layers_reach(void **state)
{
    static const int64_t sizes[] = { 1, 2, 9, 40, 75 };

    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int layers = 0; layers < 4; layers++) {
            const int64_t n = sizes[s], parts = 1 + random_below(n < 6 ? n : 6);
            double *a = dense_random(KRY_F64, n, false, 3, 1);
            bool *in = calloc((size_t)n + 1, sizeof *in);
            matrix A = matrix_from(a, n);
            kryi_csr R = host_of(&A);
            kryi_overlap o;
            assert_non_null(in);
            OK(kryi_overlap_find("test", &R, parts, layers, &o));
            assert_int_equal(o.parts, parts);
            for (int64_t d = 0; d < parts; d++) {
                int64_t q = o.begin[d];
                reach(a, &o, n, d, layers, in);
                for (int64_t i = 0; i < n; i++)
                    if (in[i]) assert_true(q < o.begin[d + 1] && o.row[q++] == i);
                assert_int_equal(q, o.begin[d + 1]);
                assert_true(q - o.begin[d] <= o.most);
            }
            kryi_overlap_release(&o);
            kryi_csr_release(&R);
            matrix_release(&A);
            free(in), free(a);
        }
}

/* Five points on `across` by `along` points, `alone` more without neighbours. */
static kryi_csr grid_graph(int64_t across, int64_t along, int64_t alone)
{
    const int64_t n = across * along + alone;
    kryi_csr G;
    int64_t at = 0;

    OK(kryi_csr_create(n, n, KRY_F64, 4 * n, &G));
    for (int64_t i = 0; i < n; G.row_ptr[++i] = at) {
        if (i >= across * along) continue;
        if (i >= across) G.col[at++] = (int32_t)(i - across);
        if (i % across) G.col[at++] = (int32_t)i - 1;
        if (i % across < across - 1) G.col[at++] = (int32_t)i + 1;
        if (i + across < across * along) G.col[at++] = (int32_t)(i + across);
    }
    return G;
}

/* On grids they are near to squares, so that few edges are cut. */
static void grow__parts_of_one_size(void **state)
{
    static const struct {
        int64_t across, along, alone, parts, cut; /* at most */
    } tries[] = { { 1, 1, 0, 1, 0 },      { 0, 0, 5, 3, 0 },        { 7, 9, 0, 63, 110 },
                  { 60, 60, 0, 36, 660 }, { 101, 30, 13, 17, 560 }, { 40, 1, 3, 4, 6 } };

    (void)state;
    for (size_t k = 0; k < COUNT(tries); k++) {
        kryi_csr G = grid_graph(tries[k].across, tries[k].along, tries[k].alone);
        int32_t *part = calloc((size_t)G.rows, sizeof *part);
        int64_t *rows = calloc((size_t)tries[k].parts, sizeof *rows), cut = 0;
        assert_true(part && rows);
        OK(kryi_graph_grow(&G, tries[k].parts, part));
        for (int64_t i = 0; i < G.rows; i++) {
            assert_in_range(part[i], 0, tries[k].parts - 1);
            rows[part[i]]++;
            for (int64_t e = G.row_ptr[i]; e < G.row_ptr[i + 1]; e++)
                cut += G.col[e] > i && part[G.col[e]] != part[i];
        }
        print_message("# %d parts of %d rows: %d edges cut\n", (int)tries[k].parts, (int)G.rows,
                      (int)cut);
        for (int64_t p = 0; p < tries[k].parts; p++)
            assert_in_range(rows[p], G.rows / tries[k].parts,
                            (G.rows + tries[k].parts - 1) / tries[k].parts);
        assert_true(cut <= tries[k].cut);
        free(part), free(rows);
        kryi_csr_release(&G);
    }
}

/* ---- M is what the textbook has ------------------------------------------------------------------ */

/* Column by column of each part: the part's factors to a unit vector, of which its own rows are kept. */
static matrix textbook(const double *a, int64_t n, const kryi_overlap *o, int fill)
{
    double *m = calloc((size_t)(n * n) + 1, sizeof *m), *unit = calloc((size_t)n + 1, sizeof *unit),
           *z = calloc((size_t)n + 1, sizeof *z), *part = calloc((size_t)(n * n) + 1, sizeof *part);

    assert_true(m && unit && z && part);
    for (int64_t d = 0; d < o->parts; d++) {
        const int32_t *row = o->row + o->begin[d];
        const int64_t count = o->begin[d + 1] - o->begin[d];
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < count; j++) part[i * count + j] = a[row[i] * n + row[j]];
        dense f = factors_of(part, count, fill, false);
        for (int64_t j = 0; j < count; j++) {
            unit[j] = 1;
            apply_factors(&f, unit, z);
            unit[j] = 0;
            for (int64_t i = 0; i < count; i++)
                if (o->home[row[i]] == d) m[row[i] * n + row[j]] = z[i];
        }
        release(&f);
    }
    matrix M = matrix_from(m, n);
    free(m), free(unit), free(z), free(part);
    return M;
}

/* definite: A promises to be, and gets factors L D L'. */
static void check_ras(kry_type type, int64_t n, int64_t parts, int overlap, int fill, bool definite)
{
    double *a = dense_random(type, n, definite, 5, 0.6);
    const unsigned traits = definite ? KRY_SYMMETRIC | KRY_POSITIVE : 0;
    matrix A = matrix_from(a, n);
    kryi_csr R = host_of(&A);
    kryi_overlap o;
    kry_op *op = csr_of(&A, type, KRY_MATRIX(.traits = traits)), *M = NULL;
    kry_op_info info;

    OK(kryi_overlap_find("test", &R, parts, overlap, &o));
    OK(kry_ras_create(op, KRY_RAS(.parts = parts, .overlap = overlap, .fill = fill), &M));
    kry_op_release(&op);
    kry_op_describe(M, &info);
    print_message("# %d rows: %s\n", (int)n, info.variant);
    assert_string_equal(info.kind, "ras");
    assert_non_null(strstr(info.variant, definite ? "block-ic" : "block-ilu"));
    assert_int_equal(kry_op_get_shape(M)->traits, overlap ? 0 : traits);
    assert_true(info.bytes_stored > 0 && info.bytes_per_apply > 0 && info.nnz >= n);
    matrix want = textbook(a, n, &o, fill);
    op_suite(M, &want);
    kry_op_release(&M);
    matrix_release(&want), matrix_release(&A);
    kryi_overlap_release(&o);
    kryi_csr_release(&R);
    free(a);
}

static void ras__equals_the_textbook(void **state)
{
    const kry_type type = type_of(state);
    for (int gpu = 0; gpu < 2; gpu++) {
        use_profile(gpu ? "gpu-kernels" : NULL);
        check_ras(type, 1, 1, 0, 0, true);
        check_ras(type, 60, 1, 3, 0, false);
        check_ras(type, 64, 5, 0, 0, true);
        check_ras(type, 71, 4, 1, 0, false);
        check_ras(type, 71, 7, 2, 1, true);
    }
    use_profile(NULL);
}

static void update__follows_new_values(void **state)
{
    const kry_type type = type_of(state);
    const int64_t n = 50;
    double *a = dense_random(type, n, false, 8, 0.6), *b = calloc((size_t)(n * n), sizeof *b);
    assert_non_null(b);
    for (int64_t i = 0; i < n * n; i++)
        b[i] = to_type(type, (i / n == i % n ? 2 : 1) * a[i] * (1 + 0.25 * random_number(type)));
    matrix A = matrix_from(a, n), B = matrix_from(b, n);
    kryi_csr R = host_of(&A);
    kryi_overlap o;
    void *val = in_type(type, B.val, B.nnz);
    kry_op *op = csr_of(&A, type, NULL), *M = NULL;

    OK(kryi_overlap_find("test", &R, 4, 1, &o));
    OK(kry_ras_create(op, KRY_RAS(.parts = 4, .overlap = 1), &M));
    OK(kry_op_update(op, val));
    OK(kry_op_update(M, NULL));
    REFUSES(kry_op_update(M, val), KRY_ERR_ARGUMENT, "'ras' takes no values");
    matrix want = textbook(b, n, &o, 0);
    op_suite(M, &want);
    memset(val, 0, (size_t)B.nnz * kry_type_size(type)); /* fails, and leaves what there was */
    OK(kry_op_update(op, val));
    REFUSES(kry_op_update(M, NULL), KRY_ERR_SINGULAR, "row 0 is 0");
    op_suite(M, &want);
    kry_op_release(&M), kry_op_release(&op);
    kryi_overlap_release(&o);
    kryi_csr_release(&R);
    matrix_release(&want), matrix_release(&A), matrix_release(&B);
    free(val), free(a), free(b);
}

static void create__refusals(void **state)
{
    static const double no_pivot[] = { 1, 1, 0, 1, 0, 1, 0, 1, 4 };
    const kry_type type = type_of(state);
    matrix A = matrix_from(no_pivot, 3);
    kry_op *op = csr_of(&A, type, NULL), *M = op;

    REFUSES(kry_ras_create(op, NULL, &M), KRY_ERR_SINGULAR,
            "kry_ras_create: the diagonal entry of row 1 is 0");
    assert_null(M);
    REFUSES(kry_ras_create(op, KRY_RAS(.overlap = -1), &M), KRY_ERR_ARGUMENT, "overlap = -1");
    REFUSES(kry_ras_create(op, KRY_RAS(.parts = 4), &M), KRY_ERR_ARGUMENT, "parts = 4");
    REFUSES(kry_ras_create(op, KRY_RAS(.parts = -2), &M), KRY_ERR_ARGUMENT, "parts = -2");
    REFUSES(kry_precond_create(op, "ras:x", &M), KRY_ERR_PARSE, "ras[:OVERLAP]");
    kry_op_release(&op);
    matrix_release(&A);
}

static void create__no_memory(void **state)
{
    const kry_type type = type_of(state);
    double *a = dense_random(type, 30, false, 10, 0.6);
    matrix A = matrix_from(a, 30);
    kry_op *op = csr_of(&A, type, NULL);

    EACH_REQUEST(k)
    {
        kry_op *M = op;
        const int refs = device_references(device());
        const kry_status st = FAILING(k, kry_ras_create(op, KRY_RAS(.parts = 3, .overlap = 2), &M));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        assert_true(request_failed == !M);
        kry_op_release(&M);
        assert_int_equal(device_references(device()), refs);
    }
    kry_op_release(&op);
    matrix_release(&A);
    free(a);
}

/* With overlap M is not symmetric: methods that need a symmetric one name it, others take it. */
static void solve__methods_for_symmetric(void **state)
{
    static const char *const needs[] = { "cg", "pcg", "pipe-cg", "block-cg", "cr", "minres" },
                             *const takes[] = { "bicgstab", "gmres", "richardson" };
    double *a = dense_random(KRY_F64, 30, true, 3, 1);
    matrix A = matrix_from(a, 30);
    kry_op *op = csr_of(&A, type_of(state), NULL), *M, *S;

    for (size_t i = 0; i < COUNT(needs) + COUNT(takes); i++) {
        const bool refused = i < COUNT(needs);
        char words[80];
        snprintf(words, sizeof words, "method=%s precond=ras:2",
                 refused ? needs[i] : takes[i - COUNT(needs)]);
        S = op;
        assert_int_equal(kry_solver_create(op, words, NULL, NULL, &S),
                         refused ? KRY_ERR_UNSUPPORTED : KRY_OK);
        assert_true(refused == !S);
        if (refused) assert_non_null(strstr(kry_last_error(), "'ras' is not symmetric"));
        kry_op_release(&S);
    }
    OK(kry_solver_create(op, "method=pcg precond=ras check=none", NULL, NULL, &S));
    kry_op_release(&S);
    OK(kry_ras_create(op, KRY_RAS(.parts = 3, .overlap = 0), &M));
    OK(kry_krylov_create(op, "pcg", KRY_PCG(.precond = M), &S));
    kry_op_release(&S);
    kry_op_release(&M);
    kry_op_release(&op);
    matrix_release(&A);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grow__parts_of_one_size),
        cmocka_unit_test(overlap__is_what_layers_reach),
        BOTH(ras__equals_the_textbook),
        BOTH(update__follows_new_values),
        BOTH(create__refusals),
        BOTH(create__no_memory),
        BOTH(solve__methods_for_symmetric),
    };
    return cmocka_run_group_tests_name("ras", tests, NULL, close_device);
}
