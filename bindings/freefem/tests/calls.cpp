/* calls.cpp - setUps() and updates() in scripts: how often kry.cpp, linked with it by --wrap, has made a solver, and has given
 * one new numbers. */
#include "ff++.hpp"

#include <kry/kry.h>

static long set_ups, updates;

extern "C" kry_status __real_kry_solver_create(const kry_op *, const char *, kry_monitor, void *,
                                               kry_op **);
extern "C" kry_status __wrap_kry_solver_create(const kry_op *A, const char *words,
                                               kry_monitor monitor, void *user, kry_op **made)
{
    set_ups++;
    return __real_kry_solver_create(A, words, monitor, user, made);
}

extern "C" kry_status __real_kry_op_update(kry_op *, const void *);
extern "C" kry_status __wrap_kry_op_update(kry_op *op, const void *val)
{
    if (val) updates++;
    return __real_kry_op_update(op, val);
}

static long getSetUps() { return set_ups; }
static long getUpdates() { return updates; }

static void load()
{
    Global.Add("setUps", "(", new OneOperator0<long>(getSetUps));
    Global.Add("updates", "(", new OneOperator0<long>(getUpdates));
}
LOADFUNC(load)
