/*
 * comm.h - what the parts of a computation tell each other: the whole of it, so that threads of one
 * process and processes of many machines can stand behind it alike.
 *
 * Every part runs the same program on its own rows. Calls marked collective are made by all parts in
 * the same order; they return an error on all of them once one part has failed.
 */
#ifndef KRY_COMM_H
#define KRY_COMM_H

#include "../core/internal.h"

struct kry_comm {
    int rank, size; /* size 1: alone, nothing is called */
    /* Collective. all: size blocks of `bytes`, in the order of ranks. */
    kry_status (*gather)(kry_comm *comm, const void *mine, size_t bytes, void *all);

    /* Messages between two parts, one under way for each pair and direction. */
    /* `message` stays as it is until kry_comm.settle has returned. Does not wait. */
    void (*post)(kry_comm *comm, int to, const void *message);
    /* Wait for what `from` posted; memory of the sender, to be read until kry_comm.release. */
    kry_status (*take)(kry_comm *comm, int from, const void **message);
    void (*release)(kry_comm *comm, int from);
    /* Wait until `to` has released all that was posted to it. */
    kry_status (*settle)(kry_comm *comm, int to);
};

#endif
