"""Matrices that stay on a device, what is known of them, and solves with transposes."""
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import poisson, random_matrix
from hypothesis import given
from hypothesis import strategies as st

import pykry
import pykry.scipy


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 30), cols=st.integers(1, 30), single=st.booleans())
def test_products(seed, rows, cols, single):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    S = sp.random_array((rows, cols), density=0.3, rng=rng, format='csr').astype(dtype)
    A, eps = pykry.Matrix(S, format='csr'), np.finfo(dtype).eps
    for x in (rng.uniform(-1, 1, cols), rng.uniform(-1, 1, (cols, 1)), rng.uniform(-1, 1, (cols, 3))):
        x = x.astype(dtype)
        assert (A @ x).shape == (S @ x).shape and (A @ x).dtype == dtype
        assert np.allclose(A @ x, S @ x, atol=40 * eps)
    for y in (rng.uniform(-1, 1, rows), rng.uniform(-1, 1, (rows, 2))):
        y = y.astype(dtype)
        assert np.allclose(A.T @ y, S.T @ y, atol=40 * eps) and np.allclose(A.H @ y, S.T @ y, atol=40 * eps)
    assert np.allclose(A.rmatvec(y[:, 0]), S.T @ y[:, 0], atol=40 * eps)
    assert A.T.T is A and A.T.shape == (cols, rows)
    back = A.tocsr()
    assert back.shape == S.shape and (abs(back - S) > 0).sum() == 0
    if rows == cols:
        assert np.allclose(A.diagonal(), S.diagonal())


def test_it_is_shared_with_solvers(system):
    S, b = system
    A = pykry.Matrix(S)
    solver = pykry.Solver(A, method='cg', rtol=1e-10)
    x, result = solver.solve(b)
    assert result and np.allclose(S @ x, b)
    A.update(2 * S)
    solver.update(None)
    y, result = solver.solve(b)
    assert result and np.allclose(2 * y, x) and np.allclose(A @ y, b)
    x, result = pykry.solve(A, b, method='auto', M=sp.diags_array(1 / S.diagonal()))
    assert result
    assert pykry.scipy.lsmr(A, b, maxiter=1000)[1] in (1, 2)
    assert pykry.scipy.lgmres(A, b)[1] == 0
    with pytest.raises(ValueError, match='float32'):
        pykry.Solver(A, dtype=np.float32)


def test_refusals(system):
    S, b = system
    A = pykry.Matrix(S)
    with pytest.raises(ValueError):
        A @ b[:-1]
    with pytest.raises(TypeError, match='no entries'):
        pykry.Matrix(sla.aslinearoperator(S))
    with pytest.raises(ValueError, match=r'null_space has the shape \(3,\)'):
        pykry.Matrix(S, null_space=np.ones(3))
    with pytest.raises(ValueError, match='null'):
        pykry.Matrix(S, null_space=np.ones(len(b)))  # it is regular
    with pytest.raises(TypeError, match='both'):
        pykry.Matrix(S, near_null_space=np.ones(len(b)), coordinates=np.ones((2, 2)))
    with pytest.raises(ValueError, match='coordinates'):
        pykry.Matrix(S, coordinates=np.ones(len(b)))


def neumann(m):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m)).tolil()
    line[0, 0] = line[-1, -1] = 1.0
    return (sp.kron(sp.eye_array(m), line) + sp.kron(line, sp.eye_array(m))).tocsr()


def test_null_spaces():
    S = neumann(12)
    n = S.shape[0]
    b = np.random.default_rng(7).uniform(-1, 1, n)
    b -= b.mean()
    A = pykry.Matrix(S, null_space=np.ones(n))
    x, result = pykry.solve(A, b, method='cg')
    assert result and np.linalg.norm(b - S @ x) <= 1.001e-8 * np.linalg.norm(b)
    assert abs(x.mean()) <= 1e-7 * abs(x).max()


