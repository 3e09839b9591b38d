/* test_params.c - programs that were compiled with an earlier header, whose structs are shorter: parameters, and what
 * the library fills in. */
#include "grid/stencil.h"
#include "krylov/options.h"
#include "krylov/stop.h"
#include "multigrid/hierarchy.h"
#include "operator/op_parts.h"
#include "testing.h"

static const int64_t row_ptr[] = { 0, 2, 5, 7 };
static const int32_t col[] = { 0, 1, 0, 1, 2, 1, 2 };
static const double val[] = { 2, -1, -1, 2, -1, -1, 2 };

static kry_op *small_matrix(const kry_matrix_params *params)
{
    kry_op *A;
    OK(kry_csr_create(device(), KRY_F64, 3, 3, row_ptr, col, val, params, &A));
    return A;
}

/* What stands behind the fields that the caller knows is not read. */
static void take__a_shorter_struct(void **state)
{
    (void)state;
    kry_pcg_params given, mine;
    memset(&given, 0xff, sizeof given);
    memset(&mine, 0xee, sizeof mine);
    given.struct_size = offsetof(kry_pcg_params, guesses);
    OK(kryi_params_take("f", "KRY_PCG", &given, &mine, sizeof mine));
    assert_true(mine.struct_size == sizeof mine && mine.guesses == 0);
    assert_memory_equal((char *)&mine + sizeof(size_t), (char *)&given + sizeof(size_t),
                        given.struct_size - sizeof(size_t));
}

static void take__none_is_all_defaults(void **state)
{
    (void)state;
    kry_pcg_params mine, zero;
    memset(&mine, 0xee, sizeof mine);
    memset(&zero, 0, sizeof zero);
    zero.struct_size = sizeof zero;
    OK(kryi_params_take("f", "KRY_PCG", NULL, &mine, sizeof mine));
    assert_memory_equal(&mine, &zero, sizeof mine);
}

static void take__sizes_that_no_header_made(void **state)
{
    (void)state;
    kry_pcg_params mine, given = *KRY_PCG(.guesses = 0);
    for (size_t size = 0; size <= sizeof(size_t); size++) {
        given.struct_size = size;
        REFUSES(kryi_params_take("f", "KRY_PCG", &given, &mine, sizeof mine), KRY_ERR_ARGUMENT,
                "f: params of ");
    }
    given.struct_size = sizeof given + 1;
    REFUSES(kryi_params_take("f", "KRY_PCG", &given, &mine, sizeof mine), KRY_ERR_ARGUMENT,
            "made by KRY_PCG of a later version");
}

static void matrix__fields_that_the_caller_does_not_know(void **state)
{
    (void)state;
    kry_matrix_params p = *KRY_MATRIX(.format = KRY_FORMAT_CSR, .block = -7, .on_host = true);
    kry_op *A, *B, *C;
    p.struct_size = offsetof(kry_matrix_params, block);
    A = small_matrix(&p);
    OK(kry_format_parse("ell", &p)); /* writes the caller's fields alone */
    assert_true(p.format == KRY_FORMAT_ELL && p.block == -7 && p.on_host);
    assert_int_equal(p.struct_size, offsetof(kry_matrix_params, block));
    B = small_matrix(&p);
    p.struct_size = sizeof p;
    REFUSES(kry_csr_create(device(), KRY_F64, 3, 3, row_ptr, col, val, &p, &C), KRY_ERR_ARGUMENT,
            "block = -7");
    kry_op_release(&A), kry_op_release(&B);
}

