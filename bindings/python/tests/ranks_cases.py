"""ranks_cases.py FOLDER - what one rank of `mpirun -n N` does for test_ranks.py: all cases, one after the other."""
import contextlib
import gc
import os
import pathlib
import re
import signal
import sys
import time
import warnings

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import poisson
from mpi4py import MPI

import pykry

WORLD = MPI.COMM_WORLD
LAST = WORLD.rank == WORLD.size - 1  # the rank that does something else


def cut(n, rank=WORLD.rank, size=WORLD.size):
    """The rows of a rank: more on each than on the one before."""
    return slice(n * rank * (rank + 1) // (size * (size + 1)), n * (rank + 1) * (rank + 2) // (size * (size + 1)))


def close(x, expected, apart):
    np.testing.assert_allclose(x, expected, rtol=0, atol=apart)


def raised(kind, function, *arguments, says='', alike=True, **words):
    """See that all ranks raise an error of this kind, those that are told of it with one message; returns it."""
    try:
        function(*arguments, **words)
    except Exception as error:
        caught = error
    else:
        caught = None
    told = WORLD.allgather(f'{type(caught).__name__}: {caught}')
    assert isinstance(caught, kind), told
    assert says in str(caught), told
    assert not alike or len({said for said in told if re.search(r'rank \d+ of', said)}) <= 1, told
    return caught


def works(team):
    A, mine = poisson(7), cut(49)
    x, result = pykry.solve(A[mine], np.ones(49)[mine], device=team, method='cg', rtol=1e-12)
    assert result
    close(x, sla.spsolve(A.tocsc(), np.ones(49))[mine], 1e-10)


# ---- solves --------------------------------------------------------------------------------------


def solves(team, folder):
    """Against SciPy, and with as many iterations as on one device."""
    A, n = poisson(12, 17), 12 * 17
    b, mine = np.random.default_rng(3).standard_normal((n, 2)), cut(n)
    expected = sla.spsolve(A.tocsc(), b)
    for words in [dict(method='cg'), dict(method='pcg', precond='jacobi'), dict(method='minres'), dict(method='pipe-cg')]:
        _, one = pykry.solve(A, b[:, 0], rtol=1e-10, **words)
        x, result = pykry.solve(A[mine], b[mine, 0], device=team, rtol=1e-10, **words)
        assert result and result.iterations == one.iterations, (words, result.iterations, one.iterations)
        assert np.isclose(result.norm_b, np.linalg.norm(b[:, 0])), words
        close(x, expected[mine, 0], 1e-8)
    solver = pykry.Solver(A[mine], device=team, method='pcg', precond='jacobi', rtol=1e-11)
    assert solver.shape == (mine.stop - mine.start,) * 2
    x, result = solver.solve(b[mine])
    assert result and len(result.columns) == 2 and x.shape == b[mine].shape
    close(x, expected[mine], 1e-8)
    x, result = solver.solve(b[mine, 0], x0=expected[mine, 0])
    assert result.iterations <= 1
    solver.update(2 * A[mine])
    close(2 * solver.solve(b[mine, 0])[0], expected[mine, 0], 1e-8)
    solver.update(A[mine].data)
    for given in (A[mine].tocsc(), A[mine].tocsc().tocoo()):  # whose numbers are in another order than those of CSR
        other = pykry.Solver(given, device=team, method='cg')
        other.update(2 * given.data)
        close(2 * other.solve(b[mine, 0])[0], expected[mine, 0], 1e-6)
    close(solver @ b[mine, 0], expected[mine, 0], 1e-8)
    solver.set_tolerance(rtol=1e-2)
    assert solver.solve(b[mine, 0])[1].iterations < result.iterations + 40
    single, result = pykry.solve(A[mine], b[mine, 0], device=team, method='cg', dtype=np.float32, rtol=1e-5)
    assert result and single.dtype == np.float32
    close(single, expected[mine, 0], 1e-2)


def preconditions(team, folder):
    """By a matrix, and by a solver that is on the same team."""
    A, n = poisson(12, 17), 12 * 17
    b, mine = np.random.default_rng(4).standard_normal(n), cut(n)
    expected = sla.spsolve(A.tocsc(), b)[mine]
    M = sp.diags_array(1 / A.diagonal()).tocsr()[mine]
    x, result = pykry.solve(A[mine], b[mine], device=team, method='cg', M=M, rtol=1e-11)
    assert result
    close(x, expected, 1e-8)
    rough = pykry.Solver(A[mine], device=team, method='cg', rtol=1e-2)
    x, result = pykry.solve(A[mine], b[mine], device=team, method='fgmres', M=rough, rtol=1e-10)
    assert result and result.iterations < 20
    close(x, expected, 1e-7)
    raised(TypeError, pykry.Solver, A[mine], device=team, M=M, says='a method has to be named')


def rows(team, folder):
    """None on the first rank, columns in any order and twice, indices of 64 bits, other formats."""
    n, rank, size = 60, team.rank, team.size
    mine = cut(n) if size == 1 else cut(n, rank - 1, size - 1) if rank else slice(0, 0)
    A = poisson(6, 10)
    here, expected = A[mine].tocoo(), sla.spsolve(A.tocsc(), np.ones(n))[mine]
    assert team.count_rows(here.shape[0]) == (mine.start, n)
    twice = [np.concatenate([part[::-1], part]) for part in (here.row, here.col, here.data / 2)]
    order = np.lexsort((np.arange(len(twice[0])), twice[0]))  # rows together, columns not ascending
    row, col, val = (part[order] for part in twice)
    row_ptr = np.searchsorted(row, np.arange(here.shape[0] + 1)).astype(np.int64)
    unsorted = sp.csr_array(here.shape)
    unsorted.indptr, unsorted.indices, unsorted.data = row_ptr, col.astype(np.int64), val
    for given in (unsorted, here, here.tocsc(), here.toarray()):
        x, result = pykry.solve(given, np.ones(here.shape[0]), device=team, method='cg', rtol=1e-12)
        assert result and x.shape == expected.shape
        close(x, expected, 1e-9)


def same_bits(team, folder):
    """On a reproducible team those of one device that is a reproducible team."""
    n, unit = 4096, 4096 // 4
    A, b = poisson(64), np.random.default_rng(5).standard_normal(4096)
    ranks = min(team.size, 4)
    mine = slice(*(min(r, ranks) * unit * (4 // ranks) for r in (team.rank, team.rank + 1)))
    words = dict(method='pcg', precond='jacobi', rtol=1e-8)
    x, result = pykry.solve(A[mine], b[mine], device=pykry.ranks.Team(reproducible=True), **words)
    alone = pykry.ranks.Team(MPI.COMM_SELF, reproducible=True)
    expected, one = pykry.solve(A, b, device=alone, **words)
    assert result.iterations == one.iterations and result.true_residual == one.true_residual
    assert np.array_equal(x, expected[mine])
    assert n == A.shape[0]


# ---- files and pages -----------------------------------------------------------------------------


def files(team, folder):
    """Matrices and vectors of Matrix Market and of PETSc, of which each rank has its share."""
    A = poisson(9, 11)
    b = np.random.default_rng(6).standard_normal(99)
    expected = sla.spsolve(A.tocsc(), b)
    if team.rank == 0:
        scipy.io.mmwrite(folder / 'A.mtx', A, symmetry='symmetric')
        scipy.io.mmwrite(folder / 'b.mtx', b[:, None])
    WORLD.Barrier()
    mine = team.read_matrix(folder / 'A.mtx')
    first, whole = team.count_rows(mine.shape[0])
    assert mine.shape[1] == whole == 99 and abs(mine - A[first:first + mine.shape[0]]).max() < 1e-15
    here = slice(first, first + mine.shape[0])
    own_b = team.read_vector(folder / 'b.mtx')
    assert np.array_equal(own_b, b[here])
    x, result = pykry.solve(mine, own_b, device=team, method='cg', rtol=1e-12)
    close(x, expected[here], 1e-10)
    team.write_vector(folder / 'x.mtx', x)
    team.write_vector(folder / 'x.petsc', x, petsc=True)
    team.write_vector(folder / 'both.mtx', np.stack([x, 2 * x], axis=1))
    WORLD.Barrier()
    written = scipy.io.mmread(folder / 'x.mtx')
    close(written[:, 0], expected, 1e-10)
    assert np.array_equal(written[here, 0], x) and np.array_equal(team.read_vector(folder / 'x.petsc'), x)
    assert scipy.io.mmread(folder / 'both.mtx').shape == (99, 2)
    raised(pykry.KryError, team.read_matrix, folder / 'none.mtx', says='none.mtx')
    raised(ValueError, team.write_vector, folder / 'y.mtx', np.ones((2, 2, 2)) if LAST else x, says='3 dimensions')


def reports(team, folder):
    """The first rank writes the page of all."""
    page = folder / 'ranks.html'
    A, mine = poisson(10), cut(100)
    x, result = pykry.report(page, A[mine], np.ones(100)[mine], device=team, method='cg')
    WORLD.Barrier()
    assert result and ('Balance of the ranks' in page.read_text() or team.size == 1)


# ---- what goes wrong -----------------------------------------------------------------------------


def refusals(team, folder):
    """What is wrong on one rank is raised on all, and the next call works."""
    A, mine = poisson(10), cut(100)
    good, b = A[mine], np.ones(100)[mine]
    rank = f'rank {team.size - 1} of {team.size}: ' if team.size > 1 and not LAST else ''
    solver = pykry.Solver(good, device=team, method='cg')

    def other(wrong, right):
        return wrong if LAST else right

    raised(ValueError, solver.solve, other(b[:-1], b), says=rank)
    raised(ValueError, solver.solve, b, other(b[:-1], b), says='x0 has the shape')
    raised(TypeError, solver.solve, other(b * 1j, b), says=rank)
    raised(pykry.KryError, solver.solve, other(b * np.nan, b), says='is nan')
    raised(ValueError, solver.update, other(good.data[1:], good.data), says='update: numbers of shape')
    raised(TypeError, pykry.Solver, other(good * 1j, good), device=team, says=rank)
    raised(TypeError, pykry.solve, good, other(b * 1j, b), device=team, says=rank)
    raised(ValueError, pykry.Solver, good[:, :50], device=team, says='all columns')
    raised(ValueError, pykry.Solver, good, device=team, method='cg', rtol=other(-1, 1e-8), says='rtol=-1')
    raised(ValueError, pykry.Solver, good, device=team, format=other('nothing', 'csr'), says='nothing')
    raised(pykry.KryError, pykry.Solver, good, device=team, method='nothing', says='nothing')
    raised(NotImplementedError, pykry.solve, lambda v: v, b, device=team, method='cg')
    raised(TypeError, pykry.Solver, other([['a']], good), device=team, says=rank)
    outside = sp.csr_array(good.shape)
    outside.indptr, outside.indices, outside.data = good.indptr, other(good.indices + 99, good.indices), good.data
    raised(pykry.ArgumentError, pykry.Solver, outside, device=team, says='is outside [0, 100)')
    works(team)
    if team.size > 1:  # ranks that do different things
        differ = 'ranks differ: rank 0 of '
        raised(pykry.KryError, pykry.Solver, good, device=team, method=other('minres', 'cg'), says=differ)
        raised(pykry.KryError, pykry.Solver, good, device=team, dtype=other('f4', 'f8'), says=differ)
        raised(pykry.KryError, solver.set_tolerance, other(1e-3, 1e-4), says=differ)
        raised(pykry.KryError, other(lambda: solver.update(good), lambda: solver.solve(b)), says='calls pykry.Solver.solve')
        raised(pykry.KryError, solver.solve, b, other(b, None), says=differ)
        raised(pykry.KryError, solver.solve, other(np.stack([b, b], axis=1), b), says=differ)
    works(team)
    assert solver.solve(b)[1]


def teams(team, folder):
    """Teams that cannot be made, and of some of the processes."""
    raised(TypeError, pykry.ranks.Team, 'all', says='no mpi4py.MPI.Intracomm')
    raised(ValueError, pykry.ranks.Team, MPI.COMM_NULL, says='COMM_NULL')
    raised(RuntimeError, pykry.ranks.Team, device='nothing' if LAST else None, says='nothing')
    raised(Exception, pykry.ranks.Team, device=3.5, says='no Device')
    raised(Exception, pykry.ranks.Team, shares=[1.0] * (WORLD.size + 1), says='shares')
    raised(pykry.ArgumentError, pykry.ranks.Team, timeout=-1)
    with pykry.ranks.Team(device='host') as hosts:
        mine = cut(49, WORLD.rank, WORLD.size)
        solver = pykry.Solver(poisson(7)[mine], device=hosts, method='pcg', precond='jacobi')
        assert solver.solve(np.ones(49)[mine])[1]
    del solver
    half = WORLD.Split(WORLD.rank % 2)
    mine = cut(49, half.rank, half.size)
    with pykry.ranks.Team(half, shares=[1.0] * half.size) as small:
        assert (small.rank, small.size) == (half.rank, half.size) and f'rank {half.rank} of' in repr(small)
        solver = pykry.Solver(poisson(7)[mine], device=small, method='cg')
        assert solver.solve(np.ones(49)[mine])[1]
    error = raised(pykry.KryError, solver.solve, np.ones(49)[mine], says='the transport failed', alike=False)
    assert 'is closed' in str(error.__cause__)
    small.close()
    half.Free()
    del small, solver
    gc.collect()
    works(team)


# ---- callbacks, Ctrl-C, messages that fail -------------------------------------------------------


def callbacks(team, folder):
    """Each rank's is called; one that stops, or raises, does so for all."""
    A, mine = poisson(20), cut(400)
    b, seen = np.random.default_rng(7).standard_normal(400)[mine], []

    def look(it):
        seen.append((it.iteration, solver.iterate().shape))
        return LAST and it.iteration >= 4

    solver = pykry.Solver(A[mine], device=team, method='cg', check_every=2, rtol=1e-12, callback=look)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', pykry.ConvergenceWarning)
        x, result = solver.solve(b)
    assert not result and result.reason == 'monitor' and seen == [(i, b.shape) for i in (0, 2, 4)], seen

    def fails(it):
        if LAST and it.iteration >= 4:
            raise LookupError('no more')

    solver = pykry.Solver(A[mine], device=team, method='cg', check_every=2, rtol=1e-12, callback=fails)
    raised(LookupError if LAST else pykry.KryError, solver.solve, b, says='no more')
    works(team)


class Sends:
    """A communicator in a team's place that does something else before it begins what is named."""

    def __init__(self, comm, name, before):
        self._comm, self._name, self._before = comm, name, before

    def __getattr__(self, name):
        if name == self._name:
            self._before()
        return getattr(self._comm, name)


@contextlib.contextmanager
def between(team, name, before):
    comm = team._transport.comm
    team._transport.comm = Sends(comm, name, before)
    try:
        yield
    finally:
        team._transport.comm = comm


def interrupts(team, folder):
    """Ctrl-C on one rank ends a solve on all, each with its iterate; elsewhere it waits until the call is over."""
    A, mine = poisson(20), cut(400)
    b, pressed = np.random.default_rng(8).standard_normal(400)[mine], []

    def press():
        if LAST and not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    solver = pykry.Solver(A[mine], device=team, method='cg', check_every=2, rtol=1e-12,
                          callback=lambda it: press() if it.iteration >= 4 else None)
    try:
        solver.solve(b)
    except pykry.Interrupted as stop:
        assert stop.x.shape == b.shape and 4 <= stop.result.iterations <= 6
    else:
        raise AssertionError('it was not interrupted')
    assert solver.solve(b)[1]
    pressed.clear()
    try:
        with between(team, 'Iallgather', press):
            solver = pykry.Solver(A[mine], device=team, method='cg', precond='jacobi')
    except KeyboardInterrupt:
        assert LAST
    else:
        assert not LAST
    works(team)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def broken(team, folder):
    """An exception in the place of a message ends the team, on the others after the timeout."""
    team = pykry.ranks.Team(timeout=2)
    works(team)

    def fail():
        if LAST:
            raise OverflowError('no way')

    with between(team, 'Iallgather', fail):
        error = raised(pykry.KryError, team.count_rows, 3, alike=False)
        assert error.status == -4
        if LAST:
            assert isinstance(error.__cause__, OverflowError) and "the transport failed in 'gather'" in str(error)
        elif team.size > 1:
            assert f'for rank {team.size - 1} of' in str(error)
    if LAST or team.size > 1:
        raised(pykry.KryError, team.count_rows, 3, alike=False)


CASES = [solves, preconditions, rows, same_bits, files, reports, refusals, teams, callbacks, interrupts, broken]


def main(folder, *names):
    global kept  # a solver that is there when Python ends
    team = pykry.ranks.Team(WORLD)
    for case in CASES:
        if not names or case.__name__ in names:
            start = time.monotonic()
            case(team, pathlib.Path(folder))
            if team.rank == 0:
                print(f'{case.__name__}: {time.monotonic() - start:.1f} s', flush=True)
    assert team.facts['waited'] >= 0 and (team.facts['sent'] > 0) == (team.size > 1)
    kept = pykry.Solver(poisson(7)[cut(49)], device=team, method='cg')
    kept.itself = kept


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except BaseException:
        import traceback
        print(f'rank {WORLD.rank}: {traceback.format_exc()}', file=sys.stderr, flush=True)
        WORLD.Abort(1)
    print('done', flush=True)
