/* test_sums.c - sums of any width: V'w by one launch and one reduction, on a device and on teams. */
#include "dist/rank_sums.h"
#include "operator/halo.h"
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

static void block_multiply(block *b)
{
    for (int64_t j = 0; j < b->k; j++) {
        b->want[j] = b->size[j] = 0;
        for (int64_t i = 0; i < b->n; i++) {
            long double product = (long double)b->V[j * b->n + i] * b->w[i];
            b->want[j] += product, b->size[j] += fabsl(product);
        }
    }
}

static block block_create(kry_type type, int64_t n, int64_t k)
{
    block b = { .n = n, .k = k, .V = random_array(type, n * k), .w = random_array(type, n) };
    block_multiply(&b);
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

/* got := V'W. */
static void sum_up(const kry_vec *V, const kry_vec *W, double *got)
{
    kry_sum *sum;

    OK(kry_sum_create(device(), (int)(V->k * W->k), &sum));
    OK(kryi_vec_dots(V, W, sum));
    assert_in_range(sum->count, 1, KRY_SUM_CAPACITY);
    OK(read_sum(device(), sum, got));
    kry_sum_release(&sum);
}

/* Of a block that starts anywhere; each number has the same bits alone. */
static void check_width(kry_type type, int64_t n, int64_t k, int64_t offset)
{
    block b = block_create(type, n, k);
    guarded V = guarded_create(type, n, k, offset, b.V),
            w = guarded_create(type, n, 1, offset, b.w);
    double got[MOST_COLUMNS], one;

    sum_up(V.v, w.v, got);
    check(&b, got, "alone");
    for (int64_t j = 0; j < k; j++) {
        kry_vec v = kryi_vec_column(V.v, j);
        sum_up(&v, w.v, &one);
        assert_same_bits(&one, &got[j], 1);
    }
    guarded_release(&V), guarded_release(&w);
    block_release(&b);
}

static void dots__of_every_width(void **state)
{
    const int64_t rows[] = { 1, 7, 64, 1000 }, columns[] = { 1, 2, 3, 4, 5, 33, MOST_COLUMNS };

    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t c = 0; c < COUNT(columns); c++)
            for (int64_t offset = 0; offset < 4; offset += 3)
                check_width(type_of(state), rows[r], columns[c], offset);
}

/* The last two columns of V are W. */
static void dots__with_two_columns(void **state)
{
    const int64_t rows[] = { 1, 63, 9001 }, columns[] = { 2, 5, 17, MOST_COLUMNS / 2 };
    const kry_type type = type_of(state);

    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t c = 0; c < COUNT(columns); c++) {
            const int64_t n = rows[r], k = columns[c];
            block b = block_create(type, n, k);
            double both[MOST_COLUMNS], got[MOST_COLUMNS];
            kry_vec *V, W;
            OK(kryi_vec_create_columns(device(), type, n, k, &V));
            write_doubles(V, b.V);
            W = kryi_vec_column(V, k - 2), W.k = 2;
            sum_up(V, &W, both);
            for (int64_t i = 0; i < 2; i++) {
                memcpy(b.w, b.V + (k - 2 + i) * n, (size_t)n * sizeof *b.w);
                block_multiply(&b);
                for (int64_t j = 0; j < k; j++) got[j] = both[2 * j + i];
                check(&b, got, "with two columns");
            }
            kry_vec_release(&V);
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
    kry_vec V = kryi_vec_on_part(s->V, rank), w = kryi_vec_on_part(s->w, rank);
    kry_sum *sum = NULL;

    TRY(kry_sum_create(V.dev, (int)V.k, &sum));
    TRY(kryi_vec_dots(&V, &w, sum));
    TRY(kryi_sum_read(V.layout, sum, s->total[rank]));
    TRY(kryi_vec_dots(&V, &w, sum));
    TRY(kryi_layout_reduce(V.layout, &sum, 1));
    if (s->V->split->members > 1) assert_int_equal(sum->count, 1);
    TRY(kryi_sum_read_here(sum, s->reduced[rank]));
done:
    kry_sum_release(&sum);
    return st;
}

