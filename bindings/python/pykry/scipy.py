"""Functions with the signatures and return values of scipy.sparse.linalg, on kry's devices.

    from pykry.scipy import cg      # in place of: from scipy.sparse.linalg import cg

``info`` is 0 only if the true residual, computed afresh from x, meets the tolerance, or of `minres` if x is a least-squares
solution; that number is positive where the iterations were not enough, and negative after a breakdown.
"""
import warnings
from typing import Any, Callable, Optional, Tuple, Union

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, MatrixRankWarning, aslinearoperator

from ._complex import takes_complex
from ._eigen import eigsh, lobpcg
from ._factors import factorized, splu
from ._least_squares import lsmr, lsqr
from ._library import KryError, SingularError, check_tolerances, number_type, refuse_masked
from ._matrix import Matrix
from ._operator import OperatorLike, as_operator
from ._recycling import gcrotmk, lgmres
from ._solver import Solver

__all__ = ['cg', 'minres', 'gmres', 'bicgstab', 'lgmres', 'gcrotmk', 'lsqr', 'lsmr', 'spsolve', 'splu',
           'factorized', 'lobpcg', 'eigsh']

Guess = Optional[Union[ArrayLike, str]]
Answer = Tuple[np.ndarray, int]
_BREAKDOWNS = ('indefinite_matrix', 'indefinite_preconditioner', 'not_finite', 'diverged', 'breakdown')


@takes_complex
def cg(A: OperatorLike, b: ArrayLike, x0: Guess = None, *, rtol: float = 1e-05, atol: float = 0.0,
       maxiter: Optional[int] = None, M: Optional[OperatorLike] = None,
       callback: Optional[Callable[[np.ndarray], Any]] = None) -> Answer:
    """Conjugate gradients for A symmetric positive definite.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback
        As of `scipy.sparse.linalg.cg`. Complex numbers are solved with as real ones, two for each. M may be a `Solver`.

    Returns
    -------
    x : ndarray
        Of shape (n,).
    info : int
        0: the true residual meets ``max(rtol * norm(b), atol)``; > 0: after so many iterations it does not, as it cannot for an
        rtol below the rounding of the numbers; < 0: the method broke down.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from pykry.scipy import cg
    >>> P = np.array([[4, 0, 1, 0], [0, 5, 0, 0], [1, 0, 3, 2], [0, 0, 2, 4]])
    >>> A = csc_array(P)
    >>> b = np.array([-1, -0.5, -1, 2])
    >>> x, exit_code = cg(A, b, atol=1e-5)
    >>> exit_code
    0
    >>> bool(np.allclose(A.dot(x), b, atol=1e-4))
    True
    """
    return _krylov('cg', A, b, x0, rtol, atol, maxiter, M, callback)


@takes_complex
def bicgstab(A: OperatorLike, b: ArrayLike, x0: Guess = None, *, rtol: float = 1e-05, atol: float = 0.0,
             maxiter: Optional[int] = None, M: Optional[OperatorLike] = None,
             callback: Optional[Callable[[np.ndarray], Any]] = None) -> Answer:
    """BiCGStab for any square A; see `cg`, and `scipy.sparse.linalg.bicgstab`."""
    return _krylov('bicgstab:1', A, b, x0, rtol, atol, maxiter, M, callback)


@takes_complex
def minres(A: OperatorLike, b: ArrayLike, x0: Guess = None, *, rtol: float = 1e-05, shift: float = 0.0,
           maxiter: Optional[int] = None, M: Optional[OperatorLike] = None,
           callback: Optional[Callable[[np.ndarray], Any]] = None, show: bool = False, check: bool = False) -> Answer:
    """MINRES for (A - shift I) x = b, A symmetric; see `cg`, and `scipy.sparse.linalg.minres`.

    It ends by the true residual, ``norm(b - A x) <= rtol norm(b)``. If no x solves the system, A being singular, x is the
    least-squares solution, and info 0, as with SciPy: ``norm(A (b - A x))`` is then small, and ``norm(b - A x)`` is not.
    """
    A, b, _ = _system(A, b, None)
    n = A.shape[0]
    if check:
        _check_symmetric(A, 'A')
        if M is not None:
            _check_symmetric(M, 'M')
    if shift:
        A = (A - shift * scipy.sparse.csr_array(scipy.sparse.identity(n)) if not isinstance(A, LinearOperator) else
             LinearOperator(A.shape, matvec=lambda x, A=A: A.matvec(x) - shift * x, dtype=A.dtype))
    x, info = _krylov('minres', A, b, x0, rtol, 0.0, 5 * n if maxiter is None else maxiter, M, callback)
    if show:
        print(f'minres: n = {n}, shift = {shift:.3e}, rtol = {rtol:.2e}, info = {info}')
    return x, info


