/*
 * hypre.c - the time that BoomerAMG with CG, or BiCGSTAB, of hypre takes: on a GPU, if hypre was made for it. README.md says how
 * to run it.
 *
 *     ./hypre PROBLEM [LEVELS OF AGGRESSIVE COARSENING]
 */
#include "peer.h"
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_utilities.h>
#ifdef HYPRE_USING_CUDA
#include <cuda_runtime.h>
#endif

static int aggressive;
static HYPRE_IJMatrix matrix;
static HYPRE_IJVector rhs, solution;
static HYPRE_IJVector
    modes[3]; /* the rotations: BoomerAMG has the displacements of nodes by itself */
static HYPRE_ParVector mode_vectors[3];
static HYPRE_ParCSRMatrix A;
static HYPRE_ParVector b, x;
static HYPRE_Solver amg, krylov;
static int symmetric;

static void check(HYPRE_Int error)
{
    char text[256];

    if (!error) return;
    HYPRE_DescribeError(error, text);
    peer_fail(text);
}

static void wait_for_device(void)
{
#ifdef HYPRE_USING_CUDA
    if (cudaDeviceSynchronize() != cudaSuccess) peer_fail("CUDA: the device failed");
#endif
}

static HYPRE_IJVector vector(const double *values, int64_t n, HYPRE_ParVector *object)
{
    HYPRE_IJVector v;
    HYPRE_BigInt *rows = (HYPRE_BigInt *)malloc((size_t)n * sizeof *rows);

    if (!rows) peer_fail("out of memory");
    for (int64_t i = 0; i < n; i++) rows[i] = (HYPRE_BigInt)i;
    check(HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, (HYPRE_BigInt)n - 1, &v));
    check(HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR));
    check(HYPRE_IJVectorInitialize_v2(v, HYPRE_MEMORY_HOST));
    check(HYPRE_IJVectorSetValues(v, (HYPRE_Int)n, rows, values));
    check(HYPRE_IJVectorAssemble(v));
#ifdef HYPRE_USING_CUDA
    check(HYPRE_IJVectorMigrate(v, HYPRE_MEMORY_DEVICE));
#endif
    check(HYPRE_IJVectorGetObject(v, (void **)object));
    free(rows);
    return v;
}

static void store_matrix(const peer_system *s)
{
    const int64_t n = s->p->n;
    HYPRE_Int *lengths = (HYPRE_Int *)malloc((size_t)n * sizeof *lengths);
    HYPRE_BigInt *rows = (HYPRE_BigInt *)malloc((size_t)n * sizeof *rows);

    if (!lengths || !rows) peer_fail("out of memory");
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (HYPRE_BigInt)i;
        lengths[i] = (HYPRE_Int)(s->p->row_ptr[i + 1] - s->p->row_ptr[i]);
    }
    check(HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, (HYPRE_BigInt)n - 1, 0, (HYPRE_BigInt)n - 1,
                               &matrix));
    check(HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR));
    check(HYPRE_IJMatrixSetRowSizes(matrix, lengths));
    check(HYPRE_IJMatrixInitialize_v2(matrix, HYPRE_MEMORY_HOST));
    check(HYPRE_IJMatrixSetValues(matrix, (HYPRE_Int)n, lengths, rows, s->p->col, s->p->val));
    check(HYPRE_IJMatrixAssemble(matrix));
#ifdef HYPRE_USING_CUDA
    check(HYPRE_IJMatrixMigrate(matrix, HYPRE_MEMORY_DEVICE));
#endif
    check(HYPRE_IJMatrixGetObject(matrix, (void **)&A));
    free(rows);
    free(lengths);
    wait_for_device();
}

static void store(const peer_system *s)
{
    double *zero = peer_numbers(s->p->n);

    memset(zero, 0, (size_t)s->p->n * sizeof *zero);
    symmetric = (s->p->traits & KRY_POSITIVE) != 0;
    store_matrix(s);
    rhs = vector(s->b, s->p->n, &b);
    solution = vector(zero, s->p->n, &x);
    for (int k = 0; k < s->mode_count - s->p->axes; k++)
        modes[k] = vector(s->modes + (s->p->axes + k) * s->p->n, s->p->n, &mode_vectors[k]);
    free(zero);
}

