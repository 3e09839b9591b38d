"""SciPy's own tests of its iterative methods, run with pykry.scipy in the place of scipy.sparse.linalg.

SciPy brings them along. This file is a plugin of pytest for a run of theirs in a process of its own: it puts pykry's
functions where they import SciPy's, and marks those of `DIFFERENT` as failures that are expected. One that passes although
it is expected to fail makes that run fail, as does an entry of `DIFFERENT` that is no test.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

import pytest
import scipy.sparse.linalg as sla
import scipy.sparse.linalg._isolve as isolve

TESTS = ('test_iterative', 'test_minres', 'test_lsqr', 'test_lsmr', 'test_lgmres', 'test_gcrotmk')
# Of methods that pykry does not have: what stands in brackets at the end of a test's name, or ends it.
LEFT = ('bicg', 'cgs', 'qmr', 'tfqmr', 'leftright_precond')
# Name of a test, with * for any text: why it fails.
DIFFERENT = {
    'test_convergence[sym-nonpd-bicgstab]': "SciPy's breaks down there, and the test wants that; pykry's converges",
    'test_callback': 'the residuals are those of A x = b, not of the system that M multiplies from the left',
    'test_singular': 'its matrix is not symmetric, and is refused with the entry that is not',
    'test_nans': 'a matrix with NaN is refused, with the entry that is',
    'test_CU': 'pykry takes one product less than the test wants',
    'test_outer_v': 'a guess of zeros is not multiplied: one product less than the test wants',
    'test_preconditioner': 'a guess of zeros is not multiplied: one product less than the test wants',
}


def pytest_configure(config):
    import pykry.scipy
    for name in pykry.scipy.__all__:
        if hasattr(isolve, name):
            for module in (isolve, sla):
                setattr(module, name, getattr(pykry.scipy, name))


def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if not any(re.search(rf'\b{name}\]|{name}$', item.name) for name in LEFT)]
    unused = set(DIFFERENT)
    for item in items:
        for pattern, reason in DIFFERENT.items():
            if fnmatch.fnmatchcase(item.name, pattern.replace('[', '[[]')):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                unused.discard(pattern)
    if unused:
        raise pytest.UsageError(f'DIFFERENT has entries that are no test: {sorted(unused)}')


@pytest.mark.skipif(not list(pathlib.Path(isolve.__file__).parent.glob('tests/test_iterative.py')),
                    reason="this SciPy comes without its tests")
def test_those_of_scipy():
    here = str(pathlib.Path(__file__).parent)
    env = {**os.environ, 'PYTHONPATH': os.pathsep.join([here, os.environ.get('PYTHONPATH', '')])}
    modules = [f'scipy.sparse.linalg._isolve.tests.{name}' for name in TESTS]
    run = subprocess.run([sys.executable, '-m', 'pytest', '-q', '--tb=short', '-p', pathlib.Path(__file__).stem, '-p',
                          'no:cacheprovider', '--rootdir', here, '--pyargs', *modules], env=env, capture_output=True, text=True)
    print(run.stdout[-6000:], run.stderr[-2000:])
    assert run.returncode == 0
