/*
 * cpus.cc - the processor seconds that solvers of Eigen, CHOLMOD and kry take for one SPD matrix. README.md says how to run it.
 *
 *     ./cpus FILE.mtx ldlt|ic|diagonal|cholmod|"WORDS OF KRY" ...
 */
#include <cstdio>
#include <cstring>
#include <Eigen/CholmodSupport>
#include <Eigen/Sparse>
#include <kry/eigen.h>
#include <sys/resource.h>
#include <unsupported/Eigen/SparseExtra>

typedef Eigen::SparseMatrix<double> ByColumns;
typedef Eigen::SparseMatrix<double, Eigen::RowMajor> ByRows;

/* Processor seconds of all threads of this process: wall-clock time also counts waiting for other programs. */
static double now()
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Sets up and solves once unmeasured, which compiles kernels, then until half a second is spent; prints the means. */
template <class Matrix, class Solver>
static void measure(const char *file, const char *name, const Matrix &A, Solver &solver)
{
    Eigen::VectorXd b(A.rows()), x;
    double setup = 0, solve = 0;
    int times = 0;

    for (int i = 0; i < b.size(); i++) b[i] = ((unsigned)i * 2654435761u >> 8) / 8388608.0 - 1;
    for (int k = 0; k < 2 || (k <= 2000 && setup + solve < 0.5); k++) {
        const double begin = now();
        solver.compute(A);
        const double made = now();
        x = solver.solve(b);
        if (solver.info() != Eigen::Success) break;
        if (k == 0) continue;
        setup += made - begin;
        solve += now() - made;
        times++;
    }
    if (!times) return (void)std::printf("%s\t%s\t%d\tfailed\n", file, name, (int)A.rows());
    std::printf("%s\t%s\t%d\t%.6f\t%.6f\t%.1e\n", file, name, (int)A.rows(), setup / times,
                solve / times, (b - A * x).norm() / b.norm());
    std::fflush(stdout);
}

template <class Solver>
static void iterate(const char *file, const char *name, const ByRows &A, Solver &solver)
{
    solver.setTolerance(1e-8);
    solver.setMaxIterations(20000);
    measure(file, name, A, solver);
}

static void run(const char *file, const char *name, const ByColumns &A)
{
    const ByRows rows = A;

    if (!std::strcmp(name, "ldlt")) {
        Eigen::SimplicialLDLT<ByColumns> solver;
        measure(file, name, A, solver);
    } else if (!std::strcmp(name, "cholmod")) {
        Eigen::CholmodDecomposition<ByColumns> solver;
        measure(file, name, A, solver);
    } else if (!std::strcmp(name, "ic")) {
        Eigen::ConjugateGradient<ByRows, Eigen::Lower | Eigen::Upper,
                                 Eigen::IncompleteCholesky<double>>
            solver;
        iterate(file, name, rows, solver);
    } else if (!std::strcmp(name, "diagonal")) {
        Eigen::ConjugateGradient<ByRows, Eigen::Lower | Eigen::Upper> solver;
        iterate(file, name, rows, solver);
    } else {
        kry::Solver<ByRows> solver(name);
        iterate(file, name, rows, solver);
    }
}

int main(int argc, char **argv)
{
    ByColumns half, A;

    if (argc < 3)
        return std::fprintf(stderr,
                            "cpus FILE.mtx ldlt|ic|diagonal|cholmod|\"WORDS OF KRY\" ...\n"),
               2;
    if (!Eigen::loadMarket(half, argv[1]))
        return std::fprintf(stderr, "%s: cannot be read\n", argv[1]), 1;
    A = half.selfadjointView<Eigen::Lower>();
    for (int i = 2; i < argc; i++) run(argv[1], argv[i], A);
    return 0;
}
