/*
 * solver.h - Krylov methods: how to ask for one, when it stops, and what it reports.
 */
#ifndef KRY_SOLVER_H
#define KRY_SOLVER_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a solve ended: enumerator, the word in --json, the status kry_solve returns. */
#define KRY_REASON_LIST(X)                                                       \
    X(KRY_NOT_SOLVED, "not_solved", KRY_NOT_CONVERGED) /* a call that failed */  \
    X(KRY_CONVERGED, "converged", KRY_OK)                                        \
    X(KRY_CONVERGED_GUESS, "initial_guess", KRY_OK)                              \
    X(KRY_CONVERGED_ZERO, "zero_rhs", KRY_OK)                                    \
    X(KRY_CONVERGED_LEAST_SQUARES, "least_squares", KRY_OK) /* lsqr, lsmr */     \
    X(KRY_ITERATIONS_DONE, "iterations_done", KRY_OK)       /* KRY_STOP_NEVER */ \
    X(KRY_INCONSISTENT, "inconsistent_rhs", KRY_NOT_CONVERGED)                   \
    X(KRY_ITERATION_LIMIT, "iteration_limit", KRY_NOT_CONVERGED)                 \
    X(KRY_MONITOR_STOP, "monitor", KRY_STOPPED)                                  \
    X(KRY_TRUE_RESIDUAL_STAGNATED, "stagnated", KRY_STAGNATED)                   \
    X(KRY_INDEFINITE_MATRIX, "indefinite_matrix", KRY_BREAKDOWN)                 \
    X(KRY_INDEFINITE_PRECOND, "indefinite_preconditioner", KRY_BREAKDOWN)        \
    X(KRY_NOT_FINITE, "not_finite", KRY_BREAKDOWN)                               \
    X(KRY_DIVERGED, "diverged", KRY_BREAKDOWN)                                   \
    X(KRY_BROKE_DOWN, "breakdown", KRY_BREAKDOWN)                                \
    X(KRY_ILL_CONDITIONED, "ill_conditioned", KRY_NOT_CONVERGED) /* lsqr, lsmr */

typedef enum kry_reason {
#define KRY_REASON_ENUM(name, word, status) name,
    KRY_REASON_LIST(KRY_REASON_ENUM)
#undef KRY_REASON_ENUM
} kry_reason;

KRY_API const char *kry_reason_word(kry_reason reason); /* never NULL */
/* The status that kry_solve returns where a solve ends for this reason. Of several columns each has a reason of its own. */
KRY_API kry_status kry_reason_status(kry_reason reason);

typedef struct kry_iteration {
    int64_t iteration; /* 0 is the initial residual */
    double residual;   /* ||b - A x||_2 as carried by the recurrence, units of b */
    double target;     /* that of kry_stop, units of b; 0 with KRY_STOP_NEVER */
    double seconds;    /* wall time since kry_solve was entered */
} kry_iteration;

/*
 * Called on the calling thread. Return 0 to go on, anything else to stop with KRY_STOPPED.
 *
 * With check_every = c > 0 it is called at iterations 0, c, 2c, ... with the device idle and x
 * at that very iterate. With check_every = 0 the device runs ahead, and it is called now and
 * then with the latest residual that is known.
 */
typedef int (*kry_monitor)(void *user, const kry_iteration *it);

/* Which residual ends a solve. */
typedef enum kry_stop_test {
    KRY_STOP_RESIDUAL, /* ||b - A x|| <= max(rtol ||b||, atol) */
    KRY_STOP_BACKWARD, /* ||b - A x|| <= max(rtol (||A|| ||x|| + ||b||), atol): x is the solution for
                          an A and a b that differ from the given ones by rtol, which is all that
                          rounding leaves of an ill-conditioned system. Judged whenever the residual
                          is computed from x, at the end on the x that is returned. ||A|| is estimated,
                          from below, by 8 products before the first solve and after each update of A;
                          ||x|| is that of x without the null space that is known; where the product of
                          both overflows ||b|| alone counts */
    KRY_STOP_NEVER /* none: the solve takes max_iter iterations and ends with KRY_ITERATIONS_DONE */
} kry_stop_test;

