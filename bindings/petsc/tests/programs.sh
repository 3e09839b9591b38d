#!/bin/sh
# programs.sh LIBRARY PETSC MPIRUN - programs of others, as they come with PETSc, solve with kry. Prints TAP.
#
#   LIBRARY  libkrypetsc.so
#   PETSC    PETSc's folder: its examples, in C, and petsc4py, where they are installed (Debian: libpetsc3.18-dev-examples,
#            python3-petsc4py-real)
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
# elasticity, by blocks of 3 with a near null space
example ksp/ksp/tutorials ex56 2 1 -ne 9 -ksp_type kry -kry_method pcg -kry_precond amg -ksp_converged_reason
# Neumann's boundary conditions, with a null space
example ksp/ksp/tutorials ex50 2 1 -da_grid_x 31 -da_grid_y 31 -ksp_type kry -kry_method pcg -kry_precond amg -ksp_converged_reason
# Newton's method for 4 coupled fields: a new matrix in each step
example snes/tutorials ex19 1 2 -ksp_type kry -ksp_converged_reason
example snes/tutorials ex19 2 2 -pc_type kry -kry_precond ilu -ksp_converged_reason

cat >"$work/program.py" <<'END'
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
ksp.setFromOptions()
ksp.solve(b, x)
print(ksp.getType(), 'converged due to CONVERGED', (b - A * x).norm() / b.norm() < 1e-5)
END
PYTHONPATH=$petsc/lib/python3/dist-packages
export PYTHONPATH
if /usr/bin/python3 -c 'import petsc4py' 2>/dev/null; then
    solves 'petsc4py: -ksp_type kry' 1 'kry converged.*True' /usr/bin/python3 "$work/program.py" -dll_append "$library" -ksp_type kry
else
    skip 'petsc4py: -ksp_type kry' 'petsc4py is not installed'
fi
echo "1..$count"
[ "$failed" = 0 ]
