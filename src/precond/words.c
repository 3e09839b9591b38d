/* words.c - preconditioners from their names: a word, and what stands behind its colon. */
#include "base/number.h"
#include "operator/op.h"
#include "precond/storage.h"
#include <kry/precond.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A positive number behind the colon; 0: there is no colon. */
static kry_status read_count(const char *name, const char *rest, const char *form, int *count)
{
    kry_status st = KRY_OK;
    int64_t value = 0;

    CHECK(!rest || (kry_parse_int64(rest, &value) && value > 0 && value <= INT_MAX), KRY_ERR_PARSE,
          "kry_precond_create: '%s' is not %s", name, form);
    *count = (int)value;
done:
    return st;
}

static kry_status make_jacobi(const kry_op *A, const char *name, const char *rest,
                              kry_store storage, kry_op **M)
{
    (void)storage;
    return rest ? kry_fail(KRY_ERR_PARSE, "kry_precond_create: '%s' is not jacobi", name)
                : kry_jacobi_create(A, M);
}

static kry_status make_block_jacobi(const kry_op *A, const char *name, const char *rest,
                                    kry_store storage, kry_op **M)
{
    kry_status st = KRY_OK;
    int rows = 0;
    TRY(read_count(name, rest, "block-jacobi:ROWS", &rows));
    TRY(kry_block_jacobi_create(A, KRY_BLOCK_JACOBI(.rows = rows, .storage = storage), M));
done:
    return st;
}

static kry_status make_chebyshev(const kry_op *A, const char *name, const char *rest,
                                 kry_store storage, kry_op **M)
{
    (void)storage;
    kry_status st = KRY_OK;
    int degree = 0;
    TRY(read_count(name, rest, "chebyshev:DEGREE", &degree));
    TRY(kry_chebyshev_create(A, KRY_CHEBYSHEV(.degree = degree), M));
done:
    return st;
}

static kry_status make_neumann(const kry_op *A, const char *name, const char *rest,
                               kry_store storage, kry_op **M)
{
    (void)storage;
    kry_status st = KRY_OK;
    int degree = 0;
    TRY(read_count(name, rest, "neumann:DEGREE", &degree));
    TRY(kry_neumann_create(A, KRY_NEUMANN(.degree = degree), M));
done:
    return st;
}

static kry_status make_ssor_ai(const kry_op *A, const char *name, const char *rest,
                               kry_store storage, kry_op **M)
{
    (void)storage;
    kry_status st = KRY_OK;
    int degree = 0;
    TRY(read_count(name, rest, "ssor-ai:DEGREE", &degree));
    TRY(kry_ssor_ai_create(A, KRY_SSOR_AI(.degree = degree), M));
done:
    return st;
}

static kry_status make_ip(const kry_op *A, const char *name, const char *rest, kry_store storage,
                          kry_op **M)
{
    (void)storage;
    kry_status st = KRY_OK;
    bool unscaled = rest && !strncmp(rest, "unscaled", 8), both = unscaled && rest[8] == ',';
    const char *last = rest ? rest + (both ? 9 : 0) : "drop";
    bool drop = rest && !strcmp(last, "drop");

    CHECK(!rest || drop || !strcmp(rest, "unscaled"), KRY_ERR_PARSE,
          "kry_precond_create: '%s' is none of ip, ip:unscaled, ip:drop, ip:unscaled,drop", name);
    TRY(kry_incomplete_poisson_create(A, KRY_INCOMPLETE_POISSON(.unscaled = unscaled, .drop = drop),
                                      M));
done:
    return st;
}

/* Rows of a block; the parameters' default is 0, and so what is written is not. */
static kry_status read_rows(const char *name, const char *rest, int64_t *rows)
{
    kry_status st = KRY_OK;

    *rows = 0;
    CHECK(!rest || kry_parse_int64(rest, rows), KRY_ERR_PARSE,
          "kry_precond_create: '%s' is not %.*s:ROWS", name, (int)strcspn(name, ":"), name);
    CHECK(!rest || *rows, KRY_ERR_ARGUMENT, "kry_precond_create: '%s': block size 0", name);
done:
    return st;
}

