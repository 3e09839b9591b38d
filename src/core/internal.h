/*
 * internal.h - what the library's own files share. Never installed.
 */
#ifndef KRY_INTERNAL_H
#define KRY_INTERNAL_H

#include <kry/opencl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- leaving a function through its single exit: `st` and the label `done` must exist ---- */

#define TRY(call)              \
    do {                       \
        st = (call);           \
        if (st < 0) goto done; \
    } while (0)

#define TRY_CL(call) TRY(kry_cl_check((call), __func__, #call))

#define CHECK(cond, status, ...)                  \
    do {                                          \
        if (!(cond)) {                            \
            st = kry_fail((status), __VA_ARGS__); \
            goto done;                            \
        }                                         \
    } while (0)

/* What an analyzer of one file at a time cannot see: a failure hands its status back. */
#if defined(__clang_analyzer__) || defined(__cppcheck__)
#define kry_fail(status, ...) ((void)kry_fail((status), __VA_ARGS__), (status))
#endif

/* ---- status.c, alloc.c ---- */

kry_status kry_cl_check(cl_int err, const char *func, const char *call);
const char *kry_cl_error_name(cl_int err);
double kry_now(void); /* seconds, from a clock that only goes forward */

/* All host memory and all device buffers come from these, so that a test can make the n-th
 * request fail, whatever thread makes it. kry_test_fail_at < 0: off. */
extern atomic_int kry_test_fail_at;
/* Buffers are never given back: for Oclgrind 21.10, see tests/test_kernels.c. */
extern bool kry_test_keep_buffers;
kry_status kry_alloc(size_t count, size_t size, void *address_of_pointer);   /* zeroed */
kry_status kry_realloc(size_t count, size_t size, void *address_of_pointer); /* tail not zeroed */
kry_status kry_buffer_create(kry_device *dev, size_t bytes, cl_mem *buffer); /* touched */
void kry_buffer_release(kry_device *dev, cl_mem *buffer);
/* Another number in each call, whatever the thread. */
unsigned kry_ticket(void);

/* ---- layout.c: how the rows of a computation lie over its parts. A device by itself has all of them;
 *      a part of a team has its own, runs the same code as the other parts, and meets them here.
 *      All but the first two are collective: every part calls them in the same order, and they fail on
 *      all once one part has failed. Alone, they cost nothing. ---- */

typedef struct kry_comm kry_comm; /* dist/comm.h */
typedef struct kry_layout {
    kry_device *dev; /* borrowed: the device embeds its layout */
    kry_comm *comm;  /* borrowed; NULL: alone */
    /* Of a part of a team whose results must not depend on the number of parts: its kernels are
     * compiled with KRY_REPRODUCIBLE, solvers take the steps that leave their sums by chunks, and
     * partial sums of all parts are added up in the order of rows. */
    bool reproducible;
    const struct kry_split *split; /* borrowed, during a run: what rows are split by */
    double *scratch;               /* owned: partial sums on their way */
    size_t scratch_count;
} kry_layout;

void kry_layout_init(kry_layout *layout, kry_device *dev, kry_comm *comm);
int kry_layout_size(const kry_layout *layout);
int kry_layout_rank(const kry_layout *layout);
/* all: size blocks of `bytes`, in the order of ranks. */
kry_status kry_layout_gather(kry_layout *layout, const void *mine, size_t bytes, void *all);
/* all: every part's items, in the order of ranks, to be freed; *total of them. */
kry_status kry_layout_collect(kry_layout *layout, const void *mine, size_t count, size_t size,
                              void *address_of_all, size_t *total);
typedef enum kry_combine { KRY_ADD, KRY_MAX } kry_combine;
/* Each of the numbers becomes the sum, or the largest, of all parts'; the same bits everywhere. */
kry_status kry_layout_combine(kry_layout *layout, kry_combine how, double *numbers, size_t count);
/* The number of rank 0, which alone may depend on time or on the caller. */
kry_status kry_layout_agree(kry_layout *layout, double *number);
/* Hands `mine` back if it is an error; fails on all parts if it is one on any. */
kry_status kry_layout_join(kry_layout *layout, kry_status mine);
/* Of n rows here: how many there are in all, and before these (first may be NULL). */
kry_status kry_layout_rows(kry_layout *layout, int64_t n, int64_t *first, int64_t *total);
/* Not collective: what row i of the rows here is called in the whole, during a run; and where a row of
 * the whole is among the n here, -1: it is on another part. */
