/* auto.h - method=auto. */
#ifndef KRY_AUTO_H
#define KRY_AUTO_H

#include "krylov/options.h"

/* A solver that begins with the choice that suits A, and goes on to the next one where that fails. On a team it is
 * the first choice for good. */
kry_status kryi_auto_create(const kry_op *A, const kryi_options *o, kry_op **solver);
/* The first choice by iterations, in place of the words of o, for those that lead the solver themselves. */
kry_status kryi_auto_settle(const kry_op *A, kryi_options *o);

#endif
