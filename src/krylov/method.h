/*
 * method.h - solvers around any method: restarts from the true residual, deflation, null spaces and pins exist once,
 * here; a method brings its recurrence, in a table and a state of its own.
 */
#ifndef KRY_METHOD_H
#define KRY_METHOD_H

#include "krylov/guess.h"
#include "krylov/residual.h"

/* What a cycle works on: from x and its residual r until something ends it, which it writes into
 * `stopping`. The numbers of r may be in another unit than b's: stopping->unit says which. */
typedef struct kry_cycle {
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
    kry_stopping *stopping;
    /* Several columns: nothing is left to do for this one; and the blocks whose columns the x and r of all cycles are,
     * in the first cycle of the array; else NULL. */
    bool over;
    kry_vec *X, *R;
} kry_cycle;

/* The block of all x, or x itself of one column; and that of r. */
static inline kry_vec *kry_cycle_x(const kry_cycle *c) { return c->X ? c->X : c->x; }
static inline kry_vec *kry_cycle_r(const kry_cycle *c) { return c->R ? c->R : c->r; }

/* Which A a method takes. */
typedef enum kry_takes {
    KRY_TAKES_SYMMETRIC, /* definite, indefinite or singular */
    KRY_TAKES_DEFINITE,  /* symmetric, with a diagonal that is positive */
    KRY_TAKES_ANY,       /* square */
    KRY_TAKES_RECTANGULAR /* any: b has its rows, x and a preconditioner from the right its columns */
} kry_takes;

/* check_matrix.c: refuse an A that is not of this kind, unless its numbers are those that were checked last.
 *   check    how closely A is inspected
 *   checked  [in,out] A's updates when it was checked last; -1: never */
kry_status kry_check_matrix(const char *who, const kry_op *A, kry_check check, kry_takes takes,
                            int64_t *checked);

/* What a solver is made of. */
typedef struct kry_setup {
    size_t struct_size; /* as kry_construct wants it */
    const struct kry_method *method;
    const kry_op *precond, *deflation; /* NULL: none */
    kry_stop stop;
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;
    bool varying;       /* a preconditioner that varies is taken */
    kry_check check;    /* of A, which was done */
    int64_t width;      /* the number behind the method's word; 0: the default */
    int64_t guesses;    /* earlier solutions that a solve starts from; 0: none */
    const void *params; /* the method's own; NULL: the defaults */
} kry_setup;

typedef struct kry_krylov kry_krylov;

/* A method. `self` is what create made. */
typedef struct kry_method kry_method;
struct kry_method {
    const char *kind; /* of the operator: "pcg" */
    const char *who;  /* public constructor, in messages */
    bool deflates;    /* takes deflation */
    bool flexible;    /* takes a preconditioner that varies */
    bool by_request;  /* is flexible only if it is asked to be */
    bool minds_scale; /* takes other steps with a multiple of M */
    bool projects;    /* knows about null spaces */
    /* Ends with KRY_END_MATRIX where A may be singular, and finds out in a solve with one column. */
    bool finds_null;
    bool uses_rhs;  /* reads b in its cycles */
    bool continues; /* can go on along the direction of its last cycle */
    kry_takes takes;
    /* The number behind the method's word, as in "gmres:30": what it is called, from 1 to `most`; 0: it has none. */
    struct {
        const char *name;
        int64_t most;
    } width;
    /* What KRY_END_PRECOND and KRY_END_MATRIX mean; no_precond: KRY_END_PRECOND where the caller gave none. */
    kry_breakdown precond, matrix, no_precond;

    /* Everything that cycles need: they allocate nothing on the device. K has the operators. NULL: create_columns
     * with one column serves. */
    kry_status (*create)(kry_krylov *K, const kry_setup *setup, void **self);
    /* Iterations until the goal, the limit, the monitor or a breakdown ends them. c: an array of as many as
     * `self` has columns. */
    kry_status (*cycle)(void *self, kry_cycle *c);
    /* Least squares: what kry_stopping.gradient is for r = b - A x of this norm, between cycles; NULL: infinite. */
    kry_status (*gradient)(void *self, const kry_vec *r, double norm, double *gradient);
    /* Bytes moved by an iteration, by the model; 0: not known. */
    double (*bytes)(const void *self);
    /* The operators have new values; NULL: nothing to do. */
    kry_status (*update)(void *self);
    /* NULL: the kind alone. */
    void (*describe)(const void *self, kry_op_info *info);
    void (*destroy)(void *self);

    /* A `self` whose cycles are of several columns at once; K->self is that of one. NULL: there is none.
     * Returns KRY_ERR_UNSUPPORTED for a K that has to take them one after the other. */
    kry_status (*create_columns)(kry_krylov *K, int columns, void **self);

    /* Of refinement, whose x lies in several places; else NULL. x := x + Q r, if there is something to
     * start from (*moved); and whether the x that a cycle has come to is taken (norm: its residual,
     * infinite if not). */
    kry_status (*start)(void *self, kry_cycle *c, bool first, bool *moved);
    void (*accept)(void *self, kry_cycle *c, double *norm);
};

