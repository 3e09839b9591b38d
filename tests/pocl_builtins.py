"""pocl_builtins.py OUTPUT KERNELS... | --try - PoCL's header of built-in functions, without those that no kernel calls.

PoCL parses the 18,000 lines of clang's opencl-c.h twice for each program, which is half of the time that it takes to
compile one. OUTPUT has the same declarations of the functions that occur in the files KERNELS, a fifth, and the guard
that makes clang skip the header itself. --try: exit with 0 if the PoCL that is installed takes it so. It takes
-include among the words of POCL_EXTRA_BUILD_FLAGS only behind a tab, where it sees one word and clang two.
"""
import ctypes
import os
import pathlib
import re
import sys
import tempfile

FOLDER = pathlib.Path('/usr/share/pocl/include')
BEFORE = 'pocl_types.h', '_builtin_renames.h', 'opencl-c-base.h'  # in the order in which PoCL includes them


def called(text):
    """The identifiers of kernels, without digits at the end: REALV pastes vload and a width."""
    return {re.sub(r'\d+$', '', word) for word in re.findall(r'[A-Za-z_]\w*', text)}


def statements(text):
    """The lines of a header that are directives, and its declarations, each one string."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', '', text, flags=re.S)
    text = re.sub(r'\\\s*\n', ' ', text)
    declaration = ''
    for line in map(str.strip, text.splitlines()):
        if line.startswith('#'):
            yield line
        elif line:
            declaration += line + ' '
            if line.endswith(';'):
                yield declaration
                declaration = ''


def wanted(statement, words):
    if statement.startswith('#'):
        return not statement.startswith('#include')
    function = re.search(r'(\w+?)\d*\s*\(', re.sub(r'__attribute__\(\(.*?\)\)', '', statement))
    return not function or function[1] in words or re.fullmatch('convert_[a-z]+', function[1])


def header(words):
    lines = [f'#include "{FOLDER / name}"' for name in BEFORE]
    lines += [s for s in statements((FOLDER / 'opencl-c.h').read_text()) if wanted(s, words)]
    return '\n'.join(lines) + '\n'


def builds(kernel):
    """Whether PoCL builds this kernel, as OpenCL C 1.1 and 1.2."""
    cl = ctypes.CDLL('libOpenCL.so.1')
    cl.clCreateContext.restype = cl.clCreateProgramWithSource.restype = ctypes.c_void_p
    platforms, device = (ctypes.c_void_p * 16)(), ctypes.c_void_p()
    count, name = ctypes.c_uint(), ctypes.create_string_buffer(200)
    cl.clGetPlatformIDs(16, platforms, ctypes.byref(count))
    for platform in map(ctypes.c_void_p, platforms[:count.value]):
        cl.clGetPlatformInfo(platform, 0x0902, 200, name, None)  # CL_PLATFORM_NAME
        if name.value == b'Portable Computing Language':
            cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
    if not device:
        return False
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
    text = ctypes.c_char_p(kernel.encode())
    program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))
    return all(cl.clBuildProgram(program, 1, ctypes.byref(device), options, None, None) == 0
               for options in (b'-cl-std=CL1.1', b'-cl-std=CL1.2'))


def works():
    kernel = 'kernel void f(global float *x) { vstore4(fma(sqrt(vload4(1, x)), 2.0f, vload4(2, x)), 0, x); }'
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'builtins.h'
        path.write_text(header(called(kernel)))
        os.environ.pop('OPENCL_LAYERS', None)
        os.environ['POCL_CACHE_DIR'] = folder
        os.environ['POCL_EXTRA_BUILD_FLAGS'] = f'-DKRY_TESTING\t-include\t{path}'
        return builds(kernel)


if __name__ == '__main__':
    if sys.argv[1] == '--try':
        try:
            sys.exit(not works())
        except OSError:  # no OpenCL, or no such headers
            sys.exit(1)
    output, *kernels = map(pathlib.Path, sys.argv[1:])
    output.write_text(header(called('\n'.join(k.read_text() for k in kernels))))
