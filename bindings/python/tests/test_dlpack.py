"""Arrays of other libraries by DLPack, on the host, on GPUs and in buffers of OpenCL."""
import contextlib
import ctypes
import gc
import sys
import types

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


@pytest.mark.parametrize('kind, name', [(8, 'Metal'), (99, '99')])
def test_refuses_other_devices_by_name(kind, name):
    A, b = poisson(5), np.ones(25)
    with pytest.raises(TypeError, match=f'b lies on a device of the kind {name}; .* copy it to the host first'):
        pykry.solve(A, Tensor(b, kind))
    with pytest.raises(TypeError, match=f'x0 lies on a device of the kind {name}'):
        pykry.solve(A, b, Tensor(b, kind))


# ---- GPUs of CUDA's and ROCm's ----

class OfCuPy(Tensor):
    """What CuPy's arrays do, without a GPU."""
    device = contextlib.nullcontext()
    dtype = property(lambda self: self.a.dtype)

    def get(self):
        return self.a.copy()


class OfPyTorch(Tensor):
    """What PyTorch's tensors do, without a GPU."""
    dtype = property(lambda self: f'torch.{self.a.dtype}')

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.a.copy()

    def new_tensor(self, x):
        return OfPyTorch(x.astype(self.a.dtype), self.kind)


class OfJAX(Tensor):
    """What JAX's arrays do, without a GPU: those of the array API."""
    device = 'a GPU'
    dtype = property(lambda self: self.a.dtype)

    def __array__(self, dtype=None, copy=None):
        return self.a.copy()

    def __array_namespace__(self):
        return self

    def asarray(self, x, device):
        assert device == 'a GPU'
        return OfJAX(x, self.kind)


@pytest.fixture(params=[OfCuPy, OfPyTorch, OfJAX])
def on_gpu(request, monkeypatch):
    """A function that puts an array of NumPy's on a GPU."""
    if request.param is OfCuPy:
        monkeypatch.setattr(OfCuPy, '__module__', 'cupy')
        monkeypatch.setitem(sys.modules, 'cupy', types.SimpleNamespace(asarray=lambda x: OfCuPy(x, 2)))
    return lambda a, kind=2: request.param(a, kind)


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_arrays_on_gpus_come_back_to_them(on_gpu, dtype):
    A, b = poisson(17, 13).astype(dtype), np.random.default_rng(4).uniform(-1, 1, (221, 2)).astype(dtype)
    x, result = pykry.solve(A, b, method='cg', device='host', rtol=1e-5)
    with pytest.warns(pykry.CopyWarning, match=f'b lies in the memory of CUDA, .* its {b.nbytes / 1e6:.3g} MB are copied'):
        y, again = pykry.solve(A, on_gpu(b), method='cg', device='host', rtol=1e-5)
    assert type(y) is type(on_gpu(b)) and y.kind == 2 and y.a.dtype == dtype
    assert again.iterations == result.iterations and np.array_equal(x, y.a)
    solver = pykry.Solver(A, method='cg', device='host', rtol=1e-5)
    with pytest.warns(pykry.CopyWarning, match='x0 lies in the memory of CUDA'):
        z, none = solver.solve(on_gpu(b[:, 0]), on_gpu(np.ascontiguousarray(x[:, 0])))
    assert none.iterations == 0 and np.array_equal(z.a, x[:, 0])


def test_gpus_of_rocm(on_gpu):
    with pytest.warns(pykry.CopyWarning, match='memory of ROCm') as told:
        x, result = pykry.solve(poisson(5), on_gpu(np.ones(25), 10), method='cg', device='host')
    assert told[0].filename == __file__
    assert result and np.allclose(poisson(5) @ (x.get() if hasattr(x, 'get') else x.a), 1)


def test_products_with_arrays_on_gpus(on_gpu):
    A, x = poisson(7), np.random.default_rng(5).uniform(-1, 1, 49)
    B = pykry.Matrix(A, device='host')
    with pytest.warns(pykry.CopyWarning, match='x lies in the memory of CUDA'):
        y = B @ on_gpu(x)
    assert np.allclose(y.a, A @ x)
    with pytest.warns(pykry.CopyWarning):
        assert np.allclose((B.T @ on_gpu(x)).a, A.T @ x)


def test_sparse_matrices_of_cupy(monkeypatch):
    A = poisson(9)

    class csr_matrix:
        """What CuPy's sparse matrices do."""
        shape, dtype = A.shape, A.dtype

        def __init__(self, factor):
            self.factor = factor

        def get(self):
            return self.factor * A

    monkeypatch.setattr(csr_matrix, '__module__', 'cupyx.scipy.sparse._csr')
    with pytest.warns(pykry.CopyWarning, match='A lies in the memory of CUDA'):
        solver = pykry.Solver(csr_matrix(1), method='cg', device='host')
    with pytest.warns(pykry.CopyWarning, match='A lies in the memory of CUDA'):
        solver.update(csr_matrix(2))
    x, result = solver.solve(np.ones(81))
    assert result and np.allclose(2 * (A @ x), 1)


def test_cupy_itself():
    cupy = pytest.importorskip('cupy')
    cupyx = pytest.importorskip('cupyx.scipy.sparse')
    A, b = cupyx.csr_matrix(poisson(30)), cupy.arange(900.0)
    with pytest.warns(pykry.CopyWarning):
        x, result = pykry.solve(A, b, method='cg')
    assert result and isinstance(x, cupy.ndarray) and x.device == b.device
    assert float(cupy.linalg.norm(A @ x - b)) <= 1.01e-8 * float(cupy.linalg.norm(b))


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
