// resident_sell.cl - conjugate gradients in one kernel with a matrix stored by slices.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"
#include "formats/sell.cl"
#include "formats/resident_matrix.clh"
