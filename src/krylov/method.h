/*
 * method.h - solvers around any method: restarts from the true residual, deflation, null spaces and pins exist once,
 * here; a method brings its recurrence, in a table and a state of its own.
 */
#ifndef KRY_METHOD_H
#define KRY_METHOD_H

#include "krylov/guess.h"
#include "krylov/residual.h"

/* A cycle works on this: from x and its residual r until something ends it, which it writes into
 * `progress`. The numbers of r may be in another unit than b's: progress->unit says which. */
typedef struct kryi_cycle {
    const kry_vec *b; /* right-hand side, for methods with `uses_rhs`; it may be NULL for others */
    kry_vec *x;       /* [in,out] */
    kry_vec *r;       /* [in] b - A x; the cycle may overwrite it */
    double norm;      /* ||r|| */
    double goal;      /* the cycle ends when ||r|| <= goal */
    /* The next cycle may go on along the direction that this one ends with. */
    bool keeps_direction;
    /* This cycle goes on along the direction of the last one, which was in units unit_ratio times those of r. */
    bool goes_on;
    double unit_ratio;
    kryi_progress *progress;
    /* Methods with `finds_null`: end with KRY_END_MATRIX when ||A M r|| <= ask ||A M|| ||r||, by the recurrence; 0: never. */
    double ask;
    /* Several columns: nothing is left to do for this one; and the blocks whose columns the x and r of all cycles are,
     * in the first cycle of the array; else NULL. */
    bool over;
    kry_vec *X, *R;
} kryi_cycle;

/* The block of all x, or x itself of one column; and that of r. */
static inline kry_vec *kryi_cycle_x(const kryi_cycle *c) { return c->X ? c->X : c->x; }
static inline kry_vec *kryi_cycle_r(const kryi_cycle *c) { return c->R ? c->R : c->r; }

/* Which A a method takes. */
typedef enum kryi_takes {
    KRY_TAKES_SYMMETRIC, /* definite, indefinite or singular */
    KRY_TAKES_DEFINITE,  /* symmetric, with a diagonal that is positive */
    KRY_TAKES_ANY,       /* square */
    KRY_TAKES_RECTANGULAR /* any: b has its rows, x and a preconditioner from the right its columns */
} kryi_takes;

/* Whether a method takes a preconditioner that varies. */
typedef enum kryi_flexibility {
    KRY_NOT_FLEXIBLE,
    KRY_FLEXIBLE_IF_ASKED,
    KRY_FLEXIBLE
} kryi_flexibility;

/* check_matrix.c: refuse an A that is not of this kind, unless its numbers are those that were checked last.
 *   check    how closely A is inspected
 *   checked  [in,out] A's updates when it was checked last; -1: never */
kry_status kryi_check_matrix(const char *who, const kry_op *A, kry_check check, kryi_takes takes,
                             int64_t *checked);

/* A solver is made of these. */
typedef struct kryi_setup {
    const struct kryi_method *method;
    const kry_op *precond, *deflation; /* NULL: none */
    kry_stop stop;
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;
    bool varying;       /* a preconditioner that varies is taken */
    kry_check check;    /* of A, which was done */
    int64_t width;      /* the number behind the method's word; 0: the default */
    int64_t guesses;    /* earlier solutions that a solve starts from; 0: none */
    const void *params; /* the method's own */
} kryi_setup;

typedef struct kryi_krylov kryi_krylov;

/* A method. `self` is its state, which begins with a kryi_workspace. */
typedef struct kryi_method kryi_method;
struct kryi_method {
    const char *kind; /* of the operator: "pcg" */
    const char *who;  /* public constructor, in messages */
    bool deflates;    /* takes deflation */
    kryi_flexibility flexible;
    bool minds_scale;        /* takes other steps with a multiple of M */
    bool ignores_null_space; /* leaves in r and x what lies along it */
    /* Ends cycles with KRY_END_MATRIX as kryi_cycle.ask says, for kryi_krylov_find_null. */
    bool finds_null;
    bool uses_rhs;  /* reads b in its cycles */
    bool continues; /* can go on along the direction of its last cycle */
    /* The host computes each residual and ends cycles by kryi_progress_test: there is no stop flag to poll. */
    bool tests_on_host;
    kryi_takes takes;
    /* The number behind the method's word, as in "gmres:30": what it is called, from 1 to `most` (0: there is none);
     * `usual` where it is left out (0: `create` chooses it). */
    struct {
        const char *name;
        int64_t usual, most;
    } width;
    /* The meaning of KRY_END_PRECOND and KRY_END_MATRIX; no_precond: that of KRY_END_PRECOND where the caller gave no
     * preconditioner, if it is another. */
    kryi_breakdown precond, matrix, no_precond;

