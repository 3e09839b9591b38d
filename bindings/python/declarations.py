"""declarations.py INCLUDE OUT - what cffi has to know of kry's headers, as a module of Python

The preprocessor's output of <kry/kry.h>, without what other headers declare, and the functions of <kry/report.h> and of
<kry/opencl.h>, whose OpenCL handles are plain pointers here. INCLUDE: folders, with : between them.
"""
import re
import subprocess
import sys

import cffi

HANDLES = 'void free(void *);\n' + ''.join(f'typedef struct _{name} *{name};\n' for name in (
    'cl_context', 'cl_device_id', 'cl_command_queue', 'cl_mem', 'cl_kernel', 'cl_event'))


def own_lines(include):
    """The lines that stand in kry's own headers, in their order."""
    text = subprocess.run(['cc', '-E', '-std=c11', *('-I' + folder for folder in include.split(':')), '-x', 'c', '-'],
                          input='#include <kry/opencl.h>\n#include <kry/report.h>\n',
                          capture_output=True, text=True, check=True).stdout
    own = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = '/kry/' in marker.group(1)
        elif own:
            yield line


def declarations(include):
    text = '\n'.join(own_lines(include))
    text = re.sub(r'static inline [^;{]*\{[^{}]*\}', '', text)  # they call what the library has, with a size
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    text = re.sub(r'\b_Bool\b', 'bool', text)
    text = re.sub(r'\b1u << (\d+)', lambda shift: str(1 << int(shift.group(1))), text)
    return HANDLES + text


def main(include, out):
    ffi = cffi.FFI()
    ffi.cdef(declarations(include))
    ffi.set_source('pykry._declarations', None)
    ffi.emit_python_code(out)


main(*sys.argv[1:])
