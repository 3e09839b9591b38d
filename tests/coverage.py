#!/usr/bin/env python3
"""coverage.py FILE - gcovr's table of files, added up by folder."""
import pathlib
import re
import sys


def main():
    sums = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        row = re.match(r'(\S+)\s+(\d+)\s+(\d+)\s+\d+%', line)
        if not row:
            continue
        folder = 'all' if row[1] == 'TOTAL' else str(pathlib.PurePath(row[1]).parent)
        lines, reached = sums.get(folder, (0, 0))
        sums[folder] = lines + int(row[2]), reached + int(row[3])
    print('| folder | statements | reached | |\n|---|---|---|---|')
    for folder, (lines, reached) in sums.items():
        print(f'| `{folder}` | {lines} | {reached} | {100 * reached / lines:.1f} % |')


main()
