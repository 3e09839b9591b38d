"""check_example.py PAGE PROGRAM... - an example prints what its page says: each line stands in a block of code there, but for
counts of iterations, which rounding may change by some."""
import re
import subprocess
import sys
from pathlib import Path

COUNT = r'\b(\d+) iterations'
page = [line[4:] for line in Path(sys.argv[1]).read_text().split('\n') if line.startswith('    ')]
output = subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def stands(line):
    ours = re.search(COUNT, line)
    for other in page:
        theirs = re.search(COUNT, other)
        if re.sub(COUNT, '', line) == re.sub(COUNT, '', other) and bool(ours) == bool(theirs):
            return not ours or abs(int(ours[1]) - int(theirs[1])) <= 2 + int(ours[1]) // 50
    return False


missing = [line for line in output if not stands(line)]
print('\n'.join(f'{sys.argv[1]} lacks: {line}' for line in missing))
sys.exit(bool(missing or not output))
