/*
 * kryFoam.C - kry as a linear solver of OpenFOAM, in a library that system/controlDict loads:
 *
 *     libs ("libkryFoam.so");
 *
 * and system/fvSolution chooses, for any field:
 *
 *     p { solver kry; method cg; precond amg; tolerance 1e-6; relTol 0.05; }
 *
 * Each word of kry_solver_create is an entry, but for those of the stopping criteria, which are OpenFOAM's. Besides, `device` takes a
 * name of kry_device_open, `format` one of kry_format_parse.
 *
 * OpenFOAM computes the residual r = b - A x, and kry solves A d = r, or -A d = -r where the diagonal is negative; then x is x + d. So all that
 * interfaces add to A x, jumps among them, is in r, and OpenFOAM's residual, a 1-norm, is computed from x.
 */
#include "cyclicLduInterface.H"
#include "cyclicLduInterfaceField.H"
#include "lduMatrix.H"
#include "MeshObject.H"
#include "PrecisionAdaptor.H"
#include "processorLduInterface.H"
#include "processorLduInterfaceField.H"
#include "Pstream.H"
#include "StringStream.H"

#include <cfenv>
#include <cstdlib>
#include <kry/kry.h>
#include <kry/mpi.h>
#include <map>
#include <memory>
#include <utility>

namespace Foam
{

template <class T, void (*release)(T **)> struct kryRelease {
    void operator()(T *object) const { release(&object); }
};
typedef std::unique_ptr<kry_device, kryRelease<kry_device, kry_device_release>> kryDevice;
typedef std::unique_ptr<kry_op, kryRelease<kry_op, kry_op_release>> kryOp;
typedef std::unique_ptr<kry_vec, kryRelease<kry_vec, kry_vec_release>> kryVec;

/* kry and the drivers of devices work with infinities, for which OpenFOAM has the program killed: exceptions of floating-point
 * numbers are off while this lives, also in threads that begin in that time. */
class kryExceptionsOff
{
    std::fenv_t old_;

  public:
    kryExceptionsOff() { std::feholdexcept(&old_); }
    ~kryExceptionsOff() { std::fesetenv(&old_); }
};

/* A matrix with its solver. */
struct krySystem {
    label first;              /* row of the whole matrix that this rank's cell 0 is */
    List<labelList> opposite; /* of each interface: the column of the cell behind each face */
    List<int64_t> rowPtr;
    scalarField val; /* of A in kry: the coefficients, or their negatives */
    kryOp A, solver;
    kryVec b, x;
    kry_stop stop; /* by the words */
};

/* What is kept between solves: devices by their names, and systems by their meshes, fields and words. */
struct kryKept {
    std::map<string, kryDevice> devices;
    std::map<std::pair<const lduMesh *, string>, krySystem> systems;
};

/* The registry of a mesh, and of the areas on it, keeps it until cells or faces change. */
struct kryMeshObject : public MeshObject<lduMesh, TopologicalMeshObject, kryMeshObject> {
    TypeName("kryMeshObject");
    kryKept kept;
    explicit kryMeshObject(const lduMesh &mesh)
        : MeshObject<lduMesh, TopologicalMeshObject, kryMeshObject>(mesh)
    {
    }
    static kryKept &keptFor(const lduMesh &mesh)
    {
        kryMeshObject *found = mesh.thisDb().getObjectPtr<kryMeshObject>(typeName);
        if (!found) {
            found = new kryMeshObject(mesh);
            found->store();
        }
        return found->kept;
    }
};

class krySolver : public lduMatrix::solver
{
    void check(kry_status st) const;
    scalar sign() const;
    string entry(const char *name) const;
    string words() const;
    List<scalarField> couplings(direction cmpt) const;
    template <class Take>
    void forEntries(const krySystem &s, const List<scalarField> &couplings, Take take) const;
    List<labelList> findOpposite(label first) const;
    void open(const string &spec, kryDevice &device) const;
    void create(kry_device *device, const string &words, direction cmpt, krySystem &s) const;
    void update(direction cmpt, krySystem &s) const;
    bool takeNumbers(direction cmpt, krySystem &s) const;
    krySystem &system(kryKept &kept, direction cmpt) const;
    label correct(krySystem &s, scalar target, label done, const solveScalarField &r,
                  solveScalarField &psi) const;

