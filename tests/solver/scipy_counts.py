#!/usr/bin/env python3
"""tests/solver/scipy_counts.py KRY - print the table of tests/solver/test_scipy.c: iterations that SciPy's methods take

For each problem of the table: the program KRY writes its matrix and right-hand side, and SciPy solves it from x = 0. An
iteration is counted as long as ||b - A x|| > 1e-8 ||b||, by the x of the callback; of gmres, which shows no x
within a cycle, by its own norm of the residual.
"""
import subprocess
import sys
import tempfile

import numpy
import scipy
from scipy.io import mmread
from scipy.sparse import diags
from scipy.sparse.linalg import bicgstab, gmres, minres

CASES = [
    ("convection2d:40:20", "gmres:30", "none"), ("convection2d:40:100", "gmres:60", "none"),
    ("convection3d:12:20", "gmres:30", "none"), ("random:2000:5", "gmres:10", "none"),
    ("helmholtz2d:20:10", "gmres:60", "none"), ("convection2d:40:20", "bicgstab:1", "none"),
    ("convection3d:12:20", "bicgstab:1", "none"), ("convection3d:12:20", "bicgstab:1", "jacobi"),
    ("random:2000:5", "bicgstab:1", "none"), ("random:2000:5", "bicgstab:1", "jacobi"),
    ("helmholtz2d:40:20", "minres", "none"), ("helmholtz2d:30:10", "minres", "none"),
    ("stokes2d:16", "minres", "none"), ("poisson2d:60", "minres", "none"),
]


def problem(kry, spec):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([kry, "generate", spec, "-o", folder + "/A.mtx", "--rhs", folder + "/b.mtx"], check=True)
        return mmread(folder + "/A.mtx").tocsr(), numpy.asarray(mmread(folder + "/b.mtx")).ravel()


def count(A, b, method, precond):
    M = diags(1 / A.diagonal()) if precond == "jacobi" else None
    goal, history = 1e-8 * numpy.linalg.norm(b), []
    seen = lambda x: history.append(numpy.linalg.norm(b - A @ x))
    word, _, width = method.partition(":")
    tol = {"rtol": 1e-9} if scipy.__version__ >= "1.12" else {"tol": 1e-9}
    if word == "gmres":
        gmres(A, b, restart=int(width), maxiter=10000, callback_type="pr_norm", atol=0, **tol,
              callback=lambda r: history.append(r * numpy.linalg.norm(b)))
    elif word == "minres":
        minres(A, b, maxiter=10000, callback=seen, **{k: 1e-13 for k in tol})
    else:
        bicgstab(A, b, M=M, maxiter=10000, callback=seen, atol=0, **tol)
    return next(k for k, r in enumerate(history, 1) if r <= goal)


if __name__ == "__main__":
    print("/* SciPy %s */" % scipy.__version__)
    for spec, method, precond in CASES:
        print('{ "%s", "%s", "%s", %d },' % (spec, method, precond, count(*problem(sys.argv[1], spec), method, precond)))
