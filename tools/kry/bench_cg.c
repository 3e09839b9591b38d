/*
 * bench_cg.c - kry bench cg: seconds per iteration of conjugate gradients.
 *
 * A solve of many iterations less one of few, so that the start and the true residual at the end
 * drop out. The bytes are those of the solver's model.
 */
#include "bench.h"
#include "ranks.h"
#include <kry/team.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 20, MANY = 220, REPEATS = 5 };

typedef struct timing {
    double seconds, bytes; /* median; by the model of the solver */
    int64_t iterations;
} timing;

kry_status bench_solver_text(const options *given, int64_t limit, char text[SOLVER_TEXT])
{
    options o = *given;
    char maxit[24];

    snprintf(maxit, sizeof maxit, "%lld", (long long)limit);
    options_choose_method(&o, "none");
    options_solver_set(&o, "atol", "1e-300");
    options_solver_set(&o, "maxit", maxit);
    return options_solver_text(&o, text);
}

/* Solves of `limit` iterations. */
static kry_status time_solves(const bench *b, const kry_op *A, const kry_vec *rhs, int limit,
                              timing *t)
{
    kry_status st = KRY_OK;
    kry_op *solver = NULL;
    kry_vec *x = NULL;
    double seconds[REPEATS];
    char text[SOLVER_TEXT];
    kry_result result;
    TRY(bench_solver_text(b->o, limit, text));
    TRY(kry_solver_create(A, text, NULL, NULL, &solver));
    TRY(kry_vec_create(b->device, b->type, kry_vec_rows(rhs), 1, &x));
    for (int i = -1; i < REPEATS; i++) { /* the first one warms up */
        TRY(kry_vec_fill(x, 0));
        TRY(kry_device_finish(b->device));
        double start = now();
        TRY(kry_solve(solver, rhs, x, &result));
        if (i >= 0) seconds[i] = now() - start;
    }
    *t = (timing){ bench_median(seconds, REPEATS), result.bytes, result.iterations };
done:
    kry_vec_release(&x);
    kry_op_release(&solver);
    return st < 0 ? st : KRY_OK;
}

kry_status bench_cg_time(const bench *b, const kry_op *A, bench_result *r)
{
    kry_status st = KRY_OK;
    kry_vec *rhs = NULL;
    kry_op_info info;
    shares of;
    timing few, many;
    TRY(bench_vec(b, kry_op_get_shape(A)->rows, 0, &rhs));
    /* With deflation a solve is at its last digit long before MANY. */
    const char *deflation = options_solver(b->o, "deflation");
    bool deflated = deflation && strcmp(deflation, "none");
    TRY(time_solves(b, A, rhs, deflated ? FEW / 4 : FEW, &few));
    TRY(time_solves(b, A, rhs, deflated ? MANY / 5 : MANY, &many));
    double iterations = (double)(many.iterations - few.iterations);
    CHECK(iterations > 0, KRY_ERR_UNSUPPORTED,
          "%s is solved to the last digit within %d iterations: too easy to be timed", r->problem,
          FEW);
    kry_op_describe(A, &info);
    ranks_shares(A, &(kry_rank_facts){ 0 }, &of);
    r->nnz = of.ranks == 1 ? info.nnz : of.nnz < 0 ? 0 : of.nnz;
    r->slots = of.ranks == 1 ? info.slots : of.slots;
    r->format = info.kind;
    r->variant = info.variant;
    r->seconds = (many.seconds - few.seconds) / iterations;
    r->bytes = (many.bytes - few.bytes) / iterations;
done:
    kry_vec_release(&rhs);
    return st;
}

/* Open the same device, or devices, again with reproducible sums. */
static kry_status open_reproducible(const options *o, kry_device **device)
{
    kry_status st = KRY_OK;
    const char *spec = o->device ? o->device : getenv("KRY_DEVICE");
    kry_device *plain = NULL;
    char text[512];

    *device = NULL;
    if (spec && *spec) {
        CHECK(snprintf(text, sizeof text, "%s,reproducible", spec) < (int)sizeof text,
              KRY_ERR_PARSE, "--device: '%.40s...' is too long", spec);
        return kry_device_open(text, device);
    }
    TRY(kry_device_open(NULL, &plain));
    TRY(kry_team_create(&plain, 1, KRY_TEAM(.reproducible = true), device));
done:
    kry_device_release(&plain);
    return st;
}

/* In turns, so that a machine that is busy for a moment slows down both. */
static kry_status compare(const bench *plain, const kry_op *A, const bench *same, const kry_op *B,
                          bench_result *r)
{
    enum { TURNS = 5 };
    kry_status st = KRY_OK;
    double ratio[TURNS], seconds[TURNS];
    for (int i = 0; i < TURNS; i++) {
        bench_result other = { .problem = r->problem };
        TRY(bench_cg_time(plain, A, &other));
        TRY(bench_cg_time(same, B, r));
        seconds[i] = r->seconds;
        ratio[i] = r->seconds / other.seconds;
    }
    r->seconds = bench_median(seconds, TURNS);
    r->ratio = bench_median(ratio, TURNS);
done:
    return st;
}

static kry_status cg_run(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *B = NULL;
    bench same = *b;
    const char *method = options_solver(b->o, "method");
    char again[64];
    bench_result r = { .name = method ? method : "cg", .problem = s->name, .n = s->rows };
    same.device = NULL;
    CHECK(!b->o->reproducible || ranks_count() == 1, KRY_ERR_UNSUPPORTED,
          "kry bench cg --reproducible compares devices of one process, and these are %d ranks",
          ranks_count());
    TRY(source_operator(s, b->device, b->type, &b->form, &A));
    TRY(bench_cg_time(b, A, &r));
    r.requested = b->o->format ? b->o->format : source_matrix_free(s) ? "stencil" : "auto";
    bench_print(b, &r);
    if (!b->o->reproducible) goto done;
    TRY(open_reproducible(b->o, &same.device));
    TRY(source_operator(s, same.device, b->type, &b->form, &B));
    snprintf(again, sizeof again, "%s_reproducible", r.name);
    r.name = again;
    TRY(compare(b, A, &same, B, &r));
    bench_print(b, &r);
done:
    kry_op_release(&B);
    kry_op_release(&A);
    kry_device_release(&same.device);
    return st;
}

kry_status bench_cg(bench *b)
{
    size_t count;
    const char *const *specs = bench_grids(b, &count);
    b->matrix_free = true;
    return bench_sources(b, specs, count, cg_run);
}
