/*
 * example.cc - Laplace's equation in deal.II, with its conjugate gradients, with kry's preconditioner in them, and with kry
 * in their place.
 */
#include <cstdio>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>
#include <kry/dealii.h>

using namespace dealii;

int main()
{
    Triangulation<2> mesh;
    GridGenerator::hyper_ball(mesh);
    mesh.refine_global(6);
    const FE_Q<2> elements(1);
    DoFHandler<2> dofs(mesh);
    dofs.distribute_dofs(elements);

    DynamicSparsityPattern places(dofs.n_dofs());
    DoFTools::make_sparsity_pattern(dofs, places);
    SparsityPattern pattern;
    pattern.copy_from(places);
    SparseMatrix<double> A(pattern);
    Vector<double> x(dofs.n_dofs()), b(dofs.n_dofs());
    MatrixCreator::create_laplace_matrix(dofs, QGauss<2>(2), A);
    VectorTools::create_right_hand_side(dofs, QGauss<2>(2), Functions::ConstantFunction<2>(1), b);
    std::map<types::global_dof_index, double> sides;
    VectorTools::interpolate_boundary_values(dofs, 0, Functions::ZeroFunction<2>(), sides);
    MatrixTools::apply_boundary_values(sides, A, x, b);

    ReductionControl control(1000, 0, 1e-8);
    SolverCG<> cg(control);
    cg.solve(A, x, b, PreconditionIdentity());
    std::printf("deal.II: %u iterations\n", control.last_step());

    kry::dealii::Preconditioner<double> amg("amg");
    amg.initialize(A);
    x = 0;
    cg.solve(A, x, b, amg);
    std::printf("deal.II with precond=amg: %u iterations\n", control.last_step());

    kry::dealii::Solver<double> solver("method=pcg precond=amg");
    solver.initialize(A);
    x = 0;
    solver.solve(control, x, b);
    std::printf("kry: %u iterations\n", control.last_step());
}