@takes_complex
def gmres(A: OperatorLike, b: ArrayLike, x0: Guess = None, *, rtol: float = 1e-05, atol: float = 0.0,
          restart: Optional[int] = None, maxiter: Optional[int] = None, M: Optional[OperatorLike] = None,
          callback: Optional[Callable[[Any], Any]] = None, callback_type: Optional[str] = None) -> Answer:
    """GMRES for any square A, preconditioned from the right; see `cg`, and `scipy.sparse.linalg.gmres`.

    The callback is given the residual relative to b after every iteration ("pr_norm", "legacy"), or x at the end of
    every cycle ("x"). A cycle has at most 128 steps: a larger `restart` is taken as 128, and `maxiter` allows as many
    iterations as it does with cycles of `restart` steps.
    """
    if callback_type not in (None, 'x', 'pr_norm', 'legacy'):
        raise ValueError(f'Unknown callback_type: {callback_type!r}')
    if callback is not None and callback_type is None:
        warnings.warn('scipy.sparse.linalg.gmres called without specifying `callback_type`. The default value will be '
                      'changed in a future release. For compatibility, specify a value for `callback_type` explicitly, '
                      'e.g., ``gmres(..., callback_type="pr_norm")``, or to retain the old behavior '
                      '``gmres(..., callback_type="legacy")``', DeprecationWarning, stacklevel=2)
    kind = (callback_type or 'legacy') if callback is not None else None
    A, b, x0 = _system(A, b, x0)
    n = len(b)
    wanted = min(20 if restart is None else restart, n)
    steps = min(wanted, 128)  # of kry's methods
    cycles = 10 * n if maxiter is None else maxiter
    limit = cycles if kind == 'legacy' else min(cycles * wanted, 2**40)
    every = steps if kind == 'x' else 1
    x, info = _krylov(f'gmres:{steps}', A, b, x0, rtol, atol, limit, M, callback, every=every, residuals=kind != 'x')
    return x, min(info, cycles) if info > 0 else info


@takes_complex
def spsolve(A: OperatorLike, b: Any, permc_spec: Optional[str] = None, use_umfpack: bool = True) -> Any:
    """Solve A x = b by sparse factors and refinement; see `scipy.sparse.linalg.spsolve`.

    permc_spec, use_umfpack
        Not looked at: CHOLMOD, KLU or UMFPACK makes the factors, in an order of its own. Builds without KLU and UMFPACK
        have factors of symmetric matrices alone, and raise UnsupportedError for others.

    Returns
    -------
    x : ndarray or sparse array
        Of the kind of b; NaN with a MatrixRankWarning where A is singular.
    """
    if scipy.sparse.issparse(b) and b.shape[1] != 1:
        columns = spsolve(A, b.toarray())
        return type(b)(columns)
    refuse_masked(b, 'b')
    b = b.toarray() if scipy.sparse.issparse(b) else np.asarray(b)
    A = as_operator(A, None, 'A')
    if A.shape[0] != A.shape[1]:
        raise ValueError(f'matrix must be square (has shape {A.shape})')
    if A.shape[0] != b.shape[0]:
        raise ValueError(f'matrix - rhs dimension mismatch ({A.shape} - {b.shape[0]})')
    dtype = np.result_type(number_type(A.dtype, 'A'), number_type(b.dtype, 'b'))
    eps = np.finfo(dtype).eps
    is_vector = b.ndim == 1 or b.shape[1] == 1
    try:
        solver = Solver(A, method='direct', null_space='none', rtol=4 * eps, dtype=dtype, stop='backward')
        x = solver._solve(b.ravel() if is_vector else b)[0]
    except KryError as error:
        if not isinstance(error, SingularError) and not _has_empty_line(A):
            raise
        warnings.warn('Matrix is exactly singular', MatrixRankWarning, stacklevel=2)
        x = np.full(b.shape, np.nan, dtype)
    return x.ravel() if is_vector else x


def _system(A, b, x0):
    """The arguments as SciPy checks them."""
    if scipy.sparse.issparse(A):
        as_operator(A, None, 'A')  # its arrays, which SciPy trusts
    elif not (isinstance(A, np.ndarray) and A.ndim == 2):
        A = aslinearoperator(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f'expected square matrix, but got shape={A.shape}')
    n = A.shape[0]
    refuse_masked(b, 'b')
    b = np.asarray(b)
    if b.shape not in ((n, 1), (n,)):
        raise ValueError(f'shapes of A {A.shape} and b {b.shape} are incompatible')
    if x0 is not None and not isinstance(x0, str):
        x0 = np.asarray(x0)
        if x0.shape not in ((n, 1), (n,)):
            raise ValueError(f'shapes of A {A.shape} and x0 {x0.shape} are incompatible')
        x0 = x0.ravel()
    return A, b.ravel(), x0


