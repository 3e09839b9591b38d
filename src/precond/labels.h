/* labels.h - what the files that make labels share. */
#ifndef KRY_LABELS_H
#define KRY_LABELS_H

#include "operator/op.h"
#include <kry/deflation.h>

/* Number n labels, below `most`, anew in the order in which they first appear, so that none is left
 * out; *count is how many there are. number: room for `most`. */
void kry_labels_renumber(int64_t n, int32_t *labels, int64_t most, int32_t *number, int64_t *count);

/* kry_labels_check, blaming `who`: a function or a file. */
kry_status kry_labels_check_as(const char *who, int64_t n, const int32_t *labels, int64_t *count);

#endif