static void precond__fields_that_the_caller_does_not_know(void **state)
{
    (void)state;
    kry_block_ic_params p = *KRY_BLOCK_IC(.rows = 2, .fill = -3);
    kry_chebyshev_params c = *KRY_CHEBYSHEV(.degree = 2, .ratio = 0.5);
    kry_op *A = small_matrix(NULL), *M;
    p.struct_size = offsetof(kry_block_ic_params, fill);
    OK(kry_block_ic_create(A, &p, &M));
    kry_op_release(&M);
    p.struct_size = sizeof p;
    REFUSES(kry_block_ic_create(A, &p, &M), KRY_ERR_ARGUMENT, "fill = -3");
    c.struct_size = offsetof(kry_chebyshev_params, ratio);
    OK(kry_chebyshev_create(A, &c, &M));
    kry_op_release(&M);
    c.struct_size = sizeof c + 8;
    REFUSES(kry_chebyshev_create(A, &c, &M), KRY_ERR_ARGUMENT, "later version");
    kry_op_release(&A);
}

static void deflation__word_for_a_caller_with_fewer_fields(void **state)
{
    (void)state;
    kry_deflation_params p = *KRY_DEFLATION(.stripes = 0);
    const size_t known = sizeof p - 8;
    char room[64], behind[8];
    memset((char *)&p + known, 0x5a, sizeof behind);
    memset(behind, 0x5a, sizeof behind);
    p.struct_size = known;
    OK(kry_deflation_parse("stripes:7", room, sizeof room, &p));
    assert_true(p.stripes == 7 && p.struct_size == known);
    assert_memory_equal((char *)&p + known, behind, sizeof behind);
}

static size_t round_up(size_t at, size_t to) { return (at + to - 1) / to * to; }

static size_t size_of(const kryi_field *f)
{
    switch (f->type) {
    case KRY_FIELD_INT: return sizeof(int);
    case KRY_FIELD_BOOL: return sizeof(bool);
    case KRY_FIELD_TEXT:
    case KRY_FIELD_POINTER:
    case KRY_FIELD_LOCAL: return sizeof(void *);
    default: return 8;
    }
}

/* Where eight bytes may begin in a struct: x86 of 32 bits has them at multiples of four. */
enum { ALIGNED = _Alignof(struct { int64_t number; }) };

/* Where the struct ends whose fields these are. Each field begins where the one before ends. */
static size_t end_of(const kryi_field *fields, size_t at)
{
    size_t end = 0;

    for (const kryi_field *f = fields; f->type != KRY_FIELD_END; f++) {
        if (f->type == KRY_FIELD_NOTHING) continue;
        assert_true(!end ||
                    at + f->offset == round_up(end, size_of(f) < ALIGNED ? size_of(f) : ALIGNED));
        end = f->fields ? end_of(f->fields, at + f->offset)
                        : at + f->offset + size_of(f) * (size_t)(f->count ? f->count : 1);
    }
    return round_up(end, ALIGNED);
}

/* No field of a struct is left out of its table, so that ranks compare all of them. */
static void tables__have_each_field(void **state)
{
    extern const kryi_constructor kryi_block_jacobi_precond, kryi_chebyshev_precond,
        kryi_incomplete_poisson_precond, kryi_neumann_precond, kryi_ssor_ai_precond,
        kryi_mg_precond, kryi_amg_precond, kryi_ras_precond, kryi_block_ic_precond,
        kryi_block_ilu_precond, kryi_fsai_precond, kryi_saddle_precond;
    const kryi_constructor *const preconds[] = {
        &kryi_block_jacobi_precond, &kryi_chebyshev_precond, &kryi_incomplete_poisson_precond,
        &kryi_neumann_precond,      &kryi_ssor_ai_precond,   &kryi_mg_precond,
        &kryi_amg_precond,          &kryi_ras_precond,       &kryi_block_ic_precond,
        &kryi_block_ilu_precond,    &kryi_fsai_precond,      &kryi_saddle_precond
    };
    (void)state;

    for (size_t i = 0; i < COUNT(preconds); i++)
        assert_int_equal(end_of(preconds[i]->fields, 0), preconds[i]->params_size);
    assert_int_equal(end_of(kryi_stop_fields, 0), sizeof(kry_stop));
    assert_int_equal(end_of(kryi_cycle_fields, 0), sizeof(kry_cycle_params));
    assert_int_equal(end_of(kryi_pcg_fields, 0), sizeof(kry_pcg_params));
    assert_int_equal(end_of(kryi_relaxation_fields, 0), sizeof(kry_relaxation_params));
    assert_int_equal(end_of(kryi_mixed_fields, 0), sizeof(kry_mixed_params));
    assert_int_equal(end_of(kryi_deflation_fields, 0), sizeof(kry_deflation_params));
    assert_int_equal(end_of(kryi_stencil_fields, 0), sizeof(kry_stencil_params));
}

