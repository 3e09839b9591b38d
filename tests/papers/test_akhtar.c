/*
 * test_akhtar.c - every kernel of Akhtar et al. against plain C, to the bit, on boxes around the
 * sizes of tiles, with CPU and GPU kernels, with images of three and of two dimensions and little
 * local memory; sums of squared updates; groups that wait in vain; published numbers.
 */
#include "testing.h"
#include <jacobi.h>

/* ---- the same on the host ------------------------------------------------------------------ */

typedef struct box {
    kry_type type;
    int64_t size[3], n;
    double *side[SIDES];
    double *w, *old; /* numbers of the type */
} box;

static int64_t face_numbers(const int64_t size[3], int side)
{
    int axis = side / 2;
    return size[axis == 0 ? 1 : 0] * size[axis == 2 ? 1 : 2];
}

static box box_create(kry_type type, int64_t nx, int64_t ny, int64_t nz)
{
    box b = { .type = type, .size = { nx, ny, nz }, .n = nx * ny * nz };
    for (int side = 0; side < SIDES; side++)
        b.side[side] = random_array(type, face_numbers(b.size, side));
    b.w = random_array(type, b.n);
    b.old = random_array(type, b.n);
    return b;
}

static void box_release(box *b)
{
    for (int side = 0; side < SIDES; side++) free(b->side[side]);
    free(b->w);
    free(b->old);
}

/* The number at (i, j, k), in the box or on a side of it. */
static double box_at(const box *b, int64_t i, int64_t j, int64_t k)
{
    const int64_t at[3] = { i, j, k };
    for (int a = 0; a < 3; a++) {
        int first = a == 0 ? 1 : 0, second = a == 2 ? 1 : 2;
        if (at[a] >= 0 && at[a] < b->size[a]) continue;
        const double *face = b->side[2 * a + (at[a] > 0)];
        return face ? face[at[first] + b->size[first] * at[second]] : 0;
    }
    return b->old[i + b->size[0] * (j + b->size[1] * k)];
}

static double mean_single(const double v[6])
{
    volatile float x = (float)v[0] + (float)v[1], y = (float)v[2] + (float)v[3], s = x + y;
    s = s + (float)v[4];
    s = s + (float)v[5];
    return s * (1.0f / 6.0f);
}

static double mean_of(kry_type type, const double v[6])
{
    if (type == KRY_F32) return mean_single(v);
    return (((v[0] + v[1]) + (v[2] + v[3])) + v[4] + v[5]) / 6;
}

static void box_sweep(box *b)
{
    double *spare = b->old;
    b->old = b->w;
    b->w = spare;
    for (int64_t p = 0; p < b->n; p++) {
        int64_t i = p % b->size[0], j = p / b->size[0] % b->size[1];
        int64_t k = p / b->size[0] / b->size[1];
        const double v[6] = { box_at(b, i - 1, j, k), box_at(b, i + 1, j, k),
                              box_at(b, i, j - 1, k), box_at(b, i, j + 1, k),
                              box_at(b, i, j, k - 1), box_at(b, i, j, k + 1) };
        b->w[p] = mean_of(b->type, v);
    }
}

static long double box_change2(const box *b)
{
    long double sum = 0;
    for (int64_t p = 0; p < b->n; p++) {
        long double d = (long double)b->w[p] - b->old[p];
        sum += d * d;
    }
    return sum;
}

/* ---- the same on the device ---------------------------------------------------------------- */

static jacobi *jacobi_of(const box *b, jacobi_kernel kernel)
{
    jacobi_box of = { .size = { b->size[0], b->size[1], b->size[2] } };
    jacobi *J = NULL;
    for (int side = 0; side < SIDES; side++) of.side[side] = b->side[side];
    OK(jacobi_create(device(), b->type, kernel, &of, &J));
    return J;
}

static void write_points(jacobi *J, const box *b)
{
    void *host = in_type(b->type, b->w, b->n);
    OK(jacobi_write(J, host));
    free(host);
}

static void compare(const jacobi *J, const box *b, int sweep)
{
    size_t bytes = (size_t)b->n * kry_type_size(b->type);
    unsigned char *host = malloc(bytes);
    /* k8 adds in another order, and three more times: a few roundings a sweep of numbers < 2. */
    long double bound = 0;

    if (J->kernel == JACOBI_K8) bound = 24 * (sweep + 1) * eps_of(b->type);
    assert_non_null(host);
    memset(host, 0xff, bytes); /* NaN */
    OK(jacobi_read(J, host));
    for (int64_t p = 0; p < b->n; p++)
        NEAR(at(b->type, host, p), b->w[p], bound, "%s, %lld x %lld x %lld, sweep %d, point %lld",
             jacobi_kernel_name(J->kernel), (long long)b->size[0], (long long)b->size[1],
             (long long)b->size[2], sweep, (long long)p);
    free(host);
}

