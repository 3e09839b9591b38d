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


class _Solve(torch.autograd.Function):
    """x with A x = b, or A^T x = b; A of `values` in the rows and columns of a pattern, b of shape (n, k)."""

    @staticmethod
    def forward(ctx, values, b, kept, pattern, transposed):
        rows, cols, n = pattern
        A = scipy.sparse.csr_array((values.detach().cpu().numpy(), (rows, cols)), shape=(n, n))
        x, result = kept.solve(A, b.detach().cpu().numpy(), transposed=transposed)
        if not result:
            raise torch.linalg.LinAlgError(result.why)
        x = torch.from_numpy(np.ascontiguousarray(x)).to(b.device)
        ctx.save_for_backward(values, x)
        ctx.system = kept, pattern, transposed
        return x

    @staticmethod
    def backward(ctx, g):
        values, x = ctx.saved_tensors
        kept, pattern, transposed = ctx.system
        y = _Solve.apply(values, g, kept, pattern, not transposed)
        rows, cols = (torch.from_numpy(places).to(g.device) for places in (pattern[:2] if not transposed else pattern[1::-1]))
        return -(y[rows] * x[cols]).sum(1) if ctx.needs_input_grad[0] else None, y, None, None, None


class Solver:
    """A function of A and b, as `solve`, that keeps its solver: matrices with their entries in the same places give it no more
    than new numbers, as in the steps of training.

    Parameters
    ----------
    **words
        As of `pykry.Solver`: ``method='cg'``, ``precond='amg'``, ``rtol=1e-10``, ``device='gpu'``, ...
    """

    def __init__(self, **words: Any):
        self._kept = Kept(**words)

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
        x = _Solve.apply(values, columns.reshape(n, -1), self._kept, (rows.cpu().numpy(), cols.cpu().numpy(), n), False)
        return x.reshape(columns.shape).movedim(0, row)


def solve(A: torch.Tensor, b: torch.Tensor, **words: Any) -> torch.Tensor:
    """Solve A x = b; gradients, also second ones, are those of the numbers of A and of b.

    Parameters
    ----------
    A : Tensor
        Of shape (n, n), sparse CSR or COO, float32 or float64, on any device: its numbers go through the host.
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
