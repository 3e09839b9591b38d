"""Matrices that stay on a device: their products, and what is known of them besides their numbers."""
from typing import Any, Optional

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse.linalg import LinearOperator

from . import _operator
from ._device import DeviceLike, device_of, is_on_device
from ._dlpack import OPENCL, DeviceArray, beside, kind_of, on_host
from ._library import check, ffi, lib, number_type, numbers, pointer
from ._operator import OperatorLike, as_operator, operator_type


class Matrix(LinearOperator):
    """A matrix that is stored on a device once, for products and for solvers, with what is known of it.

    Parameters
    ----------
    A : sparse array or matrix, or ndarray
        Of any shape, m-by-n.
    device, dtype, format
        As for `Solver`.
    block : int, optional
        Unknowns of a node, numbered one after the other: 3 for elasticity in space. Block Jacobi and multigrid go by it.
    null_space : array_like, optional
        Of shape (n,) or (n, k): independent vectors that a symmetric A maps to zero. Solvers keep x orthogonal to them.
    near_null_space : array_like, optional
        Of shape (n,) or (n, k): vectors that A maps to almost zero, for ``precond="amg"``.
    coordinates : array_like, optional
        Of shape (nodes, 2) or (nodes, 3), of a matrix of elasticity, whose unknowns are the displacements of a node along
        the axes, one after the other: its rigid body modes become the near null space, and `block` the number of axes.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykry
    >>> A = pykry.Matrix(sp.csr_array([[1.0, 2, 0], [0, 3, 4]]))
    >>> (A @ np.ones(3)).tolist(), (A.T @ np.ones(2)).tolist()
    ([3.0, 7.0], [1.0, 5.0, 4.0])
    >>> circle = sp.csr_array([[2.0, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    >>> x, result = pykry.solve(pykry.Matrix(circle, null_space=np.ones(3)), np.array([1.0, 0, -1]), method="cg")
    >>> bool(result), np.round(x, 6).tolist()
    (True, [0.333333, 0.0, -0.333333])
    """

    def __init__(self, A: OperatorLike, *, device: DeviceLike = None, dtype: Optional[DTypeLike] = None,
                 format: Optional[str] = None, block: Optional[int] = None, null_space: Optional[ArrayLike] = None,
                 near_null_space: Optional[ArrayLike] = None, coordinates: Optional[ArrayLike] = None):
        self.device = device_of(device)
        if self.device.ranks:
            raise TypeError('pykry.Matrix: not on ranks, where a Solver takes the rows of each')
        A = as_operator(A, None, 'A')
        if isinstance(A, LinearOperator):
            raise TypeError('pykry.Matrix: A is a LinearOperator or a function, which has no entries')
        self._type = number_type(dtype, 'dtype') if dtype is not None else operator_type(A, 'A')
        super().__init__(self._type, A.shape)
        if coordinates is not None:
            if near_null_space is not None:
                raise TypeError('pykry.Matrix: near_null_space and coordinates are both given')
            near_null_space = rigid_body_modes(coordinates)
            block = np.shape(coordinates)[1] if block is None else block
        self._stored = _operator.Matrix(self.device, A, self._type, storage(format, block))
        for tell, vectors, what in ((lib.kry_op_set_null_space, null_space, 'null_space'),
                                    (lib.kry_op_set_near_null_space, near_null_space, 'near_null_space')):
            if vectors is not None:
                check(tell(self._stored.handle, self._block(vectors, what)))

    def _block(self, vectors, what):
        a = numbers(on_host(vectors, what), self._type, what)
        if a.ndim not in (1, 2) or a.shape[0] != self.shape[1]:
            raise ValueError(f'pykry.Matrix: {what} has the shape {a.shape}, and A {self.shape}')
        return _vector_of(self.device, a)

    def update(self, A: Any) -> None:
        """Take new numbers at the same places: a matrix of the same pattern, or the array of its numbers.

        Solvers that were made of this matrix want an ``update(None)`` afterwards.
        """
        self._stored.update(A)

    def diagonal(self) -> np.ndarray:
        """The diagonal of a square A."""
        vec = self.device.vector(self._type, self.shape[0])
        check(lib.kry_op_diagonal(self._stored.handle, vec))
        return _array_of(vec, (self.shape[0],), self._type)

    def tocsr(self) -> 'scipy.sparse.csr_array':
        """The matrix, read back to the host."""
        return entries(self._stored)

    def _matvec(self, x):
        return self._product(np.ravel(x), False)

    def _matmat(self, X):
        return self._product(X, False)

    def _rmatvec(self, x):
        return self._product(np.ravel(x), True)

    def _rmatmat(self, X):
        return self._product(X, True)

    def _transpose(self):
        return _Transposed(self)

    _adjoint = _transpose

    def dot(self, x: Any) -> Any:
        """A x, also ``A @ x``: an array of the kind of x, of NumPy's, PyOpenCL's, or a `DeviceArray`; the last two stay
        on the device. That of an x of CuPy, PyTorch or JAX on a GPU goes through the host, see `Solver.solve`. ``A.T @ x`` is the
        product with the transpose."""
        return self._product(x, False) if _is_elsewhere(x) else super().dot(x)

    def __matmul__(self, x: Any) -> Any:
        return self.dot(x)

    def _product(self, x, transposed):
        rows, cols = self.shape[::-1] if transposed else self.shape
        there, lent, given = is_on_device(x), kind_of(x) == OPENCL, x
        if lent:
            x = DeviceArray.of(self.device, x, 'x')
        elif not there:
            x = numbers(on_host(x, 'x'), self._type, 'x')
        if x.ndim not in (1, 2) or x.shape[0] != cols:
            raise ValueError(f'x has the shape {x.shape}, and the matrix {(rows, cols)}')
        if x.dtype != self._type:
            raise TypeError(f'x has the type {x.dtype}, and the matrix {self._type}')
        shape = (rows,) + x.shape[1:]
        if there:
            if self.device.queue is None or x.queue.int_ptr != self.device.queue.int_ptr:
                raise ValueError('x lies on another queue than that of this matrix: Matrix(A, device=x.queue)')
            y = type(x)(x.queue, shape, x.dtype, order='F')
            vec_x, vec_y = self.device.view(x), self.device.view(y)
        elif lent:
            y = DeviceArray.zeros(self.device, shape, x.dtype)
            vec_x, vec_y = x.handle, y.handle
        else:
            vec_x, vec_y = _vector_of(self.device, x), self.device.vector(self._type, *shape)
        multiply = lib.kry_op_apply_transpose if transposed else lib.kry_op_apply
        check(multiply(self._stored.handle, 1.0, vec_x, 0.0, vec_y))
        return y if there or lent else beside(given, _array_of(vec_y, shape, self._type))

    def __repr__(self):
        return f'<pykry.Matrix of {self.shape[0]}-by-{self.shape[1]}, {self._type}, on {self.device.name!r}>'


