/*
 * test_amg_device.c - the set-up of algebraic multigrid: aggregates against their definition, the properties of
 * prolongations, and levels to the bit against those on the device host; with the kernels of CPUs and of GPUs.
 */
#include "amg/amg_device.h"
#include "host/host.h"
#include "testing.h"
#include <kry/problem.h>

/* ---- matrices ---------------------------------------------------------------------------------- */

/* A bijection of 32 bits without structure, by which nodes have priorities; C. Wellons, "lowbias32". */
static uint32_t scramble(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Couplings i, j of a symmetric matrix; 0: none. */
typedef double coupling_fn(int64_t i, int64_t j, int64_t n);

static double chain(int64_t i, int64_t j, int64_t n) { return (void)n, llabs(i - j) == 1 ? -1 : 0; }
static double nothing(int64_t i, int64_t j, int64_t n) { return (void)i, (void)j, (void)n, 0; }
static double parts(int64_t i, int64_t j, int64_t n)
{
    return i / 7 == j / 7 && llabs(i - j) < 3 ? chain(i, j, n) - 0.5 : 0;
}
static double arrow(int64_t i, int64_t j, int64_t n)
{
    return i == 0 || j == 0 ? -1 : 0.5 * chain(i, j, n);
}
/* Every fifth unknown has no couplings; the others some of all sizes and both signs. */
static double scattered(int64_t i, int64_t j, int64_t n)
{
    const uint32_t h = scramble((uint32_t)((i < j ? i : j) * n + (i < j ? j : i)));
    const bool there = i % 5 && j % 5 && (h & 0xff) < 256 * 6 / (uint32_t)(n + 5);
    return there ? ((h >> 8 & 0xffff) / 32768.0 - 1.4) * (h >> 24 & 1 ? 1 : 0.01) : 0;
}
/* 41 unknowns in a line of the plane; couplings across are weak. */
static double weak_grid(int64_t i, int64_t j, int64_t n)
{
    (void)n;
    if (llabs(i - j) == 41) return -0.01;
    return i / 41 == j / 41 && llabs(i - j) == 1 ? -1 : 0;
}
static double grid(int64_t i, int64_t j, int64_t n)
{
    return llabs(i - j) == 41 ? -1 : weak_grid(i, j, n);
}

/* With a diagonal that is a little more than the sum of the couplings. */
static kryi_csr matrix_of(coupling_fn *coupling, int64_t n)
{
    kryi_csr A;
    int64_t end = 0;

    OK(kryi_csr_create(n, n, KRY_F64, n * n, &A));
    double *val = A.val;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        int64_t diagonal = -1;
        for (int64_t j = 0; j < n; j++) {
            const double v = i == j ? 1 : coupling(i, j, n);
            if (v == 0) continue;
            if (i == j) diagonal = end;
            sum += i == j ? 0 : fabs(v);
            A.col[end] = (int32_t)j, val[end++] = v;
        }
        val[diagonal] = 1.001 * sum + (sum == 0);
        A.row_ptr[i + 1] = end;
    }
    return A;
}

static const struct {
    const char *name;
    coupling_fn *coupling;
    int64_t n;
} kinds[] = {
    { "one unknown", nothing, 1 },   { "isolated", nothing, 130 },    { "two", chain, 2 },
    { "chain", chain, 129 },         { "parts", parts, 300 },         { "arrow", arrow, 257 },
    { "scattered", scattered, 383 }, { "weak grid", weak_grid, 820 }, { "grid", grid, 1025 },
};

/* `of` unknowns to a node of a weak grid, or of parts. */
static double unknowns(coupling_fn *nodes, int64_t of, int64_t i, int64_t j, int64_t n)
{
    const double v = i / of == j / of ? 0.3 : nodes(i / of, j / of, n / of);
    return (i + j) % 5 == 2 ? 0 : v * (1 + 0.5 * (double)((i + j) % 3)) * ((i ^ j) & 1 ? 0.2 : 1);
}
static double pairs(int64_t i, int64_t j, int64_t n) { return unknowns(weak_grid, 2, i, j, n); }
static double triples(int64_t i, int64_t j, int64_t n) { return unknowns(parts, 3, i, j, n); }

static const struct {
    coupling_fn *coupling;
    int64_t n;
    int block, m;
    double strength;
} node_kinds[] = {
    { pairs, 614, 2, 2, 0.08 }, { pairs, 514, 2, 3, -1 },       { triples, 303, 3, 6, 0.08 },
    { pairs, 258, 2, 1, 0.3 },  { weak_grid, 383, 1, 1, 0.08 }, { grid, 129, 1, 3, -1 },
    { nothing, 12, 3, 2, -1 },
};

