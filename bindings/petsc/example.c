/*
 * example.c - a program of PETSc, in which nothing is of kry: Poisson's equation on a square of 200 by 200 points.
 *
 *     mpicc example.c $(pkg-config --cflags --libs petsc) -o example && ./example
 */
#include <petscksp.h>

int main(int argc, char **argv)
{
    const PetscInt side = 200;
    PetscInt first, end, its;
    KSPConvergedReason reason;
    KSPType type;
    Mat A;
    Vec b, x;
    KSP ksp;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, side * side, side * side,
                           5, NULL, 2, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    for (PetscInt i = first; i < end; i++) {
        PetscCall(MatSetValue(A, i, i, 4, INSERT_VALUES));
        if (i % side > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
        if (i % side < side - 1) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
        if (i >= side) PetscCall(MatSetValue(A, i, i - side, -1, INSERT_VALUES));
        if (i < side * side - side) PetscCall(MatSetValue(A, i, i + side, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetType(ksp, &type));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s after %d iterations\n", type,
                          KSPConvergedReasons[reason], (int)its));

    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return reason > 0 ? 0 : 1;
}
