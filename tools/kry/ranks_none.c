/* ranks_none.c - a program that is built without MPI: one process (ranks.h). */
#include "ranks.h"

kry_status ranks_begin(void) { return KRY_OK; }
void ranks_end(void) {}
int ranks_count(void) { return 1; }
bool ranks_report(void) { return true; }
kry_status ranks_agree(kry_status mine) { return mine; }
kry_status ranks_device(const char *spec, bool times, kry_device **device)
{
    return times ? kry_device_open_timed(spec, device) : kry_device_open(spec, device);
}

void ranks_sum(double *numbers, int length) { (void)numbers, (void)length; }
int64_t ranks_least(int64_t mine) { return mine; }
double ranks_most(double mine) { return mine; }

void ranks_shares(const kry_op *A, const kry_rank_facts *before, shares *of)
{
    (void)A, (void)before;
    *of = (shares){ .ranks = 1 };
}
