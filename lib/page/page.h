/*
 * page.h - what the files of this folder use. The program draws pages of benchmarks and papers with them, and lib/report that of a
 * solve.
 */
#ifndef KRY_PAGE_H
#define KRY_PAGE_H

#include "exit.h"
#include "memory.h"
#include <kry/kry.h>
#include <stdbool.h>
#include <stdio.h>

#endif
