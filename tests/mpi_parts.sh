#!/bin/bash
# mpi_parts.sh KRY MPIRUN... - kry solve on ranks with a matrix of several singular parts: the report, the x and the refusals
# of one process.
set -euo pipefail
kry=$1
shift
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

fail()
{
    cat "$dir/out"
    echo "mpi_parts.sh: $*" >&2
    exit 1
}

# chains ENDS N: 1 - 2 - ... of N rows that are cut behind every row that ENDS divides
chains()
{
    awk -v ends="$1" -v n="$2" 'BEGIN {
        print "%%MatrixMarket matrix coordinate real symmetric"
        for (i = 1; i <= n; i++) {
            a = i > 1 && (i - 1) % ends; b = i < n && i % ends
            line[++count] = i " " i " " a + b
            if (b) line[++count] = i + 1 " " i " -1"
        }
        print n, n, count
        for (k = 1; k <= count; k++) print line[k]
    }'
}

chains 30 70 >"$dir/three.mtx" # parts of 30, 30 and 10 rows
chains 2 130 >"$dir/pairs.mtx"
solve="solve --rhs manufactured --precond jacobi --format csr --rtol 1e-10"
# shellcheck disable=SC2086 # words
"$kry" $solve "$dir/three.mtx" -o "$dir/alone.mtx" >"$dir/out" 2>&1 || fail "one process"
# shellcheck disable=SC2086
"$@" "$kry" $solve "$dir/three.mtx" -o "$dir/ranks.mtx" >"$dir/out" 2>&1 || fail "ranks: status $?"
grep -q 'the rows of 3 parts that no entry connects add up to zero' "$dir/out" || fail "the report"
paste "$dir/alone.mtx" "$dir/ranks.mtx" | awk '
    NF == 2 { d = $1 - $2; if (d < 0) d = -d; if (!(d < 1e-7)) bad++; count++ }
    END { exit bad > 0 || count != 70 }' || fail "another x than that of one process"
if "$@" "$kry" solve --rhs ones --precond jacobi --format csr "$dir/three.mtx" >"$dir/out" 2>&1; then fail "b = 1 is solved"; fi
grep -q 'no x solves' "$dir/out" || fail "b = 1"
if "$@" "$kry" solve "$dir/pairs.mtx" >"$dir/out" 2>&1; then fail "65 parts are taken"; fi
grep -q '65 parts that no entry connects.*at most 64' "$dir/out" || fail "65 parts"
