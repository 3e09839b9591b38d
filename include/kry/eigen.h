/*
 * eigen.h - kry as one of Eigen's iterative solvers, for C++11 and later. In this header alone is Eigen, which the caller's
 * compiler finds: the library has none of it.
 *
 *     kry::Solver<Eigen::SparseMatrix<double>> solver("method=pcg precond=amg");
 *     solver.compute(A);
 *     x = solver.solve(b);
 *     if (solver.info() != Eigen::Success) std::cerr << solver.lastError();
 */
#ifndef KRY_EIGEN_H
#define KRY_EIGEN_H

#include <algorithm>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <kry/kry.h>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kry
{
template <class MatrixType, int UpLo> class Solver;
}

namespace Eigen
{
namespace internal
{
template <class MatrixType_, int UpLo> struct traits<kry::Solver<MatrixType_, UpLo>> {
    typedef MatrixType_ MatrixType;
};
} // namespace internal
} // namespace Eigen

namespace kry
{
/*
 * A solver by the words of kry_solver_create, with the interface of Eigen's iterative solvers
 *
 *   MatrixType  an Eigen::SparseMatrix of float or double, by rows or by columns, with indices of any type
 *   UpLo        Eigen::Lower or Eigen::Upper: A is symmetric, and this triangle of it alone is read; default: all entries
 *
 * solve and solveWithGuess take any number of right-hand sides, and return expressions, which are solved when they are
 * assigned. lsqr and lsmr take A of any shape. No call throws but for lack of host memory: info() says how the last
 * compute, factorize or solve ended, lastError() why. A solve that ended short of its tolerance has assigned its last
 * iterate, one that failed the guess.
 *
 * A solver may be moved, and not be copied. One thread at a time may use it, while others use solvers of their own, on
 * the same device, too.
 */
template <class MatrixType_, int UpLo = Eigen::Lower | Eigen::Upper>
class Solver : public Eigen::SparseSolverBase<Solver<MatrixType_, UpLo>>
{
    typedef Eigen::SparseSolverBase<Solver> Base;
    using Base::m_isInitialized;

  public:
    typedef MatrixType_ MatrixType;
    typedef typename MatrixType::Scalar Scalar;
    typedef typename MatrixType::RealScalar RealScalar;
    typedef typename MatrixType::StorageIndex StorageIndex;
    enum {
        ColsAtCompileTime = MatrixType::ColsAtCompileTime,
        MaxColsAtCompileTime = MatrixType::MaxColsAtCompileTime
    };
    static_assert(std::is_same<Scalar, float>::value || std::is_same<Scalar, double>::value,
                  "kry solves systems of float or double");

    /*
     *   options  words of kry_solver_create
     *   device   on which to solve, which is retained; NULL: what kry_device_open(NULL) opens
     */
    explicit Solver(const std::string &options = "method=auto", kry_device *device = nullptr)
        : own_(options, kry_device_retain(device))
    {
    }
    explicit Solver(const MatrixType &A) : Solver() { compute(A); }
    Solver(Solver &&from) : Base(), own_(std::move(from.own_))
    {
        std::swap(m_isInitialized, from.m_isInitialized);
    }
    Solver &operator=(Solver &&from)
    {
        own_ = std::move(from.own_);
        m_isInitialized = from.m_isInitialized;
        return *this;
    }

    /* Take A, and set the solver up. */
    Solver &compute(const MatrixType &A)
    {
        const Rows R = rowsOf(A);
        return takePattern(R).takeNumbers(R);
    }
    /* Forget the matrix that there is, and note where the next ones have their entries. */
    Solver &analyzePattern(const MatrixType &A) { return takePattern(rowsOf(A)); }
    /* Take the numbers of A, whose entries are where analyzePattern has seen them: for the second time and later
     * only the numerical part of the set-up is done again (kry_op_update). */
    Solver &factorize(const MatrixType &A) { return takeNumbers(rowsOf(A)); }

    Eigen::Index rows() const { return own_.rows; }
    Eigen::Index cols() const { return own_.cols; }

    /* Success; NoConvergence: a solve ended short of its tolerance; NumericalIssue: it broke down, or A is singular;
     * InvalidInput: the call was refused, or the device failed. */
    Eigen::ComputationInfo info() const
    {
        eigen_assert(m_isInitialized && "Solver is not initialized.");
        return own_.status == KRY_OK ? Eigen::Success
               : own_.status == KRY_BREAKDOWN || own_.status == KRY_ERR_SINGULAR
                   ? Eigen::NumericalIssue
               : own_.status > 0 ? Eigen::NoConvergence
                                 : Eigen::InvalidInput;
    }
    /* One sentence; "" after Success. */
    const std::string &lastError() const { return own_.message; }

