"""pykry.batch.solve against NumPy, member by member, and what it refuses."""
import numpy as np
import pytest
import scipy.sparse as sp

import pykry


def random_dense(batch, n, dtype=np.float64, seed=3):
    print('seed', seed)
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((batch, n, n)) + 3 * n * np.eye(n)).astype(dtype), rng.standard_normal((batch, n)).astype(dtype)


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('method', ['auto', 'lu', 'bicgstab'])
def test_dense(method, dtype):
    A, b = random_dense(37, 9, dtype)
    x, result = pykry.batch.solve(A, b, method=method)
    assert result and x.dtype == dtype and x.shape == b.shape
    assert np.allclose(x, np.linalg.solve(A.astype(float), b[..., None].astype(float))[..., 0], rtol=0, atol=1e-4 if dtype == np.float32 else 1e-8)
    assert result.residual.shape == (37,) and (result.iterations > 0).all() == (method == 'bicgstab')
    assert result.method == ('lu' if method == 'auto' else method)


@pytest.mark.parametrize('method', ['cg', 'bicgstab', 'lu', 'tridiagonal'])
def test_sparse_and_columns(method):
    pattern = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(20, 20)).tocsr()
    values = pattern.data * np.linspace(1, 2, 50)[:, None]
    b = np.random.default_rng(1).standard_normal((50, 20, 3))
    x, result = pykry.batch.solve((pattern.indptr, pattern.indices, values), b, method=method)
    assert result and result.solved.shape == (50, 3)
    for s in range(50):
        assert np.allclose(pattern @ x[s] * np.linspace(1, 2, 50)[s], b[s], atol=1e-6)


def test_one_matrix_and_guess():
    A, b = random_dense(1, 12)
    many = np.concatenate([b, 2 * b, -b])
    x, result = pykry.batch.solve(A, many, method='bicgstab')
    assert result and np.allclose(x @ A[0].T, many)
    again, result = pykry.batch.solve(A, many, x, method='bicgstab', rtol=1e-7)
    assert (result.iterations == 0).all() and np.array_equal(again, x)


def test_members_that_are_not_solved():
    A, b = random_dense(5, 4)
    A[2] = 0
    A[3, 1, 1] = np.nan
    with pytest.warns(pykry.ConvergenceWarning, match='system 2: the matrix is singular'):
        x, result = pykry.batch.solve(A, b)
    assert not result and result.verdict.tolist() == ['solved', 'solved', 'singular', 'not_finite', 'solved']
    assert np.allclose(A[4] @ x[4], b[4])


def test_refused():
    A, b = random_dense(5, 4)
    with pytest.raises(ValueError, match='batch, n, n'):
        pykry.batch.solve(A[0], b)
    with pytest.raises(ValueError, match=r'\(5, 4\)'):
        pykry.batch.solve(A, b[:3])
    with pytest.raises(ValueError, match='method'):
        pykry.batch.solve(A, b, method='qr')
    with pytest.raises(ValueError, match='x0'):
        pykry.batch.solve(A, b, b[:2], method='cg')
    with pytest.raises(TypeError, match='complex'):
        pykry.batch.solve(A, b * 1j)
    with pytest.raises(ValueError, match='column 9'):
        pykry.batch.solve(([0, 1], [9], np.ones((2, 1))), np.ones((2, 1)))
    with pytest.raises(ValueError, match='indptr'):
        pykry.batch.solve(([0, 2], [0], np.ones((2, 1))), np.ones((2, 1)))
    with pytest.raises(ValueError, match='rtol'):
        pykry.batch.solve(A, b, rtol=2)
    with pytest.raises(ValueError, match='no system'):
        pykry.batch.solve(A[:0], b[:0])
