// resident_csr.cl - conjugate gradients in one kernel with a matrix stored by rows.

#include "kry.clh"
#include "barrier.clh"
#include "resident.clh"
#include "csr.cl"
#include "resident_matrix.clh"