/* Laplace's operator on nx-by-ny points. */
static kryi_csr plane(int64_t nx, int64_t ny)
{
    kryi_csr A;
    int64_t end = 0;

    OK(kryi_csr_create(nx * ny, nx * ny, KRY_F64, 5 * nx * ny, &A));
    for (int64_t i = 0; i < nx * ny; i++) {
        const int64_t x = i % nx, col[] = { i - nx, i - 1, i, i + 1, i + nx };
        for (int k = 0; k < 5; k++) {
            if (col[k] < 0 || col[k] >= nx * ny || (k == 1 && !x) || (k == 3 && x == nx - 1))
                continue;
            A.col[end] = (int32_t)col[k], ((double *)A.val)[end++] = k == 2 ? 4 : -1;
        }
        A.row_ptr[i + 1] = end;
    }
    return A;
}

/* ---- comparisons ------------------------------------------------------------------------------- */

static void expect_ints(const char *what, cl_mem buffer, const int32_t *want, int64_t n)
{
    cl_int *got = calloc((size_t)n + 1, sizeof *got);
    OK(buffer_read(device(), buffer, 0, (size_t)n * sizeof *got, got));
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s: %d at %lld instead of %d", what, got[i], (long long)i, want[i]);
    free(got);
}

static void expect_doubles(const char *what, cl_mem buffer, const double *want, int64_t n)
{
    double *got = calloc((size_t)n + 1, sizeof *got);
    OK(buffer_read(device(), buffer, 0, (size_t)n * sizeof *got, got));
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s: %.17g at %lld instead of %.17g", what, got[i], (long long)i, want[i]);
    free(got);
}

/* The same pattern, and numbers that differ by `bound` of the largest one. */
static void expect_matrix(const char *what, const kryi_device_csr *A, const kryi_csr *want,
                          double bound)
{
    kryi_csr got;
    double size = 0;
    const double *val = want->val;

    assert_int_equal(A->rows, want->rows);
    assert_int_equal(A->cols, want->cols);
    assert_int_equal(A->nnz, kryi_csr_nnz(want));
    OK(kryi_device_csr_download(A, &got));
    assert_memory_equal(got.row_ptr, want->row_ptr, ((size_t)A->rows + 1) * sizeof *got.row_ptr);
    assert_memory_equal(got.col, want->col, (size_t)A->nnz * sizeof *got.col);
    for (int64_t e = 0; e < A->nnz; e++) size = fmax(size, fabs(val[e]));
    for (int64_t e = 0; e < A->nnz; e++)
        NEAR(((double *)got.val)[e], val[e], bound * size, "%s, entry %lld", what, (long long)e);
    kryi_csr_release(&got);
}

/* ---- steps ------------------------------------------------------------------------------------- */

/* Whether entry e of row i is a strong coupling of A. */
static bool is_strong(const kryi_csr *A, double theta, int64_t i, int64_t e)
{
    const double a = ((const double *)A->val)[e];
    const int64_t j = A->col[e];
    if (j == i) return false;
    return theta <= 0 ||
           a * a >= theta * theta * (kryi_csr_entry(A, i, i) * kryi_csr_entry(A, j, j));
}

/* The graph of strong couplings. */
static kryi_csr strong_of(const kryi_csr *A, double theta)
{
    kryi_csr S;
    int64_t end = 0;

    OK(kryi_csr_create(A->rows, A->rows, KRY_F64, kryi_csr_nnz(A), &S));
    for (int64_t i = 0; i < A->rows; i++) {
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (is_strong(A, theta, i, e)) {
                S.col[end] = A->col[e];
                ((double *)S.val)[end++] = fabs(((double *)A->val)[e]);
            }
        S.row_ptr[i + 1] = end;
    }
    return S;
}

static int by_priority(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const uint32_t p = scramble((uint32_t)i) >> 1, q = scramble((uint32_t)j) >> 1;
    return p != q ? (p > q ? -1 : 1) : (i > j ? -1 : 1);
}

enum { FREE, COVERED, ROOT };

/* Nodes become roots in the order of their priorities, unless a root is within two edges. */
static void find_roots(const kryi_csr *S, const int64_t *order, const int32_t *aggregate,
                       int *state)
{
    for (int64_t k = 0; k < S->rows; k++) {
        const int64_t root = order[k];
        bool alone = true;
        if (state[root] != FREE || aggregate[root] >= 0) continue;
        for (int64_t e = S->row_ptr[root]; e < S->row_ptr[root + 1]; e++) {
            const int32_t i = S->col[e];
            if (aggregate[i] >= 0) continue;
            alone = false, state[i] = COVERED;
            for (int64_t f = S->row_ptr[i]; f < S->row_ptr[i + 1]; f++)
                if (aggregate[S->col[f]] < 0) state[S->col[f]] = COVERED;
        }
        if (!alone) state[root] = ROOT;
    }
}

