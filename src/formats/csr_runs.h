/* csr_runs.h - the runs of rows that the CSR kernels walk. */
#ifndef KRY_CSR_RUNS_H
#define KRY_CSR_RUNS_H

#include "../core/internal.h"

enum { KRY_CSR_UNROLL = 4 }; /* entries a work-item of a GPU loads at once; see cl/csr.cl */

typedef struct kry_csr_runs {
    cl_mem block; /* owned: blocks+1 ints, the first row of each run, then the row count */
    cl_int blocks;
    int64_t groups;   /* to launch */
    bool fuses;       /* the direction of a Krylov step goes into the product */
    char variant[64]; /* for kry_op_describe */
} kry_csr_runs;

/* Cut the rows into runs that suit the device. Waits. */
kry_status kry_csr_runs_create(kry_device *dev, kry_type type, const int64_t *row_ptr, int64_t rows,
                               kry_csr_runs *runs);

#endif
