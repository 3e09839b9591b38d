"""lgmres and gcrotmk of pykry.scipy: GMRES that carries vectors from one cycle to the next, with all of them on the device.

Both minimise ||b - A x|| over what a cycle spans, with the preconditioner on the right, where it may vary. In a cycle of m steps
V holds the orthonormal vectors and Z what A is applied to, A Z = C B + V H for the vectors C of gcrotmk, B = C'A Z:

    z := M v, or a vector that is carried;  w := A z;  w := w - C C'w;  w := w - V V'w (twice);  v' := w / ||w||
    y of the least || ||r|| e_1 - H y ||;  x := x + Z y - U B y

A step moves 4 (j + 2) words for an unknown, for j vectors in V and C, beside the products with A and M. The host waits twice in each.
"""
import math
from typing import Any, Callable, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ._complex import takes_complex
from ._device import device_of
from ._library import check_tolerances, number_type, refuse_masked
from ._operator import OperatorLike
from ._vectors import Basis, Products, axpby, copy, dot, norm, read, vector


@takes_complex
def lgmres(A: OperatorLike, b: ArrayLike, x0: Any = None, *, rtol: float = 1e-05, atol: float = 0.0, maxiter: int = 1000,
           M: Optional[OperatorLike] = None, callback: Optional[Callable[[np.ndarray], Any]] = None, inner_m: int = 30,
           outer_k: int = 3, outer_v: Optional[list] = None, store_outer_Av: bool = True,
           prepend_outer_v: bool = False) -> Tuple[np.ndarray, int]:
    """LGMRES for any square A: restarted GMRES that keeps the corrections of the last cycles.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback, inner_m, outer_k, outer_v, store_outer_Av, prepend_outer_v
        As of `scipy.sparse.linalg.lgmres`. M is applied from the right: what a cycle makes smallest is
        the residual itself, and M may be another map in each step, as a `Solver` is.

    Returns
    -------
    x : ndarray
    info : int
        0: the true residual meets the tolerance; > 0: it was not seen to within so many cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from pykry.scipy import lgmres
    >>> A = csc_array([[3, 2, 0], [1, -1, 0], [0, 5, 1]], dtype=float)
    >>> x, info = lgmres(A, np.array([2, 4, -1], dtype=float), atol=1e-5)
    >>> info, bool(np.allclose(A @ x, [2, 4, -1]))
    (0, True)
    """
    s = _System('lgmres', A, b, x0, rtol, atol, M)
    given = [] if outer_v is None else outer_v
    carried = [(vector(s.device, s.dtype, v), None if Av is None else vector(s.device, s.dtype, Av)) for v, Av in given]
    V = Basis(s.device, s.dtype, s.n, min(inner_m + max(outer_k, len(carried)), s.n) + 1)
    info = int(maxiter)
    for _ in range(maxiter):
        beta = s.residual()
        if callback is not None:
            callback(s.iterate())
        if beta <= s.target:
            info = 0
            break
        dx, Adx = s.vector(), s.vector()
        if not _cycle(s, V, inner_m, carried, prepend_outer_v, None, dx, Adx):
            break
        size = norm(dx)
        if not 0 < size < math.inf:
            break
        axpby(1.0, dx, 1.0, s.x)
        if outer_k > 0:
            axpby(1 / size, dx, 0.0, dx)
            axpby(1 / size, Adx, 0.0, Adx)
            carried = (carried + [(dx, Adx if store_outer_Av else None)])[-outer_k:]
    if outer_v is not None:
        outer_v[:] = [(read(v, s.dtype), None if Av is None else read(Av, s.dtype)) for v, Av in carried]
    return s.iterate(), info


