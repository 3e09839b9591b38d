"""programs.py BUILD MPIRUN - programs of OpenFOAM solve its tutorials with kry and without, and come to the same. Prints TAP.

  BUILD   the folder of the build, whose libkry the plug-in is linked with

OpenFOAM is the one whose etc/bashrc has been read, else Debian's, with its sources in /usr/src (docs/other-programs.md).
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ENTRIES = {'PCG': 'solver kry; method cg; precond amg;', 'GAMG': 'solver kry; method cg; precond amg;',
           'smoothSolver': 'solver kry; method bicgstab; precond jacobi;'}
count = failures = 0


def run(case, *command):
    """The output of a command in the folder of a case, which is to succeed."""
    done = subprocess.run(command, cwd=case, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f'{" ".join(command)}: {done.stdout[-2000:]}')
    return done.stdout


def edit(path, *changes):
    with open(path) as f:
        text = f.read()
    for pattern, to in changes:
        text = re.sub(pattern, to, text, flags=re.M)
    with open(path, 'w') as f:
        f.write(text)


def residuals(log):
    """(solver, field, initial, final) of each solve."""
    found = re.findall(r'(\w+): +Solving for (\w+), Initial residual = (\S+), Final residual = (\S+),', log)
    return [(solver, field, float(initial), float(final)) for solver, field, initial, final in found]


def fields(case, time):
    """The numbers of each field at a time, less their mean: without a reference pressure has none."""
    numbers = {}
    for path in glob.glob(f'{case}/{time}/*'):
        found = os.path.isfile(path) and re.search(r'internalField +nonuniform[^(]*\((.*?)\n\)\n', open(path).read(), re.S)
        if found:
            values = [float(x) for x in re.sub('[()]', ' ', found[1]).split()]
            mean = sum(values) / len(values)
            numbers[os.path.basename(path)] = [x - mean for x in values]
    return numbers


def prepare(folder, end, *programs):
    """A tutorial that ends early, with tight tolerances and another solver than kry."""
    case = tempfile.mkdtemp(dir=work)
    shutil.copytree(f'{os.environ["WM_PROJECT_DIR"]}/tutorials/{folder}', case, dirs_exist_ok=True)
    edit(f'{case}/system/controlDict', ('^endTime .*', f'endTime {end};'), ('^writeControl .*', 'writeControl runTime;'),
         ('^writeInterval .*', f'writeInterval {end};'), ('^writePrecision .*', 'writePrecision 12;'),
         ('^application', 'libs ("libkryFoam.so");\napplication'), (r'^functions\s*\{[^}]*\}', ''))
    edit(f'{case}/system/fvSolution', ('tolerance .*', 'tolerance 1e-10;'), ('relTol .*', 'relTol 0;'))
    for program in programs:
        run(case, program)
    return case


def with_kry(case):
    """A copy that solves with kry; of another solver's entries some are left, and are ignored."""
    copy = tempfile.mkdtemp(dir=work)
    shutil.copytree(case, copy, dirs_exist_ok=True)
    edit(f'{copy}/system/fvSolution', (r'solver +(\w+);', lambda found: ENTRIES[found[1]]))
    return copy


def solve(case, program, ranks):
    """What a program prints."""
    if ranks == 1:
        return run(case, program)
    with open(f'{case}/system/decomposeParDict', 'w') as f:
        f.write('FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n'
                f'numberOfSubdomains {ranks}; method simple; simpleCoeffs {{ n ({ranks} 1 1); delta 0.001; }}\n')
    run(case, 'decomposePar', '-force')
    log = run(case, mpirun, '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1', '-n', str(ranks), program, '-parallel')
    run(case, 'reconstructPar', '-latestTime')
    return log


def same(case, program, end, ranks=1):
    """kry's residuals meet the tolerance; the initial ones, and the fields at the end, are those of OpenFOAM's solvers."""
    copy = with_kry(case)
    expected, found = (residuals(solve(folder, program, ranks)) for folder in (case, copy))
    assert len(found) == len(expected) > 0, f'{len(found)} solves in place of {len(expected)}'
    for (solver, field, initial, final), (_, other, wanted, _) in zip(found, expected):
        assert (solver, field) == ('kry', other), (solver, field, other)
        assert final < 1e-10, f'{field} ends with the residual {final}'
        assert abs(initial - wanted) <= 1e-5 * wanted + 1e-9, f'{field} begins with the residual {initial}, not {wanted}'
    wanted = fields(case, end)
    assert len(wanted) >= 2, wanted.keys()
    for name, numbers in fields(copy, end).items():
        largest = max(map(abs, wanted[name]))
        error = max(abs(x - y) for x, y in zip(numbers, wanted[name]))
        assert error <= 1e-6 * largest, f'{name} differs by {error} of {largest}'


