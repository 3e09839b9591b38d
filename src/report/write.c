/*
 * write.c - kry_report_write: gather what a page is drawn from, on ranks from all of them, and write it.
 */
#include "report/write.h"
#include "krylov/stop.h"
#include "operator/op_parts.h"
#include <locale.h>
#include <string.h>

/* ---- the copy bandwidth ---------------------------------------------------------------------- */

/* Bytes per second of y := x by the same events as those of the kernels that stand beside it. */
static kry_status time_copy(kry_device *device, double *speed)
{
    enum { BYTES = 64 << 20, TIMES = 16 };
    kry_status st = KRY_OK;
    const kry_type type = kry_device_get_info(device)->fp64 ? KRY_F64 : KRY_F32;
    const int64_t n = BYTES / (int64_t)kry_type_size(type);
    kry_vec *x = NULL, *y = NULL;
    recorder *r = NULL;

    TRY(kry_vec_create(device, type, n, 1, &x));
    TRY(kry_vec_create(device, type, n, 1, &y));
    TRY(kry_vec_fill(x, 1));
    TRY(kry_vec_copy(x, y)); /* compiles */
    TRY(kry_recorder_begin(device, kry_now(), &r));
    for (int i = 0; i < TIMES; i++) TRY(kry_vec_copy(x, y));
    TRY(kry_recorder_end(r));
    const recording *kept = kry_recorder_kept(r);
    const double seconds = kry_recording_busy(kept, KRY_REPORT_READ, false) +
                           kry_recording_busy(kept, KRY_REPORT_READ, true);
    *speed = 2.0 * BYTES * TIMES / seconds;
done:
    kry_recorder_release(&r);
    kry_vec_release(&y);
    kry_vec_release(&x);
    return st;
}

/* That it could not be measured is told, and no failure. */
static void measure_copy(const kry_report *r, solve_page *s)
{
    if (kry_team_size(r->device) > 1 || !r->owned) return; /* its kernels stand beside nothing */
    if (time_copy(kry_team_part(r->device, 0), &s->copy) < 0) {
        s->copy = 0;
        snprintf(s->copy_why, sizeof s->copy_why, "%s", kry_last_error());
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static kry_status check(const kry_report *r, const kry_report_params *p)
{
    kry_status st = KRY_OK;

    CHECK(p->solver && p->A && p->result, KRY_ERR_ARGUMENT, "kry_report_write: %s is NULL",
          !p->solver ? "solver"
          : !p->A    ? "A"
                     : "result");
    CHECK(!kry_device_is_ranks(r->device) ||
              (kry_op_device(p->A) == r->device && kry_op_device(p->solver) == r->device),
          KRY_ERR_ARGUMENT,
          "kry_report_write: A and the solver do not lie on the ranks of the report");
done:
    return st;
}

/* kry_op_describe of the whole A, of which a rank knows its rows. */
static void describe_all(const solve_page *s, kry_op_info *info)
{
    const devices *d = s->devices;

    kry_op_describe(s->given->A, info);
    if (!d->ranks) return;
    info->slots = 0, info->bytes_stored = 0;
    info->nnz = info->nnz < 0 ? -1 : 0;
    for (int i = 0; i < d->count; i++) {
        if (info->nnz >= 0) info->nnz += d->facts[i].entries;
        info->slots += d->facts[i].slots;
        info->bytes_stored += d->facts[i].bytes_stored;
    }
}

/* Numbers have a point in them, whatever the language of the program. */
static kry_status draw_in_c(const char *path, const solve_page *s)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0),
                   before = plain ? uselocale(plain) : (locale_t)0;
    const kry_status st = kry_page_draw(path, s);

    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return st;
}

static kry_status write_page(kry_report *r, const char *path, const kry_report_params *p)
{
    kry_status st = KRY_OK;
    kry_result result = { .reason = KRY_NOT_SOLVED };
    devices d = { 0 };
    system_facts system = { 0 };
    solve_page s = { .report = r, .given = p, .result = &result, .devices = &d, .system = &system };

    TRY(check(r, p));
    const size_t size = p->result_size ? p->result_size : sizeof result;
    memcpy(&result, p->result, size < sizeof result ? size : sizeof result);
    s.status = kry_reason_status(result.reason);
    TRY(kry_report_end(r));
    TRY(kry_devices_find(r, p->A, &d));
    TRY(kry_system_facts_find(p->A, &system));
    measure_copy(r, &s);
    describe_all(&s, &s.matrix);
    kry_op_describe(p->solver, &s.solver);
    if (kry_team_rank(r->device) == 0) TRY(draw_in_c(path, &s));
done:
    kry_system_facts_release(&system);
    kry_devices_release(&d);
    return st;
}

kry_status kry_report_write(kry_report *report, const char *path, const kry_report_params *params)
{
    kry_status st = KRY_OK;
    kry_report_params mine;

    TRY(GIVEN(report, path, params));
    TAKE_PARAMS(params, mine, "kry_report_write", "KRY_REPORT");
    kry_team_enter(report->device, "kry_report_write", NULL);
    st = kry_team_leave(report->device, write_page(report, path, params));
done:
    return st;
}