/* Runs of 1, 2, 7 and 3 sweeps, the last two with their sum of squares. */
static void check_runs(jacobi *J, box *b)
{
    static const int runs[] = { 1, 2, 7, 3 };
    int sweeps = 0;

    write_points(J, b);
    compare(J, b, 0);
    for (int r = 0; r < (int)COUNT(runs); r++) {
        double change2 = NAN;
        OK(jacobi_run(J, runs[r], r > 1 ? &change2 : NULL));
        for (int s = 0; s < runs[r]; s++) box_sweep(b);
        sweeps += runs[r];
        compare(J, b, sweeps);
        if (r < 2) continue;
        long double want = box_change2(b);
        /* Rounding in the sum and of each difference, and in k8 that of numbers < 2 before it. */
        long double eps = (long double)(b->n + 8) * eps_of(acc_type()) + 4 * eps_of(b->type),
                    own = 0;
        if (J->kernel == JACOBI_K8) own = (long double)b->n * 100 * (sweeps + 1) * eps_of(b->type);
        NEAR(change2, want, eps * (want + 1e-30L) + own, "change2 of %s",
             jacobi_kernel_name(J->kernel));
    }
}

/* ---- every kernel -------------------------------------------------------------------------- */

/* Around the sizes of tiles and vectors; the first FEW unless KRY_FULL is set. */
enum { FEW = 4 };
static const int64_t sizes[][3] = {
    { 33, 5, 5 }, { 1, 1, 1 },   { 59, 27, 7 }, { 130, 9, 5 }, { 1, 3, 2 },   { 20, 21, 50 },
    { 2, 1, 1 },  { 1, 1, 40 },  { 5, 4, 3 },   { 8, 8, 8 },   { 7, 33, 9 },  { 32, 4, 4 },
    { 31, 3, 4 }, { 58, 26, 6 }, { 26, 26, 5 }, { 27, 25, 9 }, { 64, 33, 3 }, { 3, 70, 2 },
};

/* Compiling takes most of the time: without KRY_FULL each kernel is looked at in few ways. */
static const struct view {
    const char *profile, *single, *twofold, *full; /* kernels in single, in double; in both */
} views[] = {
    { "", "k2 k4 k6", "stream block k1 k3 k5 k7 k8", "stream block k1 k2 k3 k4 k5 k6 k7 k8" },
    { "gpu-kernels", "block k1 k6 k1a k4a", "stream k3 k8",
      "stream block k1 k2 k3 k4 k5 k6 k7 k8 k1a k2a k3a k4a" },
    { "opencl=1.1", "k7", "k5", "k5 k7" },
    { "gpu-kernels opencl=1.1", "", "", "k6 k7" },
    { "gpu-kernels local=16384 group=128", "", "block", "block" },
};

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += length)
        if ((p == words || p[-1] == ' ') && (!p[length] || p[length] == ' ')) return true;
    return false;
}

static bool wanted(const struct view *v, jacobi_kernel kernel, kry_type type)
{
    const char *name = jacobi_kernel_name(kernel);
    if (getenv("KRY_FULL")) return has_word(v->full, name);
    return has_word(type == KRY_F32 ? v->single : v->twofold, name);
}

static bool needs_images(jacobi_kernel k)
{
    return jacobi_by_texture(k) || (k >= JACOBI_K5 && k <= JACOBI_K7);
}

static bool runs_here(jacobi_kernel k)
{
    const kry_device_info *info = kry_device_get_info(device());
    if (needs_images(k) && !info->images) return false;
    return k < JACOBI_K1A || !info->cpu_kernels;
}

static void check_kernel(kry_type type, jacobi_kernel kernel)
{
    size_t count = getenv("KRY_FULL") ? COUNT(sizes) : FEW;
    /* Each number of diagonals is a kernel of its own, and formats have tests of theirs. */
    size_t step = kernel == JACOBI_K8 ? 4 : 1;
    for (size_t s = 0; s < count; s += step) {
        box b = box_create(type, sizes[s][0], sizes[s][1], sizes[s][2]);
        if (!too_large(b.n * 20)) {
            jacobi *J = jacobi_of(&b, kernel);
            check_runs(J, &b);
            jacobi_release(&J);
        }
        box_release(&b);
    }
}

