/*
 * plot.h - a picture of a convergence history.
 */
#ifndef KRY_PLOT_H
#define KRY_PLOT_H

#include "solve_report.h"

/* Write an SVG: iterations across, ||r|| / ||b|| up on a logarithmic axis. */
kry_status plot_write(const char *path, const report *r);

#endif