int64_t kry_layout_row(const kry_layout *layout, int64_t i);
int64_t kry_layout_find_row(const kry_layout *layout, int64_t n, int64_t row);
/* value := the sum of all parts' partial sums, chunk after chunk as on one part. width numbers each, `count`
 * of them here; where that is more than a part has chunks, their sum counts as one. */
kry_status kry_layout_add_chunks(kry_layout *layout, const double *partial, int count, int width,
                                 double *value);
/* Make each of the partial sums stand for the sum over all parts. Alone there is nothing to add: the
 * kernel that uses a sum finishes it. Waits where there are several, or sums are reproducible. */
kry_status kry_layout_reduce(kry_layout *layout, kry_sum *const *sums, int count);

/* ---- device.c, profile.c ---- */

struct kry_program; /* program.c */

/* How kernels are launched: what suits most devices, or what kry tune found to suit this one. It
 * decides the order of sums, and with it their last bits. */
typedef struct kry_shape {
    int group;    /* work-items per group; 1 on CPUs */
    int per_unit; /* GPUs: groups to a compute unit in launches that leave sums */
    int chunks;   /* CPUs: groups in all */
} kry_shape;
/* launch.c: the usual one; what the tuning file has, if it fits the device; how it is kept. */
kry_shape kry_shape_default(const kry_device_info *info);
void kry_shape_load(kry_device *dev);
void kry_shape_keep(kry_device *dev);

/* Told of each kernel that is enqueued, with its event, which it takes over. For benchmarks, on a
 * queue with profiling; NULL, as it is for everybody else, costs nothing. */
typedef void kry_trace(void *user, const char *kernel, cl_event event);

/* Somebody who looks on while solvers run on a device, beside the monitors that they were made with:
 * at every look at the residual of the outermost solve. Anything else than 0 stops it. */
typedef struct kry_observer {
    kry_monitor look;
    void *user;
} kry_observer;

struct kry_device {
    atomic_int refs;
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
    kry_device_info info;
    kry_layout layout;
    /* Cache in memory, a list that only grows: it is read without a lock. */
    struct kry_program *_Atomic programs;
    pthread_mutex_t making; /* held by the thread that adds to it */
    kry_shape shape;        /* of launches */
    char *tuning;           /* what the tuning file says; NULL: not read yet */
    atomic_uint generation; /* counts released buffers: see kry_launch */
    kry_trace *trace;
    void *trace_user;
    cl_mem gemm_room; /* what CLBlast copies operands to (src/dense/gemm.c); NULL: nothing yet */
    size_t gemm_room_bytes;
    struct kry_batch_space
        *batch; /* owned: what dense/batch.c keeps from call to call; NULL: nothing yet */
    cl_command_queue
        aside; /* a second queue, for src/dense/lu_panel.c; NULL: nobody needed it yet */
    struct kry_team *team;  /* owned; NULL: a plain device. A team has neither context nor queue */
    kry_queue *tasks;       /* borrowed: that works for it; NULL: none. Of src/task/ */
    atomic_int busy;        /* tasks of that queue that have not ended */
    kry_observer *observer; /* borrowed; NULL: nobody looks on */
};

/* Refuses to touch a device whose queue has work, on other threads than that queue's: what would be
 * broken then breaks at some other time and place. */
kry_status kry_device_refuse(const kry_device *dev);
bool kry_task_is_inside(const kry_device *dev); /* on the thread that works for it */
static inline kry_status kry_device_check_thread(const kry_device *dev)
{
    return atomic_load(&dev->busy) && !kry_task_is_inside(dev) ? kry_device_refuse(dev) : KRY_OK;
}

kry_status kry_profile_query(cl_device_id id, kry_device_info *info);
/* What kry_device_open does with a spec of one device: find it, and open what was found. */
kry_status kry_device_find(const char *spec, cl_device_id *id);
kry_status kry_device_open_id(cl_device_id id, kry_device **device);

/* ---- program.c, program_disk.c ---- */

enum { KRY_MAX_ARGS = 40 };

/* A kernel of a cached program, borrowed from the device; remembers its last arguments. These belong to
 * the kernel's handle, so whoever launches it takes it first; a thread that finds it taken does not
 * wait, but takes another one of the same code. */
