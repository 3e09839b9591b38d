"""fresh.py WHEEL - solve with an installed wheel, with no OpenCL in sight but what pip has installed

Without arguments: the solve itself, in a process of its own that sees no driver of the machine.
"""
import glob
import os
import shutil
import subprocess
import sys
import zipfile

HIDE = 'if [ -d /etc/OpenCL ]; then mount -t tmpfs none /etc/OpenCL || exit; fi; exec "$@"'


def solve():
    import numpy as np
    import scipy.sparse as sp

    import pykry
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(100, 100))
    A = (sp.kron(sp.identity(100), line) + sp.kron(line, sp.identity(100))).tocsr()
    x, result = pykry.solve(A, np.ones(10000), method='cg', device=os.environ.get('KRY_DEVICE'))
    assert result and np.linalg.norm(A @ x - 1) <= 1.001e-6
    with open('/proc/self/maps') as maps:
        loaded = {line.split()[-1] for line in maps if '.so' in line}
    outside = [f for f in loaded if sys.prefix not in f
               and any(word in f for word in ('libkry', 'libOpenCL', 'clblast', 'libpocl'))]
    assert not outside, outside
    print(f'{result.iterations} iterations on {result.device}, with nothing of kry or OpenCL from outside of the wheel')


def main(wheel):
    size = os.path.getsize(wheel) / 2**20
    names = zipfile.ZipFile(wheel).namelist()
    print(f'{os.path.basename(wheel)}: {size:.1f} MiB, {len(names)} files,',
          ', '.join(sorted(os.path.basename(n) for n in names if '.so' in n)))
    bundled = {os.path.basename(n) for n in names if '.libs/' in n}
    licences = [n for n in names if '.dist-info/licenses/' in n and not n.endswith('LICENSE')]
    assert bundled == set() or licences, f'no licences of {bundled}'
    clean = {k: v for k, v in os.environ.items() if not k.startswith(('KRY_', 'OCL_', 'POCL_', 'LD_LIBRARY', 'PYTHON'))}
    clean['KRY_CACHE_DIR'] = ''
    me = [sys.executable, '-I', os.path.abspath(__file__)]
    hidden = ['unshare', '-m', 'sh', '-c', HIDE, 'sh']
    if shutil.which('unshare') and subprocess.run([*hidden, 'true'], capture_output=True).returncode == 0:
        print('the drivers of the machine are hidden')
        pocl = subprocess.run([*hidden, *me], env=clean, cwd='/')
    else:
        print("the drivers of the machine cannot be hidden here: PyPI's PoCL is named")
        found = glob.glob(sys.prefix + '/lib/python*/site-packages/pyopencl/.libs/libpocl*.so')
        pocl = subprocess.run(me, env={**clean, 'OCL_ICD_VENDORS': (found + ['/nonexistent'])[0]}, cwd='/')
    if pocl.returncode:
        print("PyPI's PoCL does not run here: the device host has to do")
        subprocess.run(me, env={**clean, 'KRY_DEVICE': 'host'}, cwd='/', check=True)


main(sys.argv[1]) if len(sys.argv) > 1 else solve()
