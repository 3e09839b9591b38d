"""What happens within a solve: callbacks, progress, Ctrl-C."""
import threading
import typing

from ._library import ffi


class Iteration(typing.NamedTuple):
    """What a callback is told: a residual, its target (both in units of b), and the seconds since the solve began."""

    iteration: int
    residual: float
    target: float
    seconds: float


Callback = typing.Callable[[Iteration], typing.Any]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve.

    Attributes
    ----------
    x : numpy.ndarray
        The last iterate.
    result : Result
    """

    def __init__(self, x, result):
        super().__init__(f'after {result.iterations} iterations')
        self.x, self.result = x, result

    def __reduce__(self):  # for pickle, which otherwise makes an exception of its message alone
        return type(self), (self.x, self.result), self.__dict__


here = threading.local()  # .solver: whose solve this thread is in


def not_seen(kind, error, trace):
    """What was raised before the callback's own code began: Ctrl-C."""
    here.solver._error = error


@ffi.callback('int(void *, const kry_iteration *)', error=1, onerror=not_seen)
def monitor(user, it):
    """Called between iterations, which is when Python sees Ctrl-C; other values than 0 stop the solve."""
    return here.solver._look(it)


@ffi.callback('int(void *, const kry_iteration *)', error=1, onerror=not_seen)
def quiet(user, it):
    """The same where nobody wants to be told; also within a preconditioner that is a solver: all of them stop."""
    return 0 if here.solver._error is None else 1
