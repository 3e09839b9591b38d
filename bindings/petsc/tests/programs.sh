#!/bin/sh
# programs.sh LIBRARY PETSC MPIRUN - programs of others, as they come with PETSc, solve with kry. Prints TAP.
#
#   LIBRARY  libkrypetsc.so
#   PETSC    PETSc's folder: its examples, in C, and petsc4py, where they are installed, and dolfinx (Debian: libpetsc3.18-dev-examples,
#            python3-petsc4py-real, python3-dolfinx-real)
library=$(realpath "${1:?usage: programs.sh LIBRARY PETSC MPIRUN}")
petsc=${2:?} mpirun=${3:?}
examples=$petsc/share/petsc/examples/src
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
count=0 failed=0

# solves WHAT LINES PATTERN COMMAND... - the output has so many lines like the pattern, or more
solves()
{
    what=$1 lines=$2 pattern=$3
    shift 3
    count=$((count + 1))
    if timeout 300 "$@" >"$work/out" 2>&1 && [ "$(grep -c "$pattern" "$work/out")" -ge "$lines" ]; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        head -20 "$work/out" | cut -c1-300 | sed 's/^/# /'
        failed=1
    fi
}

skip()
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# example FOLDER NAME RANKS LINES OPTIONS... - one of PETSc's examples, with options that load kry
example()
{
    folder=$1 name=$2 ranks=$3 lines=$4
    shift 4
    what="$folder/$name on $ranks rank(s): $*"
    if ! [ -e "$examples/$folder/$name.c" ]; then
        skip "$what" "the examples of PETSc are not installed"
        return
    fi
    # shellcheck disable=SC2046 # flags are words
    [ -x "$work/$name" ] || mpicc "$examples/$folder/$name.c" -o "$work/$name" $(pkg-config --cflags --libs petsc) -lm 2>"$work/errors" ||
        cat "$work/errors"
    solves "$what" "$lines" 'converged due to CONVERGED' \
        "$mpirun" --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks" "$work/$name" -dll_append "$library" "$@"
}

example ksp/ksp/tutorials ex2 1 1 -m 60 -n 60 -ksp_type kry -ksp_converged_reason
example ksp/ksp/tutorials ex2 2 1 -m 60 -n 60 -ksp_type cg -pc_type kry -kry_precond amg -ksp_converged_reason -ksp_view
# a grid in space, not symmetric at its sides
example ksp/ksp/tutorials ex45 2 1 -da_grid_x 21 -da_grid_y 21 -da_grid_z 21 -ksp_type kry -kry_method bicgstab -kry_precond ilu0 -ksp_converged_reason
# elasticity, by blocks of 3 with coordinates
example ksp/ksp/tutorials ex56 2 1 -ne 9 -ksp_type kry -kry_method pcg -kry_precond amg -ksp_converged_reason
example ksp/ksp/tutorials ex56 1 1 -ne 9 -ksp_type cg -pc_type kry -kry_precond amg -ksp_converged_reason
# Neumann's boundary conditions, with a null space
example ksp/ksp/tutorials ex50 2 1 -da_grid_x 31 -da_grid_y 31 -ksp_type kry -kry_method pcg -kry_precond amg -ksp_converged_reason
# Newton's method for 4 coupled fields: a new matrix in each step
example snes/tutorials ex19 1 2 -ksp_type kry -ksp_converged_reason
example snes/tutorials ex19 2 2 -pc_type kry -kry_precond ilu -ksp_converged_reason

# python MODULE PROGRAM RANKS - a program in Python, which needs this module
python()
{
    what="$2 on $3 rank(s)"
    if /usr/bin/python3 -c "import $1" 2>"$work/out"; then
        solves "$what" 1 'kry converged.*True' "$mpirun" --oversubscribe --mca mpi_yield_when_idle 1 -n "$3" /usr/bin/python3 "$work/$2"
    else
        skip "$what" "Python has no $1: $(tail -1 "$work/out")"
    fi
}

cat >"$work/line.py" <<'END'
import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc

n = 2000
A = PETSc.Mat().createAIJ((n, n), nnz=3)
for i in range(*A.getOwnershipRange()):
    for j, value in ((i - 1, -1), (i, 2.5), (i + 1, -1)):
        if 0 <= j < n:
            A[i, j] = value
A.assemble()
x, b = A.createVecs()
b.set(1)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType('kry')
ksp.setFromOptions()
ksp.solve(b, x)
print(ksp.getType(), 'converged due to CONVERGED', (b - A * x).norm() / b.norm() < 1e-5)
END
cat >"$work/cube.py" <<'END'
import numpy as np
from mpi4py import MPI
import ufl
from dolfinx import fem, mesh
from petsc4py.PETSc import ScalarType

cube = mesh.create_unit_cube(MPI.COMM_WORLD, 8, 8, 8)
V = fem.FunctionSpace(cube, ('Lagrange', 1))
sides = mesh.locate_entities_boundary(cube, 2, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
held = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(V, 2, sides), V)
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
problem = fem.petsc.LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, ScalarType(1) * v * ufl.dx, bcs=[held],
                                  petsc_options={'ksp_type': 'kry', 'kry_method': 'pcg', 'kry_precond': 'amg', 'ksp_rtol': 1e-10})
x = problem.solve().x.array
ksp = problem.solver
print(ksp.getType(), 'converged due to CONVERGED', ksp.getConvergedReason() > 0 and abs(x.max() - 0.125) < 1e-3)
END
PETSC_OPTIONS="-dll_append $library"
PYTHONPATH=$petsc/lib/python3/dist-packages
XDG_CACHE_HOME=$work # of dolfinx
export PETSC_OPTIONS PYTHONPATH XDG_CACHE_HOME
python petsc4py line.py 2
python dolfinx cube.py 1
python dolfinx cube.py 2
echo "1..$count"
[ "$failed" = 0 ]