/* Roots with at least `least` neighbours that are left, if `large` half of them all, take these, in the order of numbers. */
static void gather(const kryi_csr *S, const int *state, int64_t least, bool large,
                   int32_t *aggregate, int32_t *count)
{
    for (int64_t i = 0; i < S->rows; i++) {
        int64_t left = 0;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            left += aggregate[S->col[e]] < 0;
        if (state[i] != ROOT || left < least || (large && 2 * left < kryi_row_length(S, i)))
            continue;
        aggregate[i] = *count;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            if (aggregate[S->col[e]] < 0) aggregate[S->col[e]] = *count;
        ++*count;
    }
}

/* The aggregates of S by their definition. Returns how many. */
static int32_t aggregates_of(const kryi_csr *S, bool large, int32_t *aggregate)
{
    const size_t n = (size_t)S->rows;
    int64_t *order = calloc(n, sizeof *order);
    int32_t *now = calloc(n, sizeof *now), count = 0;
    int *state = calloc(n, sizeof *state);

    for (size_t i = 0; i < n; i++) order[i] = (int64_t)i, aggregate[i] = -1;
    qsort(order, n, sizeof *order, by_priority);
    for (int pass = 0; pass < 2; pass++) {
        memset(state, 0, n * sizeof *state);
        find_roots(S, order, aggregate, state);
        gather(S, state, pass == 0 ? 0 : 2, large, aggregate, &count);
    }
    memcpy(now, aggregate, n * sizeof *now);
    for (size_t i = 0; i < n;
         i++) { /* what is left joins the neighbour to which its coupling is strongest */
        double strongest = 0;
        for (int64_t e = S->row_ptr[i]; now[i] < 0 && e < S->row_ptr[i + 1]; e++)
            if (now[S->col[e]] >= 0 && ((double *)S->val)[e] > strongest)
                strongest = ((double *)S->val)[e], aggregate[i] = now[S->col[e]];
    }
    free(state), free(now), free(order);
    return count;
}

static void try_aggregates(const char *name, const kryi_csr *A, double theta, bool large)
{
    const int64_t n = A->rows;
    int32_t *want = calloc((size_t)n, sizeof *want);
    kryi_csr S = strong_of(A, theta);
    const int32_t count = aggregates_of(&S, large, want);
    kryi_device_csr D;
    kryi_aggregates g;
    cl_mem d;

    OK(kryi_device_csr_upload(device(), A, &D));
    OK(kryi_device_diagonal(&D, &d));
    OK(kryi_strength(&D, false, d, theta, &g.G));
    assert_int_equal(g.G.nnz, kryi_csr_nnz(&S) + n);
    OK(kryi_aggregate(false, large, &g));
    assert_int_equal(g.count, count);
    expect_ints(name, g.of_node, want, n);
    buffer_release(device(), &d);
    kryi_aggregates_release(&g), kryi_device_csr_release(&D);
    kryi_csr_release(&S);
    free(want);
}

static void aggregates__by_their_definition(void **state)
{
    const double thetas[] = { 0.08, 0.3, 0, -1 };
    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        kryi_csr A = matrix_of(kinds[k].coupling, kinds[k].n);
        for (size_t t = 0; t < 2 * COUNT(thetas); t++)
            try_aggregates(kinds[k].name, &A, thetas[t / 2], t % 2);
        kryi_csr_release(&A);
    }
}

/* T'T = I and T C = B, also where an aggregate has fewer rows than B has columns. */
static void tentative__is_orthonormal_and_has_the_vectors(void **state)
{
    enum { NODES = 11, BLOCK = 2, M = 3, N = NODES * BLOCK };
    /* 3: two rows for three columns */
    static const int32_t of_node[NODES] = { 0, 0, 0, 1, 2, 2, 1, 3, 2, 0, -1 };
    kryi_aggregates g = { .G = { .dev = device(), .rows = NODES }, .count = 4 };
    double *B = random_array(KRY_F64, (int64_t)N * M), C[4 * M * M];
    cl_mem B_there, C_there;
    kryi_device_csr T_there;
    kryi_csr T;
    (void)state;
    OK(buffer_upload(device(), sizeof of_node, of_node, &g.of_node));
    OK(buffer_upload(device(), (size_t)N * M * sizeof *B, B, &B_there));
    OK(kryi_tentative(&g, BLOCK, M, false, B_there, &T_there, &C_there));
    OK(buffer_read(device(), C_there, 0, sizeof C, C));
    OK(kryi_device_csr_download(&T_there, &T));
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < M; j++) {
            double sum = 0;
            for (int64_t k = 0; k < T.cols; k++) sum += kryi_csr_entry(&T, i, k) * C[k * M + j];
            NEAR(sum, of_node[i / BLOCK] < 0 ? 0 : B[i * M + j], 1e-13, "row %d", (int)i);
        }
    for (int64_t k = 0; k < T.cols; k++)
        for (int64_t l = 0; l < T.cols; l++) {
            double sum = 0;
            for (int64_t i = 0; i < N; i++)
                sum += kryi_csr_entry(&T, i, k) * kryi_csr_entry(&T, i, l);
            NEAR(sum, k == l && k != 3 * M + 2, 1e-13, "columns %d, %d", (int)k, (int)l);
        }
    kryi_csr_release(&T), kryi_device_csr_release(&T_there);
    buffer_release(device(), &C_there), buffer_release(device(), &B_there);
    buffer_release(device(), &g.of_node);
    free(B);
}

