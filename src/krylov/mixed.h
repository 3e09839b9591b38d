/*
 * mixed.h - what is kept in double around a solver in single: x, and who knows the residual.
 */
#ifndef KRY_MIXED_INTERNAL_H
#define KRY_MIXED_INTERNAL_H

#include "krylov/options.h"
#include "krylov/stop.h"

/* ---- equilibrate.c: the matrix in single is factor S A S ---- */

typedef struct kry_equilibrium {
    double factor; /* a power of two */
    double *scale; /* n powers of two; owned; NULL: S is the identity */
} kry_equilibrium;

/* Find them from A's diagonal; `diagonally`: S may differ from row to row. Waits. */
kry_status kry_equilibrium_find(const kry_op *A, kry_equilibrate how, bool diagonally,
                                kry_equilibrium *e);
void kry_equilibrium_release(kry_equilibrium *e);

/* ---- the outside ---- */

/* b and x of a solve: on the device, or on the host. */
typedef struct kry_ends {
    const kry_vec *b;
    kry_vec *x;
    const double *host_b;
    double *host_x;
} kry_ends;

/* What is solved inside: by a solver in single, from residuals that the outside gives it. */
typedef struct kry_inside {
    kry_op *system, *solver; /* in single; retained */
    kry_watch *watch;        /* the solver's */
    kry_vec *rhs, *x;        /* n in single; x is zero between solves */
    bool deflated;           /* the solver asks for residuals of its own */
    int64_t most;            /* iterations of a solve inside a flexible method; 0: as it takes */
    double rtol;             /* what it leaves; 0: nothing */
    int64_t iterations;      /* of this solve so far, counted here; and what they moved */
    double bytes;
} kry_inside;

typedef struct kry_outer kry_outer;
typedef struct kry_outer_table {
    /* A solve begins: x is taken over, norm_b and inconsistent are known. */
    kry_status (*begin)(kry_outer *O, const kry_ends *ends);
    /* Go on with the x that is there, by a flexible method around solves inside, or without. */
    kry_status (*flexible)(kry_outer *O, const kry_stop *stop, kry_result *res);
    kry_status (*plain)(kry_outer *O, const kry_stop *stop, kry_result *res);
    /* A's null space goes out of x, unless that costs digits. */
    kry_status (*centre)(kry_outer *O, kry_result *res);
    kry_status (*end)(kry_outer *O, const kry_ends *ends);
    kry_status (*update)(kry_outer *O); /* A has new values */
    void (*destroy)(kry_outer *O);
} kry_outer_table;

struct kry_outer {
    kry_truth truth; /* first: of reliable updates and of classical refinement */
    const kry_outer_table *table;
    const kry_op *A, *system; /* in double, A and what is solved with; borrowed */
    const kry_options *options;
    kry_inside *inside; /* borrowed; NULL: there is nothing in single */
    kry_equilibrium e;  /* borrowed: what the inside's system is scaled by */
    kry_flexible beta;
    bool pinned;         /* host: the first unknown of `A` is */
    kry_monitor monitor; /* of the flexible and the plain method */
    void *monitor_user;
    double norm_b, inconsistent, target; /* as in kry_result */
    double least;                        /* true residual of the x that is kept */
    int64_t products;                    /* in double, outside of the plain method */
};

/* A truth that has told norm: norms r and S r of the residual; scale and unit follow. */
void kry_truth_scale(kry_truth *T, double norm, double scaled_norm);
/* Whether the x with this residual takes the place of the one before. */
bool kry_outer_accepts(kry_outer *O, double norm);
/* The same of a method in double that has ended; if not, its result tells of the x that stays. */
bool kry_outer_takes(kry_outer *O, kry_result *res);
/* One solve inside for the rhs that is there, which `outside` has scaled: x from zero, one cycle.
 */
kry_status kry_inside_solve(kry_inside *I, const kry_truth *outside);

/* mixed_device.c */
/* With what `like` has filled in; flexible: its method is needed for certain. */
kry_status kry_outer_host(const kry_outer *like, const kry_stop *stop, bool flexible,
                          kry_outer **O);
kry_status kry_outer_device(const kry_outer *like, const kry_stop *stop, bool flexible,
                            kry_outer **O);

#endif