static kry_status twice(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(2 * alpha, x, beta, y);
}

/* The entries that a table lacks are not offered, whatever stands behind it. */
static void op__table_of_an_earlier_version(void **state)
{
    (void)state;
    struct {
        size_t struct_size;
        const char *kind;
        kry_status (*apply)(void *, double, const kry_vec *, double, kry_vec *);
        uintptr_t behind[20];
    } table = { offsetof(kry_op_table, apply_dot), "twice", twice, { 0 } };
    const kry_op_shape shape = { 3, 3, KRY_F64, KRY_POSITIVE };
    const double ones[] = { 1, 1, 1 };
    double host[3];
    kry_op *A, *solver;
    kry_vec *b, *x;
    kry_result r;
    memset(table.behind, 0xa5, sizeof table.behind);
    OK(kry_op_create(device(), (const kry_op_table *)(const void *)&table, NULL, &shape, &A));
    OK(kry_vec_create(device(), KRY_F64, 3, 1, &b));
    OK(kry_vec_create(device(), KRY_F64, 3, 1, &x));
    OK(kry_vec_write(b, ones));
    OK(kry_solver_create(A, "method=cg", NULL, NULL, &solver));
    OK(kry_solve(solver, b, x, &r));
    OK(kry_vec_read(x, host));
    for (int i = 0; i < 3; i++) assert_true(host[i] == 0.5);
    REFUSES(kry_op_diagonal(A, x), KRY_ERR_UNSUPPORTED, "twice");
    kry_op_release(&solver);
    kry_vec_release(&b), kry_vec_release(&x);
    kry_op_release(&A);
}

/* ---- what the library fills in ---- */

/* A struct as callers with other headers have it: `size` bytes of room, and a canary behind them. */
typedef struct room {
    max_align_t bytes[128];
} room;
enum { CANARY = 0x5a };

static void *poisoned(room *r) { return memset(r, CANARY, sizeof *r); }

/* The first bytes are those of `full`, those that no field stands for are 0, and what is behind is untouched. */
static void is_cut(const room *r, size_t size, const void *full, size_t full_size)
{
    const unsigned char *at = (const unsigned char *)r;
    const size_t common = size < full_size ? size : full_size;

    assert_true(size < sizeof *r);
    if (full) assert_memory_equal(at, full, common);
    for (size_t i = common; i < size; i++) assert_int_equal(at[i], 0);
    for (size_t i = size; i < sizeof *r; i++) assert_int_equal(at[i], CANARY);
}

static void op_info__of_any_size(void **state)
{
    (void)state;
    kry_op *A = small_matrix(KRY_MATRIX(.format = KRY_FORMAT_CSR));
    const kry_op *const all[] = { A, NULL };
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_op_info full;
        kry_op_describe(all[i], &full);
        assert_string_equal(full.kind, all[i] ? "csr" : "");
        for (size_t size = 0; size <= sizeof full + 24; size++) {
            room r;
            kry_op_describe_sized(all[i], poisoned(&r), size);
            is_cut(&r, size, &full, sizeof full);
        }
    }
    kry_op_release(&A);
}

