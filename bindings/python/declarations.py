"""declarations.py INCLUDE OUT - what cffi has to know of kry's headers, as a module of Python

INCLUDE: the folders of the headers, with : between them.
"""
import sys
from pathlib import Path

import cffi

sys.path.insert(0, str(Path(__file__).parents[1]))
from headers import declarations  # noqa: E402


def main(include, out):
    ffi = cffi.FFI()
    ffi.cdef('void free(void *);\n' + declarations(include, ['opencl.h', 'eigenvalues.h', 'report.h']))
    ffi.set_source('pykry._declarations', None)
    ffi.emit_python_code(out)


main(*sys.argv[1:])