@takes_complex
def gcrotmk(A: OperatorLike, b: ArrayLike, x0: Any = None, *, rtol: float = 1e-05, atol: float = 0.0, maxiter: int = 1000,
            M: Optional[OperatorLike] = None, callback: Optional[Callable[[np.ndarray], Any]] = None, m: int = 20,
            k: Optional[int] = None, CU: Optional[list] = None, discard_C: bool = False,
            truncate: str = 'oldest') -> Tuple[np.ndarray, int]:
    """Flexible GCROT(m, k) for any square A: GMRES cycles in what is orthogonal to k vectors that are kept.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback, m, k, CU, discard_C, truncate
        As of `scipy.sparse.linalg.gcrotmk`. M may be another map in each step, as a `Solver` is.

    Returns
    -------
    x : ndarray
    info : int
        0: the true residual meets the tolerance; > 0: it was not seen to within so many cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from pykry.scipy import gcrotmk
    >>> A = np.array([[3.0, 2, 0], [1, -1, 0], [0, 5, 1]])
    >>> x, info = gcrotmk(A, np.array([2.0, 4, -1]), atol=1e-5)
    >>> info, bool(np.allclose(A @ x, [2, 4, -1]))
    (0, True)
    """
    if truncate not in ('oldest', 'smallest'):
        raise ValueError(f"truncate={truncate!r}: 'oldest' or 'smallest'")
    s = _System('gcrotmk', A, b, x0, rtol, atol, M)
    k = m if k is None else k
    beta = s.residual()
    kept = _Recycled(s, [] if CU is None else CU, max(k, 1))
    V = Basis(s.device, s.dtype, s.n, min(m + k, s.n) + 1)
    kept.project()
    info = int(maxiter)
    for cycle in range(maxiter):
        if callback is not None:
            callback(s.iterate())
        beta = norm(s.r)
        if beta <= s.target and (cycle > 0 or kept.count):
            beta = s.residual()
        if beta <= s.target:
            info = 0
            break
        ux, cx = s.vector(), s.vector()
        found = _cycle(s, V, m + max(k - kept.count, 0), [], False, kept, ux, cx)
        size = norm(cx)
        if not found or not 0 < size < math.inf:
            break
        axpby(1 / size, ux, 0.0, ux)
        axpby(1 / size, cx, 0.0, cx)
        gamma = dot(cx, s.r)
        axpby(-gamma, cx, 1.0, s.r)
        axpby(gamma, ux, 1.0, s.x)
        if k > 0:
            kept.make_room(k, found, truncate)
            kept.append(cx, ux)
    if CU is not None:
        CU[:] = kept.arrays(discard_C)
    return s.iterate(), info


class _System:
    """A x = b on the device: A, M, x, and r = b - A x."""

    def __init__(self, name, A, b, x0, rtol, atol, M):
        from .scipy import _system
        A, b, x0 = _system(A, b, x0)
        check_tolerances(name, rtol, atol)
        refuse_masked(b, 'b')
        self.dtype = np.result_type(number_type(np.float64 if A.dtype is None else A.dtype, 'A'), number_type(b.dtype, 'b'))
        if not np.isfinite(b).all():
            raise ValueError(f'{name}: b must contain only finite numbers')
        self.device, self.n = device_of(None), len(b)
        self.A = Products(self.device, A, self.dtype)
        self.M = None if M is None else Products(self.device, M, self.dtype, 'M')
        self.b, self.r, self.x = vector(self.device, self.dtype, b), self.vector(), self.vector()
        self.target = max(float(atol), float(rtol) * norm(self.b))
        if isinstance(x0, str):
            if x0 != 'Mb':
                raise ValueError(f"x0 = {x0!r}; the only word is 'Mb'")
            copy(self.b, self.x) if M is None else self.M.apply(1.0, self.b, 0.0, self.x)
        elif x0 is not None:
            number_type(x0.dtype, 'x0')
            self.x = vector(self.device, self.dtype, x0)
        if norm(self.b) == 0:
            self.x = self.vector()
        self._is_zero = x0 is None

    def vector(self):
        return self.device.vector(self.dtype, self.n)

    def residual(self):
        """r := b - A x; returns its norm."""
        copy(self.b, self.r)
        if not self._is_zero:
            self.A.apply(-1.0, self.x, 1.0, self.r)
        self._is_zero = False
        return norm(self.r)

    def iterate(self):
        return read(self.x, self.dtype)


