/* labels.h - what the files that make labels share. */
#ifndef KRY_LABELS_H
#define KRY_LABELS_H

#include "operator/op.h"
#include <kry/deflation.h>

/* Give n labels, which are below `most`, new numbers in the order in which they first appear, so
 * that no number is unused; *count is how many there are. number: room for `most`. */
void kry_labels_renumber(int64_t n, int32_t *labels, int64_t most, int32_t *number, int64_t *count);

/* kry_labels_check; `who` stands in messages: a function or a file. */
kry_status kry_labels_check_as(const char *who, int64_t n, const int32_t *labels, int64_t *count);

#endif
