/* eigen.c - kry eigen: the smallest or largest eigenvalues of a symmetric matrix, or those nearest a number. */
#include "commands.h"
#include "interrupt.h"
#include "json.h"
#include "operators.h"
#include <kry/eigenvalues.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct eigen {
    const options *o;
    operators ops;
    source mass;
    kry_op *B;
    kry_vec *X, *constraints;
    kry_eigen_result result;
} eigen;

static int watch(void *user, const kry_eigen_step *step)
{
    (void)user, (void)step;
    return interrupt_came();
}

static kry_status open_mass(eigen *e)
{
    kry_status st = KRY_OK;
    form f;

    if (!e->o->mass) return KRY_OK;
    TRY(options_form(e->o, KRY_VALUES_COMPACT, &f));
    f.modes = false;
    TRY(source_open(e->o->mass, NULL, e->ops.seed, &f, &e->mass));
    TRY(source_check_claims(&e->mass));
    TRY(source_operator(&e->mass, e->ops.device, options_type(e->o), &f, &e->B));
done:
    return st;
}

static kry_status open_constraints(eigen *e)
{
    kry_status st = KRY_OK;
    const char *path = e->o->constraints;
    const int64_t n = e->ops.src.rows;
    const kry_type type = options_type(e->o);
    const bool ones = path && !strcmp(path, "ones");
    int64_t columns = 1;
    double *values = NULL;
    float *single = NULL;
    const void *numbers;

    if (!path) return KRY_OK;
    if (!ones) TRY(read_vectors(path, &e->ops.src, &columns, &values));
    TRY(kry_vec_create(e->ops.device, type, n, columns, &e->constraints));
    if (ones) {
        TRY(kry_vec_fill(e->constraints, 1));
        goto done;
    }
    TRY(convert_values(type, n * columns, values, &numbers, &single));
    TRY(kry_vec_write(e->constraints, numbers));
done:
    free(values), free(single);
    return st;
}

static kry_status write_out(const eigen *e)
{
    kry_status st = KRY_OK;
    const int64_t n = kry_vec_rows(e->X), k = kry_vec_cols(e->X);
    double *values = NULL;

    if (!e->o->out) return KRY_OK;
    TRY(allocate((size_t)(n * k), sizeof *values, &values));
    TRY(kry_vec_read(e->X, values));
    if (kry_vec_type(e->X) == KRY_F32) /* these numbers lie packed at the front */
        for (int64_t i = n * k - 1; i >= 0; i--) {
            float number;
            memcpy(&number, (const char *)values + sizeof number * (size_t)i, sizeof number);
            values[i] = number;
        }
    TRY(write_vectors(e->o->out, n, k, values, "eigenvectors by kry eigen"));
done:
    free(values);
    return st;
}

static void print_text(const eigen *e)
{
    const kry_eigen_result *r = &e->result;
    kry_op_info info = { 0 };

    if (e->ops.M) kry_op_describe(e->ops.M, &info);
    printf("%s: %lld rows, %s precision, preconditioner %s\n", e->ops.src.name,
           (long long)e->ops.src.rows, kry_type_name(options_type(e->o)),
           e->ops.M ? info.kind : "none");
    printf("%6s %24s %12s\n", "", "eigenvalue", "residual");
    for (int64_t j = 0; j < kry_vec_cols(e->X); j++)
        printf("%6lld %24.16g %12.2e\n", (long long)j + 1, r->value[j], r->residual[j]);
    printf("%s; %lld products with A, %.3g s\n", r->why, (long long)r->products, r->seconds);
}

static void print_json(const eigen *e, kry_status status)
{
    const kry_eigen_result *r = &e->result;

    for (int64_t i = 0; i < kry_vec_cols(e->X); i++) {
        json j = json_begin(stdout);
        json_text(&j, "source", e->ops.src.name);
        json_whole(&j, "number", i + 1);
        json_real(&j, "eigenvalue", r->value[i]);
        json_real(&j, "residual", r->residual[i]);
        json_end(&j);
    }
    json j = json_begin(stdout);
    json_text(&j, "source", e->ops.src.name);
    json_whole(&j, "rows", e->ops.src.rows);
    json_text(&j, "status", kry_status_text(status));
    json_text(&j, "why", r->why);
    json_whole(&j, "converged", r->converged);
    json_whole(&j, "iterations", r->iterations);
    json_whole(&j, "restarts", r->restarts);
    json_whole(&j, "products", r->products);
    json_real(&j, "norm_A", r->norm_A);
    json_real(&j, "norm_B", r->norm_B);
    json_real(&j, "seconds", r->seconds);
    json_end(&j);
}

kry_status eigen_run(const options *o)
{
    kry_status st = KRY_OK, found;
    const char *precond = options_solver(o, "precond"), *rtol = options_solver(o, "rtol"),
               *maxit = options_solver(o, "maxit");
    const char *method = o->eigen_method ? o->eigen_method : o->sigma ? "lanczos" : "lobpcg";
    const bool lobpcg = !strcmp(method, "lobpcg");
    const int64_t count = options_whole(o->columns, 6);
    eigen e = { .o = o };

    CHECK(o->word_count + o->problem_count == 1, KRY_ERR_PARSE,
          "kry eigen takes one file or one --problem");
    CHECK(count >= 1 && count <= KRY_EIGEN_MOST, KRY_ERR_PARSE, "--count %s is not 1 to %d",
          o->columns, (int)KRY_EIGEN_MOST);
    TRY(check_columns(o->out, count));
    TRY(operators_open(o, precond ? precond : o->largest || !lobpcg ? "none" : "auto", &e.ops));
    TRY(open_mass(&e));
    TRY(open_constraints(&e));
    TRY(kry_vec_create(e.ops.device, options_type(o), e.ops.src.rows, count, &e.X));
    interrupt_catch();
    found = kry_eigen(
        e.ops.A,
        KRY_EIGEN(.B = e.B, .precond = e.ops.M, .constraints = e.constraints, .largest = o->largest,
                  .method = method, .nearest = o->sigma != NULL,
                  .sigma = o->sigma ? strtod(o->sigma, NULL) : 0,
                  .rtol = rtol ? strtod(rtol, NULL) : 0, .max_iter = options_whole(maxit, 0),
                  .seed = e.ops.seed, .monitor = watch),
        e.X, &e.result);
    TRY(found);
    if (o->json)
        print_json(&e, found);
    else
        print_text(&e);
    TRY(write_out(&e));
    st = found;
done:
    kry_vec_release(&e.X), kry_vec_release(&e.constraints);
    kry_op_release(&e.B);
    source_release(&e.mass);
    operators_release(&e.ops);
    return st;
}
