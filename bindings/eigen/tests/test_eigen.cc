/* test_eigen.cc - kry::Solver in the place of Eigen's solvers, and beside them. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <Eigen/Geometry>
#include <Eigen/Sparse>
#include <kry/eigen.h>
#include <random>
#include <string>
#include <vector>

typedef Eigen::Triplet<double> Entry;
typedef Eigen::SparseMatrix<double> ByColumns;
typedef Eigen::SparseMatrix<double, Eigen::RowMajor> ByRows;
typedef Eigen::SparseMatrix<double, Eigen::RowMajor, long> ByLong;
typedef Eigen::SparseMatrix<float> Single;

static int count, failed;

static void ok(bool good, const std::string &what, const std::string &why = "")
{
    failed += !good;
    std::printf("%s %d - %s%s%s\n", good ? "ok" : "not ok", ++count, what.c_str(),
                good || why.empty() ? "" : ": ", good ? "" : why.c_str());
}

/* The cotangent Laplacian of a bumpy sheet of m by m vertices in no order, and the areas that belong to its vertices. */
static void makeMesh(int m, ByColumns &L, ByColumns &mass)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<double> shift(-0.3, 0.3);
    std::vector<Eigen::Vector3d> at;
    std::vector<Entry> stiff, areas;
    std::vector<int> name(m * m);

    for (int i = 0; i < m * m; i++) name[i] = i;
    std::shuffle(name.begin(), name.end(), random);
    for (int i = 0; i < m * m; i++) {
        const double x = i % m + shift(random), y = i / m + shift(random);
        at.push_back(Eigen::Vector3d(x, y, 2 * std::sin(x / 3) * std::cos(y / 4)));
    }
    for (int j = 0; j + 1 < m; j++)
        for (int i = 0; i + 1 < m; i++) {
            const int a = j * m + i, corner[2][3] = { { a, a + 1, a + m }, { a + 1, a + m + 1, a + m } };
            for (const int(&v)[3] : corner)
                for (int k = 0; k < 3; k++) {
                    const Eigen::Vector3d p = at[v[(k + 1) % 3]] - at[v[k]], q = at[v[(k + 2) % 3]] - at[v[k]];
                    const double twice = p.cross(q).norm(), w = p.dot(q) / twice / 2;
                    const int r = name[v[(k + 1) % 3]], s = name[v[(k + 2) % 3]];
                    stiff.push_back(Entry(r, s, -w)), stiff.push_back(Entry(s, r, -w));
                    stiff.push_back(Entry(r, r, w)), stiff.push_back(Entry(s, s, w));
                    areas.push_back(Entry(name[v[k]], name[v[k]], twice / 6));
                }
        }
    L.resize(m * m, m * m), mass.resize(m * m, m * m);
    L.setFromTriplets(stiff.begin(), stiff.end());
    mass.setFromTriplets(areas.begin(), areas.end());
}

/* Convection and diffusion on a grid of m by m points: no symmetric matrix. */
template <class Matrix> static Matrix makeWind(int m)
{
    typedef typename Matrix::Scalar Scalar;
    std::vector<Eigen::Triplet<Scalar, long>> entries;
    Matrix A(m * m, m * m);
    for (long i = 0; i < m * m; i++) {
        entries.push_back(Eigen::Triplet<Scalar, long>(i, i, 4));
        if (i % m) entries.push_back(Eigen::Triplet<Scalar, long>(i, i - 1, Scalar(-1.7)));
        if (i % m < m - 1) entries.push_back(Eigen::Triplet<Scalar, long>(i, i + 1, Scalar(-0.3)));
        if (i >= m) entries.push_back(Eigen::Triplet<Scalar, long>(i, i - m, -1));
        if (i < m * m - m) entries.push_back(Eigen::Triplet<Scalar, long>(i, i + m, -1));
    }
    A.setFromTriplets(entries.begin(), entries.end());
    return A;
}