/* Seconds differ from solve to solve: of a result these fields are compared. */
static void same_result(const room *r, size_t size, const kry_result *full)
{
    kry_result mine;
    memcpy(&mine, r, sizeof mine < size ? sizeof mine : size);
    if (size >= offsetof(kry_result, resident_iterations)) {
        assert_true(mine.reason == full->reason && mine.iterations == full->iterations);
        assert_string_equal(mine.why, full->why);
    }
    if (size >= sizeof mine) assert_true(mine.check_count == full->check_count);
    is_cut(r, size, NULL, sizeof mine);
}

static void result__of_any_size(void **state)
{
    (void)state;
    kry_op *A = small_matrix(KRY_MATRIX(.traits = KRY_POSITIVE)), *S;
    const double host[] = { 1, 2, 3 };
    const size_t sizes[] = { 0,
                             sizeof(kry_reason),
                             offsetof(kry_result, resident_iterations),
                             offsetof(kry_result, chosen) + 7,
                             offsetof(kry_result, checks),
                             sizeof(kry_result),
                             sizeof(kry_result) + 40 };
    kry_result full;
    kry_vec *b = vec_of(KRY_F64, host, 3, 1), *x = vec_of(KRY_F64, host, 3, 1);
    OK(kry_solver_create(A, "method=cg", NULL, NULL, &S));
    OK(kry_vec_fill(x, 0));
    OK(kry_solve(S, b, x, &full));
    assert_true(full.iterations > 1 && full.check_count > 1);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double guess[] = { 0, 0, 0 };
        room r;
        OK(kry_vec_fill(x, 0));
        OK(kry_solve_sized(S, b, x, poisoned(&r), sizes[i]));
        same_result(&r, sizes[i], &full);
        OK(kry_solve_host_sized(S, host, guess, poisoned(&r), sizes[i]));
        same_result(&r, sizes[i], &full);
        /* a call that fails leaves zeros in as many bytes */
        const kry_result none = { 0 };
        assert_int_equal(kry_solve_host_sized(NULL, host, guess, poisoned(&r), sizes[i]),
                         KRY_ERR_ARGUMENT);
        is_cut(&r, sizes[i], &none, sizeof none);
        assert_int_equal(kry_solve_sized(A, b, x, poisoned(&r), sizes[i]), KRY_ERR_TYPE);
        is_cut(&r, sizes[i], &none, sizeof none);
    }
    kry_vec_release(&b), kry_vec_release(&x);
    kry_op_release(&S), kry_op_release(&A);
}

/* The entries of the list lie as far from each other as the caller's struct is long. */
static void device_list__of_any_size(void **state)
{
    (void)state;
    NOT_ON_HOST("list of OpenCL devices");
    const size_t sizes[] = { offsetof(kry_device_info, vendor), offsetof(kry_device_info, opencl),
                             sizeof(kry_device_info), sizeof(kry_device_info) + 16 };
    kry_device_info *full = NULL;
    int count, counted;
    OK(kry_device_list(&full, &count));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        kry_device_info *list = NULL;
        OK(kry_device_list_sized(&list, &counted, sizes[i]));
        assert_int_equal(counted, count);
        for (int d = 0; d < count; d++) {
            room r;
            memcpy(poisoned(&r), (char *)list + (size_t)d * sizes[i], sizes[i]);
            is_cut(&r, sizes[i], &full[d], sizeof full[d]);
        }
        free(list);
    }
    free(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__a_shorter_struct),
        cmocka_unit_test(take__none_is_all_defaults),
        cmocka_unit_test(take__sizes_that_no_header_made),
        cmocka_unit_test(matrix__fields_that_the_caller_does_not_know),
        cmocka_unit_test(precond__fields_that_the_caller_does_not_know),
        cmocka_unit_test(deflation__word_for_a_caller_with_fewer_fields),
        cmocka_unit_test(tables__have_each_field),
        cmocka_unit_test(op__table_of_an_earlier_version),
        cmocka_unit_test(op_info__of_any_size),
        cmocka_unit_test(result__of_any_size),
        cmocka_unit_test(device_list__of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
