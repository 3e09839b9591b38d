"""Teams of MPI ranks: one device in each of several processes, as one, over mpi4py.

    mpirun -n 4 python3 script.py

    team = pykry.ranks.Team()
    x, result = pykry.solve(A, b, device=team)      # this rank's rows of A, b and x
"""
import contextlib
import os
import signal
import threading
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from ._device import Device, DeviceLike
from ._library import TYPES, KryError, check, fail, ffi, keeping, lib, number_type, numbers, own, pointer
from ._monitor import here as current
from ._transport import Transport, mpi, usable

__all__ = ['Team']


class Team(Device):
    """One device made of those of all ranks of a communicator, for ``device=`` of `Solver`, `solve` and `report`.

    All ranks make it, and from then on all call whatever takes it in the same order and with the same arguments, but for
    the numbers: of a matrix each rank gives its own rows with all columns, those of rank 0 first, of b and x the same
    rows. What is raised on one rank is raised on all: there `KryError`, or the kind of it that suits (`ArgumentError` for a
    `ValueError`), with a message that names the rank. The next call works.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        Whose processes; `mpi4py.MPI.COMM_WORLD`. The team uses a duplicate of its own, which `close` frees.
    device : Device, str or pyopencl.CommandQueue, optional
        This rank's. By default what ``KRY_DEVICE`` names, or of a machine's GPUs the one of the rank's number there, or, if
        there are not so many, what `Device` opens.
    timeout : float
        Seconds that a rank waits for others before it gives up, and the team with it; 0: for ever. It is to be longer than
        kernels take to compile.
    shares : sequence of float, optional
        Relative speeds of all ranks, for files, of which each rank gets rows by its speed; by default it is measured.
    reproducible : bool
        The same bits on any number of ranks (docs/precision.md).

    Attributes
    ----------
    rank, size : int
        This process, of so many.

    Raises
    ------
    ImportError
        Without mpi4py.
    RuntimeError
        If MPI is not initialised, or with too low a level of threads.

    Notes
    -----
    All calls come from the thread that made the team. Messages are buffers of MPI's; nothing is pickled once the team is made.

    Examples
    --------
    As one of ``mpirun -n 4 python3 script.py``::

        from mpi4py import MPI
        team = pykry.ranks.Team(MPI.COMM_WORLD)
        mine = slice(n * team.rank // team.size, n * (team.rank + 1) // team.size)
        solver = pykry.Solver(A[mine], device=team, method="cg", precond="jacobi")
        x, result = solver.solve(b[mine])
    """

    ranks = True

    def __init__(self, comm: Any = None, device: DeviceLike = None, *, timeout: float = 0.0,
                 shares: Optional[Sequence[float]] = None, reproducible: bool = False):
        self._transport = transport = Transport(usable(comm))
        self.rank, self.size, self.queue = transport.rank, transport.size, None
        self._me = ffi.new_handle(transport)
        with self.undisturbed():
            try:
                box = self._make(transport, device, timeout, shares, reproducible)
            except Exception:  # on all ranks
                transport.close()
                raise
        self.handle = own(box, lib.kry_device_release)
        self._profile = lib.kry_device_get_info(self.handle)

    def _make(self, transport, device, timeout, shares, reproducible):
        here = _number_here(transport.comm)
        with _told(transport):
            part, speeds = _own_device(device, here), _speeds(shares, self.size)
            params = ffi.new('kry_team_params *', {
                'struct_size': ffi.sizeof('kry_team_params'), 'timeout': timeout, 'reproducible': reproducible,
                'shares': ffi.NULL if speeds is None else ffi.cast('double *', speeds.ctypes.data)})
        box = ffi.new('kry_device **')
        check(lib.kry_team_of_transport(transport.table(self._me), part.handle, params, box))
        return box

    def close(self) -> None:
        """Free the team's communicator. Collective; nothing that was made on the team works afterwards.

        Without it the communicator is there until MPI is finalised, as mpi4py does when Python ends. ``with Team() as team:``
        closes it at the end, unless by an exception, which other ranks may not have.
        """
        self._transport.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()

    def __repr__(self):
        return f'<pykry.ranks.Team, rank {self.rank} of {self.size}, {self.name!r}>'

    # ---- what solvers need ----

    def _agree(self, call, error=None):
        """Tell the others how this rank is; returns the status of all."""
        with self.undisturbed():
            mine = 0 if error is None else fail(error, call)
            return lib.kry_team_agree(self.handle, call.encode(), mine)

    @contextlib.contextmanager
    def together(self, call):
        """What is raised in here by one rank is raised by all; so is that they are at different calls."""
        try:
            yield
        except BaseException as error:
            self._agree(call, error)
            raise
        check(self._agree(call))

    @contextlib.contextmanager
    def undisturbed(self):
        """Ctrl-C waits in here until a solve sees it, or the end: in a function of MPI's it would break the team."""
        if (threading.current_thread() is not threading.main_thread()
                or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
            yield
            return
        pressed = []

        def later(number, frame):
            solver = getattr(current, 'solver', None)
            if solver is None:
                pressed.append(number)
            else:
                solver._error = KeyboardInterrupt()

        signal.signal(signal.SIGINT, later)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if pressed:
            raise KeyboardInterrupt

    def raised(self, error):
        """After a solve: raise what a callback raised on any rank; returns whether it was Ctrl-C."""
        status = self._agree('pykry.Solver.solve', error)
        try:
            if super().raised(error) or status == lib.KRY_ERR_CANCELLED:
                return True
        finally:
            del error  # whose traceback refers to this frame
        check(status)
        return False

    # ---- rows ----

    def count_rows(self, rows: int) -> Tuple[int, int]:
        """Find out where this rank's rows begin if each rank has so many. Collective.

        Parameters
        ----------
        rows : int
            Of this rank; it may be 0.

        Returns
        -------
        first : int
            Rows of the ranks before it.
        whole : int
            Rows of all ranks.
        """
        first = ffi.new('int64_t[2]')
        with self.undisturbed():
            check(lib.kry_team_rows(self.handle, rows, first, first + 1))
        return first[0], first[1]

    @property
    def facts(self) -> Dict[str, Union[int, float]]:
        """A dict: ``waited``, the seconds that this rank has waited for others, ``sent``, bytes to its neighbours."""
        facts = ffi.new('kry_rank_facts *')
        lib.kry_team_rank_facts(self.handle, facts)
        return {'waited': facts.waited, 'sent': facts.sent}

    # ---- files ----

    def read_matrix(self, path: Union[str, os.PathLike]) -> 'scipy.sparse.csr_array':
        """Read this rank's rows of a square matrix from a Matrix Market file or a binary file of PETSc's. Collective.

        Rows are cut so that each rank has entries in proportion to its device's speed; or as those of matrices and solvers
        of as many rows that were made before and are still there. No rank reads the whole file (docs/devices.md).

        Parameters
        ----------
        path : str or path
            A file that every rank can open.

        Returns
        -------
        A : scipy.sparse.csr_array
            This rank's rows, with all columns, in float64; of a symmetric file both triangles.
        """
        box = ffi.new('kry_share **')
        with self.undisturbed():
            check(lib.kry_share_read(self.handle, os.fsencode(path), box))
        share = own(box, lib.kry_share_release)

        def array(numbers, count, dtype):
            kept = keeping(numbers, share)  # and with it the cut
            return np.frombuffer(ffi.buffer(kept, 8 * count), dtype) if count else np.empty(0, dtype)

        nnz = share.row_ptr[share.rows]
        A = scipy.sparse.csr_array((array(share.val, nnz, np.float64), array(share.col, nnz, np.int64),
                                    array(share.row_ptr, share.rows + 1, np.int64)), shape=(share.rows, share.n))
        return A

    def read_vector(self, path: Union[str, os.PathLike]) -> np.ndarray:
        """Read this rank's rows of a vector from a file as of `read_matrix`. Collective.

        They are cut as those of matrices and solvers of as many rows, so read or make the matrix first, and keep it.

        Returns
        -------
        b : ndarray
            Of shape (rows,), or (rows, k) for a file of k columns, in float64.
        """
        box = ffi.new('kry_vec **')
        with self.undisturbed():
            check(lib.kry_mtx_read_vec(self.handle, lib.KRY_F64, os.fsencode(path), box))
            vec = own(box, lib.kry_vec_release)
            b = np.empty((lib.kry_vec_rows_here(vec, ffi.NULL), lib.kry_vec_cols(vec)), order='F')
            check(lib.kry_vec_read(vec, pointer(b)))
        return b[:, 0] if b.shape[1] == 1 else b

    def write_vector(self, path: Union[str, os.PathLike], x: ArrayLike, *, petsc: bool = False) -> None:
        """Write a vector of which each rank has its rows into one file. Collective.

        Parameters
        ----------
        path : str or path
            A file that every rank can open; a Matrix Market file, gzip'd if its name ends in ".gz".
        x : array_like
            Of shape (rows,) or (rows, k), cut as a matrix or a solver of as many rows that is still there.
        petsc : bool
            A binary file for PETSc's VecLoad instead, of one column.
        """
        with self.undisturbed():
            with self.together('pykry.ranks.Team.write_vector'):
                x = np.asarray(x)
                x = np.asfortranarray(numbers(x, number_type(x.dtype, 'x'), 'x'))
                if x.ndim not in (1, 2):
                    raise ValueError(f'x has {x.ndim} dimensions, not 1 or 2')
            _, whole = self.count_rows(x.shape[0])
            vec = self.vector(x.dtype, whole, *x.shape[1:])
            with self.together(f'pykry.ranks.Team.write_vector of {x.dtype}'):
                rows = lib.kry_vec_rows_here(vec, ffi.NULL)
                if rows != x.shape[0]:
                    raise ValueError(f'x has {x.shape[0]} rows, and of {whole} rows this rank has {rows}: make the matrix '
                                     'first, and keep it')
            check(lib.kry_vec_write(vec, pointer(x)))
            check((lib.kry_petsc_write_vec if petsc else lib.kry_mtx_write_vec)(os.fsencode(path), vec))


# ---- before there is a team ----------------------------------------------------------------------


@contextlib.contextmanager
def _told(transport):
    """What is raised in here by one rank is raised by all."""
    error = None
    try:
        yield
    except Exception as raised:
        error = raised
    try:
        for rank, said in enumerate(transport.comm.allgather(None if error is None else f'{type(error).__name__}: {error}')):
            if said is not None:
                raise error or KryError(lib.KRY_ERR_DEVICE, f'rank {rank} of {transport.size}: pykry.ranks.Team: {said}')
    finally:
        del error  # whose traceback refers to this frame


def _number_here(comm):
    """Which of the ranks of its machine this one is."""
    machine = comm.Split_type(mpi().COMM_TYPE_SHARED)
    try:
        return machine.rank
    finally:
        machine.Free()


def _own_device(device, here):
    if isinstance(device, Device):
        return device
    if hasattr(device, 'int_ptr'):
        return Device(queue=device)
    if not isinstance(device, (str, type(None))):
        raise TypeError(f'device={device!r} is no Device, word or queue')
    if device is None and not os.environ.get('KRY_DEVICE'):
        with contextlib.suppress(KryError):
            return Device(f'gpu:{here}')
    return Device(device)


def _speeds(shares, size):
    """The array of what is given for all ranks, or None."""
    if shares is None:
        return None
    speeds = np.ascontiguousarray(shares, np.float64)
    if speeds.shape != (size,):
        raise ValueError(f'shares has the shape {speeds.shape}, not ({size},)')
    return speeds
