/*
 * dealii.cc - the time that a solver of deal.II takes, or kry in its place. README.md says which problem, and how to run it.
 *
 *     ./dealii POINTS umfpack|ssor|ml|"WORDS OF KRY"
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deal.II/base/mpi.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/vector.h>
#include <kry/dealii.h>

using namespace dealii;
typedef SparseMatrix<double> Matrix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* -Δ on n^3 points. */
static void laplace(unsigned n, SparsityPattern &pattern, Matrix &A)
{
    DynamicSparsityPattern places(n * n * n);
    const unsigned steps[3] = { 1, n, n * n };

    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < n * n * n; i++) {
            if (pass == 0) places.add(i, i);
            else A.set(i, i, 6);
            for (unsigned step : steps) {
                if (i / step % n == n - 1) continue;
                if (pass == 0) places.add(i, i + step), places.add(i + step, i);
                else A.set(i, i + step, -1), A.set(i + step, i, -1);
            }
        }
        if (pass == 0) pattern.copy_from(places), A.reinit(pattern);
    }
}

/* Conjugate gradients of deal.II with a preconditioner of its own. */
struct Ssor {
    PreconditionSSOR<Matrix> M;
    void set_up(const Matrix &A) { M.initialize(A, 1.2); }
    void solve(SolverControl &control, const Matrix &A, Vector<double> &x, const Vector<double> &b)
    {
        SolverCG<>(control).solve(A, x, b, M);
    }
};

/* Multigrid of Trilinos (ML), as deal.II's tutorials take it. */
struct Ml {
    TrilinosWrappers::PreconditionAMG M;
    void set_up(const Matrix &A) { M.initialize(A, TrilinosWrappers::PreconditionAMG::AdditionalData(true)); }
    void solve(SolverControl &control, const Matrix &A, Vector<double> &x, const Vector<double> &b)
    {
        SolverCG<>(control).solve(A, x, b, M);
    }
};

struct Umfpack {
    SparseDirectUMFPACK factors;
    void set_up(const Matrix &A) { factors.initialize(A); }
    void solve(SolverControl &control, const Matrix &, Vector<double> &x, const Vector<double> &b)
    {
        factors.vmult(x, b);
        control.check(0, 0);
    }
};

struct Kry {
    kry::dealii::Solver<double> solver;
    explicit Kry(const char *words) : solver(words) {}
    void set_up(const Matrix &A) { solver.initialize(A); }
    void solve(SolverControl &control, const Matrix &, Vector<double> &x, const Vector<double> &b) { solver.solve(control, x, b); }
};

template <class Solver> static int measure(unsigned n, const char *name, Solver &solver)
{
    SparsityPattern pattern;
    Matrix A;
    laplace(n, pattern, A);
    Vector<double> b(A.m()), x(A.m()), r(A.m());
    double seconds[2][2], residual = 0;
    unsigned iterations = 0;

    for (unsigned i = 0; i < b.size(); i++) b[i] = (i * 2654435761u >> 8) / 8388608.0 - 1;
    for (int k = 0; k < 2; k++) {
        SolverControl control(10000, 1e-8 * b.l2_norm());
        x = 0;
        const double begin = now();
        solver.set_up(A);
        const double made = now();
        solver.solve(control, A, x, b);
        seconds[k][0] = made - begin, seconds[k][1] = now() - made;
        if (k == 0) iterations = control.last_step(), residual = A.residual(r, x, b) / b.l2_norm();
        A *= 2;
    }
    std::printf("%u %s: set-up %.4f s, solve %.4f s, %u iterations, residual %.1e; again %.4f s\n", n, name, seconds[0][0],
                seconds[0][1], iterations, residual, seconds[1][0] + seconds[1][1]);
    return 0;
}

int main(int argc, char **argv)
{
    Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
    if (argc != 3) return std::fprintf(stderr, "dealii POINTS umfpack|ssor|ml|\"WORDS OF KRY\"\n"), 2;
    const unsigned n = (unsigned)std::atoi(argv[1]);
    const char *name = argv[2];

    try {
        if (!std::strcmp(name, "umfpack")) { Umfpack solver; return measure(n, name, solver); }
        if (!std::strcmp(name, "ssor")) { Ssor solver; return measure(n, name, solver); }
        if (!std::strcmp(name, "ml")) { Ml solver; return measure(n, name, solver); }
        Kry solver(name);
        return measure(n, name, solver);
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "%s: %s\n", name, e.what()), 1;
    }
}
