/*
 * example.cc - a program with Eigen's conjugate gradients, and with kry in their place.
 *
 *     c++ example.cc $(pkg-config --cflags --libs kry eigen3) -o example && ./example
 *
 * One implicit step of diffusion, (I + t L) x = b, on a plate of 200 by 200 points.
 */
#include <cstdio>
#include <Eigen/Sparse>
#include <kry/eigen.h>

typedef Eigen::SparseMatrix<double> Matrix;

static Matrix makePlate(int side, double t)
{
    std::vector<Eigen::Triplet<double>> entries;
    const int n = side * side;
    for (int i = 0; i < n; i++) {
        entries.emplace_back(i, i, 1);
        for (int j : { i % side ? i - 1 : i, (i + 1) % side ? i + 1 : i, i - side, i + side })
            if (j >= 0 && j < n && j != i) {
                entries.emplace_back(i, j, -t);
                entries.emplace_back(i, i, t);
            }
    }
    Matrix A(n, n);
    A.setFromTriplets(entries.begin(), entries.end());
    return A;
}

/* Any of Eigen's iterative solvers. */
template <class Solver> static Eigen::VectorXd step(Solver &solver, const Matrix &A, const Eigen::VectorXd &b, const char *name)
{
    solver.setTolerance(1e-10);
    solver.compute(A);
    Eigen::VectorXd x = solver.solve(b);
    std::printf("%s: %d iterations\n", name, (int)solver.iterations());
    return x;
}

int main()
{
    const Matrix A = makePlate(200, 1000);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(A.rows());
    b[100 * 200 + 100] = 1;

    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper> eigen;
    kry::Solver<Matrix> kry("method=pcg precond=amg");
    const Eigen::VectorXd x = step(eigen, A, b, "Eigen"), y = step(kry, A, b, "kry");
    if (kry.info() != Eigen::Success) return std::printf("%s\n", kry.lastError().c_str()), 1;
    const double apart = (x - y).norm() / x.norm();
    std::printf("the answers agree: %s\n", apart < 1e-7 ? "yes" : "no");
    return apart < 1e-7 ? 0 : 1;
}
