/*
 * solve_report.h - the result of kry solve, and printing it.
 */
#ifndef KRY_SOLVE_REPORT_H
#define KRY_SOLVE_REPORT_H

#include "json.h"
#include "ranks.h"

typedef struct report {
    const source *src;
    const kry_device_info *device;
    kry_op_info matrix, solver;
    bool verbose;
    kry_type type;
    const char *precision;
    const char *method, *precond, *deflation, *null_space;
    const char *precond_why; /* of auto; NULL: it was given */
    const char *rhs;         /* "problem", "ones", a file, ... */
    bool seeded;             /* something was random */
    int64_t seed;
    kry_status status;
    kry_result result;
    double matrix_seconds, setup_seconds, compile_seconds; /* the last in neither of the others */
    int64_t compiled;                                      /* programs */
    bool has_error;                                        /* the exact solution is known */
    double error_inf, error_rel;
    shares shares; /* of the work, between ranks */
} report;

/* r->error_inf and r->error_rel, of the rows of all processes: max |x - u| and ||x - u|| / ||u||. rows: of this one. */
void report_errors(report *r, int64_t rows, const double *x, const double *exact);
void report_json(json *j, const report *r); /* its members */
void report_text(const report *r);

#endif
