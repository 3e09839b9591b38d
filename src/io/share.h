/*
 * share.h - files of which each rank reads a stretch, and the rows that come of it.
 *
 * A stretch is a range of bytes of a Matrix Market file, and of entries of a PETSc file: ranks have about as many
 * entries each, wherever those lie. Then the entries go to the ranks that have their rows. A device by itself is
 * one rank, which reads and keeps everything.
 */
#ifndef KRY_SHARE_H
#define KRY_SHARE_H

#include "base/output.h"
#include "io/mtx_parse.h"

/* Consecutive entries of a file, in its order. */
typedef struct kryi_stretch {
    kry_mtx head;     /* of the whole file, without arrays; nnz: its entries */
    int64_t before;   /* entries of the file in front of these */
    mtx_entry *entry; /* owned: count */
    int64_t count, capacity;
} kryi_stretch;

static inline int64_t kryi_stretch_begin(int64_t whole, int rank, int size)
{
    return whole / size * rank + whole % size * rank / size;
}

/* Read this rank's stretch. Collective, during a run. What is wrong with the file is found by all ranks before one
 * of these returns, and the message of the rank that has its first wrong place names the line, or the byte. */
kry_status kryi_stretch_read(const char *path, kryi_layout *layout, kryi_stretch *s);
void kryi_stretch_release(kryi_stretch *s);
/* share_petsc.c: of the first object of a PETSc file that has just been opened, gzip'd or not; and of the first vector behind
 * its first matrix, if there is one (*found). */
kry_status kryi_stretch_of_petsc(mtx_source *source, kryi_layout *layout, kryi_stretch *s);
kry_status kryi_stretch_of_rhs(mtx_source *source, kryi_layout *layout, kryi_stretch *s,
                               bool *found);
/* *petsc: whether the file, which has just been opened, begins as these do. */
kry_status kryi_petsc_begins(mtx_source *source, bool *petsc);

/* share_send.c: entries on their way to the ranks that have their rows. */

/* first[r], size + 1 of them: where the rows of rank r begin, if each is to have entries and rows by its speed.
 *   multiple  of which they are
 *   speed     of each rank; NULL: alike. Collective */
kry_status kryi_stretch_cut(const kryi_stretch *s, kryi_layout *layout, int64_t multiple,
                            const double *speed, int64_t *first);
/* The entries of this rank's rows, and their mirror images if the file has half of a symmetric matrix, in the order of
 * the file. s is empty then. Collective.
 *   own  [out]  to be freed; count of them */
kry_status kryi_stretch_send(kryi_stretch *s, kryi_layout *layout, const int64_t *first,
                             mtx_entry **own, int64_t *count);

/* ---- mtx_device.c ---- */

/* Convert `count` numbers of a file to `type`. *out is val itself for double, else a new array in *owned. func: the public
 * function; mtx: whose entries they may be, to name a place in a message; NULL: nobody's */
kry_status kryi_mtx_convert(const char *func, kry_type type, const kry_mtx *mtx, const double *val,
                            int64_t count, const void **out, float **owned);
/* Refuse what kry_mtx_read would refuse in a file, in the name of the function `who`: a caller may have filled m in.
 * m is not NULL. */
kry_status kryi_mtx_check(const char *who, const kry_mtx *m);

/* numbers, of `size` bytes each: of the columns of vec that are here, from the order of blocks to that of rows, or back. Does
 * nothing if they are the same. Collective. */
kry_status kryi_share_order(const kry_vec *vec, size_t size, bool to_rows, void *numbers);

/* ---- share_file.c: one file that several processes write, each at places of its own ------------ */

typedef struct kryi_shared_file {
    const char *path; /* borrowed */
    output out;       /* .file -1: not open */
    bool made;        /* by this process */
} kryi_shared_file;

/* Make the file, on one process, before the others join.
 *   alone  no other process writes to it
 *   owner  [out]  to be told to the others */
kry_status kryi_shared_begin(kryi_shared_file *f, bool alone, int64_t *owner);
kry_status kryi_shared_join(kryi_shared_file *f, int64_t owner);
kry_status kryi_shared_write(const kryi_shared_file *f, int64_t at, const void *bytes, size_t size);
/* On the processes that joined, before the one that has made the file ends it. */
kry_status kryi_shared_close(kryi_shared_file *f);
/* Close what is still open; the one that has made the file gives it its name (output.h) if `st` says that all is written, else
 * leaves nothing of it. Once ended, does nothing. Returns st, or why that failed. */
kry_status kryi_shared_end(kryi_shared_file *f, kry_status st);

#endif
