/* scalars.c - the scalars of conjugate gradients on the host, as in cl/common/direction.clh. */
#include "device/state.h"
#include "host/functions.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int kry_host_define(const kry_host_args *a, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = a->defines; (at = strstr(at, "-D")); at += 2) {
        if (strncmp(at + 2, name, length)) continue;
        const char *after = at + 2 + length, *value = after + 1;
        if (*after == '=') return isalpha((unsigned char)*value) ? 1 : atoi(value);
        if (*after == ' ' || *after == 0) return 1;
    }
    return 0;
}

double kry_host_take_sum(kry_host_args *a)
{
    const double *part = take_buffer(a);
    int64_t count = take_int(a);
    double sum = 0;

    for (int64_t i = 0; i < count; i++) sum += part[i];
    return sum;
}

void kry_host_take_pair(kry_host_args *a, double sum[2])
{
    const double *part = take_buffer(a);
    int64_t count = take_int(a);

    sum[0] = sum[1] = 0;
    for (int64_t i = 0; i < 2 * count; i++) sum[i % 2] += part[i];
}

int kry_host_begin_direction(kry_host_args *a, double *beta)
{
    double iteration = (double)take_int(a), sum[2];
    int64_t slot = take_int(a);
    double target2 = take_number(a);
    kry_host_take_pair(a, sum);
    const double *step = take_buffer(a);
    double *state = take_buffer(a), *history = take_buffer(a);
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;

    if (fresh && sum[1] <= target2)
        stop = STOP_CONVERGED;
    else if (fresh && (!isfinite(sum[0]) || !isfinite(sum[1])))
        stop = STOP_NOT_FINITE;
    else if (fresh && !(sum[0] > 0))
        stop = STOP_PRECOND;
    *beta = step[STATE_RHO] > 0 ? sum[0] / step[STATE_RHO] : 0;
    state[STATE_STOP] = stop;
    state[STATE_RHO] = sum[0];
    state[STATE_ITERATION] = fresh ? iteration : step[STATE_ITERATION];
    state[STATE_VALUE] = fresh ? sum[0] : step[STATE_VALUE];
    state[STATE_BETA] = *beta;
    state[STATE_ALPHA] = step[STATE_ALPHA];
    if (fresh) history[slot] = sum[1];
    return stop;
}

/* A step may leave x to the next one, which then adds both shares; old p is (p - z) / beta. */
static void share_of_x(int64_t update, double beta, double last, kry_host_step *s)
{
    enum { X_WAITS, X_ADDS, X_ADDS_BOTH, X_ADDS_OLD };

    s->adds = update != X_WAITS;
    s->by_p = s->alpha;
    if (update != X_ADDS_BOTH && update != X_ADDS_OLD) return;
    if (update == X_ADDS_BOTH && beta > 0.1)
        s->by_p += last / beta, s->by_z = -last / beta;
    else
        s->by_old = last;
}

kry_host_step kry_host_begin_step(kry_host_args *a)
{
    kry_host_step s = { .drift_out = NULL };
    int64_t update = take_int(a);
    const double *state = take_buffer(a);
    double *step = take_buffer(a), pq = kry_host_take_sum(a);
    double last = state[STATE_ALPHA];
    bool fresh = (int)state[STATE_STOP] == GO_ON;

    s.stop = (int)state[STATE_STOP];
    if (fresh && !(pq > 0)) s.stop = isfinite(pq) ? STOP_MATRIX : STOP_NOT_FINITE;
    s.alpha = s.stop == GO_ON ? state[STATE_RHO] / pq : 0;
    share_of_x(update, state[STATE_BETA], last, &s);
    step[STATE_STOP] = s.stop;
    if (fresh) step[STATE_RHO] = state[STATE_RHO];
    step[STATE_ITERATION] = state[STATE_ITERATION];
    step[STATE_VALUE] = fresh ? pq : state[STATE_VALUE];
    step[STATE_BETA] = state[STATE_BETA];
    step[STATE_ALPHA] = s.stop == GO_ON ? s.alpha : last;
    if (kry_host_define(a, "DRIFT")) {
        double drift = kry_host_take_sum(a), *out = take_buffer(a);
        int64_t unknowns = take_int(a);
        if (unknowns) s.drift = drift / (double)unknowns, s.drift_out = out;
    }
    return s;
}