typedef struct kry_stop {
    double rtol;      /* relative to ||b||_2; default 1e-8 (double), 1e-5 (single), or 0 if
                            atol is given; values below the unit roundoff, and from 1 on, are
                            refused */
    double atol;      /* units of b; default 0 */
    int64_t max_iter; /* default 10 n, at least 100, at most 100000 */
    int64_t
        check_every;    /* the host reads the residual every so many iterations; default 0: as often
                            as costs no time. Only relaxations stop at multiples of it; elsewhere
                            counts and iterates do not depend on it */
    kry_stop_test test; /* default KRY_STOP_RESIDUAL */
} kry_stop;

/* Whether all iterations run in one persistent kernel, whose work-groups wait for each other. This is
 * for grids and stored matrices whose unknowns fit into the registers, with some preconditioners (docs/solvers.md); for
 * others the solver launches kernels for each step. */
typedef enum kry_resident {
    KRY_RESIDENT_AUTO, /* on GPUs, without check_every */
    KRY_RESIDENT_OFF,
    KRY_RESIDENT_ON /* on CPUs and with check_every, too */
} kry_resident;

/* The formula for beta. It decides whether M may change from step to step (KRY_VARYING). */
typedef enum kry_flexible {
    KRY_RIGID,        /* r'z / old r'z; an M that changes is refused */
    KRY_POLAK_RIBIERE /* max(0, (r - old r)'z / old r'z): M may change */
} kry_flexible;

/* How much of a matrix is checked before a Krylov method takes it: an entry that differs from its mirror image,
 * or for conjugate gradients a diagonal entry that is not positive, is named and refused. */
typedef enum kry_check {
    KRY_CHECK_CHEAP, /* the numbers that the host was given last, by kry_csr_create, kry_coo_create or
                        kry_op_update; of a wrapped matrix x'Ay, y'Ax and x'Ax for random x and y;
                        nothing of other operators */
    KRY_CHECK_NONE,
    KRY_CHECK_FULL /* the entries are read back and looked at; of other operators x'Ay, y'Ax and x'Ax
                      are compared for random x and y */
} kry_check;

typedef struct kry_pcg_params {
    size_t struct_size;
    const kry_op *precond;   /* M, about inverse(A), symmetric positive definite; NULL: identity */
    const kry_op *deflation; /* the second level, of kry_deflation_create for this A; NULL: none */
    kry_stop stop;
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;  /* borrowed */
    kry_resident resident;
    kry_flexible flexible; /* POLAK_RIBIERE costs a dot product and a launch more per step */
    kry_check check;
    int64_t
        guesses; /* 1 to 32: kry_solve adds to x, before it begins, what makes its residual least among the
                        corrections that this many solves before have found (docs/solvers.md), and keeps
                        2 n-vectors for each and one more; 0: x is what it begins with */
    /* lsqr, lsmr: above 1, end with KRY_ILL_CONDITIONED once the condition number of A N is estimated to be larger: x
     * has then what the data say of it, and not yet what rounding and noise say (1e8 in SciPy). 0: no limit */
    double conlim;
} kry_pcg_params;
#define KRY_PCG(...) KRY_PARAMS(kry_pcg_params, __VA_ARGS__)

/*
 * Conjugate gradients for A x = b, A and M symmetric positive definite; or A symmetric and singular
 * with a known null space (KRY_SINGULAR, kry_op_set_null_space). x is then orthogonal to the null
 * space, up to rounding (docs/deflation.md), and the result gives the size of b's part in it.
 *
 * A solve that breaks down or stagnates hands back the x of the least true residual that was computed:
 * of the guess, and of each x from which the method began anew. At the iteration limit x is the last one.
 *
 * All memory on the device is allocated here: 5 n-vectors, one more with a preconditioner, one more
 * for a singular A. Scalars stay on the device, and the host reads them a few iterations
 * later. docs/solvers.md has the words moved.
 *
 * Returns  KRY_ERR_SHAPE if A is not square or M has another size; KRY_ERR_TYPE if their number
 *          types differ, or M varies and the method is not flexible; KRY_ERR_ARGUMENT for tolerances
 *          that are negative, not finite, or below what the precision can give; KRY_ERR_UNSUPPORTED
 *          for an A that `check` sees to be of the wrong kind (message: which entry, and what to do);
 *          KRY_ERR_MEMORY.
 * Source   M. R. Hestenes, E. Stiefel, Methods of conjugate gradients for solving linear
 *          systems, J. Res. Nat. Bur. Standards 49 (1952).
 */