typedef struct kry_kernel {
    cl_kernel handle;
    cl_program program; /* borrowed */
    const char *name;
    uint64_t hash;                    /* of the program's text and options */
    struct kry_kernel *next;          /* another kernel of the program */
    struct kry_kernel *_Atomic spare; /* the same one once more, owned; NULL: none */
    atomic_bool taken;
    /* Of the thread that has taken it: */
    unsigned char last[KRY_MAX_ARGS][8];
    unsigned char last_size[KRY_MAX_ARGS];
    unsigned generation;
    bool launched; /* once at least, and finished */
} kry_kernel;

/* One of the same code that no other thread sets arguments of, made if there is none. */
kry_status kry_kernel_take(kry_kernel *kernel, kry_kernel **mine);
static inline void kry_kernel_give_back(kry_kernel *mine)
{
    if (mine) atomic_store(&mine->taken, false);
}

/* PoCL 3.1 compiles a kernel when it is first launched, in a thread of its own, and LLVM 15 crashes now
 * and then if another program is built meanwhile (seen in LLVM's pass manager, under
 * AddressSanitizer). So devices that are no GPUs build, and launch for the first time, one at a time,
 * whatever their threads. */
void kry_compiling_begin(const kry_device *dev);
void kry_compiling_end(const kry_device *dev);

/* The kernel `name` of cl/<stem>.cl, compiled for `type` with `defines` ("-DX=1 -DY", or ""). */
kry_status kry_kernel_get(kry_device *dev, const char *stem, kry_type type, const char *defines,
                          const char *name, kry_kernel **kernel);
void kry_programs_release(kry_device *dev);
/* The whole text that is compiled for cl/<stem>.cl, to be freed. */
kry_status kry_program_source(const char *stem, char **source);

/* FNV-1a, 64 bits: the hash of what was hashed to h and `bytes`. */
#define KRY_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t kry_hash(uint64_t h, const void *bytes, size_t size);
bool kry_cache_directory(char *dir, size_t size);  /* false: there is none */
void kry_cache_make_directories(const char *path); /* those above the file `path` */
/* To read; NULL if it is no plain file: nobody waits for a pipe that stands in its place. */
FILE *kry_cache_open(const char *path);

/* The cache on disk. It only ever saves time: what cannot be read, written or trusted is
 * passed over in silence. `key` is all that the binary depends on. */
bool kry_disk_load(const char *key, unsigned char **binary, size_t *size);
void kry_disk_store(const char *key, const unsigned char *binary, size_t size);

/* ---- tuning.c: what was measured on a device, by name; one small text file for each device and
 *      driver in the cache directory. Like the cache it only ever saves time: what cannot be read
 *      or written is passed over in silence, and values are checked by those who use them. ---- */

bool kry_tuning_get(kry_device *dev, const char *name, char *value, size_t size);
void kry_tuning_set(kry_device *dev, const char *name, const char *value); /* one line; no blanks
                                                                              in the name */
/* Call `line` for each entry, which must not ask for others; and where they are kept, "" if nowhere. */
void kry_tuning_each(kry_device *dev, void (*line)(const char *name, const char *value, void *user),
                     void *user);
const char *kry_tuning_path(kry_device *dev, char *path, size_t size);
void kry_tuning_release(kry_device *dev);

