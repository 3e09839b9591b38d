"""speed.py [SIZE...] - what a solve costs in Python over C, and seconds of processors beside SciPy's cg; with OPENBLAS_NUM_THREADS=1
SciPy's are of one thread, else also those of NumPy's threads that wait"""
import sys
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import pykry
from pykry._library import check, ffi, lib


def poisson(m):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m))
    return (sp.kron(sp.eye_array(m), line) + sp.kron(line, sp.eye_array(m))).tocsr()


def over_c(m, device):
    """Medians of the seconds of a solve by the calls of C, and by Solver.solve, taken in turns."""
    A, b = poisson(m), np.ones(m * m)
    solver = pykry.Solver(A, method='cg', device=device, format='csr')
    pair = [solver.device.vector(b.dtype, m * m) for _ in 'bx']
    x, result, box = np.empty(m * m), ffi.new('kry_result *'), ffi.new('kry_op **')
    check(lib.kry_solver_create(solver._A.handle, b'method=cg', ffi.NULL, ffi.NULL, box))
    from_b, to_x = ffi.cast('void *', b.ctypes.data), ffi.cast('void *', x.ctypes.data)

    def in_c():
        lib.kry_vec_write(pair[0], from_b)
        lib.kry_vec_fill(pair[1], 0.0)
        lib.kry_solve_sized(box[0], *pair, result, ffi.sizeof('kry_result'))
        lib.kry_vec_read(pair[1], to_x)

    seconds = {in_c: [], solver.solve: []}
    for _ in range(500):
        for call, took in seconds.items():
            begin = time.perf_counter()
            call(*[b] * (call is not in_c))
            took.append(time.perf_counter() - begin)
    lib.kry_op_release(box)
    return [np.median(took[20:]) for took in seconds.values()]


def of_processors(solve, A, b):
    begin = time.process_time()
    x, info = solve(A, b, rtol=1e-6)
    assert info == 0
    return time.process_time() - begin


def by_itself(A, b, rtol):
    x, result = pykry.solve(A, b, rtol=rtol)
    return x, not result


def main(*sizes):
    for device in ('host', None):
        c, python = over_c(4, device)
        print(f'a solve of 16 unknowns on {device or "the default device"}: {1e6 * c:.1f} us in C, '
              f'{1e6 * (python - c):.1f} us more in Python')
    for m in map(int, sizes):
        A, b = poisson(m), np.ones(m * m)
        pykry.scipy.cg(A, b, rtol=1e-2)  # compiles
        ours, theirs = of_processors(pykry.scipy.cg, A, b), of_processors(sla.cg, A, b)
        print(f'poisson {m} x {m}: {ours:.2f} s of processors, SciPy {theirs:.2f} s, {theirs / ours:.1f} times')
        pykry.solve(A, b, rtol=1e-2)
        chosen = of_processors(by_itself, A, b)
        print(f'    what pykry.solve chooses: {chosen:.2f} s, {theirs / chosen:.1f} times')


if __name__ == '__main__':
    main(*sys.argv[1:])
