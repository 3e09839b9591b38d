/* shm.h - memory that processes of one machine have in common. */
#ifndef KRY_SHM_H
#define KRY_SHM_H

#include "base/base.h"

/* What another process needs to find it. bytes = 0: there is none. */
typedef struct kry_shm_name {
    uint64_t token; /* of which its name is made, and with which it begins */
    uint64_t bytes;
} kry_shm_name;

typedef struct kry_shm {
    void *memory; /* owned, at the beginning of a page; NULL: none */
    kry_shm_name name;
    bool named; /* this process made it, and others can find it */
} kry_shm;

/* Messages of so many bytes are worth it: with fewer MPI is as fast, and to make memory takes a device a millisecond. */
size_t kry_shm_large(void);
/* Make zeroed memory, the first 8 bytes of which are taken. Where it cannot be made memory is NULL, as nothing depends on it. */
void kry_shm_create(size_t bytes, kry_shm *s);
/* Take part in what another process has made and still names; memory is NULL if it runs on another machine, or for another
 * user. */
void kry_shm_open(const kry_shm_name *name, kry_shm *s);
/* Nobody else is to find it. Who has it keeps it. */
void kry_shm_unname(kry_shm *s);
void kry_shm_release(kry_shm *s);

#endif
