"""How ranks reach each other: the functions of a kry_transport, over a communicator of mpi4py."""
from ._library import causes, ffi

_NOTHING = bytearray()  # a message may be empty


def mpi():
    """mpi4py's MPI, which only ranks need."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(f'pykry.ranks is for programs with mpi4py, which cannot be imported ({error}): '
                          'pip install mpi4py, or on Debian python3-mpi4py') from error
    return MPI


def usable(comm):
    """A communicator of a program whose MPI is as kry needs it; None: that of all its processes."""
    MPI = mpi()
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise RuntimeError('pykry.ranks.Team: MPI is not initialised, or finalised already; mpi4py does it when '
                           'mpi4py.MPI is imported, unless mpi4py.rc.initialize is false')
    level, needed = MPI.Query_thread(), MPI.THREAD_FUNNELED if MPI.Is_thread_main() else MPI.THREAD_SERIALIZED
    if level < needed:
        raise RuntimeError(f'pykry.ranks.Team: MPI was initialised with the thread level {level}; {needed} is needed '
                           '(MPI_THREAD_FUNNELED, or MPI_THREAD_SERIALIZED in other threads than the main one)')
    comm = MPI.COMM_WORLD if comm is None else comm
    if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
        raise ValueError('pykry.ranks.Team: comm is MPI.COMM_NULL: this process has no part in it')
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f'pykry.ranks.Team: comm={comm!r} is no mpi4py.MPI.Intracomm')
    return comm


class Transport:
    """The messages of a team, in a communicator of their own, and what of them has begun and not ended."""

    def __init__(self, comm):
        self.MPI = mpi()
        self.comm = comm.Dup()  # so that they meet no others
        self.comm.Set_errhandler(self.MPI.ERRORS_RETURN)  # which mpi4py raises
        self.rank, self.size = self.comm.rank, self.comm.size
        self.status, self.pending, self.begun = self.MPI.Status(), {}, 0

    def close(self):
        """Free the communicator. Collective, as that is in MPI, so that no garbage collector can do it."""
        comm, self.comm = self.comm, _Closed()
        if not isinstance(comm, _Closed) and not self.MPI.Is_finalized():
            comm.Free()

    def table(self, me):
        """The table that the library copies, and calls with the handle `me` of this transport.

        It has no `release`, which would call Python when its modules may be gone; releasing a team sends nothing.
        """
        return ffi.new('kry_transport *', {
            'struct_size': ffi.sizeof('kry_transport'), 'user': me, 'rank': self.rank, 'size': self.size,
            'gather': _gather, 'send': _send, 'test': _test, 'probe': _probe, 'receive': _receive})

    def bytes(self, address, size):
        """Memory of the library's, as mpi4py takes it."""
        return [ffi.buffer(address, size) if size else _NOTHING, self.MPI.BYTE]

    def begin(self, request, pending):
        """Hand a number to the library, which asks for the request by it."""
        self.begun += 1
        self.pending[self.begun] = request
        pending[0] = ffi.cast('void *', self.begun)
        return 0


class _Closed:
    """In the place of a communicator that was freed."""

    def __getattr__(self, name):
        raise RuntimeError('the team of ranks is closed')


# ---- what the library calls ----------------------------------------------------------------------


def _failed(kind, error, trace):
    """The call in the library ends the team, and raises this as the cause of its error."""
    causes.append(error)


@ffi.callback('int(void *, const void *, size_t, void *, void **)', error=1, onerror=_failed)
def _gather(me, mine, size, everything, pending):
    t = ffi.from_handle(me)
    return t.begin(t.comm.Iallgather(t.bytes(mine, size), t.bytes(everything, size * t.size)), pending)


@ffi.callback('int(void *, int, int, const void *, size_t, void **)', error=1, onerror=_failed)
def _send(me, to, tag, message, size, pending):
    t = ffi.from_handle(me)
    return t.begin(t.comm.Isend(t.bytes(message, size), to, tag), pending)


@ffi.callback('int(void *, void **, int *)', error=1, onerror=_failed)
def _test(me, pending, ended):
    t, number = ffi.from_handle(me), int(ffi.cast('uintptr_t', pending[0]))
    ended[0] = t.pending[number].Test()
    if ended[0]:
        del t.pending[number]
        pending[0] = ffi.NULL
    return 0


@ffi.callback('int(void *, int, int, size_t *, int *)', error=1, onerror=_failed)
def _probe(me, source, tag, size, there):
    t = ffi.from_handle(me)
    there[0] = t.comm.Iprobe(t.MPI.ANY_SOURCE if source < 0 else source, tag, t.status)
    size[0] = t.status.Get_count(t.MPI.BYTE) if there[0] else 0
    return 0


@ffi.callback('int(void *, int, int, void *, size_t)', error=1, onerror=_failed)
def _receive(me, source, tag, message, size):
    t = ffi.from_handle(me)
    t.comm.Recv(t.bytes(message, size), source, tag)
    return 0
