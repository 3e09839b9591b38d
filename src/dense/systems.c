/*
 * systems.c - many small systems of one pattern: checks, and how the systems are shared out to work-groups. Kernels:
 * cl/dense/systems.cl.
 *
 * Storage     of a system, in local memory if that is large enough, else in a buffer with room for the systems that are solved at
 *             once: CG 5 n, BiCGStab 8 n, LU n (n + 2) numbers and 2 n integers; LU in a buffer n^2, and a panel of p = 4 to 16
 *             columns in local memory if that holds it
 * Words moved CG, BiCGStab: the entries, b and x once if all is in local memory. LU: likewise, and in a buffer n^3 / (2 p) for
 *             factors that are read again, without panels 2/3 n^3
 * Waits       for a summary of how the systems ended, and for each of these where that is wanted
 */
#include "dense/dense.h"
#include <kry/systems.h>
#include <kry/tridiagonal.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 32768, LU_ROWS = 64, GUESS = 1, JACOBI = 2, MOST_SUMMARIES = 256 };

struct kry_systems {
    kry_device *dev; /* retained */
    kry_type type;
    int64_t n, entries;
    cl_mem row_ptr, col; /* n + 1 and `entries` of cl_int, owned; NULL: dense */
    kry_systems_params params;
    cl_mem work, ends, residuals, summaries; /* owned, kept for the next call */
    kry_vec *diagonals;                      /* likewise: n-by-3 systems of TRIDIAGONAL */
    size_t work_bytes;
    int64_t room; /* systems that `ends` and `residuals` are for */
};

/* The systems of a call. */
typedef struct call {
    kry_systems *B;
    const kry_vec *values, *b;
    kry_vec *x;
    int64_t systems, columns; /* columns: right-hand sides of a matrix */
} call;

static const char *const verdicts[] = { "solved",
                                        "the iteration limit was reached",
                                        "the recurrence broke down",
                                        "the residual stopped falling",
                                        "the matrix is singular, or nearly so",
                                        "a number is not finite" };

const char *kry_systems_verdict_text(kry_systems_verdict verdict)
{
    return (unsigned)verdict < COUNT(verdicts) ? verdicts[verdict] : "no verdict";
}

/* ---- creation -------------------------------------------------------------------------------- */

static kry_status check_pattern(int64_t n, const int64_t *row_ptr, const int32_t *col,
                                bool *tridiagonal)
{
    static const char who[] = "kry_systems_create";
    kry_status st = KRY_OK;

    *tridiagonal = true;
    CHECK(row_ptr[0] == 0, KRY_ERR_ARGUMENT, "%s: row_ptr[0] is %lld, not 0", who,
          (long long)row_ptr[0]);
    for (int64_t i = 0; i < n; i++) {
        CHECK(row_ptr[i + 1] >= row_ptr[i] && row_ptr[i + 1] <= INT_MAX, KRY_ERR_ARGUMENT,
              "%s: row_ptr[%lld] is %lld, after %lld; it may not fall, and be 2^31 - 1 at most",
              who, (long long)i + 1, (long long)row_ptr[i + 1], (long long)row_ptr[i]);
        CHECK(col || row_ptr[i + 1] == 0, KRY_ERR_ARGUMENT, "%s: col is NULL", who);
        for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            CHECK(col[e] >= 0 && col[e] < n, KRY_ERR_ARGUMENT,
                  "%s: column %d at entry %lld (row %lld) is outside [0, %lld)", who, (int)col[e],
                  (long long)e, (long long)i, (long long)n);
            if (llabs((long long)col[e] - i) > 1) *tridiagonal = false;
        }
    }
done:
    return st;
}

static kry_status upload_pattern(kry_systems *B, const int64_t *row_ptr, const int32_t *col)
{
    kry_status st = KRY_OK;
    cl_int *narrow = NULL;

    TRY(kryi_alloc((uint64_t)B->n + 1, sizeof *narrow, &narrow));
    for (int64_t i = 0; i <= B->n; i++) narrow[i] = (cl_int)row_ptr[i];
    TRY(kryi_buffer_upload(B->dev, (size_t)(B->n + 1) * sizeof *narrow, narrow, &B->row_ptr));
    TRY(kryi_buffer_upload(B->dev, (size_t)B->entries * sizeof *col, col, &B->col));
done:
    free(narrow);
    return st;
}

