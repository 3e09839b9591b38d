"""Thousands of small systems in one call."""
import dataclasses
import warnings
from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._device import DeviceLike, device_of
from ._library import TYPES, ConvergenceWarning, check, ffi, lib, number_type, numbers, own, pointer, text

__all__ = ['solve', 'BatchResult']
_METHODS = {'auto': lib.KRY_SYSTEMS_AUTO, 'cg': lib.KRY_SYSTEMS_CG, 'bicgstab': lib.KRY_SYSTEMS_BICGSTAB,
            'lu': lib.KRY_SYSTEMS_LU, 'tridiagonal': lib.KRY_SYSTEMS_TRIDIAGONAL}
_VERDICTS = {lib.KRY_SYSTEMS_SOLVED: 'solved', lib.KRY_SYSTEMS_LIMIT: 'iteration_limit', lib.KRY_SYSTEMS_BREAKDOWN: 'breakdown',
             lib.KRY_SYSTEMS_STAGNATED: 'stagnated', lib.KRY_SYSTEMS_SINGULAR: 'singular',
             lib.KRY_SYSTEMS_NOT_FINITE: 'not_finite'}
_END = np.dtype([('verdict', np.int32), ('iterations', np.int32), ('residual', np.float64)])
assert _END.itemsize == ffi.sizeof('kry_systems_end')


@dataclasses.dataclass(frozen=True)
class BatchResult:
    """What became of many systems. It is true if all were solved.

    Attributes
    ----------
    solved : ndarray of bool
        Of shape (batch,), or (batch, k): whether ``norm(b - A @ x) <= rtol * norm(b)``, computed from x.
    verdict : ndarray of str
        "solved", "iteration_limit", "breakdown", "stagnated", "singular" or "not_finite".
    iterations : ndarray of int
    residual : ndarray of float
        ``norm(b - A @ x) / norm(b)``.
    why : str
        One sentence on all, which names the first that was not solved.
    method : str
        What solved them.
    seconds : float
        Without the copies between host and device.
    """

    solved: np.ndarray
    verdict: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    why: str
    method: str
    seconds: float

    def __bool__(self):
        return bool(self.solved.all())


