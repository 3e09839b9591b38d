/*
 * kry.h - sparse Krylov solvers on OpenCL: the whole host-side interface.
 *
 * Five nouns:
 *   kry_device   an OpenCL device with one in-order queue and a program cache
 *   kry_vec      a dense n-by-k block of numbers on a device
 *   kry_op       a linear operator: matrix, stencil, preconditioner, solver, the caller's code
 *   kry_result   what a solve did
 *   kry_status   how a call ended
 * Libraries of their own, on these functions: kry-eigenvalues, <kry/eigenvalues.h>; kry-gallery, model problems, <kry/problem.h>; kry-queue, work in the
 * background, <kry/queue.h>; kry-report, the page of a solve, <kry/report.h>.
 *
 * Rules that hold everywhere, and are therefore not repeated in the headers:
 *   - A function that can fail returns kry_status; results leave through the last
 *     argument, which is set to NULL (or zero) on failure.
 *   - Objects are reference counted. _create, _read, _open and _wrap give the caller one
 *     reference; _release drops it and sets the handle to NULL; releasing NULL is allowed. An object keeps
 *     alive whatever it was built from.
 *   - A pointer that must not be NULL but is gives KRY_ERR_ARGUMENT; functions without a status then do
 *     nothing, or return 0 or NULL.
 *   - Sizes are counted in elements, never bytes. Indices start at 0. Blocks are column major.
 *   - A function enqueues its work on the device and returns before that is done, unless its comment says
 *     "Waits".
 *   - Several threads may call kry at the same time, on different devices or on the same one, if each
 *     uses objects of its own: one thread at a time may use an object and the objects it was made of.
 *     Threads wait for each other only while a kernel is compiled. Four things allow only one thread
 *     per device: dense.h, tridiagonal.h, kry_vec_gemv and teams. _retain and _release may be called
 *     from any thread. docs/devices.md lists the rules.
 *   - A params pointer may be NULL, and a zero field means "the default". Structs of parameters begin with their
 *     size: later versions append fields only, and take the shorter struct of a program that was compiled
 *     with an earlier header.
 *   - kry_result, kry_eigen_result, kry_op_info and kry_device_info, which the library fills in, grow by appended fields as well.
 *     The calls that fill them are inline functions of these headers, which hand their size on to a function
 *     of the library, kry_solve to kry_solve_sized: it writes as many bytes and no more, and 0 into
 *     fields that it does not know. A program just calls kry_solve; code without these headers, such as bindings that
 *     load the library, calls kry_solve_sized with the size of the struct as it knows it. All
 *     other structs that are filled in keep their size as long as the library has the same soname.
 *   - Nothing is printed, and nothing ends the process.
 */
#ifndef KRY_KRY_H
#define KRY_KRY_H

#include <kry/deflation.h>
#include <kry/dense.h>
#include <kry/device.h>
#include <kry/formats.h>
#include <kry/io.h>
#include <kry/multigrid.h>
#include <kry/op.h>
#include <kry/precond.h>
#include <kry/solver.h>
#include <kry/status.h>
#include <kry/stencil.h>
#include <kry/systems.h>
#include <kry/team.h>
#include <kry/transport.h>
#include <kry/tridiagonal.h>
#include <kry/vec.h>
#include <kry/words.h>

/* The version of these headers; kry_version() is the version of the library that runs. */
#define KRY_VERSION       "0.1.0"
#define KRY_VERSION_MAJOR 0
#define KRY_VERSION_MINOR 1
#define KRY_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif
KRY_API const char *kry_version(void);
#ifdef __cplusplus
}
#endif
#endif
