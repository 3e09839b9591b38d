"""table.py - the table of kernels in docs/reference/kernel-facts.md: what does not depend on registers."""
import re

BEGIN = '<!-- made by tools/gate -->\n'
END = '<!-- end -->\n'
HEAD = '''\
| kernel | file | local memory, bytes: single | double | without double | barriers | doubles in single |
|---|---|---|---|---|---|---|
'''


def group(program):
    """Which column a program belongs to; None: one of another size of groups than usual."""
    return numbers(program) if program.has('-DWG=128') else None


def numbers(program):
    """What vectors are made of: single, double, or single where there is no double."""
    if not program.has('-DKRY_FP64'):
        return 'none'
    return 'double' if program.has('-DREAL=double') else 'single'


def spread(values):
    if not values:
        return ''
    low, high = min(values), max(values)
    return f'{low}' if low == high else f'{low} to {high}'


def rows(facts):
    seen = {}
    for program, kernels in facts.items():
        column = group(program)
        for name, (local, barriers, doubles) in kernels.items():
            if not column:
                continue
            row = seen.setdefault((program.stem, name), {'barriers': set(), 'doubles': set()})
            row.setdefault(column, set()).add(local)
            row['barriers'].add(barriers)
            if column == 'single':
                row['doubles'].add(doubles)
    return seen


def in_single(doubles):
    if not doubles:
        return ''
    return 'some' if len(doubles) > 1 else 'yes' if True in doubles else 'no'


def text(facts):
    lines = [f'| `{name}` | `{stem}.cl` | {spread(row.get("single"))} | {spread(row.get("double"))} | '
             f'{spread(row.get("none"))} | {spread(row["barriers"])} | {in_single(row["doubles"])} |\n'
             for (stem, name), row in sorted(rows(facts).items())]
    return HEAD + ''.join(lines)


def path(root):
    return root / 'docs' / 'reference' / 'kernel-facts.md'


def replaced(root, facts):
    page = path(root).read_text()
    return page, re.sub(f'{re.escape(BEGIN)}.*?{re.escape(END)}',
                        lambda _: BEGIN + text(facts) + END, page, flags=re.S)


def is_fresh(root, facts):
    page, fresh = replaced(root, facts)
    return BEGIN in page and page == fresh


def missing(root, facts):
    """Kernels that have no line."""
    page = path(root).read_text()
    names = {(program.stem, name) for program, kernels in facts.items() for name in kernels}
    return [(stem, name) for stem, name in sorted(names) if f'| `{name}` | `{stem}.cl` |' not in page]


def write(root, facts):
    path(root).write_text(replaced(root, facts)[1])