KRY_API KRY_MUST_CHECK kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params,
                                                 kry_op **solver);

/*
 * A solver by any Krylov method, with a preconditioner of the caller's
 *
 *   method  "cg", "pipe-cg", "block-cg", "cr", "minres"; for any square A "richardson", "direct", "bicgstab", "gmres", "fgmres", "idr", "tfqmr", with or without
 *           a number behind it, "gmres:60": docs/command-line.md lists them
 *           For A of any shape and rank "lsqr", "lsmr": the x of the least ||b - A x||; b has A's rows, x its columns
 *   params  NULL: the defaults. What M has to be, and whether there is deflation, depends on the method: for
 *           minres M is symmetric positive definite; for the methods for any A it is any operator, for fgmres it
 *           may vary; for lsqr and lsmr it is cols-by-cols and offers a transpose. `resident` and `flexible` are for
 *           conjugate gradients
 *
 * Allocates all memory on the device that solves need: docs/solvers.md has a table of the methods.
 *
 * Returns  KRY_ERR_PARSE for a method that there is not; KRY_ERR_UNSUPPORTED for a relaxation, deflation that the
 *          method does not take, or an A of a kind that it does not take (message: which entry, and what to take
 *          instead); else as kry_pcg_create.
 */
KRY_API KRY_MUST_CHECK kry_status kry_krylov_create(const kry_op *A, const char *method,
                                                    const kry_pcg_params *params, kry_op **solver);

/* In which order a relaxation updates the rows. */
typedef enum kry_relaxation_method {
    KRY_JACOBI_ITERATION, /* all rows at once; any operator with a diagonal */
    KRY_SOR               /* red rows, then black ones, in place; grid operators */
} kry_relaxation_method;

typedef struct kry_relaxation_params {
    size_t struct_size;
    kry_relaxation_method method;
    double omega;  /* weight of the correction, in (0, 2); default 1: Jacobi's and
                            Gauss-Seidel's iterations. For a Poisson problem of m unknowns across,
                            SOR is fastest with 2 / (1 + sin(pi / (m + 1))) */
    kry_stop stop; /* check_every: the residual is computed every so many sweeps, default 50; a
                            solve ends at a multiple of it, or at max_iter */
    kry_monitor monitor; /* called whenever the residual is computed; NULL: none */
    void *monitor_user;  /* borrowed */
} kry_relaxation_params;
#define KRY_RELAXATION(...) KRY_PARAMS(kry_relaxation_params, __VA_ARGS__)

/*
 * Relaxation as a solver: a baseline for Krylov methods, and a smoother.
 *
 *   params  NULL: Jacobi's iteration with the defaults
 *
 * Allocates one n-vector, and three more for Jacobi's iteration with stored matrices
 * (docs/solvers.md).
 *
 * Returns  KRY_ERR_SHAPE if A is not square; KRY_ERR_SINGULAR if it maps constants to zero or its
 *          diagonal has a zero; KRY_ERR_UNSUPPORTED if A offers no diagonal or no red-black sweep
 *          (SOR); KRY_ERR_ARGUMENT as kry_pcg_create.
 * Source   D. M. Young, Iterative solution of large linear systems (1971).
 */
KRY_API KRY_MUST_CHECK kry_status kry_relaxation_create(const kry_op *A,
                                                        const kry_relaxation_params *params,
                                                        kry_op **solver);

