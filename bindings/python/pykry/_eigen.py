"""lobpcg and eigsh of pykry.scipy: eigenvalues of symmetric matrices by kry_eigen, with preconditioners by their words."""
import typing
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackNoConvergence

from ._device import device_of
from ._library import ConvergenceWarning, check, eigen_lib, ffi, lib, number_type, numbers, own, pointer, text
from ._monitor import here, not_seen
from ._operator import OperatorLike, operator_type
from ._vectors import Products

Precond = typing.Optional[typing.Union[OperatorLike, str]]


@ffi.callback('int(void *, const kry_eigen_step *)', error=1, onerror=not_seen)
def _look(user, step):
    """Called once an iteration, which is when Python sees Ctrl-C."""
    return 0 if here.solver._error is None else 1


class _Eigen:
    """A x = lambda B x on the device, with what `kry_eigen` is to know of it."""

    def __init__(self, name, A, B, M):
        self.name, self.device = name, device_of(None)
        wanted = operator_type(A, 'A') if hasattr(A, 'dtype') else number_type(np.asarray(A).dtype, 'A')
        self.dtype = np.dtype(np.float32 if wanted == np.float32 or not self.device.fp64 else np.float64)
        self.A = Products(self.device, A, self.dtype)
        self.B = None if B is None else Products(self.device, B, self.dtype, 'B')
        self.n = lib.kry_op_get_shape(self.A.handle).rows
        self.M, self.handle_of_M = None, ffi.NULL
        if isinstance(M, str):
            box = ffi.new('kry_op **')
            check(lib.kry_precond_create(self.A.handle, M.encode(), box))
            self.handle_of_M = own(box, lib.kry_op_release) if box[0] else ffi.NULL
        elif M is not None:
            self.M = Products(self.device, M, self.dtype, 'M')
            self.handle_of_M = self.M.handle

    def block(self, a, what):
        """An array of n rows on the device."""
        a = np.asarray(a)
        a = np.asfortranarray(numbers(a.reshape(len(a), -1), self.dtype, what))
        if a.shape[0] != self.n:
            raise ValueError(f'{self.name}: {what} has {a.shape[0]} rows, and A {self.n}')
        vec = self.device.vector(self.dtype, *a.shape)
        check(lib.kry_vec_write(vec, pointer(a)))
        return vec

    def find(self, k, largest, X=None, Y=None, tol=0.0, maxiter=0, method='lobpcg', sigma=None, basis=0):
        """Status, eigenvalues, vectors in columns, the result. X: a guess; sigma: M is (A - sigma B)^-1, or None."""
        x = self.device.vector(self.dtype, self.n, k) if X is None else self.block(X, 'X')
        y = ffi.NULL if Y is None else self.block(Y, 'Y')
        word = ffi.new('char[]', method.encode())
        params = ffi.new('kry_eigen_params *', {
            'struct_size': ffi.sizeof('kry_eigen_params'), 'B': ffi.NULL if self.B is None else self.B.handle,
            'precond' if sigma is None else 'inverse': self.handle_of_M, 'constraints': y, 'method': word,
            'nearest': sigma is not None, 'sigma': sigma or 0.0, 'basis': basis, 'largest': largest, 'guess': X is not None, 'rtol': tol,
            'max_iter': maxiter, 'monitor': _look})
        result = ffi.new('kry_eigen_result *')
        outer, here.solver = getattr(here, 'solver', None), self.A
        try:
            status = eigen_lib.kry_eigen_sized(self.A.handle, params, x, result, ffi.sizeof('kry_eigen_result'))
        finally:
            here.solver = outer
        if self.A._error is not None:
            raise self.A._error
        for product in (self.A, self.B, self.M):
            for function in product._functions if product is not None else ():
                function.raise_error()
        check(status)
        vectors = np.empty((self.n, k), self.dtype, order='F')
        check(lib.kry_vec_read(x, pointer(vectors)))
        return status, np.array(list(result.value)[:k], self.dtype), vectors, result


def lobpcg(A: OperatorLike, X: ArrayLike, B: typing.Optional[OperatorLike] = None, M: Precond = None,
           Y: typing.Optional[ArrayLike] = None, tol: typing.Optional[float] = None, maxiter: typing.Optional[int] = None,
           largest: bool = True, verbosityLevel: int = 0, retLambdaHistory: bool = False, retResidualNormsHistory: bool = False,
           restartControl: int = 20) -> typing.Tuple[np.ndarray, np.ndarray]:
    """The largest or smallest eigenvalues of A x = lambda B x, A symmetric, B positive definite, by LOBPCG.

    Parameters
    ----------
    A, X, B, M, Y, largest
        As of `scipy.sparse.linalg.lobpcg`. M may be a word, too: "amg", "jacobi" or another preconditioner for A. Y need not be
        independent.
    tol : float, optional
        Of ``norm(A x - lambda B x) / ((norm(A) + abs(lambda) norm(B)) norm(x))``; default 1e-9, in single 1e-5.
    maxiter : int, optional
        Default 1000.
    verbosityLevel, restartControl
        Not looked at.
    retLambdaHistory, retResidualNormsHistory
        Refused if True.

    Returns
    -------
    w : ndarray
        Of shape (k,): ascending, with `largest` descending. Where residuals are above tol a `ConvergenceWarning` says so.
    v : ndarray
        Of shape (n, k): their vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags
    >>> from pykry.scipy import lobpcg
    >>> A = diags([np.arange(1.0, 101.0)], [0])
    >>> w, v = lobpcg(A, np.eye(100, 3) + 0.1, M='jacobi', largest=False)
    >>> np.round(w, 6).tolist()
    [1.0, 2.0, 3.0]
    """
    if retLambdaHistory or retResidualNormsHistory:
        raise NotImplementedError('lobpcg: histories of eigenvalues and residuals are not kept')
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError('expected rank-2 array for argument X')
    status, w, v, result = _Eigen('lobpcg', A, B, M).find(X.shape[1], largest, X, Y, tol or 0.0, maxiter or 0)
    if status:
        warnings.warn(text(result.why), ConvergenceWarning, stacklevel=2)
    return w, v


