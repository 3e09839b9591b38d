"""ptx.py - a program through clang to PTX, and what PTX says of its kernels.

The front end runs for OpenCL C 1.1 and 1.2; what both made is nearly always the same, and then goes
through the back end of each target once. Builtins come from libclc; of images it has none, so those
stay calls.
"""
import pathlib
import re
import subprocess

CLANG = 'clang-15'
LIBCLC = pathlib.Path('/usr/lib/clc/nvptx64--nvidiacl.bc')
TARGETS = ('sm_20', 'sm_30', 'sm_35', 'sm_70')  # Fermi, Kepler twice, Volta
TRIPLE = 'nvptx64-nvidia-cuda'

# Not asked of kernels: that every helper and every part of a macro is used, and what NVIDIA's
# front ends have no opinion about.
WARNINGS = ('-Wall', '-Wextra', '-Werror', '-Wvla', '-Wgnu-folding-constant', '-Wno-linker-warnings',
            '-Wno-unused-function', '-Wno-unused-parameter', '-Wno-unused-variable',
            '-Wno-unused-but-set-variable', '-Wno-unused-value', '-Wno-sign-compare',
            '-Wno-unused-but-set-parameter', '-Wno-missing-field-initializers',
            '-Wno-sometimes-uninitialized', '-Wno-pass-failed')
IMAGES = re.compile(r'(?:read|write)_image|get_image|__translate_sampler')


class Refused(Exception):
    """The first words of a compiler."""


def run(command, text):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if 'error' in line]
        raise Refused((lines or done.stderr.splitlines() or ['no word'])[0])
    return done.stdout


def front_end(text, options, standard):
    """LLVM's text, of no target; the version of OpenCL is left out so that it can be compared."""
    command = [CLANG, '-x', 'cl', f'-cl-std={standard}', '-target', TRIPLE, '-Xclang', '-target-cpu',
               '-Xclang', TARGETS[0], *WARNINGS]
    if '-DKRY_FP64' not in options:
        command += ['-Xclang', '-cl-ext=-cl_khr_fp64']
    if standard != 'CL1.1':  # where a device has it, the kernels that need it are 1.2 anyway
        command += ['-Xclang', '-cl-ext=+cl_khr_3d_image_writes']
    ir = run(command + [*options, '-Xclang', '-mlink-builtin-bitcode', '-Xclang', str(LIBCLC), '-O2',
                        '-S', '-emit-llvm', '-o', '-', '-'], text)
    ir = re.sub(r' "target-(?:cpu|features)"="[^"]*"', '', ir)
    ir = re.sub(r'^!opencl\.ocl\.version = .*\n', '', ir, flags=re.M)
    return without_unused(re.sub(r'^!\d+ = !\{i32 1, i32 [12]\}\n', '', ir, flags=re.M))


def without_unused(ir):
    """Helpers are visible outside, so that the compiler keeps even those that it has inlined."""
    known = {m.group(1): m.group() for m in
             re.finditer(r'^define [^\n]*?@([\w.$]+)\([^\n]*\{\n.*?^\}\n', ir, flags=re.M | re.S)}
    used = set(re.findall(r'ptr @([\w.$]+), !"kernel"', ir))
    left = list(used)
    while left:
        called = set(re.findall(r'@([\w.$]+)', known[left.pop()])) & known.keys()
        left += called - used
        used |= called
    for name in known.keys() - used:
        ir = ir.replace(known[name], '')
    return ir


def back_end(ir, target):
    ptx = run([CLANG, '-cc1', '-triple', TRIPLE, '-target-cpu', target, '-S', '-O2',
               '-disable-llvm-passes', '-x', 'ir', '-o', '-', '-'], ir)
    for name in re.findall(r'^\.extern \.func (?: \([^)]*\) )?(\w+)', ptx, flags=re.M):
        if not IMAGES.search(name):
            raise Refused(f'calls {name}, which is no function of OpenCL C')
    return ptx


def check_arguments(ptx):
    """GT200 passes 256 bytes of arguments to a kernel, a buffer being 4 of them."""
    for name, parameters in re.findall(r'\.entry (\w+)\((.*?)\)', ptx, flags=re.S):
        used = 0
        for parameter in filter(str.strip, parameters.split(',')):
            size = 4 if '.ptr' in parameter else int(re.search(r'\.[bufs](\d+)\s+\w+', parameter).group(1)) // 8
            used = (used + size - 1) // size * size + size
        if used > 256:
            raise Refused(f'{name} takes {used} bytes of arguments, GT200 has 256')


def compile_program(program, text, all_targets=True):
    """PTX for the oldest target. Raises Refused with the standard and the target in front."""
    needs_12 = program.has('-cl-std=CL1.2')
    options = [o for o in program.options if not o.startswith('-cl-std')]
    irs, first = {}, None
    for standard in ('CL1.2',) if needs_12 else ('CL1.1', 'CL1.2') if all_targets else ('CL1.1',):
        try:
            irs.setdefault(front_end(text, options, standard), standard)
        except Refused as refused:
            raise Refused(f'{standard}: {refused}') from None
    for ir, standard in irs.items():
        for target in TARGETS if all_targets else TARGETS[:1]:
            try:
                ptx = back_end(ir, target)
            except Refused as refused:
                raise Refused(f'{standard} {target}: {refused}') from None
            first = first or ptx
    check_arguments(first)
    return first


# ---- facts -----------------------------------------------------------------------------------


def functions(ptx):
    """{name: (whether it is a kernel, its text)}"""
    found = {}
    for match in re.finditer(r'^(?:\.visible )?(?:\.weak )?\.(entry|func)\s(?:\s*\([^)]*\) )?(\w+)\(.*?^\}',
                             ptx, flags=re.M | re.S):
        found[match.group(2)] = match.group(1) == 'entry', match.group()
    return found


def with_callees(name, known, seen):
    """The texts of a function and of all that it calls."""
    seen.add(name)
    text = known[name][1]
    for callee in re.findall(r'^\s*(\w+),?\s*$', text, flags=re.M):
        if callee in known and callee not in seen:
            text += with_callees(callee, known, seen)
    return text


def facts(ptx):
    """{kernel: (bytes of local memory, barriers, whether doubles occur)}

    A barrier in a loop that the compiler unrolls counts as often as it stands there then.
    """
    known, sizes, found = functions(ptx), {}, {}
    for name, size in re.findall(r'\.shared\s+\.align \d+ \.b8 ([\w$]+)\[(\d+)\]', ptx):
        sizes[name] = int(size)
    for name, size in re.findall(r'\.shared\s+\.align \d+ \.[a-z](\d+) ([\w$]+);', ptx):
        sizes[size] = int(name) // 8
    for name, (kernel, _) in known.items():
        if not kernel:
            continue
        text = with_callees(name, known, set())
        words = set(re.findall(r'[\w$]+', text))
        found[name] = (sum(size for var, size in sizes.items() if var in words),
                       text.count('bar.sync'), bool(re.search(r'\.f64\b', text)))
    return found
