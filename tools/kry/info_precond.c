/*
 * info_precond.c - kry info --check-precond: whether a preconditioner, and A itself, are symmetric
 * and positive definite, as far as products with seeded vectors tell.
 */
#include "commands.h"
#include "json.h"
#include "operators.h"
#include <kry/precond.h>
#include <stdio.h>

typedef struct checking {
    const options *o;
    operators ops;
} checking;

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
    json_text(&j, "source", c->ops.src.name);
    json_text(&j, "operator", what);
    json_text(&j, "kind", info.kind);
    json_text(&j, "variant", info.variant);
    json_text(&j, "precision", kry_type_name(kry_op_get_shape(op)->type));
    json_whole(&j, "seed", (int64_t)c->ops.seed);
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

    TRY(kry_op_probe(op, c->ops.seed, probe));
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
    checking c = { .o = o };
    kry_probe of_A, of_M;

    TRY(operators_open(o, precond ? precond : "jacobi", &c.ops));
    CHECK(c.ops.M, KRY_ERR_PARSE, "--check-precond wants a preconditioner: --precond WORD");
    TRY(check(&c, "A", c.ops.A, &of_A));
    TRY(check(&c, "M", c.ops.M, &of_M));
    if (!of_M.symmetric || !of_M.positive)
        st = KRY_BREAKDOWN; /* as conjugate gradients with M might end */
done:
    operators_release(&c.ops);
    return st;
}
