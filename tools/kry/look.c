/*
 * look.c - what is kept of a run while it lasts.
 */
#include "look.h"
#include <kry/team.h>
#include <stdlib.h>

kry_status look_begin(kry_device *device, look **l)
{
    kry_status st = KRY_OK;

    TRY(allocate(1, sizeof **l, l));
    (*l)->origin = now();
    for (int i = 0; i < kry_team_size(device); i++) {
        kry_device *part = kry_team_part(device, i);
        if (!kry_device_context(part)) break;
        TRY(profile_begin(part, &(*l)->part[i]));
        (*l)->part[i]->origin = (*l)->origin;
        (*l)->parts++;
    }
done:
    return st;
}

void look_enter(look *l, profile_phase phase)
{
    if (!l) return;
    l->begun[phase] = now() - l->origin;
    for (int i = 0; i < l->parts; i++) profile_enter(l->part[i], phase);
}

kry_status look_end(look *l)
{
    kry_status st = KRY_OK;

    if (!l) return KRY_OK;
    l->ended = now() - l->origin;
    for (int i = 0; i < l->parts; i++) TRY(profile_end(l->part[i]));
done:
    return st;
}

void look_release(look **l)
{
    if (!*l) return;
    for (int i = 0; i < (*l)->parts; i++) profile_release(&(*l)->part[i]);
    free(*l);
    *l = NULL;
}

double look_seconds(const look *l, profile_phase phase)
{
    return (phase + 1 < PROFILE_PHASES ? l->begun[phase + 1] : l->ended) - l->begun[phase];
}
