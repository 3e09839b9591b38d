"""Operators: matrices of SciPy and NumPy, and Python functions in place of them."""
import typing

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from ._dlpack import on_host
from ._library import TYPES, check, ffi, lib, number_type, own, pointer, refuse_masked
from ._monitor import Interrupted

# What a matrix or a preconditioner may be.
OperatorLike = typing.Union['scipy.sparse.sparray', 'scipy.sparse.spmatrix', np.ndarray, LinearOperator,
                            typing.Callable[[np.ndarray], np.ndarray]]


class Matrix:
    """A stored matrix: its operator, and the arrays of the pattern that new numbers have to fit.

    Arrays of SciPy's are taken as they are, without a copy, except for row pointers (64 bits here) and columns of
    64 bits (32 bits here).
    """

    def __init__(self, device, A, dtype, params):
        self.device, self.dtype, self.shape = device, dtype, A.shape
        self.layout, self.pattern, self.order, val = self._parts(A)
        self._note(A, val)
        box = ffi.new('kry_op **')
        make = lib.kry_coo_create if self.layout == 'coo' else lib.kry_csr_create
        sizes = [len(val)] if self.layout == 'coo' else []
        first = 'int32_t *' if self.layout == 'coo' else 'int64_t *'
        check(make(device.handle, TYPES[dtype], *A.shape, *sizes, ffi.cast(first, self.pattern[0].ctypes.data),
                   ffi.cast('int32_t *', self.pattern[1].ctypes.data), pointer(val), params, box))
        self.handle = own(box, lib.kry_op_release)

    def _note(self, A, val):
        """What an array of new numbers is to suit."""
        self.given = A.format if scipy.sparse.issparse(A) else 'dense'
        self.count = len(A.data) if self.given in ('csr', 'csc', 'coo') else len(val)

    def update(self, A):
        """New numbers, at the same places: a matrix of the same pattern, or the array of its numbers."""
        with self.device.together('pykry.Solver.update'):
            val = self._numbers(A)
        check(lib.kry_op_update(self.handle, pointer(val)))

    def _numbers(self, A):
        A = on_host(A, 'update: A')
        if scipy.sparse.issparse(A) or np.ndim(A) == 2:
            if np.shape(A) != self.shape:
                raise ValueError(f'update: the matrix is {np.shape(A)}, not {self.shape}')
            layout, pattern, _, val = self._parts(as_operator(A, None, 'update: A'))
            same = layout == self.layout and all(map(np.array_equal, pattern, self.pattern))
            if not same:
                raise ValueError('update: the entries stand at other places than those of the first matrix')
            return val
        refuse_masked(A, 'A')
        if self.given not in ('csr', 'csc', 'coo', 'dense'):
            raise TypeError(f'update: an array of numbers, but of a matrix in {self.given} their order is not known: give the '
                            'whole matrix')
        val = np.ascontiguousarray(A)
        number_type(val.dtype, 'A')
        if val.shape != (self.count,):
            raise ValueError(f'update: numbers of shape {val.shape}, not ({self.count},)')
        return np.ascontiguousarray(val if self.order is None else val[self.order], self.dtype)

    def _parts(self, A):
        return parts(A, self.dtype)


class RankMatrix(Matrix):
    """A stored matrix of which each rank of a team brings its own rows, with all columns.

    Attributes
    ----------
    whole : int
        Rows and columns of all ranks.
    """

    def __init__(self, team, A, dtype, params):
        self.device, self.dtype, self.shape = team, dtype, A.shape
        first, self.whole = team.count_rows(A.shape[0])
        with team.together(f'pykry.Solver of {dtype}'):
            if A.shape[1] != self.whole:
                raise ValueError(f'A is {A.shape[0]}-by-{A.shape[1]}, and all ranks together have {self.whole} rows: a '
                                 'rank brings its own rows with all columns')
            self.layout, self.pattern, self.order, val = self._parts(A)
            self._note(A, val)
        row_ptr, col = (ffi.cast('int64_t *', p.ctypes.data) for p in self.pattern)
        box = ffi.new('kry_op **')
        check(lib.kry_csr_create_rows(team.handle, TYPES[dtype], first, A.shape[0], row_ptr, col, pointer(val), params, box))
        self.handle = own(box, lib.kry_op_release)

    def _parts(self, A):
        return parts(A, self.dtype, np.int64, ('csr',))


