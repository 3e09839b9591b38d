"""pykry.solve and pykry.Solver: what they take, what they give, what they refuse."""
import copy
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from conftest import has_lu, poisson, random_matrix
from hypothesis import given
from hypothesis import strategies as st

import pykry


def meets(A, x, b, rtol=1e-8):
    """Whether the true residual meets the target, up to the rounding of this check."""
    scale = abs(A) @ np.abs(x) + np.abs(b)
    return np.linalg.norm(b - A @ x) <= rtol * np.linalg.norm(b) + 1e-14 * np.linalg.norm(scale)


@pytest.mark.parametrize('method', ['auto', 'cg', 'pcg', 'cr', 'minres', 'gmres', 'bicgstab', 'idr', 'direct', 'lsqr'])
def test_every_method(system, method):
    A, b = system
    x, result = pykry.solve(A, b, method=method)
    assert result and result.converged and meets(A, x, b)
    assert x.shape == b.shape and x.dtype == np.float64


@pytest.mark.parametrize('layout', ['csr', 'csc', 'coo', 'bsr', 'dia', 'dok', 'lil'])
@pytest.mark.parametrize('cls', ['array', 'matrix'])
def test_every_format_of_scipy(system, layout, cls):
    A, b = system
    B = getattr(sp, f'{layout}_{cls}')(A)
    x, result = pykry.solve(B, b, method='cg', format='csr')
    assert result and meets(A, x, b)


def test_the_same_bits_from_csr_coo_and_dense(system):
    A, b = system
    x = [pykry.solve(B, b, method='cg', format='csr')[0] for B in (A, A.tocoo(), A.toarray())]
    assert np.array_equal(x[0], x[1]) and np.array_equal(x[0], x[2])


def test_indices_of_64_bits(system):
    A, b = system
    B = A.copy()
    B.indices, B.indptr = B.indices.astype(np.int64), B.indptr.astype(np.int64)
    x, result = pykry.solve(B, b, method='cg')
    assert result and meets(A, x, b)