/* Where rows add up to zero, P maps ones to ones; and P'AP is that of plain sums, symmetric to the bit. */
static void prolongation__keeps_constants(void **state)
{
    kryi_csr A = plane(13, 9), P, E;
    kryi_coarsen c = { .who = "test", .dev = device(), .strength = 0.08, .block = 1, .vectors = 1 };
    kryi_device_csr D;
    kryi_device_coarser to = { 0 };
    void *kept;
    (void)state;
    OK(kryi_device_csr_upload(device(), &A, &D));
    OK(kryi_smoothed_aggregation.create(&c, &D, &to.P, &to.R, &kept));
    OK(kryi_device_coarser_multiply("test", 1, KRY_F64, &D, &to));
    OK(kryi_device_csr_download(&to.P, &P));
    OK(kryi_device_csr_download(&to.A, &E));
    assert_true(P.cols > 0 && 3 * P.cols < A.rows);
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        if (kryi_row_length(&A, i) < 5) continue; /* beside a side */
        for (int64_t j = 0; j < P.cols; j++) sum += kryi_csr_entry(&P, i, j);
        NEAR(sum, 1, 1e-13, "row %d", (int)i);
    }
    assert_true(kryi_csr_is_symmetric(&E));
    for (int64_t k = 0; k < E.rows; k++)
        for (int64_t l = 0; l < E.rows; l++) {
            double sum = 0;
            for (int64_t i = 0; i < A.rows; i++)
                for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
                    sum += kryi_csr_entry(&P, i, k) * ((double *)A.val)[e] *
                           kryi_csr_entry(&P, A.col[e], l);
            NEAR(kryi_csr_entry(&E, k, l), sum, 1e-12, "entry %d, %d", (int)k, (int)l);
        }
    kryi_smoothed_aggregation.destroy(kept);
    kryi_device_coarser_release(&to), kryi_device_csr_release(&D);
    kryi_csr_release(&E), kryi_csr_release(&P), kryi_csr_release(&A);
}

/* The level below A on some device. */
typedef struct made {
    kry_device *dev;
    kryi_coarsen c;
    kryi_device_coarser to;
    void *kept;
} made;

static made make(kry_device *dev, const kryi_coarsener *by, const kryi_coarsen *how,
                 const double *vectors, const kryi_csr *A)
{
    made m = { .dev = dev, .c = *how };
    const size_t count = (size_t)(A->rows * how->vectors);
    kryi_device_csr D;

    m.c.dev = dev;
    if (vectors)
        OK(kryi_buffer_upload(dev, count * sizeof *vectors, vectors, &m.c.near_null_space));
    OK(kryi_device_csr_upload(dev, A, &D));
    OK(by->create(&m.c, &D, &m.to.P, &m.to.R, &m.kept));
    if (m.kept)
        OK(kryi_device_coarser_multiply("test", 1, KRY_F64, &D, &m.to));
    else
        assert_null(m.to.P.dev);
    kryi_device_csr_release(&D);
    return m;
}

/* With the numbers of B. */
static void renew(made *m, const kryi_coarsener *by, const kryi_csr *B)
{
    kryi_device_csr D;
    kryi_device_csr *const numbers[] = { &m->to.R, &m->to.AP, &m->to.A };

    for (size_t k = 0; k < COUNT(numbers); k++) kryi_buffer_release(m->dev, &numbers[k]->val);
    OK(kryi_device_csr_upload(m->dev, B, &D));
    OK(by->update(&D, m->kept, &m->to.P, &m->to.R));
    OK(kryi_device_coarser_again("test", 1, KRY_F64, &D, &m->to));
    kryi_device_csr_release(&D);
}

