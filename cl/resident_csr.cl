// resident_csr.cl - conjugate gradients in one kernel with a matrix stored by rows. src/device/program_source.c puts in front
// what it consists of: RESIDENT_PARAMS of barrier.clh, resident.clh, the loop of csr.cl, resident_matrix.clh.
