/*
 * test_metis.c - what METIS does to the process is undone, and what it cannot do is said: behind a METIS
 * of this test.
 */
#include "testing.h"
#include <kry/deflation.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#ifdef KRY_HAVE_METIS
#include <metis.h>

static int code = METIS_OK;
static atomic_int inside, most_inside;

static void handler_of_metis(int number) { (void)number; }

/* Stands in for that of the library. */
int METIS_PartGraphKway(idx_t *n, idx_t *constraints, idx_t *start, idx_t *neighbour, idx_t *weight,
                        idx_t *size, idx_t *edge, idx_t *k, real_t *target, real_t *factor,
                        idx_t *options, idx_t *cut, idx_t *part)
{
    int now = atomic_fetch_add(&inside, 1) + 1;

    (void)constraints, (void)start, (void)neighbour, (void)weight, (void)size, (void)edge;
    (void)target, (void)factor, (void)options, (void)cut;
    if (now > most_inside) most_inside = now;
    signal(SIGTERM, handler_of_metis);
    signal(SIGABRT, handler_of_metis);
    srand(1);
    for (idx_t i = 0; i < *n; i++) part[i] = rand() % *k;
    atomic_fetch_sub(&inside, 1);
    return code;
}

enum { N = 400 };

static void handler(int number) { (void)number; }

/* A path of N nodes. */
static kry_op *path(void)
{
    matrix host = { .rows = N, .cols = N, .nnz = 3 * N - 2 };
    host.row_ptr = calloc(N + 1, sizeof *host.row_ptr);
    host.col = calloc(3 * N, sizeof *host.col);
    host.val = calloc(3 * N, sizeof *host.val);
    int64_t e = 0;
    for (int i = 0; i < N; i++) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, e++)
            host.col[e] = j, host.val[e] = i == j ? 2 : -1;
        host.row_ptr[i + 1] = e;
    }
    kry_op *A = csr_of(&host, KRY_F32, KRY_MATRIX(.traits = KRY_POSITIVE));
    matrix_release(&host);
    return A;
}

typedef struct work {
    kry_op *A;
    int32_t labels[N];
    kry_status st;
} work;

static void *cut(void *user)
{
    work *w = user;
    int64_t count;
    w->st = KRY_OK;
    for (int t = 0; t < 20 && w->st == KRY_OK; t++)
        w->st = kry_labels_graph(w->A, 4, w->labels, &count);
    return NULL;
}

static void the_process_is_as_before(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    static work w[THREADS];
    pthread_t thread[THREADS];
    struct sigaction mine = { .sa_handler = handler }, old, now;
    int next[3];

    for (int t = 0; t < THREADS; t++) w[t].A = path(); /* drivers have handlers of their own */
    sigaction(SIGTERM, &mine, &old);
    srand(7);
    for (int i = 0; i < 3; i++) next[i] = rand();
    srand(7);
    assert_int_equal(rand(), next[0]);
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, cut, &w[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        OK(w[t].st);
        assert_memory_equal(w[t].labels, w[0].labels, sizeof w[t].labels);
        kry_op_release(&w[t].A);
    }
    assert_int_equal(most_inside, 1);
    sigaction(SIGTERM, &old, &now);
    assert_true(now.sa_handler == handler);
    sigaction(SIGABRT, NULL, &now);
    assert_true(now.sa_handler != handler_of_metis);
#ifdef __GLIBC__
    assert_int_equal(rand(), next[1]);
    assert_int_equal(rand(), next[2]);
#endif
}

static void another_partition(void **state)
{
    (void)state;
    kry_op *A = path(), *D;
    int32_t labels[N];
    int64_t count;
    kry_op_info info;
    const kry_device_info *dev = kry_device_get_info(device());

    code = METIS_ERROR;
    REFUSES(kry_labels_graph(A, 4, labels, &count), KRY_ERR_UNSUPPORTED,
            "METIS cannot cut this graph of 400 nodes and 399 edges into 4 parts");
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.graph = 4), &D), KRY_ERR_UNSUPPORTED, "METIS");
    OK(kry_deflation_create(A, KRY_DEFLATION(), &D));
    kry_op_describe(D, &info);
    assert_non_null(
        strstr(info.variant, !dev->cpu_kernels && dev->fp64 /* GPUs cut the graph themselves */
                                 ? "6 vectors, az"
                                 : "6 vectors in stripes, for the graph could not be cut"));
    kry_op_release(&D);
    kry_op_release(&A);
    code = METIS_OK;
}
#else
static void the_process_is_as_before(void **state)
{
    (void)state;
    SKIP("kry was built without METIS");
}
static void another_partition(void **state)
{
    (void)state;
    SKIP("kry was built without METIS");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_process_is_as_before),
                                        cmocka_unit_test(another_partition) };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