/* How a solve in mixed precision divides the work between single and double: enumerator, word. */
#define KRY_SCHEME_LIST(X)                                                                       \
    X(KRY_SCHEME_AUTO, "auto")           /* reliable; where that stalls flexible, then double */ \
    X(KRY_SCHEME_RELIABLE, "reliable")   /* reliable updates */                                  \
    X(KRY_SCHEME_FLEXIBLE, "flexible")   /* a flexible method around solves in single */         \
    X(KRY_SCHEME_CLASSICAL, "classical") /* iterative refinement */                              \
    X(KRY_SCHEME_DOUBLE, "double")       /* all in double: the last resort of AUTO */

typedef enum kry_scheme {
#define KRY_SCHEME_ENUM(name, word) name,
    KRY_SCHEME_LIST(KRY_SCHEME_ENUM)
#undef KRY_SCHEME_ENUM
} kry_scheme;

KRY_API const char *kry_scheme_word(kry_scheme scheme); /* never NULL */

/* Whether the matrix is scaled by powers of two, without rounding: here so that single can hold it; of other solvers
 * the word equilibrate of kry_solver_create. */
typedef enum kry_equilibrate {
    KRY_EQUILIBRATE_AUTO, /* if the diagonal is out of range; docs/precision.md */
    KRY_EQUILIBRATE_OFF,
    KRY_EQUILIBRATE_ON /* S A S, s_i about 1 / sqrt(a_ii), of regular stored matrices in assembled
                          form without deflation; this changes the iterates */
} kry_equilibrate;

/* A callback that makes an operator from A. The caller releases *made; NULL: there is none. */
typedef kry_status kry_maker(void *user, const kry_op *A, kry_op **made);

typedef struct kry_mixed_params {
    size_t struct_size;
    const char *options; /* of the solver in single, words of kry_solver_create: method, precond,
                             deflation, null-space, resident; NULL: plain CG */
    kry_scheme scheme;   /* default AUTO */
    int64_t inner;       /* flexible: iterations in single per step; default 25, or as many as
                             inner_rtol takes if that is given */
    double inner_rtol;   /* rtol of a solve in single; classical: default 1e-2 */
    double omega;        /* of a relaxation; default 1 */
    double delta;        /* reliable: the residual is computed in double when it has dropped to this
                          share; in (0, 1), default 0.1 */
    kry_equilibrate equilibrate;
    kry_stop stop;        /* of the whole; max_iter counts iterations in single and in double, but
                             where kry chooses it, those of each scheme of AUTO */
    kry_monitor monitor;  /* NULL: none. It must not read x, which is complete at the end only */
    void *monitor_user;   /* borrowed */
    kry_maker *precond;   /* NULL: by `options`. Called with the matrix in single; if a solve
                             continues in double, also with A */
    kry_maker *deflation; /* the same */
    void *make_user;      /* borrowed */
} kry_mixed_params;
#define KRY_MIXED(...) KRY_PARAMS(kry_mixed_params, __VA_ARGS__)

/*
 * Solve A x = b to the accuracy of double with iterations in single
 *
 *   A       in double: an operator that kry_op_convert can convert; or one that stays on the host
 *           (on_host of KRY_MATRIX and KRY_STENCIL), for devices without double, too: then the outer
 *           iteration runs there, with b and x of a solve
 *   params  NULL: the defaults
 *   solver  [out]  b and x are in double. kry_op_update(solver, NULL) after an update of A
 *
 * The residual b - A x in double decides about convergence. With scheme AUTO a solve that stalls, or
 * a matrix that single cannot hold, goes on with the next scheme, up to all in double; the result
 * says which and why.
 *
 * Storage  the matrix in single; 3 n doubles (4 n for a singular A); 2 n singles; the memory of the
 *          solver in single
 * Returns  KRY_ERR_TYPE if A is in single; KRY_ERR_ARGUMENT for parameters out of their range;
 *          KRY_ERR_UNSUPPORTED, not with AUTO, if single cannot hold an entry (message: which);
 *          KRY_ERR_PARSE; what the constructors of the solvers return.
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs, ICCS
 *          2009; High performance conjugate gradient solver on multi-GPU clusters using hypergraph
 *          partitioning, Comput. Sci. Res. Dev. 25 (2010). Others: docs/precision.md
 */