static void jacobi_run__every_kernel_against_plain_c(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    for (size_t v = 0; v < COUNT(views); v++) {
        use_profile(views[v].profile);
        kry_type type = type_of(state);
        for (int k = 0; k < JACOBI_KERNEL_COUNT; k++)
            if (wanted(&views[v], k, type) && runs_here(k)) check_kernel(type, k);
    }
}

/* Sides that are not given are 0, and so are the points at the start. */
static void jacobi_create__nothing_given(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    use_profile("");
    kry_type type = type_of(state);
    for (int k = 0; k < JACOBI_KERNEL_COUNT; k++) {
        double change2 = NAN;
        if (!runs_here(k) || !wanted(&views[0], k, type)) continue;
        box b = box_create(type, 9, 6, 5);
        for (int side = 0; side < SIDES; side++)
            if (side != Y_HIGH) free(b.side[side]), b.side[side] = NULL;
        memset(b.w, 0, (size_t)b.n * sizeof *b.w);
        jacobi *J = jacobi_of(&b, k);
        compare(J, &b, 0);
        OK(jacobi_run(J, 0, &change2));
        assert_true(change2 == 0);
        compare(J, &b, 0);
        OK(jacobi_run(J, 6, NULL));
        for (int s = 0; s < 6; s++) box_sweep(&b);
        compare(J, &b, 6);
        jacobi_release(&J);
        box_release(&b);
    }
}

/* ---- groups that wait for each other ------------------------------------------------------- */

