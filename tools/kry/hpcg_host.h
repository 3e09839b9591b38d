/*
 * hpcg_host.h - what the iterations of HPCG reach in sequential order, which those on a device have to reach, too.
 */
#ifndef KRY_PROGRAM_HPCG_HOST_H
#define KRY_PROGRAM_HPCG_HOST_H

#include "common.h"

enum { HPCG_LEVELS = 4 };

/*
 * Solve A x = A 1 from x = 0 on a grid
 *
 *   size       points along the axes, multiples of 2^(HPCG_LEVELS - 1)
 *   reduction  [out]  ||r|| / ||b|| after `iterations`, of the recurrence
 *
 * Cost     8 n numbers of room; about 40 ns for each point and iteration
 */
kry_status hpcg_host_reduction(const int64_t size[3], int iterations, double *reduction);

#endif
