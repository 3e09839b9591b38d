"""A solve as a page for the browser, which the program kry draws."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Dict, Union

import numpy as np
import scipy.io
import scipy.sparse
from numpy.typing import ArrayLike

from ._dlpack import on_host
from ._library import KryError, lib, number_type, numbers
from ._operator import as_operator


def _program():
    """The path of the program."""
    named = os.environ.get('PYKRY_PROGRAM') or shutil.which('kry')
    if not named:
        raise FileNotFoundError('report: the program kry, which draws the page, is not in $PATH; PYKRY_PROGRAM may name it')
    return named


def report(path: Union[str, os.PathLike], A: ArrayLike, b: ArrayLike, **options: Union[str, int, float]) -> Dict[str, Any]:
    """Solve A x = b in a process of its own, and write a page that tells all about it: docs/report.md.

    It is the page of ``kry solve --html``: convergence, where the time went, kernels, the matrix, levels, devices. The
    program kry draws it and has to be installed; the system goes to it through files.

    Parameters
    ----------
    path : str or path
        Of the page, a single file of HTML.
    A : sparse array or matrix, or ndarray
    b : array_like
        Of shape (n,), or (n, k) for k systems.
    **options
        Options of ``kry solve``, with ``_`` for ``-``: ``method="pcg"``, ``precond="amg"``, ``rtol=1e-6``, ``maxit=100``,
        ``device="gpu"``, ...

    Returns
    -------
    dict
        What ``kry solve --json`` says: ``converged``, ``why``, ``iterations``, ``solve_s``, ... A solve that does not
        converge has a page, too.
    """
    A = as_operator(A, None, 'A')
    if not scipy.sparse.issparse(A) and not isinstance(A, np.ndarray):
        raise TypeError('report: A is a function, which cannot be handed to another process')
    number_type(A.dtype, 'A')
    b = numbers(on_host(b, 'b'), np.float64, 'b')
    words = [word for name, value in options.items() if value is not None
             for word in ('--' + name.replace('_', '-'), str(value))]
    with tempfile.TemporaryDirectory(prefix='pykry-') as folder:
        matrix, rhs = pathlib.Path(folder, 'A.mtx'), pathlib.Path(folder, 'b.mtx')
        scipy.io.mmwrite(matrix, scipy.sparse.coo_matrix(A, dtype=np.float64), symmetry='general', precision=17)
        scipy.io.mmwrite(rhs, b.reshape(len(b), -1), symmetry='general', precision=17)
        ended = subprocess.run([_program(), 'solve', str(matrix), '--rhs', str(rhs), '--html', os.fspath(path), '--json', *words],
                               capture_output=True, text=True)
    if not ended.stdout:
        raise KryError(lib.KRY_ERR_ARGUMENT, ended.stderr.strip())
    return json.loads(ended.stdout)
