/*
 * test_petsc.c - a program of PETSc that knows nothing of kry, but for its options: see krypetsc.c.
 *
 *     mpirun -n 2 ./test_petsc -dll_append libkrypetsc.so
 */
#include <math.h>
#include <petscksp.h>
#include <stdio.h>
#include <string.h>

static int count, failed;

static void ok(PetscBool good, const char *what, const char *why)
{
    failed += !good;
    count++;
    (void)PetscPrintf(PETSC_COMM_WORLD, "%sok %d - %s%s%s\n", good ? "" : "not ", count, what,
                      good || !*why ? "" : ": ", good ? "" : why);
}

#define OK(condition, ...)                                                         \
    do {                                                                           \
        char why_[200] = "";                                                       \
        (void)snprintf(why_, sizeof why_, "reason %d, %d iterations, residual %g", \
                       (int)last.reason, (int)last.its, (double)last.residual);    \
        ok((condition) ? PETSC_TRUE : PETSC_FALSE, __VA_ARGS__, why_);             \
    } while (0)

/* The results of the last solve. */
static struct {
    KSPConvergedReason reason;
    PetscInt its;
    PetscReal residual; /* ||b - A x|| / ||b||, by PETSc */
} last;

/* 5 points on side by side points, `shift` more on the diagonal; Neumann: rows add up to shift. wind: not symmetric. */
static PetscErrorCode make_grid(PetscInt side, PetscReal shift, PetscReal wind, PetscBool neumann,
                                Mat *A)
{
    PetscInt first, end;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, side * side, side * side));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(*A, &first, &end));
    for (PetscInt i = first; i < end; i++) {
        PetscReal diagonal = shift + (neumann ? 0 : 4);
        const PetscReal to[] = { -1 - wind, -1 + wind, -1, -1 };
        const PetscInt near[] = { i % side ? i - 1 : -1, i % side < side - 1 ? i + 1 : -1, i - side,
                                  i + side < side * side ? i + side : -1 };
        for (int k = 0; k < 4; k++) {
            if (near[k] < 0) continue;
            if (neumann) diagonal -= to[k];
            PetscCall(MatSetValue(*A, i, near[k], to[k], INSERT_VALUES));
        }
        PetscCall(MatSetValue(*A, i, i, diagonal, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* A plate of side by side bilinear elements, plane stress, held at its lower edge; its rigid body modes. */
static PetscErrorCode make_plate(PetscInt side, Mat *A, MatNullSpace *modes)
{
    const double nu = 0.3, k[] = { 1 / 2. - nu / 6,
                                   1 / 8. + nu / 8,
                                   -1 / 4. - nu / 12,
                                   -1 / 8. + 3 * nu / 8,
                                   -1 / 4. + nu / 12,
                                   -1 / 8. - nu / 8,
                                   nu / 6,
                                   1 / 8. - 3 * nu / 8 };
    const int of[8][8] = { { 0, 1, 2, 3, 4, 5, 6, 7 }, { 1, 0, 7, 6, 5, 4, 3, 2 },
                           { 2, 7, 0, 5, 6, 3, 4, 1 }, { 3, 6, 5, 0, 7, 2, 1, 4 },
                           { 4, 5, 6, 7, 0, 1, 2, 3 }, { 5, 4, 3, 2, 1, 0, 7, 6 },
                           { 6, 3, 4, 1, 2, 7, 0, 5 }, { 7, 2, 1, 4, 3, 6, 5, 0 } };
    const PetscInt nodes = (side + 1) * (side + 1);
    PetscInt first, end, held = 0, *hold;
    PetscScalar e[64];
    Vec at;
    PetscMPIInt rank;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2 * nodes, 2 * nodes));
    PetscCall(MatSetBlockSize(*A, 2));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (int i = 0; i < 64; i++) e[i] = k[of[i / 8][i % 8]] / (1 - nu * nu);
    for (PetscInt i = 0; rank == 0 && i < side * side; i++) {
        const PetscInt a = i / side * (side + 1) + i % side,
                       node[] = { a, a + 1, a + side + 2, a + side + 1 };
        PetscInt row[8];
        for (int j = 0; j < 8; j++) row[j] = 2 * node[j / 2] + j % 2;
        PetscCall(MatSetValues(*A, 8, row, 8, row, e, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatGetOwnershipRange(*A, &first, &end));
    PetscCall(PetscMalloc1(end - first + 1, &hold));
    for (PetscInt i = first; i < end && i < 2 * (side + 1); i++) hold[held++] = i;
    PetscCall(MatZeroRowsColumns(*A, held, hold, 1, NULL, NULL));
    PetscCall(PetscFree(hold));
    PetscCall(MatCreateVecs(*A, &at, NULL));
    PetscCall(VecSetBlockSize(at, 2));
    for (PetscInt i = first; i < end; i++)
        PetscCall(
            VecSetValue(at, i, i % 2 ? i / 2 / (side + 1) : i / 2 % (side + 1), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(at));
    PetscCall(VecAssemblyEnd(at));
    PetscCall(MatNullSpaceCreateRigidBody(at, modes));
    PetscCall(VecDestroy(&at));
    PetscFunctionReturn(0);
}

/* A KSP by these options alone. */
static PetscErrorCode make_ksp(Mat A, const char *options, KSP *ksp)
{
    PetscFunctionBegin;
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(KSP ksp, Vec b, Vec x)
{
    PetscReal norm, residual;
    Vec r;
    Mat A;

    PetscFunctionBegin;
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &last.reason));
    PetscCall(KSPGetIterationNumber(ksp, &last.its));
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(VecDestroy(&r));
    last.residual = norm > 0 ? residual / norm : residual;
    PetscFunctionReturn(0);
}

/* Make a KSP, solve, and destroy it. */
static PetscErrorCode solve_by(Mat A, const char *options, Vec b, Vec x)
{
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(make_ksp(A, options, &ksp));
    PetscCall(solve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

/* The first message of an error, in place of PETSc's report. */
static char message[400];
static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file,
                                   PetscErrorCode n, PetscErrorType type, const char *text,
                                   void *user)
{
    (void)comm, (void)line, (void)function, (void)file, (void)user;
    if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
    return n;
}

/* Whether these options are refused, by a message that contains `words`. */
static PetscErrorCode refused(Mat A, const char *options, Vec b, Vec x, const char *words,
                              const char *what)
{
    PetscErrorCode error;
    KSP ksp = NULL;

    PetscFunctionBegin;
    *message = '\0';
    PetscCall(PetscPushErrorHandler(keep_message, NULL));
    error = make_ksp(A, options, &ksp);
    if (!error) error = KSPSolve(ksp, b, x);
    PetscCall(PetscPopErrorHandler());
    PetscCall(KSPDestroy(&ksp));
    ok(error && strstr(message, words) ? PETSC_TRUE : PETSC_FALSE, what, message);
    PetscFunctionReturn(0);
}

static int seen;
static PetscReal seen_norm, seen_true;
static PetscErrorCode see(KSP ksp, PetscInt it, PetscReal norm, void *user)
{
    Vec r;

    (void)user;
    PetscFunctionBegin;
    if (it == seen) seen++;
    PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
    PetscCall(VecNorm(r, NORM_2, &seen_true));
    PetscCall(VecDestroy(&r));
    seen_norm = norm;
    PetscFunctionReturn(0);
}

static PetscErrorCode stop_at_4(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason,
                                void *user)
{
    (void)ksp, (void)norm, (void)user;
    *reason = it >= 4 ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
    return 0;
}

static PetscErrorCode test_solves(Mat A, Mat W, Vec b, Vec x)
{
    PetscInt by_petsc;
    Vec zero;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(solve_by(A, "-ksp_type kry -ksp_rtol 1e-9", b, x));
    OK(last.reason == KSP_CONVERGED_RTOL && last.residual <= 1.001e-9, "-ksp_type kry");
    PetscCall(solve_by(W, "-ksp_type kry -ksp_rtol 1e-9", b, x));
    OK(last.reason == KSP_CONVERGED_RTOL && last.residual <= 1.001e-9, "and no symmetric matrix");
    PetscCall(solve_by(A, "-ksp_type kry -kry_method pcg -kry_precond amg -ksp_rtol 1e-9", b, x));
    OK(last.reason == KSP_CONVERGED_RTOL && last.residual <= 1.001e-9 && last.its < 15,
       "-kry_method pcg -kry_precond amg");
    PetscCall(solve_by(
        A, "-ksp_type kry -kry_method pcg -kry_format sell:slice=8 -kry_device host -pc_type kry",
        b, x));
    OK(last.reason == KSP_CONVERGED_RTOL && last.residual <= 1.001e-5,
       "-kry_format -kry_device, and -pc_type kry besides");
    PetscCall(solve_by(A, "-ksp_type cg -pc_type jacobi -ksp_norm_type unpreconditioned", b, x));
    by_petsc = last.its;
    PetscCall(solve_by(
        A, "-ksp_type cg -pc_type kry -kry_precond jacobi -ksp_norm_type unpreconditioned", b, x));
    OK(last.reason > 0 && PetscAbs(last.its - by_petsc) <= 1,
       "-pc_type kry -kry_precond jacobi is PETSc's");
    PetscCall(solve_by(A, "-ksp_type kry -kry_method pcg -kry_precond jacobi", b, x));
    OK(last.reason > 0 && PetscAbs(last.its - by_petsc) <= 1,
       "-ksp_type kry takes as many iterations");
    PetscCall(solve_by(A, "-ksp_type cg -pc_type kry -kry_precond amg", b, x));
    OK(last.reason > 0 && last.its < 15,
       "-pc_type kry -kry_precond amg in PETSc's conjugate gradients");
    PetscCall(solve_by(W, "-ksp_type gmres -pc_type kry", b, x));
    OK(last.reason > 0, "-pc_type kry in PETSc's GMRES");
    PetscCall(solve_by(A, "-ksp_type preonly -pc_type kry -kry_method pcg -kry_rtol 1e-10", b, x));
    OK(last.reason > 0 && last.its == 1 && last.residual <= 1.001e-10,
       "-pc_type kry -kry_method pcg is a solve");
    PetscCall(solve_by(
        A, "-ksp_type preonly -pc_type kry -pc_kry \"method=pcg precond=amg  rtol=1e-9\"", b, x));
    OK(last.reason > 0 && last.its == 1 && last.residual <= 1.001e-9, "-pc_kry with several words");
    PetscCall(solve_by(
        A, "-ksp_type kry -ksp_kry \"precond=amg method=pcg\" -kry_format csr -ksp_rtol 1e-9", b,
        x));
    OK(last.reason == KSP_CONVERGED_RTOL && last.residual <= 1.001e-9 && last.its < 15,
       "-ksp_kry with several words");
    PetscCall(make_ksp(A, "-ksp_type preonly -pc_type kry -kry_method cg -kry_maxit 20", &ksp));
    PetscCall(solve(ksp, b, x));
    OK(last.reason == KSP_DIVERGED_PC_FAILED, "which says that it failed");
    PetscCall(VecDuplicate(b, &zero));
    PetscCall(solve(ksp, zero, x));
    OK(last.reason == KSP_CONVERGED_ITS, "and then that it did not");
    PetscCall(VecDestroy(&zero));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(solve_by(W,
                       "-ksp_type gmres -pc_type bjacobi -sub_ksp_type preonly -sub_pc_type kry "
                       "-sub_kry_method direct",
                       b, x));
    OK(last.reason > 0 && last.its < 60, "in the blocks of -pc_type bjacobi");
    PetscFunctionReturn(0);
}

static PetscErrorCode test_reasons(Mat A, Vec b, Vec x)
{
    PetscReal norm;
    Mat B;
    Vec zero, bad;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(VecDuplicate(b, &zero));
    PetscCall(solve_by(A, "-ksp_type kry", zero, x));
    OK(last.reason == KSP_CONVERGED_ATOL && last.its == 0, "b = 0: CONVERGED_ATOL");
    PetscCall(solve_by(A, "-ksp_type kry -kry_method cg -ksp_atol 1e-2 -ksp_rtol 1e-12", b, x));
    OK(last.reason == KSP_CONVERGED_ATOL && last.residual > 1e-12, "-ksp_atol: CONVERGED_ATOL");
    PetscCall(solve_by(A, "-ksp_type kry -kry_method cg -ksp_max_it 3", b, x));
    OK(last.reason == KSP_DIVERGED_ITS && last.its == 3, "-ksp_max_it: DIVERGED_ITS");
    PetscCall(solve_by(A, "-ksp_type kry -kry_method cg -ksp_max_it 5 -ksp_norm_type none", b, x));
    OK(last.reason == KSP_CONVERGED_ITS && last.its == 5, "-ksp_norm_type none: CONVERGED_ITS");
    PetscCall(VecDuplicate(b, &bad));
    PetscCall(VecSet(bad, NAN));
    PetscCall(solve_by(A, "-ksp_type kry", bad, x));
    OK(last.reason == KSP_DIVERGED_NANORINF, "no numbers in b: DIVERGED_NANORINF");
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatShift(B, -3));
    PetscCall(solve_by(B, "-ksp_type kry -kry_method cg", b, x));
    OK(last.reason == KSP_DIVERGED_INDEFINITE_MAT, "an indefinite matrix: DIVERGED_INDEFINITE_MAT");
    PetscCall(MatDestroy(&B));
    PetscCall(make_ksp(A, "-ksp_type kry -kry_method cg -ksp_rtol 1e-6", &ksp));
    PetscCall(KSPSetConvergenceTest(ksp, stop_at_4, NULL, NULL));
    PetscCall(solve(ksp, b, x));
    OK(last.reason == KSP_CONVERGED_HAPPY_BREAKDOWN && last.its == 4,
       "a test of the program's own");
    PetscCall(KSPDestroy(&ksp));
    PetscCall(make_ksp(A, "-ksp_type kry -kry_method cg -ksp_rtol 1e-6", &ksp));
    PetscCall(KSPMonitorSet(ksp, see, NULL, NULL));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 500, PETSC_TRUE));
    PetscCall(solve(ksp, b, x));
    PetscCall(VecNorm(b, NORM_2, &norm));
    {
        const PetscReal *history;
        PetscInt length;
        PetscCall(KSPGetResidualHistory(ksp, &history, &length));
        OK(seen == last.its + 1 && seen_norm <= 1e-6 * norm &&
               PetscAbsReal(seen_true - seen_norm) < 1e-6 * norm && length == last.its + 1 &&
               PetscAbsReal(history[0] - norm) < 1e-9 * norm,
           "monitors see each iteration, and its x");
    }
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(solve(ksp, b, x));
    OK(last.reason > 0 && last.its == 0, "a guess that is right");
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&bad));
    PetscCall(VecDestroy(&zero));
    PetscFunctionReturn(0);
}