typedef struct kry_arg {
    size_t size;
    const void *value;
} kry_arg;
#define ARG(x)          \
    {                   \
        sizeof(x), &(x) \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Enqueue `groups` work-groups of the profile's size. */
kry_status kry_launch(kry_device *dev, kry_kernel *kernel, int64_t groups, const kry_arg *args,
                      size_t count);
/* The same with groups of `size` work-items. */
kry_status kry_launch_size(kry_device *dev, kry_kernel *kernel, int64_t groups, int size,
                           const kry_arg *args, size_t count);

/* A scalar argument of type ACC: 8 bytes where the device has double, else 4. */
typedef union kry_scalar {
    double f64;
    float f32;
} kry_scalar;
kry_scalar kry_scalar_of(const kry_device *dev, double value);
size_t kry_acc_size(const kry_device *dev);
#define ARG_ACC(dev, s)         \
    {                           \
        kry_acc_size(dev), &(s) \
    }

int kry_group_size(const kry_device *dev);                  /* work-items per group */
int kry_vector_width(const kry_device *dev, kry_type type); /* VW: numbers per load */
/* GPUs: groups that fit on the device at once, `per_unit` to a compute unit; no more than leave room in
 * a sum for another launch's. */
int64_t kry_groups_at_once(const kry_device *dev, int per_unit);
/* Groups for n numbers: of a launch that leaves partial sums or reads them, and of any other. */
int64_t kry_groups_for_sums(const kry_device *dev, kry_type type, int64_t n);
int64_t kry_groups_for(const kry_device *dev, kry_type type, int64_t n);
/* Returns  KRY_ERR_UNSUPPORTED if a kernel does not take groups of that size: its registers may
 * not allow them. */
kry_status kry_kernel_check_size(const kry_device *dev, const kry_kernel *kernel, int size);

/* ---- barrier.c: kernels whose groups wait for each other, written as cl/barrier.clh says. Their
 *      first parameter is the control buffer: args[0] is filled in here. ---- */

typedef struct kry_barrier kry_barrier;
enum { KRY_BARRIER_MOST = 1024 }; /* groups */

/* Find out how many groups of `size` work-items can wait for each other in this kernel: by a probe
 * with these arguments (nothing is read or written through them), or from what an earlier one
 * found. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if the kernel takes no groups of that size. */
kry_status kry_barrier_create(kry_device *dev, kry_kernel *kernel, int size, kry_arg *args,
                              size_t count, kry_barrier **barrier);
void kry_barrier_release(kry_barrier **barrier);
/* How many; 0: none, do it another way. Becomes 0 once a launch was aborted. */
int kry_barrier_groups(const kry_barrier *barrier);
/* Enqueue. Returns  KRY_ERR_UNSUPPORTED for more groups than can wait for each other. */
kry_status kry_barrier_launch(kry_barrier *barrier, int groups, kry_arg *args, size_t count);
/* Whether every group of the last launch came to its end; if not, what it wrote is worthless.
 * Waits. */
kry_status kry_barrier_finished(kry_barrier *barrier, bool *finished);

/* Many launches in a row, of any number of groups each, of a kernel that ends with
 * resident_end_in_series: one look at the end tells whether all of them came to their end. An aborted
 * one makes all that follow end at their first wait. */
kry_status kry_barrier_begin_series(kry_barrier *barrier);
kry_status kry_barrier_launch_next(kry_barrier *barrier, int groups, kry_arg *args, size_t count);
kry_status kry_barrier_series_finished(kry_barrier *barrier, bool *finished); /* waits */

/* For tests: launch number kry_test_abort_at from now is aborted (< 0: none); so many messages of
 * a probe count as stale, beside those that are. */
extern int kry_test_abort_at, kry_test_stale_messages;

/* ---- vec.c, reduce.c ---- */

/* Number i of an array of `type` on the host. */
static inline double kry_number_at(kry_type type, const void *numbers, int64_t i)
{
    return type == KRY_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}
static inline void kry_number_put(kry_type type, void *numbers, int64_t i, double v)
{
    if (type == KRY_F32)
        ((float *)numbers)[i] = (float)v;
    else
        ((double *)numbers)[i] = v;
}

struct kry_vec {
    atomic_int refs;
    kry_layout *layout; /* borrowed from dev */
    kry_device *dev;    /* retained */
    kry_type type;
    int64_t n, k, first;
    cl_mem buffer; /* retained; NULL: on a team */
    /* On a team: the numbers of each part, of whose columns these are k from `first` on. */
    struct kry_split *split;          /* retained */
    kry_vec **part;                   /* owned */
    const struct kry_split *piece_of; /* borrowed: rows of these; NULL: of layout->split, perhaps */
};

/* The same numbers, borrowed, on the caller's stack: a vector in all but its references, which others
 * may be counting. */
static inline kry_vec kry_vec_borrow(const kry_vec *v)
{
    return (kry_vec){ .layout = v->layout,
                      .dev = v->dev,
                      .type = v->type,
                      .n = v->n,
                      .k = v->k,
                      .first = v->first,
                      .buffer = v->buffer,
                      .split = v->split,
                      .part = v->part,
                      .piece_of = v->piece_of };
}

enum { KRY_SUM_CAPACITY = 8192 };

/* What a group leaves of a sum: a TOTAL of cl/kry.clh, double where the device has it, else a pair of
 * floats, the sum and what rounding took from it. */
typedef union kry_partial {
    double f64;
    float f32[2];
} kry_partial;

struct kry_sum {
    kry_device *dev;      /* borrowed */
    cl_mem buffer;        /* KRY_SUM_CAPACITY * width of kry_partial */
    int width;            /* numbers per partial sum: 1, or 2 for a pair summed together */
    cl_int count;         /* partial sums written */
    kry_partial total[2]; /* of all parts, on its way to the device */
    bool writes;          /* that may still be under way */
};
kry_status kry_sum_create(kry_device *dev, int width, kry_sum **sum);
void kry_sum_release(kry_sum **sum);
kry_status kry_sum_read_here(const kry_sum *sum, double *value); /* of this device alone; waits */
kry_status kry_sum_add_here(const kry_sum *sum,
                            double *value); /* value += that, group after group */
kry_status kry_sum_read(kry_layout *layout, kry_sum *sum, double *value); /* of all parts; waits */

/* What a launch that sums over the rows of v goes over: groups, and the arguments `long n ROWS_PARAMS` of
 * kry.clh. Chunks where sums are to be reproducible; its loads are to be KRY_UNALIGNED there. */
typedef struct kry_chunks {
    int64_t n, unit, chunk; /* chunk 0: groups share the rows as suits the device */
    int64_t groups;
} kry_chunks;
enum { KRY_CHUNKS_ARGS = 3 };
kry_chunks kry_chunks_of(const kry_vec *v);
size_t kry_chunks_args(const kry_chunks *rows, kry_arg args[KRY_CHUNKS_ARGS]); /* how many */

kry_vec kry_vec_column(const kry_vec *v, int64_t j); /* borrowed, on the caller's stack */
/* The define that kernels with vector loads need for vectors that start where these do. */
const char *kry_vec_alignment(const kry_vec *const *v, int count);
kry_status kry_vec_dot_sum(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* z := y + a x, for the bandwidth benchmark */
kry_status kry_vec_triad(double a, const kry_vec *x, const kry_vec *y, kry_vec *z);
/* sum := (x.y, x.x), a pair */
kry_status kry_vec_dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* A number type, and one that the device has. */
kry_status kry_type_check(const char *who, const kry_device *dev, kry_type type);
/* Not NULL, the same size, type and device. */
kry_status kry_vec_check_alike(const char *who, const kry_vec *x, const kry_vec *y);
bool kry_vec_overlap(const kry_vec *x, const kry_vec *y);
void kry_batch_space_release(kry_device *dev); /* batch.c */
/* gemv.c: y := X c with the first k of X's rows, X n-by-k, c and y k-by-1; nothing is checked. */
kry_status kry_gemv_square(const kry_vec *X, const kry_vec *c, kry_vec *y);

/* ---- op.c: the table with its defaults filled in, for solvers; nothing is checked ---- */

struct kry_op {
    atomic_int refs;
    kry_device *dev;
    const kry_op_table *table;
    void *self;
    kry_op_shape shape;
    kry_vec *null_space; /* orthonormal; NULL: constants if KRY_SINGULAR, else nothing */
};
/* `who` names the function that was called. */
kry_status kry_op_check_square(const char *who, const kry_op *op);
/* Constants, and nothing else, are mapped to zero. */
static inline bool kry_op_loses_constants(const kry_op *op)
{
    return (op->shape.traits & KRY_SINGULAR) && !op->null_space;
}
/* y := op x and sum := x.y */
kry_status kry_op_run_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum);
kry_status kry_op_run_direction(const kry_op *op, const kry_direction *d, kry_vec *p, kry_vec *q,
                                kry_sum *sum);
/* matrix.c: a stored matrix that is not in flux form: its twin may be scaled by a diagonal. */
bool kry_op_is_assembled(const kry_op *op);
/* twin.c: the same as kry_op_twin of factor S A S; *twin not NULL: its numbers again. */
kry_status kry_op_make_twin(const char *who, const kry_op *A, kry_type type, double factor,
                            const double *scale, kry_op **twin);
/* Numbers of one type as numbers of another, in a new array: factor times v. Names the first that
 * does not fit. */
kry_status kry_numbers_convert(const char *who, const char *what, kry_type from, const void *v,
                               int64_t count, double factor, kry_type to, void *out);
/* y := op x and x.y */
kry_status kry_op_run_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum);
/* z := op r and the pair (r.z, r.r) */
kry_status kry_op_run_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum);

