"""pykry.report: a solve, and its page."""
import json
import re
import warnings

import numpy as np
import pytest
from conftest import poisson

import pykry


def facts(page):
    """The numbers that a page has in it for programs."""
    return json.loads(re.search(r'<script type="application/json" id="kry">(.*?)</script>', page.read_text(), re.S).group(1))


def test_page_of_a_system(tmp_path, system):
    A, b = system
    page = tmp_path / 'solve.html'
    x, result = pykry.report(page, A, b, method='cg', rtol=1e-9, device='host', title='<mine>')
    assert result and np.linalg.norm(b - A @ x) <= 1.01e-9 * np.linalg.norm(b)
    y, plain = pykry.solve(A, b, method='cg', rtol=1e-9, device='host')
    assert np.array_equal(x, y) and result.iterations == plain.iterations
    told = facts(page)
    assert told['converged'] and told['n'] == A.shape[0] and told['nnz'] == A.nnz
    assert told['iterations'] == result.iterations and told['norm_b'] == result.norm_b
    assert '&lt;mine&gt;: converged' in page.read_text()


def test_kernels_have_times(tmp_path):
    page = tmp_path / 'solve.html'
    x, result = pykry.report(page, poisson(30), np.ones(900), method='pcg', precond='amg', device='opencl')
    assert result and 'id="kernels"' in page.read_text() and 'id="levels"' in page.read_text()
    told = facts(page)
    assert told['setup_s'] > 0 and told['matrix_s'] > 0 and told['true_residuals'][-1] <= 1e-8
    pykry.report(page, poisson(30), np.ones(900), method='cg', device=pykry.Device('opencl', times=True))
    assert 'id="kernels"' in page.read_text()


def test_a_solve_that_does_not_converge_has_a_page(tmp_path):
    page = tmp_path / 'solve.html'
    with pytest.warns(pykry.ConvergenceWarning):
        x, result = pykry.report(page, poisson(20), np.ones((400, 2)), method='cg', maxiter=3, device='host')
    assert not result and x.shape == (400, 2)
    assert facts(page)['columns'] == 2 and facts(page)['reason'] == 'iteration_limit'


def test_functions_and_preconditioners(tmp_path):
    A, page = poisson(10), tmp_path / 'solve.html'
    M = np.diag(1 / A.diagonal())
    x, result = pykry.report(page, lambda v: A @ v, np.ones(100), method='cg', M=M, device='host')
    assert result and 'Functions in place of a stored matrix' in page.read_text()


def test_a_solve_that_is_interrupted_has_a_page(tmp_path):
    page = tmp_path / 'solve.html'

    def interrupt(it):
        if it.iteration >= 5:
            raise KeyboardInterrupt
    with pytest.raises(pykry.Interrupted):
        pykry.report(page, poisson(30), np.ones(900), method='cg', check_every=1, callback=interrupt, device='host')
    assert facts(page)['reason'] == 'monitor'


def test_what_is_refused(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        with pytest.raises(pykry.ArgumentError, match='check-evry'):
            pykry.report(tmp_path / 'a.html', poisson(5), np.ones(25), device='host', check_evry=3)
        with pytest.raises(pykry.KryError, match='cannot write'):
            pykry.report(tmp_path / 'no' / 'a.html', poisson(5), np.ones(25), device='host')
    assert not list(tmp_path.iterdir())
