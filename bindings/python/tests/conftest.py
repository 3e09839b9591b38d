"""Matrices and settings that tests share."""
import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp

import pykry

hypothesis.settings.register_profile('kry', deadline=None, max_examples=25, print_blob=True)
hypothesis.settings.load_profile('kry')


def poisson(m, n=None):
    """The five-point operator on an m-by-n grid."""
    def line(k):
        return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(k, k))
    n = n or m
    return (sp.kron(sp.eye_array(n), line(m)) + sp.kron(line(n), sp.eye_array(m))).tocsr()


def random_matrix(rng, n, kind):
    """A sparse matrix that is "spd", "symmetric" or "general", well enough conditioned for every method."""
    A = sp.random_array((n, n), density=min(1, 5 / n), rng=rng, data_sampler=lambda size: rng.uniform(-1, 1, size))
    A = (A + A.T) if kind != 'general' else A
    weight = np.asarray(abs(A).sum(axis=1)).ravel() + rng.uniform(0.5, 1.5, n)
    if kind == 'symmetric':
        weight[::2] *= -1
    return (A + sp.diags_array(weight)).tocsr()


def has_lu():
    """Whether this build of the library has KLU or UMFPACK, for factors of any matrix."""
    try:
        pykry.Solver(sp.csr_array(np.array([[0.0, 1], [2, 0]])), method='direct', device='host')
    except pykry.UnsupportedError:
        return False
    return True


@pytest.fixture
def system():
    A = poisson(17, 13)
    b = np.random.default_rng(1).uniform(-1, 1, A.shape[0])
    return A, b
