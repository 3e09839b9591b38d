/*
 * krypetsc.c - kry as a KSP and as a PC of PETSc, in a library that programs of PETSc load by an option:
 *
 *     ./program -dll_append libkrypetsc.so -ksp_type kry -kry_precond amg
 *     ./program -dll_append libkrypetsc.so -ksp_type cg -pc_type kry -kry_precond amg
 *
 * -ksp_type kry is a whole solve in kry, -pc_type kry a preconditioner of kry in a method of PETSc, or with -kry_method a solve
 * in the place of one. Each word of kry_solver_create is an option, with _ for -: null-space=none is -kry_null_space none.
 * Besides, -kry_device takes a name of kry_device_open, -kry_format one of kry_format_parse. The options carry the prefix of
 * their KSP or PC.
 *
 * Matrices come by MatGetRow, or if they are no AIJ by MatConvert, with their block size, null spaces, MAT_SPD and MAT_SYMMETRIC. On several
 * ranks each brings its own rows to a team (kry/mpi.h) of as many devices.
 */
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>

#include <kry/kry.h>
#include <kry/mpi.h>
#include <string.h>

_Static_assert(sizeof(PetscScalar) == sizeof(PetscReal),
               "kry has real numbers alone: take a PETSc without --with-scalar-type=complex");
_Static_assert(sizeof(PetscReal) == sizeof(float) || sizeof(PetscReal) == sizeof(double),
               "kry has numbers in single and double precision alone: take such a PETSc");
static const kry_type number_type = sizeof(PetscReal) == sizeof(float) ? KRY_F32 : KRY_F64;

/* A call of kry: on ranks it fails on all of them, with the same message. */
#define KRY(object, call)                                                                \
    PetscCheck((call) >= 0, PetscObjectComm((PetscObject)(object)), PETSC_ERR_LIB, "%s", \
               kry_last_error())

enum { LENGTH = 1024 };

/* The options of a KSP or PC. */
typedef struct options {
    char device[LENGTH], format[LENGTH], precond[LENGTH];
    char words[LENGTH]; /* all others but precond= */
    PetscBool method;   /* there is a method= among them */
} options;

typedef struct solver {
    options said;
    kry_device *device; /* a team if there are several ranks */
    kry_op *A;
    kry_op *S; /* a solver, or the preconditioner; NULL: the identity, or none if A is singular */
    kry_vec *b, *x;
    PetscBool singular;
    Vec coordinates; /* of the nodes, by PCSetCoordinates; NULL: none are known */
    /* of a KSP */
    PetscBool watched, running;
    PetscErrorCode error; /* of a monitor */
    kry_stop made;        /* the criteria by the words */
    /* the matrix that A was made of, its state then, and entries of this rank */
    PetscObjectId id;
    PetscObjectState state, nonzero_state;
    int64_t entries;
} solver;

/* ---- options ------------------------------------------------------------------------------------ */

/* KSP has these itself.
 *   word  its name, or name=value */
static PetscBool is_of_ksp(const char *word)
{
    const char *const own[] = { "rtol", "atol", "maxit", "check-every" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcspn(word, "=") == strlen(own[i]) && !strncmp(word, own[i], strlen(own[i])))
            return PETSC_TRUE;
    return PETSC_FALSE;
}

static PetscErrorCode release(solver *s)
{
    kry_op_release(&s->S);
    kry_op_release(&s->A);
    kry_vec_release(&s->b);
    kry_vec_release(&s->x);
    return 0;
}

/* word: name=value */
static PetscErrorCode add_word(options *said, const char *word)
{
    PetscFunctionBegin;
    if (!strncmp(word, "precond=", strlen("precond="))) {
        PetscCall(PetscStrncpy(said->precond, strchr(word, '=') + 1, sizeof said->precond));
        PetscFunctionReturn(0);
    }
    if (!strncmp(word, "method=", strlen("method="))) said->method = PETSC_TRUE;
    PetscCall(PetscStrlcat(said->words, word, sizeof said->words));
    PetscCall(PetscStrlcat(said->words, " ", sizeof said->words));
    PetscFunctionReturn(0);
}