/* Check the parameters and fill in their defaults. */
static kry_status take_params(kry_systems *B, const kry_systems_params *given, bool dense,
                              bool tridiagonal)
{
    static const char who[] = "kry_systems_create";
    kry_status st = KRY_OK;
    kry_systems_params *p = &B->params;

    TRY(kryi_params_take(who, "KRY_SYSTEMS", given, p, sizeof *p));
    CHECK((unsigned)p->method <= KRY_SYSTEMS_TRIDIAGONAL, KRY_ERR_ARGUMENT,
          "%s: %d is not a method", who, (int)p->method);
    CHECK(p->rtol >= 0 && p->rtol < 1, KRY_ERR_ARGUMENT, "%s: an rtol of %g is not in (0, 1)", who,
          p->rtol);
    CHECK(p->max_iter >= 0 && p->max_iter <= INT_MAX, KRY_ERR_ARGUMENT,
          "%s: a max_iter of %lld is not in [1, 2^31)", who, (long long)p->max_iter);
    CHECK(p->method != KRY_SYSTEMS_TRIDIAGONAL || tridiagonal, KRY_ERR_ARGUMENT,
          "%s: the method is for tridiagonal matrices, and the pattern has other entries", who);
    if (p->rtol == 0) p->rtol = B->type == KRY_F32 ? 1e-4 : 1e-8;
    if (p->max_iter == 0) p->max_iter = 4 * B->n > 100 ? 4 * B->n : 100;
    if (p->method == KRY_SYSTEMS_AUTO)
        p->method = tridiagonal                ? KRY_SYSTEMS_TRIDIAGONAL
                    : dense || B->n <= LU_ROWS ? KRY_SYSTEMS_LU
                                               : KRY_SYSTEMS_BICGSTAB;
done:
    return st;
}

kry_status kry_systems_create(kry_device *dev, kry_type type, int64_t n, const int64_t *row_ptr,
                              const int32_t *col, const kry_systems_params *params,
                              kry_systems **solver)
{
    static const char who[] = "kry_systems_create";
    kry_status st = KRY_OK;
    kry_systems *B = NULL;
    bool tridiagonal = n <= 2;

    if (solver) *solver = NULL;
    TRY(GIVEN(dev, solver));
    CHECK(!dev->team, KRY_ERR_UNSUPPORTED, "%s: '%s' are several devices, and these are for one",
          who, dev->info.name);
    TRY(kryi_type_check(who, dev, type));
    CHECK(n >= 1 && n <= MOST_ROWS, KRY_ERR_SHAPE, "%s: %lld rows are not 1 to %d", who,
          (long long)n, (int)MOST_ROWS);
    if (row_ptr) TRY(check_pattern(n, row_ptr, col, &tridiagonal));
    TRY(kryi_alloc(1, sizeof *B, &B));
    B->dev = kry_device_retain(dev), B->type = type, B->n = n;
    B->entries = row_ptr ? row_ptr[n] : n * n;
    TRY(take_params(B, params, !row_ptr, tridiagonal));
    if (row_ptr) TRY(upload_pattern(B, row_ptr, col));
    *solver = B;
    B = NULL;
done:
    kry_systems_release(&B);
    return st;
}

void kry_systems_release(kry_systems **solver)
{
    kry_systems *B = solver ? *solver : NULL;

    if (!B) return;
    cl_mem *const buffers[] = { &B->row_ptr, &B->col,       &B->work,
                                &B->ends,    &B->residuals, &B->summaries };
    for (size_t i = 0; i < COUNT(buffers); i++) kryi_buffer_release(B->dev, buffers[i]);
    kry_vec_release(&B->diagonals);
    kry_device_release(&B->dev);
    free(B);
    *solver = NULL;
}

int64_t kry_systems_entries(const kry_systems *solver) { return solver ? solver->entries : 0; }

/* ---- a launch -------------------------------------------------------------------------------- */

/* Where the systems' room is, and who solves one. */
typedef struct shape {
    bool on_chip, held; /* in local memory; with the numbers of A */
    int panel;          /* LU in a buffer: columns of a panel in local memory; 0: it has none */
    int sub, at_once;   /* work-items of a system; systems of a group */
    int64_t words;      /* numbers of room for a system */
} shape;

