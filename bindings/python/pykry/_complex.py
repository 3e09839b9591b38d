"""Complex systems as real ones of twice the size, for the functions of pykry.scipy.

A number a + ib is the block [[a, -b], [b, a]] of a matrix, and two numbers a, b of a vector: as NumPy stores it. A Hermitian
matrix becomes a symmetric one, a positive definite one stays so, norms are the same, and the products that cg, minres, lsqr and
lsmr form are, too. The Krylov spaces of other methods have real coefficients: they may take up to twice as many iterations.
"""
import functools
import inspect

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator


def takes_complex(function):
    """`function`, and where A, b, x0 or M is complex what it does with real numbers, as complex ones."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # which says what is wrong
        if not any(is_complex(given.get(name)) for name in ('A', 'b', 'x0', 'M')):
            return function(*args, **kwargs)
        if scipy.sparse.issparse(given.get('b')):
            if given['b'].shape[1] != 1:
                return function(*args, **kwargs)  # which takes it column by column
            given['b'] = given['b'].toarray()
        return _as_real(function, given)

    return call


def _as_real(function, given):
    real = dict(given)
    for name in ('A', 'M'):
        if real.get(name) is not None:
            real[name] = as_real_matrix(real[name], name)
    for name in ('b', 'x0'):
        if real.get(name) is not None and not isinstance(real[name], str):
            real[name] = as_real_numbers(real[name])
    if real.get('callback') is not None:
        real['callback'] = lambda seen: given['callback'](as_complex(seen) if np.ndim(seen) else seen)
    for name in ('outer_v', 'CU'):
        if real.get(name) is not None:
            real[name] = [tuple(None if v is None else as_real_numbers(v) for v in pair) for pair in given[name]]
    found = function(**real)
    for name in ('outer_v', 'CU'):
        if real.get(name) is not None:
            given[name][:] = [tuple(None if v is None else as_complex(v) for v in pair) for pair in real[name]]
    if not isinstance(found, tuple):
        return as_complex(found)
    return (as_complex(found[0]), *(part[::2] if np.ndim(part) else part for part in found[1:]))


def is_complex(a):
    if a is None or isinstance(a, str):
        return False
    kind = getattr(a, 'dtype', None)
    return (np.asarray(a).dtype if kind is None and not callable(a) else np.dtype(kind)).kind == 'c'


def as_real_numbers(a):
    """A complex array of shape (n,) or (n, k) as a real one of (2 n,) or (2 n, k); a column is one system as well."""
    a = np.asarray(a)
    if a.dtype.kind not in 'biufc':
        raise TypeError(f'numbers of the type {a.dtype}; real or complex ones are wanted')
    single = a.dtype in (np.complex64, np.float32, np.float16)
    a = np.atleast_1d(a).astype(np.complex64 if single else np.complex128)
    return np.ascontiguousarray(a.T).view(np.float32 if single else np.float64).T


def as_complex(x):
    """The complex array that a real one of twice the rows stands for."""
    x = np.ascontiguousarray(np.asarray(x).T)
    return x.view(np.complex64 if x.dtype == np.float32 else np.complex128).T


def as_real_matrix(A, what):
    if isinstance(A, LinearOperator) or not scipy.sparse.issparse(A) and hasattr(A, 'matvec'):
        return _of_function(aslinearoperator(A))
    A = scipy.sparse.coo_array(A if scipy.sparse.issparse(A) else np.atleast_2d(A))
    if A.dtype.kind not in 'biufc':
        raise TypeError(f'{what} has the type {A.dtype}; real or complex numbers are wanted')
    row, col, re, im = 2 * A.row.astype(np.int64), 2 * A.col.astype(np.int64), A.data.real, A.data.imag
    parts = [(re, 0, 0), (re, 1, 1)] + ([(-im, 0, 1), (im, 1, 0)] if A.dtype.kind == 'c' else [])
    val = np.concatenate([v for v, _, _ in parts])
    places = np.concatenate([row + i for _, i, _ in parts]), np.concatenate([col + j for _, _, j in parts])
    return scipy.sparse.coo_array((val, places), shape=(2 * A.shape[0], 2 * A.shape[1])).tocsr()


def _of_function(A):
    """An operator on complex or real vectors, as one on their real and imaginary parts."""
    takes_both = is_complex(A)
    single = A.dtype in (np.complex64, np.float32)

    def apply(v, one, both):
        if takes_both:
            return as_real_numbers(one(as_complex(np.ravel(v))))
        return np.ravel(both(np.reshape(v, (-1, 2))))

    return LinearOperator((2 * A.shape[0], 2 * A.shape[1]), dtype=np.float32 if single else np.float64,
                          matvec=lambda v: apply(v, A.matvec, A.matmat), rmatvec=lambda v: apply(v, A.rmatvec, A.rmatmat))
