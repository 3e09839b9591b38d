/* auto_choices.h - method=auto: the solvers that suit a matrix, the one to begin with first. */
#ifndef KRY_AUTO_CHOICES_H
#define KRY_AUTO_CHOICES_H

#include "operator/op.h"
#include "precond/factor.h"

/* A solver by its words. */
typedef struct kryi_choice {
    const char *method,
        *precond;   /* words of kry_solver_create: static, or the one that was given */
    double seconds; /* that it is expected to take; infinite: not known */
    double
        patience; /* iterations before the limit is held against it; infinite: the limit never is */
} kryi_choice;

enum { KRY_CHOICES = 9 };
typedef struct kryi_choices {
    int count;
    kryi_choice choice[KRY_CHOICES];
    char why[250]; /* what the look at the matrix found */
    kryi_factor
        factor; /* that the direct solver may take over: A's entries, analysed; or nothing; owned */
} kryi_choices;

/*
 * Look at A once, and list what suits it: docs/choosing.md has the rules. Waits.
 *
 *   precond   the word that the caller wants, kept by pointer; NULL: the choice is free
 *   direct    whether the direct solver may be among them
 *
 * Cost     a pass over the entries, 12 products and an ordering on the host
 */
kry_status kryi_choices_list(const kry_op *A, const char *precond, bool direct,
                             kryi_choices *choices);
void kryi_choices_release(kryi_choices *choices);

#endif
