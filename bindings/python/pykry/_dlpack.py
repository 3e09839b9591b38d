"""Arrays of other libraries by DLPack: on the host, and in buffers of OpenCL, without copies; on GPUs, with copies.

The structures are those of dlpack.h, https://dmlc.github.io/dlpack/latest/c_api.html; the data of an OpenCL array is its cl_mem.
"""
import ctypes
import sys
import warnings

import numpy as np

from ._library import TYPES, CopyWarning, check, ffi, lib, own, pointer

HOST, OPENCL = {1, 3, 11}, 4  # kDLCPU, kDLCUDAHost, kDLROCMHost; kDLOpenCL
_COPIED = {2: 'CUDA', 10: 'ROCm', 13: 'CUDA'}  # memory that OpenCL cannot reach
_NAMES = {7: 'Vulkan', 8: 'Metal', 14: 'oneAPI'}


class _Tensor(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32),
                ('ndim', ctypes.c_int32), ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16),
                ('shape', ctypes.POINTER(ctypes.c_int64)), ('strides', ctypes.POINTER(ctypes.c_int64)),
                ('byte_offset', ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [('tensor', _Tensor), ('manager', ctypes.c_void_p), ('deleter', _Deleter)]


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_pointer_of = _python('PyCapsule_GetPointer', ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
# In a destructor the capsule has no references left, and may not be made a Python object again.
_dying_is = _python('PyCapsule_IsValid', ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_dying_pointer_of = _python('PyCapsule_GetPointer', ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_capsule = _python('PyCapsule_New', ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_NAME = b'dltensor'  # a consumer renames the capsule that it has taken

_lent = {}  # what consumers use, by the address of its structure


@_Deleter
def _give_back(managed):
    _lent.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _untaken(capsule):
    if _dying_is(capsule, _NAME):
        _lent.pop(_dying_pointer_of(capsule, _NAME), None)


def kind_of(a):
    """The number of the kind of device that an array offers itself on; None: it has no DLPack, or is NumPy's."""
    return None if isinstance(a, np.ndarray) or not hasattr(a, '__dlpack_device__') else int(a.__dlpack_device__()[0])


def on_host(a, what):
    """An array of another library as NumPy's, a sparse matrix of CuPy's as SciPy's: without a copy, but for those on GPUs, of
    which a `CopyWarning` tells. What has no DLPack, or lies in OpenCL, is returned as it is."""
    if type(a).__module__.startswith('cupyx.scipy.sparse'):
        return _copied(a, what, 'CUDA')
    kind = kind_of(a)
    if kind is None or kind == OPENCL:
        return a
    if kind in _COPIED:
        return _copied(a, what, _COPIED[kind])
    if kind not in HOST:
        raise TypeError(f'{what} lies on a device of the kind {_NAMES.get(kind, kind)}; kry takes arrays on the host, of CUDA, of '
                        'ROCm and in buffers of OpenCL: copy it to the host first')
    return np.from_dlpack(a)


def _copied(a, what, where):
    copy = a.get() if hasattr(a, 'get') else a.detach().cpu().numpy() if hasattr(a, 'detach') else np.asarray(a)  # CuPy, PyTorch, JAX
    size = copy.nbytes if isinstance(copy, np.ndarray) else copy.data.nbytes + copy.indices.nbytes + copy.indptr.nbytes
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals['__name__'].startswith(f'{__package__}.'):  # the caller of the package is told
        level, frame = level + 1, frame.f_back
    warnings.warn(CopyWarning(f'{what} lies in the memory of {where}, which OpenCL cannot reach: its {size / 1e6:.3g} MB are copied to the '
                              'host each time, and the result back'), stacklevel=level)
    return copy


def beside(b, x):
    """x, an array of NumPy's, as an array of b's library where b lies on a GPU of CUDA's or ROCm's; else as it is."""
    if kind_of(b) not in _COPIED:
        return x
    if hasattr(b, 'new_tensor'):  # PyTorch
        return b.new_tensor(x)
    if type(b).__module__.startswith('cupy'):
        with b.device:
            return sys.modules['cupy'].asarray(x)
    return b.__array_namespace__().asarray(x, device=b.device)


def _layout(t, what):
    """(shape, NumPy type, distance of columns) of an array in OpenCL, whose columns have to be without gaps."""
    if t.code != 2 or t.lanes != 1 or t.bits not in (32, 64):
        raise TypeError(f'{what} has numbers of the kind {t.code} with {t.bits} bits by DLPack; kry takes float32 and float64')
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if t.ndim not in (1, 2):
        raise ValueError(f'{what} has {t.ndim} dimensions, not 1 or 2')
    strides = [t.strides[i] for i in range(t.ndim)] if t.strides else [1] if t.ndim == 1 else [shape[1], 1]
    apart = strides[1] if t.ndim == 2 and shape[1] > 1 else shape[0]
    if (strides[0] != 1 and shape[0] > 1) or apart < shape[0]:
        raise ValueError(f'{what} has to lie column after column (strides of {strides} numbers)')
    return shape, np.dtype(f'f{t.bits // 8}'), apart


class DeviceArray:
    """A vector or a block in a buffer of OpenCL, column after column.

    Solvers return it for a b that is given by DLPack from such a buffer. It offers itself by DLPack in turn.
    """

    def __init__(self, handle, shape, dtype, owner=None):
        self.handle, self.shape, self.dtype, self._owner = handle, shape, dtype, owner
        self.ndim = len(shape)

    @classmethod
    def of(cls, device, a, what):
        """A view of an array of another library in OpenCL; the solver's device has to share its context."""
        if isinstance(a, cls):
            return a
        if device.queue is None:
            raise ValueError(f'{what} lies in a buffer of OpenCL, whose context this device does not share: device=queue')
        capsule = a.__dlpack__()  # kept, untaken: with it goes the array
        t = ctypes.cast(_pointer_of(capsule, _NAME), ctypes.POINTER(_Managed)).contents.tensor
        shape, dtype, apart = _layout(t, what)
        box = ffi.new('kry_vec **')
        check(lib.kry_vec_wrap_block(device.handle, TYPES[dtype], *(shape + (1,))[:2], apart, ffi.cast('cl_mem', t.data),
                                     t.byte_offset // dtype.itemsize, box))
        return cls(own(box, lib.kry_vec_release), shape, dtype, (capsule, a))

    @classmethod
    def zeros(cls, device, shape, dtype):
        """A new one."""
        return cls(device.vector(dtype, *shape), shape, dtype)

    def get(self):
        """A copy as an array of NumPy's."""
        a = np.empty(self.shape, self.dtype, order='F')
        check(lib.kry_vec_read(self.handle, pointer(a)))
        return a

    def __dlpack_device__(self):
        return OPENCL, 0

    def __dlpack__(self, *, stream=None, **_):
        """A capsule, once all work on the device is done."""
        check(lib.kry_device_finish(lib.kry_vec_device(self.handle)))
        first = ffi.new('int64_t *')
        buffer = lib.kry_vec_buffer(self.handle, first)
        shape = (ctypes.c_int64 * self.ndim)(*self.shape)
        strides = (ctypes.c_int64 * self.ndim)(*(1, lib.kry_vec_ld(self.handle))[:self.ndim])
        tensor = _Tensor(int(ffi.cast('uintptr_t', buffer)), OPENCL, 0, self.ndim, 2, 8 * self.dtype.itemsize, 1, shape, strides,
                         first[0] * self.dtype.itemsize)
        managed = _Managed(tensor, None, _give_back)
        address = ctypes.addressof(managed)
        _lent[address] = (managed, shape, strides, self)
        return _capsule(address, _NAME, _untaken)
