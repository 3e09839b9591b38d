/* operators.c - a matrix of the command line on its device, with a preconditioner. */
#include "operators.h"
#include "options.h"

kry_status operators_open(const options *o, const char *precond, operators *ops)
{
    kry_status st = KRY_OK;
    form f;

    ops->seed = (uint64_t)options_whole(o->seed, 1);
    TRY(options_form(o, KRY_VALUES_COMPACT, &f));
    TRY(kry_device_open(o->device, &ops->device));
    CHECK(kry_device_get_info(ops->device)->fp64 || options_type(o) == KRY_F32, KRY_ERR_UNSUPPORTED,
          "%s has no double precision; --precision single works there",
          kry_device_get_info(ops->device)->name);
    TRY(source_open(o->word_count ? o->words[0] : NULL, o->problems[0], ops->seed, &f, &ops->src));
    TRY(source_check_claims(&ops->src));
    TRY(source_operator(&ops->src, ops->device, options_type(o), &f, &ops->A));
    TRY(kry_precond_create(ops->A, precond, &ops->M));
done:
    return st;
}

void operators_release(operators *ops)
{
    kry_op_release(&ops->M);
    kry_op_release(&ops->A);
    kry_device_release(&ops->device);
    source_release(&ops->src);
}
