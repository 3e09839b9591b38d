"""pykry.report: the page that the program draws, of a system that Python has."""
import json
import os
import re
import shutil

import numpy as np
import pytest
from conftest import poisson

import pykry


@pytest.fixture(autouse=True)
def program():
    if not os.path.exists(os.environ.get('PYKRY_PROGRAM') or shutil.which('kry') or ''):
        pytest.skip('the program kry is not here')


def facts(page):
    """The numbers that a page has in it for programs."""
    return json.loads(re.search(r'<script type="application/json" id="kry">(.*?)</script>', page.read_text(), re.S).group(1))


def test_page_of_a_system(tmp_path, system):
    A, b = system
    page = tmp_path / 'solve.html'
    told = pykry.report(page, A, b, method='cg', rtol=1e-9, device='host')
    assert told['converged'] and told['n'] == A.shape[0] and told['nnz'] == A.nnz
    assert np.isclose(told['norm_b'], np.linalg.norm(b), rtol=1e-12)
    assert told['iterations'] == pykry.solve(A, b, method='cg', rtol=1e-9, device='host')[1].iterations
    assert facts(page)['iterations'] == told['iterations']
    assert '<section' in page.read_text() and 'https://' not in re.sub(r'http://www.w3.org\S*', '', page.read_text())


def test_a_solve_that_does_not_converge_has_a_page(tmp_path):
    page = tmp_path / 'solve.html'
    told = pykry.report(page, poisson(20), np.ones((400, 2)), method='cg', maxit=3, device='host')
    assert not told['converged'] and told['columns'] == 2 and facts(page)['reason'] == 'iteration_limit'


def test_errors_are_those_of_the_program(tmp_path, monkeypatch):
    page = tmp_path / 'solve.html'
    with pytest.raises(pykry.KryError, match='--check-evry'):
        pykry.report(page, poisson(5), np.ones(25), check_evry=3)
    with pytest.raises(TypeError, match='another process'):
        pykry.report(page, pykry.Solver(poisson(5), method='cg'), np.ones(25))
    monkeypatch.setenv('PYKRY_PROGRAM', '')
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(FileNotFoundError, match='PYKRY_PROGRAM'):
        pykry.report(page, poisson(5), np.ones(25))
    assert not page.exists()
