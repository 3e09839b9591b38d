"""Arrays of other libraries by DLPack, on the host and in buffers of OpenCL."""
import ctypes
import gc

import numpy as np
import pytest
from conftest import poisson

import pykry
from pykry import _dlpack


class Tensor:
    """An array of a library that offers nothing but DLPack."""

    def __init__(self, a, kind=None):
        self.a, self.kind = a, kind
        self.shape, self.ndim = a.shape, a.ndim

    def __dlpack_device__(self):
        return (self.kind, 0) if self.kind else self.a.__dlpack_device__()

    def __dlpack__(self, **how):
        return self.a.__dlpack__(**how)


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('shape', [(221,), (221, 3)])
def test_arrays_on_the_host(dtype, shape):
    A = poisson(17, 13).astype(dtype)
    b = np.random.default_rng(3).uniform(-1, 1, shape).astype(dtype)
    x, result = pykry.solve(A, b, method='cg', device='host', rtol=1e-5)
    y, again = pykry.solve(A, Tensor(b), method='cg', device='host', rtol=1e-5)
    assert y.dtype == dtype and again.iterations == result.iterations and np.array_equal(x, y)
    z, none = pykry.solve(A, Tensor(b), Tensor(y), method='cg', device='host', rtol=2e-5)
    assert none.iterations == 0 and np.array_equal(z, y)
    assert np.shares_memory(np.from_dlpack(y), y)


def test_dense_matrix_on_the_host():
    A = poisson(5).toarray()
    x, result = pykry.solve(Tensor(A), np.ones(25), method='cg', device='host')
    assert result and np.allclose(A @ x, 1)


def test_tensors_of_pytorch():
    torch = pytest.importorskip('torch')
    A = poisson(10)
    x, result = pykry.solve(A, torch.ones(100, dtype=torch.float64), method='cg', device='host')
    assert result and np.allclose(A @ torch.from_dlpack(x).numpy(), 1)


@pytest.mark.parametrize('kind, name', [(2, 'CUDA'), (10, 'ROCm'), (99, '99')])
def test_refuses_other_devices_by_name(kind, name):
    A, b = poisson(5), np.ones(25)
    with pytest.raises(TypeError, match=f'b lies on a device of the kind {name}; .* copy it to the host first'):
        pykry.solve(A, Tensor(b, kind))
    with pytest.raises(TypeError, match=f'x0 lies on a device of the kind {name}'):
        pykry.solve(A, b, Tensor(b, kind))


# ---- buffers of OpenCL ----

@pytest.fixture(scope='module')
def queue():
    cl = pytest.importorskip('pyopencl')
    pytest.importorskip('pyopencl.array')
    try:
        return cl.CommandQueue(cl.Context([cl.get_platforms()[0].get_devices()[0]]))
    except cl.Error as error:
        pytest.skip(f'PyOpenCL finds no device: {error}')


class Lender:
    """An array of PyOpenCL's that a library lends by DLPack; `strides` in numbers."""
    returned = 0

    def __init__(self, a, strides=None, code=2):
        self.a, self.strides, self.code = a, strides, code
        self.shape, self.ndim = a.shape, a.ndim

    def __dlpack_device__(self):
        return 4, 0

    def __dlpack__(self, **_):
        n, a = self.ndim, self.a
        shape = (ctypes.c_int64 * n)(*a.shape)
        strides = (ctypes.c_int64 * n)(*self.strides) if self.strides else None
        t = _dlpack._Tensor(a.base_data.int_ptr, 4, 0, n, self.code, 8 * a.dtype.itemsize, 1, shape, strides, a.offset)

        def give_back(_):
            Lender.returned += 1

        self.kept = _dlpack._Deleter(give_back), shape, strides
        self.managed = _dlpack._Managed(t, None, self.kept[0])
        return _dlpack._capsule(ctypes.addressof(self.managed), b'dltensor', _dlpack._Destructor())


def test_buffers_of_opencl_are_used_where_they_lie(queue):
    from pyopencl import array
    A = poisson(20)
    both = array.to_device(queue, np.arange(800, dtype=np.float64))
    solver = pykry.Solver(A, method='cg', device=queue)
    x, result = solver.solve(Lender(both[400:]))  # with an offset
    assert isinstance(x, pykry.DeviceArray) and result and x.__dlpack_device__() == (4, 0)
    assert np.allclose(A @ x.get(), np.arange(400, 800), rtol=1e-6)
    again, result = solver.solve(Lender(both[400:]), x)
    assert result.iterations == 0 and np.array_equal(again.get(), x.get())
    x, result = pykry.solve(A, Lender(both[:400]), method='cg', device=queue)
    assert result and np.allclose(A @ x.get(), np.arange(400), atol=1e-5)


def test_blocks_in_opencl(queue):
    from pyopencl import array
    A = poisson(10)
    B = np.asfortranarray(np.random.default_rng(6).uniform(-1, 1, (100, 3)))
    X, result = pykry.solve(A, Lender(array.to_device(queue, B), (1, 100)), method='cg', device=queue)
    assert result and X.shape == (100, 3) and np.allclose(A @ X.get(), B, atol=1e-6)
    with pytest.raises(ValueError, match='column after column'):
        pykry.solve(A, Lender(array.to_device(queue, np.ascontiguousarray(B))), method='cg', device=queue)
    with pytest.raises(TypeError, match='kind 0'):
        pykry.solve(A, Lender(array.to_device(queue, B), (1, 100), code=0), method='cg', device=queue)


def test_a_solution_is_lent_until_it_is_given_back(queue):
    from pyopencl import array
    A = poisson(10)
    solver = pykry.Solver(A, method='cg', device=queue)
    x, _ = solver.solve(Lender(array.to_device(queue, np.ones(100))))
    y, result = solver.solve(Tensor(x))  # of another library, as far as the solver knows
    assert result and np.allclose(A @ (A @ y.get()), 1, atol=1e-5)
    capsule = x.__dlpack__()
    address = _dlpack._pointer_of(capsule, b'dltensor')
    managed = ctypes.cast(address, ctypes.POINTER(_dlpack._Managed))
    t = managed.contents.tensor
    assert (t.ndim, t.shape[0], t.strides[0], t.code, t.bits, t.byte_offset % 8) == (1, 100, 1, 2, 64, 0)
    assert address in _dlpack._lent
    managed.contents.deleter(managed)  # as the consumer does
    assert address not in _dlpack._lent
    _rename(capsule)
    del capsule
    gc.collect()
    assert not _dlpack._lent  # those that nobody took are back as well


def _rename(capsule):
    """What a consumer does with a capsule that it has taken."""
    set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(('PyCapsule_SetName', ctypes.pythonapi))
    set_name(capsule, b'used_dltensor')


def test_refuses_buffers_of_another_context(queue):
    import pyopencl as cl
    from pyopencl import array
    other = cl.CommandQueue(cl.Context([queue.device]))
    b = Lender(array.to_device(other, np.ones(100)))
    with pytest.raises(pykry.ArgumentError, match='another OpenCL context'):
        pykry.Solver(poisson(10), method='cg', device=queue).solve(b)
    with pytest.raises(ValueError, match='does not share'):
        pykry.Solver(poisson(10), method='cg').solve(b)
