#ifdef _WIN32
#include "posix.h"
#else
#include <dlfcn.h>
#endif