/* The words that stand together in one option. */
static PetscErrorCode read_words(options *said, PetscBool ksp, PetscOptionItems *PetscOptionsObject)
{
    char text[LENGTH] = "", **words;
    int count;

    PetscFunctionBegin;
    PetscCall(PetscOptionsString(ksp ? "-ksp_kry" : "-pc_kry", "method=pcg precond=amg, and others",
                                 "kry_solver_create", text, text, sizeof text, NULL));
    PetscCall(PetscStrToArray(text, ' ', &count, &words));
    for (int i = 0; i < count; i++) {
        PetscCheck(!ksp || !is_of_ksp(words[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "-ksp_kry: '%s' is for options of the KSP, as -ksp_rtol", words[i]);
        PetscCall(add_word(said, words[i]));
    }
    PetscCall(PetscStrToArrayDestroy(count, words));
    PetscFunctionReturn(0);
}

/* Read the options, and forget what was made by others. */
static PetscErrorCode read_options(solver *s, PetscBool ksp, PetscOptionItems *PetscOptionsObject)
{
    options said;

    PetscFunctionBegin;
    PetscCall(PetscMemzero(&said, sizeof said));
    PetscOptionsHeadBegin(PetscOptionsObject, "kry");
    PetscCall(PetscOptionsString("-kry_device", "gpu, cpu, host, a part of a name",
                                 "kry_device_open", said.device, said.device, sizeof said.device,
                                 NULL));
    PetscCall(PetscOptionsString("-kry_format", "how matrices are stored", "kry_format_parse",
                                 said.format, said.format, sizeof said.format, NULL));
    PetscCall(read_words(&said, ksp, PetscOptionsObject));
    for (int i = 0; kry_solver_word(i); i++) {
        const kry_word *word = kry_solver_word(i);
        char name[64], value[LENGTH] = "", both[LENGTH + 64];
        PetscBool set;

        if (ksp && is_of_ksp(word->name)) continue;
        PetscCall(PetscSNPrintf(name, sizeof name, "-kry_%s", word->name));
        for (char *c = name + 1; *c; c++)
            if (*c == '-') *c = '_';
        PetscCall(PetscOptionsString(name, word->meaning, "kry_solver_create", value, value,
                                     sizeof value, &set));
        if (!set) continue;
        PetscCall(PetscSNPrintf(both, sizeof both, "%s=%s", word->name, value));
        PetscCall(add_word(&said, both));
    }
    PetscOptionsHeadEnd();
    if (memcmp(&said, &s->said, sizeof said)) {
        PetscCall(release(s));
        kry_device_release(&s->device);
        s->said = said;
    }
    PetscFunctionReturn(0);
}

/* ---- from PETSc to kry --------------------------------------------------------------------------- */

/* The device of the option; on several ranks, where no other was asked for, each takes the GPU of its number on its machine. */
static PetscErrorCode open_device(solver *s, MPI_Comm comm)
{
    const char *spec = *s->said.device ? s->said.device : NULL;
    kry_device *own = NULL;
    PetscMPIInt size;
    int failed, fails = 0;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    failed = kry_mpi_open_(comm, spec, &own) < 0;
    PetscCallMPI(MPI_Allreduce(&failed, &fails, 1, MPI_INT, MPI_MAX, comm));
    PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", kry_last_error());
    if (fails) kry_device_release(&own);
    PetscCheck(!fails, PETSC_COMM_SELF, PETSC_ERR_LIB, "another rank has no device");
    if (size == 1) {
        s->device = own;
    } else {
        const kry_status st = kry_team_of_mpi(comm, own, NULL, &s->device);
        kry_device_release(&own);
        PetscCheck(st >= 0, comm, PETSC_ERR_LIB, "%s", kry_last_error());
    }
    PetscFunctionReturn(0);
}

/* The numbers of this rank's rows of A; row_ptr, col  NULL: not wanted. With val == NULL row_ptr alone. */
static PetscErrorCode read_rows(Mat A, int64_t *row_ptr, int64_t *col, PetscScalar *val)
{
    PetscInt first, end;
    int64_t k = 0;

    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    for (PetscInt i = first; i < end; i++) {
        const PetscInt *columns;
        const PetscScalar *numbers;
        PetscInt count;
        PetscCall(MatGetRow(A, i, &count, &columns, &numbers));
        for (PetscInt j = 0; val && j < count; j++) {
            if (col) col[k + j] = columns[j];
            val[k + j] = numbers[j];
        }
        k += count;
        if (row_ptr) row_ptr[i - first + 1] = k;
        PetscCall(MatRestoreRow(A, i, &count, &columns, &numbers));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode write_vec(Vec v, kry_vec *to)
{
    const PetscScalar *numbers, none = 0;

    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(v, &numbers));
    KRY(v, kry_vec_write(to, numbers ? numbers : &none)); /* no rows: perhaps no address */
    PetscCall(VecRestoreArrayRead(v, &numbers));
    PetscFunctionReturn(0);
}

static PetscErrorCode read_vec(const kry_vec *from, Vec v)
{
    PetscScalar *numbers, none;

    PetscFunctionBegin;
    PetscCall(VecGetArrayWrite(v, &numbers));
    KRY(v, kry_vec_read(from, numbers ? numbers : &none));
    PetscCall(VecRestoreArrayWrite(v, &numbers));
    PetscFunctionReturn(0);
}

/* Hand the vectors of a null space of `of` on, constants among them. */
static PetscErrorCode hand_on(Mat of, MatNullSpace space, kry_op *A,
                              kry_status (*set)(kry_op *, const kry_vec *))
{
    const Vec *vectors;
    PetscBool constants;
    PetscInt count, all;
    kry_vec *block = NULL, *column = NULL;
    kry_status st;

    PetscFunctionBegin;
    if (!space) PetscFunctionReturn(0);
    PetscCall(MatNullSpaceGetVecs(space, &constants, &count, &vectors));
    all = count + (PetscInt)constants;
    if (all == 0) PetscFunctionReturn(0);
    st = kry_vec_create(kry_op_device(A), number_type, kry_op_get_shape(A)->rows, all, &block);
    for (PetscInt j = 0; st >= 0 && j < all; j++) {
        st = kry_vec_view(block, j, &column);
        if (st >= 0 && j == count) st = kry_vec_fill(column, 1);
        if (st >= 0 && j < count) PetscCall(write_vec(vectors[j], column));
        kry_vec_release(&column);
    }
    if (st >= 0) st = set(A, block);
    kry_vec_release(&block);
    KRY(of, st);
    PetscFunctionReturn(0);
}

/* Give s->A the near null space of A; of blocks of 2 or 3 unknowns with coordinates and nothing else these are the rigid body
 * modes of elasticity. */
static PetscErrorCode set_near_null_space(solver *s, Mat A)
{
    MatNullSpace space, modes = NULL;
    PetscInt block, axes = 0, rows, numbers = 0;

    PetscFunctionBegin;
    PetscCall(MatGetNearNullSpace(A, &space));
    if (!space && s->coordinates) {
        PetscCall(MatGetBlockSize(A, &block));
        PetscCall(MatGetSize(A, &rows, NULL));
        PetscCall(VecGetBlockSize(s->coordinates, &axes));
        PetscCall(VecGetSize(s->coordinates, &numbers));
        if (axes > 1 && axes == block && numbers == rows)
            PetscCall(MatNullSpaceCreateRigidBody(s->coordinates, &modes));
    }
    PetscCall(hand_on(A, space ? space : modes, s->A, kry_op_set_near_null_space));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscFunctionReturn(0);
}

/* Make s->A of A, which is square, and whose entries `rows` has, too, as AIJ. */
static PetscErrorCode create_matrix(solver *s, Mat A, Mat rows)
{
    kry_matrix_params params = { .struct_size = sizeof params };
    PetscInt first, end, block;
    PetscBool known, so;
    MatNullSpace space;
    int64_t *row_ptr, *col;
    PetscScalar *val;
    kry_status st;

    PetscFunctionBegin;
    if (!s->device) PetscCall(open_device(s, PetscObjectComm((PetscObject)A)));
    if (*s->said.format) KRY(A, kry_format_parse(s->said.format, &params));
    PetscCall(MatGetBlockSize(A, &block));
    if (block > 1 && block <= 32) params.block = (int)block;
    PetscCall(MatIsSymmetricKnown(A, &known, &so));
    if (known && so) params.traits |= KRY_SYMMETRIC;
    PetscCall(MatIsSPDKnown(A, &known, &so));
    if (known && so) params.traits |= KRY_POSITIVE;
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    PetscCall(PetscCalloc1(end - first + 1, &row_ptr));
    PetscCall(read_rows(rows, row_ptr, NULL, NULL));
    s->entries = row_ptr[end - first];
    PetscCall(PetscMalloc2(s->entries + 1, &col, s->entries + 1, &val));
    PetscCall(read_rows(rows, row_ptr, col, val));
    st = kry_csr_create_rows(s->device, number_type, first, end - first, row_ptr, col, val, &params,
                             &s->A);
    PetscCall(PetscFree2(col, val));
    PetscCall(PetscFree(row_ptr));
    KRY(A, st);
    PetscCall(MatGetNullSpace(A, &space));
    PetscCall(hand_on(A, space, s->A, kry_op_set_null_space));
    PetscCall(set_near_null_space(s, A));
    PetscFunctionReturn(0);
}

/* Give s->A the numbers that A has now, at the same places. */
static PetscErrorCode update_matrix(solver *s, Mat A)
{
    PetscScalar *val;
    kry_status st;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(s->entries + 1, &val));
    PetscCall(read_rows(A, NULL, NULL, val));
    st = kry_op_update(s->A, val);
    PetscCall(PetscFree(val));
    KRY(A, st);
    PetscFunctionReturn(0);
}

/* Note whether `st`, of the call that was to set s->S up, says that A is singular, which KSP reports as its reason; all else
 * that failed is an error. */
static PetscErrorCode note_singular(solver *s, Mat A, kry_status st)
{
    PetscFunctionBegin;
    s->singular = st == KRY_ERR_SINGULAR ? PETSC_TRUE : PETSC_FALSE;
    if (!s->singular) {
        KRY(A, st);
    } else {
        PetscCall(PetscInfo(A, "%s\n", kry_last_error()));
        kry_op_release(&s->S);
    }
    PetscFunctionReturn(0);
}

static int watch(void *user, const kry_iteration *it);

static PetscErrorCode create_solver(solver *s, Mat A, KSP ksp)
{
    char words[3 * LENGTH];
    kry_status st;

    PetscFunctionBegin;
    if (!ksp && !s->said.method) {
        st = kry_precond_create(s->A, *s->said.precond ? s->said.precond : "auto", &s->S);
    } else {
        PetscCall(PetscSNPrintf(words, sizeof words, "%s%s%s%s%s",
                                s->said.method ? "" : "method=auto ", s->said.words,
                                *s->said.precond ? "precond=" : "", s->said.precond,
                                s->watched ? " check-every=1" : ""));
        st = kry_solver_create(s->A, words, s->watched ? watch : NULL, ksp, &s->S);
        if (st >= 0) st = kry_solver_get_stop(s->S, &s->made);
    }
    PetscCall(note_singular(s, A, st));
    PetscFunctionReturn(0);
}

/* Have s->A and s->S for A as it is now: all anew for other places of entries, else with its new numbers, else as they are. */
static PetscErrorCode take_matrix(solver *s, Mat A, KSP ksp, PetscBool keep_precond)
{
    PetscObjectId id;
    PetscObjectState state, nonzero_state;
    PetscBool aij, shell;
    PetscInt rows, cols;
    Mat converted = NULL;

    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    PetscCall(MatGetNonzeroState(A, &nonzero_state));
    if (s->A && id == s->id && state == s->state) PetscFunctionReturn(0);
    PetscCall(MatGetSize(A, &rows, &cols));
    PetscCheck(rows == cols, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "kry: the matrix is not square");
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &shell, MATSHELL, MATMFFD, ""));
    PetscCheck(
        !shell, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
        "kry needs the entries of a matrix, which type %s has not: -pc_type kry takes those of "
        "the second matrix of KSPSetOperators",
        ((PetscObject)A)->type_name);
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (!aij) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &converted));
    if (s->A && id == s->id && nonzero_state == s->nonzero_state && aij && !s->singular) {
        PetscCall(update_matrix(s, A));
        if (s->S && !keep_precond) PetscCall(note_singular(s, A, kry_op_update(s->S, NULL)));
    } else {
        PetscCall(release(s));
        PetscCall(create_matrix(s, A, aij ? A : converted));
        KRY(A, kry_vec_create(s->device, number_type, rows, 1, &s->b));
        KRY(A, kry_vec_create(s->device, number_type, rows, 1, &s->x));
        PetscCall(create_solver(s, A, ksp));
    }
    PetscCall(MatDestroy(&converted));
    s->id = id, s->state = state, s->nonzero_state = nonzero_state;
    PetscFunctionReturn(0);
}

