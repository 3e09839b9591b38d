"""Vectors that stay on a device, and products there: what methods that are written in Python work with."""
import numpy as np

from ._library import check, ffi, lib, own, pointer
from ._matrix import Matrix, storage
from ._monitor import here
from ._operator import Function, as_operator
from ._operator import Matrix as StoredMatrix
from ._solver import Solver


class Products:
    """y := alpha A x + beta y, and the same with A', of a matrix, a LinearOperator or a `Solver`.

    Parameters
    ----------
    device : Device
    A : sparse array or matrix, ndarray, LinearOperator, `Matrix`, or a `Solver`
    dtype : numpy.float32 or numpy.float64
    """

    def __init__(self, device, A, dtype, what='A'):
        self._functions, self._error = [], None
        if isinstance(A, Solver) and A.device is device and A.dtype == dtype:
            self._kept, self.handle, self._functions = A, A._handle, A._functions
            return
        A = as_operator(A, None, what)
        if isinstance(A, Matrix) and A.device is device and A.dtype == dtype:
            self._kept = A._stored
        elif hasattr(A, 'matvec'):
            self._kept = Function(device, A, dtype, what)
            self._functions = [self._kept]
        else:
            self._kept = StoredMatrix(device, A, dtype, storage())
        self.handle = self._kept.handle

    def apply(self, alpha, x, beta, y, transposed=False):
        call = lib.kry_op_apply_transpose if transposed else lib.kry_op_apply
        outer = getattr(here, 'solver', None)
        here.solver = self
        try:
            status = call(self.handle, alpha, x, beta, y)
        finally:
            here.solver = outer
        try:
            if self._error is not None:
                raise self._error
        finally:
            self._error = None  # whose traceback refers to this object
        for function in self._functions:
            function.raise_error()
        check(status)

    def _look(self, it):
        """In a solve that is a product here: whether to stop."""
        return 0 if self._error is None else 1


class Basis:
    """Up to `most` vectors of n numbers in one block on a device."""

    def __init__(self, device, dtype, n, most):
        self._dtype, self._block = dtype, device.vector(dtype, n, most)
        self._numbers = device.vector(dtype, most)
        self._column, self._first = {}, {}

    def __getitem__(self, j):
        """Column j, as a vector that shares its numbers."""
        if j not in self._column:
            self._column[j] = _made(lib.kry_vec_view, self._block, j)
        return self._column[j]

    def orthogonalise(self, w, count):
        """w := w - V V'w for the first `count` vectors V, twice; returns V'w."""
        total = np.zeros(count)
        for _ in range(2 if count else 0):
            op, numbers = self._some(count)
            check(lib.kry_op_apply_transpose(op, 1.0, w, 0.0, numbers))
            check(lib.kry_op_apply(op, -1.0, numbers, 1.0, w))
            total += read(numbers, self._dtype)
        return total

    def add(self, alpha, c, y):
        """y := y + alpha V c for the first len(c) vectors V."""
        if len(c):
            op, numbers = self._some(len(c))
            write(numbers, c, self._dtype)
            check(lib.kry_op_apply(op, alpha, numbers, 1.0, y))

    def _some(self, count):
        """The first vectors as an operator, and a place for one number for each."""
        if count not in self._first:
            columns = _made(lib.kry_vec_block, self._block, 0, lib.kry_vec_rows(self._block), 0, count)
            box = ffi.new('kry_op **')
            check(lib.kry_dense_create(columns, 0, box))
            self._first[count] = (own(box, lib.kry_op_release),
                                  _made(lib.kry_vec_block, self._numbers, 0, count, 0, 1))
        return self._first[count]


def _made(make, *arguments):
    box = ffi.new('kry_vec **')
    check(make(*arguments, box))
    return own(box, lib.kry_vec_release)


def vector(device, dtype, a):
    """A vector on the device with the numbers of an array."""
    vec = device.vector(dtype, len(a))
    write(vec, a, dtype)
    return vec


def write(vec, a, dtype):
    a = np.ascontiguousarray(a, dtype)
    check(lib.kry_vec_write(vec, pointer(a)))


def read(vec, dtype):
    a = np.empty(lib.kry_vec_rows(vec), dtype)
    check(lib.kry_vec_read(vec, pointer(a)))
    return a


def norm(x):
    box = ffi.new('double *')
    check(lib.kry_vec_norm2(x, box))
    return box[0]


def dot(x, y):
    box = ffi.new('double *')
    check(lib.kry_vec_dot(x, y, box))
    return box[0]


def axpby(a, x, b, y):
    """y := a x + b y"""
    check(lib.kry_vec_axpby(a, x, b, y))


def copy(x, y):
    """y := x"""
    check(lib.kry_vec_copy(x, y))
