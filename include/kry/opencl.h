/*
 * opencl.h - the only public header that needs <CL/cl.h>: lending kry your objects, reaching
 * the ones it made, and what a fused operator needs.
 *
 * _wrap retains the OpenCL object (clRetain*) and releases it with the kry object. Getters
 * lend: do not release what they return.
 */
#ifndef KRY_OPENCL_H
#define KRY_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <kry/kry.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Use the caller's context, device and queue.
 *
 *   queue  in order, of that context and device; kry enqueues on it, and flushes or waits for
 *          it only where an entry says "waits"
 *
 * Returns  KRY_ERR_ARGUMENT if the three do not belong together or the queue is out of order.
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_wrap(cl_context context, cl_device_id id,
                                                  cl_command_queue queue, kry_device **device);

/* NULL for a team and for the host device. */
KRY_API cl_context kry_device_context(const kry_device *device);
KRY_API cl_device_id kry_device_id(const kry_device *device);
KRY_API cl_command_queue kry_device_queue(const kry_device *device);

/* A view of n*k numbers in the caller's buffer, starting at element `first`. No copy.
 * Returns  KRY_ERR_SHAPE if they do not fit into the buffer; KRY_ERR_ARGUMENT for one of another context, and on
 *          the host device for memory that is not of kry_vec_buffer; KRY_ERR_UNSUPPORTED on a team. */
KRY_API KRY_MUST_CHECK kry_status kry_vec_wrap(kry_device *device, kry_type type, int64_t n,
                                               int64_t k, cl_mem buffer, int64_t first,
                                               kry_vec **vec);
/* kry_vec_wrap for columns that start `ld` >= n elements apart. */
KRY_API KRY_MUST_CHECK kry_status kry_vec_wrap_block(kry_device *device, kry_type type, int64_t n,
                                                     int64_t k, int64_t ld, cl_mem buffer,
                                                     int64_t first, kry_vec **vec);

/* The buffer behind a vector (on the host device: the address of its numbers), and in *first, which may be
 * NULL, the element at which it starts. Column j starts j times kry_vec_ld elements further on. */
KRY_API cl_mem kry_vec_buffer(const kry_vec *vec, int64_t *first);

/*
 * CSR around three device buffers of the caller, without a copy: row_ptr of rows+1 cl_int (or
 * cl_long if wide), col of nnz cl_int, val of nnz numbers. The row pointers and columns are read
 * back once and checked, as in kry_csr_create; columns may stand in any order. Change the values
 * when you like and call kry_op_update(op, NULL); never change the pattern. Waits.
 *
 * Returns  as kry_csr_create and kry_vec_wrap
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_wrap(kry_device *device, kry_type type, int64_t rows,
                                               int64_t cols, int64_t nnz, bool wide, cl_mem row_ptr,
                                               cl_mem col, cl_mem val,
                                               const kry_matrix_params *params, kry_op **op);

/* ---- the kernels of the library -------------------------------------------------------------------------- */

/*
 * Call `kernel` for each OpenCL kernel of the library.
 *
 *   kernel  name     of the kernel, "csr_apply"
 *           file     with the kernel, a path below cl/, "formats/csr.cl"; kernels of one file follow each other
 *           summary  the first sentence of the comment at the head of the file
 *
 * Returns  KRY_ERR_ARGUMENT for NULL; KRY_ERR_BUILD if $KRY_CL_PATH names a folder that lacks files; KRY_ERR_MEMORY
 */
KRY_API KRY_MUST_CHECK kry_status kry_kernels_each(void (*kernel)(const char *name,
                                                                  const char *file,
                                                                  const char *summary, void *user),
                                                   void *user);
/*
 * The text of a kernel file as the device's compiler gets it, in one with all files that it includes
 *
 *   type  of the numbers
 *   name  of the file ("csr", "formats/csr") or of a kernel ("csr_apply"): of this one's file, and on GPUs only
 *         the part of it that is compiled for this kernel
 *   text  [out]  to be freed with free(). Its first line is a comment with the compiler's options; to these most callers
 *         in the library add -D options of their own
 *
 * Returns  KRY_ERR_ARGUMENT if there is no such file or kernel; KRY_ERR_UNSUPPORTED for several devices (team.h) and
 *          the host device; KRY_ERR_BUILD as kry_kernels_each; KRY_ERR_MEMORY
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_kernel_text(kry_device *device, kry_type type,
                                                         const char *name, char **text);

/* ---- the caller's own kernels ------------------------------------------------------ */

