/*
 * triangles.h - M := c K' D^-1 K by products with the triangles of A, stored: what the incomplete
 * Poisson inverse and the SSOR-type approximate inverse are made of where there is a matrix.
 */
#ifndef KRY_TRIANGLES_H
#define KRY_TRIANGLES_H

#include "operator/op.h"

/* K = sum over j = 0 ... degree of (-omega L D^-1)^j,  c = omega (2 - omega). */
typedef struct kryi_triangles_form {
    const char *who; /* the constructor, for messages; static */
    bool ssor_ai;    /* the kind of the operator: "ssor-ai", else "ip" */
    int degree;      /* >= 1 */
    double omega;
    /* With degree and omega 1 only: */
    bool unscaled; /* K K' with K = I - L D^-1 */
    bool drop;     /* the product as one matrix, without what is outside A's pattern */
} kryi_triangles_form;

/* A: a stored matrix or a grid operator, symmetric, with a positive diagonal. Waits. */
kry_status kryi_triangles_create(const kry_op *A, const kryi_triangles_form *form, kry_op **M);

#endif
