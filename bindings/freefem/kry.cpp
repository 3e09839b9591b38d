/*
 * kry.cpp - kry as a solver of FreeFEM, in a plug-in that scripts load:
 *
 *     ff-c++ kry.cpp $(pkg-config --cflags --libs kry)
 *
 *     load "kry"
 *     matrix A = a(Vh, Vh, solver="kry", sparams="method=pcg precond=amg", eps=1e-10);
 *     u[] = A^-1 * b;
 *
 * sparams are words of kry_solver_create. FreeFEM's eps is rtol, or atol where it is negative, and its itmax is maxit, unless
 * the words say otherwise.
 *
 * FreeFEM writes a Dirichlet condition as a row with 1e30 on the diagonal, or with 1 and nothing else: x_i = b_i / a_ii, up to
 * rounding. Such rows are eliminated, A_II x_I = b_I - A_ID x_D, for 1e30 in b would hide the residual of all other
 * rows. A has a number of the size of the others in their place, so that its rows, and blocks of them, keep their numbers.
 */
#include "ff++.hpp"

#include <kry/kry.h>

#include <cfloat>
#include <list>
#include <memory>

namespace
{
template <class T, void (*release)(T **)> struct Release {
    void operator()(T *object) const { release(&object); }
};
typedef std::unique_ptr<kry_device, Release<kry_device, kry_device_release>> Device;
typedef std::unique_ptr<kry_op, Release<kry_op, kry_op_release>> Op;
typedef std::unique_ptr<kry_vec, Release<kry_vec, kry_vec_release>> Vec;

/* Turn a call that failed into FreeFEM's error, with kry's message. */
void check(kry_status st)
{
    if (st < 0) ExecError(kry_last_error());
}

/* A solver, and what it was made of but for the numbers. */
struct SetUp {
    std::string words;
    kry_matrix_params params;
    int n;
    std::vector<int32_t> row, col;
    Op A, solver;

    bool fits(const SetUp &other) const
    {
        return words == other.words && params.traits == other.params.traits &&
               params.storage == other.params.storage && n == other.n && row == other.row &&
               col == other.col;
    }
};

/* What kry_device_open(NULL) opens: the device of all matrices. */
Device device;

/* Set-ups whose matrices are gone, the latest first. A script that assembles its matrices in each time step goes on with
 * them. */
std::list<std::unique_ptr<SetUp>> kept;
const size_t most_kept = 4;

void releaseAll()
{
    kept.clear();
    device.reset();
}

class Kry : public VirtualSolver<int, double>
{
  public:
    /* What matrices may be. 1: not symmetric; 2, 4: Hermitian, symmetric, of which half is stored; 8, 16: positive definite, or
     * not; 32: of one process. */
    static const int orTypeSol = 1 | 2 | 4 | 8 | 16 | 32;
    typedef HashMatrix<int, double> Matrix;

    Kry(Matrix &matrix, const Data_Sparse_Solver &ds, Stack)
        : A(matrix), positive(ds.positive), guessed(!ds.x0), iterations(ds.getnbiter)
    {
        std::ostringstream text;
        text.precision(17);
        text << "method=auto " << (ds.epsilon < 0 ? "atol=" : "rtol=") << std::abs(ds.epsilon);
        if (ds.itmax > 0) text << " maxit=" << ds.itmax;
        words = text.str() + " " + ds.sparams; /* the last of two words counts */
    }

    ~Kry()
    {
        if (!setUp) return;
        kept.push_front(std::move(setUp));
        if (kept.size() > most_kept) kept.pop_back();
    }

    /* Called before each solve: state 0 has fac_numeric called. */
    void UpdateState()
    {
        const bool numbers = A.GetReDoNumerics(), places = A.GetReDoSymbolic();
        if (numbers || places) state = 0;
    }

    void fac_numeric()
    {
        std::unique_ptr<SetUp> wanted(new SetUp());
        std::vector<double> val;

        if (A.n != A.m) ExecError("kry: the matrix is not square");
        wanted->words = words;
        wanted->n = A.n;
        wanted->params.struct_size = sizeof wanted->params;
        wanted->params.storage = A.half ? KRY_SYMMETRIC_HALF : KRY_GENERAL;
        if (A.half || positive) wanted->params.traits |= KRY_SYMMETRIC;
        if (positive) wanted->params.traits |= KRY_POSITIVE;
        eliminate(*wanted, val);

        if (setUp && setUp->fits(*wanted)) wanted = std::move(setUp);
        setUp.reset();
        for (auto old = kept.begin(); !wanted->solver && old != kept.end(); ++old)
            if ((*old)->fits(*wanted)) {
                wanted = std::move(*old);
                kept.erase(old);
                break;
            }
        if (wanted->solver)
            update(*wanted, val);
        else
            create(*wanted, val);
        setUp = std::move(wanted);
    }