KRY_API KRY_MUST_CHECK kry_status kry_mixed_create(const kry_op *A, const kry_mixed_params *params,
                                                   kry_op **solver);

/*
 * A solver from a string, as the program and every binding take it:
 *     "method=pcg precond=block-ic:1024 rtol=1e-8 maxit=500"
 *
 *   options  words name=value separated by blanks; NULL or "": plain conjugate gradients with the
 *            defaults. kry_solver_word (words.h) lists the words with their meaning:
 *            method       one of the table in docs/solvers.md. cg; pcg: the same with a preconditioner as default, mg
 *                         on grids and else jacobi (kry_precond_default); pipe-cg: pipelined conjugate gradients, with
 *                         one reduction an iteration; block-cg: of several columns, in one space; cr: conjugate
 *                         residuals, for symmetric A that may be indefinite;
 *                         minres: MINRES, for the same, without a breakdown;
 *                         bicgstab, bicgstab:L: BiCGStab(L), L from 1 to 4, for any square A;
 *                         idr, idr:S: IDR(S), S from 1 to 16, for any square A;
 *                         tfqmr: transpose-free QMR, for any square A;
 *                         gmres, gmres:M, fgmres, fgmres:M: GMRES of M steps, 30 or as many as there is memory for,
 *                         for any square A; fgmres takes an M that varies;
 *                         lsqr, lsmr: least squares, for A of any shape;
 *                         auto: what suits the matrix, and where that fails the next that does (docs/choosing.md); with a
 *                         precond or deflation, if they are given;
 *                         direct: sparse factors on the host, and refinement: KRY_ERR_SINGULAR
 *                         names a row, KRY_ERR_MEMORY the bytes;
 *                         richardson: x += M (b - A x); mg: the same with multigrid for M; fmg: from the coarsest level up; jacobi, sor: kry_relaxation_create, with omega, without the next four
 *            precond      a word of kry_precond_create (precond.h)
 *            deflation    none, or a word of kry_deflation_parse (deflation.h)
 *            null-space   of a singular A: project, out of residuals and x, the default. All methods but
 *                         relaxations look at the entries of a matrix that is not known to be singular or
 *                         positive, as kry_op_find_null_space does: unconnected parts whose rows add up to
 *                         zero, and empty rows; none: they do not look
 *            reorder      none, or rcm: works with the rows and columns of a stored matrix in reverse
 *                         Cuthill-McKee order (docs/preconditioners.md); auto: where that pays
 *            equilibrate  on: works with rows and columns of a stored matrix scaled by powers of two
 *                         (docs/precision.md); auto, the default: with method auto or direct where norms of rows, or of
 *                         columns, differ by more than 1e8; off. With precision=mixed: kry_mixed_params.equilibrate
 *            resident     auto, off, on: kry_resident
 *            check        cheap, none, full: kry_check
 *            guess        none, or project, project:K: kry_pcg_params.guesses, K from 1 to 32 (8)
 *            rtol atol maxit check-every stop     kry_stop
 *            precision    mixed: kry_mixed_create, with scheme, inner, inner-rtol, delta and
 *                         equilibrate; else that of A
 *   monitor, monitor_user   NULL: none; borrowed
 *
 * Returns  KRY_ERR_PARSE naming the word, or what the constructors return.
 */
KRY_API KRY_MUST_CHECK kry_status kry_solver_create(const kry_op *A, const char *options,
                                                    kry_monitor monitor, void *monitor_user,
                                                    kry_op **solver);

/*
 * Let a monitor look on at all solves on a device, beside the monitors that their solvers were made with; it is called for the
 * outermost solve alone. A solve sees what is set when it looks at its residual, so call this between solves.
 *
 *   monitor, user  NULL: no longer; borrowed. On a team of ranks all set one, or none
 */
KRY_API void kry_device_set_monitor(kry_device *device, kry_monitor monitor, void *user);

