/*
 * hooks.h - where tests interfere with the library: they make requests for memory fail, keep
 * buffers that are released, write into new ones, and abort launches.
 *
 * The few files that include this are compiled twice: into the library, which contains none of it,
 * and with KRY_TESTING into the test programs, which have the variables in tests/hooks.c.
 */
#ifndef KRY_HOOKS_H
#define KRY_HOOKS_H

#ifdef KRY_TESTING
#include <stdatomic.h>
#include <stdbool.h>

/* Of the requests for host memory (kryi_alloc, kryi_realloc) and for device buffers
 * (kryi_buffer_create), the one with this number from now fails, whatever thread makes it. < 0:
 * none. */
extern atomic_int kryi_test_fail_at;
bool kryi_test_fails(void); /* whether this request is the one */

/* Released buffers stay: for Oclgrind 21.10, see tests/unit/test_kernels.c. */
extern bool kryi_test_keep_buffers;

/* New device buffers hold NaN in place of what a driver leaves there. */
extern bool kryi_test_poison;

/* Of the launches of work-groups that wait for each other, the one with this number from now is
 * aborted. < 0: none. */
extern int kryi_test_abort_at;
bool kryi_test_aborts(void); /* whether this launch is the one */

/* So many messages of a probe count as stale, beside those that are. */
extern int kryi_test_stale_messages;

/* Groups wait for each other in a cycle's coarser levels on CPUs, too. */
extern bool kryi_test_groups_wait;

/* Messages of so many bytes count as large between processes of one machine. 0: as always. */
extern int kryi_test_large;

/* Into so many parts loops of the host are cut, whatever their work. 0: as always. */
extern int kryi_test_parts;

/* Binaries of PoCL's are kept, too, as those of other drivers. */
extern bool kryi_test_keep_pocl;
#else
#define kryi_test_fails()        false
#define kryi_test_keep_buffers   false
#define kryi_test_poison         false
#define kryi_test_aborts()       false
#define kryi_test_stale_messages 0
#define kryi_test_groups_wait    false
#define kryi_test_large          0
#define kryi_test_parts          0
#define kryi_test_keep_pocl      false
#endif

#endif
