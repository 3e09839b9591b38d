/* cycle_words.h - multigrid from words. */
#ifndef KRY_CYCLE_WORDS_H
#define KRY_CYCLE_WORDS_H

#include "operator/op.h"

/* kry_mg_create and kry_amg_create with the settings that stand behind the colon of "mg" or "amg", with commas
 * between; NULL: none.  Returns  KRY_ERR_PARSE (message: the words there are); as the constructors */
kry_status kryi_mg_from_words(const kry_op *A, const char *settings, kry_op **M);
kry_status kryi_amg_from_words(const kry_op *A, const char *settings, kry_op **M);

#endif
