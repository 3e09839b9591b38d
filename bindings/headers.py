"""headers.py - what kry's headers declare, as C without comments, directives and attributes: what bindings are made from."""
import re
import subprocess

# OpenCL's handles are plain pointers in the other languages.
HANDLES = ('cl_context', 'cl_device_id', 'cl_command_queue', 'cl_mem', 'cl_kernel', 'cl_event')


def own_lines(include, headers):
    """The lines that stand in kry's own headers, in their order."""
    text = subprocess.run(['cc', '-E', '-std=c11', *('-I' + folder for folder in include.split(':')), '-x', 'c', '-'],
                          input=''.join(f'#include <kry/{header}>\n' for header in headers),
                          capture_output=True, text=True, check=True).stdout
    own = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = '/kry/' in marker.group(1)
        elif own:
            yield line


def declarations(include, headers):
    """What `headers` and those that they include declare. include: folders, with : between them."""
    text = '\n'.join(own_lines(include, headers))
    text = re.sub(r'static inline [^;{]*\{[^{}]*\}', '', text)  # they call what the library has, with a size
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    text = re.sub(r'\b_Bool\b', 'bool', text)
    text = re.sub(r'\b1u << (\d+)', lambda shift: str(1 << int(shift.group(1))), text)
    return ''.join(f'typedef struct _{name} *{name};\n' for name in HANDLES) + text
