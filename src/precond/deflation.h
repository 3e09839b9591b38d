/*
 * deflation.h - the second level as solvers use it: corrections from the subspace Z, by way of
 * the operator Q = Z E^-1 Z' that kry_deflation_create makes; and what it is made of.
 */
#ifndef KRY_DEFLATION_INTERNAL_H
#define KRY_DEFLATION_INTERNAL_H

#include "base/params.h"
#include "matrix/device_csr.h"
#include "precond/coarse.h"
#include "precond/recycle.h"

/* ---- subspace.c: Z, n-by-k, piecewise constant by labels, or made of modes by labels, which is never
 * stored as a matrix; or a dense block of the caller's vectors ---- */

typedef struct kryi_subspace_kernels {
    kryi_kernel *restrict_, *finish, *prolong, *correct, *add;
} kryi_subspace_kernels;

typedef struct kryi_subspace {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n, k;
    kry_vec *vectors; /* n-by-k; NULL: by labels, as all below but */
    kry_sum *sum;     /* room for products with up to KRY_SUM_WIDTH vectors, else NULL */
    int64_t domains;  /* labels, each of which has `per` of the k vectors, one after the other: */
    int per;          /* the columns of */
    kry_vec *modes;   /* n-by-per, on its unknowns; NULL: one of ones */
    int32_t *labels;  /* host; as in kryi_subdomains; NULL: only the device has them */
    cl_mem label;     /* the same on the device, 16 bits each where k allows */
    /* The unknowns of each label in pieces of up to eight neighbours; the pieces of a label are cut
     * into segments, each of which is summed by one group of work-items. */
    cl_mem piece_start, piece_length, segment; /* segment: its first piece; segments + 1 */
    cl_mem label_segment,
        part;             /* first segment of each label, domains + 1, and room for their sums;
                                   NULL: each label is one segment */
    int64_t part_columns; /* that there is room for */
    cl_int segments;
    int64_t filled; /* segments with pieces: on a part of a team labels may have none */
    double piece_count;
    cl_mem kept; /* Z'v of the last restriction, of its first column, k numbers */
    kryi_subspace_kernels kernel;
} kryi_subspace;

/* Which vectors: those of the caller, or by labels 0 ... count - 1 of n unknowns. */
typedef struct kryi_subdomains {
    const kry_vec *vectors; /* borrowed; NULL: by labels */
    int64_t count;
    int32_t *labels; /* n + beyond; behind the n those of unknowns on other parts (below); NULL: */
    cl_mem label;    /* n int on the device `dev`; owned; NULL: the host has them */
    kry_device *dev; /* borrowed */
    int64_t beyond;
    double *
        modes; /* n-by-per: within a label orthogonal, with squares of mean 1, or zero if they depend
                      on others there; NULL: one of ones */
    int per;
    bool fallback; /* stripes, where the graph could not be cut */
    int recycle; /* none of all these yet, but so many vectors once solves have left them; 0: no */
} kryi_subdomains;

/* Labels or vectors are copied. Waits.
 * Returns  KRY_ERR_ARGUMENT for a vector that is zero or not finite. */
kry_status kryi_subspace_create(kry_device *dev, kry_type type, int64_t n, const kryi_subdomains *s,
                                kryi_subspace *Z);
void kryi_subspace_release(kryi_subspace *Z);

/* These take one column or several, but for the two that leave sums. w := Z'v; of a part's rows, what they add to it. None
 * of these waits. */
kry_status kryi_subspace_restrict(kryi_subspace *Z, const kry_vec *v, kry_vec *w);
/* y := alpha Z c + beta y; with beta == 0, y is not read */
kry_status kryi_subspace_prolong(kryi_subspace *Z, double alpha, const kry_vec *c, double beta,
                                 kry_vec *y);
/* z += Z c and sum := (r.z, r.r) */
kry_status kryi_subspace_correct(kryi_subspace *Z, const kry_vec *c, const kry_vec *r, kry_vec *z,
                                 kry_sum *sum);
/* z += Z c. In: sum is that of (r.z, r.r) for this z, and the last restriction was of r; out: that
 * of the new z. Not for vectors. */
kry_status kryi_subspace_add(kryi_subspace *Z, const kry_vec *c, kry_vec *z, kry_sum *sum);
/* Bytes that a restriction and a correction move, by the model. */
double kryi_subspace_restrict_bytes(const kryi_subspace *Z);
double kryi_subspace_correct_bytes(const kryi_subspace *Z);

/* ---- colours.c, galerkin.c: A Z, as compact as it is sparse, and E = Z'A Z ---- */

/* In which columns the rows of an operator have entries, on the host: computed for grids, read back for
 * stored matrices, else not known. On a part
 * of a team the columns of other parts are numbered behind its own. */
typedef struct kryi_couplings {
    const struct kryi_stencil *grid; /* borrowed; NULL: `rows` */
    kryi_csr rows;                   /* the pattern, in any order; row_ptr NULL: not known */
} kryi_couplings;

kry_status kryi_couplings_of(const kry_op *A, kryi_couplings *couplings);
void kryi_couplings_release(kryi_couplings *couplings);
static inline bool kryi_couplings_known(const kryi_couplings *c)
{
    return c->grid || c->rows.row_ptr;
}
/* How many columns of other parts the rows of A have entries in, and the places of these in the whole
 * (team/split.h), to be freed by the caller. */
kry_status kryi_couplings_beyond(const kry_op *A, int64_t *count, int64_t **place);
/* The columns of row i, the diagonal among them; returns how many. room: where those of a grid are
 * written. */
int64_t kryi_couplings_at(const kryi_couplings *couplings, int64_t i, int32_t room[7],
                          const int32_t **cols);