/* Far more groups than run at once wait in vain: the plain kernel starts again from the copy. */
static void jacobi_run__waiting_in_vain_loses_nothing(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    static const jacobi_kernel kernels[] = { JACOBI_K1A, JACOBI_K4A };
    kry_type type = KRY_F32;
    (void)state;

    use_profile("gpu-kernels");
    for (size_t i = 0; i < COUNT(kernels); i++) {
        if (!runs_here(kernels[i])) continue;
        box b = box_create(type, 40, 9, 5);
        jacobi *J = jacobi_of(&b, kernels[i]);
        assert_true(J->launches_per_sweep == 0);
        write_points(J, &b);
        for (int run = 0; run < 3; run++) {
            if (run == 1) jacobi_wait_for(J, 60000);
            OK(jacobi_run(J, 5, NULL));
            for (int s = 0; s < 5; s++) box_sweep(&b);
            compare(J, &b, 5 * (run + 1));
            assert_true(J->launches_per_sweep == (run > 0));
        }
        assert_non_null(strstr(J->variant, "waited in vain"));
        jacobi_release(&J);
        box_release(&b);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refused(jacobi_kernel k, int64_t ny, const char *why, const char *instead)
{
    const jacobi_box box = { .size = { 2, ny, 2 } };
    jacobi *J;
    REFUSES(jacobi_create(device(), KRY_F32, k, &box, &J), KRY_ERR_UNSUPPORTED, why);
    assert_null(J);
    assert_non_null(strstr(kry_last_error(), instead));
}

static void jacobi_create__devices_without(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    (void)state;
    use_profile("no-images gpu-kernels");
    for (int k = 0; k < JACOBI_KERNEL_COUNT; k++)
        if (needs_images(k)) refused(k, 2, "images", "use k1 or k3");
    use_profile("gpu-kernels group=8");
    refused(JACOBI_BLOCK, 2, "no tile fits", "use stream");
    use_profile("gpu-kernels");
    if (kry_device_get_info(device())->images) {
        refused(JACOBI_K2, 10000000, "the sides need an image", "use k1 or k3");
        refused(JACOBI_K6, 10000000, "fit into no image", "use k1 or k3");
    }
    use_profile("cpu-kernels");
    refused(JACOBI_K4A, 2, "do not wait for each other", "use k4");
}

/* Without memory in the library at any point: nothing is made, nothing stays behind, then it works. */
static void jacobi_create__no_memory(void **state)
{
    NOT_ON_HOST("kernels of the caller's");
    static const jacobi_kernel some[] = { JACOBI_STREAM, JACOBI_BLOCK, JACOBI_K2,
                                          JACOBI_K6,     JACOBI_K8,    JACOBI_K1A };
    (void)state;
    for (size_t i = 0; i < COUNT(some); i++) {
        use_profile(some[i] == JACOBI_K1A ? "gpu-kernels" : "");
        if (!runs_here(some[i])) continue;
        box b = box_create(KRY_F32, 6, 5, 4);
        jacobi_box of = { .size = { 6, 5, 4 } };
        kry_status st = KRY_ERR_MEMORY;
        jacobi *J = NULL;
        for (int side = 0; side < SIDES; side++) of.side[side] = b.side[side];
        for (int k = 0; st == KRY_ERR_MEMORY; k++) {
            int refs = device_references(device());
            st = FAILING(k, jacobi_create(device(), KRY_F32, some[i], &of, &J));
            if (st < 0) assert_null(J);
            if (st < 0) assert_int_equal(device_references(device()), refs);
        }
        OK(st);
        check_runs(J, &b);
        jacobi_release(&J);
        box_release(&b);
    }
}

/* ---- published numbers ---------------------------------------------------------------------- */

/* m points between the sides of the unit cube; sin(pi y z) and so on where x, y or z is 1. */
static jacobi *unit_cube(kry_type type, int64_t m, jacobi_kernel kernel)
{
    jacobi *J;
    double *face = calloc((size_t)(m * m), sizeof *face);
    assert_non_null(face);
    for (int64_t q = 0; q < m; q++)
        for (int64_t p = 0; p < m; p++) {
            double h = 1.0 / (double)(m + 1);
            face[q * m + p] = sin(acos(-1.0) * ((double)(p + 1) * h) * ((double)(q + 1) * h));
        }
    const jacobi_box box = { .size = { m, m, m },
                             .side = { [X_HIGH] = face, [Y_HIGH] = face, [Z_HIGH] = face } };
    OK(jacobi_create(device(), type, kernel, &box, &J));
    free(face);
    return J;
}

typedef struct golden {
    int m;
    long long steps;
    char type[8];
    double change2, value[4];
} golden;

static void check_golden(const golden *g, jacobi_kernel kernel)
{
    kry_type type = g->type[0] == 'f' ? KRY_F32 : KRY_F64;
    jacobi *J = unit_cube(type, g->m, kernel);
    size_t m = (size_t)g->m;
    void *host = calloc(m * m * m, kry_type_size(type));
    int64_t low = (g->m + 1) / 5 - 1, high = 4 * (g->m + 1) / 5 - 1; /* 0.2 and 0.8 */
    double change2;

    assert_non_null(host);
    OK(jacobi_run(J, g->steps, &change2));
    OK(jacobi_read(J, host));
    for (int q = 0; q < 4; q++) {
        int64_t i = q > 2 ? high : low, j = q > 1 ? high : low, k = q > 0 ? high : low;
        double got = at(type, host, i + g->m * (j + g->m * k));
        /* In single the order of additions shows. */
        NEAR(got, g->value[q], type == KRY_F64 ? 1e-14 : 2e-5, "m = %d, sweep %lld", g->m,
             g->steps);
    }
    if (type == KRY_F64) NEAR(change2, g->change2, 6e-5 * g->change2 + 1e-24, "eps");
    free(host);
    jacobi_release(&J);
}

static void jacobi_on_the_unit_cube__published(void **state)
{
    (void)state;
    const char *folder = getenv("KRY_GOLDEN_DIR");
    char text[1200];
    int lines = 0;

    if (!folder) SKIP("KRY_GOLDEN_DIR is not set");
    use_profile("");
    snprintf(text, sizeof text, "%s/C_jacobi_steps.csv", folder);
    FILE *f = fopen(text, "r");
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        golden g;
        if (sscanf(text, "%d,%lld,%7[a-z],%lf,%lf,%lf,%lf,%lf", &g.m, &g.steps, g.type, &g.change2,
                   &g.value[0], &g.value[1], &g.value[2], &g.value[3]) != 8)
            continue;
        if (g.m > 19 || g.steps > 10000) continue;
        if (g.type[0] == 'd' && !kry_device_get_info(device())->fp64) continue;
        check_golden(&g, JACOBI_STREAM);
        check_golden(&g, JACOBI_BLOCK);
        lines++;
    }
    assert_true(lines >= 8);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(jacobi_run__every_kernel_against_plain_c),
        BOTH(jacobi_create__nothing_given),
        cmocka_unit_test(jacobi_run__waiting_in_vain_loses_nothing),
        cmocka_unit_test(jacobi_create__devices_without),
        cmocka_unit_test(jacobi_create__no_memory),
        cmocka_unit_test(jacobi_on_the_unit_cube__published),
    };
    return cmocka_run_group_tests_name("akhtar", tests, keep_profile, restore_profile);
}
