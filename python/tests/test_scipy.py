"""pykry.scipy beside scipy.sparse.linalg: the same signatures, the same kinds of answers."""
import functools
import inspect
import unittest.mock


import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import has_lu, random_matrix
from hypothesis import given
from hypothesis import strategies as st

import pykry.scipy

KRYLOV = {'cg': 'spd', 'minres': 'symmetric', 'gmres': 'general', 'bicgstab': 'general'}


@pytest.mark.parametrize('name', pykry.scipy.__all__)
def test_signatures_are_those_of_scipy(name):
    def bare(function):
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    assert bare(getattr(pykry.scipy, name)) == bare(getattr(sla, name))


@given(st.integers(0, 2**32 - 1), st.integers(1, 50), st.sampled_from(sorted(KRYLOV)), st.booleans())
def test_random_systems_as_scipy_solves_them(seed, n, name, column):
    rng = np.random.default_rng(seed)
    A = random_matrix(rng, n, KRYLOV[name])
    b = rng.uniform(-1, 1, (n, 1) if column else n)
    with unittest.mock.patch.object(pykry.scipy, 'Solver', functools.partial(pykry.Solver, format='csr')):
        x, info = getattr(pykry.scipy, name)(A, b, rtol=1e-9)  # one format, so that few kernels are compiled
    y, scipy_info = getattr(sla, name)(A, b, rtol=1e-9)
    assert info == 0 and scipy_info == 0
    assert x.shape == y.shape and x.dtype == y.dtype
    assert np.linalg.norm(b.ravel() - A @ x) <= 1.001e-9 * np.linalg.norm(b)
    condition = np.linalg.cond(A.toarray())
    assert np.linalg.norm(x - y) <= 1e-8 * condition * np.linalg.norm(y)


@pytest.mark.parametrize('name', sorted(KRYLOV))
def test_limits_and_zero(system, name):
    A, b = system
    solve = getattr(pykry.scipy, name)
    x, info = solve(A, b, maxiter=1)
    assert info > 0 and x.shape == b.shape
    x, info = solve(A, np.zeros_like(b))
    assert info == 0 and not x.any()
    for wrong in (np.ones(3), np.ones((len(b), 2))):
        with pytest.raises(ValueError):
            solve(A, wrong)
    with pytest.raises(ValueError):
        solve(A[:-1], b)
    with pytest.raises(TypeError, match='complex'):
        solve(A, b * 1j)


def test_limit_of_cg_is_the_number_of_iterations(system):
    A, b = system
    assert pykry.scipy.cg(A, b, maxiter=7)[1] == sla.cg(A, b, maxiter=7)[1] == 7


def test_limit_of_gmres_counts_cycles(system):
    A, b = system
    assert pykry.scipy.gmres(A, b, restart=5, maxiter=2, rtol=1e-12)[1] == 2


def test_breakdown_is_negative():
    A = sp.diags_array([1.0, -1.0, 2.0])
    try:
        x, info = pykry.scipy.cg(A, np.array([1.0, 1.0, 1.0]))
    except pykry.UnsupportedError as error:  # an entry of the diagonal that is not positive is seen before
        assert 'diagonal' in str(error)
    else:
        assert info < 0


@pytest.mark.parametrize('name', sorted(KRYLOV))
def test_guess_preconditioner_and_callback(system, name):
    A, b = system
    solve, seen = getattr(pykry.scipy, name), []
    M = sla.LinearOperator(A.shape, matvec=lambda v: v / A.diagonal(), dtype=float)
    extra = {'callback_type': 'x'} if name == 'gmres' else {}
    x, info = solve(A, b, np.ones_like(b), M=M, callback=lambda v: seen.append(np.array(v)), **extra)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-5 * np.linalg.norm(b)
    assert seen and all(v.shape == b.shape for v in seen)
    norms = [np.linalg.norm(b - A @ v) for v in seen]
    assert norms[-1] < 0.1 * norms[0]


def test_gmres_callback_of_residuals(system):
    A, b = system
    seen = []
    pykry.scipy.gmres(A, b, callback=seen.append, callback_type='pr_norm')
    assert all(isinstance(r, float) for r in seen) and seen[-1] <= 1e-5 < seen[0]
    with pytest.warns(DeprecationWarning):
        pykry.scipy.gmres(A, b, callback=seen.append)
    with pytest.raises(ValueError):
        pykry.scipy.gmres(A, b, callback=seen.append, callback_type='no')


def test_minres_shift(system):
    A, b = system
    x, info = pykry.scipy.minres(A, b, shift=0.7, rtol=1e-10)
    assert info == 0 and np.allclose(A @ x - 0.7 * x, b, atol=1e-8)
    with pytest.raises(ValueError, match='non-symmetric'):
        pykry.scipy.minres(sp.csr_array(np.triu(np.ones((4, 4)))), np.ones(4), check=True)


def test_spsolve(system):
    A, b = system
    for layout in ('csr', 'csc'):
        for rhs in (b, b[:, None], np.stack([b, 2 * b], axis=1)):
            x, y = pykry.scipy.spsolve(A.asformat(layout), rhs), sla.spsolve(A.asformat(layout), rhs)
            assert x.shape == y.shape and np.allclose(x, y, rtol=1e-10)
    B = sp.csc_array(np.eye(len(b))[:, :2])
    X = pykry.scipy.spsolve(A.tocsc(), B)
    assert sp.issparse(X) and np.allclose((A @ X).toarray(), B.toarray(), atol=1e-10)


def test_spsolve_of_a_general_and_a_singular_matrix():
    rng = np.random.default_rng(4)
    A = random_matrix(rng, 30, 'general')
    if not has_lu():
        with pytest.raises(pykry.UnsupportedError, match='KLU of SuiteSparse'):
            pykry.scipy.spsolve(A, np.ones(30))
        return
    assert np.allclose(A @ pykry.scipy.spsolve(A, np.ones(30)), 1, rtol=1e-10)
    with pytest.warns(sla.MatrixRankWarning):
        x = pykry.scipy.spsolve(sp.csr_array(np.array([[1.0, 2], [2, 4]])), np.ones(2))
    assert np.isnan(x).all()
