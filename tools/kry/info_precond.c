/*
 * info_precond.c - kry info --check-precond: whether a preconditioner, and A itself, are symmetric
 * and positive definite, as far as products with seeded vectors tell.
 */
#include "commands.h"
#include "json.h"
#include "source.h"
#include <kry/precond.h>
#include <stdio.h>

typedef struct checking {
    const options *o;
    const char *precond;
    uint64_t seed;
    source src;
    kry_device *device;
    kry_op *A, *M;
} checking;

static kry_status open_operators(checking *c)
{
    kry_status st = KRY_OK;
    const options *o = c->o;
    form f;

    TRY(options_form(o, KRY_VALUES_COMPACT, &f));
    TRY(kry_device_open(o->device, &c->device));
    CHECK(kry_device_get_info(c->device)->fp64 || options_type(o) == KRY_F32, KRY_ERR_UNSUPPORTED,
          "%s has no double precision; --precision single works there",
          kry_device_get_info(c->device)->name);
    TRY(source_open(o->word_count ? o->words[0] : NULL, o->problems[0], c->seed, &f, &c->src));
    TRY(source_operator(&c->src, c->device, options_type(o), &f, &c->A));
    TRY(kry_precond_create(c->A, c->precond, &c->M));
    CHECK(c->M, KRY_ERR_PARSE, "--check-precond wants a preconditioner: --precond WORD");
done:
    return st;
}

static const char *verdict(const kry_probe *p)
{
    return p->symmetric  ? p->positive ? "symmetric, positive definite for all that was tried"
                                       : "symmetric, but not positive definite"
           : p->positive ? "not symmetric"
                         : "neither symmetric nor positive definite";
}

static void print_json(const checking *c, const char *what, const kry_op *op, const kry_probe *p)
{
    kry_op_info info;
    json j = json_begin(stdout);

    kry_op_describe(op, &info);
    json_text(&j, "source", c->src.name);
    json_text(&j, "operator", what);
    json_text(&j, "kind", info.kind);
    json_text(&j, "variant", info.variant);
    json_text(&j, "precision", kry_type_name(kry_op_get_shape(op)->type));
    json_whole(&j, "seed", (int64_t)c->seed);
    json_whole(&j, "vectors", p->vectors);
    json_real(&j, "asymmetry", p->asymmetry);
    json_real(&j, "rounding", p->rounding);
    json_real(&j, "least_quotient", p->least);
    json_real(&j, "largest_quotient", p->most);
    json_whole(&j, "not_positive", p->not_positive);
    json_bool(&j, "symmetric", p->symmetric);
    json_bool(&j, "positive", p->positive);
    json_end(&j);
}

static void print_text(const char *what, const kry_op *op, const kry_probe *p)
{
    kry_op_info info;

    kry_op_describe(op, &info);
    printf("%-12s '%s'%s%s, by %d vectors\n", what, info.kind, *info.variant ? ", " : "",
           info.variant, p->vectors);
    printf(
        "  symmetry   |u'%sv - v'%su| / (||u|| ||%sv||) up to %.2g; rounding makes %.2g at most\n",
        what, what, what, p->asymmetry, p->rounding);
    printf("  sign       v'%sv / v'v from %.4g to %.4g; %d not positive\n", what, p->least, p->most,
           p->not_positive);
    printf("  verdict    %s is %s\n", what, verdict(p));
}

static kry_status check(const checking *c, const char *what, const kry_op *op, kry_probe *probe)
{
    kry_status st = KRY_OK;

    TRY(kry_op_probe(op, c->seed, probe));
    if (c->o->json)
        print_json(c, what, op, probe);
    else
        print_text(what, op, probe);
done:
    return st;
}

kry_status info_precond(const options *o)
{
    kry_status st = KRY_OK;
    const char *precond = options_solver(o, "precond");
    checking c = { .o = o,
                   .precond = precond ? precond : "jacobi",
                   .seed = (uint64_t)options_whole(o->seed, 1) };
    kry_probe of_A, of_M;

    TRY(open_operators(&c));
    TRY(check(&c, "A", c.A, &of_A));
    TRY(check(&c, "M", c.M, &of_M));
    if (!of_M.symmetric || !of_M.positive)
        st = KRY_BREAKDOWN; /* as conjugate gradients with M might end */
done:
    kry_op_release(&c.M);
    kry_op_release(&c.A);
    kry_device_release(&c.device);
    source_release(&c.src);
    return st;
}
