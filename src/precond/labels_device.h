/*
 * labels_device.h - sub-domains by labels on a device.
 */
#ifndef KRY_LABELS_DEVICE_H
#define KRY_LABELS_DEVICE_H

#include "precond/deflation.h"

/* Whether labels have 16 bits on the device: where the number of sub-domains allows it. */
bool kryi_labels_are_narrow(int64_t domains);
/* to := n labels, int, on the device in 16 bits or as they are. */
kry_status kryi_labels_store(kry_device *dev, int64_t n, int64_t domains, cl_mem label, cl_mem *to);
/* Z as a matrix: n-by-k, a one in each row at its label; narrow: labels have 16 bits. */
kry_status kryi_labels_ones(kry_device *dev, kry_type type, bool narrow, int64_t n, int64_t k,
                            cl_mem label, kryi_device_csr *ones);

/* Blocks of a grid, of `block` cells a side, 0: one of all; and split by phase. Labels are those of
 * kry_labels_blocks, or without blocks of kry_labels_levels; n int. *label NULL: there are so many that the host is to
 * make them. Waits. */
struct kryi_stencil;
kry_status kryi_labels_of_grid(const struct kryi_stencil *grid, int64_t block, bool phase,
                               cl_mem *label, int64_t *count);

/* matching.c: at most `most` connected parts of a symmetric matrix's graph; n int. *label NULL: pairs of neighbours are
 * too few, and another way is better. Waits. */
kry_status kryi_labels_of_graph(const kryi_matrix *A, int64_t most, cl_mem *label, int64_t *count);

/* The unknowns cut into pieces: up to eight neighbours with one label that lie between two multiples of eight.
 * They are sorted by labels, those of a label by unknowns. */
typedef struct kryi_pieces {
    int64_t count;
    cl_mem start, length; /* count: int and uchar */
    int64_t *of_label;    /* host, domains + 1; to be freed */
} kryi_pieces;
/* label: n of them, int. Waits. */
kry_status kryi_labels_pieces(kry_device *dev, int64_t n, int64_t domains, cl_mem label,
                              kryi_pieces *p);

#endif
