"""Teams of ranks: ranks_cases.py under mpirun, and programs in which there can be no team."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import pykry

HERE = pathlib.Path(__file__).parent
MPIRUN = shutil.which('mpirun.openmpi') or shutil.which('mpirun')
ENVIRONMENT = {**os.environ, 'POCL_MAX_PTHREAD_COUNT': '1', 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def run(*command, seconds=300):
    """What a program says, in a process of its own, so that MPI is not in this one."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, env=ENVIRONMENT, cwd=HERE)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stdout


@pytest.fixture(scope='module')
def mpi():
    if not MPIRUN:
        pytest.skip('there is no mpirun (openmpi-bin)')
    probe = subprocess.run([sys.executable, '-c', 'from mpi4py import MPI'], capture_output=True, text=True, env=ENVIRONMENT)
    if probe.returncode:
        pytest.skip(f'mpi4py does not work here: {probe.stderr.strip().splitlines()[-1]}')


@pytest.mark.parametrize('ranks', [1, 2, 4])
def test_cases(mpi, ranks, tmp_path):
    openmpi = re.search('Open MPI|OpenRTE', run(MPIRUN, '--version'))
    more = ['--oversubscribe', '--mca', 'mpi_yield_when_idle', '1'] if openmpi else []
    said = run(MPIRUN, *more, '-n', ranks, sys.executable, 'ranks_cases.py', tmp_path)
    assert said.count('done') == ranks and len(re.findall(r'^\w+: [0-9.]+ s$', said, re.M)) == 11, said


def test_mpi_that_is_not_as_kry_needs_it(mpi):
    run(sys.executable, '-c', '''if True:
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import pykry
        import pytest
        with pytest.raises(RuntimeError, match='not initialised'):
            pykry.ranks.Team()
        level = MPI.Init_thread(MPI.THREAD_SINGLE)
        if level < MPI.THREAD_FUNNELED:
            with pytest.raises(RuntimeError, match='thread level'):
                pykry.ranks.Team()
        MPI.Finalize()
        with pytest.raises(RuntimeError, match='finalised already'):
            pykry.ranks.Team()
        ''')


def test_team_that_outlives_mpi(mpi):
    """Nothing is sent when it is released, and the communicator is not freed twice."""
    run(sys.executable, '-c', '''if True:
        from mpi4py import MPI
        import numpy as np
        import pykry
        team = pykry.ranks.Team()
        solver = pykry.Solver(2 * np.eye(5), device=team, method='cg')
        assert solver.solve(np.ones(5))[1]
        MPI.Finalize()
        team.close()
        del team, solver
        ''')


def test_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mpi4py', None)
    with pytest.raises(ImportError, match='python3-mpi4py'):
        pykry.ranks.Team()
