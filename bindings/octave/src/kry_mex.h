/*
 * kry_mex.h - the one MEX file of the Octave and MATLAB package: kry_mex ("command", ...).
 *
 * Matrices on the device are values in a table; Octave knows them by handles, uint64 scalars. A
 * value is a task (kry/queue.h): commands put work on the device's queue and return, and only those
 * that hand numbers back wait. No mx or mex call is made from the queue's thread.
 *
 * Functions return kry_status, with a message in kry_last_error(); mexFunction alone raises errors,
 * when everything is released. An error's identifier is that of its status, or set by fail_as.
 */
#ifndef KRY_MEX_H
#define KRY_MEX_H

#include <kry/kry.h>
#include <kry/queue.h>
#include <mex.h>
#include <stdbool.h>
#include <stdint.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TRY(call)                         \
    do {                                  \
        if ((st = (call)) < 0) goto done; \
    } while (0)
#define CHECK(cond, status, ...)                  \
    do {                                          \
        if (!(cond)) {                            \
            st = kry_fail((status), __VA_ARGS__); \
            goto done;                            \
        }                                         \
    } while (0)

/* One command: in[0] is the first argument behind its name. */
typedef struct call {
    const char *name;
    int in_count, out_count; /* out_count: at least 1 */
    const mxArray **in;
    mxArray **out;
} call;

/* kry_fail with an identifier of its own, "kry:handle". */
kry_status fail_as(const char *identifier, kry_status status, const char *format, ...)
    KRY_PRINTF(3, 4);

/* ---- values.c: what Octave holds handles of ---- */

typedef enum kind { DENSE, SPARSE, FACTORS, PRECOND, DEFLATION } kind;

typedef struct shape {
    kind kind;
    kry_type type;
    int64_t rows, cols;
    int64_t nnz;            /* of a sparse one */
    bool symmetric;         /* a sparse one equals its transpose */
    bool tridiagonal;       /* a sparse square one */
    bool positive_diagonal; /* a sparse square one */
} shape;

typedef struct value {
    shape shape;
    kry_task *task; /* its vec, or its op */
    uint32_t generation;
    bool live;
} value;

/* The value behind a handle. Returns  KRY_ERR_ARGUMENT, kry:handle, for one that is not there. */
kry_status value_find(const mxArray *handle, value **v);
/* Is it a handle, and not numbers? */
bool is_handle(const mxArray *a);
/* Takes *task over and hands back its handle. */
kry_status value_keep(const shape *shape, kry_task **task, mxArray **handle);
kry_status value_free(const mxArray *handle);
int value_count(void);
void values_clear(void);

/* ---- device.c ---- */

/* The queue of the device in use; opens it when it is asked for the first time. Borrowed. */
kry_status the_queue(kry_queue **queue);
kry_device *the_device(void); /* borrowed; of a queue there is, for jobs */
void device_close(void);

/* Have run(params, self) done on the queue's thread; params are copied, and freed behind it. */
typedef kry_status job_fn(void *params, kry_task *self);
kry_status submit(const char *name, job_fn *run, const void *params, size_t size,
                  kry_task *const *inputs, int count, kry_task **task);
/* The same where params own something: destroy frees that and, in the end, what it is given. If
 * this fails it is still the caller's. */
kry_status submit_owning(const char *name, job_fn *run, const void *params, size_t size,
                         void (*destroy)(void *), kry_task *const *inputs, int count,
                         kry_task **task);
/* Wait, in slices, so that Ctrl-C is noticed: then all that is queued is cancelled, the task is waited
 * for, and the error is kry:interrupted. */
kry_status wait_for(kry_task *task);

/* ---- operand.c: what a command works on, a handle or numbers of the host ---- */

typedef struct operand {
    shape shape;
    const mxArray *host; /* not on the device yet; NULL: it is */
    bool scalar;         /* a single number of the host, which stays there */
    double number;
    kry_task *task; /* retained, behind operand_load */
} operand;

kry_status operand_look(const mxArray *a, operand *o);
/* See to it that it is on the device in this type. Not for scalars. */
kry_status operand_load(operand *o, kry_type type);
void operand_drop(operand *o);
/* Single if one of them is. */
kry_type type_of_both(const operand *a, const operand *b);
/* Real floating-point numbers of two dimensions, or an error that names what it is. */
kry_status check_host(const mxArray *a, const char *what);