/* ---- what both types do -------------------------------------------------------------------------- */

static PetscErrorCode view(const solver *s, PetscViewer viewer)
{
    const kry_op *shown[] = { s->A, s->S, kry_solver_precond(s->S) };
    PetscBool ascii;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii) PetscFunctionReturn(0);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  kry %s: %s%s%s\n", kry_version(), s->said.words,
                                     *s->said.precond ? "precond=" : "", s->said.precond));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        kry_op_info info;
        if (!shown[i]) continue;
        kry_op_describe(shown[i], &info);
        PetscCall(PetscViewerASCIIPrintf(viewer, "    %s %s\n", info.kind, info.variant));
    }
    if (s->device)
        PetscCall(
            PetscViewerASCIIPrintf(viewer, "    on %s\n", kry_device_get_info(s->device)->name));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(void *data)
{
    solver *s = data;

    PetscFunctionBegin;
    PetscCall(release(s));
    kry_device_release(&s->device);
    PetscCall(VecDestroy(&s->coordinates));
    PetscCall(PetscFree(s));
    PetscFunctionReturn(0);
}

/* ---- PC ------------------------------------------------------------------------------------------- */

static PetscErrorCode PCSetFromOptions_Kry(PC pc, PetscOptionItems *items)
{
    return read_options(pc->data, PETSC_FALSE, items);
}

