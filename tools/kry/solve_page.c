/*
 * solve_page.c - facts of a solve that only the program knows, for its page.
 */
#include "solve_page.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

typedef struct fact_list {
    char value[MOST][600];
    const char *pair[2 * MOST + 1]; /* name, value, ...; ended by NULL */
    int count;
} fact_list;

static void add(fact_list *l, const char *name, const char *format, ...) KRY_PRINTF(3, 4);

static void add(fact_list *l, const char *name, const char *format, ...)
{
    va_list args;

    if (l->count == MOST) return;
    va_start(args, format);
    vsnprintf(l->value[l->count], sizeof l->value[0], format, args);
    va_end(args);
    l->pair[2 * l->count] = name;
    l->pair[2 * l->count + 1] = l->value[l->count];
    l->count++;
}

static void find_facts(const report *r, fact_list *l)
{
    *l = (fact_list){ .count = 0 };
    add(l, "source", "%s", r->src->name);
    if (r->src->nulls || source_traits(r->src) & KRY_SINGULAR)
        add(l, "singular", "yes: %s", r->null_space);
    if (r->src->negated) add(l, "sign", "the diagonal is negative: -A x = -b was solved");
    add(l, "right-hand side", "%s", strcmp(r->rhs, "problem") ? r->rhs : "the problem's own");
    if (r->seeded) add(l, "seed", "%" PRId64, r->seed);
    if (!r->result.chosen[0]) add(l, "method", "%s", r->method);
    add(l, "preconditioner", "%s%s%s", r->precond, r->precond_why ? ", by auto: " : "",
        r->precond_why ? r->precond_why : "");
    if (strcmp(r->deflation, "none")) add(l, "deflation", "%s", r->deflation);
    if (r->has_error) add(l, "error", "%.4e at most, %.4e relative", r->error_inf, r->error_rel);
}

/* The very object that --json prints. */
static kry_status find_json(const report *r, char **text)
{
    kry_status st = KRY_OK;
    size_t size;
    FILE *f = open_memstream(text, &size);

    CHECK(f, KRY_ERR_MEMORY, "no memory for the numbers of the page");
    json j = json_begin(f);
    report_json(&j, r);
    json_end(&j);
    CHECK(fclose(f) == 0, KRY_ERR_MEMORY, "no memory for the numbers of the page");
done:
    return st;
}

kry_status solve_page_write(const options *o, const report *r, kry_report *kept, const kry_op *A,
                            const kry_op *solver)
{
    kry_status st = KRY_OK;
    const char *slash = strrchr(r->src->name, '/');
    char *command = NULL, *object = NULL;
    fact_list facts;

    find_facts(r, &facts);
    st = options_command(o, &command);
    if (st >= 0) st = find_json(r, &object);
    TRY(ranks_agree(st));
    TRY(kry_report_write(kept, o->html,
                         KRY_REPORT(.solver = solver, .A = A, .result = &r->result,
                                    .title = slash ? slash + 1 : r->src->name, .command = command,
                                    .facts = facts.pair, .json = object)));
done:
    free(object);
    free(command);
    return st;
}