static int64_t vectors_words(const kry_systems *B)
{
    const int64_t n = B->n,
                  integers = 2 * n * (int64_t)sizeof(cl_int) / (int64_t)kry_type_size(B->type);

    if (B->params.method == KRY_SYSTEMS_TRIDIAGONAL) return 0;
    if (B->params.method == KRY_SYSTEMS_LU) return n * (n + 2) + integers;
    return (B->params.method == KRY_SYSTEMS_CG ? 5 : 8) * n;
}

/* Bytes of local memory for a panel, n numbers and 2 n integers. */
static size_t panel_bytes(const kry_systems *B, int panel)
{
    return (size_t)B->n * ((size_t)(panel + 1) * kry_type_size(B->type) + 2 * sizeof(cl_int));
}

/* Bytes of local memory of a group, with two sums for each work-item and three flags. */
static int64_t local_bytes(const kry_systems *B, const shape *s)
{
    const int64_t sums = 4 * (int64_t)kryi_acc_size(B->dev) * s->sub * s->at_once,
                  size = (int64_t)kry_type_size(B->type);
    if (s->panel > 0)
        return sums + 16 + 2 * s->panel * s->panel * size + (int64_t)panel_bytes(B, s->panel);
    return sums + 16 + s->at_once * s->words * size;
}

/* Work-items: as many as a system has rows, in groups of 64 at least, of which small systems share one. */
static shape shape_of(const kry_systems *B, int most)
{
    enum { GROUP = 64 };
    const kry_device_info *info = &B->dev->info;
    const int64_t vectors = vectors_words(B);
    shape s = { .sub = 1, .at_once = 1, .words = vectors };

    if (info->cpu_kernels) return s;
    while (s.sub < B->n && s.sub < most) s.sub *= 2;
    if (s.sub < GROUP && GROUP <= most) s.at_once = GROUP / s.sub;
    for (int held = B->params.method != KRY_SYSTEMS_LU; vectors > 0 && held >= 0; held--) {
        shape t = s;
        t.on_chip = true, t.held = held, t.words = vectors + held * B->entries;
        while (t.at_once > 1 && local_bytes(B, &t) > info->local_bytes) t.at_once /= 2;
        if (local_bytes(B, &t) <= info->local_bytes) return t;
    }
    for (int panel = 16; B->params.method == KRY_SYSTEMS_LU && panel >= 4; panel /= 2) {
        shape t = s;
        t.panel = panel, t.at_once = 1, t.words = B->n * B->n;
        if (local_bytes(B, &t) <= info->local_bytes) return t;
    }
    return s;
}

/* The kernel in groups as large as its registers allow. */
static kry_status take_kernel(const kry_systems *B, shape *s, kryi_kernel **kernel)
{
    enum { MOST = 256, LEAST = 32 };
    static const char *const names[] = { [KRY_SYSTEMS_CG] = "systems_cg",
                                         [KRY_SYSTEMS_BICGSTAB] = "systems_bicgstab",
                                         [KRY_SYSTEMS_LU] = "systems_lu",
                                         [KRY_SYSTEMS_TRIDIAGONAL] = "systems_check" };
    static const char *const panels[] = {
        [0] = "", [4] = " -DPANEL=4", [8] = " -DPANEL=8", [16] = " -DPANEL=16"
    };
    kry_status st = KRY_OK;
    int most = MOST;

    while (most > B->dev->info.max_group) most /= 2;
    for (;; most /= 2) {
        *s = shape_of(B, most);
        TRY(kryi_kernel_get(B->dev, "systems", B->type,
                            s->held      ? " -DON_CHIP -DHELD"
                            : s->on_chip ? " -DON_CHIP"
                                         : panels[s->panel],
                            s->panel ? "systems_lu_panels" : names[B->params.method], kernel));
        if (B->dev->info.cpu_kernels) break;
        st = kryi_kernel_check_size(B->dev, *kernel, s->sub * s->at_once);
        if (st != KRY_ERR_UNSUPPORTED || most <= LEAST) break;
    }
done:
    return st;
}

/* Groups of a launch: all that there are for where room is in local memory, else as many as are at work at once and as
 * memory allows. */
