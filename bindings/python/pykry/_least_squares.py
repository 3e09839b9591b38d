"""lsqr and lsmr of pykry.scipy: SciPy's arguments, stopping tests and return values, with all vectors on the device.

The library's own methods "lsqr" and "lsmr" keep their scalars on the device, too, and end by one rtol; SciPy's want two
tolerances, a limit on the condition number that is looked at in each iteration, and damping. So the recurrences stand here
once more, with scalars on the host: in each iteration it waits for three numbers.
"""
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import aslinearoperator

from ._complex import takes_complex
from ._device import device_of
from ._library import check, lib, number_type, refuse_masked
from ._operator import OperatorLike
from ._vectors import Products, axpby, copy, norm, read, vector

_EPS = np.finfo(np.float64).eps
_SAID = ('The exact solution is x = 0, or x0', 'Ax - b is small enough, given atol, btol',
         'The least-squares solution is good enough, given atol', 'The estimate of cond(A) has exceeded conlim',
         'Ax - b is small enough for this machine', 'The least-squares solution is good enough for this machine',
         'cond(A) seems to be too large for this machine', 'The iteration limit has been reached')


@takes_complex
def lsqr(A: OperatorLike, b: ArrayLike, damp: float = 0.0, atol: float = 1e-06, btol: float = 1e-06, conlim: float = 1e8,
         iter_lim=None, show: bool = False, calc_var: bool = False, x0=None) -> tuple:
    """The x of the least ``norm(b - A x)^2 + damp^2 norm(x - x0)^2``, for A of any shape and rank, by LSQR.

    Parameters
    ----------
    A, b, damp, atol, btol, conlim, iter_lim, show, calc_var, x0
        As of `scipy.sparse.linalg.lsqr`. Numbers are computed in double where the device has it. The log of `show` has
        other words.

    Returns
    -------
    x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var
        As of `scipy.sparse.linalg.lsqr`, but r1norm, r2norm, arnorm and xnorm are computed from x, and are not estimates;
        istop is 6 where an estimate ended the iteration and these do not meet what it promised.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> from pykry.scipy import lsqr
    >>> A = csc_array([[1., 0.], [1., 1.], [0., 1.]])
    >>> x, istop, itn, r1norm = lsqr(A, np.array([1., 0.01, -1.]))[:4]
    >>> istop
    2
    >>> np.round(x, 6).tolist(), round(r1norm, 6)
    ([1.003333, -0.996667], 0.005774)
    """
    s = _Bidiagonal('lsqr', A, b, x0, damp, atol, btol, conlim, iter_lim)
    w, var, var_vec = s.device.vector(s.dtype, s.cols), np.zeros(s.cols), None
    if calc_var:
        var_vec = s.device.vector(s.dtype, s.cols)
    if s.scale == 0:
        return _as_lsqr(s, 0, 0.0, 0.0, var, show)
    copy(s.v, w)
    rhobar, phibar, anorm, ddnorm, psis = s.alpha, s.beta, 0.0, 0.0, 0.0
    xxnorm, z, cs2, sn2 = 0.0, 0.0, -1.0, 0.0
    istop = acond = 0
    while istop == 0 and s.itn < s.limit:
        alpha_old = s.alpha
        s.step()
        anorm = math.sqrt(anorm**2 + alpha_old**2 + s.beta**2 + s.damp**2)
        # Rotations take damp, and then beta, out of the bidiagonal matrix.
        rhobar1 = math.hypot(rhobar, s.damp)
        psis += (s.damp / rhobar1 * phibar)**2
        phibar *= rhobar / rhobar1
        rho = math.hypot(rhobar1, s.beta)
        cs, sn = rhobar1 / rho, s.beta / rho
        theta, rhobar, phi = sn * s.alpha, -cs * s.alpha, cs * phibar
        phibar *= sn
        axpby(phi / rho, w, 1.0, s.x)
        ddnorm += (norm(w) / rho)**2
        if calc_var:
            check(lib.kry_vec_mul(1 / rho**2, w, w, 1.0, var_vec))
        if s.alpha > 0:
            axpby(1 / s.alpha, s.v, -theta / rho, w)
        # A rotation from the right: ||x - x0||.
        delta, gambar = sn2 * rho, -cs2 * rho
        rhs = phi - delta * z
        xnorm = math.sqrt(xxnorm + (rhs / gambar)**2)
        gamma = math.hypot(gambar, theta)
        cs2, sn2, z = gambar / gamma, theta / gamma, rhs / gamma
        xxnorm += z**2
        acond = anorm * math.sqrt(ddnorm)
        rnorm, arnorm = math.sqrt(phibar**2 + psis), s.alpha * abs(sn * phi)
        istop = s.judge(rnorm, arnorm, anorm, acond, xnorm)
        if show:
            _tell(s, rnorm, arnorm, anorm, acond)
    if calc_var:
        var = read(var_vec, s.dtype).astype(float) / s.scale**2
    return _as_lsqr(s, istop, anorm, acond, var, show)


