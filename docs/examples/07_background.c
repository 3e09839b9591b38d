/*
 * 07_background.c - the device works in the background while the program goes on: handles stand for
 * vectors that are not computed yet, and are inputs of what comes next.
 *
 * A is the five-point Laplacian on the unit square, in units of its smallest eigenvalue. From a
 * vector v the device makes b = A v, solves A x = b, and takes the norm of x - v: a chain that is
 * submitted before any of it has begun. Meanwhile a thread of the host computes the norm of v, and
 * the program prints how far the solve is.
 */
#include <kry/kry.h>
#include <kry/queue.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 96, n = N * N };

static kry_status laplacian(kry_device *device, double lambda, kry_op **A)
{
    int64_t *row_ptr = calloc(n + 1, sizeof *row_ptr);
    int32_t *col = calloc(5 * n, sizeof *col);
    float *val = calloc(5 * n, sizeof *val);
    static const int dx[] = { 0, -1, 0, 1, 0 }, dy[] = { -1, 0, 0, 0, 1 };
    kry_status st = KRY_ERR_MEMORY;
    int64_t nnz = 0;

    *A = NULL;
    if (!row_ptr || !col || !val) goto done;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 5; k++) {
            int x = i % N + dx[k], y = i / N + dy[k];
            if (x < 0 || x >= N || y < 0 || y >= N) continue;
            col[nnz] = y * N + x;
            val[nnz++] = (float)((k == 2 ? 4 : -1) / lambda);
        }
        row_ptr[i + 1] = nnz;
    }
    st = kry_csr_create(device, KRY_F32, n, n, row_ptr, col, val,
                        KRY_MATRIX(.traits = KRY_POSITIVE), A);
done:
    free(row_ptr);
    free(col);
    free(val);
    return st;
}

/* A job of the caller's: any function of the library. Inputs: x and v; value: the norm of x - v. */
static kry_status distance(void *user, kry_task *self)
{
    kry_vec *x, *v, *difference = NULL;
    double norm;
    kry_status st;

    (void)user;
    if ((st = kry_task_input_vec(self, 0, &x)) < 0) return st;
    if ((st = kry_task_input_vec(self, 1, &v)) < 0) return st;
    if ((st = kry_vec_create(kry_vec_device(x), KRY_F32, n, 1, &difference)) < 0) return st;
    st = kry_vec_copy(x, difference);
    if (st >= 0) st = kry_vec_axpby(-1, v, 1, difference);
    if (st >= 0) st = kry_vec_norm2(difference, &norm);
    if (st >= 0) kry_task_set_number(self, norm);
    kry_vec_release(&difference);
    return st;
}

/* Another one, on the thread of a queue without a device. */
static kry_status norm_of(void *user, kry_task *self)
{
    const float *v = user;
    double sum = 0;

    for (int i = 0; i < n; i++) sum += (double)v[i] * v[i];
    kry_task_set_number(self, sqrt(sum));
    return KRY_OK;
}

/* What the program does while it waits. */
static kry_status watch(kry_task *task)
{
    bool ended = false;
    kry_status st = KRY_OK;
    kry_task_progress_info at;

    while (!ended) {
        st = kry_task_wait_for(task, 0.1, &ended);
        kry_task_progress(task, &at);
        printf("%s: %3.0f %%, iteration %lld\n", kry_task_name(task), 100 * at.fraction,
               (long long)at.iteration);
    }
    return st;
}

int main(void)
{
    const double pi = 3.14159265358979323846;
    const double lambda = 8 * pow(sin(pi / (N + 1) / 2), 2); /* the smallest of (-1 -1 4 -1 -1) */
    float *v = calloc(n, sizeof *v), *x = calloc(n, sizeof *x);
    kry_device *device = NULL;
    kry_queue *queue = NULL, *host = NULL;
    kry_op *A = NULL;
    enum { MATRIX, SOLVER, V, B, X, NORM_ERROR, NORM_V, READ, TASKS };
    kry_task *t[TASKS] = { NULL };
    double target = 0, norm_error = 1, norm_v = 0, worst = 0;
    kry_status st = KRY_ERR_MEMORY;

    if (!v || !x) goto done;
    for (int i = 0; i < n; i++) v[i] = (float)(i * 7919 % 1000) / 1000;
    if ((st = kry_device_open(NULL, &device)) < 0) goto done;
    if ((st = laplacian(device, lambda, &A)) < 0) goto done;
    if ((st = kry_queue_create(device, NULL, &queue)) < 0) goto done;
    if ((st = kry_queue_create(NULL, NULL, &host)) < 0) goto done;

    /* From here on the device is its queue's. Nothing of this waits. */
    if ((st = kry_task_of_op(A, &t[MATRIX])) < 0 ||
        (st = kry_task_solver(queue, t[MATRIX], "method=pcg precond=jacobi rtol=1e-4",
                              &t[SOLVER])) < 0 ||
        (st = kry_task_write(queue, KRY_HOST(.type = KRY_F32, .n = n, .numbers = v), &t[V])) < 0 ||
        (st = kry_task_apply(queue, t[MATRIX], t[V], &t[B])) < 0 ||
        (st = kry_task_solve(queue, t[SOLVER], t[B], NULL, &t[X])) < 0 ||
        (st = kry_task_submit(queue, KRY_JOB(.name = "distance", .run = distance),
                              (kry_task *[]){ t[X], t[V] }, 2, &t[NORM_ERROR])) < 0 ||
        (st = kry_task_read(queue, t[X], x, &t[READ])) < 0)
        goto done;
    st = kry_task_submit(host, KRY_JOB(.name = "norm", .run = norm_of, .user = v), NULL, 0,
                         &t[NORM_V]);
    if (st < 0) goto done;

    if ((st = watch(t[X])) != KRY_OK) goto done; /* the status of kry_solve, and its error */
    if ((st = kry_task_wait(t[READ])) < 0) goto done;
    if ((st = kry_task_number(t[NORM_V], &norm_v)) < 0) goto done;
    if ((st = kry_task_number(t[NORM_ERROR], &norm_error)) < 0) goto done;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - v[i]));
    printf("%s after %lld iterations\n", kry_task_result(t[X])->why,
           (long long)kry_task_result(t[X])->iterations);
    printf("||v|| = %.3f, ||x - v|| = %.1e, at most %.1e in one place\n", norm_v, norm_error,
           worst);
    target = kry_task_result(t[X])->target; /* rtol times the norm of b */

done:
    if (st != KRY_OK) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_queue_release(&queue); /* whatever is still under way is cancelled */
    kry_queue_release(&host);
    for (int i = 0; i < TASKS; i++) kry_task_release(&t[i]);
    kry_op_release(&A);
    kry_device_release(&device);
    free(v);
    free(x);
    /* ||x - v|| <= ||inverse(A)|| ||b - A x||, and no eigenvalue of A is below 1 */
    return st == KRY_OK && norm_error < 1.01 * target && worst <= norm_error ? 0 : 1;
}
