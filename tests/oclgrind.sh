#!/bin/sh
# oclgrind.sh PROGRAM ARGUMENT... - run a test on Oclgrind's device, and fail if it has anything to
# say. Oclgrind leaves the exit status to the program, so what counts is its log.

platform=$(dpkg -L liboclgrind-21.10 oclgrind 2>/dev/null | grep 'liboclgrind-rt-icd\.so$' | head -1)
[ -n "$platform" ] || platform=$(find /usr/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -1)
[ -n "$platform" ] || { echo "oclgrind.sh: liboclgrind-rt-icd.so is not installed" >&2; exit 99; }
log=$(mktemp "${TMPDIR:-/tmp}/kry-oclgrind.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM

# With its own choice of compiler options Oclgrind 21.10 crashes in its check for uninitialised
# values as soon as a loop adds up vectors; with -O1 it does not.
OCLGRIND_BUILD_OPTIONS=-O1
export OCLGRIND_BUILD_OPTIONS

OCL_ICD_VENDORS=$platform OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1 OCLGRIND_CHECK_API=1 \
    OCLGRIND_LOG=$log "$@"
status=$?
if [ -s "$log" ]; then
    echo "Oclgrind found:" >&2
    head -100 "$log" >&2
    exit 1
fi
exit "$status"
