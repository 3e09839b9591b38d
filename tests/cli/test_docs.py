"""test_docs.py SOURCE KRY LIBDIR - the commands, programs and words of the documents work.

  SOURCE   the source tree
  KRY      the program
  LIBDIR   the folder of the build, with libkry.so, lib/*/libkry-*.so and meson-uninstalled/

Of every page: lines of code blocks that begin with `kry` or `cc` are run in a folder of the page's own,
which has a matrix A.mtx and a right-hand side b.mtx; programs in C are compiled and run; other pieces of C
are compiled inside a frame of declarations; options and their words are looked up in the program's help.
Comments in front of a block say what cannot be seen in it:

  <!-- not run: REASON -->         also "not compiled"
  <!-- long -->                    run with KRY_FULL only
  <!-- ends with 1 -->             the exit status of its last command
  <!-- with: double *numbers; -->  declarations that a piece of C needs besides those of the frame
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, KRY, LIBDIR = (Path(argument).resolve() for argument in sys.argv[1:4])
CC = ['cc', '-std=c11', '-O0', '-Wall', '-Wextra', '-Werror', '-Wno-unused', '-Wno-unused-result',
      '-DCL_TARGET_OPENCL_VERSION=120']
OURS = ('kry', 'cc')
OTHERS = ('./', 'tools/', 'meson', 'apt', 'sudo', 'dnf', 'pacman', 'brew', 'git', 'export', 'CC=', 'pkg-config',
          'octave', 'clinfo', 'ninja', 'cmake', 'rm', 'build/', 'OPENCL_', 'KRY_', 'FUZZ_', 'ldconfig')
FRAME = '''\
#include <kry/kry.h>
#include <kry/opencl.h>
#include <kry/eigenvalues.h>
#include <kry/problem.h>
#include <kry/queue.h>
#include <kry/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
'''
DECLARATIONS = '''\
kry_device *device = 0, *dev = 0; kry_op *A = 0, *M = 0, *D = 0, *S = 0, *solver = 0, *lu = 0;
kry_vec *b = 0, *x = 0, *X = 0, *B = 0; kry_result result = { 0 }; kry_status st = 0;
kry_vec *lower = 0, *diagonal = 0, *upper = 0;
int64_t n = 0, *row_ptr = 0; int32_t *col = 0; double *val = 0; kry_report *report = 0; kry_eigen_result found;
'''
LIMIT = 120  # seconds for a command
failures = []
checks = 0


def check(good, page, line, sentence):
    global checks
    checks += 1
    if not good:
        failures.append(f'FAILED: {page}:{line}: {sentence}')


class Block:
    """A code block: its lines, the number of the first one, and what the comment in front of it says."""

    def __init__(self, line, language, notes):
        self.line, self.language, self.notes, self.lines = line, language, notes, []

    def note(self, name):
        return next((note[len(name):].strip() for note in self.notes if note.startswith(name)), None)

    @property
    def skipped(self):
        return any(self.note(name) is not None for name in ('not run:', 'not compiled:')) or \
            self.note('long') is not None and 'KRY_FULL' not in os.environ

    @property
    def text(self):
        return '\n'.join(self.lines) + '\n'

    @property
    def is_c(self):
        return self.language == 'c' or self.language is None and not self.commands() and any(
            re.search(r'\bkry_\w+ ?\(|\bKRY_[A-Z]+\(', line) for line in self.lines)

    def commands(self):
        """(line number, command) of each command line; in samples of a session those behind '$ '."""
        found, session = [], any(line.startswith('$ ') for line in self.lines)
        if self.language not in (None, 'sh'):
            return []
        joined, start = '', None
        for number, line in enumerate(self.lines, self.line):
            if joined:
                joined += ' ' + line.strip()
            elif session and not line.startswith('$ '):
                continue
            else:
                joined, start = line.removeprefix('$ '), number
            if joined.endswith('\\'):
                joined = joined[:-1].rstrip()
                continue
            word = joined.split(' ')[0]
            in_shell = session or self.language == 'sh' and word[:1] not in ('', '#')
            if in_shell or word in OURS or word.startswith(OTHERS):
                found.append((start, joined))
            joined = ''
        return found


def blocks_of(path):
    blocks, notes, fence, block, blank = [], [], False, None, True
    for number, line in enumerate(path.read_text().split('\n'), 1):
        opening = re.match(r'```(\w*)$', line)
        comment = re.match(r'<!-- (.*) -->$', line)
        if fence:
            if line == '```':
                fence, block = False, None
            else:
                block.lines.append(line)
        elif opening:
            block = Block(number + 1, opening.group(1) or 'text', notes)
            blocks.append(block)
            fence, notes = True, []
        elif line.startswith('    ') and (blank or block):
            if not block:
                block = Block(number, None, notes)
                blocks.append(block)
                notes = []
            block.lines.append(line[4:])
        elif line == '' and block:
            block.lines.append('')
        else:
            block = None
            if comment:
                notes = notes + [comment.group(1)]
            elif line:
                notes = []
        blank = line == ''
    return blocks


# ---- commands ------------------------------------------------------------------------------------------


def environment(folder):
    env = dict(os.environ, HOME=str(folder), KRY_CACHE_DIR='', KRY_CL_PATH=str(SOURCE / 'cl'),
               LD_LIBRARY_PATH=f'{LIBDIR}:{LIBDIR}/lib', PKG_CONFIG_PATH=str(LIBDIR / 'meson-uninstalled'),
               PATH=f'{folder}/bin:' + os.environ['PATH'])
    if 'KRY_FULL' not in env:
        env.setdefault('POCL_EXTRA_BUILD_FLAGS', '-cl-opt-disable')
    env.pop('KRY_PROFILE', None)
    return env


def run(command, folder):
    try:
        return subprocess.run(command, shell=isinstance(command, str), cwd=folder, env=environment(folder.parent),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, '', f'took more than {LIMIT} s')


def iterations(text):
    return [int(count) for count in re.findall(r'\b(\d+) iterations', text.replace(',', ''))]


def run_block(page, block, folder, programs):
    status = int(block.note('ends with') or 0)
    commands, output = block.commands(), ''
    for line, command in commands:
        command = command.replace('build/tools/kry/kry', 'kry')
        word = command.split(' ')[0]
        if word not in OURS and not word.startswith('./'):
            check(False, page, line, f"'{command}' is not run; say why in a comment in front of the block")
            continue
        missing = next((name for name in re.findall(r'\S+\.c\b', command) if not (folder / name).exists()), None)
        if word == 'cc' and missing and programs:
            (folder / missing).write_text(programs[-1])
        done = run(command, folder)
        if '--device host' in command and 'built without them (host_kernels)' in done.stderr:
            continue
        wanted = status if (line, command) == commands[-1] else 0
        check(done.returncode == wanted, page, line,
              f"'{command}' ends with {done.returncode}, not {wanted}: {done.stderr[-400:]}{done.stdout[-200:]}")
        output += done.stdout
    sample = [line for line in block.lines if block.lines[0].startswith('$ ') and not line.startswith('$ ')]
    seen = iterations(output)
    for count in iterations('\n'.join(sample)):
        check(any(abs(count - other) <= 2 + count // 50 for other in seen), page, block.line,
              f'{count} iterations in the sample, {seen} in this run')


# ---- pieces of C ---------------------------------------------------------------------------------------


def compile_pieces(page, blocks, folder):
    """All pieces of a page in one file, each in a function of its own; functions stay functions."""
    text = [FRAME]
    for i, block in enumerate(blocks):
        lines = [(number, re.sub(r'^\s*\.\.\.$', '', line)) for number, line in enumerate(block.lines, block.line)]
        inside, outside, function = [], [], False
        for number, line in lines:
            function = function or line.startswith('static ')
            (outside if function else inside).append((number, line))
            function = function and line not in ('}', '};')
        for number, line in outside:
            text.append(f'#line {number} "{page}"\n{line}')
        text.append(f'void piece_{i}(void)\n{{\n{DECLARATIONS}{{ {block.note("with:") or ""}')
        text += [f'#line {number} "{page}"\n{line}' for number, line in inside]
        text.append('}\n}')
    file = folder / 'pieces.c'
    file.write_text('\n'.join(text) + '\n')
    done = run(CC + ['-Wno-uninitialized', '-Wno-maybe-uninitialized', '-Wno-missing-field-initializers',
                     '-fsyntax-only', str(file)] + flags(folder), folder)
    check(done.returncode == 0, page, blocks[0].line, 'a piece of C does not compile:\n' + done.stderr[:2000])


def flags(folder):
    return run(['pkg-config', '--cflags', '--libs', 'kry-eigenvalues', 'kry-gallery', 'kry-queue', 'kry-report'], folder).stdout.split()


def run_program(page, block, folder):
    (folder / 'program.c').write_text(block.text)
    done = run(CC + ['program.c', '-o', 'program'] + flags(folder) + ['-lm'], folder)
    check(done.returncode == 0, page, block.line, 'the program does not compile:\n' + done.stderr[:2000])
    if done.returncode == 0:
        done = run(['./program'], folder)
        check(done.returncode == 0, page, block.line, f'the program ends with {done.returncode}: {done.stderr[-400:]}')


# ---- words ---------------------------------------------------------------------------------------------

# Options of tools, not of the program.
NOT_OURS = {'gpl', 'record', 'mca', 'oversubscribe', 'ci', 'full', 'threads', 'valgrind', 'check', 'suite', 'setup', 'prefix', 'version', 'options', 'name',
            'libdir', 'icd', 'cflags', 'libs', 'eval', 'user', 'buildtype'}


def vocabulary(folder):
    """The options of all commands, and of each word of kry_solver_create the words that may follow it."""
    texts = [run(['kry', 'help', name], folder).stdout
             for name in ('solve', 'eigen', 'info', 'generate', 'devices', 'bench', 'reproduce', 'tune', 'kernels')]
    options = set(re.findall(r'^  (?:-\w, )?--([a-z-]+)', '\n'.join(texts), re.M))
    words = {name: set(choices.split('|'))
             for name, choices in re.findall(r'^  --([a-z-]+) ([a-z0-9-]+(?:\|[a-z0-9-]+)+)$', texts[0], re.M)}
    words |= {name: set(choices.split('|'))
              for name, choices in re.findall(r'^  --([a-z-]+) ([a-z0-9-]+(?:\|[a-z0-9-]+)+)  ', texts[0], re.M)}
    for title, name in (('Preconditioners', 'precond'), ('Deflation', 'deflation')):
        part = re.search(rf'^{title}.*?:\n(.*?)\n\n', texts[0], re.M | re.S).group(1)
        words[name] = set(re.findall(r'^  ([a-z][a-z0-9-]*)', part, re.M)) | {'none'}
        words |= {setting: set(choices.split('|')) for setting, choices in re.findall(r'^  ([a-z]+)=(\S+)', part, re.M)}
    formats = (SOURCE / 'include/kry/formats.h').read_text()
    words['format'] = set(re.findall(r'X\([A-Z]+, "(\w+)"\)', formats)) | {'stencil', 'measure'}
    return options, words


def check_words(page, path, options, words):
    for number, line in enumerate(path.read_text().split('\n'), 1):
        pieces = [line] if line.startswith('    ') else re.findall(r'`([^`]+)`', line)
        for piece in pieces:
            if piece.startswith('    ') and not piece.lstrip().startswith(('kry ', '$ kry', '$ build')):
                named = []
            else:
                named = re.findall(r'(?:^|[ \[])--([a-z][a-z-]*)', piece)
            for option in named:
                check(option in options | NOT_OURS, page, number, f'the program has no option --{option}')
            for name, word in re.findall(r'(?:--|\b)([a-z-]+)[= ]([a-z][a-z0-9-]*)(?![\w.|(])', piece):
                if name in words and re.search(rf'--{name} |{name}=', piece):
                    check(word in words[name], page, number, f'{name} has no word {word}')


def check_driver_faults():
    """The table of docs/devices.md is that of the library."""
    table = (SOURCE / 'src/device/profile.c').read_text().split('} known[] = {')[1].split('};')[0]
    page = (SOURCE / 'docs/devices.md').read_text()
    rows = re.findall(r'\{ ("[^}]*") \}', re.sub(r'"\s*\n\s*"', '', table))
    check(rows, 'docs/devices.md', 1, 'src/device/profile.c has no table of drivers')
    for row in rows:
        line = '| ' + ' | '.join(re.findall(r'"([^"]*)"', row)) + ' |'
        check(line in page, 'docs/devices.md', 1, f'the table of drivers lacks {line}')


def check_tables(page, path):
    """A table has a line of dashes below its first row, and rows of as many cells."""
    lines = path.read_text().split('\n')
    for number, line in enumerate(lines[1:], 2):
        above = lines[number - 2]
        if not re.match(r'\|( ?:?-+:? ?\|)+$', line):
            continue
        cells = [len(re.findall(r'(?<!\\)\|', row)) for row in (above, line)]
        check(above.startswith('|') and cells[0] == cells[1], page, number, 'the table has no heading of as many cells')
        for row, text in enumerate(lines[number:], number + 1):
            if not text.startswith('|'):
                break
            check(len(re.findall(r'(?<!\\)\|', text)) == cells[1], page, row,
                  'the row has more or fewer cells than the heading')


def headings(path):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for line in path.read_text().split('\n'):
        if line.startswith('#'):
            found.add(re.sub(r'[^\w\- ]', '', line.lstrip('#').strip().lower()).replace(' ', '-'))
    return found


def check_anchors(page, path):
    """A link into a page leads to a heading; that the page is there is test_docs.sh's to check."""
    for number, line in enumerate(path.read_text().split('\n'), 1):
        for target, anchor in re.findall(r'\]\(([^)#:]*)#([^)]+)\)', line):
            other = path.parent / target if target else path
            check(not other.exists() or anchor in headings(other), page, number, f'{target} has no heading #{anchor}')


