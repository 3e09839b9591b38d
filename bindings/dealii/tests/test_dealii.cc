/* test_dealii.cc - kry::dealii::Solver and Preconditioner, beside deal.II's own. Prints TAP. */
#include <cstdio>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/solver_bicgstab.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <functional>
#include <kry/dealii.h>

using namespace dealii;

static int count, failed;

static void ok(bool good, const std::string &what, const std::string &why = "")
{
    failed += !good;
    std::printf("%s %d - %s%s%s\n", good ? "ok" : "not ok", ++count, what.c_str(),
                good || why.empty() ? "" : ": ", good ? "" : why.c_str());
}

/* Whether `call` throws an exception with this in its message. */
static void refused(const std::function<void()> &call, const std::string &part, const std::string &what)
{
    try {
        call();
        ok(false, what, "nothing was thrown");
    } catch (const std::exception &error) {
        ok(std::string(error.what()).find(part) != std::string::npos, what, error.what());
    }
}

/* Where the five-point matrix of m by m points has its entries. */
static void makePattern(unsigned m, SparsityPattern &pattern)
{
    DynamicSparsityPattern places(m * m);
    for (unsigned i = 0; i < m * m; i++) {
        places.add(i, i);
        if (i % m) places.add(i, i - 1), places.add(i - 1, i);
        if (i >= m) places.add(i, i - m), places.add(i - m, i);
    }
    pattern.copy_from(places);
}

/* Diffusion, and wind along the rows: without it A is symmetric and positive definite. */
template <class number>
static void fill(SparseMatrix<number> &A, unsigned m, number diagonal, number wind)
{
    for (unsigned i = 0; i < m * m; i++) {
        A.set(i, i, 4 + diagonal);
        if (i % m) A.set(i, i - 1, -1 - wind), A.set(i - 1, i, -1 + wind);
        if (i >= m) A.set(i, i - m, -1), A.set(i - m, i, -1);
    }
}

/* ||b - A x|| / ||b|| */
template <class number, class V>
static double residual(const SparseMatrix<number> &A, const V &x, const V &b)
{
    V r(b);
    A.vmult(r, x);
    r.sadd(-1, 1, b);
    return (double)r.l2_norm() / (double)b.l2_norm();
}

template <class number> static void testSolves(const std::string &name, double tolerance)
{
    const unsigned m = 60;
    SparsityPattern pattern;
    makePattern(m, pattern);
    SparseMatrix<number> A(pattern);
    Vector<number> x(m * m), b(m * m);
    for (unsigned i = 0; i < m * m; i++) b[i] = number(1 + i % 7);
    ReductionControl control(500, 0, tolerance, false, false);

    fill<number>(A, m, 0, 0);
    kry::dealii::Solver<number> solver("method=pcg precond=amg");
    solver.initialize(A);
    solver.solve(control, x, b);
    const unsigned steps = control.last_step();
    ok(residual(A, x, b) < 1.1 * tolerance && steps > 1 && steps < 20, name + ": method=pcg precond=amg");
    fill<number>(A, m, number(0.1), 0);
    x = 0;
    solver.initialize(A);
    solver.solve(control, x, b);
    ok(residual(A, x, b) < 1.1 * tolerance, name + ": new numbers");

    kry::dealii::Preconditioner<number> amg("amg");
    amg.initialize(A);
    x = 0;
    SolverCG<Vector<number>>(control).solve(A, x, b, amg);
    ok(residual(A, x, b) < 2 * tolerance && control.last_step() < 20, name + ": precond=amg in SolverCG");

    fill<number>(A, m, 0, number(0.6));
    kry::dealii::Preconditioner<number> ilu("ilu0");
    ilu.initialize(A);
    x = 0;
    SolverBicgstab<Vector<number>>(control).solve(A, x, b, ilu);
    ok(residual(A, x, b) < 2 * tolerance && control.last_step() < 60, name + ": precond=ilu0 in SolverBicgstab");
    kry::dealii::Solver<number> wind;
    wind.initialize(A);
    x = 0;
    wind.solve(control, x, b);
    ok(residual(A, x, b) < 1.1 * tolerance, name + ": no symmetric matrix, method=auto");
}

static void testControls()
{
    const unsigned m = 40;
    SparsityPattern pattern, other;
    makePattern(m, pattern);
    makePattern(m / 2, other);
    SparseMatrix<double> A(pattern), small(other);
    Vector<double> x(m * m), b(m * m), y(m * m);
    b = 1;
    fill<double>(A, m, 0, 0);
    fill<double>(small, m / 2, 0, 0);
    SparseDirectUMFPACK direct;
    direct.initialize(A);
    direct.vmult(y, b);
    kry::dealii::Solver<double> solver("method=cg");
    solver.initialize(A);

    SolverControl absolute(500, 1e-7, false, false);
    solver.solve(absolute, x, b);
    ok(absolute.last_value() <= 1e-7 && absolute.last_check() == SolverControl::success &&
           absolute.initial_value() == b.l2_norm(),
       "SolverControl");
    x -= y;
    ok(x.l2_norm() < 1e-6 * y.l2_norm(), "as SparseDirectUMFPACK");
    x = y;
    solver.solve(absolute, x, b);
    ok(absolute.last_step() == 0, "a guess that is right");

    SolverControl few(5, 1e-10, false, false);
    x = 0;
    refused([&] { solver.solve(few, x, b); }, "5 iterations were not enough", "max_steps");
    try {
        x = 0;
        solver.solve(few, x, b);
        ok(false, "NoConvergence");
    } catch (const SolverControl::NoConvergence &error) {
        ok(error.last_step == 5 && error.last_residual > 1e-10 && x.l2_norm() > 0, "NoConvergence, with an x");
    }
    IterationNumberControl five(5, 1e-10, false, false);
    x = 0;
    solver.solve(five, x, b);
    ok(five.last_step() == 5 && x.l2_norm() > 0, "IterationNumberControl");

    LinearAlgebra::distributed::Vector<double> dx(m * m), db(m * m);
    db = 1;
    solver.solve(absolute, dx, db);
    double apart = 0;
    for (unsigned i = 0; i < m * m; i++) apart = std::max(apart, std::abs(dx[i] - y[i]));
    ok(apart < 1e-6 * y.linfty_norm(), "LinearAlgebra::distributed::Vector");

    solver.initialize(small);
    Vector<double> sx(m * m / 4), sb(m * m / 4);
    sb = 1;
    solver.solve(absolute, sx, sb);
    ok(residual(small, sx, sb) < 1e-7, "another matrix");
    refused([&] { solver.solve(absolute, x, b); }, "size", "vectors of another size");
    refused([&] { kry::dealii::Solver<double>("method=pgc").initialize(A); }, "'pgc' is none of",
            "a word that there is not");
    refused([&] { kry::dealii::Preconditioner<double>("agm").initialize(A); }, "'agm' is none of",
            "a preconditioner that there is not");
    kry::dealii::Solver<double> none;
    refused([&] { none.solve(absolute, x, b); }, "initialize", "without initialize");
    A.set(3, 4, 7);
    solver.initialize(small);
    refused([&] { solver.initialize(A); }, "symmetric", "cg and no symmetric matrix");
    refused([&] { solver.solve(absolute, sx, sb); }, "initialize", "which leaves no solver");
}

int main()
{
    testSolves<double>("double", 1e-9);
    testSolves<float>("float", 1e-4);
    testControls();
    std::printf("1..%d\n", count);
    return failed != 0;
}