/* Whether two KSP go on as matrices change. */
static PetscErrorCode test_updates(Mat A, Vec b, Vec x)
{
    const char *options[] = {
        "-ksp_type kry -kry_method pcg -kry_precond amg -ksp_rtol 1e-9",
        "-ksp_type cg -pc_type kry -kry_precond amg -ksp_rtol 1e-9 -ksp_norm_type unpreconditioned"
    };
    Mat B;
    KSP ksp;
    PetscInt its;

    PetscFunctionBegin;
    for (int i = 0; i < 2; i++) {
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
        PetscCall(make_ksp(B, options[i], &ksp));
        PetscCall(solve(ksp, b, x));
        its = last.its;
        PetscCall(MatScale(B, 3));
        PetscCall(MatShift(B, 0.5));
        PetscCall(KSPSetOperators(ksp, B, B));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && last.residual <= 1.1e-9 && last.its <= its,
           i ? "new numbers for -pc_type kry" : "new numbers for -ksp_type kry");
        PetscCall(MatScale(B, 2));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && last.residual <= 1.1e-9, "without KSPSetOperators");
        PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
        PetscCall(MatShift(B, 1));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && last.residual <= 1.1e-9, "KSPSetReusePreconditioner");
        PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && last.residual <= 1.1e-9 && last.its == its, "another matrix");
        PetscCall(KSPReset(ksp));
        PetscCall(KSPSetOperators(ksp, B, B));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && last.residual <= 1.1e-9, "after KSPReset");
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&B));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode test_matrices(void)
{
    const char *types[] = { "baij", "sbaij", "dense" };
    Mat A;
    MatNullSpace modes, constants;
    PetscInt its[2], first, end;
    PetscMPIInt rank;
    PetscReal mean, *at;
    KSP ksp;
    PC pc;
    Vec b, x;

    PetscFunctionBegin;
    for (int i = 0; i < 3; i++) {
        char options[100];
        PetscCall(PetscSNPrintf(options, sizeof options,
                                "-mat_type %s -mat_ignore_lower_triangular", types[i]));
        PetscCall(PetscOptionsClear(NULL));
        PetscCall(PetscOptionsInsertString(NULL, options));
        PetscCall(make_grid(12, 0, 0, PETSC_FALSE, &A));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(VecGetOwnershipRange(b, &first, &end));
        for (PetscInt k = first; k < end; k++) PetscCall(VecSetValue(b, k, k % 7, INSERT_VALUES));
        PetscCall(VecAssemblyBegin(b));
        PetscCall(VecAssemblyEnd(b));
        PetscCall(solve_by(A, "-ksp_type kry -ksp_rtol 1e-8 -kry_method pcg", b, x));
        OK(last.reason > 0 && last.residual <= 1.001e-8, types[i]);
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
        PetscCall(MatDestroy(&A));
    }
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(make_plate(40, &A, &modes));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    for (int i = 0; i < 2; i++) {
        PetscCall(MatSetNearNullSpace(A, i ? modes : NULL));
        PetscCall(
            solve_by(A, "-ksp_type kry -kry_method pcg -kry_precond amg -ksp_rtol 1e-8", b, x));
        its[i] = last.its;
    }
    OK(last.reason > 0 && its[1] < 0.8 * its[0],
       "block size, and MatSetNearNullSpace of -ksp_type kry");
    PetscCall(solve_by(
        A,
        "-ksp_type cg -pc_type kry -kry_precond amg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned",
        b, x));
    OK(last.reason > 0 && PetscAbs(its[1] - last.its) <= 2, "and of -pc_type kry");
    PetscCall(MatSetNearNullSpace(A, NULL));
    PetscCall(VecGetOwnershipRange(x, &first, &end));
    PetscCall(PetscMalloc1(end - first + 1, &at));
    for (PetscInt i = first; i < end; i++) at[i - first] = i % 2 ? i / 2 / 41 : i / 2 % 41;
    for (int i = 0; i < 2; i++) {
        PetscCall(make_ksp(
            A,
            i ? "-ksp_type kry -pc_type kry -kry_method pcg -kry_precond amg -ksp_rtol 1e-8"
              : "-ksp_type cg -pc_type kry -kry_precond amg -ksp_rtol 1e-8 -ksp_norm_type "
                "unpreconditioned",
            &ksp));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSetCoordinates(pc, 2, (end - first) / 2, at));
        PetscCall(solve(ksp, b, x));
        OK(last.reason > 0 && PetscAbs(its[1] - last.its) <= 2,
           i ? "PCSetCoordinates, for -ksp_type kry -pc_type kry" : "PCSetCoordinates");
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(PetscFree(at));
    PetscCall(solve_by(A,
                       "-pc_type fieldsplit -pc_fieldsplit_block_size 2 -fieldsplit_ksp_type "
                       "preonly -fieldsplit_pc_type kry -fieldsplit_kry_precond amg",
                       b, x));
    OK(last.reason > 0, "in the blocks of -pc_type fieldsplit");
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(
        MatCreateAIJ(PETSC_COMM_WORLD, rank ? 0 : 50, rank ? 0 : 50, 50, 50, 3, NULL, 0, NULL, &A));
    for (PetscInt i = 0; rank == 0 && i < 50; i++) {
        PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
        if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
        if (i < 49) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(solve_by(A, "-ksp_type kry -kry_method pcg", b, x));
    OK(last.reason > 0 && last.residual < 1.001e-5, "a rank without rows");
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));

    PetscCall(make_grid(30, 0, 0, PETSC_TRUE, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(A, constants));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(MatNullSpaceRemove(constants, b));
    for (int i = 0; i < 2; i++) {
        PetscCall(solve_by(A,
                           i ? "-ksp_type cg -pc_type kry -kry_precond amg -ksp_rtol 1e-8 "
                               "-ksp_norm_type unpreconditioned"
                             : "-ksp_type kry -kry_method pcg -kry_precond amg -ksp_rtol 1e-8",
                           b, x));
        PetscCall(VecSum(x, &mean));
        OK(last.reason > 0 && last.residual <= 1.1e-8 && last.its < 20 && PetscAbsReal(mean) < 1e-6,
           i ? "and -pc_type kry" : "MatSetNullSpace, -ksp_type kry");
    }
    PetscCall(MatNullSpaceDestroy(&constants));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

static PetscErrorCode times_2(Mat A, Vec x, Vec y)
{
    (void)A;
    PetscFunctionBegin;
    PetscCall(VecAXPBY(y, 2, 0, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode test_refusals(Mat A, Mat W, Vec b, Vec x)
{
    PetscInt rows, all;
    Mat shell, singular;
    KSP ksp;

    PetscFunctionBegin;
    PetscCall(refused(A, "-ksp_type kry -kry_method pgc", b, x, "did you mean pcg",
                      "a word that there is not"));
    PetscCall(refused(A, "-ksp_type kry -ksp_kry \"method=pcg precnd=amg\"", b, x,
                      "'precnd' is none of", "one of several words that there is not"));
    PetscCall(refused(A, "-ksp_type kry -ksp_kry \"method=pcg rtol=1e-3\"", b, x, "-ksp_rtol",
                      "a word that a KSP has itself"));
    PetscCall(
        refused(A, "-ksp_type kry -kry_format sel", b, x, "sel", "a format that there is not"));
    PetscCall(refused(A, "-ksp_type kry -kry_device nowhere", b, x, "nowhere",
                      "a device that there is not"));
    PetscCall(refused(A, "-ksp_type kry -pc_type sor", b, x, "-kry_precond",
                      "-ksp_type kry -pc_type sor"));
    PetscCall(VecGetLocalSize(b, &rows));
    PetscCall(VecGetSize(b, &all));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, rows, rows, all, all, NULL, &shell));
    PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))times_2));
    PetscCall(refused(shell, "-ksp_type kry", b, x, "entries", "a matrix without entries"));
    PetscCall(MatDestroy(&shell));

    if (rows ==
        all) { /* on several ranks kry has no factors, and does not compare entries of different ranks */
        const PetscInt three[] = { 0, 1, 2 };
        const PetscScalar rank_2[] = { 1, 2, 3, 2, 4, 6, 0, 1, 1 };
        Vec right, left;
        PetscCall(refused(W, "-ksp_type kry -kry_method cg", b, x, "symmetric",
                          "cg and no symmetric matrix"));
        PetscCall(MatCreateSeqAIJ(PETSC_COMM_WORLD, 3, 3, 3, NULL, &singular));
        PetscCall(MatSetValues(singular, 3, three, 3, three, rank_2, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(singular, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(singular, MAT_FINAL_ASSEMBLY));
        PetscCall(MatCreateVecs(singular, &right, &left));
        PetscCall(VecSet(left, 1));
        PetscCall(solve_by(singular, "-ksp_type kry -kry_method direct", left, right));
        OK(last.reason == KSP_DIVERGED_PC_FAILED, "a singular matrix: DIVERGED_PC_FAILED");
        PetscCall(
            solve_by(singular, "-ksp_type gmres -pc_type kry -kry_method direct", left, right));
        OK(last.reason == KSP_DIVERGED_PC_FAILED, "and for -pc_type kry");
        PetscCall(VecDestroy(&right));
        PetscCall(VecDestroy(&left));
        PetscCall(MatDestroy(&singular));
    }

    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsInsertString(NULL, "-in_ksp_type kry -in_kry_method minres"));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "in_"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(solve(ksp, b, x));
    OK(last.reason > 0, "a prefix");
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    Mat A, W;
    Vec b, x;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(make_grid(30, 0, 0, PETSC_FALSE, &A));
    PetscCall(make_grid(30, 0, 0.4, PETSC_FALSE, &W));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(test_solves(A, W, b, x));
    PetscCall(test_reasons(A, b, x));
    PetscCall(test_updates(A, b, x));
    PetscCall(test_matrices());
    PetscCall(test_refusals(A, W, b, x));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&W));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "1..%d\n", count));
    PetscCall(PetscFinalize());
    return failed != 0;
}
