/*
 * options.h - what an option string says, and solvers made of it.
 */
#ifndef KRY_OPTIONS_H
#define KRY_OPTIONS_H

#include "krylov/methods.h"
#include "operator/op.h"
#include "precond/deflation.h"
#include <kry/solver.h>

/* The choices of words, in the order in which option_words.c lists them. */
typedef enum kryi_null_space_word {
    KRY_NULL_SPACE_PROJECT,
    KRY_NULL_SPACE_NONE
} kryi_null_space_word;
typedef enum kryi_reorder { KRY_REORDER_NONE, KRY_REORDER_RCM, KRY_REORDER_AUTO } kryi_reorder;
typedef enum kryi_precision {
    KRY_PRECISION_SINGLE,
    KRY_PRECISION_DOUBLE,
    KRY_PRECISION_MIXED
} kryi_precision;

/* Beside the numbers of Krylov methods (methods.h): the relaxations, and the choice by a look at the matrix. */
enum { KRY_METHOD_JACOBI = KRY_METHOD_COUNT, KRY_METHOD_SOR, KRY_METHOD_AUTO };

typedef struct kryi_options {
    unsigned given; /* bit i: word number i of kry_solver_word */
    int method;     /* its place in the form of the word "method"; 0: conjugate gradients */
    int64_t width;  /* the number behind it; 0: none */
    char precond[KRY_FIELD_ROOM], deflation[KRY_FIELD_ROOM]; /* "": not given */
    kryi_null_space_word null_space;
    kryi_reorder reorder;
    kryi_precision precision;
    kry_pcg_params pcg; /* but for the operators in it, which are made */
    /* precision=mixed, but for `stop` and the monitor, which are those of pcg. Its makers stand in place of words, where
     * they are given; omega is a relaxation's, equilibrate that of all solvers. */
    kry_mixed_params mixed;
    const kryi_subdomains
        *subdomains; /* on a part of a team: what `deflation` says for all; borrowed */
} kryi_options;

/* Who takes a word: Krylov methods, relaxations, mixed precision, the solver in single inside of it. */
enum { KRY_OF_KRYLOV = 1, KRY_OF_RELAXATION = 2, KRY_OF_MIXED = 4, KRY_OF_INNER = 8 };
/* The fields of kry_pcg_params, kry_relaxation_params, kry_mixed_params and kryi_options. */
extern const kryi_field kryi_pcg_fields[], kryi_relaxation_fields[], kryi_mixed_fields[],
    kryi_options_fields[];

/* ---- option_words.c ---- */

/* Add what `text` says to *o. */
kry_status kryi_options_parse(const char *text, kryi_options *o);
/* Add what `text`, kry_mixed_params.options, says to *o: it has words of the inner solver only. */
kry_status kryi_options_parse_inner(const char *text, kryi_options *o);
/* The first word given that is of none of these; NULL: all are. */
const char *kryi_options_stray(const kryi_options *o, unsigned of);
/* Is the method a relaxation? */
static inline bool kryi_options_relax(const kryi_options *o)
{
    return o->method == KRY_METHOD_JACOBI || o->method == KRY_METHOD_SOR;
}
/* Is it auto's to choose? */
static inline bool kryi_options_choose(const kryi_options *o)
{
    return o->method == KRY_METHOD_AUTO;
}

/* ---- solver_create.c ---- */

/* Makes a solver for A: all that the options say. */
typedef kry_status (*kryi_solver_maker)(const kry_op *A, const kryi_options *o, kry_op **solver);

/* ---- options.c ---- */

/* Whether the words that are given go with the method.
 * Returns  KRY_ERR_PARSE if one does not */
kry_status kryi_options_check(const kryi_options *o);
/* A solver for A by the method of the options, which is not auto, in A's own precision whatever they say of it. */
kry_status kryi_options_solver(const kry_op *A, const kryi_options *o, kry_op **solver);
/* Is there deflation, by a maker or by words? */
bool kryi_options_deflate(const kryi_options *o);
/* The parameters of the latter; `room` outlives them. */
kry_status kryi_options_deflation(const kryi_options *o, char *room, size_t size,
                                  kry_deflation_params *params);
/* Whether the solver looks at A's entries for what they map to zero; relaxations do not. */
bool kryi_options_find_null(const kryi_options *o);
/* mixed.c: precision=mixed. */
kry_status kryi_options_mixed(const kry_op *A, const kryi_options *o, kry_op **solver);

#endif
