"""Sparse solves for PyTorch, which gradients go through: ``x = solve(A, b, precond='amg')``.

With A x = b, and g the gradient of a loss by x, that by b is y with A^T y = g, and that by an entry of A is -y_i x_j: it has the
places of A alone, and costs one more solve.
"""
from typing import Any

import numpy as np
import scipy.sparse
import torch

from ._kept import Kept

__all__ = ['solve', 'Solver']


class _Places:
    """Where the entries of an n-by-n matrix stand, row after row: on their device, and on the host as SciPy has them."""

    def __init__(self, rows, cols, n):
        self.n, self.rows, self.cols = n, rows.clone(), cols.clone()  # programs write over theirs
        self._indptr = np.append(0, torch.bincount(rows, minlength=n).cumsum(0).cpu().numpy())
        self._indices = cols.cpu().numpy().astype(np.int32)

    def are(self, rows, cols, n):
        return self.n == n and all(mine.device == theirs.device and torch.equal(mine, theirs)
                                   for mine, theirs in ((self.rows, rows), (self.cols, cols)))

    def matrix(self, values):
        return scipy.sparse.csr_array((values.detach().cpu().numpy(), self._indices, self._indptr), shape=(self.n, self.n))


class _Solve(torch.autograd.Function):
    """x with A x = b, or A^T x = b; A of `values` at its places, b of shape (n, k)."""

    @staticmethod
    def forward(ctx, values, b, kept, places, transposed):
        x, result = kept.solve(places.matrix(values), b.detach().cpu().numpy(), transposed=transposed)
        if not result:
            raise torch.linalg.LinAlgError(result.why)
        x = torch.from_numpy(np.ascontiguousarray(x)).to(b.device)
        ctx.save_for_backward(values, x)
        ctx.system = kept, places, transposed
        return x

    @staticmethod
    def backward(ctx, g):
        values, x = ctx.saved_tensors
        kept, places, transposed = ctx.system
        y = _Solve.apply(values, g, kept, places, not transposed)
        i, j = (places.cols, places.rows) if transposed else (places.rows, places.cols)
        return -(y[i] * x[j]).sum(1) if ctx.needs_input_grad[0] else None, y, None, None, None


class Solver:
    """A function of A and b, as `solve`, that keeps its solver: matrices with their entries in the same places give it no more
    than new numbers, as in the steps of training.

    Parameters
    ----------
    **words
        As of `pykry.Solver`: ``method='cg'``, ``precond='amg'``, ``rtol=1e-10``, ``device='gpu'``, ...
    """

    def __init__(self, **words: Any):
        self._kept, self._places = Kept(**words), None

    def __call__(self, A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """x with A x = b; see `solve`."""
        if A.layout == torch.sparse_csr:
            crow, cols, values = A.crow_indices(), A.col_indices(), A.values()
            rows = torch.repeat_interleave(torch.arange(A.shape[0], device=A.device), crow.diff())
        elif A.layout == torch.sparse_coo:
            A = A.coalesce()
            (rows, cols), values = A.indices(), A.values()
        else:
            raise TypeError(f'A has the layout {A.layout}; torch.sparse_csr or torch.sparse_coo is wanted')
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f'A is not one square matrix: it has the shape {tuple(A.shape)}')
        if values.dtype not in (torch.float32, torch.float64) or b.dtype != values.dtype:
            raise TypeError(f'A is of {values.dtype} and b of {b.dtype}; both float32, or both float64, is wanted')
        n, row = A.shape[0], max(b.ndim - 2, 0)
        if b.ndim == 0 or b.shape[row] != n:
            raise ValueError(f'b has the shape {tuple(b.shape)}, which does not suit {n} unknowns')
        columns = b.movedim(row, 0)  # all batches side by side
        places = self._places
        if places is None or not places.are(rows, cols, n):
            self._places = places = _Places(rows, cols, n)
        x = _Solve.apply(values, columns.reshape(n, -1), self._kept, places, False)
        return x.reshape(columns.shape).movedim(0, row)


def solve(A: torch.Tensor, b: torch.Tensor, **words: Any) -> torch.Tensor:
    """Solve A x = b; gradients, also second ones, are those of the numbers of A and of b.

    Parameters
    ----------
    A : Tensor
        Of shape (n, n), sparse CSR or COO, float32 or float64, on any device: its numbers go through the host. Through a CSR
        tensor that is made of values PyTorch takes gradients of these by a dense matrix; through COO they stay sparse.
    b : Tensor
        Of shape (n,), (n, k) or (..., n, k), as that of `torch.linalg.solve`.
    **words
        As of `pykry.Solver`. rtol is 1e-8, in float32 1e-5: gradients are no more exact than that.

    Returns
    -------
    x : Tensor
        Of the shape and on the device of b.

    Raises
    ------
    torch.linalg.LinAlgError
        If the true residual does not meet the tolerance.
    """
    return Solver(**words)(A, b)
