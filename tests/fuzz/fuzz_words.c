/* fuzz_words.c - words that make solvers ("s..."), preconditioners ("p..."), deflation ("d...") and
 * formats ("f..."), for a small system on the first device: what they make can be released, and
 * nothing else happens. */
#include "fuzz.h"
#include <kry/deflation.h>
#include <kry/formats.h>
#include <kry/precond.h>
#include <kry/solver.h>

enum { N = 12 };

static kry_device *dev;
static kry_op *A;

/* -1, 4, -1 */
static void make_system(void)
{
    int64_t row_ptr[N + 1] = { 0 }, k = 0;
    int32_t col[3 * N];
    float val[3 * N];
    if (A) return;
    for (int32_t i = 0; i < N; i++) {
        for (int32_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
            col[k] = j, val[k++] = i == j ? 4 : -1;
        row_ptr[i + 1] = k;
    }
    ENSURE(kry_device_open(NULL, &dev) == KRY_OK);
    ENSURE(kry_csr_create(dev, KRY_F32, N, N, row_ptr, col, val,
                          KRY_MATRIX(.traits = KRY_SYMMETRIC | KRY_POSITIVE), &A) == KRY_OK);
}

/* A failure has a reason and leaves nothing behind. */
static void settle(kry_status st, kry_op **made)
{
    ENSURE(st >= 0 || (!*made && *kry_last_error()));
    kry_op_release(made);
}

static void parse_deflation(const char *text)
{
    char room[64];
    kry_deflation_params params = *KRY_DEFLATION(.stripes = 0);
    if (kry_deflation_parse(text, room, sizeof room, &params) < 0) {
        ENSURE(*kry_last_error());
        return;
    }
    if (params.labels_file) return; /* files have a target of their own */
    kry_op *D = NULL;
    settle(kry_deflation_create(A, &params, &D), &D);
}

static void parse_format(const char *text)
{
    kry_matrix_params params = *KRY_MATRIX(.format = KRY_FORMAT_CSR);
    if (kry_format_parse(text, &params) < 0) ENSURE(*kry_last_error());
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) return 0;
    char *text = text_of_bytes(bytes + 1, size - 1);
    kry_op *made = NULL;
    make_system();
    if (bytes[0] == 'p')
        settle(kry_precond_create(A, text, &made), &made);
    else if (bytes[0] == 'd')
        parse_deflation(text);
    else if (bytes[0] == 'f')
        parse_format(text);
    else if (!strstr(text, "labels:"))
        settle(kry_solver_create(A, text, NULL, NULL, &made), &made);
    free(text);
    return 0;
}
