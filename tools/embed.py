"""embed.py OUT FOLDER FILE... - files of kernels as C strings: `kry_kernel_files` of src/device/program.h

Each is known by its name below FOLDER, such as "vec.cl" or "papers/wang.cl".
"""
import pathlib
import re
import sys


def literal(text):
    """The text as C string literals, a line each."""
    quoted = re.sub(r'["\\]', r'\\\g<0>', text).replace('\t', '\\t').replace('?', '\\?')  # no trigraphs
    return '\n'.join(f'"{line}\\n"' for line in quoted.removesuffix('\n').split('\n'))


def main(out, folder, *files):
    names = {pathlib.Path(f).resolve().relative_to(pathlib.Path(folder).resolve()).as_posix(): f for f in files}
    rows = [f'{{ "{name}",\n{literal(pathlib.Path(f).read_text(encoding="ascii"))}\n}},'
            for name, f in sorted(names.items())]
    pathlib.Path(out).write_text('#include "device/program.h"\nconst kry_kernel_file kry_kernel_files[] = {\n'
                                 + '\n'.join(rows) + '\n{ NULL, NULL } };\n', encoding='ascii')


main(*sys.argv[1:])
