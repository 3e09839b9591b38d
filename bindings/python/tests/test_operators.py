"""Functions of Python in place of matrices and preconditioners; callbacks; Ctrl-C."""
import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import poisson, random_matrix

import pykry


@pytest.mark.parametrize('method', ['cg', 'minres', 'gmres', 'bicgstab', 'auto'])
def test_function_for_a_matrix(system, method):
    A, b = system
    for operator in (lambda v: A @ v, sla.aslinearoperator(A)):
        x, result = pykry.solve(operator, b, method=method)
        assert result and np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)


def test_iterates_of_a_function_are_those_of_the_matrix(system):
    A, b = system
    one = pykry.solve(A, b, method='cg', format='csr')[1]
    two = pykry.solve(lambda v: A @ v, b, method='cg')[1]
    assert abs(one.iterations - two.iterations) <= 1
    assert np.allclose(one.history[:20], two.history[:20], rtol=1e-8)


def test_function_needs_a_shape():
    with pytest.raises(TypeError, match='shape'):
        pykry.Solver(lambda v: v)


def test_transpose_of_a_linear_operator():
    A = sp.random_array((30, 10), density=0.4, rng=np.random.default_rng(5)) + sp.eye_array(30, 10)
    b = np.ones(30)
    x, result = pykry.Solver(sla.aslinearoperator(A), method='lsqr', rtol=1e-10).solve(b)
    assert result.reason == 'least_squares' and np.allclose(x, np.linalg.lstsq(A.toarray(), b)[0], atol=1e-6)


def test_what_a_function_raises_arrives(system):
    A, b = system

    def fails(v):
        raise LookupError('no such thing')

    with pytest.raises(LookupError, match='no such thing'):
        pykry.solve(fails, b, method='cg')
    with pytest.raises(LookupError):
        pykry.solve(A, b, method='cg', M=fails)
    with pytest.raises(ValueError):
        pykry.solve(lambda v: v[:-1], b, method='cg')


@pytest.mark.parametrize('method', ['auto', 'cg', 'gmres', 'bicgstab'])
def test_every_kind_of_preconditioner(system, method):
    A, b = system
    D = sp.diags_array(1 / A.diagonal())
    for M in (D, D.toarray(), sla.aslinearoperator(D), lambda v: v / A.diagonal()):
        x, result = pykry.solve(A, b, method=method, M=M)
        assert result and np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)


def test_exact_preconditioner_takes_a_step(system):
    A, b = system
    factors = sla.splu(A.tocsc())
    assert pykry.solve(A, b, method='cg', M=factors.solve)[1].iterations <= 2


def test_solver_as_preconditioner(system):
    A, b = system
    inner = pykry.Solver(A, method='direct')
    assert pykry.solve(A, b, method='fgmres', M=inner)[1].iterations <= 2
    x, info = sla.cg(A, b, M=pykry.Solver(A, method='direct'))  # of SciPy
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-5 * np.linalg.norm(b)
    block = inner.matmat(np.eye(A.shape[0])[:, :3])
    assert np.allclose(A @ block, np.eye(A.shape[0])[:, :3], atol=1e-6)


def test_callback_sees_iterates(system):
    A, b = system
    seen = []

    def look(it):
        seen.append((it, np.linalg.norm(b - A @ solver.iterate())))

    solver = pykry.Solver(A, method='cg', callback=look, check_every=5)
    _, result = solver.solve(b)
    assert [it.iteration for it, _ in seen[:3]] == [0, 5, 10]
    assert all(np.isclose(it.residual, true, rtol=1e-6) for it, true in seen[:4])
    assert seen[0][0].target == result.target


def test_callback_stops(system):
    A, b = system
    with pytest.warns(pykry.ConvergenceWarning):
        _, result = pykry.solve(A, b, method='cg', check_every=1, callback=lambda it: it.iteration == 4)
    assert result.reason == 'monitor' and result.iterations == 4 and not result


def test_callback_raises(system):
    A, b = system

    def fails(it):
        raise LookupError('enough')

    with pytest.raises(LookupError, match='enough'):
        pykry.solve(A, b, method='cg', callback=fails)
    assert pykry.solve(A, b, method='cg')[1]


def test_solve_within_a_callback(system):
    A, b = system
    inner = []
    pykry.solve(A, b, method='cg', check_every=10, callback=lambda it: inner.append(pykry.solve(A, b)[1]) and None)
    assert inner and all(inner)


def test_solver_is_not_used_within_itself(system):
    A, b = system
    solver = pykry.Solver(A, method='cg', callback=lambda it: solver.solve(b))
    with pytest.raises(RuntimeError, match='within a callback'):
        solver.solve(b)


def test_callback_of_auto(system):
    A, b = system
    seen = []
    assert pykry.solve(A, b, callback=seen.append)[1] and seen


