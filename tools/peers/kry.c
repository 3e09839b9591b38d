/*
 * kry.c - the time that a solver of kry takes. README.md says how to run it.
 *
 *     ./kry PROBLEM ["WORDS"]
 */
#include "peer.h"

static const char *words = "method=auto rtol=1e-8";
static kry_device *device;
static kry_op *A, *solver;
static kry_vec *b, *x;

static void store(const peer_system *s)
{
    kry_vec *modes = NULL;

    peer_check(kry_csr_create(device, KRY_F64, s->p->n, s->p->n, s->p->row_ptr, s->p->col,
                              s->p->val, KRY_MATRIX(.traits = s->p->traits, .block = s->p->block),
                              &A));
    peer_check(kry_vec_create(device, KRY_F64, s->p->n, 1, &b));
    peer_check(kry_vec_create(device, KRY_F64, s->p->n, 1, &x));
    peer_check(kry_vec_write(b, s->b));
    if (!s->modes) return;
    peer_check(kry_vec_create(device, KRY_F64, s->p->n, s->mode_count, &modes));
    peer_check(kry_vec_write(modes, s->modes));
    peer_check(kry_op_set_near_null_space(A, modes));
    kry_vec_release(&modes);
}

static void setup(const peer_system *s)
{
    (void)s;
    peer_check(kry_solver_create(A, words, NULL, NULL, &solver));
    peer_check(kry_device_finish(device));
}

static void renumber(const peer_system *s)
{
    peer_check(kry_op_update(A, s->p->val));
    peer_check(kry_device_finish(device));
}

static void update(const peer_system *s)
{
    (void)s;
    peer_check(kry_op_update(solver, NULL));
    peer_check(kry_device_finish(device));
}

static void start(void)
{
    peer_check(kry_vec_fill(x, 0));
    peer_check(kry_device_finish(device));
}

static int solve(void)
{
    kry_result result;

    peer_check(kry_solve(solver, b, x, &result));
    return (int)result.iterations;
}

static void read(double *host) { peer_check(kry_vec_read(x, host)); }

static void release(void)
{
    kry_op_release(&solver);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
}

int main(int argc, char **argv)
{
    const peer q = { store, setup, renumber, update, start, solve, read, release };

    if (argc < 2 || argc > 3) peer_fail("kry PROBLEM [\"WORDS\"]");
    if (argc == 3) words = argv[2];
    peer_check(kry_device_open(NULL, &device));
    peer_measure(argv[1], words, &q);
    kry_device_release(&device);
    return 0;
}