/* What kry_op_table.relax is given. */
struct kry_relax {
    double c0, c1;
    const kry_vec *b, *x, *old; /* x, old: NULL for zero; old is not read if c0 == 0 */
    double x_scale, old_scale;  /* 0: none; else x stands for x_scale x, old for old_scale old. For
                                   operators that offer relax: saves writing down a multiple of b */
};

/* ---- kry_op_table.run_cg: iterations of conjugate gradients that stay on the chip. A solver
 *      calls it with KRY_CG_PREPARE when it is created, and in a solve with KRY_CG_BEGIN, then
 *      with KRY_CG_GO_ON while there is neither a reason to stop nor a failure. ---- */

typedef enum kry_cg_action {
    KRY_CG_PREPARE, /* compile, allocate, find out whether it can be done; nothing else is set */
    KRY_CG_BEGIN,   /* from x and its residual r */
    KRY_CG_GO_ON    /* from where the last call ended */
} kry_cg_action;

enum {
    KRY_CG_CHUNK = 2048
}; /* iterations in one call: some 10 ms, and no more than that is lost */

struct kry_cg_run {
    kry_cg_action action;
    const kry_vec *r;   /* [in] b - A x */
    kry_vec *x;         /* [in,out] */
    double target2;     /* stop when r.r <= target2 */
    int64_t iterations; /* [in] at most; no more than KRY_CG_CHUNK are done */
    unsigned ticket;    /* the operator's: whose recurrence it keeps */
    double *history; /* [out] r.r of iterations 0 ... done of this call, KRY_CG_CHUNK + 1 numbers;
                           the last stands at 0 of the next call again */
    int done;        /* [out] iterations of this call */
    int stop;        /* [out] the reason to stop, as in direction.clh; 0: none */
    double value;    /* [out] that decided */
};

