/* fuzz_problem.c - specs of model problems. Allocations of a megabyte fail (the linker puts these
 * functions in the place of the library's), so that a spec of many unknowns is out of memory at
 * once: sizes are reckoned with, and nothing is computed for long. */
#include "fuzz.h"
#include <kry/problem.h>
#include <math.h>

enum { MOST = 1 << 20 }; /* bytes */

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_calloc(size_t count, size_t size)
{
    return size && count > MOST / size ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return bytes > MOST ? NULL : __real_realloc(old, bytes);
}

static void check(const kry_problem *p)
{
    ENSURE(p->n >= 1 && p->nnz >= p->n && p->row_ptr[0] == 0 && p->row_ptr[p->n] == p->nnz);
    for (int64_t i = 0; i < p->n; i++) {
        ENSURE(p->row_ptr[i] < p->row_ptr[i + 1]);
        ENSURE(isfinite(p->rhs[i]) && (!p->solution || isfinite(p->solution[i])));
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            ENSURE(p->col[k] >= 0 && p->col[k] < p->n && isfinite(p->val[k]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = text_of_bytes(bytes, size);
    kry_problem *p = NULL;
    kry_status st = kry_problem_create(text, size, &p);
    ENSURE((st == KRY_OK) == (p != NULL));
    if (p)
        check(p);
    else
        ENSURE((st == KRY_ERR_PARSE || st == KRY_ERR_MEMORY) && *kry_last_error());
    kry_problem_release(&p);
    st = kry_problem_create_grid(text, size, &p);
    ENSURE((st == KRY_OK) == (p != NULL));
    kry_problem_release(&p);
    free(text);
    return 0;
}
