/*
 * petsc.c - the time that a solver of PETSc takes, or kry loaded by PETSc. README.md says which problem, and how to run it.
 *
 *     ./petsc -n POINTS [PETSc's options]
 */
#include <petscksp.h>

/* -Δ on n^3 points, times `scale`. */
static PetscErrorCode fill(Mat A, PetscInt n, PetscScalar scale)
{
    PetscInt first, end;

    PetscFunctionBeginUser;
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    for (PetscInt i = first; i < end; i++) {
        const PetscInt at[3] = { i % n, i / n % n, i / n / n }, steps[3] = { 1, n, n * n };
        PetscInt cols[7], count = 0;
        PetscScalar vals[7];
        for (int axis = 2; axis >= 0; axis--)
            if (at[axis] > 0) cols[count++] = i - steps[axis];
        cols[count++] = i;
        for (int axis = 0; axis < 3; axis++)
            if (at[axis] < n - 1) cols[count++] = i + steps[axis];
        for (PetscInt k = 0; k < count; k++) vals[k] = (cols[k] == i ? 6 : -1) * scale;
        PetscCall(MatSetValues(A, 1, &i, count, cols, vals, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* b of numbers from -1 to 1, which a place in it gives. */
static PetscErrorCode fill_rhs(Vec b)
{
    PetscInt first, end;
    PetscScalar *v;

    PetscFunctionBeginUser;
    PetscCall(VecGetOwnershipRange(b, &first, &end));
    PetscCall(VecGetArray(b, &v));
    for (PetscInt i = first; i < end; i++)
        v[i - first] = ((unsigned)i * 2654435761u >> 8) / 8388608.0 - 1;
    PetscCall(VecRestoreArray(b, &v));
    PetscFunctionReturn(0);
}

/* One set-up and one solve from zero. */
static PetscErrorCode measure(KSP ksp, Vec b, Vec x, double seconds[2])
{
    PetscLogDouble begin, made, end;

    PetscFunctionBeginUser;
    PetscCall(VecSet(x, 0));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&begin));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCall(PetscTime(&made));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&end));
    seconds[0] = made - begin;
    seconds[1] = end - made;
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt n = 64, its;
    PetscReal norm, of_b;
    KSPConvergedReason reason;
    KSPType type;
    PCType pc_type;
    double first[2], second[2];
    Mat A;
    Vec b, x, r;
    KSP ksp;
    PC pc;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n * n, n * n * n, 7,
                           NULL, 6, NULL, &A));
    PetscCall(fill(A, n, 1));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(fill_rhs(b));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 10000));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(measure(ksp, b, x, first));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetType(ksp, &type));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetType(pc, &pc_type));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    PetscCall(VecNorm(b, NORM_2, &of_b));

    PetscCall(fill(A, n, 2));
    PetscCall(measure(ksp, b, x, second));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%d %s+%s: set-up %.4f s, solve %.4f s, %d iterations, residual %.1e; "
                          "again %.4f s\n",
                          (int)n, type, pc_type, first[0], first[1], (int)its,
                          (double)(norm / of_b), second[0] + second[1]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return reason > 0 ? 0 : 1;
}
