"""The library behind this package, its errors, and who owns what it makes."""
import functools
import glob
import importlib.util
import operator
import os
import pathlib
import sys

import numpy as np

from ._declarations import ffi


def _find_drivers():
    """Tell the OpenCL loader of CPU drivers that pip has installed, unless the machine or the user names some."""
    if {'OCL_ICD_VENDORS', 'OCL_ICD_FILENAMES'} & set(os.environ) or glob.glob('/etc/OpenCL/vendors/*.icd'):
        return
    places = [os.path.join(sys.prefix, 'lib', 'libintelocl.so')]
    spec = importlib.util.find_spec('pocl_binary_distribution')
    if spec and spec.origin:
        site = pathlib.Path(spec.origin).parent.parent
        places += sorted(str(p) for p in site.glob('p*/.libs/libpocl*.so*'))
    there = [p for p in places if os.path.exists(p)]
    if there:  # the loader reads the variable when it is first called
        os.environ['OCL_ICD_VENDORS'] = there[0]


def _open(name, named=None):
    """A library of this package, or of the system; `named` is another one."""
    own = pathlib.Path(__file__).parent / name
    return ffi.dlopen(named or (str(own) if own.exists() else name))


_find_drivers()
lib = _open('libkry.so.0', os.environ.get('PYKRY_LIBRARY'))
report_lib = _open('libkry-report.so.0')  # it takes the kry that is loaded already, as the next does
eigen_lib = _open('libkry-eigenvalues.so.0')


class KryError(RuntimeError):
    """A call that failed; its message names the function, the value and the limit.

    Attributes
    ----------
    status : int
        The number of the status, as in C: negative.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status

    def __reduce__(self):  # for pickle, which otherwise makes an exception of its message alone
        return type(self), (self.status, *self.args), self.__dict__


class ArgumentError(KryError, ValueError):
    """An argument, a shape or a word that is refused."""


class NumberTypeError(KryError, TypeError):
    """Number types or kinds of operators that do not agree."""


class DeviceMemoryError(KryError, MemoryError):
    """The host or the device is out of memory."""


class UnsupportedError(KryError, NotImplementedError):
    """This operator, device or build cannot do that."""


class SingularError(KryError, np.linalg.LinAlgError):
    """A matrix that is to be factored or inverted is singular."""


class CopyWarning(UserWarning):
    """An array of CUDA or ROCm goes through the host."""


class ConvergenceWarning(UserWarning):
    """A solve ended before its true residual met the target."""


_kinds = {lib.KRY_ERR_ARGUMENT: ArgumentError, lib.KRY_ERR_SHAPE: ArgumentError, lib.KRY_ERR_PARSE: ArgumentError,
          lib.KRY_ERR_TYPE: NumberTypeError, lib.KRY_ERR_MEMORY: DeviceMemoryError,
          lib.KRY_ERR_UNSUPPORTED: UnsupportedError, lib.KRY_ERR_SINGULAR: SingularError}

_statuses = {ValueError: lib.KRY_ERR_ARGUMENT, TypeError: lib.KRY_ERR_TYPE, MemoryError: lib.KRY_ERR_MEMORY,
             KeyboardInterrupt: lib.KRY_ERR_CANCELLED}  # of other ranks


causes = []  # what functions of this package raised while the library called them, which made it fail


def check(status):
    """Hand a status back, or raise what a negative one stands for."""
    if status < 0:
        raise _failure(status)  # no variable refers to it: its traceback refers to this frame, a cycle that keeps all callers
    return status


def _failure(status):
    """The exception that a negative status stands for."""
    error = _kinds.get(status, KryError)(status, text(lib.kry_last_error()))
    if causes:
        error.__cause__ = causes.pop()
        causes.clear()
    return error


def fail(error, where):
    """Make what Python raised the last error of the library; returns its status."""
    status = (error.status if isinstance(error, KryError) else
              next((status for kind, status in _statuses.items() if isinstance(error, kind)), lib.KRY_ERR_CALLBACK))
    said = error if isinstance(error, (KryError, ValueError)) else f'{type(error).__name__}: {error}'
    return lib.kry_fail(status, b'%s: %s', ffi.new('char[]', where.encode()), ffi.new('char[]', str(said).encode()))


def text(chars):
    """A C string as str."""
    return ffi.string(chars).decode(errors='replace') if chars else ''


def own(box, release):
    """The object that a constructor put into `box`, released with the Python object that is returned."""
    return keeping(box[0], ffi.gc(box, release))


def keeping(pointer, owner):
    """The pointer, as an object that keeps `owner`. No code of Python runs at its end: Ctrl-C in there would be lost."""
    return ffi.gc(pointer, functools.partial(operator.is_, owner))


TYPES = {np.dtype(np.float32): lib.KRY_F32, np.dtype(np.float64): lib.KRY_F64}


def number_type(dtype, what):
    """The NumPy type, single or double, that numbers of `dtype` are computed in; others are refused by name."""
    dtype = np.dtype(dtype).newbyteorder('=')
    if dtype in TYPES:
        return dtype
    if dtype.kind in 'biu':
        return np.dtype(np.float64)
    if dtype == np.float16:
        return np.dtype(np.float32)
    raise TypeError(f'{what} has the type {dtype}; kry computes with real numbers, float32 or float64')


def check_tolerances(name, rtol, atol):
    """Refuse what is no tolerance."""
    for word, value in (('rtol', rtol), ('atol', atol)):
        if isinstance(value, str) or value is None or not value >= 0:
            raise ValueError(f'{name}: {word}={value!r}; a number of at least 0')


def refuse_masked(a, what):
    """Numbers that are masked are not there, and have no place in a system."""
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(f'{what} is a masked array; fill it first, as with {what}.filled(0)')


def numbers(a, dtype, what):
    """An array of `dtype` for a vector or a block, without a copy where it is one already."""
    refuse_masked(a, what)
    a = np.asarray(a)
    number_type(a.dtype, what)
    return a.astype(dtype, copy=False)


def pointer(a):
    """The address of an array's numbers; the caller keeps the array alive."""
    return ffi.from_buffer(a if a.flags.c_contiguous else a.T)
