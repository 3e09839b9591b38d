"""Contexts, queues and arrays of PyOpenCL, without copies."""
import numpy as np
import pytest
from conftest import poisson

import pykry

cl = pytest.importorskip('pyopencl')
cl_array = pytest.importorskip('pyopencl.array')


@pytest.fixture(scope='module')
def queue():
    try:
        context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    except cl.Error as error:
        pytest.skip(f'PyOpenCL finds no device: {error}')
    return cl.CommandQueue(context)


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_arrays_stay_on_the_device(queue, dtype):
    A = poisson(20).astype(dtype)
    b = cl_array.to_device(queue, np.ones(400, dtype))
    x, result = pykry.solve(A, b, method='cg', rtol=1e-5)
    assert isinstance(x, cl_array.Array) and result
    assert np.linalg.norm(A @ x.get() - 1) <= 2e-5 * 20
    assert (b.get() == 1).all()


def test_parts_of_arrays_and_guesses(queue):
    A = poisson(20)
    both = cl_array.to_device(queue, np.arange(800, dtype=np.float64))
    solver = pykry.Solver(A, method='cg', device=queue)
    x, _ = solver.solve(both[400:])
    assert np.allclose(A @ x.get(), np.arange(400, 800), rtol=1e-6)
    again, result = solver.solve(both[400:], x)
    assert result.iterations == 0 and np.array_equal(again.get(), x.get()) and again.base_data is not x.base_data


def test_blocks_lie_in_columns(queue):
    A = poisson(10)
    B = np.asfortranarray(np.random.default_rng(6).uniform(-1, 1, (100, 3)))
    X, result = pykry.solve(A, cl_array.to_device(queue, B), method='cg')
    assert result and np.allclose(A @ X.get(), B, atol=1e-6)
    with pytest.raises(ValueError, match='column'):
        pykry.solve(A, cl_array.to_device(queue, np.ascontiguousarray(B)), method='cg')


def test_refuses_what_lies_elsewhere(queue):
    A = poisson(10)
    b = cl_array.to_device(queue, np.ones(100))
    with pytest.raises(ValueError, match='queue'):
        pykry.Solver(A, method='cg').solve(b)
    with pytest.raises(TypeError, match='float32'):
        pykry.Solver(A, method='cg', device=queue).solve(b.astype(np.float32))
    out_of_order = cl.CommandQueue(queue.context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    with pytest.raises(ValueError, match='order'):
        pykry.Device(queue=out_of_order)


def test_products_stay_on_the_device(queue):
    S = poisson(20).tolil()
    S[0, 5] = 3.0
    S = S.tocsr()
    A = pykry.Matrix(S, device=queue)
    x = cl_array.to_device(queue, np.arange(400, dtype=np.float64))
    for product, exact in ((A, S), (A.T, S.T)):
        y = product @ x
        assert isinstance(y, cl_array.Array) and np.allclose(y.get(), exact @ x.get())
        both = cl_array.to_device(queue, np.asfortranarray(np.stack([x.get(), 2 * x.get()], axis=1)))
        assert np.allclose((product @ both).get(), exact @ both.get())
    with pytest.raises(ValueError, match='queue'):
        pykry.Matrix(S) @ x
    with pytest.raises(TypeError, match='float32'):
        A @ x.astype(np.float32)
