/* double.c - the C functions that stand for kernels, for numbers in double. */
#define REAL  double
#define TABLE kry_host_double
#include "host/all_kernels.h"
