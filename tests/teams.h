/* teams.h - teams of devices for tests: several queues of the one device there is. */
#ifndef KRY_TEST_TEAMS_H
#define KRY_TEST_TEAMS_H

#include "testing.h"
#include <kry/problem.h>

/* Teams stay open until the program ends, as the device does (testing.h). */
typedef struct kept_team {
    kry_device *team;
    int parts;
    bool reproducible, by_graph;
    double shares[16];
    char *profile;
    struct kept_team *next;
} kept_team;

static kept_team *kept_teams;

static void close_kept_teams(void)
{
    for (kept_team *k; (k = kept_teams); free(k)) {
        kept_teams = k->next;
        free(k->profile);
        kry_device_release(&k->team);
    }
}

static bool is_kept(const kry_device *team)
{
    const kept_team *k = kept_teams;
    while (k && k->team != team) k = k->next;
    return k != NULL;
}

/* A team of `parts`, of which each has rows of everything. */
MAYBE_UNUSED static kry_device *open_new_team(int parts, kry_team_params params)
{
    kry_device *part[16] = { NULL }, *team;

    params.struct_size = sizeof params;
    params.use_all = true;
    for (int i = 0; i < parts; i++) OK(kry_device_open(NULL, &part[i]));
    OK(kry_team_create(part, parts, &params, &team));
    for (int i = 0; i < parts; i++) kry_device_release(&part[i]);
    return team;
}

/* One that was open already and that nobody uses, or a new one, that stays open. */
MAYBE_UNUSED static kry_device *open_team(int parts, kry_team_params params)
{
    kept_team want = { .parts = parts,
                       .reproducible = params.reproducible,
                       .by_graph = params.by_graph },
              *k;

    for (int i = 0; params.shares && i < parts; i++) want.shares[i] = params.shares[i];
    for (k = kept_teams; k; k = k->next)
        if (device_references(k->team) == 1 && k->parts == parts &&
            k->reproducible == want.reproducible && k->by_graph == want.by_graph &&
            !strcmp(k->profile, present_profile()) &&
            !memcmp(k->shares, want.shares, sizeof want.shares))
            return kry_device_retain(k->team);
    if (!kept_teams) atexit(close_kept_teams);
    want.team = open_new_team(parts, params);
    want.profile = strdup(present_profile());
    want.next = kept_teams;
    k = malloc(sizeof *k);
    assert_non_null(k);
    *k = want;
    kept_teams = k;
    return kry_device_retain(k->team);
}

/* Nothing holds on to it any more. */
MAYBE_UNUSED static void close_team(kry_device **team)
{
    assert_int_equal(device_references(*team), is_kept(*team) ? 2 : 1);
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
