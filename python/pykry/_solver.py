"""Solvers that are kept between solves, and the solve of one call."""
import sys
import threading
import warnings
from typing import Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse.linalg import LinearOperator

from ._device import DeviceLike, device_of, is_on_device
from ._dlpack import OPENCL, DeviceArray, kind_of, on_host
from ._library import (ConvergenceWarning, check, ffi, lib, number_type, numbers, own, pointer, text)
from ._monitor import Callback, Interrupted, Iteration, here, monitor, quiet
from ._operator import Function, Matrix, OperatorLike, as_operator, operator_type
from ._result import Result, result_of

_RESULT = ffi.sizeof('kry_result')


class Solver(LinearOperator):
    """A system with its solver, kept for many right-hand sides, and for new numbers in the same pattern.

    It is a LinearOperator, the inverse of A: ``M=solver`` of SciPy's methods, or of another solver here.

    Parameters
    ----------
    A : sparse array or matrix, ndarray, LinearOperator, or function of a vector
        Square; for ``method="lsqr"`` and ``"lsmr"`` of any shape.
    method : str
        "auto", "cg", "pcg", "minres", "gmres:30", "bicgstab:2", "idr", "lsqr", "direct", ...
    precond : str
        A word such as "jacobi", "amg", "ilu:1"; "none"; "auto": what kry takes for this method.
    M : sparse array or matrix, ndarray, LinearOperator, function, or Solver, optional
        About the inverse of A, in place of `precond`.
    rtol, atol : float
        A solve ends when the true residual is at most ``max(rtol * norm(b), atol)``. rtol: by default 1e-8, in
        float32 1e-5.
    maxiter : int, optional
    device : Device, str or pyopencl.CommandQueue, optional
        Where to solve; see `Device`.
    dtype : numpy.float32 or numpy.float64, optional
        That of the numbers; that of A where it is one of these, else float64.
    format : str, optional
        How the matrix is stored: "auto" (default), "csr", "sell", "symdia", ...
    shape : tuple, optional
        Of an A that is a function.
    callback : function, optional
        Called now and then with an `Iteration`, and with ``check_every=K`` at each K-th; if it returns true the solve
        stops. ``solver.iterate()`` is x at that time, exact with `check_every`.
    progress : bool, optional
        Write the residual to standard error twice a second.
    **options
        Other words of kry's, with _ for -: ``deflation="graph:100"``, ``guess="project"``, ``reorder="rcm"``,
        ``precision="mixed"``, ``check_every=10``, ...

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykry
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100)).tocsr()
    >>> solver = pykry.Solver(A, method="cg", rtol=1e-10)
    >>> x, result = solver.solve(np.ones(100))
    >>> bool(result), result.reason
    (True, 'converged')
    >>> bool(np.allclose(A @ x, 1))
    True
    >>> solver.update(2 * A)
    >>> y, result = solver.solve(np.ones(100))
    >>> bool(np.allclose(2 * y, x))
    True
    """

    def __init__(self, A: OperatorLike, *, method: str = 'auto', precond: Optional[str] = 'auto',
                 M: Optional[OperatorLike] = None, rtol: Optional[float] = None, atol: float = 0.0,
                 maxiter: Optional[int] = None, device: DeviceLike = None, dtype: Optional[DTypeLike] = None,
                 format: Optional[str] = None, shape: Optional[tuple] = None, callback: Optional[Callback] = None,
                 progress: Optional[bool] = None, **options: Union[str, int, float]):
        A = as_operator(A, shape, 'A')
        self._type = number_type(dtype, 'dtype') if dtype is not None else operator_type(A, 'A')
        operator_type(A, 'A')
        super().__init__(self._type, A.shape[::-1])
        self.device = device_of(device)
        self._on_host = options.get('precision') == 'mixed' and not self.device.fp64
        self._callback, self._progress, self._error = callback, progress, None
        self._monitor = monitor if callback is not None or progress else quiet
        self._lock, self._vectors, self._functions = threading.RLock(), {}, []
        self._solving = False
        self._A = self._operator(A, format, *_promise(method))
        if rtol is None:
            rtol = 1e-8 if self._type == np.float64 else 1e-5
        if M is None:
            self._handle = self._by_words(method, precond, _stop(rtol, atol, maxiter), options)
        else:
            if precond != 'auto':
                raise TypeError(f'M and precond={precond!r} are both given')
            self._handle = self._with(A, M, method, _stop(rtol, atol, maxiter), options)
        info = ffi.new('kry_op_info *')
        lib.kry_op_describe_sized(self._A.handle, info, ffi.sizeof('kry_op_info'))
        self._matrix = ' '.join(filter(None, dict.fromkeys([text(info.kind), text(info.variant)])))
        self._result = ffi.new('kry_result *')
        self._name = self.device.name

    # ---- making it ----

    def _operator(self, A, format, traits=0):
        if isinstance(A, LinearOperator):
            self._functions.append(Function(self.device, A, self._type, traits))
            return self._functions[-1]
        params = ffi.new('kry_matrix_params *', {'struct_size': ffi.sizeof('kry_matrix_params'),
                                                 'duplicates': lib.KRY_SUM, 'on_host': self._on_host})
        if format:
            check(lib.kry_format_parse(format.encode(), params))
        return Matrix(self.device, A, self._type, params)

    def _by_words(self, method, precond, stop, options):
        words = {'method': method, **stop, **options}
        if precond != 'auto':
            words['precond'] = precond or 'none'
        line = ' '.join(f'{name.replace("_", "-")}={value}' for name, value in words.items() if value is not None)
        box = ffi.new('kry_op **')
        self._checked(lib.kry_solver_create(self._A.handle, line.encode(), self._monitor, ffi.NULL, box))
        return own(box, lib.kry_op_release)

    def _with(self, A, M, method, stop, options):
        """A solver with a preconditioner that is an operator."""
        every = options.pop('check_every', 0)
        if options:
            raise TypeError(f'with M= there is no {", ".join(sorted(options))}')
        if method == 'auto':
            method = 'cg' if _is_symmetric(A) else 'gmres'
        if isinstance(M, Solver) and M.device is self.device and M.dtype == self.dtype:
            self._M, handle = M, M._handle  # nothing goes through the host
        else:
            M = as_operator(M, A.shape[::-1], 'M')
            operator_type(M, 'M')
            if M.shape != A.shape[::-1]:
                raise ValueError(f'M is {M.shape}, which does not suit A, {A.shape}')
            self._M = self._operator(M, None, *_promise(method))
            handle = self._M.handle
        params = ffi.new('kry_pcg_params *', {
            'struct_size': ffi.sizeof('kry_pcg_params'), 'precond': handle, 'monitor': self._monitor,
            'flexible': lib.KRY_POLAK_RIBIERE if isinstance(M, Solver) and method == 'cg' else lib.KRY_RIGID,
            'stop': {'rtol': stop.get('rtol', 0), 'atol': stop.get('atol', 0), 'max_iter': stop.get('maxit', 0),
                     'check_every': every}})
        box = ffi.new('kry_op **')
        self._checked(lib.kry_krylov_create(self._A.handle, method.encode(), params, box))
        return own(box, lib.kry_op_release)

    # ---- solving ----

    def solve(self, b: ArrayLike, x0: Optional[ArrayLike] = None) -> Tuple[np.ndarray, Result]:
        """Solve A x = b.

        Parameters
        ----------
        b : array_like, pyopencl.array.Array, or what offers itself by DLPack
            Of shape (n,), or (n, k) for k systems, each with an end of its own. An array of PyOpenCL's on this
            solver's device is not copied, nor is one in a buffer of OpenCL that comes by DLPack.
        x0 : the same, optional
            The first guess; it is not changed.

        Returns
        -------
        x : ndarray, pyopencl.array.Array or DeviceArray
            Of the shape of b; an array of NumPy's for b on the host.
        result : Result

        Raises
        ------
        Interrupted
            By Ctrl-C, with the last iterate.
        """
        with self._lock:
            x, result = self._solve(b, x0)
        if not result:
            warnings.warn(ConvergenceWarning(result.why), stacklevel=2)
        return x, result

    def _solve(self, b, x0=None):
        if kind_of(b) == OPENCL:
            return self._solve_shared(b, x0)
        b, x0 = on_host(b, 'b'), on_host(x0, 'x0')
        there = is_on_device(b)
        if not there:
            b = numbers(b, np.float64 if self._on_host else self._type, 'b')
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[1]:
            raise ValueError(f'b has the shape {b.shape}, and A {self.shape[::-1]}')
        shape = (self.shape[0],) + b.shape[1:]
        if x0 is not None and tuple(x0.shape if there else np.shape(x0)) != shape:
            raise ValueError(f'x0 has the shape {np.shape(x0)}, not {shape}')
        return (self._solve_there if there else self._solvehere)(b, x0, shape)

    def _solvehere(self, b, x0, shape):
        # kry's blocks are column major
        b = np.asfortranarray(b)
        x = np.empty(shape, b.dtype, order='F')
        if self._on_host:
            x[...] = 0 if x0 is None else numbers(x0, b.dtype, 'x0')
            return self._run(lambda: lib.kry_solve_host_sized(self._handle, _doubles(b), _doubles(x), self._result,
                                                              _RESULT),
                             lambda: x)
        vec_b, vec_x = self._pair(b.shape, shape)
        check(lib.kry_vec_write(vec_b, pointer(b)))
        if x0 is None:
            check(lib.kry_vec_fill(vec_x, 0.0))
        else:
            x[...] = numbers(x0, b.dtype, 'x0')
            check(lib.kry_vec_write(vec_x, pointer(x)))

        def read():
            check(lib.kry_vec_read(vec_x, pointer(x)))
            return x

        self._x = vec_x
        return self._run(lambda: lib.kry_solve_sized(self._handle, vec_b, vec_x, self._result, _RESULT), read)

    def _solve_there(self, b, x0, shape):
        if self.device.queue is None or b.queue.int_ptr != self.device.queue.int_ptr:
            raise ValueError('b lies on another queue than that of this solver: Solver(A, device=b.queue)')
        if b.dtype != self._type:
            raise TypeError(f'b has the type {b.dtype}, and the solver {self._type}')
        if x0 is None:
            x = type(b)(b.queue, shape, b.dtype, order='F')
            x.fill(0)
        else:
            x = x0.copy()
        vec_b, self._x = self.device.view(b), self.device.view(x)
        return self._run(lambda: lib.kry_solve_sized(self._handle, vec_b, self._x, self._result, _RESULT), lambda: x)

    def _solve_shared(self, b, x0):
        """With b in a buffer of OpenCL that another library lends by DLPack; x is lent in turn."""
        b = DeviceArray.of(self.device, b, 'b')
        if b.dtype != self._type:
            raise TypeError(f'b has the type {b.dtype}, and the solver {self._type}')
        x = DeviceArray.zeros(self.device, (self.shape[0],) + b.shape[1:], b.dtype)
        if x0 is not None:
            check(lib.kry_vec_copy(DeviceArray.of(self.device, x0, 'x0').handle, x.handle))
        self._x = x.handle
        return self._run(lambda: lib.kry_solve_sized(self._handle, b.handle, x.handle, self._result, _RESULT), lambda: x)

    def _pair(self, shape_b, shape_x):
        """Vectors for b and x, kept from solve to solve."""
        key = shape_b[1:]
        if key not in self._vectors:
            self._vectors.clear()
            self._vectors[key] = (self.device.vector(self._type, *shape_b), self.device.vector(self._type, *shape_x))
        return self._vectors[key]

    def _run(self, call, read):
        """Solve, raise what callbacks raised, and tell what became of it."""
        if self._solving:
            raise RuntimeError('a solver is used from within a callback of its own')
        outer, self._error, self._last = getattr(here, 'solver', None), None, 0.0
        here.solver, self._solving = self, True
        try:
            status = call()
        finally:
            here.solver, self._solving = outer, False
        if status < 0:
            self._checked(status)
        if self._progress:
            print(file=sys.stderr)
        error, self._error = self._error, None
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise error
        x, result = read(), result_of(self._result[0], status, self._name, self._matrix)
        if error is not None:
            raise Interrupted(x, result) from None
        return x, result

    def _checked(self, status):
        """`check`, but what a Python function raised is raised itself."""
        for function in self._functions if status < 0 else ():
            error = function.take_error()
            if error is not None:
                raise error
        return check(status)

    def _look(self, it):
        """In a solve: tell the callback, and say whether to stop."""
        try:
            seen = Iteration(it.iteration, it.residual, it.target, it.seconds)
            if self._progress and seen.seconds - self._last > 0.5:
                self._last = seen.seconds
                print(f'\r{seen.iteration} iterations, residual {seen.residual:.3e}, target {seen.target:.3e}', end='',
                      file=sys.stderr, flush=True)
            return 1 if self._callback is not None and self._callback(seen) else 0
        except BaseException as error:
            self._error = error
            return 1

    def iterate(self) -> np.ndarray:
        """The x of the solve that calls the callback, a copy; that of the iteration itself with `check_every`."""
        x = np.empty((lib.kry_vec_rows(self._x), lib.kry_vec_cols(self._x)), self._type, order='F')
        check(lib.kry_vec_read(self._x, pointer(x)))
        return x[:, 0] if x.shape[1] == 1 else x

    def update(self, A: Union[OperatorLike, ArrayLike]) -> None:
        """Take new numbers at the same places, and make the preconditioner anew for them.

        Parameters
        ----------
        A : the matrix with other numbers, or the array of its numbers in the order given first
        """
        if isinstance(self._A, Function):
            raise TypeError('update: A is a function, which has no numbers')
        with self._lock:
            self._A.update(A)
            self._checked(lib.kry_op_update(self._handle, ffi.NULL))

    def set_tolerance(self, rtol: float = 0.0, atol: float = 0.0, maxiter: Optional[int] = None) -> None:
        """Other tolerances for the solves from now on, as Newton's method wants them; 0: the defaults."""
        with self._lock:
            check(lib.kry_solver_set_stop(self._handle, ffi.new('kry_stop *', {
                'rtol': rtol, 'atol': atol, 'max_iter': maxiter or 0})))

    # ---- as a LinearOperator ----

    def _matvec(self, b):
        with self._lock:
            return self._solve(np.ravel(b))[0]

    def _matmat(self, b):
        with self._lock:
            return self._solve(b)[0]

    def __repr__(self):
        return f'<pykry.Solver of {self.shape[1]}-by-{self.shape[0]}, {self._matrix}, on {self._name!r}>'