static void unmake(made *m, const kryi_coarsener *by)
{
    by->destroy(m->kept);
    kryi_device_coarser_release(&m->to);
    kryi_buffer_release(m->dev, &m->c.near_null_space);
}

static void expect_same(const char *name, const made *got, const made *want)
{
    const kryi_device_csr *const mine[] = { &got->to.P, &got->to.R, &got->to.A };
    const kryi_device_csr *const theirs[] = { &want->to.P, &want->to.R, &want->to.A };

    for (size_t k = 0; k < COUNT(mine); k++) {
        kryi_csr host;
        OK(kryi_device_csr_download(theirs[k], &host));
        expect_matrix(name, mine[k], &host, 0);
        kryi_csr_release(&host);
    }
}

/* Whether there is a coarser level, the same on the device host, and again with the numbers of B. vectors NULL: ones. */
static bool try_level(const char *name, const kryi_coarsener *by, const kryi_coarsen *how,
                      const double *vectors, const kryi_csr *A, const kryi_csr *B)
{
    kry_device *dev = NULL;
    OK(kryi_host_open(&dev));
    made host = make(dev, by, how, vectors, A), here = make(device(), by, how, vectors, A);
    const bool coarser = here.kept;

    assert_true(coarser == (host.kept != NULL));
    if (coarser) {
        const size_t count = (size_t)(here.to.P.cols * here.c.vectors);
        double *want = calloc(count, sizeof *want);
        expect_same(name, &here, &host);
        assert_int_equal(here.c.block, host.c.block);
        if (vectors && here.c.near_null_space) {
            OK(kryi_buffer_read(dev, host.c.near_null_space, 0, count * sizeof *want, want));
            expect_doubles(name, here.c.near_null_space, want, (int64_t)count);
        }
        renew(&here, by, B), renew(&host, by, B);
        expect_same(name, &here, &host);
        free(want);
    }
    unmake(&here, by), unmake(&host, by);
    kry_device_release(&dev);
    return coarser;
}

static kryi_csr times(const kryi_csr *A, double factor)
{
    kryi_csr B;
    OK(kryi_csr_create(A->rows, A->cols, KRY_F64, kryi_csr_nnz(A), &B));
    memcpy(B.row_ptr, A->row_ptr, ((size_t)A->rows + 1) * sizeof *B.row_ptr);
    memcpy(B.col, A->col, (size_t)kryi_csr_nnz(A) * sizeof *B.col);
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++)
        ((double *)B.val)[e] = factor * ((double *)A->val)[e];
    return B;
}

/* Nodes of several unknowns, some couplings in them missing; vectors that are random, zero, or depend on each
 * other. */
static void level__nodes_as_on_the_host(void **state)
{
    (void)state;
    NOT_ON_HOST("kernels of GPUs");
    if (kryi_host_check_kernels() < 0) SKIP("no kernels of the device host");
    for (size_t k = 0; k < COUNT(node_kinds); k++) {
        const int64_t n = node_kinds[k].n;
        const int m = node_kinds[k].m;
        kryi_csr A = matrix_of(node_kinds[k].coupling, n), B = times(&A, 1.7);
        double *V = random_array(KRY_F64, n * m);
        for (int64_t i = 0; i < n; i++) {
            if (i % 7 == 3) V[i * m] = 0;
            if (i < n / 2 && m > 1) V[i * m + 1] = 0;
            if (i > n / 2 && m > 2) V[i * m + 2] = 3 * V[i * m] - V[i * m + 1];
        }
        const kryi_coarsen how = { .who = "test",
                                   .strength = node_kinds[k].strength,
                                   .block = node_kinds[k].block,
                                   .vectors = m };
        const bool coarser = try_level("nodes", &kryi_smoothed_aggregation, &how, V, &A, &B);
        assert_int_equal(coarser, node_kinds[k].coupling != nothing);
        free(V);
        kryi_csr_release(&B);
        kryi_csr_release(&A);
    }
}

static void level__as_on_the_host(void **state)
{
    (void)state;
    NOT_ON_HOST("kernels of GPUs");
    if (kryi_host_check_kernels() < 0) SKIP("no kernels of the device host");
    for (size_t k = 0; k < COUNT(kinds); k++) {
        kryi_csr A = matrix_of(kinds[k].coupling, kinds[k].n);
        kryi_csr B = times(&A, 1.7);
        const kryi_coarsen how = { .who = "test", .strength = 0.25, .block = 1, .vectors = 1 };
        try_level(kinds[k].name, &kryi_smoothed_aggregation, &how, NULL, &A, &B);
        try_level(kinds[k].name, &kryi_classical_coarsening, &how, NULL, &A, &B);
        kryi_csr_release(&B);
        kryi_csr_release(&A);
    }
}