static void setup(const peer_system *s)
{
    const HYPRE_PtrToSolverFcn precond = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                               make = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup;

    check(HYPRE_BoomerAMGCreate(&amg));
    check(HYPRE_BoomerAMGSetTol(amg, 0));
    check(HYPRE_BoomerAMGSetMaxIter(amg, 1));
    check(HYPRE_BoomerAMGSetAggNumLevels(amg, aggressive));
    if (s->modes) {
        check(HYPRE_BoomerAMGSetNumFunctions(amg, s->p->axes));
        check(HYPRE_BoomerAMGSetNodal(amg, 4));
        check(HYPRE_BoomerAMGSetStrongThreshold(amg, 0.5));
        check(HYPRE_BoomerAMGSetInterpVecVariant(amg, 2));
        check(HYPRE_BoomerAMGSetInterpVectors(amg, s->mode_count - s->p->axes, mode_vectors));
    } else if (s->p->nnz > 6 * s->p->n) {
        check(HYPRE_BoomerAMGSetStrongThreshold(amg, 0.5)); /* in space, as its manual advises */
    }
#ifdef HYPRE_USING_CUDA
    check(HYPRE_BoomerAMGSetCoarsenType(amg, 8));
    check(HYPRE_BoomerAMGSetRelaxType(amg, 18));
    check(HYPRE_BoomerAMGSetInterpType(amg, 6));
    check(HYPRE_BoomerAMGSetAggInterpType(amg, 7));
    check(HYPRE_BoomerAMGSetKeepTranspose(amg, 1));
    check(HYPRE_BoomerAMGSetModuleRAP2(amg, 1));
#endif
    if (symmetric) {
        check(HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &krylov));
        check(HYPRE_PCGSetTol(krylov, 1e-8));
        check(HYPRE_PCGSetTwoNorm(krylov, 1));
        check(HYPRE_PCGSetMaxIter(krylov, 1000));
        check(HYPRE_PCGSetPrecond(krylov, precond, make, amg));
        check(HYPRE_ParCSRPCGSetup(krylov, A, b, x));
    } else {
        check(HYPRE_ParCSRBiCGSTABCreate(MPI_COMM_WORLD, &krylov));
        check(HYPRE_BiCGSTABSetTol(krylov, 1e-8));
        check(HYPRE_BiCGSTABSetMaxIter(krylov, 1000));
        check(HYPRE_BiCGSTABSetPrecond(krylov, precond, make, amg));
        check(HYPRE_ParCSRBiCGSTABSetup(krylov, A, b, x));
    }
    wait_for_device();
}

static void release_solver(void)
{
    check(symmetric ? HYPRE_ParCSRPCGDestroy(krylov) : HYPRE_ParCSRBiCGSTABDestroy(krylov));
    check(HYPRE_BoomerAMGDestroy(amg));
}

/* hypre keeps nothing of a set-up for the next one. */
static void renumber(const peer_system *s)
{
    release_solver();
    check(HYPRE_IJMatrixDestroy(matrix));
    store_matrix(s);
}

static void start(void)
{
    check(HYPRE_ParVectorSetConstantValues(x, 0));
    wait_for_device();
}

static int solve(void)
{
    HYPRE_Int iterations = 0;

    if (symmetric) {
        HYPRE_ParCSRPCGSolve(krylov, A, b, x);
        HYPRE_PCGGetNumIterations(krylov, &iterations);
    } else {
        HYPRE_ParCSRBiCGSTABSolve(krylov, A, b, x);
        HYPRE_BiCGSTABGetNumIterations(krylov, &iterations);
    }
    HYPRE_ClearAllErrors(); /* of no convergence, which the residual tells */
    wait_for_device();
    return (int)iterations;
}

static void read(double *host)
{
    HYPRE_BigInt first, last, *rows;

    check(HYPRE_IJVectorGetLocalRange(solution, &first, &last));
#ifdef HYPRE_USING_CUDA
    check(HYPRE_IJVectorMigrate(solution, HYPRE_MEMORY_HOST));
#endif
    rows = (HYPRE_BigInt *)malloc((size_t)(last + 1) * sizeof *rows);
    if (!rows) peer_fail("out of memory");
    for (HYPRE_BigInt i = 0; i <= last; i++) rows[i] = i;
    check(HYPRE_IJVectorGetValues(solution, (HYPRE_Int)last + 1, rows, host));
#ifdef HYPRE_USING_CUDA
    check(HYPRE_IJVectorMigrate(solution, HYPRE_MEMORY_DEVICE));
#endif
    free(rows);
}

static void release(void)
{
    release_solver();
    for (int k = 0; k < 3; k++)
        if (modes[k]) check(HYPRE_IJVectorDestroy(modes[k]));
    memset(modes, 0, sizeof modes);
    check(HYPRE_IJVectorDestroy(solution));
    check(HYPRE_IJVectorDestroy(rhs));
    check(HYPRE_IJMatrixDestroy(matrix));
}

int main(int argc, char **argv)
{
    const peer q = { store, setup, renumber, setup, start, solve, read, release };
    char name[64];

    if (argc < 2 || argc > 3) peer_fail("hypre PROBLEM [LEVELS OF AGGRESSIVE COARSENING]");
    if (argc == 3) aggressive = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    HYPRE_Init();
#ifdef HYPRE_USING_CUDA
    HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE);
    HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE);
    HYPRE_SetSpGemmUseVendor(0);
#endif
    snprintf(name, sizeof name, "hypre, aggressive %d", aggressive);
    peer_measure(argv[1], name, &q);
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
