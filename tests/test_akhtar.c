/*
 * test_laplace.c - every kernel of the Laplace iteration against plain C, to the bit, on boxes
 * around the sizes of tiles, with CPU and GPU kernels, with images of three and of two dimensions
 * and little local memory, with tiles of the tuning file; sums of squared updates; waits that are
 * aborted; published numbers.
 */
#include "device/barrier.h"
#include "device/tuning.h"
#include "operator/direction.h"
#include "testing.h"
#include <kry/laplace.h>

/* ---- the same on the host ------------------------------------------------------------------ */

typedef struct box {
    kry_type type;
    int64_t size[3], n;
    double *face[KRY_SIDES];
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
    for (int side = 0; side < KRY_SIDES; side++)
        b.face[side] = random_array(type, face_numbers(b.size, side));
    b.w = random_array(type, b.n);
    b.old = random_array(type, b.n);
    return b;
}

static void box_release(box *b)
{
    for (int side = 0; side < KRY_SIDES; side++) free(b->face[side]);
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
        const double *face = b->face[2 * a + (at[a] > 0)];
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

static kry_laplace_params params_of(const box *b, kry_laplace_kernel kernel)
{
    kry_laplace_params p = *KRY_LAPLACE(.kernel = kernel);
    for (int a = 0; a < 3; a++) p.size[a] = b->size[a];
    for (int side = 0; side < KRY_SIDES; side++) p.face[side] = b->face[side];
    return p;
}

static void write_points(kry_laplace *L, const box *b)
{
    void *host = in_type(b->type, b->w, b->n);
    OK(kry_laplace_write(L, host));
    free(host);
}

static void compare(const kry_laplace *L, const box *b, int sweep)
{
    size_t bytes = (size_t)b->n * kry_type_size(b->type);
    unsigned char *host = malloc(bytes);
    /* k8 adds in another order, and three more times: a few roundings a sweep of numbers < 2. */
    long double bound = 0;
    kry_laplace_info info;

    kry_laplace_describe(L, &info);
    if (info.kernel == KRY_LAPLACE_K8) bound = 24 * (sweep + 1) * eps_of(b->type);
    assert_non_null(host);
    memset(host, 0xff, bytes); /* NaN */
    OK(kry_laplace_read(L, host));
    for (int64_t p = 0; p < b->n; p++)
        NEAR(at(b->type, host, p), b->w[p], bound, "%s, %lld x %lld x %lld, sweep %d, point %lld",
             kry_laplace_kernel_name(info.kernel), (long long)b->size[0], (long long)b->size[1],
             (long long)b->size[2], sweep, (long long)p);
    free(host);
}

/* Runs of 1, 2, 7 and 3 sweeps, the last two with their sum of squares. */
static void check_runs(kry_laplace *L, box *b)
{
    static const int runs[] = { 1, 2, 7, 3 };
    int sweeps = 0;

    write_points(L, b);
    compare(L, b, 0);
    for (int r = 0; r < (int)COUNT(runs); r++) {
        double change2 = NAN;
        OK(kry_laplace_run(L, runs[r], r > 1 ? &change2 : NULL));
        for (int s = 0; s < runs[r]; s++) box_sweep(b);
        sweeps += runs[r];
        compare(L, b, sweeps);
        if (r < 2) continue;
        long double want = box_change2(b);
        kry_laplace_info info;
        kry_laplace_describe(L, &info);
        /* Rounding in the sum, and in single or k8 that of numbers < 2 before the difference. */
        long double eps = eps_of(acc_type()), own = 0;
        if (info.kernel == KRY_LAPLACE_K8)
            own = (long double)b->n * 100 * (sweeps + 1) * eps_of(b->type);
        NEAR(change2, want, (long double)(b->n + 8) * eps * (want + 1e-30L) + own, "change2 of %s",
             kry_laplace_kernel_name(info.kernel));
    }
}

/* ---- every kernel -------------------------------------------------------------------------- */

static const int64_t sizes[][3] = {
    { 1, 1, 1 },   { 2, 1, 1 },   { 1, 3, 2 },   { 1, 1, 40 },  { 5, 4, 3 },   { 8, 8, 8 },
    { 7, 33, 9 },  { 32, 4, 4 },  { 33, 5, 5 },  { 31, 3, 4 },  { 58, 26, 6 }, { 59, 27, 7 },
    { 26, 26, 5 }, { 27, 25, 9 }, { 130, 9, 5 }, { 64, 33, 3 }, { 3, 70, 2 },  { 20, 21, 50 },
};

/* Compiling takes most of the time: what does not depend on the number type is looked at in one. */
static const struct view {
    const char *profile;
    const char *kernels; /* NULL: all */
    kry_type type;       /* 0: both */
} views[] = {
    { "", NULL, 0 },
    { "gpu-kernels", "stream block k1 k2 k3 k4 k5 k6 k7 k1a k4a", KRY_F32 },
    { "gpu-kernels", "stream block k3 k7 k8 k2a k3a", KRY_F64 },
    { "opencl=1.1", "k5 k6", KRY_F64 },
    { "gpu-kernels opencl=1.1", "k7", KRY_F32 },
    { "gpu-kernels local=16384 group=128", "block", 0 },
};

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    if (!words) return true;
    for (const char *p = words; (p = strstr(p, word)); p += length)
        if ((p == words || p[-1] == ' ') && (!p[length] || p[length] == ' ')) return true;
    return false;
}

