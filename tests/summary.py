#!/usr/bin/env python3
"""summary.py BROKEN LOG... - add up Meson's test logs.

BROKEN counts stages that could not run at all; LOG is a testlog.json. A program that speaks TAP
counts by its cases, any other as one. Names the ten programs that took longest. The last line is
"N passed, N failed, N skipped".
"""
import json
import re
import sys


def count(entry):
    """(passed, failed, skipped) of one program, and the names of what failed."""
    passed, skipped, failed = 0, 0, []
    result = entry["result"]
    for line in (entry.get("stdout") or "").splitlines():
        case = re.match(r"(not )?ok\b *\d*(?: *-)? *(.*)", line)
        if not case:
            continue
        if re.search(r"# *SKIP", line, re.IGNORECASE):
            skipped += 1
        elif case[1]:
            failed.append(case[2])
        else:
            passed += 1
    if passed + skipped + len(failed) == 0:
        passed, skipped = int(result in ("OK", "EXPECTEDFAIL")), int(result == "SKIP")
    if result not in ("OK", "EXPECTEDFAIL", "SKIP") and not failed:
        failed = ["ended with " + result]
    return passed, failed, skipped


def reasons(entry, name):
    """What a TAP program said right behind the line of a failed case, which Meson does not show; ten lines at most."""
    lines = (entry.get("stdout") or "").splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("not ok") and name in line), len(lines))
    said = []
    for line in lines[at + 1:at + 11]:
        if not line.startswith("#"):
            break
        said.append(f"    {line[1:].strip()}\n")
    return said


def main():
    passed, failed, skipped = 0, int(sys.argv[1]), 0
    durations = []
    for log in sys.argv[2:]:
        sums = [0, 0, 0]
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                entry = json.loads(line)
                p, f, s = count(entry)
                durations.append((entry.get("duration") or 0, entry["name"], log))
                sums = [sums[0] + p, sums[1] + len(f), sums[2] + s]
                for name in f:
                    print(f"FAILED in {log}: {entry['name']}: {name}")
                    sys.stdout.writelines(reasons(entry, name))
        print(f"{log}: {sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
        passed, failed, skipped = passed + sums[0], failed + sums[1], skipped + sums[2]
    print("slowest, in seconds:")
    for seconds, name, log in sorted(durations, reverse=True)[:10]:
        print(f"{seconds:8.1f}  {name} ({log})")
    if passed == 0:
        print("no test ran")
        failed += failed == 0
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main())
