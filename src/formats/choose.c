/* choose.c - format AUTO. */
#include "matrix.h"

kry_status kry_choose(kry_device *dev, kry_host_csr *host, const kry_matrix_params *params,
                      kry_op **op)
{
    kry_matrix_params p = *params;
    p.format = KRY_FORMAT_CSR;
    return kry_matrix_in_format(dev, host, &p, op);
}
