/*
 * source.h - where a matrix comes from: a Matrix Market file or a generated problem.
 */
#ifndef KRY_SOURCE_H
#define KRY_SOURCE_H

#include "options.h"
#include "page/host_matrix.h"
#include <kry/problem.h>

typedef struct source {
    char name[512];       /* the file or the spec, printable */
    const char *file;     /* borrowed: as it was given; NULL: a problem */
    kry_mtx *mtx;         /* a file, on one process, */
    bool pairs;           /* of complex numbers, each of them two real ones here; */
    kry_share *share;     /* on ranks the rows of this one, of a file or of `problem`; */
    kry_problem *problem; /* on ranks its grid is this rank's part */
    kry_device *device;   /* borrowed: of ranks; set before source_open, or NULL */
    int64_t first, here;  /* the rows on the host: all of them, or those of `share` */
    int64_t rows, cols;
    int64_t given;  /* entries in the file; for a problem all nonzeros */
    double seconds; /* to read or to generate */
    bool negated;   /* a file: -A is in place of A (examine.h); */
    double *null;   /* orthonormal columns of `here` numbers that A maps to zero (null_space.c), */
    int64_t nulls;  /* so many of them: */
    int64_t empty;  /* of empty rows; the others are constants on parts, */
    bool constant;  /* or on all rows; */
    int axes;       /* of coordinates of a file; */
    double *coordinates; /* axes of them for each node; NULL: none was given */
} source;

/* Exactly one of `file` and `spec` is given. `f`: how source_operator will hold A, so that
 * a problem on a grid may come without entries, and what has no grid may be refused; NULL: the
 * entries are needed. */
kry_status source_open(const char *file, const char *spec, uint64_t seed, const form *f, source *s);
/* Refuse a file that claims many more rows or columns than it has entries: vectors have the length that a file claims,
 * and the work on them would be for nothing. */
kry_status source_check_claims(const source *s);
void source_release(source *s);

/* Is it a grid without the entries of its matrix? */
bool source_matrix_free(const source *s);
kry_status source_operator(const source *s, kry_device *device, kry_type type, const form *f,
                           kry_op **A);

typedef kryi_host_matrix sparse;

/* Without entries (NULL) if they were left out. */
kry_status sparse_of_source(const source *s, sparse *A);
unsigned source_traits(const source *s); /* KRY_SYMMETRIC, ... as far as they are known */
/* The row and column of a file's entry e, which may stand in an array; from those of entry e - 1. */
void mtx_entry_place(const kry_mtx *mtx, int64_t e, int64_t *i, int64_t *j);
/* sparse_of_source, where most rows and columns of a file have no entry: A is without them, and so is s->mtx from
 * then on. The work and the memory go with the entries, whatever sizes the file claims. */
kry_status sparse_condensed(source *s, sparse *A);
/* ---- asymmetry.c ---- */

/* How far a matrix is from its transpose, in this rank's rows. */
void share_asymmetry(const kry_share *A, const kry_share *T, asymmetry *a);

/* ---- vectors.c ---- */

/* The columns of numbers of a file, array or coordinate format, general, one for each row of s. *values: to be freed. */
kry_status read_vectors(const char *path, const source *s, int64_t *columns, double **values);
/* read_vectors for the rows that a vector of ranks has here. Collective. */
kry_status read_shared_vectors(const char *path, const source *s, int64_t *columns,
                               double **values);
/* Whether vectors with so many columns can go into a file of this name; NULL: they go nowhere. */
kry_status check_columns(const char *path, int64_t columns);
/* A Matrix Market file, or one for PETSc by its name. */
kry_status write_matrix(const char *path, const kry_mtx *mtx, const char *comment);
kry_status write_vectors(const char *path, int64_t n, int64_t columns, double *values,
                         const char *comment);
/* The numbers of this rank's rows, by way of x. Collective. */
kry_status write_shared_vectors(const char *path, kry_vec *x, const double *values,
                                const char *comment);

/* Numbers for a device: `values` itself for double, else a copy in *owned (to be freed). */
kry_status convert_values(kry_type type, int64_t n, const double *values, const void **out,
                          float **owned);

#endif
