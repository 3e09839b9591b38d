"""A solve as a page for the browser."""
import os
from typing import Any, Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._device import DeviceLike, device_of
from ._library import check, ffi, own, report_lib
from ._monitor import Interrupted
from ._operator import OperatorLike
from ._result import Result
from ._solve import shape_of, system_of
from ._solver import Solver


class _Told(Solver):
    """A solver that tells a report what it does."""

    def __init__(self, report, A, **words):
        self._report = report
        report_lib.kry_report_enter(report, report_lib.KRY_REPORT_MATRIX)
        super().__init__(A, **words)

    def _by_words(self, *how):
        report_lib.kry_report_enter(self._report, report_lib.KRY_REPORT_SETUP)
        return super()._by_words(*how)

    def _with(self, *how):
        report_lib.kry_report_enter(self._report, report_lib.KRY_REPORT_SETUP)
        return super()._with(*how)

    def _solve(self, b, x0=None):
        report_lib.kry_report_enter(self._report, report_lib.KRY_REPORT_SOLVE)
        try:
            return super()._solve(b, x0)
        finally:
            check(report_lib.kry_report_end(self._report))

    def _look(self, it):
        report_lib.kry_report_monitor(self._report, it)
        return super()._look(it)

    def write(self, path, title):
        """The page of the last solve."""
        title = ffi.new('char[]', title.encode())
        check(report_lib.kry_report_write(self._report, os.fsencode(path), ffi.new('kry_report_params *', {
            'struct_size': ffi.sizeof('kry_report_params'), 'result_size': ffi.sizeof('kry_result'), 'title': title,
            'solver': self._handle, 'A': self._A.handle, 'result': self._result})))


def report(path: Union[str, os.PathLike], A: OperatorLike, b: ArrayLike, x0: Optional[ArrayLike] = None, *,
           title: str = 'A x = b', device: DeviceLike = None, dtype: Optional[DTypeLike] = None,
           **options: Any) -> Tuple[np.ndarray, Result]:
    """Solve A x = b as `solve` does, and write a page that tells all about it: docs/command-line.md.

    The page has the convergence, where the time went, kernels beside a copy, the matrix, levels of multigrid, the balance
    of several devices. A solve that does not converge, or that Ctrl-C ends, has a page, too.

    Parameters
    ----------
    path : str or path
        Of the page, a single file of HTML. It takes its name once it is whole.
    A, b, x0 : as for `solve`
    title : str
        The page's heading.
    device : Device, str or pyopencl.CommandQueue, optional
        Kernels get times on a device that is named here, and on a `Device` or queue that keeps them.
    dtype, **options
        As for `solve`.

    Returns
    -------
    x : ndarray, pyopencl.array.Array or DeviceArray
    result : Result

    Examples
    --------
    >>> import numpy as np, os, pykry, scipy.sparse as sp, tempfile
    >>> A = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(50, 50))
    >>> page = os.path.join(tempfile.mkdtemp(), 'solve.html')
    >>> x, result = pykry.report(page, A, np.ones(50), method="cg", device="host")
    >>> bool(result), os.path.getsize(page) < 300_000
    (True, True)
    """
    where = device_of(device, b, times=True)
    with where.undisturbed():
        box = ffi.new('kry_report **')
        check(report_lib.kry_report_begin(where.handle, box))
        kept = own(box, report_lib.kry_report_release)
        with where.together('pykry.report'):
            A, b, x0, dtype = system_of(A, b, x0, where, dtype)
        options.setdefault('callback', lambda it: False)  # so that the solver tells its residuals
        solver = _Told(kept, A, device=where, dtype=dtype, shape=shape_of(b), **options)
        try:
            x, result = solver.solve(b, x0)
        except Interrupted:
            solver.write(path, title)
            raise
        solver.write(path, title)
        return x, result
