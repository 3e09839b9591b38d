"""pykry.scipy beside scipy.sparse.linalg: the same signatures, the same kinds of answers."""
import inspect
import unittest.mock

import numpy as np
import pytest
import scipy.optimize
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

    class InCsr(pykry.Solver):
        def __init__(self, *args, **words):
            super().__init__(*args, format='csr', **words)

    with unittest.mock.patch.object(pykry.scipy, 'Solver', InCsr):
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


@pytest.mark.parametrize('dtype', [np.float32, np.float64, np.complex128])
def test_minres_least_squares(dtype):
    m = 12
    line = sp.diags_array([np.full(m - 1, -1.0), np.r_[1, np.full(m - 2, 2.0), 1], np.full(m - 1, -1.0)], offsets=[-1, 0, 1])
    A = sp.csr_array(sp.kron(line, sp.identity(m)) + sp.kron(sp.identity(m), line)).astype(dtype)
    b = np.random.default_rng(1).standard_normal(m * m).astype(dtype)
    if dtype == np.complex128:
        A = A + 1j * sp.csr_array(np.zeros(A.shape))
        b = b * (1 + 2j)
    rtol = 1e-4 if dtype == np.float32 else 1e-8
    x, info = pykry.scipy.minres(A, b, rtol=rtol)
    r = b - A @ x
    assert info == 0
    if dtype != np.complex128:  # which SciPy's does not take
        assert sla.minres(A, b, rtol=rtol)[1] == 0
    assert np.linalg.norm(A @ r) <= 16 * rtol * np.linalg.norm(b) and abs(r.mean() - b.mean()) <= 10 * rtol
    shortest = np.linalg.lstsq(A.toarray(), b, rcond=1e-5)[0]
    assert np.linalg.norm(x) <= 1.01 * np.linalg.norm(shortest)


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


@pytest.mark.parametrize('name', sorted(KRYLOV))
@pytest.mark.parametrize('kind, scale', [(np.float16, 1e-4), (np.float16, 1.0), (np.float32, 1e-25), (np.float32, 1e25),
                                         (np.float64, 1e-200), (np.float64, 1e200)])
def test_norm_of_b_in_any_type(system, name, kind, scale):
    A, b = system
    b = (b * scale).astype(kind)
    for matrix in (A, A.astype(np.float32)) if kind != np.float64 else (A,):
        x, info = getattr(pykry.scipy, name)(matrix, b, rtol=1e-4)
        big = b.astype(np.longdouble)
        assert info == 0 and np.linalg.norm((big - A @ x.astype(np.longdouble)) / scale) <= 1.01e-4 * np.linalg.norm(big / scale)
        seen = []
        pykry.scipy.cg(matrix, b, rtol=1e-4, callback=seen.append)
        assert np.allclose(seen[-1] / scale, x / scale, atol=1e-2)


@pytest.mark.filterwarnings('ignore:the matrix subclass')
@pytest.mark.parametrize('name', sorted(KRYLOV))
@pytest.mark.parametrize('change', ['matrix', 'big-endian'])
def test_matrix_class_and_big_endian(system, name, change):
    A, b = system

    def of(a):
        return np.asmatrix(a) if change == 'matrix' else np.asarray(a, '>f8')

    solve, dense = getattr(pykry.scipy, name), A.toarray()
    expected = sla.spsolve(A.tocsc(), b)
    swapped = A.tocsc()
    swapped.data = swapped.data.astype('>f8')
    for args in ((of(dense), b), (A, of(b[:, None])), (swapped, b), (A, b, of(b[:, None]))):
        x, info = solve(*args, rtol=1e-10)
        assert info == 0 and type(x) is np.ndarray and x.shape == b.shape and x.dtype == np.float64 and np.allclose(x, expected)
    assert np.allclose(solve(A, b, M=of(np.diag(1 / A.diagonal())), rtol=1e-10)[0], expected)
    assert np.allclose(pykry.solve(swapped, of(b[:, None]), method='cg')[0][:, 0], expected)
    for A_, b_ in ((of(dense), b), (A, of(b[:, None])), (A, of(np.stack([b, b], axis=1)))):
        x = pykry.scipy.spsolve(A_, b_)
        assert type(x) is np.ndarray and np.allclose(x.T, expected)
    solver = pykry.Solver(A, method='cg', dtype='>f8')
    solver.update(np.asarray(2 * A.data, '>f8'))
    assert solver.dtype == np.float64 and np.allclose(2 * solver.matvec(b), expected)


@pytest.mark.parametrize('name', sorted(KRYLOV))
def test_any_tolerance(system, name):
    A, b = system
    solve = getattr(pykry.scipy, name)
    for infinite in ({'rtol': np.inf}, {'atol': np.inf}) if name != 'minres' else ({'rtol': np.inf},):
        x, info = solve(A, b, **infinite)
        assert info == 0 and not x.any()
        guess = np.arange(len(b), dtype=float)
        x, info = solve(A, b, guess, **infinite)
        assert info == 0 and np.array_equal(x, guess) and x is not guess
    for tiny in (1e-17, 1e-300, 0.0):
        x, info = solve(A, b, rtol=tiny, maxiter=300)
        assert info > 0 and np.linalg.norm(b - A @ x) <= 1e-12 * np.linalg.norm(b)
    x, info = solve(A.astype(np.float32), b.astype(np.float32), rtol=1e-9, maxiter=300)
    assert info > 0 and np.linalg.norm(b - A @ x) <= 1e-5 * np.linalg.norm(b)


