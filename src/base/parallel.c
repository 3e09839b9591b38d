/* parallel.c - loops of the host on several threads. */
#include "base/base.h"
#include "base/hooks.h"
#include "base/system.h"

enum {
    WORTH = 100000 /* numbers to read: about ten times what starting a thread takes */
};

int kryi_parts(int64_t work)
{
    const int64_t worth = work / WORTH;

    if (kryi_test_parts) return kryi_test_parts;
    if (worth <= 1) return 1;
    int parts = kryi_processors();
    if (parts > KRY_MOST_PARTS) parts = KRY_MOST_PARTS;
    return (int)(worth < parts ? worth : parts);
}

typedef struct share {
    kryi_loop *run;
    void *user;
    int part;
    int64_t begin, end;
    pthread_t thread;
} share;

static void *share_run(void *self)
{
    const share *s = self;
    s->run(s->user, s->part, s->begin, s->end);
    return NULL;
}

void kryi_parallel(int parts, int64_t count, kryi_loop *run, void *user)
{
    share all[KRY_MOST_PARTS];
    bool started[KRY_MOST_PARTS];

    for (int p = 0; p < parts; p++) {
        share *s = &all[p];
        *s = (share){ run, user, p, count * p / parts, count * (p + 1) / parts, pthread_self() };
        started[p] = p > 0 && pthread_create(&s->thread, NULL, share_run, s) == 0;
    }
    for (int p = 0; p < parts; p++)
        if (!started[p]) share_run(&all[p]);
    for (int p = 1; p < parts; p++)
        if (started[p]) pthread_join(all[p].thread, NULL);
}
