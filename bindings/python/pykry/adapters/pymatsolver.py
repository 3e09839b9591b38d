"""A solver for pymatsolver, and so for SimPEG: ``simulation.solver = Kry``, ``simulation.solver_opts = {'precond': 'amg'}``."""
from typing import Any

import numpy as np
from pymatsolver.solvers import Base, SolverAccuracyError

from ._kept import Kept

__all__ = ['Kry']

_ITS_OWN = ('is_symmetric', 'is_positive_definite', 'is_hermitian', 'check_accuracy', 'check_rtol', 'check_atol')


class Kry(Base):
    """kry as a solver of pymatsolver: ``Kry(A) @ b``.

    Parameters
    ----------
    A : sparse array or matrix
        Real or complex. Its transpose is solved with by ``Kry(A).T``.
    is_symmetric, is_positive_definite, is_hermitian, check_accuracy, check_rtol, check_atol
        As of pymatsolver's other solvers.
    **words
        As of `pykry.Solver`: ``precond='amg'``, ``rtol=1e-10``, ``device='gpu'``, ...

    Raises
    ------
    SolverAccuracyError
        By a solve whose true residual does not meet the tolerance.
    """

    def __init__(self, A: Any, **given: Any):
        super().__init__(A, **{name: given.pop(name) for name in _ITS_OWN if name in given})
        self._words, self._kept = given, Kept(**given)

    def get_attributes(self):
        return {**super().get_attributes(), **self._words}

    def _solve_single(self, rhs):
        x, result = self._kept.solve(self.A, np.asarray(rhs))
        if not result:
            raise SolverAccuracyError(result.why)
        return x

    _solve_multiple = _solve_single
