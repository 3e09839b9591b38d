/*
 * interrupt.h - Ctrl-C ends a solve at its current iterate; a second one ends the program.
 */
#ifndef KRY_INTERRUPT_H
#define KRY_INTERRUPT_H

#include <stdbool.h>

enum { EXIT_INTERRUPTED = 130 };

void interrupt_catch(void);
bool interrupt_came(void);

#endif