def test_progress(capsys):
    solver = pykry.Solver(poisson(200), method='cg', progress=True, maxiter=99999, stop='never',
                          callback=lambda it: it.seconds > 1)
    with pytest.warns(pykry.ConvergenceWarning):
        solver.solve(np.ones(40000))
    assert 'iterations, residual' in capsys.readouterr().err


@pytest.mark.parametrize('inner', [False, True])
def test_ctrl_c_keeps_the_iterate(inner):
    A = poisson(450)  # too large to be solved before the signal comes
    b = np.ones(A.shape[0])
    if inner:  # the signal comes while the preconditioner is at work
        M = pykry.Solver(A, method='cg', maxiter=400, stop='never')
        solver = pykry.Solver(A, method='fgmres', M=M, maxiter=99999, rtol=1e-15)
    else:
        solver = pykry.Solver(A, method='cg', maxiter=99999, stop='never')
    sent = []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background of a shell ignore

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        solver.solve(b)
    late = time.perf_counter() - sent[0]
    stop = caught.value
    assert isinstance(stop, pykry.Interrupted) and stop.result.reason == 'monitor' and not stop.result
    assert inner or stop.result.iterations > 0
    assert np.isclose(np.linalg.norm(b - A @ stop.x), stop.result.true_residual, rtol=1e-6)
    assert late < 1, late  # 0.1 s on a machine with nothing else to do
    print(f'stopped after {late:.3f} s')
    assert pykry.solve(poisson(10), np.ones(100))[1]


@pytest.mark.parametrize('where', ['A', 'M', 'both', 'inner A', 'inner, on the host'])
def test_ctrl_c_within_a_function(where):
    """It is a KeyboardInterrupt wherever it comes: in the function, before it, behind it."""
    seed = random.randrange(2**32)
    print('seed', seed)
    rng = random.Random(seed)
    A = poisson(12)
    b, scale = np.ones(A.shape[0]), 1 / A.diagonal()

    def apply(v):
        return A @ v

    def precondition(v):
        return v * scale

    words = dict(maxiter=300, rtol=1e-15)
    if where == 'A':
        solver = pykry.Solver(apply, shape=A.shape, method='cg', stop='never', maxiter=300)
    elif where == 'M':
        solver = pykry.Solver(A, M=precondition, method='minres', **words)
    elif where == 'both':
        solver = pykry.Solver(apply, shape=A.shape, M=precondition, method='cg', **words)
    else:
        inner = pykry.Solver(apply, shape=A.shape, method='cg', stop='never', maxiter=50)
        M = inner if where == 'inner A' else sla.LinearOperator(A.shape, inner.matvec, dtype=float)
        solver = pykry.Solver(A, M=M, method='fgmres', **words)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main, outcomes = threading.main_thread().ident, []
    for _ in range(40):
        begun = threading.Event()

        def interrupt():
            begun.wait()
            time.sleep(rng.uniform(0.0005, 0.004))
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            begun.set()
            end = time.perf_counter() + 10
            while time.perf_counter() < end:
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    solver.solve(b)
            outcomes.append('nothing')
        except BaseException as error:
            outcomes.append(error)
        thread.join()
    assert all(isinstance(e, KeyboardInterrupt) for e in outcomes), [repr(e) for e in outcomes]
    stops = [e for e in outcomes if isinstance(e, pykry.Interrupted)]
    assert all(np.isclose(np.linalg.norm(b - A @ e.x), e.result.true_residual, rtol=1e-6, atol=1e-14) for e in stops)
    assert pykry.solve(apply, b, method='cg')[1]


@pytest.mark.parametrize('change, says', [
    (lambda y: y * (1 + 1j), 'complex128'), (lambda y: (y + 0j).astype(np.complex64), 'complex64'),
    (lambda y: y.astype(object), 'object'), (lambda y: y.astype('U9'), '<U9')], ids=['complex', 'single', 'object', 'text'])
@pytest.mark.parametrize('method', ['cg', 'gmres', 'auto', 'lsqr'])
def test_numbers_that_a_function_may_not_return(system, change, says, method):
    A, b = system
    functions = [lambda v: change(A @ v)] if method != 'lsqr' else []
    operator = sla.LinearOperator(A.shape, lambda v: change(A @ v), lambda v: change(A.T @ v), dtype=float)
    for wrong in (*functions, operator):
        with pytest.raises(TypeError, match=f'A returned.*{says}'):
            pykry.Solver(wrong, shape=A.shape, method=method).solve(b)
        if method != 'lsqr':
            with pytest.raises(TypeError, match=f'M returned.*{says}'):
                pykry.solve(A, b, M=wrong, method=method)


@pytest.mark.filterwarnings('ignore::pykry.ConvergenceWarning')
@pytest.mark.parametrize('kind', [np.float16, '>f8', '>f4', np.float32, np.longdouble, int])
def test_numbers_that_a_function_may_return(system, kind):
    A, b = system
    x, result = pykry.solve(lambda v: 4 * np.round(1e2 * v).astype(kind), b, method='cg', rtol=0.1, maxiter=50)
    assert x.dtype == np.float64