/* What is behind a solver. */
struct kry_krylov {
    const kry_method *method;
    void *self;
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
    int64_t checked;  /* A's updates when kry_check_matrix took it */
    int64_t measured; /* A's updates when ||A|| was estimated; -1: it never was */
    kry_stopping stopping;
    kry_residual residual;
    kry_guess *guess; /* NULL: a solve starts from the caller's x */
    kry_vec *r;       /* as b */
    /* The x of the least true residual that a cycle began with; NULL: the method keeps its own. */
    kry_vec *best;
    double best_residual;
    double guess_residual;       /* true residual of the x that a solve began with */
    struct kry_columns *columns; /* owned; NULL: several columns were not asked for yet */
    char text[400];              /* for kry_op_describe */
};

/* method.c: what all solvers have in common; each has a copy with the kind of its method. */
extern const kry_op_table kry_krylov_table;
void kry_krylov_destroy(void *self);
/* A solver for an A that setup->method takes; on a team, one on each part. */
kry_status kry_krylov_make(const kry_op *A, kry_setup setup, kry_op **solver);
/* A solver by parameters of conjugate gradients, for methods that take a preconditioner.
 *   width  the number of kry_method.width; 0: the default */
kry_status kry_method_create(const kry_method *method, const kry_op *A,
                             const kry_pcg_params *params, int64_t width, kry_op **solver);
/* Refuse a stopping test that is not one of the method's. */
kry_status kry_method_check_stop(const char *who, const kry_method *method, const kry_stop *stop);
/* What is behind a solver that was made here; NULL: op is none. */
kry_krylov *kry_krylov_of(const kry_op *op);
/* The innermost solver of one that reorders, chooses, or works in mixed precision, on a team that of the first device;
 * NULL: there is none. */
const kry_krylov *kry_solver_krylov(const kry_op *solver);
/* What a solve that others lead differs in. */
typedef struct kry_terms {
    int64_t max_iter; /* 0: the solver's own */
    bool inner;       /* a part of another solve, which the observer looks at */
} kry_terms;
/* kry_solver_set_stop. On failure the old one stays. */
kry_status kry_krylov_set_stop(kry_krylov *K, const kry_stop *stop);
/* Bytes of so many products with A and M, and of so many words per unknown; 0: not known. */
double kry_krylov_bytes(const kry_krylov *K, double products, double words);
/* y := A M x, where M is preconditioner from the right; t: room, not used without M. */
kry_status kry_krylov_multiply(const kry_krylov *K, const kry_vec *x, kry_vec *t, kry_vec *y);
/* x := x + M y,  y := 0; t: room. No work without M, where y is x. */
kry_status kry_krylov_add(const kry_krylov *K, kry_vec *y, kry_vec *t, kry_vec *x);
/* What K works with: preconditioner and deflation. Returns text. */
const char *kry_krylov_text(const kry_krylov *K, char *text, size_t size);
kry_status kry_krylov_solve(kry_krylov *K, const kry_vec *b, kry_vec *x, const kry_terms *terms,
                            kry_result *res);
/* After a solve that failed: the verdict on an x of before, which takes the place of the one that K came to. Waits. */
kry_status kry_krylov_verdict(kry_krylov *K, const kry_vec *b, const kry_vec *x, kry_result *res);

/* Solves of all columns of b at once, what became of each in res[j]. *done false: K takes them one after the
 * other, and nothing has happened. */
kry_status kry_krylov_solve_columns(kry_krylov *K, const kry_vec *b, kry_vec *x, kry_result *res,
                                    bool *done);
void kry_columns_release(kry_krylov *K);

/* y := alpha solve(x) + beta y, from a zero guess: what makes a solver an operator. Returns the status of
 * the solve. `solve` is a part
 * of whatever applies it. */
typedef kry_status kry_solve_within(void *self, const kry_vec *b, kry_vec *x, kry_result *res);
typedef struct kry_scaling {
    double alpha, beta;
} kry_scaling;
kry_status kry_apply_by_solve(kry_solve_within *solve, void *self, const kry_scaling *by,
                              const kry_vec *x, kry_vec *y);

/* A part of another solve: from x = 0, or what kry_krylov_start left there, and the residual c->r, which it may
 * overwrite, a correction x whose residual meets c->goal. The iterations are written into c->stopping.
 *   deflates  x is zero, and deflation, if there is any, begins and ends with the coarse solution
 *   bytes     [out] moved, by the model */
kry_status kry_krylov_correct(kry_krylov *K, kry_cycle *c, bool deflates, double *bytes);
/* A cycle has seen that A maps v, of norm 1 and orthogonal to what was known, to zero: x goes without it from now on,
 * and residuals do from the next cycle on. Waits. */
kry_status kry_krylov_add_null(kry_krylov *K, const kry_cycle *c, const kry_vec *v);
/* x := Q r where K deflates: the start that its cycles want, and with DEF1 (`first` false) their end.
 * *moved: whether there was anything to do. */
kry_status kry_krylov_start(kry_krylov *K, bool first, const kry_vec *r, kry_vec *x, bool *moved);

/* methods.c: method number i of KRY_METHOD_LIST; NULL: there is none. */
const kry_method *kry_method_number(int i);
extern const kry_method kry_pcg_method;

#endif