/*
 * A kernel, compiled through kry's caches
 *
 *   type         of the numbers: cl/common/kry.clh, put in front of the text, defines REAL as this type,
 *                ACC as the type of scalars (double where the device has it, else float), loops
 *                that suit the device, and says what else. Its VW is 8 numbers for CPU kernels, 16
 *                bytes for all others
 *   name         of the text in messages
 *   source       OpenCL C. NULL: that of kry's kernel file <name>.cl, in whatever folder of cl/
 *                the library has it, here or in $KRY_CL_PATH ("csr": formats/csr.cl); else
 *                <name>.cl is a path below $KRY_CL_PATH. A line
 *                "#pragma kry images" says that its kernels take images
 *   options      for the compiler, "-DX=1 -DY". NULL: none. OpenCL C 1.1 unless one is -cl-std=
 *   kernel       [out]  the caller's (clReleaseKernel)
 *
 * Returns  KRY_ERR_BUILD with the compiler's log, or if there is no such file or kernel;
 *          KRY_ERR_UNSUPPORTED if a text that says that it takes images does not compile
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_kernel(kry_device *device, kry_type type,
                                                    const char *name, const char *source,
                                                    const char *options, const char *kernel_name,
                                                    cl_kernel *kernel);

/* WG of cl/common/kry.clh: the work-items of a group of kernels that use its loops; 1 on CPUs. */
KRY_API int kry_device_group_size(const kry_device *device);

/* How many such groups suit a loop (FOR_EACH, FOR_VEC) over n numbers of `type`; >= 1. */
KRY_API int64_t kry_device_groups(const kry_device *device, kry_type type, int64_t n);

/* An argument of a kernel: its bytes, read during the call; value NULL: so much local memory. Scalars of type ACC are 8 bytes where
 * kry_device_info.fp64 is set, else 4. */
typedef struct kry_arg {
    size_t size;
    const void *value;
} kry_arg;
#define KRY_ARG(x)      \
    {                   \
        sizeof(x), &(x) \
    }

/*
 * Set a kernel's arguments and enqueue it on the device's queue, in one dimension
 *
 *   groups  of work-items; 0: nothing is launched
 *   size    work-items of a group; 0: kry_device_group_size
 *   args    all of them, in their order
 *
 * One thread at a time for each cl_kernel.
 * Returns  KRY_ERR_UNSUPPORTED if the kernel takes no groups of that size; KRY_ERR_MEMORY;
 *          KRY_ERR_DEVICE for arguments of another size, and whatever else OpenCL refuses.
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_launch(kry_device *device, cl_kernel kernel,
                                                    int64_t groups, int size, const kry_arg *args,
                                                    int count);

/* Called for each kernel that is enqueued, and for each transfer: "read" by the host, "write" by it, "copy"
 * on the device; on the thread that enqueues it. It releases the event, and must not call kry. The host
 * device has no events, and calls nothing. */
typedef void kry_trace(void *user, const char *kernel, cl_event event);
/* Trace the device's kernels and transfers from now on: where the time goes, if the queue was made with
 * CL_QUEUE_PROFILING_ENABLE (kry_device_wrap). NULL, the default: nothing is traced. */
KRY_API void kry_device_set_trace(kry_device *device, kry_trace *trace, void *user);

/* ---- for operators that fuse ------------------------------------------------------- */

/* A reduction's partial sums: the operator writes up to kry_sum_capacity of them, one per work-group,
 * of type TOTAL (cl/common/kry.clh: double where the device has it, else a pair of floats, the sum and
 * what rounding took from it; 8 bytes), and says how many. */
KRY_API cl_mem kry_sum_buffer(const kry_sum *sum);
KRY_API int kry_sum_capacity(const kry_sum *sum);
KRY_API void kry_sum_set_count(kry_sum *sum, int count);

/* A place on the device for sums of `width` numbers, 1 to 64; not on a team. It keeps the device. */
KRY_API KRY_MUST_CHECK kry_status kry_sum_create(kry_device *device, int width, kry_sum **sum);
KRY_API void kry_sum_release(kry_sum **sum);
/* sum := x.y, which stays on the device: for operators without an apply_dot of their own pass.
 * Returns  KRY_ERR_SHAPE, KRY_ERR_TYPE; KRY_ERR_ARGUMENT for another device, or a team. */
KRY_API KRY_MUST_CHECK kry_status kry_vec_dot_sum(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* y := A x and sum := x.y in the same pass, if A has one: for operators that are made of others.
 * Returns  what kry_op_apply returns. */
KRY_API KRY_MUST_CHECK kry_status kry_op_apply_dot(const kry_op *A, const kry_vec *x, kry_vec *y,
                                                   kry_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