@pytest.mark.parametrize('method, per, ends', [('cg', 1, 1), ('minres', 1, 2), ('gmres:60', 1, 1), ('bicgstab', 2, 1), ('idr:4', 1, 1),
                                               ('cr', 1, 2)])
@pytest.mark.parametrize('callback', [False, True])
def test_functions_are_not_called_in_vain(system, method, per, ends, callback):
    A, b = system
    calls = {'A': 0, 'M': 0}

    def apply(v):
        calls['A'] += 1
        return A @ v

    def precondition(v):
        calls['M'] += 1
        return v / A.diagonal()

    words = dict(callback=lambda it: False) if callback else {}
    _, result = pykry.solve(apply, b, method=method, rtol=1e-6, **words)
    assert result and calls['A'] <= per * result.iterations + ends
    calls['A'] = 0
    _, result = pykry.solve(apply, b, method=method, M=precondition, rtol=1e-6, **words)
    assert result and calls['A'] <= per * result.iterations + ends and calls['M'] <= per * result.iterations + 2, (result, calls)


def test_other_threads_run_during_a_solve():
    A = poisson(200)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    solver = pykry.Solver(A, method='cg', maxiter=99999, stop='never', callback=lambda it: it.seconds > 0.5)
    thread.start()
    before, begin = counted[0], time.perf_counter()
    with pytest.warns(pykry.ConvergenceWarning):
        solver.solve(np.ones(A.shape[0]))
    ran, seconds = counted[0] - before, time.perf_counter() - begin
    done.set()
    thread.join()
    assert ran > 20 * seconds


def test_functions_are_released(system):
    A, b = system
    functions = []
    for _ in range(3):
        made = [lambda v: A @ v, lambda v: v.copy()]
        assert pykry.solve(made[0], b, method='cg', M=made[1])[1]
        functions += map(weakref.ref, made)
        del made
    gc.collect()
    assert [function() for function in functions] == 6 * [None]


def test_no_code_of_python_runs_when_objects_end(system):
    """Ctrl-C in such code would be lost."""
    A, b = system
    solvers = [pykry.Solver(A, method='cg', M=pykry.Solver(lambda v: A @ v, shape=A.shape, method='cg', maxiter=3)),
               pykry.Solver(lambda v: A @ v, shape=A.shape, method='cg')]
    solvers[1].solve(b)
    gc.collect()
    ran = []
    sys.setprofile(lambda frame, event, _: event == 'call' and ran.append(frame.f_code))
    try:
        del solvers
        gc.collect()
    finally:
        sys.setprofile(None)
    assert not [code for code in ran if 'pykry' in code.co_filename]


def test_functions_live_as_long_as_the_solver_that_calls_them(system):
    A, b = system
    inner = pykry.Solver(lambda v: A @ v, shape=A.shape, method='cg', maxiter=50, stop='never')
    solver = pykry.Solver(lambda v: A @ v, shape=A.shape, M=inner, method='fgmres')
    del inner
    gc.collect()
    assert solver.solve(b)[1]


@pytest.mark.parametrize('layout', ['csr', 'csc', 'coo'])
def test_transpose_of_a_solver_follows_its_numbers(layout):
    rng = np.random.default_rng(8)
    S = sp.csr_array(random_matrix(rng, 60, 'general'))
    A, b = S.asformat(layout), rng.normal(size=60)
    solver = pykry.Solver(A, method='gmres', rtol=1e-12)
    for step in range(3):
        assert np.allclose(A.T @ (solver.T @ b), b, atol=1e-8) and np.allclose(A @ (solver @ b), b, atol=1e-8)
        assert solver._transposed() is solver._transposed() is not solver
        first = solver._transposed() if step == 0 else first
        assert solver._transposed() is first  # which was given the new numbers
        A = (A * rng.uniform(0.9, 1.1) + sp.diags_array(S.diagonal() * 0.1 * step)).asformat(layout)
        solver.update(A)
    assert np.allclose(A.T @ (solver.T @ b), b, atol=1e-8)


def test_symmetric_matrix_needs_no_solver_of_its_transpose():
    A, b = poisson(9), np.random.default_rng(9).normal(size=81)
    B = A.copy()
    B.data[1] *= 1.01  # not symmetric
    solver = pykry.Solver(A, method='gmres', rtol=1e-12)
    assert solver._transposed() is solver and np.allclose(A @ (solver.T @ b), b, atol=1e-8)
    solver.update(B)
    assert solver._transposed() is not solver and np.allclose(B.T @ (solver.T @ b), b, atol=1e-8)
    solver.update(A)
    assert solver._transposed() is solver and np.allclose(A @ (solver.T @ b), b, atol=1e-8)