def check(what, test, *args):
    global count, failures
    count += 1
    try:
        test(*args)
        print(f'ok {count} - {what}', flush=True)
    except Exception as e:
        failures += 1
        print(f'not ok {count} - {what}', *f'{type(e).__name__}: {e}'.splitlines(), sep='\n# ', flush=True)


def compiles():
    shutil.copytree(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), f'{work}/kryFoam')
    run(work, 'wmake', 'kryFoam')


def refused(case, entries, sentence):
    copy = with_kry(case)
    edit(f'{copy}/system/fvSolution', ('precond amg;', entries))
    done = subprocess.run('icoFoam', cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode and 'FOAM FATAL' in done.stdout and sentence in done.stdout, done.stdout[-1000:]


def iterations(case, entries, wanted):
    """How many iterations the first solve for p takes."""
    copy = with_kry(case)
    edit(f'{copy}/system/controlDict', ('^endTime .*', 'endTime 0.005;'))
    edit(f'{copy}/system/fvSolution', ('tolerance .*\n.*relTol .*', ''), ('precond amg;', entries))
    found = re.search(r'Solving for p, .*No Iterations (\d+)', run(copy, 'icoFoam'))
    assert int(found[1]) == wanted, found[0]


build, mpirun = sys.argv[1:]
if 'WM_PROJECT_DIR' not in os.environ:
    for bashrc in glob.glob('/usr/src/openfoam-*/etc/bashrc'):
        os.execvp('bash', ['bash', '-c', f'. {bashrc}; exec python3 {shlex.join(sys.argv)}'])
if not shutil.which('icoFoam') or not glob.glob(f'{os.environ.get("WM_PROJECT_DIR")}/src/OpenFOAM/lnInclude'):
    print('1..0 # SKIP no OpenFOAM with its sources (docs/other-programs.md)')
    sys.exit(0)
with tempfile.TemporaryDirectory() as work:
    os.environ.update(FOAM_USER_LIBBIN=work, LD_LIBRARY_PATH=f'{work}:{os.environ.get("LD_LIBRARY_PATH", "")}', KRY_DEVICE='host', KRY_THREADS='1',
                      PKG_CONFIG_PATH=f'{build}/meson-uninstalled', OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    check('wmake compiles it', compiles)
    cavity = prepare('incompressible/icoFoam/cavity/cavity', 0.05, 'blockMesh')
    check('cavity', same, cavity, 'icoFoam', 0.05)
    check('cavity on two ranks', same, cavity, 'icoFoam', 0.05, 2)
    check('pitzDaily', same, prepare('incompressible/simpleFoam/pitzDaily', 3, 'blockMesh'), 'simpleFoam', 3)
    turbulence = prepare('DNS/dnsFoam/boxTurb16', 0.1, 'blockMesh', 'boxTurb')
    check('cyclic patches and a singular matrix', same, turbulence, 'dnsFoam', 0.1)
    # Neighbours by two faces, and cells that are their own neighbours; the sides of a patch, and so their coefficients, differ a bit
    edit(f'{turbulence}/system/blockMeshDict', (r'\(16 16 16\)', '(2 1 16)'), (r'\(1 1 1\)\n', '(1 1 1.00001)\n'))
    edit(f'{turbulence}/0/U', (r'^4096\n\(\n((\(.*\n){32})(\(.*\n)*', r'32\n(\n\1'))
    edit(f'{turbulence}/system/fvSolution', ('^    p$', '    "p.*"'), ('nCorrectors', 'pRefCell 0; pRefValue 0; nCorrectors'))
    run(turbulence, 'blockMesh')
    check('narrow cyclic patches', same, turbulence, 'icoFoam', 0.1)
    check('narrow cyclic patches on two ranks', same, turbulence, 'icoFoam', 0.1, 2)
    check('a word that kry does not know', refused, cavity, 'precond ambg;', 'did you mean amg')
    check('a stopping criterion of kry', refused, cavity, 'rtol 1e-8;', "OpenFOAM's tolerance")
    check('maxIter', iterations, cavity, 'tolerance 0; relTol 0; maxIter 3;', 3)
    check('minIter', iterations, cavity, 'tolerance 10; relTol 0; minIter 2;', 2)
print(f'1..{count}')
sys.exit(failures > 0)