    /* Iterations and error of the last solve; for several right-hand sides those of the worst. */
    Eigen::Index iterations() const { return (Eigen::Index)own_.result.iterations; }
    RealScalar error() const /* ||b - A x|| / ||b||, computed from x */
    {
        const double b = own_.result.norm_b;
        return (RealScalar)(b > 0 ? own_.result.true_residual / b : 0);
    }
    const kry_result &result() const { return own_.result; }

    /* The solve ends when error() is at most this. What was set, else what the words say, or kry's default; 0 before there
     * is a solver. */
    RealScalar tolerance() const { return (RealScalar)criteria().rtol; }
    Solver &setTolerance(const RealScalar &tolerance)
    {
        own_.rtol = (double)tolerance;
        own_.stop_is_new = true;
        return *this;
    }
    /* The most iterations of a solve. What was set, else what the words say; 0: as many as kry_stop says. */
    Eigen::Index maxIterations() const { return (Eigen::Index)criteria().max_iter; }
    Solver &setMaxIterations(Eigen::Index iterations)
    {
        own_.max_iter = (int64_t)iterations;
        own_.stop_is_new = true;
        return *this;
    }

    /* x = solver.solveWithGuess(b, x0) */
    template <class Rhs, class Guess>
    Eigen::SolveWithGuess<Solver, Rhs, Guess> solveWithGuess(const Eigen::MatrixBase<Rhs> &b,
                                                             const Guess &x0) const
    {
        eigen_assert(m_isInitialized && "Solver is not initialized.");
        eigen_assert(rows() == b.rows() && "solveWithGuess(): b has not the rows of A");
        return Eigen::SolveWithGuess<Solver, Rhs, Guess>(*this, b.derived(), x0);
    }

    /* The expressions call these two. */
    using Base::_solve_impl;
    template <class Rhs, class Dest>
    void _solve_impl(const Eigen::MatrixBase<Rhs> &b, Eigen::MatrixBase<Dest> &x) const
    {
        Dense X = Dense::Zero(cols(), b.cols());
        solveInPlace(b, X);
        x.derived() = X;
    }
    template <class Rhs, class Dest>
    void _solve_with_guess_impl(const Eigen::MatrixBase<Rhs> &b, Eigen::MatrixBase<Dest> &x) const
    {
        Dense X = x;
        solveInPlace(b, X);
        x.derived() = X;
    }

  private:
    typedef Eigen::SparseMatrix<Scalar, Eigen::RowMajor, StorageIndex> Rows;
    typedef Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> Dense;
    template <class T, void (*release)(T **)> struct Release {
        void operator()(T *object) const { release(&object); }
    };
    typedef std::unique_ptr<kry_device, Release<kry_device, kry_device_release>> Device;
    typedef std::unique_ptr<kry_op, Release<kry_op, kry_op_release>> Op;
    typedef std::unique_ptr<kry_vec, Release<kry_vec, kry_vec_release>> Vec;
    static const bool half = UpLo != (Eigen::Lower | Eigen::Upper);
    static const unsigned part = half ? UpLo : Eigen::Lower;
    static const kry_type type = std::is_same<Scalar, float>::value ? KRY_F32 : KRY_F64;

    /* All that the solver has, for moving. */
    struct Own {
        std::string options, message;
        Device device;
        Op A, solver;
        Eigen::Index rows = 0, cols = 0;
        std::vector<int64_t> row_ptr; /* the pattern */
        std::vector<int32_t> col;
        kry_stop made = kry_stop(); /* the criteria that the solver was made with, by the words */
        double rtol = 0;            /* set by the caller; 0: not set */
        int64_t max_iter = 0;       /* likewise */
        bool stop_is_new = false;   /* the solver does not know of these two yet */
        kry_status status = KRY_OK;
        kry_result result;

        Own(const std::string &words, kry_device *retained)
            : options(words), device(retained), result()
        {
        }
    };
    mutable Own own_;

    static Rows rowsOf(const MatrixType &A)
    {
        Rows R;
        if (half)
            R = A.template triangularView<part>();
        else
            R = A;
        R.makeCompressed();
        return R;
    }