static void dots__on_a_team(void **state)
{
    kry_type type = type_of(state);
    double first[MOST_COLUMNS];
    block b = block_create(type, 301, 6);

    for (int reproducible = 0; reproducible < 2; reproducible++)
        for (int parts = 1; parts <= 3; parts++) {
            kry_device *team = open_team(parts, (kry_team_params){ .reproducible = reproducible });
            kry_vec *V = vec_on(team, type, b.V, b.n, b.k), *w = vec_on(team, type, b.w, b.n, 1);
            shared s = { .V = V, .w = w };
            OK(kryi_team_run(V->split->team, V->split, dots_of_part, &s));
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

/* ---- on ranks -------------------------------------------------------------------------------- */

static void sums_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    enum { COUNT_OF_SUM = 40000, PACKETS = 16 * 1024 };
    summing s = { team, KRY_ADD, COUNT_OF_SUM, .all = calloc(7 * COUNT_OF_SUM, sizeof(double)) };

    (void)shared;
    check_sums(team);
    if (w->rank == 0) {
        kry_device *threads = team_here(w->size, (kry_team_params){ 0 });
        check_sums(threads);
        kry_device_release(&threads);
    }
    /* A rank sends less than thrice its numbers, whatever the number of ranks. */
    const int64_t before = w->sent;
    GOOD(kryi_team_run(team->team, NULL, sum_here, &s));
    NEED(w->sent - before < 3 * COUNT_OF_SUM * (int64_t)sizeof(double) + PACKETS, "%lld bytes",
         (long long)(w->sent - before));
    free(s.all);
    kry_device_release(&team);
}

static void sums__in_one_order_on_ranks_and_threads(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 3, 4, 7 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int bad = run_ranks(sizes[i], 300, 0, sums_scene);
        if (bad >= 0) fail_msg("sums: rank %d of %d failed", bad, sizes[i]);
    }
}

/* ---- more rows in all than 32 bits count, of which no array has one for each ------------------- */

typedef struct distant {
    kry_device *team;
    kryi_split *split;
} distant;

/* Two numbers of the next rank, whose rows begin beyond those of this one. */
static kry_status exchange_distant(void *user, int rank)
{
    const distant *d = user;
    const kryi_split *s = d->split;
    kry_status st = KRY_OK;
    kry_device *dev = d->team->team->part[rank];
    const int next = (rank + 1) % s->members;
    const int64_t place[] = { s->first[next] + 3, s->first[next] + 9 };
    double mine[10], got[2] = { 0, 0 };
    kryi_halo *halo = NULL;
    kry_vec *x = NULL;

    for (int i = 0; i < 10; i++) mine[i] = 100 * rank + i;
    TRY(kryi_halo_create_for(dev, KRY_F64, &(kryi_places){ s->first, 2, place }, &halo));
    TRY(kry_vec_create(dev, KRY_F64, 10, 1, &x));
    TRY(kry_vec_write(x, mine));
    TRY(kryi_halo_begin(halo, x));
    TRY(kryi_halo_end(halo));
    TRY(buffer_read(dev, kryi_halo_numbers(halo), 0, sizeof got, got));
    if (got[0] != 100 * next + 3 || got[1] != 100 * next + 9)
        st = kry_fail(KRY_ERR_CALLBACK, "rank %d got %g and %g", rank, got[0], got[1]);
done:
    kry_vec_release(&x);
    kryi_halo_release(&halo);
    return st;
}

static void distant_scene(wires *w, void *shared)
{
    const int64_t rows = INT64_C(1) << 30, n = w->size * rows;
    distant d = { ranks_team(w, (kry_team_params){ 0 }), NULL };
    struct kryi_team *team = d.team->team;

    (void)shared;
    GOOD(kryi_split_by_ranks(team, "distant", w->rank * rows, rows, &d.split));
    NEED(d.split->n == n && n > INT32_MAX && d.split->first[w->rank] == w->rank * rows,
         "%lld rows, from %lld on", (long long)d.split->n, (long long)d.split->first[w->rank]);
    NEED(kryi_split_rows(d.split, w->rank) == rows && kryi_split_place(d.split, n - 1) == n - 1,
         "%lld rows here", (long long)kryi_split_rows(d.split, w->rank));
    GOOD(kryi_team_run(team, d.split, exchange_distant, &d));
    kryi_split_release(&d.split);
    kry_device_release(&d.team);
}

static void halos__between_more_than_2_31_rows(void **state)
{
    (void)state;
    const int bad = run_ranks(3, 300, 0, distant_scene);
    if (bad >= 0) fail_msg("distant: rank %d of 3 failed", bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Ranks are forked, which has to come before this process opens OpenCL. */
        cmocka_unit_test(sums__in_one_order_on_ranks_and_threads),
        cmocka_unit_test(halos__between_more_than_2_31_rows),
        BOTH(dots__of_every_width),
        BOTH(dots__with_two_columns),
        cmocka_unit_test(sum__too_wide),
        BOTH(dots__on_a_team),
    };
    return cmocka_run_group_tests_name("sums", tests, keep_profile, restore_profile);
}
