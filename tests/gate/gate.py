#!/usr/bin/env python3
"""gate.py - whether every kernel compiles for devices that are not here.

  gate.py [--jobs N] [--known FILE] SOURCE-PROGRAM CACHE...
      Lint cl/, compile every listed program to PTX, see that the caches hold no kind of program that
      is not listed, and that docs/reference/kernel-facts.md has the table of facts.
  gate.py --some [--jobs N] [--known FILE] SOURCE-PROGRAM CACHE...
      The same for few programs of each file, in single, in double and without double, and for those
      of the caches that are not listed, which is no complaint; of the table only the names of
      kernels.
  gate.py --record SOURCE-PROGRAM CACHE...
      Add what the caches hold to the list, and write the table.

FILE keeps what is known of programs that have passed; of those nothing is compiled again.
SOURCE-PROGRAM prints what the library hands to compilers (source.c); CACHE is a folder of compiled
programs. The exit status is 77 without clang and libclc.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import sys
import time

import lint
import programs
import ptx
import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = pathlib.Path(__file__).with_name('refused')


class Found:
    """Complaints, printed as they come."""

    def __init__(self):
        self.count = 0

    def add(self, complaint):
        self.count += 1
        print(complaint, flush=True)


class Known:
    """Facts of programs that have passed, kept in a file, by a hash of all that they depend on."""

    def __init__(self, path, how):
        self.path, self.how, self.facts, self.saved = path, how, {}, time.monotonic()
        if path and path.exists():
            self.facts = json.loads(path.read_text())

    def key(self, program, text):
        how = self.how + pathlib.Path(ptx.__file__).read_text()
        return hashlib.sha256('\0'.join((how, str(program), text)).encode()).hexdigest()

    def get(self, program, text):
        found = self.facts.get(self.key(program, text))
        return found and {name: tuple(fact) for name, fact in found.items()}

    def put(self, program, text, facts):
        self.facts[self.key(program, text)] = facts
        if time.monotonic() > self.saved + 5:
            self.save()

    def save(self):
        self.saved = time.monotonic()
        if self.path:
            self.path.write_text(json.dumps(self.facts))


def compile_all(asked, texts, args, found):
    """{program: facts of its kernels}; to record, the oldest target tells them."""
    known = Known(args.known, 'facts' if args.record else 'all')

    def one(program):
        facts = known.get(program, texts[program.stem])
        if facts:
            return program, facts, None
        try:
            return program, ptx.facts(ptx.compile_program(program, texts[program.stem],
                                                          not args.record)), None
        except ptx.Refused as refused:
            return program, {}, str(refused)

    facts = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for program, kernels, refused in pool.map(one, asked):
            if refused:
                found.add(f'{program}: {refused}')
            else:
                known.put(program, texts[program.stem], kernels)
            facts[program] = kernels
    known.save()
    return facts


def refuses(path):
    """Whether lint or compilers refuse a sample."""
    text = path.read_text()
    if lint.check(path.name, text) or lint.check_pragma(path.name, text):
        return True
    options = next((line[3:] for line in text.splitlines() if line.startswith('// -D')), '')
    try:
        ptx.compile_program(programs.Program(path.stem, options), text)
    except ptx.Refused:
        return True
    return False


def check_samples(found):
    """The gate itself: what must be refused is."""
    for path in sorted(SAMPLES.glob('*.cl')):
        if not refuses(path):
            found.add(f'{path.relative_to(ROOT)}: passes, and must not')


def check_listed(asked, listed, complain):
    kinds = {program.kind() for program in listed}
    new = programs.few_of(p for p in asked if p.kind() not in kinds)
    for program in new:
        complain(f'not in {programs.LIST.relative_to(ROOT)}: {program}')
    if new:
        print("'tools/gate --record' adds them.")
    return new


FOR_CPUS = {'block_diagonals', 'tridiagonal_packs'}  # which no other device runs


def check_stems(listed, texts, found):
    for stem in sorted(set(texts) - {program.stem for program in listed} - FOR_CPUS):
        found.add(f'{stem}.cl: no program of it is listed')
    for program in listed:
        if program.stem not in texts:
            found.add(f'{programs.LIST.relative_to(ROOT)}: there is no {program.stem}.cl')


def few(listed):
    """Of each file the first program in single, in double, and without double."""
    first = {}
    for program in listed:
        first.setdefault((program.stem, table.numbers(program)), program)
    return list(first.values())


def check_parts(listed, parts, found):
    """Each part of a file compiles without the others."""
    asked = [(program, part) for program in {p.stem: p for p in reversed(listed)}.values()
             for part in parts[program.stem]]

    def one(program, text):
        try:
            ptx.front_end(text, [o for o in program.options if not o.startswith('-cl-std')], 'CL1.1')
        except ptx.Refused as refused:
            return f'{program}: without other parts: {refused}'

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for complaint in filter(None, pool.map(lambda a: one(*a), asked)):
            found.add(complaint)


def check_table(listed, facts, args, found):
    facts = {program: facts[program] for program in listed}
    if args.some:
        for stem, name in table.missing(ROOT, facts):
            found.add(f"docs/reference/kernel-facts.md: lacks {name} of {stem}.cl; 'tools/gate --record' adds it")
    elif not table.is_fresh(ROOT, facts):
        found.add("docs/reference/kernel-facts.md: its table of kernels is not today's; 'tools/gate --record' writes it")


def check(texts, parts, asked, args):
    start, found, listed = time.monotonic(), Found(), programs.listed()
    for complaint in lint.check_files(ROOT / 'cl'):
        found.add(complaint)
    for stem, text in texts.items():
        for complaint in lint.check_pragma(f'{stem}.cl', text):
            found.add(complaint)
    check_samples(found)
    check_stems(listed, texts, found)
    new = check_listed(asked, listed, print if args.some else found.add)
    listed = [program for program in listed if program.stem in texts]
    if args.some:
        listed = few(listed)
    facts = compile_all(listed + new, texts, args, found)
    check_parts(listed, parts, found)
    check_table(listed, facts, args, found)
    print(f'{len(facts)} programs of {len(texts)} files to {", ".join(ptx.TARGETS)}, {len(asked)} in '
          f'caches, {found.count} complaints, {time.monotonic() - start:.0f} s')
    return 1 if found.count else 0


def record(texts, asked, args):
    kept = [program for program in programs.listed() if program.stem in texts]
    few = programs.few_of(kept + list(asked))
    programs.record(few)
    found = Found()
    table.write(ROOT, compile_all(few, texts, args, found))
    print(f'{len(few)} programs are listed, {len(set(few) - set(kept))} of them new')
    return 1 if found.count else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--some', action='store_true')
    parser.add_argument('--known', type=pathlib.Path, metavar='FILE')
    parser.add_argument('source')
    parser.add_argument('caches', nargs='*')
    args = parser.parse_args()
    if not shutil.which(ptx.CLANG) or not ptx.LIBCLC.exists():
        print(f'skipped: no {ptx.CLANG}, or no {ptx.LIBCLC}')
        return 77
    os.environ['KRY_CL_PATH'] = str(ROOT / 'cl')
    stems = programs.stems(ROOT / 'cl')
    texts, parts = programs.sources(args.source, stems), programs.parts(args.source, stems)
    asked = programs.asked(args.caches, texts, parts)
    return record(texts, asked, args) if args.record else check(texts, parts, asked, args)


if __name__ == '__main__':
    sys.exit(main())