def _is_elsewhere(x):
    """Whether x is no array of NumPy's, nor becomes one by itself."""
    return is_on_device(x) or kind_of(x) is not None


class _Transposed(LinearOperator):
    """The transpose of a `Matrix`, which it shares."""

    def __init__(self, A):
        self.T_, self.device = A, A.device
        super().__init__(A.dtype, A.shape[::-1])

    def _matvec(self, x):
        return self.T_._rmatvec(x)

    def _matmat(self, X):
        return self.T_._rmatmat(X)

    def _rmatvec(self, x):
        return self.T_._matvec(x)

    def _rmatmat(self, X):
        return self.T_._matmat(X)

    def _transpose(self):
        return self.T_

    _adjoint = _transpose

    def dot(self, x):
        return self.T_._product(x, True) if _is_elsewhere(x) else super().dot(x)

    __matmul__ = dot


def rigid_body_modes(coordinates: ArrayLike) -> np.ndarray:
    """The rigid body modes of nodes at `coordinates`, of shape (nodes, 2) or (nodes, 3): 3 or 6 columns."""
    places = np.ascontiguousarray(on_host(coordinates, 'coordinates'), np.float64)
    if places.ndim != 2:
        raise ValueError(f'coordinates have the shape {places.shape}; one row for each node, a column for each axis')
    nodes, axes = places.shape
    modes = np.empty((nodes * axes, 3 if axes == 2 else 6), order='F')
    check(lib.kry_rigid_body_modes(axes, nodes, ffi.cast('double *', places.ctypes.data),
                                   ffi.cast('double *', modes.ctypes.data)))
    return modes


def storage(format=None, block=None, on_host=False):
    """The parameters of a stored matrix."""
    params = ffi.new('kry_matrix_params *', {'struct_size': ffi.sizeof('kry_matrix_params'), 'duplicates': lib.KRY_SUM,
                                             'block': 0 if block is None else block, 'on_host': on_host})
    if format:
        check(lib.kry_format_parse(format.encode(), params))
    return params


def entries(stored):
    """The entries of a stored matrix, as csr_array."""
    info = ffi.new('kry_op_info *')
    lib.kry_op_describe_sized(stored.handle, info, ffi.sizeof('kry_op_info'))
    row_ptr, col = np.empty(stored.shape[0] + 1, np.int64), np.empty(info.nnz, np.int32)
    val = np.empty(info.nnz, stored.dtype)
    check(lib.kry_matrix_read(stored.handle, ffi.cast('int64_t *', row_ptr.ctypes.data),
                              ffi.cast('int32_t *', col.ctypes.data), pointer(val)))
    return scipy.sparse.csr_array((val, col, row_ptr), shape=stored.shape)


def _vector_of(device, a):
    """An array of the host on the device."""
    vec = device.vector(a.dtype, *a.shape)
    a = np.asfortranarray(a)
    check(lib.kry_vec_write(vec, pointer(a)))
    return vec


def _array_of(vec, shape, dtype):
    a = np.empty(shape, dtype, order='F')
    check(lib.kry_vec_read(vec, pointer(a)))
    return a
