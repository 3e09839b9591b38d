/*
 * report.h - a page for the browser that tells all about a solve (docs/command-line.md). It is one file of HTML, which needs
 * neither a network nor anything beside it.
 *
 *     kry_device_open_timed(NULL, &device);
 *     kry_report_begin(device, &report);
 *     ...                                            read the system
 *     kry_report_enter(report, KRY_REPORT_MATRIX);   make A
 *     kry_report_enter(report, KRY_REPORT_SETUP);    make the solver
 *     kry_report_enter(report, KRY_REPORT_SOLVE);
 *     status = kry_solve(solver, b, x, &result);
 *     kry_report_end(report);
 *     kry_report_write(report, "solve.html", KRY_REPORT(.solver = solver, .A = A, .result = &result));
 *     kry_report_release(&report);
 */
#ifndef KRY_REPORT_H
#define KRY_REPORT_H

#include <kry/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A recording of a run while it lasts: the times of its parts, of kernels and of transfers. */
typedef struct kry_report kry_report;

typedef enum kry_report_part {
    KRY_REPORT_READ, /* or generate the system; from kry_report_begin on */
    KRY_REPORT_MATRIX,
    KRY_REPORT_SETUP,
    KRY_REPORT_SOLVE,
    KRY_REPORT_PARTS
} kry_report_part;

/*
 * Begin to keep what a page shows. The device's trace (kry_device_set_trace) is the report's until kry_report_end. What
 * is already on the device is not seen; a device whose queues keep no times (kry_device_open_timed) gives a page without kernels.
 *
 *   device  retained. One of ranks (transport.h): each rank has a report of its own, of its device
 *   report  [out]  the caller's: kry_report_release
 *
 * Returns  KRY_ERR_MEMORY. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_report_begin(kry_device *device, kry_report **report);
/* A part of the run begins, and the one before ends; parts come in their order, and may be left out. NULL is fine. */
KRY_API void kry_report_enter(kry_report *report, kry_report_part part);
/* A monitor for kry_solver_create, with the report as its user, or to be called by the caller's own: for methods that
 * go on to another choice (method=auto, precision=mixed) it keeps the residuals of those that were left. Returns 0. */
KRY_API int kry_report_monitor(void *report, const kry_iteration *it);
/* The run is over: no more is kept. Returns  KRY_ERR_DEVICE if times could not be had. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_report_end(kry_report *report);
KRY_API void kry_report_release(kry_report **report);

/* The solve that a page is about; all of it is borrowed for the call. */
typedef struct kry_report_params {
    size_t struct_size;
    size_t result_size;       /* sizeof(kry_result); KRY_REPORT fills it in */
    const kry_op *solver;     /* as it solved */
    const kry_op *A;          /* of that solver: its entries are read back, and drawn */
    const kry_result *result; /* of kry_solve, before the solver is used again */
    const char *title;        /* what was solved, of the heading; NULL: "A solve" */
    const char *command;      /* shown below the verdict; NULL: nothing is */
    const char *const *
        facts; /* more rows of the table of the system: name, value, name, value, ..., NULL; NULL: none */
    const char
        *json; /* one object, what the page has for programs; NULL: what kry knows of the solve */
} kry_report_params;
#define KRY_REPORT(...) \
    KRY_PARAMS(kry_report_params, .result_size = sizeof(kry_result), __VA_ARGS__)

/*
 * Draw the page of a solve, which may have ended without convergence
 *
 *   report  ended by kry_report_end, or by this function
 *   path    of the page. The file takes its name once it is whole; one that is there is replaced then. On ranks that of
 *           rank 0, which writes it
 *
 * After the solve: beside one OpenCL device a copy is timed, for which there must be room for two vectors; and A is
 * read back to the host, if it is a stored matrix: 12 bytes for an entry, and half as much again. Collective on ranks,
 * whose entries stay where they are.
 *
 * Returns  KRY_ERR_ARGUMENT without solver, A or result, or for operators of other devices; KRY_ERR_FILE if the page
 *          cannot be written; KRY_ERR_MEMORY; KRY_ERR_DEVICE. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_report_write(kry_report *report, const char *path,
                                                   const kry_report_params *params);

#ifdef __cplusplus
}
#endif
#endif
