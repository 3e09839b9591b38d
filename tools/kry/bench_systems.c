/*
 * bench_systems.c - kry bench systems: many small systems by each method of kry_systems_solve.
 *
 * Bytes are those that any method has to move: the matrices and b are read once, x is written once. So the share of the copy
 * bandwidth is 100 % divided by what iterations and elimination cost besides.
 */
#include "bench.h"
#include <kry/systems.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NUMBERS =
        200000000, /* of all matrices: fewer systems are taken where there would be more */
    MOST_ROWS_OF_LU = 256
};

typedef struct small_systems {
    const bench *b;
    int64_t n, systems, entries;
    int64_t *row_ptr; /* NULL: dense */
    int32_t *col;
    kry_systems *solver;
    kry_vec *values, *rhs, *x;
    kry_systems_result result;
} small_systems;

static const struct {
    const char *name;
    kry_systems_method method;
    int reach; /* entries are those of five points of a grid, or as near to the diagonal as that; 0: all */
} ways[] = { { "tridiagonal", KRY_SYSTEMS_TRIDIAGONAL, 1 },
             { "cg", KRY_SYSTEMS_CG, 2 },
             { "bicgstab", KRY_SYSTEMS_BICGSTAB, 2 },
             { "lu", KRY_SYSTEMS_LU, 0 } };

static void release(small_systems *S)
{
    kry_vec_release(&S->x), kry_vec_release(&S->rhs), kry_vec_release(&S->values);
    kry_systems_release(&S->solver);
    free(S->row_ptr), free(S->col);
}

/* The pattern: neighbours, and with reach 2 those one line of a square grid further on. */
static kry_status make_pattern(small_systems *S, int reach)
{
    kry_status st = KRY_OK;
    const int64_t n = S->n, line = (int64_t)sqrt((double)n);

    S->entries = n * n;
    if (reach == 0) return KRY_OK;
    TRY(allocate((uint64_t)n + 1, sizeof *S->row_ptr, &S->row_ptr));
    TRY(allocate((uint64_t)n * 5, sizeof *S->col, &S->col));
    for (int64_t i = 0; i < n; i++) {
        const int64_t steps[] = { -line, -1, 0, 1, line };
        int64_t at = S->row_ptr[i];
        for (int k = 0; k < 5; k++) {
            const bool wanted = (k >= 1 && k <= 3) || (reach > 1 && line > 1);
            if (wanted && i + steps[k] >= 0 && i + steps[k] < n)
                S->col[at++] = (int32_t)(i + steps[k]);
        }
        S->row_ptr[i + 1] = at;
    }
    S->entries = S->row_ptr[n];
done:
    return st;
}

/* Numbers of system s: symmetric, negative beside the diagonal, which dominates. */
static void fill_matrix(const small_systems *S, int64_t s, double *a)
{
    const uint64_t seed = (uint64_t)S->b->seed;

    for (int64_t i = 0; i < S->n; i++) {
        const int64_t begin = S->row_ptr ? S->row_ptr[i] : i * S->n,
                      end = S->row_ptr ? S->row_ptr[i + 1] : begin + S->n;
        double sum = 0;
        int64_t diagonal = begin;
        for (int64_t e = begin; e < end; e++) {
            const int64_t j = S->row_ptr ? S->col[e] : e - begin, low = i < j ? i : j;
            if (i == j) diagonal = e;
            a[e] = i == j ? 0
                          : -kry_random_unit(seed, (uint64_t)s,
                                             (uint64_t)(low * S->n + (i < j ? j : i)));
            sum -= a[e];
        }
        a[diagonal] = 1.05 * sum + 0.01;
    }
}

static kry_status make_values(small_systems *S)
{
    kry_status st = KRY_OK;
    double *all = NULL;
    float *owned = NULL;
    const void *numbers;

    TRY(allocate((uint64_t)(S->entries * S->systems), sizeof *all, &all));
    for (int64_t s = 0; s < S->systems; s++) fill_matrix(S, s, all + s * S->entries);
    TRY(convert_values(S->b->type, S->entries * S->systems, all, &numbers, &owned));
    TRY(kry_vec_create(S->b->device, S->b->type, S->entries, S->systems, &S->values));
    TRY(kry_vec_write(S->values, numbers));
done:
    free(all), free(owned);
    return st;
}

static kry_status solve_pass(void *user, int64_t turn)
{
    small_systems *S = user;

    (void)turn;
    const kry_status st = kry_systems_solve(S->solver, S->values, S->rhs, S->x, NULL, &S->result);
    return st > 0 ? KRY_OK : st; /* the line says how many were not solved */
}

static kry_status time_way(const bench *b, int64_t systems, int64_t n, size_t way)
{
    kry_status st = KRY_OK;
    small_systems S = { .b = b, .n = n };
    char name[64], variant[96];

    TRY(make_pattern(&S, ways[way].reach));
    S.systems = systems < MOST_NUMBERS / S.entries ? systems : MOST_NUMBERS / S.entries;
    TRY(make_values(&S));
    TRY(bench_block(b, n, S.systems, 1, &S.rhs));
    TRY(kry_vec_create(b->device, b->type, n, S.systems, &S.x));
    TRY(kry_systems_create(b->device, b->type, n, S.row_ptr, S.col,
                           KRY_SYSTEMS(.method = ways[way].method), &S.solver));
    snprintf(name, sizeof name, "%lldx%lld", (long long)S.systems, (long long)n);
    bench_result r = { .name = "systems",
                       .problem = name,
                       .n = n * S.systems,
                       .nnz = S.entries * S.systems,
                       .requested = ways[way].name,
                       .format = ways[way].name,
                       .variant = variant };
    r.bytes = (double)(r.nnz + 2 * r.n) * (double)kry_type_size(b->type);
    TRY(bench_time(b, solve_pass, &S, &r.seconds));
    const int length = snprintf(variant, sizeof variant, "%.3g systems/s, %lld iterations",
                                (double)S.systems / r.seconds, (long long)S.result.most_iterations);
    if (S.result.solved < S.systems)
        snprintf(variant + length, sizeof variant - (size_t)length, ", %lld not solved",
                 (long long)(S.systems - S.result.solved));
    bench_print(b, &r);
done:
    release(&S);
    return st;
}

kry_status bench_systems(bench *b)
{
    kry_status st = KRY_OK;
    static const char *const large[] = { "1000000x8", "200000x32", "50000x128", "10000x1000" };
    static const char *const small[] = { "20000x8", "10000x32", "2000x128", "500x1000" };
    const char *const *words = b->info->gpu ? large : small;
    size_t count = b->info->gpu ? COUNT(large) : COUNT(small);

    if (b->o->word_count > 1) words = b->o->words + 1, count = (size_t)b->o->word_count - 1;
    for (size_t i = 0; i < count; i++) {
        int64_t systems, n;
        TRY(bench_batch_of(words[i], &systems, &n));
        CHECK(n <= 10000, KRY_ERR_PARSE, "%lld rows are no small system", (long long)n);
        for (size_t way = 0; way < COUNT(ways); way++)
            if (ways[way].reach > 0 || n <= MOST_ROWS_OF_LU) TRY(time_way(b, systems, n, way));
    }
done:
    return st;
}
