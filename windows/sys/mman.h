#ifdef _WIN32
#include "posix.h"
#else
#include <sys/mman.h>
#endif