@takes_complex
def lsmr(A: OperatorLike, b: ArrayLike, damp: float = 0.0, atol: float = 1e-06, btol: float = 1e-06, conlim: float = 1e8,
         maxiter=None, show: bool = False, x0=None) -> tuple:
    """The x of the least ``norm(b - A x)^2 + damp^2 norm(x - x0)^2``, for A of any shape and rank, by LSMR.

    Parameters
    ----------
    A, b, damp, atol, btol, conlim, maxiter, show, x0
        As of `scipy.sparse.linalg.lsmr`; see `lsqr`.

    Returns
    -------
    x, istop, itn, normr, normar, norma, conda, normx
        As of `scipy.sparse.linalg.lsmr`, but normr, normar and normx are computed from x; see `lsqr`.

    Examples
    --------
    >>> import numpy as np
    >>> from pykry.scipy import lsmr
    >>> x, istop = lsmr(np.array([[1.0, 2.0]]), [5.0])[:2]       # of all solutions the one of the least norm
    >>> np.round(x, 6).tolist(), istop
    ([1.0, 2.0], 1)
    """
    s = _Bidiagonal('lsmr', A, b, x0, damp, atol, btol, conlim, maxiter)
    if s.scale == 0:
        return _as_lsmr(s, 0, 0.0, 1.0, show)
    h, hbar = s.device.vector(s.dtype, s.cols), s.device.vector(s.dtype, s.cols)
    copy(s.v, h)
    alphabar, zetabar, rho, rhobar, cbar, sbar = 1.0, 1.0, 1.0, 1.0, 1.0, 0.0
    betadd, betad, rhodold, tautilde, thetatilde, zeta, d = 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    anorm2, largest, smallest, istop, anorm, acond = 1.0, 0.0, math.inf, 0, 1.0, 1.0
    while istop == 0 and s.itn < s.limit:
        s.step()
        # Rotations: of damp, of beta, and of the bidiagonal matrix that these leave.
        chat, shat, alphahat = _rotation(alphabar, s.damp)
        rhoold, (c, sn, rho) = rho, _rotation(alphahat, s.beta)
        thetanew, alphabar = sn * s.alpha, c * s.alpha
        rhobarold, zetaold, thetabar, rhotemp = rhobar, zeta, sbar * rho, cbar * rho
        cbar, sbar, rhobar = _rotation(rhotemp, thetanew)
        zeta, zetabar = cbar * zetabar, -sbar * zetabar
        axpby(1.0, h, -thetabar * rho / (rhoold * rhobarold), hbar)
        axpby(zeta / (rho * rhobar), hbar, 1.0, s.x)
        if s.alpha > 0:
            axpby(1 / s.alpha, s.v, -thetanew / rho, h)
        # ||r||
        betaacute, betacheck = chat * betadd, -shat * betadd
        betahat, betadd = c * betaacute, -sn * betaacute
        thetatildeold, (ctilde, stilde, rhotilde) = thetatilde, _rotation(rhodold, thetabar)
        thetatilde, rhodold = stilde * rhobar, ctilde * rhobar
        betad = -stilde * betad + ctilde * betahat
        tautilde = (zetaold - thetatildeold * tautilde) / rhotilde
        d += betacheck**2
        rnorm = math.sqrt(d + (betad - (zeta - thetatilde * tautilde) / rhodold)**2 + betadd**2)
        # ||A|| and cond(A)
        anorm2 += s.beta**2
        anorm = math.sqrt(anorm2)
        anorm2 += s.alpha**2
        largest = max(largest, rhobarold)
        if s.itn > 1:
            smallest = min(smallest, rhobarold)
        acond = max(largest, rhotemp) / min(smallest, rhotemp)
        istop = s.judge(rnorm, abs(zetabar), anorm, acond, norm(s.x))
        if show:
            _tell(s, rnorm, abs(zetabar), anorm, acond)
    return _as_lsmr(s, istop, anorm, acond, show)