static PetscErrorCode PCSetUp_Kry(PC pc)
{
    solver *s = pc->data;

    PetscFunctionBegin;
    PetscCall(take_matrix(s, pc->pmat, NULL, PETSC_FALSE));
    PetscCall(PCSetFailedReason(pc, s->singular ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_NOERROR));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCApply_Kry(PC pc, Vec r, Vec z)
{
    solver *s = pc->data;
    kry_status st;

    PetscFunctionBegin;
    if (!s->S) {
        PetscCall(VecCopy(r, z));
        PetscFunctionReturn(0);
    }
    PetscCall(write_vec(r, s->b));
    st = kry_op_apply(s->S, 1, s->b, 0, s->x);
    KRY(pc, st);
    if (st != KRY_OK) PetscCall(PetscInfo(pc, "%s\n", kry_last_error()));
    PetscCall(PCSetFailedReason(pc, st == KRY_OK ? PC_NOERROR : PC_SUBPC_ERROR));
    PetscCall(read_vec(s->x, z));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCView_Kry(PC pc, PetscViewer viewer) { return view(pc->data, viewer); }
static PetscErrorCode PCReset_Kry(PC pc) { return release(pc->data); }

/* Behind PCSetCoordinates: `axes` numbers for each of this rank's nodes, before the first set-up. */
static PetscErrorCode PCSetCoordinates_Kry(PC pc, PetscInt axes, PetscInt nodes, PetscReal *numbers)
{
    solver *s = pc->data;
    PetscScalar *to;

    PetscFunctionBegin;
    PetscCall(VecDestroy(&s->coordinates));
    PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &s->coordinates));
    PetscCall(VecSetSizes(s->coordinates, axes * nodes, PETSC_DETERMINE));
    PetscCall(VecSetBlockSize(s->coordinates, axes));
    PetscCall(VecSetType(s->coordinates, VECSTANDARD));
    PetscCall(VecGetArrayWrite(s->coordinates, &to));
    PetscCall(PetscArraycpy(to, numbers, axes * nodes));
    PetscCall(VecRestoreArrayWrite(s->coordinates, &to));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCDestroy_Kry(PC pc)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", NULL));
    PetscCall(destroy(pc->data));
    PetscFunctionReturn(0);
}