static int64_t groups_of(const kry_systems *B, const shape *s, int64_t systems)
{
    enum { PER_UNIT = 8, SHARE = 8 };
    const kry_device_info *info = &B->dev->info;
    const int64_t each = s->at_once * s->words * (int64_t)kry_type_size(B->type),
                  bytes = info->global_bytes / SHARE < info->max_alloc_bytes
                              ? info->global_bytes / SHARE
                              : info->max_alloc_bytes;
    int64_t groups = kryi_groups_at_most(B->dev, (systems + s->at_once - 1) / s->at_once);

    if (s->on_chip || each == 0) return groups;
    if (!info->cpu_kernels && groups > (int64_t)PER_UNIT * info->compute_units)
        groups = (int64_t)PER_UNIT * info->compute_units;
    if (groups > bytes / each) groups = bytes / each;
    return groups > 0 ? groups : 1;
}

static kry_status reserve(kry_systems *B, size_t bytes)
{
    kry_status st = KRY_OK;

    if (B->work_bytes >= bytes) return KRY_OK;
    kryi_buffer_release(B->dev, &B->work); /* there may not be room for both */
    B->work_bytes = 0;
    TRY(kryi_buffer_create(B->dev, bytes, &B->work));
    B->work_bytes = bytes;
done:
    return st;
}

static kry_status reserve_ends(kry_systems *B, int64_t systems)
{
    kry_status st = KRY_OK;

    if (!B->summaries)
        TRY(kryi_buffer_create(B->dev,
                               MOST_SUMMARIES * (4 * sizeof(cl_int) + 2 * kryi_acc_size(B->dev)),
                               &B->summaries));
    if (B->room >= systems) return KRY_OK;
    B->room = 0;
    kryi_buffer_release(B->dev, &B->ends), kryi_buffer_release(B->dev, &B->residuals);
    TRY(kryi_buffer_create(B->dev, 2 * (uint64_t)systems * sizeof(cl_int), &B->ends));
    TRY(kryi_buffer_create(B->dev, (uint64_t)systems * kryi_acc_size(B->dev), &B->residuals));
    B->room = systems;
done:
    return st;
}

static kry_status launch(const call *c)
{
    kry_status st = KRY_OK;
    kry_systems *B = c->B;
    kryi_kernel *kernel;
    shape s;

    TRY(take_kernel(B, &s, &kernel));
    const int64_t groups = groups_of(B, &s, c->systems);
    const size_t size = kry_type_size(B->type), each = (size_t)(s.at_once * s.words) * size;
    if (!s.on_chip && each > 0) TRY(reserve(B, each * (size_t)groups));
    const cl_int n = (cl_int)B->n, entries = (cl_int)B->entries, sub = s.sub,
                 max_iter = (cl_int)B->params.max_iter,
                 flags = (B->params.guess ? GUESS : 0) | (B->params.no_jacobi ? 0 : JACOBI);
    const kryi_scalar rtol = kryi_scalar_of(B->dev, B->params.rtol);
    const size_t items = (size_t)s.sub * (size_t)s.at_once;
    const kry_arg args[] = {
        ARG(n),
        ARG(entries),
        ARG(c->systems),
        ARG(c->columns),
        ARG(sub),
        ARG(B->row_ptr),
        ARG(B->col),
        ARG_VEC(c->values),
        ARG(c->values->ld),
        ARG_VEC(c->b),
        ARG(c->b->ld),
        ARG_VEC(c->x),
        ARG(c->x->ld),
        ARG_ACC(B->dev, rtol),
        ARG(max_iter),
        ARG(flags),
        ARG(B->ends),
        ARG(B->residuals),
        s.on_chip ? (kry_arg){ each, NULL } : (kry_arg)ARG(B->work),
        ARG(s.words),
        { 4 * kryi_acc_size(B->dev) * items, NULL }, /* GPUs: sums of work-items, and flags */
        { 3 * sizeof(cl_int), NULL },
        { panel_bytes(B, s.panel), NULL },
    };
    const size_t unused = B->dev->info.cpu_kernels ? 3 : s.panel ? 0 : 1;
    TRY(kryi_launch_range(B->dev, kernel, (kryi_range){ .groups = groups, .size = (int)items },
                          args, COUNT(args) - unused));
done:
    return st;
}

