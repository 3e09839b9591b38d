/* teams.h - teams of devices for tests: several queues of the one device there is. */
#ifndef KRY_TEST_TEAMS_H
#define KRY_TEST_TEAMS_H

#include "testing.h"

/* A team of `parts`, of which each has rows of everything. */
MAYBE_UNUSED static kry_device *open_team(int parts, kry_team_params params)
{
    kry_device *part[16] = { NULL }, *team;

    params.struct_size = sizeof params;
    params.use_all = true;
    for (int i = 0; i < parts; i++) OK(kry_device_open(NULL, &part[i]));
    OK(kry_team_create(part, parts, &params, &team));
    for (int i = 0; i < parts; i++) kry_device_release(&part[i]);
    return team;
}

/* Nothing holds on to it any more. */
MAYBE_UNUSED static void close_team(kry_device **team)
{
    assert_int_equal((*team)->refs, 1);
    kry_device_release(team);
}

/* n doubles in a vector of `type` on any device. */
MAYBE_UNUSED static kry_vec *vec_on(kry_device *dev, kry_type type, const double *numbers,
                                    int64_t n, int64_t k)
{
    kry_vec *v;
    void *host = in_type(type, numbers, n * k);
    OK(kry_vec_create(dev, type, n, k, &v));
    OK(kry_vec_write(v, host));
    free(host);
    return v;
}

MAYBE_UNUSED static kry_op *matrix_on(kry_device *dev, kry_type type, const kry_problem *p,
                                      const kry_matrix_params *params)
{
    kry_op *A;
    void *val = in_type(type, p->val, p->nnz);
    OK(kry_csr_create(dev, type, p->n, p->n, p->row_ptr, p->col, val, params, &A));
    free(val);
    return A;
}

#endif