/*
 * Other tolerances, and another limit, for the solves from now on: for Newton's method, say, whose
 * linear systems want a tolerance of their own each (docs/solvers.md).
 *
 *   stop  as for the constructor; 0 is the default again. check_every stays what it was: 0, or that
 *
 * Nothing else of the solver is made again, and no kernel is compiled. The history keeps its place.
 *
 * Returns  KRY_ERR_TYPE if it is no solver; KRY_ERR_ARGUMENT as the constructor, and for another
 *          check_every; KRY_ERR_UNSUPPORTED for KRY_STOP_NEVER in mixed precision; KRY_ERR_MEMORY. The
 *          old ones then stay.
 */
KRY_API KRY_MUST_CHECK kry_status kry_solver_set_stop(kry_op *solver, const kry_stop *stop);
/*
 * Tell the stopping criteria of a solver, as its constructor, or kry_solver_set_stop, was given them: to change one of them.
 *
 *   stop  [out]  rtol is the default where neither tolerance was given; max_iter is 0 where kry chooses it
 *
 * Returns  KRY_ERR_TYPE if it is no solver
 */
KRY_API KRY_MUST_CHECK kry_status kry_solver_get_stop(const kry_op *solver, kry_stop *stop);

/*
 * The preconditioner that a solver works with, to be described (kry_op_describe, kry_multigrid_level): of method=auto
 * that of the choice under way, in mixed precision that in single, on a team the first part's, with deflation
 * without the second level. Borrowed, until the solver is used again. NULL: there is none, or it is no solver.
 */
KRY_API const kry_op *kry_solver_precond(const kry_op *solver);
/* The second level of that preconditioner (kry/deflation.h). Borrowed, until the solver is used again. NULL: there is none, or
 * it is no solver. */
KRY_API const kry_op *kry_solver_deflation(const kry_op *solver);

/* A residual ||b - A x|| that a solve computed from x, units of b. */
typedef struct kry_true_residual {
    int64_t iteration;
    double residual;
} kry_true_residual;

/* The result of one of several columns; fields as in kry_result. */
typedef struct kry_column {
    /* KRY_NOT_SOLVED: the monitor had stopped the solve before */
    kry_reason reason;
    /* Iterations of columns that are solved at once are counted together: docs/in-programs.md. */
    int64_t iterations;
    double norm_b, target, residual, true_residual;
} kry_column;

/* The result of kry_solve. Residuals are 2-norms in units of b. Of several columns it is the result of the worst
 * one: the first that did not end with KRY_OK, else the one that took most iterations; `why` says which. */
