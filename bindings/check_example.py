"""check_example.py PAGE PROGRAM... - an example prints what its page says: each line stands in a block of code there, but for
counts of iterations, which rounding may change by some."""
import re
import subprocess
import sys
from pathlib import Path

COUNT = r'\b(\d+) iterations'
page = [line[4:] for line in Path(sys.argv[1]).read_text().split('\n') if line.startswith('    ')]
output = subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def agree(ours, theirs):
    counts = [int(count) for line in (ours, theirs) for count in re.findall(COUNT, line)]
    return re.sub(COUNT, '', ours) == re.sub(COUNT, '', theirs) and max(counts, default=0) <= 2 + 1.02 * min(counts, default=0)


missing = [line for line in output if not any(agree(line, other) for other in page)]
print('\n'.join(f'{sys.argv[1]} lacks: {line}' for line in missing))
sys.exit(bool(missing or not output))
