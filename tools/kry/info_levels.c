/* info_levels.c - kry info --levels: the levels that multigrid makes of a matrix. */
#include "commands.h"
#include "json.h"
#include "operators.h"
#include "page/text.h"
#include <math.h>
#include <stdio.h>

/* Entries of all levels so far over those of the finest; NaN: not known. */
static double complexity_of(const kry_op_info *matrix, double *entries, double *first)
{
    if (*entries < 0 || matrix->nnz < 0) return *entries = -1, (double)NAN;
    *entries += (double)matrix->nnz;
    if (*first == 0) *first = (double)matrix->nnz;
    return *entries / *first;
}

/* That are kept for level i beside A. */
static double bytes_of(int i, const kry_level_info *l)
{
    kry_op_info matrix, prolongation;

    kry_op_describe(l->matrix, &matrix);
    kry_op_describe(l->prolongation, &prolongation);
    return (i ? matrix.bytes_stored : 0) + prolongation.bytes_stored + l->vector_bytes +
           l->solver_bytes;
}

static void print_json(const char *source, int i, const kry_level_info *l, double complexity)
{
    json j = json_begin(stdout);
    kry_op_info matrix;

    kry_op_describe(l->matrix, &matrix);

    json_text(&j, "source", source);
    json_whole(&j, "level", i);
    json_whole(&j, "rows", l->rows);
    json_text(&j, "kind", matrix.kind);
    json_text(&j, "variant", matrix.variant);
    json_whole(&j, "entries", matrix.nnz);
    json_real(&j, "complexity", complexity);
    json_text(&j, "smoother", l->smoother);
    json_real(&j, "bytes", bytes_of(i, l));
    json_real(&j, "moved", l->bytes_per_cycle > 0 ? l->bytes_per_cycle : (double)NAN);
    json_end(&j);
}

static void print_text(int i, const kry_level_info *l, double complexity)
{
    char rows[32], entries[32] = "-", bytes[32], moved[32] = "-";
    kry_op_info matrix;

    kry_op_describe(l->matrix, &matrix);
    if (matrix.nnz >= 0) kryi_text_whole(matrix.nnz, entries, sizeof entries);
    if (l->bytes_per_cycle > 0) kryi_text_bytes(l->bytes_per_cycle, moved, sizeof moved);
    printf("%5d  %13s  %14s  %10.3f  %-10s  %-16s  %10s  %10s\n", i,
           kryi_text_whole(l->rows, rows, sizeof rows), entries, complexity, matrix.kind,
           l->smoother, kryi_text_bytes(bytes_of(i, l), bytes, sizeof bytes), moved);
}

kry_status info_levels(const options *o)
{
    const char *precond = options_solver(o, "precond");
    kry_status st = KRY_OK;
    operators ops = { 0 };
    kry_level_info level;
    kry_op_info info, matrix;
    double entries = 0, first = 0;

    TRY(operators_open(o, precond ? precond : "mg", &ops));
    CHECK(kry_multigrid_levels(ops.M) > 0, KRY_ERR_PARSE,
          "--levels wants multigrid: --precond mg or amg");
    kry_op_describe(ops.M, &info);
    if (!o->json)
        printf("%s, %s\n%5s  %13s  %14s  %10s  %-10s  %-16s  %10s  %10s\n", info.kind, info.variant,
               "level", "rows", "entries", "complexity", "kind", "smoother", "bytes", "moved");
    for (int i = 0; i < kry_multigrid_levels(ops.M); i++) {
        TRY(kry_multigrid_level(ops.M, i, &level));
        kry_op_describe(level.matrix, &matrix);
        const double complexity = complexity_of(&matrix, &entries, &first);
        if (o->json)
            print_json(ops.src.name, i, &level, complexity);
        else
            print_text(i, &level, complexity);
    }
done:
    operators_release(&ops);
    return st;
}
