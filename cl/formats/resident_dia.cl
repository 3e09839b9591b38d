// resident_dia.cl - conjugate gradients in one kernel with a matrix stored by diagonals.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"
#include "formats/dia.cl"
#include "formats/resident_matrix.clh"
