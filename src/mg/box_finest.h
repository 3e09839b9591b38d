/* box_finest.h - the finest level of geometric multigrid: a grid operator, or a copy of it in single. */
#ifndef KRY_BOX_FINEST_H
#define KRY_BOX_FINEST_H

#include "grid/stencil.h"
#include <kry/multigrid.h>

/* *factor := the one below. Collective of a share. May wait. */
kry_status kryi_finest_factor(const kry_op *given, kry_cycle_values values, double *factor);
/* Renew the factor, for the numbers that a grid has now whose levels are in single. */
kry_status kryi_finest_factor_renew(const kry_op *given, double *factor);

/*
 * *A := the grid in single, where that is asked for or, if nobody says, as good, times *factor: a power of two so that
 * couplings are about 1, so that no size of them leaves the range of single in a cycle; else the grid itself, and 0.
 *
 *   given  a grid operator, or a share of one. Collective then
 * Returns  KRY_ERR_UNSUPPORTED if it is asked for and couplings are beyond single. May wait.
 */
kry_status kryi_finest_grid(const kry_op *given, kry_cycle_values values, double *factor,
                            kry_op **A);
/* Renew *A, a copy in single, for the numbers that the grid has now. */
kry_status kryi_finest_grid_renew(const kry_op *given, double *factor, kry_op **A);

/*
 * Whether polynomials of degree 3 smooth in less time than those of 2: on GPUs, by tiles in single with constant
 * coefficients, a step more costs less than the iterations that it saves: on an H100 7 in place of 9 on 8192 x 8192, in
 * 26 ms in place of 32; in space, and at varying coefficients, it does not.
 */
bool kryi_finest_grid_suits_degree_3(const kry_op *given, double factor);

#endif