# ---- pages ---------------------------------------------------------------------------------------------


def main():
    folder = Path(tempfile.mkdtemp(prefix='kry-docs.'))
    try:
        (folder / 'bin').mkdir()
        (folder / 'bin/kry').symlink_to(KRY)
        first = folder / 'first'
        first.mkdir()
        made = run('kry generate poisson2d:12 -o A.mtx --rhs b.mtx', first)
        check(made.returncode == 0, 'kry', 0, made.stderr)
        options, words = vocabulary(first)
        check(len(options) > 30 and len(words) > 10, 'kry help', 0, f'the words are not found: {options} {words}')
        check_driver_faults()
        only = sys.argv[4:]
        for path in [SOURCE / 'README.md'] + sorted((SOURCE / 'docs').glob('*.md')):
            page = str(path.relative_to(SOURCE))
            if only and not any(word in page for word in only):
                continue
            place = folder / page.replace('/', '-')
            shutil.copytree(first, place)
            check_words(page, path, options, words)
            check_tables(page, path)
            check_anchors(page, path)
            blocks = [block for block in blocks_of(path) if not block.skipped]
            programs = []
            for i, block in enumerate(blocks):
                if block.is_c and 'int main' in block.text:
                    programs.append(block.text)
                    if not any(command.startswith('cc ') for later in blocks[i:] for _, command in later.commands()):
                        run_program(page, block, place)
                if block.commands():
                    run_block(page, block, place, programs)
            pieces = [block for block in blocks if block.is_c and 'int main' not in block.text]
            if pieces:
                compile_pieces(page, pieces, place)
        for path in [SOURCE / 'CONTRIBUTING.md', SOURCE / 'CHANGELOG.md'] + sorted((SOURCE / 'docs').glob('*/*.md')):
            check_tables(str(path.relative_to(SOURCE)), path)
            check_anchors(str(path.relative_to(SOURCE)), path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('\n'.join(failures + [f'{checks} checks, {len(failures)} failed']))
    return 1 if failures else 0


sys.exit(main())
