/*
 * eigen.cc - the time that a solver of Eigen takes, or kry in its place. README.md says which problem, and how to run it.
 *
 *     ./eigen POINTS ldlt|ic|diagonal|"WORDS OF KRY"
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <Eigen/Sparse>
#include <kry/eigen.h>

typedef Eigen::SparseMatrix<double> ByColumns;
typedef Eigen::SparseMatrix<double, Eigen::RowMajor> ByRows; /* whose products run on all cores */

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* -Δ on n^3 points. */
static ByRows laplace(int n)
{
    ByRows A(n * n * n, n * n * n);
    A.reserve(Eigen::VectorXi::Constant(A.rows(), 7));
    for (int i = 0; i < A.rows(); i++) {
        const int at[3] = { i % n, i / n % n, i / n / n }, steps[3] = { 1, n, n * n };
        for (int axis = 2; axis >= 0; axis--)
            if (at[axis] > 0) A.insert(i, i - steps[axis]) = -1;
        A.insert(i, i) = 6;
        for (int axis = 0; axis < 3; axis++)
            if (at[axis] < n - 1) A.insert(i, i + steps[axis]) = -1;
    }
    A.makeCompressed();
    return A;
}

template <class Solver> static int iterationsOf(const Solver &solver) { return (int)solver.iterations(); }
template <class Matrix> static int iterationsOf(const Eigen::SimplicialLDLT<Matrix> &) { return 0; }

template <class Solver> static const char *saidBy(const Solver &) { return "no success"; }
template <class Matrix> static const char *saidBy(const kry::Solver<Matrix> &solver) { return solver.lastError().c_str(); }

template <class Matrix, class Solver> static int measure(int n, const char *name, const ByRows &rows, Solver &solver)
{
    Matrix A = rows;
    Eigen::VectorXd b(A.rows()), x;
    double seconds[2][2], residual = 0;
    int iterations = 0;

    for (int i = 0; i < b.size(); i++) b[i] = ((unsigned)i * 2654435761u >> 8) / 8388608.0 - 1;
    for (int k = 0; k < 2; k++) {
        const double begin = now();
        if (k == 0) solver.analyzePattern(A);
        solver.factorize(A);
        const double made = now();
        x = solver.solve(b);
        seconds[k][0] = made - begin;
        seconds[k][1] = now() - made;
        if (solver.info() != Eigen::Success) return std::fprintf(stderr, "%s: %s\n", name, saidBy(solver)), 1;
        if (k == 0) {
            iterations = iterationsOf(solver);
            residual = (b - A * x).norm() / b.norm();
        }
        A *= 2;
    }
    std::printf("%d %s: set-up %.4f s, solve %.4f s, %d iterations, residual %.1e; again %.4f s\n", n, name,
                seconds[0][0], seconds[0][1], iterations, residual, seconds[1][0] + seconds[1][1]);
    return 0;
}

template <class Solver> static int iterate(int n, const char *name, const ByRows &A, Solver &solver)
{
    solver.setTolerance(1e-8);
    solver.setMaxIterations(10000);
    return measure<ByRows>(n, name, A, solver);
}

int main(int argc, char **argv)
{
    if (argc != 3) return std::fprintf(stderr, "eigen POINTS ldlt|ic|diagonal|\"WORDS OF KRY\"\n"), 2;
    const int n = std::atoi(argv[1]);
    const char *name = argv[2];
    const ByRows A = laplace(n);

    if (!std::strcmp(name, "ldlt")) {
        Eigen::SimplicialLDLT<ByColumns> solver;
        return measure<ByColumns>(n, name, A, solver);
    }
    if (!std::strcmp(name, "ic")) {
        Eigen::ConjugateGradient<ByRows, Eigen::Lower | Eigen::Upper, Eigen::IncompleteCholesky<double>> solver;
        return iterate(n, name, A, solver);
    }
    if (!std::strcmp(name, "diagonal")) {
        Eigen::ConjugateGradient<ByRows, Eigen::Lower | Eigen::Upper> solver;
        return iterate(n, name, A, solver);
    }
    kry::Solver<ByRows> solver(name);
    return iterate(n, name, A, solver);
}