    size_t size; /* bytes of a state */
    /* Everything that cycles need: they allocate nothing on the device. `self` is zero behind its workspace, whose K
     * has the operators and parameters. */
    kry_status (*create)(void *self);
    /* Iterations until the goal, the limit, the monitor or a breakdown ends them. c: an array of as many as
     * `self` has columns. */
    kry_status (*cycle)(void *self, kryi_cycle *c);
    /* Least squares: what kryi_stopping.gradient is for r = b - A x of this norm, between cycles; NULL: infinite. */
    kry_status (*gradient)(void *self, const kry_vec *r, double norm, double *gradient);
    /* Bytes moved by an iteration, by the model; 0: not known. */
    double (*bytes)(const void *self);
    /* The operators have new values; NULL: nothing to do. */
    kry_status (*update)(void *self);
    /* NULL: the kind alone. */
    void (*describe)(const void *self, kry_op_info *info);
    /* Release what is not the workspace's; NULL: nothing is. */
    void (*destroy)(void *self);

    /* Columns that a state may have, at most; 0: one. */
    int most_columns;
    /* Whether K gains from a state of this many columns, where it could take them one after the other; NULL: it does. */
    bool (*gains)(const kryi_krylov *K, int columns);

    /* Refinement has these, for its x lies in several places; else NULL. start: x := x + Q r, if there is something to
     * start from (*moved); accept: whether the x that a cycle has come to is taken (norm: its residual,
     * infinite if not). */
    kry_status (*start)(void *self, kryi_cycle *c, bool first, bool *moved);
    void (*accept)(void *self, kryi_cycle *c, double *norm);
};

/* Breakdowns of methods for a definite A or M. */
#define KRY_M_IS_INDEFINITE(quantity)                                             \
    {                                                                             \
        quantity, "is not positive: the preconditioner is not positive definite", \
            KRY_INDEFINITE_PRECOND                                                \
    }
#define KRY_A_IS_INDEFINITE(quantity)                                   \
    {                                                                   \
        quantity,                                                       \
            "is not positive: the matrix is not positive definite, or " \
            "too ill-conditioned for this precision",                   \
            KRY_INDEFINITE_MATRIX                                       \
    }

/* A solve that is a part of another one differs in these. */
typedef struct kryi_terms {
    int64_t max_iter; /* 0: the solver's own */
    bool inner;       /* a part of another solve, which the monitor of the device looks at */
} kryi_terms;

/* The state of a solver: `self` of its operator. */
struct kryi_krylov {
    const kryi_method *method;
    void *self;         /* the method's state, for cycles of one column */
    const void *params; /* kryi_setup.params while `self` is made, then NULL */
    kry_op_table table; /* of the operator, with the method's kind */
    kry_op *A;          /* retained */
    kry_op
        *first; /* retained: the preconditioner without deflation; NULL: none, or it only scales */
    kry_op *deflation; /* retained; NULL: none */
    /* Retained: what cycles multiply by in place of A and of M, one of them with deflation as the second level. M NULL:
     * the identity. */
    kry_op *product, *M;
    int64_t width; /* method->width; 0: none */
    const char
        *left_out; /* the kind of a preconditioner that only scales; NULL: none is left out */
    kry_check check;
    int64_t checked;  /* A's updates when kryi_check_matrix took it */
    int64_t measured; /* A's updates when ||A|| was estimated; -1: it never was */
    kryi_stopping stopping;
    kryi_residual residual;
    kryi_guess *guess; /* NULL: a solve starts from the caller's x */
    kry_vec *r;        /* as b */
    /* The x of the least true residual that a cycle began with; NULL: the method keeps its own. */
    kry_vec *best;
    double best_residual;
    double guess_residual;        /* true residual of the x that a solve began with */
    struct kryi_columns *columns; /* owned; NULL: several columns were not asked for yet */
    char text[400];               /* for kry_op_describe */
};

/* method.c: what all solvers have in common; each has a copy with the kind of its method. */
extern const kry_op_table kryi_krylov_table;
extern const kryi_op_fused kryi_krylov_fused;
void kryi_krylov_destroy(void *self);
/* A solver for an A that setup->method takes; on a team, one on each part. */
kry_status kryi_krylov_make(const kry_op *A, kryi_setup setup, kry_op **solver);
/* A solver by parameters of conjugate gradients, for methods that take a preconditioner.
 *   width  the number of kryi_method.width; 0: the default */
