/*
 * generate.c - kry generate: a problem as Matrix Market files.
 */
#include "commands.h"
#include "json.h"
#include "source.h"
#include <kry/problem.h>
#include <stdio.h>
#include <stdlib.h>

/* Row after row; of a symmetric matrix the lower triangle. */
static kry_status write_rows(const char *path, const kry_problem *p, const char *comment)
{
    kry_status st = KRY_OK;
    const bool symmetric = p->traits & (KRY_SYMMETRIC | KRY_POSITIVE);
    kry_mtx mtx = { .symmetry = symmetric ? KRY_MTX_SYMMETRIC : KRY_MTX_GENERAL,
                    .rows = p->n,
                    .cols = p->n };
    TRY(allocate((uint64_t)p->nnz, sizeof(int32_t), &mtx.row));
    TRY(allocate((uint64_t)p->nnz, sizeof(int32_t), &mtx.col));
    TRY(allocate((uint64_t)p->nnz, sizeof(double), &mtx.val));
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++) {
            if (symmetric && p->col[e] > i) break;
            mtx.row[mtx.nnz] = (int32_t)i;
            mtx.col[mtx.nnz] = p->col[e];
            mtx.val[mtx.nnz++] = p->val[e];
        }
    }
    TRY(write_matrix(path, &mtx, comment));
done:
    free(mtx.row);
    free(mtx.col);
    free(mtx.val);
    return st;
}

static void print_json(const source *s, const options *o)
{
    json j = json_begin(stdout);
    json_text(&j, "source", s->name);
    json_whole(&j, "n", s->rows);
    json_whole(&j, "nnz", s->given);
    json_text(&j, "matrix", o->out);
    json_text(&j, "rhs", o->rhs);
    json_text(&j, "solution", o->solution);
    if (o->coordinates) json_text(&j, "coordinates", o->coordinates);
    json_real(&j, "generate_s", s->seconds);
    json_end(&j);
}

/* No two of the files are the same, and each can be written. */
static kry_status check_files(const options *o)
{
    kry_status st = KRY_OK;
    const char *const file[] = { o->out, o->rhs, o->solution, o->coordinates };

    for (size_t i = 0; i < COUNT(file); i++) {
        for (size_t k = 0; k < i; k++) TRY(kry_output_differs(file[k], file[i]));
        TRY(kry_output_check(file[i]));
    }
done:
    return st;
}

/* A row for each node. */
static kry_status write_coordinates(const char *path, const kry_problem *p, const char *comment)
{
    kry_status st = KRY_OK;
    double *columns = NULL;

    TRY(allocate((size_t)p->n, sizeof *columns, &columns));
    const int64_t nodes = p->n / p->axes;
    for (int64_t e = 0; e < p->n; e++)
        columns[e % p->axes * nodes + e / p->axes] = p->coordinates[e];
    kry_mtx mtx = { .array = true, .rows = nodes, .cols = p->axes, .nnz = p->n, .val = columns };
    TRY(write_matrix(path, &mtx, comment));
done:
    free(columns);
    return st;
}

kry_status generate_run(const options *o)
{
    kry_status st = KRY_OK;
    source s = { 0 };
    char comment[160];
    CHECK(o->word_count == 1, KRY_ERR_PARSE, "needs one SPEC, but %d are given", o->word_count);
    CHECK(o->out, KRY_ERR_PARSE, "needs -o FILE.mtx");
    TRY(check_files(o));
    int64_t seed = options_whole(o->seed, 1);
    TRY(source_open(NULL, o->words[0], (uint64_t)seed, NULL, &s));
    snprintf(comment, sizeof comment, "kry generate %.100s --seed %lld", s.name, (long long)seed);
    TRY(write_rows(o->out, s.problem, comment));
    if (o->rhs) TRY(write_vectors(o->rhs, s.rows, 1, s.problem->rhs, comment));
    CHECK(!o->coordinates || s.problem->coordinates, KRY_ERR_UNSUPPORTED,
          "the unknowns of %s belong to no nodes of a solid", s.name);
    if (o->coordinates) TRY(write_coordinates(o->coordinates, s.problem, comment));
    CHECK(!o->solution || s.problem->solution, KRY_ERR_UNSUPPORTED,
          "the solution of %s is not known", s.name);
    if (o->solution) TRY(write_vectors(o->solution, s.rows, 1, s.problem->solution, comment));
done:
    if (st >= 0 && o->json) print_json(&s, o);
    source_release(&s);
    return st;
}
