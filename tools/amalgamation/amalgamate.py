"""amalgamate.py KRY.H KRY.C DEPFILE FILE... - the library as one header and one C file, made of its .c files

A header stands in kry.c where it is included first. Macros of a .c file end with it; types, constants and static functions of a .c
file say in their names which file it is, as others, and headers of the system that only others need, may have the same names. All
that the public headers do not declare becomes static.
Headers beside this program stand for those of OpenCL and zlib, those of windows/ for what Windows lacks of POSIX.
"""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WINDOWS = ROOT / 'windows'
FOLDERS = (ROOT / 'src', ROOT / 'include', HERE, WINDOWS)
TOKEN = re.compile(r'''(?P<directive>^[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n])*)|(?P<comment>/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
                       |(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<space>\s+)|(?P<sign>->|\.\.\.|.)''', re.X | re.S | re.M)
NAME = re.compile(r'[A-Za-z_]\w*')
INCLUDE = re.compile(r'\s*#\s*include\s+[<"]([^>"]+)[>"]')
DEFINE = re.compile(r'\s*#\s*define\s+(\w+)')
FEATURES = re.compile(r'_[A-Z]+_SOURCE')  # macros that ask for more of the system's headers: kry.c begins with one for all of it
ATTRIBUTES = {'__attribute__', 'KRY_API', 'KRY_MUST_CHECK', 'KRY_PRINTF', '_Static_assert'}
OF_MEMBERS = {'KRY_FIELD', 'offsetof'}  # macros that take the name of a member
TAGGED = ('struct', 'union', 'enum')

HEADER = '''/*
 * kry.h, kry.c - kry {version} as two files, which tools/amalgamation/amalgamate.py has made of its sources.
 *
 *     cc -O2 app.c kry.c -ldl -lm -lpthread
 *     x86_64-w64-mingw32-gcc-posix -O2 -static app.c kry.c -lpthread     for Windows
 *
 * Further options of the compiler:
 *     -DKRY_HAVE_ZLIB -lz        gzip'd files, which are refused otherwise
 *     -DKRY_HAVE_METIS -lmetis   sub-domains and parts of a team by METIS: "graph:K"
 *     -DNDEBUG                   no assertions, as in releases
 *
 * Public functions, kry_, are global; all others are static or hidden. In a folder kry, kry.h also serves #include <kry/kry.h>, and
 * with it, before or after, <CL/cl.h> may be included.
 *
 * Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0
 */
'''
SOURCE = HEADER + '''#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function" /* some are for other builds, and for tests */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wformat-truncation" /* messages are cut where they are too long */
#endif
#endif
#ifdef _WIN32
#define KRYI_HIDDEN
#else
#define KRYI_HIDDEN __attribute__((visibility("hidden")))
#endif
#include "kry.h"
'''
IF_WINDOWS = '#ifdef _WIN32\n{}#endif\n'
Token = collections.namedtuple('Token', 'kind text')
# first: the place of its first token. own: types and constants that it defines. names: functions and variables
Declaration = collections.namedtuple('Declaration', 'first own names is_static is_unsized')


