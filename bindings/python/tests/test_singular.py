"""Singular matrices that nobody has said to be singular: what they map to zero is found, and a b without a solution is told."""
import numpy as np
import pytest
import scipy.sparse as sp

import pykry

M = 9  # rows and columns of a grid


def grid(wind=0.0, wall=False):
    """Five points without an outside, and upwind differences for a wind along x: rows add up to zero, but for a wall."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(M, M)).tolil()
    line[0, 0] = line[-1, -1] = 1.0
    flow = wind * (sp.eye_array(M) - sp.eye_array(M, k=-1)).tolil()
    flow[0, 0] = 0
    A = (sp.kron(sp.eye_array(M), line + flow) + sp.kron(line, sp.eye_array(M))).tolil()
    if wall:
        A[0, 0] += 1
    return A.tocsr()


def empty(k):
    return sp.csr_array((k, k))


matrices = {
    'neumann': (grid(), 1),
    'convection': (grid(wind=2.0), 0),
    'two parts': (sp.block_diag([grid(), grid()], format='csr'), 2),
    'empty rows': (sp.block_diag([grid(wall=True), empty(3)], format='csr'), 3),
    'unsymmetric, empty rows': (sp.block_diag([grid(wind=1.0, wall=True), empty(2)], format='csr'), 2),
    'parts, empty rows': (sp.block_diag([grid(), grid(wall=True), grid(), empty(1)], format='csr'), 3),
}
methods = ['auto', 'direct', 'gmres', 'bicgstab', 'idr', 'cg', 'minres', 'cr']


@pytest.mark.parametrize('name', matrices)
@pytest.mark.parametrize('method', methods)
def test_solve(name, method):
    A, vectors = matrices[name]  # vectors: how many are mapped to zero from both sides
    if abs(A - A.T).max() > 0 and method in ('cg', 'minres', 'cr'):
        pytest.skip('not symmetric')
    b = A @ np.random.default_rng(3).uniform(-1, 1, A.shape[0])
    x, result = pykry.solve(A, b, method=method, rtol=1e-9)
    assert result and np.linalg.norm(b - A @ x) <= 1.01e-9 * np.linalg.norm(b)
    if vectors == 0:  # which b has a solution is not known
        return
    b[-1] += 1
    solver = pykry.Solver(A, method=method, rtol=1e-9, maxiter=2000)
    with pytest.warns(pykry.ConvergenceWarning, match='no x solves A x = b'):
        x, result = solver.solve(b)
    assert result.reason == 'inconsistent_rhs' and not result


@pytest.mark.parametrize('method', ['cg', 'gmres', 'auto'])
def test_with_a_preconditioner_of_the_callers(method):
    A = grid()
    b = A @ np.arange(A.shape[0], dtype=float)
    scale = sp.diags_array(1 / A.diagonal())
    x, result = pykry.solve(A, b, M=scale, method=method)
    assert result and abs(x.sum()) <= 1e-6 * abs(x).sum()
    with pytest.warns(pykry.ConvergenceWarning, match='no x solves A x = b'):
        pykry.solve(A, b + 1, M=scale, method=method)


def test_kept_matrices():
    A = grid()
    b = A @ np.arange(A.shape[0], dtype=float)
    for given in (A, pykry.Matrix(A)):
        x, result = pykry.solve(given, b)
        assert result and abs(x.sum()) <= 1e-6 * abs(x).sum()


def test_update_makes_it_regular_and_singular_again():
    A, regular = grid(), grid(wall=True)
    solver = pykry.Solver(A, method='minres')
    for numbers in (A, regular, A):
        solver.update(numbers)
        b = numbers @ np.arange(A.shape[0], dtype=float)
        x, result = solver.solve(b)
        assert result and np.linalg.norm(b - numbers @ x) <= 1.01e-8 * np.linalg.norm(b)
