"""reference.py [OUT] - docs/reference/pykry.md, made of the docstrings of pykry: to OUT, or to standard output

PYTHONPATH=build/python names the package. test_reference.py compares the page with the one that is there.
"""
import inspect
import re
import sys
import textwrap

import pykry

HEAD = """# Reference of pykry

`bindings/python/tests/reference.py` makes this page of the docstrings; [Python](../python.md) explains how the parts go together.

"""
# Methods for other modules of the package.
_INTERNAL = ('together', 'undisturbed', 'raised', 'vector', 'view', 'of', 'zeros')
_SECTIONS = ('Parameters', 'Returns', 'Attributes', 'Raises', 'Notes', 'Examples', 'References')


def signature(name, thing):
    """The call, without the types of its arguments."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return name
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != 'self']
    return name + str(found.replace(parameters=parameters, return_annotation=found.empty))


def docstring(thing):
    """The docstring as Markdown: sections of numpydoc's become a word in bold and a list, examples blocks of code."""
    out, section = [], ''
    lines = inspect.getdoc(thing).splitlines()
    for line, below in zip(lines, lines[1:] + ['']):
        is_code = bool(out) and out[-1].startswith('    ') and section in ('', 'Examples')
        if re.fullmatch('-{3,}', below) and line in _SECTIONS:
            section = line
            out += [f'**{section}**', '']
        elif re.fullmatch('-{3,}', line):
            continue
        elif line.startswith('>>>') or is_code and line:
            out.append('    ' + line)
        elif section in ('', 'Examples', 'Notes', 'References') or not line:
            out.append(line)
        elif line.startswith(' '):
            out.append('  ' + line.strip())
        else:
            term, _, kind = line.partition(' : ')
            out.append(f'- `{term}`' + (f': {kind}' if kind else ''))
    return re.sub('``([^`]+)``', r'`\1`', '\n'.join(out)).strip('\n') + '\n'


def entry(name, thing, depth):
    """A heading, the call and the docstring; of a class also what it has of its own."""
    yield f'{"#" * depth} `{name}`\n'
    if not inspect.isclass(thing) or '__init__' in vars(thing) and not issubclass(thing, BaseException):
        call = textwrap.wrap(signature(name.rpartition('.')[2], thing), 110, subsequent_indent='    ')
        yield textwrap.indent('\n'.join(call) + '\n', '    ')
    yield docstring(thing)
    for word, member in vars(thing).items() if inspect.isclass(thing) else ():
        if word.startswith('_') or word in _INTERNAL or not getattr(member, '__doc__', None):
            continue
        if isinstance(member, property):
            yield f'{"#" * (depth + 1)} `{name}.{word}`\n'
            yield docstring(member)
        elif inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)):
            yield from entry(f'{name}.{word}', getattr(thing, word), depth + 1)


def page():
    parts = [HEAD]
    for title, module in (('pykry', pykry), ('pykry.scipy', pykry.scipy), ('pykry.ranks', pykry.ranks), ('pykry.batch', pykry.batch)):
        parts.append(f'## {title}\n')
        words = [w for w in getattr(module, '__all__', ('Team',)) if not inspect.ismodule(getattr(module, w))]
        for word in words:
            parts += entry(f'{title}.{word}', getattr(module, word), 3)
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(parts))


if __name__ == '__main__':
    if len(sys.argv) > 1:
        with open(sys.argv[1], 'w') as out:
            out.write(page())
    else:
        print(page(), end='')
