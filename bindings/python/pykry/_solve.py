"""The solve of one call."""
from typing import Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._device import DeviceLike, device_of
from ._dlpack import OPENCL, DeviceArray, beside, kind_of, on_host
from ._library import number_type
from ._monitor import Callback
from ._operator import OperatorLike
from ._result import Result
from ._solver import Solver


def solve(A: OperatorLike, b: ArrayLike, x0: Optional[ArrayLike] = None, *, rtol: Optional[float] = None, atol: float = 0.0,
          maxiter: Optional[int] = None, M: Optional[OperatorLike] = None, precond: Optional[str] = 'auto',
          method: str = 'auto', device: DeviceLike = None, dtype: Optional[DTypeLike] = None,
          callback: Optional[Callback] = None, progress: Optional[bool] = None,
          **options: Union[str, int, float]) -> Tuple[np.ndarray, Result]:
    """Solve A x = b.

    Parameters
    ----------
    A : sparse array or matrix, ndarray, LinearOperator, or function of a vector
    b : array_like, pyopencl.array.Array, or what offers itself by DLPack
        Of shape (n,), or (n, k) for k systems.
    x0 : the same, optional
        The first guess.
    rtol, atol : float
        The solve ends when the true residual is at most ``max(rtol * norm(b), atol)``. rtol: by default 1e-8, in
        float32 1e-5.
    maxiter, M, precond, method, device, dtype, callback, progress, **options
        As for `Solver`.

    Returns
    -------
    x : ndarray, pyopencl.array.Array, DeviceArray, or array of b's library
        As of `Solver.solve`.
    result : Result
        True if the true residual met the target; else there is a `ConvergenceWarning`, too.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykry
    >>> A = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(50, 50))
    >>> x, result = pykry.solve(A, np.ones(50))
    >>> bool(result)
    True
    >>> x, result = pykry.solve(lambda v: A @ v, np.ones(50), method="gmres")
    >>> bool(np.allclose(A @ x, 1))
    True
    """
    where, given = device_of(device, b), b
    with where.together('pykry.solve'):
        A, b, x0, dtype = system_of(A, b, x0, where, dtype)
    solver = Solver(A, method=method, precond=precond, M=M, rtol=rtol, atol=atol, maxiter=maxiter, device=where,
                    dtype=dtype, shape=shape_of(b), callback=callback, progress=progress, **options)
    x, result = solver.solve(b, x0)
    return beside(given, x), result


def system_of(A, b, x0, where, dtype):
    """The arguments of a solve on a device, and the type of its numbers."""
    A, b, x0 = on_host(A, 'A'), on_host(b, 'b'), on_host(x0, 'x0')
    if kind_of(b) == OPENCL:  # its type is known where its context is
        b = DeviceArray.of(where, b, 'b')
    kinds = [np.float64 if callable(A) and not hasattr(A, 'dtype') else A.dtype if hasattr(A, 'dtype') else
             np.asarray(A).dtype, b.dtype if hasattr(b, 'dtype') else np.asarray(b).dtype]
    if dtype is None:
        both = [number_type(np.float64 if kind is None else kind, name) for kind, name in zip(kinds, 'Ab')]
        dtype = np.result_type(*both)
    return A, b, x0, dtype


def shape_of(b):
    """Of an A that is a function."""
    rows = np.shape(b)[0] if np.ndim(b) else 0
    return rows, rows