def test_restarts_beyond_those_of_kry():
    A = random_matrix(np.random.default_rng(7), 400, 'general')
    b = np.ones(400)
    for restart in (129, 200, 10**6):
        x, info = pykry.scipy.gmres(A, b, restart=restart, maxiter=20, rtol=1e-8)
        assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)


@pytest.mark.parametrize('restart', [3, 7, 60])
def test_gmres_shows_the_x_of_each_cycle(system, restart):
    A, b = system
    seen, those_of_scipy = [], []
    x, info = pykry.scipy.gmres(A, b, restart=restart, maxiter=40, callback=seen.append, callback_type='x')
    sla.gmres(A, b, restart=restart, maxiter=40, callback=those_of_scipy.append, callback_type='x')
    assert abs(len(seen) - len(those_of_scipy)) <= 1 and len(seen) > 0  # the last cycle may end an iteration later
    assert np.array_equal(seen[-1], x)


@pytest.mark.parametrize('name, per', [('cg', 1), ('gmres', 1), ('bicgstab', 2), ('minres', 1)])
@pytest.mark.parametrize('callback', [False, True])
def test_functions_are_called_as_often_as_by_scipy(system, name, per, callback):
    A, b = system
    calls, seen = {'A': 0, 'M': 0}, []

    def counted(which, apply):
        def call(v):
            calls[which] += 1
            return apply(v)
        return sla.LinearOperator(A.shape, call, dtype=float)

    extra = {'restart': 100} if name == 'gmres' else {}
    if callback:
        extra.update(callback=seen.append, **({'callback_type': 'pr_norm'} if name == 'gmres' else {}))
    x, info = getattr(pykry.scipy, name)(counted('A', lambda v: A @ v), b, M=counted('M', lambda v: v / A.diagonal()), **extra)
    assert info == 0
    if callback:
        more = len(seen) if name == 'bicgstab' else 0  # whose x takes M once, and the callback wants x
        assert calls['A'] <= per * len(seen) + 2 and calls['M'] <= per * len(seen) + more + 2, (calls, len(seen))
    ours = dict(calls)
    calls.update(A=0, M=0)
    getattr(sla, name)(counted('A', lambda v: A @ v), b, M=counted('M', lambda v: v / A.diagonal()), **extra)
    if name != 'minres' and not (callback and name == 'bicgstab'):  # SciPy's minres ends by another test
        assert ours['A'] <= calls['A'] + 4 and ours['M'] <= calls['M'] + 4, (ours, calls)  # an iteration more or less


@pytest.mark.parametrize('name', sorted(KRYLOV))
@pytest.mark.parametrize('words', [dict(method='direct'), dict(method='cg', precond='jacobi', rtol=1e-3)])
def test_solver_as_preconditioner(system, name, words):
    A, b = system
    for M in (pykry.Solver(A, **words), pykry.Solver(A, dtype=np.float32, **words)):
        x, info = getattr(pykry.scipy, name)(A, b, M=M, rtol=1e-8)
        assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)
    assert getattr(pykry.scipy, name)(A, b, 'Mb', M=M)[1] == 0


def test_solver_as_inner_preconditioner_of_newton_krylov(system):
    A, b = system
    M = pykry.Solver(A, method='direct')

    def f(x):
        return A @ x + 0.1 * x**3 - b

    x = scipy.optimize.newton_krylov(f, np.zeros_like(b), inner_M=M, f_tol=1e-9)
    assert np.abs(f(x)).max() <= 1e-9
    B = A + sp.diags_array(np.linspace(0, 1, len(b)))  # not symmetric once a corner is added
    B = (B + sp.csr_array(([0.5], ([0], [9])), shape=A.shape)).tocsr()
    assert pykry.solve(B, b, M=M)[1]


@pytest.mark.parametrize('line', ['row', 'column', 'both'])
@pytest.mark.parametrize('layout', ['csr', 'csc', 'coo', 'dense'])
def test_spsolve_with_a_line_of_zeros(line, layout):
    D = np.diag(np.arange(1.0, 7)) + np.eye(6, k=1) + np.eye(6, k=-1)
    if line != 'column':
        D[3] = 0
    if line != 'row':
        D[:, 3] = 0
    A = D if layout == 'dense' else sp.csr_array(D).asformat(layout)
    for b in (np.ones(6), np.ones((6, 2))):
        with pytest.warns(sla.MatrixRankWarning):
            x = pykry.scipy.spsolve(A, b)
        assert x.shape == b.shape and np.isnan(x).all()
