/* device_classical.c - classical coarsening as a coarsener on a device. */
#include "amg/amg_device.h"
#include "amg/classical.h"
#include <stdlib.h>

static void classical_destroy(void *kept)
{
    kry_splitting *s = kept;
    if (!s) return;
    kry_splitting_release(s);
    free(s);
}

static kry_status classical_create(kry_coarsen *c, const kry_csr *A, kry_csr *P, void **kept)
{
    kry_status st = KRY_OK;
    kry_splitting *s = NULL;

    *P = (kry_csr){ 0 };
    *kept = NULL;
    TRY(kry_alloc(1, sizeof *s, &s));
    TRY(kry_splitting_create(A, c->strength, s));
    if (s->coarse == 0) goto done;
    TRY(kry_splitting_interpolate(A, s, P));
    c->block = 1;
    *kept = s, s = NULL;
done:
    classical_destroy(s);
    return st;
}

static kry_status classical_update(const kry_csr *A, void *kept, kry_csr *P)
{
    return kry_splitting_interpolate_again(A, kept, P);
}

const kry_device_coarsener kry_device_classical = { classical_create, classical_update,
                                                    classical_destroy };
