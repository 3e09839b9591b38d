"""compile.py OPTIONS STEM PROGRAM... - the kernels of the device host, compiled when kry is built

A program is a file STEM.cl with defines, as in "fd: FLUX VAL=*", once for numbers in double (d) and once in single (f). Of "VAL=*" the
number is known when the program is asked for, KRY_LATE in the header opencl_c.clh, which has what OpenCL C has and clang has not.
The first file of --out gets the machine code, the second one, in C, a table of kernels, kryi_compiled of src/host/compiled.h.
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

FLAGS = ['-x', 'cl', '-cl-std=CL1.2', '-Xclang', '-cl-ext=+cl_khr_fp64', '-Xclang', '-fno-builtin', '-O3', '-w', '-fPIC', '-fvisibility=hidden']
# Under AddressSanitizer: a check is a call, so that kernels compile in half of the time.
ADDRESSES = ['-fsanitize=address', '-O1', '-mllvm', '-asan-instrumentation-with-call-threshold=0']
DEFINES = ['-DKRY_CPU', '-DKRY_FP64', '-DWG=1', '-DVW=8']
SIZES = {'void *': 'p', 'int': '4', 'uint': '4', 'float': '4', 'long': '8', 'ulong': '8', 'double': '8'}
KERNEL = re.compile(r'\bKRY_KERNEL\s+(?:__attribute__\s*\(\(.*?\)\)\)?\s*)?void\s+(\w+)\s*\(([^)]*)\)')


def late(defines):
    """The defines as clang gets them first: the k-th number that is known late is a name that `#if` takes for 0."""
    numbers = iter(range(len(defines)))
    return [f'-D{d.partition("=")[0]}=kryi_late_{next(numbers)}_' if '=*' in d else f'-D{d}' for d in defines]


def parameters(text):
    """The types of a kernel's parameters, a pointer of any type as "void *"."""
    for p in text.split(','):
        words = re.sub(r'\b(const|restrict|volatile)\b', ' ', p)
        yield 'void *' if '*' in words else ' '.join(words.split()[:-1])


def caller(symbol, name, types):
    """A function that takes the arguments of a kernel from an array."""
    values = ', '.join(f'*({t} *)a[{i}].value' for i, t in enumerate(types))
    return f'void {symbol}(const kry_arg *a) {{ {name}({values}); }}\n'


def digest(*parts):
    return hashlib.sha256(b'\0'.join(parts)).hexdigest()


