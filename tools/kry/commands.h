/*
 * commands.h - what the files of the program share.
 *
 * A command returns a status like any function of the library and leaves its sentence with
 * kry_fail; main prints it and makes the exit status of it.
 */
#ifndef KRY_COMMANDS_H
#define KRY_COMMANDS_H

#include "options.h"

kry_status devices_run(const options *o);
kry_status solve_run(const options *o);
kry_status eigen_run(const options *o);
kry_status info_run(const options *o);
kry_status generate_run(const options *o);
kry_status bench_run(const options *o);
kry_status reproduce_run(const options *o);
kry_status tune_run(const options *o);
kry_status kernels_run(const options *o);
/* kry info --device: without a matrix, and the lines that it adds for a matrix. */
struct kryi_host_matrix;
kry_status info_device(const options *o);
kry_status info_precond(const options *o); /* --check-precond */
kry_status info_levels(const options *o);  /* --levels */
kry_status info_prediction(const options *o, const struct kryi_host_matrix *A);

#endif
