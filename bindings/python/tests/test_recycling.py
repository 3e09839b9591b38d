"""pykry.scipy.lgmres and gcrotmk beside SciPy's."""
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import poisson, random_matrix
from hypothesis import given
from hypothesis import strategies as st

import pykry.scipy

NAMES = ['lgmres', 'gcrotmk']
NARROW = {'lgmres': {'inner_m': 6, 'outer_k': 2}, 'gcrotmk': {'m': 5, 'k': 3}}


def counted(A):
    calls = [0]

    def product(v):
        calls[0] += 1
        return A @ v

    return sla.LinearOperator(A.shape, matvec=product, dtype=A.dtype), calls


@pytest.mark.parametrize('name', NAMES)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), narrow=st.booleans(), single=st.booleans())
def test_random_systems(name, seed, n, narrow, single):
    rng = np.random.default_rng(seed)
    A, b = random_matrix(rng, n, 'general'), rng.uniform(-1, 1, n)
    dtype, rtol = (np.float32, 1e-4) if single else (np.float64, 1e-10)
    x, info = getattr(pykry.scipy, name)(A.astype(dtype), b.astype(dtype), rtol=rtol, **(NARROW[name] if narrow else {}))
    assert info == 0 and x.dtype == dtype and x.shape == b.shape
    assert np.linalg.norm(b - A @ x.astype(float)) <= 1.01 * rtol * np.linalg.norm(b)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('truncate', ['oldest', 'smallest'])
def test_about_as_many_products_as_scipy(name, truncate):
    A = poisson(30) + 3 * sp.eye_array(900, k=1)
    b = np.random.default_rng(3).uniform(-1, 1, 900)
    options = dict(NARROW[name], **({'truncate': truncate} if name == 'gcrotmk' else {}))
    ours, theirs = counted(A), counted(A)
    x, info = getattr(pykry.scipy, name)(ours[0], b, rtol=1e-8, **options)
    y, scipy_info = getattr(sla, name)(theirs[0], b, rtol=1e-8, **options)
    assert info == scipy_info == 0
    assert ours[1][0] <= 1.2 * theirs[1][0] + 5


@pytest.mark.parametrize('name', NAMES)
def test_what_is_carried_helps_the_next_system(name):
    A = poisson(30)
    b = np.random.default_rng(3).uniform(-1, 1, 900)
    word = {'lgmres': 'outer_v', 'gcrotmk': 'CU'}[name]
    for slim in ({}, {'lgmres': {'store_outer_Av': False}, 'gcrotmk': {'discard_C': True}}[name]):
        kept, counts = [], []
        for _ in range(2):
            operator, calls = counted(A)
            x, info = getattr(pykry.scipy, name)(operator, b, rtol=1e-6, **{word: kept}, **NARROW[name], **slim)
            assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-6 * np.linalg.norm(b)
            counts.append(calls[0])
        assert 0 < len(kept) <= 3 
        assert name == 'lgmres' or slim or counts[1] < counts[0]
        for pair in kept:
            known, v = pair if name == 'gcrotmk' else pair[::-1]
            assert (known is None) == bool(slim)
            assert known is None or np.allclose(A @ v, known, atol=1e-8 * np.linalg.norm(A @ v) + 1e-10)


@pytest.mark.parametrize('name', NAMES)
def test_preconditioners(name, system):
    A, b = system
    exact = sla.splu(A.tocsc())
    inner = pykry.Solver(A, method='cg', rtol=1e-2)
    for M in (sla.LinearOperator(A.shape, matvec=exact.solve, dtype=float), inner, sp.diags_array(1 / A.diagonal())):
        operator, calls = counted(A)
        x, info = getattr(pykry.scipy, name)(operator, b, M=M, rtol=1e-9)
        assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-9 * np.linalg.norm(b)
        assert calls[0] <= (3 if not isinstance(M, (pykry.Solver, sp.sparray)) else 100)


@pytest.mark.parametrize('name', NAMES)
def test_limits_guesses_and_refusals(name, system):
    A, b = system
    solve, seen = getattr(pykry.scipy, name), []
    x, info = solve(A, b, maxiter=2, callback=lambda v: seen.append(v.copy()), **NARROW[name])
    assert info == 2 and len(seen) == 2 and not seen[0].any() and seen[1].any()
    y, info = solve(A, b, x)
    assert info == 0
    z, info = solve(A, b, y, maxiter=1)
    assert info == 0 and (z == y).all()
    assert solve(A, np.zeros_like(b), np.ones_like(b))[1] == 0
    for wrong in (dict(atol='legacy'), dict(rtol=-1.0), dict(x0='bM')):
        with pytest.raises(ValueError):
            solve(A, b, **wrong)
    with pytest.raises(ValueError, match='finite'):
        solve(A, np.full_like(b, np.inf))
    with pytest.raises(ZeroDivisionError):
        solve(sla.LinearOperator(A.shape, matvec=lambda v: 1 / 0, dtype=float), b)
    with pytest.raises(ZeroDivisionError):
        solve(A, b, callback=lambda v: 1 / 0)


@pytest.mark.parametrize('name', NAMES)
def test_singular_matrices_end(name):
    """What has no solution ends above 0, without NaN."""
    A = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    x, info = getattr(pykry.scipy, name)(A, np.array([1.0, 0, 1]), maxiter=20)
    assert info > 0 and np.isfinite(x).all()
    x, info = getattr(pykry.scipy, name)(np.zeros((3, 3)), np.ones(3), maxiter=20)
    assert info > 0 and np.isfinite(x).all()