struct kry_result {
    kry_reason reason;
    char why[400]; /* one sentence with the value that decided */
    int64_t iterations;
    int64_t resident_iterations; /* of them in a persistent kernel; see kry_resident */
    int restarts;                /* times the method began anew from the true residual */
    double norm_b;
    double target;        /* what the true residual had to meet, by kry_stop; 0: nothing */
    double residual;      /* that of the recurrence at the end */
    double true_residual; /* ||b - A x||, computed from the x that is returned; for a singular A
                             that of its part orthogonal to the null space, unless A x has a part
                             along it, too */
    double inconsistent;  /* norm of b's part in A's null space, which no x can remove; 0 for a
                             regular A. Converged: ||b - A x|| with this part meets the target */
    double
        setup_seconds; /* to make the solver, its preconditioner and its deflation, without A and without
                             compile_seconds */
    double solve_seconds; /* this kry_solve */
    /* Bytes that the iterations moved, by the words of docs/solvers.md; 0: not known. */
    double bytes;
    const double *history; /* residual of the recurrence at iteration 0, 1, ...; owned by the
                                solver, valid until its next solve or its release */
    int64_t history_count;
    int64_t history_every; /* iterations between two entries: 1, or a relaxation's check_every; the
                              last entry is that of the end */
    /* Only mixed precision fills these in; the history is then that of the last scheme. */
    kry_scheme scheme;         /* the last one; AUTO: not a solve in mixed precision */
    int64_t single_iterations; /* of `iterations`, in single */
    int64_t double_iterations; /* of `iterations`, in double */
    int64_t outer_iterations;  /* products with A in double outside of these */
    int promotions;            /* how often a slower scheme took over */
    char promoted_why[400];    /* one sentence on the last time; "": none did */
    /* Only a solve of several columns fills these in. `solve_seconds` and `bytes` are then those of all of them, and there is no
     * history. */
    int64_t columns; /* 0: b has one */
    const kry_column
        *column; /* [columns]; owned by the solver, valid until its next solve of several
                                 columns or its release */
    /* Only method=auto fills these in: the choice that ended the solve, and what was seen of A; else "". `promotions` counts the
     * choices that were left, and promoted_why says why the last one was. */
    char chosen[400];
    /* True residuals on the way, counted as in `history`: of the guess, of each x from which the method began
     * anew, and of the end. At most 64: where there were more the last one is the end's, and those
     * before it are left out. Owned as `history`; none of several columns. */
    const kry_true_residual *checks;
    int64_t check_count;
    /* Compiling kernels, or loading compiled ones, for this solve and, of a solver's first one, to make it; in neither
     * setup_seconds nor solve_seconds. */
    double compile_seconds;
    int64_t compiled; /* programs that the driver was given as source */
    /* Only a solver that scales rows and columns (equilibrate) fills these in: the largest norm of A's rows over the least, and that of
     * its columns; 0: A is taken as it is. History, `residual` and monitors are then those of the scaled system, times
     * ||b|| over its norm; true residuals are those of A. */
    double row_span, column_span;
    /* Only lsqr and lsmr fill these in: estimates of ||A N||, a Frobenius norm, and of the condition number of A N, N the preconditioner
     * from the right, by what the iterations have seen of A; else 0. */
    double norm_A, condition;
};

/* kry_solve and kry_solve_host for a `result` of as many bytes; kry.h says who calls them. */
KRY_API KRY_MUST_CHECK kry_status kry_solve_sized(const kry_op *solver, const kry_vec *b,
                                                  kry_vec *x, kry_result *result,
                                                  size_t result_size);
KRY_API KRY_MUST_CHECK kry_status kry_solve_host_sized(const kry_op *solver, const double *b,
                                                       double *x, kry_result *result,
                                                       size_t result_size);

/*
 * Solve A x = b with a solver (kry_pcg_create, kry_solver_create). Waits.
 *
 *   b       [in]      n-by-k, finite
 *   x       [in,out]  n-by-k, finite: the guesses on entry, the last iterates on return
 *   result  [out]     may be NULL
 *
 * Each column of b is a system of its own, with a target, a true residual and an end of its own (result->column);
 * the status is that of the worst.
 *
 * Returns  KRY_OK only if the true residual ||b - A x|| meets the target. KRY_NOT_CONVERGED,
 *          KRY_STOPPED, KRY_STAGNATED and KRY_BREAKDOWN leave the last iterate in x and the
 *          reason in the result. Negative: x is unchanged if an argument, or one column of several, was
 *          refused; if the device or a function of the caller's failed in the middle, x holds nothing of use.
 *          KRY_ERR_ARGUMENT, too, if the solver, its matrix or its preconditioner is at work for another
 *          thread (docs/devices.md), or the solver for the caller: its own monitor cannot solve with it.
 */
KRY_MUST_CHECK static inline kry_status kry_solve(const kry_op *solver, const kry_vec *b,
                                                  kry_vec *x, kry_result *result)
{
    return kry_solve_sized(solver, b, x, result, sizeof *result);
}

/* Solve with b and x as n numbers each on the host, in double; they are rounded for a solver in single.
 * Mixed precision on a device without double can only be called so, since it has no vectors in double.
 * Returns  also KRY_ERR_ARGUMENT for a number that is too large for single. */
KRY_MUST_CHECK static inline kry_status kry_solve_host(const kry_op *solver, const double *b,
                                                       double *x, kry_result *result)
{
    return kry_solve_host_sized(solver, b, x, result, sizeof *result);
}

#ifdef __cplusplus
}
#endif
#endif
