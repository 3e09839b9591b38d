/* hooks.c - what every test program has: the variables of src/base/hooks.h, for the files that are
 * compiled again for the tests, and how PoCL compiles kernels and on which device they run. */
#include "base/hooks.h"
#include "dense/dense.h"
#include "hooks.h"
#include "krylov/method.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "multigrid/cycle.h"
#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"
#include "operator/resident.h"
#include "precond/deflation.h"
#include "precond/recycle.h"
#include "sparse/csr.h"
#include "sparse/partition.h"
#include "team/split.h"
#include "team/team.h"
#include "vector/vec.h"
#include <stdio.h>
#include <stdlib.h>

atomic_int kryi_test_fail_at = -1;
bool kryi_test_keep_buffers;
bool kryi_test_poison;
int kryi_test_abort_at = -1;
int kryi_test_stale_messages;
bool kryi_test_groups_wait;

bool kryi_test_fails(void)
{
    return atomic_load(&kryi_test_fail_at) >= 0 && atomic_fetch_sub(&kryi_test_fail_at, 1) == 0;
}

/* calloc of lib/memory.c, which knows nothing of kryi_alloc. */
void *kryi_test_calloc(size_t count, size_t size);
void *kryi_test_calloc(size_t count, size_t size)
{
    return kryi_test_fails() ? NULL : calloc(count, size);
}

bool kryi_test_aborts(void) { return kryi_test_abort_at >= 0 && kryi_test_abort_at-- == 0; }

/* PoCL takes half of the time to compile kernels if it does not optimise them, and half of that again with a
 * short header (pocl_builtins.py); tests ask for results, not for speed. With KRY_FULL it optimises and takes its
 * own header; where tests/meson.build says so, it optimises. */
__attribute__((constructor)) static void choose_build_flags(void)
{
    const char *given = getenv("POCL_EXTRA_BUILD_FLAGS"), *header = getenv("KRY_TEST_BUILTINS");
    char flags[1000];

    if (getenv("KRY_FULL")) return;
    snprintf(flags, sizeof flags, "%s%s%s", given ? given : "-cl-opt-disable",
             header ? " -DKRY_TESTING\t-include\t" : "", header ? header : "");
    setenv("POCL_EXTRA_BUILD_FLAGS", flags, 1);
    unsetenv("KRY_TEST_BUILTINS"); /* programs that this one starts have the flags already */
}

/* Kernels are tried through OpenCL, unless the environment says otherwise. */
__attribute__((constructor)) static void choose_device(void) { setenv("KRY_DEVICE", "opencl", 0); }

int kryi_test_large = 64;
int kryi_test_parts;
bool kryi_test_keep_pocl;

void fail_request(int64_t k) { kryi_test_fail_at = (int)k; }

bool end_requests(void) { return atomic_exchange(&kryi_test_fail_at, -1) < 0; }

int64_t requests_left(void) { return kryi_test_fail_at; }

bool request_fails(void) { return kryi_test_fails(); }

void abort_launch(int k) { kryi_test_abort_at = k; }

void count_as_stale(int messages) { kryi_test_stale_messages = messages; }

void cut_loops(int parts) { kryi_test_parts = parts; }

void poison_buffers(void) { kryi_test_poison = true; }

void tune(kry_device *dev, const char *name, const char *value)
{
    kryi_tuning_set(dev, name, value);
}

int device_references(const kry_device *dev) { return dev->refs; }

int op_references(const kry_op *op) { return op->refs; }

const kry_op_table *op_table(const kry_op *op) { return op->table; }

kry_status read_sum(kry_device *dev, kry_sum *sum, double *value)
{
    return kryi_sum_read(&dev->layout, sum, value);
}

void leave_unoptimised(kry_device *dev, bool unoptimised) { dev->layout.unoptimised = unoptimised; }

kry_status buffer_upload(kry_device *dev, size_t bytes, const void *from, cl_mem *buffer)
{
    return kryi_buffer_upload(dev, bytes, from, buffer);
}

kry_status buffer_write(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, const void *from)
{
    return kryi_buffer_write(dev, buffer, at, bytes, from);
}

kry_status buffer_read(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to)
{
    return kryi_buffer_read(dev, buffer, at, bytes, to);
}

