#!/bin/bash
# mpi_parts.sh KRY MPIRUN... - kry solve on ranks: with a matrix of several singular parts the report, the x and the refusals
# of one process; with reproducible sums the bits of one process, with a matrix and without.
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

awk 'BEGIN { # 2.5 on the diagonal, -1 beside it
    print "%%MatrixMarket matrix coordinate real symmetric"; print 701, 701, 1401
    for (i = 1; i <= 701; i++) { print i, i, 2.5; if (i > 1) print i, i - 1, -1 }
}' >"$dir/regular.mtx"
device=$("$kry" devices | awk 'NR == 1 { print $1 }'),reproducible
for system in "$dir/regular.mtx" "--problem poisson2d:41"; do
    # shellcheck disable=SC2086
    "$kry" solve --rhs manufactured --precond jacobi --device "$device" $system -o "$dir/alone.mtx" >"$dir/out" 2>&1 || fail "$system"
    # shellcheck disable=SC2086
    "$@" "$kry" solve --rhs manufactured --precond jacobi --device "$device" $system -o "$dir/ranks.mtx" >"$dir/out" 2>&1 ||
        fail "$system on ranks"
    cmp "$dir/alone.mtx" "$dir/ranks.mtx" || fail "$system: other bits than those of one process"
done
if "$@" "$kry" solve --problem poisson2d:41 --device "$device,all" >"$dir/out" 2>&1; then fail "'all' is taken"; fi
grep -q "'all' is none of use-all, graph, reproducible" "$dir/out" || fail "all"
