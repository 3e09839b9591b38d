"""A solver for FiPy: ``eq.solve(var=phi, solver=KrySolver(precond='amg'))``. FiPy's matrices have to be SciPy's (FIPY_SOLVERS=scipy)."""
from typing import Any

import numpy as np
from fipy.solvers.scipy.scipyKrylovSolver import ScipyKrylovSolver

from ._kept import Kept

__all__ = ['KrySolver']


class KrySolver(ScipyKrylovSolver):
    """kry as a solver of FiPy; keep it for sweeps and time steps, which then set it up once.

    Parameters
    ----------
    tolerance, absolute_tolerance, criterion, iterations
        As of FiPy's other solvers. The norm of b - A x is computed from the x that is returned.
    **words
        As of `pykry.Solver`: ``method='bicgstab'``, ``precond='amg'``, ``device='gpu'``, ...
    """

    def __init__(self, tolerance: Any = 'default', absolute_tolerance: float = 0., criterion: str = 'default',
                 iterations: Any = 'default', **words: Any):
        super().__init__(tolerance=tolerance, absolute_tolerance=absolute_tolerance, criterion=criterion,
                         iterations=iterations, precon=None)
        self._kept = Kept(**words)

    def _solve_(self, L, x, b):
        norm_b = np.linalg.norm(b)
        scale = 1. if norm_b == 0 else self._adaptTolerance(L, x, b)[0]
        target = max(self.absolute_tolerance, self.scale_tolerance(self.tolerance, scale) * norm_b)
        x, result = self._kept.solve(L, b, x, stop=dict(rtol=0. if target > 0 else None, atol=target, maxiter=self.iterations))
        self._setConvergence(suite='scipy', code=0 if result else 1 if result.reason == 'iteration_limit' else -1,
                             actual_code=result.reason, iterations=result.iterations, tolerance_scale=scale,
                             residual=result.true_residual)
        self.convergence.warn()
        return x