void buffer_release(kry_device *dev, cl_mem *buffer) { kryi_buffer_release(dev, buffer); }

kry_status apply_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum)
{
    return kryi_op_run_dots(op, r, z, sum);
}

matrix_inside look_into_matrix(const kry_op *A)
{
    const kryi_matrix *M = kryi_matrix_of(A);
    return (matrix_inside){ .passes = M->stages,
                            .defines = M->stage[0].defines,
                            .rows_each = M->stage[0].rows_each,
                            .stored = M->stored,
                            .surplus = M->surplus != NULL,
                            .placed = M->placed };
}

kry_status make_resident_cg(const kry_op *A)
{
    kryi_resident_cg *R;
    const kry_status st = kryi_matrix_make_resident(kryi_matrix_of(A), NULL, &R);
    kryi_resident_release(&R);
    return st;
}

int multigrid_levels_in_parts(const kry_op *M)
{
    kryi_hierarchy *H = kryi_hierarchy_of(kryi_op_first(M));
    int count = 0;
    while (kryi_hierarchy_level(H, count + 1)->shell) count++;
    return count;
}

int vectors_recycled(const kry_op *S, const double **values)
{
    const kryi_recycle *R = kryi_deflation_of(kryi_krylov_of(S)->deflation)->recycle;
    if (values) *values = R->values;
    return R->found;
}

kry_status gemm_by(bool clblast, bool ta, bool tb, double alpha, const kry_vec *A, const kry_vec *B,
                   double beta, kry_vec *C)
{
    const kryi_gemm g = { .ta = ta,
                          .tb = tb,
                          .alpha = alpha,
                          .A = kryi_block_of(A),
                          .B = kryi_block_of(B),
                          .beta = beta,
                          .C = kryi_block_of(C) };
    return clblast ? kryi_gemm_clblast(&g) : kryi_gemm_own(&g);
}

bool has_clblast(void) { return kryi_gemm_has_clblast(); }

void forget_kept(kry_device *dev) { kryi_device_forget(dev); }

kry_status dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum)
{
    return kryi_vec_dot_pair(x, y, sum);
}

kry_status fill_random(uint64_t stream, kry_vec *v) { return kryi_vec_fill_random(stream, v); }

const char *driver_faults(const char *platform, const char *driver)
{
    return kryi_driver_faults(platform, driver);
}

const char *cl_error_name(cl_int error) { return kryi_cl_error_name(error); }

kry_status relax_by(const kry_op *A, double c, const kry_vec *d, const kry_vec *b, const kry_vec *x,
                    kry_vec *y)
{
    return A->fused->relax_by(A->self, c, d, b, x, y);
}

bool knows_row_sizes(const kry_op *A) { return A->found.least_row > 0; }

double setup_seconds(const kry_op *op) { return op->setup.seconds; }

const kry_op *multigrid_level(const kry_op *M, int level)
{
    kryi_hierarchy *H = kryi_hierarchy_of(M);
    return level < kryi_hierarchy_levels(H) ? kryi_hierarchy_level(H, level)->A : NULL;
}

kry_status full_multigrid(const kry_op *M, const kry_vec *b, kry_vec *x)
{
    return kryi_cycle_run(kryi_hierarchy_of(M), true, b, x, (kryi_cycle_sums){ 0 });
}

bool is_extended(const kry_op *A) { return kryi_extended_of(kryi_op_on_part(A, 0)) != NULL; }

kry_status rcm_order(int64_t n, int64_t *row_ptr, int32_t *col, int32_t *order)
{
    const kryi_csr pattern = { n, n, KRY_F64, row_ptr, col, NULL };
    kryi_csr graph;
    kry_status st = kryi_csr_graph(&pattern, &graph);

    if (st == KRY_OK) st = kryi_csr_rcm(&graph, order);
    kryi_csr_release(&graph);
    return st;
}

kry_status cut_as_team(const kry_device *team, int64_t n, const int64_t *row_ptr, int parts,
                       int64_t *first)
{
    int64_t multiple = 1, chunk;

    if (team->team->reproducible) kryi_split_chunks(n, 1, &multiple, &chunk);
    return kryi_partition_by_rows(n, row_ptr, parts, NULL, multiple, first);
}
