/*
 * options.h - what an option string says, and solvers made of it.
 */
#ifndef KRY_OPTIONS_H
#define KRY_OPTIONS_H

#include "operator/op.h"
#include "precond/deflation.h"
#include <kry/solver.h>

typedef struct kry_options {
    char method[32], precond[32], resident[32], null_space[32], deflation[256];
    double omega; /* 0: not given */
    kry_stop stop;
    /* of precision=mixed */
    char precision[32], scheme[32], equilibrate[32];
    kry_equilibrate equilibrate_how;
    int64_t inner;
    double inner_rtol, delta;
    /* in place of words, where they are given */
    kry_maker *make_precond, *make_deflation;
    void *make_user;
    const kry_subdomains
        *subdomains;     /* on a part of a team: what `deflation` says for all; borrowed */
    kry_monitor monitor; /* NULL: none */
    void *monitor_user;
} kry_options;

kry_status kry_options_parse(const char *text, kry_options *o);
/* A solver for A, in A's own precision whatever the options say of it. */
kry_status kry_options_solver(const kry_op *A, const kry_options *o, kry_op **solver);
/* The words say that there is deflation, by a maker or by words of its own. */
bool kry_options_deflate(const kry_options *o);
/* The parameters of the latter; room: that outlives them. */
kry_status kry_options_deflation(const kry_options *o, char *room, size_t size,
                                 kry_deflation_params *params);
/* What is solved with: A, or A with its first unknown pinned. */
kry_status kry_options_system(const kry_op *A, const kry_options *o, kry_op **system);
/* The method is one of relaxation. */
bool kry_options_relax(const kry_options *o);
/* mixed.c: precision=mixed. */
kry_status kry_options_mixed(const kry_op *A, const kry_options *o, kry_op **solver);

#endif
