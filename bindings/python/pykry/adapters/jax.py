"""Sparse solves for JAX, which gradients go through, and jit, vmap over b: ``x = solve(A, b, precond='amg')``.

With A x = b, and g the gradient of a loss by x, that by b is y with A^T y = g, and that by an entry of A is -y_i x_j: it has the
places of A alone, and costs one more solve.
"""
import functools
from typing import Any

import jax
import numpy as np
import scipy.sparse
from jax import numpy as jnp
from jax.experimental import sparse

from ._kept import Kept

__all__ = ['solve', 'Solver']


def _on_host(kept, transposed, data, places, b):
    data, places, n = np.asarray(data), np.asarray(places), b.shape[0]
    there = (places < n).all(1)  # JAX fills up with entries outside of the matrix
    x, result = kept.solve(scipy.sparse.csr_array((data[there], tuple(places[there].T)), shape=(n, n)), np.asarray(b),
                           transposed=transposed)
    if not result:
        raise np.linalg.LinAlgError(result.why)
    return np.ascontiguousarray(x)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _solve(kept, transposed, data, places, b):
    """x with A x = b, or A^T x = b, for b of shape (n, k)."""
    return jax.pure_callback(functools.partial(_on_host, kept, transposed), jax.ShapeDtypeStruct(b.shape, b.dtype), data, places, b,
                             vmap_method='sequential')


def _forward(kept, transposed, data, places, b):
    x = _solve(kept, transposed, data, places, b)
    return x, (data, places, x)


def _backward(kept, transposed, saved, g):
    data, places, x = saved
    y = _solve(kept, not transposed, data, places, g)
    i, j = (places[:, 1], places[:, 0]) if transposed else (places[:, 0], places[:, 1])
    y_i, x_j = y.at[i].get(mode='fill', fill_value=0), x.at[j].get(mode='fill', fill_value=0)
    return -(y_i * x_j).sum(1), np.zeros(places.shape, jax.dtypes.float0), y


_solve.defvjp(_forward, _backward)


class Solver:
    """A function of A and b, as `solve`, that keeps its solver: matrices with their entries in the same places give it no more
    than new numbers.

    Parameters
    ----------
    **words
        As of `pykry.Solver`: ``method='cg'``, ``precond='amg'``, ``rtol=1e-10``, ``device='gpu'``, ...
    """

    def __init__(self, **words: Any):
        self._kept = Kept(**words)

    def __call__(self, A: sparse.BCOO, b: jax.Array) -> jax.Array:
        """x with A x = b; see `solve`."""
        if isinstance(A, sparse.BCSR):
            A = A.to_bcoo()
        if not isinstance(A, sparse.BCOO) or A.n_batch or A.n_dense or A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise TypeError('A is to be one square matrix of jax.experimental.sparse, BCOO or BCSR')
        if A.dtype not in (np.float32, np.float64) or b.dtype != A.dtype:
            raise TypeError(f'A is of {A.dtype} and b of {b.dtype}; both float32, or both float64, is wanted')
        n, row = A.shape[0], max(b.ndim - 2, 0)
        if b.ndim == 0 or b.shape[row] != n:
            raise ValueError(f'b has the shape {b.shape}, which does not suit {n} unknowns')
        columns = jnp.moveaxis(b, row, 0)  # all batches side by side
        x = _solve(self._kept, False, A.data, A.indices, columns.reshape(n, -1))
        return jnp.moveaxis(x.reshape(columns.shape), 0, row)


def solve(A: sparse.BCOO, b: jax.Array, **words: Any) -> jax.Array:
    """Solve A x = b; gradients, also second ones, are those of the numbers of A and of b.

    Parameters
    ----------
    A : BCOO or BCSR
        Of shape (n, n), float32 or float64: its numbers go through the host.
    b : Array
        Of shape (n,), (n, k) or (..., n, k), as that of `jax.numpy.linalg.solve`.
    **words
        As of `pykry.Solver`. rtol is 1e-8, in float32 1e-5: gradients are no more exact than that.

    Returns
    -------
    x : Array
        Of the shape of b.

    Raises
    ------
    An error of JAX's, with the sentence of kry's
        If the true residual does not meet the tolerance.
    """
    return Solver(**words)(A, b)
