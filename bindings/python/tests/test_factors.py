"""pykry.scipy.splu and factorized beside SciPy's."""
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import has_lu, random_matrix
from hypothesis import given
from hypothesis import strategies as st

import pykry
from pykry.scipy import factorized, splu


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), layout=st.sampled_from(['csr', 'csc', 'dense']))
def test_random_matrices(seed, n, layout):
    rng = np.random.default_rng(seed)
    A = random_matrix(rng, n, 'general' if has_lu() else 'spd')
    factors = splu(A.toarray() if layout == 'dense' else A.asformat(layout))
    theirs = sla.splu(A.tocsc())
    assert factors.shape == (n, n)
    condition = np.linalg.cond(A.toarray())
    for b in (rng.uniform(-1, 1, n), rng.uniform(-1, 1, (n, 1)), rng.uniform(-1, 1, (n, 3))):
        for trans in 'NTH':
            x, y = factors.solve(b, trans), theirs.solve(b, trans)
            assert x.shape == y.shape and np.linalg.norm(x - y) <= 1e-14 * condition * np.linalg.norm(y)
    assert np.allclose(factorized(A)(b), factors.solve(b), rtol=1e-14)


def test_refusals():
    with pytest.raises(ValueError, match='square'):
        splu(sp.csr_array(np.ones((2, 3))))
    with pytest.raises(TypeError, match='LinearOperator'):
        splu(sla.aslinearoperator(np.eye(2)))
    factors = splu(sp.csr_array(np.diag([1.0, 2])))
    with pytest.raises(ValueError, match='trans'):
        factors.solve(np.ones(2), 'X')
    with pytest.raises(ValueError, match='shape'):
        factors.solve(np.ones(3))
    with pytest.raises((pykry.SingularError, pykry.UnsupportedError)):
        splu(sp.csr_array(np.array([[1.0, 2], [2, 4]])))


@pytest.mark.skipif(not has_lu(), reason='no factors of general matrices in this build')
def test_singular_matrices_raise_what_scipy_raises():
    for A in (np.array([[1.0, 2], [2, 4]]), np.array([[1.0, 0], [1, 0]])):
        with pytest.raises(RuntimeError, match='singular'):
            splu(sp.csr_array(A))
