"""splu and factorized of pykry.scipy: sparse factors that are kept."""
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ._complex import as_complex, as_real_matrix, as_real_numbers, is_complex
from ._library import number_type, refuse_masked
from ._operator import OperatorLike, as_operator
from ._solver import Solver


class Factors:
    """Factors of a square sparse matrix, as `splu` makes them.

    Attributes
    ----------
    shape : tuple
    """

    def __init__(self, A: OperatorLike):
        A = as_operator(A, None, 'A')
        if isinstance(A, LinearOperator):
            raise TypeError('splu: A is a LinearOperator or a function, which has no entries')
        if A.shape[0] != A.shape[1]:
            raise ValueError(f'can only factor square matrices, not {A.shape}')
        self.shape, self._is_complex = A.shape, is_complex(A)
        A = as_real_matrix(A, 'A') if self._is_complex else A
        dtype = number_type(A.dtype, 'A')
        self._solver = Solver(A, method='direct', null_space='none', rtol=4 * np.finfo(dtype).eps, stop='backward')

    def solve(self, rhs: ArrayLike, trans: str = 'N') -> np.ndarray:
        """Solve A x = rhs, with refinement.

        Parameters
        ----------
        rhs : array_like
            Of shape (n,) or (n, k).
        trans : str
            "N"; "T" or "H": with the transpose, whose own factors the first call makes.

        Returns
        -------
        x : ndarray
            Of the shape of rhs; a `ConvergenceWarning` says where its backward error is not about the rounding.
        """
        if trans not in ('N', 'T', 'H'):
            raise ValueError(f"trans={trans!r}: 'N', 'T' or 'H'")
        refuse_masked(rhs, 'rhs')
        rhs = np.asarray(rhs)
        if trans == 'T' and self._is_complex:
            return self.solve(rhs.conj(), 'H').conj()
        solver = self._solver if trans == 'N' else self._solver._transposed()
        if self._is_complex:
            return as_complex(solver.solve(as_real_numbers(rhs))[0])
        if rhs.dtype.kind == 'c':
            return self.solve(rhs.real, trans) + 1j * self.solve(rhs.imag, trans)
        return solver.solve(rhs)[0]


def splu(A: OperatorLike, permc_spec: Any = None, diag_pivot_thresh: Any = None, relax: Any = None, panel_size: Any = None,
         options: Any = None) -> Factors:
    """Factors of a square sparse matrix, for many right-hand sides; see `scipy.sparse.linalg.splu`.

    permc_spec, diag_pivot_thresh, relax, panel_size, options
        Not looked at: see `spsolve`.

    Returns
    -------
    Factors
        With ``solve(rhs, trans)`` and ``shape``, of what SciPy's has. It makes no L and U known.

    Raises
    ------
    SingularError
        A is singular; a RuntimeError, as SciPy's.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from pykry.scipy import splu
    >>> factors = splu(sp.csc_array([[4.0, 1, 0], [1, 3, 0], [0, 0, 2]]))
    >>> np.round(factors.solve(np.array([5.0, 4, 2])), 12).tolist()
    [1.0, 1.0, 1.0]
    """
    return Factors(A)


def factorized(A: OperatorLike) -> Callable[[ArrayLike], np.ndarray]:
    """A function that solves with A; see `scipy.sparse.linalg.factorized`, and `splu`."""
    return Factors(A).solve