static bool needs_images(kry_laplace_kernel k)
{
    return k == KRY_LAPLACE_K2 || k == KRY_LAPLACE_K4 || k == KRY_LAPLACE_K2A ||
           k == KRY_LAPLACE_K4A || (k >= KRY_LAPLACE_K5 && k <= KRY_LAPLACE_K7);
}

static bool runs_here(kry_laplace_kernel k)
{
    const kry_device_info *info = kry_device_get_info(device());
    if (needs_images(k) && !info->images) return false;
    return k < KRY_LAPLACE_K1A || !info->cpu_kernels;
}

static void check_kernel(kry_type type, kry_laplace_kernel kernel)
{
    /* Each number of diagonals is a kernel of its own, and formats have tests of theirs. */
    size_t step = kernel == KRY_LAPLACE_K8 ? 4 : 1;
    for (size_t s = 0; s < COUNT(sizes); s += step) {
        box b = box_create(type, sizes[s][0], sizes[s][1], sizes[s][2]);
        kry_laplace_params p = params_of(&b, kernel);
        kry_laplace *L = NULL;
        if (!too_large(b.n * 20)) {
            OK(kry_laplace_create(device(), type, &p, &L));
            check_runs(L, &b);
            kry_laplace_release(&L);
        }
        box_release(&b);
    }
}

/* Patches of every shape that differs, odd and even rounds, marches that end within a round; boxes
 * that have a tile without sides, one that ends in the middle of a vector, and a flat one. */
static void laplace_run__tiles_of_the_tuning_file(void **state)
{
    const char *name = type_of(state) == KRY_F32 ? "laplace-block-single" : "laplace-block-double";
    static const char *const lines[] = {
        "sweeps=3 x=64 y=32 rows=4 buffers=2 depth=7 registers=168 cols=4 unroll=6",
        "sweeps=3 x=32 y=20 rows=2 buffers=1 depth=0 registers=0 cols=4 unroll=1",
        "sweeps=2 x=24 y=9 rows=3 buffers=2 depth=5 registers=0 cols=2 unroll=3",
        "sweeps=1 x=16 y=7 rows=1 buffers=2 depth=3 registers=0 cols=4 unroll=2",
        "sweeps=4 x=24 y=16 rows=8 buffers=1 depth=4", /* without cols and unroll */
        "sweeps=2 x=16 y=8 rows=3 buffers=1 depth=0 registers=0 cols=3 unroll=1", /* refused */
    };
    static const int64_t boxes[][3] = { { 118, 57, 11 }, { 45, 38, 9 }, { 30, 3, 2 } };
    kry_type type = type_of(state);

    use_profile("gpu-kernels");
    for (size_t l = 0; l < COUNT(lines); l++) {
        kry_tuning_set(device(), name, lines[l]);
        for (size_t s = 0; s < COUNT(boxes); s++) {
            box b = box_create(type, boxes[s][0], boxes[s][1], boxes[s][2]);
            kry_laplace_params p = params_of(&b, KRY_LAPLACE_BLOCK);
            kry_laplace *L = NULL;
            OK(kry_laplace_create(device(), type, &p, &L));
            check_runs(L, &b);
            kry_laplace_release(&L);
            box_release(&b);
        }
    }
    kry_tuning_set(device(), name, "?");
}

static void laplace_run__every_kernel_against_plain_c(void **state)
{
    for (size_t v = 0; v < COUNT(views); v++) {
        use_profile(views[v].profile);
        kry_type type = type_of(state);
        if (views[v].type && views[v].type != type) continue;
        for (int k = 0; k < KRY_LAPLACE_KERNEL_COUNT; k++)
            if (has_word(views[v].kernels, kry_laplace_kernel_name(k)) && runs_here(k))
                check_kernel(type, k);
    }
}

