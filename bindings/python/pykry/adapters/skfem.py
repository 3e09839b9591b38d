"""Linear solvers for scikit-fem: ``skfem.solve(*skfem.condense(A, b, D=D), solver=solver(precond='amg'))``."""
import warnings
from typing import Any, Callable, Optional

import numpy as np
import scipy.sparse

from .._library import ConvergenceWarning
from ._kept import Kept

__all__ = ['solver']


def solver(**words: Any) -> Callable[..., np.ndarray]:
    """A function of A and b for ``skfem.solve(..., solver=)``, which warns if x is not good enough.

    Keep it for solves one after the other: where matrices have their entries in the same places, it is set up once, and
    then given the new numbers.

    Parameters
    ----------
    **words
        As of `pykry.Solver`: ``precond='amg'``, ``rtol=1e-10``, ``device='gpu'``, ...
    """
    kept = Kept(**words)

    def solve(A: scipy.sparse.spmatrix, b: np.ndarray, x0: Optional[np.ndarray] = None) -> np.ndarray:
        x, result = kept.solve(A, b, x0)
        if not result:
            warnings.warn(ConvergenceWarning(result.why), stacklevel=3)
        return x

    return solve
