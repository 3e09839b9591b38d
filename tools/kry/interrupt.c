/*
 * interrupt.c - a signal is noted, and monitors look for it.
 */
#include "interrupt.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal)
{
    (void)signal;
    came = 1;
}

void interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = note };

    action.sa_flags = (int)SA_RESETHAND; /* the next one ends the program */
    sigaction(SIGINT, &action, NULL);
}

bool interrupt_came(void) { return came; }