/* Sides that are not given are 0, and so are the points at the start. */
static void laplace_create__nothing_given(void **state)
{
    use_profile("");
    kry_type type = type_of(state);
    for (int k = 0; k < KRY_LAPLACE_KERNEL_COUNT; k++) {
        kry_laplace *L;
        double change2 = NAN;
        if (!runs_here(k)) continue;
        box b = box_create(type, 9, 6, 5);
        for (int side = 0; side < KRY_SIDES; side++)
            if (side != KRY_Y_HIGH) free(b.face[side]), b.face[side] = NULL;
        memset(b.w, 0, (size_t)b.n * sizeof *b.w);
        kry_laplace_params p = params_of(&b, k);
        OK(kry_laplace_create(device(), type, &p, &L));
        compare(L, &b, 0);
        OK(kry_laplace_run(L, 0, &change2));
        assert_true(change2 == 0);
        compare(L, &b, 0);
        OK(kry_laplace_run(L, 6, NULL));
        for (int s = 0; s < 6; s++) box_sweep(&b);
        compare(L, &b, 6);
        kry_laplace_release(&L);
        box_release(&b);
    }
}

/* ---- groups that wait for each other ------------------------------------------------------- */

static void laplace_run__aborted_wait_loses_nothing(void **state)
{
    use_profile("gpu-kernels");
    kry_type type = type_of(state);
    for (int k = KRY_LAPLACE_K1A; k <= KRY_LAPLACE_K4A; k++) {
        kry_laplace *L;
        kry_laplace_info info;
        if (!runs_here(k) ||
            !has_word(type == KRY_F32 ? "k1a k4a" : "k2a k3a", kry_laplace_kernel_name(k)))
            continue;
        box b = box_create(type, 40, 9, 5);
        kry_laplace_params p = params_of(&b, k);
        OK(kry_laplace_create(device(), type, &p, &L));
        kry_laplace_describe(L, &info);
        assert_true(info.launches_per_sweep == 0);
        write_points(L, &b);
        kry_test_abort_at = 1; /* the second launch */
        for (int run = 0; run < 3; run++) {
            OK(kry_laplace_run(L, 5, NULL));
            for (int s = 0; s < 5; s++) box_sweep(&b);
            compare(L, &b, 5 * (run + 1));
        }
        assert_int_equal(kry_test_abort_at, -1);
        kry_laplace_describe(L, &info);
        assert_true(info.launches_per_sweep == 1);
        assert_non_null(strstr(info.variant, "did not end"));
        kry_laplace_release(&L);
        box_release(&b);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void laplace_create__bad_arguments(void **state)
{
    use_profile("");
    kry_type type = type_of(state);
    kry_device *dev = device();
    double face[6] = { 0 };
    kry_laplace *L = (void *)face;

    REFUSES(kry_laplace_create(NULL, type, KRY_LAPLACE(.size = { 1, 1, 1 }), &L), KRY_ERR_ARGUMENT,
            "NULL");
    assert_null(L);
    REFUSES(kry_laplace_create(dev, type, NULL, &L), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_laplace_create(dev, type, KRY_LAPLACE(.size = { 4, 0, 4 }), &L), KRY_ERR_ARGUMENT,
            "4 x 0 x 4");
    REFUSES(kry_laplace_create(dev, type, KRY_LAPLACE(.size = { 4, 4, -1 }), &L), KRY_ERR_ARGUMENT,
            "4 x 4 x -1");
    REFUSES(kry_laplace_create(dev, type, KRY_LAPLACE(.size = { 1 << 20, 1 << 10, 2 }), &L),
            KRY_ERR_ARGUMENT, "2^31 points");
    REFUSES(kry_laplace_create(dev, type, KRY_LAPLACE(.size = { 1, 1, 1 }, .kernel = 99), &L),
            KRY_ERR_ARGUMENT, "99 is no kernel");
    REFUSES(kry_laplace_create(dev, 7, KRY_LAPLACE(.size = { 1, 1, 1 }), &L), KRY_ERR_ARGUMENT,
            "7 is not a number type");
    for (int k = 0; k < KRY_LAPLACE_KERNEL_COUNT; k++) {
        if (!runs_here(k)) continue;
        face[4] = NAN;
        REFUSES(kry_laplace_create(dev, type,
                                   KRY_LAPLACE(.size = { 3, 2, 2 }, .face[KRY_Y_LOW] = face,
                                               .kernel = (kry_laplace_kernel)k),
                                   &L),
                KRY_ERR_ARGUMENT, "face 'y low' has nan at (1, 1)");
        face[4] = 1e300;
        if (type == KRY_F32)
            REFUSES(kry_laplace_create(dev, type,
                                       KRY_LAPLACE(.size = { 3, 2, 2 }, .face[KRY_Z_HIGH] = face,
                                                   .kernel = (kry_laplace_kernel)k),
                                       &L),
                    KRY_ERR_ARGUMENT, "no finite number in single");
        assert_null(L);
    }
    OK(kry_laplace_create(dev, type, KRY_LAPLACE(.size = { 3, 2, 2 }), &L));
    REFUSES(kry_laplace_run(L, -1, NULL), KRY_ERR_ARGUMENT, "-1 sweeps");
    REFUSES(kry_laplace_read(L, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_laplace_write(L, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_laplace_release(&L);
    REFUSES(kry_laplace_run(NULL, 1, face), KRY_ERR_ARGUMENT, "NULL");
}

static void refused(kry_type type, kry_laplace_kernel k, int64_t ny, const char *why,
                    const char *instead)
{
    kry_laplace *L;
    REFUSES(kry_laplace_create(device(), type, KRY_LAPLACE(.size = { 2, ny, 2 }, .kernel = k), &L),
            KRY_ERR_UNSUPPORTED, why);
    assert_null(L);
    assert_non_null(strstr(kry_last_error(), instead));
}

typedef struct probes {
    char name[64][128];
    int count;
} probes;

static void find_probe(const char *name, const char *value, void *user)
{
    probes *p = user;
    (void)value;
    if (!strncmp(name, "barrier/", 8) && p->count < (int)COUNT(p->name))
        snprintf(p->name[p->count++], sizeof p->name[0], "%s", name);
}

/* What is kept of earlier runs says that groups do wait for each other. */
static void forget_probes(void)
{
    static probes found;
    found.count = 0;
    kry_tuning_each(device(), find_probe, &found);
    for (int i = 0; i < found.count; i++) kry_tuning_set(device(), found.name[i], "?");
}

static void laplace_create__devices_without(void **state)
{
    const kry_type type = KRY_F32;
    (void)state;
    use_profile("no-images gpu-kernels");
    for (int k = 0; k < KRY_LAPLACE_KERNEL_COUNT; k++)
        if (needs_images(k)) refused(type, k, 2, "images", "use k1 or k3");
    use_profile("gpu-kernels group=8");
    refused(type, KRY_LAPLACE_BLOCK, 2, "no tile fits", "use stream");
    use_profile("gpu-kernels");
    if (kry_device_get_info(device())->images) {
        refused(type, KRY_LAPLACE_K2, 10000000, "the sides need an image", "use k1 or k3");
        refused(type, KRY_LAPLACE_K6, 10000000, "fit into no image", "use k1 or k3");
    }
    use_profile("gpu-kernels");
    kry_test_stale_messages = 1;
    forget_probes();
    refused(type, KRY_LAPLACE_K1A, 2, "do not pass each other messages", "use k1");
    kry_test_stale_messages = 0;
    use_profile("cpu-kernels");
    refused(type, KRY_LAPLACE_K4A, 2, "do not wait for each other", "use k4");
}

/* Without memory at any point: nothing is made, nothing stays behind, and then it works. */
static void laplace_create__no_memory(void **state)
{
    static const kry_laplace_kernel some[] = { KRY_LAPLACE_STREAM, KRY_LAPLACE_BLOCK,
                                               KRY_LAPLACE_K1,     KRY_LAPLACE_K2,
                                               KRY_LAPLACE_K6,     KRY_LAPLACE_K8,
                                               KRY_LAPLACE_K3A };
    for (size_t i = 0; i < COUNT(some); i++) {
        use_profile(some[i] == KRY_LAPLACE_K3A ? "gpu-kernels" : "");
        if (!runs_here(some[i])) continue;
        kry_type type = type_of(state);
        box b = box_create(type, 6, 5, 4);
        kry_laplace_params p = params_of(&b, some[i]);
        kry_status st = KRY_ERR_MEMORY;
        kry_laplace *L = NULL;
        for (int k = 0; st == KRY_ERR_MEMORY; k++) {
            int refs = device()->refs;
            kry_test_fail_at = k;
            st = kry_laplace_create(device(), type, &p, &L);
            kry_test_fail_at = -1;
            if (st < 0) assert_null(L);
            if (st < 0) assert_int_equal(device()->refs, refs);
        }
        OK(st);
        check_runs(L, &b);
        kry_laplace_release(&L);
        box_release(&b);
    }
}

/* ---- names --------------------------------------------------------------------------------- */

static void laplace_kernel__names(void **state)
{
    (void)state;
    for (int k = 0; k < KRY_LAPLACE_KERNEL_COUNT; k++) {
        kry_laplace_kernel found = KRY_LAPLACE_KERNEL_COUNT;
        OK(kry_laplace_kernel_parse(kry_laplace_kernel_name(k), &found));
        assert_int_equal(found, k);
    }
    kry_laplace_kernel none;
    assert_string_equal(kry_laplace_kernel_name(99), "?");
    REFUSES(kry_laplace_kernel_parse("k9", &none), KRY_ERR_PARSE, "\"k9\" is none of stream block");
    REFUSES(kry_laplace_kernel_parse(NULL, &none), KRY_ERR_PARSE, "k4a");
}

static void laplace_retain__outlives_the_device(void **state)
{
    kry_device *dev;
    kry_laplace *L, *again;
    OK(kry_device_open(NULL, &dev));
    (void)state;
    OK(kry_laplace_create(dev, KRY_F32, KRY_LAPLACE(.size = { 2, 2, 2 }), &L));
    kry_device_release(&dev);
    again = kry_laplace_retain(L);
    kry_laplace_release(&L);
    assert_null(L);
    OK(kry_laplace_run(again, 2, NULL));
    kry_laplace_release(&again);
    kry_laplace_release(&again);
}

/* ---- published numbers ---------------------------------------------------------------------- */

/* m points between the sides of the unit cube; sin(pi y z) and so on where x, y or z is 1. */
static kry_laplace *unit_cube(kry_type type, int64_t m, kry_laplace_kernel kernel)
{
    kry_laplace *L;
    double *face = calloc((size_t)(m * m), sizeof *face);
    assert_non_null(face);
    for (int64_t q = 0; q < m; q++)
        for (int64_t p = 0; p < m; p++) {
            double h = 1.0 / (double)(m + 1);
            face[q * m + p] = sin(acos(-1.0) * ((double)(p + 1) * h) * ((double)(q + 1) * h));
        }
    OK(kry_laplace_create(
        device(), type,
        KRY_LAPLACE(.size = { m, m, m },
                    .face = { [KRY_X_HIGH] = face, [KRY_Y_HIGH] = face, [KRY_Z_HIGH] = face },
                    .kernel = kernel),
        &L));
    free(face);
    return L;
}

typedef struct golden {
    int m;
    long long steps;
    char type[8];
    double change2, value[4];
} golden;

static void check_golden(const golden *g, kry_laplace_kernel kernel)
{
    kry_type type = g->type[0] == 'f' ? KRY_F32 : KRY_F64;
    kry_laplace *L = unit_cube(type, g->m, kernel);
    size_t m = (size_t)g->m;
    void *host = calloc(m * m * m, kry_type_size(type));
    int64_t low = (g->m + 1) / 5 - 1, high = 4 * (g->m + 1) / 5 - 1; /* 0.2 and 0.8 */
    double change2;

    assert_non_null(host);
    OK(kry_laplace_run(L, g->steps, &change2));
    OK(kry_laplace_read(L, host));
    for (int q = 0; q < 4; q++) {
        int64_t i = q > 2 ? high : low, j = q > 1 ? high : low, k = q > 0 ? high : low;
        double got = at(type, host, i + g->m * (j + g->m * k));
        /* In single the order of additions shows. */
        NEAR(got, g->value[q], type == KRY_F64 ? 1e-14 : 2e-5, "m = %d, sweep %lld", g->m,
             g->steps);
    }
    if (type == KRY_F64) NEAR(change2, g->change2, 6e-5 * g->change2 + 1e-24, "eps");
    free(host);
    kry_laplace_release(&L);
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
        check_golden(&g, KRY_LAPLACE_STREAM);
        check_golden(&g, KRY_LAPLACE_BLOCK);
        lines++;
    }
    assert_true(lines >= 8);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(laplace_run__every_kernel_against_plain_c),
        BOTH(laplace_run__tiles_of_the_tuning_file),
        BOTH(laplace_create__nothing_given),
        BOTH(laplace_run__aborted_wait_loses_nothing),
        BOTH(laplace_create__bad_arguments),
        cmocka_unit_test(laplace_create__devices_without),
        BOTH(laplace_create__no_memory),
        cmocka_unit_test(laplace_kernel__names),
        cmocka_unit_test(laplace_retain__outlives_the_device),
        cmocka_unit_test(jacobi_on_the_unit_cube__published),
    };
    return cmocka_run_group_tests_name("laplace", tests, keep_profile, restore_profile);
}
