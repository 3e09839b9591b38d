"""A solver for matrices that come one after the other, as host programs hand them over."""
import threading
from typing import Any, Optional, Tuple

import numpy as np
import scipy.sparse

from .._complex import as_complex, as_real_matrix, as_real_numbers, is_complex
from .._result import Result
from .._solver import Solver


class Kept:
    """The words of a `Solver`, and the last one that was made by them.

    A matrix with its entries in the same places as the one before gets no solver of its own: the last one is given the new
    numbers, if there are any. Complex systems are solved as real ones of twice the size.
    """

    def __init__(self, **words: Any):
        self._words, self._solver, self._matrix = words, None, None
        self._lock = threading.Lock()

    def solve(self, A: Any, b: np.ndarray, x0: Optional[np.ndarray] = None, *, transposed: bool = False,
              stop: Optional[dict] = None) -> Tuple[np.ndarray, Result]:
        """Solve A x = b, or A^T x = b, for b of shape (n,) or (n, k), without a warning. stop: of `Solver.set_tolerance`."""
        if complex_ := is_complex(A) or is_complex(b):
            if transposed:
                A = A.conj()  # whose real form is transposed to that of the transpose
            A, b, x0 = as_real_matrix(A, 'A'), as_real_numbers(b), None if x0 is None else as_real_numbers(x0)
        with self._lock:
            solver = self._for(scipy.sparse.csr_array(A))
            if stop is not None:
                solver.set_tolerance(**stop)
            x, result = (solver._transposed() if transposed else solver)._solve(b, x0)
        return as_complex(x) if complex_ else x, result

    def _for(self, A):
        kept = self._matrix
        if (kept is None or kept.shape != A.shape or kept.dtype != A.dtype or not np.array_equal(kept.indptr, A.indptr) or
                not np.array_equal(kept.indices, A.indices)):
            self._solver = self._matrix = None  # before there is another one
            self._solver = Solver(A, **self._words)
            self._matrix = A.copy()  # programs write over theirs
        elif not np.array_equal(kept.data, A.data):
            self._matrix = None  # should numbers be refused, the next ones are for a solver of their own
            self._solver.update(A.data)
            kept.data[:] = A.data
            self._matrix = kept
        return self._solver
