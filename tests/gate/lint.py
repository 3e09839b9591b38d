"""lint.py - what no compiler at hand reports about kernels, and some driver or tool gets wrong."""
import pathlib
import re

RULES = [
    (r'\bstatic\b', "'static' is not OpenCL C 1.1"),
    (r'\binline\b', "a bare 'inline' has C99's meaning: at -O0 the function is missing"),
    (r'(?<!read_)(?<!write_)\bmem_fence\b',
     'mem_fence stays within the work-group on NVIDIA: between groups write_mem_fence and '
     'read_mem_fence, within one barrier()'),
    (r'^\s*#\s*include\b(?!\s*"[^"\n]+\.clh?"$)', 'the host puts texts together, by lines #include "FILE"'),
    (r'\.[sS][0-9a-fA-F]{2,}\b', 'Oclgrind crashes on swizzles: name the lanes one by one'),
    (r'\{\s*0\s*\}', "NVIDIA's drivers 340, 390 and 470 refuse { 0 } for structs of vectors or of structs: "
     'write out every member'),
    (r'(?<!R error = )\bfma\b', 'fma is emulated on GT200 and, in double, not fused on Mesa'),
    (r'\b(?:printf|popcount)\b', 'OpenCL C 1.1 lacks it'),
    (r'\b(?:atomic_(?:cmpxchg|add)\w*|atom_\w+)\s*\([^;]*\b(?:ulong|long)\b',
     '64-bit atomics are an extension'),
]
RULES = [(re.compile(rule, re.M), message) for rule, message in RULES]
CONSTANT = re.compile(r'\bconst\s+(?:int|uint|long|size_t)\s+(\w+)\s*=')
FUNCTION = re.compile(r'^(?!kernel\b|typedef\b|#)(\w[\w ]*[\w *]\b(\w+)\([^;{]*\)\n\{.*?^\})', re.M | re.S)
PLACE = re.compile(r'\bget_(?:group_id|num_groups|global_\w+)\b|\bchunk_at\b|\bFOR_(?:EACH|VEC|TAIL)\w*\(|'
                   r'\b(?:GROUP|COLUMN|ITEM)_HERE\b')
DOUBLE = re.compile(r'\bdouble\d*\b')


def without_comments(text):
    """Comments blanked, lines kept."""
    return re.sub(r'//[^\n]*|/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m.group()), text,
                  flags=re.S)


def check(name, text):
    """Complaints about the text of one file."""
    code, complaints = without_comments(text), []
    for rule, message in RULES:
        for found in rule.finditer(code):
            line = code.count('\n', 0, found.start() + len(found.group())
                              - len(found.group().lstrip())) + 1
            complaints.append(f'{name}:{line}: {message}')
    for name_of in CONSTANT.findall(code):
        if re.search(r'^\s*(?:local\s+|private\s+)?\w+\s+\w+\[[^]]*\b%s\b' % name_of, code, re.M):
            complaints.append(f"{name}: an array has the size '{name_of}', a variable: that must be a macro")
    for text_of, function in FUNCTION.findall(code):
        if PLACE.search(text_of) and not re.search(r'\bINLINED\b|\bkernel\b|always_inline|\bbarrier\(', text_of):
            complaints.append(f'{name}: {function}() asks where it is in the launch and is not INLINED: PoCL 7 '
                              'does not run kernels that call it')
    return complaints


def check_pragma(name, text):
    """A whole program: NVIDIA refuses double before the pragma; clang and PoCL do not."""
    code = without_comments(text)
    pragma = re.search(r'#pragma\s+OPENCL\s+EXTENSION\s+cl_khr_fp64\s*:\s*enable', code)
    first = DOUBLE.search(code)
    if first and (not pragma or first.start() < pragma.start()):
        return [f'{name}: double before the pragma that enables it']
    return []


def check_files(folder):
    paths = sorted(pathlib.Path(folder).rglob('*.cl*'))
    return [c for path in paths for c in check(path.name, path.read_text())]