/* ---- direction.c: p := z + beta p with the scalars on the device ---- */

/* Where the scalars of a running recurrence lie: STATE_* numbers of type ACC, one block written
 * by the direction, one by the step that follows it, so that no launch writes what it reads. */
enum {
    STATE_STOP,
    STATE_RHO,
    STATE_RESIDUAL2,
    STATE_ITERATION,
    STATE_VALUE,
    STATE_BETA,
    STATE_ALPHA,
    STATE_RHO_REST,
    STATE_SIZE
};

struct kry_direction {
    const kry_vec *z, *old; /* p := z + beta old; old may be p itself in the default */
    const kry_sum *rho;     /* pairs (r.z, r.r) behind beta and the stopping test */
    cl_mem step_state;      /* [in]  STATE_SIZE: what the last step left */
    cl_mem state;           /* [out] STATE_SIZE */
    cl_mem history;         /* [out] r.r of this iteration goes to history[slot] */
    cl_int iteration, slot;
    kry_scalar target2; /* stop when r.r <= target2 */
};
enum { KRY_DIRECTION_ARGS = 8 };
/* The arguments that begin_direction() in direction.clh takes, in its order. */
void kry_direction_args(const kry_direction *d, kry_arg args[KRY_DIRECTION_ARGS]);
/* p := z + beta p alone. */
kry_status kry_direction_run(const kry_direction *d, kry_vec *p);
/* The stopping test and the history entry alone. */
kry_status kry_direction_check(const kry_direction *d);

/* What becomes of x in a step: see begin_step in direction.clh. */
enum { KRY_X_WAITS, KRY_X_ADDS, KRY_X_ADDS_BOTH };

/* alpha := rho / p.Ap and what follows, for the p of the direction before */
struct kry_step {
    const kry_vec *p, *old;
    const kry_sum *pq;  /* p.Ap */
    cl_mem state, step; /* as in kry_direction, the other way round */
    cl_int update;      /* KRY_X_... */
    const kry_vec *d;   /* z := d .* r, or NULL */
    kry_vec *z;
    /* Sums of r after the step before, and room for those after this one: with them the mean is taken
     * out of r. For kernels compiled with DRIFT; NULL: not wanted. */
    const kry_sum *drift;
    kry_sum *next_drift;
    int64_t unknowns; /* of all parts, which the mean is taken over */
};
enum { KRY_STEP_ARGS = 5, KRY_DRIFT_ARGS = 4 };
/* The arguments that begin_step() takes, in its order; `drift`: and those behind them of a kernel
 * compiled with DRIFT. Returns how many. */
size_t kry_step_args(const kry_step *s, bool drift, kry_arg args[KRY_STEP_ARGS + KRY_DRIFT_ARGS]);

#endif