class _Bidiagonal:
    """The system on the device, and the bidiagonalisation of A that starts at b - A x0.

    u and v are beta and alpha times the vectors of the papers, which begin with 1 and 1; x is the correction to x0, in units
    of ``unit / scale``. scale is 0 where x0 is the solution.
    """

    def __init__(self, name, A, b, x0, damp, atol, btol, conlim, limit):
        refuse_masked(b, 'b')
        A = A if hasattr(A, 'shape') else aslinearoperator(np.asarray(A))
        self.name, (self.rows, self.cols), self.itn = name, A.shape, 0
        self.limit = int(limit if limit is not None else 2 * self.cols if name == 'lsqr' else min(A.shape))
        self.damp, self.atol, self.btol = (float(a or 0) for a in (damp, 1e-6 if atol is None else atol,
                                                                   1e-6 if btol is None else btol))
        conlim = 1e8 if conlim is None else conlim
        self.ctol = 1 / conlim if conlim > 0 else 0.0
        self.device = device_of(None)
        self.dtype = np.dtype(np.float64 if self.device.fp64 else np.float32)
        self.b = self._numbers(np.atleast_1d(b).squeeze() if np.ndim(b) > 1 else np.atleast_1d(b), self.rows, 'b')
        self.x0 = np.zeros(self.cols) if x0 is None else self._numbers(np.ravel(x0), self.cols, 'x0')
        number_type(np.float64 if A.dtype is None else A.dtype, 'A')
        self.A = Products(self.device, A, self.dtype)
        self.u, self.v = vector(self.device, self.dtype, self.b), self.device.vector(self.dtype, self.cols)
        self.x, self.bnorm = self.device.vector(self.dtype, self.cols), norm(self.u)
        if self.x0.any():
            self.A.apply(-1.0, vector(self.device, self.dtype, self.x0), 1.0, self.u)
        # From here on b is in units of its residual, and A in units of scale: no product of two numbers underflows.
        self.unit, self.scale = norm(self.u), 0.0
        if self.unit > 0:
            axpby(1 / self.unit, self.u, 0.0, self.u)
            self.A.apply(1.0, self.u, 0.0, self.v, transposed=True)
            self.scale = norm(self.v)
        if self.scale > 0:
            axpby(1 / self.scale, self.v, 0.0, self.v)
            self.bnorm, self.damp, self.alpha, self.beta = self.bnorm / self.unit, self.damp / self.scale, 1.0, 1.0

    def _numbers(self, a, count, what):
        number_type(np.asarray(a).dtype, what)
        a = np.atleast_1d(np.asarray(a, np.float64))
        if a.shape != (count,):
            raise ValueError(f'{self.name}: {what} has the shape {a.shape}, and A {(self.rows, self.cols)}')
        if not np.isfinite(a).all():
            raise ValueError(f'{self.name}: {what} has a number that is not finite, at {int(np.argmin(np.isfinite(a)))}')
        return a

    def step(self):
        """The next beta, u, alpha, v; where beta is 0 alpha and v stay."""
        self.itn += 1
        self.A.apply(1 / (self.alpha * self.scale), self.v, -self.alpha / self.beta, self.u)
        self.beta = norm(self.u)
        if self.beta > 0:
            self.A.apply(1 / (self.beta * self.scale), self.u, -self.beta / self.alpha, self.v, transposed=True)
            self.alpha = norm(self.v)

    def judge(self, rnorm, arnorm, anorm, acond, xnorm):
        """istop, by the tests of the papers; 0: go on."""
        size = anorm * xnorm
        test2 = arnorm / (anorm * rnorm) if anorm * rnorm else math.inf if arnorm else 0.0
        tests = ((rnorm <= self.btol * self.bnorm + self.atol * size, 1), (test2 <= self.atol, 2),
                 (1 / (acond + _EPS) <= self.ctol, 3), (rnorm <= _EPS / 2 * (self.bnorm + size), 4), (test2 <= _EPS / 2, 5),
                 (1 / (acond + _EPS) <= _EPS / 2, 6), (self.itn >= self.limit, 7))
        return next((istop for holds, istop in tests if holds), 0)

    def truth(self, istop, anorm):
        """x, istop, ||b - A x||, the root with damp, ||A'r - damp^2 (x - x0)||, ||x||, ||A||: computed from x."""
        damp, bnorm = self.damp * (self.scale or 1.0), self.bnorm * self.unit if self.scale else self.bnorm
        anorm *= self.scale
        x, step = vector(self.device, self.dtype, self.x0), self.device.vector(self.dtype, self.cols)
        if self.scale:
            axpby(self.unit / self.scale, self.x, 0.0, step)
        axpby(1.0, step, 1.0, x)
        xnorm, moved = norm(x), norm(step)
        if not math.isfinite(xnorm):
            raise ArithmeticError(f'{self.name}: x is no longer finite after {self.itn} iterations')
        r = vector(self.device, self.dtype, self.b)
        self.A.apply(-1.0, x, 1.0, r)
        self.A.apply(1.0, r, -damp**2, step, transposed=True)
        r1norm, arnorm = norm(r), norm(step)
        r2norm = math.hypot(r1norm, damp * moved)
        # What rounding leaves of a residual, for an estimate that ended the iteration.
        rounding = 10 * math.sqrt(max(self.rows, self.cols)) * np.finfo(self.dtype).eps
        size = anorm * (xnorm + moved) + bnorm
        met = (r2norm <= 2 * (self.btol * bnorm + self.atol * anorm * xnorm) + rounding * size,
               arnorm <= 2 * self.atol * anorm * r2norm + rounding * anorm * size)
        if istop in (1, 2, 4, 5) and not any(met):
            istop = 6
        return read(x, self.dtype).astype(float), istop, r1norm, r2norm, arnorm, xnorm, anorm


