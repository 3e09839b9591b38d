/* system.h - what differs between systems, and is not in windows/posix.h, which stands for POSIX. */
#ifndef KRY_SYSTEM_H
#define KRY_SYSTEM_H

/* How many processors this process may use. */
int kryi_processors(void);
/* The name of a file in its folder: it begins behind the last slash of the path. */
const char *kryi_file_name(const char *path);

#endif