kry_status kryi_method_create(const kryi_method *method, const kry_op *A,
                              const kry_pcg_params *params, int64_t width, kry_op **solver);
/* Refuse a stopping test that is not one of the method's. */
kry_status kryi_method_check_stop(const char *who, const kryi_method *method, const kry_stop *stop);
/* The kryi_krylov behind a solver that was made here; NULL: op is none. */
kryi_krylov *kryi_krylov_of(const kry_op *op);
/* kry_solver_set_stop. On failure the old one stays. */
kry_status kryi_krylov_set_stop(kryi_krylov *K, const kry_stop *stop);
/* Bytes of so many products with A and M, and of so many words per unknown; 0: not known. */
double kryi_krylov_bytes(const kryi_krylov *K, double products, double words);
/* The power of two that numbers of about this size are multiplied by, so that sums of their squares neither overflow nor
 * vanish: 1 unless they are extreme. */
double kryi_krylov_unit(kry_type type, double size);
/* x := x + z,  r := r - A z. residual: ||r||. Waits. */
kry_status kryi_krylov_take_step(const kryi_krylov *K, const kryi_cycle *c, const kry_vec *z,
                                 kry_sum *rr, double *residual);
/* y := A M x, where M is preconditioner from the right; t: room, not used without M. */
kry_status kryi_krylov_multiply(const kryi_krylov *K, const kry_vec *x, kry_vec *t, kry_vec *y);
/* x := x + M y,  y := 0; t: room. No work without M, where y is x. */
kry_status kryi_krylov_add(const kryi_krylov *K, kry_vec *y, kry_vec *t, kry_vec *x);
/* Describe K's preconditioner and deflation. Returns text. */
const char *kryi_krylov_text(const kryi_krylov *K, char *text, size_t size);
/* Solve A x = b from x. Returns a positive status if it ends without a solution. */
kry_status kryi_krylov_solve(kryi_krylov *K, const kryi_terms *terms, const kry_vec *b, kry_vec *x,
                             kry_result *res);
/* After a solve that failed: the verdict on an x of before, which takes the place of the one that K came to. Waits. */
kry_status kryi_krylov_verdict(kryi_krylov *K, const kry_vec *b, const kry_vec *x, kry_result *res);

/* Solves of all columns of b at once, what became of each in res[j]. *done false: K takes them one after the
 * other, and nothing has happened. */
kry_status kryi_krylov_solve_columns(kryi_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                     bool *done);
void kryi_columns_release(kryi_krylov *K);

/* y := alpha solve(x) + beta y, from a zero guess: what makes a solver an operator. `solve` is a part of whatever applies
 * it. Returns the status of the solve. */
typedef kry_status kryi_solve_within(void *self, const kry_vec *b, kry_vec *x, kry_result *res);
kry_status kryi_apply_by_solve(kryi_solve_within *solve, void *self, double alpha, const kry_vec *x,
                               double beta, kry_vec *y);

/* A part of another solve: from x = 0, or what kryi_krylov_start left there, and the residual c->r, which it may
 * overwrite, a correction x whose residual meets c->goal. The iterations are written into c->progress.
 *   deflates  x is zero, and deflation, if there is any, begins and ends with the coarse solution
 *   bytes     [out] moved, by the model */
kry_status kryi_krylov_correct(kryi_krylov *K, kryi_cycle *c, bool deflates, double *bytes);
/* find_null.c: kryi_cycle.ask for the first cycle of a solve. */
double kryi_krylov_ask(const kryi_krylov *K);
/* Where a cycle has ended because of c->ask: a vector that A maps to zero is taken out of x, and out of residuals from
 * the next cycle on; or there is none, and later cycles ask for much less. The iterations of the search count. Waits. */
kry_status kryi_krylov_find_null(kryi_krylov *K, kryi_cycle *c);
/* x := Q r where K deflates: the start that its cycles want, and with DEF1 (`first` false) their end.
 * *moved: whether there was anything to do. */
kry_status kryi_krylov_start(kryi_krylov *K, bool first, const kry_vec *r, kry_vec *x, bool *moved);

/* methods.c: method number i of KRY_METHOD_LIST; NULL: there is none. */
const kryi_method *kryi_method_number(int i);
extern const kryi_method kryi_pcg_method;

#endif