def behind(code, at):
    """The place in `code` behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i][1].text in ('(', '[', '{')) - (code[i][1].text in (')', ']', '}'))
        if depth == 0:
            return i + 1
    sys.exit('a bracket is not closed')


def declared(words):
    """The names that the words of a declaration declare."""
    words = [''] + [w for w in words if w not in ('KRY_API', 'KRY_MUST_CHECK')] + [';']
    depth, is_sought = 0, True  # is_sought: the name of the next declarator has not come yet
    for before, w, after in zip(words, words[1:], words[2:]):
        if depth == 0 and w in (',', '='):
            is_sought = w == ','
        if is_sought and NAME.fullmatch(w) and w not in ATTRIBUTES and before not in TAGGED and (
                after in ('(', '=', '[', ',', ';') if depth == 0 else depth == 1 and before == '*' and after in (')', '[')):
            yield w
            is_sought = False
        depth += (w in ('(', '[')) - (w in (')', ']'))


def declarations(code):
    """What a file declares outside of functions."""
    at = 0
    while at < len(code):
        first, words, own = code[at][0], [], []
        while at < len(code):
            word = code[at][1].text
            if word in TAGGED and code[at + 2][1].text == '{':
                own.append(code[at + 1][1].text)
            if word == '{':
                end = behind(code, at)
                if 'enum' in words[-2:]:
                    own += [code[i][1].text for i in range(at + 1, end) if code[i - 1][1].text in ('{', ',') and code[i][1].kind == 'name']
                at = end
                if words[-1] == ')' and '=' not in words:  # the body of a function
                    break
                word = '{}'
            else:
                at += 1
            if word == ';':
                break
            words.append(word)
        names = list(declared(words))
        is_type = 'typedef' in words
        yield Declaration(first, own + names if is_type else own, [] if is_type else names, 'static' in words,
                          '(' not in words and ('[', ']') in zip(words, words[1:]))


class File:
    def __init__(self, path):
        self.path = path
        self.tokens = [Token(m.lastgroup, m.group()) for m in TOKEN.finditer(path.read_text(encoding='utf-8'))]
        self.code = [(i, t) for i, t in enumerate(self.tokens) if t.kind not in ('comment', 'space', 'directive')]
        self.declarations = list(declarations(self.code))
        self.own = {name for d in self.declarations for name in d.own + (d.names if d.is_static else [])}
        self.macros = [m.group(1) for t in self.tokens if t.kind == 'directive' and (m := DEFINE.match(t.text))]

    def members(self):
        """The places of tokens that are names of members, in their structs and where these are used."""
        found, fields = set(), 0  # fields: in how many brackets of a macro of OF_MEMBERS
        for at, (place, token) in enumerate(self.code):
            before = self.code[at - 1][1].text if at else ''
            if token.text == '{' and any(t.text in ('struct', 'union') for _, t in self.code[max(at - 2, 0):at]):
                found.update(self.code[i][0] for i in range(at, behind(self.code, at)) if self.code[i + 1][1].text in (';', ',', '[', ':', ')'))
            if fields or before in OF_MEMBERS:
                fields += (token.text == '(') - (token.text == ')')
            if fields or before in ('.', '->'):
                found.add(place)
        return found

    def rename(self):
        """Let names say in which file they are, unless a header has them, too."""
        def renamed(name):
            return f'{name}_in_{self.path.stem}' if name in self.own and not name.lower().startswith('kry') else name
        members = self.members()
        for i, t in enumerate(self.tokens):
            if t.kind == 'name' and i not in members:
                self.tokens[i] = Token('name', renamed(t.text))
            elif t.kind == 'directive' and not INCLUDE.match(t.text):
                text = re.sub(r'(?<![.>\w])[A-Za-z_]\w*', lambda m: renamed(m.group()), t.text)
                self.tokens[i] = Token('directive', text)

    def make_static(self):
        """Keep what the public headers do not declare in this translation unit, or, for arrays of unknown size, in this library."""
        for d in self.declarations:
            if not d.is_static and any(name.startswith('kryi_') for name in d.names):
                first = self.tokens[d.first].text
                if d.is_unsized:
                    first = f'KRYI_HIDDEN {first}'
                else:
                    first = 'static' if first == 'extern' else f'static {first}'
                self.tokens[d.first] = Token('name', first)
        for i, t in enumerate(self.tokens):
            if t.kind == 'directive':
                self.tokens[i] = Token('directive', t.text.replace('extern const kryi_', 'static const kryi_'))


class Amalgamation:
    def __init__(self, paths):
        self.files, self.written = {}, set()
        for path in paths:
            self.read(path)
        for f in self.files.values():
            if f.path.suffix == '.c':
                f.rename()
            f.make_static()

    def read(self, path):
        if path not in self.files:
            self.files[path] = File(path)
            for t in self.files[path].tokens:
                included = t.kind == 'directive' and self.included(t.text)
                if included:
                    self.read(included)

    def included(self, directive):
        """The file of kry that is included; None: another directive, or the system's file."""
        m = INCLUDE.match(directive)
        return next((folder / m.group(1) for folder in FOLDERS if (folder / m.group(1)).exists()), None) if m else None

    def text(self, path):
        """A file with what it includes, unless that was written before."""
        if path in self.written:
            return ''
        self.written.add(path)
        name = path.relative_to(ROOT) if any(folder in path.parents for folder in FOLDERS) else path.name
        return f'\n/* ======== {name} ======== */\n' + ''.join(self.line(t, path) for t in self.files[path].tokens)

    def line(self, token, path):
        included = token.kind == 'directive' and self.included(token.text)
        if included and included != path:  # zlib.h includes the system's
            return self.text(included)
        define = token.kind == 'directive' and DEFINE.match(token.text)
        return '' if define and FEATURES.fullmatch(define.group(1)) else token.text

    def part(self, path):
        """A .c file, with which its macros end."""
        macros = dict.fromkeys(m for m in self.files[path].macros if not FEATURES.fullmatch(m))
        return self.text(path) + ''.join(f'#undef {m}\n' for m in macros)


def main(header, source, depfile, *names):
    public = [ROOT / 'include/kry/kry.h', ROOT / 'include/kry/opencl.h']
    opencl = HERE / 'opencl.h'
    paths = [pathlib.Path(name).resolve() for name in names]
    on_windows = [WINDOWS / 'posix.h', WINDOWS / 'posix.c']
    whole = Amalgamation([*public, opencl, *on_windows, *paths])
    version = re.search(r'#define KRY_VERSION +"(.*)"', public[0].read_text(encoding='utf-8')).group(1)
    pathlib.Path(header).write_text(HEADER.format(version=version) + ''.join(map(whole.text, public)), encoding='utf-8')
    pathlib.Path(source).write_text(SOURCE.format(version=version) + IF_WINDOWS.format(whole.text(on_windows[0]))
                                    + whole.text(opencl) + ''.join(map(whole.part, paths))
                                    + IF_WINDOWS.format(whole.text(on_windows[1])), encoding='utf-8')
    pathlib.Path(depfile).write_text(f'{header} {source}: {" ".join(map(str, whole.files))}\n', encoding='utf-8')


main(*sys.argv[1:])
