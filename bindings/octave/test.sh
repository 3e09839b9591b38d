#!/bin/bash
# test.sh BUILD - tests of the package against the library in a build directory. Prints TAP.
#
# Installs the package under a temporary prefix with "pkg install", as users do, and runs everything there.
# Environment: OCTAVE (default octave-cli), KEEP=folder for the PNGs of the demos.
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?which build directory?}" && pwd)
root=$(cd "$here/../.." && pwd)
octave=${OCTAVE:-octave-cli}
work=$(mktemp -d)
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; rm -rf "$work"' EXIT
export KRY_CL_PATH=${KRY_CL_PATH:-$root/cl}
[ -n "${KRY_FULL-}" ] || export POCL_EXTRA_BUILD_FLAGS=${POCL_EXTRA_BUILD_FLAGS--cl-opt-disable} # PoCL compiles faster
export KRY_CFLAGS="-I$root/include -I$root/lib/queue/include -I$root/lib/eigenvalues/include"
export KRY_LIBS="-L$build/lib -L$build -lkry-queue -lkry-eigenvalues -lkry -Wl,-rpath,$build/lib:$build"
export HOME=$work OCTAVE_HISTFILE=$work/history
# Of root's packages Octave keeps the global list, of others' the local one: neither may be the user's.
lists="pkg prefix $work/packages $work/arch; pkg local_list $work/list; pkg global_list $work/global_list"
users_list=$("$octave" --norc --quiet --eval "disp (pkg ('global_list'))" 2> /dev/null)
cksum "$users_list" > "$work/users_list.before" 2> /dev/null

count=0
failed=0
# numbers lines "ok - ..." of a stream, and keeps count in $work/count
number() {
    while IFS= read -r line; do
        case $line in
        'ok - '* | 'not ok - '*)
            count=$((count + 1))
            case $line in 'not ok'*) failed=$((failed + 1)) ;; esac
            printf '%s\n' "${line/ - / $count - }" ;;
        '#'*) printf '%s\n' "$line" ;;
        *) printf '# %s\n' "$line" ;;
        esac
    done < "$1"
}
check() { # STATUS WHAT
    if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi > "$work/line"
    number "$work/line"
}
# run SCRIPT - a script of tests/ with the package loaded; its end is a test, too
run() {
    "$octave" --norc --quiet --eval "$lists;
        pkg load kry; addpath ('$here/tests'); $1;" > "$work/out" 2>&1
    local status=$?
    grep -v 'while preparing to exit' "$work/out" > "$work/shown"
    number "$work/shown"
    [ $status -eq 0 ] || check 1 "$1 ends with status $status"
}

"$here/package.sh" "$work/kry.tar.gz" > "$work/out" 2>&1
check $? 'package.sh makes an archive'
mkdir "$work/packages" "$work/arch"
"$octave" --norc --quiet --eval "$lists;
    pkg install $work/kry.tar.gz; pkg load kry; pkg describe kry" > "$work/out" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$work/out"
check $status 'pkg install, pkg load'
if [ $status -ne 0 ]; then echo "1..$count"; exit 1; fi
cksum "$users_list" > "$work/users_list.after" 2> /dev/null
cmp -s "$work/users_list.before" "$work/users_list.after"
check $? "the user's list of packages is as it was"

run blocks
run each_function
run pcg_blocks
run examples
export KRY_PLOTS=${KEEP:-$work}
run demos
export KRY_FILE=$work/saved.txt
run session
run session
KRY_DEVICE='no such device' KRY_WHAT='a device that is not there: kry:device' run no_device
OCL_ICD_VENDORS=$work/none KRY_WHAT='no OpenCL at all: kry:device' run no_device
for profile in no-fp64 gpu-kernels; do KRY_PROFILE=$profile run profiles; done
run held
run timings

# Ctrl-C: the child is to say so soon, and to go on
interrupt() { # SCRIPT WHAT
    "$octave" --norc --quiet --eval "$lists;
        pkg load kry; addpath ('$here/tests'); $1;" > "$work/child" 2>&1 &
    child=$!
    for _ in $(seq 600); do grep -q begin "$work/child" && break; sleep 0.1; done
    sleep 1
    kill -INT "$child"
    for _ in $(seq 200); do grep -q '^then' "$work/child" && break; sleep 0.1; done
    grep -v 'while preparing to exit' "$work/child" | sed 's/^/# /'
    grep -q '^kry:interrupted after' "$work/child"
    check $? "Ctrl-C interrupts $2: kry:interrupted"
    grep -q '^then 1 ' "$work/child"
    check $? 'and the next command runs'
    kill "$child" 2>/dev/null
    wait "$child" 2>/dev/null
    child=
}
interrupt long_solve 'a solve'
interrupt long_queue 'what is queued'

echo "1..$count"
[ "$failed" -eq 0 ]
