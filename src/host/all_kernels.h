/* all_kernels.h - all C functions that stand for kernels, for numbers REAL, in a table named TABLE. */
#include "device/state.h"
#include "host/functions.h"
#include <math.h>

#include "host/vec_kernels.h"

#include "host/cg_kernels.h"

#include "host/csr_kernels.h"

#include "host/stencil_kernels.h"

#define K(stem, name)      \
    {                      \
#stem, #name, name \
    }
const kry_host_function TABLE[] = {
    VEC_KERNELS, CG_KERNELS, CSR_KERNELS, STENCIL_KERNELS, { NULL }
};