def parts(A, dtype, columns=np.int32, layouts=('csr', 'coo')):
    """A matrix that `as_operator` has checked, as contiguous arrays of kry's types.

    Returns
    -------
    layout : "csr" or "coo", of `layouts`
    pattern : (row_ptr, col) or (row, col)
    order : ndarray or None
        Entry k is number order[k] of the matrix as it was given; None: number k.
    val : ndarray
        In the order of the pattern.
    """
    if not scipy.sparse.issparse(A):
        A = np.asarray(A)
        A = scipy.sparse.csr_array(A.astype(number_type(A.dtype, 'A'), copy=False))
    order = None
    if A.format not in layouts:
        A, order = _as_csr(A)
    refuse_masked(A.data, 'A')
    number_type(A.dtype, 'A')
    if max(A.shape) > np.iinfo(columns).max:
        raise ValueError(f'A is {A.shape[0]}-by-{A.shape[1]}; kry takes up to 2^31 - 1 rows and columns')
    places = (A.row, A.col) if A.format == 'coo' else (A.indptr, A.indices)
    kinds = (np.int32 if A.format == 'coo' else np.int64, columns)
    pattern = tuple(np.ascontiguousarray(p, kind) for p, kind in zip(places, kinds))
    return A.format, pattern, order, np.ascontiguousarray(A.data, dtype)


def _as_csr(A):
    """A in CSR, and the order of its numbers in it, as of `parts`; None for formats whose numbers have none."""
    if A.format == 'csc':
        count = A.indptr[-1]
        B = scipy.sparse.csc_array((np.arange(count, dtype=A.indptr.dtype), A.indices[:count], A.indptr), shape=A.shape).tocsr()
        indices, indptr, order = B.indices, B.indptr, B.data
    elif A.format == 'coo':
        order = np.lexsort((A.col, A.row))
        indices, indptr = A.col[order], np.append(0, np.cumsum(np.bincount(A.row, minlength=A.shape[0])))
    else:
        return A.tocsr(), None
    val = A.data[order].astype(number_type(A.dtype, 'A'), copy=False)
    return scipy.sparse.csr_array((val, indices, indptr), shape=A.shape), order