static void check__finds_nothing(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        kryi_csr A = matrix_of(kinds[k].coupling, kinds[k].n);
        kryi_device_csr D;
        kryi_device_facts f;
        OK(kryi_device_csr_upload(device(), &A, &D));
        OK(kryi_device_check(&D, &f));
        assert_true(f.sound);
        assert_true(f.look.bound == kryi_look_at_rows(&A).bound);
        assert_int_equal(f.longest, kryi_longest_row(&A));
        kryi_device_csr_release(&D);
        kryi_csr_release(&A);
    }
}

/* An entry without a mirror image, one that differs from it, a diagonal that is no number, or missing. */
static void check__finds_what_is_not_symmetric(void **state)
{
    (void)state;
    for (int what = 0; what < 5; what++) {
        kryi_csr A = matrix_of(chain, 300);
        const int64_t e = kryi_csr_find(&A, 200, what < 2 ? 201 : 200);
        kryi_device_csr D;
        kryi_device_facts f;
        if (what == 0) A.col[e] = 203;
        if (what == 1) ((double *)A.val)[e] *= 1 + 1e-15;
        if (what >= 2) ((double *)A.val)[e] = what == 2 ? NAN : what == 3 ? -1 : 0;
        OK(kryi_device_csr_upload(device(), &A, &D));
        OK(kryi_device_check(&D, &f));
        assert_false(f.sound);
        kryi_device_csr_release(&D);
        kryi_csr_release(&A);
    }
}

/* ---- operators in slices ------------------------------------------------------------------------- */

/* Rows of up to 9 entries near the diagonal, with a leap of about `leap` columns in one of `of` steps. */
static kryi_csr leaping(int64_t rows, int64_t cols, int64_t leap, int64_t of)
{
    enum { MOST = 9 };
    kryi_csr A;
    int64_t end = 0;

    OK(kryi_csr_create(rows, cols, KRY_F64, MOST * rows, &A));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t length = random_below(8) ? MOST - random_below(5) : 0;
        for (int64_t k = 0, j = i + random_below(7); k < length && j < cols; k++) {
            ((double *)A.val)[end] = random_number(KRY_F64), A.col[end++] = (int32_t)j;
            j += random_below(of) ? 1 + random_below(40)
                                  : leap * (1 + random_below(2)) + random_below(3);
        }
        A.row_ptr[i + 1] = end;
    }
    return A;
}

/* y = A x for x, and for ones, where a symmetric matrix that is rounded loses nothing. */
static void expect_product(const kryi_csr *A, const kry_op *op, double eps, bool ones)
{
    double *x = calloc((size_t)A->cols, sizeof *x), *y;
    kry_vec *X, *Y;

    for (int64_t j = 0; j < A->cols; j++) x[j] = ones ? 1 : random_number(KRY_F64);
    OK(kry_vec_create(device(), KRY_F64, A->cols, 1, &X));
    OK(kry_vec_create(device(), KRY_F64, A->rows, 1, &Y));
    OK(kry_vec_write(X, x));
    OK(kry_op_apply(op, 1, X, 0, Y));
    y = numbers_of(Y);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0, size = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const double a = ((double *)A->val)[e];
            sum += a * x[A->col[e]],
                size += fabs(a) * (fabs(x[A->col[e]]) + (ones ? 0 : fabs(x[i])));
        }
        NEAR(y[i], sum, eps * size, "row %lld", (long long)i);
    }
    kry_vec_release(&Y), kry_vec_release(&X);
    free(x), free(y);
}

static void try_slices(int64_t extra_cols, int64_t leap, int64_t of, bool rounded)
{
    const int64_t rows =
        1024 * kry_device_get_info(device())->compute_units + 77; /* enough for slices */
    const kryi_csr A = leaping(rows, rows + extra_cols, leap, of);
    const double one_rounding = 1e-15 * 16, eps = rounded ? 6.0e-8 : one_rounding;
    double *val = A.val;
    kryi_device_csr C;
    kry_op *op;

    OK(kryi_device_csr_upload(device(), &A, &C));
    OK(kryi_sliced_operator(&C, (kryi_keep){ .type = KRY_F64, .rounded = rounded },
                            extra_cols ? 0 : KRY_SYMMETRIC, &op));
    assert_string_equal(op_table(op)->kind, "sell");
    expect_product(&A, op, eps, false);
    if (!extra_cols) expect_product(&A, op, one_rounding, true);
    val[kryi_csr_nnz(&A) / 2] = 1e-300; /* too small for single: all numbers stay in double */
    OK(buffer_write(device(), C.val, 0, (size_t)kryi_csr_nnz(&A) * sizeof *val, val));
    OK(kryi_sliced_set_numbers(op, &C));
    expect_product(&A, op, one_rounding, false);
    kry_op_release(&op);
    kryi_device_csr_release(&C);
    kryi_csr_release((kryi_csr *)&A);
}