    Solver &takePattern(const Rows &R)
    {
        own_.solver.reset();
        own_.A.reset();
        own_.rows = R.rows(), own_.cols = R.cols();
        own_.row_ptr.assign(R.outerIndexPtr(), R.outerIndexPtr() + R.rows() + 1);
        own_.col.assign(R.innerIndexPtr(), R.innerIndexPtr() + R.nonZeros());
        m_isInitialized = true;
        ended(R.cols() <= INT32_MAX
                  ? KRY_OK
                  : kry_fail(KRY_ERR_ARGUMENT, "kry::Solver: %lld columns are more than 2^31-1",
                             (long long)R.cols()));
        return *this;
    }

    Solver &takeNumbers(const Rows &R)
    {
        kry_status st;
        if (!m_isInitialized || R.rows() != own_.rows || R.cols() != own_.cols ||
            R.nonZeros() != (Eigen::Index)own_.col.size() ||
            !std::equal(own_.row_ptr.begin(), own_.row_ptr.end(), R.outerIndexPtr()) ||
            !std::equal(own_.col.begin(), own_.col.end(), R.innerIndexPtr()))
            st = kry_fail(KRY_ERR_ARGUMENT, "kry::Solver: the entries of the matrix are not where "
                                            "analyzePattern has seen them");
        else if (!own_.solver)
            st = create(R.valuePtr());
        else if ((st = kry_op_update(own_.A.get(), R.valuePtr())) == KRY_OK)
            st = kry_op_update(own_.solver.get(), nullptr);
        if (st < 0) own_.solver.reset(); /* it has the numbers of an earlier matrix */
        m_isInitialized = true;
        ended(st);
        return *this;
    }

    void ended(kry_status st) const
    {
        own_.status = st;
        own_.message = st == KRY_OK ? "" : kry_last_error();
    }

    kry_stop criteria() const
    {
        kry_stop stop = own_.made;
        if (own_.rtol > 0) stop.rtol = own_.rtol;
        if (own_.max_iter > 0) stop.max_iter = own_.max_iter;
        return stop;
    }

    kry_status create(const Scalar *val)
    {
        kry_matrix_params params = kry_matrix_params();
        kry_device *device = nullptr;
        kry_op *made = nullptr;
        kry_status st;

        params.struct_size = sizeof params;
        if (half) params.storage = KRY_SYMMETRIC_HALF, params.traits = KRY_SYMMETRIC;
        if (!own_.device) {
            if ((st = kry_device_open(nullptr, &device)) < 0) return st;
            own_.device.reset(device);
        }
        st = kry_csr_create(own_.device.get(), type, own_.rows, own_.cols, own_.row_ptr.data(),
                            own_.col.data(), val, &params, &made);
        if (st < 0) return st;
        own_.A.reset(made);
        st = kry_solver_create(made, own_.options.c_str(), nullptr, nullptr, &made);
        own_.solver.reset(made);
        own_.stop_is_new = true;
        return st < 0 ? st : kry_solver_get_stop(made, &own_.made);
    }

    template <class Rhs> void solveInPlace(const Eigen::MatrixBase<Rhs> &b, Dense &X) const
    {
        const Dense B = b;
        if (own_.solver)
            ended(solveColumns(B.data(), X.data(), B.cols()));
        else if (own_.status == KRY_OK)
            ended(kry_fail(KRY_ERR_ARGUMENT, "kry::Solver: factorize was not called"));
    }

    kry_status solveColumns(const Scalar *b, Scalar *x, int64_t columns) const
    {
        kry_vec *made = nullptr;
        kry_status st, read;

        own_.result = kry_result();
        if (own_.stop_is_new) {
            const kry_stop stop = criteria();
            if ((st = kry_solver_set_stop(own_.solver.get(), &stop)) < 0) return st;
            own_.stop_is_new = false;
        }
        st = kry_vec_create(own_.device.get(), type, own_.rows, columns, &made);
        const Vec B(made);
        if (st < 0) return st;
        st = kry_vec_create(own_.device.get(), type, own_.cols, columns, &made);
        const Vec X(made);
        if (st < 0 || (st = kry_vec_write(B.get(), b)) < 0 || (st = kry_vec_write(X.get(), x)) < 0)
            return st;
        st = kry_solve(own_.solver.get(), B.get(), X.get(), &own_.result);
        if (st < 0) return st;
        read = kry_vec_read(X.get(), x);
        return read < 0 ? read : st;
    }
};

} // namespace kry
#endif