/* Which sub-domains may share one product with A: no row has entries in two of the same colour. */
typedef struct kryi_colours {
    int32_t *of_label; /* k */
    int32_t count;
} kryi_colours;

typedef struct kryi_galerkin {
    kryi_csr E;                   /* k-by-k in double, both triangles */
    bool singular;                /* E times ones is zero */
    kryi_csr AZ_t;                /* by labels: (AZ)', k-by-n in double, */
    kryi_device_csr rows, rows_t; /* or A Z and (AZ)' in double on the device */
    kry_vec *AZ;                  /* of vectors: n-by-k, dense */
} kryi_galerkin;

/* Colours for the labels of Z by the pattern of A. */
kry_status kryi_colours_find(const kry_op *A, const kryi_subspace *Z, kryi_colours *colours);
void kryi_colours_release(kryi_colours *colours);

/* A := the sum of what each part of a team has of it, in the order of parts; alone, A stays as it
 * is. Collective. */
kry_status kryi_sum_parts(kryi_layout *layout, const char *who, kryi_csr *A);

/* Returns  KRY_ERR_MEMORY, KRY_ERR_DEVICE. Waits. */
kry_status kryi_galerkin_create(const kry_op *A, kryi_subspace *Z, const kryi_colours *colours,
                                kryi_galerkin *G);
void kryi_galerkin_release(kryi_galerkin *G);
/* Entries of A Z of labels. */
static inline int64_t kryi_galerkin_nnz(const kryi_galerkin *G)
{
    return G->rows.dev ? G->rows.nnz : kryi_csr_nnz(&G->AZ_t);
}

/* ---- galerkin_device.c: the same on a GPU, without colours ---- */

/* Whether A Z, of labels without modes, is made on the device: a GPU with double precision has a grid or a stored
 * matrix, all of it, and its sums need not be reproducible. */
bool kryi_galerkin_suits(const kry_op *A);
/* G->rows, G->rows_t and E, before it is made symmetric. Waits. */
kry_status kryi_galerkin_multiply(const kry_op *A, const kryi_subspace *Z, kryi_galerkin *G);

/* ---- deflation.c ---- */

typedef struct kryi_deflation {
    kry_op *A; /* retained */
    kry_deflation_variant variant;
    kry_coarse_method method;
    kry_deflation_az az; /* KRY_AZ_STORED or KRY_AZ_PRODUCT, once chosen */
    kryi_subspace Z;     /* k = 0: no vectors yet, and Q is zero */
    kryi_colours colours;
    kryi_recycle *recycle; /* owned; where they come from; NULL: the caller */
    kryi_coarse *coarse;   /* E^-1 */
    kry_op *AZ, *AZ_t; /* n-by-k, where the variant multiplies by it, and k-by-n; NULL: products */
    kry_vec *AZ_dense; /* of vectors, in place of both */
    kry_vec *w, *c;    /* k; these and t of as many columns as there ever were */
    double *sum;       /* k, on a part of a team: the sum of all parts' w */
    kry_vec *t;        /* n */
    bool fallback;     /* as in kryi_subdomains */
    char text[128];    /* for kry_op_describe */
} kryi_deflation;

/* ---- deflation.c ---- */

extern const kryi_field kryi_deflation_fields[]; /* of kry_deflation_params */
/* The deflation behind an operator, or NULL. */
kryi_deflation *kryi_deflation_of(const kry_op *op);
/* kry_op_describe, for a solver that takes this variant. */
void kryi_deflation_describe(kryi_deflation *D, kry_deflation_variant variant, kry_op_info *info);

/* labels.c: kry_labels_graph, with a label for each component of a part's nodes or one for all. */
kry_status kryi_label_graph(const kry_op *A, int64_t k, bool by_component, int32_t *labels,
                            int64_t *count);
/* The vectors that the parameters ask for. A may lie on a team. */
kry_status kryi_subdomains_find(const kry_op *A, const kry_deflation_params *params,
                                kryi_subdomains *s);
void kryi_subdomains_release(kryi_subdomains *s);
/* *s: the sub-domains of part `rank` of A. vectors: room for its columns. */
kry_status kryi_subdomains_of_part(const kryi_subdomains *all, const kry_op *A, int rank,
                                   kry_vec *vectors, kryi_subdomains *s);
/* kry_deflation_create with vectors that have been found; on a part of a team by all parts. */
kry_status kryi_deflation_create_with(const kry_op *A, const kry_deflation_params *params,
                                      const kryi_subdomains *subdomains, kry_op **out);

/* Whether there are vectors. None of the functions below is for a deflation without. */
static inline bool kryi_deflation_ready(const kryi_deflation *D) { return D->Z.k > 0; }
/* A solve with the first level M (NULL: the identity) is over: take the vectors that it leaves, if any. Waits. */
kry_status kryi_deflation_recycle(kryi_deflation *D, const kry_op *M);

/* c := E^-1 (Z'r - (AZ)'y), of one column or several, in D's room, where it stays until the next time; y NULL: zero */
kry_status kryi_deflation_solve(kryi_deflation *D, const kry_vec *r, const kry_vec *y, kry_vec *c);
/* q -= AZ c */
kry_status kryi_deflation_subtract(kryi_deflation *D, const kry_vec *c, kry_vec *q);
/* x += Q r */
kry_status kryi_deflation_start(kryi_deflation *D, kry_vec *x, const kry_vec *r);

/* two_level.c: what takes the places of M (NULL: the identity) and of A in conjugate gradients.
 * Both keep D and what they are made of. */
kry_status kryi_two_level_precond(const kry_op *D, const kry_op *M, kry_op **two_level);
kry_status kryi_two_level_product(const kry_op *D, kry_op **product);

#endif
