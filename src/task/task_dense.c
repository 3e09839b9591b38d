/* task_dense.c - products and factorisations of dense matrices in the background. */
#include "task/task.h"
#include <string.h>

static kry_status run_gemm(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    bool tA = work->flag[0], tB = work->flag[1];
    kry_vec *A, *B, *C, *P = NULL;

    TRY(kry_work_input(work, self, 0, &A));
    TRY(kry_work_input(work, self, 1, &B));
    TRY(kry_work_input(work, self, 2, &C));
    TRY(kry_work_vec(self, A->type, tA ? A->k : A->n, tB ? B->n : B->k, &P));
    if (C) TRY(kry_vec_copy(C, P));
    TRY(kry_vec_gemm(tA, tB, work->alpha, A, B, C ? work->beta : 0, P));
done:
    return kry_work_give(self, st, &P);
}

kry_status kry_task_gemm(kry_queue *queue, kry_task *A, kry_task *B,
                         const kry_product_params *params, kry_task **task)
{
    static const kry_product_params defaults = { .struct_size = sizeof defaults };
    kry_status st = KRY_OK;

    if (task) *task = NULL;
    if (!params) params = &defaults;
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_task_gemm: params of %zu bytes where %zu are expected: start from KRY_PRODUCT",
          params->struct_size, sizeof *params);
    kry_work work = { .run = run_gemm,
                      .alpha = params->alpha != 0 ? params->alpha : 1,
                      .beta = params->beta,
                      .flag = { params->transposed_A, params->transposed_B } };
    TRY(kry_work_submit("kry_task_gemm", queue, &work,
                        &(kry_work_inputs){ .task = { A, B, params->C }, .needed = 2 }, task));
done:
    return st;
}

static kry_status run_transpose(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A, *At = NULL;

    TRY(kry_work_input(work, self, 0, &A));
    TRY(kry_work_vec(self, A->type, A->k, A->n > 0 ? A->n : 1, &At));
    TRY(kry_vec_transpose(A, At));
done:
    return kry_work_give(self, st, &At);
}

kry_status kry_task_transpose(kry_queue *queue, kry_task *A, kry_task **task)
{
    return kry_work_submit("kry_task_transpose", queue, &(kry_work){ .run = run_transpose },
                           &(kry_work_inputs){ .task = { A }, .needed = 1 }, task);
}

static kry_status run_dense(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A;
    kry_op *op = NULL;
    unsigned traits;

    memcpy(&traits, work->text, sizeof traits);
    TRY(kry_work_input(work, self, 0, &A));
    TRY(kry_dense_create(A, traits, &op));
    kry_task_set_op(self, op);
done:
    kry_op_release(&op);
    return st;
}

kry_status kry_task_dense(kry_queue *queue, kry_task *A, unsigned traits, kry_task **task)
{
    return kry_work_submit(
        "kry_task_dense", queue, &(kry_work){ .run = run_dense },
        &(kry_work_inputs){ .task = { A }, .needed = 1, .text = &traits, .size = sizeof traits },
        task);
}

/* ---- factorisations: params travel as the job's text ---- */

static kry_status submit_with(const char *who, kry_queue *queue, kry_work_fn *run, kry_task *A,
                              const kry_lu_params *params, kry_task **task)
{
    kry_work_inputs given = { .task = { A }, .needed = 1, .text = params };
    kry_work work = { .run = run, .flag = { params != NULL } };

    if (task) *task = NULL;
    if (params && params->struct_size != sizeof *params)
        return kry_fail(KRY_ERR_ARGUMENT,
                        "%s: params of %zu bytes where %zu are expected: start from KRY_LU", who,
                        params->struct_size, sizeof *params);
    if (params) given.size = sizeof *params;
    return kry_work_submit(who, queue, &work, &given, task);
}

static const kry_lu_params *params_of(const kry_work *work, kry_lu_params *room)
{
    if (!work->flag[0]) return NULL;
    memcpy(room, work->text, sizeof *room);
    return room;
}

static kry_status run_lu(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_lu_params room;
    kry_vec *A;
    kry_op *lu = NULL;

    TRY(kry_work_input(work, self, 0, &A));
    TRY(kry_lu_create(A, params_of(work, &room), &lu));
    kry_task_set_op(self, lu);
done:
    kry_op_release(&lu);
    return st;
}

kry_status kry_task_lu(kry_queue *queue, kry_task *A, const kry_lu_params *params, kry_task **task)
{
    return submit_with("kry_task_lu", queue, run_lu, A, params, task);
}

static kry_status run_lu_solve(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_op *lu;
    kry_vec *B, *X = NULL;

    TRY(kry_task_input_op(self, 0, &lu));
    TRY(kry_work_input(work, self, 1, &B));
    TRY(kry_work_vec(self, B->type, B->n, B->k, &X));
    TRY(kry_lu_solve(lu, work->flag[0], B, X));
done:
    return kry_work_give(self, st, &X);
}

kry_status kry_task_lu_solve(kry_queue *queue, kry_task *lu, bool transposed, kry_task *B,
                             kry_task **task)
{
    return kry_work_submit("kry_task_lu_solve", queue,
                           &(kry_work){ .run = run_lu_solve, .flag = { transposed } },
                           &(kry_work_inputs){ .task = { lu, B }, .needed = 2 }, task);
}

static kry_status run_inverse(kry_work *work, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_lu_params room;
    kry_vec *A, *inverse = NULL;

    TRY(kry_work_input(work, self, 0, &A));
    TRY(kry_work_vec(self, A->type, A->n, A->k, &inverse));
    TRY(kry_vec_inverse(A, params_of(work, &room), inverse));
done:
    return kry_work_give(self, st, &inverse);
}

kry_status kry_task_inverse(kry_queue *queue, kry_task *A, const kry_lu_params *params,
                            kry_task **task)
{
    return submit_with("kry_task_inverse", queue, run_inverse, A, params, task);
}
