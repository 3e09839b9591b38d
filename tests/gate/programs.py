"""programs.py - the programs that the library asks compilers for: a file of cl/ and its options.

Nobody writes them down. The library keeps what it has built in its cache, each with the options and
the very text, so the cache of a build in which tests ran says what was asked for; and the layer of
tests/layer keeps what made-up devices are asked for (KRY_LAYER_PROGRAMS). programs.txt is what
these said, of devices that are not CPUs.
"""
import pathlib
import re
import struct
import subprocess

LIST = pathlib.Path(__file__).with_name('programs.txt')
KEPT = 2  # programs that differ in nothing but numbers: so many are listed
# The gate's own choice, except where a file needs OpenCL C 1.2; and what helps only some compilers.
NOT_LISTED = ('-w', '-cl-std=CL1.1', '-cl-opt-disable', '-D__opencl_c_images=1')

HEAD = '''\
# Programs that devices other than CPUs are asked to build: a file of cl/ and its options. Not
# written by hand: 'tools/gate --record' adds what the caches in build*/ and made-up devices know.
'''


class Program:
    """One file with one set of options."""

    def __init__(self, stem, options):
        words = [w for w in options.split() if w not in NOT_LISTED]
        self.stem, self.options = stem, tuple(words)

    def __str__(self):
        return ' '.join((self.stem,) + self.options)

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def kind(self):
        """All but the numbers."""
        return re.sub(r'=-?\d+', '=#', str(self))

    def numbers(self):
        return [int(n) for n in re.findall(r'=(-?\d+)', str(self))]

    def has(self, word):
        return word in self.options


def listed():
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return [Program(*line.partition(' ')[::2]) for line in lines if line and line[0] != '#']


def stems(cl):
    return sorted(path.stem for path in pathlib.Path(cl).rglob('*.cl'))


def sources(program, names):
    """{stem: text} as the library puts it together."""
    out = subprocess.run([program, *names], stdout=subprocess.PIPE, check=True).stdout
    return dict(zip(names, out.decode().split('\0')))


def parts(program, names):
    """{stem: the texts that the library compiles of a file in parts}, none of a file without parts"""
    out = subprocess.run([program, '--parts', *names], stdout=subprocess.PIPE, check=True).stdout.decode()
    texts = iter(out.split('\0'))
    return {name: list(iter(lambda: next(texts), '')) for name in names}


def read_cached(path):
    """Options and text of a compiled program (src/device/program_disk.c), or None."""
    data = path.read_bytes()
    if len(data) < 32 or data[:7] != b'krybin1':
        return None
    size, = struct.unpack('<Q', data[8:16])
    key = data[32:32 + size].decode(errors='replace').split('\n', 8)
    return (key[7], key[8]) if len(key) == 9 else None


def read_kept(path):
    """Options and text of a program that the layer kept; the layer's own macros in front end with a #line."""
    options, _, text = path.read_text(errors='replace').partition('\n')
    return options, text.partition('#line 1\n')[2] or text


def asked(folders, texts, parts_of):
    """Programs in caches that are of today's texts and not for CPUs."""
    stem_of = {text: stem for stem, whole in texts.items() for text in [whole, *parts_of[stem]]}
    found = set()
    for folder in folders:
        folder = pathlib.Path(folder)
        for cached in [*map(read_cached, folder.glob('**/*.bin')), *map(read_kept, folder.glob('**/*.program'))]:
            if not cached or cached[1] not in stem_of:
                continue
            program = Program(stem_of[cached[1]], cached[0])
            if not program.has('-DKRY_CPU'):
                found.add(program)
    return found


def few_of(programs):
    """Of those that differ in numbers only: the first, the last and some between."""
    kinds = {}
    for program in set(programs):
        kinds.setdefault(program.kind(), []).append(program)
    few = []
    for same in kinds.values():
        same.sort(key=Program.numbers)
        last = len(same) - 1
        few += {same[last * i // (KEPT - 1)] for i in range(KEPT)} if last >= KEPT else same
    return sorted(few, key=lambda p: (p.kind(), p.numbers()))


def record(programs):
    LIST.write_text(HEAD + ''.join(f'{p}\n' for p in programs))
