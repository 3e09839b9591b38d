"""A system of equations for OpenSees, 3.8 and later: ``ops.system('PythonSparse', KrySystem(precond='amg:block=3').to_openseespy())``."""
from typing import Any, Dict, Optional

import numpy as np
import scipy.sparse

from .._library import KryError
from .._result import Result
from ._kept import Kept

__all__ = ['KrySystem']


class KrySystem:
    """kry as a system of OpenSees; steps of Newton's method and of time set it up once.

    Parameters
    ----------
    **words
        As of `pykry.Solver`: ``method='cg'``, ``precond='amg:block=3'``, ``rtol=1e-10``, ...

    Attributes
    ----------
    result : Result, optional
        Of the last solve.
    error : Exception, optional
        Why the last one failed, where OpenSees was told no more than that it did.
    """

    def __init__(self, **words: Any):
        self._kept = Kept(**words)
        self.result: Optional[Result] = None
        self.error: Optional[Exception] = None

    def to_openseespy(self) -> Dict[str, Any]:
        """What ``ops.system('PythonSparse', ...)`` takes."""
        return {'solver': self, 'scheme': 'CSR', 'writable': 'none'}

    def solve(self, **system: Any) -> int:
        """Called by OpenSees, with buffers of its own; 0: x is there."""
        n = int(system['num_eqn'])
        A = scipy.sparse.csr_array((np.frombuffer(system['values'], np.float64), np.frombuffer(system['indices'], np.int32),
                                    np.frombuffer(system['index_ptr'], np.int32)), shape=(n, n))
        try:
            x, self.result = self._kept.solve(A, np.frombuffer(system['rhs'], np.float64))
        except (KryError, ValueError, TypeError) as error:
            self.result, self.error = None, error
            return -1
        self.error = None
        np.frombuffer(system['x'], np.float64)[:] = x
        return 0 if self.result else -1
