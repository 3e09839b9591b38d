"""lobpcg and eigsh of pykry.scipy against SciPy's eigsh, and what they refuse."""
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator
from scipy.sparse.linalg import eigsh as reference

from pykry import ConvergenceWarning
from pykry.scipy import eigsh, lobpcg


def laplacian(side):
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    return (sp.kron(sp.identity(side), line) + sp.kron(line, sp.identity(side))).tocsr()


def random_symmetric(n, seed):
    print('seed', seed)
    rng = np.random.default_rng(seed)
    A = sp.random(n, n, 0.05, random_state=rng)
    return (A + A.T + sp.diags([rng.uniform(-4, 4, n)], [0])).tocsr()


@pytest.mark.parametrize('which', ['SA', 'LA', 'LM'])
def test_eigsh_as_scipy(which):
    A = random_symmetric(120, 5)
    w, v = eigsh(A, k=5, which=which)
    assert np.allclose(w, reference(A, k=5, which=which)[0], atol=1e-8)
    assert np.allclose(A @ v, v * w, atol=1e-7) and np.allclose(v.T @ v, np.eye(5), atol=1e-10)


def test_eigsh_of_both_ends_that_meet():
    A = np.diag([-3.0, -2.0, 1.0, 4.0])
    assert np.allclose(eigsh(A, k=3, return_eigenvectors=False), [-3, -2, 4])


@pytest.mark.parametrize('precond', [None, 'amg', 'jacobi'])
def test_smallest_with_preconditioners(precond):
    A = laplacian(30)
    w = eigsh(A, k=4, sigma=0, OPinv=precond, return_eigenvectors=False)
    assert np.allclose(w, reference(A, k=4, sigma=0)[0], atol=1e-9)


@pytest.mark.parametrize('sigma', [0.0, -1.5, 3.21])
@pytest.mark.parametrize('mass', [False, True])
def test_nearest_a_number(sigma, mass):
    A = laplacian(20)
    B = sp.diags([np.linspace(1, 3, 400)], [0]).tocsr() if mass else None
    w, v = eigsh(A, k=5, M=B, sigma=sigma, ncv=30)
    assert np.allclose(w, reference(A, k=5, M=B, sigma=sigma)[0], atol=1e-9)
    v_by_B = B @ v if mass else v
    assert np.allclose(A @ v, v_by_B * w, atol=1e-7) and np.allclose(v.T @ v_by_B, np.eye(5), atol=1e-10)


def test_nearest_an_eigenvalue_and_with_an_inverse():
    line = sp.diags([np.r_[1, np.full(48, 2.0), 1], -np.ones(49), -np.ones(49)], [0, 1, -1]).tocsr()
    w = eigsh(line, k=3, sigma=0, return_eigenvectors=False)
    assert np.allclose(w, 2 - 2 * np.cos(np.pi * np.arange(3) / 50), atol=1e-9)
    inverse = sp.linalg.splu((line - 1.7 * sp.identity(50)).tocsc())
    A = LinearOperator(line.shape, matvec=lambda x: line @ x, dtype=float)
    w = eigsh(A, k=3, sigma=1.7, OPinv=LinearOperator(line.shape, matvec=inverse.solve, dtype=float), return_eigenvectors=False)
    assert np.allclose(w, reference(line, k=3, sigma=1.7)[0], atol=1e-9)
    with pytest.raises(NotImplementedError, match='no entries that could be factored'):
        eigsh(A, k=3, sigma=1.7)


def test_generalised():
    A, B = laplacian(12), sp.diags([np.linspace(1, 3, 144)], [0]).tocsr()
    w, v = eigsh(A, k=3, M=B, which='SM')
    assert np.allclose(w, reference(A, k=3, M=B, sigma=0)[0], atol=1e-8)
    assert np.allclose(v.T @ (B @ v), np.eye(3), atol=1e-8)


def test_lobpcg_with_constraints():
    line = sp.diags([np.r_[1, np.full(48, 2.0), 1], -np.ones(49), -np.ones(49)], [0, 1, -1]).tocsr()
    X = np.random.default_rng(3).standard_normal((50, 3))
    w, v = lobpcg(line, X, Y=np.ones((50, 1)), largest=False)
    assert np.allclose(w, 2 - 2 * np.cos(np.pi * np.arange(1, 4) / 50), atol=1e-9)
    assert np.allclose(np.ones(50) @ v, 0, atol=1e-8)


def test_functions_and_single():
    A = laplacian(10)
    inverse = sp.linalg.splu(A.tocsc())
    M = LinearOperator(A.shape, matvec=inverse.solve, dtype=float)
    X = np.random.default_rng(1).standard_normal((100, 2))
    w, _ = lobpcg(LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float), X, M=M, largest=False)
    assert np.allclose(w, reference(A, k=2, sigma=0)[0], atol=1e-9)
    w, v = lobpcg(A.astype(np.float32), X.astype(np.float32))
    assert v.dtype == np.float32 and np.allclose(w[::-1], reference(A, k=2)[0], atol=1e-3)


def test_no_convergence():
    A = laplacian(40)
    with pytest.raises(ArpackNoConvergence):
        eigsh(A, k=3, which='SA', maxiter=2)
    with pytest.warns(ConvergenceWarning, match='converged in 2 iterations'):
        lobpcg(A, np.random.default_rng(1).standard_normal((1600, 2)), maxiter=2, largest=False)


def test_refused():
    A = laplacian(10)
    with pytest.raises(NotImplementedError, match='with sigma'):
        eigsh(A, sigma=1, which='SA')
    with pytest.raises(NotImplementedError, match="'amg' with sigma=1"):
        eigsh(A, sigma=1, OPinv='amg')
    with pytest.raises(ValueError, match='basis is 5'):
        eigsh(A, k=4, ncv=5)
    with pytest.raises(ValueError, match='BE'):
        eigsh(A, which='BE')
    with pytest.raises(NotImplementedError, match='semidefinite'):
        eigsh(-A, which='SM')
    with pytest.raises(NotImplementedError, match='buckling'):
        eigsh(A, sigma=0, mode='buckling')
    with pytest.raises(NotImplementedError, match='histories'):
        lobpcg(A, np.ones((100, 1)), retLambdaHistory=True)
    with pytest.raises(ValueError, match='columns'):
        eigsh(A, k=65)
    with pytest.raises(ValueError, match='rows'):
        lobpcg(A, np.ones((99, 1)))
    with pytest.raises(NotImplementedError, match='not symmetric'):
        eigsh(sp.random(30, 30, 0.5, random_state=1) * 10)

    def broken(x):
        raise KeyError('mine')

    with pytest.raises(KeyError, match='mine'):
        lobpcg(LinearOperator((30, 30), matvec=broken, dtype=float), np.ones((30, 1)))