/* ---- host.c ---- */

/* Does the device in use have numbers of this type? */
kry_status check_type(kry_type type);
kry_status dense_write(const mxArray *a, kry_type type, kry_task **task);
kry_status sparse_write(const mxArray *a, kry_type type, shape *shape, kry_task **task);
kry_status dense_read(kry_task *task, const shape *shape, mxArray **a);
/* A vector for m-by-n numbers: kry_vec has at least a column. */
kry_status vec_of(kry_device *device, kry_type type, int64_t m, int64_t n, kry_vec **vec);

/* ---- elements.c and launch.c: kernels of the toolbox itself ---- */

typedef enum element_op {
    ELEMENT_PLUS,
    ELEMENT_MINUS,
    ELEMENT_TIMES,
    ELEMENT_RDIVIDE,
    ELEMENT_LDIVIDE,
    ELEMENT_POWER,
    ELEMENT_MAX,
    ELEMENT_MIN,
    ELEMENT_ATAN2,
    ELEMENT_HYPOT,
    ELEMENT_UNARY /* from here on functions of one number: elements.c */
} element_op;

/* z := a op b, sizes 1 broadcast. One of the two may be a scalar of the host. Result in *task. */
kry_status elements(element_op op, operand *a, operand *b, shape *shape, kry_task **task);
/* The same numbers in another type. */
kry_status elements_convert(kry_task *task, const shape *from, kry_type type, kry_task **converted);

void kernels_forget(void); /* the kernels and marks of a device that goes */

/* ---- index.c ---- */

/* Which rows or columns to take: start, start + step ..., or a list. From 0. */
typedef struct picks {
    int64_t count, start, step;
    int64_t *list; /* NULL: by start and step */
    bool distinct; /* none is taken twice */
} picks;
/* z(i, j) := x(rows_i, columns_j) on the queue's thread; x as one of `rows` rows. */
kry_status pick_elements(const kry_vec *x, int64_t rows, const picks *i, const picks *j,
                         kry_vec *z);

/* ---- commands, name and what mexFunction calls ---- */

#define DEVICE_COMMANDS(X) X(device) X(devices) X(finish)
#define VALUE_COMMANDS(X)  X(free) X(live) X(info) X(state)
#define HOST_COMMANDS(X)   X(put) X(get) X(convert)
#define ELEMENT_COMMANDS(X) \
    X(plus)                 \
    X(minus) X(times) X(rdivide) X(ldivide) X(power) X(max2) X(min2) X(atan2) X(hypot) X(unary)
#define REDUCE_COMMANDS(X)  X(reduce)
#define INDEX_COMMANDS(X)   X(index) X(diag) X(reshape) X(repmat) X(assign) X(cat)
#define PRODUCT_COMMANDS(X) X(mtimes) X(transpose) X(dot) X(norm2)
#define DENSE_COMMANDS(X)   X(lu) X(factors) X(lu_solve) X(inv) X(det) X(rcond) X(rref) X(tridiagonal)
#define SOLVE_COMMANDS(X)   X(precond) X(deflation) X(apply) X(pcg) X(eigen)
#define COMMAND_LIST(X) \
    DEVICE_COMMANDS(X)  \
    VALUE_COMMANDS(X)   \
    HOST_COMMANDS(X)    \
    ELEMENT_COMMANDS(X) \
    REDUCE_COMMANDS(X) INDEX_COMMANDS(X) PRODUCT_COMMANDS(X) DENSE_COMMANDS(X) SOLVE_COMMANDS(X)

#define COMMAND_DECLARE(name) kry_status command_##name(call *c);
COMMAND_LIST(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* A binary operator with sparse matrices that the host has to do: hands back 0 if true stands
 * behind the operands. Else that is an error, so that the quick way through the class need not
 * look. */
kry_status leave_to_host(call *c);
/* Arguments. */
kry_status take_count(call *c, int least, int most);
kry_status take_text(const mxArray *a, const char *what, char *text, size_t size);
kry_status take_number(const mxArray *a, const char *what, double *number);

#endif
