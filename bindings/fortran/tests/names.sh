#!/bin/sh
# names.sh LIBKRY LIBKRY-FORTRAN - every function of kry is called by the module for Fortran
set -eu
missing=$(nm -D --defined-only "$1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | grep '^kry_' | sort -u | {
    nm -u "$2" | awk '{ print $2 }' | sort -u >"${TMPDIR:-/tmp}/names.$$"
    comm -23 - "${TMPDIR:-/tmp}/names.$$"
    rm "${TMPDIR:-/tmp}/names.$$"
})
echo 1..1
if [ -z "$missing" ]; then echo 'ok 1 - every function of kry is in the module'; else
    echo "$missing" | sed 's/^/# not in the module: /'
    echo 'not ok 1 - every function of kry is in the module'
fi