def eigsh(A: OperatorLike, k: int = 6, M: typing.Optional[OperatorLike] = None, sigma: typing.Optional[float] = None,
          which: str = 'LM', v0: typing.Any = None, ncv: typing.Any = None, maxiter: typing.Optional[int] = None,
          tol: float = 0, return_eigenvectors: bool = True, Minv: typing.Any = None, OPinv: Precond = None, mode: str = 'normal',
          rng: typing.Any = None) -> typing.Any:
    """k eigenvalues of a symmetric A at an end of its spectrum, or near sigma; see `scipy.sparse.linalg.eigsh`.

    By Lanczos; with OPinv a preconditioner, or M and no sigma, by LOBPCG.

    Parameters
    ----------
    A, k, M, maxiter, return_eigenvectors
        As of SciPy's: M is the B of A x = lambda B x. k is 64 at most.
    ncv : int, optional
        Vectors of the Krylov space, from k + 2 to 200; default 40, or 2 k + 8. LOBPCG has none.
    v0, Minv, rng
        Not looked at.
    which : str
        "SA", "LA"; "LM": the largest in magnitude, of both ends; "SM": the smallest of a positive semidefinite A.
    sigma : float, optional
        With "LM": the eigenvalues nearest sigma. A and M are then matrices, and A - sigma M is factored on the host.
    tol : float
        As of `lobpcg`; 0: its default.
    OPinv : str, LinearOperator or `Solver`, optional
        For "SA", "SM" and sigma=0 it approximates the inverse of A: a preconditioner, "amg" for example. With another sigma it
        is the inverse of A - sigma M, to about the accuracy of the type.
    mode : str
        "normal".

    Returns
    -------
    w : ndarray
        Ascending.
    v : ndarray
        If return_eigenvectors.

    Raises
    ------
    scipy.sparse.linalg.ArpackNoConvergence
        With the pairs that have converged.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags
    >>> from pykry.scipy import eigsh
    >>> A = diags([np.full(99, -1.0), np.full(100, 2.0), np.full(99, -1.0)], [-1, 0, 1])
    >>> w, v = eigsh(A, k=2, which='SA', OPinv='amg')
    >>> bool(np.allclose(w, 2 - 2 * np.cos(np.pi * np.array([1, 2]) / 101)))
    True
    """
    if sigma is not None and which != 'LM':
        raise NotImplementedError(f"eigsh: which={which!r} with sigma; there is 'LM', the eigenvalues nearest sigma")
    if sigma and isinstance(OPinv, str):
        raise NotImplementedError(f'eigsh: OPinv={OPinv!r} with sigma={sigma!r}: a preconditioner goes with sigma=0')
    if mode != 'normal':
        raise NotImplementedError(f"eigsh: mode={mode!r}; there is 'normal'")
    inverts = sigma is not None and (sigma != 0 or OPinv is None)
    which = 'SM' if sigma is not None and not inverts else which
    if which not in ('SA', 'LA', 'LM', 'SM'):
        raise ValueError(f"eigsh: which={which!r}; there are 'SA', 'LA', 'LM' and 'SM'")
    ends = (False,) if inverts else {'SA': (False,), 'SM': (False,), 'LA': (True,), 'LM': (True, False)}[which]
    lanczos = inverts or (M is None and (OPinv is None or which == 'LA'))
    w, v = None, None
    for largest in ends:
        problem = _Eigen('eigsh', A, M, OPinv if not largest else None)
        status, values, vectors, result = problem.find(
            k, largest, None, None, tol or 0.0, maxiter or 0, 'lanczos' if lanczos else 'lobpcg', sigma if inverts else None,
            ncv or 0 if lanczos else 0)
        if status:
            done = np.array(list(result.residual)[:k]) <= (tol or (1e-9 if values.dtype == np.float64 else 1e-5))
            raise ArpackNoConvergence(text(result.why), values[done], vectors[:, done])
        w = values if w is None else np.append(w, values)
        v = vectors if v is None else np.append(v, vectors, axis=1)
    if which == 'SM' and w[0] < -1e-6 * result.norm_A:
        raise NotImplementedError(f"eigsh: A has the eigenvalue {w[0]:g}, and which='SM' is for positive semidefinite A")
    there = np.arange(min(len(w), problem.n))  # both ends meet where 2 k is more than n
    chosen = there[np.argsort(-np.abs(w[there]), kind='stable')[:k]] if len(ends) == 2 else there
    chosen = chosen[np.argsort(w[chosen], kind='stable')]
    return (w[chosen], v[:, chosen]) if return_eigenvectors else w[chosen]