class Compiler:
    def __init__(self, given):
        self.given = given
        self.level = re.sub(r'\W', '_', given.processor)
        self.command = [given.clang, *FLAGS, *([f'--target={given.machine}'] if given.machine else []), f'-march={given.processor}',
                        *(ADDRESSES if given.addresses else [])]
        self.path = next(pathlib.Path(given.kernels).rglob(f'{given.stem}.cl'))
        self.cache = pathlib.Path(os.environ.get('KRY_HOST_CACHE', given.cache))
        self.asked = digest(pathlib.Path(__file__).read_bytes(), repr([self.command, given.stem, given.programs]).encode())
        self.rows, self.declared, self.objects, self.needs = [], [], [], set()
        self.bases = {}  # by the text of a program: what its names begin with; programs of one text share machine code

    def tool(self, name):
        """One of the binutils, for the machine that code is made for."""
        return f'{self.given.machine}-{name}' if self.given.machine else name

    def plain(self, real, defines, folder):
        """The text of a program without directives; notes the files that it is made of."""
        needs = folder / 'needs'
        text = subprocess.run([*self.command, *DEFINES, '-include', self.given.header, f'-I{self.given.kernels}', f'-DREAL={real}',
                               *late(defines), '-MD', '-MF', needs, '-MT', 'x', '-E', '-P', self.path],
                              check=True, capture_output=True, text=True).stdout
        text = re.sub(r'kryi_late_(\d+)_', r'KRY_LATE(\1)', text)
        self.needs.update(needs.read_text().replace('\\\n', ' ').split()[1:])
        return text

    def machine_code(self, text, base, out):
        """Compile a text, unless that was done for other files with it. Names that do not begin with `base` are its own."""
        name = digest('\n'.join([*self.command, text]).encode())
        kept = self.cache / f'{name}.o'
        self.objects.append(kept)
        if kept.exists():
            return
        source = out.with_suffix('.cl')
        source.write_text(text.replace('__attribute__((reqd_work_group_size(1, 1, 1)))', ''), encoding='ascii')
        subprocess.run([*self.command, '-DKRY_KERNEL=', '-DKRY_LATE(k)=(kryi_host_here()->late[k])', '-c', source, '-o', out], check=True)
        subprocess.run([self.tool('objcopy'), '--wildcard', f'--keep-global-symbol={base}_*', out], check=True)
        self.store(kept, out.read_bytes())

    def program(self, number, real, defines, folder):
        text = self.plain(real, defines, folder)
        is_new = text not in self.bases
        base = self.bases.setdefault(text, f'kryi_{self.level}_{self.given.stem}_{number}')
        code = text
        for name, given in KERNEL.findall(text):
            types = list(parameters(given))
            self.rows.append(f'{{ "{self.given.stem}", "{" ".join([f"REAL={real}", *defines])}", "{name}", '
                             f'"{"".join(SIZES[t] for t in types)}", {base}_{name} }},\n')
            if is_new:
                code += caller(f'{base}_{name}', name, types)
                self.declared.append(f'extern void {base}_{name}(const kry_arg *a);\n')
        if is_new:
            self.machine_code(code, base, folder / f'{number}.o')

    def finish(self):
        target, table = self.given.out
        subprocess.run([self.tool('ld'), '-r', '-o', target, *self.objects], check=True)
        pathlib.Path(table).write_text(
            '#include "host/compiled.h"\n' + ''.join(self.declared)
            + f'extern const kryi_compiled kryi_host_{self.level}_{self.given.stem}[];\n'
            + f'const kryi_compiled kryi_host_{self.level}_{self.given.stem}[] = {{\n' + ''.join(self.rows)
            + '{ NULL, NULL, NULL, NULL, NULL } };\n', encoding='ascii')
        self.keep()

    # What is made of files with the same texts is kept for other builds. A list of these files has a name made of the arguments and
    # of this program, and those of the tree in it are named by their paths from cl/; the name of what was made comes from the texts.

    def kept(self, needs):
        """The names of what was made of these files."""
        name = digest(self.asked.encode(), *[(pathlib.Path(self.given.kernels) / n).read_bytes() for n in needs])
        return self.cache / f'{name}.o', self.cache / f'{name}.c'

    def is_kept(self):
        """Take what another build has made, if there is that."""
        try:
            needs = (self.cache / f'{self.asked}.needs').read_text().splitlines()
            for kept, out in zip(self.kept(needs), self.given.out):
                shutil.copyfile(kept, out)
        except FileNotFoundError:
            return False
        self.needs = {os.path.normpath(pathlib.Path(self.given.kernels) / n) for n in needs}
        return True

    def keep(self):
        tree = os.path.dirname(self.given.kernels)
        paths = sorted(os.path.abspath(n) for n in self.needs)
        needs = [os.path.relpath(n, self.given.kernels) if n.startswith(f'{tree}/') else n for n in paths]
        files = [pathlib.Path(out).read_bytes() for out in self.given.out] + ['\n'.join(needs).encode()]
        for name, content in zip([*self.kept(needs), self.cache / f'{self.asked}.needs'], files):
            self.store(name, content)

    def store(self, name, content):
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.cache, delete=False) as whole:
            whole.write(content)
        pathlib.Path(whole.name).rename(name)

    def write_needs(self):
        target, table = self.given.out
        pathlib.Path(self.given.depfile).write_text(f'{target} {table}: {" ".join(sorted(self.needs))}\n')


def main():
    parser = argparse.ArgumentParser()
    for option in '--clang', '--processor', '--kernels', '--header', '--cache', '--depfile':
        parser.add_argument(option, required=True)
    parser.add_argument('--out', nargs=2, required=True)
    parser.add_argument('--machine', help='another one than this: the triple of its compiler')
    parser.add_argument('--addresses', action='store_true')
    parser.add_argument('stem')
    parser.add_argument('programs', nargs='+')
    compiler = Compiler(parser.parse_args())
    if not compiler.is_kept():
        with tempfile.TemporaryDirectory() as name:
            number = 0
            for line in compiler.given.programs:
                types, _, defines = line.partition(':')
                for t in types:
                    compiler.program(number, {'d': 'double', 'f': 'float'}[t], defines.split(), pathlib.Path(name))
                    number += 1
            compiler.finish()
    compiler.write_needs()


main()