  public:
    TypeName("kry");
    krySolver(const word &fieldName, const lduMatrix &matrix,
              const FieldField<Field, scalar> &interfaceBouCoeffs,
              const FieldField<Field, scalar> &interfaceIntCoeffs,
              const lduInterfaceFieldPtrsList &interfaces, const dictionary &solverControls)
        : lduMatrix::solver(fieldName, matrix, interfaceBouCoeffs, interfaceIntCoeffs, interfaces,
                            solverControls)
    {
    }
    solverPerformance solve(scalarField &psi, const scalarField &source,
                            const direction cmpt = 0) const override;
};

defineTypeNameAndDebug(kryMeshObject, 0);
defineTypeNameAndDebug(krySolver, 0);
lduMatrix::solver::addsymMatrixConstructorToTable<krySolver> addKrySymMatrixConstructorToTable_;
lduMatrix::solver::addasymMatrixConstructorToTable<krySolver> addKryAsymMatrixConstructorToTable_;

static const kry_type numberType = sizeof(scalar) == sizeof(float) ? KRY_F32 : KRY_F64;

/* What kry refuses ends the program, with kry's sentence. */
void krySolver::check(kry_status st) const
{
    if (st < 0) FatalErrorInFunction << fieldName_ << ": " << kry_last_error() << exit(FatalError);
}

/* kry gets the negative of a matrix with a negative diagonal, which Laplacians of OpenFOAM have. */
scalar krySolver::sign() const { return gSum(matrix_.diag(), matrix_.mesh().comm()) < 0 ? -1 : 1; }

/* The value of an entry as kry takes it; "": there is none. */
string krySolver::entry(const char *name) const
{
    const Foam::entry *found = controlDict_.findEntry(name, keyType::LITERAL);
    if (!found) return "";
    if (!found->isStream() || found->stream().size() != 1)
        FatalIOErrorInFunction(controlDict_)
            << "the entry " << name << " of solver kry has one word" << exit(FatalIOError);
    const token &value = found->stream()[0];
    if (value.isString()) return value.stringToken();
    OStringStream text;
    text.precision(15);
    text << value;
    return text.str();
}

/* The entries that are words of kry_solver_create. */
string krySolver::words() const
{
    string words;
    for (int i = 0; kry_solver_word(i); i++) {
        const std::string name = kry_solver_word(i)->name;
        const string value = entry(name.c_str());
        if (value.empty()) continue;
        if (name == "rtol" || name == "atol" || name == "maxit" || name == "stop")
            FatalIOErrorInFunction(controlDict_)
                << "solver kry has no entry " << name.c_str()
                << ": it ends by OpenFOAM's tolerance, relTol, maxIter and minIter"
                << exit(FatalIOError);
        words += name + '=' + value + ' ';
    }
    return controlDict_.found("method") ? words : string("method=auto " + words);
}

/* The coefficients of each interface. The two sides of a cyclic patch have the same ones up to the digits of its points: kry gets
 * the mean of a symmetric matrix. */
List<scalarField> krySolver::couplings(direction cmpt) const
{
    List<scalarField> couplings(interfaces_.size());
    const label requests = Pstream::nRequests();

    forAll(interfaces_, patch)
    {
        if (matrix_.symmetric() && interfaces_.set(patch) &&
            isA<processorLduInterface>(interfaces_[patch].interface()))
            refCast<const processorLduInterface>(interfaces_[patch].interface())
                .send(Pstream::commsTypes::nonBlocking, interfaceBouCoeffs_[patch]);
    }
    Pstream::waitRequests(requests);
    forAll(interfaces_, patch)
    {
        if (!interfaces_.set(patch)) continue;
        const lduInterfaceField &field = interfaces_[patch];
        const bool cyclic = isA<cyclicLduInterfaceField>(field);
        scalarField a(-interfaceBouCoeffs_[patch]);
        if (matrix_.symmetric() && cyclic)
            a = 0.5 * (a - interfaceBouCoeffs_[refCast<const cyclicLduInterface>(field.interface())
                                                   .neighbPatchID()]);
        else if (matrix_.symmetric())
            a = 0.5 * (a - refCast<const processorLduInterface>(field.interface())
                               .receive<scalar>(Pstream::commsTypes::nonBlocking, a.size()));
        /* Patches that are turned towards each other scale the components of vectors. */
        solveScalarField scale(a.size(), 1);
        if (cyclic)
            refCast<const cyclicLduInterfaceField>(field).transformCoupleField(scale, cmpt);
        else
            refCast<const processorLduInterfaceField>(field).transformCoupleField(scale, cmpt);
        forAll(a, face) a[face] *= scale[face];
        couplings[patch].transfer(a);
    }
    return couplings;
}

/* Call take(row, column, coefficient) for each entry of this rank's rows, always in the same order. */
template <class Take>
void krySolver::forEntries(const krySystem &s, const List<scalarField> &couplings, Take take) const
{
    const labelUList &owner = matrix_.lduAddr().lowerAddr();
    const labelUList &neighbour = matrix_.lduAddr().upperAddr();
    const scalarField &diag = matrix_.diag(), &upper = matrix_.upper(), &lower = matrix_.lower();

    forAll(diag, cell) take(cell, s.first + cell, diag[cell]);
    forAll(upper, face)
    {
        take(owner[face], s.first + neighbour[face], upper[face]);
        take(neighbour[face], s.first + owner[face], lower[face]);
    }
    forAll(couplings, patch)
    {
        forAll(couplings[patch], face) take(matrix_.lduAddr().patchAddr(patch)[face],
                                            s.opposite[patch][face], couplings[patch][face]);
    }
}

/* Find the columns of the cells behind the faces of each interface. */
List<labelList> krySolver::findOpposite(label first) const
{
    List<labelList> opposite(interfaces_.size());
    labelList columns(matrix_.diag().size());
    const label requests = Pstream::nRequests();

    forAll(columns, cell) columns[cell] = first + cell;
    forAll(interfaces_, patch)
    {
        if (!interfaces_.set(patch)) continue;
        if (!isA<cyclicLduInterfaceField>(interfaces_[patch]) &&
            !isA<processorLduInterfaceField>(interfaces_[patch]))
            FatalErrorInFunction << fieldName_
                                 << ": solver kry takes cyclic and processor patches, not "
                                 << interfaces_[patch].interface().type() << exit(FatalError);
        interfaces_[patch].interface().initInternalFieldTransfer(Pstream::commsTypes::nonBlocking,
                                                                 columns);
    }
    Pstream::waitRequests(requests);
    forAll(interfaces_, patch)
    {
        if (interfaces_.set(patch))
            opposite[patch] = interfaces_[patch].interface().internalFieldTransfer(
                Pstream::commsTypes::nonBlocking, columns);
    }
    return opposite;
}

/* Open the device of the entry; on several ranks it is part of a team, and where no other was asked for each rank takes the GPU of its
 * number on its machine. */
void krySolver::open(const string &spec, kryDevice &device) const
{
    const label comm = matrix_.mesh().comm();
    const bool team = UPstream::parRun() && UPstream::nProcs(comm) > 1;
    kry_device *own = nullptr, *made = nullptr;
    int ranks = 1;

    if (team) MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (team && UPstream::nProcs(comm) != ranks)
        FatalErrorInFunction << fieldName_
                             << ": solver kry works on all ranks, and this matrix lies on "
                             << UPstream::nProcs(comm) << " of them" << exit(FatalError);
    const char *named = spec.empty() ? nullptr : spec.c_str();
    check(team ? kry_mpi_open_(MPI_COMM_WORLD, named, &own) : kry_device_open(named, &own));
    device.reset(own);
    if (!team) return;
    /* OpenFOAM asks MPI for MPI_THREAD_SINGLE; kry calls it from this thread alone. */
    check(kry_mpi_team_(MPI_COMM_WORLD, own, nullptr, &made));
    device.reset(made);
}

/* Take the numbers of A, positive on the diagonal, and tell whether there is a new one among those of this rank. */
bool krySolver::takeNumbers(direction cmpt, krySystem &s) const
{
    const scalar sign = this->sign();
    List<int64_t> next(s.rowPtr);
    bool changed = false;

    forEntries(s, couplings(cmpt), [&](label row, label, scalar a) {
        scalar &val = s.val[next[row]++];
        changed = changed || val != sign * a;
        val = sign * a;
    });
    return changed;
}

/* Make a system of the matrix, and the solver that the words ask for. */
void krySolver::create(kry_device *device, const string &words, direction cmpt, krySystem &s) const
{
    const label cells = matrix_.diag().size();
    kry_matrix_params params = kry_matrix_params();
    int64_t first, all;
    kry_op *op;
    kry_vec *vec;

    params.struct_size = sizeof params;
    params.duplicates = KRY_SUM; /* of cells that are neighbours twice, through an interface */
    if (matrix_.symmetric()) params.traits = KRY_SYMMETRIC;
    const string format = entry("format");
    if (!format.empty()) check(kry_format_parse(format.c_str(), &params));
    check(kry_team_rows(device, cells, &first, &all));
    s.first = first;
    s.opposite = findOpposite(s.first);

    s.rowPtr = List<int64_t>(cells + 1, int64_t(0));
    const List<scalarField> couplings = this->couplings(cmpt);
    forEntries(s, couplings, [&](label row, label, scalar) { s.rowPtr[row + 1]++; });
    for (label row = 0; row < cells; row++) s.rowPtr[row + 1] += s.rowPtr[row];
    List<int64_t> col(s.rowPtr.last()), next(s.rowPtr);
    forEntries(s, couplings, [&](label row, label column, scalar) { col[next[row]++] = column; });
    s.val.setSize(s.rowPtr.last());
    takeNumbers(cmpt, s);

    check(kry_csr_create_rows(device, numberType, first, cells, s.rowPtr.cdata(), col.cdata(),
                              s.val.cdata(), &params, &op));
    s.A.reset(op);
    check(kry_solver_create(op, words.c_str(), nullptr, nullptr, &op));
    s.solver.reset(op);
    check(kry_solver_get_stop(op, &s.stop));
    check(kry_vec_create(device, numberType, all, 1, &vec));
    s.b.reset(vec);
    check(kry_vec_create(device, numberType, all, 1, &vec));
    s.x.reset(vec);
}

/* Give a system the numbers of the matrix, if they are not those that it has. */
void krySolver::update(direction cmpt, krySystem &s) const
{
    bool changed = takeNumbers(cmpt, s);
    kry_status st;

    reduce(changed, orOp<bool>(), UPstream::msgType(), matrix_.mesh().comm());
    if (!changed) return;
    st = kry_op_update(s.A.get(), s.val.cdata());
    if (st >= 0) st = kry_op_update(s.solver.get(), nullptr);
    if (st < 0) s.solver.reset(); /* it has the numbers of an earlier matrix */
    check(st);
}

/* The system of this field and these entries, with the numbers that the matrix has now. */
krySystem &krySolver::system(kryKept &kept, direction cmpt) const
{
    const string spec = entry("device"), words = this->words();
    const string name = fieldName_ + ' ' + entry("format") + ' ' + spec + ' ' + words;

    if (!kept.devices[spec]) open(spec, kept.devices[spec]);
    krySystem &s = kept.systems[{ &matrix_.mesh(), name }];
    if (s.solver)
        update(cmpt, s);
    else
        create(kept.devices[spec].get(), words, cmpt, s);
    return s;
}

/* Add to psi a d with |r - A d|_2 <= target, and tell the iterations, before which `done` were made. A target of 0 asks for all
 * that are left of maxIter. */
label krySolver::correct(krySystem &s, scalar target, label done, const solveScalarField &r,
                         solveScalarField &psi) const
{
    const scalar sign = this->sign();
    kry_stop stop = s.stop;
    kry_result result;
    scalarField d(r.size());

    forAll(d, cell) d[cell] = sign * r[cell];
    check(kry_vec_write(s.b.get(), d.cdata()));
    check(kry_vec_fill(s.x.get(), 0));
    stop.rtol = 0;
    stop.atol = target;
    stop.max_iter = max(maxIter_ - done, 1);
    stop.test = target > 0 ? KRY_STOP_RESIDUAL : KRY_STOP_NEVER;
    check(kry_solver_set_stop(s.solver.get(), &stop));
    check(kry_solve(s.solver.get(), s.b.get(), s.x.get(), &result));
    label iterations = result.iterations;
    if (done + iterations < minIter_) {
        stop.max_iter = minIter_ - done - iterations;
        stop.test = KRY_STOP_NEVER;
        check(kry_solver_set_stop(s.solver.get(), &stop));
        check(kry_solve(s.solver.get(), s.b.get(), s.x.get(), &result));
        iterations += result.iterations;
    }
    if (kry_reason_status(result.reason) == KRY_BREAKDOWN)
        WarningInFunction << fieldName_ << ": " << result.why << endl;
    check(kry_vec_read(s.x.get(), d.data()));
    forAll(d, cell) psi[cell] += d[cell];
    return iterations;
}

solverPerformance krySolver::solve(scalarField &psi_s, const scalarField &source_s,
                                   const direction cmpt) const
{
    PrecisionAdaptor<solveScalar, scalar> tpsi(psi_s);
    ConstPrecisionAdaptor<solveScalar, scalar> tsource(source_s);
    solveScalarField &psi = tpsi.ref();
    const solveScalarField &source = tsource();
    const label comm = matrix_.mesh().comm();
    solverPerformance performance(typeName, fieldName_);
    solveScalarField Apsi(psi.size()), r(psi.size());

    matrix_.Amul(Apsi, psi, interfaceBouCoeffs_, interfaces_, cmpt);
    const solveScalar norm = normFactor(psi, source, Apsi, r);
    r = source - Apsi;
    matrix_.setResidualField(ConstPrecisionAdaptor<scalar, solveScalar>(r)(), fieldName_, true);
    performance.initialResidual() = gSumMag(r, comm) / norm;
    performance.finalResidual() = performance.initialResidual();
    if (minIter_ <= 0 && performance.checkConvergence(tolerance_, relTol_)) return performance;

    const kryExceptionsOff off;
    kryKept own;
    krySystem &s =
        system(matrix_.mesh().hasDb() ? kryMeshObject::keptFor(matrix_.mesh()) : own, cmpt);
    /* |r|_1 <= sqrt(n) |r|_2 */
    const scalar target =
        max(tolerance_, relTol_ * performance.initialResidual()) * norm /
        sqrt(scalar(returnReduce(r.size(), sumOp<label>(), UPstream::msgType(), comm)));
    scalar before;
    do {
        before = performance.finalResidual();
        performance.nIterations() += correct(s, target, performance.nIterations(), r, psi);
        matrix_.Amul(Apsi, psi, interfaceBouCoeffs_, interfaces_, cmpt);
        r = source - Apsi;
        performance.finalResidual() = gSumMag(r, comm) / norm;
    } while (!performance.checkConvergence(tolerance_, relTol_) &&
             performance.nIterations() < maxIter_ && performance.finalResidual() < before / 2);
    matrix_.setResidualField(ConstPrecisionAdaptor<scalar, solveScalar>(r)(), fieldName_, false);
    return performance;
}

} // namespace Foam