def _stop(rtol, atol, maxiter):
    """The words of the stopping rules."""
    if not rtol >= 0 or not atol >= 0 or (rtol == 0 and atol == 0):
        raise ValueError(f'rtol={rtol} and atol={atol}; both may not be negative, and one has to be positive')
    if maxiter is not None and maxiter < 1:
        raise ValueError(f'maxiter={maxiter}; at least 1')
    words = {'rtol': float(rtol) if rtol else None, 'atol': float(atol) if atol else None,
             'maxit': None if maxiter is None else int(maxiter)}
    return {name: value for name, value in words.items() if value is not None}


def _promise(method):
    """The traits that a method asks of an operator that cannot be looked into, as a list for a call."""
    name = method.split(':')[0]
    if name in ('cg', 'pcg', 'pipe-cg'):
        return [lib.KRY_SYMMETRIC | lib.KRY_POSITIVE]
    return [lib.KRY_SYMMETRIC] if name in ('cr', 'minres') else [0]


def _is_symmetric(A):
    return not isinstance(A, LinearOperator) and A.shape[0] == A.shape[1] and not (abs(A - A.T) > 0).sum()


def _doubles(a):
    return ffi.cast('double *', a.ctypes.data)


def solve(A: OperatorLike, b: ArrayLike, x0: Optional[ArrayLike] = None, *, rtol: Optional[float] = None, atol: float = 0.0,
          maxiter: Optional[int] = None, M: Optional[OperatorLike] = None, precond: Optional[str] = 'auto',
          method: str = 'auto', device: DeviceLike = None, dtype: Optional[DTypeLike] = None,
          callback: Optional[Callback] = None, progress: Optional[bool] = None,
          **options: Union[str, int, float]) -> Tuple[np.ndarray, Result]:
    """Solve A x = b.

    Parameters
    ----------
    A : sparse array or matrix, ndarray, LinearOperator, or function of a vector
    b : array_like, pyopencl.array.Array, or what offers itself by DLPack
        Of shape (n,), or (n, k) for k systems.
    x0 : the same, optional
        The first guess.
    rtol, atol : float
        The solve ends when the true residual is at most ``max(rtol * norm(b), atol)``. rtol: by default 1e-8, in
        float32 1e-5.
    maxiter, M, precond, method, device, dtype, callback, progress, **options
        As for `Solver`.

    Returns
    -------
    x : ndarray, pyopencl.array.Array or DeviceArray
    result : Result
        True if the true residual met the target; else there is a `ConvergenceWarning`, too.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykry
    >>> A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> x, result = pykry.solve(A, np.ones(50))
    >>> bool(result)
    True
    >>> x, result = pykry.solve(lambda v: A @ v, np.ones(50), method="gmres")
    >>> bool(np.allclose(A @ x, 1))
    True
    """
    where = device_of(device, on_host(b, 'b'))
    A, b, x0, dtype = system_of(A, b, x0, where, dtype)
    solver = Solver(A, method=method, precond=precond, M=M, rtol=rtol, atol=atol, maxiter=maxiter, device=where,
                    dtype=dtype, shape=shape_of(b), callback=callback, progress=progress, **options)
    return solver.solve(b, x0)


def system_of(A, b, x0, where, dtype):
    """The arguments of a solve on a device, and the type of its numbers."""
    A, b, x0 = on_host(A, 'A'), on_host(b, 'b'), on_host(x0, 'x0')
    if kind_of(b) == OPENCL:  # its type is known where its context is
        b = DeviceArray.of(where, b, 'b')
    kinds = [np.float64 if callable(A) and not hasattr(A, 'dtype') else A.dtype if hasattr(A, 'dtype') else
             np.asarray(A).dtype, b.dtype if hasattr(b, 'dtype') else np.asarray(b).dtype]
    if dtype is None:
        both = [number_type(np.float64 if kind is None else kind, name) for kind, name in zip(kinds, 'Ab')]
        dtype = np.result_type(*both)
    return A, b, x0, dtype


def shape_of(b):
    """Of an A that is a function."""
    rows = np.shape(b)[0] if np.ndim(b) else 0
    return rows, rows
