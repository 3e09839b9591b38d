/*
 * lapack.c - LAPACK by dlopen: the program needs none to be built or to run.
 */
#include "lapack.h"
#include "common.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Fortran's calling convention; lengths of strings, which compilers append, are all 1 and unused.
 */
typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
                     const void *, const void *, const int *, const void *, const int *,
                     const void *, void *, const int *);
typedef void getrf_fn(const int *, const int *, void *, const int *, int *, int *);
typedef void getri_fn(const int *, void *, const int *, const int *, void *, const int *, int *);
typedef void getrs_fn(const char *, const int *, const int *, const void *, const int *,
                      const int *, void *, const int *, int *);
typedef void gtsv_fn(const int *, const int *, void *, void *, void *, void *, const int *, int *);

struct lapack {
    void *blas, *lapack; /* libraries */
    char name[128];
    gemm_fn *gemm[2]; /* in single, in double */
    getrf_fn *getrf[2];
    getri_fn *getri[2];
    getrs_fn *getrs[2];
    gtsv_fn *gtsv[2];
    void (*set_threads)(int); /* OpenBLAS's; NULL: it has none */
};

static int place(kry_type type) { return type == KRY_F64; }

/* ---- finding it ----------------------------------------------------------------------- */

/* ISO C has no conversion from void * to a function; POSIX says that this one works. */
#define FIND(library, symbol, to) (*(void **)(to) = dlsym(library, symbol))

static bool find_all(lapack *l)
{
    bool all = true;
    const struct {
        void *library;
        const char *single, *dbl;
        void *to[2];
    } wanted[] = {
        { l->blas, "sgemm_", "dgemm_", { &l->gemm[0], &l->gemm[1] } },
        { l->lapack, "sgetrf_", "dgetrf_", { &l->getrf[0], &l->getrf[1] } },
        { l->lapack, "sgetri_", "dgetri_", { &l->getri[0], &l->getri[1] } },
        { l->lapack, "sgetrs_", "dgetrs_", { &l->getrs[0], &l->getrs[1] } },
        { l->lapack, "sgtsv_", "dgtsv_", { &l->gtsv[0], &l->gtsv[1] } },
    };
    for (size_t i = 0; i < COUNT(wanted); i++)
        all = FIND(wanted[i].library, wanted[i].single, wanted[i].to[0]) && all &&
              FIND(wanted[i].library, wanted[i].dbl, wanted[i].to[1]);
    return all;
}

static void find_openblas(lapack *l)
{
    char *(*config)(void) = NULL; /* OpenBLAS tells its version, its kernels and its threads */
    FIND(l->blas, "openblas_get_config", &config);
    FIND(l->blas, "openblas_set_num_threads", &l->set_threads);
    snprintf(l->name, sizeof l->name, "%s", config ? config() : "liblapack.so.3");
}

kry_status lapack_open(lapack **out)
{
    kry_status st = KRY_OK;
    lapack *l = NULL;
    *out = NULL;
    TRY(allocate(1, sizeof *l, &l));
    l->blas = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    l->lapack = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    CHECK(l->blas && l->lapack && find_all(l), KRY_ERR_UNSUPPORTED,
          "the system has no LAPACK (liblapack.so.3, Debian's libopenblas0 or liblapack3)");
    find_openblas(l);
    *out = l;
    l = NULL;
done:
    lapack_close(&l);
    return st;
}

void lapack_close(lapack **l)
{
    if (!*l) return;
    if ((*l)->lapack) dlclose((*l)->lapack);
    if ((*l)->blas) dlclose((*l)->blas);
    free(*l);
    *l = NULL;
}

const char *lapack_name(const lapack *l) { return l->name; }

void lapack_spare_cores(const lapack *l, int count)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (l->set_threads) l->set_threads(cores > count ? (int)cores - count : 1);
}

/* ---- calling it ----------------------------------------------------------------------- */

void lapack_gemm(const lapack *l, kry_type type, int n, const void *A, const void *B, void *C)
{
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    bool wide = type == KRY_F64;
    l->gemm[place(type)]("N", "N", &n, &n, &n, wide ? (const void *)&wide_one : &one, A, &n, B, &n,
                         wide ? (const void *)&wide_zero : &zero, C, &n);
}

int lapack_getrf(const lapack *l, kry_type type, int n, void *A, int *pivots)
{
    int info = 0;
    l->getrf[place(type)](&n, &n, A, &n, pivots, &info);
    return info;
}

int lapack_solve(const lapack *l, kry_type type, int n, void *A, int *pivots, void *b)
{
    const int one = 1;
    int info = lapack_getrf(l, type, n, A, pivots);
    if (info == 0) l->getrs[place(type)]("N", &n, &one, A, &n, pivots, b, &n, &info);
    return info;
}

kry_status lapack_inverse(const lapack *l, kry_type type, int n, void *A)
{
    kry_status st = KRY_OK;
    int *pivots = NULL, room = 64 * n, info = 0;
    void *work = NULL;
    TRY(allocate((size_t)n, sizeof *pivots, &pivots));
    TRY(allocate((size_t)room, kry_type_size(type), &work));
    info = lapack_getrf(l, type, n, A, pivots);
    if (info == 0) l->getri[place(type)](&n, A, &n, pivots, work, &room, &info);
    CHECK(info == 0, KRY_ERR_SINGULAR, "LAPACK: the matrix is singular, column %d", info);
done:
    free(work);
    free(pivots);
    return st;
}

int lapack_gtsv(const lapack *l, kry_type type, int n, void *lower, void *diagonal, void *upper,
                void *b)
{
    const int one = 1;
    int info = 0;
    l->gtsv[place(type)](&n, &one, lower, diagonal, upper, b, &n, &info);
    return info;
}
