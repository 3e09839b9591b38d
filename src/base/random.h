/* random.h - kry_random_unit is public: see kry/io.h. */
#ifndef KRY_RANDOM_H
#define KRY_RANDOM_H

#include <kry/io.h>

#endif
