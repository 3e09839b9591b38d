#!/usr/bin/env python3
"""manual.py KRY COMMAND-LINE.md > kry.1 - the manual page of the program, from what `kry help` prints and
from the environment variables of docs/command-line.md, so that nothing is written twice."""
import re
import subprocess
import sys


def output(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True).stdout


def roff(text):
    return re.sub(r"^([.'])", r'\\&\1', text.replace('\\', r'\e').replace('-', r'\-'))


def blocks(lines):
    """The parts between empty lines, each as lines that belong together."""
    part = []
    for line in [*lines, '']:
        if line.strip():
            part.append(line)
        elif part:
            yield part
            part = []


def print_block(lines):
    """A paragraph, or items: 'name   meaning', with further lines of the meaning further to the right."""
    items = lines[0].startswith('  ') or re.match(r'\S+ {2,}\S', lines[0])
    indent = len(lines[0]) - len(lines[0].lstrip())
    print('.PP' if not items else '.PD 0', end='\n')
    for line in lines:
        begins = items and len(line) - len(line.lstrip()) == indent
        name, meaning = (re.split(r' {2,}', line.strip(), maxsplit=1) + [''])[:2] if begins else ('', line.strip())
        # a name that fills its column stands one blank before its meaning
        if begins and not meaning and ' ' in name and not name.startswith('-') and indent == 0:
            name, meaning = name.split(' ', 1)
        if begins:
            print('.TP\n.B ' + roff(name).replace('|', r'|\:'))  # a long list may break
        if meaning:
            print(roff(meaning))
    if items:
        print('.PD')


def main():
    overview = output('--help').splitlines()
    usage = [line.strip() for line in overview if line.startswith('  kry ')]
    shared = {}  # blocks with a title are alike for all commands that have them
    print(f'.TH KRY 1 "" "kry {overview[0].split()[1].rstrip(":")}"\n.ad l')
    print(f'.SH NAME\nkry \\- {overview[0].split(": ", 1)[1]}\n.SH SYNOPSIS\n.nf')
    print('\n'.join(map(roff, usage)), '\n.fi\n.SH COMMANDS')
    for command in (line.split()[1] for line in usage):
        lines = output('help', command).splitlines()
        print(f'.SS kry {command}')
        for block in blocks(lines[1:]):
            if re.match('Options, |Examples:', block[0]):
                print(f'.PP\n.I {roff(block[0])}')
                print_block(block[1:])
            elif re.fullmatch(r'[A-Z][^.]*:', block[0]) and len(block) > 1:
                shared[block[0][:-1]] = block[1:]
            else:
                print_block(block)
    for title, block in shared.items():
        print(f'.SH {title.upper()}')
        print_block(block)
    print('.SH ENVIRONMENT')
    for name, meaning in re.findall(r'^\| `(KRY_\w+)` \| (.*) \|$', open(sys.argv[2]).read(), re.M):
        print(f'.TP\n.B {name}\n{roff(meaning.replace("`", ""))}')
    print('.SH SEE ALSO\nThe pages in share/doc/kry below the prefix, docs/command\\-line.md above all.')


main()