    void dosolver(double *x, double *b, int columns, int transposed)
    {
        const size_t n = A.n, all = n * columns;
        std::vector<double> rhs(b, b + all), unknowns(all);
        kry_vec *vec = nullptr;
        kry_result result;

        if (transposed && !A.half) ExecError("kry: there are no solves with the transpose");
        if (guessed) unknowns.assign(x, x + all);
        for (size_t first = 0; first < all; first += n)
            eliminate(&rhs[first], &unknowns[first], x + first);
        check(kry_vec_create(device.get(), KRY_F64, n, columns, &vec));
        const Vec B(vec);
        check(kry_vec_create(device.get(), KRY_F64, n, columns, &vec));
        const Vec X(vec);
        check(kry_vec_write(B.get(), rhs.data()));
        check(kry_vec_write(X.get(), unknowns.data()));
        const kry_status st = kry_solve(setUp->solver.get(), B.get(), X.get(), &result);
        if (iterations) *iterations = (long)result.iterations;
        check(st);
        const std::string why = st == KRY_OK ? "" : kry_last_error();
        check(kry_vec_read(X.get(), unknowns.data()));
        for (size_t i = 0; i < all; i++)
            if (fixing[i % n] == 0) x[i] = unknowns[i];
        if (st != KRY_OK) ExecError(why);
    }

  private:
    Matrix &A;
    std::string words;
    bool positive, guessed;
    /* Where the script wants the iterations of the last solve; may be NULL. */
    long *iterations;
    /* a_ii of a row that fixes x_i, 0 of other rows. */
    std::vector<double> fixing;
    std::unique_ptr<SetUp> setUp;

    /* Find the rows that fix their unknown, and put the other rows into `to` and val. */
    void eliminate(SetUp &to, std::vector<double> &val)
    {
        std::vector<double> others(A.n);
        double sum = 0;
        size_t rows = 0;

        A.CSR(); /* the same order of entries for each matrix with the same places */
        fixing.assign(A.n, 0);
        for (size_t k = 0; k < A.nnz; k++) {
            const int i = A.i[k], j = A.j[k];
            if (i == j) fixing[i] = A.aij[k];
            if (i != j) others[i] += std::abs(A.aij[k]);
            if (i != j && A.half) others[j] += std::abs(A.aij[k]);
        }
        for (int i = 0; i < A.n; i++)
            if (!(others[i] <= DBL_EPSILON / 2 * std::abs(fixing[i])))
                sum += fixing[i], rows++, fixing[i] = 0;

        for (size_t k = 0; k < A.nnz; k++) {
            const int i = A.i[k], j = A.j[k];
            const bool kept_entry = fixing[i] == 0 && fixing[j] == 0;
            if (i != j && !kept_entry) continue;
            to.row.push_back(i);
            to.col.push_back(j);
            val.push_back(kept_entry ? A.aij[k] : sum != 0 ? sum / rows : 1);
        }
    }

    /* Put into x the unknowns that rows fix, and for all others what these contribute into rhs, of one column. */
    void eliminate(double *rhs, double *guess, double *x) const
    {
        for (int i = 0; i < A.n; i++)
            if (fixing[i] != 0) x[i] = rhs[i] / fixing[i], rhs[i] = guess[i] = 0;
        for (size_t k = 0; k < A.nnz; k++) {
            const int i = A.i[k], j = A.j[k];
            if (fixing[i] == 0 && fixing[j] != 0) rhs[i] -= A.aij[k] * x[j];
            if (A.half && fixing[i] != 0 && fixing[j] == 0) rhs[j] -= A.aij[k] * x[i];
        }
    }

    static void create(SetUp &made, const std::vector<double> &val)
    {
        kry_device *opened = nullptr;
        kry_op *op = nullptr;

        if (!device) {
            check(kry_device_open(nullptr, &opened));
            device.reset(opened);
        }
        check(kry_coo_create(device.get(), KRY_F64, made.n, made.n, val.size(), made.row.data(),
                             made.col.data(), val.data(), &made.params, &op));
        made.A.reset(op);
        check(kry_solver_create(op, made.words.c_str(), nullptr, nullptr, &op));
        made.solver.reset(op);
    }

    static void update(SetUp &made, const std::vector<double> &val)
    {
        check(kry_op_update(made.A.get(), val.data()));
        check(kry_op_update(made.solver.get(), nullptr));
    }
};

class KryComplex : public VirtualSolver<int, Complex>
{
  public:
    static const int orTypeSol = Kry::orTypeSol;

    KryComplex(HashMatrix<int, Complex> &, const Data_Sparse_Solver &, Stack)
    {
        ExecError("kry: the matrix is complex, and kry has real numbers alone");
    }
    void dosolver(Complex *, Complex *, int, int) {}
};

/* Called by load "kry". The 1 has FreeFEM prefer any other solver where a script names none. */
void loadKry()
{
    addsolver<Kry>("KRY", 1);
    addsolver<KryComplex>("KRY", 1);
    ff_atend(releaseAll);
}
} // namespace

LOADFUNC(loadKry)