/* ---- solving --------------------------------------------------------------------------------- */

static kry_status check_call(const call *c)
{
    static const char who[] = "kry_systems_solve";
    kry_status st = KRY_OK;
    const kry_systems *B = c->B;
    const struct {
        const char *name;
        const kry_vec *v;
        int64_t rows;
    } given[] = { { "values", c->values, B->entries }, { "b", c->b, B->n }, { "x", c->x, B->n } };

    for (size_t i = 0; i < COUNT(given); i++) {
        const kry_vec *v = given[i].v;
        CHECK(v->dev == B->dev, KRY_ERR_ARGUMENT, "%s: %s lies on another device than the solver",
              who, given[i].name);
        CHECK(v->type == B->type, KRY_ERR_TYPE, "%s: %s is %s, the solver %s", who, given[i].name,
              kry_type_name(v->type), kry_type_name(B->type));
        CHECK(v->n == given[i].rows, KRY_ERR_SHAPE, "%s: %s has %lld rows instead of %lld", who,
              given[i].name, (long long)v->n, (long long)given[i].rows);
    }
    CHECK(c->b->k % c->values->k == 0 && c->b->k == c->x->k, KRY_ERR_SHAPE,
          "%s: %lld matrices, but b has %lld columns and x %lld", who, (long long)c->values->k,
          (long long)c->b->k, (long long)c->x->k);
    CHECK(c->b->k < INT_MAX, KRY_ERR_SHAPE, "%s: %lld systems are too many", who,
          (long long)c->b->k);
    CHECK(!kryi_vec_overlap(c->x, c->b) && !kryi_vec_overlap(c->x, c->values), KRY_ERR_ARGUMENT,
          "%s: x overlaps b or values", who);
done:
    return st;
}

/* b goes to x, which then is solved for in place, packed as the diagonals are. What could not be solved stays b, on whose residual
 * the verdict is. */
static kry_status solve_tridiagonal(const call *c)
{
    kry_status st = KRY_OK;
    kry_systems *B = c->B;
    const int64_t n = B->n, systems = c->systems;
    kry_systems_report report = { .system = -1 };
    kry_vec d[3], *packed = NULL, *y = c->x;

    if (B->diagonals && kry_vec_cols(B->diagonals) < 3 * systems) kry_vec_release(&B->diagonals);
    if (!B->diagonals) TRY(kryi_vec_create_room(B->dev, B->type, n, 3 * systems, &B->diagonals));
    for (int k = 0; k < 3; k++) d[k] = kryi_vec_columns(B->diagonals, k * systems, systems);
    if (!kryi_vec_is_packed(c->x)) {
        TRY(kryi_vec_create_room(B->dev, B->type, n, systems, &packed));
        y = packed;
    }
    const cl_int rows = (cl_int)n;
    TRY(kryi_run(B->dev, "systems", B->type, "", "systems_diagonals",
                 kryi_groups_for(B->dev, B->type, n * systems),
                 ARGS(ARG(rows), ARG(systems), ARG(c->columns), ARG(B->row_ptr), ARG(B->col),
                      ARG_VEC(c->values), ARG(c->values->ld), ARG_VEC(&d[0]))));
    TRY(kry_vec_copy(c->b, y));
    st = kry_tridiagonal_solve(KRY_TRIDIAGONAL(.report = &report), &d[0], &d[1], &d[2], y, y);
    if (st < 0 && !report.singular) goto done;
    if (packed) TRY(kry_vec_copy(packed, c->x));
    TRY(launch(c));
done:
    kry_vec_release(&packed);
    return st;
}

static kry_status read_ends(const call *c, kry_systems_end *end)
{
    kry_status st = KRY_OK;
    const kry_systems *B = c->B;
    const kry_type acc = kryi_acc_type(B->dev);
    cl_int *ends = NULL;
    void *residuals = NULL;

    TRY(kryi_alloc(2 * (uint64_t)c->systems, sizeof *ends, &ends));
    TRY(kryi_alloc((uint64_t)c->systems, kry_type_size(acc), &residuals));
    TRY(kryi_buffer_read(B->dev, B->ends, 0, 2 * (size_t)c->systems * sizeof *ends, ends));
    TRY(kryi_buffer_read(B->dev, B->residuals, 0, (size_t)c->systems * kry_type_size(acc),
                         residuals));
    for (int64_t s = 0; s < c->systems; s++)
        end[s] = (kry_systems_end){ .verdict = (kry_systems_verdict)ends[2 * s],
                                    .iterations = ends[2 * s + 1],
                                    .residual = kryi_number_at(acc, residuals, s) };
done:
    free(ends), free(residuals);
    return st;
}

