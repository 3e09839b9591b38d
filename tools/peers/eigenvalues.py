#!/usr/bin/env python3
"""Eigenvalues of one symmetric matrix by SciPy, SLEPc, PRIMME and kry, all in one run: README.md says how.

    eigenvalues.py FILE.mtx [K] [SIGMA] [SECONDS]

Looked for are the K smallest eigenvalues (6) without factors, and by factors of A - SIGMA (-0.01) those nearest SIGMA. The
first line tells what is right: all eigenvalues by LAPACK up to 4,500 rows, else those nearest SIGMA by SciPy's ARPACK with
factors, so that SIGMA has to be below all. Each other line tells the way, its seconds, and how far the eigenvalues are off,
relative to ||A||; more than 1e-8 is a failure, as is more than SECONDS (60).
"""
import multiprocessing
import sys
import time
import warnings

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.io import mmread
from scipy.sparse.linalg import eigsh, lobpcg, norm

TOLERANCE = 1e-9  # of the residual, relative to ||A||; SciPy's eigsh has one of eigenvalues


def diagonal(A):
    """The inverse of A's diagonal if that is positive, else None."""
    d = A.diagonal()
    return sp.diags([1 / d], [0]) if d.min() > 0 else None


def scipy_lobpcg(A, k, sigma):
    X = np.random.default_rng(1).standard_normal((A.shape[0], k))
    return lobpcg(A, X, M=diagonal(A), largest=False, tol=TOLERANCE * norm(A, 1), maxiter=2000)[0]


def slepc(A, k, sigma):
    from petsc4py import PETSc
    from slepc4py import SLEPc
    matrix = PETSc.Mat().createAIJ(A.shape, csr=(A.indptr.astype('i'), A.indices.astype('i'), A.data))
    eps = SLEPc.EPS().create()
    eps.setOperators(matrix)
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
    eps.setDimensions(k)
    eps.setTolerances(TOLERANCE, 20000)
    eps.setConvergenceTest(SLEPc.EPS.Conv.NORM)
    if sigma is None:
        eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    else:
        eps.setTarget(sigma)
        eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
        eps.getST().setType(SLEPc.ST.Type.SINVERT)
    eps.solve()
    return np.array([eps.getEigenvalue(i).real for i in range(min(k, eps.getConverged()))])


def primme(A, k, sigma):
    from primme import eigsh as primme_eigsh
    return primme_eigsh(A, k, which='SA', tol=TOLERANCE, OPinv=diagonal(A), return_eigenvectors=False)


def kry(A, k, sigma, precond=None):
    from pykry.scipy import eigsh as kry_eigsh
    which = 'SA' if sigma is None else 'LM'
    return kry_eigsh(A, k, sigma=sigma, which=which, OPinv=precond, tol=TOLERANCE, maxiter=20000, return_eigenvectors=False)


WAYS = {'SciPy eigsh': lambda A, k, s: eigsh(A, k, which='SA', tol=TOLERANCE, maxiter=20000, return_eigenvectors=False),
        'SciPy lobpcg, diagonal': scipy_lobpcg,
        'SLEPc Krylov-Schur': lambda A, k, s: slepc(A, k, None),
        'PRIMME, diagonal': primme,
        'kry Lanczos': lambda A, k, s: kry(A, k, None),
        'kry LOBPCG, amg': lambda A, k, s: kry(A, k, None, 'amg' if diagonal(A) is not None else 'none'),
        'SciPy eigsh, factors': lambda A, k, s: eigsh(A.tocsc(), k, sigma=s, return_eigenvectors=False),
        'SLEPc, factors': slepc,
        'kry Lanczos, factors': kry}


def measure(way, A, k, sigma, pipe):
    warnings.simplefilter('ignore')  # errors of eigenvalues tell
    try:
        if way.startswith('kry'):  # what compiles kernels, and opens the device
            for sigma_of_small in (None, sigma):
                kry(sp.diags([np.arange(1.0, 101)], [0]).tocsr(), k, sigma_of_small)
        start = time.perf_counter()
        w = np.sort(WAYS[way](A, k, sigma))
        pipe.send((w, time.perf_counter() - start))
    except BaseException as problem:
        pipe.send((str(problem).split('\n')[0][:90] or type(problem).__name__, 0))


def run(way, A, k, sigma, limit):
    """Eigenvalues, or what went wrong, and seconds."""
    here, there = multiprocessing.Pipe(False)
    child = multiprocessing.Process(target=measure, args=(way, A, k, sigma, there))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(limit) else (f'more than {limit:g} s', limit)
    except EOFError:
        return 'it died', 0
    finally:
        child.kill()
        child.join()


def main(file, k='6', sigma='-0.01', limit='60'):
    A, k, sigma, limit = sp.csr_matrix(mmread(file), dtype=float), int(k), float(sigma), float(limit)
    size, n = norm(A, 1), A.shape[0]
    if n <= 4500:
        every = scipy.linalg.eigvalsh(A.toarray())
    else:
        every = np.sort(run('SciPy eigsh, factors', A, k, sigma, 4 * limit)[0])
    smallest, nearest = every[:k], np.sort(every[np.argsort(abs(every - sigma), kind='stable')[:k]])
    print(f'{file}: {n} rows, {A.nnz} entries, ||A|| <= {size:.3g}, smallest', *(f'{x:.9g}' for x in smallest), flush=True)
    for way in WAYS:
        w, seconds = run(way, A, k, sigma, limit)
        right = nearest if 'factors' in way else smallest
        if not isinstance(w, str) and len(w) < k:
            w = f'{len(w)} of {k} converged in {seconds:.3g} s'
        if isinstance(w, str):
            print(f'  {way:25} FAILED: {w}', flush=True)
            continue
        off = abs(w - right).max() / size
        print(f'  {way:25} {seconds:8.3f} s, off by {off:.1e}{"" if off <= 1e-8 else " FAILED"}', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
