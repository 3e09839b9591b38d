// resident_sell.cl - conjugate gradients in one kernel with a matrix stored by slices.

#include "kry.clh"
#include "barrier.clh"
#include "resident.clh"
#include "sell.cl"
#include "resident_matrix.clh"
