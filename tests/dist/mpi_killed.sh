#!/bin/bash
# mpi_killed.sh SECONDS MPIRUN... - a job of three ranks, the last of which kills itself while the others wait for it in a
# call: mpirun says so, ends with the status of that signal, and no rank is left. SECONDS: the others hang if it takes longer.
set -uo pipefail
seconds=$1
shift
text=$(timeout "$seconds" "$@" 2>&1)
status=$?

fail()
{
    printf '%s\n%s\n' "$text" "mpi_killed.sh: $*, status $status" >&2
    exit 1
}

[ $status -ne 124 ] || fail "the job has not ended after $seconds s"
# "rank 0 of 3, process 1234, waits": where each was when the last one was killed
for r in 0 1; do
    grep -q "^rank $r of 3, process [0-9]*, waits$" <<<"$text" || fail "rank $r did not wait for the one that is killed"
done
grep -q '^rank 2 of 3, process [0-9]*, is killed$' <<<"$text" || fail "rank 2 did not come to its end"
grep -q 'rank 2 with PID [0-9]* on node .* exited on signal 9' <<<"$text" || # the PID may be 0
    fail "mpirun does not say that rank 2 was killed"
[ $status -eq 137 ] || fail "the status is not 128 + 9"
while read -r process; do # one that nobody has waited for has ended as well
    for _ in $(seq 50); do
        state=$(ps -o stat= -p "$process")
        case $state in '' | Z*) continue 2 ;; esac
        sleep 0.1
    done
    fail "process $process is still there, as $state"
done < <(sed -n 's/^rank [0-9] of 3, process \([0-9]*\),.*/\1/p' <<<"$text")