def test_duplicates_are_added_up():
    A = sp.coo_array(([1.0, 1.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    x, _ = pykry.solve(A, np.array([4.0, 6.0]), method='cg')
    assert np.allclose(x, 2, rtol=1e-12)


@pytest.mark.parametrize('kinds', [(np.float32, np.float32, np.float32), (np.float64, np.float32, np.float64),
                                   (np.int32, np.int64, np.float64), (np.float32, np.float64, np.float64)])
def test_number_types(system, kinds):
    A, b = system
    x, result = pykry.solve(A.astype(kinds[0]), np.arange(len(b)).astype(kinds[1]), rtol=1e-4, method='cg')
    assert result and x.dtype == kinds[2]


@pytest.mark.parametrize('A, b, name', [
    (sp.eye_array(3, dtype=complex), np.ones(3), 'complex128'),
    (sp.eye_array(3), np.ones(3) * 1j, 'complex128'),
    (np.array([[1, 0], [0, None]], dtype=object), np.ones(2), 'object'),
    (sp.eye_array(3), np.ma.masked_array(np.ones(3), [0, 1, 0]), 'masked'),
    (np.ma.masked_array(np.eye(3), np.eye(3) == 0), np.ones(3), 'masked'),
    (sp.eye_array(3, dtype=np.longdouble), np.ones(3), str(np.dtype(np.longdouble))),
])
def test_refuses_numbers_by_their_name(A, b, name):
    with pytest.raises(TypeError, match=name):
        pykry.solve(A, b)


@pytest.mark.parametrize('change, error, says', [
    (dict(b=np.ones(4)), ValueError, 'shape'),
    (dict(x0=np.ones(4)), ValueError, 'x0'),
    (dict(b=np.full(221, np.nan)), ValueError, 'nan'),
    (dict(rtol=-1.0), ValueError, 'rtol'),
    (dict(rtol=0.0), ValueError, 'positive'),
    (dict(rtol=1e8), ValueError, 'below 1'),
    (dict(maxiter=0), ValueError, 'at least 1'),
    (dict(method='cq'), ValueError, 'cq'),
    (dict(nonsense=3), ValueError, 'nonsense'),
    (dict(device='no such device'), ValueError, 'no such device'),
    (dict(device=3), TypeError, 'device=3'),
    (dict(M=np.eye(3)), ValueError, 'does not suit'),
    (dict(M=np.eye(221), precond='amg'), TypeError, 'both'),
])
def test_refuses_arguments(system, change, error, says):
    A, b = system
    arguments = {'A': A, 'b': b, **change}
    with pytest.raises(error, match=says):
        pykry.solve(**arguments)


def test_defaults_suit_single(system):
    A, b = system
    x, result = pykry.solve(A.astype(np.float32), b.astype(np.float32))
    assert result and x.dtype == np.float32 and np.isclose(result.target, 1e-5 * np.linalg.norm(b), rtol=1e-5)


def test_first_guess(system):
    A, b = system
    exact = sla.spsolve(A.tocsc(), b)
    kept = exact.copy()
    x, result = pykry.solve(A, b, exact, method='cg')
    assert result.reason == 'initial_guess' and np.array_equal(x, exact) and np.array_equal(exact, kept)


def test_iteration_limit_warns_and_is_false(system):
    A, b = system
    with pytest.warns(pykry.ConvergenceWarning):
        x, result = pykry.solve(A, b, method='cg', maxiter=3)
    assert not result and result.reason == 'iteration_limit' and result.iterations == 3
    assert np.isclose(result.true_residual, np.linalg.norm(b - A @ x), rtol=1e-12)


def test_limit_that_is_wanted_is_no_convergence(system):
    A, b = system
    with pytest.warns(pykry.ConvergenceWarning):
        _, result = pykry.solve(A, b, method='cg', maxiter=3, stop='never')
    assert not result and result.reason == 'iterations_done'


@pytest.mark.parametrize('k', [1, 3])
def test_several_right_hand_sides(system, k):
    A, _ = system
    B = np.random.default_rng(2).uniform(-1, 1, (A.shape[0], k))
    for order in 'CF':
        X, result = pykry.solve(A, np.array(B, order=order), method='cg')
        assert X.shape == B.shape and result
        assert all(meets(A, X[:, j], B[:, j]) for j in range(k))
        assert k == 1 or [c.reason for c in result.columns] == ['converged'] * k


def test_update(system):
    A, b = system
    B = A.copy()
    B.data = A.data * np.where(A.data > 0, 2.0, 1.0)
    solver = pykry.Solver(A, method='cg', precond='jacobi')
    first, _ = solver.solve(b)
    for again in (B, B.data):
        solver.update(A)
        assert np.array_equal(solver.solve(b)[0], first)
        solver.update(again)
        x, result = solver.solve(b)
        assert result and meets(B, x, b)


@pytest.mark.parametrize('layout', ['csr', 'csc', 'coo', 'dense', 'matrix'])
@pytest.mark.filterwarnings('ignore:the matrix subclass')
def test_update_takes_numbers_in_the_order_given(layout):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print('seed', seed)
    rng = np.random.default_rng(seed)
    n, count = 40, 300
    places = rng.integers(0, n, (2, count))  # some twice, in no order
    if layout in ('dense', 'matrix'):
        places = np.unique(places, axis=1)
    count = places.shape[1] + n
    places = np.append(places, np.tile(rng.permutation(n), (2, 1)), axis=1)
    if layout in ('dense', 'matrix'):
        places = np.unique(places, axis=1)
        count = places.shape[1]

    def matrix(val):
        A = sp.coo_array((val, places), shape=(n, n))
        if layout == 'coo':
            return A
        if layout in ('csr', 'csc'):  # without SciPy's conversion, which adds up and sorts
            major, minor = places if layout == 'csr' else places[::-1]
            order = np.argsort(major, kind='stable')
            pointers = np.append(0, np.cumsum(np.bincount(major, minlength=n)))
            return getattr(sp, layout + '_array')((val[order], minor[order], pointers), shape=(n, n))
        A = A.toarray()
        return A if layout == 'dense' else np.asmatrix(A)

    val = [rng.uniform(0.1, 1, count), rng.uniform(0.1, 1, count)]
    for v in val:
        v[places[0] == places[1]] += 20
    A, B = map(matrix, val)
    numbers = B.data if sp.issparse(B) else np.asarray(B)[np.nonzero(B)]
    b = rng.uniform(-1, 1, n)
    solver = pykry.Solver(A, method='gmres', format='csr')
    solver.solve(b)
    for new in (numbers, A, B):
        solver.update(new)
        x, result = solver.solve(b)
        true = A if new is A else B
        assert result and np.linalg.norm(b - np.asarray(true @ x).ravel()) <= 1.001e-8 * np.linalg.norm(b)


@pytest.mark.parametrize('layout', ['bsr', 'dia', 'dok', 'lil'])
def test_update_refuses_numbers_without_an_order(system, layout):
    A, b = system
    B = A.asformat(layout)
    solver = pykry.Solver(B, method='cg', format='csr')
    with pytest.raises(TypeError, match=f'{layout}.*whole matrix'):
        solver.update(np.ones(A.nnz))
    solver.update(2 * B)
    x, result = solver.solve(b)
    assert result and meets(2 * A, x, b)


def broken(layout, **arrays):
    """A small matrix to whose arrays others are assigned, which SciPy does not look at."""
    A = sp.diags_array([4.0, -1.0, -1.0], offsets=[0, -2, 2], shape=(6, 6)).asformat(layout)
    for name, value in arrays.items():
        setattr(A, name, value)
    return A


@pytest.mark.parametrize('A, says', [
    *((broken(layout, **{name: value}), says) for layout in ('csr', 'csc', 'bsr') for name, value, says in [
        ('indptr', np.array([0, 1]), r'indptr has the shape \(2,\)'),
        ('indptr', np.zeros((1, 7), int), r'indptr has the shape \(1, 7\)'),
        ('indptr', np.array([0, 2, 4, 6, 8, 10, 2**40]), 'indptr goes from 0 to 1099511627776'),
        ('indptr', np.array([0, 2, 4, 6, 8, 10, -1]), 'indptr goes from 0 to -1'),
        ('indptr', np.array([1, 2, 4, 6, 8, 10, 12]), 'indptr goes from 1'),
        ('indptr', np.array([0, 2, 9, 6, 8, 10, 12]), r'indptr\[3\] = 6 is less than the 9'),
        ('indptr', np.arange(7.0), 'indptr has the type float64'),
        ('indices', np.zeros(2, int), 'indices has 2 numbers'),
        ('indices', np.full(14, 2**32), r'indices\[0\] = 4294967296 is outside 0 ... 5'),
        ('indices', np.full(14, 2**63 + 1, np.uint64), r'indices\[0\] = 9223372036854775809 is outside'),
        ('indices', np.full(14, -2**32), r'indices\[0\] = -4294967296 is outside'),
        ('indices', np.zeros(14), 'indices has the type float64')]),
    *((broken('csc', indices=np.full(14, value, np.int32)), r'indices\[0\] = ' + str(value)) for value in (6, -1)),
    (broken('csr', data=np.ones(3)), 'data 3'),
    (broken('csr', indices=np.full(14, 6, np.int32)), 'column'),
    (broken('coo', row=np.zeros(3, int)), 'row has 3 numbers'),
    (broken('coo', coords=(np.arange(14) % 6, np.full(14, 2**32 + 1))), r'col\[0\] = 4294967297 is outside'),
    (broken('coo', coords=(np.full(14, 2**32 + 1), np.arange(14) % 6)), r'row\[0\] = 4294967297 is outside'),
], ids=lambda value: value.format if sp.issparse(value) else None)
def test_refuses_arrays_that_make_no_matrix(A, says):
    with pytest.raises((ValueError, TypeError), match=says):
        pykry.solve(A, np.ones(6), method='cg', device='host')
    with pytest.raises((ValueError, TypeError), match='M.*' + says if 'column' not in says else says):
        pykry.solve(np.eye(6), np.ones(6), method='cg', M=A, device='host')
    solver = pykry.Solver(broken(A.format), method='cg', device='host')
    with pytest.raises((ValueError, TypeError), match='update: A.*' + says if 'column' not in says else 'other places'):
        solver.update(A)
    assert solver.solve(np.ones(6))[1]


def test_refuses_a_sparse_vector():
    if hasattr(sp, 'coo_array') and hasattr(sp.coo_array, 'coords'):
        with pytest.raises(ValueError, match='1 dimensions'):
            pykry.solve(sp.coo_array(np.ones(3)), np.ones(3))


def test_update_refuses(system):
    A, b = system
    solver = pykry.Solver(A, method='cg')
    for other, says in ((sp.eye_array(A.shape[0]).tocsr(), 'other places'), (poisson(3), 'not'),
                        (A.data[:-1], 'shape'), (A.data * 1j, 'complex')):
        with pytest.raises((ValueError, TypeError), match=says):
            solver.update(other)
    x, result = solver.solve(b)  # the old numbers are still there
    assert result and meets(A, x, b)
    with pytest.raises(TypeError, match='function'):
        pykry.Solver(lambda v: v, shape=(3, 3), method='cg').update(np.ones(3))


def test_other_tolerance(system):
    A, b = system
    solver = pykry.Solver(A, method='cg', rtol=1e-2)
    few = solver.solve(b)[1].iterations
    for wrong in (0.0, 1.0):
        with pytest.raises(ValueError, match='below 1'):
            solver.set_tolerance(rtol=wrong)
    solver.set_tolerance(rtol=1e-10)
    assert solver.solve(b)[1].iterations > few


def test_least_squares():
    rng = np.random.default_rng(3)
    A = sp.random_array((40, 12), density=0.3, rng=rng) + sp.eye_array(40, 12)
    b = rng.uniform(-1, 1, 40)
    x, result = pykry.Solver(A, method='lsqr', rtol=1e-10).solve(b)
    assert result.reason == 'least_squares' and x.shape == (12,)
    assert np.allclose(x, np.linalg.lstsq(A.toarray(), b)[0], atol=1e-6)


def test_singular_matrix_by_factors():
    A = sp.csr_array(np.array([[1.0, 2], [2, 4]]))
    if has_lu():
        with pytest.raises(np.linalg.LinAlgError):
            pykry.solve(A, np.ones(2), method='direct')
    else:  # nobody but KLU and UMFPACK tells a singular matrix from one that wants pivots
        with pytest.raises(pykry.UnsupportedError, match='KLU of SuiteSparse'):
            pykry.solve(A, np.ones(2), method='direct')


def test_result(system):
    A, b = system
    _, result = pykry.solve(A, b, method='cg')
    row = result.row()
    assert 'history' not in row and row['iterations'] == result.iterations and row['converged'] is True
    assert len(result.history) == result.iterations + 1
    assert np.isclose(result.history[0], np.linalg.norm(b), rtol=1e-12)
    page = result._repr_html_()
    assert page.count('<polyline') == 2 and 'converged' in page and '<script' not in page
    assert pickle.loads(pickle.dumps(result)) == result


def test_result_without_a_picture():
    x, result = pykry.solve(sp.eye_array(3), np.zeros(3), method='cg')
    assert result.reason == 'zero_rhs' and not x.any() and '<svg' not in result._repr_html_()


def test_host_device_needs_no_opencl(system):
    A, b = system
    x, result = pykry.solve(A, b, method='cg', device='host')
    assert result and meets(A, x, b) and pykry.Device('host').kind == 'host'


def errors():
    """One of each kind that this package raises."""
    _, result = pykry.solve(sp.eye_array(3), np.ones(3), method='cg', device='host')
    kinds = [e for e in vars(pykry).values() if isinstance(e, type) and issubclass(e, pykry.KryError)]
    assert len(kinds) > 5
    return [kind(-3, 'kry_x: n = -1') for kind in kinds] + [pykry.Interrupted(np.ones(3), result)]


@pytest.mark.parametrize('error', errors(), ids=lambda e: type(e).__name__)
def test_errors_are_pickled_and_copied(error):
    error.seen = 'here'
    for again in (*(pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
                  copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error) and str(again) == str(error) and again.seen == 'here'
        if isinstance(error, pykry.Interrupted):
            assert np.array_equal(again.x, error.x) and again.result == error.result
        else:
            assert again.status == error.status


def refused(n):
    pykry.solve(sp.eye_array(n), np.ones(n), method='cq', device='host')


def test_errors_arrive_from_other_processes():
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        with pytest.raises(pykry.ArgumentError, match='cq'):
            pool.map_async(refused, [3]).get(timeout=60)  # a multiprocessing.TimeoutError: it would wait for ever


def kept_by_cycles(make):
    """Whether what `make` solves with waits for Python's collector of cycles, once its solver and its error are gone."""
    made, init = [], pykry.Solver.__init__

    def noted(self, *args, **options):
        made.append(weakref.ref(self))
        init(self, *args, **options)

    gc.collect()
    gc.disable()
    pykry.Solver.__init__ = noted
    try:
        make()
        return any(ref() is not None for ref in made) or not made
    finally:
        pykry.Solver.__init__ = init
        gc.enable()


def fails(*_):
    raise LookupError('enough')


@pytest.mark.parametrize('options', [
    dict(method='cq'), dict(method='cg', callback=fails), dict(method='cg', M=fails), dict(b=np.ones(3)),
    dict(A=sp.diags_array([1.0, -1.0] * 110 + [1.0]), method='cg'), dict(b=np.full(221, np.nan), method='cg'),
    dict(A=sp.csr_array(([1.0], [7], [0, 1, 1]), shape=(2, 8)))],
    ids=['word', 'callback', 'M', 'shape', 'indefinite', 'nan', 'rectangular'])
def test_errors_keep_no_solver(system, options):
    def work():
        try:
            pykry.solve(*(options.get(name, given) for name, given in zip('Ab', system)),
                        **{name: value for name, value in options.items() if name not in 'Ab'})
        except (LookupError, pykry.KryError, ValueError):
            return
        raise AssertionError('nothing was raised')

    assert not kept_by_cycles(work)


@pytest.mark.parametrize('name', ['cg', 'minres', 'gmres', 'bicgstab'])
def test_callbacks_of_scipy_keep_no_solver(system, name):
    A, b = system
    extra = {'callback_type': 'x'} if name == 'gmres' else {}
    assert not kept_by_cycles(lambda: getattr(pykry.scipy, name)(A, b, callback=lambda x: None, **extra))


def test_threads_share_a_solver_and_a_device(system):
    A, b = system
    solver, wrong = pykry.Solver(A, method='cg'), []

    def work(i):
        own = pykry.Solver(A, method='cg')
        for s in (solver, own):
            x, result = s.solve(i * b)
            if not (result and meets(A, x, i * b)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 7)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_child_of_fork_is_told(system):
    A, b = system
    solver = pykry.Solver(A, method='cg', device='opencl')
    solver.solve(b)
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(60)
        try:
            solver.solve(b)
        except pykry.KryError as error:
            x, result = pykry.solve(A, b, method='cg', device='host')
            code = 0 if 'fork' in str(error) and result else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert solver.solve(b)[1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from(['spd', 'symmetric', 'general']))
def test_random_systems(seed, n, kind):
    rng = np.random.default_rng(seed)
    A, b = random_matrix(rng, n, kind), rng.uniform(-1, 1, n)
    method = {'spd': 'cg', 'symmetric': 'minres', 'general': 'gmres'}[kind]
    x, result = pykry.solve(A, b, method=method, format='csr', rtol=1e-9, maxiter=1000)
    assert result, result
    assert meets(A, x, b, 1e-9)
    exact = np.linalg.solve(A.toarray(), b)
    error = np.linalg.norm(np.linalg.inv(A.toarray()), 2) * (1e-9 * np.linalg.norm(b) + 1e-13)
    assert np.linalg.norm(x - exact) <= error + 1e-12 * np.linalg.norm(exact)
