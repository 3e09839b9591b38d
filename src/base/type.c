/* type.c - the types that numbers have. */
#include "base/base.h"

size_t kry_type_size(kry_type type) { return type == KRY_F32 ? 4 : 8; }
const char *kry_type_name(kry_type type) { return type == KRY_F32 ? "single" : "double"; }