/* Count the systems that were solved, and find the first that was not: `first`. Each group of the device leaves a
 * `summary` of cl/dense/systems.cl, four integers and two residuals. */
static kry_status sum_up(const call *c, kry_systems_result *r, kry_systems_end *first)
{
    kry_status st = KRY_OK;
    const kry_systems *B = c->B;
    const kry_type acc = kryi_acc_type(B->dev);
    const size_t size = 4 * sizeof(cl_int) + 2 * kry_type_size(acc);
    int64_t groups = kryi_groups_for_sums(B->dev, acc, c->systems);
    char *summaries = NULL;

    if (groups > MOST_SUMMARIES) groups = MOST_SUMMARIES;
    TRY(kryi_alloc((uint64_t)groups, size, &summaries));
    TRY(kryi_run(B->dev, "systems", B->type, "", "systems_summary", groups,
                 ARGS(ARG(c->systems), ARG(B->ends), ARG(B->residuals), ARG(B->summaries))));
    TRY(kryi_buffer_read(B->dev, B->summaries, 0, (size_t)groups * size, summaries));
    r->systems = r->solved = c->systems, r->first = -1;
    for (int64_t g = 0; g < groups; g++) {
        const char *at = summaries + (size_t)g * size;
        cl_int counts[4]; /* unsolved, first, verdict, iterations */
        memcpy(counts, at, sizeof counts);
        const double worst = kryi_number_at(acc, at + sizeof counts, 1);
        if (counts[0] > 0 && (r->first < 0 || counts[1] < r->first)) {
            r->first = counts[1];
            first->verdict = (kry_systems_verdict)counts[2];
            first->residual = kryi_number_at(acc, at + sizeof counts, 0);
        }
        r->solved -= counts[0];
        if (counts[3] > r->most_iterations) r->most_iterations = counts[3];
        if (!(worst <= r->worst_residual) && !isnan(r->worst_residual)) r->worst_residual = worst;
    }
done:
    free(summaries);
    return st;
}

/* Say in r->why how many systems were solved, and how the first that was not ended. */
static kry_status say(kry_systems_result *r, const kry_systems_end *first)
{
    const int length = kryi_print(r->why, sizeof r->why, "%lld of %lld systems were solved",
                                  (long long)r->solved, (long long)r->systems);
    if (r->first < 0) return KRY_OK;
    kryi_print(r->why + length, sizeof r->why - (size_t)length,
               "; the first that was not is system %lld: %s, residual %.3g of b's norm",
               (long long)r->first, kry_systems_verdict_text(first->verdict), first->residual);
    return KRY_NOT_CONVERGED;
}

kry_status kry_systems_solve_sized(kry_systems *B, const kry_vec *values, const kry_vec *b,
                                   kry_vec *x, kry_systems_end *each, kry_systems_result *result,
                                   size_t result_size)
{
    kry_status st = KRY_OK;
    kry_systems_end first = { .verdict = KRY_SYSTEMS_SOLVED };
    kry_systems_result r;
    const double start = kryi_now();

    memset(&r, 0, sizeof r);
    TRY(kryi_check_given("kry_systems_solve", "solver, values, b, x",
                         (const void *const[]){ B, values, b, x }));
    const call c = { B, values, b, x, b->k, b->k / values->k };
    r.method = B->params.method;
    TRY(check_call(&c));
    TRY(reserve_ends(B, c.systems));
    TRY(r.method == KRY_SYSTEMS_TRIDIAGONAL ? solve_tridiagonal(&c) : launch(&c));
    TRY(sum_up(&c, &r, &first));
    if (each) TRY(read_ends(&c, each));
    st = say(&r, &first);
    r.seconds = kryi_now() - start;
done:
    kryi_hand_out(&r, sizeof r, result, result_size);
    return st > 0 ? kry_fail(st, "kry_systems_solve: %s", r.why) : st;
}
