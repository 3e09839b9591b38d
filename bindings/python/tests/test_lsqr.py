"""pykry.scipy.lsqr and lsmr beside NumPy's lstsq and SciPy's own functions."""
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from hypothesis import given
from hypothesis import strategies as st

import pykry.scipy

TIGHT = {'atol': 1e-13, 'btol': 1e-13, 'conlim': 0}
LIMIT = {'lsqr': 'iter_lim', 'lsmr': 'maxiter'}


def random_rectangle(rng, rows, cols):
    A = sp.random_array((rows, cols), density=min(1, 4 / cols), rng=rng, data_sampler=lambda size: rng.uniform(-1, 1, size))
    return (A + sp.eye_array(rows, cols)).tocsr()


@pytest.mark.parametrize('name', LIMIT)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 40), cols=st.integers(1, 40), damp=st.sampled_from([0.0, 0.3]),
       guessed=st.booleans(), as_function=st.booleans())
def test_the_least_squares_solution(name, seed, rows, cols, damp, guessed, as_function):
    rng = np.random.default_rng(seed)
    A, b = random_rectangle(rng, rows, cols), rng.uniform(-1, 1, rows)
    x0 = rng.uniform(-1, 1, cols) if guessed else None
    given_b, given_x0 = b.copy(), None if x0 is None else x0.copy()
    x, istop, itn, *norms = getattr(pykry.scipy, name)(sla.aslinearoperator(A) if as_function else A, b, damp=damp, x0=x0,
                                                       **TIGHT, **{LIMIT[name]: 10000})
    start = np.zeros(cols) if x0 is None else x0
    extended = np.vstack([A.toarray(), damp * np.eye(cols)])
    y = start + np.linalg.lstsq(extended, np.concatenate([b - A @ start, np.zeros(cols)]), rcond=1e-12)[0]
    condition = np.linalg.cond(extended)
    assert istop in (1, 2, 4, 5)
    if condition < 1e5:
        assert np.linalg.norm(x - y) <= 1e-11 * condition**2 * (1 + np.linalg.norm(y))
    r = b - A @ x
    r2 = np.hypot(np.linalg.norm(r), damp * np.linalg.norm(x - start))
    g = np.linalg.norm(A.T @ r - damp**2 * (x - start))
    told = (norms[1], norms[4], norms[5]) if name == 'lsqr' else (norms[0], norms[1], norms[4])
    assert np.allclose(told, (r2, g, np.linalg.norm(x)), rtol=1e-9, atol=1e-12)
    assert (b == given_b).all() and (x0 is None or (x0 == given_x0).all())


@pytest.mark.parametrize('name', LIMIT)
@pytest.mark.parametrize('shape', [(300, 80), (80, 300), (120, 120)])
def test_as_many_iterations_and_the_same_estimates_as_scipy(name, shape):
    rng = np.random.default_rng(5)
    # With 2 more on the diagonal both end within few iterations: estimates of later ones are of rounding errors.
    A, b = random_rectangle(rng, *shape) + 2 * sp.eye_array(*shape), rng.uniform(-1, 1, shape[0])
    ours, theirs = getattr(pykry.scipy, name)(A, b), getattr(sla, name)(A, b)
    assert ours[1] == theirs[1] < 7 and abs(ours[2] - theirs[2]) <= 1
    assert np.allclose(ours[0], theirs[0], atol=1e-4)
    assert np.allclose(ours[5:7], theirs[5:7], rtol=1e-8)  # ||A||, cond(A)


@pytest.mark.parametrize('name', LIMIT)
def test_ends(name, capsys):
    solve, theirs = getattr(pykry.scipy, name), getattr(sla, name)
    graded = np.diag(np.logspace(0, -9, 30))
    b = np.ones(30)
    assert solve(graded, b, conlim=1e3, **{LIMIT[name]: 500})[1] == theirs(graded, b, conlim=1e3, **{LIMIT[name]: 500})[1] == 3
    x, istop, itn, *_ = solve(graded, b, conlim=0, show=True, **{LIMIT[name]: 4})
    assert istop == 7 and itn == 4
    shown = capsys.readouterr().out
    assert name in shown and len(shown.splitlines()) == 2 + 4 + 1
    x, istop, itn, *_ = solve(graded, np.zeros(30))
    assert istop == 0 and itn == 0 and not x.any()
    exact = np.arange(30.0)
    x, istop, itn, *_ = solve(np.eye(30), exact, x0=exact)
    assert istop == 0 and (x == exact).all()


def test_tiny_and_huge_numbers_do_not_end_it_early():
    A = np.eye(20, k=0) * 2e-170 - np.eye(20, k=-1) * 1e-170
    for name in LIMIT:
        x, istop, itn, *_ = getattr(pykry.scipy, name)(A, np.full(20, 1e-170), atol=1e-12, btol=1e-12, **{LIMIT[name]: 100})
        assert istop == 1 and np.linalg.norm(A / 1e-170 @ x - 1) <= 1e-9, name


def test_variances():
    A, b = random_rectangle(np.random.default_rng(2), 60, 12), np.ones(60)
    var = pykry.scipy.lsqr(A, b, calc_var=True, **TIGHT, iter_lim=100)[9]
    assert np.allclose(var, sla.lsqr(A, b, calc_var=True, **TIGHT, iter_lim=100)[9], rtol=1e-6)


@pytest.mark.parametrize('name', LIMIT)
def test_refusals(name):
    solve = getattr(pykry.scipy, name)
    A = np.ones((3, 2))
    with pytest.raises(ValueError, match=rf'{name}: b has the shape \(2,\)'):
        solve(A, np.ones(2))
    with pytest.raises(ValueError, match='x0 has the shape'):
        solve(A, np.ones(3), x0=np.ones(3))
    with pytest.raises(ValueError, match='not finite, at 1'):
        solve(A, [1.0, np.nan, 2.0])
    with pytest.raises(ZeroDivisionError):
        solve(sla.LinearOperator((3, 2), matvec=lambda v: v[0] / 0, rmatvec=lambda u: 1 / 0, dtype=float), np.ones(3))
