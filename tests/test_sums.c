/* test_sums.c - sums of any width: V'w by one launch and one reduction, on a device and on teams. */
#include "team/team.h"
#include "teams.h"
#include "testing.h"
#include "vector/vec.h"

enum { MOST_COLUMNS = KRY_SUM_WIDTH };

/* V'w of columns of random numbers in long double, and how far rounding may move it. */
typedef struct block {
    int64_t n, k;
    double *V, *w;
    long double want[MOST_COLUMNS], size[MOST_COLUMNS];
} block;

static block block_create(kry_type type, int64_t n, int64_t k)
{
    block b = { .n = n, .k = k, .V = random_array(type, n * k), .w = random_array(type, n) };
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) {
            long double product = (long double)b.V[j * n + i] * b.w[i];
            b.want[j] += product, b.size[j] += fabsl(product);
        }
    return b;
}

static void block_release(block *b) { free(b->V), free(b->w); }

static void check(const block *b, const double *got, const char *what)
{
    long double eps = acc_type() == KRY_F64 ? DBL_EPSILON : 0x1p-40L;
    for (int64_t j = 0; j < b->k; j++)
        NEAR(got[j], b->want[j], (long double)(b->n + 16) * eps * b->size[j],
             "%s: column %lld of %lld, %lld rows", what, (long long)j, (long long)b->k,
             (long long)b->n);
}

static void dots__of_every_width(void **state)
{
    kry_type type = type_of(state);
    const int64_t rows[] = { 1, 7, 64, 1000 }, columns[] = { 1, 2, 3, 4, 5, 33, MOST_COLUMNS };

    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t c = 0; c < COUNT(columns); c++)
            for (int64_t offset = 0; offset < 4; offset += 3) { /* views that start anywhere */
                block b = block_create(type, rows[r], columns[c]);
                guarded V = guarded_create(type, b.n, b.k, offset, b.V),
                        w = guarded_create(type, b.n, 1, offset, b.w);
                double got[MOST_COLUMNS], one;
                kry_sum *sum, *single;
                OK(kry_sum_create(device(), (int)b.k, &sum));
                OK(kry_sum_create(device(), 1, &single));
                OK(kry_vec_dots(V.v, w.v, sum));
                assert_in_range(sum->count, 1, KRY_SUM_CAPACITY);
                OK(kry_sum_read(&device()->layout, sum, got));
                check(&b, got, "alone");
                for (int64_t j = 0; j < b.k; j++) { /* the same bits as one by one */
                    kry_vec v = kry_vec_column(V.v, j);
                    OK(kry_vec_dot_sum(&v, w.v, single));
                    OK(kry_sum_read(&device()->layout, single, &one));
                    assert_same_bits(&one, &got[j], 1);
                }
                kry_sum_release(&single);
                kry_sum_release(&sum);
                guarded_release(&V), guarded_release(&w);
                block_release(&b);
            }
}

static void sum__too_wide(void **state)
{
    (void)state;
    kry_sum *sum;
    REFUSES(kry_sum_create(device(), KRY_SUM_WIDTH + 1, &sum), KRY_ERR_ARGUMENT, "1 to 64");
    REFUSES(kry_sum_create(device(), 0, &sum), KRY_ERR_ARGUMENT, "1 to 64");
    assert_null(sum);
}

/* ---- on a team ----------------------------------------------------------------------------- */

typedef struct shared {
    const kry_vec *V, *w;
    double total[8][MOST_COLUMNS], reduced[8][MOST_COLUMNS]; /* as each part knows them */
} shared;

static kry_status dots_of_part(void *user, int rank)
{
    shared *s = user;
    kry_status st = KRY_OK;
    kry_vec V = kry_vec_on_part(s->V, rank), w = kry_vec_on_part(s->w, rank);
    kry_sum *sum = NULL;

    TRY(kry_sum_create(V.dev, (int)V.k, &sum));
    TRY(kry_vec_dots(&V, &w, sum));
    TRY(kry_sum_read(V.layout, sum, s->total[rank]));
    TRY(kry_vec_dots(&V, &w, sum));
    TRY(kry_layout_reduce(V.layout, &sum, 1));
    if (s->V->split->members > 1) assert_int_equal(sum->count, 1);
    TRY(kry_sum_read_here(sum, s->reduced[rank]));
done:
    kry_sum_release(&sum);
    return st;
}

static void dots__on_a_team(void **state)
{
    kry_type type = type_of(state);
    NOT_ON_HOST("teams");
    double first[MOST_COLUMNS];
    block b = block_create(type, 301, 6);

    for (int reproducible = 0; reproducible < 2; reproducible++)
        for (int parts = 1; parts <= 3; parts++) {
            kry_device *team = open_team(parts, (kry_team_params){ .reproducible = reproducible });
            kry_vec *V = vec_on(team, type, b.V, b.n, b.k), *w = vec_on(team, type, b.w, b.n, 1);
            shared s = { .V = V, .w = w };
            OK(kry_team_run(V->split->team, V->split, dots_of_part, &s));
            for (int r = 0; r < V->split->members; r++) {
                check(&b, s.total[r], "team");
                assert_same_bits(s.total[r], s.total[0], b.k);
                if (acc_type() == KRY_F64) assert_same_bits(s.reduced[r], s.total[0], b.k);
                check(&b, s.reduced[r], "reduced");
            }
            if (reproducible && parts == 1) memcpy(first, s.total[0], sizeof first);
            if (reproducible) assert_same_bits(s.total[0], first, b.k);
            kry_vec_release(&V);
            kry_vec_release(&w);
            close_team(&team);
        }
    block_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { BOTH(dots__of_every_width), cmocka_unit_test(sum__too_wide),
                                        BOTH(dots__on_a_team) };
    return cmocka_run_group_tests_name("sums", tests, keep_profile, restore_profile);
}
