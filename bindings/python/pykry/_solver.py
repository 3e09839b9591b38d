"""Solvers that are kept between solves."""
import sys
import threading
import warnings
from typing import Optional, Tuple, Union

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse.linalg import LinearOperator

from ._device import DeviceLike, device_of, is_on_device
from ._dlpack import OPENCL, DeviceArray, beside, kind_of, on_host
from ._library import (ConvergenceWarning, check, ffi, lib, number_type, numbers, own, pointer, text)
from ._matrix import Matrix, entries, storage
from ._monitor import Callback, Interrupted, Iteration, here, monitor, quiet
from ._operator import Function, OperatorLike, RankMatrix, as_operator, operator_type
from ._operator import Matrix as StoredMatrix
from ._result import Result, result_of

_RESULT = ffi.sizeof('kry_result')


class Solver(LinearOperator):
    """A system with its solver, kept for many right-hand sides, and for new numbers in the same pattern.

    It is a LinearOperator, the inverse of A: ``M=solver`` of SciPy's methods, or of another solver here. ``rmatvec`` and
    ``solver.T`` solve with the transpose, by a second solver of the same words that the first call makes.

    Parameters
    ----------
    A : sparse array or matrix, ndarray, `Matrix`, LinearOperator, or function of a vector
        Square; for ``method="lsqr"`` and ``"lsmr"`` of any shape. A `Matrix` is shared, not copied, and may know null spaces
        and more.
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
        ``equilibrate="on"``, ``precision="mixed"``, ``check_every=10``, ...

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, pykry
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(100, 100)).tocsr()
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
        self.device = device_of(device)
        self._on_host = options.get('precision') == 'mixed' and not self.device.fp64
        self._callback, self._progress, self._error = callback, progress, None
        self._monitor = monitor if callback is not None or progress else quiet
        self._lock, self._vectors, self._functions = threading.RLock(), {}, []
        self._solving, self._reverse, self._reverse_is_new, self._turned = False, None, False, None
        self._words = dict(options, method=method, precond=precond, rtol=rtol, atol=atol, maxiter=maxiter, format=format)
        self._given_M = M
        with self.device.undisturbed():
            with self.device.together('pykry.Solver'):
                A = as_operator(A, shape, 'A')
                self._type = number_type(dtype, 'dtype') if dtype is not None else operator_type(A, 'A')
                operator_type(A, 'A')
                stop, params = _stop(rtol, atol, maxiter, self._type), storage(format, on_host=self._on_host)
                if M is not None and precond != 'auto':
                    raise TypeError(f'M and precond={precond!r} are both given')
            # Of ranks, as b and x are, this one's rows.
            super().__init__(self._type, (A.shape[0],) * 2 if self.device.ranks else A.shape[::-1])
            self._A = self._operator(A, 'A', params, *_promise(method))
            self._handle = (self._by_words(method, precond, stop, options) if M is None else
                            self._with(A, M, method, stop, options))
        info = ffi.new('kry_op_info *')
        lib.kry_op_describe_sized(self._A.handle, info, ffi.sizeof('kry_op_info'))
        self._matrix = ' '.join(filter(None, dict.fromkeys([text(info.kind), text(info.variant)])))
        self._result = ffi.new('kry_result *')
        self._name = self.device.name

    # ---- making it ----

    def _operator(self, A, what, params, traits=0):
        if isinstance(A, Matrix) and A.device is self.device and A.dtype == self._type and not self._on_host:
            return A._stored
        if isinstance(A, Matrix):
            raise ValueError(f'the solver is to work in {self._type} on {self.device.name!r}, and the matrix lies in {A.dtype} on '
                             f'{A.device.name!r}')
        if isinstance(A, LinearOperator):
            self._functions.append(Function(self.device, A, self._type, what, traits))
            return self._functions[-1]
        return (RankMatrix if self.device.ranks else StoredMatrix)(self.device, A, self._type, params)

    def _by_words(self, method, precond, stop, options):
        words = {'method': method, **stop, **options}
        if precond != 'auto':
            words['precond'] = precond or 'none'
        with self.device.together(f'pykry.Solver with {words}'):
            line = ' '.join(f'{name.replace("_", "-")}={value}' for name, value in words.items() if value is not None)
        box = ffi.new('kry_op **')
        self._checked(lib.kry_solver_create(self._A.handle, line.encode(), self._monitor, ffi.NULL, box))
        return own(box, lib.kry_op_release)

    def _with(self, A, M, method, stop, options):
        """A solver with a preconditioner that is an operator."""
        every, null_space = options.pop('check_every', 0), options.pop('null_space', 'project')
        kept = isinstance(M, Solver) and M.device is self.device and M.dtype == self.dtype  # nothing goes through the host
        with self.device.together(f'pykry.Solver with M, {method}, {stop}, {every}'):
            if options or null_space not in ('project', 'none'):
                raise TypeError(f'with M= there is no {", ".join(sorted(options) or [f"null_space={null_space!r}"])}')
            if method == 'auto' and self.device.ranks:
                raise TypeError('with M= on ranks a method has to be named: none of them sees whether A is symmetric')
            if method == 'auto':
                method = 'cg' if _is_symmetric(A) else 'fgmres' if isinstance(M, Solver) else 'gmres'
            if not kept:
                M = as_operator(M, A.shape[::-1], 'M')
                operator_type(M, 'M')
                if M.shape != (A.shape if self.device.ranks else A.shape[::-1]):
                    raise ValueError(f'M is {M.shape}, which does not suit A, {A.shape}')
        self._M = M if kept else self._operator(M, 'M', storage(on_host=self._on_host), *_promise(method))
        self._functions += M._functions if kept else []
        handle = M._handle if kept else self._M.handle
        params = ffi.new('kry_pcg_params *', {
            'struct_size': ffi.sizeof('kry_pcg_params'), 'precond': handle, 'monitor': self._monitor,
            'flexible': lib.KRY_POLAK_RIBIERE if isinstance(M, Solver) and method == 'cg' else lib.KRY_RIGID,
            'stop': {'rtol': stop.get('rtol', 0), 'atol': stop.get('atol', 0), 'max_iter': stop.get('maxit', 0),
                     'check_every': every}})
        if null_space == 'project':
            vectors = ffi.new('kry_vec **')
            status = lib.kry_op_find_null_space(self._A.handle, vectors)  # which A keeps for its solvers
            lib.kry_vec_release(vectors)
            if status != lib.KRY_ERR_UNSUPPORTED:  # more of them than are kept
                self._checked(status)
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
        x : ndarray, pyopencl.array.Array, DeviceArray, or array of b's library
            Of the shape of b; an array of NumPy's for b on the host. b on a GPU of CUDA's or ROCm's (CuPy, PyTorch, JAX) is
            copied to the host, and x back to that GPU; a `CopyWarning` tells.
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
        return beside(b, x), result

    def _solve(self, b, x0=None):
        with self.device.undisturbed():
            with self.device.together('pykry.Solver.solve'):
                solve, *system = self._system(b, x0)
            return solve(*system)

    def _system(self, b, x0):
        """Where b and x0 are solved with, and what that takes, once they are seen to suit A."""
        if kind_of(b) == OPENCL and not self.device.ranks:
            return self._solve_shared, b, x0
        b, x0 = on_host(b, 'b'), on_host(x0, 'x0')
        there = is_on_device(b)
        if self.device.ranks and (there or kind_of(b) == OPENCL):
            raise TypeError('b lies on a device; on ranks b and x are on the host')
        if not there:
            b = numbers(b, np.float64 if self._on_host else self._type, 'b')
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[1]:
            raise ValueError(f'b has the shape {b.shape}, and A {self.shape[::-1]}')
        shape = (self.shape[0],) + b.shape[1:]
        if x0 is not None and tuple(x0.shape if there else np.shape(x0)) != shape:
            raise ValueError(f'x0 has the shape {np.shape(x0)}, not {shape}')
        if there:
            return self._solve_there, b, x0, shape
        x = np.empty(shape, b.dtype, order='F')  # kry's blocks are column major
        if x0 is not None:
            x[...] = numbers(x0, b.dtype, 'x0')
        return self._solve_here, np.asfortranarray(b), x, x0 is not None

    def _solve_here(self, b, x, guessed):
        if self._on_host:
            if not guessed:
                x[...] = 0
            return self._run(lambda: lib.kry_solve_host_sized(self._handle, _doubles(b), _doubles(x), self._result,
                                                              _RESULT),
                             lambda: x)
        vec_b, vec_x = self._pair(b.shape, x.shape)
        check(lib.kry_vec_write(vec_b, pointer(b)))
        check(lib.kry_vec_write(vec_x, pointer(x)) if guessed else lib.kry_vec_fill(vec_x, 0.0))

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
            with self.device.together(f'pykry.Solver.solve with b of {key[0] if key else "one"} columns'):
                rows = [self._A.whole] * 2 if self.device.ranks else [shape_b[0], shape_x[0]]
            self._vectors.clear()
            self._vectors[key] = tuple(self.device.vector(self._type, n, *key) for n in rows)
        return self._vectors[key]

    def _run(self, call, read):
        """Solve, raise what callbacks raised, and tell what became of it."""
        if self._solving:
            raise RuntimeError('a solver is used from within a callback of its own')
        outer, self._last = getattr(here, 'solver', None), 0.0
        here.solver, self._solving = self, True
        try:
            try:
                status = call()
            finally:
                here.solver, self._solving = outer, False
            self._checked(status)
            if self._last > 0:
                print(file=sys.stderr)
            interrupted = self.device.raised(self._error)
        finally:
            self._error = None  # whose traceback refers to this solver
        x, result = read(), result_of(self._result[0], status, self._name, self._matrix)
        if interrupted:
            raise Interrupted(x, result) from None
        return x, result

    def _checked(self, status):
        """`check`, but what a Python function raised is raised itself."""
        for function in self._functions:
            function.raise_error()
        if status < 0 and self._error is not None:
            raise self._error
        return check(status)

    def _look(self, it):
        """In a solve: tell the callback, and say whether to stop."""
        try:
            seen = Iteration(it.iteration, it.residual, it.target, it.seconds)
            if self._progress and seen.seconds - self._last > 0.5:
                self._last = seen.seconds
                print(f'\r{seen.iteration} iterations, residual {seen.residual:.3e}, target {seen.target:.3e}', end='',
                      file=sys.stderr, flush=True)
            wanted = self._callback is not None and self._callback(seen)
            return 1 if wanted or self._error is not None else 0
        except BaseException as error:
            self._error = error
            return 1

    def iterate(self) -> np.ndarray:
        """The x of the solve that calls the callback, a copy; that of the iteration itself with `check_every`."""
        rows = lib.kry_vec_rows_here(self._x, ffi.NULL)
        x = np.empty((rows, lib.kry_vec_cols(self._x)), self._type, order='F')
        check(lib.kry_vec_read(self._x, pointer(x)))
        return x[:, 0] if x.shape[1] == 1 else x

    def update(self, A: Union[OperatorLike, ArrayLike], f: Optional[ArrayLike] = None) -> None:
        """Take new numbers at the same places, and make the preconditioner anew for them.

        Parameters
        ----------
        A : the matrix with other numbers, or the array of its numbers; None: those that a shared `Matrix` has now
            An array is in the order of ``A.data`` of the matrix that was given first, in CSR, CSC or COO; of a dense one its
            numbers other than zero, row by row. Numbers of other formats have no such order: TypeError.
        f : array_like, optional
            Given by `scipy.optimize.newton_krylov` with the point that it has come to, in place of A, if the solver is its
            ``inner_M``: nothing is done then.
        """
        if f is not None:
            return
        if isinstance(self._A, Function):
            raise TypeError('update: A is a function, which has no numbers')
        with self._lock, self.device.undisturbed():
            if A is not None:
                self._A.update(A)
            self._reverse_is_new = False
            self._checked(lib.kry_op_update(self._handle, ffi.NULL))

    def set_tolerance(self, rtol: Optional[float] = None, atol: float = 0.0, maxiter: Optional[int] = None) -> None:
        """Other tolerances for the solves from now on, as Newton's method wants them; None: the defaults."""
        with self._lock, self.device.undisturbed():
            with self.device.together(f'pykry.Solver.set_tolerance({rtol}, {atol}, {maxiter})'):
                words = _stop(0.0 if rtol is None and atol else rtol, atol, maxiter, self._type)
                stop = ffi.new('kry_stop *', {'rtol': words.get('rtol', 0), 'atol': words.get('atol', 0),
                                              'max_iter': words.get('maxit', 0)})
            check(lib.kry_solver_set_stop(self._handle, stop))
            self._words.update(rtol=words.get('rtol', 0), atol=atol, maxiter=maxiter)
            self._reverse, self._reverse_is_new = None, False

    # ---- as a LinearOperator ----

    def _matvec(self, b):
        with self._lock:
            return self._solve(np.ravel(b))[0]

    def _matmat(self, b):
        with self._lock:
            return self._solve(b)[0]

    def _rmatvec(self, b):
        with self._lock:
            return self._transposed()._matvec(b)

    def _rmatmat(self, b):
        with self._lock:
            return self._transposed()._matmat(b)

    def _transposed(self):
        """The solver of the transpose, with the numbers that A has now."""
        if self.device.ranks:
            raise TypeError('a Solver on ranks has no transpose: no rank sees the rows of the others')
        if not self._reverse_is_new:
            self._reverse = self._find_reverse()
            self._reverse_is_new = True
        return self if self._reverse is None else self._reverse

    def _find_reverse(self):
        """None: A is its own transpose."""
        A, M = self._A, self._given_M
        if lib.kry_op_get_shape(A.handle).traits & lib.KRY_SYMMETRIC and M is None:
            return None
        if isinstance(A, Function):
            turned = A.calls.A.T
        else:
            A = entries(A)
            if self._turned is None:  # which entries of A those of its transpose are, and whether these stand at the places of A's
                turned = scipy.sparse.csr_array((np.arange(A.nnz), A.indices, A.indptr), shape=A.shape).T.tocsr()
                self._turned = turned, all(map(np.array_equal, (A.indptr, A.indices), (turned.indptr, turned.indices)))
            places, alike = self._turned
            values = A.data[places.data]
            if M is None and alike and np.array_equal(A.data, values):
                return None
            if M is None and self._reverse is not None:
                self._reverse.update(values)
                return self._reverse
            turned = scipy.sparse.csr_array((values, places.indices, places.indptr), shape=places.shape)
        M = M._transposed() if isinstance(M, Solver) else M.T if hasattr(M, 'T') else M
        return Solver(turned, M=M, device=self.device, dtype=self._type, **self._words)

    def __repr__(self):
        return f'<pykry.Solver of {self.shape[1]}-by-{self.shape[0]}, {self._matrix}, on {self._name!r}>'


def _stop(rtol, atol, maxiter, dtype):
    """The words of the stopping rules."""
    if rtol is None:
        rtol = 1e-8 if dtype == np.float64 else 1e-5
    if not 0 <= rtol < 1 or not atol >= 0 or (rtol == 0 and atol == 0):
        raise ValueError(f'rtol={rtol} and atol={atol}; both may not be negative, one has to be positive, and rtol is below 1')
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
    A = A.tocsr() if isinstance(A, Matrix) else A
    return not isinstance(A, LinearOperator) and A.shape[0] == A.shape[1] and not (abs(A - A.T) > 0).sum()


def _doubles(a):
    return ffi.cast('double *', a.ctypes.data)
