/*
 * options.h - what an option string says, and solvers made of it.
 */
#ifndef KRY_OPTIONS_H
#define KRY_OPTIONS_H

#include "operator/op.h"
#include "precond/deflation.h"
#include <kry/solver.h>

/* The choices of words, in the order in which options.c lists them. */
typedef enum kry_null_space_word { KRY_NULL_SPACE_PROJECT, KRY_NULL_SPACE_PIN } kry_null_space_word;
typedef enum kry_reorder { KRY_REORDER_NONE, KRY_REORDER_RCM, KRY_REORDER_AUTO } kry_reorder;
typedef enum kry_precision {
    KRY_PRECISION_SINGLE,
    KRY_PRECISION_DOUBLE,
    KRY_PRECISION_MIXED
} kry_precision;

typedef struct kry_options {
    unsigned given; /* bit i: word number i of kry_solver_word */
    int method;     /* its place in the form of the word "method"; 0: conjugate gradients */
    int64_t width;  /* the number behind it; 0: none */
    char precond[128], deflation[256]; /* "": not given */
    kry_resident resident;
    kry_check check;
    kry_null_space_word null_space;
    kry_reorder reorder;
    int64_t guesses; /* 0: none */
    double omega;    /* 0: not given */
    kry_stop stop;
    /* of precision=mixed */
    kry_precision precision;
    kry_scheme scheme;
    kry_equilibrate equilibrate;
    int64_t inner;
    double inner_rtol, delta;
    /* in place of words, where they are given */
    struct {
        kry_maker *precond, *deflation;
        void *user;
    } make;
    const kry_subdomains
        *subdomains;     /* on a part of a team: what `deflation` says for all; borrowed */
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;
} kry_options;

/* Add what `text` says to *o. */
kry_status kry_options_parse(const char *text, kry_options *o);
/* The same of kry_mixed_params.options, which take words of the inner solver only. */
kry_status kry_options_parse_inner(const char *text, kry_options *o);
/* In a public call: ranks whose options say something else are told. */
void kry_options_same(const kry_device *device, const kry_options *o);
/* A solver for A: all that the options say. */
kry_status kry_options_make(const kry_op *A, const kry_options *o, kry_op **solver);
/* A solver for A, in A's own precision whatever the options say of it. */
kry_status kry_options_solver(const kry_op *A, const kry_options *o, kry_op **solver);
/* Is there deflation, by a maker or by words? */
bool kry_options_deflate(const kry_options *o);
/* The parameters of the latter; `room` outlives them. */
kry_status kry_options_deflation(const kry_options *o, char *room, size_t size,
                                 kry_deflation_params *params);
/* What is solved with: A, or A with its first unknown pinned. */
kry_status kry_options_system(const kry_op *A, const kry_options *o, kry_op **system);
/* Is the method a relaxation? */
bool kry_options_relax(const kry_options *o);
/* Is it auto's to choose? */
bool kry_options_choose(const kry_options *o);
/* mixed.c: precision=mixed. */
kry_status kry_options_mixed(const kry_op *A, const kry_options *o, kry_op **solver);

#endif
