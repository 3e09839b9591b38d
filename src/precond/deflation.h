/*
 * deflation.h - the second level as solvers use it: corrections from the subspace Z, by way of
 * the operator Q = Z E^-1 Z' that kry_deflation_create makes.
 */
#ifndef KRY_DEFLATION_INTERNAL_H
#define KRY_DEFLATION_INTERNAL_H

#include "precond/galerkin.h"

typedef struct kry_deflation {
    kry_op *A; /* retained */
    kry_deflation_variant variant;
    kry_coarse_method method;
    kry_deflation_az az; /* KRY_AZ_STORED or KRY_AZ_PRODUCT, once chosen */
    kry_subspace Z;
    kry_colours colours;
    kry_coarse *coarse; /* E^-1 */
    kry_op *AZ, *AZ_t;  /* n-by-k, where the variant multiplies by it, and k-by-n; NULL: products */
    kry_vec *AZ_dense;  /* of vectors, in place of both */
    kry_vec *w, *c;     /* k */
    void *mine;         /* on a part of a team: w on the host, */
    double *sum;        /* and the sum of all parts' */
    kry_vec *t;         /* n */
    char text[128];     /* for kry_op_describe */
} kry_deflation;

/* The deflation behind an operator, or NULL. */
kry_deflation *kry_deflation_of(const kry_op *op);

/* The vectors that the parameters ask for. A may lie on a team. */
kry_status kry_subdomains_find(const kry_op *A, const kry_deflation_params *params,
                               kry_subdomains *s);
void kry_subdomains_release(kry_subdomains *s);
/* Those of part `rank` of A. vectors: room for its columns. */
kry_status kry_subdomains_of_part(const kry_subdomains *all, const kry_op *A, int rank,
                                  kry_vec *vectors, kry_subdomains *s);
/* kry_deflation_create with vectors that have been found; on a part of a team by all parts. */
kry_status kry_deflation_create_with(const kry_op *A, const kry_deflation_params *params,
                                     const kry_subdomains *subdomains, kry_op **out);

/* c := E^-1 (Z'r - (AZ)'y) in D->c; y NULL: zero */
kry_status kry_deflation_solve(kry_deflation *D, const kry_vec *r, const kry_vec *y);
/* q -= AZ c, with c = D->c */
kry_status kry_deflation_subtract(kry_deflation *D, kry_vec *q);
/* x += Q r */
kry_status kry_deflation_start(kry_deflation *D, kry_vec *x, const kry_vec *r);

/* two_level.c: what takes the places of M (NULL: the identity) and of A in conjugate gradients.
 * Both keep D and what they are made of. */
kry_status kry_two_level_precond(const kry_op *D, const kry_op *M, kry_op **two_level);
kry_status kry_two_level_product(const kry_op *D, kry_op **product);

#endif