def test_null_space_of_several_parts():
    S = sp.block_diag([neumann(5), neumann(7)], format='csr')
    parts = np.repeat([[1.0, 0], [0, 1]], [25, 49], axis=0)
    b = np.random.default_rng(8).uniform(-1, 1, 74)
    b -= parts @ (parts.T @ b / parts.sum(axis=0))
    x, result = pykry.solve(pykry.Matrix(S, null_space=parts), b, method='cg')
    assert result and np.allclose(parts.T @ x, 0, atol=1e-8)


def elasticity(m):
    """Bilinear elements of plane stress on an m-by-m grid of squares, held at the left side: the matrix and the nodes."""
    points = np.array([-1, 1]) / np.sqrt(3)
    D = np.array([[1, 0.3, 0], [0.3, 1, 0], [0, 0, 0.35]]) / (1 - 0.3**2)
    corner = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    K = np.zeros((8, 8))
    for s in points:
        for t in points:
            slopes = np.array([corner[:, 0] * (1 + corner[:, 1] * t), corner[:, 1] * (1 + corner[:, 0] * s)]) / 2
            B = np.zeros((3, 8))
            B[0, ::2] = B[2, 1::2] = slopes[0]
            B[1, 1::2] = B[2, ::2] = slopes[1]
            K += B.T @ D @ B / 4
    node = np.arange((m + 1)**2).reshape(m + 1, m + 1)
    quads = np.stack([node[:-1, :-1], node[:-1, 1:], node[1:, 1:], node[1:, :-1]], axis=-1).reshape(-1, 4)
    unknowns = (2 * quads[:, :, None] + np.arange(2)).reshape(-1, 8)
    A = sp.coo_array((np.tile(K.ravel(), len(quads)), (np.repeat(unknowns, 8, axis=1).ravel(), np.tile(unknowns, 8).ravel())))
    free = (node[:, 1:].ravel()[:, None] * 2 + np.arange(2)).ravel()
    places = np.stack(np.meshgrid(np.arange(m + 1.0), np.arange(m + 1.0)), axis=-1)[:, 1:].reshape(-1, 2)
    return A.tocsr()[free][:, free], places


def test_coordinates_make_multigrid_of_elasticity_better():
    S, places = elasticity(40)
    b = np.ones(S.shape[0])
    count = {}
    for name, facts in {'none': {}, 'coordinates': {'coordinates': places}, 'block': {'block': 2}}.items():
        x, result = pykry.solve(pykry.Matrix(S, **facts), b, method='cg', precond='amg')
        assert result
        count[name] = result.iterations
    assert count['coordinates'] < 0.7 * count['none'], count


@pytest.mark.parametrize('method', ['gmres', 'bicgstab', 'auto', 'lsqr'])
def test_transposes_of_solvers(method):
    rng = np.random.default_rng(9)
    S = random_matrix(rng, 40, 'general')
    b, B = rng.uniform(-1, 1, 40), rng.uniform(-1, 1, (40, 2))
    solver = pykry.Solver(S, method=method, rtol=1e-11)
    assert np.allclose(S.T @ solver.rmatvec(b), b, atol=1e-8)
    assert np.allclose(S.T @ (solver.T @ B), B, atol=1e-8)
    solver.update(2 * S)
    assert np.allclose(2 * (S.T @ solver.rmatvec(b)), b, atol=1e-8)
    as_function = pykry.Solver(sla.aslinearoperator(S), method='gmres', rtol=1e-11, M=sp.diags_array(1 / S.diagonal()))
    assert np.allclose(S.T @ as_function.rmatvec(b), b, atol=1e-8)


def test_transpose_of_a_solver_as_preconditioner_of_scipys_methods():
    """bicg wants products with M and with its transpose."""
    A = poisson(12) + 0.5 * sp.eye_array(144, k=1)
    M = pykry.Solver(A, method='gmres', rtol=1e-3)
    x, info = sla.bicg(A, np.ones(144), M=M, rtol=1e-8)
    assert info == 0 and np.linalg.norm(A @ x - 1) <= 1e-6