static void slices__multiply_as_the_rows(void **state)
{
    (void)state;
    NOT_ON_HOST("kernels of GPUs");
    for (int rounded = 0; rounded < 2; rounded++) {
        try_slices(0, 100, 50, rounded);
        try_slices(300000, 65533, 50,
                   rounded); /* distances just below and above what 16 bits hold */
        try_slices(300000, 131067, 50, rounded);
        try_slices(300000, 70000, 2, rounded); /* so many that columns take 32 bits */
    }
}

static kry_op *op_of(const kryi_csr *A, kry_type type, int block)
{
    kry_op *op;
    void *typed = in_type(type, A->val, kryi_csr_nnz(A));
    OK(kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, typed,
                      KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR, .block = block),
                      &op));
    free(typed);
    return op;
}

static void change(kry_op *op, const kryi_csr *A, double factor)
{
    double *val = calloc((size_t)kryi_csr_nnz(A), sizeof *val);
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++) val[e] = factor * ((double *)A->val)[e];
    void *typed = in_type(kry_op_get_shape(op)->type, val, kryi_csr_nnz(A));
    OK(kry_op_update(op, typed));
    free(typed), free(val);
}

/* z := M r for an r that is always the same, with A times `factor`; to be freed. */
static double *result_of(const kryi_csr *A, kry_type type, int block, const kry_amg_params *p,
                         double factor, int *levels)
{
    kry_op *op = op_of(A, type, block), *M;
    double *numbers = calloc((size_t)A->rows, sizeof *numbers), *z;
    for (int64_t i = 0; i < A->rows; i++) numbers[i] = to_type(type, cos((double)i));
    kry_vec *r = vec_of(type, numbers, A->rows, 1), *out = vec_of(type, numbers, A->rows, 1);

    OK(kry_amg_create(op, p, &M));
    if (factor != 1) {
        change(op, A, factor);
        OK(kry_op_update(M, NULL));
    }
    *levels = kry_multigrid_levels(M);
    OK(kry_op_apply(M, 1, r, 0, out));
    z = numbers_of(out);
    kry_vec_release(&out), kry_vec_release(&r);
    free(numbers);
    kry_op_release(&M), kry_op_release(&op);
    return z;
}

/* The cycle is the same map, whoever made its levels, and after an update. */
static void try_amg(const kryi_csr *A, kry_type type, int block, const kry_amg_params *p,
                    double factor)
{
    const bool single = type == KRY_F32 || (block == 1 && !p->cycle.values);
    const double bound = single ? 1e-5 : 1e-13;
    double size = 0, *z[2];
    int levels[2];

    for (int i = 0; i < 2; i++) {
        use_profile(i ? "gpu-kernels" : NULL);
        z[i] = result_of(A, type, block, p, factor, &levels[i]);
    }
    assert_int_equal(levels[0], levels[1]);
    assert_true(levels[0] >= 3);
    for (int64_t i = 0; i < A->rows; i++) size = fmax(size, fabs(z[0][i]));
    for (int64_t i = 0; i < A->rows; i++)
        NEAR(z[1][i], z[0][i], bound * size, "row %lld", (long long)i);
    free(z[0]), free(z[1]);
}

static void amg__as_on_the_host(void **state)
{
    static const struct {
        kry_coarsening way;
        int64_t nx, ny;
        double factor;
        kry_cycle_values values;
    } tries[] = { { KRY_COARSEN_AGGREGATION, 230, 191, 1,
                    KRY_CYCLE_VALUES_DOUBLE }, /* two levels of the device */
                  { KRY_COARSEN_AGGREGATION, 71, 70, 3, KRY_CYCLE_VALUES_AUTO },
                  { KRY_COARSEN_CLASSICAL, 103, 94, 3, KRY_CYCLE_VALUES_DOUBLE }, /* two */
                  { KRY_COARSEN_AUTO, 71, 70, 1, KRY_CYCLE_VALUES_AUTO } };
    const kry_type type = type_of(state);
    for (size_t k = type == KRY_F32; k < COUNT(tries); k++) {
        kryi_csr A = plane(tries[k].nx, tries[k].ny);
        try_amg(&A, type, 1, KRY_AMG(.coarsening = tries[k].way, .cycle.values = tries[k].values),
                tries[k].factor);
        kryi_csr_release(&A);
    }
}

