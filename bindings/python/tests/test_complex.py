"""Complex systems, which pykry.scipy solves as real ones."""
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import has_lu, random_matrix
from hypothesis import given, settings
from hypothesis import strategies as st

import pykry.scipy

KRYLOV = {'cg': 'spd', 'minres': 'symmetric', 'gmres': 'general', 'bicgstab': 'general', 'lgmres': 'general', 'gcrotmk': 'general'}


def random_complex(rng, n, kind):
    A = random_matrix(rng, n, kind).toarray()
    B = np.where(A, rng.uniform(-1, 1, (n, n)), 0) * 0.3
    B = B - B.T if kind != 'general' else B
    weight = np.abs(B).sum(axis=1)
    return sp.csr_array(A + 1j * B + np.diag(weight * (1 if kind != 'symmetric' else np.where(np.arange(n) % 2, 1, -1))))


@pytest.mark.parametrize('name', KRYLOV)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), which=st.sampled_from(['A', 'b', 'both', 'x0', 'M']),
       form=st.sampled_from(['sparse', 'dense', 'function']), single=st.booleans())
def test_random_systems(name, seed, n, which, form, single):
    rng = np.random.default_rng(seed)
    A = random_complex(rng, n, KRYLOV[name]) if which in ('A', 'both') else random_matrix(rng, n, KRYLOV[name])
    b, x0, M = rng.uniform(-1, 1, n), None, None
    b = b + 1j * rng.uniform(-1, 1, n) if which in ('b', 'both') else b
    if which == 'x0':
        x0 = 1j * rng.uniform(-1, 1, n)
    if which == 'M':
        M = sp.diags_array(1 / np.abs(A.diagonal())).astype(complex)
    if single:
        A, b = (a.astype(np.complex64 if a.dtype.kind == 'c' else np.float32) for a in (A, b))
        x0 = None if x0 is None else x0.astype(np.complex64)
        M = None if M is None else M.astype(np.complex64)
    rtol, S, given_b = 1e-4 if single else 1e-9, A, b.copy()
    if form != 'sparse':
        A = A.toarray() if form == 'dense' else sla.aslinearoperator(A)
    x, info = getattr(pykry.scipy, name)(A, b, x0, rtol=rtol, M=M)
    assert info == 0 and x.shape == b.shape and x.dtype == (np.complex64 if single else np.complex128)
    assert np.linalg.norm(b - S @ x.astype(complex)) <= 1.05 * rtol * np.linalg.norm(b) and (b == given_b).all()


@pytest.mark.parametrize('name', ['lsqr', 'lsmr'])
def test_least_squares_as_scipy(name):
    rng = np.random.default_rng(3)
    A = rng.uniform(-1, 1, (60, 20)) + 1j * rng.uniform(-1, 1, (60, 20))
    b = rng.uniform(-1, 1, 60) + 1j * rng.uniform(-1, 1, 60)
    for operator in (A, sp.csr_array(A), sla.aslinearoperator(A)):
        ours, theirs = getattr(pykry.scipy, name)(operator, b, atol=1e-10), getattr(sla, name)(A, b, atol=1e-10)
        assert ours[1] == theirs[1] and abs(ours[2] - theirs[2]) <= 1
        assert np.allclose(ours[0], np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-8)
        assert np.allclose(ours[3:5], theirs[3:5], atol=1e-7)


def test_callbacks_and_what_is_carried():
    rng = np.random.default_rng(4)
    A, b = random_complex(rng, 60, 'spd'), rng.uniform(-1, 1, 60) + 1j
    ours, theirs = [], []
    pykry.scipy.cg(A, b, rtol=1e-8, callback=lambda x: ours.append(x.copy()))
    sla.cg(A, b, rtol=1e-8, callback=lambda x: theirs.append(x.copy()))
    assert abs(len(ours) - len(theirs)) <= 1 and all(x.dtype.kind == 'c' and x.shape == b.shape for x in ours)
    assert np.allclose(ours[2], theirs[2])
    kept = []
    pykry.scipy.lgmres(A, b, inner_m=4, outer_v=kept)
    assert kept and all(np.allclose(A @ v, Av) for v, Av in kept)
    x, info = pykry.scipy.lgmres(A, b, inner_m=4, outer_v=kept)
    assert info == 0
    seen = []
    pykry.scipy.gmres(A, b, callback=seen.append, callback_type='pr_norm')
    assert all(isinstance(r, float) for r in seen)


def test_preconditioners_that_are_solvers_of_real_matrices():
    rng = np.random.default_rng(5)
    A = random_complex(rng, 50, 'general')
    M = pykry.Solver(sp.csr_array(A.real), method='gmres', rtol=1e-6)
    x, info = pykry.scipy.gcrotmk(A, np.ones(50), M=M, rtol=1e-9)
    assert info == 0 and np.linalg.norm(A @ x - 1) <= 1.001e-9 * np.sqrt(50)


@pytest.mark.parametrize('kind', ['spd', 'general'])
def test_factors(kind):
    if kind == 'general' and not has_lu():
        pytest.skip('no factors of general matrices in this build')
    rng = np.random.default_rng(6)
    A = random_complex(rng, 30, kind)
    b, B = rng.uniform(-1, 1, 30) + 1j, rng.uniform(-1, 1, (30, 2)) + 1j
    for matrix, right in ((A, b), (A, B), (A, b.real), (sp.csr_array(A.real), B), (A, sp.csc_array(B))):
        x = pykry.scipy.spsolve(matrix, right)
        x, right = (a.toarray() if sp.issparse(a) else a for a in (x, right))
        assert x.shape == right.shape and np.allclose(matrix @ x, right, rtol=1e-10)
    for trans, C in (('N', A), ('T', A.T), ('H', A.conj().T)):
        assert np.allclose(C @ pykry.scipy.splu(A).solve(B, trans), B, rtol=1e-10)
        real = pykry.scipy.splu(sp.csr_array(A.real))
        assert np.allclose(C.real @ real.solve(b, trans), b, rtol=1e-10)


def test_pykry_solve_still_refuses_them():
    with pytest.raises(TypeError, match='complex'):
        pykry.solve(np.eye(3) * 1j, np.ones(3))