def solve(A: Any, b: ArrayLike, x0: Optional[ArrayLike] = None, *, method: str = 'auto', rtol: Optional[float] = None,
          maxiter: Optional[int] = None, jacobi: bool = True, device: DeviceLike = None) -> Tuple[np.ndarray, BatchResult]:
    """Solve ``A[s] @ x[s] = b[s]`` for many small systems with matrices of one pattern.

    Parameters
    ----------
    A : ndarray, or tuple (indptr, indices, values)
        Dense, of shape (batch, n, n); or in CSR with one pattern for all, values of shape (batch, nnz). A batch of one matrix goes
        with every b.
    b : array_like
        Of shape (batch, n), or (batch, n, k) for k right-hand sides of each matrix.
    x0 : array_like, optional
        Guesses for "cg" and "bicgstab", of the shape of b.
    method : str
        "cg" (symmetric positive definite), "bicgstab", "lu" (with partial pivoting), "tridiagonal"; "auto": by the pattern.
    rtol : float, optional
        Default 1e-8, in float32 1e-4.
    maxiter : int, optional
        Default 4 n, at least 100.
    jacobi : bool
        Iterate with the inverse diagonal as preconditioner.
    device : Device or str, optional
        As of `Solver`; one device.

    Returns
    -------
    x : ndarray
        Of the shape of b. Those that were not solved are what the method came to.
    result : BatchResult
        True if all were solved; else there is a `ConvergenceWarning`, too.

    Examples
    --------
    >>> import numpy as np, pykry
    >>> A = np.random.default_rng(1).random((1000, 8, 8)) + 8 * np.eye(8)
    >>> x, result = pykry.batch.solve(A, np.ones((1000, 8)))
    >>> bool(result), bool(np.allclose(A @ x[..., None], 1))
    (True, True)
    """
    if method not in _METHODS:
        raise ValueError(f'batch.solve: method={method!r}; there are {", ".join(_METHODS)}')
    indptr, indices, values = A if isinstance(A, tuple) else (None, None, A)
    values, b = np.asarray(values), np.asarray(b)
    dtype = np.dtype(np.result_type(number_type(values.dtype, 'A'), number_type(b.dtype, 'b')))
    values = np.ascontiguousarray(numbers(values, dtype, 'A'))
    n = values.shape[-1] if indptr is None else len(indptr) - 1
    matrices, entries = _check_matrices(values, indices, n)
    if b.ndim not in (2, 3) or b.shape[1] != n or b.shape[0] % max(matrices, 1):
        raise ValueError(f'batch.solve: b has the shape {b.shape}; for {matrices} matrices of {n} rows it is ({matrices}, {n}) or '
                         f'({matrices}, {n}, k)')
    if matrices == 0 or b.size == 0:
        raise ValueError(f'batch.solve: there is no system in b of the shape {b.shape}')
    where = device_of(device)
    handle = _create(where, dtype, n, indptr, indices, {
        'method': _METHODS[method], 'rtol': rtol or 0.0, 'max_iter': maxiter or 0, 'no_jacobi': not jacobi, 'guess': x0 is not None})
    systems = b.size // n
    vec_a, vec_b, vec_x = (where.vector(dtype, *shape) for shape in ((entries, matrices), (n, systems), (n, systems)))
    check(lib.kry_vec_write(vec_a, ffi.from_buffer(values)))
    check(lib.kry_vec_write(vec_b, ffi.from_buffer(_systems_of(b, dtype, 'b'))))
    if x0 is not None:
        if np.shape(x0) != b.shape:
            raise ValueError(f'batch.solve: x0 has the shape {np.shape(x0)}, and b {b.shape}')
        check(lib.kry_vec_write(vec_x, ffi.from_buffer(_systems_of(np.asarray(x0), dtype, 'x0'))))
    ends, result = np.empty(systems, _END), ffi.new('kry_systems_result *')
    status = check(lib.kry_systems_solve_sized(handle, vec_a, vec_b, vec_x, ffi.cast('kry_systems_end *', ffi.from_buffer(ends)),
                                               result, ffi.sizeof('kry_systems_result')))
    found = np.empty((systems, n), dtype)
    check(lib.kry_vec_read(vec_x, ffi.from_buffer(found)))
    if status:
        warnings.warn(ConvergenceWarning(text(result.why)), stacklevel=2)
    x = found if b.ndim == 2 else np.ascontiguousarray(found.reshape(b.shape[0], b.shape[2], n).transpose(0, 2, 1))
    return x, _result_of(ends.reshape(b.shape[:1] + b.shape[2:]), result)


def _check_matrices(values, indices, n):
    """How many matrices there are, and how many entries each has."""
    if indices is None:
        if values.ndim != 3 or values.shape[1] != n:
            raise ValueError(f'batch.solve: A has the shape {values.shape}; dense matrices are (batch, n, n)')
        return values.shape[0], n * n
    if values.ndim != 2 or values.shape[1] != len(indices):
        raise ValueError(f'batch.solve: values have the shape {values.shape}; for {len(indices)} indices they are (batch, {len(indices)})')
    return values.shape


def _systems_of(a, dtype, what):
    """One system behind the other, those of a matrix together."""
    return np.ascontiguousarray(numbers(a if a.ndim == 2 else a.transpose(0, 2, 1), dtype, what))


def _create(where, dtype, n, indptr, indices, words):
    params = ffi.new('kry_systems_params *', {'struct_size': ffi.sizeof('kry_systems_params'), **words})
    row_ptr, col = ffi.NULL, ffi.NULL
    if indptr is not None:
        indptr, indices = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32)
        if len(indptr) and (indptr[-1] != len(indices) or (np.diff(indptr) < 0).any()):
            raise ValueError(f'batch.solve: indptr ends with {indptr[-1]} or falls, for {len(indices)} indices')
        row_ptr, col = (ffi.cast(kind, pointer(a)) for kind, a in (('int64_t *', indptr), ('int32_t *', indices)))
    box = ffi.new('kry_systems **')
    check(lib.kry_systems_create(where.handle, TYPES[dtype], n, row_ptr, col, params, box))
    return own(box, lib.kry_systems_release)


def _result_of(ends, result):
    names = np.array([_VERDICTS[k] for k in sorted(_VERDICTS)])
    method = next(word for word, number in _METHODS.items() if number == result.method)
    return BatchResult(solved=ends['verdict'] == lib.KRY_SYSTEMS_SOLVED, verdict=names[ends['verdict']],
                       iterations=ends['iterations'].copy(), residual=ends['residual'].copy(), why=text(result.why), method=method,
                       seconds=result.seconds)
