/*
 * page.h - what the files of this folder use: how a function fails, memory, the clock. They know kry by its public
 * headers alone, so that the program is made with them, too: it draws pages of benchmarks and papers.
 */
#ifndef KRY_PAGE_H
#define KRY_PAGE_H

#ifdef KRY_PROGRAM
#include KRY_PROGRAM /* its common.h */
#define kryi_alloc allocate
#define kryi_now   now
#else
#include "base/base.h"
#endif
#include <stdio.h>

#endif