def _has_empty_line(A):
    """Whether a row or a column of A holds nothing but zeros."""
    A = scipy.sparse.coo_array(A)
    places = A.data != 0
    return any(np.bincount(index[places], minlength=n).min(initial=1) == 0 for index, n in zip((A.row, A.col), A.shape))


def _check_symmetric(A, name):
    """As SciPy's minres does with check=True: by products with one vector."""
    A = aslinearoperator(A)
    v = A.matvec(np.ones(A.shape[0]))
    w = A.matvec(v)
    s, t = v @ v, np.ones(A.shape[0]) @ w
    eps = np.finfo(np.float64).eps
    if abs(s - t) > (s + eps) * eps ** (1 / 3):
        raise ValueError(f'non-symmetric {"matrix" if name == "A" else "preconditioner"}')


def _krylov(method, A, b, x0, rtol, atol, maxiter, M, callback, every=1, residuals=False):
    """x and info of a method; the callback is given x, or residuals, at every `every`-th iteration from 1 on."""
    check_tolerances(method, rtol, atol)
    A, b, x0 = _system(A, b, x0)
    kinds = number_type(np.float64 if A.dtype is None else A.dtype, 'A'), number_type(b.dtype, 'b')
    dtype = np.result_type(*kinds)
    if not b.any():
        return np.zeros(len(b), dtype), 0
    if isinstance(x0, str):
        if x0 != 'Mb':
            raise ValueError(f"x0 = {x0!r}; the only word is 'Mb'")
        x0 = b if M is None else aslinearoperator(M).matvec(b.astype(dtype))
    if np.isinf(max(rtol, atol)):  # every x will do
        return np.zeros(len(b), dtype) if x0 is None else x0.astype(dtype), 0
    if isinstance(M, Solver) and method in ('bicgstab:1', 'minres'):  # whose M may not vary: as SciPy, they take it as it is
        M = LinearOperator(M.shape, matvec=M.matvec, dtype=M.dtype)
    elif isinstance(M, Solver) and method.startswith('gmres'):
        method = 'f' + method
    unit = _unit(b)
    b = b.astype(np.float64) / unit
    norm = np.linalg.norm(b)
    if rtol >= 1:  # which kry refuses, for x = 0 meets it
        rtol, atol = 0, max(atol, rtol * norm * unit)
    limit = 10 * len(b) if maxiter is None else maxiter
    solver, told = None, 0

    def tell(it):
        nonlocal told
        if it.iteration > told:
            told = it.iteration
            callback(it.residual / norm if residuals else solver.iterate() * dtype.type(unit))

    extra = {'null_space': 'none'}  # x is SciPy's, with its part in a null space
    if callback is not None:
        extra['callback'] = tell
    if callback is not None and not (residuals and (_is_function(A) or _is_function(M))):
        extra['check_every'] = every  # functions are followed at each iteration, and x is not wanted
    if M is None and method not in ('cg', 'minres'):
        extra['check'] = 'none'  # what has an empty row may have a solution all the same
    solver = Solver(A, method=method, precond='auto' if M is not None else 'none', M=M, rtol=max(rtol, np.finfo(dtype).eps),
                    atol=atol / unit, maxiter=limit, dtype=dtype, **extra)
    try:
        x, result = solver._solve(b, x0 if x0 is None else x0 / unit)
        if callback is not None and result.iterations > told:  # the last cycle is shorter than the others
            callback(result.true_residual / norm if residuals else x * dtype.type(unit))
    finally:
        solver._callback = None  # `tell` refers to the solver: a cycle, which would keep it until Python looks for cycles
    x *= dtype.type(unit)
    if result.converged and (rtol >= np.finfo(dtype).eps or result.true_residual <= max(rtol * norm, atol / unit)):
        return x, 0
    if method == 'minres' and result.reason == 'inconsistent_rhs':  # the least-squares solution, as SciPy has it
        return x, 0
    if result.reason in _BREAKDOWNS:
        return x, -1
    return x, max(1, result.iterations)


def _unit(b):
    """A power of two that b is divided by where the squares of its numbers might overflow or vanish in single; else 1."""
    largest = float(abs(b).max())
    return 1.0 if 1e-10 < largest < 1e10 or not np.isfinite(largest) else float(np.ldexp(1.0, np.frexp(largest)[1] - 1))


def _is_function(A):
    """Whether products with A are made by Python."""
    return isinstance(A, LinearOperator) and not isinstance(A, (Solver, Matrix))
