#!/bin/sh
# programs.sh SOURCE BUILD - CalculiX, built as docs/other-programs.md says, solves with kry. Prints TAP.
#
#   SOURCE          kry's source tree
#   BUILD           its build folder
#   KRY_CALCULIX    folder that has, or gets, Debian's source package of CalculiX, which is built there once; default: with
#                   KRY_FULL a folder in BUILD
kry=$(realpath "${1:?usage: programs.sh SOURCE BUILD}")
build=$(realpath "${2:?}")
folder=${KRY_CALCULIX-${KRY_FULL:+$build/calculix}}

skip()
{
    echo "1..0 # SKIP $1"
    exit 0
}

[ -n "$folder" ] || skip 'KRY_CALCULIX names no folder'
which gfortran >/dev/null || skip 'no gfortran'
[ -e /usr/include/spooles/misc.h ] || skip 'no SPOOLES (Debian: libspooles-dev)'
ldconfig -p | grep -q libarpack.so || skip 'no ARPACK (Debian: libarpack2-dev)'
mkdir -p "$folder" && cd "$folder" || exit 99
if ! ls calculix-ccx-*/ccx_*/src/preiter.c >/dev/null 2>&1; then
    apt-get source calculix-ccx >/dev/null 2>errors || skip "apt-get source: $(tail -1 errors)"
    sed -i 's/-O2/-O0/' calculix-ccx-*/ccx_*/src/Makefile
fi
package=$(realpath calculix-ccx-*)
compile()
{
    make -j2 CC='cc -w -I/usr/include/spooles' FC='gfortran -w -fallow-argument-mismatch' "$@"
}
compile -C "$package"/ccx_*/src >errors 2>&1 || { tail -3 errors; exit 99; }

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
count=0 failed=0

# check WHAT COMMAND... - what the command prints is shown if it fails
check()
{
    what=$1
    count=$((count + 1))
    shift
    if "$@" >"$work/out" 2>&1; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        tail -20 "$work/out" | cut -c1-300 | sed 's/^/# /'
        failed=1
    fi
}

cp -a "$package"/ccx_*/src "$work/src"
export PKG_CONFIG_PATH="$build/meson-uninstalled" LD_LIBRARY_PATH="$build" KRY_DEVICE=host KRY="$kry"
unset KRY_OPTIONS MALLOC_PERTURB_ # CalculiX reads memory that it did not set, after *REFINE MESH at least
page() # the commands of the page
{
    sed -n '/^    \$ cp .*preiter/,/^$/s/^    \$ //p' "$kry/docs/other-programs.md" | grep -v '^make'
}
cd "$work/src" || exit 99
built()
{
    page | sh -ex && compile
}
check 'the page builds CalculiX with kry' built
ccx=$(echo "$work"/src/ccx_?.??)
cd "$work" || exit 99

# The largest difference of two files of results, over the largest number beside it in a block, is small.
cat >same.py <<'END'
import sys


def blocks(name):
    found = [[]]
    for line in open(name):
        try:
            found[-1].append([float(number) for number in line.split()[1:]])
        except ValueError:
            found.append([])
    return [block for block in found if any(block)]


ours, theirs = map(blocks, sys.argv[1:])
if not ours or len(ours) != len(theirs):
    sys.exit(f'{len(ours)} and {len(theirs)} blocks of results')
for a, b in zip(ours, theirs):
    largest = max(abs(y) for row in b for y in row)
    worst = max(abs(x - y) for r, s in zip(a, b, strict=True) for x, y in zip(r, s, strict=True))
    if not worst <= 1e-6 * largest:
        sys.exit(f'a difference of {worst}, where {largest} is the largest')
END

# solved NAME REFERENCE SOLVES - NAME.inp, with so many solves or more by kry, has the results of this file
solved()
{
    "$ccx" "$1" >log || { grep -A1 ERROR log; return 1; }
    [ "$(grep -c '^ kry: [0-9]* iterations' log)" -ge "$3" ] || { tail -20 log; return 1; }
    python3 same.py "$1.dat" "$2"
}

sed -n '/EOF > beam20p.inp/,/^EOF/p' "$package/debian/tests/build1" | sed '1d;$d' >beam20p.inp
for solver in 'ITERATIVE SCALING' 'ITERATIVE CHOLESKY'; do
    sed -i "s/SOLVER=.*/SOLVER=$solver/" beam20p.inp
    check "beam20p of CalculiX's tests: $solver" solved beam20p "$package/debian/tests/beam20p.dat.ref" 1
done

# beam ELEMENT STEP SOLVES - one that we make, against SPOOLES
beam()
{
    python3 "$kry/bindings/calculix/tests/beam.py" "$1" "$2" SPOOLES >reference.inp
    python3 "$kry/bindings/calculix/tests/beam.py" "$1" "$2" 'ITERATIVE SCALING' >beam.inp
    "$ccx" reference >log && check "$2, $1, $KRY_OPTIONS" solved beam reference.dat "$3"
}
for words in 'method=auto' 'method=pcg precond=amg'; do
    export KRY_OPTIONS="$words"
    beam C3D8 linear 1
    beam C3D20R linear 1
    beam C3D8 nonlinear 8
    beam C3D20R heat 1
done

# A solver is made once for a step, and gets new numbers from then on.
cat >calls.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <kry/kry.h>
#include <stdio.h>

kry_status kry_solver_create(const kry_op *A, const char *options, kry_monitor monitor, void *user, kry_op **solver)
{
    kry_status (*real)(const kry_op *, const char *, kry_monitor, void *, kry_op **);

    *(void **)&real = dlsym(RTLD_NEXT, "kry_solver_create");
    fputs("a solver is made\n", stderr);
    return real(A, options, monitor, user, solver);
}
END
made_once()
{
    # shellcheck disable=SC2046 # flags are words
    cc -shared -fPIC calls.c $(pkg-config --cflags kry) -o calls.so || return
    python3 "$kry/bindings/calculix/tests/beam.py" C3D8 nonlinear 'ITERATIVE SCALING' >beam.inp
    LD_PRELOAD=./calls.so "$ccx" beam >log 2>made
    cat made
    [ "$(grep -c '^ kry: [0-9]* iterations' log)" -ge 8 ] && [ "$(grep -c 'a solver is made' made)" = 1 ]
}
check 'one set-up for all increments' made_once

# The limit of double precision is a warning, and leaves the results that there are.
warned()
{
    KRY_OPTIONS='method=pcg precond=amg rtol=1.2e-16' solved beam20p "$package/debian/tests/beam20p.dat.ref" 1 &&
        grep '^ \*WARNING in preiter: .*limit of this precision' log
}
check 'a tolerance out of reach is a warning' warned

# ends_with SENTENCE WORDS - CalculiX ends with this error where KRY_OPTIONS has these words
ends_with()
{
    KRY_OPTIONS=$2 "$ccx" beam20p >log
    status=$?
    grep ERROR log
    [ $status = 201 ] && grep -q "^ \*ERROR in preiter: .*$1" log
}
check 'a word that is none is an error' ends_with 'did you mean amg' 'method=pcg precond=agm'
check 'too few iterations are an error' ends_with 'iterations were not enough' 'method=pcg precond=amg maxit=3'
echo "1..$count"
[ "$failed" = 0 ]
