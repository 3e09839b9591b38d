"""test_terminal.py KRY - what a solve shows on a terminal while kernels are compiled: a line, which is gone at the end."""
import os
import pty
import re
import subprocess
import sys
import tempfile

LINE = rb'\r\x1b\[Kcompiling kernels for this device, once: [1-9]\d*'


def solve(program, *options):
    """Exit status and what comes to a terminal, of a solve with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        for name in 'kry', 'pocl':
            os.mkdir(os.path.join(folder, name), 0o700)
        env = dict(os.environ, KRY_DEVICE=os.environ.get('KRY_DEVICE', 'opencl'), KRY_CACHE_DIR=folder + '/kry', POCL_CACHE_DIR=folder + '/pocl')
        terminal, end = pty.openpty()
        run = subprocess.Popen([program, 'solve', '--problem', 'poisson2d:64', *options], env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=end)
        os.close(end)
        shown = b''
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # nobody has the other end any more
            pass
        os.close(terminal)
        return run.wait(), shown


def main(program):
    print('1..2')
    status, shown = solve(program, '--precond', 'chebyshev', '--format', 'csr')
    lines = re.findall(LINE, shown)
    good = status == 0 and lines and shown.endswith(b'\r\x1b[K')
    print(f'{"ok" if good else "not ok"} 1 - compiling: {len(lines)} lines, the last {lines[-1:]}, {shown[-20:]}')
    status, shown = solve(program, '--json')
    print(f'{"ok" if status == 0 and b"compiling" not in shown else "not ok"} 2 - none with --json')


main(sys.argv[1])
