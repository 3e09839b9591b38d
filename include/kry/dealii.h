/*
 * dealii.h - kry as a solver and as a preconditioner of deal.II, for C++14 and later. In this header alone is deal.II, which
 * the caller's compiler finds: the library has none of it.
 *
 *     kry::dealii::Solver<double> solver("method=pcg precond=amg");
 *     solver.initialize(A);
 *     solver.solve(control, x, b);
 *
 *     kry::dealii::Preconditioner<double> amg("amg");
 *     amg.initialize(A);
 *     dealii::SolverCG<>(control).solve(A, x, b, amg);
 */
#ifndef KRY_DEALII_H
#define KRY_DEALII_H

#include <algorithm>
#include <deal.II/base/exceptions.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/lac/sparse_matrix.h>
#include <kry/kry.h>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace kry
{
namespace dealii
{
/* A solve ended short of its tolerance. what() has kry's message. */
class NoConvergence : public ::dealii::SolverControl::NoConvergence
{
  public:
    explicit NoConvergence(const kry_result &result)
        : ::dealii::SolverControl::NoConvergence((unsigned)result.iterations, result.true_residual),
          message_(kry_last_error())
    {
    }
    ~NoConvergence() noexcept override = default;
    void print_info(std::ostream &out) const override { out << "    " << message_ << std::endl; }

  private:
    std::string message_;
};

/*
 * The base of Solver and Preconditioner: an operator that kry makes of a matrix, as its words say
 *
 *   number  float or double: of the dealii::SparseMatrix, and of vectors of any type with all their numbers in one array
 *
 * Errors of kry are thrown as dealii::ExcMessage, with kry's message. One thread at a time may use an object of these classes.
 */
template <class number> class Operator
{
    static_assert(std::is_same<number, float>::value || std::is_same<number, double>::value,
                  "kry has matrices of float and double");

  public:
    /* Take A. If the last A had its entries in the same places, only the numerical part of the set-up is done again
     * (kry_op_update), else all of it. */
    void initialize(const ::dealii::SparseMatrix<number> &A)
    {
        std::vector<int64_t> row_ptr(1, 0);
        std::vector<int32_t> col;
        std::vector<number> val;

        AssertThrow(A.m() == A.n() && A.m() <= INT32_MAX,
                    ::dealii::ExcMessage("kry: the matrix is not square, or has 2^31 rows"));
        col.reserve(A.n_nonzero_elements());
        val.reserve(A.n_nonzero_elements());
        for (auto i = 0 * A.m(); i < A.m(); i++) {
            for (auto entry = A.begin(i); entry != A.end(i); ++entry)
                col.push_back((int32_t)entry->column()), val.push_back(entry->value());
            row_ptr.push_back((int64_t)col.size());
        }
        Op op = std::move(op_);
        if (op && row_ptr == row_ptr_ && col == col_) {
            check(kry_op_update(A_.get(), val.data()));
            check(kry_op_update(op.get(), nullptr));
        } else {
            op.reset();
            row_ptr_ = std::move(row_ptr), col_ = std::move(col);
            createMatrix(val.data());
            op = create(A_.get(), words_.c_str());
        }
        op_ = std::move(op);
    }

  protected:
    template <class T, void (*release)(T **)> struct Release {
        void operator()(T *object) const { release(&object); }
    };
    typedef std::unique_ptr<kry_device, Release<kry_device, kry_device_release>> Device;
    typedef std::unique_ptr<kry_op, Release<kry_op, kry_op_release>> Op;
    typedef std::unique_ptr<kry_vec, Release<kry_vec, kry_vec_release>> Vec;

    Operator(const std::string &words, kry_device *device)
        : words_(words), device_(kry_device_retain(device))
    {
    }
    ~Operator() = default;

    static void check(kry_status st)
    {
        AssertThrow(st >= 0, ::dealii::ExcMessage(kry_last_error()));
    }

    virtual Op create(const kry_op *A, const char *words) const = 0;

    template <class Vector> void write(const Vector &from, kry_vec *to) const
    {
        checkVector(from);
        check(kry_vec_write(to, &*from.begin()));
    }
    template <class Vector> void read(const kry_vec *from, Vector &to) const
    {
        checkVector(to);
        check(kry_vec_read(from, &*to.begin()));
    }

    std::string words_;
    Device device_;
    /* The places of A's entries. */
    std::vector<int64_t> row_ptr_;
    std::vector<int32_t> col_;
    /* op_ is what create has made; there is none before initialize, and after one that failed. */
    Op A_, op_;
    Vec in_, out_;

  private:
    static const kry_type type = std::is_same<number, float>::value ? KRY_F32 : KRY_F64;

    void createMatrix(const number *val)
    {
        const int64_t n = (int64_t)row_ptr_.size() - 1;
        kry_device *device = nullptr;
        kry_op *A = nullptr;

        if (!device_) {
            check(kry_device_open(nullptr, &device));
            device_.reset(device);
        }
        check(kry_csr_create(device_.get(), type, n, n, row_ptr_.data(), col_.data(), val, nullptr,
                             &A));
        A_.reset(A);
        for (Vec *vec : { &in_, &out_ }) {
            kry_vec *made = nullptr;
            check(kry_vec_create(device_.get(), type, n, 1, &made));
            vec->reset(made);
        }
    }

    template <class Vector> void checkVector(const Vector &vec) const
    {
        static_assert(std::is_same<typename Vector::value_type, number>::value,
                      "vectors have the numbers of the matrix");
        AssertThrow(op_, ::dealii::ExcMessage("kry: initialize was not called, or failed"));
        AssertThrow(vec.size() + 1 == row_ptr_.size() &&
                        (size_t)std::distance(vec.begin(), vec.end()) == vec.size(),
                    ::dealii::ExcMessage("kry: a vector has not the size of the matrix"));
    }
};

/* A preconditioner for the solvers of deal.II. */
template <class number = double> class Preconditioner : public Operator<number>
{
    typedef Operator<number> Base;

  public:
    /*
     *   word    of kry_precond_create: "amg", "ilu0"
     *   device  retained; NULL: what kry_device_open(NULL) opens
     */
    explicit Preconditioner(const std::string &word = "auto", kry_device *device = nullptr)
        : Base(word, device)
    {
    }

    /* dst = M src */
    template <class Vector> void vmult(Vector &dst, const Vector &src) const
    {
        Base::write(src, Base::in_.get());
        Base::check(kry_op_apply(Base::op_.get(), 1, Base::in_.get(), 0, Base::out_.get()));
        Base::read(Base::out_.get(), dst);
    }

  private:
    typename Base::Op create(const kry_op *A, const char *word) const override
    {
        kry_op *made = nullptr;
        Base::check(kry_precond_create(A, word, &made));
        return typename Base::Op(made);
    }
};

/* Solves of A x = b that take place in kry. */
template <class number = double> class Solver : public Operator<number>
{
    typedef Operator<number> Base;

  public:
    /*
     *   words   of kry_solver_create
     *   device  retained; NULL: what kry_device_open(NULL) opens
     */
    explicit Solver(const std::string &words = "method=auto", kry_device *device = nullptr)
        : Base(words, device), result_()
    {
    }

    /*
     * Solve A x = b, beginning with x.
     *
     *   control  says when to stop: at ||b - A x|| <= tolerance(), or of a ReductionControl <= reduction() ||b - A x0||
     *            if that is larger, or after max_steps(). The residual is computed from x. control is told the
     *            first and the last one, and not those between
     *
     * Throws NoConvergence with the last iterate in x, unless control calls that a success, as IterationNumberControl does.
     */
    template <class Vector> void solve(::dealii::SolverControl &control, Vector &x, const Vector &b)
    {
        kry_op *solver = Base::op_.get();
        kry_vec *B = Base::in_.get(), *X = Base::out_.get();
        const auto *reduction = dynamic_cast<const ::dealii::ReductionControl *>(&control);
        kry_stop stop;
        double first;

        Base::write(b, B);
        Base::write(x, X);
        Base::check(kry_op_apply(Base::A_.get(), -1, X, 1, B));
        Base::check(kry_vec_norm2(B, &first));
        if (control.check(0, first) == ::dealii::SolverControl::success) return;
        Base::write(b, B);
        Base::check(kry_solver_get_stop(solver, &stop));
        stop.rtol = 0;
        stop.atol = std::max(control.tolerance(), reduction ? reduction->reduction() * first : 0);
        stop.max_iter = control.max_steps();
        Base::check(kry_solver_set_stop(solver, &stop));
        const kry_status st = kry_solve(solver, B, X, &result_);
        Base::check(st);
        const NoConvergence failure(result_); /* while kry's message is that of the solve */
        Base::read(X, x);
        const auto state =
            control.check((unsigned)result_.iterations, (double)result_.true_residual);
        AssertThrow(st == KRY_OK || state == ::dealii::SolverControl::success, failure);
    }

    /* All that kry found in the last solve. */
    const kry_result &result() const { return result_; }

  private:
    kry_result result_;

    typename Base::Op create(const kry_op *A, const char *words) const override
    {
        kry_op *made = nullptr;
        Base::check(kry_solver_create(A, words, nullptr, nullptr, &made));
        return typename Base::Op(made);
    }
};
} // namespace dealii
} // namespace kry
#endif
