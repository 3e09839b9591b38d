/*
 * 08_mpi.c - a Poisson problem over MPI ranks, of which each makes its own rows.
 *
 *     mpicc 08_mpi.c -lkry -o 08_mpi && mpirun -n 4 ./08_mpi
 *
 * The unknowns are those of a square of SIDE by SIDE points, row by row; rank r has some consecutive ones.
 */
#include <kry/kry.h>
#include <kry/mpi.h>
#include <stdio.h>

enum { SIDE = 200 };

typedef struct rows {
    int64_t first, count, *row_ptr, *col;
    double *val;
} rows;

/* Row i has 4 on the diagonal and -1 for each neighbour; columns are those of the whole matrix. */
static int make_rows(int rank, int size, rows *R)
{
    const int64_t n = (int64_t)SIDE * SIDE;
    int64_t k = 0;

    R->first = n * rank / size;
    R->count = n * (rank + 1) / size - R->first;
    R->row_ptr = calloc((size_t)R->count + 1, sizeof *R->row_ptr);
    R->col = calloc((size_t)(5 * R->count) + 1, sizeof *R->col);
    R->val = calloc((size_t)(5 * R->count) + 1, sizeof *R->val);
    if (!R->row_ptr || !R->col || !R->val) return 0;
    for (int64_t i = R->first; i < R->first + R->count; i++) {
        const int64_t x = i % SIDE, y = i / SIDE;
        if (y > 0) R->col[k] = i - SIDE, R->val[k++] = -1;
        if (x > 0) R->col[k] = i - 1, R->val[k++] = -1;
        R->col[k] = i, R->val[k++] = 4;
        if (x + 1 < SIDE) R->col[k] = i + 1, R->val[k++] = -1;
        if (y + 1 < SIDE) R->col[k] = i + SIDE, R->val[k++] = -1;
        R->row_ptr[i - R->first + 1] = k;
    }
    return 1;
}

int main(int argc, char **argv)
{
    kry_device *device = NULL, *team = NULL;
    kry_op *A = NULL, *cg = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result result = { 0 };
    kry_rank_facts facts;
    rows R = { 0 };
    kry_status st;
    int rank, size, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!make_rows(rank, size, &R)) MPI_Abort(MPI_COMM_WORLD, 1);

    /* On a machine with several GPUs: the one of this rank's number there, "gpu:0", "gpu:1", ... */
    if ((st = kry_device_open(NULL, &device)) < 0) goto done;
    if ((st = kry_team_of_mpi(MPI_COMM_WORLD, device, NULL, &team)) < 0) goto done;

    /* From here on, a call that fails on one rank fails on all, with the same message. */
    if ((st = kry_csr_create_rows(team, KRY_F64, R.first, R.count, R.row_ptr, R.col, R.val,
                                  KRY_MATRIX(.traits = KRY_POSITIVE), &A)) < 0)
        goto done;
    const int64_t n = kry_op_get_shape(A)->rows; /* of the whole */
    if ((st = kry_vec_create(team, KRY_F64, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(team, KRY_F64, n, 1, &x)) < 0) goto done;
    if ((st = kry_vec_fill(b, 1.0)) < 0) goto done;
    if ((st = kry_solver_create(A, "method=pcg precond=jacobi rtol=1e-8", NULL, NULL, &cg)) < 0)
        goto done;
    st = kry_solve(cg, b, x, &result);
    kry_team_rank_facts(team, &facts);
    if (st >= 0 && rank == 0)
        printf(
            "%d ranks, %lld unknowns: %s after %lld iterations in %.3f s, of which rank 0 waited "
            "%.3f s\n",
            size, (long long)n, kry_status_text(st), (long long)result.iterations,
            result.solve_seconds, facts.waited);
    /* This rank's rows of x: kry_vec_read(x, numbers), of kry_vec_rows_here(x, &first) rows. */

done:
    if (st < 0 && rank == 0) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_op_release(&cg);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_device_release(&team);
    kry_device_release(&device);
    free(R.row_ptr), free(R.col), free(R.val);
    MPI_Finalize();
    return st == KRY_OK ? 0 : 1;
}
