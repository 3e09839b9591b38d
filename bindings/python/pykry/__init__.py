"""pykry - sparse Krylov solvers on OpenCL devices: SciPy's matrices in, NumPy's arrays out.

    import pykry
    x, result = pykry.solve(A, b)

`solve` and `Solver` are the package's own; `pykry.scipy` has functions with SciPy's signatures, `pykry.ranks` MPI's ranks, `pykry.batch` many small systems at once.
"""
from . import batch, ranks, scipy
from ._device import Device, devices
from ._dlpack import DeviceArray
from ._library import (ArgumentError, ConvergenceWarning, CopyWarning, DeviceMemoryError, KryError, NumberTypeError, SingularError,
                       UnsupportedError, lib, text)
from ._matrix import Matrix
from ._monitor import Interrupted, Iteration
from ._report import report
from ._result import Column, Result
from ._solve import solve
from ._solver import Solver

__version__ = text(lib.kry_version())
__all__ = ['solve', 'Solver', 'Matrix', 'Device', 'DeviceArray', 'devices', 'Result', 'Column', 'Iteration', 'Interrupted', 'report',
           'KryError', 'ArgumentError', 'NumberTypeError', 'DeviceMemoryError', 'UnsupportedError', 'SingularError',
           'ConvergenceWarning', 'CopyWarning', 'batch', 'ranks', 'scipy']