static kry_status make_block_ic(const kry_op *A, const char *name, const char *rest,
                                kry_store storage, kry_op **M)
{
    kry_status st = KRY_OK;
    int64_t rows = 0;
    TRY(read_rows(name, rest, &rows));
    TRY(kry_block_ic_create(A, KRY_BLOCK_IC(.rows = rows, .storage = storage), M));
done:
    return st;
}

static kry_status make_block_ilu(const kry_op *A, const char *name, const char *rest,
                                 kry_store storage, kry_op **M)
{
    kry_status st = KRY_OK;
    int64_t rows = 0;
    TRY(read_rows(name, rest, &rows));
    TRY(kry_block_ilu_create(A, KRY_BLOCK_IC(.rows = rows, .storage = storage), M));
done:
    return st;
}

/* One block. */
static kry_status make_ilu0(const kry_op *A, const char *name, const char *rest, kry_store storage,
                            kry_op **M)
{
    return rest ? kry_fail(KRY_ERR_PARSE, "kry_precond_create: '%s' is not ilu0", name)
                : kry_block_ilu_create(A, KRY_BLOCK_IC(.rows = A->shape.rows, .storage = storage),
                                       M);
}

static kry_status make_nothing(const kry_op *A, const char *name, const char *rest,
                               kry_store storage, kry_op **M)
{
    (void)A, (void)M, (void)storage;
    return rest ? kry_fail(KRY_ERR_PARSE, "kry_precond_create: '%s' is not none", name) : KRY_OK;
}

/* What stands behind an @; `plain` is the word without. */
static kry_status read_storage(const char *name, char *plain, size_t size, kry_store *storage)
{
    static const kry_store all[] = { KRY_STORE_GIVEN, KRY_STORE_SINGLE, KRY_STORE_HALF };
    kry_status st = KRY_OK;
    const char *at = strchr(name, '@');

    *storage = KRY_STORE_GIVEN;
    CHECK(snprintf(plain, size, "%.*s", at ? (int)(at - name) : (int)strlen(name), name) <
              (int)size,
          KRY_ERR_PARSE, "kry_precond_create: a word of %zu bytes is too long", strlen(name));
    for (size_t i = 0; at && i < COUNT(all); i++)
        if (!strcmp(at + 1, kry_storage_name(all[i]))) return *storage = all[i], KRY_OK;
    CHECK(!at, KRY_ERR_PARSE, "kry_precond_create: '%s': behind @ stand single, half or given",
          name);
done:
    return st;
}

kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M)
{
    static const struct {
        const char *word;
        kry_status (*make)(const kry_op *A, const char *name, const char *rest, kry_store storage,
                           kry_op **M);
        bool stores; /* in single, and as halves */
    } table[] = {
        { "none", make_nothing, false },
        { "jacobi", make_jacobi, false },
        { "block-jacobi", make_block_jacobi, true },
        { "chebyshev", make_chebyshev, false },
        { "ip", make_ip, false },
        { "neumann", make_neumann, false },
        { "ssor-ai", make_ssor_ai, false },
        { "block-ic", make_block_ic, true },
        { "block-ilu", make_block_ilu, true },
        { "ilu0", make_ilu0, true },
    };
    kry_status st = KRY_OK;
    kry_store storage;
    char words[256] = "", plain[128];

    *M = NULL;
    CHECK(A && name, KRY_ERR_ARGUMENT, "kry_precond_create: NULL");
    TRY(read_storage(name, plain, sizeof plain, &storage));
    size_t length = strcspn(plain, ":");
    for (size_t i = 0, used = 0; i < COUNT(table); i++) {
        if (strlen(table[i].word) == length && !strncmp(table[i].word, plain, length)) {
            CHECK(!storage || table[i].stores, KRY_ERR_UNSUPPORTED,
                  "kry_precond_create: '%s': block-jacobi, block-ic, block-ilu and ilu0 keep their "
                  "numbers in single or as halves, '%s' does not",
                  name, table[i].word);
            return table[i].make(A, plain, plain[length] ? plain + length + 1 : NULL, storage, M);
        }
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                 table[i].word);
    }
    CHECK(false, KRY_ERR_PARSE, "kry_precond_create: '%s' is none of %s", name, words);
done:
    return st;
}