def _check_sparse(A, what):
    """Refuse arrays that make no matrix. SciPy does not look at those that are assigned to one, and neither do its conversions."""
    if A.ndim != 2:
        raise ValueError(f'{what} has {A.ndim} dimensions, not 2')
    if A.format == 'coo':
        places = {'row': (A.row, A.shape[0]), 'col': (A.col, A.shape[1])}
        if not len(A.row) == len(A.col) == len(A.data):
            raise ValueError(f'{what}.row has {len(A.row)} numbers, {what}.col {len(A.col)} and {what}.data {len(A.data)}')
    elif A.format in ('csr', 'csc', 'bsr'):
        rows, columns = (n // k for n, k in zip(A.shape, A.blocksize if A.format == 'bsr' else (1, 1)))
        if A.format == 'csc':
            rows, columns = columns, rows
        _check_pointers(A, rows, what)
        places = {'indices': (A.indices[:A.indptr[-1]], columns)}
    else:
        return
    for name, (indices, limit) in places.items():
        if indices.dtype.kind not in 'iu':
            raise TypeError(f'{what}.{name} has the type {indices.dtype}, and is to have whole numbers')
        if A.format in ('csr', 'coo') and np.can_cast(indices.dtype, np.int32):
            continue  # the library looks at them
        wrong = np.flatnonzero((indices < 0) | (indices >= limit))
        if len(wrong):
            raise ValueError(f'{what}.{name}[{wrong[0]}] = {indices[wrong[0]]} is outside 0 ... {limit - 1}')


def _check_pointers(A, rows, what):
    """Refuse an indptr that does not suit the shape of A and its other arrays."""
    pointers, there = A.indptr, min(len(A.indices), len(A.data))
    if pointers.dtype.kind not in 'iu':
        raise TypeError(f'{what}.indptr has the type {pointers.dtype}, and is to have whole numbers')
    if pointers.shape != (rows + 1,):
        raise ValueError(f'{what}.indptr has the shape {pointers.shape}, and a matrix of shape {A.shape} in {A.format} wants '
                         f'({rows + 1},)')
    if pointers[0] != 0 or not 0 <= pointers[-1] <= there:
        raise ValueError(f'{what}.indptr goes from {pointers[0]} to {pointers[-1]}, and is to go from 0 to {there} at most, for '
                         f'{what}.indices has {len(A.indices)} numbers and {what}.data {len(A.data)}')
    falls = np.flatnonzero(pointers[1:] < pointers[:-1])
    if len(falls):
        at = falls[0] + 1
        raise ValueError(f'{what}.indptr[{at}] = {pointers[at]} is less than the {pointers[at - 1]} before it')


# ---- Python functions -----------------------------------------------------------------------


class Calls:
    """What the library calls: a LinearOperator, and the last thing that it raised."""

    def __init__(self, A, dtype, what):
        self.A, self.dtype, self.what, self.error = A, dtype, what, None

    def apply(self, call, alpha, x, beta, y):
        """y := alpha call(x) + beta y; zeros are mapped to zeros without a call."""
        try:
            given = self._read(x)
            product = alpha * self._product(call(given)) if given.any() else np.zeros(lib.kry_vec_rows(y), self.dtype)
            if beta:
                product += beta * self._read(y)
            product = np.ascontiguousarray(product, self.dtype)
            return lib.kry_vec_write(y, pointer(product))
        except BaseException as error:  # as of Ctrl-C: Python's, to be raised where the solve was called
            self.error = error
            said = ffi.new('char[]', f'{type(error).__name__}: {error}'.encode())
            return lib.kry_fail(lib.KRY_ERR_CALLBACK, b'a function of Python failed: %s', said)

    def _product(self, y):
        """What was returned, as real numbers of the solver's type."""
        y = np.asarray(y)
        if y.dtype.kind not in 'biuf':
            raise TypeError(f'{self.what} returned numbers of the type {y.dtype}; kry computes with real numbers')
        return y.astype(self.dtype, copy=False).reshape(-1)

    def _read(self, vec):
        x = np.empty(lib.kry_vec_rows(vec), self.dtype)
        check(lib.kry_vec_read(vec, pointer(x)))
        return x


class Function:
    """A LinearOperator as an operator of kry's, which calls it with arrays of the host.

    Parameters
    ----------
    device : Device
    A : scipy.sparse.linalg.LinearOperator
    dtype : numpy.dtype
    what : str
        Its name in messages.
    traits : int
        What is promised of it.
    """

    def __init__(self, device, A, dtype, what, traits=0):
        self.calls, self.shape = Calls(A, dtype, what), A.shape
        self._me = ffi.new_handle(self.calls)  # what the library calls with, as long as a solver keeps this Function
        shape = ffi.new('kry_op_shape *', {'rows': A.shape[0], 'cols': A.shape[1], 'type': TYPES[dtype],
                                           'traits': traits | lib.KRY_WAITS})
        box = ffi.new('kry_op **')
        check(lib.kry_op_create(device.handle, _table, self._me, shape, box))
        self.handle = own(box, lib.kry_op_release)

    def raise_error(self):
        """Raise what the function raised since the last call, if anything."""
        if self.calls.error is None:
            return
        try:
            if isinstance(self.calls.error, Interrupted):  # of a solver within the function, whose x nobody asked for
                raise KeyboardInterrupt from self.calls.error
            raise self.calls.error
        finally:
            self.calls.error = None


def _interrupted(kind, error, trace):
    """What was raised in `_apply` before `Calls.apply` could take care of it, or behind it: Ctrl-C."""
    ffi.from_handle(trace.tb_frame.f_locals['me']).error = error


_apply_type = 'kry_status(void *, double, const kry_vec *, double, kry_vec *)'


@ffi.callback(_apply_type, error=lib.KRY_ERR_CALLBACK, onerror=_interrupted)
def _apply(me, alpha, x, beta, y):
    calls = ffi.from_handle(me)
    return calls.apply(calls.A.matvec, alpha, x, beta, y)


@ffi.callback(_apply_type, error=lib.KRY_ERR_CALLBACK, onerror=_interrupted)
def _apply_transpose(me, alpha, x, beta, y):
    calls = ffi.from_handle(me)
    return calls.apply(calls.A.rmatvec, alpha, x, beta, y)


_kind = ffi.new('char[]', b'python')
_table = ffi.new('kry_op_table *', {'struct_size': ffi.sizeof('kry_op_table'), 'kind': _kind, 'apply': _apply,
                                    'apply_transpose': _apply_transpose})


def as_operator(A, shape, what):
    """A matrix on the host; a LinearOperator, or a function of a vector as one of `shape`."""
    A = on_host(A, what)
    if scipy.sparse.issparse(A):
        _check_sparse(A, what)
        return A
    if isinstance(A, LinearOperator):
        return A
    if callable(A) and not hasattr(A, 'shape'):
        if shape is None:
            raise TypeError(f'{what} is a function; shape=(rows, columns) has to be given with it')
        return LinearOperator(shape, matvec=A, dtype=np.float64)
    refuse_masked(A, what)
    if hasattr(A, 'matvec') and hasattr(A, 'shape'):
        return LinearOperator(A.shape, matvec=A.matvec, rmatvec=getattr(A, 'rmatvec', None),
                              dtype=getattr(A, 'dtype', np.float64))
    A = np.asarray(A)
    number_type(A.dtype, what)
    if A.ndim != 2:
        raise ValueError(f'{what} has {A.ndim} dimensions, not 2')
    return A


def operator_type(A, what):
    """The number type that a matrix or an operator is computed with."""
    return number_type(np.float64 if A.dtype is None else A.dtype, what)