def _rotation(a, b):
    """c, s, r of the rotation that takes (a, b) to (r, 0)."""
    r = math.hypot(a, b)
    return (a / r, b / r, r) if r else (1.0, 0.0, 0.0)


def _tell(s, rnorm, arnorm, anorm, acond):
    if s.itn == 1:
        print(f'{s.name}: A is {s.rows}-by-{s.cols}, damp = {s.damp * s.scale:.3e}, atol = {s.atol:.2e}, btol = {s.btol:.2e}\n'
              "   itn     norm(r)   norm(A'r)     norm(A)     cond(A)")
    print(f'{s.itn:6d} {rnorm * s.unit:11.3e} {arnorm * s.unit * s.scale:11.3e} {anorm * s.scale:11.3e} {acond:11.3e}')


def _as_lsqr(s, istop, anorm, acond, var, show):
    x, istop, r1norm, r2norm, arnorm, xnorm, anorm = s.truth(istop, anorm)
    if show:
        print(f'lsqr: {_SAID[istop]}; istop = {istop}, itn = {s.itn}, norm(r) = {r1norm:.3e}')
    return x, istop, s.itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var


def _as_lsmr(s, istop, anorm, acond, show):
    x, istop, _, r2norm, arnorm, xnorm, anorm = s.truth(istop, anorm)
    if show:
        print(f'lsmr: {_SAID[istop]}; istop = {istop}, itn = {s.itn}, norm(r) = {r2norm:.3e}')
    return x, istop, s.itn, r2norm, arnorm, anorm, acond, xnorm
