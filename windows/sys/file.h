#ifdef _WIN32
#include "posix.h"
#else
#include <sys/file.h>
#endif