class _Recycled:
    """The vectors C, orthonormal, and U with A U = C, of gcrotmk; at most `most`, the oldest first."""

    def __init__(self, s, given, most):
        self.s, self.most, self.count = s, most, 0
        self.C, self.U, self.order = Basis(s.device, s.dtype, s.n, most), Basis(s.device, s.dtype, s.n, most), []
        for c, u in given[-most:]:
            uv = vector(s.device, s.dtype, u)
            cv = s.vector()
            s.A.apply(1.0, uv, 0.0, cv) if c is None else copy(vector(s.device, s.dtype, c), cv)
            size = norm(cv)
            shares = self.C.orthogonalise(cv, self.count)
            left = norm(cv)
            if left > 1e-12 * size:  # else it depends on those before it
                self.U.add(-1.0, shares, uv)
                axpby(1 / left, cv, 0.0, cv)
                axpby(1 / left, uv, 0.0, uv)
                self.append(cv, uv)

    def append(self, c, u):
        place = next(i for i in range(self.most) if i not in self.order)
        copy(c, self.C[place])
        copy(u, self.U[place])
        self.order.append(place)
        self.count = len(self.order)

    def project(self):
        """Take C C'r out of r, with what of x that stands for."""
        if self.count:
            self.U.add(1.0, self.C.orthogonalise(self.s.r, self.count), self.s.x)

    def make_room(self, k, found, truncate):
        """Keep at most k - 1 vectors: the newest, or those that matter most (de Sturler 1999)."""
        if self.count < k:
            return
        H, B = found
        if truncate == 'oldest':
            self.order.pop(0)  # its place is the next one's
            return
        R = np.linalg.qr(H, mode='r')
        weights = np.linalg.svd(np.linalg.lstsq(R.T, B.T, rcond=None)[0].T)[0][:, :k - 1]
        C, U = [], []
        for w in weights.T:
            c, u = self.s.vector(), self.s.vector()
            self.C.add(1.0, w, c)
            self.U.add(1.0, w, u)
            for d, v in zip(C, U):
                share = dot(d, c)
                axpby(-share, d, 1.0, c)
                axpby(-share, v, 1.0, u)
            size = norm(c)
            axpby(1 / size, c, 0.0, c)
            axpby(1 / size, u, 0.0, u)
            C.append(c)
            U.append(u)
        self.order, self.count = [], 0
        for c, u in zip(C, U):
            self.append(c, u)

    def arrays(self, discard_C):
        return [(None if discard_C else read(self.C[i], self.s.dtype), read(self.U[i], self.s.dtype)) for i in self.order]


def _cycle(s, V, steps, carried, first, kept, dx, Adx):
    """The x + dx of the least residual in one cycle, and A dx.

    Parameters
    ----------
    V : Basis
        A place for the vectors of the cycle.
    steps : int
        Of the Krylov space, in front of or (first=True) behind one for each of `carried`, pairs (v, A v or None).
    kept : _Recycled or None
    dx, Adx : vectors of zeros

    Returns
    -------
    H, B : ndarray, or None where nothing was found
    """
    beta, goal = norm(s.r), s.target / 2
    axpby(1 / beta, s.r, 0.0, V[0])
    plan = [None] * steps
    plan = (list(carried) + plan if first else plan + list(carried))[:s.n]
    Z, H, B = [], np.zeros((len(plan) + 1, len(plan))), np.zeros((kept.count if kept else 0, len(plan)))
    rotated, rhs, turns = np.zeros((len(plan) + 1, len(plan))), np.zeros(len(plan) + 1), []
    rhs[0] = beta
    made = 0
    for j, pair in enumerate(plan):
        # The Krylov space begins with r also behind the vectors that are carried.
        w, z, known = V[j + 1], V[0 if first and j == len(carried) else j], None
        if pair is not None:
            z, known = pair
        elif s.M is not None:
            v, z = z, s.vector()
            s.M.apply(1.0, v, 0.0, z)
        copy(known, w) if known is not None else s.A.apply(1.0, z, 0.0, w)
        size = norm(w)
        if kept and kept.count:
            B[:, j] = kept.C.orthogonalise(w, kept.count)
        H[:j + 1, j] = V.orthogonalise(w, j + 1)
        H[j + 1, j] = left = norm(w)
        if not math.isfinite(left):
            return None
        column = H[:j + 2, j].copy()
        for i, (c, sn) in enumerate(turns):
            column[i], column[i + 1] = c * column[i] + sn * column[i + 1], c * column[i + 1] - sn * column[i]
        length = math.hypot(column[j], column[j + 1])
        is_last = left <= 10 * np.finfo(s.dtype).eps * size  # the space is invariant, or this vector adds nothing to it
        if length <= 10 * np.finfo(s.dtype).eps * size:
            break
        c, sn = column[j] / length, column[j + 1] / length
        turns.append((c, sn))
        rotated[:j + 1, j], rotated[j, j] = column[:j + 1], length
        rhs[j], rhs[j + 1] = c * rhs[j], -sn * rhs[j]
        Z.append(z)
        made = j + 1
        if left > 0:
            axpby(1 / left, w, 0.0, w)
        if is_last or abs(rhs[j + 1]) <= goal:
            break
    if not made:
        return None
    y = np.linalg.solve(rotated[:made, :made], rhs[:made])
    H, B = H[:made + 1, :made], B[:, :made]
    for z, share in zip(Z, y):
        axpby(share, z, 1.0, dx)
    V.add(1.0, H @ y, Adx)
    if kept and kept.count:
        kept.U.add(-1.0, B @ y, dx)
    return H, B
