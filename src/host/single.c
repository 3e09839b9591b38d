/* single.c - the C functions that stand for kernels, for numbers in single. */
#define REAL  float
#define TABLE kry_host_single
#include "host/all_kernels.h"
