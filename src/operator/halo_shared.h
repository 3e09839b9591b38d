/* halo_shared.h - numbers of a halo between ranks of one machine, in memory that both processes have. */
#ifndef KRY_HALO_SHARED_H
#define KRY_HALO_SHARED_H

#include "operator/halo.h"

typedef struct kryi_halo_shared kryi_halo_shared;

/* Find the neighbours on this machine, of links with many bytes. size: bytes of a number. *shared is NULL if there are none,
 * and may be NULL below: then no link is shared. Collective. Waits. */
kry_status kryi_halo_shared_create(const kryi_halo_links *links, size_t size,
                                   kryi_halo_shared **shared);
void kryi_halo_shared_release(kry_device *dev, kryi_halo_shared **shared);

/* Where all numbers that go out are to be written; NULL: anywhere. */
char *kryi_halo_shared_out(const kryi_halo_shared *shared);
/* The message to post to link i in place of its numbers, once they are there; NULL: the numbers. */
kryi_message *kryi_halo_shared_word(kryi_halo_shared *shared, int i);
/* Whether the numbers of link i come this way; then wait for them, and say that they have been read. */
bool kryi_halo_shared_comes(const kryi_halo_shared *shared, int i);
kry_status kryi_halo_shared_take(kryi_halo_shared *shared, int i, kryi_message **message);
void kryi_halo_shared_done(kryi_halo_shared *shared, int i);
/* Before the next exchange; `wait` until the neighbours have read the numbers of the last one. */
kry_status kryi_halo_shared_next(kryi_halo_shared *shared, bool wait);

#endif