template <class A, class B> static double apart(const A &x, const B &y) { return (x - y).norm() / y.norm(); }

/* Solve with A, given as Matrix, and compare with `right`. */
template <class Solver, class Matrix, class X>
static void solves(Solver &&solver, const Matrix &A, const X &b, const X &right, double bound, const std::string &what)
{
    solver.compute(A);
    const X x = solver.solve(b);
    ok(solver.info() == Eigen::Success && solver.lastError().empty() && solver.error() <= solver.tolerance() &&
           apart(x, right) < bound,
       what, solver.lastError() + " " + std::to_string(apart(x, right)));
}

int main()
{
    const int m = 40, n = m * m;
    ByColumns L, mass;
    makeMesh(m, L, mass);
    const ByColumns A = mass + 10 * L, A2 = mass + 3 * L;
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, -1, 2);
    Eigen::SimplicialLDLT<ByColumns> direct(A);
    const Eigen::VectorXd right = direct.solve(b);
    const double close = 1e-7; /* 1e-8 times what A may enlarge; the mesh is small */

    /* storage orders, indices, types, parts */
    solves(kry::Solver<ByColumns>(), A, b, right, close, "a matrix by columns, as by SimplicialLDLT");
    solves(kry::Solver<ByRows>(), ByRows(A), b, right, close, "by rows");
    solves(kry::Solver<ByLong>(), ByLong(A), b, right, close, "with 64-bit indices");
    solves(kry::Solver<ByColumns>("method=pcg precond=amg rtol=1e-10"), A, b, right, 1e-9, "by words");
    solves(kry::Solver<ByColumns, Eigen::Lower>("method=pcg"), ByColumns(A.triangularView<Eigen::Lower>()), b, right,
           close, "the lower triangle, by columns");
    solves(kry::Solver<ByRows, Eigen::Upper>("method=pcg"), ByRows(A), b, right, close, "the upper triangle of all of it, by rows");
    solves(kry::Solver<Single>("method=pcg"), Single(A.cast<float>()), Eigen::VectorXf(b.cast<float>()),
           Eigen::VectorXf(right.cast<float>()), 1e-3, "float");
    {
        const ByColumns W = makeWind<ByColumns>(m);
        Eigen::SparseLU<ByColumns> lu(W);
        const Eigen::VectorXd x = lu.solve(b);
        solves(kry::Solver<ByColumns>(), W, b, x, close, "no symmetric matrix, by columns");
        solves(kry::Solver<ByRows>("method=bicgstab"), makeWind<ByRows>(m), b, x, close, "and by rows");
        solves(kry::Solver<ByLong>("method=direct"), makeWind<ByLong>(m), b, x, close, "and with factors");
    }
    {
        ByColumns loose = A;
        loose.reserve(Eigen::VectorXi::Constant(n, 12)); /* room for more entries */
        solves(kry::Solver<ByColumns>(), loose, b, right, close, "a matrix that is not compressed");
    }
    kry::Solver<ByColumns> solver("method=pcg precond=amg");
    solver.compute(mass + 10 * L);
    const Eigen::VectorXd sum = solver.solve(b);
    ok(apart(sum, right) < close, "an expression for a matrix");

    /* right-hand sides */
    Eigen::MatrixXd B(n, 3);
    B << b, Eigen::VectorXd::Ones(n), Eigen::VectorXd::Zero(n);
    const Eigen::MatrixXd X = solver.solve(B);
    ok(solver.info() == Eigen::Success && solver.result().columns == 3 && apart(X, direct.solve(B)) < close,
       "several right-hand sides");
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> byRows = B;
    Eigen::MatrixXd twice = 2 * X;
    twice = solver.solve(2 * byRows.leftCols(2));
    ok(apart(twice, 2 * X.leftCols(2)) < close, "an expression of a block by rows");
    Eigen::VectorXd same = b;
    same = solver.solve(same);
    ok(apart(same, right) < close, "x = solve(x)");
    Eigen::MatrixXd into = Eigen::MatrixXd::Zero(n, 2);
    into.col(1) = solver.solve(b);
    ok(apart(into.col(1), right) < close && into.col(0).isZero(), "into a column");
    Eigen::SparseMatrix<double> sparse(n, 2);
    sparse.insert(5, 0) = 1, sparse.insert(6, 1) = 1;
    const Eigen::SparseMatrix<double> few = solver.solve(sparse);
    ok(apart(Eigen::MatrixXd(few), direct.solve(Eigen::MatrixXd(sparse))) < close, "a sparse right-hand side");

    /* guesses */
    const Eigen::VectorXd again = solver.solveWithGuess(b, right);
    ok(solver.info() == Eigen::Success && solver.iterations() == 0 && apart(again, right) < 1e-12, "a guess that is right");
    const Eigen::MatrixXd both = solver.solveWithGuess(B.leftCols(2), X.leftCols(2));
    ok(solver.iterations() == 0 && both.cols() == 2, "two guesses");

    /* tolerance and limit */
    ok(solver.tolerance() == 1e-8 && solver.maxIterations() == 0 && kry::Solver<Single>().tolerance() == 0, "the defaults");
    solver.setTolerance(1e-12).setMaxIterations(100);
    const Eigen::VectorXd fine = solver.solve(b);
    ok(solver.info() == Eigen::Success && solver.error() <= 1e-12 && apart(fine, right) < 1e-10, "setTolerance",
       solver.lastError());
    const Eigen::Index needed = solver.iterations();
    solver.setMaxIterations(2);
    const Eigen::VectorXd rough = solver.solve(b);
    ok(needed > 2 && solver.info() == Eigen::NoConvergence && solver.iterations() == 2 && !solver.lastError().empty() &&
           solver.error() > 1e-12 && apart(rough, right) < 1,
       "setMaxIterations: NoConvergence, and the last iterate");
    solver.setMaxIterations(0);
    const Eigen::VectorXd enough = solver.solve(b);
    ok(solver.info() == Eigen::Success && solver.lastError().empty(), "and on");
    kry::Solver<ByColumns> words("method=cg rtol=1e-3 maxit=500");
    words.setTolerance(1e-6).compute(A);
    ok(words.tolerance() == 1e-6 && words.maxIterations() == 500, "what is not set is as the words say");
    const Eigen::VectorXd set = words.solve(b);
    ok(words.info() == Eigen::Success && words.error() <= 1e-6, "setTolerance before compute");

    words.compute(A2);
    const Eigen::VectorXd newer = words.solve(b);
    ok(words.info() == Eigen::Success && words.error() <= 1e-6 && apart(A2 * newer, b) <= 1e-6, "and it outlives compute");
    for (const char *method : { "auto", "direct", "pipe-cg", "cr", "minres", "bicgstab", "gmres", "idr", "tfqmr", "block-cg", "cg precision=mixed",
                                "richardson precond=amg" }) {
        kry::Solver<ByColumns> any(std::string("method=") + method);
        any.setTolerance(1e-6).setMaxIterations(2000).compute(A);
        const Eigen::VectorXd x = any.solve(b);
        ok(any.info() == Eigen::Success && any.error() <= 1e-6, std::string("setTolerance of method=") + method, any.lastError());
    }

    /* new values */
    kry::Solver<ByColumns> steps("method=pcg precond=amg");
    steps.analyzePattern(A);
    steps.factorize(A);
    const Eigen::VectorXd first = steps.solve(b);
    const double firstSetup = steps.result().setup_seconds;
    steps.factorize(A2);
    const Eigen::VectorXd second = steps.solve(b);
    ok(apart(first, right) < close && apart(A2 * second, b) < 1e-7 && firstSetup > 0, "factorize again: other numbers");
    steps.factorize(mass);
    ok(steps.info() == Eigen::InvalidInput && steps.lastError().find("analyzePattern") != std::string::npos,
       "factorize refuses other places");
    Eigen::VectorXd kept = steps.solve(b);
    ok(steps.info() == Eigen::InvalidInput && kept.isZero(), "and there is nothing to solve with then");
    steps.factorize(A);
    kept = steps.solve(b);
    ok(steps.info() == Eigen::Success && apart(kept, right) < close, "until it is given the matrix again");
    ByColumns bad = A;
    bad.coeffRef(3, 3) = NAN;
    steps.factorize(bad);
    ok(steps.info() == Eigen::InvalidInput && steps.lastError().find("finite") != std::string::npos, "a number that is not finite",
       steps.lastError());
    kry::Solver<ByColumns> none;
    none.analyzePattern(A);
    kept = none.solve(b);
    ok(none.info() == Eigen::InvalidInput && none.lastError().find("factorize") != std::string::npos, "solve before factorize");

    /* what is refused, and what fails */
    kry::Solver<ByColumns> misspelt("method=pgc");
    misspelt.compute(A);
    ok(misspelt.info() == Eigen::InvalidInput && misspelt.lastError().find("pgc") != std::string::npos, "a word that there is not",
       misspelt.lastError());
    kry::Solver<ByColumns> wrong("method=cg");
    wrong.compute(makeWind<ByColumns>(m));
    ok(wrong.info() == Eigen::InvalidInput && !wrong.lastError().empty(), "cg and no symmetric matrix", wrong.lastError());
    const Eigen::Matrix3d rank2 = (Eigen::Matrix3d() << 1, 2, 3, 2, 4, 6, 0, 1, 1).finished();
    kry::Solver<ByColumns> singular("method=direct");
    singular.compute(rank2.sparseView());
    ok(singular.info() == Eigen::NumericalIssue && !singular.lastError().empty(), "a singular matrix, and factors",
       singular.lastError());

    /* least squares */
    ByRows tall(n + 1, n);
    tall.reserve(Eigen::VectorXi::Constant(n + 1, 1));
    for (int i = 0; i < n; i++) tall.insert(i, i) = 1 + i % 3;
    tall.insert(n, 0) = 1;
    kry::Solver<ByRows> fit("method=lsqr rtol=1e-12");
    fit.compute(tall);
    const Eigen::VectorXd fitted = fit.solve(Eigen::VectorXd::Ones(n + 1));
    ok(fitted.size() == n && std::fabs(fitted[0] - 1) < 1e-9 && std::fabs(fitted[2] - 1.0 / 3) < 1e-9, "least squares");

    /* devices and moves */
    kry_device *device = nullptr;
    if (kry_device_open(nullptr, &device) < 0) return std::puts("Bail out! no device"), 1;
    kry::Solver<ByColumns> one("method=pcg", device), other("method=pcg", device);
    kry_device_release(&device);
    one.compute(A), other.compute(A2);
    kept = one.solve(b);
    ok(apart(kept, right) < close && other.info() == Eigen::Success, "two solvers on a device of the caller's");
    kry::Solver<ByColumns> moved(std::move(one));
    kept = moved.solve(b);
    ok(apart(kept, right) < close && moved.rows() == n, "a solver that was moved");
    moved = std::move(other);
    kept = moved.solve(b);
    ok(moved.info() == Eigen::Success && apart(A2 * kept, b) < 1e-7, "and one moved over it");
    std::vector<kry::Solver<ByColumns>> many;
    for (int i = 0; i < 3; i++) many.emplace_back("method=pcg"), many.back().compute(A);
    kept = many[0].solve(b);
    ok(apart(kept, right) < close, "solvers in a vector");
    const kry::Solver<ByColumns> whole(A);
    kept = whole.solve(b);
    ok(whole.info() == Eigen::Success, "made of a matrix, and const");

    std::printf("1..%d\n", count);
    return failed != 0;
}
