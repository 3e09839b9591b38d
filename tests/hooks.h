/*
 * hooks.h - how tests that see the public headers alone interfere with the library, and what they look up in it:
 * hooks.c, which sees its internal headers, does it for them.
 */
#ifndef KRY_TEST_HOOKS_H
#define KRY_TEST_HOOKS_H

#include <kry/opencl.h>

/* ---- requests for memory that fail ---- */

/* Let request number `k` from now on, for host memory or for a device buffer, fail, whatever thread makes it. < 0: none. */
void fail_request(int64_t k);
/* No request fails any more. Returns  whether one has since fail_request. */
bool end_requests(void);
/* How many requests come before the one that fails; < 0: it has come. */
int64_t requests_left(void);
/* Whether the request that the caller stands for is the one that fails. */
bool request_fails(void);

/* ---- what the library does otherwise ---- */

/* Abort launch number `k` from now on of work-groups that wait for each other. < 0: none. */
void abort_launch(int k);
/* Count so many messages of a probe as stale, beside those that are. */
void count_as_stale(int messages);
/* Loops of the host are cut into so many parts, whatever their work. 0: as always. */
void cut_loops(int parts);
/* New device buffers hold NaN in place of what a driver leaves there. */
void poison_buffers(void);
/* Keep `value` under `name` in the tuning file of the device. */
void tune(kry_device *dev, const char *name, const char *value);

/* Programs that the device builds from now on are not optimised, so that two of them add up in the same order. */
void leave_unoptimised(kry_device *dev, bool unoptimised);

/* ---- buffers of the device, whatever its driver: as a caller has them ---- */

/* Make a buffer with these bytes in it; write, or read, bytes from its byte `at` on. They wait. */
kry_status buffer_upload(kry_device *dev, size_t bytes, const void *from, cl_mem *buffer);
kry_status buffer_write(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, const void *from);
kry_status buffer_read(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to);
void buffer_release(kry_device *dev, cl_mem *buffer);

/* ---- what the library keeps to itself ---- */

int device_references(const kry_device *dev);
int op_references(const kry_op *op);
/* The table that the operator was made of. */
const kry_op_table *op_table(const kry_op *op);
/* z := op r and the pair sum := (r.z, r.r) in the same pass, if op has one. */
kry_status apply_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum);
/* How a stored matrix is kept and multiplied by. */
typedef struct matrix_inside {
    int passes;
    const char *defines; /* of the kernel of the first pass, */
    int rows_each;       /* and the rows of a work-item there */
    kry_type stored;     /* its numbers */
    bool surplus;        /* what rows in flux form do not add up to is stored */
    bool placed;         /* the device found the places of its entries */
} matrix_inside;
matrix_inside look_into_matrix(const kry_op *A);
/* Make conjugate gradients in one kernel for the matrix. Returns  KRY_ERR_UNSUPPORTED where there is no such kernel. */
kry_status make_resident_cg(const kry_op *A);
/* y := x + c d .* (b - A x) for a diagonal matrix d, of one column or several. */
kry_status relax_by(const kry_op *A, double c, const kry_vec *d, const kry_vec *b, const kry_vec *x,
                    kry_vec *y);
/* How many vectors the solver has left for deflation in its next solves; *values, if it is not NULL: their eigenvalues,
 * borrowed. */
int vectors_recycled(const kry_op *S, const double **values);
/* Whether the sizes of the rows of A were found when it got its numbers: not where a GPU makes the format. */
bool knows_row_sizes(const kry_op *A);
/* How long its constructor took. */
double setup_seconds(const kry_op *op);
/* How many levels below the finest are in parts, of multigrid on a team. */
int multigrid_levels_in_parts(const kry_op *M);
/* The operator on a level of multigrid, 0 the finest; NULL: there are fewer levels. Borrowed. */
const kry_op *multigrid_level(const kry_op *M, int level);
/* x := what full multigrid makes of b. */
kry_status full_multigrid(const kry_op *M, const kry_vec *b, kry_vec *x);
/* Cut the rows of a matrix into parts as a team of the mode of `team` cuts them: part i begins at row first[i]. */
kry_status cut_as_team(const kry_device *team, int64_t n, const int64_t *row_ptr, int parts,
                       int64_t *first);
/* Whether the parts of a matrix on a team have their rows with all columns in one matrix. */
bool is_extended(const kry_op *A);
/* The order of reverse Cuthill-McKee for a square matrix: order[k] is the row that comes k-th. */
kry_status rcm_order(int64_t n, int64_t *row_ptr, int32_t *col, int32_t *order);
/* C := alpha op(A) op(B) + beta C by CLBlast, or by the kernel of kry's own, whatever suits the device. */
kry_status gemm_by(bool clblast, bool ta, bool tb, double alpha, const kry_vec *A, const kry_vec *B,
                   double beta, kry_vec *C);
bool has_clblast(void);
/* Release what modules keep with the device. */
void forget_kept(kry_device *dev);
/* sum := the pair (x.y, x.x) */
kry_status dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* v := the random numbers of a stream, in [-1/2, 1/2). */
kry_status fill_random(uint64_t stream, kry_vec *v);
/* kry_device_info.driver_faults for drivers of these names; NULL: none. */
const char *driver_faults(const char *platform, const char *driver);
/* "CL_INVALID_VALUE" */
const char *cl_error_name(cl_int error);
/* value := the numbers of `sum`, added up over the parts of the device. Waits. */
kry_status read_sum(kry_device *dev, kry_sum *sum, double *value);

#endif
