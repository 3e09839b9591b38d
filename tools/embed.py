"""embed.py OUT FOLDER FILE... - files of kernels as C strings: `kryi_kernel_files` of src/device/program.h

Each is known by its path below FOLDER, such as "vector/vec.cl". The library asks for programs by stems ("vec"), so
that no two files of kernels may share one. Every file stands in a folder, and includes files by such paths.
"""
import pathlib
import re
import sys


def literal(text):
    """The text as C string literals, a line each."""
    quoted = re.sub(r'["\\]', r'\\\g<0>', text).replace('\t', '\\t').replace('?', '\\?')  # no trigraphs
    return '\n'.join(f'"{line}\\n"' for line in quoted.removesuffix('\n').split('\n'))


def check(names):
    """Refuse what the library would not find when it runs."""
    homes = {}
    for name, path in names.items():
        if '/' not in name:
            sys.exit(f'{path}: kernel files stand in folders of cl/')
        if name.endswith('.cl'):
            other = homes.setdefault(pathlib.Path(name).stem, name)
            if other != name:
                sys.exit(f'{name} and {other} share their stem')
        for included in re.findall(r'^#include "(.*)"', pathlib.Path(path).read_text(encoding='ascii'), re.M):
            if included not in names:
                sys.exit(f'{path}: there is no "{included}"')


def main(out, folder, *files):
    names = {pathlib.Path(f).resolve().relative_to(pathlib.Path(folder).resolve()).as_posix(): f for f in files}
    check(names)
    rows = [f'{{ "{name}",\n{literal(pathlib.Path(f).read_text(encoding="ascii"))}\n}},'
            for name, f in sorted(names.items())]
    pathlib.Path(out).write_text('#include "device/program.h"\nconst kryi_kernel_file kryi_kernel_files[] = {\n'
                                 + '\n'.join(rows) + '\n{ NULL, NULL } };\n', encoding='ascii')


main(*sys.argv[1:])
