// resident_dia.cl - conjugate gradients in one kernel with a matrix stored by diagonals.

#include "kry.clh"
#include "barrier.clh"
#include "resident.clh"
#include "dia.cl"
#include "resident_matrix.clh"