static PetscErrorCode PCCreate_Kry(PC pc)
{
    solver *s;

    PetscFunctionBegin;
    PetscCall(PetscNew(&s));
    pc->data = s;
    pc->ops->setfromoptions = PCSetFromOptions_Kry;
    pc->ops->setup = PCSetUp_Kry;
    pc->ops->apply = PCApply_Kry;
    pc->ops->view = PCView_Kry;
    pc->ops->reset = PCReset_Kry;
    pc->ops->destroy = PCDestroy_Kry;
    PetscCall(
        PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", PCSetCoordinates_Kry));
    PetscFunctionReturn(0);
}

/* ---- KSP ------------------------------------------------------------------------------------------ */

/* The program has a test of its own for when to stop. */
static PetscBool has_own_test(KSP ksp)
{
    return ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip;
}

static PetscErrorCode show_iteration(KSP ksp, const kry_iteration *it)
{
    PetscFunctionBegin;
    ksp->its = (PetscInt)it->iteration;
    ksp->rnorm = (PetscReal)it->residual;
    if (it->iteration == 0) ksp->rnorm0 = ksp->rnorm;
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    if (has_own_test(ksp))
        PetscCall((*ksp->converged)(ksp, ksp->its, ksp->rnorm, &ksp->reason, ksp->cnvP));
    PetscFunctionReturn(0);
}

static int watch(void *user, const kry_iteration *it)
{
    KSP ksp = user;
    solver *s = ksp->data;

    s->error = show_iteration(ksp, it);
    return s->error || ksp->reason != KSP_CONVERGED_ITERATING;
}

static KSPConvergedReason reason_of(const kry_result *result, const kry_stop *stop)
{
    switch (result->reason) {
    case KRY_CONVERGED:
    case KRY_CONVERGED_GUESS:
        return result->true_residual <= stop->rtol * result->norm_b ? KSP_CONVERGED_RTOL
                                                                    : KSP_CONVERGED_ATOL;
    case KRY_CONVERGED_ZERO: return KSP_CONVERGED_ATOL;
    case KRY_CONVERGED_LEAST_SQUARES: return KSP_CONVERGED_RTOL_NORMAL;
    case KRY_ITERATIONS_DONE: return KSP_CONVERGED_ITS;
    case KRY_ITERATION_LIMIT: return KSP_DIVERGED_ITS;
    case KRY_INDEFINITE_MATRIX: return KSP_DIVERGED_INDEFINITE_MAT;
    case KRY_INDEFINITE_PRECOND: return KSP_DIVERGED_INDEFINITE_PC;
    case KRY_NOT_FINITE: return KSP_DIVERGED_NANORINF;
    case KRY_DIVERGED: return KSP_DIVERGED_DTOL;
    default: return KSP_DIVERGED_BREAKDOWN; /* also stagnation, and a b that A x cannot be */
    }
}

static PetscErrorCode KSPSetFromOptions_Kry(KSP ksp, PetscOptionItems *items)
{
    return read_options(ksp->data, PETSC_TRUE, items);
}

/* The matrix, and a solver that looks at each iteration if somebody wants to see it. */
static PetscErrorCode prepare(KSP ksp)
{
    solver *s = ksp->data;
    const PetscBool watched = ksp->numbermonitors > 0 || ksp->res_hist || has_own_test(ksp);
    PetscBool keep_precond;
    Mat A;

    PetscFunctionBegin;
    if (watched != s->watched) PetscCall(release(s));
    s->watched = watched;
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(PCGetReusePreconditioner(ksp->pc, &keep_precond));
    PetscCall(take_matrix(s, A, ksp, keep_precond));
    PetscFunctionReturn(0);
}

static PetscErrorCode KSPSetUp_Kry(KSP ksp)
{
    solver *s = ksp->data;
    char type[64];
    PetscBool set, own;

    PetscFunctionBegin;
    /* The PC that PETSc or the program has chosen is not used, and not to be set up. */
    PetscCall(PetscOptionsGetString(((PetscObject)ksp->pc)->options, ((PetscObject)ksp->pc)->prefix,
                                    "-pc_type", type, sizeof type, &set));
    own = !set || !strcmp(type, "none") || !strcmp(type, "kry") ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(own, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "-ksp_type kry has preconditioners of its own: -kry_precond in place of -pc_type "
               "%s, or -pc_type kry in a KSP of PETSc",
               type);
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, "kry", &own));
    if (own) { /* it may have got coordinates */
        PetscCall(VecDestroy(&s->coordinates));
        s->coordinates = ((solver *)ksp->pc->data)->coordinates;
        ((solver *)ksp->pc->data)->coordinates = NULL;
    }
    PetscCall(PCSetType(ksp->pc, PCNONE));
    PetscCall(prepare(ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode KSPSolve_Kry(KSP ksp)
{
    solver *s = ksp->data;
    kry_stop stop;
    kry_result result;
    kry_status st;
    PetscReal norm;
    PetscBool scaled;

    PetscFunctionBegin;
    PetscCall(PCGetDiagonalScale(ksp->pc, &scaled));
    PetscCheck(!scaled, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "-ksp_type kry takes no diagonal scaling of PETSc");
    PetscCheck(!ksp->transpose_solve, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "-ksp_type kry does not solve with the transpose");
    PetscCall(VecNorm(ksp->vec_rhs, NORM_2, &norm));
    KSPCheckNorm(ksp, norm);
    PetscCall(prepare(ksp));
    ksp->its = 0;
    ksp->reason = KSP_CONVERGED_ITERATING;
    if (s->singular) {
        ksp->reason = KSP_DIVERGED_PC_FAILED;
        PetscFunctionReturn(0);
    }
    stop = s->made;
    stop.rtol = ksp->rtol, stop.atol = ksp->abstol, stop.max_iter = ksp->max_it;
    if (has_own_test(ksp) || ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE)
        stop.test = KRY_STOP_NEVER;
    KRY(ksp, kry_solver_set_stop(s->S, &stop));
    PetscCall(write_vec(ksp->vec_rhs, s->b));
    if (ksp->guess_zero)
        KRY(ksp, kry_vec_fill(s->x, 0));
    else
        PetscCall(write_vec(ksp->vec_sol, s->x));
    s->running = PETSC_TRUE;
    s->error = 0;
    st = kry_solve(s->S, s->b, s->x, &result);
    s->running = PETSC_FALSE;
    PetscCall(s->error);
    if (st == KRY_ERR_SINGULAR) {
        ksp->reason = KSP_DIVERGED_PC_FAILED;
        PetscFunctionReturn(0);
    }
    KRY(ksp, st);
    PetscCall(PetscInfo(ksp, "%s\n", result.why));
    PetscCall(read_vec(s->x, ksp->vec_sol));
    ksp->its = (PetscInt)result.iterations;
    ksp->rnorm = (PetscReal)result.true_residual;
    if (ksp->reason == KSP_CONVERGED_ITERATING) ksp->reason = reason_of(&result, &stop);
    PetscFunctionReturn(0);
}

/* Monitors that ask for x, or its residual, during a solve. */
static PetscErrorCode KSPBuildSolution_Kry(KSP ksp, Vec v, Vec *x)
{
    solver *s = ksp->data;

    PetscFunctionBegin;
    if (s->running) PetscCall(read_vec(s->x, ksp->vec_sol));
    PetscCall(KSPBuildSolutionDefault(ksp, v, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode KSPView_Kry(KSP ksp, PetscViewer viewer) { return view(ksp->data, viewer); }
static PetscErrorCode KSPReset_Kry(KSP ksp) { return release(ksp->data); }
static PetscErrorCode KSPDestroy_Kry(KSP ksp) { return destroy(ksp->data); }

static PetscErrorCode KSPCreate_Kry(KSP ksp)
{
    solver *s;

    PetscFunctionBegin;
    PetscCall(PetscNew(&s));
    ksp->data = s;
    ksp->setupnewmatrix = PETSC_TRUE;
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
    ksp->ops->setfromoptions = KSPSetFromOptions_Kry;
    ksp->ops->setup = KSPSetUp_Kry;
    ksp->ops->solve = KSPSolve_Kry;
    ksp->ops->buildsolution = KSPBuildSolution_Kry;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    ksp->ops->view = KSPView_Kry;
    ksp->ops->reset = KSPReset_Kry;
    ksp->ops->destroy = KSPDestroy_Kry;
    PetscFunctionReturn(0);
}

/* PETSc calls this function for -dll_append. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_krypetsc(void)
{
    PetscFunctionBegin;
    PetscCall(PCRegister("kry", PCCreate_Kry));
    PetscCall(KSPRegister("kry", KSPCreate_Kry));
    PetscFunctionReturn(0);
}