static void amg__elasticity_as_on_the_host(void **state)
{
    kry_problem *p = NULL;
    (void)state;
    OK(kry_problem_create("elasticity2d:61x43", 1, &p));
    const kryi_csr A = { p->n, p->n, KRY_F64, p->row_ptr, p->col, p->val };
    try_amg(&A, KRY_F64, 2, KRY_AMG(.coarsening = KRY_COARSEN_AUTO), 3);
    kry_problem_release(&p);
}

/* What is symmetric but for rounding is taken; what is not is named, and so is what is not definite. A failed
 * update leaves M as it was. */
static void amg__matrices_that_are_not_symmetric(void **state)
{
    (void)state;
    kryi_csr A = plane(95, 50);
    kry_op *op = op_of(&A, KRY_F64, 1), *M, *N;
    double *numbers = random_array(KRY_F64, A.rows), *before, *after;
    kry_vec *r = vec_of(KRY_F64, numbers, A.rows, 1), *z = vec_of(KRY_F64, numbers, A.rows, 1);
    double *entry = &((double *)A.val)[kryi_csr_find(&A, 777, 778)];

    *entry *= 1 + 1e-13;
    change(op, &A, 1);
    OK(kry_amg_create(op, NULL, &M));
    OK(kry_op_apply(M, 1, r, 0, z));
    before = numbers_of(z);
    *entry = -0.5;
    change(op, &A, 1);
    REFUSES(kry_amg_create(op, KRY_AMG(.restriction = KRY_RESTRICT_TRANSPOSE), &N),
            KRY_ERR_ARGUMENT, "is not symmetric: row");
    REFUSES(kry_op_update(M, NULL), KRY_ERR_ARGUMENT, "is not symmetric: row");
    *entry = -1;
    ((double *)A.val)[kryi_csr_find(&A, 300, 300)] = 0.001; /* positive, but A is not definite */
    change(op, &A, 1);
    REFUSES(kry_amg_create(op, NULL, &N), KRY_ERR_ARGUMENT, "not positive definite");
    REFUSES(kry_op_update(M, NULL), KRY_ERR_ARGUMENT, "not positive definite");
    assert_null(N);
    ((double *)A.val)[kryi_csr_find(&A, 300, 300)] = 4;
    change(op, &A, 1);
    OK(kry_op_apply(M, 1, r, 0, z));
    after = numbers_of(z);
    for (int64_t i = 0; i < A.rows; i++) NEAR(after[i], before[i], 1e-9, "row %d", (int)i);
    free(after), free(before), free(numbers);
    kry_vec_release(&z), kry_vec_release(&r);
    kry_op_release(&M), kry_op_release(&op);
    kryi_csr_release(&A);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void amg__without_memory(void **state)
{
    (void)state;
    kryi_csr A = plane(93, 47);
    kry_op *op = op_of(&A, KRY_F32, 1), *M;
    const kry_amg_params *p = KRY_AMG(.coarsening = KRY_COARSEN_AGGREGATION);

    OK(kry_amg_create(op, p, &M)); /* kernels are there */
    for (int64_t k = random_below(every(23)), failed = 1; failed; k += every(23)) {
        kry_op *N = op; /* poison */
        const kry_status st = FAILING((int)k, kry_amg_create(op, p, &N));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        assert_true(!N == (st < 0));
        kry_op_release(&N);
        failed = request_failed;
    }
    for (int64_t k = random_below(every(23)), failed = 1; failed; k += every(23)) {
        const kry_status st = FAILING((int)k, kry_op_update(M, NULL));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        failed = request_failed;
    }
    kry_op_release(&M), kry_op_release(&op);
    kryi_csr_release(&A);
}

#define TWO(test) \
    cmocka_unit_test_setup(test, on_cpu_kernels), cmocka_unit_test_setup(test, on_gpu_kernels)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO(aggregates__by_their_definition),
        TWO(tentative__is_orthonormal_and_has_the_vectors),
        TWO(prolongation__keeps_constants),
        TWO(level__as_on_the_host),
        TWO(level__nodes_as_on_the_host),
        TWO(check__finds_nothing),
        TWO(check__finds_what_is_not_symmetric),
        cmocka_unit_test_setup(slices__multiply_as_the_rows, on_gpu_kernels),
        BOTH(amg__as_on_the_host),
        cmocka_unit_test(amg__elasticity_as_on_the_host),
        cmocka_unit_test_setup(amg__matrices_that_are_not_symmetric, on_gpu_kernels),
        cmocka_unit_test_setup(amg__without_memory, on_gpu_kernels),
    };
    return cmocka_run_group_tests_name("amg_device", tests, keep_profile, restore_profile);
}
